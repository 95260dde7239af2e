/*
 * How much of their grid of sizes and alignments the tests go through: all of
 * it, or a part where the environment variable TEST_GRID is "small", for
 * emulators that are very slow. They say so.
 */
#ifndef TESTS_GRID_H
#define TESTS_GRID_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int grid_small(void)
{
	const char *grid = getenv("TEST_GRID");

	return grid && !strcmp(grid, "small");
}

/* A step through sizes: `small` on the small grid, else 1. */
static inline size_t grid_step(size_t small)
{
	return grid_small() ? small : 1;
}

/* To be called by main, once. */
static inline void grid_say(void)
{
	if (grid_small())
		puts("NOTE: TEST_GRID=small, so only a part of all sizes and "
		     "alignments is tested");
}

#endif
