/*
 * Two directory trees, one in the mount and one plain, that should look the
 * same: names, types, modes, owners, sizes, link counts, targets, contents,
 * modification times, attributes; not the link counts and sizes of
 * directories.
 */
#ifndef TESTS_MOUNT_TWIN_H
#define TESTS_MOUNT_TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum { MOUNTED, PLAIN }; /* the order of every pair */

/* Inode numbers, in the order of the walk. */
struct inodes {
	size_t count, room;
	uint64_t (*pairs)[2];
};

/*
 * Compare the trees below two directories given by descriptors. Differences
 * are printed. `inodes` (to be freed with free(inodes.pairs)) becomes the
 * inode numbers of all entries; hard links are compared by them.
 */
bool twin_same(const int roots[2], struct inodes *inodes);

/* Compare what stat says; `name` is for the message. */
bool twin_same_stat(const char *name, const struct stat st[2]);

/*
 * A modification time that a test set is more than a year away from now, and
 * must be the same in both trees to the nanosecond. Where the plain tree's is
 * from now, the other one must be so, too.
 */
bool twin_same_time(const struct timespec t[2]);

/* A name with its odd bytes escaped; one of eight static buffers. */
const char *twin_shown(const char *name);

#endif
