/* The engine `neon` of AArch64, where every CPU has NEON. */
#include <string.h>

#include "cipher/arm64/chacha_neon.h"
#include "cipher/generic.h"

extern const struct adiantum_engine engine_arm64_neon;

/* A memset that the compiler cannot leave out. */
static void wipe(void *p, size_t size)
{
	memset(p, 0, size);
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* As the engine's chacha, but that the counter's lower word does not wrap; the
 * counter stays. */
static void chacha(const uint32_t state[CHACHA_STATE_WORDS], int rounds,
                   uint8_t *dst, const uint8_t *src, size_t size)
{
	neon_chacha_blocks *blocks = rounds == 12 ? neon_chacha12_blocks
	                                          : neon_chacha20_blocks;
	size_t count = (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK;
	size_t fives = count / 5, rest = count % 5;
	size_t whole = size / CHACHA_BLOCK * CHACHA_BLOCK, tail = size - whole;
	uint8_t last[CHACHA_BLOCK];

	if (!tail) {
		blocks(state, dst, src, fives, rest, NULL);
		return;
	}
	if (!rest) {
		fives--;
		rest = 5;
	}
	memcpy(last, src + whole, tail);
	memset(last + tail, 0, sizeof(last) - tail);
	blocks(state, dst, src, fives, rest, last);
	memcpy(dst + whole, last, tail);
	wipe(last, sizeof(last));
}

static void neon_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds,
                        uint8_t *dst, const uint8_t *src, size_t size)
{
	const uint64_t wrap = 1ULL << 32;
	uint64_t count = size / CHACHA_BLOCK + (size % CHACHA_BLOCK != 0);

	if (count > wrap - state[12]) {
		size_t before = (wrap - state[12]) * CHACHA_BLOCK;

		chacha(state, rounds, dst, src, before);
		state[12] = 0;
		state[13]++;
		neon_chacha(state, rounds, dst + before, src + before,
		            size - before);
		return;
	}
	if (size)
		chacha(state, rounds, dst, src, size);
	count += state[12];
	state[12] = (uint32_t)count;
	state[13] += count >> 32;
}

static void neon_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds)
{
	/* By the number of nonces: one is 300 cycles (Cortex-A53, 12 rounds),
	 * four or five are 720. */
	static neon_hchacha_group *const groups[2][3] = {
		{ neon_hchacha12_1, neon_hchacha12_4, neon_hchacha12_5 },
		{ neon_hchacha20_1, neon_hchacha20_4, neon_hchacha20_5 },
	};
	neon_hchacha_group *const *group = groups[rounds == 20];
	uint32_t base[4 + CHACHA_KEY_WORDS];

	memcpy(base, chacha_constants, sizeof(chacha_constants));
	memcpy(base + 4, key, 4 * CHACHA_KEY_WORDS);
	while (count) {
		size_t which = count >= 5 ? 2 : count == 4;
		size_t n = which ? which + 3 : 1;

		group[which](subkeys, base, nonces);
		subkeys += n;
		nonces += n * HCHACHA_NONCE;
		count -= n;
	}
	wipe(base, sizeof(base));
}

const struct adiantum_engine engine_arm64_neon = {
	.name = "neon",
	.group = 5,
	.chacha = neon_chacha,
	.hchacha = neon_hchacha,
	.nh = generic_nh,
};
