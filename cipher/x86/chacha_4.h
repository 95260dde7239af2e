/* Registers of 128 bits: four blocks, or the four rows of one. */
#ifndef CIPHER_X86_CHACHA_4_H
#define CIPHER_X86_CHACHA_4_H

#include "cipher/x86/chacha_rounds.h"

/* Rotations by whole bytes are one shuffle, others two shifts and an OR; only
 * AVX-512 has an instruction for all. */
#ifdef __AVX512VL__
#define ROTATE_4(v, n) ((u32x4)_mm_rol_epi32((__m128i)(v), n))
#else
INLINE u32x4 rotate_4(u32x4 v, int n)
{
	const __m128i by_16 = _mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8,
	                                    9, 14, 15, 12, 13);
	const __m128i by_8 = _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10,
	                                   15, 12, 13, 14);

	if (n == 16)
		return (u32x4)_mm_shuffle_epi8((__m128i)v, by_16);
	if (n == 8)
		return (u32x4)_mm_shuffle_epi8((__m128i)v, by_8);
	return v << n | v >> (32 - n);
}
#define ROTATE_4(v, n) rotate_4(v, n)
#endif

INLINE u32x4 splat_4(uint32_t v)
{
	return (u32x4)_mm_set1_epi32(v);
}

/* Word i of lane j against word j of lane i, for four words. */
INLINE void transpose_4(u32x4 x[4])
{
	__m128i a = _mm_unpacklo_epi32((__m128i)x[0], (__m128i)x[1]);
	__m128i b = _mm_unpackhi_epi32((__m128i)x[0], (__m128i)x[1]);
	__m128i c = _mm_unpacklo_epi32((__m128i)x[2], (__m128i)x[3]);
	__m128i d = _mm_unpackhi_epi32((__m128i)x[2], (__m128i)x[3]);

	x[0] = (u32x4)_mm_unpacklo_epi64(a, c);
	x[1] = (u32x4)_mm_unpackhi_epi64(a, c);
	x[2] = (u32x4)_mm_unpacklo_epi64(b, d);
	x[3] = (u32x4)_mm_unpackhi_epi64(b, d);
}

#define TURN(v, i, j, k, l)                                                    \
	((u32x4)_mm_shuffle_epi32((__m128i)(v), _MM_SHUFFLE(l, k, j, i)))

/*
 * One HChaCha, a row of the state in each register. There is nothing to fill
 * the time in which one operation waits for another, so it is the length of
 * that chain which counts. Row b comes last out of a round and first into the
 * next; rows a, c and d are the ones turned to make columns of diagonals, which
 * is done while b is still being made, and takes no time at all. (187 cycles
 * with AVX-512's rotations, 220 without, and 199 in integer registers.)
 */
INLINE void hchacha_rows(uint32_t subkey[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t nonce[HCHACHA_NONCE], int rounds)
{
	u32x4 a, b, c, d;

	memcpy(&a, chacha_constants, sizeof(a));
	memcpy(&b, key, sizeof(b));
	memcpy(&c, key + 4, sizeof(c));
	memcpy(&d, nonce, sizeof(d));
	for (; rounds; rounds -= 2) {
		ONE_QUARTER_ROUND(ROTATE_4, a, b, c, d);
		a = TURN(a, 3, 0, 1, 2);
		d = TURN(d, 2, 3, 0, 1);
		c = TURN(c, 1, 2, 3, 0);
		ONE_QUARTER_ROUND(ROTATE_4, a, b, c, d);
		a = TURN(a, 1, 2, 3, 0);
		d = TURN(d, 2, 3, 0, 1);
		c = TURN(c, 3, 0, 1, 2);
	}
	memcpy(subkey, &a, sizeof(a));
	memcpy(subkey + 4, &d, sizeof(d));
}

#endif
