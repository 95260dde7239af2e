#include "fs/mount/idle.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "fs/volume/volume.h"

enum { REQUEST_STATX = 52 }; /* FUSE_STATX, which older headers do not have */

/* How long to wait until the next attempt where the mount is in use: a part of
 * the time, within these bounds. */
enum { AGAIN_PART = 4, AGAIN_MIN_MS = 250, AGAIN_MAX_MS = 30000 };

static struct idle_options options;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static bool started, stopping;
static atomic_bool noting;
static _Atomic int64_t last; /* ms */

/* Time that a computer slept counts as well. */
static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_use(const struct fuse_in_header *request)
{
	switch (request->opcode) {
	case FUSE_STATFS:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
	case FUSE_INIT:
	case FUSE_DESTROY:
		return false;
	case FUSE_GETATTR:
	case REQUEST_STATX:
	case FUSE_GETXATTR: /* ACLs and labels, as ls asks for */
		return request->nodeid != FUSE_ROOT_ID;
	default:
		return true;
	}
}

void idle_note(const struct fuse_in_header *request)
{
	int64_t now;

	if (!atomic_load_explicit(&noting, memory_order_relaxed)
	    || !is_use(request))
		return;
	now = now_ms();
	/* Not a line of the cache that all threads write to for each request. */
	if (atomic_load_explicit(&last, memory_order_relaxed) != now)
		atomic_store_explicit(&last, now, memory_order_relaxed);
}

/* With the lock held, which is released meanwhile. */
static void wait_ms(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&wake, &lock, &t);
}

static int64_t within(int64_t value, int64_t min, int64_t max)
{
	return value < min ? min : value > max ? max : value;
}

static int try_unmount(void)
{
	int error;

	pthread_mutex_unlock(&lock);
	error = options.unmount(options.context);
	pthread_mutex_lock(&lock);
	return error;
}

static void *wait_and_unmount(void *unused)
{
	const int64_t limit = (int64_t)options.seconds * 1000;
	const int64_t again = within(limit / AGAIN_PART, AGAIN_MIN_MS,
	                             AGAIN_MAX_MS);
	bool complained = false;

	(void)unused;
	pthread_mutex_lock(&lock);
	while (!stopping) {
		int64_t rest = atomic_load(&last) + limit - now_ms();
		int error;

		if (rest > 0) {
			wait_ms(within(rest, 1, AGAIN_MAX_MS));
			continue;
		}
		error = try_unmount();
		if (!error) {
			volume_log("unmounted, idle: nobody used it for %u s",
			           options.seconds);
			break;
		}
		if (error != -EBUSY && !stopping && !complained) {
			volume_log("unused for %u s, but it cannot be"
			           " unmounted: %s", options.seconds,
			           strerror(-error));
			complained = true;
		}
		if (!stopping)
			wait_ms(again);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int idle_start(const struct idle_options *wanted)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int error;

	if (!wanted->seconds)
		return 0;
	options = *wanted;
	stopping = false;
	atomic_store(&last, now_ms());
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the thread that ends the session. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, NULL, wait_and_unmount, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	started = !error;
	atomic_store(&noting, started);
	if (error)
		pthread_cond_destroy(&wake);
	return -error;
}

void idle_stop(void)
{
	if (!started)
		return;
	atomic_store(&noting, false);
	pthread_mutex_lock(&lock);
	stopping = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	pthread_cond_destroy(&wake);
	started = false;
}
