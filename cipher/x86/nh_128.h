/* NH with SSE2: a stride in a register. */
#ifndef CIPHER_X86_NH_128_H
#define CIPHER_X86_NH_128_H

#include <immintrin.h>

#include "cipher/x86/x86.h"

struct nh_128 {
	__m128i sum[NH_PASSES];
};

/* As nh_512_take, for a stride. A shuffle writes to another register than it
 * reads, which spares the copy that a shift would need. */
static inline __attribute__((always_inline)) void
nh_128_take(struct nh_128 *nh, const uint8_t *message, const uint32_t *k)
{
	__m128i text = _mm_loadu_si128((const __m128i *)message);

	text = _mm_shuffle_epi32(text, 0xd8);
	for (int pass = 0; pass < NH_PASSES; pass++) {
		__m128i a = _mm_add_epi32(
			text, _mm_loadu_si128((const __m128i *)(
				      k + pass * NH_STRIDE_WORDS)));
		__m128i b = _mm_shuffle_epi32(a, 0xf5);

		nh->sum[pass] = _mm_add_epi64(nh->sum[pass],
		                              _mm_mul_epu32(a, b));
	}
}

static inline void nh_128_begin(struct nh_128 *nh)
{
	for (int pass = 0; pass < NH_PASSES; pass++)
		nh->sum[pass] = _mm_setzero_si128();
}

/* Add up the lanes. */
static inline void nh_128_end(uint64_t sums[NH_PASSES], const struct nh_128 *nh)
{
	const __m128i *s = nh->sum;

	for (int pass = 0; pass < NH_PASSES; pass += 2)
		_mm_storeu_si128(
			(__m128i *)(sums + pass),
			_mm_add_epi64(
				_mm_unpacklo_epi64(s[pass], s[pass + 1]),
				_mm_unpackhi_epi64(s[pass], s[pass + 1])));
}

#endif
