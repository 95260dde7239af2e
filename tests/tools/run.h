/* Runs the real command: with files or pipes, or on a terminal of its own. */
#ifndef TESTS_TOOLS_RUN_H
#define TESTS_TOOLS_RUN_H

#include <stdbool.h>
#include <stddef.h>

struct run {
	int code;         /* exit code, or -signal */
	char out[16384];  /* stdout; on a terminal: all that was shown */
	char err[16384];
};

/* How a command is run; zeros are the plain way: no terminal, empty stdin. */
struct run_how {
	const char *input;    /* its stdin */
	bool input_forbidden; /* stdin blocks for ever: reading it is a hang */
	size_t memory;        /* RLIMIT_AS in bytes, or 0 */
};

/* Run FROND_BINARY with these arguments, ended by NULL; always in the folder
 * of run_folder(), for at most 60 seconds. */
void run(struct run *run, const struct run_how *how, const char *first, ...)
	__attribute__((sentinel));

/* On a new terminal: whenever the text `expect` of a step has appeared, its
 * `type` is typed. Steps end with expect NULL. The terminal's echo must be on
 * again at the end: code is 1000 + the exit code where it is not. */
struct run_step {
	const char *expect;
	const char *type;
};
void run_on_terminal(struct run *run, const struct run_step *steps,
                     const char *first, ...) __attribute__((sentinel));

/* A temporary folder, made at the first call; run_clean removes it. */
const char *run_folder(void);
void run_clean(void);

/* Write a file in the folder; path may be relative to it. */
void run_put(const char *name, const void *bytes, size_t size);
void run_put_text(const char *name, const char *text);

/* Read one: its size, or -1 if it is not there. */
long run_get(const char *name, char *bytes, size_t room);
bool run_exists(const char *name);

/* Run a shell command in the folder; its exit code. */
int run_shell(const char *command);

#endif
