#include "tools/busy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <utarray.h>

#include "tools/message.h"

enum { KERNEL_THREAD = 0x00200000, SAID_MAX = 20 };

/* The mounts of one filesystem, in all mount namespaces that were seen. */
struct mounts {
	unsigned major, minor;
	UT_array *ids;        /* int */
	UT_array *namespaces; /* char *, those that were read */
};

/* What a process has of it. */
struct use {
	pid_t pid;
	unsigned files, maps;
	bool directory, root, program;
};

static void mounts_begin(struct mounts *mounts, const struct mounted_fs *fs)
{
	mounts->major = fs->major;
	mounts->minor = fs->minor;
	utarray_new(mounts->ids, &ut_int_icd);
	utarray_new(mounts->namespaces, &ut_str_icd);
}

static void mounts_end(struct mounts *mounts)
{
	utarray_free(mounts->ids);
	utarray_free(mounts->namespaces);
}

/* Read a process's mount namespace, unless that was done. Returns how many
 * mounts of the filesystem were new. */
static unsigned mounts_add(struct mounts *mounts, pid_t pid)
{
	char path[64], space[64] = "", *text = space, *line = NULL, **p = NULL;
	unsigned major_, minor_, found = 0;
	size_t room = 0;
	FILE *f;
	int id;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	if (readlink(path, space, sizeof(space) - 1) < 0)
		return 0;
	while ((p = (char **)utarray_next(mounts->namespaces, p)))
		if (!strcmp(*p, space))
			return 0;
	utarray_push_back(mounts->namespaces, &text);
	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "%d %*d %u:%u", &id, &major_, &minor_) == 3
		    && major_ == mounts->major && minor_ == mounts->minor) {
			utarray_push_back(mounts->ids, &id);
			found++;
		}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static bool mounts_have(const struct mounts *mounts, int id)
{
	for (int *p = NULL; (p = (int *)utarray_next(mounts->ids, p));)
		if (*p == id)
			return true;
	return false;
}

/* The mount of a descriptor, by its file in /proc/PID/fdinfo; -1: unknown. */
static int mount_of(const char *fdinfo)
{
	FILE *f = fopen(fdinfo, "re");
	char line[256];
	int id = -1;

	while (f && id < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "mnt_id: %d", &id) != 1)
			id = -1;
	if (f)
		fclose(f);
	return id;
}

/* Whether /proc/PID/`link` leads into it. What leads elsewhere by its text is
 * not opened: a path may lie on another filesystem that does not answer. */
static bool link_is_in(const struct mounts *mounts, const char *point,
                       pid_t pid, const char *link)
{
	size_t length = strlen(point);
	char path[64], target[PATH_MAX];
	ssize_t n;
	int fd, id;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, link);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = 0;
	if (strncmp(target, point, length)
	    || (target[length] && target[length] != '/' && target[length] != ' '))
		return false;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	id = mount_of(path);
	close(fd);
	return mounts_have(mounts, id);
}

static unsigned count_files(const struct mounts *mounts, pid_t pid)
{
	char path[300];
	struct dirent *d;
	unsigned count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.20s", (int)pid,
		         d->d_name);
		count += mounts_have(mounts, mount_of(path));
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Files that are mapped, each counted once where its parts follow each
 * other. */
static unsigned count_maps(const struct mounts *mounts, pid_t pid)
{
	unsigned long long inode, last = 0;
	unsigned major_, minor_, count = 0;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "%*s %*s %*s %x:%x %llu", &major_, &minor_,
		           &inode) == 3
		    && major_ == mounts->major && minor_ == mounts->minor
		    && inode != last) {
			last = inode;
			count++;
		}
	free(line);
	if (f)
		fclose(f);
	return count;
}

/* One that we may not look at; the kernel's own threads have nothing open. */
static bool is_hidden(pid_t pid)
{
	char path[64], line[1024], *p;
	unsigned flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	if (!access(path, R_OK | X_OK) || errno != EACCES)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	p = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	return p && sscanf(p, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1
	       && !(flags & KERNEL_THREAD);
}

/* Whether a process uses it. */
static bool look_at(struct mounts *mounts, const char *point, pid_t pid,
                    struct use *use)
{
	mounts_add(mounts, pid);
	use->pid = pid;
	use->files = count_files(mounts, pid);
	use->maps = count_maps(mounts, pid);
	use->directory = link_is_in(mounts, point, pid, "cwd");
	use->root = link_is_in(mounts, point, pid, "root");
	use->program = link_is_in(mounts, point, pid, "exe");
	return use->files || use->maps || use->directory || use->root
	       || use->program;
}

void process_name(pid_t pid, char name[PROCESS_NAME_SIZE])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, PROCESS_NAME_SIZE, f))
		strcpy(name, "?");
	name[strcspn(name, "\n")] = 0;
	if (f)
		fclose(f);
}

static void say_use(const struct use *use)
{
	char path[64], name[PROCESS_NAME_SIZE], who[64] = "", what[200] = "";
	const struct passwd *user;
	struct stat st;

	process_name(use->pid, name);
	snprintf(path, sizeof(path), "/proc/%d", (int)use->pid);
	if (!stat(path, &st)) {
		user = getpwuid(st.st_uid);
		if (user)
			snprintf(who, sizeof(who), " of %s", user->pw_name);
		else
			snprintf(who, sizeof(who), " of user %u", st.st_uid);
	}
#define ADD(...)                                                       \
	snprintf(what + strlen(what), sizeof(what) - strlen(what), __VA_ARGS__)
	if (use->directory)
		ADD(", is in a directory of it");
	if (use->root)
		ADD(", has its root directory there");
	if (use->program)
		ADD(", is a program from it");
	if (use->files)
		ADD(", has %u file%s open", use->files,
		    use->files == 1 ? "" : "s");
	if (use->maps && !use->program)
		ADD(", has %u file%s mapped", use->maps,
		    use->maps == 1 ? "" : "s");
#undef ADD
	hint_say("process %d (%s)%s%s", (int)use->pid, name, who, what + 1);
}

/* Call `each` for all processes but our own, until it returns false. */
static void each_process(bool (*each)(pid_t pid, void *context), void *context)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	bool more = true;

	while (proc && more && (d = readdir(proc))) {
		pid_t pid = atoi(d->d_name);

		if (pid > 0 && pid != getpid())
			more = each(pid, context);
	}
	if (proc)
		closedir(proc);
}

struct search {
	const struct mounted_fs *fs;
	struct mounts mounts;
	unsigned found, hidden;
	pid_t elsewhere;
};

static bool say_if_used(pid_t pid, void *context)
{
	struct search *search = context;
	struct use use;

	if (look_at(&search->mounts, search->fs->point, pid, &use)) {
		if (search->found < SAID_MAX)
			say_use(&use);
		search->found++;
	} else if (is_hidden(pid)) {
		search->hidden++;
	}
	return true;
}

static bool is_below(const char *path, const char *dir)
{
	size_t length = strlen(dir);

	return !strncmp(path, dir, length) && path[length] == '/';
}

static unsigned say_mounts_in(const struct mounted_fs *fs)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, word[PATH_MAX], point[PATH_MAX];
	unsigned found = 0;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "%*d %*d %*s %*s %4095s", word) == 1) {
			mountinfo_unescape(point, sizeof(point), word);
			if (!is_below(point, fs->point))
				continue;
			hint_say("something is mounted in it, at %s", point);
			found++;
		}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static unsigned say_loop_devices(const struct mounted_fs *fs)
{
	unsigned found = 0;
	glob_t list;

	if (glob("/sys/block/loop*/loop/backing_file", 0, NULL, &list))
		return 0;
	for (size_t i = 0; i < list.gl_pathc; i++) {
		const char *name = list.gl_pathv[i] + strlen("/sys/block/");
		FILE *f = fopen(list.gl_pathv[i], "re");
		char path[PATH_MAX];

		if (f && fgets(path, sizeof(path), f)
		    && is_below(path, fs->point)) {
			hint_say("the device /dev/%.*s uses a file in it",
			         (int)strcspn(name, "/"), name);
			found++;
		}
		if (f)
			fclose(f);
	}
	globfree(&list);
	return found;
}

void busy_say(const struct mounted_fs *fs)
{
	struct search search = { .fs = fs };

	mounts_begin(&search.mounts, fs);
	mounts_add(&search.mounts, getpid());
	each_process(say_if_used, &search);
	mounts_end(&search.mounts);
	if (search.found > SAID_MAX)
		hint_say("and %u more processes", search.found - SAID_MAX);
	search.found += say_mounts_in(fs) + say_loop_devices(fs);
	if (search.hidden)
		hint_say("%u processes of other users could not be looked at;"
		         " root can", search.hidden);
	else if (!search.found)
		hint_say("no process can be seen that uses it: perhaps one has"
		         " just ended, or the kernel does (an export by NFS)");
}

static bool is_elsewhere(pid_t pid, void *context)
{
	struct search *search = context;

	if (mounts_add(&search->mounts, pid))
		search->elsewhere = pid;
	return !search->elsewhere;
}

pid_t busy_elsewhere(const struct mounted_fs *fs)
{
	struct search search = { .fs = fs };

	mounts_begin(&search.mounts, fs);
	mounts_add(&search.mounts, getpid());
	each_process(is_elsewhere, &search);
	mounts_end(&search.mounts);
	return search.elsewhere;
}
