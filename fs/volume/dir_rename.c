/*
 * Renaming. The entry itself moves in one system call, so that a process that
 * is killed leaves it under the old name or the new one; helper files are made
 * before it and removed after it, and are at most left over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/volume/dir_impl.h"
#include "fs/volume/io.h"

/* One side of a rename. */
struct side {
	struct dir *dir;
	struct dir_state *state;
	struct dir_entry entry;
	struct stat st;
	bool exists;
	bool has_file;             /* a link whose target stands in a file */
	char file[LINK_FILE_TEXT];
};

static int side_find(struct side *side, struct dir *dir, const char *plain)
{
	int error;

	side->dir = dir;
	error = state_get(dir, &side->state);
	if (error)
		return error;
	error = state_find(dir, side->state, plain, &side->entry, &side->st);
	side->exists = !error;
	if (!error)
		side->has_file = !link_file_name(dir->fd, side->entry.text,
		                                 &side->st, side->file);
	return error == -ENOENT ? 0 : error;
}

static int renameat2_error(const struct side *from, const struct side *to,
                           unsigned flags)
{
	return io->renameat2(from->dir->fd, from->entry.text, to->dir->fd,
	                     to->entry.text, flags) ? -errno : 0;
}

/* A long link that moves between directories takes its file along. */
static int bring_file(const struct side *from, const struct side *to,
                      bool *made)
{
	*made = false;
	if (!from->has_file || dir_same(from->dir, to->dir))
		return 0;
	return link_file_copy(from->dir->fd, to->dir->fd, from->file, made);
}

static void drop_file(const struct side *from, const struct side *to)
{
	if (from->has_file && !dir_same(from->dir, to->dir))
		link_file_release(from->dir->fd, from->file);
}

/* Both names stay; the entries behind them change places. */
static int exchange(struct side *from, struct side *to)
{
	bool made_to, made_from = false;
	int error = bring_file(from, to, &made_to);

	if (!error)
		error = bring_file(to, from, &made_from);
	if (!error)
		error = renameat2_error(from, to, RENAME_EXCHANGE);
	if (error) {
		if (made_to)
			link_file_remove(to->dir->fd, from->file);
		if (made_from)
			link_file_remove(from->dir->fd, to->file);
		return error;
	}
	if (from->has_file && to->has_file && !strcmp(from->file, to->file))
		return 0;
	drop_file(from, to);
	drop_file(to, from);
	return 0;
}

/* Where the store cannot exchange: the empty directory goes away first. */
static int replace_dir_slowly(struct side *from, struct side *to)
{
	char temp[TEMP_TEXT];
	int error = temp_name(temp);

	if (!error)
		error = rename_new(to->dir->fd, to->entry.text, to->dir->fd,
		                   temp);
	if (error)
		return error;
	error = renameat2_error(from, to, 0);
	if (error)
		rename_new(to->dir->fd, temp, to->dir->fd, to->entry.text);
	else
		remove_temp(to->dir->fd, temp);
	return error;
}

/*
 * A directory over an empty one. The old one holds its id file, so the store
 * would refuse: the two change places, and the empty one is then removed
 * under the source's name.
 */
static int replace_dir(struct side *from, struct side *to)
{
	int error = check_empty(to->dir, to->entry.text);

	/* The store refuses it too, and knows of a directory moved into
	 * itself. */
	if (error == -ENOTEMPTY)
		return renameat2_error(from, to, 0);
	if (error && error != -EACCES)
		return error;
	error = renameat2_error(from, to, RENAME_EXCHANGE);
	if (error == -EINVAL || error == -ENOSYS)
		return replace_dir_slowly(from, to);
	if (error)
		return error;
	error = remove_dir(from->dir, from->state, from->entry.text);
	if (error)
		renameat2_error(from, to, RENAME_EXCHANGE);
	return error;
}

/* To a free name, or over what is no directory. Where both are names of one
 * file the store does nothing, and what follows does nothing either. */
static int move(struct side *from, struct side *to, const struct name_text *name,
                unsigned flags)
{
	bool made_name = false, made_file = false;
	int error = to->exists ? 0 : long_name_make(to->dir, name, &made_name);

	if (!error)
		error = bring_file(from, to, &made_file);
	if (!error)
		error = flags == RENAME_NOREPLACE
			? rename_new(from->dir->fd, from->entry.text,
			             to->dir->fd, to->entry.text)
			: renameat2_error(from, to, flags);
	if (error) {
		if (made_file)
			link_file_remove(to->dir->fd, from->file);
		if (made_name)
			long_name_release(to->dir, to->state, to->entry.text);
		return error;
	}
	drop_file(from, to);
	if (to->exists && to->has_file)
		link_file_release(to->dir->fd, to->file);
	return 0;
}

/* What RENAME_WHITEOUT leaves under the old name. */
static int leave_whiteout(const struct side *from)
{
	return io->mknodat(from->dir->fd, from->entry.text, S_IFCHR, 0)
		? -errno : 0;
}

static int rename_sides(struct side *from, struct side *to,
                        const char *to_plain, unsigned flags)
{
	struct name_text name;
	int error;

	if (to->exists && dir_same(from->dir, to->dir) &&
	    !strcmp(from->entry.text, to->entry.text))
		return flags & RENAME_NOREPLACE ? -EEXIST : 0;
	if (flags & RENAME_EXCHANGE) {
		if (!to->exists)
			return -ENOENT;
		return exchange(from, to);
	}
	if (!to->exists) {
		error = state_new_name(to->dir, to->state, to_plain, &name);
		if (error)
			return error;
		entry_set(&to->entry, name.text, name.is_long, false);
		error = move(from, to, &name, flags);
		if (!error)
			state_made(to->dir, to->state, name.text);
	} else if (flags & RENAME_NOREPLACE) {
		return -EEXIST;
	} else if (S_ISDIR(from->st.st_mode) != S_ISDIR(to->st.st_mode)) {
		/* This cannot be; the store knows which error comes first. */
		error = renameat2_error(from, to, 0);
		return error ? error : -EIO;
	} else if (S_ISDIR(to->st.st_mode)) {
		error = replace_dir(from, to);
		if (!error && flags & RENAME_WHITEOUT)
			error = leave_whiteout(from);
	} else {
		error = move(from, to, NULL, flags);
	}
	if (!error && from->entry.is_long)
		long_name_release(from->dir, from->state, from->entry.text);
	return error;
}

int dir_rename(struct dir *from_dir, const char *from_plain,
               struct dir *to_dir, const char *to_plain, unsigned flags,
               struct dir_entry *entry, struct dir_entry *other)
{
	struct side from = { .state = NULL }, to = { .state = NULL };
	int error;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    (flags & RENAME_EXCHANGE && flags != RENAME_EXCHANGE))
		return -EINVAL;
	if (from_dir->volume->read_only)
		return -EROFS;
	error = side_find(&from, from_dir, from_plain);
	if (!error)
		error = side_find(&to, to_dir, to_plain);
	if (!error && !from.exists)
		error = -ENOENT;
	if (!error)
		error = rename_sides(&from, &to, to_plain, flags);
	if (!error && entry)
		*entry = to.entry;
	if (!error && other && flags & RENAME_EXCHANGE)
		*other = from.entry;
	state_put(from.state);
	state_put(to.state);
	return error;
}
