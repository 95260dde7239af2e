#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "cipher/aes.h"

struct context {
	EVP_CIPHER_CTX *evp;
	struct context *next;
};

struct aes_key {
	EVP_CIPHER *cipher;
	pthread_mutex_t lock;
	struct context *idle[2]; /* for decryption, for encryption */
	uint8_t key[AES256_KEY_SIZE];
};

static void context_free(struct context *context)
{
	EVP_CIPHER_CTX_free(context->evp);
	OPENSSL_free(context);
}

static struct context *context_new(const struct aes_key *key, bool encrypt)
{
	struct context *context = OPENSSL_zalloc(sizeof(*context));

	if (!context)
		return NULL;
	context->evp = EVP_CIPHER_CTX_new();
	if (context->evp &&
	    EVP_CipherInit_ex2(context->evp, key->cipher, key->key, NULL,
	                       encrypt, NULL) &&
	    EVP_CIPHER_CTX_set_padding(context->evp, 0))
		return context;
	context_free(context);
	return NULL;
}

static struct context *context_take(struct aes_key *key, bool encrypt)
{
	struct context *context;

	pthread_mutex_lock(&key->lock);
	context = key->idle[encrypt];
	if (context)
		key->idle[encrypt] = context->next;
	pthread_mutex_unlock(&key->lock);
	return context ? context : context_new(key, encrypt);
}

static void context_return(struct aes_key *key, bool encrypt,
                           struct context *context)
{
	pthread_mutex_lock(&key->lock);
	context->next = key->idle[encrypt];
	key->idle[encrypt] = context;
	pthread_mutex_unlock(&key->lock);
}

int aes_key_new(struct aes_key **out, const uint8_t bytes[AES256_KEY_SIZE])
{
	struct aes_key *key = OPENSSL_secure_zalloc(sizeof(*key));
	struct context *context;

	if (!key)
		return -ENOMEM;
	pthread_mutex_init(&key->lock, NULL);
	memcpy(key->key, bytes, AES256_KEY_SIZE);
	key->cipher = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
	/* A first context of each kind, so that want of AES shows here. */
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		context = key->cipher ? context_new(key, encrypt) : NULL;
		if (!context) {
			aes_key_free(key);
			return -EIO;
		}
		context_return(key, encrypt, context);
	}
	*out = key;
	return 0;
}

void aes_key_free(struct aes_key *key)
{
	struct context *context;

	if (!key)
		return;
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		while ((context = key->idle[encrypt])) {
			key->idle[encrypt] = context->next;
			context_free(context);
		}
	}
	EVP_CIPHER_free(key->cipher);
	pthread_mutex_destroy(&key->lock);
	OPENSSL_secure_clear_free(key, sizeof(*key));
}

int aes_blocks(struct aes_key *key, bool encrypt, uint8_t *dst,
               const uint8_t *src, size_t count)
{
	struct context *context = context_take(key, encrypt);
	int size = count * AES_BLOCK;
	int done = 0;
	int ok;

	if (!context)
		return -EIO;
	ok = EVP_CipherUpdate(context->evp, dst, &done, src, size);
	if (!ok || done != size) {
		context_free(context);
		return -EIO;
	}
	context_return(key, encrypt, context);
	return 0;
}
