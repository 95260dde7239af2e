/* frondfs verify: compare a volume, or a copy of one, with a sealed manifest. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"
#include "tools/sealed.h"

static const char help[] =
	"Usage: frondfs verify [options] [MANIFEST] DIR\n"
	"\n"
	"Compares the encrypted files in DIR, a volume or a copy of one, with a\n"
	"manifest that `frondfs seal` wrote (without MANIFEST: DIR/frondfs.seal), and\n"
	"names what is missing, added, changed or renamed. Needs no key.\n"
	"\n"
	"  --keyed                   with a key: checks the manifest's signature, tells\n"
	"                            an older state from damage, and names the paths in\n"
	"                            the mount. Each of the next four means it, too\n"
	UNLOCK_HELP
	"\n"
	"  --json                    one JSON object a line, the summary last\n"
	"  --no-progress             no progress line on the terminal\n"
	"  --threads N               threads that read [one for each core]\n"
	"  -q, --quiet               no summary\n"
	"  -v, --verbose             say what can be done about each difference\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0 all as it was sealed, 4 something differs, 30 nothing but\n"
	"missing, cut and added entries, as in a copy that is not finished, 31 the\n"
	"manifest or its signature cannot be used, 32 cancelled, 64 something was\n"
	"skipped for want of permission (added); the rest as in frondfs(1).\n";

enum { OPT_JSON = 0x2000, OPT_NO_PROGRESS, OPT_THREADS, OPT_KEYED };

static int keyless(const char *path, const char *dir,
                   const struct sealed_output *output)
{
	struct manifest *manifest = NULL;
	int root, code = unlock_open_root(dir, &root);

	if (code)
		return code;
	code = sealed_open(path, NULL, &manifest);
	if (!code)
		code = sealed_compare(manifest, dir, root, NULL, output);
	manifest_close(manifest);
	close(root);
	return code;
}

static int keyed(const char *path, const char *dir,
                 const struct unlock_options *unlock,
                 const struct sealed_output *output)
{
	struct manifest *manifest = NULL;
	struct volume *volume;
	int code = sealed_open_volume(dir, unlock, "compared", &volume);

	if (code)
		return code;
	code = sealed_open(path, volume->keys->seal, &manifest);
	if (!code)
		code = sealed_compare(manifest, volume->path, volume->root,
		                      volume, output);
	manifest_close(manifest);
	volume_close(volume);
	return code;
}

int cmd_verify(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "keyed", no_argument, NULL, OPT_KEYED },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
		{ "threads", required_argument, NULL, OPT_THREADS },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct sealed_output output = { .progress = isatty(STDERR_FILENO) };
	bool with_key = false;
	const char *dir;
	char *path;
	int c, code;

	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		code = EXIT_OK;
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			with_key = true;
			break;
		case OPT_KEYED:
			with_key = true;
			break;
		case OPT_JSON:
			output.json = true;
			break;
		case OPT_NO_PROGRESS:
			output.progress = false;
			break;
		case OPT_THREADS:
			code = sealed_threads("verify", optarg, &output.threads);
			break;
		default:
			code = option_common("verify", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind < 1 || argc - optind > 2)
		return usage_say("verify", argc == optind
		                 ? "which volume? DIR is missing"
		                 : "only MANIFEST and DIR can be given");
	output.quiet = message_quiet;
	output.verbose = message_verbose;
	output.progress &= !output.quiet;
	dir = argv[argc - 1];
	path = argc - optind == 2 ? strdup(argv[optind]) : sealed_place(dir);
	if (!path) {
		error_say("no memory");
		return EXIT_OPERATION;
	}
	code = with_key ? keyed(path, dir, &unlock, &output)
	                : keyless(path, dir, &output);
	free(path);
	return code;
}
