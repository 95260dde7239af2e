/* Eight blocks in registers of 256 bits, for the kernels that have those. */
#ifndef CIPHER_X86_CHACHA_8_H
#define CIPHER_X86_CHACHA_8_H

#include <openssl/crypto.h>

#include "cipher/x86/chacha_4.h"
#include "cipher/x86/nh_256.h"

enum { STEP_8 = 8 * CHACHA_BLOCK };

/*
 * AVX2 has no rotation. By 16 and by 8 bits, whole bytes move: one shuffle. The
 * others are two shifts and an OR.
 */
#ifdef __AVX512VL__
#define ROTATE_8(v, n) ((u32x8)_mm256_rol_epi32((__m256i)(v), n))
#else
INLINE u32x8 rotate_8(u32x8 v, int n)
{
	const __m256i by_16 = _mm256_setr_epi8(
		2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13,
		2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
	const __m256i by_8 = _mm256_setr_epi8(
		3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14,
		3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);

	if (n == 16)
		return (u32x8)_mm256_shuffle_epi8((__m256i)v, by_16);
	if (n == 8)
		return (u32x8)_mm256_shuffle_epi8((__m256i)v, by_8);
	return v << n | v >> (32 - n);
}
#define ROTATE_8(v, n) rotate_8(v, n)
#endif

/* A word from memory in all lanes, which is a load and nothing else; compilers
 * tend to go by way of an integer register, which costs two moves more. */
INLINE u32x8 splat_8(const uint32_t *word)
{
	u32x8 v;

	__asm__("vpbroadcastd %1, %0" : "=v"(v) : "m"(*word));
	return v;
}

/* transpose_4 in each half of the registers. */
INLINE void transpose_halves(u32x8 x[4])
{
	__m256i a = _mm256_unpacklo_epi32((__m256i)x[0], (__m256i)x[1]);
	__m256i b = _mm256_unpackhi_epi32((__m256i)x[0], (__m256i)x[1]);
	__m256i c = _mm256_unpacklo_epi32((__m256i)x[2], (__m256i)x[3]);
	__m256i d = _mm256_unpackhi_epi32((__m256i)x[2], (__m256i)x[3]);

	x[0] = (u32x8)_mm256_unpacklo_epi64(a, c);
	x[1] = (u32x8)_mm256_unpackhi_epi64(a, c);
	x[2] = (u32x8)_mm256_unpacklo_epi64(b, d);
	x[3] = (u32x8)_mm256_unpackhi_epi64(b, d);
}

#define LOWER_8(a, b)                                                          \
	((u32x8)_mm256_permute2x128_si256((__m256i)(a), (__m256i)(b), 0x20))
#define UPPER_8(a, b)                                                          \
	((u32x8)_mm256_permute2x128_si256((__m256i)(a), (__m256i)(b), 0x31))

/* From word i of all lanes in x[i], for eight words, make the eight words of
 * lane j in x[j]. */
INLINE void transpose_8(u32x8 x[8])
{
	transpose_halves(x);
	transpose_halves(x + 4);
	/* x[j] now holds words 0 to 3 of the lanes j and j + 4, x[4 + j] their
	 * words 4 to 7. */
	UNROLL for (int j = 0; j < 4; j++) {
		u32x8 low = x[j], high = x[4 + j];

		x[j] = LOWER_8(low, high);
		x[4 + j] = UPPER_8(low, high);
	}
}

/*
 * XOR 32 bytes of keystream, or the `size` that are left. No byte beyond them
 * is touched: a masked load or store of AVX-512 leaves alone what its mask
 * leaves out, and AVX2 works on a copy.
 */
INLINE void xor_32(uint8_t *dst, const uint8_t *src, u32x8 keystream,
                   size_t size)
{
	if (size >= sizeof(keystream)) {
		__m256i text = _mm256_loadu_si256((const __m256i *)src);

		text = _mm256_xor_si256(text, (__m256i)keystream);
		_mm256_storeu_si256((__m256i *)dst, text);
		return;
	}
#ifdef __AVX512VL__
	__mmask32 mask = _bzhi_u32(-1, size);
	__m256i text = _mm256_maskz_loadu_epi8(mask, src);

	text = _mm256_xor_si256(text, (__m256i)keystream);
	_mm256_mask_storeu_epi8(dst, mask, text);
#else
	u32x8 text = { 0 };

	memcpy(&text, src, size);
	text ^= keystream;
	memcpy(dst, &text, size);
#endif
}

/* XOR 512 bytes of keystream, or the `size` that are left. `first` is the state
 * after first_columns. */
INLINE void step_8(const uint32_t state[CHACHA_STATE_WORDS],
                   const uint32_t first[CHACHA_STATE_WORDS], uint32_t counter,
                   int rounds, uint8_t *dst, const uint8_t *src, size_t size,
                   struct nh_256 *nh, const uint32_t *k)
{
	const uint8_t *before = dst - STEP_8;

	const u32x8 counters = (u32x8)_mm256_set1_epi32(counter) +
	                       (u32x8){ 0, 1, 2, 3, 4, 5, 6, 7 };
	u32x8 x[16];

	UNROLL for (int i = 0; i < 16; i++)
		x[i] = i == 12 ? counters : splat_8(&first[i]);
	if (nh)
		ROUNDS_AFTER_FIRST_COLUMNS(
			ROTATE_8, x, rounds,
			(nh_256_take(nh, before, k), before += NH_256,
			 k += NH_256 / 4));
	else
		ROUNDS_AFTER_FIRST_COLUMNS(ROTATE_8, x, rounds, );
	UNROLL for (int i = 0; i < 16; i++)
		x[i] += i == 12 ? counters : splat_8(&state[i]);

	UNROLL for (int half = 0; half < 2; half++) {
		transpose_8(x + 8 * half);
		UNROLL for (int i = 0; i < 8; i++) {
			size_t at = i * CHACHA_BLOCK + half * sizeof(x[0]);

			if (at < size)
				xor_32(dst + at, src + at, x[8 * half + i],
				       size - at);
		}
	}
}

/*
 * Eight subkeys from eight nonces. The nonces are loaded in pairs, and so are
 * not in order in the lanes; the transposition at the end undoes that, as it is
 * the same as the one at the beginning.
 */
INLINE void hchacha_8(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                      const uint32_t key[CHACHA_KEY_WORDS],
                      const uint8_t *nonces, int rounds)
{
	u32x8 x[16];

	UNROLL for (int i = 0; i < 4; i++)
		x[i] = splat_8(&chacha_constants[i]);
	UNROLL for (int i = 0; i < 8; i++)
		x[4 + i] = splat_8(&key[i]);
	memcpy(x + 12, nonces, 8 * HCHACHA_NONCE);
	transpose_halves(x + 12);

	for (int round = 0; round < rounds; round += 2) {
		COLUMN_ROUND(ROTATE_8, x);
		DIAGONAL_ROUND(ROTATE_8, x);
	}

	transpose_halves(x);
	transpose_halves(x + 12);
	UNROLL for (int i = 0; i < 4; i++) {
		u32x8 even = LOWER_8(x[i], x[12 + i]);
		u32x8 odd = UPPER_8(x[i], x[12 + i]);

		memcpy(subkeys[2 * i], &even, sizeof(even));
		memcpy(subkeys[2 * i + 1], &odd, sizeof(odd));
	}
}

/* Fewer subkeys, by way of copies. */
INLINE void hchacha_some(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds)
{
	uint32_t out[8][CHACHA_KEY_WORDS];
	uint8_t in[8 * HCHACHA_NONCE] = { 0 };

	if (count == 8) {
		hchacha_8(subkeys, key, nonces, rounds);
	} else if (count == 1) {
		hchacha_rows(*subkeys, key, nonces, rounds);
	} else if (count) {
		memcpy(in, nonces, count * HCHACHA_NONCE);
		hchacha_8(out, key, in, rounds);
		memcpy(subkeys, out, count * sizeof(*out));
		OPENSSL_cleanse(out, sizeof(out));
	}
}

#endif
