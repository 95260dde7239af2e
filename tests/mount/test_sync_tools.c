/*
 * Two copies of a volume, both mounted: what is changed in one is brought to
 * the other by rsync, cp, mv and rm, below its mount, while files there are
 * open, mapped, and in the kernel's cache.
 *
 * The files of these tests hold one number over and over, another one in each
 * version, so that a mix of two versions is seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mount/guard.h"
#include "mount/support.h"

/* What the kernel may trust, for shorter tests than with its usual second,
 * and a little longer than that. */
#define SHORT "entry_timeout=0.2,attr_timeout=0.2"
enum {
	WORDS = 100000,
	SEEN_MS = 300,
	MIX = -2,
};

static struct mounted here, there; /* `there` is where changes come from */

static void teardown(void *unused)
{
	(void)unused;
	if (there.daemon)
		mounted_umount(&there);
	guard_end(&here, false);
}

/* `here` with its options, and a copy of it that is mounted as well. */
static int begin(const char *options)
{
	char script[1500];

	if (mounted_make(&here))
		return -1;
	there = here;
	snprintf(there.volume, sizeof(there.volume), "%.250s/copy", here.dir);
	snprintf(there.point, sizeof(there.point), "%.250s/point2", here.dir);
	snprintf(there.log, sizeof(there.log), "%.250s/log2", here.dir);
	snprintf(script, sizeof(script), "cp -a '%s' '%s' && mkdir '%s'",
	         here.volume, there.volume, there.point);
	if (run_script(here.dir, script) || mounted_mount(&here, options)
	    || mounted_mount(&there, NULL))
		return -1;
	guard_begin(&here, 100);
	return 0;
}

#define BEGIN_OR_SKIP(options)                                         \
	do {                                                           \
		if (!mounted_possible())                               \
			SKIP_BECAUSE("no FUSE");                       \
		if (!have_program("rsync"))                            \
			SKIP_BECAUSE("no rsync");                      \
		ASSERT_EQ(0, begin(options));                          \
	} while (0)

#define END()                                                          \
	do {                                                           \
		ASSERT_EQ(0, mounted_umount(&there));                  \
		UNMOUNT_AND_CHECK(&here);                              \
	} while (0)

/* A script with the ciphertexts: from A, the copy, to B. */
static int bring(const char *command)
{
	char script[1500];

	/* Closing a file comes to the daemon a little later. */
	snprintf(script, sizeof(script), "sync -f '%s'; sleep 0.1; A='%s' B='%s'; %s",
	         there.point, there.volume, here.volume, command);
	return run_script(here.dir, script);
}

static const char *const ways[] = {
	"rsync -a --delete --modify-window=-1 $A/ $B/",
	"rsync -a --delete --modify-window=-1 --inplace --no-whole-file"
	" $A/ $B/",
	"cp -a $A/. $B/",
	"cd $A; for F in *; do test -f $F || continue; cmp -s $F $B/$F"
	" || { cp -p $F $B/.part && mv $B/.part $B/$F; }; done",
	"cd $A; for F in *; do test -f $F || continue; cmp -s $F $B/$F"
	" || cat $F >$B/$F; done",
};

enum { WAYS = sizeof(ways) / sizeof(*ways) };

/* The number that the words hold, MIX where they differ, -1 for an error. */
static int version_of(const int *words, ssize_t n, size_t count)
{
	if (n != (ssize_t)(count * sizeof(*words)))
		return n < 0 ? -1 : MIX;
	for (size_t i = 1; i < count; i++)
		if (words[i] != words[0])
			return MIX;
	return words[0];
}

static int write_version(const char *path, int version, size_t count,
                         bool in_place)
{
	static int words[2 * WORDS];
	int fd = open(path, O_WRONLY | O_CREAT | (in_place ? 0 : O_TRUNC), 0644);
	ssize_t n;

	for (size_t i = 0; i < count; i++)
		words[i] = version;
	n = write(fd, words, count * sizeof(*words));
	if (fd < 0 || n != (ssize_t)(count * sizeof(*words))
	    || ftruncate(fd, n) || close(fd))
		return -1;
	return 0;
}

static int read_version(int fd, size_t count)
{
	static int words[2 * WORDS + 1];
	ssize_t n = pread(fd, words, sizeof(words), 0);

	return version_of(words, n, count);
}

static int version_at(const char *name, size_t count)
{
	int fd = open(mounted_path(here.point, name), O_RDONLY);
	int version = fd < 0 ? -1 : read_version(fd, count);

	if (fd >= 0)
		close(fd);
	return version;
}

/* Opened after the change, a file is the new one: at once where the change was
 * in place, else after the time. What is open, or mapped, is the new one after
 * it if the change was in place, and the old one if it was replaced. */
TEST each_version_is_whole(const char *options)
{
	const bool is_none = strstr(options, "none");
	int version = 1;

	BEGIN_OR_SKIP(options);
	ASSERT_EQ(0, write_version(mounted_path(there.point, "f"), version,
	                           WORDS, false));
	ASSERT_EQ(0, bring(ways[0]));
	pause_for(SEEN_MS);
	for (int round = 0; round < 3 * WAYS; round++) {
		/* Another file, the same one changed, the same one longer. */
		int way = round % WAYS, kind = round / WAYS;
		size_t count = kind == 2 ? 2 * WORDS : WORDS, old = WORDS;
		char first[4096];
		const int *map;
		struct stat before, after;
		int fd, open_version;

		if (kind == 2) {
			ASSERT_EQ(0, write_version(mounted_path(there.point,
				"f"), ++version, old, true));
			ASSERT_EQ(0, bring(ways[0]));
			pause_for(SEEN_MS);
		}
		ASSERT_EQ(version, version_at("f", old));
		fd = open(mounted_path(here.point, "f"), O_RDONLY);
		ASSERT(fd >= 0);
		map = mmap(NULL, old * sizeof(int), PROT_READ,
		           is_none ? MAP_PRIVATE : MAP_SHARED, fd, 0);
		ASSERT(map != MAP_FAILED);
		ASSERT_EQ(version, version_of(map, (ssize_t)(old * sizeof(int)),
		                              old));
		/* Some of it is in the cache, some is not. */
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
		ASSERT_EQ(4096, pread(fd, first, 4096, 8192));
		ASSERT_EQ(version, map[WORDS / 2]);
		ASSERT_EQ(0, fstat(fd, &before));

		version++;
		if (kind == 0)
			unlink(mounted_path(there.point, "f"));
		ASSERT_EQ(0, write_version(mounted_path(there.point, "f"),
		                           version, count, kind != 0));
		ASSERT_EQ(0, bring(ways[way]));
		if (way == 1 || way == 2 || way == 4) {
			if (version_at("f", count) != version)
				fprintf(stderr, "%s, %s, kind %d\n", options,
				        ways[way], kind);
			ASSERT_EQ(version, version_at("f", count));
		} else if (!is_none) {
			/* Old or new, in the time until it must be new. */
			int seen = version_at("f", count);

			ASSERT(seen == version || count != old
			       || seen == version - 1);
		}
		if (!is_none)
			pause_for(SEEN_MS);
		ASSERT_EQ(version, version_at("f", count));
		ASSERT_EQ((off_t)(count * sizeof(int)),
		          path_size(mounted_path(here.point, "f")));
		ASSERT_EQ(0, stat(mounted_path(here.point, "f"), &after));
		open_version = after.st_ino == before.st_ino ? version
		                                             : version - 1;
		ASSERT_EQ(open_version, read_version(fd,
			open_version == version ? count : old));
		ASSERT_EQ(open_version, version_of(map,
			(ssize_t)(old * sizeof(int)), old));
		munmap((void *)map, old * sizeof(int));
		ASSERT_EQ(0, close(fd));
		if (kind == 2) { /* short again */
			ASSERT_EQ(0, write_version(mounted_path(there.point,
				"f"), ++version, old, true));
			ASSERT_EQ(0, bring(ways[0]));
			pause_for(SEEN_MS);
		}
	}
	END();
	PASS();
}

/* Readers from the beginning to the end, while it is replaced again and again:
 * each of them has one version. In a child: 0 or 1. */
static int read_for_ever(bool maps)
{
	const char *path = mounted_path(here.point, "f");

	for (;;) {
		static int words[WORDS];
		int fd = open(path, O_RDONLY), version;
		size_t done = 0;
		ssize_t n = 1;

		if (fd < 0)
			return 1;
		if (maps) {
			int *map = mmap(NULL, sizeof(words), PROT_READ,
			                MAP_PRIVATE, fd, 0);

			version = map == MAP_FAILED ? -1 : version_of(map,
				sizeof(words), WORDS);
			munmap(map, sizeof(words));
		} else {
			for (; n > 0 && done < sizeof(words); done += (size_t)n)
				n = read(fd, (char *)words + done, 10000 < sizeof(words) - done
				         ? 10000 : sizeof(words) - done);
			version = version_of(words, n < 0 ? n : (ssize_t)done,
			                     WORDS);
		}
		close(fd);
		if (version < 0) {
			fprintf(stderr, "a reader has %s\n",
			        version == MIX ? "a mix" : strerror(errno));
			return 1;
		}
	}
}

TEST readers_have_one_version_while_it_is_replaced(const char *options)
{
	pid_t readers[2];
	int status;

	BEGIN_OR_SKIP(options);
	ASSERT_EQ(0, write_version(mounted_path(there.point, "f"), 1, WORDS,
	                           false));
	ASSERT_EQ(0, bring(ways[0]));
	pause_for(SEEN_MS);
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		readers[i] = fork();
		if (readers[i] == 0)
			_exit(read_for_ever(i));
	}
	for (int version = 2; version < 14; version++) {
		ASSERT_EQ(0, write_version(mounted_path(there.point, "f"),
		                           version, WORDS, version % 2));
		ASSERT_EQ(0, bring(ways[0]));
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, waitpid(readers[i], &status, WNOHANG));
		kill(readers[i], SIGKILL);
		ASSERT_EQ(readers[i], waitpid(readers[i], &status, 0));
	}
	END();
	PASS();
}

/* Entries that come, go and change their kind. */
TEST entries_come_and_go(const char *options)
{
	const bool is_none = strstr(options, "none");
	char text[200];
	int cwd;

	BEGIN_OR_SKIP(options);
	ASSERT_EQ(0, run_script(there.point, "mkdir -p d/e && echo 1 >d/e/f"
	                        " && echo x >gone && ln -s t link && echo y >kind"));
	ASSERT_EQ(0, bring(ways[0]));
	if (!is_none)
		pause_for(SEEN_MS);
	ASSERT_EQ(0, run_script(here.point, "cat d/e/f gone kind && ls -lR"
	                        " && test ! -e new"));
	cwd = open(mounted_path(here.point, "d/e"), O_RDONLY | O_DIRECTORY);
	ASSERT(cwd >= 0);
	ASSERT_EQ(0, run_script(there.point, "rm gone && mkdir new && echo 2 >new/g"
	                        " && rm kind && mkdir kind && echo 3 >d/e/h"
	                        " && rm link && ln -s other link && mv d moved"));
	ASSERT_EQ(0, bring(ways[0]));
	if (!is_none)
		pause_for(SEEN_MS);
	snprintf(text, sizeof(text), "test ! -e gone && test ! -e d"
	         " && test $(cat new/g) = 2 && test -d kind"
	         " && test $(readlink link) = other"
	         " && test $(cat moved/e/h) = 3 && test $(cat moved/e/f) = 1");
	ASSERT_EQ(0, run_script(here.point, text));
	/* What stands in a directory that is gone finds nothing, and can be
	 * left; what is made here again is new. */
	ASSERT_EQ(-1, faccessat(cwd, "nothing", F_OK, 0));
	close(cwd);
	ASSERT_EQ(0, run_script(here.point, "mkdir -p d/e && test -z \"$(ls d/e)\""
	                        " && echo 9 >d/e/f && rm -r moved kind"));
	END();
	PASS();
}

SUITE(sync_tools)
{
	SET_TEARDOWN(teardown, NULL);
	RUN_TESTp(each_version_is_whole, SHORT);
	RUN_TESTp(each_version_is_whole, "cache=none");
	RUN_TESTp(readers_have_one_version_while_it_is_replaced, NULL);
	RUN_TESTp(readers_have_one_version_while_it_is_replaced, "cache=none");
	RUN_TESTp(readers_have_one_version_while_it_is_replaced, "cache=always");
	RUN_TESTp(entries_come_and_go, SHORT);
	RUN_TESTp(entries_come_and_go, "cache=none");
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_SUITE(sync_tools);
	GREATEST_MAIN_END();
}
