/*
 * Volumes to be damaged: made by the real program, filled through the library,
 * damaged by hand, and checked by `frondfs fsck --json`.
 *
 * What must work for a test to make sense ends the program when it fails.
 */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/volume/dir.h"
#include "fs/volume/volume.h"

struct victim {
	char holder[64];        /* a folder of its own; "" for victim_of */
	char root[300];         /* the ciphertext */
	char keyfile[300];
	struct volume *volume;  /* open in the library, without a lock */
};

void need(bool ok, const char *what);

/* A fresh volume below /tmp, or one that exists already. */
void victim_make(struct victim *v);
void victim_of(struct victim *v, const char *root, const char *keyfile);
void victim_remove(struct victim *v); /* only what victim_make made */

/* Content that no other position or seed has; never zero. */
void content_fill(uint8_t *buf, size_t size, unsigned seed, uint64_t position);

/* Make entries by plaintext path; the directory must be there. The content of
 * a file is content_fill's. */
void put_file_at(struct victim *v, const char *path, unsigned seed,
                 uint64_t size);
void put_dir_at(struct victim *v, const char *path);
void put_link_at(struct victim *v, const char *path, const char *target);
void put_xattr_at(struct victim *v, const char *path, const char *name,
                  const char *value);
/* Write into a file, without making it shorter. */
void overwrite_at(struct victim *v, const char *path, unsigned seed,
                  uint64_t position, uint64_t size);

/* The whole file read by the library, byte by byte right where it is read at
 * all: true unless a wrong byte came, or an end before `size`. *bad becomes
 * the number of bytes that could not be read. */
bool library_reads_right(struct victim *v, const char *path, unsigned seed,
                         uint64_t size, uint64_t *bad);

/* The ciphertext path below the root, and the absolute one, of a plaintext
 * path: one of 16 static buffers in turn. */
const char *cipher_of(struct victim *v, const char *path);
const char *where(struct victim *v, const char *path);
/* The absolute path of the file that holds a directory's id, or a name. */
const char *id_file(struct victim *v, const char *dir);
const char *name_file(struct victim *v, const char *path);
/* A copy of a path that stays for good. */
char *keep(const char *text);
/* "a/b", in such a buffer. */
const char *join_path(const char *a, const char *b);

/* Damages to a ciphertext file; paths are absolute. */
void flip_bit(const char *path, uint64_t byte, unsigned bit);
void swap_units(const char *a, uint64_t unit_a, const char *b, uint64_t unit_b);
void zero_range(const char *path, uint64_t start, uint64_t size);
void punch_range(const char *path, uint64_t start, uint64_t size);
void cut_file(const char *path, uint64_t size);
void copy_file(const char *from, const char *to);
void write_text(const char *path, const char *text);
uint64_t size_of(const char *path);
void move_file(const char *from, const char *to);
void swap_files(const char *a, const char *b);

/* A finding that is expected; first, start: -1 for none. A cipher path of NULL
 * is that of the plaintext path. */
struct expected {
	const char *class, *plain, *cipher;
	int64_t first, last, start, end;
};

/* What `frondfs fsck` said. */
struct report {
	int code;
	char *findings; /* "class|path|ciphertext|sectors|bytes", sorted lines */
	char *json, *errors; /* stdout and stderr */
	size_t count;
	int64_t files, directories, links, bytes; /* of the summary; -1 */
	int64_t damaged, unfinished, notes, skipped;
};

/* Run a program as this user (0: as we are) without input; what it wrote to
 * stdout and stderr stays for good. Returns its exit code, or 128 + the
 * signal. */
int run_collect(const char *const argv[], uid_t user, char **out, char **err);

/* Run fsck as this user (0: as we are), with more arguments behind DIR (may be
 * NULL) and options before it. */
void fsck_run(struct report *r, struct victim *v, uid_t user,
              const char *const options[], const char *const paths[]);
void report_free(struct report *r);

/* Whether fsck ends with this code and has exactly these findings, with one
 * thread and with four; if not, both are shown. */
bool fsck_says(struct victim *v, int code, const struct expected *e, size_t n);
#define FSCK_SAYS(v, code, ...)                                             \
	fsck_says(v, code, (const struct expected[]){ __VA_ARGS__ },        \
	          sizeof((const struct expected[]){ __VA_ARGS__ }) /        \
	          sizeof(struct expected))
#define FSCK_CLEAN(v) fsck_says(v, 0, NULL, 0)

/* How often fsck_says was asked about damage, and was right. */
extern unsigned damages_tried, damages_named;

#endif
