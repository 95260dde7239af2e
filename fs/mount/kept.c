#include "fs/mount/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEPT_MAX = 32 };

struct kept {
	atomic_uint count;
	unsigned next; /* where the oldest is, once all are taken */
	struct {
		/* Tell a node from a later one at the same address. */
		const struct node *node; /* NULL: free */
		uint32_t generation;
		int fd;
	} files[KEPT_MAX];
};

/* The place of a node's file, or -1. With mount.lock held. */
static int find(const struct kept *kept, const struct node *node)
{
	if (!kept || atomic_load(&kept->count) == 0)
		return -1;
	for (int i = 0; i < KEPT_MAX; i++)
		if (kept->files[i].node == node
		    && kept->files[i].generation == node->generation)
			return i;
	return -1;
}

/* Make a place free; returns what is to be closed without the lock, as the last
 * descriptor of a big file takes its time, or -1. */
static int take(struct kept *kept, int i)
{
	if (i < 0 || !kept->files[i].node)
		return -1;
	kept->files[i].node = NULL;
	atomic_fetch_sub(&kept->count, 1);
	return kept->files[i].fd;
}

static void put(struct kept *kept, int i, const struct node *node, int fd)
{
	kept->files[i].node = node;
	kept->files[i].generation = node->generation;
	kept->files[i].fd = fd;
	atomic_fetch_add(&kept->count, 1);
}

/* A free place, or the oldest one's. */
static int place_for(struct kept *kept)
{
	int i;

	for (i = 0; i < KEPT_MAX; i++)
		if (!kept->files[i].node)
			return i;
	i = (int)kept->next;
	kept->next = (kept->next + 1) % KEPT_MAX;
	return i;
}

void kept_add(struct mount *mount, const struct node *node, int fd)
{
	int old = fd;

	pthread_mutex_lock(&mount->lock);
	if (!mount->kept)
		mount->kept = calloc(1, sizeof(*mount->kept));
	if (mount->kept) {
		int i = find(mount->kept, node);

		if (i < 0)
			i = place_for(mount->kept);
		old = take(mount->kept, i);
		put(mount->kept, i, node, fd);
	}
	pthread_mutex_unlock(&mount->lock);
	if (old >= 0)
		close(old);
}

int kept_get(struct mount *mount, const struct node *node)
{
	int i, fd = -ESTALE;

	pthread_mutex_lock(&mount->lock);
	i = find(mount->kept, node);
	if (i >= 0) {
		fd = fcntl(mount->kept->files[i].fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
	}
	pthread_mutex_unlock(&mount->lock);
	return fd;
}

void kept_drop(struct mount *mount, const struct node *node)
{
	int fd = -1;

	pthread_mutex_lock(&mount->lock);
	if (mount->kept)
		fd = take(mount->kept, find(mount->kept, node));
	pthread_mutex_unlock(&mount->lock);
	if (fd >= 0)
		close(fd);
}

void kept_free(struct mount *mount)
{
	for (int i = 0; mount->kept && i < KEPT_MAX; i++)
		if (mount->kept->files[i].node)
			close(mount->kept->files[i].fd);
	free(mount->kept);
	mount->kept = NULL;
}
