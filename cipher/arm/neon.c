/* The NEON engines for ARMv7 and for ARMv8 in 32-bit mode. */
#include <sys/auxv.h>

#include <asm/hwcap.h>

#include "cipher/arm/arm.h"

_Static_assert(offsetof(struct poly1305_key, residues) == 16 &&
               offsetof(struct poly1305_residues, top) == 640,
               "poly1305_neon.S knows where these are");

static bool usable(void)
{
	return getauxval(AT_HWCAP) & HWCAP_NEON;
}

/*
 * Cores of ARMv8 do integer instructions beside NEON's, those of ARMv7 that are
 * still met do not (Cortex-A7), or not many. All ARMv8 cores that were made have
 * the CRC instructions; where cores of a machine differ, they are of one
 * architecture.
 */
static bool armv8(void)
{
	return usable() && getauxval(AT_HWCAP2) & HWCAP2_CRC32;
}

static bool armv7(void)
{
	return usable() && !armv8();
}

/*
 * As many as bit-sliced AES takes at once; HChaCha takes four. Eight sectors of
 * 4096 bytes fill a first-level cache of 32 KiB, so that the second pass over
 * them finds some in the second level only, which costs about what AES gains;
 * smaller messages gain more.
 */
enum { MESSAGES = 8 };

const struct adiantum_engine engine_neon = {
	.name = "neon",
	.usable = usable,
	.group = MESSAGES,
	.chacha = neon_chacha,
	.hchacha = neon_hchacha,
	.nh = nh_neon,
	.nh_two = nh_neon_two,
	.poly1305 = neon_poly1305,
};

/* A rotation by 8 bits as two shifts, for cores that look up slowly. */
const struct adiantum_engine engine_neon_sri = {
	.name = "neon-sri",
	.usable = usable,
	.group = MESSAGES,
	.chacha = neon_sri_chacha,
	.hchacha = neon_sri_hchacha,
	.nh = nh_neon,
	.nh_two = nh_neon_two,
	.poly1305 = neon_poly1305,
};

/* An integer block beside four with NEON: the first choice where the CPU does
 * both at once, and one of the others elsewhere. */
#define MIXED(identifier, condition)                                           \
	const struct adiantum_engine identifier = {                            \
		.name = "neon-mixed",                                          \
		.usable = condition,                                           \
		.group = MESSAGES,                                             \
		.chacha = neon_mixed_chacha,                                   \
		.hchacha = neon_sri_hchacha,                                   \
		.nh = nh_neon,                                                 \
		.nh_two = nh_neon_two,                                         \
		.poly1305 = neon_poly1305,                                     \
	}

MIXED(engine_neon_mixed_first, armv8);
MIXED(engine_neon_mixed_later, armv7);
