#include "fs/format/sector.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/crypto.h>

/* Sectors in one call of the cipher: a request of 1 MiB, which touches one or
 * two more than its 256, goes in whole, so that several threads can share it;
 * 16 KiB of messages and tweaks are still small enough for a stack. */
enum { BATCH = 258 };

uint64_t size_encrypted(uint64_t size)
{
	uint64_t n = sector_count(size);

	return n ? n * SECTOR_SIZE + (size - sector_start(n - 1)) : HEADER_SIZE;
}

struct length size_decode(uint64_t c)
{
	struct length l = { .sectors = c / SECTOR_SIZE };
	uint64_t r = c % SECTOR_SIZE;

	l.size = sector_start(l.sectors);
	if (c == 0) {
		l.state = LENGTH_UNFINISHED;
	} else if (c == HEADER_SIZE) {
		l.state = LENGTH_FINAL;
	} else if (l.sectors == 0 || r > sector_capacity(l.sectors - 1)) {
		l.state = LENGTH_ODD;
	} else if (r == 0) {
		l.state = LENGTH_OPEN;
	} else {
		l.state = LENGTH_FINAL;
		l.size = sector_start(l.sectors - 1) + r;
	}
	return l;
}

/* The messages and tweaks of one batch. */
struct batch {
	struct adiantum_message messages[BATCH];
	uint8_t tweaks[BATCH][TWEAK_SIZE];
	size_t count;
};

static void batch_add(struct batch *b, const uint8_t *id, uint64_t sector,
                      uint8_t *at)
{
	uint8_t *tweak = b->tweaks[b->count];

	tweak_make(tweak, id, sector, TWEAK_DATA);
	b->messages[b->count++] = (struct adiantum_message){
		.dst = at, .src = at, .tweak = tweak,
		.size = sector_message(sector),
	};
}

int sectors_seal(const struct adiantum_key *key, const uint8_t id[ID_SIZE],
                 uint64_t first, size_t count, uint8_t *buf,
                 uint32_t last_size)
{
	struct batch b;
	int error = 0;

	b.count = 0; /* the rest is large and needs no zeros */
	for (size_t k = 0; k < count && !error; k++) {
		uint64_t i = first + k;
		uint8_t *at = buf + (sector_offset(i) - sector_offset(first));
		uint32_t place = sector_capacity(i);
		uint32_t size = k == count - 1 ? last_size : place;

		memset(at + size, 0, place - size);
		trailer_make(at + place, size);
		batch_add(&b, id, i, at);
		if (b.count == BATCH || k == count - 1) {
			error = adiantum_encrypt_batch(key, TWEAK_SIZE,
			                               b.messages, b.count);
			b.count = 0;
		}
	}
	return error;
}

/* Whether `size` bytes of ciphertext are all zero; they are public. */
static bool all_zero(const uint8_t *p, size_t size)
{
	return p[0] == 0 && memcmp(p, p + 1, size - 1) == 0;
}

static void check_batch(const struct batch *b, int *const *sizes)
{
	for (size_t k = 0; k < b->count; k++) {
		uint8_t *at = b->messages[k].dst;
		size_t place = b->messages[k].size - SEAL_TRAILER;
		int size = trailer_check(at + place, place);

		if (size < 0)
			OPENSSL_cleanse(at, place + SEAL_TRAILER);
		else
			memset(at + size, 0, place - (size_t)size);
		*sizes[k] = size < 0 ? SECTOR_CORRUPT : size;
	}
}

int sectors_open(const struct adiantum_key *key, const uint8_t id[ID_SIZE],
                 uint64_t first, size_t count, uint8_t *buf, int *sizes)
{
	struct batch b;
	int *where[BATCH];
	int error = 0;

	b.count = 0;
	for (size_t k = 0; k < count && !error; k++) {
		uint64_t i = first + k;
		uint8_t *at = buf + (sector_offset(i) - sector_offset(first));

		if (all_zero(at, sector_message(i))) {
			sizes[k] = SECTOR_HOLE;
		} else {
			where[b.count] = &sizes[k];
			batch_add(&b, id, i, at);
		}
		if (b.count == BATCH || (k == count - 1 && b.count)) {
			error = adiantum_decrypt_batch(key, TWEAK_SIZE,
			                               b.messages, b.count);
			if (!error)
				check_batch(&b, where);
			b.count = 0;
		}
	}
	return error;
}
