/* The choice of an engine: once, by the environment or by the CPU. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/adiantum.h"
#include "cipher/engine.h"

#ifdef __x86_64__
extern const struct adiantum_engine engine_avx512, engine_avx2, engine_ssse3;
extern const struct adiantum_engine engine_sse2;
#endif
#ifdef __aarch64__
extern const struct adiantum_engine engine_arm64_neon;
#endif

#ifdef __arm__
extern const struct adiantum_engine engine_neon_mixed_first, engine_neon,
	engine_neon_sri, engine_neon_mixed_later, engine_scalar;
#endif

/* All engines of this build, best first; `generic`, the last, always runs. */
static const struct adiantum_engine *const engines[] = {
#ifdef __x86_64__
	&engine_avx512,
	&engine_avx2,
	&engine_ssse3,
	&engine_sse2,
#endif
#ifdef __aarch64__
	&engine_arm64_neon,
#endif
#ifdef __arm__
	&engine_neon_mixed_first,
	&engine_neon,
	&engine_neon_sri,
	&engine_neon_mixed_later,
	&engine_scalar,
#endif
	&engine_generic,
};

enum { ENGINES = sizeof(engines) / sizeof(engines[0]) };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct adiantum_engine *current;
static const struct adiantum_engine *usable[ENGINES];
static const char *names[ENGINES + 1];

static const struct adiantum_engine *find(const char *name)
{
	for (size_t i = 0; names[i]; i++)
		if (!strcmp(names[i], name))
			return usable[i];
	return NULL;
}

static void choose(void)
{
	const char *wanted = getenv("FRONDFS_ENGINE");
	size_t n = 0;

	for (size_t i = 0; i < ENGINES; i++) {
		if (engines[i]->usable && !engines[i]->usable())
			continue;
		usable[n] = engines[i];
		names[n++] = engines[i]->name;
	}
	if (wanted)
		current = find(wanted);
	if (!current)
		current = usable[0];
}

const struct adiantum_engine *engine_current(void)
{
	pthread_once(&once, choose);
	return current;
}

const char *adiantum_engine_name(void)
{
	return engine_current()->name;
}

int adiantum_engine_select(const char *name)
{
	const struct adiantum_engine *engine;

	pthread_once(&once, choose);
	engine = find(name);
	if (!engine)
		return -ENOENT;
	current = engine;
	return 0;
}

const char *const *adiantum_engine_list(void)
{
	pthread_once(&once, choose);
	return names;
}
