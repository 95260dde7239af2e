/* Poly1305: key, last block and the final reduction. */
#include <openssl/crypto.h>

#include "cipher/poly1305.h"

void poly1305_key_init(struct poly1305_key *key,
                       const uint8_t bytes[POLY1305_KEY_SIZE])
{
	static const uint8_t zeros[POLY1305_BLOCK];
	const uint32_t mask = (1 << 26) - 1;
	struct poly1305_state state;

	key->r[0] = load64(bytes) & 0x0ffffffc0fffffff;
	key->r[1] = load64(bytes + 8) & 0x0ffffffc0ffffffc;
	key->beyond = 0;
#ifdef POLY1305_RESIDUES
	poly1305_residues_init(key);
#endif

	/* A block of zeros without the bit above it multiplies by r. */
	state = (struct poly1305_state){ { key->r[0], key->r[1], 0 } };
	for (int i = POLY1305_POWERS - 1; i >= 0; i--) {
		const uint64_t *h = state.h;
		const uint32_t limbs[5] = {
			h[0] & mask, h[0] >> 26 & mask,
			(h[0] >> 52 | h[1] << 12) & mask, h[1] >> 14 & mask,
			h[1] >> 40 | h[2] << 24,
		};

		for (int k = 0; k < 5; k++) {
			key->powers[k][i][0] = limbs[k];
			key->powers[k][i][1] = limbs[k] * 5;
		}
		poly1305_blocks(&state, key, zeros, 1, 0);
	}
	OPENSSL_cleanse(&state, sizeof(state));
}

void poly1305_blocks(struct poly1305_state *state,
                     const struct poly1305_key *key, const uint8_t *blocks,
                     size_t count, uint32_t top)
{
#ifdef __SIZEOF_INT128__
	poly1305_blocks_limb64(state, key, blocks, count, top);
#else
	poly1305_blocks_limb26(state, key, blocks, count, top);
#endif
}

void poly1305_last(struct poly1305_state *state,
                   const struct poly1305_key *key, const uint8_t *message,
                   size_t size)
{
	size_t count = size / POLY1305_BLOCK;
	size_t rest = size % POLY1305_BLOCK;
	uint8_t block[POLY1305_BLOCK] = { 0 };

	poly1305_blocks(state, key, message, count, 1);
	if (!rest)
		return;
	memcpy(block, message + count * POLY1305_BLOCK, rest);
	block[rest] = 1;
	poly1305_blocks(state, key, block, 1, 0);
	OPENSSL_cleanse(block, sizeof(block));
}
