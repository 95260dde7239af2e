/*
 * The content of a file: the one door through which every read, write,
 * truncation, hole and finalization goes, from the mount or from a tool.
 *
 * A `struct file` is one ciphertext file, shared by all handles on it; its
 * lock makes every call atomic with respect to the others. Positions and
 * sizes are plaintext bytes. A write that returned is in the ciphertext file
 * (so that it outlives the process); its length mark and header are brought
 * up to date by file_finalize.
 *
 * Damage: reading a sector that does not authenticate gives -EBADMSG (the
 * caller's user sees EIO); nothing of such a sector is ever returned.
 */
#ifndef FS_VOLUME_FILE_H
#define FS_VOLUME_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "fs/format/header.h"
#include "fs/volume/volume.h"

struct file;

/*
 * Make a file object from a descriptor, which it owns from then on (also when
 * this fails). `access` is what the descriptor allows (O_RDONLY, O_WRONLY,
 * O_RDWR). made_in is the id of the directory, for a header that is still to
 * be made (a file of 0 bytes).
 * A file with a damaged header opens; then reads, writes and truncation to
 * other sizes than 0 give -EBADMSG (truncation to 0 makes a new header).
 * Returns 0, -EACCES for O_WRONLY on a file that must be read first, or the
 * error of reading.
 */
int file_open(struct file **out, const struct volume *volume, int fd,
              int access, const uint8_t made_in[ID_SIZE]);

/* Finalize and free. Returns the error of finalizing. */
int file_close(struct file *file);

/* Replace the descriptor by one of the same file that allows more. At most
 * twice in the life of the object while other calls may run (O_RDONLY ->
 * O_WRONLY or O_RDWR -> O_RDWR). */
void file_replace_fd(struct file *file, int fd, int access);

/* The descriptor, for calls that do not touch content (fchmod, fchown, ...),
 * and what it allows. */
int file_fd(struct file *file);
int file_access(struct file *file);

/* Size in bytes. For a truncated file (its tail is gone) the size its header
 * proves, so that the missing part is met as an error and not as an end. */
uint64_t file_size(struct file *file);

/*
 * Whether the ciphertext was changed by others (its length, or its header: it
 * became another file); if so, what was known of it is read again. Not while
 * there is something of our own to finalize. Reading and file_stat do this
 * themselves where they meet what does not fit.
 */
bool file_refresh(struct file *file);

/* How often that was so. */
unsigned file_versions(struct file *file);

/* What tells one version of the file from another, in short: its id, length and
 * modification time; never 0. False where the store does not answer. */
bool file_tag(struct file *file, uint16_t *tag);

/* fstat, with the plaintext size. */
int file_stat(struct file *file, struct stat *st);

/* Whether damage is known: a missing tail, a bad header, or a bad sector met
 * since it was opened. */
bool file_damaged(struct file *file);

/* The first bad sector that was met since it was opened, or -1. */
int64_t file_bad_sector(struct file *file);

/*
 * Read up to `size` bytes at `position`; 0 at the end. With FILE_PARTIAL, bytes
 * before a bad sector are returned (and the error comes at the next call);
 * without it any bad sector in the range fails the whole call. FILE_QUIET
 * leaves the access time alone, as O_NOATIME asks, where that is permitted and
 * nobody else reads at the same time.
 */
enum { FILE_PARTIAL = 1, FILE_QUIET = 2 };
ssize_t file_read(struct file *file, void *buf, size_t size,
                  uint64_t position, unsigned how);

/* Write `size` bytes. Returns the number written, which is less than `size`
 * only where the store refused the rest, or a negative errno. */
ssize_t file_write(struct file *file, const void *buf, size_t size,
                   uint64_t position);

/* Set the size; the file is finalized by it. */
int file_truncate(struct file *file, uint64_t size);

/* fallocate(2): modes 0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE with
 * or without KEEP_SIZE; -EOPNOTSUPP for others. Preallocation is a hint. */
int file_allocate(struct file *file, int mode, uint64_t position,
                  uint64_t size);

/* lseek(2) with SEEK_DATA or SEEK_HOLE; a position or -ENXIO. */
int64_t file_seek(struct file *file, uint64_t position, int whence);

/* Write the header and set the length mark, if size or flags changed; the
 * access and modification times are left as they were. */
int file_finalize(struct file *file);

/* Finalize, then fsync or fdatasync. */
int file_sync(struct file *file, bool data_only);

/* How often the store could not sync since this was opened (it says so once,
 * to whoever asks first, and may have lost something), and its last error. */
unsigned file_lost(struct file *file, int *error);

/* The plaintext size from a ciphertext file's lstat alone, by arithmetic;
 * -EAGAIN where only the last sector's trailer tells (use file_plain_size). */
int64_t file_size_from_stat(const struct stat *st);

/* The same for any file: reads the last sector where it must. */
int file_plain_size(const struct volume *volume, int dir, const char *text,
                    const struct stat *st, uint64_t *size);

/* What file_verify finds. */
enum file_damage {
	FILE_CORRUPT_SECTOR,   /* does not authenticate */
	FILE_ZEROED_SECTOR,    /* zero bytes in a file without holes */
	FILE_SHORT_SECTOR,     /* an older, shorter version of a sector */
	FILE_CORRUPT_HEADER,
	FILE_TRUNCATED,        /* fewer sectors or bytes than the header says */
	FILE_UNCLEAN_APPEND,   /* more than the header says, or no length mark */
	FILE_UNFINISHED_CREATE,/* 0 bytes */
	FILE_READ_ERROR,       /* the store's error; `error` says which */
};

struct file_finding {
	enum file_damage damage;
	uint64_t first, last;      /* sectors, inclusive; 0 for a header */
	uint64_t start, end;       /* plaintext bytes [start, end) */
	int error;                 /* negative errno, or 0 */
};

struct file_check {
	/* Called for each finding; runs of bad sectors are one finding. */
	void (*found)(void *context, const struct file_finding *finding);
	/* Called now and then with the ciphertext bytes read since the last
	 * call; a result other than 0 stops the check. May be NULL. */
	int (*progress)(void *context, uint64_t bytes);
	void *context;
	/* Only `count` sectors from `from` on are checked (0 and 0: all), so
	 * that several threads can share a large file. Header and length are
	 * checked with the part that begins with sector 0. */
	uint64_t from, count;
	struct header header;      /* becomes the header, where it opens */
	uint64_t size;             /* becomes the plaintext size */
};

/*
 * Check every sector of the ciphertext file that `fd` reads (it stays the
 * caller's). Holes of a sparse file are not read. Returns 0 whatever was
 * found, -ECANCELED after `progress` stopped it, or -ENOMEM.
 */
int file_verify(const struct volume *volume, int fd, struct file_check *check);

#endif
