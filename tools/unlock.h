/*
 * Unlocking a volume, the same for every subcommand: the options that say
 * where the passphrase comes from, reading frondfs.conf, asking where need be,
 * and one clear message for each way in which this can fail.
 *
 * In a subcommand:
 *
 *	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
 *	static const struct option longs[] = {
 *		UNLOCK_LONG_OPTIONS,
 *		{ "help", no_argument, NULL, 'h' }, ...
 *	};
 *	...
 *	case UNLOCK_PASSFILE ... UNLOCK_LAST:
 *		code = unlock_option(&unlock, c, optarg);
 *		if (code)
 *			return code;
 *		break;
 *	...
 *	struct unlocked u;
 *	code = unlock_volume(dir, &unlock, &u);
 *	if (code)
 *		return code;
 *	error = volume_open(&volume, dir, unlocked_take_keys(&u), u.config.uuid,
 *	                    u.config.name_limit, ...);
 *	unlocked_free(&u);
 */
#ifndef TOOLS_UNLOCK_H
#define TOOLS_UNLOCK_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/format/keys.h"
#include "fs/volume/config.h"

struct unlock_options {
	const char *passfile;
	int passfd; /* -1: not given */
	const char *keyfile;
	const char *recovery_key_file;
};

#define UNLOCK_OPTIONS_INIT { NULL, -1, NULL, NULL }

/* Values for getopt_long. */
enum {
	UNLOCK_PASSFILE = 0x1000,
	UNLOCK_PASSFD,
	UNLOCK_KEYFILE,
	UNLOCK_RECOVERY_KEY_FILE,
	UNLOCK_LAST = UNLOCK_RECOVERY_KEY_FILE,
};

#define UNLOCK_LONG_OPTIONS                                              \
	{ "passfile", required_argument, NULL, UNLOCK_PASSFILE },        \
	{ "passfd", required_argument, NULL, UNLOCK_PASSFD },            \
	{ "keyfile", required_argument, NULL, UNLOCK_KEYFILE },          \
	{ "recovery-key-file", required_argument, NULL,                  \
	  UNLOCK_RECOVERY_KEY_FILE }

/* Their part of a subcommand's --help. */
#define UNLOCK_HELP                                                      \
	"  --passfile FILE           read the passphrase from FILE (one line)\n" \
	"  --passfd N                read it from descriptor N (0: stdin)\n" \
	"  --keyfile FILE            use a key file\n"                   \
	"  --recovery-key-file FILE  use the recovery key in FILE (-: stdin)\n" \
	"Without one of these the passphrase is asked for on the terminal.\n"

/* Take one of the options: EXIT_OK, or EXIT_USAGE after a message (a second
 * source, a bad descriptor). `option` is one of the values above. */
int unlock_option(struct unlock_options *options, int option,
                  const char *value);

/* An unlocked volume. */
struct unlocked {
	struct config config;
	struct keys *keys;
	uint8_t *master; /* KEY_SIZE bytes of secure memory */
	unsigned slot;   /* the slot that opened */
};

/*
 * Read the config in the directory `dir`, get the passphrase or key, open a
 * slot and derive the keys. Returns EXIT_OK, or an exit code after ONE message
 * (with a hint what to do next) was said; *out then needs no freeing.
 */
int unlock_volume(const char *dir, const struct unlock_options *options,
                  struct unlocked *out);

/* The same for a directory that is open already; `dir` is for messages. */
int unlock_root(int root, const char *dir,
                const struct unlock_options *options, struct unlocked *out);

/* Hand the keys over to the caller (volume_open owns what it gets). */
struct keys *unlocked_take_keys(struct unlocked *unlocked);

/* Wipe and free; also after the keys were taken. */
void unlocked_free(struct unlocked *unlocked);

/* Open the directory of a volume: a descriptor in *root, or the message and
 * the exit code. */
int unlock_open_root(const char *dir, int *root);

/* Say what a config_error of config_read, config_unlock or config_write means
 * for `dir`, and give its exit code. */
int config_complain(const char *dir, const struct config *config,
                    enum config_error error);

#endif
