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
			       src + at, STEP_8, NULL, NULL);
		if (at < end)
			step_8(state, first, counter, rounds, dst + at,
			       src + at, end - at, NULL, NULL);
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

void chacha_nh_avx2(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                    uint8_t *dst, const uint8_t *src, size_t size,
                    uint64_t (*sums)[NH_PASSES], const struct nh_key *key)
{
	uint32_t first[CHACHA_STATE_WORDS];
	uint32_t counter = state[12];
	struct nh_256 nh;
	size_t at = STEP_8;

	if (size <= STEP_8 || before_carry(state, size) < size) {
		chacha_avx2(state, rounds, dst, src, size);
		nh_avx2(sums, key, dst, size);
		return;
	}
	first_columns(first, state);
	step_8(state, first, counter, rounds, dst, src, STEP_8, NULL, NULL);
	nh_256_begin(&nh);
	for (; at + STEP_8 <= size; at += STEP_8) {
		size_t done = (at - STEP_8) % NH_UNIT;

		step_8(state, first, counter += 8, rounds, dst + at, src + at,
		       STEP_8, &nh, key->swapped + done / 4);
		if (done) {
			nh_256_end(*sums++, &nh);
			nh_256_begin(&nh);
		}
	}
	if (at < size) {
		size_t done = (at - STEP_8) % NH_UNIT;
		step_8(state, first, counter += 8, rounds, dst + at, src + at,
		       size - at, &nh, key->swapped + done / 4);
		if (done) {
			nh_256_end(*sums++, &nh);
			nh_256_begin(&nh);
		}
		at += STEP_8;
	}
	at -= STEP_8;
	const uint32_t *k = key->swapped + at % NH_UNIT / 4;
	for (; at + NH_256 <= size; at += NH_256, k += NH_256 / 4)
		nh_256_take(&nh, dst + at, k);
	if (at < size)
		nh_256_take_half(&nh, dst + at, k);
	nh_256_end(*sums, &nh);
	count_blocks(state, size);
	OPENSSL_cleanse(first, sizeof(first));
}
