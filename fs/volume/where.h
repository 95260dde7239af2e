/*
 * Which ciphertext a plaintext path stands for, and the other way round: also
 * of what is not there (a path in an older copy of the ciphertext, a name that
 * is still to be restored), and as far as it goes of what is damaged. Reads
 * directories only; the entries themselves need not be there.
 */
#ifndef FS_VOLUME_WHERE_H
#define FS_VOLUME_WHERE_H

#include "fs/volume/volume.h"

enum where_kind {
	WHERE_ROOT,
	WHERE_ENTRY,
	WHERE_ABSENT,     /* the name is right; nothing stands under it now */
	WHERE_DAMAGED,    /* a name that does not open in its directory */
	WHERE_LOST,       /* a directory above it is not there, has no id, or
	                   * cannot be read: `error`; names from there on are
	                   * as they were given */
	/* Of ciphertext paths only: */
	WHERE_DIR_ID,     /* holds the id of the directory `plain` */
	WHERE_LONG_NAME,  /* holds the long name of the entry `plain` */
	WHERE_LINK_FILE,  /* holds the target of a link in the directory */
	WHERE_TEMP,       /* of a change that is under way or was cut short */
	WHERE_CONFIG,
	WHERE_FOREIGN,    /* not of the volume */
};

struct where {
	enum where_kind kind;
	char *plain, *cipher; /* paths from the root, without needless parts */
	int error;            /* of WHERE_LOST */
};

/*
 * From a plaintext path, where a part may also be the ciphertext name of an
 * entry that does not open (as fsck shows it); from a ciphertext path below the
 * volume's root. End with where_done, also after an error.
 * Return 0, -EINVAL for a path with "..", -ENAMETOOLONG, or -ENOMEM.
 */
int where_is_plain(const struct volume *volume, const char *plain,
                   struct where *where);
int where_is_cipher(const struct volume *volume, const char *cipher,
                    struct where *where);
void where_done(struct where *where);

#endif
