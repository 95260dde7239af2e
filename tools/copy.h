/*
 * Copying trees between a volume and plain files, either way, as `frondfs
 * export` and `frondfs import` do: with modes, times, owners, attributes, ACLs,
 * holes, symbolic and hard links and special files.
 *
 * What is there already with the same size and modification time is left as it
 * is, so that a copy that was stopped goes on where it was. A file gets its
 * name when it is whole. A file that cannot be read whole is left out and said,
 * and the others are copied. Nothing is written through a symbolic link of the
 * target, and no directory is replaced by anything else or the other way round.
 */
#ifndef TOOLS_COPY_H
#define TOOLS_COPY_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/ticker.h"
#include "tools/tree.h"

struct copy_options {
	bool no_owner;    /* all belongs to the user; set-id bits are dropped */
	bool no_devices;  /* devices are left out */
	bool ignore_times;/* files are copied whatever is there */
	bool verbose;     /* say each entry on stdout */
	bool progress;
};

struct linked;

struct copy {
	struct copy_options options;
	const char *target_name;  /* what `to` is below, for messages */
	struct folder target;     /* where all goes */
	dev_t avoid_device;       /* a directory that is never copied: */
	ino_t avoid_inode;        /* the volume itself */
	char *from, *to;          /* paths of the entry at work */
	struct linked *links;
	uint8_t *buf;
	struct ticker ticker;
	_Atomic uint64_t files, bytes; /* for the progress line, too */
	uint64_t folders, links_made, others, unchanged, failed;
	uint64_t lost_attributes, lost_links; /* the store does not take them */
	bool stop;                /* no use to go on: the target is full */
};

/* Set by a signal: the copy ends soon, with EXIT_CANCELLED. */
extern volatile sig_atomic_t copy_cancelled;
void copy_catch_signals(void);

/* The options of both commands, beside --help; copy_option as option_common. */
enum {
	COPY_NO_OWNER = 0x2800, COPY_NO_DEVICES, COPY_NO_PROGRESS,
	COPY_IGNORE_TIMES,
};
#define COPY_LONG_OPTIONS                                         \
	{ "ignore-times", no_argument, NULL, COPY_IGNORE_TIMES }, \
	{ "no-owner", no_argument, NULL, COPY_NO_OWNER },         \
	{ "no-devices", no_argument, NULL, COPY_NO_DEVICES },     \
	{ "no-progress", no_argument, NULL, COPY_NO_PROGRESS },   \
	{ "quiet", no_argument, NULL, 'q' },                      \
	{ "verbose", no_argument, NULL, 'v' }
int copy_option(struct copy_options *options, const char *command, int option,
                const char *help);

/* Whether a path says that what it holds is to be copied: by a '/' or "/." at
 * its end, or as "." or "..". */
bool copy_is_contents(const char *path);

/* Returns an exit code after a message. `target` stays the caller's;
 * target_name is for messages. */
int copy_begin(struct copy *copy, const struct copy_options *options,
               const char *target_name, const struct folder *target);

/* Copy the entry `name` of a folder into the target, or all that the folder
 * holds (and its attributes). `path` is what to call it in messages. */
void copy_entry(struct copy *copy, const struct folder *from, const char *name,
                const char *path);
void copy_contents(struct copy *copy, const struct folder *from,
                   const char *path);

/* Bring all to the disk, say what was done, free; returns the exit code. */
int copy_end(struct copy *copy);

#endif
