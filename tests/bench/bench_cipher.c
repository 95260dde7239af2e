/* Throughput of the cipher; --help says what is measured and how. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/adiantum.h"

#include "counter.h"
#include "measure.h"
#include "options.h"
#include "report.h"

enum { PARTS_MAX = 24 };

static bool wanted(const struct options *o, const struct part *part)
{
	if (part == parts || !o->parts[0])
		return true;
	for (const char *const *p = o->parts; *p; p++)
		if (strcasestr(part->name, *p))
			return true;
	return false;
}

static size_t collect(struct candidate *out, const struct options *o,
                      size_t size)
{
	size_t n = 0;

	for (const struct part *part = parts; part->name; part++) {
		if (size < part->size_min || !wanted(o, part))
			continue;
		if (part->openssl) {
			out[n++] = (struct candidate){
				.part = part, .engine = "openssl"
			};
			continue;
		}
		for (const char *const *e = o->engines; *e; e++)
			out[n++] = (struct candidate){
				.part = part, .engine = *e
			};
	}
	return n;
}

static enum bench_exit run(const struct options *o, size_t size, size_t batch)
{
	static struct candidate candidates[PARTS_MAX * OPTIONS_MANY];
	size_t count = collect(candidates, o, size);
	struct work *work;
	int error = 0;

	if (batch > OPTIONS_MEMORY / size)
		batch = OPTIONS_MEMORY / size;
	work = work_new(size, batch, true);
	if (!work)
		return BENCH_FAILED;
	for (size_t k = 0; k < count && !error; k++)
		error = part_check(candidates[k].part, candidates[k].engine,
		                   work);
	if (!error) {
		error = measure(candidates, count, work, o->seconds);
		if (error)
			fprintf(stderr, "bench: %s\n", strerror(-error));
	}
	if (!error)
		report(o, candidates, count, work);
	work_free(work);
	return error == -EBADMSG ? BENCH_WRONG : error ? BENCH_FAILED : BENCH_OK;
}

int main(int argc, char **argv)
{
	enum bench_exit code = BENCH_OK;
	struct options options;

	options_read(&options, argc, argv);
	adiantum_threads_set(options.threads);
	report_start(&options, options.threads == 1 ? counter_open()
	                                            : "several threads");
	for (size_t s = 0; s < options.size_count; s++)
		for (size_t b = 0; b < options.batch_count && !code; b++)
			code = run(&options, options.sizes[s],
			           options.batches[b]);
	if (!code && (fflush(stdout) || ferror(stdout)))
		code = BENCH_FAILED;
	return code;
}
