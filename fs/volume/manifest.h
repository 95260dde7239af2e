/*
 * Sealed manifests: what the ciphertext of a volume was at one time, so that
 * also what no sector can prove is found: removed and exchanged files, files
 * and sectors put back to an older state. The format stands in doc/format.md,
 * "Sealed manifests".
 *
 * A manifest is read and written as a stream in the order of a walk through the
 * tree; what is kept in memory is the differences, and what has hard links.
 */
#ifndef FS_VOLUME_MANIFEST_H
#define FS_VOLUME_MANIFEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/volume/volume.h"

/* What is done so far; may be read while a call runs. */
struct manifest_progress {
	atomic_bool cancel;     /* set to stop */
	_Atomic uint64_t total; /* bytes to read; grows until total_known */
	atomic_bool total_known;
	_Atomic uint64_t bytes; /* ciphertext bytes read */
	_Atomic uint64_t files, directories, links, others;
	_Atomic uint64_t reused; /* files whose old line was taken */
	_Atomic uint64_t foreign;/* entries that a seal does not cover */
};

/* Why a manifest cannot be used. */
enum manifest_error {
	MANIFEST_OK,
	MANIFEST_NONE,        /* it is not there */
	MANIFEST_UNSIGNED,    /* a key was given, but there is no signature */
	MANIFEST_BAD,         /* not of a manifest's or a signature's form */
	MANIFEST_MISMATCHED,  /* the two files are not of the same seal */
	MANIFEST_FORGED,      /* the signature is not of this volume's key */
	MANIFEST_NEWER,       /* the signature is of a later version */
	MANIFEST_IO,          /* io_error */
};

struct manifest_status {
	enum manifest_error error;
	int io_error;         /* negative errno */
	char problem[160];    /* in words, where `error` does not say it all */
};

struct manifest;

/*
 * Open the manifest at `path` and the signature beside it, read both to their
 * ends and check them: that each line is of the right form and in its place,
 * that the signature is this manifest's, and with `key` (KEY_SIZE bytes, the
 * seal key) that it is the volume's. Without a key a manifest without a
 * signature is taken as well. NULL, with *status set, where it cannot be used.
 */
struct manifest *manifest_open(const char *path, const uint8_t *key,
                               struct manifest_status *status);
void manifest_close(struct manifest *manifest); /* NULL is allowed */

struct manifest_info {
	bool has_signature;
	bool checked;       /* the signature, with a key */
	int64_t time;       /* seconds since 1970 when the seal was begun */
	uint64_t entries, files;
	uint64_t bytes;     /* of all files, with a signature */
};

const struct manifest_info *manifest_info(const struct manifest *manifest);

struct manifest_seal {
	const char *path;      /* of the manifest */
	bool update;           /* take lines of files that look unchanged */
	unsigned threads;      /* 0: one for each core */
	/* Becomes: */
	struct manifest_status old; /* of the manifest that stood there */
	int64_t time;
	uint64_t entries;
	char *failed;          /* the path that the error is about, malloc'ed, or
	                        * NULL; below the root if in_volume */
	bool in_volume;
};

/*
 * Write the manifest of the volume, and its signature. Both replace older ones
 * at once or not at all: a process that is killed leaves the old pair, or the
 * new one, also where the pair is half renamed.
 * Returns 0, -ECANCELED, -EBUSY (another seal is being written there), -ESTALE
 * (a file changed while it was read), -EACCES (also where an entry cannot be
 * read: a seal is complete or none), or another error.
 */
int manifest_seal(const struct volume *volume, struct manifest_seal *seal,
                  struct manifest_progress *progress);

/* Add up the bytes that a seal will read, into progress->total, for a progress
 * line, in a thread of its own. */
void manifest_measure(int root, struct manifest_progress *progress);

enum manifest_class {
	/* Whole entries: what a copy that is not finished looks like, too. */
	MANIFEST_MISSING,
	MANIFEST_ADDED,
	MANIFEST_CUT,         /* shorter than it was */
	/* What no unfinished copy does. */
	MANIFEST_CHANGED,
	MANIFEST_ALTERED,     /* same size and modification time, other content */
	MANIFEST_ROLLED_BACK, /* an older state of itself */
	MANIFEST_RENAMED,
	MANIFEST_COPIED,      /* the content of an entry that is still there */
	MANIFEST_HARD_LINK,   /* no link of an inode any more, or of another */
	MANIFEST_READ_ERROR,
	/* Not compared. */
	MANIFEST_NO_PERMISSION,
	MANIFEST_CLASSES,
};

enum manifest_severity {
	MANIFEST_UNFINISHED, MANIFEST_DIFFERENT, MANIFEST_SKIPPED,
};

enum manifest_severity manifest_severity(enum manifest_class class);

/* "rolled back", ... and what a person can do about it. */
const char *manifest_class_name(enum manifest_class class);
const char *manifest_class_advice(enum manifest_class class);

struct manifest_finding {
	enum manifest_class class;
	const char *cipher;      /* path below the root */
	const char *plain;       /* path in the mount, as much of it as is
	                          * known; NULL without the keys */
	const char *from_cipher; /* the entry whose content, or inode, this is; or
	                          * NULL */
	const char *from_plain;
	const char *detail;      /* further words, or NULL */
};

struct manifest_verify {
	const struct volume *volume; /* with its keys, or NULL */
	unsigned threads;            /* 0: one for each core */
	/* Called for each finding, in the order of a walk. */
	void (*found)(void *context, const struct manifest_finding *finding);
	void *context;
};

/*
 * Compare the tree below the directory `root` with a manifest. No path of the
 * manifest is ever opened as a whole: the tree is listed, and compared by name.
 * Returns 0 whatever was found, -ECANCELED, -ENOMEM, -ESTALE where the manifest
 * changed meanwhile, or an error of the root.
 */
int manifest_verify(struct manifest *manifest, int root,
                    const struct manifest_verify *verify,
                    struct manifest_progress *progress);

#endif
