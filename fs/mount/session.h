/*
 * A FUSE session that serves a volume at a mount point.
 */
#ifndef FS_MOUNT_SESSION_H
#define FS_MOUNT_SESSION_H

#include <stdbool.h>

#include "fs/mount/idle.h"
#include "fs/volume/volume.h"

struct session;

struct session_options {
	const char *mountpoint; /* absolute */
	const char *options;    /* list for the kernel and libfuse, or NULL */
	bool debug;             /* say on stderr what is asked for */
	bool direct_io;         /* no page cache (then no shared mmap) */
	bool writeback;         /* the kernel may collect writes: what write()
	                         * returned is lost when the daemon dies */
	bool export;            /* NFS may export it; see fs/mount/export.h */
	double entry_timeout;   /* seconds */
	double attr_timeout;
	struct idle_options idle; /* unmount when unused */
};

/*
 * Prepare a session, which changes nothing yet; the volume stays the caller's
 * and must outlive it. Returns 0, the error of opening the root
 * directory (-EUCLEAN: its id is missing), -EINVAL where libfuse does not take
 * the options, or -ENOMEM.
 */
int session_new(struct session **out, const struct volume *volume,
                const struct session_options *options);

/* Mount. Returns 0, or -EIO with the reason in session_problem(). */
int session_mount(struct session *session);

/* What libfuse said last, one line without its end; "" if nothing. */
const char *session_problem(void);

/*
 * Serve requests, by several threads, until it is unmounted or SIGTERM, SIGINT
 * or SIGHUP comes. Returns 0, or a negative errno after an error of the
 * session. Called once, by the process's only thread.
 */
int session_run(struct session *session);

/* Unmount if that was not done, finalize the files that are still open, and
 * free; NULL is allowed. */
void session_free(struct session *session);

#endif
