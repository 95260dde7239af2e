/*
 * Symbolic links and extended attributes: values sealed under a fresh nonce.
 *
 * Link target: nonce || seal(target), kind LINK, object id the nonce; as
 * base64url in the ciphertext link. A target above LINK_INLINE_MAX bytes is
 * sealed in a file "frondfs.link." + base64url(nonce), and the link holds that
 * file's name.
 *
 * Attribute: name seal(name padded with NUL to 16, kind XNAME, object id
 * zeros), as base64url; value nonce || seal(value), kind XVALUE, object id the
 * nonce, index: the first 8 bytes of SHA-256(name). A name above
 * XATTR_PLAIN_MAX bytes is stored as "long." + base64url(SHA-256(sealed name)),
 * and the sealed name stands before the value.
 */
#ifndef FS_FORMAT_LINK_H
#define FS_FORMAT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/format/keys.h"
#include "fs/format/seal.h"

enum {
	LINK_TARGET_MAX = 4095, /* bytes of a plaintext target */
	LINK_INLINE_MAX = 3039, /* bytes of one that fits in the link */
	LINK_TEXT_MAX = 4095,   /* characters of a ciphertext link */
	SEALED_OVERHEAD = ID_SIZE + SEAL_TRAILER, /* of a value with nonce */
	XATTR_PLAIN_MAX = 160,  /* bytes of a name that is stored as such, */
	XATTR_LONG_MAX = 250,   /* and of any name, after "user." */
	XATTR_TEXT_MAX = 235,   /* characters of a sealed one */
	XATTR_PREFIX_MAX = 1 + 256 + SEAL_TRAILER, /* of a long name */
	XATTR_VALUE_MAX = 65535 - SEALED_OVERHEAD, /* bytes */
};

/*
 * Seal a value of `size` bytes (at most 65535) under a fresh random nonce;
 * `out` takes size + SEALED_OVERHEAD bytes. Returns 0 or -EIO.
 * value_open is the inverse: `out` takes size - ID_SIZE bytes; returns the
 * number of value bytes at its beginning, or -EBADMSG.
 */
int value_seal(const struct keys *keys, enum tweak_kind kind, uint64_t index,
               const void *value, size_t size, uint8_t *out);
int value_open(const struct keys *keys, enum tweak_kind kind, uint64_t index,
               const uint8_t *in, size_t size, uint8_t *out);

/* The plaintext size of a link from its ciphertext target's length, where
 * that is inline; -EINVAL for a length that no sealed target has. */
int link_plain_size(size_t text_length);

/* Seal and open an attribute's name (without its name space, 1 to
 * XATTR_PLAIN_MAX bytes, ended by NUL). Return the length, or -ERANGE for a
 * name too long, -EBADMSG for a text that does not open. */
int xattr_name_seal(const struct keys *keys, const char *plain,
                    char text[XATTR_TEXT_MAX + 1]);
int xattr_name_open(const struct keys *keys, const char *text,
                    char plain[XATTR_PLAIN_MAX + 1]);

/*
 * The same for a longer name, up to XATTR_LONG_MAX bytes. `prefix` is what
 * stands before the sealed value: a byte n and the sealed name of 16 n bytes.
 * xattr_long_open takes the whole stored value, of `size` bytes, and checks it
 * against the text. Both return the prefix's size, or -ERANGE for a name too
 * long or short, -EBADMSG.
 */
int xattr_long_seal(const struct keys *keys, const char *plain,
                    char text[XATTR_TEXT_MAX + 1],
                    uint8_t prefix[XATTR_PREFIX_MAX]);
int xattr_long_open(const struct keys *keys, const char *text,
                    const uint8_t *stored, size_t size,
                    char plain[XATTR_LONG_MAX + 1]);
bool xattr_is_long(const char *text);

/* The tweak index of an attribute's value. */
uint64_t xattr_index(const char *plain);

#endif
