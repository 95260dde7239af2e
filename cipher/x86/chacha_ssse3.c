/* ChaCha with SSSE3: four blocks at once, word i of each in one register. */
#include <openssl/crypto.h>

#include "cipher/x86/chacha_4.h"
#include "cipher/x86/nh_128.h"

enum { STEP_4 = 4 * CHACHA_BLOCK };

/*
 * The words of a state, each in all four lanes: SSE needs a shuffle for that,
 * so it is done once for a call and not for each four blocks.
 */
struct spread {
	uint32_t words[CHACHA_STATE_WORDS];
	u32x4 first[CHACHA_STATE_WORDS]; /* after first_columns */
	u32x4 last[CHACHA_STATE_WORDS];  /* what is added at the end */
};

INLINE void xor_16(uint8_t *dst, const uint8_t *src, u32x4 keystream,
                   size_t size)
{
	u32x4 text = { 0 };

	if (size >= sizeof(text)) {
		memcpy(&text, src, sizeof(text));
		text ^= keystream;
		memcpy(dst, &text, sizeof(text));
	} else {
		memcpy(&text, src, size);
		text ^= keystream;
		memcpy(dst, &text, size);
	}
}

/* XOR 256 bytes of keystream, or the `size` that are left. */
INLINE void step_4(const struct spread *spread, u32x4 counters, int rounds,
                   uint8_t *dst, const uint8_t *src, size_t size,
                   struct nh_128 *nh, const uint32_t *k)
{
	const uint8_t *before = dst - STEP_4;
	u32x4 x[16];

	UNROLL for (int i = 0; i < 16; i++)
		x[i] = i == 12 ? counters : spread->first[i];
	if (nh)
		ROUNDS_AFTER_FIRST_COLUMNS(
			ROTATE_4, x, rounds,
			(nh_128_take(nh, before, k), before += NH_STRIDE,
			 k += NH_STRIDE_WORDS));
	else
		ROUNDS_AFTER_FIRST_COLUMNS(ROTATE_4, x, rounds, );
	UNROLL for (int i = 0; i < 16; i++)
		x[i] += i == 12 ? counters : spread->last[i];

	UNROLL for (int i = 0; i < 16; i += 4) {
		transpose_4(x + i);
		UNROLL for (int j = 0; j < 4; j++) {
			size_t at = j * CHACHA_BLOCK + i * sizeof(uint32_t);

			if (at < size)
				xor_16(dst + at, src + at, x[i + j], size - at);
		}
	}
}

INLINE void spread_words(struct spread *spread,
                         const uint32_t state[CHACHA_STATE_WORDS])
{
	first_columns(spread->words, state);
	for (int i = 0; i < 16; i++) {
		spread->first[i] = splat_4(spread->words[i]);
		spread->last[i] = splat_4(state[i]);
	}
}

void chacha_ssse3(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                  const uint8_t *src, size_t size)
{
	struct spread spread;

	while (size) {
		size_t end = before_carry(state, size), at;
		u32x4 counters = splat_4(state[12]) + (u32x4){ 0, 1, 2, 3 };

		spread_words(&spread, state);
		for (at = 0; at + STEP_4 <= end; at += STEP_4) {
			step_4(&spread, counters, rounds, dst + at, src + at,
			       STEP_4, NULL, NULL);
			counters += splat_4(4);
		}
		if (at < end)
			step_4(&spread, counters, rounds, dst + at, src + at,
			       end - at, NULL, NULL);
		count_blocks(state, end);
		dst += end;
		src += end;
		size -= end;
	}
	OPENSSL_cleanse(&spread, sizeof(spread));
}

/* See chacha_nh_avx2. */
void chacha_nh_ssse3(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                     uint8_t *dst, const uint8_t *src, size_t size,
                     uint64_t (*sums)[NH_PASSES], const struct nh_key *key)
{
	u32x4 counters = splat_4(state[12]) + (u32x4){ 0, 1, 2, 3 };
	struct spread spread;
	struct nh_128 nh;
	size_t at = 0;

	if (size <= STEP_4 || before_carry(state, size) < size) {
		chacha_ssse3(state, rounds, dst, src, size);
		nh_sse2(sums, key, dst, size);
		return;
	}
	spread_words(&spread, state);
	step_4(&spread, counters, rounds, dst, src, STEP_4, NULL, NULL);
	nh_128_begin(&nh);
	while (at + STEP_4 < size) {
		const uint32_t *k = key->swapped + at % NH_UNIT / 4;
		size_t left = size - at - STEP_4;

		at += STEP_4;
		counters += splat_4(4);
		if (left >= STEP_4)
			step_4(&spread, counters, rounds, dst + at, src + at,
			       STEP_4, &nh, k);
		else
			step_4(&spread, counters, rounds, dst + at, src + at,
			       left, &nh, k);
		if (at % NH_UNIT == 0) {
			nh_128_end(*sums++, &nh);
			nh_128_begin(&nh);
		}
	}

	/* NH of the last blocks, for which there are no rounds to be between. */
	while (at < size) {
		nh_128_take(&nh, dst + at, key->swapped + at % NH_UNIT / 4);
		at += NH_STRIDE;
		if (at % NH_UNIT == 0 || at == size) {
			nh_128_end(*sums++, &nh);
			nh_128_begin(&nh);
		}
	}
	count_blocks(state, size);
	OPENSSL_cleanse(&spread, sizeof(spread));
}

/* Up to four subkeys at once. */
INLINE void hchacha_4(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                      const uint32_t key[CHACHA_KEY_WORDS],
                      const uint8_t *nonces, size_t count, int rounds)
{
	u32x4 x[16];

	UNROLL for (int i = 0; i < 4; i++)
		x[i] = splat_4(chacha_constants[i]);
	UNROLL for (int i = 0; i < 8; i++)
		x[4 + i] = splat_4(key[i]);
	UNROLL for (size_t i = 0; i < 4; i++)
		memcpy(&x[12 + i], nonces + (i < count ? i : 0) * HCHACHA_NONCE,
		       HCHACHA_NONCE);
	transpose_4(x + 12);

	for (int round = 0; round < rounds; round += 2) {
		COLUMN_ROUND(ROTATE_4, x);
		DIAGONAL_ROUND(ROTATE_4, x);
	}

	transpose_4(x);
	transpose_4(x + 12);
	UNROLL for (size_t i = 0; i < 4; i++) {
		if (i < count) {
			memcpy(subkeys[i], &x[i], 16);
			memcpy(subkeys[i] + 4, &x[12 + i], 16);
		}
	}
}

void hchacha_ssse3(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                   const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                   size_t count, int rounds)
{
	for (; count > 1; subkeys += 4, nonces += 4 * HCHACHA_NONCE) {
		size_t n = count < 4 ? count : 4;

		hchacha_4(subkeys, key, nonces, n, rounds);
		count -= n;
	}
	if (count)
		hchacha_rows(*subkeys, key, nonces, rounds);
}
