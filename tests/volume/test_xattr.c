/* Extended attributes, as a user of getxattr(2) and friends sees them. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "dir_support.h"
#include "fs/format/link.h"
#include "fs/volume/xattr.h"

static struct place place;
static const struct volume *volume = &place.volume;
static char path[32]; /* of the entry under test */
static int path_fd;

static void entry_open(const char *plain)
{
	struct dir_entry entry;
	struct stat st;

	if (path_fd)
		close(path_fd);
	if (dir_find(place.root, plain, &entry, &st))
		exit(1);
	path_fd = openat(dir_fd(place.root), entry.text,
	                 O_PATH | O_NOFOLLOW);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
}

static int no_attributes(const char *top)
{
	place_make(&place, top, 255);
	put_file(place.root, "f");
	put_dir(place.root, "d");
	entry_open("f");
	if (setxattr(path, "user.probe", "1", 1, 0))
		return -errno;
	return removexattr(path, "user.probe");
}

TEST round_trip(const char *top, const char *kind)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, 1000, 3000 };
	char value[3000], back[3000], list[100], stored[300];
	char sealed[4000];

	if (no_attributes(top))
		SKIPm("the store has no attributes");
	entry_open(kind);
	ASSERT_EQ(-ENODATA, xattr_get(volume, path, "user.a", back, 100));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		ssize_t n = (ssize_t)sizes[i];

		memset(value, (int)i + 'a', sizeof(value));
		ASSERT_EQ(0, xattr_set(volume, path, "user.a", value, sizes[i],
		                       0));
		ASSERT_EQ(n, xattr_get(volume, path, "user.a", NULL, 0));
		ASSERT_EQ(n, xattr_get(volume, path, "user.a", back,
		                       sizeof(back)));
		ASSERT_MEM_EQ(value, back, n);
		if (n > 1)
			ASSERT_EQ(-ERANGE, xattr_get(volume, path, "user.a",
			                             back, sizes[i] - 1));
	}
	ASSERT_EQ(-EEXIST, xattr_set(volume, path, "user.a", "", 0,
	                             XATTR_CREATE));
	ASSERT_EQ(-ENODATA, xattr_set(volume, path, "user.b", "", 0,
	                              XATTR_REPLACE));
	/* Nothing of it stands there in the clear. */
	ASSERT_EQ(57, listxattr(path, stored, sizeof(stored)));
	ASSERT_EQ(0, strncmp(stored, "user.frondfs.", 13));
	ASSERT_EQ(56u, strlen(stored)); /* the prefix and 43 */
	ASSERT_EQ(3032, getxattr(path, stored, sealed, sizeof(sealed)));
	ASSERT_EQ(NULL, memmem(sealed, 3032, value, 8));
	ASSERT_EQ(7, xattr_list(volume, path, NULL, 0));
	ASSERT_EQ(7, xattr_list(volume, path, list, 7));
	ASSERT_STR_EQ("user.a", list);
	ASSERT_EQ(-ERANGE, xattr_list(volume, path, list, 6));
	ASSERT_EQ(0, xattr_remove(volume, path, "user.a"));
	ASSERT_EQ(-ENODATA, xattr_remove(volume, path, "user.a"));
	ASSERT_EQ(0, xattr_list(volume, path, list, sizeof(list)));
	place_remove(&place);
	PASS();
}

TEST names(void)
{
	char name[300] = "user.", back[10];
	static const char *const odd[] = {
		"user.frondfs.x", "user.\xff\xfe", "user. ", "user.a.b.c",
		"user.user.a", "user.-", "user.a/b",
	};

	if (no_attributes("/tmp"))
		SKIPm("the store has no attributes");
	for (size_t n = 1; n <= XATTR_LONG_MAX; n++) {
		memset(name + 5, 'n', n);
		name[5 + n] = '\0';
		ASSERT_EQ(0, xattr_set(volume, path, name, "v", 1, 0));
		ASSERT_EQ(1, xattr_get(volume, path, name, back, 10));
		ASSERT_EQ((ssize_t)n + 6, xattr_list(volume, path, NULL, 0));
		ASSERT_EQ(0, xattr_remove(volume, path, name));
	}
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		char list[100];

		ASSERT_EQ(0, xattr_set(volume, path, odd[i], "v", 1, 0));
		ASSERT_EQ((ssize_t)strlen(odd[i]) + 1,
		          xattr_list(volume, path, list, sizeof(list)));
		ASSERT_STR_EQ(odd[i], list);
		ASSERT_EQ(0, xattr_remove(volume, path, odd[i]));
	}
	memset(name + 5, 'n', XATTR_LONG_MAX + 1);
	name[5 + XATTR_LONG_MAX + 1] = '\0';
	ASSERT_EQ(-ERANGE, xattr_set(volume, path, name, "v", 1, 0));
	memset(name + 5, 'n', 290);
	ASSERT_EQ(-ERANGE, xattr_get(volume, path, name, back, 10));
	ASSERT_EQ(-EINVAL, xattr_set(volume, path, "user.", "v", 1, 0));
	place_remove(&place);
	PASS();
}

/* A name that does not fit stands before the value. */
TEST long_names_are_found_and_proven(void)
{
	char name[260] = "user.", stored[400], plain[256], *end;
	uint8_t value[400];
	ssize_t n;

	if (no_attributes("/tmp"))
		SKIPm("the store has no attributes");
	memset(name + 5, 'l', 200);
	ASSERT_EQ(0, xattr_set(volume, path, name, "value", 5, 0));
	ASSERT_EQ(-EEXIST, xattr_set(volume, path, name, "", 0, XATTR_CREATE));
	ASSERT_EQ(18 + 43 + 1, listxattr(path, stored, sizeof(stored)));
	ASSERT_EQ(0, strncmp(stored, "user.frondfs.long.", 18));
	ASSERT_EQ(1, xattr_plain_name(volume, path, stored, plain));
	ASSERT_STR_EQ(name, plain);
	n = getxattr(path, stored, value, sizeof(value));
	ASSERT_EQ(1 + 208 + 16 + 5 + 32, n);
	/* Every byte of it is proven. */
	for (ssize_t i = 0; i < n; i++) {
		char back[10];

		value[i] ^= 4;
		ASSERT_EQ(0, setxattr(path, stored, value, (size_t)n, 0));
		ASSERT_EQ(-EBADMSG, xattr_get(volume, path, name, back, 10));
		ASSERT_EQ(i < 1 + 208 + 16 ? -EBADMSG : 1,
		          xattr_plain_name(volume, path, stored, plain));
		ASSERT_EQ(i < 1 + 208 + 16 ? 0 : 206,
		          xattr_list(volume, path, NULL, 0));
		value[i] ^= 4;
	}
	for (ssize_t size = 0; size < n; size++) {
		ASSERT_EQ(0, setxattr(path, stored, value, (size_t)size, 0));
		ASSERT_EQ(-EBADMSG, xattr_get(volume, path, name, NULL, 0));
	}
	ASSERT_EQ(0, setxattr(path, stored, value, (size_t)n, 0));
	/* Under another name it is another's. */
	end = stored + strlen(stored) - 1;
	*end = *end == 'A' ? 'E' : 'A';
	ASSERT_EQ(0, setxattr(path, stored, value, (size_t)n, 0));
	ASSERT_EQ(-EBADMSG, xattr_plain_name(volume, path, stored, plain));
	ASSERT_EQ(0, removexattr(path, stored));
	ASSERT_EQ(0, xattr_remove(volume, path, name));
	ASSERT_EQ(0, listxattr(path, stored, sizeof(stored)));
	place_remove(&place);
	PASS();
}

TEST other_spaces(void)
{
	/* A minimal ACL: rwx for all three. */
	static const struct {
		uint32_t version;
		struct { uint16_t tag, perm; uint32_t id; } e[3];
	} acl = { 2, { { 1, 7, -1 }, { 4, 7, -1 }, { 0x20, 7, -1 } } };
	char back[300], stored[300];

	if (no_attributes("/tmp"))
		SKIPm("the store has no attributes");
	ASSERT_EQ(-EOPNOTSUPP, xattr_set(volume, path, "a", "v", 1, 0));
	ASSERT_EQ(-EOPNOTSUPP, xattr_set(volume, path, "system.x", "v", 1, 0));
	ASSERT_EQ(-EOPNOTSUPP, xattr_get(volume, path, "btrfs.x", back, 1));
	ASSERT_EQ(-EOPNOTSUPP, xattr_get(volume, path, "", back, 1));
	/* In the clear, as the store and the kernel need them. */
	ASSERT_EQ(0, xattr_set(volume, path, "system.posix_acl_access", &acl,
	                       sizeof(acl), 0));
	if (geteuid() == 0) {
		ASSERT_EQ(0, xattr_set(volume, path, "security.test", "value",
		                       5, 0));
		ASSERT_EQ(5, getxattr(path, "security.test", back, 10));
		ASSERT_EQ(14, xattr_list(volume, path, back, sizeof(back)));
		ASSERT_STR_EQ("security.test", back);
		ASSERT_EQ(0, xattr_remove(volume, path, "security.test"));
		/* trusted.* is encrypted as user.* is. */
		ASSERT_EQ(0, xattr_set(volume, path, "trusted.t", "value", 5,
		                       0));
		ASSERT_EQ(5, xattr_get(volume, path, "trusted.t", back, 10));
		ASSERT_EQ(60, listxattr(path, stored, sizeof(stored)));
		ASSERT_EQ(0, strncmp(stored, "trusted.frondfs.", 16));
		ASSERT_EQ(10, xattr_list(volume, path, back, sizeof(back)));
		ASSERT_STR_EQ("trusted.t", back);
	}
	place_remove(&place);
	PASS();
}

/* Attributes that others put there, and damaged ones. */
TEST foreign_and_damaged(void)
{
	char stored[200], list[200], back[100], sealed[200];

	if (no_attributes("/tmp"))
		SKIPm("the store has no attributes");
	ASSERT_EQ(0, setxattr(path, "user.com.dropbox", "v", 1, 0));
	ASSERT_EQ(0, setxattr(path, "user.frondfs.nonsense", "v", 1, 0));
	ASSERT_EQ(0, xattr_list(volume, path, list, sizeof(list)));
	ASSERT_EQ(-ENODATA, xattr_get(volume, path, "user.com.dropbox", back,
	                              100));
	ASSERT_EQ(0, removexattr(path, "user.com.dropbox"));
	ASSERT_EQ(0, removexattr(path, "user.frondfs.nonsense"));

	ASSERT_EQ(0, xattr_set(volume, path, "user.a", "value", 5, 0));
	ASSERT_EQ(57, listxattr(path, stored, sizeof(stored)));
	ASSERT_EQ(37, getxattr(path, stored, sealed, sizeof(sealed)));
	for (int i = 0; i < 37; i++) {
		sealed[i] ^= 4;
		ASSERT_EQ(0, setxattr(path, stored, sealed, 37, 0));
		ASSERT_EQ(-EBADMSG, xattr_get(volume, path, "user.a", back, 9));
		ASSERT_EQ(-EBADMSG, xattr_get(volume, path, "user.a", NULL, 0));
		sealed[i] ^= 4;
	}
	for (int i = 0; i < 37; i++) {
		ASSERT_EQ(0, setxattr(path, stored, sealed, (size_t)i, 0));
		ASSERT_EQ(-EBADMSG, xattr_get(volume, path, "user.a", back, 9));
	}
	/* A value moved to another name. */
	ASSERT_EQ(0, xattr_set(volume, path, "user.b", "other", 5, 0));
	ASSERT_EQ(0, setxattr(path, stored, sealed, 37, 0));
	ASSERT_EQ(5, xattr_get(volume, path, "user.a", back, 9));
	ASSERT_EQ(0, xattr_remove(volume, path, "user.a"));
	ASSERT_EQ(57, listxattr(path, stored, sizeof(stored)));
	ASSERT_EQ(0, setxattr(path, stored, sealed, 37, 0));
	ASSERT_EQ(-EBADMSG, xattr_get(volume, path, "user.b", back, 9));
	place_remove(&place);
	PASS();
}

TEST large_values(void)
{
	char *value = calloc(1, XATTR_SIZE_MAX + 1), *back;
	int error;

	if (no_attributes("/dev/shm"))
		SKIPm("the store has no attributes");
	back = malloc(XATTR_SIZE_MAX);
	memset(value, 'v', XATTR_SIZE_MAX);
	ASSERT_EQ(-ENOSPC, xattr_set(volume, path, "user.a", value,
	                             XATTR_VALUE_MAX + 1, 0));
	error = xattr_set(volume, path, "user.a", value, XATTR_VALUE_MAX, 0);
	if (!error) {
		ASSERT_EQ(XATTR_VALUE_MAX, xattr_get(volume, path, "user.a",
		                                     back, XATTR_SIZE_MAX));
		ASSERT_MEM_EQ(value, back, XATTR_VALUE_MAX);
	} else {
		ASSERT_EQ(-ENOSPC, error);
	}
	free(value);
	free(back);
	place_remove(&place);
	PASS();
}

TEST read_only(void)
{
	char back[10];

	if (no_attributes("/tmp"))
		SKIPm("the store has no attributes");
	ASSERT_EQ(0, xattr_set(volume, path, "user.a", "v", 1, 0));
	place.volume.read_only = true;
	ASSERT_EQ(-EROFS, xattr_set(volume, path, "user.a", "w", 1, 0));
	ASSERT_EQ(-EROFS, xattr_remove(volume, path, "user.a"));
	ASSERT_EQ(1, xattr_get(volume, path, "user.a", back, 10));
	ASSERT_EQ('v', back[0]);
	place_remove(&place);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	static const char *const tops[] = { "/tmp", "/dev/shm" };
	GREATEST_MAIN_BEGIN();
	for (size_t i = 0; i < 2; i++) {
		RUN_TESTp(round_trip, tops[i], "f");
		RUN_TESTp(round_trip, tops[i], "d");
	}
	RUN_TEST(names);
	RUN_TEST(long_names_are_found_and_proven);
	RUN_TEST(other_spaces);
	RUN_TEST(foreign_and_damaged);
	RUN_TEST(large_values);
	RUN_TEST(read_only);
	GREATEST_MAIN_END();
}
