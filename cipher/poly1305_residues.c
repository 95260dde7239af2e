/* What words of blocks are multiplied by, several blocks at once. */
#include <openssl/crypto.h>

#include "cipher/poly1305.h"

#ifdef POLY1305_RESIDUES

enum { MASK26 = (1 << 26) - 1 };

/* The limbs of h, wholly reduced. */
static void limbs(uint32_t limb[5], const struct poly1305_state *state)
{
	const uint64_t *h = state->h;
	uint64_t g0 = h[0] + 5;
	uint64_t g1 = h[1] + (g0 < 5);
	uint64_t g2 = h[2] + (g1 < h[1]);
	uint64_t reduce = -(g2 >> 2 & 1); /* h + 5 reaches 2^130 */
	uint64_t lo = (h[0] & ~reduce) | (g0 & reduce);
	uint64_t mid = (h[1] & ~reduce) | (g1 & reduce);
	uint64_t hi = (h[2] & ~reduce) | (g2 & 3 & reduce);

	limb[0] = lo & MASK26;
	limb[1] = lo >> 26 & MASK26;
	limb[2] = (lo >> 52 | mid << 12) & MASK26;
	limb[3] = mid >> 14 & MASK26;
	limb[4] = mid >> 40 | hi << 24;
}

void poly1305_residues_init(struct poly1305_key *key)
{
	static const uint8_t zeros[POLY1305_BLOCK];
	struct poly1305_residues *out = &key->residues;
	struct poly1305_state state;
	uint32_t limb[5];

	for (int j = 0; j <= 4; j++) {
		memset(&state, 0, sizeof(state));
		state.h[j / 2] = 1ULL << (j % 2 * 32);
		for (int k = 1; k <= POLY1305_POWERS; k++) {
			/* A block of zeros without the bit above multiplies
			 * by r. */
			poly1305_blocks(&state, key, zeros, 1, 0);
			limbs(limb, &state);
			for (int i = 0; i < 5 && j < 4; i++)
				out->word[POLY1305_POWERS - k][j / 2][i][j % 2] =
					limb[i];
			for (int i = 0; i < 5 && j == 4; i++)
				out->top[k - 1][i] = limb[i] +
					(k > 1 ? out->top[k - 2][i] : 0);
		}
	}
	OPENSSL_cleanse(&state, sizeof(state));
	OPENSSL_cleanse(limb, sizeof(limb));
}

#endif
