#include "tools/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void mountinfo_unescape(char *out, size_t size, const char *in)
{
	char *end = out + size - 1;

	while (*in && out < end) {
		if (in[0] == '\\' && in[1] && in[2] && in[3]) {
			*out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8
			                + (in[3] - '0'));
			in += 4;
		} else {
			*out++ = *in++;
		}
	}
	*out = 0;
}

static bool has_option(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = list; p; p = strchr(p, ',')) {
		if (*p == ',')
			p++;
		if (!strncmp(p, name, length)
		    && (p[length] == ',' || !p[length]))
			return true;
	}
	return false;
}

/* "36 35 98:0 /root /point rw,noatime master:1 - type source rw,errors=..." */
static bool parse(char *line, struct mounted_fs *fs)
{
	char *save, *word[6], *type, *source, *options;

	line[strcspn(line, "\n")] = 0;
	for (int i = 0; i < 6; i++) {
		word[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!word[i])
			return false;
	}
	do {
		type = strtok_r(NULL, " ", &save);
		if (!type)
			return false;
	} while (strcmp(type, "-"));
	type = strtok_r(NULL, " ", &save);
	source = type ? strtok_r(NULL, " ", &save) : NULL;
	options = source ? strtok_r(NULL, " ", &save) : NULL;
	if (!options)
		return false;
	fs->id = atoi(word[0]);
	if (sscanf(word[2], "%u:%u", &fs->major, &fs->minor) != 2)
		return false;
	mountinfo_unescape(fs->point, sizeof(fs->point), word[4]);
	mountinfo_unescape(fs->type, sizeof(fs->type), type);
	mountinfo_unescape(fs->source, sizeof(fs->source), source);
	fs->read_only = has_option(word[5], "ro") || has_option(options, "ro");
	return true;
}

/* The last line for which `same` holds: later mounts cover earlier ones. */
static bool search(bool (*same)(const struct mounted_fs *, const char *),
                   const char *what, struct mounted_fs *out)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mounted_fs *fs = malloc(sizeof(*fs));
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (f && fs && getline(&line, &room, f) > 0)
		if (parse(line, fs) && same(fs, what)) {
			*out = *fs;
			found = true;
		}
	free(line);
	free(fs);
	if (f)
		fclose(f);
	return found;
}

static bool same_point(const struct mounted_fs *fs, const char *point)
{
	return !strcmp(fs->point, point);
}

bool mountinfo_at(const char *point, struct mounted_fs *out)
{
	return search(same_point, point, out);
}

static bool same_volume(const struct mounted_fs *fs, const char *volume)
{
	return !fs->read_only && !strcmp(fs->type, FROND_FSTYPE)
	       && !strcmp(fs->source, volume);
}

bool mountinfo_of_volume(const char *volume, struct mounted_fs *out)
{
	return search(same_volume, volume, out);
}

pid_t lock_holder(const char *dir)
{
	FILE *f = fopen("/proc/locks", "re");
	char line[256];
	struct stat st;
	pid_t found = 0;

	if (!f)
		return 0;
	if (stat(dir, &st)) {
		fclose(f);
		return 0;
	}
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned major_, minor_;
		uint64_t inode;
		int pid;

		if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %d %x:%x:%" SCNu64,
		           &pid, &major_, &minor_, &inode) == 4
		    && pid > 0 && inode == (uint64_t)st.st_ino
		    && makedev(major_, minor_) == st.st_dev)
			found = pid;
	}
	fclose(f);
	return found;
}

/* By the parent's path: what is mounted at the last part is not asked. */
static char *path_in_parent(char *path)
{
	char *slash = strrchr(path, '/');
	char *name = slash ? slash + 1 : path;
	char *dir, *out = NULL;

	if (slash)
		*slash = 0;
	dir = realpath(!slash ? "." : slash == path ? "/" : path, NULL);
	if (dir && asprintf(&out, "%s/%s", strcmp(dir, "/") ? dir : "", name) < 0)
		out = NULL;
	free(dir);
	return out;
}

static bool is_mounted_at(const char *path)
{
	struct mounted_fs *fs = malloc(sizeof(*fs));
	bool found = fs && mountinfo_at(path, fs);

	free(fs);
	return found;
}

char *absolute_path(const char *path)
{
	char *copy = strdup(path), *out, target[2];
	size_t length = copy ? strlen(copy) : 0;

	if (!copy)
		return NULL;
	while (length > 1 && copy[length - 1] == '/')
		copy[--length] = 0;
	/* A link, as readlink tells without asking a mount, leads elsewhere. */
	out = readlink(copy, target, sizeof(target)) < 0 ? path_in_parent(copy)
	                                                 : NULL;
	free(copy);
	if (out && is_mounted_at(out))
		return out;
	free(out);
	return realpath(path, NULL);
}

/* fusermount3 tells only by its words why it failed: that the mount is in use
 * is not shown, as the caller may try again, all else is. */
static int run_fusermount(const char *point, bool lazy)
{
	char *argv[] = { "fusermount3", lazy ? "-uz" : "-u", "--",
	                 (char *)point, NULL };
	posix_spawn_file_actions_t actions;
	char words[1000];
	size_t n = 0;
	ssize_t got;
	int ends[2], status, error;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!error && n < sizeof(words) - 1 &&
	       ((got = read(ends[0], words + n, sizeof(words) - 1 - n)) > 0 ||
	        (got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	words[n] = 0;
	close(ends[0]);
	if (error)
		return -ENOENT;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!status)
		return 0;
	if (strstr(words, strerror(EBUSY)))
		return -EBUSY;
	fputs(words, stderr);
	return -EPERM;
}

int unmount(const char *point, bool lazy)
{
	struct stat st;

	if (geteuid() != 0)
		return run_fusermount(point, lazy);
	if (!umount2(point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)))
		return 0;
	if (errno == EPERM && !stat(point, &st))
		return run_fusermount(point, lazy);
	return -errno;
}

void unmount_by_force(const char *point)
{
	umount2(point, UMOUNT_NOFOLLOW | MNT_FORCE);
}
