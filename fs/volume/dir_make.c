/* Making entries: files, nodes, directories. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

int chmod_path_fd(int fd, mode_t mode)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode & 07777) ? -errno : 0;
}

/* The mode that the store is asked for. Where the directory has a default
 * ACL, that takes the umask's place, and the store applies it. */
static mode_t masked(const struct dir *dir, mode_t mode,
                     const struct dir_caller *caller)
{
	if (!caller || caller->umask == 0 ||
	    fgetxattr(dir->fd, "system.posix_acl_default", NULL, 0) > 0)
		return mode;
	return mode & ~(caller->umask & 0777);
}

int give_to(struct dir *dir, int at, const char *name,
            const struct dir_caller *caller, struct stat *st)
{
	const mode_t special = S_ISUID | S_ISGID;
	struct stat parent;
	gid_t gid;
	int fd, error;

	if (!caller || geteuid() != 0)
		return 0;
	if (fstat(dir->fd, &parent))
		return -errno;
	gid = parent.st_mode & S_ISGID ? st->st_gid : caller->gid;
	if (st->st_uid == caller->uid && st->st_gid == gid)
		return 0;
	if (fchownat(at, name, caller->uid, gid,
	             AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)) {
		/* A store without owners. */
		return errno == EPERM || errno == EOPNOTSUPP ? 0 : -errno;
	}
	st->st_uid = caller->uid;
	st->st_gid = gid;
	/* The store has cleared these; a directory keeps them. */
	if (S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode) ||
	    !(st->st_mode & special))
		return 0;
	if (!*name)
		return fchmod(at, st->st_mode & 07777) ? -errno : 0;
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = chmod_path_fd(fd, st->st_mode);
	close(fd);
	return error;
}

int rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;

	if (!io->renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return io->renameat2(from_dir, from, to_dir, to, 0) ? -errno : 0;
}

int entry_begin(struct dir *dir, const char *plain, struct new_entry *new)
{
	int error;

	if (dir->volume->read_only)
		return -EROFS;
	error = state_get(dir, &new->state);
	if (error)
		return error;
	error = state_new_name(dir, new->state, plain, &new->name);
	if (!error)
		error = long_name_make(dir, &new->name, &new->made);
	if (error)
		state_put(new->state);
	return error;
}

int entry_end(struct dir *dir, struct new_entry *new, int error,
              struct dir_entry *entry)
{
	/* Where the entry exists already its .name file had been lost. */
	if (error && new->made && error != -EEXIST)
		long_name_release(dir, new->state, new->name.text);
	if (!error) {
		entry_set(entry, new->name.text, new->name.is_long, false);
		state_made(dir, new->state, new->name.text);
	}
	state_put(new->state);
	return error;
}

int dir_create(struct dir *dir, const char *plain, mode_t mode,
               const struct dir_caller *caller, struct dir_entry *entry,
               int *fd)
{
	struct new_entry new;
	struct stat st;
	int error = entry_begin(dir, plain, &new);

	if (error)
		return error;
	*fd = io->openat(dir->fd, new.name.text,
	                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                 masked(dir, mode & 07777, caller));
	if (*fd < 0)
		return entry_end(dir, &new, -errno, entry);
	if (caller && geteuid() == 0) {
		error = fstat(*fd, &st) ? -errno
		                        : give_to(dir, *fd, "", caller, &st);
		if (error) {
			close(*fd);
			io->unlinkat(dir->fd, new.name.text, 0);
		}
	}
	return entry_end(dir, &new, error, entry);
}

int dir_create_unnamed(struct dir *dir, mode_t mode, bool never_named,
                       const struct dir_caller *caller, int *fd)
{
	int flags = O_RDWR | O_TMPFILE | O_CLOEXEC | (never_named ? O_EXCL : 0);
	struct stat st;
	int error;

	if (dir->volume->read_only)
		return -EROFS;
	*fd = io->openat(dir->fd, ".", flags,
	                 masked(dir, mode & 07777, caller));
	if (*fd < 0) /* EISDIR: the store has not heard of it */
		return errno == EISDIR ? -EOPNOTSUPP : -errno;
	error = fstat(*fd, &st) ? -errno : give_to(dir, *fd, "", caller, &st);
	if (error)
		close(*fd);
	return error;
}

int dir_mknod(struct dir *dir, const char *plain, mode_t mode, dev_t device,
              const struct dir_caller *caller, struct dir_entry *entry)
{
	struct new_entry new;
	struct stat st;
	int error = entry_begin(dir, plain, &new);

	if (error)
		return error;
	if (io->mknodat(dir->fd, new.name.text,
	                (mode & S_IFMT) | masked(dir, mode & 07777, caller),
	                device))
		return entry_end(dir, &new, -errno, entry);
	if (caller && geteuid() == 0) {
		if (fstatat(dir->fd, new.name.text, &st, AT_SYMLINK_NOFOLLOW))
			error = -errno;
		else
			error = give_to(dir, dir->fd, new.name.text, caller,
			                &st);
		if (error)
			io->unlinkat(dir->fd, new.name.text, 0);
	}
	return entry_end(dir, &new, error, entry);
}

/* Fill the new directory `temp`: owner, id file, mode. */
static int prepare(struct dir *dir, const char *temp, mode_t want,
                   const struct dir_caller *caller, const uint8_t *id)
{
	int path_fd = openat(dir->fd, temp,
	                     O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = -1, error = path_fd < 0 ? -errno : 0;
	mode_t mode = 0, final;
	struct stat st;

	if (!error && fstat(path_fd, &st))
		error = -errno;
	if (!error)
		error = give_to(dir, path_fd, "", caller, &st);
	if (!error) {
		mode = st.st_mode & 07777;
		/* A default ACL may have taken the owner's rights. */
		if ((mode & 0700) != 0700)
			error = chmod_path_fd(path_fd, mode | 0700);
	}
	if (!error) {
		fd = openat(dir->fd, temp,
		            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		error = fd < 0 ? -errno
		               : dir_make_id(dir->volume, fd, id);
	}
	/* The rights were widened for the owner alone. Where they need no
	 * change there is no chmod: it would clear the setgid bit for a user
	 * outside the group. */
	final = mode & ~(0700 & ~want);
	if (!error && (mode | 0700) != final && fchmod(fd, final))
		error = -errno;
	if (!error && io->fsync(fd))
		error = -errno;
	if (fd >= 0)
		close(fd);
	if (path_fd >= 0)
		close(path_fd);
	return error;
}

int dir_mkdir(struct dir *dir, const char *plain, mode_t mode,
              const struct dir_caller *caller, struct dir_entry *entry)
{
	mode_t want = masked(dir, mode & 01777, caller);
	char temp[TEMP_TEXT];
	struct new_entry new;
	struct stat st;
	int error = entry_begin(dir, plain, &new);

	if (error)
		return error;
	if (!fstatat(dir->fd, new.name.text, &st, AT_SYMLINK_NOFOLLOW))
		return entry_end(dir, &new, -EEXIST, entry);
	error = temp_name(temp);
	if (!error && io->mkdirat(dir->fd, temp, want | 0700))
		error = -errno;
	if (error)
		return entry_end(dir, &new, error, entry);
	error = prepare(dir, temp, want, caller,
	                new.state->ids[new.state->main]);
	if (!error)
		error = rename_new(dir->fd, temp, dir->fd, new.name.text);
	if (error)
		remove_temp(dir->fd, temp);
	return entry_end(dir, &new, error, entry);
}
