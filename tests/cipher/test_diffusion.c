/*
 * Every bit of a sector's ciphertext depends on every bit of its plaintext and
 * of its tweak, and the other way round: where one bit of the input flips, each
 * bit of the output flips with a probability of one half.
 *
 * Over TRIALS flips, a bit of the output flips TRIALS/2 times, give or take a
 * standard deviation of sqrt(TRIALS)/2 = 16. A good cipher leaves 6.5 of those
 * for any of 32768 bits in 3 of a million runs, and the bytes here are the
 * same in each run; a bit that does not depend on the flipped ones at all, or
 * flips always, is 32 of them away.
 */
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/random.h"

enum {
	SECTOR = 4096,
	BITS = SECTOR * 8,
	TWEAK = 32,
	TRIALS = 1024,
	BIT_BOUND = 104,   /* 6.5 standard deviations of TRIALS coins */
	TRIAL_BOUND = 543, /* 6 standard deviations of BITS coins */
};

typedef int crypt_function(const struct adiantum_key *, const void *, size_t,
                           void *, const void *, size_t);

static void flip(uint8_t *bytes, size_t bit)
{
	bytes[bit / 8] ^= 1 << bit % 8;
}

/* Which bit the trial flips: of a tweak every one in turn; of the sector every
 * one of the right block and of the first stride in turn, then all over. */
static size_t chosen_bit(int of_tweak, int trial, uint64_t *seed)
{
	if (of_tweak)
		return trial % (TWEAK * 8);
	if (trial < 128)
		return trial;
	if (trial < 256)
		return BITS - 1 - (trial - 128);
	return random_next(seed) % BITS;
}

TEST depends(crypt_function *crypt, int rounds, int of_tweak)
{
	static uint8_t in[SECTOR], before[SECTOR], after[SECTOR];
	static int flips[BITS];
	uint8_t bytes[ADIANTUM_KEY_SIZE], tweak[TWEAK];
	uint64_t seed = rounds * 2 + of_tweak;
	struct adiantum_key *key;

	memset(flips, 0, sizeof(flips));
	random_fill(&seed, bytes, sizeof(bytes));
	ASSERT_EQ(0, adiantum_key_new(&key, rounds, bytes));
	for (int trial = 0; trial < TRIALS; trial++) {
		size_t bit = chosen_bit(of_tweak, trial, &seed);
		int flipped = 0;

		random_fill(&seed, in, sizeof(in));
		random_fill(&seed, tweak, sizeof(tweak));
		ASSERT_EQ(0, crypt(key, tweak, TWEAK, before, in, SECTOR));
		flip(of_tweak ? tweak : in, bit);
		ASSERT_EQ(0, crypt(key, tweak, TWEAK, after, in, SECTOR));
		for (size_t i = 0; i < BITS; i++) {
			int differs = (before[i / 8] ^ after[i / 8]) >>
			              i % 8 & 1;

			flips[i] += differs;
			flipped += differs;
		}
		ASSERT_IN_RANGE(BITS / 2, flipped, TRIAL_BOUND);
	}
	for (size_t i = 0; i < BITS; i++)
		ASSERT_IN_RANGE(TRIALS / 2, flips[i], BIT_BOUND);
	adiantum_key_free(key);
	PASS();
}

/* The same of the key, for which each trial needs a key object. */
TEST depends_on_key(crypt_function *crypt, int rounds)
{
	static uint8_t in[SECTOR], before[SECTOR], after[SECTOR];
	uint8_t bytes[ADIANTUM_KEY_SIZE], tweak[TWEAK];
	uint64_t seed = rounds;

	random_fill(&seed, in, sizeof(in));
	random_fill(&seed, tweak, sizeof(tweak));
	random_fill(&seed, bytes, sizeof(bytes));
	for (int bit = -1; bit < ADIANTUM_KEY_SIZE * 8; bit++) {
		struct adiantum_key *key;
		int flipped = 0;

		if (bit >= 0)
			flip(bytes, bit);
		ASSERT_EQ(0, adiantum_key_new(&key, rounds, bytes));
		ASSERT_EQ(0, crypt(key, tweak, TWEAK, bit < 0 ? before : after,
		                   in, SECTOR));
		adiantum_key_free(key);
		if (bit < 0)
			continue;
		flip(bytes, bit);
		for (size_t i = 0; i < BITS; i++)
			flipped += (before[i / 8] ^ after[i / 8]) >> i % 8 & 1;
		ASSERT_IN_RANGE(BITS / 2, flipped, TRIAL_BOUND);
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (int rounds = 12; rounds <= 20; rounds += 8) {
		const char *name = rounds == 12 ? "12" : "20";

		for (int of_tweak = 0; of_tweak < 2; of_tweak++) {
			greatest_set_test_suffix(name);
			RUN_TESTp(depends, adiantum_encrypt, rounds, of_tweak);
			greatest_set_test_suffix(name);
			RUN_TESTp(depends, adiantum_decrypt, rounds, of_tweak);
		}
		greatest_set_test_suffix(name);
		RUN_TESTp(depends_on_key, adiantum_encrypt, rounds);
		greatest_set_test_suffix(name);
		RUN_TESTp(depends_on_key, adiantum_decrypt, rounds);
	}
	GREATEST_MAIN_END();
}
