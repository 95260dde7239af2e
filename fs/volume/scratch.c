#include "fs/volume/scratch.h"

#include <pthread.h>
#include <stdlib.h>

struct scratch {
	size_t sizes[SCRATCH_USES];
	uint8_t *bufs[SCRATCH_USES];
	size_t lent_sizes[SCRATCH_USES];
	uint8_t *lent[SCRATCH_USES];
};

enum { PAGE = 4096 };

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void scratch_free(void *p)
{
	struct scratch *s = p;

	for (int i = 0; i < SCRATCH_USES; i++)
		free(s->bufs[i]);
	free(s);
}

static void key_make(void)
{
	pthread_key_create(&key, scratch_free);
}

static struct scratch *thread_scratch(void)
{
	struct scratch *s;

	pthread_once(&once, key_make);
	s = pthread_getspecific(key);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (s && pthread_setspecific(key, s)) {
		free(s);
		s = NULL;
	}
	return s;
}

uint8_t *scratch_get(enum scratch_use use, size_t size)
{
	struct scratch *s = thread_scratch();
	void *buf;

	if (!s)
		return NULL;
	if (s->lent_sizes[use] >= size)
		return s->lent[use];
	if (s->sizes[use] >= size)
		return s->bufs[use];
	free(s->bufs[use]);
	s->bufs[use] = NULL;
	s->sizes[use] = 0;
	if (posix_memalign(&buf, PAGE, size))
		return NULL;
	s->bufs[use] = buf;
	s->sizes[use] = size;
	return buf;
}

void scratch_lend(enum scratch_use use, void *buf, size_t size)
{
	struct scratch *s = thread_scratch();
	size_t skip = -(uintptr_t)buf % PAGE;

	if (!s)
		return;
	s->lent[use] = (uint8_t *)buf + skip;
	s->lent_sizes[use] = size > skip ? size - skip : 0;
}
