/*
 * Buffers of each thread for the bytes of one request, kept from call to
 * call: a megabyte that is mapped and cleared anew for each request would cost
 * as much as encrypting it.
 */
#ifndef FS_VOLUME_SCRATCH_H
#define FS_VOLUME_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* What a buffer is for; a thread has one of each. */
enum scratch_use {
	SCRATCH_SECTORS, /* ciphertext: for fs/volume's file object */
	SCRATCH_REPLY,   /* plaintext that a caller of it hands on */
	SCRATCH_USES,
};

/* At least `size` bytes, page-aligned, valid until this thread's next call for
 * the same use; the content is undefined. NULL when there is no memory. */
uint8_t *scratch_get(enum scratch_use use, size_t size);

/*
 * Lend this thread `size` bytes of the caller's: scratch_get takes them where
 * they are enough, and allocates nothing. They must stay until the thread ends
 * or is lent others, and are overwritten by those who got them.
 */
void scratch_lend(enum scratch_use use, void *buf, size_t size);

#endif
