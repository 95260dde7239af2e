#include "tools/report.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at p, or 0 where there is none: overlong forms,
 * surrogates and what lies beyond U+10FFFF are none. p ends with NUL. */
static size_t character(const unsigned char *p)
{
	size_t n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2
		: *p < 0xf0 ? 3 : *p < 0xf5 ? 4 : 0;

	for (size_t k = 1; k < n; k++)
		if ((p[k] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

/* A name for a terminal: control characters would let a file's name write
 * anything there. Those of ISO 6429 are U+0080 to U+009F. */
void report_text(const char *path)
{
	const unsigned char *p = (const void *)path;

	while (*p) {
		size_t n = character(p);

		if (n == 0 || *p < 0x20 || *p == 0x7f) {
			printf("\\x%02x", *p++);
		} else if (*p == 0xc2 && p[1] < 0xa0) {
			printf("\\x%02x\\x%02x", p[0], p[1]);
			p += 2;
		} else {
			if (*p == '"' || *p == '\\')
				putchar('\\');
			fwrite(p, 1, n, stdout);
			p += n;
		}
	}
}

void report_path(const char *root, const char *path)
{
	putchar('"');
	report_text(root);
	if (*root && *path)
		putchar('/');
	report_text(path);
	putchar('"');
}

/* Paths need not be UTF-8, as JSON must be: other bytes become U+FFFD, and
 * the exact path stands beside it in hexadecimal digits. */
void report_add_path(json_object *object, const char *name, const char *path)
{
	static const char digits[] = "0123456789abcdef";
	size_t size = strlen(path), n = 0;
	char *text = malloc(size * 3 + 1), *hex = malloc(size * 2 + 1);
	char hex_name[32];
	bool exact = true;

	if (!text || !hex)
		goto out;
	for (size_t i = 0; i < size;) {
		size_t more = character((const unsigned char *)path + i);

		if (more) {
			memcpy(text + n, path + i, more);
			n += more;
			i += more;
		} else {
			memcpy(text + n, "\xef\xbf\xbd", 3);
			n += 3;
			i++;
			exact = false;
		}
	}
	text[n] = '\0';
	json_object_object_add(object, name, json_object_new_string(text));
	if (!exact) {
		for (size_t i = 0; i < size; i++) {
			hex[2 * i] = digits[(unsigned char)path[i] >> 4];
			hex[2 * i + 1] = digits[(unsigned char)path[i] & 15];
		}
		hex[2 * size] = '\0';
		snprintf(hex_name, sizeof(hex_name), "%s_hex", name);
		json_object_object_add(object, hex_name,
		                       json_object_new_string(hex));
	}
out:
	free(text);
	free(hex);
}

void report_add_number(json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

void report_json(json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
	                                    JSON_C_TO_STRING_NOSLASHESCAPE));
	fflush(stdout);
	json_object_put(object);
}

void report_bytes(char text[REPORT_BYTES], double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t u = 0;

	while (bytes >= 1024 && u < 4) {
		bytes /= 1024;
		u++;
	}
	snprintf(text, REPORT_BYTES, u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

