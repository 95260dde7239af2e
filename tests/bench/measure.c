#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "counter.h"
#include "measure.h"

#define SLICE 1e-3 /* seconds; at least one pass */

enum { ROUNDS_MIN = 5 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int prepare(const struct candidate *c, struct work *w)
{
	if (!c->part->openssl)
		work_engine(w, c->engine);
	/* Once untimed: caches, branch history and the CPU's vector units. */
	return c->part->run(w, c->part->option);
}

/* How many passes fill a slice? */
static int calibrate(struct candidate *c, struct work *w)
{
	int error = prepare(c, w);

	for (c->passes = 1; !error; c->passes *= 2) {
		double start = now(), took;

		for (size_t i = 0; i < c->passes && !error; i++)
			error = c->part->run(w, c->part->option);
		took = now() - start;
		if (took >= SLICE / 2) {
			if (took < SLICE)
				c->passes *= 2;
			break;
		}
	}
	return error;
}

static int slice(struct candidate *c, struct work *w, size_t round)
{
	int error = prepare(c, w);
	uint64_t cycles = counter_read();
	double start = now(), took;

	for (size_t i = 0; i < c->passes && !error; i++)
		error = c->part->run(w, c->part->option);
	took = now() - start;
	cycles = counter_read() - cycles;
	c->slices[round] = took / (double)c->passes;
	if (round == 0 || (double)cycles / (double)c->passes < c->cycles)
		c->cycles = (double)cycles / (double)c->passes;
	return error;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int measure(struct candidate *candidates, size_t count, struct work *w,
            double seconds)
{
	int error = 0;
	size_t rounds;

	for (size_t k = 0; k < count && !error; k++)
		error = calibrate(&candidates[k], w);
	rounds = seconds / SLICE;
	if (rounds < ROUNDS_MIN)
		rounds = ROUNDS_MIN;
	for (size_t k = 0; k < count; k++) {
		candidates[k].slices = malloc(rounds * sizeof(double));
		if (!candidates[k].slices)
			error = -ENOMEM;
	}
	for (size_t round = 0; round < rounds && !error; round++)
		for (size_t k = 0; k < count && !error; k++)
			error = slice(&candidates[k], w, round);
	for (size_t k = 0; k < count; k++) {
		struct candidate *c = &candidates[k];

		if (!error) {
			qsort(c->slices, rounds, sizeof(double), by_value);
			c->best = c->slices[0];
			c->median = c->slices[rounds / 2];
			c->high = c->slices[rounds * 9 / 10];
		}
		free(c->slices);
		c->slices = NULL;
	}
	return error;
}
