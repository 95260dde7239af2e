/*
 * frondfs fsck on damaged content: each finding's class, paths, sectors and
 * bytes, and that no wrong byte can be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"
#include "fs/volume/file.h"

static struct victim v;

/* A file of four sectors: 4000, 4080, 4080 and 500 bytes. */
enum { SIZE = 4000 + 2 * 4080 + 500, LENGTH = 4 * 4096 + 500 };

enum { FILES_MAX = 700 };
static char names[FILES_MAX][16];
static unsigned files;

/* What is expected of all files of a test. */
static struct expected wanted[FILES_MAX * 2];
static size_t wants;

static void begin(void)
{
	victim_make(&v);
	files = 0;
	wants = 0;
}

/* A new file of four sectors with the seed of its number; its ciphertext. */
static const char *fresh(void)
{
	snprintf(names[files], sizeof(names[0]), "f%03u", files);
	put_file_at(&v, names[files], files, SIZE);
	return where(&v, names[files++]);
}

static void want(unsigned file, const char *class, int64_t first, int64_t last,
                 int64_t start, int64_t end)
{
	wanted[wants++] = (struct expected){
		class, names[file], NULL, first, last, start, end,
	};
}

static bool as_wanted(int code)
{
	return fsck_says(&v, code, wanted, wants);
}

/* Every file: what can be read is right, and `bad[]` bytes cannot. */
static bool reads(unsigned file, uint64_t bad)
{
	uint64_t found;
	bool good = library_reads_right(&v, names[file], file, SIZE, &found);

	if (good && found != bad)
		printf("%s: %llu bytes cannot be read, expected %llu\n",
		       names[file], (unsigned long long)found,
		       (unsigned long long)bad);
	return good && found == bad;
}

TEST flipped_bits(void)
{
	static const struct {
		unsigned byte;
		int sector; /* -1: header; -2: length mark; -3: the id */
	} places[] = {
		{ 0, -1 }, { 6, -1 }, { 7, -1 }, { 8, -1 }, { 15, -1 },
		{ 16, -3 }, { 31, -3 }, { 32, -1 }, { 63, -1 }, { 79, -1 },
		{ 80, 0 }, { 2000, 0 }, { 4095, 0 },
		{ 4096, 1 }, { 6000, 1 }, { 8191, 1 },
		{ 8192, 2 }, { 12287, 2 },
		{ 12288, 3 }, { 12700, 3 }, { 16000, 3 }, { 16383, 3 },
		{ 16384, -2 }, { LENGTH - 1, -2 },
	};
	static const int64_t start[] = { 0, 4000, 8080, 12160, SIZE };

	begin();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int sector = places[i].sector;
		unsigned n = files;

		flip_bit(fresh(), places[i].byte, (unsigned)i % 8);
		if (sector >= 0)
			want(n, "corrupt sector", sector, sector, start[sector],
			     start[sector + 1]);
		else if (sector != -2)
			want(n, "corrupt header", -1, -1, -1, -1);
		if (sector == -3)
			want(n, "corrupt sector", 0, 3, 0, SIZE);
		ASSERT(reads(n, sector >= 0 ? (uint64_t)(start[sector + 1] -
		             start[sector]) : sector == -2 ? 0 : SIZE));
	}
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

TEST moved_sectors(void)
{
	unsigned n;

	begin();
	/* Within a file: adjacent ones are one finding. */
	n = files;
	fresh();
	swap_units(where(&v, names[n]), 1, where(&v, names[n]), 2);
	want(n, "corrupt sector", 1, 2, 4000, 12160);
	ASSERT(reads(n, 2 * 4080));
	n = files;
	fresh();
	swap_units(where(&v, names[n]), 1, where(&v, names[n]), 3);
	want(n, "corrupt sector", 1, 1, 4000, 8080);
	want(n, "corrupt sector", 3, 3, 12160, SIZE);
	ASSERT(reads(n, 4080 + 500));
	/* With its header away from its place, nothing of a file opens. */
	n = files;
	fresh();
	swap_units(where(&v, names[n]), 0, where(&v, names[n]), 2);
	want(n, "corrupt header", -1, -1, -1, -1);
	want(n, "corrupt sector", 0, 3, 0, SIZE);
	ASSERT(reads(n, SIZE));
	/* The same sector of two files. */
	n = files;
	fresh();
	fresh();
	swap_units(where(&v, names[n]), 2, where(&v, names[n + 1]), 2);
	want(n, "corrupt sector", 2, 2, 8080, 12160);
	want(n + 1, "corrupt sector", 2, 2, 8080, 12160);
	ASSERT(reads(n, 4080) && reads(n + 1, 4080));
	/* Other ones. */
	n = files;
	fresh();
	fresh();
	swap_units(where(&v, names[n]), 1, where(&v, names[n + 1]), 3);
	want(n, "corrupt sector", 1, 1, 4000, 8080);
	want(n + 1, "corrupt sector", 3, 3, 12160, SIZE);
	ASSERT(reads(n, 4080) && reads(n + 1, 500));
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

/* Header and sector 0 of another file make it that file: its content is all
 * that can be read, and the old one's other sectors do not open. */
TEST another_files_beginning(void)
{
	uint64_t bad;
	unsigned n;

	begin();
	n = files;
	fresh();
	fresh();
	swap_units(where(&v, names[n]), 0, where(&v, names[n + 1]), 0);
	want(n, "corrupt sector", 1, 3, 4000, SIZE);
	want(n + 1, "corrupt sector", 1, 3, 4000, SIZE);
	ASSERT(library_reads_right(&v, names[n], n + 1, SIZE, &bad));
	ASSERT_EQ(SIZE - 4000, bad);
	ASSERT(library_reads_right(&v, names[n + 1], n, SIZE, &bad));
	ASSERT_EQ(SIZE - 4000, bad);
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

TEST copied_ciphertext(void)
{
	uint8_t units[3 * 4096];
	uint64_t bad;
	unsigned n;
	int fd;

	begin();
	/* Another file's sectors. */
	n = files;
	fresh();
	fresh();
	fd = open(where(&v, names[n + 1]), O_RDONLY);
	ASSERT_EQ(sizeof(units), (size_t)pread(fd, units, sizeof(units), 4096));
	close(fd);
	fd = open(where(&v, names[n]), O_WRONLY);
	ASSERT_EQ(sizeof(units), (size_t)pwrite(fd, units, sizeof(units), 4096));
	close(fd);
	want(n, "corrupt sector", 1, 3, 4000, SIZE);
	ASSERT(reads(n, SIZE - 4000) && reads(n + 1, 0));
	/* A whole other file is a copy of that file. */
	n = files;
	fresh();
	fresh();
	copy_file(where(&v, names[n + 1]), where(&v, names[n]));
	ASSERT(library_reads_right(&v, names[n], n + 1, SIZE, &bad) && bad == 0);
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

TEST zeroed_and_punched(void)
{
	static const struct {
		unsigned start, size;
		/* First and last of corrupt or zeroed sectors, in order. */
		struct { char kind; int first, last; } found[3];
	} ranges[] = {
		{ 80, 4016, { { 'z', 0, 0 } } },
		{ 4096, 4096, { { 'z', 1, 1 } } },
		{ 8192, 8192, { { 'z', 2, 3 } } },
		{ 12288, 4096, { { 'z', 3, 3 } } },
		{ 12288, LENGTH - 12288, { { 'z', 3, 3 } } },
		{ 80, 16, { { 'c', 0, 0 } } },
		{ 5000, 1000, { { 'c', 1, 1 } } },
		{ 4112, 4080, { { 'c', 1, 1 } } },
		{ 6000, 8000, { { 'c', 1, 1 }, { 'z', 2, 2 }, { 'c', 3, 3 } } },
		{ 4000, 200, { { 'c', 0, 1 } } },
		{ 12000, 600, { { 'c', 2, 3 } } },
		{ 16384, 500, { { 0, 0, 0 } } },
	};
	static const int64_t start[] = { 0, 4000, 8080, 12160, SIZE };

	begin();
	for (size_t i = 0; i < 2 * sizeof(ranges) / sizeof(ranges[0]); i++) {
		const char *path = fresh();
		unsigned n = files - 1;
		uint64_t bad = 0;

		if (i % 2)
			punch_range(path, ranges[i / 2].start, ranges[i / 2].size);
		else
			zero_range(path, ranges[i / 2].start, ranges[i / 2].size);
		for (int k = 0; k < 3 && ranges[i / 2].found[k].kind; k++) {
			int a = ranges[i / 2].found[k].first;
			int b = ranges[i / 2].found[k].last;

			want(n, ranges[i / 2].found[k].kind == 'z'
			     ? "zeroed sector" : "corrupt sector", a, b,
			     start[a], start[b + 1]);
			bad += (uint64_t)(start[b + 1] - start[a]);
		}
		ASSERT(reads(n, bad));
	}
	/* Without its beginning, a file has no header and no id. */
	zero_range(fresh(), 0, 4096);
	want(files - 1, "corrupt header", -1, -1, -1, -1);
	want(files - 1, "corrupt sector", 1, 3, 4000, SIZE);
	ASSERT(reads(files - 1, SIZE));
	punch_range(fresh(), 0, LENGTH);
	want(files - 1, "corrupt header", -1, -1, -1, -1);
	ASSERT(reads(files - 1, SIZE));
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

TEST hole_in_a_large_file(void)
{
	enum { SECTORS = 600 };
	uint64_t size = 4000 + (uint64_t)(SECTORS - 1) * 4080;

	begin();
	strcpy(names[0], "large");
	put_file_at(&v, "large", 7, size);
	punch_range(where(&v, "large"), 10 * 4096, 400 * 4096);
	want(0, "zeroed sector", 10, 409, 4000 + 9 * 4080, 4000 + 409 * 4080);
	zero_range(where(&v, "large"), 500 * 4096, 4 * 4096);
	want(0, "zeroed sector", 500, 503, 4000 + 499 * 4080, 4000 + 503 * 4080);
	flip_bit(where(&v, "large"), 599 * 4096 + 17, 1);
	want(0, "corrupt sector", 599, 599, 4000 + 598 * 4080, (int64_t)size);
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

/* What a cut to `length` bytes leaves, by the format's rules. */
static uint64_t cut_expectation(unsigned n, uint64_t length)
{
	uint64_t units = length / 4096, rest = length % 4096, there;
	uint64_t full = units ? 4000 + (units - 1) * 4080 : 0;

	if (length == 0) {
		want(n, "unfinished create", -1, -1, -1, -1);
		return UINT64_MAX;
	}
	if (length < 80) {
		want(n, "corrupt header", -1, -1, -1, -1);
		return SIZE;
	}
	if (length == 4 * 4096) {
		/* Only the mark is gone; the last sector tells its size. */
		want(n, "unclean append", -1, -1, -1, -1);
		return 0;
	}
	if (length == LENGTH)
		return 0;
	if (units == 0)
		there = 0;
	else if (rest == 0 || rest > (units == 1 ? 4000 : 4080))
		there = full;
	else
		there = full - (units == 1 ? 4000 : 4080) + rest;
	want(n, "truncated", there < 4000 ? 0 : (int64_t)(1 + (there - 4000) / 4080),
	     3, (int64_t)there, SIZE);
	return SIZE - there;
}

TEST cuts(void)
{
	static const unsigned borders[] = {
		0, 1, 15, 16, 31, 32, 79, 80, 81, 95, 96, 97, 4079, 4080, 4095,
		4096, 4097, 8095, 8096, 8097, 8176, 8191, 8192, 8193, 12271,
		12272, 12273, 12287, 12288, 12289, 16367, 16368, 16369, 16383,
		16384, 16385, LENGTH - 1, LENGTH,
	};
	uint64_t lengths[FILES_MAX], bad[FILES_MAX];
	unsigned count = 0;

	begin();
	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
		lengths[count++] = borders[i];
	for (unsigned length = 61; length < LENGTH; length += 53)
		lengths[count++] = length;
	for (unsigned i = 0; i < count; i++) {
		cut_file(fresh(), lengths[i]);
		bad[i] = cut_expectation(i, lengths[i]);
		if (bad[i] != UINT64_MAX)
			ASSERT(reads(i, bad[i]));
	}
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

static void read_unit(const char *path, uint64_t unit, uint8_t buf[4096])
{
	int fd = open(path, O_RDONLY);

	need(fd >= 0 && pread(fd, buf, 4096, (off_t)unit * 4096) == 4096, path);
	close(fd);
}

static void write_unit(const char *path, uint64_t unit, size_t size,
                       const uint8_t *buf)
{
	int fd = open(path, O_WRONLY);

	need(fd >= 0 && pwrite(fd, buf, size, (off_t)unit * 4096) ==
	     (ssize_t)size, path);
	close(fd);
}

/* Exactly what the format promises, and what it does not. */
TEST replayed(void)
{
	uint8_t old[4096], header[4096];
	uint64_t bad;
	unsigned n;

	begin();
	/* A full sector of an older version is not found. */
	n = files;
	read_unit(fresh(), 1, old);
	overwrite_at(&v, names[n], 1000, 4000, 4080);
	write_unit(where(&v, names[n]), 1, 4096, old);
	ASSERT(reads(n, 0));
	/* One that was shorter is: bytes up to there are read. */
	n = files;
	read_unit(fresh(), 3, old);
	overwrite_at(&v, names[n], n, 12160, 3000);
	write_unit(where(&v, names[n]), 3, 4096, old);
	want(n, "short sector", 3, 3, SIZE, 12160 + 3000);
	ASSERT(library_reads_right(&v, names[n], n, 12160 + 3000, &bad));
	ASSERT_EQ(2500, bad);
	/* In the middle of the file as well. */
	n = files;
	read_unit(fresh(), 3, old);
	overwrite_at(&v, names[n], n, 12160, 10000);
	write_unit(where(&v, names[n]), 3, 4096, old);
	want(n, "short sector", 3, 3, SIZE, 12160 + 4080);
	ASSERT(library_reads_right(&v, names[n], n, 22160, &bad));
	ASSERT_EQ(4080 - 500, bad);
	/* An old header: of a shorter file ... */
	n = files;
	read_unit(fresh(), 0, header);
	overwrite_at(&v, names[n], n, 12160, 10000);
	write_unit(where(&v, names[n]), 0, 80, header);
	want(n, "unclean append", 3, 5, SIZE, 22160);
	ASSERT(library_reads_right(&v, names[n], n, 22160, &bad) && bad == 0);
	/* ... and of a longer one. */
	n = files;
	fresh();
	overwrite_at(&v, names[n], n, SIZE, 10000);
	read_unit(where(&v, names[n]), 0, header);
	cut_file(where(&v, names[n]), LENGTH);
	want(n, "truncated", 3, 5, SIZE, SIZE + 10000);
	ASSERT(library_reads_right(&v, names[n], n, SIZE + 10000, &bad));
	ASSERT_EQ(10000, bad);
	/* A header of another file. */
	n = files;
	read_unit(fresh(), 0, header);
	write_unit(fresh(), 0, 80, header);
	want(n + 1, "corrupt sector", 0, 3, 0, SIZE);
	ASSERT(reads(n, 0) && reads(n + 1, SIZE));
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

/* What a writer leaves that was killed. */
TEST unclean_appends(void)
{
	uint8_t header[80];
	unsigned n;
	int fd;

	begin();
	/* The first write of a file: sectors, no mark, a header of size 0. */
	strcpy(names[files], "f000");
	n = files++;
	put_file_at(&v, "f000", n, 0);
	fd = open(where(&v, "f000"), O_RDONLY);
	ASSERT_EQ(80, read(fd, header, 80));
	close(fd);
	overwrite_at(&v, "f000", n, 0, SIZE);
	write_unit(where(&v, "f000"), 0, 80, header);
	cut_file(where(&v, "f000"), 4 * 4096);
	want(n, "unclean append", 0, 3, 0, SIZE);
	ASSERT(reads(n, 0));
	/* A close that was cut short: the mark is missing only. */
	n = files;
	fresh();
	cut_file(where(&v, names[n]), 4 * 4096);
	want(n, "unclean append", -1, -1, -1, -1);
	ASSERT(reads(n, 0));
	/* c = 0. */
	n = files;
	fresh();
	cut_file(where(&v, names[n]), 0);
	want(n, "unfinished create", -1, -1, -1, -1);
	/* An empty file is none of that. */
	strcpy(names[files], "empty");
	put_file_at(&v, names[files++], 0, 0);
	/* The tail of an append, itself damaged. */
	n = files;
	fresh();
	cut_file(where(&v, names[n]), 4 * 4096);
	flip_bit(where(&v, names[n]), 3 * 4096 + 99, 0);
	want(n, "corrupt sector", 3, 3, 12160, SIZE);
	want(n, "unclean append", -1, -1, -1, -1);
	ASSERT(reads(n, 500));
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST sparse_files(void)
{
	uint64_t tib = (uint64_t)1 << 40;
	struct report r;
	double start;

	begin();
	strcpy(names[0], "tebibyte");
	strcpy(names[1], "gaps");
	put_file_at(&v, "tebibyte", 1, 10000);
	overwrite_at(&v, "tebibyte", 1, tib - 10000, 10000);
	put_file_at(&v, "gaps", 2, 1000);
	for (int i = 1; i < 20; i++)
		overwrite_at(&v, "gaps", 2, (uint64_t)i << 20, 5000);
	start = now();
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(0, r.code);
	ASSERT(now() - start < 5);
	ASSERT(r.bytes < 1 << 20);
	report_free(&r);
	/* Damage is found between the holes. */
	flip_bit(where(&v, "tebibyte"), size_of(where(&v, "tebibyte")) - 8192, 3);
	want(0, "corrupt sector", (int64_t)(1 + (tib - 1 - 4000) / 4080) - 1,
	     (int64_t)(1 + (tib - 1 - 4000) / 4080) - 1,
	     (int64_t)((tib - 1 - 4000) / 4080 * 4080 + 4000 - 4080),
	     (int64_t)((tib - 1 - 4000) / 4080 * 4080 + 4000));
	ASSERT(as_wanted(4));
	victim_remove(&v);
	PASS();
}

TEST hard_links(void)
{
	struct report r;

	begin();
	fresh();
	for (int i = 0; i < 5; i++) {
		struct dir_entry entry;
		struct dir *dir;
		char name[8];

		snprintf(name, sizeof(name), "link%d", i);
		ASSERT_EQ(0, dir_open(&dir, v.volume, dup(v.volume->root)));
		ASSERT_EQ(0, dir_link(dir, cipher_of(&v, "f000"), dir, name,
		                      &entry));
		dir_unref(dir);
	}
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(0, r.code);
	ASSERT(r.bytes < 2 * LENGTH);
	report_free(&r);
	flip_bit(where(&v, "f000"), 5000, 1);
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(4, r.code);
	ASSERT_EQ(1, (int)r.count);
	report_free(&r);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TEST(flipped_bits);
	RUN_TEST(moved_sectors);
	RUN_TEST(another_files_beginning);
	RUN_TEST(copied_ciphertext);
	RUN_TEST(zeroed_and_punched);
	RUN_TEST(hole_in_a_large_file);
	RUN_TEST(cuts);
	RUN_TEST(replayed);
	RUN_TEST(unclean_appends);
	RUN_TEST(sparse_files);
	RUN_TEST(hard_links);
	printf("findings expected: %u, named exactly: %u\n", damages_tried,
	       damages_named);
	GREATEST_MAIN_END();
}
