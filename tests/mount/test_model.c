/*
 * Random operations on one file, through several handles and by its path,
 * against an array of bytes: positions and sizes around the borders of
 * sectors, a shared mapping, O_DIRECT, holes, and new mounts in between.
 *
 *   FROND_MODEL_STEPS   operations for each seed [3000]
 *   FROND_MODEL_SEED    added to each seed, for other courses [0]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "cipher/random.h"
#include "mount/guard.h"
#include "mount/support.h"

enum {
	CAPACITY = 6 << 20,  /* of the array */
	LOG_LINES = 40,
	LOG_LINE = 120,
	HANDLES = 3,         /* the third one is opened with O_DIRECT */
};

struct model {
	struct mounted m;
	const char *options; /* of the mount */
	uint64_t random;
	unsigned seed, step;
	size_t limit;        /* sizes stay below */

	uint8_t *bytes;      /* the truth; zeros from `size` on */
	size_t size;
	uint8_t *buffer;     /* for reading */
	uint8_t *fresh;      /* to be written */

	int turn;            /* of the file's names */
	int fd[HANDLES];
	bool writes[HANDLES];
	int append;          /* with O_APPEND */
	uint8_t *map;        /* of CAPACITY bytes, or NULL */
	bool map_dirty;

	char log[LOG_LINES][LOG_LINE];
	unsigned logged;
};

static struct model model;

static uint64_t below(uint64_t n)
{
	return random_next(&model.random) % n;
}

static bool chance(unsigned percent)
{
	return below(100) < percent;
}

static void note(const char *format, ...)
{
	char *line = model.log[model.logged++ % LOG_LINES];
	va_list args;
	int n = snprintf(line, LOG_LINE, "%u: ", model.step);

	va_start(args, format);
	vsnprintf(line + n, LOG_LINE - (size_t)n, format, args);
	va_end(args);
}

/* What is wrong, and how it came to that. Returns false. */
static bool wrong(const char *format, ...)
{
	unsigned from = model.logged > LOG_LINES ? model.logged - LOG_LINES : 0;
	va_list args;

	printf("\nseed %u, step %u, size %zu: ", model.seed, model.step,
	       model.size);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nthe operations before:\n");
	for (unsigned i = from; i < model.logged; i++)
		printf("  %s\n", model.log[i % LOG_LINES]);
	return false;
}

#define WRONG_UNLESS(condition, ...)                  \
	do {                                          \
		if (!(condition))                     \
			return wrong(__VA_ARGS__);    \
	} while (0)

static const char *path(void)
{
	return mounted_path(model.m.point, model.turn ? "model" : "its other name");
}

static size_t border(void)
{
	size_t sectors = model.limit / 4080 + 1;

	return 4000 + 4080 * below(sectors);
}

static size_t position(size_t end)
{
	size_t at;

	switch (below(8)) {
	case 0: case 1: case 2:
		at = border() + below(5) - 2;
		break;
	case 3:
		at = model.size;
		break;
	case 4:
		at = model.size + below(9000);
		break;
	case 5:
		at = 4096 * below(model.limit / 4096 + 1);
		break;
	default:
		at = below(model.limit);
	}
	return at > end ? end : at;
}

static size_t length(void)
{
	switch (below(10)) {
	case 0: case 1: case 2: case 3:
		return 1 + below(300);
	case 4:
		return 4080;
	case 5:
		return 4096 * (1 + below(8));
	case 6: case 7:
		return 1 + below(9000);
	case 8:
		return 1 + below(70000);
	default:
		return 1 + below(1500000);
	}
}

static void range(size_t *at, size_t *n)
{
	*at = position(model.limit - 1);
	*n = length();
	if (chance(20)) /* ends at a border */
		*n = border() > *at ? border() : *n;
	if (*at + *n > model.limit)
		*n = model.limit - *at;
}

/* A range of what is there; false where the file is empty. */
static bool inner_range(size_t *at, size_t *n)
{
	if (!model.size)
		return false;
	*at = position(model.size - 1);
	*n = length();
	if (*at + *n > model.size)
		*n = model.size - *at;
	return true;
}

static const uint8_t *some_bytes(size_t n)
{
	if (chance(6))
		memset(model.fresh, 0, n);
	else
		bytes_fill(model.fresh, n, (unsigned)random_next(&model.random));
	return model.fresh;
}

static void resize(size_t size)
{
	if (size < model.size)
		memset(model.bytes + size, 0, model.size - size);
	model.size = size;
}

static void stored(const uint8_t *from, size_t at, size_t n)
{
	memcpy(model.bytes + at, from, n);
	if (at + n > model.size)
		model.size = at + n;
}

static bool same(const uint8_t *got, size_t at, size_t n, const char *where)
{
	for (size_t i = 0; i < n; i++)
		WRONG_UNLESS(got[i] == model.bytes[at + i],
		             "%s: byte %zu is %02x, not %02x (sector %zu)",
		             where, at + i, got[i], model.bytes[at + i],
		             at + i < 4000 ? 0 : 1 + (at + i - 4000) / 4080);
	return true;
}

/* ---- handles ---- */

static bool open_handle(int i)
{
	int flags = i == 2 ? O_RDWR | O_DIRECT
	            : i == 1 && chance(30) ? O_RDONLY : O_RDWR;

	if (model.fd[i] >= 0 && close(model.fd[i]))
		return wrong("close: %s", strerror(errno));
	model.fd[i] = open(path(), flags | O_CLOEXEC);
	model.writes[i] = (flags & O_ACCMODE) != O_RDONLY;
	WRONG_UNLESS(model.fd[i] >= 0, "open: %s", strerror(errno));
	return true;
}

static bool open_all(void)
{
	for (int i = 0; i < HANDLES; i++)
		if (!open_handle(i))
			return false;
	model.append = open(path(), O_WRONLY | O_APPEND | O_CLOEXEC);
	WRONG_UNLESS(model.append >= 0, "open: %s", strerror(errno));
	return true;
}

static bool sync_map(void)
{
	if (model.map && model.map_dirty
	    && msync(model.map, CAPACITY, MS_SYNC))
		return wrong("msync: %s", strerror(errno));
	model.map_dirty = false;
	return true;
}

static void unmap(void)
{
	if (model.map)
		munmap(model.map, CAPACITY);
	model.map = NULL;
	model.map_dirty = false;
}

static bool close_all(void)
{
	unmap();
	for (int i = 0; i < HANDLES; i++) {
		if (model.fd[i] >= 0 && close(model.fd[i]))
			return wrong("close: %s", strerror(errno));
		model.fd[i] = -1;
	}
	if (model.append >= 0 && close(model.append))
		return wrong("close: %s", strerror(errno));
	model.append = -1;
	return true;
}

static int some_writer(void)
{
	int i = (int)below(HANDLES);

	return model.writes[i] ? i : 0;
}

/* ---- operations ---- */

static bool op_write(void)
{
	int i = some_writer();
	size_t at, n;
	const uint8_t *from;
	ssize_t w;

	range(&at, &n);
	from = some_bytes(n);
	note("pwrite(%d, %zu bytes at %zu)", i, n, at);
	w = pwrite(model.fd[i], from, n, (off_t)at);
	WRONG_UNLESS(w == (ssize_t)n, "pwrite: %zd: %s", w, strerror(errno));
	stored(from, at, n);
	return true;
}

static bool op_append(void)
{
	size_t n = length();
	const uint8_t *from = some_bytes(n);
	ssize_t w;

	if (model.size + n > model.limit)
		return true;
	note("append(%zu bytes at %zu)", n, model.size);
	w = write(model.append, from, n);
	WRONG_UNLESS(w == (ssize_t)n, "append: %zd: %s", w, strerror(errno));
	stored(from, model.size, n);
	return true;
}

static bool op_read(void)
{
	int i = (int)below(HANDLES);
	size_t at, n, want;
	ssize_t r;

	range(&at, &n);
	want = at >= model.size ? 0
	       : n < model.size - at ? n : model.size - at;
	note("pread(%d, %zu bytes at %zu)", i, n, at);
	memset(model.buffer, 0xa5, n);
	r = pread(model.fd[i], model.buffer, n, (off_t)at);
	WRONG_UNLESS(r == (ssize_t)want, "pread(%d, %zu at %zu): %zd, not %zu: "
	             "%s", i, n, at, r, want, strerror(errno));
	return same(model.buffer, at, want, "pread");
}

static bool op_truncate(void)
{
	size_t size = position(model.limit);
	bool by_path = chance(50);
	int r;

	if (chance(8))
		size = 0;
	note("%s(%zu)", by_path ? "truncate" : "ftruncate", size);
	r = by_path ? truncate(path(), (off_t)size)
	            : ftruncate(model.fd[some_writer()], (off_t)size);
	WRONG_UNLESS(r == 0, "truncate: %s", strerror(errno));
	resize(size);
	return true;
}

static bool op_open_truncate(void)
{
	int fd;

	note("open(O_TRUNC)");
	fd = open(path(), O_WRONLY | O_TRUNC | O_CLOEXEC);
	WRONG_UNLESS(fd >= 0, "open(O_TRUNC): %s", strerror(errno));
	close(fd);
	resize(0);
	return true;
}

static bool need_map(void)
{
	if (model.map)
		return true;
	model.map = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED,
	                 model.fd[0], 0);
	if (model.map == MAP_FAILED) {
		model.map = NULL;
		return wrong("mmap: %s", strerror(errno));
	}
	return true;
}

static bool op_map_write(void)
{
	size_t at, n;
	const uint8_t *from;

	if (!need_map())
		return false;
	if (!inner_range(&at, &n))
		return true;
	from = some_bytes(n);
	note("map write(%zu bytes at %zu)", n, at);
	memcpy(model.map + at, from, n);
	stored(from, at, n);
	model.map_dirty = true;
	switch (below(3)) {
	case 0:
		note("msync");
		return sync_map();
	case 1:
		note("munmap");
		unmap();
	}
	return true;
}

static bool op_map_read(void)
{
	size_t at, n;

	if (!need_map())
		return false;
	if (!inner_range(&at, &n))
		return true;
	note("map read(%zu bytes at %zu)", n, at);
	return same(model.map + at, at, n, "map");
}

static bool op_allocate(void)
{
	static const int modes[] = {
		0, FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
	};
	int mode = modes[below(6)];
	size_t at, n, end;

	range(&at, &n);
	note("fallocate(mode %d, %zu bytes at %zu)", mode, n, at);
	WRONG_UNLESS(!fallocate(model.fd[some_writer()], mode, (off_t)at,
	                        (off_t)n), "fallocate(%d, %zu, %zu): %s", mode,
	             at, n, strerror(errno));
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		end = at + n < model.size ? at + n : model.size;
		if (at < end)
			memset(model.bytes + at, 0, end - at);
	}
	if (!(mode & FALLOC_FL_KEEP_SIZE) && at + n > model.size)
		resize(at + n);
	return true;
}

static bool all_zero(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (model.bytes[i])
			return false;
	return true;
}

/* Data and holes alternate, and what is called a hole holds only zeros. */
static bool op_seek(void)
{
	int fd = model.fd[below(HANDLES)];
	size_t at = model.size ? below(model.size) : 0;

	if (!sync_map()) /* the kernel asks us without writing the map first */
		return false;
	note("seek from %zu", at);
	while (at < model.size) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA), hole;

		WRONG_UNLESS(data >= (off_t)at || errno == ENXIO,
		             "SEEK_DATA at %zu: %s", at, strerror(errno));
		if (data < 0)
			data = (off_t)model.size;
		WRONG_UNLESS(data <= (off_t)model.size
		             && all_zero(at, (size_t)data),
		             "SEEK_DATA at %zu: %jd passes over data", at,
		             (intmax_t)data);
		hole = lseek(fd, (off_t)at, SEEK_HOLE);
		WRONG_UNLESS(hole == (off_t)at || data == (off_t)at,
		             "at %zu is neither data nor a hole: %jd, %jd", at,
		             (intmax_t)data, (intmax_t)hole);
		WRONG_UNLESS(hole >= (off_t)at && hole <= (off_t)model.size,
		             "SEEK_HOLE at %zu: %jd", at, (intmax_t)hole);
		at = (size_t)(data > (off_t)at ? data : hole);
	}
	WRONG_UNLESS(lseek(fd, (off_t)model.size, SEEK_DATA) < 0
	             && errno == ENXIO, "SEEK_DATA at the end");
	return true;
}

static bool op_copy(void)
{
	size_t from, to = position(model.limit - 1), n;
	loff_t in, out;

	if (!inner_range(&from, &n))
		return true;
	if (to + n > model.limit)
		n = model.limit - to;
	if (from < to + n && to < from + n)
		return true; /* they must not overlap */
	in = (loff_t)from;
	out = (loff_t)to;
	note("copy_file_range(%zu bytes from %zu to %zu)", n, from, to);
	while (n) {
		ssize_t r = copy_file_range(model.fd[1], &in, model.fd[0],
		                            &out, n, 0);

		WRONG_UNLESS(r > 0, "copy_file_range: %zd: %s", r,
		             strerror(errno));
		stored(model.bytes + from, to, (size_t)r);
		from += (size_t)r;
		to += (size_t)r;
		n -= (size_t)r;
	}
	return true;
}

static bool op_stat(void)
{
	struct stat st;

	note("stat");
	WRONG_UNLESS(!fstat(model.fd[below(HANDLES)], &st), "fstat: %s",
	             strerror(errno));
	WRONG_UNLESS(st.st_size == (off_t)model.size, "fstat: %jd bytes",
	             (intmax_t)st.st_size);
	WRONG_UNLESS(!stat(path(), &st), "stat: %s", strerror(errno));
	WRONG_UNLESS(st.st_size == (off_t)model.size, "stat: %jd bytes",
	             (intmax_t)st.st_size);
	return true;
}

static bool op_sync(void)
{
	int i = some_writer();
	bool data = chance(50);

	note(data ? "fdatasync(%d)" : "fsync(%d)", i);
	WRONG_UNLESS(!(data ? fdatasync(model.fd[i]) : fsync(model.fd[i])),
	             "fsync: %s", strerror(errno));
	return true;
}

static bool op_reopen(void)
{
	int i = (int)below(HANDLES);

	if (chance(20)) { /* nobody has it open for a moment */
		note("close all, open all");
		return close_all() && open_all();
	}
	note("reopen(%d)", i);
	return open_handle(i);
}

static bool op_rename(void)
{
	char from[400];

	note("rename");
	snprintf(from, sizeof(from), "%s", path());
	model.turn = !model.turn;
	WRONG_UNLESS(!rename(from, path()), "rename: %s", strerror(errno));
	return true;
}

static bool op_compare(void)
{
	int i = chance(50) ? 2 : 0; /* past the page cache, or with it */
	size_t done = 0;

	note("compare all (%d)", i);
	while (done <= model.size) {
		ssize_t r = pread(model.fd[i], model.buffer + done,
		                  CAPACITY - done, (off_t)done);

		WRONG_UNLESS(r >= 0, "pread: %s", strerror(errno));
		if (r == 0)
			break;
		done += (size_t)r;
	}
	WRONG_UNLESS(done == model.size, "%zu bytes can be read", done);
	return same(model.buffer, 0, done, "compare all");
}

static bool op_remount(void)
{
	struct stat before, after;

	note("remount");
	WRONG_UNLESS(!stat(path(), &before), "stat: %s", strerror(errno));
	if (!close_all())
		return false;
	WRONG_UNLESS(!mounted_umount(&model.m), "umount");
	WRONG_UNLESS(!mounted_mount(&model.m, model.options), "mount");
	WRONG_UNLESS(!stat(path(), &after), "stat: %s", strerror(errno));
	WRONG_UNLESS(after.st_size == (off_t)model.size, "%jd bytes after a "
	             "remount", (intmax_t)after.st_size);
	WRONG_UNLESS(before.st_ino == after.st_ino, "inode %ju became %ju",
	             (uintmax_t)before.st_ino, (uintmax_t)after.st_ino);
	return open_all() && op_compare();
}

static const struct {
	bool (*run)(void);
	unsigned weight;
} operations[] = {
	{ op_write, 26 }, { op_append, 6 }, { op_read, 18 },
	{ op_truncate, 12 }, { op_open_truncate, 1 }, { op_map_write, 8 },
	{ op_map_read, 5 }, { op_allocate, 8 }, { op_seek, 3 },
	{ op_copy, 4 }, { op_stat, 4 }, { op_sync, 3 }, { op_reopen, 5 },
	{ op_rename, 2 }, { op_compare, 2 }, { op_remount, 1 },
};

static bool do_something(void)
{
	size_t n = sizeof(operations) / sizeof(*operations), i = 0;
	unsigned total = 0, which;

	for (size_t k = 0; k < n; k++)
		total += operations[k].weight;
	which = (unsigned)below(total);
	while (which >= operations[i].weight)
		which -= operations[i++].weight;
	return operations[i].run();
}

static bool run_seed(void)
{
	unsigned steps = (unsigned)setting("FROND_MODEL_STEPS", 3000);
	int fd;

	note("create");
	fd = open(path(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	WRONG_UNLESS(fd >= 0, "create: %s", strerror(errno));
	close(fd);
	if (!open_all())
		return false;
	for (model.step = 1; model.step <= steps; model.step++)
		if (!do_something())
			return false;
	if (!op_compare() || !op_remount() || !close_all())
		return false;
	WRONG_UNLESS(!mounted_umount(&model.m), "umount");
	WRONG_UNLESS(!volume_check(&model.m), "fsck");
	return true;
}

TEST one_file(unsigned seed, size_t limit, const char *options)
{
	bool good = false;

	seed += (unsigned)setting("FROND_MODEL_SEED", 0);
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	memset(&model, 0, sizeof(model));
	for (int i = 0; i < HANDLES; i++)
		model.fd[i] = -1;
	model.append = -1;
	model.seed = seed;
	model.random = seed;
	model.limit = limit;
	model.options = options;
	model.bytes = calloc(1, CAPACITY);
	model.buffer = malloc(CAPACITY);
	model.fresh = malloc(CAPACITY);
	printf("seed %u, sizes below %zu, options %s\n", seed, limit,
	       options ? options : "-");
	if (!mounted_make(&model.m)) {
		guard_begin(&model.m, 600);
		good = !mounted_mount(&model.m, model.options) && run_seed();
		close_all();
		guard_end(&model.m, !good);
	}
	free(model.bytes);
	free(model.buffer);
	free(model.fresh);
	ASSERT(good);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TESTp(one_file, 1, 9000, NULL);
	RUN_TESTp(one_file, 2, 30000, NULL);
	RUN_TESTp(one_file, 3, 300000, NULL);
	RUN_TESTp(one_file, 4, 1200000, NULL);
	RUN_TESTp(one_file, 5, 5000000, NULL);
	RUN_TESTp(one_file, 6, 30000, NULL);
	RUN_TESTp(one_file, 7, 30000, "writeback");
	RUN_TESTp(one_file, 8, 1200000, "writeback");
	GREATEST_MAIN_END();
}
