/*
 * A store that can little: FAT, as on a memory card (rows F38 and F112 of the
 * field's troubles); and what mounting costs on one with many files (F102). On
 * real FAT where this machine has it, and on what the tests' own store does
 * alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "mount/faulty.h"
#include "mount/guard.h"
#include "mount/support.h"

enum { FILES = 120, SIZE = 9000 };

static struct mounted m;
static char source[300]; /* the real folder, or the image */
static bool is_fat;
static char said[9000];

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	if (m.daemon)
		mounted_kill(&m);
	if (is_fat)
		umount2(m.volume, MNT_DETACH);
	else
		faulty_umount();
	is_fat = false;
	guard_end(&m, false);
}

/* Make the store, empty; its folder is m.volume from then on. */
static int begin(bool fat)
{
	char script[1800];

	if (mounted_make(&m))
		return -1;
	guard_begin(&m, 60);
	snprintf(m.volume, sizeof(m.volume), "%.250s/store", m.dir);
	snprintf(source, sizeof(source), "%.250s/source", m.dir);
	if (fat) {
		snprintf(script, sizeof(script), "truncate -s 48M '%s' &&"
		         " mkfs.vfat '%s' && mkdir '%s' && mount -t vfat"
		         " -o loop,iocharset=utf8,uid=%d '%s' '%s'", source, source,
		         m.volume, (int)geteuid(), source, m.volume);
		is_fat = !run_script(m.dir, script);
		return is_fat ? 0 : -1;
	}
	return mkdir(source, 0755) || faulty_mount_simple(source, m.volume);
}

static bool kernel_has(const char *type)
{
	char line[100];
	bool found = false;
	FILE *f = fopen("/proc/filesystems", "r");

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, type) != NULL;
	if (f)
		fclose(f);
	return found;
}

#define STORE_OR_SKIP(fat)                                             \
	do {                                                           \
		if (geteuid() != 0)                                    \
			SKIP_BECAUSE("not root");                      \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		if ((fat) && !kernel_has("vfat")                       \
		    && system("modprobe -q vfat 2>/dev/null"))         \
			SKIP_BECAUSE("this kernel has no vfat");       \
		if ((fat) && !have_program("mkfs.vfat"))               \
			SKIP_BECAUSE("no mkfs.vfat");                  \
		ASSERT_EQ(0, begin(fat));                              \
		ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", \
			"init", "--keyfile", m.keyfile,                \
			"--recovery-key-file", "/dev/shm/frond-simple", \
			mounted_path(m.volume, "v")));                 \
		unlink("/dev/shm/frond-simple");                       \
		snprintf(m.volume + strlen(m.volume),                  \
		         sizeof(m.volume) - strlen(m.volume), "/v");   \
	} while (0)

static const char *file_name(int i)
{
	char name[60];

	snprintf(name, sizeof(name), "d/%s %d", i % 2 ? "File" : "fILE", i / 2);
	return in(name);
}

/* Every file has content of its own: none is taken for another one. */
static bool all_are_theirs(int except)
{
	static uint8_t bytes[SIZE];

	for (int i = 0; i < FILES; i++) {
		bytes_fill(bytes, SIZE, (unsigned)i);
		if (i != except && !file_is(file_name(i), bytes, (size_t)i * 70))
			return false;
	}
	return true;
}

static void forget(void)
{
	/* Both the mount's inodes and the store's. */
	FILE *f = fopen("/proc/sys/vm/drop_caches", "w");

	if (f) {
		fputs("2", f);
		fclose(f);
	}
}

#define REFUSED(call)                                                  \
	do {                                                           \
		errno = 0;                                             \
		ASSERT_EQ(-1, call);                                   \
		ASSERT(errno == EPERM || errno == EOPNOTSUPP);         \
	} while (0)

TEST what_it_can_works(bool fat)
{
	static uint8_t bytes[SIZE], buf[SIZE];
	char long_name[256];
	struct stat st;
	int fd, other;

	STORE_OR_SKIP(fat);
	ASSERT(strstr(said, "upper from lower case"));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "cat", m.log));
	ASSERT(strstr(said, "upper from lower case"));

	ASSERT_EQ(0, mkdir(in("d"), 0755));
	for (int i = 0; i < FILES; i++) {
		bytes_fill(bytes, SIZE, (unsigned)i);
		ASSERT_EQ(0, file_put(file_name(i), bytes, (size_t)i * 70));
	}
	ASSERT_EQ(FILES, path_entries(in("d")));
	ASSERT(all_are_theirs(-1));
	/* Numbers change while a file is open and others come and go. */
	fd = open(file_name(100), O_RDWR);
	ASSERT(fd >= 0);
	for (int round = 0; round < 3; round++) {
		forget();
		ASSERT(all_are_theirs(-1));
		ASSERT_EQ(0, unlink(file_name(7)));
		bytes_fill(bytes, SIZE, 7);
		ASSERT_EQ(0, file_put(file_name(7), bytes, 490));
		bytes_fill(bytes, SIZE, 100);
		ASSERT_EQ(7000, pread(fd, buf, SIZE, 0));
		ASSERT_MEM_EQ(bytes, buf, 7000);
		other = open(file_name(100), O_RDWR);
		ASSERT_EQ(5, pwrite(fd, "12345", 5, 3000 + round));
		ASSERT_EQ(5, pread(other, buf, 5, 3000 + round));
		ASSERT_MEM_EQ("12345", buf, 5);
		ASSERT_EQ(0, close(other));
		ASSERT_EQ(5, pwrite(fd, bytes + 3000 + round, 5, 3000 + round));
	}
	ASSERT_EQ(0, ftruncate(fd, 100));
	ASSERT_EQ(0, fstat(fd, &st));
	ASSERT_EQ(100, (int)st.st_size);
	ASSERT_EQ(0, ftruncate(fd, 5000000));
	ASSERT_EQ(1, pwrite(fd, "x", 1, 4999999));
	ASSERT_EQ(0, fsync(fd));
	ASSERT_EQ(1, pread(fd, buf, 1, 4999999));
	ASSERT_EQ('x', buf[0]);
	ASSERT_EQ(1, pread(fd, buf, 1, 2000000));
	ASSERT_EQ(0, buf[0]);
	ASSERT_EQ(0, ftruncate(fd, 7000));
	ASSERT_EQ(0, close(fd));

	/* Two names that differ by case only are two files. */
	ASSERT_EQ(0, file_put(in("name"), "lower", 5));
	ASSERT_EQ(0, file_put(in("NAME"), "UPPER!", 6));
	ASSERT(file_is(in("name"), "lower", 5));
	ASSERT_EQ(0, rename(in("name"), in("Name")));
	ASSERT(file_is(in("Name"), "lower", 5));
	ASSERT(file_is(in("NAME"), "UPPER!", 6));
	ASSERT_EQ(-1, access(in("name"), F_OK));
	memset(long_name, 'L', 255);
	long_name[255] = 0;
	ASSERT_EQ(0, file_put(in(long_name), "long", 4));
	ASSERT_EQ(0, rename(in("d"), in("D")));
	ASSERT_EQ(FILES, path_entries(in("D")));
	ASSERT_EQ(0, run_script(m.point, "cp -r D E && diff -r D E && rm -r D"
	                        " && mv E d && touch -d @1000000000 Name"
	                        " && test $(stat -c %Y Name) = 1000000000"));

	/* And what it cannot do is refused. */
	REFUSED(symlink("target", in("s")));
	REFUSED(link(in("Name"), in("hard")));
	REFUSED(mkfifo(in("fifo"), 0600));
	REFUSED(setxattr(in("Name"), "user.a", "b", 1, 0));
	REFUSED(chown(in("Name"), 12345, 12345));
	chmod(in("Name"), 0600); /* without effect, as on FAT itself */
	ASSERT(file_is(in("Name"), "lower", 5));
	ASSERT_EQ(4, path_entries(m.point));

	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, volume_check(&m));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(all_are_theirs(100));
	ASSERT(file_is(in(long_name), "long", 4));
	ASSERT_EQ(0, mounted_umount(&m));
	PASS();
}

/* A name whose case was changed is no file: neither its own nor another. */
TEST a_name_in_another_case_is_damage(void)
{
	char script[1800];

	STORE_OR_SKIP(false);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, file_put(in("kept"), "kept", 4));
	ASSERT_EQ(0, mounted_umount(&m));
	snprintf(script, sizeof(script), "cd '%s/v'; for F in *; do case $F in"
	         " frondfs.*) ;; *) mv $F x; mv x $(echo $F | tr a-z A-Z);;"
	         " esac; done", source);
	ASSERT_EQ(0, run_script(m.dir, script));
	ASSERT(MOUNTED_RUN(said, sizeof(said), "frondfs", "fsck", "--keyfile",
	                   m.keyfile, m.volume) != 0);
	PASS();
}

/* F102: mounting looks at the root alone, whatever there is below it: the
 * requests that the store gets are counted, with few files and with many. */
static unsigned requests_of_a_mount(void)
{
	unsigned count;

	faulty->struck = 0;
	faulty->count = true;
	if (mounted_mount(&m, NULL))
		return 0;
	count = faulty->struck;
	faulty->count = false;
	return mounted_umount(&m) ? 0 : count;
}

TEST mounting_is_independent_of_the_files(void)
{
	unsigned before, after;

	STORE_OR_SKIP(false);
	before = requests_of_a_mount();
	ASSERT(before > 0);
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, run_script(m.point, "for D in 1 2 3 4 5 6 7 8 9; do mkdir $D;"
	                        " for F in 1 2 3 4 5 6 7 8 9; do mkdir $D/$F;"
	                        " echo $F >$D/$F/file; done; done"));
	ASSERT_EQ(0, mounted_umount(&m));
	after = requests_of_a_mount();
	printf("requests to the store: %u, with 171 entries %u\n", before, after);
	/* Nine more entries in the root, which is listed. */
	ASSERT(after <= before + 9);
	PASS();
}

SUITE(simple_store)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TESTp(what_it_can_works, false);
	RUN_TESTp(what_it_can_works, true);
	RUN_TEST(a_name_in_another_case_is_damage);
	RUN_TEST(mounting_is_independent_of_the_files);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(simple_store);
	GREATEST_MAIN_END();
}
