/* frondfs import: copy into a volume without a mount. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/copy.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"

static const char help[] =
	"Usage: frondfs import [options] SRC... DIR\n"
	"\n"
	"Copies files and directories into the volume in DIR, without a mount. With\n"
	"a '/' at the end of SRC, what that directory holds is copied.\n"
	"Keeps modes, owners, times, links, holes, attributes and ACLs. What is in\n"
	"the volume with the same size and time is left as it is, so that the same\n"
	"command goes on after a stop. A volume that is mounted is refused.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  --to PATH                 into this directory of the volume [its root]\n"
	"  --ignore-times            copy files even where size and time are the same\n"
	"  --no-owner                all belongs to you; no set-id bits\n"
	"  --no-devices              leave out device nodes\n"
	"  --no-progress             no progress line on the terminal\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             say each entry\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0 all was copied, 8 something could not be, 16 wrong usage,\n"
	"24 the volume is in use, 32 cancelled (may be added to 8); the rest as in\n"
	"frondfs(1).\n";

enum { OPT_TO = 0x3000 };

/* Split into the directory and the last name, without slashes at its end. */
static void split(char *path, const char **above, const char **name)
{
	size_t n = strlen(path);
	char *slash;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	*name = slash ? slash + 1 : path;
	*above = !slash ? "." : slash == path ? "/" : path;
	if (slash && slash != path)
		*slash = '\0';
}

static void refused(struct copy *copy, const char *path, const char *why)
{
	ticker_pause(&copy->ticker);
	error_say("%s: %s", path, why);
	ticker_resume(&copy->ticker);
	copy->failed++;
}

static void import_path(struct copy *copy, const struct volume *volume,
                        const char *path)
{
	char *copied = strdup(path);
	const char *above = path, *name = "";
	struct folder folder;
	bool whole = copy_is_contents(path);
	int error = copied ? 0 : -ENOMEM;

	if (!error && !whole)
		split(copied, &above, &name);
	if (!error)
		error = tree_open_plain(above, &folder);
	if (error) {
		refused(copy, path, strerror(-error));
	} else {
		if (tree_is_inside(folder.fd, volume->root)) {
			refused(copy, path, "it lies in the volume itself");
		} else if (whole) {
			copy_contents(copy, &folder, path);
		} else {
			copy_entry(copy, &folder, name, path);
		}
		tree_leave(&folder);
	}
	free(copied);
}

int cmd_import(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS, COPY_LONG_OPTIONS,
		{ "to", required_argument, NULL, OPT_TO },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct copy_options options = { .progress = isatty(STDERR_FILENO) };
	const char *to = "", *dir;
	struct volume *volume;
	struct folder target;
	struct copy copy;
	int c, code = EXIT_OK, error;

	while (!code && (c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		if (c == OPT_TO)
			to = optarg;
		else if (c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST)
			code = unlock_option(&unlock, c, optarg);
		else
			code = copy_option(&options, "import", c, help);
	}
	if (code)
		return code;
	if (argc - optind < 2)
		return usage_say("import", "it takes what to copy, and DIR");
	dir = argv[argc - 1];
	code = open_volume_for_writing(dir, &unlock, &volume);
	if (code)
		return code;
	error = tree_open_volume(volume, to, &target);
	if (error) {
		error_say("%s: %s", *to ? to : "/", strerror(-error));
		if (error == -ENOENT)
			hint_say("make it first: frondfs mkdir -p %s %s", dir,
			         to);
		volume_close(volume);
		return EXIT_OPERATION;
	}
	code = copy_begin(&copy, &options, *to ? to : dir, &target);
	if (!code) {
		struct stat st;

		if (!fstat(volume->root, &st)) {
			copy.avoid_device = st.st_dev;
			copy.avoid_inode = st.st_ino;
		}
		for (int i = optind; i < argc - 1; i++)
			import_path(&copy, volume, argv[i]);
		code = copy_end(&copy);
	}
	tree_leave(&target);
	volume_close(volume);
	return code;
}
