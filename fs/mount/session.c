/*
 * The daemon: requests of the kernel, answered from a volume.
 *
 * What is promised:
 *
 * - A write that returned is in the ciphertext file: it outlives this process,
 *   and with fsync, fdatasync, O_SYNC and fsync of directories the machine.
 * - Nothing that does not authenticate is ever delivered. Damage is EIO for
 *   the damaged sector alone, never a shorter file.
 * - Every reply tells the plaintext's size; all names of a file are one inode,
 *   whose number is the ciphertext's and stays the same over mounts.
 * - Open files keep working when their name is gone.
 * - Names are resolved by *at calls from the descriptors of directories, and
 *   no symbolic link of the ciphertext is followed.
 * - Memory for each inode that the kernel knows stays below 300 bytes, and no
 *   descriptor is kept for it.
 * - Access is checked by the kernel (default_permissions); new entries belong
 *   to the caller where the daemon may give them away.
 *
 * What is not:
 *
 * - Changes of the ciphertext from outside are seen after the timeouts of
 *   names and attributes (1 second), also in files that are open.
 * - Locks (flock, fcntl) hold between the users of one mount.
 * - NFS export, but with -o export (fs/mount/export.h).
 */
#include "fs/mount/session.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fs/mount/export.h"
#include "fs/mount/idle.h"
#include "fs/mount/mount.h"
#include "fs/mount/op.h"
#include "fs/mount/opener.h"
#include "fs/mount/request.h"
#include "fs/volume/scratch.h"

enum {
	REQUEST_MAX = 1024 * 1024, /* bytes of a read or write, and read-ahead */
	BACKGROUND_MAX = 64,       /* requests that the kernel has under way */
	THREADS_MIN = 8,
	THREADS_IDLE = 8,          /* that are kept: two megabytes each */
	LARGE_BUFFER = 256 * 1024,
	REQUEST_HEAD = 256,        /* more than what leads a read request */
};

struct session {
	struct mount *mount;
	struct fuse_session *fuse;
	char *mountpoint;
	struct idle_options idle;
	bool mounted;
	bool signals;
};

static char problem[512];
static bool running; /* set before there are threads */

const char *session_problem(void)
{
	return problem;
}

/* What libfuse has to say: kept for an error message while mounting, for the
 * log later, and on stderr with -d. */
static void take_log(enum fuse_log_level level, const char *format,
                     va_list args)
{
	char line[512];
	size_t length;

	if (level == FUSE_LOG_DEBUG) {
		vfprintf(stderr, format, args);
		return;
	}
	vsnprintf(line, sizeof(line), format, args);
	length = strlen(line);
	while (length && line[length - 1] == '\n')
		line[--length] = 0;
	if (!length)
		return;
	if (running)
		volume_log("%s", line);
	else
		memcpy(problem, line, length + 1);
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
	const unsigned wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO
		| FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_AUTO_INVAL_DATA
		| FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_DONT_MASK
		| FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_POSIX_ACL
		| FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;

	/* All others off. Of those, HANDLE_KILLPRIV would leave all clearing of
	 * set-user-id bits to us (its second version, see fs/mount/request.h,
	 * says when). */
	conn->want = conn->capable & wanted;
	/* With it the kernel asks about nodes that it has forgotten. */
	if (((struct mount *)data)->export)
		conn->want |= conn->capable & FUSE_CAP_EXPORT_SUPPORT;
	/* Not by default: with it, what write() returned is not yet in the
	 * ciphertext. */
	if (((struct mount *)data)->writeback)
		conn->want |= conn->capable & FUSE_CAP_WRITEBACK_CACHE;
	conn->max_write = REQUEST_MAX;
	conn->max_readahead = REQUEST_MAX;
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_MAX * 3 / 4;
	conn->time_gran = 1;
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.create = op_create,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
	.lseek = op_lseek,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
};

/*
 * O_TMPFILE. libfuse does not know this request and would answer ENOSYS. It is
 * laid out as that of create, with the name "/", which no file has: so it is
 * renamed on its way, and op_create makes a file without a name of it.
 */
static ssize_t receive(int fd, void *buf, size_t size, void *mount)
{
	ssize_t n = read(fd, buf, size);
	struct fuse_in_header *header = buf;

	(void)mount;
	if (n < (ssize_t)sizeof(*header))
		return n;
	idle_note(header);
	request_received(buf, (size_t)n);
	if (header->opcode == FUSE_TMPFILE)
		header->opcode = FUSE_CREATE;
	/* The room for what others write serves for what others read. */
	if (header->opcode == FUSE_READ)
		scratch_lend(SCRATCH_REPLY, (uint8_t *)buf + REQUEST_HEAD,
		             size - REQUEST_HEAD);
	return n;
}

static ssize_t answer(int fd, struct iovec *parts, int count, void *mount)
{
	(void)mount;
	request_answered(parts, count);
	return writev(fd, parts, count);
}

static const struct fuse_custom_io passing = {
	.read = receive, .writev = answer
};

/* "fsname=" with the volume's path: commas and backslashes are escaped. */
static int add_source(char **list, const char *path)
{
	size_t room = strlen("fsname=") + strlen(path) + 1;
	char *text = malloc(room);
	int error;

	if (!text)
		return -ENOMEM;
	snprintf(text, room, "fsname=%s", path);
	error = fuse_opt_add_opt_escaped(list, text) ? -ENOMEM : 0;
	free(text);
	return error;
}

static int make_arguments(const struct session *session,
                          const struct session_options *options,
                          struct fuse_args *args)
{
	const struct volume *volume = session->mount->volume;
	char *list = NULL;
	int error = add_source(&list, volume->path);

	if (!error && (fuse_opt_add_opt(&list, "subtype=frondfs")
	               || fuse_opt_add_opt(&list, "default_permissions")
	               || (volume->read_only && fuse_opt_add_opt(&list, "ro"))
	               || (options->options && *options->options
	                   && fuse_opt_add_opt(&list, options->options))
	               || fuse_opt_add_arg(args, "frondfs")
	               || (options->debug && fuse_opt_add_arg(args, "-d"))
	               || fuse_opt_add_arg(args, "-o")
	               || fuse_opt_add_arg(args, list)))
		error = -ENOMEM;
	free(list);
	return error;
}

int session_new(struct session **out, const struct volume *volume,
                const struct session_options *options)
{
	struct session *session = calloc(1, sizeof(*session));
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int error;

	*out = NULL;
	if (!session)
		return -ENOMEM;
	problem[0] = 0;
	fuse_set_log_func(take_log);
	session->mountpoint = strdup(options->mountpoint);
	error = session->mountpoint ? mount_new(&session->mount, volume)
	                            : -ENOMEM;
	if (!error) {
		session->idle = options->idle;
		session->mount->debug = options->debug;
		session->mount->direct_io = options->direct_io;
		session->mount->export = options->export;
		export_begin(session->mount);
		session->mount->writeback = options->writeback;
		session->mount->entry_timeout = options->entry_timeout;
		session->mount->attr_timeout = options->attr_timeout;
		error = make_arguments(session, options, &args);
	}
	if (!error) {
		session->fuse = fuse_session_new(&args, &operations,
		                                 sizeof(operations),
		                                 session->mount);
		session->mount->fuse = session->fuse;
		if (!session->fuse)
			error = -EINVAL;
	}
	fuse_opt_free_args(&args);
	if (error)
		session_free(session);
	else
		*out = session;
	return error;
}

/* A write that would make a file larger than `ulimit -f` allows shall be an
 * error (EFBIG), and not the daemon's end; and the limit that counts is that of
 * the program that writes, which the kernel sees to. */
static void lift_file_size_limit(void)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	if (getrlimit(RLIMIT_FSIZE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &limit);
}

int session_mount(struct session *session)
{
	lift_file_size_limit();
	if (fuse_set_signal_handlers(session->fuse))
		return -EIO;
	session->signals = true;
	if (fuse_session_mount(session->fuse, session->mountpoint))
		return -EIO;
	session->mounted = true;
	return fuse_session_custom_io(session->fuse, &passing,
	                              fuse_session_fd(session->fuse))
		? -EIO : 0;
}

static unsigned thread_count(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = cores > 0 ? 2 * (unsigned)cores : 0;

	return count < THREADS_MIN ? THREADS_MIN : count;
}

/* Buffers as large as requests shall go back to the system when their thread
 * ends, which the C library by itself unlearns when it has freed one. */
static void tune_allocator(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, LARGE_BUFFER);
#endif
}

int session_run(struct session *session)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int result;

	if (!config)
		return -ENOMEM;
	running = true;
	opener_enable();
	tune_allocator();
	fuse_loop_cfg_set_max_threads(config, thread_count());
	fuse_loop_cfg_set_idle_threads(config, THREADS_IDLE);
	fuse_loop_cfg_set_clone_fd(config, 0);
	result = idle_start(&session->idle);
	if (!result)
		result = fuse_session_loop_mt(session->fuse, config);
	fuse_loop_cfg_destroy(config);
	if (result > 0) { /* a signal */
		volume_log("ended by %s: files that are open are finished",
		           strsignal(result));
		result = 0;
	}
	return result;
}

void session_free(struct session *session)
{
	sigset_t ends;

	if (!session)
		return;
	/* What is asked for is under way; finishing files shall not be cut
	 * short by being asked again. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	if (session->mounted)
		fuse_session_unmount(session->fuse);
	idle_stop();
	if (session->signals)
		fuse_remove_signal_handlers(session->fuse);
	if (session->fuse)
		fuse_session_destroy(session->fuse);
	if (session->mount)
		op_close_dirs(session->mount);
	mount_free(session->mount);
	opener_disable();
	free(session->mountpoint);
	free(session);
}
