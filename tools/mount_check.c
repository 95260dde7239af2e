#include "tools/mount_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/mountinfo.h"

enum { STEP_MS = 20, NOTE_MS = 1000, ENDING_MS = 5000 };

/* Whether there is a mount whose daemon is gone. Attributes may still be in
 * the kernel's cache; only statfs always asks the daemon. */
static bool is_dead(const char *point)
{
	struct statvfs fs;

	return statvfs(point, &fs)
	       && (errno == ENOTCONN || errno == ECONNABORTED);
}

static int clear_dead(const char *point)
{
	char *path = absolute_path(point);
	struct mounted_fs fs;
	int error;

	if (!path || !mountinfo_at(path, &fs) || strcmp(fs.type, FROND_FSTYPE)) {
		error_say("%s is a mount whose daemon is gone, and not one of"
		          " frondfs", point);
		hint_say("take it away first: fusermount3 -u -z %s", point);
		free(path);
		return EXIT_MOUNTPOINT;
	}
	error = unmount(path, true);
	if (error) {
		error_say("%s is a frondfs mount whose daemon is gone, and it"
		          " cannot be taken away: %s", point, strerror(-error));
		hint_say("try: fusermount3 -u -z %s", point);
	} else {
		note_say("took away the mount of a daemon that is gone at %s",
		         path);
	}
	free(path);
	return error ? EXIT_MOUNTPOINT : EXIT_OK;
}

/* Whether `path` is `dir` or below it; both absolute. */
static bool is_below(const char *path, const char *dir)
{
	size_t length = strlen(dir);

	if (!strcmp(dir, "/"))
		return true;
	return !strncmp(path, dir, length)
	       && (path[length] == '/' || !path[length]);
}

static int check_empty(const char *point)
{
	DIR *dir = opendir(point);
	struct dirent *entry;

	if (!dir) {
		error_say("cannot list the mount point %s: %s", point,
		          strerror(errno));
		return EXIT_MOUNTPOINT;
	}
	do {
		entry = readdir(dir);
	} while (entry && (!strcmp(entry->d_name, ".")
	                   || !strcmp(entry->d_name, "..")));
	if (entry) {
		error_say("the mount point %s is not empty", point);
		hint_say("what it holds would be hidden while the volume is"
		         " mounted; if that is wanted: -o nonempty");
	}
	closedir(dir);
	return entry ? EXIT_NOT_EMPTY : EXIT_OK;
}

static int check_place(const char *volume, const char *path, bool nonempty)
{
	struct mounted_fs fs;

	if (!strcmp(path, volume)) {
		error_say("the mount point is the volume itself");
		hint_say("make an empty directory elsewhere to mount it at");
		return EXIT_MOUNTPOINT;
	}
	if (is_below(path, volume)) {
		error_say("the mount point %s lies inside the volume", path);
		hint_say("make an empty directory elsewhere to mount it at");
		return EXIT_MOUNTPOINT;
	}
	if (is_below(volume, path)) {
		error_say("the volume lies inside the mount point %s, which"
		          " would hide it", path);
		hint_say("make an empty directory elsewhere to mount it at");
		return EXIT_MOUNTPOINT;
	}
	if (mountinfo_at(path, &fs) && !strcmp(fs.type, FROND_FSTYPE)) {
		error_say("%s is mounted at %s already", fs.source, path);
		hint_say(strcmp(fs.source, volume)
			? "take another mount point, or: frondfs umount %s"
			: "to mount it with other options, first: frondfs"
			  " umount %s", path);
		return EXIT_IN_USE;
	}
	if (geteuid() != 0 && access(path, W_OK)) {
		error_say("no permission to mount at %s: it must be a"
		          " directory that you can write to", path);
		return EXIT_MOUNTPOINT;
	}
	return nonempty ? EXIT_OK : check_empty(path);
}

int check_mountpoint(const char *volume, const char *point, bool nonempty,
                     char **out)
{
	struct stat st;
	int code;

	*out = NULL;
	/* Several may lie on one another. */
	for (int i = 0; i < 16 && is_dead(point); i++) {
		code = clear_dead(point);
		if (code)
			return code;
	}
	if (stat(point, &st)) {
		if (errno == ENOENT) {
			error_say("there is no mount point %s", point);
			hint_say("make the directory first: mkdir -p %s",
			         point);
		} else {
			error_say("the mount point %s cannot be used: %s",
			          point, strerror(errno));
		}
		return EXIT_MOUNTPOINT;
	}
	if (!S_ISDIR(st.st_mode)) {
		error_say("the mount point %s is not a directory", point);
		return EXIT_MOUNTPOINT;
	}
	*out = realpath(point, NULL);
	if (!*out) {
		error_say("the mount point %s cannot be used: %s", point,
		          strerror(errno));
		return EXIT_MOUNTPOINT;
	}
	code = check_place(volume, *out, nonempty);
	if (code) {
		free(*out);
		*out = NULL;
	}
	return code;
}

static bool have_fusermount(void)
{
	const char *path = getenv("PATH");
	char name[PATH_MAX];

	if (!access("/usr/bin/fusermount3", X_OK))
		return true;
	while (path && *path) {
		size_t length = strcspn(path, ":");

		if (length + sizeof("/fusermount3") <= sizeof(name)) {
			memcpy(name, path, length);
			memcpy(name + length, "/fusermount3",
			       sizeof("/fusermount3"));
			if (!access(name, X_OK))
				return true;
		}
		path += length;
		path += *path == ':';
	}
	return false;
}

int check_fuse(void)
{
	int fd, error;

	/* fusermount3 opens the device for an ordinary user. */
	if (geteuid() != 0) {
		if (access("/dev/fuse", F_OK)) {
			error_say("there is no /dev/fuse: the kernel module"
			          " fuse is not loaded");
			hint_say("as root: modprobe fuse");
			return EXIT_NO_FUSE;
		}
		if (!have_fusermount()) {
			error_say("fusermount3 is missing, which mounts for"
			          " an ordinary user");
			hint_say("install the package fuse3");
			return EXIT_NO_FUSE;
		}
		return EXIT_OK;
	}
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		error = errno;
		error_say("FUSE cannot be used: /dev/fuse: %s", strerror(error));
		hint_say(error == EPERM || error == EACCES
			? "a container must be given the device /dev/fuse"
			: "load the kernel module: modprobe fuse");
		return EXIT_NO_FUSE;
	}
	close(fd);
	return EXIT_OK;
}

int complain_in_use(const char *volume)
{
	struct mounted_fs fs;
	pid_t pid = lock_holder(volume);

	if (mountinfo_of_volume(volume, &fs)) {
		if (pid)
			error_say("%s is mounted read-write already, at %s"
			          " (process %d)", volume, fs.point, (int)pid);
		else
			error_say("%s is mounted read-write already, at %s",
			          volume, fs.point);
		hint_say("unmount it first (frondfs umount %s), or mount it"
		         " with -o ro", fs.point);
	} else if (pid) {
		error_say("%s is in use by process %d, which has it mounted"
		          " or ends such a mount", volume, (int)pid);
		hint_say("wait for its end, or mount it with -o ro");
	} else {
		error_say("%s is in use: frondfs fsck checks it, or it is"
		          " mounted where this cannot be seen", volume);
		hint_say("wait for the end of that, or mount it with -o ro");
	}
	return EXIT_IN_USE;
}

int check_not_mounted(const char *volume)
{
	int fd = open(volume, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct timespec step = { 0, STEP_MS * 1000000L };
	struct mounted_fs fs;
	int code = EXIT_OK;

	if (fd < 0)
		return EXIT_OK; /* is told later, as for every command */
	for (int ms = 0; flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	     ms += STEP_MS) {
		/* A mount that was just taken away by other means than
		 * `frondfs umount`: its daemon is still finishing. */
		if (ms >= ENDING_MS || mountinfo_of_volume(volume, &fs)) {
			code = complain_in_use(volume);
			break;
		}
		if (ms == NOTE_MS)
			note_say("waiting for the end of another mount's daemon");
		nanosleep(&step, NULL);
	}
	close(fd);
	return code;
}
