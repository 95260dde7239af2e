/*
 * What the mount tests share beside the mounting itself: whole files, other
 * users, and a suite that has one fresh volume for each test.
 */
#ifndef TESTS_MOUNT_SUPPORT_H
#define TESTS_MOUNT_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mount/mounted.h"

/* Skip so that it is seen without -v too. */
#define SKIP_BECAUSE(why)                                              \
	do {                                                           \
		printf("not tested: %s: %s\n", __func__, why);         \
		SKIPm(why);                                            \
	} while (0)

/* At the beginning of a test: a volume of its own, mounted (`options` as for
 * mounted_mount), or the test is skipped where nothing can be mounted. */
#define MOUNT_OR_SKIP(m, options)                                      \
	do {                                                           \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		ASSERT_EQ(0, mounted_make(m));                         \
		ASSERT_EQ(0, mounted_mount(m, options));               \
	} while (0)

/* At its end: unmounted without an error, and fsck has nothing to say. */
#define UNMOUNT_AND_CHECK(m)                                           \
	do {                                                           \
		ASSERT_EQ(0, mounted_umount(m));                       \
		ASSERT_EQ(0, volume_check(m));                         \
	} while (0)

/* Exit code of `frondfs fsck` on the volume; shows its output if not 0. */
int volume_check(const struct mounted *m);

/* Fill with bytes that depend on the seed and the place. */
void bytes_fill(void *buf, size_t n, unsigned seed);

/* Make or replace a file's content by path. 0 or -errno. */
int file_put(const char *path, const void *bytes, size_t n);

/* Whether a file holds just these bytes; if not, says where it differs. */
bool file_is(const char *path, const void *bytes, size_t n);

/* Size by lstat, or -errno. */
off_t path_size(const char *path);

/* Mode bits (07777) by lstat, or -errno. */
int path_mode(const char *path);

/* Number of entries besides "." and "..", or -errno. */
int path_entries(const char *path);

/* Whether a filesystem of this type (NULL: any) is mounted at `point`, as the
 * kernel's list says: nobody is asked who may not answer. */
bool is_mounted_at(const char *point, const char *type);

/* Whether a program is installed. */
bool have_program(const char *name);

/*
 * Run a function in a child process as a user with these groups (`group` the
 * first one); umask 022. Returns what it returns (0 to 255), or -1.
 */
int as_user(uid_t uid, gid_t group, size_t n, const gid_t *groups,
            int (*run)(void *context), void *context);

/*
 * Run a script with sh, `$M` being a folder and the current one. Its output is
 * shown if it fails. Returns its exit code.
 */
int run_script(const char *folder, const char *script);

/* The process that serves a volume, by its command line, for a test that has
 * started it in the background; 0 where there is none. */
pid_t daemon_of(const struct mounted *m);

/* The resident memory of the daemon that mounted_mount started, in bytes; -1
 * where it is not known. */
long daemon_memory(const struct mounted *m);

/* Sleep. */
void pause_for(long milliseconds);

#endif
