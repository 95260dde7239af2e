/* The file object: opening, state, finalizing. */
#include "fs/volume/file_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "fs/volume/io.h"

void file_note_bad(struct file *f, uint64_t sector)
{
	if (!atomic_exchange(&f->bad, true))
		atomic_store(&f->bad_sector, sector);
}

void file_quiet(struct file *f)
{
	/* Only the owner may; a read-only volume's descriptors are so anyway. */
	if (!f->volume->read_only && !atomic_load(&f->quiet)
	    && !fcntl(f->fd, F_SETFL, O_NOATIME))
		atomic_store(&f->quiet, true);
}

/* Plaintext bytes that are there when the length has no (right) mark: the last
 * sector's trailer tells, or, where that cannot be read, the header, if what
 * it says lies in this sector. */
static int size_from_last_sector(struct file *f, uint64_t sectors,
                                 uint64_t *present)
{
	uint8_t buf[SECTOR_SIZE];
	uint64_t last = sectors - 1;
	uint64_t start = sector_start(last), full = start + sector_capacity(last);
	ssize_t n = io_read_full(f->fd, buf, sector_message(last),
	                         (off_t)sector_offset(last));
	int size, error;

	if (n < 0)
		return (int)n;
	size = SECTOR_CORRUPT;
	if (n == (ssize_t)sector_message(last)) {
		error = sectors_open(f->volume->keys->content, f->header.id,
		                     last, 1, buf, &size);
		if (error)
			return error;
		OPENSSL_cleanse(buf, sizeof(buf));
	}
	if (size >= 0)
		*present = start + (uint64_t)size;
	else if (f->header_state == HEADER_GOOD && f->header.size > start &&
	         f->header.size <= full)
		*present = f->header.size;
	else
		*present = full;
	return 0;
}

int file_load(struct file *f)
{
	uint8_t raw[HEADER_SIZE] = { 0 };
	struct stat st;
	struct length l;
	ssize_t n;
	int error;

	if (fstat(f->fd, &st))
		return -errno;
	file_quiet(f);
	f->disk_length = (uint64_t)st.st_size;
	l = size_decode(f->disk_length);
	if (l.state == LENGTH_UNFINISHED) {
		/* Whoever may write finishes the create. */
		f->changed = f->access != O_RDONLY;
		return 0;
	}
	if (f->access == O_WRONLY)
		return -EACCES;
	n = io_read_full(f->fd, raw, HEADER_SIZE, 0);
	if (n < 0)
		return (int)n;
	error = n < HEADER_SIZE ? -EBADMSG
		: header_open(f->volume->keys->content, &f->header, raw);
	if (error && error != -EBADMSG)
		return error;
	f->header_state = error ? HEADER_BAD : HEADER_GOOD;
	f->header_stored = !error;
	f->present = l.size;
	if (l.state != LENGTH_FINAL && l.sectors) {
		error = size_from_last_sector(f, l.sectors, &f->present);
		if (error)
			return error;
	}
	f->size = f->present;
	if (f->header_state == HEADER_GOOD && f->header.size > f->size)
		f->size = f->header.size;
	return 0;
}

int file_open(struct file **out, const struct volume *volume, int fd,
              int access, const uint8_t made_in[ID_SIZE])
{
	struct file *f = calloc(1, sizeof(*f));
	pthread_rwlockattr_t attr;
	int error;

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	/* Many readers must not keep a writer waiting for ever. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&f->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	f->volume = volume;
	f->fd = fd;
	f->old_fd[0] = f->old_fd[1] = -1;
	f->access = access;
	memcpy(f->made_in, made_in, ID_SIZE);
	error = file_load(f);
	if (error) {
		file_close(f);
		return error;
	}
	*out = f;
	return 0;
}

void file_keep_torn(struct file *f, const uint8_t *bytes, size_t size,
                    uint64_t offset)
{
	free(f->torn);
	f->torn = malloc(size);
	if (!f->torn)
		return;
	memcpy(f->torn, bytes, size);
	f->torn_size = size;
	f->torn_offset = offset;
	f->changed = true;
	if (offset < HEADER_SIZE) /* it may be another than the one we know */
		f->header_stored = false;
}

int file_mend_torn(struct file *f)
{
	int error;

	if (!f->torn)
		return 0;
	error = io_write_full(f->fd, f->torn, f->torn_size,
	                      (off_t)f->torn_offset, NULL);
	if (error)
		return error;
	if (f->disk_length < f->torn_offset + f->torn_size)
		f->disk_length = f->torn_offset + f->torn_size;
	free(f->torn);
	f->torn = NULL;
	atomic_store(&f->bad, false);
	return 0;
}

int file_close(struct file *f)
{
	int error = file_finalize(f);

	close(f->fd);
	for (int i = 0; i < 2; i++)
		if (f->old_fd[i] >= 0)
			close(f->old_fd[i]);
	pthread_rwlock_destroy(&f->lock);
	if (f->tail)
		OPENSSL_cleanse(f->tail, SECTOR_PAYLOAD);
	free(f->tail);
	free(f->torn);
	free(f);
	return error;
}

void file_replace_fd(struct file *f, int fd, int access)
{
	pthread_rwlock_wrlock(&f->lock);
	if (f->old_fd[0] >= 0 && f->old_fd[1] >= 0) {
		close(f->old_fd[0]);
		f->old_fd[0] = -1;
	}
	f->old_fd[f->old_fd[0] >= 0] = f->fd;
	f->fd = fd;
	atomic_store(&f->quiet, false);
	f->access = access;
	pthread_rwlock_unlock(&f->lock);
}

int file_fd(struct file *f)
{
	int fd;

	pthread_rwlock_rdlock(&f->lock);
	fd = f->fd;
	pthread_rwlock_unlock(&f->lock);
	return fd;
}

int file_access(struct file *f)
{
	int access;

	pthread_rwlock_rdlock(&f->lock);
	access = f->access;
	pthread_rwlock_unlock(&f->lock);
	return access;
}

uint64_t file_size(struct file *f)
{
	uint64_t size;

	pthread_rwlock_rdlock(&f->lock);
	size = f->size;
	pthread_rwlock_unlock(&f->lock);
	return size;
}

static bool same_file(const struct file *a, const struct file *b)
{
	return a->header_state == b->header_state
	       && a->disk_length == b->disk_length
	       && a->size == b->size && a->present == b->present
	       && !memcmp(a->header.id, b->header.id, ID_SIZE)
	       && a->header.size == b->header.size
	       && a->header.flags == b->header.flags;
}

static bool refresh_locked(struct file *f)
{
	struct file now = {
		.volume = f->volume, .fd = f->fd, .access = f->access,
		.quiet = f->quiet,
	};
	int error;

	if (f->torn)
		return !file_mend_torn(f);
	if (f->changed)
		return false;
	error = file_load(&now);
	atomic_store(&f->quiet, atomic_load(&now.quiet));
	if (error || same_file(f, &now))
		return false;
	f->header_state = now.header_state;
	f->header_stored = now.header_stored;
	f->header = now.header;
	f->size = now.size;
	f->present = now.present;
	f->disk_length = now.disk_length;
	f->tail_valid = false;
	atomic_store(&f->bad, false);
	atomic_fetch_add(&f->versions, 1);
	return true;
}

bool file_refresh(struct file *f)
{
	bool refreshed;

	pthread_rwlock_wrlock(&f->lock);
	refreshed = refresh_locked(f);
	pthread_rwlock_unlock(&f->lock);
	return refreshed;
}

unsigned file_versions(struct file *f)
{
	return atomic_load(&f->versions);
}

bool file_tag(struct file *f, uint16_t *tag)
{
	uint64_t hash, word;
	struct stat st;
	bool known;

	pthread_rwlock_rdlock(&f->lock);
	known = !fstat(f->fd, &st);
	if (known) {
		memcpy(&hash, f->header.id, sizeof(hash));
		word = (uint64_t)st.st_mtim.tv_sec * 1000000000
		       + (uint64_t)st.st_mtim.tv_nsec;
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash = (hash ^ (hash >> 32) ^ (uint64_t)st.st_size)
		       * UINT64_C(0x9e3779b97f4a7c15);
		*tag = (uint16_t)(hash >> 48);
		*tag += !*tag; /* 0 is for none */
	}
	pthread_rwlock_unlock(&f->lock);
	return known;
}

int file_stat(struct file *f, struct stat *st)
{
	bool differs;
	int error = 0;

	do {
		pthread_rwlock_rdlock(&f->lock);
		differs = false;
		if (fstat(f->fd, st)) {
			error = -errno;
		} else {
			differs = !f->changed &&
				(uint64_t)st->st_size != f->disk_length;
			st->st_size = (off_t)f->size;
		}
		pthread_rwlock_unlock(&f->lock);
	} while (differs && file_refresh(f));
	return error;
}

bool file_damaged(struct file *f)
{
	bool damaged;

	pthread_rwlock_rdlock(&f->lock);
	damaged = f->header_state == HEADER_BAD || file_is_truncated(f) ||
	          atomic_load(&f->bad);
	pthread_rwlock_unlock(&f->lock);
	return damaged;
}

int64_t file_bad_sector(struct file *f)
{
	return atomic_load(&f->bad) ? (int64_t)atomic_load(&f->bad_sector) : -1;
}

int file_ensure_header(struct file *f)
{
	if (f->header_state != HEADER_NONE)
		return f->header_state == HEADER_BAD ? -EBADMSG : 0;
	memset(&f->header, 0, sizeof(f->header));
	memcpy(f->header.made_in, f->made_in, ID_SIZE);
	if (RAND_bytes(f->header.id, ID_SIZE) != 1)
		return -EIO;
	f->header_state = HEADER_GOOD;
	f->header_stored = false;
	return 0;
}

int file_store_header(struct file *f, uint64_t size)
{
	uint8_t raw[HEADER_SIZE], old[HEADER_SIZE];
	uint64_t before = f->header.size;
	bool had_header;
	size_t done = 0;
	int error;

	file_quiet(f);
	had_header = f->header_stored &&
		io_read_full(f->fd, old, HEADER_SIZE, 0) == HEADER_SIZE;

	f->header.size = size;
	error = header_seal(f->volume->keys->content, &f->header, raw);
	if (!error)
		error = io_write_full(f->fd, raw, HEADER_SIZE, 0, &done);
	if (error) {
		f->header.size = before;
		/* Half a header is none: put the old one back, if it can be. */
		if (done && had_header &&
		    io_write_full(f->fd, old, HEADER_SIZE, 0, NULL))
			file_keep_torn(f, old, HEADER_SIZE, 0);
		return error;
	}
	f->header_stored = true;
	if (f->disk_length < HEADER_SIZE)
		f->disk_length = HEADER_SIZE;
	return 0;
}

int file_set_length(struct file *f, uint64_t length)
{
	if (io->ftruncate(f->fd, (off_t)length))
		return -errno;
	f->disk_length = length;
	return 0;
}

/* Take back what writing the header did to the file's attributes, where that
 * is permitted: the access time changes too, as the old header may be read,
 * and a writer without privileges clears the set-user-id bits. */
static void restore_attributes(struct file *f, const struct stat *before)
{
	const struct timespec times[2] = { before->st_atim, before->st_mtim };
	mode_t mode = before->st_mode & 07777;
	struct stat st;

	if ((mode & (S_ISUID | S_ISGID)) && !fstat(f->fd, &st) &&
	    (st.st_mode & 07777) != mode && fchmod(f->fd, mode))
		return; /* not the owner: then the times are not his either */
	io->futimens(f->fd, times);
}

int file_finalize_locked(struct file *f, bool keep_attributes)
{
	struct stat st;
	uint64_t length;
	int error;

	f->tail_valid = false;
	error = file_mend_torn(f);
	if (error)
		return error;
	if (!f->changed || f->header_state == HEADER_BAD)
		return 0;
	error = file_ensure_header(f);
	if (error)
		return error;
	length = size_encrypted(f->present);
	if (f->header_stored && f->header.size == f->size &&
	    f->disk_length == length) {
		f->changed = false;
		return 0;
	}
	if (keep_attributes && fstat(f->fd, &st))
		return -errno;
	/* The length before the size: in between the header says less than
	 * there is, which is an append without its close, and not a missing
	 * tail. But a header must be there before anything else. */
	if (!f->header_stored)
		error = file_store_header(f, f->header.size);
	if (!error && f->disk_length != length)
		error = file_set_length(f, length);
	if (!error && f->header.size != f->size)
		error = file_store_header(f, f->size);
	if (!error)
		f->changed = false;
	if (keep_attributes)
		restore_attributes(f, &st);
	return error;
}

int file_finalize(struct file *f)
{
	int error;

	pthread_rwlock_wrlock(&f->lock);
	error = file_finalize_locked(f, true);
	pthread_rwlock_unlock(&f->lock);
	return error;
}

int file_sync(struct file *f, bool data_only)
{
	int fd, error;

	pthread_rwlock_wrlock(&f->lock);
	error = file_finalize_locked(f, true);
	fd = f->fd; /* stays open until file_close, even when replaced */
	pthread_rwlock_unlock(&f->lock);
	if (error)
		return error;
	if (data_only ? io->fdatasync(fd) : io->fsync(fd)) {
		error = -errno;
		atomic_store(&f->lost_error, error);
		atomic_fetch_add(&f->lost, 1);
	}
	return error;
}

unsigned file_lost(struct file *f, int *error)
{
	unsigned lost = atomic_load(&f->lost);

	*error = atomic_load(&f->lost_error);
	return lost;
}
