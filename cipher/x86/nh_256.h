/* NH with AVX2: two strides in a register. */
#ifndef CIPHER_X86_NH_256_H
#define CIPHER_X86_NH_256_H

#include <immintrin.h>

#include "cipher/x86/x86.h"

enum { NH_256 = 32 }; /* bytes in a register */

struct nh_256 {
	__m256i sum[NH_PASSES];
};

/* As nh_512_take. Shifts and shuffles have two units each here, but again not
 * the same two. */
static inline __attribute__((always_inline)) void
nh_256_take(struct nh_256 *nh, const uint8_t *message, const uint32_t *k)
{
	__m256i text = _mm256_loadu_si256((const __m256i *)message);

	text = _mm256_shuffle_epi32(text, 0xd8);
	for (int pass = 0; pass < NH_PASSES; pass++) {
		__m256i a = _mm256_add_epi32(
			text, _mm256_loadu_si256((const __m256i *)(
				      k + pass * NH_STRIDE_WORDS)));
		__m256i b = pass % 2 ? _mm256_shuffle_epi32(a, 0xf5) :
		                       _mm256_srli_epi64(a, 32);

		nh->sum[pass] = _mm256_add_epi64(nh->sum[pass],
		                                 _mm256_mul_epu32(a, b));
	}
}

/* The same for a single stride. */
static inline __attribute__((always_inline)) void
nh_256_take_half(struct nh_256 *nh, const uint8_t *message, const uint32_t *k)
{
	__m128i text = _mm_loadu_si128((const __m128i *)message);

	text = _mm_shuffle_epi32(text, 0xd8);
	for (int pass = 0; pass < NH_PASSES; pass++) {
		__m128i a = _mm_add_epi32(
			text, _mm_loadu_si128((const __m128i *)(
				      k + pass * NH_STRIDE_WORDS)));

		a = _mm_mul_epu32(a, _mm_srli_epi64(a, 32));
		nh->sum[pass] = _mm256_add_epi64(nh->sum[pass],
		                                 _mm256_zextsi128_si256(a));
	}
}

static inline void nh_256_begin(struct nh_256 *nh)
{
	for (int pass = 0; pass < NH_PASSES; pass++)
		nh->sum[pass] = _mm256_setzero_si256();
}

/* Add up the lanes. */
static inline void nh_256_end(uint64_t sums[NH_PASSES], const struct nh_256 *nh)
{
	const __m256i *s = nh->sum;
	__m256i a = _mm256_add_epi64(_mm256_unpacklo_epi64(s[0], s[1]),
	                             _mm256_unpackhi_epi64(s[0], s[1]));
	__m256i b = _mm256_add_epi64(_mm256_unpacklo_epi64(s[2], s[3]),
	                             _mm256_unpackhi_epi64(s[2], s[3]));
	__m256i c = _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20),
	                             _mm256_permute2x128_si256(a, b, 0x31));

	_mm256_storeu_si256((__m256i *)sums, c);
}

#endif
