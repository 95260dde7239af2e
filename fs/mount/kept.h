/*
 * Files that were replaced a moment ago. A program whose open(2) has found the
 * old file by its name, when another one renames a new file over it, must get
 * the old one; but the node has no name any more by which it could be opened.
 * So the file is kept by a descriptor (O_PATH) until the kernel has forgotten
 * it, which is at once where nobody uses it. There is a bound: then the oldest
 * one goes, and who still asks for that is told ESTALE, as for a file that was
 * replaced from outside; the kernel then looks the name up again, once.
 */
#ifndef FS_MOUNT_KEPT_H
#define FS_MOUNT_KEPT_H

#include "fs/mount/mount.h"
#include "fs/mount/node.h"

/* Keep the node's file; `fd` is owned from then on. */
void kept_add(struct mount *mount, const struct node *node, int fd);

/* Another descriptor (O_PATH) of the node's file, to be closed, or -ESTALE. */
int kept_get(struct mount *mount, const struct node *node);

/* The kernel forgets the node. */
void kept_drop(struct mount *mount, const struct node *node);

void kept_free(struct mount *mount);

#endif
