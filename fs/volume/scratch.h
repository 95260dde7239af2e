/*
 * A buffer of each thread for the ciphertext of one request, kept from call to
 * call: a megabyte that is mapped and cleared anew for each request would cost
 * as much as encrypting it.
 */
#ifndef FS_VOLUME_SCRATCH_H
#define FS_VOLUME_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* At least `size` bytes, page-aligned, valid until this thread's next call;
 * the content is undefined. NULL when there is no memory. */
uint8_t *scratch_get(size_t size);

#endif
