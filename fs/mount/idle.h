/*
 * Unmounting when unused. A mount is in use while the kernel says so (an open
 * file, a mapped one, a working directory: a plain unmount fails with EBUSY
 * then), and until the given time after the last request for something in it.
 * So nobody's work is ever taken away, and there is no moment between a look
 * and the unmount at which a file could be opened.
 */
#ifndef FS_MOUNT_IDLE_H
#define FS_MOUNT_IDLE_H

#include <linux/fuse.h>
#include <stdint.h>

struct idle_options {
	unsigned seconds;              /* 0: never */
	int (*unmount)(void *context); /* a plain unmount: 0, -EBUSY or another
	                                * error, which is logged once */
	void *context;
};

/* Start the thread that waits; what `unmount` needs must stay until idle_stop.
 * It ends when the unmount succeeded. Returns 0 or a negative errno. Once in a
 * process at a time. */
int idle_start(const struct idle_options *options);

/* End it. To be called when the mount is gone: an unmount that has begun may
 * need the daemon's answers, or an end of them. Harmless if nothing was
 * started. */
void idle_stop(void);

/* A request came. Those that only look at the mount itself (df, stat of the
 * mount point), or that nobody made, do not count as use. */
void idle_note(const struct fuse_in_header *request);

#endif
