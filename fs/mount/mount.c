#include "fs/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/mount/kept.h"
#include "fs/mount/node.h"
#include "fs/mount/open.h"

enum { DIRS_MAX = 256 };

/* Each open file of a user is one of ours, so as many as may be; a part of
 * them for the directories that are kept open. */
static unsigned directories_to_keep(void)
{
	struct rlimit limit;
	rlim_t keep;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 16;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 16;
	keep = limit.rlim_cur / 4;
	return keep < DIRS_MAX ? (unsigned)keep : DIRS_MAX;
}

static int open_root(struct mount *mount)
{
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	struct stat st;
	int fd = -1, error;

	if (mount->volume->read_only)
		fd = openat(mount->volume->root, ".", flags | O_NOATIME);
	if (fd < 0)
		fd = openat(mount->volume->root, ".", flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		close(fd);
		return -errno;
	}
	error = dir_open(&mount->root_dir, mount->volume, fd);
	return error ? error : node_make_root(mount, &st);
}

int mount_new(struct mount **out, const struct volume *volume)
{
	struct mount *mount = calloc(1, sizeof(*mount));
	pthread_rwlockattr_t attr;
	int error;

	*out = NULL;
	if (!mount)
		return -ENOMEM;
	mount->volume = volume;
	mount->entry_timeout = 1.0;
	mount->attr_timeout = 1.0;
	mount->dir_limit = directories_to_keep();
	pthread_mutex_init(&mount->lock, NULL);
	/* Many short readers must not keep a rename waiting for ever. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&mount->tree, &attr);
	pthread_rwlockattr_destroy(&attr);
	error = open_root(mount);
	if (error)
		mount_free(mount);
	else
		*out = mount;
	return error;
}

void mount_free(struct mount *mount)
{
	if (!mount)
		return;
	open_close_all(mount);
	kept_free(mount);
	node_free_all(mount);
	dir_unref(mount->root_dir);
	pthread_rwlock_destroy(&mount->tree);
	pthread_mutex_destroy(&mount->lock);
	free(mount);
}
