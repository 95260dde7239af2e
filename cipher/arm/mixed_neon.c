/*
 * ChaCha by chacha_mixed.S.py: four blocks in NEON registers and a fifth in the
 * integer ones. NEON has the first blocks of a call, and the integer unit those
 * behind them.
 */
#include "cipher/arm/arm.h"
#include "cipher/arm/stream_neon.h"

enum {
	LANES = 4,
	TOGETHER = LANES + 1,
	/* Below it NEON could have more blocks than there are. */
	MIXED_MIN = 12 * CHACHA_BLOCK,
};

/* The frame of the assembly code, which knows these offsets. */
struct frame {
	uint32_t integer_words[8];      /* of the fifth block */
	uint32_t integer_begin[16];     /* what it begins with */
	uint32_t integer_counter[2];
	const uint8_t *src;             /* of the fifth block */
	uint8_t *dst;
	const uint8_t *lane_src[LANES];
	uint8_t *lane_dst[LANES];
	const uint8_t *last_src[LANES]; /* in the last group */
	uint8_t *last_dst[LANES];
	uint32_t state[CHACHA_STATE_WORDS];
	uint32_t lane_counter[LANES];
	uint32_t slots[4][4];
	uint32_t words[16];
	uint32_t turns, turn;           /* of the loop over two double rounds */
	uint32_t groups;
	uint32_t whole;                 /* whole blocks of the integer unit */
	uint8_t *buffer;                /* for its other ones */
	struct job *job;
	uint8_t buffers[5][CHACHA_BLOCK];
};

_Static_assert(offsetof(struct frame, integer_counter) == 96, "see assembly");
_Static_assert(offsetof(struct frame, lane_src) == 112, "see assembly");
_Static_assert(offsetof(struct frame, state) == 176, "see assembly");
_Static_assert(offsetof(struct frame, words) == 320, "see assembly");
_Static_assert(offsetof(struct frame, buffers) == 408, "see assembly");
_Static_assert(sizeof(struct frame) == 728, "see assembly");

/* Blocks whose counters agree in their upper halves. */
struct job {
	const uint32_t *state;
	int rounds;
	uint8_t *dst;
	const uint8_t *src;
	size_t size;
};

void chacha_mixed(struct job *job);
void mixed_prepare(struct frame *frame, struct job *job);
void mixed_finish(struct frame *frame, const struct job *job);

/* Rows b and d as the integer unit has them between rounds: still to be rotated
 * to the right. The last word is in the midst of a quarter-round. */
static inline void integer_words(volatile uint32_t begin[16],
                                 const uint32_t words[16])
{
	enum { ROW_B = 25, ROW_D = 24 };

	begin[0] = words[1];
	begin[1] = words[10];
	begin[2] = words[13];
	begin[3] = words[4];
	begin[4] = words[3];
	begin[5] = rotate(words[7], ROW_B);
	begin[6] = rotate(words[11], ROW_B);
	begin[7] = rotate(words[14], ROW_B);
	begin[8] = words[2];
	begin[9] = words[5];
	begin[10] = words[8];
	begin[11] = words[12];
	begin[12] = rotate(words[6], ROW_D);
	begin[13] = rotate(words[9], ROW_D);
	begin[14] = rotate(words[15], 16);
}

static size_t groups_of(size_t size)
{
	return (size + TOGETHER * CHACHA_BLOCK - 1) / (TOGETHER * CHACHA_BLOCK);
}

void mixed_prepare(struct frame *frame, struct job *job)
{
	const uint32_t *state = job->state;
	const size_t groups = groups_of(job->size);
	const size_t first = groups * LANES; /* block of the integer unit */
	const size_t whole = job->size / CHACHA_BLOCK;
	const size_t end = whole * CHACHA_BLOCK;

	frame->job = job;
	frame->groups = groups;
	frame->turns = (job->rounds - 8) / 4;
	copy_state(frame->state, state);
	count_lanes(frame->lane_counter, state[12]);
	first_rounds(frame->words, state);
	integer_words(frame->integer_begin, frame->words);
	frame->integer_counter[0] = state[12] + first;
	frame->integer_counter[1] = state[13];

	/* A block that is there in part, and those of the integer unit that are
	 * not there, go by way of a buffer. */
	frame->buffer = frame->buffers[0];
	frame->whole = whole > first ? whole - first : 0;
	frame->src = job->src + first * CHACHA_BLOCK;
	frame->dst = job->dst + first * CHACHA_BLOCK;
	if (!frame->whole)
		frame->src = frame->dst = frame->buffer;
	for (size_t i = 0; i < LANES; i++) {
		const size_t at = (first - LANES + i) * CHACHA_BLOCK;
		const uint8_t *s = job->src + at;
		uint8_t *d = job->dst + at;

		/* The code counts from the 33rd byte of a block. */
		frame->lane_src[i] = job->src + i * CHACHA_BLOCK + 32;
		frame->lane_dst[i] = job->dst + i * CHACHA_BLOCK + 32;
		if (at == end)
			s = d = frame->buffers[TOGETHER - 1];
		frame->last_src[i] = s + 32;
		frame->last_dst[i] = d + 32;
	}
	if (job->size > end)
		copy(frame->buffers[whole < first ? TOGETHER - 1 : 0],
		     job->src + end, job->size - end);
}

void mixed_finish(struct frame *frame, const struct job *job)
{
	const size_t first = groups_of(job->size) * LANES;
	const size_t whole = job->size / CHACHA_BLOCK;
	const size_t end = whole * CHACHA_BLOCK;

	if (job->size > end)
		copy(job->dst + end,
		     frame->buffers[whole < first ? TOGETHER - 1 : 0],
		     job->size - end);
	wipe(frame->integer_words, sizeof(frame->integer_words));
	wipe(frame->integer_begin, sizeof(frame->integer_begin));
	wipe(frame->state, sizeof(frame->state));
	wipe(frame->slots, sizeof(frame->slots));
	wipe(frame->words, sizeof(frame->words));
	wipe(frame->buffers, sizeof(frame->buffers));
}

void neon_mixed_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                       uint8_t *dst, const uint8_t *src, size_t size)
{
	while (size >= MIXED_MIN) {
		struct job job = { state, rounds, dst, src, size };
		size_t blocks = size / CHACHA_BLOCK + (size % CHACHA_BLOCK != 0);

		if (state[12] && blocks > -state[12]) {
			blocks = -state[12];
			job.size = blocks * CHACHA_BLOCK;
		}
		if (job.size < MIXED_MIN)
			neon_sri_chacha(state, rounds, dst, src, job.size);
		else {
			chacha_mixed(&job);
			count(state, blocks);
		}
		dst += job.size;
		src += job.size;
		size -= job.size;
	}
	if (size)
		neon_sri_chacha(state, rounds, dst, src, size);
}
