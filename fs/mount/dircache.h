/*
 * The directories that are kept open: a descriptor and the ids of each, up to
 * a limit; the one that was not used for longest is closed first. Counted
 * references keep a directory usable for whoever has one, also after that.
 */
#ifndef FS_MOUNT_DIRCACHE_H
#define FS_MOUNT_DIRCACHE_H

#include "fs/mount/mount.h"
#include "fs/mount/node.h"

/*
 * The open directory of a node, with a reference for the caller; it is opened,
 * from its nearest open ancestor downwards, where it is not in the cache.
 * Called with mount.tree held. Returns 0, -ESTALE where the name does not lead
 * to this directory any more, or the error of opening it.
 */
int dircache_get(struct mount *mount, struct node *node, struct dir **out);

/* Only if it is open: with a reference, or NULL. */
struct dir *dircache_peek(struct mount *mount, struct node *node);

/* Take a node's directory out of the cache; with mount.lock held. */
void dircache_drop_locked(struct mount *mount, struct node *node);

/* All of them. */
void dircache_clear_locked(struct mount *mount);

#endif
