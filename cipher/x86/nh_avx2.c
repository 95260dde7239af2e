/* NH with AVX2: two strides in a register. */
#include <immintrin.h>

#include "cipher/x86/x86.h"

enum { CHUNK = 32 };

#define TAKE(sum, text, key)                                                   \
	do {                                                                   \
		__m256i t = _mm256_add_epi32(                                  \
			text, _mm256_loadu_si256((const __m256i *)(key)));     \
		__m256i u = _mm256_shuffle_epi32(t, 0xf5);                     \
		sum = _mm256_add_epi64(sum, _mm256_mul_epu32(t, u));           \
	} while (0)
#define TAKE2(sum, text, key)                                                   \
	do {                                                                   \
		__m256i t = _mm256_add_epi32(                                  \
			text, _mm256_loadu_si256((const __m256i *)(key)));     \
		__m256i u = _mm256_srli_epi64(t, 32);                     \
		sum = _mm256_add_epi64(sum, _mm256_mul_epu32(t, u));           \
	} while (0)

void nh_avx2(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT, at = 0;
		const uint32_t *k = key->swapped;
		__m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
		__m256i a, b;

		for (; at + CHUNK <= n; at += CHUNK, k += CHUNK / 4) {
			a = _mm256_loadu_si256((const __m256i *)(message + at));
			a = _mm256_shuffle_epi32(a, 0xd8);
			TAKE(s0, a, k);
			TAKE2(s1, a, k + 4);
			TAKE(s2, a, k + 8);
			TAKE2(s3, a, k + 12);
		}
		if (at < n) {
			__m128i m = _mm_loadu_si128((const __m128i *)(message + at));

			m = _mm_shuffle_epi32(m, 0xd8);
#define LAST(sum, key) do { \
			__m128i t = _mm_add_epi32(m, _mm_loadu_si128((const __m128i *)(key))); \
			t = _mm_mul_epu32(t, _mm_srli_epi64(t, 32)); \
			sum = _mm256_add_epi64(sum, _mm256_zextsi128_si256(t)); } while (0)
			LAST(s0, k);
			LAST(s1, k + 4);
			LAST(s2, k + 8);
			LAST(s3, k + 12);
		}
		a = _mm256_add_epi64(_mm256_unpacklo_epi64(s0, s1), _mm256_unpackhi_epi64(s0, s1));
		b = _mm256_add_epi64(_mm256_unpacklo_epi64(s2, s3), _mm256_unpackhi_epi64(s2, s3));
		a = _mm256_add_epi64(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
		_mm256_storeu_si256((__m256i *)*sums, a);
		sums++;
		message += n;
		size -= n;
	}
}
