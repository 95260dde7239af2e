/*
 * All throughputs are per byte of the message, also where a part works on less
 * of it (HChaCha on 16 bytes): so the times of parts can be added.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openssl.h"
#include "parts.h"

enum { DECRYPT = 1 }; /* added to an even number of rounds or of a cipher */

static int run_adiantum(struct work *w, int option)
{
	const struct adiantum_key *key = w->adiantum[option > 19];

	if (option & DECRYPT)
		return adiantum_decrypt_batch(key, BENCH_TWEAK, w->messages,
		                              w->count);
	return adiantum_encrypt_batch(key, BENCH_TWEAK, w->messages, w->count);
}

static int run_chacha(struct work *w, int rounds)
{
	for (size_t i = 0; i < w->count; i++) {
		uint8_t *message = w->data + i * w->size;
		uint32_t state[CHACHA_STATE_WORDS];

		chacha_init(state, w->chacha, 1, 0);
		w->engine->chacha(state, rounds, message, message, work_left(w));
	}
	return 0;
}

static int run_hchacha(struct work *w, int rounds)
{
	w->engine->hchacha(w->subkeys, w->chacha, w->nonces, w->count, rounds);
	return 0;
}

/* In pieces, as Adiantum takes long messages. */
static int run_nh(struct work *w, int option)
{
	(void)option;
	for (size_t i = 0; i < w->count; i++) {
		size_t size = work_left(w) / NH_STRIDE * NH_STRIDE, n;
		uint64_t (*sums)[NH_PASSES] = w->sums + i * w->units;

		for (size_t at = 0; at < size; at += n) {
			n = size - at;
			if (n > NHPOLY1305_PIECE)
				n = NHPOLY1305_PIECE;
			w->engine->nh(sums, &w->hash.nh,
			              w->data + i * w->size + at, n);
			sums += NHPOLY1305_UNITS;
		}
	}
	return 0;
}

static int run_poly1305(struct work *w, int option)
{
	(void)option;
	for (size_t i = 0; i < w->count; i++) {
		struct poly1305_state state = { 0 };

		engine_poly1305(w->engine, &state, &w->hash.poly,
		                w->data + i * w->size,
		                w->size / POLY1305_BLOCK, 1);
		store128(w->blocks + i * AES_BLOCK, poly1305_finish(&state));
	}
	return 0;
}

static int run_nhpoly1305(struct work *w, int option)
{
	(void)option;
	for (size_t i = 0; i < w->count; i++)
		store128(w->blocks + i * AES_BLOCK,
		         nhpoly1305(w->engine, &w->hash, w->data + i * w->size,
		                    work_left(w)));
	return 0;
}

static int run_aes(struct work *w, int option)
{
	return aes_blocks(w->aes, !(option & DECRYPT), w->blocks, w->nonces,
	                  w->count);
}

static int run_openssl(struct work *w, int option)
{
	return openssl_run(w->openssl, option / 2, !(option & DECRYPT), w->data,
	                   w->size, w->count, w->blocks);
}

const struct part parts[] = {
	{ "ChaCha20-Poly1305", true, 16, run_openssl, 2 * OPENSSL_CHACHA20_POLY1305 },
	{ "AES-256-GCM", true, 16, run_openssl, 2 * OPENSSL_AES_256_GCM },
	{ "AES-256-XTS encrypt", true, 16, run_openssl, 2 * OPENSSL_AES_256_XTS },
	{ "AES-256-XTS decrypt", true, 16, run_openssl, 2 * OPENSSL_AES_256_XTS + DECRYPT },
	{ "Adiantum-XChaCha12 encrypt", false, 16, run_adiantum, 12 },
	{ "Adiantum-XChaCha12 decrypt", false, 16, run_adiantum, 12 + DECRYPT },
	{ "Adiantum-XChaCha20 encrypt", false, 16, run_adiantum, 20 },
	{ "Adiantum-XChaCha20 decrypt", false, 16, run_adiantum, 20 + DECRYPT },
	{ "ChaCha12", false, 17, run_chacha, 12 },
	{ "ChaCha20", false, 17, run_chacha, 20 },
	{ "HChaCha12", false, 16, run_hchacha, 12 },
	{ "HChaCha20", false, 16, run_hchacha, 20 },
	{ "NH", false, 32, run_nh, 0 },
	{ "Poly1305", false, 16, run_poly1305, 0 },
	{ "NHPoly1305", false, 17, run_nhpoly1305, 0 },
	{ "AES-256 blocks encrypt", true, 16, run_aes, 0 },
	{ "AES-256 blocks decrypt", true, 16, run_aes, DECRYPT },
	{ 0 },
};

/* OpenSSL has its own tests; but the pass over the batch is ours. */
static int check_openssl(const struct part *part, struct work *w)
{
	uint8_t *before;
	int error;

	if (part->run != run_openssl || part->option != 2 * OPENSSL_AES_256_XTS)
		return part->run(w, part->option);
	before = malloc(w->size * w->count);
	if (!before)
		return -ENOMEM;
	memcpy(before, w->data, w->size * w->count);
	error = part->run(w, part->option);
	if (!error && !memcmp(before, w->data, w->size * w->count))
		error = -EBADMSG;
	if (!error)
		error = part->run(w, part->option + DECRYPT);
	if (!error && memcmp(before, w->data, w->size * w->count))
		error = -EBADMSG;
	free(before);
	return error;
}

static int check_engine(const struct part *part, const char *engine,
                        struct work *w)
{
	uint8_t *expected = malloc(w->results_size);
	int error;

	if (!expected)
		return -ENOMEM;
	work_engine(w, "generic");
	error = part->run(w, part->option);
	memcpy(expected, w->results, w->results_size);
	work_reset(w);
	work_engine(w, engine);
	if (!error)
		error = part->run(w, part->option);
	if (!error && memcmp(expected, w->results, w->results_size))
		error = -EBADMSG;
	free(expected);
	return error;
}

int part_check(const struct part *part, const char *engine, struct work *w)
{
	int error;

	work_reset(w);
	error = part->openssl ? check_openssl(part, w)
	                      : check_engine(part, engine, w);
	if (error)
		fprintf(stderr, "bench: %s of engine %s, %zu messages of %zu "
		        "bytes: %s\n", part->name, engine, w->count, w->size,
		        error == -EBADMSG ? "wrong result" : strerror(-error));
	work_reset(w);
	return error;
}
