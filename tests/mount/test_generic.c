/*
 * What the generic tests of xfstests ask for, done in a mount and in a plain
 * directory beside it: who sees which attributes (097), what becomes of
 * capabilities (093), which changes take a set-group-id bit away and which do not
 * (375, 193, 683 and the following), times of what is written through a mapping
 * (080, 215) or read (003), and a file that is replaced while it is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/users.h"

static struct mounted m;
static char plain[300]; /* a plain directory on the volume's file system */

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* The mount is root's, and its top directory for all. */
#define SHARED_OR_SKIP()                                               \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
		MOUNT_OR_SKIP(&m, "allow_other");                      \
		snprintf(plain, sizeof(plain), "%.250s/plain", m.dir); \
		ASSERT_EQ(0, mkdir(plain, 0755));                      \
		ASSERT_EQ(0, chmod(m.dir, 0755));                      \
		ASSERT_EQ(0, chmod(plain, 01777));                     \
		ASSERT_EQ(0, chmod(m.point, 01777));                   \
	} while (0)

#define ASSERT_SAME(...)                                               \
	do {                                                           \
		const struct deed deed_ = { __VA_ARGS__ };             \
		ASSERT(users_same_deed(&m, plain, &deed_));            \
		ASSERT(users_same_listing(&m, plain, 0));              \
	} while (0)

/* That the deeds do the same is not enough: they must do something. */
static mode_t mode_of(const char *name)
{
	struct stat st;

	return lstat(mounted_path(m.point, name), &st) ? 0
	                                               : st.st_mode & 07777;
}

/*
 * Attributes
 */

static int set_attributes(void *folder)
{
	int fd;

	if (chdir(folder))
		return 1;
	fd = open("f", O_CREAT | O_RDWR, 0666);
	if (fd < 0 || fchmod(fd, 0666) || fsetxattr(fd, "user.one", "1", 1, 0)
	    || fsetxattr(fd, "trusted.two", "22", 2, 0)
	    || fsetxattr(fd, "user.three", "333", 3, 0)
	    || fsetxattr(fd, "trusted.four", "4444", 4, 0))
		return 2;
	close(fd);
	return mkdir("d", 0755) || setxattr("d", "trusted.x", "", 0, 0) ? 3 : 0;
}

/* "user.one" and "user.three" with their ends, in whatever order. */
enum { SHOWN = 9 + 11 };

static int list_as_a_user(void *folder)
{
	char list[200], value[10];

	if (chdir(folder))
		return 1;
	if (listxattr("f", NULL, 0) != SHOWN)
		return 2;
	memset(list, '#', sizeof(list));
	if (listxattr("f", list, sizeof(list)) != SHOWN
	    || memmem(list, SHOWN, "trusted", 7) || list[SHOWN] != '#'
	    || !memmem(list, SHOWN, "user.one", 9)
	    || !memmem(list, SHOWN, "user.three", 11))
		return 3;
	if (listxattr("f", list, SHOWN) != SHOWN)
		return 4;
	if (listxattr("f", list, SHOWN - 1) != -1 || errno != ERANGE)
		return 5;
	if (listxattr("d", NULL, 0) != 0 || listxattr("d", list, 1) != 0)
		return 6;
	if (getxattr("f", "trusted.two", value, sizeof(value)) != -1
	    || errno != ENODATA)
		return 7;
	return 0;
}

static int list_as_root(void *folder)
{
	char list[200];

	if (chdir(folder))
		return 1;
	return listxattr("f", list, sizeof(list)) == SHOWN + 12 + 13
	       && memmem(list, SHOWN + 12 + 13, "trusted.four", 13) ? 0 : 2;
}

TEST only_root_is_shown_trusted_attributes(void)
{
	SHARED_OR_SKIP();
	if (setxattr(plain, "trusted.try", "", 0, 0))
		SKIP_BECAUSE("no trusted attributes here");
	ASSERT_EQ(0, removexattr(plain, "trusted.try"));
	ASSERT_SAME(.run = set_attributes);
	ASSERT_EQ_FMT(0, as_user(ANNE, ANNE, 0, NULL, list_as_a_user, plain),
	              "%d");
	ASSERT_EQ_FMT(0, as_user(ANNE, ANNE, 0, NULL, list_as_a_user, m.point),
	              "%d");
	ASSERT_EQ_FMT(0, list_as_root(m.point), "%d");
	ASSERT_EQ(0, chdir("/"));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* cap_net_raw+ep, as the kernel stores it. */
static const char capability[20] = {
	1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0,
};
#define CAPABILITY "security.capability"

static bool has_capability(const char *name)
{
	char value[40];

	return getxattr(name, CAPABILITY, value, sizeof(value))
	               == (ssize_t)sizeof(capability)
	       && !memcmp(value, capability, sizeof(capability));
}

/* cp and tar set it when all is written and before they close the file. */
static int set_capability_before_close(void *folder)
{
	static const char *const names[] = { "c1", "c2", "c3" };
	static const char bytes[9000] = { 'x' };

	if (chdir(folder))
		return 1;
	for (int i = 0; i < 3; i++) {
		int fd = open(names[i], O_RDWR | O_CREAT | O_EXCL, 0755);

		if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes)
		    || fsetxattr(fd, CAPABILITY, capability,
		                 sizeof(capability), 0)
		    || close(fd) || !has_capability(names[i]))
			return 2;
		fd = open(names[i], O_RDWR);
		if (fd < 0 || close(fd) || !has_capability(names[i]))
			return 3;
	}
	/* Then each change of the content takes it away. */
	if (truncate("c2", 100) || has_capability("c2"))
		return 4;
	int fd = open("c3", O_WRONLY | O_APPEND);

	if (fd < 0 || write(fd, "y", 1) != 1 || close(fd)
	    || has_capability("c3"))
		return 5;
	return chown("c1", 1, 1) || has_capability("c1") ? 6 : 0;
}

TEST capabilities_stay_until_the_content_is_changed(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.run = set_capability_before_close);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Set-group-id bits
 */

TEST an_acl_set_by_an_outsider_takes_the_set_group_id_bit(void)
{
	SHARED_OR_SKIP();
	if (!have_program("setfacl"))
		SKIP_BECAUSE("setfacl is not installed");
	ASSERT_SAME(.script = "echo >f; echo >g; mkdir d e; "
	                      "chown 61001:62001 f g d e; chmod 2775 f g d e");
	ASSERT_EQ_FMT((mode_t)02775, mode_of("d"), "%o");
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .n = 1, .groups = { TEAM },
	            .script = "setfacl -m u:61002:rwx g; "
	                      "setfacl -m u:61002:rwx e; "
	                      "setfacl -d -m u:61002:rwx e");
	ASSERT_EQ_FMT((mode_t)02775, mode_of("e"), "%o");
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "setfacl -d -m u:61002:rwx d; stat -c %a d; "
	                      "setfacl -m u:61002:rwx f; "
	                      "setfacl -m u:61002:rwx d");
	ASSERT_EQ_FMT((mode_t)0775, mode_of("f"), "%o");
	ASSERT_EQ_FMT((mode_t)0775, mode_of("d"), "%o");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Write a byte through a mapping, until it has reached the file. */
static int write_mapped(void *folder)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	if (chdir(folder))
		return 1;
	for (int i = 0; i < 4; i++) {
		int fd = open(names[i], O_RDWR);
		char *map;

		if (fd < 0)
			return 2;
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		           0);
		if (map == MAP_FAILED)
			return 3;
		map[i] = 'x';
		if (msync(map, 4096, MS_SYNC) || munmap(map, 4096) || fsync(fd)
		    || close(fd))
			return 4;
	}
	return 0;
}

TEST writing_to_a_mapping_leaves_the_mode_alone(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "for f in a b c d; do seq 3000 >$f; done; "
	                      "chmod 6777 a; chmod 2777 b; chmod 6666 c; "
	                      "chmod 4767 d");
	ASSERT_SAME(.uid = BERT, .gid = BERT, .run = write_mapped);
	ASSERT_EQ_FMT((mode_t)06777, mode_of("a"), "%o");
	ASSERT_EQ_FMT((mode_t)02777, mode_of("b"), "%o");
	ASSERT_EQ_FMT((mode_t)06666, mode_of("c"), "%o");
	/* An ordinary write does not. */
	ASSERT_SAME(.uid = BERT, .gid = BERT,
	            .script = "for f in a b c d; do printf y | dd of=$f "
	                      "conv=notrunc status=none; done");
	ASSERT_EQ_FMT((mode_t)0777, mode_of("a"), "%o");
	ASSERT_EQ_FMT((mode_t)0666, mode_of("c"), "%o");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Times
 */

static bool later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec
	       || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static int mapped_times(void *folder)
{
	static const struct timespec old[2] = { { 1000000000, 1 },
	                                        { 1000000000, 2 } };
	struct stat before, after;
	char *map;
	int fd;

	if (chdir(folder))
		return 1;
	fd = open("t", O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || ftruncate(fd, 10000))
		return 2;
	map = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 3;
	for (int i = 0; i < 3; i++) {
		if (futimens(fd, old) || fstat(fd, &before))
			return 4;
		map[i * 4000] = (char)('a' + i);
		if (msync(map, 10000, MS_SYNC) || fstat(fd, &after))
			return 5;
		if (!later(&after.st_mtim, &before.st_mtim)
		    || later(&before.st_ctim, &after.st_ctim))
			return 6;
	}
	if (munmap(map, 10000) || futimens(fd, old) || close(fd)
	    || stat("t", &after) || after.st_mtim.tv_sec != old[1].tv_sec
	    || after.st_mtim.tv_nsec != old[1].tv_nsec)
		return 7;
	return 0;
}

TEST writing_to_a_mapping_sets_times(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .run = mapped_times);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Read all of it from the disk; `flags` to open with. Returns whether that set
 * the access time, or -1. */
static int read_sets_access_time(const char *name, int flags)
{
	static const struct timespec old[2] = { { 1000000000, 1 },
	                                        { 1000000000, 2 } };
	int fd = open(name, O_RDWR);
	char buf[10000];
	struct stat st;

	if (fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)
	    || futimens(fd, old) || close(fd))
		return -1;
	fd = open(name, O_RDONLY | flags);
	if (fd < 0 || read(fd, buf, sizeof(buf)) != 10000 || close(fd)
	    || stat(name, &st))
		return -1;
	return st.st_atim.tv_sec != old[0].tv_sec
	       || st.st_atim.tv_nsec != old[0].tv_nsec;
}

static int access_times(void *folder)
{
	static const char bytes[10000] = { 'x' };
	int fd, other, first;

	if (chdir(folder))
		return 100;
	fd = open("n", O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return 101;
	other = open("n", O_RDONLY); /* so that it is one file object below */
	if (other < 0)
		return 102;
	first = read_sets_access_time("n", O_NOATIME);
	if (first != 0)
		return 103;
	/* Tells what is so where this lies: nothing sets it with noatime. */
	first = read_sets_access_time("n", 0);
	if (read_sets_access_time("n", O_NOATIME) != 0
	    || read_sets_access_time("n", 0) != first)
		return 104;
	close(other);
	return close(fd) ? 105 : first;
}

TEST who_asks_for_it_leaves_no_access_time(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .run = access_times);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Replacing
 */

/* A file that was found by its name, and replaced before it is opened: as an
 * open(2) that loses a race. O_PATH finds it and opens nothing yet. */
static int open_replaced_files(void *folder)
{
	enum { MANY = 20 };
	char name[20], path[40], buf[100];
	int found[MANY], fd;
	struct stat st;

	if (chdir(folder))
		return 1;
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
		if (fd < 0 || write(fd, name, 3) != 3 || close(fd))
			return 2;
		found[i] = open(name, O_PATH);
		fd = open("new", O_RDWR | O_CREAT | O_EXCL, 0600);
		if (found[i] < 0 || fd < 0 || write(fd, "new one", 7) != 7
		    || close(fd) || rename("new", name))
			return 3;
	}
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", found[i]);
		fd = open(path, O_RDWR);
		if (fd < 0)
			return 4;
		if (read(fd, buf, sizeof(buf)) != 3 || memcmp(buf, name, 3)
		    || pwrite(fd, "longer", 6, 1) != 6 || fstat(fd, &st)
		    || st.st_size != 7 || st.st_nlink != 0
		    || (st.st_mode & 07777) != 0644)
			return 5;
		if (chmod(path, 0640) || fstat(fd, &st)
		    || (st.st_mode & 07777) != 0640 || close(fd)
		    || close(found[i]))
			return 6;
		fd = open(name, O_RDONLY);
		if (fd < 0 || read(fd, buf, sizeof(buf)) != 7
		    || memcmp(buf, "new one", 7) || fstat(fd, &st)
		    || st.st_nlink != 1 || close(fd))
			return 7;
	}
	return 0;
}

/* What the daemon's descriptors point to, whose name ends so. */
static int descriptors_of_removed(void)
{
	char path[80], target[400];
	int count = 0;

	for (int fd = 0; fd < 200; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)m.daemon,
		         fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 10)
			continue;
		target[n] = '\0';
		count += !strncmp(target, m.volume, strlen(m.volume))
		         && !strcmp(target + n - 10, " (deleted)");
	}
	return count;
}

TEST a_replaced_file_is_opened_by_who_has_found_it(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .run = open_replaced_files);
	/* And then it goes. */
	for (int i = 0; i < 50 && descriptors_of_removed(); i++)
		usleep(100000);
	ASSERT_EQ_FMT(0, descriptors_of_removed(), "%d");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(generic)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(only_root_is_shown_trusted_attributes);
	RUN_TEST(capabilities_stay_until_the_content_is_changed);
	RUN_TEST(an_acl_set_by_an_outsider_takes_the_set_group_id_bit);
	RUN_TEST(writing_to_a_mapping_leaves_the_mode_alone);
	RUN_TEST(writing_to_a_mapping_sets_times);
	RUN_TEST(who_asks_for_it_leaves_no_access_time);
	RUN_TEST(a_replaced_file_is_opened_by_who_has_found_it);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(generic);
	GREATEST_MAIN_END();
}
