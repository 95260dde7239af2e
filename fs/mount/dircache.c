#include "fs/mount/dircache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "fs/volume/io.h"

struct dir_slot {
	struct dir_slot *prev, *next;
	struct node *node;
	struct dir *dir;
};

void dircache_drop_locked(struct mount *mount, struct node *node)
{
	struct dir_slot *slot = node->dir;

	if (!slot)
		return;
	DL_DELETE(mount->dirs, slot);
	mount->dir_count--;
	node->dir = NULL;
	dir_unref(slot->dir);
	free(slot);
}

static struct dir *peek_locked(struct mount *mount, struct node *node)
{
	struct dir_slot *slot = node->dir;

	if (node == mount->root)
		return dir_ref(mount->root_dir);
	if (!slot)
		return NULL;
	if (mount->dirs != slot) {
		DL_DELETE(mount->dirs, slot);
		DL_PREPEND(mount->dirs, slot);
	}
	return dir_ref(slot->dir);
}

struct dir *dircache_peek(struct mount *mount, struct node *node)
{
	struct dir *dir;

	pthread_mutex_lock(&mount->lock);
	dir = peek_locked(mount, node);
	pthread_mutex_unlock(&mount->lock);
	return dir;
}

static void shrink_locked(struct mount *mount, unsigned limit)
{
	while (mount->dir_count > limit)
		dircache_drop_locked(mount, mount->dirs->prev->node);
}

void dircache_clear_locked(struct mount *mount)
{
	shrink_locked(mount, 0);
}

/* Put a directory in the cache, unless another thread did so meanwhile; gives
 * the one that is there. A directory that cannot be kept still works. */
static struct dir *keep(struct mount *mount, struct node *node,
                        struct dir *dir)
{
	struct dir_slot *slot = malloc(sizeof(*slot));
	struct dir *other;

	pthread_mutex_lock(&mount->lock);
	other = peek_locked(mount, node);
	if (!other && slot) {
		slot->node = node;
		slot->dir = dir_ref(dir);
		node->dir = slot;
		DL_PREPEND(mount->dirs, slot);
		mount->dir_count++;
		slot = NULL;
		shrink_locked(mount, mount->dir_limit);
	}
	pthread_mutex_unlock(&mount->lock);
	free(slot);
	if (!other)
		return dir;
	dir_unref(dir);
	return other;
}

static int open_fd(struct mount *mount, int parent, const char *text)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1;

	/* Reading a directory must leave no access time in a volume that is
	 * not to be changed; only the owner may ask for that. */
	if (mount->volume->read_only)
		fd = io_open(parent, text, flags | O_NOATIME);
	if (fd < 0)
		fd = io_open(parent, text, flags);
	if (fd < 0 && errno == EMFILE) {
		pthread_mutex_lock(&mount->lock);
		shrink_locked(mount, mount->dir_count / 2);
		pthread_mutex_unlock(&mount->lock);
		fd = io_open(parent, text, flags);
	}
	return fd < 0 ? -errno : fd;
}

/* Open the directory of `node` in that of its parent. */
static int open_in(struct mount *mount, struct dir *parent, struct node *node,
                   struct dir **out)
{
	char text[NAME_TEXT_MAX + 1];
	struct node *parent_node;
	struct stat st;
	int fd, error;

	if (!node_name_at(mount, node, 0, &parent_node, text))
		return -ESTALE;
	node_unref(mount, parent_node);
	fd = open_fd(mount, dir_fd(parent), text);
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return -ESTALE;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !node_is(node, &st)) {
		close(fd);
		return -ESTALE;
	}
	error = dir_open(out, mount->volume, fd);
	if (!error)
		*out = keep(mount, node, *out);
	return error;
}

/* The nodes from `node` up to its nearest ancestor that is open, all with a
 * reference; their number, or -ENOMEM or -ESTALE. *dir is that ancestor's. */
static int climb(struct mount *mount, struct node *node, struct node ***chain,
                 struct dir **dir)
{
	struct node **nodes = NULL;
	int count = 0, room = 0, error = 0;

	*dir = NULL;
	pthread_mutex_lock(&mount->lock);
	while (node && !(*dir = peek_locked(mount, node))) {
		if (count == room) {
			struct node **more;

			room = room ? 2 * room : 16;
			more = realloc(nodes, (size_t)room * sizeof(*more));
			if (!more) {
				error = -ENOMEM;
				break;
			}
			nodes = more;
		}
		node_ref_locked(node);
		nodes[count++] = node;
		node = node->name.parent;
	}
	pthread_mutex_unlock(&mount->lock);
	if (!*dir && !error)
		error = -ESTALE;
	*chain = nodes;
	if (!error)
		return count;
	while (count)
		node_unref(mount, nodes[--count]);
	free(nodes);
	*chain = NULL;
	return error;
}

int dircache_get(struct mount *mount, struct node *node, struct dir **out)
{
	struct node **chain;
	struct dir *dir;
	int error = 0;
	int count = climb(mount, node, &chain, &dir);

	if (count < 0)
		return count;
	while (count) {
		struct node *next = chain[--count];
		struct dir *child = NULL;

		if (!error) {
			error = open_in(mount, dir, next, &child);
			dir_unref(dir);
			dir = child;
		}
		node_unref(mount, next);
	}
	free(chain);
	*out = error ? NULL : dir;
	return error;
}
