/*
 * What is mounted (/proc/self/mountinfo, see proc(5)), and who locks a volume.
 */
#ifndef TOOLS_MOUNTINFO_H
#define TOOLS_MOUNTINFO_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define FROND_FSTYPE "fuse.frondfs"

struct mounted_fs {
	char point[PATH_MAX];
	char type[64];
	char source[PATH_MAX]; /* for FROND_FSTYPE the volume's path */
	bool read_only;
	int id;                /* of the mount, as in fdinfo's mnt_id */
	unsigned major, minor; /* its device; with FUSE its connection is `minor` */
};

/* Characters that would split a line stand in files of /proc as \\ooo: the
 * plain text of at most `size` bytes. */
void mountinfo_unescape(char *out, size_t size, const char *in);

/* What is mounted at the absolute path `point`, the topmost where there are
 * several. False if nothing is. */
bool mountinfo_at(const char *point, struct mounted_fs *out);

/* A read-write mount of the volume with this absolute path. */
bool mountinfo_of_volume(const char *volume, struct mounted_fs *out);

/* The process that holds the lock of a read-write mount on a directory (its
 * lock of flock(2)), as far as this can be seen; else 0. */
pid_t lock_holder(const char *dir);

/* Like realpath, but its last part may be a mount whose daemon is dead or does
 * not answer: it is not asked. Returns memory of malloc, or NULL and errno. */
char *absolute_path(const char *path);

/* Unmount as root, or with fusermount3 as another user. Returns 0 or a
 * negative errno (-EBUSY where it is in use); where fusermount3 failed for
 * another reason it has said which, and the result is -EPERM. */
int unmount(const char *point, bool lazy);

/* As root: make the kernel give up on a daemon that does not answer, whether
 * the mount then goes or not. */
void unmount_by_force(const char *point);

#endif
