/*
 * AES-256 on single blocks, through OpenSSL.
 */
#ifndef CIPHER_AES_H
#define CIPHER_AES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	AES_BLOCK = 16,       /* bytes */
	AES256_KEY_SIZE = 32, /* bytes */
	AES_BLOCKS_MAX = 1 << 20, /* blocks in one call */
};

/* The mode of OpenSSL's that the blocks go through. Both give the same bytes;
 * aes_sliced.h says when the second one is needed. */
enum aes_way {
	AES_ECB,
	AES_SLICED,
};

struct aes_key;

/* Make a key in the way that is right for this CPU.
 * Returns 0, -ENOMEM, or -EIO when OpenSSL has no AES-256. */
int aes_key_new(struct aes_key **out, const uint8_t key[AES256_KEY_SIZE]);
void aes_key_free(struct aes_key *key);

/* The same in a given way, for tests and measurements. */
int aes_key_new_way(struct aes_key **out, enum aes_way way,
                    const uint8_t key[AES256_KEY_SIZE]);

/* Encrypt or decrypt `count` blocks (at most AES_BLOCKS_MAX), each by itself.
 * dst may be src. For any number of threads. Returns 0 or -EIO. */
int aes_blocks(struct aes_key *key, bool encrypt, uint8_t *dst,
               const uint8_t *src, size_t count);

#endif
