/*
 * What the cipher's benchmarks work on: a batch of messages of one size, the
 * keys, and the places for results. Everything is the same from run to run, so
 * that the results of two engines can be compared.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cipher/adiantum.h"
#include "cipher/aes.h"
#include "cipher/engine.h"

enum { BENCH_TWEAK = 32, BENCH_RIGHT = 16 /* bytes */ };

struct openssl;

struct work {
	size_t size;  /* bytes of each message */
	size_t count; /* messages, one after another in `data` */
	size_t units; /* NH units of a message's left part */

	/* The engine that a part is to use: also adiantum_engine_select'ed. */
	const struct adiantum_engine *engine;

	/* One block of memory, which holds all that parts write. */
	uint8_t *results;
	size_t results_size;
	uint8_t *data;                          /* count * size, in place */
	uint8_t *blocks;                        /* count * 16 */
	uint32_t (*subkeys)[CHACHA_KEY_WORDS];  /* count */
	uint64_t (*sums)[NH_PASSES];            /* count * units */

	uint8_t *nonces;                        /* count * 16, never written */
	uint8_t (*tweaks)[BENCH_TWEAK];         /* count */
	struct adiantum_message *messages;      /* count, dst = src */

	struct adiantum_key *adiantum[2];       /* 12 rounds, 20 rounds */
	struct aes_key *aes;
	uint32_t chacha[CHACHA_KEY_WORDS];
	struct nhpoly1305_key hash;
	struct openssl *openssl; /* or NULL */
};

/* Returns NULL for want of memory or of OpenSSL's ciphers, and says so. OpenSSL's
 * own ciphers are only made ready where they are wanted: `openssl`. */
struct work *work_new(size_t size, size_t count, bool openssl);
void work_free(struct work *work);

/* Fill the messages as they were, and clear the other results. */
void work_reset(struct work *work);

/* Choose an engine by its name; that must be in adiantum_engine_list. */
void work_engine(struct work *work, const char *name);

/* Bytes of a message's left part. */
static inline size_t work_left(const struct work *work)
{
	return work->size - BENCH_RIGHT;
}

#endif
