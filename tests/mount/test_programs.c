/* Programs that people run on a mount. */
#include <greatest.h>
#include <stdio.h>

#include "mount/support.h"

static struct mounted m;

static void teardown(void *unused)
{
	(void)unused;
	mounted_remove(&m);
}

#define PROGRAM_OR_SKIP(name)                                          \
	do {                                                           \
		if (!have_program(name))                               \
			SKIP_BECAUSE(name " is not installed");        \
	} while (0)

/* In the mount ($M); then once more what must hold of it after a remount. */
static enum greatest_test_res run_both(const char *script, const char *check)
{
	ASSERT_EQ(0, run_script(m.point, script));
	if (check) {
		ASSERT_EQ(0, run_script(m.point, check));
		ASSERT_EQ(0, mounted_umount(&m));
		ASSERT_EQ(0, mounted_mount(&m, NULL));
		ASSERT_EQ(0, run_script(m.point, check));
	}
	UNMOUNT_AND_CHECK(&m);
	PASS();
}

/* A tree with a bit of everything, in the folder `tree`. */
#define MAKE_TREE                                                          \
	"make_tree() { mkdir -p \"$1/sub/deep er\" \"$1/empty\" && "       \
	"(cd \"$1\" && i=0; while [ $i -lt 40 ]; do "                      \
	"  head -c $((i * i * 37)) /dev/urandom >sub/file$i; i=$((i+1)); " \
	"done; head -c 1500000 /dev/urandom >big; "                        \
	"ln sub/file9 \"sub/deep er/hard\"; ln big hard2; "                \
	"ln -s ../big sub/link; ln -s nowhere dangling; mkfifo fifo; "     \
	"truncate -s 30M sparse; echo end >>sparse; chmod 0400 sub/file3; "\
	"chmod 4755 sub/file4; chmod 2770 empty; "                         \
	"find . -exec touch -h -d 2001-02-03T04:05:06.789 {} + ; "         \
	"touch -d 1969-07-20T20:17:40.123456789Z sub/file5; "              \
	"touch -h -d 2039-01-01T00:00:00.5 dangling; "                     \
	"setfattr -n user.note -v 'a note' big 2>/dev/null; "              \
	"setfacl -m u:1234:r big 2>/dev/null; "                            \
	"touch -d 2001-02-03 'sub/deep er' sub empty .); }; "
#define DESCRIBE                                                           \
	"describe() { (cd \"$1\" && find . -printf "                       \
	"'%p %y %m %U %G %T@ %l' \\( -type d -printf '\\n' -o -printf "     \
	"' %n %s\\n' \\) | sort && find . -type f -print0 | sort -z | "     \
	"xargs -0 sha256sum && getfattr -hd -m user big 2>/dev/null && "   \
	"getfacl -n big 2>/dev/null; true); }; "

/* F43: other mounts fail at its links. */
TEST git_clones_commits_and_checks(void)
{
	PROGRAM_OR_SKIP("git");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"export HOME=\"$M\" GIT_CONFIG_NOSYSTEM=1; "
		"git config --global user.name A && "
		"git config --global user.email a@example.com && "
		"git config --global init.defaultBranch main && "
		"git init -q a && cd a && for i in $(seq 60); do "
		"  mkdir -p d$((i % 7)); seq $((i * 50)) >d$((i % 7))/f$i; "
		"done && git add . && git commit -qm first && "
		"git checkout -qb other && git mv d1 renamed && "
		"seq 5000 >d2/f2 && git commit -qam second && "
		"git checkout -q main && git merge -q other && cd .. && "
		"git clone -q a b && git clone -q --no-hardlinks a c && "
		"(cd b && git gc -q && git repack -qad && "
		"git checkout -q HEAD~1 && git checkout -q main && "
		"git worktree add -q ../w HEAD~1 && test -z \"$(git status -s)\")",
		"export HOME=\"$M\"; for r in a b c; do (cd $r && "
		"git fsck --full --strict --no-dangling && "
		"test -z \"$(git status --porcelain)\" && "
		"test \"$(git rev-parse HEAD)\" = "
		"\"$(git -C ../a rev-parse HEAD)\") || exit 1; done"));
	PASS();
}

TEST sqlite_with_a_rollback_journal_and_a_log(void)
{
	PROGRAM_OR_SKIP("sqlite3");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"for mode in delete truncate persist wal; do "
		"sqlite3 $mode.db \"PRAGMA journal_mode=$mode; "
		"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); BEGIN; "
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		"FROM n WHERE i < 5000) INSERT INTO t SELECT i, "
		"hex(randomblob(50)) FROM n; COMMIT; "
		"UPDATE t SET b = b || 'x' WHERE a % 3 = 0; "
		"BEGIN; DELETE FROM t; ROLLBACK; "
		"DELETE FROM t WHERE a % 2 = 0; VACUUM;\" || exit 1; done; "
		/* Two writers at once. */
		"for w in 1 2; do (for i in $(seq 20); do sqlite3 wal.db "
		"'.timeout 20000' \"INSERT INTO t(b) VALUES('w$w');\" || "
		"exit 1; done) & done; wait %1 && wait %2",
		"for mode in delete truncate persist wal; do "
		"test \"$(sqlite3 $mode.db 'PRAGMA integrity_check')\" = ok || "
		"exit 1; done; "
		"test $(sqlite3 delete.db 'SELECT count(*) FROM t') = 2500 && "
		"test $(sqlite3 wal.db 'SELECT count(*) FROM t') = 2540"));
	PASS();
}

TEST tar_and_cp_keep_everything(void)
{
	PROGRAM_OR_SKIP("tar");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		MAKE_TREE DESCRIBE
		"mkdir \"$M/../plain\" && make_tree tree && "
		"describe tree >\"$M/../want\" && test -s \"$M/../want\" && "
		"cp -a tree copy && cp -a tree \"$M/../plain/\" && "
		"describe \"$M/../plain/tree\" | diff \"$M/../want\" - && "
		"tar --xattrs --acls -cSf a.tar tree && mkdir x && "
		"tar --xattrs --xattrs-include='*' --acls -xpf a.tar -C x && "
		"tar -df a.tar",
		DESCRIBE
		"for t in tree copy x/tree; do describe $t | "
		"diff \"$M/../want\" - || exit 1; done"));
	PASS();
}

TEST rsync_transfers_nothing_the_second_time(void)
{
	PROGRAM_OR_SKIP("rsync");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		MAKE_TREE DESCRIBE
		"make_tree \"$M/../source\" && "
		"rsync -aHAXS \"$M/../source/\" tree/ && "
		"describe \"$M/../source\" >\"$M/../want\"",
		DESCRIBE
		"test -z \"$(rsync -aHAXSi --delete \"$M/../source/\" tree/)\" && "
		"test -z \"$(rsync -aHAXSin --checksum \"$M/../source/\" tree/)\""
		" && describe tree | diff \"$M/../want\" - && "
		/* The ciphertext, too. */
		"rsync -aHAXS --delete \"$M/../volume/\" \"$M/../backup/\" && "
		"test -z \"$(rsync -aHAXSi \"$M/../volume/\" \"$M/../backup/\")\""));
	PASS();
}

TEST rsync_finds_each_change(void)
{
	PROGRAM_OR_SKIP("rsync");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		MAKE_TREE
		"make_tree \"$M/../source\" && rsync -aHAXS \"$M/../source/\" tree/ "
		"&& cd \"$M/../source\" && echo more >>sub/file20 && "
		"rm sub/file21 && mv sub/file22 sub/moved && chmod 600 sub/file23 "
		"&& echo x >new && printf y | dd of=big bs=1 seek=777777 "
		"conv=notrunc status=none && cd \"$M\" && "
		"rsync -aHAX --inplace --delete \"$M/../source/\" tree/ && "
		"rsync -aHAX --append-verify \"$M/../source/\" tree/",
		"diff -r --no-dereference -x fifo \"$M/../source\" tree && "
		"test -z \"$(rsync -aHAXin --checksum --delete "
		"\"$M/../source/\" tree/)\""));
	PASS();
}

TEST a_program_is_compiled_and_run(void)
{
	PROGRAM_OR_SKIP("gcc");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"for i in 1 2 3 4 5; do echo \"int f$i(void) { return $i; }\" "
		">f$i.c; done && echo 'int f1(void), f5(void); "
		"int main(void) { return f1() + f5(); }' >main.c && "
		"gcc -pipe -g -O1 -c *.c && ar rcs libf.a f?.o && "
		"gcc -o program main.o -L. -lf && "
		"gcc -shared -fPIC -o libg.so f?.c && "
		"gcc -o dynamic main.o -L. -lg -Wl,-rpath,\"$M\"",
		"./program; test $? = 6 && ./dynamic; test $? = 6"));
	PASS();
}

TEST dd_direct_and_synchronous(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"head -c 3000000 /dev/urandom >\"$M/../data\" && "
		"dd if=\"$M/../data\" of=a bs=64k oflag=direct status=none && "
		"dd if=\"$M/../data\" of=b bs=4k oflag=dsync count=100 "
		"status=none && "
		"dd if=\"$M/../data\" of=c bs=1M conv=fsync status=none && "
		"dd if=\"$M/../data\" of=d bs=777 oflag=append conv=notrunc "
		"status=none && "
		"dd if=a of=e bs=128k iflag=direct oflag=direct status=none && "
		"dd if=\"$M/../data\" of=f bs=4k conv=sparse status=none",
		"for f in a c d e f; do cmp $f \"$M/../data\" || exit 1; done; "
		"head -c 409600 \"$M/../data\" | cmp - b && "
		"dd if=a bs=4k iflag=direct status=none | cmp - \"$M/../data\""));
	PASS();
}

/* F21 */
TEST flock_serializes_scripts(void)
{
	PROGRAM_OR_SKIP("flock");
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"echo 0 >n; for w in 1 2 3 4; do (for i in $(seq 25); do "
		"flock lock sh -c 'echo $(($(cat n) + 1)) >n'; done) & done; "
		"wait; flock lock true",
		"test \"$(cat n)\" = 100"));
	PASS();
}

TEST editors_and_text_tools_in_place(void)
{
	MOUNT_OR_SKIP(&m, NULL);
	CHECK_CALL(run_both(
		"seq 20000 >t && sed -i 's/7/seven/' t && sed -i.bak 's/8/x/' t "
		"&& sort -o t t && sort -u t -o t && seq 20000 | sed s/7/seven/ "
		">want.bak && truncate -s 100 cut && shred -x -n 1 cut && "
		"install -m 0644 t installed && mv t moved && "
		"echo line >>log && tail -n 1 log && "
		"mkdir -p deep/a/b/c/d/e && rm -r deep && "
		"tee a b <moved >/dev/null && split -b 1000 moved part.",
		"cmp t.bak want.bak && cmp moved installed && cmp a b && "
		"cat part.* | cmp - moved && test $(stat -c %s cut) = 100"));
	PASS();
}

SUITE(programs)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TEST(git_clones_commits_and_checks);
	RUN_TEST(sqlite_with_a_rollback_journal_and_a_log);
	RUN_TEST(tar_and_cp_keep_everything);
	RUN_TEST(rsync_transfers_nothing_the_second_time);
	RUN_TEST(rsync_finds_each_change);
	RUN_TEST(a_program_is_compiled_and_run);
	RUN_TEST(dd_direct_and_synchronous);
	RUN_TEST(flock_serializes_scripts);
	RUN_TEST(editors_and_text_tools_in_place);
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(programs);
	GREATEST_MAIN_END();
}
