#include "fs/mount/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#ifndef __has_feature /* which is clang's; gcc has macros */
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>

/* What follows from an answer comes after it, whatever descriptor it is read
 * from; the thread sanitizer knows that of a single one only. */
static char kernel;
#define CAME_FROM_KERNEL() __tsan_acquire(&kernel)
#define GOES_TO_KERNEL() __tsan_release(&kernel)
#else
#define CAME_FROM_KERNEL() ((void)0)
#define GOES_TO_KERNEL() ((void)0)
#endif

enum {
	CREDIT_MAX = 8, /* polls in vain, one after the other, until: */
	RARELY = 16,    /* only one wait in so many begins with one */
};

static int polled = -1;  /* the clone, which does not block */
static uint64_t poll_ns;
static atomic_bool polling; /* a thread is at it */
static atomic_int credit = CREDIT_MAX;
static atomic_uint waits;

/* Where this thread's request was read, if it was not the session's. */
static _Thread_local int read_from = -1;

void channel_open(int fd, unsigned poll_usec)
{
	uint32_t session = (uint32_t)fd;

	/* With a single processor whoever is waited for could not run. */
	if (!poll_usec || sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	polled = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (polled >= 0 && ioctl(polled, FUSE_DEV_IOC_CLONE, &session))
		channel_close();
	poll_ns = poll_usec * (uint64_t)1000;
}

void channel_close(void)
{
	if (polled >= 0)
		close(polled);
	polled = -1;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool is_worth_it(void)
{
	return atomic_load_explicit(&credit, memory_order_relaxed) > 0
	       || atomic_fetch_add_explicit(&waits, 1, memory_order_relaxed)
	          % RARELY == 0;
}

/* Only the thread that polls is here. */
static void learn(bool came)
{
	int c = atomic_load_explicit(&credit, memory_order_relaxed);

	if (came ? c < CREDIT_MAX : c > 0)
		atomic_store_explicit(&credit, came ? c + 1 : c - 1,
		                      memory_order_relaxed);
}

/* A request, or an error that ends the session, or EAGAIN. */
static ssize_t poll_for(void *buf, size_t size)
{
	uint64_t end = now() + poll_ns;
	ssize_t n;

	while ((n = read(polled, buf, size)) < 0 && errno == EAGAIN
	       && now() < end)
		sched_yield();
	learn(n > 0);
	return n;
}

ssize_t channel_read(int fd, void *buf, size_t size)
{
	ssize_t n;

	read_from = -1;
	if (polled >= 0 && is_worth_it() && !atomic_exchange(&polling, true)) {
		n = poll_for(buf, size);
		atomic_store(&polling, false);
		if (n >= 0 || errno != EAGAIN) {
			read_from = polled;
			CAME_FROM_KERNEL();
			return n;
		}
	}
	n = read(fd, buf, size);
	CAME_FROM_KERNEL();
	return n;
}

ssize_t channel_writev(int fd, const struct iovec *parts, int count)
{
	GOES_TO_KERNEL();
	return writev(read_from >= 0 ? read_from : fd, parts, count);
}
