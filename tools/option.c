#include "tools/option.h"

#include <stdio.h>
#include <stdlib.h>

#include "fs/format/name.h"
#include "tools/exitcode.h"
#include "tools/message.h"

int option_common(const char *command, int option, const char *help)
{
	switch (option) {
	case 'q':
		message_quiet = true;
		return EXIT_OK;
	case 'v':
		message_verbose = true;
		return EXIT_OK;
	case 'h':
		fputs(help, stdout);
		exit(EXIT_OK);
	default:
		return usage_say(command, "wrong option");
	}
}

int option_name_max(const char *command, const char *value,
                    unsigned long *name_max)
{
	char *end;

	*name_max = strtoul(value, &end, 10);
	if (*end || *name_max < NAME_LIMIT_MIN || *name_max > NAME_TEXT_MAX)
		return usage_say(command, "--name-max is a number from %d to %d,"
		                 " not '%s'", NAME_LIMIT_MIN, NAME_TEXT_MAX,
		                 value);
	return EXIT_OK;
}
