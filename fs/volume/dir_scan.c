/*
 * Reading a directory's ids and its odd entries.
 *
 * In the usual case (one id, no conflict copy) one pass over the names is
 * enough and nothing is decrypted. Otherwise a second pass opens every name:
 * to see which id most of them use, and which stand under two ids.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utarray.h>

#include "fs/format/base64url.h"
#include "fs/volume/dir_impl.h"

enum { TEXT_MIN = 43 }; /* the shortest encrypted name */

static const UT_icd id_icd = { ID_SIZE, NULL, NULL, NULL };

/* An entry that may turn out to be odd. */
struct candidate {
	char text[NAME_TEXT_MAX + 1];
	char plain[NAME_PLAIN_MAX + 1];
	char suffix[NAME_TEXT_MAX + 1];
};

static const UT_icd candidate_icd = {
	sizeof(struct candidate), NULL, NULL, NULL
};

static int long_open(const struct volume *volume, int fd,
                     const uint8_t (*ids)[ID_SIZE], size_t count,
                     const char *base, char plain[NAME_PLAIN_MAX + 1],
                     size_t *which)
{
	char file[NAME_LONG_TEXT + 5];
	uint8_t sealed[NAME_SEALED_MAX];
	ssize_t n;
	int result = -EBADMSG;

	snprintf(file, sizeof(file), "%s" NAME_LONG_SUFFIX, base);
	n = helper_read(fd, file, sealed, sizeof(sealed));
	if (n < 0)
		return n == -ENOENT ? -EBADMSG : (int)n;
	if (!name_long_matches(base, sealed, (size_t)n))
		return -EBADMSG;
	for (size_t i = 0; i < count && result == -EBADMSG; i++) {
		result = name_decrypt(volume->keys, ids[i], sealed, (size_t)n,
		                      plain);
		*which = i;
	}
	return result;
}

static int short_open(const struct volume *volume,
                      const uint8_t (*ids)[ID_SIZE], size_t count,
                      const char *text, size_t length,
                      char plain[NAME_PLAIN_MAX + 1], size_t *which)
{
	int result = -EBADMSG;

	for (size_t i = 0; i < count && result == -EBADMSG; i++) {
		result = name_decrypt_text(volume->keys, ids[i], text, length,
		                           plain);
		*which = i;
	}
	return result;
}

int text_open(const struct volume *volume, int fd,
              const uint8_t (*ids)[ID_SIZE], size_t count, const char *text,
              char plain[NAME_PLAIN_MAX + 1], size_t *which)
{
	switch (name_form(text)) {
	case NAME_ENCRYPTED:
		return short_open(volume, ids, count, text, strlen(text),
		                  plain, which);
	case NAME_LONG:
		return long_open(volume, fd, ids, count, text, plain, which);
	default:
		return -EBADMSG;
	}
}

/* Open the encrypted name at a conflict copy's beginning. */
static int conflict_open(const struct volume *volume, int fd,
                         const uint8_t (*ids)[ID_SIZE], size_t count,
                         struct candidate *c)
{
	char base[NAME_LONG_TEXT];
	size_t which;

	if (!name_long_split(c->text, base, c->suffix))
		return long_open(volume, fd, ids, count, base, c->plain,
		                 &which);
	for (const uint16_t *l = name_text_lengths(); *l; l++) {
		if (*l >= strlen(c->text))
			break;
		if (short_open(volume, ids, count, c->text, *l, c->plain,
		               &which) >= 0) {
			strcpy(c->suffix, c->text + *l);
			return 0;
		}
	}
	return -EBADMSG;
}

static bool may_be_conflict(const char *text)
{
	size_t n = 0;

	while (n < TEXT_MIN && base64url_is_char(text[n]))
		n++;
	return n == TEXT_MIN;
}

bool text_is_shown(const struct volume *volume, int fd,
                   const uint8_t (*ids)[ID_SIZE], size_t count,
                   const char *text)
{
	struct candidate c;
	size_t which;

	switch (name_form(text)) {
	case NAME_ENCRYPTED:
	case NAME_LONG:
		return text_open(volume, fd, ids, count, text, c.plain,
		                 &which) >= 0;
	case NAME_FOREIGN:
		if (!may_be_conflict(text))
			return false;
		/* fall through */
	case NAME_LONG_CONFLICT:
		strcpy(c.text, text);
		return conflict_open(volume, fd, ids, count, &c) >= 0;
	default:
		return false;
	}
}

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, ID_SIZE);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(((const struct candidate *)a)->text,
	              ((const struct candidate *)b)->text);
}

static void add_candidate(UT_array *candidates, const char *text)
{
	struct candidate c = { .plain = "" };

	strcpy(c.text, text);
	utarray_push_back(candidates, &c);
}

static int first_pass(DIR *stream, UT_array *ids, UT_array *candidates)
{
	struct dirent *d;
	uint8_t id[ID_SIZE];

	for (errno = 0; (d = readdir(stream)); errno = 0) {
		if (strlen(d->d_name) > NAME_TEXT_MAX)
			continue;
		switch (name_form(d->d_name)) {
		case NAME_DIR_ID:
			name_dir_id(d->d_name, id);
			utarray_push_back(ids, id);
			break;
		case NAME_FOREIGN:
			if (!may_be_conflict(d->d_name))
				break;
			/* fall through */
		case NAME_LONG_CONFLICT:
			add_candidate(candidates, d->d_name);
			break;
		default:
			break;
		}
	}
	return -errno;
}

/* Whether this plaintext name stands here under one of the first ids. */
static bool stands_under(const struct dir *dir, const uint8_t (*ids)[ID_SIZE],
                         size_t count, const char *plain)
{
	struct name_text name;
	struct stat st;

	for (size_t i = 0; i < count; i++)
		if (!name_encrypt(dir->volume->keys, ids[i], plain,
		                  strlen(plain), dir->volume->name_limit,
		                  &name) &&
		    !fstatat(dir->fd, name.text, &st, AT_SYMLINK_NOFOLLOW))
			return true;
	return false;
}

/* With several ids: choose the main one and find the names that stand under
 * two. */
static int second_pass(const struct dir *dir, DIR *stream,
                       struct dir_state *state, UT_array *candidates)
{
	size_t *uses = calloc(state->count, sizeof(*uses)), which;
	const uint8_t (*ids)[ID_SIZE] = (const uint8_t (*)[ID_SIZE])state->ids;
	struct dirent *d;
	struct candidate c;

	if (!uses)
		return -ENOMEM;
	rewinddir(stream);
	for (errno = 0; (d = readdir(stream)); errno = 0) {
		char id[BASE64URL_LENGTH(ID_SIZE) + 1];

		if (strlen(d->d_name) > NAME_TEXT_MAX ||
		    text_open(dir->volume, dir->fd, ids, state->count,
		              d->d_name, c.plain, &which) < 0)
			continue;
		uses[which]++;
		if (!stands_under(dir, ids, which, c.plain))
			continue;
		strcpy(c.text, d->d_name);
		base64url_encode(id, ids[which], ID_SIZE);
		snprintf(c.suffix, sizeof(c.suffix), " (conflict %.8s)", id);
		utarray_push_back(candidates, &c);
	}
	for (size_t i = 0; i < state->count; i++)
		if (uses[i] > uses[state->main])
			state->main = i;
	free(uses);
	return -errno;
}

/* plain + suffix, with the plaintext cut (at a character of UTF-8, where it
 * is that) where both are too long together. */
static void join(char shown[NAME_PLAIN_MAX + 1], const char *plain,
                 const char *suffix)
{
	size_t n = strlen(plain), m = strlen(suffix);

	if (n + m > NAME_PLAIN_MAX) {
		n = NAME_PLAIN_MAX - m;
		for (size_t k = n; k > 0 && k + 4 > n; k--)
			if (((unsigned char)plain[k] & 0xc0) != 0x80) {
				n = k;
				break;
			}
	}
	memcpy(shown, plain, n);
	memcpy(shown + n, suffix, m + 1);
}

static int add_odd(const struct dir *dir, struct dir_state *state,
                   const struct candidate *c)
{
	char suffix[NAME_TEXT_MAX + 16];
	struct odd *o = calloc(1, sizeof(*o)), *same;

	if (!o)
		return -ENOMEM;
	strcpy(o->text, c->text);
	o->is_long = name_form(c->text) == NAME_LONG ||
	             name_form(c->text) == NAME_LONG_CONFLICT;
	strcpy(suffix, c->suffix);
	for (unsigned n = 2;; n++) {
		join(o->shown, c->plain, suffix);
		HASH_FIND(by_shown, state->by_shown, o->shown,
		          strlen(o->shown), same);
		if (!same && !stands_under(dir,
		                           (const uint8_t (*)[ID_SIZE])state->ids,
		                           state->count, o->shown))
			break;
		snprintf(suffix, sizeof(suffix), "%s (%u)", c->suffix, n);
	}
	HASH_ADD(by_text, state->by_text, text, strlen(o->text), o);
	HASH_ADD(by_shown, state->by_shown, shown, strlen(o->shown), o);
	return 0;
}

static int add_odds(const struct dir *dir, struct dir_state *state,
                    UT_array *candidates)
{
	struct candidate *c = NULL;
	int error = 0;

	/* The numbers given to equal names must not depend on the order in
	 * which the store lists them. */
	if (utarray_len(candidates))
		utarray_sort(candidates, compare_texts);
	while (!error && (c = utarray_next(candidates, c)))
		if (*c->suffix ||
		    conflict_open(dir->volume, dir->fd,
		                  (const uint8_t (*)[ID_SIZE])state->ids,
		                  state->count, c) >= 0)
			error = add_odd(dir, state, c);
	return error;
}

int state_read(const struct dir *dir, struct dir_state **out)
{
	int fd = open_quiet(dir->fd, ".", O_RDONLY | O_DIRECTORY), error;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dir_state *state = NULL;
	UT_array ids, candidates;

	if (!stream) {
		error = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return error;
	}
	utarray_init(&ids, &id_icd);
	utarray_init(&candidates, &candidate_icd);
	error = first_pass(stream, &ids, &candidates);
	if (!error && utarray_len(&ids) == 0)
		error = -EUCLEAN;
	if (!error) {
		size_t size = utarray_len(&ids) * ID_SIZE;

		state = calloc(1, sizeof(*state) + size);
		error = state ? 0 : -ENOMEM;
	}
	if (!error) {
		atomic_init(&state->refs, 1);
		state->count = utarray_len(&ids);
		utarray_sort(&ids, compare_ids);
		memcpy(state->ids, ids.d, state->count * ID_SIZE);
		if (state->count > 1)
			error = second_pass(dir, stream, state, &candidates);
	}
	if (!error)
		error = add_odds(dir, state, &candidates);
	utarray_done(&ids);
	utarray_done(&candidates);
	closedir(stream);
	if (error) {
		state_put(state);
		return error;
	}
	*out = state;
	return 0;
}
