#include "mount/support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int volume_check(const struct mounted *m)
{
	static char text[20000];
	int code = MOUNTED_RUN(text, sizeof(text), "frondfs", "fsck",
	                       "--keyfile", m->keyfile, m->volume);

	if (code)
		printf("frondfs fsck: exit code %d\n%s", code, text);
	return code;
}

void bytes_fill(void *buf, size_t n, unsigned seed)
{
	uint8_t *bytes = buf;
	uint32_t state = seed * 2654435761u + 1;

	for (size_t i = 0; i < n; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
}

int file_put(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0;
	int error = fd < 0 ? -errno : 0;

	while (!error && done < n) {
		ssize_t w = write(fd, (const char *)bytes + done, n - done);

		if (w < 0)
			error = -errno;
		else
			done += (size_t)w;
	}
	if (fd >= 0 && close(fd) && !error)
		error = -errno;
	return error;
}

bool file_is(const char *path, const void *bytes, size_t n)
{
	const uint8_t *want = bytes;
	uint8_t *got = malloc(n + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0, at = 0;
	ssize_t r = fd < 0 ? -1 : 1;

	while (r > 0 && done < n + 1) {
		r = read(fd, got + done, n + 1 - done);
		if (r > 0)
			done += (size_t)r;
	}
	if (r < 0)
		printf("%s: %s after %zu bytes\n", path, strerror(errno),
		       done);
	if (fd >= 0)
		close(fd);
	while (at < done && at < n && got[at] == want[at])
		at++;
	free(got);
	if (r >= 0 && (done != n || at != n))
		printf("%s: %zu bytes, not %zu; the first %zu are right\n",
		       path, done, n, at);
	return r >= 0 && done == n && at == n;
}

off_t path_size(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? -errno : st.st_size;
}

int path_mode(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? -errno : (int)(st.st_mode & 07777);
}

int path_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int n = 0;

	if (!dir)
		return -errno;
	for (errno = 0; (d = readdir(dir)); errno = 0)
		n += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	if (errno)
		n = -errno;
	closedir(dir);
	return n;
}

bool is_mounted_at(const char *point, const char *type)
{
	FILE *f = fopen("/proc/self/mounts", "r");
	char line[2000], at[PATH_MAX], what[100];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %4095s %99s", at, what) == 2
		    && !strcmp(at, point))
			found = !type || !strcmp(what, type);
	if (f)
		fclose(f);
	return found;
}

bool have_program(const char *name)
{
	char script[300];

	snprintf(script, sizeof(script), "command -v %s >/dev/null", name);
	return MOUNTED_RUN(NULL, 0, "sh", "-c", script) == 0;
}

int as_user(uid_t uid, gid_t group, size_t n, const gid_t *groups,
            int (*run)(void *context), void *context)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		umask(022);
		if (setgroups(n, groups) || setresgid(group, group, group)
		    || setresuid(uid, uid, uid))
			_exit(255);
		_exit(run(context));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int run_script(const char *folder, const char *script)
{
	static char text[20000];
	char start[PATH_MAX + 100];
	int code;

	/* A mount that hangs must not hang the tests. */
	snprintf(start, sizeof(start), "M='%s'; export M; cd \"$M\" || exit; "
	         "eval \"$1\"", folder);
	code = MOUNTED_RUN(text, sizeof(text), "timeout", "120", "sh", "-c",
	                   start, "sh", script);
	if (code)
		printf("exit code %d of: %s\n%s\n", code, script, text);
	return code;
}

void pause_for(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

pid_t daemon_of(const struct mounted *m)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	pid_t found = 0;

	while ((d = readdir(proc))) {
		char path[300], text[4000];
		ssize_t n;
		int fd;

		if (atoi(d->d_name) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (fd >= 0)
			close(fd);
		if (n > 0 && memmem(text, (size_t)n, m->volume,
		                    strlen(m->volume)))
			found = atoi(d->d_name);
	}
	closedir(proc);
	return found;
}

long daemon_memory(const struct mounted *m)
{
	char path[64], line[200];
	long kilobytes = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)m->daemon);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1)
			break;
	if (f)
		fclose(f);
	return kilobytes < 0 ? -1 : kilobytes * 1024;
}
