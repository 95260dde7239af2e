/*
 * The cipher once more, written from its definitions with no thought of speed
 * and sharing no code with the library, to compare it with: ChaCha word by
 * word, NH by its formula, Poly1305 with OpenSSL's big numbers. Keys are bytes
 * here. Only for little-endian machines.
 */
#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

void reference_chacha(const uint8_t key[32], uint64_t nonce, uint64_t counter,
                      int rounds, uint8_t *dst, const uint8_t *src,
                      size_t size);
void reference_hchacha(const uint8_t key[32], const uint8_t nonce[16],
                       int rounds, uint8_t subkey[32]);

/* One unit of up to 1024 bytes, a multiple of 16. */
void reference_nh(const uint8_t *key, const uint8_t *message, size_t size,
                  uint8_t hash[32]);

/* The key is clamped here; nothing is added at the end. */
void reference_poly1305(const uint8_t key[16], const uint8_t *message,
                        size_t size, uint8_t hash[16]);

void reference_adiantum(const uint8_t key[32], int rounds, const uint8_t *tweak,
                        size_t tweak_size, uint8_t *dst, const uint8_t *src,
                        size_t size);

#endif
