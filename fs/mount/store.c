#include "fs/mount/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "fs/mount/dircache.h"
#include "fs/mount/node.h"

enum {
	LITTLE_ROOM = 64 << 20, /* bytes */
	FULL_FOR = 60,          /* seconds after an error that said so */
};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static long tried; /* second, protected by that */

/* Seconds by the monotonic clock. */
static atomic_long asked = -1, full_until = -1;
static atomic_bool has_little_room;

static long now_in_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (long)now.tv_sec;
}

bool store_is_nearly_full(struct mount *mount)
{
	long now = now_in_seconds();
	struct statvfs st;

	if (atomic_load(&full_until) > now)
		return true;
	if (atomic_exchange(&asked, now) != now
	    && !fstatvfs(mount->volume->root, &st))
		has_little_room = (uint64_t)st.f_bavail * st.f_frsize
		                  < LITTLE_ROOM;
	return has_little_room;
}

static bool may_be_gone(int error)
{
	switch (-error) {
	case ENOTCONN: case ECONNABORTED: case ESHUTDOWN: case EHOSTDOWN:
	case ESTALE: case ENODEV: case EIO:
		return true;
	default:
		return false;
	}
}

static bool answers(const struct mount *mount)
{
	struct statvfs st;

	return !fstatvfs(mount->volume->root, &st);
}

/* The root directory below `root`, if it is the one that we know. */
static int open_same(struct mount *mount, int root, struct dir **out,
                     struct stat *st)
{
	uint8_t id[ID_SIZE], known[ID_SIZE];
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st)) {
		error = -errno;
		close(fd);
		return error;
	}
	error = dir_open(out, mount->volume, fd);
	if (error)
		return error;
	dir_id(*out, id);
	dir_id(mount->root_dir, known);
	if (!memcmp(id, known, ID_SIZE))
		return 0;
	dir_unref(*out);
	return -ESTALE;
}

static void begin_anew(struct mount *mount, struct dir *dir,
                       const struct stat *st)
{
	struct dir *old;

	pthread_rwlock_wrlock(&mount->tree);
	pthread_mutex_lock(&mount->lock);
	old = mount->root_dir;
	mount->root_dir = dir;
	dircache_clear_locked(mount);
	node_begin_anew_locked(mount, st);
	pthread_mutex_unlock(&mount->lock);
	pthread_rwlock_unlock(&mount->tree);
	dir_unref(old);
}

static void find_again(struct mount *mount)
{
	int root = volume_find_again(mount->volume);
	struct dir *dir;
	struct stat st;

	if (root < 0)
		return;
	/* The number stays, so that no thread holds a closed one. */
	if (!open_same(mount, root, &dir, &st)) {
		if (dup3(root, mount->volume->root, O_CLOEXEC) >= 0) {
			begin_anew(mount, dir, &st);
			volume_log("%s was gone and is there again; files that"
			           " were open are lost to their programs",
			           mount->volume->path);
		} else {
			dir_unref(dir);
		}
	}
	close(root);
}

void store_look_after(struct mount *mount, int error)
{
	long now;

	if (error == -ENOSPC || error == -EDQUOT)
		full_until = now_in_seconds() + FULL_FOR;
	if (!may_be_gone(error) || pthread_mutex_trylock(&one_at_a_time))
		return;
	now = now_in_seconds();
	if (now != tried) {
		tried = now;
		if (!answers(mount))
			find_again(mount);
	}
	pthread_mutex_unlock(&one_at_a_time);
}
