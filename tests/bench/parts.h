/*
 * The parts of Adiantum, and OpenSSL's ciphers beside them: each one pass over
 * the messages of a batch.
 */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "work.h"

struct part {
	const char *name;
	bool openssl;    /* not an engine's work, so timed once */
	size_t size_min; /* bytes of the shortest message that has this part */
	int (*run)(struct work *work, int option); /* 0 or a negative errno */
	int option;
};

/* Ended by one without a name. The first is that whose throughput all others
 * are compared with. */
extern const struct part parts[];

/*
 * Does this engine write what `generic` writes? For OpenSSL's ciphers: does
 * decryption give back the messages, where there is one? Says what is wrong,
 * and returns 0 or a negative errno: -EBADMSG for a wrong result.
 */
int part_check(const struct part *part, const char *engine, struct work *work);

#endif
