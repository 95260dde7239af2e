#include "fs/volume/xattr.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include <openssl/crypto.h>

#include "fs/format/link.h"

#define OWN "frondfs." /* follows "user." and "trusted." in stored names */

/* The name spaces whose attributes are encrypted. */
static const char *const sealed_spaces[] = { "user.", "trusted." };

/* How an attribute is stored. */
struct stored {
	char name[XATTR_NAME_MAX + 1];
	const char *plain; /* after the name space; NULL: in the clear */
};

static bool begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_clear(const char *name)
{
	return begins(name, "security.") ||
	       !strcmp(name, "system.posix_acl_access") ||
	       !strcmp(name, "system.posix_acl_default");
}

static int stored_name(const struct volume *volume, const char *name,
                       struct stored *out)
{
	char text[XATTR_TEXT_MAX + 1];

	if (strlen(name) > XATTR_NAME_MAX)
		return -ERANGE;
	out->plain = NULL;
	if (is_clear(name)) {
		strcpy(out->name, name);
		return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *space = sealed_spaces[i];
		int n;

		if (!begins(name, space))
			continue;
		out->plain = name + strlen(space);
		if (!*out->plain)
			return -EINVAL;
		n = xattr_name_seal(volume->keys, out->plain, text);
		if (n < 0)
			return n;
		snprintf(out->name, sizeof(out->name), "%s" OWN "%s", space,
		         text);
		return 0;
	}
	return -EOPNOTSUPP;
}

/* Read a whole stored value into fresh memory; returns its size. */
static ssize_t read_stored(const char *path, const char *name, uint8_t **out)
{
	ssize_t n = getxattr(path, name, NULL, 0);

	while (n >= 0) {
		size_t room = (size_t)n + 1;

		*out = malloc(room);
		if (!*out)
			return -ENOMEM;
		n = getxattr(path, name, *out, room);
		if (n >= 0)
			return n;
		free(*out);
		if (errno != ERANGE) /* it grew in between */
			break;
		n = getxattr(path, name, NULL, 0);
	}
	return -errno;
}

ssize_t xattr_get(const struct volume *volume, const char *path,
                  const char *name, void *value, size_t size)
{
	struct stored stored;
	uint8_t *sealed = NULL, *opened;
	ssize_t n;
	int error = stored_name(volume, name, &stored);

	if (error)
		return error;
	if (!stored.plain) {
		n = getxattr(path, stored.name, value, size);
		return n < 0 ? -errno : n;
	}
	n = read_stored(path, stored.name, &sealed);
	if (n < 0)
		return n;
	opened = malloc((size_t)n + 1);
	if (!opened)
		error = -ENOMEM;
	else
		error = value_open(volume->keys, TWEAK_XVALUE,
		                   xattr_index(stored.plain), sealed,
		                   (size_t)n, opened);
	if (error > 0 && size > 0) {
		if ((size_t)error > size)
			error = -ERANGE;
		else
			memcpy(value, opened, (size_t)error);
	}
	if (opened)
		OPENSSL_cleanse(opened, (size_t)n);
	free(opened);
	free(sealed);
	return error;
}

int xattr_set(const struct volume *volume, const char *path, const char *name,
              const void *value, size_t size, int flags)
{
	struct stored stored;
	uint8_t *sealed;
	int error;

	if (volume->read_only)
		return -EROFS;
	error = stored_name(volume, name, &stored);
	if (error)
		return error;
	if (!stored.plain)
		return setxattr(path, stored.name, value, size, flags) ? -errno
		                                                       : 0;
	if (size > XATTR_VALUE_MAX)
		return -E2BIG;
	sealed = malloc(size + SEALED_OVERHEAD);
	if (!sealed)
		return -ENOMEM;
	error = value_seal(volume->keys, TWEAK_XVALUE,
	                   xattr_index(stored.plain), value, size, sealed);
	if (!error && setxattr(path, stored.name, sealed,
	                       size + SEALED_OVERHEAD, flags))
		error = -errno;
	free(sealed);
	return error;
}

int xattr_remove(const struct volume *volume, const char *path,
                 const char *name)
{
	struct stored stored;
	int error;

	if (volume->read_only)
		return -EROFS;
	error = stored_name(volume, name, &stored);
	if (error)
		return error;
	return removexattr(path, stored.name) ? -errno : 0;
}

/* The plaintext name of a stored one; false where it is not shown: foreign
 * attributes, and those whose names do not open. */
static bool shown_name(const struct volume *volume, const char *stored,
                       char plain[XATTR_NAME_MAX + 1])
{
	if (is_clear(stored)) {
		snprintf(plain, XATTR_NAME_MAX + 1, "%s", stored);
		return true;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *space = sealed_spaces[i];
		size_t n = strlen(space);
		char name[XATTR_PLAIN_MAX + 1];

		if (!begins(stored, space) || !begins(stored + n, OWN) ||
		    xattr_name_open(volume->keys, stored + n + strlen(OWN),
		                    name) < 0)
			continue;
		snprintf(plain, XATTR_NAME_MAX + 1, "%s%s", space, name);
		return true;
	}
	return false;
}

/* Read the list of stored names into fresh memory; returns its size. */
static ssize_t read_list(const char *path, char **out)
{
	ssize_t n = listxattr(path, NULL, 0);

	while (n >= 0) {
		size_t room = (size_t)n + 1;

		*out = malloc(room);
		if (!*out)
			return -ENOMEM;
		n = listxattr(path, *out, room);
		if (n >= 0)
			return n;
		free(*out);
		if (errno != ERANGE)
			break;
		n = listxattr(path, NULL, 0);
	}
	return -errno;
}

ssize_t xattr_list(const struct volume *volume, const char *path, char *list,
                   size_t size)
{
	char plain[XATTR_NAME_MAX + 1], *stored = NULL;
	ssize_t n = read_list(path, &stored), used = 0;

	if (n < 0)
		return n;
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(stored + i) + 1) {
		size_t length;

		if (!shown_name(volume, stored + i, plain))
			continue;
		length = strlen(plain) + 1;
		if (size > 0 && (size_t)used + length > size) {
			used = -ERANGE;
			break;
		}
		if (size > 0)
			memcpy(list + used, plain, length);
		used += (ssize_t)length;
	}
	free(stored);
	return used;
}
