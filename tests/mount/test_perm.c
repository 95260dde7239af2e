/*
 * Permissions, owners and ACLs through a mount. Rows F47 to F55 of the
 * field's troubles. Most of it is compared with the same calls in a plain
 * directory beside the volume. As root with allow_other, and as an ordinary
 * user's own mount.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/users.h"

static struct mounted m;
static char plain[300]; /* a plain directory on the volume's file system */
static bool device_for_all; /* /dev/fuse, in the mounts of this process */

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* The mount is root's, and its top directory for all. */
#define SHARED_OR_SKIP()                                               \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
		MOUNT_OR_SKIP(&m, "allow_other");                      \
		ASSERT_EQ(0, make_plain(0));                           \
		ASSERT_EQ(0, chmod(plain, 01777));                     \
		ASSERT_EQ(0, chmod(m.point, 01777));                   \
	} while (0)

/* The mount is an ordinary user's own. */
#define OWN_OR_SKIP()                                                  \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root, who makes the user");  \
		if (!device_for_all)                                   \
			SKIP_BECAUSE("no mounts of our own to be had"); \
		if (!have_program("fusermount3"))                      \
			SKIP_BECAUSE("fusermount3 is not installed");  \
		ASSERT_EQ(0, mounted_make_for(&m, ANNE));              \
		ASSERT_EQ(0, make_plain(ANNE));                        \
		ASSERT_EQ(0, mounted_mount(&m, NULL));                 \
	} while (0)

/* as_user with these; it returns 0. */
#define ASSERT_RUNS(...)                                               \
	do {                                                           \
		int code_ = as_user(__VA_ARGS__);                      \
		ASSERT_EQ_FMT(0, code_, "%d");                         \
	} while (0)

static const struct deed as_anne = { .uid = ANNE, .gid = ANNE };

static int make_plain(uid_t user)
{
	snprintf(plain, sizeof(plain), "%.250s/plain", m.dir);
	return mkdir(plain, 0755) || chown(plain, user, user)
	       || chmod(m.dir, 0755) ? -1 : 0;
}

#define ASSERT_SAME(...)                                               \
	do {                                                           \
		const struct deed deed_ = { __VA_ARGS__ };             \
		ASSERT(users_same_deed(&m, plain, &deed_));                         \
		ASSERT(users_same_listing(&m, plain, 0));                               \
	} while (0)

/*
 * Modes
 */

static const mode_t modes[] = {
	0000, 0001, 0100, 0200, 0244, 0300, 0400, 0444, 0500, 0555, 0600, 0644,
	0700, 0711, 0755, 0777, 01777, 01000, 02755, 04755, 06777,
};
enum { MODES = sizeof(modes) / sizeof(*modes) };

static const mode_t masks[] = { 0, 022, 077, 0777, 0111 };
enum { MASKS = sizeof(masks) / sizeof(*masks) };

/* Directories, files and nodes of all modes under all masks; what the reply
 * of the making said and what stays must be the same, and the umask's. */
static int make_modes(void *folder)
{
	if (chdir(folder))
		return 1;
	for (int k = 0; k < MASKS; k++) {
		umask(masks[k]);
		for (int i = 0; i < MODES; i++) {
			mode_t dir_want = modes[i] & 01777 & ~masks[k];
			mode_t want = modes[i] & ~masks[k];
			char name[40];
			struct stat st;
			int fd;

			snprintf(name, sizeof(name), "d%d.%o", k, modes[i]);
			if (mkdir(name, modes[i]) || lstat(name, &st)
			    || (st.st_mode & 07777) != dir_want)
				return 2;
			snprintf(name, sizeof(name), "f%d.%o", k, modes[i]);
			fd = open(name, O_WRONLY | O_CREAT | O_EXCL, modes[i]);
			if (fd < 0 || fstat(fd, &st)
			    || (st.st_mode & 07777) != want)
				return 3;
			close(fd);
			snprintf(name, sizeof(name), "n%d.%o", k, modes[i]);
			if (mknod(name, S_IFREG | modes[i], 0)
			    || lstat(name, &st)
			    || (st.st_mode & 07777) != want)
				return 4;
			snprintf(name, sizeof(name), "p%d.%o", k, modes[i]);
			if (mkfifo(name, modes[i]))
				return 5;
		}
	}
	return 0;
}

/* An empty directory of any mode can be removed. */
static int remove_modes(void *folder)
{
	char name[40];

	if (chdir(folder))
		return 1;
	for (int k = 0; k < MASKS; k++)
		for (int i = 0; i < MODES; i++) {
			snprintf(name, sizeof(name), "d%d.%o", k, modes[i]);
			if (rmdir(name))
				return 2;
			for (int c = 0; c < 3; c++) {
				name[0] = "fnp"[c];
				if (unlink(name))
					return 3;
			}
		}
	return 0;
}

/* F48 */
TEST made_entries_have_the_very_mode(void)
{
	SHARED_OR_SKIP();
	for (int root = 0; root < 2; root++) {
		struct deed deed = root ? (struct deed){ 0 } : as_anne;

		deed.run = make_modes;
		ASSERT_RUNS(deed.uid, deed.gid, 0, NULL, make_modes,
		                     m.point);
		ASSERT_RUNS(deed.uid, deed.gid, 0, NULL, make_modes,
		                     plain);
		ASSERT(users_same_listing(&m, plain, 0));
		ASSERT_EQ(0, mounted_umount(&m));
		ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
		ASSERT(users_same_listing(&m, plain, 0));
		ASSERT_RUNS(deed.uid, deed.gid, 0, NULL, remove_modes,
		                     plain);
		ASSERT_RUNS(deed.uid, deed.gid, 0, NULL, remove_modes,
		                     m.point);
		ASSERT_EQ(2, path_entries(m.volume));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST made_entries_have_the_very_mode_in_a_users_own_mount(void)
{
	OWN_OR_SKIP();
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, make_modes, m.point);
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, make_modes, plain);
	ASSERT(users_same_listing(&m, plain, ANNE));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(users_same_listing(&m, plain, ANNE));
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, remove_modes, m.point);
	ASSERT_EQ(2, path_entries(m.volume));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F47 */
static int write_through_modes(void *folder)
{
	static const mode_t made[] = { 0444, 0000, 0400, 0200, 0222 };
	static char data[50000];

	if (chdir(folder))
		return 1;
	umask(0);
	for (int i = 0; i < 5; i++) {
		char name[20];
		struct stat st;
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, made[i]);
		for (int k = 0; k < 7; k++) {
			if (write(fd, data, sizeof(data) - 77)
			    != (ssize_t)sizeof(data) - 77)
				return 2;
			if (pwrite(fd, "edge", 4, k * 4080 - (k > 0)) != 4)
				return 3;
			if (lstat(name, &st)
			    || (st.st_mode & 07777) != made[i])
				return 4;
			/* By path, so its finalizing opens nothing anew. */
			if (k == 3 && fsync(fd))
				return 5;
		}
		if (ftruncate(fd, 123456) || pread(fd, data, 10, 4070) != 10)
			return 6;
		if (close(fd))
			return 7;
	}
	return 0;
}

static atomic_bool done;

/* Watches the ciphertext of the only file: its mode may never change. */
static void *watch_mode(void *found)
{
	while (!done) {
		DIR *dir = opendir(m.volume);
		struct dirent *d;
		struct stat st;

		while (dir && (d = readdir(dir)))
			if (*d->d_name != '.'
			    && strncmp(d->d_name, "frondfs", 7)
			    && !fstatat(dirfd(dir), d->d_name, &st, 0)
			    && (st.st_mode & 07777) != 0200)
				*(mode_t *)found = st.st_mode;
		if (dir)
			closedir(dir);
		pause_for(1);
	}
	return NULL;
}

static int append_unreadable(void *folder)
{
	if (chdir(folder))
		return 1;
	for (int i = 0; i < 500; i++) {
		int fd = open("log", O_WRONLY | O_APPEND | O_CREAT, 0200);

		if (fd < 0 || write(fd, "0123456789", 10) != 10 || close(fd))
			return 2;
	}
	return open("log", O_RDONLY) >= 0 || errno != EACCES ? 3 : 0;
}

TEST open_handles_write_whatever_the_mode(void)
{
	char want[5001];
	mode_t found = 0;
	pthread_t watcher;

	SHARED_OR_SKIP();
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, write_through_modes, plain);
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, write_through_modes,
	                     m.point);
	ASSERT(users_same_listing(&m, plain, 0));
	ASSERT_EQ(0, run_script(m.point, "rm -f f?"));
	/* Appending to what its owner may not read. */
	done = false;
	ASSERT_EQ(0, pthread_create(&watcher, NULL, watch_mode, &found));
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, append_unreadable, m.point);
	done = true;
	ASSERT_EQ(0, pthread_join(watcher, NULL));
	ASSERT_EQ(0, (int)found);
	for (int i = 0; i < 500; i++)
		memcpy(want + i * 10, "0123456789", 10);
	ASSERT(file_is(in("log"), want, 5000));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST open_handles_write_whatever_the_mode_in_a_users_own_mount(void)
{
	OWN_OR_SKIP();
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, write_through_modes, plain);
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, write_through_modes,
	                     m.point);
	ASSERT(users_same_listing(&m, plain, ANNE));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

static const char read_only_tree[] =
	"mkdir -p t/a/b t/c && echo 1 >t/a/b/f && echo 2 >t/c/g && "
	"ln -s ../c/g t/a/l && chmod 0444 t/a/b/f && chmod 0400 t/c/g && "
	"chmod 0555 t/a/b t/a && chmod 0500 t/c && chmod 0555 t && "
	"cp -a t copy && cp -a copy again && "
	"rm -rf again 2>/dev/null; "
	"test -e again && echo still there; "
	"rmdir t/a/b 2>/dev/null || echo not permitted; "
	"chmod -R u+w again && rm -r again && echo gone; "
	"diff -r t copy && echo equal";

TEST read_only_trees_are_copied_and_removed(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .script = read_only_tree);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST read_only_trees_are_copied_and_removed_in_a_users_own_mount(void)
{
	struct deed deed = as_anne;

	OWN_OR_SKIP();
	deed.script = read_only_tree;
	ASSERT(users_same_deed(&m, plain, &deed));
	ASSERT(users_same_listing(&m, plain, ANNE));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * Owners and groups
 */

/* F51 */
TEST groups_and_setgid_directories_are_as_on_a_plain_file_system(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .n = 2,
	            .groups = { TEAM, OTHERS },
	            .script = "mkdir d; chgrp 62001 d; chmod 2775 d; "
	                      "mkdir d/sub; mkdir -m 0700 d/narrow; "
	                      "mkdir d/sub/sub; echo >d/file; "
	                      "echo >d/sub/file; ln -s x d/link; mkfifo d/p; "
	                      "ln d/file d/hard; "
	                      "chgrp 62002 d/file; chgrp 62003 d/sub/file; "
	                      "chmod 2755 d/sub/file; chmod 6711 d/file; "
	                      "mkdir plain; chgrp 62002 plain; mkdir plain/x");
	/* Another member of the group. */
	ASSERT_SAME(.uid = BERT, .gid = BERT, .n = 1, .groups = { TEAM },
	            .script = "echo >d/berts; mkdir d/berts.d; "
	                      "echo >>d/file; rm -f d/hard; "
	                      "mkdir -m 2770 d/berts.d/e; "
	                      "echo >d/narrow/x; chmod 777 d/sub");
	/* A stranger may look and no more. */
	ASSERT_SAME(.uid = CARL, .gid = CARL,
	            .script = "cat d/sub/file; echo >d/x; mkdir d/y; "
	                      "ls d/narrow; rm -f d/berts; "
	                      "mv d/berts d/carls; chgrp 61003 d/berts; "
	                      "ln d/sub/file stolen; true");
	/* Root gives and takes. */
	ASSERT_SAME(.script = "chown 61003:62003 d/sub/file; "
	                      "chown -h 61002:61002 d/link; "
	                      "mkdir d/roots; chown -R 61001:61001 d/berts.d");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST sticky_directories_protect(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "mkdir t; chmod 1777 t; echo a >t/a; mkdir t/d; "
	                      "echo b >t/b; chmod 666 t/b");
	ASSERT_SAME(.uid = BERT, .gid = BERT,
	            .script = "rm -f t/a; rmdir t/d; mv t/a t/c; echo x >>t/b; "
	                      "echo mine >t/mine; mv -f t/mine t/a; rm t/b; "
	                      "rm -rf t 2>/dev/null; ls t");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST set_user_id_bits_go_when_others_write(void)
{
	SHARED_OR_SKIP();
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .n = 1, .groups = { TEAM },
	            .script = "for f in a b c d e f; do echo 1 >$f; "
	                      "chmod 6777 $f; done; "
	                      "echo 2 >>a; echo 2 >b; truncate -s 5 c; "
	                      "chgrp 62001 d; chmod 2745 e; echo 3 >>e");
	ASSERT_SAME(.uid = BERT, .gid = BERT,
	            .script = "chmod 6777 f; echo 3 >>f; "
	                      "dd if=/dev/zero of=f bs=1 count=1 conv=notrunc "
	                      "status=none");
	ASSERT_SAME(.script = "chmod 6755 a; chown 61002 a; "
	                      "chmod 6755 b; chgrp 62002 b; "
	                      "chmod 2644 c; chown 61002 c; "
	                      "chmod 6755 d; echo >>d");
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST set_user_id_bits_in_a_users_own_mount(void)
{
	struct deed deed = as_anne;

	OWN_OR_SKIP();
	deed.script = "for f in a b c d e; do echo 1 >$f; chmod 6777 $f; done; "
	              "echo 2 >>a; echo 2 >b; truncate -s 5 c; cp -p d copied; "
	              "tar cf - e | (mkdir x; cd x; tar xpf -); "
	              "chmod 2745 e; echo 3 >>e";
	ASSERT(users_same_deed(&m, plain, &deed));
	ASSERT(users_same_listing(&m, plain, ANNE));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F52 */
struct worker {
	int number;
	uid_t user;
};

static int make_many(void *context)
{
	const struct worker *w = context;
	char name[60];

	if (chdir(m.point))
		return 1;
	for (int i = 0; i < 150; i++) {
		struct stat st;
		int fd;

		snprintf(name, sizeof(name), "%d.%d", w->number, i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || write(fd, "x", 1) != 1 || fstat(fd, &st)
		    || close(fd) || st.st_uid != w->user
		    || st.st_gid != w->user)
			return 2;
		snprintf(name, sizeof(name), "%d.d%d", w->number, i);
		if (i % 5 == 0
		    && (mkdir(name, 0700) || stat(name, &st)
		        || st.st_uid != w->user || st.st_gid != w->user))
			return 3;
	}
	return 0;
}

static void *run_worker(void *context)
{
	struct worker *w = context;
	int code = as_user(w->user, w->user, 0, NULL, make_many, w);

	return (void *)(long)code;
}

TEST many_users_at_once_own_what_they_make(void)
{
	enum { N = 6 };
	static struct worker workers[N];
	pthread_t threads[N];

	SHARED_OR_SKIP();
	for (int i = 0; i < N; i++) {
		workers[i].number = i;
		workers[i].user = (uid_t)(i == 0 ? 0 : ANNE + i);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_worker,
		                            &workers[i]));
	}
	for (int i = 0; i < N; i++) {
		void *code;

		ASSERT_EQ(0, pthread_join(threads[i], &code));
		ASSERT_EQ(NULL, code);
	}
	ASSERT_EQ(N * 180, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F53: a directory of the ciphertext is swapped for a link to outside. */
TEST a_swapped_directory_leads_nowhere(void)
{
	char outside[300], text[100], cipher[300] = "";
	int n, refused;
	struct dirent *d;
	DIR *dir;

	SHARED_OR_SKIP();
	snprintf(outside, sizeof(outside), "%.250s/outside", m.dir);
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("d/f"), "inside", 6));
	ASSERT_EQ(0, mkdir(in("d/e"), 0755));
	dir = opendir(m.volume);
	while ((d = readdir(dir)))
		if (*d->d_name != '.' && strncmp(d->d_name, "frondfs", 7))
			snprintf(cipher, sizeof(cipher), "%.256s", d->d_name);
	closedir(dir);
	/* Outside lies the very same. */
	ASSERT_EQ(0, MOUNTED_RUN(NULL, 0, "cp", "-a",
	                         mounted_path(m.volume, cipher), outside));
	for (int fresh = 0; fresh < 2; fresh++) {
		if (fresh) {
			ASSERT_EQ(0, mounted_umount(&m));
			ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
		} else {
			ASSERT_EQ(0, rename(mounted_path(m.volume, cipher),
			                    mounted_path(m.dir, "kept")));
			ASSERT_EQ(0, symlink(outside,
			                     mounted_path(m.volume, cipher)));
		}
		refused = chown(in("d/f"), BERT, BERT) != 0;
		refused += chmod(in("d/f"), 0777) != 0;
		refused += file_put(in("d/f"), "changed", 7) != 0;
		refused += file_put(in("d/new"), "new", 3) != 0;
		refused += chmod(in("d/e"), 0777) != 0;
		refused += rmdir(in("d/e")) != 0;
		refused += unlink(in("d/f")) != 0;
		/* At first the directory itself may still be known. */
		if (fresh)
			ASSERT_EQ(7, refused);
		dir = opendir(outside);
		for (n = 0; (d = readdir(dir));) {
			struct stat st;

			if (*d->d_name == '.')
				continue;
			ASSERT_EQ(0, fstatat(dirfd(dir), d->d_name, &st,
			                     AT_SYMLINK_NOFOLLOW));
			ASSERT_EQ(0, (int)st.st_uid);
			ASSERT_EQ(S_ISDIR(st.st_mode) ? 0755 : 0644,
			          (int)(st.st_mode & 07777));
			n++;
		}
		closedir(dir);
		ASSERT_EQ(3, n); /* the id file, f and e */
	}
	/* A link to nowhere is what it is now. */
	ASSERT(readlink(in("d"), text, sizeof(text)) < 0);
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* F54 */
TEST helper_files_have_the_mode_and_owner_of_their_directory(void)
{
	static const mode_t dirs[] = { 0755, 0750, 0700, 0770, 0555, 0500 };
	char longest[256], path[1000];

	SHARED_OR_SKIP();
	memset(longest, 'n', 255);
	longest[255] = 0;
	ASSERT_EQ(0, path_mode(mounted_path(m.volume, "frondfs.conf")) & 0177);
	for (int i = 0; i < 6; i++) {
		char cipher[400] = "";
		struct stat of_dir, st;
		struct dirent *d;
		int helpers = 0;
		DIR *dir;

		ASSERT_EQ(0, mkdir(in("d"), dirs[i]));
		ASSERT_EQ(0, chown(in("d"), ANNE, TEAM));
		snprintf(path, sizeof(path), "d/%s", longest);
		ASSERT_EQ(0, mkdir(in(path), dirs[i]));
		dir = opendir(m.volume);
		while ((d = readdir(dir)))
			if (*d->d_name != '.'
			    && strncmp(d->d_name, "frondfs", 7))
				snprintf(cipher, sizeof(cipher), "%s",
				         d->d_name);
		closedir(dir);
		ASSERT_EQ(0, lstat(mounted_path(m.volume, cipher), &of_dir));
		dir = opendir(mounted_path(m.volume, cipher));
		while ((d = readdir(dir))) {
			if (strncmp(d->d_name, "frondfs.", 8))
				continue;
			ASSERT_EQ(0, fstatat(dirfd(dir), d->d_name, &st, 0));
			if (S_ISDIR(st.st_mode))
				continue;
			ASSERT_EQ((of_dir.st_mode & 0666) | 0600,
			          st.st_mode & 07777);
			/* The .name file was made when Anne owned it. */
			if (strstr(d->d_name, ".name")) {
				ASSERT_EQ(ANNE, (int)st.st_uid);
				ASSERT_EQ(TEAM, (int)st.st_gid);
			}
			helpers++;
		}
		closedir(dir);
		ASSERT_EQ(2, helpers);
		ASSERT_EQ(0, rmdir(in(path)));
		ASSERT_EQ(0, rmdir(in("d")));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * ACLs
 */

/* F50 */
TEST acls_are_enforced_inherited_and_copied(void)
{
	SHARED_OR_SKIP();
	if (!have_program("setfacl"))
		SKIP_BECAUSE("setfacl is not installed");
	ASSERT_EQ(0, run_script(plain, "mkdir test && setfacl -m u:1:r test "
	                        "&& rmdir test"));
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "echo secret >f; chmod 600 f; "
	                      "setfacl -m u:61002:r f; mkdir d; chmod 700 d; "
	                      "setfacl -m u:61002:rwx,d:u:61002:rwx,"
	                      "d:g:62001:r-x,d:o::- d; "
	                      "umask 077; echo 1 >d/file; mkdir d/sub; "
	                      "echo 2 >d/sub/file; mkfifo d/p; ln -s x d/l; "
	                      "mkdir -m 0500 d/narrow; umask 0; echo >d/wide; "
	                      "mkdir d/wide.d");
	ASSERT_SAME(.uid = BERT, .gid = BERT,
	            .script = "cat f; echo x >>f; cat d/file; echo 3 >>d/file; "
	                      "echo 4 >d/berts; mkdir d/sub/berts; "
	                      "cat d/sub/file; ls d/narrow; echo >d/narrow/x");
	ASSERT_SAME(.uid = CARL, .gid = CARL, .n = 1, .groups = { TEAM },
	            .script = "cat f; cat d/file; ls d; true");
	/* chmod changes the mask; a minimal ACL is the mode. */
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "chmod 640 f; chmod 755 d; chmod g= d/file; "
	                      "setfacl -m u:61003:rw d/sub/file; "
	                      "setfacl -x u:61002 d/sub/file; "
	                      "cp -a d copy 2>/dev/null; echo $?; "
	                      "cp -a f copy.f && echo copied; "
	                      "cp f plain.f; chmod 444 f; cp -a f ro.f; "
	                      "setfacl -b copy.f; setfacl -k copy; "
	                      "mkdir copy/new; mv d moved; echo >moved/z");
	ASSERT_SAME(.uid = BERT, .gid = BERT,
	            .script = "cat f; cat moved/file; echo >moved/q; "
	                      "cat copy/file; setfacl -m u:61002:rwx f; true");
	/* A default ACL that takes the owner's rights: mkdir works still. */
	ASSERT_SAME(.uid = ANNE, .gid = ANNE,
	            .script = "mkdir odd; setfacl -m d:u::-,d:g::-,d:o::- odd; "
	                      "mkdir odd/d; echo >odd/f; rmdir odd/d; "
	                      "setfacl -m d:u::r-x,d:m::r odd; mkdir odd/e");
	/* A setgid directory and an ACL. */
	ASSERT_SAME(.uid = ANNE, .gid = ANNE, .n = 1, .groups = { TEAM },
	            .script = "mkdir s; chgrp 62001 s; chmod 2770 s; "
	                      "setfacl -m d:g:62002:rwx s; mkdir s/d s/d/e; "
	                      "echo >s/d/f; setfacl -m u:61003:rwx s/d");
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
	ASSERT(users_same_listing(&m, plain, 0));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST acls_in_a_users_own_mount(void)
{
	struct deed deed = as_anne;

	OWN_OR_SKIP();
	if (!have_program("setfacl"))
		SKIP_BECAUSE("setfacl is not installed");
	deed.script = "echo x >f; setfacl -m u:61002:r f && mkdir d && "
	              "setfacl -m d:u:61002:rwx d; umask 077; echo 1 >d/f; "
	              "mkdir d/e; mkdir -m 0100 d/g; cp -a d c && echo copied; "
	              "chmod 600 f; getfacl -n f d d/f d/e d/g c c/f c/e";
	ASSERT(users_same_deed(&m, plain, &deed));
	ASSERT(users_same_listing(&m, plain, ANNE));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/*
 * A user's own mount
 */

static int look_inside(void *unused)
{
	(void)unused;
	return opendir(m.point) ? 0 : errno == EACCES ? 2 : 1;
}

TEST a_users_own_mount_is_his_alone(void)
{
	struct stat st;

	OWN_OR_SKIP();
	ASSERT_RUNS(ANNE, ANNE, 0, NULL, look_inside, NULL);
	ASSERT_EQ(2, as_user(BERT, BERT, 0, NULL, look_inside, NULL));
	/* Root neither; nor can the daemon give files away. */
	ASSERT_EQ(-1, stat(m.point, &st));
	ASSERT_EQ(EACCES, errno);
	UNMOUNT_AND_CHECK(&m);
	/* Its end by a signal leaves no dead mount. */
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, mounted_signal(&m, SIGTERM));
	ASSERT_EQ(0, stat(m.point, &st));
	ASSERT_EQ(0, volume_check(&m));
	PASS();
}

/* What may not be read is refused as elsewhere (F49). */
TEST unreadable_files_of_a_user_are_refused_as_elsewhere(void)
{
	struct deed deed = as_anne;

	OWN_OR_SKIP();
	deed.script = "echo x >f; setfattr -n user.a -v b f; chmod 000 f; "
	              "cat f; getfattr -m - f; getfattr -n user.a f; "
	              "echo y >>f; chmod 400 f; echo y >>f; cat f; ls -A d; "
	              "mkdir d; echo >d/x; chmod 000 d; ls -A d; cat d/x; "
	              "echo >d/y; chmod 300 d; ls -A d; cat d/x; echo >d/y; "
	              "chmod 500 d; ls -A d; echo >d/z; chmod 700 d; ls -A d; "
	              "truncate -s 0 f; chmod 600 f; truncate -s 1 f";
	ASSERT(users_same_deed(&m, plain, &deed));
	ASSERT(users_same_listing(&m, plain, ANNE));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(perm)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(made_entries_have_the_very_mode);
	RUN_TEST(made_entries_have_the_very_mode_in_a_users_own_mount);
	RUN_TEST(open_handles_write_whatever_the_mode);
	RUN_TEST(open_handles_write_whatever_the_mode_in_a_users_own_mount);
	RUN_TEST(read_only_trees_are_copied_and_removed);
	RUN_TEST(read_only_trees_are_copied_and_removed_in_a_users_own_mount);
	RUN_TEST(groups_and_setgid_directories_are_as_on_a_plain_file_system);
	RUN_TEST(sticky_directories_protect);
	RUN_TEST(set_user_id_bits_go_when_others_write);
	RUN_TEST(set_user_id_bits_in_a_users_own_mount);
	RUN_TEST(many_users_at_once_own_what_they_make);
	RUN_TEST(a_swapped_directory_leads_nowhere);
	RUN_TEST(helper_files_have_the_mode_and_owner_of_their_directory);
	RUN_TEST(acls_are_enforced_inherited_and_copied);
	RUN_TEST(acls_in_a_users_own_mount);
	RUN_TEST(a_users_own_mount_is_his_alone);
	RUN_TEST(unreadable_files_of_a_user_are_refused_as_elsewhere);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	device_for_all = users_take_device();
	RUN_SUITE(perm);
	GREATEST_MAIN_END();
}
