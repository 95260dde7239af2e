/*
 * Random bits of the whole ciphertext tree: in files, names, link targets and
 * attributes. Whatever is read is right or an error, and the check names what
 * was changed, every time.
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
#include "fs/volume/check.h"
#include "fs/volume/file.h"
#include "fs/volume/xattr.h"

static struct victim v;

/* What is in the volume. */
static const struct { const char *path; unsigned seed; uint64_t size; } files[] = {
	{ "empty", 1, 0 }, { "small", 2, 100 }, { "d/two", 3, 7000 },
	{ "d/more", 4, 30000 }, { "d/e/deep", 5, 4000 }, { "d/e/other", 6, 4001 },
	{ "d/"
	  "a long name a long name a long name a long name a long name a long "
	  "name a long name a long name a long name a long name a long name a "
	  "long name a long name a long name a long name", 7, 5000 },
};
enum { FILES = sizeof(files) / sizeof(files[0]) };

static const char link_target[] = "../some/where/else";
static char long_target[3501];

static uint64_t state;

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Every ciphertext entry: its path below the root. */
static struct { char path[600]; mode_t mode; uint64_t size; } entries[64];
static unsigned count;

static void walk(const char *path)
{
	DIR *d = opendir(*path ? join_path(v.root, path) : v.root);
	struct dirent *e;

	need(d != NULL, path);
	while ((e = readdir(d))) {
		char *to = entries[count].path;
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    !strcmp(e->d_name, "frondfs.conf"))
			continue;
		need(count < 63, "entries");
		need(snprintf(to, sizeof(entries[0].path), "%s%s%s", path,
		              *path ? "/" : "", e->d_name) <
		     (int)sizeof(entries[0].path), "path");
		need(!lstat(join_path(v.root, to), &st), to);
		entries[count].mode = st.st_mode;
		entries[count].size = (uint64_t)st.st_size;
		count++;
		if (S_ISDIR(st.st_mode))
			walk(to);
	}
	closedir(d);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(a, b); /* the path is first */
}

static void make(void)
{
	victim_make(&v);
	put_dir_at(&v, "d");
	put_dir_at(&v, "d/e");
	for (int i = 0; i < FILES; i++)
		put_file_at(&v, files[i].path, files[i].seed, files[i].size);
	memset(long_target, 'x', 3500);
	put_link_at(&v, "d/link", link_target);
	put_link_at(&v, "d/long link", long_target);
	put_xattr_at(&v, "d/two", "user.colour", "green");
	put_xattr_at(&v, "d/e", "user.of.a.directory", "yes");
	count = 0;
	walk("");
	qsort(entries, count, sizeof(entries[0]), compare_entries);
}

/* ---- what a reader sees ---- */

static struct dir *open_dir(const char *path)
{
	struct dir *dir, *sub = NULL;
	struct dir_entry entry;
	struct stat st;
	char part[300];

	if (dir_open(&dir, v.volume, openat(v.volume->root, ".", O_RDONLY |
	                                    O_DIRECTORY | O_CLOEXEC)))
		return NULL;
	while (*path) {
		const char *slash = strchrnul(path, '/');
		int fd;

		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (dir_find(dir, part, &entry, &st)) {
			dir_unref(dir);
			return NULL;
		}
		fd = openat(dir_fd(dir), entry.text, O_RDONLY | O_DIRECTORY |
		            O_CLOEXEC);
		if (fd < 0 || dir_open(&sub, v.volume, fd))
			sub = NULL;
		dir_unref(dir);
		if (!sub)
			return NULL;
		dir = sub;
		path = *slash ? slash + 1 : slash;
	}
	return dir;
}

static bool file_reads_right(struct dir *dir, const char *text, unsigned seed,
                             uint64_t size)
{
	static const uint8_t made_in[ID_SIZE];
	uint8_t buf[1024], want[1024];
	int fd = openat(dir_fd(dir), text, O_RDONLY | O_CLOEXEC);
	struct file *f;
	bool good = true;

	if (fd < 0 || file_open(&f, v.volume, fd, O_RDONLY, made_in))
		return fd >= 0;
	for (uint64_t p = 0; good && p < size + 100; p += 701) {
		ssize_t n = file_read(f, buf, sizeof(buf), p,
		                      below(2) ? FILE_PARTIAL : 0);

		if (n < 0) {
			good = n == -EBADMSG;
			continue;
		}
		content_fill(want, sizeof(want), seed, p);
		good = n ? p + (size_t)n <= size && !memcmp(buf, want, (size_t)n)
		         : p >= size;
	}
	file_close(f);
	return good;
}

static bool link_reads_right(struct dir *dir, const char *text, const char *want)
{
	char target[4096];
	int n = dir_readlink(dir, text, target);

	return n < 0 ? n == -EBADMSG : !strcmp(target, want);
}

static bool xattr_reads_right(const char *path, const char *name,
                              const char *want)
{
	char value[100], list[1000];
	ssize_t n = xattr_get(v.volume, path, name, value, sizeof(value));

	if (xattr_list(v.volume, path, list, sizeof(list)) < 0)
		return false;
	return n < 0 ? n == -EBADMSG || n == -ENODATA
	             : n == (ssize_t)strlen(want) && !memcmp(value, want,
	                                                     (size_t)n);
}

/* Everything that can be reached under its own name is right or an error. */
static bool all_reads_right(void)
{
	static const char *const dirs[] = { "", "d", "d/e" };
	bool good = true;

	for (int k = 0; k < 3; k++) {
		struct dir *dir = open_dir(dirs[k]);
		struct dir_listing listing;

		if (!dir)
			continue;
		if (!dir_list(dir, &listing))
			dir_listing_free(&listing);
		for (int i = 0; i < FILES; i++) {
			const char *slash = strrchr(files[i].path, '/');
			size_t n = slash ? (size_t)(slash - files[i].path) : 0;
			struct dir_entry entry;
			struct stat st;

			if (n != strlen(dirs[k]) ||
			    strncmp(files[i].path, dirs[k], n) ||
			    dir_find(dir, slash ? slash + 1 : files[i].path,
			             &entry, &st))
				continue;
			good &= !dir_plain_stat(dir, entry.text, &st);
			good &= file_reads_right(dir, entry.text,
			                         files[i].seed, files[i].size);
			if (files[i].seed == 3)
				good &= xattr_reads_right(
					join_path(v.root, cipher_of(&v, "d/two")),
					"user.colour", "green");
		}
		if (k == 1) {
			struct dir_entry entry;
			struct stat st;

			if (!dir_find(dir, "link", &entry, &st))
				good &= link_reads_right(dir, entry.text,
				                         link_target);
			if (!dir_find(dir, "long link", &entry, &st))
				good &= link_reads_right(dir, entry.text,
				                         long_target);
		}
		dir_unref(dir);
	}
	return good;
}

/* ---- what the check says ---- */

static struct { enum check_class class; char cipher[700]; } found[200];
static unsigned finds;

static void take(void *context, const struct check_finding *f)
{
	(void)context;
	if (finds < 200) {
		found[finds].class = f->class;
		snprintf(found[finds].cipher, sizeof(found[0].cipher), "%s",
		         f->cipher);
		finds++;
	}
}

static bool check(void)
{
	struct check_options options = { .threads = 2, .found = take };
	struct check_progress progress = { .total = 0 };
	const char *failed;

	finds = 0;
	return !check_volume(v.volume, NULL, 0, &options, &progress, &failed);
}

/* Whether a finding that is no mere note has this ciphertext path. */
static bool named(const char *cipher)
{
	for (unsigned i = 0; i < finds; i++)
		if (check_severity(found[i].class) == CHECK_DAMAGE &&
		    !strcmp(found[i].cipher, cipher))
			return true;
	return false;
}

static bool has(enum check_class class)
{
	for (unsigned i = 0; i < finds; i++)
		if (found[i].class == class)
			return true;
	return false;
}

/* The directory in which an entry lies. */
static const char *parent(const char *cipher)
{
	static char path[600];
	char *slash;

	snprintf(path, sizeof(path), "%s", cipher);
	slash = strrchr(path, '/');
	*(slash ? slash : path) = '\0';
	return path;
}

static const char *last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static unsigned tried, harmless;

static bool wrong(const char *what, const char *path)
{
	printf("%s: %s\n", what, path);
	for (unsigned i = 0; i < finds; i++)
		printf("  found: %s %s\n", check_class_name(found[i].class),
		       found[i].cipher);
	return false;
}

/* A bit of a file's content. */
static bool flip_content(unsigned i)
{
	const char *cipher = entries[i].path, *path, *name = last(cipher);
	uint64_t byte = below(entries[i].size), whole;
	unsigned bit = (unsigned)below(8);
	bool good = true;

	if (!S_ISREG(entries[i].mode) || entries[i].size == 0)
		return true;
	path = strdup(join_path(v.root, cipher));
	flip_bit(path, byte, bit);
	good = all_reads_right() || wrong("reads wrong", cipher);
	good &= check();
	tried++;
	whole = entries[i].size / 4096 * 4096;
	if (name_form(name) == NAME_ENCRYPTED || name_form(name) == NAME_LONG) {
		/* A length mark means nothing but its length. */
		bool mark = entries[i].size > 80 && byte >= whole;

		harmless += mark;
		if (named(cipher) == mark || (mark && finds))
			good = wrong("not named", cipher);
	} else if (name_form(name) == NAME_DIR_ID) {
		if (!named(cipher))
			good = wrong("not named", cipher);
	} else if (name_form(name) == NAME_LONG_FILE) {
		char entry[600];

		snprintf(entry, sizeof(entry), "%.*s",
		         (int)strlen(cipher) - 5, cipher);
		if (!named(entry))
			good = wrong("not named", cipher);
	} else if (!has(CHECK_CORRUPT_LINK)) {
		good = wrong("not named", cipher);
	}
	flip_bit(path, byte, bit);
	free((char *)path);
	return good;
}

/* A bit of a name. */
static bool flip_name(unsigned i)
{
	const char *cipher = entries[i].path;
	char *to = strdup(cipher), *name = to + (last(cipher) - cipher);
	size_t at = below(strlen(name));
	bool good = true;
	enum name_form form = name_form(name);

	name[at] = (char)(name[at] ^ (1 << below(8)));
	/* A store keeps no such names, or it is one already. */
	if (!name[at] || name[at] == '/' || !strcmp(name, "frondfs.conf") ||
	    !access(join_path(v.root, to), F_OK)) {
		free(to);
		return true;
	}
	move_file(join_path(v.root, cipher), join_path(v.root, to));
	good = all_reads_right() || wrong("reads wrong", cipher);
	good &= check();
	tried++;
	switch (form) {
	case NAME_ENCRYPTED:
	case NAME_LONG:
		if (!named(to) && !named(parent(to)))
			good = wrong("name is not named", to);
		break;
	case NAME_DIR_ID:
		if (!has(CHECK_MISSING_DIR_ID) && !has(CHECK_WRONG_DIR_ID) &&
		    !has(CHECK_DAMAGED_DIR_ID))
			good = wrong("id is not named", to);
		break;
	case NAME_LONG_FILE:
		if (!has(CHECK_CORRUPT_NAME))
			good = wrong("long-name file is not named", to);
		break;
	default:
		if (!has(CHECK_CORRUPT_LINK))
			good = wrong("link file is not named", to);
	}
	move_file(join_path(v.root, to), join_path(v.root, cipher));
	free(to);
	return good;
}

/* A bit of a symbolic link's target. */
static bool flip_link(unsigned i)
{
	const char *cipher = entries[i].path, *path;
	char old[4097], text[4097];
	size_t at = below(entries[i].size);
	bool good;
	ssize_t n;

	if (!S_ISLNK(entries[i].mode))
		return true;
	path = strdup(join_path(v.root, cipher));
	n = readlink(path, old, 4096);
	need(n > 0, path);
	old[n] = '\0';
	strcpy(text, old);
	text[at] = (char)(text[at] ^ (1 << below(8)));
	if (!text[at])
		text[at] = '!';
	need(!unlink(path) && !symlink(text, path), path);
	good = all_reads_right() || wrong("reads wrong", cipher);
	good &= check();
	tried++;
	if (!named(cipher))
		good = wrong("link is not named", cipher);
	need(!unlink(path) && !symlink(old, path), path);
	free((char *)path);
	return good;
}

/* A bit of an attribute's value, or of its name. */
static bool flip_xattr(unsigned i)
{
	char list[1000], name[300], old[200], value[200];
	const char *cipher = entries[i].path, *path;
	bool good = true;
	ssize_t n;
	size_t at;

	if (S_ISLNK(entries[i].mode))
		return true;
	path = strdup(join_path(v.root, cipher));
	n = listxattr(path, list, sizeof(list));
	if (n > 0 && strstr(list, "user.frondfs.") == list) {
		strcpy(name, list);
		n = getxattr(path, name, old, sizeof(old));
		need(n > 0, name);
		memcpy(value, old, (size_t)n);
		if (below(2)) {
			at = below((uint64_t)n);
			value[at] = (char)(value[at] ^ (1 << below(8)));
		} else {
			at = 13 + below(strlen(name) - 13);
			name[at] = (char)(name[at] ^ (1 << below(8)));
			if (!name[at])
				name[at] = '!';
		}
		need(!removexattr(path, list) &&
		     !setxattr(path, name, value, (size_t)n, 0), path);
		good = all_reads_right() || wrong("reads wrong", cipher);
		good &= check();
		tried++;
		if (!named(cipher) || !has(CHECK_CORRUPT_XATTR))
			good = wrong("attribute is not named", cipher);
		need(!removexattr(path, name) &&
		     !setxattr(path, list, old, (size_t)n, 0), path);
	}
	free((char *)path);
	return good;
}

TEST flips(bool (*flip)(unsigned), unsigned wanted)
{
	bool good = true;
	unsigned before = tried;

	make();
	ASSERT(check() && finds == 0);
	while (good && tried - before < wanted)
		good = flip((unsigned)below(count));
	ASSERT(good);
	/* All was put back. */
	ASSERT(check() && finds == 0);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	const char *rounds = getenv("FRONDFS_FLIP_ROUNDS");
	unsigned n = rounds ? (unsigned)strtoul(rounds, NULL, 10) : 300;

	GREATEST_MAIN_BEGIN();
	umask(022);
	state = 20260101;
	greatest_set_test_suffix("content");
	RUN_TESTp(flips, flip_content, n);
	greatest_set_test_suffix("name");
	RUN_TESTp(flips, flip_name, n);
	greatest_set_test_suffix("link");
	RUN_TESTp(flips, flip_link, n / 4);
	greatest_set_test_suffix("xattr");
	RUN_TESTp(flips, flip_xattr, n / 4);
	printf("%u bits changed, %u of them in length marks\n", tried, harmless);
	GREATEST_MAIN_END();
}
