/*
 * Damaged directories through a real mount: an error and never an empty
 * listing, and everything that still opens is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"
#include "mount/guard.h"
#include "mount/mounted.h"
#include "mount/support.h"

static struct mounted m;
static struct victim v;
static char long_name[201];

enum { SIZE = 5000 };
static uint8_t content[16][SIZE];

#define WHOLE -1, -1, -1, -1

static void end(void)
{
	victim_remove(&v);
	guard_end(&m, false);
}

static bool begin(void)
{
	end(); /* of a test that failed */
	if (mounted_make(&m))
		return false;
	guard_begin(&m, 300);
	victim_of(&v, m.volume, m.keyfile);
	for (unsigned i = 0; i < 16; i++)
		content_fill(content[i], SIZE, i, 0);
	memset(long_name, 'L', 200);
	put_dir_at(&v, "a");
	put_dir_at(&v, "b");
	put_dir_at(&v, "a/sub");
	put_file_at(&v, "a/one", 1, SIZE);
	put_file_at(&v, "a/two", 2, SIZE);
	put_file_at(&v, "a/sub/deep", 3, SIZE);
	put_file_at(&v, "b/three", 4, SIZE);
	put_file_at(&v, "b/four", 5, SIZE);
	return true;
}

#define BEGIN()                                          \
	do {                                             \
		if (!mounted_possible())                 \
			SKIP_BECAUSE("no FUSE");         \
		ASSERT(begin());                         \
	} while (0)

#define MOUNT() ASSERT_EQ(0, mounted_mount(&m, NULL))
#define UNMOUNT() ASSERT_EQ(0, mounted_umount(&m))

static const char *at(const char *name)
{
	return mounted_path(m.point, name);
}

static const char *last(const char *path)
{
	return strrchr(path, '/') + 1;
}

static const char *below(const char *path)
{
	return keep(path + strlen(v.root) + 1);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a directory of the mount, sorted, with spaces between; or
 * "error N". */
static const char *names_in(const char *name)
{
	static char all[4][4000];
	static unsigned turn;
	char *text = all[turn++ % 4], *list[100];
	DIR *d = opendir(at(name));
	struct dirent *e;
	size_t n = 0;
	int error = errno;

	if (d)
		for (errno = 0; (e = readdir(d)) && n < 100; errno = 0)
			if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
				list[n++] = strdup(e->d_name);
	if (d) {
		error = errno;
		closedir(d);
	}
	*text = '\0';
	if (error && n == 0) {
		snprintf(text, sizeof(all[0]), "error %d", error);
		return text;
	}
	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < n; i++) {
		strcat(text, i ? " " : "");
		strcat(text, list[i]);
		free(list[i]);
	}
	if (error)
		strcat(text, " and an error");
	return text;
}

static int stat_error(const char *name)
{
	struct stat st;

	return lstat(at(name), &st) ? errno : 0;
}

static int create_error(const char *name)
{
	int fd = open(at(name), O_CREAT | O_EXCL | O_WRONLY, 0644);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static bool is(const char *name, unsigned seed)
{
	return file_is(at(name), content[seed], SIZE);
}

static bool log_has(const char *text)
{
	FILE *f = fopen(m.log, "r");
	char line[2000];
	bool has = false;

	while (f && !has && fgets(line, sizeof(line), f))
		has = strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return has;
}

TEST deleted_id(void)
{
	const char *a, *id, *kept;

	BEGIN();
	a = keep(where(&v, "a"));
	id = keep(id_file(&v, "a"));
	kept = keep(join_path(m.dir, "kept"));
	move_file(id, kept);
	MOUNT();
	ASSERT_STR_EQ("a b", names_in(""));
	ASSERT_STR_EQ("error 5", names_in("a"));
	ASSERT_EQ(EIO, stat_error("a/one"));
	ASSERT_EQ(EIO, stat_error("a/never was"));
	ASSERT_EQ(EIO, create_error("a/new"));
	ASSERT(rmdir(at("a")) && errno != ENOENT);
	ASSERT_STR_EQ("four three", names_in("b"));
	ASSERT(is("b/four", 5));
	/* It can be moved as a whole, and comes back with its id. */
	ASSERT_EQ(0, rename(at("a"), at("b/plaintext")));
	ASSERT_STR_EQ("error 5", names_in("b/plaintext"));
	ASSERT_EQ(0, rename(at("b/plaintext"), at("a")));
	ASSERT(log_has(last(a)));
	ASSERT(!log_has("plaintext"));
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 4, { "missing directory id", "a", NULL, WHOLE }));
	move_file(kept, join_path(where(&v, "a"), last(id)));
	MOUNT();
	ASSERT_STR_EQ("one sub two", names_in("a"));
	ASSERT(is("a/one", 1) && is("a/sub/deep", 3));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

TEST swapped_ids(void)
{
	const char *a, *b;

	BEGIN();
	a = keep(id_file(&v, "a"));
	b = keep(id_file(&v, "b"));
	move_file(a, join_path(where(&v, "b"), last(a)));
	move_file(b, join_path(where(&v, "a"), last(b)));
	MOUNT();
	ASSERT_STR_EQ("error 5", names_in("a"));
	ASSERT_STR_EQ("error 5", names_in("b"));
	ASSERT_EQ(ENOENT, stat_error("a/three"));
	/* Not empty, though nothing of it can be shown. */
	ASSERT(rmdir(at("a")) && errno != ENOENT);
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 4, { "wrong directory id", "a", NULL, WHOLE },
	                 { "wrong directory id", "b", NULL, WHOLE }));
	end();
	PASS();
}

/* A file moved from elsewhere is not shown; what is at home is. */
TEST moved_files(void)
{
	const char *to, *deep;

	BEGIN();
	to = keep(join_path(where(&v, "b"), last(where(&v, "a/one"))));
	move_file(where(&v, "a/one"), to);
	/* Into a directory that was empty: then no name opens there. */
	put_dir_at(&v, "empty");
	deep = keep(join_path(where(&v, "empty"),
	                        last(where(&v, "a/sub/deep"))));
	move_file(where(&v, "a/sub/deep"), deep);
	MOUNT();
	ASSERT_STR_EQ("sub two", names_in("a"));
	ASSERT_STR_EQ("four three", names_in("b"));
	ASSERT_STR_EQ("error 5", names_in("empty"));
	ASSERT_STR_EQ("", names_in("a/sub"));
	ASSERT_EQ(ENOENT, stat_error("b/one"));
	ASSERT(is("b/four", 5));
	ASSERT_EQ(0, create_error("b/one"));
	ASSERT(log_has(last(where(&v, "b"))));
	ASSERT(!log_has("three"));
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 4,
		{ "corrupt name", join_path("b", last(to)), below(to), WHOLE },
		{ "corrupt name", join_path("empty", last(deep)), below(deep),
		  WHOLE }));
	end();
	PASS();
}

TEST damaged_id_content(void)
{
	const char *id;

	BEGIN();
	id = keep(id_file(&v, "a"));
	flip_bit(id, 9, 1);
	MOUNT();
	/* It is only a hint for rescue. */
	ASSERT_STR_EQ("one sub two", names_in("a"));
	ASSERT(is("a/one", 1));
	ASSERT_EQ(0, create_error("a/new"));
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 4, { "damaged directory id", "a", below(id), WHOLE }));
	end();
	PASS();
}

TEST merged_directories(void)
{
	char *name, *mark;

	BEGIN();
	put_file_at(&v, "b/one", 9, SIZE);
	copy_file(where(&v, "b/three"),
	          join_path(where(&v, "a"), last(where(&v, "b/three"))));
	copy_file(where(&v, "b/one"),
	          join_path(where(&v, "a"), last(where(&v, "b/one"))));
	copy_file(id_file(&v, "b"),
	          join_path(where(&v, "a"), last(id_file(&v, "b"))));
	MOUNT();
	name = keep(names_in("a"));
	mark = strstr(name, " (conflict ");
	ASSERT(mark);
	ASSERT(!strncmp(name, "one one (conflict ", 18));
	ASSERT(strstr(name, ") sub three two"));
	strchr(mark, ')')[1] = '\0';
	name = keep(join_path("a", name + 4));
	ASSERT(is("a/three", 4) && is("a/two", 2));
	ASSERT((is("a/one", 1) && is(name, 9)) ||
	       (is("a/one", 9) && is(name, 1)));
	ASSERT_EQ(0, create_error("a/new"));
	ASSERT_EQ(0, unlink(at(name)));
	ASSERT_STR_EQ("new one sub three two", names_in("a"));
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 0, { "merged directory", "a", NULL, WHOLE }));
	end();
	PASS();
}

TEST conflict_copies(void)
{
	static const char *const marks[] = {
		".sync-conflict-20260101-AAAA", " (conflicted copy)",
	};
	char copy[700], shown[300];

	BEGIN();
	put_file_at(&v, long_name, 6, SIZE);
	for (int i = 0; i < 2; i++) {
		snprintf(copy, sizeof(copy), "%s%s", where(&v, "a/one"), marks[i]);
		copy_file(where(&v, "b/three"), copy);
		snprintf(copy, sizeof(copy), "%s%s", where(&v, long_name),
		         marks[i]);
		copy_file(where(&v, "b/four"), copy);
	}
	MOUNT();
	ASSERT_STR_EQ("one one (conflicted copy) one.sync-conflict-20260101-AAAA"
	              " sub two", names_in("a"));
	for (int i = 0; i < 2; i++) {
		snprintf(shown, sizeof(shown), "a/one%s", marks[i]);
		ASSERT(is(shown, 4));
		/* Under an ordinary name now; the other is removed. */
		ASSERT_EQ(0, i ? unlink(at(shown)) : rename(at(shown),
		                                            at("a/kept")));
		snprintf(shown, sizeof(shown), "%s%s", long_name, marks[i]);
		ASSERT(is(shown, 5));
		ASSERT_EQ(0, i ? unlink(at(shown)) : rename(at(shown),
		                                            at("kept")));
	}
	ASSERT_STR_EQ("kept one sub two", names_in("a"));
	ASSERT(is("a/kept", 4) && is("a/one", 1) && is("kept", 5));
	ASSERT(is(long_name, 6));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

TEST foreign_and_leftovers(void)
{
	const char *a;

	BEGIN();
	a = keep(where(&v, "a"));
	ASSERT_EQ(0, mkdir(join_path(a, ".stfolder"), 0755));
	write_text(join_path(a, ".DS_Store"), "junk");
	write_text(join_path(a, "plain.txt"), "plain");
	write_text(join_path(a, "frondfs.tmp.AAAA"), "half a file");
	write_text(join_path(v.root, "README"), "plain");
	MOUNT();
	ASSERT_STR_EQ("a b", names_in(""));
	ASSERT_STR_EQ("one sub two", names_in("a"));
	ASSERT_EQ(ENOENT, stat_error("README"));
	ASSERT_EQ(ENOENT, stat_error("a/plain.txt"));
	ASSERT_EQ(ENOENT, stat_error("a/.stfolder"));
	ASSERT_EQ(ENOENT, stat_error("frondfs.conf"));
	ASSERT_EQ(0, create_error("a/plain.txt"));
	UNMOUNT();
	ASSERT(FSCK_SAYS(&v, 4,
		{ "foreign entry", "", "README", WHOLE },
		{ "foreign entry", "a", below(join_path(a, ".stfolder")), WHOLE },
		{ "foreign entry", "a", below(join_path(a, ".DS_Store")), WHOLE },
		{ "foreign entry", "a", below(join_path(a, "plain.txt")), WHOLE },
		{ "unfinished change", "a", below(join_path(a,
		  "frondfs.tmp.AAAA")), WHOLE }));
	end();
	PASS();
}

TEST long_names(void)
{
	const char *file, *away;

	BEGIN();
	put_file_at(&v, long_name, 6, SIZE);
	file = keep(name_file(&v, long_name));
	away = keep(join_path(m.dir, "away"));
	copy_file(file, away);
	flip_bit(file, 20, 0);
	MOUNT();
	ASSERT_STR_EQ("a b", names_in(""));
	UNMOUNT();
	ASSERT_EQ(0, unlink(file));
	MOUNT();
	ASSERT_STR_EQ("a b", names_in(""));
	/* Made again, its name file is, too: the old content is there. */
	UNMOUNT();
	copy_file(away, file);
	MOUNT();
	ASSERT(is(long_name, 6));
	ASSERT_EQ(0, unlink(at(long_name)));
	ASSERT_EQ(ENOENT, stat_error(long_name));
	/* An orphan is in nobody's way. */
	UNMOUNT();
	copy_file(away, file);
	MOUNT();
	ASSERT_EQ(ENOENT, stat_error(long_name));
	ASSERT_EQ(0, create_error(long_name));
	ASSERT_EQ(0, unlink(at(long_name)));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

TEST links_and_attributes(void)
{
	char list[1000], value[1000], text[5000], target[4001];
	struct { const char *path; const char *plain; } bad[2];
	ssize_t n;

	BEGIN();
	memset(target, 't', 4000);
	target[4000] = '\0';
	put_link_at(&v, "a/short", "one");
	put_link_at(&v, "a/long", target);
	put_link_at(&v, "a/good", "two");
	put_xattr_at(&v, "a/one", "user.colour", "green");
	n = listxattr(where(&v, "a/one"), list, sizeof(list));
	ASSERT(n > 0);
	n = getxattr(where(&v, "a/one"), list, value, sizeof(value));
	ASSERT(n > 0);
	value[n / 2] ^= 4;
	ASSERT_EQ(0, setxattr(where(&v, "a/one"), list, value, (size_t)n, 0));
	put_xattr_at(&v, "a/one", "user.size", "large");
	bad[0].path = keep(where(&v, "a/short"));
	bad[1].path = keep(where(&v, "a/long"));
	n = readlink(bad[0].path, text, sizeof(text) - 1);
	ASSERT(n > 0);
	text[n] = '\0';
	text[10] = text[10] == 'x' ? 'y' : 'x';
	ASSERT_EQ(0, unlink(bad[0].path));
	ASSERT_EQ(0, symlink(text, bad[0].path));
	n = readlink(bad[1].path, text, sizeof(text) - 1);
	ASSERT(n > 0);
	text[n] = '\0';
	flip_bit(join_path(where(&v, "a"), text), 2000, 0);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/short", NULL, WHOLE },
	                 { "corrupt symbolic link", "a/long", NULL, WHOLE },
	                 { "corrupt attribute", "a/one", NULL, WHOLE }));
	MOUNT();
	ASSERT_EQ(-1, readlink(at("a/short"), text, sizeof(text)));
	ASSERT_EQ(EIO, errno);
	ASSERT_EQ(-1, readlink(at("a/long"), text, sizeof(text)));
	ASSERT_EQ(EIO, errno);
	ASSERT_EQ(0, stat_error("a/short"));
	ASSERT(is("a/good", 2));
	ASSERT_EQ(-1, getxattr(at("a/one"), "user.colour", value, sizeof(value)));
	ASSERT_EQ(EIO, errno);
	ASSERT_EQ(5, getxattr(at("a/one"), "user.size", value, sizeof(value)));
	ASSERT_EQ(0, memcmp(value, "large", 5));
	/* Set again, and made again. */
	ASSERT_EQ(0, setxattr(at("a/one"), "user.colour", "red", 3, 0));
	ASSERT_EQ(3, getxattr(at("a/one"), "user.colour", value, sizeof(value)));
	ASSERT_EQ(0, rename(at("a/short"), at("b/short")));
	ASSERT_EQ(0, unlink(at("b/short")));
	ASSERT_EQ(0, unlink(at("a/long")));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

/* A config that is damaged or gone cannot be mounted, and nothing is changed. */
TEST config(void)
{
	const char *path;
	char text[2000];
	int code;

	BEGIN();
	path = keep(join_path(v.root, "frondfs.conf"));
	copy_file(path, join_path(m.dir, "conf"));
	flip_bit(path, 40, 0);
	code = MOUNTED_RUN(text, sizeof(text), "frondfs", "mount", "--keyfile",
	                   m.keyfile, v.root, m.point);
	ASSERT(code == 19 || code == 20 || code == 21);
	ASSERT_EQ(0, unlink(path));
	code = MOUNTED_RUN(text, sizeof(text), "frondfs", "mount", "--keyfile",
	                   m.keyfile, v.root, m.point);
	ASSERT_EQ(18, code);
	copy_file(join_path(m.dir, "conf"), path);
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(deleted_id);
	RUN_TEST(swapped_ids);
	RUN_TEST(moved_files);
	RUN_TEST(damaged_id_content);
	RUN_TEST(merged_directories);
	RUN_TEST(conflict_copies);
	RUN_TEST(foreign_and_leftovers);
	RUN_TEST(long_names);
	RUN_TEST(links_and_attributes);
	RUN_TEST(config);
	end();
	printf("findings expected: %u, named exactly: %u\n", damages_tried,
	       damages_named);
	GREATEST_MAIN_END();
}
