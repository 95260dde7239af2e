/* Removing entries. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <utarray.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

enum { TEMP_DEPTH = 4 }; /* temporary directories in one another */

static const UT_icd id_icd = { ID_SIZE, NULL, NULL, NULL };

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Whether a name in a directory is that of a file of the tool's own, which
 * goes away with the directory. */
static bool is_helper(const char *text)
{
	switch (name_form(text)) {
	case NAME_DIR_ID:
	case NAME_LONG_FILE:
	case NAME_LINK_FILE:
	case NAME_TEMP:
		return true;
	case NAME_OWN_UNKNOWN: /* a conflict copy of one of them */
		return begins(text, NAME_DIR_PREFIX) ||
		       begins(text, NAME_LINK_PREFIX) ||
		       begins(text, "frondfs.long");
	default:
		return false;
	}
}

static bool is_dot(const char *text)
{
	return !strcmp(text, ".") || !strcmp(text, "..");
}

/* A stream over a directory of its own; NULL and *error. */
static DIR *open_stream(int dir, const char *text, int *error)
{
	int fd = open_quiet(dir, text, O_RDONLY | O_DIRECTORY);
	DIR *stream;

	*error = fd < 0 ? fd : 0;
	if (fd < 0)
		return NULL;
	stream = fdopendir(fd);
	if (!stream) {
		*error = -errno;
		close(fd);
	}
	return stream;
}

/* Whether what stands in the way is shown to the user: then he knows what to
 * do. `stream` is at its beginning. */
static bool has_shown(const struct volume *volume, DIR *stream,
                      const UT_array *ids)
{
	const uint8_t (*list)[ID_SIZE] = (const void *)ids->d;
	struct dirent *d;

	while ((d = readdir(stream)))
		if (strlen(d->d_name) <= NAME_TEXT_MAX &&
		    text_is_shown(volume, dirfd(stream), list,
		                  utarray_len(ids), d->d_name))
			return true;
	return false;
}

/* Read through a directory: 0 or -ENOTEMPTY; collect its ids. */
static int look(DIR *stream, UT_array *ids, char blocker[NAME_TEXT_MAX + 1])
{
	struct dirent *d;
	uint8_t id[ID_SIZE];
	int result = 0;

	for (errno = 0; (d = readdir(stream)); errno = 0) {
		if (is_dot(d->d_name))
			continue;
		if (!name_dir_id(d->d_name, id))
			utarray_push_back(ids, id);
		if (!is_helper(d->d_name) && !result) {
			result = -ENOTEMPTY;
			memcpy(blocker, d->d_name, strlen(d->d_name) + 1);
		}
	}
	return errno ? -errno : result;
}

int check_empty(struct dir *dir, const char *text)
{
	char blocker[NAME_TEXT_MAX + 1], path[4096];
	UT_array ids;
	int error;
	DIR *stream = open_stream(dir->fd, text, &error);

	if (!stream)
		return error;
	utarray_init(&ids, &id_icd);
	error = look(stream, &ids, blocker);
	if (error == -ENOTEMPTY) {
		rewinddir(stream);
		if (!has_shown(dir->volume, stream, &ids))
			volume_log("%s/%s: cannot be removed, as it still "
			           "holds \"%s\", which is hidden in the mount "
			           "(foreign or damaged): move that away, or "
			           "run frondfs fsck",
			           fd_path(dir->fd, path), text, blocker);
	}
	utarray_done(&ids);
	closedir(stream);
	return error;
}

/* Remove a temporary file, or a temporary directory that holds only helper
 * files. */
static int remove_temp_at(int dir, const char *name, int depth);

/* Remove the helper files of one kind: the id files, or all others. */
static int remove_helpers(DIR *stream, bool id_files, int depth)
{
	int fd = dirfd(stream), error = 0;
	struct dirent *d;
	uint8_t id[ID_SIZE];

	rewinddir(stream);
	for (errno = 0; !error && (d = readdir(stream)); errno = 0) {
		if (is_dot(d->d_name) ||
		    !name_dir_id(d->d_name, id) != id_files)
			continue;
		if (!is_helper(d->d_name))
			error = -ENOTEMPTY;
		else if (name_form(d->d_name) == NAME_TEMP)
			error = remove_temp_at(fd, d->d_name, depth);
		else if (io->unlinkat(fd, d->d_name, 0) && errno != ENOENT)
			error = errno == EISDIR || errno == EPERM ? -ENOTEMPTY
			                                          : -errno;
	}
	return error ? error : -errno;
}

static int remove_temp_at(int dir, const char *name, int depth)
{
	DIR *stream;
	int error;

	if (!io->unlinkat(dir, name, 0))
		return 0;
	if (errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth >= TEMP_DEPTH)
		return -ENOTEMPTY;
	/* An empty one goes even where no more files can be opened. */
	if (!io->unlinkat(dir, name, AT_REMOVEDIR))
		return 0;
	stream = open_stream(dir, name, &error);
	if (!stream)
		return error;
	error = remove_helpers(stream, false, depth + 1);
	if (!error)
		error = remove_helpers(stream, true, depth + 1);
	closedir(stream);
	if (!error && io->unlinkat(dir, name, AT_REMOVEDIR))
		error = -errno;
	return error;
}

int remove_temp(int dir, const char *name)
{
	return remove_temp_at(dir, name, 0);
}

/* Undo: give the directory its id files again. */
static void restore_ids(struct dir *dir, const struct dir_state *state,
                        int fd, const UT_array *ids)
{
	const uint8_t *id = NULL;

	while ((id = utarray_next(ids, id)))
		id_write(dir->volume, fd, id, state->ids[state->main]);
}

/* Empty and remove the directory `temp`. */
static int remove_away(struct dir *dir, const struct dir_state *state,
                       const char *temp)
{
	char blocker[NAME_TEXT_MAX + 1];
	UT_array ids;
	int error;
	DIR *stream = open_stream(dir->fd, temp, &error);

	if (!stream)
		return error;
	utarray_init(&ids, &id_icd);
	error = look(stream, &ids, blocker);
	if (!error)
		error = remove_helpers(stream, false, 0);
	if (!error) {
		error = remove_helpers(stream, true, 0);
		if (!error && io->unlinkat(dir->fd, temp, AT_REMOVEDIR))
			error = -errno;
		if (error)
			restore_ids(dir, state, dirfd(stream), &ids);
	}
	utarray_done(&ids);
	closedir(stream);
	return error;
}

int remove_dir(struct dir *dir, const struct dir_state *state,
               const char *text)
{
	char temp[TEMP_TEXT];
	bool widened = false;
	struct stat st;
	int fd, error = temp_name(temp);

	if (error)
		return error;
	fd = openat(dir->fd, text,
	            O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		error = -errno;
	if (!error)
		error = rename_new(dir->fd, text, dir->fd, temp);
	if (error) {
		close(fd);
		return error;
	}
	/* Out of sight now, so the wider mode is not seen. */
	if ((st.st_mode & 0700) != 0700 && geteuid() != 0) {
		error = chmod_path_fd(fd, st.st_mode | 0700);
		widened = !error;
	}
	if (!error)
		error = remove_away(dir, state, temp);
	if (error) {
		if (widened)
			chmod_path_fd(fd, st.st_mode);
		rename_new(dir->fd, temp, dir->fd, text);
	}
	close(fd);
	return error;
}

int dir_rmdir(struct dir *dir, const char *plain)
{
	struct dir_state *state;
	struct dir_entry entry;
	struct stat st;
	int error;

	if (dir->volume->read_only)
		return -EROFS;
	error = state_get(dir, &state);
	if (error)
		return error;
	error = state_find(dir, state, plain, &entry, &st);
	if (!error && !S_ISDIR(st.st_mode))
		error = -ENOTDIR;
	if (!error) {
		error = check_empty(dir, entry.text);
		/* A mode that does not allow to look: that comes later. */
		if (!error || error == -EACCES)
			error = remove_dir(dir, state, entry.text);
	}
	if (!error && entry.is_long)
		long_name_release(dir, state, entry.text);
	state_put(state);
	return error;
}

int dir_unlink(struct dir *dir, const char *plain)
{
	char file[LINK_FILE_TEXT];
	struct dir_state *state;
	struct dir_entry entry;
	bool has_file = false;
	struct stat st;
	int error;

	if (dir->volume->read_only)
		return -EROFS;
	error = state_get(dir, &state);
	if (error)
		return error;
	error = state_find(dir, state, plain, &entry, &st);
	if (!error && S_ISDIR(st.st_mode))
		error = -EISDIR;
	if (!error)
		has_file = !link_file_name(dir->fd, entry.text, &st, file);
	if (!error && io->unlinkat(dir->fd, entry.text, 0))
		error = -errno;
	if (!error && entry.is_long)
		long_name_release(dir, state, entry.text);
	if (!error && has_file)
		link_file_release(dir->fd, file);
	state_put(state);
	return error;
}
