/*
 * Reading directories. A handle lists the directory once, at its beginning and
 * whenever it is rewound, and counts through that listing: positions are small
 * numbers that stay good while entries come and go.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <utlist.h>

#include "fs/mount/dircache.h"
#include "fs/mount/op.h"
#include "fs/volume/io.h"

struct dir_handle {
	struct dir_handle *prev, *next;
	pthread_mutex_t lock;
	struct dir *dir;
	bool listed;
	bool read; /* the listing was used */
	struct dir_listing listing;
};

static struct dir_handle *dir_handle(const struct fuse_file_info *fi)
{
	return (struct dir_handle *)(uintptr_t)fi->fh;
}

static void free_handle(struct mount *mount, struct dir_handle *handle)
{
	pthread_mutex_lock(&mount->lock);
	DL_DELETE(mount->dir_handles, handle);
	pthread_mutex_unlock(&mount->lock);
	if (handle->listed)
		dir_listing_free(&handle->listing);
	dir_unref(handle->dir);
	pthread_mutex_destroy(&handle->lock);
	free(handle);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct dir_handle *handle = calloc(1, sizeof(*handle));
	int error = -ENOMEM;

	if (handle) {
		pthread_mutex_init(&handle->lock, NULL);
		pthread_mutex_lock(&mount->lock);
		DL_APPEND(mount->dir_handles, handle);
		pthread_mutex_unlock(&mount->lock);
		pthread_rwlock_rdlock(&mount->tree);
		error = dircache_get(mount, op_node(mount, ino), &handle->dir);
		pthread_rwlock_unlock(&mount->tree);
	}
	if (error) {
		if (handle)
			free_handle(mount, handle);
		op_reply(req, error);
		return;
	}
	fi->fh = (uintptr_t)handle;
	if (fuse_reply_open(req, fi) == -ENOENT)
		free_handle(mount, handle);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	free_handle(op_mount(req), dir_handle(fi));
	op_reply(req, 0);
}

void op_close_dirs(struct mount *mount)
{
	while (mount->dir_handles)
		free_handle(mount, mount->dir_handles);
}

void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only,
                 struct fuse_file_info *fi)
{
	int error = io->fsync(dir_fd(dir_handle(fi)->dir)) ? -errno : 0;

	(void)ino;
	(void)data_only;
	/* A store that cannot sync directories has nothing to sync. */
	op_reply(req, error == -EINVAL ? 0 : error);
}

static int list(struct dir_handle *handle, off_t offset)
{
	int error;

	if (handle->listed && (offset || !handle->read))
		return 0;
	if (handle->listed)
		dir_listing_free(&handle->listing);
	handle->read = false;
	error = dir_list(handle->dir, &handle->listing);
	handle->listed = !error;
	return error;
}

/* The inode number of "..", as far as it is known. */
static uint64_t parent_inode(struct mount *mount, struct node *node)
{
	uint64_t inode;

	pthread_mutex_lock(&mount->lock);
	inode = (node->name.parent ? node->name.parent : node)->key.inode;
	pthread_mutex_unlock(&mount->lock);
	return inode;
}

/* One entry of a reply. */
struct item {
	const char *name;
	const char *text; /* NULL for "." and ".." */
	struct stat st;   /* only inode number and type */
};

static bool get_item(struct mount *mount, struct node *node,
                     struct dir_handle *handle, uint64_t index,
                     struct item *item)
{
	const struct dir_item *d;

	memset(item, 0, sizeof(*item));
	if (index < 2) {
		item->name = index ? ".." : ".";
		item->st.st_mode = S_IFDIR;
		item->st.st_ino = index ? parent_inode(mount, node)
		                        : node->key.inode;
		return true;
	}
	if (index - 2 >= handle->listing.count)
		return false;
	d = &handle->listing.items[index - 2];
	item->name = d->plain;
	item->text = d->text;
	item->st.st_ino = d->inode;
	item->st.st_mode = DTTOIF(d->type);
	return true;
}

/* Look an entry up for readdirplus. One that cannot be is still listed, and
 * looked up when somebody wants it. */
static bool know_item(struct mount *mount, struct node *parent,
                      struct dir *dir, const struct item *item,
                      struct known *known)
{
	int error;

	if (!item->text)
		return false;
	pthread_rwlock_rdlock(&mount->tree);
	error = fstatat(dir_fd(dir), item->text, &known->st,
	                AT_SYMLINK_NOFOLLOW) ? -errno : 0;
	if (!error)
		error = op_know(mount, parent, dir, item->text, false, known);
	pthread_rwlock_unlock(&mount->tree);
	if (!error)
		error = op_known(mount, known);
	return !error;
}

static size_t add_plus(fuse_req_t req, struct mount *mount,
                       struct node *parent, struct dir *dir, char *buf,
                       size_t size, const struct item *item, off_t next)
{
	size_t need = fuse_add_direntry_plus(req, NULL, 0, item->name, NULL, 0);
	struct fuse_entry_param entry;
	struct known known;

	if (need > size)
		return need; /* before the kernel's reference is counted */
	if (know_item(mount, parent, dir, item, &known)) {
		op_entry(mount, &known, &entry);
	} else {
		memset(&entry, 0, sizeof(entry));
		entry.attr = item->st;
	}
	return fuse_add_direntry_plus(req, buf, size, item->name, &entry,
	                              next);
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                     struct fuse_file_info *fi, bool plus)
{
	struct mount *mount = op_mount(req);
	struct node *node = op_node(mount, ino);
	struct dir_handle *handle = dir_handle(fi);
	char *buf = malloc(size);
	struct item item;
	size_t used = 0;
	int error = buf ? 0 : -ENOMEM;

	pthread_mutex_lock(&handle->lock);
	if (!error)
		error = list(handle, offset);
	while (!error && get_item(mount, node, handle, (uint64_t)offset,
	                          &item)) {
		size_t n, rest = size - used;

		if (plus)
			n = add_plus(req, mount, node, handle->dir, buf + used,
			             rest, &item, offset + 1);
		else
			n = fuse_add_direntry(req, buf + used, rest, item.name,
			                      &item.st, offset + 1);
		if (n > rest)
			break;
		used += n;
		offset++;
		handle->read = true;
	}
	pthread_mutex_unlock(&handle->lock);
	if (error)
		op_reply(req, error);
	else
		fuse_reply_buf(req, buf, used);
	free(buf);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                struct fuse_file_info *fi)
{
	read_dir(req, ino, size, offset, fi, false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
	read_dir(req, ino, size, offset, fi, true);
}
