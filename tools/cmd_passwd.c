#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/change.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"

static const char help[] =
"Usage: frondfs passwd [options] DIR\n"
"\n"
"Changes the passphrase of the volume in DIR: adds a slot for the new one and\n"
"removes the slot of the old one, in one step. No file is encrypted anew.\n"
"With the recovery key it replaces the volume's passphrase slot, if there is\n"
"exactly one, and otherwise adds a slot.\n"
"\n"
"The old one:\n"
UNLOCK_HELP
"The new one:\n"
NEWSLOT_HELP
"  --force                   even if the new one opens the volume already\n"
"  -q, --quiet               print nothing but errors\n"
"  -v, --verbose             print details\n"
"  -h, --help                print this\n";

struct passwd {
	const char *dir;
	struct unlock_options unlock;
	struct newslot slot;
	bool force;
};

static int parse(struct passwd *p, int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		NEWSLOT_LONG_OPTIONS,
		{ "force", no_argument, NULL, 'f' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&p->unlock, c, optarg);
			break;
		case NEWSLOT_FIRST ... NEWSLOT_LAST:
			code = newslot_option(&p->slot, c, optarg);
			break;
		case 'f':
			p->force = true;
			break;
		default:
			code = option_common("passwd", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return usage_say("passwd", "give one directory");
	p->dir = argv[optind];
	return EXIT_OK;
}

static const struct config_slot *find_slot(const struct config *config,
                                           unsigned number)
{
	for (size_t i = 0; i < config->slot_count; i++)
		if (config->slots[i].number == number)
			return &config->slots[i];
	return NULL;
}

/* The slot that the new one replaces: the one that opened, or with the recovery
 * key (which must go on opening the volume) the only passphrase. */
static const struct config_slot *slot_to_replace(const struct unlocked *u)
{
	const struct config_slot *opened = find_slot(&u->config, u->slot);
	const struct config_slot *only = NULL;

	if (opened->kind != SLOT_RECOVERY)
		return opened;
	for (size_t i = 0; i < u->config.slot_count; i++) {
		if (u->config.slots[i].kind != SLOT_PASSPHRASE)
			continue;
		if (only)
			return NULL;
		only = &u->config.slots[i];
	}
	return only;
}

static int replace(struct passwd *p, struct change *change,
                   const struct secret *secret)
{
	struct config *config = &change->unlocked.config;
	const struct config_slot *old = slot_to_replace(&change->unlocked);
	char label[CONFIG_LABEL_MAX + 1] = "";
	unsigned number = old ? old->number : 0;
	int code;

	if (old && !p->slot.label) {
		snprintf(label, sizeof(label), "%s", old->label);
		p->slot.label = label;
	}
	/* Room for the new one first: the last slot cannot be removed. */
	if (old && config->slot_count > 1)
		config_remove_slot(config, number);
	code = newslot_add(&p->slot, secret, p->dir, config,
	                   change->unlocked.master);
	if (!code && old && find_slot(config, number))
		config_remove_slot(config, number);
	if (!code)
		code = change_commit(change);
	if (code)
		return code;
	if (old)
		note_say("%s: slot %u is replaced by slot %u", p->dir, number,
		         config->next_slot - 1);
	else
		note_say("%s: added slot %u; the other slots still open the volume",
		         p->dir, config->next_slot - 1);
	return EXIT_OK;
}

int cmd_passwd(int argc, char **argv)
{
	struct passwd p = { .unlock = UNLOCK_OPTIONS_INIT,
	                    .slot = NEWSLOT_INIT };
	struct change change;
	struct secret secret = SECRET_NONE;
	int code = parse(&p, argc, argv);

	if (code)
		return code;
	p.slot.hint = "give it with --new-passfile FILE or --new-passfd N";
	code = change_begin(&change, p.dir, &p.unlock);
	if (!code)
		code = newslot_secret(&p.slot, &secret);
	if (!code && !p.force)
		code = change_check_new(&change, &p.slot, &secret);
	if (!code)
		code = replace(&p, &change, &secret);
	secret_free(&secret);
	change_end(&change);
	return code;
}
