/*
 * How much of their grid of sizes and alignments the tests go through. Where an
 * emulator runs them that is a part of it, and
 * they say so.
 */
#ifndef TESTS_GRID_H
#define TESTS_GRID_H

#include <stdio.h>

#include "emulator.h"

/* A step through sizes: `small` on the small grid, else 1. */
static inline size_t grid_step(size_t small)
{
	return emulated() ? small : 1;
}

/* To be called by main, once. */
static inline void grid_say(void)
{
	if (emulated())
		puts("NOTE: an emulator runs this, so only a part of all sizes "
		     "and alignments is tested");
}

#endif
