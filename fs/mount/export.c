#include "fs/mount/export.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/format/header.h"
#include "fs/mount/dircache.h"
#include "fs/volume/io.h"

/* Handles of name_to_handle_at(2), as the kernel's file systems make them. */
enum {
	LAYOUT_INO32 = 0x01, /* u32 inode, u32 generation: ext4, f2fs, xfs */
	LAYOUT_XFS64 = 0x81, /* u64 inode, u32 generation */
	LAYOUT_BTRFS = 0x4d, /* u64 inode, u64 subvolume, u32 generation */
	HANDLE_ROOM = 128,
	DEPTH_MAX = 2048,
};

union handle {
	struct file_handle head;
	char room[sizeof(struct file_handle) + HANDLE_ROOM];
};

static int handle_of(int fd, const char *text, union handle *handle)
{
	int mount_id;

	memset(handle, 0, sizeof(*handle));
	handle->head.handle_bytes = HANDLE_ROOM;
	return name_to_handle_at(fd, text, &handle->head, &mount_id,
	                         *text ? 0 : AT_EMPTY_PATH);
}

/* Where the generation stands; 0: not a layout that is known. */
static size_t generation_at(const struct file_handle *handle)
{
	switch (handle->handle_type) {
	case LAYOUT_INO32:
		return handle->handle_bytes == 8 ? 4 : 0;
	case LAYOUT_XFS64:
		return handle->handle_bytes == 12 ? 8 : 0;
	case LAYOUT_BTRFS:
		return handle->handle_bytes == 20 ? 16 : 0;
	default:
		return 0;
	}
}

static uint64_t inode_in(const struct file_handle *handle)
{
	uint64_t wide;
	uint32_t narrow;

	if (handle->handle_type != LAYOUT_INO32) {
		memcpy(&wide, handle->f_handle, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, handle->f_handle, sizeof(narrow));
	return narrow;
}

/* The handle of an inode from that of the root, which is on the same file
 * system. */
static void set_handle(union handle *handle, uint64_t inode,
                       uint32_t generation)
{
	uint32_t narrow = (uint32_t)inode;

	if (handle->head.handle_type == LAYOUT_INO32)
		memcpy(handle->head.f_handle, &narrow, sizeof(narrow));
	else
		memcpy(handle->head.f_handle, &inode, sizeof(inode));
	memcpy(handle->head.f_handle + generation_at(&handle->head),
	       &generation, sizeof(generation));
}

void export_begin(struct mount *mount)
{
	union handle handle;
	struct stat st;

	if (!mount->export)
		return;
	mount->handles = !handle_of(mount->volume->root, "", &handle)
		&& generation_at(&handle.head)
		&& !fstat(mount->volume->root, &st)
		&& inode_in(&handle.head) == (uint64_t)st.st_ino;
	if (!mount->handles)
		volume_log("the store has no file handles of a known kind: an"
		           " export by NFS loses files (ESTALE) that the kernel"
		           " has forgotten");
}

uint32_t export_generation(const struct mount *mount, int fd, const char *text)
{
	union handle handle;
	uint32_t generation;
	size_t at;

	if (!mount->handles || handle_of(fd, text, &handle))
		return 0;
	at = generation_at(&handle.head);
	if (!at)
		return 0;
	memcpy(&generation, handle.head.f_handle + at, sizeof(generation));
	return generation;
}

static int open_number(const struct mount *mount, uint64_t inode,
                       uint32_t generation, int flags)
{
	union handle handle;
	int fd;

	if (!mount->handles || handle_of(mount->volume->root, "", &handle))
		return -ESTALE;
	set_handle(&handle, inode, generation);
	fd = open_by_handle_at(mount->volume->root, &handle.head,
	                       flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	/* Not allowed, or gone; what else may be, such as EMFILE, passes. */
	return errno == EPERM || errno == ENOENT || errno == EINVAL
		? -ESTALE : -errno;
}

int export_open(const struct mount *mount, const struct node *node, int flags)
{
	if (!node->stable || node->detached)
		return -ESTALE;
	return open_number(mount, node->key.inode, node->generation, flags);
}

/* A file is ours where its header opens. */
static int check_file(const struct mount *mount, uint64_t inode,
                      uint32_t generation)
{
	uint8_t raw[HEADER_SIZE];
	struct header header;
	int error = -ESTALE;
	int fd = open_number(mount, inode, generation,
	                     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
	                     | O_NOATIME);

	if (fd < 0)
		return fd;
	if (io_read_full(fd, raw, sizeof(raw), 0) == sizeof(raw)
	    && !header_open(mount->volume->keys->content, &header, raw))
		error = 0;
	close(fd);
	return error;
}

/* The ciphertext name of an inode in a directory. */
static int find_name(struct mount *mount, struct node *parent, uint64_t inode,
                     char text[NAME_TEXT_MAX + 1])
{
	struct dir_listing listing;
	struct dir *dir;
	int error = dircache_get(mount, parent, &dir);

	if (error)
		return error;
	error = dir_list(dir, &listing);
	dir_unref(dir);
	if (error)
		return error;
	error = -ESTALE;
	for (size_t i = 0; error && i < listing.count; i++)
		if (listing.items[i].inode == inode) {
			strcpy(text, listing.items[i].text);
			error = 0;
		}
	dir_listing_free(&listing);
	return error;
}

/* The node of a directory, with a reference of the kernel, and so those of all
 * above it: only what leads up to the root is ours. */
static int name_directory(struct mount *mount, int fd, const struct stat *st,
                          unsigned depth, struct node **out)
{
	char text[NAME_TEXT_MAX + 1];
	struct node *parent;
	struct stat above;
	int up, error;

	if (node_is(mount->root, st)) {
		node_know_again(mount, mount->root);
		*out = mount->root;
		return 0;
	}
	up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return -ESTALE;
	if (fstat(up, &above) || above.st_dev != st->st_dev
	    || above.st_ino == st->st_ino || depth == DEPTH_MAX) {
		close(up);
		return -ESTALE;
	}
	error = name_directory(mount, up, &above, depth + 1, &parent);
	close(up);
	if (error)
		return error;
	error = find_name(mount, parent, st->st_ino, text);
	if (!error)
		error = node_known(mount, parent, text, st,
		                   export_generation(mount, fd, ""), out);
	node_forget(mount, parent, 1);
	return error;
}

static int find_by_number(struct mount *mount, uint64_t inode,
                          uint32_t generation, struct node **out)
{
	int fd = open_number(mount, inode, generation, O_PATH | O_NOFOLLOW);
	struct stat st;
	int error;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		error = -errno;
	} else if (S_ISDIR(st.st_mode)) {
		pthread_rwlock_rdlock(&mount->tree);
		error = name_directory(mount, fd, &st, 0, out);
		pthread_rwlock_unlock(&mount->tree);
	} else if (S_ISREG(st.st_mode)) {
		error = check_file(mount, inode, generation);
		if (!error)
			error = node_known(mount, NULL, NULL, &st, generation,
			                   out);
	} else {
		error = -ESTALE;
	}
	close(fd);
	return error;
}

int export_find(struct mount *mount, uint64_t id, struct node **out)
{
	uint32_t generation;
	uint64_t inode;
	int error;

	if (node_lookup_id(mount, id, out))
		return 0;
	if (!node_id_parts(id, &inode, &generation))
		return -ESTALE;
	/* A number holds all of a generation but the topmost bit. */
	error = find_by_number(mount, inode, generation, out);
	if (error == -ESTALE)
		error = find_by_number(mount, inode, generation | 1u << 31,
		                       out);
	if (!error && node_id(mount, *out) != id) {
		node_forget(mount, *out, 1);
		error = -ESTALE;
	}
	return error;
}

int export_parent(struct mount *mount, struct node *node, struct node **out)
{
	char text[NAME_TEXT_MAX + 1];
	struct node *parent;

	if (node == mount->root || !node_name_at(mount, node, 0, &parent, text))
		return -ESTALE;
	node_know_again(mount, parent);
	node_unref(mount, parent);
	*out = parent;
	return 0;
}
