/* frondfs tree: the shape of a volume, without a mount. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
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
	"Usage: frondfs tree [options] DIR [PATH]\n"
	"\n"
	"Draws the tree of directories and files of the volume in DIR, or below\n"
	"PATH, without a mount.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -a, --all                 names that begin with a dot as well\n"
	"  -d, --directories         only directories\n"
	"  -L, --level N             at most N levels\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             more messages\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 something cannot be listed; the rest as in frondfs(1).\n";

struct draw {
	const struct volume *volume;
	bool all, only_directories;
	unsigned long levels;
	uint64_t directories, files;
	int code;
};

static bool is_drawn(const struct draw *draw, const struct folder *folder,
                     const struct tree_item *item, struct tree_entry *e)
{
	return (draw->all || *item->name != '.') &&
	       !tree_look(folder, item, e) &&
	       (!draw->only_directories || S_ISDIR(e->st.st_mode));
}

/* Not inlined: its buffer would be on the stack for each level. */
__attribute__((noinline))
static void draw_target(const struct folder *folder, const char *text)
{
	char target[PATH_MAX];

	if (tree_readlink(folder, text, target))
		return;
	fputs(" -> ", stdout);
	show_name(stdout, target);
}

static void draw_folder(struct draw *draw, const struct folder *folder,
                        const char *path, const char *indent,
                        unsigned long level)
{
	struct tree_list list;
	int error = tree_list(folder, &list);
	size_t drawn = 0;

	if (error) {
		struct walk_place place = { .plain = (char *)path };

		fflush(stdout);
		draw->code = place_say(draw->volume, *path ? path : "/", &place,
		                       error);
		return;
	}
	/* Only what is drawn stays, so that the last one is known. */
	for (size_t i = 0; i < list.count; i++) {
		struct tree_entry e;
		struct tree_item item = list.items[i];

		if (is_drawn(draw, folder, &item, &e)) {
			list.items[i] = list.items[drawn];
			list.items[drawn++] = item;
		}
	}
	for (size_t i = 0; i < drawn; i++) {
		const struct tree_item *item = &list.items[i];
		bool last = i + 1 == drawn;
		char *below_path = NULL, *below_indent = NULL;
		struct tree_entry e;
		struct folder below;

		if (tree_look(folder, item, &e))
			continue;
		printf("%s%s", indent, last ? "`-- " : "|-- ");
		show_name(stdout, item->name);
		if (S_ISLNK(e.st.st_mode))
			draw_target(folder, e.text);
		putchar('\n');
		if (!S_ISDIR(e.st.st_mode)) {
			draw->files++;
			continue;
		}
		draw->directories++;
		if (draw->levels && level >= draw->levels)
			continue;
		below_path = walk_join(path, item->name);
		if (asprintf(&below_indent, "%s%s", indent,
		             last ? "    " : "|   ") < 0)
			below_indent = NULL;
		error = below_path && below_indent
			? tree_enter(folder, item->text, &below) : -ENOMEM;
		if (error) {
			fflush(stdout);
			draw->code = place_say(draw->volume, below_path
			                       ? below_path : path, NULL, error);
		} else {
			draw_folder(draw, &below, below_path, below_indent,
			            level + 1);
			tree_leave(&below);
		}
		free(below_path);
		free(below_indent);
	}
	if (list.damaged) {
		fflush(stdout);
		error_say("%s: %zu more names do not open; `frondfs fsck` lists "
		          "them", *path ? path : "/", list.damaged);
		draw->code = EXIT_OPERATION;
	}
	tree_list_free(&list);
}

static void draw_path(struct draw *draw, const char *path)
{
	struct walk_place place;
	struct folder folder = { .fd = -1 };
	int error = walk_find(draw->volume, path, &place);

	if (!error && !place.exists)
		error = -ENOENT;
	if (!error)
		error = tree_open_volume(draw->volume, place.plain, &folder);
	if (error) {
		draw->code = place_say(draw->volume, path, &place, error);
	} else {
		show_name(stdout, *place.plain ? place.plain : "/");
		putchar('\n');
		draw_folder(draw, &folder, place.plain, "", 1);
		printf("\n%" PRIu64 " directories, %" PRIu64 " files\n",
		       draw->directories, draw->files);
		tree_leave(&folder);
	}
	walk_done(&place);
}

int cmd_tree(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "all", no_argument, NULL, 'a' },
		{ "directories", no_argument, NULL, 'd' },
		{ "level", required_argument, NULL, 'L' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct draw draw = { .code = EXIT_OK };
	struct volume *volume;
	char *end;
	int c, code = EXIT_OK;

	while (!code &&
	       (c = getopt_long(argc, argv, "adL:qvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			break;
		case 'a':
			draw.all = true;
			break;
		case 'd':
			draw.only_directories = true;
			break;
		case 'L':
			draw.levels = strtoul(optarg, &end, 10);
			if (*end || draw.levels == 0)
				code = usage_say("tree", "--level takes a "
				                 "number from 1 on");
			break;
		default:
			code = option_common("tree", c, help);
		}
	}
	if (code)
		return code;
	if (argc - optind < 1 || argc - optind > 2)
		return usage_say("tree", "it takes DIR and at most one PATH");
	code = open_volume_for_reading(argv[optind], &unlock, &volume);
	if (code)
		return code;
	draw.volume = volume;
	draw_path(&draw, argc - optind == 2 ? argv[optind + 1] : "/");
	volume_close(volume);
	return draw.code;
}
