/* A progress line on a terminal (stderr), for work that goes through files: it
 * is drawn twice a second at most, by whoever reports progress. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct progress {
	bool shown;      /* whether there is to be a line at all */
	bool on_line;    /* it stands there now */
	uint64_t files, bytes;
	struct timespec started, drawn;
};

void progress_begin(struct progress *progress, bool shown);
void progress_add(struct progress *progress, uint64_t files, uint64_t bytes);

/* Take the line away: before any message, and at the end. */
void progress_clear(struct progress *progress);

/* "12.3 MiB" */
void human_size(char text[32], double bytes);

#endif
