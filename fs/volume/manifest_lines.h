/* Reading a text file line by line, with a bound for a line's length. */
#ifndef FS_VOLUME_MANIFEST_LINES_H
#define FS_VOLUME_MANIFEST_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/format/manifest.h"

struct lines {
	int fd;
	size_t from, to;   /* what of buf is still to be read */
	uint64_t number;   /* of the line that was read last, from 1 */
	uint64_t bytes;    /* up to the end of that */
	char buf[64 * 1024];
	char line[MANIFEST_LINE_MAX];
};

/* Open a regular file (a fifo would block). Returns 0, -EINVAL for anything
 * else, or the error of open. */
int lines_open(struct lines **out, const char *path);
void lines_free(struct lines *lines); /* NULL is allowed */
int lines_rewind(struct lines *lines);

/*
 * The next line, in lines->line, without its end. Returns its length, -ENODATA
 * at the end of the file, an error of reading; or -EBADMSG, with *problem set
 * to what is wrong with it: cut, too long, a NUL in it.
 */
ssize_t lines_next(struct lines *lines, const char **problem);

/* A decimal number as it is written: no sign, no leading zero. */
bool lines_number(const char *text, uint64_t max, uint64_t *value);
/* The same with a sign. */
bool lines_signed(const char *text, int64_t *value);

/* Cut a text at its spaces into `max` words at most; the last one may have
 * spaces. Returns how many. */
size_t lines_words(char *text, char *words[], size_t max);

#endif
