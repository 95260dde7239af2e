#include "fs/volume/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* A call that was interrupted is made again, but not for ever: there are
 * stores (of FUSE) that say so of themselves. */
enum { INTERRUPTED_MAX = 100 };

#define AGAIN(call)                                                    \
	({                                                             \
		int again_ = INTERRUPTED_MAX, result_;                 \
		do {                                                   \
			result_ = (call);                              \
		} while (result_ < 0 && errno == EINTR && again_--);   \
		result_;                                               \
	})

/* Those that make, remove or rename something may have done so. */
static int system_openat(int dir, const char *name, int flags, mode_t mode)
{
	return flags & O_EXCL ? openat(dir, name, flags, mode)
	                      : AGAIN(openat(dir, name, flags, mode));
}

static int system_ftruncate(int fd, off_t length)
{
	return AGAIN(ftruncate(fd, length));
}

static int system_fallocate(int fd, int mode, off_t offset, off_t length)
{
	return AGAIN(fallocate(fd, mode, offset, length));
}

static int system_fsync(int fd)
{
	return AGAIN(fsync(fd));
}

static int system_fdatasync(int fd)
{
	return AGAIN(fdatasync(fd));
}

static int system_futimens(int fd, const struct timespec times[2])
{
	return AGAIN(futimens(fd, times));
}

static int system_renameat2(int from_dir, const char *from, int to_dir,
                            const char *to, unsigned flags)
{
	return renameat2(from_dir, from, to_dir, to, flags);
}

const struct io io_system = {
	.pread = pread,
	.pwrite = pwrite,
	.ftruncate = system_ftruncate,
	.fallocate = system_fallocate,
	.fsync = system_fsync,
	.fdatasync = system_fdatasync,
	.futimens = system_futimens,
	.openat = system_openat,
	.mkdirat = mkdirat,
	.mknodat = mknodat,
	.symlinkat = symlinkat,
	.linkat = linkat,
	.unlinkat = unlinkat,
	.renameat2 = system_renameat2,
};

const struct io *io = &io_system;

int (*io_open_denied)(int dir, const char *name, int flags);

int io_open(int dir, const char *name, int flags)
{
	int fd = io->openat(dir, name, flags, 0);

	return fd < 0 && errno == EACCES && io_open_denied
		? io_open_denied(dir, name, flags) : fd;
}

int io_write_full(int fd, const void *buf, size_t size, off_t offset,
                  size_t *done)
{
	const uint8_t *p = buf;
	int error = 0, again = INTERRUPTED_MAX;
	size_t n = 0;

	while (n < size) {
		ssize_t w = io->pwrite(fd, p + n, size - n, offset + (off_t)n);

		if (w < 0 && errno == EINTR && again--)
			continue;
		if (w <= 0) {
			error = w < 0 ? -errno : -EIO;
			break;
		}
		n += (size_t)w;
	}
	if (done)
		*done = n;
	return error;
}

ssize_t io_read_full(int fd, void *buf, size_t size, off_t offset)
{
	int again = INTERRUPTED_MAX;
	uint8_t *p = buf;
	size_t n = 0;

	while (n < size) {
		ssize_t r = io->pread(fd, p + n, size - n, offset + (off_t)n);

		if (r < 0 && errno == EINTR && again--)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}
