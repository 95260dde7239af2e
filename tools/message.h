/*
 * What the command says to people, on stderr: one line for what is wrong, and
 * where it helps a second one for what to do next. Each line begins with
 * "frondfs: ". No secret ever goes in here, and plaintext names only as the answer
 * to a command that was asked about them (fsck, ls, export, ...).
 */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stdbool.h>

#define MESSAGE_FORMAT(n) __attribute__((format(printf, n, n + 1)))

/* Set by the options -q and -v of a subcommand. */
extern bool message_quiet;
extern bool message_verbose;

/* What is wrong: always said. */
void error_say(const char *format, ...) MESSAGE_FORMAT(1);

/* What the user may do next: goes with an error, said right after it. */
void hint_say(const char *format, ...) MESSAGE_FORMAT(1);

/* Something that works but should be known; not with -q. */
void warn_say(const char *format, ...) MESSAGE_FORMAT(1);

/* What was done; not with -q. */
void note_say(const char *format, ...) MESSAGE_FORMAT(1);

/* Details; only with -v. */
void verbose_say(const char *format, ...) MESSAGE_FORMAT(1);

/* A wrong use of the subcommand: says it, points to --help, and returns
 * EXIT_USAGE. */
int usage_say(const char *command, const char *format, ...) MESSAGE_FORMAT(2);

#endif
