/*
 * How much of their grid of sizes and alignments the tests go through. Where an
 * emulator runs them (TEST_EMULATOR, see tests/run) that is a part of it, and
 * they say so.
 */
#ifndef TESTS_GRID_H
#define TESTS_GRID_H

#include <stdio.h>
#include <stdlib.h>

#include "sanitized.h"

/* Is it the small grid? */
static inline int grid_small(void)
{
	const char *emulator = getenv("TEST_EMULATOR");

	return emulator && *emulator;
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
		puts("NOTE: an emulator runs this, so only a part of all sizes "
		     "and alignments is tested");
}

#endif
