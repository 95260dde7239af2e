/*
 * Single AES blocks through OpenSSL's AES-256-XTS.
 *
 * On 32-bit ARM without AES instructions, OpenSSL's ECB works with table
 * lookups, whose time depends on key and data. Its XTS works on eight blocks
 * at once with NEON, bit-sliced, in constant time. XTS encrypts block j as
 * AES(K1, P ^ T_j) ^ T_j, where T_0 = AES(K2, tweak) and T_j = 2^j T_0 in
 * GF(2^128) (IEEE 1619). K2 and the tweak are ours to choose, and not secret:
 * with tweak = AES^-1(K2, 0) all T_j are zero, and XTS under K1 is ECB.
 */
#ifndef CIPHER_AES_SLICED_H
#define CIPHER_AES_SLICED_H

#include <stdbool.h>

#include <openssl/evp.h>

#include "cipher/aes.h"

/* Whether this CPU is one for which ECB would not be constant time and XTS is. */
bool aes_sliced_wanted(void);

/* Set up a new context for one direction. Returns whether OpenSSL can. */
bool aes_sliced_init(EVP_CIPHER_CTX *context, const EVP_CIPHER *xts,
                     const uint8_t key[AES256_KEY_SIZE], bool encrypt);

/* As aes_blocks, with such a context. Returns whether it worked. */
bool aes_sliced_blocks(EVP_CIPHER_CTX *context, uint8_t *dst,
                       const uint8_t *src, size_t count);

#endif
