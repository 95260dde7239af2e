/* Each engine's kernels against the reference. */
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/engine.h"
#include "cipher/random.h"
#include "cipher/reference.h"

enum { ROOM = 9000 };

static uint8_t source[ROOM], expected[ROOM], memory[ROOM + 64];

/* Every size, with the block counter near the borders where it carries: lanes
 * carry by themselves, and one call goes over the border of 2^32. */
TEST chacha_sizes(int rounds)
{
	static const uint64_t counters[] = {
		0, 1, 0xffffffff, 0xfffffffe, 0xfffffff9, 0x1ffffffff, -1, -3,
	};
	uint64_t seed = rounds;
	uint32_t key[8], state[CHACHA_STATE_WORDS];

	random_fill(&seed, key, sizeof(key));
	random_fill(&seed, source, sizeof(source));
	for (size_t size = 0; size < 2200; size++) {
		uint64_t counter = counters[size % 8], after;
		uint64_t nonce = random_next(&seed);
		size_t align = size % 17;
		uint8_t *dst = memory + align;

		reference_chacha((uint8_t *)key, nonce, counter, rounds,
		                 expected, source, size);
		memset(memory, 0xa5, sizeof(memory));
		chacha_init(state, key, nonce, counter);
		engine_current()->chacha(state, rounds, dst, source, size);
		ASSERT_MEM_EQ(expected, dst, size);
		for (size_t i = 0; i < align; i++)
			ASSERT_EQ(0xa5, memory[i]);
		for (size_t i = align + size; i < align + size + 33; i++)
			ASSERT_EQ(0xa5, memory[i]);

		/* The counter tells where to go on, after whole blocks. */
		if (size % CHACHA_BLOCK == 0) {
			memcpy(&after, state + 12, sizeof(after));
			ASSERT_EQ(counter + size / CHACHA_BLOCK, after);
		}

		memcpy(dst, source, size);
		chacha_init(state, key, nonce, counter);
		engine_current()->chacha(state, rounds, dst, dst, size);
		ASSERT_MEM_EQ(expected, dst, size);
	}
	PASS();
}

TEST chacha_pieces(int rounds)
{
	uint64_t seed = rounds + 1;
	uint32_t key[8], state[CHACHA_STATE_WORDS];

	random_fill(&seed, key, sizeof(key));
	random_fill(&seed, source, sizeof(source));
	reference_chacha((uint8_t *)key, 5, 0xfffffff0, rounds, expected,
	                 source, ROOM);
	for (int round = 0; round < 50; round++) {
		size_t at = 0;

		chacha_init(state, key, 5, 0xfffffff0);
		while (at < ROOM) {
			size_t n = random_next(&seed) % 20 * CHACHA_BLOCK;

			if (n > ROOM - at)
				n = ROOM - at;
			engine_current()->chacha(state, rounds, memory + at,
			                         source + at, n);
			at += n;
		}
		ASSERT_MEM_EQ(expected, memory, ROOM);
	}
	PASS();
}

TEST hchacha_counts(int rounds)
{
	uint64_t seed = rounds + 2;
	uint32_t key[8];
	uint8_t nonces[70 * HCHACHA_NONCE];
	uint32_t subkeys[71][CHACHA_KEY_WORDS];
	uint8_t one[32];

	for (size_t count = 0; count <= 70; count++) {
		random_fill(&seed, key, sizeof(key));
		random_fill(&seed, nonces, sizeof(nonces));
		memset(subkeys, 0xa5, sizeof(subkeys));
		engine_current()->hchacha(subkeys, key, nonces, count, rounds);
		for (size_t i = 0; i < count; i++) {
			reference_hchacha((uint8_t *)key, nonces + 16 * i,
			                  rounds, one);
			ASSERT_MEM_EQ(one, subkeys[i], 32);
		}
		memset(one, 0xa5, sizeof(one));
		ASSERT_MEM_EQ(one, subkeys[count], 32);
	}
	PASS();
}

/* Sizes to several units; bytes of all ones make the largest sums. */
TEST nh_sizes(void)
{
	enum { UNITS = NHPOLY1305_UNITS };
	uint64_t seed = 7;
	uint8_t key[NH_KEY_SIZE];
	struct nh_key nh_key;
	uint64_t sums[UNITS + 1][NH_PASSES];
	uint8_t hash[NH_HASH];

	for (size_t size = 0; size <= UNITS * NH_UNIT; size += NH_STRIDE) {
		size_t units = (size + NH_UNIT - 1) / NH_UNIT;
		uint8_t *message = memory + size / NH_STRIDE % 7;

		random_fill(&seed, key, sizeof(key));
		random_fill(&seed, memory, sizeof(memory));
		if (size / NH_STRIDE % 5 == 1)
			memset(memory, 0xff, sizeof(memory));
		if (size / NH_STRIDE % 5 == 2)
			memset(key, 0, sizeof(key));
		nh_key_init(&nh_key, key);
		memset(sums, 0xa5, sizeof(sums));
		engine_current()->nh(sums, &nh_key, message, size);
		for (size_t i = 0; i < units; i++) {
			size_t n = i + 1 < units ? NH_UNIT : size - i * NH_UNIT;

			reference_nh(key, message + i * NH_UNIT, n,
			             hash);
			ASSERT_MEM_EQ(hash, sums[i], NH_HASH);
		}
		memset(hash, 0xa5, NH_HASH);
		ASSERT_MEM_EQ(hash, sums[units], NH_HASH);
	}
	PASS();
}

/* The fused call, where an engine has one, equals the two that it replaces. */
TEST chacha_nh_sizes(int rounds)
{
	const struct adiantum_engine *engine = engine_current();
	uint64_t seed = rounds + 9;
	uint8_t bytes[NH_KEY_SIZE];
	struct nh_key nh_key;
	uint32_t key[8];

	for (size_t size = 0; size <= NHPOLY1305_PIECE; size += NH_STRIDE) {
		uint64_t one[NHPOLY1305_UNITS][NH_PASSES];
		uint64_t two[NHPOLY1305_UNITS][NH_PASSES];
		uint32_t state[CHACHA_STATE_WORDS], copy[CHACHA_STATE_WORDS];
		uint8_t *dst = memory + size / NH_STRIDE % 7;
		size_t units = (size + NH_UNIT - 1) / NH_UNIT;

		random_fill(&seed, bytes, sizeof(bytes));
		nh_key_init(&nh_key, bytes);
		random_fill(&seed, key, sizeof(key));
		random_fill(&seed, source, sizeof(source));
		chacha_init(state, key, 1, 0);
		memcpy(copy, state, sizeof(copy));
		engine->chacha(state, rounds, expected, source, size);
		engine->nh(one, &nh_key, expected, size);
		engine->chacha_nh(copy, rounds, dst, source, size, two,
		                  &nh_key);
		ASSERT_MEM_EQ(expected, dst, size);
		ASSERT_MEM_EQ(one, two, units * NH_HASH);
	}
	PASS();
}

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
TEST stream_piece_fused_or_not(void)
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
		struct poly1305_state a = { { 1 } }, b = { { 1 } };
		uint32_t state[CHACHA_STATE_WORDS], copy[CHACHA_STATE_WORDS];

		chacha_init(state, stream_key, 1, 0);
		memcpy(copy, state, sizeof(copy));
		fused_calls = 0;
		nhpoly1305_stream_piece(&two, &key, &a, state, 12, expected,
		                        source, size);
		ASSERT_EQ(0, fused_calls);
		nhpoly1305_stream_piece(&one, &key, &b, copy, 12, memory,
		                        source, size);
		ASSERT_EQ(size % NH_STRIDE == 0, fused_calls);
		ASSERT_MEM_EQ(expected, memory, size);
		ASSERT_MEM_EQ(&a, &b, sizeof(a));
		ASSERT_MEM_EQ(state, copy, sizeof(state));
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		for (int rounds = 12; rounds <= 20; rounds += 8) {
			greatest_set_test_suffix(*name);
			RUN_TESTp(chacha_sizes, rounds);
			greatest_set_test_suffix(*name);
			RUN_TESTp(chacha_pieces, rounds);
			greatest_set_test_suffix(*name);
			RUN_TESTp(hchacha_counts, rounds);
			if (!engine_current()->chacha_nh)
				continue;
			greatest_set_test_suffix(*name);
			RUN_TESTp(chacha_nh_sizes, rounds);
		}
		greatest_set_test_suffix(*name);
		RUN_TEST(nh_sizes);
	}
	RUN_TEST(stream_piece_fused_or_not);
	GREATEST_MAIN_END();
}
