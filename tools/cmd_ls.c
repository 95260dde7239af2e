/* frondfs ls: list directories of a volume without a mount. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"
#include "tools/place.h"
#include "tools/report.h"
#include "tools/tree.h"

static const char help[] =
	"Usage: frondfs ls [options] DIR [PATH...]\n"
	"\n"
	"Lists what the volume in DIR holds, without a mount. PATH is named as in a\n"
	"mount, from its root; without one, the root is listed.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -a, --all                 names that begin with a dot as well\n"
	"  -d, --directory           directories themselves, not what they hold\n"
	"  -l, --long                mode, links, owner, size, time\n"
	"  -R, --recursive           all below as well\n"
	"  --json                    one JSON object a line, with ciphertext paths\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             more messages\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 something cannot be listed; the rest as in frondfs(1).\n";

enum { OPT_JSON = 0x2000 };

struct ls {
	const struct volume *volume;
	bool all, directory, details, recursive, json;
	bool several;   /* each directory gets a heading */
	bool begun;     /* something stands above the next heading */
	int code;
};

static void complain(struct ls *ls, const char *plain, const char *cipher,
                     int error)
{
	struct walk_place place = {
		.plain = (char *)plain, .cipher = (char *)cipher,
		.exists = true,
	};

	fflush(stdout);
	ls->code = place_say(ls->volume, *plain ? plain : "/", &place, error);
}

/* One entry: its folder, the name to show, its paths. Not inlined: its buffers
 * would be on the stack for each level of a tree. */
__attribute__((noinline))
static void show(struct ls *ls, const struct folder *folder,
                 const struct tree_entry *e, const char *name,
                 const char *plain, const char *cipher)
{
	char mode[SHOW_MODE], time[SHOW_TIME], size[32], target[PATH_MAX] = "";
	const struct stat *st = &e->st;

	if (S_ISLNK(st->st_mode) && (ls->details || ls->json) && folder) {
		int error = tree_readlink(folder, e->text, target);

		if (error)
			complain(ls, plain, cipher, error);
	}
	if (ls->json) {
		json_object *object = json_object_new_object();

		report_add_path(object, "path", plain);
		report_add_path(object, "ciphertext", cipher);
		show_json_stat(object, st);
		if (*target)
			report_add_path(object, "target", target);
		report_json(object);
		return;
	}
	if (ls->details) {
		show_mode(mode, st->st_mode);
		show_time(time, &st->st_mtim, false);
		snprintf(size, sizeof(size), "%" PRId64, (int64_t)st->st_size);
		if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
			snprintf(size, sizeof(size), "%u, %u",
			         major(st->st_rdev), minor(st->st_rdev));
		printf("%s %3lu %-8s %-8s %10s %s ", mode,
		       (unsigned long)st->st_nlink, show_user(st->st_uid),
		       show_group(st->st_gid), size, time);
	}
	show_name(stdout, name);
	if (*target && ls->details) {
		fputs(" -> ", stdout);
		show_name(stdout, target);
	}
	putchar('\n');
}

static void list_folder(struct ls *ls, const struct folder *folder,
                        const char *plain, const char *cipher);

/* The folders below, when all names of this one have been shown. */
static void go_down(struct ls *ls, const struct folder *folder,
                    const struct tree_item *item, const char *plain,
                    const char *cipher)
{
	char *plain_below = walk_join(plain, item->name);
	char *cipher_below = walk_join(cipher, item->text);
	struct tree_entry e;
	struct folder below;
	int error = plain_below && cipher_below ? 0 : -ENOMEM;

	if (!error)
		error = tree_look(folder, item, &e);
	if (!error && S_ISDIR(e.st.st_mode)) {
		error = tree_enter(folder, item->text, &below);
		if (!error)
			list_folder(ls, &below, plain_below, cipher_below);
		tree_leave(&below);
	}
	if (error && error != -ENOENT)
		complain(ls, plain_below ? plain_below : plain,
		         cipher_below ? cipher_below : cipher, error);
	free(plain_below);
	free(cipher_below);
}

static void list_folder(struct ls *ls, const struct folder *folder,
                        const char *plain, const char *cipher)
{
	struct tree_list list;
	int error = tree_list(folder, &list);

	if (error) {
		complain(ls, plain, cipher, error);
		return;
	}
	if (ls->several && !ls->json) {
		if (ls->begun)
			putchar('\n');
		show_name(stdout, *plain ? plain : "/");
		puts(":");
	}
	ls->begun = true;
	for (size_t i = 0; i < list.count; i++) {
		const struct tree_item *item = &list.items[i];
		struct tree_entry e;
		char *plain_path, *cipher_path;

		if (!ls->all && *item->name == '.')
			continue;
		error = tree_look(folder, item, &e);
		plain_path = walk_join(plain, item->name);
		cipher_path = walk_join(cipher, item->text);
		if (!plain_path || !cipher_path)
			error = -ENOMEM;
		if (!error)
			show(ls, folder, &e, item->name, plain_path,
			     cipher_path);
		else if (error != -ENOENT)
			complain(ls, plain, cipher, error);
		free(plain_path);
		free(cipher_path);
	}
	if (list.damaged) {
		fflush(stdout);
		error_say("%s: %zu more names do not open; `frondfs fsck` lists "
		          "them", *plain ? plain : "/", list.damaged);
		ls->code = EXIT_OPERATION;
	}
	for (size_t i = 0; ls->recursive && i < list.count; i++)
		if (ls->all || *list.items[i].name != '.')
			go_down(ls, folder, &list.items[i], plain, cipher);
	tree_list_free(&list);
}

static void list_path(struct ls *ls, const char *path)
{
	struct walk_place place;
	struct folder folder;
	int error = walk_find(ls->volume, path, &place);

	if (error || !place.exists) {
		ls->code = place_say(ls->volume, path, &place, error);
	} else if (S_ISDIR(place.st.st_mode) && !ls->directory) {
		error = tree_open_volume(ls->volume, place.plain, &folder);
		if (error)
			complain(ls, place.plain, place.cipher, error);
		else
			list_folder(ls, &folder, place.plain, place.cipher);
		tree_leave(&folder);
	} else {
		struct tree_entry e = { .st = place.st };

		strcpy(e.text, place.entry.text);
		folder = (struct folder){
			.volume = ls->volume, .dir = place.dir,
			.fd = place.dir ? dir_fd(place.dir) : -1,
		};
		show(ls, &folder, &e, *place.plain ? place.plain : "/",
		     place.plain, place.cipher);
		ls->begun = true;
	}
	walk_done(&place);
}

int cmd_ls(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "all", no_argument, NULL, 'a' },
		{ "directory", no_argument, NULL, 'd' },
		{ "long", no_argument, NULL, 'l' },
		{ "recursive", no_argument, NULL, 'R' },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct ls ls = { .code = EXIT_OK };
	struct volume *volume;
	int c, code = EXIT_OK;

	while (!code &&
	       (c = getopt_long(argc, argv, "adlRqvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			break;
		case 'a':
			ls.all = true;
			break;
		case 'd':
			ls.directory = true;
			break;
		case 'l':
			ls.details = true;
			break;
		case 'R':
			ls.recursive = true;
			break;
		case OPT_JSON:
			ls.json = true;
			break;
		default:
			code = option_common("ls", c, help);
		}
	}
	if (code)
		return code;
	if (optind >= argc)
		return usage_say("ls", "which volume? DIR is missing");
	code = open_volume_for_reading(argv[optind], &unlock, &volume);
	if (code)
		return code;
	ls.volume = volume;
	ls.several = ls.recursive || argc - optind > 2;
	if (optind + 1 == argc)
		list_path(&ls, "/");
	for (int i = optind + 1; i < argc; i++)
		list_path(&ls, argv[i]);
	if (fflush(stdout) || ferror(stdout)) {
		error_say("standard output: %s", strerror(errno));
		ls.code = EXIT_OPERATION;
	}
	volume_close(volume);
	return ls.code;
}
