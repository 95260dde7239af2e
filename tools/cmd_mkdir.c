/* frondfs mkdir: make directories in a volume without a mount. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"
#include "tools/place.h"

static const char help[] =
	"Usage: frondfs mkdir [options] DIR PATH...\n"
	"\n"
	"Makes directories in the volume in DIR, without a mount. PATH is named as\n"
	"in a mount, from its root. A volume that is mounted is refused.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -m, --mode MODE           their mode, in octal digits [777 less the umask]\n"
	"  -p, --parents             no error where it exists; make those above, too\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             say each directory that is made\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 one cannot be made, 24 the volume is in use; the rest as\n"
	"in frondfs(1).\n";

struct make {
	const struct volume *volume;
	mode_t mode, umask;
	bool has_mode, parents;
};

/* Make the directory that `path` names; the one above it is there. */
static int make_one(const struct make *make, const char *path, mode_t mode)
{
	struct dir_caller caller = {
		.uid = geteuid(), .gid = getegid(),
		.umask = make->has_mode && mode == make->mode ? 0 : make->umask,
	};
	struct walk_place place;
	int error = walk_find(make->volume, path, &place);

	if (!error && place.exists && make->parents &&
	    S_ISDIR(place.st.st_mode))
		; /* there it is */
	else if (!error && place.exists)
		error = -EEXIST;
	else if (!error)
		error = dir_mkdir(place.dir, place.name, mode, &caller, NULL);
	if (!error && !place.exists && message_verbose) {
		show_name(stdout, place.plain);
		putchar('\n');
	}
	if (error == -ENOENT)
		error_say("%s: the directory above it is not there (-p makes "
		          "it)", path);
	else if (error)
		place_say(make->volume, path, &place, error);
	walk_done(&place);
	return error;
}

static int make_path(const struct make *make, const char *path)
{
	char *copy = strdup(path);
	int error = copy ? 0 : -ENOMEM;

	for (char *p = copy; make->parents && !error && p && *p; p++) {
		if (*p != '/' || p == copy)
			continue;
		*p = '\0';
		/* Those above must let us go on. */
		error = make_one(make, copy, 0777);
		*p = '/';
	}
	if (!error)
		error = make_one(make, path, make->mode);
	free(copy);
	return error;
}

int cmd_mkdir(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "mode", required_argument, NULL, 'm' },
		{ "parents", no_argument, NULL, 'p' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct make make = { .mode = 0777 };
	struct volume *volume;
	unsigned long mode;
	char *end;
	int c, code = EXIT_OK;

	while (!code &&
	       (c = getopt_long(argc, argv, "m:pqvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			break;
		case 'm':
			mode = strtoul(optarg, &end, 8);
			if (!*optarg || *end || mode > 01777)
				code = usage_say("mkdir", "--mode takes up to "
				                 "four octal digits, at most "
				                 "1777");
			make.mode = (mode_t)mode;
			make.has_mode = true;
			break;
		case 'p':
			make.parents = true;
			break;
		default:
			code = option_common("mkdir", c, help);
		}
	}
	if (code)
		return code;
	if (argc - optind < 2)
		return usage_say("mkdir", "it takes DIR and paths");
	make.umask = umask(0);
	code = open_volume_for_writing(argv[optind], &unlock, &volume);
	if (code)
		return code;
	make.volume = volume;
	for (int i = optind + 1; i < argc; i++)
		if (make_path(&make, argv[i]))
			code = EXIT_OPERATION;
	volume_close(volume);
	return code;
}
