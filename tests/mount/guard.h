/*
 * For long tests with a random course: a mount that is taken away whatever
 * happens to the test, settings from the environment, and counted findings of
 * fsck.
 */
#ifndef TESTS_MOUNT_GUARD_H
#define TESTS_MOUNT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "mount/mounted.h"

/*
 * From now on, should this process end, however it does, the mount is taken
 * away; after `seconds` as well, so that the test meets errors where it hung.
 * The folder stays, to be looked at. guard_end removes the mount and the
 * folder; with `keep` set (a test failed) only the mount, and says where the
 * folder is.
 */
void guard_begin(struct mounted *m, unsigned seconds);
void guard_end(struct mounted *m, bool keep);

/* A number from the environment, or `normal`. */
uint64_t setting(const char *name, uint64_t normal);

enum { FINDING_CLASSES = 32 };

struct findings {
	struct {
		char name[48];
		unsigned count;
	} classes[FINDING_CLASSES];
	unsigned errors, others;
	int code;     /* fsck's exit code */
	bool summary; /* fsck came to its end */
};

/* Run `frondfs fsck --json` and add up; findings that are errors are printed.
 * `f` is to be zeroed before the first use. Returns fsck's exit code. */
int findings_add(const struct mounted *m, struct findings *f);
void findings_print(const struct findings *f);

#endif
