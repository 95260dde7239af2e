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
	uint8_t prefix[XATTR_PREFIX_MAX]; /* stands before the value */
	size_t prefix_size;
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
	out->prefix_size = 0;
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
		if (strlen(out->plain) <= XATTR_PLAIN_MAX) {
			n = xattr_name_seal(volume->keys, out->plain, text);
		} else {
			n = xattr_long_seal(volume->keys, out->plain, text,
			                    out->prefix);
			out->prefix_size = (size_t)n;
		}
		if (n < 0)
			return n;
		snprintf(out->name, sizeof(out->name), "%s" OWN "%s", space,
		         text);
		return 0;
	}
	return -EOPNOTSUPP;
}

/* getxattr or lgetxattr */
typedef ssize_t reader(const char *path, const char *name, void *value,
                       size_t size);

/* Read a whole stored value into fresh memory; returns its size. */
static ssize_t read_stored(reader *read, const char *path, const char *name,
                           uint8_t **out)
{
	ssize_t n = read(path, name, NULL, 0);

	while (n >= 0) {
		size_t room = (size_t)n + 1;

		*out = malloc(room);
		if (!*out)
			return -ENOMEM;
		n = read(path, name, *out, room);
		if (n >= 0)
			return n;
		free(*out);
		if (errno != ERANGE) /* it grew in between */
			break;
		n = read(path, name, NULL, 0);
	}
	return -errno;
}

static ssize_t get(reader *read, const struct volume *volume, const char *path,
                   const char *name, void *value, size_t size)
{
	struct stored stored;
	uint8_t *sealed = NULL, *opened;
	ssize_t n;
	int error = stored_name(volume, name, &stored);

	if (error)
		return error;
	if (!stored.plain) {
		n = read(path, stored.name, value, size);
		return n < 0 ? -errno : n;
	}
	n = read_stored(read, path, stored.name, &sealed);
	if (n < 0)
		return n;
	opened = malloc((size_t)n + 1);
	if (!opened)
		error = -ENOMEM;
	else if ((size_t)n < stored.prefix_size
	         || memcmp(sealed, stored.prefix, stored.prefix_size))
		error = -EBADMSG;
	else
		error = value_open(volume->keys, TWEAK_XVALUE,
		                   xattr_index(stored.plain),
		                   sealed + stored.prefix_size,
		                   (size_t)n - stored.prefix_size, opened);
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

ssize_t xattr_get(const struct volume *volume, const char *path,
                  const char *name, void *value, size_t size)
{
	return get(getxattr, volume, path, name, value, size);
}

ssize_t xattr_get_entry(const struct volume *volume, const char *path,
                        const char *name, void *value, size_t size)
{
	return get(lgetxattr, volume, path, name, value, size);
}

int xattr_set(const struct volume *volume, const char *path, const char *name,
              const void *value, size_t size, int flags)
{
	struct stored stored;
	uint8_t *sealed;
	size_t whole;
	int error;

	if (volume->read_only)
		return -EROFS;
	error = stored_name(volume, name, &stored);
	if (error)
		return error;
	if (!stored.plain)
		return setxattr(path, stored.name, value, size, flags) ? -errno
		                                                       : 0;
	/* As of a store that has no room for so much: what is too big for
	 * anybody, the kernel refuses itself. */
	if (size > XATTR_VALUE_MAX)
		return -ENOSPC;
	whole = stored.prefix_size + size + SEALED_OVERHEAD;
	sealed = malloc(whole);
	if (!sealed)
		return -ENOMEM;
	memcpy(sealed, stored.prefix, stored.prefix_size);
	error = value_seal(volume->keys, TWEAK_XVALUE,
	                   xattr_index(stored.plain), value, size,
	                   sealed + stored.prefix_size);
	if (!error && setxattr(path, stored.name, sealed, whole, flags))
		error = errno == E2BIG ? -ENOSPC : -errno;
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

int xattr_plain_name(const struct volume *volume, const char *path,
                     const char *stored, char plain[XATTR_NAME_MAX + 1])
{
	if (is_clear(stored)) {
		snprintf(plain, XATTR_NAME_MAX + 1, "%s", stored);
		return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		const char *space = sealed_spaces[i], *text;
		size_t n = strlen(space);
		char name[XATTR_LONG_MAX + 1];
		uint8_t *value;
		ssize_t size;
		int result;

		if (!begins(stored, space) || !begins(stored + n, OWN))
			continue;
		text = stored + n + strlen(OWN);
		if (xattr_is_long(text)) {
			size = read_stored(getxattr, path, stored, &value);
			if (size < 0)
				return (int)size;
			result = xattr_long_open(volume->keys, text, value,
			                         (size_t)size, name);
			free(value);
		} else {
			result = xattr_name_open(volume->keys, text, name);
		}
		if (result < 0 || n + strlen(name) > XATTR_NAME_MAX)
			return -EBADMSG;
		strcpy(plain, space);
		strcpy(plain + n, name);
		return 1;
	}
	return -ENOENT;
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

		/* Not shown: other programs', and what does not open. */
		if (xattr_plain_name(volume, path, stored + i, plain) < 0)
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
