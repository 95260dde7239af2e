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

#include "fs/format/name.h"
#include "fs/volume/dir_impl.h"

/* One raw directory entry. */
struct raw {
	char text[NAME_TEXT_MAX + 1];
	enum name_form form;
	bool used; /* a helper file that some entry needs */
};

struct listing {
	UT_array *raws;
	UT_array *ids; /* 16 bytes each */
	size_t names, opened;
};

static const UT_icd raw_icd = { sizeof(struct raw), NULL, NULL, NULL };
static const UT_icd id_icd = { ID_SIZE, NULL, NULL, NULL };

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
static int listing_read(struct listing *l, int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	int error = 0;

	if (!d) {
		error = -errno;
		if (copy >= 0)
			close(copy);
		return error;
	}
	utarray_new(l->raws, &raw_icd);
	utarray_new(l->ids, &id_icd);
	for (errno = 0; (e = readdir(d)); errno = 0) {
		struct raw raw = { .used = false };
		uint8_t id[ID_SIZE];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(raw.text, sizeof(raw.text), "%s", e->d_name);
		raw.form = name_form(raw.text);
		utarray_push_back(l->raws, &raw);
		if (raw.form == NAME_DIR_ID && !name_dir_id(raw.text, id))
			utarray_push_back(l->ids, id);
	}
	error = -errno;
	closedir(d);
	utarray_sort(l->raws, raw_compare);
	return error;
}

static void listing_free(struct listing *l)
{
	if (l->raws)
		utarray_free(l->raws);
	if (l->ids)
		utarray_free(l->ids);
}

/* The content of an id file: the parent's id, sealed; only a hint. */
static void check_id_file(struct check *check, int fd, const char *text,
                          const char *plain, const char *cipher)
{
	uint8_t id[ID_SIZE], tweak[TWEAK_SIZE];
	uint8_t buf[ID_SIZE + SEAL_TRAILER + 1];
	char *path = check_join(cipher, text);
	ssize_t n = helper_read(fd, text, buf, sizeof(buf));
	size_t size = 0;

	if (n == -EACCES) {
		check_say(check, CHECK_NO_PERMISSION, plain, path, NULL);
	} else if (n < 0 && n != -EBADMSG) {
		check_say(check, CHECK_READ_ERROR, plain, path, strerror((int)-n));
	} else {
		name_dir_id(text, id);
		tweak_make(tweak, id, 0, TWEAK_DIR);
		if (n != ID_SIZE + SEAL_TRAILER ||
		    seal_open(check_of_volume(check)->keys->name, tweak, buf,
		              &size, buf, ID_SIZE) || size != ID_SIZE)
			check_say(check, CHECK_DAMAGED_DIR_ID, plain, path, NULL);
	}
	free(path);
}

static void check_link(struct check *check, int dir, const char *text,
                       const struct stat *st, const char *plain,
                       const char *cipher, struct listing *l)
{
	/* What dir_readlink needs of a directory. */
	struct dir d = { .volume = check_of_volume(check), .fd = dir };
	char target[4096], name[LINK_FILE_TEXT];
	int n = dir_readlink(&d, text, target);

	check_of_progress(check)->links++;
	if (n == -EBADMSG)
		check_say(check, CHECK_CORRUPT_LINK, plain, cipher, NULL);
	else if (n < 0)
		check_say(check, CHECK_READ_ERROR, plain, cipher, strerror(-n));
	if (l && !link_file_name(dir, text, st, name)) {
		struct raw *raw = raw_find(l, name);

		if (raw)
			raw->used = true;
	}
}

static int check_one(struct check *check, int dir, const char *text,
                     const char *plain, const char *cipher, struct listing *l)
{
	struct check_progress *progress = check_of_progress(check);
	struct stat st;
	int fd, flags;

	if (fstatat(dir, text, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			check_say(check, CHECK_READ_ERROR, plain, cipher,
			          strerror(errno));
		return 0;
	}
	if (S_ISLNK(st.st_mode)) {
		check_link(check, dir, text, &st, plain, cipher, l);
		return 0;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		progress->others++;
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
		bool denied = fd == -EACCES || fd == -EPERM;

		check_say(check, denied ? CHECK_NO_PERMISSION : CHECK_READ_ERROR,
		          plain, cipher, denied ? NULL : strerror(-fd));
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

/* Whether the beginning of a foreign-looking text opens as a name; then
 * `shown` is that name + the rest. */
static bool is_conflict(struct check *check, int fd, struct listing *l,
                        const struct raw *raw, char *shown, size_t room)
{
	const uint16_t *lengths = name_text_lengths();
	const uint8_t (*ids)[ID_SIZE] = (const void *)utarray_front(l->ids);
	char head[NAME_TEXT_MAX + 1], plain[NAME_PLAIN_MAX + 1];
	size_t size = strlen(raw->text), which;

	if (raw->form == NAME_LONG_CONFLICT) {
		size_t n = strlen(NAME_LONG_PREFIX) + 43;

		memcpy(head, raw->text, n);
		head[n] = '\0';
		if (text_open(check_of_volume(check), fd, ids,
		              utarray_len(l->ids), head, plain, &which) < 0)
			return false;
		snprintf(shown, room, "%s%s", plain, raw->text + n);
		return true;
	}
	for (; *lengths && *lengths < size; lengths++) {
		memcpy(head, raw->text, *lengths);
		head[*lengths] = '\0';
		if (name_form(head) != NAME_ENCRYPTED ||
		    text_open(check_of_volume(check), fd, ids,
		              utarray_len(l->ids), head, plain, &which) < 0)
			continue;
		snprintf(shown, room, "%s%s", plain, raw->text + *lengths);
		return true;
	}
	return false;
}

/* The plaintext name of an entry, as well as it can be known. Returns whether
 * it is an entry of the volume. */
static bool check_name(struct check *check, int fd, struct listing *l,
                       struct raw *raw, const char *plain, const char *cipher,
                       char *name, size_t room)
{
	const uint8_t (*ids)[ID_SIZE] = (const void *)utarray_front(l->ids);
	char opened[NAME_PLAIN_MAX + 1], helper[NAME_TEXT_MAX + 16];
	char *plain_path, *cipher_path;
	const char *detail = NULL;
	size_t which;
	int n;

	/* A name that does not open is shown as its ciphertext. */
	snprintf(name, room, "%s", raw->text);
	if (raw->form == NAME_LONG || raw->form == NAME_LONG_CONFLICT) {
		struct raw *file;

		snprintf(helper, sizeof(helper), "%.*s%s",
		         (int)strlen(NAME_LONG_PREFIX) + 43, raw->text,
		         NAME_LONG_SUFFIX);
		file = raw_find(l, helper);
		if (file)
			file->used = true;
		else
			detail = "its long-name file is missing";
	}
	if (utarray_len(l->ids) == 0)
		return true; /* said once, for the directory */
	if (raw->form == NAME_FOREIGN || raw->form == NAME_LONG_CONFLICT) {
		if (!is_conflict(check, fd, l, raw, name, room))
			return false;
		plain_path = check_join(plain, name);
		cipher_path = check_join(cipher, raw->text);
		check_say(check, CHECK_CONFLICT_COPY, plain_path, cipher_path,
		          NULL);
		free(plain_path);
		free(cipher_path);
		return true;
	}
	l->names++;
	n = text_open(check_of_volume(check), fd, ids, utarray_len(l->ids),
	              raw->text, opened, &which);
	if (n >= 0) {
		l->opened++;
		snprintf(name, room, "%s", opened);
		return true;
	}
	/* A conflict copy's suffix may be of a name's characters. */
	if (is_conflict(check, fd, l, raw, name, room)) {
		l->opened++;
		return true;
	}
	if (n == -EACCES)
		detail = "its long-name file cannot be read: no permission";
	plain_path = check_join(plain, raw->text);
	cipher_path = check_join(cipher, raw->text);
	check_say(check, CHECK_CORRUPT_NAME, plain_path, cipher_path, detail);
	free(plain_path);
	free(cipher_path);
	return true;
}

/* What no entry accounts for. */
static void check_rest(struct check *check, struct listing *l,
                       const char *plain, const char *cipher)
{
	struct raw *raw = NULL;

	while ((raw = (struct raw *)utarray_next(l->raws, raw))) {
		enum check_class class = CHECK_FOREIGN;
		char *path;

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

static void check_ids(struct check *check, struct listing *l, const char *plain,
                      const char *cipher)
{
	if (utarray_len(l->ids) == 0)
		check_say(check, CHECK_MISSING_DIR_ID, plain, cipher,
		          "its names cannot be read");
	else if (l->names && !l->opened)
		check_say(check, CHECK_WRONG_DIR_ID, plain, cipher,
		          "none of its names opens");
	else if (utarray_len(l->ids) > 1)
		check_say(check, CHECK_MERGED_DIR, plain, cipher, NULL);
}

int check_tree(struct check *check, int fd, const char *plain,
               const char *cipher)
{
	struct listing l = { .raws = NULL };
	struct raw *raw = NULL;
	int error = listing_read(&l, fd);

	check_of_progress(check)->directories++;
	if (error) {
		check_say(check, error == -EACCES ? CHECK_NO_PERMISSION
		          : CHECK_READ_ERROR, plain, cipher,
		          error == -EACCES ? NULL : strerror(-error));
		error = 0;
		goto out;
	}
	while (!error && (raw = (struct raw *)utarray_next(l.raws, raw))) {
		char name[NAME_PLAIN_MAX + NAME_TEXT_MAX + 2];
		char *plain_path, *cipher_path;

		if (check_of_progress(check)->cancel) {
			error = -ECANCELED;
			break;
		}
		switch (raw->form) {
		case NAME_DIR_ID:
			raw->used = true;
			check_id_file(check, fd, raw->text, plain, cipher);
			continue;
		case NAME_CONFIG_FILE:
			raw->used = *cipher == '\0';
			continue;
		case NAME_ENCRYPTED:
		case NAME_LONG:
		case NAME_FOREIGN:
		case NAME_LONG_CONFLICT:
			break;
		default:
			continue; /* check_rest */
		}
		if (!check_name(check, fd, &l, raw, plain, cipher, name,
		                sizeof(name)))
			continue;
		raw->used = true;
		plain_path = check_join(plain, name);
		cipher_path = check_join(cipher, raw->text);
		if (plain_path && cipher_path)
			error = check_one(check, fd, raw->text, plain_path,
			                  cipher_path, &l);
		else
			error = -ENOMEM;
		free(plain_path);
		free(cipher_path);
	}
	if (!error) {
		check_ids(check, &l, plain, cipher);
		check_rest(check, &l, plain, cipher);
	}
out:
	listing_free(&l);
	close(fd);
	return error;
}
