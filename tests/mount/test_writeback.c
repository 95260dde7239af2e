/*
 * The mount option writeback: the kernel collects what is written. Sizes, ends,
 * times and fsync stay exact; what was not synchronized is lost with the
 * daemon, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <greatest.h>

#include "mount/support.h"

static struct mounted m;

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

static off_t end_of(int fd)
{
	return lseek(fd, 0, SEEK_END);
}

TEST sizes_and_ends_are_exact_while_collected(void)
{
	char bytes[10000], back[10000];
	struct stat st;
	int fd, other;

	MOUNT_OR_SKIP(&m, "writeback");
	bytes_fill(bytes, sizeof(bytes), 1);
	fd = open(in("f"), O_RDWR | O_CREAT | O_EXCL, 0644);
	other = open(in("f"), O_WRONLY | O_APPEND);
	ASSERT(fd >= 0 && other >= 0);
	for (int i = 0; i < 1000; i++) {
		lseek(fd, 0, SEEK_END);
		ASSERT_EQ(5, write(i % 2 ? other : fd, bytes + 5 * i, 5));
	}
	ASSERT_EQ(5000, end_of(fd));
	ASSERT_EQ(0, fstat(other, &st));
	ASSERT_EQ(5000, st.st_size);
	ASSERT_EQ(5000, path_size(in("f")));
	ASSERT_EQ(5000, pread(fd, back, sizeof(back), 0));
	ASSERT_EQ(0, memcmp(back, bytes, 5000));
	/* Data all over, as far as is told. */
	ASSERT_EQ(100, lseek(fd, 100, SEEK_DATA));
	ASSERT_EQ(5000, lseek(fd, 100, SEEK_HOLE));
	ASSERT_EQ(-1, lseek(fd, 5000, SEEK_DATA));
	ASSERT_EQ(ENXIO, errno);
	/* A gap, and a cut. */
	ASSERT_EQ(10, pwrite(fd, bytes, 10, 1000000));
	ASSERT_EQ(1000010, path_size(in("f")));
	ASSERT_EQ(0, ftruncate(fd, 4999));
	ASSERT_EQ(4999, end_of(other));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(other));
	ASSERT(file_is(in("f"), bytes, 4999));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), bytes, 4999));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static bool same_times(const struct stat *a, const struct stat *b)
{
	return !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim));
}

TEST times_outlive_the_mount(void)
{
	const struct timespec old[2] = { { 1000000000, 7 }, { 1000000001, 9 } };
	struct stat written, set, now;
	int fd;

	MOUNT_OR_SKIP(&m, "writeback");
	fd = open(in("written"), O_WRONLY | O_CREAT, 0644);
	ASSERT_EQ(1, write(fd, "x", 1));
	ASSERT_EQ(0, fstat(fd, &written));
	pause_for(50);
	ASSERT_EQ(0, close(fd));
	fd = open(in("set"), O_WRONLY | O_CREAT, 0644);
	ASSERT_EQ(1, write(fd, "x", 1));
	ASSERT_EQ(0, futimens(fd, old));
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, stat(in("written"), &now));
	ASSERT(same_times(&written, &now));
	ASSERT_EQ(0, stat(in("set"), &set));
	ASSERT_EQ(old[1].tv_sec, set.st_mtim.tv_sec);
	ASSERT_EQ(old[1].tv_nsec, set.st_mtim.tv_nsec);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST what_was_synchronized_outlives_the_daemon(void)
{
	char bytes[100000];
	int synced, closed, open_still;

	MOUNT_OR_SKIP(&m, "writeback");
	bytes_fill(bytes, sizeof(bytes), 2);
	synced = open(in("synced"), O_WRONLY | O_CREAT, 0644);
	for (int i = 0; i < 10000; i++)
		ASSERT_EQ(10, write(synced, bytes + 10 * i, 10));
	ASSERT_EQ(0, fsync(synced));
	closed = open(in("closed"), O_WRONLY | O_CREAT, 0644);
	ASSERT_EQ(99, write(closed, bytes, 99));
	ASSERT_EQ(0, close(closed));
	open_still = open(in("open"), O_WRONLY | O_CREAT, 0644);
	ASSERT_EQ(99, write(open_still, bytes, 99));
	mounted_kill(&m);
	close(synced);
	close(open_still);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("synced"), bytes, sizeof(bytes)));
	ASSERT(file_is(in("closed"), bytes, 99));
	ASSERT(path_size(in("open")) == 0 || path_size(in("open")) == 99);
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

SUITE(writeback)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(sizes_and_ends_are_exact_while_collected);
	RUN_TEST(times_outlive_the_mount);
	RUN_TEST(what_was_synchronized_outlives_the_daemon);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(writeback);
	GREATEST_MAIN_END();
}
