#include "tools/mount_options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fuse_opt.h>

#include "tools/exitcode.h"
#include "tools/message.h"

/* Options with a meaning for mount(8), systemd or the login only, that are
 * always so, or that the kernel does not need to be told for a FUSE mount. */
static const char *const ignored[] = {
	"defaults", "auto", "noauto", "nofail", "user", "nouser", "users",
	"owner", "group", "_netdev", "async", "atime", "diratime", "relatime",
	"norelatime", "strictatime", "nostrictatime", "lazytime", "nolazytime",
	"nodiratime", "silent", "loud", "iversion", "noiversion", "mand", "nomand",
	"default_permissions", NULL
};
static const char *const ignored_prefixes[] = {
	"x-", "X-", "user=", "comment=", "helper=", "uhelper=", NULL
};

/* For the kernel and libfuse. */
static const char *const passed[] = {
	"allow_other", "allow_root", "suid", "nosuid", "dev", "nodev", "exec",
	"noexec", "noatime", "sync", "dirsync", NULL
};
static const char *const passed_prefixes[] = {
	"context=", "fscontext=", "defcontext=", "rootcontext=",
	NULL
};

static bool in_list(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!strcmp(*list, word))
			return true;
	return false;
}

static bool has_prefix(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!strncmp(*list, word, strlen(*list)))
			return true;
	return false;
}

/* "name=value": the value, or NULL for another option. */
static char *value_of(char *word, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(word, name, length) && word[length] == '='
		? word + length + 1 : NULL;
}

static int take_seconds(double *out, const char *word, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !isfinite(seconds) || seconds < 0)
		return usage_say("mount", "option '%s': not a number of seconds",
		                 word);
	*out = seconds;
	return EXIT_OK;
}

int mount_options_idle(struct mount_options *options, const char *word,
                       const char *value)
{
	static const char letters[] = "smhd";
	static const unsigned factors[] = { 1, 60, 3600, 86400 };
	const char *unit;
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	unit = *end ? strchr(letters, *end) : letters;
	if (errno || *value < '0' || *value > '9' || !unit || (*end && end[1])
	    || n > UINT_MAX / factors[unit - letters])
		return usage_say("mount", "%s: not a time such as 90s, 10m, 1h"
		                 " (or 0: never)", word);
	options->idle = (unsigned)n * factors[unit - letters];
	return EXIT_OK;
}

/* How far the kernel is trusted to know what is there. */
static int take_cache(struct mount_options *options, const char *word,
                      const char *value)
{
	options->direct_io = false;
	if (!strcmp(value, "none")) {
		options->entry_timeout = options->attr_timeout = 0.0;
		options->direct_io = true;
	} else if (!strcmp(value, "auto")) {
		options->entry_timeout = options->attr_timeout = 1.0;
	} else if (!strcmp(value, "always")) {
		options->entry_timeout = options->attr_timeout = 86400.0;
	} else {
		return usage_say("mount", "option '%s': none, auto or always",
		                 word);
	}
	return EXIT_OK;
}

static int no_memory(void)
{
	error_say("out of memory");
	return EXIT_OPERATION;
}

/* A way to unlock, for fstab; there can be only one. Its value must outlive
 * the list: *kept holds it. */
static int take_unlock(struct unlock_options *unlock, int option,
                       const char *value, char **kept)
{
	char *copy = strdup(value);
	int code = copy ? unlock_option(unlock, option, copy) : no_memory();

	if (code)
		free(copy);
	else
		*kept = copy;
	return code;
}

static int take(struct mount_options *options, struct unlock_options *unlock,
                char *word)
{
	char *value;

	if (!*word || in_list(ignored, word) || has_prefix(ignored_prefixes, word))
		return EXIT_OK;
	if (!strcmp(word, "ro")) {
		options->read_only = true;
	} else if (!strcmp(word, "rw")) {
		options->read_only = false;
	} else if (!strcmp(word, "nonempty")) {
		options->nonempty = true;
	} else if (!strcmp(word, "export")) {
		options->export = true;
	} else if (!strcmp(word, "direct_io")) {
		options->direct_io = true;
	} else if (!strcmp(word, "writeback")) {
		options->writeback = true;
	} else if ((value = value_of(word, "cache"))) {
		return take_cache(options, word, value);
	} else if ((value = value_of(word, "entry_timeout"))) {
		return take_seconds(&options->entry_timeout, word, value);
	} else if ((value = value_of(word, "attr_timeout"))) {
		return take_seconds(&options->attr_timeout, word, value);
	} else if ((value = value_of(word, "idle"))) {
		return mount_options_idle(options, word, value);
	} else if ((value = value_of(word, "passfile"))) {
		return take_unlock(unlock, UNLOCK_PASSFILE, value,
		                   &options->passfile);
	} else if ((value = value_of(word, "keyfile"))) {
		return take_unlock(unlock, UNLOCK_KEYFILE, value,
		                   &options->keyfile);
	} else if (in_list(passed, word) || has_prefix(passed_prefixes, word)) {
		if (fuse_opt_add_opt_escaped(&options->pass_on, word))
			return no_memory();
	} else if (!strcmp(word, "remount")) {
		error_say("a mount of frondfs cannot be changed by its helper");
		hint_say("`mount -i -o remount,ro` (or rw) tells the kernel alone;"
		         " for all else unmount it and mount it anew");
		return EXIT_USAGE;
	} else if (!options->sloppy) {
		return usage_say("mount", "there is no mount option '%s'", word);
	}
	return EXIT_OK;
}

int mount_options_take(struct mount_options *options,
                       struct unlock_options *unlock, const char *list)
{
	char *word = malloc(strlen(list) + 1);
	int code = EXIT_OK;
	size_t n = 0;

	if (!word)
		return no_memory();
	do {
		if (*list == '\\' && list[1]) {
			word[n++] = *++list;
		} else if (*list && *list != ',') {
			word[n++] = *list;
		} else {
			word[n] = 0;
			n = 0;
			code = take(options, unlock, word);
		}
	} while (!code && *list++);
	free(word);
	return code;
}

void mount_options_free(struct mount_options *options)
{
	free(options->pass_on);
	free(options->passfile);
	free(options->keyfile);
}
