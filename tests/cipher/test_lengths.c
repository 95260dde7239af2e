/* Adiantum at every length and alignment, under every engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/random.h"
#include "cipher/reference.h"

enum { LONGEST = 8300, GUARD = 80, CANARY = 0xa5 };

static struct adiantum_key *new_key(uint64_t *seed, int rounds,
                                    uint8_t bytes[ADIANTUM_KEY_SIZE])
{
	struct adiantum_key *key;

	random_fill(seed, bytes, ADIANTUM_KEY_SIZE);
	if (adiantum_key_new(&key, rounds, bytes))
		abort();
	return key;
}

/* Was nothing around the `size` bytes from `at` on written? */
static int untouched_around(const uint8_t *memory, size_t at, size_t size)
{
	for (size_t i = 0; i < at; i++)
		if (memory[i] != CANARY)
			return 0;
	for (size_t i = at + size; i < at + size + 32; i++)
		if (memory[i] != CANARY)
			return 0;
	return 1;
}

/* Encrypting equals the reference, decrypting undoes it, in place and not, the
 * memory around stays as it was, and so does the source. */
TEST every_length(int rounds)
{
	static uint8_t plain[LONGEST], cipher[LONGEST];
	static uint8_t from[LONGEST + GUARD], to[LONGEST + GUARD];
	uint64_t seed = rounds;
	uint8_t bytes[ADIANTUM_KEY_SIZE], tweak_room[64];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);

	for (size_t size = ADIANTUM_MESSAGE_MIN; size <= LONGEST; size++) {
		size_t a = size * 7 % 33, b = size * 5 % 31;
		uint8_t *tweak = tweak_room + size % 9;
		size_t tweak_size = size % 3 ? 32 : size % 50;

		random_fill(&seed, tweak_room, sizeof(tweak_room));
		random_fill(&seed, plain, size);
		reference_adiantum(bytes, rounds, tweak, tweak_size, cipher,
		                   plain, size);

		memset(from, CANARY, sizeof(from));
		memset(to, CANARY, sizeof(to));
		memcpy(from + a, plain, size);
		ASSERT_EQ(0, adiantum_encrypt(key, tweak, tweak_size, to + b,
		                              from + a, size));
		ASSERT_MEM_EQ(cipher, to + b, size);
		ASSERT_MEM_EQ(plain, from + a, size);
		ASSERT(untouched_around(to, b, size));
		ASSERT(untouched_around(from, a, size));
		memset(from, CANARY, sizeof(from));
		ASSERT_EQ(0, adiantum_decrypt(key, tweak, tweak_size, from + a,
		                              to + b, size));
		ASSERT_MEM_EQ(plain, from + a, size);
		ASSERT_MEM_EQ(cipher, to + b, size);
		ASSERT(untouched_around(from, a, size));

		ASSERT_EQ(0, adiantum_encrypt(key, tweak, tweak_size, from + a,
		                              from + a, size));
		ASSERT_MEM_EQ(cipher, from + a, size);
		ASSERT_EQ(0, adiantum_decrypt(key, tweak, tweak_size, from + a,
		                              from + a, size));
		ASSERT_MEM_EQ(plain, from + a, size);
		ASSERT(untouched_around(from, a, size));
	}
	adiantum_key_free(key);
	PASS();
}

/* More than one piece of the hash, and sizes around the borders of pieces. */
TEST long_messages(int rounds)
{
	static const size_t sizes[] = {
		16384 + 15, 16384 + 16, 16384 + 17, 24576 + 16, 100003,
		1 << 20, (1 << 20) + 1,
	};
	uint64_t seed = rounds + 1;
	uint8_t bytes[ADIANTUM_KEY_SIZE], tweak[32];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];
		uint8_t *plain = malloc(size), *cipher = malloc(size);
		uint8_t *out = malloc(size);

		ASSERT(plain && cipher && out);
		random_fill(&seed, plain, size);
		random_fill(&seed, tweak, sizeof(tweak));
		reference_adiantum(bytes, rounds, tweak, 32, cipher, plain,
		                   size);
		ASSERT_EQ(0, adiantum_encrypt(key, tweak, 32, out, plain, size));
		ASSERT_MEM_EQ(cipher, out, size);
		ASSERT_EQ(0, adiantum_decrypt(key, tweak, 32, out, out, size));
		ASSERT_MEM_EQ(plain, out, size);
		free(plain);
		free(cipher);
		free(out);
	}
	adiantum_key_free(key);
	PASS();
}

/* A tweak of no bytes may be no pointer at all. */
TEST every_tweak_length(int rounds)
{
	uint64_t seed = rounds + 2;
	uint8_t bytes[ADIANTUM_KEY_SIZE], tweak[200], plain[100];
	uint8_t cipher[100], out[100];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);

	random_fill(&seed, tweak, sizeof(tweak));
	random_fill(&seed, plain, sizeof(plain));
	for (size_t size = 0; size <= sizeof(tweak); size++) {
		const void *t = size ? tweak + sizeof(tweak) - size : NULL;

		reference_adiantum(bytes, rounds, t, size, cipher, plain, 100);
		ASSERT_EQ(0, adiantum_encrypt(key, t, size, out, plain, 100));
		ASSERT_MEM_EQ(cipher, out, 100);
		ASSERT_EQ(0, adiantum_decrypt(key, t, size, out, out, 100));
		ASSERT_MEM_EQ(plain, out, 100);
	}
	adiantum_key_free(key);
	PASS();
}

/* A batch of `count` messages of mixed sizes, in place for some of them. */
static enum greatest_test_res check_batch(const struct adiantum_key *key,
                                          uint64_t *seed, size_t count)
{
	enum { TWEAK = 32 };
	struct adiantum_message *m = calloc(count + 1, sizeof(*m));
	uint8_t *tweaks = malloc(count * TWEAK + 1), *single = malloc(5000);
	uint8_t **plain = calloc(count + 1, sizeof(*plain));

	ASSERT(m && tweaks && plain && single);
	random_fill(seed, tweaks, count * TWEAK);
	for (size_t i = 0; i < count; i++) {
		size_t size = i % 3 ? 16 + random_next(seed) % 4984 : 4096;
		int in_place = random_next(seed) >> 63;

		plain[i] = malloc(size);
		m[i].dst = malloc(size);
		ASSERT(plain[i] && m[i].dst);
		random_fill(seed, plain[i], size);
		memcpy(m[i].dst, plain[i], size);
		m[i].src = in_place ? m[i].dst : plain[i];
		m[i].tweak = tweaks + i * TWEAK;
		m[i].size = size;
	}
	ASSERT_EQ(0, adiantum_encrypt_batch(key, TWEAK, m, count));
	for (size_t i = 0; i < count; i++) {
		ASSERT_EQ(0, adiantum_encrypt(key, m[i].tweak, TWEAK, single,
		                              plain[i], m[i].size));
		ASSERT_MEM_EQ(single, m[i].dst, m[i].size);
		m[i].src = m[i].dst;
	}
	ASSERT_EQ(0, adiantum_decrypt_batch(key, TWEAK, m, count));
	for (size_t i = 0; i < count; i++) {
		ASSERT_MEM_EQ(plain[i], m[i].dst, m[i].size);
		free(plain[i]);
		free(m[i].dst);
	}
	free(plain);
	free(tweaks);
	free(single);
	free(m);
	PASS();
}

TEST batch_equals_single(int rounds)
{
	static const size_t counts[] = { 0,  1,  2,  7,  8,  31, 32, 33,
		                         63, 64, 65, 96, 97, 257 };
	uint64_t seed = rounds + 3;
	uint8_t bytes[ADIANTUM_KEY_SIZE];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);

	ASSERT_EQ(0, adiantum_encrypt_batch(key, 32, NULL, 0));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		CHECK_CALL(check_batch(key, &seed, counts[i]));
	adiantum_key_free(key);
	PASS();
}

/* Too short: refused, in a batch before any message is written. */
TEST too_short(int rounds)
{
	uint64_t seed = rounds + 4;
	uint8_t bytes[ADIANTUM_KEY_SIZE], buffers[3][64], before[3][64];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);
	struct adiantum_message m[3];

	random_fill(&seed, buffers, sizeof(buffers));
	memcpy(before, buffers, sizeof(buffers));
	for (size_t size = 0; size < ADIANTUM_MESSAGE_MIN; size++) {
		ASSERT_EQ(-EINVAL, adiantum_encrypt(key, bytes, 32, buffers[0],
		                                    buffers[0], size));
		ASSERT_EQ(-EINVAL, adiantum_decrypt(key, bytes, 32, buffers[0],
		                                    buffers[0], size));
		for (int i = 0; i < 3; i++)
			m[i] = (struct adiantum_message){
				buffers[i], buffers[i], bytes,
				i == 2 ? size : 64
			};
		ASSERT_EQ(-EINVAL, adiantum_encrypt_batch(key, 32, m, 3));
		ASSERT_EQ(-EINVAL, adiantum_decrypt_batch(key, 32, m, 3));
		ASSERT_MEM_EQ(before, buffers, sizeof(buffers));
	}
	adiantum_key_free(key);
	PASS();
}

TEST unknown_stream(void)
{
	static const int wrong[] = { 0, 8, 11, 13, 16, 21, -12 };
	const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 0 };
	struct adiantum_key *key = NULL;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ASSERT_EQ(-EINVAL, adiantum_key_new(
			&key, (enum adiantum_stream)wrong[i], bytes));
		ASSERT_EQ(NULL, key);
	}
	adiantum_key_free(NULL);
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
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		for (int rounds = 12; rounds <= 20; rounds += 8) {
			RUN_WITH(every_length, *name, rounds);
			RUN_WITH(long_messages, *name, rounds);
			RUN_WITH(every_tweak_length, *name, rounds);
			RUN_WITH(batch_equals_single, *name, rounds);
			RUN_WITH(too_short, *name, rounds);
		}
	}
	RUN_TEST(unknown_stream);
	GREATEST_MAIN_END();
}
