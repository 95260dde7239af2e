/*
 * Timing of things that are to be compared. Machines are shared, and clocks
 * change: so all candidates take turns in short slices, many rounds, and the
 * shortest time counts, which is the one that was disturbed least.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "parts.h"

struct candidate {
	const struct part *part;
	const char *engine;

	/* What measure finds, all for one pass over the batch. */
	double best, median, high; /* seconds; 9 of 10 slices are below `high` */
	double cycles;             /* least; 0 where they cannot be counted */

	size_t passes;             /* in a slice */
	double *slices;            /* seconds of one pass, by round */
};

/* Time each of `count` candidates for about `seconds`. Returns 0 or a negative
 * errno. */
int measure(struct candidate *candidates, size_t count, struct work *work,
            double seconds);

#endif
