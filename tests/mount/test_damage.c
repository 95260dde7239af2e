/*
 * Damaged files through a real mount: no wrong byte comes, good sectors can be
 * read, writing heals, and the daemon goes on.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"
#include "mount/guard.h"
#include "mount/mounted.h"
#include "mount/support.h"

static struct mounted m;
static struct victim v;

/* A file of four sectors: 4000, 4080, 4080 and 500 bytes. */
enum { SIZE = 4000 + 2 * 4080 + 500, LENGTH = 4 * 4096 + 500 };

/* A damaged file, and which of its plaintext bytes [start, end) are lost. */
struct hurt {
	char name[32];
	unsigned seed;
	uint64_t size;
	struct { uint64_t start, end; } lost[3]; /* ended by 0, 0 */
	bool known;    /* at once, when it is opened */
	bool headless; /* no header: nothing can be read */
};

static struct hurt hurts[64];
static unsigned count;

static const char *at(const char *name)
{
	return mounted_path(m.point, name);
}

static void end(void)
{
	victim_remove(&v);
	guard_end(&m, false);
}

/* A volume that is not mounted yet. */
static bool begin(void)
{
	end(); /* of a test that failed */
	count = 0;
	if (mounted_make(&m))
		return false;
	guard_begin(&m, 300);
	victim_of(&v, m.volume, m.keyfile);
	return true;
}

#define BEGIN()                                          \
	do {                                             \
		if (!mounted_possible())                 \
			SKIP_BECAUSE("no FUSE");         \
		ASSERT(begin());                         \
	} while (0)

#define MOUNT() ASSERT_EQ(0, mounted_mount(&m, NULL))
#define UNMOUNT() ASSERT_EQ(0, mounted_umount(&m))

/* A new file; the ciphertext to be damaged. */
static const char *fresh(const char *what)
{
	struct hurt *h = &hurts[count];

	memset(h, 0, sizeof(*h));
	h->seed = count;
	h->size = SIZE;
	snprintf(h->name, sizeof(h->name), "plaintext-%s", what);
	put_file_at(&v, h->name, h->seed, SIZE);
	count++;
	return where(&v, h->name);
}

static void loses(uint64_t start, uint64_t end)
{
	struct hurt *h = &hurts[count - 1];
	int k = 0;

	while (h->lost[k].end)
		k++;
	h->lost[k].start = start;
	h->lost[k].end = end;
}

/* Every kind of damage to content. */
static void hurt_all(void)
{
	uint8_t old[4096];
	int fd;

	flip_bit(fresh("first-sector"), 1000, 3);
	loses(0, 4000);
	flip_bit(fresh("middle-sector"), 5000, 5);
	loses(4000, 8080);
	flip_bit(fresh("last-sector"), 12288, 0);
	loses(12160, SIZE);
	flip_bit(fresh("magic"), 3, 0);
	loses(0, SIZE);
	hurts[count - 1].known = hurts[count - 1].headless = true;
	flip_bit(fresh("file-id"), 20, 0);
	loses(0, SIZE);
	hurts[count - 1].known = hurts[count - 1].headless = true;
	flip_bit(fresh("header"), 40, 0);
	loses(0, SIZE);
	hurts[count - 1].known = hurts[count - 1].headless = true;
	flip_bit(fresh("mark"), LENGTH - 3, 0);
	fresh("swapped-within");
	swap_units(where(&v, hurts[count - 1].name), 1,
	           where(&v, hurts[count - 1].name), 2);
	loses(4000, 12160);
	fresh("swapped-across");
	loses(8080, 12160);
	fresh("swapped-across-2");
	loses(8080, 12160);
	swap_units(where(&v, hurts[count - 1].name), 2,
	           where(&v, hurts[count - 2].name), 2);
	zero_range(fresh("zeroed"), 8192, 4096);
	loses(8080, 12160);
	zero_range(fresh("zeroed-off"), 5000, 4000);
	loses(4000, 12160);
	punch_range(fresh("punched"), 4096, 4096);
	loses(4000, 8080);
	punch_range(fresh("punched-end"), 12288, LENGTH - 12288);
	loses(12160, SIZE);
	cut_file(fresh("cut-at"), 2 * 4096);
	loses(8080, SIZE);
	hurts[count - 1].known = true;
	cut_file(fresh("cut-off"), 2 * 4096 + 1000);
	loses(4000 + 1000, SIZE);
	hurts[count - 1].known = true;
	cut_file(fresh("cut-mark"), LENGTH - 100);
	loses(SIZE - 100, SIZE);
	hurts[count - 1].known = true;
	cut_file(fresh("cut-to-header"), 80);
	loses(0, SIZE);
	hurts[count - 1].known = true;
	cut_file(fresh("cut-in-first"), 3000);
	loses(0, SIZE);
	hurts[count - 1].known = true;
	cut_file(fresh("cut-in-header"), 50);
	loses(0, SIZE);
	hurts[count - 1].known = hurts[count - 1].headless = true;
	cut_file(fresh("no-mark"), 4 * 4096);
	/* An older, shorter version of the last sector. */
	fresh("replayed");
	fd = open(where(&v, hurts[count - 1].name), O_RDWR);
	need(pread(fd, old, 4096, 3 * 4096) == 4096, "pread");
	overwrite_at(&v, hurts[count - 1].name, hurts[count - 1].seed, 12160,
	             3000);
	need(pwrite(fd, old, 4096, 3 * 4096) == 4096, "pwrite");
	close(fd);
	hurts[count - 1].size = 12160 + 3000;
	loses(SIZE, 12160 + 3000);
}

/* What a read of `size` bytes at `position` must give: the bytes up to the
 * first lost one, or an error if that is where it begins. */
static ssize_t exact(const struct hurt *h, size_t size, uint64_t position)
{
	uint64_t stop = position + size < h->size ? position + size : h->size;

	/* Without a header nobody knows where the file ends. */
	if (h->headless)
		return -EIO;
	for (int k = 0; k < 3 && h->lost[k].end; k++) {
		if (position >= h->lost[k].start && position < h->lost[k].end)
			return -EIO;
		if (h->lost[k].start > position && h->lost[k].start < stop)
			stop = h->lost[k].start;
	}
	return position < stop ? (ssize_t)(stop - position) : 0;
}

static bool touches(const struct hurt *h, uint64_t start, uint64_t stop)
{
	for (int k = 0; k < 3 && h->lost[k].end; k++)
		if (start < h->lost[k].end && stop > h->lost[k].start)
			return true;
	return false;
}

static ssize_t get(int fd, uint8_t *buf, size_t size, uint64_t position)
{
	ssize_t n = pread(fd, buf, size, (off_t)position);

	return n < 0 ? -errno : n;
}

static bool right(const struct hurt *h, const uint8_t *buf, ssize_t n,
                  uint64_t position)
{
	uint8_t want[65536];

	content_fill(want, n > 0 ? (size_t)n : 0, h->seed, position);
	return n <= 0 || !memcmp(buf, want, (size_t)n);
}

/* The first open of a file whose damage is not known yet: by whole pages. A
 * page without a lost byte can be read, and none that comes is wrong. */
static bool reads_by_pages(const struct hurt *h)
{
	uint8_t buf[4096];
	int fd = open(at(h->name), O_RDONLY);
	bool good = fd >= 0;

	for (uint64_t p = 0; good && p < h->size; p += 4096) {
		ssize_t n = get(fd, buf, 4096, p);
		uint64_t stop = p + 4096 < h->size ? p + 4096 : h->size;

		good = right(h, buf, n, p) &&
		       (n == (ssize_t)(stop - p) ||
		        (touches(h, p, stop) && (n > 0 || n == -EIO)));
		if (!good)
			printf("%s, page at %d: %zd%s\n", h->name, (int)p, n,
			       right(h, buf, n, p) ? "" : ", wrong bytes");
	}
	close(fd);
	return good;
}

/* A later open: byte by byte what the format promises. */
static bool reads_exactly(const struct hurt *h)
{
	static const unsigned sizes[] = { 1, 100, 4080, 4096, 20000 };
	uint8_t buf[20000];
	int fd = open(at(h->name), O_RDONLY);
	bool good = fd >= 0;

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (uint64_t p = 0; good && p < h->size + 50; p += 97) {
			/* Also the two bytes at each sector's border. */
			uint64_t place = p % 2 || p < 4000 ? p
				: 4000 + (p - 4000) / 4080 * 4080 - (p / 2) % 2;
			ssize_t n = get(fd, buf, sizes[s], place);

			good = n == exact(h, sizes[s], place) &&
			       right(h, buf, n, place);
			if (!good)
				printf("%s, %u bytes at %d: %zd, expected %zd%s\n",
				       h->name, sizes[s], (int)place, n,
				       exact(h, sizes[s], place),
				       right(h, buf, n, place) ? ""
				       : ", wrong bytes");
		}
	close(fd);
	return good;
}

/* As a program reads that only goes on: never an end before the end. */
static bool reads_in_sequence(const struct hurt *h)
{
	uint8_t buf[3000];
	uint64_t p = 0;
	int fd = open(at(h->name), O_RDONLY);
	ssize_t n = 0;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		if (!right(h, buf, n, p))
			break;
		p += (uint64_t)n;
	}
	close(fd);
	if (h->lost[0].end ? n < 0 && p <= h->lost[0].start
	                   : n == 0 && p == h->size)
		return true;
	printf("%s in sequence: ends at %d with %zd\n", h->name, (int)p, n);
	return false;
}

static bool all_read(bool (*how)(const struct hurt *))
{
	bool good = true;

	for (unsigned i = 0; i < count; i++)
		good &= how(&hurts[i]);
	return good;
}

static bool log_has(const char *text)
{
	FILE *f = fopen(m.log, "r");
	char line[2000];
	bool has = false;

	while (f && !has && fgets(line, sizeof(line), f))
		has = strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return has;
}

static bool fsck_says_all(void)
{
#define F(class, name, ...) { class, "plaintext-" name, NULL, __VA_ARGS__ }
	return FSCK_SAYS(&v, 4,
		F("corrupt sector", "first-sector", 0, 0, 0, 4000),
		F("corrupt sector", "middle-sector", 1, 1, 4000, 8080),
		F("corrupt sector", "last-sector", 3, 3, 12160, SIZE),
		F("corrupt header", "magic", -1, -1, -1, -1),
		F("corrupt header", "file-id", -1, -1, -1, -1),
		F("corrupt sector", "file-id", 0, 3, 0, SIZE),
		F("corrupt header", "header", -1, -1, -1, -1),
		F("corrupt sector", "swapped-within", 1, 2, 4000, 12160),
		F("corrupt sector", "swapped-across", 2, 2, 8080, 12160),
		F("corrupt sector", "swapped-across-2", 2, 2, 8080, 12160),
		F("zeroed sector", "zeroed", 2, 2, 8080, 12160),
		F("corrupt sector", "zeroed-off", 1, 2, 4000, 12160),
		F("zeroed sector", "punched", 1, 1, 4000, 8080),
		F("zeroed sector", "punched-end", 3, 3, 12160, SIZE),
		F("truncated", "cut-at", 2, 3, 8080, SIZE),
		F("truncated", "cut-off", 1, 3, 5000, SIZE),
		F("truncated", "cut-mark", 3, 3, SIZE - 100, SIZE),
		F("truncated", "cut-to-header", 0, 3, 0, SIZE),
		F("truncated", "cut-in-first", 0, 3, 0, SIZE),
		F("corrupt header", "cut-in-header", -1, -1, -1, -1),
		F("unclean append", "no-mark", -1, -1, -1, -1),
		F("short sector", "replayed", 3, 3, SIZE, 12160 + 3000));
#undef F
}

TEST reading(const char *options)
{
	BEGIN();
	hurt_all();
	ASSERT(fsck_says_all());
	ASSERT_EQ(0, mounted_mount(&m, options));
	ASSERT(all_read(reads_by_pages));
	ASSERT(all_read(reads_exactly));
	ASSERT(all_read(reads_in_sequence));
	/* The log tells where to look, and no plaintext name. */
	ASSERT(!log_has("plaintext-"));
	for (unsigned i = 0; i < count; i++)
		if (hurts[i].lost[0].end && i < 12) /* not so many a second */
			ASSERT(log_has(cipher_of(&v, hurts[i].name)));
	UNMOUNT();
	/* Reading mends nothing and spoils nothing. */
	ASSERT(fsck_says_all());
	end();
	PASS();
}

/* All damaged files at once, from many processes, while the rest works. */
TEST reading_in_parallel(void)
{
	enum { CHILDREN = 6 };
	pid_t children[CHILDREN];
	struct hurt sound = { .seed = 77, .size = 200000 };

	BEGIN();
	hurt_all();
	strcpy(sound.name, "plaintext-sound");
	put_file_at(&v, sound.name, 77, sound.size);
	MOUNT();
	for (int c = 0; c < CHILDREN; c++) {
		children[c] = fork();
		if (children[c] == 0) {
			bool good = true;

			for (int round = 0; round < 3; round++)
				good &= all_read(reads_by_pages) &&
				        reads_by_pages(&sound) &&
				        all_read(reads_in_sequence);
			_exit(good ? 0 : 1);
		}
	}
	for (int c = 0; c < CHILDREN; c++) {
		int status;

		ASSERT_EQ(children[c], waitpid(children[c], &status, 0));
		ASSERT_EQ(0, status);
	}
	ASSERT(all_read(reads_exactly));
	UNMOUNT();
	end();
	PASS();
}

static sigjmp_buf fault;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

/* Through a mapping, a bad page is a signal and a good one is right; bytes
 * that are lost never come as zeros. */
static bool maps(const struct hurt *h)
{
	struct sigaction action = { .sa_handler = on_fault }, before;
	int fd = open(at(h->name), O_RDONLY);
	volatile bool good = true;
	uint8_t *p;

	if (fd < 0)
		return false;
	p = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	sigaction(SIGBUS, &action, &before);
	for (volatile unsigned page = 0; page < 4; page++) {
		volatile unsigned n = page < 3 ? 4096 : SIZE - 3 * 4096;
		volatile bool lost = touches(h, page * 4096, page * 4096 + n);

		if (!sigsetjmp(fault, 1))
			good &= right(h, p + page * 4096, n, page * 4096) &&
			        !lost;
		else
			good &= lost;
	}
	sigaction(SIGBUS, &before, NULL);
	munmap(p, SIZE);
	close(fd);
	return good;
}

TEST mapping(void)
{
	BEGIN();
	flip_bit(fresh("mapped"), 5000, 0);
	loses(4000, 8080);
	cut_file(fresh("mapped-cut"), 2 * 4096 + 1000);
	loses(5000, SIZE);
	cut_file(fresh("mapped-cut-2"), 3 * 4096);
	loses(12160, SIZE);
	fresh("mapped-sound");
	MOUNT();
	/* At first nobody knows that a sector is bad; then the file is opened
	 * in another way. */
	for (int round = 0; round < 3; round++) {
		ASSERT(all_read(maps));
		if (round)
			ASSERT(all_read(reads_exactly));
		else
			ASSERT(all_read(reads_by_pages));
	}
	UNMOUNT();
	end();
	PASS();
}

static bool put(const char *name, unsigned seed, uint64_t position, size_t size,
                int error)
{
	static uint8_t buf[65536];
	int fd = open(at(name), O_RDWR);
	ssize_t n;

	content_fill(buf, size, seed, position);
	n = fd < 0 ? -1 : pwrite(fd, buf, size, (off_t)position);
	n = n < 0 ? -errno : n;
	if (close(fd) && n >= 0)
		n = -errno;
	if (n != (error ? -error : (ssize_t)size))
		printf("write of %zu to %s at %d: %zd\n", size, name,
		       (int)position, n);
	return n == (error ? -error : (ssize_t)size);
}

TEST writing_heals(void)
{
	struct hurt *h;

	BEGIN();
	hurt_all();
	MOUNT();
	ASSERT(all_read(reads_by_pages));
	for (unsigned i = 0; i < count; i++) {
		uint64_t p = 0;

		h = &hurts[i];
		if (h->headless) {
			/* Only a new beginning helps. */
			ASSERT(put(h->name, h->seed, 0, SIZE, EIO));
			ASSERT_EQ(0, truncate(at(h->name), 0));
			h->headless = false;
		} else if (h->lost[0].end && !h->known) {
			/* A part of a bad sector cannot be written. */
			ASSERT(put(h->name, h->seed, h->lost[0].start + 10, 20,
			           EIO));
			/* Writing all of it heals just it. */
			p = strstr(h->name, "replayed") ? 12160
				: h->lost[0].start;
			ASSERT(put(h->name, h->seed, p,
			           h->lost[0].end - p, 0));
			memset(h->lost, 0, sizeof(h->lost));
			ASSERT(reads_exactly(h));
			continue;
		}
		/* The tail that is missing: from where it begins. */
		if (h->known && h->lost[0].start > 0) {
			p = h->lost[0].start;
			ASSERT(put(h->name, h->seed, p + 1, 10, EIO));
		}
		ASSERT(put(h->name, h->seed, p, h->size - p, 0));
		memset(h->lost, 0, sizeof(h->lost));
		ASSERT(reads_exactly(h));
		ASSERT(reads_in_sequence(h));
		ASSERT_EQ((off_t)h->size, path_size(at(h->name)));
	}
	ASSERT(all_read(reads_exactly));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	MOUNT();
	ASSERT(all_read(reads_by_pages));
	UNMOUNT();
	end();
	PASS();
}

/* Cut down to what is there, or emptied, a damaged file is a whole one. */
TEST truncating_heals(void)
{
	BEGIN();
	hurt_all();
	MOUNT();
	for (unsigned i = 0; i < count; i++) {
		struct hurt *h = &hurts[i];

		h->size = h->lost[0].end ? h->lost[0].start : h->size;
		memset(h->lost, 0, sizeof(h->lost));
		h->headless = false;
		if (h->size == 0) {
			int fd = open(at(h->name), O_WRONLY | O_TRUNC);

			ASSERT(fd >= 0);
			close(fd);
		} else {
			ASSERT_EQ(0, truncate(at(h->name), (off_t)h->size));
		}
		ASSERT(reads_exactly(h));
		ASSERT_EQ((off_t)h->size, path_size(at(h->name)));
	}
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

TEST names_of_damaged_files(void)
{
	char to[64];

	BEGIN();
	put_dir_at(&v, "other");
	hurt_all();
	MOUNT();
	for (unsigned i = 0; i < count; i++) {
		struct hurt *h = &hurts[i];
		struct stat st;

		ASSERT_EQ(0, stat(at(h->name), &st));
		ASSERT_EQ(0, chmod(at(h->name), 0600));
		snprintf(to, sizeof(to), "other/%.20s", h->name + 10);
		ASSERT_EQ(0, rename(at(h->name), at(to)));
		ASSERT_EQ(-ENOENT, (int)path_size(at(h->name)));
		ASSERT_EQ(0, link(at(to), at(h->name)));
		ASSERT_EQ(0, unlink(at(to)));
	}
	/* Renamed and linked, they read as before. */
	ASSERT(all_read(reads_by_pages));
	ASSERT(all_read(reads_exactly));
	for (unsigned i = 0; i < count; i++)
		ASSERT_EQ(0, unlink(at(hurts[i].name)));
	ASSERT_EQ(0, rmdir(at("other")));
	ASSERT_EQ(0, path_entries(m.point));
	UNMOUNT();
	ASSERT(FSCK_CLEAN(&v));
	end();
	PASS();
}

/* A mounted volume is in use. */
TEST fsck_of_a_mounted_volume(void)
{
	struct report r;

	BEGIN();
	put_file_at(&v, "file", 1, SIZE);
	MOUNT();
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(24, r.code);
	ASSERT_STR_EQ("", r.json);
	ASSERT(strstr(r.errors, "mounted read-write"));
	report_free(&r);
	UNMOUNT();
	ASSERT_EQ(0, mounted_mount(&m, "ro"));
	ASSERT(FSCK_CLEAN(&v));
	UNMOUNT();
	end();
	PASS();
}

/* Random bits of many files at a time. */
TEST random_flips(unsigned seed)
{
	enum { FILES = 60 };
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
	unsigned flipped[FILES];
	struct report r;

	BEGIN();
	for (unsigned i = 0; i < FILES; i++) {
		char what[16];
		const char *path;
		uint64_t byte, start;

		snprintf(what, sizeof(what), "%u", i);
		path = fresh(what);
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		byte = x % LENGTH;
		flipped[i] = (unsigned)byte;
		flip_bit(path, byte, (unsigned)(x >> 40) % 8);
		if (byte < 80) {
			loses(0, SIZE);
			hurts[i].headless = true;
		} else if (byte < 4096)
			loses(0, 4000);
		else if (byte < 16384) {
			start = 4000 + (byte / 4096 - 1) * 4080;
			loses(start, start + 4080 < SIZE ? start + 4080 : SIZE);
		}
	}
	MOUNT();
	ASSERT(all_read(reads_by_pages));
	ASSERT(all_read(reads_exactly));
	UNMOUNT();
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(4, r.code);
	for (unsigned i = 0; i < FILES; i++) {
		bool named = strstr(r.findings, cipher_of(&v, hurts[i].name));

		ASSERT_EQ(flipped[i] < 16384, named);
		damages_tried += flipped[i] < 16384;
		damages_named += named;
	}
	report_free(&r);
	end();
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	umask(022);
	RUN_TESTp(reading, NULL);
	RUN_TESTp(reading, "ro");
	RUN_TEST(reading_in_parallel);
	RUN_TEST(mapping);
	RUN_TEST(writing_heals);
	RUN_TEST(truncating_heals);
	RUN_TEST(names_of_damaged_files);
	RUN_TEST(fsck_of_a_mounted_volume);
	for (unsigned seed = 1; seed <= 3; seed++)
		RUN_TESTp(random_flips, seed);
	end();
	printf("findings expected: %u, named exactly: %u\n", damages_tried,
	       damages_named);
	GREATEST_MAIN_END();
}
