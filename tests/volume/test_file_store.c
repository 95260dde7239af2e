/*
 * A store that fails and comes back: each system call of each operation fails,
 * once or from then on, with each of the errors that a store has; then it
 * works again. The caller gets the error, what was there is old or new by
 * whole sectors, and the same open file works on. And a store that reads and
 * writes less than it was asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/volume/io.h"
#include "tests/volume/file_support.h"

static struct io faulty;
static int calls_left; /* until the fault */
static int fault;      /* errno */
static bool lasting;   /* the calls after that one fail as well */
static bool struck;
static size_t piece;   /* bytes that are read or written at a time; 0: all */

static bool strike(void)
{
	if (calls_left > 0) {
		calls_left--;
		return false;
	}
	if (struck && !lasting)
		return false;
	struck = true;
	errno = fault;
	return true;
}

static ssize_t faulty_pread(int fd, void *buf, size_t size, off_t at)
{
	if (piece)
		return pread(fd, buf, size < piece ? size : piece, at);
	return strike() ? -1 : pread(fd, buf, size, at);
}

static ssize_t faulty_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	if (piece)
		return pwrite(fd, buf, size < piece ? size : piece, at);
	/* Half of what was asked for came through before the error. */
	if (calls_left == 0 && !struck && lasting && size > 8192) {
		calls_left = 1;
		strike();
		return pwrite(fd, buf, size / 2 + 100, at);
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

static int faulty_sync(int fd)
{
	(void)fd;
	return strike() ? -1 : 0;
}

static int faulty_futimens(int fd, const struct timespec times[2])
{
	return strike() ? -1 : futimens(fd, times);
}

static void store_fails(int k, int error, bool goes_on)
{
	faulty = io_system;
	faulty.pread = faulty_pread;
	faulty.pwrite = faulty_pwrite;
	faulty.ftruncate = faulty_ftruncate;
	faulty.fallocate = faulty_fallocate;
	faulty.fsync = faulty_sync;
	faulty.fdatasync = faulty_sync;
	faulty.futimens = faulty_futimens;
	calls_left = k;
	fault = error;
	lasting = goes_on;
	struck = false;
	piece = 0;
	io = &faulty;
}

static void store_works(void)
{
	io = &io_system;
}

static uint8_t wanted[MODEL_MAX];

/* One change of a file: [from, to) becomes what `wanted` has, and the size
 * another one. */
struct change {
	const char *name;
	uint64_t old_size;
	int64_t (*run)(struct file *f);
	uint64_t new_size, from, to;
};

static int64_t put(struct file *f, uint64_t from, uint64_t to)
{
	return file_write(f, wanted + from, to - from, from);
}

static int64_t append(struct file *f) { return put(f, 4100, 4150); }
static int64_t append_much(struct file *f) { return put(f, 4100, 34100); }
static int64_t overwrite(struct file *f) { return put(f, 3000, 5000); }
static int64_t overwrite_much(struct file *f) { return put(f, 3000, 70000); }
static int64_t first_write(struct file *f) { return put(f, 0, 1000); }
static int64_t past_the_end(struct file *f) { return put(f, 9000, 9100); }
static int64_t far_past_the_end(struct file *f)
{
	return put(f, 400000, 400100);
}
static int64_t shorten(struct file *f) { return file_truncate(f, 4500); }
static int64_t empty(struct file *f) { return file_truncate(f, 0); }
static int64_t grow(struct file *f) { return file_truncate(f, 9000); }
static int64_t grow_hole(struct file *f) { return file_truncate(f, 400000); }
static int64_t punch(struct file *f)
{
	return file_allocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                     4100, 16000);
}
static int64_t zero(struct file *f)
{
	return file_allocate(f, FALLOC_FL_ZERO_RANGE, 4100, 40000);
}
static int64_t append_and_sync(struct file *f)
{
	int64_t n = put(f, 4100, 4150);

	return n == 50 ? file_sync(f, false) : n;
}

static const struct change changes[] = {
	{ "append", 4100, append, 4150, 4100, 4150 },
	{ "append much", 4100, append_much, 34100, 4100, 34100 },
	{ "overwrite", 20000, overwrite, 20000, 3000, 5000 },
	{ "overwrite much", 90000, overwrite_much, 90000, 3000, 70000 },
	{ "first write", 0, first_write, 1000, 0, 1000 },
	{ "past the end", 4100, past_the_end, 9100, 4100, 9100 },
	{ "far past the end", 4100, far_past_the_end, 400100, 4100, 400100 },
	{ "shorten", 20000, shorten, 4500, 0, 0 },
	{ "empty", 20000, empty, 0, 0, 0 },
	{ "grow", 4100, grow, 9000, 4100, 9000 },
	{ "grow by a hole", 4100, grow_hole, 400000, 4100, 400000 },
	{ "punch", 30000, punch, 30000, 4100, 20100 },
	{ "zero", 30000, zero, 44100, 4100, 44100 },
	{ "append and sync", 4100, append_and_sync, 4150, 4100, 4150 },
};

static void prepare(const struct change *c)
{
	struct file *f = file_fresh();
	bool writes = c->run == append || c->run == append_much
		|| c->run == overwrite || c->run == overwrite_much
		|| c->run == first_write || c->run == append_and_sync;

	file_fill(model, MODEL_MAX, 1);
	memcpy(wanted, model, MODEL_MAX);
	if (!writes && c->from < c->to)
		memset(wanted + c->from, 0, c->to - c->from);
	if (writes)
		file_fill(wanted + c->from, c->to - c->from, 77);
	if (c->run == past_the_end || c->run == far_past_the_end)
		file_fill(wanted + c->new_size - 100, 100, 77);
	if (!f || file_write(f, model, c->old_size, 0) != (ssize_t)c->old_size ||
	    file_close(f))
		abort();
}

/* Whether the size is one of the two or between, and each byte the old one,
 * the new one, or a zero where there was none. */
static bool old_or_new(const struct change *c, struct file *f)
{
	uint64_t size = file_size(f);
	ssize_t n = file_read(f, buffer, MODEL_MAX, 0, false);

	if (n != (ssize_t)size || file_damaged(f)) {
		fprintf(stderr, "read: %zd of %ju\n", n, (uintmax_t)size);
		return false;
	}
	if (size != c->old_size && size != c->new_size &&
	    !(size > c->old_size && size < c->new_size)) {
		fprintf(stderr, "size: %ju\n", (uintmax_t)size);
		return false;
	}
	for (uint64_t i = 0; i < size; i++) {
		if ((i < c->old_size && buffer[i] == model[i]) ||
		    (i >= c->from && i < c->to && buffer[i] == wanted[i]) ||
		    (i >= c->old_size && !buffer[i]))
			continue;
		fprintf(stderr, "byte %ju of %ju\n", (uintmax_t)i,
		        (uintmax_t)size);
		return false;
	}
	return true;
}

static bool is_new(const struct change *c, struct file *f)
{
	return file_size(f) == c->new_size &&
	       file_read(f, buffer, MODEL_MAX, 0, false) ==
	               (ssize_t)c->new_size &&
	       !memcmp(buffer, wanted, c->new_size);
}

static bool is_done(const struct change *c, int64_t result)
{
	bool writes = c->run == append || c->run == append_much
		|| c->run == overwrite || c->run == overwrite_much
		|| c->run == first_write;

	if (c->run == past_the_end || c->run == far_past_the_end)
		return result == 100;
	return result == (writes ? (int64_t)(c->to - c->from) : 0);
}

/* What must be so after a failure, on the same file and from the disk. */
TEST after_failure(const struct change *c, struct file *f, int64_t result,
                   int error)
{
	struct file *other;

	/* The error, or a part of a write, or (where what failed does not
	 * matter) all of it. */
	if (result < 0)
		ASSERT_EQ_FMT(-error, (int)result, "%d");
	else if (!is_done(c, result))
		ASSERT(result > 0 && (uint64_t)result < c->to - c->from);
	/* The first to come finishes what had to be left. */
	ASSERT_EQ(0, file_finalize(f));
	ASSERT(old_or_new(c, f));
	other = file_reopen(O_RDONLY);
	ASSERT(other);
	ASSERT(old_or_new(c, other));
	ASSERT_EQ(0, file_close(other));
	ASSERT_EQ(0, file_findings().total);
	/* Again, and it works. Some of it is done already. */
	ASSERT(is_done(c, c->run(f)));
	ASSERT(is_new(c, f));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, file_findings().total);
	f = file_reopen(O_RDWR);
	ASSERT(is_new(c, f));
	ASSERT_EQ(0, file_close(f));
	PASS();
}

TEST fails_and_comes_back(const struct change *c, int error, bool goes_on)
{
	for (int k = 0; k < 100; k++) {
		struct file *f;
		int64_t result;

		prepare(c);
		f = file_reopen(O_RDWR);
		ASSERT(f);
		store_fails(k, error, goes_on);
		result = c->run(f);
		if (result >= 0 && file_finalize(f) < 0)
			result = c->from == c->to ? -error : result;
		store_works();
		if (!struck) {
			ASSERT(is_done(c, result));
			ASSERT_EQ(0, file_close(f));
			PASS();
		}
		CHECK_CALL(after_failure(c, f, result, error));
	}
	FAILm("the operation never came to its end");
}

/* Reading: the error comes through, and is no damage. */
TEST reading_fails(int error)
{
	struct file *f = file_fresh();

	file_fill(model, 300000, 1);
	ASSERT_EQ(300000, file_write(f, model, 300000, 0));
	ASSERT_EQ(0, file_close(f));
	for (int k = 0; k < 100; k++) {
		ssize_t n;

		f = file_reopen(O_RDONLY);
		store_fails(k, error, k % 2);
		n = file_read(f, buffer, 300000, 0, false);
		store_works();
		if (struck && !(error == EINTR && !lasting))
			ASSERT_EQ_FMT(-error, (int)n, "%d");
		else
			ASSERT_EQ(300000, n);
		ASSERT(!file_damaged(f));
		ASSERT_EQ(300000, file_read(f, buffer, 300000, 0, false));
		ASSERT_EQ(0, memcmp(buffer, model, 300000));
		ASSERT_EQ(0, file_close(f));
		if (!struck)
			PASS();
	}
	FAILm("reading never came to its end");
}

TEST only_pieces(size_t size)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		const struct change *c = &changes[i];
		struct file *f;

		prepare(c);
		store_fails(1 << 30, EIO, false);
		piece = size;
		f = file_reopen(O_RDWR);
		ASSERT(f);
		ASSERT(is_done(c, c->run(f)));
		ASSERT(is_new(c, f));
		ASSERT_EQ(0, file_close(f));
		store_works();
		ASSERT_EQ(0, file_findings().total);
		f = file_reopen(O_RDWR);
		ASSERT(is_new(c, f));
		ASSERT_EQ(0, file_close(f));
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT, EINTR };
	static const size_t pieces[] = { 1000, 4096, 5000, 17 };
	char name[80];

	GREATEST_MAIN_BEGIN();
	if (file_begin())
		return 1;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		for (size_t e = 0; e < 4; e++)
			for (int goes_on = 0; goes_on < 2; goes_on++) {
				snprintf(name, sizeof(name), "%s, %s%s",
				         changes[i].name,
				         strerrorname_np(errors[e]),
				         goes_on ? " that stays" : "");
				greatest_set_test_suffix(name);
				RUN_TESTp(fails_and_comes_back, &changes[i],
				          errors[e], goes_on);
			}
	for (size_t e = 0; e < 4; e++)
		RUN_TESTp(reading_fails, errors[e]);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
		RUN_TESTp(only_pieces, pieces[i]);
	file_end();
	GREATEST_MAIN_END();
}
