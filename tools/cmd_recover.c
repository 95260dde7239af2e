#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/format/name.h"
#include "fs/volume/create.h"
#include "fs/volume/io.h"
#include "fs/volume/rescue.h"
#include "tools/change.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"

static const char help[] =
"Usage: frondfs recover [options] DIR\n"
"\n"
"Makes a new frondfs.conf for the volume in DIR, whose own is lost or damaged,\n"
"from the recovery key and with a new passphrase. The key is checked against\n"
"the volume's files first, and nothing is written if it is not theirs.\n"
"\n"
"  --recovery-key-file FILE  read the recovery key from FILE (-: stdin);\n"
"                            without this it is asked for\n"
"The new slot:\n"
NEWSLOT_INIT_HELP
"  --name-max N              longest name, in bytes, that the store takes (the\n"
"                            default is found out)\n"
"  --force                   even if frondfs.conf is in order; it is kept as\n"
"                            frondfs.conf.old-N\n"
"  -q, --quiet               print nothing but errors\n"
"  -v, --verbose             print details\n"
"  -h, --help                print this\n";

struct recover {
	const char *dir;
	const char *recovery_file;
	struct newslot slot;
	unsigned long name_max; /* 0: find out */
	bool force;
	enum config_error state; /* of the config that is there */
	struct change change;
};

enum { OPT_RECOVERY = 1, OPT_NAME_MAX, OPT_FORCE };

static int parse(struct recover *r, int argc, char **argv)
{
	static const struct option longs[] = {
		NEWSLOT_INIT_LONG_OPTIONS,
		{ "recovery-key-file", required_argument, NULL, OPT_RECOVERY },
		{ "name-max", required_argument, NULL, OPT_NAME_MAX },
		{ "force", no_argument, NULL, OPT_FORCE },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (c) {
		case NEWSLOT_FIRST ... NEWSLOT_LAST:
			code = newslot_option(&r->slot, c, optarg);
			break;
		case OPT_RECOVERY:
			r->recovery_file = optarg;
			break;
		case OPT_NAME_MAX:
			code = option_name_max("recover", optarg, &r->name_max);
			break;
		case OPT_FORCE:
			r->force = true;
			break;
		default:
			code = option_common("recover", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return usage_say("recover", "give one directory");
	r->dir = argv[optind];
	return EXIT_OK;
}

/* Whether the config that is there is one to replace. */
static int look(struct recover *r)
{
	struct config *config = &r->change.unlocked.config;

	r->state = config_read(config, r->change.root);
	if (r->state == CONFIG_OK && !r->force) {
		error_say("%s/frondfs.conf is in order; nothing was changed", r->dir);
		hint_say("for a new passphrase: frondfs slot add "
		         "--recovery-key-file FILE %s. To make a new config all "
		         "the same, give --force", r->dir);
		return EXIT_USAGE;
	}
	if (r->state == CONFIG_OK || r->state == CONFIG_MISSING ||
	    r->state == CONFIG_DAMAGED)
		return EXIT_OK;
	return config_complain(r->dir, config, r->state);
}

/* Gets the recovery key, checks it on the volume's files, and makes the
 * master key the change's own. */
static int get_key(struct recover *r, enum adiantum_stream *stream)
{
	struct unlocked *u = &r->change.unlocked;
	struct secret secret = SECRET_NONE;
	int found, code = secret_recovery_key(&secret, stream, r->recovery_file);

	if (code)
		return code;
	/* A secret of this size is as OPENSSL_secure_malloc made it. */
	u->master = secret.bytes;
	if (keys_new(&u->keys, u->master, *stream)) {
		error_say("OpenSSL cannot make the volume's keys");
		return EXIT_OPERATION;
	}
	found = rescue_check_key(r->change.root, u->keys);
	if (found == RESCUE_RIGHT)
		return EXIT_OK;
	if (found == RESCUE_WRONG) {
		error_say("%s: this recovery key does not open the files there; "
		          "nothing was written", r->dir);
		hint_say("look for the recovery key of this very volume");
		return EXIT_WRONG_KEY;
	}
	if (found == RESCUE_NOTHING) {
		error_say("%s holds nothing of a frondfs volume, so that the "
		          "recovery key cannot be checked; nothing was written",
		          r->dir);
		return EXIT_NO_VOLUME;
	}
	error_say("cannot list %s: %s", r->dir, strerror(-found));
	return found == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
}

static int find_name_limit(struct recover *r, size_t *limit)
{
	int n;

	if (r->name_max) {
		*limit = r->name_max;
		return EXIT_OK;
	}
	n = create_name_limit(r->change.root);
	if (n < 0) {
		error_say("cannot make a file in %s: %s", r->dir, strerror(-n));
		return n == -EACCES || n == -EROFS ? EXIT_PERMISSION
		                                   : EXIT_OPERATION;
	}
	*limit = rescue_name_limit(r->change.root,
	                           n < NAME_LIMIT_MIN ? NAME_LIMIT_MIN
	                                              : (size_t)n);
	verbose_say("longest name: %zu bytes", *limit);
	return EXIT_OK;
}

/* Keeps what stands as frondfs.conf under another name: a second link, so that
 * the old one stays in place until the new one is whole; a rename on a store
 * without links. */
static int keep_old(struct recover *r, char kept[32])
{
	int root = r->change.root;

	if (r->state == CONFIG_MISSING)
		return EXIT_OK;
	for (unsigned i = 1; i < 1000; i++) {
		snprintf(kept, 32, NAME_CONFIG ".%s-%u",
		         r->state == CONFIG_OK ? "old" : "damaged", i);
		if (!io->linkat(root, NAME_CONFIG, root, kept, 0))
			return EXIT_OK;
		if (errno == EEXIST)
			continue;
		if (!faccessat(root, kept, F_OK, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!io->renameat2(root, NAME_CONFIG, root, kept, 0))
			return EXIT_OK;
		break;
	}
	error_say("%s/frondfs.conf cannot be kept as %s: %s", r->dir, kept,
	          strerror(errno));
	return EXIT_OPERATION;
}

static int write_config(struct recover *r, const struct secret *secret,
                        enum adiantum_stream stream)
{
	struct unlocked *u = &r->change.unlocked;
	struct unlock recovery = { SLOT_RECOVERY, u->master, KEY_SIZE };
	char kept[32] = "";
	size_t limit = u->config.name_limit;
	int code = EXIT_OK;

	if (r->state != CONFIG_OK || r->name_max)
		code = find_name_limit(r, &limit);
	if (code)
		return code;
	/* With a config in order its UUID stays, and so does the next slot's
	 * number, as the same number under the same UUID is never used twice. */
	if (r->state != CONFIG_OK)
		config_init(&u->config, stream, limit);
	u->config.stream = stream;
	u->config.name_limit = limit;
	u->config.slot_count = 0;
	code = newslot_add(&r->slot, secret, r->dir, &u->config, u->master);
	if (!code)
		code = config_complain(r->dir, &u->config, config_add_slot(
			&u->config, u->master, &recovery, "", 0, 0, 0));
	if (!code)
		code = keep_old(r, kept);
	if (!code)
		code = change_commit(&r->change);
	if (code)
		return code;
	note_say("%s: made a new frondfs.conf; it opens with the new %s and with "
	         "the recovery key", r->dir,
	         newslot_kind(&r->slot) == SLOT_KEY_FILE ? "key file"
	                                                 : "passphrase");
	if (*kept)
		note_say("%s: the old one is kept as %s%s", r->dir, kept,
		         r->state == CONFIG_OK ? "; it opens with the old passphrases"
		                               : "");
	note_say("  check the volume with: frondfs fsck %s", r->dir);
	return EXIT_OK;
}

int cmd_recover(int argc, char **argv)
{
	struct recover r = { .slot = NEWSLOT_INIT };
	struct secret secret = SECRET_NONE;
	enum adiantum_stream stream = ADIANTUM_XCHACHA12;
	int code = parse(&r, argc, argv);

	if (code)
		return code;
	code = change_lock(&r.change, r.dir);
	if (!code)
		code = look(&r);
	if (!code)
		code = get_key(&r, &stream);
	if (!code)
		code = newslot_secret(&r.slot, &secret);
	if (!code)
		code = write_config(&r, &secret, stream);
	secret_free(&secret);
	change_end(&r.change);
	return code;
}
