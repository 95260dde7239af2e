/*
 * OpenSSL's ciphers over the messages of a batch, as a program would use them
 * for sectors or packets: the key is set once, each message gets an IV or
 * nonce of its own, and those with a tag compute and fetch it.
 */
#ifndef BENCH_OPENSSL_H
#define BENCH_OPENSSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum openssl_cipher {
	OPENSSL_AES_256_XTS,
	OPENSSL_AES_256_GCM,
	OPENSSL_CHACHA20_POLY1305,
	OPENSSL_CIPHERS,
};

struct openssl;

/* `key` has 64 bytes. NULL where OpenSSL lacks one of the ciphers. */
struct openssl *openssl_new(const uint8_t *key);
void openssl_free(struct openssl *openssl);

/* One pass over `count` messages of `size` bytes, in place; the tag of message
 * i goes to tags + 16 i. Decryption only of AES-256-XTS. Returns 0 or -EIO. */
int openssl_run(struct openssl *openssl, enum openssl_cipher cipher,
                bool encrypt, uint8_t *data, size_t size, size_t count,
                uint8_t *tags);

#endif
