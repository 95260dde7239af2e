/*
 * What the files of fs/volume/dir*.c share.
 */
#ifndef FS_VOLUME_DIR_IMPL_H
#define FS_VOLUME_DIR_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include <uthash.h>

#include "fs/volume/dir.h"

/* An entry whose plaintext name is not simply that of its text: a conflict
 * copy, or a name that stands under another id as well. */
struct odd {
	char text[NAME_TEXT_MAX + 1];
	char shown[NAME_PLAIN_MAX + 1];
	bool is_long;
	UT_hash_handle by_text, by_shown;
};

/* What is known of a directory's content; never changed once it is made. */
struct dir_state {
	atomic_uint refs;
	size_t count;      /* of ids, in ascending order */
	size_t main;       /* index of the one for new names */
	struct odd *by_text, *by_shown;
	uint8_t ids[][ID_SIZE];
};

struct dir {
	const struct volume *volume;
	int fd;
	dev_t device;
	ino_t inode;
	atomic_uint refs;
	atomic_bool told;          /* its damaged names were logged */
	pthread_mutex_t lock;      /* for what follows */
	struct dir_state *state;
	struct timespec changed;   /* ctime when state was read */
	bool recent;               /* ctime was too new to tell of a change */
	uint64_t checked;          /* ms of the coarse clock */
	uint64_t interval;         /* ms until the next check */
};

/* dir.c */

static inline bool dir_same(const struct dir *a, const struct dir *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* The state, refreshed where that is due; give it back with state_put.
 * state_get_now does not wait for DIR_REFRESH_MS. */
int state_get(struct dir *dir, struct dir_state **out);
int state_get_now(struct dir *dir, struct dir_state **out);
void state_put(struct dir_state *state);

/* Read the state again at the next call: a change made some of it wrong. */
void state_forget(struct dir *dir);

/* Write the id file of a directory. */
int id_write(const struct volume *volume, int fd, const uint8_t *id,
             const uint8_t *parent);

/* The path of an open descriptor, for messages. */
const char *fd_path(int fd, char path[4096]);

/* dir_scan.c */

/* Read the ids, and the odd entries where there may be any. */
int state_read(const struct dir *dir, struct dir_state **out);

/* Open the text of an entry (encrypted, or long) under any of the ids; *which
 * becomes the index of the id. Returns the length, -EBADMSG, or the error of
 * reading. */
int text_open(const struct volume *volume, int fd,
              const uint8_t (*ids)[ID_SIZE], size_t count, const char *text,
              char plain[NAME_PLAIN_MAX + 1], size_t *which);

/* Whether an entry of this text, of at most NAME_TEXT_MAX bytes, is shown in a
 * directory with these ids (as a conflict copy, too). */
bool text_is_shown(const struct volume *volume, int fd,
                   const uint8_t (*ids)[ID_SIZE], size_t count,
                   const char *text);

/* dir_find.c */

/* As dir_find, with a state; `st` may not be NULL. */
int state_find(struct dir *dir, const struct dir_state *state,
               const char *plain, struct dir_entry *entry, struct stat *st);

/* The text under which a new entry of this name is made. Returns -EEXIST
 * where there is one already, as far as that is not left to O_EXCL. */
int state_new_name(struct dir *dir, const struct dir_state *state,
                   const char *plain, struct name_text *out);

/* After an entry was made or moved to `text`: where the state has that text as
 * an odd entry (one that is gone), it must be read again. */
void state_made(struct dir *dir, const struct dir_state *state,
                const char *text);

/* dir_helper.c: the tool's own files beside the entries. */

/* Open for reading without touching the access time, where that is allowed. */
int open_quiet(int dir, const char *name, int flags);

/* Read a whole small file; returns its size, at most `room`, -EBADMSG where
 * it is larger or no regular file, or the error. */
ssize_t helper_read(int dir, const char *name, void *buf, size_t room);

/* Write a file with the directory's owner and mode, synced. helper_make fails
 * with -EEXIST where it exists; helper_replace replaces it at once. */
int helper_make(int dir, const char *name, const void *data, size_t size);
int helper_replace(int dir, const char *name, const void *data, size_t size);

/* A fresh temporary name. */
enum { TEMP_TEXT = 12 + 16 + 1 };
int temp_name(char text[TEMP_TEXT]);

/* Make the .name file of a long name; nothing for others. *made tells whether
 * it has to be removed again when the step after it fails. */
int long_name_make(struct dir *dir, const struct name_text *name, bool *made);

/* Remove the .name file of an entry that is gone, unless others use it. */
void long_name_release(struct dir *dir, const struct dir_state *state,
                       const char *text);

static inline void entry_set(struct dir_entry *entry, const char *text,
                             bool is_long, bool is_conflict)
{
	if (!entry)
		return;
	strcpy(entry->text, text);
	entry->is_long = is_long;
	entry->is_conflict = is_conflict;
}

/* dir_link.c */

/* The name of the file that holds a long link's target; 0, or -ENOENT where
 * the target stands in the link itself. */
enum { LINK_FILE_TEXT = 13 + 22 + 1 };
int link_file_name(int dir, const char *text, const struct stat *st,
                   char name[LINK_FILE_TEXT]);

/* Bring a link's file into another directory, and remove it from one: there at
 * once, or unless another link of the directory needs it (a hard link, or a
 * sync tool's copy). */
int link_file_copy(int from, int to, const char *name, bool *made);
void link_file_remove(int dir, const char *name);
void link_file_release(int dir, const char *name);

/* dir_make.c */

/* Making an entry: choose its text and make its .name file; then, whatever
 * came of it, end with the error or 0, which is returned. */
struct new_entry {
	struct dir_state *state;
	struct name_text name;
	bool made; /* its .name file */
};
int entry_begin(struct dir *dir, const char *plain, struct new_entry *new);
int entry_end(struct dir *dir, struct new_entry *new, int error,
              struct dir_entry *entry);

/* Give a new entry to the caller: `name` in the directory `at`, or `at` itself
 * with an empty name (O_PATH is enough for a directory). st is its lstat; its
 * mode is restored where the change of owner cleared bits of it. */
int give_to(struct dir *dir, int at, const char *name,
            const struct dir_caller *caller, struct stat *st);

/* Rename to a name that must not exist yet, also where the store knows no
 * RENAME_NOREPLACE. */
int rename_new(int from_dir, const char *from, int to_dir, const char *to);

/* chmod of an O_PATH descriptor. */
int chmod_path_fd(int fd, mode_t mode);

/* dir_remove.c */

/* Remove an empty directory: away to a temporary name, then emptied of helper
 * files. After an error it stands under its old name again. */
int remove_dir(struct dir *dir, const struct dir_state *state,
               const char *text);

/* Remove a temporary file, or a temporary directory with its helper files. */
int remove_temp(int dir, const char *name);

/* Whether a directory holds nothing but the tool's own files: 0, -ENOTEMPTY
 * (logged where nothing of it is shown), -EACCES where it cannot be read, or
 * another error. */
int check_empty(struct dir *dir, const char *text);

#endif
