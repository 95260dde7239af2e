/*
 * Mounting by mount(8), fstab(5) and umount(8): row F88 of the field's
 * troubles. In mounts of this process alone /sbin holds nothing but the helper
 * (or mount.fuse3), and /etc/fstab is the test's.
 */
#include <errno.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mount/support.h"
#include "mount/users.h"
#include "tools/exitcode.h"

static struct mounted m;
static bool prepared; /* mounts of our own, /dev/fuse and a user */

static void teardown(void *unused)
{
	(void)unused;
	if (!prepared)
		return;
	umount2("/etc/fstab", MNT_DETACH);
	umount2("/sbin", MNT_DETACH);
	mounted_remove(&m);
}

/* Cover /sbin by an empty one, and put something there. */
static int cover_sbin(const char *target, const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "/sbin/%s", name);
	return mount("none", "/sbin", "tmpfs", 0, "mode=755")
	       || symlink(target, path) ? -errno : 0;
}

static int cover_fstab(const char *format)
{
	char path[400], line[2000];

	snprintf(path, sizeof(path), "%s/fstab", m.dir);
	snprintf(line, sizeof(line), format, m.dir, m.point, m.keyfile);
	return file_put(path, line, strlen(line)) || chmod(path, 0644)
	       || mount(path, "/etc/fstab", NULL, MS_BIND, NULL) ? -1 : 0;
}

#define PREPARE_OR_SKIP(user)                                          \
	do {                                                           \
		if (!prepared || access("/etc/fstab", F_OK))           \
			SKIP_BECAUSE("no mounts of its own, or no fstab"); \
		ASSERT_EQ(0, mounted_make_for(&m, user));              \
		ASSERT_EQ(0, chmod(m.dir, 0755));                      \
	} while (0)

/* A script with the volume's paths in $V, $P and $K; $O has a mount's options
 * and its type, as the kernel knows them. It ends at the first failure. */
static int run_it(const char *script)
{
	char text[6000];

	snprintf(text, sizeof(text),
	         "V='%s' P='%s' K='%s'\n"
	         "fail() { echo \"$*\"; exit 1; }\n"
	         "known() { awk -v p=\"$P\" '$5 == p { print $6, $(NF-2), $(NF-1),"
	         " $NF }' /proc/self/mountinfo; }\n"
	         "gone() { [ -z \"$(known)\" ] || fail 'still mounted'; }\n"
	         "set -e\n%s", m.volume, m.point, m.keyfile, script);
	return run_script(m.dir, text);
}

TEST mount_calls_the_helper(void)
{
	PREPARE_OR_SKIP(0);
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, run_it(
		"mount -t fuse.frondfs \"$V\" \"$P\" -o keyfile=\"$K\"\n"
		"known\n"
		"known | grep -q \"fuse.frondfs $V \"\n"
		"known | grep -q '^rw' || fail 'not rw'\n"
		/* What was not said is allowed, as with other types. */
		"! known | grep -q 'nosuid\\|nodev' || fail 'nosuid'\n"
		"echo text >\"$P/file\"\n"
		"umount \"$P\"\n"
		"gone\n"
		/* At once again, and of all options as fstab has them. */
		"mount -v -t fuse.frondfs -o ro,noauto,user,_netdev,nofail,exec,"
		"noatime,x-systemd.automount,x-systemd.device-timeout=9,"
		"X-mount.mkdir,comment=no,defaults,keyfile=\"$K\" \"$V\" \"$P\"\n"
		"known | grep -q '^ro,nosuid,nodev,noatime ' || known\n"
		"[ \"$(cat \"$P/file\")\" = text ]\n"
		"! touch \"$P/other\" 2>/dev/null || fail 'not read-only'\n"
		"umount \"$P\"\n"));
	PASS();
}

TEST fstab_says_how(void)
{
	PREPARE_OR_SKIP(0);
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, run_it("mv volume 'the volume'\n"));
	ASSERT_EQ(0, cover_fstab(
		"%s/the\\040volume %s fuse.frondfs "
		"noauto,nodev,nosuid,allow_other,keyfile=%s,x-systemd.requires=a 0 0\n"));
	ASSERT_EQ(0, run_it(
		"mount -a\n"
		"gone\n"
		"mount \"$P\"\n"
		"known | grep -q 'nosuid,nodev.*fuse.frondfs.*allow_other'\n"
		"echo text >\"$P/file\"\n"
		"umount \"$P\"\n"
		"gone\n"
		"mount \"$P\"\n"
		"[ \"$(cat \"$P/file\")\" = text ]\n"
		"umount \"$P\"\n"
		"mv 'the volume' volume\n"));
	PASS();
}

TEST mount_all_mounts_once(void)
{
	PREPARE_OR_SKIP(0);
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, cover_fstab("%s/volume %s fuse.frondfs keyfile=%s 0 0\n"));
	ASSERT_EQ(0, run_it(
		"mount -a -t fuse.frondfs\n"
		"mount -a -t fuse.frondfs\n"
		"[ $(known | wc -l) = 1 ]\n"
		"umount -a -t fuse.frondfs -O no_netdev 2>/dev/null || umount \"$P\"\n"
		"gone\n"));
	PASS();
}

static int as_anne(const char *script)
{
	char text[1000];

	snprintf(text, sizeof(text),
	         "exec setpriv --reuid %d --regid %d --clear-groups sh -ec '%s'\n",
	         ANNE, ANNE, script);
	return run_it(text);
}

/* The option `user` lets an ordinary user mount, as himself. */
TEST a_user_mounts_what_fstab_lets_him(void)
{
	PREPARE_OR_SKIP(ANNE);
	if (!have_program("setpriv"))
		SKIP_BECAUSE("no setpriv");
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, cover_fstab(
		"%s/volume %s fuse.frondfs noauto,user,keyfile=%s 0 0\n"));
	ASSERT_EQ(0, as_anne("mount mnt; echo text >mnt/file"));
	ASSERT_EQ(0, run_it("known | grep -q 'nosuid,nodev,noexec'\n"
	                    "known | grep -q 'user_id=61001,'\n"));
	ASSERT_EQ(0, as_anne("cat mnt/file; umount mnt"));
	ASSERT_EQ(0, run_it("gone\n"));
	PASS();
}

TEST setuid_mounts_as_a_user(void)
{
	PREPARE_OR_SKIP(ANNE);
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, run_it(
		"mount -t fuse.frondfs -o rw,setuid=frond-anne,keyfile=\"$K\" \"$V\" \"$P\"\n"
		"known | grep -q 'user_id=61001,group_id=61001'\n"
		"umount \"$P\"\n"
		"rc=0; mount -t fuse.frondfs -o setuid=frond-nobody,keyfile=\"$K\" \"$V\""
		" \"$P\" || rc=$?\n"
		"[ $rc = 16 ]\n"
		"gone\n"));
	PASS();
}

/* Without the helper, by libfuse's own. */
TEST mount_fuse3_calls_the_command(void)
{
	PREPARE_OR_SKIP(0);
	if (access("/sbin/mount.fuse3", X_OK))
		SKIP_BECAUSE("no mount.fuse3");
	ASSERT_EQ(0, run_it("cp /sbin/mount.fuse3 mount.fuse3\n"));
	ASSERT_EQ(0, cover_sbin(mounted_path(m.dir, "mount.fuse3"), "mount.fuse"));
	/* mount(8) clears PATH, so it is found where shells look by default. */
	ASSERT_EQ(0, symlink(FROND_BINARY, "/sbin/frondfs"));
	ASSERT_EQ(0, run_it(
		"mount -t fuse.frondfs -o ro,noauto,users,_netdev,x-systemd.automount,"
		"keyfile=\"$K\" \"$V\" \"$P\"\n"
		"known | grep -q \"fuse.frondfs $V \"\n"
		"umount \"$P\"\n"
		"mount -t fuse -o keyfile=\"$K\" \"frondfs#$V\" \"$P\"\n"
		"known | grep -q \"^rw.*fuse.frondfs $V \"\n"
		"umount \"$P\"\n"
		"gone\n"));
	PASS();
}

TEST what_is_wrong_is_told_and_mounts_nothing(void)
{
	PREPARE_OR_SKIP(0);
	ASSERT_EQ(0, cover_sbin(FROND_BINARY, "mount.fuse.frondfs"));
	ASSERT_EQ(0, run_it(
		"try() { want=$1; shift; rc=0; \"$@\" >said 2>&1 || rc=$?;"
		" [ $rc = $want ] || { cat said; fail \"$rc, not $want: $*\"; }; }\n"
		"echo 'sixteen bytes, but not those' >wrong\n"
		"try 17 mount -t fuse.frondfs -o keyfile=wrong \"$V\" \"$P\"\n"
		"grep -q frondfs: said\n"
		"try 16 mount -t fuse.frondfs -o sizee=3,keyfile=\"$K\" \"$V\" \"$P\"\n"
		"grep -q \"'sizee=3'\" said\n"
		"try 18 mount -t fuse.frondfs -o keyfile=\"$K\" /etc \"$P\"\n"
		"try 0 mount -f -t fuse.frondfs -o keyfile=\"$K\" \"$V\" \"$P\"\n"
		"try 16 /sbin/mount.fuse.frondfs \"$V\"\n"
		"try 0 /sbin/mount.fuse.frondfs -h\n"
		"gone\n"
		"try 0 mount -s -t fuse.frondfs -o sizee=3,keyfile=\"$K\" \"$V\" \"$P\"\n"
		"try 16 mount -o remount,ro \"$P\"\n"
		"grep -q 'mount -i' said\n"
		"try 0 mount -i -o remount,ro \"$P\"\n"
		"try 1 touch \"$P/file\"\n"
		"try 0 mount -i -o remount,rw \"$P\"\n"
		"try 0 touch \"$P/file\"\n"
		"try 0 umount \"$P\"\n"));
	PASS();
}

SUITE(helper)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(mount_calls_the_helper);
	RUN_TEST(fstab_says_how);
	RUN_TEST(mount_all_mounts_once);
	RUN_TEST(a_user_mounts_what_fstab_lets_him);
	RUN_TEST(setuid_mounts_as_a_user);
	RUN_TEST(mount_fuse3_calls_the_command);
	RUN_TEST(what_is_wrong_is_told_and_mounts_nothing);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	prepared = mounted_possible() && users_take_device();
	RUN_SUITE(helper);
	GREATEST_MAIN_END();
}
