#include "tools/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/volume/printable.h"
#include "tools/exitcode.h"

bool message_quiet;
bool message_verbose;

__attribute__((format(printf, 2, 0)))
static void say(const char *prefix, const char *format, va_list args)
{
	char *text;

	/* Without memory at least what it is about. */
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	else
		printable(text);
	/* stderr is unbuffered: in one call, to keep the line together. */
	fprintf(stderr, "frondfs: %s%s\n", prefix, text ? text : format);
	fflush(stderr);
	free(text);
}

#define SAY(prefix)                       \
	do {                              \
		va_list args;             \
		va_start(args, format);   \
		say(prefix, format, args); \
		va_end(args);             \
	} while (0)

void error_say(const char *format, ...)
{
	SAY("");
}

void hint_say(const char *format, ...)
{
	SAY("  ");
}

void warn_say(const char *format, ...)
{
	if (!message_quiet)
		SAY("warning: ");
}

void note_say(const char *format, ...)
{
	if (!message_quiet)
		SAY("");
}

void verbose_say(const char *format, ...)
{
	if (message_verbose)
		SAY("");
}

int usage_say(const char *command, const char *format, ...)
{
	SAY("");
	hint_say("`frondfs %s --help` explains", command);
	return EXIT_USAGE;
}
