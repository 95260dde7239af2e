#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/evp.h>

#include "cipher/reference.h"

static void need(int ok)
{
	if (!ok)
		abort();
}

static void quarter_round(uint32_t *x, int a, int b, int c, int d)
{
	static const int amount[4] = { 16, 12, 8, 7 };

	for (int i = 0; i < 4; i++) {
		int to = i % 2 ? c : a, by = i % 2 ? d : b, mix = i % 2 ? b : d;

		x[to] += x[by];
		x[mix] ^= x[to];
		x[mix] = x[mix] << amount[i] | x[mix] >> (32 - amount[i]);
	}
}

static void permute(uint32_t x[16], int rounds)
{
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 4; i++)
			if (round % 2 == 0)
				quarter_round(x, i, 4 + i, 8 + i, 12 + i);
			else
				quarter_round(x, i, 4 + (i + 1) % 4,
				              8 + (i + 2) % 4,
				              12 + (i + 3) % 4);
}

static void set_up(uint32_t x[16], const uint8_t *key, const void *last)
{
	memcpy(x, "expand 32-byte k", 16);
	memcpy(x + 4, key, 32);
	memcpy(x + 12, last, 16);
}

void reference_chacha(const uint8_t key[32], uint64_t nonce, uint64_t counter,
                      int rounds, uint8_t *dst, const uint8_t *src, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		static _Thread_local uint32_t x[16];

		if (at % 64 == 0) {
			uint64_t last[2] = { counter + at / 64, nonce };
			uint32_t start[16];

			set_up(start, key, last);
			memcpy(x, start, sizeof(x));
			permute(x, rounds);
			for (int i = 0; i < 16; i++)
				x[i] += start[i];
		}
		dst[at] = src[at] ^ ((uint8_t *)x)[at % 64];
	}
}

void reference_hchacha(const uint8_t key[32], const uint8_t nonce[16],
                       int rounds, uint8_t subkey[32])
{
	uint32_t x[16];

	set_up(x, key, nonce);
	permute(x, rounds);
	memcpy(subkey, x, 16);
	memcpy(subkey + 16, x + 12, 16);
}

static uint32_t word(const uint8_t *bytes, size_t index)
{
	uint32_t w;

	memcpy(&w, bytes + 4 * index, 4);
	return w;
}

void reference_nh(const uint8_t *key, const uint8_t *message, size_t size,
                  uint8_t hash[32])
{
	for (size_t pass = 0; pass < 4; pass++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < size / 4; i += 4) {
			for (size_t j = i; j < i + 2; j++) {
				uint32_t a = word(message, j) +
				             word(key, 4 * pass + j);
				uint32_t b = word(message, j + 2) +
				             word(key, 4 * pass + j + 2);

				sum += (uint64_t)a * b;
			}
		}
		memcpy(hash + 8 * pass, &sum, 8);
	}
}

void reference_poly1305(const uint8_t key[16], const uint8_t *message,
                        size_t size, uint8_t hash[16])
{
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *p = BN_new(), *r = BN_new(), *h = BN_new(), *m = BN_new();
	uint8_t bytes[17];

	need(ctx && p && r && h && m);
	memcpy(bytes, key, 16);
	for (int i = 3; i < 16; i += 4)
		bytes[i] &= 0x0f;
	for (int i = 4; i < 16; i += 4)
		bytes[i] &= 0xfc;
	need(BN_lebin2bn(bytes, 16, r) != NULL);
	need(BN_set_bit(p, 130) && BN_sub_word(p, 5));
	BN_zero(h);

	while (size) {
		size_t n = size < 16 ? size : 16;

		memcpy(bytes, message, n);
		bytes[n] = 1;
		need(BN_lebin2bn(bytes, n + 1, m) != NULL);
		need(BN_add(h, h, m) && BN_mod_mul(h, h, r, p, ctx));
		message += n;
		size -= n;
	}
	need(BN_mask_bits(h, 128) || BN_num_bits(h) <= 128);
	need(BN_bn2lebinpad(h, hash, 16) == 16);
	BN_free(p);
	BN_free(r);
	BN_free(h);
	BN_free(m);
	BN_CTX_free(ctx);
}

/* a + sign * b modulo 2^128, byte by byte */
static void sum(uint8_t *a, const uint8_t *b, int sign)
{
	int carry = 0;

	for (int i = 0; i < 16; i++) {
		int v = a[i] + sign * b[i] + carry;

		a[i] = v & 0xff;
		carry = v < 0 ? -1 : v >> 8;
	}
}

static void aes(const uint8_t *key, uint8_t *block)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	need(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_256_ecb(), NULL, key, NULL));
	need(EVP_EncryptUpdate(ctx, block, &n, block, 16) && n == 16);
	EVP_CIPHER_CTX_free(ctx);
}

static void hash(const uint8_t *poly_key, const uint8_t *nh_key,
                 const uint8_t *message, size_t size, uint8_t out[16])
{
	size_t units = (size + 1023) / 1024;
	uint8_t *padded = calloc(units, 1024), *sums = malloc(units * 32 + 1);

	need(sums && (padded || !units));
	if (size)
		memcpy(padded, message, size);
	for (size_t i = 0; i < units; i++) {
		size_t n = i + 1 < units ? 1024 :
		                           (size - 1024 * i + 15) / 16 * 16;

		reference_nh(nh_key, padded + 1024 * i, n, sums + 32 * i);
	}
	reference_poly1305(poly_key, sums, units * 32, out);
	free(padded);
	free(sums);
}

void reference_adiantum(const uint8_t key[32], int rounds, const uint8_t *tweak,
                        size_t tweak_size, uint8_t *dst, const uint8_t *src,
                        size_t size)
{
	const uint8_t first_nonce[16] = { 1 };
	uint8_t keys[32 + 16 + 16 + 1072] = { 0 };
	const uint8_t *k_t = keys + 32, *k_m = k_t + 16, *k_n = k_m + 16;
	uint8_t subkey[32], tweak_hash[16], left_hash[16], middle[16];
	size_t left = size - 16;
	uint64_t bits = 8 * left;
	uint8_t *header = calloc(1, 16 + tweak_size);

	need(header != NULL);
	reference_hchacha(key, first_nonce, rounds, subkey);
	reference_chacha(subkey, 0, 0, rounds, keys, keys, sizeof(keys));

	memcpy(header, &bits, 8);
	if (tweak_size)
		memcpy(header + 16, tweak, tweak_size);
	reference_poly1305(k_t, header, 16 + tweak_size, tweak_hash);
	free(header);

	memcpy(middle, src + left, 16);
	hash(k_m, k_n, src, left, left_hash);
	sum(middle, tweak_hash, 1);
	sum(middle, left_hash, 1);
	aes(keys, middle);

	reference_hchacha(key, middle, rounds, subkey);
	reference_chacha(subkey, 1, 0, rounds, dst, src, left);
	hash(k_m, k_n, dst, left, left_hash);
	sum(middle, tweak_hash, -1);
	sum(middle, left_hash, -1);
	memcpy(dst + left, middle, 16);
}
