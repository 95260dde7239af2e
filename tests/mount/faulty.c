#include "mount/faulty.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/support.h"

struct faulty *faulty;

static char where[300];
static pid_t server;
static int root; /* in the server */

/* A negative errno if the request is one that fails. */
static int strike(unsigned kind)
{
	int error = faulty->error;

	if (faulty->count)
		atomic_fetch_add(&faulty->struck, 1);
	if (!(faulty->kinds & kind))
		return 0;
	if (faulty->hang) {
		atomic_fetch_add(&faulty->struck, 1);
		while (faulty->hang)
			pause_for(5);
		return 0;
	}
	if (!error || atomic_fetch_sub(&faulty->skip, 1) > 0)
		return 0;
	if (faulty->times >= 0 && atomic_fetch_sub(&faulty->times, 1) <= 0) {
		faulty->times = 0;
		return 0;
	}
	atomic_fetch_add(&faulty->struck, 1);
	return -error;
}

/* The entry of a folder that is `name` but for its case, or `name`. */
static void find_ignoring_case(char *folder, const char *name, char *found)
{
	struct stat st;
	struct dirent *d;
	char path[5000];
	DIR *dir;
	int fd;

	strcpy(found, name);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW))
		return;
	fd = openat(root, folder, O_RDONLY | O_DIRECTORY);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir)))
		if (!strcasecmp(d->d_name, name))
			strcpy(found, d->d_name);
	if (dir)
		closedir(dir);
}

static const char *below(const char *path)
{
	static __thread char paths[2][5000];
	static __thread int turn;
	char rest[5000], name[300], *part, *save;
	char *to;

	if (!path[1])
		return ".";
	if (!faulty->simple)
		return path + 1;
	to = paths[turn = !turn];
	strcpy(to, ".");
	snprintf(rest, sizeof(rest), "%s", path + 1);
	for (part = strtok_r(rest, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		find_ignoring_case(to, part, name);
		snprintf(to + strlen(to), 5000 - strlen(to), "/%s", name);
	}
	return to;
}

/* What a simple store cannot do. */
#define NOT_IF_SIMPLE(error)                                           \
	do {                                                           \
		if (faulty->simple)                                    \
			return -(error);                               \
	} while (0)

static void simplify(struct stat *st)
{
	st->st_mode = (st->st_mode & S_IFMT) | 0755;
	st->st_uid = geteuid();
	st->st_gid = getegid();
	st->st_mtim.tv_sec &= ~1;
	st->st_mtim.tv_nsec = 0;
	st->st_ctim = st->st_mtim;
}

/* "/proc/self/fd/ROOT/PATH", for calls that take no directory. */
static const char *long_path(const char *path, char buf[5000])
{
	snprintf(buf, 5000, "/proc/self/fd/%d/%s", root, below(path));
	return buf;
}

#define DO(kind, call)                                                 \
	do {                                                           \
		int error_ = strike(kind);                             \
		return error_ ? error_ : (call) < 0 ? -errno : 0;      \
	} while (0)

static int do_getattr(const char *path, struct stat *st,
                      struct fuse_file_info *fi)
{
	int error = strike(FAULTY_LOOK);

	if (!error && (fi ? fstat((int)fi->fh, st)
	               : fstatat(root, below(path), st, AT_SYMLINK_NOFOLLOW)))
		error = -errno;
	if (!error && faulty->simple)
		simplify(st);
	return error;
}

static int do_readlink(const char *path, char *buf, size_t size)
{
	int error = strike(FAULTY_LOOK);
	ssize_t n = error ? error : readlinkat(root, below(path), buf, size - 1);

	if (!error && n >= 0)
		buf[n] = 0;
	return error ? error : n < 0 ? -errno : 0;
}

static int do_mknod(const char *path, mode_t mode, dev_t device)
{
	if (!S_ISREG(mode))
		NOT_IF_SIMPLE(EPERM);
	DO(FAULTY_MAKE, mknodat(root, below(path), mode, device));
}

static int do_mkdir(const char *path, mode_t mode)
{
	DO(FAULTY_MAKE, mkdirat(root, below(path), mode));
}

static int do_symlink(const char *target, const char *path)
{
	NOT_IF_SIMPLE(EPERM);
	DO(FAULTY_MAKE, symlinkat(target, root, below(path)));
}

static int do_link(const char *from, const char *to)
{
	NOT_IF_SIMPLE(EPERM);
	DO(FAULTY_MAKE, linkat(root, below(from), root, below(to), 0));
}

static int do_unlink(const char *path)
{
	DO(FAULTY_REMOVE, unlinkat(root, below(path), 0));
}

static int do_rmdir(const char *path)
{
	DO(FAULTY_REMOVE, unlinkat(root, below(path), AT_REMOVEDIR));
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
	if (flags & ~(unsigned)RENAME_NOREPLACE)
		NOT_IF_SIMPLE(EINVAL);
	/* So libfuse removes a file that somebody still has open. */
	DO(strstr(to, "/.fuse_hidden") ? FAULTY_REMOVE : FAULTY_RENAME,
	   renameat2(root, below(from), root, below(to), flags));
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	NOT_IF_SIMPLE(0);
	DO(FAULTY_CHANGE, fchmodat(root, below(path), mode, 0));
}

static int do_chown(const char *path, uid_t uid, gid_t gid,
                    struct fuse_file_info *fi)
{
	(void)fi;
	if (uid != (uid_t)-1 && uid != geteuid())
		NOT_IF_SIMPLE(EPERM);
	NOT_IF_SIMPLE(0);
	DO(FAULTY_CHANGE,
	   fchownat(root, below(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int do_utimens(const char *path, const struct timespec times[2],
                      struct fuse_file_info *fi)
{
	(void)fi;
	DO(FAULTY_CHANGE,
	   utimensat(root, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int do_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	char buf[5000];

	DO(FAULTY_LENGTH, fi ? ftruncate((int)fi->fh, size)
	                     : truncate(long_path(path, buf), size));
}

static int open_at(unsigned kind, const char *path, int flags, mode_t mode,
                   struct fuse_file_info *fi)
{
	int error = strike(kind);
	int fd = error ? error : openat(root, below(path), flags, mode);

	if (error || fd < 0)
		return error ? error : -errno;
	fi->fh = (uint64_t)fd;
	fi->direct_io = 1; /* every read is asked of us */
	return 0;
}

static int do_open(const char *path, struct fuse_file_info *fi)
{
	return open_at(FAULTY_LOOK, path, fi->flags & ~O_CREAT, 0, fi);
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return open_at(FAULTY_MAKE, path, fi->flags | O_CREAT, mode, fi);
}

static size_t cut(size_t size)
{
	size_t piece = faulty->piece;

	return piece && size > piece ? piece : size;
}

static int do_read(const char *path, char *buf, size_t size, off_t at,
                   struct fuse_file_info *fi)
{
	int error = strike(FAULTY_READ);
	ssize_t n = error ? error : pread((int)fi->fh, buf, cut(size), at);

	(void)path;
	return error ? error : n < 0 ? -errno : (int)n;
}

static int do_write(const char *path, const char *buf, size_t size, off_t at,
                    struct fuse_file_info *fi)
{
	int error = strike(FAULTY_WRITE);
	ssize_t n = error ? error : pwrite((int)fi->fh, buf, cut(size), at);

	(void)path;
	return error ? error : n < 0 ? -errno : (int)n;
}

static int do_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	DO(FAULTY_LOOK, fstatvfs(root, st));
}

static int do_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int do_fsync(const char *path, int data_only, struct fuse_file_info *fi)
{
	(void)path;
	(void)fi;
	(void)data_only;
	return strike(FAULTY_SYNC);
}

static int do_setxattr(const char *path, const char *name, const char *value,
                       size_t size, int flags)
{
	char buf[5000];

	NOT_IF_SIMPLE(EOPNOTSUPP);
	DO(FAULTY_CHANGE,
	   lsetxattr(long_path(path, buf), name, value, size, flags));
}

static int do_getxattr(const char *path, const char *name, char *value,
                       size_t size)
{
	int error = strike(FAULTY_LOOK);
	char buf[5000];
	ssize_t n;

	NOT_IF_SIMPLE(EOPNOTSUPP);
	n = error ? error : lgetxattr(long_path(path, buf), name, value, size);

	return error ? error : n < 0 ? -errno : (int)n;
}

static int do_listxattr(const char *path, char *list, size_t size)
{
	int error = strike(FAULTY_LOOK);
	char buf[5000];
	ssize_t n;

	NOT_IF_SIMPLE(EOPNOTSUPP);
	n = error ? error : llistxattr(long_path(path, buf), list, size);

	return error ? error : n < 0 ? -errno : (int)n;
}

static int do_removexattr(const char *path, const char *name)
{
	char buf[5000];

	NOT_IF_SIMPLE(EOPNOTSUPP);
	DO(FAULTY_CHANGE, lremovexattr(long_path(path, buf), name));
}

static int do_readdir(const char *path, void *buf, fuse_fill_dir_t fill,
                      off_t at, struct fuse_file_info *fi,
                      enum fuse_readdir_flags flags)
{
	int error = strike(FAULTY_LOOK);
	int fd = error ? -1 : openat(root, below(path), O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	(void)at;
	(void)fi;
	(void)flags;
	if (!dir)
		return error ? error : -errno;
	while ((d = readdir(dir))) {
		struct stat st = {
			.st_ino = d->d_ino, .st_mode = DTTOIF(d->d_type)
		};

		if (fill(buf, d->d_name, &st, 0, 0))
			break;
	}
	closedir(dir);
	return 0;
}

static int do_fallocate(const char *path, int mode, off_t at, off_t size,
                        struct fuse_file_info *fi)
{
	(void)path;
	NOT_IF_SIMPLE(EOPNOTSUPP);
	DO(FAULTY_LENGTH, fallocate((int)fi->fh, mode, at, size));
}

static off_t do_lseek(const char *path, off_t at, int whence,
                      struct fuse_file_info *fi)
{
	off_t result = lseek((int)fi->fh, at, whence);

	(void)path;
	return result < 0 ? -errno : result;
}

static void *do_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	(void)conn;
	config->use_ino = !faulty->simple;
	config->entry_timeout = config->attr_timeout = 0;
	config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = do_init, .getattr = do_getattr, .readlink = do_readlink,
	.mknod = do_mknod, .mkdir = do_mkdir, .unlink = do_unlink,
	.rmdir = do_rmdir, .symlink = do_symlink, .rename = do_rename,
	.link = do_link, .chmod = do_chmod, .chown = do_chown,
	.truncate = do_truncate, .open = do_open, .create = do_create,
	.read = do_read, .write = do_write, .statfs = do_statfs,
	.release = do_release, .fsync = do_fsync, .fsyncdir = do_fsync,
	.setxattr = do_setxattr, .getxattr = do_getxattr,
	.listxattr = do_listxattr, .removexattr = do_removexattr,
	.readdir = do_readdir, .utimens = do_utimens,
	.fallocate = do_fallocate, .lseek = do_lseek,
};

static int serve(const char *source, const char *point)
{
	char *argv[] = { "faulty", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse *fuse;
	int code;

	/* What the test has open would stay so. */
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	umask(0);
	root = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return 1;
	fuse = fuse_new(&args, &operations, sizeof(operations), NULL);
	if (!fuse || fuse_mount(fuse, point))
		return 1;
	code = fuse_loop_mt(fuse, config);
	fuse_unmount(fuse);
	fuse_destroy(fuse);
	fuse_loop_cfg_destroy(config);
	return code ? 1 : 0;
}

static int mount_store(const char *source, const char *point, bool simple)
{
	struct statfs fs;

	if (!faulty) {
		faulty = mmap(NULL, sizeof(*faulty), PROT_READ | PROT_WRITE,
		              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (faulty == MAP_FAILED)
			return -1;
	}
	faulty_work();
	faulty->simple = simple;
	if (mkdir(point, 0755) && errno != EEXIST)
		return -1;
	snprintf(where, sizeof(where), "%s", point);
	fflush(NULL);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(serve(source, point));
	}
	for (int i = 0; i < 1000 && server > 0; i++) {
		if (!statfs(point, &fs) && fs.f_type == 0x65735546)
			/* it counts for the kernel only when it answers */
			return access(point, F_OK);
		if (waitpid(server, NULL, WNOHANG) == server)
			break;
		pause_for(10);
	}
	return -1;
}

int faulty_mount(const char *source, const char *point)
{
	return mount_store(source, point, false);
}

int faulty_mount_simple(const char *source, const char *point)
{
	return mount_store(source, point, true);
}

static void end(void)
{
	umount2(where, MNT_DETACH);
	if (server > 0)
		waitpid(server, NULL, 0);
	server = 0;
}

void faulty_umount(void)
{
	if (faulty)
		faulty_work();
	if (server > 0) {
		umount2(where, 0);
		kill(server, SIGTERM);
		kill(server, SIGKILL);
	}
	end();
}

void faulty_kill(void)
{
	faulty_work();
	if (server > 0)
		kill(server, SIGKILL);
	end();
}

void faulty_fail(unsigned kinds, int error, int skip, int times)
{
	faulty->hang = false;
	faulty->kinds = 0;
	faulty->struck = 0;
	faulty->error = error;
	faulty->skip = skip;
	faulty->times = times;
	faulty->kinds = kinds;
}

void faulty_work(void)
{
	faulty->hang = false;
	faulty->kinds = 0;
	faulty->error = 0;
	faulty->piece = 0;
}
