#include "fs/mount/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "fs/format/sector.h"
#include "fs/mount/export.h"
#include "fs/mount/kept.h"
#include "fs/mount/place.h"
#include "fs/volume/io.h"

/*
 * The record of a node that is open. It is there before the file is opened and
 * until it is closed, so that of two threads one waits for the other and there
 * is never a second file object. `users` is protected by mount.lock, the rest
 * by its own.
 */
struct open_file {
	pthread_mutex_t lock;
	struct file *file;
	struct handle *handles;
	unsigned users; /* handles, and threads that are about to lock it */
	bool keeps_time;
	struct timespec time; /* of the last modification, to be restored */
};

/* A node's record with one more user, made if `make` is set; or NULL. */
static struct open_file *get_record(struct mount *mount, struct node *node,
                                    bool make)
{
	struct open_file *fresh = NULL, *open;

	if (make) {
		fresh = calloc(1, sizeof(*fresh));
		if (fresh)
			pthread_mutex_init(&fresh->lock, NULL);
	}
	pthread_mutex_lock(&mount->lock);
	if (!node->open && fresh) {
		node->open = fresh;
		node->closing = false;
		node_ref_locked(node);
		fresh = NULL;
	}
	open = node->open;
	if (open)
		open->users++;
	pthread_mutex_unlock(&mount->lock);
	if (fresh) {
		pthread_mutex_destroy(&fresh->lock);
		free(fresh);
	}
	return open;
}

static void put_record(struct mount *mount, struct node *node,
                       struct open_file *open)
{
	bool last;

	pthread_mutex_lock(&mount->lock);
	last = --open->users == 0;
	if (last) {
		node->open = NULL;
		node_settle_locked(mount, node);
		node_unref_locked(mount, node);
	}
	pthread_mutex_unlock(&mount->lock);
	if (last) {
		pthread_mutex_destroy(&open->lock);
		free(open);
	}
}

/* Open the ciphertext by name. Never blocks, should it have become a fifo. */
static int open_text(struct mount *mount, const struct place *place, int access)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int dir = dir_fd(place->dir);
	int fd = -1;

	if (mount->volume->read_only) {
		/* Only a file's owner may leave its access time alone. */
		fd = io_open(dir, place->text, O_RDONLY | O_NOATIME | flags);
		if (fd < 0 && errno == EPERM)
			fd = io_open(dir, place->text, O_RDONLY | flags);
	} else {
		fd = io_open(dir, place->text, access | flags);
	}
	return fd < 0 ? -errno : fd;
}

/* Open what has no name that is known, by number. */
static int open_number(struct mount *mount, struct node *node, int access)
{
	int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

	return export_open(mount, node, mount->volume->read_only
	                                ? O_RDONLY | O_NOATIME | flags
	                                : access | flags);
}

/* Open by the node's name: a descriptor, what it allows, and the id of the
 * directory it lies in. */
static int open_by_name(struct mount *mount, struct node *node, int access,
                        int *allows, uint8_t made_in[ID_SIZE])
{
	struct place place;
	struct stat st;
	int fd;

	pthread_rwlock_rdlock(&mount->tree);
	fd = place_find(mount, node, &place);
	if (!fd) {
		*allows = access == O_RDONLY ? O_RDONLY : O_RDWR;
		fd = open_text(mount, &place, *allows);
		if (fd == -EACCES && access == O_WRONLY) {
			*allows = O_WRONLY;
			fd = open_text(mount, &place, *allows);
		}
		dir_id(place.dir, made_in);
		place_done(&place);
	} else if (fd == -ESTALE && mount->export) {
		*allows = access == O_RDONLY ? O_RDONLY : O_RDWR;
		fd = open_number(mount, node, *allows);
		memset(made_in, 0, ID_SIZE);
	}
	pthread_rwlock_unlock(&mount->tree);
	if (fd == -ENOENT || fd == -ELOOP || fd == -ENXIO)
		return -ESTALE;
	if (fd >= 0 && (fstat(fd, &st) || !node_is(node, &st))) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* The same for a file that was replaced while somebody opened it. */
static int open_kept(struct mount *mount, struct node *node, int access,
                     int *allows, uint8_t made_in[ID_SIZE])
{
	int flags = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int kept = kept_get(mount, node), fd;
	char path[FD_PATH_SIZE];

	if (kept < 0)
		return kept;
	*allows = access == O_RDONLY ? O_RDONLY : O_RDWR;
	place_fd_path(path, kept);
	fd = io_open(AT_FDCWD, path, *allows | flags);
	if (fd < 0)
		fd = -errno;
	close(kept);
	memset(made_in, 0, ID_SIZE); /* only a new header would need it */
	return fd;
}

/* See to it that the file object's descriptor allows `access`. */
static int widen(struct file *file, int access)
{
	char path[FD_PATH_SIZE];
	int has = file_access(file);
	int fd;

	if (has == O_RDWR || has == access)
		return 0;
	/* By the descriptor, as the file may have no name any more. */
	place_fd_path(path, file_fd(file));
	fd = io_open(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file_replace_fd(file, fd, O_RDWR);
	return 0;
}

/* From here on the inode number may be given to another file, although the
 * node has a record; or, opened again by one who waited for it, not. The
 * record is locked. */
static void set_closing(struct mount *mount, struct node *node, bool closing)
{
	pthread_mutex_lock(&mount->lock);
	node->closing = closing;
	pthread_mutex_unlock(&mount->lock);
}

/*
 * Whether the file was changed by others since the kernel could know what is in
 * it. Nothing is known while somebody has it open for writing, as it is our own
 * writing then that changes it.
 */
static bool is_other_version(struct node *node, struct open_file *open,
                             bool writes)
{
	uint16_t before = node->version, now;
	bool is_known = file_tag(open->file, &now);

	node->version = is_known && !writes ? now : 0;
	return before && !(is_known && now == before);
}

static bool has_writer(struct open_file *open)
{
	struct handle *handle;

	DL_FOREACH(open->handles, handle)
		if (handle->writes)
			return true;
	return false;
}

static int open_file(struct mount *mount, struct node *node,
                     struct open_file *open, int access, bool *is_news)
{
	bool writes = access != O_RDONLY;
	uint8_t made_in[ID_SIZE];
	int allows, fd, error;

	if (open->file) {
		*is_news = file_refresh(open->file);
		*is_news |= is_other_version(node, open,
		                             writes || has_writer(open));
		return widen(open->file, access);
	}
	fd = open_by_name(mount, node, access, &allows, made_in);
	if (fd == -ESTALE)
		fd = open_kept(mount, node, access, &allows, made_in);
	if (fd < 0)
		return fd;
	error = file_open(&open->file, mount->volume, fd, allows, made_in);
	if (!error && node->closing)
		set_closing(mount, node, false);
	if (!error)
		*is_news = is_other_version(node, open, writes);
	return error;
}

/* A handle on the record, which is locked and whose user it becomes. */
static struct handle *new_handle(struct node *node, struct open_file *open,
                                 int access)
{
	struct handle *handle = calloc(1, sizeof(*handle));
	int error;

	if (!handle)
		return NULL;
	handle->node = node;
	handle->open = open;
	handle->file = open->file;
	handle->writes = access != O_RDONLY;
	atomic_init(&handle->lost, file_lost(open->file, &error));
	atomic_init(&handle->versions, file_versions(open->file));
	DL_APPEND(open->handles, handle);
	return handle;
}

static void note_time(struct open_file *open)
{
	struct stat st;

	open->keeps_time = !fstat(file_fd(open->file), &st);
	if (open->keeps_time)
		open->time = st.st_mtim;
}

static void restore_time(struct open_file *open)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT }, open->time
	};

	if (open->keeps_time)
		io->futimens(file_fd(open->file), times);
	open->keeps_time = false;
}

void open_keep_time(struct handle *handle)
{
	struct open_file *open = handle->open;

	pthread_mutex_lock(&open->lock);
	if (!open->keeps_time)
		note_time(open);
	pthread_mutex_unlock(&open->lock);
}

void open_note_time(struct handle *handle)
{
	struct open_file *open = handle->open;

	pthread_mutex_lock(&open->lock);
	if (open->keeps_time)
		note_time(open);
	pthread_mutex_unlock(&open->lock);
}

void open_restore_time(struct handle *handle)
{
	pthread_mutex_lock(&handle->open->lock);
	restore_time(handle->open);
	pthread_mutex_unlock(&handle->open->lock);
}

/* Where no handle is left, close the file. The record is locked. */
static int close_if_unused(struct mount *mount, struct node *node,
                           struct open_file *open)
{
	int error = 0, close_error;

	if (!open->handles && open->file) {
		set_closing(mount, node, true);
		if (open->keeps_time) {
			error = file_finalize(open->file);
			restore_time(open);
		} else {
			error = file_finalize(open->file);
		}
		if (!node->version) /* we wrote: it is known from here on */
			is_other_version(node, open, false);
		close_error = file_close(open->file);
		open->file = NULL;
		if (!error)
			error = close_error;
	}
	return error;
}

int open_node(struct mount *mount, struct node *node, int access,
              struct handle **out)
{
	struct open_file *open;
	bool is_news = false;
	int error;

	*out = NULL;
	if (mount->volume->read_only && access != O_RDONLY)
		return -EROFS;
	open = get_record(mount, node, true);
	if (!open)
		return -ENOMEM;
	pthread_mutex_lock(&open->lock);
	error = open_file(mount, node, open, access, &is_news);
	if (!error) {
		*out = new_handle(node, open, access);
		if (*out)
			(*out)->is_news = is_news;
		else
			error = -ENOMEM;
	}
	if (error)
		close_if_unused(mount, node, open);
	pthread_mutex_unlock(&open->lock);
	if (error)
		put_record(mount, node, open);
	return error;
}

int open_created(struct mount *mount, struct node *node, int fd,
                 const uint8_t made_in[ID_SIZE], struct handle **out)
{
	struct open_file *open = get_record(mount, node, true);
	int error = 0;

	*out = NULL;
	if (!open) {
		close(fd);
		return -ENOMEM;
	}
	pthread_mutex_lock(&open->lock);
	if (open->file) {
		close(fd);
		error = widen(open->file, O_RDWR);
	} else {
		error = file_open(&open->file, mount->volume, fd, O_RDWR,
		                  made_in);
	}
	if (!error) {
		*out = new_handle(node, open, O_RDWR);
		if (!*out)
			error = -ENOMEM;
	}
	if (error)
		close_if_unused(mount, node, open);
	pthread_mutex_unlock(&open->lock);
	if (error)
		put_record(mount, node, open);
	return error;
}

/* What nobody waits for is told in the log. */
static void log_unfinished(struct mount *mount, struct node *node, int error)
{
	char path[400];

	node_path(mount, node, path, sizeof(path));
	volume_log("%s: could not be finished when it was closed (error %d);"
	           " its data is there, run frondfs fsck", path, -error);
}

int open_close(struct mount *mount, struct handle *handle)
{
	struct open_file *open = handle->open;
	int error;

	pthread_mutex_lock(&open->lock);
	DL_DELETE(open->handles, handle);
	error = close_if_unused(mount, handle->node, open);
	pthread_mutex_unlock(&open->lock);
	if (error)
		log_unfinished(mount, handle->node, error);
	put_record(mount, handle->node, open);
	free(handle);
	return error;
}

int open_sync(struct handle *handle, bool data_only)
{
	int error = file_sync(handle->file, data_only), lost_error;
	unsigned lost = file_lost(handle->file, &lost_error);

	if (atomic_exchange(&handle->lost, lost) != lost && !error)
		error = lost_error;
	return error;
}

struct handle *open_if_open(struct mount *mount, struct node *node)
{
	struct open_file *open = get_record(mount, node, false);
	struct handle *handle = NULL;

	if (!open)
		return NULL;
	pthread_mutex_lock(&open->lock);
	if (open->file)
		handle = new_handle(node, open, O_RDONLY);
	pthread_mutex_unlock(&open->lock);
	if (!handle)
		put_record(mount, node, open);
	return handle;
}

bool open_is_open(struct mount *mount, struct node *node)
{
	bool is;

	pthread_mutex_lock(&mount->lock);
	is = node->open != NULL;
	pthread_mutex_unlock(&mount->lock);
	return is;
}

bool open_for_writing(struct mount *mount, struct node *node)
{
	struct open_file *open = get_record(mount, node, false);
	bool found;

	if (!open)
		return false;
	pthread_mutex_lock(&open->lock);
	found = has_writer(open);
	pthread_mutex_unlock(&open->lock);
	put_record(mount, node, open);
	return found;
}

int open_stat(struct mount *mount, struct node *node, struct stat *st)
{
	struct open_file *open = get_record(mount, node, false);
	int error = -ENOENT;

	if (!open)
		return error;
	pthread_mutex_lock(&open->lock);
	if (open->file)
		error = file_stat(open->file, st);
	pthread_mutex_unlock(&open->lock);
	put_record(mount, node, open);
	return error;
}

void open_close_all(struct mount *mount)
{
	struct node *node, *next;

	HASH_ITER(hh, mount->nodes, node, next) {
		struct open_file *open = node->open;
		struct handle *handle, *next_handle;
		int error;

		if (!open)
			continue;
		DL_FOREACH_SAFE(open->handles, handle, next_handle)
			free(handle);
		open->handles = NULL;
		error = close_if_unused(mount, node, open);
		if (error)
			log_unfinished(mount, node, error);
		pthread_mutex_destroy(&open->lock);
		free(open);
		node->open = NULL;
		node->refs--;
	}
}

void open_log_damage(struct mount *mount, struct handle *handle,
                     uint64_t position)
{
	struct node *node = handle->node;
	int64_t sector = file_bad_sector(handle->file);
	char path[800];

	node->damaged = true;
	if (atomic_exchange(&node->damage_logged, true))
		return;
	node_path(mount, node, path, sizeof(path));
	if (sector < 0)
		volume_log("%s: the header is damaged or the file's tail is"
		           " missing (read at byte %" PRIu64 "); frondfs fsck"
		           " tells more", path, position);
	else
		volume_log("%s: sector %" PRId64 " does not authenticate; the"
		           " other sectors can be read, frondfs fsck tells more",
		           path, sector);
}
