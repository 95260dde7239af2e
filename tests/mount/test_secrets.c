/* What a daemon gives away, and what it says when it crashes: rows F30, F80,
 * F81 and F100 of the field's troubles. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "mount/support.h"
#include "mount/users.h"
#include "sanitized.h"

static struct mounted m;
static char said[20000];
static bool prepared;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* A file below /proc/PID of the daemon; its length, or -errno. */
static ssize_t proc_read(const char *name, char *buf, size_t size)
{
	char path[100];
	size_t length = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)m.daemon, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + length, size - 1 - length);
		length += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(fd);
	buf[length] = 0;
	return (ssize_t)length;
}

/* F81: keys are in memory that is locked, the process leaves no core, and a
 * process of the same user can neither trace it nor read its memory. */
TEST keys_stay_in_the_daemon(void)
{
	static char text[20000];
	long locked = -1;
	const char *line;
	struct stat st;
	char path[64];

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT(proc_read("status", text, sizeof(text)) > 0);
	line = strstr(text, "VmLck:");
	ASSERT(line && sscanf(line, "VmLck: %ld kB", &locked) == 1);
#ifndef SANITIZED /* there memory cannot be locked */
	ASSERT(locked >= 256);
#endif
	ASSERT(proc_read("limits", text, sizeof(text)) > 0);
	line = strstr(text, "Max core file size");
	ASSERT(line);
	line += strlen("Max core file size");
	ASSERT_EQ(0, strtol(line, (char **)&line, 10));
	ASSERT_EQ(0, strtol(line, NULL, 10));
	/* What is not dumpable belongs to root, whoever runs it. */
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)m.daemon);
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(0, (int)st.st_uid);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int try_to_look(void *context)
{
	char path[64];
	int fd;

	(void)context;
	if (ptrace(PTRACE_ATTACH, m.daemon, NULL, NULL) == 0) {
		ptrace(PTRACE_DETACH, m.daemon, NULL, NULL);
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)m.daemon);
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		return 2;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)m.daemon);
	fd = open(path, O_RDONLY);
	return fd >= 0 ? 3 : 0;
}

TEST another_process_of_the_user_sees_nothing(void)
{
	struct stat st;
	char path[64];

	if (!prepared || !mounted_possible() || !have_program("fusermount3"))
		SKIP_BECAUSE("no mount of a user's own");
	ASSERT_EQ(0, mounted_make_for(&m, ANNE));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)m.daemon);
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(0, (int)st.st_uid);
	ASSERT_EQ(0, as_user(ANNE, ANNE, 0, NULL, try_to_look, NULL));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F80: no option of any command takes a secret itself, only places where it
 * can be read. */
TEST no_option_takes_a_secret(void)
{
	static const char *const commands[] = {
		"init", "mount", "fsck", "info", "passwd", "slot", "recover",
	};
	static const char *const guesses[] = {
		"--password=x", "--passphrase=x", "--masterkey=x",
		"--secret=x", "--phrase=x",
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		for (size_t k = 0; k < sizeof(guesses) / sizeof(*guesses); k++)
			ASSERT_EQ(16, MOUNTED_RUN(said, sizeof(said), "frondfs",
			                          commands[i], guesses[k], "/",
			                          "/nowhere"));
	}
	ASSERT_EQ(16, MOUNTED_RUN(said, sizeof(said), "frondfs", "mount", "-o",
	                          "passphrase=x", "/", "/nowhere"));
	PASS();
}

static bool log_holds(const char *text)
{
	FILE *f = fopen(m.log, "r");
	size_t n = f ? fread(said, 1, sizeof(said) - 1, f) : 0;

	said[n] = 0;
	if (f)
		fclose(f);
	return strstr(said, text) != NULL;
}

/* F30: in the foreground, on stderr. */
TEST a_crash_tells_its_reason(void)
{
	static const struct {
		int number;
		const char *says;
	} crashes[] = {
		{ SIGSEGV, "SIGSEGV" }, { SIGBUS, "SIGBUS" },
		{ SIGABRT, "SIGABRT" }, { SIGILL, "SIGILL" },
	};
	int status;

#ifdef SANITIZED
	SKIP_BECAUSE("a sanitizer reports such signals itself");
#endif
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
		ASSERT_EQ(0, mounted_mount(&m, NULL));
		ASSERT_EQ(0, file_put(mounted_path(m.point, "f"), "text", 4));
		kill(m.daemon, crashes[i].number);
		ASSERT_EQ(m.daemon, waitpid(m.daemon, &status, 0));
		m.daemon = 0;
		/* It ends as it would without that. */
		ASSERT(WIFSIGNALED(status));
		ASSERT_EQ(crashes[i].number, WTERMSIG(status));
		ASSERT(!WCOREDUMP(status));
		ASSERT(log_holds("ended by a crash"));
		ASSERT(log_holds(crashes[i].says));
	}
	/* What was written is there, and the next mount clears the dead one. */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(mounted_path(m.point, "f"), "text", 4));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* In the background, in the system log, for which the test stands in. */
TEST a_crash_in_the_background_is_in_the_system_log(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = 5 };
	char line[2000];
	bool found = false;
	pid_t daemon;
	ssize_t n;
	int log;

#ifdef SANITIZED
	SKIP_BECAUSE("a sanitizer reports such signals itself");
#endif
	if (geteuid() != 0 || !access(_PATH_LOG, F_OK))
		SKIP_BECAUSE("not root, or there is a system log");
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, _PATH_LOG);
	ASSERT_EQ(0, bind(log, (struct sockaddr *)&address, sizeof(address)));
	setsockopt(log, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	n = MOUNTED_RUN(said, sizeof(said), "frondfs", "mount", "--keyfile",
	                m.keyfile, m.volume, m.point);
	unlink(_PATH_LOG);
	ASSERT_EQ(0, (int)n);
	daemon = daemon_of(&m);
	ASSERT(daemon > 0);
	kill(daemon, SIGSEGV);
	while (!found && (n = recv(log, line, sizeof(line) - 1, 0)) > 0) {
		line[n] = 0;
		found = strstr(line, "ended by a crash") && strstr(line, "SIGSEGV");
	}
	close(log);
	ASSERT(found);
	MOUNTED_RUN(NULL, 0, "frondfs", "umount", m.point);
	PASS();
}

/* F100: which implementation is at work is never a secret. */
TEST the_engine_is_named(void)
{
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "info",
	                         m.volume));
	ASSERT(strstr(said, "\nengine        "));
	ASSERT(strstr(said, "generic)"));
	ASSERT_EQ(0, setenv("FRONDFS_ENGINE", "generic", 1));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "info",
	                         m.volume));
	ASSERT(strstr(said, "\nengine        generic "));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "mount", "-v",
	                         "--keyfile", m.keyfile, m.volume, m.point));
	ASSERT(strstr(said, "engine is generic"));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         m.point));
	unsetenv("FRONDFS_ENGINE");
	PASS();
}

SUITE(secrets)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(keys_stay_in_the_daemon);
	RUN_TEST(another_process_of_the_user_sees_nothing);
	RUN_TEST(no_option_takes_a_secret);
	RUN_TEST(a_crash_tells_its_reason);
	RUN_TEST(a_crash_in_the_background_is_in_the_system_log);
	RUN_TEST(the_engine_is_named);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	prepared = users_take_device();
	RUN_SUITE(secrets);
	GREATEST_MAIN_END();
}
