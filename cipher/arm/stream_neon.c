/*
 * ChaCha and HChaCha by the NEON code of chacha_neon.S.py: what is done once for
 * a call, and the lengths that are no multiple of four blocks.
 */
#include <arm_neon.h>

#include "cipher/arm/arm.h"

enum {
	LANES = 4,
	GROUP = LANES * CHACHA_BLOCK,
	NEON_MIN = 3, /* fewer are faster one by one, in integer registers */
};

/* The frame of the assembly code, which knows these offsets. */
struct frame {
	uint32_t counter[LANES];       /* of the next four blocks */
	uint32_t slots[4][4];          /* words that find no register */
	uint8_t rotate8[8];            /* table of a rotation by 8 bits */
	uint32_t turns;                /* of the loop over two double rounds */
	uint32_t unused;
	uint32_t state[CHACHA_STATE_WORDS];
	uint32_t words[16];            /* to begin with, in order of use */
	const uint8_t *last_src[LANES]; /* blocks of the last group */
	uint8_t *last_dst[LANES];
};

_Static_assert(offsetof(struct frame, rotate8) == 80, "known to assembly");
_Static_assert(offsetof(struct frame, state) == 96, "known to assembly");
_Static_assert(offsetof(struct frame, words) == 160, "known to assembly");
_Static_assert(offsetof(struct frame, last_src) == 224, "known to assembly");

typedef void groups_fn(struct frame *frame, size_t groups, uint8_t *dst,
                       const uint8_t *src);
typedef void subkeys_fn(struct frame *frame,
                        uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                        const uint8_t *nonces);

groups_fn chacha_neon, chacha_neon_sri;
subkeys_fn hchacha_neon, hchacha_neon_sri;

static const uint8_t rotate8[8] = { 3, 0, 1, 2, 7, 4, 5, 6 };
static const uint32_t lanes[LANES] = { 0, 1, 2, 3 };

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

/* Of a multiple of 32 bytes. */
static inline void wipe(void *p, size_t size)
{
	uint32_t *words = p;

	for (size_t i = 0; i < size / 4; i += 8) {
		vst1q_u32(words + i, vdupq_n_u32(0));
		vst1q_u32(words + i + 4, vdupq_n_u32(0));
	}
	__asm__ volatile("" : : "r"(p) : "memory");
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

/*
 * Blocks whose counters agree in their upper halves, at least NEON_MIN of them
 * in the last group. There, blocks that are not there, and one that is there in
 * part, go by way of a buffer.
 */
static inline void run(groups_fn *groups, const uint32_t *state, int rounds,
                       uint8_t *dst, const uint8_t *src, size_t size)
{
	size_t n = (size + GROUP - 1) / GROUP;
	size_t last = (n - 1) * GROUP;
	size_t whole = (size - last) / CHACHA_BLOCK;
	size_t end = last + whole * CHACHA_BLOCK;
	uint8_t buffers[LANES - NEON_MIN + 1][CHACHA_BLOCK];
	struct frame frame;

	vst1q_u32(frame.counter, vaddq_u32(vdupq_n_u32(state[12]),
	                                   vld1q_u32(lanes)));
	memcpy(frame.rotate8, rotate8, sizeof(rotate8));
	frame.turns = (rounds - 4) / 4;
	for (int i = 0; i < CHACHA_STATE_WORDS; i += 4)
		vst1q_u32(frame.state + i, vld1q_u32(state + i));
	first_rounds(frame.words, state);
	for (size_t i = 0; i < LANES; i++) {
		const size_t at = last + i * CHACHA_BLOCK;
		const uint8_t *s = src + at;
		uint8_t *d = dst + at;

		if (i >= whole)
			s = d = buffers[i - whole];
		/* The code counts from the 33rd byte of a block. */
		*(const uint8_t *volatile *)&frame.last_src[i] = s + 32;
		*(uint8_t *volatile *)&frame.last_dst[i] = d + 32;
	}
	if (size > end)
		copy(buffers[0], src + end, size - end);
	groups(&frame, n, dst, src);
	if (size > end)
		copy(dst + end, buffers[0], size - end);
	for (size_t i = whole; i < LANES; i++)
		wipe(buffers[i - whole], CHACHA_BLOCK);
	wipe(frame.slots, sizeof(frame.slots));
	wipe(frame.state, sizeof(frame.state) + sizeof(frame.words));
}

static inline void count(uint32_t state[CHACHA_STATE_WORDS], size_t blocks)
{
	uint32_t before = state[12];

	state[12] += blocks;
	state[13] += state[12] < before;
}

/* Runs end where the counter's lower half does. One or two blocks at the end
 * are faster one by one. */
static inline void stream(groups_fn *groups, uint32_t *state, int rounds,
                          uint8_t *dst, const uint8_t *src, size_t size)
{
	while (size) {
		size_t blocks = size / CHACHA_BLOCK + (size % CHACHA_BLOCK != 0);
		size_t n = size;

		if (state[12] && blocks > -state[12]) {
			blocks = -state[12];
			n = blocks * CHACHA_BLOCK;
		}
		if (blocks % LANES && blocks % LANES < NEON_MIN) {
			blocks -= blocks % LANES;
			if (blocks)
				n = blocks * CHACHA_BLOCK;
		}
		if (blocks) {
			run(groups, state, rounds, dst, src, n);
			count(state, blocks);
		} else {
			scalar_chacha(state, rounds, dst, src, n);
		}
		dst += n;
		src += n;
		size -= n;
	}
}

static inline void subkeys_of(subkeys_fn *four,
                              uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                              const uint32_t key[CHACHA_KEY_WORDS],
                              const uint8_t *nonces, size_t n, int rounds)
{
	struct frame frame;
	uint32_t *w = frame.words;

	if (n < NEON_MIN) {
		scalar_hchacha(subkeys, key, nonces, n, rounds);
		return;
	}
	memcpy(frame.rotate8, rotate8, sizeof(rotate8));
	while (n >= NEON_MIN) {
		uint32_t more_keys[LANES][CHACHA_KEY_WORDS];
		uint8_t more_nonces[LANES][HCHACHA_NONCE];
		size_t step = n < LANES ? n : LANES;

		frame.turns = rounds / 4;
		*w++ = chacha_constants[3];
		*w++ = key[6];
		*w++ = key[4];
		*w++ = chacha_constants[0];
		*w++ = chacha_constants[1];
		*w++ = chacha_constants[2];
		*w++ = key[0];
		*w++ = key[1];
		*w++ = key[2];
		/* The loop begins with the last steps of a double round. */
		*w++ = rotate(key[3], 32 - 7) ^ key[4];
		*w++ = key[5];
		*w++ = key[7];
		w = frame.words;
		if (step == LANES) {
			four(&frame, subkeys, nonces);
		} else {
			memcpy(more_nonces, nonces, step * HCHACHA_NONCE);
			memset(more_nonces[step], 0,
			       (LANES - step) * HCHACHA_NONCE);
			four(&frame, more_keys, more_nonces[0]);
			memcpy(subkeys, more_keys, step * sizeof(*subkeys));
			wipe(more_keys, sizeof(more_keys));
		}
		subkeys += step;
		nonces += step * HCHACHA_NONCE;
		n -= step;
	}
	wipe(&frame, sizeof(frame));
	if (n)
		scalar_hchacha(subkeys, key, nonces, n, rounds);
}

void neon_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                 const uint8_t *src, size_t size)
{
	stream(chacha_neon, state, rounds, dst, src, size);
}

void neon_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                  const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                  size_t n, int rounds)
{
	subkeys_of(hchacha_neon, subkeys, key, nonces, n, rounds);
}

void neon_sri_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                     uint8_t *dst, const uint8_t *src, size_t size)
{
	stream(chacha_neon_sri, state, rounds, dst, src, size);
}

void neon_sri_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                      const uint32_t key[CHACHA_KEY_WORDS],
                      const uint8_t *nonces, size_t n, int rounds)
{
	subkeys_of(hchacha_neon_sri, subkeys, key, nonces, n, rounds);
}
