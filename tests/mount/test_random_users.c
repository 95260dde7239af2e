/*
 * Random calls by several users, in the mount and in a plain directory beside
 * it: each must succeed or fail in both, with the same error, and leave the same
 * types, modes, owners, sizes and link counts behind. Shared directories of all
 * kinds: sticky, set-group-id, with default ACLs, read-only, private.
 *
 *   FROND_USERS_STEPS   calls for each seed [4000]
 *   FROND_USERS_SEED    added to each seed, for other courses [0]
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "cipher/random.h"
#include "mount/guard.h"
#include "mount/users.h"

enum { PATHS = 2, LINES = 30 };

static struct mounted m;
static char roots[2][300]; /* the mount, and the plain directory */
static uint64_t state;
static char history[LINES][600];
static unsigned steps;

static const struct user {
	uid_t uid;
	size_t n;
	gid_t groups[2];
} users[] = {
	{ 0, 0, { 0 } }, { ANNE, 1, { TEAM } }, { BERT, 2, { TEAM, OTHERS } },
	{ CARL, 0, { 0 } },
};

static const struct {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
} folders[] = {
	{ "open", 0777, 0, 0 }, { "sticky", 01777, 0, 0 },
	{ "annes sticky", 01777, ANNE, ANNE }, { "team", 02775, CARL, TEAM },
	{ "all", 02777, 0, OTHERS }, { "annes", 0755, ANNE, ANNE },
	{ "private", 0700, BERT, BERT }, { "acl", 0770, ANNE, TEAM },
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t below(uint64_t n)
{
	return random_next(&state) % n;
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* Everything of one call, chosen before it is done twice. */
struct call {
	unsigned what;
	char path[PATHS][300]; /* below a root */
	const struct user *user;
	mode_t mode, mask;
	int flags;
	uid_t uid;
	gid_t gid;
	off_t size;
	uint8_t acl[44];
	bool is_default;
};

enum { OPEN, MKDIR, MKNOD, SYMLINK, LINK, UNLINK, RMDIR, RENAME, CHMOD, CHOWN,
       LCHOWN, TRUNCATE, UTIMES, ACCESS, SETXATTR, ACL, KINDS };
static const char *const kinds[] = {
	"open", "mkdir", "mknod", "symlink", "link", "unlink", "rmdir", "rename",
	"chmod", "chown", "lchown", "truncate", "utimensat", "access",
	"setxattr", "acl",
};

static void choose_path(char path[300])
{
	static const char *const leaves[] = { "a", "b", "c", "d", NULL };
	const char *leaf = leaves[below(5)];
	char longest[201];
	int n;

	memset(longest, 'n', 200);
	longest[200] = 0;
	n = snprintf(path, 300, "%s/%s", folders[below(COUNT(folders))].name,
	             leaf ? leaf : longest);
	if (below(5) == 0)
		snprintf(path + n, 300 - (size_t)n, "/%s", leaves[below(4)]);
}

/* user::rwx user:BERT:... group:: mask:: other::, as the kernel takes it */
static void choose_acl(uint8_t acl[44])
{
	static const uint16_t tags[] = { 1, 2, 4, 16, 32 };

	memset(acl, 0, 44);
	acl[0] = 2;
	for (int i = 0; i < 5; i++) {
		const uint32_t id = tags[i] == 2 ? BERT : (uint32_t)-1;
		const uint16_t rights = (uint16_t)below(8);

		memcpy(acl + 4 + 8 * i, &tags[i], 2);
		memcpy(acl + 6 + 8 * i, &rights, 2);
		memcpy(acl + 8 + 8 * i, &id, 4);
	}
}

static void choose(struct call *call)
{
	static const int flags[] = { O_CREAT, O_EXCL, O_TRUNC, O_NOFOLLOW,
	                             O_DIRECTORY, O_APPEND };
	static const mode_t masks[] = { 0, 022, 077, 027 };
	static const uid_t uids[] = { (uid_t)-1, ANNE, BERT, CARL, 0 };
	static const gid_t gids[] = { (gid_t)-1, TEAM, OTHERS, BERT, 0 };
	static const int accesses[] = { O_RDONLY, O_WRONLY, O_RDWR };

	memset(call, 0, sizeof(*call));
	call->what = (unsigned)below(KINDS + 3);
	if (call->what >= KINDS)
		call->what = OPEN;
	for (int i = 0; i < PATHS; i++)
		choose_path(call->path[i]);
	call->user = &users[below(COUNT(users))];
	call->mask = masks[below(COUNT(masks))];
	call->mode = (mode_t)(below(2) ? below(010000) : 0600 | below(0200));
	call->uid = uids[below(COUNT(uids))];
	call->gid = gids[below(COUNT(gids))];
	call->size = (off_t)below(9000);
	call->is_default = below(3) == 0;
	choose_acl(call->acl);
	if (call->what == RENAME) {
		call->flags = (int)below(5); /* NOREPLACE 1, EXCHANGE 2 */
		call->flags = call->flags > 3 ? 0 : call->flags;
	} else {
		call->flags = accesses[below(3)] | O_NONBLOCK;
		for (size_t i = 0; i < COUNT(flags); i++)
			call->flags |= below(i ? 5 : 2) ? 0 : flags[i];
	}
}

static int open_and_write(const struct call *call, const char *path)
{
	int fd = open(path, call->flags, call->mode & 07777);
	ssize_t n = 0;

	if (fd < 0)
		return errno;
	if ((call->flags & O_ACCMODE) != O_RDONLY && call->size % 2)
		n = write(fd, "12345", 1 + (size_t)call->size % 5);
	return close(fd) || n < 0 ? 1000 + errno : 0;
}

static int do_call(const struct call *call, const char *root)
{
	static const mode_t nodes[] = { S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR };
	const struct timespec times[2] = {
		{ call->size, call->size % 3 ? 5 : UTIME_NOW },
		{ call->size, call->size % 3 ? 6 : UTIME_NOW },
	};
	char path[PATHS][700];

	for (int i = 0; i < PATHS; i++)
		snprintf(path[i], 700, "%.299s/%.299s", root, call->path[i]);
	switch (call->what) {
	case OPEN:
		return open_and_write(call, path[0]);
	case MKDIR:
		return mkdir(path[0], call->mode & 07777) ? errno : 0;
	case MKNOD:
		return mknod(path[0], nodes[call->size % 4] | (call->mode & 07777),
		             0) ? errno : 0;
	case SYMLINK:
		return symlink(strrchr(path[1], '/') + 1, path[0]) ? errno : 0;
	case LINK:
		return linkat(AT_FDCWD, path[0], AT_FDCWD, path[1],
		              call->size % 2 ? AT_SYMLINK_FOLLOW : 0) ? errno : 0;
	case UNLINK:
		return unlink(path[0]) ? errno : 0;
	case RMDIR:
		return rmdir(path[0]) ? errno : 0;
	case RENAME:
		return renameat2(AT_FDCWD, path[0], AT_FDCWD, path[1],
		                 (unsigned)call->flags) ? errno : 0;
	case CHMOD:
		return chmod(path[0], call->mode & 07777) ? errno : 0;
	case CHOWN:
		return chown(path[0], call->uid, call->gid) ? errno : 0;
	case LCHOWN:
		return lchown(path[0], call->uid, call->gid) ? errno : 0;
	case TRUNCATE:
		return truncate(path[0], call->size) ? errno : 0;
	case UTIMES:
		return utimensat(AT_FDCWD, path[0], times, 0) ? errno : 0;
	case ACCESS:
		return faccessat(AT_FDCWD, path[0], call->mode & 7, AT_EACCESS)
			? errno : 0;
	case SETXATTR:
		return setxattr(path[0], "user.note", path[1], 5,
		                (int)(call->size % 3)) ? errno : 0;
	case ACL:
		return setxattr(path[0], call->is_default
		                ? "system.posix_acl_default"
		                : "system.posix_acl_access", call->acl, 44, 0)
			? errno : 0;
	}
	return -1;
}

static int as(const struct call *call, const char *root)
{
	const struct user *user = call->user;
	int result;

	if (setgroups(user->n, user->groups) || setegid(user->uid)
	    || seteuid(user->uid))
		return -1;
	umask(call->mask);
	result = do_call(call, root);
	if (seteuid(0) || setegid(0) || setgroups(0, NULL))
		return -1;
	umask(022);
	return result;
}

/* What may be seen of a path, by root. */
static void describe(const char *root, const char *name, char text[400])
{
	char path[700], target[300] = "";
	struct stat st;

	snprintf(path, sizeof(path), "%.299s/%.299s", root, name);
	if (lstat(path, &st)) {
		snprintf(text, 400, "%s", strerror(errno));
		return;
	}
	if (S_ISLNK(st.st_mode) && readlink(path, target, 299) < 0)
		strcpy(target, strerror(errno));
	snprintf(text, 400, "%06o %u:%u %ld links, %ld bytes %s", st.st_mode,
	         st.st_uid, st.st_gid, (long)st.st_nlink,
	         S_ISDIR(st.st_mode) ? 0L : (long)st.st_size, target);
}

static bool wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nthe calls before:\n");
	for (unsigned i = steps > LINES ? steps - LINES : 0; i < steps; i++)
		printf("  %s\n", history[i % LINES]);
	return false;
}

static bool one_call(void)
{
	char seen[2][400];
	struct call call;
	int results[2];

	choose(&call);
	for (int k = 0; k < 2; k++)
		results[k] = as(&call, roots[k]);
	snprintf(history[steps++ % LINES], sizeof(history[0]),
	         "%s(%.130s, %.130s) by %u: flags %#x mode %o mask %o %d:%d %ld: %s",
	         kinds[call.what], call.path[0], call.path[1], call.user->uid,
	         (unsigned)call.flags, call.mode, call.mask, (int)call.uid,
	         (int)call.gid, (long)call.size, strerror(results[1]));
	if (results[0] != results[1])
		return wrong("\nresult %d (%s) in the mount, %d (%s) elsewhere",
		             results[0], strerror(results[0]), results[1],
		             strerror(results[1]));
	for (int i = 0; i < PATHS; i++) {
		for (int k = 0; k < 2; k++)
			describe(roots[k], call.path[i], seen[k]);
		if (strcmp(seen[0], seen[1]))
			return wrong("\n%s\n in the mount: %s\n elsewhere: %s",
			             call.path[i], seen[0], seen[1]);
	}
	return true;
}

static int make_folders(const char *root)
{
	uint8_t acl[44];
	char path[700];

	choose_acl(acl);
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i].name);
		if (mkdir(path, 0700)
		    || chown(path, folders[i].uid, folders[i].gid)
		    || chmod(path, folders[i].mode))
			return -errno;
	}
	setxattr(path, "system.posix_acl_default", acl, 44, 0);
	return 0;
}

static enum greatest_test_res run(unsigned seed, const char *options)
{
	size_t count = (size_t)setting("FROND_USERS_STEPS", 4000);
	uint64_t first;

	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, options);
	steps = 0;
	state = first = seed + setting("FROND_USERS_SEED", 0);
	snprintf(roots[0], sizeof(roots[0]), "%s", m.point);
	snprintf(roots[1], sizeof(roots[1]), "%s/plain", m.dir);
	ASSERT_EQ(0, mkdir(roots[1], 0755));
	ASSERT_EQ(0, chmod(m.dir, 0755));
	for (int k = 0; k < 2; k++) {
		state = first; /* the same default ACL */
		ASSERT_EQ(0, chmod(roots[k], 0755));
		ASSERT_EQ(0, make_folders(roots[k]));
	}
	for (size_t i = 0; i < count; i++)
		if (!one_call())
			FAILm("the mount and the plain directory differ");
	ASSERT(users_same_listing(&m, roots[1], 0));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, options));
	ASSERT(users_same_listing(&m, roots[1], 0));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST users_see_what_they_see_elsewhere(void)
{
	return run(1, "allow_other,dev");
}

TEST with_nothing_kept_in_mind(void)
{
	return run(2, "allow_other,dev,cache=none");
}

TEST with_writes_collected(void)
{
	return run(3, "allow_other,dev,writeback");
}

SUITE(random_users)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(users_see_what_they_see_elsewhere);
	RUN_TEST(with_nothing_kept_in_mind);
	RUN_TEST(with_writes_collected);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(random_users);
	GREATEST_MAIN_END();
}
