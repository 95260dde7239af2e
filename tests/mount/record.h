/*
 * What a writer's returned calls have established in its folder, and the call
 * that is under way: kept in memory that outlives the writer, so that after a
 * crash of the daemon the folder can be held against it.
 *
 * A folder has a few fixed names ("slots"). A slot is free or a file, a
 * directory (perhaps with one file in it) or a symbolic link.
 */
#ifndef TESTS_MOUNT_RECORD_H
#define TESTS_MOUNT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SLOTS = 6,
	ROOM = 600 * 1024,   /* bytes of a file at most */
	WRITE_MAX = 200 * 1024,
};

enum kind { FREE, FILE_SLOT, DIR_SLOT, LINK_SLOT };

struct slot {
	enum kind kind;
	bool child;          /* a directory's file */
	size_t size;         /* of a file, or a link's target */
	uint8_t bytes[ROOM]; /* zeros from size on */
};

enum call {
	NONE, CREATE, WRITE, TRUNCATE, PUNCH, ALLOCATE, UNLINK, RENAME,
	EXCHANGE, MKDIR, RMDIR, SYMLINK, ADD_CHILD, REMOVE_CHILD,
	CALLS,
};

struct record {
	uint64_t random;     /* the writer's state */
	uint64_t calls;      /* that returned */
	/* Calls under way at a crash that had happened, in part, or not. */
	unsigned undone, partly, done;
	int error;           /* of a call that failed though it should not */
	enum call failed;
	/* The call that is under way, on slot `a` (and `b`). */
	enum call call;
	int a, b;
	size_t at, n;        /* or a new size in `at` */
	uint8_t fresh[WRITE_MAX];
	struct slot slots[SLOTS];
	/* Where set, only every other `stripe` bytes of a slot's file are this
	 * writer's, the first ones belonging to number 0. */
	size_t stripe;
	unsigned number;
};

extern const char *const call_names[CALLS];

/* The name of a slot: short or long, up to 255 bytes. */
const char *slot_name(int slot);

/* The call under way has returned: take it into the record. */
void record_done(struct record *r);

/* Whether the byte is this writer's. */
bool record_owns(const struct record *r, size_t at);

/*
 * Whether the folder (a descriptor) holds exactly what the record says, the
 * call under way having happened or not, or (writing and growing) in part.
 * If so the record becomes what is there. If not, says what is wrong.
 */
bool record_check(struct record *r, int dir);

#endif
