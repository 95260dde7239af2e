/* What the parts of the check share. */
#ifndef FS_VOLUME_CHECK_IMPL_H
#define FS_VOLUME_CHECK_IMPL_H

#include <pthread.h>
#include <sys/stat.h>

#include "fs/volume/check.h"

struct check;

/* Directories inside each other that are looked into: each takes a descriptor,
 * some stack, and paths that grow. Longer paths than of so many the system
 * does not take (PATH_MAX) anyway. */
enum { CHECK_DEPTH_MAX = 2048 };

/* An entry that is being checked. */
struct check_place {
	char *plain;  /* paths, malloc'ed */
	char *cipher;
};

/* Report a finding about the entry `name` of a place (NULL: the place
 * itself). The rest of *finding is the caller's. */
void check_report(struct check *check, const char *plain, const char *cipher,
                  struct check_finding finding);

/* A simple finding with a detail. */
void check_say(struct check *check, enum check_class class, const char *plain,
               const char *cipher, const char *detail);

/* Hand a regular file over to the threads that read content. Owns fd, plain
 * and cipher from then on. */
void check_queue_file(struct check *check, int fd, char *plain, char *cipher);

/* Check the attributes of the entry that fd is open on. */
void check_xattrs(struct check *check, int fd, const char *plain,
                  const char *cipher);

/* Whether this inode was seen before (a hard link); remembers it. */
bool check_seen(struct check *check, const struct stat *st);

/* Check the directory that fd is open on, with all below it; owns fd. */
int check_tree(struct check *check, int fd, const char *plain,
               const char *cipher);

/* Check one entry of a directory: `text` is its ciphertext name, `plain` and
 * `cipher` its paths. Goes down into a directory. */
int check_entry(struct check *check, int dir, const char *text,
                const char *plain, const char *cipher);

const struct volume *check_of_volume(const struct check *check);
struct check_progress *check_of_progress(const struct check *check);

/* How many directories lie above the one that is being walked through. */
unsigned *check_depth(struct check *check);

/* "a/b" from "a" and "b"; "b" from "" and "b". NULL without memory. */
char *check_join(const char *path, const char *name);

#endif
