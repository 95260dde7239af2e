#include "mount/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FUSE_MAGIC = 0x65735546, WAIT_SECONDS = 60 };

static void pause_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return exit_code(status);
}

static const char *program_path(const char *name)
{
	return strcmp(name, "frondfs") ? name : FROND_BINARY;
}

/* In a child: become this user and no other. */
static void become(uid_t user)
{
	if (user && (setgroups(0, NULL) || setresgid(user, user, user)
	             || setresuid(user, user, user)))
		_exit(126);
}

static int run_as(uid_t user, const char *const argv[], char *output,
                  size_t size)
{
	int ends[2] = { -1, -1 };
	size_t n = 0;
	pid_t pid;

	if (output && pipe2(ends, O_CLOEXEC))
		return -1;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY);

		dup2(null, 0);
		if (output) {
			dup2(ends[1], 1);
			dup2(ends[1], 2);
		}
		become(user);
		execvp(program_path(argv[0]), (char *const *)argv);
		_exit(127);
	}
	if (output) {
		char rest[512];
		ssize_t got;

		close(ends[1]);
		do {
			bool full = n + 1 >= size;

			got = read(ends[0], full ? rest : output + n,
			           full ? sizeof(rest) : size - 1 - n);
			if (got > 0 && !full)
				n += (size_t)got;
		} while (got > 0 || (got < 0 && errno == EINTR));
		close(ends[0]);
		output[n] = 0;
	}
	return pid < 0 ? -1 : wait_for(pid);
}

int mounted_run(const char *const argv[], char *output, size_t size)
{
	return run_as(0, argv, output, size);
}

#define RUN_AS(user, output, size, ...) \
	run_as(user, (const char *const[]){ __VA_ARGS__, NULL }, output, size)

bool mounted_possible(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("/dev/fuse cannot be used here: %s\n", strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static int write_keyfile(const char *path)
{
	static const char key[] = "only a test's key file: 0123456789abcdef";
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = fd >= 0 && write(fd, key, sizeof(key)) == sizeof(key);

	if (fd >= 0)
		close(fd);
	return good ? 0 : -1;
}

int mounted_make(struct mounted *m)
{
	return mounted_make_for(m, 0);
}

static int give_to(const struct mounted *m, uid_t user)
{
	return chown(m->dir, user, user) || chown(m->volume, user, user)
	       || chown(m->point, user, user) || chown(m->keyfile, user, user)
		? -1 : 0;
}

int mounted_make_for(struct mounted *m, uid_t user)
{
	const char *base = getenv("TMPDIR");
	char text[2000];
	int code;

	memset(m, 0, sizeof(*m));
	m->user = user;
	snprintf(m->dir, sizeof(m->dir), "%s/frond-mount-XXXXXX",
	         base && *base ? base : "/tmp");
	if (!mkdtemp(m->dir)) {
		printf("%s: %s\n", m->dir, strerror(errno));
		return -1;
	}
	snprintf(m->volume, sizeof(m->volume), "%s/volume", m->dir);
	snprintf(m->point, sizeof(m->point), "%s/mnt", m->dir);
	snprintf(m->keyfile, sizeof(m->keyfile), "%s/key", m->dir);
	snprintf(m->recovery, sizeof(m->recovery), "%s/recovery", m->dir);
	snprintf(m->log, sizeof(m->log), "%s/log", m->dir);
	if (mkdir(m->volume, 0755) || mkdir(m->point, 0755)
	    || write_keyfile(m->keyfile) || (user && give_to(m, user))) {
		printf("%s: %s\n", m->dir, strerror(errno));
		return -1;
	}
	code = RUN_AS(user, text, sizeof(text), "frondfs", "init", "--keyfile",
	              m->keyfile, "--recovery-key-file", m->recovery,
	              m->volume);
	if (code)
		printf("frondfs init: exit code %d\n%s", code, text);
	return code ? -1 : 0;
}

static void show_log(const struct mounted *m)
{
	FILE *f = fopen(m->log, "r");
	char line[500];

	while (f && fgets(line, sizeof(line), f))
		printf("  daemon: %s", line);
	if (f)
		fclose(f);
}

/* Whether the mount is there and answers; on a dead one statfs fails. */
static bool answers(const struct mounted *m)
{
	struct statfs s;

	return statfs(m->point, &s) == 0 && s.f_type == FUSE_MAGIC;
}

int mounted_mount(struct mounted *m, const char *options)
{
	const char *argv[12] = { "frondfs", "mount", "-f", "--keyfile",
	                         m->keyfile };
	int n = 5, status;

	if (options) {
		argv[n++] = "-o";
		argv[n++] = options;
	}
	argv[n++] = m->volume;
	argv[n++] = m->point;
	fflush(NULL);
	m->daemon = fork();
	if (m->daemon < 0)
		return -1;
	if (m->daemon == 0) {
		int log = open(m->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		int null = open("/dev/null", O_RDONLY);

		dup2(null, 0);
		dup2(log, 1);
		dup2(log, 2);
		become(m->user);
		execv(FROND_BINARY, (char *const *)argv);
		_exit(127);
	}
	for (long ms = 0; ms < WAIT_SECONDS * 1000L; ms += 10) {
		if (waitpid(m->daemon, &status, WNOHANG) == m->daemon) {
			m->daemon = 0;
			show_log(m);
			return exit_code(status) ? exit_code(status) : -1;
		}
		if (answers(m))
			return 0;
		pause_ms(10);
	}
	printf("no mount after %d seconds\n", WAIT_SECONDS);
	show_log(m);
	mounted_kill(m);
	return -1;
}

/* Wait for the daemon's end, by force after a while. */
static int end_daemon(struct mounted *m)
{
	int status = 0;

	for (long ms = 0; ms < WAIT_SECONDS * 1000L; ms += 10) {
		if (waitpid(m->daemon, &status, WNOHANG) == m->daemon) {
			m->daemon = 0;
			if (exit_code(status))
				show_log(m);
			return exit_code(status);
		}
		pause_ms(10);
	}
	printf("the daemon does not end\n");
	show_log(m);
	mounted_kill(m);
	return -1;
}

int mounted_umount(struct mounted *m)
{
	char text[2000];
	int code;

	if (!m->daemon)
		return 0;
	code = RUN_AS(m->user, text, sizeof(text), "frondfs", "umount",
	              m->point);
	if (code) {
		printf("frondfs umount: exit code %d\n%s", code, text);
		return code;
	}
	return end_daemon(m);
}

int mounted_signal(struct mounted *m, int signal)
{
	if (!m->daemon || kill(m->daemon, signal))
		return -1;
	return end_daemon(m);
}

/* By the helper program, for a test that does not run as root. */
static void detach(const struct mounted *m)
{
	char text[500];

	if (umount2(m->point, MNT_DETACH) && errno == EPERM)
		MOUNTED_RUN(text, sizeof(text), "fusermount3", "-u", "-z", "-q",
		            m->point);
}

void mounted_kill(struct mounted *m)
{
	if (!m->daemon)
		return;
	kill(m->daemon, SIGKILL);
	wait_for(m->daemon);
	m->daemon = 0;
	detach(m);
}

void mounted_remove(struct mounted *m)
{
	if (!m->dir[0])
		return;
	if (m->daemon)
		mounted_kill(m);
	else if (answers(m))
		detach(m);
	MOUNTED_RUN(NULL, 0, "rm", "-rf", "--one-file-system", m->dir);
	m->dir[0] = 0;
}

const char *mounted_path(const char *in, const char *name)
{
	static char paths[8][PATH_MAX];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", in, name);
	return path;
}
