/*
 * A file system that fails when it is told to: a folder seen through FUSE, for
 * a volume to lie on. It is served by a process of its own, which obeys what
 * stands in `faulty`, memory that is shared with it.
 */
#ifndef TESTS_MOUNT_FAULTY_H
#define TESTS_MOUNT_FAULTY_H

#include <stdatomic.h>
#include <stdbool.h>

/* What is asked of it. */
enum {
	FAULTY_READ = 1,
	FAULTY_WRITE = 2,
	FAULTY_SYNC = 4,
	FAULTY_MAKE = 8,     /* files, directories, links */
	FAULTY_REMOVE = 16,
	FAULTY_RENAME = 32,
	FAULTY_LENGTH = 64,  /* truncating, allocating */
	FAULTY_LOOK = 128,   /* attributes, listings, opening */
	FAULTY_CHANGE = 256, /* attributes */
	FAULTY_ALL = 511,
};

struct faulty {
	atomic_uint kinds;   /* requests that are meant by all of these: */
	atomic_int error;    /* errno that they give; 0: none */
	atomic_int skip;     /* this many do what they should before that */
	atomic_int times;    /* and so many fail; -1: all */
	atomic_bool hang;    /* they wait until this is false */
	atomic_uint piece;   /* bytes that are read or written at most; 0: all */
	atomic_bool simple;  /* see faulty_mount_simple */
	atomic_bool count;   /* nothing fails, but all are counted in: */
	atomic_uint struck;  /* how many failed, or waited */
};

extern struct faulty *faulty;

/* Serve `source` at `point`, a folder that is made if it is not there. Returns
 * 0 or -1. */
int faulty_mount(const char *source, const char *point);

/*
 * The same, and it can no more than FAT and exFAT can on Linux: names that
 * differ by case only are the same, there are no links, sockets, pipes, devices
 * and attributes, modes are fixed and changing them is without effect, times
 * are even seconds, and a file that nobody has open may have another inode
 * number the next time.
 */
int faulty_mount_simple(const char *source, const char *point);

/* End it: properly, or as a network share goes away: whatever is still open
 * there gives ENOTCONN. */
void faulty_umount(void);
void faulty_kill(void);

/* The next requests of these kinds fail; and no more. */
void faulty_fail(unsigned kinds, int error, int skip, int times);
void faulty_work(void);

#endif
