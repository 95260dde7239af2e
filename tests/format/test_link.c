/* Values under a nonce: links and attributes. */
#include <errno.h>
#include <greatest.h>
#include <stdlib.h>
#include <string.h>

#include "fs/format/base64url.h"
#include "fs/format/link.h"

static const uint8_t master[KEY_SIZE] = "master key of the tests of links";
static struct keys *keys;

/* The plaintext size comes from the length of the text alone. */
TEST link_sizes(void)
{
	size_t expected = 0;

	for (size_t length = 0; length <= LINK_TEXT_MAX + 2; length++) {
		/* Which target, if any, gives this length? */
		size_t size = expected + 1;

		if (size <= LINK_INLINE_MAX &&
		    ((size + SEALED_OVERHEAD) * 8 + 5) / 6 == length) {
			ASSERT_EQ((int)size, link_plain_size(length));
			expected = size;
		} else {
			ASSERT_EQ(-EINVAL, link_plain_size(length));
		}
	}
	ASSERT_EQ(LINK_INLINE_MAX, (int)expected);
	/* The name of a link file has a length that no target has. */
	ASSERT_EQ(-EINVAL, link_plain_size(13 + 22));
	PASS();
}

TEST value_sizes(void)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 255, 3039, 4095,
	                                XATTR_VALUE_MAX, 65535 };
	uint8_t *value = malloc(65535), *sealed = malloc(65535 + 32);
	uint8_t *opened = malloc(65535 + 32), *again = malloc(65535 + 32);

	for (size_t i = 0; i < 65535; i++)
		value[i] = (uint8_t)(i * 31);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i], all = n + SEALED_OVERHEAD;

		ASSERT_EQ(0, value_seal(keys, TWEAK_LINK, 7, value, n, sealed));
		ASSERT_EQ(0, value_seal(keys, TWEAK_LINK, 7, value, n, again));
		ASSERT(memcmp(sealed, again, all)); /* a nonce of its own */
		ASSERT_EQ((int)n, value_open(keys, TWEAK_LINK, 7, sealed, all,
		                             opened));
		ASSERT_MEM_EQ(value, opened, n);
		/* Another kind, index, length or bit. */
		ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_XVALUE, 7, sealed,
		                               all, opened));
		ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_LINK, 8, sealed,
		                               all, opened));
		ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_LINK, 7, sealed,
		                               all - 1, opened));
		for (size_t bit = 0; bit < all * 8; bit += all * 8 / 61 + 1) {
			sealed[bit / 8] ^= 1 << bit % 8;
			ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_LINK, 7,
			                               sealed, all, opened));
			sealed[bit / 8] ^= 1 << bit % 8;
		}
	}
	ASSERT_EQ(-EINVAL, value_seal(keys, TWEAK_LINK, 0, value, 65536,
	                              sealed));
	ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_LINK, 0, sealed, 31, opened));
	/* A value that is shorter than its place was not made by this tool. */
	uint8_t tweak[TWEAK_SIZE];

	memset(sealed, 5, ID_SIZE);
	tweak_make(tweak, sealed, 0, TWEAK_LINK);
	ASSERT_EQ(0, seal(keys->name, tweak, sealed + ID_SIZE, "abc", 3, 16));
	ASSERT_EQ(-EBADMSG, value_open(keys, TWEAK_LINK, 0, sealed, 48, opened));
	free(value);
	free(sealed);
	free(opened);
	free(again);
	PASS();
}

TEST attribute_names(void)
{
	char plain[XATTR_PLAIN_MAX + 2], text[XATTR_TEXT_MAX + 1];
	char opened[XATTR_PLAIN_MAX + 1], copy[XATTR_TEXT_MAX + 2];

	for (size_t n = 1; n <= XATTR_PLAIN_MAX; n++) {
		int length;

		memset(plain, 0xc3, n);
		plain[n] = '\0';
		length = xattr_name_seal(keys, plain, text);
		ASSERT_EQ((int)strlen(text), length);
		ASSERT(length <= XATTR_TEXT_MAX);
		ASSERT_EQ((int)n, xattr_name_open(keys, text, opened));
		ASSERT_STR_EQ(plain, opened);
		strcpy(copy, text);
		copy[n % (size_t)length] ^= 1;
		ASSERT(xattr_name_open(keys, copy, opened) < 0);
	}
	ASSERT_EQ(XATTR_TEXT_MAX, (int)strlen(text));
	memset(plain, 'x', XATTR_PLAIN_MAX + 1);
	plain[XATTR_PLAIN_MAX + 1] = '\0';
	ASSERT_EQ(-ERANGE, xattr_name_seal(keys, plain, text));
	ASSERT_EQ(-ERANGE, xattr_name_seal(keys, "", text));
	ASSERT_EQ(-EBADMSG, xattr_name_open(keys, "", opened));
	ASSERT_EQ(-EBADMSG, xattr_name_open(keys, "not.base64", opened));
	/* The same name has the same text, so that it is found by it. */
	ASSERT_EQ(43, xattr_name_seal(keys, "comment", text));
	ASSERT_EQ(43, xattr_name_seal(keys, "comment", copy));
	ASSERT_STR_EQ(text, copy);
	PASS();
}

TEST long_attribute_names(void)
{
	char plain[XATTR_LONG_MAX + 2], text[XATTR_TEXT_MAX + 1];
	char opened[XATTR_LONG_MAX + 1], again[XATTR_TEXT_MAX + 1];
	uint8_t prefix[XATTR_PREFIX_MAX];

	memset(plain, 0xc3, sizeof(plain));
	for (size_t n = 1; n <= XATTR_LONG_MAX + 1; n++) {
		int size;

		plain[n - 1] = '\xc3';
		plain[n] = '\0';
		size = xattr_long_seal(keys, plain, text, prefix);
		if (n <= XATTR_PLAIN_MAX || n > XATTR_LONG_MAX) {
			ASSERT_EQ(-ERANGE, size);
			continue;
		}
		ASSERT_EQ(1 + 16 + (int)(n + 15) / 16 * 16, size);
		ASSERT_EQ(5 + 43, (int)strlen(text));
		ASSERT(xattr_is_long(text));
		ASSERT_EQ(size, xattr_long_open(keys, text, prefix,
		                                (size_t)size, opened));
		ASSERT_STR_EQ(plain, opened);
		ASSERT_EQ(-EBADMSG, xattr_long_open(keys, text, prefix,
		                                    (size_t)size - 1, opened));
		ASSERT_EQ(-EBADMSG, xattr_name_open(keys, text, opened));
		ASSERT_EQ(size, xattr_long_seal(keys, plain, again, prefix));
		ASSERT_STR_EQ(text, again);
		prefix[n % (size_t)size] ^= 1;
		ASSERT_EQ(-EBADMSG, xattr_long_open(keys, text, prefix,
		                                    (size_t)size, opened));
	}
	ASSERT_EQ(-EBADMSG, xattr_long_open(keys, text, prefix, 0, opened));
	PASS();
}

/* SHA-256("abc") begins with ba7816bf 8f01cfea. */
TEST attribute_index(void)
{
	ASSERT_EQ(0xeacf018fbf1678baull, xattr_index("abc"));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (keys_new(&keys, master, ADIANTUM_XCHACHA12))
		return 1;
	RUN_TEST(link_sizes);
	RUN_TEST(value_sizes);
	RUN_TEST(attribute_names);
	RUN_TEST(long_attribute_names);
	RUN_TEST(attribute_index);
	keys_free(keys);
	GREATEST_MAIN_END();
}
