/*
 * Sealing: encode-then-encipher over the wide-block cipher. A payload is
 * padded with zeros to its place, followed by a 16-byte trailer (its true
 * length as u16, little-endian, and 14 zero bytes), and encrypted whole under
 * a tweak that says what and where it is. Opening checks the 14 zero bytes, so
 * any changed bit, and anything moved to another place, is found; a forgery
 * passes with probability 2^-112.
 */
#ifndef FS_FORMAT_SEAL_H
#define FS_FORMAT_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/adiantum.h"

enum {
	ID_SIZE = 16,      /* bytes of a file's or directory's id, or a nonce */
	TWEAK_SIZE = 32,   /* bytes */
	SEAL_TRAILER = 16, /* bytes that sealing adds to a place */
};

/* What is sealed: the last field of the tweak. */
enum tweak_kind {
	TWEAK_DATA,   /* a sector of a file; object id: the file's id */
	TWEAK_HEAD,   /* a file's header; the file's id */
	TWEAK_DIR,    /* a directory's parent id; the directory's id */
	TWEAK_NAME,   /* a name; the directory's id */
	TWEAK_LINK,   /* a link's target; a nonce */
	TWEAK_XNAME,  /* an attribute's name; zeros */
	TWEAK_XVALUE, /* an attribute's value; a nonce */
	TWEAK_SLOT,   /* the master key in a key slot; the volume's UUID */
};

/* Bytes 0-15 object id, 16-23 index (little-endian), 24-31 kind in ASCII. */
void tweak_make(uint8_t tweak[TWEAK_SIZE], const uint8_t id[ID_SIZE],
                uint64_t index, enum tweak_kind kind);

/* The trailer of a payload of `size` bytes, and its check in constant time:
 * trailer_check returns the length, or -EBADMSG where the 14 zero bytes are
 * not there or the length exceeds `place`. */
void trailer_make(uint8_t trailer[SEAL_TRAILER], size_t size);
int trailer_check(const uint8_t trailer[SEAL_TRAILER], size_t place);

/*
 * Seal `size` bytes of payload in a place of `place` bytes (size <= place <=
 * 65535). `out` takes place + SEAL_TRAILER bytes and may be `payload`.
 * Returns 0, -EINVAL for wrong sizes, or -EIO.
 */
int seal(const struct adiantum_key *key, const uint8_t tweak[TWEAK_SIZE],
         uint8_t *out, const void *payload, size_t size, size_t place);

/*
 * Open what seal made: `in` holds place + SEAL_TRAILER bytes; so does `out`,
 * which may be `in` and whose first *size bytes are the payload.
 * Returns 0, -EBADMSG (then `out` is wiped), or -EIO.
 */
int seal_open(const struct adiantum_key *key, const uint8_t tweak[TWEAK_SIZE],
              uint8_t *out, size_t *size, const uint8_t *in, size_t place);

#endif
