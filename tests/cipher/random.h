/* Bytes for tests: the same in each run, from a seed (SplitMix64). */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t random_next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline void random_fill(uint64_t *seed, void *dst, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((uint8_t *)dst)[i] = random_next(seed) >> 56;
}

#endif
