/* passwd, slot, info and recover, and a message and a code for each failure. */
#include <dirent.h>
#include <greatest.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <fcntl.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "run.h"
#include "sanitized.h"
#include "tools/exitcode.h"

#define CHEAP "--scrypt-memory", "1"

static struct run r;

/* A volume with a passphrase (slot 0, file pw) and a recovery key (slot 1, file
 * rk); a key file kf and a second passphrase pw2 beside it. */
static void fresh(void *unused)
{
	(void)unused;
	run_shell("rm -rf -- *");
	run_put_text("pw", "correct horse\n");
	run_put_text("pw2", "battery staple\n");
	run_put_text("wrong", "incorrect\n");
	run_put_text("kf", "0123456789abcdef0123");
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file", "rk",
	    "v", NULL);
	if (r.code)
		abort();
}

static bool opens(const char *option, const char *file)
{
	struct run try;

	run(&try, NULL, "slot", "remove", option, file, "v", "999", NULL);
	return strstr(try.err, "has no slot 999") != NULL;
}

TEST passwd_changes(void)
{
	run(&r, NULL, "passwd", CHEAP, "--passfile", "pw", "--new-passfile", "pw2",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_FALSE(opens("--passfile", "pw"));
	ASSERT(opens("--passfile", "pw2"));
	ASSERT(opens("--recovery-key-file", "rk"));
	ASSERT_EQ(0, run_shell("test $(grep -c number v/frondfs.conf) = 2 && "
	                       "test $(ls -A v | wc -l) = 2"));
	PASS();
}

TEST passwd_refuses(void)
{
	run_shell("cp v/frondfs.conf kept");
	run(&r, NULL, "passwd", CHEAP, "--passfile", "wrong", "--new-passfile",
	    "pw2", "v", NULL);
	ASSERT_EQ(EXIT_WRONG_KEY, r.code);
	run(&r, NULL, "passwd", CHEAP, "--passfile", "pw", "--new-passfile", "pw",
	    "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT(strstr(r.err, "already"));
	run(&r, NULL, "passwd", CHEAP, "--passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code);
	ASSERT(strstr(r.err, "--new-passfile"));
	ASSERT_EQ(0, run_shell("cmp kept v/frondfs.conf"));
	/* With --force the same one again, e.g. for another cost. */
	run(&r, NULL, "passwd", "--scrypt-memory", "2", "--force", "--passfile",
	    "pw", "--new-passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens("--passfile", "pw"));
	ASSERT_EQ(0, run_shell("grep -q '\"n\": 2048' v/frondfs.conf"));
	PASS();
}

TEST passwd_on_a_terminal(void)
{
	struct run_step steps[] = {
		{ "passphrase: ", "correct horse\n" },
		{ "new passphrase: ", "third\n" },
		{ "again: ", "third\n" },
		{ NULL, NULL },
	};
	struct run_step stop[] = {
		{ "passphrase: ", "third\n" },
		{ "new passphrase: ", "\x03" },
		{ NULL, NULL },
	};

	run_on_terminal(&r, steps, "passwd", CHEAP, "v", NULL);
	ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
	ASSERT_FALSE(strstr(r.out, "third"));
	run_put_text("typed", "third");
	ASSERT(opens("--passfile", "typed"));
	ASSERT_FALSE(opens("--passfile", "pw"));
	run_on_terminal(&r, stop, "passwd", CHEAP, "v", NULL);
	ASSERT_EQ(EXIT_CANCELLED, r.code);
	ASSERT(opens("--passfile", "typed"));
	PASS();
}

TEST passwd_with_the_recovery_key(void)
{
	/* One passphrase: it is the one that was forgotten. */
	run(&r, NULL, "passwd", CHEAP, "--recovery-key-file", "rk",
	    "--new-passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_FALSE(opens("--passfile", "pw"));
	ASSERT(opens("--passfile", "pw2"));
	ASSERT(opens("--recovery-key-file", "rk"));
	/* Two: which one is not known, so none is removed. */
	run(&r, NULL, "slot", "add", CHEAP, "--passfile", "pw2",
	    "--new-passfile", "pw", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "passwd", CHEAP, "--recovery-key-file", "rk",
	    "--new-passfile", "wrong", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens("--passfile", "pw"));
	ASSERT(opens("--passfile", "pw2"));
	ASSERT(opens("--passfile", "wrong"));
	PASS();
}

TEST passwd_keeps_the_label(void)
{
	run(&r, NULL, "slot", "add", CHEAP, "--passfile", "pw", "--new-passfile",
	    "pw2", "--label", "Anna's", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "passwd", CHEAP, "--passfile", "pw2", "--new-passfile",
	    "wrong", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "slot", "list", "v", NULL);
	ASSERT(strstr(r.out, "   3  passphrase") && strstr(r.out, "Anna's"));
	ASSERT(strstr(r.out, "   0  passphrase"));
	ASSERT_FALSE(strstr(r.out, "   2  "));
	PASS();
}

TEST slots(void)
{
	run(&r, NULL, "slot", "add", "--passfile", "pw", "--new-keyfile", "kf",
	    "--label", "usb stick", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&r, NULL, "slot", "add", "--passfile", "pw", "--new-keyfile", "kf", "v",
	    NULL);
	ASSERT_EQ(EXIT_NO_PASSPHRASE, r.code); /* opens it already */
	run(&r, NULL, "slot", "list", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(strstr(r.out, "usb stick"));
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "0", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_FALSE(opens("--passfile", "pw"));
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "0", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "x", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "1", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(strstr(r.err, "cannot be revoked"));
	ASSERT_FALSE(opens("--recovery-key-file", "rk"));
	run(&r, NULL, "slot", "remove", "--keyfile", "kf", "v", "2", NULL);
	ASSERT_EQ(EXIT_OPERATION, r.code);
	ASSERT(strstr(r.err, "last"));
	ASSERT(opens("--keyfile", "kf"));
	/* The recovery key comes back as the same one. */
	run(&r, NULL, "slot", "add", "--keyfile", "kf",
	    "--new-recovery-key-file", "rk2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("cmp rk rk2"));
	ASSERT(opens("--recovery-key-file", "rk"));
	run(&r, NULL, "slot", "add", "--keyfile", "kf",
	    "--new-recovery-key-file", "rk2", "v", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code); /* exists */
	run(&r, NULL, "slot", "burn", "v", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	PASS();
}

TEST one_change_at_a_time(void)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "%s/v/frondfs.conf", run_folder());
	fd = open(path, O_RDONLY);
	ASSERT_EQ(0, flock(fd, LOCK_EX));
	run(&r, NULL, "slot", "add", CHEAP, "--passfile", "pw",
	    "--new-passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_IN_USE, r.code);
	close(fd);
	run(&r, NULL, "slot", "add", CHEAP, "--passfile", "pw",
	    "--new-passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	PASS();
}

static const char *text_of(json_object *o, const char *name)
{
	json_object *value;

	return json_object_object_get_ex(o, name, &value)
		? json_object_get_string(value) : "(none)";
}

TEST info(void)
{
	json_object *o, *list;
	char path[200];
	int fd;

	run(&r, NULL, "info", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(strstr(r.out, "xchacha12") && strstr(r.out, "1 MiB") &&
	       strstr(r.out, "recovery"));
	run(&r, NULL, "info", "--json", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	o = json_tokener_parse(r.out);
	ASSERT(o);
	ASSERT_STR_EQ("1", text_of(o, "format"));
	ASSERT_STR_EQ("xchacha12", text_of(o, "cipher"));
	ASSERT_STR_EQ("255", text_of(o, "name_max"));
	ASSERT_STR_EQ("no", text_of(o, "in_use"));
	ASSERT_EQ(36u, strlen(text_of(o, "uuid")));
	ASSERT(json_object_object_get_ex(o, "slots", &list));
	ASSERT_EQ(2u, json_object_array_length(list));
	json_object_put(o);
	snprintf(path, sizeof(path), "%s/v", run_folder());
	fd = open(path, O_RDONLY | O_DIRECTORY);
	ASSERT_EQ(0, flock(fd, LOCK_EX));
	run(&r, NULL, "info", "--json", "v", NULL);
	ASSERT(strstr(r.out, "\"in_use\": \"mounted\""));
	ASSERT_EQ(0, flock(fd, LOCK_SH));
	run(&r, NULL, "info", "--json", "v", NULL);
	ASSERT(strstr(r.out, "\"in_use\": \"checked\""));
	close(fd);
	run(&r, NULL, "slot", "list", "--json", "v", NULL);
	o = json_tokener_parse(r.out);
	ASSERT(json_object_is_type(o, json_type_array));
	json_object_put(o);
	PASS();
}

/* The engine is what the environment asks for, else the first of the list. */
TEST info_names_the_engine(void)
{
	json_object *o, *list;
	const char *best;
	char line[100];

	unsetenv("FRONDFS_ENGINE");
	run(&r, NULL, "info", "--json", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	o = json_tokener_parse(r.out);
	ASSERT(json_object_object_get_ex(o, "engines", &list));
	ASSERT(json_object_array_length(list) > 0);
	best = json_object_get_string(json_object_array_get_idx(list, 0));
	ASSERT_STR_EQ(best, text_of(o, "engine"));
	run(&r, NULL, "info", "v", NULL);
	snprintf(line, sizeof(line), "\nengine        %s (", best);
	ASSERT(strstr(r.out, line));
	json_object_put(o);

	setenv("FRONDFS_ENGINE", "generic", 1);
	run(&r, NULL, "info", "--json", "v", NULL);
	ASSERT(strstr(r.out, "\"engine\": \"generic\""));
	run(&r, NULL, "info", "v", NULL);
	ASSERT(strstr(r.out, "\nengine        generic ("));
	setenv("FRONDFS_ENGINE", "no such engine", 1);
	run(&r, NULL, "info", "v", NULL);
	ASSERT(strstr(r.out, line));
	unsetenv("FRONDFS_ENGINE");
	PASS();
}

/* Makes the SHA-256 of v/frondfs.conf right after a change by sed. */
static void forge(const char *sed)
{
	char text[8192], command[200], hex[65], *sha;
	uint8_t digest[32];
	long n;

	snprintf(command, sizeof(command), "sed -i '%s' v/frondfs.conf", sed);
	if (run_shell(command))
		abort();
	n = run_get("v/frondfs.conf", text, sizeof(text));
	sha = strstr(text, "\"sha256\": \"") + 11;
	memset(sha, '0', 64);
	EVP_Digest(text, (size_t)n, digest, NULL, EVP_sha256(), NULL);
	for (int i = 0; i < 32; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
	memcpy(sha, hex, 64);
	run_put("v/frondfs.conf", text, (size_t)n);
}

/* Six ways to fail: six codes, six messages, each with what to do. */
TEST six_failures(void)
{
	struct run runs[7];
	struct run_how little = { .memory = 80 << 20 };

	run(&runs[0], NULL, "slot", "add", "--passfile", "wrong",
	    "--recovery-key", "v", NULL);
	ASSERT_EQ(EXIT_WRONG_KEY, runs[0].code);
	run_shell("cp v/frondfs.conf kept && head -c 500 kept > v/frondfs.conf");
	run(&runs[1], NULL, "slot", "add", "--passfile", "pw", "--recovery-key",
	    "v", NULL);
	ASSERT_EQ(EXIT_CONFIG_DAMAGED, runs[1].code);
	ASSERT(strstr(runs[1].err, "damaged"));
	run_shell("cp kept v/frondfs.conf");
	forge("s/\"format\": 1/\"format\": 2/");
	run(&runs[2], NULL, "slot", "add", "--passfile", "pw", "--recovery-key",
	    "v", NULL);
	ASSERT_EQ(EXIT_NEWER, runs[2].code);
	ASSERT(strstr(runs[2].err, "newer"));
	run_shell("cp kept v/frondfs.conf");
	forge("s/\"required_features\": \\[/&\"antigravity\"/");
	run(&runs[3], NULL, "slot", "add", "--passfile", "pw", "--recovery-key",
	    "v", NULL);
	ASSERT_EQ(EXIT_FEATURE, runs[3].code);
	ASSERT(strstr(runs[3].err, "antigravity"));
	run_shell("mkdir none");
	run(&runs[4], NULL, "slot", "add", "--passfile", "pw", "--recovery-key",
	    "none", NULL);
	ASSERT_EQ(EXIT_NO_VOLUME, runs[4].code);
	ASSERT(strstr(runs[4].err, "frondfs init"));
	run_shell("cp kept v/frondfs.conf");
	forge("s/\"name_max\": 255/\"name_max\": 200/");
	run(&runs[5], NULL, "slot", "add", "--passfile", "pw", "--recovery-key",
	    "v", NULL);
	ASSERT_EQ(EXIT_CONFIG_DAMAGED, runs[5].code);
	ASSERT(strstr(runs[5].err, "tampered"));
#ifdef SANITIZED
	memset(&runs[6], 0, sizeof(runs[6]));
	(void)little;
#else
	run_shell("cp kept v/frondfs.conf");
	run(&r, NULL, "slot", "add", "--scrypt-memory", "128", "--passfile", "pw",
	    "--new-passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	run(&runs[6], &little, "slot", "add", "--passfile", "pw2",
	    "--recovery-key", "v", NULL);
	ASSERT_EQ_FMT(EXIT_NO_MEMORY, runs[6].code, "%d");
	ASSERT(strstr(runs[6].err, "needs 128 MiB") &&
	       strstr(runs[6].err, "MiB are available"));
	/* One that needs less still opens there. */
	run(&r, &little, "slot", "add", "--passfile", "pw", "--recovery-key", "v",
	    NULL);
	ASSERT_EQ(EXIT_OK, r.code);
#endif
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < i; j++)
			ASSERT(strcmp(runs[i].err, runs[j].err));
	PASS();
}

TEST no_volume_at_all(void)
{
	run(&r, NULL, "info", "nowhere", NULL);
	ASSERT_EQ(EXIT_NO_VOLUME, r.code);
	run(&r, NULL, "info", "pw", NULL);
	ASSERT_EQ(EXIT_NO_VOLUME, r.code);
	run_shell("rm v/frondfs.conf");
	run(&r, NULL, "info", "v", NULL);
	ASSERT_EQ(EXIT_NO_VOLUME, r.code);
	ASSERT(strstr(r.err, "frondfs recover"));
	PASS();
}

/* Every byte of the real file, through the real command. */
TEST flipped_bytes(void)
{
	char good[8192], text[8192];
	long n = run_get("v/frondfs.conf", good, sizeof(good));

	ASSERT(n > 500);
	for (long i = 0; i < n; i += 5) {
		memcpy(text, good, (size_t)n);
		text[i] ^= 1 << i % 8;
		run_put("v/frondfs.conf", text, (size_t)n);
		run(&r, NULL, "info", "v", NULL);
		ASSERT_EQ(EXIT_CONFIG_DAMAGED, r.code);
	}
	PASS();
}

TEST recover_a_lost_config(void)
{
	run_shell("rm v/frondfs.conf");
	run(&r, NULL, "recover", CHEAP, "--recovery-key-file", "rk", "--passfile",
	    "pw2", "v", NULL);
	ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
	ASSERT(opens("--passfile", "pw2"));
	ASSERT(opens("--recovery-key-file", "rk"));
	ASSERT_FALSE(opens("--passfile", "pw"));
	run(&r, NULL, "slot", "add", "--passfile", "pw2",
	    "--new-recovery-key-file", "rk2", "v", NULL);
	/* The same key; only the UUID in the comment is new. */
	ASSERT_EQ(0, run_shell("grep -v '#' rk > a; grep -v '#' rk2 > b; cmp a b"));
	PASS();
}

TEST recover_a_damaged_config(void)
{
	run_shell("head -c 400 v/frondfs.conf > cut; cp cut v/frondfs.conf");
	run(&r, NULL, "recover", "--recovery-key-file", "rk", "--keyfile", "kf",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens("--keyfile", "kf"));
	ASSERT_EQ(0, run_shell("cmp cut v/frondfs.conf.damaged-1"));
	run_shell("echo junk > v/frondfs.conf");
	run(&r, NULL, "recover", "--recovery-key-file", "rk", "--keyfile", "kf",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(run_exists("v/frondfs.conf.damaged-2"));
	ASSERT(opens("--keyfile", "kf"));
	/* One that is no file at all. */
	run_shell("rm v/frondfs.conf; mkdir v/frondfs.conf");
	run(&r, NULL, "recover", "--recovery-key-file", "rk", "--keyfile", "kf",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(run_exists("v/frondfs.conf.damaged-3"));
	run_shell("rm v/frondfs.conf; echo good > there; "
	          "ln -s ../there v/frondfs.conf");
	run(&r, NULL, "recover", "--recovery-key-file", "rk", "--keyfile", "kf",
	    "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("test -L v/frondfs.conf.damaged-4 && "
	                       "test \"$(cat there)\" = good"));
	ASSERT(opens("--keyfile", "kf"));
	PASS();
}

TEST recover_refuses(void)
{
	run(&r, NULL, "init", CHEAP, "--passfile", "pw", "--recovery-key-file",
	    "rk-other", "w", NULL);
	run_shell("cp v/frondfs.conf kept; ls -A v > list");
	run(&r, NULL, "recover", CHEAP, "--recovery-key-file", "rk", "--passfile",
	    "pw2", "v", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	ASSERT(strstr(r.err, "slot add"));
	run(&r, NULL, "recover", CHEAP, "--force", "--recovery-key-file",
	    "rk-other", "--passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_WRONG_KEY, r.code);
	run_shell("sed '/#/!s/[0-9A-Z]/U/9' rk > typo");
	run(&r, NULL, "recover", CHEAP, "--force", "--recovery-key-file", "typo",
	    "--passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_KEY_TYPO, r.code);
	ASSERT(strstr(r.err, "groups 2, 6 and 10"));
	ASSERT_EQ(0, run_shell("cmp kept v/frondfs.conf && ls -A v | cmp - list"));
	run_shell("mkdir empty");
	run(&r, NULL, "recover", CHEAP, "--recovery-key-file", "rk", "--passfile",
	    "pw2", "empty", NULL);
	ASSERT_EQ(EXIT_NO_VOLUME, r.code);
	ASSERT_EQ(0, run_shell("test -z \"$(ls -A empty)\""));
	forge("s/\"format\": 1/\"format\": 2/");
	run(&r, NULL, "recover", CHEAP, "--force", "--recovery-key-file", "rk",
	    "--passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_NEWER, r.code);
	PASS();
}

TEST recover_by_force(void)
{
	run_shell("cp v/frondfs.conf kept");
	run(&r, NULL, "recover", CHEAP, "--force", "--recovery-key-file", "rk",
	    "--passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT_EQ(0, run_shell("cmp kept v/frondfs.conf.old-1 && "
	                       "test \"$(grep uuid kept)\" = "
	                       "\"$(grep uuid v/frondfs.conf)\""));
	ASSERT(opens("--passfile", "pw2"));
	ASSERT_FALSE(opens("--passfile", "pw"));
	/* It also mends what was changed on purpose. */
	forge("s/\"next_slot\": 4/\"next_slot\": 9/");
	ASSERT_FALSE(opens("--passfile", "pw2"));
	run(&r, NULL, "recover", CHEAP, "--force", "--recovery-key-file", "rk",
	    "--passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens("--passfile", "pw2"));
	PASS();
}

/* Typed in, with an error first. */
TEST recover_on_a_terminal(void)
{
	char text[1000], key[1000], bad[1000];
	size_t n = 0;
	long size = run_get("rk", text, sizeof(text));
	struct run_step steps[] = {
		{ "on one line): ", bad },
		{ "group 1 of the recovery key has a typing error", "" },
		{ "on one line): ", key },
		{ "new passphrase: ", "typed\n" },
		{ "again: ", "typed\n" },
		{ NULL, NULL },
	};

	ASSERT(size > 0);
	for (char *p = strstr(strstr(text, "\n#") + 1, "\n") + 1; *p; p++)
		key[n++] = *p == '\n' ? '-' : *p;
	key[n++] = '\n';
	key[n] = '\0';
	strcpy(bad, key);
	bad[3] = bad[3] == 'X' ? 'Y' : 'X';
	run_shell("rm v/frondfs.conf");
	run_on_terminal(&r, steps, "recover", CHEAP, "v", NULL);
	ASSERT_EQ_FMT(EXIT_OK, r.code, "%d");
	run_put_text("typed", "typed");
	ASSERT(opens("--passfile", "typed"));
	PASS();
}

TEST recovery_key_on_stdin(void)
{
	static char text[1000];
	struct run_how how = { .input = text };

	ASSERT(run_get("rk", text, sizeof(text)) > 0);
	run(&r, &how, "slot", "add", CHEAP, "--recovery-key-file", "-",
	    "--new-passfile", "pw2", "v", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(opens("--passfile", "pw2"));
	PASS();
}

TEST commands(void)
{
	run(&r, NULL, "--help", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(strstr(r.out, "init") && strstr(r.out, "recover"));
	run(&r, NULL, "--version", NULL);
	ASSERT_EQ(EXIT_OK, r.code);
	ASSERT(strstr(r.out, "frondfs "));
	ASSERT_EQ(EXIT_USAGE, run_shell(FROND_BINARY " 2>/dev/null"));
	run(&r, NULL, "pasword", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	ASSERT(strstr(r.err, "frondfs passwd"));
	run(&r, NULL, "frobnicate-everything-at-once-please", NULL);
	ASSERT_EQ(EXIT_USAGE, r.code);
	static const char *const names[] = { "init", "info", "passwd", "slot",
	                                     "recover" };
	for (size_t i = 0; i < 5; i++) {
		run(&r, NULL, names[i], "--help", NULL);
		ASSERT_EQ(EXIT_OK, r.code);
		ASSERT(strstr(r.out, "Usage: frondfs"));
		run(&r, NULL, names[i], "--no-such-option", NULL);
		ASSERT_EQ(EXIT_USAGE, r.code);
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	GREATEST_SET_SETUP_CB(fresh, NULL);
	RUN_TEST(passwd_changes);
	RUN_TEST(passwd_refuses);
	RUN_TEST(passwd_on_a_terminal);
	RUN_TEST(passwd_with_the_recovery_key);
	RUN_TEST(passwd_keeps_the_label);
	RUN_TEST(slots);
	RUN_TEST(one_change_at_a_time);
	RUN_TEST(info);
	RUN_TEST(info_names_the_engine);
	RUN_TEST(six_failures);
	RUN_TEST(no_volume_at_all);
	RUN_TEST(flipped_bytes);
	RUN_TEST(recover_a_lost_config);
	RUN_TEST(recover_a_damaged_config);
	RUN_TEST(recover_refuses);
	RUN_TEST(recover_by_force);
	RUN_TEST(recover_on_a_terminal);
	RUN_TEST(recovery_key_on_stdin);
	RUN_TEST(commands);
	run_clean();
	GREATEST_MAIN_END();
}
