/*
 * What the commands without a mount write and read is what a mount shows: a
 * tree that was imported, and one that was made in the mount and exported.
 */
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/mounted.h"
#include "mount/support.h"
#include "mount/twin.h"

static struct mounted m;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* A tree with a bit of everything; every time in it is old. */
static const char script[] =
	"set -e; cd \"$0\"; mkdir -p t/deep/er t/empty; cd t\n"
	"for n in 0 1 4000 4001 8080 300000; do head -c $n /dev/urandom >s$n; done\n"
	"echo begin >sparse; truncate -s 30M sparse; echo end >>sparse\n"
	"ln s4001 deep/hard; ln -s ../s1 deep/sym; mkfifo fifo\n"
	"ln -s $(printf 'x%.0s' $(seq 3500)) long\n"
	"echo n >$(printf 'n%.0s' $(seq 255)); echo b >\"$(printf 'b\\377')\"\n"
	"chmod 4751 s8080; chmod 0 s1; chmod 3777 empty; chown 1234:5678 s0 deep\n"
	"find . -depth -exec touch -h -d '2001-02-03 04:05:06.789' {} +\n";

static int make_tree(const char *dir)
{
	const char *const argv[] = { "/bin/sh", "-c", script, dir, NULL };
	char path[400];
	int result = mounted_run(argv, NULL, 0);

	snprintf(path, sizeof(path), "%s/t/s4000", dir);
	if (!result)
		result = setxattr(path, "user.some", "value", 5, 0);
	return result;
}

static bool same(const char *a, const char *b)
{
	const int roots[2] = {
		open(a, O_RDONLY | O_DIRECTORY), open(b, O_RDONLY | O_DIRECTORY),
	};
	struct inodes inodes = { .count = 0 };
	bool good = roots[0] >= 0 && roots[1] >= 0 && twin_same(roots, &inodes);

	free(inodes.pairs);
	close(roots[0]);
	close(roots[1]);
	return good;
}

static void setup(char plain[400], const char *name)
{
	snprintf(plain, 400, "%s/%s", m.dir, name);
	if (mkdir(plain, 0755))
		abort();
}

TEST a_mount_shows_what_was_imported(void)
{
	char plain[400], from[410], output[4000];

	ASSERT_EQ(0, mounted_make(&m));
	setup(plain, "plain");
	ASSERT_EQ(0, make_tree(plain));
	snprintf(from, sizeof(from), "%s/", plain);
	ASSERT_EQ(0, MOUNTED_RUN(output, sizeof(output), "frondfs", "import",
	                         "--keyfile", m.keyfile, from, m.volume));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(same(m.point, plain));
	/* The volume is in use now: read, but not changed. */
	ASSERT_EQ(24, MOUNTED_RUN(output, sizeof(output), "frondfs", "import",
	                          "--keyfile", m.keyfile, from, m.volume));
	ASSERT(strstr(output, "is mounted or being checked"));
	ASSERT_EQ(24, MOUNTED_RUN(output, sizeof(output), "frondfs", "rm", "-r",
	                          "--keyfile", m.keyfile, m.volume, "t"));
	ASSERT_EQ(0, MOUNTED_RUN(output, sizeof(output), "frondfs", "ls",
	                         "--keyfile", m.keyfile, m.volume, "t/deep"));
	ASSERT_STR_EQ("er\nhard\nsym\n", output);
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

TEST what_a_mount_wrote_is_exported(void)
{
	char plain[400], output[4000];

	ASSERT_EQ(0, mounted_make(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, make_tree(m.point));
	setup(plain, "out");
	/* Beside the mount: what it has said is written can be read. */
	ASSERT_EQ(0, MOUNTED_RUN(output, sizeof(output), "frondfs", "export",
	                         "--keyfile", m.keyfile, m.volume, "/", plain));
	ASSERT(same(m.point, plain));
	ASSERT_EQ(0, mounted_umount(&m));
	/* And without it nothing is different. */
	ASSERT_EQ(0, MOUNTED_RUN(output, sizeof(output), "frondfs", "export",
	                         "--keyfile", m.keyfile, m.volume, "/", plain));
	ASSERT(strstr(output, "frondfs: 0 files (0 B), 0 directories, 0 links, "
	              "0 others copied;"));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	SET_TEARDOWN(teardown, NULL);
	if (mounted_possible()) {
		RUN_TEST(a_mount_shows_what_was_imported);
		RUN_TEST(what_a_mount_wrote_is_exported);
	}
	GREATEST_MAIN_END();
}
