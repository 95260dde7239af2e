/* Copying what stat and the extended attributes say. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/copy_impl.h"

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_acl(const char *name)
{
	return begins(name, "system.posix_acl_");
}

static bool listed(const char *list, ssize_t size, const char *name)
{
	for (ssize_t i = 0; i < size; i += (ssize_t)strlen(list + i) + 1)
		if (!strcmp(list + i, name))
			return true;
	return false;
}

/* The owner, where it is to be kept and may be set. */
static void set_owner(struct copy *copy, const struct stat *st,
                      const struct folder *to, int fd)
{
	struct stat now;

	if (copy->options.no_owner || fstat(fd, &now) ||
	    (now.st_uid == st->st_uid && now.st_gid == st->st_gid))
		return;
	if (!fchownat(fd, "", st->st_uid, st->st_gid, AT_EMPTY_PATH))
		return;
	/* Only root gives files away; a group of ours can be kept. A store
	 * without owners says one of these, too. */
	if (errno != EPERM && errno != EINVAL && errno != ENOSYS &&
	    errno != EOPNOTSUPP)
		copy_say_target(copy, to, "its owner cannot be set", -errno);
	else if (now.st_gid != st->st_gid &&
	         fchownat(fd, "", (uid_t)-1, st->st_gid, AT_EMPTY_PATH) &&
	         errno != EPERM && errno != EINVAL)
		copy_say_target(copy, to, "its group cannot be set", -errno);
}

static void set_mode(struct copy *copy, const struct stat *st,
                     const struct folder *to, int fd)
{
	mode_t mode = st->st_mode & 07777;
	struct stat now;
	char path[32];

	if (S_ISLNK(st->st_mode) || fstat(fd, &now))
		return;
	/* Never another owner's rights. */
	if (!S_ISDIR(st->st_mode) && now.st_uid != st->st_uid)
		mode &= ~(mode_t)(S_ISUID | S_ISGID);
	if (!S_ISDIR(st->st_mode) &&
	    (copy->options.no_owner || now.st_gid != st->st_gid))
		mode &= ~(mode_t)S_ISGID;
	if (!S_ISDIR(st->st_mode) && copy->options.no_owner)
		mode &= ~(mode_t)S_ISUID;
	if ((now.st_mode & 07777) == mode)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (chmod(path, mode) && errno != EPERM && errno != EOPNOTSUPP)
		copy_say_target(copy, to, "its mode cannot be set", -errno);
}

static void set_times(struct copy *copy, const struct stat *st,
                      const struct folder *to, int fd)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	struct stat now;
	char path[32];

	/* What is right stays untouched: its change time tells backups. */
	if (!fstat(fd, &now) && copy_same_time(&st->st_mtim, &now.st_mtim))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (utimensat(AT_FDCWD, path, times, 0))
		copy_say_target(copy, to, "its times cannot be set", -errno);
}

static bool has_value(const struct folder *to, int fd, const char *name,
                      const void *value, ssize_t size)
{
	void *old;
	ssize_t n = tree_xattr_get(to->volume, fd, name, &old);
	bool same = n == size && !memcmp(old, value, (size_t)size);

	if (n >= 0)
		free(old);
	return same;
}

static void set_xattr(struct copy *copy, const struct folder *from,
                      const char *text, int from_fd, const char *name,
                      const struct folder *to, int fd)
{
	char what[300];
	void *value;
	ssize_t n = tree_xattr_get(from->volume, from_fd, name, &value);
	int error;

	if (n == -ENODATA)
		return;
	if (n < 0) {
		copy_say(copy, copy->from, from, text, n == -EBADMSG
		         ? "its attribute %s is damaged; the rest was copied"
		         : "its attribute %s cannot be read", name);
		return;
	}
	error = has_value(to, fd, name, value, n) ? 0
		: tree_xattr_set(to->volume, fd, name, value, (size_t)n);
	free(value);
	if (error == -EOPNOTSUPP || error == -EPERM || error == -EACCES) {
		/* Labels that a security module sets itself are no loss. */
		copy->lost_attributes += !begins(name, "security.");
	} else if (error) {
		snprintf(what, sizeof(what), "its attribute %s cannot be set",
		         name);
		copy_say_target(copy, to, what, error);
	}
}

static void set_xattrs(struct copy *copy, const struct folder *from,
                       const char *text, int from_fd, const struct stat *st,
                       const struct folder *to, int fd)
{
	char *list, *old = NULL;
	size_t damaged, other;
	ssize_t n = tree_xattr_list(from->volume, from_fd, &list, &damaged), m;

	if (n < 0) {
		copy_say(copy, copy->from, from, text,
		         "its attributes cannot be read: %s", strerror((int)-n));
		free(list);
		return;
	}
	if (damaged)
		copy_say(copy, copy->from, from, text, "%zu of its attributes "
		         "are damaged; the rest was copied", damaged);
	m = tree_xattr_list(to->volume, fd, &old, &other);
	/* What it has got from its directory, and what the source had once.
	 * (A directory that was there before keeps attributes of its own.) */
	for (ssize_t i = 0; i < m; i += (ssize_t)strlen(old + i) + 1)
		if (!listed(list, n, old + i) &&
		    (is_acl(old + i) || (begins(old + i, "user.") &&
		                         !S_ISDIR(st->st_mode))))
			tree_xattr_remove(to->volume, fd, old + i);
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(list + i) + 1)
		set_xattr(copy, from, text, from_fd, list + i, to, fd);
	free(list);
	free(old);
}

void copy_attributes(struct copy *copy, const struct folder *from,
                     const char *text, int from_fd, const struct stat *st,
                     const struct folder *to, int to_fd)
{
	/* In this order: a new owner clears set-id bits and capabilities, an
	 * ACL changes the mode. */
	set_owner(copy, st, to, to_fd);
	set_xattrs(copy, from, text, from_fd, st, to, to_fd);
	set_mode(copy, st, to, to_fd);
	set_times(copy, st, to, to_fd);
}
