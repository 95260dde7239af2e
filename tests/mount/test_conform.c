/*
 * What programs expect of a Linux filesystem and few of them use: files
 * without a name, holes at the beginning, access times, long names of
 * attributes, ACLs and the set-group-id bit; beside the filesystem below.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/support.h"
#include "mount/users.h"

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

/*
 * O_TMPFILE
 */

static int unnamed(const char *dir, int flags, mode_t mode)
{
	return open(dir, O_TMPFILE | O_RDWR | flags, mode);
}

static int name_it(int fd, const char *name)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW)
		? -errno : 0;
}

/* The plain directory must be able to do it, and FUSE (Linux 6.1). */
#define UNNAMED_OR_SKIP()                                              \
	do {                                                           \
		int probe;                                             \
		MOUNT_OR_SKIP(&m, NULL);                               \
		probe = unnamed(m.dir, 0, 0600);                       \
		if (probe < 0)                                         \
			SKIP_BECAUSE("the store has no O_TMPFILE");    \
		close(probe);                                          \
		probe = unnamed(m.point, 0, 0600);                     \
		if (probe < 0 && errno == EOPNOTSUPP                   \
		    && !kernel_is_at_least(6, 1))                      \
			SKIP_BECAUSE("the kernel's FUSE has no O_TMPFILE"); \
		ASSERT(probe >= 0);                                    \
		ASSERT_EQ(0, close(probe));                            \
	} while (0)

static bool kernel_is_at_least(int major, int minor)
{
	char text[100] = "";
	int a = 0, b = 0, fd = open("/proc/sys/kernel/osrelease", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && sscanf(text, "%d.%d", &a, &b) == 2
	       && (a > major || (a == major && b >= minor));
}

TEST a_file_without_a_name_gets_one(void)
{
	uint8_t data[30000], more[5];
	char longest[256];
	struct stat st, other;
	int fd;

	UNNAMED_OR_SKIP();
	bytes_fill(data, sizeof(data), 1);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	umask(027);
	fd = unnamed(in("d"), 0, 0666);
	umask(022);
	ASSERT(fd >= 0);
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(0, (int)st.st_nlink);
	ASSERT_EQ_FMT(0100640u, st.st_mode, "%o");
	ASSERT_EQ((ssize_t)sizeof(data), write(fd, data, sizeof(data)));
	ASSERT_EQ(0, fsetxattr(fd, "user.note", "kept", 4, 0));
	ASSERT_EQ(0, fchmod(fd, 0604));
	ASSERT_EQ(0, path_entries(in("d")));
	ASSERT_EQ(0, name_it(fd, in("d/first")));
	ASSERT_EQ(-EEXIST, name_it(fd, in("d/first")));
	/* Again, elsewhere and with a long name. */
	memset(longest, 'n', 255);
	longest[255] = 0;
	ASSERT_EQ(0, name_it(fd, in(longest)));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(2, (int)st.st_nlink);
	ASSERT_EQ(0, stat(in(longest), &other));
	ASSERT_EQ(st.st_ino, other.st_ino);
	ASSERT_EQ((off_t)sizeof(data), other.st_size);
	ASSERT_EQ_FMT(0100604u, other.st_mode, "%o");
	ASSERT_EQ(5, write(fd, "after", 5));
	ASSERT_EQ((off_t)sizeof(data) + 5, path_size(in("d/first")));
	ASSERT_EQ(0, close(fd));
	/* And it is there after another mount. */
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ((off_t)sizeof(data) + 5, path_size(in(longest)));
	fd = open(in("d/first"), O_RDONLY);
	ASSERT_EQ(5, pread(fd, more, 5, sizeof(data)));
	ASSERT_MEM_EQ("after", more, 5);
	ASSERT_EQ(4, fgetxattr(fd, "user.note", more, 5));
	close(fd);
	ASSERT_EQ(0, truncate(in("d/first"), sizeof(data)));
	ASSERT(file_is(in(longest), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST a_file_without_a_name_leaves_nothing(void)
{
	char path[40];
	int fd, before;

	UNNAMED_OR_SKIP();
	before = path_entries(m.volume);
	fd = unnamed(m.point, O_EXCL, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(4, write(fd, "text", 4));
	ASSERT_EQ(-ENOENT, name_it(fd, in("never"))); /* O_EXCL says so */
	ASSERT_EQ(0, fsync(fd));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ASSERT_EQ(4, path_size(path) < 0 ? -1 : 4);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(before, path_entries(m.volume));
	/* A name that was removed does not come back. */
	fd = unnamed(m.point, 0, 0600);
	ASSERT_EQ(0, name_it(fd, in("f")));
	ASSERT_EQ(0, unlink(in("f")));
	ASSERT_EQ(-ENOENT, name_it(fd, in("f")));
	ASSERT_EQ(3, write(fd, "abc", 3));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(before, path_entries(m.volume));
	/* Nor is anything left by a daemon that is killed. */
	fd = unnamed(m.point, 0, 0600);
	ASSERT_EQ(3, write(fd, "abc", 3));
	mounted_kill(&m);
	close(fd);
	ASSERT_EQ(before, path_entries(m.volume));
	ASSERT_EQ(0, volume_check(&m));
	/* None in a read-only mount. */
	ASSERT_EQ(0, mounted_mount(&m, "ro"));
	ASSERT_EQ(-1, unnamed(m.point, 0, 0600));
	ASSERT_EQ(EROFS, errno);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Whatever the kernel and the daemon still have to do with the file before,
 * whose inode number the store may have given away again, and with its
 * attributes. */
TEST a_file_that_never_gets_a_name_never_does(void)
{
	struct stat st;

	UNNAMED_OR_SKIP();
	for (int i = 0; i < 60; i++) {
		int fd = unnamed(m.point, 0, 0600);

		ASSERT(fd >= 0);
		ASSERT_EQ(0, close(fd));
		if (i % 3)
			pause_for(i % 7);
		fd = unnamed(m.point, O_EXCL, 0600);
		ASSERT(fd >= 0);
		if (i % 2)
			ASSERT_EQ(4, write(fd, "text", 4));
		if (i % 20 == 19)
			pause_for(1100); /* until attributes are asked for */
		ASSERT_EQ(-ENOENT, name_it(fd, in("never")));
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(0, (int)st.st_nlink);
		ASSERT_EQ(0, close(fd));
	}
	/* One that may have a name has two, then one, then none for ever. */
	int fd = unnamed(m.point, 0, 0600);
	ASSERT_EQ(0, name_it(fd, in("a")));
	pause_for(1100);
	ASSERT_EQ(0, name_it(fd, in("b")));
	for (int left = 2; left >= 0; left--) {
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(left, (int)st.st_nlink);
		pause_for(1100);
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(left, (int)st.st_nlink);
		if (left)
			ASSERT_EQ(0, unlink(in(left == 2 ? "a" : "b")));
	}
	ASSERT_EQ(-ENOENT, name_it(fd, in("c")));
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int make_both(void *unused)
{
	int fd;

	(void)unused;
	umask(027);
	if (chdir(in("d")) || open("made", O_CREAT | O_RDWR, 0666) < 0)
		return 1;
	fd = unnamed(".", 0, 0666);
	return fd < 0 || name_it(fd, "linked") ? 2 : 0;
}

/* Owner, group and default ACL are those of a file that is created. */
TEST a_file_without_a_name_belongs_to_the_caller(void)
{
	static const char *const files[] = { "made", "linked" };
	struct stat st[2];
	const gid_t team = TEAM;
	char acl[2][200];

	if (geteuid() != 0)
		SKIPm("needs root");
	UNNAMED_OR_SKIP();
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
	ASSERT_EQ(0, chmod(m.dir, 0755));
	ASSERT_EQ(0, mkdir(in("d"), 0700));
	ASSERT_EQ(0, chown(in("d"), ANNE, TEAM));
	ASSERT_EQ(0, chmod(in("d"), 02775));
	if (have_program("setfacl"))
		ASSERT_EQ(0, run_script(m.point, "setfacl -d -m u:bin:rw d"));
	ASSERT_EQ(0, as_user(ANNE, ANNE, 1, &team, make_both, NULL));
	for (int i = 0; i < 2; i++) {
		char name[20];
		ssize_t n;

		snprintf(name, sizeof(name), "d/%s", files[i]);
		ASSERT_EQ(0, stat(in(name), &st[i]));
		n = getxattr(in(name), "system.posix_acl_access", acl[i], 200);
		memset(acl[i] + (n > 0 ? n : 0), 0, 200 - (n > 0 ? n : 0));
	}
	ASSERT_EQ(ANNE, (int)st[1].st_uid);
	ASSERT_EQ(TEAM, (int)st[1].st_gid);
	ASSERT_EQ_FMT(st[0].st_mode, st[1].st_mode, "%o");
	ASSERT_MEM_EQ(acl[0], acl[1], 200);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Content and times
 */

/* Sector 0 lies beside the header, so the store sees data there. */
TEST a_hole_at_the_beginning_is_found(void)
{
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(0, ftruncate(fd, 10 << 20));
	ASSERT_EQ(-1, lseek(fd, 0, SEEK_DATA));
	ASSERT_EQ(ENXIO, errno);
	ASSERT_EQ(0, lseek(fd, 0, SEEK_HOLE));
	ASSERT_EQ(17, lseek(fd, 17, SEEK_HOLE));
	ASSERT_EQ(3, pwrite(fd, "abc", 3, 5 << 20));
	ASSERT(lseek(fd, 5, SEEK_DATA) > (5 << 20) - 4096);
	ASSERT(lseek(fd, 5, SEEK_DATA) <= 5 << 20);
	ASSERT_EQ(3, pwrite(fd, "abc", 3, 100));
	ASSERT_EQ(0, lseek(fd, 0, SEEK_DATA));
	ASSERT_EQ(7, lseek(fd, 7, SEEK_DATA));
	ASSERT_EQ(4000, lseek(fd, 7, SEEK_HOLE));
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                       0, 100000));
	ASSERT(lseek(fd, 0, SEEK_DATA) > 90000);
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static bool is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec
	       || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

/* What the daemon reads for itself is no access; what a user reads is one. */
TEST access_times_tell_of_readers_only(void)
{
	const struct timespec old[2] = { { 1000, 1 }, { 2000, 2 } };
	uint8_t data[20000];
	struct stat st;
	int fd;

	MOUNT_OR_SKIP(&m, "attr_timeout=0");
	bytes_fill(data, sizeof(data), 3);
	ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
	/* A time so old that every read sets it (relatime). */
	ASSERT_EQ(0, utimensat(AT_FDCWD, in("f"), old, 0));
	fd = open(in("f"), O_RDWR);
	ASSERT(fd >= 0);
	ASSERT_EQ(3, pwrite(fd, "abc", 3, 5000));
	ASSERT_EQ(3, pwrite(fd, "abc", 3, 20000));
	ASSERT_EQ(0, ftruncate(fd, 15000));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, truncate(in("f"), 30000));
	fd = open(in("f"), O_WRONLY | O_APPEND);
	ASSERT_EQ(3, write(fd, "abc", 3));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, stat(in("f"), &st));
	ASSERT_EQ(1000, st.st_atim.tv_sec);
	ASSERT_EQ(1, st.st_atim.tv_nsec);
	fd = open(in("f"), O_RDWR);
	ASSERT_EQ(3, pwrite(fd, "abc", 3, 100));
	ASSERT_EQ(10, pread(fd, data, 10, 14000));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, stat(in("f"), &st));
	ASSERT(is_later(st.st_atim, old[1]));
	/* A read-only mount leaves it alone. */
	ASSERT_EQ(0, utimensat(AT_FDCWD, in("f"), old, 0));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, "ro,attr_timeout=0"));
	fd = open(in("f"), O_RDONLY);
	ASSERT_EQ(10, pread(fd, data, 10, 14000));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, stat(in("f"), &st));
	ASSERT_EQ(1000, st.st_atim.tv_sec);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Names
 */

/* More names than the daemon keeps in mind. */
TEST a_file_of_many_names_is_one_file(void)
{
	enum { LINKS = 200 };
	struct stat st;
	char name[20];
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("0"), "12345", 5));
	for (int i = 1; i < LINKS; i++) {
		snprintf(name, sizeof(name), i % 2 ? "d/%d" : "%d", i);
		ASSERT_EQ(0, link(in("0"), in(name)));
	}
	/* The names that were met last, and the first, go first. */
	ASSERT_EQ(0, unlink(in("0")));
	for (int i = LINKS - 1; i > 1; i--) {
		snprintf(name, sizeof(name), i % 2 ? "d/%d" : "%d", i);
		ASSERT_EQ(0, unlink(in(name)));
		snprintf(name, sizeof(name), "d/%d", i / 4 * 2 + 1);
		if (i % 10 || !strcmp(name, "d/1"))
			continue;
		ASSERT_EQ(0, stat(in(name), &st));
		ASSERT_EQ(i - 1, (int)st.st_nlink);
		ASSERT_EQ(5, st.st_size);
		ASSERT(file_is(in(name), "12345", 5));
	}
	fd = open(in("d/1"), O_RDWR | O_APPEND);
	ASSERT_EQ(0, rename(in("d/1"), in("last")));
	ASSERT_EQ(1, write(fd, "6", 1));
	ASSERT_EQ(0, close(fd));
	ASSERT(file_is(in("last"), "123456", 6));
	ASSERT_EQ(0, unlink(in("last")));
	ASSERT_EQ(1, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* As an overlay does it, for names of any length and directories too. */
TEST a_rename_can_leave_a_whiteout(void)
{
	static const char *const froms[] = { "f", "d", "e" };
	char longest[256];
	struct stat st;

	MOUNT_OR_SKIP(&m, NULL);
	memset(longest, 'n', 255);
	longest[255] = 0;
	ASSERT_EQ(0, file_put(mounted_path(m.dir, "plain"), "1", 1));
	if (renameat2(AT_FDCWD, mounted_path(m.dir, "plain"), AT_FDCWD,
	              mounted_path(m.dir, "other"), RENAME_WHITEOUT))
		SKIP_BECAUSE("the store has no whiteouts");
	ASSERT_EQ(0, file_put(in("f"), "12", 2));
	ASSERT_EQ(0, file_put(in("over"), "3", 1));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, mkdir(in("e"), 0755));
	ASSERT_EQ(0, mkdir(in("empty"), 0755));
	ASSERT_EQ(0, file_put(in(longest), "123", 3));
	ASSERT_EQ(0, renameat2(AT_FDCWD, in("f"), AT_FDCWD, in("over"),
	                       RENAME_WHITEOUT));
	ASSERT_EQ(0, renameat2(AT_FDCWD, in("d"), AT_FDCWD, in("dd"),
	                       RENAME_WHITEOUT | RENAME_NOREPLACE));
	ASSERT_EQ(0, renameat2(AT_FDCWD, in("e"), AT_FDCWD, in("empty"),
	                       RENAME_WHITEOUT));
	ASSERT_EQ(0, renameat2(AT_FDCWD, in(longest), AT_FDCWD, in("short"),
	                       RENAME_WHITEOUT));
	ASSERT_EQ(-1, renameat2(AT_FDCWD, in("short"), AT_FDCWD, in("over"),
	                        RENAME_WHITEOUT | RENAME_NOREPLACE));
	ASSERT_EQ(EEXIST, errno);
	ASSERT_EQ(-1, renameat2(AT_FDCWD, in("short"), AT_FDCWD, in("over"),
	                        RENAME_WHITEOUT | RENAME_EXCHANGE));
	ASSERT_EQ(EINVAL, errno);
	ASSERT(file_is(in("over"), "12", 2));
	ASSERT(file_is(in("short"), "123", 3));
	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(0, lstat(in(i < 3 ? froms[i] : longest), &st));
		ASSERT_EQ_FMT((mode_t)S_IFCHR, st.st_mode & S_IFMT, "%o");
		ASSERT_EQ(0, (int)st.st_rdev);
		ASSERT_EQ(0, unlink(in(i < 3 ? froms[i] : longest)));
	}
	ASSERT_EQ(4, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Attributes
 */

TEST attributes_have_names_as_long_as_the_kernel_takes(void)
{
	char name[300] = "user.", list[600], value[300];

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "x", 1));
	for (int n = 155; n <= 250; n += 5) {
		memset(name + 5, 'a', (size_t)n);
		name[5 + n] = 0;
		ASSERT_EQ(0, setxattr(in("f"), name, name, 5 + (size_t)n, 0));
		ASSERT_EQ(5 + n, getxattr(in("f"), name, value, sizeof(value)));
		ASSERT_MEM_EQ(name, value, 5 + n);
		ASSERT_EQ(6 + n, listxattr(in("f"), list, sizeof(list)));
		ASSERT_STR_EQ(name, list);
		ASSERT_EQ(0, removexattr(in("f"), name));
	}
	ASSERT_EQ(0, setxattr(in("f"), name, "stays", 5, 0));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(5, getxattr(in("f"), name, value, sizeof(value)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Who is not of a file's group does not keep its set-group-id bit. */
TEST an_acl_clears_set_group_id_for_outsiders(void)
{
	static const struct deed deeds[] = {
		{ .uid = ANNE, .gid = ANNE, .script =
		  "setfacl -m u:bin:rx a && stat -c %a a" },
		{ .uid = ANNE, .gid = ANNE, .n = 1, .groups = { TEAM }, .script =
		  "setfacl -m u:bin:rx b && stat -c %a b" },
		{ .uid = 0, .gid = 0, .script =
		  "setfacl -m u:bin:rx c && stat -c %a c" },
	};
	static const char made[] =
		"for f in a b c; do touch $f; chown 61001:62001 $f;"
		" chmod 2775 $f; done";
	char plain[300];

	if (geteuid() != 0 || !have_program("setfacl"))
		SKIP_BECAUSE("no root, or no setfacl");
	MOUNT_OR_SKIP(&m, "allow_other");
	snprintf(plain, sizeof(plain), "%s/plain", m.dir);
	ASSERT_EQ(0, mkdir(plain, 0755));
	ASSERT_EQ(0, chmod(m.dir, 0755));
	ASSERT_EQ(0, run_script(plain, made));
	ASSERT_EQ(0, run_script(m.point, made));
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
		ASSERT(users_same_deed(&m, plain, &deeds[i]));
	ASSERT(users_same_listing(&m, plain, 0));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Nor who only may write to it; also where the group may not execute it. */
static enum greatest_test_res write_as_others(const char *options)
{
	static const char changes[] =
		"echo x >>a; echo x >b; truncate -s 3 c; fallocate -l 9000 d;"
		"fallocate -p -l 5 e; dd if=/dev/zero of=f bs=4096 count=1"
		" conv=notrunc status=none; touch g; exec 3>>h; exec 3>&-;"
		"dd if=/dev/zero of=i bs=4096 count=1 oflag=direct conv=notrunc"
		" status=none; perl -e '$! = 0; $n = chown(-1, -1, \"j\");"
		" print \"$n $!\\n\"'; stat -c '%n %a' ?";
	static const struct deed deeds[] = {
		{ .uid = BERT, .gid = BERT, .script = changes },
		{ .uid = BERT, .gid = BERT, .n = 1, .groups = { TEAM },
		  .script = changes },
		{ .uid = ANNE, .gid = ANNE, .script = changes },
		{ .uid = 0, .gid = 0, .script = changes },
	};
	static const char make[] =
		"for f in a b c d e f g h i j; do echo 12345678 >$f;"
		" chown 61001:62001 $f; chmod $MODE $f; done";
	char plain[300], script[300];

	MOUNT_OR_SKIP(&m, options);
	snprintf(plain, sizeof(plain), "%s/plain", m.dir);
	ASSERT_EQ(0, mkdir(plain, 0755));
	ASSERT_EQ(0, chmod(m.dir, 0755));
	for (int k = 0; k < 8; k++) {
		snprintf(script, sizeof(script), "MODE=%d; %s",
		         k % 2 ? 2766 : 6777, make);
		ASSERT_EQ(0, run_script(plain, script));
		ASSERT_EQ(0, run_script(m.point, script));
		ASSERT(users_same_deed(&m, plain, &deeds[k / 2]));
		ASSERT(users_same_listing(&m, plain, 0));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST writing_clears_set_group_id_for_outsiders(void)
{
	if (geteuid() != 0 || !have_program("fallocate"))
		SKIP_BECAUSE("no root, or no fallocate");
	CHECK_CALL(write_as_others("allow_other,attr_timeout=0"));
	mounted_remove(&m);
	/* The kernel's own knowledge of the mode. */
	CHECK_CALL(write_as_others("allow_other"));
	PASS();
}

SUITE(conform)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_file_without_a_name_gets_one);
	RUN_TEST(a_file_without_a_name_leaves_nothing);
	RUN_TEST(a_file_that_never_gets_a_name_never_does);
	RUN_TEST(a_file_without_a_name_belongs_to_the_caller);
	RUN_TEST(a_hole_at_the_beginning_is_found);
	RUN_TEST(access_times_tell_of_readers_only);
	RUN_TEST(a_file_of_many_names_is_one_file);
	RUN_TEST(a_rename_can_leave_a_whiteout);
	RUN_TEST(attributes_have_names_as_long_as_the_kernel_takes);
	RUN_TEST(an_acl_clears_set_group_id_for_outsiders);
	RUN_TEST(writing_clears_set_group_id_for_outsiders);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(conform);
	GREATEST_MAIN_END();
}
