/*
 * Throughput of the cipher: every engine, both stream ciphers, sectors of 4096
 * and 512 bytes, one at a time and in batches. The engines take turns and the
 * best of several short runs counts, since machines are shared and noisy:
 * compare figures of one run only.
 *
 *	bench_cipher [seconds for each figure, default 1]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cipher/adiantum.h"

enum { BATCH = 256, TWEAK = 32, RUNS = 5, ENGINES = 16 };

static uint8_t buf[BATCH * 4096], tweaks[BATCH][TWEAK];
static struct adiantum_message messages[BATCH];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Bytes per second of one short run. */
static double run(const struct adiantum_key *key, size_t size, size_t batch,
                  bool decrypt, double seconds)
{
	double start = now(), end;
	uint64_t bytes = 0;

	do {
		for (size_t i = 0; i < BATCH; i += batch)
			if (decrypt ? adiantum_decrypt_batch(key, TWEAK, messages + i, batch)
			            : adiantum_encrypt_batch(key, TWEAK, messages + i, batch))
				exit(1);
		bytes += BATCH * size;
		end = now();
	} while (end - start < seconds);
	return (double)bytes / (end - start);
}

static void line(enum adiantum_stream stream, size_t size, size_t batch,
                 bool decrypt, double seconds)
{
	static const uint8_t bytes[ADIANTUM_KEY_SIZE] = { 1 };
	const char *const *engines = adiantum_engine_list();
	double best[ENGINES] = { 0 };
	struct adiantum_key *key;

	if (adiantum_key_new(&key, stream, bytes))
		exit(1);
	for (size_t i = 0; i < BATCH; i++) {
		memcpy(tweaks[i], &i, sizeof(i));
		messages[i] = (struct adiantum_message){
			buf + i * size, buf + i * size, tweaks[i], size
		};
	}
	for (int k = 0; k < RUNS; k++)
		for (int e = 0; engines[e] && e < ENGINES; e++) {
			double rate;

			adiantum_engine_select(engines[e]);
			rate = run(key, size, batch, decrypt, seconds / RUNS);
			if (rate > best[e])
				best[e] = rate;
		}
	printf("xchacha%d  %4zu bytes  batch %3zu  %s ", (int)stream, size,
	       batch, decrypt ? "decrypt" : "encrypt");
	for (int e = 0; engines[e] && e < ENGINES; e++)
		printf("  %s %.0f MB/s", engines[e], best[e] / 1e6);
	printf("\n");
	fflush(stdout);
	adiantum_key_free(key);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (int stream = 12; stream <= 20; stream += 8)
		for (size_t size = 4096; size >= 512; size /= 8)
			for (size_t batch = 1; batch <= BATCH; batch *= BATCH)
				for (int decrypt = 0; decrypt < 2; decrypt++)
					line((enum adiantum_stream)stream, size,
					     batch, decrypt, seconds);
	return 0;
}
