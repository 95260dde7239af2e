/*
 * Extended attributes. user.* (and trusted.*, for root) have their names and
 * values encrypted; security.* and system.posix_acl_* stand in the clear, as
 * mode and owner do; any other name space gives -EOPNOTSUPP.
 *
 * `path` names the ciphertext entry, usually "/proc/self/fd/N" of an O_PATH
 * descriptor. Sizes and errors are those of getxattr(2) and friends, in
 * plaintext: the return value is a size in bytes or a negative errno, and
 * with size == 0 only the size is told.
 */
#ifndef FS_VOLUME_XATTR_H
#define FS_VOLUME_XATTR_H

#include <linux/limits.h>
#include <sys/types.h>

#include "fs/volume/volume.h"

ssize_t xattr_get(const struct volume *volume, const char *path,
                  const char *name, void *value, size_t size);

/* The same where `path` ends in the entry's name, which may be a symbolic
 * link: that is not followed. */
ssize_t xattr_get_entry(const struct volume *volume, const char *path,
                        const char *name, void *value, size_t size);

ssize_t xattr_list(const struct volume *volume, const char *path, char *list,
                   size_t size);
int xattr_set(const struct volume *volume, const char *path, const char *name,
              const void *value, size_t size, int flags);
int xattr_remove(const struct volume *volume, const char *path,
                 const char *name);

/*
 * The plaintext name of the attribute that is stored as `stored`. Returns 0
 * for one in the clear, 1 for an encrypted one, -ENOENT for another program's,
 * -EBADMSG where its name does not open, or the error of reading.
 */
int xattr_plain_name(const struct volume *volume, const char *path,
                     const char *stored, char plain[XATTR_NAME_MAX + 1]);

#endif
