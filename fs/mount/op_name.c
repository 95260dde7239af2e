/* Operations on names: finding, making, removing, moving. */
#include <fcntl.h>
#include <unistd.h>

#include "fs/mount/dircache.h"
#include "fs/mount/export.h"
#include "fs/mount/kept.h"
#include "fs/mount/op.h"
#include "fs/mount/place.h"

static void reply_known(fuse_req_t req, struct mount *mount,
                        struct known *known)
{
	struct fuse_entry_param entry;

	op_entry(mount, known, &entry);
	if (fuse_reply_entry(req, &entry) == -ENOENT)
		node_forget(mount, known->node, 1); /* was interrupted */
}

static int find(struct mount *mount, struct node *parent, const char *name,
                struct known *known)
{
	struct dir_entry entry;
	struct dir *dir;
	int error;

	pthread_rwlock_rdlock(&mount->tree);
	error = dircache_get(mount, parent, &dir);
	if (!error) {
		error = dir_find(dir, name, &entry, &known->st);
		if (!error)
			error = op_know(mount, parent, dir, entry.text, false,
			                known);
		dir_unref(dir);
	}
	pthread_rwlock_unlock(&mount->tree);
	return error ? error : op_known(mount, known);
}

/* A node by its number, or a directory's parent: for an export. */
static int find_exported(struct mount *mount, fuse_ino_t ino, bool above,
                         struct known *known)
{
	int error = above ? export_parent(mount, op_node(mount, ino),
	                                  &known->node)
	                  : export_find(mount, ino, &known->node);

	if (error)
		return error;
	error = place_stat(mount, known->node, &known->st);
	if (error)
		node_forget(mount, known->node, 1);
	return error;
}

void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *mount = op_mount(req);
	struct known known;
	int error;

	if (mount->export && (!strcmp(name, ".") || !strcmp(name, "..")))
		error = find_exported(mount, parent, name[1], &known);
	else
		error = find(mount, op_node(mount, parent), name, &known);
	op_debug(mount, "lookup \"%s\": %d\n", name, error);
	if (error == -ENOENT) {
		struct fuse_entry_param none = {
			.entry_timeout = mount->entry_timeout
		};

		fuse_reply_entry(req, &none);
	} else if (error) {
		op_reply(req, error);
	} else {
		reply_known(req, mount, &known);
	}
}

void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct mount *mount = op_mount(req);

	if (ino != FUSE_ROOT_ID) {
		kept_drop(mount, op_node(mount, ino));
		node_forget(mount, op_node(mount, ino), count);
	}
	fuse_reply_none(req);
}

void op_forget_multi(fuse_req_t req, size_t count,
                     struct fuse_forget_data *forgets)
{
	struct mount *mount = op_mount(req);

	for (size_t i = 0; i < count; i++)
		if (forgets[i].ino != FUSE_ROOT_ID) {
			kept_drop(mount, op_node(mount, forgets[i].ino));
			node_forget(mount, op_node(mount, forgets[i].ino),
			            forgets[i].nlookup);
		}
	fuse_reply_none(req);
}

/* What is to be made. */
struct making {
	mode_t mode;
	dev_t device;
	const char *target; /* of a symbolic link, else NULL */
	struct dir_caller caller;
	bool never_named;   /* O_TMPFILE | O_EXCL */
};

/* An empty regular file, with its header. Made with a descriptor, as its mode
 * may forbid to open it. */
static int make_file(struct mount *mount, struct dir *dir, const char *name,
                     const struct making *what, struct dir_entry *entry)
{
	uint8_t id[ID_SIZE];
	struct file *file;
	int fd, error;

	error = dir_create(dir, name, what->mode, &what->caller, entry, &fd);
	if (error)
		return error;
	dir_id(dir, id);
	error = file_open(&file, mount->volume, fd, O_RDWR, id);
	if (!error)
		error = file_close(file);
	if (error)
		dir_unlink(dir, name);
	return error;
}

static int make_in(struct mount *mount, struct dir *dir, const char *name,
                   const struct making *what, struct dir_entry *entry)
{
	if (what->target)
		return dir_symlink(dir, name, what->target, &what->caller,
		                   entry);
	switch (what->mode & S_IFMT) {
	case S_IFDIR:
		return dir_mkdir(dir, name, what->mode & ~(mode_t)S_IFMT,
		                 &what->caller, entry);
	case S_IFREG:
		return make_file(mount, dir, name, what, entry);
	default:
		return dir_mknod(dir, name, what->mode, what->device,
		                 &what->caller, entry);
	}
}

static void make(fuse_req_t req, fuse_ino_t ino, const char *name,
                 const struct making *what)
{
	struct mount *mount = op_mount(req);
	struct node *parent = op_node(mount, ino);
	struct dir_entry entry;
	struct known known;
	struct dir *dir;
	int error;

	pthread_rwlock_rdlock(&mount->tree);
	error = dircache_get(mount, parent, &dir);
	if (!error) {
		error = make_in(mount, dir, name, what, &entry);
		if (!error && fstatat(dir_fd(dir), entry.text, &known.st,
		                      AT_SYMLINK_NOFOLLOW))
			error = -errno;
		if (!error)
			error = op_know(mount, parent, dir, entry.text, true,
			                &known);
		dir_unref(dir);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (!error)
		error = op_known(mount, &known);
	op_debug(mount, "make \"%s\" (mode %o): %d\n", name,
	         (unsigned)what->mode, error);
	if (error)
		op_reply(req, error);
	else
		reply_known(req, mount, &known);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
              mode_t mode, dev_t device)
{
	struct making what = { mode, device, NULL, op_caller(req), false };

	if (!(mode & S_IFMT))
		what.mode |= S_IFREG;
	make(req, parent, name, &what);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct making what = { mode | S_IFDIR, 0, NULL, op_caller(req),
	                       false };

	make(req, parent, name, &what);
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
                const char *name)
{
	struct making what = { S_IFLNK | 0777, 0, target, op_caller(req),
	                       false };

	make(req, parent, name, &what);
}

static int link_to(struct mount *mount, struct node *node,
                   struct handle *handle, struct node *parent,
                   const char *name, struct known *known)
{
	struct place place = { .dir = NULL };
	struct dir_entry entry;
	struct dir *dir;
	int error, fd = -1;

	error = place_find(mount, node, &place);
	/* One that was made without a name, or found by number. */
	if (error == -ESTALE) {
		fd = handle ? file_fd(handle->file)
		            : export_open(mount, node, O_PATH);
		error = fd < 0 ? fd : 0;
	}
	if (error)
		return error;
	error = dircache_get(mount, parent, &dir);
	if (!error) {
		error = place.dir
			? dir_link(place.dir, place.text, dir, name, &entry)
			: dir_link_fd(fd, dir, name, &entry);
		if (!error && fstatat(dir_fd(dir), entry.text, &known->st,
		                      AT_SYMLINK_NOFOLLOW))
			error = -errno;
		if (!error)
			error = op_know(mount, parent, dir, entry.text, false,
			                known);
		dir_unref(dir);
	}
	if (fd >= 0 && !handle)
		close(fd);
	place_done(&place);
	return error;
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
             const char *name)
{
	struct mount *mount = op_mount(req);
	struct node *node = op_node(mount, ino);
	struct handle *handle = open_if_open(mount, node);
	struct known known;
	int error;

	pthread_rwlock_rdlock(&mount->tree);
	error = link_to(mount, node, handle, op_node(mount, parent), name,
	                &known);
	pthread_rwlock_unlock(&mount->tree);
	if (!error)
		error = op_known(mount, &known);
	if (handle)
		open_close(mount, handle);
	op_debug(mount, "link \"%s\": %d\n", name, error);
	if (error)
		op_reply(req, error);
	else
		reply_known(req, mount, &known);
}

/* The name that O_TMPFILE has in a request. */
static bool is_unnamed(const char *name)
{
	return !strcmp(name, "/");
}

/* A file without a name: a descriptor of it. */
static int create_unnamed(struct mount *mount, struct dir *dir,
                          const struct making *what, struct known *known)
{
	int fd, error;

	error = dir_create_unnamed(dir, what->mode, what->never_named,
	                           &what->caller, &fd);
	if (error)
		return error;
	error = fstat(fd, &known->st) ? -errno : 0;
	if (!error)
		error = node_unnamed(mount, &known->st,
		                     export_generation(mount, fd, ""),
		                     &known->node);
	if (error)
		close(fd);
	return error ? error : fd;
}

/* Create a file: a descriptor of it, open for reading and writing. */
static int create_file(struct mount *mount, struct node *parent,
                       struct dir *dir, const char *name,
                       const struct making *what, struct known *known,
                       struct dir_entry *entry)
{
	int fd, error;

	error = dir_create(dir, name, what->mode, &what->caller, entry, &fd);
	if (error)
		return error;
	error = fstat(fd, &known->st) ? -errno : 0;
	if (!error)
		error = node_made(mount, parent, entry->text, &known->st,
		                  export_generation(mount, fd, ""),
		                  &known->node);
	if (!error)
		return fd;
	close(fd);
	dir_unlink(dir, name);
	return error;
}

/* Create a file and a handle on it. */
static int create(struct mount *mount, struct node *parent, const char *name,
                  const struct making *what, struct known *known,
                  struct handle **handle)
{
	uint8_t id[ID_SIZE];
	struct dir_entry entry;
	struct dir *dir;
	int error, fd = -1;

	pthread_rwlock_rdlock(&mount->tree);
	error = dircache_get(mount, parent, &dir);
	if (!error) {
		fd = is_unnamed(name)
			? create_unnamed(mount, dir, what, known)
			: create_file(mount, parent, dir, name, what, known,
			              &entry);
		dir_id(dir, id);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (error)
		return error;
	if (fd >= 0)
		error = open_created(mount, known->node, fd, id, handle);
	else
		error = fd;
	/* Refused while nobody has seen it: see store_is_nearly_full. */
	if (!error && !is_unnamed(name) && store_is_nearly_full(mount)) {
		error = file_finalize((*handle)->file);
		if (error)
			open_close(mount, *handle);
	}
	if (error && fd >= 0) {
		if (!is_unnamed(name)) {
			dir_unlink(dir, name);
			node_remove_name(mount, known->node, parent,
			                 entry.text, true);
		}
		node_forget(mount, known->node, 1);
	}
	dir_unref(dir);
	return error;
}

void op_create(fuse_req_t req, fuse_ino_t ino, const char *name,
               mode_t mode, struct fuse_file_info *fi)
{
	struct mount *mount = op_mount(req);
	struct making what = { mode | S_IFREG, 0, NULL, op_caller(req),
	                       fi->flags & O_EXCL };
	struct fuse_entry_param entry;
	struct handle *handle = NULL;
	struct known known = { .size_error = 0 };
	int error;

	error = create(mount, op_node(mount, ino), name, &what, &known,
	               &handle);
	/* The kernel took the name for free, but it was made from outside: it
	 * looks again, and then opens the file with the checks of an open. */
	if (error == -EEXIST && !(fi->flags & O_EXCL))
		error = -ESTALE;
	op_debug(mount, "create \"%s\" (mode %o): %d\n", name, (unsigned)mode,
	         error);
	if (!error) {
		error = op_known(mount, &known);
		if (error)
			open_close(mount, handle);
	}
	if (error) {
		op_reply(req, error);
		return;
	}
	op_opened(mount, handle, fi);
	op_entry(mount, &known, &entry);
	if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
		open_close(mount, handle);
		node_forget(mount, known.node, 1);
	}
}

/* Whether an entry that was removed or replaced was its inode's last. */
static bool was_last(const struct stat *st)
{
	return S_ISDIR(st->st_mode) || st->st_nlink <= 1;
}

/* Remove an entry, and tell its node. */
static int remove_entry(struct mount *mount, struct node *parent,
                        const char *name,
                        int (*remove)(struct dir *dir, const char *plain))
{
	struct dir_entry entry;
	struct node *node;
	struct stat st;
	struct dir *dir;
	int error;

	error = dircache_get(mount, parent, &dir);
	if (error)
		return error;
	error = dir_find(dir, name, &entry, &st);
	if (!error)
		error = remove(dir, name);
	if (!error) {
		node = node_find(mount, &st);
		if (node)
			node_remove_name(mount, node, parent, entry.text,
			                 was_last(&st));
		node_unref(mount, node);
	}
	dir_unref(dir);
	return error;
}

/* Read-locked: until a node is told that its name is gone, that name leads
 * nowhere or to another inode, which place_find notices. */
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *mount = op_mount(req);
	int error;

	pthread_rwlock_rdlock(&mount->tree);
	error = remove_entry(mount, op_node(mount, parent), name, dir_unlink);
	pthread_rwlock_unlock(&mount->tree);
	op_debug(mount, "unlink \"%s\": %d\n", name, error);
	op_reply(req, error);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *mount = op_mount(req);
	int error;

	pthread_rwlock_rdlock(&mount->tree);
	error = remove_entry(mount, op_node(mount, parent), name, dir_rmdir);
	pthread_rwlock_unlock(&mount->tree);
	op_debug(mount, "rmdir \"%s\": %d\n", name, error);
	op_reply(req, error);
}

/* One side of a rename. */
struct side {
	struct node *parent;
	const char *name;
	struct dir *dir;
	struct dir_entry entry; /* as it was */
	struct stat st;
	bool exists;
	struct node *node;      /* if the kernel knows it */
};

static int find_side(struct mount *mount, struct side *side)
{
	int error = dircache_get(mount, side->parent, &side->dir);

	if (error)
		return error;
	error = dir_find(side->dir, side->name, &side->entry, &side->st);
	side->exists = !error;
	if (side->exists)
		side->node = node_find(mount, &side->st);
	return error;
}

static int rename_sides(struct mount *mount, struct side *from,
                        struct side *to, unsigned flags)
{
	struct dir_entry entry, other;
	int error = find_side(mount, from);
	int replaced = -1;

	if (error)
		return error;
	error = find_side(mount, to);
	if (error && error != -ENOENT)
		return error;
	if (!flags && to->node && S_ISREG(to->st.st_mode)
	    && was_last(&to->st))
		replaced = openat(dir_fd(to->dir), to->entry.text,
		                  O_PATH | O_NOFOLLOW | O_CLOEXEC);
	error = dir_rename(from->dir, from->name, to->dir, to->name, flags,
	                   &entry, &other);
	if (replaced >= 0 && !error)
		kept_add(mount, to->node, replaced);
	else if (replaced >= 0)
		close(replaced);
	if (error)
		return error;
	if (flags & RENAME_EXCHANGE) {
		if (to->node)
			node_move_name(mount, to->node, to->parent,
			               to->entry.text, from->parent,
			               other.text);
	} else if (to->exists && to->st.st_ino == from->st.st_ino
	           && to->st.st_dev == from->st.st_dev) {
		return 0; /* two links to one file: rename leaves both */
	} else if (to->node) {
		node_remove_name(mount, to->node, to->parent, to->entry.text,
		                 was_last(&to->st));
	}
	if (from->node)
		node_move_name(mount, from->node, from->parent,
		               from->entry.text, to->parent, entry.text);
	return 0;
}

void op_rename(fuse_req_t req, fuse_ino_t from_ino, const char *from_name,
               fuse_ino_t to_ino, const char *to_name, unsigned flags)
{
	struct mount *mount = op_mount(req);
	struct side from = { .parent = op_node(mount, from_ino),
	                     .name = from_name };
	struct side to = { .parent = op_node(mount, to_ino), .name = to_name };
	int error;

	pthread_rwlock_wrlock(&mount->tree);
	error = rename_sides(mount, &from, &to, flags);
	pthread_rwlock_unlock(&mount->tree);
	node_unref(mount, from.node);
	node_unref(mount, to.node);
	dir_unref(from.dir);
	dir_unref(to.dir);
	op_debug(mount, "rename \"%s\" \"%s\" (%u): %d\n", from_name, to_name,
	         flags, error);
	op_reply(req, error);
}
