#include "fs/format/base64url.h"

#include <errno.h>

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '-')
		return 62;
	if (c == '_')
		return 63;
	return -1;
}

bool base64url_is_char(char c)
{
	return value_of(c) >= 0;
}

size_t base64url_encode(char *text, const uint8_t *bytes, size_t size)
{
	uint32_t bits = 0;
	unsigned count = 0;
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		bits = bits << 8 | bytes[i];
		for (count += 8; count >= 6; count -= 6)
			text[n++] = alphabet[bits >> (count - 6) & 63];
	}
	if (count)
		text[n++] = alphabet[bits << (6 - count) & 63];
	text[n] = '\0';
	return n;
}

int base64url_decode(uint8_t *bytes, size_t room, const char *text,
                     size_t length)
{
	uint32_t bits = 0;
	unsigned count = 0;
	size_t n = 0;

	if (length % 4 == 1)
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		int v = value_of(text[i]);

		if (v < 0)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)v;
		count += 6;
		if (count >= 8) {
			if (n == room)
				return -EINVAL;
			count -= 8;
			bytes[n++] = bits >> count & 0xff;
		}
	}
	if (bits & ((1u << count) - 1))
		return -EINVAL;
	return (int)n;
}
