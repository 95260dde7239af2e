/* The CPU's cycle counter for this thread, user space only, where the kernel
 * (perf_event_open) gives one. */
#ifndef BENCH_COUNTER_H
#define BENCH_COUNTER_H

#include <stdint.h>

/* Returns NULL, or why there is no counter; all readings are 0 then. */
const char *counter_open(void);
uint64_t counter_read(void);

#endif
