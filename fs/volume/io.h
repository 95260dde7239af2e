/*
 * The table of system calls through which fs/ changes the ciphertext and reads
 * file content, so that tests can record, fail, shorten or reorder them. The
 * calls mean what those of the same name mean (-1 and errno on failure).
 */
#ifndef FS_VOLUME_IO_H
#define FS_VOLUME_IO_H

#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct io {
	ssize_t (*pread)(int fd, void *buf, size_t size, off_t offset);
	ssize_t (*pwrite)(int fd, const void *buf, size_t size, off_t offset);
	int (*ftruncate)(int fd, off_t length);
	int (*fallocate)(int fd, int mode, off_t offset, off_t length);
	int (*fsync)(int fd);
	int (*fdatasync)(int fd);
	int (*futimens)(int fd, const struct timespec times[2]);
	int (*openat)(int dir, const char *name, int flags, mode_t mode);
	int (*mkdirat)(int dir, const char *name, mode_t mode);
	int (*mknodat)(int dir, const char *name, mode_t mode, dev_t device);
	int (*symlinkat)(const char *target, int dir, const char *name);
	int (*linkat)(int from_dir, const char *from, int to_dir, const char *to,
	              int flags);
	int (*unlinkat)(int dir, const char *name, int flags);
	int (*renameat2)(int from_dir, const char *from, int to_dir,
	                 const char *to, unsigned flags);
};

/* The system's own calls, and the table in use (that one at first). Only
 * tests assign to it, and not while other threads use it. */
extern const struct io io_system;
extern const struct io *io;

/*
 * io->openat for reading, or for reading and writing, what is there already.
 * Where the mode forbids it, io_open_denied is asked, if it is not NULL (for a
 * mount of an ordinary user, see fs/mount/opener.h).
 */
int io_open(int dir, const char *name, int flags);
extern int (*io_open_denied)(int dir, const char *name, int flags);

/* pwrite until all is written or an error comes. Returns 0, or a negative
 * errno with the number of bytes that were written in *done (may be NULL).
 * read_full: pread until `size` bytes or the end; returns the bytes read or a
 * negative errno. */
int io_write_full(int fd, const void *buf, size_t size, off_t offset,
                  size_t *done);
ssize_t io_read_full(int fd, void *buf, size_t size, off_t offset);

#endif
