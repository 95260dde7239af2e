#include "fs/format/header.h"

#include <errno.h>
#include <string.h>

static const uint8_t magic[16] = "frondfs\x01";

enum { PAYLOAD = 32 };

int header_seal(const struct adiantum_key *content, const struct header *h,
                uint8_t out[HEADER_SIZE])
{
	uint8_t tweak[TWEAK_SIZE], payload[PAYLOAD] = { 0 };

	memcpy(out, magic, 16);
	memcpy(out + 16, h->id, ID_SIZE);
	memcpy(payload, &h->size, 8);
	memcpy(payload + 8, &h->flags, 4);
	memcpy(payload + 16, h->made_in, ID_SIZE);
	tweak_make(tweak, h->id, 0, TWEAK_HEAD);
	return seal(content, tweak, out + 32, payload, PAYLOAD, PAYLOAD);
}

int header_open(const struct adiantum_key *content, struct header *h,
                const uint8_t in[HEADER_SIZE])
{
	uint8_t tweak[TWEAK_SIZE], payload[PAYLOAD + SEAL_TRAILER];
	uint32_t zeros;
	size_t size;
	int error;

	/* The id also where the rest is wrong: the sectors may still open. */
	memcpy(h->id, in + 16, ID_SIZE);
	if (memcmp(in, magic, 16))
		return -EBADMSG;
	tweak_make(tweak, h->id, 0, TWEAK_HEAD);
	error = seal_open(content, tweak, payload, &size, in + 32, PAYLOAD);
	if (error)
		return error;
	memcpy(&h->size, payload, 8);
	memcpy(&h->flags, payload + 8, 4);
	memcpy(&zeros, payload + 12, 4);
	memcpy(h->made_in, payload + 16, ID_SIZE);
	if (size != PAYLOAD || zeros || h->flags & ~(uint32_t)HEADER_SPARSE ||
	    h->size > PLAIN_SIZE_MAX)
		return -EBADMSG;
	return 0;
}
