/*
 * Making and removing for long, by many threads, in changing directories: rows
 * F106 and F113 of the field's troubles. What the daemon takes does not grow
 * with it. FROND_ROUNDS makes it longer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/guard.h"
#include "mount/support.h"
#include "sanitized.h"

enum {
	THREADS = 6,
	ROUNDS = 150,
	ENTRIES = 8,
	MOVED = 10000,
	GROWTH = 1 << 20, /* bytes that are no growth */
};

static struct mounted m;
static atomic_uint failures;
static unsigned rounds;

static void teardown(void *unused)
{
	(void)unused;
	guard_end(&m, false);
}

static int daemon_descriptors(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)m.daemon);
	return path_entries(path);
}

static void count_failure(bool failed, const char *what)
{
	if (failed && atomic_fetch_add(&failures, 1) < 5)
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

/* New names each time, and names that are not there. */
static void *make_and_remove(void *argument)
{
	unsigned number = *(unsigned *)argument;
	char dir[400], file[500];

	for (unsigned i = 0; i < rounds; i++) {
		snprintf(dir, sizeof(dir), "%s/%u %u", m.point, number, i);
		count_failure(mkdir(dir, 0755), "mkdir");
		for (unsigned k = 0; k < ENTRIES; k++) {
			snprintf(file, sizeof(file), "%s/missing %u", dir, k);
			count_failure(!access(file, F_OK), "access");
			snprintf(file, sizeof(file), "%s/file %u", dir, k);
			count_failure(file_put(file, file, strlen(file)),
			              "create");
		}
		for (unsigned k = 0; k < ENTRIES; k++) {
			snprintf(file, sizeof(file), "%s/file %u", dir, k);
			count_failure(unlink(file), "unlink");
		}
		count_failure(rmdir(dir), "rmdir");
	}
	return NULL;
}

static void churn(void)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, make_and_remove,
		                   &numbers[i]))
			abort();
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

TEST memory_does_not_grow(void)
{
	long before, after;
	int descriptors;

	MOUNT_OR_SKIP(&m, NULL);
	guard_begin(&m, 300);
	rounds = (unsigned)setting("FROND_ROUNDS", ROUNDS);
	churn(); /* all threads, buffers and caches are there now */
	before = daemon_memory(&m);
	descriptors = daemon_descriptors();
	churn();
	churn();
	after = daemon_memory(&m);
	printf("%u directories with %d files each: %+ld KiB\n",
	       2 * THREADS * rounds, ENTRIES, (after - before) / 1024);
	ASSERT_EQ(0, atomic_load(&failures));
	ASSERT_EQ(0, path_entries(m.point));
	ASSERT(daemon_descriptors() <= descriptors + 20);
#ifndef SANITIZED
	ASSERT(before > 0 && after < before + GROWTH);
#endif
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F113: very many files moved, one after the other, while they are listed. */
TEST ten_thousand_files_are_moved(void)
{
	unsigned count = (unsigned)setting("FROND_FILES", MOVED);
	char from[400], to[400];
	DIR *dir;
	struct dirent *d;
	unsigned moved = 0;

	MOUNT_OR_SKIP(&m, NULL);
	guard_begin(&m, 300);
	snprintf(from, sizeof(from), "%s/from", m.point);
	snprintf(to, sizeof(to), "%s/to", m.point);
	ASSERT_EQ(0, mkdir(from, 0755));
	ASSERT_EQ(0, mkdir(to, 0755));
	for (unsigned i = 0; i < count; i++) {
		char path[500];
		int fd;

		snprintf(path, sizeof(path), "%s/document %u", from, i);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		ASSERT(fd >= 0);
		close(fd);
	}
	dir = opendir(from);
	while ((d = readdir(dir))) {
		char old[800], new[800];

		if (*d->d_name == '.')
			continue;
		snprintf(old, sizeof(old), "%s/%s", from, d->d_name);
		snprintf(new, sizeof(new), "%s/%s", to, d->d_name);
		ASSERT_EQ(0, rename(old, new));
		moved++;
	}
	closedir(dir);
	ASSERT_EQ(count, moved);
	ASSERT_EQ(0, path_entries(from));
	ASSERT_EQ((int)count, path_entries(to));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

SUITE(churn_suite)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(memory_does_not_grow);
	RUN_TEST(ten_thousand_files_are_moved);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(churn_suite);
	GREATEST_MAIN_END();
}
