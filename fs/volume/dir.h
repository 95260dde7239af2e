/*
 * A ciphertext directory as a directory of plaintext names.
 *
 * Every function takes plaintext names, finds or makes the ciphertext names,
 * and works by *at calls relative to the directory's descriptor; no symbolic
 * link of the ciphertext is ever followed. Where a volume is read-only the
 * changing ones return -EROFS.
 *
 * A directory has one id, or several where a sync tool merged two directories.
 * Names are then tried under each, in ascending order of the ids' bytes; new
 * names use the id under which most names open (the smallest, where none
 * does).
 *
 * Odd entries are shown with a suffix to their plaintext name:
 *   - a sync tool's conflict copy (encrypted name + suffix) with its own
 *     suffix: "report" + ".sync-conflict-20240102-030405-ABCDEFG";
 *   - a name that stands under a smaller id as well with " (conflict " + the
 *     first 8 characters of its id's base64url + ")".
 * Where that is taken, " (2)", " (3)", ... follow; where it is longer than 255
 * bytes, the plaintext part is cut. Odd entries are found, read, renamed and
 * removed like others; a rename gives them an ordinary name.
 *
 * A `struct dir` may be used by several threads: what it caches (ids, odd
 * entries) is behind a lock of its own and is read again when the directory
 * changed, at most once in DIR_REFRESH_MS (in large directories less often:
 * reading takes a twentieth of the time at most). Changing calls for one
 * directory are serialized by the caller (as the kernel does for a mount).
 *
 * A process that is killed in a changing call leaves the old state or the new
 * one, and at most some of the tool's own files that nobody sees. (One case
 * shows a state in between: a directory renamed over an empty one has both its
 * new name and, with the empty directory, its old one for a moment.)
 */
#ifndef FS_VOLUME_DIR_H
#define FS_VOLUME_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/format/name.h"
#include "fs/volume/volume.h"

enum { DIR_REFRESH_MS = 1000 };

struct dir;

/* The caller on whose behalf an entry is made; NULL leaves owner and mode as
 * they come. A daemon that runs as root gives the new entry to this user and
 * group (the directory's group, where that is setgid); any other daemon leaves
 * the owner as it is. umask is applied to the mode unless the directory has a
 * default ACL; the process's own umask must be 0. */
struct dir_caller {
	uid_t uid;
	gid_t gid;
	mode_t umask;
};

/* An existing entry: its ciphertext name. */
struct dir_entry {
	char text[NAME_TEXT_MAX + 1];
	bool is_long;     /* has a .name file */
	bool is_conflict; /* shown with a suffix */
};

/*
 * Make a directory object from a descriptor (O_RDONLY | O_DIRECTORY), which
 * it owns from then on, also when this fails; reads the directory's ids.
 * Returns 0, -EUCLEAN when there is no id file (the directory's names cannot
 * be read; a message that names the directory was logged), -ENOMEM, or the
 * error of reading.
 */
int dir_open(struct dir **out, const struct volume *volume, int fd);
struct dir *dir_ref(struct dir *dir);   /* counted references */
void dir_unref(struct dir *dir);        /* NULL is allowed */

int dir_fd(const struct dir *dir);

/* The id under which new names are made. */
void dir_id(struct dir *dir, uint8_t id[ID_SIZE]);

/*
 * Find an entry by its plaintext name. st becomes the lstat of the ciphertext
 * entry as it is, sizes included (see dir_plain_stat).
 * Returns 0, -ENOENT, -ENAMETOOLONG, or another error.
 */
int dir_find(struct dir *dir, const char *plain, struct dir_entry *entry,
             struct stat *st);

/*
 * Turn the lstat of an entry into what a user sees: the plaintext size of a
 * regular file (by arithmetic; where the file is not finalized, by reading its
 * last sector) and of a symbolic link. Never changes anything, access times
 * included, but for a link whose target stands in a file of its own: there the
 * link must be read. A damaged entry has a size as well: what a file's length
 * allows for, 0 for a link.
 */
int dir_plain_stat(struct dir *dir, const char *text, struct stat *st);

/* A listing: every plaintext entry but "." and "..". */
struct dir_item {
	const char *plain; /* ended by NUL */
	const char *text;  /* ciphertext name */
	uint64_t inode;
	unsigned char type; /* DT_* */
};

struct dir_listing {
	size_t count;
	struct dir_item *items;
	size_t damaged; /* names of the right form that do not open: left out */
	void *arena;
};

/*
 * Read the whole directory. Names that do not open are left out and counted
 * in `damaged` (logged once); where every name of the right form is damaged
 * the result is -EBADMSG, never an empty listing.
 */
int dir_list(struct dir *dir, struct dir_listing *out);
void dir_listing_free(struct dir_listing *listing);

/*
 * Create a regular file (as O_CREAT | O_EXCL) and return a descriptor open
 * for reading and writing (and O_CLOEXEC), whatever the mode. The file is
 * empty (0 bytes): its header is fs/volume/file's work. A regular file made by
 * dir_mknod is given its header there.
 */
int dir_create(struct dir *dir, const char *plain, mode_t mode,
               const struct dir_caller *caller, struct dir_entry *entry,
               int *fd);
/* The same without a name (O_TMPFILE), to be given one by dir_link_fd (not with
 * `never_named`, O_EXCL) or to vanish; -EOPNOTSUPP where the store cannot do
 * that. */
int dir_create_unnamed(struct dir *dir, mode_t mode, bool never_named,
                       const struct dir_caller *caller, int *fd);
int dir_mknod(struct dir *dir, const char *plain, mode_t mode, dev_t device,
              const struct dir_caller *caller, struct dir_entry *entry);

/* Make a directory: under a temporary name, with its id file inside, synced,
 * then renamed into place, with exactly the mode wanted. */
int dir_mkdir(struct dir *dir, const char *plain, mode_t mode,
              const struct dir_caller *caller, struct dir_entry *entry);

/* Make the id file of a directory that is being made: `fd` is the directory,
 * `parent` its parent's id or NULL for the root (then its own id). Its mode
 * is the directory's without x. Synced. Also for init. */
int dir_make_id(const struct volume *volume, int fd, const uint8_t *parent);

/* Remove an empty directory (one that holds nothing but the tool's own
 * files): renamed away first. -ENOTEMPTY also where only foreign files are
 * left; that is logged with the ciphertext path. */
int dir_rmdir(struct dir *dir, const char *plain);

int dir_symlink(struct dir *dir, const char *plain, const char *target,
                const struct dir_caller *caller, struct dir_entry *entry);

/* Read the target of the symbolic link with this ciphertext name; `target` is
 * ended by NUL. Returns its length, -EINVAL if it is no link, -EBADMSG if it
 * does not open. */
int dir_readlink(struct dir *dir, const char *text,
                 char target[4096]);

/* Hard link: `from_text` is the ciphertext name in `from`. */
int dir_link(struct dir *from, const char *from_text, struct dir *to,
             const char *plain, struct dir_entry *entry);
/* A name for an open file that has none. */
int dir_link_fd(int fd, struct dir *to, const char *plain,
                struct dir_entry *entry);

int dir_unlink(struct dir *dir, const char *plain);

/*
 * Rename, with the flags of renameat2 (RENAME_NOREPLACE, RENAME_EXCHANGE,
 * RENAME_WHITEOUT).
 * An existing empty directory may be the target of a directory. `entry`
 * becomes the entry under its new name, `other` (with EXCHANGE) the one that
 * now stands under the old name. A name that is too long is refused before
 * anything is changed.
 */
int dir_rename(struct dir *from, const char *from_plain, struct dir *to,
               const char *to_plain, unsigned flags,
               struct dir_entry *entry, struct dir_entry *other);

#endif
