/* NH with AVX2. */
#include "cipher/x86/nh_256.h"

void nh_avx2(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT, at = 0;
		const uint32_t *k = key->swapped;
		struct nh_256 nh;

		nh_256_begin(&nh);
		for (; at + NH_256 <= n; at += NH_256, k += NH_256 / 4)
			nh_256_take(&nh, message + at, k);
		if (at < n)
			nh_256_take_half(&nh, message + at, k);
		nh_256_end(*sums, &nh);
		sums++;
		message += n;
		size -= n;
	}
}
