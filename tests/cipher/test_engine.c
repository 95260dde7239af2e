/*
 * The choice of an engine, and what a key object does in a program that has set
 * up a secure heap, or whose OpenSSL has no AES. Each needs a process whose
 * choices are not made yet, so this program starts itself as a child.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/provider.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "emulator.h"

/* Run this program as `child what`, with FRONDFS_ENGINE set or not; give its
 * exit code, and its standard output. */
static int run_child(const char *what, const char *engine, char *out,
                     size_t room)
{
	int ends[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (pid == 0) {
		if (engine)
			setenv("FRONDFS_ENGINE", engine, 1);
		else
			unsetenv("FRONDFS_ENGINE");
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		exec_self((const char *[]){ "", "child", what, NULL });
		_exit(99);
	}
	close(ends[1]);
	while (n + 1 < room && (got = read(ends[0], out + n, room - 1 - n)) > 0)
		n += got;
	out[n] = 0;
	close(ends[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int child_name(void)
{
	fputs(adiantum_engine_name(), stdout);
	return 0;
}

/* A key object takes room in the secure heap, and gives all of it back. */
static int child_secure_heap(void)
{
	const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 0 };
	struct adiantum_key *key;
	size_t used;

	if (!CRYPTO_secure_malloc_init(1 << 16, 16))
		return 10;
	if (adiantum_key_new(&key, ADIANTUM_XCHACHA12, bytes))
		return 11;
	used = CRYPTO_secure_used();
	if (!CRYPTO_secure_allocated(key))
		return 12;
	adiantum_key_free(key);
	if (used < 1072 || CRYPTO_secure_used() != 0)
		return 13;
	return 0;
}

/* The null provider keeps OpenSSL from loading its default one. */
static int child_no_aes(void)
{
	const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 0 };
	OSSL_PROVIDER *null = OSSL_PROVIDER_load(NULL, "null");
	struct adiantum_key *key = NULL;
	int error;

	if (!null)
		return 10;
	error = adiantum_key_new(&key, ADIANTUM_XCHACHA12, bytes);
	OSSL_PROVIDER_unload(null);
	if (error != -EIO)
		return 11;
	return key ? 12 : 0;
}

static int child(const char *what)
{
	if (!strcmp(what, "name"))
		return child_name();
	if (!strcmp(what, "secure-heap"))
		return child_secure_heap();
	if (!strcmp(what, "no-aes"))
		return child_no_aes();
	return 98;
}

/* The list holds each once, and "generic", which always runs, as the last. */
TEST list(void)
{
	const char *const *names = adiantum_engine_list();
	size_t n = 0;

	while (names[n])
		n++;
	ASSERT(n > 0);
	ASSERT_STR_EQ("generic", names[n - 1]);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			ASSERT(strcmp(names[i], names[j]));
	PASS();
}

/* Where the caller knows the CPU, by an emulator, it says in TEST_ENGINES what
 * the list must be, so that a choice that misses an engine does not go unseen,
 * nor one that the CPU cannot run. */
TEST expected_list(const char *expected)
{
	char list[200] = "";

	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		ASSERT(strlen(list) + strlen(*name) + 2 < sizeof(list));
		if (*list)
			strcat(list, " ");
		strcat(list, *name);
	}
	ASSERT_STR_EQ(expected, list);
	PASS();
}

TEST select_engine(void)
{
	static const char *const unknown[] = { "", "Generic", "generic ", "no" };

	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		ASSERT_EQ(0, adiantum_engine_select(*name));
		ASSERT_STR_EQ(*name, adiantum_engine_name());
		for (size_t i = 0; i < 4; i++) {
			ASSERT_EQ(-ENOENT, adiantum_engine_select(unknown[i]));
			ASSERT_STR_EQ(*name, adiantum_engine_name());
		}
	}
	PASS();
}

/* By itself the best; by the environment each; an unknown one changes nothing. */
TEST environment(void)
{
	const char *const *names = adiantum_engine_list();
	char out[64];

	ASSERT_EQ(0, run_child("name", NULL, out, sizeof(out)));
	ASSERT_STR_EQ(names[0], out);
	ASSERT_EQ(0, run_child("name", "no-such-engine", out, sizeof(out)));
	ASSERT_STR_EQ(names[0], out);
	for (size_t i = 0; names[i]; i++) {
		ASSERT_EQ(0, run_child("name", names[i], out, sizeof(out)));
		ASSERT_STR_EQ(names[i], out);
	}
	PASS();
}

TEST in_child(const char *what)
{
	char out[64];

	ASSERT_EQ(0, run_child(what, NULL, out, sizeof(out)));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "child"))
		return child(argv[2]);

	GREATEST_MAIN_BEGIN();
	RUN_TEST(list);
	if (getenv("TEST_ENGINES"))
		RUN_TESTp(expected_list, getenv("TEST_ENGINES"));
	RUN_TEST(select_engine);
	RUN_TEST(environment);
	greatest_set_test_suffix("secure_heap");
	RUN_TESTp(in_child, "secure-heap");
	greatest_set_test_suffix("no_aes");
	RUN_TESTp(in_child, "no-aes");
	GREATEST_MAIN_END();
}
