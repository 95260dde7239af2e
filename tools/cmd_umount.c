#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/mountinfo.h"
#include "tools/option.h"

static const char help[] =
"Usage: frondfs umount [options] MOUNTPOINT\n"
"\n"
"Ends a mount, and returns when the volume is released: then it can be\n"
"checked, copied or mounted elsewhere.\n"
"\n"
"  -l, --lazy     take the mount point away now, although files are open in\n"
"                 it; the volume is released when the last one is closed\n"
"  -q, --quiet    print nothing but errors\n"
"  -v, --verbose  print details\n"
"  -h, --help     print this\n";

enum { WAIT_MS = 30000, NOTE_MS = 1000, BUSY_MS = 200, STEP_MS = 20 };

static int parse(const char **point, bool *lazy, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "lazy", no_argument, NULL, 'l' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "lqvh", longs, NULL)) != -1) {
		switch (c) {
		case 'l':
			*lazy = true;
			break;
		default:
			code = option_common("umount", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return usage_say("umount", "give one mount point");
	*point = argv[optind];
	return EXIT_OK;
}

/* The daemon still finishes files after the mount is gone. It holds the
 * volume's lock until it is done. */
static int wait_for_release(const char *volume)
{
	int fd = open(volume, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct timespec step = { 0, STEP_MS * 1000000L };
	int code = EXIT_OK;

	if (fd < 0)
		return EXIT_OK; /* not ours to look into */
	for (int ms = 0; flock(fd, LOCK_SH | LOCK_NB)
	                 && errno == EWOULDBLOCK; ms += STEP_MS) {
		if (ms == NOTE_MS)
			note_say("waiting for the daemon to finish");
		if (ms >= WAIT_MS) {
			error_say("the daemon (process %d) has not released %s"
			          " after %d seconds",
			          (int)lock_holder(volume), volume,
			          WAIT_MS / 1000);
			hint_say("it may still be writing to a slow store;"
			         " wait for its end");
			code = EXIT_IN_USE;
			break;
		}
		nanosleep(&step, NULL);
	}
	close(fd);
	return code;
}

static int end_mount(const char *point, bool lazy)
{
	const struct timespec step = { 0, STEP_MS * 1000000L };
	struct mounted_fs fs;
	int error;

	if (!mountinfo_at(point, &fs) || strcmp(fs.type, FROND_FSTYPE)) {
		error_say("%s is not a frondfs mount", point);
		hint_say("`findmnt -t fuse.frondfs` lists those that are there");
		return EXIT_MOUNTPOINT;
	}
	error = unmount(point, lazy);
	/* What only looks at a new mount, as desktops do, is soon gone. */
	for (int ms = 0; error == -EBUSY && ms < BUSY_MS; ms += STEP_MS) {
		nanosleep(&step, NULL);
		error = unmount(point, lazy);
	}
	if (error == -EBUSY) {
		error_say("%s could not be unmounted: it is in use", point);
		hint_say("`fuser -vm %s` shows who uses it; --lazy takes it"
		         " away nevertheless", point);
		return EXIT_IN_USE;
	}
	if (error) {
		error_say("%s could not be unmounted: %s", point,
		          strerror(-error));
		return error == -EPERM ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	verbose_say("%s is unmounted from %s", fs.source, point);
	/* A read-only mount locks nothing; somebody else may. */
	return lazy || fs.read_only ? EXIT_OK : wait_for_release(fs.source);
}

int cmd_umount(int argc, char **argv)
{
	const char *point = NULL;
	bool lazy = false;
	char *path;
	int code = parse(&point, &lazy, argc, argv);

	if (code)
		return code;
	path = absolute_path(point);
	if (!path) {
		error_say("%s: %s", point, strerror(errno));
		return EXIT_MOUNTPOINT;
	}
	code = end_mount(path, lazy);
	free(path);
	return code;
}
