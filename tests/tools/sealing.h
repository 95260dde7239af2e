/* What the tests of sealed manifests share: running seal and verify on a victim,
 * with a key and without, and comparing what they name. */
#ifndef TESTS_TOOLS_SEALING_H
#define TESTS_TOOLS_SEALING_H

#include "damage.h"

/* A difference that is expected. */
struct wanted {
	const char *class;   /* with a key */
	const char *keyless; /* without; NULL: the same */
	const char *plain, *cipher;
	const char *from, *from_cipher; /* NULL: none */
};

/* Run `frondfs seal` with further options (NULL: none); its exit code. What it
 * said stays in *out and *err, where these are not NULL. */
int seal_run(struct victim *v, const char *const options[], char **out,
             char **err);

/* Seal, and do not go on where that fails. */
void seal_now(struct victim *v);

/* Run `frondfs verify --json` and options, then the arguments; "" or NULL ends
 * them. The sorted lines "class|path|ciphertext|from|from_ciphertext", and the
 * exit code. */
char *verify_run(struct victim *v, bool keyed, const char *const options[],
                 const char *manifest, const char *dir, int *code);

/* Whether verify ends with these codes and names exactly these differences, with
 * a key and without; if not, both are shown. */
bool verify_says(struct victim *v, int code, int keyless_code,
                 const struct wanted *wanted, size_t count);
#define VERIFY_SAYS(v, code, keyless_code, ...)                            \
	verify_says(v, code, keyless_code,                                 \
	            (const struct wanted[]){ __VA_ARGS__ },                \
	            sizeof((const struct wanted[]){ __VA_ARGS__ }) /       \
	            sizeof(struct wanted))
#define VERIFY_CLEAN(v) verify_says(v, 0, 0, NULL, 0)

/* A member of the summary, the last line of JSON output; -1: none. */
int64_t summary_of(const char *json, const char *member);

/* Whether `b2sum --check --quiet`, run in the directory, is satisfied. */
bool b2sum_passes(const char *dir, const char *manifest);

/* cp -p: the bytes and the times. */
void copy_with_times(const char *from, const char *to);
/* Set a file's modification time, in seconds from what it is. */
void shift_mtime(const char *path, long seconds);

#endif
