/*
 * Many threads at the same few names and at one file, all kinds of calls at
 * once: nobody waits for ever, no call fails with what it cannot fail with,
 * and in the end everything is whole. FROND_HAMMER_MS makes it longer; with a
 * build for the thread sanitizer it looks for races in the daemon.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "mount/guard.h"
#include "mount/support.h"

enum {
	THREADS = 8,
	NAMES = 7,
	RECORD = 600,     /* bytes, that no sector or page is a multiple of */
	RECORDS = 200,
	SHOWN = 10,       /* failures that are told */
};

static struct mounted m;
static int top;           /* descriptor of the directory that is hammered */
static atomic_bool stop;
static atomic_uint failures, stale, calls;

struct hammer {
	pthread_t thread;
	unsigned number;
	uint64_t state;
};

static unsigned pick(struct hammer *h, unsigned n)
{
	h->state ^= h->state << 13;
	h->state ^= h->state >> 7;
	h->state ^= h->state << 17;
	return (unsigned)(h->state >> 33) % n;
}

/* Short names, long ones, and names in a directory that comes and goes. */
static const char *any_name(struct hammer *h, char name[300])
{
	unsigned i = pick(h, NAMES);

	if (i == 0)
		snprintf(name, 300, "%0220u", i);
	else
		snprintf(name, 300, "%s%u", pick(h, 3) ? "" : "d1/", i);
	return name;
}

/* A call's result: only these errors may come of a race for names. */
static void expect(const char *what, const char *name, long result)
{
	static const int allowed[] = {
		ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, ELOOP, EINVAL,
		ENODATA, ENXIO, EPERM, EBUSY, EXDEV, EMLINK, EBADF,
	};
	int error = errno;

	atomic_fetch_add(&calls, 1);
	if (result >= 0)
		return;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
		if (error == allowed[i])
			return;
	/* The kernel tries once more for a file that was removed meanwhile; it
	 * may be removed again. */
	if (error == ESTALE)
		atomic_fetch_add(&stale, 1);
	else if (atomic_fetch_add(&failures, 1) < SHOWN)
		printf("%s %.20s: %s (errno %d)\n", what, name,
		       strerror(error), error);
}

static void list(const char *name)
{
	int fd = openat(top, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	expect("list", name, fd);
	if (!dir)
		return;
	errno = 0;
	while (readdir(dir))
		;
	expect("readdir", name, errno ? -1 : 0);
	closedir(dir);
}

static void with_open(struct hammer *h, const char *name)
{
	static const int flags[] = {
		O_RDWR, O_RDWR | O_CREAT, O_RDONLY, O_WRONLY | O_APPEND,
		O_RDWR | O_CREAT | O_EXCL, O_RDWR | O_TRUNC,
	};
	int how = flags[pick(h, 6)] | O_NOFOLLOW | O_NONBLOCK;
	int fd = openat(top, name, how, 0644);
	char data[5000];
	struct stat st;

	expect(how & O_TRUNC ? "open, empty"
	       : how & O_EXCL ? "make" : how & O_CREAT ? "open or make"
	       : "open", name, fd);
	if (fd < 0)
		return;
	memset(data, (int)h->number + 1, sizeof(data));
	/* A fifo without a name has no attributes any more. */
	if (fstat(fd, &st))
		st.st_mode = 0;
	for (int k = 0; k < 3 && S_ISREG(st.st_mode); k++) {
		off_t at = pick(h, 20000);

		switch (pick(h, 8)) {
		case 0:
			expect("write", name, pwrite(fd, data, pick(h, 5000), at));
			break;
		case 1:
			expect("read", name, pread(fd, data, pick(h, 5000), at));
			break;
		case 2:
			expect("ftruncate", name, ftruncate(fd, at));
			break;
		case 3:
			expect("fsync", name, fsync(fd));
			break;
		case 4:
			expect("fstat", name, fstat(fd, &st));
			break;
		case 5:
			expect("fsetxattr", name,
			       fsetxattr(fd, "user.x", data, 100, 0));
			break;
		case 6:
			expect("fallocate", name,
			       fallocate(fd, FALLOC_FL_PUNCH_HOLE
			                 | FALLOC_FL_KEEP_SIZE, at, 5000));
			break;
		default:
			expect("lseek", name, lseek(fd, at, SEEK_HOLE));
		}
	}
	expect("close", name, close(fd));
}

static void hammer_names(struct hammer *h)
{
	char a[300], b[300], text[300];
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { 1000, 5 } };
	struct stat st;

	any_name(h, a);
	any_name(h, b);
	switch (pick(h, 18)) {
	case 0:
		expect("mkdir", a, mkdirat(top, a, 0755));
		break;
	case 1:
		expect("unlink", a, unlinkat(top, a, 0));
		break;
	case 2:
		expect("rmdir", a, unlinkat(top, a, AT_REMOVEDIR));
		break;
	case 3:
	case 4:
		expect("rename", a, renameat(top, a, top, b));
		break;
	case 5:
		expect("exchange", a,
		       renameat2(top, a, top, b, RENAME_EXCHANGE));
		break;
	case 6:
		expect("no replace", a,
		       renameat2(top, a, top, b, RENAME_NOREPLACE));
		break;
	case 7:
		expect("link", a, linkat(top, a, top, b, 0));
		break;
	case 8:
		expect("symlink", a, symlinkat("target", top, a));
		break;
	case 9:
		expect("readlink", a, readlinkat(top, a, text, sizeof(text)));
		break;
	case 10:
		expect("stat", a, fstatat(top, a, &st, AT_SYMLINK_NOFOLLOW));
		break;
	case 11:
		expect("utimens", a,
		       utimensat(top, a, times, AT_SYMLINK_NOFOLLOW));
		break;
	case 12:
		list(pick(h, 2) ? "." : "d1");
		break;
	case 13:
		expect("mknod", a, mknodat(top, a, S_IFIFO | 0600, 0));
		break;
	default:
		with_open(h, a);
	}
}

/* One file: records of the same bytes, each written and read whole, and cut
 * off at the end of one. */
static void hammer_content(struct hammer *h, int fd)
{
	off_t at = (off_t)pick(h, RECORDS) * RECORD;
	char data[RECORD], value[100];
	struct stat st;

	switch (pick(h, 12)) {
	case 0:
		expect("truncate", "file", ftruncate(fd, at));
		break;
	case 1:
		expect("sync", "file", fdatasync(fd));
		break;
	case 2:
		expect("stat", "file", fstat(fd, &st));
		break;
	case 3:
		expect("setxattr", "file",
		       fsetxattr(fd, "user.a", data, 0, 0));
		expect("getxattr", "file",
		       fgetxattr(fd, "user.a", value, sizeof(value)));
		break;
	case 4:
		expect("chmod", "file", fchmod(fd, 0600 + pick(h, 2)));
		break;
	case 5:
	case 6:
	case 7:
		expect("read", "file", pread(fd, data, RECORD, at));
		break;
	default:
		memset(data, (int)h->number + 1, RECORD);
		expect("write", "file", pwrite(fd, data, RECORD, at));
	}
}

/* Remounting lets the kernel forget what is not in use just now. */
static void *run_forgetting(void *unused)
{
	(void)unused;
	while (!stop) {
		pause_for(3);
		if (mount(NULL, m.point, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV,
		          NULL))
			break; /* only root may */
	}
	return NULL;
}

static void *run_names(void *argument)
{
	struct hammer *h = argument;

	while (!stop)
		hammer_names(h);
	return NULL;
}

static void *run_content(void *argument)
{
	struct hammer *h = argument;
	int fd = openat(top, "file", O_RDWR
	                | (h->number % 2 ? O_DIRECT : 0));

	expect("open", "file", fd);
	while (fd >= 0 && !stop) {
		hammer_content(h, fd);
		if (pick(h, 40))
			continue;
		expect("close", "file", close(fd));
		fd = openat(top, "file", O_RDWR);
		expect("open", "file", fd);
	}
	close(fd);
	return NULL;
}

static void *run_both(void *argument)
{
	struct hammer *h = argument;

	return h->number % 2 ? run_names(argument) : run_content(argument);
}

static int hammer(void *(*run)(void *argument), uint64_t seed)
{
	struct hammer hammers[THREADS];
	pthread_t forgetting;
	unsigned started;

	stop = false;
	failures = stale = calls = 0;
	for (started = 0; started < THREADS; started++) {
		hammers[started].number = started;
		hammers[started].state = (seed + started + 1)
		                         * 0x9e3779b97f4a7c15u;
		if (pthread_create(&hammers[started].thread, NULL, run,
		                   &hammers[started]))
			break;
	}
	if (pthread_create(&forgetting, NULL, run_forgetting, NULL))
		return -1;
	pause_for((long)setting("FROND_HAMMER_MS", 1500));
	stop = true;
	pthread_join(forgetting, NULL);
	for (unsigned i = 0; i < started; i++)
		pthread_join(hammers[i].thread, NULL);
	printf("%u calls, %u on removed files\n", atomic_load(&calls),
	       atomic_load(&stale));
	return started == THREADS && calls > 100 && stale <= 2 + calls / 1000
		? (int)failures : -1;
}

/* Every record is one thread's, or was never written (again). */
static bool records_are_whole(int fd)
{
	uint8_t data[RECORD];
	ssize_t n;

	for (off_t at = 0; (n = pread(fd, data, RECORD, at)) > 0; at += RECORD) {
		for (ssize_t i = 1; i < n; i++)
			if (n != RECORD || data[i] != data[0]) {
				printf("record at %lld: byte %zd\n",
				       (long long)at, i);
				return false;
			}
	}
	return n == 0;
}

static int remove_all(int dir)
{
	DIR *stream = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *d;
	int error = 0;

	while (stream && (d = readdir(stream))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (!unlinkat(dir, d->d_name, 0))
			continue;
		if (errno == EISDIR) {
			int sub = openat(dir, d->d_name, O_RDONLY);

			error |= sub < 0 || remove_all(sub);
			close(sub);
			error |= unlinkat(dir, d->d_name, AT_REMOVEDIR);
		} else {
			error = -1;
		}
	}
	if (!stream)
		return -1;
	closedir(stream);
	return error;
}

TEST hammered(void *(*run)(void *argument), const char *options, uint64_t seed)
{
	int fd;

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	ASSERT_EQ(0, mounted_mount(&m, options));
	guard_begin(&m, 60 + (unsigned)setting("FROND_HAMMER_MS", 0) / 500);
	ASSERT_EQ(0, mkdir(mounted_path(m.point, "top"), 0755));
	top = open(mounted_path(m.point, "top"), O_RDONLY | O_DIRECTORY);
	fd = openat(top, "file", O_RDWR | O_CREAT, 0644);
	ASSERT(top >= 0 && fd >= 0);
	ASSERT_EQ(0, hammer(run, seed));
	if (run != run_names)
		ASSERT(records_are_whole(fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, close(top));
	/* Whole from the ciphertext, too; and all can be removed. */
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	top = open(mounted_path(m.point, "top"), O_RDONLY | O_DIRECTORY);
	if (run != run_names) {
		fd = openat(top, "file", O_RDONLY);
		ASSERT(records_are_whole(fd));
		ASSERT_EQ(0, close(fd));
	}
	ASSERT_EQ(0, remove_all(top));
	ASSERT_EQ(0, close(top));
	ASSERT_EQ(0, rmdir(mounted_path(m.point, "top")));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(1, path_entries(m.volume) - 1); /* the config, the id file */
	guard_end(&m, false);
	PASS();
}

static void teardown(void *unused)
{
	(void)unused;
	guard_end(&m, false);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	uint64_t seed = setting("FROND_SEED", 1);

	GREATEST_MAIN_BEGIN();
	SET_TEARDOWN(teardown, NULL);
	greatest_set_test_suffix("names");
	RUN_TESTp(hammered, run_names, NULL, seed);
	greatest_set_test_suffix("content");
	RUN_TESTp(hammered, run_content, NULL, seed);
	greatest_set_test_suffix("both");
	RUN_TESTp(hammered, run_both, NULL, seed);
	/* No caching: every call reaches the daemon. */
	greatest_set_test_suffix("uncached");
	RUN_TESTp(hammered, run_both, "entry_timeout=0,attr_timeout=0", seed);
	GREATEST_MAIN_END();
}
