/* NH with AVX-512. */
#include "cipher/x86/nh_512.h"

void nh_avx512(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
               const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT, at = 0;
		const uint32_t *k = key->swapped;
		struct nh_512 nh;

		nh_512_begin(&nh);
		for (; at + NH_512 <= n; at += NH_512, k += NH_512 / 4)
			nh_512_take(&nh, _mm512_loadu_si512(message + at), k);
		if (at < n) {
			__mmask8 mask = (1 << (n - at) / 8) - 1;

			nh_512_take_some(&nh,
			                 _mm512_maskz_loadu_epi64(mask,
			                                          message + at),
			                 k, n - at);
		}
		nh_512_end(*sums, &nh);
		sums++;
		message += n;
		size -= n;
	}
}
