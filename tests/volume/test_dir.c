/* Names of every length and kind through every operation, on a disk and in
 * memory, with the usual and with a short limit of names. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dir_support.h"

static const char *const tops[] = { "/tmp", "/dev/shm" };

/* A longer link's target, of n bytes. */
static void target_of(char *target, size_t n)
{
	for (size_t i = 0; i < n; i++)
		target[i] = (char)('A' + i % 50);
	target[n] = '\0';
}

/* One name through its life as a file, a directory, a link and a symlink. */
TEST one_name(struct dir *dir, struct dir *other, const char *name)
{
	struct dir_entry entry, found;
	struct stat st;
	char target[4096], *names;
	int fd;

	ASSERT_EQ(-ENOENT, dir_find(dir, name, &found, &st));
	ASSERT_EQ(0, dir_create(dir, name, 0640, NULL, &entry, &fd));
	ASSERT_EQ(1, write(fd, "x", 1));
	close(fd);
	ASSERT_EQ(0, dir_find(dir, name, &found, &st));
	ASSERT_STR_EQ(entry.text, found.text);
	ASSERT_EQ(S_IFREG | 0640, st.st_mode);
	ASSERT_EQ(-EEXIST, dir_create(dir, name, 0640, NULL, &entry, &fd));
	ASSERT_EQ(-EEXIST, dir_mkdir(dir, name, 0755, NULL, &entry));
	ASSERT_EQ(-EEXIST, dir_symlink(dir, name, "t", NULL, &entry));
	names = names_of(dir);
	ASSERT_STR_EQ(name, names);
	free(names);

	/* A hard link in another directory, then the first name goes. */
	ASSERT_EQ(0, dir_link(dir, found.text, other, name, &entry));
	ASSERT_EQ(st.st_ino, inode_of(other, name));
	ASSERT_EQ(-ENOTDIR, dir_rmdir(dir, name));
	ASSERT_EQ(0, dir_unlink(dir, name));
	ASSERT_EQ(-ENOENT, dir_unlink(dir, name));
	/* Back by a rename, and again within the directory. */
	ASSERT_EQ(0, dir_rename(other, name, dir, name, 0, &entry, NULL));
	ASSERT_EQ(st.st_ino, inode_of(dir, name));
	ASSERT_EQ(0, dir_rename(dir, name, dir, "short", 0, &entry, NULL));
	names = texts_of(dir);
	ASSERT_STR_EQ(entry.text, names);
	free(names);
	ASSERT_EQ(-ENOENT, dir_find(dir, name, &found, &st));
	ASSERT_EQ(0, dir_rename(dir, "short", dir, name, 0, &entry, NULL));
	ASSERT_EQ(0, dir_unlink(dir, name));

	ASSERT_EQ(0, dir_mkdir(dir, name, 0755, NULL, &entry));
	ASSERT_EQ(-EISDIR, dir_unlink(dir, name));
	ASSERT_EQ(0, dir_rename(dir, name, other, name, 0, &entry, NULL));
	ASSERT_EQ(0, dir_rmdir(other, name));

	ASSERT_EQ(0, dir_symlink(dir, name, name, NULL, &entry));
	ASSERT_EQ((int)strlen(name), dir_readlink(dir, entry.text, target));
	ASSERT_STR_EQ(name, target);
	ASSERT_EQ(0, dir_find(dir, name, &found, &st));
	ASSERT_EQ(0, dir_plain_stat(dir, found.text, &st));
	ASSERT_EQ((off_t)strlen(name), st.st_size);
	ASSERT_EQ(0, dir_unlink(dir, name));

	ASSERT_EQ(0, dir_mknod(dir, name, S_IFIFO | 0600, 0, NULL, &entry));
	ASSERT_EQ(0, dir_find(dir, name, &found, &st));
	ASSERT(S_ISFIFO(st.st_mode));
	ASSERT_EQ(0, dir_unlink(dir, name));

	/* Nothing is left over. */
	names = texts_of(dir);
	ASSERT_STR_EQ("", names);
	free(names);
	names = texts_of(other);
	ASSERT_STR_EQ("", names);
	free(names);
	PASS();
}

TEST every_length(const char *top, size_t limit)
{
	struct place p;
	struct dir *a, *b;
	char name[257];

	place_make(&p, top, limit);
	put_dir(p.root, "a");
	put_dir(p.root, "b");
	a = sub_open(&p, p.root, "a");
	b = sub_open(&p, p.root, "b");
	ASSERT(a && b);
	for (size_t n = 1; n <= 255; n++)
		CHECK_CALL(one_name(a, b, name_of_length(name, n)));
	dir_unref(a);
	dir_unref(b);
	place_remove(&p);
	PASS();
}

TEST too_long(size_t limit)
{
	struct place p;
	struct dir_entry entry;
	struct stat st;
	char name[257], *before, *after;
	int fd;

	place_make(&p, "/dev/shm", limit);
	name_of_length(name, 256);
	put_file(p.root, "f");
	before = texts_of(p.root);
	ASSERT_EQ(-ENAMETOOLONG, dir_find(p.root, name, &entry, &st));
	ASSERT_EQ(-ENAMETOOLONG,
	          dir_create(p.root, name, 0644, NULL, &entry, &fd));
	ASSERT_EQ(-ENAMETOOLONG,
	          dir_mknod(p.root, name, S_IFREG | 0644, 0, NULL, &entry));
	ASSERT_EQ(-ENAMETOOLONG, dir_mkdir(p.root, name, 0755, NULL, &entry));
	ASSERT_EQ(-ENAMETOOLONG,
	          dir_symlink(p.root, name, "x", NULL, &entry));
	ASSERT_EQ(0, dir_find(p.root, "f", &entry, &st));
	ASSERT_EQ(-ENAMETOOLONG,
	          dir_link(p.root, entry.text, p.root, name, &entry));
	ASSERT_EQ(-ENAMETOOLONG,
	          dir_rename(p.root, "f", p.root, name, 0, &entry, NULL));
	after = texts_of(p.root);
	ASSERT_STR_EQ(before, after);
	free(before);
	free(after);
	place_remove(&p);
	PASS();
}

TEST odd_names(const char *top)
{
	static const char *const names[] = {
		"\xff\xfe\x80", "line\nbreak", "-rf", "frondfs.conf",
		"frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA", "frondfs.tmp.x",
		"frondfs.long.x", "...", " ", ".x", "..x", "a\\b", "*", "\x01",
		"caf\xc3\xa9", "cafe\xcc\x81",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};
	static const char *const refused[] = { ".", "..", "", "a/b", "/" };
	struct dir_entry entry;
	struct place p;
	struct dir *a, *b;
	int fd;

	place_make(&p, top, 255);
	put_dir(p.root, "a");
	put_dir(p.root, "b");
	a = sub_open(&p, p.root, "a");
	b = sub_open(&p, p.root, "b");
	ASSERT(a && b);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK_CALL(one_name(a, b, names[i]));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		ASSERT_EQ(-EINVAL, dir_create(a, refused[i], 0644, NULL,
		                              &entry, &fd));
	/* Both forms of an accented letter at the same time. */
	put_file(a, "caf\xc3\xa9");
	put_file(a, "cafe\xcc\x81");
	ASSERT(inode_of(a, "caf\xc3\xa9") != inode_of(a, "cafe\xcc\x81"));
	dir_unref(a);
	dir_unref(b);
	place_remove(&p);
	PASS();
}

/* Link targets of all kinds of lengths, their sizes, and their moves. */
TEST link_targets(const char *top)
{
	static const size_t sizes[] = {
		1, 2, 3, 15, 16, 17, 26, 27, 100, 1000, 3037, 3038, 3039, 3040,
		3041, 4000, 4094, 4095,
	};
	char target[4098], read[4096], *names;
	struct dir_entry entry, again;
	struct place p;
	struct stat st;
	struct dir *a;

	place_make(&p, top, 255);
	put_dir(p.root, "a");
	a = sub_open(&p, p.root, "a");
	ASSERT(a);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		int n = (int)sizes[i];

		target_of(target, sizes[i]);
		ASSERT_EQ(0, dir_symlink(a, "l", target, NULL, &entry));
		ASSERT_EQ(n, dir_readlink(a, entry.text, read));
		ASSERT_STR_EQ(target, read);
		ASSERT_EQ(0, dir_find(a, "l", &entry, &st));
		ASSERT_EQ(0, dir_plain_stat(a, entry.text, &st));
		ASSERT_EQ(n, st.st_size);

		/* It goes as a whole. */
		ASSERT_EQ(0, dir_unlink(a, "l"));
		names = texts_of(a);
		ASSERT_STR_EQ("", names);
		free(names);

		/* A hard link to it elsewhere outlives it. */
		ASSERT_EQ(0, dir_symlink(a, "l", target, NULL, &entry));
		ASSERT_EQ(0, dir_link(a, entry.text, p.root, "m", &again));
		ASSERT_EQ(0, dir_unlink(a, "l"));
		ASSERT_EQ(n, dir_readlink(p.root, again.text, read));
		ASSERT_EQ(0, dir_rename(p.root, "m", a, "n", 0, &entry, NULL));
		ASSERT_EQ(n, dir_readlink(a, entry.text, read));
		ASSERT_STR_EQ(target, read);
		ASSERT_EQ(0, dir_find(a, "n", &entry, &st));
		ASSERT_EQ(0, dir_plain_stat(a, entry.text, &st));
		ASSERT_EQ(n, st.st_size);
		/* Replaced by a file: its link file goes too. */
		put_file(p.root, "f");
		ASSERT_EQ(0, dir_rename(p.root, "f", a, "n", 0, &entry, NULL));
		ASSERT_EQ(0, dir_unlink(a, "n"));
		ASSERT_EQ(0, dir_rmdir(p.root, "a"));
		put_dir(p.root, "a");
		dir_unref(a);
		a = sub_open(&p, p.root, "a");
		names = texts_of(a);
		ASSERT_STR_EQ("", names);
		free(names);
	}
	target_of(target, 4096);
	ASSERT_EQ(-ENAMETOOLONG, dir_symlink(a, "l", target, NULL, &entry));
	ASSERT_EQ(-ENOENT, dir_symlink(a, "l", "", NULL, &entry));
	entry = put_file(a, "f");
	ASSERT_EQ(-EINVAL, dir_readlink(a, entry.text, read));
	dir_unref(a);
	place_remove(&p);
	PASS();
}

TEST listing(void)
{
	struct dir_listing l;
	struct dir_entry entry;
	struct place p;
	char name[257];
	unsigned dirs = 0, links = 0;

	place_make(&p, "/dev/shm", 255);
	ASSERT_EQ(0, dir_list(p.root, &l));
	ASSERT_EQ(0u, l.count);
	dir_listing_free(&l);
	for (unsigned i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		if (i % 10 == 3)
			put_dir(p.root, name);
		else if (i % 10 == 4)
			ASSERT_EQ(0, dir_symlink(p.root, name, "x", NULL,
			                         &entry));
		else
			put_file(p.root, name);
	}
	ASSERT_EQ(0, dir_list(p.root, &l));
	ASSERT_EQ(500u, l.count);
	ASSERT_EQ(0u, l.damaged);
	for (size_t i = 0; i < l.count; i++) {
		struct stat st;

		ASSERT_EQ(0, dir_find(p.root, l.items[i].plain, &entry, &st));
		ASSERT_STR_EQ(entry.text, l.items[i].text);
		ASSERT_EQ(st.st_ino, (ino_t)l.items[i].inode);
		dirs += l.items[i].type == 4;
		links += l.items[i].type == 10;
	}
	ASSERT_EQ(50u, dirs);
	ASSERT_EQ(50u, links);
	/* Removing while a listing is held removes all. */
	for (size_t i = 0; i < l.count; i++)
		ASSERT_EQ(0, l.items[i].type == 4
		             ? dir_rmdir(p.root, l.items[i].plain)
		             : dir_unlink(p.root, l.items[i].plain));
	dir_listing_free(&l);
	ASSERT_EQ(0, dir_list(p.root, &l));
	ASSERT_EQ(0u, l.count);
	dir_listing_free(&l);
	place_remove(&p);
	PASS();
}

TEST read_only(void)
{
	struct dir_entry entry;
	struct place p;
	char *before, *after;
	int fd;

	place_make(&p, "/dev/shm", 255);
	entry = put_file(p.root, "f");
	before = texts_of(p.root);
	p.volume.read_only = true;
	ASSERT_EQ(-EROFS, dir_create(p.root, "x", 0644, NULL, &entry, &fd));
	ASSERT_EQ(-EROFS, dir_mknod(p.root, "x", S_IFIFO, 0, NULL, &entry));
	ASSERT_EQ(-EROFS, dir_mkdir(p.root, "x", 0755, NULL, &entry));
	ASSERT_EQ(-EROFS, dir_symlink(p.root, "x", "y", NULL, &entry));
	ASSERT_EQ(-EROFS, dir_link(p.root, entry.text, p.root, "x", &entry));
	ASSERT_EQ(-EROFS, dir_unlink(p.root, "f"));
	ASSERT_EQ(-EROFS, dir_rmdir(p.root, "f"));
	ASSERT_EQ(-EROFS, dir_rename(p.root, "f", p.root, "g", 0, NULL, NULL));
	after = texts_of(p.root);
	ASSERT_STR_EQ(before, after);
	free(before);
	free(after);
	place_remove(&p);
	PASS();
}

/* A store that knows no flags of renames, no hard links of the tool's own
 * files, and no long symbolic links. */
static int poor_renameat2(int from_dir, const char *from, int to_dir,
                          const char *to, unsigned flags)
{
	if (flags) {
		errno = EINVAL;
		return -1;
	}
	return io_system.renameat2(from_dir, from, to_dir, to, 0);
}

static int poor_linkat(int from_dir, const char *from, int to_dir,
                       const char *to, int flags)
{
	if (name_form(from) == NAME_LINK_FILE) {
		errno = EPERM;
		return -1;
	}
	return io_system.linkat(from_dir, from, to_dir, to, flags);
}

static unsigned refused_links;

static int poor_symlinkat(const char *target, int dir, const char *name)
{
	if (strlen(target) > 1023) {
		refused_links++;
		errno = ENAMETOOLONG;
		return -1;
	}
	return io_system.symlinkat(target, dir, name);
}

static struct io poor;

static void poor_store(bool on)
{
	poor = io_system;
	poor.renameat2 = poor_renameat2;
	poor.linkat = poor_linkat;
	poor.symlinkat = poor_symlinkat;
	io = on ? &poor : &io_system;
}

TEST poor_renames(void)
{
	struct dir_entry entry;
	struct dir *d;
	struct place p;
	ino_t inode;

	place_make(&p, "/dev/shm", 255);
	put_file(p.root, "f");
	put_file(p.root, "g");
	ASSERT_EQ(-EEXIST, dir_rename(p.root, "f", p.root, "g",
	                              RENAME_NOREPLACE, &entry, NULL));
	ASSERT_EQ(0, dir_rename(p.root, "f", p.root, "h", RENAME_NOREPLACE,
	                        &entry, NULL));
	ASSERT_EQ(-EINVAL, dir_rename(p.root, "g", p.root, "h",
	                              RENAME_EXCHANGE, &entry, NULL));
	put_dir(p.root, "new");
	d = sub_open(&p, p.root, "new");
	put_file(d, "inside");
	put_dir(p.root, "old");
	inode = inode_of(p.root, "new");
	ASSERT_EQ(-ENOTEMPTY,
	          dir_rename(p.root, "old", p.root, "new", 0, &entry, NULL));
	ASSERT_EQ(0, dir_rename(p.root, "new", p.root, "old", 0, &entry, NULL));
	ASSERT_EQ(inode, inode_of(p.root, "old"));
	ASSERT_EQ(0u, (unsigned)inode_of(p.root, "new"));
	put_dir(d, "below");
	/* A directory into itself: nothing may be lost. */
	ASSERT_EQ(-EINVAL,
	          dir_rename(p.root, "old", d, "below", 0, &entry, NULL));
	ASSERT_EQ(inode, inode_of(p.root, "old"));
	ASSERT(inode_of(d, "below"));
	dir_unref(d);
	place_remove(&p);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (size_t i = 0; i < 2; i++) {
		RUN_TESTp(every_length, tops[i], 255);
		RUN_TESTp(odd_names, tops[i]);
		RUN_TESTp(link_targets, tops[i]);
	}
	RUN_TESTp(every_length, "/dev/shm", 143);
	RUN_TESTp(every_length, "/dev/shm", 61);
	RUN_TESTp(too_long, 255);
	RUN_TESTp(too_long, 143);
	RUN_TEST(listing);
	RUN_TEST(read_only);
	poor_store(true);
	RUN_TESTp(every_length, "/dev/shm", 255);
	RUN_TESTp(link_targets, "/dev/shm");
	RUN_TEST(poor_renames);
	poor_store(false);
	if (refused_links == 0)
		return 1;
	GREATEST_MAIN_END();
}
