/*
 * The header of a ciphertext file, its first 80 bytes:
 *
 *    0  8   "frondfs" and the version byte 1
 *    8  8   reserved, zero
 *   16  16  the file's id
 *   32  48  sealed (kind HEAD): plaintext size u64, flags u32, 4 zero bytes,
 *           id of the directory that the file was made in
 */
#ifndef FS_FORMAT_HEADER_H
#define FS_FORMAT_HEADER_H

#include <stdint.h>

#include "fs/format/sector.h"

enum header_flags {
	HEADER_SPARSE = 1, /* zero sectors are holes and read as zeros */
};

struct header {
	uint8_t id[ID_SIZE];
	uint8_t made_in[ID_SIZE]; /* directory id: a hint for rescue */
	uint64_t size;            /* plaintext bytes when last finalized */
	uint32_t flags;           /* enum header_flags */
};

/* Write the 80 bytes. Returns 0 or -EIO when the cipher fails. */
int header_seal(const struct adiantum_key *content, const struct header *header,
                uint8_t out[HEADER_SIZE]);

/* Read them. Returns 0, -EBADMSG where any of it is not as it must be
 * (unknown flags included), or -EIO. */
int header_open(const struct adiantum_key *content, struct header *header,
                const uint8_t in[HEADER_SIZE]);

#endif
