/*
 * The recovery key: the master key and the stream cipher in a form made to be
 * copied by hand. It needs no frondfs.conf.
 *
 * 275 bits, most significant first: 5 bits for the kind (0: version 1 with
 * XChaCha12, 1: version 1 with XChaCha20), 256 bits of master key, 14 bits of
 * check: the first bits of SHA-256("frondfs 1 recovery" || kind || master key).
 * They are written as 11 groups of 5 characters of Crockford's base32 alphabet
 * (digits and upper-case letters without I, L, O, U), each group followed by a
 * check character over GF(2^5) (polynomial x^5 + x^2 + 1; a is x):
 *
 *   check = a^1 d1 + a^2 d2 + a^3 d3 + a^4 d4 + a^5 d5 + group's number (1-11)
 *
 * which finds every single wrong character, every swap of two characters
 * within a group, and every group that stands in another's place.
 *
 * Reading ignores case, spaces, dashes, line ends, and lines that begin with
 * '#'; it takes O for 0, and I and L for 1. Neither direction has a branch or
 * a table index that depends on the key; only whether a group is well-formed
 * becomes visible.
 */
#ifndef FS_FORMAT_RECOVERY_H
#define FS_FORMAT_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

#include "fs/format/keys.h"

enum {
	RECOVERY_GROUPS = 11,
	RECOVERY_GROUP = 6, /* characters, the check character included */
	/* Groups separated by a space, or by a line end after the 4th and the
	 * 8th; and a NUL. */
	RECOVERY_TEXT = RECOVERY_GROUPS * (RECOVERY_GROUP + 1),
	RECOVERY_PROBLEM = 128,
};

/* Write a recovery key. Returns 0, -EINVAL for an unknown stream cipher, or
 * -EIO when OpenSSL fails. */
int recovery_encode(char text[RECOVERY_TEXT], const uint8_t master[KEY_SIZE],
                    enum adiantum_stream stream);

/*
 * Read one. Returns 0, -EINVAL where it was mistyped, -ENOTSUP where it is of
 * a later version, or -EIO when OpenSSL fails. `problem` then says in one line
 * what is wrong and names the group, without a character of the key; `master`
 * is wiped.
 */
int recovery_decode(uint8_t master[KEY_SIZE], enum adiantum_stream *stream,
                    const char *text, size_t length,
                    char problem[RECOVERY_PROBLEM]);

#endif
