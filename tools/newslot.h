/*
 * A new key slot, for init, passwd, slot add and recover: the options that say
 * where its passphrase or key file comes from and what it costs, asking where
 * need be, and adding it to a config.
 */
#ifndef TOOLS_NEWSLOT_H
#define TOOLS_NEWSLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/volume/config.h"
#include "tools/secret.h"
#include "tools/unlock.h"

struct newslot {
	const char *passfile;
	int passfd; /* -1: not given */
	const char *keyfile;
	const char *label;
	uint64_t scrypt_n;
	const char *hint; /* where there is no terminal */
};

#define NEWSLOT_INIT { NULL, -1, NULL, NULL, SCRYPT_N, NULL }

/* Values for getopt_long. */
enum {
	NEWSLOT_FIRST = 0x2000,
	NEWSLOT_PASSFILE = NEWSLOT_FIRST,
	NEWSLOT_PASSFD,
	NEWSLOT_KEYFILE,
	NEWSLOT_LABEL,
	NEWSLOT_MEMORY,
	NEWSLOT_LAST = NEWSLOT_MEMORY,
};

#define NEWSLOT_COMMON_OPTIONS                                         \
	{ "label", required_argument, NULL, NEWSLOT_LABEL },           \
	{ "scrypt-memory", required_argument, NULL, NEWSLOT_MEMORY }

/* Where there is no old secret (init, recover) the options have short names. */
#define NEWSLOT_INIT_LONG_OPTIONS                                      \
	{ "passfile", required_argument, NULL, NEWSLOT_PASSFILE },     \
	{ "passfd", required_argument, NULL, NEWSLOT_PASSFD },         \
	{ "keyfile", required_argument, NULL, NEWSLOT_KEYFILE },       \
	NEWSLOT_COMMON_OPTIONS

#define NEWSLOT_LONG_OPTIONS                                           \
	{ "new-passfile", required_argument, NULL, NEWSLOT_PASSFILE }, \
	{ "new-passfd", required_argument, NULL, NEWSLOT_PASSFD },     \
	{ "new-keyfile", required_argument, NULL, NEWSLOT_KEYFILE },   \
	NEWSLOT_COMMON_OPTIONS

#define NEWSLOT_COMMON_HELP                                                  \
"  --label TEXT              a name for the new slot, shown by `slot list`\n" \
"  --scrypt-memory MIB       memory that a passphrase costs to check: a power\n" \
"                            of two from 1 to 1024 [64]\n"

#define NEWSLOT_INIT_HELP                                                    \
"  --passfile FILE           read the passphrase from FILE (one line)\n"     \
"  --passfd N                read it from descriptor N (0: stdin)\n"         \
"  --keyfile FILE            the volume opens with the content of FILE (16\n" \
"                            bytes to 1 MiB) instead of a passphrase\n"      \
"                            Without one of these a passphrase is asked for.\n" \
NEWSLOT_COMMON_HELP

#define NEWSLOT_HELP                                                         \
"  --new-passfile FILE       read the new passphrase from FILE (one line)\n" \
"  --new-passfd N            read it from descriptor N (0: stdin)\n"         \
"  --new-keyfile FILE        use the content of FILE instead of a passphrase\n" \
"                            Without one of these it is asked for.\n"        \
NEWSLOT_COMMON_HELP

/* Take one of the options: EXIT_OK, or EXIT_USAGE after a message. */
int newslot_option(struct newslot *slot, int option, const char *value);

/* Get the secret: from a file or descriptor, or asked for twice. */
int newslot_secret(const struct newslot *slot, struct secret *secret);

/* What the slot is. */
enum slot_kind newslot_kind(const struct newslot *slot);

/* Add the slot to a config; says what went wrong. */
int newslot_add(const struct newslot *slot, const struct secret *secret,
                const char *dir, struct config *config,
                const uint8_t master[KEY_SIZE]);

/* Print the recovery key on stdout with a few words to keep it; or, where it
 * was written to `file`, say so. */
int newslot_show_recovery_key(const struct config *config,
                              const uint8_t master[KEY_SIZE],
                              const char *file);

#endif
