#include "fs/volume/manifest_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int lines_open(struct lines **out, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	struct lines *l;
	int error = fd < 0 || fstat(fd, &st) ? -errno
		: S_ISDIR(st.st_mode) ? -EISDIR
		: S_ISREG(st.st_mode) ? 0 : -EINVAL;

	l = error ? NULL : malloc(sizeof(*l));
	if (!l) {
		if (fd >= 0)
			close(fd);
		return error ? error : -ENOMEM;
	}
	l->fd = fd;
	l->from = l->to = 0;
	l->number = l->bytes = 0;
	*out = l;
	return 0;
}

void lines_free(struct lines *l)
{
	if (!l)
		return;
	close(l->fd);
	free(l);
}

int lines_rewind(struct lines *l)
{
	if (lseek(l->fd, 0, SEEK_SET) < 0)
		return -errno;
	l->from = l->to = 0;
	l->number = l->bytes = 0;
	return 0;
}

/* Returns whether there was more, or the error. */
static int fill(struct lines *l)
{
	ssize_t n;

	do
		n = read(l->fd, l->buf, sizeof(l->buf));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	l->from = 0;
	l->to = (size_t)n;
	return n > 0;
}

ssize_t lines_next(struct lines *l, const char **problem)
{
	size_t n = 0;

	l->number++;
	for (;;) {
		size_t left, part;
		char *end;

		if (l->from == l->to) {
			int more = fill(l);

			if (more < 0)
				return more;
			if (!more && n == 0)
				return -ENODATA;
			if (!more) {
				*problem = "is cut";
				return -EBADMSG;
			}
		}
		left = l->to - l->from;
		end = memchr(l->buf + l->from, '\n', left);
		part = end ? (size_t)(end - l->buf) - l->from : left;
		if (n + part >= sizeof(l->line)) {
			*problem = "is too long";
			return -EBADMSG;
		}
		memcpy(l->line + n, l->buf + l->from, part);
		n += part;
		l->from += part;
		if (!end)
			continue;
		l->from++;
		l->bytes += n + 1;
		l->line[n] = '\0';
		if (strlen(l->line) == n)
			return (ssize_t)n;
		*problem = "has a NUL in it";
		return -EBADMSG;
	}
}

bool lines_number(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text || (*text == '0' && text[1]))
		return false;
	for (; *text; text++) {
		uint64_t digit = (uint64_t)(*text - '0');

		if (*text < '0' || *text > '9' || v > UINT64_MAX / 10 ||
		    v * 10 > UINT64_MAX - digit)
			return false;
		v = v * 10 + digit;
	}
	*value = v;
	return v <= max;
}

bool lines_signed(const char *text, int64_t *value)
{
	bool minus = *text == '-';
	uint64_t v;

	if (!lines_number(text + minus, INT64_MAX, &v) || (minus && !v))
		return false;
	*value = minus ? -(int64_t)v : (int64_t)v;
	return true;
}

size_t lines_words(char *text, char *words[], size_t max)
{
	size_t n = 0;

	while (text && n < max) {
		words[n++] = text;
		if (n == max)
			break;
		text = strchr(text, ' ');
		if (text)
			*text++ = '\0';
	}
	return n;
}
