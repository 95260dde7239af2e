/*
 * frondfs fsck on what nobody but an attacker leaves in a volume: depths,
 * sizes and types of files that the program itself never makes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>

#include "damage.h"
#include "fs/volume/io.h"

static struct victim v;

#define WHOLE -1, -1, -1, -1

/* A name of the right form. */
static const char form[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

static int no_sync(int fd)
{
	(void)fd;
	return 0;
}

/* Directories inside each other, more than are looked into: these are said to
 * be unchecked, and the stack holds out. */
TEST deep_tree(void)
{
	enum { DEPTH = 2100 };
	struct io quick = io_system;
	struct dir_entry entry;
	struct report r;
	struct dir *dir;
	int fd;

	victim_make(&v);
	quick.fsync = quick.fdatasync = no_sync;
	io = &quick;
	fd = dup(v.volume->root);
	for (int i = 0; i < DEPTH; i++) {
		ASSERT_EQ(0, dir_open(&dir, v.volume, fd));
		ASSERT_EQ(0, dir_mkdir(dir, "d", 0755, NULL, &entry));
		fd = openat(dir_fd(dir), entry.text, O_RDONLY | O_DIRECTORY);
		ASSERT(fd >= 0);
		dir_unref(dir);
	}
	close(fd);
	io = &io_system;
	fsck_run(&r, &v, 0, NULL, NULL);
	ASSERT_EQ(4, r.code);
	ASSERT_EQ(1, (int)r.count);
	/* Or the limit of descriptors is met, where that is lower. */
	ASSERT(strstr(r.json, "it lies too deep") ||
	       strstr(r.json, strerror(EMFILE)));
	report_free(&r);
	victim_remove(&v);
	PASS();
}

TEST empty_directory(void)
{
	victim_make(&v);
	ASSERT_EQ(0, mkdir(join_path(v.root, form), 0700));
	ASSERT(FSCK_SAYS(&v, 4, { "corrupt name", form, form, WHOLE },
	                 { "missing directory id", form, form, WHOLE }));
	victim_remove(&v);
	PASS();
}

/* Something of another type where a file of the tool's own should be. */
static void replace(const char *path, int type)
{
	need(unlink(path) == 0, path);
	if (type == S_IFDIR)
		need(mkdir(path, 0700) == 0, path);
	else if (type == S_IFLNK)
		need(symlink("/etc/passwd", path) == 0, path);
	else
		need(mknod(path, (mode_t)type | 0600, 0) == 0, path);
}

TEST other_types(void)
{
	static const int types[] = { S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK };
	char long_name[201];
	const char *text;

	memset(long_name, 'L', 200);
	long_name[200] = '\0';
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		victim_make(&v);
		put_file_at(&v, long_name, 1, 100);
		put_file_at(&v, "other", 2, 100);
		put_dir_at(&v, "sub");
		text = cipher_of(&v, long_name);
		replace(name_file(&v, long_name), types[i]);
		replace(id_file(&v, "sub"), types[i]);
		ASSERT(FSCK_SAYS(&v, 4,
			{ "corrupt name", text, text, WHOLE },
			{ "damaged directory id", "sub",
			  join_path(cipher_of(&v, "sub"),
			            strrchr(id_file(&v, "sub"), '/') + 1),
			  WHOLE }));
		victim_remove(&v);
	}
	PASS();
}

/* Sectors far behind the end of what any disk holds: none is left out. Below
 * /dev/shm, as most other stores take no file of this size. */
TEST immense_file(void)
{
	static char folder[] = "/dev/shm/frondfs-test-XXXXXX";
	const uint64_t size = (uint64_t)1 << 62;
	char command[700], root[100];
	struct victim far;
	struct report r;
	char end[64], *line;

	victim_make(&v);
	put_file_at(&v, "file", 1, 10000);
	need(mkdtemp(folder) != NULL, "a folder below /dev/shm");
	snprintf(command, sizeof(command), "cp -a %s %s/volume", v.root, folder);
	need(system(command) == 0, command);
	snprintf(root, sizeof(root), "%s/volume", folder);
	victim_of(&far, root, v.keyfile);
	if (truncate(where(&far, "file"), (off_t)size)) {
		need(errno == EFBIG || errno == EINVAL, "truncate");
		victim_remove(&far);
		snprintf(command, sizeof(command), "rm -rf %s", folder);
		need(system(command) == 0, command);
		victim_remove(&v);
		SKIPm("no store here takes a file of this size");
	}
	fsck_run(&r, &far, 0, NULL, NULL);
	ASSERT_EQ(4, r.code);
	/* Each of its parts, of which there are not too many, is found to be
	 * zero, and so is the last one. */
	snprintf(end, sizeof(end), "-%llu|",
	         (unsigned long long)(size / 4096 - 1));
	line = strstr(r.findings, "zeroed sector|");
	while (line && strstr(line, end) > strchr(line, '\n'))
		line = strstr(line + 1, "zeroed sector|");
	ASSERT(line && strstr(line, end));
	ASSERT(r.count > 500 && r.count < 2000);
	report_free(&r);
	victim_remove(&far);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	need(system(command) == 0, command);
	victim_remove(&v);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(deep_tree);
	RUN_TEST(empty_directory);
	RUN_TEST(other_types);
	RUN_TEST(immense_file);
	GREATEST_MAIN_END();
}
