#include "fs/mount/node.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "fs/mount/dircache.h"

/* Nodes that were freed since memory was given back, when it is done again: at
 * least these, and this part of those that are there. */
enum { FREED_MANY = 4096, FREED_PART = 8 };

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
	node->key.device = UINT64_MAX;
	node->key.inode = (uintptr_t)node;
	HASH_ADD(hh, mount->nodes, key, sizeof(node->key), node);
}

static struct node *table_add(struct mount *mount, const struct stat *st)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->key = key_of(st);
	node->type = st->st_mode & S_IFMT;
	HASH_ADD(hh, mount->nodes, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	node->generation = ++mount->generation;
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
	if (!node->name.parent && !node->open && node != mount->root)
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

/* parent NULL: without a name. */
static int know(struct mount *mount, struct node *parent, const char *text,
                const struct stat *st, bool made, struct node **out)
{
	struct node *node;
	int error;

	pthread_mutex_lock(&mount->lock);
	node = table_find(mount, st);
	if (node && node != mount->root
	    && (made || !node_is(node, st)
	        || perhaps_reused(node, parent, text, st))) {
		table_detach(mount, node);
		node = NULL;
	}
	if (!node)
		node = table_add(mount, st);
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
               const struct stat *st, struct node **out)
{
	return know(mount, parent, text, st, false, out);
}

int node_made(struct mount *mount, struct node *parent, const char *text,
              const struct stat *st, struct node **out)
{
	return know(mount, parent, text, st, true, out);
}

int node_unnamed(struct mount *mount, const struct stat *st, struct node **out)
{
	return know(mount, NULL, NULL, st, true, out);
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
	mount->root = table_add(mount, st);
	if (!mount->root)
		return -ENOMEM;
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
}
