/* Ciphertext that sync tools and backups bring: merged directories, conflict
 * copies, junk, half of a transfer, an older state. Rows F60, F64, F65, F67
 * and F68 of the field's troubles. The volume is not mounted meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/support.h"
#include "tools/exitcode.h"

static struct mounted m;
static char said[20000];

static const char *in(const char *name)
{
	return mounted_path(m.point, name);
}

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

/* A script whose folder is the one that holds volume, mnt and key. */
static int outside(const char *script)
{
	return run_script(m.dir, script);
}

/* The ciphertext name of the newest entry in the volume's root. */
static const char *newest(void)
{
	static char name[256];
	struct timespec best = { 0, 0 };
	DIR *dir = opendir(m.volume);
	struct dirent *d;
	struct stat st;

	*name = 0;
	while ((d = readdir(dir))) {
		bool own = !strncmp(d->d_name, "frondfs.", 8)
			&& (strncmp(d->d_name, "frondfs.long.", 13)
			    || strstr(d->d_name, ".name"));

		if (*d->d_name == '.' || own
		    || fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (st.st_ctim.tv_sec > best.tv_sec
		    || (st.st_ctim.tv_sec == best.tv_sec
		        && st.st_ctim.tv_nsec > best.tv_nsec)) {
			best = st.st_ctim;
			snprintf(name, sizeof(name), "%s", d->d_name);
		}
	}
	closedir(dir);
	return name;
}

/* F60 */
TEST the_same_directory_made_on_two_machines(void)
{
	char kept[400];

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, mounted_umount(&m));
	/* The other machine has a copy of the volume as it was. */
	ASSERT_EQ(0, outside("cp -a volume other"));
	snprintf(kept, sizeof(kept), "%s", m.volume);
	for (int machine = 0; machine < 2; machine++) {
		snprintf(m.volume, sizeof(m.volume), "%.250s/%s", m.dir,
		         machine ? "other" : "volume");
		ASSERT_EQ(0, mounted_mount(&m, NULL));
		ASSERT_EQ(0, mkdir(in("photos"), 0755));
		ASSERT_EQ(0, mkdir(in("photos/trip"), 0755));
		ASSERT_EQ(0, run_script(m.point, machine
			? "echo b >photos/berlin; echo b2 >photos/trip/b; "
			  "echo from b >photos/both"
			: "echo a >photos/amsterdam; echo a2 >photos/trip/a; "
			  "echo from a >photos/both"));
		ASSERT_EQ(0, mounted_umount(&m));
	}
	snprintf(m.volume, sizeof(m.volume), "%.299s", kept);
	ASSERT_EQ(0, outside("cp -a other/. volume/"));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("photos/amsterdam"), "a\n", 2));
	ASSERT(file_is(in("photos/berlin"), "b\n", 2));
	/* One name on both: both are shown, under names that differ. */
	ASSERT_EQ(0, run_script(m.point, "cat photos/both* | sort >all; "
	                        "printf 'from a\\nfrom b\\n' | cmp - all; "
	                        "C=$?; rm all; exit $C"));
	ASSERT_EQ(0, run_script(m.point, "cat photos/trip*/* | sort | tr -d "
	                        "'\\n' | grep -qx a2b2"));
	/* New files, renames and removal work in it, as ever. */
	ASSERT_EQ(0, file_put(in("photos/new"), "n", 1));
	ASSERT_EQ(0, rename(in("photos/berlin"), in("photos/moved")));
	ASSERT_EQ(0, rename(in("photos/amsterdam"), in("moved")));
	ASSERT(file_is(in("photos/moved"), "b\n", 2));
	ASSERT_EQ(0, run_script(m.point, "rm -r photos moved"));
	ASSERT_EQ(0, path_entries(m.point));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F64 */
TEST conflict_copies_are_shown_and_can_be_used(void)
{
	static const char *const suffixes[] = {
		" (conflicted copy)", ".sync-conflict-20250101-120000-ABCDEFG",
		" (1)", "~", ".orig", "_conflict-20250101",
	};
	char longest[201], from[700], to[700], name[500];

	MOUNT_OR_SKIP(&m, NULL);
	memset(longest, 'l', 200);
	longest[200] = 0;
	for (int kind = 0; kind < 2; kind++) {
		const char *plain = kind ? longest : "report.txt";
		char cipher[256];

		ASSERT_EQ(0, file_put(in(plain), "mine", 4));
		ASSERT_EQ(0, mounted_umount(&m));
		snprintf(cipher, sizeof(cipher), "%s", newest());
		for (int i = 0; i < 6; i++) {
			snprintf(from, sizeof(from), "%s/%s", m.volume, cipher);
			snprintf(to, sizeof(to), "%s/%s%s", m.volume, cipher,
			         suffixes[i]);
			ASSERT_EQ(0, MOUNTED_RUN(NULL, 0, "cp", from, to));
		}
		ASSERT_EQ(0, mounted_mount(&m, NULL));
		ASSERT_EQ(7, path_entries(m.point));
		for (int i = 0; i < 6; i++) {
			snprintf(name, sizeof(name), "%s%s", plain, suffixes[i]);
			ASSERT(file_is(in(name), "mine", 4));
			ASSERT_EQ(4, path_size(in(name)));
		}
		/* Decide: take one, remove the others, change one. */
		snprintf(name, sizeof(name), "%s%s", plain, suffixes[0]);
		ASSERT_EQ(0, file_put(in(name), "theirs", 6));
		ASSERT_EQ(0, rename(in(name), in(plain)));
		ASSERT(file_is(in(plain), "theirs", 6));
		snprintf(name, sizeof(name), "%s%s", plain, suffixes[1]);
		ASSERT_EQ(0, rename(in(name), in("chosen")));
		for (int i = 2; i < 6; i++) {
			snprintf(name, sizeof(name), "%s%s", plain, suffixes[i]);
			ASSERT_EQ(0, unlink(in(name)));
		}
		ASSERT_EQ(2, path_entries(m.point));
		ASSERT_EQ(0, unlink(in("chosen")));
		ASSERT_EQ(0, unlink(in(plain)));
	}
	ASSERT_EQ(2, path_entries(m.volume));
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* F65 */
TEST junk_is_hidden_and_does_no_harm(void)
{
	char log[5000];
	int fd, lines = 0;
	ssize_t n;

	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "x", 1));
	ASSERT_EQ(0, mkdir(in("d"), 0755));
	ASSERT_EQ(0, mkdir(in("e"), 0755));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, outside(
		"for d in volume volume/*/; do (cd $d && "
		"touch .DS_Store ._x Thumbs.db 'plain file.txt' .nfs000001 "
		"x.part .syncthing.abc.tmp && mkdir .stfolder lost+found "
		".snapshots && echo >.stfolder/x && ln -s /etc/passwd link && "
		"mkfifo fifo) || exit 1; done"));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(3, path_entries(m.point));
		ASSERT_EQ(0, path_entries(in("d")));
	}
	ASSERT_EQ(-1, access(in(".DS_Store"), F_OK));
	ASSERT_EQ(0, file_put(in(".DS_Store"), "mine", 4));
	ASSERT_EQ(0, mkdir(in("lost+found"), 0755));
	ASSERT(file_is(in(".DS_Store"), "mine", 4));
	/* What only holds junk is not removed: that might be somebody's. */
	ASSERT_EQ(-1, rmdir(in("d")));
	ASSERT_EQ(ENOTEMPTY, errno);
	ASSERT_EQ(0, rename(in("d"), in("e/d")));
	ASSERT_EQ(0, rmdir(in("lost+found")));
	ASSERT_EQ(0, unlink(in(".DS_Store")));
	ASSERT_EQ(0, mounted_umount(&m));
	fd = open(m.log, O_RDONLY);
	n = read(fd, log, sizeof(log) - 1);
	close(fd);
	ASSERT(n >= 0);
	for (ssize_t i = 0; i < n; i++)
		lines += log[i] == '\n';
	ASSERT(lines <= 3); /* a line for all, and for each rmdir */
	/* fsck counts them and finds no error. */
	ASSERT_EQ(0, MOUNTED_RUN(said, sizeof(said), "frondfs", "fsck",
	                         "--keyfile", m.keyfile, m.volume));
	ASSERT(strstr(said, "foreign"));
	PASS();
}

/* F67: half of a transfer is there. */
TEST half_of_a_transfer_harms_only_its_own_files(void)
{
	static char data[500000];
	char one[256], two[256], path[700];

	MOUNT_OR_SKIP(&m, NULL);
	bytes_fill(data, sizeof(data), 1);
	ASSERT_EQ(0, file_put(in("whole"), data, sizeof(data)));
	ASSERT_EQ(0, file_put(in("cut"), data, sizeof(data)));
	snprintf(one, sizeof(one), "%s", newest());
	pause_for(20);
	ASSERT_EQ(0, file_put(in("missing"), data, sizeof(data)));
	snprintf(two, sizeof(two), "%s", newest());
	ASSERT(strcmp(one, two));
	ASSERT_EQ(0, mounted_umount(&m));
	/* One came in part, one has only its temporary file. */
	snprintf(path, sizeof(path), "%s/%s", m.volume, one);
	ASSERT_EQ(0, truncate(path, 200000));
	snprintf(path, sizeof(path), "cd volume && mv '%.250s' '.%.250s.Xy12Zt'",
	         two, two);
	ASSERT_EQ(0, outside(path));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("whole"), data, sizeof(data)));
	ASSERT_EQ(-1, access(in("missing"), F_OK));
	ASSERT_EQ(2, path_entries(m.point));
	{
		static char got[500000];
		int fd = open(in("cut"), O_RDONLY);

		ASSERT(fd >= 0);
		/* What is there is right, and the rest an error, no end. */
		ASSERT_EQ(190000, pread(fd, got, 190000, 0));
		ASSERT_MEM_EQ(data, got, 190000);
		ASSERT_EQ(-1, pread(fd, got, 1000, 300000));
		ASSERT_EQ(EIO, errno);
		ASSERT_EQ(0, close(fd));
	}
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(EXIT_FSCK_ERRORS, MOUNTED_RUN(said, sizeof(said), "frondfs",
	                                        "fsck", "--keyfile", m.keyfile,
	                                        m.volume));
	ASSERT(strstr(said, "truncated"));
	PASS();
}

/* F68 */
TEST an_older_state_of_the_volume_can_be_mounted(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	ASSERT_EQ(0, file_put(in("f"), "old", 3));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, outside("cp -a volume backup"));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT_EQ(0, file_put(in("f"), "newer", 5));
	ASSERT_EQ(0, file_put(in("g"), "newer", 5));
	ASSERT_EQ(0, mounted_umount(&m));
	ASSERT_EQ(0, outside("rm -r volume && cp -a backup volume"));
	ASSERT_EQ(0, mounted_mount(&m, NULL));
	ASSERT(file_is(in("f"), "old", 3));
	ASSERT_EQ(1, path_entries(m.point));
	ASSERT_EQ(0, file_put(in("g"), "again", 5));
	UNMOUNT_AND_CHECK(&m);
	/* Nothing of the daemon's is kept beside the volume. */
	ASSERT_EQ(0, outside("test \"$(ls -A | tr '\\n' ' ')\" = "
	                     "'backup key log mnt recovery volume '"));
	PASS();
}

SUITE(sync_tools)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(the_same_directory_made_on_two_machines);
	RUN_TEST(conflict_copies_are_shown_and_can_be_used);
	RUN_TEST(junk_is_hidden_and_does_no_harm);
	RUN_TEST(half_of_a_transfer_harms_only_its_own_files);
	RUN_TEST(an_older_state_of_the_volume_can_be_mounted);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(sync_tools);
	GREATEST_MAIN_END();
}
