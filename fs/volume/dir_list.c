#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

/* A listing that grows; while it does, items hold offsets in the arena in
 * place of pointers. */
struct growing {
	struct dir_item *items;
	size_t count, room;
	char *arena;
	size_t used, size;
};

enum { LIST_AGAIN_MAX = 4 };

static int arena_add(struct growing *g, const char *string, uintptr_t *offset)
{
	size_t n = strlen(string) + 1;

	if (g->used + n > g->size) {
		size_t size = g->size ? g->size * 2 : 4096;
		char *arena = realloc(g->arena, size);

		if (!arena)
			return -ENOMEM;
		g->arena = arena;
		g->size = size;
	}
	memcpy(g->arena + g->used, string, n);
	*offset = g->used;
	g->used += n;
	return 0;
}

static int item_add(struct growing *g, const char *plain, const char *text,
                    uint64_t inode, unsigned char type)
{
	uintptr_t plain_at, text_at;

	if (g->count == g->room) {
		size_t room = g->room ? g->room * 2 : 64;
		void *items = realloc(g->items, room * sizeof(*g->items));

		if (!items)
			return -ENOMEM;
		g->items = items;
		g->room = room;
	}
	if (arena_add(g, plain, &plain_at) || arena_add(g, text, &text_at))
		return -ENOMEM;
	g->items[g->count++] = (struct dir_item){
		.plain = (const char *)plain_at,
		.text = (const char *)text_at,
		.inode = inode,
		.type = type,
	};
	return 0;
}

static unsigned char type_of(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN ||
	    fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
		return d->d_type;
	return IFTODT(st.st_mode);
}

static bool knows_id(const struct dir_state *state, const char *text)
{
	uint8_t id[ID_SIZE];

	name_dir_id(text, id);
	for (size_t i = 0; i < state->count; i++)
		if (!memcmp(state->ids[i], id, ID_SIZE))
			return true;
	return false;
}

/* The plaintext name of an entry: its length, 0 where it is not to be shown,
 * or -EBADMSG where it is damaged. *unknown tells of what may be a conflict
 * copy that the state does not know yet. */
static int shown_name(struct dir *dir, const struct dir_state *state,
                      const char *text, char plain[NAME_PLAIN_MAX + 1],
                      bool *unknown)
{
	struct odd *odd = NULL;
	size_t which;

	if (state->by_text)
		HASH_FIND(by_text, state->by_text, text, strlen(text), odd);
	if (odd) {
		strcpy(plain, odd->shown);
		return (int)strlen(plain);
	}
	switch (name_form(text)) {
	case NAME_ENCRYPTED:
	case NAME_LONG:
		return text_open(dir->volume, dir->fd,
		                 (const uint8_t (*)[ID_SIZE])state->ids,
		                 state->count, text, plain, &which);
	case NAME_DIR_ID:
		*unknown |= !knows_id(state, text);
		return 0;
	case NAME_LONG_CONFLICT:
		*unknown = true; /* it may be: see dir_list */
		return 0;
	case NAME_FOREIGN:
		*unknown |= strlen(text) > name_text_lengths()[0];
		return 0;
	default:
		return 0;
	}
}

/* What is wrong in a listing: how many names do not open, and the first. */
struct damage {
	size_t count;
	char first[NAME_TEXT_MAX + 1];
	bool denied; /* its .name file may not be read */
};

static int read_all(struct dir *dir, const struct dir_state *state,
                    DIR *stream, struct growing *g, struct damage *damage,
                    bool *unknown)
{
	char plain[NAME_PLAIN_MAX + 1];
	struct dirent *d;
	struct stat st;

	for (errno = 0; (d = readdir(stream)); errno = 0) {
		int n;

		if (strlen(d->d_name) > NAME_TEXT_MAX)
			continue;
		n = shown_name(dir, state, d->d_name, plain, unknown);
		if (n == 0)
			continue;
		if (n < 0 && n != -EBADMSG && n != -EACCES)
			return n;
		if (n > 0) {
			n = item_add(g, plain, d->d_name, d->d_ino,
			             type_of(dir->fd, d));
			if (n)
				return n;
			continue;
		}
		if (fstatat(dir->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue; /* removed just now, and its .name file */
		if (damage->count++ == 0) {
			strcpy(damage->first, d->d_name);
			damage->denied = n == -EACCES;
		}
	}
	return -errno;
}

static int list(struct dir *dir, const struct dir_state *state,
                struct dir_listing *out, struct damage *damage, bool *unknown)
{
	struct growing g = { .count = 0 };
	DIR *stream;
	int fd, error;

	if (dir->volume->read_only)
		fd = open_quiet(dir->fd, ".", O_RDONLY | O_DIRECTORY);
	else
		fd = io_open(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return dir->volume->read_only ? fd : -errno;
	stream = fdopendir(fd);
	if (!stream) {
		error = -errno;
		close(fd);
		return error;
	}
	*damage = (struct damage){ .count = 0 };
	error = read_all(dir, state, stream, &g, damage, unknown);
	closedir(stream);
	if (!error && g.count == 0 && damage->count > 0)
		error = -EBADMSG;
	if (error) {
		free(g.items);
		free(g.arena);
		return error;
	}
	for (size_t i = 0; i < g.count; i++) {
		g.items[i].plain = g.arena + (uintptr_t)g.items[i].plain;
		g.items[i].text = g.arena + (uintptr_t)g.items[i].text;
	}
	*out = (struct dir_listing){
		.count = g.count, .items = g.items, .damaged = damage->count,
		.arena = g.arena,
	};
	return 0;
}

int dir_list(struct dir *dir, struct dir_listing *out)
{
	struct dir_state *state, *newer;
	struct damage damage = { .count = 0 };
	int error = state_get(dir, &state);
	bool unknown = false;
	char path[4096];

	if (error)
		return error;
	error = list(dir, state, out, &damage, &unknown);
	/* With conflict copies, other ids or names that do not open in it, the
	 * directory may have changed since the state was read: then it is
	 * listed again. While a sync tool is at work this can happen more
	 * than once: what does not open now may be of an id that just came. */
	for (int tries = 0; tries < LIST_AGAIN_MAX && (!error || error == -EBADMSG)
	     && (damage.count > 0 || (unknown && tries == 0)); tries++) {
		if (state_get_now(dir, &newer))
			break;
		state_put(state);
		if (newer == state) {
			state = newer;
			break;
		}
		state = newer;
		if (!error)
			dir_listing_free(out);
		error = list(dir, state, out, &damage, &unknown);
	}
	state_put(state);
	if (damage.count > 0 && !atomic_exchange(&dir->told, true))
		volume_log("%s/%s: this name %s; it is left out, and so are %zu "
		           "others of this directory (frondfs fsck lists them)",
		           fd_path(dir->fd, path), damage.first,
		           damage.denied ? "may not be read"
		                         : "does not belong here or is damaged",
		           damage.count - 1);
	return error;
}

void dir_listing_free(struct dir_listing *listing)
{
	free(listing->items);
	free(listing->arena);
	*listing = (struct dir_listing){ .count = 0 };
}
