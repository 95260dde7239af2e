/*
 * From a path in the volume, as a mount shows it, to the entry that it names.
 *
 * Paths begin at the volume's root, with or without a '/'; empty parts and "."
 * are passed over, ".." is refused (-EINVAL). No symbolic link is followed, of
 * the volume or of the ciphertext.
 */
#ifndef FS_VOLUME_WALK_H
#define FS_VOLUME_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "fs/volume/dir.h"
#include "fs/volume/file.h"

struct walk_place {
	struct dir *dir;        /* the directory that holds it; NULL: the root */
	char name[NAME_PLAIN_MAX + 1]; /* its plaintext name; "" for the root */
	bool exists;
	struct dir_entry entry; /* where it exists; "." for the root */
	struct stat st;         /* the same, with plaintext sizes */
	char *plain;            /* the path, without needless parts */
	char *cipher;           /* below the ciphertext root; of an entry that is
	                         * not there its directory's */
};

/*
 * Find what `path` names; the last part may be missing (exists is false). End
 * with walk_done, also after an error: then place->plain is the path as far as
 * the part that failed, or NULL.
 * Returns 0, -ENOENT or -ENOTDIR for a part on the way, -EINVAL, -ENAMETOOLONG,
 * or an error of dir_open or dir_find.
 */
int walk_find(const struct volume *volume, const char *path,
              struct walk_place *place);
void walk_done(struct walk_place *place);

/* Open a directory: the root, the entry `text` of a directory, or what a path
 * names (-ENOENT, -ENOTDIR). */
int walk_root(const struct volume *volume, struct dir **out);
int walk_enter(const struct volume *volume, struct dir *parent,
               const char *text, struct dir **out);
int walk_dir(const struct volume *volume, const char *path, struct dir **out);

/* Open the regular file `text` of a directory; -EISDIR, or -ENXIO for what is
 * neither. */
int walk_open(const struct volume *volume, struct dir *dir, const char *text,
              int access, struct file **out);

/* "a/b" from "a" and "b", "b" from "" and "b"; NULL without memory. */
char *walk_join(const char *path, const char *name);

#endif
