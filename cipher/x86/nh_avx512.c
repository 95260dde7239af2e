/*
 * NH with AVX-512: four strides in a register, one register of sums for each
 * pass.
 */
#include <immintrin.h>

#include "cipher/x86/x86.h"

enum { CHUNK = 64, CHUNK_STRIDES = CHUNK / NH_STRIDE };

/*
 * A stride's words in the order 0, 2, 1, 3 stand so that the two that are
 * multiplied share 64 bits: vpmuludq takes the low halves of its operands, so
 * one shift brings the other factor there. The key is stored in that order.
 */
#define TAKE(sum, text, key)                                                   \
	do {                                                                   \
		__m512i t = _mm512_add_epi32(text, _mm512_loadu_si512(key));   \
		__m512i u = _mm512_srli_epi64(t, 32);                          \
		sum = _mm512_add_epi64(sum, _mm512_mul_epu32(t, u));           \
	} while (0)
#define TAKE2(sum, text, key)                                                   \
	do {                                                                   \
		__m512i t = _mm512_add_epi32(text, _mm512_loadu_si512(key));   \
		__m512i u = _mm512_shuffle_epi32(t, 0xf5);                          \
		sum = _mm512_add_epi64(sum, _mm512_mul_epu32(t, u));           \
	} while (0)

#define TAKE_MASKED(sum, mask, text, key)                                      \
	do {                                                                   \
		__m512i t = _mm512_add_epi32(text, _mm512_loadu_si512(key));   \
		__m512i u = _mm512_srli_epi64(t, 32);                          \
		sum = _mm512_add_epi64(sum, _mm512_maskz_mul_epu32(mask, t, u)); \
	} while (0)

#define ORDER(text) _mm512_shuffle_epi32(text, 0xd8)

void nh_avx512(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
               const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT, at = 0;
		const uint32_t *k = key->swapped;
		__m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0;
		__m512i a, b, c;
		__m256i d;

		for (; at + CHUNK <= n; at += CHUNK, k += CHUNK / 4) {
			a = ORDER(_mm512_loadu_si512(message + at));
			TAKE(s0, a, k);
			TAKE2(s1, a, k + 4);
			TAKE(s2, a, k + 8);
			TAKE2(s3, a, k + 12);
		}
		if (at < n) {
			__mmask8 mask = (1 << (n - at) / 8) - 1;

			a = ORDER(_mm512_maskz_loadu_epi64(mask, message + at));
			TAKE_MASKED(s0, mask, a, k);
			TAKE_MASKED(s1, mask, a, k + 4);
			TAKE_MASKED(s2, mask, a, k + 8);
			TAKE_MASKED(s3, mask, a, k + 12);
		}
		a = _mm512_add_epi64(_mm512_unpacklo_epi64(s0, s1), _mm512_unpackhi_epi64(s0, s1));
		b = _mm512_add_epi64(_mm512_unpacklo_epi64(s2, s3), _mm512_unpackhi_epi64(s2, s3));
		c = _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
		/* c: a0+a1, a2+a3, b0+b1, b2+b3 */
		d = _mm256_add_epi64(_mm512_castsi512_si256(_mm512_shuffle_i64x2(c, c, 0x08)),
		                     _mm512_castsi512_si256(_mm512_shuffle_i64x2(c, c, 0x0d)));
		_mm256_storeu_si256((__m256i *)*sums, d);
		sums++;
		message += n;
		size -= n;
	}
}
