#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "fs/format/base64url.h"
#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

int open_quiet(int dir, const char *name, int flags)
{
	int fd;

	flags |= O_NOFOLLOW | O_CLOEXEC;
	fd = io_open(dir, name, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM) /* not the owner */
		fd = io_open(dir, name, flags);
	return fd < 0 ? -errno : fd;
}

ssize_t helper_read(int dir, const char *name, void *buf, size_t room)
{
	/* A fifo of this name must not block. */
	int fd = open_quiet(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char more;
	ssize_t n;

	if (fd == -ELOOP || fd == -ENXIO) /* a symbolic link, a socket */
		return -EBADMSG;
	if (fd < 0)
		return fd;
	n = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EBADMSG;
	if (!n)
		n = io_read_full(fd, buf, room, 0);
	if (n == (ssize_t)room && io_read_full(fd, &more, 1, n) == 1)
		n = -EBADMSG;
	close(fd);
	return n;
}

/* The directory's owner and mode, for a file of the tool's own in it. Stores
 * that know no owners or modes are left as they are. */
static void like_directory(int fd, const struct stat *dir)
{
	mode_t mode = (dir->st_mode & 0666) | 0600;
	struct stat st;

	if (fstat(fd, &st))
		return;
	if (geteuid() == 0 &&
	    (st.st_uid != dir->st_uid || st.st_gid != dir->st_gid) &&
	    fchown(fd, dir->st_uid, dir->st_gid))
		return;
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode))
		return;
}

int helper_make(int dir, const char *name, const void *data, size_t size)
{
	struct stat st;
	int fd, error;

	if (fstat(dir, &st))
		return -errno;
	fd = io->openat(dir, name,
	                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                (st.st_mode & 0666) | 0600);
	if (fd < 0)
		return -errno;
	error = io_write_full(fd, data, size, 0, NULL);
	if (!error) {
		like_directory(fd, &st);
		if (io->fsync(fd))
			error = -errno;
	}
	if (close(fd) && !error)
		error = -errno;
	if (error)
		io->unlinkat(dir, name, 0);
	return error;
}

int helper_replace(int dir, const char *name, const void *data, size_t size)
{
	char temp[TEMP_TEXT];
	int error = temp_name(temp);

	if (!error)
		error = helper_make(dir, temp, data, size);
	if (!error && io->renameat2(dir, temp, dir, name, 0)) {
		error = -errno;
		io->unlinkat(dir, temp, 0);
	}
	return error;
}

int temp_name(char text[TEMP_TEXT])
{
	uint8_t random[12];

	if (RAND_bytes(random, sizeof(random)) != 1)
		return -EIO;
	memcpy(text, NAME_TEMP_PREFIX, sizeof(NAME_TEMP_PREFIX));
	base64url_encode(text + sizeof(NAME_TEMP_PREFIX) - 1, random,
	                 sizeof(random));
	return 0;
}

static void long_file(char file[NAME_LONG_TEXT + 5], const char *base)
{
	snprintf(file, NAME_LONG_TEXT + 5, "%.*s" NAME_LONG_SUFFIX,
	         NAME_LONG_TEXT - 1, base);
}

int long_name_make(struct dir *dir, const struct name_text *name, bool *made)
{
	char file[NAME_LONG_TEXT + 5];
	uint8_t old[NAME_SEALED_MAX];
	ssize_t n;
	int error;

	*made = false;
	if (!name->is_long)
		return 0;
	long_file(file, name->text);
	error = helper_make(dir->fd, file, name->sealed, name->sealed_size);
	if (error != -EEXIST) {
		*made = !error;
		return error;
	}
	/* Left behind by a change that was not finished: right, or cut. */
	n = helper_read(dir->fd, file, old, sizeof(old));
	if (n == (ssize_t)name->sealed_size &&
	    !memcmp(old, name->sealed, name->sealed_size))
		return 0;
	return helper_replace(dir->fd, file, name->sealed, name->sealed_size);
}

void long_name_release(struct dir *dir, const struct dir_state *state,
                       const char *text)
{
	char base[NAME_LONG_TEXT], other[NAME_LONG_TEXT];
	char suffix[NAME_TEXT_MAX + 1], file[NAME_LONG_TEXT + 5];
	struct stat st;

	if (name_long_split(text, base, suffix))
		return;
	if (!fstatat(dir->fd, base, &st, AT_SYMLINK_NOFOLLOW) ||
	    errno != ENOENT)
		return;
	for (struct odd *o = state->by_text; o; o = o->by_text.next)
		if (o->is_long && strcmp(o->text, text) &&
		    !name_long_split(o->text, other, suffix) &&
		    !strcmp(other, base) &&
		    !fstatat(dir->fd, o->text, &st, AT_SYMLINK_NOFOLLOW))
			return;
	long_file(file, base);
	io->unlinkat(dir->fd, file, 0);
}
