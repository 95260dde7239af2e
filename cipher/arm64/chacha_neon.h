/*
 * ChaCha and HChaCha in assembly, for 12 and 20 rounds. chacha_neon.S.py makes
 * them.
 */
#ifndef CIPHER_ARM64_CHACHA_NEON_H
#define CIPHER_ARM64_CHACHA_NEON_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/chacha.h"

/*
 * XOR the keystream over 5 * fives + rest blocks, `rest` at most 5. The last
 * block of the rest is read from and written to `last` where that is not NULL.
 * The counter's lower word may not wrap within the call, and the state is left
 * as it is.
 */
typedef void neon_chacha_blocks(const uint32_t state[CHACHA_STATE_WORDS],
                                uint8_t *dst, const uint8_t *src, size_t fives,
                                size_t rest, uint8_t *last);

neon_chacha_blocks neon_chacha12_blocks, neon_chacha20_blocks;

/* 1, 4 or 5 subkeys at once; `base` is the constants and the key. */
typedef void neon_hchacha_group(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                                const uint32_t base[4 + CHACHA_KEY_WORDS],
                                const uint8_t *nonces);

neon_hchacha_group neon_hchacha12_1, neon_hchacha12_4, neon_hchacha12_5;
neon_hchacha_group neon_hchacha20_1, neon_hchacha20_4, neon_hchacha20_5;

#endif
