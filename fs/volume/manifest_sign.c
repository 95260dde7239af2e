#include "fs/volume/manifest_sign.h"

#include <errno.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "fs/format/keys.h"

EVP_MAC_CTX *manifest_sign_new(const uint8_t *key)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *sign = mac ? EVP_MAC_CTX_new(mac) : NULL;

	EVP_MAC_free(mac);
	if (sign && manifest_sign_begin(sign, key)) {
		EVP_MAC_CTX_free(sign);
		return NULL;
	}
	return sign;
}

int manifest_sign_begin(EVP_MAC_CTX *sign, const uint8_t *key)
{
	OSSL_PARAM params[2] = {
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST,
		                                 (char *)"SHA256", 0),
		OSSL_PARAM_construct_end(),
	};

	return EVP_MAC_init(sign, key, KEY_SIZE, params) == 1 ? 0 : -EIO;
}

int manifest_sign_add(EVP_MAC_CTX *sign, const void *bytes, size_t size)
{
	return EVP_MAC_update(sign, bytes, size) == 1 ? 0 : -EIO;
}

int manifest_sign_end(EVP_MAC_CTX *sign, uint8_t mac[MANIFEST_MAC])
{
	size_t size;

	return EVP_MAC_final(sign, mac, &size, MANIFEST_MAC) == 1 &&
	       size == MANIFEST_MAC ? 0 : -EIO;
}
