/* Symbolic links, hard links, and what the sizes of entries are. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/format/base64url.h"
#include "fs/format/link.h"
#include "fs/format/sector.h"
#include "fs/volume/dir_impl.h"
#include "fs/volume/file.h"
#include "fs/volume/io.h"

enum { LINK_SEALED_MAX = LINK_TARGET_MAX + SEALED_OVERHEAD };

/* No sealed target has the length of a link file's name. */
_Static_assert(LINK_FILE_TEXT - 1 <
               BASE64URL_LENGTH(SEALED_OVERHEAD + 1), "unambiguous links");

static void link_file_text(char name[LINK_FILE_TEXT], const uint8_t *nonce)
{
	memcpy(name, NAME_LINK_PREFIX, sizeof(NAME_LINK_PREFIX));
	base64url_encode(name + sizeof(NAME_LINK_PREFIX) - 1, nonce, ID_SIZE);
}

int link_file_name(int dir, const char *text, const struct stat *st,
                   char name[LINK_FILE_TEXT])
{
	ssize_t n;

	if (!S_ISLNK(st->st_mode) || st->st_size != LINK_FILE_TEXT - 1)
		return -ENOENT;
	n = readlinkat(dir, text, name, LINK_FILE_TEXT);
	if (n < 0)
		return -errno;
	if (n != LINK_FILE_TEXT - 1)
		return -ENOENT;
	name[n] = '\0';
	return name_form(name) == NAME_LINK_FILE ? 0 : -ENOENT;
}

int link_file_copy(int from, int to, const char *name, bool *made)
{
	uint8_t buf[LINK_SEALED_MAX];
	ssize_t n;
	int error;

	*made = false;
	if (!io->linkat(from, name, to, name, 0)) {
		*made = true;
		return 0;
	}
	switch (errno) {
	case EEXIST: /* the same: its name is a nonce */
	case ENOENT: /* lost before: the link is no worse elsewhere */
		return 0;
	case EPERM: /* a store without hard links, or a protected file */
	case EACCES:
	case EMLINK:
	case EXDEV:
	case ENOSYS:
	case EOPNOTSUPP:
		break;
	default:
		return -errno;
	}
	n = helper_read(from, name, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	error = helper_replace(to, name, buf, (size_t)n);
	*made = !error;
	return error;
}

void link_file_remove(int dir, const char *name)
{
	io->unlinkat(dir, name, 0);
}

/* Whether a link of the directory has its target in this file; also where
 * that cannot be found out. */
static bool link_file_needed(int dir, const char *name)
{
	int fd = open_quiet(dir, ".", O_RDONLY | O_DIRECTORY);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	char file[LINK_FILE_TEXT];
	bool needed = false;
	struct dirent *d;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return true;
	}
	for (errno = 0; !needed && (d = readdir(stream)); errno = 0) {
		const struct stat maybe = { .st_mode = S_IFLNK,
		                            .st_size = LINK_FILE_TEXT - 1 };

		if (d->d_type == DT_LNK || d->d_type == DT_UNKNOWN)
			needed = !link_file_name(dir, d->d_name, &maybe, file)
			         && !strcmp(file, name);
	}
	needed = needed || errno;
	closedir(stream);
	return needed;
}

void link_file_release(int dir, const char *name)
{
	if (!link_file_needed(dir, name))
		link_file_remove(dir, name);
}

int dir_symlink(struct dir *dir, const char *plain, const char *target,
                const struct dir_caller *caller, struct dir_entry *entry)
{
	size_t size = strlen(target);
	uint8_t sealed[LINK_SEALED_MAX];
	char text[LINK_TEXT_MAX + 1], file[LINK_FILE_TEXT];
	bool made_file = false;
	struct new_entry new;
	struct stat st;
	int error;

	if (size == 0)
		return -ENOENT;
	if (size > LINK_TARGET_MAX)
		return -ENAMETOOLONG;
	error = value_seal(dir->volume->keys, TWEAK_LINK, 0, target, size,
	                   sealed);
	if (!error)
		error = entry_begin(dir, plain, &new);
	if (error)
		return error;
	if (size <= LINK_INLINE_MAX) {
		base64url_encode(text, sealed, size + SEALED_OVERHEAD);
		if (io->symlinkat(text, dir->fd, new.name.text))
			error = -errno;
	}
	/* Some stores take no link of this length (XFS: 1023 bytes). */
	if (size > LINK_INLINE_MAX || error == -ENAMETOOLONG) {
		link_file_text(file, sealed);
		error = helper_make(dir->fd, file, sealed,
		                    size + SEALED_OVERHEAD);
		made_file = !error;
		if (!error && io->symlinkat(file, dir->fd, new.name.text))
			error = -errno;
	}
	if (!error && caller && geteuid() == 0) {
		if (fstatat(dir->fd, new.name.text, &st, AT_SYMLINK_NOFOLLOW))
			error = -errno;
		else
			error = give_to(dir, dir->fd, new.name.text, caller,
			                &st);
		if (error)
			io->unlinkat(dir->fd, new.name.text, 0);
	}
	if (error && made_file)
		link_file_remove(dir->fd, file);
	return entry_end(dir, &new, error, entry);
}

/* Read a link file: its nonce must be that of its name. */
static ssize_t link_file_read(struct dir *dir, const char *name,
                              uint8_t buf[LINK_SEALED_MAX])
{
	char right[LINK_FILE_TEXT];
	ssize_t n = helper_read(dir->fd, name, buf, LINK_SEALED_MAX);

	if (n == -ENOENT)
		return -EBADMSG;
	if (n < 0)
		return n;
	if (n < SEALED_OVERHEAD)
		return -EBADMSG;
	link_file_text(right, buf);
	return strcmp(right, name) ? -EBADMSG : n;
}

int dir_readlink(struct dir *dir, const char *text, char target[4096])
{
	uint8_t sealed[LINK_SEALED_MAX], opened[LINK_SEALED_MAX];
	char link[LINK_TEXT_MAX + 1];
	ssize_t n = readlinkat(dir->fd, text, link, sizeof(link));
	int size;

	if (n < 0)
		return -errno;
	if (n > LINK_TEXT_MAX)
		return -EBADMSG;
	link[n] = '\0';
	if (name_form(link) == NAME_LINK_FILE)
		n = link_file_read(dir, link, sealed);
	else
		n = base64url_decode(sealed, sizeof(sealed), link, (size_t)n);
	if (n == -EINVAL)
		return -EBADMSG;
	if (n < 0)
		return (int)n;
	size = value_open(dir->volume->keys, TWEAK_LINK, 0, sealed, (size_t)n,
	                  opened);
	if (size == 0 || (size > 0 && memchr(opened, '\0', (size_t)size)))
		size = -EBADMSG;
	if (size > 0) {
		memcpy(target, opened, (size_t)size);
		target[size] = '\0';
	}
	OPENSSL_cleanse(opened, sizeof(opened));
	return size;
}

int dir_plain_stat(struct dir *dir, const char *text, struct stat *st)
{
	char name[LINK_FILE_TEXT];
	struct stat file;

	if (S_ISREG(st->st_mode)) {
		int64_t size = file_size_from_stat(st);
		uint64_t plain;

		if (size >= 0)
			st->st_size = size;
		else if (!file_plain_size(dir->volume, dir->fd, text, st,
		                          &plain))
			st->st_size = (off_t)plain;
		else /* unreadable: what its length could hold */
			st->st_size = (off_t)size_decode(
				(uint64_t)st->st_size).size;
	} else if (S_ISLNK(st->st_mode)) {
		int size = link_plain_size((size_t)st->st_size);

		if (size < 0 && !link_file_name(dir->fd, text, st, name) &&
		    !fstatat(dir->fd, name, &file, AT_SYMLINK_NOFOLLOW) &&
		    file.st_size > SEALED_OVERHEAD &&
		    file.st_size <= LINK_SEALED_MAX)
			size = (int)file.st_size - SEALED_OVERHEAD;
		st->st_size = size < 0 ? 0 : size;
	}
	return 0;
}

int dir_link(struct dir *from, const char *from_text, struct dir *to,
             const char *plain, struct dir_entry *entry)
{
	char file[LINK_FILE_TEXT];
	bool made_file = false;
	struct new_entry new;
	struct stat st, old;
	int error;

	if (fstatat(from->fd, from_text, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		error = dir_find(to, plain, NULL, &old);
		return error == -ENOENT ? -EPERM : error ? error : -EEXIST;
	}
	error = entry_begin(to, plain, &new);
	if (error)
		return error;
	if (!dir_same(from, to) &&
	    !link_file_name(from->fd, from_text, &st, file))
		error = link_file_copy(from->fd, to->fd, file, &made_file);
	if (!error && io->linkat(from->fd, from_text, to->fd, new.name.text, 0))
		error = -errno;
	if (error && made_file)
		link_file_remove(to->fd, file);
	return entry_end(to, &new, error, entry);
}

int dir_link_fd(int fd, struct dir *to, const char *plain,
                struct dir_entry *entry)
{
	struct new_entry new;
	char path[32];
	int error = entry_begin(to, plain, &new);

	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (io->linkat(AT_FDCWD, path, to->fd, new.name.text,
	               AT_SYMLINK_FOLLOW))
		error = -errno;
	return entry_end(to, &new, error, entry);
}
