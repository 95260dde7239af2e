#include "fs/volume/manifest_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

struct inode_key {
	uint64_t device, inode;
};

/* The first entry that was met of an inode, or of a number. */
struct member {
	struct inode_key inode;
	uint64_t number;
	char *path;
	UT_hash_handle by_inode, by_number;
};

struct groups {
	struct member *by_inode, *by_number;
	uint64_t last;
};

static struct groups *made(struct groups **groups)
{
	if (!*groups)
		*groups = calloc(1, sizeof(**groups));
	return *groups;
}

static struct member *find_inode(struct groups *g, const struct inode_key *key)
{
	struct member *m;

	HASH_FIND(by_inode, g->by_inode, key, sizeof(*key), m);
	return m;
}

static struct member *find_number(struct groups *g, uint64_t number)
{
	struct member *m;

	HASH_FIND(by_number, g->by_number, &number, sizeof(number), m);
	return m;
}

static struct member *member_new(const struct inode_key *key, uint64_t number,
                                 const char *path)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->inode = *key;
	m->number = number;
	m->path = strdup(path);
	if (m->path)
		return m;
	free(m);
	return NULL;
}

static void member_free(struct member *m)
{
	free(m->path);
	free(m);
}

int groups_number(struct groups **groups, const struct stat *st,
                  uint64_t *number)
{
	const struct inode_key key = { st->st_dev, st->st_ino };
	struct groups *g;
	struct member *m;

	*number = 0;
	if (st->st_nlink < 2 || S_ISDIR(st->st_mode))
		return 0;
	g = made(groups);
	if (!g)
		return -ENOMEM;
	m = find_inode(g, &key);
	if (!m) {
		m = member_new(&key, g->last + 1, "");
		if (!m)
			return -ENOMEM;
		g->last++;
		HASH_ADD(by_inode, g->by_inode, inode, sizeof(m->inode), m);
	}
	*number = m->number;
	return 0;
}

/* By inode and by number the first entry is kept, each in a table of its own:
 * the same one may be in both. */
int groups_compare(struct groups **groups, const char *path, uint64_t number,
                   const struct stat *st, const char **with, bool *joined)
{
	const struct inode_key key = { st->st_dev, st->st_ino };
	bool linked = st->st_nlink > 1;
	struct groups *g;
	struct member *of_inode, *of_number, *m;

	*with = NULL;
	*joined = false;
	if (!linked && !number)
		return 0;
	g = made(groups);
	if (!g)
		return -ENOMEM;
	of_inode = linked ? find_inode(g, &key) : NULL;
	of_number = number ? find_number(g, number) : NULL;
	if (of_number && memcmp(&of_number->inode, &key, sizeof(key))) {
		*with = of_number->path;
	} else if (of_inode && (!number || of_inode->number != number)) {
		*with = of_inode->path;
		*joined = true;
	}
	if (linked && !of_inode) {
		m = member_new(&key, number, path);
		if (!m)
			return -ENOMEM;
		HASH_ADD(by_inode, g->by_inode, inode, sizeof(m->inode), m);
	}
	if (number && !of_number) {
		m = member_new(&key, number, path);
		if (!m)
			return -ENOMEM;
		HASH_ADD(by_number, g->by_number, number, sizeof(m->number), m);
	}
	return 0;
}

void groups_free(struct groups *g)
{
	struct member *m, *next;

	if (!g)
		return;
	HASH_ITER(by_inode, g->by_inode, m, next) {
		HASH_DELETE(by_inode, g->by_inode, m);
		member_free(m);
	}
	HASH_ITER(by_number, g->by_number, m, next) {
		HASH_DELETE(by_number, g->by_number, m);
		member_free(m);
	}
	free(g);
}
