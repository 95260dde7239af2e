/* NH with SSE2 */
#include <immintrin.h>

#include "cipher/x86/x86.h"

#define TAKE(sum, text, key)                                                   \
	do {                                                                   \
		__m128i t = _mm_add_epi32(                                  \
			text, _mm_loadu_si128((const __m128i *)(key)));     \
		__m128i u = _mm_shuffle_epi32(t, 0xf5);                     \
		sum = _mm_add_epi64(sum, _mm_mul_epu32(t, u));           \
	} while (0)

void nh_ssse3(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT;
		const uint32_t *k = key->swapped;
		__m128i s0 = _mm_setzero_si128(), s1 = s0, s2 = s0, s3 = s0;

		for (size_t at = 0; at < n; at += NH_STRIDE, k += 4) {
			__m128i a = _mm_loadu_si128((const __m128i *)(message + at));
			a = _mm_shuffle_epi32(a, 0xd8);
			TAKE(s0, a, k);
			TAKE(s1, a, k + 4);
			TAKE(s2, a, k + 8);
			TAKE(s3, a, k + 12);
		}
		s0 = _mm_add_epi64(_mm_unpacklo_epi64(s0, s1), _mm_unpackhi_epi64(s0, s1));
		s2 = _mm_add_epi64(_mm_unpacklo_epi64(s2, s3), _mm_unpackhi_epi64(s2, s3));
		_mm_storeu_si128((__m128i *)*sums, s0);
		_mm_storeu_si128((__m128i *)*sums + 1, s2);
		sums++;
		message += n;
		size -= n;
	}
}
