#include "fs/volume/where.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/walk.h"

/* What one part of a path is in the other spelling. */
struct part {
	enum where_kind kind;
	char other[NAME_TEXT_MAX + 1];
	char text[NAME_TEXT_MAX + 1]; /* the ciphertext name, to go on with */
};

static const uint8_t (*ids_of(const struct dir_state *state))[ID_SIZE]
{
	return (const uint8_t (*)[ID_SIZE])state->ids;
}

static bool stands(struct dir *dir, const char *text)
{
	return !faccessat(dir_fd(dir), text, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* ---- from plaintext ---- */

static int part_of_plain(struct dir *dir, struct dir_state *state,
                         const char *plain, struct part *part)
{
	struct dir_entry entry;
	struct name_text name;
	struct stat st;
	int error = state_find(dir, state, plain, &entry, &st);

	part->kind = WHERE_ENTRY;
	if (!error) {
		strcpy(part->text, entry.text);
	} else if (error == -ENOENT && stands(dir, plain)) {
		/* As fsck shows what does not open. */
		part->kind = WHERE_DAMAGED;
		strcpy(part->text, plain);
	} else if (error == -ENOENT) {
		part->kind = WHERE_ABSENT;
		error = name_encrypt(dir->volume->keys, state->ids[state->main],
		                     plain, strlen(plain),
		                     dir->volume->name_limit, &name);
		if (error)
			return error;
		strcpy(part->text, name.text);
	} else {
		return error;
	}
	strcpy(part->other, part->text);
	return 0;
}

/* ---- from ciphertext ---- */

static int part_of_text(struct dir *dir, struct dir_state *state,
                        const char *text, struct part *part)
{
	char base[NAME_TEXT_MAX + 1];
	struct odd *odd = NULL;
	size_t which;
	int n = -EBADMSG;

	if (strlen(text) > NAME_TEXT_MAX)
		return -ENAMETOOLONG;
	strcpy(part->text, text);
	strcpy(part->other, text);
	part->kind = stands(dir, text) ? WHERE_ENTRY : WHERE_ABSENT;
	if (state->by_text)
		HASH_FIND(by_text, state->by_text, text, strlen(text), odd);
	if (odd) {
		strcpy(part->other, odd->shown);
		return 0;
	}
	switch (name_form(text)) {
	case NAME_ENCRYPTED:
	case NAME_LONG:
		n = text_open(dir->volume, dir->fd, ids_of(state), state->count,
		              text, part->other, &which);
		break;
	case NAME_LONG_FILE:
		strcpy(base, text);
		base[strlen(text) - strlen(NAME_LONG_SUFFIX)] = '\0';
		n = text_open(dir->volume, dir->fd, ids_of(state), state->count,
		              base, part->other, &which);
		part->kind = WHERE_LONG_NAME;
		break;
	case NAME_DIR_ID:
		part->kind = WHERE_DIR_ID;
		return 0;
	case NAME_LINK_FILE:
		part->kind = WHERE_LINK_FILE;
		return 0;
	case NAME_TEMP:
		part->kind = WHERE_TEMP;
		return 0;
	case NAME_CONFIG_FILE:
		part->kind = WHERE_CONFIG;
		return 0;
	default:
		part->kind = WHERE_FOREIGN;
		return 0;
	}
	if (n >= 0)
		return 0;
	if (n != -EBADMSG)
		return n;
	part->kind = WHERE_DAMAGED;
	strcpy(part->other, text);
	return 0;
}

/* ---- the path ---- */

typedef int translator(struct dir *dir, struct dir_state *state,
                       const char *given, struct part *part);

static int lengthen(char **path, const char *part)
{
	char *longer = walk_join(*path, part);

	if (!longer)
		return -ENOMEM;
	free(*path);
	*path = longer;
	return 0;
}

/* What a part stands for in the directory; *dir becomes the one below it, NULL
 * where there is none. */
static int step(const struct volume *volume, struct dir **dir,
                translator *translate, const char *given, struct part *part,
                struct where *w)
{
	struct dir_state *state;
	struct dir *below = NULL;
	int error;

	if (!*dir) {
		w->kind = WHERE_LOST;
		strcpy(part->other, given);
		return 0;
	}
	error = state_get(*dir, &state);
	if (error)
		return error;
	error = translate(*dir, state, given, part);
	state_put(state);
	if (error)
		return error;
	w->kind = part->kind;
	w->error = walk_enter(volume, *dir, part->text, &below);
	dir_unref(*dir);
	*dir = w->error ? NULL : below;
	return 0;
}

static int where_is(const struct volume *volume, const char *path,
                    translator *translate, bool from_plain, struct where *w)
{
	char *copy = strdup(path), *save = NULL, *given;
	struct dir *dir = NULL;
	int error = 0;

	memset(w, 0, sizeof(*w));
	w->plain = strdup("");
	w->cipher = strdup("");
	if (!copy || !w->plain || !w->cipher)
		error = -ENOMEM;
	else
		w->error = walk_root(volume, &dir);
	for (given = copy ? strtok_r(copy, "/", &save) : NULL; given && !error;
	     given = strtok_r(NULL, "/", &save)) {
		struct part part;

		if (!strcmp(given, "."))
			continue;
		if (!strcmp(given, ".."))
			error = -EINVAL;
		else if (strlen(given) > NAME_TEXT_MAX)
			error = -ENAMETOOLONG;
		else
			error = step(volume, &dir, translate, given, &part, w);
		if (error)
			break;
		/* An id file is of the directory that it lies in; the tool's
		 * other files have no name in the mount. */
		if (w->kind != WHERE_DIR_ID && w->kind != WHERE_LINK_FILE &&
		    w->kind != WHERE_TEMP && w->kind != WHERE_CONFIG)
			error = lengthen(&w->plain, from_plain ? given
			                                       : part.other);
		if (!error)
			error = lengthen(&w->cipher, from_plain ? part.other
			                                        : given);
	}
	dir_unref(dir);
	free(copy);
	return error;
}

int where_is_plain(const struct volume *volume, const char *plain,
                   struct where *where)
{
	return where_is(volume, plain, part_of_plain, true, where);
}

int where_is_cipher(const struct volume *volume, const char *cipher,
                    struct where *where)
{
	return where_is(volume, cipher, part_of_text, false, where);
}

void where_done(struct where *where)
{
	free(where->plain);
	free(where->cipher);
	memset(where, 0, sizeof(*where));
}
