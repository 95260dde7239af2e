/*
 * How many system calls writing takes (row F104 of the field's troubles): they
 * are counted in the table of fs/volume/io.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/format/sector.h"
#include "fs/volume/io.h"
#include "tests/volume/file_support.h"

static struct io counting;
static struct {
	unsigned reads, writes, lengths, syncs;
	unsigned headers;   /* writes that begin at offset 0 */
	unsigned ragged;    /* writes that are not of whole sectors */
	size_t read, written;
	off_t last_at;
} calls;

static ssize_t count_pread(int fd, void *buf, size_t size, off_t at)
{
	calls.reads++;
	calls.read += size;
	return pread(fd, buf, size, at);
}

static ssize_t count_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	calls.writes++;
	calls.headers += at == 0;
	/* All of sector 0 but the header may be written alone. */
	calls.ragged += (at % SECTOR_SIZE && at != HEADER_SIZE)
	                || ((off_t)size + at) % SECTOR_SIZE;
	calls.written += size;
	calls.last_at = at;
	return pwrite(fd, buf, size, at);
}

static int count_ftruncate(int fd, off_t length)
{
	calls.lengths++;
	return ftruncate(fd, length);
}

static int count_fsync(int fd)
{
	calls.syncs++;
	return fsync(fd);
}

static int count_fdatasync(int fd)
{
	calls.syncs++;
	return fdatasync(fd);
}

static void begin(void)
{
	counting = io_system;
	counting.pread = count_pread;
	counting.pwrite = count_pwrite;
	counting.ftruncate = count_ftruncate;
	counting.fsync = count_fsync;
	counting.fdatasync = count_fdatasync;
	memset(&calls, 0, sizeof(calls));
	io = &counting;
}

static void end(void *unused)
{
	(void)unused;
	io = &io_system;
}

enum { FIRST = 4000, EACH = 4080 }; /* bytes in sector 0, and in the others */

/* A file of `sectors` sectors and some bytes, finished. */
static struct file *prepared(unsigned sectors, unsigned more)
{
	struct file *f = file_fresh();

	model_size = FIRST + (sectors - 1) * EACH + more;
	file_fill(model, model_size, 1);
	if (!f || file_write(f, model, model_size, 0) != (ssize_t)model_size
	    || file_finalize(f))
		abort();
	return f;
}

/* Whole sectors, one or many: no read, and one write. */
TEST whole_sectors_are_not_read(void)
{
	static const unsigned counts[] = { 1, 2, 7, 64, 250 };
	struct file *f = prepared(300, 100);

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		size_t n = counts[i] * EACH, at = FIRST + 5 * EACH;

		file_fill(model + at, n, 10 + (unsigned)i);
		begin();
		ASSERT_EQ((ssize_t)n, file_write(f, model + at, n, at));
		ASSERT_EQ(0, calls.reads);
		ASSERT_EQ(1, calls.writes);
		ASSERT_EQ(counts[i] * SECTOR_SIZE, calls.written);
		ASSERT_EQ(0, calls.ragged + calls.headers + calls.lengths);
		end(NULL);
	}
	/* Sector 0 beside its header, and those after it. */
	begin();
	ASSERT_EQ(FIRST + EACH, file_write(f, model, FIRST + EACH, 0));
	ASSERT_EQ(0, calls.reads);
	ASSERT_EQ(1, calls.writes);
	ASSERT_EQ(0, calls.headers + calls.ragged);
	end(NULL);
	ASSERT(file_holds_model(f));
	/* And all of it, with a last sector that is not full. */
	file_fill(model, model_size, 30);
	begin();
	ASSERT_EQ((ssize_t)model_size, file_write(f, model, model_size, 0));
	ASSERT_EQ(0, calls.reads);
	ASSERT_EQ(2, calls.writes); /* a request is 258 sectors at most */
	ASSERT_EQ(0, calls.ragged);
	end(NULL);
	ASSERT(file_holds_model(f));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, file_findings().total);
	PASS();
}

/* In the middle of sectors only the two at the edges are read, and all go to
 * the store in one write. */
TEST only_the_edges_are_read(void)
{
	struct file *f = prepared(100, 0);
	size_t at = FIRST + 10 * EACH + 50, n = 20 * EACH;

	file_fill(model + at, n, 2);
	begin();
	ASSERT_EQ((ssize_t)n, file_write(f, model + at, n, at));
	ASSERT_EQ(2, calls.reads);
	ASSERT_EQ(2 * SECTOR_SIZE, calls.read);
	ASSERT_EQ(1, calls.writes);
	ASSERT_EQ(21 * SECTOR_SIZE, calls.written);
	ASSERT_EQ(0, calls.ragged + calls.headers);
	end(NULL);
	ASSERT(file_holds_model(f));
	ASSERT_EQ(0, file_close(f));
	PASS();
}

/* Pieces that join: none of them is read back, each is one write, and the
 * header is written when all is done and not with each of them. */
TEST appending_in_pieces(size_t piece)
{
	enum { PIECES = 40 };
	struct file *f = prepared(3, 0);
	size_t start = model_size;

	begin();
	for (int i = 0; i < PIECES; i++) {
		file_fill(model + model_size, piece, (unsigned)i);
		ASSERT_EQ((ssize_t)piece, file_write(f, model + model_size,
		                                     piece, model_size));
		model_size += piece;
	}
	ASSERT_EQ(0, calls.reads);
	ASSERT_EQ(PIECES, calls.writes);
	ASSERT_EQ(0, calls.headers + calls.ragged);
	/* Not more than a sector that is written again for each piece. */
	ASSERT(calls.written <= (model_size - start) / EACH * SECTOR_SIZE
	       + (PIECES + 1) * SECTOR_SIZE);
	memset(&calls, 0, sizeof(calls));
	ASSERT_EQ(0, file_finalize(f));
	ASSERT_EQ(1, calls.writes);
	ASSERT_EQ(1, calls.headers);
	ASSERT(calls.lengths <= 1);
	/* Again, when nothing was done: nothing. */
	memset(&calls, 0, sizeof(calls));
	ASSERT_EQ(0, file_finalize(f));
	ASSERT_EQ(0, calls.reads + calls.writes + calls.lengths);
	end(NULL);
	ASSERT(file_holds_model(f));
	ASSERT_EQ(0, file_close(f));
	ASSERT_EQ(0, file_findings().total);
	PASS();
}

/* A small new file is one write, with its header, and its length. */
TEST a_small_file_is_one_write(void)
{
	struct file *f = file_fresh();

	model_size = 1000;
	file_fill(model, model_size, 4);
	begin();
	ASSERT_EQ(1000, file_write(f, model, 1000, 0));
	ASSERT_EQ(0, file_finalize(f));
	ASSERT_EQ(1, calls.writes);
	ASSERT_EQ(1, calls.headers);
	ASSERT_EQ(1, calls.lengths);
	ASSERT_EQ(0, calls.reads + calls.syncs);
	end(NULL);
	ASSERT(file_holds_model(f));
	ASSERT_EQ(0, file_close(f));
	PASS();
}

SUITE(file_calls)
{
	SET_TEARDOWN(end, NULL);
	RUN_TEST(whole_sectors_are_not_read);
	RUN_TEST(only_the_edges_are_read);
	RUN_TESTp(appending_in_pieces, 100);
	RUN_TESTp(appending_in_pieces, 4096);
	RUN_TESTp(appending_in_pieces, 16384);
	RUN_TEST(a_small_file_is_one_write);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (file_begin())
		return 1;
	RUN_SUITE(file_calls);
	file_end();
	GREATEST_MAIN_END();
}
