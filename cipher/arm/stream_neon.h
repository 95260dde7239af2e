/*
 * What the C parts of the engines with NEON have in common. For files that are
 * compiled for NEON.
 */
#ifndef CIPHER_ARM_STREAM_NEON_H
#define CIPHER_ARM_STREAM_NEON_H

#include <arm_neon.h>

#include "cipher/engine.h"

/* As assembly, so that three columns are not taken for a vector: results would
 * come after 4 cycles and not after 1. */
static inline uint32_t rotate(uint32_t v, const int n)
{
	uint32_t w;

	__asm__("ror %0, %1, %2" : "=r"(w) : "r"(v), "i"(32 - n));
	return w;
}

static inline void quarter_round(uint32_t x[4])
{
	x[0] += x[1], x[3] = rotate(x[3] ^ x[0], 16);
	x[2] += x[3], x[1] = rotate(x[1] ^ x[2], 12);
	x[0] += x[1], x[3] = rotate(x[3] ^ x[0], 8);
	x[2] += x[3], x[1] = rotate(x[1] ^ x[2], 7);
}

/* Of a multiple of 32 bytes. As assembly, so that one instruction does 32 bytes
 * and moves the pointer, and that it is done. */
static inline void wipe(void *p, size_t size)
{
	const uint32x4_t zero = vdupq_n_u32(0);

	for (size_t i = 0; i < size; i += 32)
		__asm__ volatile("vst1.32 {%e1, %f1}, [%0]!\n\t"
		                 "vst1.32 {%e1, %f1}, [%0]!"
		                 : "+r"(p) : "w"(zero) : "memory");
}

/*
 * The first round works on columns, and only word 12 differs from block to
 * block, so that the other three columns are the same for all blocks of a
 * call; and so are the beginnings of two quarter-rounds in the second round.
 * (Volatile, as compilers gain nothing from making vectors of these stores.)
 */
static inline void first_rounds(volatile uint32_t words[16],
                                const uint32_t s[16])
{
	uint32_t x[3][4];

	for (int i = 0; i < 3; i++) {
		for (int row = 0; row < 4; row++)
			x[i][row] = s[1 + i + 4 * row];
		quarter_round(x[i]);
	}
	words[0] = s[13];
	words[1] = s[0] + s[4];
	words[2] = s[8];
	words[3] = s[4];
	words[4] = x[2][0];              /* x3 */
	words[5] = x[0][2];              /* x9 */
	words[6] = x[1][3];              /* x14 */
	words[7] = x[0][1];              /* x5 */
	words[8] = x[1][2];              /* x10 */
	words[9] = x[2][3];              /* x15 */
	words[10] = x[0][0] + x[1][1];   /* x1 + x6 */
	words[11] = x[1][1];             /* x6 */
	words[12] = x[2][2];             /* x11 */
	words[13] = x[1][0] + x[2][1];   /* x2 + x7 */
	words[14] = x[2][1];             /* x7 */
	words[15] = rotate(x[0][3] ^ words[13], 16);
}

/* At most a block. */
static inline void copy(uint8_t *dst, const uint8_t *src, size_t size)
{
	for (; size >= 16; size -= 16, src += 16, dst += 16)
		vst1q_u8(dst, vld1q_u8(src));
	for (; size; size--)
		*dst++ = *src++;
}

static inline void copy_state(uint32_t to[CHACHA_STATE_WORDS],
                              const uint32_t from[CHACHA_STATE_WORDS])
{
	for (int i = 0; i < CHACHA_STATE_WORDS; i += 4)
		vst1q_u32(to + i, vld1q_u32(from + i));
}

/* The lower halves of four counters. */
static inline void count_lanes(uint32_t counter[4], uint32_t first)
{
	static const uint32_t lanes[4] = { 0, 1, 2, 3 };

	vst1q_u32(counter, vaddq_u32(vdupq_n_u32(first), vld1q_u32(lanes)));
}

static inline void count(uint32_t state[CHACHA_STATE_WORDS], size_t blocks)
{
	uint32_t before = state[12];

	state[12] += blocks;
	state[13] += state[12] < before;
}

#endif
