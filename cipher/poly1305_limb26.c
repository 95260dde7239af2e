/* Poly1305 by 32-bit multiplications with 64-bit products. */
#include "cipher/poly1305.h"

enum { MASK26 = (1 << 26) - 1 };

/* A number of 130 bits as five limbs of 26; the last takes what is above. */
static void split(uint32_t limb[5], uint64_t lo, uint64_t mid, uint64_t hi)
{
	limb[0] = lo & MASK26;
	limb[1] = lo >> 26 & MASK26;
	limb[2] = (lo >> 52 | mid << 12) & MASK26;
	limb[3] = mid >> 14 & MASK26;
	limb[4] = mid >> 40 | hi << 24;
}

/*
 * h = (h + block) r modulo 2^130 - 5. A product of limbs i and j counts for
 * 2^(26 (i + j)); from 2^130 up it comes back times 5, hence s[i] = 5 r[i].
 * The limbs of h + block are below 2^28, those of r below 2^26 and of s
 * below 2^29: five such products stay far below 2^64.
 */
void poly1305_blocks_limb26(struct poly1305_state *state,
                            const struct poly1305_key *key,
                            const uint8_t *blocks, size_t count, uint32_t top)
{
	uint32_t h[5], r[5], s[5];

	split(h, state->h[0], state->h[1], state->h[2]);
	split(r, key->r[0], key->r[1], 0);
	for (int i = 0; i < 5; i++)
		s[i] = r[i] * 5;

	for (; count; count--, blocks += POLY1305_BLOCK) {
		uint32_t m[5];
		uint64_t d0, d1, d2, d3, d4;
		uint64_t h0, h1, h2, h3, h4;

		split(m, load64(blocks), load64(blocks + 8), top);
		h0 = h[0] + m[0];
		h1 = h[1] + m[1];
		h2 = h[2] + m[2];
		h3 = h[3] + m[3];
		h4 = h[4] + m[4];

		d0 = h0 * r[0] + h1 * s[4] + h2 * s[3] + h3 * s[2] + h4 * s[1];
		d1 = h0 * r[1] + h1 * r[0] + h2 * s[4] + h3 * s[3] + h4 * s[2];
		d2 = h0 * r[2] + h1 * r[1] + h2 * r[0] + h3 * s[4] + h4 * s[3];
		d3 = h0 * r[3] + h1 * r[2] + h2 * r[1] + h3 * r[0] + h4 * s[4];
		d4 = h0 * r[4] + h1 * r[3] + h2 * r[2] + h3 * r[1] + h4 * r[0];

		d1 += d0 >> 26;
		d2 += d1 >> 26;
		d3 += d2 >> 26;
		d4 += d3 >> 26;
		d0 = (d0 & MASK26) + (d4 >> 26) * 5;
		h[0] = d0 & MASK26;
		h[1] = (d1 & MASK26) + (uint32_t)(d0 >> 26);
		h[2] = d2 & MASK26;
		h[3] = d3 & MASK26;
		h[4] = d4 & MASK26;
	}

	/* Limb 1 may be above 26 bits; carry once more before joining them. */
	for (int i = 1; i < 4; i++) {
		h[i + 1] += h[i] >> 26;
		h[i] &= MASK26;
	}
	state->h[0] = h[0] | (uint64_t)h[1] << 26 | (uint64_t)h[2] << 52;
	state->h[1] = h[2] >> 12 | (uint64_t)h[3] << 14 | (uint64_t)h[4] << 40;
	state->h[2] = h[4] >> 24;
}
