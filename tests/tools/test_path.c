/* frondfs path: which ciphertext belongs to which path, both ways, also for
 * what is not there, what is damaged, and the tool's own files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "trees.h"

static struct victim v;

static char long_name[256];

static void begin(void)
{
	victim_make(&v);
	memset(long_name, 'l', 250);
	put_dir_at(&v, "a");
	put_dir_at(&v, "a/b");
	put_file_at(&v, "a/b/file", 1, 100);
	put_file_at(&v, "top", 2, 100);
	put_file_at(&v, long_name, 3, 100);
	put_link_at(&v, "a/link", "target");
}

/* One question, its answer and exit code. */
static bool answers(int code, const char *option, const char *path,
                    const char *answer)
{
	char *line;
	int got = without(&v, "path", "c", option, path, NULL);
	bool good;

	need(asprintf(&line, "%s\n", answer) >= 0, "memory");
	good = got == code && !strcmp(said, line);
	if (!good)
		printf("%s %s: %d %swanted: %d %s%s", option, path, got, said,
		       code, line, complained);
	free(line);
	return good;
}

static bool both_ways(const char *path)
{
	const char *cipher = keep(cipher_of(&v, path));

	return answers(0, "--cipher", path, cipher) &&
	       answers(0, "--plain", cipher, *path ? path : "/") &&
	       answers(0, "--plain", join_path(v.root, cipher),
	               *path ? path : "/") &&
	       answers(0, "--plain", join_path("c", cipher),
	               *path ? path : "/");
}

TEST of_what_is_there(void)
{
	begin();
	ASSERT(both_ways("a"));
	ASSERT(both_ways("a/b/file"));
	ASSERT(both_ways("top"));
	ASSERT(both_ways("a/link"));
	ASSERT(both_ways(long_name));
	ASSERT(answers(0, "--cipher", "/./a//b/", cipher_of(&v, "a/b")));
	ASSERT(answers(0, "--cipher", "/", ""));
	ASSERT(answers(0, "--plain", v.root, "/"));
	/* Several at once, in their order. */
	ASSERT_EQ(0, without(&v, "path", "c", "--cipher", "top", "--plain",
	                     cipher_of(&v, "a"), NULL));
	ASSERT(!strncmp(said, cipher_of(&v, "top"), 43));
	ASSERT_STR_EQ("\na\n", strchr(said, '\n'));
	ASSERT_STR_EQ("", complained);
	/* Not here, and wrong use. */
	ASSERT_EQ(8, without(&v, "path", "c", "--plain", "/etc/passwd", NULL));
	ASSERT_EQ(8, without(&v, "path", "c", "--cipher", "a/../b", NULL));
	ASSERT_EQ(16, without(&v, "path", "c", NULL));
	ASSERT_EQ(16, without(&v, "path", "c", "top", "--cipher", "a", NULL));
	victim_remove(&v);
	PASS();
}

/* What a backup has and the volume has not any more. */
TEST of_what_is_gone(void)
{
	const char *file, *deep, *dir;

	begin();
	file = keep(cipher_of(&v, "top"));
	deep = keep(cipher_of(&v, "a/b/file"));
	dir = keep(cipher_of(&v, "a/b"));
	ASSERT_EQ(0, without(&v, "rm", "-r", "c", "top", "a/b/file", NULL));
	ASSERT(answers(0, "--plain", file, "top"));
	ASSERT(strstr(complained, "nothing stands there now"));
	ASSERT(answers(0, "--cipher", "top", file));
	ASSERT(strstr(complained, "nothing stands there now"));
	ASSERT(answers(0, "--plain", deep, "a/b/file"));
	ASSERT(answers(0, "--cipher", "a/b/file", deep));
	/* Without the directory only as far as it goes. */
	ASSERT_EQ(0, without(&v, "rm", "-r", "c", "a/b", NULL));
	ASSERT(answers(0, "--plain", dir, "a/b"));
	ASSERT(answers(8, "--plain", deep,
	               join_path("a/b", strrchr(deep, '/') + 1)));
	ASSERT(answers(8, "--cipher", "a/b/file", join_path(dir, "file")));
	victim_remove(&v);
	PASS();
}

TEST of_what_is_damaged(void)
{
	const char *moved, *text, *id;

	begin();
	/* A name that came from another directory. */
	text = strrchr(keep(cipher_of(&v, "a/b/file")), '/') + 1;
	moved = keep(join_path(cipher_of(&v, "a"), text));
	move_file(where(&v, "a/b/file"), join_path(v.root, moved));
	ASSERT(answers(8, "--plain", moved, join_path("a", text)));
	ASSERT(strstr(complained, "does not open"));
	/* As fsck shows it. */
	ASSERT(answers(8, "--cipher", join_path("a", text), moved));
	/* A directory that lost its id. */
	text = keep(cipher_of(&v, "a/b"));
	id = keep(id_file(&v, "a"));
	ASSERT_EQ(0, unlink(id));
	ASSERT(answers(8, "--plain", text,
	               join_path("a", strrchr(text, '/') + 1)));
	ASSERT(strstr(complained, "an id is missing"));
	victim_remove(&v);
	PASS();
}

TEST of_helper_files(void)
{
	const char *id, *name, *copy;
	char *text;

	begin();
	id = keep(id_file(&v, "a"));
	ASSERT(answers(0, "--plain", id, "a"));
	ASSERT(strstr(complained, "holds the id"));
	name = keep(name_file(&v, long_name));
	ASSERT(answers(0, "--plain", name, long_name));
	ASSERT(strstr(complained, "holds the name"));
	ASSERT(answers(0, "--plain", "frondfs.conf", "/"));
	ASSERT(answers(8, "--plain", ".stfolder", ".stfolder"));
	ASSERT(strstr(complained, "not of the volume"));
	/* A conflict copy is shown with its mark. */
	copy = keep(join_path(v.root, cipher_of(&v, "top")));
	ASSERT_EQ(0, shell(&v, "cp %s '%s (conflicted copy)'", copy, copy));
	need(asprintf(&text, "%s (conflicted copy)", cipher_of(&v, "top")) > 0,
	     "memory");
	ASSERT(answers(0, "--cipher", "top (conflicted copy)", text));
	ASSERT(answers(0, "--plain", text, "top (conflicted copy)"));
	free(text);
	ASSERT_EQ(0, without(&v, "cat", "c", "top (conflicted copy)", NULL));
	ASSERT_EQ(0, without(&v, "mv", "c", "top (conflicted copy)", "other",
	                     NULL));
	ASSERT_EQ(0, without(&v, "rm", "c", "top", NULL));
	ASSERT_EQ(0, without(&v, "ls", "c", NULL));
	ASSERT(strstr(said, "\nother\n"));
	ASSERT(!strstr(said, "top"));
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(of_what_is_there);
	RUN_TEST(of_what_is_gone);
	RUN_TEST(of_what_is_damaged);
	RUN_TEST(of_helper_files);
	GREATEST_MAIN_END();
}
