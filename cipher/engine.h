/*
 * Engines: the kernels in which nearly all of the time goes, one table of
 * them for each instruction set. Every engine gives the same bytes as
 * `generic`, for every length and alignment.
 */
#ifndef CIPHER_ENGINE_H
#define CIPHER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cipher/chacha.h"
#include "cipher/nh.h"
#include "cipher/poly1305.h"

enum { ENGINE_GROUP = 32 };

struct adiantum_engine {
	const char *name;

	/* Can this CPU run it? NULL: every CPU that the build is for can. */
	bool (*usable)(void);

	/*
	 * Messages of a batch that are worked on together where they are 4096
	 * bytes long, at most ENGINE_GROUP: as many as fill the kernels that
	 * take several at once, and no more than the first-level caches hold
	 * (each message is read twice). Of shorter ones a multiple is taken.
	 */
	size_t group;

	/*
	 * ChaCha of `rounds` rounds (12 or 20, as in all calls here): XOR the
	 * keystream that begins at the block of the state's counter over
	 * `size` bytes. The counter moves on by the number of blocks begun,
	 * so pieces of whole blocks follow each other. dst may be src.
	 */
	void (*chacha)(uint32_t state[CHACHA_STATE_WORDS], int rounds,
	               uint8_t *dst, const uint8_t *src, size_t size);

	/*
	 * HChaCha of `count` nonces of 16 bytes, which lie one after another,
	 * under one key: subkey i comes from nonce i. For a batch, so that an
	 * engine may do several at once.
	 */
	void (*hchacha)(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
	                const uint32_t key[CHACHA_KEY_WORDS],
	                const uint8_t *nonces, size_t count, int rounds);

	/*
	 * NH of consecutive units of NH_UNIT bytes: the sums of unit i go to
	 * sums[i]. `size` is a multiple of NH_STRIDE; the last unit may be
	 * short, and then only so much of the key is used.
	 */
	void (*nh)(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
	           const uint8_t *message, size_t size);

	/*
	 * NH of two messages of a unit or less, both of `size` bytes: the
	 * calls nh(sums, key, a, size) and nh(sums + 1, key, b, size) as one,
	 * for engines that gain by it; else NULL. `size` is a multiple of
	 * NH_STRIDE from that to NH_UNIT.
	 */
	void (*nh_two)(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
	               const uint8_t *a, const uint8_t *b, size_t size);

	/*
	 * The calls chacha(state, rounds, dst, src, size) and
	 * nh(sums, key, dst, size) as one, for engines that gain by keeping
	 * the sector in registers between them; else NULL. `size` as for nh.
	 */
	void (*chacha_nh)(uint32_t state[CHACHA_STATE_WORDS], int rounds,
	                  uint8_t *dst, const uint8_t *src, size_t size,
	                  uint64_t (*sums)[NH_PASSES],
	                  const struct nh_key *key);

	/* As poly1305_blocks in poly1305.h; NULL: that one is used. */
	void (*poly1305)(struct poly1305_state *state,
	                 const struct poly1305_key *key, const uint8_t *blocks,
	                 size_t count, uint32_t top);
};

extern const struct adiantum_engine engine_generic;

/* The polynomial by an engine's own code, or by the common one. */
static inline void engine_poly1305(const struct adiantum_engine *engine,
                                   struct poly1305_state *state,
                                   const struct poly1305_key *key,
                                   const uint8_t *blocks, size_t count,
                                   uint32_t top)
{
	if (engine->poly1305)
		engine->poly1305(state, key, blocks, count, top);
	else
		poly1305_blocks(state, key, blocks, count, top);
}

/* The engine in use (see adiantum_engine_select). */
const struct adiantum_engine *engine_current(void);

#endif
