/*
 * frondfs fsck on damaged directories: ids, names, links, attributes, and what
 * sync tools and killed changes leave in them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"

static struct victim v;

#define WHOLE -1, -1, -1, -1

enum { SIZE = 5000 };

static char long_name[201];

/* Two directories with files, one below one of them. */
static void begin(void)
{
	victim_make(&v);
	put_dir_at(&v, "a");
	put_dir_at(&v, "b");
	put_dir_at(&v, "a/sub");
	put_file_at(&v, "a/one", 1, SIZE);
	put_file_at(&v, "a/two", 2, SIZE);
	put_file_at(&v, "a/sub/deep", 3, SIZE);
	put_file_at(&v, "b/three", 4, SIZE);
	put_file_at(&v, "b/four", 5, SIZE);
	memset(long_name, 'L', 200);
}

/* The last part of a path. */
static const char *last(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* A path below the volume's root from an absolute one, kept for good. */
static const char *below(const char *path)
{
	return keep(path + strlen(v.root) + 1);
}

TEST clean_volume(void)
{
	struct dir_entry entry;
	struct report r;
	struct dir *dir;

	begin();
	put_file_at(&v, long_name, 1, 10);
	put_link_at(&v, "link", "a/one");
	put_xattr_at(&v, "a/one", "user.colour", "green");
	ASSERT_EQ(0, dir_open(&dir, v.volume, dup(v.volume->root)));
	ASSERT_EQ(0, dir_mknod(dir, "fifo", S_IFIFO | 0644, 0, NULL, &entry));
	dir_unref(dir);
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(0, r.code);
	ASSERT_STR_EQ("", r.findings);
	ASSERT_EQ(6, (int)r.files);
	ASSERT_EQ(4, (int)r.directories);
	ASSERT_EQ(1, (int)r.links);
	report_free(&r);
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

/* The content of what has lost its name is checked all the same. */
TEST moved_file(void)
{
	const char *to, *text;

	begin();
	to = keep(join_path(where(&v, "b"), last(where(&v, "a/one"))));
	move_file(where(&v, "a/one"), to);
	text = join_path("b", last(to));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", text, below(to), WHOLE }));
	flip_bit(to, 4096, 0);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", text, below(to), WHOLE },
	                 { "corrupt sector", text, below(to), 1, 1, 4000, SIZE }));
	victim_remove(&v);
	PASS();
}

TEST moved_directory(void)
{
	const char *to, *deep;

	begin();
	deep = keep(last(where(&v, "a/sub/deep")));
	to = keep(join_path(where(&v, "b"), last(where(&v, "a/sub"))));
	move_file(where(&v, "a/sub"), to);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", join_path("b", last(to)),
	                          below(to), WHOLE }));
	/* The names below it still open: it has its id. */
	flip_bit(join_path(to, deep), 100, 0);
	ASSERT(FSCK_SAYS(&v, 4,
		{ "corrupt name", join_path("b", last(to)), below(to), WHOLE },
		{ "corrupt sector", join_path(join_path("b", last(to)), "deep"),
		  below(join_path(to, deep)), 0, 0, 0, 4000 }));
	victim_remove(&v);
	PASS();
}

/* One changed character: still of a name's form, or not. */
TEST changed_names(void)
{
	static const char wrong[] = "A.\x01\xff";

	for (size_t k = 0; k < sizeof(wrong) - 1; k++) {
		for (int at = 0; at < 43; at += 42) {
			char *to;

			begin();
			to = keep(where(&v, "a/one"));
			(strrchr(to, '/') + 1)[at] =
				wrong[k] == 'A' && strrchr(to, '/')[1 + at] == 'A'
				? 'Q' : wrong[k];
			move_file(where(&v, "a/one"), to);
			/* JSON shows U+FFFD for a byte that is no UTF-8. */
			if (wrong[k] != '\xff') {
				ASSERT(FSCK_SAYS(&v, 4, { "corrupt name",
					join_path("a", last(to)), below(to),
					WHOLE }));
			} else {
				struct report r;

				fsck_run(&r, &v, 0, NULL, NULL);
				ASSERT_EQ(4, r.code);
				ASSERT_EQ(1, (int)r.count);
				ASSERT(strstr(r.json, "\"path_hex\""));
				ASSERT(strstr(r.json, "\xef\xbf\xbd"));
				report_free(&r);
			}
			victim_remove(&v);
		}
	}
	PASS();
}

TEST swapped_ids(void)
{
	const char *a, *b, *in_a, *in_b;

	begin();
	a = keep(id_file(&v, "a"));
	b = keep(id_file(&v, "b"));
	in_a = keep(join_path(where(&v, "a"), last(b)));
	in_b = keep(join_path(where(&v, "b"), last(a)));
	flip_bit(where(&v, "b/four"), 80, 7);
	{
		const char *four = keep(where(&v, "b/four"));

		move_file(a, in_b);
		move_file(b, in_a);
		ASSERT(FSCK_SAYS(&v, 4, { "wrong directory id", "a", NULL, WHOLE },
			{ "wrong directory id", "b", NULL, WHOLE },
			{ "corrupt sector", join_path("b", last(four)),
			  below(four), 0, 0, 0, 4000 }));
	}
	/* Put back, all is as before. */
	move_file(in_b, a);
	move_file(in_a, b);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt sector", "b/four", NULL, 0, 0, 0,
	                          4000 }));
	victim_remove(&v);
	PASS();
}

TEST deleted_id(void)
{
	const char *one, *sub, *deep;

	begin();
	one = keep(where(&v, "a/one"));
	sub = keep(where(&v, "a/sub"));
	deep = keep(where(&v, "a/sub/deep"));
	flip_bit(one, 4100, 0);
	flip_bit(deep, 90, 0);
	write_text(join_path(where(&v, "a"), ".stfolder"), "x");
	ASSERT_EQ(0, unlink(id_file(&v, "a")));
	ASSERT(FSCK_SAYS(&v, 4, { "missing directory id", "a", NULL, WHOLE },
		{ "corrupt sector", join_path("a", last(one)), below(one), 1, 1,
		  4000, SIZE },
		{ "corrupt sector", join_path(join_path("a", last(sub)), "deep"),
		  below(deep), 0, 0, 0, 4000 },
		{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
		  ".stfolder"), WHOLE }));
	victim_remove(&v);
	/* The root's. */
	begin();
	one = below(where(&v, "a"));
	ASSERT_EQ(0, unlink(id_file(&v, "")));
	ASSERT(FSCK_SAYS(&v, 4, { "missing directory id", "", "", WHOLE }));
	victim_remove(&v);
	PASS();
}

TEST damaged_id_content(void)
{
	const char *id;

	for (int how = 0; how < 4; how++) {
		begin();
		id = keep(id_file(&v, "a"));
		if (how == 0)
			flip_bit(id, 5, 2);
		else if (how == 1)
			cut_file(id, 31);
		else if (how == 2)
			cut_file(id, 0);
		else
			copy_file(id_file(&v, "b"), id);
		ASSERT(FSCK_SAYS(&v, 4, { "damaged directory id", "a", below(id),
		                          WHOLE }));
		victim_remove(&v);
	}
	PASS();
}

TEST renamed_id(void)
{
	char *to;

	begin();
	to = keep(id_file(&v, "a"));
	to[strlen(to) - 5] = to[strlen(to) - 5] == 'x' ? 'y' : 'x';
	{
		const char *a = keep(where(&v, "a"));

		move_file(id_file(&v, "a"), to);
		ASSERT(FSCK_SAYS(&v, 4, { "wrong directory id", "a", below(a),
		                          WHOLE },
			{ "damaged directory id", "a", below(to), WHOLE }));
		/* Into something that is no id's name at all. */
		move_file(to, join_path(a, "frondfs.dir.short"));
		ASSERT(FSCK_SAYS(&v, 4, { "missing directory id", "a", below(a),
		                          WHOLE },
			{ "foreign entry", "a", below(join_path(a,
			  "frondfs.dir.short")), WHOLE }));
	}
	victim_remove(&v);
	PASS();
}

/* A sync tool merged two directories: both sets of names are there. */
TEST merged_directories(void)
{
	struct dir_entry entry;
	struct dir *dir;
	struct stat st;

	begin();
	put_file_at(&v, "b/one", 9, SIZE);
	copy_file(where(&v, "b/three"), join_path(where(&v, "a"),
	                                          last(where(&v, "b/three"))));
	copy_file(id_file(&v, "b"), join_path(where(&v, "a"),
	                                      last(id_file(&v, "b"))));
	ASSERT(FSCK_SAYS(&v, 0, { "merged directory", "a", NULL, WHOLE }));
	flip_bit(where(&v, "a/three"), 81, 0);
	ASSERT(FSCK_SAYS(&v, 4, { "merged directory", "a", NULL, WHOLE },
		{ "corrupt sector", "a/three", NULL, 0, 0, 0, 4000 }));
	/* The same name under both ids: one has a suffix, as in the mount. */
	copy_file(where(&v, "b/one"), join_path(where(&v, "a"),
	                                        last(where(&v, "b/one"))));
	{
		const char *marked = NULL;
		struct dir_listing l;
		int fd = open(where(&v, "a"), O_RDONLY | O_DIRECTORY);

		ASSERT_EQ(0, dir_open(&dir, v.volume, fd));
		ASSERT_EQ(0, dir_list(dir, &l));
		for (size_t i = 0; i < l.count; i++)
			if (strstr(l.items[i].plain, " (conflict "))
				marked = keep(join_path("a", l.items[i].plain));
		dir_listing_free(&l);
		ASSERT(marked);
		ASSERT_EQ(0, dir_find(dir, strrchr(marked, '/') + 1, &entry, &st));
		dir_unref(dir);
		ASSERT(FSCK_SAYS(&v, 4,
			{ "merged directory", "a", NULL, WHOLE },
			{ "conflict copy", marked, NULL, WHOLE },
			{ "corrupt sector", "a/three", NULL, 0, 0, 0, 4000 }));
	}
	victim_remove(&v);
	PASS();
}

TEST long_names(void)
{
	char *file, *text;

	begin();
	put_file_at(&v, long_name, 6, SIZE);
	file = keep(name_file(&v, long_name));
	text = keep(where(&v, long_name));
	/* Damaged in several ways, each mended again. */
	flip_bit(file, 30, 4);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", last(text), last(text), WHOLE }));
	flip_bit(file, 30, 4);
	cut_file(file, size_of(file) - 1);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", last(text), last(text), WHOLE }));
	ASSERT_EQ(0, unlink(file));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", last(text), last(text), WHOLE }));
	victim_remove(&v);
	/* An orphan. */
	begin();
	put_file_at(&v, long_name, 6, SIZE);
	file = keep(name_file(&v, long_name));
	ASSERT_EQ(0, unlink(where(&v, long_name)));
	ASSERT(FSCK_SAYS(&v, 4, { "orphan long-name file", "", last(file),
	                          WHOLE }));
	victim_remove(&v);
	PASS();
}

TEST links(void)
{
	char target[4001], text[5000] = "", *file = NULL;
	const char *at;
	ssize_t n;

	begin();
	memset(target, 't', 4000);
	target[4000] = '\0';
	put_link_at(&v, "a/short", "one");
	put_link_at(&v, "a/long", target);
	ASSERT(FSCK_CLEAN(&v));
	/* A changed character, a cut. */
	at = keep(where(&v, "a/short"));
	n = readlink(at, text, sizeof(text) - 1);
	ASSERT(n > 30);
	text[20] = text[20] == 'A' ? 'B' : 'A';
	ASSERT_EQ(0, unlink(at));
	ASSERT_EQ(0, symlink(text, at));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/short", NULL,
	                          WHOLE }));
	text[n - 4] = '\0';
	ASSERT_EQ(0, unlink(at));
	ASSERT_EQ(0, symlink(text, at));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/short", NULL,
	                          WHOLE }));
	ASSERT_EQ(0, unlink(at));
	/* A plain link that somebody put there under a right name. */
	ASSERT_EQ(0, symlink("/etc/passwd", at));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/short", NULL,
	                          WHOLE }));
	ASSERT_EQ(0, unlink(at));
	/* The file of a long target. */
	n = readlink(where(&v, "a/long"), text, sizeof(text) - 1);
	ASSERT(n > 0);
	text[n] = '\0';
	file = keep(join_path(where(&v, "a"), text));
	flip_bit(file, 3000, 1);
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/long", NULL,
	                          WHOLE }));
	flip_bit(file, 3000, 1);
	ASSERT(FSCK_CLEAN(&v));
	move_file(file, join_path(v.holder, "away"));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt symbolic link", "a/long", NULL,
	                          WHOLE }));
	move_file(join_path(v.holder, "away"), file);
	ASSERT_EQ(0, unlink(where(&v, "a/long")));
	ASSERT(FSCK_SAYS(&v, 4, { "orphan link file", "a", below(file), WHOLE }));
	victim_remove(&v);
	PASS();
}

TEST attributes(void)
{
	char list[1000], value[1000], name[1000];
	const char *path;
	ssize_t n;

	begin();
	put_xattr_at(&v, "a/one", "user.colour", "green");
	put_xattr_at(&v, "a", "user.of.a.directory", "yes");
	path = keep(where(&v, "a/one"));
	/* Another program's attribute is none of ours. */
	ASSERT_EQ(0, setxattr(path, "user.other", "x", 1, 0));
	ASSERT(FSCK_CLEAN(&v));
	n = listxattr(path, list, sizeof(list));
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(list + i) + 1)
		if (strstr(list + i, "user.frondfs."))
			snprintf(name, sizeof(name), "%s", list + i);
	n = getxattr(path, name, value, sizeof(value));
	ASSERT(n > 0);
	value[20] ^= 1;
	ASSERT_EQ(0, setxattr(path, name, value, (size_t)n, 0));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt attribute", "a/one", NULL, WHOLE }));
	/* An empty one; one under another name. */
	ASSERT_EQ(0, setxattr(path, name, "", 0, 0));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt attribute", "a/one", NULL, WHOLE }));
	ASSERT_EQ(0, removexattr(path, name));
	name[20] = name[20] == 'A' ? 'B' : 'A';
	value[20] ^= 1;
	ASSERT_EQ(0, setxattr(path, name, value, (size_t)n, 0));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt attribute", "a/one", NULL, WHOLE }));
	ASSERT_EQ(0, removexattr(path, name));
	ASSERT(FSCK_CLEAN(&v));
	/* A directory's. */
	path = keep(where(&v, "a"));
	n = listxattr(path, list, sizeof(list));
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(list + i) + 1)
		if (strstr(list + i, "user.frondfs."))
			snprintf(name, sizeof(name), "%s", list + i);
	ASSERT_EQ(0, setxattr(path, name, "short", 5, 0));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt attribute", "a", NULL, WHOLE }));
	victim_remove(&v);
	PASS();
}

TEST foreign_entries(void)
{
	begin();
	ASSERT_EQ(0, mkdir(join_path(v.root, ".stfolder"), 0755));
	write_text(join_path(v.root, ".stfolder/inside"), "never looked at");
	write_text(join_path(v.root, "README.txt"), "plain");
	write_text(join_path(where(&v, "a"), ".DS_Store"), "junk");
	write_text(join_path(where(&v, "a"), "frondfs.conf"), "not here");
	write_text(join_path(where(&v, "a"), "frondfs.something"), "new");
	ASSERT(FSCK_SAYS(&v, 0,
		{ "foreign entry", "", ".stfolder", WHOLE },
		{ "foreign entry", "", "README.txt", WHOLE },
		{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
		  ".DS_Store"), WHOLE },
		{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
		  "frondfs.conf"), WHOLE },
		{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
		  "frondfs.something"), WHOLE }));
	/* A sync tool's temporary file is of this volume, but no damage. */
	{
		char temp[300];

		snprintf(temp, sizeof(temp), "%s/.%s.AbCdEf", where(&v, "a"),
		         last(where(&v, "a/one")));
		copy_file(where(&v, "a/one"), temp);
		ASSERT(FSCK_SAYS(&v, 0,
			{ "foreign entry", "", ".stfolder", WHOLE },
			{ "foreign entry", "", "README.txt", WHOLE },
			{ "foreign entry", "a", below(temp), WHOLE },
			{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
			  ".DS_Store"), WHOLE },
			{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
			  "frondfs.conf"), WHOLE },
			{ "foreign entry", "a", join_path(cipher_of(&v, "a"),
			  "frondfs.something"), WHOLE }));
	}
	victim_remove(&v);
	PASS();
}

TEST leftovers(void)
{
	const char *a;

	begin();
	a = keep(where(&v, "a"));
	write_text(join_path(a, "frondfs.tmp.AAAAAAAAAAAAAAAA"), "x");
	ASSERT_EQ(0, mkdir(join_path(v.root, "frondfs.tmp.dir"), 0755));
	ASSERT(FSCK_SAYS(&v, 4,
		{ "unfinished change", "a", below(join_path(a,
		  "frondfs.tmp.AAAAAAAAAAAAAAAA")), WHOLE },
		{ "unfinished change", "", "frondfs.tmp.dir", WHOLE }));
	victim_remove(&v);
	PASS();
}

TEST conflict_copies(void)
{
	static const char *const marks[] = {
		".sync-conflict-20260101-AAAA", " (conflicted copy)",
		" (Kai's conflicted copy 2026-01-01).old",
	};
	char plain[300], copy[600], *base;

	for (size_t i = 0; i < 3; i++) {
		begin();
		snprintf(copy, sizeof(copy), "%s%s", where(&v, "a/one"), marks[i]);
		snprintf(plain, sizeof(plain), "a/one%s", marks[i]);
		copy_file(where(&v, "a/one"), copy);
		ASSERT(FSCK_SAYS(&v, 0, { "conflict copy", plain, NULL, WHOLE }));
		ASSERT_STR_EQ(below(copy), cipher_of(&v, plain));
		flip_bit(copy, 5000, 0);
		ASSERT(FSCK_SAYS(&v, 4, { "conflict copy", plain, NULL, WHOLE },
			{ "corrupt sector", plain, NULL, 1, 1, 4000, SIZE }));
		victim_remove(&v);
		/* Of a long name: at its end, and before its "extension". */
		for (int middle = 0; middle < 2; middle++) {
			begin();
			put_file_at(&v, long_name, 6, SIZE);
			base = keep(where(&v, long_name));
			if (middle)
				snprintf(copy, sizeof(copy), "%s/frondfs.long%s%s",
				         v.root, marks[i], strrchr(base, '.'));
			else
				snprintf(copy, sizeof(copy), "%s%s", base,
				         marks[i]);
			snprintf(plain, sizeof(plain), "%s%s", long_name, marks[i]);
			copy_file(base, copy);
			ASSERT(FSCK_SAYS(&v, 0, { "conflict copy", plain,
			                          below(copy), WHOLE }));
			/* Alone, it still needs the .name file. */
			ASSERT_EQ(0, unlink(base));
			ASSERT(FSCK_SAYS(&v, 0, { "conflict copy", plain,
			                          below(copy), WHOLE }));
			victim_remove(&v);
		}
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(clean_volume);
	RUN_TEST(moved_file);
	RUN_TEST(moved_directory);
	RUN_TEST(changed_names);
	RUN_TEST(swapped_ids);
	RUN_TEST(deleted_id);
	RUN_TEST(damaged_id_content);
	RUN_TEST(renamed_id);
	RUN_TEST(merged_directories);
	RUN_TEST(long_names);
	RUN_TEST(links);
	RUN_TEST(attributes);
	RUN_TEST(foreign_entries);
	RUN_TEST(leftovers);
	RUN_TEST(conflict_copies);
	printf("findings expected: %u, named exactly: %u\n", damages_tried,
	       damages_named);
	GREATEST_MAIN_END();
}
