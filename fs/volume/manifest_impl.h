/* What the files of fs/volume/manifest*.c share. */
#ifndef FS_VOLUME_MANIFEST_IMPL_H
#define FS_VOLUME_MANIFEST_IMPL_H

#include <sys/stat.h>

#include <openssl/evp.h>

#include "fs/format/manifest.h"
#include "fs/volume/manifest.h"

enum {
	MANIFEST_DEPTH_MAX = 2048, /* directories inside each other */
	MANIFEST_OLD_MAX = 8,      /* earlier states of a file that are known */
	MANIFEST_OLD_SIZE = 16,    /* bytes of their digests that are kept */
	MANIFEST_TARGET_MAX = 4095,
};

enum manifest_kind {
	MANIFEST_FILE, MANIFEST_DIR, MANIFEST_LINK, MANIFEST_OTHER,
};

/* By what a file is taken for unchanged. */
struct manifest_facts {
	uint64_t size, inode;
	struct { int64_t seconds; uint32_t nanoseconds; } mtime, ctime;
};

struct manifest_entry {
	enum manifest_kind kind;
	char *path;
	/* Those of one inode with several names have one number; 0: one name.
	 * Not of directories. */
	uint64_t group;
	uint8_t digest[MANIFEST_DIGEST]; /* a file's content, a link's target */
	char *target;  /* a link's; of other entries: kind and device */
	bool has_facts;
	struct manifest_facts facts;     /* a file's */
	unsigned olds;                   /* its earlier states, newest first */
	uint8_t old[MANIFEST_OLD_MAX][MANIFEST_OLD_SIZE];
};

void manifest_facts_of(struct manifest_facts *facts, const struct stat *st);

/* Kind and device of an entry that is no file, directory or link: "p 0:0". */
enum { MANIFEST_OTHER_TEXT = 32 };
void manifest_other_text(char text[MANIFEST_OTHER_TEXT], const struct stat *st);

/* BLAKE2b-512 of a text. Returns 0 or -EIO. */
int manifest_digest(uint8_t digest[MANIFEST_DIGEST], const char *text);

/* manifest_read.c: the next entry, valid until the next call. 1, 0 at the end,
 * or a negative error; at the end what was read is checked again, and -ESTALE
 * is the result where it is not what manifest_open saw. */
int manifest_next(struct manifest *manifest, const struct manifest_entry **entry);
int manifest_rewind(struct manifest *manifest);

/* Finish the renaming of a seal that was killed in it, before its signature is
 * written over. 0 or an error. */
int manifest_settle(struct manifest *manifest, const char *path);

/* manifest_walk.c: every entry that a seal covers, in the manifest's order. */
struct manifest_walk {
	int root;
	atomic_bool *cancel;
	void *context;
	/* An entry; `name` in the directory `dir`. Of a directory, `error` is that
	 * of opening and listing it, and nothing below it follows then. Another
	 * result than 0 ends the walk. */
	int (*entry)(void *context, int dir, const char *name, const char *path,
	             const struct stat *st, int error);
	/* One that is not covered, with all below it; may be NULL. */
	void (*foreign)(void *context, const char *path);
};

int manifest_walk(const struct manifest_walk *walk);

/* manifest_scan.c: such a walk, with the digests. */
struct scan_item {
	char *path;
	struct stat st;
	int error;      /* of opening or reading it; -ESTALE: it changed meanwhile */
	char *target;   /* as in struct manifest_entry */
	uint8_t digest[MANIFEST_DIGEST];
	/* For the caller: what was there before. */
	uint8_t before[MANIFEST_DIGEST];
	bool has_before;
	unsigned olds;
	uint8_t old[MANIFEST_OLD_MAX][MANIFEST_OLD_SIZE];
	/* The scan's own: */
	int fd;
	bool done;
};

struct manifest_scan {
	int root;
	unsigned threads;
	struct manifest_progress *progress;
	void *context;
	/* Called in the walk's order for each item before it is read; true where
	 * its digest is known, and set. May be NULL. */
	bool (*known)(void *context, struct scan_item *item);
	/* Called in the walk's order when the digest is there. The item's path may
	 * be taken (set to NULL). */
	int (*entry)(void *context, struct scan_item *item);
};

int manifest_scan(const struct manifest_scan *scan);

/* A difference, until all are known and can be put in relation. */
struct difference {
	enum manifest_class class;
	enum manifest_kind kind; /* of what was sealed, or else of what is there */
	char *path;
	const char *detail;
	char *from;             /* malloc'ed */
	bool sealed, present;   /* whether the manifest, and the tree, has it */
	bool has_was, has_is;   /* the digest, of a file of some size or a link */
	bool taken;             /* its sealed content was found elsewhere */
	bool implied;           /* said by another one: not reported */
	bool has_facts;
	struct difference *same;/* another one with the same digest */
	uint8_t was[MANIFEST_DIGEST], is[MANIFEST_DIGEST];
	struct manifest_facts sealed_facts, facts;
	unsigned olds;
	uint8_t old[MANIFEST_OLD_MAX][MANIFEST_OLD_SIZE];
};

struct differences {
	struct difference **list; /* in the manifest's order */
	size_t count, room;
};

/* The difference of this path, or NULL. */
struct difference *difference_find(const struct differences *differences,
                                   const char *path);

/* manifest_match.c: find what was renamed or copied, by the digests. */
int manifest_match(struct differences *differences, struct manifest *manifest);

/* manifest_judge.c: say what kind of change each changed file had. */
int manifest_judge(struct differences *differences, int root,
                   const struct volume *volume,
                   struct manifest_progress *progress);

/* Open what lies at a valid path below a directory, part by part and following
 * no symbolic link; a descriptor or an error. */
int manifest_open_below(int root, const char *path, int flags);

/* manifest_plain.c: plaintext paths, also of what is not there any more. */
struct plain_paths;
struct plain_paths *plain_paths_new(const struct volume *volume,
                                    const struct differences *differences);
/* The path as the mount shows it, with ciphertext names where one does not
 * open; malloc'ed, or NULL without memory. */
char *plain_path(struct plain_paths *paths, const char *cipher);
void plain_paths_free(struct plain_paths *paths);

#endif
