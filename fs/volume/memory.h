/* How much memory this process may still take. */
#ifndef FS_VOLUME_MEMORY_H
#define FS_VOLUME_MEMORY_H

#include <stdint.h>

/*
 * Bytes that can be allocated and used: the least of what the kernel calls
 * available (with free swap), the limits of this process (RLIMIT_AS and
 * RLIMIT_DATA) and those of its control group (version 2) and the groups above.
 * What cannot be found out does not limit: UINT64_MAX when nothing is known.
 */
uint64_t memory_available(void);

#endif
