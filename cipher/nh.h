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

/*
 * XOR the keystream over `size` more bytes of a message and take the result into
 * the polynomial. All pieces but a message's last are NHPOLY1305_PIECE bytes;
 * the last one is at most that, of any length, and is padded with zeros to a
 * multiple of 16. dst may be src.
 */
void nhpoly1305_stream_piece(const struct adiantum_engine *engine,
                             const struct nhpoly1305_key *key,
                             struct poly1305_state *state,
                             uint32_t *chacha_state, int rounds, uint8_t *dst,
                             const uint8_t *src, size_t size);

/* NHPoly1305 of a whole message, the empty one included. */
struct le128 nhpoly1305(const struct adiantum_engine *engine,
                        const struct nhpoly1305_key *key,
                        const uint8_t *message, size_t size);

#endif
