/* Content through a mount: truncation beside open handles, holes, copies,
 * append, mmap, locks, files without a name. Rows F01 to F21 of the field's
 * troubles (a short remark names the row). */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/format/sector.h"
#include "mount/support.h"

static struct mounted m;

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* Sizes at and around the borders of sectors. */
static const off_t sizes[] = {
	0, 1, 79, 80, 3999, 4000, 4001, 4079, 4080, 4096, 8079, 8080, 8081,
	12160, 12161, 65536, 131071, 131072, 131073, 200000,
};
enum { SIZES = sizeof(sizes) / sizeof(*sizes), BIG = 300000 };

/* F01 */
TEST a_handle_writes_at_its_old_place_after_a_truncation_by_path(void)
{
	static uint8_t data[BIG], want[BIG];

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 1);
	for (int i = 0; i < SIZES; i++) {
		int fd = open(in("f"), O_RDWR | O_CREAT | O_TRUNC, 0644);

		ASSERT(fd >= 0);
		ASSERT_EQ(200001, write(fd, data, 200001));
		ASSERT_EQ(0, truncate(in("f"), sizes[i]));
		ASSERT_EQ(100, write(fd, "the program goes on writing where it was",
		                     40) + pwrite(fd, data, 60, 250000));
		memset(want, 0, sizeof(want));
		memcpy(want, data, (size_t)sizes[i]);
		memcpy(want + 200001, "the program goes on writing where it was", 40);
		memcpy(want + 250000, data, 60);
		ASSERT(file_is(in("f"), want, 250060));
		ASSERT_EQ(0, close(fd));
		ASSERT(file_is(in("f"), want, 250060));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F02 */
TEST truncation_by_path_beside_a_read_only_handle(void)
{
	static uint8_t data[BIG];
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 2);
	for (int i = 0; i < SIZES; i++) {
		off_t again = sizes[i] / 2;

		ASSERT_EQ(0, file_put(in("f"), data, BIG));
		fd = open(in("f"), O_RDONLY);
		ASSERT(fd >= 0);
		ASSERT_EQ(0, truncate(in("f"), sizes[i]));
		ASSERT(file_is(in("f"), data, (size_t)sizes[i]));
		errno = 0;
		ASSERT_EQ(-1, ftruncate(fd, 10));
		ASSERT_EQ(EINVAL, errno);
		ASSERT_EQ(sizes[i], lseek(fd, 0, SEEK_END));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, truncate(in("f"), again));
		ASSERT(file_is(in("f"), data, (size_t)again));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F03 */
static atomic_bool stop;
static const char *shared_path;
enum { SMALL = 200, ROUNDS = 3000 };

static void *empty_and_rewrite(void *unused)
{
	char text[SMALL];
	long bad = 0;

	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open(shared_path, O_WRONLY | O_TRUNC);

		memset(text, 'a' + i % 26, sizeof(text));
		if (fd < 0 || write(fd, text, sizeof(text)) != SMALL)
			bad++;
		if (fd >= 0)
			close(fd);
	}
	stop = true;
	return (void *)bad;
}

TEST a_reader_beside_a_rewriter_sees_empty_or_whole(void)
{
	long reads = 0, whole = 0;
	char text[SMALL + 1];
	void *bad = NULL;
	pthread_t thread;

	MOUNT_OR_SKIP(&m, NULL);
	memset(text, 'z', SMALL);
	ASSERT_EQ(0, file_put(in("f"), text, SMALL));
	shared_path = in("f");
	stop = false;
	ASSERT_EQ(0, pthread_create(&thread, NULL, empty_and_rewrite, NULL));
	while (!stop) {
		int fd = open(shared_path, O_RDONLY);
		ssize_t n;

		ASSERT(fd >= 0);
		n = read(fd, text, sizeof(text));
		close(fd);
		ASSERT(n == 0 || n == SMALL);
		for (ssize_t i = 1; i < n; i++)
			ASSERT_EQ(text[0], text[i]);
		reads++;
		whole += n == SMALL;
	}
	ASSERT_EQ(0, pthread_join(thread, &bad));
	ASSERT_EQ(NULL, bad);
	ASSERT(reads > 100 && whole > 0);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F06: each way that cp may pick. */
static int copy(const char *from, const char *to, int how, size_t size)
{
	static char buf[70001];
	int a = open(from, O_RDONLY);
	int b = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	off_t data = 0, hole;
	ssize_t n = 1;

	while (a >= 0 && b >= 0 && n > 0) {
		if (how == 0) {
			n = copy_file_range(a, NULL, b, NULL, 1 << 20, 0);
		} else if (how == 1) {
			n = sendfile(b, a, NULL, 100000);
		} else if (how == 2) {
			n = read(a, buf, sizeof(buf));
			n = n > 0 ? write(b, buf, (size_t)n) : n;
		} else {
			data = lseek(a, data, SEEK_DATA);
			if (data < 0)
				break;
			hole = lseek(a, data, SEEK_HOLE);
			for (; data < hole; data += n) {
				size_t part = (size_t)(hole - data);

				n = pread(a, buf, part < sizeof(buf)
				          ? part : sizeof(buf), data);
				if (n <= 0 || pwrite(b, buf, (size_t)n, data)
				              != n)
					return -1;
			}
		}
	}
	if (how == 3 && errno == ENXIO)
		n = ftruncate(b, (off_t)size);
	if (close(a) || close(b))
		n = -1;
	return (int)n;
}

TEST copies_are_identical_whatever_way_is_used(void)
{
	enum { SIZE = 5 * 1024 * 1024 + 12345 };
	uint8_t *data = calloc(1, SIZE);

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, SIZE, 3);
	/* With a hole, too. */
	memset(data + 1000000, 0, 2000000);
	ASSERT_EQ(0, mkdir(in("a"), 0755));
	ASSERT_EQ(0, mkdir(in("b"), 0755));
	ASSERT_EQ(0, file_put(in("a/dense"), data, SIZE));
	ASSERT_EQ(0, MOUNTED_RUN(NULL, 0, "cp", "--sparse=always",
	                         in("a/dense"), in("a/sparse")));
	ASSERT(file_is(in("a/sparse"), data, SIZE));
	for (int how = 0; how < 4; how++) {
		ASSERT_EQ(0, copy(in("a/dense"), in("b/dense"), how, SIZE));
		ASSERT(file_is(in("b/dense"), data, SIZE));
		ASSERT_EQ(0, copy(in("a/sparse"), in("b/sparse"), how, SIZE));
		ASSERT(file_is(in("b/sparse"), data, SIZE));
	}
	/* All again from the ciphertext. */
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("b/dense"), data, SIZE));
	ASSERT(file_is(in("b/sparse"), data, SIZE));
	ASSERT(file_is(in("a/sparse"), data, SIZE));
	UNMOUNT_AND_CHECK(&m);
	free(data);
	PASS();
}

/* F07 */
TEST no_stale_bytes_after_shortening_and_growing(void)
{
	static uint8_t data[BIG], want[BIG];

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 4);
	for (int i = 0; i < SIZES; i++) {
		for (int way = 0; way < 3; way++) {
			off_t cut = sizes[i], grown = cut + 70001;
			int fd = open(in("f"), O_RDWR | O_CREAT | O_TRUNC,
			              0644);

			ASSERT(fd >= 0);
			ASSERT_EQ(BIG, write(fd, data, BIG));
			ASSERT_EQ(0, ftruncate(fd, cut));
			if (way == 0)
				ASSERT_EQ(0, ftruncate(fd, grown));
			else if (way == 1)
				ASSERT_EQ(1, pwrite(fd, "", 1, grown - 1));
			else
				ASSERT_EQ(0, posix_fallocate(fd, 0, grown));
			memset(want, 0, sizeof(want));
			memcpy(want, data, (size_t)cut);
			ASSERT(file_is(in("f"), want, (size_t)grown));
			ASSERT_EQ(0, close(fd));
			ASSERT(file_is(in("f"), want, (size_t)grown));
			ASSERT_EQ(0, unlink(in("f")));
		}
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F07: what a mapping holds past the end is no data. */
TEST bytes_mapped_past_the_end_do_not_show(void)
{
	static uint8_t want[3 * 4096];
	uint8_t *map;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT(fd >= 0);
	memset(want, 'd', 4096 + 100);
	ASSERT_EQ(4096 + 100, write(fd, want, 4096 + 100));
	map = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(map != MAP_FAILED);
	map[10] = want[10] = 'm';
	memset(map + 4096 + 100, 'X', 500);
	ASSERT_EQ(0, msync(map, 2 * 4096, MS_SYNC));
	ASSERT_EQ(0, munmap(map, 2 * 4096));
	ASSERT_EQ(4096 + 100, path_size(in("f")));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, truncate(in("f"), sizeof(want)));
	ASSERT(file_is(in("f"), want, sizeof(want)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F08 and F09, and fallocate's modes. */
static enum greatest_test_res check_grown(int way)
{
	static uint8_t zeros[BIG];
	const off_t edges[] = { 1, 3999, 4000, 4001, 8079, 8080, 8081, 12160,
	                        4000 + 31 * 4080, 4000 + 32 * 4080, 200000 };

	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
		int fd = open(in("f"), O_RDWR | O_CREAT | O_TRUNC, 0644);
		struct stat st;

		ASSERT(fd >= 0);
		if (way == 0)
			ASSERT_EQ(0, ftruncate(fd, edges[i]));
		else if (way == 1)
			ASSERT_EQ(0, fallocate(fd, 0, 0, edges[i]));
		else
			ASSERT_EQ(0, fallocate(fd, FALLOC_FL_ZERO_RANGE, 0,
			                       edges[i]));
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(edges[i], st.st_size);
		ASSERT(file_is(in("f"), zeros, (size_t)edges[i]));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(edges[i], path_size(in("f")));
		ASSERT(file_is(in("f"), zeros, (size_t)edges[i]));
		ASSERT_EQ(0, stat(in("f"), &st));
		if (way == 0) /* sealed zeros below 128 KiB, holes above */
			ASSERT(st.st_blocks <= 2 + (edges[i] < 131072
			                            ? edges[i] / 500 + 10 : 16));
		ASSERT_EQ(0, unlink(in("f")));
	}
	PASS();
}

TEST grown_and_preallocated_files_have_the_size_and_read_zeros(void)
{
	uint8_t data[20000], want[40000] = { 0 };
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	for (int way = 0; way < 3; way++)
		CHECK_CALL(check_grown(way));
	bytes_fill(data, sizeof(data), 5);
	memcpy(want, data, sizeof(data));
	ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
	fd = open(in("f"), O_RDWR);
	ASSERT(fd >= 0);
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100000));
	ASSERT_EQ(20000, path_size(in("f")));
	ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                       3000, 9000));
	memset(want + 3000, 0, 9000);
	ASSERT(file_is(in("f"), want, 20000));
	ASSERT_EQ(0, fallocate(fd, 0, 20000, 20000));
	ASSERT(file_is(in("f"), want, 40000));
	ASSERT_EQ(-1, fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
	ASSERT_EQ(EOPNOTSUPP, errno);
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST a_sparse_file_takes_little_room_and_keeps_its_holes(void)
{
	const off_t far = 40LL * 1024 * 1024 * 1024 + 123;
	struct stat st;
	off_t at;
	char c = 0;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT(fd >= 0);
	ASSERT_EQ(1, pwrite(fd, "x", 1, far - 1));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(far, st.st_size);
	ASSERT(st.st_blocks < 200);
	/* The hole is all but the sectors at its two ends. */
	ASSERT(lseek(fd, 0, SEEK_HOLE) <= SECTOR_SIZE);
	at = lseek(fd, 2 * SECTOR_SIZE, SEEK_DATA);
	ASSERT(at > far - 2 * SECTOR_SIZE && at < far);
	ASSERT_EQ(1, pread(fd, &c, 1, far / 2));
	ASSERT_EQ(0, c);
	ASSERT_EQ(1, pread(fd, &c, 1, far - 1));
	ASSERT_EQ('x', c);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(far, path_size(in("f")));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* The flags of the daemon's descriptors that are open on a regular file of
 * the volume; the number of those files. */
static int daemon_flags(unsigned *flags)
{
	char path[400], target[400], line[100];
	int files = 0;

	*flags = 0;
	for (int fd = 0; fd < 256; fd++) {
		struct stat st;
		unsigned value = 0;
		ssize_t n;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)m.daemon, fd);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0 || stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		target[n] = 0;
		if (strncmp(target, m.volume, strlen(m.volume)))
			continue;
		files++;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d",
		         (int)m.daemon, fd);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "flags: %o", &value) == 1)
				*flags |= value;
		if (f)
			fclose(f);
	}
	return files;
}

/* F17 */
TEST direct_and_append_work_and_are_not_passed_to_the_store(void)
{
	uint8_t *page = aligned_alloc(4096, 2 * 4096);
	uint8_t want[3 * 8192];
	unsigned flags;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(page, 8192, 6);
	for (int i = 0; i < 3; i++)
		memcpy(want + i * 8192, page, 8192);
	fd = open(in("f"), O_RDWR | O_CREAT | O_DIRECT | O_APPEND | O_DSYNC,
	          0644);
	ASSERT(fd >= 0);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(8192, write(fd, page, 8192));
	if (geteuid() == 0) { /* who else may look at the daemon? */
		ASSERT_EQ(1, daemon_flags(&flags));
		ASSERT_EQ(0, flags & (O_APPEND | O_DIRECT));
	}
	memset(page, 0, 8192);
	ASSERT_EQ(4096, pread(fd, page, 4096, 8192));
	ASSERT_MEM_EQ(want, page, 4096);
	/* Not aligned: buffered, so it works. */
	ASSERT_EQ(100, pread(fd, page + 1, 100, 8193));
	ASSERT_MEM_EQ(want + 1, page + 1, 100);
	ASSERT_EQ(0, close(fd));
	ASSERT(file_is(in("f"), want, sizeof(want)));
	free(page);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F18 */
TEST appenders_lose_and_tear_no_record(void)
{
	enum { WRITERS = 6, LINES = 400, LENGTH = 60 };
	static char data[WRITERS * LINES * LENGTH + 1];
	int next[WRITERS] = { 0 }, status;
	ssize_t n;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	fflush(NULL);
	for (int w = 0; w < WRITERS; w++) {
		if (fork())
			continue;
		for (int i = 0; i < LINES; i++) {
			char line[LENGTH + 1];
			/* By a handle that stays, or one for each line. */
			static int log = -1;

			if (w % 2 || log < 0)
				log = open(in("log"), O_WRONLY | O_CREAT
				           | O_APPEND, 0644);
			snprintf(line, sizeof(line), "%d %*d\n", w, LENGTH - 3,
			         i);
			if (log < 0 || write(log, line, LENGTH) != LENGTH)
				_exit(1);
			if (w % 2)
				close(log);
		}
		_exit(0);
	}
	for (int w = 0; w < WRITERS; w++) {
		ASSERT(wait(&status) > 0);
		ASSERT_EQ(0, status);
	}
	fd = open(in("log"), O_RDONLY);
	n = read(fd, data, sizeof(data));
	close(fd);
	ASSERT_EQ((ssize_t)sizeof(data) - 1, n);
	for (int i = 0; i < WRITERS * LINES; i++) {
		int w, number;

		ASSERT_EQ('\n', data[i * LENGTH + LENGTH - 1]);
		ASSERT_EQ(2, sscanf(data + i * LENGTH, "%d %d", &w, &number));
		ASSERT(w >= 0 && w < WRITERS);
		ASSERT_EQ(next[w], number);
		next[w]++;
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F19 */
TEST mappings_are_shared_and_reach_the_store(void)
{
	enum { SIZE = 1000000 };
	uint8_t *want = malloc(SIZE), *map, *other;
	int fd, status;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(want, SIZE, 7);
	ASSERT_EQ(0, file_put(in("f"), want, SIZE));
	fd = open(in("f"), O_RDWR);
	ASSERT(fd >= 0);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(map != MAP_FAILED);
	ASSERT_MEM_EQ(want, map, SIZE);
	fflush(NULL);
	if (!fork()) {
		int mine = open(in("f"), O_RDWR);

		other = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		             mine, 0);
		if (other == MAP_FAILED)
			_exit(1);
		memset(other + 123456, 'm', 50000);
		_exit(0);
	}
	ASSERT(wait(&status) > 0);
	ASSERT_EQ(0, status);
	memset(want + 123456, 'm', 50000);
	ASSERT_MEM_EQ(want, map, SIZE);
	/* write(2) shows in the mapping, the mapping in read(2). */
	ASSERT_EQ(10, pwrite(fd, "0123456789", 10, 500000));
	memcpy(want + 500000, "0123456789", 10);
	ASSERT_MEM_EQ(want, map, SIZE);
	memset(map + 900000, 'e', 100000);
	memset(want + 900000, 'e', 100000);
	ASSERT(file_is(in("f"), want, SIZE));
	ASSERT_EQ(0, munmap(map, SIZE));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), want, SIZE));
	UNMOUNT_AND_CHECK(&m);
	free(want);
	PASS();
}

TEST direct_io_is_an_option_and_keeps_content_right(void)
{
	static uint8_t data[BIG];

	MOUNT_OR_SKIP(&m, "direct_io");
	bytes_fill(data, BIG, 8);
	ASSERT_EQ(0, file_put(in("f"), data, BIG));
	ASSERT(file_is(in("f"), data, BIG));
	ASSERT_EQ(0, truncate(in("f"), 12345));
	ASSERT(file_is(in("f"), data, 12345));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F21 */
static int try_locks(void *unused)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
	                       .l_start = 100, .l_len = 10 };
	int fd = open(in("f"), O_RDWR);
	int got = 0;

	(void)unused;
	if (fd < 0)
		return 128;
	got |= flock(fd, LOCK_EX | LOCK_NB) == 0 ? 1 : 0;
	got |= errno != EWOULDBLOCK && !(got & 1) ? 64 : 0;
	got |= fcntl(fd, F_SETLK, &range) == 0 ? 2 : 0;
	range.l_start = 200;
	got |= fcntl(fd, F_SETLK, &range) == 0 ? 4 : 0;
	range.l_start = 100;
	got |= fcntl(fd, F_OFD_SETLK, &range) == 0 ? 8 : 0;
	return got;
}

static int in_child(int (*run)(void *))
{
	int status;

	fflush(NULL);
	if (!fork())
		_exit(run(NULL));
	return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status)
	                                              : -1;
}

TEST locks_exclude_each_other(void)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
	                       .l_start = 100, .l_len = 10 };
	int fd, other;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT(fd >= 0);
	ASSERT_EQ(1 | 2 | 4, in_child(try_locks) & ~8);
	ASSERT_EQ(0, flock(fd, LOCK_EX));
	ASSERT_EQ(0, fcntl(fd, F_SETLK, &range));
	ASSERT_EQ(4, in_child(try_locks));
	/* Not by closing another handle's flock, but POSIX locks go. */
	other = open(in("f"), O_RDONLY);
	close(other);
	ASSERT_EQ(2 | 4, in_child(try_locks) & ~8);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(1 | 2 | 4, in_child(try_locks) & ~8);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A killed daemon leaves no lock and no name of an open, unlinked file. */
TEST after_a_kill_the_next_mount_works_and_holds_what_was_written(void)
{
	static uint8_t data[BIG];
	int held, gone;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 9);
	held = open(in("held"), O_RDWR | O_CREAT, 0644);
	gone = open(in("gone"), O_RDWR | O_CREAT, 0644);
	ASSERT(held >= 0 && gone >= 0);
	ASSERT_EQ(0, flock(held, LOCK_EX));
	ASSERT_EQ(0, unlink(in("gone")));
	ASSERT_EQ(BIG, write(gone, data, BIG));
	ASSERT_EQ(BIG, write(held, data, BIG));
	mounted_kill(&m);
	close(held);
	close(gone);
	ASSERT_EQ(3, path_entries(m.volume)); /* the file, config and id file */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(1, path_entries(m.point));
	ASSERT(file_is(in("held"), data, BIG));
	/* Whoever writes to it next finalizes it. */
	held = open(in("held"), O_WRONLY | O_APPEND);
	ASSERT_EQ(1, write(held, "", 1));
	ASSERT_EQ(0, close(held));
	ASSERT_EQ(BIG + 1, path_size(in("held")));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F43 and point 3 of what was measured on others. */
TEST every_name_of_a_file_tells_the_same(void)
{
	static uint8_t data[BIG];
	struct stat a, b, c;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 10);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	for (int i = 0; i < SIZES; i++) {
		int fd = open(in("a"), O_RDWR | O_CREAT, 0644);

		ASSERT(fd >= 0);
		ASSERT_EQ(sizes[i], write(fd, data, (size_t)sizes[i]));
		ASSERT_EQ(0, link(in("a"), in("d/b")));
		ASSERT_EQ(0, lstat(in("d/b"), &b));
		ASSERT_EQ(0, lstat(in("a"), &a));
		ASSERT_EQ(0, fstat(fd, &c));
		ASSERT_EQ(sizes[i], b.st_size);
		ASSERT_EQ(0, memcmp(&a, &b, sizeof(a)));
		ASSERT_EQ(0, memcmp(&a, &c, sizeof(a)));
		ASSERT_EQ(2, (int)a.st_nlink);
		/* Growing by one name shows by the other. */
		ASSERT_EQ(1, write(fd, "", 1));
		ASSERT_EQ(sizes[i] + 1, path_size(in("d/b")));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, link(in("d/b"), in("c")));
		ASSERT_EQ(sizes[i] + 1, path_size(in("c")));
		ASSERT_EQ(0, chmod(in("c"), 0640));
		ASSERT_EQ(0640, path_mode(in("a")));
		ASSERT_EQ(0, unlink(in("a")));
		ASSERT_EQ(0, unlink(in("c")));
		ASSERT_EQ(sizes[i] + 1, path_size(in("d/b")));
		ASSERT_EQ(0, unlink(in("d/b")));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Point 4: an open file without its name. */
static enum greatest_test_res use_nameless(int fd, const uint8_t *data)
{
	const struct timespec times[2] = { { 5, 6 }, { 7, 8 } };
	uint8_t got[100];
	struct stat st;

	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(0, (int)st.st_nlink);
	ASSERT_EQ(50000, st.st_size);
	ASSERT_EQ(100, pread(fd, got, 100, 40000));
	ASSERT_MEM_EQ(data + 40000, got, 100);
	ASSERT_EQ(0, ftruncate(fd, 45000));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(45000, st.st_size);
	ASSERT_EQ(100, pwrite(fd, data, 100, 60000));
	ASSERT_EQ(0, fchmod(fd, 0601));
	ASSERT_EQ(0, futimens(fd, times));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(60100, st.st_size);
	ASSERT_EQ(0601, (int)(st.st_mode & 07777));
	ASSERT_EQ(7, st.st_mtim.tv_sec);
	ASSERT_EQ(8, st.st_mtim.tv_nsec);
	ASSERT_EQ(100, pread(fd, got, 100, 60000));
	ASSERT_MEM_EQ(data, got, 100);
	ASSERT_EQ(0, close(fd));
	PASS();
}

TEST an_open_file_works_without_its_name(void)
{
	static uint8_t data[BIG];
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 11);
	/* Removed. */
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(50000, write(fd, data, 50000));
	ASSERT_EQ(0, unlink(in("f")));
	CHECK_CALL(use_nameless(fd, data));
	/* The name belongs to another file now. */
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(50000, write(fd, data, 50000));
	ASSERT_EQ(0, file_put(in("g"), "new", 3));
	ASSERT_EQ(0, rename(in("g"), in("f")));
	CHECK_CALL(use_nameless(fd, data));
	ASSERT(file_is(in("f"), "new", 3));
	ASSERT_EQ(0644, path_mode(in("f")));
	/* Its directory is gone, too. */
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	fd = open(in("d/f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(50000, write(fd, data, 50000));
	ASSERT_EQ(0, unlink(in("d/f")));
	ASSERT_EQ(0, rmdir(in("d")));
	CHECK_CALL(use_nameless(fd, data));
	/* Read-only, and the kernel's cache is dropped in between. */
	ASSERT_EQ(0, file_put(in("h"), data, BIG));
	fd = open(in("h"), O_RDONLY);
	ASSERT_EQ(0, unlink(in("h")));
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	{
		static uint8_t got[BIG];

		ASSERT_EQ(BIG, read(fd, got, BIG));
		ASSERT_MEM_EQ(data, got, BIG);
	}
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(1, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(3, path_entries(m.volume));
	PASS();
}

/* Point 6. */
TEST times_that_were_set_stay_over_close(void)
{
	const struct timespec times[2] = { { 1000000000, 1 }, { -5, 999 } };
	static uint8_t data[BIG];
	struct stat st;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, BIG, 12);
	for (int i = 0; i < SIZES; i++) {
		int fd = open(in("f"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
		int copy_of;

		ASSERT_EQ(sizes[i], write(fd, data, (size_t)sizes[i]));
		ASSERT_EQ(0, futimens(fd, times));
		copy_of = dup(fd);
		ASSERT_EQ(0, close(copy_of)); /* flush, not yet release */
		ASSERT_EQ(0, close(fd));
		for (int again = 0; again < 2; again++) {
			ASSERT_EQ(0, lstat(in("f"), &st));
			ASSERT_EQ(sizes[i], st.st_size);
			ASSERT_EQ(-5, st.st_mtim.tv_sec);
			ASSERT_EQ(999, st.st_mtim.tv_nsec);
			ASSERT_EQ(1000000000, st.st_atim.tv_sec);
			ASSERT_EQ(1, st.st_atim.tv_nsec);
			if (!again && i % 5 == 0) {
				ASSERT_EQ(0, mounted_umount(&m));
				ASSERT_EQ(0, mounted_mount(&m, NULL));
			}
		}
		ASSERT_EQ(0, unlink(in("f")));
	}
	/* But a write after it sets the time anew. */
	{
		int fd = open(in("f"), O_WRONLY | O_CREAT | O_TRUNC, 0644);

		ASSERT_EQ(5, write(fd, data, 5));
		ASSERT_EQ(0, futimens(fd, times));
		ASSERT_EQ(5, write(fd, data, 5));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, lstat(in("f"), &st));
		ASSERT(st.st_mtim.tv_sec > 1000000000);
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* Point 8: nothing of the daemon's lies in its own mount. */
TEST the_daemon_holds_nothing_open_in_its_own_mount(void)
{
	static uint8_t data[BIG];
	char path[100], target[600];
	int fd;

	if (geteuid() != 0)
		SKIP_BECAUSE("not root, who may look at the daemon");
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), data, BIG));
	fd = open(in("f"), O_RDWR);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, path_entries(in("d")));
	for (int i = -2; i < 256; i++) {
		ssize_t n;

		if (i < 0)
			snprintf(path, sizeof(path), "/proc/%d/%s",
			         (int)m.daemon, i == -1 ? "cwd" : "root");
		else
			snprintf(path, sizeof(path), "/proc/%d/fd/%d",
			         (int)m.daemon, i);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		ASSERT_NEQ(0, strncmp(target, m.point, strlen(m.point)));
	}
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(content)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_handle_writes_at_its_old_place_after_a_truncation_by_path);
	RUN_TEST(truncation_by_path_beside_a_read_only_handle);
	RUN_TEST(a_reader_beside_a_rewriter_sees_empty_or_whole);
	RUN_TEST(copies_are_identical_whatever_way_is_used);
	RUN_TEST(no_stale_bytes_after_shortening_and_growing);
	RUN_TEST(bytes_mapped_past_the_end_do_not_show);
	RUN_TEST(grown_and_preallocated_files_have_the_size_and_read_zeros);
	RUN_TEST(a_sparse_file_takes_little_room_and_keeps_its_holes);
	RUN_TEST(direct_and_append_work_and_are_not_passed_to_the_store);
	RUN_TEST(appenders_lose_and_tear_no_record);
	RUN_TEST(mappings_are_shared_and_reach_the_store);
	RUN_TEST(direct_io_is_an_option_and_keeps_content_right);
	RUN_TEST(locks_exclude_each_other);
	RUN_TEST(after_a_kill_the_next_mount_works_and_holds_what_was_written);
	RUN_TEST(every_name_of_a_file_tells_the_same);
	RUN_TEST(an_open_file_works_without_its_name);
	RUN_TEST(times_that_were_set_stay_over_close);
	RUN_TEST(the_daemon_holds_nothing_open_in_its_own_mount);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(content);
	GREATEST_MAIN_END();
}
