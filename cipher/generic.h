/* The parts of the engine `generic`; engine.h says what each does. */
#ifndef CIPHER_GENERIC_H
#define CIPHER_GENERIC_H

#include "cipher/engine.h"

void generic_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                    uint8_t *dst, const uint8_t *src, size_t size);
void generic_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                     const uint32_t key[CHACHA_KEY_WORDS],
                     const uint8_t *nonces, size_t count, int rounds);
void generic_nh(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                const uint8_t *message, size_t size);

/* Add NH of `size` bytes, whole strides of one unit, to `sum`; `key` points at
 * the key words of the first stride. */
void generic_nh_strides(uint64_t sum[NH_PASSES], const uint32_t *key,
                        const uint8_t *message, size_t size);

#endif
