/*
 * Memory between two pages that nobody may touch. Assembly is out of the
 * sanitizers' sight, so the buffers of tests lie against such a page: a read or
 * write of one byte too many is a crash. What is not at a page is filled with
 * canaries, and poisoned in builds with the address sanitizer.
 */
#ifndef TESTS_GUARDED_H
#define TESTS_GUARDED_H

#include <stddef.h>
#include <stdint.h>

struct guarded {
	uint8_t *first, *end; /* the usable memory, whole pages */
	uint8_t *place;       /* the buffer that is in use */
	size_t size;
};

/* The page that a buffer lies at: the one in front or the one behind. */
enum guarded_edge { AT_START, AT_END };

/* Room for buffers of `room` bytes, up to 64 bytes away from a page. Ends the
 * program where there is no memory. */
void guarded_new(struct guarded *g, size_t room);
void guarded_free(struct guarded *g);

/* A buffer of `size` bytes that is `away` bytes from the page, which, modulo the
 * size of a page, is its alignment or that of its end. It takes the place of
 * the buffer that was there before. */
void *guarded_place(struct guarded *g, enum guarded_edge edge, size_t away,
                    size_t size);

/* Are the canaries around the buffer as they were? */
int guarded_intact(struct guarded *g);

#endif
