/*
 * One key object in several threads at once, each with messages of its own.
 * The build with the thread sanitizer watches the same.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>

#include "cipher/adiantum.h"
#include "cipher/grid.h"
#include "cipher/random.h"
#include "cipher/reference.h"

enum { THREADS = 6, COUNT = 40, SIZE = 1100, TWEAK = 32 };

struct work {
	const struct adiantum_key *key;
	pthread_barrier_t *start;
	uint8_t tweaks[COUNT][TWEAK];
	uint8_t plain[COUNT][SIZE], cipher[COUNT][SIZE], out[COUNT][SIZE];
	int wrong;
};

/* Batches and single calls in turn, so that both kinds meet. */
static void *run(void *argument)
{
	struct work *w = argument;
	struct adiantum_message m[COUNT];

	pthread_barrier_wait(w->start);
	for (int round = 0; round < (grid_small() ? 10 : 60); round++) {
		for (int i = 0; i < COUNT; i++)
			m[i] = (struct adiantum_message){ w->out[i], w->plain[i],
				                          w->tweaks[i], SIZE };
		w->wrong |= adiantum_encrypt_batch(w->key, TWEAK, m, COUNT);
		w->wrong |= !!memcmp(w->out, w->cipher, sizeof(w->out));
		for (int i = 0; i < COUNT; i++)
			w->wrong |= adiantum_decrypt(w->key, w->tweaks[i], TWEAK,
			                             w->out[i], w->out[i], SIZE);
		w->wrong |= !!memcmp(w->out, w->plain, sizeof(w->out));
	}
	return NULL;
}

TEST one_key_many_threads(int rounds)
{
	uint8_t bytes[ADIANTUM_KEY_SIZE];
	uint64_t seed = rounds;
	struct adiantum_key *key;
	struct work *work = calloc(THREADS, sizeof(*work));
	pthread_barrier_t start;
	pthread_t threads[THREADS];

	ASSERT(work);
	random_fill(&seed, bytes, sizeof(bytes));
	ASSERT_EQ(0, adiantum_key_new(&key, rounds, bytes));
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, THREADS));
	for (int t = 0; t < THREADS; t++) {
		struct work *w = &work[t];

		w->key = key;
		w->start = &start;
		random_fill(&seed, w->tweaks, sizeof(w->tweaks));
		random_fill(&seed, w->plain, sizeof(w->plain));
		for (int i = 0; i < COUNT; i++)
			reference_adiantum(bytes, rounds, w->tweaks[i], TWEAK,
			                   w->cipher[i], w->plain[i], SIZE);
	}
	for (int t = 0; t < THREADS; t++)
		ASSERT_EQ(0, pthread_create(&threads[t], NULL, run, &work[t]));
	for (int t = 0; t < THREADS; t++) {
		ASSERT_EQ(0, pthread_join(threads[t], NULL));
		ASSERT_EQ(0, work[t].wrong);
	}
	pthread_barrier_destroy(&start);
	adiantum_key_free(key);
	free(work);
	PASS();
}

/* The first use of the library by several threads at once: one choice. */
static void *first_use(void *start)
{
	const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 1 };
	struct adiantum_key *key;

	pthread_barrier_wait(start);
	if (adiantum_key_new(&key, ADIANTUM_XCHACHA12, bytes))
		return NULL;
	adiantum_key_free(key);
	return (void *)adiantum_engine_name();
}

TEST first_use_by_threads(void)
{
	pthread_barrier_t start;
	pthread_t threads[THREADS];
	void *name;

	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, THREADS));
	for (int t = 0; t < THREADS; t++)
		ASSERT_EQ(0, pthread_create(&threads[t], NULL, first_use,
		                            &start));
	for (int t = 0; t < THREADS; t++) {
		ASSERT_EQ(0, pthread_join(threads[t], &name));
		ASSERT(name);
		ASSERT_STR_EQ(adiantum_engine_name(), (const char *)name);
	}
	pthread_barrier_destroy(&start);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	grid_say();
	RUN_TEST(first_use_by_threads);
	for (const char *const *name = adiantum_engine_list(); *name; name++) {
		if (adiantum_engine_select(*name))
			abort();
		greatest_set_test_suffix(*name);
		RUN_TESTp(one_key_many_threads, ADIANTUM_XCHACHA12);
		greatest_set_test_suffix(*name);
		RUN_TESTp(one_key_many_threads, ADIANTUM_XCHACHA20);
	}
	GREATEST_MAIN_END();
}
