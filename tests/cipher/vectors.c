#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cipher/vectors.h"

static _Noreturn void fail(const char *what, const char *detail)
{
	fprintf(stderr, "FAIL test vectors: %s: %s\n", what, detail);
	exit(1);
}

void vectors_open(struct vectors *v, const char *name, int columns)
{
	char path[4096];
	int c, before = '\n';

	memset(v, 0, sizeof(*v));
	v->columns = columns;
	snprintf(path, sizeof(path), "%s/tests/vectors/%s", FROND_SOURCE_DIR,
	         name);
	v->file = fopen(path, "r");
	if (!v->file)
		fail(path, "cannot be opened");
	while ((c = getc(v->file)) != EOF) {
		if (before == '\n' && c != '#' && c != '\n')
			v->lines++;
		before = c;
	}
	if (!v->lines)
		fail(path, "holds no vector");
	rewind(v->file);
}

int vectors_next(struct vectors *v)
{
	char *rest, *word;
	int n = 0;

	do {
		if (getline(&v->line, &v->room, v->file) < 0)
			return 0;
	} while (*v->line == '#' || *v->line == '\n');

	for (word = strtok_r(v->line, " \n", &rest); word;
	     word = strtok_r(NULL, " \n", &rest)) {
		if (n == v->columns)
			fail(word, "a column too many");
		v->column[n++] = word;
	}
	if (n != v->columns)
		fail(v->line, "a column too few");
	v->used++;
	return 1;
}

int vectors_close(struct vectors *v)
{
	int all = v->used == v->lines;

	fclose(v->file);
	free(v->line);
	return all;
}

static int digit(char c)
{
	if (!isxdigit((unsigned char)c))
		fail("not hexadecimal", (char[]){ c, 0 });
	return isdigit((unsigned char)c) ? c - '0' :
	                                   tolower((unsigned char)c) - 'a' + 10;
}

uint8_t *vector_bytes(const struct vectors *v, int column, size_t *size)
{
	const char *text = v->column[column];
	size_t length = strcmp(text, "-") ? strlen(text) : 0;
	uint8_t *bytes = malloc(length ? length / 2 : 1);

	if (!bytes || length % 2)
		fail(text, "half a byte, or no memory");
	for (size_t i = 0; i < length; i += 2)
		bytes[i / 2] = digit(text[i]) << 4 | digit(text[i + 1]);
	*size = length / 2;
	return bytes;
}

uint8_t *vector_sized(const struct vectors *v, int column, size_t size)
{
	size_t found;
	uint8_t *bytes = vector_bytes(v, column, &found);

	if (found != size)
		fail(v->column[column], "a column of the wrong size");
	return bytes;
}

unsigned long vector_number(const struct vectors *v, int column)
{
	char *end;
	unsigned long n = strtoul(v->column[column], &end, 10);

	if (*end)
		fail(v->column[column], "not a number");
	return n;
}
