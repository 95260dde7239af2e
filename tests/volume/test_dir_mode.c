/*
 * Modes and owners: what a user gets is what the store itself gives for the
 * same call, with a daemon of his own and with one that runs as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir_support.h"

enum { USER = 65534, GROUP = 65534, OTHER_GROUP = 12345 };

#define NEED_ROOT() do { \
	if (geteuid() != 0) \
		SKIPm("needs root"); \
} while (0)

/* Run a test's body as an ordinary user: its failures are exit codes. */
static int as_user(int (*body)(struct place *), struct place *p)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setgid(GROUP) || setuid(USER))
			_exit(99);
		_exit(body(p));
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status)
	               ? WEXITSTATUS(status) : 98;
}

#define EXPECT(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
		return 1; \
	} \
} while (0)

/* A place whose root belongs to the user. */
static void user_place(struct place *p, const char *top)
{
	char name[NAME_DIR_TEXT];
	uint8_t id[ID_SIZE];

	place_make(p, top, 255);
	dir_id(p->root, id);
	name_dir_text(name, id);
	if (fchown(p->volume.root, USER, GROUP) ||
	    fchownat(p->volume.root, name, USER, GROUP, 0))
		exit(1);
}

static int every_mode_body(struct place *p)
{
	struct dir_entry entry;
	struct stat st;
	char byte;

	for (mode_t mode = 0; mode <= 01777; mode++) {
		int fd;

		EXPECT(!dir_mkdir(p->root, "d", mode, NULL, &entry));
		EXPECT(!dir_find(p->root, "d", &entry, &st));
		EXPECT((st.st_mode & 07777) == mode);
		/* Removed whatever the mode. */
		EXPECT(!dir_rmdir(p->root, "d"));
		if (mode > 0777)
			continue;
		EXPECT(!dir_create(p->root, "f", mode, NULL, &entry, &fd));
		EXPECT(!fstat(fd, &st) && (st.st_mode & 07777) == mode);
		EXPECT(write(fd, "x", 1) == 1 && pread(fd, &byte, 1, 0) == 1);
		close(fd);
		EXPECT(!dir_unlink(p->root, "f"));
	}
	return 0;
}

TEST every_mode(const char *top)
{
	struct place p;
	char *texts;

	NEED_ROOT();
	user_place(&p, top);
	ASSERT_EQ(0, as_user(every_mode_body, &p));
	texts = texts_of(p.root);
	ASSERT_STR_EQ("", texts);
	free(texts);
	place_remove(&p);
	PASS();
}

static int full_directories_body(struct place *p)
{
	struct dir_entry entry;
	struct stat st;

	for (mode_t mode = 0; mode <= 0777; mode += 0100) {
		struct dir *d;
		char path[32];
		int fd;

		put_dir(p->root, "d");
		d = sub_open(p, p->root, "d");
		put_file(d, "inside");
		EXPECT(!fchmod(dir_fd(d), mode));
		EXPECT(dir_rmdir(p->root, "d") == -ENOTEMPTY);
		/* Nothing changed by it: not the mode, not the name. */
		EXPECT(!dir_find(p->root, "d", &entry, &st));
		EXPECT((st.st_mode & 07777) == mode);
		fd = openat(dir_fd(p->root), entry.text, O_PATH);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		EXPECT(!chmod(path, 0700));
		close(fd);
		EXPECT(!dir_unlink(d, "inside"));
		dir_unref(d);
		EXPECT(!dir_rmdir(p->root, "d"));
	}
	return 0;
}

TEST full_directories(void)
{
	struct place p;

	NEED_ROOT();
	user_place(&p, "/dev/shm");
	ASSERT_EQ(0, as_user(full_directories_body, &p));
	place_remove(&p);
	PASS();
}

static int replaced_directories_body(struct place *p)
{
	struct dir_entry entry;
	struct stat st;

	/* rename(2) over an empty directory of any mode. */
	for (mode_t mode = 0; mode <= 0777; mode += 0100) {
		EXPECT(!dir_mkdir(p->root, "old", mode, NULL, &entry));
		EXPECT(!dir_mkdir(p->root, "new", 0755, NULL, &entry));
		EXPECT(!dir_rename(p->root, "new", p->root, "old", 0, &entry,
		                   NULL));
		EXPECT(dir_find(p->root, "new", &entry, &st) == -ENOENT);
		EXPECT(!dir_find(p->root, "old", &entry, &st));
		EXPECT((st.st_mode & 07777) == 0755);
		EXPECT(!dir_rmdir(p->root, "old"));
	}
	return 0;
}

TEST replaced_directories(void)
{
	struct place p;

	NEED_ROOT();
	user_place(&p, "/dev/shm");
	ASSERT_EQ(0, as_user(replaced_directories_body, &p));
	place_remove(&p);
	PASS();
}

/* An ACL as the kernel keeps it in an attribute. */
static int set_default_acl(int fd)
{
	struct {
		uint32_t version;
		struct { uint16_t tag, perm; uint32_t id; } e[5];
	} acl = { 2, {
		{ 0x01, 5, 0xffffffff }, /* owner r-x */
		{ 0x02, 7, 4711 },       /* a user rwx */
		{ 0x04, 5, 0xffffffff }, /* group r-x */
		{ 0x10, 7, 0xffffffff }, /* mask rwx */
		{ 0x20, 0, 0xffffffff }, /* others --- */
	} };

	return fsetxattr(fd, "system.posix_acl_default", &acl, sizeof(acl), 0);
}

/* What the store itself gives to a process of the user, in a directory like
 * the volume's root. */
static int plain_make(int dir, bool is_dir, mode_t mode, mode_t mask)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		int fd;

		umask(mask);
		if (setgid(GROUP) || setuid(USER))
			_exit(1);
		if (is_dir)
			_exit(mkdirat(dir, "x", mode) ? 1 : 0);
		fd = openat(dir, "x", O_CREAT | O_EXCL | O_RDWR, mode);
		_exit(fd < 0 ? 1 : 0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int acl_of(int dir, const char *text, char *acl, size_t size,
                  const char *which)
{
	char path[32];
	ssize_t n;
	int fd = openat(dir, text, O_PATH);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = getxattr(path, which, acl, size);
	close(fd);
	return (int)n;
}

/* A daemon that runs as root makes entries for a user. */
TEST same_as_store(const char *top, mode_t parent_mode, bool with_acl)
{
	static const mode_t modes[] = { 0, 0644, 0666, 0777, 0600, 0444, 0100,
	                                0244, 04755, 02755, 01777, 0500 };
	static const mode_t masks[] = { 0, 022, 077, 0777 };
	struct dir_entry entry;
	struct place p;
	char plain_path[100];
	int plain;

	NEED_ROOT();
	place_make(&p, top, 255);
	snprintf(plain_path, sizeof(plain_path), "%s.plain", p.path);
	ASSERT_EQ(0, mkdir(plain_path, 0755));
	plain = open(plain_path, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 2; i++) {
		int fd = i ? plain : p.volume.root;

		ASSERT_EQ(0, fchown(fd, 0, OTHER_GROUP));
		ASSERT_EQ(0, fchmod(fd, parent_mode));
		if (with_acl && set_default_acl(fd))
			SKIPm("the store has no ACLs");
	}
	for (size_t i = 0; i < 2 * sizeof(modes) / sizeof(*modes) * 4; i++) {
		bool is_dir = i & 1;
		mode_t mode = modes[i / 8], mask = masks[i / 2 % 4];
		struct dir_caller caller = { USER, GROUP, mask };
		struct stat st, right;
		char acl[200], right_acl[200];
		int fd, n;

		/* The setgid bit of a file in a foreign group is for the
		 * kernel to drop, before it asks the daemon. */
		if (!is_dir && mode & S_ISGID && parent_mode & S_ISGID)
			continue;
		ASSERT_EQ(0, plain_make(plain, is_dir, mode, mask));
		if (is_dir) {
			ASSERT_EQ(0, dir_mkdir(p.root, "x", mode, &caller,
			                       &entry));
		} else {
			ASSERT_EQ(0, dir_create(p.root, "x", mode, &caller,
			                        &entry, &fd));
			close(fd);
		}
		ASSERT_EQ(0, fstatat(plain, "x", &right, 0));
		ASSERT_EQ(0, dir_find(p.root, "x", &entry, &st));
		ASSERT_EQ_FMT(right.st_mode, st.st_mode, "%o");
		ASSERT_EQ(right.st_uid, st.st_uid);
		ASSERT_EQ(right.st_gid, st.st_gid);
		ASSERT_EQ(right.st_nlink, st.st_nlink);
		for (int k = 0; k < 2; k++) {
			const char *which = k ? "system.posix_acl_default"
			                      : "system.posix_acl_access";

			n = acl_of(plain, "x", right_acl, 200, which);
			ASSERT_EQ(n, acl_of(dir_fd(p.root), entry.text, acl,
			                    200, which));
			if (n > 0)
				ASSERT_MEM_EQ(right_acl, acl, n);
		}
		if (is_dir) {
			ASSERT_EQ(0, dir_rmdir(p.root, "x"));
			ASSERT_EQ(0, unlinkat(plain, "x", AT_REMOVEDIR));
		} else {
			ASSERT_EQ(0, dir_unlink(p.root, "x"));
			ASSERT_EQ(0, unlinkat(plain, "x", 0));
		}
	}
	close(plain);
	rmdir(plain_path);
	place_remove(&p);
	PASS();
}

/* Nodes and links belong to the caller as well. */
TEST other_kinds(void)
{
	struct dir_caller caller = { USER, GROUP, 022 };
	struct dir_entry entry;
	struct place p;
	struct stat st;

	NEED_ROOT();
	place_make(&p, "/dev/shm", 255);
	ASSERT_EQ(0, dir_symlink(p.root, "l", "x", &caller, &entry));
	ASSERT_EQ(0, dir_find(p.root, "l", &entry, &st));
	ASSERT(st.st_uid == USER && st.st_gid == GROUP);
	ASSERT_EQ(0, dir_mknod(p.root, "n", S_IFIFO | 0666, 0, &caller, &entry));
	ASSERT_EQ(0, dir_find(p.root, "n", &entry, &st));
	ASSERT(st.st_uid == USER && st.st_gid == GROUP);
	ASSERT_EQ(S_IFIFO | 0644, st.st_mode);
	ASSERT_EQ(0, dir_mknod(p.root, "s", S_IFREG | 06777, 0, &caller,
	                       &entry));
	ASSERT_EQ(0, dir_find(p.root, "s", &entry, &st));
	ASSERT_EQ(S_IFREG | 06755, st.st_mode);
	place_remove(&p);
	PASS();
}

/* The tool's own files can be read by whom the directory lets in. */
TEST helper_files(void)
{
	static const mode_t modes[] = { 0755, 0700, 0770, 0511, 0 };
	struct dir_caller caller = { USER, GROUP, 0 };
	char name[257], text[300];
	struct dir_entry entry;
	struct place p;
	struct stat st;
	uint8_t id[ID_SIZE];

	NEED_ROOT();
	place_make(&p, "/dev/shm", 255);
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct dir *d;

		ASSERT_EQ(0, dir_mkdir(p.root, "d", modes[i], &caller, &entry));
		d = sub_open(&p, p.root, "d");
		dir_id(d, id);
		name_dir_text(text, id);
		ASSERT_EQ(0, fstatat(dir_fd(d), text, &st, 0));
		ASSERT_EQ(S_IFREG | (modes[i] & 0666) | 0600, st.st_mode);
		ASSERT(st.st_uid == USER && st.st_gid == GROUP);
		entry = put_file(d, name_of_length(name, 200));
		snprintf(text, sizeof(text), "%s.name", entry.text);
		ASSERT_EQ(0, fstatat(dir_fd(d), text, &st, 0));
		ASSERT_EQ(S_IFREG | (modes[i] & 0666) | 0600, st.st_mode);
		ASSERT(st.st_uid == USER && st.st_gid == GROUP);
		ASSERT_EQ(0, dir_unlink(d, name));
		dir_unref(d);
		ASSERT_EQ(0, dir_rmdir(p.root, "d"));
	}
	place_remove(&p);
	PASS();
}

/* Looking does not touch access times, and never more than was asked for. */
TEST access_times(void)
{
	static const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	char name[257], text[300], target[4096];
	struct dir_entry entry, link;
	struct place p;
	struct stat st;
	struct dir *d;

	place_make(&p, "/tmp", 255);
	put_dir(p.root, "d");
	d = sub_open(&p, p.root, "d");
	entry = put_file(d, name_of_length(name, 200));
	ASSERT_EQ(0, dir_symlink(d, "l", "target", NULL, &link));
	snprintf(text, sizeof(text), "%s.name", entry.text);
	ASSERT_EQ(0, utimensat(dir_fd(d), text, old, 0));
	ASSERT_EQ(0, utimensat(dir_fd(d), link.text, old, AT_SYMLINK_NOFOLLOW));
	ASSERT_EQ(0, utimensat(dir_fd(d), ".", old, 0));
	dir_unref(d);
	d = sub_open(&p, p.root, "d");
	ASSERT(inode_of(d, name));
	ASSERT_EQ(0, dir_find(d, "l", &entry, &st));
	ASSERT_EQ(0, dir_plain_stat(d, entry.text, &st));
	ASSERT_EQ(6, st.st_size);
	ASSERT_EQ(0, fstatat(dir_fd(d), ".", &st, 0));
	ASSERT_EQ(1000, st.st_atim.tv_sec);
	ASSERT_EQ(0, fstatat(dir_fd(d), link.text, &st, AT_SYMLINK_NOFOLLOW));
	ASSERT_EQ(1000, st.st_atim.tv_sec);
	free(names_of(d));
	ASSERT_EQ(0, fstatat(dir_fd(d), text, &st, 0));
	ASSERT_EQ(1000, st.st_atim.tv_sec);
	ASSERT_EQ(6, dir_readlink(d, link.text, target));
	dir_unref(d);
	place_remove(&p);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	static const char *const tops[] = { "/tmp", "/dev/shm" };

	GREATEST_MAIN_BEGIN();
	for (size_t i = 0; i < 2; i++) {
		RUN_TESTp(every_mode, tops[i]);
		RUN_TESTp(same_as_store, tops[i], 0777, false);
		RUN_TESTp(same_as_store, tops[i], 02777, false);
		RUN_TESTp(same_as_store, tops[i], 0777, true);
		RUN_TESTp(same_as_store, tops[i], 02777, true);
	}
	RUN_TEST(full_directories);
	RUN_TEST(replaced_directories);
	RUN_TEST(other_kinds);
	RUN_TEST(helper_files);
	RUN_TEST(access_times);
	GREATEST_MAIN_END();
}
