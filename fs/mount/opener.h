/*
 * Opening what its mode forbids, for a daemon that is not root. The kernel has
 * checked what the user may do; but to append to a file of mode 0200 its last
 * sector must be read, and to enter a directory of mode 0311 its id. No mode
 * is ever changed for that.
 *
 * A process in a user namespace of its own, in which the user's own files (of
 * his own group) obey it as root's, opens them and passes the descriptor on.
 * It is started when it is needed first, from the program's file, so that it
 * knows nothing of the volume, and ends with the daemon. Where user namespaces
 * are not allowed, EACCES stays.
 */
#ifndef FS_MOUNT_OPENER_H
#define FS_MOUNT_OPENER_H

/* The option that makes the program serve as that process; see main(). */
#define OPENER_OPTION "--open-for-daemon"

/* Let io_open (fs/volume/io.h) use it. Does nothing for root. */
void opener_enable(void);

/* End it, when no request is under way any more. */
void opener_disable(void);

/* Be that process: serve the socket that is its standard input until it is
 * closed. Returns an exit code. */
int opener_serve(void);

#endif
