/* What all operations do that tell the kernel of an entry. */
#include "fs/mount/export.h"
#include "fs/mount/op.h"
#include "fs/mount/place.h"

int op_know(struct mount *mount, struct node *parent, struct dir *dir,
            const char *text, bool made, struct known *known)
{
	uint32_t generation = export_generation(mount, dir_fd(dir), text);
	int error = (made ? node_made : node_known)(mount, parent, text,
	                                            &known->st, generation,
	                                            &known->node);

	if (!error)
		known->size_error = dir_plain_stat(dir, text, &known->st);
	return error;
}

int op_known(struct mount *mount, struct known *known)
{
	/* An open file knows more than its ciphertext's length tells. */
	int error = open_stat(mount, known->node, &known->st);

	if (error == -ENOENT)
		error = known->size_error;
	if (error)
		node_forget(mount, known->node, 1);
	return error;
}

void op_entry(const struct mount *mount, const struct known *known,
              struct fuse_entry_param *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->ino = op_ino(mount, known->node);
	entry->generation = known->node->generation;
	entry->attr = known->st;
	entry->attr_timeout = mount->attr_timeout;
	entry->entry_timeout = mount->entry_timeout;
}

bool op_is_outsider(fuse_req_t req, const struct stat *st)
{
	const struct fuse_ctx *context = fuse_req_ctx(req);
	gid_t groups[256];
	int count;

	if (!(st->st_mode & S_ISGID) || context->uid == 0
	    || st->st_gid == context->gid)
		return false;
	count = fuse_req_getgroups(req, 256, groups);
	for (int i = 0; i < count && i < 256; i++)
		if (groups[i] == st->st_gid)
			return false;
	return true;
}

int op_clear_set_gid(int fd)
{
	char path[FD_PATH_SIZE];
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!(st.st_mode & S_ISGID))
		return 0;
	place_fd_path(path, fd); /* it may be one of O_PATH */
	return chmod(path, st.st_mode & 07777 & ~(mode_t)S_ISGID) ? -errno : 0;
}

int op_clear_set_id(int fd, bool outsider)
{
	char path[FD_PATH_SIZE];
	mode_t bits = S_ISUID;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_mode & S_IXGRP) || outsider)
		bits |= S_ISGID;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & bits))
		return 0;
	place_fd_path(path, fd); /* it may be one of O_PATH */
	return chmod(path, st.st_mode & 07777 & ~bits) ? -errno : 1;
}

void op_forget_attributes(struct mount *mount, const struct node *node)
{
	fuse_lowlevel_notify_inval_inode(mount->fuse, op_ino(mount, node), -1,
	                                 0);
}

struct dir_caller op_caller(fuse_req_t req)
{
	const struct fuse_ctx *context = fuse_req_ctx(req);
	struct dir_caller caller = {
		context->uid, context->gid, context->umask
	};

	return caller;
}
