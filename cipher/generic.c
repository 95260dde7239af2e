#include "cipher/generic.h"

const struct adiantum_engine engine_generic = {
	.name = "generic",
	.group = ENGINE_GROUP,
	.chacha = generic_chacha,
	.hchacha = generic_hchacha,
	.nh = generic_nh,
};
