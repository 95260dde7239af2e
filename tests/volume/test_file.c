/*
 * The file object against a model: an array of bytes in memory, and random
 * operations of every kind, with reopening and checks in between.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/volume/file.h"
#include "fs/volume/io.h"

static struct volume volume;
static const uint8_t made_in[ID_SIZE] = "directory id 16";
static char directory[] = "/tmp/frondfs-file-XXXXXX";
static char path[64];

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t below(uint64_t n)
{
	return random_next() % n;
}

static struct file *reopen(int flags)
{
	struct file *f = NULL;
	int fd = open(path, flags | O_CREAT, 0600);

	if (fd < 0 || file_open(&f, &volume, fd, flags & O_ACCMODE, made_in))
		return NULL;
	return f;
}

static struct file *fresh(void)
{
	unlink(path);
	return reopen(O_RDWR);
}

/* Findings of a check, counted by kind. */
struct findings {
	unsigned count[FILE_READ_ERROR + 1];
	unsigned total;
	struct file_finding last;
};

static void count_finding(void *context, const struct file_finding *finding)
{
	struct findings *f = context;

	f->count[finding->damage]++;
	f->total++;
	f->last = *finding;
}

static struct findings verify(void)
{
	struct findings found = { .total = 0 };
	struct file_check check = { .found = count_finding, .context = &found };
	int fd = open(path, O_RDONLY);

	if (file_verify(&volume, fd, &check))
		found.total = 1000;
	close(fd);
	return found;
}

static void flip(off_t at)
{
	int fd = open(path, O_RDWR);
	uint8_t b = 0;

	if (pread(fd, &b, 1, at) != 1)
		abort();
	b ^= 0x10;
	if (pwrite(fd, &b, 1, at) != 1)
		abort();
	close(fd);
}

static void fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)((i * 7 + (i >> 8) * 13 + seed) | 1);
}

enum { MODEL_MAX = 3 * 1024 * 1024 };

static uint8_t model[MODEL_MAX], buffer[MODEL_MAX];
static uint64_t model_size;

/* Positions near the borders of sectors, where mistakes live. */
static uint64_t some_position(uint64_t limit)
{
	uint64_t at;

	switch (below(4)) {
	case 0:
		at = sector_start(below(8)) + below(5);
		at = at > 2 ? at - 2 : 0;
		break;
	case 1:
		at = model_size + below(5);
		at = at > 2 ? at - 2 : 0;
		break;
	case 2:
		at = below(20000);
		break;
	default:
		at = below(limit);
	}
	return at < limit ? at : limit - 1;
}

static uint64_t some_size(void)
{
	switch (below(5)) {
	case 0:
		return 1 + below(16);
	case 1:
		return SECTOR_PAYLOAD - 2 + below(5);
	case 2:
		return 1 + below(9000);
	case 3:
		return 1 + below(200000);
	default:
		return 1 + below(1200000);
	}
}

static bool holds_model(struct file *f)
{
	ssize_t n = file_read(f, buffer, MODEL_MAX, 0, false);

	return file_size(f) == model_size && n == (ssize_t)model_size &&
	       memcmp(buffer, model, model_size) == 0;
}

static void model_resize(uint64_t size)
{
	if (size > model_size)
		memset(model + model_size, 0, size - model_size);
	model_size = size;
}

/* Every byte that SEEK_HOLE calls a hole is zero in the model. */
static bool holes_are_zero(struct file *f)
{
	uint64_t at = 0;

	while (at < model_size) {
		int64_t hole = file_seek(f, at, SEEK_HOLE), data;

		if (hole < 0)
			return false;
		if ((uint64_t)hole >= model_size)
			break;
		data = file_seek(f, (uint64_t)hole, SEEK_DATA);
		if (data == -ENXIO)
			data = (int64_t)model_size;
		if (data <= hole)
			return false;
		for (int64_t i = hole; i < data; i++)
			if (model[i])
				return false;
		at = (uint64_t)data;
	}
	return true;
}

TEST random_operations(unsigned seed)
{
	struct file *f;

	random_state = 0x9e3779b97f4a7c15u * (seed + 1);
	model_size = 0;
	f = fresh();
	ASSERT(f);
	for (int step = 0; step < 400; step++) {
		uint64_t at = some_position(MODEL_MAX / 2), n = some_size();
		struct stat st;

		switch (below(12)) {
		case 0: case 1: case 2: case 3: case 4:
			fill(buffer, n, (unsigned)step);
			ASSERT_EQ((ssize_t)n, file_write(f, buffer, n, at));
			if (at > model_size)
				model_resize(at);
			memcpy(model + at, buffer, n);
			if (at + n > model_size)
				model_size = at + n;
			break;
		case 5:
			ASSERT_EQ(0, file_truncate(f, at));
			model_resize(at);
			break;
		case 6:
			if (below(4) == 0) {
				ASSERT_EQ(0, file_truncate(f, 0));
				model_size = 0;
			}
			break;
		case 7: {
			int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
			uint64_t end = at + n;

			ASSERT_EQ(0, file_allocate(f, mode, at, n));
			if (end > model_size)
				end = model_size;
			if (at < end)
				memset(model + at, 0, end - at);
			break;
		}
		case 8: {
			int mode = below(2) ? FALLOC_FL_ZERO_RANGE : 0;

			ASSERT_EQ(0, file_allocate(f, mode, at, n));
			if (mode && at < model_size)
				memset(model + at, 0,
				       (at + n < model_size ? at + n : model_size) - at);
			if (at + n > model_size)
				model_resize(at + n);
			break;
		}
		case 9: {
			ssize_t want = at >= model_size ? 0
				: (ssize_t)(n < model_size - at ? n : model_size - at);

			ASSERT_EQ(want, file_read(f, buffer, n, at, false));
			ASSERT_EQ(0, memcmp(buffer, model + at, (size_t)want));
			break;
		}
		case 10:
			ASSERT_EQ(0, file_close(f));
			ASSERT_EQ(0, stat(path, &st));
			ASSERT_EQ(model_size, (uint64_t)file_size_from_stat(&st));
			if (step > 0 && model_size == 0 && st.st_size == 0)
				f = NULL; /* nothing was ever written */
			else
				ASSERT_EQ(0, verify().total);
			f = reopen(O_RDWR);
			ASSERT(f);
			break;
		default:
			ASSERT_EQ(0, file_finalize(f));
		}
		ASSERT_EQ(model_size, file_size(f));
		if (step % 20 == 0) {
			ASSERT(holds_model(f));
			ASSERT(holes_are_zero(f));
		}
		if (step % 7 == 0) {
			/* What a killed process would leave: a second object
			 * on the same file reads the same, unfinalized. */
			struct file *g = reopen(O_RDONLY);
			bool same;

			ASSERT(g);
			same = holds_model(g);
			file_close(g);
			ASSERT(same);
		}
	}
	ASSERT(holds_model(f));
	ASSERT_EQ(0, file_close(f));
	PASS();
}

TEST sizes_at_borders(void)
{
	static const uint64_t sizes[] = {
		0, 1, 15, 16, 3999, 4000, 4001, 4079, 4080, 4081, 8079, 8080,
		8081, 12160, 12161, 4000 + 4080 * 257, 4000 + 4080 * 257 + 1,
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t n = sizes[i];
		struct stat st;
		struct file *f = fresh();

		ASSERT(f);
		fill(model, n, 3);
		model_size = n;
		ASSERT_EQ((ssize_t)n, file_write(f, model, n, 0));
		ASSERT_EQ(0, file_truncate(f, n));
		ASSERT(holds_model(f));
		ASSERT_EQ(0, file_close(f));
		ASSERT_EQ(0, stat(path, &st));
		ASSERT_EQ((off_t)size_encrypted(n), st.st_size);
		ASSERT_EQ((int64_t)n, file_size_from_stat(&st));
		ASSERT_EQ(0, verify().total);
		f = reopen(O_RDONLY);
		ASSERT(holds_model(f));
		file_close(f);
	}
	PASS();
}

/* Make a file of `sectors` full sectors and 100 bytes. */
static uint64_t make_file(uint64_t sectors)
{
	struct file *f = fresh();

	model_size = sector_start(sectors) + 100;
	fill(model, model_size, 9);
	if (!f || file_write(f, model, model_size, 0) != (ssize_t)model_size ||
	    file_close(f))
		abort();
	return model_size;
}

TEST flipped_bit(void)
{
	struct findings found;
	struct file *f;
	ssize_t n;

	make_file(6);
	flip(4096 * 3 + 1234);
	found = verify();
	ASSERT_EQ(1, found.total);
	ASSERT_EQ(1, found.count[FILE_CORRUPT_SECTOR]);
	ASSERT_EQ(3, found.last.first);
	ASSERT_EQ(3, found.last.last);
	ASSERT_EQ(sector_start(3), found.last.start);
	ASSERT_EQ(sector_start(4), found.last.end);
	f = reopen(O_RDWR);
	ASSERT_FALSE(file_damaged(f));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 100000, 0, false));
	ASSERT(file_damaged(f));
	ASSERT_EQ(3, file_bad_sector(f));
	/* The good bytes before and after, exactly. */
	n = file_read(f, buffer, 100000, 0, true);
	ASSERT_EQ((ssize_t)sector_start(3), n);
	ASSERT_EQ(0, memcmp(buffer, model, (size_t)n));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(3), true));
	n = file_read(f, buffer, 100000, sector_start(4), true);
	ASSERT_EQ((ssize_t)(model_size - sector_start(4)), n);
	ASSERT_EQ(0, memcmp(buffer, model + sector_start(4), (size_t)n));
	/* A part of it cannot be written, the whole heals it. */
	ASSERT_EQ(-EBADMSG, file_write(f, "x", 1, sector_start(3) + 9));
	ASSERT_EQ(SECTOR_PAYLOAD, file_write(f, model + sector_start(3),
	                                     SECTOR_PAYLOAD, sector_start(3)));
	ASSERT(holds_model(f));
	file_close(f);
	ASSERT_EQ(0, verify().total);
	PASS();
}

TEST damaged_header(void)
{
	for (off_t at = 0; at < HEADER_SIZE; at += 3) {
		struct findings found;
		struct file *f;

		make_file(2);
		flip(at);
		found = verify();
		ASSERT_EQ(1, found.count[FILE_CORRUPT_HEADER]);
		/* Only a damaged id takes the sectors with it. */
		ASSERT_EQ(at >= 16 && at < 32, found.count[FILE_CORRUPT_SECTOR]);
		f = reopen(O_RDWR);
		ASSERT(f);
		ASSERT(file_damaged(f));
		ASSERT_EQ(-EBADMSG, file_read(f, buffer, 10, 0, true));
		ASSERT_EQ(-EBADMSG, file_write(f, buffer, 10, 0));
		ASSERT_EQ(-EBADMSG, file_truncate(f, 10));
		ASSERT_EQ(0, file_truncate(f, 0));
		ASSERT_EQ(3, file_write(f, "abc", 3, 0));
		ASSERT_EQ(0, file_close(f));
		ASSERT_EQ(0, verify().total);
	}
	PASS();
}

/* Any cut: whole sectors are read, the rest is an error and never an end. */
TEST every_cut(void)
{
	off_t full = (off_t)size_encrypted(sector_start(3) + 100);

	for (off_t cut = 0; cut < full; cut += cut % 4096 < 100 ? 1 : 37) {
		struct findings found;
		struct file *f;
		ssize_t n;

		make_file(3);
		ASSERT_EQ(0, truncate(path, cut));
		found = verify();
		ASSERT(found.total >= 1);
		f = reopen(O_RDONLY);
		ASSERT(f);
		if (cut == 0) {
			ASSERT_EQ(1, found.count[FILE_UNFINISHED_CREATE]);
			ASSERT_EQ(0, file_read(f, buffer, 10, 0, true));
			file_close(f);
			continue;
		}
		ASSERT_EQ(cut < HEADER_SIZE, found.count[FILE_CORRUPT_HEADER]);
		n = file_read(f, buffer, 100000, 0, true);
		if (cut < 4096) {
			ASSERT_EQ(-EBADMSG, n);
		} else {
			uint64_t whole = sector_start((uint64_t)cut / 4096);
			struct length l = size_decode((uint64_t)cut);

			/* No mark that is left in place of the right one may
			 * make bytes up. */
			if (l.state == LENGTH_FINAL)
				whole = l.size;
			if (whole > model_size)
				whole = model_size;
			if (n != (ssize_t)whole)
				fprintf(stderr, "cut %ld: %zd, not %ld\n",
				        (long)cut, n, (long)whole);
			ASSERT_EQ((ssize_t)whole, n);
			ASSERT_EQ(0, memcmp(buffer, model, (size_t)n));
			if (whole < model_size) {
				ASSERT_EQ(1, found.count[FILE_TRUNCATED]);
				ASSERT_EQ(-EBADMSG,
				          file_read(f, buffer, 10, whole, true));
				ASSERT_EQ(model_size, file_size(f));
			} else {
				ASSERT_EQ(1, found.count[FILE_UNCLEAN_APPEND]);
			}
		}
		file_close(f);
	}
	PASS();
}

/* A truncated file never turns its missing part into zeros, and writing the
 * content again from where it ends heals it. */
TEST truncated_is_healed(void)
{
	struct file *f;
	uint64_t there;

	make_file(5);
	ASSERT_EQ(0, truncate(path, 4096 * 3));
	there = sector_start(3);
	f = reopen(O_RDWR);
	ASSERT_EQ(-EBADMSG, file_write(f, model + there + 1, 10, there + 1));
	ASSERT_EQ(-EBADMSG, file_truncate(f, there + 1));
	ASSERT_EQ(-EBADMSG, file_truncate(f, model_size + 1));
	ASSERT_EQ(5, file_write(f, model + 10, 5, 10));
	ASSERT(file_damaged(f));
	ASSERT_EQ((ssize_t)(model_size - there),
	          file_write(f, model + there, model_size - there, there));
	ASSERT_FALSE(file_damaged(f));
	ASSERT(holds_model(f));
	file_close(f);
	ASSERT_EQ(0, verify().total);
	/* Cutting it off where it ends heals it as well. */
	make_file(5);
	ASSERT_EQ(0, truncate(path, 4096 * 3));
	f = reopen(O_RDWR);
	ASSERT_EQ(0, file_truncate(f, there - 5));
	ASSERT_FALSE(file_damaged(f));
	model_size = there - 5;
	ASSERT(holds_model(f));
	file_close(f);
	ASSERT_EQ(0, verify().total);
	PASS();
}

TEST zeroed_and_replayed(void)
{
	static const uint8_t zeros[SECTOR_SIZE];
	uint8_t old[SECTOR_SIZE], other[SECTOR_SIZE];
	struct findings found;
	struct file *f;
	int fd;

	make_file(6);
	fd = open(path, O_RDWR);
	/* Two sectors exchanged. */
	ASSERT_EQ(4096, pread(fd, old, 4096, 4096 * 2));
	ASSERT_EQ(4096, pread(fd, other, 4096, 4096 * 4));
	ASSERT_EQ(4096, pwrite(fd, other, 4096, 4096 * 2));
	ASSERT_EQ(4096, pwrite(fd, old, 4096, 4096 * 4));
	/* One zeroed. */
	ASSERT_EQ(4096, pwrite(fd, zeros, 4096, 4096 * 5));
	close(fd);
	found = verify();
	ASSERT_EQ(2, found.count[FILE_CORRUPT_SECTOR]);
	ASSERT_EQ(1, found.count[FILE_ZEROED_SECTOR]);
	ASSERT_EQ(3, found.total);
	f = reopen(O_RDONLY);
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(2), true));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(4), true));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(5), true));
	ASSERT_EQ(SECTOR_PAYLOAD, file_read(f, buffer, SECTOR_PAYLOAD,
	                                    sector_start(3), true));
	ASSERT_EQ(0, memcmp(buffer, model + sector_start(3), SECTOR_PAYLOAD));
	file_close(f);
	/* A punched hole is damage too, in a file that has none. */
	make_file(6);
	fd = open(path, O_RDWR);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                       4096, 8192));
	close(fd);
	found = verify();
	ASSERT_EQ(1, found.total);
	ASSERT_EQ(1, found.count[FILE_ZEROED_SECTOR]);
	ASSERT_EQ(1, found.last.first);
	ASSERT_EQ(2, found.last.last);
	PASS();
}

TEST sparse_files(void)
{
	struct stat st;
	struct file *f = fresh();

	/* A terabyte that takes no room, and is checked in no time. */
	ASSERT_EQ(3, file_write(f, "end", 3, (uint64_t)1 << 40));
	ASSERT_EQ(5, file_write(f, "start", 5, 0));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, stat(path, &st));
	ASSERT(st.st_blocks < 64);
	ASSERT_EQ(0, verify().total);
	f = reopen(O_RDWR);
	ASSERT_EQ(((uint64_t)1 << 40) + 3, file_size(f));
	ASSERT_EQ(10, file_read(f, buffer, 10, ((uint64_t)1 << 40) - 7, false));
	ASSERT_EQ(0, memcmp(buffer, "\0\0\0\0\0\0\0end", 10));
	ASSERT_EQ(0, file_seek(f, 0, SEEK_DATA));
	ASSERT_EQ(4000, file_seek(f, 0, SEEK_HOLE));
	ASSERT_EQ((int64_t)sector_start(sector_of((uint64_t)1 << 40)),
	          file_seek(f, 5000, SEEK_DATA));
	ASSERT_EQ(-ENXIO, file_seek(f, ((uint64_t)1 << 40) + 3, SEEK_DATA));
	file_close(f);
	/* A small gap is no hole. */
	f = fresh();
	ASSERT_EQ(1, file_write(f, "x", 1, 100000));
	ASSERT_EQ(100001, file_seek(f, 0, SEEK_HOLE));
	file_close(f);
	PASS();
}

TEST odd_requests(void)
{
	struct file *f = fresh();

	ASSERT_EQ(-EFBIG, file_write(f, "x", 1, INT64_MAX));
	ASSERT_EQ(-EFBIG, file_truncate(f, INT64_MAX));
	ASSERT_EQ(0, file_size(f));
	ASSERT_EQ(0, file_read(f, buffer, 10, 0, false));
	ASSERT_EQ(-ENXIO, file_seek(f, 0, SEEK_DATA));
	ASSERT_EQ(-EOPNOTSUPP, file_allocate(f, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
	ASSERT_EQ(-EOPNOTSUPP, file_allocate(f, FALLOC_FL_PUNCH_HOLE, 0, 4096));
	ASSERT_EQ(0, file_write(f, "", 0, 5));
	ASSERT_EQ(0, file_size(f));
	ASSERT_EQ(0, file_close(f));
	f = reopen(O_RDONLY);
	ASSERT_EQ(-EINVAL, file_truncate(f, 0));
	ASSERT_EQ(-EBADF, file_write(f, "x", 1, 0));
	file_close(f);
	PASS();
}

/* The modification time that the user set stays, whatever finalizing does. */
TEST times_stay(void)
{
	struct timespec times[2] = { { 1000, 5 }, { -86400, 999999999 } };
	struct stat st;
	struct file *f = fresh();

	ASSERT_EQ(3, file_write(f, "abc", 3, 0));
	ASSERT_EQ(0, futimens(file_fd(f), times));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(-86400, st.st_mtim.tv_sec);
	ASSERT_EQ(999999999, st.st_mtim.tv_nsec);
	PASS();
}

/* ---- kills and failing system calls, through the table ---- */

static struct io faulty;
static int calls_left; /* until the fault */
static int fault;      /* errno, or 0 to end the process */
static bool short_write;

static bool strike(void)
{
	if (calls_left-- != 0)
		return false;
	if (!fault)
		_exit(77);
	errno = fault;
	return true;
}

static ssize_t faulty_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	if (calls_left == 0 && short_write && size > 1) {
		/* Some of it first, the error or the kill after that. */
		/* (a kill lets whole pages through). */
		size_t part = fault ? size / 2
			: ((size_t)at + size / 2 + 4095) / 4096 * 4096 - (size_t)at;

		part = part < size ? part : size;
		if (pwrite(fd, buf, part, at) != (ssize_t)part)
			abort();
		if (!fault)
			_exit(77);
		calls_left = 0;
		short_write = false;
		return (ssize_t)part;
	}
	return strike() ? -1 : pwrite(fd, buf, size, at);
}

static int faulty_ftruncate(int fd, off_t length)
{
	return strike() ? -1 : ftruncate(fd, length);
}

static int faulty_fallocate(int fd, int mode, off_t at, off_t size)
{
	return strike() ? -1 : fallocate(fd, mode, at, size);
}

static int faulty_futimens(int fd, const struct timespec times[2])
{
	return strike() ? -1 : futimens(fd, times);
}

/* A store that takes no longer files, as FAT does with 4 GiB. */
static int short_ftruncate(int fd, off_t length)
{
	if (length <= 1 << 20)
		return ftruncate(fd, length);
	errno = EFBIG;
	return -1;
}

TEST too_long_for_the_store(void)
{
	uint64_t sizes[] = { 0, 3000, 4000, 9000 };

	faulty = io_system;
	faulty.ftruncate = short_ftruncate;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct file *f = fresh();

		fill(model, sizes[i], 5);
		ASSERT_EQ((ssize_t)sizes[i],
		          file_write(f, model, sizes[i], 0));
		io = &faulty;
		ASSERT_EQ(-EFBIG, file_truncate(f, 2 << 20));
		ASSERT_EQ(sizes[i], file_size(f));
		ASSERT_EQ(-EFBIG, file_allocate(f, 0, 0, 2 << 20));
		ASSERT_EQ(sizes[i], file_size(f));
		ASSERT_EQ(0, file_close(f));
		io = &io_system;
		ASSERT_EQ(0, verify().total);
		f = reopen(O_RDONLY);
		ASSERT_EQ((ssize_t)sizes[i],
		          file_read(f, buffer, MODEL_MAX, 0, false));
		ASSERT_EQ(0, memcmp(buffer, model, sizes[i]));
		ASSERT_EQ(0, file_close(f));
	}
	PASS();
}

/* The operations whose every system call is made to fail. `before` and
 * `after` are the two contents that may be seen. */
struct operation {
	const char *name;
	uint64_t old_size;
	int (*run)(struct file *f);
	uint64_t new_size;
	uint64_t from, to; /* bytes that change */
};

static uint8_t wanted[MODEL_MAX];

static int op_append_inside(struct file *f)
{
	return file_write(f, wanted + 4100, 50, 4100) == 50 ? 0 : -1;
}

static int op_append_across(struct file *f)
{
	return file_write(f, wanted + 4100, 30000, 4100) == 30000 ? 0 : -1;
}

static int op_overwrite(struct file *f)
{
	return file_write(f, wanted + 3000, 2000, 3000) == 2000 ? 0 : -1;
}

static int op_shorten(struct file *f)
{
	return file_truncate(f, 4500);
}

static int op_empty(struct file *f)
{
	return file_truncate(f, 0);
}

static int op_grow(struct file *f)
{
	return file_truncate(f, 9000);
}

static int op_grow_hole(struct file *f)
{
	return file_truncate(f, 400000);
}

static int op_punch(struct file *f)
{
	return file_allocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                     4100, 16000);
}

static int op_create(struct file *f)
{
	return file_write(f, wanted, 1000, 0) == 1000 ? 0 : -1;
}

static const struct operation operations[] = {
	{ "append inside a sector", 4100, op_append_inside, 4150, 4100, 4150 },
	{ "append across sectors", 4100, op_append_across, 34100, 4100, 34100 },
	{ "overwrite", 20000, op_overwrite, 20000, 3000, 5000 },
	{ "shorten", 20000, op_shorten, 4500, 0, 0 },
	{ "empty", 20000, op_empty, 0, 0, 0 },
	{ "grow", 4100, op_grow, 9000, 4100, 9000 },
	{ "grow by a hole", 4100, op_grow_hole, 400000, 4100, 400000 },
	{ "punch", 30000, op_punch, 30000, 4100, 20100 },
	{ "first write", 0, op_create, 1000, 0, 1000 },
};

/* Whether the file now has the old or the new size, and each of its bytes the
 * old or the new value. A kill may leave a write half done by whole sectors. */
static bool old_or_new(const struct operation *op, bool exact_old)
{
	struct file *f = reopen(O_RDONLY);
	uint64_t size, n;
	ssize_t got;
	bool ok = f != NULL;

	if (!ok)
		return false;
	size = file_size(f);
	got = file_read(f, buffer, MODEL_MAX, 0, false);
	n = size < op->old_size ? size : op->old_size;
	ok = got == (ssize_t)size && !file_damaged(f);
	if (exact_old)
		ok = ok && size == op->old_size;
	else if (size != op->old_size && size != op->new_size)
		ok = ok && size > op->old_size && size < op->new_size;
	for (uint64_t i = 0; ok && i < size; i++) {
		bool is_old = i < op->old_size && buffer[i] == model[i];
		bool is_new = i < op->new_size && buffer[i] == wanted[i];
		/* A gap that is being filled with zeros. */
		bool is_gap = i >= op->old_size && buffer[i] == 0 &&
		              op->run != op_append_across;

		ok = is_old || (is_new && (i >= n || (i >= op->from && i < op->to))) ||
		     is_gap;
	}
	file_close(f);
	return ok;
}

static void prepare(const struct operation *op)
{
	struct file *f = fresh();

	fill(model, MODEL_MAX, 1);
	memcpy(wanted, model, MODEL_MAX);
	if (op->run == op_punch || op->run == op_grow || op->run == op_grow_hole)
		memset(wanted + op->from, 0, op->to - op->from);
	else if (op->from < op->to)
		fill(wanted + op->from, op->to - op->from, 77);
	if (!f || file_write(f, model, op->old_size, 0) != (ssize_t)op->old_size ||
	    file_close(f))
		abort();
}

static void install_faults(int k, int error, bool partly)
{
	faulty = io_system;
	faulty.pwrite = faulty_pwrite;
	faulty.ftruncate = faulty_ftruncate;
	faulty.fallocate = faulty_fallocate;
	faulty.futimens = faulty_futimens;
	calls_left = k;
	fault = error;
	short_write = partly;
	io = &faulty;
}

static int child_operation(const struct operation *op, int k, bool partly)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct file *f = reopen(O_RDWR);

		install_faults(k, 0, partly);
		if (!f || op->run(f) || file_close(f))
			_exit(1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST killed_anywhere(const struct operation *op, bool partly)
{
	for (int k = 0; k < 100; k++) {
		struct findings found;
		int code;

		prepare(op);
		code = child_operation(op, k, partly);
		if (code == 0)
			PASS();
		ASSERT_EQ_FMT(77, code, "%d");
		if (!old_or_new(op, false)) {
			fprintf(stderr, "%s, killed before call %d\n", op->name, k);
			FAIL();
		}
		found = verify();
		ASSERT_EQ_FMT(found.count[FILE_UNCLEAN_APPEND] +
		              found.count[FILE_UNFINISHED_CREATE],
		              found.total, "%u");
	}
	FAILm("the operation never came to its end");
}

TEST failing_anywhere(const struct operation *op, bool partly)
{
	for (int k = 0; k < 100; k++) {
		struct file *f;
		int result;

		prepare(op);
		f = reopen(O_RDWR);
		ASSERT(f);
		install_faults(k, ENOSPC, partly);
		result = op->run(f);
		io = &io_system;
		ASSERT_EQ(0, file_close(f));
		if (!old_or_new(op, false)) {
			fprintf(stderr, "%s, call %d fails\n", op->name, k);
			FAIL();
		}
		ASSERT_EQ(0, verify().count[FILE_CORRUPT_SECTOR]);
		ASSERT_EQ(0, verify().count[FILE_TRUNCATED]);
		if (result == 0 && calls_left >= 0)
			PASS();
	}
	FAILm("the operation never came to its end");
}

SUITE(models)
{
	for (unsigned seed = 0; seed < 12; seed++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", seed);
		greatest_set_test_suffix(name);
		RUN_TEST1(random_operations, seed);
	}
	RUN_TEST(sizes_at_borders);
	RUN_TEST(sparse_files);
	RUN_TEST(odd_requests);
	RUN_TEST(times_stay);
}

SUITE(damage)
{
	RUN_TEST(flipped_bit);
	RUN_TEST(damaged_header);
	RUN_TEST(every_cut);
	RUN_TEST(truncated_is_healed);
	RUN_TEST(zeroed_and_replayed);
}

SUITE(faults)
{
	RUN_TEST(too_long_for_the_store);
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		for (int partly = 0; partly < 2; partly++) {
			char name[64];

			snprintf(name, sizeof(name), "%s%s", operations[i].name,
			         partly ? ", partly" : "");
			greatest_set_test_suffix(name);
			RUN_TESTp(killed_anywhere, &operations[i], partly);
			greatest_set_test_suffix(name);
			RUN_TESTp(failing_anywhere, &operations[i], partly);
		}
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	static const uint8_t master[KEY_SIZE] = "a master key for tests of files";

	GREATEST_MAIN_BEGIN();
	if (!mkdtemp(directory) ||
	    keys_new(&volume.keys, master, ADIANTUM_XCHACHA12))
		return 1;
	snprintf(path, sizeof(path), "%s/file", directory);
	RUN_SUITE(models);
	RUN_SUITE(damage);
	RUN_SUITE(faults);
	keys_free(volume.keys);
	unlink(path);
	rmdir(directory);
	GREATEST_MAIN_END();
}
