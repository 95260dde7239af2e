/* A change of frondfs.conf: locked, read, unlocked, and written at once. */
#ifndef TOOLS_CHANGE_H
#define TOOLS_CHANGE_H

#include "tools/newslot.h"
#include "tools/unlock.h"

struct change {
	const char *dir;
	int root;
	int lock;
	struct unlocked unlocked;
};

/* The descriptors of the volume's root and of the lock on its config. All
 * functions return an exit code, after a message where it is not EXIT_OK. */
int change_lock(struct change *change, const char *dir);

/* change_lock, and unlock. */
int change_begin(struct change *change, const char *dir,
                 const struct unlock_options *options);

/* Refuse a new secret that opens the volume already. */
int change_check_new(struct change *change, const struct newslot *slot,
                     const struct secret *secret);

/* Write the config of change->unlocked. */
int change_commit(struct change *change);

/* Always, also after an error of the others. */
void change_end(struct change *change);

#endif
