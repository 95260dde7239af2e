#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/busy.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/mountinfo.h"
#include "tools/option.h"

static const char help[] =
"Usage: frondfs umount [options] MOUNTPOINT\n"
"\n"
"Ends a mount, and returns when the volume is released: then it can be\n"
"checked, copied or mounted elsewhere. Where the mount is in use, this says by\n"
"whom, and changes nothing.\n"
"\n"
"  -l, --lazy     take the mount point away now, although files are open in\n"
"                 it; the volume is released when the last one is closed\n"
"  -f, --force    end the mount also where its daemon does not answer, and\n"
"                 whoever uses it: what has been written is kept, but programs\n"
"                 get errors from their open files\n"
"  -q, --quiet    print nothing but errors\n"
"  -v, --verbose  print details\n"
"  -h, --help     print this\n";

enum {
	WAIT_MS = 30000,  /* for the daemon's end */
	NOTE_MS = 1000,
	BUSY_MS = 200,
	STEP_MS = 20,
	TRY_MS = 5000,    /* with --force: for an unmount that may hang, */
	FORCE_MS = 5000,  /* and for a daemon that may */
};

struct request {
	const char *point;
	bool lazy, force;
};

static int parse(struct request *request, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "lazy", no_argument, NULL, 'l' },
		{ "force", no_argument, NULL, 'f' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code = EXIT_OK;

	while ((c = getopt_long(argc, argv, "lfqvh", longs, NULL)) != -1) {
		switch (c) {
		case 'l':
			request->lazy = true;
			break;
		case 'f':
			request->force = true;
			break;
		default:
			code = option_common("umount", c, help);
		}
		if (code)
			return code;
	}
	if (request->lazy && request->force)
		return usage_say("umount", "--lazy and --force exclude each"
		                 " other");
	if (argc - optind != 1)
		return usage_say("umount", "give one mount point");
	request->point = argv[optind];
	return EXIT_OK;
}

static void pause_step(void)
{
	const struct timespec step = { 0, STEP_MS * 1000000L };

	nanosleep(&step, NULL);
}

/* Wait until nobody holds the volume's lock, which a daemon does until it has
 * finished all files. Returns whether that was so within `limit` ms. */
static bool is_released(const char *volume, int limit)
{
	int fd = open(volume, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool held = true;

	if (fd < 0)
		return true; /* not ours to look into */
	for (int ms = 0; (held = flock(fd, LOCK_SH | LOCK_NB)
	                         && errno == EWOULDBLOCK)
	                 && ms < limit; ms += STEP_MS) {
		if (ms == NOTE_MS)
			note_say("waiting for the daemon to finish");
		pause_step();
	}
	close(fd);
	return !held;
}

static int wait_for_release(const struct mounted_fs *fs)
{
	char name[PROCESS_NAME_SIZE];
	pid_t elsewhere;

	if (is_released(fs->source, WAIT_MS))
		return EXIT_OK;
	elsewhere = busy_elsewhere(fs);
	error_say("%s is unmounted, but the daemon (process %d) has not"
	          " released %s after %d seconds", fs->point,
	          (int)lock_holder(fs->source), fs->source, WAIT_MS / 1000);
	if (elsewhere) {
		process_name(elsewhere, name);
		hint_say("it is still mounted in the mount namespace of process"
		         " %d (%s): end that, or unmount it there",
		         (int)elsewhere, name);
	} else {
		hint_say("it may still be writing to a slow store; wait for its"
		         " end");
	}
	return EXIT_IN_USE;
}

/* What only looks at a new mount, as desktops do, is soon gone. */
static int unmount_patiently(const char *point)
{
	int error = unmount(point, false);

	for (int ms = 0; error == -EBUSY && ms < BUSY_MS; ms += STEP_MS) {
		pause_step();
		error = unmount(point, false);
	}
	return error;
}

/* The same in a process of its own, since it may hang in what programs have
 * mapped and not synced; -ETIMEDOUT then. */
static int unmount_or_time_out(const char *point)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid)
		_exit(-unmount_patiently(point) & 0xff);
	for (int ms = 0; ms < TRY_MS; ms += STEP_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
		pause_step();
	}
	return -ETIMEDOUT;
}

static int complain(const struct mounted_fs *fs, int error)
{
	error_say("%s could not be unmounted: %s", fs->point, strerror(-error));
	return error == -EPERM ? EXIT_PERMISSION : EXIT_OPERATION;
}

static int complain_busy(const struct mounted_fs *fs)
{
	error_say("%s could not be unmounted: it is in use", fs->point);
	busy_say(fs);
	hint_say("end these, or: --lazy takes the mount point away"
	         " nevertheless");
	return EXIT_IN_USE;
}

static int abort_connection(const struct mounted_fs *fs)
{
	char path[64];
	int fd, error = 0;

	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort",
	         fs->minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, "1", 1) != 1)
		error = -errno;
	close(fd);
	return error;
}

/* Whether a process is a frondfs that may be killed. */
static bool is_daemon(pid_t pid)
{
	char name[PROCESS_NAME_SIZE];

	process_name(pid, name);
	return pid > 0 && !strcmp(name, "frondfs");
}

/* The daemon's connection is aborted: it finishes its files and ends. One that
 * is stopped is let go on; one that still does not end is killed. */
static int end_daemon(const struct mounted_fs *fs)
{
	pid_t pid = fs->read_only ? 0 : lock_holder(fs->source);

	if (is_daemon(pid))
		kill(pid, SIGCONT);
	if (fs->read_only || is_released(fs->source, FORCE_MS))
		return EXIT_OK;
	if (is_daemon(pid) && !kill(pid, SIGKILL)) {
		note_say("the daemon (process %d) does not end: it is killed;"
		         " files that were open for writing may be unfinished,"
		         " which loses nothing: `frondfs fsck` names them",
		         (int)pid);
		if (is_released(fs->source, FORCE_MS))
			return EXIT_OK;
	}
	error_say("the mount is gone, but the daemon (process %d) has not"
	          " released %s", (int)pid, fs->source);
	hint_say("it may be waiting for a store that does not answer, such as"
	         " a network share: it ends when that comes back or is"
	         " unmounted");
	return EXIT_IN_USE;
}

static int end_by_force(const struct mounted_fs *fs)
{
	int error = unmount_or_time_out(fs->point);

	if (!error) {
		verbose_say("%s was unmounted without force", fs->point);
		return fs->read_only || is_released(fs->source, FORCE_MS)
			? EXIT_OK : end_daemon(fs);
	}
	if (error != -EBUSY && error != -ETIMEDOUT)
		return complain(fs, error);
	warn_say("%s %s: its connection to the kernel is aborted", fs->point,
	         error == -EBUSY ? "is in use" : "does not answer");
	if (error == -EBUSY && !message_quiet)
		busy_say(fs);
	note_say("programs that use it get errors from now on; what a write has"
	         " returned for is kept, but not what was written to mapped"
	         " files and not synced");
	error = abort_connection(fs);
	if (error) {
		verbose_say("/sys/fs/fuse/connections/%u/abort: %s", fs->minor,
		            strerror(-error));
		if (geteuid() != 0) {
			error_say("the connection of %s cannot be aborted: %s",
			          fs->point, strerror(-error));
			hint_say("let root do this, or kill the daemon"
			         " (process %d)", (int)lock_holder(fs->source));
			return EXIT_PERMISSION;
		}
		unmount_by_force(fs->point);
	}
	error = unmount(fs->point, true);
	if (error && error != -EINVAL)
		return complain(fs, error);
	return end_daemon(fs);
}

static int end_mount(const char *point, const struct request *request)
{
	struct mounted_fs fs;
	int error;

	if (!mountinfo_at(point, &fs) || strcmp(fs.type, FROND_FSTYPE)) {
		error_say("%s is not a frondfs mount", point);
		hint_say("`findmnt -t fuse.frondfs` lists those that are there");
		return EXIT_MOUNTPOINT;
	}
	if (request->force)
		return end_by_force(&fs);
	error = request->lazy ? unmount(point, true) : unmount_patiently(point);
	if (error == -EBUSY)
		return complain_busy(&fs);
	if (error)
		return complain(&fs, error);
	verbose_say("%s is unmounted from %s", fs.source, point);
	/* A read-only mount locks nothing; somebody else may. */
	return request->lazy || fs.read_only ? EXIT_OK : wait_for_release(&fs);
}

int cmd_umount(int argc, char **argv)
{
	struct request request = { .lazy = false };
	char *path;
	int code = parse(&request, argc, argv);

	if (code)
		return code;
	path = absolute_path(request.point);
	if (!path) {
		error_say("%s: %s", request.point, strerror(errno));
		return EXIT_MOUNTPOINT;
	}
	/* We shall not be in the way ourselves. */
	if (chdir("/"))
		verbose_say("cannot change to /: %s", strerror(errno));
	code = end_mount(path, &request);
	free(path);
	return code;
}
