/*
 * Known answers: text files of tests/vectors, one vector a line, its columns
 * separated by blanks; lines with # are comments.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { VECTOR_COLUMNS = 8 };

struct vectors {
	FILE *file;
	char *line;
	size_t room;
	size_t lines; /* that hold a vector, by a count made at the start */
	size_t used;
	int columns;
	char *column[VECTOR_COLUMNS];
};

/* Open a file of tests/vectors. A missing file or one without vectors ends the
 * program with a message and a failure. */
void vectors_open(struct vectors *v, const char *name, int columns);

/* The next vector; 0 at the end. A line with another number of columns ends
 * the program with a failure. */
int vectors_next(struct vectors *v);

/* Close, and tell whether as many were used as the file has. */
int vectors_close(struct vectors *v);

/* A column as bytes (an allocation of exactly that size; "-" is no bytes) or
 * as a number. What is not hexadecimal ends the program with a failure. */
uint8_t *vector_bytes(const struct vectors *v, int column, size_t *size);
/* The same where the size is known. */
uint8_t *vector_sized(const struct vectors *v, int column, size_t size);
unsigned long vector_number(const struct vectors *v, int column);

#endif
