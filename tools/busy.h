/*
 * Who uses a mounted filesystem, found in /proc by the numbers of mounts: the
 * filesystem itself, which may not answer, is never asked.
 */
#ifndef TOOLS_BUSY_H
#define TOOLS_BUSY_H

#include <sys/types.h>

#include "tools/mountinfo.h"

/*
 * Say what keeps the mount busy, a line each: processes, with what they have
 * of it; mounts in it; loop devices. And how many processes could not be looked
 * at, since they belong to others. Says so where nothing was found.
 */
void busy_say(const struct mounted_fs *fs);

/* A process in whose mount namespace the filesystem is still mounted, although
 * it is not in ours; 0 where there is none that can be seen. */
pid_t busy_elsewhere(const struct mounted_fs *fs);

/* The name of a process's program, or "?". */
enum { PROCESS_NAME_SIZE = 64 };
void process_name(pid_t pid, char name[PROCESS_NAME_SIZE]);

#endif
