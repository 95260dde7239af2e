/*
 * Writing seals: --update, many files, odd names, a seal that is killed, refused
 * or cancelled, and where it is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <greatest.h>

#include "run.h"
#include "sealing.h"

static struct victim v;

enum { SIZE = 5000, NOBODY = 65534 };

static const char *seal_path(const char *mark)
{
	char name[64];

	snprintf(name, sizeof(name), "frondfs.seal%s", mark);
	return keep(join_path(v.root, name));
}

static char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY);
	size_t size = fd < 0 ? 0 : size_of(path);
	char *text = calloc(1, size + 1);

	need(fd >= 0 && read(fd, text, size) == (ssize_t)size, path);
	close(fd);
	return text;
}

static void wait_seconds(long seconds)
{
	struct timespec pause = { seconds, 0 };

	nanosleep(&pause, NULL);
}

static long reused(int *code)
{
	char *out;

	*code = seal_run(&v, (const char *[]){ "--update", "--json", NULL }, &out,
	                 NULL);
	return (long)summary_of(out, "reused");
}

TEST update(void)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	char *before, *after;
	struct stat st;
	int code;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	put_file_at(&v, "two", 2, SIZE);
	/* Nothing to take lines from. */
	ASSERT_EQ_FMT(0l, reused(&code), "%ld");
	/* Changed just before the seal: their times prove nothing. */
	ASSERT_EQ_FMT(0l, reused(&code), "%ld");
	wait_seconds(4);
	seal_now(&v);
	before = read_text(seal_path(""));
	/* The config, the root's id file, two files. */
	ASSERT_EQ_FMT(4l, reused(&code), "%ld");
	ASSERT_EQ_FMT(0, code, "%d");
	after = read_text(seal_path(""));
	ASSERT_STR_EQ(before, after);
	ASSERT(VERIFY_CLEAN(&v));
	free(after);
	/* Same size and modification time: the change time gives it away. */
	ASSERT_FALSE(stat(where(&v, "one"), &st));
	times[1] = st.st_mtim;
	overwrite_at(&v, "one", 3, 0, SIZE);
	ASSERT_FALSE(utimensat(AT_FDCWD, where(&v, "one"), times, 0));
	ASSERT_EQ_FMT(3l, reused(&code), "%ld");
	after = read_text(seal_path(""));
	ASSERT(strcmp(before, after));
	ASSERT(VERIFY_CLEAN(&v));
	free(after);
	/* Another file in its place, with all times: another inode. */
	copy_with_times(where(&v, "two"), join_path(v.holder, "two"));
	move_file(join_path(v.holder, "two"), where(&v, "two"));
	ASSERT_EQ_FMT(2l, reused(&code), "%ld");
	/* Without --update all is read. */
	seal_now(&v);
	ASSERT(VERIFY_CLEAN(&v));
	/* An old seal that somebody wrote to is not believed. */
	wait_seconds(4);
	seal_now(&v);
	flip_bit(seal_path(".sig"), 20, 0);
	ASSERT_EQ_FMT(0l, reused(&code), "%ld");
	ASSERT_EQ_FMT(0, code, "%d");
	ASSERT(VERIFY_CLEAN(&v));
	free(before);
	victim_remove(&v);
	PASS();
}

TEST many_files(void)
{
	enum { DIRS = 50, FILES = 100 };
	char path[64], *out, *text;
	const char *gone, *copy;
	size_t lines = 0;
	int code;

	victim_make(&v);
	for (unsigned d = 0; d < DIRS; d++) {
		snprintf(path, sizeof(path), "d%u", d);
		put_dir_at(&v, path);
		for (unsigned f = 0; f < FILES; f++) {
			snprintf(path, sizeof(path), "d%u/f%u", d, f);
			put_file_at(&v, path, d * FILES + f, 10 + f * 50);
		}
	}
	ASSERT_EQ(0, seal_run(&v, (const char *[]){ "--json", "--threads=4", NULL },
	                      &out, NULL));
	ASSERT_EQ_FMT((long)DIRS * FILES + DIRS + 2,
	              (long)summary_of(out, "files"), "%ld");
	text = read_text(seal_path(""));
	for (char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	free(text);
	ASSERT_EQ_FMT((size_t)DIRS * FILES + DIRS + 2, lines, "%zu");
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	ASSERT(VERIFY_CLEAN(&v));
	/* One of them, and one directory of them. */
	gone = keep(cipher_of(&v, "d33/f77"));
	copy = keep(cipher_of(&v, "d7"));
	ASSERT_FALSE(unlink(where(&v, "d33/f77")));
	move_file(where(&v, "d7"), join_path(where(&v, "d8"), copy));
	text = verify_run(&v, true, NULL, NULL, NULL, &code);
	ASSERT_EQ_FMT(4, code, "%d");
	ASSERT_EQ(text + strlen(text) - 1, strrchr(text, '\n'));
	ASSERT(strstr(text, "missing|d33/f77|") == text);
	ASSERT(strstr(text, gone));
	ASSERT(strstr(text, "\nrenamed|d8/"));
	free(text);
	victim_remove(&v);
	PASS();
}

/* Names that coreutils escapes; only a sync tool's copy can have such a one. */
TEST odd_names(void)
{
	static const char *const marks[] = {
		" (a\nb)", " \\ ", " \r", "\\n", " \xff\xfe", " *", "  ",
	};
	enum { MARKS = sizeof(marks) / sizeof(marks[0]) };
	const char *names[MARKS];
	char *text, *found;
	int code;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	for (size_t i = 0; i < MARKS; i++) {
		char *name;

		ASSERT(asprintf(&name, "%s%s", where(&v, "one"), marks[i]) > 0);
		names[i] = keep(name);
		free(name);
		copy_file(where(&v, "one"), names[i]);
		flip_bit(names[i], 4000, (unsigned)i);
	}
	seal_now(&v);
	text = read_text(seal_path(""));
	ASSERT(strstr(text, " (a\\nb)\n"));
	ASSERT(strstr(text, "\n\\"));
	free(text);
	ASSERT(b2sum_passes(v.root, "frondfs.seal"));
	ASSERT(VERIFY_CLEAN(&v));
	for (size_t i = 0; i < MARKS; i++)
		ASSERT_FALSE(unlink(names[i]));
	found = verify_run(&v, true, NULL, NULL, NULL, &code);
	ASSERT_EQ_FMT(30, code, "%d");
	ASSERT(strstr(found, "missing|"));
	free(found);
	victim_remove(&v);
	PASS();
}

TEST other_place(void)
{
	const char *place, *copy, *options[3] = { "-o", NULL, NULL };
	char *found;
	int code;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	place = options[1] = keep(join_path(v.holder, "my.b2"));
	ASSERT_EQ(0, seal_run(&v, options, NULL, NULL));
	ASSERT(access(seal_path(""), F_OK));
	ASSERT_FALSE(access(keep(join_path(v.holder, "my.b2.sig")), F_OK));
	ASSERT(b2sum_passes(v.root, place));
	found = verify_run(&v, true, NULL, place, NULL, &code);
	ASSERT_EQ_FMT(0, code, "%d");
	free(found);
	/* A copy of the volume elsewhere. */
	copy = keep(join_path(v.holder, "copy"));
	{
		const char *argv[] = { "/bin/cp", "-a", v.root, copy, NULL };
		char *out, *err;

		ASSERT_EQ(0, run_collect(argv, 0, &out, &err));
	}
	ASSERT(b2sum_passes(copy, place));
	found = verify_run(&v, false, NULL, place, copy, &code);
	ASSERT_EQ_FMT(0, code, "%d");
	free(found);
	/* Not over what is no file, nor by way of a link. */
	write_text(join_path(v.holder, "precious"), "precious");
	ASSERT_FALSE(symlink("precious", join_path(v.holder, "my.b2.tmp")));
	ASSERT_EQ_FMT(8, seal_run(&v, options, NULL, NULL), "%d");
	ASSERT_FALSE(unlink(join_path(v.holder, "my.b2.tmp")));
	ASSERT_FALSE(link(join_path(v.holder, "precious"),
	                  join_path(v.holder, "my.b2.tmp")));
	ASSERT_EQ_FMT(8, seal_run(&v, options, NULL, NULL), "%d");
	found = read_text(join_path(v.holder, "precious"));
	ASSERT_STR_EQ("precious", found);
	free(found);
	options[1] = "/no/such/folder/x";
	ASSERT_EQ_FMT(8, seal_run(&v, options, NULL, NULL), "%d");
	victim_remove(&v);
	PASS();
}

/* A new manifest beside an old signature, as a kill between two renames leaves
 * it: the signature is found under its temporary name, also by the next seal. */
TEST half_renamed(void)
{
	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	seal_now(&v);
	copy_file(seal_path(".sig"), join_path(v.holder, "old.sig"));
	put_file_at(&v, "two", 2, SIZE);
	seal_now(&v);
	move_file(seal_path(".sig"), seal_path(".sig.tmp"));
	ASSERT(VERIFY_CLEAN(&v));
	copy_file(join_path(v.holder, "old.sig"), seal_path(".sig"));
	ASSERT(VERIFY_CLEAN(&v));
	/* A seal that fails leaves it so, or settles it. */
	put_file_at(&v, "three", 3, SIZE);
	ASSERT_FALSE(symlink("nowhere", seal_path(".tmp")));
	ASSERT_EQ_FMT(8, seal_run(&v, NULL, NULL, NULL), "%d");
	ASSERT_FALSE(unlink(seal_path(".tmp")));
	ASSERT(VERIFY_SAYS(&v, 30, 30, { "added", NULL, "three",
	                   keep(cipher_of(&v, "three")), NULL, NULL }));
	seal_now(&v);
	ASSERT(access(seal_path(".sig.tmp"), F_OK));
	ASSERT(VERIFY_CLEAN(&v));
	/* Without it the pair is told to be none. */
	copy_file(join_path(v.holder, "old.sig"), seal_path(".sig"));
	{
		int code;
		const char *argv[] = { FROND_BINARY, "verify", v.root, NULL };
		char *out, *err;

		code = run_collect(argv, 0, &out, &err);
		ASSERT_EQ_FMT(31, code, "%d");
		ASSERT(strstr(err, "not of the same seal"));
	}
	victim_remove(&v);
	PASS();
}

/* The signature cannot be renamed, but the manifest was: the pair stays. */
TEST signature_in_the_way(void)
{
	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	ASSERT_FALSE(mkdir(seal_path(".sig"), 0755));
	ASSERT_EQ_FMT(8, seal_run(&v, NULL, NULL, NULL), "%d");
	ASSERT(access(seal_path(".tmp"), F_OK));
	ASSERT_FALSE(access(seal_path(".sig.tmp"), F_OK));
	ASSERT(VERIFY_CLEAN(&v));
	ASSERT_FALSE(rmdir(seal_path(".sig")));
	seal_now(&v);
	ASSERT(access(seal_path(".sig.tmp"), F_OK));
	ASSERT(VERIFY_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

static pid_t seal_begin(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		execl(FROND_BINARY, "frondfs", "seal", "--keyfile", v.keyfile,
		      v.root, (char *)NULL);
		_exit(127);
	}
	need(pid > 0, "fork");
	return pid;
}

/* A file that takes minutes to read. */
static const char *put_huge_file(void)
{
	const char *path;

	put_file_at(&v, "huge", 1, SIZE);
	path = keep(where(&v, "huge"));
	cut_file(path, 200ull << 30);
	return path;
}

/* A kill between the renames, and then one in the next seal. */
TEST killed_twice(void)
{
	struct timespec pause = { 0, 300 * 1000 * 1000 };
	const char *huge;
	int status;
	pid_t pid;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	seal_now(&v);
	move_file(seal_path(".sig"), seal_path(".sig.tmp"));
	huge = put_huge_file();
	pid = seal_begin();
	/* Until it writes. */
	for (int i = 0; i < 100 && access(seal_path(".tmp"), F_OK); i++)
		nanosleep(&pause, NULL);
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	ASSERT(WIFSIGNALED(status));
	ASSERT_FALSE(access(seal_path(".tmp"), F_OK));
	ASSERT_FALSE(unlink(huge));
	ASSERT(VERIFY_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

/* At any moment: there is a whole seal, the old or the new one. */
TEST killed(void)
{
	unsigned dead = 0;
	char path[32];
	int code, status;

	victim_make(&v);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "f%u", i);
		put_file_at(&v, path, i, SIZE);
	}
	seal_now(&v);
	for (unsigned i = 0; i < 40; i++) {
		struct timespec pause = { 0, (long)i * 700 * 1000 };
		pid_t pid = seal_begin();
		char *found;

		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		need(waitpid(pid, &status, 0) == pid, "waitpid");
		dead += WIFSIGNALED(status);
		found = verify_run(&v, true, NULL, NULL, NULL, &code);
		ASSERT_EQ_FMT(0, code, "%d");
		ASSERT_STR_EQ("", found);
		free(found);
	}
	ASSERT(dead > 5);
	/* The next one that is left alone takes away what is left. */
	seal_now(&v);
	ASSERT(access(seal_path(".tmp"), F_OK));
	ASSERT(access(seal_path(".sig.tmp"), F_OK));
	ASSERT(VERIFY_CLEAN(&v));
	victim_remove(&v);
	PASS();
}

TEST cancelled(void)
{
	struct timespec pause = { 0, 400 * 1000 * 1000 };
	char *before, *after;
	int status;
	pid_t pid;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	seal_now(&v);
	before = read_text(seal_path(""));
	put_huge_file();
	pid = seal_begin();
	nanosleep(&pause, NULL);
	kill(pid, SIGINT);
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	ASSERT(WIFEXITED(status));
	ASSERT_EQ_FMT(32, WEXITSTATUS(status), "%d");
	after = read_text(seal_path(""));
	ASSERT_STR_EQ(before, after);
	ASSERT(access(seal_path(".tmp"), F_OK));
	ASSERT(access(seal_path(".sig.tmp"), F_OK));
	free(before);
	free(after);
	victim_remove(&v);
	PASS();
}

/* On a terminal, and what is shown there is taken away again. */
TEST shows_progress(void)
{
	static const struct run_step none[] = { { NULL, NULL } };
	static struct run r;

	victim_make(&v);
	put_file_at(&v, "large", 1, SIZE);
	cut_file(where(&v, "large"), 3ull << 30);
	run_on_terminal(&r, none, "seal", "--keyfile", v.keyfile, v.root, NULL);
	ASSERT_EQ_FMT(0, r.code, "%d");
	ASSERT(strstr(r.out, "files, "));
	ASSERT(strstr(r.out, " of 3.0 GiB, "));
	ASSERT(strstr(r.out, " left"));
	ASSERT(strstr(r.out, "\r\033[K3 files, 0 directories, 0 links sealed"));
	run_on_terminal(&r, none, "verify", "--no-progress", v.root, NULL);
	ASSERT_EQ_FMT(0, r.code, "%d");
	ASSERT_FALSE(strstr(r.out, "\033"));
	run_on_terminal(&r, none, "verify", "-q", v.root, NULL);
	ASSERT_EQ_FMT(0, r.code, "%d");
	ASSERT_STR_EQ("", r.out);
	run_clean();
	victim_remove(&v);
	PASS();
}

TEST refused(void)
{
	const char *argv[] = { FROND_BINARY, "seal", "--keyfile", v.keyfile,
	                       v.root, NULL };
	const char *keyless[] = { FROND_BINARY, "verify", v.root, NULL };
	char *out, *err, *before, *after;
	int fd;

	victim_make(&v);
	put_file_at(&v, "one", 1, SIZE);
	put_file_at(&v, "two", 2, SIZE);
	seal_now(&v);
	before = read_text(seal_path(""));
	/* While it is mounted read-write. */
	fd = open(v.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_FALSE(flock(fd, LOCK_EX));
	ASSERT_EQ_FMT(24, run_collect(argv, 0, &out, &err), "%d");
	ASSERT_FALSE(flock(fd, LOCK_UN));
	/* While another seal is written there. */
	close(fd);
	fd = open(seal_path(".tmp"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ASSERT_FALSE(flock(fd, LOCK_EX));
	ASSERT_EQ_FMT(24, run_collect(argv, 0, &out, &err), "%d");
	ASSERT_FALSE(access(seal_path(".tmp"), F_OK));
	close(fd);
	ASSERT_FALSE(unlink(seal_path(".tmp")));
	ASSERT_EQ_FMT(16, seal_run(&v, (const char *[]){ "extra", NULL }, NULL,
	                           NULL), "%d");
	ASSERT_EQ_FMT(16, seal_run(&v, (const char *[]){ "--threads=0", NULL },
	                           NULL, NULL), "%d");
	/* A file that the user may not read: all or nothing. */
	if (geteuid() == 0) {
		char *found = NULL;

		need(!chmod(v.keyfile, 0644) && !chmod(v.root, 0777) &&
		     !chmod(join_path(v.root, "frondfs.conf"), 0644), "chmod");
		ASSERT_FALSE(chmod(where(&v, "one"), 0));
		ASSERT_EQ_FMT(28, run_collect(argv, NOBODY, &out, &err), "%d");
		ASSERT(strstr(err, cipher_of(&v, "one")));
		ASSERT_EQ_FMT(64, run_collect(keyless, NOBODY, &out, &err),
		              "%d");
		ASSERT(strstr(out, "no permission"));
		/* With something missing as well. */
		ASSERT_FALSE(unlink(where(&v, "two")));
		ASSERT_EQ_FMT(94, run_collect(keyless, NOBODY, &out, &err),
		              "%d");
		free(found);
	}
	after = read_text(seal_path(""));
	ASSERT_STR_EQ(before, after);
	free(before);
	free(after);
	victim_remove(&v);
	PASS();
}

/* A directory that cannot be listed is skipped, not missing. */
TEST unreadable_directory(void)
{
	const char *argv[] = { FROND_BINARY, "verify", "--json", v.root, NULL };
	char *out, *err;

	if (geteuid() != 0)
		SKIPm("needs to be root, to become another user");
	victim_make(&v);
	put_dir_at(&v, "d");
	put_file_at(&v, "d/one", 1, SIZE);
	put_file_at(&v, "zero", 1, SIZE);
	need(!chmod(v.root, 0777) &&
	     !chmod(join_path(v.root, "frondfs.conf"), 0644), "chmod");
	seal_now(&v);
	ASSERT_FALSE(chmod(where(&v, "d"), 0700));
	ASSERT_EQ_FMT(64, run_collect(argv, NOBODY, &out, &err), "%d");
	ASSERT(strstr(out, "no permission"));
	ASSERT_FALSE(strstr(out, "missing"));
	ASSERT_EQ_FMT((long)1, (long)summary_of(out, "skipped"), "%ld");
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(update);
	RUN_TEST(many_files);
	RUN_TEST(odd_names);
	RUN_TEST(other_place);
	RUN_TEST(half_renamed);
	RUN_TEST(signature_in_the_way);
	RUN_TEST(killed_twice);
	RUN_TEST(killed);
	RUN_TEST(shows_progress);
	RUN_TEST(cancelled);
	RUN_TEST(refused);
	RUN_TEST(unreadable_directory);
	GREATEST_MAIN_END();
}
