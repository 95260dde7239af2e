/* The check of extended attributes: each sealed name and value. */
#include "fs/volume/check_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/format/link.h"
#include "fs/volume/xattr.h"

enum { LIST_MAX = 65536 }; /* bytes: the kernel's limit (XATTR_LIST_MAX) */

static void check_one(struct check *check, const char *path,
                      const char *stored, const char *plain,
                      const char *cipher)
{
	const struct volume *volume = check_of_volume(check);
	char full[XATTR_NAME_MAX + 1], detail[400];
	int kind = xattr_plain_name(volume, path, stored, full);
	ssize_t n;

	if (kind == 0 || kind == -ENOENT || kind == -ENODATA)
		return; /* in the clear, another program's, or gone */
	if (kind == -EBADMSG) {
		snprintf(detail, sizeof(detail), "the name %s does not open",
		         stored);
		check_say(check, CHECK_CORRUPT_XATTR, plain, cipher, detail);
		return;
	}
	if (kind < 0) {
		snprintf(detail, sizeof(detail), "attribute %s: %s", stored,
		         strerror(-kind));
		check_say(check, CHECK_READ_ERROR, plain, cipher, detail);
		return;
	}
	n = xattr_get(volume, path, full, NULL, 0);
	if (n == -EBADMSG) {
		snprintf(detail, sizeof(detail), "the value of %s", full);
		check_say(check, CHECK_CORRUPT_XATTR, plain, cipher, detail);
	} else if (n < 0 && n != -ENODATA) {
		snprintf(detail, sizeof(detail), "attribute %s: %s", full,
		         strerror((int)-n));
		check_say(check, CHECK_READ_ERROR, plain, cipher, detail);
	}
}

void check_xattrs(struct check *check, int fd, const char *plain,
                  const char *cipher)
{
	char path[32], *list;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	size = listxattr(path, NULL, 0);
	if (size == 0 || (size < 0 && (errno == ENOTSUP || errno == ENOSYS)))
		return;
	list = malloc(LIST_MAX);
	size = list ? listxattr(path, list, LIST_MAX) : -1;
	if (size < 0)
		check_say(check, CHECK_READ_ERROR, plain, cipher,
		          "its attributes cannot be listed");
	for (ssize_t i = 0; i < size; i += (ssize_t)strlen(list + i) + 1)
		check_one(check, path, list + i, plain, cipher);
	free(list);
}
