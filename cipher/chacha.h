/*
 * ChaCha with a 64-bit block counter and a 64-bit nonce (Bernstein, "ChaCha, a
 * variant of Salsa20", 2008), and XChaCha, which takes a nonce of 24 bytes:
 * HChaCha makes a subkey from its first 16 (draft-irtf-cfrg-xchacha-03; with
 * 12 rounds the Adiantum paper's appendix does the same).
 */
#ifndef CIPHER_CHACHA_H
#define CIPHER_CHACHA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	CHACHA_BLOCK = 64, /* bytes */
	CHACHA_STATE_WORDS = 16,
	CHACHA_KEY_WORDS = 8,
	HCHACHA_NONCE = 16, /* bytes */
	XCHACHA_NONCE = 24, /* bytes */
};

/* The four words that every ChaCha state begins with: "expand 32-byte k". */
static const uint32_t chacha_constants[4] = {
	0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
};

/* Fill a state for the keystream's block number `counter`. The nonce is the
 * little-endian integer of its 8 bytes. */
static inline void chacha_init(uint32_t state[CHACHA_STATE_WORDS],
                               const uint32_t key[CHACHA_KEY_WORDS],
                               uint64_t nonce, uint64_t counter)
{
	memcpy(state, chacha_constants, sizeof(chacha_constants));
	memcpy(state + 4, key, CHACHA_KEY_WORDS * sizeof(*key));
	memcpy(state + 12, &counter, sizeof(counter));
	memcpy(state + 14, &nonce, sizeof(nonce));
}

/* The same for XChaCha of 12 or 20 rounds; runs HChaCha once. */
void xchacha_init(uint32_t state[CHACHA_STATE_WORDS],
                  const uint32_t key[CHACHA_KEY_WORDS],
                  const uint8_t nonce[XCHACHA_NONCE], uint64_t counter,
                  int rounds);

#endif
