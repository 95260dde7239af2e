/*
 * ChaCha with AVX-512: 16 blocks at once, word i of each in one register, so
 * that between loads and stores all of the work is sums, XOR and rotations in
 * one instruction each, and no word ever leaves the 32 registers.
 */
#include <openssl/crypto.h>

#include "cipher/x86/chacha_8.h"
#include "cipher/x86/nh_512.h"

enum { STEP_16 = 16 * CHACHA_BLOCK };

#define ROTATE_16(v, n) ((u32x16)_mm512_rol_epi32((__m512i)(v), n))

/* Of each pair of 128-bit quarters of a and b: 0 and 1, 2 and 3, 0 and 2, 1
 * and 3. */
#define QUARTERS(a, b, which)                                                  \
	((u32x16)_mm512_shuffle_i32x4((__m512i)(a), (__m512i)(b), which))
#define LOWER_16(a, b) QUARTERS(a, b, 0x44)
#define UPPER_16(a, b) QUARTERS(a, b, 0xee)
#define EVEN_16(a, b) QUARTERS(a, b, 0x88)
#define ODD_16(a, b) QUARTERS(a, b, 0xdd)

INLINE u32x16 splat_16(const uint32_t *word)
{
	u32x16 v;

	__asm__("vpbroadcastd %1, %0" : "=v"(v) : "m"(*word));
	return v;
}

/* transpose_4 in each quarter of the registers. */
INLINE void transpose_quarters(u32x16 x[4])
{
	__m512i a = _mm512_unpacklo_epi32((__m512i)x[0], (__m512i)x[1]);
	__m512i b = _mm512_unpackhi_epi32((__m512i)x[0], (__m512i)x[1]);
	__m512i c = _mm512_unpacklo_epi32((__m512i)x[2], (__m512i)x[3]);
	__m512i d = _mm512_unpackhi_epi32((__m512i)x[2], (__m512i)x[3]);

	x[0] = (u32x16)_mm512_unpacklo_epi64(a, c);
	x[1] = (u32x16)_mm512_unpackhi_epi64(a, c);
	x[2] = (u32x16)_mm512_unpacklo_epi64(b, d);
	x[3] = (u32x16)_mm512_unpackhi_epi64(b, d);
}

/* The second half of a transposition: turn around the four quarters in the
 * four registers x[0], x[4], x[8], x[12]. */
INLINE void transpose_registers(u32x16 *x)
{
	u32x16 a = LOWER_16(x[0], x[4]), b = LOWER_16(x[8], x[12]);
	u32x16 c = UPPER_16(x[0], x[4]), d = UPPER_16(x[8], x[12]);

	x[0] = EVEN_16(a, b);
	x[4] = ODD_16(a, b);
	x[8] = EVEN_16(c, d);
	x[12] = ODD_16(c, d);
}

/*
 * XOR 64 bytes of keystream, or the `size` that are left, and take the result
 * into NH where there is one. k is the key's place for that.
 */
INLINE void xor_64(uint8_t *dst, const uint8_t *src, u32x16 keystream,
                   size_t size, struct nh_512 *nh, const uint32_t *k)
{
	__m512i text;

	if (size >= sizeof(keystream)) {
		text = _mm512_xor_si512(_mm512_loadu_si512(src),
		                        (__m512i)keystream);
		_mm512_storeu_si512(dst, text);
		if (nh)
			nh_512_take(nh, text, k);
	} else {
		__mmask64 mask = _bzhi_u64(-1, size);

		text = _mm512_maskz_loadu_epi8(mask, src);
		text = _mm512_xor_si512(text, (__m512i)keystream);
		_mm512_mask_storeu_epi8(dst, mask, text);
		if (nh)
			nh_512_take_some(nh, text, k, size);
	}
}

/*
 * As step_8, for 1024 bytes, which are a unit of NH, too: where `nh` is not NULL
 * it takes them in. Of the 16 blocks four at a time leave the transposition,
 * which keeps but one of the two units for 512 bits busy; what NH does with
 * those that have left it goes to the other. That takes 6 % off both together.
 * NH between the rounds, as in chacha_nh_avx2, gains no more: rounds use 94 % of
 * both units as they are. Rotations by shuffles are 5 % slower.
 */
INLINE void step_16(const uint32_t state[CHACHA_STATE_WORDS],
                    const uint32_t first[CHACHA_STATE_WORDS], uint32_t counter,
                    int rounds, uint8_t *dst, const uint8_t *src, size_t size,
                    struct nh_512 *nh, const struct nh_key *key)
{
	const u32x16 counters = (u32x16)_mm512_set1_epi32(counter) +
	                        (u32x16){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	                                  12, 13, 14, 15 };
	u32x16 x[16];

	UNROLL for (int i = 0; i < 16; i++)
		x[i] = i == 12 ? counters : splat_16(&first[i]);
	ROUNDS_AFTER_FIRST_COLUMNS(ROTATE_16, x, rounds, );
	UNROLL for (int i = 0; i < 16; i++)
		x[i] += i == 12 ? counters : splat_16(&state[i]);

	UNROLL for (int i = 0; i < 16; i += 4)
		transpose_quarters(x + i);
	UNROLL for (int j = 0; j < 4; j++) {
		transpose_registers(x + j);
		UNROLL for (int i = j; i < 16; i += 4) {
			size_t at = i * CHACHA_BLOCK;

			if (at < size)
				xor_64(dst + at, src + at, x[i], size - at, nh,
				       key ? key->swapped + at / 4 : NULL);
		}
	}
}

void chacha_avx512(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                   uint8_t *dst, const uint8_t *src, size_t size)
{
	uint32_t first[CHACHA_STATE_WORDS];

	while (size) {
		size_t end = before_carry(state, size), at = 0;
		uint32_t counter = state[12];

		first_columns(first, state);
		for (; at + STEP_16 <= end; at += STEP_16, counter += 16)
			step_16(state, first, counter, rounds, dst + at,
			        src + at, STEP_16, NULL, NULL);
		/* Three of the units for vectors take registers of 256 bits,
		 * but only two take those of 512. */
		if (at + STEP_8 < end)
			step_16(state, first, counter, rounds, dst + at,
			        src + at, end - at, NULL, NULL);
		else if (at < end)
			step_8(state, first, counter, rounds, dst + at,
			       src + at, end - at, NULL, NULL);
		count_blocks(state, end);
		dst += end;
		src += end;
		size -= end;
	}
	OPENSSL_cleanse(first, sizeof(first));
}

/* The last step of at most eight blocks is not worth a step of 16, even though
 * NH has to load again what it wrote. */
void chacha_nh_avx512(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                      uint8_t *dst, const uint8_t *src, size_t size,
                      uint64_t (*sums)[NH_PASSES], const struct nh_key *key)
{
	uint32_t first[CHACHA_STATE_WORDS];
	uint32_t counter = state[12];
	size_t at = 0;
	struct nh_512 nh;

	if (before_carry(state, size) < size) {
		chacha_avx512(state, rounds, dst, src, size);
		nh_avx512(sums, key, dst, size);
		return;
	}
	first_columns(first, state);
	for (; at + STEP_16 <= size; at += STEP_16, counter += 16) {
		nh_512_begin(&nh);
		step_16(state, first, counter, rounds, dst + at, src + at,
		        STEP_16, &nh, key);
		nh_512_end(*sums++, &nh);
	}
	if (at + STEP_8 < size) {
		nh_512_begin(&nh);
		step_16(state, first, counter, rounds, dst + at, src + at,
		        size - at, &nh, key);
		nh_512_end(*sums, &nh);
	} else if (at < size) {
		step_8(state, first, counter, rounds, dst + at, src + at,
		       size - at, NULL, NULL);
		nh_avx512(sums, key, dst + at, size - at);
	}
	count_blocks(state, size);
	OPENSSL_cleanse(first, sizeof(first));
}

/* As hchacha_8, for 16. */
INLINE void hchacha_16(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                       const uint32_t key[CHACHA_KEY_WORDS],
                       const uint8_t *nonces, int rounds)
{
	u32x16 x[16];

	UNROLL for (int i = 0; i < 4; i++)
		x[i] = splat_16(&chacha_constants[i]);
	UNROLL for (int i = 0; i < 8; i++)
		x[4 + i] = splat_16(&key[i]);
	memcpy(x + 12, nonces, 16 * HCHACHA_NONCE);
	transpose_quarters(x + 12);

	for (int round = 0; round < rounds; round += 2) {
		COLUMN_ROUND(ROTATE_16, x);
		DIAGONAL_ROUND(ROTATE_16, x);
	}

	transpose_quarters(x);
	transpose_quarters(x + 12);
	UNROLL for (int i = 0; i < 4; i++) {
		u32x16 low = LOWER_16(x[i], x[12 + i]);
		u32x16 high = UPPER_16(x[i], x[12 + i]);

		/* Quarters 0 and 2, 1 and 3 belong together. */
		low = QUARTERS(low, low, 0xd8);
		high = QUARTERS(high, high, 0xd8);
		memcpy(subkeys[4 * i], &low, sizeof(low));
		memcpy(subkeys[4 * i + 2], &high, sizeof(high));
	}
}

void hchacha_avx512(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                    const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                    size_t count, int rounds)
{
	while (count) {
		size_t n = count >= 16 ? 16 : count < 8 ? count : 8;

		if (n == 16)
			hchacha_16(subkeys, key, nonces, rounds);
		else
			hchacha_some(subkeys, key, nonces, n, rounds);
		subkeys += n;
		nonces += n * HCHACHA_NONCE;
		count -= n;
	}
}
