/*
 * The program that tools/armmodel runs: one call of one part of the cipher
 * between two markers, and then the comparison of its result with what the
 * engine `generic` gives.
 *
 *	armmodel ENGINE WHAT SIZE [COUNT [ROUNDS]]
 *	armmodel --list
 *
 * WHAT is encrypt or decrypt (Adiantum, COUNT messages of SIZE bytes as one
 * batch), chacha, hchacha, nh, poly1305, nhpoly1305 or aes (the same parts of
 * all COUNT messages as bench_cipher times). Without COUNT and ROUNDS: 1, 12.
 * --list prints the engines that this CPU can run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "parts.h"

enum { NAME = 64, COUNT_MAX = 256 };

void armmodel_begin(void);
void armmodel_end(void);

__attribute__((noinline, noclone)) void armmodel_begin(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline, noclone)) void armmodel_end(void)
{
	__asm__ volatile("" ::: "memory");
}

static _Noreturn void die(const char *why)
{
	fprintf(stderr, "armmodel: %s\n"
	        "usage: armmodel ENGINE encrypt|decrypt|chacha|hchacha|nh|"
	        "poly1305|nhpoly1305|aes\n"
	        "                SIZE [COUNT [ROUNDS]]\n"
	        "       armmodel --list\n", why);
	exit(16);
}

static const struct part *find(const char *what, int rounds)
{
	char name[NAME];

	if (!strcmp(what, "encrypt") || !strcmp(what, "decrypt"))
		snprintf(name, sizeof(name), "Adiantum-XChaCha%d %s", rounds,
		         what);
	else if (!strcmp(what, "chacha") || !strcmp(what, "hchacha"))
		snprintf(name, sizeof(name), "%s%d", what, rounds);
	else if (!strcmp(what, "aes"))
		snprintf(name, sizeof(name), "AES-256 blocks encrypt");
	else
		snprintf(name, sizeof(name), "%s", what);
	for (const struct part *p = parts; p->name; p++)
		if (!strcasecmp(p->name, name))
			return p;
	die("unknown part or number of rounds");
}

static void select_engine(struct work *work, const char *name)
{
	for (const char *const *p = adiantum_engine_list(); *p; p++)
		if (!strcmp(*p, name)) {
			work_engine(work, name);
			return;
		}
	die("this CPU can run no engine of that name");
}

int main(int argc, char **argv)
{
	size_t size = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	size_t count = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	int rounds = argc > 5 ? atoi(argv[5]) : 12;
	const struct part *part;
	uint8_t *before, *after;
	struct work *work;
	int error;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (const char *const *p = adiantum_engine_list(); *p; p++)
			puts(*p);
		return 0;
	}
	if (argc < 4 || argc > 6 || count < 1 || count > COUNT_MAX)
		die("wrong arguments");
	adiantum_threads_set(1);
	part = find(argv[2], rounds);
	if (size < part->size_min || size > 65536)
		die("wrong size");
	/* Every instruction is logged: leave out what OpenSSL needs not do. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG |
	                    OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
	                    OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
	                    OPENSSL_INIT_NO_ADD_ALL_DIGESTS, NULL);
	work = work_new(size, count, false);
	if (!work)
		return 8;
	before = malloc(work->results_size);
	after = malloc(work->results_size);
	if (!before || !after)
		return 8;
	select_engine(work, argv[1]);

	/* Once unmeasured, so that all that is bound lazily is bound. */
	error = part->run(work, part->option);
	memcpy(before, work->results, work->results_size);
	armmodel_begin();
	error |= part->run(work, part->option);
	armmodel_end();

	memcpy(after, work->results, work->results_size);
	memcpy(work->results, before, work->results_size);
	work_engine(work, "generic");
	error |= part->run(work, part->option);
	if (error || memcmp(after, work->results, work->results_size)) {
		fprintf(stderr, "armmodel: %s of engine %s, %zu messages of %zu "
		        "bytes: wrong result\n", part->name, argv[1], count, size);
		return 1;
	}
	_exit(0); /* with nothing freed, for the same reason */
}
