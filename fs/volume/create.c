#include "fs/volume/create.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/format/name.h"
#include "fs/format/recovery.h"
#include "fs/volume/dir.h"
#include "fs/volume/io.h"
#include "fs/volume/volume.h"

static const char case_probe[] = NAME_TEMP_PREFIX "case";
static const char case_probe_upper[] = "FRONDFS.TMP.CASE";

static DIR *open_listing(int root)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* An id file, or one of the temporary files that this file and config.c make:
 * regular ones only, so that no directory that is being renamed away is taken
 * for one. */
static bool is_leftover(int root, const char *name)
{
	struct stat st;
	bool own = name_form(name) == NAME_DIR_ID ||
	           !strncmp(name, NAME_TEMP_PREFIX,
	                    sizeof(NAME_TEMP_PREFIX) - 1);

	return own && !fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode);
}

int create_look(int root, char *found, size_t size)
{
	DIR *dir = open_listing(root);
	struct dirent *entry;
	int state = CREATE_EMPTY;

	if (!dir)
		return -errno;
	errno = 0;
	while ((entry = readdir(dir))) {
		if (is_dots(entry->d_name))
			continue;
		if (!strcmp(entry->d_name, NAME_CONFIG)) {
			state = CREATE_VOLUME;
			break;
		}
		if (!is_leftover(root, entry->d_name)) {
			snprintf(found, size, "%s", entry->d_name);
			state = CREATE_NOT_EMPTY;
		} else if (state == CREATE_EMPTY) {
			state = CREATE_LEFTOVERS;
		}
		errno = 0;
	}
	if (!entry && errno)
		state = -errno;
	closedir(dir);
	return state;
}

/* Either the id files or the temporary ones. */
static int remove_leftovers(int root, bool ids)
{
	DIR *dir = open_listing(root);
	struct dirent *entry;
	int error = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (is_leftover(root, entry->d_name) &&
		    (name_form(entry->d_name) == NAME_DIR_ID) == ids &&
		    io->unlinkat(root, entry->d_name, 0) && !error)
			error = -errno;
	closedir(dir);
	return error;
}

static int clean(int root)
{
	int error = remove_leftovers(root, false);

	return error ? error : remove_leftovers(root, true);
}

int create_begin(int root, char *found, size_t size, int *lock)
{
	int state, fd = config_lock(root);

	if (fd < 0)
		return fd;
	state = create_look(root, found, size);
	if (state == CREATE_LEFTOVERS) {
		int error = clean(root);

		state = error ? error : CREATE_EMPTY;
	}
	if (state == CREATE_EMPTY)
		*lock = fd;
	else
		close(fd);
	return state;
}

/*
 * What the store can do
 */

/* Makes and removes a file whose name has `length` bytes. */
static int try_name(int root, size_t length)
{
	char name[NAME_TEXT_MAX + 1];
	int fd;

	memset(name, 'n', length);
	memcpy(name, NAME_TEMP_PREFIX, sizeof(NAME_TEMP_PREFIX) - 1);
	name[length] = '\0';
	fd = io->openat(root, name,
	                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return io->unlinkat(root, name, 0) ? -errno : 0;
}

int create_name_limit(int root)
{
	struct statvfs st;
	size_t good = 32, bad = NAME_TEXT_MAX + 1;
	int error;

	if (!fstatvfs(root, &st) && st.f_namemax >= good &&
	    st.f_namemax < bad)
		bad = st.f_namemax + 1;
	error = try_name(root, bad - 1);
	if (!error)
		return (int)bad - 1;
	if (error != -ENAMETOOLONG && error != -EINVAL)
		return error;
	error = try_name(root, good);
	if (error)
		return error;
	while (bad - good > 1) {
		size_t middle = (good + bad) / 2;

		error = try_name(root, middle);
		if (!error)
			good = middle;
		else if (error == -ENAMETOOLONG || error == -EINVAL)
			bad = middle;
		else
			return error;
	}
	return (int)good;
}

int create_ignores_case(int root)
{
	struct stat st;
	int same, fd = io->openat(root, case_probe, O_WRONLY | O_CREAT | O_EXCL |
	                                            O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	same = !fstatat(root, case_probe_upper, &st, AT_SYMLINK_NOFOLLOW);
	return io->unlinkat(root, case_probe, 0) ? -errno : same;
}

/*
 * The volume
 */

static int sync_parent(const char *file)
{
	char *copy = strdup(file);
	int fd, error = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	if (fd < 0)
		return errno == EACCES ? 0 : -errno; /* may not be readable */
	if (io->fsync(fd) && errno != EINVAL && errno != ENOTSUP &&
	    errno != EBADF)
		error = -errno;
	close(fd);
	return error;
}

int create_recovery_file(const char *file, const struct config *config,
                         const uint8_t master[KEY_SIZE])
{
	char key[RECOVERY_TEXT], text[RECOVERY_TEXT + 256];
	char uuid[CONFIG_UUID_TEXT];
	int error, n, fd = io->openat(AT_FDCWD, file, O_WRONLY | O_CREAT |
	                              O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	error = recovery_encode(key, master, config->stream);
	if (!error) {
		config_uuid_text(uuid, config);
		n = snprintf(text, sizeof(text),
		             "# Recovery key of the frondfs volume %s\n"
		             "# It opens the volume without a passphrase. Keep it "
		             "secret, and away from the volume.\n%s\n",
		             uuid, key);
		error = io_write_full(fd, text, (size_t)n, 0, NULL);
	}
	OPENSSL_cleanse(key, sizeof(key));
	OPENSSL_cleanse(text, sizeof(text));
	if (!error && io->fsync(fd))
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	if (!error)
		error = sync_parent(file);
	if (error)
		io->unlinkat(AT_FDCWD, file, 0);
	return error;
}

static enum config_error failed(struct config *config, const char *what,
                                int error)
{
	config->io_error = error;
	snprintf(config->problem, sizeof(config->problem), "%s: %s", what,
	         strerror(-error));
	return CONFIG_IO;
}

/* The root's id file. */
static int make_id(const struct volume *volume)
{
	int fd = openat(volume->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	error = dir_make_id(volume, fd, NULL);
	close(fd);
	return error;
}

static enum config_error make_files(const struct volume *volume,
                                    struct config *config,
                                    const uint8_t master[KEY_SIZE],
                                    const char *recovery_file)
{
	enum config_error result;
	int error = make_id(volume);

	if (error)
		return failed(config, "making the root's id file", error);
	if (recovery_file) {
		error = create_recovery_file(recovery_file, config, master);
		if (error)
			return failed(config, "writing the recovery key", error);
	}
	result = config_write(config, volume->root, master);
	if (result && recovery_file &&
	    faccessat(volume->root, NAME_CONFIG, F_OK, 0))
		io->unlinkat(AT_FDCWD, recovery_file, 0);
	return result;
}

enum config_error create_volume(const char *path, struct config *config,
                                const uint8_t master[KEY_SIZE],
                                const char *recovery_file)
{
	struct volume *volume;
	struct keys *keys;
	enum config_error result;
	int error = keys_new(&keys, master, config->stream);

	/* The lock is create_begin's. */
	if (!error)
		error = volume_open(&volume, path, keys, config->uuid,
		                    config->name_limit, false, VOLUME_USE_NONE);
	if (error)
		return failed(config, "opening the directory", error);
	result = make_files(volume, config, master, recovery_file);
	/* An error after the rename leaves a volume whose config may not be
	 * durable yet; without its id file it would be a broken one. */
	if (result && faccessat(volume->root, NAME_CONFIG, F_OK, 0))
		clean(volume->root);
	volume_close(volume);
	return result;
}
