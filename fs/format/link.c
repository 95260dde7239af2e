#include "fs/format/link.h"

#include <errno.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include "fs/format/base64url.h"

enum { XATTR_SEALED_MAX = XATTR_PLAIN_MAX + SEAL_TRAILER };

#define LONG "long."

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

/* The name, padded and sealed; its size, a multiple of 16. */
static int seal_name(const struct keys *keys, const char *plain, size_t length,
                     uint8_t *sealed)
{
	uint8_t tweak[TWEAK_SIZE];
	size_t place = (length + 15) / 16 * 16;
	int error;

	tweak_make(tweak, no_id, 0, TWEAK_XNAME);
	error = seal(keys->name, tweak, sealed, plain, length, place);
	return error ? error : (int)(place + SEAL_TRAILER);
}

/* Open in place; `plain` becomes the name, the result its length. */
static int open_name(const struct keys *keys, uint8_t *sealed, size_t size,
                     char *plain)
{
	uint8_t tweak[TWEAK_SIZE];
	size_t length = 0, place;
	int error;

	if (size < 16 + SEAL_TRAILER || size % 16)
		return -EBADMSG;
	place = size - SEAL_TRAILER;
	tweak_make(tweak, no_id, 0, TWEAK_XNAME);
	error = seal_open(keys->name, tweak, sealed, &length, sealed, place);
	if (!error && (length < 1 || (length + 15) / 16 * 16 != place ||
	               memchr(sealed, '\0', length)))
		error = -EBADMSG;
	if (!error) {
		memcpy(plain, sealed, length);
		plain[length] = '\0';
	}
	OPENSSL_cleanse(sealed, size);
	return error ? error : (int)length;
}

int xattr_name_seal(const struct keys *keys, const char *plain,
                    char text[XATTR_TEXT_MAX + 1])
{
	uint8_t sealed[XATTR_SEALED_MAX];
	size_t length = strlen(plain);
	int size;

	if (length < 1 || length > XATTR_PLAIN_MAX)
		return -ERANGE;
	size = seal_name(keys, plain, length, sealed);
	return size < 0 ? size
	                : (int)base64url_encode(text, sealed, (size_t)size);
}

int xattr_name_open(const struct keys *keys, const char *text,
                    char plain[XATTR_PLAIN_MAX + 1])
{
	uint8_t sealed[XATTR_SEALED_MAX];
	int size = base64url_decode(sealed, sizeof(sealed), text, strlen(text));

	return size < 0 ? -EBADMSG
	                : open_name(keys, sealed, (size_t)size, plain);
}

static void long_text(const uint8_t *sealed, size_t size,
                      char text[XATTR_TEXT_MAX + 1])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];

	SHA256(sealed, size, hash);
	strcpy(text, LONG);
	base64url_encode(text + strlen(LONG), hash, sizeof(hash));
}

bool xattr_is_long(const char *text)
{
	return !strncmp(text, LONG, strlen(LONG));
}

int xattr_long_seal(const struct keys *keys, const char *plain,
                    char text[XATTR_TEXT_MAX + 1],
                    uint8_t prefix[XATTR_PREFIX_MAX])
{
	size_t length = strlen(plain);
	int size;

	if (length <= XATTR_PLAIN_MAX || length > XATTR_LONG_MAX)
		return -ERANGE;
	size = seal_name(keys, plain, length, prefix + 1);
	if (size < 0)
		return size;
	prefix[0] = (uint8_t)(size / 16);
	long_text(prefix + 1, (size_t)size, text);
	return 1 + size;
}

int xattr_long_open(const struct keys *keys, const char *text,
                    const uint8_t *stored, size_t size,
                    char plain[XATTR_LONG_MAX + 1])
{
	uint8_t sealed[XATTR_PREFIX_MAX];
	char expected[XATTR_TEXT_MAX + 1], name[XATTR_PREFIX_MAX];
	size_t n = size ? 16 * (size_t)stored[0] : 0;
	int length;

	if (n == 0 || n >= XATTR_PREFIX_MAX || size < 1 + n)
		return -EBADMSG;
	memcpy(sealed, stored + 1, n);
	long_text(sealed, n, expected);
	length = strcmp(text, expected) ? -EBADMSG
	                                : open_name(keys, sealed, n, name);
	if (length <= XATTR_PLAIN_MAX || length > XATTR_LONG_MAX)
		return -EBADMSG;
	memcpy(plain, name, (size_t)length + 1);
	return 1 + (int)n;
}

uint64_t xattr_index(const char *plain)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	uint64_t index;

	SHA256((const uint8_t *)plain, strlen(plain), hash);
	memcpy(&index, hash, sizeof(index));
	return index;
}
