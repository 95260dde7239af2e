/* The file object: checking every sector of a ciphertext file. */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs/volume/io.h"
#include "fs/volume/scratch.h"

enum { VERIFY_BATCH = 256 }; /* sectors */

struct verify {
	struct file f;
	struct file_check *check;
	struct file_finding run; /* adjacent bad sectors of one kind */
	bool run_open;
	uint64_t unreported;     /* bytes since the last progress call */
	uint64_t sectors;
};

static void found(struct verify *v, enum file_damage damage, uint64_t start,
                  uint64_t end)
{
	struct file_finding finding = {
		.damage = damage, .start = start, .end = end,
		.first = start < end ? sector_of(start) : 0,
		.last = start < end ? sector_of(end - 1) : 0,
	};

	v->check->found(v->check->context, &finding);
}

static void end_run(struct verify *v)
{
	if (v->run_open)
		v->check->found(v->check->context, &v->run);
	v->run_open = false;
}

static void bad_sectors(struct verify *v, enum file_damage damage, int error,
                        uint64_t first, uint64_t last, uint64_t start)
{
	uint64_t end = sector_start(last) + sector_capacity(last);

	if (end > v->f.size)
		end = v->f.size;
	if (v->run_open && v->run.damage == damage && v->run.error == error &&
	    v->run.last + 1 == first && damage != FILE_SHORT_SECTOR) {
		v->run.last = last;
		v->run.end = end;
		return;
	}
	end_run(v);
	v->run = (struct file_finding){
		.damage = damage, .first = first, .last = last,
		.start = start, .end = end, .error = error,
	};
	v->run_open = true;
}

static void one_sector(struct verify *v, uint64_t i, int size)
{
	uint64_t start = sector_start(i);
	uint64_t want = v->f.present - start < sector_capacity(i)
		? v->f.present - start : sector_capacity(i);

	/* Without a header nobody knows whether holes are allowed. */
	bool holes = v->f.header_state != HEADER_GOOD ||
	             v->f.header.flags & HEADER_SPARSE;

	if (size == SECTOR_CORRUPT)
		bad_sectors(v, FILE_CORRUPT_SECTOR, 0, i, i, start);
	else if (size == SECTOR_HOLE && !holes)
		bad_sectors(v, FILE_ZEROED_SECTOR, 0, i, i, start);
	else if (size != SECTOR_HOLE && (uint64_t)size < want)
		bad_sectors(v, FILE_SHORT_SECTOR, 0, i, i,
		            start + (uint64_t)size);
	else
		end_run(v); /* said at once: a large file takes long */
}

/* Skip a region without data: holes, all of it zero. Returns the next sector
 * to read. */
static uint64_t skip_hole(struct verify *v, uint64_t i)
{
	off_t at = lseek(v->f.fd, (off_t)(i * SECTOR_SIZE), SEEK_DATA);
	uint64_t next = i;

	if (at >= 0)
		next = (uint64_t)at / SECTOR_SIZE;
	else if (errno == ENXIO)
		next = v->sectors;
	if (next > v->sectors)
		next = v->sectors;
	if (next > i && v->f.header_state == HEADER_GOOD &&
	    !(v->f.header.flags & HEADER_SPARSE))
		bad_sectors(v, FILE_ZEROED_SECTOR, 0, i, next - 1,
		            sector_start(i));
	return next;
}

/* The sector where the data that begins with sector i ends. */
static uint64_t next_hole(struct verify *v, uint64_t i)
{
	off_t at = lseek(v->f.fd, (off_t)(i * SECTOR_SIZE), SEEK_HOLE);
	uint64_t end = at < 0 ? v->sectors
		: ((uint64_t)at + SECTOR_SIZE - 1) / SECTOR_SIZE;

	if (end > v->sectors)
		return v->sectors;
	return end > i ? end : i + 1;
}

static int report_progress(struct verify *v, uint64_t bytes)
{
	v->unreported += bytes;
	if (!v->check->progress || !v->unreported)
		return 0;
	bytes = v->unreported;
	v->unreported = 0;
	return v->check->progress(v->check->context, bytes) ? -ECANCELED : 0;
}

/* Read and check up to `count` sectors; a batch that the store cannot read is
 * tried again sector by sector, so that the bad one is known. */
static int check_batch(struct verify *v, uint64_t first, size_t count,
                       uint8_t *buf)
{
	int sizes[VERIFY_BATCH];
	uint64_t from = sector_offset(first);
	size_t total = (size_t)((first + count) * SECTOR_SIZE - from);
	ssize_t n = io_read_full(v->f.fd, buf, total, (off_t)from);
	int error = 0;

	if (n != (ssize_t)total) {
		if (n >= 0)
			n = -EIO; /* the file became shorter meanwhile */
		if (count == 1) {
			bad_sectors(v, FILE_READ_ERROR, (int)n, first, first,
			            sector_start(first));
			return 0;
		}
		for (size_t k = 0; k < count && !error; k++)
			error = check_batch(v, first + k, 1, buf);
		return error;
	}
	error = sectors_open(v->f.volume->keys->content, v->f.header.id, first,
	                     count, buf, sizes);
	for (size_t k = 0; k < count && !error; k++)
		one_sector(v, first + k, sizes[k]);
	return error;
}

static int check_sectors(struct verify *v)
{
	uint8_t *buf = scratch_get(SCRATCH_SECTORS, VERIFY_BATCH * SECTOR_SIZE);
	uint64_t i = v->check->from, data_end = 0;
	int error = 0;

	if (!buf)
		return -ENOMEM;
	while (i < v->sectors && !error) {
		size_t count = VERIFY_BATCH;

		/* Asked once for each stretch of data, as some stores look
		 * through all of its pages for the next hole. */
		if (i >= data_end) {
			i = i ? skip_hole(v, i) : 0;
			if (i >= v->sectors)
				break;
			data_end = next_hole(v, i);
		}
		if (count > data_end - i)
			count = (size_t)(data_end - i);
		error = check_batch(v, i, count, buf);
		if (!error)
			error = report_progress(v, count * SECTOR_SIZE);
		i += count;
	}
	end_run(v);
	return error;
}

/* What length and header say, against each other. */
static void check_length(struct verify *v, struct length l)
{
	const struct file *f = &v->f;

	if (f->header_state != HEADER_GOOD)
		return;
	if (f->header.size > f->present)
		found(v, FILE_TRUNCATED, f->present, f->header.size);
	else if (f->header.size < f->present)
		found(v, FILE_UNCLEAN_APPEND, f->header.size, f->present);
	else if (l.state != LENGTH_FINAL)
		found(v, FILE_UNCLEAN_APPEND, f->present, f->present);
}

int file_verify(const struct volume *volume, int fd, struct file_check *check)
{
	struct verify v = {
		.f = { .volume = volume, .fd = fd, .access = O_RDONLY },
		.check = check,
	};
	struct length l;
	int error = file_load(&v.f);

	check->size = 0;
	if (error) {
		struct file_finding finding = {
			.damage = FILE_READ_ERROR, .error = error,
		};

		if (check->from == 0)
			check->found(check->context, &finding);
		return error == -ENOMEM ? error : 0;
	}
	l = size_decode(v.f.disk_length);
	v.sectors = l.sectors;
	if (check->from > v.sectors)
		return 0; /* it became shorter meanwhile */
	if (check->count && check->count < v.sectors - check->from)
		v.sectors = check->from + check->count;
	check->header = v.f.header;
	check->size = v.f.size;
	if (check->from == 0) {
		if (l.state == LENGTH_UNFINISHED)
			found(&v, FILE_UNFINISHED_CREATE, 0, 0);
		if (v.f.header_state == HEADER_BAD)
			found(&v, FILE_CORRUPT_HEADER, 0, 0);
		check_length(&v, l);
		error = report_progress(&v, HEADER_SIZE);
	}
	return error ? error : check_sectors(&v);
}
