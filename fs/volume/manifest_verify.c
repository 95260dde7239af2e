/* Comparing a tree with a manifest: both are read in the same order. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/manifest_groups.h"
#include "fs/volume/manifest_impl.h"

struct verifying {
	struct manifest *manifest;
	const struct manifest_entry *at; /* the next one; NULL at the end */
	struct differences differences;
	struct groups *groups;
	char *blind;  /* a directory that could not be listed: nothing below it
	               * is known */
};

/* ---- the list ---- */

static struct difference *add(struct verifying *v, enum manifest_class class,
                              const char *path)
{
	struct differences *all = &v->differences;
	struct difference *d = calloc(1, sizeof(*d));

	if (d && all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 32;
		struct difference **list = realloc(all->list,
		                                   room * sizeof(*list));

		if (list) {
			all->list = list;
			all->room = room;
		}
	}
	if (d)
		d->path = strdup(path);
	if (!d || !d->path || all->count == all->room) {
		if (d)
			free(d->path);
		free(d);
		return NULL;
	}
	d->class = class;
	all->list[all->count++] = d;
	return d;
}

static void differences_free(struct differences *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i]->path);
		free(all->list[i]->from);
		free(all->list[i]);
	}
	free(all->list);
}

static int compare_path(const void *key, const void *element)
{
	return manifest_path_compare(key,
		(*(struct difference *const *)element)->path);
}

struct difference *difference_find(const struct differences *all,
                                   const char *path)
{
	struct difference **d = all->count == 0 ? NULL
		: bsearch(path, all->list, all->count, sizeof(*all->list),
		          compare_path);

	return d ? *d : NULL;
}

static void note_sealed(struct difference *d, const struct manifest_entry *e)
{
	d->sealed = true;
	d->kind = e->kind;
	d->has_facts = e->has_facts;
	d->sealed_facts = e->facts;
	d->olds = e->olds;
	memcpy(d->old, e->old, sizeof(d->old));
	/* Empty files are all alike. */
	d->has_was = e->kind == MANIFEST_LINK ||
	             (e->kind == MANIFEST_FILE &&
	              (!e->has_facts || e->facts.size));
	memcpy(d->was, e->digest, MANIFEST_DIGEST);
}

static enum manifest_kind kind_of(const struct stat *st)
{
	return S_ISREG(st->st_mode) ? MANIFEST_FILE
	     : S_ISDIR(st->st_mode) ? MANIFEST_DIR
	     : S_ISLNK(st->st_mode) ? MANIFEST_LINK : MANIFEST_OTHER;
}

static void note_present(struct difference *d, const struct scan_item *item)
{
	enum manifest_kind kind = kind_of(&item->st);

	d->present = true;
	if (!d->sealed)
		d->kind = kind;
	manifest_facts_of(&d->facts, &item->st);
	d->has_is = kind == MANIFEST_LINK ||
	            (kind == MANIFEST_FILE && item->st.st_size);
	memcpy(d->is, item->digest, MANIFEST_DIGEST);
}

/* ---- entry by entry ---- */

static int next_sealed(struct verifying *v)
{
	int more = manifest_next(v->manifest, &v->at);

	if (more != 1)
		v->at = NULL;
	return more < 0 ? more : 0;
}

static int sealed_only(struct verifying *v)
{
	struct difference *d;

	if (v->blind && manifest_path_below(v->at->path, v->blind))
		return 0;
	d = add(v, MANIFEST_MISSING, v->at->path);
	if (!d)
		return -ENOMEM;
	note_sealed(d, v->at);
	return 0;
}

static int present_only(struct verifying *v, const struct scan_item *item)
{
	struct difference *d;

	/* Without a signature nothing is known of what is no file. */
	if (!S_ISREG(item->st.st_mode) &&
	    !manifest_info(v->manifest)->has_signature)
		return 0;
	d = add(v, MANIFEST_ADDED, item->path);
	if (!d)
		return -ENOMEM;
	note_present(d, item);
	return 0;
}

static const char *other_kind(enum manifest_kind was, enum manifest_kind is)
{
	static const char *const words[4][4] = {
		[MANIFEST_FILE] = {
			[MANIFEST_DIR] = "it was a file and is a directory",
			[MANIFEST_LINK] = "it was a file and is a symbolic link",
			[MANIFEST_OTHER] = "it was a file and is none now",
		},
		[MANIFEST_DIR] = {
			[MANIFEST_FILE] = "it was a directory and is a file",
			[MANIFEST_LINK] = "it was a directory and is a symbolic "
			                  "link",
			[MANIFEST_OTHER] = "it was a directory and is none now",
		},
		[MANIFEST_LINK] = {
			[MANIFEST_FILE] = "it was a symbolic link and is a file",
			[MANIFEST_DIR] = "it was a symbolic link and is a "
			                 "directory",
			[MANIFEST_OTHER] = "it was a symbolic link and is none "
			                   "now",
		},
		[MANIFEST_OTHER] = {
			[MANIFEST_FILE] = "it was a special file and is a file",
			[MANIFEST_DIR] = "it was a special file and is a "
			                 "directory",
			[MANIFEST_LINK] = "it was a special file and is a "
			                  "symbolic link",
		},
	};

	return words[was][is];
}

/* Links of one inode: only where the content is the same, as what was changed or
 * replaced is told of already. */
static int compare_links(struct verifying *v, const struct scan_item *item)
{
	struct difference *d;
	const char *with;
	bool joined;
	int error;

	if (kind_of(&item->st) == MANIFEST_DIR ||
	    !manifest_info(v->manifest)->has_signature)
		return 0;
	error = groups_compare(&v->groups, item->path, v->at->group, &item->st,
	                       &with, &joined);
	if (error || !with)
		return error;
	d = add(v, MANIFEST_HARD_LINK, item->path);
	if (!d)
		return -ENOMEM;
	d->detail = joined ? "a link of it now, and was none"
	                   : "no link of it any more";
	d->from = strdup(with);
	return d->from ? 0 : -ENOMEM;
}

static int both(struct verifying *v, const struct scan_item *item)
{
	const struct manifest_entry *e = v->at;
	enum manifest_kind kind = kind_of(&item->st);
	const char *detail = NULL;
	struct difference *d;

	if (kind != e->kind)
		detail = other_kind(e->kind, kind);
	else if (kind == MANIFEST_OTHER && strcmp(e->target, item->target))
		detail = "another kind of entry, or another device";
	else if (kind == MANIFEST_LINK && strcmp(e->target, item->target))
		detail = "another target";
	else if (kind != MANIFEST_FILE ||
	         !memcmp(e->digest, item->digest, MANIFEST_DIGEST))
		return compare_links(v, item);
	d = add(v, MANIFEST_CHANGED, item->path);
	if (!d)
		return -ENOMEM;
	note_sealed(d, e);
	note_present(d, item);
	d->detail = detail;
	return 0;
}

static int unreadable(struct verifying *v, const struct scan_item *item)
{
	bool denied = item->error == -EACCES || item->error == -EPERM;
	struct difference *d = add(v, denied ? MANIFEST_NO_PERMISSION
	                                     : MANIFEST_READ_ERROR, item->path);

	if (!d)
		return -ENOMEM;
	d->kind = kind_of(&item->st);
	if (!denied)
		d->detail = item->error == -ESTALE
			? "it changed while it was read"
			: strerror(-item->error);
	if (d->kind == MANIFEST_DIR) {
		free(v->blind);
		v->blind = strdup(item->path);
		if (!v->blind)
			return -ENOMEM;
	}
	return 0;
}

static int compare(void *context, struct scan_item *item)
{
	struct verifying *v = context;
	int order = 1, error = 0;

	while (v->at && !error &&
	       (order = manifest_path_compare(v->at->path, item->path)) < 0) {
		error = sealed_only(v);
		if (!error)
			error = next_sealed(v);
	}
	if (error)
		return error;
	if (!v->at)
		order = 1;
	error = item->error ? unreadable(v, item)
	      : order ? present_only(v, item) : both(v, item);
	return error || order ? error : next_sealed(v);
}

/* ---- the whole ---- */

static int report(struct verifying *v, const struct manifest_verify *verify)
{
	struct plain_paths *paths = NULL;

	if (verify->volume) {
		paths = plain_paths_new(verify->volume, &v->differences);
		if (!paths)
			return -ENOMEM;
	}
	for (size_t i = 0; i < v->differences.count; i++) {
		const struct difference *d = v->differences.list[i];
		char *plain = NULL, *from = NULL;

		if (d->implied)
			continue;
		if (paths) {
			plain = plain_path(paths, d->path);
			from = d->from ? plain_path(paths, d->from) : NULL;
		}
		verify->found(verify->context, &(struct manifest_finding){
			.class = d->class, .cipher = d->path, .plain = plain,
			.from_cipher = d->from, .from_plain = from,
			.detail = d->detail,
		});
		free(plain);
		free(from);
	}
	plain_paths_free(paths);
	return 0;
}

int manifest_open_below(int root, const char *path, int flags)
{
	int fd = open_quiet(root, ".", O_RDONLY | O_DIRECTORY), next;
	char part[256];

	while (fd >= 0 && *path) {
		size_t n = strcspn(path, "/");
		bool last = !path[n];

		if (n >= sizeof(part)) {
			close(fd);
			return -ENAMETOOLONG;
		}
		memcpy(part, path, n);
		part[n] = '\0';
		next = open_quiet(fd, part, last ? flags
		                                 : O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
		path += n + !last;
	}
	return fd;
}

int manifest_verify(struct manifest *manifest, int root,
                    const struct manifest_verify *verify,
                    struct manifest_progress *progress)
{
	struct verifying v = { .manifest = manifest };
	const struct manifest_scan scan = {
		.root = root, .threads = verify->threads, .progress = progress,
		.context = &v, .entry = compare,
	};
	int error;

	if (manifest_info(manifest)->has_signature) {
		progress->total = manifest_info(manifest)->bytes;
		progress->total_known = true;
	}
	error = next_sealed(&v);
	if (!error)
		error = manifest_scan(&scan);
	while (!error && v.at) {
		error = sealed_only(&v);
		if (!error)
			error = next_sealed(&v);
	}
	if (!error)
		error = manifest_match(&v.differences, manifest);
	if (!error)
		error = manifest_judge(&v.differences, root, verify->volume,
		                       progress);
	/* What was found before it was cancelled is worth to be known, but where
	 * the rest is unknown nothing can be called missing. */
	if (!error)
		error = report(&v, verify);
	differences_free(&v.differences);
	groups_free(v.groups);
	free(v.blind);
	return error;
}
