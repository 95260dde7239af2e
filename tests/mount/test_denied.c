/*
 * An ordinary user's own mount, and files that their modes forbid even him to
 * read: the daemon must read them to append to them, or to enter a directory.
 * Rows F47 and F48 of the field's troubles.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/mount/opener.h"
#include "mount/support.h"
#include "mount/users.h"

static struct mounted m;
static char plain[300];
static bool prepared;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* Whether Anne may have user namespaces, without which it cannot be done. */
static int try_namespace(void *unused)
{
	(void)unused;
	return system("unshare --user true 2>/dev/null") ? 1 : 0;
}

#define ANNES_MOUNT_OR_SKIP()                                          \
	do {                                                           \
		if (!prepared || !mounted_possible()                   \
		    || !have_program("fusermount3"))                   \
			SKIP_BECAUSE("no mount of a user's own");      \
		if (as_user(ANNE, ANNE, 0, NULL, try_namespace, NULL)) \
			SKIP_BECAUSE("no user namespaces for users");  \
		ASSERT_EQ(0, mounted_make_for(&m, ANNE));              \
		snprintf(plain, sizeof(plain), "%s/plain", m.dir);     \
		ASSERT_EQ(0, mkdir(plain, 0755));                      \
		ASSERT_EQ(0, chown(plain, ANNE, ANNE));                \
		ASSERT_EQ(0, chmod(m.dir, 0755));                      \
		ASSERT_EQ(0, mounted_mount(&m, NULL));                 \
	} while (0)

#define ASSERT_SAME(text)                                              \
	do {                                                           \
		const struct deed deed_ = {                            \
			.uid = ANNE, .gid = ANNE, .script = text       \
		};                                                     \
		ASSERT(users_same_deed(&m, plain, &deed_));            \
		ASSERT(users_same_listing(&m, plain, ANNE));           \
	} while (0)

TEST files_that_must_not_be_read_are_written(void)
{
	ANNES_MOUNT_OR_SKIP();
	ASSERT_SAME("seq 5000 >f; chmod 200 f; echo more >>f && stat -c '%a %s' f;"
	            "cat f; printf abc | dd of=f bs=1 seek=5000 conv=notrunc"
	            " status=none; truncate -s 9000 f; truncate -s 90000 f;"
	            "stat -c '%a %s' f");
	ASSERT_SAME("chmod 600 f; sha256sum f; chmod 200 f; : >f; stat -c %s f");
	/* Open for reading already, when it is opened for writing. */
	ASSERT_SAME("seq 99 >g; chmod 400 g; exec 3<g; chmod 200 g;"
	            "echo more >>g; cat <&3; rm -f g");
	/* What the kernel forbids stays so. */
	ASSERT_SAME("seq 99 >h; for mode in 000 444 222 111; do chmod $mode h;"
	            "cat h 2>/dev/null | wc -c; echo x 2>/dev/null >>h;"
	            "stat -c '%a %s' h; done");
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, run_script(m.dir, "chmod -R u+rw volume"));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

TEST directories_that_must_not_be_read_are_used(void)
{
	ANNES_MOUNT_OR_SKIP();
	ASSERT_SAME("mkdir -p d/e; echo text >d/f; mv d/f d/g; chmod 311 d;"
	            "chmod 111 d/e");
	/* With no directory open. */
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_SAME("cat d/g; ls d; echo new >d/h && cat d/h; mkdir d/i && rmdir d/i;"
	            "mv d/h d/j; ln d/j d/k; rm d/j; stat -c %a d d/e;"
	            "ls d/e; touch d/e/x; mv d dd; cat dd/k");
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_SAME("cat dd/g; cat dd/k; ls dd; rm dd/k dd/g; rmdir dd/e dd;"
	            "stat dd");
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* The number of processes with the option that are there; the first's id. */
static int openers(pid_t *first)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int count = 0;

	while ((d = readdir(proc))) {
		char path[300], text[100] = "";
		ssize_t n;
		int fd;

		if (atoi(d->d_name) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", d->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (n > 8 && !strcmp(text, "frondfs")
		    && !strcmp(text + 8, OPENER_OPTION)) {
			snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
			count += !access(path, F_OK);
			*first = atoi(d->d_name);
		}
	}
	closedir(proc);
	return count;
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 200 && !kill(pid, 0); i++)
		pause_for(10);
	return kill(pid, 0) && errno == ESRCH;
}

/* It is there only when it was needed, and never longer than the daemon. */
TEST the_opener_comes_and_goes_with_the_daemon(void)
{
	static const char append[] = "touch f; echo 1 >>f; chmod 200 f; echo 2 >>f";
	pid_t pid = 0;
	int before;

	before = openers(&pid);
	ANNES_MOUNT_OR_SKIP();
	if (before)
		SKIP_BECAUSE("another mount's opener is there");
	ASSERT_SAME("echo text >g; cat g");
	ASSERT_EQ(0, openers(&pid));
	ASSERT_SAME(append);
	ASSERT_EQ(1, openers(&pid));
	ASSERT_SAME(append);
	ASSERT_EQ(1, openers(&pid));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT(is_gone(pid));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_SAME(append);
	ASSERT_EQ(1, openers(&pid));
	/* Without it the call fails, and the daemon lives. */
	kill(pid, SIGKILL);
	ASSERT_EQ(0, run_script(m.dir, "setpriv --reuid 61001 --regid 61001 "
	                               "--clear-groups sh -c '! echo 3 >>mnt/f'"
	                               " 2>/dev/null"));
	ASSERT_SAME("cat g");
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_SAME(append);
	ASSERT_EQ(1, openers(&pid));
	mounted_kill(&m);
	ASSERT(is_gone(pid));
	PASS();
}

SUITE(denied)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(files_that_must_not_be_read_are_written);
	RUN_TEST(directories_that_must_not_be_read_are_used);
	RUN_TEST(the_opener_comes_and_goes_with_the_daemon);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	prepared = users_take_device();
	RUN_SUITE(denied);
	GREATEST_MAIN_END();
}
