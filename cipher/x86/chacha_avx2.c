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

/*
 * The rounds of eight blocks leave a third of the time in which the units for
 * vectors could work unused, as each operation waits for the one before. NH has
 * no such chain. So NH of the eight blocks before is done between the
 * quarter-rounds, which takes 7 % off both together (SSSE3: 10 %). The order of
 * the quarter-rounds, two at a time or all four, makes no difference.
 */
void chacha_nh_avx2(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                    uint8_t *dst, const uint8_t *src, size_t size,
                    uint64_t (*sums)[NH_PASSES], const struct nh_key *key)
{
	uint32_t first[CHACHA_STATE_WORDS];
	uint32_t counter = state[12];
	struct nh_256 nh;
	size_t at = 0;

	if (size <= STEP_8 || before_carry(state, size) < size) {
		chacha_avx2(state, rounds, dst, src, size);
		nh_avx2(sums, key, dst, size);
		return;
	}
	first_columns(first, state);
	step_8(state, first, counter, rounds, dst, src, STEP_8, NULL, NULL);
	nh_256_begin(&nh);
	while (at + STEP_8 < size) {
		const uint32_t *k = key->swapped + at % NH_UNIT / 4;
		size_t left = size - at - STEP_8;

		at += STEP_8;
		counter += 8;
		if (left >= STEP_8)
			step_8(state, first, counter, rounds, dst + at,
			       src + at, STEP_8, &nh, k);
		else
			step_8(state, first, counter, rounds, dst + at,
			       src + at, left, &nh, k);
		if (at % NH_UNIT == 0) {
			nh_256_end(*sums++, &nh);
			nh_256_begin(&nh);
		}
	}

	/* NH of the last blocks, for which there are no rounds to be between. */
	for (; at + NH_256 <= size; at += NH_256)
		nh_256_take(&nh, dst + at, key->swapped + at % NH_UNIT / 4);
	if (at < size)
		nh_256_take_half(&nh, dst + at,
		                 key->swapped + at % NH_UNIT / 4);
	nh_256_end(*sums, &nh);
	count_blocks(state, size);
	OPENSSL_cleanse(first, sizeof(first));
}
