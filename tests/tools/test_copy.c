/* frondfs import and export: all that a tree can hold there and back, going on
 * after a kill and on a full disk, stores and users that may not do all. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <greatest.h>

#include "trees.h"

static struct victim v;

enum { NOBODY = 65534 };

/* The summary's numbers: files, directories, links, others; unchanged. */
static bool counted(unsigned files, unsigned folders, unsigned links,
                    unsigned others, unsigned unchanged)
{
	unsigned got[5] = { 0 };
	const char *at = strstr(complained, "files (");
	bool good;

	while (at && at > complained && at[-1] != '\n')
		at--;
	good = at && sscanf(at, "frondfs: %u files (%*[^)]), %u directories, %u"
	                    " links, %u others copied; %u unchanged", &got[0],
	                    &got[1], &got[2], &got[3], &got[4]) == 5 &&
	       got[0] == files && got[1] == folders && got[2] == links &&
	       got[3] == others && got[4] == unchanged;
	if (!good)
		printf("%s", complained);
	return good;
}

static blkcnt_t blocks_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_blocks;
}

TEST there_and_back(void)
{
	blkcnt_t sparse;

	victim_make(&v);
	tree_make(&v, "src");
	sparse = blocks_of(in_holder(&v, "src/sparse"));
	GIVES(0, "import", "src/", "c");
	ASSERT_EQ(0, strncmp("frondfs: ", complained, 9));
	ASSERT(FSCK_CLEAN(&v));
	GIVES(0, "export", "c", "/", "out");
	ASSERT(trees_same(&v, "out", "src"));
	/* Holes stay holes, both ways: 40 MiB with two bits of data. */
	ASSERT(blocks_of(where(&v, "sparse")) < 100);
	ASSERT(sparse > 100 || blocks_of(in_holder(&v, "out/sparse")) < 100);
	victim_remove(&v);
	PASS();
}

TEST nothing_is_copied_twice(void)
{
	unsigned entries = geteuid() ? 29 : 30; /* but directories */
	struct stat before, after;

	victim_make(&v);
	tree_make(&v, "src");
	GIVES(0, "import", "src", "c");
	ASSERT(counted(21, 6, 6, entries - 27, 0));
	GIVES(0, "import", "src", "c");
	ASSERT(counted(0, 0, 0, 0, entries));
	GIVES(0, "export", "c", "src", "out");
	ASSERT_EQ(0, stat(in_holder(&v, "out/src/size 8080"), &before));
	GIVES(0, "export", "c", "src", "out");
	ASSERT(counted(0, 0, 0, 0, entries));
	ASSERT_EQ(0, stat(in_holder(&v, "out/src/size 8080"), &after));
	ASSERT_EQ(before.st_ino, after.st_ino);
	ASSERT_EQ(before.st_ctim.tv_sec, after.st_ctim.tv_sec);
	ASSERT_EQ(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	ASSERT(trees_same(&v, "out/src", "src"));
	/* What changed is copied, and no more; of attributes only these. */
	ASSERT_EQ(0, shell(&v, "cd src && printf x >'size 1' && "
	                   "chmod 600 'size 8080' && rm dangling && "
	                   "ln -s elsewhere dangling && rm 'size 131072' && "
	                   "ln 'size 3999' 'size 131072'"));
	ASSERT_EQ(0, setxattr(in_holder(&v, "src/size 4001"), "user.new", "1", 1,
	                      0));
	ASSERT_EQ(0, removexattr(in_holder(&v, "src/size 1"), "user.one"));
	ASSERT_EQ(0, removexattr(in_holder(&v, "src/size 4000"),
	                         "system.posix_acl_access"));
	GIVES(0, "import", "src", "c");
	ASSERT(counted(2, 0, 2, 0, entries - 4));
	GIVES(0, "export", "c", "src", "out");
	ASSERT(counted(2, 0, 2, 0, entries - 4));
	ASSERT(trees_same(&v, "out/src", "src"));
	ASSERT(FSCK_CLEAN(&v));
	/* -v names each; --to goes below; without owners. */
	GIVES(0, "mkdir", "-p", "c", "a/b");
	GIVES(0, "import", "-v", "--no-owner", "--no-devices", "--to", "a/b",
	      "src/deep/", "src/suid", "src/null", "c");
	ASSERT(strstr(said, "\nsuid\n"));
	GIVES(0, "stat", "c", "a/b/suid");
	ASSERT(strstr(said, "-rwxr-xr-x (0755)"));
	ASSERT(strstr(said, geteuid() ? "owner" : "root (0)"));
	GIVES(8, "stat", "c", "a/b/null");
	victim_remove(&v);
	PASS();
}

TEST names_and_arguments(void)
{
	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir -p one/two && echo text >one/two/file && "
	                   "echo other >top"));
	/* A directory under its name, its contents, a file, several. */
	GIVES(0, "import", "one", "c");
	GIVES(0, "cat", "c", "one/two/file");
	ASSERT_STR_EQ("text\n", said);
	GIVES(0, "import", "one/two/", "top", "c");
	GIVES(0, "cat", "c", "file", "/top");
	ASSERT_STR_EQ("text\nother\n", said);
	GIVES(0, "import", "one/.", "c");
	GIVES(0, "import", "--", "./top", "c");
	GIVES(0, "export", "c", "one/two", "file", "out");
	ASSERT_EQ(0, shell(&v, "cmp out/two/file one/two/file && "
	                   "cmp out/file one/two/file"));
	GIVES(0, "export", "c", "one/two/", "out2");
	ASSERT_EQ(0, shell(&v, "cmp out2/file one/two/file"));
	/* Not there: said, and the others are done. */
	GIVES(8, "import", "nothing", "top", "c");
	ASSERT(strstr(complained, "nothing: No such file"));
	GIVES(8, "export", "c", "nothing", "top", "out3");
	ASSERT(strstr(complained, "nothing: there is no such entry"));
	ASSERT_EQ(0, shell(&v, "cmp out3/top top"));
	GIVES(8, "export", "c", "../top", "out3");
	GIVES(8, "export", "c", "top/below", "out3");
	/* A directory and a file never replace each other. */
	ASSERT_EQ(0, shell(&v, "mkdir -p out4/top out4x && echo x >out4/one"));
	GIVES(8, "export", "c", "top", "one", "out4");
	ASSERT_EQ(0, shell(&v, "test -d out4/top && test -f out4/one"));
	ASSERT_EQ(0, shell(&v, "mkdir bad && mkdir bad/top && echo x >bad/one"));
	GIVES(8, "import", "bad/", "c");
	GIVES(0, "cat", "c", "top");
	/* Wrong use. */
	GIVES(16, "export", "c", "out");
	GIVES(16, "import", "c");
	GIVES(18, "import", "top", "one");
	GIVES(8, "import", "--to", "nowhere", "top", "c");
	ASSERT(strstr(complained, "mkdir -p"));
	victim_remove(&v);
	PASS();
}

static unsigned now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)now.tv_sec * 1000 + (unsigned)(now.tv_nsec / 1000000);
}

/* Killed at any moment: what is there is whole, and the next run goes on. */
static enum greatest_test_res killed(bool import, bool links)
{
	unsigned count, kills = 0, before = 0, whole;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir src && cd src && for d in a b c; do "
	                   "mkdir $d; for i in $(seq 60); do "
	                   "head -c $((i * 500)) /dev/urandom >$d/$i; done; "
	                   "head -c 6000000 /dev/urandom >$d/big; done; "
	                   "%s touch -d 2001-01-01 a b c .", links
	                   ? "ln a/1 c/hard;" : ""));
	without_links = !links;
	/* How long it takes at all, on this machine as it is now. */
	whole = now_ms();
	if (import) {
		GIVES(0, "mkdir", "c", "other");
		GIVES(0, "import", "--to", "other", "src/", "c");
	} else {
		GIVES(0, "import", "src/", "c");
		whole = now_ms();
		GIVES(0, "export", "c", "/", "other");
	}
	whole = now_ms() - whole;
	if (import)
		GIVES(0, "rm", "-r", "c", "other");
	for (unsigned ms = whole / 6 + 1; ms < 50000; ms += 1 + ms / 5) {
		int code = import
			? without_killed(&v, ms, "import", "src/", "c", NULL)
			: without_killed(&v, ms, "export", "c", "/", "out",
			                 NULL);

		if (code == 0)
			break;
		ASSERT_EQ_FMT(128 + SIGKILL, code, "%d");
		kills++;
		if (import) {
			ASSERT_EQ(0, shell(&v, "rm -rf out"));
			GIVES(0, "export", "c", "/", "out");
		} else if (shell(&v, "test -d out")) {
			continue;
		}
		ASSERT(tree_within(&v, "out", "src", &count));
		ASSERT(count >= before);
		before = count;
	}
	ASSERT(kills >= 1);
	if (import) {
		GIVES(0, "import", "src/", "c");
		ASSERT_EQ(0, shell(&v, "rm -rf out"));
	}
	GIVES(0, "export", "c", "/", "out");
	without_links = false;
	ASSERT(trees_same(&v, "out", "src"));
	/* At most unfinished changes are left of the kills. */
	if (import) {
		struct report r;

		fsck_run(&r, &v, 0, NULL, NULL);
		ASSERT_EQ(0, (int)r.damaged);
		report_free(&r);
	}
	victim_remove(&v);
	PASS();
}

TEST import_goes_on_after_kills(void)
{
	return killed(true, true);
}

TEST export_goes_on_after_kills(void)
{
	return killed(false, true);
}

/* Here temporary names are left, and taken over by the next run. */
TEST both_go_on_where_links_are_forbidden(void)
{
	CHECK_CALL(killed(true, false));
	return killed(false, false);
}

TEST interrupted_from_the_keyboard(void)
{
	const char *argv[] = { FROND_BINARY, "import", "--keyfile", v.keyfile,
	                       "src/", "c", NULL };
	int status, code = 0;

	for (int tries = 0; tries < 20 && code == 0; tries++) {
		const struct timespec pause = { 0, 60000000 / (1 + tries) };
		pid_t pid;

		victim_make(&v);
		ASSERT_EQ(0, shell(&v, "mkdir src && cd src && for i in "
		                   "$(seq 400); do echo $i >$i; done"));
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			if (!chdir(v.holder))
				execv(argv[0], (char *const *)argv);
			_exit(127);
		}
		nanosleep(&pause, NULL);
		kill(pid, SIGINT);
		waitpid(pid, &status, 0);
		code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
	/* Before the handler was there, or in the middle. */
	ASSERT(code == 32 || code == -1);
	GIVES(0, "import", "src/", "c");
	GIVES(0, "export", "c", "/", "out");
	ASSERT(trees_same(&v, "out", "src"));
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

/* A store of a few MiB. */
static bool small_store(const char *name)
{
	need(!shell(&v, "mkdir -p %s", name), name);
	return !mount("none", in_holder(&v, name), "tmpfs", 0, "size=6m");
}

TEST export_to_a_full_disk(void)
{
	unsigned count;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir src && cd src && for i in 1 2 3 4 5; do "
	                   "head -c 2000000 /dev/urandom >$i; done"));
	GIVES(0, "import", "src", "c");
	if (!small_store("small")) {
		victim_remove(&v);
		SKIPm("no tmpfs can be mounted");
	}
	GIVES(8, "export", "c", "src", "small");
	ASSERT(strstr(complained, "No space left"));
	ASSERT(strstr(complained, "run this again"));
	ASSERT(tree_within(&v, "small/src", "src", &count));
	ASSERT_EQ_FMT(3u, count, "%u");
	ASSERT_EQ(0, mount("none", in_holder(&v, "small"), "tmpfs", MS_REMOUNT,
	                   "size=30m"));
	GIVES(0, "export", "c", "src", "small");
	ASSERT(counted(2, 0, 0, 0, 3));
	ASSERT(trees_same(&v, "small/src", "src"));
	ASSERT_EQ(0, umount(in_holder(&v, "small")));
	victim_remove(&v);
	PASS();
}

TEST import_to_a_full_disk(void)
{
	unsigned count;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir src && cd src && for i in 1 2 3 4 5; do "
	                   "head -c 2000000 /dev/urandom >$i; done"));
	if (!small_store("small")) {
		victim_remove(&v);
		SKIPm("no tmpfs can be mounted");
	}
	ASSERT_EQ(0, shell(&v, "cp -a c small/c"));
	GIVES(8, "import", "src", "small/c");
	ASSERT(strstr(complained, "No space left"));
	GIVES(0, "fsck", "small/c");
	GIVES(0, "export", "small/c", "/", "out");
	ASSERT(tree_within(&v, "out/src", "src", &count));
	ASSERT(count >= 2 && count < 5);
	ASSERT_EQ(0, mount("none", in_holder(&v, "small"), "tmpfs", MS_REMOUNT,
	                   "size=30m"));
	GIVES(0, "import", "src", "small/c");
	GIVES(0, "export", "small/c", "/", "out");
	ASSERT(trees_same(&v, "out/src", "src"));
	GIVES(0, "fsck", "small/c");
	ASSERT_EQ(0, umount(in_holder(&v, "small")));
	victim_remove(&v);
	PASS();
}

/* As on Android, where a program may make no hard links: linkat is denied. */
TEST where_links_are_forbidden(void)
{
	struct stat one, two;

	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "mkdir src && cd src && echo one >a && ln a b && "
	                   "echo c >c && mkdir d && echo d >d/d"));
	without_links = true;
	GIVES(0, "import", "src/", "c");
	ASSERT(strstr(complained, "1 hard links became files of their own"));
	ASSERT(counted(4, 1, 0, 0, 0));
	GIVES(0, "import", "src/", "c");
	GIVES(0, "export", "c", "/", "out");
	/* A file that is there is replaced as well. */
	ASSERT_EQ(0, shell(&v, "echo more >>src/c"));
	GIVES(0, "import", "src/", "c");
	GIVES(0, "export", "c", "/", "out");
	without_links = false;
	ASSERT_EQ(0, shell(&v, "diff -r src out && test \"$(ls -A out)\" = \"$(ls "
	                   "src)\""));
	ASSERT_EQ(0, stat(in_holder(&v, "out/a"), &one));
	ASSERT_EQ(0, stat(in_holder(&v, "out/b"), &two));
	ASSERT(one.st_ino != two.st_ino);
	ASSERT(FSCK_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

TEST a_volume_in_use(void)
{
	int fd;

	victim_make(&v);
	put_file_at(&v, "f", 1, 1000);
	ASSERT_EQ(0, shell(&v, "echo x >x"));
	fd = open(v.root, O_RDONLY);
	for (int i = 0; i < 2; i++) {
		/* As a mount, and as a check. */
		ASSERT_EQ(0, flock(fd, (i ? LOCK_SH : LOCK_EX) | LOCK_NB));
		GIVES(24, "import", "x", "c");
		GIVES(24, "mkdir", "c", "d");
		GIVES(24, "mv", "c", "f", "g");
		GIVES(24, "rm", "c", "f");
		GIVES(0, "ls", "c");
		ASSERT_STR_EQ("f\n", said);
		GIVES(0, "export", "c", "f", "out");
		GIVES(0, "path", "c", "--cipher", "f");
		ASSERT_EQ(0, flock(fd, LOCK_UN));
	}
	close(fd);
	GIVES(0, "rm", "c", "f");
	victim_remove(&v);
	PASS();
}

/* An ordinary user: his own things are kept, and others' as far as they can. */
TEST as_an_ordinary_user(void)
{
	struct stat st;

	if (geteuid())
		SKIPm("only root can become another user");
	victim_make(&v);
	ASSERT_EQ(0, shell(&v, "chmod 777 . && chmod 644 key && chown -R %d:%d c",
	                   NOBODY, NOBODY));
	ASSERT_EQ(0, shell(&v, "mkdir src src/ro && echo 1 >src/ro/f && "
	                   "echo 2 >src/suid && chmod 444 src/ro/f && chmod 555 "
	                   "src/ro && chown -R %d:%d src && chown 0:0 src/suid && "
	                   "chmod 6755 src/suid && echo 3 >src/denied && chmod "
	                   "600 src/denied", NOBODY, NOBODY));
	without_user = NOBODY;
	GIVES(8, "import", "src/", "c");
	ASSERT(strstr(complained, "denied: Permission denied"));
	GIVES(8, "import", "src/", "c");
	GIVES(0, "export", "c", "/", "out");
	GIVES(0, "export", "c", "/", "out");
	ASSERT_EQ(0, stat(in_holder(&v, "out/ro"), &st));
	ASSERT_EQ(0555, (int)(st.st_mode & 07777));
	ASSERT_EQ(0, stat(in_holder(&v, "out/suid"), &st));
	ASSERT_EQ(0755, (int)(st.st_mode & 07777));
	ASSERT_EQ(NOBODY, (int)st.st_uid);
	ASSERT_EQ(0, shell(&v, "cmp out/ro/f src/ro/f"));
	/* A new file in the directory that cannot be written. */
	ASSERT_EQ(0, shell(&v, "echo n >src/ro/new && chown %d src/ro/new",
	                   NOBODY));
	GIVES(8, "import", "src/", "c");
	GIVES(0, "export", "c", "/", "out");
	ASSERT_EQ(0, shell(&v, "cmp out/ro/new src/ro/new"));
	without_user = 0;
	ASSERT_EQ(0, stat(where(&v, "ro"), &st));
	ASSERT_EQ(0555, (int)(st.st_mode & 07777));
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(there_and_back);
	RUN_TEST(nothing_is_copied_twice);
	RUN_TEST(names_and_arguments);
	RUN_TEST(import_goes_on_after_kills);
	RUN_TEST(export_goes_on_after_kills);
	RUN_TEST(both_go_on_where_links_are_forbidden);
	RUN_TEST(interrupted_from_the_keyboard);
	RUN_TEST(export_to_a_full_disk);
	RUN_TEST(import_to_a_full_disk);
	RUN_TEST(where_links_are_forbidden);
	RUN_TEST(a_volume_in_use);
	RUN_TEST(as_an_ordinary_user);
	GREATEST_MAIN_END();
}
