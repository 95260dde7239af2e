/*
 * The mount as a whole, once through: it comes up, files work, it comes down
 * and comes up again with everything there; and what `frondfs mount` says
 * where it cannot.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <greatest.h>

#include "mount/mounted.h"
#include "tools/exitcode.h"

static struct mounted m;
static char said[4000];

static void fill(char *buf, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245 + 12345;
		buf[i] = (char)(seed >> 16);
	}
}

static const char *at(const char *name)
{
	return mounted_path(m.point, name);
}

enum { CONTENT = 300001 };

static bool write_file(const char *path, const char *buf, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0640);
	bool good = fd >= 0 && write(fd, buf, size) == (ssize_t)size;

	return close(fd) == 0 && good;
}

static bool same_file(const char *path, const char *buf, size_t size)
{
	char *got = malloc(size + 1);
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, got + n, size + 1 - n)) > 0)
		n += (size_t)r;
	close(fd);
	r = r == 0 && n == size && !memcmp(got, buf, size);
	free(got);
	return r;
}

TEST files_survive_a_remount(void)
{
	static char content[CONTENT];
	char target[100];
	struct stat st, st2;

	fill(content, CONTENT, 7);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, mkdir(at("dir"), 0751));
	ASSERT(write_file(at("dir/a file"), content, CONTENT));
	ASSERT(same_file(at("dir/a file"), content, CONTENT));
	ASSERT(write_file(at("empty"), "", 0));
	ASSERT_EQ(0, symlink("dir/a file", at("link")));
	ASSERT_EQ(0, link(at("dir/a file"), at("second")));
	ASSERT_EQ(0, stat(at("second"), &st));
	ASSERT_EQ(CONTENT, st.st_size);
	ASSERT_EQ(2, st.st_nlink);
	ASSERT_EQ(0, rename(at("dir/a file"), at("dir/another name")));
	ASSERT_EQ(-1, access(at("dir/a file"), F_OK));
	ASSERT_EQ(ENOENT, errno);
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(-1, access(at("dir"), F_OK));

	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(same_file(at("dir/another name"), content, CONTENT));
	ASSERT(same_file(at("second"), content, CONTENT));
	ASSERT(same_file(at("empty"), "", 0));
	ASSERT_EQ(10, readlink(at("link"), target, sizeof(target)));
	ASSERT_MEM_EQ("dir/a file", target, 10);
	ASSERT_EQ(0, lstat(at("link"), &st2));
	ASSERT_EQ(10, st2.st_size);
	ASSERT_EQ(0, stat(at("dir/another name"), &st2));
	ASSERT_EQ(st.st_ino, st2.st_ino);
	ASSERT_EQ(0640, st2.st_mode & 07777);
	ASSERT_EQ(0, stat(at("dir"), &st2));
	ASSERT_EQ(0751, st2.st_mode & 07777);
	ASSERT_EQ(0, truncate(at("second"), 5000));
	ASSERT(same_file(at("dir/another name"), content, 5000));
	ASSERT_EQ(0, unlink(at("second")));
	ASSERT_EQ(0, unlink(at("dir/another name")));
	ASSERT_EQ(0, rmdir(at("dir")));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

TEST an_open_file_outlives_its_name(void)
{
	char buf[20] = "";
	struct stat st;
	int fd;

	ASSERT_EQ(0, mounted_mount(&m, NULL));
	fd = open(at("gone"), O_RDWR | O_CREAT | O_EXCL, 0400);
	ASSERT(fd >= 0);
	ASSERT_EQ(5, pwrite(fd, "first", 5, 0));
	ASSERT_EQ(0, unlink(at("gone")));
	ASSERT_EQ(6, pwrite(fd, "second", 6, 5));
	ASSERT_EQ(0, fchmod(fd, 0600));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(11, st.st_size);
	ASSERT_EQ(0, st.st_nlink);
	ASSERT_EQ(0600, st.st_mode & 07777);
	ASSERT_EQ(11, pread(fd, buf, sizeof(buf), 0));
	ASSERT_STR_EQ("firstsecond", buf);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* The daemon's exit code is 0 after each, and unfinished files are finished:
 * an append through a handle that is still open when the signal comes. */
TEST signals_unmount_cleanly(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		int fd;
		DIR *dir;

		ASSERT_EQ(0, mounted_mount(&m, NULL));
		dir = opendir(m.point);
		ASSERT(dir && readdir(dir));
		fd = open(at("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
		ASSERT(fd >= 0);
		ASSERT_EQ(5, write(fd, "line\n", 5));
		ASSERT_EQ(0, mounted_signal(&m, signals[i]));
		close(fd);
		closedir(dir);
	}
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "fsck",
	                         "--keyfile", m.keyfile, m.volume));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(same_file(at("log"), "line\nline\nline\n", 15));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

static int mount_at(const char *point, const char *options)
{
	return MOUNTED_RUN(said, sizeof(said), "frondfs", "mount", "--keyfile",
	                   m.keyfile, "-o", options, "--", m.volume, point);
}

TEST background_mount_is_ready_when_it_returns(void)
{
	struct statvfs fs;

	ASSERT_EQ(0, mount_at(m.point, "nofail,x-anything=1"));
	ASSERT_STR_EQ("", said);
	ASSERT(write_file(at("background"), "abc", 3));
	ASSERT_EQ(0, statvfs(m.point, &fs));
	ASSERT_EQ(255, fs.f_namemax);
	/* Released when umount returns: a check needs the lock. */
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         m.point));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "fsck",
	                         "--keyfile", m.keyfile, m.volume));
	PASS();
}

TEST a_second_mount_is_refused_and_named(void)
{
	const char *other = mounted_path(m.dir, "other");
	char pid[32];

	ASSERT_EQ(0, mkdir(other, 0700));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(write_file(at("x"), "abc", 3));
	ASSERT_EQ(EXIT_IN_USE, mount_at(other, "rw"));
	ASSERT(strstr(said, m.point));
	snprintf(pid, sizeof(pid), "process %d)", (int)m.daemon);
	ASSERT(strstr(said, pid));
	ASSERT_EQ(EXIT_IN_USE, mount_at(m.point, "rw"));

	/* But read-only ones may be there, and change nothing. */
	ASSERT_EQ(0, mount_at(other, "ro"));
	ASSERT(same_file(mounted_path(other, "x"), "abc", 3));
	ASSERT_EQ(-1, open(mounted_path(other, "x"), O_WRONLY));
	ASSERT_EQ(EROFS, errno);
	ASSERT_EQ(-1, mkdir(mounted_path(other, "y"), 0700));
	ASSERT_EQ(EROFS, errno);
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         other));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, rmdir(other));
	PASS();
}

/* Leaves the dead mount where it is. */
static void kill_daemon(void)
{
	kill(m.daemon, SIGKILL);
	waitpid(m.daemon, NULL, 0);
	m.daemon = 0;
}

TEST a_dead_mount_is_cleared(void)
{
	struct statvfs fs;
	struct stat st;

	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(write_file(at("kept"), "abc", 3));
	kill_daemon();
	ASSERT_EQ(-1, statvfs(m.point, &fs));
	ASSERT_EQ(ENOTCONN, errno);
	m.daemon = 0;
	ASSERT_EQ(0, mount_at(m.point, "rw"));
	ASSERT(strstr(said, "took away"));
	ASSERT(same_file(at("kept"), "abc", 3));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         m.point));
	/* umount works on a dead one, too. */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	kill_daemon();
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         m.point));
	ASSERT_EQ(0, stat(m.point, &st));
	PASS();
}

TEST errors_have_their_own_exit_codes(void)
{
	const char *full = mounted_path(m.dir, "full");
	const char *inside = mounted_path(m.volume, "inside");
	struct stat st;

	ASSERT_EQ(EXIT_MOUNTPOINT, mount_at(mounted_path(m.dir, "no"), "rw"));
	ASSERT(strstr(said, "there is no mount point"));
	ASSERT_EQ(EXIT_MOUNTPOINT, mount_at(m.keyfile, "rw"));
	ASSERT(strstr(said, "is not a directory"));
	ASSERT_EQ(EXIT_MOUNTPOINT, mount_at(m.volume, "rw"));
	ASSERT(strstr(said, "is the volume itself"));
	ASSERT_EQ(EXIT_MOUNTPOINT, mount_at(m.dir, "rw"));
	ASSERT(strstr(said, "lies inside the mount point"));
	ASSERT_EQ(0, mkdir(inside, 0700));
	ASSERT_EQ(EXIT_MOUNTPOINT, mount_at(inside, "rw"));
	ASSERT(strstr(said, "lies inside the volume"));
	ASSERT_EQ(0, rmdir(inside));

	ASSERT_EQ(0, mkdir(full, 0700));
	ASSERT(write_file(mounted_path(full, "covered"), "abc", 3));
	ASSERT_EQ(EXIT_NOT_EMPTY, mount_at(full, "rw"));
	ASSERT_EQ(0, mount_at(full, "nonempty"));
	ASSERT_EQ(-1, stat(mounted_path(full, "covered"), &st));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount", full));
	ASSERT(same_file(mounted_path(full, "covered"), "abc", 3));

	ASSERT_EQ(EXIT_USAGE, mount_at(m.point, "ro,unheard_of"));
	ASSERT(strstr(said, "'unheard_of'"));
	ASSERT_EQ(EXIT_USAGE, mount_at(m.point, "attr_timeout=soon"));
	ASSERT_EQ(EXIT_USAGE, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                  "mount", m.volume));
	ASSERT_EQ(EXIT_NO_VOLUME, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                      "mount", "--keyfile", m.keyfile,
	                                      full, m.point));
	ASSERT_EQ(EXIT_WRONG_KEY, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                      "mount", "--keyfile", m.recovery,
	                                      m.volume, m.point));
	ASSERT_EQ(EXIT_MOUNTPOINT, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                       "umount", m.point));
	PASS();
}

TEST umount_of_a_busy_mount(void)
{
	int fd;

	ASSERT_EQ(0, mounted_mount(&m, NULL));
	fd = open(at("busy"), O_WRONLY | O_CREAT, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(EXIT_IN_USE, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                   "umount", m.point));
	ASSERT(strstr(said, "(test_basic) of "));
	ASSERT(strstr(said, " has 1 file open"));
	ASSERT_EQ(3, write(fd, "abc", 3));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount", "-l",
	                         m.point));
	ASSERT_EQ(3, write(fd, "def", 3));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(-1, access(at("busy"), F_OK));
	ASSERT_EQ(0, mounted_signal(&m, 0)); /* it ends by itself */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(same_file(at("busy"), "abcdef", 6));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* A path with all that option lists and /proc/self/mountinfo must escape. */
TEST odd_paths(void)
{
	char volume[PATH_MAX], point[PATH_MAX];

	snprintf(volume, sizeof(volume), "%s", mounted_path(m.dir, "a, b\\c %d"));
	snprintf(point, sizeof(point), "%s", mounted_path(m.dir, "m\t,\\\n\"x"));
	ASSERT_EQ(0, rename(m.volume, volume));
	ASSERT_EQ(0, mkdir(point, 0700));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "mount",
	                         "--keyfile", m.keyfile, volume, point));
	ASSERT(write_file(mounted_path(point, "x"), "abc", 3));
	ASSERT_EQ(EXIT_IN_USE, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                   "mount", "--keyfile", m.keyfile,
	                                   volume, m.point));
	/* Messages hold no control characters. */
	ASSERT(strstr(said, mounted_path(m.dir, "m?,\\?\"x")));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "umount",
	                         point));
	ASSERT_EQ(0, rename(volume, m.volume));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (!mounted_possible() || mounted_make(&m))
		return 1;
	RUN_TEST(files_survive_a_remount);
	RUN_TEST(an_open_file_outlives_its_name);
	RUN_TEST(signals_unmount_cleanly);
	RUN_TEST(background_mount_is_ready_when_it_returns);
	RUN_TEST(a_second_mount_is_refused_and_named);
	RUN_TEST(a_dead_mount_is_cleared);
	RUN_TEST(errors_have_their_own_exit_codes);
	RUN_TEST(umount_of_a_busy_mount);
	RUN_TEST(odd_paths);
	mounted_remove(&m);
	GREATEST_MAIN_END();
}
