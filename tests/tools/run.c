#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

enum { ARGUMENTS_MAX = 24, SECONDS_MAX = 60 };

static char folder[] = "/tmp/frondfs-tools.XXXXXX";
static bool folder_made;

const char *run_folder(void)
{
	if (!folder_made && !mkdtemp(folder))
		abort();
	folder_made = true;
	return folder;
}

int run_shell(const char *command)
{
	char *line;
	int status;

	if (asprintf(&line, "cd %s && %s", run_folder(), command) < 0)
		abort();
	status = system(line);
	free(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void run_clean(void)
{
	char command[100];

	snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", folder,
	         folder);
	if (folder_made && system(command))
		abort();
	folder_made = false;
}

static void full_path(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", run_folder(), name);
}

void run_put(const char *name, const void *bytes, size_t size)
{
	char path[400];
	FILE *f;

	full_path(path, sizeof(path), name);
	f = fopen(path, "w");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		abort();
}

void run_put_text(const char *name, const char *text)
{
	run_put(name, text, strlen(text));
}

long run_get(const char *name, char *bytes, size_t room)
{
	char path[400];
	FILE *f;
	size_t n;

	full_path(path, sizeof(path), name);
	f = fopen(path, "r");
	if (!f)
		return -1;
	n = fread(bytes, 1, room - 1, f);
	bytes[n] = '\0';
	fclose(f);
	return (long)n;
}

bool run_exists(const char *name)
{
	char path[400];
	struct stat st;

	full_path(path, sizeof(path), name);
	return !lstat(path, &st);
}

static void collect(const char *argv[ARGUMENTS_MAX], const char *first,
                    va_list args)
{
	int n = 0;

	argv[n++] = "frondfs";
	for (const char *a = first; a; a = va_arg(args, const char *)) {
		if (n == ARGUMENTS_MAX - 1)
			abort();
		argv[n++] = a;
	}
	argv[n] = NULL;
}

/* A file without a name. */
static int scratch(void)
{
	int fd = open(run_folder(), O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		abort();
	return fd;
}

static void read_back(int fd, char *text, size_t room)
{
	ssize_t n = pread(fd, text, room - 1, 0);

	if (n < 0)
		abort();
	text[n] = '\0';
	close(fd);
}

static int wait_for(pid_t pid)
{
	int status;

	for (int i = 0; i < SECONDS_MAX * 200; i++) {
		struct timespec pause = { 0, 5000000 };

		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status)
			                         : -WTERMSIG(status);
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -SIGALRM;
}

void run(struct run *r, const struct run_how *how, const char *first, ...)
{
	static const struct run_how plain;
	const char *argv[ARGUMENTS_MAX];
	int out = scratch(), err = scratch(), in, hold[2] = { -1, -1 };
	va_list args;
	pid_t pid;

	if (!how)
		how = &plain;
	va_start(args, first);
	collect(argv, first, args);
	va_end(args);
	if (how->input_forbidden) {
		if (pipe(hold))
			abort();
		in = hold[0];
	} else {
		in = scratch();
		if (how->input && pwrite(in, how->input, strlen(how->input), 0) < 0)
			abort();
	}
	pid = fork();
	if (!pid) {
		struct rlimit limit = { how->memory, how->memory };

		setsid(); /* away from any terminal */
		if (chdir(run_folder()) || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
		    dup2(err, 2) < 0)
			_exit(125);
		close(hold[1]);
		if (how->memory)
			setrlimit(RLIMIT_AS, &limit);
		execv(FROND_BINARY, (char **)argv);
		_exit(126);
	}
	r->code = wait_for(pid);
	close(in);
	if (how->input_forbidden)
		close(hold[1]);
	read_back(out, r->out, sizeof(r->out));
	read_back(err, r->err, sizeof(r->err));
}

/* Reads what the terminal shows, for at most `ms`; false at its end. */
static bool show(struct run *r, size_t *size, int terminal, int ms)
{
	struct pollfd p = { terminal, POLLIN, 0 };
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return true;
	n = read(terminal, r->out + *size, sizeof(r->out) - 1 - *size);
	if (n <= 0)
		return false;
	*size += (size_t)n;
	r->out[*size] = '\0';
	return true;
}

static bool echo_is_on(int terminal)
{
	struct termios t;

	return !tcgetattr(terminal, &t) && (t.c_lflag & ECHO);
}

void run_on_terminal(struct run *r, const struct run_step *steps,
                     const char *first, ...)
{
	const char *argv[ARGUMENTS_MAX];
	int master, slave, status, code = -SIGALRM;
	size_t size = 0, seen = 0;
	bool open_end = true;
	va_list args;
	pid_t pid;

	va_start(args, first);
	collect(argv, first, args);
	va_end(args);
	memset(r, 0, sizeof(*r));
	if (openpty(&master, &slave, NULL, NULL, NULL))
		abort();
	pid = fork();
	if (!pid) {
		close(master);
		if (chdir(run_folder()) || login_tty(slave))
			_exit(125);
		execv(FROND_BINARY, (char **)argv);
		_exit(126);
	}
	/* The slave stays open here, so that its settings can be looked at. */
	for (int i = 0; i < SECONDS_MAX * 100; i++) {
		const char *at;

		open_end = show(r, &size, master, 10);
		at = steps->expect ? strstr(r->out + seen, steps->expect) : NULL;
		/* The prompt comes before the echo is turned off or after: type
		 * only when the reader is ready. */
		if (at) {
			struct timespec pause = { 0, 100000000 };

			seen = (size_t)(at - r->out) + strlen(steps->expect);
			nanosleep(&pause, NULL);
			if (write(master, steps->type, strlen(steps->type)) < 0)
				abort();
			steps++;
		}
		if (waitpid(pid, &status, WNOHANG) == pid) {
			code = WIFEXITED(status) ? WEXITSTATUS(status)
			                         : -WTERMSIG(status);
			break;
		}
	}
	if (code == -SIGALRM) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	for (int i = 0; open_end && i < 5; i++)
		open_end = show(r, &size, master, 10);
	r->code = echo_is_on(slave) ? code : 1000 + code;
	close(slave);
	close(master);
}
