/*
 * Calls of the engines' kernels that see to it that what a function must leave
 * alone was left alone: the registers that it has to give back (patterns are in
 * them), the stack pointer, the caller's part of the stack, and the control
 * registers of floating point. Each gives NULL, or what was broken.
 *
 * Integers below 64 bits get garbage in the upper half of their register, which
 * the 64-bit ABIs allow a caller to leave there.
 */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#include "cipher/engine.h"

/* Are registers watched on this machine? */
int abi_watched(void);

const char *call_chacha(const struct adiantum_engine *engine,
                        uint32_t state[CHACHA_STATE_WORDS], int rounds,
                        uint8_t *dst, const uint8_t *src, size_t size);
const char *call_hchacha(const struct adiantum_engine *engine,
                         uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                         const uint32_t key[CHACHA_KEY_WORDS],
                         const uint8_t *nonces, size_t count, int rounds);
const char *call_nh(const struct adiantum_engine *engine,
                    uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                    const uint8_t *message, size_t size);
const char *call_chacha_nh(const struct adiantum_engine *engine,
                           uint32_t state[CHACHA_STATE_WORDS], int rounds,
                           uint8_t *dst, const uint8_t *src, size_t size,
                           uint64_t (*sums)[NH_PASSES],
                           const struct nh_key *key);
/* The engine must have these, and the one before. */
const char *call_nh_two(const struct adiantum_engine *engine,
                        uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                        const uint8_t *a, const uint8_t *b, size_t size);
const char *call_poly1305(const struct adiantum_engine *engine,
                          struct poly1305_state *state,
                          const struct poly1305_key *key,
                          const uint8_t *blocks, size_t count, uint32_t top);

/* To test the watch itself: call what breaks the n-th thing that is watched, from
 * 1 on. Gives its name, and what is said of it; NULL where there are no more. */
const char *abi_broken(int n, const char **said);

/* In a test of greatest: make the call and fail where it broke something. */
#define CALL(call)                                                             \
	do {                                                                   \
		const char *broken = (call);                                   \
                                                                               \
		if (broken)                                                    \
			FAILm(broken);                                         \
	} while (0)

#endif
