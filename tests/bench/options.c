#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/adiantum.h"

#include "options.h"

static const char help[] =
"Usage: bench_cipher [OPTION]...\n"
"\n"
"Throughput of Adiantum and its parts, for each engine, beside ciphers of\n"
"OpenSSL. All that has the same message size and batch takes turns in slices\n"
"of a millisecond, and the best slice counts; compare figures of one run only.\n"
"Each engine's results are first compared with those of `generic`.\n"
"\n"
"  --engine NAME,...   engines [all that this CPU can run]\n"
"  --part TEXT,...     only parts with TEXT in their name [all]\n"
"  --sizes BYTES,...   [16,64,256,512,1024,1472,4096,8192,65536]\n"
"  --batch N,...       messages in one call, together 1 MiB at most [1,256]\n"
"  --threads N         threads for batches of Adiantum, 0: as in use [1]\n"
"  --seconds S         time for each figure [0.1]\n"
"  --quick             sizes 512 and 4096, 0.03 seconds for each figure\n"
"  --spread            a line for each figure: best and median throughput, and\n"
"                      how much longer than the best the slowest tenth took\n"
"  --csv               the same as comma-separated values\n"
"  --list              print the engines that this CPU can run, best first\n"
"  --help              print this\n"
"\n"
"Throughput is in 10^6 bytes of the message per second, also for parts that\n"
"work on less (HChaCha: 16 bytes of each message), so that the times of parts\n"
"can be added. ChaCha and NH work on the message without its last 16 bytes, as\n"
"in Adiantum, Poly1305 on all of it. OpenSSL's ciphers take a new nonce or IV\n"
"for each message; those with a tag compute and fetch it, without further data.\n"
"\n"
"Exit codes: 0 done, 1 an engine gave a wrong result, 8 no memory or OpenSSL\n"
"failed, 16 wrong option.\n";

static _Noreturn __attribute__((format(printf, 1, 2)))
void usage(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bench_cipher: ", stderr);
	vfprintf(stderr, format, args);
	fputs("; --help explains\n", stderr);
	va_end(args);
	exit(BENCH_USAGE);
}

static size_t split(char *list, const char **out, const char *option)
{
	size_t n = 0;
	char *p;

	while ((p = strsep(&list, ","))) {
		if (n == OPTIONS_MANY)
			usage("too many values for --%s", option);
		if (!*p)
			usage("an empty value for --%s", option);
		out[n++] = p;
	}
	out[n] = NULL;
	return n;
}

static size_t numbers(char *list, size_t *out, size_t min, const char *option)
{
	const char *texts[OPTIONS_MANY + 1];
	size_t n = split(list, texts, option);

	for (size_t i = 0; i < n; i++) {
		char *end;
		unsigned long v;

		errno = 0;
		v = strtoul(texts[i], &end, 10);
		if (!isdigit((unsigned char)*texts[i]) || *end || errno ||
		    v < min || v > OPTIONS_MEMORY)
			usage("--%s takes numbers from %zu to %d, not %s",
			      option, min, OPTIONS_MEMORY, texts[i]);
		out[i] = v;
	}
	return n;
}

static void check_engines(const char *const *names)
{
	for (; *names; names++) {
		const char *const *known = adiantum_engine_list();

		while (*known && strcmp(*known, *names))
			known++;
		if (!*known)
			usage("this CPU can run no engine named %s", *names);
	}
}

static void all_engines(struct options *o)
{
	const char *const *known = adiantum_engine_list();
	size_t n = 0;

	for (; known[n] && n < OPTIONS_MANY; n++)
		o->engines[n] = known[n];
	o->engines[n] = NULL;
}

static void list(void)
{
	for (const char *const *p = adiantum_engine_list(); *p; p++)
		puts(*p);
	exit(BENCH_OK);
}

void options_read(struct options *o, int argc, char **argv)
{
	enum {
		ENGINE, PART, SIZES, BATCH, THREADS, SECONDS, QUICK, SPREAD,
		CSV, LIST, HELP,
	};
	static const struct option longs[] = {
		{ "engine", required_argument, NULL, ENGINE },
		{ "part", required_argument, NULL, PART },
		{ "sizes", required_argument, NULL, SIZES },
		{ "batch", required_argument, NULL, BATCH },
		{ "threads", required_argument, NULL, THREADS },
		{ "seconds", required_argument, NULL, SECONDS },
		{ "quick", no_argument, NULL, QUICK },
		{ "spread", no_argument, NULL, SPREAD },
		{ "csv", no_argument, NULL, CSV },
		{ "list", no_argument, NULL, LIST },
		{ "help", no_argument, NULL, HELP },
		{ 0 },
	};
	static const size_t sizes[] = {
		16, 64, 256, 512, 1024, 1472, 4096, 8192, 65536,
	};
	size_t threads[OPTIONS_MANY];
	bool quick = false;
	char *end;
	int c;

	memset(o, 0, sizeof(*o));
	o->threads = 1;
	all_engines(o);
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case ENGINE:
			if (!strcmp(optarg, "all"))
				break;
			split(optarg, o->engines, "engine");
			check_engines(o->engines);
			break;
		case PART:
			split(optarg, o->parts, "part");
			break;
		case SIZES:
			o->size_count = numbers(optarg, o->sizes, 16, "sizes");
			break;
		case BATCH:
			o->batch_count = numbers(optarg, o->batches, 1, "batch");
			break;
		case THREADS:
			if (numbers(optarg, threads, 0, "threads") != 1)
				usage("--threads takes one number");
			o->threads = threads[0];
			break;
		case SECONDS:
			o->seconds = strtod(optarg, &end);
			if (end == optarg || *end ||
			    !(o->seconds > 0 && o->seconds <= 3600))
				usage("--seconds takes a number up to 3600");
			break;
		case QUICK:
			quick = true;
			break;
		case SPREAD:
			o->layout = LAYOUT_SPREAD;
			break;
		case CSV:
			o->layout = LAYOUT_CSV;
			break;
		case LIST:
			list();
			break;
		case HELP:
			fputs(help, stdout);
			exit(BENCH_OK);
		default:
			exit(BENCH_USAGE);
		}
	}
	if (optind < argc)
		usage("what is %s?", argv[optind]);
	if (!o->seconds)
		o->seconds = quick ? 0.03 : 0.1;
	if (!o->size_count && quick) {
		o->sizes[o->size_count++] = 512;
		o->sizes[o->size_count++] = 4096;
	} else if (!o->size_count) {
		memcpy(o->sizes, sizes, sizeof(sizes));
		o->size_count = sizeof(sizes) / sizeof(sizes[0]);
	}
	if (!o->batch_count) {
		o->batches[o->batch_count++] = 1;
		o->batches[o->batch_count++] = 256;
	}
}
