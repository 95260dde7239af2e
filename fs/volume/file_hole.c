/* The file object: preallocation, punching holes, finding data and holes. */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/io.h"

/* Reserve room in the ciphertext for plaintext [position, end). */
static int preallocate(struct file *f, uint64_t position, uint64_t end)
{
	uint64_t from = sector_of(position) * SECTOR_SIZE;
	uint64_t to = (sector_of(end - 1) + 1) * SECTOR_SIZE;

	/* With its length kept: the new extents read as zeros, which is a hole
	 * inside the file and nothing at all outside. */
	if (io->fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)from,
	                  (off_t)(to - from)))
		return -errno;
	return 0;
}

/* Make [position, end), inside the file, read as zeros: a hole where whole
 * sectors are covered, sealed zeros at the edges. */
static int punch(struct file *f, uint64_t position, uint64_t end)
{
	uint64_t first = sector_of(position), stop; /* whole sectors */
	uint64_t hole_from, hole_to;
	int error;

	if (position > sector_start(first))
		first++;
	stop = end == f->size ? sector_count(f->size) : sector_of(end);
	if (first >= stop)
		return file_write_zeros(f, position, end - position);
	error = file_set_sparse(f);
	/* With the length mark set: where the last sector becomes a hole there
	 * is no trailer to tell the size. */
	f->changed = true;
	if (!error)
		error = file_finalize_locked(f, false);
	if (error)
		return error;
	hole_from = sector_offset(first);
	hole_to = stop * SECTOR_SIZE;
	f->tail_valid = false;
	if (io->fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                  (off_t)hole_from, (off_t)(hole_to - hole_from)))
		return -errno;
	if (position < sector_start(first))
		error = file_write_zeros(f, position,
		                         sector_start(first) - position);
	if (!error && stop < sector_count(f->size) && end > sector_start(stop))
		error = file_write_zeros(f, sector_start(stop),
		                         end - sector_start(stop));
	return error;
}

static int allocate_locked(struct file *f, int mode, uint64_t position,
                           uint64_t size)
{
	bool keep = mode & FALLOC_FL_KEEP_SIZE;
	uint64_t end = position + size, inside;
	int error;

	if (f->access == O_RDONLY)
		return -EBADF;
	if (size == 0)
		return -EINVAL;
	if (position > PLAIN_SIZE_MAX || size > PLAIN_SIZE_MAX - position)
		return -EFBIG;
	error = file_ensure_header(f);
	if (!error)
		error = file_mend_torn(f);
	if (error)
		return error;
	if (file_is_truncated(f))
		return -EBADMSG;
	switch (mode & ~FALLOC_FL_KEEP_SIZE) {
	case 0:
		/* The header's block too, before anything else. */
		error = preallocate(f, position, end);
		break;
	case FALLOC_FL_PUNCH_HOLE:
		if (!keep)
			return -EOPNOTSUPP;
		/* fall through */
	case FALLOC_FL_ZERO_RANGE:
		inside = end < f->size ? end : f->size;
		if (position < inside)
			error = punch(f, position, inside);
		break;
	default:
		return -EOPNOTSUPP;
	}
	f->changed = true;
	if (!error && !keep && end > f->size)
		error = file_grow(f, end);
	return error;
}

int file_allocate(struct file *f, int mode, uint64_t position, uint64_t size)
{
	int error;

	pthread_rwlock_wrlock(&f->lock);
	error = allocate_locked(f, mode, position, size);
	pthread_rwlock_unlock(&f->lock);
	return error;
}

/* The store keeps sector 0 in one unit with the header, so it cannot tell that
 * it is a hole. */
static bool first_is_hole(struct file *f)
{
	static const uint8_t zeros[SECTOR_SIZE];
	uint8_t sector[SECTOR_SIZE - HEADER_SIZE];

	return io_read_full(f->fd, sector, sizeof(sector), HEADER_SIZE)
	       == sizeof(sector) && !memcmp(sector, zeros, sizeof(sector));
}

static int64_t seek_locked(struct file *f, uint64_t position, int whence)
{
	uint64_t sector, found, at;
	off_t to;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	if (f->header_state == HEADER_BAD)
		return -EBADMSG;
	if (position >= f->size)
		return -ENXIO;
	if (!(f->header.flags & HEADER_SPARSE))
		return (int64_t)(whence == SEEK_DATA ? position : f->size);
	sector = sector_of(position);
	if (sector == 0 && first_is_hole(f)) {
		if (whence == SEEK_HOLE)
			return (int64_t)position;
		sector = 1;
	}
	to = lseek(f->fd, (off_t)(sector * SECTOR_SIZE), whence);
	if (to < 0) {
		if (errno != ENXIO)
			return -errno;
		return whence == SEEK_DATA ? -ENXIO : (int64_t)f->size;
	}
	/* A store with units below a sector may report a part of one. */
	found = whence == SEEK_DATA ? (uint64_t)to / SECTOR_SIZE
	        : ((uint64_t)to + SECTOR_SIZE - 1) / SECTOR_SIZE;
	at = found <= sector_of(position) ? position : sector_start(found);
	if (at >= f->size)
		return whence == SEEK_DATA ? -ENXIO : (int64_t)f->size;
	return (int64_t)at;
}

int64_t file_seek(struct file *f, uint64_t position, int whence)
{
	int64_t at;

	pthread_rwlock_rdlock(&f->lock);
	at = seek_locked(f, position, whence);
	pthread_rwlock_unlock(&f->lock);
	return at;
}
