#include "mount/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const call_names[CALLS] = {
	"none", "create", "write", "truncate", "punch", "allocate", "unlink",
	"rename", "exchange", "mkdir", "rmdir", "symlink", "create below",
	"unlink below",
};

const char *slot_name(int slot)
{
	static const size_t lengths[SLOTS] = { 5, 200, 12, 255, 161, 1 };
	static char names[SLOTS][256];

	/* The same bytes whoever of several threads is first. */
	for (size_t i = 0; i < lengths[slot]; i++)
		if (!names[slot][i])
			names[slot][i] = (char)('a' + (i * 7 + (size_t)slot) % 26);
	return names[slot];
}

static void resize(struct slot *s, size_t size)
{
	if (size < s->size)
		memset(s->bytes + size, 0, s->size - size);
	s->size = size;
}

static void clear(struct slot *s)
{
	resize(s, 0);
	s->kind = FREE;
	s->child = false;
}

static void move(struct slot *to, struct slot *from)
{
	clear(to);
	to->kind = from->kind;
	to->child = from->child;
	to->size = from->size;
	memcpy(to->bytes, from->bytes, from->size);
	clear(from);
}

static void exchange(struct slot *a, struct slot *b)
{
	struct slot *c = calloc(1, sizeof(*c));

	move(c, a);
	move(a, b);
	move(b, c);
	free(c);
}

bool record_owns(const struct record *r, size_t at)
{
	return !r->stripe || at / r->stripe % 2 == r->number;
}

void record_done(struct record *r)
{
	struct slot *a = &r->slots[r->a], *b = &r->slots[r->b];
	size_t end = r->at + r->n;

	switch (r->call) {
	case CREATE:
		a->kind = FILE_SLOT;
		break;
	case WRITE:
		memcpy(a->bytes + r->at, r->fresh, r->n);
		if (end > a->size)
			a->size = end;
		break;
	case TRUNCATE: case ALLOCATE:
		resize(a, r->at);
		break;
	case PUNCH:
		end = end < a->size ? end : a->size;
		if (r->at < end)
			memset(a->bytes + r->at, 0, end - r->at);
		break;
	case UNLINK: case RMDIR:
		clear(a);
		break;
	case RENAME:
		move(b, a);
		break;
	case EXCHANGE:
		exchange(a, b);
		break;
	case MKDIR:
		a->kind = DIR_SLOT;
		break;
	case SYMLINK:
		a->kind = LINK_SLOT;
		a->size = r->n;
		memcpy(a->bytes, r->fresh, r->n);
		break;
	case ADD_CHILD: case REMOVE_CHILD:
		a->child = r->call == ADD_CHILD;
		break;
	default:
		break;
	}
	r->call = NONE;
	r->calls++;
}

/* ---- what is there ---- */

static bool load_file(int dir, const char *name, struct slot *s)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n = 1;

	if (fd < 0) {
		printf("%s: open: %s\n", name, strerror(errno));
		return false;
	}
	while (n > 0 && s->size < ROOM) {
		n = read(fd, s->bytes + s->size, ROOM - s->size);
		if (n > 0)
			s->size += (size_t)n;
	}
	if (n < 0)
		printf("%s: reading at %zu: %s\n", name, s->size,
		       strerror(errno));
	if (n >= 0 && (fstat(fd, &st) || st.st_size != (off_t)s->size)) {
		printf("%s: %zu bytes can be read, but stat says %jd\n", name,
		       s->size, (intmax_t)st.st_size);
		n = -1;
	}
	close(fd);
	return n >= 0;
}

static bool load_dir(int dir, const char *name, struct slot *s)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	bool good = stream;
	struct dirent *d;

	while (stream && (d = readdir(stream))) {
		if (!strcmp(d->d_name, "child"))
			s->child = true;
		else if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			good = false;
	}
	if (!good)
		printf("%s: a directory with other entries than its own\n",
		       name);
	if (stream)
		closedir(stream);
	return good;
}

/* What stands under a slot's name. False where it cannot be read. */
static bool load(int dir, int slot, struct slot *s)
{
	const char *name = slot_name(slot);
	struct stat st;
	ssize_t n;

	memset(s, 0, sizeof(*s));
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return true;
		printf("%s: stat: %s\n", name, strerror(errno));
		return false;
	}
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		s->kind = FILE_SLOT;
		return load_file(dir, name, s);
	case S_IFDIR:
		s->kind = DIR_SLOT;
		return load_dir(dir, name, s);
	case S_IFLNK:
		s->kind = LINK_SLOT;
		n = readlinkat(dir, name, (char *)s->bytes, ROOM);
		s->size = n < 0 ? 0 : (size_t)n;
		return n >= 0;
	default:
		return false;
	}
}

/* ---- comparing ---- */

static bool same(const struct record *r, const struct slot *is,
                 const struct slot *should)
{
	if (is->kind != should->kind || is->child != should->child
	    || is->size != should->size)
		return false;
	if (!r->stripe)
		return !memcmp(is->bytes, should->bytes, is->size);
	for (size_t i = 0; i < is->size; i++)
		if (record_owns(r, i) && is->bytes[i] != should->bytes[i])
			return false;
	return true;
}

static bool is_empty_dir(const struct slot *s)
{
	return s->kind == DIR_SLOT && !s->child;
}

/* A file whose writing, growing or punching was cut short. */
static bool same_or_partly(const struct record *r, const struct slot *is,
                           const struct slot *old)
{
	size_t end = r->call == WRITE || r->call == PUNCH ? r->at + r->n : r->at;
	size_t largest = r->call != PUNCH && end > old->size ? end : old->size;

	if (is->kind != FILE_SLOT || is->size < old->size || is->size > largest)
		return false;
	for (size_t i = 0; i < is->size; i++) {
		bool inside = r->call <= PUNCH && r->call != TRUNCATE
		              && i >= r->at && i < end;
		uint8_t fresh = inside && r->call == WRITE
		                ? r->fresh[i - r->at] : 0;

		if (!record_owns(r, i))
			continue;
		if (i < old->size && is->bytes[i] == old->bytes[i])
			continue;
		if ((inside || i >= old->size) && is->bytes[i] == fresh)
			continue;
		printf("%s: byte %zu is %02x, but was %02x, and %s %02x\n",
		       slot_name(r->a), i, is->bytes[i], old->bytes[i],
		       inside ? "becomes" : "not", fresh);
		return false;
	}
	return true;
}

static void describe(const char *what, const struct slot *s)
{
	static const char *const kinds[] = { "nothing", "a file",
		                             "a directory", "a link" };

	printf("  %s: %s of %zu bytes%s\n", what, kinds[s->kind], s->size,
	       s->child ? " with a file" : "");
}

static bool is_done(const struct record *r, struct slot *const is[SLOTS])
{
	struct record *after = malloc(sizeof(*after));
	bool good;

	memcpy(after, r, sizeof(*after));
	record_done(after);
	good = same(r, is[r->a], &after->slots[r->a])
	       && (r->a == r->b || same(r, is[r->b], &after->slots[r->b]));
	free(after);
	return good;
}

static bool fits(struct record *r, struct slot *const is[SLOTS])
{
	const struct slot *a = &r->slots[r->a], *b = &r->slots[r->b];
	bool good = false;

	if (same(r, is[r->a], a) && (r->a == r->b || same(r, is[r->b], b))) {
		r->undone++;
		return true;
	}
	if (is_done(r, is)) {
		r->done++;
		return true;
	}
	if (r->call == WRITE || r->call == PUNCH || r->call == ALLOCATE
	    || (r->call == TRUNCATE && r->at > a->size))
		good = same_or_partly(r, is[r->a], a);
	/* A directory that was renamed over an empty one may still have that
	 * one under its old name. */
	if (r->call == RENAME && a->kind == DIR_SLOT && b->kind == DIR_SLOT)
		good = is_empty_dir(is[r->a]) && same(r, is[r->b], a);
	r->partly += good;
	return good;
}

static bool only_slots(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	bool good = stream;
	struct dirent *d;

	while (stream && (d = readdir(stream))) {
		bool known = !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..");

		for (int i = 0; i < SLOTS; i++)
			known = known || !strcmp(d->d_name, slot_name(i));
		if (!known)
			printf("a name that nobody made: %s\n", d->d_name);
		good = good && known;
	}
	if (stream)
		closedir(stream);
	return good;
}

static bool check_slots(struct record *r, struct slot *const is[SLOTS])
{
	bool good = true;

	for (int i = 0; i < SLOTS; i++) {
		bool touched = r->call != NONE && (i == r->a || i == r->b);

		if (!touched && !same(r, is[i], &r->slots[i])) {
			size_t k = 0;

			while (is[i]->bytes[k] == r->slots[i].bytes[k]
			       && k < is[i]->size)
				k++;
			printf("%s is not as it was established; the first %zu"
			       " bytes are\n", slot_name(i), k);
			describe("is", is[i]);
			describe("should be", &r->slots[i]);
			good = false;
		}
	}
	if (r->call == NONE || fits(r, is))
		return good;
	printf("%s was under way (at %zu, %zu bytes), but now:\n",
	       call_names[r->call], r->at, r->n);
	describe("first is", is[r->a]);
	describe("and was", &r->slots[r->a]);
	if (r->b != r->a) {
		describe("second is", is[r->b]);
		describe("and was", &r->slots[r->b]);
	}
	return false;
}

bool record_check(struct record *r, int dir)
{
	struct slot *is[SLOTS];
	bool good = r->stripe || only_slots(dir);

	for (int i = 0; i < SLOTS; i++) {
		is[i] = malloc(sizeof(**is));
		if (!r->stripe || i == 0)
			good = load(dir, i, is[i]) && good;
		else
			memset(is[i], 0, sizeof(**is));
	}
	good = good && check_slots(r, is);
	for (int i = 0; i < SLOTS; i++) {
		if (good)
			r->slots[i] = *is[i];
		free(is[i]);
	}
	if (good)
		r->call = NONE;
	return good;
}
