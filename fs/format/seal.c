#include "fs/format/seal.h"

#include <errno.h>
#include <string.h>

#include <openssl/crypto.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is little-endian, and so must the machine be");

static const char tweak_kinds[][8] = {
	[TWEAK_DATA] = "DATA",   [TWEAK_HEAD] = "HEAD",
	[TWEAK_DIR] = "DIR",     [TWEAK_NAME] = "NAME",
	[TWEAK_LINK] = "LINK",   [TWEAK_XNAME] = "XNAME",
	[TWEAK_XVALUE] = "XVALUE", [TWEAK_SLOT] = "SLOT",
};

void tweak_make(uint8_t tweak[TWEAK_SIZE], const uint8_t id[ID_SIZE],
                uint64_t index, enum tweak_kind kind)
{
	memcpy(tweak, id, ID_SIZE);
	memcpy(tweak + 16, &index, 8);
	memcpy(tweak + 24, tweak_kinds[kind], 8);
}

void trailer_make(uint8_t trailer[SEAL_TRAILER], size_t size)
{
	memset(trailer, 0, SEAL_TRAILER);
	trailer[0] = size & 0xff;
	trailer[1] = size >> 8;
}

int trailer_check(const uint8_t trailer[SEAL_TRAILER], size_t place)
{
	static const uint8_t zeros[SEAL_TRAILER - 2];
	size_t size = trailer[0] | (size_t)trailer[1] << 8;

	if (CRYPTO_memcmp(trailer + 2, zeros, sizeof(zeros)) || size > place)
		return -EBADMSG;
	return (int)size;
}

int seal(const struct adiantum_key *key, const uint8_t tweak[TWEAK_SIZE],
         uint8_t *out, const void *payload, size_t size, size_t place)
{
	if (size > place || place > UINT16_MAX)
		return -EINVAL;
	memmove(out, payload, size);
	memset(out + size, 0, place - size);
	trailer_make(out + place, size);
	return adiantum_encrypt(key, tweak, TWEAK_SIZE, out, out,
	                        place + SEAL_TRAILER);
}

int seal_open(const struct adiantum_key *key, const uint8_t tweak[TWEAK_SIZE],
              uint8_t *out, size_t *size, const uint8_t *in, size_t place)
{
	int n = adiantum_decrypt(key, tweak, TWEAK_SIZE, out, in,
	                         place + SEAL_TRAILER);

	if (!n)
		n = trailer_check(out + place, place);
	if (n < 0) {
		OPENSSL_cleanse(out, place + SEAL_TRAILER);
		return n;
	}
	*size = (size_t)n;
	return 0;
}
