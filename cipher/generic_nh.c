/* NH in portable C. */
#include "cipher/generic.h"

/*
 * Pass p hashes with the key moved on by p strides. Each stride of the message
 * gives two products of 32-bit sums, of its words 0 and 2 and 1 and 3.
 */
void generic_nh_strides(uint64_t sum[NH_PASSES], const uint32_t *k,
                        const uint8_t *message, size_t size)
{
	const uint8_t *end = message + size;
	uint64_t s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];

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
	sum[0] = s0;
	sum[1] = s1;
	sum[2] = s2;
	sum[3] = s3;
}

void generic_nh(uint64_t (*sums)[NH_PASSES], const struct nh_key *key,
                const uint8_t *message, size_t size)
{
	while (size) {
		size_t n = size < NH_UNIT ? size : NH_UNIT;

		memset(*sums, 0, sizeof(*sums));
		generic_nh_strides(*sums, key->words, message, n);
		sums++;
		message += n;
		size -= n;
	}
}
