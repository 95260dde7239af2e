#include "tools/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/volume/volume.h"
#include "tools/command.h"
#include "tools/crash.h"
#include "tools/exitcode.h"
#include "tools/message.h"

enum { READ_AHEAD_KB = 1024 };

struct daemon {
	bool foreground;
	int report;         /* a byte here says that the mount is there */
	int answer;         /* foreground: a byte here, that it answers */
	pid_t checker;      /* foreground */
	pthread_t waiter;
	bool waiting;
};

static bool read_byte(int fd)
{
	char byte;
	ssize_t n;

	do {
		n = read(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

static void write_byte(int fd)
{
	while (write(fd, "1", 1) < 0 && errno == EINTR)
		;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_OPERATION;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM
	    || WTERMSIG(status) == SIGHUP)
		return EXIT_CANCELLED;
	error_say("the daemon ended by signal %d", WTERMSIG(status));
	return EXIT_OPERATION;
}

/* Larger reads ahead than the kernel's usual 128 KiB pay here, as a request's
 * sectors are decrypted together. Only root may set it; it is no error if that
 * cannot be done. */
static void set_read_ahead(const struct stat *st)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
	         major(st->st_dev), minor(st->st_dev));
	f = fopen(path, "we");
	if (!f)
		return;
	fprintf(f, "%d\n", READ_AHEAD_KB);
	fclose(f);
}

/* Wait for the answer to a first request. */
static bool answers(const char *point)
{
	struct statvfs fs;
	struct stat st;

	if (stat(point, &st) || statvfs(point, &fs))
		return false;
	set_read_ahead(&st);
	return true;
}

/*
 * Foreground
 */

static void notify_manager(void)
{
	static const char ready[] = "READY=1\nSTATUS=Mounted.\n";
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = name ? strlen(name) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path)
	    || (*name != '/' && *name != '@'))
		return;
	memcpy(address.sun_path, name, length);
	if (*name == '@')
		address.sun_path[0] = 0; /* an abstract address */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, ready, sizeof(ready) - 1, MSG_NOSIGNAL,
	           (struct sockaddr *)&address,
	           (socklen_t)(offsetof(struct sockaddr_un, sun_path)
	                       + length)) < 0)
		volume_log("the service manager could not be told: %s",
		           strerror(errno));
	close(fd);
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void *wait_for_answer(void *argument)
{
	struct daemon *daemon = argument;

	if (read_byte(daemon->answer))
		notify_manager();
	reap(daemon->checker);
	return NULL;
}

static int run_foreground(struct daemon *daemon, const char *point,
                          int (*serve)(struct daemon *daemon, void *context),
                          void *context)
{
	int report[2], answer[2];
	int code;

	if (pipe2(report, O_CLOEXEC) || pipe2(answer, O_CLOEXEC)) {
		error_say("cannot make a pipe: %s", strerror(errno));
		return EXIT_OPERATION;
	}
	daemon->checker = fork();
	if (daemon->checker < 0) {
		error_say("cannot start a process: %s", strerror(errno));
		return EXIT_OPERATION;
	}
	if (daemon->checker == 0) {
		close(report[1]);
		close(answer[0]);
		if (read_byte(report[0]) && answers(point))
			write_byte(answer[1]);
		_exit(0);
	}
	close(report[0]);
	close(answer[1]);
	daemon->report = report[1];
	daemon->answer = answer[0];
	code = serve(daemon, context);
	if (daemon->report >= 0)
		close(daemon->report);
	if (daemon->waiting)
		pthread_join(daemon->waiter, NULL);
	else
		reap(daemon->checker);
	close(daemon->answer);
	return code;
}

static void foreground_mounted(struct daemon *daemon)
{
	sigset_t all, old;

	write_byte(daemon->report);
	/* Signals are for the thread that ends the session. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	daemon->waiting = !pthread_create(&daemon->waiter, NULL,
	                                  wait_for_answer, daemon);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/*
 * Background
 */

/* The directory's descriptor stays out; closing while listing /proc is what
 * makes a second look necessary. */
static int close_others(const struct daemon *daemon)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int closed = 0;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && fd != dirfd(dir)
		    && fd != daemon->report && !close(fd))
			closed++;
	}
	if (dir)
		closedir(dir);
	return closed;
}

void daemon_close_inherited(struct daemon *daemon)
{
	if (!daemon->foreground)
		while (close_others(daemon))
			;
}

static void background_mounted(struct daemon *daemon)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, 0);
	setsid();
	if (chdir("/"))
		volume_log("cannot change to /: %s", strerror(errno));
	volume_log_to_syslog(true);
	fflush(NULL);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	crash_stderr_to_syslog(); /* or nowhere */
	write_byte(daemon->report);
}

static int run_child(struct daemon *daemon,
                     int (*serve)(struct daemon *daemon, void *context),
                     void *context)
{
	int code;

	command_secure_memory();
	code = serve(daemon, context);
	if (daemon->report >= 0)
		close(daemon->report);
	return code;
}

static int run_background(struct daemon *daemon, const char *point,
                          int (*serve)(struct daemon *daemon, void *context),
                          void *context)
{
	pid_t parent = getpid(), child;
	int report[2];

	if (pipe2(report, O_CLOEXEC)) {
		error_say("cannot make a pipe: %s", strerror(errno));
		return EXIT_OPERATION;
	}
	fflush(NULL);
	child = fork();
	if (child < 0) {
		error_say("cannot start a process: %s", strerror(errno));
		return EXIT_OPERATION;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(EXIT_CANCELLED);
		close(report[0]);
		daemon->report = report[1];
		return run_child(daemon, serve, context);
	}
	close(report[1]);
	/* ^C is the child's: it puts the terminal right and ends. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (!read_byte(report[0]))
		return wait_for(child);
	if (!answers(point)) {
		error_say("the mount at %s does not answer: %s", point,
		          strerror(errno));
		hint_say("the system log tells why the daemon ended");
		return EXIT_OPERATION;
	}
	return EXIT_OK;
}

void daemon_mounted(struct daemon *daemon)
{
	crash_report();
	if (daemon->foreground)
		foreground_mounted(daemon);
	else
		background_mounted(daemon);
	close(daemon->report);
	daemon->report = -1;
}

int daemon_start(bool foreground, const char *point,
                 int (*serve)(struct daemon *daemon, void *context),
                 void *context)
{
	struct daemon daemon = {
		.foreground = foreground, .report = -1, .answer = -1
	};

	return foreground ? run_foreground(&daemon, point, serve, context)
	                  : run_background(&daemon, point, serve, context);
}
