/*
 * One view of two kinds of trees, for copying between them: plain files of this
 * machine, and what a volume holds. Whatever is done in a volume goes through
 * fs/volume's directory and file objects, as in a mount.
 *
 * Functions return 0 (or a size) or a negative errno, -EBADMSG for what is
 * damaged. Entries are never reached through a symbolic link: each folder is
 * entered from the one above it.
 */
#ifndef TOOLS_TREE_H
#define TOOLS_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "fs/volume/dir.h"
#include "fs/volume/volume.h"

/* Folders inside each other that are entered: each takes descriptors and some
 * stack, and longer paths than of so many are of no use to other programs. */
enum { TREE_DEPTH_MAX = 2048 };

/* An open directory of either kind. */
struct folder {
	const struct volume *volume; /* NULL: plain */
	struct dir *dir;             /* of a volume */
	int fd;                      /* the directory, or its ciphertext */
	unsigned depth;              /* below the one that was opened by path */
};

/* An entry: what it is called on the disk (in a plain tree its own name), and
 * its lstat with the plaintext size; device and inode are the disk's. */
struct tree_entry {
	char text[NAME_TEXT_MAX + 1];
	struct stat st;
};

/* The names in a folder, sorted. */
struct tree_list {
	size_t count;
	struct tree_item {
		char *name, *text;
	} *items;
	size_t damaged; /* names that do not open, and are left out */
};

/* The temporary name that belongs to a name, under which what replaces an entry
 * is made. Always the same one, so that a next run finds what a killed one
 * left. */
enum { TREE_PART = 32 };
void tree_part_name(char part[TREE_PART], const char *name);

/* Whether a name is such a temporary one. */
bool tree_is_part(const char *name);

/* The content of a regular file that is open. */
struct content {
	const struct volume *volume;
	struct file *file; /* of a volume */
	int fd;            /* the file, or its ciphertext; not the caller's */
	bool partial;      /* set after opening: reading gives the bytes before
	                    * a damaged sector, and the error at the next call */
	char part[TREE_PART]; /* while it is made and has a temporary name */
};

/* Who owns a new entry; only root's process gives entries away. */
struct tree_owner {
	uid_t uid;
	gid_t gid;
};

/* Open a plain directory (a symbolic link to one, too), or one of a volume by
 * its path; enter one in a folder: -ENAMETOOLONG below TREE_DEPTH_MAX. */
int tree_open_plain(const char *path, struct folder *out);
int tree_open_volume(const struct volume *volume, const char *path,
                     struct folder *out);
int tree_enter(const struct folder *folder, const char *text,
               struct folder *out);
void tree_leave(struct folder *folder);

/* Whether a plain directory is another one or lies below it. */
bool tree_is_inside(int fd, int above);

int tree_list(const struct folder *folder, struct tree_list *out);
void tree_list_free(struct tree_list *list);

/* Find an entry by its name: -ENOENT where there is none. tree_look is for one
 * of a list. */
int tree_find(const struct folder *folder, const char *name,
              struct tree_entry *entry);
int tree_look(const struct folder *folder, const struct tree_item *item,
              struct tree_entry *entry);

/* An O_PATH descriptor of an entry. */
int tree_hold(const struct folder *folder, const char *text);

int tree_readlink(const struct folder *folder, const char *text,
                  char target[PATH_MAX]);

/* Make entries; -EEXIST where the name is taken. Modes are exact; the owner may
 * always work in a new folder. */
int tree_mkdir(const struct folder *folder, const char *name, mode_t mode,
               const struct tree_owner *owner);
int tree_symlink(const struct folder *folder, const char *name,
                 const char *target, const struct tree_owner *owner);
int tree_mknod(const struct folder *folder, const char *name, mode_t mode,
               dev_t device, const struct tree_owner *owner);
/* tree_no_links: whether an error means that the store (or a phone's policy)
 * takes no hard links. */
int tree_link(const struct folder *from, const char *from_text,
              const struct folder *to, const char *name);
bool tree_no_links(int error);
int tree_unlink(const struct folder *folder, const char *name);

/* Give what has the temporary name of `name` that name; what stands there, and
 * is no directory, is replaced. After an error the temporary name is gone. */
int tree_replace(const struct folder *folder, const char *name);

/* ---- content ---- */

int content_open(const struct folder *folder, const char *text,
                 struct content *out);
/* fstat, with the plaintext size. */
int content_stat(struct content *content, struct stat *st);
ssize_t content_read(struct content *content, void *buf, size_t size,
                     uint64_t position);
/* SEEK_DATA, SEEK_HOLE; where the store cannot tell, all is data. */
int64_t content_seek(struct content *content, uint64_t position, int whence);
/* Close; only what was opened for reading. */
void content_close(struct content *content);

/*
 * A new file: it has no name, or (where the store needs one) a temporary one
 * that belongs to `name` and is taken over from a run that was killed. Then
 * write, set its size (which ends the writing), and give it its name, under
 * which it replaces a file that is there already. content_commit closes in any
 * case, as content_discard does, which leaves nothing; -EAGAIN where the store
 * gives no name to what has none: begin again, this will not happen twice.
 */
int content_create(const struct folder *folder, const char *name,
                   const struct tree_owner *owner, struct content *out);
int content_write(struct content *content, const void *buf, size_t size,
                  uint64_t position);
int content_finish(struct content *content, uint64_t size);
int content_commit(const struct folder *folder, const char *name,
                   struct content *content);
void content_discard(const struct folder *folder, struct content *content);

/* ---- attributes, of what `fd` is open on (O_PATH is enough) ---- */

/* The names, each ended by NUL, in fresh memory; returns their size. Names that
 * do not open are left out, and counted. */
ssize_t tree_xattr_list(const struct volume *volume, int fd, char **list,
                        size_t *damaged);
/* The value in fresh memory; returns its size. */
ssize_t tree_xattr_get(const struct volume *volume, int fd, const char *name,
                       void **value);
int tree_xattr_set(const struct volume *volume, int fd, const char *name,
                   const void *value, size_t size);
int tree_xattr_remove(const struct volume *volume, int fd, const char *name);

#endif
