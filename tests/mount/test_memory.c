/*
 * What the daemon takes: descriptors and memory, while very many files are
 * known to the kernel, after they were forgotten, and after large requests.
 * FROND_FILES sets how many files there are.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/guard.h"
#include "mount/support.h"
#include "sanitized.h"

enum {
	FILES = 20000,
	FOLDER = 25,              /* files in each: more folders than stay open */
	DESCRIPTORS = 1024,
	BYTES_EACH = 300,
	SLACK = 2 << 20,
	AT_REST = 32 << 20,
	STREAMS = 8,
	STREAM_SIZE = 24 << 20,
};

static struct mounted m;
static unsigned files;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

static const char *folder_name(unsigned i)
{
	char name[40];

	snprintf(name, sizeof(name), "folder %u", i);
	return mounted_path(m.point, name);
}

static const char *file_name(unsigned i)
{
	char name[80];

	snprintf(name, sizeof(name), "folder %u/document %06u.txt", i / FOLDER,
	         i);
	return mounted_path(m.point, name);
}

static int make_files(void)
{
	for (unsigned i = 0; i < files; i++) {
		if (i % FOLDER == 0 && mkdir(folder_name(i / FOLDER), 0755))
			return -errno;
		if (file_put(file_name(i), &i, sizeof(i)))
			return -EIO;
	}
	return 0;
}

/* Open and read all of them, found by their directories' listings. */
static int read_files(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < (files + FOLDER - 1) / FOLDER; i++) {
		DIR *dir = opendir(folder_name(i));
		struct dirent *d;

		while (dir && (d = readdir(dir))) {
			unsigned number, content;
			int fd;

			if (sscanf(d->d_name, "document %u", &number) != 1)
				continue;
			fd = openat(dirfd(dir), d->d_name, O_RDONLY);
			if (fd < 0)
				return -errno;
			if (read(fd, &content, sizeof(content))
			    != sizeof(content) || content != number)
				return -EIO;
			close(fd);
			count++;
		}
		if (!dir)
			return -errno;
		closedir(dir);
	}
	return count == files ? 0 : -ENOENT;
}

/* Let the kernel look up each of them. */
static int stat_files(void)
{
	struct stat st;

	for (unsigned i = 0; i < files; i++)
		if (stat(file_name(i), &st)
		    || st.st_size != sizeof(unsigned))
			return -EIO;
	return 0;
}

/* Remounting lets the kernel forget what nobody uses, on this mount alone. */
static int forget_files(void)
{
	return mount(NULL, m.point, NULL, MS_REMOUNT | MS_NOSUID | MS_NODEV,
	             NULL) ? -errno : 0;
}

static int daemon_descriptors(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)m.daemon);
	return path_entries(path);
}

#define ROOT_OR_SKIP()                                                 \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
	} while (0)

/* In a child, as the limit cannot be lifted again. 0, or the step that failed. */
static int walk_with_few_descriptors(void)
{
	const struct rlimit low = { DESCRIPTORS, DESCRIPTORS };

	if (setrlimit(RLIMIT_NOFILE, &low) || mounted_mount(&m, NULL))
		return 1;
	if (make_files() || forget_files())
		return 2;
	if (read_files())
		return 3;
	printf("%u files read: %d descriptors\n", files, daemon_descriptors());
	if (daemon_descriptors() < 1 || daemon_descriptors() >= 300)
		return 4;
	if (stat_files() || daemon_descriptors() >= 300)
		return 5;
	return mounted_umount(&m) ? 6 : 0;
}

TEST many_files_need_few_descriptors(void)
{
	int status;
	pid_t child;

	ROOT_OR_SKIP();
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	files = (unsigned)setting("FROND_FILES", FILES / 2);
	ASSERT_EQ(0, mounted_make(&m));
	fflush(NULL);
	child = fork();
	if (child == 0) {
		status = walk_with_few_descriptors();
		mounted_kill(&m);
		fflush(NULL);
		_exit(status);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT(WIFEXITED(status));
	ASSERT_EQ(0, WEXITSTATUS(status));
	PASS();
}

TEST known_files_take_little_memory_and_give_it_back(void)
{
	long before, with, after;

#ifdef SANITIZED
	SKIP_BECAUSE("a sanitizer's memory is not the daemon's own");
#endif
	ROOT_OR_SKIP();
	files = (unsigned)setting("FROND_FILES", FILES);
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, make_files());
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	before = daemon_memory(&m);
	ASSERT(before > 0);
	ASSERT_EQ(0, stat_files());
	with = daemon_memory(&m);
	printf("%u files: %ld bytes each", files, (with - before) / files);
	ASSERT(with - before < (long)files * BYTES_EACH + SLACK);
	ASSERT_EQ(0, forget_files());
	/* The kernel's messages are taken after the call has returned. */
	for (int i = 0; i < 200; i++) {
		after = daemon_memory(&m);
		if (with - after > (with - before) / 2)
			break;
		pause_for(20);
	}
	printf(", of which %ld are left when forgotten\n",
	       (after - before) / files);
	ASSERT(with - after > (with - before) / 2);
	/* And they are found again. */
	ASSERT_EQ(0, stat_files());
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* Row F106: what is made and removed again is forgotten. */
TEST what_is_removed_is_forgotten(void)
{
	long before = 0;

#ifdef SANITIZED
	SKIP_BECAUSE("a sanitizer's memory is not the daemon's own");
#endif
	files = (unsigned)setting("FROND_FILES", FILES) / 8;
	MOUNT_OR_SKIP(&m, NULL);
	for (int round = 0; round < 4; round++) {
		for (unsigned i = 0; i < files; i++) {
			const char *name = mounted_path(m.point, "d");
			const char *inside = mounted_path(m.point, "d/f");

			ASSERT_EQ(0, mkdir(name, 0755));
			ASSERT_EQ(0, mknod(inside, S_IFREG | 0600, 0));
			ASSERT_EQ(0, unlink(inside));
			ASSERT_EQ(0, rmdir(name));
		}
		if (round == 0)
			before = daemon_memory(&m);
	}
	printf("%u more directories: %ld KiB more\n", 3 * files,
	       (daemon_memory(&m) - before) / 1024);
	ASSERT(daemon_memory(&m) - before < SLACK / 2);
	ASSERT(daemon_descriptors() < 100);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* In a child: write or read a file by large requests that reach the daemon. */
static int stream(unsigned i, bool is_writing)
{
	static uint8_t data[1 << 20] __attribute__((aligned(4096)));
	char name[20];
	ssize_t n = 1;
	int fd;

	snprintf(name, sizeof(name), "stream %u", i);
	fd = open(mounted_path(m.point, name),
	          (is_writing ? O_RDWR | O_CREAT : O_RDONLY) | O_DIRECT, 0600);
	memset(data, (int)i + 1, sizeof(data));
	for (int k = 0; n > 0 && k < STREAM_SIZE >> 20; k++)
		n = is_writing ? write(fd, data, sizeof(data))
		               : read(fd, data, sizeof(data));
	if (n > 0)
		n = data[sizeof(data) - 1] == i + 1 ? n : -1;
	return fd < 0 || n <= 0 || close(fd) ? 1 : 0;
}

static int streams(bool is_writing)
{
	int failed = 0, status;

	fflush(NULL);
	for (unsigned i = 0; i < STREAMS; i++)
		if (fork() == 0)
			_exit(stream(i, is_writing));
	for (unsigned i = 0; i < STREAMS; i++)
		failed += wait(&status) < 0 || status;
	return failed;
}

TEST large_requests_leave_little_memory(void)
{
	pid_t daemon;

#ifdef SANITIZED
	SKIP_BECAUSE("a sanitizer's memory is not the daemon's own");
#endif
	MOUNT_OR_SKIP(&m, NULL);
	daemon = m.daemon;
	for (int round = 0; round < 2; round++) {
		/* wait() is for the streams alone */
		ASSERT_EQ(0, streams(true));
		ASSERT_EQ(0, streams(false));
	}
	ASSERT_EQ(daemon, m.daemon);
	printf("after %d streams: %ld KiB\n", STREAMS, daemon_memory(&m) / 1024);
	ASSERT(daemon_memory(&m) > 0 && daemon_memory(&m) < AT_REST);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(taken)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(many_files_need_few_descriptors);
	RUN_TEST(known_files_take_little_memory_and_give_it_back);
	RUN_TEST(what_is_removed_is_forgotten);
	RUN_TEST(large_requests_leave_little_memory);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(taken);
	GREATEST_MAIN_END();
}
