/*
 * What the vector kernels for Poly1305 end with: a sum of products in limbs of
 * 26 bits, none of them carried yet, as the integer it stands for.
 */
#ifndef CIPHER_X86_POLY1305_SUM_H
#define CIPHER_X86_POLY1305_SUM_H

#include <immintrin.h>

#include "cipher/x86/x86.h"

enum { MASK26 = (1 << 26) - 1 };

/*
 * d[i] < 2^62 counts for 2^(26 i). The carries of limbs of 64 bits are fewer
 * and shorter than those of five limbs of 26, one after another.
 */
static inline void poly1305_sum(struct poly1305_state *state, uint64_t d0,
                                uint64_t d1, uint64_t d2, uint64_t d3,
                                uint64_t d4)
{
	typedef unsigned __int128 uint128_t;
	uint128_t low = d0 + ((uint128_t)d1 << 26) + ((uint128_t)d2 << 52);
	uint128_t high = ((uint128_t)d3 << 14) + ((uint128_t)d4 << 40) +
	                 (uint64_t)(low >> 64);
	uint64_t top = high >> 64;
	uint128_t h0 = (uint128_t)(uint64_t)low + (top >> 2) * 5;
	uint128_t h1 = (uint128_t)(uint64_t)high + (uint64_t)(h0 >> 64);

	state->h[0] = h0;
	state->h[1] = h1;
	state->h[2] = (top & 3) + (uint64_t)(h1 >> 64);
}

#endif
