#include "tools/crash.h"

#include <errno.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

enum { PLACES = 24 };

static const struct {
	int number;
	const char *text; /* with its length known to the compiler */
	size_t length;
} signals[] = {
#define LINE(number, why)                                              \
	{ number, "frondfs: ended by a crash: " why "\n",              \
	  sizeof("frondfs: ended by a crash: " why "\n") - 1 }
	LINE(SIGSEGV, "a bad memory access (SIGSEGV)"),
	LINE(SIGBUS, "a bad memory access, or the file behind it is gone"
	             " (SIGBUS)"),
	LINE(SIGABRT, "it found itself in a state that cannot be (SIGABRT)"),
	LINE(SIGILL, "an instruction that this processor does not have"
	             " (SIGILL)"),
	LINE(SIGFPE, "arithmetic (SIGFPE)"),
};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

/* Only what is safe in a signal handler. */
static void crashed(int number)
{
#ifdef __GLIBC__
	void *places[PLACES];
#endif
	size_t i = 0;
	ssize_t n;

	while (i < SIGNALS - 1 && signals[i].number != number)
		i++;
	n = write(STDERR_FILENO, signals[i].text, signals[i].length);
	(void)n; /* there is nobody left to be told */
#ifdef __GLIBC__
	backtrace_symbols_fd(places, backtrace(places, PLACES), STDERR_FILENO);
#endif
	/* The usual action is in place again (SA_RESETHAND). */
	raise(number);
}

void crash_report(void)
{
	struct sigaction action = {
		.sa_handler = crashed,
		.sa_flags = SA_RESETHAND | SA_NODEFER,
	};
	struct sigaction old;

#ifdef __GLIBC__
	/* The first call loads a library, which a handler may not. */
	void *place;

	backtrace(&place, 1);
#endif
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++)
		if (!sigaction(signals[i].number, NULL, &old)
		    && old.sa_handler == SIG_DFL)
			sigaction(signals[i].number, &action, NULL);
}

int crash_stderr_to_syslog(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return -errno;
	memcpy(address.sun_path, _PATH_LOG, sizeof(_PATH_LOG));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))
	    || dup2(fd, STDERR_FILENO) < 0)
		error = -errno;
	close(fd);
	return error;
}
