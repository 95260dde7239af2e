/*
 * The engines for x86-64. This file is built for every CPU of that kind: it
 * asks what the CPU and the system offer. The compiler's own check covers both:
 * registers of 256 and 512 bits count only where the system saves them.
 */
#include "cipher/generic.h"
#include "cipher/x86/x86.h"

static bool ssse3_usable(void)
{
	return __builtin_cpu_supports("ssse3");
}

static bool avx2_usable(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static bool avx512_usable(void)
{
	return avx2_usable() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq");
}

/*
 * Groups: 16 fill a register in HChaCha, and AES and HChaCha of a group cost
 * less than a fiftieth of it. 8 and 12 are slower by a fiftieth, 32 are not
 * faster; that a group of 64 KiB does not fit the first-level cache costs less
 * than that, as messages are read in order.
 */
const struct adiantum_engine engine_avx512 = {
	.name = "avx512",
	.usable = avx512_usable,
	.group = 16,
	.chacha = chacha_avx512,
	.chacha_nh = chacha_nh_avx512,
	.hchacha = hchacha_avx512,
	.nh = nh_avx512,
	.poly1305 = poly1305_avx512,
};

const struct adiantum_engine engine_avx2 = {
	.name = "avx2",
	.usable = avx2_usable,
	.group = 16,
	.chacha = chacha_avx2,
	.chacha_nh = chacha_nh_avx2,
	.hchacha = hchacha_avx2,
	.nh = nh_avx2,
	.poly1305 = poly1305_avx2,
};

/* Lanes of 64 bits are only two here: for Poly1305 integer registers do. */
const struct adiantum_engine engine_ssse3 = {
	.name = "ssse3",
	.usable = ssse3_usable,
	.group = 8,
	.chacha = chacha_ssse3,
	.chacha_nh = chacha_nh_ssse3,
	.hchacha = hchacha_ssse3,
	.nh = nh_sse2,
};

/* The first CPUs of the kind. The compiler makes as much of ChaCha with SSE2 as
 * there is to be made; NH it leaves in integer registers. */
const struct adiantum_engine engine_sse2 = {
	.name = "sse2",
	.group = 8,
	.chacha = generic_chacha,
	.hchacha = generic_hchacha,
	.nh = nh_sse2,
};
