/* Operations on the content of files. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/mount/op.h"
#include "fs/mount/request.h"
#include "fs/volume/scratch.h"

static bool is_damaged(struct handle *handle)
{
	return handle->node->damaged || file_damaged(handle->file);
}

/*
 * The kernel reads whole pages for its cache, and takes a short answer for the
 * end of the file. So a damaged file is not cached: then the kernel asks for
 * exactly what a program reads, also past the length that it believes in, and
 * gets the good bytes up to a bad sector.
 */
void op_opened(struct mount *mount, struct handle *handle,
               struct fuse_file_info *fi)
{
	bool damaged = is_damaged(handle);

	handle->partial = damaged || mount->direct_io
	                  || (fi->flags & O_DIRECT);
	fi->direct_io = damaged || mount->direct_io;
	/* Dropped where mtime or size change, when the kernel asks for these
	 * again; until then it might read half of one version from its cache,
	 * and half of the next one from us. */
	fi->keep_cache = !fi->direct_io && !handle->is_news;
	if (handle->is_news)
		op_forget_attributes(mount, handle->node);
	fi->noflush = !handle->writes;
	fi->fh = (uintptr_t)handle;
}

/* After a change: its caller may be one who does not leave these bits. Returns
 * 1 if there was something to clear, else 0 or an error. */
static int clear_set_id(fuse_req_t req, struct handle *handle)
{
	int fd = file_fd(handle->file);
	struct stat st;

	if (!request_clears_set_id(req))
		return 0;
	if (fstat(fd, &st))
		return -errno;
	if (!(st.st_mode & (S_ISUID | S_ISGID)))
		return 0;
	return op_clear_set_id(fd, op_is_outsider(req, &st));
}

static void changed_by(fuse_req_t req, struct handle *handle)
{
	if (clear_set_id(req, handle) > 0)
		/* After a direct write the kernel would believe the old mode
		 * for a while. */
		op_forget_attributes(op_mount(req), handle->node);
}

static int empty(fuse_req_t req, struct handle *handle)
{
	int error = file_truncate(handle->file, 0);

	if (!error)
		error = clear_set_id(req, handle);
	if (error > 0)
		error = 0;
	if (!error)
		handle->node->damaged = false;
	return error;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct node *node = op_node(mount, ino);
	int access = fi->flags & O_ACCMODE;
	struct handle *handle;
	int error;

	if (access == O_ACCMODE)
		access = O_RDWR;
	if ((fi->flags & O_TRUNC) && access == O_RDONLY)
		access = O_RDWR;
	error = open_node(mount, node, access, &handle);
	if (!error && (fi->flags & O_TRUNC)) {
		error = empty(req, handle);
		if (error)
			open_close(mount, handle);
	}
	if (error) {
		op_reply(req, error);
		return;
	}
	op_opened(mount, handle, fi);
	if (fuse_reply_open(req, fi) == -ENOENT)
		open_close(mount, handle);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
             struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct handle *handle = op_handle(fi);
	uint8_t *buf = scratch_get(SCRATCH_REPLY, size);
	/* Only a program's own read has an owner. Where the kernel fills a page
	 * (of a mapping, also with direct_io) it would put zeros behind a short
	 * answer. */
	unsigned how = handle->partial && fi->lock_owner ? FILE_PARTIAL : 0;
	ssize_t n = -ENOMEM;
	unsigned versions;

	(void)ino;
	if (fi->flags & O_NOATIME)
		how |= FILE_QUIET;
	if (buf)
		n = file_read(handle->file, buf, size, (uint64_t)offset, how);
	if (n == -EBADMSG)
		open_log_damage(mount, handle, (uint64_t)offset);
	/* Another version is here than the kernel has pages of, which it drops
	 * when it asks for the attributes before the next read. */
	versions = file_versions(handle->file);
	if (atomic_load(&handle->versions) != versions) {
		atomic_store(&handle->versions, versions);
		op_forget_attributes(mount, handle->node);
	}
	if (n < 0)
		op_reply(req, (int)n);
	else
		fuse_reply_buf(req, (const char *)buf, (size_t)n);
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
              off_t offset, struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct handle *handle = op_handle(fi);
	ssize_t n;

	(void)ino;
	if (mount->writeback && fi->writepage)
		open_keep_time(handle);
	n = file_write(handle->file, buf, size, (uint64_t)offset);
	if (n == -EBADMSG)
		open_log_damage(mount, handle, (uint64_t)offset);
	if (n < 0) {
		op_reply(req, (int)n);
		return;
	}
	/* Writing to a mapping changes no mode, on other filesystems too. */
	if (!fi->writepage)
		changed_by(req, handle);
	/* Perhaps this mended it; if not, reading tells. */
	if (handle->node->damaged)
		handle->node->damaged = false;
	fuse_reply_write(req, (size_t)n);
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *handle = op_handle(fi);
	int error = handle->writes ? file_finalize(handle->file) : 0;

	(void)ino;
	if (op_mount(req)->writeback)
		open_restore_time(handle);
	op_reply(req, error);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	op_reply(req, open_close(op_mount(req), op_handle(fi)));
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only,
              struct fuse_file_info *fi)
{
	struct handle *handle = op_handle(fi);

	(void)ino;
	if (op_mount(req)->writeback) {
		file_finalize(handle->file); /* which open_sync repeats */
		open_restore_time(handle);
	}
	op_reply(req, open_sync(handle, data_only));
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
                  off_t length, struct fuse_file_info *fi)
{
	struct handle *handle = op_handle(fi);
	int error = file_allocate(handle->file, mode, (uint64_t)offset,
	                          (uint64_t)length);

	(void)ino;
	if (!error)
		changed_by(req, handle);
	op_reply(req, error);
}

void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
              struct fuse_file_info *fi)
{
	int64_t position;

	(void)ino;
	/* What the kernel has collected is not here yet: it shall take the
	 * file for one without holes, and not ask again. */
	if (op_mount(req)->writeback) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
	position = file_seek(op_handle(fi)->file, (uint64_t)offset, whence);
	if (position < 0)
		op_reply(req, (int)position);
	else
		fuse_reply_lseek(req, position);
}
