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

SUITE(outside)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_reused_inode_number_does_not_mix_files_up);
	RUN_TEST(an_open_file_is_moved);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(outside);
	GREATEST_MAIN_END();
}
