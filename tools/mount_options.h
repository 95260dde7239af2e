/*
 * The list of `frondfs mount -o`, as mount(8) and fstab(5) write it: options
 * of ours, of the kernel and of libfuse, and those that only others read. A
 * comma within a value is written "\,", a backslash "\\".
 */
#ifndef TOOLS_MOUNT_OPTIONS_H
#define TOOLS_MOUNT_OPTIONS_H

#include <stdbool.h>

#include "tools/unlock.h"

struct mount_options {
	bool read_only;
	bool nonempty;
	bool direct_io;
	bool export;
	bool writeback;
	bool sloppy;   /* set by the caller: unknown options are ignored */
	double entry_timeout, attr_timeout; /* seconds */
	unsigned idle; /* seconds; 0: never */
	char *pass_on; /* for libfuse, escaped again; NULL: none */
	char *passfile, *keyfile; /* `unlock` points to these */
};

#define MOUNT_OPTIONS_INIT { .entry_timeout = 1.0, .attr_timeout = 1.0 }

/* Take one list; may be called several times. Returns EXIT_OK, or an exit code
 * after a message that names the option. What it makes `unlock` point to
 * belongs to `options`. */
int mount_options_take(struct mount_options *options,
                       struct unlock_options *unlock, const char *list);

/* The time of --idle: a number with s, m, h or d behind it, or of seconds.
 * Returns EXIT_OK, or EXIT_USAGE after a message that shows `word`. */
int mount_options_idle(struct mount_options *options, const char *word,
                       const char *value);

/* Free what the options hold, not the options themselves. */
void mount_options_free(struct mount_options *options);

#endif
