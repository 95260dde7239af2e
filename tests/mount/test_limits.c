/* The daemon at the limits that a system sets to a process (setrlimit(2)): a
 * call fails, the daemon goes on, and nothing is left behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

static int limit_daemon(__rlimit_resource_t what, rlim_t soft, struct rlimit *old)
{
	struct rlimit limit;

	if (prlimit(m.daemon, what, NULL, old))
		return -1;
	limit = *old;
	limit.rlim_cur = soft;
	return prlimit(m.daemon, what, &limit, NULL);
}

static int daemon_descriptors(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)m.daemon);
	return path_entries(path);
}

/* `ulimit -f` of the shell that mounts is not for those who use the mount. */
TEST a_file_size_limit_of_the_mounting_shell_is_lifted(void)
{
	static uint8_t data[3 << 20];
	struct rlimit old, low;
	int error;

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	bytes_fill(data, sizeof(data), 1);
	ASSERT_EQ(0, mounted_make(&m));
	ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &old));
	low = old;
	low.rlim_cur = 1 << 20;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &low));
	error = mounted_mount(&m, NULL);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &old));
	ASSERT_EQ(0, error);
	ASSERT_EQ(0, file_put(in("f"), data, sizeof(data)));
	ASSERT(file_is(in("f"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

TEST a_file_above_the_daemons_limit_is_an_error(void)
{
	static uint8_t data[3 << 20];
	struct rlimit old;
	off_t size;
	int fd;

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 2);
	if (limit_daemon(RLIMIT_FSIZE, (1 << 20) + 100, &old))
		SKIP_BECAUSE("no permission to set the daemon's limits");
	fd = open(in("f"), O_RDWR | O_CREAT, 0600);
	ASSERT(fd >= 0);
	ASSERT_EQ(9000, write(fd, data, 9000));
	ASSERT_EQ(-1, ftruncate(fd, 2 << 20));
	ASSERT_EQ(EFBIG, errno);
	ASSERT_EQ(9000, path_size(in("f")));
	ASSERT_EQ(0, close(fd));
	ASSERT(file_is(in("f"), data, 9000));
	ASSERT_EQ(-EFBIG, file_put(in("g"), data, sizeof(data)));
	ASSERT_EQ(0, prlimit(m.daemon, RLIMIT_FSIZE, &old, NULL));
	size = path_size(in("g"));
	ASSERT(size > 900000 && size <= 1 << 20);
	ASSERT(file_is(in("g"), data, (size_t)size));
	/* The next to write to it finishes what the limit did not let. */
	ASSERT_EQ(0, file_put(in("g"), data, sizeof(data)));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* How many entries of the volume's root are unfinished changes. */
static int temporary_entries(void)
{
	DIR *stream = opendir(m.volume);
	struct dirent *d;
	int count = 0;

	while (stream && (d = readdir(stream)))
		count += !strncmp(d->d_name, "frondfs.tmp.", 12);
	closedir(stream);
	return count;
}

/* With no descriptor to spare (the limit is one of numbers, and there may be
 * gaps in them), with one, two and so on. */
TEST changes_without_descriptors_leave_nothing_behind(void)
{
	static const char *const calls[] = {
		"mkdir", "create", "symlink", "rmdir", "rename over",
	};
	char target[4000];
	struct rlimit old;
	int failed = 0, most;

	MOUNT_OR_SKIP(&m, NULL);
	memset(target, 't', sizeof(target) - 1);
	target[sizeof(target) - 1] = 0;
	most = daemon_descriptors() + 8;
	for (int limit = 3; limit <= most; limit++) {
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
			int error = 0, fd;

			ASSERT_EQ(0, mkdir(in("old"), 0700));
			ASSERT_EQ(0, mkdir(in("older"), 0700));
			ASSERT_EQ(0, access(in("old"), F_OK));
			if (limit_daemon(RLIMIT_NOFILE, (rlim_t)limit, &old))
				SKIP_BECAUSE("no permission to set limits");
			switch (i) {
			case 0:
				error = mkdir(in("new"), 0700);
				break;
			case 1:
				fd = open(in("new"), O_CREAT | O_EXCL, 0600);
				error = fd < 0 ? -1 : close(fd);
				break;
			case 2:
				error = symlink(target, in("new"));
				break;
			case 3:
				error = rmdir(in("old"));
				break;
			default:
				error = rename(in("older"), in("old"));
			}
			failed += error != 0;
			ASSERT_EQ(0, prlimit(m.daemon, RLIMIT_NOFILE, &old,
			                     NULL));
			if (temporary_entries())
				fprintf(stderr, "%s, limit %d\n", calls[i], limit);
			ASSERT_EQ(0, temporary_entries());
			if (i < 3)
				ASSERT_EQ(error != 0, path_mode(in("new")) < 0);
			remove(in("new"));
			rmdir(in("old"));
			rmdir(in("older"));
			ASSERT_EQ(0, path_entries(m.point));
		}
	}
	ASSERT(failed > 0);
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

SUITE(limits)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(a_file_size_limit_of_the_mounting_shell_is_lifted);
	RUN_TEST(a_file_above_the_daemons_limit_is_an_error);
	RUN_TEST(changes_without_descriptors_leave_nothing_behind);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(limits);
	GREATEST_MAIN_END();
}
