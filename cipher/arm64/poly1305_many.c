/* Poly1305 on arm64: where a message begins, several blocks at once. */
#include <stdbool.h>

#include "cipher/arm64/poly1305_many.h"

_Static_assert(offsetof(struct poly1305_residues, top) == 640,
               "poly1305_neon.S knows where these are");

void poly1305_neon_sum(struct poly1305_state *state,
                       const struct poly1305_residues *residues,
                       const uint8_t *blocks, size_t count);

static __attribute__((noinline)) void
many(struct poly1305_state *state, const struct poly1305_key *key,
     const uint8_t *blocks, size_t count)
{
	poly1305_neon_sum(state, &key->residues, blocks, POLY1305_POWERS);
	poly1305_blocks(state, key, blocks + POLY1305_POWERS * POLY1305_BLOCK,
	                count - POLY1305_POWERS, 1);
}

void neon_poly1305(struct poly1305_state *state, const struct poly1305_key *key,
                   const uint8_t *blocks, size_t count, uint32_t top)
{
	/* This tells nothing of the message: a sum of one or more blocks is 0
	 * for one key in 2^100. */
	const bool fresh = !(state->h[0] | state->h[1] | state->h[2]);

	/* One block would gain nothing. */
	if (count < 2 || !top || !fresh)
		poly1305_blocks(state, key, blocks, count, top);
	else if (count <= POLY1305_POWERS)
		poly1305_neon_sum(state, &key->residues, blocks, count);
	else
		many(state, key, blocks, count);
}
