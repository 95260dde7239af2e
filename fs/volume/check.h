/*
 * Checking a whole volume, or parts of it, without a mount: every directory
 * id, every name, link and attribute, every header and every sector. Changes
 * nothing, access times included where the system lets us.
 */
#ifndef FS_VOLUME_CHECK_H
#define FS_VOLUME_CHECK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/volume/volume.h"

enum check_class {
	/* Damage: something that was stored cannot be read. */
	CHECK_CORRUPT_SECTOR,
	CHECK_ZEROED_SECTOR,
	CHECK_SHORT_SECTOR,
	CHECK_CORRUPT_HEADER,
	CHECK_TRUNCATED,
	CHECK_CORRUPT_NAME,
	CHECK_MISSING_DIR_ID,
	CHECK_WRONG_DIR_ID,   /* no name in the directory opens */
	CHECK_DAMAGED_DIR_ID, /* the id file's content; names still open */
	CHECK_CORRUPT_LINK,
	CHECK_CORRUPT_XATTR,
	CHECK_READ_ERROR,
	/* Unfinished: a change that was cut short; nothing stored is lost. */
	CHECK_UNCLEAN_APPEND,
	CHECK_UNFINISHED_CREATE,
	CHECK_ORPHAN_LONG_NAME,
	CHECK_ORPHAN_LINK_FILE,
	CHECK_LEFTOVER,       /* a temporary entry */
	/* Notes: no error of the volume. */
	CHECK_MERGED_DIR,     /* several ids: a sync tool merged directories */
	CHECK_CONFLICT_COPY,
	CHECK_FOREIGN,
	/* Not checked. */
	CHECK_NO_PERMISSION,
	CHECK_CLASSES,
};

enum check_severity { CHECK_DAMAGE, CHECK_UNFINISHED, CHECK_NOTE, CHECK_SKIPPED };

enum check_severity check_severity(enum check_class class);

/* "corrupt sector", ... and what a person can do about it. */
const char *check_class_name(enum check_class class);
const char *check_class_advice(enum check_class class);

struct check_finding {
	enum check_class class;
	const char *plain;       /* path in the mount, or as much of it as is
	                          * known (ciphertext names below that) */
	const char *cipher;      /* path below the ciphertext root */
	bool has_sectors;
	uint64_t first, last;    /* sectors, inclusive */
	bool has_bytes;
	uint64_t start, end;     /* plaintext bytes [start, end) */
	const char *detail;      /* further words, or NULL */
};

struct check_options {
	unsigned threads;        /* 0: one for each core */
	/* Called for each finding, by one thread at a time. */
	void (*found)(void *context, const struct check_finding *finding);
	void *context;
};

/* What was done so far; may be read while the check runs. */
struct check_progress {
	atomic_bool cancel;      /* set to stop */
	_Atomic uint64_t total;  /* bytes to read; grows until total_known */
	atomic_bool total_known;
	_Atomic uint64_t bytes;  /* ciphertext bytes read */
	_Atomic uint64_t files, directories, links, others;
	_Atomic uint64_t counts[CHECK_CLASSES];
};

/*
 * Check the subtrees or entries that `paths` name (plaintext paths from the
 * root of the volume), or all of it where count is 0.
 * Returns 0 whatever was found, -ECANCELED, -ENOMEM, or an error of the first
 * directory; or the error of a path, with *failed set to it: -ENOENT where it
 * does not exist, -EINVAL where it has "..".
 */
int check_volume(const struct volume *volume, const char *const *paths,
                 size_t count, const struct check_options *options,
                 struct check_progress *progress, const char **failed);

/* Add up the bytes that a check will read, into progress->total; for a
 * progress line, beside check_volume in a thread of its own. */
void check_measure(const struct volume *volume,
                   struct check_progress *progress);

#endif
