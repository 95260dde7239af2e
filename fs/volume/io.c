#include "fs/volume/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* openat is variadic, so it needs a function of this type. */
static int system_openat(int dir, const char *name, int flags, mode_t mode)
{
	return openat(dir, name, flags, mode);
}

static int system_renameat2(int from_dir, const char *from, int to_dir,
                            const char *to, unsigned flags)
{
	return renameat2(from_dir, from, to_dir, to, flags);
}

const struct io io_system = {
	.pread = pread,
	.pwrite = pwrite,
	.ftruncate = ftruncate,
	.fallocate = fallocate,
	.fsync = fsync,
	.fdatasync = fdatasync,
	.futimens = futimens,
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
	size_t n = 0;
	int error = 0;

	while (n < size) {
		ssize_t w = io->pwrite(fd, p + n, size - n, offset + (off_t)n);

		if (w < 0 && errno == EINTR)
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
	uint8_t *p = buf;
	size_t n = 0;

	while (n < size) {
		ssize_t r = io->pread(fd, p + n, size - n, offset + (off_t)n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}
