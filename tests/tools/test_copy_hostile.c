/* frondfs import and export of damaged volumes, and of ones made to do harm. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <greatest.h>

#include "trees.h"

static struct victim v;

/* ---- damage ---- */

TEST damaged_files_are_left_out(void)
{
	char *cipher;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir -p src/noid src/dir && cd src && for i in "
	                   "1 2 3 4 5 6; do head -c 20000 /dev/urandom >$i; done;"
	                   "echo x >dir/lost; echo y >dir/kept; echo z >noid/in;"
	                   "ln -s target link; setfattr -n user.a -v b 6"));
	GIVES(0, "import", "src/", "c");
	cipher = keep(cipher_of(&v, "2"));
	flip_bit(where(&v, "2"), 9000, 0);     /* a sector */
	flip_bit(where(&v, "3"), 40, 0);       /* the header */
	cut_file(where(&v, "4"), 8192);        /* the end is gone */
	{
		const char *link = keep(where(&v, "link"));
		const char *lost = keep(where(&v, "dir/lost"));

		ASSERT_EQ(0, unlink(link));
		ASSERT_EQ(0, symlink("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		                     "AAAAAAAAAAAAAAAAAAA", link));
		move_file(lost, join_path(v.root, strrchr(lost, '/') + 1));
	}
	ASSERT_EQ(0, unlink(id_file(&v, "noid")));
	GIVES(8, "export", "c", "/", "out");
	ASSERT(strstr(complained, "frondfs: 2: damaged from byte 8080 on"));
	ASSERT(strstr(complained, cipher));
	ASSERT(strstr(complained, "frondfs: 3: damaged"));
	ASSERT(strstr(complained, "frondfs: 4: damaged"));
	ASSERT(strstr(complained, "frondfs: link: damaged"));
	ASSERT(strstr(complained, "frondfs: noid: damaged"));
	ASSERT(strstr(complained, "frondfs: /: 1 names in it do not open"));
	ASSERT(strstr(complained, "not all could be copied"));
	/* Nothing of them, not even under a temporary name. */
	ASSERT_EQ(0, shell(&v, "cd out && test \"$(ls -A | tr '\\n' ' ')\" = "
	                   "'1 5 6 dir ' && for i in 1 5 6; do cmp $i "
	                   "../src/$i || exit 1; done; cmp dir/kept "
	                   "../src/dir/kept && test ! -e dir/lost"));
	/* cat gives what comes before, and says where it ends. */
	GIVES(8, "cat", "c", "2", "5");
	ASSERT(strstr(complained, "2: damaged from byte 8080 on"));
	ASSERT(strstr(complained, cipher));
	ASSERT_EQ(0, shell(&v, "%s cat -q --keyfile key c 2 >head; cmp -n 8080 "
	                   "head src/2 && test $(stat -c %%s head) = 8080",
	                   FROND_BINARY));
	/* Far into a file, too. */
	put_file_at(&v, "long", 7, 3000000);
	flip_bit(where(&v, "long"), 500 * 4096 + 5, 3);
	ASSERT_EQ(8, shell(&v, "%s cat -q --keyfile key c long 2>err >head",
	                   FROND_BINARY));
	ASSERT_EQ(4000 + 499 * 4080, (int)size_of(in_holder(&v, "head")));
	ASSERT_EQ(0, unlink(where(&v, "long")));
	GIVES(8, "ls", "c", "noid");
	GIVES(8, "ls", "c");
	ASSERT(strstr(said, "dir\n"));
	GIVES(8, "ls", "-R", "c");
	ASSERT(strstr(said, "kept\n"));
	GIVES(8, "tree", "c");
	ASSERT(strstr(said, "kept\n"));
	victim_remove(&v);
	PASS();
}

TEST a_damaged_attribute_is_said(void)
{
	char list[4096];

	victim_make(&v);
	put_file_at(&v, "f", 1, 10);
	put_xattr_at(&v, "f", "user.one", "1");
	ASSERT(listxattr(where(&v, "f"), list, sizeof(list)) > 0);
	ASSERT_EQ(0, setxattr(where(&v, "f"), list, "garbage of some length that "
	                      "does not open at all", 44, 0));
	GIVES(8, "export", "c", "f", "out");
	ASSERT(strstr(complained, "its attribute user.one is damaged"));
	ASSERT_EQ(10, (int)size_of(in_holder(&v, "out/f")));
	victim_remove(&v);
	PASS();
}

/* A damaged file in the volume, with its size and time, and its original. */
TEST import_mends_when_told_to(void)
{
	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "head -c 20000 /dev/urandom >f"));
	GIVES(0, "import", "f", "c");
	flip_bit(where(&v, "f"), 5000, 0);
	ASSERT_EQ(0, shell(&v, "touch -r f %s", where(&v, "f")));
	GIVES(0, "import", "f", "c");
	GIVES(4, "fsck", "c");
	GIVES(0, "import", "--ignore-times", "f", "c");
	ASSERT(FSCK_CLEAN(&v));
	GIVES(0, "export", "c", "f", "out");
	ASSERT_EQ(0, shell(&v, "cmp f out/f"));
	victim_remove(&v);
	PASS();
}

/* ---- harm ---- */

TEST export_stays_in_its_target(void)
{
	struct stat st;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir outside dest && echo safe >outside/file"));
	/* A link first, and in its place a directory with the file later. */
	put_link_at(&v, "x", in_holder(&v, "outside"));
	put_link_at(&v, "y", in_holder(&v, "outside/file"));
	GIVES(0, "export", "c", "/", "dest");
	ASSERT_EQ(0, lstat(in_holder(&v, "dest/x"), &st));
	ASSERT(S_ISLNK(st.st_mode));
	GIVES(0, "rm", "c", "x", "y");
	put_dir_at(&v, "x");
	put_file_at(&v, "x/file", 1, 1000);
	put_file_at(&v, "x/new", 1, 1000);
	put_file_at(&v, "y", 1, 1000);
	GIVES(8, "export", "c", "/", "dest");
	ASSERT_EQ(0, shell(&v, "test \"$(ls outside)\" = file && "
	                   "test \"$(cat outside/file)\" = safe"));
	ASSERT_EQ(0, lstat(in_holder(&v, "dest/y"), &st));
	ASSERT(S_ISREG(st.st_mode));
	ASSERT_EQ(0, lstat(in_holder(&v, "dest/x"), &st));
	ASSERT(S_ISLNK(st.st_mode));
	/* A hard link to a file that was exchanged for a link meanwhile. */
	ASSERT_EQ(0, shell(&v, "rm dest/x"));
	GIVES(0, "export", "c", "/", "dest");
	/* Plain files do not belong into the ciphertext. */
	GIVES(16, "export", "c", "y", "c");
	GIVES(16, "export", "c", "y", join_path("c", cipher_of(&v, "x")));
	ASSERT_EQ(0, shell(&v, "test ! -e c/y"));
	victim_remove(&v);
	PASS();
}

TEST import_stays_in_the_volume(void)
{
	const char *x;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir outside src src/x && echo f >src/x/file && "
	                   "ln -s ../outside src/link && echo s >outside/secret"));
	GIVES(0, "import", "src/", "c");
	/* The link's target is not read. */
	GIVES(8, "cat", "c", "link/secret");
	GIVES(8, "ls", "c", "link/secret");
	/* The ciphertext's directory becomes a link to elsewhere. */
	x = keep(where(&v, "x"));
	ASSERT_EQ(0, rename(x, in_holder(&v, "moved")));
	ASSERT_EQ(0, symlink("../moved", x));
	ASSERT_EQ(0, shell(&v, "ls -A moved >before; echo new >src/x/new"));
	GIVES(8, "import", "src/", "c");
	GIVES(8, "import", "--to", "x", "src/x/new", "c");
	GIVES(8, "mkdir", "c", "x/y");
	GIVES(8, "cat", "c", "x/file");
	ASSERT_EQ(0, shell(&v, "ls -A moved | cmp - before"));
	/* Of a file as well. */
	victim_remove(&v);
	victim_make(&v);
	put_file_at(&v, "f", 1, 1000);
	x = keep(where(&v, "f"));
	ASSERT_EQ(0, rename(x, in_holder(&v, "moved")));
	ASSERT_EQ(0, symlink("../moved", x));
	GIVES(8, "cat", "c", "f");
	GIVES(8, "export", "c", "f", "out");
	ASSERT_EQ(0, shell(&v, "test ! -e out/f && echo f >f && cp moved old"));
	GIVES(0, "import", "f", "c");
	ASSERT_EQ(0, shell(&v, "cmp moved old"));
	GIVES(0, "cat", "c", "f");
	ASSERT_STR_EQ("f\n", said);
	/* The volume does not swallow itself. */
	ASSERT_EQ(0, shell(&v, "mkdir all && mv c all/c && echo z >all/z"));
	GIVES(8, "import", "all", "all/c");
	ASSERT(strstr(complained, "all/c: it is the volume itself"));
	GIVES(0, "cat", "all/c", "all/z");
	GIVES(8, "import", "all/c/", "all/c");
	GIVES(8, "import", "all/c/frondfs.conf", "all/c");
	GIVES(0, "ls", "all/c", "all");
	ASSERT_STR_EQ("z\n", said);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(damaged_files_are_left_out);
	RUN_TEST(a_damaged_attribute_is_said);
	RUN_TEST(import_mends_when_told_to);
	RUN_TEST(export_stays_in_its_target);
	RUN_TEST(import_stays_in_the_volume);
	GREATEST_MAIN_END();
}
