/* Inodes with several names: which entries are links of each other. Only these
 * are remembered, not what has one name. */
#ifndef FS_VOLUME_MANIFEST_GROUPS_H
#define FS_VOLUME_MANIFEST_GROUPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct groups;

/*
 * Sealing: the number of the entry's inode, from 1 on in the order of calls; 0
 * where it has one name only, or is a directory. NULL is an empty set at first.
 * Returns 0 or -ENOMEM.
 */
int groups_number(struct groups **groups, const struct stat *st,
                  uint64_t *number);

/*
 * Verifying: take an entry with the number that it had and the inode that it
 * has. *with becomes the path of an earlier entry that it is a link of now and
 * was not, or was and is not, or NULL; *joined tells which of the two. Returns
 * 0 or -ENOMEM.
 */
int groups_compare(struct groups **groups, const char *path, uint64_t number,
                   const struct stat *st, const char **with, bool *joined);

void groups_free(struct groups *groups);

#endif
