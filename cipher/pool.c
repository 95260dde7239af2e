/*
 * How the pool behaves, and why:
 *
 * - Threads are made on the first large job and then stay: asleep, they cost a
 *   kernel stack and some pages, and no time. They hold no keys: what a piece
 *   needs is wiped when it is done.
 * - A thread without work sleeps at once, as does a caller that waits for the
 *   last pieces. Spinning would save the wake-up, some ten microseconds of the
 *   hundreds that a large job takes, but a helper would have to spin from one
 *   request to the next, and on a phone that takes power from the core that
 *   works. Small pieces keep the last wait short instead. With two idle CPUs
 *   (x86-64, SSSE3 | AVX-512) 1 MiB takes 1/1.76 | 1/1.59 of the time alone,
 *   256 KiB 1/1.27 | 1/1.06.
 * - Pieces come from a counter, so fast cores do more of them than slow ones,
 *   and a helper that wakes up late delays nobody: the caller waits for pieces
 *   that were begun, never for threads.
 * - There is one job at a time. When several threads have large jobs at once,
 *   they are parallel already: who finds the pool at work does its job alone,
 *   and who gets it invites only as many helpers as there are CPUs without a
 *   large job. So programs that keep all CPUs busy themselves gain nothing and
 *   lose nothing.
 * - When other processes keep the CPUs busy, a helper may lose its CPU in the
 *   middle of a piece, and the caller its own while it waits, for some
 *   milliseconds: many times what a job takes. The caller cannot see that
 *   beforehand, but it sees what each job took, and what it would have taken
 *   alone by the time that its own pieces took. When the sum shows a loss, the
 *   pool is not used for a while, and for longer each time that this repeats.
 *   With ten busy processes on two CPUs the median of 1 MiB took 4 times as
 *   long with the pool as without before this was so, and takes 1.0 times now.
 * - After a fork, the child has none of the threads: it begins with an empty
 *   pool, and makes its own when it needs them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cipher/adiantum.h"
#include "cipher/pool.h"

enum {
	STACK_SIZE = 256 << 10,
	/* Nanoseconds: a gain that is trusted, the shortest pause and the
	 * longest one after a loss. The last is a hundred times the time slice
	 * that a try may lose, so the tries cost 1 %. */
	TRUST = 2000000,
	PAUSE_MIN = 5000000,
	PAUSE_MAX = 400000000,
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* there is an invitation */
	pthread_cond_t done; /* the last helper has left the job */
	unsigned workers;
	unsigned invited;    /* helpers that the job still waits for */
	unsigned inside;     /* helpers at work on it */
	pool_pieces *run;
	void *job;
	size_t pieces;
	atomic_size_t next;  /* the piece to begin next */
	atomic_int error;
	/* By whom has the pool, in nanoseconds: */
	int64_t gained;      /* by working together; at most TRUST */
	int64_t pause;       /* how long the last one was; 0: none lately */
	int64_t resume;      /* when it ends */
};

static const struct pool empty = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static struct pool pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static atomic_bool taken;     /* a caller has the pool */
static atomic_uint callers;   /* threads that have a large job now */
static atomic_uint limit;     /* what pool_threads gives */
static unsigned usual;        /* the same without adiantum_threads_set */
static atomic_bool no_more;   /* a thread could not be made */
static atomic_bool forget;    /* pool_forget was called */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void after_fork(void)
{
	memcpy(&pool, &empty, sizeof(pool));
	atomic_store(&taken, false);
	atomic_store(&callers, 0);
	atomic_store(&no_more, false);
}

static unsigned at_most_max(unsigned long n)
{
	return n < POOL_THREADS_MAX ? (unsigned)n : POOL_THREADS_MAX;
}

static void set_up(void)
{
	const char *wanted = getenv("FRONDFS_THREADS");
	unsigned long n = 0;
	char *end;
	cpu_set_t cpus;

	if (wanted && *wanted >= '0' && *wanted <= '9') {
		n = strtoul(wanted, &end, 10);
		if (*end)
			n = 0;
	}
	if (!n && sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = (unsigned long)CPU_COUNT(&cpus);
	usual = n ? at_most_max(n) : 1;
	/* Without the handler a child would wait for threads it lacks. */
	if (pthread_atfork(NULL, NULL, after_fork))
		usual = 1;
	atomic_store(&limit, usual);
}

unsigned pool_threads(void)
{
	pthread_once(&once, set_up);
	return atomic_load_explicit(&limit, memory_order_relaxed);
}

void adiantum_threads_set(unsigned threads)
{
	pthread_once(&once, set_up);
	atomic_store(&limit, threads ? at_most_max(threads) : usual);
	atomic_store(&no_more, false);
}

void pool_forget(void)
{
	atomic_store(&forget, true);
}

unsigned adiantum_threads(void)
{
	return pool_threads();
}

/* Returns how many this thread did. */
static size_t do_pieces(void)
{
	size_t i, done = 0;

	while ((i = atomic_fetch_add(&pool.next, 1)) < pool.pieces) {
		int error = pool.run(pool.job, i, 1);

		if (error) {
			atomic_store(&pool.error, error);
			atomic_store(&pool.next, pool.pieces);
		}
		done++;
	}
	return done;
}

static void *worker(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "frondfs-cipher");
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		while (!pool.invited)
			pthread_cond_wait(&pool.work, &pool.lock);
		pool.invited--;
		pool.inside++;
		pthread_mutex_unlock(&pool.lock);
		do_pieces();
		pthread_mutex_lock(&pool.lock);
		if (--pool.inside == 0)
			pthread_cond_signal(&pool.done);
	}
	return NULL;
}

/* Make threads until there are `wanted`, or no more can be made. The caller has
 * the lock. Signals are for the program's own threads. */
static void make_workers(unsigned wanted)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool.workers < wanted) {
		if (pthread_create(&thread, &attr, worker, NULL)) {
			atomic_store(&no_more, true);
			break;
		}
		pool.workers++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Take a job's gain, negative if it was none, into account. */
static void judge(int64_t gain, int64_t now)
{
	pool.gained += gain;
	if (pool.gained >= TRUST) {
		pool.gained = TRUST;
		pool.pause = 0;
	} else if (pool.gained < 0) {
		pool.gained = 0;
		pool.pause = pool.pause ? 2 * pool.pause : PAUSE_MIN;
		if (pool.pause > PAUSE_MAX)
			pool.pause = PAUSE_MAX;
		pool.resume = now + pool.pause;
	}
}

/* Publish a job; returns how many helpers it can have. */
static unsigned invite(pool_pieces *run, void *job, size_t pieces,
                       unsigned helpers)
{
	pthread_mutex_lock(&pool.lock);
	if (pool.workers < helpers && !atomic_load(&no_more))
		make_workers(helpers);
	if (helpers > pool.workers)
		helpers = pool.workers;
	pool.run = run;
	pool.job = job;
	pool.pieces = pieces;
	atomic_store(&pool.next, 0);
	atomic_store(&pool.error, 0);
	pool.invited = helpers;
	pthread_mutex_unlock(&pool.lock);
	return helpers;
}

/* Whoever has not come yet need not come; wait for the others. */
static int wait_for_helpers(void)
{
	int error;

	pthread_mutex_lock(&pool.lock);
	pool.invited = 0;
	while (pool.inside)
		pthread_cond_wait(&pool.done, &pool.lock);
	error = atomic_load(&pool.error);
	pthread_mutex_unlock(&pool.lock);
	return error;
}

/* The same as pool_run, by the one caller that has the pool. */
static int do_together(pool_pieces *run, void *job, size_t pieces,
                       unsigned helpers)
{
	int64_t start, used, end;
	size_t mine;
	int error;

	helpers = invite(run, job, pieces, helpers);
	start = clock_ns(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < helpers; i++)
		pthread_cond_signal(&pool.work);
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	mine = do_pieces();
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - used;
	error = wait_for_helpers();
	end = clock_ns(CLOCK_MONOTONIC);
	if (mine && !error)
		judge(used * (int64_t)pieces / (int64_t)mine - (end - start),
		      end);
	return error;
}

static bool pausing(void)
{
	if (atomic_load_explicit(&forget, memory_order_relaxed) &&
	    atomic_exchange(&forget, false))
		pool.gained = pool.pause = pool.resume = 0;
	return pool.resume && clock_ns(CLOCK_MONOTONIC) < pool.resume;
}

int pool_run(pool_pieces *run, void *job, size_t pieces)
{
	unsigned threads = pool_threads(), helpers = 0, busy;
	bool together = false;
	int error = 0;

	if (threads == 1 || pieces < 2)
		return run(job, 0, pieces);
	busy = atomic_fetch_add(&callers, 1) + 1;
	if (busy < threads)
		helpers = threads - busy;
	if (helpers > pieces - 1)
		helpers = (unsigned)pieces - 1;
	if (helpers && !atomic_exchange(&taken, true)) {
		together = !pausing();
		if (together)
			error = do_together(run, job, pieces, helpers);
		atomic_store(&taken, false);
	}
	if (!together)
		error = run(job, 0, pieces);
	atomic_fetch_sub(&callers, 1);
	return error;
}
