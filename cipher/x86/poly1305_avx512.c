/*
 * Poly1305 with AVX-512: up to eight blocks at once, each in a lane of its own
 * and multiplied by its own power of r, so that the chain from one block to the
 * next, which is what the polynomial costs in integer registers, is gone: there
 * is one sum and one reduction.
 */
#include "cipher/x86/poly1305_sum.h"

enum { LANES = 8 };

#define AND(a, b) _mm512_and_si512(a, b)
#define OR(a, b) _mm512_or_si512(a, b)
#define ADD(a, b) _mm512_add_epi64(a, b)
#define SHR(a, n) _mm512_srli_epi64(a, n)
#define SHL(a, n) _mm512_slli_epi64(a, n)

/* Numbers of 130 bits as five limbs of 26. */
#define SPLIT(x, lo, mid, hi)                                                  \
	do {                                                                   \
		x[0] = AND(lo, mask26);                                        \
		x[1] = AND(SHR(lo, 26), mask26);                               \
		x[2] = AND(OR(SHR(lo, 52), SHL(mid, 12)), mask26);             \
		x[3] = AND(SHR(mid, 14), mask26);                              \
		x[4] = OR(SHR(mid, 40), SHL(hi, 24));                          \
	} while (0)

/*
 * The powers are loaded without being unpacked: the multiplication takes the
 * low half of each 64 bits, which is a limb, or from 4 bytes further on five
 * times that limb.
 */
#define MUL(x, k, i)                                                           \
	_mm512_mul_epu32(x, _mm512_loadu_si512((const uint32_t *)power + (k) * \
	                                       2 * POLY1305_POWERS + (i)))
#define R(x, k) MUL(x, k, 0)
#define S(x, k) MUL(x, k, 1)

static inline void blocks_8(struct poly1305_state *state,
                            const struct poly1305_key *key,
                            const uint8_t *blocks, size_t count, uint32_t top)
{
	const __m512i mask26 = _mm512_set1_epi64(MASK26);
	const uint32_t *power = key->powers[0][0];
	const __mmask8 first = 1 << (LANES - count), lanes = -first;
	const unsigned int words = (1 << 2 * count) - 1;
	__m512i x[5], h[5], d[5];
	__m512i a = _mm512_maskz_loadu_epi64(words, blocks);
	__m512i b = _mm512_maskz_loadu_epi64(words >> 8, blocks + 64);
	/* The last block goes to the last lane, whose power is r: counting of
	 * words is modulo 16, and those after the blocks are zeros. */
	const __m512i even = ADD(_mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
	                         _mm512_set1_epi64(2 * count));
	__m512i lo = _mm512_permutex2var_epi64(a, even, b);
	__m512i mid = _mm512_permutex2var_epi64(
		a, ADD(even, _mm512_set1_epi64(1)), b);
	__m128i low, high;

	SPLIT(x, lo, mid, _mm512_maskz_set1_epi64(lanes, top));
	/* The sum so far belongs to the first block. */
	SPLIT(h, _mm512_maskz_set1_epi64(first, state->h[0]),
	      _mm512_maskz_set1_epi64(first, state->h[1]),
	      _mm512_maskz_set1_epi64(first, state->h[2]));
	for (int i = 0; i < 5; i++)
		x[i] = ADD(x[i], h[i]);

	d[0] = ADD(ADD(R(x[0], 0), S(x[1], 4)),
	           ADD(ADD(S(x[2], 3), S(x[3], 2)), S(x[4], 1)));
	d[1] = ADD(ADD(R(x[0], 1), R(x[1], 0)),
	           ADD(ADD(S(x[2], 4), S(x[3], 3)), S(x[4], 2)));
	d[2] = ADD(ADD(R(x[0], 2), R(x[1], 1)),
	           ADD(ADD(R(x[2], 0), S(x[3], 4)), S(x[4], 3)));
	d[3] = ADD(ADD(R(x[0], 3), R(x[1], 2)),
	           ADD(ADD(R(x[2], 1), R(x[3], 0)), S(x[4], 4)));
	d[4] = ADD(ADD(R(x[0], 4), R(x[1], 3)),
	           ADD(ADD(R(x[2], 2), R(x[3], 1)), R(x[4], 0)));

	/* The sums over the lanes, d[0] to d[3] side by side. */
	a = ADD(_mm512_unpacklo_epi64(d[0], d[1]),
	        _mm512_unpackhi_epi64(d[0], d[1]));
	b = ADD(_mm512_unpacklo_epi64(d[2], d[3]),
	        _mm512_unpackhi_epi64(d[2], d[3]));
	a = ADD(_mm512_shuffle_i64x2(a, b, 0x88),
	        _mm512_shuffle_i64x2(a, b, 0xdd));
	a = ADD(a, _mm512_shuffle_i64x2(a, a, 0xb1));
	low = _mm512_castsi512_si128(a);
	high = _mm256_castsi256_si128(_mm512_extracti64x4_epi64(a, 1));
	b = ADD(d[4], _mm512_shuffle_i64x2(d[4], d[4], 0x4e));
	b = ADD(b, _mm512_shuffle_i64x2(b, b, 0xb1));
	b = ADD(b, _mm512_unpackhi_epi64(b, b));
	poly1305_sum(state, _mm_cvtsi128_si64(low), _mm_extract_epi64(low, 1),
	             _mm_cvtsi128_si64(high), _mm_extract_epi64(high, 1),
	             _mm_cvtsi128_si64(_mm512_castsi512_si128(b)));
}

/* One and two blocks are quicker in integer registers: 8 take 85 cycles here,
 * and 22 for each there. */
void poly1305_avx512(struct poly1305_state *state,
                     const struct poly1305_key *key, const uint8_t *blocks,
                     size_t count, uint32_t top)
{
	while (count > 2) {
		size_t n = count < LANES ? count : LANES;

		blocks_8(state, key, blocks, n, top);
		blocks += n * POLY1305_BLOCK;
		count -= n;
	}
	if (count)
		poly1305_blocks(state, key, blocks, count, top);
}
