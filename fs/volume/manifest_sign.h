/* The signature of a manifest: HMAC-SHA256 under the volume's seal key. */
#ifndef FS_VOLUME_MANIFEST_SIGN_H
#define FS_VOLUME_MANIFEST_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include <openssl/evp.h>

enum { MANIFEST_MAC = 32 };

/* Begin one with a key of KEY_SIZE bytes; to be freed by EVP_MAC_CTX_free. NULL
 * without memory. */
EVP_MAC_CTX *manifest_sign_new(const uint8_t *key);

/* Begin anew with the same key; 0 or -EIO, as for the next two. */
int manifest_sign_begin(EVP_MAC_CTX *sign, const uint8_t *key);
int manifest_sign_add(EVP_MAC_CTX *sign, const void *bytes, size_t size);
int manifest_sign_end(EVP_MAC_CTX *sign, uint8_t mac[MANIFEST_MAC]);

#endif
