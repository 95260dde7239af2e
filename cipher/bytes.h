/*
 * Loads, stores and 128-bit sums of little-endian integers at any alignment.
 * The library is for little-endian machines, so these are plain copies, which
 * compilers turn into single instructions.
 */
#ifndef CIPHER_BYTES_H
#define CIPHER_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "this library is for little-endian machines");

/* An integer modulo 2^128: what Adiantum's hash gives and its blocks are. */
struct le128 {
	uint64_t lo, hi;
};

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline struct le128 load128(const uint8_t *p)
{
	struct le128 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void store128(uint8_t *p, struct le128 v)
{
	memcpy(p, &v, sizeof(v));
}

/* Whether 16 bytes are the same; not for secrets. */
static inline bool equal128(const uint8_t *p, const uint8_t *q)
{
	struct le128 a = load128(p), b = load128(q);

	return !((a.lo ^ b.lo) | (a.hi ^ b.hi));
}

#ifdef __arm__
/* Compilers make a dozen instructions of the carry from lo to hi; these are
 * four. Q and R are the two halves of a 64-bit operand. */
#define CHAIN128(first, then)                                                 \
	__asm__(first " %Q0, %Q0, %Q2\n\t" then " %R0, %R0, %R2\n\t"          \
	        then " %Q1, %Q1, %Q3\n\t" then " %R1, %R1, %R3"               \
	        : "+&r"(a.lo), "+&r"(a.hi) : "r"(b.lo), "r"(b.hi) : "cc")

static inline struct le128 add128(struct le128 a, struct le128 b)
{
	CHAIN128("adds", "adcs");
	return a;
}

static inline struct le128 sub128(struct le128 a, struct le128 b)
{
	CHAIN128("subs", "sbcs");
	return a;
}
#else
static inline struct le128 add128(struct le128 a, struct le128 b)
{
	uint64_t lo = a.lo + b.lo;

	return (struct le128){ lo, a.hi + b.hi + (lo < a.lo) };
}

static inline struct le128 sub128(struct le128 a, struct le128 b)
{
	return (struct le128){ a.lo - b.lo, a.hi - b.hi - (a.lo < b.lo) };
}
#endif

#endif
