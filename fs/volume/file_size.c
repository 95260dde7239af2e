/* The plaintext size of a file that is not open. */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/io.h"

int64_t file_size_from_stat(const struct stat *st)
{
	struct length l = size_decode((uint64_t)st->st_size);

	if (l.state == LENGTH_FINAL || l.sectors == 0)
		return (int64_t)l.size;
	return -EAGAIN;
}

int file_plain_size(const struct volume *volume, int dir, const char *text,
                    const struct stat *st, uint64_t *size)
{
	struct file f = { .volume = volume, .access = O_RDONLY };
	int64_t simple = file_size_from_stat(st);
	int error;

	if (simple >= 0) {
		*size = (uint64_t)simple;
		return 0;
	}
	f.fd = io_open(dir, text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
	               O_NOCTTY | O_NOATIME | O_NONBLOCK);
	if (f.fd < 0 && errno == EPERM)
		f.fd = io_open(dir, text, O_RDONLY | O_NOFOLLOW | O_CLOEXEC |
		               O_NOCTTY | O_NONBLOCK);
	if (f.fd < 0 && (errno == EACCES || errno == EPERM)) {
		/* The best that can be said of a file that cannot be read. */
		*size = size_decode((uint64_t)st->st_size).size;
		return 0;
	}
	if (f.fd < 0)
		return -errno;
	error = file_load(&f);
	close(f.fd);
	if (!error)
		*size = f.present;
	return error;
}
