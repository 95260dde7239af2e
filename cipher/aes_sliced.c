/*
 * What it costs, in cycles that were modelled for a Cortex-A7, for one call of
 * aes_blocks that encrypts, beside OpenSSL's ECB with tables (OpenSSL 3.0;
 * decryption takes a tenth more):
 *
 *	blocks      1      8      9     32
 *	XTS      8230   8270  14590  26820
 *	tables    980   6240   6990  24290
 *
 * So a group of 8 messages and more pays little for constant time, and a single
 * 4096-byte message 1.77 cycles per byte, or 6 microseconds at 1.2 GHz. It pays
 * them: a key that leaks in one way of working leaks. CTR and CBC have
 * bit-sliced code as well, but fall back to tables below 8 blocks.
 *
 * Each call spends 1900 of these cycles on turning the key schedule into slices
 * and on the tweak, which OpenSSL encrypts with tables; tweak and K2 are
 * constants, so that tells nothing. It wipes the slices from the stack.
 */
#include <string.h>

#include <openssl/crypto.h>

#include "cipher/aes_sliced.h"

#ifdef __arm__
#include <sys/auxv.h>

#ifndef HWCAP_NEON
#define HWCAP_NEON (1 << 12)
#endif
#ifndef HWCAP2_AES
#define HWCAP2_AES (1 << 0)
#endif
#endif

enum {
	SLICE = 8, /* blocks that the bit-sliced code takes at once */
	REST = 3 * SLICE + 1,
};

/* K2, and the tweak that makes all masks zero: AES^-1(K2, 0). */
static const uint8_t tweak_key[AES256_KEY_SIZE + 1] =
	"XTS tweak key, public, for T = 0";
static const uint8_t tweak[AES_BLOCK] = {
	0x19, 0x68, 0x18, 0xf1, 0xc2, 0xa5, 0x51, 0xd9,
	0xcf, 0x5e, 0xa1, 0x9d, 0x10, 0x5e, 0xe3, 0xc4,
};

bool aes_sliced_wanted(void)
{
#ifdef __arm__
	return (getauxval(AT_HWCAP) & HWCAP_NEON) &&
	       !(getauxval(AT_HWCAP2) & HWCAP2_AES);
#else
	return false;
#endif
}

bool aes_sliced_init(EVP_CIPHER_CTX *context, const EVP_CIPHER *xts,
                     const uint8_t key[AES256_KEY_SIZE], bool encrypt)
{
	uint8_t keys[2 * AES256_KEY_SIZE];
	bool ok;

	memcpy(keys, key, AES256_KEY_SIZE);
	memcpy(keys + AES256_KEY_SIZE, tweak_key, AES256_KEY_SIZE);
	ok = EVP_CipherInit_ex2(context, xts, keys, tweak, encrypt, NULL);
	OPENSSL_cleanse(keys, sizeof(keys));
	return ok;
}

/* One call is one data unit, and each begins with the tweak anew. */
static bool unit(EVP_CIPHER_CTX *context, uint8_t *dst, const uint8_t *src,
                 size_t count)
{
	int size = (int)count * AES_BLOCK, done = 0;

	return EVP_CipherUpdate(context, dst, &done, src, size) && done == size;
}

/*
 * A block that is left over alone after the eights goes through the tables
 * again, two to seven do not. So a second one, of zeros, keeps it company; in
 * the same call as the eights before it, as another call costs more.
 */
bool aes_sliced_blocks(EVP_CIPHER_CTX *context, uint8_t *dst,
                       const uint8_t *src, size_t count)
{
	uint8_t room[(REST + 1) * AES_BLOCK];
	size_t rest = count < REST ? count : REST;
	size_t size = rest * AES_BLOCK;
	bool ok;

	if (count % SLICE != 1)
		return unit(context, dst, src, count);
	if (rest < count && !unit(context, dst, src, count - rest))
		return false;
	dst += (count - rest) * AES_BLOCK;
	src += (count - rest) * AES_BLOCK;
	memcpy(room, src, size);
	memset(room + size, 0, AES_BLOCK);
	ok = unit(context, room, room, rest + 1);
	if (ok)
		memcpy(dst, room, size);
	OPENSSL_cleanse(room, size);
	return ok;
}
