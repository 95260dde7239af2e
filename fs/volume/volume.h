/*
 * An open volume: its root directory, its keys and what its config says. It
 * does not change once it is open, so threads share it freely.
 */
#ifndef FS_VOLUME_VOLUME_H
#define FS_VOLUME_VOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/format/keys.h"
#include "fs/format/seal.h"

/* How a volume is used; for the lock on its root directory. */
enum volume_use {
	VOLUME_USE_WRITE, /* one read-write mount; excludes the next two */
	VOLUME_USE_CHECK, /* fsck: any number; excludes a read-write mount */
	VOLUME_USE_NONE,  /* read-only mounts: no lock */
};

struct volume {
	int root;           /* descriptor of the ciphertext root */
	char *path;         /* its absolute path, for messages */
	struct keys *keys;
	uint8_t uuid[ID_SIZE];
	size_t name_limit;  /* bytes of the store's longest name */
	enum volume_use use;
	bool read_only;     /* nothing below root may be changed, not even times */
};

/*
 * Make a volume object for the directory `path`, with keys that were opened
 * by fs/volume/config; the object owns the keys from then on, also when this
 * fails. Takes the lock (flock on the root directory, which ends with the
 * process; a store without locks is used without one). Returns 0, -EBUSY when
 * another process holds the lock, or the error of open.
 */
int volume_open(struct volume **out, const char *path, struct keys *keys,
                const uint8_t uuid[ID_SIZE], size_t name_limit,
                bool read_only, enum volume_use use);

/*
 * Open the root directory again by its path, where another mount of the same
 * volume may have come: a descriptor, with the lock that the volume has;
 * -ESTALE where another volume is there, or the error of opening, reading its
 * config or locking.
 */
int volume_find_again(const struct volume *volume);

/* Wipe the keys, close and free; NULL is allowed. */
void volume_close(struct volume *volume);

/*
 * Say one line about the volume's state for people: to the system log, or to
 * stderr for the tools. Names in it are ciphertext names. Repetition is
 * limited to a few lines a second, so that a damaged disk cannot fill a log.
 */
void volume_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where volume_log writes: stderr at first, the system log for a daemon. */
void volume_log_to_syslog(bool on);

#endif
