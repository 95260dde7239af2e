/*
 * The work that tools/bench-fs measures: one kind of access to files of a
 * directory, timed without starting the process or preparing its data. Prints
 * nanoseconds. What is written is the same for every filesystem.
 */
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	MIB = 1024 * 1024,
	PIECE = 4096,        /* of random access, bytes */
	JOBS_MAX = 64,
	PER_FOLDER = 250,    /* small files in one directory */
};

static const char usage_text[] =
	"usage: bench_fs WORK ARGUMENTS\n"
	"\n"
	"  write FILE MIB            new file, by 1 MiB, and close it\n"
	"  read FILE                 all of it, by 1 MiB\n"
	"  pread FILE JOBS N         N random pieces of 4 KiB in each of JOBS threads\n"
	"  pwrite FILE JOBS N        the same, written, one fsync at the end\n"
	"  pwrite-sync FILE JOBS N   the same with a fsync after each\n"
	"  create DIR N              N files of 0.5 to 8 KiB in new folders of 250\n"
	"  stat DIR N | open DIR N | unlink DIR N\n"
	"                            each of them: lstat; read all; remove\n"
	"\n"
	"Prints the time in nanoseconds. tools/bench-fs runs it.\n";

static void fail(const char *what)
{
	fprintf(stderr, "bench_fs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* xorshift64: cheap, and the same numbers in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void fill(uint8_t *buf, size_t size, uint64_t seed)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t v = next_random(&seed);

		memcpy(buf + i, &v, 8);
	}
}

static long number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n <= 0) {
		fprintf(stderr, "bench_fs: %s is not a number\n", text);
		exit(16);
	}
	return n;
}

static uint64_t work_write(char **argv)
{
	long mib = number(argv[1]);
	uint8_t *buf = malloc(MIB);
	uint64_t start;
	int fd;

	if (!buf)
		fail("memory");
	fill(buf, MIB, 1);
	start = now();
	fd = open(argv[0], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		fail(argv[0]);
	for (long i = 0; i < mib; i++)
		if (write(fd, buf, MIB) != MIB)
			fail(argv[0]);
	if (close(fd))
		fail(argv[0]);
	start = now() - start;
	free(buf);
	return start;
}

static uint64_t work_read(char **argv)
{
	uint8_t *buf = malloc(MIB);
	uint64_t start = now();
	int fd = open(argv[0], O_RDONLY);
	ssize_t n;

	if (!buf || fd < 0)
		fail(argv[0]);
	while ((n = read(fd, buf, MIB)) > 0)
		;
	if (n < 0 || close(fd))
		fail(argv[0]);
	start = now() - start;
	free(buf);
	return start;
}

struct job {
	pthread_t thread;
	const char *path;
	long count;
	uint64_t seed;
	bool writes, syncs;
};

static void *run_job(void *arg)
{
	struct job *job = arg;
	uint8_t buf[PIECE];
	int fd = open(job->path, job->writes ? O_WRONLY : O_RDONLY);
	uint64_t pieces;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_size < PIECE)
		fail(job->path);
	pieces = (uint64_t)st.st_size / PIECE;
	fill(buf, PIECE, job->seed);
	for (long i = 0; i < job->count; i++) {
		off_t at = (off_t)(next_random(&job->seed) % pieces * PIECE);
		ssize_t n = job->writes ? pwrite(fd, buf, PIECE, at)
		                        : pread(fd, buf, PIECE, at);

		if (n != PIECE || (job->syncs && fsync(fd)))
			fail(job->path);
	}
	if ((job->writes && !job->syncs && fsync(fd)) || close(fd))
		fail(job->path);
	return NULL;
}

static uint64_t random_access(char **argv, bool writes, bool syncs)
{
	struct job jobs[JOBS_MAX];
	long count = number(argv[1]);
	uint64_t start = now();

	if (count > JOBS_MAX) {
		fprintf(stderr, "bench_fs: at most %d jobs\n", JOBS_MAX);
		exit(16);
	}
	for (long i = 0; i < count; i++) {
		jobs[i] = (struct job){
			.path = argv[0], .count = number(argv[2]),
			.seed = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1),
			.writes = writes, .syncs = syncs,
		};
		if (pthread_create(&jobs[i].thread, NULL, run_job, &jobs[i]))
			fail("threads");
	}
	for (long i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
	return now() - start;
}

static uint64_t work_pread(char **argv)
{
	return random_access(argv, false, false);
}

static uint64_t work_pwrite(char **argv)
{
	return random_access(argv, true, false);
}

static uint64_t work_pwrite_sync(char **argv)
{
	return random_access(argv, true, true);
}

static void small_path(char *path, size_t size, const char *dir, long i)
{
	snprintf(path, size, "%s/%04ld/file-%06ld.txt", dir, i / PER_FOLDER, i);
}

static uint64_t work_create(char **argv)
{
	static uint8_t buf[8192];
	long count = number(argv[1]);
	uint64_t seed = 5, start;
	char path[4096];

	fill(buf, sizeof(buf), 2);
	start = now();
	for (long i = 0; i < count; i++) {
		size_t size = 512 + next_random(&seed) % (sizeof(buf) - 512);
		int fd;

		if (i % PER_FOLDER == 0) {
			snprintf(path, sizeof(path), "%s/%04ld", argv[0],
			         i / PER_FOLDER);
			if (mkdir(path, 0700))
				fail(path);
		}
		small_path(path, sizeof(path), argv[0], i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || write(fd, buf, size) != (ssize_t)size
		    || close(fd))
			fail(path);
	}
	return now() - start;
}

static uint64_t work_stat(char **argv)
{
	long count = number(argv[1]);
	uint64_t start = now();
	char path[4096];
	struct stat st;

	for (long i = 0; i < count; i++) {
		small_path(path, sizeof(path), argv[0], i);
		if (lstat(path, &st))
			fail(path);
	}
	return now() - start;
}

static uint64_t work_open(char **argv)
{
	static uint8_t buf[16384];
	long count = number(argv[1]);
	uint64_t start = now();
	char path[4096];

	for (long i = 0; i < count; i++) {
		ssize_t n;
		int fd;

		small_path(path, sizeof(path), argv[0], i);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			fail(path);
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			;
		if (n < 0 || close(fd))
			fail(path);
	}
	return now() - start;
}

static uint64_t work_unlink(char **argv)
{
	long count = number(argv[1]);
	uint64_t start = now();
	char path[4096];

	for (long i = 0; i < count; i++) {
		small_path(path, sizeof(path), argv[0], i);
		if (unlink(path))
			fail(path);
		if (i % PER_FOLDER == PER_FOLDER - 1 || i == count - 1) {
			snprintf(path, sizeof(path), "%s/%04ld", argv[0],
			         i / PER_FOLDER);
			if (rmdir(path))
				fail(path);
		}
	}
	return now() - start;
}

static const struct work {
	const char *name;
	int arguments;
	uint64_t (*run)(char **argv);
} works[] = {
	{ "write", 2, work_write },
	{ "read", 1, work_read },
	{ "pread", 3, work_pread },
	{ "pwrite", 3, work_pwrite },
	{ "pwrite-sync", 3, work_pwrite_sync },
	{ "create", 2, work_create },
	{ "stat", 2, work_stat },
	{ "open", 2, work_open },
	{ "unlink", 2, work_unlink },
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage_text, stdout);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(works) / sizeof(*works); i++)
		if (!strcmp(argv[1], works[i].name)
		    && argc - 2 == works[i].arguments) {
			printf("%llu\n",
			       (unsigned long long)works[i].run(argv + 2));
			return 0;
		}
	fputs(usage_text, stderr);
	return 16;
}
