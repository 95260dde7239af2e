#include "fs/volume/manifest_output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/format/manifest.h"

/* Whether the locked file is still what stands at its name: another process may
 * have renamed or removed it before it was locked. */
static int still_there(int fd, const char *path)
{
	struct stat st, now;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
		return -EEXIST;
	if (lstat(path, &now) || now.st_ino != st.st_ino ||
	    now.st_dev != st.st_dev)
		return -EBUSY;
	return 0;
}

int output_open(struct output *o, const char *path, const char *mark)
{
	int fd, error;

	*o = (struct output){ .path = NULL };
	if (asprintf(&o->path, "%s%s", path, mark) < 0) {
		o->path = NULL;
		return -ENOMEM;
	}
	if (asprintf(&o->temp, "%s" MANIFEST_TEMP, o->path) < 0) {
		o->temp = NULL;
		return -ENOMEM;
	}
	fd = open(o->temp, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
	          O_NOCTTY | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EEXIST : -errno;
	/* A store without locks is used without. */
	error = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK
		? -EBUSY : still_there(fd, o->temp);
	if (!error && ftruncate(fd, 0))
		error = -errno;
	if (!error) {
		o->stream = fdopen(fd, "w");
		error = o->stream ? 0 : -errno;
	}
	if (error)
		close(fd);
	return error;
}

int output_sync(struct output *o)
{
	if (fflush(o->stream) || fsync(fileno(o->stream)))
		return errno ? -errno : -EIO;
	return 0;
}

int output_rename(struct output *o)
{
	if (rename(o->temp, o->path))
		return -errno;
	free(o->temp);
	o->temp = NULL;
	return 0;
}

void output_close(struct output *o)
{
	if (o->stream && o->temp)
		unlink(o->temp);
	if (o->stream)
		fclose(o->stream);
	free(o->temp);
	free(o->path);
	*o = (struct output){ .path = NULL };
}

void output_keep(struct output *o)
{
	free(o->temp);
	o->temp = NULL;
}

int output_sync_folder(const struct output *o)
{
	char *copy = strdup(o->path);
	int fd, error = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Some stores cannot sync a directory: it is a hint there. */
	if (fd < 0 || (fsync(fd) && errno != EINVAL && errno != EROFS))
		error = -errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return error;
}
