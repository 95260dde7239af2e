/* Operations on attributes. */
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/mount/op.h"
#include "fs/mount/place.h"
#include "fs/mount/request.h"
#include "fs/volume/io.h"

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct stat st;
	int error = place_stat(mount, op_node(mount, ino), &st);

	(void)fi; /* an open file is found by the node */
	if (error)
		op_reply(req, error);
	else
		fuse_reply_attr(req, &st, mount->attr_timeout);
}

static int truncate_to(struct handle *handle, off_t size)
{
	int error = size < 0 ? -EINVAL
	                     : file_truncate(handle->file, (uint64_t)size);

	if (!error)
		handle->node->damaged = false;
	return error;
}

static void wanted_times(const struct stat *attr, int which,
                         struct timespec times[2])
{
	times[0] = attr->st_atim;
	times[1] = attr->st_mtim;
	if (which & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	else if (!(which & FUSE_SET_ATTR_ATIME))
		times[0].tv_nsec = UTIME_OMIT;
	if (which & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	else if (!(which & FUSE_SET_ATTR_MTIME))
		times[1].tv_nsec = UTIME_OMIT;
}

enum {
	SET_TIMES = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME
	            | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW,
};

/* By a descriptor of the inode: of the open file, or one by O_PATH, which only
 * chmod and utimensat on its path in /proc accept. The owner comes first, as
 * changing it clears set-user-id bits, and the times last. */
static int set_attributes(struct handle *handle, int fd,
                          const struct stat *attr, int which)
{
	struct timespec times[2];
	char path[FD_PATH_SIZE];
	int error = 0;

	place_fd_path(path, fd);
	if (which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
		uid_t uid = which & FUSE_SET_ATTR_UID ? attr->st_uid
		                                      : (uid_t)-1;
		gid_t gid = which & FUSE_SET_ATTR_GID ? attr->st_gid
		                                      : (gid_t)-1;

		if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH))
			return -errno;
	}
	if (which & FUSE_SET_ATTR_MODE) {
		mode_t mode = attr->st_mode & 07777;

		if (handle ? fchmod(fd, mode) : chmod(path, mode))
			return -errno;
	}
	if (which & FUSE_SET_ATTR_SIZE)
		error = truncate_to(handle, attr->st_size);
	if (!error && (which & SET_TIMES)) {
		wanted_times(attr, which, times);
		if (handle ? io->futimens(fd, times)
		           : utimensat(AT_FDCWD, path, times, 0))
			error = -errno;
		else if (handle)
			open_note_time(handle);
	}
	return error;
}

/* What a change of owner clears besides set-user-id, which goes with it. */
static bool loses_set_gid(fuse_req_t req, const struct stat *st)
{
	return (st->st_mode & S_ISGID)
	       && ((st->st_mode & S_IXGRP) || op_is_outsider(req, st));
}

/*
 * A change of nothing: chown(-1, -1), which is for the owner if there are bits to
 * clear, and tells of itself by the change time; or what the kernel sends before
 * a write or an allocation by one who has the file open for that. While somebody
 * has it open for writing, they can be told apart only where the kernel keeps
 * times itself (writeback: `timed`); otherwise the latter is meant.
 */
static int change_nothing(fuse_req_t req, struct node *node, int fd, bool timed)
{
	uid_t uid = fuse_req_ctx(req)->uid;
	struct stat st;
	bool clears;
	int error;

	if (fstat(fd, &st))
		return -errno;
	clears = !S_ISDIR(st.st_mode)
	         && ((st.st_mode & S_ISUID) || loses_set_gid(req, &st));
	if (clears && !timed && S_ISREG(st.st_mode)
	    && open_for_writing(op_mount(req), node)) {
		error = uid ? op_clear_set_id(fd, op_is_outsider(req, &st)) : 0;
		return error > 0 ? 0 : error;
	}
	if (clears && uid != 0 && uid != st.st_uid)
		return -EPERM;
	if (fchownat(fd, "", (uid_t)-1, (gid_t)-1, AT_EMPTY_PATH))
		return -errno;
	return clears && loses_set_gid(req, &st) ? op_clear_set_gid(fd) : 0;
}

/* What was asked for, with what the caller's lacking rights make of it. */
static int apply(fuse_req_t req, struct node *node, struct handle *handle,
                 int fd, const struct stat *attr, int which)
{
	bool loses = false;
	struct stat st;
	int error;

	if (!(which & ~FUSE_SET_ATTR_CTIME))
		return change_nothing(req, node, fd, which != 0);
	if ((which & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
	    && node->type != S_IFDIR) {
		if (fstat(fd, &st))
			return -errno;
		loses = loses_set_gid(req, &st);
	}
	error = set_attributes(handle, fd, attr, which);
	if (!error && loses)
		error = op_clear_set_gid(fd);
	if (error || !(which & FUSE_SET_ATTR_SIZE) || fstat(fd, &st))
		return error;
	if (request_set_id_is_ours() && request_clears_set_id(req))
		error = op_clear_set_id(fd, op_is_outsider(req, &st));
	else if (op_is_outsider(req, &st))
		error = op_clear_set_gid(fd);
	return error > 0 ? 0 : error;
}

static int change(fuse_req_t req, struct mount *mount, struct node *node,
                  const struct stat *attr, int which)
{
	struct handle *handle = NULL;
	int error, end, fd;

	if (mount->volume->read_only)
		return -EROFS;
	if (which & FUSE_SET_ATTR_SIZE) {
		if (node->type != S_IFREG)
			return node->type == S_IFDIR ? -EISDIR : -EINVAL;
		error = open_node(mount, node, O_WRONLY, &handle);
		if (error)
			return error;
	} else {
		handle = open_if_open(mount, node);
	}
	if (handle) {
		fd = file_fd(handle->file);
		error = apply(req, node, handle, fd, attr, which);
		end = open_close(mount, handle);
		return error ? error : end;
	}
	fd = place_open_path(mount, node);
	if (fd < 0)
		return fd;
	error = apply(req, node, NULL, fd, attr, which);
	close(fd);
	return error;
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
                struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct node *node = op_node(mount, ino);
	struct stat st;
	int error = change(req, mount, node, attr, which);

	(void)fi;
	if (!error)
		error = place_stat(mount, node, &st);
	if (error)
		op_reply(req, error);
	else
		fuse_reply_attr(req, &st, mount->attr_timeout);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *mount = op_mount(req);
	struct place place;
	char target[4096];
	int length;

	pthread_rwlock_rdlock(&mount->tree);
	length = place_find(mount, op_node(mount, ino), &place);
	if (!length) {
		length = dir_readlink(place.dir, place.text, target);
		place_done(&place);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (length < 0)
		op_reply(req, length);
	else
		fuse_reply_readlink(req, target);
}

void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *mount = op_mount(req);
	struct statvfs st;

	(void)ino;
	if (fstatvfs(mount->volume->root, &st)) {
		op_reply(req, -errno);
		return;
	}
	st.f_namemax = NAME_PLAIN_MAX;
	fuse_reply_statfs(req, &st);
}
