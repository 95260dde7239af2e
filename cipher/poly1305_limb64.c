/* Poly1305 by 64-bit multiplications with 128-bit products. */
#include "cipher/poly1305.h"

#ifdef __SIZEOF_INT128__

typedef unsigned __int128 uint128_t;

/*
 * h = (h + block) r modulo 2^130 - 5, in limbs of 64 bits. r[1] is a multiple
 * of 4 by the clamping, so 2^128 r[1] = 2^130 r[1] / 4 is 5/4 r[1], and that
 * is s. h[2] stays below 8, and r below 2^124, so no sum below overflows.
 */
void poly1305_blocks_limb64(struct poly1305_state *state,
                            const struct poly1305_key *key,
                            const uint8_t *blocks, size_t count, uint32_t top)
{
	const uint64_t r0 = key->r[0], r1 = key->r[1];
	const uint64_t s = r1 + (r1 >> 2);
	uint64_t h0 = state->h[0], h1 = state->h[1], h2 = state->h[2];

	for (; count; count--, blocks += POLY1305_BLOCK) {
		uint128_t d0 = (uint128_t)h0 + load64(blocks);
		uint128_t d1 = (uint128_t)h1 + load64(blocks + 8);
		uint64_t d2;

		h0 = d0;
		d1 += d0 >> 64;
		h1 = d1;
		h2 += (uint64_t)(d1 >> 64) + top;

		d0 = (uint128_t)h0 * r0 + (uint128_t)h1 * s;
		d1 = (uint128_t)h0 * r1 + (uint128_t)h1 * r0 +
		     (uint128_t)h2 * s;
		d2 = h2 * r0;

		d1 += d0 >> 64;
		d2 += d1 >> 64;

		/* The part from 2^130 up comes back times 5. */
		d0 = (uint128_t)(uint64_t)d0 + (d2 >> 2) * 5;
		h0 = d0;
		d1 = (uint128_t)(uint64_t)d1 + (uint64_t)(d0 >> 64);
		h1 = d1;
		h2 = (d2 & 3) + (uint64_t)(d1 >> 64);
	}
	state->h[0] = h0;
	state->h[1] = h1;
	state->h[2] = h2;
}

#endif
