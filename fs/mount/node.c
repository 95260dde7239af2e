#include "fs/mount/node.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "fs/mount/dircache.h"

/* Nodes that were freed since memory was given back, when it is done again: at
 * least these, and this part of those that are there. */
enum { FREED_MANY = 4096, FREED_PART = 8 };

/* Numbers: the root's is FUSE's; one with the topmost bit is an address. */
enum { FUSE_ROOT = 1 };
static const uint64_t ADDRESS = UINT64_C(1) << 63;

static struct node_key key_of(const struct stat *st)
{
	struct node_key key = { st->st_dev, st->st_ino };

	return key;
}

bool node_is(const struct node *node, const struct stat *st)
{
	return node->key.device == (uint64_t)st->st_dev
	       && node->key.inode == (uint64_t)st->st_ino
	       && node->type == (st->st_mode & S_IFMT);
}

static uint64_t stable_id(uint64_t inode, uint32_t generation)
{
	return (uint64_t)(generation & ~(1u << 31)) << 32 | inode;
}

/* The key of a node whose inode is gone: by its number, or by its address. No
 * device has such a number. */
static struct node_key gone_key(const struct node *node)
{
	struct node_key key = { UINT64_MAX, (uintptr_t)node };

	if (node->stable) {
		key.device = UINT64_MAX - 1
		             - (node->generation & ~(1u << 31));
		key.inode = node->key.inode;
	}
	return key;
}

/* From here on, functions without `mount->lock` in them are called with it. */

static struct node *table_find(struct mount *mount, const struct stat *st)
{
	struct node_key key = key_of(st);
	struct node *node;

	HASH_FIND(hh, mount->nodes, &key, sizeof(key), node);
	return node;
}

/* Nobody shall find this node any more, since its inode number may belong to
 * another file from now on. It stays in the table under a key that no inode
 * has, so that none is lost at the end. */
static void table_detach(struct mount *mount, struct node *node)
{
	if (node->detached)
		return;
	HASH_DEL(mount->nodes, node);
	node->detached = true;
	node->key = gone_key(node);
	HASH_ADD(hh, mount->nodes, key, sizeof(node->key), node);
}

/* A number is the store's where that has generations, and no node that is gone
 * and that the kernel still knows has it. */
static bool can_be_stable(struct mount *mount, struct node *node,
                          uint32_t generation)
{
	struct node *other;
	struct node_key key;

	if (!mount->handles || !generation || !mount->root
	    || node->key.device != mount->root->key.device
	    || node->key.inode > UINT32_MAX
	    || stable_id(node->key.inode, generation) <= FUSE_ROOT)
		return false;
	node->generation = generation;
	node->stable = true;
	key = gone_key(node);
	HASH_FIND(hh, mount->nodes, &key, sizeof(key), other);
	node->stable = false;
	return !other;
}

static struct node *table_add(struct mount *mount, const struct stat *st,
                              uint32_t generation)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->key = key_of(st);
	node->type = st->st_mode & S_IFMT;
	node->stable = can_be_stable(mount, node, generation);
	HASH_ADD(hh, mount->nodes, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	node->generation = node->stable ? generation : ++mount->generation;
	return node;
}

void node_ref_locked(struct node *node)
{
	node->refs++;
}

/* Take `name` (which is node->name or one of those after it) out of the list.
 * Its reference to the parent goes to the caller. */
static struct node *unlink_name(struct node *node, struct node_name *name)
{
	struct node *parent = name->parent;
	struct node_name **link = &node->name.next;

	free(name->text);
	if (name == &node->name) {
		struct node_name *next = name->next;

		if (next) {
			*name = *next;
			free(next);
		} else {
			memset(name, 0, sizeof(*name));
		}
		return parent;
	}
	while (*link != name)
		link = &(*link)->next;
	*link = name->next;
	free(name);
	return parent;
}

/* Where nothing refers to a node any more it goes, and perhaps its parents
 * with it: in a loop, as a tree may be deeper than a stack. (A directory has
 * one name, so the recursion is for a file's further names and ends there.) */
static void node_free_unused(struct mount *mount, struct node *node)
{
	while (node && !node->refs && !node->lookups) {
		struct node *parent;

		if (node->hh.tbl)
			HASH_DEL(mount->nodes, node);
		dircache_drop_locked(mount, node);
		while (node->name.next)
			node_unref_locked(mount,
			                  unlink_name(node, node->name.next));
		parent = node->name.parent;
		free(node->name.text);
		free(node);
		mount->freed++;
		if (parent)
			parent->refs--;
		node = parent;
	}
}

void node_unref_locked(struct mount *mount, struct node *node)
{
	if (!node)
		return;
	node->refs--;
	node_free_unused(mount, node);
}

/* A node without name or handle cannot be found again by anybody. */
void node_settle_locked(struct mount *mount, struct node *node)
{
	/* One that the store can find is told apart by its generation. */
	if (!node->name.parent && !node->open && node != mount->root
	    && !node->stable)
		table_detach(mount, node);
}

static struct node_name *find_name(struct node *node, const struct node *parent,
                                   const char *text)
{
	for (struct node_name *n = &node->name; n && n->parent; n = n->next)
		if (n->parent == parent && !strcmp(n->text, text))
			return n;
	return NULL;
}

/* Forget the name that was met first of the further ones, where there are too
 * many: the others suffice to find the node. */
static void limit_names(struct mount *mount, struct node *node)
{
	struct node_name *name = &node->name;
	int count = 1;

	while (name->next) {
		name = name->next;
		count++;
	}
	if (count > NODE_NAMES_MAX)
		node_unref_locked(mount, unlink_name(node, name));
}

static int add_name(struct mount *mount, struct node *node,
                    struct node *parent, const char *text)
{
	struct node_name *name = &node->name;
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	if (name->parent) {
		name = calloc(1, sizeof(*name));
		if (!name) {
			free(copy);
			return -ENOMEM;
		}
		name->next = node->name.next;
		node->name.next = name;
	}
	name->parent = parent;
	name->text = copy;
	node_ref_locked(parent);
	limit_names(mount, node);
	return 0;
}

static bool is_ancestor(const struct node *node, const struct node *of)
{
	for (; of; of = of->name.parent)
		if (of == node)
			return true;
	return false;
}

/* See to it that the node has this name; a directory has only one. */
static int set_name(struct mount *mount, struct node *node,
                    struct node *parent, const char *text)
{
	if (find_name(node, parent, text))
		return 0;
	if (node->type == S_IFDIR) {
		if (node == mount->root || is_ancestor(node, parent))
			return -ELOOP;
		if (node->name.parent)
			node_unref_locked(mount,
			                  unlink_name(node, &node->name));
	}
	return add_name(mount, node, parent, text);
}

/*
 * Whether the inode number of a node that was found may belong to another file
 * by now: one that has a name which the node has not, while the node's own
 * name is not another link to it. Then it was moved from outside, or removed
 * and its number given away; only an open file is certainly still the same.
 * (A directory is taken for moved: programs may stand in it.)
 */
static bool perhaps_reused(struct node *node, const struct node *parent,
                           const char *text, const struct stat *st)
{
	return node->type != S_IFDIR && (!node->open || node->closing)
	       && (st->st_nlink == 1 || !node->name.parent)
	       && !find_name(node, parent, text);
}

/* Whether a node that was found by inode number is of another file. */
static bool is_other(struct node *node, const struct node *parent,
                     const char *text, const struct stat *st,
                     uint32_t generation, bool made)
{
	if (!node_is(node, st))
		return true;
	if (node->stable && generation)
		return node->generation != generation;
	return made || perhaps_reused(node, parent, text, st);
}

/* parent NULL: without a name. */
static int know(struct mount *mount, struct node *parent, const char *text,
                const struct stat *st, uint32_t generation, bool made,
                struct node **out)
{
	struct node *node;
	int error;

	pthread_mutex_lock(&mount->lock);
	node = table_find(mount, st);
	if (node && node != mount->root
	    && is_other(node, parent, text, st, generation, made)) {
		table_detach(mount, node);
		node = NULL;
	}
	if (!node)
		node = table_add(mount, st, generation);
	if (node) {
		node->refs++;
		error = parent ? set_name(mount, node, parent, text) : 0;
		if (!error)
			node->lookups++;
		node_unref_locked(mount, node);
	} else {
		error = -ENOMEM;
	}
	pthread_mutex_unlock(&mount->lock);
	*out = error ? NULL : node;
	return error;
}

int node_known(struct mount *mount, struct node *parent, const char *text,
               const struct stat *st, uint32_t generation, struct node **out)
{
	return know(mount, parent, text, st, generation, false, out);
}

int node_made(struct mount *mount, struct node *parent, const char *text,
              const struct stat *st, uint32_t generation, struct node **out)
{
	return know(mount, parent, text, st, generation, true, out);
}

int node_unnamed(struct mount *mount, const struct stat *st,
                 uint32_t generation, struct node **out)
{
	return know(mount, NULL, NULL, st, generation, true, out);
}

void node_know_again(struct mount *mount, struct node *node)
{
	pthread_mutex_lock(&mount->lock);
	node->lookups++;
	pthread_mutex_unlock(&mount->lock);
}

uint64_t node_id(const struct mount *mount, const struct node *node)
{
	if (!mount->export)
		return (uintptr_t)node;
	return node->stable ? stable_id(node->key.inode, node->generation)
	                    : ADDRESS | (uintptr_t)node;
}

bool node_id_parts(uint64_t id, uint64_t *inode, uint32_t *generation)
{
	*inode = id & UINT32_MAX;
	*generation = (uint32_t)(id >> 32);
	return !(id & ADDRESS) && id > FUSE_ROOT;
}

static struct node *find_id(struct mount *mount, uint64_t id)
{
	struct node_key key = { mount->root->key.device, id & UINT32_MAX };
	struct node *node;

	HASH_FIND(hh, mount->nodes, &key, sizeof(key), node);
	if (node && node->stable && node_id(mount, node) == id)
		return node;
	key.device = UINT64_MAX - 1 - (id >> 32);
	HASH_FIND(hh, mount->nodes, &key, sizeof(key), node);
	return node;
}

struct node *node_by_id(struct mount *mount, uint64_t id)
{
	struct node *node;

	if (id & ADDRESS)
		return (struct node *)(uintptr_t)(id & ~ADDRESS);
	pthread_mutex_lock(&mount->lock);
	node = find_id(mount, id);
	pthread_mutex_unlock(&mount->lock);
	return node ? node : mount->nobody;
}

bool node_lookup_id(struct mount *mount, uint64_t id, struct node **out)
{
	struct node *node = NULL;

	pthread_mutex_lock(&mount->lock);
	if (id == FUSE_ROOT)
		node = mount->root;
	else if (!(id & ADDRESS))
		node = find_id(mount, id);
	if (node && !node->detached)
		node->lookups++;
	else
		node = NULL;
	pthread_mutex_unlock(&mount->lock);
	*out = node;
	return node;
}

/* What very many nodes took goes back to the system, which the C library does
 * not do by itself while anything that is younger is in use. */
static void give_back_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void node_forget(struct mount *mount, struct node *node, uint64_t count)
{
	bool many;

	pthread_mutex_lock(&mount->lock);
	node->lookups -= count < node->lookups ? count : node->lookups;
	node_free_unused(mount, node);
	many = mount->freed >= FREED_MANY
	       && mount->freed >= HASH_COUNT(mount->nodes) / FREED_PART;
	if (many)
		mount->freed = 0;
	pthread_mutex_unlock(&mount->lock);
	if (many)
		give_back_memory();
}

struct node *node_find(struct mount *mount, const struct stat *st)
{
	struct node *node;

	pthread_mutex_lock(&mount->lock);
	node = table_find(mount, st);
	if (node)
		node_ref_locked(node);
	pthread_mutex_unlock(&mount->lock);
	return node;
}

void node_ref(struct mount *mount, struct node *node)
{
	pthread_mutex_lock(&mount->lock);
	node_ref_locked(node);
	pthread_mutex_unlock(&mount->lock);
}

void node_unref(struct mount *mount, struct node *node)
{
	if (!node)
		return;
	pthread_mutex_lock(&mount->lock);
	node_unref_locked(mount, node);
	pthread_mutex_unlock(&mount->lock);
}

bool node_name_at(struct mount *mount, struct node *node, unsigned index,
                  struct node **parent, char text[NAME_TEXT_MAX + 1])
{
	struct node_name *name;
	bool found;

	pthread_mutex_lock(&mount->lock);
	name = &node->name;
	while (index-- && name)
		name = name->next;
	found = name && name->parent;
	if (found) {
		node_ref_locked(name->parent);
		*parent = name->parent;
		memcpy(text, name->text, strlen(name->text) + 1);
	}
	pthread_mutex_unlock(&mount->lock);
	return found;
}

void node_remove_name(struct mount *mount, struct node *node,
                      struct node *parent, const char *text, bool reuse)
{
	struct node_name *name;

	pthread_mutex_lock(&mount->lock);
	name = find_name(node, parent, text);
	if (name)
		node_unref_locked(mount, unlink_name(node, name));
	if (reuse)
		node_settle_locked(mount, node);
	pthread_mutex_unlock(&mount->lock);
}

void node_move_name(struct mount *mount, struct node *node,
                    struct node *from, const char *from_text,
                    struct node *to, const char *to_text)
{
	struct node_name *name;

	pthread_mutex_lock(&mount->lock);
	name = find_name(node, from, from_text);
	if (name)
		node_unref_locked(mount, unlink_name(node, name));
	if (!find_name(node, to, to_text))
		add_name(mount, node, to, to_text);
	pthread_mutex_unlock(&mount->lock);
}

void node_path(struct mount *mount, struct node *node, char *buf, size_t size)
{
	char *end = buf + size - 1;
	char *p = end;

	*end = 0;
	pthread_mutex_lock(&mount->lock);
	for (; node && node->name.parent; node = node->name.parent) {
		size_t length = strlen(node->name.text);

		if ((size_t)(p - buf) < length + 5) {
			p -= 4;
			memcpy(p, ".../", 4);
			break;
		}
		if (p != end)
			*--p = '/';
		p -= length;
		memcpy(p, node->name.text, length);
	}
	pthread_mutex_unlock(&mount->lock);
	memmove(buf, p, (size_t)(end - p) + 1);
	if (!*buf)
		memcpy(buf, "?", 2);
}

void node_begin_anew_locked(struct mount *mount, const struct stat *st)
{
	struct node *node, *next;

	HASH_ITER(hh, mount->nodes, node, next)
		if (node->open)
			table_detach(mount, node);
	node = table_find(mount, st);
	if (node && node != mount->root)
		table_detach(mount, node);
	HASH_DEL(mount->nodes, mount->root);
	mount->root->key = key_of(st);
	HASH_ADD(hh, mount->nodes, key, sizeof(mount->root->key), mount->root);
}

int node_make_root(struct mount *mount, const struct stat *st)
{
	mount->root = table_add(mount, st, 0);
	mount->nobody = calloc(1, sizeof(*mount->nobody));
	if (!mount->root || !mount->nobody)
		return -ENOMEM;
	mount->nobody->detached = true;
	mount->nobody->refs = 1;
	mount->root->refs = 1;
	return 0;
}

void node_free_all(struct mount *mount)
{
	struct node *node, *next;

	HASH_ITER(hh, mount->nodes, node, next) {
		HASH_DEL(mount->nodes, node);
		dircache_drop_locked(mount, node);
		while (node->name.next)
			unlink_name(node, node->name.next);
		free(node->name.text);
		free(node);
	}
	mount->root = NULL;
	free(mount->nobody);
}
