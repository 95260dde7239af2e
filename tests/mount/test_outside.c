/* Ciphertext that is changed while it is mounted, as a sync program does. */
#include <dirent.h>
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

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* The path of the ciphertext of a file in the root: inode numbers are the
 * same in the mount. */
static void find_cipher(const char *name, char path[600], ino_t *inode)
{
	DIR *dir = opendir(m.volume);
	struct dirent *d;
	struct stat st;

	*path = 0;
	if (stat(in(name), &st))
		st.st_ino = 0;
	*inode = st.st_ino;
	while ((d = readdir(dir)))
		if (d->d_ino == st.st_ino)
			snprintf(path, 600, "%s/%s", m.volume, d->d_name);
	closedir(dir);
}

/*
 * A file with the inode number `want`, which was free a moment ago; false
 * where the store does not give it again.
 */
static bool make_with_inode(const char *path, ino_t want)
{
	enum { TRIES = 3000 };
	char other[700];
	struct stat st = { .st_ino = 0 };
	int tries, fd;

	for (tries = 0; tries < TRIES && st.st_ino != want; tries++) {
		snprintf(other, sizeof(other), "%s.%d", path, tries);
		fd = open(other, O_CREAT | O_RDWR | O_EXCL, 0600);
		if (fd < 0 || fstat(fd, &st))
			abort();
		close(fd);
	}
	if (st.st_ino == want && rename(other, path))
		abort();
	while (tries--) {
		snprintf(other, sizeof(other), "%s.%d", path, tries);
		unlink(other);
	}
	return st.st_ino == want;
}

/* Two files are removed, and one comes again under the inode number that the
 * other one had. */
TEST a_reused_inode_number_does_not_mix_files_up(void)
{
	char f[600], g[600], text[10] = "";
	ino_t inode_f, inode_g;
	char bytes[9000];
	ssize_t size;
	int fd;

	/* The kernel trusts the names that it knows for long. */
	MOUNT_OR_SKIP(&m, "entry_timeout=100,attr_timeout=100");
	ASSERT_EQ(0, file_put(in("f"), "of f", 4));
	ASSERT_EQ(0, file_put(in("g"), "of g", 4));
	find_cipher("f", f, &inode_f);
	find_cipher("g", g, &inode_g);
	ASSERT(*f && *g);
	fd = open(g, O_RDONLY);
	size = read(fd, bytes, sizeof(bytes));
	ASSERT(size > 80);
	close(fd);

	/* Closing a file in the mount comes to the daemon a little later. */
	pause_for(200);
	ASSERT_EQ(0, unlink(f));
	ASSERT_EQ(0, unlink(g));
	if (!make_with_inode(g, inode_f))
		SKIP_BECAUSE("this store does not use an inode number again");
	fd = open(g, O_WRONLY);
	ASSERT_EQ(size, write(fd, bytes, (size_t)size));
	close(fd);

	ASSERT(file_is(in("g"), "of g", 4));
	fd = open(in("f"), O_RDWR);
	if (fd >= 0 && read(fd, text, sizeof(text)) < 0)
		strcpy(text, "error");
	ASSERT_STR_EQ("", text);
	ASSERT_EQ(-1, fd);
	ASSERT_EQ(ENOENT, errno);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A file that is moved from outside while it is open is the same file. */
TEST an_open_file_is_moved(void)
{
	char f[600], g[600];
	struct stat st;
	ino_t inode;
	int fd;

	MOUNT_OR_SKIP(&m, "entry_timeout=0,attr_timeout=0");
	ASSERT_EQ(0, file_put(in("f"), "of f", 4));
	ASSERT_EQ(0, file_put(in("g"), "of g", 4));
	find_cipher("f", f, &inode);
	find_cipher("g", g, &inode);
	fd = open(in("f"), O_RDWR);
	ASSERT(fd >= 0);
	ASSERT_EQ(0, rename(f, g));
	ASSERT(file_is(in("g"), "of f", 4));
	ASSERT_EQ(6, pwrite(fd, "longer", 6, 0));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(6, (int)st.st_size);
	ASSERT(file_is(in("g"), "longer", 6));
	ASSERT_EQ(-1, access(in("f"), F_OK));
	ASSERT_EQ(0, close(fd));
	ASSERT(file_is(in("g"), "longer", 6));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int copy_to(const char *from, const char *to, bool in_place)
{
	char script[1500];

	snprintf(script, sizeof(script), "F='%s' T='%s'; %s", from, to,
	         in_place ? "cat $F >$T" : "cp $F $T.sync && mv $T.sync $T");
	return run_script(m.dir, script);
}

/* What a sync program brings, by a rename and in place, is seen when the
 * kernel asks again, in a file that is open too; each version whole. */
TEST another_version_is_seen_whole(const char *options)
{
	static uint8_t one[50000], two[50000], three[70000], buf[70000];
	char f[600], g[600], h[600];
	ino_t inode;
	int fd;

	MOUNT_OR_SKIP(&m, options);
	bytes_fill(one, sizeof(one), 1);
	bytes_fill(two, sizeof(two), 2);
	bytes_fill(three, sizeof(three), 3);
	/* Ciphertexts of one name, from the time when it held each of them. */
	ASSERT_EQ(0, file_put(in("f"), two, sizeof(two)));
	find_cipher("f", f, &inode);
	snprintf(g, sizeof(g), "%s/two", m.dir);
	ASSERT_EQ(0, copy_to(f, g, true));
	ASSERT_EQ(0, unlink(in("f")));
	ASSERT_EQ(0, file_put(in("f"), three, sizeof(three)));
	snprintf(h, sizeof(h), "%s/three", m.dir);
	ASSERT_EQ(0, copy_to(f, h, true));
	ASSERT_EQ(0, unlink(in("f")));
	ASSERT_EQ(0, file_put(in("f"), one, sizeof(one)));

	/* Another one of the same size, in place, under an open file. */
	fd = open(in("f"), O_RDONLY);
	ASSERT_EQ((ssize_t)sizeof(one), pread(fd, buf, sizeof(buf), 0));
	ASSERT_EQ(0, copy_to(g, f, true));
	if (!options)
		pause_for(1100);
	ASSERT_EQ((ssize_t)sizeof(two), pread(fd, buf, sizeof(buf), 0));
	ASSERT_MEM_EQ(two, buf, sizeof(two));
	/* And a longer one. */
	ASSERT_EQ(0, copy_to(h, f, true));
	if (!options)
		pause_for(1100);
	ASSERT_EQ((off_t)sizeof(three), path_size(in("f")));
	ASSERT_EQ((ssize_t)sizeof(three), pread(fd, buf, sizeof(buf), 0));
	ASSERT_MEM_EQ(three, buf, sizeof(three));
	ASSERT(file_is(in("f"), three, sizeof(three)));
	/* Replaced: the open file stays what it was. */
	ASSERT_EQ(0, copy_to(g, f, false));
	if (!options)
		pause_for(1100);
	ASSERT(file_is(in("f"), two, sizeof(two)));
	ASSERT_EQ((ssize_t)sizeof(three), pread(fd, buf, sizeof(buf), 0));
	ASSERT_MEM_EQ(three, buf, sizeof(three));
	ASSERT_EQ(0, close(fd));
	/* Written to after that, it is the new one that is written to. */
	fd = open(in("f"), O_RDWR);
	ASSERT_EQ(0, copy_to(h, f, true));
	close(open(in("f"), O_RDONLY));
	ASSERT_EQ(5, pwrite(fd, "12345", 5, 10));
	memcpy(three + 10, "12345", 5);
	ASSERT_EQ(0, close(fd));
	ASSERT(file_is(in("f"), three, sizeof(three)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* In place means that it is damaged for a moment: an error, no mix. */
TEST a_version_that_comes_in_parts_is_no_mix(void)
{
	static uint8_t one[50000], two[50000], buf[50000];
	static uint8_t raw[100000];
	char f[600];
	ino_t inode;
	ssize_t size;
	int fd, out;

	MOUNT_OR_SKIP(&m, "cache=none");
	bytes_fill(one, sizeof(one), 1);
	bytes_fill(two, sizeof(two), 2);
	ASSERT_EQ(0, file_put(in("f"), two, sizeof(two)));
	find_cipher("f", f, &inode);
	out = open(f, O_RDONLY);
	size = read(out, raw, sizeof(raw));
	ASSERT(size > 50000);
	close(out);
	ASSERT_EQ(0, unlink(in("f")));
	ASSERT_EQ(0, file_put(in("f"), one, sizeof(one)));
	fd = open(in("f"), O_RDONLY);
	out = open(f, O_WRONLY);
	for (ssize_t at = 0; at < size; at += 4096) {
		ssize_t n = size - at < 4096 ? size - at : 4096;

		ASSERT_EQ(n, pwrite(out, raw + at, (size_t)n, at));
		for (size_t k = 0; k < sizeof(buf); k += 1000) {
			ssize_t got = pread(fd, buf, 1000, (off_t)k);

			/* New, or an error for what is still old. */
			if (got < 0) {
				ASSERT_EQ(EIO, errno);
				continue;
			}
			ASSERT_MEM_EQ(two + k, buf, (size_t)got);
		}
	}
	close(out);
	ASSERT_EQ((ssize_t)sizeof(two), pread(fd, buf, sizeof(buf), 0));
	ASSERT_MEM_EQ(two, buf, sizeof(two));
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST each_kind_of_cache_is_what_it_says(void)
{
	char f[600], other[600], out[2000];
	ino_t inode;

	MOUNT_OR_SKIP(&m, "cache=always");
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	find_cipher("f", f, &inode);
	snprintf(other, sizeof(other), "%s/away", m.dir);
	ASSERT_EQ(4, path_size(in("f")));
	ASSERT_EQ(0, rename(f, other));
	pause_for(1200);
	ASSERT_EQ(4, path_size(in("f"))); /* the kernel believes it still */
	ASSERT_EQ(0, rename(other, f));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, "cache=none"));
	ASSERT_EQ(4, path_size(in("f")));
	ASSERT_EQ(0, rename(f, other));
	ASSERT_EQ(-ENOENT, path_size(in("f")));
	ASSERT_EQ(0, rename(other, f));
	ASSERT_EQ(4, path_size(in("f")));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(16, MOUNTED_RUN(out, sizeof(out), "frondfs", "mount", "-o",
	                          "cache=some", m.volume, m.point));
	ASSERT(strstr(out, "cache=some"));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

SUITE(outside)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_reused_inode_number_does_not_mix_files_up);
	RUN_TEST(an_open_file_is_moved);
	RUN_TESTp(another_version_is_seen_whole, "cache=none");
	RUN_TESTp(another_version_is_seen_whole, NULL);
	RUN_TEST(a_version_that_comes_in_parts_is_no_mix);
	RUN_TEST(each_kind_of_cache_is_what_it_says);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(outside);
	GREATEST_MAIN_END();
}
