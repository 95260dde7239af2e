#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"
#include "openssl.h"

enum { ALIGN = 4096 }; /* as the buffers of the mount are */

/* A fixed sequence of bytes (xorshift64). */
static void fill(uint8_t *p, size_t size, uint64_t seed)
{
	uint64_t x = 0x9e3779b97f4a7c15 ^ seed;

	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = x >> 32;
	}
}

static int make_keys(struct work *w, bool openssl)
{
	uint8_t bytes[NH_KEY_SIZE + POLY1305_KEY_SIZE];

	fill(bytes, sizeof(bytes), 1);
	memcpy(w->chacha, bytes, sizeof(w->chacha));
	poly1305_key_init(&w->hash.poly, bytes);
	nh_key_init(&w->hash.nh, bytes + POLY1305_KEY_SIZE);
	if (openssl)
		w->openssl = openssl_new(bytes);
	return (openssl && !w->openssl) || aes_key_new(&w->aes, bytes) ||
	       adiantum_key_new(&w->adiantum[0], ADIANTUM_XCHACHA12, bytes) ||
	       adiantum_key_new(&w->adiantum[1], ADIANTUM_XCHACHA20, bytes);
}

static int make_memory(struct work *w)
{
	size_t data = w->size * w->count;
	size_t blocks = AES_BLOCK * w->count;
	size_t subkeys = sizeof(*w->subkeys) * w->count;
	size_t sums = sizeof(*w->sums) * w->units * w->count;

	data = (data + ALIGN - 1) / ALIGN * ALIGN;
	w->results_size = data + blocks + subkeys + sums;
	if (posix_memalign((void **)&w->results, ALIGN, w->results_size))
		return -1;
	w->data = w->results;
	w->blocks = w->data + data;
	w->subkeys = (void *)(w->blocks + blocks);
	w->sums = (void *)(w->blocks + blocks + subkeys);
	w->nonces = malloc(blocks);
	w->tweaks = malloc(sizeof(*w->tweaks) * w->count);
	w->messages = malloc(sizeof(*w->messages) * w->count);
	return w->nonces && w->tweaks && w->messages ? 0 : -1;
}

struct work *work_new(size_t size, size_t count, bool openssl)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		goto fail;
	w->size = size;
	w->count = count;
	w->units = (work_left(w) + NH_UNIT - 1) / NH_UNIT;
	if (make_memory(w) || make_keys(w, openssl))
		goto fail;
	fill(w->nonces, AES_BLOCK * count, 2);
	/* As a file's sectors have them: the file's number, the sector's. */
	for (uint64_t i = 0; i < count; i++) {
		fill(w->tweaks[i], BENCH_TWEAK, 3);
		memcpy(w->tweaks[i] + BENCH_TWEAK / 2, &i, sizeof(i));
		w->messages[i] = (struct adiantum_message){
			w->data + i * size, w->data + i * size, w->tweaks[i], size
		};
	}
	work_reset(w);
	return w;
fail:
	fprintf(stderr, "bench: too little memory, or OpenSSL lacks a cipher\n");
	work_free(w);
	return NULL;
}

void work_free(struct work *w)
{
	if (!w)
		return;
	adiantum_key_free(w->adiantum[0]);
	adiantum_key_free(w->adiantum[1]);
	aes_key_free(w->aes);
	openssl_free(w->openssl);
	free(w->results);
	free(w->nonces);
	free(w->tweaks);
	free(w->messages);
	free(w);
}

void work_reset(struct work *w)
{
	memset(w->results, 0, w->results_size);
	fill(w->data, w->size * w->count, 4);
}

void work_engine(struct work *w, const char *name)
{
	if (adiantum_engine_select(name)) {
		fprintf(stderr, "bench: no engine %s\n", name);
		abort();
	}
	w->engine = engine_current();
}
