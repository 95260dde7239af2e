/*
 * What mount(8) calls for the type fuse.frondfs: the program under the name
 * mount.fuse.frondfs. Its arguments become those of `frondfs mount`.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"

static const char help[] =
"Usage: mount.fuse.frondfs DIR MOUNTPOINT [-sfnv] [-o OPTION,...] [-t TYPE]\n"
"\n"
"mount(8) calls this for the type fuse.frondfs; the options are those of\n"
"`frondfs mount -o`, see frondfs-mount(1), and:\n"
"     setuid=USER            mount as this user and not as root\n";

enum { LISTS_MAX = 16 };

struct helper_request {
	char *lists[LISTS_MAX]; /* of -o */
	int count;
	bool fake, sloppy, quiet, verbose;
	char *user;             /* of setuid=, to be freed */
};

bool is_mount_helper(const char *argv0)
{
	const char *name = strrchr(argv0, '/');

	name = name ? name + 1 : argv0;
	return !strcmp(name, "mount.fuse.frondfs")
	       || !strcmp(name, "mount.frondfs");
}

static int parse(struct helper_request *request, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "sfnqvho:t:")) != -1) {
		switch (c) {
		case 's':
			request->sloppy = true;
			break;
		case 'f':
			request->fake = true;
			break;
		case 'n':
		case 't':
			break; /* there is no mtab, and but one type */
		case 'q':
			request->quiet = true;
			break;
		case 'v':
			request->verbose = true;
			break;
		case 'o':
			if (request->count == LISTS_MAX)
				return usage_say("mount", "too many -o");
			request->lists[request->count++] = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			exit(EXIT_OK);
		default:
			fputs(help, stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind == 2)
		return EXIT_OK;
	fputs(help, stderr);
	return EXIT_USAGE;
}

/* Take setuid=USER out of a list; it is the only option that must be known
 * before `frondfs mount` begins. */
static int take_user(struct helper_request *request, char *list)
{
	static const char name[] = "setuid=";
	char *to = list;

	for (char *word; (word = strsep(&list, ","));) {
		size_t length = strlen(word);

		if (!strncmp(word, name, strlen(name))) {
			free(request->user);
			request->user = strdup(word + strlen(name));
			if (!request->user) {
				error_say("out of memory");
				return EXIT_OPERATION;
			}
			continue;
		}
		memmove(to, word, length);
		to += length;
		*to = 0;
		if (list)
			*to++ = ','; /* where a comma or a NUL was */
	}
	*to = 0;
	return EXIT_OK;
}

static int become(const char *name)
{
	struct passwd *user = getpwnam(name);

	if (!user) {
		error_say("setuid=%s: there is no such user", name);
		return EXIT_USAGE;
	}
	if (initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid)
	    || setuid(user->pw_uid)) {
		error_say("setuid=%s: %s", name, strerror(errno));
		return EXIT_PERMISSION;
	}
	return EXIT_OK;
}

static int run_mount(const struct helper_request *request, const char *dir,
                     const char *point)
{
	const char *args[2 * LISTS_MAX + 16];
	int n = 0;

	args[n++] = "mount";
	if (request->sloppy)
		args[n++] = "--sloppy";
	/* As with the other types: what is not said is allowed. mount(8) says
	 * nosuid and nodev itself for options such as `user`. */
	if (geteuid() == 0) {
		args[n++] = "-o";
		args[n++] = "suid,dev";
	}
	for (int i = 0; i < request->count; i++) {
		args[n++] = "-o";
		args[n++] = request->lists[i];
	}
	if (request->quiet)
		args[n++] = "-q";
	if (request->verbose)
		args[n++] = "-v";
	args[n++] = "--";
	args[n++] = dir;
	args[n++] = point;
	args[n] = NULL;
	optind = 0; /* getopt begins anew */
	return cmd_mount(n, (char **)args);
}

int cmd_mount_helper(int argc, char **argv)
{
	struct helper_request request = { .count = 0 };
	int code = parse(&request, argc, argv);

	for (int i = 0; !code && i < request.count; i++)
		code = take_user(&request, request.lists[i]);
	if (!code && request.user && !request.fake)
		code = become(request.user);
	if (!code && !request.fake)
		code = run_mount(&request, argv[optind], argv[optind + 1]);
	free(request.user);
	return code;
}
