/*
 * OpenSSL's contexts may not be used by two threads at once, and making one
 * costs more than the blocks of many calls. So a key keeps some in slots, and
 * each thread has a slot that it looks into: it takes the context out by one
 * atomic exchange, and puts it back by another. They belong to the key, so none
 * is lost when a thread ends. A thread that finds its slot empty (on its first
 * call, or as another one shares the slot) makes a context; if that then finds
 * the slot full again, one of the two goes.
 *
 * New contexts are copies of a first one, which is never used itself: the key
 * schedule is computed only once for each direction, and the key's bytes are not
 * kept. (Where OpenSSL has tables, the schedule's computation looks into them.)
 */
#include <errno.h>
#include <stdatomic.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "cipher/aes.h"
#include "cipher/aes_sliced.h"

enum {
	SLOTS = 16,
	CACHE_LINE = 64, /* bytes */
};

struct context {
	EVP_CIPHER_CTX *evp[2]; /* for decryption, for encryption */
};

/* Apart from each other, so that threads do not fight for a cache line. */
struct slot {
	_Atomic(struct context *) context;
	uint8_t padding[CACHE_LINE - sizeof(void *)];
};

struct aes_key {
	enum aes_way way;
	struct context *first;
	struct slot slots[SLOTS];
};

static void context_free(struct context *context)
{
	if (!context)
		return;
	EVP_CIPHER_CTX_free(context->evp[0]);
	EVP_CIPHER_CTX_free(context->evp[1]);
	OPENSSL_free(context);
}

static struct context *context_new(void)
{
	struct context *context = OPENSSL_zalloc(sizeof(*context));

	if (!context)
		return NULL;
	context->evp[0] = EVP_CIPHER_CTX_new();
	context->evp[1] = EVP_CIPHER_CTX_new();
	if (context->evp[0] && context->evp[1])
		return context;
	context_free(context);
	return NULL;
}

static bool context_init(struct context *context, enum aes_way way,
                         const EVP_CIPHER *cipher, const uint8_t *key)
{
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		EVP_CIPHER_CTX *evp = context->evp[encrypt];

		if (way == AES_SLICED) {
			if (!aes_sliced_init(evp, cipher, key, encrypt))
				return false;
		} else if (!EVP_CipherInit_ex2(evp, cipher, key, NULL, encrypt,
		                               NULL) ||
		           !EVP_CIPHER_CTX_set_padding(evp, 0)) {
			return false;
		}
	}
	return true;
}

static struct context *context_copy(const struct context *from)
{
	struct context *context = context_new();

	if (context && EVP_CIPHER_CTX_copy(context->evp[0], from->evp[0]) &&
	    EVP_CIPHER_CTX_copy(context->evp[1], from->evp[1]))
		return context;
	context_free(context);
	return NULL;
}

/* This thread's slot: the threads get them in turn. */
static unsigned own_slot(void)
{
	static atomic_uint threads;
	static _Thread_local unsigned number;

	if (!number)
		number = 1 + atomic_fetch_add(&threads, 1) % SLOTS;
	return number - 1;
}

int aes_key_new_way(struct aes_key **out, enum aes_way way,
                    const uint8_t bytes[AES256_KEY_SIZE])
{
	struct aes_key *key = OPENSSL_zalloc(sizeof(*key));
	EVP_CIPHER *cipher;
	bool ok;

	if (!key)
		return -ENOMEM;
	key->way = way;
	key->first = context_new();
	if (!key->first) {
		aes_key_free(key);
		return -ENOMEM;
	}
	cipher = EVP_CIPHER_fetch(NULL, way == AES_SLICED ? "AES-256-XTS"
	                                                  : "AES-256-ECB", NULL);
	ok = cipher && context_init(key->first, way, cipher, bytes);
	EVP_CIPHER_free(cipher); /* the contexts hold it */
	if (!ok) {
		aes_key_free(key);
		return -EIO;
	}
	*out = key;
	return 0;
}

int aes_key_new(struct aes_key **out, const uint8_t bytes[AES256_KEY_SIZE])
{
	return aes_key_new_way(out, aes_sliced_wanted() ? AES_SLICED : AES_ECB,
	                       bytes);
}

void aes_key_free(struct aes_key *key)
{
	if (!key)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		context_free(atomic_load(&key->slots[i].context));
	context_free(key->first);
	OPENSSL_free(key);
}

static bool ecb_blocks(EVP_CIPHER_CTX *evp, uint8_t *dst, const uint8_t *src,
                       size_t count)
{
	int size = (int)count * AES_BLOCK, done = 0;

	return EVP_CipherUpdate(evp, dst, &done, src, size) && done == size;
}

int aes_blocks(struct aes_key *key, bool encrypt, uint8_t *dst,
               const uint8_t *src, size_t count)
{
	struct slot *slot = &key->slots[own_slot()];
	struct context *context, *other;
	bool ok;

	if (!count)
		return 0;
	context = atomic_exchange_explicit(&slot->context, NULL,
	                                   memory_order_acquire);
	if (!context)
		context = context_copy(key->first);
	if (!context)
		return -EIO;
	if (key->way == AES_SLICED)
		ok = aes_sliced_blocks(context->evp[encrypt], dst, src, count);
	else
		ok = ecb_blocks(context->evp[encrypt], dst, src, count);
	if (!ok) {
		context_free(context);
		return -EIO;
	}
	other = atomic_exchange_explicit(&slot->context, context,
	                                 memory_order_acq_rel);
	context_free(other);
	return 0;
}
