/* frondfs mv: rename entries of a volume without a mount. */
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
	"Usage: frondfs mv [options] DIR PATH... DEST\n"
	"\n"
	"Renames an entry of the volume in DIR to DEST, or moves entries into the\n"
	"directory DEST, without a mount. Paths are named as in a mount, from its\n"
	"root. A file that stands there is replaced. A volume that is mounted is\n"
	"refused.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -n, --no-clobber          replace nothing\n"
	"  -T, --no-target-directory DEST is the new name, even of a directory\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             say each entry that is moved\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 something cannot be moved, 24 the volume is in use; the\n"
	"rest as in frondfs(1).\n";

struct mv {
	const struct volume *volume;
	bool no_clobber, no_directory;
};

/* Where `from` goes: DEST, or its own name in that directory. */
static char *target_of(const struct walk_place *from,
                       const struct walk_place *to, const struct mv *mv)
{
	bool into = to->exists && S_ISDIR(to->st.st_mode) && !mv->no_directory;

	return into ? walk_join(to->plain, from->name) : strdup(to->plain);
}

static int move(const struct mv *mv, const char *path, const char *dest)
{
	struct walk_place from, to = { .plain = NULL }, at = { .plain = NULL };
	int error = walk_find(mv->volume, path, &from);
	const char *about = path;
	char *target = NULL;

	if (!error && !from.exists)
		error = -ENOENT;
	if (!error && !from.dir)
		error = -EBUSY; /* the root, as rename(2) says it */
	if (!error) {
		about = dest;
		error = walk_find(mv->volume, dest, &to);
	}
	if (!error) {
		target = target_of(&from, &to, mv);
		error = target ? walk_find(mv->volume, target, &at) : -ENOMEM;
	}
	if (!error && !at.dir)
		error = -EBUSY;
	if (!error && at.exists && mv->no_clobber)
		goto done;
	if (!error) {
		about = path;
		error = dir_rename(from.dir, from.name, at.dir, at.name,
		                   0, NULL, NULL);
	}
	if (error == -EINVAL && about == path && at.plain) {
		error_say("%s cannot be moved into itself", path);
	} else if (error == -ENOTEMPTY || error == -EEXIST) {
		error_say("%s: a directory that is not empty stands there",
		          at.plain);
	} else if (error == -EISDIR || (error == -ENOTDIR && at.plain)) {
		error_say("%s cannot replace %s: one is a directory, the other "
		          "is none", path, at.plain);
	} else if (error) {
		place_say(mv->volume, about, about == dest ? &to : &from, error);
	} else if (message_verbose) {
		show_name(stdout, from.plain);
		fputs(" -> ", stdout);
		show_name(stdout, at.plain);
		putchar('\n');
	}
done:
	free(target);
	walk_done(&from);
	walk_done(&to);
	walk_done(&at);
	return error ? EXIT_OPERATION : EXIT_OK;
}

/* Several entries need a directory to go to. */
static int check_target(const struct mv *mv, const char *dest)
{
	struct walk_place to;
	int error = walk_find(mv->volume, dest, &to);
	bool is_dir = !error && to.exists && S_ISDIR(to.st.st_mode);

	walk_done(&to);
	if (is_dir && !mv->no_directory)
		return EXIT_OK;
	error_say("%s is no directory, and several entries cannot have one "
	          "name", dest);
	return EXIT_OPERATION;
}

int cmd_mv(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "no-clobber", no_argument, NULL, 'n' },
		{ "no-target-directory", no_argument, NULL, 'T' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct mv mv = { .volume = NULL };
	struct volume *volume;
	int c, code = EXIT_OK;

	while (!code &&
	       (c = getopt_long(argc, argv, "nTqvh", longs, NULL)) != -1) {
		if (c == 'n')
			mv.no_clobber = true;
		else if (c == 'T')
			mv.no_directory = true;
		else if (c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST)
			code = unlock_option(&unlock, c, optarg);
		else
			code = option_common("mv", c, help);
	}
	if (code)
		return code;
	if (argc - optind < 3)
		return usage_say("mv", "it takes DIR, what to move, and DEST");
	code = open_volume_for_writing(argv[optind], &unlock, &volume);
	if (code)
		return code;
	mv.volume = volume;
	if (argc - optind > 3)
		code = check_target(&mv, argv[argc - 1]);
	for (int i = optind + 1, usable = !code; usable && i < argc - 1; i++)
		code |= move(&mv, argv[i], argv[argc - 1]);
	volume_close(volume);
	return code;
}
