/*
 * What the pool of threads does for batches of several sizes: the time of one
 * call with a pool and without, in turn. For each the quickest and the median
 * of many calls are given, as machines are shared and noisy; with a pause before
 * each call if one is asked for, so that the threads have gone to sleep and the
 * other cores may have, too.
 *
 *	bench_pool [calls, default 300 [pause in microseconds, default 0]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cipher/adiantum.h"

enum { BATCH = 256, SIZE = 4096, TWEAK = 32 };

static uint8_t buf[BATCH * SIZE], tweaks[BATCH][TWEAK];
static struct adiantum_message messages[BATCH];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void line(const struct adiantum_key *key, size_t batch, int calls,
                 unsigned pause, double *times[2])
{
	for (int i = 0; i < calls; i++)
		for (int pool = 0; pool < 2; pool++) {
			double start;

			adiantum_threads_set(pool ? 0 : 1);
			if (pause)
				usleep(pause);
			start = now();
			if (adiantum_encrypt_batch(key, TWEAK, messages, batch))
				exit(1);
			times[pool][i] = now() - start;
		}
	printf("%5zu KiB", batch * SIZE / 1024);
	for (int pool = 0; pool < 2; pool++) {
		qsort(times[pool], (size_t)calls, sizeof(double), compare);
		printf("   %s: quickest %7.1f us, median %7.1f us",
		       pool ? "pool" : "alone", times[pool][0],
		       times[pool][calls / 2]);
	}
	printf("   ratio %.2f, %.2f\n", times[0][0] / times[1][0],
	       times[0][calls / 2] / times[1][calls / 2]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 1 };
	int calls = argc > 1 ? atoi(argv[1]) : 300;
	unsigned pause = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	const char *const *engines = adiantum_engine_list();
	struct adiantum_key *key;
	double *times[2];

	times[0] = calloc((size_t)calls + 1, sizeof(double));
	times[1] = calloc((size_t)calls + 1, sizeof(double));
	if (!times[0] || !times[1] ||
	    adiantum_key_new(&key, ADIANTUM_XCHACHA12, bytes))
		return 1;
	for (size_t i = 0; i < BATCH; i++) {
		memcpy(tweaks[i], &i, sizeof(i));
		messages[i] = (struct adiantum_message){
			buf + i * SIZE, buf + i * SIZE, tweaks[i], SIZE
		};
	}
	for (; *engines; engines++) {
		adiantum_engine_select(*engines);
		adiantum_threads_set(0);
		printf("%s, %u threads\n", *engines, adiantum_threads());
		for (size_t batch = BATCH; batch; batch /= 2)
			line(key, batch, calls, pause, times);
	}
	adiantum_key_free(key);
	free(times[0]);
	free(times[1]);
	return 0;
}
