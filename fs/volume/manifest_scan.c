/*
 * A walk with digests: the walking thread opens the files, several threads read
 * and hash them, and the walking thread hands the results on in the walk's
 * order. A ring of fixed size holds what is on its way.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"
#include "fs/volume/manifest_impl.h"

enum {
	RING = 256,          /* items; each may hold a descriptor */
	BUFFER = 256 * 1024, /* bytes that a thread reads at once */
	DROP = 8 << 20,      /* after so many they leave the page cache */
	THREADS_MAX = 64,
};

struct scan {
	const struct manifest_scan *options;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct scan_item items[RING];
	/* Counts of items since the beginning: those that entered the ring, those
	 * that a thread took or nobody needs to, those that were handed on. */
	size_t pushed, taken, passed;
	bool ended;
};

int manifest_digest(uint8_t digest[MANIFEST_DIGEST], const char *text)
{
	return EVP_Digest(text, strlen(text), digest, NULL, EVP_blake2b512(),
	                  NULL) == 1 ? 0 : -EIO;
}

void manifest_other_text(char text[MANIFEST_OTHER_TEXT], const struct stat *st)
{
	char kind = S_ISFIFO(st->st_mode) ? 'p' : S_ISSOCK(st->st_mode) ? 's'
		: S_ISCHR(st->st_mode) ? 'c' : 'b';
	dev_t device = kind == 'c' || kind == 'b' ? st->st_rdev : 0;

	snprintf(text, MANIFEST_OTHER_TEXT, "%c %u:%u", kind, major(device),
	         minor(device));
}

/* ---- hashing, in the threads ---- */

static bool same_state(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int hash_content(struct scan *scan, struct scan_item *item,
                        EVP_MD_CTX *ctx, uint8_t *buf)
{
	struct manifest_progress *progress = scan->options->progress;
	off_t at = 0, dropped = 0;

	for (;;) {
		ssize_t n = io_read_full(item->fd, buf, BUFFER, at);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		if (progress->cancel)
			return -ECANCELED;
		if (EVP_DigestUpdate(ctx, buf, (size_t)n) != 1)
			return -EIO;
		at += n;
		progress->bytes += (uint64_t)n;
		if (at - dropped >= DROP) {
			/* It passes through once: it should not push out what
			 * the machine is working with. */
			posix_fadvise(item->fd, dropped, at - dropped,
			              POSIX_FADV_DONTNEED);
			dropped = at;
		}
	}
}

static void hash_item(struct scan *scan, struct scan_item *item,
                      EVP_MD_CTX *ctx, uint8_t *buf)
{
	struct stat now;

	posix_fadvise(item->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	item->error = EVP_DigestInit_ex(ctx, EVP_blake2b512(), NULL) == 1
		? hash_content(scan, item, ctx, buf) : -EIO;
	if (!item->error &&
	    EVP_DigestFinal_ex(ctx, item->digest, NULL) != 1)
		item->error = -EIO;
	if (!item->error && fstat(item->fd, &now))
		item->error = -errno;
	if (!item->error && !same_state(&item->st, &now))
		item->error = -ESTALE;
	posix_fadvise(item->fd, 0, 0, POSIX_FADV_DONTNEED);
	close(item->fd);
	item->fd = -1;
}

static void *hasher(void *context)
{
	struct scan *scan = context;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t *buf = malloc(BUFFER);

	pthread_mutex_lock(&scan->lock);
	for (;;) {
		struct scan_item *item;

		while (scan->taken < scan->pushed &&
		       scan->items[scan->taken % RING].done)
			scan->taken++;
		if (scan->taken == scan->pushed) {
			if (scan->ended)
				break;
			pthread_cond_wait(&scan->work, &scan->lock);
			continue;
		}
		item = &scan->items[scan->taken++ % RING];
		pthread_mutex_unlock(&scan->lock);
		if (ctx && buf) {
			hash_item(scan, item, ctx, buf);
		} else {
			close(item->fd);
			item->error = -ENOMEM;
		}
		pthread_mutex_lock(&scan->lock);
		item->done = true;
		pthread_cond_signal(&scan->done);
	}
	pthread_mutex_unlock(&scan->lock);
	free(buf);
	EVP_MD_CTX_free(ctx);
	return NULL;
}

/* ---- the ring, in the walking thread ---- */

static void item_free(struct scan_item *item)
{
	free(item->path);
	free(item->target);
	item->path = item->target = NULL;
}

/* Hand on the items at the head that are done; with `wait`, at least one. */
static int pass_on(struct scan *scan, bool wait)
{
	int error = 0;

	pthread_mutex_lock(&scan->lock);
	while (!error && scan->passed < scan->pushed) {
		struct scan_item *item = &scan->items[scan->passed % RING];

		if (!item->done && !wait)
			break;
		while (!item->done)
			pthread_cond_wait(&scan->done, &scan->lock);
		wait = false;
		pthread_mutex_unlock(&scan->lock);
		error = item->error == -ECANCELED || item->error == -ENOMEM
			? item->error
			: scan->options->entry(scan->options->context, item);
		item_free(item);
		pthread_mutex_lock(&scan->lock);
		scan->passed++;
	}
	pthread_mutex_unlock(&scan->lock);
	return error;
}

static int push(struct scan *scan, struct scan_item *item)
{
	int error = 0;

	item->done = item->fd < 0;
	if (scan->pushed - scan->passed == RING)
		error = pass_on(scan, true);
	if (error) {
		if (item->fd >= 0)
			close(item->fd);
		item_free(item);
		return error;
	}
	pthread_mutex_lock(&scan->lock);
	scan->items[scan->pushed % RING] = *item;
	scan->pushed++;
	pthread_cond_signal(&scan->work);
	pthread_mutex_unlock(&scan->lock);
	return pass_on(scan, false);
}

static void read_link(struct scan_item *item, int dir, const char *name)
{
	char target[MANIFEST_TARGET_MAX + 1];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	if (n < 0 || n > MANIFEST_TARGET_MAX) {
		item->error = n < 0 ? -errno : -ENAMETOOLONG;
		return;
	}
	target[n] = '\0';
	item->target = strdup(target);
	item->error = item->target ? manifest_digest(item->digest, target)
	                           : -ENOMEM;
}

static void open_file(struct scan_item *item, int dir, const char *name)
{
	item->fd = open_quiet(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (item->fd < 0) {
		item->error = item->fd;
	} else if (fstat(item->fd, &item->st)) {
		item->error = -errno;
	} else if (!S_ISREG(item->st.st_mode)) {
		item->error = -ESTALE;
	} else {
		return;
	}
	if (item->fd >= 0)
		close(item->fd);
	item->fd = -1;
}

static int scan_entry(void *context, int dir, const char *name,
                      const char *path, const struct stat *st, int error)
{
	struct scan *scan = context;
	const struct manifest_scan *o = scan->options;
	struct scan_item item = {
		.path = strdup(path), .st = *st, .error = error, .fd = -1,
	};
	char text[MANIFEST_OTHER_TEXT];

	if (!item.path)
		return -ENOMEM;
	if (S_ISREG(st->st_mode)) {
		o->progress->files++;
		if (!o->known || !o->known(o->context, &item))
			open_file(&item, dir, name);
		else
			o->progress->reused++;
	} else if (S_ISDIR(st->st_mode)) {
		o->progress->directories++;
	} else if (S_ISLNK(st->st_mode)) {
		o->progress->links++;
		read_link(&item, dir, name);
	} else if (st->st_mode) {
		o->progress->others++;
		manifest_other_text(text, st);
		item.target = strdup(text);
		if (!item.target)
			item.error = -ENOMEM;
	}
	return push(scan, &item);
}

static void scan_foreign(void *context, const char *path)
{
	struct scan *scan = context;

	(void)path;
	scan->options->progress->foreign++;
}

/* Nobody wants the rest any more: wait for what the threads are at. */
static void drop_rest(struct scan *scan)
{
	pthread_mutex_lock(&scan->lock);
	while (scan->taken < scan->pushed) {
		struct scan_item *item = &scan->items[scan->taken++ % RING];

		if (!item->done) {
			close(item->fd);
			item->done = true;
		}
	}
	for (; scan->passed < scan->pushed; scan->passed++) {
		struct scan_item *item = &scan->items[scan->passed % RING];

		while (!item->done)
			pthread_cond_wait(&scan->done, &scan->lock);
		item_free(item);
	}
	pthread_mutex_unlock(&scan->lock);
}

int manifest_scan(const struct manifest_scan *options)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	const struct manifest_walk walk = {
		.root = options->root, .cancel = &options->progress->cancel,
		.context = scan, .entry = scan_entry, .foreign = scan_foreign,
	};
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned threads = options->threads ? options->threads
		: (unsigned)(cores > 0 ? cores : 1), started = 0;
	pthread_t ids[THREADS_MAX];
	int error = 0;

	if (!scan)
		return -ENOMEM;
	scan->options = options;
	pthread_mutex_init(&scan->lock, NULL);
	pthread_cond_init(&scan->work, NULL);
	pthread_cond_init(&scan->done, NULL);
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (started < threads &&
	       !pthread_create(&ids[started], NULL, hasher, scan))
		started++;
	if (started == 0)
		error = -EAGAIN;
	if (!error)
		error = manifest_walk(&walk);
	while (!error && scan->passed < scan->pushed)
		error = pass_on(scan, true);
	drop_rest(scan);
	pthread_mutex_lock(&scan->lock);
	scan->ended = true;
	pthread_cond_broadcast(&scan->work);
	pthread_mutex_unlock(&scan->lock);
	while (started > 0)
		pthread_join(ids[--started], NULL);
	pthread_cond_destroy(&scan->done);
	pthread_cond_destroy(&scan->work);
	pthread_mutex_destroy(&scan->lock);
	free(scan);
	return error;
}
