/*
 * Ciphertext that others changed: directories with several ids, conflict
 * copies, foreign files, damaged names, a missing id.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dir_support.h"
#include "fs/format/base64url.h"

static void raw_file(struct dir *dir, const char *text)
{
	int fd = openat(dir_fd(dir), text, O_CREAT | O_WRONLY, 0644);

	if (fd < 0) {
		perror(text);
		exit(1);
	}
	close(fd);
}

static void raw_copy(struct dir *from, const char *text, struct dir *to,
                     const char *new_text)
{
	if (linkat(dir_fd(from), text, dir_fd(to), new_text, 0) &&
	    errno != EEXIST) {
		perror(text);
		exit(1);
	}
}

/* What is cached is looked at again only after a while. */
static void let_time_pass(void)
{
	struct timespec t = { .tv_sec = 1, .tv_nsec = 100000000 };

	nanosleep(&t, NULL);
}

/* Move all that `from` holds into `to`, as a sync tool does that merges two
 * directories of one name. */
static void merge(struct dir *from, struct dir *to)
{
	char *texts = texts_of(from), *text, *rest, name[NAME_DIR_TEXT];
	uint8_t id[ID_SIZE];

	dir_id(from, id);
	name_dir_text(name, id);
	raw_copy(from, name, to, name);
	for (text = strtok_r(texts, "\n", &rest); text;
	     text = strtok_r(NULL, "\n", &rest))
		raw_copy(from, text, to, text);
	free(texts);
}

#define NAMES(dir, expected) do { \
	char *names_ = names_of(dir); \
	ASSERT_STR_EQ(expected, names_); \
	free(names_); \
} while (0)

/* A long name in 176 bytes; it begins with a 'u'. */
static const char *long_name(char name[257])
{
	return name_of_length(name, 176);
}

TEST several_ids(void)
{
	char expected[1024], name[257], suffix[64], code[32];
	uint8_t id_a[ID_SIZE], id_b[ID_SIZE], id[ID_SIZE];
	struct dir_entry entry;
	struct place p;
	struct dir *a, *b, *m;
	struct stat st;
	ino_t in_a, in_b;
	bool a_first;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "a");
	put_dir(p.root, "b");
	a = sub_open(&p, p.root, "a");
	b = sub_open(&p, p.root, "b");
	put_file(a, "both");
	put_file(b, "both");
	put_file(a, "only a");
	put_file(b, "only b");
	put_file(b, "too");
	put_file(b, long_name(name));
	dir_id(a, id_a);
	dir_id(b, id_b);
	a_first = memcmp(id_a, id_b, ID_SIZE) < 0;
	in_a = inode_of(a, "both");
	in_b = inode_of(b, "both");
	merge(b, a);
	m = sub_open(&p, p.root, "a");
	ASSERT(m);
	/* Most names open under b's. */
	dir_id(m, id);
	ASSERT_MEM_EQ(id_b, id, ID_SIZE);
	base64url_encode(code, a_first ? id_b : id_a, ID_SIZE);
	snprintf(suffix, sizeof(suffix), "both (conflict %.8s)", code);
	snprintf(expected, sizeof(expected),
	         "both\n%s\nonly a\nonly b\ntoo\n%s", suffix, name);
	NAMES(m, expected);
	ASSERT_EQ(a_first ? in_a : in_b, inode_of(m, "both"));
	ASSERT_EQ(a_first ? in_b : in_a, inode_of(m, suffix));
	ASSERT(inode_of(m, "only a") && inode_of(m, "only b"));
	ASSERT(inode_of(m, name));

	/* The one opened before sees it too, at the latest by a listing. */
	NAMES(a, expected);
	ASSERT(inode_of(a, "only b"));

	/* Names under either id are in the way. */
	ASSERT_EQ(-EEXIST, dir_mkdir(m, "only a", 0755, NULL, &entry));
	ASSERT_EQ(-EEXIST, dir_mkdir(m, "only b", 0755, NULL, &entry));
	ASSERT_EQ(-EEXIST, dir_mkdir(m, suffix, 0755, NULL, &entry));

	/* Removing the first leaves the other under its suffix, and the name
	 * free for a new one. */
	ASSERT_EQ(0, dir_unlink(m, "both"));
	ASSERT_EQ(-ENOENT, dir_find(m, "both", &entry, &st));
	put_file(m, "both");
	ASSERT(inode_of(m, "both"));
	ASSERT_EQ(a_first ? in_b : in_a, inode_of(m, suffix));
	/* A rename gives it an ordinary name. */
	ASSERT_EQ(0, dir_rename(m, suffix, m, "rescued", 0, &entry, NULL));
	ASSERT_FALSE(entry.is_conflict);
	ASSERT_EQ(a_first ? in_b : in_a, inode_of(m, "rescued"));
	/* The name of the text that went away can be used at once. */
	ASSERT_EQ(0, dir_unlink(m, "both"));
	put_file(m, "both");
	ASSERT(inode_of(m, "both"));

	ASSERT_EQ(0, dir_unlink(m, "both"));
	ASSERT_EQ(0, dir_unlink(m, "rescued"));
	ASSERT_EQ(0, dir_unlink(m, "only a"));
	ASSERT_EQ(0, dir_unlink(m, "only b"));
	ASSERT_EQ(0, dir_unlink(m, "too"));
	ASSERT_EQ(-ENOTEMPTY, dir_rmdir(p.root, "a"));
	ASSERT_EQ(0, dir_unlink(m, name));
	ASSERT_EQ(0, dir_rmdir(p.root, "a")); /* both id files with it */
	dir_unref(a);
	dir_unref(b);
	dir_unref(m);
	place_remove(&p);
	PASS();
}

/* Two directories without names: the smallest id is used. */
TEST smallest_id(void)
{
	uint8_t id_a[ID_SIZE], id_b[ID_SIZE], id[ID_SIZE];
	struct place p;
	struct dir *a, *b, *m;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "a");
	put_dir(p.root, "b");
	a = sub_open(&p, p.root, "a");
	b = sub_open(&p, p.root, "b");
	dir_id(a, id_a);
	dir_id(b, id_b);
	merge(a, b);
	m = sub_open(&p, p.root, "b");
	dir_id(m, id);
	ASSERT_MEM_EQ((memcmp(id_a, id_b, ID_SIZE) < 0 ? id_a : id_b), id,
	              ID_SIZE);
	dir_unref(a);
	dir_unref(b);
	dir_unref(m);
	place_remove(&p);
	PASS();
}

TEST conflict_copies(void)
{
	char text[600], name[257], shown[300], expected[1024], *texts;
	struct dir_entry f, l, entry;
	struct place p;
	struct stat st;
	struct dir *d, *again;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	f = put_file(d, "f");
	snprintf(text, sizeof(text), "%s.sync-conflict-1", f.text);
	raw_file(d, text);
	snprintf(text, sizeof(text), "%s-conflict2", f.text);
	raw_file(d, text);
	NAMES(d, "f\nf-conflict2\nf.sync-conflict-1");
	ASSERT_EQ(0, dir_find(d, "f-conflict2", &entry, &st));
	ASSERT(entry.is_conflict && !entry.is_long);
	ASSERT_STR_EQ(text, entry.text);

	/* Existing names win; several equal ones are numbered. */
	put_file(d, "f.x");
	snprintf(text, sizeof(text), "%s.x", f.text);
	raw_file(d, text);
	NAMES(d, "f\nf-conflict2\nf.sync-conflict-1\nf.x\nf.x (2)");
	put_file(d, "f.x (3)");
	ASSERT_EQ(0, dir_find(d, "f.x (2)", &entry, &st));
	ASSERT_STR_EQ(text, entry.text);
	ASSERT_EQ(-EEXIST, dir_mkdir(d, "f.x (2)", 0755, NULL, &entry));
	ASSERT_EQ(-EEXIST, dir_mkdir(d, "f.x", 0755, NULL, &entry));

	/* Renamed, replaced, removed. */
	ASSERT_EQ(0, dir_rename(d, "f.x (2)", d, "g", 0, &entry, NULL));
	ASSERT_FALSE(entry.is_conflict);
	ASSERT_EQ(NAME_ENCRYPTED, name_form(entry.text));
	ASSERT_EQ(-EEXIST, dir_rename(d, "g", d, "f.sync-conflict-1",
	                              RENAME_NOREPLACE, &entry, NULL));
	ASSERT_EQ(0, dir_rename(d, "g", d, "f.sync-conflict-1", 0, &entry,
	                        NULL));
	ASSERT_EQ(0, dir_unlink(d, "f-conflict2"));
	ASSERT_EQ(-ENOENT, dir_unlink(d, "f-conflict2"));
	ASSERT_EQ(0, dir_unlink(d, "f.sync-conflict-1"));
	ASSERT_EQ(0, dir_unlink(d, "f.x"));
	ASSERT_EQ(0, dir_unlink(d, "f.x (3)"));
	NAMES(d, "f");

	/* Of a long name, with the mark behind it or before its hash. */
	l = put_file(d, long_name(name));
	snprintf(text, sizeof(text), "%s (copy)", l.text);
	raw_file(d, text);
	snprintf(text, sizeof(text), "frondfs.long.sync-conflict-7.%s",
	         l.text + 13);
	raw_file(d, text);
	snprintf(text, sizeof(text), "%s.sync-conflict-7.name", l.text);
	raw_file(d, text);
	snprintf(expected, sizeof(expected),
	         "f\n%s\n%s (copy)\n%s.sync-conflict-7", name, name, name);
	NAMES(d, expected);
	/* The .name file stays as long as one of them needs it. */
	ASSERT_EQ(0, dir_unlink(d, name));
	snprintf(shown, sizeof(shown), "%s (copy)", name);
	ASSERT_EQ(0, dir_find(d, shown, &entry, &st));
	ASSERT(entry.is_conflict && entry.is_long);
	ASSERT_EQ(0, dir_unlink(d, shown));
	snprintf(shown, sizeof(shown), "%s.sync-conflict-7", name);
	again = reopen(&p, d);
	ASSERT(inode_of(again, shown));
	dir_unref(again);
	ASSERT_EQ(0, dir_rename(d, shown, d, "h", 0, &entry, NULL));
	NAMES(d, "f\nh");
	ASSERT_EQ(0, dir_unlink(d, "f"));
	ASSERT_EQ(0, dir_unlink(d, "h"));
	texts = texts_of(d);
	snprintf(text, sizeof(text), "%s.sync-conflict-7.name", l.text);
	ASSERT_STR_EQ(text, texts);
	free(texts);
	ASSERT_EQ(0, dir_rmdir(p.root, "d"));
	dir_unref(d);
	place_remove(&p);
	PASS();
}

/* Too long together: the plaintext part is cut, at a character. */
TEST long_conflict(void)
{
	char text[600], name[257] = "", suffix[120], expected[300];
	struct dir_listing l;
	struct dir_entry f;
	struct place p;

	for (int i = 0; i < 85; i++)
		strcat(name, "\xe2\x82\xac"); /* 255 bytes */
	memset(suffix, '!', 100);
	suffix[100] = '\0';
	place_make(&p, "/dev/shm", 255);
	f = put_file(p.root, name);
	snprintf(text, sizeof(text), "%s%s", f.text, suffix);
	raw_file(p.root, text);
	ASSERT_EQ(0, dir_list(p.root, &l));
	ASSERT_EQ(2u, l.count);
	for (size_t i = 0; i < 2; i++) {
		if (!strcmp(l.items[i].text, f.text))
			continue;
		/* 155 bytes are left: 51 characters of three. */
		snprintf(expected, sizeof(expected), "%.153s%s", name, suffix);
		ASSERT_STR_EQ(expected, l.items[i].plain);
		ASSERT(inode_of(p.root, expected));
	}
	dir_listing_free(&l);
	place_remove(&p);
	PASS();
}

/* Conflict copies of directories are directories. */
TEST conflict_directory(void)
{
	char text[400];
	struct dir_entry e;
	struct place p;
	struct dir *d;

	place_make(&p, "/dev/shm", 255);
	e = put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	put_file(d, "inside");
	dir_unref(d);
	snprintf(text, sizeof(text), "%s (1)", e.text);
	ASSERT_EQ(0, renameat(dir_fd(p.root), e.text, dir_fd(p.root), text));
	put_dir(p.root, "d");
	NAMES(p.root, "d\nd (1)");
	d = sub_open(&p, p.root, "d (1)");
	ASSERT(d);
	NAMES(d, "inside");
	ASSERT_EQ(-ENOTEMPTY, dir_rmdir(p.root, "d (1)"));
	ASSERT_EQ(0, dir_unlink(d, "inside"));
	ASSERT_EQ(0, dir_rmdir(p.root, "d (1)"));
	NAMES(p.root, "d");
	dir_unref(d);
	place_remove(&p);
	PASS();
}

TEST foreign_files(void)
{
	static const char *const foreign[] = {
		".DS_Store", ".stfolder", "lost+found", "plain.txt", "x",
		"Thumbs.db", "frondfs.confx", "frondfs.unknown",
		"a name of more than forty-three bytes that is not ours at all",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA.part",
	};
	struct dir_listing l;
	struct place p;
	struct dir *d;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		raw_file(d, foreign[i]);
	ASSERT_EQ(0, dir_list(d, &l));
	ASSERT_EQ(0u, l.count);
	ASSERT_EQ(0u, l.damaged);
	dir_listing_free(&l);
	put_file(d, "f");
	NAMES(d, "f");
	ASSERT_EQ(0, dir_unlink(d, "f"));
	/* They keep the directory, and the message says so. */
	ASSERT_EQ(-ENOTEMPTY, dir_rmdir(p.root, "d"));
	NAMES(p.root, "d");
	NAMES(d, "");
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		ASSERT_EQ(0, unlinkat(dir_fd(d), foreign[i], 0));
	/* What a killed process leaves behind does not. */
	raw_file(d, "frondfs.tmp.file");
	raw_file(d, "frondfs.link.AAAAAAAAAAAAAAAAAAAAAA");
	ASSERT_EQ(0, mkdirat(dir_fd(d), "frondfs.tmp.dir", 0755));
	raw_file(d, "frondfs.tmp.dir/frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA");
	ASSERT_EQ(0, dir_rmdir(p.root, "d"));
	dir_unref(d);
	place_remove(&p);
	PASS();
}

TEST damaged_names(void)
{
	char text[NAME_TEXT_MAX + 1], name[257], file[300];
	struct dir_entry f, g, l;
	struct dir_listing list;
	struct place p;
	struct dir *d;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	f = put_file(d, "f");
	g = put_file(d, "g");
	strcpy(text, f.text);
	text[5] = text[5] == 'A' ? 'B' : 'A';
	ASSERT_EQ(0, renameat(dir_fd(d), f.text, dir_fd(d), text));
	ASSERT_EQ(0, dir_list(d, &list));
	ASSERT_EQ(1u, list.count);
	ASSERT_STR_EQ("g", list.items[0].plain);
	ASSERT_EQ(1u, list.damaged);
	dir_listing_free(&list);
	/* A name from another directory does not belong here. */
	raw_copy(d, g.text, p.root, g.text);
	NAMES(p.root, "d");
	/* Where none opens, that is an error and not an empty directory. */
	ASSERT_EQ(0, dir_unlink(d, "g"));
	ASSERT_EQ(-EBADMSG, dir_list(d, &list));
	ASSERT_EQ(-ENOTEMPTY, dir_rmdir(p.root, "d"));
	ASSERT_EQ(0, unlinkat(dir_fd(d), text, 0));

	/* A long name without its file, or with a wrong one. */
	put_file(d, "g");
	l = put_file(d, long_name(name));
	snprintf(file, sizeof(file), "%s.name", l.text);
	ASSERT_EQ(0, unlinkat(dir_fd(d), file, 0));
	ASSERT_EQ(0, dir_list(d, &list));
	ASSERT_EQ(1u, list.count);
	ASSERT_EQ(1u, list.damaged);
	dir_listing_free(&list);
	raw_file(d, file);
	ASSERT_EQ(0, dir_list(d, &list));
	ASSERT_EQ(1u, list.damaged);
	dir_listing_free(&list);
	/* It is found by its name all the same, and using it mends it. */
	ASSERT(inode_of(d, name));
	ASSERT_EQ(0, dir_rename(d, name, d, "h", 0, &f, NULL));
	ASSERT_EQ(0, dir_rename(d, "h", d, name, 0, &f, NULL));
	ASSERT_EQ(0, dir_list(d, &list));
	ASSERT_EQ(2u, list.count);
	ASSERT_EQ(0u, list.damaged);
	dir_listing_free(&list);
	dir_unref(d);
	place_remove(&p);
	PASS();
}

TEST missing_id(void)
{
	char name[NAME_DIR_TEXT];
	uint8_t id[ID_SIZE];
	struct dir_entry entry;
	struct dir_listing list;
	struct stat st;
	struct place p;
	struct dir *d, *again;
	int fd;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	put_file(d, "f");
	dir_id(d, id);
	name_dir_text(name, id);
	ASSERT_EQ(0, renameat(dir_fd(d), name, dir_fd(p.root), "away"));
	fd = openat(dir_fd(d), ".", O_RDONLY | O_DIRECTORY);
	ASSERT_EQ(-EUCLEAN, dir_open(&again, &p.volume, fd));
	ASSERT_EQ(-1, fcntl(fd, F_GETFD)); /* it was closed */
	/* One that is open notices, and never lists it as empty. */
	let_time_pass();
	ASSERT_EQ(-EUCLEAN, dir_list(d, &list));
	ASSERT_EQ(-EUCLEAN, dir_find(d, "f", &entry, &st));
	ASSERT_EQ(-EUCLEAN, dir_create(d, "g", 0644, NULL, &entry, &fd));
	/* And when it is back all is well. */
	ASSERT_EQ(0, renameat(dir_fd(p.root), "away", dir_fd(d), name));
	NAMES(d, "f");
	dir_unref(d);
	/* A file of any content will do, since the name is what counts. */
	d = sub_open(&p, p.root, "d");
	ASSERT_EQ(0, unlinkat(dir_fd(d), name, 0));
	raw_file(d, name);
	again = reopen(&p, d);
	NAMES(again, "f");
	dir_unref(again);
	dir_unref(d);
	place_remove(&p);
	PASS();
}

/* The id file's content: the parent's id, sealed. */
TEST id_file(void)
{
	uint8_t id[ID_SIZE], parent[ID_SIZE], sealed[64], opened[64];
	uint8_t tweak[TWEAK_SIZE];
	char name[NAME_DIR_TEXT];
	struct place p;
	struct dir *d;
	size_t size;
	int fd;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	for (int i = 0; i < 2; i++) {
		struct dir *dir = i ? p.root : d;

		dir_id(dir, id);
		dir_id(p.root, parent);
		name_dir_text(name, id);
		fd = openat(dir_fd(dir), name, O_RDONLY);
		ASSERT_EQ(32, read(fd, sealed, sizeof(sealed)));
		close(fd);
		tweak_make(tweak, id, 0, TWEAK_DIR);
		ASSERT_EQ(0, seal_open(p.volume.keys->name, tweak, opened,
		                       &size, sealed, 16));
		ASSERT_EQ(16u, size);
		ASSERT_MEM_EQ(parent, opened, ID_SIZE);
	}
	dir_unref(d);
	place_remove(&p);
	PASS();
}

/* Several threads read a directory that one changes, while its ids change. */
static atomic_bool stop;
static atomic_int trouble;

static void *reader(void *argument)
{
	struct dir *dir = argument;

	while (!stop) {
		struct dir_listing l;
		struct dir_entry entry;
		struct stat st;
		uint8_t id[ID_SIZE];

		if (dir_list(dir, &l) || l.damaged || l.count < 2)
			trouble++;
		else
			dir_listing_free(&l);
		if (dir_find(dir, "stays", &entry, &st))
			trouble++;
		dir_id(dir, id);
	}
	return NULL;
}

TEST threads(void)
{
	char text[400], name[257];
	pthread_t readers[3];
	struct dir_entry e;
	struct place p;
	struct dir *a, *b;

	place_make(&p, "/dev/shm", 255);
	put_dir(p.root, "a");
	put_dir(p.root, "b");
	a = sub_open(&p, p.root, "a");
	b = sub_open(&p, p.root, "b");
	e = put_file(a, "stays");
	put_file(a, "stays too");
	put_file(b, "stays");
	snprintf(text, sizeof(text), "%s (copy)", e.text);
	stop = false;
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&readers[i], NULL, reader, a));
	for (int i = 0; i < 200; i++) {
		if (i == 50)
			raw_file(a, text);
		if (i == 100)
			merge(b, a);
		put_file(a, name_of_length(name, 100 + i % 150));
		ASSERT_EQ(0, dir_unlink(a, name));
	}
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	ASSERT_EQ(0, trouble);
	dir_unref(a);
	dir_unref(b);
	place_remove(&p);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (int i = 0; i < 8; i++) /* random ids: both orders */
		RUN_TEST(several_ids);
	RUN_TEST(smallest_id);
	RUN_TEST(conflict_copies);
	RUN_TEST(long_conflict);
	RUN_TEST(conflict_directory);
	RUN_TEST(foreign_files);
	RUN_TEST(damaged_names);
	RUN_TEST(missing_id);
	RUN_TEST(id_file);
	RUN_TEST(threads);
	GREATEST_MAIN_END();
}
