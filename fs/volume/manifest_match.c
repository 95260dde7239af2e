/* What was renamed, and what was copied over something else: by the digests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "fs/format/name.h"
#include "fs/volume/manifest_impl.h"

/* The differences with one digest. */
struct slot {
	uint8_t digest[MANIFEST_DIGEST];
	struct difference *first;
	UT_hash_handle hh;
};

static struct slot *slot_find(struct slot *slots, const uint8_t *digest)
{
	struct slot *slot;

	HASH_FIND(hh, slots, digest, MANIFEST_DIGEST, slot);
	return slot;
}

static int slot_add(struct slot **slots, const uint8_t *digest,
                    struct difference *d)
{
	struct slot *slot = slot_find(*slots, digest);

	if (!slot) {
		slot = calloc(1, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		memcpy(slot->digest, digest, MANIFEST_DIGEST);
		HASH_ADD(hh, *slots, digest, MANIFEST_DIGEST, slot);
	}
	d->same = slot->first;
	slot->first = d;
	return 0;
}

static void slots_free(struct slot *slots)
{
	struct slot *slot, *next;

	HASH_ITER(hh, slots, slot, next) {
		HASH_DEL(slots, slot);
		free(slot);
	}
}

/* ---- renamed ---- */

static bool exchanged(const struct difference *a, const struct difference *b)
{
	return b->has_is && a->has_was &&
	       !memcmp(b->is, a->was, MANIFEST_DIGEST);
}

/* Of the entries that had this content and have it no more, the one that this
 * one is most likely to be: what is gone before what has other content now. */
static struct difference *origin(const struct slot *slot,
                                 const struct difference *d)
{
	struct difference *best = NULL;

	for (struct difference *o = slot ? slot->first : NULL; o; o = o->same) {
		if (o == d || o->taken)
			continue;
		if (o->class == MANIFEST_MISSING)
			return o;
		best = o;
	}
	return best;
}

static int find_renamed(struct differences *all)
{
	struct slot *slots = NULL;
	int error = 0;

	for (size_t i = 0; i < all->count && !error; i++)
		if (all->list[i]->has_was)
			error = slot_add(&slots, all->list[i]->was,
			                 all->list[i]);
	for (size_t i = 0; i < all->count && !error; i++) {
		struct difference *d = all->list[i], *from;

		from = d->has_is ? origin(slot_find(slots, d->is), d) : NULL;
		if (!from)
			continue;
		from->taken = true;
		from->implied |= from->class == MANIFEST_MISSING;
		d->class = MANIFEST_RENAMED;
		d->detail = !d->sealed ? NULL
			: exchanged(d, from) ? "the two changed names"
			: "over what was here";
		d->from = strdup(from->path);
		if (!d->from)
			error = -ENOMEM;
	}
	slots_free(slots);
	return error;
}

/* ---- renamed directories ---- */

/* The directory of a path, malloc'ed; "" of a path in the root. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A directory's id file was renamed: so was the directory, if that fits. */
static int id_renamed(struct differences *all, const struct difference *d)
{
	char *to = parent_of(d->path), *from = parent_of(d->from);
	struct difference *was = from ? difference_find(all, from) : NULL;
	struct difference *is = to ? difference_find(all, to) : NULL;
	int error = to && from ? 0 : -ENOMEM;

	if (was && is && was->kind == MANIFEST_DIR && is->kind == MANIFEST_DIR &&
	    was->class == MANIFEST_MISSING && !was->taken &&
	    is->class == MANIFEST_ADDED) {
		was->taken = was->implied = true;
		is->class = MANIFEST_RENAMED;
		is->from = from;
		from = NULL;
	}
	free(to);
	free(from);
	return error;
}

/* What lies in a renamed directory under the name that it had there is told of
 * with the directory. */
static int within_renamed(struct differences *all, struct difference *d)
{
	char *dir = parent_of(d->path), *was = NULL;
	struct difference *parent = dir ? difference_find(all, dir) : NULL, *o;
	int error = dir ? 0 : -ENOMEM;

	if (parent && parent->kind == MANIFEST_DIR &&
	    parent->class == MANIFEST_RENAMED) {
		if (asprintf(&was, "%s/%s", parent->from, base_of(d->path)) < 0) {
			was = NULL;
			error = -ENOMEM;
		}
		o = was ? difference_find(all, was) : NULL;
		if (was && d->class == MANIFEST_RENAMED && !strcmp(d->from, was))
			d->implied = true;
		/* Without a digest: a fifo, an empty file. */
		if (o && d->class == MANIFEST_ADDED && !d->has_is && !o->has_was &&
		    o->class == MANIFEST_MISSING && o->kind == d->kind &&
		    d->kind != MANIFEST_DIR)
			d->implied = o->implied = true;
	}
	free(dir);
	free(was);
	return error;
}

static int find_renamed_dirs(struct differences *all)
{
	int error = 0;

	for (size_t i = 0; i < all->count && !error; i++) {
		struct difference *d = all->list[i];

		if (d->class == MANIFEST_RENAMED &&
		    name_form(base_of(d->path)) == NAME_DIR_ID)
			error = id_renamed(all, d);
	}
	for (size_t i = 0; i < all->count && !error; i++)
		if (!all->list[i]->sealed)
			error = within_renamed(all, all->list[i]);
	return error;
}

/* ---- copied ---- */

static bool may_be_copy(const struct difference *d)
{
	return d->has_is && !d->from &&
	       (d->class == MANIFEST_ADDED || d->class == MANIFEST_CHANGED);
}

/* One more pass through the manifest, where anything is to be looked for: for
 * entries that still are what they were, and whose content stands elsewhere. */
static int find_copied(struct differences *all, struct manifest *manifest)
{
	const struct manifest_entry *e;
	struct slot *slots = NULL, *slot;
	int error = 0, more;

	for (size_t i = 0; i < all->count && !error; i++)
		if (may_be_copy(all->list[i]))
			error = slot_add(&slots, all->list[i]->is, all->list[i]);
	if (!error && slots)
		error = manifest_rewind(manifest);
	while (!error && slots && (more = manifest_next(manifest, &e))) {
		if (more < 0) {
			error = more;
			break;
		}
		if (e->kind != MANIFEST_FILE && e->kind != MANIFEST_LINK)
			continue;
		slot = slot_find(slots, e->digest);
		for (struct difference *d = slot ? slot->first : NULL; d;
		     d = d->same) {
			if (d->from)
				continue;
			if (d->sealed)
				d->class = MANIFEST_COPIED;
			else
				d->detail = "a copy of another one";
			d->from = strdup(e->path);
			if (!d->from)
				error = -ENOMEM;
		}
	}
	slots_free(slots);
	return error;
}

int manifest_match(struct differences *all, struct manifest *manifest)
{
	int error = find_renamed(all);

	if (!error)
		error = find_renamed_dirs(all);
	return error ? error : find_copied(all, manifest);
}
