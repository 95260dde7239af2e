/*
 * NH (Black, Halevi, Krawczyk, Krovetz, Rogaway: "UMAC: fast and secure message
 * authentication", 1999) with the parameters of the Adiantum paper, section
 * 2.2: 32-bit words, 4 passes, stride 2, units of 1024 bytes; and NHPoly1305,
 * the Poly1305 polynomial over the NH sums of a message's units.
 */
#ifndef CIPHER_NH_H
#define CIPHER_NH_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/bytes.h"
#include "cipher/poly1305.h"

enum {
	NH_STRIDE = 16,       /* bytes that one step takes in: two pairs of words */
	NH_STRIDE_WORDS = 4,
	NH_PASSES = 4,        /* sums of a unit, 64 bits each */
	NH_UNIT = 1024,       /* bytes */
	NH_HASH = 32,         /* bytes */
	NH_KEY_SIZE = 1072,   /* bytes: one unit, and a stride for each further pass */
	NH_KEY_WORDS = NH_KEY_SIZE / 4,
	NH_UNIT_STRIDES = NH_UNIT / NH_STRIDE,
	NHPOLY1305_UNITS = 8, /* units in one piece of a message */
	NHPOLY1305_PIECE = NHPOLY1305_UNITS * NH_UNIT,
};

struct adiantum_engine;

/*
 * The key of NH, in two forms. swapped is words with each stride's in the order
 * 0, 2, 1, 3, for engines with a multiplication that takes each second word:
 * what is multiplied then stands side by side.
 */
struct nh_key {
	uint32_t words[NH_KEY_WORDS];
	uint32_t swapped[NH_KEY_WORDS];
};

void nh_key_init(struct nh_key *key, const uint8_t bytes[NH_KEY_SIZE]);

struct nhpoly1305_key {
	struct poly1305_key poly;
	struct nh_key nh;
};

/* NHPoly1305 of a whole message, the empty one included. */
struct le128 nhpoly1305(const struct adiantum_engine *engine,
                        const struct nhpoly1305_key *key,
                        const uint8_t *message, size_t size);

/* NHPoly1305 of two messages of the same size, which engine->nh_two can take. */
void nhpoly1305_two(const struct adiantum_engine *engine,
                    const struct nhpoly1305_key *key, struct le128 hashes[2],
                    const uint8_t *a, const uint8_t *b, size_t size);

/*
 * XOR the keystream from the block of the state's counter over a message, and
 * give NHPoly1305 of the result. dst may be src. The `beyond` bytes behind each
 * of them are there as well, and those of dst may be overwritten: engines are
 * faster where the last block of the keystream is a whole one.
 */
struct le128 nhpoly1305_stream(const struct adiantum_engine *engine,
                               const struct nhpoly1305_key *key,
                               uint32_t *chacha_state, int rounds, uint8_t *dst,
                               const uint8_t *src, size_t size, size_t beyond);

#endif
