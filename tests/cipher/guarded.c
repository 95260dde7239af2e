#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cipher/guarded.h"

#include "sanitized.h"

#ifdef SANITIZED_ADDRESS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Bytes on either side of a buffer that are watched: more than any engine's
 * widest step of whole blocks. */
enum { AROUND = 1024 + 64, CANARY = 0xa5 };

struct gap {
	uint8_t *at;
	size_t size;
};

static struct gap before(const struct guarded *g)
{
	size_t n = g->place - g->first;

	n = n < AROUND ? n : AROUND;
	return (struct gap){ g->place - n, n };
}

static struct gap behind(const struct guarded *g)
{
	size_t n = g->end - g->place - g->size;

	return (struct gap){ g->place + g->size, n < AROUND ? n : AROUND };
}

void guarded_new(struct guarded *g, size_t room)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t pages = (room + 64 + page - 1) / page;
	uint8_t *all = mmap(NULL, (pages + 2) * page, PROT_NONE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED ||
	    mprotect(all + page, pages * page, PROT_READ | PROT_WRITE)) {
		perror("no memory for the test's buffers");
		exit(1);
	}
	g->first = g->place = all + page;
	g->end = g->first + pages * page;
	g->size = g->end - g->first;
}

void guarded_free(struct guarded *g)
{
	size_t page = sysconf(_SC_PAGESIZE);

	ASAN_UNPOISON_MEMORY_REGION(g->first, g->end - g->first);
	munmap(g->first - page, g->end - g->first + 2 * page);
}

static void unpoison(const struct guarded *g)
{
	ASAN_UNPOISON_MEMORY_REGION(g->first, g->end - g->first);
}

/* The sanitizer keeps account of units of 8 bytes, of which the first few may
 * be good and the rest not; so a byte or two in front may stay unwatched. */
static void poison(const struct guarded *g)
{
	ASAN_POISON_MEMORY_REGION(before(g).at, before(g).size);
	ASAN_POISON_MEMORY_REGION(behind(g).at, behind(g).size);
}

void *guarded_place(struct guarded *g, enum guarded_edge edge, size_t away,
                    size_t size)
{
	if (away + size > (size_t)(g->end - g->first))
		abort();
	unpoison(g);
	g->place = edge == AT_END ? g->end - size - away : g->first + away;
	g->size = size;
	memset(before(g).at, CANARY, before(g).size);
	memset(behind(g).at, CANARY, behind(g).size);
	poison(g);
	return g->place;
}

static int all_canaries(struct gap gap)
{
	return !gap.size || (*gap.at == CANARY &&
	                     !memcmp(gap.at, gap.at + 1, gap.size - 1));
}

int guarded_intact(struct guarded *g)
{
	int intact;

	unpoison(g);
	intact = all_canaries(before(g)) && all_canaries(behind(g));
	poison(g);
	return intact;
}
