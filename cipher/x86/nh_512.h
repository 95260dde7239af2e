/*
 * NH with AVX-512: four strides in a register, and a register of sums for each
 * pass.
 */
#ifndef CIPHER_X86_NH_512_H
#define CIPHER_X86_NH_512_H

#include <immintrin.h>

#include "cipher/x86/x86.h"

enum { NH_512 = 64 }; /* bytes in a register */

struct nh_512 {
	__m512i sum[NH_PASSES];
};

/*
 * Take in 64 bytes; k points at the words of their first stride in
 * nh_key.swapped. Of the message's words, too, those that are multiplied are
 * brought side by side. Then a pass costs an addition, a multiplication (of the
 * low halves of each 64 bits), another addition, and one instruction to bring
 * the second factor to the low half. That one is a shift or a shuffle by turns,
 * because each of these two has but one unit for 512 bits, and not the same.
 */
static inline __attribute__((always_inline)) void
nh_512_take(struct nh_512 *nh, __m512i text, const uint32_t *k)
{
	text = _mm512_shuffle_epi32(text, 0xd8);
	for (int pass = 0; pass < NH_PASSES; pass++) {
		__m512i a = _mm512_add_epi32(
			text,
			_mm512_loadu_si512(k + pass * NH_STRIDE_WORDS));
		__m512i b = pass % 2 ? _mm512_shuffle_epi32(a, 0xf5) :
		                       _mm512_srli_epi64(a, 32);

		nh->sum[pass] = _mm512_add_epi64(nh->sum[pass],
		                                 _mm512_mul_epu32(a, b));
	}
}

/* The same for `size` bytes, whole strides. What is left out of the register is
 * zero, but sums with the key are not: so are the products to be. */
static inline __attribute__((always_inline)) void
nh_512_take_some(struct nh_512 *nh, __m512i text, const uint32_t *k,
                 size_t size)
{
	const __mmask8 mask = (1 << size / 8) - 1;

	text = _mm512_shuffle_epi32(text, 0xd8);
	for (int pass = 0; pass < NH_PASSES; pass++) {
		__m512i a = _mm512_add_epi32(
			text,
			_mm512_loadu_si512(k + pass * NH_STRIDE_WORDS));
		__m512i b = _mm512_srli_epi64(a, 32);

		nh->sum[pass] = _mm512_add_epi64(
			nh->sum[pass], _mm512_maskz_mul_epu32(mask, a, b));
	}
}

static inline void nh_512_begin(struct nh_512 *nh)
{
	for (int pass = 0; pass < NH_PASSES; pass++)
		nh->sum[pass] = _mm512_setzero_si512();
}

/* Add up the lanes. */
static inline void nh_512_end(uint64_t sums[NH_PASSES], const struct nh_512 *nh)
{
	const __m512i *s = nh->sum;
	__m512i a = _mm512_add_epi64(_mm512_unpacklo_epi64(s[0], s[1]),
	                             _mm512_unpackhi_epi64(s[0], s[1]));
	__m512i b = _mm512_add_epi64(_mm512_unpacklo_epi64(s[2], s[3]),
	                             _mm512_unpackhi_epi64(s[2], s[3]));
	__m512i c = _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88),
	                             _mm512_shuffle_i64x2(a, b, 0xdd));

	/* Passes 0 and 1 are now in quarters 0 and 1, 2 and 3 in the others. */
	c = _mm512_add_epi64(_mm512_shuffle_i64x2(c, c, 0x08),
	                     _mm512_shuffle_i64x2(c, c, 0x0d));
	_mm256_storeu_si256((__m256i *)sums, _mm512_castsi512_si256(c));
}

#endif
