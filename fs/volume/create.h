/*
 * Making a volume in an empty directory. The order of the steps is such that a
 * kill at any moment leaves a whole volume or none: the root's id file, the
 * file for the recovery key, and last frondfs.conf, by a rename. What a killed
 * attempt left (some of the tool's own files, but no frondfs.conf) is removed
 * by the next one.
 */
#ifndef FS_VOLUME_CREATE_H
#define FS_VOLUME_CREATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/volume/config.h"

/* What a directory that is to become a volume holds. */
enum create_state {
	CREATE_EMPTY,
	CREATE_LEFTOVERS, /* only those of an attempt that was killed */
	CREATE_VOLUME,    /* a frondfs.conf */
	CREATE_NOT_EMPTY, /* anything else */
};

/* Look, and change nothing. Returns a state or a negative errno. `found`
 * becomes the name of an entry that is in the way. */
int create_look(int root, char *found, size_t size);

/*
 * Begin: take the lock of the volume to be (config_lock), look again, and
 * remove leftovers. Returns CREATE_EMPTY with the lock's descriptor in *lock,
 * to be closed when all is done; another state; -EBUSY where another process
 * makes or uses a volume there; or the error of removing.
 */
int create_begin(int root, char *found, size_t size, int *lock);

/* The longest name, in bytes, that the store of `root` takes: what it says, and
 * the largest that works. It makes files there and removes them. Returns a
 * negative errno where even the shortest fails. */
int create_name_limit(int root);

/* Whether the store takes names that differ only by case for the same: 1, 0,
 * or a negative errno. */
int create_ignores_case(int root);

/*
 * Make the volume in the directory `path`, after create_begin: `config` has
 * its slots already. Where recovery_file is not NULL the recovery key is written
 * there, into a new file of mode 0600; an existing one is -EEXIST.
 * Returns CONFIG_OK, or CONFIG_IO with config->problem and io_error. What was
 * made before the error is removed again.
 */
enum config_error create_volume(const char *path, struct config *config,
                                const uint8_t master[KEY_SIZE],
                                const char *recovery_file);

/* Write a recovery key into a new file, with a line that says what it is;
 * synced. Returns 0 or a negative errno. */
int create_recovery_file(const char *file, const struct config *config,
                         const uint8_t master[KEY_SIZE]);

#endif
