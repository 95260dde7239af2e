/* NHPoly1305: NH over units of a message, Poly1305 over what NH gives. */
#include <openssl/crypto.h>

#include "cipher/engine.h"
#include "cipher/generic.h"
#include "cipher/nh.h"

typedef uint64_t nh_sums[NH_PASSES];

void nh_key_init(struct nh_key *key, const uint8_t bytes[NH_KEY_SIZE])
{
	memcpy(key->words, bytes, NH_KEY_SIZE);
	for (int i = 0; i < NH_KEY_WORDS; i += NH_STRIDE_WORDS) {
		key->swapped[i] = key->words[i];
		key->swapped[i + 1] = key->words[i + 2];
		key->swapped[i + 2] = key->words[i + 1];
		key->swapped[i + 3] = key->words[i + 3];
	}
}

/* Compilers cannot leave it out; inline, as most pieces are short. */
static inline void sums_wipe(nh_sums *sums, size_t units)
{
	for (size_t i = 0; i < units; i++)
		for (int pass = 0; pass < NH_PASSES; pass++)
			sums[i][pass] = 0;
	__asm__ volatile("" : : "r"(sums) : "memory");
}

/*
 * The end of a piece that is no whole stride is padded and hashed alone, with
 * the key words that are its turn: NH is a sum over strides. `whole` bytes are
 * already in the sums.
 */
static __attribute__((noinline)) void
nh_finish(nh_sums *sums, const struct nh_key *key, const uint8_t *message,
          size_t whole, size_t size)
{
	size_t in_unit = whole % NH_UNIT;
	uint8_t last[NH_STRIDE] = { 0 };
	nh_sums sum = { 0 };

	memcpy(last, message + whole, size - whole);
	generic_nh_strides(sum, key->words + in_unit / sizeof(uint32_t), last,
	                   sizeof(last));
	sums += whole / NH_UNIT;
	for (int pass = 0; pass < NH_PASSES; pass++)
		sums[0][pass] = in_unit ? sums[0][pass] + sum[pass] : sum[pass];
	OPENSSL_cleanse(last, sizeof(last));
	OPENSSL_cleanse(sum, sizeof(sum));
}

/* A piece is `whole` bytes of whole strides, and what is less than one. */
static inline size_t strides_size(size_t size)
{
	return size & ~(size_t)(NH_STRIDE - 1);
}

/* Into the polynomial with the sums of a piece, of which those of whole strides
 * are known. */
static inline void sums_done(const struct adiantum_engine *engine,
                             const struct nhpoly1305_key *key,
                             struct poly1305_state *state, nh_sums *sums,
                             const uint8_t *message, size_t size)
{
	size_t whole = strides_size(size);
	size_t units = (size + NH_UNIT - 1) / NH_UNIT;

	if (whole != size)
		nh_finish(sums, &key->nh, message, whole, size);
	engine_poly1305(engine, state, &key->poly, (const uint8_t *)sums,
	                units * (NH_HASH / POLY1305_BLOCK), 1);
	sums_wipe(sums, units);
}

static inline size_t piece_size(size_t left)
{
	return left < NHPOLY1305_PIECE ? left : NHPOLY1305_PIECE;
}

struct le128 nhpoly1305(const struct adiantum_engine *engine,
                        const struct nhpoly1305_key *key,
                        const uint8_t *message, size_t size)
{
	struct poly1305_state state = { 0 };
	nh_sums sums[NHPOLY1305_UNITS];

	while (size) {
		size_t n = piece_size(size);

		engine->nh(sums, &key->nh, message, strides_size(n));
		sums_done(engine, key, &state, sums, message, n);
		message += n;
		size -= n;
	}
	return poly1305_finish(&state);
}

void nhpoly1305_two(const struct adiantum_engine *engine,
                    const struct nhpoly1305_key *key, struct le128 hashes[2],
                    const uint8_t *a, const uint8_t *b, size_t size)
{
	nh_sums sums[2];

	engine->nh_two(sums, &key->nh, a, b, size);
	for (int i = 0; i < 2; i++) {
		struct poly1305_state state = { 0 };

		engine_poly1305(engine, &state, &key->poly,
		                (const uint8_t *)sums[i],
		                NH_HASH / POLY1305_BLOCK, 1);
		hashes[i] = poly1305_finish(&state);
	}
	sums_wipe(sums, 2);
}

struct le128 nhpoly1305_stream(const struct adiantum_engine *engine,
                               const struct nhpoly1305_key *key,
                               uint32_t *chacha_state, int rounds, uint8_t *dst,
                               const uint8_t *src, size_t size, size_t beyond)
{
	struct poly1305_state state = { 0 };
	nh_sums sums[NHPOLY1305_UNITS];

	while (size) {
		size_t n = piece_size(size);

		if (engine->chacha_nh && strides_size(n) == n) {
			engine->chacha_nh(chacha_state, rounds, dst, src, n,
			                  sums, &key->nh);
		} else {
			engine->chacha(chacha_state, rounds, dst, src,
			               n == size ? n + beyond : n);
			engine->nh(sums, &key->nh, dst, strides_size(n));
		}
		sums_done(engine, key, &state, sums, dst, n);
		dst += n;
		src += n;
		size -= n;
	}
	return poly1305_finish(&state);
}
