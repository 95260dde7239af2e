/* `frondfs umount`: who keeps a mount busy, --lazy, --force, and that the
 * volume is released when it returns. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mount/support.h"
#include "mount/users.h"
#include "tools/exitcode.h"

static struct mounted m;
static bool others; /* ordinary users can mount */
static char said[20000];
static pid_t user;  /* a process that uses the mount */

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void end_user(void)
{
	if (user > 0) {
		kill(user, SIGKILL);
		waitpid(user, NULL, 0);
	}
	user = 0;
}

static void teardown(void *unused)
{
	(void)unused;
	end_user();
	mounted_remove(&m);
}

static bool is_there(void)
{
	return is_mounted_at(m.point, "fuse.frondfs");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int umount_with(const char *option)
{
	const char *const argv[] = { "timeout", "100", FROND_BINARY, "umount",
	                             option ? option : m.point,
	                             option ? m.point : NULL, NULL };

	return mounted_run(argv, said, sizeof(said));
}

/* Start a process that takes something of the mount and waits; `take` returns
 * false where it cannot. */
static bool start_user(uid_t uid, bool (*take)(void))
{
	int ready[2];
	char byte;
	bool good;

	fflush(NULL);
	if (pipe(ready))
		return false;
	user = fork();
	if (!user) {
		/* After setuid only root could look at it otherwise. */
		if ((uid && (setgid(uid) || setuid(uid)
		             || prctl(PR_SET_DUMPABLE, 1))) || !take())
			_exit(1);
		if (write(ready[1], "1", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	good = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return good;
}

/* Whether a line about the process has these words. */
static bool is_named(const char *words)
{
	char start[60], *line;

	snprintf(start, sizeof(start), "process %d (", (int)user);
	line = strstr(said, start);
	if (!line)
		return false;
	line[strcspn(line, "\n")] = 0;
	if (!strstr(line, words))
		printf("%s\n", line);
	return strstr(line, words);
}

static bool take_directory(void)
{
	return !chdir(in("d"));
}

static bool take_new_directory(void)
{
	return !mkdir(in("d"), 0755) && !chdir(in("d"));
}

static uint8_t written[300001];

static bool take_written_file(void)
{
	int fd = open(in("f"), O_RDWR | O_CREAT, 0644);

	bytes_fill(written, sizeof(written), 3);
	return write(fd, written, sizeof(written)) == sizeof(written);
}

static bool take_files(void)
{
	return open(in("f"), O_RDONLY) >= 0 && open(in("d"), O_RDONLY) >= 0;
}

static bool take_map(void)
{
	int fd = open(in("f"), O_RDONLY);
	void *map = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);

	close(fd);
	return map != MAP_FAILED;
}

static bool take_root(void)
{
	return !chroot(m.point) && !chdir("/");
}

static bool take_namespace(void)
{
	return !unshare(CLONE_NEWNS)
	       && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

TEST who_uses_it_is_named(void)
{
	static const struct {
		bool (*take)(void);
		const char *words;
	} ways[] = {
		{ take_directory, "is in a directory of it" },
		{ take_files, "has 2 files open" },
		{ take_map, "has 1 file mapped" },
		{ take_root, "has its root directory there" },
	};

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (ways[i].take == take_root && geteuid() != 0)
			continue;
		ASSERT(start_user(0, ways[i].take));
		ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
		ASSERT(is_named(ways[i].words));
		ASSERT(is_there());
		end_user();
	}
	ASSERT_EQ(0, umount_with(NULL));
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST a_program_from_it_is_named(void)
{
	const char *program;

	MOUNT_OR_SKIP(&m, "exec");
	program = in("program");
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "cp", "/bin/sleep", program));
	fflush(NULL);
	user = fork();
	if (!user) {
		execl(program, program, "1000", (char *)NULL);
		_exit(1);
	}
	pause_for(300);
	ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
	ASSERT(is_named("is a program from it"));
	end_user();
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Its own directory does not count, as a shell's does. */
TEST a_shell_in_it_is_named(void)
{
	char script[1000];

	MOUNT_OR_SKIP(&m, NULL);
	snprintf(script, sizeof(script), "cd '%s' && '%s' umount . ; echo $? $$",
	         m.point, FROND_BINARY);
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "sh", "-c", script));
	ASSERT(strstr(said, "(sh) of root is in a directory"));
	ASSERT_FALSE(strstr(said, "(frondfs) of root is in a directory"));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST mounts_and_devices_in_it_are_named(void)
{
	static const char image[65536];
	char device[100] = "";
	int loop;

	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, mkdir(in("a b"), 0755));
	ASSERT_EQ(0, mount("none", in("a b"), "tmpfs", 0, NULL));
	ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
	ASSERT(strstr(said, "something is mounted in it, at "));
	ASSERT(strstr(said, in("a b")));
	ASSERT_EQ(0, umount(in("a b")));
	loop = !access("/dev/loop-control", R_OK) && have_program("losetup");
	if (loop) {
		ASSERT_EQ(0, file_put(in("image"), image, sizeof(image)));
		loop = !MOUNTED_RUN(device, sizeof(device), "losetup", "-f",
		                    "--show", in("image"));
		device[strcspn(device, "\n")] = 0;
	}
	if (loop) {
		ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
		ASSERT(strstr(said, device));
		ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "losetup", "-d",
		                         device));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int umount_as_anne(void *unused)
{
	(void)unused;
	return MOUNTED_RUN(NULL, 0, "sh", "-c", said);
}

TEST an_ordinary_user_sees_his_own_and_how_many_not(void)
{
	char log[400];
	int fd;

	if (!others)
		SKIP_BECAUSE("no device for ordinary users");
	ASSERT_EQ(0, mounted_make_for(&m, ANNE));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(start_user(ANNE, take_new_directory));
	snprintf(log, sizeof(log), "%s/said", m.dir);
	snprintf(said, sizeof(said), "timeout 100 '%s' umount '%s' >'%s' 2>&1",
	         FROND_BINARY, m.point, log);
	ASSERT_EQ(EXIT_IN_USE, as_user(ANNE, ANNE, 0, NULL, umount_as_anne, NULL));
	memset(said, 0, sizeof(said));
	fd = open(log, O_RDONLY);
	ASSERT(read(fd, said, sizeof(said) - 1) > 0);
	close(fd);
	/* Those of root, of which this test is one. */
	ASSERT(strstr(said, " of other users could not be looked at"));
	ASSERT(is_named("of frond-anne is in a directory of it"));
	end_user();
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST lazy_takes_it_away(void)
{
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(0, umount_with("--lazy"));
	ASSERT_FALSE(is_there());
	ASSERT_EQ(4, write(fd, "text", 4));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(EXIT_USAGE, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                                  "--lazy", "--force", m.point));
	PASS();
}

/* Where nothing is in the way, --force does nothing else. */
TEST force_is_gentle_where_it_can(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	ASSERT_EQ(0, umount_with("--force"));
	ASSERT_STR_EQ("", said);
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* A daemon that answers: files that are open are finished. */
TEST force_ends_a_mount_in_use(void)
{
	static uint8_t data[300001];
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 2);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ((ssize_t)sizeof(data), write(fd, data, sizeof(data)));
	ASSERT_EQ(0, umount_with("--force"));
	ASSERT(strstr(said, "is in use: its connection to the kernel is aborted"));
	ASSERT(strstr(said, "file open") || strstr(said, "files open"));
	ASSERT_EQ(-1, write(fd, "x", 1));
	ASSERT(errno == ENOTCONN || errno == ECONNABORTED || errno == EIO);
	close(fd);
	ASSERT_FALSE(is_there());
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* One that does not: it is stopped, and something waits for it. Also where the
 * kernel's files of connections are not mounted. */
TEST force_ends_a_daemon_that_does_not_answer(int control)
{
	pid_t waiter;
	double start;

	if (!control && (!others || umount("/sys/fs/fuse/connections")))
		SKIP_BECAUSE("the files of connections cannot be hidden");
	MOUNT_OR_SKIP(&m, NULL);
	/* Not we: each child's end would ask the daemon to flush the file. */
	ASSERT(start_user(0, take_written_file));
	kill(m.daemon, SIGSTOP);
	fflush(NULL);
	waiter = fork();
	if (!waiter)
		_exit(open(in("g"), O_RDWR | O_CREAT, 0644) < 0 ? errno : 0);
	pause_for(1200); /* attributes are to be asked for again */
	bytes_fill(written, sizeof(written), 3);
	/* Without --force nothing hangs either; it is told who is in the way. */
	start = now();
	ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
	ASSERT(now() - start < 20);
	ASSERT(is_named("has 1 file open"));
	ASSERT_EQ(0, umount_with("--force"));
	ASSERT(now() - start < 40);
	ASSERT_FALSE(is_there());
	ASSERT_EQ(waiter, waitpid(waiter, NULL, 0));
	end_user();
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), written, sizeof(written)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST force_works_for_an_ordinary_user(void)
{
	if (!others)
		SKIP_BECAUSE("no device for ordinary users");
	ASSERT_EQ(0, mounted_make_for(&m, ANNE));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(start_user(ANNE, take_new_directory));
	snprintf(said, sizeof(said), "timeout 100 '%s' umount -q --force '%s'",
	         FROND_BINARY, m.point);
	ASSERT_EQ(0, as_user(ANNE, ANNE, 0, NULL, umount_as_anne, NULL));
	ASSERT_FALSE(is_there());
	end_user();
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* The mount point's path is found without the daemon's help. */
TEST a_path_is_found_without_the_daemon(void)
{
	const char *paths[] = { "mnt", "./mnt/", "d/../mnt//", "link" };
	int code;

	MOUNT_OR_SKIP(&m, "attr_timeout=0,entry_timeout=0");
	ASSERT_EQ(0, mkdir(mounted_path(m.dir, "d"), 0755));
	ASSERT_EQ(0, symlink("mnt", mounted_path(m.dir, "link")));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT(start_user(0, take_directory));
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		kill(m.daemon, SIGSTOP);
		code = MOUNTED_RUN(said, sizeof(said), "timeout", "20", "sh",
		                   "-c", "cd \"$1\" && exec \"$2\" umount \"$3\"",
		                   "sh", m.dir, FROND_BINARY, paths[i]);
		kill(m.daemon, SIGCONT);
		ASSERT_EQ_FMT((int)EXIT_IN_USE, code, "%d");
		ASSERT(strstr(said, m.point));
		ASSERT(is_named("is in a directory of it"));
	}
	end_user();
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A copy in another mount namespace keeps the daemon; that is said. */
TEST another_namespace_is_named(void)
{
	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, NULL);
	if (!start_user(0, take_namespace)) {
		ASSERT_EQ(0, mounted_umount(&m));
		SKIP_BECAUSE("no mount namespaces");
	}
	ASSERT_EQ(EXIT_IN_USE, umount_with(NULL));
	ASSERT(strstr(said, "has not released"));
	ASSERT(strstr(said, "mounted in the mount namespace of process"));
	end_user();
	ASSERT_EQ(0, mounted_signal(&m, 0));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

SUITE(unmounting)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(who_uses_it_is_named);
	RUN_TEST(a_program_from_it_is_named);
	RUN_TEST(a_shell_in_it_is_named);
	RUN_TEST(mounts_and_devices_in_it_are_named);
	RUN_TEST(an_ordinary_user_sees_his_own_and_how_many_not);
	RUN_TEST(lazy_takes_it_away);
	RUN_TEST(force_is_gentle_where_it_can);
	RUN_TEST(force_ends_a_mount_in_use);
	RUN_TESTp(force_ends_a_daemon_that_does_not_answer, 1);
	RUN_TEST(force_works_for_an_ordinary_user);
	RUN_TESTp(force_ends_a_daemon_that_does_not_answer, 0);
	RUN_TEST(a_path_is_found_without_the_daemon);
	RUN_TEST(another_namespace_is_named);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	others = mounted_possible() && users_take_device();
	/* As it usually is; without it, root has another way. */
	if (others && !is_mounted_at("/sys/fs/fuse/connections", NULL))
		others = !mount("none", "/sys/fs/fuse/connections", "fusectl", 0,
		                NULL);
	RUN_SUITE(unmounting);
	GREATEST_MAIN_END();
}
