/* NH with SSE2, which every x86-64 has. */
#include "cipher/x86/nh_128.h"

void nh_sse2(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
             const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT;
		struct nh_128 nh;

		nh_128_begin(&nh);
		for (size_t at = 0; at < n; at += NH_STRIDE)
			nh_128_take(&nh, message + at, key->swapped + at / 4);
		nh_128_end(*sums, &nh);
		sums++;
		message += n;
		size -= n;
	}
}
