#include "fs/volume/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

char *walk_join(const char *path, const char *name)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return NULL;
	return joined;
}

static int open_dir(const struct volume *volume, int at, const char *text,
                    struct dir **out)
{
	int fd = open_quiet(at, text, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fd == -ELOOP ? -ENOTDIR : fd;
	return dir_open(out, volume, fd);
}

int walk_root(const struct volume *volume, struct dir **out)
{
	return open_dir(volume, volume->root, ".", out);
}

int walk_enter(const struct volume *volume, struct dir *parent,
               const char *text, struct dir **out)
{
	return open_dir(volume, dir_fd(parent), text, out);
}

int walk_open(const struct volume *volume, struct dir *dir, const char *text,
              int access, struct file **out)
{
	/* What became a fifo in between must not block. */
	int flags = access | O_NONBLOCK | O_NOCTTY;
	int fd = access == O_RDONLY
		? open_quiet(dir_fd(dir), text, flags)
		: io_open(dir_fd(dir), text, flags | O_NOFOLLOW | O_CLOEXEC);
	uint8_t id[ID_SIZE];
	struct stat st;

	if (fd < 0)
		return access == O_RDONLY ? fd : -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
	}
	dir_id(dir, id);
	return file_open(out, volume, fd, access, id);
}

/* Append a part to one of the place's paths. */
static int lengthen(char **path, const char *part)
{
	char *longer = walk_join(*path, part);

	if (!longer)
		return -ENOMEM;
	free(*path);
	*path = longer;
	return 0;
}

/* Go into what was found so far, and find `part` there. */
static int step(const struct volume *volume, struct walk_place *p,
                const char *part)
{
	struct dir *next;
	int error;

	if (!strcmp(part, ".."))
		return -EINVAL;
	if (!p->exists)
		return -ENOENT;
	if (!S_ISDIR(p->st.st_mode))
		return -ENOTDIR;
	error = p->dir ? walk_enter(volume, p->dir, p->entry.text, &next)
	               : walk_root(volume, &next);
	if (error)
		return error;
	dir_unref(p->dir);
	p->dir = next;
	error = lengthen(&p->plain, part);
	if (error)
		return error;
	if (strlen(part) > NAME_PLAIN_MAX)
		return -ENAMETOOLONG;
	strcpy(p->name, part);
	error = dir_find(next, part, &p->entry, &p->st);
	p->exists = !error;
	if (error)
		return error == -ENOENT ? 0 : error;
	dir_plain_stat(next, p->entry.text, &p->st);
	return lengthen(&p->cipher, p->entry.text);
}

int walk_find(const struct volume *volume, const char *path,
              struct walk_place *p)
{
	char *copy = strdup(path), *save = NULL, *part;
	int error = 0;

	memset(p, 0, sizeof(*p));
	p->exists = true;
	strcpy(p->entry.text, ".");
	p->plain = strdup("");
	p->cipher = strdup("");
	if (!copy || !p->plain || !p->cipher)
		error = -ENOMEM;
	else if (fstat(volume->root, &p->st))
		error = -errno;
	for (part = copy ? strtok_r(copy, "/", &save) : NULL; part && !error;
	     part = strtok_r(NULL, "/", &save))
		if (strcmp(part, "."))
			error = step(volume, p, part);
	free(copy);
	return error;
}

void walk_done(struct walk_place *p)
{
	dir_unref(p->dir);
	free(p->plain);
	free(p->cipher);
	memset(p, 0, sizeof(*p));
}

int walk_dir(const struct volume *volume, const char *path, struct dir **out)
{
	struct walk_place p;
	int error = walk_find(volume, path, &p);

	if (!error && !p.exists)
		error = -ENOENT;
	if (!error && !S_ISDIR(p.st.st_mode))
		error = -ENOTDIR;
	if (!error)
		error = p.dir ? walk_enter(volume, p.dir, p.entry.text, out)
		              : walk_root(volume, out);
	walk_done(&p);
	return error;
}
