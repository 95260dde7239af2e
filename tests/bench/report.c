#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

#include "cipher/adiantum.h"

#include "report.h"

/* 10^6 bytes per second, given the seconds of a pass. */
static double rate(const struct work *w, double seconds)
{
	return (double)(w->size * w->count) / seconds / 1e6;
}

static double cycles_per_byte(const struct candidate *c, const struct work *w)
{
	return c->cycles / (double)(w->size * w->count);
}

/* How much longer than the best a slice took that 9 of 10 are better than. */
static double spread_percent(const struct candidate *c)
{
	return 100 * (c->high / c->best - 1);
}

void report_start(const struct options *o, const char *no_counter)
{
	if (o->layout == LAYOUT_CSV) {
		puts("size,batch,part,engine,mb_per_s,ratio,median_mb_per_s,"
		     "spread_percent,ns_per_message,cycles_per_byte");
		return;
	}
	printf("%s; engines:", OpenSSL_version(OPENSSL_VERSION));
	for (const char *const *p = o->engines; *p; p++)
		printf(" %s", *p);
	if (o->threads != 1)
		printf("; threads for Adiantum: %u", adiantum_threads());
	printf("\nMB/s, and the ratio to OpenSSL's ChaCha20-Poly1305");
	if (no_counter)
		printf("\n(no cycles per byte, as they cannot be counted: %s)\n",
		       no_counter);
	else
		printf(", and cycles per byte\n");
}

static void cell(const struct candidate *c, const struct candidate *reference,
                 const struct work *w)
{
	printf("  %7.0f %5.2f", rate(w, c->best), reference->best / c->best);
	if (c->cycles > 0)
		printf(" %6.2f", cycles_per_byte(c, w));
}

/* OpenSSL's ciphers one below the other, then a column for each engine. */
static void table(const struct options *o, const struct candidate *c,
                  size_t count, const struct work *w)
{
	int width = c->cycles > 0 ? 22 : 15;
	const struct part *part = NULL;

	printf("\n%zu bytes, %zu in a batch\n", w->size, w->count);
	for (size_t k = 0; k < count; k++)
		if (c[k].part->openssl) {
			printf("%-26s", c[k].part->name);
			cell(&c[k], c, w);
			printf("\n");
		}
	printf("%-26s", "");
	for (const char *const *p = o->engines; *p; p++)
		printf("%*s", width, *p);
	for (size_t k = 0; k < count; k++) {
		if (c[k].part->openssl)
			continue;
		if (c[k].part != part)
			printf("\n%-26s", c[k].part->name);
		part = c[k].part;
		cell(&c[k], c, w);
	}
	printf("\n");
}

static void spread(const struct candidate *c, size_t count,
                   const struct work *w)
{
	printf("\n%zu bytes, %zu in a batch\n%-26s %-10s %8s %6s %8s %7s %12s",
	       w->size, w->count, "", "", "best", "ratio", "median", "spread",
	       "ns/message");
	printf(c->cycles > 0 ? " %8s\n" : "\n", "cycles/B");
	for (size_t k = 0; k < count; k++) {
		printf("%-26s %-10s %8.0f %6.2f %8.0f %6.0f%% %12.1f",
		       c[k].part->name, c[k].engine, rate(w, c[k].best),
		       c->best / c[k].best, rate(w, c[k].median),
		       spread_percent(&c[k]),
		       1e9 * c[k].best / (double)w->count);
		if (c[k].cycles > 0)
			printf(" %8.3f", cycles_per_byte(&c[k], w));
		printf("\n");
	}
}

static void csv(const struct candidate *c, size_t count, const struct work *w)
{
	for (size_t k = 0; k < count; k++) {
		printf("%zu,%zu,%s,%s,%.1f,%.3f,%.1f,%.1f,%.2f,", w->size,
		       w->count, c[k].part->name, c[k].engine,
		       rate(w, c[k].best), c->best / c[k].best,
		       rate(w, c[k].median), spread_percent(&c[k]),
		       1e9 * c[k].best / (double)w->count);
		if (c[k].cycles > 0)
			printf("%.3f", cycles_per_byte(&c[k], w));
		printf("\n");
	}
}

void report(const struct options *o, const struct candidate *candidates,
            size_t count, const struct work *w)
{
	if (o->layout == LAYOUT_TABLE)
		table(o, candidates, count, w);
	else if (o->layout == LAYOUT_SPREAD)
		spread(candidates, count, w);
	else
		csv(candidates, count, w);
	fflush(stdout);
}
