/* Hard links: which file of the target is the copy of which inode. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "fs/volume/walk.h"
#include "tools/copy_impl.h"

struct inode {
	dev_t device;
	ino_t number;
};

struct linked {
	struct inode source;
	struct inode target;
	nlink_t left; /* names of the source that are still to come */
	char *path;   /* below the target */
	UT_hash_handle hh;
};

static struct inode inode_of(const struct stat *st)
{
	struct inode i;

	memset(&i, 0, sizeof(i)); /* it is hashed with its padding */
	i.device = st->st_dev;
	i.number = st->st_ino;
	return i;
}

static void forget(struct copy *copy, struct linked *l)
{
	HASH_DEL(copy->links, l);
	free(l->path);
	free(l);
}

/* The folder and the entry at a path of names below the target, entered one by
 * one. */
static int find_copy(struct copy *copy, const char *path, struct folder *folder,
                     struct tree_entry *entry)
{
	char *rest = strdup(path), *part = rest, *slash;
	struct folder next;
	int error = rest ? 0 : -ENOMEM;

	*folder = (struct folder){ .fd = -1 };
	while (!error && (slash = strchr(part, '/'))) {
		const struct folder *at = folder->fd < 0 ? &copy->target
		                                         : folder;

		*slash = '\0';
		error = tree_find(at, part, entry);
		if (!error)
			error = tree_enter(at, entry->text, &next);
		if (!error) {
			tree_leave(folder);
			*folder = next;
		}
		part = slash + 1;
	}
	if (!error)
		error = tree_find(folder->fd < 0 ? &copy->target : folder, part,
		                  entry);
	free(rest);
	return error;
}

int copy_link_find(struct copy *copy, const struct stat *st,
                   const struct folder *to, const char *name)
{
	struct inode key = inode_of(st), now;
	struct tree_entry first, old;
	struct folder folder;
	char part[TREE_PART];
	struct linked *l;
	bool there = false;
	int error;

	HASH_FIND(hh, copy->links, &key, sizeof(key), l);
	if (!l)
		return 0;
	error = find_copy(copy, l->path, &folder, &first);
	now = error ? key : inode_of(&first.st);
	/* Another file stands there now: then it is of no use. */
	if (error || memcmp(&now, &l->target, sizeof(now))) {
		tree_leave(&folder);
		forget(copy, l);
		return 0;
	}
	error = tree_find(to, name, &old);
	if (!error) {
		now = inode_of(&old.st);
		if (!memcmp(&now, &l->target, sizeof(now)))
			error = 2;
		else if (S_ISDIR(old.st.st_mode))
			error = -EISDIR;
		there = !error;
	}
	tree_part_name(part, name);
	if (there)
		tree_unlink(to, part);
	if (error == 0 || error == -ENOENT)
		error = tree_link(folder.fd < 0 ? &copy->target : &folder,
		                  first.text, to, there ? part : name);
	if (!error && there)
		error = tree_replace(to, name);
	tree_leave(&folder);
	if (error < 0)
		return error;
	if (--l->left == 0)
		forget(copy, l);
	return error == 2 ? 2 : 1;
}

void copy_link_remember(struct copy *copy, const struct stat *st,
                        const struct folder *to, const char *name)
{
	struct linked *l = calloc(1, sizeof(*l)), *old;
	struct tree_entry made;

	if (!l || tree_find(to, name, &made)) {
		free(l);
		return; /* it is copied once more, then */
	}
	l->source = inode_of(st);
	l->target = inode_of(&made.st);
	l->left = st->st_nlink - 1;
	l->path = strdup(copy->to);
	HASH_FIND(hh, copy->links, &l->source, sizeof(l->source), old);
	if (!l->path || old) {
		free(l->path);
		free(l);
		return;
	}
	HASH_ADD(hh, copy->links, source, sizeof(l->source), l);
}

void copy_links_free(struct copy *copy)
{
	struct linked *l, *next;

	HASH_ITER(hh, copy->links, l, next)
		forget(copy, l);
}
