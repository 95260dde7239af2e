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
#include <unistd.h>

#include <greatest.h>

#include "tests/volume/file_support.h"

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
	f = file_fresh();
	ASSERT(f);
	for (int step = 0; step < 400; step++) {
		uint64_t at = some_position(MODEL_MAX / 2), n = some_size();
		struct stat st;

		switch (below(12)) {
		case 0: case 1: case 2: case 3: case 4:
			file_fill(buffer, n, (unsigned)step);
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

			ASSERT_EQ(want, file_read(f, buffer, n, at, 0));
			ASSERT_EQ(0, memcmp(buffer, model + at, (size_t)want));
			break;
		}
		case 10:
			ASSERT_EQ(0, file_close(f));
			ASSERT_EQ(0, stat(file_path, &st));
			ASSERT_EQ(model_size, (uint64_t)file_size_from_stat(&st));
			if (step > 0 && model_size == 0 && st.st_size == 0)
				f = NULL; /* nothing was ever written */
			else
				ASSERT_EQ(0, file_findings().total);
			f = file_reopen(O_RDWR);
			ASSERT(f);
			break;
		default:
			ASSERT_EQ(0, file_finalize(f));
		}
		ASSERT_EQ(model_size, file_size(f));
		if (step % 20 == 0) {
			ASSERT(file_holds_model(f));
			ASSERT(holes_are_zero(f));
		}
		if (step % 7 == 0) {
			/* What a killed process would leave: a second object
			 * on the same file reads the same, unfinalized. */
			struct file *g = file_reopen(O_RDONLY);
			bool same;

			ASSERT(g);
			same = file_holds_model(g);
			file_close(g);
			ASSERT(same);
		}
	}
	ASSERT(file_holds_model(f));
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
		struct file *f = file_fresh();

		ASSERT(f);
		file_fill(model, n, 3);
		model_size = n;
		ASSERT_EQ((ssize_t)n, file_write(f, model, n, 0));
		ASSERT_EQ(0, file_truncate(f, n));
		ASSERT(file_holds_model(f));
		ASSERT_EQ(0, file_close(f));
		ASSERT_EQ(0, stat(file_path, &st));
		ASSERT_EQ((off_t)size_encrypted(n), st.st_size);
		ASSERT_EQ((int64_t)n, file_size_from_stat(&st));
		ASSERT_EQ(0, file_findings().total);
		f = file_reopen(O_RDONLY);
		ASSERT(file_holds_model(f));
		file_close(f);
	}
	PASS();
}

TEST sparse_files(void)
{
	struct stat st;
	struct file *f = file_fresh();

	/* A terabyte that takes no room, and is checked in no time. */
	ASSERT_EQ(3, file_write(f, "end", 3, (uint64_t)1 << 40));
	ASSERT_EQ(5, file_write(f, "start", 5, 0));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, stat(file_path, &st));
	ASSERT(st.st_blocks < 64);
	ASSERT_EQ(0, file_findings().total);
	f = file_reopen(O_RDWR);
	ASSERT_EQ(((uint64_t)1 << 40) + 3, file_size(f));
	ASSERT_EQ(10, file_read(f, buffer, 10, ((uint64_t)1 << 40) - 7, 0));
	ASSERT_EQ(0, memcmp(buffer, "\0\0\0\0\0\0\0end", 10));
	ASSERT_EQ(0, file_seek(f, 0, SEEK_DATA));
	ASSERT_EQ(4000, file_seek(f, 0, SEEK_HOLE));
	ASSERT_EQ((int64_t)sector_start(sector_of((uint64_t)1 << 40)),
	          file_seek(f, 5000, SEEK_DATA));
	ASSERT_EQ(-ENXIO, file_seek(f, ((uint64_t)1 << 40) + 3, SEEK_DATA));
	file_close(f);
	/* A small gap is no hole. */
	f = file_fresh();
	ASSERT_EQ(1, file_write(f, "x", 1, 100000));
	ASSERT_EQ(100001, file_seek(f, 0, SEEK_HOLE));
	file_close(f);
	PASS();
}

TEST odd_requests(void)
{
	struct file *f = file_fresh();

	ASSERT_EQ(-EFBIG, file_write(f, "x", 1, INT64_MAX));
	ASSERT_EQ(-EFBIG, file_truncate(f, INT64_MAX));
	ASSERT_EQ(0, file_size(f));
	ASSERT_EQ(0, file_read(f, buffer, 10, 0, 0));
	ASSERT_EQ(-ENXIO, file_seek(f, 0, SEEK_DATA));
	ASSERT_EQ(-EOPNOTSUPP, file_allocate(f, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
	ASSERT_EQ(-EOPNOTSUPP, file_allocate(f, FALLOC_FL_PUNCH_HOLE, 0, 4096));
	ASSERT_EQ(0, file_write(f, "", 0, 5));
	ASSERT_EQ(0, file_size(f));
	ASSERT_EQ(0, file_close(f));
	f = file_reopen(O_RDONLY);
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
	struct file *f = file_fresh();

	ASSERT_EQ(3, file_write(f, "abc", 3, 0));
	ASSERT_EQ(0, futimens(file_fd(f), times));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, stat(file_path, &st));
	ASSERT_EQ(-86400, st.st_mtim.tv_sec);
	ASSERT_EQ(999999999, st.st_mtim.tv_nsec);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (file_begin())
		return 1;
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
	file_end();
	GREATEST_MAIN_END();
}
