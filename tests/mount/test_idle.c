/* A mount that nobody uses goes by itself, with --idle; one that is used does
 * not. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mount/support.h"
#include "mount/users.h"
#include "tools/exitcode.h"

static struct mounted m;
static bool others; /* ordinary users can mount */

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	if (chdir("/"))
		printf("cannot leave the mount\n");
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

/* Wait for the daemon's own end, which must be a clean one. */
static int end_by_itself(void)
{
	return mounted_signal(&m, 0);
}

/* Whether the daemon said so in its log. */
static bool is_logged(const char *words)
{
	static char text[20000];
	int fd = open(m.log, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = 0;
	return strstr(text, words);
}

TEST an_unused_mount_goes(void)
{
	double start;

	MOUNT_OR_SKIP(&m, "idle=2");
	start = now();
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	ASSERT_EQ(0, end_by_itself());
	ASSERT(now() - start >= 1.9);
	ASSERT_FALSE(is_there());
	ASSERT(is_logged("unmounted, idle: nobody used it for 2 s"));
	ASSERT_EQ(0, volume_check(&m));
	/* And can be mounted again, at once. */
	ASSERT_EQ(0, mounted_mount(&m, "ro,idle=1"));
	ASSERT(file_is(in("f"), "text", 4));
	ASSERT_EQ(0, end_by_itself());
	PASS();
}

/* Each of these alone keeps it, without any request for longer than the time;
 * and when it ends, the mount goes. */
TEST what_is_held_keeps_it(int what)
{
	void *map = MAP_FAILED;
	int fd = -1;

	MOUNT_OR_SKIP(&m, "idle=1s");
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	switch (what) {
	case 0:
		fd = open(in("f"), O_RDWR);
		ASSERT_EQ(5000, pwrite(fd, (char[5000]){ 0 }, 5000, 0));
		break;
	case 1:
		fd = open(in("d"), O_RDONLY | O_DIRECTORY);
		break;
	case 2:
		ASSERT_EQ(0, chdir(in("d")));
		break;
	case 3:
		fd = open(in("f"), O_RDONLY);
		map = mmap(NULL, 4, PROT_READ, MAP_SHARED, fd, 0);
		ASSERT(map != MAP_FAILED);
		close(fd);
		fd = -1;
		break;
	case 4: /* asks nothing */
		fd = open(in("f"), O_PATH);
		break;
	}
	ASSERT(fd >= 0 || what == 2 || what == 3);
	pause_for(3500);
	ASSERT(is_there());
	ASSERT_EQ(what ? 4 : 5000, path_size(in("f")));
	if (fd >= 0)
		close(fd);
	if (map != MAP_FAILED)
		munmap(map, 4);
	ASSERT_EQ(0, chdir("/"));
	ASSERT_EQ(0, end_by_itself());
	ASSERT_FALSE(is_there());
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST requests_keep_it(void)
{
	MOUNT_OR_SKIP(&m, "idle=2");
	for (int i = 0; i < 10; i++) {
		char name[20];

		snprintf(name, sizeof(name), "f%d", i);
		ASSERT_EQ(0, file_put(in(name), "text", 4));
		pause_for(500);
	}
	ASSERT(is_there());
	ASSERT_EQ(0, end_by_itself());
	PASS();
}

/* What watches the mounts of a machine does not use them. */
TEST looking_at_the_mount_itself_does_not_keep_it(void)
{
	struct statvfs fs;
	struct stat st;

	MOUNT_OR_SKIP(&m, "idle=1");
	for (int i = 0; i < 300 && is_there(); i++) {
		statvfs(m.point, &fs);
		stat(m.point, &st);
		pause_for(50);
	}
	ASSERT_FALSE(is_there());
	ASSERT_EQ(0, end_by_itself());
	PASS();
}

/* Files are finished that were closed just before. */
TEST work_at_the_end_is_whole(void)
{
	static uint8_t data[3 << 20];

	bytes_fill(data, sizeof(data), 1);
	MOUNT_OR_SKIP(&m, "idle=1");
	ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
	ASSERT_EQ(0, end_by_itself());
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Whoever opens a file at the moment of the end has it, whole, or meets the
 * empty mount point; nothing in between. */
TEST the_race_has_two_outcomes(void)
{
	int had = 0;

	MOUNT_OR_SKIP(&m, "idle=1");
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 3000; i++) {
			int fd = open(in("f"), O_RDWR);
			char text[4];

			if (fd < 0) {
				ASSERT_EQ(ENOENT, errno);
				break;
			}
			had++;
			ASSERT_EQ(4, pread(fd, text, 4, 0));
			ASSERT_EQ(4, pwrite(fd, text, 4, 0));
			ASSERT_EQ(0, close(fd));
			/* As long as the time, nearly. */
			pause_for(1000 - round - i % 2);
			if (i > 2)
				break;
		}
	}
	ASSERT(had > 0);
	if (m.daemon)
		ASSERT_EQ(0, end_by_itself());
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST a_signal_ends_it_all_the_same(void)
{
	MOUNT_OR_SKIP(&m, "idle=1h");
	ASSERT_EQ(0, mounted_signal(&m, SIGTERM));
	ASSERT_FALSE(is_there());
	ASSERT_EQ(0, mounted_mount(&m, "idle=1d"));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* What is mounted over it is not taken away in its stead. */
TEST another_mount_on_top_stays(void)
{
	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, "idle=1");
	ASSERT_EQ(0, mount("none", m.point, "tmpfs", 0, NULL));
	pause_for(2500);
	ASSERT(is_mounted_at(m.point, "tmpfs"));
	ASSERT_EQ(0, umount(m.point));
	ASSERT_EQ(0, end_by_itself());
	PASS();
}

static int use_as_anne(void *unused)
{
	(void)unused;
	if (file_put(in("f"), "text", 4) || chdir(m.point))
		return 1;
	pause_for(2500);
	return is_there() ? 0 : 2;
}

TEST an_ordinary_user_has_it_too(void)
{
	if (!others)
		SKIP_BECAUSE("no device for ordinary users");
	ASSERT_EQ(0, mounted_make_for(&m, ANNE));
	ASSERT_EQ(0, mounted_mount(&m, "idle=1"));
	ASSERT_EQ(0, as_user(ANNE, ANNE, 0, NULL, use_as_anne, NULL));
	ASSERT_EQ(0, end_by_itself());
	ASSERT_FALSE(is_there());
	ASSERT(is_logged("nobody used it"));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST in_the_background_as_well(void)
{
	char said[2000];

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "mount",
	                         "--idle", "1s", "--keyfile", m.keyfile,
	                         m.volume, m.point));
	for (int i = 0; i < 300 && is_there(); i++)
		pause_for(50);
	ASSERT_FALSE(is_there());
	/* The lock is released, soon. */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST times_are_checked(void)
{
	static const char *const wrong[] = { "", "s", "-1", "1x", "1ss", "1.5h",
	                                     "99999999999", "4294967295m", " 1" };
	char said[2000];

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ASSERT_EQ(EXIT_USAGE,
		          MOUNTED_RUN(said, sizeof(said), "frondfs", "mount",
		                      "--idle", wrong[i], "--keyfile",
		                      m.keyfile, m.volume, m.point));
		ASSERT(strstr(said, "90s, 10m, 1h"));
	}
	/* 0 is never, and takes back what stood before. */
	ASSERT_EQ(0, mounted_mount(&m, "idle=1,idle=0"));
	pause_for(2500);
	ASSERT(is_there());
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

SUITE(idle)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(an_unused_mount_goes);
	for (int what = 0; what < 5; what++)
		RUN_TESTp(what_is_held_keeps_it, what);
	RUN_TEST(requests_keep_it);
	RUN_TEST(looking_at_the_mount_itself_does_not_keep_it);
	RUN_TEST(work_at_the_end_is_whole);
	RUN_TEST(the_race_has_two_outcomes);
	RUN_TEST(a_signal_ends_it_all_the_same);
	RUN_TEST(another_mount_on_top_stays);
	RUN_TEST(an_ordinary_user_has_it_too);
	RUN_TEST(in_the_background_as_well);
	RUN_TEST(times_are_checked);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	others = mounted_possible() && users_take_device();
	RUN_SUITE(idle);
	GREATEST_MAIN_END();
}
