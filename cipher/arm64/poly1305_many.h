/* The engine's poly1305; engine.h says what it does. */
#ifndef CIPHER_ARM64_POLY1305_MANY_H
#define CIPHER_ARM64_POLY1305_MANY_H

#include "cipher/poly1305.h"

void neon_poly1305(struct poly1305_state *state, const struct poly1305_key *key,
                   const uint8_t *blocks, size_t count, uint32_t top);

#endif
