#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/create.h"
#include "tools/change.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"
#include "tools/slotlist.h"

static const char help[] =
"Usage: frondfs slot list [--json] DIR\n"
"       frondfs slot add [options] DIR\n"
"       frondfs slot remove [options] DIR NUMBER\n"
"\n"
"Shows, adds and removes key slots. Each slot opens the volume, with a\n"
"passphrase, a key file or the recovery key.\n"
"\n"
"To add or remove one, unlock the volume:\n"
UNLOCK_HELP
"The new slot:\n"
NEWSLOT_HELP
"  --recovery-key            print the recovery key (and accept it, if its slot\n"
"                            was removed)\n"
"  --new-recovery-key-file FILE\n"
"                            write it into a new file instead\n"
"  --force                   even if the new one opens the volume already\n"
"\n"
"  --json                    list as JSON\n"
"  -q, --quiet               print nothing but errors\n"
"  -v, --verbose             print details\n"
"  -h, --help                print this\n"
"\n"
"The recovery key carries the volume's master key: it cannot be revoked.\n"
"Removing its slot makes frondfs refuse it, but who has it and the encrypted\n"
"files can still read them, and `frondfs recover` still accepts it.\n";

struct slot {
	const char *dir;
	const char *number;
	struct unlock_options unlock;
	struct newslot slot;
	bool recovery;
	const char *recovery_file;
	bool force;
	bool json;
};

enum { OPT_RECOVERY = 1, OPT_RECOVERY_FILE, OPT_FORCE, OPT_JSON };

static int parse(struct slot *s, int argc, char **argv, int arguments)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		NEWSLOT_LONG_OPTIONS,
		{ "recovery-key", no_argument, NULL, OPT_RECOVERY },
		{ "new-recovery-key-file", required_argument, NULL,
		  OPT_RECOVERY_FILE },
		{ "force", no_argument, NULL, OPT_FORCE },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&s->unlock, c, optarg);
			break;
		case NEWSLOT_FIRST ... NEWSLOT_LAST:
			code = newslot_option(&s->slot, c, optarg);
			break;
		case OPT_RECOVERY_FILE:
			s->recovery_file = optarg;
			/* fall through */
		case OPT_RECOVERY:
			s->recovery = true;
			break;
		case OPT_FORCE:
			s->force = true;
			break;
		case OPT_JSON:
			s->json = true;
			break;
		default:
			code = option_common("slot", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != arguments)
		return usage_say("slot", arguments == 1
		                 ? "give one directory"
		                 : "give a directory and a slot's number");
	s->dir = argv[optind];
	s->number = argv[optind + 1];
	return EXIT_OK;
}

static int list(struct slot *s)
{
	struct config config;
	int root, code = unlock_open_root(s->dir, &root);

	if (code)
		return code;
	code = config_complain(s->dir, &config, config_read(&config, root));
	close(root);
	if (code)
		return code;
	if (s->json)
		return json_print(slotlist_json(&config));
	slotlist_print(&config);
	return EXIT_OK;
}

static bool has_recovery(const struct config *config)
{
	for (size_t i = 0; i < config->slot_count; i++)
		if (config->slots[i].kind == SLOT_RECOVERY)
			return true;
	return false;
}

static int add_recovery(struct slot *s, struct change *change)
{
	struct unlocked *u = &change->unlocked;
	struct unlock unlock = { SLOT_RECOVERY, u->master, KEY_SIZE };
	int error, code = EXIT_OK;

	if (!has_recovery(&u->config)) {
		code = config_complain(s->dir, &u->config, config_add_slot(
			&u->config, u->master, &unlock,
			s->slot.label ? s->slot.label : "", 0, 0, 0));
		if (!code)
			code = change_commit(change);
		if (code)
			return code;
		note_say("%s: added slot %u", s->dir, u->config.next_slot - 1);
	}
	if (s->recovery_file) {
		error = create_recovery_file(s->recovery_file, &u->config,
		                             u->master);
		if (error) {
			error_say("cannot write the recovery key into a new file "
			          "%s: %s", s->recovery_file, strerror(-error));
			return error == -EEXIST ? EXIT_USAGE : EXIT_OPERATION;
		}
	}
	return newslot_show_recovery_key(&u->config, u->master,
	                                 s->recovery_file);
}

static int add_secret(struct slot *s, struct change *change)
{
	struct config *config = &change->unlocked.config;
	struct secret secret = SECRET_NONE;
	int code = newslot_secret(&s->slot, &secret);

	if (!code && !s->force)
		code = change_check_new(change, &s->slot, &secret);
	if (!code)
		code = newslot_add(&s->slot, &secret, s->dir, config,
		                   change->unlocked.master);
	if (!code)
		code = change_commit(change);
	if (!code)
		note_say("%s: added slot %u", s->dir, config->next_slot - 1);
	secret_free(&secret);
	return code;
}

static int add(struct slot *s)
{
	struct change change;
	int code;

	if (s->recovery && (s->slot.passfile || s->slot.passfd >= 0 ||
	                    s->slot.keyfile))
		return usage_say("slot", "one slot at a time: the recovery key, a "
		                 "passphrase or a key file");
	s->slot.hint = "give it with --new-passfile FILE or --new-passfd N";
	code = change_begin(&change, s->dir, &s->unlock);
	if (!code)
		code = s->recovery ? add_recovery(s, &change)
		                   : add_secret(s, &change);
	change_end(&change);
	return code;
}

static int remove_slot(struct slot *s)
{
	struct change change;
	struct config *config = &change.unlocked.config;
	char *end;
	unsigned long number = strtoul(s->number, &end, 10);
	bool had_recovery;
	int code, error;

	if (end == s->number || *end || number > INT32_MAX)
		return usage_say("slot", "a slot's number is wanted, not '%s'",
		                 s->number);
	code = change_begin(&change, s->dir, &s->unlock);
	if (code) {
		change_end(&change);
		return code;
	}
	had_recovery = has_recovery(config);
	error = config_remove_slot(config, (unsigned)number);
	if (error == -ENOENT) {
		error_say("%s has no slot %lu", s->dir, number);
		hint_say("`frondfs slot list %s` shows them", s->dir);
		code = EXIT_USAGE;
	} else if (error) {
		error_say("%s: slot %lu is the last one; without it nothing would "
		          "open the volume", s->dir, number);
		hint_say("add another one first: frondfs slot add %s", s->dir);
		code = EXIT_OPERATION;
	} else {
		code = change_commit(&change);
	}
	if (!code) {
		note_say("%s: removed slot %lu", s->dir, number);
		if (had_recovery && !has_recovery(config))
			warn_say("the recovery key cannot be revoked: who has it "
			         "and the encrypted files can still read them. To "
			         "be rid of it, copy the files into a new volume");
		else if (config->slot_count == 1 && has_recovery(config))
			warn_say("only the recovery key opens the volume now");
	}
	change_end(&change);
	return code;
}

int cmd_slot(int argc, char **argv)
{
	struct slot s = { .unlock = UNLOCK_OPTIONS_INIT, .slot = NEWSLOT_INIT };
	const char *what = argc > 1 ? argv[1] : "";
	int code;

	if (!strcmp(what, "--help") || !strcmp(what, "-h")) {
		fputs(help, stdout);
		return EXIT_OK;
	}
	if (strcmp(what, "list") && strcmp(what, "add") && strcmp(what, "remove"))
		return usage_say("slot", "say what to do: list, add or remove");
	code = parse(&s, argc - 1, argv + 1, *what == 'r' ? 2 : 1);
	if (code)
		return code;
	return *what == 'l' ? list(&s) : *what == 'a' ? add(&s) : remove_slot(&s);
}
