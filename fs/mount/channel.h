/*
 * Reading requests from the kernel, and answering them.
 *
 * A thread that waits for a request sleeps, and waking it costs more than most
 * requests take to answer. So one thread at a time does not sleep at once, but
 * asks again for some microseconds (busy polling): a program that does one
 * thing after another sends its next request soon. Where that does not happen,
 * it is tried less and less. The processor is yielded each time, so that this
 * takes only time that nobody else wants.
 *
 * Asking without sleeping needs a descriptor of its own that does not block, a
 * clone of the session's. A request must be answered where it was read.
 */
#ifndef FS_MOUNT_CHANNEL_H
#define FS_MOUNT_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

enum { CHANNEL_POLL_USEC = 20, CHANNEL_POLL_USEC_MAX = 1000 };

/* Begin to poll, so many microseconds at a time, beside the descriptor `fd` of
 * the session. Where that cannot be had, all goes on without. There is one
 * session in a process. */
void channel_open(int fd, unsigned poll_usec);
void channel_close(void);

/* As read(2) and writev(2). */
ssize_t channel_read(int fd, void *buf, size_t size);
ssize_t channel_writev(int fd, const struct iovec *parts, int count);

#endif
