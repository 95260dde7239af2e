#include "fs/format/keys.h"

#include <errno.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

int keys_hkdf(uint8_t *out, size_t size, const uint8_t *secret,
              size_t secret_size, const uint8_t *salt, size_t salt_size,
              const char *info)
{
	OSSL_PARAM params[5], *p = params;
	EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
	int error = -EIO;

	*p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST,
	                                        (char *)"SHA256", 0);
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY,
	                                         (void *)secret, secret_size);
	if (salt)
		*p++ = OSSL_PARAM_construct_octet_string(
			OSSL_KDF_PARAM_SALT, (void *)salt, salt_size);
	*p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO,
	                                         (void *)info, strlen(info));
	*p = OSSL_PARAM_construct_end();
	if (ctx && EVP_KDF_derive(ctx, out, size, params) == 1)
		error = 0;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(kdf);
	return error;
}

static int key_object(struct adiantum_key **out, const uint8_t *master,
                      enum adiantum_stream stream, const char *info)
{
	uint8_t key[KEY_SIZE];
	int error = keys_hkdf(key, sizeof(key), master, KEY_SIZE, NULL, 0, info);

	if (!error)
		error = adiantum_key_new(out, stream, key);
	OPENSSL_cleanse(key, sizeof(key));
	return error;
}

int keys_new(struct keys **out, const uint8_t master[KEY_SIZE],
             enum adiantum_stream stream)
{
	struct keys *k = OPENSSL_secure_zalloc(sizeof(*k));
	int error;

	if (!k)
		return -ENOMEM;
	k->stream = stream;
	error = key_object(&k->content, master, stream, "frondfs 1 content");
	if (!error)
		error = key_object(&k->name, master, stream, "frondfs 1 name");
	if (!error)
		error = keys_hkdf(k->config, KEY_SIZE, master, KEY_SIZE, NULL,
		                  0, "frondfs 1 config");
	if (!error)
		error = keys_hkdf(k->seal, KEY_SIZE, master, KEY_SIZE, NULL, 0,
		                  "frondfs 1 seal");
	if (error) {
		keys_free(k);
		return error;
	}
	*out = k;
	return 0;
}

void keys_free(struct keys *k)
{
	if (!k)
		return;
	adiantum_key_free(k->content);
	adiantum_key_free(k->name);
	OPENSSL_secure_clear_free(k, sizeof(*k));
}
