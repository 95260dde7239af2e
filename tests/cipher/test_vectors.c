/* Known answers, under every engine that this machine can run. */
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/bytes.h"
#include "cipher/engine.h"
#include "cipher/vectors.h"

/* Check the keystream that begins at a state, at three places of the memory. */
static enum greatest_test_res check_stream(const uint32_t *start, int rounds,
                                           const uint8_t *expected, size_t size)
{
	for (size_t align = 0; align < 3; align++) {
		uint32_t state[CHACHA_STATE_WORDS];
		uint8_t *memory = calloc(1, align + size);

		ASSERT(memory);
		memcpy(state, start, sizeof(state));
		engine_current()->chacha(state, rounds, memory + align,
		                         memory + align, size);
		ASSERT_MEM_EQ(expected, memory + align, size);
		free(memory);
	}
	PASS();
}

/* The keystream by the block counter, and by running up to it. */
TEST chacha_vectors(const char *name, size_t nonce_size)
{
	struct vectors v;

	vectors_open(&v, name, 5);
	while (vectors_next(&v)) {
		int rounds = vector_number(&v, 0);
		uint8_t *key = vector_sized(&v, 1, 32);
		uint8_t *nonce = vector_sized(&v, 2, nonce_size);
		uint64_t counter = vector_number(&v, 3);
		size_t size, before = counter * CHACHA_BLOCK;
		uint8_t *expected = vector_bytes(&v, 4, &size);
		uint32_t words[CHACHA_KEY_WORDS];
		uint32_t state[CHACHA_STATE_WORDS];
		uint8_t *run = calloc(1, before + size);

		ASSERT(run && size);
		memcpy(words, key, sizeof(words));
		for (int from_start = 0; from_start < 2; from_start++) {
			if (from_start)
				counter = 0;
			if (nonce_size == XCHACHA_NONCE)
				xchacha_init(state, words, nonce, counter,
				             rounds);
			else
				chacha_init(state, words, load64(nonce),
				            counter);
			if (!from_start)
				CHECK_CALL(check_stream(state, rounds,
				                        expected, size));
		}
		engine_current()->chacha(state, rounds, run, run,
		                         before + size);
		ASSERT_MEM_EQ(expected, run + before, size);
		free(key);
		free(nonce);
		free(expected);
		free(run);
	}
	ASSERT(vectors_close(&v));
	PASS();
}

TEST nh_vectors(void)
{
	struct vectors v;

	vectors_open(&v, "nh.txt", 3);
	while (vectors_next(&v)) {
		size_t size;
		uint8_t *key = vector_sized(&v, 0, NH_KEY_SIZE);
		uint8_t *message = vector_bytes(&v, 1, &size);
		uint8_t *expected = vector_sized(&v, 2, NH_HASH);
		struct nh_key nh_key;
		uint64_t sums[1][NH_PASSES];

		nh_key_init(&nh_key, key);
		engine_current()->nh(sums, &nh_key, message, size);
		ASSERT_MEM_EQ(expected, sums, NH_HASH);
		free(key);
		free(message);
		free(expected);
	}
	ASSERT(vectors_close(&v));
	PASS();
}

TEST nhpoly1305_vectors(void)
{
	struct vectors v;

	vectors_open(&v, "nhpoly1305.txt", 3);
	while (vectors_next(&v)) {
		size_t size;
		uint8_t *bytes = vector_sized(
			&v, 0, POLY1305_KEY_SIZE + NH_KEY_SIZE);
		uint8_t *message = vector_bytes(&v, 1, &size);
		uint8_t *expected = vector_sized(&v, 2, POLY1305_BLOCK);
		struct nhpoly1305_key key;
		struct le128 hash;

		poly1305_key_init(&key.poly, bytes);
		nh_key_init(&key.nh, bytes + POLY1305_KEY_SIZE);
		hash = nhpoly1305(engine_current(), &key, message, size);
		ASSERT_MEM_EQ(expected, &hash, sizeof(hash));
		free(bytes);
		free(message);
		free(expected);
	}
	ASSERT(vectors_close(&v));
	PASS();
}

static enum greatest_test_res check_adiantum(int rounds, const uint8_t *bytes,
                                             const uint8_t *tweak,
                                             size_t tweak_size,
                                             const uint8_t *plain,
                                             const uint8_t *cipher, size_t size)
{
	struct adiantum_key *key;
	uint8_t *out = malloc(size);

	ASSERT(out);
	ASSERT_EQ(0, adiantum_key_new(&key, rounds, bytes));
	ASSERT_EQ(0, adiantum_encrypt(key, tweak, tweak_size, out, plain, size));
	ASSERT_MEM_EQ(cipher, out, size);
	ASSERT_EQ(0, adiantum_decrypt(key, tweak, tweak_size, out, cipher, size));
	ASSERT_MEM_EQ(plain, out, size);
	adiantum_key_free(key);
	free(out);
	PASS();
}

/* With rounds 0 the number of rounds is the first column. */
TEST adiantum_vectors(const char *name, int rounds)
{
	struct vectors v;
	int c = rounds ? 0 : 1;

	vectors_open(&v, name, 4 + c);
	while (vectors_next(&v)) {
		size_t tweak_size, size;
		uint8_t *key = vector_sized(&v, c, ADIANTUM_KEY_SIZE);
		uint8_t *tweak = vector_bytes(&v, c + 1, &tweak_size);
		uint8_t *plain = vector_bytes(&v, c + 2, &size);
		uint8_t *cipher = vector_sized(&v, c + 3, size);

		CHECK_CALL(check_adiantum(rounds ? rounds : (int)vector_number(&v, 0),
		                          key, tweak, tweak_size, plain, cipher,
		                          size));
		free(key);
		free(tweak);
		free(plain);
		free(cipher);
	}
	ASSERT(vectors_close(&v));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		greatest_set_test_suffix(*name);
		RUN_TESTp(chacha_vectors, "chacha.txt", 8);
		greatest_set_test_suffix(*name);
		RUN_TESTp(chacha_vectors, "xchacha.txt", XCHACHA_NONCE);
		greatest_set_test_suffix(*name);
		RUN_TEST(nh_vectors);
		greatest_set_test_suffix(*name);
		RUN_TEST(nhpoly1305_vectors);
		greatest_set_test_suffix(*name);
		RUN_TESTp(adiantum_vectors, "adiantum_xchacha12_aes256.txt", 12);
		greatest_set_test_suffix(*name);
		RUN_TESTp(adiantum_vectors, "adiantum_xchacha20_aes256.txt", 20);
		greatest_set_test_suffix(*name);
		RUN_TESTp(adiantum_vectors, "adiantum_linux.txt", 0);
	}
	GREATEST_MAIN_END();
}
