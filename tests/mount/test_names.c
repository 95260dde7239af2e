/* Names and directories through a mount. Rows F32 to F46 of the field's
 * troubles. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/support.h"

static struct mounted m;

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* Whether a directory lists a name, and what type it says. */
static int listed_type(const char *path, const char *name)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int type = -1;

	while (dir && (d = readdir(dir)))
		if (!strcmp(d->d_name, name))
			type = type == -1 ? d->d_type : -2; /* twice */
	if (dir)
		closedir(dir);
	return type;
}

static enum greatest_test_res one_name(const char *name)
{
	char other[600], buf[10];

	snprintf(other, sizeof(other), "%s/e/%s", m.point, name);
	/* A file. */
	ASSERT_EQ(0, file_put(in(name), name, strlen(name)));
	ASSERT_EQ((off_t)strlen(name), path_size(in(name)));
	ASSERT_EQ(DT_REG, listed_type(m.point, name));
	ASSERT(file_is(in(name), name, strlen(name)));
	ASSERT_EQ(-1, open(in(name), O_CREAT | O_EXCL | O_WRONLY, 0644));
	ASSERT_EQ(EEXIST, errno);
	/* Hard link and rename. */
	ASSERT_EQ(0, link(in(name), other));
	ASSERT_EQ(0, unlink(in(name)));
	ASSERT_EQ(-1, access(in(name), F_OK));
	ASSERT_EQ(0, rename(other, in(name)));
	ASSERT_EQ(0, rename(in(name), in("plain")));
	ASSERT_EQ(0, rename(in("plain"), in(name)));
	ASSERT(file_is(in(name), name, strlen(name)));
	ASSERT_EQ(0, unlink(in(name)));
	/* A directory with something in it. */
	ASSERT_EQ(0, mkdir(in(name), 0755));
	ASSERT_EQ(DT_DIR, listed_type(m.point, name));
	snprintf(other, sizeof(other), "%s/%s/%s", m.point, name, name);
	ASSERT_EQ(0, file_put(other, "x", 1));
	ASSERT_EQ(-1, rmdir(in(name)));
	ASSERT_EQ(ENOTEMPTY, errno);
	ASSERT_EQ(0, rename(in(name), in("plain")));
	ASSERT_EQ(0, rename(in("plain"), in(name)));
	ASSERT(file_is(other, "x", 1));
	ASSERT_EQ(0, unlink(other));
	ASSERT_EQ(0, rmdir(in(name)));
	/* A symbolic link, and a fifo. */
	ASSERT_EQ(0, symlink("target", in(name)));
	ASSERT_EQ(DT_LNK, listed_type(m.point, name));
	ASSERT_EQ(6, readlink(in(name), buf, sizeof(buf)));
	ASSERT_EQ(0, unlink(in(name)));
	ASSERT_EQ(0, mkfifo(in(name), 0600));
	ASSERT_EQ(DT_FIFO, listed_type(m.point, name));
	ASSERT_EQ(0, unlink(in(name)));
	ASSERT_EQ(1, path_entries(m.point));
	PASS();
}

/* Every length; the bytes change with it. */
static enum greatest_test_res all_lengths(void)
{
	char name[300];

	ASSERT_EQ(0, mkdir(in("e"), 0755));
	for (int n = 1; n <= 255; n++) {
		for (int i = 0; i < n; i++)
			name[i] = (char)('A' + (i * 7 + n) % 58);
		name[n] = 0;
		CHECK_CALL(one_name(name));
	}
	memset(name, 'n', 256);
	name[256] = 0;
	ASSERT_EQ(-1, mkdir(in(name), 0755));
	ASSERT_EQ(ENAMETOOLONG, errno);
	ASSERT_EQ(-1, open(in(name), O_CREAT | O_WRONLY, 0644));
	ASSERT_EQ(ENAMETOOLONG, errno);
	ASSERT_EQ(-1, symlink("t", in(name)));
	ASSERT_EQ(ENAMETOOLONG, errno);
	ASSERT_EQ(-1, access(in(name), F_OK));
	ASSERT_EQ(ENAMETOOLONG, errno);
	PASS();
}

/* F32 */
TEST names_of_every_length_work_for_every_kind(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(all_lengths());
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F36 */
TEST a_store_for_short_names_holds_all_names(void)
{
	char text[1000];
	DIR *dir;
	struct dirent *d;

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	ASSERT_EQ(0, mounted_make(&m));
	snprintf(m.volume, sizeof(m.volume), "%.250s/short", m.dir);
	ASSERT_EQ(0, mkdir(m.volume, 0755));
	ASSERT_EQ(0, MOUNTED_RUN(text, sizeof(text), "frondfs", "init",
	                         "--name-max", "143", "--keyfile", m.keyfile,
	                         "--recovery-key-file",
	                         mounted_path(m.dir, "recovery2"), m.volume));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	CHECK_CALL(all_lengths());
	for (int n = 1; n <= 255; n++) {
		memset(text, 'n', (size_t)n);
		text[n] = 0;
		ASSERT_EQ(0, file_put(in(text), text, (size_t)n));
	}
	dir = opendir(m.volume);
	while ((d = readdir(dir)))
		ASSERT(strlen(d->d_name) <= 143);
	closedir(dir);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F33 */
TEST a_rename_to_a_name_that_is_too_long_changes_nothing(void)
{
	char longer[300], longest[256];

	MOUNT_OR_SKIP(&m, NULL);
	memset(longer, 'l', 256);
	longer[256] = 0;
	memset(longest, 'k', 255);
	longest[255] = 0;
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, file_put(in("d/f"), "content", 7));
	ASSERT_EQ(0, file_put(in("f"), "content", 7));
	for (int i = 0; i < 2; i++) {
		const char *from = i ? "d" : "f";

		ASSERT_EQ(-1, rename(in(from), in(longer)));
		ASSERT_EQ(ENAMETOOLONG, errno);
	}
	ASSERT_EQ(-1, link(in("f"), in(longer)));
	ASSERT_EQ(ENAMETOOLONG, errno);
	ASSERT(file_is(in("f"), "content", 7));
	ASSERT(file_is(in("d/f"), "content", 7));
	ASSERT_EQ(2, path_entries(m.point));
	ASSERT_EQ(0, rename(in("d"), in(longest)));
	ASSERT_EQ(1, path_entries(in(longest)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F39: plain names like those of the tool's own files. */
TEST names_like_the_tools_own_are_plain_names(void)
{
	static const char *const names[] = {
		"frondfs.conf", "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA",
		"frondfs.tmp.AAAAAAAAAAAAAAAA", "frondfs.link.AAAA",
		"frondfs.long.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
		"frondfs.long.47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU.name",
		"frondfs.", ".frondfs", "gocryptfs.conf", "gocryptfs.diriv",
		"lost+found", ".stfolder", ".DS_Store", "x.sync-conflict-1",
		".fuse_hidden0001", ".nfs0001", ".Trash-0",
	};
	enum { N = sizeof(names) / sizeof(*names) };
	char path[400];
	struct dirent *d;
	uint8_t conf[5000];
	ssize_t size;
	int fd, found;
	DIR *dir;

	MOUNT_OR_SKIP(&m, NULL);
	fd = open(mounted_path(m.volume, "frondfs.conf"), O_RDONLY);
	size = read(fd, conf, sizeof(conf));
	close(fd);
	ASSERT(size > 100);
	/* None of the tool's own is shown. */
	ASSERT_EQ(0, path_entries(m.point));
	ASSERT_EQ(-1, access(in("frondfs.conf"), F_OK));
	dir = opendir(m.volume);
	while ((d = readdir(dir)))
		if (*d->d_name != '.')
			ASSERT_EQ(-1, access(in(d->d_name), F_OK));
	closedir(dir);
	ASSERT_EQ(0, mkdir(in("e"), 0755));
	for (int i = 0; i < N; i++)
		CHECK_CALL(one_name(names[i]));
	ASSERT_EQ(0, rmdir(in("e")));
	/* All of them at once, below each other. */
	for (int i = 0; i < N; i++) {
		ASSERT_EQ(0, mkdir(in(names[i]), 0755));
		for (int j = 0; j < N; j++) {
			snprintf(path, sizeof(path), "%s/%s", names[i],
			         names[j]);
			ASSERT_EQ(0, file_put(in(path), path, strlen(path)));
		}
	}
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	for (int i = 0; i < N; i++) {
		ASSERT_EQ(N, path_entries(in(names[i])));
		for (int j = 0; j < N; j++) {
			snprintf(path, sizeof(path), "%s/%s", names[i],
			         names[j]);
			ASSERT(file_is(in(path), path, strlen(path)));
		}
	}
	/* And the config was not touched. */
	ASSERT(file_is(mounted_path(m.volume, "frondfs.conf"), conf,
	               (size_t)size));
	/* In the volume: config, id file, and the names. */
	found = path_entries(m.volume);
	ASSERT_EQ(N + 2, found);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F41, and all bytes that a name may hold. */
TEST names_are_bytes(void)
{
	static const char composed[] = "Z\xc3\xbcrich";
	static const char decomposed[] = "Zu\xcc\x88rich";
	char name[3] = { 'b', 0, 0 };

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in(composed), "composed", 8));
	ASSERT_EQ(-1, access(in(decomposed), F_OK));
	ASSERT_EQ(0, file_put(in(decomposed), "decomposed", 10));
	ASSERT(file_is(in(composed), "composed", 8));
	ASSERT(file_is(in(decomposed), "decomposed", 10));
	ASSERT_EQ(DT_REG, listed_type(m.point, composed));
	ASSERT_EQ(DT_REG, listed_type(m.point, decomposed));
	/* Names that differ only by case. */
	ASSERT_EQ(0, file_put(in("Readme"), "1", 1));
	ASSERT_EQ(0, file_put(in("README"), "2", 1));
	ASSERT(file_is(in("Readme"), "1", 1));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	for (int c = 1; c < 256; c++) {
		char path[10];

		name[1] = (char)c;
		if (c == '/')
			continue;
		snprintf(path, sizeof(path), "d/%s", name);
		ASSERT_EQ(0, file_put(in(path), name, 2));
	}
	ASSERT_EQ(254, path_entries(in("d")));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	for (int c = 1; c < 256; c++) {
		char path[10];

		name[1] = (char)c;
		if (c == '/')
			continue;
		snprintf(path, sizeof(path), "d/%s", name);
		ASSERT(file_is(in(path), name, 2));
		ASSERT_EQ(DT_REG, listed_type(in("d"), name));
	}
	/* Names of blanks, dots and line ends. */
	ASSERT_EQ(0, file_put(in("d/\n"), "", 0));
	ASSERT_EQ(0, file_put(in("d/..."), "", 0));
	ASSERT_EQ(0, file_put(in("d/ "), "", 0));
	ASSERT_EQ(257, path_entries(in("d")));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F43: each reply that carries attributes. */
TEST every_reply_tells_plain_sizes(void)
{
	static uint8_t data[100000];
	const off_t sizes[] = { 0, 1, 3999, 4000, 4001, 8080, 8081, 100000 };
	char target[300], name[20], got[300];
	struct dirent *d;
	struct stat st;
	int fd, dirs, seen = 0;
	DIR *dir;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 1);
	memset(target, 't', sizeof(target));
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		/* create, then getattr by handle and by path */
		fd = open(in(name), O_RDWR | O_CREAT | O_EXCL, 0644);
		ASSERT_EQ(0, path_size(in(name)));
		ASSERT_EQ(sizes[i], write(fd, data, (size_t)sizes[i]));
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(sizes[i], st.st_size);
		ASSERT_EQ(sizes[i], path_size(in(name)));
		/* setattr */
		ASSERT_EQ(0, fchmod(fd, 0600));
		ASSERT_EQ(0, fstat(fd, &st));
		ASSERT_EQ(sizes[i], st.st_size);
		ASSERT_EQ(0, ftruncate(fd, sizes[i] + 5));
		ASSERT_EQ(sizes[i] + 5, path_size(in(name)));
		ASSERT_EQ(0, ftruncate(fd, sizes[i]));
		ASSERT_EQ(0, close(fd));
		ASSERT_EQ(0, chmod(in(name), 0640));
		ASSERT_EQ(sizes[i], path_size(in(name)));
	}
	/* mknod */
	ASSERT_EQ(0, mknod(in("node"), S_IFREG | 0644, 0));
	ASSERT_EQ(0, path_size(in("node")));
	ASSERT_EQ(0, mkfifo(in("fifo"), 0644));
	ASSERT_EQ(0, path_size(in("fifo")));
	/* symlink, with the link's access time left alone by lstat */
	for (int n = 1; n < 300; n += 13) {
		target[n] = 0;
		ASSERT_EQ(0, symlink(target, in("link")));
		ASSERT_EQ(n, path_size(in("link")));
		ASSERT_EQ(n, readlink(in("link"), got, sizeof(got)));
		ASSERT_EQ(0, unlink(in("link")));
		target[n] = 't';
	}
	/* readdirplus: the kernel asks for it when entries are looked up
	 * while listing. Fresh, so that nothing is cached. */
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	dir = opendir(m.point);
	dirs = dirfd(dir);
	while ((d = readdir(dir))) {
		if (*d->d_name != 'f' || d->d_name[1] == 'i')
			continue;
		ASSERT_EQ(0, fstatat(dirs, d->d_name, &st, AT_SYMLINK_NOFOLLOW));
		ASSERT_EQ(sizes[d->d_name[1] - '0'], st.st_size);
		ASSERT_EQ(st.st_ino, d->d_ino);
		seen++;
	}
	closedir(dir);
	ASSERT_EQ(8, seen);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST links_of_every_length_up_to_the_kernels(void)
{
	static const int lengths[] = { 1, 15, 16, 100, 255, 1000, 3038, 3039,
	                               3040, 4000, 4095 };
	static char target[4097], got[4097];

	MOUNT_OR_SKIP(&m, NULL);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		char name[20];

		snprintf(name, sizeof(name), "l%zu", i);
		memset(target, 'a' + (int)i, (size_t)lengths[i]);
		target[lengths[i]] = 0;
		ASSERT_EQ(0, symlink(target, in(name)));
	}
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct stat before, after;
		char name[20];

		snprintf(name, sizeof(name), "l%zu", i);
		memset(target, 'a' + (int)i, (size_t)lengths[i]);
		ASSERT_EQ(0, lstat(in(name), &before));
		ASSERT_EQ(lengths[i], before.st_size);
		pause_for(3);
		ASSERT_EQ(0, lstat(in(name), &after));
		ASSERT_EQ(0, memcmp(&before.st_atim, &after.st_atim,
		                    sizeof(before.st_atim)));
		ASSERT_EQ(lengths[i], readlink(in(name), got, sizeof(got)));
		ASSERT_MEM_EQ(target, got, (size_t)lengths[i]);
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F44: `allow` is whether ordinary values are allowed on this kind. */
static enum greatest_test_res xattrs_of(const char *path, bool user_allowed)
{
	static const char *const names[] = {
		"user.a", "user. ", "user.with space", "user.UPPER",
		"user.\xc3\xbc\xff", "user.a.b.c.d", "user.frondfs.x",
		"user.=\n%",
	};
	enum { N = sizeof(names) / sizeof(*names) };
	char list[4000], value[4000];
	ssize_t n;
	int count = 0;

	if (!user_allowed) {
		ASSERT_EQ(-1, lsetxattr(path, "user.a", "v", 1, 0));
		ASSERT(errno == EPERM || errno == EOPNOTSUPP);
		ASSERT_EQ(0, llistxattr(path, list, sizeof(list)));
		PASS();
	}
	ASSERT_EQ(0, llistxattr(path, NULL, 0));
	for (int i = 0; i < N; i++) {
		size_t length = (size_t)i * 60;

		bytes_fill(value, length, (unsigned)i);
		ASSERT_EQ(0, lsetxattr(path, names[i], value, length, 0));
	}
	for (int i = 0; i < N; i++) {
		ssize_t length = (ssize_t)i * 60;
		char want[2000];

		bytes_fill(want, (size_t)length, (unsigned)i);
		ASSERT_EQ(length, lgetxattr(path, names[i], NULL, 0));
		ASSERT_EQ(length, lgetxattr(path, names[i], value,
		                            sizeof(value)));
		ASSERT_EQ(0, memcmp(want, value, (size_t)length));
		if (length > 0) {
			ASSERT_EQ(length, lgetxattr(path, names[i], value,
			                            (size_t)length));
			ASSERT_EQ(-1, lgetxattr(path, names[i], value,
			                        (size_t)length - 1));
			ASSERT_EQ(ERANGE, errno);
		}
	}
	n = llistxattr(path, NULL, 0);
	ASSERT_EQ(n, llistxattr(path, list, sizeof(list)));
	ASSERT_EQ(n, llistxattr(path, list, (size_t)n));
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1) {
		bool known = false;

		for (int i = 0; i < N; i++)
			known = known || !strcmp(list + at, names[i]);
		ASSERT(known);
		count++;
	}
	ASSERT_EQ(N, count);
	ASSERT_EQ(-1, llistxattr(path, list, (size_t)n - 1));
	ASSERT_EQ(ERANGE, errno);
	/* XATTR_CREATE and XATTR_REPLACE. */
	ASSERT_EQ(-1, lsetxattr(path, "user.a", "v", 1, XATTR_CREATE));
	ASSERT_EQ(EEXIST, errno);
	ASSERT_EQ(-1, lsetxattr(path, "user.new", "v", 1, XATTR_REPLACE));
	ASSERT_EQ(ENODATA, errno);
	ASSERT_EQ(0, lsetxattr(path, "user.a", "new", 3, XATTR_REPLACE));
	ASSERT_EQ(3, lgetxattr(path, "user.a", value, sizeof(value)));
	ASSERT_EQ(-1, lgetxattr(path, "user.none", value, sizeof(value)));
	ASSERT_EQ(ENODATA, errno);
	for (int i = 0; i < N; i++)
		ASSERT_EQ(0, lremovexattr(path, names[i]));
	ASSERT_EQ(-1, lremovexattr(path, "user.a"));
	ASSERT_EQ(ENODATA, errno);
	ASSERT_EQ(0, llistxattr(path, NULL, 0));
	PASS();
}

TEST attributes_of_every_kind_of_file(void)
{
	static char large[70000];
	char value[10], name[300];

	MOUNT_OR_SKIP(&m, NULL);
	if (setxattr(m.volume, "user.test", "1", 1, 0))
		SKIP_BECAUSE("the temporary folder keeps no attributes");
	ASSERT_EQ(0, removexattr(m.volume, "user.test"));
	ASSERT_EQ(0, file_put(in("f"), "", 0));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, mkfifo(in("p"), 0644));
	ASSERT_EQ(0, symlink("f", in("l")));
	CHECK_CALL(xattrs_of(in("f"), true));
	CHECK_CALL(xattrs_of(in("d"), true));
	CHECK_CALL(xattrs_of(m.point, true));
	CHECK_CALL(xattrs_of(in("p"), false));
	CHECK_CALL(xattrs_of(in("l"), false));
	/* Too large with what sealing adds, and for the kernel. */
	ASSERT_EQ(-1, setxattr(in("f"), "user.a", large, 65530, 0));
	ASSERT(errno == ENOSPC || errno == E2BIG);
	ASSERT_EQ(-1, setxattr(in("f"), "user.a", large, 70000, 0));
	ASSERT_EQ(E2BIG, errno);
	memset(name, 'n', 255);
	memcpy(name, "user.", 5);
	name[255] = 'n';
	name[256] = 0;
	ASSERT_EQ(-1, setxattr(in("f"), name, "v", 1, 0));
	ASSERT_EQ(ERANGE, errno);
	name[255] = 0;
	ASSERT_EQ(0, setxattr(in("f"), name, "v", 1, 0));
	ASSERT_EQ(0, removexattr(in("f"), name));
	ASSERT_EQ(0, listxattr(in("f"), NULL, 0));
	/* F55: an unknown name space fails for its call alone. */
	ASSERT_EQ(-1, setxattr(in("f"), "unknown.a", "v", 1, 0));
	ASSERT_EQ(EOPNOTSUPP, errno);
	ASSERT_EQ(-1, getxattr(in("f"), "system.unknown", value,
	                       sizeof(value)));
	ASSERT(errno == EOPNOTSUPP || errno == ENODATA);
	if (geteuid() == 0) {
		ASSERT_EQ(0, setxattr(in("f"), "trusted.t", "v", 1, 0));
		ASSERT_EQ(1, getxattr(in("f"), "trusted.t", value, 10));
		ASSERT_EQ(0, lsetxattr(in("l"), "trusted.t", "w", 1, 0));
		ASSERT_EQ(1, lgetxattr(in("l"), "trusted.t", value, 10));
		ASSERT_EQ('w', *value);
		ASSERT_EQ(0, removexattr(in("f"), "trusted.t"));
	}
	/* They stay over a remount, and over a rename. */
	ASSERT_EQ(0, setxattr(in("f"), "user.kept", "12345", 5, 0));
	ASSERT_EQ(0, rename(in("f"), in("d/g")));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(5, getxattr(in("d/g"), "user.kept", value, sizeof(value)));
	ASSERT_MEM_EQ("12345", value, 5);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F45 and F108. */
TEST directory_positions_are_small_and_stable(void)
{
	enum { N = 1000 };
	static long positions[N + 3];
	static char names[N + 3][20];
	struct dirent *d;
	int n = 0, dots = 0;
	DIR *dir;

	MOUNT_OR_SKIP(&m, NULL);
	for (int i = 0; i < N; i++) {
		snprintf(names[0], sizeof(names[0]), "file %d", i);
		ASSERT_EQ(0, file_put(in(names[0]), "", 0));
	}
	dir = opendir(m.point);
	for (positions[0] = telldir(dir); (d = readdir(dir));
	     positions[n] = telldir(dir)) {
		dots += !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..");
		ASSERT(positions[n] >= 0 && positions[n] < 0x7fffffff);
		/* A 32-bit program sees this number. */
		ASSERT(d->d_off > 0 && d->d_off < 0x7fffffff);
		snprintf(names[n], sizeof(names[n]), "%.19s", d->d_name);
		n++;
		ASSERT(n <= N + 2);
	}
	ASSERT_EQ(N + 2, n);
	ASSERT_EQ(2, dots);
	/* From each position the same entry, also while others are made. (The
	 * first is left out: going back to it is a rewinddir.) */
	for (int i = 1; i < N + 2; i++) {
		int at = (i * 397) % (N + 2);

		if (i % 50 == 0) {
			char name[20];

			snprintf(name, sizeof(name), "new %d", i);
			ASSERT_EQ(0, file_put(in(name), "", 0));
		}
		seekdir(dir, positions[at]);
		d = readdir(dir);
		ASSERT(d);
		ASSERT_STR_EQ(names[at], d->d_name);
	}
	/* The end is the end, and after rewinding the new ones show. */
	seekdir(dir, positions[N + 2]);
	ASSERT_EQ(NULL, readdir(dir));
	rewinddir(dir);
	for (n = 0; readdir(dir); n++)
		;
	ASSERT_EQ(N + 2 + (N + 1) / 50, n);
	closedir(dir);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F46 */
TEST deleting_while_listing_removes_all(void)
{
	enum { N = 5000 };
	char name[40];
	struct dirent *d;
	int removed = 0;
	DIR *dir;

	MOUNT_OR_SKIP(&m, NULL);
	for (int round = 0; round < 2; round++) {
		ASSERT_EQ(0, mkdir(in("d"), 0755));
		for (int i = 0; i < N; i++) {
			int fd;

			snprintf(name, sizeof(name), "d/file number %d", i);
			fd = open(in(name), O_WRONLY | O_CREAT, 0644);
			ASSERT(fd >= 0);
			close(fd);
		}
		if (round == 1) {
			ASSERT_EQ(0, MOUNTED_RUN(NULL, 0, "rm", "-R", in("d")));
			break;
		}
		ASSERT_EQ(N, path_entries(in("d")));
		dir = opendir(in("d"));
		while ((d = readdir(dir)))
			if (*d->d_name != '.') {
				ASSERT_EQ(0, unlinkat(dirfd(dir), d->d_name, 0));
				removed++;
			}
		closedir(dir);
		ASSERT_EQ(N, removed);
		ASSERT_EQ(0, path_entries(in("d")));
		ASSERT_EQ(0, rmdir(in("d")));
	}
	ASSERT_EQ(0, path_entries(m.point));
	ASSERT_EQ(2, path_entries(m.volume));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* All files are seen at least, and at most once, while others move. */
TEST a_listing_beside_renames_shows_what_stays(void)
{
	enum { N = 500 };
	static int seen[N];
	char name[40], other[40];
	struct dirent *d;
	int i, moves = 0;
	DIR *dir;

	MOUNT_OR_SKIP(&m, NULL);
	for (i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "stay %d", i);
		ASSERT_EQ(0, file_put(in(name), "", 0));
		snprintf(name, sizeof(name), "move %d", i);
		ASSERT_EQ(0, file_put(in(name), "", 0));
	}
	dir = opendir(m.point);
	while ((d = readdir(dir))) {
		if (sscanf(d->d_name, "stay %d", &i) == 1)
			seen[i]++;
		if (moves < N) {
			snprintf(name, sizeof(name), "move %d", moves);
			snprintf(other, sizeof(other), "moved %d", moves++);
			ASSERT_EQ(0, rename(in(name), in(other)));
		}
	}
	closedir(dir);
	for (i = 0; i < N; i++)
		ASSERT_EQ(1, seen[i]);
	ASSERT_EQ(2 * N, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(names)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(names_of_every_length_work_for_every_kind);
	RUN_TEST(a_store_for_short_names_holds_all_names);
	RUN_TEST(a_rename_to_a_name_that_is_too_long_changes_nothing);
	RUN_TEST(names_like_the_tools_own_are_plain_names);
	RUN_TEST(names_are_bytes);
	RUN_TEST(every_reply_tells_plain_sizes);
	RUN_TEST(links_of_every_length_up_to_the_kernels);
	RUN_TEST(attributes_of_every_kind_of_file);
	RUN_TEST(directory_positions_are_small_and_stable);
	RUN_TEST(deleting_while_listing_removes_all);
	RUN_TEST(a_listing_beside_renames_shows_what_stays);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(names);
	GREATEST_MAIN_END();
}
