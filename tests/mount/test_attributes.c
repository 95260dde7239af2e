/* Times, link counts and inode numbers through a mount. Rows F57 and F59 of the
 * field's troubles. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/support.h"

static struct mounted m;
static char plain[300]; /* a plain directory on the volume's file system */

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

static int make_plain(void)
{
	snprintf(plain, sizeof(plain), "%.250s/plain", m.dir);
	return mkdir(plain, 0755);
}

/*
 * Times and inode numbers
 */

static enum greatest_test_res check_times(const char *name,
                                          const struct timespec times[2])
{
	struct stat here, there;

	ASSERT_EQ(0, lstat(in(name), &here));
	ASSERT_EQ(0, lstat(mounted_path(plain, name), &there));
	ASSERT_EQ(there.st_atim.tv_sec, here.st_atim.tv_sec);
	ASSERT_EQ(there.st_atim.tv_nsec, here.st_atim.tv_nsec);
	ASSERT_EQ(there.st_mtim.tv_sec, here.st_mtim.tv_sec);
	ASSERT_EQ(there.st_mtim.tv_nsec, here.st_mtim.tv_nsec);
	/* So that a store that keeps nothing does not make this pass. */
	if (times)
		ASSERT_EQ(times[1].tv_sec, here.st_mtim.tv_sec);
	PASS();
}

/* F57 */
TEST times_are_stored_as_the_store_stores_them(void)
{
	static const struct timespec all[][2] = {
		{ { 0, 0 }, { 0, 0 } },
		{ { -1, 999999999 }, { -1, 1 } },
		{ { -2000000000, 123456789 }, { -2000000000, 987654321 } },
		{ { 1000000000, 1 }, { 1000000000, 2 } },
		{ { (time_t)2147483648, 5 }, { (time_t)4294967296, 7 } },
		{ { (time_t)9000000000, 999999999 }, { (time_t)9000000000, 1 } },
	};
	static const char *const names[] = { "f", "d", "l", "p" };
	struct timespec out_of_range[2] = { { (time_t)(1LL << 40), 0 },
	                                    { (time_t)(1LL << 40), 0 } };

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, make_plain());
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, run_script(i ? plain : m.point,
		                        "echo text >f; mkdir d; ln -s x l; "
		                        "mkfifo p"));
	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
		for (int i = 0; i < 4; i++) {
			ASSERT_EQ(0, utimensat(AT_FDCWD, in(names[i]), all[k],
			                       AT_SYMLINK_NOFOLLOW));
			ASSERT_EQ(0, utimensat(AT_FDCWD,
			                       mounted_path(plain, names[i]),
			                       all[k], AT_SYMLINK_NOFOLLOW));
			CHECK_CALL(check_times(names[i], all[k]));
			if (k == 2 || k == 5) {
				ASSERT_EQ(0, mounted_umount(&m));
				ASSERT_EQ(0, mounted_mount(&m, NULL));
				CHECK_CALL(check_times(names[i], all[k]));
			}
		}
	ASSERT_EQ(utimensat(AT_FDCWD, mounted_path(plain, "f"), out_of_range,
	                    0),
	          utimensat(AT_FDCWD, in("f"), out_of_range, 0));
	CHECK_CALL(check_times("f", NULL));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F57: making and removing the tool's own files does not show. */
TEST times_and_link_counts_of_directories_are_those_of_plain_ones(void)
{
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char longest[256], path[300];
	struct stat st;

	MOUNT_OR_SKIP(&m, NULL);
	memset(longest, 'n', 255);
	longest[255] = 0;
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(2, (int)st.st_nlink);
	ASSERT_EQ(0, mkdir(in("d/sub"), 0755));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(3, (int)st.st_nlink);
	ASSERT_EQ(0, utimensat(AT_FDCWD, in("d"), old, 0));
	/* Reading and looking up changes no modification time. */
	ASSERT_EQ(1, path_entries(in("d")));
	ASSERT_EQ(-1, access(in("d/none"), F_OK));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(1000, st.st_mtim.tv_sec);
	/* An entry that comes or goes does, a write into it does not. */
	ASSERT_EQ(0, file_put(in("d/f"), "x", 1));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT(st.st_mtim.tv_sec > 1000);
	ASSERT_EQ(0, utimensat(AT_FDCWD, in("d"), old, 0));
	ASSERT_EQ(0, file_put(in("d/f"), "xyz", 3));
	ASSERT_EQ(0, chmod(in("d/f"), 0600));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(1000, st.st_mtim.tv_sec);
	snprintf(path, sizeof(path), "d/%s", longest);
	ASSERT_EQ(0, mkdir(in(path), 0755));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(4, (int)st.st_nlink);
	ASSERT_EQ(0, rmdir(in(path)));
	ASSERT_EQ(0, rmdir(in("d/sub")));
	ASSERT_EQ(0, stat(in("d"), &st));
	ASSERT_EQ(2, (int)st.st_nlink);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int tree_inodes(uint64_t *out, int n)
{
	char name[40];
	struct stat st;

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), i % 3 ? "d%d/f%d" : "d%d",
		         i / 3, i);
		if (lstat(in(name), &st))
			return -1;
		out[i] = st.st_ino;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* F59 */
TEST inode_numbers_are_unique_and_stay(void)
{
	enum { N = 300 };
	static uint64_t first[N], later[N];
	char name[40];

	MOUNT_OR_SKIP(&m, NULL);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), i % 3 ? "d%d/f%d" : "d%d",
		         i / 3, i);
		if (i % 3)
			ASSERT_EQ(0, file_put(in(name), "", 0));
		else
			ASSERT_EQ(0, mkdir(in(name), 0755));
	}
	ASSERT_EQ(0, tree_inodes(first, N));
	pause_for(1100); /* longer than the kernel trusts them */
	ASSERT_EQ(0, tree_inodes(later, N));
	ASSERT_MEM_EQ(first, later, sizeof(first));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, tree_inodes(later, N));
	ASSERT_MEM_EQ(first, later, sizeof(first));
	ASSERT_EQ(0, rename(in("d5"), in("renamed")));
	ASSERT_EQ(0, rename(in("renamed"), in("d5")));
	ASSERT_EQ(0, tree_inodes(later, N));
	ASSERT_MEM_EQ(first, later, sizeof(first));
	qsort(later, N, sizeof(*later), compare);
	for (int i = 1; i < N; i++)
		ASSERT(later[i] != later[i - 1]);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F59: a shell that stands in a directory. */
TEST the_current_directory_is_found_again(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, run_script(m.point,
		"mkdir -p a/b/c && cd a/b/c && P=$(/bin/pwd) && "
		"test \"$P\" = \"$M/a/b/c\" && sleep 1.2 && "
		"test \"$(/bin/pwd)\" = \"$P\" && "
		"mv ../../b ../../../moved && "
		"test \"$(/bin/pwd)\" = \"$M/moved/c\" && "
		"sleep 1.2 && ls .. >/dev/null && "
		"test \"$(/bin/pwd)\" = \"$M/moved/c\" && "
		"echo text >f && test \"$(cat $M/moved/c/f)\" = text && "
		"rm f && rmdir ../c && ! echo x >f && test -z \"$(ls -A)\""));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(attributes)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(times_are_stored_as_the_store_stores_them);
	RUN_TEST(times_and_link_counts_of_directories_are_those_of_plain_ones);
	RUN_TEST(inode_numbers_are_unique_and_stay);
	RUN_TEST(the_current_directory_is_found_again);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(attributes);
	GREATEST_MAIN_END();
}
