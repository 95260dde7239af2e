/* frondfs ls, tree, stat, cat, mkdir, mv and rm: what they show and change. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/volume/io.h"
#include "fs/volume/walk.h"
#include "tools/tree.h"
#include "trees.h"

static struct victim v;

static void begin(void)
{
	victim_make(&v);
	put_dir_at(&v, "dir");
	put_dir_at(&v, "dir/sub");
	put_file_at(&v, "dir/one", 1, 1000);
	put_file_at(&v, "dir/sub/two", 2, 70000);
	put_file_at(&v, "dir/.hidden", 3, 5);
	put_link_at(&v, "dir/link", "one");
	put_xattr_at(&v, "dir/one", "user.x", "value");
	need(!shell(&v, "true"), "the holder");
}

TEST lists(void)
{
	begin();
	GIVES(0, "ls", "c");
	ASSERT_STR_EQ("dir\n", said);
	GIVES(0, "ls", "c", "dir");
	ASSERT_STR_EQ("link\none\nsub\n", said);
	GIVES(0, "ls", "-a", "c", "/dir/");
	ASSERT_STR_EQ(".hidden\nlink\none\nsub\n", said);
	GIVES(0, "ls", "-R", "c");
	ASSERT_STR_EQ("/:\ndir\n\ndir:\nlink\none\nsub\n\ndir/sub:\ntwo\n", said);
	GIVES(0, "ls", "-d", "c", "dir", "dir/one");
	ASSERT_STR_EQ("dir\ndir/one\n", said);
	GIVES(8, "ls", "c", "none", "dir/sub");
	ASSERT_STR_EQ("dir/sub:\ntwo\n", said);
	ASSERT(strstr(complained, "none: there is no such entry"));
	ASSERT_EQ(0, chmod(where(&v, "dir/one"), 04750));
	GIVES(0, "ls", "-l", "c", "dir");
	ASSERT(!strncmp(said, "lrwxrwxrwx   1 ", 15));
	ASSERT(strstr(said, " link -> one\n-rwsr-x---   1 "));
	ASSERT(strstr(said, "       1000 "));
	GIVES(0, "tree", "c");
	ASSERT_STR_EQ("/\n`-- dir\n    |-- link -> one\n    |-- one\n"
	              "    `-- sub\n        `-- two\n\n2 directories, 3 files\n",
	              said);
	GIVES(0, "tree", "-a", "-d", "-L", "1", "c", "dir");
	ASSERT_STR_EQ("dir\n`-- sub\n\n1 directories, 0 files\n", said);
	GIVES(16, "tree", "-L", "0", "c");
	GIVES(8, "tree", "c", "dir/one");
	victim_remove(&v);
	PASS();
}

TEST shows_in_json(void)
{
	char *want;

	begin();
	put_file_at(&v, "bad\xff", 1, 10);
	GIVES(0, "ls", "--json", "c");
	ASSERT(strstr(said, "{\"path\":\"bad\xef\xbf\xbd\",\"path_hex\":\"626164ff"
	              "\",\"ciphertext\":\""));
	need(asprintf(&want, "{\"path\":\"dir/sub/two\",\"ciphertext\":\"%s\","
	              "\"type\":\"file\",\"mode\":\"0600\",\"size\":70000,"
	              "\"links\":1,", cipher_of(&v, "dir/sub/two")) > 0,
	     "memory");
	ASSERT_EQ(0, chmod(where(&v, "dir/sub/two"), 0600));
	GIVES(0, "ls", "--json", "-R", "c");
	ASSERT(strstr(said, want));
	ASSERT(strstr(said, "\"target\":\"one\"}\n"));
	GIVES(0, "stat", "--json", "c", "dir/sub/two");
	ASSERT(!strncmp(said, want, strlen(want)));
	free(want);
	GIVES(0, "stat", "--json", "c", "dir/one");
	ASSERT(strstr(said, "\"attributes\":[{\"name\":\"user.x\"}]}\n"));
	GIVES(0, "stat", "c", "dir/one", "/");
	ASSERT(!strncmp(said, "path:         dir/one\n", 22));
	ASSERT(strstr(said, "  size:       1000 bytes; encrypted 5096, "));
	ASSERT(strstr(said, "  attribute:  user.x\n"));
	ASSERT(strstr(said, "path:         /\n"));
	GIVES(8, "stat", "c", "none");
	victim_remove(&v);
	PASS();
}

TEST writes_files_out(void)
{
	begin();
	ASSERT_EQ(0, shell(&v, "%s cat --keyfile key c dir/sub/two dir/one >out",
	                   FROND_BINARY));
	GIVES(0, "export", "c", "dir", "e");
	ASSERT_EQ(0, shell(&v, "cat e/dir/sub/two e/dir/one | cmp - out"));
	GIVES(8, "cat", "c", "dir");
	ASSERT(strstr(complained, "Is a directory"));
	GIVES(8, "cat", "c", "dir/link");
	ASSERT(strstr(complained, "symbolic link"));
	GIVES(8, "cat", "c", "none");
	/* The reader goes away, the disk is full: no hang, and said. */
	ASSERT_EQ(8, shell(&v, "%s cat --keyfile key c dir/one >/dev/full 2>err",
	                   FROND_BINARY));
	ASSERT_EQ(0, shell(&v, "grep -q 'standard output: No space' err"));
	victim_remove(&v);
	PASS();
}

TEST makes_directories(void)
{
	struct stat st;

	begin();
	GIVES(0, "mkdir", "-v", "c", "new", "new/below");
	ASSERT_STR_EQ("new\nnew/below\n", said);
	GIVES(8, "mkdir", "c", "new");
	ASSERT(strstr(complained, "File exists"));
	GIVES(8, "mkdir", "c", "x/y");
	ASSERT(strstr(complained, "the directory above"));
	GIVES(0, "mkdir", "-p", "c", "x/y/z/");
	GIVES(0, "mkdir", "-p", "c", "x/y/z");
	GIVES(8, "mkdir", "-p", "c", "dir/one");
	GIVES(8, "mkdir", "-p", "c", "dir/one/z");
	GIVES(0, "mkdir", "-m", "1751", "c", "m");
	ASSERT_EQ(0, stat(where(&v, "m"), &st));
	ASSERT_EQ(01751, (int)(st.st_mode & 07777));
	ASSERT_EQ(0, stat(where(&v, "new"), &st));
	ASSERT_EQ(0755, (int)(st.st_mode & 07777));
	GIVES(16, "mkdir", "-m", "9", "c", "n");
	GIVES(8, "mkdir", "c", "/");
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

TEST moves(void)
{
	begin();
	GIVES(0, "mv", "-v", "c", "dir/one", "uno");
	ASSERT_STR_EQ("dir/one -> uno\n", said);
	GIVES(0, "mv", "c", "uno", "dir/link", "dir/sub");
	GIVES(0, "ls", "c", "dir/sub");
	ASSERT_STR_EQ("link\ntwo\nuno\n", said);
	GIVES(0, "mv", "c", "dir/sub", "/");
	GIVES(0, "ls", "c");
	ASSERT_STR_EQ("dir\nsub\n", said);
	/* Over another file, or not. */
	GIVES(0, "mv", "-n", "c", "sub/uno", "sub/two");
	GIVES(0, "mv", "c", "sub/uno", "sub/two");
	GIVES(0, "ls", "-l", "c", "sub");
	ASSERT(strstr(said, " 1000 "));
	ASSERT(!strstr(said, " 70000 "));
	/* Into itself, a directory over a file, over one that is not empty. */
	GIVES(8, "mv", "c", "sub", "sub/in");
	ASSERT(strstr(complained, "into itself"));
	GIVES(8, "mv", "c", "sub", "dir/.hidden");
	GIVES(8, "mv", "-T", "c", "dir/.hidden", "sub");
	GIVES(8, "mv", "-T", "c", "sub", "dir");
	ASSERT(strstr(complained, "not empty"));
	GIVES(0, "mkdir", "c", "empty");
	GIVES(0, "mv", "-T", "c", "sub", "empty");
	GIVES(8, "mv", "c", "none", "dir");
	GIVES(8, "mv", "c", "dir/.hidden", "empty", "nowhere");
	GIVES(8, "mv", "c", "/", "dir");
	GIVES(0, "tree", "-a", "c");
	ASSERT_STR_EQ("/\n|-- dir\n|   `-- .hidden\n`-- empty\n    |-- link -> one"
	              "\n    `-- two\n\n2 directories, 3 files\n", said);
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

TEST removes(void)
{
	begin();
	GIVES(8, "rm", "c", "dir");
	ASSERT(strstr(complained, "is a directory"));
	GIVES(0, "rm", "-v", "c", "dir/one");
	ASSERT_STR_EQ("dir/one\n", said);
	GIVES(8, "rm", "c", "dir/one");
	GIVES(0, "rm", "-f", "c", "dir/one", "no/such/path");
	GIVES(8, "rm", "-r", "c", "/");
	/* Something foreign keeps its directory, and only that. */
	write_text(join_path(where(&v, "dir/sub"), "foreign"), "f");
	GIVES(8, "rm", "-r", "c", "dir");
	ASSERT(strstr(complained, "dir/sub: Directory not empty"));
	ASSERT_EQ(NULL, strstr(complained, "dir: Directory"));
	GIVES(0, "tree", "-a", "c");
	ASSERT_STR_EQ("/\n`-- dir\n    `-- sub\n\n2 directories, 0 files\n", said);
	ASSERT_EQ(0, unlink(join_path(where(&v, "dir/sub"), "foreign")));
	GIVES(0, "rm", "-r", "c", "dir");
	GIVES(0, "ls", "-a", "c");
	ASSERT_STR_EQ("", said);
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

/* A tree that is deeper than any path: an error, and no more. */
TEST deep_trees(void)
{
	struct io quick = io_system;
	const struct dir_caller caller = { 0, 0, 0 };
	struct dir *dir, *below;
	struct dir_entry entry;

	victim_make(&v);
	put_file_at(&v, "top", 1, 10);
	quick.fsync = no_sync;
	io = &quick;
	need(!walk_root(v.volume, &dir), "the root");
	for (int i = 0; i < TREE_DEPTH_MAX + 50; i++) {
		need(!dir_mkdir(dir, "d", 0700, geteuid() ? NULL : &caller,
		                &entry), "mkdir");
		need(!walk_enter(v.volume, dir, entry.text, &below), "enter");
		dir_unref(dir);
		dir = below;
	}
	dir_unref(dir);
	io = &io_system;
	GIVES(8, "ls", "-R", "c");
	ASSERT(strstr(complained, "File name too long"));
	GIVES(8, "tree", "c");
	ASSERT(strstr(said, "\n`-- top\n"));
	GIVES(8, "export", "c", "/", "out");
	ASSERT(strstr(complained, "more than 2048 directories"));
	ASSERT_EQ(0, shell(&v, "test -f out/top"));
	GIVES(8, "rm", "-r", "c", "d");
	GIVES(0, "import", "out/", "c");
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(lists);
	RUN_TEST(shows_in_json);
	RUN_TEST(writes_files_out);
	RUN_TEST(makes_directories);
	RUN_TEST(moves);
	RUN_TEST(removes);
	RUN_TEST(deep_trees);
	GREATEST_MAIN_END();
}
