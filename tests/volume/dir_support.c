#include "dir_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "cannot set up a test: %s: %s\n", what,
	        strerror(errno));
	exit(1);
}

void place_make(struct place *p, const char *top, size_t name_limit)
{
	static const uint8_t master[KEY_SIZE] = "a key for tests, not for people";

	memset(p, 0, sizeof(*p));
	umask(0);
	snprintf(p->path, sizeof(p->path), "%s/frondfs-test.XXXXXX", top);
	need(mkdtemp(p->path), "mkdtemp");
	need(!chmod(p->path, 0755), "chmod");
	p->volume.path = p->path;
	p->volume.name_limit = name_limit;
	p->volume.root = open(p->path, O_RDONLY | O_DIRECTORY);
	need(p->volume.root >= 0, "open");
	need(!keys_new(&p->volume.keys, master, ADIANTUM_XCHACHA12), "keys");
	need(!dir_make_id(&p->volume, p->volume.root, NULL), "dir_make_id");
	need(!dir_open(&p->root, &p->volume, dup(p->volume.root)), "dir_open");
}

static void remove_tree(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	DIR *stream;
	struct dirent *d;

	if (fd < 0 && errno == EACCES && !fchmodat(parent, name, 0700, 0))
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	stream = fd < 0 ? NULL : fdopendir(fd);
	while (stream && (d = readdir(stream)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    unlinkat(fd, d->d_name, 0))
			remove_tree(fd, d->d_name);
	if (stream)
		closedir(stream);
	unlinkat(parent, name, AT_REMOVEDIR);
}

void place_remove(struct place *p)
{
	dir_unref(p->root);
	keys_free(p->volume.keys);
	close(p->volume.root);
	remove_tree(AT_FDCWD, p->path);
}

struct dir *sub_open(struct place *p, struct dir *dir, const char *plain)
{
	struct dir_entry entry;
	struct dir *sub;
	struct stat st;
	int fd;

	if (dir_find(dir, plain, &entry, &st))
		return NULL;
	fd = openat(dir_fd(dir), entry.text,
	            O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd < 0 || dir_open(&sub, &p->volume, fd))
		return NULL;
	return sub;
}

struct dir *reopen(struct place *p, struct dir *dir)
{
	struct dir *again = NULL;
	int fd = openat(dir_fd(dir), ".", O_RDONLY | O_DIRECTORY);

	need(fd >= 0 && !dir_open(&again, &p->volume, fd), "reopen");
	return again;
}

struct dir_entry put_file(struct dir *dir, const char *plain)
{
	struct dir_entry entry;
	int fd;

	errno = -dir_create(dir, plain, 0644, NULL, &entry, &fd);
	need(!errno, "dir_create");
	close(fd);
	return entry;
}

struct dir_entry put_dir(struct dir *dir, const char *plain)
{
	struct dir_entry entry;

	errno = -dir_mkdir(dir, plain, 0755, NULL, &entry);
	need(!errno, "dir_mkdir");
	return entry;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join_sorted(char **names, size_t count)
{
	size_t size = 1;
	char *joined;

	qsort(names, count, sizeof(*names), compare);
	for (size_t i = 0; i < count; i++)
		size += strlen(names[i]) + 1;
	joined = calloc(1, size);
	for (size_t i = 0; i < count; i++) {
		if (i)
			strcat(joined, "\n");
		strcat(joined, names[i]);
	}
	return joined;
}

char *names_of(struct dir *dir)
{
	struct dir_listing listing;
	int error = dir_list(dir, &listing);
	char **names, *joined;

	if (error) {
		joined = malloc(32);
		snprintf(joined, 32, "error %d", -error);
		return joined;
	}
	names = calloc(listing.count + 1, sizeof(*names));
	for (size_t i = 0; i < listing.count; i++)
		names[i] = (char *)listing.items[i].plain;
	joined = join_sorted(names, listing.count);
	free(names);
	dir_listing_free(&listing);
	return joined;
}

char *texts_of(struct dir *dir)
{
	char *names[1000], *joined;
	size_t count = 0;
	int fd = openat(dir_fd(dir), ".", O_RDONLY | O_DIRECTORY);
	DIR *stream = fdopendir(fd);
	struct dirent *d;

	while ((d = readdir(stream)) && count < 1000)
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    name_form(d->d_name) != NAME_DIR_ID)
			names[count++] = strdup(d->d_name);
	closedir(stream);
	joined = join_sorted(names, count);
	while (count)
		free(names[--count]);
	return joined;
}

const char *name_of_length(char name[257], size_t n)
{
	for (size_t i = 0; i < n; i++)
		name[i] = (char)('a' + (i * 7 + n) % 26);
	name[n] = '\0';
	return name;
}

ino_t inode_of(struct dir *dir, const char *plain)
{
	struct dir_entry entry;
	struct stat st;

	return dir_find(dir, plain, &entry, &st) ? 0 : st.st_ino;
}

unsigned fault_at, fault_count;
int fault_errno;

/* Whether the next call is the one that fails. */
static bool fault(void)
{
	if (++fault_count != fault_at)
		return false;
	if (!fault_errno)
		_exit(42);
	errno = fault_errno;
	return true;
}

static ssize_t fault_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return fault() ? -1 : io_system.pwrite(fd, buf, size, at);
}

static int fault_ftruncate(int fd, off_t length)
{
	return fault() ? -1 : io_system.ftruncate(fd, length);
}

static int fault_fsync(int fd)
{
	/* The tests would wait for the disk thousands of times. */
	(void)fd;
	return fault() ? -1 : 0;
}

static int fault_openat(int dir, const char *name, int flags, mode_t mode)
{
	if (flags & O_CREAT && fault())
		return -1;
	return io_system.openat(dir, name, flags, mode);
}

static int fault_mkdirat(int dir, const char *name, mode_t mode)
{
	return fault() ? -1 : io_system.mkdirat(dir, name, mode);
}

static int fault_mknodat(int dir, const char *name, mode_t mode, dev_t device)
{
	return fault() ? -1 : io_system.mknodat(dir, name, mode, device);
}

static int fault_symlinkat(const char *target, int dir, const char *name)
{
	return fault() ? -1 : io_system.symlinkat(target, dir, name);
}

static int fault_linkat(int from_dir, const char *from, int to_dir,
                        const char *to, int flags)
{
	return fault() ? -1
	               : io_system.linkat(from_dir, from, to_dir, to, flags);
}

static int fault_unlinkat(int dir, const char *name, int flags)
{
	return fault() ? -1 : io_system.unlinkat(dir, name, flags);
}

static int fault_renameat2(int from_dir, const char *from, int to_dir,
                           const char *to, unsigned flags)
{
	return fault() ? -1 : io_system.renameat2(from_dir, from, to_dir, to,
	                                          flags);
}

static ssize_t plain_pread(int fd, void *buf, size_t size, off_t at)
{
	return io_system.pread(fd, buf, size, at);
}

const struct io io_fault = {
	.pread = plain_pread,
	.pwrite = fault_pwrite,
	.ftruncate = fault_ftruncate,
	.fsync = fault_fsync,
	.fdatasync = fault_fsync,
	.openat = fault_openat,
	.mkdirat = fault_mkdirat,
	.mknodat = fault_mknodat,
	.symlinkat = fault_symlinkat,
	.linkat = fault_linkat,
	.unlinkat = fault_unlinkat,
	.renameat2 = fault_renameat2,
};
