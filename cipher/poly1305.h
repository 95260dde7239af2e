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

/*
 * The sum modulo 2^130 - 5, and that modulo 2^128. h is below 2 (2^130 - 5), so
 * it is reduced by taking off 2^130 - 5 at most once: when h + 5 reaches 2^130.
 * Of that difference the low 128 bits are those of h + 5. Only the carries of
 * that sum are wanted at first: by words of 32 bits, as 32-bit machines find
 * carries of longer ones by comparisons; and by flags in 32-bit ARM.
 */
static inline struct le128 poly1305_finish(const struct poly1305_state *state)
{
	const uint64_t *h = state->h;
#ifdef __arm__
	struct le128 sum = { h[0], h[1] };
	uint32_t t;

	__asm__("adds %2, %Q0, #5\n\tadcs %2, %R0, #0\n\t"
	        "adcs %2, %Q1, #0\n\tadcs %2, %R1, #0\n\t"
	        "adc %2, %3, #0\n\tand %2, %2, #4\n\t"
	        "add %2, %2, %2, lsr #2\n\t" /* 5 or 0 */
	        "adds %Q0, %Q0, %2\n\tadcs %R0, %R0, #0\n\t"
	        "adcs %Q1, %Q1, #0\n\tadc %R1, %R1, #0"
	        : "+&r"(sum.lo), "+&r"(sum.hi), "=&r"(t)
	        : "r"((uint32_t)h[2]) : "cc");
	return sum;
#else
	uint64_t sum = (h[0] & UINT32_MAX) + 5;
	uint32_t reduce;

	sum = (h[0] >> 32) + (sum >> 32);
	sum = (h[1] & UINT32_MAX) + (sum >> 32);
	sum = (h[1] >> 32) + (sum >> 32);
	reduce = (uint32_t)h[2] + (uint32_t)(sum >> 32);
	reduce = -(reduce >> 2 & 1);
	return add128((struct le128){ h[0], h[1] },
	              (struct le128){ 5 & reduce, 0 });
#endif
}

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
