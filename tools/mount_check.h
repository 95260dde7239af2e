/*
 * Whether a volume can be mounted at a place, before anything is asked or
 * done.
 */
#ifndef TOOLS_MOUNT_CHECK_H
#define TOOLS_MOUNT_CHECK_H

#include <stdbool.h>

/*
 * Check the mount point for the volume with the absolute path `volume`. A dead
 * frondfs mount that is still there is taken away (and that is said). Returns
 * EXIT_OK and the absolute path in *out (memory of malloc), or the exit code
 * after a message.
 */
int check_mountpoint(const char *volume, const char *point, bool nonempty,
                     char **out);

/* Whether FUSE can be used here. */
int check_fuse(void);

/* Whether the volume is mounted read-write already; waits a few seconds for the
 * end of a mount whose daemon is still finishing. complain_in_use says who
 * holds its lock, and returns EXIT_IN_USE. */
int check_not_mounted(const char *volume);
int complain_in_use(const char *volume);

#endif
