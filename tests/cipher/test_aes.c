/*
 * AES-256: known answers, and batches of all sizes against single blocks, in
 * both ways to go through OpenSSL. Both give the right bytes on every CPU; only
 * their running time differs between CPUs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/aes.h"
#include "cipher/aes_sliced.h"
#include "cipher/random.h"

enum { BLOCKS = 70, GUARD = 32, THREADS = 40, CALLS = 200 };

struct answer {
	uint8_t key[32], plain[16], cipher[16];
};

#define SP800_38A_KEY                                                         \
	{ 0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,   \
	  0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,   \
	  0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4 }

static const struct answer answers[] = {
	/* FIPS 197, appendix C.3 */
	{ { 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
	    0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15,
	    0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f },
	  { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
	    0xbb, 0xcc, 0xdd, 0xee, 0xff },
	  { 0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49,
	    0x90, 0x4b, 0x49, 0x60, 0x89 } },
	/* SP 800-38A, appendix F.1.5 */
	{ SP800_38A_KEY,
	  { 0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e,
	    0x11, 0x73, 0x93, 0x17, 0x2a },
	  { 0xf3, 0xee, 0xd1, 0xbd, 0xb5, 0xd2, 0xa0, 0x3c, 0x06, 0x4b, 0x5a,
	    0x7e, 0x3d, 0xb1, 0x81, 0xf8 } },
	{ SP800_38A_KEY,
	  { 0xae, 0x2d, 0x8a, 0x57, 0x1e, 0x03, 0xac, 0x9c, 0x9e, 0xb7, 0x6f,
	    0xac, 0x45, 0xaf, 0x8e, 0x51 },
	  { 0x59, 0x1c, 0xcb, 0x10, 0xd4, 0x10, 0xed, 0x26, 0xdc, 0x5b, 0xa7,
	    0x4a, 0x31, 0x36, 0x28, 0x70 } },
	{ SP800_38A_KEY,
	  { 0x30, 0xc8, 0x1c, 0x46, 0xa3, 0x5c, 0xe4, 0x11, 0xe5, 0xfb, 0xc1,
	    0x19, 0x1a, 0x0a, 0x52, 0xef },
	  { 0xb6, 0xed, 0x21, 0xb9, 0x9c, 0xa6, 0xf4, 0xf9, 0xf1, 0x53, 0xe7,
	    0xb1, 0xbe, 0xaf, 0xed, 0x1d } },
	{ SP800_38A_KEY,
	  { 0xf6, 0x9f, 0x24, 0x45, 0xdf, 0x4f, 0x9b, 0x17, 0xad, 0x2b, 0x41,
	    0x7b, 0xe6, 0x6c, 0x37, 0x10 },
	  { 0x23, 0x30, 0x4b, 0x7a, 0x39, 0xf9, 0xf3, 0xff, 0x06, 0x7d, 0x8d,
	    0x8f, 0x9e, 0x24, 0xec, 0xc7 } },
};

TEST known_answers(enum aes_way way)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct answer *a = &answers[i];
		struct aes_key *key;
		uint8_t block[16];

		ASSERT_EQ(0, aes_key_new_way(&key, way, a->key));
		ASSERT_EQ(0, aes_blocks(key, true, block, a->plain, 1));
		ASSERT_MEM_EQ(a->cipher, block, 16);
		ASSERT_EQ(0, aes_blocks(key, false, block, block, 1));
		ASSERT_MEM_EQ(a->plain, block, 16);
		aes_key_free(key);
	}
	PASS();
}

/* The four blocks of SP 800-38A go through as one batch, too. */
TEST known_batch(enum aes_way way)
{
	uint8_t plain[4][16], cipher[4][16], out[4][16];
	struct aes_key *key;

	for (int i = 0; i < 4; i++) {
		memcpy(plain[i], answers[1 + i].plain, 16);
		memcpy(cipher[i], answers[1 + i].cipher, 16);
	}
	ASSERT_EQ(0, aes_key_new_way(&key, way, answers[1].key));
	ASSERT_EQ(0, aes_blocks(key, true, out[0], plain[0], 4));
	ASSERT_MEM_EQ(cipher, out, sizeof(out));
	ASSERT_EQ(0, aes_blocks(key, false, out[0], cipher[0], 4));
	ASSERT_MEM_EQ(plain, out, sizeof(out));
	aes_key_free(key);
	PASS();
}

/* `count` random blocks against the same ones in single calls of ECB; nothing
 * behind them may change. */
static bool batch_is_right(struct aes_key *key, struct aes_key *ecb,
                           bool encrypt, size_t count, uint64_t *seed)
{
	size_t size = count * 16;
	uint8_t *in = malloc(size + GUARD), *out = malloc(size + GUARD);
	uint8_t *expected = malloc(size + GUARD);
	bool right = in && out && expected;

	if (!right)
		goto out;
	random_fill(seed, in, size + GUARD);
	memcpy(out, in, size + GUARD);
	memcpy(expected, in, size + GUARD);
	for (size_t i = 0; i < size; i += 16)
		right &= !aes_blocks(ecb, encrypt, expected + i, in + i, 1);
	memset(out, 0, size);
	right &= !aes_blocks(key, encrypt, out, in, count);
	right &= !memcmp(out, expected, size + GUARD);
	right &= !aes_blocks(key, encrypt, in, in, count);
	right &= !memcmp(in, expected, size + GUARD);
out:
	free(in);
	free(out);
	free(expected);
	return right;
}

TEST all_sizes(enum aes_way way)
{
	static const size_t large[] = { 255, 256, 257, 4096, 4097 };
	struct aes_key *key, *ecb;
	uint64_t seed = way;
	uint8_t bytes[32];

	random_fill(&seed, bytes, sizeof(bytes));
	ASSERT_EQ(0, aes_key_new_way(&key, way, bytes));
	ASSERT_EQ(0, aes_key_new_way(&ecb, AES_ECB, bytes));
	ASSERT_EQ(0, aes_blocks(key, true, NULL, NULL, 0));
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		for (size_t n = 1; n <= BLOCKS; n++)
			ASSERT(batch_is_right(key, ecb, encrypt, n, &seed));
		for (size_t k = 0; k < sizeof(large) / sizeof(large[0]); k++)
			ASSERT(batch_is_right(key, ecb, encrypt, large[k],
			                      &seed));
	}
	aes_key_free(key);
	aes_key_free(ecb);
	PASS();
}

struct work {
	struct aes_key *key;
	pthread_barrier_t *start;
	bool wrong;
};

static void *run(void *argument)
{
	uint8_t plain[3][16], cipher[3][16], out[3][16];
	struct work *w = argument;

	for (int i = 0; i < 3; i++) {
		memcpy(plain[i], answers[1 + i].plain, 16);
		memcpy(cipher[i], answers[1 + i].cipher, 16);
	}
	pthread_barrier_wait(w->start);
	for (int i = 0; i < CALLS; i++) {
		size_t n = 1 + i % 3;

		w->wrong |= aes_blocks(w->key, true, out[0], plain[0], n);
		w->wrong |= !!memcmp(out, cipher, n * 16);
		w->wrong |= aes_blocks(w->key, false, out[0], out[0], n);
		w->wrong |= !!memcmp(out, plain, n * 16);
	}
	return NULL;
}

/* More threads than a key keeps contexts for, which end before the key does;
 * the second time they are others. */
TEST many_threads(enum aes_way way)
{
	struct work work[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t start;
	struct aes_key *key;

	ASSERT_EQ(0, aes_key_new_way(&key, way, answers[1].key));
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, THREADS));
	for (int again = 0; again < 2; again++) {
		for (int t = 0; t < THREADS; t++) {
			work[t] = (struct work){ key, &start, false };
			ASSERT_EQ(0, pthread_create(&threads[t], NULL, run,
			                            &work[t]));
		}
		for (int t = 0; t < THREADS; t++) {
			ASSERT_EQ(0, pthread_join(threads[t], NULL));
			ASSERT(!work[t].wrong);
		}
	}
	pthread_barrier_destroy(&start);
	aes_key_free(key);
	PASS();
}

/* The bit-sliced way is for 32-bit ARM alone. */
TEST choice(void)
{
#ifndef __arm__
	ASSERT(!aes_sliced_wanted());
#endif
	aes_key_free(NULL);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(choice);
	for (int way = AES_ECB; way <= AES_SLICED; way++) {
		greatest_set_test_suffix(way == AES_SLICED ? "sliced" : "ecb");
		RUN_TESTp(known_answers, (enum aes_way)way);
		greatest_set_test_suffix(way == AES_SLICED ? "sliced" : "ecb");
		RUN_TESTp(known_batch, (enum aes_way)way);
		greatest_set_test_suffix(way == AES_SLICED ? "sliced" : "ecb");
		RUN_TESTp(all_sizes, (enum aes_way)way);
		greatest_set_test_suffix(way == AES_SLICED ? "sliced" : "ecb");
		RUN_TESTp(many_threads, (enum aes_way)way);
	}
	GREATEST_MAIN_END();
}
