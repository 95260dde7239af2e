/*
 * Where passphrases, key files and recovery keys come from: a file, a
 * descriptor, or the terminal with its echo off. All functions return EXIT_OK,
 * or an exit code after having said what is wrong.
 */
#ifndef TOOLS_SECRET_H
#define TOOLS_SECRET_H

#include <stddef.h>
#include <stdint.h>

#include "cipher/adiantum.h"

enum {
	KEYFILE_MIN = 16,          /* bytes */
	KEYFILE_MAX = 1024 * 1024, /* bytes */
};

/* Bytes in locked memory (as far as the system allows). */
struct secret {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

#define SECRET_NONE { NULL, 0, 0 }

void secret_free(struct secret *secret); /* wipes; SECRET_NONE is allowed */

/* A passphrase from a file or descriptor: exactly one LF or CRLF at its end is
 * not part of it. One that is empty, has several lines, NUL bytes or more than
 * PASSPHRASE_MAX bytes is refused. Nothing else is ever read. */
int secret_passfile(struct secret *out, const char *path);
int secret_passfd(struct secret *out, int fd);

/* The content of a key file, KEYFILE_MIN to KEYFILE_MAX bytes as they are. */
int secret_keyfile(struct secret *out, const char *path);

/* Ask on the terminal; a new passphrase is asked for twice. `what` is said in
 * the prompt and `hint` where there is no terminal (EXIT_NO_PASSPHRASE). ^C
 * gives EXIT_CANCELLED with the terminal as it was. */
int secret_ask(struct secret *out, const char *what, const char *hint);
int secret_ask_new(struct secret *out, const char *what, const char *hint);

/* A recovery key (the master key, KEY_SIZE bytes, and the stream cipher) from
 * a file; where path is "-", from standard input; NULL asks on the terminal,
 * again after a typing error. */
int secret_recovery_key(struct secret *out, enum adiantum_stream *stream,
                        const char *path);

/* The number of an open descriptor, from the text of an option: EXIT_USAGE if
 * it is none. */
int secret_parse_fd(int *fd, const char *option, const char *text);

#endif
