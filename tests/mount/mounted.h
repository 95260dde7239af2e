/*
 * A volume of its own for a test, and the real program mounting it.
 *
 * The volume is opened by a key file, so that no time goes into deriving a key
 * from a passphrase. The daemon runs in the foreground as a child of the test,
 * so that it can be killed and its end be seen; what it says goes to a log.
 */
#ifndef TESTS_MOUNT_MOUNTED_H
#define TESTS_MOUNT_MOUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mounted {
	char dir[256];     /* a new folder below $TMPDIR or /tmp; holds all of: */
	char volume[300];  /* the ciphertext */
	char point[300];   /* the mount point */
	char keyfile[300];
	char recovery[300];/* the recovery key, as init wrote it */
	char log[300];     /* what the daemon said on stderr */
	pid_t daemon;      /* 0 where nothing is mounted */
	uid_t user;        /* whom init, mount and umount run as; 0: as we do */
};

/* Whether this machine lets us mount; if not, why is said on stdout. */
bool mounted_possible(void);

/* Make the folder and the volume, mounting nothing. Returns 0, or -1 after
 * saying what went wrong. */
int mounted_make(struct mounted *m);

/* The same for an ordinary user, who also owns the folder (root only). */
int mounted_make_for(struct mounted *m, uid_t user);

/* Mount with a list for -o (NULL: none), and wait until the mount point
 * answers. Returns 0 or, after showing the log, the daemon's exit code or -1. */
int mounted_mount(struct mounted *m, const char *options);

/* Unmount with `frondfs umount` and wait for the daemon's end. Returns 0 where
 * both ended with 0. */
int mounted_umount(struct mounted *m);

/* The same, but by a signal to the daemon (0: none, it ends by itself);
 * returns its exit code. */
int mounted_signal(struct mounted *m, int signal);

/* Kill the daemon with SIGKILL and take the dead mount away. */
void mounted_kill(struct mounted *m);

/* Take the mount away if there is one, and remove the folder. */
void mounted_remove(struct mounted *m);

/* A path below the mount point (`in` a volume's `point`) or any other folder:
 * one of eight static buffers in turn. */
const char *mounted_path(const char *in, const char *name);

/*
 * Run a program (argv ends with NULL; "frondfs" as argv[0] means the one under
 * test) with no input, and wait for it. What it says, stdout and stderr
 * together, goes to output (cut to `size` bytes, ended by NUL; NULL: shown).
 * Returns its exit code, 128 + signal, or -1.
 */
int mounted_run(const char *const argv[], char *output, size_t size);
#define MOUNTED_RUN(output, size, ...) \
	mounted_run((const char *const[]){ __VA_ARGS__, NULL }, output, size)

#endif
