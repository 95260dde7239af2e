/*
 * The file object: writing.
 *
 * The sectors that a write covers whole are never read; those at its two edges
 * are read, changed and written again. All of them go to the store in one
 * pwrite of whole sectors, so that a kill between two system calls leaves each
 * sector old or new.
 *
 * Growing inside the last sector: the length mark still tells the old size
 * while the sector is written, and is then removed, so that from then on the
 * sector's own trailer tells the new one. A kill in between shows the old
 * size, of a write that had not returned.
 */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/volume/io.h"
#include "fs/volume/scratch.h"

/* A request of 1 MiB touches up to 258 sectors. */
enum { WRITE_BATCH = 258 };

/* One system call's worth of a write. */
struct range {
	uint64_t position, end; /* plaintext bytes */
	uint64_t first, last;   /* sectors */
	uint8_t *unit;          /* ciphertext, from the beginning of a unit */
	uint8_t *sectors;       /* where sector `first` begins in it */
};

static uint8_t *payload_of(const struct range *r, uint64_t sector)
{
	return r->sectors + (sector_offset(sector) - sector_offset(r->first));
}

/* Whether this sector's plaintext was kept. */
static bool is_tail(const struct file *f, uint64_t sector)
{
	return f->tail_valid && f->tail_sector == sector;
}

/* Bring the payload of an edge sector into its place: the `exists` bytes that
 * the file has there, where some of them are needed. */
static int load_edge(struct file *f, const struct range *r, uint64_t sector,
                     bool is_needed, uint32_t exists)
{
	uint8_t *to = payload_of(r, sector);
	int size, error;

	if (!is_needed) {
		memset(to, 0, sector_capacity(sector));
		return 0;
	}
	if (is_tail(f, sector)) {
		memcpy(to, f->tail, sector_capacity(sector));
		return 0;
	}
	file_quiet(f);
	error = file_load_sectors(f, sector, 1, to, &size);
	if (error)
		return error;
	if (size < (int)exists) {
		file_note_bad(f, sector);
		return -EBADMSG;
	}
	/* Bytes past the file's size are not data, whatever they hold. */
	memset(to + exists, 0, sector_capacity(sector) - exists);
	return 0;
}

/* Bytes of `sector` that the file has. */
static uint32_t sector_exists(const struct file *f, uint64_t sector)
{
	uint64_t start = sector_start(sector);

	if (f->present <= start)
		return 0;
	return f->present - start < sector_capacity(sector)
		? (uint32_t)(f->present - start) : sector_capacity(sector);
}

/* Both edges of a write across one border, in one step: a page of the kernel,
 * somewhere in a file, is such a write. */
static int load_two(struct file *f, const struct range *r,
                    uint32_t first_exists, uint32_t last_exists)
{
	const uint32_t exists[2] = { first_exists, last_exists };
	int sizes[2], error;

	file_quiet(f);
	error = file_load_sectors(f, r->first, 2, r->sectors, sizes);
	for (unsigned k = 0; k < 2 && !error; k++) {
		uint64_t sector = r->first + k;

		if (sizes[k] < (int)exists[k]) {
			file_note_bad(f, sector);
			error = -EBADMSG;
		} else {
			memset(payload_of(r, sector) + exists[k], 0,
			       sector_capacity(sector) - exists[k]);
		}
	}
	return error;
}

static int load_edges(struct file *f, const struct range *r)
{
	uint32_t first_exists = sector_exists(f, r->first);
	uint32_t last_exists = sector_exists(f, r->last);
	bool before = r->position > sector_start(r->first);
	bool after = r->end < sector_start(r->last) + last_exists;
	int error;

	if (r->first == r->last)
		return load_edge(f, r, r->first, before || after, first_exists);
	if (r->last == r->first + 1 && before && after
	    && !is_tail(f, r->first) && !is_tail(f, r->last))
		return load_two(f, r, first_exists, last_exists);
	error = load_edge(f, r, r->first, before, first_exists);
	if (!error)
		error = load_edge(f, r, r->last, after, last_exists);
	return error;
}

static void copy_in(const struct range *r, const uint8_t *from)
{
	uint64_t at = r->position;

	for (uint64_t i = r->first; i <= r->last; i++) {
		uint64_t stop = sector_start(i) + sector_capacity(i);

		if (stop > r->end)
			stop = r->end;
		memcpy(payload_of(r, i) + (at - sector_start(i)),
		       from + (at - r->position), stop - at);
		at = stop;
	}
}

/* Keep the plaintext of the sector that the write ends in. */
static void keep_tail(struct file *f, const struct range *r)
{
	uint32_t size = sector_capacity(r->last);

	f->tail_valid = false;
	if (r->end == sector_start(r->last) + size)
		return;
	if (!f->tail)
		f->tail = malloc(SECTOR_PAYLOAD);
	if (!f->tail)
		return;
	memcpy(f->tail, payload_of(r, r->last), size);
	f->tail_sector = r->last;
	f->tail_valid = true;
}

/*
 * Write the units. A first write of sector 0 alone carries the header with
 * the new size: unit 0 is then whole at once, and small files need no second
 * write of it.
 */
static int store_units(struct file *f, const struct range *r,
                       uint64_t new_present, size_t *done, uint64_t *base)
{
	uint64_t from = sector_offset(r->first);
	uint64_t to = (r->last + 1) * SECTOR_SIZE;
	const uint8_t *p = r->sectors;
	uint64_t old_size = f->header.size;
	bool with_size = r->last == 0 && f->header.size != new_present &&
		(f->disk_length <= HEADER_SIZE || f->disk_length == SECTOR_SIZE);
	bool with_header = r->first == 0 && !file_is_truncated(f) &&
		(with_size || !f->header_stored);
	int error;

	if (with_header) {
		if (with_size)
			f->header.size = new_present;
		error = header_seal(f->volume->keys->content, &f->header,
		                    r->unit);
		if (error) {
			f->header.size = old_size;
			return error;
		}
		p = r->unit;
		from = 0;
	}
	*base = from;
	error = io_write_full(f->fd, p, to - from, (off_t)from, done);
	if (with_header) {
		if (*done >= HEADER_SIZE)
			f->header_stored = true;
		else
			f->header.size = old_size;
	}
	if (error && *done) {
		/* A sector that was written in part is written again whole; if
		 * that fails too and it is not a new one, later. */
		uint64_t torn = (from + *done) / SECTOR_SIZE;
		uint64_t offset = torn ? torn * SECTOR_SIZE : from;
		size_t size = (size_t)((torn + 1) * SECTOR_SIZE - offset);
		const uint8_t *again = p + (offset - from);

		if (from + *done == offset)
			return error;
		if (!io_write_full(f->fd, again, size, (off_t)offset, NULL))
			*done = (size_t)((torn + 1) * SECTOR_SIZE - from);
		else if (offset / SECTOR_SIZE < f->disk_length / SECTOR_SIZE ||
		         (offset == 0 && f->disk_length))
			file_keep_torn(f, again, size, offset);
	}
	return error;
}

/* After a failed write: the number of whole sectors that were stored, and a
 * ciphertext that ends with a whole sector again. */
static uint64_t sectors_stored(struct file *f, const struct range *r,
                               uint64_t base, size_t done)
{
	uint64_t units = (base + done) / SECTOR_SIZE;
	struct stat st;

	if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size > f->disk_length) {
		uint64_t length = units * SECTOR_SIZE;

		if (length < f->disk_length)
			length = f->disk_length;
		if ((uint64_t)st.st_size != length &&
		    file_set_length(f, length))
			f->disk_length = (uint64_t)st.st_size;
	}
	return units > r->first ? units - r->first : 0;
}

static int write_range(struct file *f, struct range *r, const uint8_t *from,
                       uint64_t *end)
{
	size_t count = (size_t)(r->last - r->first) + 1;
	uint64_t new_present = f->present > r->end ? f->present : r->end;
	uint64_t last_start = sector_start(r->last), base = 0;
	uint32_t last_size = sector_capacity(r->last);
	uint64_t stop = (r->last + 1) * SECTOR_SIZE;
	size_t done = 0;
	int error;

	if (new_present - last_start < last_size)
		last_size = (uint32_t)(new_present - last_start);
	error = load_edges(f, r);
	if (error)
		return error;
	copy_in(r, from);
	keep_tail(f, r);
	error = sectors_seal(f->volume->keys->content, f->header.id, r->first,
	                     count, r->sectors, last_size);
	if (!error)
		error = store_units(f, r, new_present, &done, &base);
	f->changed = true;
	*end = r->end;
	if (error) {
		uint64_t stored = done ? sectors_stored(f, r, base, done) : 0;

		f->tail_valid = false;
		if (stored == 0)
			return error;
		if (stored < count) {
			*end = sector_start(r->first + stored);
			stop = (r->first + stored) * SECTOR_SIZE;
			new_present = f->present > *end ? f->present : *end;
		}
		error = 0;
	}
	if (stop > f->disk_length)
		f->disk_length = stop;
	else if (new_present > f->present && stop < f->disk_length)
		error = file_set_length(f, stop);
	f->present = new_present;
	if (f->size < new_present)
		f->size = new_present;
	return error;
}

ssize_t file_write_at(struct file *f, const uint8_t *buf, size_t size,
                      uint64_t position)
{
	size_t done = 0;

	while (done < size) {
		struct range r = { .position = position + done };
		uint64_t end, limit;
		size_t count;
		int error;

		r.first = sector_of(r.position);
		limit = sector_start(r.first + WRITE_BATCH);
		r.end = position + size < limit ? position + size : limit;
		r.last = sector_of(r.end - 1);
		count = (size_t)(r.last - r.first) + 1;
		r.unit = scratch_get(SCRATCH_SECTORS, count * SECTOR_SIZE);
		if (!r.unit)
			return done ? (ssize_t)done : -ENOMEM;
		r.sectors = r.unit + (r.first ? 0 : HEADER_SIZE);
		error = write_range(f, &r, buf + done, &end);
		if (error)
			return done ? (ssize_t)done : error;
		done = (size_t)(end - position);
		if (end < r.end)
			break;
	}
	return (ssize_t)done;
}

int file_write_zeros(struct file *f, uint64_t position, uint64_t size)
{
	static const uint8_t zeros[64 * 1024];

	while (size) {
		size_t n = size < sizeof(zeros) ? (size_t)size : sizeof(zeros);
		ssize_t w = file_write_at(f, zeros, n, position);

		if (w <= 0)
			return w < 0 ? (int)w : -EIO;
		position += (uint64_t)w;
		size -= (uint64_t)w;
	}
	return 0;
}

static ssize_t write_locked(struct file *f, const uint8_t *buf, size_t size,
                            uint64_t position)
{
	uint64_t before = f->size;
	ssize_t n;
	int error;

	if (f->access == O_RDONLY)
		return -EBADF;
	if (position > PLAIN_SIZE_MAX || size > PLAIN_SIZE_MAX - position)
		return -EFBIG;
	error = file_ensure_header(f);
	if (!error)
		error = file_mend_torn(f);
	if (error || size == 0)
		return error;
	/* Where the tail is missing only what joins the rest can be written:
	 * so the missing part is never taken for a hole. */
	if (file_is_truncated(f) && position > f->present)
		return -EBADMSG;
	if (position > f->size) {
		error = file_extend(f, position);
		if (error)
			return error;
	}
	n = file_write_at(f, buf, size, position);
	if (n < 0 && f->size > before && !file_is_truncated(f))
		file_truncate_locked(f, before); /* the gap alone is no write */
	return n;
}

ssize_t file_write(struct file *f, const void *buf, size_t size,
                   uint64_t position)
{
	ssize_t n;

	pthread_rwlock_wrlock(&f->lock);
	n = write_locked(f, buf, size, position);
	pthread_rwlock_unlock(&f->lock);
	return n;
}
