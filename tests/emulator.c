#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator.h"

int emulated(void)
{
	const char *command = getenv("TEST_EMULATOR");

	return command && *command;
}

/* The kernel would not know what to do with a program for another machine, and
 * its /proc/self/exe is the emulator; an emulator's own open and readlink tell
 * the program's path. */
void exec_self(const char *const *argv)
{
	enum { MOST = 64 };
	const char *all[MOST];
	char path[PATH_MAX], *command, *rest = NULL;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int n = 0;

	command = strdup(emulated() ? getenv("TEST_EMULATOR") : "");
	if (length < 0 || !command)
		return;
	path[length] = 0;
	for (char *word = strtok_r(command, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (n == MOST / 2)
			return;
		all[n++] = word;
	}
	all[n++] = path;
	for (argv++; *argv && n < MOST - 1; argv++)
		all[n++] = *argv;
	all[n] = NULL;
	execvp(all[0], (char *const *)all);
}
