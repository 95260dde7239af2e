/* The walk through a ciphertext tree, in a manifest's order. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/format/name.h"
#include "fs/volume/dir_impl.h"
#include "fs/volume/manifest_impl.h"

struct walker {
	const struct manifest_walk *walk;
	char path[MANIFEST_PATH_MAX + 1];
};

struct names {
	char **list;
	size_t count, room;
};

static void names_free(struct names *names)
{
	while (names->count > 0)
		free(names->list[--names->count]);
	free(names->list);
	names->list = NULL;
}

static int names_add(struct names *names, const char *name)
{
	if (names->count == names->room) {
		size_t room = names->room ? 2 * names->room : 32;
		char **list = realloc(names->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		names->list = list;
		names->room = room;
	}
	names->list[names->count] = strdup(name);
	return names->list[names->count++] ? 0 : -ENOMEM;
}

static int names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in the directory that fd is open on, which stays open. */
static int names_read(struct names *names, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), error = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	*names = (struct names){ .list = NULL };
	if (!d) {
		error = -errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	rewinddir(d);
	for (errno = 0; !error && (e = readdir(d)); errno = 0)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			error = names_add(names, e->d_name);
	if (!error)
		error = -errno;
	closedir(d);
	if (error)
		names_free(names);
	else if (names->count)
		qsort(names->list, names->count, sizeof(*names->list),
		      names_compare);
	return error;
}

static int walk_names(struct walker *w, int fd, struct names *names,
                      size_t length, unsigned depth);

/* A directory: reported, and walked through. */
static int walk_dir(struct walker *w, int dir, const char *name,
                    const struct stat *st, size_t length, unsigned depth)
{
	const struct manifest_walk *walk = w->walk;
	int fd = open_quiet(dir, name, O_RDONLY | O_DIRECTORY), error;
	struct names names = { .list = NULL };

	error = fd < 0 ? fd : depth > MANIFEST_DEPTH_MAX ? -ENAMETOOLONG
		: names_read(&names, fd);
	if (error == -ENOMEM) {
		close(fd);
		return error;
	}
	if (error) {
		error = walk->entry(walk->context, dir, name, w->path, st, error);
	} else {
		error = walk->entry(walk->context, dir, name, w->path, st, 0);
		if (!error)
			error = walk_names(w, fd, &names, length, depth);
	}
	names_free(&names);
	if (fd >= 0)
		close(fd);
	return error;
}

static int walk_name(struct walker *w, int dir, const char *name, size_t length,
                     unsigned depth)
{
	const struct manifest_walk *walk = w->walk;
	size_t size = strlen(name);
	struct stat st;

	if (*walk->cancel)
		return -ECANCELED;
	if (length + 1 + size > MANIFEST_PATH_MAX)
		return -ENAMETOOLONG;
	if (length)
		w->path[length++] = '/';
	memcpy(w->path + length, name, size + 1);
	if (!manifest_covers(name)) {
		if (walk->foreign && name_form(name) != NAME_SEAL_FILE)
			walk->foreign(walk->context, w->path);
		return 0;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return 0; /* it went away meanwhile */
		st = (struct stat){ .st_mode = 0 };
		return walk->entry(walk->context, dir, name, w->path, &st, -errno);
	}
	if (S_ISDIR(st.st_mode))
		return walk_dir(w, dir, name, &st, length + size, depth);
	return walk->entry(walk->context, dir, name, w->path, &st, 0);
}

static int walk_names(struct walker *w, int fd, struct names *names,
                      size_t length, unsigned depth)
{
	int error = 0;

	for (size_t i = 0; i < names->count && !error; i++)
		error = walk_name(w, fd, names->list[i], length, depth + 1);
	w->path[length] = '\0';
	return error;
}

int manifest_walk(const struct manifest_walk *walk)
{
	struct walker *w = malloc(sizeof(*w));
	struct names names = { .list = NULL };
	int fd, error;

	if (!w)
		return -ENOMEM;
	w->walk = walk;
	w->path[0] = '\0';
	fd = open_quiet(walk->root, ".", O_RDONLY | O_DIRECTORY);
	error = fd < 0 ? fd : names_read(&names, fd);
	if (!error)
		error = walk_names(w, fd, &names, 0, 0);
	names_free(&names);
	if (fd >= 0)
		close(fd);
	free(w);
	return error;
}

/* ---- how much there is to read ---- */

static int measure_entry(void *context, int dir, const char *name,
                         const char *path, const struct stat *st, int error)
{
	struct manifest_progress *progress = context;

	(void)dir;
	(void)name;
	(void)path;
	if (!error && S_ISREG(st->st_mode))
		progress->total += (uint64_t)st->st_size;
	return 0;
}

void manifest_measure(int root, struct manifest_progress *progress)
{
	const struct manifest_walk walk = {
		.root = root, .cancel = &progress->cancel, .context = progress,
		.entry = measure_entry,
	};

	if (!manifest_walk(&walk))
		progress->total_known = true;
}
