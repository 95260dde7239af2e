/*
 * The file object: truncation and extension.
 *
 * Shortening: the header first (then, on the disk, before the length), the
 * length mark second, the last sector third. A kill in between shows the old
 * length (more sectors than the header says) or the new one, never a missing
 * tail. Shortening to nothing removes all at once; the header follows with the
 * next write or when the file is finalized.
 */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/io.h"
#include "fs/volume/scratch.h"

int file_set_sparse(struct file *f)
{
	int error;

	if (f->header.flags & HEADER_SPARSE)
		return 0;
	f->header.flags |= HEADER_SPARSE;
	error = file_store_header(f, f->header.size);
	/* On the disk before the hole: a zero sector in a file that is not
	 * sparse is damage. */
	if (!error && io->fdatasync(f->fd))
		error = -errno;
	if (error)
		f->header.flags &= ~(uint32_t)HEADER_SPARSE;
	else
		f->changed = true;
	return error;
}

static int extend(struct file *f, uint64_t size)
{
	uint64_t gap = size - f->size, filled;
	uint32_t last;
	int error;

	if (gap < GAP_FILL_MAX)
		return file_write_zeros(f, f->size, gap);
	error = file_set_sparse(f);
	if (error)
		return error;
	/* The last sector is no longer the last: fill it up. */
	last = f->size ? (uint32_t)(f->size - sector_start(sector_of(f->size - 1)))
	               : 0;
	filled = last ? sector_capacity(sector_of(f->size - 1)) - last : 0;
	error = file_write_zeros(f, f->size, filled);
	/* Drop the length mark: shortening leaves an old sector's bytes in it,
	 * which would now stand where a hole begins. */
	if (!error && f->disk_length > sector_count(f->size) * SECTOR_SIZE &&
	    f->disk_length > HEADER_SIZE)
		error = file_set_length(f, f->size
			? sector_count(f->size) * SECTOR_SIZE : HEADER_SIZE);
	if (!error) {
		f->present = f->size = size;
		f->tail_valid = false;
	}
	return error;
}

int file_extend(struct file *f, uint64_t size)
{
	uint64_t before = f->size;
	int error;

	if (file_is_truncated(f))
		return -EBADMSG;
	f->changed = true;
	error = extend(f, size);
	if (error && f->size > before)
		file_truncate_locked(f, before);
	return error;
}

int file_grow(struct file *f, uint64_t size)
{
	uint64_t before = f->size;
	int error = file_extend(f, size);

	if (error)
		return error;
	error = file_finalize_locked(f, false);
	if (error) /* the store may not take files of this length */
		file_truncate_locked(f, before);
	return error;
}

/* The last sector after shortening: its trailer should tell no more bytes
 * than the file has, and those cut off should not stay. Best effort: where it
 * cannot be read it stays as it is. */
static int trim_last_sector(struct file *f)
{
	uint64_t last = sector_of(f->size - 1);
	uint32_t want = (uint32_t)(f->size - sector_start(last));
	uint8_t *buf = scratch_get(SCRATCH_SECTORS, SECTOR_SIZE);
	size_t done;
	int size, error;

	if (!buf)
		return -ENOMEM;
	if (want == sector_capacity(last))
		return 0;
	/* A hole needs no trimming, so ask for the sector as it is stored. */
	file_quiet(f);
	error = (int)io_read_full(f->fd, buf, sector_message(last),
	                          (off_t)sector_offset(last));
	if (error < 0)
		return error;
	memset(buf + error, 0, sector_message(last) - (size_t)error);
	error = sectors_open(f->volume->keys->content, f->header.id, last, 1,
	                     buf, &size);
	if (error || size <= (int)want)
		return error;
	error = sectors_seal(f->volume->keys->content, f->header.id, last, 1,
	                     buf, want);
	if (error)
		return error;
	error = io_write_full(f->fd, buf, sector_message(last),
	                      (off_t)sector_offset(last), &done);
	if (error && done) { /* it must not stay half written */
		error = io_write_full(f->fd, buf, sector_message(last),
		                      (off_t)sector_offset(last), NULL);
		if (error)
			file_keep_torn(f, buf, sector_message(last),
			               sector_offset(last));
	}
	return error;
}

static int shorten(struct file *f, uint64_t size)
{
	uint64_t before = f->size;
	int error = 0;

	f->changed = true;
	f->tail_valid = false;
	if (size == 0) {
		/* A new header where the old one cannot be trusted. */
		if (io->ftruncate(f->fd, 0))
			return -errno;
		free(f->torn);
		f->torn = NULL;
		if (f->header_state == HEADER_BAD)
			f->header_state = HEADER_NONE;
		f->disk_length = 0;
		f->header_stored = false;
		f->header.flags = 0;
		f->header.size = 0;
		f->size = f->present = 0;
		atomic_store(&f->bad, false);
		return file_ensure_header(f);
	}
	if (!f->header_stored || f->header.size > size || before > f->present) {
		error = file_store_header(f, size);
		/* On the disk before the length, or a power cut could leave a
		 * file that is shorter than its header says. */
		if (!error && io->fdatasync(f->fd))
			error = -errno;
	}
	if (!error)
		error = file_set_length(f, size_encrypted(size));
	if (error)
		return error;
	f->size = f->present = size;
	return trim_last_sector(f);
}

int file_truncate_locked(struct file *f, uint64_t size)
{
	int error;

	if (size > PLAIN_SIZE_MAX)
		return -EFBIG;
	if (f->header_state == HEADER_BAD && size)
		return -EBADMSG;
	if (file_is_truncated(f) && size > f->present)
		return -EBADMSG;
	error = size ? file_mend_torn(f) : 0;
	if (error)
		return error;
	if (size < f->size || f->header_state == HEADER_BAD) {
		error = shorten(f, size);
	} else {
		/* Also with the same size: it may not be finalized yet. */
		f->changed = true;
		error = file_ensure_header(f);
		if (!error && size > f->size)
			return file_grow(f, size);
	}
	if (error || size == 0)
		return error;
	return file_finalize_locked(f, false);
}

int file_truncate(struct file *f, uint64_t size)
{
	bool changes;
	int error;

	pthread_rwlock_wrlock(&f->lock);
	changes = size != f->size;
	error = f->access == O_RDONLY ? -EINVAL : file_truncate_locked(f, size);
	/* A truncation is a modification, also where the size stays. */
	if (!error && !changes)
		error = file_set_length(f, f->disk_length);
	pthread_rwlock_unlock(&f->lock);
	return error;
}
