/* The engine for ARM without NEON. */
#include "cipher/arm/arm.h"

const struct adiantum_engine engine_scalar = {
	.name = "scalar",
	.group = ENGINE_GROUP,
	.chacha = scalar_chacha,
	.hchacha = scalar_hchacha,
	.nh = nh_scalar,
	.poly1305 = poly1305_arm,
};
