/*
 * The two processes of `frondfs mount`. One is the daemon; it does all of the
 * work from asking for the passphrase on, since locked memory does not survive
 * a fork. The other waits until the mount is there and answers a request: the
 * daemon itself must never wait for its own mount.
 *
 * In the background the daemon is the child, and the parent ends when the
 * mount answers, or with the daemon's exit code. In the foreground it is the
 * parent.
 */
#ifndef TOOLS_DAEMON_H
#define TOOLS_DAEMON_H

#include <stdbool.h>

struct daemon;

/*
 * Split in two. `serve` runs in the daemon and returns its exit code; it calls
 * daemon_mounted when the mount is there, then serves it. Returns the exit
 * code of the command. `point` is the mount point, as it will be known.
 */
int daemon_start(bool foreground, const char *point,
                 int (*serve)(struct daemon *daemon, void *context),
                 void *context);

/* To be called when the passphrase was read and before anything is opened that
 * stays open: in the background, the daemon must not keep what its caller left
 * open, such as a pipe at whose end somebody waits. */
void daemon_close_inherited(struct daemon *daemon);

/*
 * The mount is there and about to be served. In the background this leaves the
 * terminal: messages go to the system log from here on. In the foreground the
 * service manager is told READY=1 (see sd_notify(3)) when the mount answers.
 * From here on a crash tells its reason in the log (tools/crash.h).
 */
void daemon_mounted(struct daemon *daemon);

#endif
