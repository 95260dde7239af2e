/* frondfs stat: what is known of entries of a volume, without a mount. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	"Usage: frondfs stat [options] DIR PATH...\n"
	"\n"
	"Shows what is known of entries of the volume in DIR, without a mount: type,\n"
	"size, owner, times, attributes, and the encrypted file. PATH is named as in\n"
	"a mount, from its root.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  --json                    one JSON object a line\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             more messages\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 something cannot be read; the rest as in frondfs(1).\n";

enum { OPT_JSON = 0x2000 };

/* What belongs to an entry beside its stat. */
struct details {
	char target[PATH_MAX];
	char *attributes;     /* names, each ended by NUL */
	ssize_t attributes_size;
	size_t damaged;
	struct stat cipher;   /* of the ciphertext itself */
};

static void show_times(const struct stat *st)
{
	char time[SHOW_TIME];

	show_time(time, &st->st_atim, true);
	printf("  accessed:   %s\n", time);
	show_time(time, &st->st_mtim, true);
	printf("  modified:   %s\n", time);
	show_time(time, &st->st_ctim, true);
	printf("  changed:    %s\n", time);
}

static void show_plain(const struct volume *volume, const struct walk_place *p,
                       const struct details *d)
{
	char mode[SHOW_MODE];

	show_mode(mode, p->st.st_mode);
	fputs("path:         ", stdout);
	show_name(stdout, *p->plain ? p->plain : "/");
	printf("\n  ciphertext: %s%s%s\n  type:       %s\n", volume->path,
	       *p->cipher ? "/" : "", p->cipher, show_type(p->st.st_mode));
	if (*d->target) {
		fputs("  target:     ", stdout);
		show_name(stdout, d->target);
		putchar('\n');
	}
	if (S_ISREG(p->st.st_mode))
		printf("  size:       %" PRId64 " bytes; encrypted %" PRId64
		       ", on the disk %" PRId64 "\n", (int64_t)p->st.st_size,
		       (int64_t)d->cipher.st_size,
		       (int64_t)d->cipher.st_blocks * 512);
	printf("  mode:       %s (%04o)\n", mode,
	       (unsigned)(p->st.st_mode & 07777));
	printf("  owner:      %s (%u)\n", show_user(p->st.st_uid),
	       (unsigned)p->st.st_uid);
	printf("  group:      %s (%u)\n", show_group(p->st.st_gid),
	       (unsigned)p->st.st_gid);
	printf("  links:      %lu\n  inode:      %" PRIu64 "\n",
	       (unsigned long)p->st.st_nlink, (uint64_t)p->st.st_ino);
	show_times(&p->st);
	for (ssize_t i = 0; i < d->attributes_size;
	     i += (ssize_t)strlen(d->attributes + i) + 1) {
		fputs("  attribute:  ", stdout);
		show_name(stdout, d->attributes + i);
		putchar('\n');
	}
}

static void show_json(const struct walk_place *p, const struct details *d)
{
	json_object *object = json_object_new_object();
	json_object *list = json_object_new_array();

	report_add_path(object, "path", p->plain);
	report_add_path(object, "ciphertext", p->cipher);
	show_json_stat(object, &p->st);
	if (*d->target)
		report_add_path(object, "target", d->target);
	json_object_object_add(object, "ciphertext_size",
	                       json_object_new_int64(d->cipher.st_size));
	json_object_object_add(object, "inode",
	                       json_object_new_uint64(p->st.st_ino));
	for (ssize_t i = 0; i < d->attributes_size;
	     i += (ssize_t)strlen(d->attributes + i) + 1) {
		json_object *one = json_object_new_object();

		report_add_path(one, "name", d->attributes + i);
		json_object_array_add(list, one);
	}
	json_object_object_add(object, "attributes", list);
	report_json(object);
}

static int get_details(const struct volume *volume, const struct walk_place *p,
                       struct details *d)
{
	int at = p->dir ? dir_fd(p->dir) : volume->root;
	int fd = openat(at, p->entry.text, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int error = fd < 0 || fstat(fd, &d->cipher) ? -errno : 0;

	if (!error && S_ISLNK(d->cipher.st_mode)) {
		error = dir_readlink(p->dir, p->entry.text, d->target);
		if (error > 0)
			error = 0;
	}
	if (!error) {
		d->attributes_size = tree_xattr_list(volume, fd, &d->attributes,
		                                     &d->damaged);
		if (d->attributes_size < 0)
			error = (int)d->attributes_size;
	}
	if (fd >= 0)
		close(fd);
	return error;
}

static int stat_path(const struct volume *volume, const char *path, bool json)
{
	struct details d = { .attributes = NULL };
	struct walk_place place;
	int code = EXIT_OK, error = walk_find(volume, path, &place);

	if (!error && !place.exists)
		error = -ENOENT;
	if (!error) {
		error = get_details(volume, &place, &d);
		if (json)
			show_json(&place, &d);
		else
			show_plain(volume, &place, &d);
		fflush(stdout);
	}
	if (error)
		code = place_say(volume, path, &place, error);
	if (d.damaged) {
		error_say("%s: %zu of its attributes do not open", path,
		          d.damaged);
		code = EXIT_OPERATION;
	}
	free(d.attributes);
	walk_done(&place);
	return code;
}

int cmd_stat(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "json", no_argument, NULL, OPT_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct volume *volume;
	bool json = false;
	int c, code = EXIT_OK;

	while (!code && (c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		if (c == OPT_JSON)
			json = true;
		else if (c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST)
			code = unlock_option(&unlock, c, optarg);
		else
			code = option_common("stat", c, help);
	}
	if (code)
		return code;
	if (argc - optind < 2)
		return usage_say("stat", "it takes DIR and paths");
	code = open_volume_for_reading(argv[optind], &unlock, &volume);
	if (code)
		return code;
	for (int i = optind + 1; i < argc; i++)
		code |= stat_path(volume, argv[i], json);
	volume_close(volume);
	return code;
}
