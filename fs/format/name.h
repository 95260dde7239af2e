/*
 * Names: a plaintext name is padded with NUL to a multiple of 16, sealed (kind
 * NAME, object id: the directory's id) and stored as base64url. Where that
 * text exceeds the volume's longest name it is stored as "frondfs.long." +
 * base64url(SHA-256(sealed name)), beside a file of that name + ".name" that
 * holds the sealed name.
 */
#ifndef FS_FORMAT_NAME_H
#define FS_FORMAT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/format/keys.h"
#include "fs/format/seal.h"

enum {
	NAME_PLAIN_MAX = 255,  /* bytes of a plaintext name */
	NAME_TEXT_MAX = 255,   /* bytes of a stored name */
	NAME_SEALED_MAX = 272, /* 256 + SEAL_TRAILER */
	NAME_LIMIT_MIN = 61,   /* the shortest store: "frondfs.long." + 43 + ".name" */
};

#define NAME_OWN_PREFIX "frondfs."
#define NAME_CONFIG "frondfs.conf"
#define NAME_DIR_PREFIX "frondfs.dir."
#define NAME_LONG_PREFIX "frondfs.long."
#define NAME_LONG_SUFFIX ".name"
#define NAME_LINK_PREFIX "frondfs.link."
#define NAME_TEMP_PREFIX "frondfs.tmp."
#define NAME_SEAL "frondfs.seal"

/* A name as it is stored. */
struct name_text {
	char text[NAME_TEXT_MAX + 1];
	bool is_long; /* then sealed[] belongs into text + ".name" */
	size_t sealed_size;
	uint8_t sealed[NAME_SEALED_MAX];
};

/*
 * Encrypt a plaintext name of `length` bytes (any but NUL and '/'; not "." or
 * "..") for the directory with this id, on a store whose longest name is
 * `limit` bytes. Returns 0, -ENAMETOOLONG above NAME_PLAIN_MAX bytes, -EINVAL
 * for what cannot be a name, or -EIO.
 */
int name_encrypt(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                 const char *plain, size_t length, size_t limit,
                 struct name_text *out);

/*
 * Decrypt a sealed name, or the text of a stored one that is not long. `plain`
 * is ended by NUL. Returns the name's length, -EBADMSG if it does not open
 * under this directory's id (or is not a possible name), or -EIO.
 */
int name_decrypt(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                 const uint8_t *sealed, size_t size,
                 char plain[NAME_PLAIN_MAX + 1]);
int name_decrypt_text(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                      const char *text, size_t length,
                      char plain[NAME_PLAIN_MAX + 1]);

/* What a ciphertext directory's entry is, by the form of its name. */
enum name_form {
	NAME_ENCRYPTED,     /* of the form of an encrypted name */
	NAME_LONG,          /* an entry with a long name */
	NAME_LONG_FILE,     /* the file that holds a long name */
	NAME_LINK_FILE,     /* the file that holds a long link target */
	NAME_DIR_ID,        /* a directory's id file; the id is valid */
	NAME_TEMP,          /* a temporary entry of an unfinished change */
	NAME_CONFIG_FILE,   /* frondfs.conf */
	NAME_SEAL_FILE,     /* a sealed manifest, see fs/format/manifest.h */
	NAME_OWN_UNKNOWN,   /* begins with "frondfs.", but none of these */
	NAME_FOREIGN,       /* anything else: may be NAME_ENCRYPTED + suffix */
	NAME_LONG_CONFLICT, /* a long name's form with a sync tool's mark in it */
};

enum name_form name_form(const char *text);

/*
 * Take apart a text of the form NAME_LONG or NAME_LONG_CONFLICT: `base`
 * becomes the text of the long name itself (its ".name" file is base +
 * ".name"), `suffix` the mark. Sync tools put the mark behind the name, or
 * before what they take for its extension, so both "frondfs.long.HASH" + mark
 * and "frondfs.long" + mark + ".HASH" are understood. Returns 0 or -EINVAL.
 */
enum { NAME_LONG_TEXT = 13 + 43 + 1 };
int name_long_split(const char *text, char base[NAME_LONG_TEXT],
                    char suffix[NAME_TEXT_MAX + 1]);

/* Whether this sealed name belongs to the long name's text `base`. */
bool name_long_matches(const char *base, const uint8_t *sealed, size_t size);

/* The id in the name of a directory's id file. Returns 0 or -EINVAL. */
int name_dir_id(const char *text, uint8_t id[ID_SIZE]);

/* "frondfs.dir." + base64url(id): NAME_DIR_TEXT bytes with the NUL. */
enum { NAME_DIR_TEXT = 12 + 22 + 1 };
void name_dir_text(char text[NAME_DIR_TEXT], const uint8_t id[ID_SIZE]);

/*
 * The lengths that a text of the form NAME_ENCRYPTED can have, in ascending
 * order, ended by 0: 43, 64, 86, ... For finding the encrypted name at the
 * beginning of a conflict copy's name.
 */
const uint16_t *name_text_lengths(void);

#endif
