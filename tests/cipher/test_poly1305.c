/* Poly1305, with both ways to multiply and those of the engines. */
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/engine.h"
#include "cipher/poly1305.h"
#include "cipher/random.h"
#include "cipher/reference.h"
#include "cipher/vectors.h"

typedef void blocks_function(struct poly1305_state *,
                             const struct poly1305_key *, const uint8_t *,
                             size_t, uint32_t);

/* The whole of it with one of the multiplications. */
static struct le128 hash(blocks_function *blocks, const uint8_t *bytes,
                         const uint8_t *message, size_t size)
{
	struct poly1305_state state = { 0 };
	struct poly1305_key key;
	uint8_t last[16] = { 0 };

	poly1305_key_init(&key, bytes);
	blocks(&state, &key, message, size / 16, 1);
	if (size % 16) {
		memcpy(last, message + size / 16 * 16, size % 16);
		last[size % 16] = 1;
		blocks(&state, &key, last, 1, 0);
	}
	return poly1305_finish(&state);
}

static struct le128 hash_last(const uint8_t *bytes, const uint8_t *message,
                              size_t size)
{
	struct poly1305_state state = { 0 };
	struct poly1305_key key;

	poly1305_key_init(&key, bytes);
	poly1305_last(&state, &key, message, size);
	return poly1305_finish(&state);
}

TEST vectors_both_ways(blocks_function *blocks)
{
	struct vectors v;

	vectors_open(&v, "poly1305.txt", 4);
	while (vectors_next(&v)) {
		size_t size;
		uint8_t *key = vector_sized(&v, 0, POLY1305_KEY_SIZE);
		uint8_t *mask = vector_sized(&v, 1, 16);
		uint8_t *message = vector_bytes(&v, 2, &size);
		uint8_t *expected = vector_sized(&v, 3, 16);
		struct le128 mac = add128(hash(blocks, key, message, size),
		                          load128(mask));

		ASSERT_MEM_EQ(expected, &mac, 16);
		mac = add128(hash_last(key, message, size), load128(mask));
		ASSERT_MEM_EQ(expected, &mac, 16);
		free(key);
		free(mask);
		free(message);
		free(expected);
	}
	ASSERT(vectors_close(&v));
	PASS();
}

/* Random messages, and such as carry far: bytes of all ones or zeros. */
TEST equals_reference(blocks_function *blocks)
{
	uint64_t seed = 1;
	uint8_t key[16], message[272], expected[16];

	for (int round = 0; round < 4000; round++) {
		size_t size = random_next(&seed) % (sizeof(message) + 1);
		struct le128 mac;

		random_fill(&seed, key, sizeof(key));
		random_fill(&seed, message, sizeof(message));
		if (round % 4 == 1)
			memset(message, 0xff, sizeof(message));
		if (round % 4 == 2)
			for (size_t i = 0; i < sizeof(message); i++)
				message[i] = message[i] & 1 ? 0xff : 0;
		if (round % 8 >= 5)
			memset(key, 0xff, sizeof(key));
		reference_poly1305(key, message, size, expected);
		mac = hash(blocks, key, message, size);
		ASSERT_MEM_EQ(expected, &mac, 16);
		mac = hash_last(key, message, size);
		ASSERT_MEM_EQ(expected, &mac, 16);
	}
	PASS();
}

/* With p = 2^130 - 5 the sums around p and 2^130 are reduced to small ones. */
TEST last_reduction(void)
{
	static const struct {
		struct poly1305_state sum;
		struct le128 result;
	} cases[] = {
		{ { { 0, 0, 0 } }, { 0, 0 } },
		{ { { 7, 0, 1 } }, { 7, 0 } },
		{ { { -1, -1, 2 } }, { -1, -1 } },
		{ { { -6, -1, 3 } }, { -6, -1 } }, /* p - 1 */
		{ { { -5, -1, 3 } }, { 0, 0 } },   /* p */
		{ { { -4, -1, 3 } }, { 1, 0 } },
		{ { { -1, -1, 3 } }, { 4, 0 } },
		{ { { 0, 0, 4 } }, { 5, 0 } },     /* 2^130 */
		{ { { -5, 0, 4 } }, { 0, 1 } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct le128 result = poly1305_finish(&cases[i].sum);

		ASSERT_MEM_EQ(&cases[i].result, &result, sizeof(result));
	}
	PASS();
}

/* A sum may be above p when a block comes: h + block is the same number however
 * it is split among the two. */
TEST unreduced_sums(blocks_function *blocks)
{
	static const uint8_t zeros[16];
	uint64_t seed = 2;

	for (int round = 0; round < 3000; round++) {
		struct poly1305_state whole = { { -1, -1, round % 5 } };
		struct poly1305_state split = { { 0, 0, round % 5 } };
		struct poly1305_key key;
		struct le128 a, b;
		uint8_t bytes[16];

		if (round % 2)
			whole.h[round % 3 % 2] = random_next(&seed);
		random_fill(&seed, bytes, sizeof(bytes));
		if (round % 3 == 0)
			memset(bytes, 0xff, sizeof(bytes));
		poly1305_key_init(&key, bytes);
		memcpy(bytes, whole.h, sizeof(bytes));
		blocks(&whole, &key, zeros, 1, 0);
		blocks(&split, &key, bytes, 1, 0);
		a = poly1305_finish(&whole);
		b = poly1305_finish(&split);
		ASSERT_MEM_EQ(&a, &b, sizeof(a));
	}
	PASS();
}

/* With r = 1 the product is the sum itself: what comes back from 2^130 up then
 * carries through limbs that are all ones, which random numbers never do. A
 * second product shows the bits from 2^128 up. */
TEST carry_through_ones(blocks_function *blocks)
{
	static const struct {
		struct poly1305_state sum, reduced;
	} cases[] = {
		{ { { -1, -1, 4 } }, { { 4, 0, 1 } } }, /* 2^130 + 2^128 - 1 */
		{ { { -5, -1, 4 } }, { { 0, 0, 1 } } },
		{ { { -6, -1, 4 } }, { { -1, -1, 0 } } },
		{ { { -1, 0, 4 } }, { { 4, 1, 0 } } },
		{ { { 0x3ffffff, 0, 4 } }, { { 0x4000004, 0, 0 } } },
		{ { { 0xfffffffffffff, 0, 4 } }, { { 0x10000000000004, 0, 0 } } },
	};
	static const uint8_t zeros[16], one[16] = { 1 }, high[16] = { [8] = 4 };
	struct poly1305_key key, second;

	poly1305_key_init(&key, one);
	poly1305_key_init(&second, high);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct poly1305_state state = cases[i].sum;
		struct poly1305_state expected = cases[i].reduced;
		struct le128 result, wanted;

		blocks(&state, &key, zeros, 1, 0);
		result = poly1305_finish(&state);
		ASSERT_MEM_EQ(&expected, &result, sizeof(result));
		blocks(&state, &second, zeros, 1, 0);
		blocks(&expected, &second, zeros, 1, 0);
		result = poly1305_finish(&state);
		wanted = poly1305_finish(&expected);
		ASSERT_MEM_EQ(&wanted, &result, sizeof(result));
	}
	PASS();
}

/* Any number of blocks at once, from any sum that a call may leave, with the bit
 * above the blocks or without it, gives what blocks one by one give with limbs
 * of 26 bits; and what it leaves is as small as a sum has to be. */
TEST many_blocks(blocks_function *blocks)
{
	uint64_t seed = 3;

	for (int round = 0; round < 6000; round++) {
		static const uint8_t zeros[16];
		size_t count = random_next(&seed) % (round % 8 ? 12 : 70);
		size_t size = count * POLY1305_BLOCK;
		uint8_t *message = malloc(size + 1), *at = message + round % 2;
		struct poly1305_state one = { 0 }, many;
		uint32_t top = round % 3 != 1;
		struct poly1305_key key;
		struct le128 a, b;
		uint8_t bytes[16];

		random_fill(&seed, bytes, sizeof(bytes));
		random_fill(&seed, at, size);
		if (round % 5 == 1)
			memset(at, 0xff, size);
		if (round % 7 == 1)
			memset(bytes, 0xff, sizeof(bytes));
		if (round % 4) {
			random_fill(&seed, one.h, 16);
			one.h[2] = random_next(&seed) % 5;
		}
		if (round % 4 == 2)
			memset(one.h, 0xff, 16);
		many = one;
		poly1305_key_init(&key, bytes);

		blocks(&many, &key, at, count, top);
		for (size_t i = 0; i < count; i++)
			poly1305_blocks_limb26(&one, &key, at + 16 * i, 1, top);
		free(message);
		ASSERT(many.h[2] <= 4);
		a = poly1305_finish(&one);
		b = poly1305_finish(&many);
		ASSERT_MEM_EQ(&a, &b, sizeof(a));
		/* The bits from 2^128 up: */
		poly1305_blocks_limb26(&one, &key, zeros, 1, 0);
		poly1305_blocks_limb26(&many, &key, zeros, 1, 0);
		a = poly1305_finish(&one);
		b = poly1305_finish(&many);
		ASSERT_MEM_EQ(&a, &b, sizeof(a));
	}
	PASS();
}

GREATEST_MAIN_DEFS();

static void run_all(blocks_function *blocks, const char *suffix)
{
	greatest_set_test_suffix(suffix);
	RUN_TESTp(vectors_both_ways, blocks);
	greatest_set_test_suffix(suffix);
	RUN_TESTp(equals_reference, blocks);
	greatest_set_test_suffix(suffix);
	RUN_TESTp(unreduced_sums, blocks);
	greatest_set_test_suffix(suffix);
	RUN_TESTp(carry_through_ones, blocks);
	greatest_set_test_suffix(suffix);
	RUN_TESTp(many_blocks, blocks);
}

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	run_all(poly1305_blocks, "chosen");
	run_all(poly1305_blocks_limb26, "limb26");
#ifdef __SIZEOF_INT128__
	run_all(poly1305_blocks_limb64, "limb64");
#endif
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		if (engine_current()->poly1305)
			run_all(engine_current()->poly1305, *name);
	}
	RUN_TEST(last_reduction);
	GREATEST_MAIN_END();
}
