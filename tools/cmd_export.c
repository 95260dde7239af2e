/* frondfs export: copy out of a volume without a mount. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/volume/walk.h"
#include "tools/command.h"
#include "tools/copy.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"
#include "tools/place.h"

static const char help[] =
	"Usage: frondfs export [options] DIR PATH... DEST\n"
	"\n"
	"Copies files and directories out of the volume in DIR into the directory\n"
	"DEST, without a mount. PATH is named as in a mount, from its root; with a\n"
	"'/' at its end, what the directory holds is copied, and '/' is all.\n"
	"Keeps modes, owners, times, links, holes, attributes and ACLs. What is in\n"
	"DEST with the same size and time is left as it is, so that the same\n"
	"command goes on after a stop.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  --ignore-times            copy files even where size and time are the same\n"
	"  --no-owner                all belongs to you; no set-id bits\n"
	"  --no-devices              leave out device nodes\n"
	"  --no-progress             no progress line on the terminal\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             say each entry\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0 all was copied, 8 something could not be, 16 wrong usage,\n"
	"32 cancelled (may be added); the rest as in frondfs(1).\n";

static void not_found(struct copy *copy, const struct volume *volume,
                      const char *path, const struct walk_place *place,
                      int error)
{
	ticker_pause(&copy->ticker);
	place_say(volume, path, place, error);
	ticker_resume(&copy->ticker);
	copy->failed++;
}

static void export_path(struct copy *copy, const struct volume *volume,
                        const char *path)
{
	struct walk_place place;
	struct folder folder = { .fd = -1 };
	int error = walk_find(volume, path, &place);

	if (error || !place.exists) {
		not_found(copy, volume, path, &place, error);
	} else if (!place.dir || copy_is_contents(path)) {
		error = tree_open_volume(volume, place.plain, &folder);
		if (error)
			not_found(copy, volume, path, &place, error);
		else
			copy_contents(copy, &folder, place.plain);
		tree_leave(&folder);
	} else {
		folder = (struct folder){
			.volume = volume, .dir = place.dir,
			.fd = dir_fd(place.dir),
		};
		copy_entry(copy, &folder, place.name, place.plain);
	}
	walk_done(&place);
}

static int open_target(const struct volume *volume, const char *dir,
                       const char *path, struct folder *target)
{
	int error = 0;

	if (mkdir(path, 0777) && errno != EEXIST)
		error = -errno;
	if (!error)
		error = tree_open_plain(path, target);
	if (error) {
		error_say("%s: %s", path, strerror(-error));
		return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	if (tree_is_inside(target->fd, volume->root)) {
		error_say("%s lies in the volume %s itself", path, dir);
		hint_say("plain files do not belong among the encrypted ones: "
		         "name another directory");
		tree_leave(target);
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

int cmd_export(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS, COPY_LONG_OPTIONS,
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct copy_options options = { .progress = isatty(STDERR_FILENO) };
	struct volume *volume;
	struct folder target;
	struct copy copy;
	int c, code = EXIT_OK;

	while (!code && (c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1)
		code = c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST
			? unlock_option(&unlock, c, optarg)
			: copy_option(&options, "export", c, help);
	if (code)
		return code;
	if (argc - optind < 3)
		return usage_say("export", "it takes DIR, what to copy, and "
		                 "DEST");
	code = open_volume_for_reading(argv[optind], &unlock, &volume);
	if (code)
		return code;
	code = open_target(volume, argv[optind], argv[argc - 1], &target);
	if (!code) {
		code = copy_begin(&copy, &options, argv[argc - 1], &target);
		for (int i = optind + 1; !code && i < argc - 1; i++)
			export_path(&copy, volume, argv[i]);
		if (!code)
			code = copy_end(&copy);
		tree_leave(&target);
	}
	volume_close(volume);
	return code;
}
