/* Extended attributes of both kinds of trees. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/volume/xattr.h"
#include "tools/tree.h"

/* bytes: the kernel's limits (XATTR_LIST_MAX, XATTR_SIZE_MAX) */
enum { LIST_MAX = 65536, VALUE_MAX = 65536 };

static void path_of(char path[32], int fd)
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

ssize_t tree_xattr_list(const struct volume *volume, int fd, char **list,
                        size_t *damaged)
{
	char path[32], *stored;
	size_t used = 0;
	ssize_t n;

	*damaged = 0;
	*list = NULL;
	path_of(path, fd);
	n = listxattr(path, NULL, 0);
	if (n == 0 || (n < 0 && (errno == ENOTSUP || errno == ENOSYS)))
		return 0;
	stored = malloc(LIST_MAX);
	if (!stored)
		return -ENOMEM;
	n = listxattr(path, stored, LIST_MAX);
	if (n < 0 || !volume) {
		*list = stored;
		return n < 0 ? -errno : n;
	}
	*list = malloc(LIST_MAX);
	if (!*list) {
		free(stored);
		return -ENOMEM;
	}
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(stored + i) + 1) {
		char plain[XATTR_NAME_MAX + 1];
		int kind = xattr_plain_name(volume, path, stored + i, plain);

		if (kind == -EBADMSG)
			++*damaged;
		if (kind < 0 || used + strlen(plain) + 1 > LIST_MAX)
			continue;
		strcpy(*list + used, plain);
		used += strlen(plain) + 1;
	}
	free(stored);
	return (ssize_t)used;
}

ssize_t tree_xattr_get(const struct volume *volume, int fd, const char *name,
                       void **value)
{
	char path[32];
	ssize_t n;

	path_of(path, fd);
	*value = malloc(VALUE_MAX);
	if (!*value)
		return -ENOMEM;
	if (volume) {
		n = xattr_get(volume, path, name, *value, VALUE_MAX);
	} else {
		n = getxattr(path, name, *value, VALUE_MAX);
		if (n < 0)
			n = -errno;
	}
	if (n < 0) {
		free(*value);
		*value = NULL;
	}
	return n;
}

int tree_xattr_set(const struct volume *volume, int fd, const char *name,
                   const void *value, size_t size)
{
	char path[32];

	path_of(path, fd);
	if (volume)
		return xattr_set(volume, path, name, value, size, 0);
	return setxattr(path, name, value, size, 0) ? -errno : 0;
}

int tree_xattr_remove(const struct volume *volume, int fd, const char *name)
{
	char path[32];

	path_of(path, fd);
	if (volume)
		return xattr_remove(volume, path, name);
	return removexattr(path, name) ? -errno : 0;
}
