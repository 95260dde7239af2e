/*
 * Nodes: the inodes that the kernel knows. A node is a ciphertext inode
 * (device and inode number) with the names under which it was met: pairs of a
 * parent node and a ciphertext name. No descriptor is kept for it; it is found
 * again by its name (fs/mount/place). The kernel's number for a node is its
 * address, so a node lives until the kernel has forgotten it; a generation
 * tells apart two nodes that had the same address one after the other. With
 * -o export, number and generation are the store's (fs/mount/export).
 *
 * A node keeps its parents alive, and knows at most NODE_NAMES_MAX of its names
 * (the first, and those that were met last). When the last name of an inode is
 * removed and no handle is open on it, its node is detached: the inode number
 * may then be given to another file, which gets a node of its own. The kernel
 * may still ask about the old one and is told ESTALE. It is told so, too, about
 * a file none of whose names is known any more, and then looks it up again.
 */
#ifndef FS_MOUNT_NODE_H
#define FS_MOUNT_NODE_H

/* An allocation that fails is an error of one call, not the daemon's end. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/mount/mount.h"

enum { NODE_NAMES_MAX = 16 };

struct node_name {
	struct node *parent;    /* NULL: there is no name here */
	char *text;             /* ciphertext name */
	struct node_name *next; /* further hard links */
};

struct node_key {
	uint64_t device, inode;
};

/* All but the key, the type, the generation and the flags of damage is
 * protected by mount.lock. */
struct node {
	UT_hash_handle hh;
	struct node_key key;
	uint64_t lookups;        /* the kernel's references */
	uint32_t refs;           /* ours: names of children, calls under way */
	uint32_t generation;
	uint16_t type;           /* S_IFMT bits of the mode */
	uint16_t version;        /* file_tag of what the kernel may have read;
	                          * 0: not known. By the open file's lock */
	bool detached : 1;       /* its inode is gone: see above */
	bool stable : 1;         /* its number is the store's */
	bool closing;            /* its file was closed, `open` is going too */
	atomic_bool damaged;     /* a bad sector was met since the last write */
	atomic_bool damage_logged;
	struct node_name name;
	struct open_file *open;  /* while handles are open on it */
	struct dir_slot *dir;    /* while its directory is in the cache */
};

/*
 * The node of the entry `text` in the directory `parent` whose lstat is st, as
 * a lookup by the kernel (one more reference); it is made where there is none
 * yet. node_made is for an entry that was just made: a node that its inode
 * number has already is of a file that is gone, perhaps a moment ago, so that
 * its last handle is not quite closed; it is detached.
 * node_unnamed is for a file that was made without a name; a handle must be
 * opened on it.
 * `generation` is the store's where nodes are exported (export_generation); then
 * it tells files apart that had the same number. parent is NULL for a file that
 * was found by number.
 * Return 0, -ENOMEM, or -ELOOP for a directory that would become its own
 * ancestor (it was moved from outside).
 */
int node_known(struct mount *mount, struct node *parent, const char *text,
               const struct stat *st, uint32_t generation,
               struct node **out);
int node_made(struct mount *mount, struct node *parent, const char *text,
              const struct stat *st, uint32_t generation, struct node **out);
int node_unnamed(struct mount *mount, const struct stat *st,
                 uint32_t generation, struct node **out);

/* One more reference of the kernel to a node that is known. */
void node_know_again(struct mount *mount, struct node *node);

/*
 * The kernel's number of a node, and, in an export, the node of a number that
 * the kernel has a reference to (mount.nobody, whom every call tells that it is gone, where there
 * is none after all). The root's is not among them.
 * node_lookup_id is for any number, of an NFS client for example: false where
 * no node has it, else the node with one more reference of the kernel.
 * node_id_parts takes apart a number that may be found in the store; a
 * generation has 31 bits in it.
 */
uint64_t node_id(const struct mount *mount, const struct node *node);
struct node *node_by_id(struct mount *mount, uint64_t id);
bool node_lookup_id(struct mount *mount, uint64_t id, struct node **out);
bool node_id_parts(uint64_t id, uint64_t *inode, uint32_t *generation);

/* The kernel gives back `count` references. */
void node_forget(struct mount *mount, struct node *node, uint64_t count);

/* References of our own. node_find: the node of an inode, with one more, or
 * NULL. node_unref(NULL) is allowed. */
struct node *node_find(struct mount *mount, const struct stat *st);
void node_ref(struct mount *mount, struct node *node);
void node_unref(struct mount *mount, struct node *node);

/* With mount.lock held. */
void node_ref_locked(struct node *node);
void node_unref_locked(struct mount *mount, struct node *node);
void node_settle_locked(struct mount *mount, struct node *node);

/*
 * Name number `index` (0, 1, ...) of a node: its parent with a reference, and
 * a copy of the text. False where there are not that many.
 */
bool node_name_at(struct mount *mount, struct node *node, unsigned index,
                  struct node **parent, char text[NAME_TEXT_MAX + 1]);

/* A name is gone; with `reuse` set, the inode may be too (it was removed
 * through the mount), so a node without a name is detached. */
void node_remove_name(struct mount *mount, struct node *node,
                      struct node *parent, const char *text, bool reuse);

/* A name became another one. Without memory the old one is only removed. */
void node_move_name(struct mount *mount, struct node *node,
                    struct node *from, const char *from_text,
                    struct node *to, const char *to_text);

bool node_is(const struct node *node, const struct stat *st);

/* The ciphertext path below the volume's root, for messages. */
void node_path(struct mount *mount, struct node *node, char *buf, size_t size);

/* The store is another one with the same content, and `st` its root: open files
 * are not those that are found there from now on. With mount.lock held. */
void node_begin_anew_locked(struct mount *mount, const struct stat *st);

/* The root, made with the mount; and freeing all nodes with it. */
int node_make_root(struct mount *mount, const struct stat *st);
void node_free_all(struct mount *mount);

#endif
