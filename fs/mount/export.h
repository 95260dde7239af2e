/*
 * Export by NFS (-o export): the kernel asks for a node by its number after it
 * has forgotten it, or that the daemon before this one has given it.
 *
 * So a node's number comes from the store's own file handle of the ciphertext:
 * inode number and generation, which are the same after a remount, and which a
 * file that gets the same inode number does not have. To find a node again
 * nothing is kept in memory: its ciphertext is opened by that handle, which
 * needs root (CAP_DAC_READ_SEARCH). What is found must prove that it is of this
 * volume, as a number can be made up and the store holds other files: a file by
 * its header, a directory by its way up to the root. Links and special files
 * cannot, and are not found by number.
 */
#ifndef FS_MOUNT_EXPORT_H
#define FS_MOUNT_EXPORT_H

#include <stdint.h>

#include "fs/mount/mount.h"
#include "fs/mount/node.h"

/* Learn how the store's handles are made, for mount.export to be set. Where
 * they are not of a kind that is known, that is logged, and numbers are good
 * only while the kernel knows them. */
void export_begin(struct mount *mount);

/* The generation of the entry `text` in a directory, or of the descriptor `fd`
 * itself where text is ""; 0: unknown, or nothing is exported. */
uint32_t export_generation(const struct mount *mount, int fd,
                           const char *text);

/* Open a node's ciphertext by number, whatever its names are. Returns a
 * descriptor, or -ESTALE. */
int export_open(const struct mount *mount, const struct node *node, int flags);

/*
 * The node with a number (a lookup of "."), and that of a directory's parent
 * (of ".."), with one more reference of the kernel. Return 0, -ESTALE, or
 * another error. They take mount.tree themselves.
 */
int export_find(struct mount *mount, uint64_t id, struct node **out);
int export_parent(struct mount *mount, struct node *node, struct node **out);

#endif
