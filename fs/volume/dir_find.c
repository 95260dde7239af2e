#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fs/volume/dir_impl.h"

int state_find(struct dir *dir, const struct dir_state *state,
               const char *plain, struct dir_entry *entry, struct stat *st)
{
	const struct volume *volume = dir->volume;
	size_t length = strlen(plain);
	struct name_text name;
	struct odd *odd = NULL;

	if (length > NAME_PLAIN_MAX)
		return -ENAMETOOLONG;
	if (state->by_shown)
		HASH_FIND(by_shown, state->by_shown, plain, length, odd);
	if (odd) {
		if (!fstatat(dir->fd, odd->text, st, AT_SYMLINK_NOFOLLOW)) {
			entry_set(entry, odd->text, odd->is_long, true);
			return 0;
		}
		if (errno != ENOENT)
			return -errno;
	}
	for (size_t i = 0; i < state->count; i++) {
		int error = name_encrypt(volume->keys, state->ids[i], plain,
		                         length, volume->name_limit, &name);

		if (error)
			return error;
		odd = NULL;
		if (state->by_text)
			HASH_FIND(by_text, state->by_text, name.text,
			          strlen(name.text), odd);
		if (odd) /* it is shown with a suffix */
			continue;
		if (!fstatat(dir->fd, name.text, st, AT_SYMLINK_NOFOLLOW)) {
			entry_set(entry, name.text, name.is_long, false);
			return 0;
		}
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

int dir_find(struct dir *dir, const char *plain, struct dir_entry *entry,
             struct stat *st)
{
	struct dir_state *state;
	int error = state_get(dir, &state);

	if (error)
		return error;
	error = state_find(dir, state, plain, entry, st);
	state_put(state);
	return error;
}

int state_new_name(struct dir *dir, const struct dir_state *state,
                   const char *plain, struct name_text *out)
{
	const struct volume *volume = dir->volume;
	size_t length = strlen(plain);
	struct dir_entry entry;
	struct stat st;
	int error;

	if (state->count > 1 || state->by_text) {
		error = state_find(dir, state, plain, &entry, &st);
		if (error != -ENOENT)
			return error ? error : -EEXIST;
	}
	/* The main id first; another where an entry that is shown with a
	 * suffix has this text under it. */
	for (size_t k = 0; k < state->count; k++) {
		size_t i = (state->main + k) % state->count;
		struct odd *odd = NULL;

		error = name_encrypt(volume->keys, state->ids[i], plain,
		                     length, volume->name_limit, out);
		if (error)
			return error;
		if (state->by_text)
			HASH_FIND(by_text, state->by_text, out->text,
			          strlen(out->text), odd);
		if (!odd || fstatat(dir->fd, out->text, &st,
		                    AT_SYMLINK_NOFOLLOW))
			return 0;
	}
	return -EEXIST;
}

void state_made(struct dir *dir, const struct dir_state *state,
                const char *text)
{
	struct odd *odd = NULL;

	if (state->by_text)
		HASH_FIND(by_text, state->by_text, text, strlen(text), odd);
	if (odd)
		state_forget(dir);
}
