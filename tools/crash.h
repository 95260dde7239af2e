/* The reason of a daemon's end reaches its log, however it ends. */
#ifndef TOOLS_CRASH_H
#define TOOLS_CRASH_H

/* From now on a signal by which a program crashes (a bad access, abort) first
 * writes a line to stderr, with the places in the program that led to it, and
 * then ends the process as usual. A sanitizer's own report is left alone. */
void crash_report(void);

/*
 * Stderr becomes the system log's socket, one message a write: so that the line
 * of crash_report, and what libraries say before they abort (assert, the C
 * library's heap), come there. Returns 0, or a negative errno where there is
 * no such log; then stderr is as before.
 */
int crash_stderr_to_syslog(void);

#endif
