/*
 * Changing owner and group: what comes of it, which bits go with it, and whether
 * the change time tells of it. Every kind of file, mode, caller and change is
 * done in the mount and in a plain directory beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mount/users.h"

static struct mounted m;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* Each file is Anne's, of one of these groups. */
static const mode_t types[] = { S_IFREG, S_IFDIR, S_IFIFO };
static const mode_t modes[] = { 06755, 06644, 04755, 04644, 02755, 02745, 02644,
                                02700, 0755 };
static const gid_t groups[] = { ANNE, TEAM };

#define NONE ((uid_t)-1)

/* What is asked for: a new owner and group. */
static const struct change {
	uid_t uid;
	gid_t gid;
} changes[] = {
	{ NONE, NONE }, { ANNE, NONE }, { NONE, ANNE }, { NONE, TEAM },
	{ ANNE, TEAM }, { BERT, NONE }, { NONE, STRANGE },
};

static const struct caller {
	const char *name;
	uid_t uid;
	size_t n; /* of the team too */
} callers[] = {
	{ "the owner", ANNE, 0 }, { "the owner, of the team", ANNE, 1 },
	{ "another", BERT, 0 }, { "another, of the team", BERT, 1 },
	{ "root", 0, 0 },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { FILES = COUNT(types) * COUNT(modes) * COUNT(groups) * COUNT(changes) };

struct file {
	mode_t type, mode;
	gid_t group;
	struct change change;
};

static struct file file_of(size_t i)
{
	struct file file = { .change = changes[i % COUNT(changes)] };

	i /= COUNT(changes);
	file.group = groups[i % COUNT(groups)];
	i /= COUNT(groups);
	file.mode = modes[i % COUNT(modes)];
	file.type = types[i / COUNT(modes)];
	return file;
}

/* What came of it, in both: the error, and what stat says. */
struct outcome {
	int error;
	bool told; /* by the change time */
	struct stat st;
};
static struct outcome (*outcomes)[FILES];

static const char *path_of(int plain, size_t i)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/d/%zu", plain ? m.dir : m.point, i);
	return path;
}

static int make_all(int plain)
{
	char dir[400];

	snprintf(dir, sizeof(dir), "%s/d", plain ? m.dir : m.point);
	if (mkdir(dir, 0755))
		return -errno;
	for (size_t i = 0; i < FILES; i++) {
		struct file file = file_of(i);
		const char *path = path_of(plain, i);

		if ((file.type == S_IFDIR ? mkdir(path, 0700)
		                          : mknod(path, file.type | 0600, 0))
		    || chown(path, ANNE, file.group)
		    || chmod(path, file.mode)
		    || stat(path, &outcomes[plain][i].st))
			return -errno;
	}
	return 0;
}

static int change_all(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 2 * FILES; i++) {
		int plain = i >= FILES;
		struct change change = file_of(i % FILES).change;

		outcomes[plain][i % FILES].error =
			chown(path_of(plain, i % FILES), change.uid, change.gid)
			? errno : 0;
	}
	return 0;
}

static int look_at_all(int plain)
{
	for (size_t i = 0; i < FILES; i++) {
		struct outcome *outcome = &outcomes[plain][i];
		const struct timespec before = outcome->st.st_ctim;

		if (stat(path_of(plain, i), &outcome->st))
			return -errno;
		outcome->told = before.tv_sec != outcome->st.st_ctim.tv_sec
		                || before.tv_nsec != outcome->st.st_ctim.tv_nsec;
	}
	return 0;
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->error == b->error && a->st.st_mode == b->st.st_mode
	       && a->st.st_uid == b->st.st_uid && a->st.st_gid == b->st.st_gid
	       && a->told == b->told;
}

static void show(const char *where, const struct outcome *outcome)
{
	printf("  %s: %s, then %06o %u:%u, %s\n", where,
	       outcome->error ? strerror(outcome->error) : "done",
	       outcome->st.st_mode, outcome->st.st_uid, outcome->st.st_gid,
	       outcome->told ? "changed" : "not changed");
}

static size_t differences(const char *caller)
{
	size_t count = 0;

	for (size_t i = 0; i < FILES; i++) {
		struct file file = file_of(i);

		if (same(&outcomes[0][i], &outcomes[1][i]))
			continue;
		if (count++ >= 5)
			continue;
		printf("chown(%d, %d) by %s, of %06o %d:%u\n",
		       (int)file.change.uid, (int)file.change.gid, caller,
		       file.type | file.mode, ANNE, file.group);
		show("plain", &outcomes[1][i]);
		show("mount", &outcomes[0][i]);
	}
	return count;
}

static enum greatest_test_res by(const struct caller *caller)
{
	const struct timespec tick = { 0, 20000000 };
	const gid_t team = TEAM;

	if (geteuid() != 0)
		SKIP_BECAUSE("not root");
	MOUNT_OR_SKIP(&m, "allow_other");
	ASSERT_EQ(0, chmod(m.dir, 0755));
	outcomes = mmap(NULL, 2 * sizeof(*outcomes), PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(outcomes != MAP_FAILED);
	for (int plain = 0; plain < 2; plain++)
		ASSERT_EQ(0, make_all(plain));
	nanosleep(&tick, NULL); /* a change time may be as coarse as this */
	ASSERT_EQ(0, as_user(caller->uid, caller->uid, caller->n, &team,
	                     change_all, NULL));
	for (int plain = 0; plain < 2; plain++)
		ASSERT_EQ(0, look_at_all(plain));
	ASSERT_EQ_FMT((size_t)0, differences(caller->name), "%zu");
	/* What the replies said is so. */
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, mounted_mount(&m, "allow_other"));
	for (size_t i = 0; i < FILES; i++) {
		struct stat st;

		ASSERT_EQ(0, stat(path_of(0, i), &st));
		ASSERT_EQ_FMT(outcomes[1][i].st.st_mode, st.st_mode, "%o");
		ASSERT_EQ_FMT(outcomes[1][i].st.st_gid, st.st_gid, "%u");
	}
	munmap(outcomes, 2 * sizeof(*outcomes));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST by_the_owner(void)
{
	return by(&callers[0]);
}

TEST by_the_owner_of_the_team(void)
{
	return by(&callers[1]);
}

TEST by_another(void)
{
	return by(&callers[2]);
}

TEST by_another_of_the_team(void)
{
	return by(&callers[3]);
}

TEST by_root(void)
{
	return by(&callers[4]);
}

SUITE(changing_owners)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(by_the_owner);
	RUN_TEST(by_the_owner_of_the_team);
	RUN_TEST(by_another);
	RUN_TEST(by_another_of_the_team);
	RUN_TEST(by_root);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(changing_owners);
	GREATEST_MAIN_END();
}
