#include "tools/ticker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/report.h"

static void draw(struct ticker *t)
{
	struct winsize window;
	char text[TICKER_LINE];

	t->line(t->context, text);
	/* A line that is wider than the terminal could not be taken away. */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1 &&
	    window.ws_col <= strlen(text))
		text[window.ws_col - 1] = '\0';
	pthread_mutex_lock(&t->output);
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	t->on_line = true;
	pthread_mutex_unlock(&t->output);
}

static void *tick(void *context)
{
	struct ticker *t = context;

	for (int i = 0; !t->done; i++) {
		struct timespec pause = { 0, 50 * 1000 * 1000 };

		nanosleep(&pause, NULL);
		if (i % 10 == 9 && !t->done)
			draw(t);
	}
	return NULL;
}

void ticker_start(struct ticker *t, bool shown)
{
	pthread_mutex_init(&t->output, NULL);
	clock_gettime(CLOCK_MONOTONIC, &t->started);
	t->done = false;
	t->on_line = false;
	t->running = shown && !pthread_create(&t->thread, NULL, tick, t);
}

void ticker_stop(struct ticker *t)
{
	t->done = true;
	if (t->running)
		pthread_join(t->thread, NULL);
	t->running = false;
	ticker_pause(t);
	ticker_resume(t);
}

void ticker_pause(struct ticker *t)
{
	pthread_mutex_lock(&t->output);
	if (t->on_line)
		fputs("\r\033[K", stderr);
	t->on_line = false;
}

void ticker_resume(struct ticker *t)
{
	pthread_mutex_unlock(&t->output);
}

double ticker_seconds(const struct ticker *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->started.tv_sec) +
	       (double)(now.tv_nsec - t->started.tv_nsec) / 1e9;
}

void ticker_text(const struct ticker *t, char text[TICKER_LINE],
                 uint64_t files, uint64_t bytes, uint64_t total)
{
	char done[REPORT_BYTES], all[REPORT_BYTES], speed[REPORT_BYTES];
	double time = ticker_seconds(t);
	double rate = time > 0 ? (double)bytes / time : 0;
	char left[48] = "";

	report_bytes(done, (double)bytes);
	report_bytes(all, (double)total);
	report_bytes(speed, rate);
	if (total > bytes && rate > 0) {
		uint64_t s = (uint64_t)((double)(total - bytes) / rate) + 1;

		snprintf(left, sizeof(left), ", %" PRIu64 ":%02u:%02u left",
		         s / 3600, (unsigned)(s / 60 % 60), (unsigned)(s % 60));
	}
	snprintf(text, TICKER_LINE, "%" PRIu64 " files, %s%s%s, %s/s%s", files,
	         done, total ? " of " : "", total ? all : "", speed, left);
}
