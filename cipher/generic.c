#include "cipher/generic.h"

const struct adiantum_engine engine_generic = {
	.name = "generic",
	.chacha = generic_chacha,
	.hchacha = generic_hchacha,
	.nh = generic_nh,
};
