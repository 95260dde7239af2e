/* What reaches the disk, and a disk that is full. Rows F23, F25, F26, F27 of
 * the field's troubles, and point 1 of what was measured on others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/guard.h"
#include "mount/support.h"

static struct mounted m;
static char store[300]; /* a small file system that holds the volume */

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	if (m.daemon)
		mounted_kill(&m);
	if (store[0])
		umount2(store, MNT_DETACH);
	store[0] = 0;
	mounted_remove(&m);
}

/*
 * System calls of the daemon, as strace shows them.
 */

static pid_t tracer;

/* Whether every thread of the daemon is traced. */
static bool is_traced(void)
{
	char path[300], line[200];
	struct dirent *d;
	bool all = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)m.daemon);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		int by = 0;
		FILE *f;

		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status",
		         (int)m.daemon, d->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "TracerPid: %d", &by) == 1)
				break;
		if (f)
			fclose(f);
		all = all && by > 0;
	}
	if (dir)
		closedir(dir);
	return dir && all;
}

static int trace_begin(void)
{
	char pid[20];

	snprintf(pid, sizeof(pid), "%d", (int)m.daemon);
	fflush(NULL);
	tracer = fork();
	if (tracer == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		execlp("strace", "strace", "-f", "-y", "-s", "0", "-e",
		       "trace=fsync,fdatasync,renameat2,renameat,pwrite64,"
		       "ftruncate", "-o", mounted_path(m.dir, "trace"), "-p",
		       pid, (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 500; i++) {
		if (is_traced())
			return 0;
		pause_for(10);
	}
	return -1;
}

/* End it, and turn what it saw into a line of one letter for each call on the
 * paths that contain `what`: w(rite), l(ength), f(sync), d(ata sync),
 * r(ename). */
static const char *trace_end(const char *what)
{
	static char calls[10000];
	static const struct { const char *name; char letter; } known[] = {
		{ "pwrite64(", 'w' }, { "ftruncate(", 'l' }, { "fsync(", 'f' },
		{ "fdatasync(", 'd' }, { "renameat", 'r' },
	};
	char line[4000];
	size_t n = 0;
	FILE *f;

	kill(tracer, SIGINT);
	waitpid(tracer, NULL, 0);
	f = fopen(mounted_path(m.dir, "trace"), "r");
	while (f && fgets(line, sizeof(line), f)) {
		/* "<... fsync resumed>" is the end of one already counted. */
		if (!strstr(line, what) || strstr(line, "resumed>"))
			continue;
		for (size_t i = 0; i < 5; i++)
			if (strstr(line, known[i].name) && n < sizeof(calls) - 1)
				calls[n++] = known[i].letter;
	}
	if (f)
		fclose(f);
	calls[n] = 0;
	return calls;
}

#define STRACE_OR_SKIP()                                               \
	do {                                                           \
		if (!have_program("strace"))                           \
			SKIP_BECAUSE("strace is not installed");       \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
	} while (0)

/* F23: after the last write or length of the file comes its fsync. */
TEST fsync_of_a_file_reaches_the_store_after_its_header(void)
{
	const char *calls;
	char data[10000];
	int fd;

	STRACE_OR_SKIP();
	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 1);
	fd = open(in("f"), O_RDWR | O_CREAT, 0644);
	ASSERT_EQ(0, trace_begin());
	ASSERT_EQ(10000, write(fd, data, sizeof(data)));
	ASSERT_EQ(0, fsync(fd));
	calls = trace_end("/volume/");
	ASSERT(strchr(calls, 'w'));
	ASSERT_EQ('f', calls[strlen(calls) - 1]);

	ASSERT_EQ(0, trace_begin());
	ASSERT_EQ(10000, write(fd, data, sizeof(data)));
	ASSERT_EQ(0, fdatasync(fd));
	calls = trace_end("/volume/");
	ASSERT(strchr(calls, 'w'));
	ASSERT(strchr("df", calls[strlen(calls) - 1]));

	/* An overwrite that changes no size. */
	ASSERT_EQ(0, trace_begin());
	ASSERT_EQ(100, pwrite(fd, data, 100, 5000));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_STR_EQ("wf", trace_end("/volume/"));
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST synchronous_writes_and_mappings_reach_the_store(void)
{
	static const int flags[] = { O_SYNC, O_DSYNC };
	const char *calls;
	char data[10000];
	char *map;
	int fd;

	STRACE_OR_SKIP();
	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 2);
	for (int i = 0; i < 2; i++) {
		fd = open(in("f"), O_RDWR | O_CREAT | flags[i], 0644);
		ASSERT_EQ(0, trace_begin());
		ASSERT_EQ(10000, write(fd, data, sizeof(data)));
		calls = trace_end("/volume/");
		ASSERT(strchr(calls, 'w'));
		ASSERT(strchr("df", calls[strlen(calls) - 1]));
		ASSERT_EQ(0, close(fd));
	}
	fd = open(in("f"), O_RDWR);
	map = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(map != MAP_FAILED);
	ASSERT_EQ(0, trace_begin());
	memset(map + 5000, 'm', 100);
	ASSERT_EQ(0, msync(map, 10000, MS_SYNC));
	calls = trace_end("/volume/");
	ASSERT(strchr(calls, 'w'));
	ASSERT(strchr("df", calls[strlen(calls) - 1]));
	ASSERT_EQ(0, munmap(map, 10000));
	ASSERT_EQ(0, close(fd));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* An editor: a new file, synced, renamed over the old one, the directory
 * synced. */
TEST fsync_of_a_directory_reaches_the_store(void)
{
	const char *calls;
	char data[5000];
	int fd, dir;

	STRACE_OR_SKIP();
	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 3);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("d/text"), "old", 3));
	dir = open(in("d"), O_RDONLY | O_DIRECTORY);
	ASSERT_EQ(0, trace_begin());
	fd = open(in("d/text.new"), O_WRONLY | O_CREAT, 0644);
	ASSERT_EQ(5000, write(fd, data, sizeof(data)));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, rename(in("d/text.new"), in("d/text")));
	ASSERT_EQ(0, fsync(dir));
	calls = trace_end("/volume/");
	/* The file's sync before the rename, the directory's after it. */
	ASSERT(strlen(calls) >= 4);
	ASSERT_STR_EQ("frf", calls + strlen(calls) - 3);
	ASSERT_EQ(0, trace_begin());
	ASSERT_EQ(0, fdatasync(dir));
	ASSERT(strpbrk(trace_end("/volume/"), "fd"));
	ASSERT_EQ(0, close(dir));
	ASSERT(file_is(in("d/text"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A new directory is synced with its id file before it gets its name. */
TEST a_new_directory_is_whole_before_it_has_a_name(void)
{
	const char *calls, *rename_at;

	STRACE_OR_SKIP();
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, trace_begin());
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	calls = trace_end("/volume");
	rename_at = strchr(calls, 'r');
	ASSERT(rename_at);
	/* The id file's sync, the directory's sync. */
	ASSERT(rename_at - calls >= 3);
	ASSERT_EQ('f', rename_at[-1]);
	ASSERT_EQ('f', rename_at[-2]);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * A full disk
 */

/* A volume on a small file system of its own; 0, or -1 where the machine
 * cannot have one. */
static int make_on_store(const char *kind)
{
	char text[1000];
	int code;

	if (mounted_make(&m))
		return -1;
	snprintf(store, sizeof(store), "%s/store", m.dir);
	if (mkdir(store, 0755))
		return -1;
	if (!strcmp(kind, "tmpfs")) {
		code = mount("tmpfs", store, "tmpfs", 0, "size=4m") ? -1 : 0;
	} else {
		const char *image = mounted_path(m.dir, "image");
		int fd = open(image, O_RDWR | O_CREAT, 0600);

		code = fd < 0 || ftruncate(fd, 8 << 20);
		close(fd);
		code = code || MOUNTED_RUN(text, sizeof(text), "mkfs.ext4",
		                           "-q", "-F", "-m", "0", image);
		code = code || MOUNTED_RUN(text, sizeof(text), "mount", "-o",
		                           "loop", image, store);
	}
	if (code) {
		store[0] = 0;
		return -1;
	}
	snprintf(m.volume, sizeof(m.volume), "%.250s/store/volume", m.dir);
	if (mkdir(m.volume, 0755))
		return -1;
	code = MOUNTED_RUN(text, sizeof(text), "frondfs", "init", "--keyfile",
	                   m.keyfile, "--recovery-key-file",
	                   mounted_path(m.dir, "recovery2"), m.volume);
	if (code)
		printf("frondfs init: exit code %d\n%s", code, text);
	return code;
}

#define STORE_OR_SKIP(kind)                                            \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		if (make_on_store(kind))                               \
			SKIP_BECAUSE("cannot mount a small " kind);    \
		ASSERT_EQ(0, mounted_mount(&m, NULL));                 \
	} while (0)

static const char *numbered(const char *prefix, int i)
{
	static char name[100];

	snprintf(name, sizeof(name), "%s%d", prefix, i);
	return in(name);
}

/* Small files until nothing more can be made; their number. */
static int fill_with_files(void)
{
	char data[100];
	int made;

	bytes_fill(data, sizeof(data), 77);
	for (made = 0; made < 20000; made++)
		if (file_put(numbered("small", made), data, sizeof(data)))
			break;
	return made;
}

static enum greatest_test_res check_intact(const uint8_t *a,
                                           const uint8_t *fill, size_t size,
                                           int small)
{
	char data[100];

	bytes_fill(data, sizeof(data), 77);
	ASSERT(file_is(in("a"), a, 300000));
	ASSERT(file_is(in("d/b"), a, 20000));
	ASSERT(file_is(in("fill"), fill, size));
	for (int i = 0; i < small; i++)
		ASSERT(file_is(numbered("small", i), data, sizeof(data)));
	PASS();
}

/* Everything that needs room fails with ENOSPC and leaves nothing. */
static enum greatest_test_res fail_for_room(void)
{
	char longest[256], target[4001];
	int entries, plain, fd;

	memset(longest, 'n', 255);
	longest[255] = 0;
	memset(target, 't', 4000);
	target[4000] = 0;
	entries = path_entries(m.volume);
	plain = path_entries(m.point);
	ASSERT_EQ(-1, mkdir(in("new"), 0755));
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(-1, mkdir(in(longest), 0755));
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(-1, symlink(target, in("link")));
	ASSERT_EQ(ENOSPC, errno);
	/* An open that fails leaves no name; one that works may. */
	fd = open(in(longest), O_WRONLY | O_CREAT | O_EXCL, 0644);
	ASSERT_EQ(-1, fd);
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(entries, path_entries(m.volume));
	ASSERT_EQ(plain, path_entries(m.point));
	PASS();
}

static enum greatest_test_res full_disk(void)
{
	enum { ROOM = 9 << 20 };
	uint8_t *a = malloc(300000), *fill = malloc(ROOM);
	size_t accepted = 0;
	struct stat st;
	int fd, small;
	ssize_t n;

	bytes_fill(a, 300000, 4);
	bytes_fill(fill, ROOM, 5);
	ASSERT_EQ(0, file_put(in("a"), a, 300000));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("d/b"), a, 20000));

	fd = open(in("fill"), O_RDWR | O_CREAT, 0644);
	while (accepted < ROOM
	       && (n = write(fd, fill + accepted,
	                     ROOM - accepted < 77777 ? ROOM - accepted
	                                             : 77777)) > 0)
		accepted += (size_t)n;
	ASSERT_EQ(-1, n);
	ASSERT_EQ(ENOSPC, errno);
	ASSERT(accepted > 1000000);
	/* Smaller pieces may still fit. */
	while ((n = write(fd, fill + accepted, 100)) > 0)
		accepted += (size_t)n;
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ((off_t)accepted, st.st_size);
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ((off_t)accepted, path_size(in("fill")));
	small = fill_with_files();
	/* What the last of those left: an empty one, or one with less. */
	if (!access(numbered("small", small), F_OK))
		ASSERT_EQ(0, unlink(numbered("small", small)));
	CHECK_CALL(check_intact(a, fill, accepted, small));

	fd = open(in("rest"), O_WRONLY | O_CREAT, 0644);
	if (fd >= 0) {
		while (write(fd, fill, 4000) > 0)
			;
		/* Where not even its header has room, close tells, and the
		 * file reads as empty. */
		if (close(fd)) {
			ASSERT_EQ(ENOSPC, errno);
			ASSERT_EQ(0, path_size(in("rest")));
			ASSERT(file_is(in("rest"), "", 0));
			ASSERT_EQ(0, unlink(in("rest")));
		}
	}
	CHECK_CALL(fail_for_room());

	/* Growing fails and changes nothing; what is there can be written
	 * over, cut and renamed. */
	ASSERT_EQ(-1, truncate(in("d/b"), 20000 + 100000));
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(20000, path_size(in("d/b")));
	fd = open(in("d/b"), O_RDWR);
	errno = 0;
	ASSERT_EQ(-1, pwrite(fd, "x", 1, 120000));
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(20000, path_size(in("d/b")));
	bytes_fill(a + 1000, 9000, 6);
	ASSERT_EQ(9000, pwrite(fd, a + 1000, 9000, 1000));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(0, close(fd));
	fd = open(in("a"), O_RDWR);
	ASSERT_EQ(9000, pwrite(fd, a + 1000, 9000, 1000));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, rename(in("d/b"), in("d/c")));
	ASSERT_EQ(0, rename(in("d/c"), in("d/b")));
	CHECK_CALL(check_intact(a, fill, accepted, small));

	/* fsck of the full disk, and everything again from the ciphertext. */
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	CHECK_CALL(check_intact(a, fill, accepted, small));

	/* Room again: everything works. */
	ASSERT_EQ(0, truncate(in("fill"), 123456));
	ASSERT(file_is(in("fill"), fill, 123456));
	ASSERT_EQ(0, mkdir(in("new"), 0755));
	ASSERT_EQ(0, file_put(in("new/f"), fill, 500000));
	ASSERT(file_is(in("new/f"), fill, 500000));
	CHECK_CALL(check_intact(a, fill, 123456, small));
	UNMOUNT_AND_CHECK(&m);
	free(a);
	free(fill);
	PASS();
}

/* F25 */
TEST a_full_tmpfs(void)
{
	STORE_OR_SKIP("tmpfs");
	CHECK_CALL(full_disk());
	PASS();
}

TEST a_full_ext4(void)
{
	STORE_OR_SKIP("ext4");
	CHECK_CALL(full_disk());
	PASS();
}

/* F25: a file that has no room for its header is not made. */
TEST creating_on_a_full_disk_is_refused(void)
{
	static uint8_t piece[100000];
	struct findings found = { .errors = 0 };
	int fd, made, entries;

	STORE_OR_SKIP("tmpfs");
	fd = open(in("fill"), O_WRONLY | O_CREAT, 0644);
	for (size_t size = sizeof(piece); size; size /= 2)
		while (write(fd, piece, size) > 0)
			;
	ASSERT_EQ(ENOSPC, errno);
	ASSERT_EQ(0, close(fd));
	for (made = 0; made < 20000; made++) {
		fd = open(numbered("empty", made), O_RDWR | O_CREAT, 0644);
		if (fd < 0)
			break;
		ASSERT_EQ(0, close(fd));
	}
	ASSERT_EQ(ENOSPC, errno);
	entries = path_entries(m.volume);
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(-1, open(numbered("more", i), O_RDWR | O_CREAT, 0644));
		ASSERT_EQ(ENOSPC, errno);
		ASSERT_EQ(-ENOENT, (int)path_size(numbered("more", i)));
	}
	ASSERT_EQ(entries, path_entries(m.volume));
	ASSERT_EQ(made + 1, path_entries(m.point));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, findings_add(&m, &found));
	ASSERT_EQ(0, found.errors + found.others);
	PASS();
}

/* F25, F27: a copier learns of it. */
TEST cp_learns_that_the_disk_is_full(void)
{
	static uint8_t data[3 << 20];
	char text[1000];

	STORE_OR_SKIP("tmpfs");
	bytes_fill(data, sizeof(data), 8);
	ASSERT_EQ(0, file_put(mounted_path(m.dir, "source"), data,
	                      sizeof(data)));
	ASSERT_EQ(0, MOUNTED_RUN(text, sizeof(text), "cp",
	                         mounted_path(m.dir, "source"), in("one")));
	ASSERT_EQ(1, MOUNTED_RUN(text, sizeof(text), "cp",
	                         mounted_path(m.dir, "source"), in("two")));
	ASSERT(strstr(text, strerror(ENOSPC)));
	ASSERT(file_is(in("one"), data, sizeof(data)));
	ASSERT(path_size(in("two")) < (off_t)sizeof(data));
	ASSERT(file_is(in("two"), data, (size_t)path_size(in("two"))));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F26 */
TEST preallocation_that_fails_does_no_harm(void)
{
	static uint8_t data[200000];
	for (int kind = 0; kind < 2; kind++) {
		int fd;

		if (kind == 0)
			STORE_OR_SKIP("tmpfs");
		else
			STORE_OR_SKIP("ext4");
		bytes_fill(data, sizeof(data), 9);
		fd = open(in("f"), O_RDWR | O_CREAT, 0644);
		ASSERT_EQ(100000, write(fd, data, 100000));
		ASSERT_EQ(-1, fallocate(fd, 0, 0, 100 << 20));
		ASSERT_EQ(ENOSPC, errno);
		ASSERT_EQ(100000, path_size(in("f")));
		ASSERT_EQ(-1, fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100 << 20));
		ASSERT_EQ(100000, write(fd, data + 100000, 100000));
		ASSERT_EQ(0, close(fd));
		ASSERT(file_is(in("f"), data, sizeof(data)));
		UNMOUNT_AND_CHECK(&m);
		if (kind == 0)
			teardown(NULL);
	}
	PASS();
}

/* F27 */
TEST free_space_is_that_of_the_store(void)
{
	struct statvfs plain, stored;

	STORE_OR_SKIP("ext4");
	ASSERT_EQ(0, statvfs(m.point, &plain));
	ASSERT_EQ(0, statvfs(m.volume, &stored));
	ASSERT_EQ(stored.f_bsize, plain.f_bsize);
	ASSERT_EQ(stored.f_frsize, plain.f_frsize);
	ASSERT_EQ(stored.f_blocks, plain.f_blocks);
	ASSERT_EQ(stored.f_bfree, plain.f_bfree);
	ASSERT_EQ(stored.f_bavail, plain.f_bavail);
	ASSERT_EQ(stored.f_files, plain.f_files);
	ASSERT_EQ(stored.f_ffree, plain.f_ffree);
	ASSERT_EQ(255, (int)plain.f_namemax);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(disk)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(fsync_of_a_file_reaches_the_store_after_its_header);
	RUN_TEST(synchronous_writes_and_mappings_reach_the_store);
	RUN_TEST(fsync_of_a_directory_reaches_the_store);
	RUN_TEST(a_new_directory_is_whole_before_it_has_a_name);
	RUN_TEST(a_full_tmpfs);
	RUN_TEST(a_full_ext4);
	RUN_TEST(creating_on_a_full_disk_is_refused);
	RUN_TEST(cp_learns_that_the_disk_is_full);
	RUN_TEST(preallocation_that_fails_does_no_harm);
	RUN_TEST(free_space_is_that_of_the_store);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(disk);
	GREATEST_MAIN_END();
}
