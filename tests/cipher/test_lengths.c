/*
 * Adiantum at every length and alignment, under every engine, with buffers
 * against pages that nobody may touch.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/grid.h"
#include "cipher/guarded.h"
#include "cipher/random.h"
#include "cipher/reference.h"

enum { LONGEST = 8300, TWEAK_MOST = 50 };

static struct guarded from, to, tweak_room;

static struct adiantum_key *new_key(uint64_t *seed, int rounds,
                                    uint8_t bytes[ADIANTUM_KEY_SIZE])
{
	struct adiantum_key *key;

	random_fill(seed, bytes, ADIANTUM_KEY_SIZE);
	if (adiantum_key_new(&key, rounds, bytes))
		abort();
	return key;
}

/*
 * What comes out for each length, by the reference: it is slow, so it runs once
 * for all engines. The messages begin alike; their tweaks do not.
 */
struct answers {
	uint8_t key[ADIANTUM_KEY_SIZE];
	uint8_t plain[LONGEST];
	uint8_t tweak[LONGEST + 1][TWEAK_MOST];
	uint8_t *cipher[LONGEST + 1];
};

static size_t tweak_size(size_t size)
{
	return size % 3 ? 32 : size % TWEAK_MOST;
}

static int is_tested(size_t size)
{
	return size <= 600 || (size > 4070 && size < 4130) ||
	       size / 16 % grid_step(29) == 0;
}

static const struct answers *answers(int rounds)
{
	static struct answers *all[2];
	struct answers **a = &all[rounds == 20];
	uint64_t seed = rounds;

	if (*a)
		return *a;
	*a = calloc(1, sizeof(**a));
	if (!*a)
		abort();
	random_fill(&seed, *a, offsetof(struct answers, cipher));
	for (size_t size = ADIANTUM_MESSAGE_MIN; size <= LONGEST; size++) {
		if (!is_tested(size))
			continue;
		(*a)->cipher[size] = malloc(size);
		if (!(*a)->cipher[size])
			abort();
		reference_adiantum((*a)->key, rounds, (*a)->tweak[size],
		                   tweak_size(size), (*a)->cipher[size],
		                   (*a)->plain, size);
	}
	return *a;
}

/* How the buffers of one call lie. */
struct layout {
	enum guarded_edge edge;
	size_t from, to; /* bytes away from the page */
	int in_place;    /* then there is no `to` */
};

/* Both directions; what is around the buffers stays as it was, and so does the
 * source. */
static enum greatest_test_res check(const struct adiantum_key *key,
                                    const struct answers *a, size_t size,
                                    struct layout l)
{
	const size_t tweak_bytes = tweak_size(size);
	uint8_t *tweak = guarded_place(&tweak_room, l.edge, l.to, tweak_bytes);

	memcpy(tweak, a->tweak[size], tweak_bytes);
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		const uint8_t *in = encrypt ? a->plain : a->cipher[size];
		const uint8_t *out = encrypt ? a->cipher[size] : a->plain;
		uint8_t *src = guarded_place(&from, l.edge, l.from, size);
		uint8_t *dst = l.in_place ?
			src : guarded_place(&to, l.edge, l.to, size);

		memcpy(src, in, size);
		ASSERT_EQ(0, (encrypt ? adiantum_encrypt : adiantum_decrypt)(
				key, tweak, tweak_bytes, dst, src, size));
		ASSERT_MEM_EQ(out, dst, size);
		ASSERT(guarded_intact(&from));
		if (l.in_place)
			continue;
		ASSERT_MEM_EQ(in, src, size);
		ASSERT(guarded_intact(&to));
	}
	PASS();
}

TEST every_length(int rounds)
{
	const struct answers *a = answers(rounds);
	struct adiantum_key *key;

	ASSERT_EQ(0, adiantum_key_new(&key, rounds, a->key));
	for (size_t size = ADIANTUM_MESSAGE_MIN; size <= LONGEST; size++) {
		size_t one = size * 7 % 64, two = size * 29 % 64;
		struct layout layouts[] = {
			{ AT_END, 0, 0, 0 },
			{ AT_END, 0, 0, 1 },
			{ AT_START, size % 4 ? one : 0, size % 4 ? two : 0, 0 },
			{ size % 2 ? AT_START : AT_END, one, two, 1 },
		};

		if (!is_tested(size))
			continue;
		for (int i = 0; i < 4; i++)
			CHECK_CALL(check(key, a, size, layouts[i]));
	}
	adiantum_key_free(key);
	PASS();
}

/* Every alignment of source and destination: whole sectors of both sizes that
 * are in use, and others. */
TEST every_alignment(int rounds)
{
	const struct answers *a = answers(rounds);
	uint64_t seed = rounds + 5;
	struct adiantum_key *key;

	ASSERT_EQ(0, adiantum_key_new(&key, rounds, a->key));
	for (size_t i = 0; i < 64; i++) {
		for (size_t j = i % grid_step(7); j < 64; j += grid_step(7)) {
			size_t some = ADIANTUM_MESSAGE_MIN +
			              random_next(&seed) % 580;
			struct layout l = { i % 2 ? AT_END : AT_START, i, j,
				            i == j };

			if (j % 4 == 1)
				CHECK_CALL(check(key, a, 4096, l));
			CHECK_CALL(check(key, a, j % 2 ? 512 : some, l));
		}
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
		uint8_t *plain, *cipher, *out;

		if (grid_small() && size == 1 << 20)
			continue;
		plain = malloc(size);
		cipher = malloc(size);
		out = malloc(size);
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

enum { BATCH_MOST = 257, BATCH_SIZE = 5000 };

static struct guarded batch_from[BATCH_MOST], batch_to[BATCH_MOST];

/* Sizes as they come: all whole sectors, all small ones, or a mixture. */
static size_t batch_size(uint64_t *seed, size_t kind)
{
	uint64_t r = random_next(seed);

	if (kind % 3 == 0)
		return 4096;
	if (kind % 3 == 1)
		return 512;
	return r % 3 ? ADIANTUM_MESSAGE_MIN + r / 3 % (BATCH_SIZE - 15) : 4096;
}

/* Random tweaks, or `alike`: each differs from the one before in one byte. */
static void batch_tweaks(uint64_t *seed, uint8_t *tweaks, size_t count,
                         size_t size, int alike)
{
	random_fill(seed, tweaks, count * size);
	for (size_t i = 1; alike && size && i < count; i++) {
		uint8_t *tweak = tweaks + i * size;

		memcpy(tweak, tweak - size, size);
		tweak[random_next(seed) % size] ^= 1 + i % 255;
	}
}

/* A batch of `count` messages, in place for some of them. */
static enum greatest_test_res check_batch(const struct adiantum_key *key,
                                          uint64_t *seed, size_t count,
                                          size_t tweak, size_t kind)
{
	static uint8_t plain[BATCH_MOST][BATCH_SIZE], single[BATCH_SIZE];
	static uint8_t tweaks[BATCH_MOST * TWEAK_MOST];
	static struct adiantum_message m[BATCH_MOST];

	batch_tweaks(seed, tweaks, count, tweak, kind / 3 % 2);
	for (size_t i = 0; i < count; i++) {
		size_t size = batch_size(seed, kind);
		uint64_t r = random_next(seed);
		enum guarded_edge edge = r >> 63 ? AT_START : AT_END;
		size_t away = r >> 62 & 1 ? r % 64 : 0;
		uint8_t *src = guarded_place(&batch_from[i], edge, away, size);

		random_fill(seed, plain[i], size);
		memcpy(src, plain[i], size);
		m[i].src = m[i].dst = src;
		if (r >> 61 & 1)
			m[i].dst = guarded_place(&batch_to[i], edge, r / 64 % 64,
			                         size);
		m[i].tweak = tweaks + i * tweak;
		m[i].size = size;
	}
	ASSERT_EQ(0, adiantum_encrypt_batch(key, tweak, m, count));
	for (size_t i = 0; i < count; i++) {
		ASSERT_EQ(0, adiantum_encrypt(key, m[i].tweak, tweak, single,
		                              plain[i], m[i].size));
		ASSERT_MEM_EQ(single, m[i].dst, m[i].size);
		ASSERT(guarded_intact(&batch_from[i]));
		ASSERT(m[i].dst == m[i].src || guarded_intact(&batch_to[i]));
		m[i].src = m[i].dst;
	}
	ASSERT_EQ(0, adiantum_decrypt_batch(key, tweak, m, count));
	for (size_t i = 0; i < count; i++)
		ASSERT_MEM_EQ(plain[i], m[i].dst, m[i].size);
	PASS();
}

TEST batch_equals_single(int rounds)
{
	static const size_t counts[] = { 0,  1,  2,  3,  4,  5,  7,  8,  15, 16,
		                         17, 31, 32, 33, 63, 64, 65, 97, 257 };
	static const size_t tweaks[] = { 32, 0, 12, 16, 17, 48 };
	uint64_t seed = rounds + 3;
	uint8_t bytes[ADIANTUM_KEY_SIZE];
	struct adiantum_key *key = new_key(&seed, rounds, bytes);

	ASSERT_EQ(0, adiantum_encrypt_batch(key, 32, NULL, 0));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (grid_small() && counts[i] > 40)
			continue;
		for (size_t kind = i % grid_step(2); kind < 6;
		     kind += grid_step(2))
			CHECK_CALL(check_batch(key, &seed, counts[i],
			                       tweaks[(i + kind) % 6], kind));
	}
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
	grid_say();
	guarded_new(&from, LONGEST);
	guarded_new(&to, LONGEST);
	guarded_new(&tweak_room, TWEAK_MOST);
	for (int i = 0; i < BATCH_MOST; i++) {
		guarded_new(&batch_from[i], BATCH_SIZE);
		guarded_new(&batch_to[i], BATCH_SIZE);
	}
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		for (int rounds = 12; rounds <= 20; rounds += 8) {
			RUN_WITH(every_length, *name, rounds);
			RUN_WITH(every_alignment, *name, rounds);
			RUN_WITH(long_messages, *name, rounds);
			RUN_WITH(every_tweak_length, *name, rounds);
			RUN_WITH(batch_equals_single, *name, rounds);
			RUN_WITH(too_short, *name, rounds);
		}
	}
	RUN_TEST(unknown_stream);
	GREATEST_MAIN_END();
}
