/* A progress line on the terminal (stderr), drawn twice a second by a thread of
 * its own while others work, and taken away before anything else is written. */
#ifndef TOOLS_TICKER_H
#define TOOLS_TICKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { TICKER_LINE = 200 };

struct ticker {
	/* Called by that thread, to write the line's text. */
	void (*line)(void *context, char text[TICKER_LINE]);
	void *context;
	/* Its own: */
	struct timespec started;
	pthread_mutex_t output;
	pthread_t thread;
	atomic_bool done;
	bool running, on_line;
};

/* Begin; without `shown` there is no line, but the clock runs. */
void ticker_start(struct ticker *ticker, bool shown);
void ticker_stop(struct ticker *ticker);

/* Around other output: takes the line away, and keeps it away. */
void ticker_pause(struct ticker *ticker);
void ticker_resume(struct ticker *ticker);

double ticker_seconds(const struct ticker *ticker);

/* The usual text: "12 files, 1.0 MiB of 2.0 MiB, 1.0 MiB/s, 0:00:01 left"; total
 * 0: it is not known. */
void ticker_text(const struct ticker *ticker, char text[TICKER_LINE],
                 uint64_t files, uint64_t bytes, uint64_t total);

#endif
