#include "tools/place.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/volume/printable.h"
#include "tools/exitcode.h"
#include "tools/message.h"

int place_say(const struct volume *volume, const char *path,
              const struct walk_place *place, int error)
{
	const char *at = place && place->plain && *place->plain ? place->plain
	                                                        : "/";

	switch (error) {
	case 0:
	case -ENOENT:
		error_say("%s: there is no such entry in the volume", path);
		hint_say("name it as it is in a mount, from its root");
		return EXIT_OPERATION;
	case -EINVAL:
		error_say("%s cannot be used as a path in the volume", path);
		hint_say("name it from the root, without \"..\"");
		return EXIT_OPERATION;
	case -ENOTDIR:
		error_say("%s: no directory%s", path,
		          place && place->exists && S_ISLNK(place->st.st_mode)
		          ? " (symbolic links are not followed here)" : "");
		return EXIT_OPERATION;
	case -EUCLEAN:
		error_say("%s: damaged: the id of %s is missing, so its names "
		          "cannot be read", path, at);
		break;
	case -EBADMSG:
		error_say("%s: damaged", path);
		break;
	default:
		error_say("%s: %s", path, strerror(-error));
	}
	if (place && place->cipher)
		hint_say("ciphertext: %s%s%s", volume->path,
		         *place->cipher ? "/" : "", place->cipher);
	return EXIT_OPERATION;
}

void show_name(FILE *to, const char *name)
{
	char *copy = isatty(fileno(to)) ? strdup(name) : NULL;

	if (copy)
		printable(copy);
	fputs(copy ? copy : name, to);
	free(copy);
}

void show_mode(char text[SHOW_MODE], mode_t mode)
{
	static const char letters[] = "rwxrwxrwx";

	text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l'
		: S_ISFIFO(mode) ? 'p' : S_ISSOCK(mode) ? 's'
		: S_ISCHR(mode) ? 'c' : S_ISBLK(mode) ? 'b' : '-';
	for (int i = 0; i < 9; i++)
		text[1 + i] = mode & (0400 >> i) ? letters[i] : '-';
	if (mode & S_ISUID)
		text[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		text[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		text[9] = mode & S_IXOTH ? 't' : 'T';
	text[10] = '\0';
}

const char *show_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "character device";
	case S_IFBLK:
		return "block device";
	default:
		return "file";
	}
}

void show_time(char text[SHOW_TIME], const struct timespec *time, bool exact)
{
	struct tm tm;
	char day[32] = "?", zone[16] = "";

	if (localtime_r(&time->tv_sec, &tm)) {
		strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm);
		strftime(zone, sizeof(zone), "%z", &tm);
	}
	if (exact)
		snprintf(text, SHOW_TIME, "%s.%09ld %s", day, time->tv_nsec,
		         zone);
	else
		snprintf(text, SHOW_TIME, "%s", day);
}

/* The last one asked for is nearly always the next one. */
const char *show_user(uid_t uid)
{
	static char name[64];
	static uid_t of;
	struct passwd *p;

	if (*name && of == uid)
		return name;
	p = getpwuid(uid);
	of = uid;
	if (p)
		snprintf(name, sizeof(name), "%s", p->pw_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned)uid);
	return name;
}

const char *show_group(gid_t gid)
{
	static char name[64];
	static gid_t of;
	struct group *g;

	if (*name && of == gid)
		return name;
	g = getgrgid(gid);
	of = gid;
	if (g)
		snprintf(name, sizeof(name), "%s", g->gr_name);
	else
		snprintf(name, sizeof(name), "%u", (unsigned)gid);
	return name;
}

/* ---- JSON ---- */

static void add_number(json_object *object, const char *name, int64_t value)
{
	json_object_object_add(object, name, json_object_new_int64(value));
}

static void add_time(json_object *object, const char *name,
                     const struct timespec *time)
{
	char text[40];

	snprintf(text, sizeof(text), "%" PRId64 ".%09ld",
	         (int64_t)time->tv_sec, time->tv_nsec);
	json_object_object_add(object, name, json_object_new_string(text));
}

void show_json_stat(json_object *object, const struct stat *st)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", (unsigned)(st->st_mode & 07777));
	json_object_object_add(object, "type",
	                       json_object_new_string(show_type(st->st_mode)));
	json_object_object_add(object, "mode", json_object_new_string(mode));
	add_number(object, "size", st->st_size);
	add_number(object, "links", (int64_t)st->st_nlink);
	add_number(object, "uid", st->st_uid);
	add_number(object, "gid", st->st_gid);
	add_time(object, "mtime", &st->st_mtim);
	add_time(object, "atime", &st->st_atim);
	add_time(object, "ctime", &st->st_ctim);
}
