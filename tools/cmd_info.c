#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "cipher/adiantum.h"
#include "fs/format/sector.h"
#include "fs/volume/config.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/slotlist.h"
#include "tools/unlock.h"

static const char help[] =
"Usage: frondfs info [--json] DIR\n"
"\n"
"Shows what the volume in DIR is: its UUID, cipher, limits and key slots, and\n"
"whether it is in use; and which implementation of the cipher this machine\n"
"uses. No passphrase is needed; none of this is secret.\n"
"\n"
"  --json      as JSON\n"
"  -h, --help  print this\n";

/* By asking for the locks of volume_open for a moment. */
static const char *use_of(int root)
{
	const char *use = "no";

	if (flock(root, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK)
		return "mounted";
	if (flock(root, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		use = "checked";
	flock(root, LOCK_UN);
	return use;
}

static const char *cipher_of(const struct config *config)
{
	return config->stream == ADIANTUM_XCHACHA12 ? "xchacha12" : "xchacha20";
}

static int show_json(const struct config *config, const char *path,
                     const char *use)
{
	char uuid[CONFIG_UUID_TEXT];
	json_object *top = json_object_new_object();
	json_object *features = json_object_new_array();
	json_object *engines = json_object_new_array();

	config_uuid_text(uuid, config);
	for (size_t i = 0; i < config->optional_count; i++)
		json_object_array_add(features,
			json_object_new_string(config->optional[i]));
	json_object_object_add(top, "path", json_object_new_string(path));
	json_object_object_add(top, "uuid", json_object_new_string(uuid));
	json_object_object_add(top, "format", json_object_new_int(CONFIG_FORMAT));
	json_object_object_add(top, "cipher",
	                       json_object_new_string(cipher_of(config)));
	for (const char *const *p = adiantum_engine_list(); *p; p++)
		json_object_array_add(engines, json_object_new_string(*p));
	json_object_object_add(top, "engine",
	                       json_object_new_string(adiantum_engine_name()));
	json_object_object_add(top, "engines", engines);
	json_object_object_add(top, "sector_size",
	                       json_object_new_int(SECTOR_SIZE));
	json_object_object_add(top, "name_max",
		json_object_new_int64((int64_t)config->name_limit));
	json_object_object_add(top, "required_features", json_object_new_array());
	json_object_object_add(top, "optional_features", features);
	json_object_object_add(top, "in_use", json_object_new_string(use));
	json_object_object_add(top, "slots", slotlist_json(config));
	return json_print(top);
}

static int show(const struct config *config, const char *path, const char *use)
{
	char uuid[CONFIG_UUID_TEXT];

	config_uuid_text(uuid, config);
	printf("volume        %s\n", path);
	printf("UUID          %s\n", uuid);
	printf("format        %d\n", CONFIG_FORMAT);
	printf("cipher        Adiantum (%s, AES-256), sectors of %d bytes\n",
	       cipher_of(config), SECTOR_SIZE);
	printf("engine        %s (this machine can run:",
	       adiantum_engine_name());
	for (const char *const *p = adiantum_engine_list(); *p; p++)
		printf(" %s", *p);
	printf(")\n");
	printf("longest name  %zu bytes as it is stored\n", config->name_limit);
	printf("features     ");
	for (size_t i = 0; i < config->optional_count; i++)
		printf(" %s", config->optional[i]);
	printf("%s\n", config->optional_count ? "" : " none");
	printf("in use        %s\n",
	       *use == 'm' ? "yes, it is mounted for reading and writing" :
	       *use == 'c' ? "yes, it is being checked" :
	       "not for writing (a read-only mount leaves no mark)");
	printf("key slots\n");
	slotlist_print(config);
	if (fflush(stdout) || ferror(stdout)) {
		error_say("the output could not be written");
		return EXIT_OPERATION;
	}
	return EXIT_OK;
}

int cmd_info(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool json = false;
	struct config config;
	const char *dir;
	char *path;
	int c, root, code;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		}
		if (c != 'j')
			return usage_say("info", "wrong option");
		json = true;
	}
	if (argc - optind != 1)
		return usage_say("info", "give one directory");
	dir = argv[optind];
	code = unlock_open_root(dir, &root);
	if (code)
		return code;
	code = config_complain(dir, &config, config_read(&config, root));
	if (!code) {
		path = realpath(dir, NULL);
		code = (json ? show_json : show)(&config, path ? path : dir,
		                                 use_of(root));
		free(path);
	}
	close(root);
	return code;
}
