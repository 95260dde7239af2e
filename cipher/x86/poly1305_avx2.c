/* Poly1305 with AVX2: as with AVX-512, but four blocks at once, twice. */
#include "cipher/x86/poly1305_sum.h"

enum { LANES = 4 };

#define AND(a, b) _mm256_and_si256(a, b)
#define OR(a, b) _mm256_or_si256(a, b)
#define ADD(a, b) _mm256_add_epi64(a, b)
#define SHR(a, n) _mm256_srli_epi64(a, n)
#define SHL(a, n) _mm256_slli_epi64(a, n)

#define SPLIT(x, lo, mid, hi)                                                  \
	do {                                                                   \
		const __m256i mask26 = _mm256_set1_epi64x(MASK26);             \
		x[0] = AND(lo, mask26);                                        \
		x[1] = AND(SHR(lo, 26), mask26);                               \
		x[2] = AND(OR(SHR(lo, 52), SHL(mid, 12)), mask26);             \
		x[3] = AND(SHR(mid, 14), mask26);                              \
		x[4] = OR(SHR(mid, 40), SHL(hi, 24));                          \
	} while (0)

/* As there: a limb, or from 4 bytes further on five times that limb. */
#define R(x, k)                                                                \
	_mm256_mul_epu32(x, _mm256_loadu_si256(                                \
		(const __m256i *)(power + (k) * 2 * POLY1305_POWERS)))
#define S(x, k)                                                                \
	_mm256_mul_epu32(x, _mm256_loadu_si256(                                \
		(const __m256i *)(power + (k) * 2 * POLY1305_POWERS + 1)))

static inline __m256i two_blocks(const uint8_t *low, const uint8_t *high)
{
	__m128i a = _mm_loadu_si128((const __m128i *)low);
	__m128i b = _mm_loadu_si128((const __m128i *)high);

	return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

/* Four blocks into x, which holds what is to be added to them. */
static inline void load_4(__m256i x[5], const uint8_t *blocks, uint32_t top)
{
	__m256i a = two_blocks(blocks, blocks + 2 * POLY1305_BLOCK);
	__m256i b = two_blocks(blocks + POLY1305_BLOCK,
	                       blocks + 3 * POLY1305_BLOCK);
	__m256i m[5];

	SPLIT(m, _mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
	      _mm256_set1_epi64x(top));
	for (int i = 0; i < 5; i++)
		x[i] = ADD(x[i], m[i]);
}

/* Add x r^n to d; `power` points at r^n of the first lane. */
static inline void multiply_4(__m256i d[5], const __m256i x[5],
                              const uint32_t *power)
{
	d[0] = ADD(ADD(ADD(d[0], R(x[0], 0)), ADD(S(x[1], 4), S(x[2], 3))),
	           ADD(S(x[3], 2), S(x[4], 1)));
	d[1] = ADD(ADD(ADD(d[1], R(x[0], 1)), ADD(R(x[1], 0), S(x[2], 4))),
	           ADD(S(x[3], 3), S(x[4], 2)));
	d[2] = ADD(ADD(ADD(d[2], R(x[0], 2)), ADD(R(x[1], 1), R(x[2], 0))),
	           ADD(S(x[3], 4), S(x[4], 3)));
	d[3] = ADD(ADD(ADD(d[3], R(x[0], 3)), ADD(R(x[1], 2), R(x[2], 1))),
	           ADD(R(x[3], 0), S(x[4], 4)));
	d[4] = ADD(ADD(ADD(d[4], R(x[0], 4)), ADD(R(x[1], 3), R(x[2], 2))),
	           ADD(R(x[3], 1), R(x[4], 0)));
}

static void blocks_4_or_8(struct poly1305_state *state,
                          const struct poly1305_key *key, const uint8_t *blocks,
                          size_t count, uint32_t top)
{
	__m256i x[5], d[5], a, b;
	__m128i low, high, last;

	/* The sum so far belongs to the first block. */
	a = _mm256_zextsi128_si256(_mm_loadl_epi64((__m128i *)&state->h[0]));
	b = _mm256_zextsi128_si256(_mm_loadl_epi64((__m128i *)&state->h[1]));
	SPLIT(x, a, b, _mm256_zextsi128_si256(
		_mm_loadl_epi64((__m128i *)&state->h[2])));
	for (int i = 0; i < 5; i++)
		d[i] = _mm256_setzero_si256();
	for (; count; count -= LANES, blocks += LANES * POLY1305_BLOCK) {
		load_4(x, blocks, top);
		multiply_4(d, x, key->powers[0][POLY1305_POWERS - count]);
		for (int i = 0; i < 5; i++)
			x[i] = _mm256_setzero_si256();
	}

	a = ADD(_mm256_unpacklo_epi64(d[0], d[1]),
	        _mm256_unpackhi_epi64(d[0], d[1]));
	b = ADD(_mm256_unpacklo_epi64(d[2], d[3]),
	        _mm256_unpackhi_epi64(d[2], d[3]));
	low = _mm_add_epi64(_mm256_castsi256_si128(a),
	                    _mm256_extracti128_si256(a, 1));
	high = _mm_add_epi64(_mm256_castsi256_si128(b),
	                     _mm256_extracti128_si256(b, 1));
	last = _mm_add_epi64(_mm256_castsi256_si128(d[4]),
	                     _mm256_extracti128_si256(d[4], 1));
	last = _mm_add_epi64(last, _mm_unpackhi_epi64(last, last));
	poly1305_sum(state, _mm_cvtsi128_si64(low), _mm_extract_epi64(low, 1),
	             _mm_cvtsi128_si64(high), _mm_extract_epi64(high, 1),
	             _mm_cvtsi128_si64(last));
}

void poly1305_avx2(struct poly1305_state *state, const struct poly1305_key *key,
                   const uint8_t *blocks, size_t count, uint32_t top)
{
	size_t n = count % LANES;

	if (n)
		poly1305_blocks(state, key, blocks, n, top);
	for (; n < count; ) {
		size_t next = count - n < POLY1305_POWERS ? LANES : POLY1305_POWERS;

		blocks_4_or_8(state, key, blocks + n * POLY1305_BLOCK, next, top);
		n += next;
	}
}
