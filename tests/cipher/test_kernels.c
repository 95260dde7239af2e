/*
 * Each engine's ChaCha kernels against the reference. All buffers lie against
 * pages that nobody may touch, and all calls have their registers watched.
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

enum { LONGEST = 8300, STATE_SIZE = 4 * CHACHA_STATE_WORDS };

static uint8_t source[LONGEST], expected[LONGEST];
static struct guarded from, to, state_room, key_room, nonce_room, subkey_room;

/* How the buffers of one call lie. */
struct layout {
	enum guarded_edge edge;
	size_t from, to; /* bytes away from the page */
	int in_place;    /* then there is no `to` */
};

/* The kernel over the first `size` bytes of `source`, from a state on, whose
 * keystream gives `expected`. Words need an alignment of 4. */
static enum greatest_test_res check_chacha(const uint32_t *start, int rounds,
                                           size_t size, struct layout l)
{
	uint64_t counter, after;
	uint32_t *state = guarded_place(&state_room, l.edge,
	                                size % 2 ? 0 : l.from & 60, STATE_SIZE);
	uint8_t *src = guarded_place(&from, l.edge, l.from, size), *dst = src;

	memcpy(state, start, STATE_SIZE);
	memcpy(src, source, size);
	if (!l.in_place)
		dst = guarded_place(&to, l.edge, l.to, size);

	CALL(call_chacha(engine_current(), state, rounds, dst, src, size));
	ASSERT_MEM_EQ(expected, dst, size);
	ASSERT(guarded_intact(&from));
	if (!l.in_place) {
		ASSERT_MEM_EQ(source, src, size);
		ASSERT(guarded_intact(&to));
	}

	/* The counter has moved on by the blocks begun; all else is as before. */
	ASSERT(guarded_intact(&state_room));
	memcpy(&counter, start + 12, sizeof(counter));
	memcpy(&after, state + 12, sizeof(after));
	ASSERT_EQ(counter + (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK, after);
	ASSERT_MEM_EQ(start, state, 48);
	ASSERT_MEM_EQ(start + 14, state + 14, 8);
	PASS();
}

/* New bytes to encrypt, with a new key; what comes out; the state. */
static void new_stream(uint64_t seed, int rounds, uint64_t counter, size_t size,
                       uint32_t state[CHACHA_STATE_WORDS])
{
	uint64_t nonce = random_next(&seed);
	uint32_t key[CHACHA_KEY_WORDS];

	random_fill(&seed, key, sizeof(key));
	random_fill(&seed, source, size);
	reference_chacha((uint8_t *)key, nonce, counter, rounds, expected,
	                 source, size);
	chacha_init(state, key, nonce, counter);
}

/* Every size, from block 0 on, ending at the page behind and beginning at the
 * one in front. */
TEST chacha_sizes(int rounds)
{
	uint32_t state[CHACHA_STATE_WORDS];

	new_stream(rounds, rounds, 0, LONGEST, state);
	for (size_t size = 0; size <= LONGEST; size++) {
		size_t one = size % 4 ? size * 7 % 64 : 0;
		size_t two = size % 4 ? size * 29 % 64 : 0;

		/* On the small grid: whole lines of 64 sizes here and there. */
		if (size > 1100 && size / 64 % grid_step(16))
			continue;
		CHECK_CALL(check_chacha(state, rounds, size,
		                        (struct layout){ AT_END, 0, 0, 0 }));
		CHECK_CALL(check_chacha(state, rounds, size,
		                        (struct layout){ AT_END, 0, 0, 1 }));
		CHECK_CALL(check_chacha(state, rounds, size,
		                        (struct layout){ AT_START, one, two, 0 }));
		CHECK_CALL(check_chacha(state, rounds, size,
		                        (struct layout){ AT_START, one, one, 1 }));
	}
	PASS();
}

/* Every alignment of source and destination, with sizes of all kinds. */
TEST chacha_alignments(int rounds)
{
	static const size_t usual[] = { 4080, 496, 1472, 64, 256, 320 };
	uint32_t state[CHACHA_STATE_WORDS];
	uint64_t seed = rounds + 1;

	new_stream(seed, rounds, 0, LONGEST, state);
	for (size_t a = 0; a < 64; a++) {
		for (size_t b = a % grid_step(5); b < 64; b += grid_step(5)) {
			size_t some = random_next(&seed) % 1400;
			struct layout l = { a % 2 ? AT_END : AT_START, a, b,
				            a == b };

			CHECK_CALL(check_chacha(state, rounds, some, l));
			CHECK_CALL(check_chacha(state, rounds,
			                        usual[(a + b) % 6], l));
		}
	}
	PASS();
}

/*
 * Block counters that go over the end of 32 or 64 bits, at each place of a pass
 * of up to 16 blocks and the next one.
 */
TEST chacha_counters(int rounds)
{
	static const uint64_t borders[] = { 1ull << 32, 0x7fffffff00000000, 0 };
	enum { BEFORE = 34, MOST = 2 * 34 };
	uint32_t state[CHACHA_STATE_WORDS];

	for (size_t i = 0; i < 3; i++) {
		for (size_t n = 0; n <= BEFORE; n++) {
			new_stream(n, rounds, borders[i] - n,
			           MOST * CHACHA_BLOCK, state);
			for (size_t blocks = n % grid_step(4); blocks <= MOST;
			     blocks += grid_step(4)) {
				size_t size = blocks * CHACHA_BLOCK;

				/* Some end with a part of a block. */
				if (blocks && (blocks + n) % 3)
					size -= (blocks * 5 + n * 3) % 64;
				CHECK_CALL(check_chacha(
					state, rounds, size,
					(struct layout){ AT_END, 0, 0, blocks % 2 }));
			}
		}
	}
	PASS();
}

/* A message in pieces of whole blocks, over the border of 2^32. */
TEST chacha_pieces(int rounds)
{
	uint64_t seed = rounds + 2;
	uint32_t start[CHACHA_STATE_WORDS];

	new_stream(seed, rounds, 0xfffffff0, LONGEST, start);
	for (size_t round = 0; round < 50; round += grid_step(5)) {
		size_t at = 0;
		uint32_t *state = guarded_place(&state_room, AT_END, 0, STATE_SIZE);
		uint8_t *dst = guarded_place(&to, AT_END, 0, LONGEST);

		memcpy(state, start, STATE_SIZE);
		while (at < LONGEST) {
			size_t n = random_next(&seed) % 20 * CHACHA_BLOCK;

			if (n > LONGEST - at)
				n = LONGEST - at;
			CALL(call_chacha(engine_current(), state, rounds,
			                 dst + at, source + at, n));
			at += n;
		}
		ASSERT_MEM_EQ(expected, dst, LONGEST);
		ASSERT(guarded_intact(&to));
	}
	PASS();
}

TEST hchacha_counts(int rounds)
{
	enum { KEY = 32, MOST = 70 };
	uint64_t seed = rounds + 3;
	uint8_t saved[MOST * HCHACHA_NONCE], one[KEY];

	for (size_t i = 0; i <= MOST * 4; i++) {
		size_t count = i / 4;
		enum guarded_edge edge = i % 2 ? AT_START : AT_END;
		/* At the very edge, or at any alignment that words may have. */
		size_t words = i % 4 < 2 ? 0 : random_next(&seed) % 16 * 4;
		size_t bytes = i % 4 < 2 ? 0 : random_next(&seed) % 64;
		uint32_t *key = guarded_place(&key_room, edge, words, KEY);
		uint8_t *nonces = guarded_place(&nonce_room, edge, bytes,
		                                count * HCHACHA_NONCE);
		uint32_t(*subkeys)[CHACHA_KEY_WORDS] =
			guarded_place(&subkey_room, edge, words, count * KEY);

		random_fill(&seed, key, KEY);
		random_fill(&seed, nonces, count * HCHACHA_NONCE);
		memcpy(saved, nonces, count * HCHACHA_NONCE);
		memset(subkeys, 0, count * KEY);
		CALL(call_hchacha(engine_current(), subkeys, key, nonces, count,
		                  rounds));
		for (size_t n = 0; n < count; n++) {
			reference_hchacha((uint8_t *)key, nonces + 16 * n,
			                  rounds, one);
			ASSERT_MEM_EQ(one, subkeys[n], KEY);
		}
		ASSERT_MEM_EQ(saved, nonces, count * HCHACHA_NONCE);
		ASSERT(guarded_intact(&subkey_room));
	}
	PASS();
}

/* Each register that a kernel might break is really watched. */
TEST broken_registers_are_seen(void)
{
	const char *what, *said;
	int n = 0;

	if (!abi_watched())
		SKIPm("no registers are watched on this machine");
	while ((what = abi_broken(n + 1, &said))) {
		ASSERT(said && strstr(said, what));
		n++;
	}
	ASSERT(n >= 10);
	PASS();
}

GREATEST_MAIN_DEFS();

#define RUN_WITH(test, name, rounds)                                           \
	do {                                                                   \
		greatest_set_test_suffix(name);                                \
		RUN_TESTp(test, rounds);                                       \
	} while (0)

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	grid_say();
	guarded_new(&from, LONGEST);
	guarded_new(&to, LONGEST);
	guarded_new(&state_room, STATE_SIZE);
	guarded_new(&key_room, 64);
	guarded_new(&nonce_room, 2048);
	guarded_new(&subkey_room, 4096);
	RUN_TEST(broken_registers_are_seen);
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		for (int rounds = 12; rounds <= 20; rounds += 8) {
			RUN_WITH(chacha_sizes, *name, rounds);
			RUN_WITH(chacha_alignments, *name, rounds);
			RUN_WITH(chacha_counters, *name, rounds);
			RUN_WITH(chacha_pieces, *name, rounds);
			RUN_WITH(hchacha_counts, *name, rounds);
		}
	}
	GREATEST_MAIN_END();
}
