/* frondfs init, and where passphrases come from. */
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"
#include "tools/exitcode.h"

/* Cheap, where the cost is not what is tested. */
#define CHEAP "--scrypt-memory", "1"

static struct run r;

static void fresh(void *unused)
{
	(void)unused;
	run_shell("rm -rf -- *");
	run_put_text("pw", "correct horse\n");
}

static bool opens_with(const char *passfile)
{
	struct run try;

	/* Removing a slot that is not there: unlocks, and changes nothing. */
	run(&try, NULL, "slot", "remove", "--passfile", passfile, "v", "999", NULL);
	return strstr(try.err, "has no slot 999") != NULL;
}

TEST makes_a_volume(void)
{
	struct stat st;
	char path[200];
	const char *key;

	run(&r, NULL, "init", "--passfile", "pw", "v", NULL);
	ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
	snprintf(path, sizeof(path), "%s/v", run_folder());
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(0700u, st.st_mode & 07777u);
	ASSERT_EQ(0, run_shell("test $(ls v | wc -l) = 2 && test -f v/frondfs.dir.*"
	                       " && test \"$(stat -c %a v/frondfs.conf)\" = 600"));
	ASSERT(opens_with("pw"));
	/* What was printed is a recovery key that opens it. */
	key = strstr(r.out, "\n\n");
	ASSERT(key && strstr(key + 2, "\n\n"));
	*strstr(key + 2, "\n\n") = '\0';
	run_put_text("rk", key);
	run(&r, NULL, "slot", "remove", "--recovery-key-file", "rk", "v", "999",
	    NULL);
	ASSERT(strstr(r.err, "has no slot 999"));
	PASS();
}

TEST recovery_key_file(void)
{
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file", "rk",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_STR_EQ("", r.out);
	ASSERT_EQ(0, run_shell("test $(stat -c %a rk) = 600"));
	run(&r, NULL, "slot", "remove", "--recovery-key-file", "rk", "v", "999",
	    NULL);
	ASSERT(strstr(r.err, "has no slot 999"));
	/* An existing one is kept, and nothing is made. */
	run_put_text("precious", "x");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file",
	    "precious", "w", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	ASSERT_FALSE(run_exists("w"));
	/* Not beside what it opens. */
	run_shell("mkdir w");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file",
	    "w/rk", "w", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	ASSERT_EQ(0, run_shell("test -z \"$(ls -A w)\""));
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file",
	    "x/rk", "x", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	ASSERT_FALSE(run_exists("x"));
	/* Nor where it cannot be written: then there is no volume either. */
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file",
	    "nowhere/rk", "y", NULL);
	ASSERT_EQ(EXIT_OPERATION, r.code);
	ASSERT_FALSE(run_exists("y"));
	PASS();
}

TEST refuses_what_is_not_empty(void)
{
	run_shell("mkdir v && echo hi > v/letter");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_NOT_EMPTY, r.code);
	ASSERT(strstr(r.err, "letter"));
	ASSERT_EQ(0, run_shell("test \"$(ls -A v)\" = letter"));
	run_shell("mv v/letter $(printf 'v/\\033]0;\\302\\233')");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT(strstr(r.err, "'?]0;?" "?'")); /* no orders to the terminal */
	run_shell("rm v/*");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run_shell("cp v/frondfs.conf kept");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_NOT_EMPTY, r.code);
	ASSERT(strstr(r.err, "already"));
	ASSERT_EQ(0, run_shell("cmp kept v/frondfs.conf"));
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "pw", NULL);
	ASSERT_EQ(EXIT_OPERATION, r.code);
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "a/b", NULL);
	ASSERT_EQ(EXIT_OPERATION, r.code);
	PASS();
}

TEST options(void)
{
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--cipher", "xchacha20",
	    "--name-max", "143", "--label", "my label", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("grep -q '\"xchacha20\"' v/frondfs.conf && "
	                       "grep -q '\"name_max\": 143' v/frondfs.conf && "
	                       "grep -q '\"my label\"' v/frondfs.conf && "
	                       "grep -q '\"n\": 1024' v/frondfs.conf"));
	ASSERT(opens_with("pw"));
	static const char *const wrong[][2] = {
		{ "--cipher", "rot13" }, { "--name-max", "60" },
		{ "--name-max", "256" }, { "--name-max", "x" },
		{ "--scrypt-memory", "3" }, { "--scrypt-memory", "2048" },
		{ "--scrypt-memory", "0" }, { "--label", "a\"b" },
		{ "--passfd", "77" }, { "--passfd", "x" }, { "--nonsense", "1" },
		{ "--keyfile", "pw" }, /* a second source */
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		run(&r, NULL, "init", "--passfile", "pw", wrong[i][0], wrong[i][1],
		    "w", NULL);
		ASSERT_EQm(wrong[i][1], EXIT_USAGE, r.code);
		ASSERT_FALSE(run_exists("w"));
	}
	run(&r, NULL, "init", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	run(&r, NULL, "init", "--passfile", "pw", "w", "x", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	/* Names that look like options or hold odd characters. */
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--", "-a, b%s\"'\\", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(run_exists("-a, b%s\"'\\/frondfs.conf"));
	PASS();
}

TEST passphrase_files(void)
{
	static const struct {
		const char *bytes;
		size_t size;
		int code;
		const char *says;
	} cases[] = {
		{ "correct horse", 13, EXIT_OK, "" },
		{ "correct horse\n", 14, EXIT_OK, "" },
		{ "correct horse\r\n", 15, EXIT_OK, "" },
		{ "correct horse\r", 14, EXIT_WRONG_KEY, "no slot opens" },
		{ " correct horse\n", 15, EXIT_WRONG_KEY, "no slot opens" },
		{ "correct horse \n", 15, EXIT_WRONG_KEY, "no slot opens" },
		{ "correct horse\0", 14, EXIT_NO_PASSPHRASE, "NUL" },
		{ "c\0o\0r\0", 6, EXIT_NO_PASSPHRASE, "NUL" },
		{ "correct horse\n\n", 15, EXIT_NO_PASSPHRASE, "has 2 lines" },
		{ "\ncorrect horse\n", 15, EXIT_NO_PASSPHRASE, "has 2 lines" },
		{ "a\nb\r\nc\nd\n", 9, EXIT_NO_PASSPHRASE, "has 4 lines; a "
		  "passphrase file has one line" },
		{ "", 0, EXIT_NO_PASSPHRASE, "is empty" },
		{ "\n", 1, EXIT_NO_PASSPHRASE, "is empty" },
		{ "\r\n", 2, EXIT_NO_PASSPHRASE, "is empty" },
	};

	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_put("try", cases[i].bytes, cases[i].size);
		run(&r, NULL, "slot", "add", "--passfile", "try", "--recovery-key",
		    "v", NULL);
		ASSERT_EQ_FMTm(cases[i].bytes, (int)cases[i].code, r.code, "%d");
		ASSERT(strstr(r.err, cases[i].says));
	}
	run(&r, NULL, "slot", "add", "--passfile", "none", "--recovery-key", "v",
	    NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	PASS();
}

TEST long_and_odd_passphrases(void)
{
	char text[3000];

	memset(text, 'x', sizeof(text));
	run_put("long", text, 1024);
	run_put("longer", text, 1025);
	run_put("longest", text, sizeof(text));
	run_put_text("odd", "p\xc3\xa4ss \xa7 , % \" ' \\ -\x01\n");
	run(&r, NULL, "init", CHEAP, "--passfile", "longer", "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT(strstr(r.err, "longer than 1024"));
	ASSERT_FALSE(run_exists("v"));
	run(&r, NULL, "init", CHEAP, "--passfile", "long", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens_with("long"));
	text[1023] = 'y'; /* the last byte counts */
	run_put("other", text, 1024);
	ASSERT_FALSE(opens_with("other"));
	run(&r, NULL, "slot", "add", CHEAP, "--passfile", "long", "--new-passfile",
	    "odd", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens_with("odd"));
	PASS();
}

TEST descriptors_and_stdin(void)
{
	struct run_how with_input = { .input = "correct horse\n" };
	struct run_how no_input = { .input_forbidden = true };

	run(&r, &with_input, "init", CHEAP, "--passfd", "0", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens_with("pw"));
	/* With a file, stdin is not touched; without either, nothing waits. */
	run(&r, &no_input, "slot", "add", "--passfile", "pw", "--recovery-key", "v",
	    NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, &no_input, "slot", "add", "--recovery-key", "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT(strstr(r.err, "no terminal") && strstr(r.err, "--passfile"));
	run(&r, &no_input, "init", "w", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT_FALSE(run_exists("w"));
	/* Stdin is not taken for a passphrase unasked. */
	run(&r, &with_input, "slot", "add", "--recovery-key", "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT_EQ(0, run_shell(FROND_BINARY " slot add --passfd 7 --recovery-key v "
	                       "7<pw >/dev/null"));
	PASS();
}

TEST key_files(void)
{
	static char big[1024 * 1024 + 1];

	memset(big, 7, sizeof(big));
	run_put("kf", "0123456789abcdef", 16);
	run_put("short", "0123456789abcde", 15);
	run_put("big", big, sizeof(big) - 1);
	run_put("bigger", big, sizeof(big));
	run_put("empty", "", 0);
	static const char *const refused[] = { "short", "bigger", "empty", "none" };
	for (size_t i = 0; i < 4; i++) {
		run(&r, NULL, "init", "--keyfile", refused[i], "v", NULL);
		ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
		ASSERT_FALSE(run_exists("v"));
	}
	run(&r, NULL, "init", "--keyfile", "kf", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("! grep -q '\"n\"' v/frondfs.conf"));
	run(&r, NULL, "slot", "add", "--keyfile", "kf", "--new-keyfile", "big", "v",
	    NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "slot", "remove", "--keyfile", "big", "v", "0", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "1", NULL);
	ASSERT_EQ(EXIT_WRONG_KEY, r.code);
	/* The volume has no passphrase: said before one is asked for. */
	run(&r, NULL, "passwd", "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT(strstr(r.err, "--keyfile"));
	PASS();
}

TEST prompt(void)
{
	struct run_step twice[] = {
		{ "new passphrase: ", "p\xc3\xa4ss w\xc3\xb6rd\n" },
		{ "again: ", "p\xc3\xa4ss w\xc3\xb6rd\n" },
		{ NULL, NULL },
	};
	struct run_step differ[] = {
		{ "new passphrase: ", "secret-one\n" },
		{ "again: ", "secret-two\n" },
		{ NULL, NULL },
	};
	struct run_step none[] = { { "new passphrase: ", "\n" }, { NULL, NULL } };

	run_on_terminal(&r, differ, "init", CHEAP, "v", NULL);
	ASSERT_EQ_FMT(EXIT_NO_PASSPHRASE, r.code, "%d");
	ASSERT(strstr(r.out, "differ"));
	ASSERT_FALSE(strstr(r.out, "secret")); /* no echo */
	ASSERT_FALSE(run_exists("v"));
	run_on_terminal(&r, none, "init", CHEAP, "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT_FALSE(run_exists("v"));
	run_on_terminal(&r, twice, "init", CHEAP, "v", NULL);
	ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
	ASSERT(strstr(r.out, "recovery key of this volume"));
	ASSERT_FALSE(strstr(r.out, "w\xc3\xb6rd"));
	run_put_text("typed", "p\xc3\xa4ss w\xc3\xb6rd\n");
	ASSERT(opens_with("typed"));
	PASS();
}

TEST interrupted_prompt(void)
{
	struct run_step first[] = { { "new passphrase: ", "half\x03" },
	                            { NULL, NULL } };
	struct run_step second[] = { { "new passphrase: ", "whole\n" },
	                             { "again: ", "\x03" }, { NULL, NULL } };
	struct run_step end[] = { { "new passphrase: ", "\x04" }, { NULL, NULL } };

	run_on_terminal(&r, first, "init", CHEAP, "v", NULL);
	ASSERT_EQ_FMT(EXIT_CANCELLED, r.code, "%d");
	ASSERT_FALSE(run_exists("v"));
	run_on_terminal(&r, second, "init", CHEAP, "v", NULL);
	ASSERT_EQ(EXIT_CANCELLED, r.code);
	ASSERT_FALSE(run_exists("v"));
	run_on_terminal(&r, end, "init", CHEAP, "v", NULL);
	ASSERT_EQ(EXIT_CANCELLED, r.code);
	ASSERT_FALSE(run_exists("v"));
	PASS();
}

TEST continues_after_a_killed_init(void)
{
	run_shell("mkdir v && echo x > v/frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA && "
	          "echo x > v/frondfs.tmp.conf && echo > v/frondfs.tmp.nnnn");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("test $(ls -A v | wc -l) = 2 && "
	                       "! test -e v/frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA"));
	ASSERT(opens_with("pw"));
	PASS();
}

/* A random kill of the real thing, as often as there is time for. */
TEST killed_for_real(void)
{
	int none = 0, whole = 0;

	for (int i = 0; i < 40; i++) {
		char command[300];

		run_shell("rm -rf v");
		snprintf(command, sizeof(command),
		         "timeout --foreground -s KILL 0.%03d " FROND_BINARY " init -q "
		         "--scrypt-memory 1 --passfile pw v >/dev/null 2>&1",
		         4 + i);
		run_shell(command);
		if (run_exists("v/frondfs.conf")) {
			whole++;
		} else {
			none++;
			run(&r, NULL, "init", CHEAP, "--passfile", "pw", "v", NULL);
			ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
		}
		ASSERT(opens_with("pw"));
		ASSERT_EQ(0, run_shell("test $(ls v/frondfs.dir.* | wc -l) = 1"));
	}
	printf("  %d times no volume, %d times a whole one\n", none, whole);
	ASSERT_EQ(40, none + whole);
	PASS();
}

TEST quiet(void)
{
	run(&r, NULL, "init", "-q", CHEAP, "--passfile", "pw",
	    "--recovery-key-file", "rk", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_STR_EQ("", r.out);
	ASSERT_STR_EQ("", r.err);
	PASS();
}

/* A full disk behind stdout: the volume is there, and the user hears it. */
TEST output_that_fails(void)
{
	ASSERT_EQ(EXIT_OPERATION,
	          run_shell(FROND_BINARY " init --scrypt-memory 1 --passfile pw v "
	                    ">/dev/full 2>err"));
	ASSERT_EQ(0, run_shell("grep -q 'slot add --recovery-key' err"));
	ASSERT(opens_with("pw"));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	GREATEST_SET_SETUP_CB(fresh, NULL);
	RUN_TEST(makes_a_volume);
	RUN_TEST(recovery_key_file);
	RUN_TEST(refuses_what_is_not_empty);
	RUN_TEST(options);
	RUN_TEST(passphrase_files);
	RUN_TEST(long_and_odd_passphrases);
	RUN_TEST(descriptors_and_stdin);
	RUN_TEST(key_files);
	RUN_TEST(prompt);
	RUN_TEST(interrupted_prompt);
	RUN_TEST(continues_after_a_killed_init);
	RUN_TEST(killed_for_real);
	RUN_TEST(quiet);
	RUN_TEST(output_that_fails);
	run_clean();
	GREATEST_MAIN_END();
}
