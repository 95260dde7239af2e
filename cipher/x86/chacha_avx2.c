/* ChaCha with AVX2: eight blocks at once, word i of each in one register. */
#include <openssl/crypto.h>

#include "cipher/x86/chacha_8.h"

void chacha_avx2(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                 const uint8_t *src, size_t size)
{
	uint32_t first[CHACHA_STATE_WORDS];

	while (size) {
		size_t end = before_carry(state, size), at;
		uint32_t counter = state[12];

		first_columns(first, state);
		for (at = 0; at + STEP_8 <= end; at += STEP_8, counter += 8)
			step_8(state, first, counter, rounds, dst + at,
			       src + at, STEP_8);
		if (at < end)
			step_8(state, first, counter, rounds, dst + at,
			       src + at, end - at);
		count_blocks(state, end);
		dst += end;
		src += end;
		size -= end;
	}
	OPENSSL_cleanse(first, sizeof(first));
}

void hchacha_avx2(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                  const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                  size_t count, int rounds)
{
	while (count) {
		size_t n = count < 8 ? count : 8;

		hchacha_some(subkeys, key, nonces, n, rounds);
		subkeys += n;
		nonces += n * HCHACHA_NONCE;
		count -= n;
	}
}
