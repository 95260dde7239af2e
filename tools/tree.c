/* Folders and entries of both kinds of trees. */
#include "tools/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/walk.h"

int tree_open_plain(const char *path, struct folder *out)
{
	*out = (struct folder){
		.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	return out->fd < 0 ? -errno : 0;
}

int tree_open_volume(const struct volume *volume, const char *path,
                     struct folder *out)
{
	int error;

	*out = (struct folder){ .volume = volume, .fd = -1 };
	error = walk_dir(volume, path, &out->dir);
	if (!error)
		out->fd = dir_fd(out->dir);
	return error;
}

int tree_enter(const struct folder *f, const char *text, struct folder *out)
{
	int error, flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

	*out = (struct folder){
		.volume = f->volume, .fd = -1, .depth = f->depth + 1,
	};
	if (f->depth >= TREE_DEPTH_MAX)
		return -ENAMETOOLONG;
	if (f->volume) {
		error = walk_enter(f->volume, f->dir, text, &out->dir);
		if (!error)
			out->fd = dir_fd(out->dir);
		return error;
	}
	out->fd = openat(f->fd, text, flags | O_NOATIME);
	if (out->fd < 0 && errno == EPERM)
		out->fd = openat(f->fd, text, flags);
	return out->fd >= 0 ? 0 : errno == ELOOP ? -ENOTDIR : -errno;
}

void tree_leave(struct folder *f)
{
	if (f->dir)
		dir_unref(f->dir);
	else if (f->fd >= 0)
		close(f->fd);
	f->dir = NULL;
	f->fd = -1;
}

bool tree_is_inside(int fd, int above)
{
	int at = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;
	struct stat wanted, st, before = { .st_ino = 0 };
	bool found = false;

	if (fstat(above, &wanted))
		return false;
	while (at >= 0 && !fstat(at, &st)) {
		found = st.st_dev == wanted.st_dev && st.st_ino == wanted.st_ino;
		if (found || (st.st_dev == before.st_dev &&
		              st.st_ino == before.st_ino))
			break; /* above the root is the root */
		before = st;
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
	}
	if (at >= 0)
		close(at);
	return found;
}

/* ---- lists ---- */

static int list_add(struct tree_list *list, const char *name, const char *text)
{
	struct tree_item *item;

	/* The room doubles whenever the count is a power of two. */
	if (!(list->count & (list->count - 1))) {
		size_t room = list->count ? 2 * list->count : 1;
		void *items = realloc(list->items, room * sizeof(*item));

		if (!items)
			return -ENOMEM;
		list->items = items;
	}
	item = &list->items[list->count];
	item->name = strdup(name);
	item->text = strdup(text);
	list->count++;
	return item->name && item->text ? 0 : -ENOMEM;
}

static int list_volume(const struct folder *f, struct tree_list *out)
{
	struct dir_listing listing;
	int error = dir_list(f->dir, &listing);

	if (error)
		return error;
	out->damaged = listing.damaged;
	for (size_t i = 0; i < listing.count && !error; i++)
		error = list_add(out, listing.items[i].plain,
		                 listing.items[i].text);
	dir_listing_free(&listing);
	return error;
}

static int list_plain(const struct folder *f, struct tree_list *out)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(f->fd, ".", flags | O_NOATIME), error;
	struct dirent *d;
	DIR *stream;

	if (fd < 0 && errno == EPERM)
		fd = openat(f->fd, ".", flags);
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream) {
		error = -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	error = 0;
	for (errno = 0; !error && (d = readdir(stream)); errno = 0)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			error = list_add(out, d->d_name, d->d_name);
	if (!error)
		error = -errno;
	closedir(stream);
	return error;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tree_item *)a)->name,
	              ((const struct tree_item *)b)->name);
}

int tree_list(const struct folder *f, struct tree_list *out)
{
	int error;

	memset(out, 0, sizeof(*out));
	error = f->volume ? list_volume(f, out) : list_plain(f, out);
	if (error)
		tree_list_free(out);
	else if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), by_name);
	return error;
}

void tree_list_free(struct tree_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].text);
	}
	free(list->items);
	memset(list, 0, sizeof(*list));
}

/* ---- entries ---- */

int tree_find(const struct folder *f, const char *name, struct tree_entry *e)
{
	struct dir_entry entry;
	int error;

	if (!f->volume) {
		const struct tree_item item = { (char *)name, (char *)name };

		return strlen(name) > NAME_MAX ? -ENAMETOOLONG
		                               : tree_look(f, &item, e);
	}
	error = dir_find(f->dir, name, &entry, &e->st);
	if (error)
		return error;
	strcpy(e->text, entry.text);
	return dir_plain_stat(f->dir, e->text, &e->st);
}

int tree_look(const struct folder *f, const struct tree_item *item,
              struct tree_entry *e)
{
	snprintf(e->text, sizeof(e->text), "%s", item->text);
	if (fstatat(f->fd, e->text, &e->st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return f->volume ? dir_plain_stat(f->dir, e->text, &e->st) : 0;
}

int tree_hold(const struct folder *f, const char *text)
{
	int fd = openat(f->fd, text, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int tree_readlink(const struct folder *f, const char *text,
                  char target[PATH_MAX])
{
	ssize_t n;

	if (f->volume) {
		int size = dir_readlink(f->dir, text, target);

		return size < 0 ? size : 0;
	}
	n = readlinkat(f->fd, text, target, PATH_MAX);
	if (n < 0)
		return -errno;
	if (n == PATH_MAX)
		return -ENAMETOOLONG;
	target[n] = '\0';
	return 0;
}

static struct dir_caller caller_of(const struct tree_owner *owner)
{
	return (struct dir_caller){
		.uid = owner ? owner->uid : geteuid(),
		.gid = owner ? owner->gid : getegid(),
	};
}

int tree_mkdir(const struct folder *f, const char *name, mode_t mode,
               const struct tree_owner *owner)
{
	const struct dir_caller caller = caller_of(owner);

	mode = (mode & 01777) | 0700;
	if (f->volume)
		return dir_mkdir(f->dir, name, mode, &caller, NULL);
	/* Until its owner and mode are set, only for us. */
	return mkdirat(f->fd, name, 0700) ? -errno : 0;
}

int tree_symlink(const struct folder *f, const char *name, const char *target,
                 const struct tree_owner *owner)
{
	const struct dir_caller caller = caller_of(owner);

	if (f->volume)
		return dir_symlink(f->dir, name, target, &caller, NULL);
	return symlinkat(target, f->fd, name) ? -errno : 0;
}

int tree_mknod(const struct folder *f, const char *name, mode_t mode,
               dev_t device, const struct tree_owner *owner)
{
	const struct dir_caller caller = caller_of(owner);

	mode = (mode & S_IFMT) | 0600;
	if (f->volume)
		return dir_mknod(f->dir, name, mode, device, &caller, NULL);
	return mknodat(f->fd, name, mode, device) ? -errno : 0;
}

int tree_link(const struct folder *from, const char *from_text,
              const struct folder *to, const char *name)
{
	if (to->volume)
		return dir_link(from->dir, from_text, to->dir, name, NULL);
	return linkat(from->fd, from_text, to->fd, name, 0) ? -errno : 0;
}

bool tree_no_links(int error)
{
	return error == -EPERM || error == -EACCES || error == -EMLINK ||
	       error == -EXDEV || error == -EOPNOTSUPP || error == -ENOSYS;
}

int tree_unlink(const struct folder *f, const char *name)
{
	if (f->volume)
		return dir_unlink(f->dir, name);
	return unlinkat(f->fd, name, 0) ? -errno : 0;
}

/* ---- temporary names ---- */

#define PART_PREFIX ".frondfs-part."

/* With FNV-1a, 64 bits. */
void tree_part_name(char part[TREE_PART], const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
	snprintf(part, TREE_PART, PART_PREFIX "%016" PRIx64, hash);
}

bool tree_is_part(const char *name)
{
	const char *hash = name + strlen(PART_PREFIX);

	return !strncmp(name, PART_PREFIX, strlen(PART_PREFIX)) &&
	       strlen(hash) == 16 && strspn(hash, "0123456789abcdef") == 16;
}

int tree_replace(const struct folder *f, const char *name)
{
	char part[TREE_PART];
	int error;

	tree_part_name(part, name);
	if (f->volume)
		error = dir_rename(f->dir, part, f->dir, name, 0, NULL, NULL);
	else
		error = renameat(f->fd, part, f->fd, name) ? -errno : 0;
	if (error)
		tree_unlink(f, part);
	return error;
}
