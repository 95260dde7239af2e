/* The life of a mount: starting in scripts and services, what it leaves
 * alone, signals, options, and what its log says. Rows F83 to F93 of
 * the field's troubles, beside those in test_basic. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/support.h"
#include "tools/exitcode.h"

static struct mounted m;
static char said[20000];

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

#define VOLUME_OR_SKIP()                                               \
	do {                                                           \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		ASSERT_EQ(0, mounted_make(&m));                        \
	} while (0)

#define FRONDFS(...) MOUNTED_RUN(said, sizeof(said), "frondfs", __VA_ARGS__)

/* `frondfs mount` in the background, at the usual place. */
static int mount_with(const char *options)
{
	return FRONDFS("mount", "--keyfile", m.keyfile, "-o", options, "--",
	               m.volume, m.point);
}

static int umount_it(void)
{
	return FRONDFS("umount", m.point);
}

static bool is_mounted(const char *point)
{
	struct statfs fs;

	return !statfs(point, &fs) && fs.f_type == 0x65735546;
}

/*
 * Starting
 */

/* F87 */
TEST a_script_that_mounts_goes_on_and_finds_the_files(void)
{
	char script[3000], path[100], target[400];
	pid_t daemon;

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("there"), "at once", 7));
	ASSERT_EQ(0, mounted_umount(&m));
	/* $(...) and a pipe wait for all who hold their other end; another
	 * descriptor is left open besides. */
	snprintf(script, sizeof(script),
	         "exec 9>'%s/held'; X=$('%s' mount --keyfile '%s' '%s' '%s' 2>&1)"
	         " || exit 3; echo \"got:$X\"; cat '%s/there'",
	         m.dir, FROND_BINARY, m.keyfile, m.volume, m.point, m.point);
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "timeout", "20", "sh",
	                         "-c", script));
	ASSERT_STR_EQ("got:\nat once", said);
	daemon = daemon_of(&m);
	ASSERT(daemon > 0);
	/* Only root may look at the daemon. */
	for (int fd = geteuid() == 0 ? -1 : 30; fd < 30; fd++) {
		ssize_t n;

		if (fd < 0)
			snprintf(path, sizeof(path), "/proc/%d/cwd",
			         (int)daemon);
		else
			snprintf(path, sizeof(path), "/proc/%d/fd/%d",
			         (int)daemon, fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = 0;
		if (fd < 0)
			ASSERT_STR_EQ("/", target);
		else if (fd < 3)
			ASSERT_STR_EQ("/dev/null", target);
		else
			ASSERT(!strstr(target, "/held") && strncmp(target, "pipe:", 5));
	}
	/* In a session of its own: closing a terminal does not end it. */
	ASSERT_EQ(daemon, getsid(daemon));
	ASSERT_EQ(0, umount_it());
	/* And it is gone then, soon. */
	for (int i = 0; i < 100 && daemon_of(&m); i++)
		pause_for(20);
	ASSERT_EQ(0, daemon_of(&m));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

static int notify_socket(struct sockaddr_un *address, socklen_t *length,
                         bool abstract)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct timeval limit = { 20, 0 };
	char name[100];

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (abstract)
		snprintf(name, sizeof(name), "@frond-test-%d", (int)getpid());
	else
		snprintf(name, sizeof(name), "%.90s/s", m.dir);
	*length = (socklen_t)(offsetof(struct sockaddr_un, sun_path)
	                      + strlen(name) + !abstract);
	memcpy(address->sun_path, name, strlen(name));
	if (abstract)
		address->sun_path[0] = 0;
	setenv("NOTIFY_SOCKET", name, 1);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (bind(fd, (struct sockaddr *)address, *length)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* As some service programs start others: the numbers 0 to 2 are free. */
TEST without_standard_files_it_mounts_and_returns(void)
{
	char script[1000];

	VOLUME_OR_SKIP();
	for (int which = 1; which < 8; which++) {
		snprintf(script, sizeof(script),
		         "timeout 20 '%s' mount --keyfile key volume mnt"
		         "%s%s%s || exit 1\n"
		         "echo text > mnt/f && cat mnt/f > copy\n"
		         "timeout 20 '%s' umount mnt%s%s%s || exit 2\n"
		         "grep -q text copy", FROND_BINARY,
		         which & 1 ? " <&-" : "", which & 2 ? " >&-" : "",
		         which & 4 ? " 2>&-" : "", FROND_BINARY,
		         which & 1 ? " <&-" : "", which & 2 ? " >&-" : "",
		         which & 4 ? " 2>&-" : "");
		ASSERT_EQ_FMT(0, run_script(m.dir, script), "%d");
		ASSERT_EQ(0, volume_check(&m));
	}
	PASS();
}

/* F87: a service manager learns of it when it can be used, not before. */
TEST a_service_manager_is_told_when_it_can_be_used(void)
{
	VOLUME_OR_SKIP();
	for (int abstract = 0; abstract < 2; abstract++) {
		struct sockaddr_un address;
		char text[200] = "";
		socklen_t length;
		int fd = notify_socket(&address, &length, abstract);
		pid_t pid;

		ASSERT(fd >= 0);
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			execl(FROND_BINARY, "frondfs", "mount", "-f",
			      "--keyfile", m.keyfile, m.volume, m.point,
			      (char *)NULL);
			_exit(127);
		}
		ASSERT(recv(fd, text, sizeof(text) - 1, 0) > 0);
		ASSERT(!strncmp(text, "READY=1", 7));
		ASSERT(is_mounted(m.point));
		ASSERT_EQ(0, file_put(in("f"), "x", 1));
		ASSERT_EQ(0, kill(pid, SIGTERM));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		/* One that fails tells nothing, and its exit code. */
		ASSERT_EQ(EXIT_WRONG_KEY, FRONDFS("mount", "-f", "--keyfile",
		                                  m.recovery, m.volume,
		                                  m.point));
		ASSERT_EQ(-1, recv(fd, text, sizeof(text), MSG_DONTWAIT));
		close(fd);
	}
	unsetenv("NOTIFY_SOCKET");
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* F88 */
TEST the_options_of_fstab_are_taken(void)
{
	VOLUME_OR_SKIP();
	ASSERT_EQ(0, mount_with("defaults,rw,suid,dev,exec,auto,noauto,nofail,"
	                        "user,nouser,users,owner,group,_netdev,async,"
	                        "relatime,atime,diratime,x-systemd.automount,"
	                        "x-systemd.requires=a.mount,x-gvfs-show,"
	                        "comment=something,user=anne"));
	ASSERT_EQ(0, umount_it());
	ASSERT_EQ(EXIT_USAGE, mount_with("rw,x-fine,nofial"));
	ASSERT(strstr(said, "nofial"));
	ASSERT(!is_mounted(m.point));
	/* -o more than once; the last of ro and rw counts. */
	ASSERT_EQ(0, FRONDFS("mount", "-o", "ro", "-o", "nofail,rw", "-o",
	                     "noatime", "--keyfile", m.keyfile, m.volume,
	                     m.point));
	ASSERT_EQ(0, file_put(in("f"), "x", 1));
	ASSERT_EQ(0, umount_it());
	PASS();
}

/* The key file by -o, with a comma in its path. */
TEST a_comma_in_an_option_is_escaped(void)
{
	char options[700];

	VOLUME_OR_SKIP();
	ASSERT_EQ(0, rename(m.keyfile, mounted_path(m.dir, "key, =1%")));
	snprintf(options, sizeof(options), "nofail,keyfile=%s/key\\, =1%%,noatime",
	         m.dir);
	ASSERT_EQ(0, FRONDFS("mount", "-o", options, m.volume, m.point));
	ASSERT_EQ(0, file_put(in("f"), "x", 1));
	ASSERT_EQ(0, umount_it());
	/* Two ways to unlock are one too many. */
	ASSERT_EQ(EXIT_USAGE, FRONDFS("mount", "-o", options, "-o", options,
	                              m.volume, m.point));
	PASS();
}

/* F75: names of volume and mount point are taken as they are. */
TEST paths_with_odd_characters_are_taken_literally(void)
{
	static const char *const names[] = {
		"a,b", "with space", "100%s%n", "quo\"te's", "back\\slash",
		"line\nend", "-leading", "$(echo no)", "\xc3\xa4,ro",
		"fsname=x,subtype=y",
	};
	char start[300];

	VOLUME_OR_SKIP();
	ASSERT(getcwd(start, sizeof(start)));
	ASSERT_EQ(0, chdir(m.dir));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char point[200];

		/* Relative, as they are typed. */
		snprintf(point, sizeof(point), "%s.mnt", names[i]);
		ASSERT_EQ(0, rename(m.volume, names[i]));
		ASSERT_EQ(0, mkdir(point, 0755));
		ASSERT_EQ(0, FRONDFS("mount", "--keyfile", m.keyfile, "--",
		                     names[i], point));
		ASSERT_STR_EQ("", said);
		ASSERT(is_mounted(point));
		ASSERT_EQ(0, file_put(mounted_path(point, names[i]), "x", 1));
		ASSERT_EQ(1, path_entries(point));
		ASSERT_EQ(0, unlink(mounted_path(point, names[i])));
		ASSERT_EQ(0, FRONDFS("umount", "--", point));
		ASSERT(!is_mounted(point));
		ASSERT_EQ(0, rmdir(point));
		ASSERT_EQ(0, rename(names[i], m.volume));
	}
	/* By a link; and from inside the mount point. */
	ASSERT_EQ(0, symlink(m.point, "link"));
	ASSERT_EQ(0, FRONDFS("mount", "--keyfile", m.keyfile, "volume",
	                     "link"));
	ASSERT(is_mounted(m.point));
	ASSERT_EQ(0, FRONDFS("umount", "link"));
	ASSERT_EQ(0, chdir(m.point));
	ASSERT_EQ(0, FRONDFS("mount", "--keyfile", m.keyfile, "../volume",
	                     "."));
	ASSERT(is_mounted(m.point));
	ASSERT_EQ(0, chdir(start));
	ASSERT_EQ(0, umount_it());
	PASS();
}

/*
 * Errors
 */

/* F89, F90: nothing is made, nothing is mounted, nothing is on stdout, and
 * the sentence names what is wrong. */
struct mistake {
	int code;
	const char *words;
};

static enum greatest_test_res refused(struct mistake mistake,
                                      const char *const argv[])
{
	static char before[20000], after[20000];
	char command[4000] = "";
	int code, n = 0;

	ASSERT_EQ(0, MOUNTED_RUN(before, sizeof(before), "find", m.dir, "-printf",
	                         "%p %m %s %T@ %C@\n"));
	for (int i = 0; argv[i]; i++)
		n += snprintf(command + n, sizeof(command) - (size_t)n, "'%s' ",
		              argv[i]);
	/* stdout is what $() takes; it must stay empty. */
	snprintf(said, sizeof(said), "X=$('%s' %s </dev/null 2>&3); "
	         "C=$?; test -z \"$X\" || C=111; exit $C", FROND_BINARY, command);
	snprintf(command, sizeof(command), "exec 3>&1; %.3000s", said);
	code = MOUNTED_RUN(said, sizeof(said), "sh", "-c", command);
	ASSERT_EQ_FMT(mistake.code, code, "%d");
	if (!strstr(said, mistake.words))
		printf("no \"%s\" in: %s", mistake.words, said);
	ASSERT(strstr(said, mistake.words));
	ASSERT(!is_mounted(m.point));
	ASSERT_EQ(0, MOUNTED_RUN(after, sizeof(after), "find", m.dir, "-printf",
	                         "%p %m %s %T@ %C@\n"));
	ASSERT_STR_EQ(before, after);
	PASS();
}

#define REFUSED(code, words, ...)                                      \
	CHECK_CALL(refused((struct mistake){ code, words },            \
	                   (const char *const[]){ __VA_ARGS__, NULL }))

TEST each_mistake_has_its_code_and_sentence_and_makes_nothing(void)
{
	const char *inside, *file, *damaged, *conf;

	VOLUME_OR_SKIP();
	inside = mounted_path(m.volume, "inside");
	file = mounted_path(m.dir, "file");
	damaged = mounted_path(m.dir, "damaged");
	conf = mounted_path(m.dir, "damaged/frondfs.conf");
	ASSERT_EQ(0, mkdir(inside, 0755));
	ASSERT_EQ(0, file_put(file, "a key file that opens nothing at all", 36));
	ASSERT_EQ(0, MOUNTED_RUN(NULL, 0, "cp", "-a", m.volume, damaged));
	ASSERT_EQ(0, truncate(conf, path_size(conf) - 10));

	REFUSED(EXIT_MOUNTPOINT, "there is no mount point", "mount",
	        "--keyfile", m.keyfile, m.volume, "/nonexistent/mnt");
	REFUSED(EXIT_MOUNTPOINT, "not a directory", "mount", "--keyfile",
	        m.keyfile, m.volume, file);
	REFUSED(EXIT_MOUNTPOINT, "the volume itself", "mount", "--keyfile",
	        m.keyfile, m.volume, m.volume);
	REFUSED(EXIT_MOUNTPOINT, "inside the volume", "mount", "--keyfile",
	        m.keyfile, m.volume, inside);
	REFUSED(EXIT_MOUNTPOINT, "inside the mount point", "mount", "--keyfile",
	        m.keyfile, m.volume, m.dir);
	REFUSED(EXIT_NOT_EMPTY, "not empty", "mount", "--keyfile", m.keyfile,
	        m.volume, damaged);
	REFUSED(EXIT_NO_VOLUME, "frondfs.conf", "mount", "--keyfile",
	        m.keyfile, inside, m.point);
	REFUSED(EXIT_NO_VOLUME, "/nonexistent", "mount", "--keyfile",
	        m.keyfile, "/nonexistent/volume", m.point);
	REFUSED(EXIT_CONFIG_DAMAGED, "frondfs.conf", "mount", "--keyfile",
	        m.keyfile, damaged, m.point);
	REFUSED(EXIT_WRONG_KEY, "frondfs: ", "mount", "--keyfile", file,
	        m.volume, m.point);
	/* No terminal, no stdin, no option: at once. */
	REFUSED(EXIT_NO_PASSPHRASE, "frondfs: ", "mount", m.volume, m.point);
	REFUSED(EXIT_USAGE, "no-such", "mount", "-o", "no-such", "--keyfile",
	        m.keyfile, m.volume, m.point);
	REFUSED(EXIT_USAGE, "frondfs mount", "mount", "--no-such", m.volume,
	        m.point);
	REFUSED(EXIT_USAGE, "frondfs mount", "mount", m.volume);
	REFUSED(EXIT_USAGE, "frondfs mount", "mount", m.volume, m.point, "more");
	REFUSED(EXIT_MOUNTPOINT, "not a frondfs mount", "umount", m.point);
	REFUSED(EXIT_MOUNTPOINT, "/nonexistent", "umount", "/nonexistent");
	PASS();
}

static int hide_fuse_and_mount(void *unused)
{
	(void)unused;
	if (unshare(CLONE_NEWNS)
	    || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL)
	    || mknod(mounted_path(m.dir, "none"), S_IFCHR | 0600,
	             makedev(240, 99)) /* a device that there is not */
	    || mount(mounted_path(m.dir, "none"), "/dev/fuse", NULL, MS_BIND,
	             NULL))
		return 99;
	if (mounted_possible())
		return 98;
	return FRONDFS("mount", "--keyfile", m.keyfile, m.volume, m.point);
}

static int mount_as_stranger(void *unused)
{
	(void)unused;
	return FRONDFS("mount", "--keyfile", m.keyfile, m.volume, m.point);
}

static int run_in_child(int (*run)(void *))
{
	int status;

	fflush(NULL);
	if (!fork())
		_exit(run(NULL));
	return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status)
	                                              : -1;
}

TEST a_stranger_has_no_permission(void)
{
	int code;

	VOLUME_OR_SKIP();
	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	ASSERT_EQ(0, chmod(m.dir, 0755));
	ASSERT_EQ(0, chmod(m.keyfile, 0644));
	ASSERT_EQ(0, chown(m.point, 61009, 61009));
	code = as_user(61009, 61009, 0, NULL, mount_as_stranger, NULL);
	ASSERT_EQ_FMT((int)EXIT_PERMISSION, code, "%d");
	PASS();
}

TEST without_fuse_that_is_said(void)
{
	int code;

	VOLUME_OR_SKIP();
	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	code = run_in_child(hide_fuse_and_mount);
	if (code == 98 || code == 99)
		SKIP_BECAUSE("/dev/fuse cannot be hidden here");
	ASSERT_EQ_FMT((int)EXIT_NO_FUSE, code, "%d");
	PASS();
}

/* F90: -q leaves stderr for errors. */
TEST quiet_is_quiet(void)
{
	VOLUME_OR_SKIP();
	ASSERT_EQ(0, mount_with("rw"));
	ASSERT_STR_EQ("", said);
	ASSERT_EQ(0, umount_it());
	ASSERT_STR_EQ("", said);
	ASSERT_EQ(0, FRONDFS("mount", "-q", "--keyfile", m.keyfile, m.volume,
	                     m.point));
	ASSERT_STR_EQ("", said);
	ASSERT_EQ(0, FRONDFS("umount", "-q", m.point));
	ASSERT_STR_EQ("", said);
	ASSERT_EQ(EXIT_MOUNTPOINT, FRONDFS("umount", "-q", m.point));
	ASSERT(*said);
	PASS();
}

/*
 * Mount options at work
 */

static int remount(unsigned long flags)
{
	return mount(NULL, m.point, NULL, MS_REMOUNT | flags, NULL);
}

TEST a_remount_makes_it_read_only_and_back(void)
{
	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "x", 1));
	ASSERT_EQ(0, remount(MS_RDONLY));
	ASSERT_EQ(-EROFS, file_put(in("f"), "y", 1));
	ASSERT(file_is(in("f"), "x", 1));
	ASSERT_EQ(0, remount(0));
	ASSERT_EQ(0, file_put(in("f"), "y", 1));
	/* mount(8), without a helper program. */
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "mount", "-i", "-o",
	                         "remount,ro", m.point));
	ASSERT_EQ(-EROFS, file_put(in("f"), "z", 1));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static int read_file(void *unused)
{
	int fd = open(in("f"), O_RDONLY);

	(void)unused;
	return fd >= 0 ? 0 : errno;
}

TEST the_kernels_options_are_passed_on(void)
{
	VOLUME_OR_SKIP();
	ASSERT_EQ(0, mounted_mount(&m, "noexec"));
	ASSERT_EQ(0, file_put(in("f"), "#!/bin/sh\nexit 7\n", 17));
	ASSERT_EQ(0, chmod(in("f"), 0755));
	ASSERT_EQ(126, MOUNTED_RUN(said, sizeof(said), "sh", "-c",
	                           mounted_path(m.point, "f")));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(7, MOUNTED_RUN(said, sizeof(said), "sh", "-c",
	                         mounted_path(m.point, "f")));
	if (geteuid() == 0) {
		ASSERT_EQ(0, chmod(m.dir, 0755));
		ASSERT_EQ(EACCES, as_user(61009, 61009, 0, NULL, read_file,
		                          NULL));
		ASSERT_EQ(0, mounted_umount(&m));
		ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
		ASSERT_EQ(0, as_user(61009, 61009, 0, NULL, read_file, NULL));
	}
	/* df and findmnt name the volume. */
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "df", m.point));
	ASSERT(strstr(said, m.volume));
	ASSERT_EQ(0, mounted_umount(&m));
	/* Timeouts of the kernel's caches. */
	ASSERT_EQ(0, mounted_mount(&m, "attr_timeout=0,entry_timeout=0.5"));
	ASSERT_EQ(0, chmod(in("f"), 0700));
	ASSERT_EQ(0700, path_mode(in("f")));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * The end
 */

TEST signals_finish_the_files_that_are_open(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	static uint8_t data[300000];

	VOLUME_OR_SKIP();
	bytes_fill(data, sizeof(data), 3);
	for (int i = 0; i < 3; i++) {
		uint8_t *map;
		int fd, gone;

		ASSERT_EQ(0, mounted_mount(&m, NULL));
		fd = open(in("f"), O_RDWR | O_CREAT | O_TRUNC, 0644);
		ASSERT_EQ(200001, write(fd, data, 200001));
		gone = open(in("gone"), O_RDWR | O_CREAT, 0644);
		ASSERT_EQ(5000, write(gone, data, 5000));
		ASSERT_EQ(0, unlink(in("gone")));
		map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		ASSERT(map != MAP_FAILED);
		ASSERT_EQ(0, mounted_signal(&m, signals[i]));
		ASSERT(!is_mounted(m.point));
		ASSERT_EQ(0, volume_check(&m));
		ASSERT_EQ(3, path_entries(m.volume));
		munmap(map, 4096);
		close(fd);
		close(gone);
		ASSERT_EQ(0, mounted_mount(&m, NULL));
		ASSERT(file_is(in("f"), data, 200001));
		ASSERT_EQ(0, mounted_umount(&m));
	}
	PASS();
}

/* When umount returns, the volume is free: mounted again at once, with the
 * content that a moment ago was written. */
TEST umount_waits_for_the_end(void)
{
	static uint8_t data[3 << 20];

	VOLUME_OR_SKIP();
	for (int i = 0; i < 10; i++) {
		int fd;

		bytes_fill(data, sizeof(data), (unsigned)i);
		ASSERT_EQ(0, mount_with("rw"));
		fd = open(in("f"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
		ASSERT_EQ((ssize_t)sizeof(data), write(fd, data, sizeof(data)));
		ASSERT_EQ(0, close(fd));
		if (i % 2)
			ASSERT_EQ(0, umount_it());
		else
			ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "umount",
			                         m.point));
		if (i % 2)
			ASSERT_EQ(0, volume_check(&m));
		else
			pause_for(50);
	}
	ASSERT_EQ(0, mount_with("ro"));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	ASSERT_EQ(0, umount_it());
	PASS();
}

/* Where a mount was ended by other means than frondfs umount, its daemon may
 * still be finishing files when the next mount comes. */
TEST a_mount_waits_for_the_end_of_the_one_before(void)
{
	static uint8_t data[3 << 20];

	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	VOLUME_OR_SKIP();
	bytes_fill(data, sizeof(data), 4);
	for (int i = 0; i < 10; i++) {
		ASSERT_EQ(0, mount_with("rw"));
		ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
		ASSERT(file_is(in("f"), data, sizeof(data)));
		for (int tries = 0; umount2(m.point, 0); tries++) {
			ASSERT_EQ(EBUSY, errno);
			ASSERT(tries < 50);
			pause_for(20);
		}
	}
	ASSERT_EQ(0, mount_with("rw"));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	ASSERT_EQ(0, umount_it());
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* F83: and several dead ones on one another. */
TEST dead_mounts_are_taken_away(void)
{
	VOLUME_OR_SKIP();
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, mounted_mount(&m, "nonempty"));
		ASSERT_EQ(0, file_put(in("f"), "x", 1));
		kill(m.daemon, SIGKILL);
		waitpid(m.daemon, NULL, 0);
		m.daemon = 0;
		if (i == 1) {
			/* A foreground mount clears it, too. */
			ASSERT_EQ(0, mounted_mount(&m, NULL));
			ASSERT_EQ(0, mounted_umount(&m));
			ASSERT_EQ(0, path_entries(m.point));
		}
	}
	ASSERT_EQ(0, umount_it());
	ASSERT_EQ(0, path_entries(m.point));
	ASSERT_EQ(EXIT_MOUNTPOINT, umount_it());
	/* A file that was never written to again counts as unfinished at
	 * most; here each was closed. */
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/*
 * Requests that few make
 */

/* F91: answered, and the daemon lives on. */
TEST unusual_requests_are_answered(void)
{
	struct statx x;
	struct pollfd p;
	int fd, flags;

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "text", 4));
	fd = open(in("f"), O_RDWR);
	ASSERT(fd >= 0);
	ASSERT_EQ(0, statx(fd, "", AT_EMPTY_PATH,
	                   STATX_BASIC_STATS | STATX_BTIME, &x));
	ASSERT_EQ(4, (int)x.stx_size);
	ASSERT_EQ(-1, ioctl(fd, FS_IOC_GETFLAGS, &flags));
	ASSERT(errno == ENOTTY || errno == ENOSYS || errno == EOPNOTSUPP);
	ASSERT_EQ(-1, ioctl(fd, 0x12345678, &flags));
	ASSERT(errno == ENOTTY || errno == ENOSYS);
	ioctl(fd, FIBMAP, &flags);
	p = (struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT };
	ASSERT_EQ(1, poll(&p, 1, 1000));
	ASSERT_EQ(POLLIN | POLLOUT, p.revents);
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
	ASSERT_EQ(0, sync_file_range(fd, 0, 4, SYNC_FILE_RANGE_WRITE));
	ASSERT_EQ(0, syncfs(fd));
	ASSERT_EQ(0, close(fd));
	/* A file without a name: made, or said to be impossible. */
	fd = open(m.point, O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0) {
		ASSERT_EQ(4, write(fd, "text", 4));
		ASSERT_EQ(0, close(fd));
	} else {
		ASSERT_EQ(EOPNOTSUPP, errno);
	}
	/* An old kernel's mount, by its magic; a device node. */
	if (geteuid() == 0) {
		ASSERT_EQ(0, mknod(in("null"), S_IFCHR | 0666, 0x103));
		ASSERT_EQ(0, unlink(in("null")));
	}
	ASSERT(file_is(in("f"), "text", 4));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A process that is killed while it waits for the daemon. */
TEST interrupted_readers_and_writers_do_no_harm(void)
{
	static uint8_t data[2 << 20];

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 5);
	for (int i = 0; i < 30; i++) {
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			for (;;) {
				file_put(in("f"), data, sizeof(data));
				path_entries(m.point);
			}
		}
		pause_for(5 + i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * The log
 */

/* F93: names of the ciphertext only, and not a line for each error. */
TEST the_log_holds_no_plaintext_names_and_stays_short(void)
{
	static const char secret[] = "secret name";
	uint8_t data[20000], byte;
	struct dirent *d;
	char *log;
	DIR *dir;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 6);
	ASSERT_EQ(0, mkdir(in(secret), 0755));
	ASSERT_EQ(0, file_put(in("secret name.txt"), data, sizeof(data)));
	ASSERT_EQ(0, symlink("secret target", in("secret link")));
	ASSERT_EQ(0, mounted_umount(&m));
	/* Damage the only file, a name, and an id file. */
	dir = opendir(m.volume);
	while ((d = readdir(dir))) {
		struct stat st;

		if (*d->d_name == '.' || !strncmp(d->d_name, "frondfs", 7)
		    || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW)
		    || !S_ISREG(st.st_mode))
			continue;
		fd = openat(dirfd(dir), d->d_name, O_RDWR);
		ASSERT_EQ(1, pread(fd, &byte, 1, 9000));
		byte ^= 1;
		ASSERT_EQ(1, pwrite(fd, &byte, 1, 9000));
		close(fd);
	}
	closedir(dir);
	ASSERT_EQ(0, mkdir(mounted_path(m.volume, "foreign"), 0755));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	for (int i = 0; i < 200; i++) {
		fd = open(in("secret name.txt"), O_RDONLY);
		ASSERT(fd >= 0);
		ASSERT_EQ(-1, pread(fd, data, sizeof(data), 8100));
		ASSERT_EQ(EIO, errno);
		close(fd);
		ASSERT_EQ(3, path_entries(m.point));
		ASSERT_EQ(-1, rmdir(in("secret none")));
	}
	ASSERT_EQ(0, mounted_umount(&m));
	log = calloc(1, 100001);
	fd = open(m.log, O_RDONLY);
	ASSERT(read(fd, log, 100000) > 0); /* it says something */
	close(fd);
	ASSERT(!strstr(log, "secret"));
	ASSERT(strstr(log, "sector"));
	ASSERT(strlen(log) < 3000);
	free(log);
	PASS();
}

SUITE(session)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_script_that_mounts_goes_on_and_finds_the_files);
	RUN_TEST(without_standard_files_it_mounts_and_returns);
	RUN_TEST(a_service_manager_is_told_when_it_can_be_used);
	RUN_TEST(the_options_of_fstab_are_taken);
	RUN_TEST(a_comma_in_an_option_is_escaped);
	RUN_TEST(paths_with_odd_characters_are_taken_literally);
	RUN_TEST(each_mistake_has_its_code_and_sentence_and_makes_nothing);
	RUN_TEST(a_stranger_has_no_permission);
	RUN_TEST(without_fuse_that_is_said);
	RUN_TEST(quiet_is_quiet);
	RUN_TEST(a_remount_makes_it_read_only_and_back);
	RUN_TEST(the_kernels_options_are_passed_on);
	RUN_TEST(signals_finish_the_files_that_are_open);
	RUN_TEST(umount_waits_for_the_end);
	RUN_TEST(a_mount_waits_for_the_end_of_the_one_before);
	RUN_TEST(dead_mounts_are_taken_away);
	RUN_TEST(unusual_requests_are_answered);
	RUN_TEST(interrupted_readers_and_writers_do_no_harm);
	RUN_TEST(the_log_holds_no_plaintext_names_and_stays_short);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(session);
	GREATEST_MAIN_END();
}
