#include "fs/volume/scratch.h"

#include <pthread.h>
#include <stdlib.h>

struct scratch {
	size_t size;
	uint8_t *buf;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void scratch_free(void *p)
{
	struct scratch *s = p;

	free(s->buf);
	free(s);
}

static void key_make(void)
{
	pthread_key_create(&key, scratch_free);
}

uint8_t *scratch_get(size_t size)
{
	struct scratch *s;

	pthread_once(&once, key_make);
	s = pthread_getspecific(key);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		if (pthread_setspecific(key, s)) {
			free(s);
			return NULL;
		}
	}
	if (s->size < size) {
		free(s->buf);
		s->size = 0;
		s->buf = NULL;
		if (posix_memalign((void **)&s->buf, 4096, size))
			return NULL;
		s->size = size;
	}
	return s->buf;
}
