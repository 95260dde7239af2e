/*
 * The keys of a volume, all derived from its master key by HKDF-SHA256
 * (RFC 5869) with an empty salt and one info string each:
 *
 *   "frondfs 1 content"  sectors and headers of files (kinds DATA, HEAD)
 *   "frondfs 1 name"     names, directory ids, links, attributes
 *                        (kinds DIR, NAME, LINK, XNAME, XVALUE)
 *   "frondfs 1 config"   the HMAC over frondfs.conf
 *   "frondfs 1 seal"     signatures of sealed manifests
 */
#ifndef FS_FORMAT_KEYS_H
#define FS_FORMAT_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/adiantum.h"

enum { KEY_SIZE = 32 }; /* bytes of every key, the master key's too */

struct keys {
	struct adiantum_key *content;
	struct adiantum_key *name;
	enum adiantum_stream stream;
	uint8_t config[KEY_SIZE];
	uint8_t seal[KEY_SIZE];
};

/* Derive one key of `size` bytes (at most 255 * 32) from `secret`, with a salt
 * (may be NULL) and an info string. Returns 0 or -EIO when OpenSSL fails. */
int keys_hkdf(uint8_t *out, size_t size, const uint8_t *secret,
              size_t secret_size, const uint8_t *salt, size_t salt_size,
              const char *info);

/* Derive the keys of a volume; they lie in OpenSSL's secure heap, where the
 * program has set that up. Returns 0, -ENOMEM or -EIO. */
int keys_new(struct keys **out, const uint8_t master[KEY_SIZE],
             enum adiantum_stream stream);

/* Wipe and free; NULL is allowed. */
void keys_free(struct keys *keys);

#endif
