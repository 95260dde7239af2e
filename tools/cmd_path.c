/* frondfs path: the ciphertext of a plaintext path, and the other way round. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/where.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"
#include "tools/place.h"

static const char help[] =
	"Usage: frondfs path [options] DIR --cipher PATH | --plain CIPHERTEXT ...\n"
	"\n"
	"Prints the encrypted path of a path in the mount, or the path in the mount\n"
	"of an encrypted one (below DIR, or with DIR before it, as messages have\n"
	"it). What is asked for need not be there. Works beside a mount.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  --cipher PATH             print where PATH is stored, below DIR\n"
	"  --plain CIPHERTEXT        print what CIPHERTEXT is in the mount\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             more messages\n"
	"  -h, --help                print this\n"
	"\n"
	"Both can be given several times: a line each.\n"
	"Exit codes: 0, 8 a name could not be translated (it is printed as it is);\n"
	"the rest as in frondfs(1).\n";

enum { OPT_CIPHER = 0x2000, OPT_PLAIN };

/* A question, in the order of the command line. */
struct question {
	bool cipher;
	const char *path;
};

/* An absolute path below the volume becomes one from its root; NULL where it
 * lies elsewhere. What it names need not be there. */
static const char *below_root(const struct volume *volume, const char *dir,
                              const char *path)
{
	const char *const roots[] = { volume->path, dir };

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(roots[i]);

		while (n > 1 && roots[i][n - 1] == '/')
			n--;
		if (!strncmp(path, roots[i], n) &&
		    (path[n] == '/' || path[n] == '\0'))
			return path + n;
	}
	return *path == '/' ? NULL : path;
}

/* What there is to say beside the path; whether it is all right. */
static int remark(const struct where *w, const char *path)
{
	switch (w->kind) {
	case WHERE_ABSENT:
		note_say("%s: nothing stands there now", path);
		return EXIT_OK;
	case WHERE_DIR_ID:
		note_say("%s: holds the id of this directory", path);
		return EXIT_OK;
	case WHERE_LONG_NAME:
		note_say("%s: holds the name of this entry", path);
		return EXIT_OK;
	case WHERE_LINK_FILE:
		note_say("%s: holds the target of a link in this directory",
		         path);
		return EXIT_OK;
	case WHERE_TEMP:
		note_say("%s: of a change that is under way in this directory, "
		         "or was cut short", path);
		return EXIT_OK;
	case WHERE_CONFIG:
		note_say("%s: the configuration of the volume", path);
		return EXIT_OK;
	case WHERE_DAMAGED:
		error_say("%s: the last name does not open: it was changed, or "
		          "moved here from another directory", path);
		return EXIT_OPERATION;
	case WHERE_FOREIGN:
		error_say("%s: the last name is not of the volume", path);
		return EXIT_OPERATION;
	case WHERE_LOST:
		error_say("%s: not all of its directories can be read (%s); the "
		          "names below are left as they were given", path,
		          w->error == -EUCLEAN ? "an id is missing"
		                               : strerror(-w->error));
		return EXIT_OPERATION;
	default:
		return EXIT_OK;
	}
}

static int answer(const struct volume *volume, const char *dir,
                  const struct question *q)
{
	const char *path = q->cipher ? q->path
	                             : below_root(volume, dir, q->path);
	struct where w = { .plain = NULL };
	int code, error;

	if (!path) {
		error_say("%s is not below %s", q->path, dir);
		return EXIT_OPERATION;
	}
	error = q->cipher ? where_is_plain(volume, path, &w)
	                  : where_is_cipher(volume, path, &w);
	if (error) {
		code = place_say(volume, q->path, NULL, error);
	} else {
		show_name(stdout, q->cipher ? w.cipher : *w.plain ? w.plain : "/");
		putchar('\n');
		fflush(stdout);
		code = remark(&w, q->path);
	}
	where_done(&w);
	return code;
}

static int run(struct question *questions, size_t count, const char *dir,
               const struct unlock_options *unlock)
{
	struct volume *volume;
	int code = open_volume_for_reading(dir, unlock, &volume);

	if (code)
		return code;
	for (size_t i = 0; i < count; i++)
		code |= answer(volume, dir, &questions[i]);
	volume_close(volume);
	return code;
}

int cmd_path(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "cipher", required_argument, NULL, OPT_CIPHER },
		{ "plain", required_argument, NULL, OPT_PLAIN },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct question *questions = calloc((size_t)argc + 1,
	                                    sizeof(*questions));
	size_t count = 0;
	int c, code = questions ? EXIT_OK : EXIT_OPERATION;

	while (!code && (c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		if (c == OPT_CIPHER || c == OPT_PLAIN)
			questions[count++] = (struct question){
				c == OPT_CIPHER, optarg,
			};
		else if (c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST)
			code = unlock_option(&unlock, c, optarg);
		else
			code = option_common("path", c, help);
	}
	if (!code && (argc - optind != 1 || !count))
		code = usage_say("path", "it takes DIR, and --cipher PATH or "
		                 "--plain CIPHERTEXT");
	if (!code)
		code = run(questions, count, argv[optind], &unlock);
	free(questions);
	return code;
}
