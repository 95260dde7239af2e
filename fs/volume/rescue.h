/*
 * What a volume's files tell when its frondfs.conf is lost: whether a master
 * key is theirs, and the longest name that the config said.
 */
#ifndef FS_VOLUME_RESCUE_H
#define FS_VOLUME_RESCUE_H

#include <stddef.h>

#include "fs/format/keys.h"

enum rescue_key {
	RESCUE_NOTHING, /* nothing there to check a key against */
	RESCUE_RIGHT,   /* something opened */
	RESCUE_WRONG,   /* nothing did */
};

/* Try keys on the directory ids, names and file headers in the root, until one
 * of them opens. Returns an enum rescue_key or a negative errno. */
int rescue_check_key(int root, const struct keys *keys);

/*
 * The longest name with which existing names are found again: `limit`, what
 * the store takes, unless a long-name file shows that a shorter name was stored
 * as a long one. Goes through the whole tree; what cannot be read is left out.
 */
size_t rescue_name_limit(int root, size_t limit);

#endif
