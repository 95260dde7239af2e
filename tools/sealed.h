/* What `seal`, `verify` and `fsck --seal` share: where a manifest stands, what is
 * wrong with it, and comparing a volume with it. */
#ifndef TOOLS_SEALED_H
#define TOOLS_SEALED_H

#include <stdbool.h>

#include "fs/volume/manifest.h"
#include "tools/unlock.h"

struct sealed_output {
	bool json, quiet, verbose, progress;
	unsigned threads; /* 0: one for each core */
};

/* Open the volume with the lock of a check: no read-write mount beside it.
 * `what` is what cannot be done now: "checked". EXIT_OK or the code after the
 * message. */
int sealed_open_volume(const char *dir, const struct unlock_options *unlock,
                       const char *what, struct volume **volume);

/* The manifest's own place in a volume, DIR/frondfs.seal; to be freed. */
char *sealed_place(const char *dir);

/* Open a manifest, with the seal key or NULL; EXIT_OK, or the exit code after
 * the message. */
int sealed_open(const char *path, const uint8_t *key,
                struct manifest **manifest);

/* Compare what is below `root` with the manifest, and print what differs and a
 * summary. `dir` is the root's path for people; volume may be NULL. The exit
 * code: EXIT_OK, EXIT_FSCK_ERRORS or EXIT_INCOMPLETE, with EXIT_FSCK_SKIPPED
 * or EXIT_CANCELLED added; or EXIT_OPERATION. */
int sealed_compare(struct manifest *manifest, const char *dir, int root,
                   const struct volume *volume,
                   const struct sealed_output *output);

/* Let ^C and its like set *cancel. */
void sealed_cancel_by_signal(atomic_bool *cancel);

/* The value of --threads: EXIT_OK or EXIT_USAGE. */
int sealed_threads(const char *command, const char *value, unsigned *threads);

#endif
