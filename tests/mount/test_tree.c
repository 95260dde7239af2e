/*
 * Random operations on directory trees, in a mount and in a plain directory
 * beside the volume: each must give the same result code, and now and then the
 * trees must look the same; with names of all kinds, open files and
 * directories whose names go away, and new mounts in between.
 *
 *   FROND_TREE_STEPS   operations for each seed [3000]
 *   FROND_TREE_SEED    added to each seed, for other courses [0]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <greatest.h>

#include "cipher/random.h"
#include "mount/guard.h"
#include "mount/support.h"
#include "mount/twin.h"

enum {
	NAMES = 40,
	FILES = 4, DIRS = 3,   /* kept open */
	LOG_LINES = 25, LOG_LINE = 300,
	PATH_ROOM = PATH_MAX,
	CROWD = 220,           /* entries; from then on more are removed */
};

/* A pair of descriptors or results: of the mount, and of the plain tree. */
struct pair {
	int of[2];
};

struct tree {
	struct mounted m;
	char plain[300];
	uint64_t random;
	unsigned seed, step;
	struct pair root;
	struct pair file[FILES], dir[DIRS];
	char names[NAMES][NAME_MAX + 1];
	size_t crowd;
	char log[LOG_LINES][LOG_LINE];
	unsigned logged, done, refused; /* results 0, and errors */
};

static struct tree tree;

static uint64_t below(uint64_t n)
{
	return random_next(&tree.random) % n;
}

static bool chance(unsigned percent)
{
	return below(100) < percent;
}

static void note(const char *format, ...)
{
	char *line = tree.log[tree.logged++ % LOG_LINES];
	va_list args;
	int n = snprintf(line, LOG_LINE, "%u: ", tree.step);

	va_start(args, format);
	vsnprintf(line + n, LOG_LINE - (size_t)n, format, args);
	va_end(args);
}

static bool wrong(const char *format, ...)
{
	unsigned from = tree.logged > LOG_LINES ? tree.logged - LOG_LINES : 0;
	va_list args;

	printf("\nseed %u, step %u: ", tree.seed, tree.step);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nthe operations before:\n");
	for (unsigned i = from; i < tree.logged; i++)
		printf("  %s\n", tree.log[i % LOG_LINES]);
	return false;
}

/* ---- names and paths ---- */

static void fill_name(char *name, size_t length, int kind)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c;

		do {
			c = (unsigned char)random_next(&tree.random);
			if (kind)
				c = (unsigned char)('a' + c % 26);
		} while (!c || c == '/');
		name[i] = (char)c;
	}
	name[length] = 0;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		name[0] = 'n';
}

static void make_names(void)
{
	static const char *const fixed[] = {
		"a", "b", "frondfs.conf", "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA",
		"frondfs.tmp.x", "-rf", ".hidden", "...", " ", "\n",
		"\xff\xfe\x80", "\xc3\xa4\xe2\x82\xac", "a\xcc\x88", "%s%n",
		"b.sync-conflict-20240102-030405-ABCDEFG",
		"NFkJvp6sCIWDLdjW3emA4MuYZU-QauYC-QWixrWEGoU",
	};
	static const size_t lengths[] = {
		15, 16, 17, 159, 160, 161, 175, 176, 177, 208, 254, 255, 255,
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		strcpy(tree.names[n++], fixed[i]);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		fill_name(tree.names[n++], lengths[i], i & 1);
	while (n < NAMES)
		fill_name(tree.names[n++], 1 + below(NAME_MAX), chance(30));
}

/* The name of something that is there, or of the pool. */
static void pick_name(int dir, char name[NAME_MAX + 1])
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	char found[64][NAME_MAX + 1];
	size_t n = 0;
	struct dirent *d;

	while (stream && n < 64 && (d = readdir(stream)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			strcpy(found[n++], d->d_name);
	if (stream)
		closedir(stream);
	/* The order of a listing is not the same in each run. */
	if (n)
		qsort(found, n, sizeof(*found),
		      (int (*)(const void *, const void *))strcmp);
	if (n && chance(70))
		strcpy(name, found[below(n)]);
	else
		strcpy(name, tree.names[below(NAMES)]);
}

/* Paths to one place in both trees, from a root or an open directory. */
struct place {
	char path[2][PATH_ROOM];
	char shown[700];
};

/* Add a name to a path for the log; a long one by its beginning and length. */
static void show(char *path, size_t size, const char *name)
{
	size_t at = strlen(path), length = strlen(name);
	char brief[17];

	snprintf(brief, sizeof(brief), "%.16s", name);
	snprintf(path + at, size - at, length > 16 ? "%s%s~%zu" : "%s%s",
	         at ? "/" : "", twin_shown(brief), length);
}

static void pick_place(struct place *p)
{
	static char rel[PATH_ROOM - 64];
	const struct pair *base = &tree.root;
	const char *slash = chance(2) ? "/" : "";
	int i = (int)below(DIRS), dir;
	size_t at = 0;

	if (tree.dir[i].of[0] >= 0 && chance(10))
		base = &tree.dir[i];
	dir = dup(base->of[PLAIN]);
	rel[0] = 0;
	strcpy(p->shown, base == &tree.root ? "" : "(open directory)");
	for (int depth = 0; depth < 6; depth++) {
		char name[NAME_MAX + 1];
		int next;

		pick_name(dir, name);
		at += (size_t)snprintf(rel + at, sizeof(rel) - at, "%s%s",
		                       at ? "/" : "", name);
		show(p->shown, sizeof(p->shown), name);
		next = chance(60) ? openat(dir, name, O_RDONLY | O_DIRECTORY
		                           | O_NOFOLLOW | O_CLOEXEC) : -1;
		close(dir);
		dir = next;
		if (next < 0)
			break;
	}
	if (dir >= 0)
		close(dir);
	for (int s = 0; s < 2; s++)
		snprintf(p->path[s], PATH_ROOM, "/proc/self/fd/%d/%s%s",
		         base->of[s], rel, slash);
	strcat(p->shown, slash);
}

/* ---- operations: each runs twice, and the results are compared ---- */

struct result {
	int value[2], error[2];
};

#define BOTH(r, call)                                               \
	for (int s = 0; s < 2; s++) {                               \
		errno = 0;                                          \
		(r).value[s] = (int)(call);                         \
		(r).error[s] = (r).value[s] < 0 ? errno : 0;        \
	}

static bool same_result(const struct result *r)
{
	if (r->error[PLAIN])
		tree.refused++;
	else
		tree.done++;
	if (r->error[0] == r->error[1])
		return true;
	return wrong("%s in the mount, %s in a plain directory",
	             strerror(r->error[0]), strerror(r->error[1]));
}

static struct place one, two;

static mode_t some_mode(void)
{
	static const mode_t modes[] = { 0644, 0755, 0700, 0, 0400, 02755, 04711,
		                        06777, 01777, 0244, 0111 };

	return modes[below(sizeof(modes) / sizeof(*modes))];
}

static bool op_create(void)
{
	static const int flags[] = { 0, O_EXCL, O_TRUNC };
	int flag = flags[below(3)] | O_CREAT | O_WRONLY | O_NONBLOCK | O_CLOEXEC;
	mode_t mode = some_mode();
	struct result r;

	pick_place(&one);
	note("create %s (flags %x, mode %o)", one.shown, flag, mode);
	BOTH(r, open(one.path[s], flag, mode));
	for (int s = 0; s < 2; s++)
		if (r.value[s] >= 0)
			close(r.value[s]);
	return same_result(&r);
}

static bool op_mkdir(void)
{
	mode_t mode = some_mode();
	struct result r;

	pick_place(&one);
	note("mkdir %s (mode %o)", one.shown, mode);
	BOTH(r, mkdir(one.path[s], mode));
	return same_result(&r);
}

static bool op_mknod(void)
{
	static const mode_t types[] = { S_IFIFO, S_IFIFO, S_IFREG, S_IFSOCK,
		                        S_IFCHR };
	mode_t mode = types[below(5)] | some_mode();
	dev_t device = S_ISCHR(mode) ? makedev(1, 3) : 0;
	struct result r;

	pick_place(&one);
	note("mknod %s (mode %o)", one.shown, mode);
	BOTH(r, mknod(one.path[s], mode, device));
	return same_result(&r);
}

static bool op_unlink(void)
{
	struct result r;

	pick_place(&one);
	note("unlink %s", one.shown);
	BOTH(r, unlink(one.path[s]));
	return same_result(&r);
}

static bool op_rmdir(void)
{
	struct result r;

	pick_place(&one);
	note("rmdir %s", one.shown);
	BOTH(r, rmdir(one.path[s]));
	return same_result(&r);
}

static bool op_rename(void)
{
	static const unsigned flags[] = { 0, 0, 0, RENAME_NOREPLACE,
		RENAME_EXCHANGE, RENAME_EXCHANGE,
		RENAME_EXCHANGE | RENAME_NOREPLACE };
	unsigned flag = flags[below(chance(3) ? 7 : 6)];
	struct result r;

	pick_place(&one);
	pick_place(&two);
	note("rename %s to %s (%u)", one.shown, two.shown, flag);
	BOTH(r, renameat2(AT_FDCWD, one.path[s], AT_FDCWD, two.path[s], flag));
	return same_result(&r);
}

static bool op_link(void)
{
	int flag = chance(20) ? AT_SYMLINK_FOLLOW : 0;
	struct result r;

	pick_place(&one);
	pick_place(&two);
	note("link %s at %s (%d)", one.shown, two.shown, flag);
	BOTH(r, linkat(AT_FDCWD, one.path[s], AT_FDCWD, two.path[s], flag));
	return same_result(&r);
}

static bool op_symlink(void)
{
	static const size_t lengths[] = { 1, 15, 16, 3038, 3039, 3040, 4094,
		                          4095 };
	char target[PATH_MAX + 1];
	struct result r;

	if (chance(40)) {
		strcpy(target, tree.names[below(NAMES)]);
	} else {
		size_t n = chance(40) ? lengths[below(8)] : 1 + below(600);

		fill_name(target, n, 0);
		for (size_t i = 100; i < n; i += 100)
			target[i] = '/';
	}
	pick_place(&one);
	note("symlink %s (%zu bytes: %.40s)", one.shown, strlen(target),
	     twin_shown(target));
	BOTH(r, symlink(target, one.path[s]));
	return same_result(&r);
}

static bool op_chmod(void)
{
	mode_t mode = some_mode();
	struct result r;

	pick_place(&one);
	note("chmod %s %o", one.shown, mode);
	BOTH(r, chmod(one.path[s], mode));
	return same_result(&r);
}

static bool op_chown(void)
{
	uid_t uid = chance(20) ? (uid_t)-1 : (uid_t)below(4);
	gid_t gid = chance(20) ? (gid_t)-1 : (gid_t)below(4);
	struct result r;

	pick_place(&one);
	note("lchown %s %d:%d", one.shown, (int)uid, (int)gid);
	BOTH(r, lchown(one.path[s], uid, gid));
	return same_result(&r);
}

/* Long ago or far away (see twin.h), also before 1970 and after 2038. */
static struct timespec some_time(void)
{
	static const time_t from[] = { -2000000000, -1, 0, 1, 900000000,
		                       2147483646, (time_t)4294967290,
		                       (time_t)9000000000 };
	struct timespec t = { from[below(8)] + (time_t)below(5),
		              (long)below(1000000000) };

	if (chance(10))
		t.tv_nsec = chance(50) ? UTIME_OMIT : UTIME_NOW;
	return t;
}

static bool op_times(void)
{
	struct timespec times[2] = { some_time(), some_time() };
	int flag = chance(70) ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat st[2];
	struct result r;

	pick_place(&one);
	note("utimens %s %jd.%09ld (%d)", one.shown,
	     (intmax_t)times[1].tv_sec, times[1].tv_nsec, flag);
	BOTH(r, utimensat(AT_FDCWD, one.path[s], times, flag));
	if (!same_result(&r))
		return false;
	if (r.error[0] || (times[0].tv_nsec == UTIME_OMIT
	                   && times[1].tv_nsec == UTIME_OMIT))
		return true; /* the latter does not even look at the path */
	for (int s = 0; s < 2; s++)
		if (fstatat(AT_FDCWD, one.path[s], &st[s], flag))
			return wrong("stat: %s", strerror(errno));
	if (!twin_same_stat(one.shown, st)
	    || (times[0].tv_nsec < 1000000000
	        && memcmp(&st[0].st_atim, &st[1].st_atim, sizeof(*times))))
		return wrong("times differ");
	return true;
}

static const char *some_attribute(void)
{
	static const char *const names[] = {
		"user.a", "user.with a longer name that needs two blocks",
		"user.\xff\xfe", "trusted.t", "security.frond", "user.frondfs.x",
		"user.", "system.bogus", "bogus.x",
	};

	return names[below(chance(10) ? 9 : 6)];
}

static bool op_set_attribute(void)
{
	static const int flags[] = { 0, 0, XATTR_CREATE, XATTR_REPLACE };
	const char *name = some_attribute();
	int flag = flags[below(4)];
	size_t n = chance(15) ? 0 : below(60);
	uint8_t value[64];
	struct result r;

	random_fill(&tree.random, value, sizeof(value));
	pick_place(&one);
	note("setxattr %s %s (%zu bytes, flags %d)", one.shown,
	     twin_shown(name), n, flag);
	BOTH(r, lsetxattr(one.path[s], name, value, n, flag));
	return same_result(&r);
}

static bool op_remove_attribute(void)
{
	const char *name = some_attribute();
	struct result r;

	pick_place(&one);
	note("removexattr %s %s", one.shown, twin_shown(name));
	BOTH(r, lremovexattr(one.path[s], name));
	return same_result(&r);
}

static size_t some_size(void)
{
	switch (below(5)) {
	case 0:
		return below(10);
	case 1:
		return 4000 + 4080 * below(4) + below(3) - 1;
	case 2:
		return below(300000);
	default:
		return below(20000);
	}
}

static bool op_truncate(void)
{
	size_t size = some_size();
	struct result r;

	pick_place(&one);
	note("truncate %s %zu", one.shown, size);
	BOTH(r, truncate(one.path[s], (off_t)size));
	return same_result(&r);
}

static const uint8_t *some_bytes(size_t n)
{
	static uint8_t bytes[400000];

	bytes_fill(bytes, n, (unsigned)random_next(&tree.random));
	return bytes;
}

static bool op_append(void)
{
	size_t n = some_size();
	const uint8_t *bytes = some_bytes(n);
	struct result r, w;

	pick_place(&one);
	note("append %zu bytes to %s", n, one.shown);
	BOTH(r, open(one.path[s], O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
	if (same_result(&r) && r.error[0])
		return true;
	BOTH(w, r.value[s] < 0 ? 0 : write(r.value[s], bytes, n));
	for (int s = 0; s < 2; s++)
		if (r.value[s] >= 0)
			close(r.value[s]);
	return r.error[0] == r.error[1] && same_result(&w);
}

/* ---- files and directories that stay open ---- */

static void close_pair(struct pair *p)
{
	for (int s = 0; s < 2; s++) {
		if (p->of[s] >= 0)
			close(p->of[s]);
		p->of[s] = -1;
	}
}

static bool open_pair(struct pair *p, int flags, mode_t mode)
{
	struct stat st;
	struct result r;

	close_pair(p);
	pick_place(&one);
	note("open %s (flags %x) to keep it", one.shown, flags);
	BOTH(r, open(one.path[s], flags | O_CLOEXEC | O_NONBLOCK, mode));
	memcpy(p->of, r.value, sizeof(p->of));
	if (!same_result(&r))
		return false;
	if (p->of[0] >= 0 && !fstat(p->of[PLAIN], &st)
	    && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		close_pair(p);
	return true;
}

static bool op_open_dir(void)
{
	struct pair *p = &tree.dir[below(DIRS)];

	if (chance(20)) {
		close_pair(p);
		return true;
	}
	return open_pair(p, O_RDONLY | O_DIRECTORY, 0);
}

static bool same_open(const struct pair *p)
{
	static char bytes[2][20000];
	off_t at = (off_t)some_size();
	struct stat st[2];
	struct result r;

	note("fstat and pread at %jd", (intmax_t)at);
	BOTH(r, fstat(p->of[s], &st[s]));
	if (!same_result(&r))
		return false;
	if (!twin_same_stat("(open file)", st))
		return wrong("open files differ");
	BOTH(r, pread(p->of[s], bytes[s], sizeof(bytes[s]), at));
	if (!same_result(&r))
		return false;
	if (r.value[0] != r.value[1]
	    || memcmp(bytes[0], bytes[1], (size_t)r.value[0]))
		return wrong("open files have other bytes");
	return true;
}

static bool op_file(void)
{
	struct pair *p = &tree.file[below(FILES)];
	struct timespec times[2] = { some_time(), some_time() };
	size_t size = some_size(), n = some_size() % 30000;
	mode_t mode = some_mode();
	const uint8_t *bytes;
	struct result r;

	if (p->of[0] < 0 || chance(6))
		return open_pair(p, O_RDWR | (chance(60) ? O_CREAT : 0), mode);
	switch (below(8)) {
	case 0: case 1:
		bytes = some_bytes(n);
		note("pwrite %zu bytes at %zu", n, size);
		BOTH(r, pwrite(p->of[s], bytes, n, (off_t)size));
		break;
	case 2:
		note("ftruncate %zu", size);
		BOTH(r, ftruncate(p->of[s], (off_t)size));
		break;
	case 3:
		note("fchmod %o", mode);
		BOTH(r, fchmod(p->of[s], mode));
		break;
	case 4:
		note("futimens %jd.%09ld", (intmax_t)times[1].tv_sec,
		     times[1].tv_nsec);
		BOTH(r, futimens(p->of[s], times));
		break;
	case 5:
		note("fchown 1:2, fsetxattr");
		BOTH(r, fchown(p->of[s], 1, 2)
		        || fsetxattr(p->of[s], "user.open", "x", 1, 0) ? -1 : 0);
		break;
	case 6:
		note("close");
		BOTH(r, close(p->of[s]));
		p->of[0] = p->of[1] = -1;
		break;
	default:
		return same_open(p);
	}
	return same_result(&r);
}

static bool op_umask(void)
{
	static const mode_t masks[] = { 022, 022, 0, 077, 027 };

	umask(masks[below(5)]);
	return true;
}

/* ---- the course ---- */

static bool open_roots(void)
{
	const char *paths[2] = { tree.m.point, tree.plain };

	for (int s = 0; s < 2; s++) {
		tree.root.of[s] = open(paths[s], O_RDONLY | O_DIRECTORY
		                       | O_CLOEXEC);
		if (tree.root.of[s] < 0)
			return wrong("%s: %s", paths[s], strerror(errno));
	}
	return true;
}

static void close_all(void)
{
	for (int i = 0; i < FILES; i++)
		close_pair(&tree.file[i]);
	for (int i = 0; i < DIRS; i++)
		close_pair(&tree.dir[i]);
	close_pair(&tree.root);
}

static bool op_compare(void)
{
	struct inodes inodes;
	bool good = twin_same(tree.root.of, &inodes);

	tree.crowd = inodes.count;
	free(inodes.pairs);
	return good || wrong("the trees differ");
}

static bool op_remount(void)
{
	struct inodes before, after = { 0 };
	bool good;

	note("remount");
	good = twin_same(tree.root.of, &before)
	       || wrong("the trees differ before a remount");
	close_all();
	if (good && (mounted_umount(&tree.m)
	             || mounted_mount(&tree.m, "dev,suid")))
		good = wrong("remount");
	good = good && open_roots();
	if (good && !twin_same(tree.root.of, &after))
		good = wrong("the trees differ after a remount");
	for (size_t i = 0; good && i < before.count; i++)
		if (before.pairs[i][MOUNTED] != after.pairs[i][MOUNTED])
			good = wrong("inode %ju became %ju",
			             (uintmax_t)before.pairs[i][MOUNTED],
			             (uintmax_t)after.pairs[i][MOUNTED]);
	free(before.pairs);
	free(after.pairs);
	return good;
}

static const struct {
	bool (*run)(void);
	unsigned weight;
	bool removes;
} operations[] = {
	{ op_create, 120, false }, { op_mkdir, 100, false },
	{ op_mknod, 30, false }, { op_unlink, 60, true },
	{ op_rmdir, 60, true }, { op_rename, 180, false },
	{ op_link, 60, false }, { op_symlink, 60, false },
	{ op_chmod, 50, false }, { op_chown, 30, false },
	{ op_times, 60, false }, { op_set_attribute, 50, false },
	{ op_remove_attribute, 20, false }, { op_truncate, 40, false },
	{ op_append, 60, false }, { op_open_dir, 20, false },
	{ op_file, 120, false }, { op_umask, 10, false },
	{ op_compare, 8, false }, { op_remount, 4, false },
};

static bool do_something(void)
{
	size_t n = sizeof(operations) / sizeof(*operations), i = 0;
	unsigned weights[64], total = 0, which;

	for (size_t k = 0; k < n; k++) {
		weights[k] = operations[k].weight;
		if (operations[k].removes && tree.crowd > CROWD)
			weights[k] *= 8;
		total += weights[k];
	}
	which = (unsigned)below(total);
	while (which >= weights[i])
		which -= weights[i++];
	return operations[i].run();
}

static bool run_seed(void)
{
	unsigned steps = (unsigned)setting("FROND_TREE_STEPS", 3000);

	make_names();
	if (!open_roots())
		return false;
	for (tree.step = 1; tree.step <= steps; tree.step++)
		if (!do_something())
			return false;
	if (!op_remount())
		return false;
	close_all();
	if (mounted_umount(&tree.m))
		return wrong("umount");
	if (volume_check(&tree.m))
		return wrong("fsck");
	printf("seed %u: %u operations done, %u refused alike; %zu entries at"
	       " the end\n", tree.seed, tree.done, tree.refused, tree.crowd);
	return true;
}

TEST two_trees(unsigned seed)
{
	mode_t mask = umask(022);
	bool good = false;

	umask(mask);
	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	if (geteuid() != 0)
		SKIP_BECAUSE("only root may set owners and make nodes");
	memset(&tree, 0, sizeof(tree));
	tree.root.of[0] = tree.root.of[1] = -1;
	memset(tree.file, -1, sizeof(tree.file));
	memset(tree.dir, -1, sizeof(tree.dir));
	tree.seed = seed + (unsigned)setting("FROND_TREE_SEED", 0);
	tree.random = tree.seed;
	printf("seed %u\n", tree.seed);
	if (!mounted_make(&tree.m)) {
		guard_begin(&tree.m, 600);
		snprintf(tree.plain, sizeof(tree.plain), "%s/plain",
		         tree.m.dir);
		good = !mkdir(tree.plain, 0755)
		       && !mounted_mount(&tree.m, "dev,suid") && run_seed();
		close_all();
		guard_end(&tree.m, !good);
	}
	umask(mask);
	ASSERT(good);
	PASS();
}

/* A target so long that it stands in a file beside the link: that is there for
 * as long as a name of the link needs it in this directory, and no longer. */
TEST long_links(void)
{
	static const char script[] =
		"set -e\n"
		"t=$(printf '%04000d' 7)\n"
		"has() { test \"$(readlink \"$1\")\" = \"$t\"; }\n"
		"mkdir a b c\n"
		"ln -s $t a/1; ln -P a/1 a/2; ln -P a/1 b/1; ln -P a/1 b/2\n"
		"rm a/1; has a/2; has b/1\n"
		"mv a/2 c/2; has c/2; has b/2\n"
		"mv b/1 a/1; has a/1; has b/2; mv b/2 a/2; has a/1; has a/2\n"
		"ln -s x b/x; mv b/x a/1; has a/2; rm a/2; has c/2\n"
		"ln -s $t b/3; mv -f c/2 b/3; has b/3; rm b/3\n";
	struct mounted m;

	MOUNT_OR_SKIP(&m, NULL);
	guard_begin(&m, 100);
	ASSERT_EQ(0, run_script(m.point, script));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, volume_check(&m));
	guard_end(&m, false);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(long_links);
	for (unsigned seed = 1; seed <= 5; seed++)
		RUN_TESTp(two_trees, seed);
	GREATEST_MAIN_END();
}
