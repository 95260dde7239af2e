#include "trees.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "mount/twin.h"

enum { ARGUMENTS_MAX = 40 };

char *said, *complained;
uid_t without_user;
bool without_links;

const char *in_holder(struct victim *v, const char *name)
{
	return join_path(v->holder, name);
}

static void collect(struct victim *v, const char *argv[ARGUMENTS_MAX],
                    const char *command, va_list args)
{
	const char *a;
	int n = 0;

	argv[n++] = FROND_BINARY;
	argv[n++] = command;
	argv[n++] = "--keyfile";
	argv[n++] = v->keyfile;
	while ((a = va_arg(args, const char *))) {
		need(n < ARGUMENTS_MAX - 1, "fewer arguments");
		argv[n++] = a;
	}
	argv[n] = NULL;
}

static char *text_of(const char *path)
{
	char *text = calloc(1, 100000);
	FILE *f = fopen(path, "r");

	need(text && f, path);
	need(fread(text, 1, 99999, f) < 99999, path);
	fclose(f);
	return text;
}

/* In a child: the kernel denies linkat from now on. */
static void deny_links(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		         offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_linkat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		sizeof(filter) / sizeof(filter[0]), filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(126);
}

static int run_denied(const char *const argv[])
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(open("said", O_CREAT | O_TRUNC | O_RDWR, 0600), 1);
		dup2(open("complained", O_CREAT | O_TRUNC | O_RDWR, 0600), 2);
		deny_links();
		execv(argv[0], (char *const *)argv);
		_exit(126);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid, "fork");
	said = text_of("said");
	complained = text_of("complained");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int without(struct victim *v, const char *command, ...)
{
	const char *argv[ARGUMENTS_MAX];
	va_list args;
	int code;

	va_start(args, command);
	collect(v, argv, command, args);
	va_end(args);
	free(said);
	free(complained);
	need(!chdir(v->holder), v->holder);
	code = without_links ? run_denied(argv)
		: run_collect(argv, without_user, &said, &complained);
	need(!chdir("/"), "/");
	return code;
}

int without_killed(struct victim *v, unsigned ms, const char *command, ...)
{
	const struct timespec pause = { ms / 1000, (long)(ms % 1000) * 1000000 };
	const char *argv[ARGUMENTS_MAX];
	va_list args;
	int status;
	pid_t pid;

	va_start(args, command);
	collect(v, argv, command, args);
	va_end(args);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		if (without_links)
			deny_links();
		if (!chdir(v->holder))
			execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	need(pid > 0, "fork");
	nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                           : WEXITSTATUS(status);
}

int shell(struct victim *v, const char *format, ...)
{
	char *command, *line;
	va_list args;
	int status;

	va_start(args, format);
	need(vasprintf(&command, format, args) >= 0, "memory");
	va_end(args);
	need(asprintf(&line, "cd %s && %s", v->holder, command) >= 0, "memory");
	fflush(NULL);
	status = system(line);
	free(command);
	free(line);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- a tree with everything ---- */

static void file_of(const char *dir, const char *name, unsigned seed,
                    size_t size, mode_t mode)
{
	const char *path = join_path(dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	uint8_t *bytes = malloc(size + 1);

	need(fd >= 0 && bytes, path);
	content_fill(bytes, size, seed, 0);
	need(write(fd, bytes, size) == (ssize_t)size, path);
	need(!fchmod(fd, mode), path);
	close(fd);
	free(bytes);
}

static void set_time(const char *path, time_t seconds, long nanoseconds)
{
	const struct timespec times[2] = {
		{ seconds + 1000, nanoseconds }, { seconds, nanoseconds },
	};

	need(!utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), path);
}

static void attribute(const char *path, const char *name, const char *value)
{
	need(!lsetxattr(path, name, value, strlen(value), 0), name);
}

/* An access ACL for a user who is not the owner, as Linux stores it. */
static void acl(const char *path)
{
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entries[5];
	} value = { 2, {
		{ 0x01, 6, ~0u }, { 0x02, 5, 4711 }, { 0x04, 4, ~0u },
		{ 0x10, 5, ~0u }, { 0x20, 0, ~0u },
	} };

	need(!setxattr(path, "system.posix_acl_access", &value, sizeof(value),
	               0), "an ACL");
}

static void sparse_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	need(fd >= 0, path);
	need(!ftruncate(fd, 40 << 20), path);
	need(pwrite(fd, "begin", 5, 0) == 5, path);
	need(pwrite(fd, "middle", 6, (20 << 20) + 123) == 6, path);
	close(fd);
}

void tree_make(struct victim *v, const char *name)
{
	static const size_t sizes[] = { 0, 1, 3999, 4000, 4001, 8080, 8081,
	                                131072, 1048576, 3000001 };
	const char *top = keep(in_holder(v, name));
	const char *deep = keep(join_path(top, "deep"));
	char long_name[256], target[4001], number[32];

	need(!mkdir(top, 0755) && !mkdir(deep, 0755), top);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(number, sizeof(number), "size %zu", sizes[i]);
		file_of(top, number, (unsigned)i, sizes[i], 0644);
		set_time(join_path(top, number), 1000000000 + (time_t)i,
		         123456789);
	}
	sparse_file(join_path(top, "sparse"));
	memset(long_name, 'n', 255);
	long_name[255] = '\0';
	file_of(deep, long_name, 20, 10, 0400);
	memset(long_name, 'd', 200);
	long_name[200] = '\0';
	need(!mkdir(join_path(deep, long_name), 0700), long_name);
	file_of(join_path(deep, long_name), "inside", 21, 100, 0600);
	file_of(deep, "not \xff\xfe utf-8", 22, 10, 0644);
	file_of(deep, "new\nline \x1b[31m", 23, 10, 0644);
	file_of(deep, "-v", 24, 10, 0644);
	file_of(deep, "frondfs.conf", 25, 10, 0644);
	file_of(top, "\xc3\xa4\xc3\xb6 .hidden", 26, 10, 0644);
	file_of(top, ".dot", 27, 10, 0000);
	file_of(top, "suid", 28, 10, 04711);
	/* Links. */
	need(!link(join_path(top, "size 8081"), join_path(deep, "hard")), "link");
	need(!link(join_path(top, "size 8081"), join_path(top, "zhard")), "link");
	need(!symlink("../size 1", join_path(deep, "sym")), "symlink");
	need(!symlink("/etc/passwd", join_path(top, "absolute")), "symlink");
	need(!symlink("nowhere", join_path(top, "dangling")), "symlink");
	memset(target, 't', 4000);
	target[4000] = '\0';
	need(!symlink(target, join_path(deep, "long target")), "symlink");
	set_time(join_path(deep, "sym"), 900000000, 1);
	need(!mkfifo(join_path(top, "fifo"), 0640), "mkfifo");
	need(!mknod(join_path(top, "socket"), S_IFSOCK | 0600, 0), "mknod");
	/* Attributes. */
	attribute(join_path(top, "size 1"), "user.one", "value");
	attribute(join_path(top, "size 1"), "user.\xff odd", "");
	attribute(deep, "user.of.a.directory", "yes");
	acl(join_path(top, "size 4000"));
	/* Directories. */
	need(!mkdir(join_path(top, "empty"), 0711), "mkdir");
	need(!mkdir(join_path(top, "locked"), 0755), "mkdir");
	file_of(join_path(top, "locked"), "in it", 29, 5000, 0444);
	need(!chmod(join_path(top, "locked"), 0500), "chmod");
	need(!mkdir(join_path(top, "sticky"), 0755), "mkdir");
	need(!chmod(join_path(top, "sticky"), 03777), "chmod");
	if (geteuid() == 0) {
		need(!mknod(join_path(top, "null"), S_IFCHR | 0666, 0x103),
		     "mknod");
		need(!lchown(join_path(top, "size 3999"), 1234, 5678), "chown");
		need(!lchown(join_path(deep, "sym"), 1234, 5678), "chown");
		need(!lchown(join_path(top, "empty"), 1234, 5678), "chown");
		need(!lchown(join_path(top, "locked"), 1234, 5678), "chown");
		need(!lchown(join_path(top, "suid"), 1234, 5678) &&
		     !chmod(join_path(top, "suid"), 06755), "chown");
		attribute(join_path(top, "fifo"), "trusted.root", "only");
	}
	set_time(join_path(top, "empty"), -500000000, 999999999);
	set_time(join_path(top, "fifo"), 5000000000, 0);
	set_time(join_path(top, "locked"), 800000000, 7);
	set_time(deep, 700000000, 7);
	set_time(top, 600000000, 7);
}

/* ---- comparing ---- */

bool trees_same(struct victim *v, const char *a, const char *b)
{
	const int roots[2] = {
		open(in_holder(v, a), O_RDONLY | O_DIRECTORY),
		open(in_holder(v, b), O_RDONLY | O_DIRECTORY),
	};
	struct inodes inodes = { .count = 0 };
	bool good;

	need(roots[0] >= 0 && roots[1] >= 0, "two trees");
	good = twin_same(roots, &inodes);
	free(inodes.pairs);
	close(roots[0]);
	close(roots[1]);
	/* What that one takes easier: every time, and the top itself. A
	 * directory's size and links are the store's own. */
	return good && !shell(v, "(cd '%s' && find . \\( -type d -printf "
	                      "'%%p %%m %%U %%G %%T@\\0' \\) -o -printf "
	                      "'%%p %%m %%U %%G %%T@ %%s %%n %%l\\0' | sort -z) >a.list && "
	                      "(cd '%s' && find . \\( -type d -printf "
	                      "'%%p %%m %%U %%G %%T@\\0' \\) -o -printf "
	                      "'%%p %%m %%U %%G %%T@ %%s %%n %%l\\0' | sort -z) >b.list && "
	                      "{ cmp a.list b.list || { tr '\\0' '\\n' <a.list >a.txt; "
	                      "tr '\\0' '\\n' <b.list >b.txt; diff a.txt b.txt; false; }; }",
	                      a, b);
}

bool tree_within(struct victim *v, const char *part, const char *whole,
                 unsigned *count)
{
	char *out, *err;
	const char *const argv[] = {
		"/bin/sh", "-c",
		"cd \"$0\" || exit 1; find . -type f ! -name '.frondfs-part.*' -exec sh -c "
		"'for f; do cmp -s \"$f\" \"$0/$f\" && echo good || echo \"bad $f\";"
		" done' \"$1\" {} +",
		in_holder(v, part), in_holder(v, whole), NULL,
	};
	bool good = run_collect(argv, 0, &out, &err) == 0 && !strstr(out, "bad");

	*count = 0;
	for (const char *p = out; (p = strstr(p, "good\n")); p++)
		++*count;
	if (!good)
		printf("%s%s", out, err);
	return good;
}
