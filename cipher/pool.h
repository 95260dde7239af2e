/*
 * Threads that help with a large job. The caller works on it itself, and those
 * of the pool that are free join in.
 */
#ifndef CIPHER_POOL_H
#define CIPHER_POOL_H

#include <stddef.h>

enum { POOL_THREADS_MAX = 8 }; /* at work on one job, its caller included */

/* Do `count` pieces of a job from number `first` on. Returns 0 or a negative
 * errno. */
typedef int pool_pieces(void *job, size_t first, size_t count);

/*
 * Do the pieces 0 to pieces - 1, in any order and some at the same time, and
 * return when all are done: 0, or an error of one of them; after an error,
 * pieces that nobody has begun are left out. May be called by any number of
 * threads; one of them gets the pool, the others do their pieces alone, as does
 * every caller when there are no threads to be had: by one call for all of the
 * pieces, while the pool's threads take one after the other. It allocates nothing but
 * the threads, on the first call that needs them.
 */
int pool_run(pool_pieces *run, void *job, size_t pieces);

/* How many threads a job may have, its caller included: what
 * adiantum_threads_set set, or else FRONDFS_THREADS, or else the number of CPUs
 * that this process may use; at most POOL_THREADS_MAX. */
unsigned pool_threads(void);

/* Forget which jobs gained and lost by the pool, and try it with the next one:
 * for tests. */
void pool_forget(void);

#endif
