/* The file object on damaged ciphertext. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <greatest.h>

#include "tests/volume/file_support.h"

/* Make a file of `sectors` full sectors and 100 bytes. */
static uint64_t make_file(uint64_t sectors)
{
	struct file *f = file_fresh();

	model_size = sector_start(sectors) + 100;
	file_fill(model, model_size, 9);
	if (!f || file_write(f, model, model_size, 0) != (ssize_t)model_size ||
	    file_close(f))
		abort();
	return model_size;
}

TEST flipped_bit(void)
{
	struct file_findings found;
	struct file *f;
	ssize_t n;

	make_file(6);
	file_flip(4096 * 3 + 1234);
	found = file_findings();
	ASSERT_EQ(1, found.total);
	ASSERT_EQ(1, found.count[FILE_CORRUPT_SECTOR]);
	ASSERT_EQ(3, found.last.first);
	ASSERT_EQ(3, found.last.last);
	ASSERT_EQ(sector_start(3), found.last.start);
	ASSERT_EQ(sector_start(4), found.last.end);
	f = file_reopen(O_RDWR);
	ASSERT_FALSE(file_damaged(f));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 100000, 0, 0));
	ASSERT(file_damaged(f));
	ASSERT_EQ(3, file_bad_sector(f));
	/* The good bytes before and after, exactly. */
	n = file_read(f, buffer, 100000, 0, FILE_PARTIAL);
	ASSERT_EQ((ssize_t)sector_start(3), n);
	ASSERT_EQ(0, memcmp(buffer, model, (size_t)n));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(3), FILE_PARTIAL));
	n = file_read(f, buffer, 100000, sector_start(4), FILE_PARTIAL);
	ASSERT_EQ((ssize_t)(model_size - sector_start(4)), n);
	ASSERT_EQ(0, memcmp(buffer, model + sector_start(4), (size_t)n));
	/* A part of it cannot be written, the whole heals it. */
	ASSERT_EQ(-EBADMSG, file_write(f, "x", 1, sector_start(3) + 9));
	ASSERT_EQ(SECTOR_PAYLOAD, file_write(f, model + sector_start(3),
	                                     SECTOR_PAYLOAD, sector_start(3)));
	ASSERT(file_holds_model(f));
	file_close(f);
	ASSERT_EQ(0, file_findings().total);
	PASS();
}

TEST damaged_header(void)
{
	for (off_t at = 0; at < HEADER_SIZE; at += 3) {
		struct file_findings found;
		struct file *f;

		make_file(2);
		file_flip(at);
		found = file_findings();
		ASSERT_EQ(1, found.count[FILE_CORRUPT_HEADER]);
		/* Only a damaged id takes the sectors with it. */
		ASSERT_EQ(at >= 16 && at < 32, found.count[FILE_CORRUPT_SECTOR]);
		f = file_reopen(O_RDWR);
		ASSERT(f);
		ASSERT(file_damaged(f));
		ASSERT_EQ(-EBADMSG, file_read(f, buffer, 10, 0, FILE_PARTIAL));
		ASSERT_EQ(-EBADMSG, file_write(f, buffer, 10, 0));
		ASSERT_EQ(-EBADMSG, file_truncate(f, 10));
		ASSERT_EQ(0, file_truncate(f, 0));
		ASSERT_EQ(3, file_write(f, "abc", 3, 0));
		ASSERT_EQ(0, file_close(f));
		ASSERT_EQ(0, file_findings().total);
	}
	PASS();
}

/* Any cut: whole sectors are read, the rest is an error and never an end. */
TEST every_cut(void)
{
	off_t full = (off_t)size_encrypted(sector_start(3) + 100);

	for (off_t cut = 0; cut < full; cut += cut % 4096 < 100 ? 1 : 37) {
		struct file_findings found;
		struct file *f;
		ssize_t n;

		make_file(3);
		ASSERT_EQ(0, truncate(file_path, cut));
		found = file_findings();
		ASSERT(found.total >= 1);
		f = file_reopen(O_RDONLY);
		ASSERT(f);
		if (cut == 0) {
			ASSERT_EQ(1, found.count[FILE_UNFINISHED_CREATE]);
			ASSERT_EQ(0, file_read(f, buffer, 10, 0, FILE_PARTIAL));
			file_close(f);
			continue;
		}
		ASSERT_EQ(cut < HEADER_SIZE, found.count[FILE_CORRUPT_HEADER]);
		n = file_read(f, buffer, 100000, 0, FILE_PARTIAL);
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
				          file_read(f, buffer, 10, whole, FILE_PARTIAL));
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
	ASSERT_EQ(0, truncate(file_path, 4096 * 3));
	there = sector_start(3);
	f = file_reopen(O_RDWR);
	ASSERT_EQ(-EBADMSG, file_write(f, model + there + 1, 10, there + 1));
	ASSERT_EQ(-EBADMSG, file_truncate(f, there + 1));
	ASSERT_EQ(-EBADMSG, file_truncate(f, model_size + 1));
	ASSERT_EQ(5, file_write(f, model + 10, 5, 10));
	ASSERT(file_damaged(f));
	ASSERT_EQ((ssize_t)(model_size - there),
	          file_write(f, model + there, model_size - there, there));
	ASSERT_FALSE(file_damaged(f));
	ASSERT(file_holds_model(f));
	file_close(f);
	ASSERT_EQ(0, file_findings().total);
	/* Cutting it off where it ends heals it as well. */
	make_file(5);
	ASSERT_EQ(0, truncate(file_path, 4096 * 3));
	f = file_reopen(O_RDWR);
	ASSERT_EQ(0, file_truncate(f, there - 5));
	ASSERT_FALSE(file_damaged(f));
	model_size = there - 5;
	ASSERT(file_holds_model(f));
	file_close(f);
	ASSERT_EQ(0, file_findings().total);
	PASS();
}

TEST zeroed_and_replayed(void)
{
	static const uint8_t zeros[SECTOR_SIZE];
	uint8_t old[SECTOR_SIZE], other[SECTOR_SIZE];
	struct file_findings found;
	struct file *f;
	int fd;

	make_file(6);
	fd = open(file_path, O_RDWR);
	/* Two sectors exchanged. */
	ASSERT_EQ(4096, pread(fd, old, 4096, 4096 * 2));
	ASSERT_EQ(4096, pread(fd, other, 4096, 4096 * 4));
	ASSERT_EQ(4096, pwrite(fd, other, 4096, 4096 * 2));
	ASSERT_EQ(4096, pwrite(fd, old, 4096, 4096 * 4));
	/* One zeroed. */
	ASSERT_EQ(4096, pwrite(fd, zeros, 4096, 4096 * 5));
	close(fd);
	found = file_findings();
	ASSERT_EQ(2, found.count[FILE_CORRUPT_SECTOR]);
	ASSERT_EQ(1, found.count[FILE_ZEROED_SECTOR]);
	ASSERT_EQ(3, found.total);
	f = file_reopen(O_RDONLY);
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(2), FILE_PARTIAL));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(4), FILE_PARTIAL));
	ASSERT_EQ(-EBADMSG, file_read(f, buffer, 1, sector_start(5), FILE_PARTIAL));
	ASSERT_EQ(SECTOR_PAYLOAD, file_read(f, buffer, SECTOR_PAYLOAD,
	                                    sector_start(3), FILE_PARTIAL));
	ASSERT_EQ(0, memcmp(buffer, model + sector_start(3), SECTOR_PAYLOAD));
	file_close(f);
	/* A punched hole is damage too, in a file that has none. */
	make_file(6);
	fd = open(file_path, O_RDWR);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                       4096, 8192));
	close(fd);
	found = file_findings();
	ASSERT_EQ(1, found.total);
	ASSERT_EQ(1, found.count[FILE_ZEROED_SECTOR]);
	ASSERT_EQ(1, found.last.first);
	ASSERT_EQ(2, found.last.last);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (file_begin())
		return 1;
	RUN_TEST(flipped_bit);
	RUN_TEST(damaged_header);
	RUN_TEST(every_cut);
	RUN_TEST(truncated_is_healed);
	RUN_TEST(zeroed_and_replayed);
	file_end();
	GREATEST_MAIN_END();
}
