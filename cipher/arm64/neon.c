/* The engine `neon` of AArch64, where every CPU has NEON. */
#include <string.h>

#include "cipher/arm64/chacha_neon.h"
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

/* memcpy of less than a block, without a call. */
static inline void copy(uint8_t *to, const uint8_t *from, size_t size)
{
	if (size & 32) {
		memcpy(to, from, 32);
		to += 32;
		from += 32;
	}
	if (size & 16) {
		memcpy(to, from, 16);
		to += 16;
		from += 16;
	}
	if (size & 8) {
		memcpy(to, from, 8);
		to += 8;
		from += 8;
	}
	for (size &= 7; size; size--)
		*to++ = *from++;
}

/* As the engine's chacha, of a byte or more, but that the counter's lower word
 * does not wrap and the counter stays. */
static void chacha(const uint32_t state[CHACHA_STATE_WORDS], int rounds,
                   uint8_t *dst, const uint8_t *src, size_t size)
{
	neon_chacha_blocks *blocks = rounds == 12 ? neon_chacha12_blocks
	                                          : neon_chacha20_blocks;
	size_t count = (size + CHACHA_BLOCK - 1) / CHACHA_BLOCK;
	size_t fives = count < 9 ? 0 : (count - 4) / 5;
	size_t tail = size % CHACHA_BLOCK, whole = size - tail;
	uint8_t last[CHACHA_BLOCK];

	if (!tail) {
		blocks(state, dst, src, fives, count - 5 * fives, NULL);
		return;
	}
	copy(last, src + whole, tail);
	blocks(state, dst, src, fives, count - 5 * fives, last);
	copy(dst + whole, last, tail);
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
	.nh = nh_neon,
};
