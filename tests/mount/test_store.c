/*
 * A store that fails, waits, or goes away beneath the mount, and comes back.
 * The caller gets the store's error, what was there stays whole, the daemon
 * lives, and all goes on when the cause is gone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/faulty.h"
#include "mount/guard.h"
#include "mount/support.h"

enum { SIZE = 50000 };

static struct mounted m;
static char real[300];    /* the volume's folder without its faults */
static uint8_t data[SIZE], other[SIZE];
static char longest[256], long_too[256];

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	if (m.daemon)
		mounted_kill(&m);
	faulty_umount();
	guard_end(&m, false);
}

static int begin(const char *options)
{
	if (mounted_make(&m))
		return -1;
	snprintf(real, sizeof(real), "%s", m.volume);
	snprintf(m.volume, sizeof(m.volume), "%.250s/store", m.dir);
	if (faulty_mount(real, m.volume) || mounted_mount(&m, options))
		return -1;
	guard_begin(&m, 60);
	bytes_fill(data, SIZE, 1);
	bytes_fill(other, SIZE, 2);
	memset(longest, 'n', 255);
	memset(long_too, 't', 255);
	if (file_put(in("old"), data, SIZE) || mkdir(in("d"), 0755)
	    || file_put(in("d/inside"), data, SIZE)
	    || file_put(in(longest), data, SIZE))
		return -1;
	return 0;
}

#define STORE_OR_SKIP(options)                                         \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		ASSERT_EQ(0, begin(options));                          \
	} while (0)

static bool old_is_whole(void)
{
	return file_is(in("old"), data, SIZE)
	       && file_is(in("d/inside"), data, SIZE)
	       && file_is(in(longest), data, SIZE);
}

/* Unmounted, and checked where no fault is: no finding but these. */
static enum greatest_test_res end_clean(void)
{
	ASSERT_EQ(0, mounted_umount(&m));
	faulty_umount();
	snprintf(m.volume, sizeof(m.volume), "%s", real);
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(old_is_whole());
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* What a program does; 0 or -errno. undo() takes it back. */
static int do_write(void)
{
	int fd = open(in("old"), O_RDWR);
	int error = 0;

	/* The same bytes: what was there must be whole in any case. */
	if (fd < 0)
		return -errno;
	if (pwrite(fd, data + 1000, 30000, 1000) < 0)
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	return error;
}

static int do_sync(void)
{
	int fd = open(in("old"), O_RDWR);
	int error = 0;

	if (fd < 0 || pwrite(fd, data, 100, 0) < 0 || fsync(fd))
		error = -errno;
	close(fd);
	return error;
}

static int do_read(void)
{
	uint8_t *buf = malloc(SIZE);
	int fd = open(in("old"), O_RDONLY | O_DIRECT);
	int error = fd < 0 || pread(fd, buf, 40960, 0) < 0 ? -errno : 0;

	if (!error && memcmp(buf, data, 40960))
		error = -EBADMSG;
	close(fd);
	free(buf);
	return error;
}

static int do_file(void) { return file_put(in("new"), other, SIZE); }
static int do_dir(void) { return mkdir(in("new"), 0755) ? -errno : 0; }
static int do_link(void)
{
	return link(in("old"), in("new")) ? -errno : 0;
}
static int do_symlink(void)
{
	return symlink("somewhere", in("new")) ? -errno : 0;
}
static int do_rename(void)
{
	return rename(in("d"), in("new")) ? -errno : 0;
}
static int do_long_rename(void)
{
	return rename(in(longest), in(long_too)) ? -errno : 0;
}
static int do_unlink(void)
{
	int fd = open(in("gone"), O_WRONLY | O_CREAT, 0600);

	close(fd);
	return unlink(in("gone")) ? -errno : 0;
}
static int do_truncate(void)
{
	return truncate(in("old"), SIZE + 100) ? -errno : 0;
}
static int do_chmod(void) { return chmod(in("old"), 0640) ? -errno : 0; }
static int do_xattr(void)
{
	return setxattr(in("old"), "user.a", "b", 1, 0) ? -errno : 0;
}
static int do_list(void)
{
	int n = path_entries(in("d"));

	return n < 0 ? n : 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	unsigned kinds;
} works[] = {
	{ "write", do_write, FAULTY_WRITE },
	{ "sync", do_sync, FAULTY_SYNC },
	{ "read", do_read, FAULTY_READ },
	{ "new file", do_file, FAULTY_MAKE },
	{ "write a new file", do_file, FAULTY_WRITE },
	{ "length of a new file", do_file, FAULTY_LENGTH },
	{ "mkdir", do_dir, FAULTY_MAKE },
	{ "rename in mkdir", do_dir, FAULTY_RENAME },
	{ "link", do_link, FAULTY_MAKE },
	{ "symlink", do_symlink, FAULTY_MAKE },
	{ "rename", do_rename, FAULTY_RENAME },
	{ "long rename", do_long_rename, FAULTY_RENAME },
	{ "name file in a long rename", do_long_rename, FAULTY_MAKE },
	{ "unlink", do_unlink, FAULTY_REMOVE },
	{ "truncate", do_truncate, FAULTY_LENGTH },
	{ "chmod", do_chmod, FAULTY_CHANGE },
	{ "setxattr", do_xattr, FAULTY_CHANGE },
	{ "list", do_list, FAULTY_LOOK },
};

static void undo(void)
{
	if (path_entries(in("new")) == 1)
		rename(in("new"), in("d"));
	if (path_size(in(long_too)) == SIZE)
		rename(in(long_too), in(longest));
	unlink(in("new"));
	rmdir(in("new"));
	unlink(in("gone"));
	if (!truncate(in("old"), SIZE))
		return;
	printf("truncate: %s\n", strerror(errno));
}

/* One request of the store fails, or all from one on, with each error. */
TEST errors_reach_the_caller(void)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT, EINTR, ETIMEDOUT };

	STORE_OR_SKIP(NULL);
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
		for (size_t e = 0; e < 5; e++) {
			int result;

			pause_for(0);
			faulty_fail(works[i].kinds, errors[e], 0, -1);
			result = works[i].run();
			faulty_work();
			if (result != -errors[e])
				printf("%s, %s: %d\n", works[i].name,
				       strerror(errors[e]), result);
			ASSERT(faulty->struck > 0);
			ASSERT_EQ(-errors[e], result);
			undo();
			ASSERT(old_is_whole());
			ASSERT_EQ(0, works[i].run());
			undo();
			ASSERT_EQ(3, path_entries(m.point));
		}
	}
	CHECK_CALL(end_clean());
	PASS();
}

/* Any request fails once; then nothing is broken, and the same works. */
TEST any_request_may_fail(void)
{
	/* The store may have made what it says it could not. */
	STORE_OR_SKIP("entry_timeout=0,attr_timeout=0");
	for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
		int skip;

		for (skip = 0; skip < 200; skip++) {
			int result;

			faulty_fail(FAULTY_ALL, skip % 2 ? EIO : EDQUOT, skip,
			            1);
			result = works[i].run();
			if (!faulty->struck) {
				faulty_work();
				ASSERT_EQ(0, result);
				undo();
				break;
			}
			faulty_work();
			undo();
			if (!old_is_whole()) {
				printf("%s, request %d\n", works[i].name, skip);
				FAIL();
			}
			if (path_entries(m.point) != 3)
				printf("%s, request %d\n", works[i].name, skip);
			ASSERT_EQ(3, path_entries(m.point));
		}
		ASSERT(skip < 200);
		ASSERT_EQ(0, works[i].run());
		undo();
	}
	ASSERT_EQ(0, mounted_umount(&m));
	faulty_umount();
	snprintf(m.volume, sizeof(m.volume), "%s", real);
	/* What is left over is named, and none of it is damage. */
	{
		struct findings found = { .errors = 0 };

		findings_add(&m, &found);
		findings_print(&found);
		ASSERT_EQ(0, found.errors);
		ASSERT(found.summary);
	}
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(old_is_whole());
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

TEST short_reads_and_writes(void)
{
	static const unsigned pieces[] = { 4096, 5000, 100 };

	STORE_OR_SKIP(NULL);
	for (int i = 0; i < 3; i++) {
		faulty->piece = pieces[i];
		ASSERT_EQ(0, file_put(in("new"), other, SIZE));
		ASSERT(file_is(in("new"), other, SIZE));
		ASSERT_EQ(0, do_read());
		ASSERT_EQ(0, do_write());
		ASSERT(old_is_whole());
		ASSERT_EQ(0, unlink(in("new")));
	}
	faulty->piece = 0;
	CHECK_CALL(end_clean());
	PASS();
}

/* A write cut short within a sector by a store that then fails for a while. */
TEST torn_by_the_store(void)
{
	int fd;

	STORE_OR_SKIP(NULL);
	fd = open(in("old"), O_RDWR);
	ASSERT(fd >= 0);
	faulty->piece = 5000;
	faulty_fail(FAULTY_WRITE, EIO, 2, -1);
	ASSERT(pwrite(fd, data, 40000, 0) < 40000);
	ASSERT(faulty->struck > 0);
	faulty_work();
	ASSERT_EQ(0, close(fd));
	ASSERT(old_is_whole());
	CHECK_CALL(end_clean());
	PASS();
}

/* What could not be finished is told by close, and by fsync to each who asks,
 * once. */
TEST close_and_fsync_tell(void)
{
	int a, b, c;

	STORE_OR_SKIP(NULL);
	a = open(in("f"), O_RDWR | O_CREAT, 0600);
	b = open(in("f"), O_RDWR);
	c = open(in("f"), O_RDONLY);
	ASSERT(a >= 0 && b >= 0 && c >= 0);
	ASSERT_EQ(9000, write(a, data, 9000));
	faulty_fail(FAULTY_LENGTH, ENOSPC, 0, -1);
	ASSERT_EQ(-1, close(b));
	ASSERT_EQ(ENOSPC, errno);
	b = open(in("f"), O_RDWR);
	ASSERT_EQ(-1, fsync(a));
	ASSERT_EQ(ENOSPC, errno);
	faulty_work();
	ASSERT_EQ(0, fsync(a));
	/* The disk says that it lost something once. */
	faulty_fail(FAULTY_SYNC, EIO, 0, 1);
	ASSERT_EQ(-1, fsync(a));
	ASSERT_EQ(EIO, errno);
	faulty_work();
	ASSERT_EQ(-1, fsync(b));
	ASSERT_EQ(EIO, errno);
	ASSERT_EQ(-1, fdatasync(c));
	ASSERT_EQ(EIO, errno);
	ASSERT_EQ(0, fsync(a));
	ASSERT_EQ(0, fsync(b));
	ASSERT_EQ(0, fsync(c));
	/* Who comes later has lost nothing. */
	ASSERT_EQ(0, close(c));
	c = open(in("f"), O_RDWR);
	ASSERT_EQ(0, fsync(c));
	ASSERT_EQ(0, close(a));
	ASSERT_EQ(0, close(b));
	ASSERT_EQ(0, close(c));
	ASSERT(file_is(in("f"), data, 9000));
	CHECK_CALL(end_clean());
	PASS();
}

static pid_t read_in_a_child(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(do_read() ? 1 : 0);
	return child;
}

/* While the store does not answer for one file, the others can be used. */
TEST a_store_that_hangs(void)
{
	pid_t child, killed;
	uint8_t buf[4096];
	int fd, status;

	STORE_OR_SKIP(NULL);
	fd = open(in("d/inside"), O_RDONLY);
	ASSERT_EQ(4096, pread(fd, buf, 4096, 0));
	faulty_fail(FAULTY_READ, 0, 0, 0);
	faulty->hang = true;
	child = read_in_a_child();
	killed = read_in_a_child();
	while (faulty->struck < 1)
		pause_for(10);
	ASSERT_EQ(4096, pread(fd, buf, 4096, 0)); /* cached */
	ASSERT_EQ(1, path_entries(in("d")));
	ASSERT_EQ(0, mkdir(in("new"), 0755));
	ASSERT_EQ(0, rmdir(in("new")));
	ASSERT_EQ(0, chmod(in("d/inside"), 0600));
	kill(killed, SIGKILL); /* the kernel lets it end with the answer */
	pause_for(50);
	ASSERT_EQ(0, waitpid(child, &status, WNOHANG));
	faulty_work();
	ASSERT_EQ(killed, waitpid(killed, &status, 0));
	ASSERT(WIFSIGNALED(status));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_EQ(0, close(fd));
	CHECK_CALL(end_clean());
	PASS();
}

/* A network share that goes away, with files open, and is mounted again. */
TEST a_store_that_goes_away(void)
{
	int fd, error;

	STORE_OR_SKIP(NULL);
	fd = open(in("old"), O_RDWR);
	ASSERT(fd >= 0);
	faulty_kill();
	ASSERT_EQ(-1, pwrite(fd, data, 5000, 0));
	ASSERT(errno == ENOTCONN || errno == EIO || errno == ESTALE);
	error = file_put(in("new"), other, SIZE);
	ASSERT(error == -ENOTCONN || error == -EIO || error == -ESTALE);
	ASSERT(mkdir(in("new"), 0755) && errno != EEXIST);
	ASSERT_EQ(0, kill(m.daemon, 0));
	ASSERT_EQ(0, faulty_mount(real, m.volume));
	/* It may take a moment until it is tried again. */
	for (int i = 0; i < 40 && path_entries(m.point) < 0; i++)
		pause_for(100);
	ASSERT_EQ(3, path_entries(m.point));
	ASSERT(old_is_whole());
	ASSERT_EQ(0, file_put(in("new"), other, SIZE));
	ASSERT_EQ(0, mkdir(in("d/new"), 0755));
	ASSERT(file_is(in("new"), other, SIZE));
	/* What was open stays lost, and harms nobody. */
	ASSERT_EQ(-1, pwrite(fd, data, 5000, 0));
	close(fd);
	ASSERT_EQ(0, unlink(in("new")));
	CHECK_CALL(end_clean());
	PASS();
}

/* Unmounted lazily, it is there for those who have it open: for the daemon. */
TEST a_store_that_is_unmounted_lazily(void)
{
	int fd;

	STORE_OR_SKIP(NULL);
	fd = open(in("old"), O_RDWR);
	ASSERT(fd >= 0);
	ASSERT_EQ(0, umount2(m.volume, MNT_DETACH));
	ASSERT_EQ(0, path_entries(m.volume));
	ASSERT_EQ(5000, pwrite(fd, data, 5000, 0));
	ASSERT_EQ(0, close(fd));
	ASSERT(old_is_whole());
	ASSERT_EQ(0, file_put(in("new"), other, SIZE));
	ASSERT(file_is(in("new"), other, SIZE));
	ASSERT_EQ(0, unlink(in("new")));
	CHECK_CALL(end_clean());
	PASS();
}

/* A different volume at the same place is not taken. */
TEST another_volume_instead(void)
{
	char stranger[300], text[1000];

	STORE_OR_SKIP(NULL);
	snprintf(stranger, sizeof(stranger), "%.250s/stranger", m.dir);
	ASSERT_EQ(0, mkdir(stranger, 0755));
	ASSERT_EQ(0, MOUNTED_RUN(text, sizeof(text), "frondfs", "init",
	                         "--keyfile", m.keyfile, "--recovery-key-file",
	                         mounted_path(m.dir, "other-recovery"),
	                         stranger));
	faulty_kill();
	ASSERT_EQ(-ENOTCONN, file_put(in("new"), other, SIZE));
	ASSERT_EQ(0, faulty_mount(stranger, m.volume));
	for (int i = 0; i < 24; i++) {
		ASSERT(file_put(in("new"), other, SIZE) < 0);
		ASSERT(path_entries(m.point) < 0);
		pause_for(100);
	}
	ASSERT_EQ(2, path_entries(stranger));
	/* The right one again. */
	faulty_umount();
	ASSERT_EQ(0, faulty_mount(real, m.volume));
	for (int i = 0; i < 40 && path_entries(m.point) < 0; i++)
		pause_for(100);
	ASSERT(old_is_whole());
	CHECK_CALL(end_clean());
	PASS();
}

SUITE(store)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(errors_reach_the_caller);
	RUN_TEST(any_request_may_fail);
	RUN_TEST(short_reads_and_writes);
	RUN_TEST(torn_by_the_store);
	RUN_TEST(close_and_fsync_tell);
	RUN_TEST(a_store_that_hangs);
	RUN_TEST(a_store_that_goes_away);
	RUN_TEST(another_volume_instead);
	RUN_TEST(a_store_that_is_unmounted_lazily);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(store);
	GREATEST_MAIN_END();
}
