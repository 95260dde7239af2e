/*
 * What the operations share. Each op_* function is the operation of the same
 * name in struct fuse_lowlevel_ops and answers its request exactly once.
 */
#ifndef FS_MOUNT_OP_H
#define FS_MOUNT_OP_H

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fs/mount/mount.h"
#include "fs/mount/node.h"
#include "fs/mount/open.h"
#include "fs/mount/store.h"

static inline struct mount *op_mount(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static inline struct node *op_node(struct mount *mount, fuse_ino_t ino)
{
	if (ino == FUSE_ROOT_ID)
		return mount->root;
	return mount->export ? node_by_id(mount, ino)
	                     : (struct node *)(uintptr_t)ino;
}

static inline fuse_ino_t op_ino(const struct mount *mount,
                                const struct node *node)
{
	return node == mount->root ? FUSE_ROOT_ID : node_id(mount, node);
}

static inline struct handle *op_handle(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

/* With -d: what is asked for. */
#define op_debug(mount, ...)                                             \
	do {                                                             \
		if ((mount)->debug)                                      \
			fprintf(stderr, __VA_ARGS__);                    \
	} while (0)

/* Answer with 0 or a negative errno. Corruption is EIO outside; and ENOSYS
 * would tell the kernel never to ask again, so that is not passed on from the
 * store. */
static inline void op_reply(fuse_req_t req, int error)
{
	if (error == -EBADMSG || error == -EUCLEAN)
		error = -EIO;
	if (error == -ENOSYS)
		error = -EOPNOTSUPP;
	if (error) {
		struct mount *mount = op_mount(req);

		fuse_reply_err(req, -error);
		store_look_after(mount, error);
	} else {
		fuse_reply_err(req, 0);
	}
}

/*
 * An entry that a reply makes known to the kernel, in two steps: op_know is
 * called with mount.tree held and st the lstat of the ciphertext entry `text`
 * in `dir`, the directory of `parent` (`made`: this call made it). op_known
 * follows without that lock; then st is what a user sees. When one of them
 * fails, the kernel knows nothing.
 */
struct known {
	struct stat st;
	struct node *node;
	int size_error; /* of finding the size by name */
};
int op_know(struct mount *mount, struct node *parent, struct dir *dir,
            const char *text, bool made, struct known *known);
int op_known(struct mount *mount, struct known *known);

/* The attributes and the kernel's reference of it, for a reply. */
void op_entry(const struct mount *mount, const struct known *known,
              struct fuse_entry_param *entry);

/*
 * A set-group-id bit does not stay on a file that is changed by somebody
 * outside its group. Where the group may not execute it, the kernel leaves
 * that to us. Returns whether the caller is such a one, and the clearing's
 * error.
 */
bool op_is_outsider(fuse_req_t req, const struct stat *st);
int op_clear_set_gid(int fd);

/* Clear the set-user-id bit of a regular file, and its set-group-id bit where
 * its group may execute it, or for an outsider of it. Returns 1 if there was
 * something to clear, else 0 or an error. */
int op_clear_set_id(int fd, bool outsider);

/* Let the kernel ask for the attributes again. */
void op_forget_attributes(struct mount *mount, const struct node *node);

/* On whose behalf something is made. */
struct dir_caller op_caller(fuse_req_t req);

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count);
void op_forget_multi(fuse_req_t req, size_t count,
                     struct fuse_forget_data *forgets);
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
              mode_t mode, dev_t device);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
                const char *name);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
             const char *name);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
               mode_t mode, struct fuse_file_info *fi);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t from, const char *from_name,
               fuse_ino_t to, const char *to_name, unsigned flags);

void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int which,
                struct fuse_file_info *fi);
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_statfs(fuse_req_t req, fuse_ino_t ino);

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* Free the handles that are still there when the session has ended. */
void op_close_dirs(struct mount *mount);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only,
                 struct fuse_file_info *fi);

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
/* What a new handle means for the kernel's caching. */
void op_opened(struct mount *mount, struct handle *handle,
               struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
             struct fuse_file_info *fi);
void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
              off_t offset, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only,
              struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
                  off_t length, struct fuse_file_info *fi);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
              struct fuse_file_info *fi);

void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
                 const char *value, size_t size, int flags);
void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
