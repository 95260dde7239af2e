#include "fs/format/manifest.h"

#include <errno.h>
#include <string.h>

#include "fs/format/base64url.h"
#include "fs/format/name.h"

size_t manifest_escape(char *out, const char *path, bool *escaped)
{
	size_t n = 0;
	bool any = false;

	for (; *path; path++) {
		char letter = *path == '\\' ? '\\' : *path == '\n' ? 'n'
			: *path == '\r' ? 'r' : 0;

		if (letter) {
			out[n++] = '\\';
			any = true;
		}
		out[n++] = letter ? letter : *path;
	}
	out[n] = '\0';
	if (escaped)
		*escaped = any;
	return n;
}

int manifest_unescape(char *text)
{
	char *out = text;

	for (; *text; text++) {
		if (*text != '\\') {
			*out++ = *text;
			continue;
		}
		text++;
		if (*text != '\\' && *text != 'n' && *text != 'r')
			return -EBADMSG;
		*out++ = *text == 'n' ? '\n' : *text == 'r' ? '\r' : '\\';
	}
	*out = '\0';
	return 0;
}

int manifest_parse(char *line, uint8_t digest[MANIFEST_DIGEST], char **path)
{
	bool escaped = *line == '\\';

	line += escaped;
	if (strnlen(line, 2 * MANIFEST_DIGEST + 2) < 2 * MANIFEST_DIGEST + 2 ||
	    manifest_unhex(digest, MANIFEST_DIGEST, line))
		return -EBADMSG;
	line += 2 * MANIFEST_DIGEST;
	if (line[0] != ' ' || (line[1] != ' ' && line[1] != '*'))
		return -EBADMSG;
	line += 2;
	if (escaped && manifest_unescape(line))
		return -EBADMSG;
	if (!strncmp(line, "./", 2))
		line += 2;
	*path = line;
	return manifest_path_valid(line) ? 0 : -EBADMSG;
}

bool manifest_path_valid(const char *path)
{
	if (strnlen(path, MANIFEST_PATH_MAX + 1) > MANIFEST_PATH_MAX)
		return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 0 || n > NAME_TEXT_MAX ||
		    (path[0] == '.' && (n == 1 || (n == 2 && path[1] == '.'))))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

/* A separator comes before all other bytes, so that what is below a directory
 * comes before a name that begins with the directory's. */
static unsigned rank(unsigned char c)
{
	return c == '/' ? 1 : c == '\0' ? 0 : c + 1u;
}

int manifest_path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (int)rank((unsigned char)*a) - (int)rank((unsigned char)*b);
}

bool manifest_path_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !n || (!strncmp(path, dir, n) && path[n] == '/');
}

bool manifest_covers(const char *name)
{
	size_t n = 0;

	switch (name_form(name)) {
	case NAME_TEMP:
	case NAME_SEAL_FILE:
	case NAME_OWN_UNKNOWN:
		return false;
	case NAME_FOREIGN:
		/* It may be a sync tool's copy of an entry, which is shown. */
		while (base64url_is_char(name[n]))
			n++;
		return n >= name_text_lengths()[0];
	default:
		return true;
	}
}

void manifest_hex(char *text, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = '\0';
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int manifest_unhex(uint8_t *bytes, size_t size, const char *text)
{
	for (size_t i = 0; i < size; i++) {
		int high = digit(text[2 * i]);
		int low = high < 0 ? -1 : digit(text[2 * i + 1]);

		if (low < 0)
			return -EBADMSG;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}
