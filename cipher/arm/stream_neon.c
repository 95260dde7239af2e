/*
 * ChaCha and HChaCha by the NEON code of chacha_neon.S.py: what is done once for
 * a call, and the lengths that are no multiple of four blocks.
 */
#include "cipher/arm/arm.h"
#include "cipher/arm/stream_neon.h"

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
	uint32_t buffered;             /* whether last_src and last_dst count */
	uint32_t state[CHACHA_STATE_WORDS];
	uint32_t words[16];            /* as of first_rounds; assembly sets them */
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

static inline void frame_set(struct frame *frame, const uint32_t *state,
                             int rounds)
{
	count_lanes(frame->counter, state[12]);
	memcpy(frame->rotate8, rotate8, sizeof(rotate8));
	frame->turns = (rounds - 4) / 4;
	copy_state(frame->state, state);
}

static inline void frame_wipe(struct frame *frame)
{
	wipe(frame->slots, sizeof(frame->slots));
	wipe(frame->state, sizeof(frame->state));
	wipe(frame->words, sizeof(frame->words));
}

/*
 * Blocks whose counters agree in their upper halves, at least NEON_MIN of them
 * in the last group. There, blocks that are not there, and one that is there in
 * part, go by way of a buffer.
 */
static __attribute__((noinline)) void
run(groups_fn *groups, const uint32_t *state, int rounds, uint8_t *dst,
    const uint8_t *src, size_t size)
{
	size_t n = (size + GROUP - 1) / GROUP;
	size_t last = (n - 1) * GROUP;
	size_t whole = (size - last) / CHACHA_BLOCK;
	size_t end = last + whole * CHACHA_BLOCK;
	uint8_t buffers[LANES - NEON_MIN + 1][CHACHA_BLOCK];
	struct frame frame;

	frame_set(&frame, state, rounds);
	frame.buffered = 1;
	for (size_t i = 0; i < LANES; i++) {
		const bool there = i < NEON_MIN - 1 || i < whole;
		const size_t at = last + i * CHACHA_BLOCK;
		const uint8_t *s = src + at;
		uint8_t *d = dst + at;

		if (!there)
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
	frame_wipe(&frame);
}

/* Runs end where the counter's lower half does. One or two blocks at the end
 * are faster one by one. */
static __attribute__((noinline)) void
stream_any(groups_fn *groups, uint32_t *state, int rounds, uint8_t *dst,
           const uint8_t *src, size_t size)
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

/* Whole groups, which sectors are, need less around the assembly code. */
static inline void stream(groups_fn *groups, uint32_t *state, int rounds,
                          uint8_t *dst, const uint8_t *src, size_t size)
{
	const uint32_t blocks = size / CHACHA_BLOCK;
	struct frame frame;

	if (!size || size % GROUP || state[12] > -blocks) {
		stream_any(groups, state, rounds, dst, src, size);
		return;
	}
	frame_set(&frame, state, rounds);
	frame.buffered = 0;
	groups(&frame, size / GROUP, dst, src);
	frame_wipe(&frame);
	count(state, blocks);
}

static inline void subkeys_of(subkeys_fn *four,
                              uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                              const uint32_t key[CHACHA_KEY_WORDS],
                              const uint8_t *nonces, size_t n, int rounds)
{
	struct frame frame;
	volatile uint32_t *w = frame.words;

	if (n < NEON_MIN) {
		scalar_hchacha(subkeys, key, nonces, n, rounds);
		return;
	}
	memcpy(frame.rotate8, rotate8, sizeof(rotate8));
	frame.turns = rounds / 4;
	w[0] = chacha_constants[3];
	w[1] = key[6];
	w[2] = key[4];
	w[3] = chacha_constants[0];
	w[4] = chacha_constants[1];
	w[5] = chacha_constants[2];
	w[6] = key[0];
	w[7] = key[1];
	w[8] = key[2];
	/* The loop begins with the last steps of a double round. */
	w[9] = rotate(key[3], 32 - 7) ^ key[4];
	w[10] = key[5];
	w[11] = key[7];
	while (n >= NEON_MIN) {
		uint32_t more_keys[LANES][CHACHA_KEY_WORDS];
		uint8_t more_nonces[LANES][HCHACHA_NONCE];
		size_t step = n < LANES ? n : LANES;

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
	wipe(frame.slots, sizeof(frame.slots));
	wipe(frame.words, sizeof(frame.words));
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
