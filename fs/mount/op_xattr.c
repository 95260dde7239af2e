/* Operations on extended attributes. */
#include <stdlib.h>
#include <unistd.h>

#include "fs/mount/dircache.h"
#include "fs/mount/op.h"
#include "fs/mount/place.h"
#include "fs/volume/xattr.h"

/* A path in /proc of a node, by whatever is open on it or by O_PATH. */
struct access {
	struct handle *handle;
	struct dir *dir;
	int fd;
	char path[FD_PATH_SIZE];
};

static int begin(struct mount *mount, struct node *node, struct access *access)
{
	int fd;

	memset(access, 0, sizeof(*access));
	access->fd = -1;
	if (node->type == S_IFREG)
		access->handle = open_if_open(mount, node);
	else if (node->type == S_IFDIR)
		access->dir = dircache_peek(mount, node);
	if (access->handle)
		fd = file_fd(access->handle->file);
	else if (access->dir)
		fd = dir_fd(access->dir);
	else
		fd = access->fd = place_open_path(mount, node);
	if (fd < 0)
		return fd;
	place_fd_path(access->path, fd);
	return 0;
}

static void end(struct mount *mount, struct access *access)
{
	if (access->handle)
		open_close(mount, access->handle);
	dir_unref(access->dir);
	if (access->fd >= 0)
		close(access->fd);
}

/* Answer with a size, or with so many bytes of buf. */
static void reply_value(fuse_req_t req, ssize_t result, const char *buf,
                        size_t size)
{
	if (result < 0)
		op_reply(req, (int)result);
	else if (size == 0)
		fuse_reply_xattr(req, (size_t)result);
	else
		fuse_reply_buf(req, buf, (size_t)result);
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount *mount = op_mount(req);
	char *buf = size ? malloc(size) : NULL;
	struct access access;
	ssize_t result = -ENOMEM;

	if (buf || !size) {
		result = begin(mount, op_node(mount, ino), &access);
		if (!result)
			result = xattr_get(mount->volume, access.path, name,
			                   buf, size);
		end(mount, &access);
	}
	reply_value(req, result, buf, size);
	free(buf);
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount *mount = op_mount(req);
	char *buf = size ? malloc(size) : NULL;
	struct access access;
	ssize_t result = -ENOMEM;

	if (buf || !size) {
		result = begin(mount, op_node(mount, ino), &access);
		if (!result)
			result = xattr_list(mount->volume, access.path, buf,
			                    size);
		end(mount, &access);
	}
	reply_value(req, result, buf, size);
	free(buf);
}

/* As with chmod. (A newer libfuse would tell us when, by FUSE_SETXATTR_EXT.) */
static int after_acl(fuse_req_t req, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!op_is_outsider(req, &st))
		return 0;
	return chmod(path, st.st_mode & 07777 & ~(mode_t)S_ISGID) ? -errno : 0;
}

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
                 const char *value, size_t size, int flags)
{
	struct mount *mount = op_mount(req);
	struct access access;
	int error;

	if (mount->volume->read_only) {
		op_reply(req, -EROFS);
		return;
	}
	error = begin(mount, op_node(mount, ino), &access);
	if (!error)
		error = xattr_set(mount->volume, access.path, name, value,
		                  size, flags);
	if (!error && !strcmp(name, "system.posix_acl_access"))
		error = after_acl(req, access.path);
	end(mount, &access);
	op_reply(req, error);
}

void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct mount *mount = op_mount(req);
	struct access access;
	int error;

	if (mount->volume->read_only) {
		op_reply(req, -EROFS);
		return;
	}
	error = begin(mount, op_node(mount, ino), &access);
	if (!error)
		error = xattr_remove(mount->volume, access.path, name);
	end(mount, &access);
	op_reply(req, error);
}
