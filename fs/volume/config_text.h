/* The text of frondfs.conf: JSON, and the two checks over its bytes. For
 * config.c alone. */
#ifndef FS_VOLUME_CONFIG_TEXT_H
#define FS_VOLUME_CONFIG_TEXT_H

#include "fs/volume/config.h"

/*
 * Read a text. The SHA-256 is checked before anything in it is believed, then
 * the format's number, then the features, then all the rest, with bounds on
 * everything. Returns CONFIG_OK, CONFIG_DAMAGED, CONFIG_NEWER, CONFIG_FEATURE
 * or CONFIG_NO_MEMORY; config->problem tells which part is wrong.
 */
enum config_error config_text_parse(struct config *config, const char *text,
                                    size_t size);

/* Whether the text's HMAC is that of the config key; the text was parsed
 * before. Constant time in the key. */
bool config_text_authentic(const char *text, size_t size,
                           const uint8_t config_key[KEY_SIZE]);

/* Write a text, with both checks. *text is malloc'ed. Returns 0, -ENOMEM, or
 * -EIO. */
int config_text_make(const struct config *config,
                     const uint8_t config_key[KEY_SIZE], char **text,
                     size_t *size);

#endif
