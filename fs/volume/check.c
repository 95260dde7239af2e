/*
 * The check's engine: one thread walks the directories and opens the files,
 * the others read and verify their content.
 */
#include "fs/volume/check_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>
#include <utlist.h>

#include "fs/volume/dir_impl.h"
#include "fs/format/sector.h"
#include "fs/volume/file.h"

enum {
	QUEUE_MAX = 64,   /* parts of files that wait */
	THREADS_MAX = 64,
	PART = 16384,     /* sectors (64 MiB): what one thread does of a file */
	PARTS_MAX = 1024, /* of one file; the parts of larger ones are larger */
};

/* A file whose content is being checked, by the threads that do its parts. */
struct content {
	struct check *check;
	int fd;
	char *plain, *cipher;
	uint64_t part;     /* sectors in a part */
	atomic_uint parts; /* still to be done */
};

struct job {
	struct content *content;
	uint64_t from; /* sector */
	struct job *prev, *next;
};

struct seen {
	struct { dev_t device; ino_t inode; } key;
	UT_hash_handle hh;
};

struct check {
	const struct volume *volume;
	const struct check_options *options;
	struct check_progress *progress;
	/* The walker's: inodes with several links, and how deep it is. */
	struct seen *seen;
	unsigned depth;

	pthread_mutex_t report_lock;

	pthread_mutex_t lock; /* for the queue */
	pthread_cond_t not_empty, not_full;
	struct job *queue;
	unsigned queued;
	bool ended;
	int error;            /* of a worker */
};

const struct volume *check_of_volume(const struct check *check)
{
	return check->volume;
}

struct check_progress *check_of_progress(const struct check *check)
{
	return check->progress;
}

unsigned *check_depth(struct check *check)
{
	return &check->depth;
}

char *check_join(const char *path, const char *name)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return NULL;
	return joined;
}

void check_report(struct check *check, const char *plain, const char *cipher,
                  struct check_finding finding)
{
	finding.plain = plain;
	finding.cipher = cipher;
	check->progress->counts[finding.class]++;
	pthread_mutex_lock(&check->report_lock);
	check->options->found(check->options->context, &finding);
	pthread_mutex_unlock(&check->report_lock);
}

void check_say(struct check *check, enum check_class class, const char *plain,
               const char *cipher, const char *detail)
{
	check_report(check, plain, cipher, (struct check_finding){
		.class = class, .detail = detail,
	});
}

bool check_seen(struct check *check, const struct stat *st)
{
	struct seen *s, key = { .key = { .device = 0 } };

	if (st->st_nlink < 2)
		return false;
	/* Padding takes part in the comparison, so it has to be zero. */
	memset(&key, 0, sizeof(key));
	key.key.device = st->st_dev;
	key.key.inode = st->st_ino;
	HASH_FIND(hh, check->seen, &key.key, sizeof(key.key), s);
	if (s)
		return true;
	s = malloc(sizeof(*s));
	if (!s)
		return false; /* it is checked twice, then */
	*s = key;
	HASH_ADD(hh, check->seen, key, sizeof(s->key), s);
	return false;
}

/* ---- the content of one file ---- */

static void content_found(void *context, const struct file_finding *f)
{
	static const enum check_class classes[] = {
		[FILE_CORRUPT_SECTOR] = CHECK_CORRUPT_SECTOR,
		[FILE_ZEROED_SECTOR] = CHECK_ZEROED_SECTOR,
		[FILE_SHORT_SECTOR] = CHECK_SHORT_SECTOR,
		[FILE_CORRUPT_HEADER] = CHECK_CORRUPT_HEADER,
		[FILE_TRUNCATED] = CHECK_TRUNCATED,
		[FILE_UNCLEAN_APPEND] = CHECK_UNCLEAN_APPEND,
		[FILE_UNFINISHED_CREATE] = CHECK_UNFINISHED_CREATE,
		[FILE_READ_ERROR] = CHECK_READ_ERROR,
	};
	struct content *c = context;
	bool ranged = f->start < f->end;

	check_report(c->check, c->plain, c->cipher,
	             (struct check_finding){
		.class = classes[f->damage],
		.has_sectors = ranged, .first = f->first, .last = f->last,
		.has_bytes = ranged, .start = f->start, .end = f->end,
		.detail = f->error ? strerror(-f->error) : NULL,
	});
}

static int content_progress(void *context, uint64_t bytes)
{
	struct content *c = context;

	c->check->progress->bytes += bytes;
	return c->check->progress->cancel;
}

static int check_part(struct job *job)
{
	struct content *content = job->content;
	struct file_check fc = {
		.found = content_found, .progress = content_progress,
		.context = content, .from = job->from, .count = content->part,
	};
	int error = file_verify(content->check->volume, content->fd, &fc);

	/* The content passes through once: it should not push out what the
	 * machine is working with. */
	posix_fadvise(content->fd, (off_t)job->from * SECTOR_SIZE,
	              (off_t)content->part * SECTOR_SIZE, POSIX_FADV_DONTNEED);
	return error;
}

/* ---- the queue ---- */

static void content_done(struct content *content, unsigned parts)
{
	if (atomic_fetch_sub(&content->parts, parts) > parts)
		return;
	close(content->fd);
	free(content->plain);
	free(content->cipher);
	free(content);
}

static void check_failed(struct check *check, int error)
{
	pthread_mutex_lock(&check->lock);
	check->error = error;
	pthread_mutex_unlock(&check->lock);
}

static bool queue_part(struct content *content, uint64_t from)
{
	struct check *check = content->check;
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return false;
	*job = (struct job){ .content = content, .from = from };
	pthread_mutex_lock(&check->lock);
	while (check->queued >= QUEUE_MAX)
		pthread_cond_wait(&check->not_full, &check->lock);
	DL_APPEND(check->queue, job);
	check->queued++;
	pthread_cond_signal(&check->not_empty);
	pthread_mutex_unlock(&check->lock);
	return true;
}

void check_queue_file(struct check *check, int fd, char *plain, char *cipher)
{
	struct content *content = malloc(sizeof(*content));
	struct stat st;
	unsigned parts = 1, queued = 0;
	uint64_t part = PART;

	if (!content || !plain || !cipher) {
		close(fd);
		free(plain);
		free(cipher);
		free(content);
		check_failed(check, -ENOMEM);
		return;
	}
	if (!fstat(fd, &st)) {
		uint64_t sectors = (uint64_t)st.st_size / SECTOR_SIZE;

		if (sectors / PARTS_MAX >= part)
			part = sectors / PARTS_MAX + 1;
		parts += (unsigned)(sectors / part);
	}
	*content = (struct content){
		.check = check, .fd = fd, .plain = plain, .cipher = cipher,
		.part = part, .parts = parts,
	};
	posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (queued < parts && !check->progress->cancel &&
	       queue_part(content, queued * part))
		queued++;
	if (queued == parts)
		return;
	if (!check->progress->cancel)
		check_failed(check, -ENOMEM);
	content_done(content, parts - queued);
}

static void *worker(void *context)
{
	struct check *check = context;

	for (;;) {
		struct job *job;
		int error = 0;

		pthread_mutex_lock(&check->lock);
		while (!check->queue && !check->ended)
			pthread_cond_wait(&check->not_empty, &check->lock);
		job = check->queue;
		if (job) {
			DL_DELETE(check->queue, job);
			check->queued--;
			pthread_cond_signal(&check->not_full);
		}
		pthread_mutex_unlock(&check->lock);
		if (!job)
			return NULL;
		if (!check->progress->cancel)
			error = check_part(job);
		content_done(job->content, 1);
		free(job);
		if (error && error != -ECANCELED)
			check_failed(check, error);
	}
}

/* ---- the whole ---- */

/* A directory on the way cannot be passed: say so, where that is a finding. */
static int path_ends(struct check *check, int error, const char *plain,
                     const char *cipher)
{
	if (error == -EUCLEAN)
		check_say(check, CHECK_MISSING_DIR_ID, plain, cipher,
		          "its names cannot be read, so nothing below it was "
		          "checked");
	else if (error == -EACCES || error == -EPERM)
		check_say(check, CHECK_NO_PERMISSION, plain, cipher,
		          "nothing below it was checked");
	else
		return error;
	return 0;
}

/* Find the entry that a plaintext path names, and check it. */
static int check_path(struct check *check, const char *path)
{
	char *copy = strdup(path), *save = NULL, *part, *plain = strdup("");
	char *cipher = strdup("");
	struct dir_entry entry = { .text = "" };
	int fd = open_quiet(check->volume->root, ".", O_RDONLY | O_DIRECTORY);
	int error = !copy || !plain || !cipher ? -ENOMEM : fd < 0 ? fd : 0;

	part = copy ? strtok_r(copy, "/", &save) : NULL;
	while (part && !error) {
		struct dir *dir;
		struct stat st;
		char *next = NULL, *name;

		if (!strcmp(part, ".")) {
			part = strtok_r(NULL, "/", &save);
			continue;
		}
		if (!strcmp(part, "..")) {
			error = -EINVAL;
			break;
		}
		error = dir_open(&dir, check->volume, fd);
		fd = -1;
		if (error) {
			error = path_ends(check, error, plain, cipher);
			break;
		}
		error = dir_find(dir, part, &entry, &st);
		if (!error) {
			name = check_join(plain, part);
			free(plain);
			plain = name;
			name = check_join(cipher, entry.text);
			free(cipher);
			cipher = name;
			if (!plain || !cipher)
				error = -ENOMEM;
		}
		do
			next = strtok_r(NULL, "/", &save);
		while (next && !strcmp(next, "."));
		if (!error && !next) {
			error = check_entry(check, dir_fd(dir), entry.text,
			                    plain, cipher);
		} else if (!error) {
			fd = open_quiet(dir_fd(dir), entry.text,
			                O_RDONLY | O_DIRECTORY);
			if (fd == -ENOTDIR || fd == -ELOOP)
				error = -ENOENT;
			else if (fd < 0)
				error = path_ends(check, fd, plain, cipher);
		}
		dir_unref(dir);
		part = next;
		if (!part || (!error && fd < 0))
			goto out;
	}
	if (!error && fd >= 0) {
		error = check_tree(check, fd, "", "");
		fd = -1;
	}
out:
	if (fd >= 0)
		close(fd);
	free(copy);
	free(plain);
	free(cipher);
	return error;
}

int check_volume(const struct volume *volume, const char *const *paths,
                 size_t count, const struct check_options *options,
                 struct check_progress *progress, const char **failed)
{
	struct check check = {
		.volume = volume, .options = options, .progress = progress,
		.report_lock = PTHREAD_MUTEX_INITIALIZER,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.not_empty = PTHREAD_COND_INITIALIZER,
		.not_full = PTHREAD_COND_INITIALIZER,
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = options->threads ? options->threads
		: (unsigned)(cores > 0 ? cores : 1), started = 0;
	pthread_t ids[THREADS_MAX];
	struct seen *s, *next;
	int error = 0;

	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started < threads &&
	       !pthread_create(&ids[started], NULL, worker, &check))
		started++;
	if (started == 0)
		return -EAGAIN;
	if (count == 0)
		error = check_path(&check, "");
	for (size_t i = 0; i < count && !error; i++) {
		error = check_path(&check, paths[i]);
		if (error)
			*failed = paths[i];
	}
	pthread_mutex_lock(&check.lock);
	check.ended = true;
	pthread_cond_broadcast(&check.not_empty);
	pthread_mutex_unlock(&check.lock);
	while (started > 0)
		pthread_join(ids[--started], NULL);
	HASH_ITER(hh, check.seen, s, next) {
		HASH_DEL(check.seen, s);
		free(s);
	}
	if (!error)
		error = check.error;
	return progress->cancel ? -ECANCELED : error;
}

static void measure(int fd, struct check_progress *progress, unsigned depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;

	if (!d) {
		close(fd);
		return;
	}
	while (!progress->cancel && (e = readdir(d))) {
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(st.st_mode)) {
			uint64_t room = (uint64_t)st.st_blocks * 512;
			uint64_t size = (uint64_t)st.st_size;

			progress->total += size < room ? size : room;
		} else if (S_ISDIR(st.st_mode) && depth < CHECK_DEPTH_MAX) {
			int sub = open_quiet(fd, e->d_name,
			                     O_RDONLY | O_DIRECTORY);

			if (sub >= 0)
				measure(sub, progress, depth + 1);
		}
	}
	closedir(d);
}

void check_measure(const struct volume *volume,
                   struct check_progress *progress)
{
	int fd = open_quiet(volume->root, ".", O_RDONLY | O_DIRECTORY);

	if (fd >= 0)
		measure(fd, progress, 0);
	progress->total_known = true;
}
