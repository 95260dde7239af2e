/*
 * Open regular files. All handles on a node share one file object (fs/volume/
 * file), made by the first and closed, and so finalized, by the last of them.
 * Whatever flags a user opens with, the ciphertext is opened plainly for
 * reading, or for reading and writing.
 */
#ifndef FS_MOUNT_OPEN_H
#define FS_MOUNT_OPEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "fs/mount/mount.h"
#include "fs/mount/node.h"
#include "fs/volume/file.h"

struct handle {
	struct handle *prev, *next; /* of the same node */
	struct node *node;
	struct open_file *open;
	struct file *file;
	bool writes;  /* opened for writing */
	atomic_uint lost; /* failed syncs of the file that it was told of */
	bool partial; /* the kernel takes short reads for what they are */
	bool is_news; /* the version differs from the one that the kernel read */
	atomic_uint versions; /* file_versions that the kernel knows of */
};

/* Open a node's file; access is O_RDONLY, O_WRONLY or O_RDWR. */
int open_node(struct mount *mount, struct node *node, int access,
              struct handle **out);

/* The same for a file that was just created: `fd` (open for reading and
 * writing) is owned from then on, also when this fails. */
int open_created(struct mount *mount, struct node *node, int fd,
                 const uint8_t made_in[ID_SIZE], struct handle **out);

/* Give a handle back. Returns the error of finalizing, if it was the last. */
int open_close(struct mount *mount, struct handle *handle);

/* Attributes as a user sees them, from the open file; -ENOENT where no handle
 * is open on the node. */
int open_stat(struct mount *mount, struct node *node, struct stat *st);

/* A handle if there are others already, else NULL; given back by
 * open_close. */
struct handle *open_if_open(struct mount *mount, struct node *node);

/*
 * With the mount option writeback the modification time is the kernel's
 * business, which tells a new one where there is one: what it writes late must
 * not change it. open_keep_time comes before such a write, open_note_time after
 * a time was set; open_restore_time puts back what was kept, when the file is
 * finalized or synchronized (closing does so by itself).
 */
void open_keep_time(struct handle *handle);
void open_note_time(struct handle *handle);
void open_restore_time(struct handle *handle);

/* Whether there is any handle. */
bool open_is_open(struct mount *mount, struct node *node);

/* Whether there is a handle that was opened for writing. */
bool open_for_writing(struct mount *mount, struct node *node);

/* fsync. What the store could not sync, each handle is told once, whoever
 * asked it. */
int open_sync(struct handle *handle, bool data_only);

/* Close all files, when no request is under way any more. */
void open_close_all(struct mount *mount);

/* Say in the log, once for a node, that reading it met damage. */
void open_log_damage(struct mount *mount, struct handle *handle,
                     uint64_t position);

#endif
