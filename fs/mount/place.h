/*
 * Finding a node's ciphertext entry again, by the names that are known.
 */
#ifndef FS_MOUNT_PLACE_H
#define FS_MOUNT_PLACE_H

#include <sys/stat.h>

#include "fs/mount/mount.h"
#include "fs/mount/node.h"

struct place {
	struct dir *dir;             /* with a reference, for place_done */
	char text[NAME_TEXT_MAX + 1];
	struct stat st;              /* lstat of the ciphertext */
};

/* Where a node is now; not for the root. Names that are gone are dropped.
 * Called with mount.tree held. Returns 0, -ESTALE where no name leads to it
 * any more, or another error. */
int place_find(struct mount *mount, struct node *node, struct place *place);
void place_done(struct place *place);

/*
 * A descriptor (O_PATH) of a node that has no open file, for calls by
 * "/proc/self/fd/N", which mean this inode whatever happens to its names.
 * Takes mount.tree itself. Returns it or an error.
 */
int place_open_path(struct mount *mount, struct node *node);

/* "/proc/self/fd/N" */
enum { FD_PATH_SIZE = 32 };
void place_fd_path(char path[FD_PATH_SIZE], int fd);

/* What a user sees of a node, open or not. Takes mount.tree itself. */
int place_stat(struct mount *mount, struct node *node, struct stat *st);

#endif
