/*
 * The sectors of a ciphertext file, and sizes by arithmetic.
 *
 * A file of n sectors fills n aligned units of 4096 bytes. Unit 0 holds the
 * 80-byte header and sector 0 (4000 bytes of payload); each further unit holds
 * one sector of 4080 bytes. After the last unit the file goes on for r bytes,
 * the number of payload bytes in the last sector (the length mark, a hole).
 */
#ifndef FS_FORMAT_SECTOR_H
#define FS_FORMAT_SECTOR_H

#include <stddef.h>
#include <stdint.h>

#include "fs/format/seal.h"

enum {
	SECTOR_SIZE = 4096,                     /* bytes of ciphertext */
	SECTOR_PAYLOAD = SECTOR_SIZE - SEAL_TRAILER,
	HEADER_SIZE = 80,                       /* bytes before sector 0 */
	SECTOR0_PAYLOAD = SECTOR_SIZE - HEADER_SIZE - SEAL_TRAILER,
};

/* Largest plaintext size in bytes whose ciphertext still has an off_t. */
#define PLAIN_SIZE_MAX ((uint64_t)INT64_MAX / SECTOR_SIZE * SECTOR_PAYLOAD - SECTOR_SIZE)

/* The sector that holds plaintext byte `position`. */
static inline uint64_t sector_of(uint64_t position)
{
	return position < SECTOR0_PAYLOAD
		? 0 : 1 + (position - SECTOR0_PAYLOAD) / SECTOR_PAYLOAD;
}

/* The plaintext position of a sector's first byte. */
static inline uint64_t sector_start(uint64_t sector)
{
	return sector ? SECTOR0_PAYLOAD + (sector - 1) * SECTOR_PAYLOAD : 0;
}

/* Payload bytes that a sector can hold. */
static inline uint32_t sector_capacity(uint64_t sector)
{
	return sector ? SECTOR_PAYLOAD : SECTOR0_PAYLOAD;
}

/* Where a sector's message begins in the ciphertext file, and its bytes. */
static inline uint64_t sector_offset(uint64_t sector)
{
	return sector ? sector * SECTOR_SIZE : HEADER_SIZE;
}

static inline uint32_t sector_message(uint64_t sector)
{
	return sector_capacity(sector) + SEAL_TRAILER;
}

/* Sectors of a plaintext of `size` bytes (0 for an empty one). */
static inline uint64_t sector_count(uint64_t size)
{
	return size ? sector_of(size - 1) + 1 : 0;
}

/* The ciphertext's length for a finalized plaintext of `size` bytes. */
uint64_t size_encrypted(uint64_t size);

/* What a ciphertext's length tells. */
enum length_state {
	LENGTH_FINAL,      /* n and size are right */
	LENGTH_OPEN,       /* no length mark: the last sector's trailer tells */
	LENGTH_UNFINISHED, /* 0 bytes: a create that was never finished */
	LENGTH_ODD,        /* what no writer leaves behind; n whole sectors */
};

struct length {
	enum length_state state;
	uint64_t sectors;
	uint64_t size; /* for OPEN and ODD: the largest that n sectors can hold */
};

struct length size_decode(uint64_t ciphertext_length);

/* What opening a sector gives in place of a payload length. */
enum {
	SECTOR_HOLE = -1,    /* all bytes are zero: a hole, or damage */
	SECTOR_CORRUPT = -2, /* does not open */
};

/*
 * Seal `count` adjacent sectors in place. buf holds their messages as the
 * ciphertext file does, sector `first` at buf[0]; the caller has put the
 * payloads there. All sectors but the last are full; the last holds last_size
 * bytes, and the rest of its payload is zeroed here.
 * Returns 0, or -EIO when the cipher fails.
 */
int sectors_seal(const struct adiantum_key *key, const uint8_t id[ID_SIZE],
                 uint64_t first, size_t count, uint8_t *buf,
                 uint32_t last_size);

/*
 * Open `count` adjacent sectors in place; the layout is the same. sizes[k]
 * becomes the payload length of sector first + k, SECTOR_HOLE or
 * SECTOR_CORRUPT; the payload of those two kinds, and all bytes past a
 * payload, are zeroed.
 * Returns 0 whatever the sectors hold, or -EIO when the cipher fails.
 */
int sectors_open(const struct adiantum_key *key, const uint8_t id[ID_SIZE],
                 uint64_t first, size_t count, uint8_t *buf, int *sizes);

#endif
