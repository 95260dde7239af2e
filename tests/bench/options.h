/* The command line of bench_cipher. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum {
	OPTIONS_MANY = 32,
	OPTIONS_MEMORY = 1 << 20, /* bytes of a batch, as the mount's requests */
};

enum bench_exit {
	BENCH_OK = 0,
	BENCH_WRONG = 1,   /* an engine gave a wrong result */
	BENCH_FAILED = 8,  /* no memory, or OpenSSL failed */
	BENCH_USAGE = 16,
};

enum layout { LAYOUT_TABLE, LAYOUT_SPREAD, LAYOUT_CSV };

struct options {
	const char *engines[OPTIONS_MANY + 1]; /* ended by NULL */
	const char *parts[OPTIONS_MANY + 1];   /* none: all; pieces of names */
	size_t sizes[OPTIONS_MANY], size_count;
	size_t batches[OPTIONS_MANY], batch_count;
	unsigned threads; /* for Adiantum; 0: as many as it takes by itself */
	double seconds;
	enum layout layout;
};

/* Ends the program with BENCH_USAGE, or BENCH_OK after --help. */
void options_read(struct options *options, int argc, char **argv);

#endif
