/*
 * What a request of the kernel says that libfuse does not pass on, and what is
 * negotiated behind its back: the version of Debian 12 (3.14) does not know
 * FUSE_HANDLE_KILLPRIV_V2. Without it the kernel asks for the attribute
 * security.capability before each single write.
 *
 * With it, clearing set-user-id and set-group-id bits is ours: on a write or a
 * truncation that says so (its caller has no CAP_FSETID), and on a change of
 * attributes that changes nothing.
 */
#ifndef FS_MOUNT_REQUEST_H
#define FS_MOUNT_REQUEST_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* Look at a request of n bytes that this thread has read and will answer. */
void request_received(const void *request, size_t n);

/* Look at its answer, before it is written: that to the first request of all
 * is completed. */
void request_answered(const struct iovec *parts, int count);

/* Whether the request under way in this thread must clear set-user-id and
 * set-group-id bits. */
bool request_clears_set_id(fuse_req_t req);

/* Whether clearing them is ours at all. */
bool request_set_id_is_ours(void);

#endif
