/*
 * Manifests and signatures that were changed or made up: none is believed, and
 * nothing outside of the volume is ever opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/volume/io.h"
#include "sealing.h"

static struct victim v;

enum { SIZE = 5000, UNUSABLE = 31, NEWER = 20 };

/* The digest of nothing in particular. */
#define DIGEST                                                               \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"   \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *in_volume(const char *name)
{
	return keep(join_path(v.root, name));
}

static void begin(void)
{
	victim_make(&v);
	put_dir_at(&v, "d");
	put_file_at(&v, "d/one", 1, SIZE);
	put_file_at(&v, "two", 2, SIZE);
}

static void put_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size, path);
	close(fd);
}

static char *get_bytes(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	char *text;

	*size = size_of(path);
	text = calloc(1, *size + 1);
	need(fd >= 0 && read(fd, text, *size) == (ssize_t)*size, path);
	close(fd);
	return text;
}

/* The exit code of verify, which says one thing and prints no difference. */
static int verdict(bool keyed, const char **said)
{
	const char *argv[8] = { FROND_BINARY, "verify", "-q" };
	static char *out, *err;
	int n = 3, code;

	if (keyed) {
		argv[n++] = "--keyfile";
		argv[n++] = v.keyfile;
	}
	argv[n++] = v.root;
	code = run_collect(argv, 0, &out, &err);
	if (*out)
		printf("verify printed: %.300s\n", out);
	*said = err;
	return *out ? -1 : code;
}

/* What verify says of a manifest without a signature. */
static bool manifest_gives(const char *bytes, size_t size, const char *words)
{
	const char *said;
	int code;

	unlink(in_volume("frondfs.seal.sig"));
	put_bytes(in_volume("frondfs.seal"), bytes, size);
	code = verdict(false, &said);
	if (code == UNUSABLE && strstr(said, words))
		return true;
	printf("%.200s: exit code %d, wanted '%s', got %s\n", bytes, code, words,
	       said);
	return false;
}

static bool line_gives(const char *line, const char *words)
{
	return manifest_gives(line, strlen(line), words);
}

TEST made_up_manifests(void)
{
	static const char *const paths[] = {
		"/etc/passwd", "../outside", "a/../../outside", "./../outside",
		"a/..", "..", ".", "a/./b", "a//b", "a/", "", ".//etc/passwd",
		"././a",
	};
	char *text = malloc(4 << 20), *p;

	begin();
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		sprintf(text, DIGEST "  %s\n", paths[i]);
		ASSERT(line_gives(text, "line 1"));
	}
	/* Through an escape as well. */
	ASSERT(line_gives("\\" DIGEST "  a\\\\\\x/b\n", "line 1"));
	ASSERT(line_gives("\\" DIGEST "  a\\\n", "line 1"));
	/* No lines of BLAKE2b. */
	ASSERT(line_gives("# comment\n", "line 1"));
	ASSERT(line_gives("\n", "line 1"));
	ASSERT(line_gives("0123  a\n", "line 1"));
	ASSERT(line_gives(DIGEST "00  a\n", "line 1"));
	ASSERT(line_gives(DIGEST " a\n", "line 1"));
	ASSERT(line_gives(DIGEST, "cut"));
	ASSERT(line_gives(DIGEST "  a", "cut"));
	ASSERT(line_gives("BLAKE2b (a) = " DIGEST "\n", "line 1"));
	/* Out of order, and twice. */
	ASSERT(line_gives(DIGEST "  ./b\n" DIGEST "  ./a\n", "line 2"));
	ASSERT(line_gives(DIGEST "  ./a\n" DIGEST "  ./a\n", "line 2"));
	ASSERT(line_gives(DIGEST "  ./a.b\n" DIGEST "  ./a/b\n", "line 2"));
	/* A name longer than any store's, a path and a line without end. */
	p = text + sprintf(text, DIGEST "  ./");
	memset(p, 'x', 256);
	strcpy(p + 256, "\n");
	ASSERT(line_gives(text, "line 1"));
	for (size_t i = 0; i < 40000; i++)
		memcpy(p + 2 * i, "y/", 2);
	strcpy(p + 79999, "\n");
	ASSERT(line_gives(text, "line 1"));
	memset(p, 'x', 3 << 20);
	strcpy(p + (3 << 20), "\n");
	ASSERT(line_gives(text, "too long"));
	/* A NUL. */
	memcpy(text, DIGEST "  ./a\0b\n", 128 + 8);
	ASSERT(manifest_gives(text, 128 + 8, "NUL"));
	free(text);
	/* An empty one is one: all is new then. */
	put_bytes(in_volume("frondfs.seal"), "", 0);
	{
		int code;
		char *found = verify_run(&v, false, NULL, NULL, NULL, &code);

		ASSERT_EQ_FMT(30, code, "%d");
		ASSERT_FALSE(strstr(found, "missing"));
		free(found);
	}
	victim_remove(&v);
	PASS();
}

/* No fifo, directory or device is read as a manifest. */
TEST no_file(void)
{
	const char *said;

	begin();
	ASSERT_FALSE(mkfifo(in_volume("frondfs.seal"), 0600));
	ASSERT_EQ_FMT(8, verdict(false, &said), "%d");
	ASSERT_EQ_FMT(8, verdict(true, &said), "%d");
	ASSERT_FALSE(unlink(in_volume("frondfs.seal")));
	ASSERT_FALSE(symlink("/dev/zero", in_volume("frondfs.seal")));
	ASSERT_EQ_FMT(8, verdict(false, &said), "%d");
	ASSERT_FALSE(unlink(in_volume("frondfs.seal")));
	ASSERT_FALSE(mkdir(in_volume("frondfs.seal"), 0700));
	ASSERT_EQ_FMT(8, verdict(true, &said), "%d");
	ASSERT_FALSE(rmdir(in_volume("frondfs.seal")));
	ASSERT_EQ_FMT(UNUSABLE, verdict(true, &said), "%d");
	ASSERT(strstr(said, "there is no manifest"));
	victim_remove(&v);
	PASS();
}

/* Each byte of the two files, changed: never believed with the key, and without
 * it what is not of the form, or not of the pair, is refused. */
TEST changed_bytes(void)
{
	const char *paths[2], *said;
	unsigned tried = 0;

	begin();
	seal_now(&v);
	paths[0] = in_volume("frondfs.seal");
	paths[1] = in_volume("frondfs.seal.sig");
	for (int i = 0; i < 2; i++) {
		size_t size;
		char *bytes = get_bytes(paths[i], &size);

		for (size_t at = 0; at < size; at += 1 + size / 40) {
			char was = bytes[at];
			int code;

			bytes[at] ^= 1 << (at % 7);
			put_bytes(paths[i], bytes, size);
			code = verdict(true, &said);
			if (code != UNUSABLE && code != NEWER)
				printf("%s, byte %zu: %d %s\n", paths[i], at,
				       code, said);
			ASSERT(code == UNUSABLE || code == NEWER);
			if (i == 0) {
				ASSERT_EQ_FMT(UNUSABLE, verdict(false, &said),
				              "%d");
				ASSERT(strstr(said, "same seal"));
			}
			bytes[at] = was;
			tried++;
		}
		/* Cut anywhere. */
		for (size_t n = 0; n < size; n += 1 + size / 40) {
			put_bytes(paths[i], bytes, n);
			ASSERT_EQ_FMT(UNUSABLE, verdict(true, &said), "%d");
			ASSERT_EQ_FMT(UNUSABLE, verdict(false, &said), "%d");
			tried++;
		}
		/* And with something behind it. */
		bytes[size] = '\n';
		put_bytes(paths[i], bytes, size + 1);
		ASSERT_EQ_FMT(UNUSABLE, verdict(true, &said), "%d");
		put_bytes(paths[i], bytes, size);
		free(bytes);
	}
	ASSERT(tried > 120);
	ASSERT(VERIFY_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

/* A later version's, one with another time, none. */
TEST other_signatures(void)
{
	const char *said;
	char *bytes;
	size_t size;

	begin();
	seal_now(&v);
	bytes = get_bytes(in_volume("frondfs.seal.sig"), &size);
	ASSERT(!strncmp(bytes, "frondfs seal 1\n", 15));
	bytes[13] = '2';
	put_bytes(in_volume("frondfs.seal.sig"), bytes, size);
	ASSERT_EQ_FMT(NEWER, verdict(false, &said), "%d");
	ASSERT(strstr(said, "newer"));
	bytes[13] = '1';
	/* The time, which a person looks at. */
	ASSERT(!strncmp(bytes + 15, "time ", 5));
	bytes[21] = bytes[21] == '1' ? '2' : '1';
	put_bytes(in_volume("frondfs.seal.sig"), bytes, size);
	ASSERT_EQ_FMT(UNUSABLE, verdict(true, &said), "%d");
	ASSERT(strstr(said, "not of this volume's key"));
	free(bytes);
	ASSERT_FALSE(unlink(in_volume("frondfs.seal.sig")));
	ASSERT_EQ_FMT(UNUSABLE, verdict(true, &said), "%d");
	ASSERT(strstr(said, "has no signature"));
	ASSERT_EQ_FMT(0, verdict(false, &said), "%d");
	victim_remove(&v);
	PASS();
}

/* Signed by the key of another volume. */
TEST signed_by_another(void)
{
	const char *argv[] = { FROND_BINARY, "verify", "--keyfile", v.keyfile,
	                       NULL, v.root, NULL };
	char command[1400], *out, *err;
	const char *seal;

	begin();
	seal_now(&v);
	/* A second volume beside it, with the same key file. */
	snprintf(command, sizeof(command),
	         "mkdir '%s/w' && '%s' init -q --keyfile '%s' "
	         "--recovery-key-file '%s/r' '%s/w' && '%s' seal -q --keyfile "
	         "'%s' '%s/w'", v.holder, FROND_BINARY, v.keyfile, v.holder,
	         v.holder, FROND_BINARY, v.keyfile, v.holder);
	ASSERT_EQ(0, system(command));
	seal = keep(join_path(v.holder, "w/frondfs.seal"));
	argv[4] = seal;
	ASSERT_EQ_FMT(31, run_collect(argv, 0, &out, &err), "%d");
	ASSERT(strstr(err, "not of this volume's key"));
	ASSERT_STR_EQ("", out);
	victim_remove(&v);
	PASS();
}

/* Whether anything happened to what is watched. */
static bool touched(int watch)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

/* Directories and files that were made links to outside: named, never followed.
 * The whole run is watched. */
TEST links_out_of_the_tree(void)
{
	const char *outside, *inside, *dir, *file;
	char *found;
	int watch, code;

	begin();
	seal_now(&v);
	dir = keep(where(&v, "d"));
	file = keep(where(&v, "two"));
	outside = keep(join_path(v.holder, "outside"));
	inside = keep(where(&v, "d/one"));
	ASSERT_FALSE(mkdir(outside, 0755));
	copy_with_times(inside, join_path(outside, strrchr(inside, '/') + 1));
	copy_with_times(id_file(&v, "d"),
	                join_path(outside, strrchr(id_file(&v, "d"), '/') + 1));
	copy_with_times(file, join_path(outside, "file"));
	{
		const char *argv[] = { "/bin/rm", "-r", dir, file, NULL };
		char *out, *err;

		ASSERT_EQ(0, run_collect(argv, 0, &out, &err));
	}
	ASSERT_FALSE(symlink(outside, dir));
	ASSERT_FALSE(symlink(join_path(outside, "file"), file));
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	ASSERT(watch >= 0);
	ASSERT(inotify_add_watch(watch, outside, IN_ALL_EVENTS) >= 0);
	for (int keyed = 0; keyed < 2; keyed++) {
		found = verify_run(&v, keyed, NULL, NULL, NULL, &code);
		ASSERT_EQ_FMT(4, code, "%d");
		ASSERT(strstr(found, "changed|"));
		ASSERT(strstr(found, strrchr(dir, '/') + 1));
		ASSERT(strstr(found, strrchr(file, '/') + 1));
		ASSERT(strstr(found, "missing|"));
		free(found);
	}
	ASSERT_FALSE(touched(watch));
	/* A seal of such a tree takes the links as links. */
	seal_now(&v);
	ASSERT_FALSE(touched(watch));
	/* The watch works. */
	close(open(join_path(outside, "file"), O_RDONLY));
	ASSERT(touched(watch));
	close(watch);
	victim_remove(&v);
	PASS();
}

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

/* Directories inside each other, each "d" in the one before: a file in the last
 * one, whose ciphertext path becomes *path. */
static void put_deep_tree(int depth, char **path)
{
	struct io quick = io_system;
	struct dir_entry entry;
	struct dir *dir;
	int fd = dup(v.volume->root), made = -1;

	quick.fsync = quick.fdatasync = no_sync;
	io = &quick;
	*path = strdup("");
	for (int i = 0; i <= depth; i++) {
		char *longer;

		need(!dir_open(&dir, v.volume, fd), "dir_open");
		if (i < depth)
			need(!dir_mkdir(dir, "d", 0755, NULL, &entry), "mkdir");
		else
			need(!dir_create(dir, "file", 0644, NULL, &entry, &made),
			     "create");
		fd = made >= 0 ? made : openat(dir_fd(dir), entry.text,
		                               O_RDONLY | O_DIRECTORY);
		need(fd >= 0, "openat");
		need(asprintf(&longer, "%s%s%s", *path, i ? "/" : "",
		              entry.text) > 0, "memory");
		free(*path);
		*path = longer;
		dir_unref(dir);
	}
	need(write(fd, "x", 1) == 1 && !close(fd), "write");
	io = &io_system;
}

TEST deep_trees(void)
{
	char *path, *found, *err;
	int code;

	/* Paths that no system call would take. */
	victim_make(&v);
	put_deep_tree(1000, &path);
	ASSERT(strlen(path) > 40000);
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	free(path);
	victim_remove(&v);
	/* More than are looked into: refused, and the stack holds out. */
	victim_make(&v);
	put_deep_tree(1600, &path);
	ASSERT_EQ_FMT(8, seal_run(&v, NULL, NULL, &err), "%d");
	ASSERT(strstr(err, "no seal was written"));
	ASSERT(access(in_volume("frondfs.seal"), F_OK));
	put_bytes(in_volume("frondfs.seal"), "", 0);
	found = verify_run(&v, false, NULL, NULL, NULL, &code);
	ASSERT_EQ_FMT(8, code, "%d");
	free(found);
	free(path);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(made_up_manifests);
	RUN_TEST(no_file);
	RUN_TEST(changed_bytes);
	RUN_TEST(other_signatures);
	RUN_TEST(signed_by_another);
	RUN_TEST(links_out_of_the_tree);
	RUN_TEST(deep_trees);
	GREATEST_MAIN_END();
}
