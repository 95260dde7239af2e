/*
 * Adiantum: a length-preserving, tweakable encryption of messages of 16 bytes
 * and more (Crowley and Biggers, "Adiantum: length-preserving encryption for
 * entry-level processors", 2018), with AES-256 as the block cipher and
 * XChaCha12 or XChaCha20 as the stream cipher. It gives the same bytes as the
 * Linux kernel's adiantum(xchacha12,aes) and adiantum(xchacha20,aes).
 *
 * This is the one public header of the library. A key object never changes
 * once it is made, so any number of threads may use one at the same time.
 * Running time depends on sizes, never on the bytes of keys, tweaks or
 * messages (as far as OpenSSL's AES allows: see doc/security.md).
 */
#ifndef CIPHER_ADIANTUM_H
#define CIPHER_ADIANTUM_H

#include <stddef.h>
#include <stdint.h>

enum {
	ADIANTUM_KEY_SIZE = 32,    /* bytes */
	ADIANTUM_MESSAGE_MIN = 16, /* bytes; there is no upper limit */
};

/* The stream cipher, by its number of rounds. */
enum adiantum_stream {
	ADIANTUM_XCHACHA12 = 12,
	ADIANTUM_XCHACHA20 = 20,
};

struct adiantum_key;

/* One message of a batch. dst and src hold `size` bytes; they may be the same
 * pointer, but may not overlap otherwise. No alignment is needed. */
struct adiantum_message {
	void *dst;
	const void *src;
	const void *tweak;
	size_t size;
};

/*
 * Make a key object from ADIANTUM_KEY_SIZE bytes: the subkeys K_E, K_T, K_M
 * and K_N of the paper's section 2 are derived here, once. The object lies in
 * OpenSSL's secure heap where the program has set that up.
 * Returns 0, -EINVAL for an unknown stream cipher, -ENOMEM, or -EIO when
 * OpenSSL cannot give AES-256.
 */
int adiantum_key_new(struct adiantum_key **out, enum adiantum_stream stream,
                     const uint8_t key[ADIANTUM_KEY_SIZE]);

/* Wipe and free a key object; NULL is allowed. */
void adiantum_key_free(struct adiantum_key *key);

/*
 * Encrypt or decrypt one message of `size` bytes under a tweak of any length,
 * zero included. dst may be src; they may not overlap otherwise.
 * Returns 0, -EINVAL if size is below ADIANTUM_MESSAGE_MIN, or -EIO when
 * OpenSSL fails; nothing has then been written to dst.
 */
int adiantum_encrypt(const struct adiantum_key *key, const void *tweak,
                     size_t tweak_size, void *dst, const void *src,
                     size_t size);
int adiantum_decrypt(const struct adiantum_key *key, const void *tweak,
                     size_t tweak_size, void *dst, const void *src,
                     size_t size);

/*
 * The same for many messages, all with tweaks of tweak_size bytes. The result
 * equals that of single calls; this is the faster way, as the AES blocks of a
 * batch go through the cipher together. Messages may have different sizes.
 * Returns as above; -EINVAL comes before anything is written, but after -EIO
 * some messages are done and others are not, so no output may be used.
 */
int adiantum_encrypt_batch(const struct adiantum_key *key, size_t tweak_size,
                           const struct adiantum_message *messages,
                           size_t count);
int adiantum_decrypt_batch(const struct adiantum_key *key, size_t tweak_size,
                           const struct adiantum_message *messages,
                           size_t count);

/*
 * The engine in use ("generic", ...): chosen once from what the CPU offers, or
 * by the environment variable FRONDFS_ENGINE (a name that is not in the list
 * changes nothing). adiantum_engine_select changes it, for tests and
 * benchmarks, and must not be called while other threads encrypt. It returns 0,
 * or -ENOENT for an engine that is unknown or that this CPU cannot run.
 * adiantum_engine_list gives the names of those it can run, best first, ended
 * by NULL.
 */
const char *adiantum_engine_name(void);
int adiantum_engine_select(const char *name);
const char *const *adiantum_engine_list(void);

/*
 * Batches that are large enough to gain from it are worked on by several
 * threads: as many as this process may use CPUs, at most 8, or as the
 * environment variable FRONDFS_THREADS says. adiantum_threads_set changes their
 * number at any time: 1 means the calling thread alone, 0 the usual number. They
 * are made when the first large batch comes, and anew in a child of fork.
 */
unsigned adiantum_threads(void);
void adiantum_threads_set(unsigned threads);

#endif
