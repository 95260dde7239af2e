/*
 * Several users in the tests of a mount, and the same deeds in a mount and in
 * a plain directory beside it.
 */
#ifndef TESTS_MOUNT_USERS_H
#define TESTS_MOUNT_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "mount/support.h"

/* Users and groups that need no entry anywhere. */
enum { ANNE = 61001, BERT = 61002, CARL = 61003, TEAM = 62001, OTHERS = 62002,
       STRANGE = 62003 };

struct deed {
	uid_t uid;
	gid_t gid;
	size_t n;
	gid_t groups[4];
	const char *script;        /* for sh, or: */
	int (*run)(void *folder);
};

/* Do it in both, the mount and the directory `plain`; the same must come of it
 * (what it says, and its exit code). Says where they differ. */
bool users_same_deed(const struct mounted *m, const char *plain,
                     const struct deed *deed);

/* Whether both hold the same entries, in all that can be seen of them, as
 * `viewer` sees them (0: root): a user's own mount can be seen by nobody
 * else. */
bool users_same_listing(const struct mounted *m, const char *plain, uid_t viewer);

/* Give this process mounts of its own, with a /dev/fuse that everybody may open,
 * as it usually is, and with Anne among the users, since fusermount3 asks for
 * her name. Returns whether that could be done. */
bool users_take_device(void);

#endif
