/*
 * ChaCha and HChaCha in assembly, for 12 and 20 rounds. chacha_neon.S.py makes
 * them.
 */
#ifndef CIPHER_ARM64_CHACHA_NEON_H
#define CIPHER_ARM64_CHACHA_NEON_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/chacha.h"

#pragma GCC visibility push(hidden)

/*
 * XOR the keystream over `size` bytes, one or more. The counter's lower word
 * may not wrap within the call, and the state is left as it is.
 */
typedef void neon_chacha_stream(const uint32_t state[CHACHA_STATE_WORDS],
                                uint8_t *dst, const uint8_t *src, size_t size);

neon_chacha_stream neon_chacha12_stream, neon_chacha20_stream;

/* 1, 4 or 5 subkeys at once. */
typedef void neon_hchacha_group(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                                const uint32_t key[CHACHA_KEY_WORDS],
                                const uint8_t *nonces);

neon_hchacha_group neon_hchacha12_1, neon_hchacha12_4, neon_hchacha12_5;
neon_hchacha_group neon_hchacha20_1, neon_hchacha20_4, neon_hchacha20_5;

#pragma GCC visibility pop

#endif
