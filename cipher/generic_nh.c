/* NH in portable C. */
#include "cipher/generic.h"

/*
 * Pass p hashes with the key moved on by p strides. Each stride of the message
 * gives two products of 32-bit sums, of its words 0 and 2 and 1 and 3.
 */
void generic_nh(uint64_t (*sums)[NH_PASSES], const uint32_t *key,
                const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT;
		const uint8_t *end = message + n;
		const uint32_t *k = key;
		uint64_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

		for (; message < end; message += NH_STRIDE) {
			const uint32_t m0 = load32(message);
			const uint32_t m1 = load32(message + 4);
			const uint32_t m2 = load32(message + 8);
			const uint32_t m3 = load32(message + 12);

			s0 += (uint64_t)(m0 + k[0]) * (uint32_t)(m2 + k[2]);
			s1 += (uint64_t)(m0 + k[4]) * (uint32_t)(m2 + k[6]);
			s2 += (uint64_t)(m0 + k[8]) * (uint32_t)(m2 + k[10]);
			s3 += (uint64_t)(m0 + k[12]) * (uint32_t)(m2 + k[14]);
			s0 += (uint64_t)(m1 + k[1]) * (uint32_t)(m3 + k[3]);
			s1 += (uint64_t)(m1 + k[5]) * (uint32_t)(m3 + k[7]);
			s2 += (uint64_t)(m1 + k[9]) * (uint32_t)(m3 + k[11]);
			s3 += (uint64_t)(m1 + k[13]) * (uint32_t)(m3 + k[15]);
			k += NH_STRIDE_WORDS;
		}
		(*sums)[0] = s0;
		(*sums)[1] = s1;
		(*sums)[2] = s2;
		(*sums)[3] = s3;
		sums++;
		size -= n;
	}
}
