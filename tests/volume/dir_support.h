/* What the tests of directories share. */
#ifndef TESTS_VOLUME_DIR_SUPPORT_H
#define TESTS_VOLUME_DIR_SUPPORT_H

#include "fs/volume/dir.h"
#include "fs/volume/io.h"

/* A volume in a fresh temporary directory below `top` ("/tmp", "/dev/shm"),
 * with a root id and fixed keys. */
struct place {
	struct volume volume;
	char path[64];
	struct dir *root;
};

void place_make(struct place *place, const char *top, size_t name_limit);
void place_remove(struct place *place);

/* Open a subdirectory, or the root again; NULL on failure. */
struct dir *sub_open(struct place *place, struct dir *dir, const char *plain);

/* Read errors as they come: the calls that must work. */
struct dir_entry put_file(struct dir *dir, const char *plain);
struct dir_entry put_dir(struct dir *dir, const char *plain);

/* The names in a listing, sorted, joined with '\n'; the caller frees. A
 * listing that fails gives "error N". */
char *names_of(struct dir *dir);

/* The same of the ciphertext, without the directory's own id file(s). */
char *texts_of(struct dir *dir);

/* A name of n bytes that depends on n. */
const char *name_of_length(char name[257], size_t n);

/* The inode under a plaintext name, or 0. */
ino_t inode_of(struct dir *dir, const char *plain);

/* A new caller-independent struct dir for the same directory. */
struct dir *reopen(struct place *place, struct dir *dir);

/* An io table that counts the changing calls and stops before call number
 * fault_at (from 1): by _exit(42), or by failing once with fault_errno. */
extern const struct io io_fault;
extern unsigned fault_at, fault_count;
extern int fault_errno; /* 0: _exit */

#endif
