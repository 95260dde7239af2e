/*
 * Adiantum itself. A message is split into a left part of any length and a
 * right block of 16 bytes (paper, section 2):
 *
 *     encrypt                                decrypt
 *     P_M = P_R + H(T, P_L)                  C_M = C_R + H(T, C_L)
 *     C_M = AES(K_E, P_M)                    P_M = AES^-1(K_E, C_M)
 *     C_L = P_L ^ XChaCha(K_S, C_M || 1)     P_L = C_L ^ XChaCha(K_S, C_M || 1)
 *     C_R = C_M - H(T, C_L)                  P_R = P_M - H(T, P_L)
 *
 * with sums modulo 2^128. So decryption is the same four steps, but that the
 * nonce is what goes into AES and not what comes out.
 */
#include <errno.h>
#include <stdbool.h>

#include <openssl/crypto.h>

#include "cipher/adiantum.h"
#include "cipher/aes.h"
#include "cipher/engine.h"
#include "cipher/pool.h"

enum {
	RIGHT = 16, /* bytes of the right block */
	GROUP = ENGINE_GROUP,
	GROUP_MESSAGE = 4096, /* bytes that an engine's `group` is meant for */
	/* Leading bytes of a longer tweak that messages often have in common. */
	TWEAK_PREFIX = POLY1305_BLOCK,
	/*
	 * Bytes of a batch that the pool is worth waking for, which takes some
	 * ten microseconds: here the fastest engines need 50 for them, a
	 * Cortex-A53 300. And bytes of a piece, at least: few enough that the
	 * last one is not long to wait for.
	 */
#ifdef __x86_64__
	LARGE = 192 << 10,
#else
	LARGE = 96 << 10,
#endif
	PIECE = 16 << 10,
};

struct adiantum_key {
	struct aes_key *aes;
	int rounds;
	uint32_t stream[CHACHA_KEY_WORDS];
	struct poly1305_key header;
	struct nhpoly1305_key message;
};

/* The bytes of K_E, K_T and K_M with K_N, in the order of their derivation. */
struct subkeys {
	uint8_t aes[AES256_KEY_SIZE];
	uint8_t header[POLY1305_KEY_SIZE];
	uint8_t message[POLY1305_KEY_SIZE];
	uint8_t nh[NH_KEY_SIZE];
};

/*
 * The hash of a message's length and of the first block of its tweak, which
 * the next message mostly has in common with it: a file's sectors do. Neither
 * is secret.
 */
struct header {
	bool valid;
	size_t left;
	uint8_t prefix[TWEAK_PREFIX];
	struct poly1305_state hash;
};

/* What is known of the messages of a group between the steps, for as many as
 * there are. */
struct group {
	struct header last;
	struct le128 header[GROUP];      /* hash of tweak and length */
	uint8_t in[GROUP][RIGHT];        /* P_M, decrypting C_M */
	uint8_t out[GROUP][RIGHT];       /* C_M, decrypting P_M */
	uint32_t subkey[GROUP][CHACHA_KEY_WORDS]; /* XChaCha's */
	uint32_t state[CHACHA_STATE_WORDS]; /* of one message after the other */
};

int adiantum_key_new(struct adiantum_key **out, enum adiantum_stream stream,
                     const uint8_t bytes[ADIANTUM_KEY_SIZE])
{
	static const uint8_t nonce[XCHACHA_NONCE] = { 1 };
	struct subkeys subkeys = { 0 };
	uint32_t state[CHACHA_STATE_WORDS];
	struct adiantum_key *key;
	int error;

	if (stream != ADIANTUM_XCHACHA12 && stream != ADIANTUM_XCHACHA20)
		return -EINVAL;
	key = OPENSSL_secure_zalloc(sizeof(*key));
	if (!key)
		return -ENOMEM;

	key->rounds = stream;
	memcpy(key->stream, bytes, ADIANTUM_KEY_SIZE);
	xchacha_init(state, key->stream, nonce, 0, key->rounds);
	engine_current()->chacha(state, key->rounds, (uint8_t *)&subkeys,
	                         (uint8_t *)&subkeys, sizeof(subkeys));
	poly1305_key_init(&key->header, subkeys.header);
	poly1305_key_init(&key->message.poly, subkeys.message);
	nh_key_init(&key->message.nh, subkeys.nh);
	error = aes_key_new(&key->aes, subkeys.aes);

	OPENSSL_cleanse(&subkeys, sizeof(subkeys));
	OPENSSL_cleanse(state, sizeof(state));
	if (error) {
		adiantum_key_free(key);
		return error;
	}
	*out = key;
	return 0;
}

void adiantum_key_free(struct adiantum_key *key)
{
	if (!key)
		return;
	aes_key_free(key->aes);
	OPENSSL_secure_clear_free(key, sizeof(*key));
}

/* Poly1305 of the left part's length in bits, as 16 bytes, and the tweak. */
static struct le128 hash_header(const struct adiantum_engine *engine,
                                const struct adiantum_key *key,
                                struct header *last, const uint8_t *tweak,
                                size_t tweak_size, size_t left)
{
	const size_t prefix = tweak_size > TWEAK_PREFIX ? TWEAK_PREFIX : 0;
	struct poly1305_state state;

	if (!last->valid || last->left != left ||
	    (prefix && !equal128(last->prefix, tweak))) {
		uint8_t blocks[POLY1305_BLOCK + TWEAK_PREFIX];

		store128(blocks, (struct le128){ (uint64_t)left * 8, 0 });
		if (prefix) {
			memcpy(last->prefix, tweak, prefix);
			memcpy(blocks + POLY1305_BLOCK, tweak, prefix);
		}
		memset(&last->hash, 0, sizeof(last->hash));
		engine_poly1305(engine, &last->hash, &key->header, blocks,
		                1 + prefix / POLY1305_BLOCK, 1);
		last->left = left;
		last->valid = true;
	}
	state = last->hash;
	if (tweak_size - prefix == POLY1305_BLOCK)
		engine_poly1305(engine, &state, &key->header, tweak + prefix, 1,
		                1);
	else if (tweak_size)
		poly1305_last(&state, &key->header, tweak + prefix,
		              tweak_size - prefix);
	return poly1305_finish(&state);
}

/* Messages that are hashed together, from this one on: two, or one alone. */
static inline size_t together(const struct adiantum_engine *engine,
                              const struct adiantum_message *m, size_t count)
{
	const size_t left = m->size - RIGHT;

	return engine->nh_two && count > 1 && m[0].size == m[1].size && left &&
	       left <= NH_UNIT && left % NH_STRIDE == 0 ? 2 : 1;
}

/* H of one or two messages' left parts, and from that P_M. */
static inline void hash_sources(const struct adiantum_engine *engine,
                                const struct adiantum_key *key,
                                size_t tweak_size,
                                const struct adiantum_message *m, size_t count,
                                struct group *g, size_t first)
{
	const size_t left = m->size - RIGHT;
	struct le128 hash[2];

	if (count == 2)
		nhpoly1305_two(engine, &key->message, hash, m[0].src, m[1].src,
		               left);
	else
		hash[0] = nhpoly1305(engine, &key->message, m->src, left);
	for (size_t i = 0; i < count; i++) {
		struct le128 header = hash_header(engine, key, &g->last,
		                                  m[i].tweak, tweak_size, left);
		const uint8_t *right = (const uint8_t *)m[i].src + left;
		struct le128 sum = add128(hash[i], header);

		g->header[first + i] = header;
		store128(g->in[first + i], add128(load128(right), sum));
	}
}

/* XOR XChaCha over the left parts of one or two messages, hash what that gives,
 * and from that C_R. */
static inline void stream_and_hash(const struct adiantum_engine *engine,
                                   const struct adiantum_key *key,
                                   const struct adiantum_message *m,
                                   size_t count, struct group *g, size_t first)
{
	const size_t left = m->size - RIGHT;
	/*
	 * The right block of src is no longer needed, and that of dst not yet
	 * written. Where it makes a whole block of the keystream's last one,
	 * the stream may go over it, too: its bytes are of no other use.
	 */
	const size_t beyond = m->size % CHACHA_BLOCK ? 0 : RIGHT;
	struct le128 hash[2];

	/* The block was the nonce's first 16 bytes; the last 8 hold 1. */
	if (count == 2) {
		for (size_t i = 0; i < 2; i++) {
			chacha_init(g->state, g->subkey[first + i], 1, 0);
			engine->chacha(g->state, key->rounds, m[i].dst,
			               m[i].src, left + beyond);
		}
		nhpoly1305_two(engine, &key->message, hash, m[0].dst, m[1].dst,
		               left);
	} else {
		chacha_init(g->state, g->subkey[first], 1, 0);
		hash[0] = nhpoly1305_stream(engine, &key->message, g->state,
		                            key->rounds, m->dst, m->src, left,
		                            beyond);
	}
	for (size_t i = 0; i < count; i++) {
		struct le128 sum = add128(hash[i], g->header[first + i]);

		store128((uint8_t *)m[i].dst + left,
		         sub128(load128(g->out[first + i]), sum));
	}
}

/* Nothing is written to any dst before AES, which alone can fail, is done. */
static int crypt_group(const struct adiantum_key *key, bool encrypt,
                       size_t tweak_size,
                       const struct adiantum_message *messages, size_t count,
                       const struct adiantum_engine *engine, struct group *g)
{
	int error;

	for (size_t i = 0, n; i < count; i += n) {
		n = together(engine, &messages[i], count - i);
		hash_sources(engine, key, tweak_size, &messages[i], n, g, i);
	}
	error = aes_blocks(key->aes, encrypt, g->out[0], g->in[0], count);
	if (error)
		return error;
	engine->hchacha(g->subkey, key->stream,
	                encrypt ? g->out[0] : g->in[0], count, key->rounds);
	for (size_t i = 0, n; i < count; i += n) {
		n = together(engine, &messages[i], count - i);
		stream_and_hash(engine, key, &messages[i], n, g, i);
	}
	return 0;
}

/* Wipe what `count` messages left behind: wiping all of the room would take a
 * single short message longer than ciphering it, and so do calls for each kind
 * of thing. Compilers may not leave out what comes before the last line. */
static inline void group_wipe(struct group *g, size_t count)
{
	const struct le128 zero = { 0, 0 };
	uint8_t *subkeys = (uint8_t *)g->subkey, *state = (uint8_t *)g->state;

	memset(&g->last.hash, 0, sizeof(g->last.hash));
	for (size_t i = 0; i < count; i++) {
		g->header[i] = zero;
		store128(g->in[i], zero);
		store128(g->out[i], zero);
		store128(subkeys + i * sizeof(g->subkey[0]), zero);
		store128(subkeys + i * sizeof(g->subkey[0]) + 16, zero);
	}
	for (size_t i = 0; i < sizeof(g->state); i += 16)
		store128(state + i, zero);
	__asm__ volatile("" : : "r"(g) : "memory");
}

/*
 * The messages of a group. An engine tells how many of 4096 bytes; of shorter
 * ones a multiple of that takes no more of the caches, and AES, which may have
 * a fixed cost for each call, and HChaCha do more of them at once.
 */
static size_t group_size(const struct adiantum_engine *engine, size_t size)
{
	const size_t most = GROUP / engine->group;
	const size_t times = GROUP_MESSAGE / size;

	return engine->group * (times < 1 ? 1 : times < most ? times : most);
}

/* A batch, and how many of its messages make a piece for the pool. */
struct batch {
	const struct adiantum_key *key;
	const struct adiantum_engine *engine;
	const struct adiantum_message *messages;
	size_t count;
	size_t tweak_size;
	size_t piece;
	bool encrypt;
};

/* Some of its messages, in groups. */
static int crypt_messages(const struct batch *b,
                          const struct adiantum_message *messages, size_t count)
{
	const size_t most = group_size(b->engine, count ? messages->size : RIGHT);
	const size_t used = count < most ? count : most;
	struct group group;
	int error = 0;

	group.last.valid = false;
	while (count && !error) {
		size_t n = count < most ? count : most;

		error = crypt_group(b->key, b->encrypt, b->tweak_size, messages,
		                    n, b->engine, &group);
		messages += n;
		count -= n;
	}
	group_wipe(&group, used);
	return error;
}

static int crypt_pieces(void *job, size_t first, size_t count)
{
	const struct batch *b = job;
	size_t begin = first * b->piece, end = begin + count * b->piece;

	if (end > b->count)
		end = b->count;
	return crypt_messages(b, b->messages + begin, end - begin);
}

static int crypt_batch(const struct adiantum_key *key, bool encrypt,
                       size_t tweak_size,
                       const struct adiantum_message *messages, size_t count)
{
	struct batch b = {
		.key = key, .engine = engine_current(), .messages = messages,
		.count = count, .tweak_size = tweak_size, .encrypt = encrypt,
	};
	size_t bytes = 0, group;

	for (size_t i = 0; i < count; i++) {
		if (messages[i].size < ADIANTUM_MESSAGE_MIN)
			return -EINVAL;
		bytes += messages[i].size;
	}
	if (bytes < LARGE || pool_threads() == 1)
		return crypt_messages(&b, messages, count);
	/* Whole groups, as many as are PIECE bytes on the average. */
	group = group_size(b.engine, bytes / count);
	b.piece = (PIECE / (bytes / count) / group + 1) * group;
	return pool_run(crypt_pieces, &b, (count + b.piece - 1) / b.piece);
}

int adiantum_encrypt_batch(const struct adiantum_key *key, size_t tweak_size,
                           const struct adiantum_message *messages,
                           size_t count)
{
	return crypt_batch(key, true, tweak_size, messages, count);
}

int adiantum_decrypt_batch(const struct adiantum_key *key, size_t tweak_size,
                           const struct adiantum_message *messages,
                           size_t count)
{
	return crypt_batch(key, false, tweak_size, messages, count);
}

int adiantum_encrypt(const struct adiantum_key *key, const void *tweak,
                     size_t tweak_size, void *dst, const void *src, size_t size)
{
	const struct adiantum_message message = { dst, src, tweak, size };

	return crypt_batch(key, true, tweak_size, &message, 1);
}

int adiantum_decrypt(const struct adiantum_key *key, const void *tweak,
                     size_t tweak_size, void *dst, const void *src, size_t size)
{
	const struct adiantum_message message = { dst, src, tweak, size };

	return crypt_batch(key, false, tweak_size, &message, 1);
}
