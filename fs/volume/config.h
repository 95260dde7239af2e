/*
 * frondfs.conf: what a volume is, and the key slots that open it.
 *
 * The file is JSON. Two checks cover every byte of it: "sha256", a plain
 * SHA-256 (so that damage is told apart from a wrong passphrase, without a
 * key), and "hmac", an HMAC-SHA256 under the config key (so that a parameter
 * changed on purpose is found). Both are taken over the file's own bytes with
 * their values (64 lower-case hexadecimal digits each) replaced by zeros:
 * "hmac" with both replaced, "sha256" with only its own. Every later version
 * of the format keeps "format" and "sha256" as they are, so that an old program
 * can say of a newer volume that it is newer, and not that it is damaged.
 */
#ifndef FS_VOLUME_CONFIG_H
#define FS_VOLUME_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fs/format/keys.h"
#include "fs/format/seal.h"

enum {
	CONFIG_FORMAT = 1,
	CONFIG_SLOTS_MAX = 32,
	CONFIG_SALT_SIZE = 32,
	CONFIG_LABEL_MAX = 64,            /* bytes */
	CONFIG_FEATURE_MAX = 64,          /* bytes of a feature's name */
	CONFIG_FEATURES_MAX = 16,
	CONFIG_FILE_MAX = 256 * 1024,     /* bytes of the file; more is damage */
	PASSPHRASE_MAX = 1024,            /* bytes */
};

enum slot_kind { SLOT_PASSPHRASE, SLOT_KEY_FILE, SLOT_RECOVERY };

struct config_slot {
	unsigned number;                  /* never used twice: see next_slot */
	enum slot_kind kind;
	char label[CONFIG_LABEL_MAX + 1];
	int64_t created;                  /* seconds since 1970 */
	uint64_t scrypt_n;                /* passphrases only */
	uint32_t scrypt_r, scrypt_p;
	uint8_t salt[CONFIG_SALT_SIZE];
	uint8_t sealed[KEY_SIZE + SEAL_TRAILER];
};

/* The default cost: 64 MiB, so that a volume made on a PC opens on a small
 * board. N*r*128 bytes may not exceed SCRYPT_MEMORY_MAX. */
#define SCRYPT_N ((uint64_t)1 << 16)
#define SCRYPT_R 8
#define SCRYPT_P 1
#define SCRYPT_P_MAX 16
#define SCRYPT_MEMORY_MAX ((uint64_t)1 << 30)

struct config {
	uint8_t uuid[ID_SIZE];
	enum adiantum_stream stream;
	size_t name_limit;
	unsigned next_slot;
	size_t slot_count;
	struct config_slot slots[CONFIG_SLOTS_MAX];
	size_t optional_count; /* optional features: unknown ones are kept */
	char optional[CONFIG_FEATURES_MAX][CONFIG_FEATURE_MAX + 1];
	int io_error;       /* with CONFIG_IO: the negative errno, or 0 */
	char problem[256];  /* after an error: what exactly is wrong, one line */
};

/* Errors of config_read and config_unlock, each with an exit code of its own
 * in the command. */
enum config_error {
	CONFIG_OK = 0,
	CONFIG_MISSING = 1,      /* no frondfs.conf; problem is "" unless this
	                          * looks like a volume that lost it */
	CONFIG_DAMAGED,          /* cut, changed or not ours */
	CONFIG_NEWER,            /* a later format version */
	CONFIG_FEATURE,          /* a required feature is unknown; it is named */
	CONFIG_WRONG_KEY,        /* no slot opens */
	CONFIG_NO_MEMORY,        /* the key derivation needs more than there is */
	CONFIG_TAMPERED,         /* opens, but the HMAC is wrong */
	CONFIG_IO,               /* the store's error, told in problem */
};

/* Key material that opens a slot. */
struct unlock {
	enum slot_kind kind;
	const uint8_t *secret;  /* passphrase, key file's content, master key */
	size_t size;
};

/* Read and check the file (all that can be checked without a key) in the
 * directory that `root` is open on. */
enum config_error config_read(struct config *config, int root);

/* Read the file again, open any slot of the right kind, check the HMAC, and
 * give the master key (KEY_SIZE bytes, which the caller has in secure memory).
 * *slot becomes the number of the slot that opened; may be NULL. */
enum config_error config_unlock(struct config *config, int root,
                                const struct unlock *unlock,
                                uint8_t *master, unsigned *slot);

/* The UUID as text, "419dbaa8-ea21-458c-9877-a977be4cb43a". */
enum { CONFIG_UUID_TEXT = 36 + 1 };
void config_uuid_text(char text[CONFIG_UUID_TEXT], const struct config *config);

/* A slot's kind as the file and the command name it: "passphrase", "keyfile",
 * "recovery". */
const char *config_kind_name(enum slot_kind kind);

/* Start a config: a fresh UUID, no slots. */
void config_init(struct config *config, enum adiantum_stream stream,
                 size_t name_limit);

/* Whether a label may be used: UTF-8, at most CONFIG_LABEL_MAX bytes, no
 * control characters, no quotation mark and no backslash. */
bool config_label_ok(const char *label);

/* The memory that a passphrase slot's derivation takes, in bytes. */
uint64_t config_slot_memory(const struct config_slot *slot);

/* Add a slot that the given secret opens. Returns CONFIG_OK, CONFIG_NO_MEMORY
 * or CONFIG_IO (too many slots, OpenSSL failed: told in problem). N, r, p are
 * for passphrases. */
enum config_error config_add_slot(struct config *config,
                                  const uint8_t master[KEY_SIZE],
                                  const struct unlock *unlock,
                                  const char *label, uint64_t scrypt_n,
                                  uint32_t scrypt_r, uint32_t scrypt_p);

/* Remove slot `number`: 0, -ENOENT, or -EPERM for the last one. */
int config_remove_slot(struct config *config, unsigned number);

/* Replace the file atomically: temporary file, fsync, read back and compared,
 * rename, fsync of the directory. */
enum config_error config_write(struct config *config, int root,
                               const uint8_t master[KEY_SIZE]);

/* A lock against two changes of the config at a time: a descriptor to close
 * when done, -EBUSY, or the error of open. Read the config after it. Where
 * there is no config (or what cannot be one) it is the lock of the volume's root
 * (volume_open). */
int config_lock(int root);

#endif
