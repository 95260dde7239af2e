/*
 * ChaCha in portable C. Where the compiler's vectors of four words are machine
 * registers, four blocks are made at once, one in each lane; elsewhere one.
 */
#include <openssl/crypto.h>

#include "cipher/generic.h"

#ifndef GENERIC_LANES
#if defined(__SSE2__) || defined(__ARM_NEON) || defined(__ALTIVEC__)
#define GENERIC_LANES 4
#else
#define GENERIC_LANES 1
#endif
#endif

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

enum { LANES = GENERIC_LANES, STEP = LANES * CHACHA_BLOCK };

#if GENERIC_LANES == 4

typedef uint32_t lanes __attribute__((vector_size(16)));

#ifdef __clang__
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (lanes){ i, j, k, l })
#endif

static inline lanes splat(uint32_t v)
{
	return (lanes){ v, v, v, v };
}

/* Turn word i of lane j into word j of lane i, for four words. */
static inline void transpose(lanes x[4])
{
	lanes a = SHUFFLE(x[0], x[1], 0, 4, 1, 5);
	lanes b = SHUFFLE(x[2], x[3], 0, 4, 1, 5);
	lanes c = SHUFFLE(x[0], x[1], 2, 6, 3, 7);
	lanes d = SHUFFLE(x[2], x[3], 2, 6, 3, 7);

	x[0] = SHUFFLE(a, b, 0, 1, 4, 5);
	x[1] = SHUFFLE(a, b, 2, 3, 6, 7);
	x[2] = SHUFFLE(c, d, 0, 1, 4, 5);
	x[3] = SHUFFLE(c, d, 2, 3, 6, 7);
}

/* Both words of the block counter: it counts on from lane to lane. */
static inline void count_lanes(lanes *lo, lanes *hi)
{
	lanes first = *lo;

	*lo += (lanes){ 0, 1, 2, 3 };
	*hi -= (lanes)(*lo < first); /* a comparison that holds gives -1 */
}

#else

typedef uint32_t lanes;

static inline lanes splat(uint32_t v)
{
	return v;
}

static inline void transpose(lanes x[4])
{
	(void)x;
}

static inline void count_lanes(lanes *lo, lanes *hi)
{
	(void)lo;
	(void)hi;
}

#endif

#define ROTATE(x, n) ((x) << (n) | (x) >> (32 - (n)))

#define QUARTER_ROUND(a, b, c, d)                                              \
	do {                                                                   \
		a += b, d ^= a, d = ROTATE(d, 16);                             \
		c += d, b ^= c, b = ROTATE(b, 12);                             \
		a += b, d ^= a, d = ROTATE(d, 8);                              \
		c += d, b ^= c, b = ROTATE(b, 7);                              \
	} while (0)

static inline void permute(lanes x[16], int rounds)
{
	for (; rounds; rounds -= 2) {
		QUARTER_ROUND(x[0], x[4], x[8], x[12]);
		QUARTER_ROUND(x[1], x[5], x[9], x[13]);
		QUARTER_ROUND(x[2], x[6], x[10], x[14]);
		QUARTER_ROUND(x[3], x[7], x[11], x[15]);

		QUARTER_ROUND(x[0], x[5], x[10], x[15]);
		QUARTER_ROUND(x[1], x[6], x[11], x[12]);
		QUARTER_ROUND(x[2], x[7], x[8], x[13]);
		QUARTER_ROUND(x[3], x[4], x[9], x[14]);
	}
}

/* XOR one step of keystream, a block from each lane. */
static void step(const uint32_t state[CHACHA_STATE_WORDS], int rounds,
                 uint8_t *dst, const uint8_t *src)
{
	lanes lo = splat(state[12]), hi = splat(state[13]);
	lanes x[16];

	count_lanes(&lo, &hi);
	UNROLL for (int i = 0; i < 16; i++)
		x[i] = splat(state[i]);
	x[12] = lo;
	x[13] = hi;

	permute(x, rounds);

	UNROLL for (int i = 0; i < 16; i++)
		x[i] += i == 12 ? lo : i == 13 ? hi : splat(state[i]);

#if GENERIC_LANES == 4
	UNROLL for (int i = 0; i < 16; i += 4)
		transpose(x + i);
	UNROLL for (int i = 0; i < 16; i++) {
		/* x[i] now holds four words of lane i % 4. */
		size_t at = i % 4 * CHACHA_BLOCK + i / 4 * sizeof(lanes);
		lanes text;

		memcpy(&text, src + at, sizeof(text));
		text ^= x[i];
		memcpy(dst + at, &text, sizeof(text));
	}
#else
	UNROLL for (int i = 0; i < 16; i++) {
		lanes text;

		memcpy(&text, src + i * sizeof(text), sizeof(text));
		text ^= x[i];
		memcpy(dst + i * sizeof(text), &text, sizeof(text));
	}
#endif
}

static void count(uint32_t state[CHACHA_STATE_WORDS], uint64_t blocks)
{
	uint64_t counter;

	memcpy(&counter, state + 12, sizeof(counter));
	counter += blocks;
	memcpy(state + 12, &counter, sizeof(counter));
}

void generic_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                    uint8_t *dst, const uint8_t *src, size_t size)
{
	uint8_t last[STEP];

	for (; size >= STEP; size -= STEP, src += STEP, dst += STEP) {
		step(state, rounds, dst, src);
		count(state, LANES);
	}
	if (!size)
		return;
	memcpy(last, src, size);
	memset(last + size, 0, STEP - size);
	step(state, rounds, last, last);
	count(state, (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK);
	memcpy(dst, last, size);
	OPENSSL_cleanse(last, sizeof(last));
}

/* Up to LANES subkeys: x[0] to x[3] and x[12] to x[15] after the rounds. */
static void hchacha_step(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds)
{
	uint32_t nonce[4 * LANES] = { 0 };
	lanes x[16];

	memcpy(nonce, nonces, count * HCHACHA_NONCE);
	UNROLL for (int i = 0; i < 4; i++)
		x[i] = splat(chacha_constants[i]);
	UNROLL for (int i = 0; i < 8; i++)
		x[4 + i] = splat(key[i]);
	memcpy(x + 12, nonce, sizeof(nonce));
	transpose(x + 12);

	permute(x, rounds);

	transpose(x);
	transpose(x + 12);
	for (size_t lane = 0; lane < count; lane++) {
		memcpy(subkeys[lane], (uint32_t *)x + 4 * lane, 16);
		memcpy(subkeys[lane] + 4, (uint32_t *)(x + 12) + 4 * lane, 16);
	}
	OPENSSL_cleanse(x, sizeof(x));
}

void generic_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                     const uint32_t key[CHACHA_KEY_WORDS],
                     const uint8_t *nonces, size_t count, int rounds)
{
	while (count) {
		size_t n = count < LANES ? count : LANES;

		hchacha_step(subkeys, key, nonces, n, rounds);
		subkeys += n;
		nonces += n * HCHACHA_NONCE;
		count -= n;
	}
}
