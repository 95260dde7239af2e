/* Copying the content of a file. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "fs/format/sector.h"
#include "fs/volume/file.h"
#include "tools/copy_impl.h"
#include "tools/message.h"

/* Bytes at a time: whole sectors, enough to use all cores. */
enum { CHUNK_SECTORS = 256 };

/* What went wrong on which side. */
struct problem {
	int error;
	bool reading;
};

/* Up to `end`, but to a sector's border where possible. */
static size_t chunk(uint64_t position, uint64_t end)
{
	uint64_t border = sector_start(sector_of(position) + CHUNK_SECTORS);

	return (size_t)((border < end ? border : end) - position);
}

static struct problem copy_range(struct copy *copy, struct content *in,
                                 struct content *out, uint64_t *position,
                                 uint64_t end)
{
	while (*position < end) {
		ssize_t n = content_read(in, copy->buf, chunk(*position, end),
		                         *position);
		int error;

		if (n < 0)
			return (struct problem){ (int)n, true };
		if (n == 0) /* it became shorter */
			break;
		error = content_write(out, copy->buf, (size_t)n, *position);
		if (error)
			return (struct problem){ error, false };
		*position += (uint64_t)n;
		copy->bytes += (uint64_t)n;
		if (copy_cancelled)
			return (struct problem){ -ECANCELED, true };
	}
	return (struct problem){ 0, false };
}

static struct problem copy_content(struct copy *copy, struct content *in,
                                   struct content *out, uint64_t size)
{
	struct problem p = { 0, false };
	uint64_t position = 0;

	while (position < size && !p.error) {
		int64_t data = content_seek(in, position, SEEK_DATA), hole;
		uint64_t end;

		if (data == -ENXIO) { /* a hole up to the end */
			position = size;
			break;
		}
		hole = data < 0 ? data
		       : content_seek(in, (uint64_t)data, SEEK_HOLE);
		if (hole == -ENXIO) /* it became shorter */
			hole = (int64_t)size;
		if (hole < 0)
			return (struct problem){ (int)hole, true };
		position = (uint64_t)data;
		end = (uint64_t)hole < size ? (uint64_t)hole : size;
		if (position >= size)
			break;
		p = copy_range(copy, in, out, &position, end);
		if (!p.error && position < end) {
			size = position;
			break;
		}
	}
	if (!p.error)
		p.error = content_finish(out, size);
	return p;
}

/* Why a file cannot be read. */
static void say_source(struct copy *copy, const struct folder *from,
                       const char *text, struct content *in, int error)
{
	int64_t bad = in && in->file ? file_bad_sector(in->file) : -1;

	if (error != -EBADMSG)
		copy_say(copy, copy->from, from, text, "%s; it was not copied",
		         strerror(-error));
	else if (bad >= 0)
		copy_say(copy, copy->from, from, text,
		         "damaged from byte %" PRIu64 " on (sector %" PRId64
		         "); it was not copied", sector_start((uint64_t)bad), bad);
	else
		copy_say(copy, copy->from, from, text, "damaged: its header is "
		         "corrupt or its end is missing; it was not copied");
}

/* Returns 0 where all was said, or -EAGAIN. */
static int copy_once(struct copy *copy, const struct folder *from,
                     const struct tree_entry *entry, const struct folder *to,
                     const char *name, bool *made)
{
	struct content in, out;
	struct tree_owner owner;
	struct problem p;
	struct stat st;
	int error = content_open(from, entry->text, &in);

	if (!error) {
		error = content_stat(&in, &st);
		if (error)
			content_close(&in);
	}
	if (error) {
		say_source(copy, from, entry->text, NULL, error);
		return 0;
	}
	error = content_create(to, name, copy_owner(copy, &st, &owner), &out);
	if (error) {
		content_close(&in);
		copy_say_target(copy, to, "cannot be made", error);
		return 0;
	}
	p = copy_content(copy, &in, &out, (uint64_t)st.st_size);
	if (p.error) {
		content_discard(to, &out);
		if (p.error == -ECANCELED)
			; /* the user knows */
		else if (p.reading)
			say_source(copy, from, entry->text, &in, p.error);
		else
			copy_say_target(copy, to, "cannot be written", p.error);
		content_close(&in);
		return 0;
	}
	copy_attributes(copy, from, entry->text, in.fd, &st, to, out.fd);
	content_close(&in);
	error = content_commit(to, name, &out);
	if (error == -EAGAIN)
		return error;
	if (error) {
		copy_say_target(copy, to, "cannot be made", error);
		return 0;
	}
	copy->files++;
	*made = true;
	return 0;
}

bool copy_file(struct copy *copy, const struct folder *from,
               const struct tree_entry *entry, const struct folder *to,
               const char *name)
{
	bool made = false;

	if (copy_once(copy, from, entry, to, name, &made))
		copy_once(copy, from, entry, to, name, &made);
	return made;
}
