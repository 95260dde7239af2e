/*
 * What the parts of the file object share. Functions here are called with the
 * file's lock held (for writing, unless said otherwise).
 */
#ifndef FS_VOLUME_FILE_IMPL_H
#define FS_VOLUME_FILE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/volume/file.h"

/* A gap below this, made by writing past the end, is filled with sealed
 * zeros; a longer one becomes a hole. Bytes. */
enum { GAP_FILL_MAX = 128 * 1024 };

enum header_state {
	HEADER_NONE, /* no file content yet: made when it is needed */
	HEADER_GOOD,
	HEADER_BAD,
};

struct file {
	pthread_rwlock_t lock;
	const struct volume *volume;
	int fd;
	int old_fd[2]; /* replaced, but perhaps in use by a sync; or -1 */
	int access;
	atomic_bool quiet;    /* reading leaves the access time alone */
	uint8_t made_in[ID_SIZE];

	enum header_state header_state;
	bool header_stored;   /* header (below) is what the file has */
	struct header header; /* its size: the one when last stored */

	uint64_t size;        /* plaintext bytes, for the user */
	uint64_t present;     /* plaintext bytes that are there: below `size`
	                       * where the tail is missing, else equal */
	uint64_t disk_length; /* bytes of the ciphertext file */
	bool changed;         /* by us, so that finalizing is ours to do */

	atomic_uint versions; /* that others put in place of the one opened */
	atomic_bool bad;      /* a bad sector was met */
	_Atomic uint64_t bad_sector;
	atomic_uint lost;     /* syncs that failed, and the last one's error */
	atomic_int lost_error;

	/* Ciphertext that the store took in part, and refused when it was
	 * given again: what was there before is lost, so that it is kept and
	 * written before anything else. NULL: there is none. */
	uint8_t *torn;
	size_t torn_size;
	uint64_t torn_offset;

	/* Plaintext of the sector that the last write ended in, so that
	 * appending piece by piece does not read it back each time. Kept until
	 * the next finalization. */
	bool tail_valid;
	uint64_t tail_sector;
	uint8_t *tail;
};

static inline bool file_is_truncated(const struct file *f)
{
	return f->present < f->size;
}

/* Note a bad sector, for file_damaged and file_bad_sector. */
void file_note_bad(struct file *f, uint64_t sector);

/*
 * Read and open `count` sectors into buf (laid out as in the file, sector
 * `first` at buf[0]); sizes[] as by sectors_open, with holes of a sparse file
 * as full sectors of zeros, other zero sectors as SECTOR_CORRUPT, and sectors
 * past the end of the ciphertext as holes. For readers and writers.
 * Returns 0 or a negative errno of reading.
 */
int file_load_sectors(struct file *f, uint64_t first, size_t count,
                      uint8_t *buf, int *sizes);

/* Before reading for our own purposes: the access time is for what a user
 * reads, as far as the store lets us leave it alone. */
void file_quiet(struct file *f);

/* Read header and sizes of the file that f->fd is open on. */
int file_load(struct file *f);

/* Make a header in memory where there is none. */
int file_ensure_header(struct file *f);

/* Store f->header with `size` in it. */
int file_store_header(struct file *f, uint64_t size);

/* Keep ciphertext that was written in part; and write what was kept (0 where
 * there is nothing). */
void file_keep_torn(struct file *f, const uint8_t *bytes, size_t size,
                    uint64_t offset);
int file_mend_torn(struct file *f);

/* Mark the file sparse, on the disk, before a hole is made. */
int file_set_sparse(struct file *f);

/* Set the length of the ciphertext. */
int file_set_length(struct file *f, uint64_t length);

/* Write within the file or at its end (position <= present). */
ssize_t file_write_at(struct file *f, const uint8_t *buf, size_t size,
                      uint64_t position);

/* The same with `size` zero bytes, of any number. Returns 0 or an error. */
int file_write_zeros(struct file *f, uint64_t position, uint64_t size);

/* Make the file longer, without finalizing it: sealed zeros or a hole. On an
 * error it has its old size again. */
int file_extend(struct file *f, uint64_t size);

/* The same, and finalize it. */
int file_grow(struct file *f, uint64_t size);

int file_truncate_locked(struct file *f, uint64_t size);
int file_finalize_locked(struct file *f, bool keep_attributes);

#endif
