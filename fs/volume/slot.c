#include "fs/volume/slot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "fs/volume/memory.h"

#define MIB ((uint64_t)1 << 20)

bool slot_scrypt_ok(uint64_t n, uint64_t r, uint64_t p)
{
	/* RFC 7914, section 2: n is less than 2^(128 r / 8). */
	return n >= 2 && (n & (n - 1)) == 0 && r >= 1 && p >= 1 &&
	       (r >= 4 || n >> (16 * r) == 0) && p <= SCRYPT_P_MAX && n <= SCRYPT_MEMORY_MAX / 128 &&
	       r <= SCRYPT_MEMORY_MAX / 128 / n;
}

uint64_t config_slot_memory(const struct config_slot *slot)
{
	if (slot->kind != SLOT_PASSPHRASE)
		return 0;
	/* V, B and the working block of RFC 7914, as OpenSSL allocates them. */
	return 128 * slot->scrypt_r *
	       (slot->scrypt_n + slot->scrypt_p + (uint64_t)1);
}

static enum config_error no_memory(struct config *config,
                                   const struct config_slot *slot,
                                   uint64_t available)
{
	uint64_t need = (config_slot_memory(slot) + MIB / 2) / MIB;
	char rest[64] = "an allocation failed";

	if (available != UINT64_MAX)
		snprintf(rest, sizeof(rest), "%" PRIu64 " MiB are available",
		         available / MIB);
	snprintf(config->problem, sizeof(config->problem),
	         "deriving the key of slot %u needs %" PRIu64
	         " MiB of memory; %s", slot->number, need, rest);
	return CONFIG_NO_MEMORY;
}

static enum config_error scrypt(struct config *config,
                                const struct config_slot *slot,
                                const struct unlock *unlock,
                                uint8_t key[KEY_SIZE])
{
	uint64_t n = slot->scrypt_n, available = memory_available();
	uint64_t max = config_slot_memory(slot) + MIB;
	uint32_t r = slot->scrypt_r, p = slot->scrypt_p;
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PASSWORD,
		                                  (void *)unlock->secret,
		                                  unlock->size),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT,
		                                  (void *)slot->salt,
		                                  CONFIG_SALT_SIZE),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
		OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
		OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &max),
		OSSL_PARAM_construct_end(),
	};
	EVP_KDF *kdf;
	EVP_KDF_CTX *ctx;
	int derived;

	/* Ask first: an allocation that the kernel promises and cannot keep
	 * ends the process without a word. */
	if (config_slot_memory(slot) > available)
		return no_memory(config, slot, available);
	kdf = EVP_KDF_fetch(NULL, "SCRYPT", NULL);
	ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	derived = ctx && EVP_KDF_derive(ctx, key, KEY_SIZE, params) == 1;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	if (derived)
		return CONFIG_OK;
	ERR_clear_error();
	if (!kdf) {
		snprintf(config->problem, sizeof(config->problem),
		         "OpenSSL offers no scrypt");
		return CONFIG_IO;
	}
	return no_memory(config, slot, UINT64_MAX);
}

static enum config_error slot_key(struct config *config,
                                  const struct config_slot *slot,
                                  const struct unlock *unlock,
                                  struct adiantum_key **out)
{
	uint8_t key[KEY_SIZE];
	enum config_error result = CONFIG_OK;
	int error = 0;

	if (slot->kind == SLOT_PASSPHRASE)
		result = scrypt(config, slot, unlock, key);
	else
		error = keys_hkdf(key, KEY_SIZE, unlock->secret, unlock->size,
		                  slot->salt, CONFIG_SALT_SIZE,
		                  slot->kind == SLOT_KEY_FILE
		                          ? "frondfs 1 slot keyfile"
		                          : "frondfs 1 slot recovery");
	if (!result && !error)
		error = adiantum_key_new(out, config->stream, key);
	OPENSSL_cleanse(key, sizeof(key));
	if (error == -ENOMEM) {
		snprintf(config->problem, sizeof(config->problem),
		         "no memory for a key");
		return CONFIG_NO_MEMORY;
	}
	if (error) {
		snprintf(config->problem, sizeof(config->problem),
		         "OpenSSL failed to derive a key");
		return CONFIG_IO;
	}
	return result;
}

static void slot_tweak(uint8_t tweak[TWEAK_SIZE], const struct config *config,
                       const struct config_slot *slot)
{
	tweak_make(tweak, config->uuid, slot->number, TWEAK_SLOT);
}

enum config_error slot_seal(struct config *config, struct config_slot *slot,
                            const struct unlock *unlock,
                            const uint8_t master[KEY_SIZE])
{
	struct adiantum_key *key;
	uint8_t tweak[TWEAK_SIZE];
	enum config_error result = slot_key(config, slot, unlock, &key);

	if (result)
		return result;
	slot_tweak(tweak, config, slot);
	if (seal(key, tweak, slot->sealed, master, KEY_SIZE, KEY_SIZE)) {
		snprintf(config->problem, sizeof(config->problem),
		         "OpenSSL failed to encrypt");
		result = CONFIG_IO;
	}
	adiantum_key_free(key);
	return result;
}

enum config_error slot_open(struct config *config,
                            const struct config_slot *slot,
                            const struct unlock *unlock,
                            uint8_t master[KEY_SIZE])
{
	uint8_t tweak[TWEAK_SIZE], opened[KEY_SIZE + SEAL_TRAILER];
	struct adiantum_key *key;
	size_t size = 0;
	enum config_error result = slot_key(config, slot, unlock, &key);

	if (result)
		return result;
	slot_tweak(tweak, config, slot);
	if (seal_open(key, tweak, opened, &size, slot->sealed, KEY_SIZE) ||
	    size != KEY_SIZE)
		result = CONFIG_WRONG_KEY;
	else
		memcpy(master, opened, KEY_SIZE);
	OPENSSL_cleanse(opened, sizeof(opened));
	adiantum_key_free(key);
	return result;
}
