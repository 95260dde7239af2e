/*
 * AES-256 on single blocks, through OpenSSL. Its contexts may not be shared by
 * threads, so a key keeps as many of them as were ever in use at once.
 */
#ifndef CIPHER_AES_H
#define CIPHER_AES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AES_BLOCK = 16,       /* bytes */
	AES256_KEY_SIZE = 32, /* bytes */
};

struct aes_key;

/* Returns 0, -ENOMEM, or -EIO when OpenSSL has no AES-256. */
int aes_key_new(struct aes_key **out, const uint8_t key[AES256_KEY_SIZE]);
void aes_key_free(struct aes_key *key);

/* Encrypt or decrypt `count` blocks (at most INT_MAX / 16), each by itself.
 * dst may be src. For any number of threads. Returns 0 or -EIO. */
int aes_blocks(struct aes_key *key, bool encrypt, uint8_t *dst,
               const uint8_t *src, size_t count);

#endif
