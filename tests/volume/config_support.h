/* A folder with a good frondfs.conf, for the tests of config. */
#ifndef TESTS_VOLUME_CONFIG_SUPPORT_H
#define TESTS_VOLUME_CONFIG_SUPPORT_H

#include "fs/volume/config.h"

extern int root;                   /* descriptor of the folder */
extern uint8_t master[KEY_SIZE];
extern char good[CONFIG_FILE_MAX]; /* the text of the good config: slots for */
extern size_t good_size;           /* passphrase, keyfile and recovery */

/* Secrets; `wrong` differs from `passphrase` in its last byte. */
extern const struct unlock passphrase, wrong, keyfile, recovery;

void config_begin(void);
void config_end(void);

/* Write the good text back; for GREATEST_SET_SETUP_CB. */
void restore_good(void *unused);

/* Make another good config. */
void make_good(void);

/* Write and read the file. */
void put(const char *text, size_t size);
size_t get(char *text);

/* Add a slot that costs next to nothing. */
enum config_error add_cheap(struct config *config,
                            const struct unlock *unlock, const char *label);

/* config_unlock on the file; ends the test program where it says CONFIG_OK with
 * another master key. */
enum config_error unlock_with(const struct unlock *unlock, unsigned *slot);

#endif
