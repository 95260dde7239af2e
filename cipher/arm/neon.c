/* The NEON engines for ARMv7 and for ARMv8 in 32-bit mode. */
#include <sys/auxv.h>

#include <asm/hwcap.h>

#include "cipher/arm/arm.h"

static bool usable(void)
{
	return getauxval(AT_HWCAP) & HWCAP_NEON;
}

/*
 * Groups of four sectors of 4096 bytes, each read twice, are half of a first-
 * level cache of 32 KiB; and four subkeys are made at once.
 */
enum { MESSAGES = 4 };

const struct adiantum_engine engine_neon = {
	.name = "neon",
	.usable = usable,
	.group = MESSAGES,
	.chacha = neon_chacha,
	.hchacha = neon_hchacha,
	.nh = nh_neon,
	.poly1305 = poly1305_arm,
};

/* A rotation by 8 bits as two shifts, for cores that look up slowly. */
const struct adiantum_engine engine_neon_sri = {
	.name = "neon-sri",
	.usable = usable,
	.group = MESSAGES,
	.chacha = neon_sri_chacha,
	.hchacha = neon_sri_hchacha,
	.nh = nh_neon,
	.poly1305 = poly1305_arm,
};
