#include "tools/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void human_size(char text[32], double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t u = 0;

	while (bytes >= 1024 && u < 4) {
		bytes /= 1024;
		u++;
	}
	snprintf(text, 32, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

static double since(const struct timespec *then, const struct timespec *now)
{
	return (double)(now->tv_sec - then->tv_sec) +
	       (double)(now->tv_nsec - then->tv_nsec) / 1e9;
}

void progress_begin(struct progress *p, bool shown)
{
	memset(p, 0, sizeof(*p));
	p->shown = shown;
	clock_gettime(CLOCK_MONOTONIC, &p->started);
	p->drawn = p->started;
}

static void draw(struct progress *p, double time)
{
	char size[32], rate[32], line[120];
	struct winsize window;

	human_size(size, (double)p->bytes);
	human_size(rate, (double)p->bytes / time);
	snprintf(line, sizeof(line), "%" PRIu64 " files, %s, %s/s", p->files,
	         size, rate);
	/* A line that is wider than the terminal could not be taken away. */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1 &&
	    window.ws_col <= strlen(line))
		line[window.ws_col - 1] = '\0';
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	p->on_line = true;
}

void progress_add(struct progress *p, uint64_t files, uint64_t bytes)
{
	struct timespec now;

	p->files += files;
	p->bytes += bytes;
	if (!p->shown)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (since(&p->drawn, &now) < 0.5)
		return;
	p->drawn = now;
	draw(p, since(&p->started, &now));
}

void progress_clear(struct progress *p)
{
	if (p->on_line)
		fputs("\r\033[K", stderr);
	p->on_line = false;
}
