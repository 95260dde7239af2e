/*
 * Each engine's kernels for NH and Poly1305, and the one that encrypts and
 * hashes, against the reference. Buffers and registers are watched as in
 * test_kernels.c.
 */
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/abi.h"
#include "cipher/adiantum.h"
#include "cipher/grid.h"
#include "cipher/guarded.h"
#include "cipher/random.h"
#include "cipher/reference.h"

enum {
	PIECE = NHPOLY1305_PIECE,
	UNITS = NHPOLY1305_UNITS,
	STATE_SIZE = 4 * CHACHA_STATE_WORDS,
};

static uint8_t source[PIECE], stream[PIECE];
static struct guarded from, to, sums_room, key_room, state_room, poly_key_room;

/* The sums of a message of any size: whole units, and of the last one. */
static uint64_t whole[UNITS][NH_PASSES];
static uint64_t part[UNITS][NH_UNIT_STRIDES][NH_PASSES];

static void expect_sums(const uint8_t *key, const uint8_t *message)
{
	for (size_t unit = 0; unit < UNITS; unit++) {
		const uint8_t *at = message + unit * NH_UNIT;

		for (size_t n = 0; n < NH_UNIT_STRIDES; n++)
			reference_nh(key, at, n * NH_STRIDE,
			             (uint8_t *)part[unit][n]);
		reference_nh(key, at, NH_UNIT, (uint8_t *)whole[unit]);
	}
}

static int right_sums(uint64_t (*sums)[NH_PASSES], size_t size)
{
	size_t units = size / NH_UNIT, strides = size % NH_UNIT / NH_STRIDE;

	return !memcmp(whole, sums, units * NH_HASH) &&
	       (!strides ||
	        !memcmp(part[units][strides], sums[units], NH_HASH));
}

static size_t sums_size(size_t size)
{
	return (size + NH_UNIT - 1) / NH_UNIT * NH_HASH;
}

/* The key object at a page, or some words away from it. */
static const struct nh_key *place_key(enum guarded_edge edge, size_t away,
                                      const uint8_t *bytes)
{
	struct nh_key *key = guarded_place(&key_room, edge,
	                                   away & (64 - _Alignof(struct nh_key)),
	                                   sizeof(*key));

	nh_key_init(key, bytes);
	return key;
}

/* Random bytes; all ones, and a key of zeros, which make the largest sums. */
enum contents { RANDOM, ONES, ONES_AND_ZERO_KEY, CONTENTS };

static void fill(enum contents contents, uint8_t *key)
{
	uint64_t seed = 7;

	random_fill(&seed, key, NH_KEY_SIZE);
	random_fill(&seed, source, sizeof(source));
	if (contents != RANDOM)
		memset(source, 0xff, sizeof(source));
	if (contents == ONES_AND_ZERO_KEY)
		memset(key, 0, NH_KEY_SIZE);
}

static enum greatest_test_res check_nh(const uint8_t *key_bytes, size_t size,
                                       enum guarded_edge edge, size_t away)
{
	const struct nh_key *key = place_key(edge, away, key_bytes);
	uint8_t *message = guarded_place(&from, edge, away, size);
	uint64_t(*sums)[NH_PASSES] = guarded_place(&sums_room, edge, away & 56,
	                                           sums_size(size));

	memcpy(message, source, size);
	memset(sums, 0xa5, sums_size(size));
	CALL(call_nh(engine_current(), sums, key, message, size));
	ASSERT(right_sums(sums, size));
	ASSERT_MEM_EQ(source, message, size);
	ASSERT(guarded_intact(&sums_room));
	PASS();
}

TEST nh_sizes(void)
{
	uint8_t key[NH_KEY_SIZE];

	for (int contents = 0; contents < CONTENTS; contents++) {
		fill(contents, key);
		expect_sums(key, source);
		for (size_t size = 0; size <= PIECE; size += NH_STRIDE) {
			size_t n = size / NH_STRIDE;

			if (size > NH_UNIT + 256 && n % grid_step(5))
				continue;
			CHECK_CALL(check_nh(key, size, AT_END, 0));
			CHECK_CALL(check_nh(key, size, AT_START, 0));
			for (size_t away = n % grid_step(23); away < 64;
			     away += grid_step(23))
				CHECK_CALL(check_nh(key, size,
				                    (away + n) % 2 ? AT_START : AT_END,
				                    away));
		}
	}
	PASS();
}

/* Two messages, which begin a unit apart in `source`. */
static enum greatest_test_res check_nh_two(const uint8_t *key_bytes,
                                           size_t size, enum guarded_edge edge,
                                           size_t away)
{
	const struct nh_key *key = place_key(edge, away, key_bytes);
	uint8_t *a = guarded_place(&from, edge, away, size);
	uint8_t *b = guarded_place(&to, edge, 63 - away, size);
	uint64_t(*sums)[NH_PASSES] = guarded_place(&sums_room, edge, away & 56,
	                                           2 * NH_HASH);
	size_t strides = size / NH_STRIDE;

	memcpy(a, source, size);
	memcpy(b, source + NH_UNIT, size);
	memset(sums, 0xa5, 2 * NH_HASH);
	CALL(call_nh_two(engine_current(), sums, key, a, b, size));
	for (int i = 0; i < 2; i++) {
		const uint64_t *right = size == NH_UNIT ? whole[i]
		                                        : part[i][strides];

		ASSERT_MEM_EQ(right, sums[i], NH_HASH);
	}
	ASSERT_MEM_EQ(source, a, size);
	ASSERT_MEM_EQ(source + NH_UNIT, b, size);
	ASSERT(guarded_intact(&from));
	ASSERT(guarded_intact(&to));
	ASSERT(guarded_intact(&sums_room));
	PASS();
}

TEST nh_two_sizes(void)
{
	uint8_t key[NH_KEY_SIZE];

	for (int contents = 0; contents < CONTENTS; contents++) {
		fill(contents, key);
		expect_sums(key, source);
		for (size_t size = NH_STRIDE; size <= NH_UNIT; size += NH_STRIDE)
			for (size_t away = 0; away < 64; away++) {
				CHECK_CALL(check_nh_two(key, size, AT_END, away));
				CHECK_CALL(check_nh_two(key, size, AT_START,
				                        away));
			}
	}
	PASS();
}

struct layout {
	enum guarded_edge edge;
	size_t from, to; /* bytes away from the page */
	int in_place;
};

static enum greatest_test_res check_fused(const uint32_t *start, int rounds,
                                          const uint8_t *key_bytes, size_t size,
                                          struct layout l)
{
	const struct nh_key *key = place_key(l.edge, l.from, key_bytes);
	uint32_t *state = guarded_place(&state_room, l.edge, l.to & 60,
	                                STATE_SIZE);
	uint64_t(*sums)[NH_PASSES] = guarded_place(
		&sums_room, l.edge, l.to & 56, sums_size(size));
	uint8_t *src = guarded_place(&from, l.edge, l.from, size), *dst = src;
	uint64_t counter, after;

	memcpy(state, start, STATE_SIZE);
	memcpy(src, source, size);
	if (!l.in_place)
		dst = guarded_place(&to, l.edge, l.to, size);
	CALL(call_chacha_nh(engine_current(), state, rounds, dst, src, size,
	                    sums, key));
	ASSERT_MEM_EQ(stream, dst, size);
	ASSERT(right_sums(sums, size));
	if (!l.in_place) {
		ASSERT_MEM_EQ(source, src, size);
		ASSERT(guarded_intact(&to));
	}
	ASSERT(guarded_intact(&from));
	ASSERT(guarded_intact(&sums_room));
	ASSERT(guarded_intact(&state_room));
	memcpy(&counter, start + 12, sizeof(counter));
	memcpy(&after, state + 12, sizeof(after));
	ASSERT_EQ(counter + (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK, after);
	ASSERT_MEM_EQ(start, state, 48);
	ASSERT_MEM_EQ(start + 14, state + 14, 8);
	PASS();
}

/* Where an engine has the fused kernel: also with a counter that goes over the
 * end of 32 or 64 bits, at each block of a sector. */
TEST chacha_nh_sizes(int rounds)
{
	enum { COUNTERS = 10 };
	uint64_t seed = rounds;
	uint8_t key_bytes[NH_KEY_SIZE];
	uint32_t key[CHACHA_KEY_WORDS], start[CHACHA_STATE_WORDS];

	fill(RANDOM, key_bytes);
	random_fill(&seed, key, sizeof(key));
	for (size_t i = 0; i < COUNTERS + 64; i += i ? grid_step(5) : 1) {
		uint64_t counter = i < COUNTERS ? i * i :
		                   i % 2        ? COUNTERS - 1 - i :
		                                  (1ull << 32) + COUNTERS - 1 - i;
		size_t size = i ? PIECE - i % 5 * NH_STRIDE : 0;

		reference_chacha((uint8_t *)key, 1, counter, rounds, stream,
		                 source, PIECE);
		expect_sums(key_bytes, stream);
		chacha_init(start, key, 1, counter);
		for (; size <= PIECE; size += NH_STRIDE) {
			size_t n = size / NH_STRIDE;
			const size_t step = grid_step(9);
			size_t a = n * 7 % 64, b = n * 11 % 64;
			struct layout layouts[] = {
				{ AT_END, 0, 0, 0 },   { AT_START, 0, 0, 0 },
				{ AT_END, 0, 0, 1 },   { AT_START, 0, 0, 1 },
				{ AT_END, a, b, 0 },   { AT_START, b, a, 0 },
				{ AT_START, a, b, 1 },
			};

			if (size > NH_UNIT + 256 && size != 4080 && n % step)
				continue;

			for (size_t l = 0; l < 7; l++)
				CHECK_CALL(check_fused(start, rounds, key_bytes,
				                       size, layouts[l]));
		}
	}
	PASS();
}

/* A sector's left part at every alignment of source and destination. */
TEST chacha_nh_alignments(int rounds)
{
	enum { LEFT = 4080 };
	uint64_t seed = rounds + 1;
	uint8_t key_bytes[NH_KEY_SIZE];
	uint32_t key[CHACHA_KEY_WORDS], start[CHACHA_STATE_WORDS];

	fill(RANDOM, key_bytes);
	random_fill(&seed, key, sizeof(key));
	reference_chacha((uint8_t *)key, 1, 0, rounds, stream, source, PIECE);
	expect_sums(key_bytes, stream);
	chacha_init(start, key, 1, 0);
	for (size_t a = 0; a < 64; a++) {
		for (size_t b = a % grid_step(5); b < 64; b += grid_step(5)) {
			struct layout l = { a % 2 ? AT_END : AT_START, a, b,
				            a == b };
			size_t some = random_next(&seed) % 80 * NH_STRIDE;

			CHECK_CALL(check_fused(start, rounds, key_bytes, LEFT, l));
			CHECK_CALL(check_fused(start, rounds, key_bytes, some, l));
		}
	}
	PASS();
}

/*
 * Poly1305 of an engine that has its own, over sums and blocks of all kinds,
 * against the common one in 26-bit limbs. It gets sums as reduced as that one
 * leaves them, and what it leaves must be good for another call.
 */
TEST poly1305_counts(void)
{
	enum { MOST = 70 };
	uint64_t seed = 13;

	for (size_t i = 0; i < (MOST + 1) * 64; i += grid_step(5)) {
		size_t count = i / 64, away = i % 2 ? i % 64 : 0;
		size_t size = count * POLY1305_BLOCK;
		enum guarded_edge edge = i % 4 < 2 ? AT_END : AT_START;
		struct poly1305_key *key = guarded_place(
			&poly_key_room, edge, away & 56, sizeof(*key));
		struct poly1305_state *state = guarded_place(
			&state_room, edge, away & 56, sizeof(*state));
		uint8_t *blocks = guarded_place(&from, edge, away, size);
		struct poly1305_state common;
		struct le128 one, two;
		uint8_t bytes[POLY1305_KEY_SIZE];

		random_fill(&seed, bytes, sizeof(bytes));
		random_fill(&seed, blocks, size);
		random_fill(&seed, state, sizeof(*state));
		if (i % 3 == 1)
			memset(bytes, 0xff, sizeof(bytes));
		if (i % 5 == 1)
			memset(blocks, 0xff, size);
		if (i % 7 == 1)
			memset(state, 0xff, sizeof(*state));
		state->h[2] %= 5;
		poly1305_key_init(key, bytes);
		common = *state;
		for (uint32_t top = 0; top < 3; top++) {
			CALL(call_poly1305(engine_current(), state, key, blocks,
			                   count, top % 2));
			ASSERT(guarded_intact(&state_room));
			poly1305_blocks_limb26(&common, key, blocks, count,
			                       top % 2);
			one = poly1305_finish(&common);
			two = poly1305_finish(state);
			ASSERT_MEM_EQ(&one, &two, sizeof(one));
		}
	}
	PASS();
}

static uint8_t second[PIECE];
static int fused_calls;

static void fused(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                  const uint8_t *src, size_t size, uint64_t (*sums)[NH_PASSES],
                  const struct nh_key *key)
{
	fused_calls++;
	engine_generic.chacha(state, rounds, dst, src, size);
	engine_generic.nh(sums, key, dst, size);
}

/* An engine with a fused call and one without give the same hash and bytes,
 * whole strides or not. */
TEST stream_fused_or_not(void)
{
	struct adiantum_engine two = engine_generic, one = engine_generic;
	uint64_t seed = 11;
	struct nhpoly1305_key key;
	uint32_t stream_key[8];

	two.chacha_nh = NULL;
	one.chacha_nh = fused;
	random_fill(&seed, &key, sizeof(key));
	key.poly.r[0] &= 0x0ffffffc0fffffff;
	key.poly.r[1] &= 0x0ffffffc0ffffffc;
	random_fill(&seed, stream_key, sizeof(stream_key));
	random_fill(&seed, source, sizeof(source));
	for (size_t size = 1; size <= NHPOLY1305_PIECE; size++) {
		size_t beyond = (size + 16) % CHACHA_BLOCK ? 0 : 16;
		struct le128 a, b;
		uint32_t state[CHACHA_STATE_WORDS], copy[CHACHA_STATE_WORDS];

		chacha_init(state, stream_key, 1, 0);
		memcpy(copy, state, sizeof(copy));
		fused_calls = 0;
		a = nhpoly1305_stream(&two, &key, state, 12, stream, source,
		                      size, beyond);
		ASSERT_EQ(0, fused_calls);
		b = nhpoly1305_stream(&one, &key, copy, 12, second, source,
		                      size, beyond);
		ASSERT_EQ(size % NH_STRIDE == 0, fused_calls);
		ASSERT_MEM_EQ(stream, second, size);
		ASSERT_MEM_EQ(&a, &b, sizeof(a));
		ASSERT_MEM_EQ(state, copy, sizeof(state));
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	grid_say();
	guarded_new(&from, PIECE);
	guarded_new(&to, PIECE);
	guarded_new(&sums_room, UNITS * NH_HASH);
	guarded_new(&key_room, sizeof(struct nh_key));
	guarded_new(&state_room, STATE_SIZE);
	guarded_new(&poly_key_room, sizeof(struct poly1305_key));
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		greatest_set_test_suffix(*name);
		RUN_TEST(nh_sizes);
		if (engine_current()->nh_two) {
			greatest_set_test_suffix(*name);
			RUN_TEST(nh_two_sizes);
		}
		for (int rounds = 12; rounds <= 20; rounds += 8) {
			if (!engine_current()->chacha_nh)
				continue;
			greatest_set_test_suffix(*name);
			RUN_TESTp(chacha_nh_sizes, rounds);
			greatest_set_test_suffix(*name);
			RUN_TESTp(chacha_nh_alignments, rounds);
		}
		if (engine_current()->poly1305) {
			greatest_set_test_suffix(*name);
			RUN_TEST(poly1305_counts);
		}
	}
	RUN_TEST(stream_fused_or_not);
	GREATEST_MAIN_END();
}
