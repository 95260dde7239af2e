/* The engine `neon` of AArch64, where every CPU has NEON. */
#include <string.h>

#include "cipher/arm64/chacha_neon.h"
#include "cipher/arm64/poly1305_many.h"
#include "cipher/engine.h"

extern const struct adiantum_engine engine_arm64_neon;

void nh_neon(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size);

/* A memset that the compiler cannot leave out. */
static void wipe(void *p, size_t size)
{
	memset(p, 0, size);
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* Where the counter's lower word wraps, the upper one goes on. */
static __attribute__((noinline)) void
chacha_wrap(uint32_t state[CHACHA_STATE_WORDS], neon_chacha_stream *stream,
            uint8_t *dst, const uint8_t *src, uint64_t size)
{
	uint64_t before = ((1ULL << 32) - state[12]) * CHACHA_BLOCK, counter;

	while (size > before) {
		stream(state, dst, src, before);
		state[12] = 0;
		state[13]++;
		dst += before;
		src += before;
		size -= before;
		before = CHACHA_BLOCK * (1ULL << 32);
	}
	stream(state, dst, src, size);
	counter = state[12] + (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK;
	state[12] = (uint32_t)counter;
	state[13] += counter >> 32;
}

static void neon_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                        uint8_t *dst, const uint8_t *src, size_t size)
{
	neon_chacha_stream *stream = rounds == 12 ? neon_chacha12_stream
	                                          : neon_chacha20_stream;
	uint64_t blocks = size / CHACHA_BLOCK + (size % CHACHA_BLOCK != 0);

	if (!size)
		return;
	if (state[12] + blocks > UINT32_MAX) {
		chacha_wrap(state, stream, dst, src, size);
		return;
	}
	stream(state, dst, src, size);
	state[12] += blocks;
}

/* Three subkeys, as the first of four. */
static __attribute__((noinline)) void
hchacha_three(neon_hchacha_group *four, uint32_t (*subkeys)[CHACHA_KEY_WORDS],
              const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces)
{
	uint32_t out[4][CHACHA_KEY_WORDS] = { 0 };

	memcpy(out, nonces, 3 * HCHACHA_NONCE);
	four(out, key, (uint8_t *)out);
	memcpy(subkeys, out, 3 * sizeof(out[0]));
	wipe(out, sizeof(out));
}

/* One takes 300 cycles of a Cortex-A53 (12 rounds), four or five take 720: so
 * two are done one by one. */
static void neon_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds)
{
	static const struct hchacha_groups {
		neon_hchacha_group *one, *four, *five;
	} groups[2] = {
		{ neon_hchacha12_1, neon_hchacha12_4, neon_hchacha12_5 },
		{ neon_hchacha20_1, neon_hchacha20_4, neon_hchacha20_5 },
	};
	const struct hchacha_groups *group = &groups[rounds == 20];

	for (; count >= 5; count -= 5) {
		group->five(subkeys, key, nonces);
		subkeys += 5;
		nonces += 5 * HCHACHA_NONCE;
	}
	if (count == 4) {
		group->four(subkeys, key, nonces);
	} else if (count == 3) {
		hchacha_three(group->four, subkeys, key, nonces);
	} else if (count) {
		group->one(subkeys, key, nonces);
		if (count == 2)
			group->one(subkeys + 1, key, nonces + HCHACHA_NONCE);
	}
}

const struct adiantum_engine engine_arm64_neon = {
	.name = "neon",
	.group = 5,
	.chacha = neon_chacha,
	.hchacha = neon_hchacha,
	.nh = nh_neon,
	.poly1305 = neon_poly1305,
};
