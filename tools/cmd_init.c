#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "fs/format/name.h"
#include "fs/volume/config.h"
#include "fs/volume/create.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/newslot.h"
#include "tools/option.h"

static const char help[] =
"Usage: frondfs init [options] DIR\n"
"\n"
"Makes an encrypted volume in the directory DIR, which must be empty or not\n"
"exist yet. The recovery key is printed once: write it down. It opens the\n"
"volume when the passphrase is forgotten or frondfs.conf is lost.\n"
"\n"
NEWSLOT_INIT_HELP
"  --recovery-key-file FILE  write the recovery key into a new file instead\n"
"  --cipher NAME             xchacha12 (the default) or xchacha20 (slower, with\n"
"                            a greater margin)\n"
"  --name-max N              longest name, in bytes, that the store takes\n"
"                            (the default is what it takes now; give less if\n"
"                            the volume is to be copied to such a store)\n"
"  -q, --quiet               print nothing but errors and the recovery key\n"
"  -v, --verbose             print details\n"
"  -h, --help                print this\n";

struct init {
	const char *dir;
	const char *recovery_file;
	enum adiantum_stream stream;
	unsigned long name_max; /* 0: as the store has it */
	struct newslot slot;
	bool made_dir;
};

enum { OPT_CIPHER = 1, OPT_NAME_MAX, OPT_RECOVERY };

static int parse(struct init *init, int argc, char **argv)
{
	static const struct option longs[] = {
		NEWSLOT_INIT_LONG_OPTIONS,
		{ "recovery-key-file", required_argument, NULL, OPT_RECOVERY },
		{ "cipher", required_argument, NULL, OPT_CIPHER },
		{ "name-max", required_argument, NULL, OPT_NAME_MAX },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (c) {
		case NEWSLOT_FIRST ... NEWSLOT_LAST:
			code = newslot_option(&init->slot, c, optarg);
			break;
		case OPT_RECOVERY:
			init->recovery_file = optarg;
			break;
		case OPT_CIPHER:
			if (!strcmp(optarg, "xchacha12"))
				init->stream = ADIANTUM_XCHACHA12;
			else if (!strcmp(optarg, "xchacha20"))
				init->stream = ADIANTUM_XCHACHA20;
			else
				return usage_say("init", "--cipher is xchacha12 or "
				                 "xchacha20, not '%s'", optarg);
			break;
		case OPT_NAME_MAX:
			code = option_name_max("init", optarg, &init->name_max);
			break;
		default:
			code = option_common("init", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return usage_say("init", "give one directory");
	init->dir = argv[optind];
	return EXIT_OK;
}

static int complain(const char *dir, const char *what, int error)
{
	error_say("%s: %s: %s", dir, what, strerror(-error));
	return error == -EACCES || error == -EPERM || error == -EROFS
		? EXIT_PERMISSION : EXIT_OPERATION;
}

/* What a state of fs/volume/create means where a volume is to be made. */
static int check_state(const char *dir, int state, const char *found)
{
	switch (state) {
	case CREATE_EMPTY:
	case CREATE_LEFTOVERS:
		return EXIT_OK;
	case CREATE_VOLUME:
		error_say("%s is a frondfs volume already", dir);
		hint_say("nothing was changed. To mount it: frondfs mount %s "
		         "MOUNTPOINT", dir);
		return EXIT_NOT_EMPTY;
	case CREATE_NOT_EMPTY:
		error_say("%s is not empty: it holds '%s'", dir, found);
		hint_say("nothing was changed. Give an empty directory or a new "
		         "name");
		return EXIT_NOT_EMPTY;
	case -EBUSY:
		error_say("%s is used by another frondfs", dir);
		return EXIT_IN_USE;
	default:
		return complain(dir, "cannot look into it", state);
	}
}

/* Looks at the directory before a passphrase is asked for; *root is -1 where
 * it does not exist yet. */
static int look(const struct init *init, int *root)
{
	char found[256] = "";

	*root = open(init->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*root < 0)
		return errno == ENOENT ? EXIT_OK
		                       : complain(init->dir, "cannot open it", -errno);
	return check_state(init->dir, create_look(*root, found, sizeof(found)),
	                   found);
}

/* The file for the recovery key must be new, and not lie in the volume. */
static int look_recovery_file(const struct init *init, int root)
{
	struct stat st, st_root;
	const char *file = init->recovery_file;
	char *copy;
	bool inside;

	if (!file)
		return EXIT_OK;
	if (!lstat(file, &st)) {
		error_say("%s exists; a recovery key is not written over a file",
		          file);
		hint_say("move it away or give another name");
		return EXIT_USAGE;
	}
	copy = strdup(file);
	inside = copy && root >= 0 && !stat(dirname(copy), &st) &&
	         !fstat(root, &st_root) && st.st_dev == st_root.st_dev &&
	         st.st_ino == st_root.st_ino;
	free(copy);
	if (inside) {
		error_say("%s would lie beside the encrypted files that it opens",
		          file);
		hint_say("keep the recovery key somewhere else");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

static int make_dir(struct init *init, int *root, int *lock)
{
	char found[256] = "";
	int state;

	if (*root < 0) {
		if (mkdir(init->dir, 0700))
			return complain(init->dir, "cannot make it", -errno);
		init->made_dir = true;
		*root = open(init->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*root < 0)
			return complain(init->dir, "cannot open it", -errno);
	}
	state = create_begin(*root, found, sizeof(found), lock);
	return check_state(init->dir, state, found);
}

/* What the store can do: *limit becomes its longest name. */
static int probe(const struct init *init, int root, size_t *limit)
{
	int n = create_name_limit(root), same;

	if (n < 0)
		return complain(init->dir, "cannot make a file in it", n);
	if (n < NAME_LIMIT_MIN) {
		error_say("%s: this store takes names of %d bytes at most; frondfs "
		          "needs %d", init->dir, n, NAME_LIMIT_MIN);
		return EXIT_OPERATION;
	}
	if (init->name_max > (size_t)n) {
		error_say("%s: this store takes names of %d bytes at most, less "
		          "than --name-max %lu", init->dir, n, init->name_max);
		return EXIT_USAGE;
	}
	*limit = init->name_max ? init->name_max : (size_t)n;
	if (n < NAME_TEXT_MAX)
		verbose_say("the store takes names of up to %d bytes", n);
	same = create_ignores_case(root);
	if (same < 0)
		return complain(init->dir, "cannot make a file in it", same);
	if (same)
		warn_say("the store of %s does not tell upper from lower case. That "
		         "does no harm as long as it keeps names as they are "
		         "written; a program that changes their case makes them "
		         "unreadable", init->dir);
	return EXIT_OK;
}

static int make_slots(const struct init *init, const struct secret *secret,
                      const uint8_t *master, struct config *config)
{
	struct unlock recovery = { SLOT_RECOVERY, master, KEY_SIZE };
	int code = newslot_add(&init->slot, secret, init->dir, config, master);
	enum config_error error;

	if (code)
		return code;
	error = config_add_slot(config, master, &recovery, "", 0, 0, 0);
	return config_complain(init->dir, config, error);
}

static int make_volume(const struct init *init, struct config *config,
                       const uint8_t *master)
{
	enum config_error error = create_volume(init->dir, config, master,
	                                        init->recovery_file);

	if (!error)
		return EXIT_OK;
	error_say("%s: %s", init->dir, config->problem);
	return config->io_error == -EACCES || config->io_error == -EROFS
		? EXIT_PERMISSION : EXIT_OPERATION;
}

static int run(struct init *init, int *root, const struct secret *secret,
               uint8_t *master)
{
	struct config config;
	size_t limit = 0;
	int lock = -1, code = make_dir(init, root, &lock);

	if (!code)
		code = look_recovery_file(init, *root);
	if (!code)
		code = probe(init, *root, &limit);
	if (!code) {
		config_init(&config, init->stream, limit);
		code = make_slots(init, secret, master, &config);
	}
	if (!code)
		code = make_volume(init, &config, master);
	if (lock >= 0)
		close(lock);
	if (code)
		return code;
	note_say("made a volume in %s", init->dir);
	return newslot_show_recovery_key(&config, master, init->recovery_file);
}

int cmd_init(int argc, char **argv)
{
	struct init init = { .stream = ADIANTUM_XCHACHA12,
	                     .slot = NEWSLOT_INIT };
	struct secret secret = SECRET_NONE;
	uint8_t *master = NULL;
	int root = -1, code = parse(&init, argc, argv);

	if (code)
		return code;
	code = look(&init, &root);
	if (!code)
		code = look_recovery_file(&init, root);
	if (!code)
		code = newslot_secret(&init.slot, &secret);
	if (!code) {
		master = OPENSSL_secure_malloc(KEY_SIZE);
		if (!master || RAND_priv_bytes(master, KEY_SIZE) != 1) {
			error_say("OpenSSL gives no random key");
			code = EXIT_OPERATION;
		}
	}
	if (!code)
		code = run(&init, &root, &secret, master);
	if (code && init.made_dir)
		rmdir(init.dir);
	secret_free(&secret);
	OPENSSL_secure_clear_free(master, KEY_SIZE);
	if (root >= 0)
		close(root);
	return code;
}
