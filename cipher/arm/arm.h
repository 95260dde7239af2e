/* The parts of the engines for 32-bit ARM; engine.h says what each does. */
#ifndef CIPHER_ARM_ARM_H
#define CIPHER_ARM_ARM_H

#include "cipher/engine.h"

/* NEON, with the rotation by 8 bits as a table look-up in registers, and as two
 * shifts. */
void neon_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                 const uint8_t *src, size_t size);
void neon_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                  const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                  size_t count, int rounds);
void neon_sri_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                     uint8_t *dst, const uint8_t *src, size_t size);
void neon_sri_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                      const uint32_t key[CHACHA_KEY_WORDS],
                      const uint8_t *nonces, size_t count, int rounds);

/* Four blocks with NEON, and a fifth in integer registers beside them. */
void neon_mixed_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                       uint8_t *dst, const uint8_t *src, size_t size);
void nh_neon(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size);
void nh_neon_two(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                 const uint8_t *a, const uint8_t *b, size_t size);
void neon_poly1305(struct poly1305_state *state, const struct poly1305_key *key,
                   const uint8_t *blocks, size_t count, uint32_t top);

/* Integer registers alone. */
void scalar_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                   const uint8_t *src, size_t size);
void scalar_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                    const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                    size_t count, int rounds);

void nh_scalar(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
               const uint8_t *message, size_t size);
void poly1305_arm(struct poly1305_state *state, const struct poly1305_key *key,
                  const uint8_t *blocks, size_t count, uint32_t top);

#endif
