/*
 * The polynomial of Poly1305 (Bernstein, "The Poly1305-AES message-
 * authentication code", 2005; RFC 8439, section 2.5) as Adiantum uses it: r is
 * clamped, and the result is the sum modulo 2^128 with no mask added.
 */
#ifndef CIPHER_POLY1305_H
#define CIPHER_POLY1305_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/bytes.h"

enum {
	POLY1305_BLOCK = 16,    /* bytes */
	POLY1305_KEY_SIZE = 16, /* bytes */
	POLY1305_POWERS = 8,
};

#if defined(__aarch64__) || defined(__arm__)
#define POLY1305_RESIDUES
/*
 * For engines that take several blocks at once: of n blocks the first one is
 * multiplied by r^n and the last by r, so that word j of a block counts for
 * 2^(32 j) r^k. Here is that number, wholly reduced, in 5 limbs of 26 bits:
 * word[8 - k][j / 2][limb][j % 2]. A block is then 20 products of 32-bit words
 * as they stand, and those of eight blocks sum up below 2^63. The bits above n
 * blocks come to the limbs top[n - 1].
 */
struct poly1305_residues {
	uint32_t word[POLY1305_POWERS][2][5][2];
	uint64_t top[POLY1305_POWERS][5];
};
#endif

/*
 * r, and its powers for engines that take several blocks at once: of n blocks
 * the first is multiplied by r^n and the last by r. powers[limb][i] holds a
 * limb of 26 bits (the last one of up to 28) of r^(POLY1305_POWERS - i), and
 * beside it that limb times 5.
 */
struct poly1305_key {
	uint64_t r[2];
#ifdef POLY1305_RESIDUES
	struct poly1305_residues residues;
#endif
	uint32_t powers[5][POLY1305_POWERS][2];
	uint32_t beyond; /* is loaded with the last ones, and not used */
};

/* The sum so far: h[0] + 2^64 h[1] + 2^128 h[2], not wholly reduced. A sum of
 * nothing is all zeros. */
struct poly1305_state {
	uint64_t h[3];
};

void poly1305_key_init(struct poly1305_key *key,
                       const uint8_t bytes[POLY1305_KEY_SIZE]);

/* Take in `count` blocks; `top` is the bit above each block's 128, 1 except
 * where the block itself already holds the byte that ends a message. */
void poly1305_blocks(struct poly1305_state *state,
                     const struct poly1305_key *key, const uint8_t *blocks,
                     size_t count, uint32_t top)
	/* OpenSSL's static library for ARM has a symbol of the plain name. */
	__asm__("adiantum_poly1305_blocks");

/* Take in the rest of a message, of any size: whole blocks and the short
 * last one. */
void poly1305_last(struct poly1305_state *state,
                   const struct poly1305_key *key, const uint8_t *message,
                   size_t size);

struct le128 poly1305_finish(const struct poly1305_state *state);

#ifdef POLY1305_RESIDUES
void poly1305_residues_init(struct poly1305_key *key);
#endif

/* poly1305_blocks by 32-bit and by 64-bit multiplications. It calls the
 * latter where the compiler has a 128-bit integer, else the former. */
void poly1305_blocks_limb26(struct poly1305_state *state,
                            const struct poly1305_key *key,
                            const uint8_t *blocks, size_t count, uint32_t top);
#ifdef __SIZEOF_INT128__
void poly1305_blocks_limb64(struct poly1305_state *state,
                            const struct poly1305_key *key,
                            const uint8_t *blocks, size_t count, uint32_t top);
#endif

#endif
