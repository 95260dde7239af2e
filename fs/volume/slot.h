/*
 * Key slots: a slot holds the master key, sealed under a slot key that comes
 * from
 *
 *   a passphrase     scrypt (RFC 7914) with the slot's salt, N, r and p
 *   a key file       HKDF-SHA256 of its content, the slot's salt,
 *                    info "frondfs 1 slot keyfile"
 *   a recovery key   HKDF-SHA256 of the master key that it carries, the slot's
 *                    salt, info "frondfs 1 slot recovery"
 *
 * with the volume's stream cipher and the tweak UUID, slot number, SLOT.
 */
#ifndef FS_VOLUME_SLOT_H
#define FS_VOLUME_SLOT_H

#include "fs/volume/config.h"

/* Whether scrypt parameters are within the bounds of the format. */
bool slot_scrypt_ok(uint64_t n, uint64_t r, uint64_t p);

/*
 * Fill slot->sealed; all other members are set already. Returns CONFIG_OK,
 * CONFIG_NO_MEMORY or CONFIG_IO (config->problem tells which).
 */
enum config_error slot_seal(struct config *config, struct config_slot *slot,
                            const struct unlock *unlock,
                            const uint8_t master[KEY_SIZE]);

/* Open a slot: as above, and CONFIG_WRONG_KEY where it does not open. */
enum config_error slot_open(struct config *config,
                            const struct config_slot *slot,
                            const struct unlock *unlock,
                            uint8_t master[KEY_SIZE]);

#endif
