/*
 * frondfs fsck as a command: exit codes, refusals, PATH arguments, permissions,
 * cancelling, and what it writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"

static struct victim v;

#define WHOLE -1, -1, -1, -1

enum { SIZE = 5000, NOBODY = 65534 };

static void begin(void)
{
	victim_make(&v);
	put_dir_at(&v, "a");
	put_dir_at(&v, "a/sub");
	put_dir_at(&v, "b");
	put_file_at(&v, "a/one", 1, SIZE);
	put_file_at(&v, "a/sub/deep", 2, SIZE);
	put_file_at(&v, "b/two", 3, SIZE);
}

/* Run fsck with further arguments before DIR, in plain output. */
static int plain(char **out, char **err, const char *option, const char *path)
{
	const char *argv[8] = { FROND_BINARY, "fsck", "--keyfile", v.keyfile };
	int n = 4;

	if (option)
		argv[n++] = option;
	argv[n++] = v.root;
	if (path)
		argv[n++] = path;
	return run_collect(argv, 0, out, err);
}

static bool paths_give(int code, const char *findings, const char *one,
                       const char *two)
{
	const char *const paths[] = { one, two, NULL };
	struct report r;
	bool good;

	fsck_run(&r, &v, 0, NULL, paths);
	good = r.code == code && !strcmp(r.findings, findings);
	if (!good)
		printf("code %d, wanted %d; found:\n%swanted:\n%s%s", r.code,
		       code, r.findings, findings, r.errors);
	report_free(&r);
	return good;
}

static const char *line(const char *class, const char *path, const char *where_)
{
	static char lines[4][2000];
	static unsigned turn;
	char *l = lines[turn++ % 4];

	snprintf(l, sizeof(lines[0]), "%s|%s|%s|%s\n", class, path,
	         cipher_of(&v, path), where_);
	return l;
}

static const char *last_part(const char *path)
{
	return strrchr(path, '/') + 1;
}

TEST path_arguments(void)
{
	struct report r;
	char two[4000];
	const char *const everything[] = { "/", NULL };

	begin();
	flip_bit(where(&v, "a/sub/deep"), 100, 0);
	flip_bit(where(&v, "b/two"), 4100, 0);
	ASSERT(paths_give(4, line("corrupt sector", "b/two", "1-1|4000-5000"),
	                  "b", NULL));
	ASSERT(paths_give(4, line("corrupt sector", "b/two", "1-1|4000-5000"),
	                  "/b//two", NULL));
	ASSERT(paths_give(4, line("corrupt sector", "a/sub/deep", "0-0|0-4000"),
	                  "./a/./sub/", NULL));
	ASSERT(paths_give(0, "", "a/one", NULL));
	snprintf(two, sizeof(two), "%s%s",
	         line("corrupt sector", "a/sub/deep", "0-0|0-4000"),
	         line("corrupt sector", "b/two", "1-1|4000-5000"));
	ASSERT(paths_give(4, two, "b/two", "a"));
	ASSERT(paths_give(4, two, "/", NULL));
	/* Not there; a file as a directory. */
	ASSERT(paths_give(8, "", "a/nothing", NULL));
	ASSERT(paths_give(8, "", "a/one/below", NULL));
	/* What was found before stays found: the codes are added up. */
	ASSERT(paths_give(12, line("corrupt sector", "b/two", "1-1|4000-5000"),
	                  "b", "nothing"));
	fsck_run(&r, &v, 0, NULL, (const char *const[]){ "a/nothing", NULL });
	ASSERT(strstr(r.errors, "\"a/nothing\""));
	report_free(&r);
	fsck_run(&r, &v, 0, NULL, (const char *const[]){ "a/../b", NULL });
	ASSERT_EQ(8, r.code);
	ASSERT(strstr(r.errors, "a/../b"));
	report_free(&r);
	fsck_run(&r, &v, 0, NULL, everything);
	ASSERT_EQ(3, (int)r.files);
	ASSERT_EQ(4, (int)r.directories);
	report_free(&r);
	/* Below a directory whose names cannot be read. */
	ASSERT_EQ(0, unlink(id_file(&v, "a")));
	ASSERT(paths_give(4, line("missing directory id", "a", "|"),
	                  "a/sub/deep", NULL));
	victim_remove(&v);
	PASS();
}

TEST in_use(void)
{
	char *out, *err;
	int root;

	begin();
	/* As a read-write mount holds it. */
	root = open(v.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ASSERT_EQ(0, flock(root, LOCK_EX));
	ASSERT_EQ(24, plain(&out, &err, NULL, NULL));
	ASSERT_STR_EQ("", out);
	ASSERT(strstr(err, v.root));
	ASSERT(strstr(err, "umount"));
	/* Another check does not stand in the way. */
	ASSERT_EQ(0, flock(root, LOCK_SH));
	ASSERT(FSCK_CLEAN(&v));
	close(root);
	victim_remove(&v);
	PASS();
}

TEST config_damaged_or_missing(void)
{
	const char *config;
	char *out, *err;
	uint64_t size;

	begin();
	config = keep(join_path(v.root, "frondfs.conf"));
	size = size_of(config);
	for (uint64_t i = 3; i < size; i += 61) {
		int code;

		flip_bit(config, i, 0);
		code = plain(&out, &err, NULL, NULL);
		if (code != 19 && code != 20 && code != 21)
			printf("byte %d: code %d, %s\n", (int)i, code, err);
		ASSERT(code == 19 || code == 20 || code == 21);
		ASSERT_STR_EQ("", out);
		ASSERT(strstr(err, v.root));
		flip_bit(config, i, 0);
	}
	ASSERT(FSCK_CLEAN(&v));
	cut_file(config, size / 2);
	ASSERT_EQ(19, plain(&out, &err, NULL, NULL));
	ASSERT_EQ(0, unlink(config));
	ASSERT_EQ(18, plain(&out, &err, NULL, NULL));
	ASSERT(strstr(err, "recover"));
	victim_remove(&v);
	PASS();
}

TEST usage(void)
{
	const char *const none[] = { FROND_BINARY, "fsck", NULL };
	char *out, *err;

	begin();
	ASSERT_EQ(16, run_collect(none, 0, &out, &err));
	ASSERT_EQ(16, plain(&out, &err, "--no-such-option", NULL));
	ASSERT_EQ(16, plain(&out, &err, "--threads=0", NULL));
	ASSERT_EQ(16, plain(&out, &err, "--threads=65", NULL));
	ASSERT_EQ(16, plain(&out, &err, "--threads=", NULL));
	ASSERT_EQ(16, plain(&out, &err, "--threads=2x", NULL));
	ASSERT_EQ(0, plain(&out, &err, "--help", NULL));
	ASSERT(strstr(out, "Usage: frondfs fsck"));
	ASSERT_EQ(0, plain(&out, &err, "--threads=64", NULL));
	write_text(v.keyfile, "another key file: 0123456789abcdef");
	ASSERT_EQ(17, plain(&out, &err, NULL, NULL));
	ASSERT_STR_EQ("", out);
	victim_remove(&v);
	PASS();
}

TEST quiet_and_plain_output(void)
{
	char *out, *err;

	begin();
	write_text(join_path(v.root, "README"), "foreign");
	ASSERT_EQ(0, plain(&out, &err, NULL, NULL));
	ASSERT(strstr(out, "note: foreign entry"));
	ASSERT(strstr(out, "3 files, 4 directories, 0 links checked"));
	ASSERT(strstr(out, "\nclean\n"));
	ASSERT_STR_EQ("", err);
	ASSERT_EQ(0, plain(&out, &err, "-q", NULL));
	ASSERT_STR_EQ("", out);
	ASSERT_STR_EQ("", err);
	flip_bit(where(&v, "b/two"), 4100, 0);
	ASSERT_EQ(4, plain(&out, &err, "-q", NULL));
	ASSERT(!strstr(out, "foreign"));
	ASSERT(!strstr(out, "checked"));
	ASSERT(strstr(out, "error: corrupt sector: \"b/two\", sector 1, bytes "
	              "4000 to 4999\n    ciphertext: \""));
	ASSERT(strstr(out, where(&v, "b/two")));
	ASSERT_STR_EQ("", err);
	ASSERT_EQ(4, plain(&out, &err, "-v", NULL));
	ASSERT(strstr(out, "    advice: "));
	ASSERT(strstr(out, "error: corrupt sector: 1\n"));
	ASSERT(!strstr(out, "clean\n"));
	victim_remove(&v);
	PASS();
}

/* A file's name must not be able to write to the terminal. */
TEST names_with_control_characters(void)
{
	static const char evil[] = "a\x1b[2J\nerror: \x7f\xc2\x9b" "2J\r\"\\\xff\xc3\xa9";
	struct report r;
	char *out, *err;

	begin();
	put_file_at(&v, evil, 1, SIZE);
	flip_bit(where(&v, evil), 4100, 0);
	put_xattr_at(&v, "a/one", "user.\x1b]0;title\x07", "value");
	{
		char list[500], value[100];
		ssize_t n;

		ASSERT(listxattr(where(&v, "a/one"), list, sizeof(list)) > 0);
		n = getxattr(where(&v, "a/one"), list, value, sizeof(value));
		ASSERT(n > 0);
		value[n - 1] ^= 1;
		ASSERT_EQ(0, setxattr(where(&v, "a/one"), list, value,
		                      (size_t)n, 0));
	}
	ASSERT_EQ(4, plain(&out, &err, NULL, NULL));
	for (const char *p = out; *p; p++)
		ASSERT((unsigned char)*p >= 0x20 || *p == '\n');
	ASSERT(!strstr(out, "\x7f") && !strstr(out, "\xc2\x9b") &&
	       !strstr(out, "\xff"));
	ASSERT(strstr(out, "\"a\\x1b[2J\\x0aerror: \\x7f\\xc2\\x9b2J\\x0d\\\"\\\\"
	              "\\xff\xc3\xa9\", sector 1, bytes"));
	ASSERT(strstr(out, "the value of user.\\x1b]0;title\\x07"));
	/* JSON gives the exact bytes beside it. */
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT(strstr(r.json, "\"path_hex\":\"611b5b324a0a6572726f723a207fc29b32"
	              "4a0d225cffc3a9\""));
	report_free(&r);
	victim_remove(&v);
	PASS();
}

/* As an ordinary user: what may not be read is skipped, and no damage. */
TEST without_permission(void)
{
	char command[700], long_name[201];
	uid_t user = geteuid() == 0 ? NOBODY : 0;
	const char *deep, *one;
	struct report r;
	char want[6000];

	begin();
	memset(long_name, 'n', 200);
	long_name[200] = '\0';
	put_file_at(&v, long_name, 1, 10);
	put_dir_at(&v, "shut");
	put_dir_at(&v, "half");
	put_file_at(&v, "half/inside", 1, 10);
	snprintf(want, sizeof(want),
	         "no permission|a/one|%s||\n"
	         "no permission|%s|%s||\n"
	         "no permission|half|%s||\n"
	         "no permission|shut|%s||\n", cipher_of(&v, "a/one"),
	         last_part(where(&v, long_name)), cipher_of(&v, long_name),
	         cipher_of(&v, "half"), cipher_of(&v, "shut"));
	deep = keep(where(&v, "a/sub/deep"));
	one = keep(where(&v, "a/one"));
	ASSERT_EQ(0, chmod(one, 0));
	ASSERT_EQ(0, chmod(name_file(&v, long_name), 0));
	ASSERT_EQ(0, chmod(where(&v, "shut"), 0));
	ASSERT_EQ(0, chmod(where(&v, "half"), 0400));
	if (user) {
		snprintf(command, sizeof(command), "chown -R %d %s", NOBODY,
		         v.holder);
		ASSERT_EQ(0, system(command));
	}
	fsck_run(&r, &v, user, NULL, NULL);
	ASSERT_EQ(64, r.code);
	ASSERT_STR_EQ(want, r.findings);
	ASSERT_EQ(4, (int)r.skipped);
	ASSERT_EQ(0, (int)r.damaged);
	report_free(&r);
	/* Together with damage. */
	flip_bit(deep, 4100, 0);
	fsck_run(&r, &v, user, NULL, NULL);
	ASSERT_EQ(68, r.code);
	report_free(&r);
	/* A volume that may not be entered at all. */
	if (user) {
		ASSERT_EQ(0, chown(join_path(v.root, "frondfs.conf"), 0, 0));
		fsck_run(&r, &v, user, NULL, NULL);
		ASSERT_EQ(28, r.code);
		report_free(&r);
	}
	snprintf(command, sizeof(command), "chmod -R u+rwX %s", v.holder);
	ASSERT_EQ(0, system(command));
	victim_remove(&v);
	PASS();
}

/*
 * The check is held up by a pipe that nobody reads: with more findings than
 * fit in it, it is in the middle of its work for certain.
 */
TEST cancelled(int signal)
{
	enum { MANY = 3000 };
	int ends[2], status;
	size_t size = 0, lines = 0, room = 4 << 20;
	char *all = malloc(room), *last_line, *at;
	ssize_t n;
	pid_t pid;

	begin();
	for (int i = 0; i < MANY; i++) {
		char name[400];

		snprintf(name, sizeof(name), "%s/foreign file number %d",
		         v.root, i);
		close(open(name, O_CREAT | O_WRONLY, 0644));
	}
	ASSERT_EQ(0, pipe2(ends, O_CLOEXEC));
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execl(FROND_BINARY, "frondfs", "fsck", "--json", "--keyfile",
		      v.keyfile, v.root, NULL);
		_exit(127);
	}
	close(ends[1]);
	/* The first findings come; then it waits for us. */
	n = read(ends[0], all, 1000);
	ASSERT(n > 0);
	size = (size_t)n;
	usleep(300000);
	ASSERT_EQ(0, kill(pid, signal));
	usleep(100000);
	while ((n = read(ends[0], all + size, room - size - 1)) > 0)
		size += (size_t)n;
	all[size] = '\0';
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT(WIFEXITED(status));
	ASSERT_EQ(32, WEXITSTATUS(status));
	for (at = all, last_line = all; (at = strchr(at, '\n')); at++, lines++) {
		if (at[1]) /* no line was cut by the signal */
			ASSERT_EQ('{', at[1]);
		if (at[1])
			last_line = at + 1;
	}
	ASSERT(lines > 10 && lines < MANY);
	ASSERT(strstr(last_line, "\"summary\":true"));
	ASSERT(strstr(last_line, "\"exit_code\":32"));
	close(ends[0]);
	free(all);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(path_arguments);
	RUN_TEST(in_use);
	RUN_TEST(config_damaged_or_missing);
	RUN_TEST(usage);
	RUN_TEST(quiet_and_plain_output);
	RUN_TEST(names_with_control_characters);
	RUN_TEST(without_permission);
	RUN_TESTp(cancelled, SIGINT);
	RUN_TESTp(cancelled, SIGTERM);
	GREATEST_MAIN_END();
}
