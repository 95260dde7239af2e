/* The check of directories: ids, names, and what else lies in them. */
#include "fs/volume/check_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utarray.h>

#include "fs/format/base64url.h"
#include "fs/format/header.h"
#include "fs/format/name.h"
#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

/* One raw directory entry. */
struct raw {
	char text[NAME_TEXT_MAX + 1];
	enum name_form form;
	bool used;          /* an entry, or a helper file that one needs */
	bool corrupt;       /* its name does not open; said at the end */
	const char *detail; /* why, where that is known */
};

struct listing {
	UT_array *raws;
	struct dir dir;          /* as much of it as reading names needs */
	struct dir_state *state; /* the ids and odd entries; NULL: no id */
	size_t names, opened;    /* of the form of a name; that open */
};

static const UT_icd raw_icd = { sizeof(struct raw), NULL, NULL, NULL };

static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* What the store did not let us read. */
static void say_error(struct check *check, int error, const char *plain,
                      const char *cipher)
{
	bool denied = is_denied(error);

	check_say(check, denied ? CHECK_NO_PERMISSION : CHECK_READ_ERROR,
	          plain, cipher, denied ? NULL : strerror(-error));
}

/* The same for an entry of a directory. */
static void say_of(struct check *check, enum check_class class,
                   const char *plain, const char *name, const char *cipher,
                   const char *text, const char *detail)
{
	char *plain_path = check_join(plain, name);
	char *cipher_path = check_join(cipher, text);

	check_say(check, class, plain_path ? plain_path : plain,
	          cipher_path ? cipher_path : text, detail);
	free(plain_path);
	free(cipher_path);
}

static int raw_compare(const void *a, const void *b)
{
	return strcmp(((const struct raw *)a)->text,
	              ((const struct raw *)b)->text);
}

static struct raw *raw_find(struct listing *l, const char *text)
{
	struct raw key;

	if (strlen(text) > NAME_TEXT_MAX)
		return NULL;
	strcpy(key.text, text);
	return utarray_find(l->raws, &key, raw_compare);
}

/* Read all entries, sorted; so the order of findings is always the same. */
static int listing_read(struct listing *l, const struct volume *volume, int fd)
{
	int copy = open_quiet(fd, ".", O_RDONLY | O_DIRECTORY), error;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;

	if (!d) {
		error = copy < 0 ? copy : -errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	utarray_new(l->raws, &raw_icd);
	for (errno = 0; (e = readdir(d)); errno = 0) {
		struct raw raw = { .used = false };

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(raw.text, sizeof(raw.text), "%s", e->d_name);
		raw.form = name_form(raw.text);
		utarray_push_back(l->raws, &raw);
	}
	error = -errno;
	closedir(d);
	if (utarray_len(l->raws))
		utarray_sort(l->raws, raw_compare);
	l->dir.volume = volume;
	l->dir.fd = fd;
	if (!error)
		error = state_read(&l->dir, &l->state);
	return error == -EUCLEAN ? 0 : error;
}

static void listing_free(struct listing *l)
{
	if (l->raws)
		utarray_free(l->raws);
	state_put(l->state);
}

/* The content of an id file: the parent's id, sealed; only a hint. Returns 0,
 * -EBADMSG where it does not open, or the error of reading. */
static int id_file_opens(const struct volume *volume, int fd, const char *text)
{
	uint8_t id[ID_SIZE], tweak[TWEAK_SIZE];
	uint8_t buf[ID_SIZE + SEAL_TRAILER + 1];
	ssize_t n = helper_read(fd, text, buf, sizeof(buf));
	size_t size = 0;

	if (n < 0)
		return (int)n;
	name_dir_id(text, id);
	tweak_make(tweak, id, 0, TWEAK_DIR);
	if (n != ID_SIZE + SEAL_TRAILER ||
	    seal_open(volume->keys->name, tweak, buf, &size, buf, ID_SIZE) ||
	    size != ID_SIZE)
		return -EBADMSG;
	return 0;
}

static void check_id_file(struct check *check, int fd, const char *text,
                          const char *plain, const char *cipher)
{
	int error = id_file_opens(check_of_volume(check), fd, text);
	char *path = error ? check_join(cipher, text) : NULL;

	if (error == -EBADMSG)
		check_say(check, CHECK_DAMAGED_DIR_ID, plain, path, NULL);
	else if (error)
		say_error(check, error, plain, path);
	free(path);
}

/* Not inlined: its buffers would be on the stack for each directory of a path. */
__attribute__((noinline))
static void check_link(struct check *check, int dir, const char *text,
                       const struct stat *st, const char *plain,
                       const char *cipher, struct listing *l)
{
	/* What dir_readlink needs of a directory. */
	struct dir d = { .volume = check_of_volume(check), .fd = dir };
	char target[4096], name[LINK_FILE_TEXT];
	bool has_file = !link_file_name(dir, text, st, name);
	int n = dir_readlink(&d, text, target);

	check_of_progress(check)->links++;
	if (n == -EBADMSG)
		check_say(check, CHECK_CORRUPT_LINK, plain, cipher,
		          !has_file ? NULL
		          : faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW)
		          ? "the file that holds its target is missing"
		          : "the file that holds its target does not open");
	else if (n < 0)
		say_error(check, n, plain, cipher);
	if (l && has_file) {
		struct raw *raw = raw_find(l, name);

		if (raw)
			raw->used = true;
	}
}

static void check_other_xattrs(struct check *check, int dir, const char *text,
                               const char *plain, const char *cipher)
{
	int fd = openat(dir, text, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	check_xattrs(check, fd, plain, cipher);
	close(fd);
}

static int check_one(struct check *check, int dir, const char *text,
                     const char *plain, const char *cipher, struct listing *l)
{
	struct check_progress *progress = check_of_progress(check);
	struct stat st;
	int fd, flags;

	if (fstatat(dir, text, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			say_error(check, -errno, plain, cipher);
		return 0;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		if (S_ISLNK(st.st_mode))
			check_link(check, dir, text, &st, plain, cipher, l);
		else
			progress->others++;
		check_other_xattrs(check, dir, text, plain, cipher);
		return 0;
	}
	flags = O_RDONLY | (S_ISDIR(st.st_mode) ? O_DIRECTORY : O_NONBLOCK);
	if (S_ISREG(st.st_mode)) {
		progress->files++;
		if (check_seen(check, &st))
			return 0;
	}
	fd = open_quiet(dir, text, flags);
	if (fd < 0) {
		say_error(check, fd, plain, cipher);
		return 0;
	}
	check_xattrs(check, fd, plain, cipher);
	if (S_ISDIR(st.st_mode))
		return check_tree(check, fd, plain, cipher);
	check_queue_file(check, fd, strdup(plain), strdup(cipher));
	return 0;
}

int check_entry(struct check *check, int dir, const char *text,
                const char *plain, const char *cipher)
{
	return check_one(check, dir, text, plain, cipher, NULL);
}

/* ---- names ---- */

static int open_text(struct listing *l, const char *text,
                     char plain[NAME_PLAIN_MAX + 1])
{
	size_t which;

	return text_open(l->dir.volume, l->dir.fd,
	                 (const uint8_t (*)[ID_SIZE])l->state->ids,
	                 l->state->count, text, plain, &which);
}

/* Whether a text of a name's form that does not open is another name with
 * something behind it: a sync tool's mark that happens to have a name's
 * characters and length. The mount cannot tell it from a damaged one. */
static bool begins_with_name(struct listing *l, const char *text)
{
	char head[NAME_TEXT_MAX + 1], plain[NAME_PLAIN_MAX + 1];

	for (const uint16_t *n = name_text_lengths(); *n < strlen(text); n++) {
		memcpy(head, text, *n);
		head[*n] = '\0';
		if (name_form(head) == NAME_ENCRYPTED &&
		    open_text(l, head, plain) >= 0)
			return true;
	}
	return false;
}

/* Mark the .name file of a long name, or of a conflict copy of one, as used.
 * Returns whether it is there. */
static bool use_long_file(struct listing *l, const char *text)
{
	char base[NAME_LONG_TEXT], suffix[NAME_TEXT_MAX + 1];
	char helper[NAME_LONG_TEXT + sizeof(NAME_LONG_SUFFIX)];
	struct raw *file;

	if (name_long_split(text, base, suffix))
		return false;
	snprintf(helper, sizeof(helper), "%s%s", base, NAME_LONG_SUFFIX);
	file = raw_find(l, helper);
	if (file)
		file->used = true;
	return file != NULL;
}

/* Without an id: whether this may be an entry, by its form. */
static bool may_be_entry(const struct raw *raw)
{
	size_t n = 0;

	while (base64url_is_char(raw->text[n]))
		n++;
	return raw->form == NAME_FOREIGN ? n >= name_text_lengths()[0]
	                                 : raw->form != NAME_OWN_UNKNOWN;
}

/* Whether a directory holds an id file that opens. */
static bool has_own_id(struct listing *l, int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	bool own = false;

	if (!d)
		close(fd);
	while (d && !own && (e = readdir(d)))
		own = name_form(e->d_name) == NAME_DIR_ID &&
		      id_file_opens(l->dir.volume, fd, e->d_name) == 0;
	if (d)
		closedir(d);
	return own;
}

/*
 * Whether a foreign name may be an encrypted one that was changed: it has the
 * length of one, and what it names is of this volume. (A sync tool's temporary
 * files are of this volume as well, but longer.) Not inlined, as check_link.
 */
__attribute__((noinline))
static bool was_name(struct listing *l, const char *text)
{
	const uint16_t *n = name_text_lengths();
	uint8_t raw[HEADER_SIZE];
	char target[4096];
	struct header header;
	struct stat st;
	int fd;

	while (*n && *n != strlen(text))
		n++;
	if ((!*n && strlen(text) != NAME_LONG_TEXT - 1) ||
	    fstatat(l->dir.fd, text, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	if (S_ISLNK(st.st_mode))
		return dir_readlink(&l->dir, text, target) >= 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return false;
	fd = open_quiet(l->dir.fd, text, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return has_own_id(l, fd);
	if (io_read_full(fd, raw, HEADER_SIZE, 0) != HEADER_SIZE ||
	    header_open(l->dir.volume->keys->content, &header, raw)) {
		close(fd);
		return false;
	}
	close(fd);
	return true;
}

/* A name that does not open. */
static void bad_name(struct check *check, struct listing *l, struct raw *raw,
                     bool has_file, int error, const char *plain,
                     const char *cipher)
{
	if (error != -EBADMSG) { /* its long-name file cannot be read */
		say_of(check, is_denied(error) ? CHECK_NO_PERMISSION
		       : CHECK_READ_ERROR, plain, raw->text, cipher, raw->text,
		       "its long-name file cannot be read");
		return;
	}
	raw->corrupt = true;
	if (raw->form == NAME_LONG)
		raw->detail = has_file ? "its long-name file does not open"
		                       : "its long-name file is missing";
	else if (begins_with_name(l, raw->text))
		raw->detail = "perhaps a sync tool's copy of another entry; it "
		              "is not shown in the mount";
}

/* The plaintext name of an entry as the mount shows it, or its ciphertext
 * where it does not open. Returns whether it is an entry of the volume. */
static bool check_name(struct check *check, struct listing *l, struct raw *raw,
                       const char *plain, const char *cipher,
                       char name[NAME_TEXT_MAX + 1])
{
	struct odd *odd = NULL;
	bool has_file = false;
	int n;

	strcpy(name, raw->text);
	if (!l->state) {
		use_long_file(l, raw->text);
		return may_be_entry(raw);
	}
	if (l->state->by_text)
		HASH_FIND(by_text, l->state->by_text, raw->text,
		          strlen(raw->text), odd);
	if (!odd && raw->form != NAME_ENCRYPTED && raw->form != NAME_LONG) {
		if (!was_name(l, raw->text))
			return false;
		l->names++;
		raw->corrupt = true;
		raw->detail = "it has no encrypted name's form any more";
		return true;
	}
	if (raw->form == NAME_LONG || raw->form == NAME_LONG_CONFLICT)
		has_file = use_long_file(l, raw->text);
	if (raw->form == NAME_ENCRYPTED || raw->form == NAME_LONG)
		l->names++;
	if (odd) {
		bool twice = raw->form == NAME_ENCRYPTED ||
		             raw->form == NAME_LONG;

		l->opened += twice;
		strcpy(name, odd->shown);
		say_of(check, CHECK_CONFLICT_COPY, plain, name, cipher,
		       raw->text, twice ? "the same name stands under another "
		       "of the directory's ids" : NULL);
		return true;
	}
	n = open_text(l, raw->text, name);
	if (n >= 0) {
		l->opened++;
		return true;
	}
	strcpy(name, raw->text);
	bad_name(check, l, raw, has_file, n, plain, cipher);
	return true;
}

/* The names that do not open: each, or, where no name of a directory does,
 * that the directory has not its own id. */
static void check_ids(struct check *check, struct listing *l, const char *plain,
                      const char *cipher)
{
	struct raw *raw = NULL;
	size_t corrupt = 0;
	char detail[80];

	while ((raw = (struct raw *)utarray_next(l->raws, raw)))
		corrupt += raw->corrupt;
	if (!l->state) {
		check_say(check, CHECK_MISSING_DIR_ID, plain, cipher,
		          "its names cannot be read");
	} else if (corrupt > 1 && corrupt == l->names) {
		snprintf(detail, sizeof(detail), "none of its %zu names opens",
		         corrupt);
		check_say(check, CHECK_WRONG_DIR_ID, plain, cipher, detail);
	} else {
		while ((raw = (struct raw *)utarray_next(l->raws, raw)))
			if (raw->corrupt && !check_of_progress(check)->cancel)
				say_of(check, CHECK_CORRUPT_NAME, plain,
				       raw->text, cipher, raw->text,
				       raw->detail);
	}
	if (l->state && l->state->count > 1)
		check_say(check, CHECK_MERGED_DIR, plain, cipher, NULL);
}

/* What no entry accounts for. */
static void check_rest(struct check *check, struct listing *l,
                       const char *plain, const char *cipher)
{
	struct raw *raw = NULL;

	while ((raw = (struct raw *)utarray_next(l->raws, raw))) {
		enum check_class class = CHECK_FOREIGN;
		char *path;

		if (check_of_progress(check)->cancel)
			return;
		if (raw->used)
			continue;
		switch (raw->form) {
		case NAME_LONG_FILE:
			class = CHECK_ORPHAN_LONG_NAME;
			break;
		case NAME_LINK_FILE:
			class = CHECK_ORPHAN_LINK_FILE;
			break;
		case NAME_TEMP:
			class = CHECK_LEFTOVER;
			break;
		default:
			break;
		}
		path = check_join(cipher, raw->text);
		check_say(check, class, plain, path, NULL);
		free(path);
	}
}

static int check_raw(struct check *check, struct listing *l, struct raw *raw,
                     const char *plain, const char *cipher)
{
	char name[NAME_TEXT_MAX + 1], *plain_path, *cipher_path;
	int error = -ENOMEM;

	switch (raw->form) {
	case NAME_DIR_ID:
		raw->used = true;
		check_id_file(check, l->dir.fd, raw->text, plain, cipher);
		return 0;
	case NAME_CONFIG_FILE:
	case NAME_SEAL_FILE:
		raw->used = *cipher == '\0';
		return 0;
	case NAME_ENCRYPTED:
	case NAME_LONG:
	case NAME_FOREIGN:
	case NAME_LONG_CONFLICT:
	case NAME_OWN_UNKNOWN:
		break;
	default:
		return 0; /* check_rest */
	}
	if (!check_name(check, l, raw, plain, cipher, name))
		return 0;
	raw->used = true;
	plain_path = check_join(plain, name);
	cipher_path = check_join(cipher, raw->text);
	if (plain_path && cipher_path)
		error = check_one(check, l->dir.fd, raw->text, plain_path,
		                  cipher_path, l);
	free(plain_path);
	free(cipher_path);
	return error;
}

int check_tree(struct check *check, int fd, const char *plain,
               const char *cipher)
{
	struct listing l = { .raws = NULL };
	struct raw *raw = NULL;
	int error;

	if (*check_depth(check) == CHECK_DEPTH_MAX) {
		close(fd);
		check_say(check, CHECK_READ_ERROR, plain, cipher,
		          "it lies too deep, so it was not checked");
		return 0;
	}
	++*check_depth(check);
	error = listing_read(&l, check_of_volume(check), fd);
	check_of_progress(check)->directories++;
	if (error && error != -ENOMEM) {
		say_error(check, error, plain, cipher);
		error = 0;
		goto out;
	}
	while (!error && (raw = (struct raw *)utarray_next(l.raws, raw))) {
		if (check_of_progress(check)->cancel)
			error = -ECANCELED;
		else
			error = check_raw(check, &l, raw, plain, cipher);
	}
	if (!error) {
		check_ids(check, &l, plain, cipher);
		check_rest(check, &l, plain, cipher);
	}
out:
	--*check_depth(check);
	listing_free(&l);
	close(fd);
	return error;
}
