/*
 * The file system that the volume lies on, when it is not as it should be.
 *
 * A store that went away and came back: a network share that was mounted again
 * at the same place. The descriptors that the daemon has are then of something
 * that is gone for good, so the volume's root is opened anew by its path.
 */
#ifndef FS_MOUNT_STORE_H
#define FS_MOUNT_STORE_H

#include "fs/mount/mount.h"

/*
 * Look after the store, after a call that ended with `error` (negative). Where
 * the volume's root does not answer any more while its path leads to the same
 * volume (its UUID, and the id of its root directory), and nobody else uses
 * that, the mount goes on with it: what is looked up from now on is found
 * there. Files and directories that are open stay lost. Does nothing for
 * errors that have other reasons, and tries at most once a second.
 */
void store_look_after(struct mount *mount, int error);

/*
 * Whether the store is full or nearly so, as it says (it is asked at most once
 * a second) or as errors of the last minute said. Then a new file had better
 * get its header at once, or else there would be a name without the room for
 * what has to stand in the file.
 */
bool store_is_nearly_full(struct mount *mount);

#endif
