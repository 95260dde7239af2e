#include "mount/twin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char *const sides[2] = { "mounted", "plain" };

const char *twin_shown(const char *name)
{
	static char buffers[8][1200];
	static unsigned turn;
	char *out = buffers[turn++ % 8], *p = out;

	for (; *name && p < out + 1190; name++) {
		unsigned char c = (unsigned char)*name;

		if (c > ' ' && c < 127 && c != '\\')
			*p++ = (char)c;
		else
			p += snprintf(p, 5, "\\x%02x", c);
	}
	*p = 0;
	return out;
}

/* ---- lists of names, of entries or attributes ---- */


struct item {
	char *name;
	unsigned char type;
	uint64_t inode;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct item *)a)->name,
	              ((const struct item *)b)->name);
}

struct listing {
	size_t count, room;
	struct item *items;
};

static void add(struct listing *l, const char *name, unsigned char type,
                uint64_t inode)
{
	if (l->count == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->items = realloc(l->items, l->room * sizeof(*l->items));
	}
	l->items[l->count++] = (struct item){ strdup(name), type, inode };
}

static void release(struct listing l[2])
{
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < l[s].count; i++)
			free(l[s].items[i].name);
		free(l[s].items);
	}
}

static bool list_dir(int fd, struct listing *l)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;

	if (!dir)
		return false;
	for (errno = 0; (d = readdir(dir)); errno = 0)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			add(l, d->d_name, d->d_type, d->d_ino);
	closedir(dir);
	if (l->count)
		qsort(l->items, l->count, sizeof(*l->items), by_name);
	return errno == 0;
}

static bool same_lists(const char *where, const char *what,
                       const struct listing l[2])
{
	size_t i = 0;

	while (i < l[0].count && i < l[1].count
	       && !strcmp(l[0].items[i].name, l[1].items[i].name))
		i++;
	if (i == l[0].count && i == l[1].count)
		return true;
	printf("%s: %s: %zu %s and %zu plain; the first that differs: %s and"
	       " %s\n", twin_shown(where), what, l[0].count, sides[0],
	       l[1].count,
	       i < l[0].count ? twin_shown(l[0].items[i].name) : "none",
	       i < l[1].count ? twin_shown(l[1].items[i].name) : "none");
	return false;
}

/* ---- one entry ---- */

bool twin_same_time(const struct timespec t[2])
{
	const time_t year = 365 * 86400;
	time_t now = time(NULL);

	if (t[PLAIN].tv_sec < now - year || t[PLAIN].tv_sec > now + year)
		return t[0].tv_sec == t[1].tv_sec && t[0].tv_nsec == t[1].tv_nsec;
	return t[MOUNTED].tv_sec > now - 3600 && t[MOUNTED].tv_sec < now + 60;
}

bool twin_same_stat(const char *name, const struct stat st[2])
{
	const struct timespec times[2] = { st[0].st_mtim, st[1].st_mtim };
	bool is_dir = S_ISDIR(st[0].st_mode);
	const char *what = NULL;

	if (st[0].st_mode != st[1].st_mode)
		what = "mode";
	else if (st[0].st_uid != st[1].st_uid || st[0].st_gid != st[1].st_gid)
		what = "owner";
	else if (st[0].st_rdev != st[1].st_rdev)
		what = "device";
	else if (!is_dir && st[0].st_nlink != st[1].st_nlink)
		what = "link count";
	else if (!is_dir && st[0].st_size != st[1].st_size)
		what = "size";
	else if (!twin_same_time(times))
		what = "modification time";
	if (!what)
		return true;
	printf("%s: the %s differs\n", twin_shown(name), what);
	for (int s = 0; s < 2; s++)
		printf("  %s: mode %o, owner %u:%u, links %lu, size %jd,"
		       " modified %jd.%09ld\n", sides[s],
		       (unsigned)st[s].st_mode, st[s].st_uid, st[s].st_gid,
		       (unsigned long)st[s].st_nlink, (intmax_t)st[s].st_size,
		       (intmax_t)st[s].st_mtim.tv_sec, st[s].st_mtim.tv_nsec);
	return false;
}

static bool same_content(const char *name, const int dirs[2],
                         const char *entry)
{
	static char bytes[2][65536];
	int fds[2];
	bool good = true;
	off_t at = 0;
	ssize_t n;

	for (int s = 0; s < 2; s++)
		fds[s] = openat(dirs[s], entry, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fds[0] < 0 || fds[1] < 0) {
		printf("%s: cannot be opened\n", twin_shown(name));
		return false;
	}
	do {
		ssize_t m = pread(fds[0], bytes[0], sizeof(bytes[0]), at);

		n = pread(fds[1], bytes[1], sizeof(bytes[1]), at);
		good = n == m && (n <= 0 || !memcmp(bytes[0], bytes[1], (size_t)n));
		if (!good)
			printf("%s: content differs at %jd or later (%zd and"
			       " %zd bytes)\n", twin_shown(name), (intmax_t)at,
			       m, n);
		at += n;
	} while (good && n > 0);
	close(fds[0]);
	close(fds[1]);
	return good;
}

static bool same_target(const char *name, const int dirs[2], const char *entry)
{
	char target[2][PATH_MAX + 1];
	ssize_t n[2];

	for (int s = 0; s < 2; s++)
		n[s] = readlinkat(dirs[s], entry, target[s], PATH_MAX);
	if (n[0] == n[1] && n[0] > 0
	    && !memcmp(target[0], target[1], (size_t)n[0]))
		return true;
	printf("%s: targets of %zd and %zd bytes differ\n", twin_shown(name),
	       n[0], n[1]);
	return false;
}

static bool list_attributes(const char *path, struct listing *l)
{
	char names[8192];
	ssize_t n = llistxattr(path, names, sizeof(names));

	if (n < 0) {
		printf("listxattr: %s\n", strerror(errno));
		return false;
	}
	for (char *p = names; p < names + n; p += strlen(p) + 1)
		add(l, p, 0, 0);
	if (l->count)
		qsort(l->items, l->count, sizeof(*l->items), by_name);
	return true;
}

static bool same_attributes(const char *name, const int dirs[2],
                            const char *entry)
{
	char path[2][400], value[2][4096];
	struct listing l[2] = { { 0 } };
	bool good = true;

	for (int s = 0; s < 2; s++) {
		snprintf(path[s], sizeof(path[s]), "/proc/self/fd/%d/%s",
		         dirs[s], entry);
		good = list_attributes(path[s], &l[s]) && good;
	}
	good = good && same_lists(name, "attributes", l);
	for (size_t i = 0; good && i < l[0].count; i++) {
		const char *a = l[0].items[i].name;
		ssize_t n[2];

		for (int s = 0; s < 2; s++)
			n[s] = lgetxattr(path[s], a, value[s], sizeof(value[s]));
		good = n[0] == n[1] && n[0] >= 0
		       && !memcmp(value[0], value[1], (size_t)n[0]);
		if (!good)
			printf("%s: attribute %s: %zd and %zd bytes differ\n",
			       twin_shown(name), twin_shown(a), n[0], n[1]);
	}
	release(l);
	return good;
}

/* ---- the walk ---- */

static void take_inodes(struct inodes *inodes, const struct stat st[2])
{
	if (inodes->count == inodes->room) {
		inodes->room = inodes->room ? 2 * inodes->room : 256;
		inodes->pairs = realloc(inodes->pairs, inodes->room
		                        * sizeof(*inodes->pairs));
	}
	inodes->pairs[inodes->count][0] = st[0].st_ino;
	inodes->pairs[inodes->count++][1] = st[1].st_ino;
}

static bool same_dirs(const char *where, const int dirs[2],
                      struct inodes *inodes);

static bool same_subdirs(const char *name, const int dirs[2],
                         const char *entry, struct inodes *inodes)
{
	bool good = false;
	int fds[2];

	for (int s = 0; s < 2; s++)
		fds[s] = openat(dirs[s], entry, O_RDONLY | O_DIRECTORY
		                | O_NOFOLLOW | O_CLOEXEC);
	if (fds[0] < 0 || fds[1] < 0)
		printf("%s: cannot be opened\n", twin_shown(name));
	else
		good = same_dirs(name, fds, inodes);
	for (int s = 0; s < 2; s++)
		if (fds[s] >= 0)
			close(fds[s]);
	return good;
}

static bool same_entries(const char *where, const int dirs[2],
                         const struct item *item, struct inodes *inodes)
{
	char name[PATH_MAX];
	struct stat st[2];

	snprintf(name, sizeof(name), "%s/%s", where, item->name);
	for (int s = 0; s < 2; s++)
		if (fstatat(dirs[s], item->name, &st[s], AT_SYMLINK_NOFOLLOW)) {
			printf("%s: stat: %s (%s)\n", twin_shown(name),
			       strerror(errno), sides[s]);
			return false;
		}
	take_inodes(inodes, st);
	if (item->inode != st[MOUNTED].st_ino
	    || item->type != IFTODT(st[MOUNTED].st_mode)) {
		printf("%s: listed as inode %ju and type %u, but is %ju and"
		       " %u\n", twin_shown(name), (uintmax_t)item->inode,
		       item->type, (uintmax_t)st[MOUNTED].st_ino,
		       IFTODT(st[MOUNTED].st_mode));
		return false;
	}
	if (!twin_same_stat(name, st)
	    || !same_attributes(name, dirs, item->name))
		return false;
	switch (st[PLAIN].st_mode & S_IFMT) {
	case S_IFREG:
		return same_content(name, dirs, item->name);
	case S_IFLNK:
		return same_target(name, dirs, item->name);
	case S_IFDIR:
		return same_subdirs(name, dirs, item->name, inodes);
	default:
		return true;
	}
}

static bool same_dirs(const char *where, const int dirs[2],
                      struct inodes *inodes)
{
	struct listing l[2] = { { 0 } };
	bool good = list_dir(dirs[0], &l[0]) && list_dir(dirs[1], &l[1]);

	if (!good)
		printf("%s: cannot be listed: %s\n", twin_shown(where),
		       strerror(errno));
	good = good && same_lists(where, "entries", l);
	for (size_t i = 0; good && i < l[0].count; i++)
		good = same_entries(where, dirs, &l[0].items[i], inodes);
	release(l);
	return good;
}

static int column;

static int by_column(const void *a, const void *b)
{
	uint64_t x = ((const uint64_t *)a)[column];
	uint64_t y = ((const uint64_t *)b)[column];

	return x < y ? -1 : x > y;
}

/* Names of one inode in one tree are names of one inode in the other. */
static bool same_links(const struct inodes *inodes)
{
	size_t size = inodes->count * sizeof(*inodes->pairs);
	uint64_t (*p)[2];
	bool good = true;

	if (!size)
		return true;
	p = malloc(size);
	memcpy(p, inodes->pairs, size);
	for (column = 0; column < 2; column++) {
		qsort(p, inodes->count, sizeof(*p), by_column);
		for (size_t i = 1; i < inodes->count; i++)
			if (p[i][column] == p[i - 1][column]
			    && p[i][!column] != p[i - 1][!column]) {
				printf("inode %ju of the %s tree is %ju and"
				       " %ju in the other\n",
				       (uintmax_t)p[i][column], sides[column],
				       (uintmax_t)p[i][!column],
				       (uintmax_t)p[i - 1][!column]);
				good = false;
			}
	}
	free(p);
	return good;
}

bool twin_same(const int roots[2], struct inodes *inodes)
{
	memset(inodes, 0, sizeof(*inodes));
	return same_dirs("", roots, inodes) && same_links(inodes);
}
