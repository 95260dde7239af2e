/* Printing of what was measured. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "measure.h"
#include "options.h"

/* What stands above everything. `no_counter` says why cycles are not counted,
 * or is NULL. */
void report_start(const struct options *options, const char *no_counter);

/* The candidates of one message size and batch; the first of them is what the
 * others are compared with. */
void report(const struct options *options, const struct candidate *candidates,
            size_t count, const struct work *work);

#endif
