/* What kind of change a file had that is not what was sealed. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/format/name.h"
#include "fs/volume/file.h"
#include "fs/volume/manifest_impl.h"

/* What the file's own proofs say of it. */
enum validity {
	UNKNOWN, /* no keys, or no file with content of a user */
	VALID,
	SHORT,   /* its end is gone */
	DAMAGED,
};

struct judging {
	enum validity validity;
	struct manifest_progress *progress;
};

static void found(void *context, const struct file_finding *f)
{
	struct judging *j = context;

	if (f->damage == FILE_TRUNCATED && j->validity == VALID)
		j->validity = SHORT;
	else if (f->damage != FILE_UNCLEAN_APPEND)
		j->validity = DAMAGED;
}

static int cancelled(void *context, uint64_t bytes)
{
	struct judging *j = context;

	(void)bytes;
	return j->progress->cancel;
}

static bool has_content(const char *path)
{
	const char *slash = strrchr(path, '/');

	switch (name_form(slash ? slash + 1 : path)) {
	case NAME_ENCRYPTED:
	case NAME_LONG:
	case NAME_LONG_CONFLICT:
	case NAME_FOREIGN:
		return true;
	default:
		return false;
	}
}

static int look(struct judging *j, int root, const struct volume *volume,
                const struct difference *d)
{
	struct file_check check = {
		.found = found, .progress = cancelled, .context = j,
	};
	int fd, error;

	j->validity = UNKNOWN;
	if (!volume || !has_content(d->path))
		return 0;
	fd = manifest_open_below(root, d->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	j->validity = VALID;
	error = file_verify(volume, fd, &check);
	close(fd);
	return error;
}

/* Whether the present content is one that an earlier seal saw. */
static bool was_sealed(const struct difference *d)
{
	for (unsigned i = 0; i < d->olds; i++)
		if (!memcmp(d->old[i], d->is, MANIFEST_OLD_SIZE))
			return true;
	return false;
}

/* -1, 0, 1: modified before it was sealed as it was then, at the same time, or
 * after. */
static int age(const struct difference *d)
{
	const struct manifest_facts *was = &d->sealed_facts, *is = &d->facts;

	if (is->mtime.seconds != was->mtime.seconds)
		return is->mtime.seconds < was->mtime.seconds ? -1 : 1;
	if (is->mtime.nanoseconds != was->mtime.nanoseconds)
		return is->mtime.nanoseconds < was->mtime.nanoseconds ? -1 : 1;
	return 0;
}

static void judge(struct difference *d, enum validity validity)
{
	bool shorter = d->facts.size < d->sealed_facts.size;
	int older = age(d);

	if (was_sealed(d)) {
		d->class = MANIFEST_ROLLED_BACK;
		d->detail = "this is the state of an earlier seal";
	} else if (!d->has_facts) {
		d->detail = validity == VALID ? "every sector opens"
			: validity == UNKNOWN ? NULL
			: "damaged: fsck tells where";
	} else if (validity == SHORT) {
		d->class = MANIFEST_CUT;
	} else if (validity == DAMAGED) {
		d->class = shorter ? MANIFEST_CUT
			: d->facts.size == d->sealed_facts.size && !older
			? MANIFEST_ALTERED : MANIFEST_CHANGED;
		d->detail = "damaged: fsck tells where";
	} else if (d->facts.size == d->sealed_facts.size && !older) {
		d->class = MANIFEST_ALTERED;
		d->detail = validity == VALID
			? "every sector opens: some are of an older state, with "
			  "the size and time that were sealed"
			: "the size and modification time are those that were "
			  "sealed";
	} else if (older < 0) {
		d->class = MANIFEST_ROLLED_BACK;
		d->detail = validity == VALID
			? "it is valid, and was modified before what was sealed"
			: "it was modified before what was sealed";
	} else if (shorter && validity == UNKNOWN && has_content(d->path)) {
		d->class = MANIFEST_CUT;
	} else if (validity == VALID) {
		d->detail = "every sector opens: written later, or put back with "
		            "a later time";
	}
}

int manifest_judge(struct differences *all, int root,
                   const struct volume *volume,
                   struct manifest_progress *progress)
{
	struct judging j = { .progress = progress };
	int error = 0;

	for (size_t i = 0; i < all->count && !error; i++) {
		struct difference *d = all->list[i];

		/* Files that are files, and whose content is not another's. */
		if (d->class != MANIFEST_CHANGED || d->detail ||
		    d->kind != MANIFEST_FILE)
			continue;
		error = look(&j, root, volume, d);
		if (!error)
			judge(d, j.validity);
	}
	return error;
}
