#include "fs/mount/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/volume/io.h"

#define FD_FOLDER "/proc/self/fd/"

/* A request goes with a descriptor: the directory, or the file itself where
 * the name is empty. The answer is an errno or 0 and a descriptor. */
struct request {
	int flags;
	char name[300];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sock = -1;     /* the daemon's end */
static pid_t child;
static bool failed;       /* do not try again */

static int send_with(int to, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *head;

		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(int));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -1;
}

/* The message must have just this size; *fd is what came with it, or -1. */
static int receive_with(int from, void *data, size_t size, int *fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *head;
	ssize_t n;

	do {
		n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	*fd = -1;
	if (n < 0)
		return -1;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(int));
	return n == (ssize_t)size ? 0 : -1;
}

/*
 * The daemon
 */

static int start(void)
{
	char *argv[] = { "frondfs", OPENER_OPTION, NULL };
	char *none[] = { NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
	error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv,
	                    none);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return -error;
	}
	sock = ends[0];
	return 0;
}

static void stop(void)
{
	if (sock < 0)
		return;
	close(sock);
	sock = -1;
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static int ask(int dir, const struct request *request)
{
	int answer, fd;

	if (sock < 0 && (failed || start())) {
		failed = true;
		return -EACCES;
	}
	if (send_with(sock, request, sizeof(*request), dir)
	    || receive_with(sock, &answer, sizeof(answer), &fd)) {
		stop();
		failed = true;
		return -EACCES;
	}
	if (answer || fd < 0)
		return answer ? -answer : -EACCES;
	return fd;
}

/* As openat, for io_open. */
static int open_denied(int dir, const char *name, int flags)
{
	struct request request = { .flags = flags };
	int fd;

	if (dir == AT_FDCWD) {
		/* A descriptor by its name in /proc, which is another one
		 * there. */
		if (strncmp(name, FD_FOLDER, strlen(FD_FOLDER))) {
			errno = EACCES;
			return -1;
		}
		dir = atoi(name + strlen(FD_FOLDER));
		name = "";
	}
	if (strlen(name) >= sizeof(request.name)) {
		errno = EACCES;
		return -1;
	}
	strcpy(request.name, name);
	pthread_mutex_lock(&lock);
	fd = ask(dir, &request);
	pthread_mutex_unlock(&lock);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

void opener_enable(void)
{
	if (geteuid() != 0)
		io_open_denied = open_denied;
}

void opener_disable(void)
{
	io_open_denied = NULL;
	stop();
}

/*
 * The other process
 */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* A user namespace with the user and the group that we are, and of what one
 * may do there only what is needed: to pass by modes, and (as the owner may) to
 * leave access times alone. */
static int enter_namespace(void)
{
	const unsigned keep = 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER;
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = {
		{ .effective = keep, .permitted = keep }
	};
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char line[64];

	if (unshare(CLONE_NEWUSER) || write_text("/proc/self/setgroups", "deny"))
		return -1;
	snprintf(line, sizeof(line), "%u %u 1", uid, uid);
	if (write_text("/proc/self/uid_map", line))
		return -1;
	snprintf(line, sizeof(line), "%u %u 1", gid, gid);
	return write_text("/proc/self/gid_map", line)
	       || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	       || syscall(SYS_capset, &header, data) ? -1 : 0;
}

static int serve_one(void)
{
	struct request request;
	char path[40];
	int dir, fd, answer, error;

	if (receive_with(STDIN_FILENO, &request, sizeof(request), &dir))
		return -1;
	request.name[sizeof(request.name) - 1] = 0;
	request.flags &= ~(O_CREAT | O_TRUNC);
	if (*request.name) {
		fd = openat(dir, request.name, request.flags | O_CLOEXEC);
	} else {
		snprintf(path, sizeof(path), FD_FOLDER "%d", dir);
		fd = open(path, request.flags | O_CLOEXEC);
	}
	answer = fd < 0 ? errno : 0;
	error = send_with(STDIN_FILENO, &answer, sizeof(answer), fd);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return error;
}

int opener_serve(void)
{
	/* The daemon may have files to finish when it is told to end. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (chdir("/") || enter_namespace())
		return 1;
	while (!serve_one())
		;
	return 0;
}
