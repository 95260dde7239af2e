#include "fs/volume/rescue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/format/base64url.h"
#include "fs/format/header.h"
#include "fs/format/name.h"
#include "fs/volume/io.h"

enum {
	IDS_MAX = 16,    /* ids of one directory that names are tried under */
	TRIES_MAX = 500, /* names and headers: a right key needs one of them */
	DEPTH_MAX = 2048, /* directories inside each other, for the longest name */
};

static DIR *list_at(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* The first bytes of a regular file; false where it is none or is shorter. */
static bool read_start(int root, const char *name, uint8_t *buf, size_t size)
{
	struct stat st;
	int fd = io->openat(root, name,
	                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	bool ok;

	if (fd < 0)
		return false;
	ok = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	     io_read_full(fd, buf, size, 0) == (ssize_t)size;
	close(fd);
	return ok;
}

static bool id_opens(int root, const char *name, const uint8_t id[ID_SIZE],
                     const struct keys *keys)
{
	uint8_t sealed[ID_SIZE + SEAL_TRAILER], tweak[TWEAK_SIZE];
	size_t size;

	tweak_make(tweak, id, 0, TWEAK_DIR);
	return read_start(root, name, sealed, sizeof(sealed)) &&
	       !seal_open(keys->name, tweak, sealed, &size, sealed, ID_SIZE);
}

static bool header_opens(int root, const char *name, const struct keys *keys)
{
	uint8_t bytes[HEADER_SIZE];
	struct header header;

	return read_start(root, name, bytes, sizeof(bytes)) &&
	       !header_open(keys->content, &header, bytes);
}

static bool name_opens(const char *name, const uint8_t id[ID_SIZE],
                       const struct keys *keys)
{
	char plain[NAME_PLAIN_MAX + 1];
	bool opens = name_decrypt_text(keys, id, name, strlen(name), plain) > 0;

	OPENSSL_cleanse(plain, sizeof(plain));
	return opens;
}

static int check_ids(DIR *dir, int root, const struct keys *keys,
                     uint8_t ids[][ID_SIZE], size_t *count)
{
	struct dirent *entry;
	int result = RESCUE_NOTHING;

	rewinddir(dir);
	while (*count < IDS_MAX && (entry = readdir(dir))) {
		if (name_dir_id(entry->d_name, ids[*count]))
			continue;
		if (id_opens(root, entry->d_name, ids[*count], keys))
			return RESCUE_RIGHT;
		(*count)++;
		result = RESCUE_WRONG;
	}
	return result;
}

static int check_entries(DIR *dir, int root, const struct keys *keys,
                         uint8_t ids[][ID_SIZE], size_t count)
{
	struct dirent *entry;
	int result = RESCUE_NOTHING;
	unsigned tries = 0;

	rewinddir(dir);
	while (tries < TRIES_MAX && (entry = readdir(dir))) {
		enum name_form form = name_form(entry->d_name);

		if (form != NAME_ENCRYPTED && form != NAME_LONG)
			continue;
		tries++;
		result = RESCUE_WRONG;
		if (header_opens(root, entry->d_name, keys))
			return RESCUE_RIGHT;
		for (size_t i = 0; form == NAME_ENCRYPTED && i < count; i++)
			if (name_opens(entry->d_name, ids[i], keys))
				return RESCUE_RIGHT;
	}
	return result;
}

int rescue_check_key(int root, const struct keys *keys)
{
	uint8_t ids[IDS_MAX][ID_SIZE];
	size_t count = 0;
	DIR *dir = list_at(root, ".");
	int by_id, by_entry = RESCUE_NOTHING;

	if (!dir)
		return -errno;
	by_id = check_ids(dir, root, keys, ids, &count);
	if (by_id != RESCUE_RIGHT)
		by_entry = check_entries(dir, root, keys, ids, count);
	closedir(dir);
	return by_entry == RESCUE_NOTHING ? by_id : by_entry;
}

/*
 * The longest name
 */

struct lengths {
	size_t longest_short; /* characters of the longest name stored as it is */
	size_t shortest_long; /* and what the shortest long name would take */
};

static void note_long_name(struct lengths *lengths, int at, const char *name)
{
	struct stat st;
	size_t length;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_size < 16 + SEAL_TRAILER || st.st_size > NAME_SEALED_MAX)
		return;
	length = BASE64URL_LENGTH((size_t)st.st_size);
	if (length < lengths->shortest_long)
		lengths->shortest_long = length;
}

static void measure(struct lengths *lengths, int at, const char *name,
                    unsigned depth)
{
	DIR *dir = depth < DEPTH_MAX ? list_at(at, name) : NULL;
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		enum name_form form = name_form(entry->d_name);
		size_t length = strlen(entry->d_name);

		if (form == NAME_LONG_FILE)
			note_long_name(lengths, dirfd(dir), entry->d_name);
		else if (form == NAME_ENCRYPTED && length > lengths->longest_short)
			lengths->longest_short = length;
		/* Some stores do not tell the type. */
		if ((form == NAME_ENCRYPTED || form == NAME_LONG) &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN))
			measure(lengths, dirfd(dir), entry->d_name, depth + 1);
	}
	closedir(dir);
}

size_t rescue_name_limit(int root, size_t limit)
{
	struct lengths lengths = { 0, SIZE_MAX };

	measure(&lengths, root, ".", 0);
	if (lengths.shortest_long > limit)
		return limit;
	/* A merge of two volumes' trees can leave both: names that are stored as
	 * they are must stay so. */
	if (lengths.shortest_long <= lengths.longest_short)
		return lengths.longest_short;
	return lengths.shortest_long - 1 < NAME_LIMIT_MIN
		? NAME_LIMIT_MIN : lengths.shortest_long - 1;
}
