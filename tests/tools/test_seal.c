/*
 * Sealed manifests: each kind of change to the ciphertext is named, with a key
 * and without; b2sum agrees.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "sealing.h"

static struct victim v;

enum { SIZE = 20000, COMPLETE = 0, DIFFERENT = 4, INCOMPLETE = 30 };

/* A name that is stored as a long one. */
static char long_name[201];

static void begin(void)
{
	victim_make(&v);
	memset(long_name, 'n', sizeof(long_name) - 1);
	put_dir_at(&v, "a");
	put_dir_at(&v, "a/sub");
	put_dir_at(&v, "empty");
	put_file_at(&v, "a/one", 1, SIZE);
	put_file_at(&v, "a/two", 2, SIZE);
	put_file_at(&v, "a/sub/deep", 3, SIZE);
	put_file_at(&v, "top", 4, SIZE);
	put_file_at(&v, long_name, 5, 100);
	put_link_at(&v, "link", "a/one");
	put_link_at(&v, "a/other", "top");
	need(!mkfifo(join_path(v.root, "pipe-of-nobody"), 0600), "mkfifo");
}

static const char *cipher(const char *path)
{
	return keep(cipher_of(&v, path));
}

static const char *full(const char *path)
{
	return keep(where(&v, path));
}

static const char *below_root(const char *path)
{
	return path + strlen(v.root) + 1;
}

static const char *saved(void)
{
	return keep(join_path(v.holder, "saved"));
}

TEST nothing_changed(void)
{
	char *out;

	begin();
	ASSERT_EQ(0, seal_run(&v, (const char *[]){ "--json", NULL }, &out,
	                      NULL));
	ASSERT_EQ_FMT((long)4, (long)summary_of(out, "directories") + 1, "%ld");
	ASSERT_EQ_FMT((long)2, (long)summary_of(out, "links"), "%ld");
	/* Files, their id files, the long name's, the config. */
	ASSERT_EQ_FMT((long)5 + 4 + 1 + 1, (long)summary_of(out, "files"),
	              "%ld");
	ASSERT_EQ_FMT((long)1, (long)summary_of(out, "foreign"), "%ld");
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	ASSERT(VERIFY_CLEAN(&v));
	/* The seal is no finding of fsck's, nor seen by the next one. */
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	ASSERT(unlink(join_path(v.root, "pipe-of-nobody")) == 0);
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

TEST missing(void)
{
	const char *c[8];

	begin();
	seal_now(&v);
	c[0] = cipher("a/one");
	c[1] = cipher("a/sub/deep");
	c[2] = cipher("link");
	c[3] = cipher("empty");
	c[4] = keep(below_root(id_file(&v, "empty")));
	c[5] = cipher(long_name);
	c[6] = keep(below_root(name_file(&v, long_name)));
	ASSERT_FALSE(unlink(full("a/one")));
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
	                   { "missing", NULL, "a/one", c[0], NULL, NULL }));
	ASSERT_FALSE(b2sum_passes(v.root, "frondfs.seal"));
	ASSERT_FALSE(unlink(full("a/sub/deep")));
	ASSERT_FALSE(unlink(full("link")));
	ASSERT_FALSE(unlink(join_path(v.root, c[4])));
	ASSERT_FALSE(rmdir(join_path(v.root, c[3])));
	ASSERT_FALSE(unlink(full(long_name)));
	/* A path is known even where nothing of the directory is left; that of a
	 * long name only as long as its file is there. */
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "missing", NULL, "a/one", c[0], NULL, NULL },
		{ "missing", NULL, "a/sub/deep", c[1], NULL, NULL },
		{ "missing", NULL, "link", c[2], NULL, NULL },
		{ "missing", NULL, "empty", c[3], NULL, NULL },
		{ "missing", NULL, keep(join_path("empty", strchr(c[4], '/') + 1)),
		  c[4], NULL, NULL },
		{ "missing", NULL, long_name, c[5], NULL, NULL }));
	victim_remove(&v);
	PASS();
}

/* All of a directory, with what is below it: the names open by the ids that the
 * manifest has. */
TEST missing_tree(void)
{
	const char *c[5], *ids[2], *dir;
	char command[700];

	begin();
	seal_now(&v);
	c[0] = cipher("a/one");
	c[1] = cipher("a/two");
	c[2] = cipher("a/sub/deep");
	c[3] = cipher("a/other");
	c[4] = cipher("a/sub");
	dir = cipher("a");
	ids[0] = keep(below_root(id_file(&v, "a")));
	ids[1] = keep(below_root(id_file(&v, "a/sub")));
	snprintf(command, sizeof(command), "rm -r '%s'", full("a"));
	ASSERT_FALSE(system(command));
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "missing", NULL, "a", dir, NULL, NULL },
		{ "missing", NULL, "a/one", c[0], NULL, NULL },
		{ "missing", NULL, "a/two", c[1], NULL, NULL },
		{ "missing", NULL, "a/sub", c[4], NULL, NULL },
		{ "missing", NULL, "a/sub/deep", c[2], NULL, NULL },
		{ "missing", NULL, "a/other", c[3], NULL, NULL },
		{ "missing", NULL, keep(join_path("a", strrchr(ids[0], '/') + 1)),
		  ids[0], NULL, NULL },
		{ "missing", NULL,
		  keep(join_path("a/sub", strrchr(ids[1], '/') + 1)), ids[1],
		  NULL, NULL }));
	victim_remove(&v);
	PASS();
}

TEST added(void)
{
	const char *id;

	begin();
	seal_now(&v);
	put_file_at(&v, "a/new", 6, SIZE);
	put_link_at(&v, "new link", "nowhere");
	put_dir_at(&v, "new dir");
	write_text(join_path(v.root, "foreign.txt"), "not of the volume");
	id = keep(below_root(id_file(&v, "new dir")));
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "added", NULL, "a/new", cipher("a/new"), NULL, NULL },
		{ "added", NULL, "new link", cipher("new link"), NULL, NULL },
		{ "added", NULL, "new dir", cipher("new dir"), NULL, NULL },
		{ "added", NULL, keep(join_path("new dir", strchr(id, '/') + 1)),
		  id, NULL, NULL }));
	/* b2sum cannot know of these. */
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	victim_remove(&v);
	PASS();
}

TEST cut(void)
{
	begin();
	seal_now(&v);
	/* At a sector's end, within one, to nothing. */
	cut_file(full("a/one"), 8192);
	cut_file(full("a/two"), 5000);
	cut_file(full("top"), 0);
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "cut", NULL, "a/one", cipher("a/one"), NULL, NULL },
		{ "cut", NULL, "a/two", cipher("a/two"), NULL, NULL },
		{ "cut", NULL, "top", cipher("top"), NULL, NULL }));
	ASSERT_FALSE(b2sum_passes(v.root, "frondfs.seal"));
	victim_remove(&v);
	PASS();
}

/* An unfinished sync: some of all three. With anything else among them it is no
 * longer called one. */
TEST unfinished_sync(void)
{
	const char *gone;

	begin();
	seal_now(&v);
	gone = cipher("a/one");
	ASSERT_FALSE(unlink(full("a/one")));
	cut_file(full("a/two"), 8192);
	put_file_at(&v, "extra", 6, SIZE);
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "missing", NULL, "a/one", gone, NULL, NULL },
		{ "cut", NULL, "a/two", cipher("a/two"), NULL, NULL },
		{ "added", NULL, "extra", cipher("extra"), NULL, NULL }));
	flip_bit(full("top"), 5000, 1);
	shift_mtime(full("top"), 100);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "missing", NULL, "a/one", gone, NULL, NULL },
		{ "cut", NULL, "a/two", cipher("a/two"), NULL, NULL },
		{ "added", NULL, "extra", cipher("extra"), NULL, NULL },
		{ "changed", NULL, "top", cipher("top"), NULL, NULL }));
	victim_remove(&v);
	PASS();
}

TEST changed(void)
{
	begin();
	seal_now(&v);
	overwrite_at(&v, "a/one", 7, 5000, 100);
	shift_mtime(full("a/one"), 10);
	overwrite_at(&v, "top", 7, SIZE, 3000); /* longer */
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "changed", NULL, "a/one", cipher("a/one"), NULL, NULL },
		{ "changed", NULL, "top", cipher("top"), NULL, NULL }));
	victim_remove(&v);
	PASS();
}

/* The same size and modification time with other content: damage, and a sector
 * put back to its older state, which opens. */
TEST altered(void)
{
	const char *old, *path;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	struct stat st;

	begin();
	old = saved();
	path = full("a/one");
	copy_with_times(path, old);
	overwrite_at(&v, "a/one", 8, 0, SIZE);
	shift_mtime(path, 10);
	seal_now(&v);
	ASSERT_FALSE(stat(path, &st));
	times[1] = st.st_mtim;
	swap_units(path, 2, old, 2);
	ASSERT_FALSE(utimensat(AT_FDCWD, path, times, 0));
	ASSERT_FALSE(stat(full("top"), &st));
	flip_bit(full("top"), 9000, 3);
	times[1] = st.st_mtim;
	ASSERT_FALSE(utimensat(AT_FDCWD, full("top"), times, 0));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "altered", NULL, "a/one", cipher("a/one"), NULL, NULL },
		{ "altered", NULL, "top", cipher("top"), NULL, NULL }));
	victim_remove(&v);
	PASS();
}

TEST rolled_back(void)
{
	const char *old, *path, *config;

	begin();
	old = saved();
	path = full("a/one");
	config = keep(join_path(v.root, "frondfs.conf"));
	/* By its time: the older state was never sealed. */
	copy_with_times(path, old);
	overwrite_at(&v, "a/one", 9, 0, SIZE / 2);
	shift_mtime(path, 10);
	seal_now(&v);
	copy_with_times(old, path);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "rolled back", NULL, "a/one", cipher("a/one"), NULL, NULL }));
	/* A state that an earlier seal had: known whatever its time says, with
	 * a third state in between, and shorter as well. */
	seal_now(&v);
	copy_with_times(path, old);
	overwrite_at(&v, "a/one", 10, 0, SIZE * 2);
	shift_mtime(path, 20);
	seal_now(&v);
	overwrite_at(&v, "a/one", 11, 0, SIZE * 2);
	shift_mtime(path, 30);
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	copy_file(old, path);
	shift_mtime(path, 1000);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "rolled back", NULL, "a/one", cipher("a/one"), NULL, NULL }));
	/* Sealed as it is, it is no old state any more. */
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	/* The config, by which a removed passphrase would open again. */
	copy_with_times(config, old);
	shift_mtime(old, -500);
	write_text(keep(join_path(v.holder, "second")),
	           "a second key file of the test");
	{
		const char *argv[] = {
			FROND_BINARY, "slot", "add", "-q", "--keyfile",
			v.keyfile, "--new-keyfile",
			join_path(v.holder, "second"), v.root, NULL,
		};
		char *out, *err;

		ASSERT_EQ_FMT(0, run_collect(argv, 0, &out, &err), "%d");
	}
	seal_now(&v);
	copy_with_times(old, config);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "rolled back", NULL, "frondfs.conf", "frondfs.conf", NULL,
		  NULL }));
	victim_remove(&v);
	PASS();
}

TEST renamed(void)
{
	const char *one, *two, *top, *moved;

	begin();
	seal_now(&v);
	one = cipher("a/one");
	two = cipher("a/two");
	top = cipher("top");
	/* Two that changed names in one directory: both names open. */
	swap_files(full("a/one"), full("a/two"));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "renamed", NULL, "a/one", one, "a/two", two },
		{ "renamed", NULL, "a/two", two, "a/one", one }));
	ASSERT_FALSE(b2sum_passes(v.root, "frondfs.seal"));
	swap_files(full("a/one"), full("a/two"));
	ASSERT(VERIFY_CLEAN(&v));
	/* Into another directory: its name does not open there. */
	moved = keep(join_path(cipher("a"), top));
	move_file(full("top"), join_path(v.root, moved));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "renamed", NULL, keep(join_path("a", top)), moved, "top", top }));
	move_file(join_path(v.root, moved), join_path(v.root, top));
	/* Over another one, whose content is gone then. */
	move_file(full("a/one"), full("a/two"));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "renamed", NULL, "a/two", two, "a/one", one }));
	victim_remove(&v);
	PASS();
}

TEST renamed_directory(void)
{
	const char *a, *b, *file;

	begin();
	put_dir_at(&v, "b");
	put_file_at(&v, "b/in b", 7, 0); /* empty */
	seal_now(&v);
	a = cipher("a");
	b = cipher("b");
	/* One difference, however much lies in it: fifo, link, subdirectory. */
	file = keep(join_path(v.root, join_path(b, a)));
	move_file(full("a"), file);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "renamed", NULL, keep(join_path("b", a)),
		  keep(join_path(b, a)), "a", a }));
	move_file(file, join_path(v.root, a));
	ASSERT(VERIFY_CLEAN(&v));
	/* Two that changed names are told by the files that prove it. */
	swap_files(full("a"), full("b"));
	{
		int code;
		char *found = verify_run(&v, true, NULL, NULL, NULL, &code);

		ASSERT_EQ_FMT(DIFFERENT, code, "%d");
		ASSERT(strstr(found, "renamed|"));
		free(found);
	}
	victim_remove(&v);
	PASS();
}

TEST copied(void)
{
	char *copy;

	begin();
	seal_now(&v);
	copy_file(full("a/one"), full("a/two"));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "copied over", NULL, "a/two", cipher("a/two"), "a/one",
		  cipher("a/one") }));
	/* A sync tool's copy beside the file itself is an addition. */
	seal_now(&v);
	ASSERT(asprintf(&copy, "%s (copy)", full("top")) > 0);
	copy_file(full("top"), copy);
	ASSERT(VERIFY_SAYS(&v, INCOMPLETE, INCOMPLETE,
		{ "added", NULL, "top (copy)", below_root(copy), "top",
		  cipher("top") }));
	free(copy);
	victim_remove(&v);
	PASS();
}

TEST links(void)
{
	const char *a, *b;
	char target[4096];
	ssize_t n;

	begin();
	a = full("a/one");
	b = keep(join_path(v.root, "0123456789012345678901234567890123456789012"));
	ASSERT_FALSE(link(full("top"), b)); /* of a name's form */
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	/* A hard link becomes a file of its own. */
	ASSERT_FALSE(unlink(b));
	copy_with_times(full("top"), b);
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		strcmp(below_root(b), cipher("top")) < 0
		? (struct wanted){ "hard link", NULL, "top", cipher("top"),
		                   below_root(b), below_root(b) }
		: (struct wanted){ "hard link", NULL, below_root(b),
		                   below_root(b), "top", cipher("top") }));
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	/* And the other way round. */
	seal_now(&v);
	ASSERT_FALSE(unlink(b));
	ASSERT_FALSE(link(full("top"), b));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		strcmp(below_root(b), cipher("top")) < 0
		? (struct wanted){ "hard link", NULL, "top", cipher("top"),
		                   below_root(b), below_root(b) }
		: (struct wanted){ "hard link", NULL, below_root(b),
		                   below_root(b), "top", cipher("top") }));
	seal_now(&v);
	/* Another target; b2sum cannot know of it. */
	n = readlink(full("a/other"), target, sizeof(target) - 1);
	ASSERT(n > 0);
	target[n] = '\0';
	target[n - 1] = target[n - 1] == 'A' ? 'B' : 'A';
	a = full("a/other");
	ASSERT_FALSE(unlink(a));
	ASSERT_FALSE(symlink(target, a));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "changed", NULL, "a/other", cipher("a/other"), NULL, NULL }));
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	/* A file in a link's place, and a directory in a file's. */
	ASSERT_FALSE(unlink(a));
	write_text(a, "x");
	a = full("top");
	ASSERT_FALSE(unlink(a));
	ASSERT_FALSE(mkdir(a, 0755));
	ASSERT(VERIFY_SAYS(&v, DIFFERENT, DIFFERENT,
		{ "changed", NULL, "a/other", cipher("a/other"), NULL, NULL },
		{ "changed", NULL, "top", cipher("top"), NULL, NULL }));
	victim_remove(&v);
	PASS();
}

TEST directory_ids(void)
{
	const char *id, *other;

	begin();
	seal_now(&v);
	id = keep(id_file(&v, "a"));
	other = keep(join_path(keep(full("a")),
	                       "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA"));
	move_file(id, other);
	{
		int code;
		char *found = verify_run(&v, false, NULL, NULL, NULL, &code);

		ASSERT_EQ_FMT(DIFFERENT, code, "%d");
		ASSERT(strstr(found, below_root(other)));
		ASSERT(strstr(found, below_root(id)));
		free(found);
	}
	move_file(other, id);
	flip_bit(id, 3, 3);
	{
		int code;
		char *found = verify_run(&v, true, NULL, NULL, NULL, &code);

		ASSERT_EQ_FMT(DIFFERENT, code, "%d");
		ASSERT(strstr(found, below_root(id)));
		free(found);
	}
	victim_remove(&v);
	PASS();
}

/* fsck compares first, and adds what it finds itself. */
TEST with_fsck(void)
{
	const char *seal, *argv[] = {
		FROND_BINARY, "fsck", "--keyfile", v.keyfile, "--json", "--seal",
		NULL, v.root, NULL,
	};
	char *out, *err;

	begin();
	ASSERT_FALSE(unlink(join_path(v.root, "pipe-of-nobody")));
	seal = keep(join_path(v.root, "frondfs.seal"));
	argv[6] = seal;
	ASSERT_EQ_FMT(31, run_collect(argv, 0, &out, &err), "%d");
	ASSERT(strstr(err, "there is no manifest"));
	seal_now(&v);
	ASSERT_EQ_FMT(0, run_collect(argv, 0, &out, &err), "%d");
	/* What fsck cannot find by itself is an error, too. */
	ASSERT_FALSE(unlink(full("a/one")));
	ASSERT(FSCK_CLEAN(&v));
	ASSERT_EQ_FMT(4, run_collect(argv, 0, &out, &err), "%d");
	ASSERT(strstr(out, "\"class\":\"missing\""));
	ASSERT(strstr(out, "\"path\":\"a/one\""));
	ASSERT_EQ_FMT((long)4, (long)summary_of(out, "exit_code"), "%ld");
	flip_bit(full("top"), 9000, 3);
	ASSERT_EQ_FMT(4, run_collect(argv, 0, &out, &err), "%d");
	ASSERT(strstr(out, "corrupt sector"));
	ASSERT(strstr(out, "\"class\":\"changed\""));
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(nothing_changed);
	RUN_TEST(missing);
	RUN_TEST(missing_tree);
	RUN_TEST(added);
	RUN_TEST(cut);
	RUN_TEST(unfinished_sync);
	RUN_TEST(changed);
	RUN_TEST(altered);
	RUN_TEST(rolled_back);
	RUN_TEST(renamed);
	RUN_TEST(renamed_directory);
	RUN_TEST(copied);
	RUN_TEST(links);
	RUN_TEST(directory_ids);
	RUN_TEST(with_fsck);
	GREATEST_MAIN_END();
}
