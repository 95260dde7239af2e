/*
 * The rounds of ChaCha on vectors, x[i] holding word i of as many blocks as a
 * vector has lanes, and what all kernels of this folder do before them.
 */
#ifndef CIPHER_X86_CHACHA_ROUNDS_H
#define CIPHER_X86_CHACHA_ROUNDS_H

#include <immintrin.h>

#include "cipher/x86/x86.h"

#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

typedef uint32_t u32x4 __attribute__((vector_size(16)));
typedef uint32_t u32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x16 __attribute__((vector_size(64)));

/*
 * Two quarter-rounds side by side; ROTATE(v, n) is the vector's rotation to the
 * left. Two at a time leave as much room as there can be in 16 registers: the
 * words of the other two are where a compiler finds what to keep in memory.
 */
#define QUARTER_ROUNDS(ROTATE, a, b, c, d, e, f, g, h)                         \
	do {                                                                   \
		a += b, e += f, d ^= a, h ^= e;                                \
		d = ROTATE(d, 16), h = ROTATE(h, 16);                          \
		c += d, g += h, b ^= c, f ^= g;                                \
		b = ROTATE(b, 12), f = ROTATE(f, 12);                          \
		a += b, e += f, d ^= a, h ^= e;                                \
		d = ROTATE(d, 8), h = ROTATE(h, 8);                            \
		c += d, g += h, b ^= c, f ^= g;                                \
		b = ROTATE(b, 7), f = ROTATE(f, 7);                            \
	} while (0)

#define COLUMN_ROUND(ROTATE, x)                                                \
	do {                                                                   \
		QUARTER_ROUNDS(ROTATE, x[0], x[4], x[8], x[12], x[1], x[5],    \
		               x[9], x[13]);                                   \
		QUARTER_ROUNDS(ROTATE, x[2], x[6], x[10], x[14], x[3], x[7],   \
		               x[11], x[15]);                                  \
	} while (0)

#define DIAGONAL_ROUND(ROTATE, x)                                              \
	do {                                                                   \
		QUARTER_ROUNDS(ROTATE, x[0], x[5], x[10], x[15], x[1], x[6],   \
		               x[11], x[12]);                                  \
		QUARTER_ROUNDS(ROTATE, x[2], x[7], x[8], x[13], x[3], x[4],    \
		               x[9], x[14]);                                   \
	} while (0)

#define ONE_QUARTER_ROUND(ROTATE, a, b, c, d)                                  \
	do {                                                                   \
		a += b;                                                        \
		REST_OF_QUARTER_ROUND(ROTATE, a, b, c, d);                     \
	} while (0)

#define REST_OF_QUARTER_ROUND(ROTATE, a, b, c, d)                              \
	do {                                                                   \
		d ^= a, d = ROTATE(d, 16);                                     \
		c += d, b ^= c, b = ROTATE(b, 12);                             \
		a += b, d ^= a, d = ROTATE(d, 8);                              \
		c += d, b ^= c, b = ROTATE(b, 7);                              \
	} while (0)

/* Two rounds; `meanwhile` is done four times, between the quarter-rounds. */
#define DOUBLE_ROUND(ROTATE, x, meanwhile)                                     \
	do {                                                                   \
		QUARTER_ROUNDS(ROTATE, x[0], x[4], x[8], x[12], x[1], x[5],    \
		               x[9], x[13]);                                   \
		meanwhile;                                                     \
		QUARTER_ROUNDS(ROTATE, x[2], x[6], x[10], x[14], x[3], x[7],   \
		               x[11], x[15]);                                  \
		meanwhile;                                                     \
		QUARTER_ROUNDS(ROTATE, x[0], x[5], x[10], x[15], x[1], x[6],   \
		               x[11], x[12]);                                  \
		meanwhile;                                                     \
		QUARTER_ROUNDS(ROTATE, x[2], x[7], x[8], x[13], x[3], x[4],    \
		               x[9], x[14]);                                   \
		meanwhile;                                                     \
	} while (0)

/* The rounds of a state whose columns 1 to 3 come from first_columns below.
 * `meanwhile` is done MEANWHILE times. */
#define ROUNDS_AFTER_FIRST_COLUMNS(ROTATE, x, rounds, meanwhile)               \
	do {                                                                   \
		int round = 2;                                                 \
                                                                               \
		REST_OF_QUARTER_ROUND(ROTATE, x[0], x[4], x[8], x[12]);        \
		DIAGONAL_ROUND(ROTATE, x);                                     \
		for (; round < 2 + MEANWHILE / 2; round += 2)                  \
			DOUBLE_ROUND(ROTATE, x, meanwhile);                    \
		for (; round < (rounds); round += 2)                           \
			DOUBLE_ROUND(ROTATE, x, );                             \
	} while (0)

enum { MEANWHILE = 16 };

#define ROTATE_WORD(v, n) ((v) << (n) | (v) >> (32 - (n)))

/*
 * The blocks of a call differ in word 12 alone, the counter's low half, as long
 * as that does not carry. So three of the first round's four quarter-rounds,
 * and the first sum of the fourth, give the same for all blocks: they are done
 * here once, in integer registers, which saves a sixteenth of all the work of
 * 12 rounds. It goes word by word, and `volatile` keeps compilers from joining
 * the words: a load of what was written in pieces has to wait until all of them
 * have reached the cache, here and where the words are used.
 */
INLINE void first_columns(uint32_t words[CHACHA_STATE_WORDS],
                          const uint32_t state[CHACHA_STATE_WORDS])
{
	volatile uint32_t *x = words;

	for (int i = 1; i < 4; i++) {
		uint32_t a = state[i], b = state[4 + i];
		uint32_t c = state[8 + i], d = state[12 + i];

		ONE_QUARTER_ROUND(ROTATE_WORD, a, b, c, d);
		x[i] = a;
		x[4 + i] = b;
		x[8 + i] = c;
		x[12 + i] = d;
	}
	x[0] = state[0] + state[4];
	x[4] = state[4];
	x[8] = state[8];
	x[12] = state[12];
}

/* Of `size` bytes, those that come before word 12 carries. */
INLINE size_t before_carry(const uint32_t state[CHACHA_STATE_WORDS],
                           size_t size)
{
	uint64_t left = ((1ULL << 32) - state[12]) * CHACHA_BLOCK;

	return size < left ? size : left;
}

/* Move the counter over the blocks begun in `size` bytes. */
INLINE void count_blocks(uint32_t state[CHACHA_STATE_WORDS], size_t size)
{
	uint64_t counter;

	memcpy(&counter, state + 12, sizeof(counter));
	counter += size / CHACHA_BLOCK + (size % CHACHA_BLOCK != 0);
	memcpy(state + 12, &counter, sizeof(counter));
}

#endif
