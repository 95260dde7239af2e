/* The engine for ARM without NEON. */
#include "cipher/arm/arm.h"
#include "cipher/generic.h"

const struct adiantum_engine engine_scalar = {
	.name = "scalar",
	.group = ENGINE_GROUP,
	.chacha = scalar_chacha,
	.hchacha = scalar_hchacha,
	.nh = generic_nh,
};
void scalar_chacha(uint32_t state[CHACHA_STATE_WORDS], int rounds, uint8_t *dst,
                   const uint8_t *src, size_t size)
{
	generic_chacha(state, rounds, dst, src, size);
}
void scalar_hchacha(uint32_t (*subkeys)[CHACHA_KEY_WORDS],
                    const uint32_t key[CHACHA_KEY_WORDS], const uint8_t *nonces,
                    size_t count, int rounds)
{
	generic_hchacha(subkeys, key, nonces, count, rounds);
}
