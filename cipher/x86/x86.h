/*
 * The kernels of the x86-64 engines; engine.h says what each does. Those of one
 * level may only be called where the CPU and the system have that level.
 */
#ifndef CIPHER_X86_X86_H
#define CIPHER_X86_X86_H

#include "cipher/engine.h"

#define X86_CHACHA(level)                                                      \
	void chacha_##level(uint32_t state[CHACHA_STATE_WORDS], int rounds,    \
	                    uint8_t *dst, const uint8_t *src, size_t size);    \
	void chacha_nh_##level(uint32_t state[CHACHA_STATE_WORDS], int rounds, \
	                       uint8_t *dst, const uint8_t *src, size_t size,  \
	                       uint64_t (*sums)[NH_PASSES],                    \
	                       const struct nh_key *key);                      \
	void hchacha_##level(uint32_t (*subkeys)[CHACHA_KEY_WORDS],            \
	                     const uint32_t key[CHACHA_KEY_WORDS],             \
	                     const uint8_t *nonces, size_t count, int rounds)

#define X86_NH(level)                                                          \
	void nh_##level(uint64_t (*sums)[NH_PASSES], const struct nh_key *key, \
	                const uint8_t *message, size_t size)

#define X86_POLY1305(level)                                                    \
	void poly1305_##level(struct poly1305_state *state,                    \
	                      const struct poly1305_key *key,                  \
	                      const uint8_t *blocks, size_t count,             \
	                      uint32_t top)

X86_NH(sse2);

X86_CHACHA(ssse3);

X86_CHACHA(avx2);
X86_NH(avx2);
X86_POLY1305(avx2);

X86_CHACHA(avx512);
X86_NH(avx512);
X86_POLY1305(avx512);

#endif
