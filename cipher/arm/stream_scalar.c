/*
 * ChaCha and HChaCha by the code of chacha_scalar.S.py, which takes whole
 * blocks, and one nonce.
 */
#include "cipher/arm/arm.h"

/* See chacha_scalar.S.py. */
void chacha_scalar(const uint32_t state[CHACHA_STATE_WORDS], uint32_t turns,
                   uint8_t *dst, const uint8_t *src, size_t blocks);
void hchacha_scalar(uint32_t subkey[CHACHA_KEY_WORDS],
                    const uint32_t key[CHACHA_KEY_WORDS],
                    const uint8_t nonce[HCHACHA_NONCE], uint32_t turns);

static inline uint32_t turns_of(int rounds)
{
	return (rounds - 4) / 8;
}

static void blocks(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                   const uint8_t *src, size_t n)
{
	while (n) {
		size_t run = n;

		/* Until the lower half of the counter ends. */
		if (state[12] && run > -state[12])
			run = -state[12];
		chacha_scalar(state, turns_of(rounds), dst, src, run);
		state[12] += run;
		state[13] += state[12] < run;
		dst += run * CHACHA_BLOCK;
		src += run * CHACHA_BLOCK;
		n -= run;
	}
}

void scalar_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                   const uint8_t *src, size_t size)
{
	size_t rest = size % CHACHA_BLOCK;
	uint8_t last[CHACHA_BLOCK] __attribute__((aligned(4)));

	size -= rest;
	blocks(state, rounds, dst, src, size / CHACHA_BLOCK);
	if (!rest)
		return;
	memcpy(last, src + size, rest);
	memset(last + rest, 0, sizeof(last) - rest);
	blocks(state, rounds, last, last, 1);
	memcpy(dst + size, last, rest);
	memset(last, 0, sizeof(last));
	__asm__ volatile("" : : "r"(last) : "memory");
}

void scalar_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                    const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                    size_t n, int rounds)
{
	for (size_t i = 0; i < n; i++)
		hchacha_scalar(subkeys[i], key, nonces + i * HCHACHA_NONCE,
		               turns_of(rounds));
}
