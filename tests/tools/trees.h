/* Plain trees for tests of the commands that work without a mount, and running
 * these commands on a volume of tests/damage.h. */
#ifndef TESTS_TOOLS_TREES_H
#define TESTS_TOOLS_TREES_H

#include <stdbool.h>
#include <sys/types.h>

#include "damage.h"

/* What the last command said, and the folder that is its working directory: the
 * victim's holder. Its volume is "c" there. */
extern char *said, *complained;

/* Run `frondfs COMMAND --keyfile KEY ARGUMENTS...` in the holder, the arguments
 * ended by NULL; as `without_user`, where that is not 0. Returns its exit
 * code. */
int without(struct victim *v, const char *command, ...)
	__attribute__((sentinel));
extern uid_t without_user;

/* Run the commands with linkat denied (EACCES). */
extern bool without_links;

/* In a test: the command ends with this code; if not, what it said is shown. */
#define GIVES(code, ...)                                                      \
	do {                                                                  \
		int gave_ = without(&v, __VA_ARGS__, NULL);                   \
		if (gave_ != (code))                                          \
			printf("stdout: %.2000s\nstderr: %.2000s\n", said,    \
			       complained);                                   \
		ASSERT_EQ_FMT((code), gave_, "%d");                           \
	} while (0)

/* The same, but killed after so many milliseconds: 128 + SIGKILL, or its exit
 * code where it was faster. */
int without_killed(struct victim *v, unsigned ms, const char *command, ...)
	__attribute__((sentinel));

/* Run a shell command in the holder; its exit code. */
int shell(struct victim *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Make a tree with everything below holder/NAME: what only root can make as
 * well, where we are root. */
void tree_make(struct victim *v, const char *name);

/* Whether two trees of the holder are the same: names, types, modes, owners,
 * sizes, link counts, targets, contents, attributes, times to the nanosecond,
 * those of the two directories, too. Differences are printed. */
bool trees_same(struct victim *v, const char *a, const char *b);

/* Whether each file and link of a tree is in the other one, as it is there:
 * what was copied so far (but what has a temporary name). *count: how many. */
bool tree_within(struct victim *v, const char *part, const char *whole,
                 unsigned *count);

/* A path in the holder: one of damage.h's buffers. */
const char *in_holder(struct victim *v, const char *name);

#endif
