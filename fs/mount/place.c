#include "fs/mount/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/mount/dircache.h"
#include "fs/mount/export.h"
#include "fs/mount/kept.h"
#include "fs/mount/open.h"

static bool is_gone(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ESTALE;
}

/* Look whether `text` in the directory of `parent` is the node. */
static int look(struct mount *mount, struct node *node, struct node *parent,
                struct place *place)
{
	int error = dircache_get(mount, parent, &place->dir);

	if (error)
		return error;
	if (fstatat(dir_fd(place->dir), place->text, &place->st,
	            AT_SYMLINK_NOFOLLOW))
		error = -errno;
	else if (!node_is(node, &place->st))
		error = -ESTALE;
	if (error)
		dir_unref(place->dir);
	return error;
}

int place_find(struct mount *mount, struct node *node, struct place *place)
{
	unsigned index = 0;
	int first = -ESTALE;
	struct node *parent;

	while (node_name_at(mount, node, index, &parent, place->text)) {
		int error = look(mount, node, parent, place);

		if (is_gone(error)) {
			node_remove_name(mount, node, parent, place->text,
			                 false);
		} else if (error) {
			if (first == -ESTALE)
				first = error;
			index++;
		}
		node_unref(mount, parent);
		if (!error)
			return 0;
	}
	return first;
}

void place_done(struct place *place)
{
	dir_unref(place->dir);
	place->dir = NULL;
}

void place_fd_path(char path[FD_PATH_SIZE], int fd)
{
	snprintf(path, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

/* A directory that was removed while somebody uses it, or a file that was
 * replaced. */
static int open_removed(struct mount *mount, struct node *node)
{
	struct dir *dir = dircache_peek(mount, node);
	int fd;

	if (!dir)
		return kept_get(mount, node);
	fd = openat(dir_fd(dir), ".", O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	dir_unref(dir);
	return fd;
}

int place_open_path(struct mount *mount, struct node *node)
{
	struct place place;
	struct stat st;
	int fd;

	if (node == mount->root)
		return open_removed(mount, node);
	pthread_rwlock_rdlock(&mount->tree);
	fd = place_find(mount, node, &place);
	if (!fd) {
		fd = openat(dir_fd(place.dir), place.text,
		            O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			fd = is_gone(-errno) ? -ESTALE : -errno;
		place_done(&place);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (fd == -ESTALE && mount->export)
		fd = export_open(mount, node, O_PATH | O_NOFOLLOW);
	if (fd == -ESTALE)
		return open_removed(mount, node);
	if (fd >= 0 && (fstat(fd, &st) || !node_is(node, &st))) {
		close(fd);
		fd = -ESTALE;
	}
	return fd;
}

static int stat_dir(struct mount *mount, struct node *node, struct stat *st)
{
	struct dir *dir = dircache_peek(mount, node);
	int error = -ESTALE;

	if (dir)
		error = fstat(dir_fd(dir), st) ? -errno : 0;
	dir_unref(dir);
	return error;
}

/* A file that was found by number and whose name is not known. */
static int stat_nameless(struct mount *mount, struct node *node,
                         struct stat *st)
{
	struct handle *handle;
	int error = open_node(mount, node, O_RDONLY, &handle);

	if (error)
		return error;
	error = file_stat(handle->file, st);
	open_close(mount, handle);
	return error;
}

int place_stat(struct mount *mount, struct node *node, struct stat *st)
{
	struct place place;
	int error;

	if (node == mount->root)
		return stat_dir(mount, node, st);
	error = open_stat(mount, node, st);
	if (error != -ENOENT)
		return error;
	pthread_rwlock_rdlock(&mount->tree);
	error = place_find(mount, node, &place);
	if (!error) {
		*st = place.st;
		error = dir_plain_stat(place.dir, place.text, st);
		place_done(&place);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (error == -ESTALE && node->type == S_IFDIR)
		error = stat_dir(mount, node, st);
	else if (error == -ESTALE && node->stable && node->type == S_IFREG)
		error = stat_nameless(mount, node, st);
	return error;
}
