#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "openssl.h"

enum { TAG = 16 }; /* bytes */

static const struct {
	const char *name;
	bool tag;
} ciphers[OPENSSL_CIPHERS] = {
	[OPENSSL_AES_256_XTS] = { "AES-256-XTS", false },
	[OPENSSL_AES_256_GCM] = { "AES-256-GCM", true },
	[OPENSSL_CHACHA20_POLY1305] = { "ChaCha20-Poly1305", true },
};

struct openssl {
	EVP_CIPHER_CTX *contexts[OPENSSL_CIPHERS][2]; /* decrypt, encrypt */
};

static EVP_CIPHER_CTX *context_new(const char *name, const uint8_t *key,
                                   bool encrypt)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

	if (cipher && context &&
	    !EVP_CipherInit_ex2(context, cipher, key, NULL, encrypt, NULL)) {
		EVP_CIPHER_CTX_free(context);
		context = NULL;
	}
	EVP_CIPHER_free(cipher);
	return context;
}

struct openssl *openssl_new(const uint8_t *key)
{
	struct openssl *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	for (int c = 0; c < OPENSSL_CIPHERS; c++)
		for (int encrypt = ciphers[c].tag; encrypt < 2; encrypt++) {
			o->contexts[c][encrypt] =
				context_new(ciphers[c].name, key, encrypt);
			if (!o->contexts[c][encrypt]) {
				openssl_free(o);
				return NULL;
			}
		}
	return o;
}

void openssl_free(struct openssl *o)
{
	if (!o)
		return;
	for (int c = 0; c < OPENSSL_CIPHERS; c++)
		for (int encrypt = 0; encrypt < 2; encrypt++)
			EVP_CIPHER_CTX_free(o->contexts[c][encrypt]);
	free(o);
}

int openssl_run(struct openssl *o, enum openssl_cipher c, bool encrypt,
                uint8_t *data, size_t size, size_t count, uint8_t *tags)
{
	EVP_CIPHER_CTX *context = o->contexts[c][encrypt];
	uint8_t iv[16] = { 0 };
	OSSL_PARAM get_tag[] = {
		OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, NULL, TAG),
		OSSL_PARAM_END,
	};

	for (uint64_t i = 0; i < count; i++) {
		uint8_t *message = data + i * size;
		int done = 0, rest = 0;

		memcpy(iv, &i, sizeof(i));
		if (!EVP_CipherInit_ex2(context, NULL, NULL, iv, encrypt, NULL) ||
		    !EVP_CipherUpdate(context, message, &done, message, size) ||
		    (size_t)done != size)
			return -EIO;
		if (!ciphers[c].tag)
			continue;
		/* A little faster than EVP_CTRL_AEAD_GET_TAG. */
		get_tag[0].data = tags + i * TAG;
		if (!EVP_CipherFinal_ex(context, message + size, &rest) ||
		    !EVP_CIPHER_CTX_get_params(context, get_tag))
			return -EIO;
	}
	return 0;
}
