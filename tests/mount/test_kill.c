/*
 * The daemon killed at random moments under writers of several kinds. After
 * each kill fsck finds no damage; a plain `frondfs mount` takes the dead mount
 * away; and in the new mount there is exactly what the returned calls have
 * established, the call that was under way done, not done, or (writing and
 * growing) done in part; and no name that nobody made.
 *
 *   FROND_KILL_ROUNDS   rounds [4]
 *   FROND_KILL_SEED     of the writers' choices [1]
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <greatest.h>

#include "cipher/random.h"
#include "mount/guard.h"
#include "mount/record.h"
#include "mount/support.h"

enum { PROCESSES = 7, WRITERS = 8, STRIPED = 6, STRIPE = 1000,
       STRIPED_SIZE = 150000 };

/* Shared: the daemon is being killed. */
static atomic_bool *killing;

/* A record outlives its process; the rest is the process's own. */
struct writer {
	struct record *r;
	int dir;
	int fd[SLOTS];  /* open files, or -1 */
	unsigned kind;
};

/* ---- calls ---- */

static uint64_t below(struct writer *w, uint64_t n)
{
	return random_next(&w->r->random) % n;
}

/* Say what comes next. All stores are made before the call: the kernel is
 * entered in between, and the reader waits for this process's end. */
static void begin(struct writer *w, enum call call, int a, int b)
{
	w->r->a = a;
	w->r->b = b;
	w->r->call = call;
}

/* What a call to a daemon that was killed says. (EIO where it died while the
 * kernel handed it the request; that is no excuse before the kill.) */
static bool is_end(int error)
{
	return error == ENOTCONN || error == ECONNABORTED
	       || (error == EIO && *killing);
}

/* After the call: false where the writer ends. */
static bool end(struct writer *w, bool good)
{
	if (good) {
		record_done(w->r);
		return true;
	}
	if (!is_end(errno)) {
		w->r->error = errno;
		w->r->failed = w->r->call;
	}
	return false;
}

static bool get_fd(struct writer *w, int slot)
{
	if (w->fd[slot] < 0)
		w->fd[slot] = openat(w->dir, slot_name(slot),
		                     O_RDWR | O_CLOEXEC);
	if (w->fd[slot] >= 0)
		return true;
	w->r->error = is_end(errno) ? 0 : errno;
	return false;
}

static void drop_fd(struct writer *w, int slot)
{
	if (w->fd[slot] >= 0)
		close(w->fd[slot]);
	w->fd[slot] = -1;
}

static bool do_create(struct writer *w, int slot)
{
	drop_fd(w, slot);
	begin(w, CREATE, slot, slot);
	w->fd[slot] = openat(w->dir, slot_name(slot),
	                     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return end(w, w->fd[slot] >= 0);
}

static bool do_write(struct writer *w, int slot, size_t at, size_t n)
{
	struct record *r = w->r;
	size_t left;
	ssize_t done;

	if (!get_fd(w, slot))
		return false;
	bytes_fill(r->fresh, n, (unsigned)random_next(&r->random));
	r->at = at;
	r->n = n;
	begin(w, WRITE, slot, slot);
	done = pwrite(w->fd[slot], r->fresh, n, (off_t)at);
	if (done <= 0 || (size_t)done == n)
		return end(w, done > 0);
	/* The rest was under way as well. */
	left = n - (size_t)done;
	r->n = (size_t)done;
	record_done(r);
	memmove(r->fresh, r->fresh + done, left);
	r->at = at + (size_t)done;
	r->n = left;
	begin(w, WRITE, slot, slot);
	done = pwrite(w->fd[slot], r->fresh, left, (off_t)r->at);
	return end(w, done == (ssize_t)left);
}

static bool do_truncate(struct writer *w, int slot, size_t size)
{
	bool by_path = below(w, 4) == 0;
	char path[400];

	if (!get_fd(w, slot))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", w->dir,
	         slot_name(slot));
	w->r->at = size;
	begin(w, TRUNCATE, slot, slot);
	return end(w, !(by_path ? truncate(path, (off_t)size)
	                        : ftruncate(w->fd[slot], (off_t)size)));
}

static bool do_allocate(struct writer *w, int slot, size_t at, size_t n)
{
	int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
	bool grow = below(w, 3) == 0 && at + n > w->r->slots[slot].size;

	if (!get_fd(w, slot))
		return false;
	w->r->at = grow ? at + n : at;
	w->r->n = grow ? 0 : n;
	begin(w, grow ? ALLOCATE : PUNCH, slot, slot);
	return end(w, !fallocate(w->fd[slot], grow ? 0 : mode, (off_t)at,
	                         (off_t)n));
}

/* Removed files stay open and are written to, now and then. */
static bool do_unlink(struct writer *w, int slot)
{
	if (below(w, 2))
		drop_fd(w, slot);
	begin(w, UNLINK, slot, slot);
	if (!end(w, !unlinkat(w->dir, slot_name(slot), 0)))
		return false;
	if (w->fd[slot] >= 0 && pwrite(w->fd[slot], "gone", 4, 5000) != 4) {
		w->r->error = is_end(errno) ? 0 : errno;
		return false;
	}
	drop_fd(w, slot);
	return true;
}

static bool do_rename(struct writer *w, int a, int b, unsigned flags)
{
	int fd = w->fd[a];

	begin(w, flags ? EXCHANGE : RENAME, a, b);
	if (!end(w, !renameat2(w->dir, slot_name(a), w->dir, slot_name(b),
	                       flags)))
		return false;
	if (flags) {
		w->fd[a] = w->fd[b];
	} else {
		drop_fd(w, b);
		w->fd[a] = -1;
	}
	w->fd[b] = fd;
	return true;
}

static bool do_mkdir(struct writer *w, int slot)
{
	begin(w, MKDIR, slot, slot);
	return end(w, !mkdirat(w->dir, slot_name(slot), 0755));
}

static bool do_rmdir(struct writer *w, int slot)
{
	begin(w, RMDIR, slot, slot);
	return end(w, !unlinkat(w->dir, slot_name(slot), AT_REMOVEDIR));
}

static bool do_symlink(struct writer *w, int slot)
{
	size_t n = below(w, 3) ? 1 + below(w, 300) : 3000 + below(w, 1000);

	for (size_t i = 0; i < n; i++)
		w->r->fresh[i] = (uint8_t)('a' + below(w, 26));
	w->r->fresh[n] = 0;
	w->r->n = n;
	begin(w, SYMLINK, slot, slot);
	return end(w, !symlinkat((char *)w->r->fresh, w->dir, slot_name(slot)));
}

static bool do_child(struct writer *w, int slot)
{
	bool add = !w->r->slots[slot].child;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/child", slot_name(slot));
	begin(w, add ? ADD_CHILD : REMOVE_CHILD, slot, slot);
	if (!add)
		return end(w, !unlinkat(w->dir, path, 0));
	fd = openat(w->dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (!end(w, fd >= 0))
		return false;
	close(fd);
	return true;
}

static bool do_sync(struct writer *w, int slot)
{
	if (w->fd[slot] >= 0 && fsync(w->fd[slot])) {
		w->r->error = is_end(errno) ? 0 : errno;
		return false;
	}
	return true;
}

/* ---- kinds of writers; each step returns false where it is the end ---- */

static struct slot *slot_of(struct writer *w, int slot)
{
	return &w->r->slots[slot];
}

/* See to it that a slot is a file. */
static bool need_file(struct writer *w, int slot)
{
	return slot_of(w, slot)->kind == FILE_SLOT || do_create(w, slot);
}

static size_t some_length(struct writer *w)
{
	switch (below(w, 6)) {
	case 0:
		return 1 + below(w, WRITE_MAX);
	case 1:
		return 4096;
	default:
		return 1 + below(w, 3000);
	}
}

/* Records at the end of a log, which is cut now and then. */
static bool step_log(struct writer *w)
{
	int slot = (int)below(w, 2);
	struct slot *s = slot_of(w, slot);
	size_t n = some_length(w);

	if (!need_file(w, slot))
		return false;
	if (below(w, 60) == 0)
		return do_sync(w, slot);
	if (below(w, 40) == 0)
		drop_fd(w, slot);
	if (s->size + n > ROOM)
		return do_truncate(w, slot, below(w, 2) ? 0 : below(w, s->size));
	return do_write(w, slot, s->size, n);
}

/* Small files written anew: temporary file, fsync, rename. */
static bool step_config(struct writer *w)
{
	int slot = (int)below(w, SLOTS - 1), temp = SLOTS - 1;

	if (slot_of(w, temp)->kind != FREE && !do_unlink(w, temp))
		return false;
	if (!do_create(w, temp)
	    || !do_write(w, temp, 0, 1 + below(w, 20000))
	    || !do_sync(w, temp))
		return false;
	if (below(w, 2))
		drop_fd(w, temp);
	return do_rename(w, temp, slot, 0);
}

/* Overwriting in place. */
static bool step_in_place(struct writer *w)
{
	int slot = (int)below(w, 3);
	struct slot *s = slot_of(w, slot);
	size_t at, n = some_length(w);

	if (!need_file(w, slot))
		return false;
	if (s->size < 120000)
		return do_write(w, slot, s->size, 60000 + below(w, 9000));
	at = below(w, s->size);
	if (n > s->size - at)
		n = s->size - at;
	if (below(w, 50) == 0)
		drop_fd(w, slot);
	return do_write(w, slot, at, n);
}

static size_t some_size(struct writer *w)
{
	switch (below(w, 4)) {
	case 0:
		return 4000 + 4080 * below(w, 100) + below(w, 3) - 1;
	case 1:
		return below(w, 9000);
	default:
		return below(w, ROOM);
	}
}

/* Both ways, with writes in between. */
static bool step_truncate(struct writer *w)
{
	int slot = (int)below(w, 4);
	size_t at = some_size(w), n = some_length(w);

	if (!need_file(w, slot))
		return false;
	if (below(w, 30) == 0)
		drop_fd(w, slot);
	if (below(w, 2))
		return do_truncate(w, slot, below(w, 6) ? at : 0);
	return do_write(w, slot, at, at + n > ROOM ? ROOM - at : n);
}

/* Holes. */
static bool step_sparse(struct writer *w)
{
	int slot = (int)below(w, 3);
	size_t at = some_size(w), n = some_length(w);

	if (!need_file(w, slot))
		return false;
	if (at + n > ROOM)
		n = ROOM - at;
	switch (below(w, 6)) {
	case 0: /* emptied or new, it has no holes at first */
		if (below(w, 2))
			return do_truncate(w, slot, at);
		return below(w, 2) ? do_truncate(w, slot, 0)
		                   : do_unlink(w, slot);
	case 1: case 2:
		return do_allocate(w, slot, at, n);
	case 3:
		if (below(w, 6))
			drop_fd(w, slot);
		else if (!do_sync(w, slot))
			return false;
		/* fall through */
	default:
		return do_write(w, slot, at, n);
	}
}

static bool can_replace(const struct slot *from, const struct slot *to)
{
	if (to->kind == FREE)
		return true;
	if (from->kind == DIR_SLOT)
		return to->kind == DIR_SLOT && !to->child;
	return to->kind != DIR_SLOT;
}

/* Making, moving and removing entries of all kinds. */
static bool step_names(struct writer *w)
{
	int a = (int)below(w, SLOTS), b = (int)below(w, SLOTS);
	struct slot *s = slot_of(w, a), *t = slot_of(w, b);

	if (s->kind == FREE) {
		switch (below(w, 3)) {
		case 0:
			return do_mkdir(w, a);
		case 1:
			return do_symlink(w, a);
		default:
			return do_create(w, a);
		}
	}
	if (a != b && below(w, 3)) {
		if (t->kind != FREE && below(w, 3) == 0)
			return do_rename(w, a, b, RENAME_EXCHANGE);
		if (can_replace(s, t))
			return do_rename(w, a, b, 0);
	}
	if (s->kind == DIR_SLOT)
		return s->child || below(w, 2) ? do_child(w, a) : do_rmdir(w, a);
	if (s->kind == FILE_SLOT && below(w, 2))
		return do_write(w, a, 0, 1 + below(w, 5000));
	return do_unlink(w, a);
}

/* Two threads in one file, each in every other stripe. */
static bool step_stripes(struct writer *w)
{
	size_t stripe = 2 * below(w, STRIPED_SIZE / STRIPE / 2) + w->r->number;
	size_t at = below(w, STRIPE), n = 1 + below(w, STRIPE - at);

	return do_write(w, 0, stripe * STRIPE + at, n);
}

static bool (*const steps[])(struct writer *) = {
	step_log, step_config, step_in_place, step_truncate, step_sparse,
	step_names, step_stripes, step_stripes,
};

/* ---- rounds ---- */

struct kill_test {
	struct mounted m;
	struct record *records; /* WRITERS of them, shared */
	uint64_t random;
	unsigned caught[CALLS];
	struct findings killed, unmounted;
};

static struct kill_test test;

static void folder_of(unsigned number, char path[400])
{
	snprintf(path, 400, "%s/writer-%u", test.m.point,
	         number < STRIPED ? number : STRIPED);
}

static void *run_writer(void *context)
{
	unsigned number = (unsigned)(uintptr_t)context;
	struct writer w = { .r = &test.records[number] };
	char path[400];

	memset(w.fd, -1, sizeof(w.fd));
	folder_of(number, path);
	w.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w.dir < 0)
		w.r->error = is_end(errno) ? 0 : errno;
	else
		while (steps[number](&w))
			;
	return NULL;
}

static pid_t start_process(unsigned number)
{
	pthread_t other;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	if (number == STRIPED
	    && pthread_create(&other, NULL, run_writer,
	                      (void *)(uintptr_t)(STRIPED + 1)))
		_exit(1);
	run_writer((void *)(uintptr_t)number);
	if (number == STRIPED)
		pthread_join(other, NULL);
	_exit(0);
}

/* Whether the writers came to their end by themselves. */
static bool end_processes(const pid_t pids[PROCESSES])
{
	bool good = true;

	for (int i = 0; i < PROCESSES; i++) {
		int status = 0, ms = 0;

		while (waitpid(pids[i], &status, WNOHANG) == 0) {
			pause_for(10);
			if ((ms += 10) == 30000) {
				printf("writer %d hangs\n", i);
				kill(pids[i], SIGKILL);
				good = false;
			}
		}
		if (status) {
			printf("writer %d ended with status %x\n", i,
			       (unsigned)status);
			good = false;
		}
	}
	return good;
}

static bool no_strange_errors(void)
{
	bool good = true;

	for (unsigned i = 0; i < WRITERS; i++) {
		struct record *r = &test.records[i];

		if (r->error) {
			printf("writer %u: %s: %s\n", i, call_names[r->failed],
			       strerror(r->error));
			good = false;
		}
		if (i < STRIPED || r->call != NONE)
			test.caught[r->call]++;
	}
	return good;
}

static bool write_and_kill(void)
{
	/* From the first calls on; the later ones meet larger files. */
	uint64_t most = random_next(&test.random) % 4 ? 150 : 900;
	long ms = (long)(5 + random_next(&test.random) % most);
	pid_t pids[PROCESSES];

	*killing = false;
	for (unsigned i = 0; i < PROCESSES; i++)
		pids[i] = start_process(i);
	pause_for(ms);
	*killing = true;
	kill(test.m.daemon, SIGKILL);
	while (waitpid(test.m.daemon, NULL, 0) < 0 && errno == EINTR)
		;
	test.m.daemon = 0;
	return end_processes(pids) && no_strange_errors();
}

static bool check_records(void)
{
	bool all = true;

	for (unsigned i = 0; i < WRITERS; i++) {
		char path[400];
		bool good;
		int dir;

		folder_of(i, path);
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		good = dir >= 0 && record_check(&test.records[i], dir);
		if (!good)
			printf("  in the folder of writer %u\n", i);
		all = all && good;
		if (dir >= 0)
			close(dir);
	}
	return all;
}

static bool no_damage(struct findings *f)
{
	findings_add(&test.m, f);
	return f->summary && !f->errors;
}

static bool run_round(void)
{
	if (!write_and_kill())
		return false;
	if (!no_damage(&test.killed))
		return false;
	if (mounted_mount(&test.m, NULL)) {
		printf("the dead mount was not replaced\n");
		return false;
	}
	if (!check_records())
		return false;
	if (mounted_umount(&test.m) || !no_damage(&test.unmounted))
		return false;
	return !mounted_mount(&test.m, NULL);
}

static bool prepare(void)
{
	static uint8_t zeros[STRIPED_SIZE];
	uint64_t seed = setting("FROND_KILL_SEED", 1);
	char path[400];

	test.random = seed;
	printf("seed %ju\n", (uintmax_t)seed);
	for (unsigned i = 0; i < WRITERS; i++) {
		test.records[i].random = seed * 1000 + i;
		folder_of(i, path);
		if (i <= STRIPED && mkdir(path, 0755))
			return false;
		if (i < STRIPED)
			continue;
		test.records[i].stripe = STRIPE;
		test.records[i].number = i - STRIPED;
		test.records[i].slots[0].kind = FILE_SLOT;
		test.records[i].slots[0].size = STRIPED_SIZE;
	}
	return !file_put(mounted_path(path, slot_name(0)), zeros,
	                 sizeof(zeros));
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = dir ? -2 : 0; /* "." and ".." */

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* What was left over does not keep anything from being removed. */
static bool remove_all(void)
{
	char text[2000], path[400];

	for (unsigned i = 0; i <= STRIPED; i++) {
		folder_of(i, path);
		if (MOUNTED_RUN(text, sizeof(text), "rm", "-r", path)) {
			printf("rm: %s\n", text);
			return false;
		}
	}
	return count_entries(test.m.point) == 0;
}

/* A sanitizer's report of a daemon that was then killed. */
static bool no_reports(void)
{
	FILE *f = fopen(test.m.log, "r");
	char line[1000];
	bool good = true;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "Sanitizer") || strstr(line, "runtime error")) {
			printf("%s: %s", test.m.log, line);
			good = false;
		}
	if (f)
		fclose(f);
	return good;
}

static bool run_rounds(unsigned rounds)
{
	unsigned undone = 0, partly = 0, done = 0;
	uint64_t calls = 0;
	bool good = !mounted_mount(&test.m, NULL) && prepare();
	unsigned round = 0;

	while (good && round < rounds) {
		good = run_round();
		round++;
		if (!good)
			printf("in round %u\n", round);
	}
	good = good && remove_all() && !mounted_umount(&test.m)
	       && no_damage(&test.unmounted);
	good = no_reports() && good;
	for (unsigned i = 0; i < WRITERS; i++) {
		calls += test.records[i].calls;
		undone += test.records[i].undone;
		partly += test.records[i].partly;
		done += test.records[i].done;
	}
	printf("%u rounds, %ju calls returned; under way at a kill:", round,
	       (uintmax_t)calls);
	for (int i = 0; i < CALLS; i++)
		if (test.caught[i])
			printf(" %s %u", call_names[i], test.caught[i]);
	printf("\nof these not done %u, in part %u, done %u\nafter kills: ",
	       undone, partly, done);
	findings_print(&test.killed);
	printf("after unmounting again: ");
	findings_print(&test.unmounted);
	return good;
}

TEST killed_under_writers(void)
{
	unsigned rounds = (unsigned)setting("FROND_KILL_ROUNDS", 4);
	size_t size = WRITERS * sizeof(struct record) + sizeof(*killing);
	bool good = false;

	if (!mounted_possible())
		SKIP_BECAUSE("no FUSE");
	test.records = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(test.records != MAP_FAILED);
	killing = (atomic_bool *)(test.records + WRITERS);
	if (!mounted_make(&test.m)) {
		guard_begin(&test.m, 300 + rounds * 60);
		good = run_rounds(rounds);
		guard_end(&test.m, !good);
	}
	munmap(test.records, size);
	ASSERT(good);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(killed_under_writers);
	GREATEST_MAIN_END();
}
