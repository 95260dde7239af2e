/* What the commands that name paths in a volume say, and how they show what
 * they find. */
#ifndef TOOLS_PLACE_H
#define TOOLS_PLACE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fs/volume/walk.h"

/* Say why `path` cannot be found or read: `error` of walk_find or of what came
 * after it; 0 where it is not there. With its ciphertext where that is known.
 * Returns EXIT_OPERATION. */
int place_say(const struct volume *volume, const char *path,
              const struct walk_place *place, int error);

/* Write a name: on a terminal control characters become '?'. */
void show_name(FILE *to, const char *name);

/* "drwxr-xr-x" */
enum { SHOW_MODE = 11 };
void show_mode(char text[SHOW_MODE], mode_t mode);

/* "directory", "file", "link", "fifo", "socket", "char device", ... */
const char *show_type(mode_t mode);

/* "2024-01-02 03:04:05" of local time; with nanoseconds and zone: `exact`. */
enum { SHOW_TIME = 64 };
void show_time(char text[SHOW_TIME], const struct timespec *time, bool exact);

/* The names of a user and a group, or their numbers. */
const char *show_user(uid_t uid);
const char *show_group(gid_t gid);

/* Add what stat says to a JSON object. */
void show_json_stat(json_object *object, const struct stat *st);

#endif
