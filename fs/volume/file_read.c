/* The file object: reading. */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/volume/io.h"
#include "fs/volume/scratch.h"

/* Sectors that are read and decrypted in one step: the ciphertext stays in a
 * small core's second-level cache until it is copied out. */
enum { READ_BATCH = 64 };

int file_load_sectors(struct file *f, uint64_t first, size_t count,
                      uint8_t *buf, int *sizes)
{
	size_t total = (first ? 0 : SECTOR_SIZE - HEADER_SIZE) +
	               (count - !first) * SECTOR_SIZE;
	bool sparse = f->header.flags & HEADER_SPARSE;
	uint64_t there = f->disk_length / SECTOR_SIZE;
	ssize_t n = io_read_full(f->fd, buf, total, (off_t)sector_offset(first));
	int error;

	if (n < 0)
		return (int)n;
	memset(buf + n, 0, total - (size_t)n);
	error = sectors_open(f->volume->keys->content, f->header.id, first,
	                     count, buf, sizes);
	for (size_t k = 0; k < count && !error; k++) {
		if (sizes[k] != SECTOR_HOLE)
			continue;
		if (sparse || first + k >= there)
			sizes[k] = (int)sector_capacity(first + k);
		else
			sizes[k] = SECTOR_CORRUPT;
	}
	return error;
}

/* Copy the part of [position, end) that lies in `count` opened sectors.
 * Returns how far it came: less than asked where a sector is bad. */
static uint64_t copy_out(struct file *f, uint8_t *to, uint64_t position,
                         uint64_t end, uint64_t first, size_t count,
                         const uint8_t *buf, const int *sizes)
{
	uint64_t at = position;

	for (size_t k = 0; k < count && at < end; k++) {
		uint64_t i = first + k, start = sector_start(i);
		uint64_t stop = start + sector_capacity(i);
		uint64_t good = sizes[k] < 0 ? start : start + (uint64_t)sizes[k];
		const uint8_t *payload =
			buf + (sector_offset(i) - sector_offset(first));

		if (stop > end)
			stop = end;
		if (good > stop)
			good = stop;
		if (good > at) {
			memcpy(to + (at - position), payload + (at - start),
			       good - at);
			at = good;
		}
		if (at < stop) {
			file_note_bad(f, i);
			break;
		}
	}
	return at;
}

static ssize_t read_locked(struct file *f, uint8_t *buf, size_t size,
                           uint64_t position, bool partial)
{
	int sizes[READ_BATCH];
	uint64_t at = position, end, there;
	uint8_t *sectors;
	int error = 0;

	if (f->header_state == HEADER_BAD)
		return -EBADMSG;
	if (position >= f->size || size == 0)
		return 0;
	end = size < f->size - position ? position + size : f->size;
	there = end < f->present ? end : f->present;
	sectors = scratch_get(SCRATCH_SECTORS, READ_BATCH * SECTOR_SIZE);
	if (!sectors)
		return -ENOMEM;
	while (at < there) {
		uint64_t first = sector_of(at), last = sector_of(there - 1);
		size_t count = last - first < READ_BATCH
			? (size_t)(last - first) + 1 : READ_BATCH;
		uint64_t stop = sector_start(first + count);

		if (stop > there)
			stop = there;
		error = file_load_sectors(f, first, count, sectors, sizes);
		if (error)
			break;
		at = copy_out(f, buf + (at - position), at, stop, first, count,
		              sectors, sizes) ;
		if (at < stop) {
			error = -EBADMSG;
			break;
		}
	}
	if (!error && at < end)
		error = -EBADMSG; /* the tail that is missing */
	if (error && !(partial && at > position))
		return error;
	return (ssize_t)(at - position);
}

static ssize_t read_once(struct file *f, void *buf, size_t size,
                         uint64_t position, unsigned how)
{
	ssize_t n;

	pthread_rwlock_rdlock(&f->lock);
	/* What a user reads sets it again. */
	if (how & FILE_QUIET)
		file_quiet(f);
	else if (atomic_load(&f->quiet) && !fcntl(f->fd, F_SETFL, 0))
		atomic_store(&f->quiet, false);
	n = read_locked(f, buf, size, position, how & FILE_PARTIAL);
	pthread_rwlock_unlock(&f->lock);
	return n;
}

ssize_t file_read(struct file *f, void *buf, size_t size, uint64_t position,
                  unsigned how)
{
	ssize_t n = read_once(f, buf, size, position, how);

	/* Perhaps it is whole, but another version. */
	if (n == -EBADMSG && file_refresh(f))
		n = read_once(f, buf, size, position, how);
	return n;
}
