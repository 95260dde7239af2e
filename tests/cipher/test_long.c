/*
 * Random messages under each engine, compared with `generic`: keys, tweaks,
 * sizes, places in memory, batches and single calls, both directions. The
 * environment variable FROND_CIPHER_ROUNDS tells how many for each engine;
 * FROND_CIPHER_SEED where to begin, to find a failure again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/grid.h"
#include "cipher/guarded.h"
#include "cipher/random.h"

enum { MOST = 40, LONGEST = 20000, TWEAK = 64 };

static struct guarded from[MOST], to[MOST];
static uint8_t plain[MOST][LONGEST], cipher[MOST][LONGEST];
static uint8_t tweaks[MOST * TWEAK];
static struct adiantum_message messages[MOST];

/* Eight bytes at a time; for long runs. */
static void fill(uint64_t *seed, uint8_t *dst, size_t size)
{
	for (; size >= 8; size -= 8, dst += 8) {
		uint64_t r = random_next(seed);

		memcpy(dst, &r, 8);
	}
	random_fill(seed, dst, size);
}

/* Sectors of both sizes mostly, then anything up to two pieces of the hash. */
static size_t random_size(uint64_t *seed)
{
	uint64_t r = random_next(seed);

	switch (r % 8) {
	case 0:
	case 1:
	case 2:
		return 4096;
	case 3:
		return 512;
	case 4:
		return ADIANTUM_MESSAGE_MIN + r / 8 % 300;
	case 5:
		return ADIANTUM_MESSAGE_MIN + r / 8 % (LONGEST - 15);
	default:
		return ADIANTUM_MESSAGE_MIN + r / 8 % 8285;
	}
}

/* Messages and tweaks anew; some in place. The first byte of what a call gets
 * is at any alignment. */
static void place(uint64_t *seed, size_t count, size_t tweak_size)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t r = random_next(seed);
		enum guarded_edge edge = r % 2 ? AT_END : AT_START;
		size_t size = random_size(seed);

		fill(seed, plain[i], size);
		messages[i].src = guarded_place(&from[i], edge,
		                                r / 4 % 3 ? r / 16 % 64 : 0,
		                                size);
		messages[i].dst = r / 2 % 2 ?
			guarded_place(&to[i], edge,
			              r / 4 % 3 ? r / 1024 % 64 : 0, size) :
			(void *)messages[i].src;
		messages[i].tweak = tweaks + i * tweak_size;
		messages[i].size = size;
	}
}

static void load(uint8_t (*bytes)[LONGEST], size_t count)
{
	for (size_t i = 0; i < count; i++)
		memcpy((void *)messages[i].src, bytes[i], messages[i].size);
}

static int check(uint8_t (*bytes)[LONGEST], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct adiantum_message *m = &messages[i];

		if (memcmp(m->dst, bytes[i], m->size) ||
		    !guarded_intact(&from[i]) ||
		    (m->dst != m->src && !guarded_intact(&to[i])))
			return -EBADMSG;
	}
	return 0;
}

/* The engine's encryption and decryption of what generic encrypted. */
static int both_ways(const char *engine, const struct adiantum_key *key,
                     size_t tweak_size, size_t count)
{
	int error = adiantum_engine_select("generic");

	for (size_t i = 0; i < count && !error; i++)
		error = adiantum_encrypt(key, messages[i].tweak, tweak_size,
		                         cipher[i], plain[i], messages[i].size);
	if (!error)
		error = adiantum_engine_select(engine);
	load(plain, count);
	if (!error)
		error = adiantum_encrypt_batch(key, tweak_size, messages, count);
	if (!error)
		error = check(cipher, count);
	load(cipher, count);
	if (!error)
		error = adiantum_decrypt_batch(key, tweak_size, messages, count);
	if (!error)
		error = check(plain, count);
	return error;
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t n;

	if (!text || !*text)
		return otherwise;
	n = strtoull(text, &end, 0);
	if (*end) {
		fprintf(stderr, "%s=%s is not a number\n", name, text);
		exit(2);
	}
	return n;
}

TEST random_messages(const char *engine)
{
	uint64_t rounds = number("FROND_CIPHER_ROUNDS", grid_small() ? 500 : 10000);
	uint64_t start = number("FROND_CIPHER_SEED", 1);
	uint64_t done = 0, bytes = 0;

	ASSERT(rounds > 0);
	for (uint64_t group = start; done < rounds; group++) {
		uint64_t seed = group * 0xd1342543de82ef95;
		uint64_t r = random_next(&seed);
		size_t count = r % 3 ? 1 : 1 + r / 4 % MOST;
		/* As the files of a volume have it, or anything. */
		size_t tweak_size = r / 256 % 2 ? 32 : r / 512 % (TWEAK + 1);
		uint8_t key_bytes[ADIANTUM_KEY_SIZE];
		struct adiantum_key *key;
		int error;

		fill(&seed, key_bytes, sizeof(key_bytes));
		fill(&seed, tweaks, sizeof(tweaks));
		/* Tweaks that differ from those before in one byte. */
		for (size_t i = 1; r / 65536 % 2 && tweak_size && i < count; i++) {
			uint8_t *tweak = tweaks + i * tweak_size;

			memcpy(tweak, tweak - tweak_size, tweak_size);
			tweak[random_next(&seed) % tweak_size] ^= 1 + i;
		}
		ASSERT_EQ(0, adiantum_engine_select("generic"));
		ASSERT_EQ(0, adiantum_key_new(&key, r >> 63 ? 12 : 20, key_bytes));
		place(&seed, count, tweak_size);
		error = both_ways(engine, key, tweak_size, count);
		adiantum_key_free(key);
		if (error)
			fprintf(stderr, "differs: FRONDFS_ENGINE=%s "
			        "FROND_CIPHER_SEED=%" PRIu64 "\n", engine, group);
		ASSERT_EQ(0, error);
		done += count;
		for (size_t i = 0; i < count; i++)
			bytes += messages[i].size;
	}
	printf("%s: %" PRIu64 " messages, %" PRIu64 " MB\n", engine, done,
	       bytes / 1000000);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	grid_say();
	for (int i = 0; i < MOST; i++) {
		guarded_new(&from[i], LONGEST);
		guarded_new(&to[i], LONGEST);
	}
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		greatest_set_test_suffix(*name);
		RUN_TESTp(random_messages, *name);
	}
	GREATEST_MAIN_END();
}
