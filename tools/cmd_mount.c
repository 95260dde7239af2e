#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cipher/adiantum.h"
#include "fs/mount/session.h"
#include "tools/command.h"
#include "tools/daemon.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/mount_check.h"
#include "tools/mount_options.h"
#include "tools/mountinfo.h"
#include "tools/option.h"
#include "tools/unlock.h"

static const char help[] =
"Usage: frondfs mount [options] DIR MOUNTPOINT\n"
"\n"
"Shows the encrypted volume in the directory DIR in the clear at MOUNTPOINT,\n"
"an empty directory, and returns when it can be used. To end it:\n"
"frondfs umount MOUNTPOINT.\n"
"\n"
UNLOCK_HELP
"\n"
"      --idle TIME           unmount when nobody has used it for so long: 90s,\n"
"                            10m, 1h; an open file or a working directory in\n"
"                            it counts as use\n"
"  -f, --foreground          stay in the foreground, messages on stderr; a\n"
"                            service manager is told when it can be used\n"
"  -d, --debug               show all requests, with names in the clear, and\n"
"                            stay in the foreground\n"
"  -o, --options OPTION,...  mount options (may be given several times):\n"
"     ro                     change nothing, not even access times; any number\n"
"                            of such mounts may be there beside another one\n"
"     allow_other            let other users in, as far as modes and owners\n"
"                            permit; allow_root: only root\n"
"     nosuid,suid,nodev,dev,noexec,exec,noatime,sync,dirsync\n"
"                            as for every mount (nosuid and nodev are so\n"
"                            unless root says otherwise)\n"
"     nonempty               cover a mount point that is not empty\n"
"     cache=auto|none|always what others change in the volume is seen within a\n"
"                            second [auto], at once, or perhaps never\n"
"     entry_timeout=S        seconds that the kernel trusts a name [1]\n"
"     attr_timeout=S         and sizes, modes and times [1]\n"
"     direct_io              keep no content in the kernel's cache (then\n"
"                            programs cannot map files to write to them)\n"
"     writeback              let the kernel collect writes: faster for many\n"
"                            small ones, but what was written is lost when\n"
"                            this program is killed, unless fsync followed\n"
"     passfile=FILE, keyfile=FILE\n"
"                            as --passfile and --keyfile, for fstab\n"
"     nofail, auto, noauto, user, users, _netdev, x-...\n"
"                            and other options for mount(8): without effect\n"
"                            (a comma in a value is written \\,)\n"
"     export                 let NFS servers export the mount: files are found\n"
"                            by number, also after a remount\n"
"     idle=TIME              as --idle, for fstab\n"
"  -s, --sloppy              ignore mount options that are not known, in the -o\n"
"                            that follow\n"
"  -q, --quiet               print nothing but errors\n"
"  -v, --verbose             print details\n"
"  -h, --help                print this\n";

enum { OPTION_IDLE = UNLOCK_LAST + 1 };

struct request {
	const char *dir;
	const char *point;
	char *volume;       /* absolute path of dir */
	char *mountpoint;   /* and of point */
	bool foreground;
	bool debug;
	struct mounted_fs fs; /* what is mounted, once it is */
	struct mount_options options;
	struct unlock_options unlock;
};

static int parse(struct request *request, int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "foreground", no_argument, NULL, 'f' },
		{ "debug", no_argument, NULL, 'd' },
		{ "idle", required_argument, NULL, OPTION_IDLE },
		{ "options", required_argument, NULL, 'o' },
		{ "sloppy", no_argument, NULL, 's' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, code;

	while ((c = getopt_long(argc, argv, "fdo:sqvh", longs, NULL)) != -1) {
		code = EXIT_OK;
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&request->unlock, c, optarg);
			break;
		case 'f':
			request->foreground = true;
			break;
		case 'd':
			request->foreground = request->debug = true;
			break;
		case 'o':
			code = mount_options_take(&request->options,
			                          &request->unlock, optarg);
			break;
		case OPTION_IDLE:
			code = mount_options_idle(&request->options, "--idle",
			                          optarg);
			break;
		case 's':
			request->options.sloppy = true;
			break;
		default:
			code = option_common("mount", c, help);
		}
		if (code)
			return code;
	}
	if (request->options.writeback && request->options.direct_io)
		return usage_say("mount", "writeback collects writes in the"
		                 " kernel's cache, which direct_io and"
		                 " cache=none do without");
	if (argc - optind != 2)
		return usage_say("mount", "give the volume's directory and a"
		                 " mount point");
	request->dir = argv[optind];
	request->point = argv[optind + 1];
	return EXIT_OK;
}

/* Without writing anything. */
static void check_case(int root, const char *dir)
{
	struct stat st, upper;

	if (!fstatat(root, "frondfs.conf", &st, AT_SYMLINK_NOFOLLOW)
	    && !fstatat(root, "FRONDFS.CONF", &upper, AT_SYMLINK_NOFOLLOW)
	    && st.st_size == upper.st_size)
		warn_say("the store of %s does not tell upper from lower case: a"
		         " program there that changes the case of names makes"
		         " them unreadable", dir);
}

/* All that can be wrong before the passphrase is asked for. */
static int check(struct request *request)
{
	struct statvfs fs;
	int root, code = unlock_open_root(request->dir, &root);

	if (code)
		return code;
	if (!request->options.read_only && !fstatvfs(root, &fs)
	    && (fs.f_flag & ST_RDONLY)) {
		warn_say("%s lies on a read-only file system, so it is mounted"
		         " read-only", request->dir);
		request->options.read_only = true;
	}
	check_case(root, request->dir);
	request->volume = realpath(request->dir, NULL);
	if (!request->volume) {
		error_say("cannot find the path of %s: %s", request->dir,
		          strerror(errno));
		code = EXIT_PERMISSION;
	}
	/* Closed before another one may be asked whether it is locked. */
	close(root);
	if (!code)
		code = check_mountpoint(request->volume, request->point,
		                        request->options.nonempty,
		                        &request->mountpoint);
	if (!code)
		code = check_fuse();
	if (!code && !request->options.read_only)
		code = check_not_mounted(request->volume);
	return code;
}

static int open_volume(struct daemon *daemon, const struct request *request,
                       struct volume **volume)
{
	bool read_only = request->options.read_only;
	struct unlocked unlocked;
	int error, code;

	code = unlock_volume(request->dir, &request->unlock, &unlocked);
	if (code)
		return code;
	daemon_close_inherited(daemon);
	error = volume_open(volume, request->volume,
	                    unlocked_take_keys(&unlocked), unlocked.config.uuid,
	                    unlocked.config.name_limit, read_only,
	                    read_only ? VOLUME_USE_NONE : VOLUME_USE_WRITE);
	unlocked_free(&unlocked);
	if (error == -EBUSY)
		return complain_in_use(request->volume);
	if (error) {
		error_say("cannot open the volume %s: %s", request->dir,
		          strerror(-error));
		return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	return EXIT_OK;
}

/* For --idle: unless another mount lies on ours meanwhile. */
static int unmount_unused(void *context)
{
	const struct request *request = context;
	struct mounted_fs *top = malloc(sizeof(*top));
	int error = top ? -EBUSY : -ENOMEM;

	if (top && !mountinfo_at(request->mountpoint, top))
		error = -ENOENT;
	else if (top && top->id == request->fs.id)
		error = unmount(request->mountpoint, false);
	free(top);
	return error;
}

static int open_session(struct request *request,
                        const struct volume *volume, struct session **session)
{
	const struct session_options options = {
		.mountpoint = request->mountpoint,
		.options = request->options.pass_on,
		.debug = request->debug,
		.direct_io = request->options.direct_io,
		.export = request->options.export,
		.writeback = request->options.writeback,
		.entry_timeout = request->options.entry_timeout,
		.attr_timeout = request->options.attr_timeout,
		.idle = { request->options.idle, unmount_unused, request },
	};
	int error = session_new(session, volume, &options);

	if (!error)
		return EXIT_OK;
	if (error == -EINVAL) {
		error_say("libfuse does not take the mount options: %s",
		          session_problem());
		return EXIT_USAGE;
	}
	if (error == -EUCLEAN) {
		error_say("the volume's root directory has lost its id file"
		          " (frondfs.dir.*), without which no name in it can be"
		          " read");
		hint_say("copy that file back from a backup of the volume, or"
		         " see what `frondfs fsck %s` finds", request->dir);
	} else {
		error_say("cannot read the volume's root directory %s: %s",
		          request->dir, strerror(-error));
	}
	return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
}

static int mount_session(struct request *request, struct session *session)
{
	if (!session_mount(session)) {
		if (!mountinfo_at(request->mountpoint, &request->fs))
			request->fs.id = -1;
		return EXIT_OK;
	}
	error_say("cannot mount at %s%s%s", request->mountpoint,
	          *session_problem() ? ": " : "", session_problem());
	if (geteuid() != 0)
		hint_say("FUSE must be permitted for ordinary users here, and"
		         " allow_other needs user_allow_other in"
		         " /etc/fuse.conf");
	return EXIT_NO_FUSE;
}

/* In the daemon. */
static int serve(struct daemon *daemon, void *context)
{
	struct request *request = context;
	struct volume *volume = NULL;
	struct session *session = NULL;
	int code, error;

	code = open_volume(daemon, request, &volume);
	if (!code)
		code = open_session(request, volume, &session);
	if (!code) {
		umask(0); /* each caller has its own */
		code = mount_session(request, session);
	}
	if (!code) {
		daemon_mounted(daemon);
		error = session_run(session);
		if (error) {
			volume_log("the session ended with an error: %s",
			           strerror(-error));
			code = EXIT_OPERATION;
		}
	}
	session_free(session);
	volume_close(volume);
	return code;
}

int cmd_mount(int argc, char **argv)
{
	struct request request = {
		.options = MOUNT_OPTIONS_INIT,
		.unlock = UNLOCK_OPTIONS_INIT,
	};
	int code = parse(&request, argc, argv);

	if (!code)
		code = check(&request);
	if (!code)
		verbose_say("the cipher's engine is %s", adiantum_engine_name());
	if (!code)
		code = daemon_start(request.foreground, request.mountpoint,
		                    serve, &request);
	mount_options_free(&request.options);
	free(request.volume);
	free(request.mountpoint);
	return code;
}
