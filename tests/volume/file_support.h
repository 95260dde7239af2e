/*
 * One file under test, on the disk and as a model in memory: shared by the
 * tests of the file object.
 */
#ifndef TESTS_VOLUME_FILE_SUPPORT_H
#define TESTS_VOLUME_FILE_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/volume/file.h"

extern struct volume file_volume;
extern char file_path[64];

/* Make the folder of the file, with keys for it, and remove it again.
 * file_begin returns 0 or -1. */
int file_begin(void);
void file_end(void);

/* Open the file, made where it is not there; file_fresh removes it first.
 * NULL where that fails. */
struct file *file_reopen(int flags);
struct file *file_fresh(void);

/* Findings of a check, counted by kind. */
struct file_findings {
	unsigned count[FILE_READ_ERROR + 1];
	unsigned total;
	struct file_finding last;
};
struct file_findings file_findings(void);

/* Change one bit of the ciphertext. */
void file_flip(off_t at);

/* Bytes that are never zero, other ones for another seed. */
void file_fill(uint8_t *p, size_t n, unsigned seed);

enum { MODEL_MAX = 3 * 1024 * 1024 };

/* What the file should hold, and a buffer of the same size. */
extern uint8_t model[MODEL_MAX], buffer[MODEL_MAX];
extern uint64_t model_size;

bool file_holds_model(struct file *f);

#endif
