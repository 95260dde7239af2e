/* Operations on extended attributes. */
#include <stdlib.h>
#include <string.h>
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

/* Of an entry that is not open: by its name, which takes two system calls and
 * not five. `ls -l` asks for one or two of each file. */
static ssize_t get_by_name(struct mount *mount, struct node *node,
                           const char *name, char *buf, size_t size)
{
	char path[FD_PATH_SIZE + NAME_TEXT_MAX + 1];
	struct place place;
	ssize_t result;

	pthread_rwlock_rdlock(&mount->tree);
	result = place_find(mount, node, &place);
	if (!result) {
		place_fd_path(path, dir_fd(place.dir));
		strcat(path, "/");
		strcat(path, place.text);
		result = xattr_get_entry(mount->volume, path, name, buf, size);
		place_done(&place);
	}
	pthread_rwlock_unlock(&mount->tree);
	return result;
}

static ssize_t get(struct mount *mount, struct node *node, const char *name,
                   char *buf, size_t size)
{
	struct access access;
	ssize_t result = -ESTALE;

	if (node->type == S_IFREG && !open_is_open(mount, node))
		result = get_by_name(mount, node, name, buf, size);
	if (result != -ESTALE)
		return result;
	result = begin(mount, node, &access);
	if (!result)
		result = xattr_get(mount->volume, access.path, name, buf, size);
	end(mount, &access);
	return result;
}

void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount *mount = op_mount(req);
	char *buf = size ? malloc(size) : NULL;
	ssize_t result = -ENOMEM;

	if (buf || !size)
		result = get(mount, op_node(mount, ino), name, buf, size);
	/* `ls -l` asks once for each file, until it is told that there is no
	 * such thing here: which is so unless somebody has set it. */
	if (result == -ENODATA && !strcmp(name, "security.selinux"))
		result = -EOPNOTSUPP;
	reply_value(req, result, buf, size);
	free(buf);
}

/* Take the names of trusted.* out of a list; returns what is left of it. */
static ssize_t without_trusted(char *list, ssize_t size)
{
	ssize_t kept = 0, length;

	for (ssize_t i = 0; i < size; i += length) {
		length = (ssize_t)strlen(list + i) + 1;
		if (!strncmp(list + i, "trusted.", 8))
			continue;
		memmove(list + kept, list + i, (size_t)length);
		kept += length;
	}
	return kept;
}

void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount *mount = op_mount(req);
	/* The kernel shows trusted.* to nobody else, but leaves lists to us. */
	bool all = fuse_req_ctx(req)->uid == 0;
	size_t room = all ? size : XATTR_LIST_MAX;
	char *buf = room ? malloc(room) : NULL;
	struct access access;
	ssize_t result = -ENOMEM;

	if (buf || !room) {
		result = begin(mount, op_node(mount, ino), &access);
		if (!result)
			result = xattr_list(mount->volume, access.path, buf,
			                    room);
		end(mount, &access);
	}
	if (!all && result > 0)
		result = without_trusted(buf, result);
	if (size && result > (ssize_t)size)
		result = -ERANGE;
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
	/* Any write to the ciphertext takes capabilities away: do what is left
	 * to do at the end of the user's writing before they are set. */
	if (!error && access.handle && !strcmp(name, "security.capability"))
		error = file_finalize(access.handle->file);
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
