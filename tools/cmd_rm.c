/* frondfs rm: remove entries of a volume without a mount. */
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
#include "tools/tree.h"

static const char help[] =
	"Usage: frondfs rm [options] DIR PATH...\n"
	"\n"
	"Removes entries of the volume in DIR, without a mount. PATH is named as in\n"
	"a mount, from its root. A volume that is mounted is refused.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -f, --force               no error where there is none\n"
	"  -r, --recursive           directories with all that they hold; also -R\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             say each entry that is removed\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 something cannot be removed, 24 the volume is in use; the\n"
	"rest as in frondfs(1).\n";

struct rm {
	const struct volume *volume;
	bool force, recursive;
	int code;
};

static void complain(struct rm *rm, const char *path, int error)
{
	rm->code = place_say(rm->volume, path, NULL, error);
	if (error == -ENOTEMPTY)
		hint_say("something in it is not shown: foreign or damaged "
		         "files; `frondfs fsck` lists them");
}

static void removed(const char *path)
{
	if (!message_verbose)
		return;
	show_name(stdout, path);
	putchar('\n');
}

static void remove_folder(struct rm *rm, const struct folder *parent,
                          const char *name, const char *text, const char *path)
{
	struct folder folder;
	struct tree_list list = { .count = 0 };
	int before = rm->code, error = tree_enter(parent, text, &folder);

	if (!error)
		error = tree_list(&folder, &list);
	for (size_t i = 0; !error && i < list.count; i++) {
		const struct tree_item *item = &list.items[i];
		char *below = walk_join(path, item->name);
		struct tree_entry e;
		int failed = below ? tree_look(&folder, item, &e) : -ENOMEM;

		if (!failed && S_ISDIR(e.st.st_mode))
			remove_folder(rm, &folder, item->name, item->text,
			              below);
		else if (!failed)
			failed = tree_unlink(&folder, item->name);
		if (failed)
			complain(rm, below ? below : path, failed);
		else if (!S_ISDIR(e.st.st_mode))
			removed(below);
		free(below);
	}
	tree_list_free(&list);
	tree_leave(&folder);
	/* What was said of its entries is enough. */
	if (!error && rm->code != before)
		return;
	if (!error)
		error = dir_rmdir(parent->dir, name);
	if (error)
		complain(rm, path, error);
	else
		removed(path);
}

static void remove_path(struct rm *rm, const char *path)
{
	struct walk_place place;
	struct folder folder;
	int error = walk_find(rm->volume, path, &place), before = rm->code;

	if (rm->force && (error == -ENOENT || (!error && !place.exists))) {
		walk_done(&place);
		return;
	}
	rm->code = EXIT_OK; /* of this path alone */
	if (error || !place.exists) {
		rm->code = place_say(rm->volume, path, &place, error);
	} else if (!place.dir) {
		error_say("the root of a volume cannot be removed");
		rm->code = EXIT_OPERATION;
	} else if (S_ISDIR(place.st.st_mode) && !rm->recursive) {
		error_say("%s is a directory: -r removes it with all that it "
		          "holds", path);
		rm->code = EXIT_OPERATION;
	} else if (S_ISDIR(place.st.st_mode)) {
		folder = (struct folder){
			.volume = rm->volume, .dir = place.dir,
			.fd = dir_fd(place.dir),
		};
		remove_folder(rm, &folder, place.name, place.entry.text,
		              place.plain);
	} else {
		error = dir_unlink(place.dir, place.name);
		if (error)
			complain(rm, path, error);
		else
			removed(place.plain);
	}
	rm->code |= before;
	walk_done(&place);
}

int cmd_rm(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "force", no_argument, NULL, 'f' },
		{ "recursive", no_argument, NULL, 'r' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct rm rm = { .code = EXIT_OK };
	struct volume *volume;
	int c, code = EXIT_OK;

	while (!code &&
	       (c = getopt_long(argc, argv, "frRqvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			break;
		case 'f':
			rm.force = true;
			break;
		case 'r':
		case 'R':
			rm.recursive = true;
			break;
		default:
			code = option_common("rm", c, help);
		}
	}
	if (code)
		return code;
	if (argc - optind < 2)
		return usage_say("rm", "it takes DIR and paths");
	code = open_volume_for_writing(argv[optind], &unlock, &volume);
	if (code)
		return code;
	rm.volume = volume;
	for (int i = optind + 1; i < argc; i++)
		remove_path(&rm, argv[i]);
	volume_close(volume);
	return rm.code;
}
