/* Read-only mounts: every change is refused, and nothing in the ciphertext
 * changes, times included. Row F56 of the field's troubles. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/support.h"

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

#define FRONDFS(...) MOUNTED_RUN(said, sizeof(said), "frondfs", __VA_ARGS__)

static char *everything(void)
{
	char *text = calloc(1, 60000);

	/* By find alone: its own reading of directories changes no time on
	 * a file system with relatime, as they were just read. */
	MOUNTED_RUN(text, 60000, "sh", "-c",
	            "cd \"$1\" && find . -printf "
	            "'%p %y %m %U %G %n %s %i %A@ %T@ %C@ %l\\n' | sort; "
	            "getfattr -hRd -m - . 2>/dev/null", "sh", m.volume);
	return text;
}

static bool nothing_changed(char *before)
{
	char *after = everything();
	bool same = !strcmp(before, after);

	for (size_t i = 0, line = 0; !same && before[i]; i++) {
		if (before[i] == '\n')
			line = i + 1;
		if (before[i] != after[i]) {
			printf("was: %.*s\n is: %.*s\n",
			       (int)strcspn(before + line, "\n"), before + line,
			       (int)strcspn(after + line, "\n"), after + line);
			break;
		}
	}
	free(after);
	return same;
}

/* All changes are refused with EROFS. */
static enum greatest_test_res refuse_changes(void)
{
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

#define ASSERT_EROFS(call)                                             \
	do {                                                           \
		errno = 0;                                             \
		ASSERT_EQ(-1, call);                                   \
		ASSERT_EQ(EROFS, errno);                               \
	} while (0)

	ASSERT_EROFS(open(in("f"), O_WRONLY));
	ASSERT_EROFS(open(in("f"), O_RDWR));
	ASSERT_EROFS(open(in("f"), O_WRONLY | O_TRUNC));
	ASSERT_EROFS(open(in("new"), O_WRONLY | O_CREAT, 0644));
	ASSERT_EROFS(truncate(in("f"), 0));
	ASSERT_EROFS(mkdir(in("new"), 0755));
	ASSERT_EROFS(rmdir(in("d/empty")));
	ASSERT_EROFS(unlink(in("f")));
	ASSERT_EROFS(rename(in("f"), in("g")));
	ASSERT_EROFS(link(in("f"), in("g")));
	ASSERT_EROFS(symlink("x", in("new")));
	ASSERT_EROFS(mkfifo(in("new"), 0644));
	ASSERT_EROFS(chmod(in("f"), 0600));
	ASSERT_EROFS(lchown(in("f"), getuid(), getgid()));
	ASSERT_EROFS(utimensat(AT_FDCWD, in("f"), times, 0));
	ASSERT_EROFS(setxattr(in("f"), "user.new", "x", 1, 0));
	ASSERT_EROFS(removexattr(in("f"), "user.a"));
	PASS();
}

/* Reads all that can be read. */
static enum greatest_test_res read_all(const uint8_t *data)
{
	char text[5000], value[10];
	struct stat st;

	ASSERT(file_is(in("f"), data, 100000));
	ASSERT(file_is(in("d/g"), data, 10));
	ASSERT_EQ(4, path_entries(m.point));
	ASSERT_EQ(2, path_entries(in("d")));
	ASSERT_EQ(6, readlink(in("l"), text, sizeof(text)));
	ASSERT_EQ(4000, readlink(in("long"), text, sizeof(text)));
	ASSERT_EQ(1, getxattr(in("f"), "user.a", value, sizeof(value)));
	ASSERT_EQ(7, listxattr(in("f"), text, sizeof(text)));
	ASSERT_EQ(0, stat(in("d/empty"), &st));
	PASS();
}

static enum greatest_test_res make_things(const uint8_t *data)
{
	char target[4001];

	memset(target, 't', 4000);
	target[4000] = 0;
	ASSERT_EQ(0, file_put(in("f"), data, 100000));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, mkdir(in("d/empty"), 0755));
	ASSERT_EQ(0, file_put(in("d/g"), data, 10));
	ASSERT_EQ(0, symlink("target", in("l")));
	ASSERT_EQ(0, symlink(target, in("long")));
	ASSERT_EQ(0, setxattr(in("f"), "user.a", "x", 1, 0));
	PASS();
}

/* Access times in the past, older than what was changed, so that relatime
 * would set them at the first reading. */
static int age(void)
{
	return MOUNTED_RUN(NULL, 0, "find", m.volume, "-exec", "touch", "-h",
	                   "-a", "-d", "2001-01-01", "{}", "+");
}

/* F56 */
TEST a_read_only_mount_changes_nothing_in_the_ciphertext(void)
{
	static uint8_t data[100000];
	char *before;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 1);
	CHECK_CALL(make_things(data));
	/* One file that is not finalized. */
	fd = open(in("f"), O_WRONLY);
	ASSERT_EQ(100000, write(fd, data, 100000));
	ASSERT_EQ(0, ftruncate(fd, 99000));
	ASSERT_EQ(1000, pwrite(fd, data + 99000, 1000, 99000));
	mounted_kill(&m);
	close(fd);
	/* Directories are read by find; the second time its reading is no
	 * news. */
	ASSERT_EQ(0, age());
	free(everything());
	before = everything();
	ASSERT_EQ(0, mounted_mount(&m, "ro"));
	CHECK_CALL(read_all(data));
	CHECK_CALL(refuse_changes());
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT(nothing_changed(before));
	/* The key file is not written to, and there may be many. */
	ASSERT_EQ(0, mounted_mount(&m, "ro"));
	ASSERT_EQ(0, mkdir(mounted_path(m.dir, "second"), 0755));
	ASSERT_EQ(0, FRONDFS("mount", "-o", "ro", "--keyfile", m.keyfile,
	                     m.volume, mounted_path(m.dir, "second")));
	ASSERT(file_is(mounted_path(m.dir, "second/f"), data, 100000));
	ASSERT_EQ(0, FRONDFS("umount", mounted_path(m.dir, "second")));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT(nothing_changed(before));
	free(before);
	PASS();
}

/* F56: a snapshot, a DVD. */
TEST a_volume_on_a_read_only_file_system_is_mounted_read_only(void)
{
	static uint8_t data[100000];
	int code;

	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 2);
	CHECK_CALL(make_things(data));
	UNMOUNT_AND_CHECK(&m);
	ASSERT_EQ(0, mount(m.volume, m.volume, NULL, MS_BIND, NULL));
	ASSERT_EQ(0, mount(NULL, m.volume, NULL,
	                   MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
	code = FRONDFS("mount", "--keyfile", m.keyfile, m.volume, m.point);
	if (!code) {
		enum greatest_test_res result = read_all(data);

		if (result == GREATEST_TEST_RES_PASS)
			result = refuse_changes();
		code = FRONDFS("umount", m.point) || result != GREATEST_TEST_RES_PASS;
	}
	umount2(m.volume, MNT_DETACH);
	ASSERT_EQ(0, code);
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

SUITE(read_only)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_read_only_mount_changes_nothing_in_the_ciphertext);
	RUN_TEST(a_volume_on_a_read_only_file_system_is_mounted_read_only);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(read_only);
	GREATEST_MAIN_END();
}
