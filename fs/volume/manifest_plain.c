/*
 * Plaintext paths of entries that differ from a manifest. What is not there any
 * more has one as well: the ids of a directory that is gone stand in the names
 * of its id files, and the manifest has these.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utarray.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/manifest_impl.h"

struct plain_paths {
	const struct volume *volume;
	const struct differences *differences;
	/* The directory that was asked for last: */
	char *dir;    /* ciphertext path; NULL: none yet */
	char *plain;
	int fd;       /* or -1 */
	struct dir_state *state; /* or NULL */
	UT_array *ids;
};

static const UT_icd id_icd = { ID_SIZE, NULL, NULL, NULL };

struct plain_paths *plain_paths_new(const struct volume *volume,
                                    const struct differences *differences)
{
	struct plain_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->volume = volume;
	p->differences = differences;
	p->fd = -1;
	utarray_new(p->ids, &id_icd);
	return p;
}

static void forget(struct plain_paths *p)
{
	free(p->dir);
	free(p->plain);
	p->dir = p->plain = NULL;
	state_put(p->state);
	p->state = NULL;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	utarray_clear(p->ids);
}

void plain_paths_free(struct plain_paths *p)
{
	if (!p)
		return;
	forget(p);
	utarray_free(p->ids);
	free(p);
}

/* The first difference that does not come before a path. */
static size_t lower_bound(const struct differences *all, const char *path)
{
	size_t from = 0, to = all->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (manifest_path_compare(all->list[middle]->path, path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The ids that a directory had and has no more. */
static void add_lost_ids(struct plain_paths *p, const char *dir)
{
	const struct differences *all = p->differences;
	size_t n = strlen(dir);
	char *prefix;

	if (asprintf(&prefix, "%s%s" NAME_DIR_PREFIX, dir, n ? "/" : "") < 0)
		return;
	for (size_t i = lower_bound(all, prefix); i < all->count; i++) {
		const struct difference *d = all->list[i];
		const char *name = d->path + n + (n > 0);
		uint8_t id[ID_SIZE];

		if (strncmp(d->path, prefix, strlen(prefix)))
			break;
		if (d->sealed && !d->present && !name_dir_id(name, id))
			utarray_push_back(p->ids, id);
	}
	free(prefix);
}

/* Make `dir` the directory at hand; 0 or -ENOMEM. */
static int enter(struct plain_paths *p, const char *dir)
{
	char *plain;

	if (p->dir && !strcmp(p->dir, dir))
		return 0;
	plain = plain_path(p, dir);
	forget(p);
	p->plain = plain;
	p->dir = strdup(dir);
	if (!p->plain || !p->dir) {
		forget(p);
		return -ENOMEM;
	}
	p->fd = manifest_open_below(p->volume->root, dir,
	                            O_RDONLY | O_DIRECTORY);
	if (p->fd >= 0) {
		struct dir d = { .volume = p->volume, .fd = p->fd };

		if (state_read(&d, &p->state))
			p->state = NULL;
	}
	for (size_t i = 0; p->state && i < p->state->count; i++)
		utarray_push_back(p->ids, p->state->ids[i]);
	add_lost_ids(p, dir);
	return 0;
}

/* The name in the directory at hand. */
static void name_of(struct plain_paths *p, const char *text,
                    char name[NAME_TEXT_MAX + 1])
{
	struct odd *odd = NULL;
	size_t which;

	if (p->state && p->state->by_text)
		HASH_FIND(by_text, p->state->by_text, text, strlen(text), odd);
	if (odd)
		strcpy(name, odd->shown);
	else if (text_open(p->volume, p->fd,
	                   (const uint8_t (*)[ID_SIZE])p->ids->d,
	                   utarray_len(p->ids), text, name, &which) < 0)
		strcpy(name, text);
}

char *plain_path(struct plain_paths *p, const char *cipher)
{
	const char *slash = strrchr(cipher, '/');
	const char *text = slash ? slash + 1 : cipher;
	char name[NAME_TEXT_MAX + 1], *dir, *path;
	int error;

	if (!*cipher)
		return strdup("");
	if (strlen(text) > NAME_TEXT_MAX)
		return strdup(cipher);
	dir = strndup(cipher, slash ? (size_t)(slash - cipher) : 0);
	error = dir ? enter(p, dir) : -ENOMEM;
	free(dir);
	if (error)
		return NULL;
	name_of(p, text, name);
	if (asprintf(&path, "%s%s%s", p->plain, *p->plain ? "/" : "", name) < 0)
		return NULL;
	return path;
}
