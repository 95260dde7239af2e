/*
 * A mounted volume: what the daemon's threads share.
 *
 * Locks, in the order in which they may be taken:
 *
 *   open_file.lock   one for each open file, around opening, closing and
 *                    asking its attributes
 *   mount.tree       read: a name and its parent directories stay together
 *                    during a short call; write: rename, with its update of
 *                    the nodes. Never held while content is read or written
 *   mount.lock       the table of nodes and all fields of nodes, the cache of
 *                    directories; never held while anything is read or opened
 */
#ifndef FS_MOUNT_MOUNT_H
#define FS_MOUNT_MOUNT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/volume/dir.h"
#include "fs/volume/volume.h"

struct fuse_session;
struct node;
struct dir_slot;
struct dir_handle;
struct kept;

struct mount {
	const struct volume *volume;
	struct fuse_session *fuse;
	bool debug;             /* say what is asked for, with plain names */
	bool direct_io;         /* no page cache */
	bool export;            /* nodes are found by number, see export.h */
	bool handles;           /* and so are those that were forgotten */
	bool writeback;         /* the kernel collects writes */
	double entry_timeout;   /* seconds that the kernel may trust a name, */
	double attr_timeout;    /* and attributes */

	pthread_rwlock_t tree;
	pthread_mutex_t lock;

	struct node *nodes;     /* uthash table, by device and inode */
	struct node *root;
	struct node *nobody;    /* for a number that no node has: is gone */
	uint32_t generation;    /* of the node made last */
	unsigned freed;         /* nodes since memory was given back */

	struct kept *kept;      /* files that were replaced */

	struct dir *root_dir;   /* always open */
	struct dir_slot *dirs;  /* the others, the one used last first */
	unsigned dir_count;
	unsigned dir_limit;
	struct dir_handle *dir_handles; /* open for reading, by users */
};

/* Make and free. The volume stays the caller's and must outlive the mount.
 * mount_free closes (and so finalizes) every file that is still open. */
int mount_new(struct mount **out, const struct volume *volume);
void mount_free(struct mount *mount);

#endif
