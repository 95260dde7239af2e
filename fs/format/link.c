#include "fs/format/link.h"

#include <errno.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "fs/format/base64url.h"

enum { XATTR_SEALED_MAX = XATTR_PLAIN_MAX + SEAL_TRAILER };

static const uint8_t no_id[ID_SIZE];

int value_seal(const struct keys *keys, enum tweak_kind kind, uint64_t index,
               const void *value, size_t size, uint8_t *out)
{
	uint8_t tweak[TWEAK_SIZE];

	if (size > UINT16_MAX)
		return -EINVAL;
	if (RAND_bytes(out, ID_SIZE) != 1)
		return -EIO;
	tweak_make(tweak, out, index, kind);
	return seal(keys->name, tweak, out + ID_SIZE, value, size, size);
}

int value_open(const struct keys *keys, enum tweak_kind kind, uint64_t index,
               const uint8_t *in, size_t size, uint8_t *out)
{
	uint8_t tweak[TWEAK_SIZE];
	size_t place, n = 0;
	int error;

	if (size < SEALED_OVERHEAD || size > SEALED_OVERHEAD + UINT16_MAX)
		return -EBADMSG;
	place = size - SEALED_OVERHEAD;
	tweak_make(tweak, in, index, kind);
	error = seal_open(keys->name, tweak, out, &n, in + ID_SIZE, place);
	if (!error && n != place) {
		OPENSSL_cleanse(out, place + SEAL_TRAILER);
		error = -EBADMSG;
	}
	return error ? error : (int)n;
}

int link_plain_size(size_t text_length)
{
	size_t bytes = text_length / 4 * 3 + (text_length % 4) * 3 / 4;

	if (text_length % 4 == 1 || text_length > LINK_TEXT_MAX ||
	    bytes <= SEALED_OVERHEAD)
		return -EINVAL;
	return (int)(bytes - SEALED_OVERHEAD);
}

int xattr_name_seal(const struct keys *keys, const char *plain,
                    char text[XATTR_TEXT_MAX + 1])
{
	uint8_t tweak[TWEAK_SIZE], sealed[XATTR_SEALED_MAX];
	size_t length = strlen(plain), place = (length + 15) / 16 * 16;
	int error;

	if (length < 1 || length > XATTR_PLAIN_MAX)
		return -ERANGE;
	tweak_make(tweak, no_id, 0, TWEAK_XNAME);
	error = seal(keys->name, tweak, sealed, plain, length, place);
	if (error)
		return error;
	return (int)base64url_encode(text, sealed, place + SEAL_TRAILER);
}

int xattr_name_open(const struct keys *keys, const char *text,
                    char plain[XATTR_PLAIN_MAX + 1])
{
	uint8_t tweak[TWEAK_SIZE], sealed[XATTR_SEALED_MAX];
	size_t length = 0, place;
	int size = base64url_decode(sealed, sizeof(sealed), text, strlen(text));
	int error;

	if (size < 16 + SEAL_TRAILER || size % 16)
		return -EBADMSG;
	place = (size_t)size - SEAL_TRAILER;
	tweak_make(tweak, no_id, 0, TWEAK_XNAME);
	error = seal_open(keys->name, tweak, sealed, &length, sealed, place);
	if (!error && (length < 1 || (length + 15) / 16 * 16 != place ||
	               memchr(sealed, '\0', length)))
		error = -EBADMSG;
	if (!error) {
		memcpy(plain, sealed, length);
		plain[length] = '\0';
	}
	OPENSSL_cleanse(sealed, sizeof(sealed));
	return error ? error : (int)length;
}

uint64_t xattr_index(const char *plain)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	uint64_t index;

	SHA256((const uint8_t *)plain, strlen(plain), hash);
	memcpy(&index, hash, sizeof(index));
	return index;
}
