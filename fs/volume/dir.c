#include "fs/volume/dir_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

/* A scan may take this part of a thread's time at most: a directory of a
 * million entries that changes all the time is not read every second. */
enum { SCAN_SHARE = 20 };

/* A ctime younger than this (ms) does not tell of a change that comes right
 * after it: FAT counts in steps of 2 s. */
enum { RECENT_MS = 2500 };

static uint64_t now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

const char *fd_path(int fd, char path[4096])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, 4095);
	if (n < 0)
		return "a directory";
	path[n] = '\0';
	return path;
}

void state_put(struct dir_state *state)
{
	struct odd *o, *next;

	if (!state || atomic_fetch_sub(&state->refs, 1) != 1)
		return;
	HASH_CLEAR(by_shown, state->by_shown);
	HASH_ITER(by_text, state->by_text, o, next) {
		HASH_DELETE(by_text, state->by_text, o);
		free(o);
	}
	free(state);
}

/* Read the state again; called with the lock held. Where the directory cannot
 * be read any more (its mode changed) the old one stays. */
static int refresh(struct dir *dir, const struct stat *st)
{
	struct dir_state *state;
	uint64_t start = now_ms(CLOCK_MONOTONIC), taken;
	char path[4096];
	int error = state_read(dir, &state);

	taken = now_ms(CLOCK_MONOTONIC) - start;
	dir->interval = DIR_REFRESH_MS;
	if (taken * SCAN_SHARE > dir->interval)
		dir->interval = taken * SCAN_SHARE;
	if (error == -EUCLEAN && st->st_nlink == 0)
		return dir->state ? 0 : -ENOENT;
	if (error == -EUCLEAN)
		volume_log("%s: no frondfs.dir. file, so the names in this "
		           "directory cannot be read: restore that file from "
		           "a backup, or run frondfs fsck",
		           fd_path(dir->fd, path));
	if (error)
		return dir->state && error != -EUCLEAN ? 0 : error;
	state_put(dir->state);
	dir->state = state;
	dir->changed = st->st_ctim;
	dir->recent = (uint64_t)st->st_ctim.tv_sec * 1000 + RECENT_MS >
	              now_ms(CLOCK_REALTIME);
	return 0;
}

static int get(struct dir *dir, struct dir_state **out, bool force)
{
	struct stat st;
	uint64_t now = now_ms(CLOCK_MONOTONIC_COARSE);
	int error = 0;

	pthread_mutex_lock(&dir->lock);
	if (force || now - dir->checked > dir->interval) {
		if (fstat(dir->fd, &st))
			error = -errno;
		else if (!dir->state || dir->recent ||
		         st.st_ctim.tv_sec != dir->changed.tv_sec ||
		         st.st_ctim.tv_nsec != dir->changed.tv_nsec)
			error = refresh(dir, &st);
		/* A directory without ids is looked at again at once. */
		if (!error)
			dir->checked = now_ms(CLOCK_MONOTONIC_COARSE);
	}
	if (!error) {
		atomic_fetch_add(&dir->state->refs, 1);
		*out = dir->state;
	}
	pthread_mutex_unlock(&dir->lock);
	return error;
}

int state_get(struct dir *dir, struct dir_state **out)
{
	return get(dir, out, false);
}

int state_get_now(struct dir *dir, struct dir_state **out)
{
	return get(dir, out, true);
}

void state_forget(struct dir *dir)
{
	pthread_mutex_lock(&dir->lock);
	dir->recent = true;
	dir->interval = 0;
	dir->checked = 0;
	pthread_mutex_unlock(&dir->lock);
}

int dir_open(struct dir **out, const struct volume *volume, int fd)
{
	struct dir *dir = calloc(1, sizeof(*dir));
	struct dir_state *state;
	struct stat st;
	int error = 0;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	dir->volume = volume;
	dir->fd = fd;
	atomic_init(&dir->refs, 1);
	pthread_mutex_init(&dir->lock, NULL);
	if (fstat(fd, &st))
		error = -errno;
	else if (!S_ISDIR(st.st_mode))
		error = -ENOTDIR;
	if (!error) {
		dir->device = st.st_dev;
		dir->inode = st.st_ino;
		error = state_get_now(dir, &state);
	}
	if (error) {
		dir_unref(dir);
		return error;
	}
	state_put(state);
	*out = dir;
	return 0;
}

struct dir *dir_ref(struct dir *dir)
{
	atomic_fetch_add(&dir->refs, 1);
	return dir;
}

void dir_unref(struct dir *dir)
{
	if (!dir || atomic_fetch_sub(&dir->refs, 1) != 1)
		return;
	state_put(dir->state);
	pthread_mutex_destroy(&dir->lock);
	close(dir->fd);
	free(dir);
}

int dir_fd(const struct dir *dir)
{
	return dir->fd;
}

void dir_id(struct dir *dir, uint8_t id[ID_SIZE])
{
	pthread_mutex_lock(&dir->lock);
	memcpy(id, dir->state->ids[dir->state->main], ID_SIZE);
	pthread_mutex_unlock(&dir->lock);
}

int id_write(const struct volume *volume, int fd, const uint8_t *id,
             const uint8_t *parent)
{
	uint8_t tweak[TWEAK_SIZE], sealed[ID_SIZE + SEAL_TRAILER];
	char name[NAME_DIR_TEXT];
	int error;

	tweak_make(tweak, id, 0, TWEAK_DIR);
	error = seal(volume->keys->name, tweak, sealed, parent, ID_SIZE,
	             ID_SIZE);
	if (error)
		return error;
	name_dir_text(name, id);
	return helper_make(fd, name, sealed, sizeof(sealed));
}

int dir_make_id(const struct volume *volume, int fd, const uint8_t *parent)
{
	uint8_t id[ID_SIZE];

	if (RAND_bytes(id, sizeof(id)) != 1)
		return -EIO;
	return id_write(volume, fd, id, parent ? parent : id);
}
