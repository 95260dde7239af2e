/* The content of files of both kinds of trees. */
#include "tools/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/volume/file.h"
#include "fs/volume/io.h"
#include "fs/volume/walk.h"

/* A mount may be writing the sector that does not open, or the store be slow to
 * bring it: so it is read this often, with a pause. */
enum { READ_TRIES = 3, READ_PAUSE_MS = 20 };

int content_open(const struct folder *f, const char *text, struct content *out)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat st;
	int error;

	*out = (struct content){ .volume = f->volume, .fd = -1 };
	if (f->volume) {
		error = walk_open(f->volume, f->dir, text, O_RDONLY, &out->file);
		if (!error)
			out->fd = file_fd(out->file);
		return error;
	}
	out->fd = openat(f->fd, text, flags | O_NOATIME);
	if (out->fd < 0 && errno == EPERM)
		out->fd = openat(f->fd, text, flags);
	if (out->fd < 0)
		return -errno;
	if (!fstat(out->fd, &st) && S_ISREG(st.st_mode))
		return 0;
	content_close(out);
	return -ENXIO;
}

int content_stat(struct content *c, struct stat *st)
{
	if (c->file)
		return file_stat(c->file, st);
	return fstat(c->fd, st) ? -errno : 0;
}

ssize_t content_read(struct content *c, void *buf, size_t size,
                     uint64_t position)
{
	const struct timespec pause = { 0, READ_PAUSE_MS * 1000000L };
	unsigned how = FILE_QUIET | (c->partial ? FILE_PARTIAL : 0);
	ssize_t n;

	if (!c->file)
		return io_read_full(c->fd, buf, size, (off_t)position);
	n = file_read(c->file, buf, size, position, how);
	for (int i = 1; n == -EBADMSG && i < READ_TRIES; i++) {
		nanosleep(&pause, NULL);
		file_refresh(c->file);
		n = file_read(c->file, buf, size, position, how);
	}
	return n;
}

int64_t content_seek(struct content *c, uint64_t position, int whence)
{
	struct stat st;
	off_t to;

	if (c->file)
		return file_seek(c->file, position, whence);
	to = lseek(c->fd, (off_t)position, whence);
	if (to >= 0 || errno == ENXIO)
		return to >= 0 ? to : -ENXIO;
	if (fstat(c->fd, &st))
		return -errno;
	if (position >= (uint64_t)st.st_size)
		return -ENXIO;
	return whence == SEEK_DATA ? (int64_t)position : st.st_size;
}

void content_close(struct content *c)
{
	if (c->file)
		file_close(c->file);
	else if (c->fd >= 0)
		close(c->fd);
	c->file = NULL;
	c->fd = -1;
}

/* ---- making ---- */

static int make_unnamed(const struct folder *f, const struct dir_caller *caller,
                        int *fd)
{
	if (f->volume)
		return dir_create_unnamed(f->dir, 0600, false, caller, fd);
	*fd = openat(f->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return *fd < 0 ? -errno : 0;
}

static int make_named(const struct folder *f, const char *name,
                      const struct dir_caller *caller, int *fd)
{
	if (f->volume)
		return dir_create(f->dir, name, 0600, caller, NULL, fd);
	*fd = openat(f->fd, name,
	             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *fd < 0 ? -errno : 0;
}

/* Files without names were made, but could not be given one: Android forbids
 * hard links to programs, and some stores have none. */
static bool only_named;

int content_create(const struct folder *f, const char *name,
                   const struct tree_owner *owner, struct content *out)
{
	const struct dir_caller caller = {
		.uid = owner ? owner->uid : geteuid(),
		.gid = owner ? owner->gid : getegid(),
	};
	uint8_t id[ID_SIZE];
	int fd, error;

	*out = (struct content){ .volume = f->volume, .fd = -1 };
	error = only_named ? -EOPNOTSUPP : make_unnamed(f, &caller, &fd);
	if (error == -EOPNOTSUPP || error == -EISDIR || error == -EINVAL ||
	    error == -ENOENT) {
		tree_part_name(out->part, name);
		tree_unlink(f, out->part);
		error = make_named(f, out->part, &caller, &fd);
	}
	if (error) {
		out->part[0] = '\0';
		return error;
	}
	out->fd = fd;
	if (!f->volume)
		return 0;
	dir_id(f->dir, id);
	error = file_open(&out->file, f->volume, fd, O_RDWR, id);
	if (error) {
		out->file = NULL;
		out->fd = -1;
		content_discard(f, out);
	}
	return error;
}

int content_write(struct content *c, const void *buf, size_t size,
                  uint64_t position)
{
	size_t done = 0;

	if (!c->file)
		return io_write_full(c->fd, buf, size, (off_t)position, NULL);
	while (done < size) {
		ssize_t n = file_write(c->file, (const char *)buf + done,
		                       size - done, position + done);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

int content_finish(struct content *c, uint64_t size)
{
	int error;

	if (!c->file)
		return ftruncate(c->fd, (off_t)size) ? -errno : 0;
	error = file_size(c->file) == size ? 0 : file_truncate(c->file, size);
	return error ? error : file_finalize(c->file);
}

static int link_fd(const struct folder *f, int fd, const char *name)
{
	char path[32];

	if (f->volume)
		return dir_link_fd(fd, f->dir, name, NULL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, f->fd, name, AT_SYMLINK_FOLLOW) ? -errno
	                                                              : 0;
}

int content_commit(const struct folder *f, const char *name, struct content *c)
{
	int error = -EEXIST, closed;

	if (!c->part[0])
		error = link_fd(f, c->fd, name);
	if (tree_no_links(error) || error == -ENOENT) {
		error = only_named ? error : -EAGAIN;
		only_named = true;
	}
	if (error == -EEXIST) {
		error = 0;
		if (!c->part[0]) {
			char part[TREE_PART];

			tree_part_name(part, name);
			tree_unlink(f, part);
			error = link_fd(f, c->fd, part);
		}
		if (!error)
			error = tree_replace(f, name);
	}
	if (error) {
		content_discard(f, c);
		return error;
	}
	/* Some stores tell only now that there was no room. */
	if (c->file)
		closed = file_close(c->file);
	else
		closed = close(c->fd) ? -errno : 0;
	c->file = NULL;
	c->fd = -1;
	return closed;
}

void content_discard(const struct folder *f, struct content *c)
{
	content_close(c);
	if (c->part[0])
		tree_unlink(f, c->part);
}
