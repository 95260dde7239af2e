/* Reading a manifest together with its signature. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/volume/manifest_impl.h"
#include "fs/volume/manifest_lines.h"
#include "fs/volume/manifest_sign.h"

enum { TAIL_MAX = 512 }; /* bytes of the signature's last two lines, at most */

struct manifest {
	struct lines *text;
	struct lines *signature;        /* NULL where there is none */
	EVP_MD_CTX *digest;             /* over the manifest */
	EVP_MAC_CTX *sign;              /* over the signature; NULL without key */
	const uint8_t *key;
	struct manifest_info info;
	struct manifest_entry entry;
	char *previous;                 /* path: they ascend */
	uint64_t entries, files, bytes; /* of this pass */
	bool second_pass;
	bool half_renamed; /* the signature still has its temporary name */
	uint8_t text_digest[MANIFEST_DIGEST], mac[MANIFEST_MAC];
	struct manifest_status *status;
};

/* In a second pass all was right once, so it must have changed since. */
__attribute__((format(printf, 3, 4)))
static int bad(struct manifest *m, enum manifest_error error,
               const char *format, ...)
{
	va_list args;

	if (m->second_pass)
		return -ESTALE;
	m->status->error = error;
	va_start(args, format);
	vsnprintf(m->status->problem, sizeof(m->status->problem), format, args);
	va_end(args);
	return -EBADMSG;
}

static int bad_io(struct manifest *m, int error)
{
	if (m->second_pass)
		return error;
	m->status->io_error = error;
	bad(m, MANIFEST_IO, "%s", strerror(-error));
	return error;
}

static int bad_line(struct manifest *m, const struct lines *l, const char *what)
{
	return bad(m, MANIFEST_BAD, "line %llu of the %s %s",
	           (unsigned long long)l->number,
	           l == m->text ? "manifest" : "signature", what);
}

static int bad_next(struct manifest *m, const struct lines *l, ssize_t error,
                    const char *problem)
{
	return error == -EBADMSG ? bad_line(m, l, problem)
	     : error == -ENODATA ? bad_line(m, l, "is missing")
	     : bad_io(m, (int)error);
}

/* ---- entries ---- */

static void entry_clear(struct manifest_entry *e)
{
	free(e->path);
	free(e->target);
	memset(e, 0, sizeof(*e));
}

/* Take the path of an entry: valid, and behind that of the last one. */
static int take_path(struct manifest *m, const struct lines *l, const char *path)
{
	if (!manifest_path_valid(path))
		return bad_line(m, l, "has a path that cannot lie in a volume");
	if (m->previous && manifest_path_compare(m->previous, path) >= 0)
		return bad_line(m, l, "is not in its place");
	free(m->previous);
	m->previous = strdup(path);
	m->entry.path = strdup(path);
	return m->previous && m->entry.path ? 0 : bad_io(m, -ENOMEM);
}

/* The manifest's next line, as the entry. 1, 0 at the end, or an error. */
static int read_text(struct manifest *m)
{
	const char *problem = "";
	ssize_t n = lines_next(m->text, &problem);
	char *path;
	int error;

	if (n == -ENODATA)
		return 0;
	if (n < 0)
		return bad_next(m, m->text, n, problem);
	if (EVP_DigestUpdate(m->digest, m->text->line, (size_t)n) != 1 ||
	    EVP_DigestUpdate(m->digest, "\n", 1) != 1)
		return bad_io(m, -EIO);
	if (manifest_parse(m->text->line, m->entry.digest, &path))
		return bad_line(m, m->text, "is not one of `b2sum` with a path "
		                "that can lie in a volume");
	error = take_path(m, m->text, path);
	m->entry.kind = MANIFEST_FILE;
	m->files++;
	return error ? error : 1;
}

/* The signature's next line; all of them but the last are signed. Its length or
 * an error, after bad(). */
static ssize_t read_signature(struct manifest *m)
{
	const char *problem = "";
	ssize_t n = lines_next(m->signature, &problem);
	const char *line = m->signature->line;

	if (n < 0)
		return bad_next(m, m->signature, n, problem);
	if (m->sign && strncmp(line, "mac ", 4) &&
	    (manifest_sign_add(m->sign, line, (size_t)n) ||
	     manifest_sign_add(m->sign, "\n", 1)))
		return bad_io(m, -EIO);
	return n;
}

static bool time_of(char *text, int64_t *seconds, uint32_t *nanoseconds)
{
	char *point = strchr(text, '.');
	uint32_t v = 0;

	if (!point || strlen(point + 1) != 9)
		return false;
	*point++ = '\0';
	for (; *point; point++) {
		if (*point < '0' || *point > '9')
			return false;
		v = v * 10 + (uint32_t)(*point - '0');
	}
	*nanoseconds = v;
	return lines_signed(text, seconds);
}

static bool olds_of(struct manifest_entry *e, const char *text)
{
	while (*text) {
		if (e->olds == MANIFEST_OLD_MAX ||
		    manifest_unhex(e->old[e->olds++], MANIFEST_OLD_SIZE, text))
			return false;
		text += 2 * MANIFEST_OLD_SIZE;
		if (*text && (*text++ != ',' || !*text))
			return false;
	}
	return true;
}

/* "F size mtime ctime inode group [old,...]", of the manifest's next line. */
static int read_file(struct manifest *m)
{
	struct manifest_entry *e = &m->entry;
	struct manifest_facts *f = &e->facts;
	char *words[8];
	size_t n = lines_words(m->signature->line, words, 8);
	int more;

	if ((n != 6 && n != 7) ||
	    !lines_number(words[1], INT64_MAX, &f->size) ||
	    !time_of(words[2], &f->mtime.seconds, &f->mtime.nanoseconds) ||
	    !time_of(words[3], &f->ctime.seconds, &f->ctime.nanoseconds) ||
	    !lines_number(words[4], UINT64_MAX, &f->inode) ||
	    !lines_number(words[5], UINT64_MAX, &e->group) ||
	    (n == 7 && !olds_of(e, words[6])))
		return bad_line(m, m->signature, "is no file's");
	e->has_facts = true;
	m->bytes += f->size;
	more = read_text(m);
	return more ? more : bad(m, MANIFEST_MISMATCHED,
	                         "the manifest has fewer lines than the signature");
}

/* "D path". */
static int read_dir(struct manifest *m)
{
	char *path = m->signature->line + 2;

	if (manifest_unescape(path))
		return bad_line(m, m->signature, "is no directory's");
	m->entry.kind = MANIFEST_DIR;
	return take_path(m, m->signature, path);
}

/* "L group path", and "T target" in a line of its own. */
static int read_link(struct manifest *m)
{
	struct manifest_entry *e = &m->entry;
	struct lines *l = m->signature;
	char *words[3];
	ssize_t n;
	int error;

	if (lines_words(l->line, words, 3) != 3 ||
	    !lines_number(words[1], UINT64_MAX, &e->group) ||
	    manifest_unescape(words[2]))
		return bad_line(m, l, "is no link's");
	e->kind = MANIFEST_LINK;
	error = take_path(m, l, words[2]);
	if (error)
		return error;
	n = read_signature(m);
	if (n < 0)
		return (int)n;
	if (strncmp(l->line, "T ", 2) || n > 2 + 2 * MANIFEST_TARGET_MAX ||
	    manifest_unescape(l->line + 2))
		return bad_line(m, l, "is no link's target");
	e->target = strdup(l->line + 2);
	error = e->target ? manifest_digest(e->digest, e->target) : -ENOMEM;
	return error ? bad_io(m, error) : 0;
}

/* "N kind device group path". */
static int read_other(struct manifest *m)
{
	struct manifest_entry *e = &m->entry;
	struct lines *l = m->signature;
	char *words[5];

	if (lines_words(l->line, words, 5) != 5 ||
	    strlen(words[1]) + strlen(words[2]) > MANIFEST_OTHER_TEXT - 2 ||
	    !lines_number(words[3], UINT64_MAX, &e->group) ||
	    manifest_unescape(words[4]))
		return bad_line(m, l, "is no entry's");
	e->kind = MANIFEST_OTHER;
	if (asprintf(&e->target, "%s %s", words[1], words[2]) < 0) {
		e->target = NULL;
		return bad_io(m, -ENOMEM);
	}
	return take_path(m, l, words[4]);
}

/* ---- the beginning and the end ---- */

static int read_beginning(struct manifest *m)
{
	const char *line = m->signature->line;
	ssize_t n = read_signature(m);

	if (n < 0)
		return (int)n;
	if (strncmp(line, "frondfs seal ", 13))
		return bad_line(m, m->signature, "is not that of a signature");
	if (strcmp(line + 13, "1"))
		return bad(m, MANIFEST_NEWER, "%.20s", line);
	n = read_signature(m);
	if (n < 0)
		return (int)n;
	if (strncmp(line, "time ", 5) || !lines_signed(line + 5, &m->info.time))
		return bad_line(m, m->signature, "is no time");
	return 0;
}

/* "manifest bytes digest": compared with the manifest. */
static int check_text(struct manifest *m, char *line,
                      const uint8_t digest[MANIFEST_DIGEST])
{
	uint8_t want[MANIFEST_DIGEST];
	char *words[3];
	uint64_t bytes;

	if (lines_words(line, words, 3) != 3 || strcmp(words[0], "manifest") ||
	    !lines_number(words[1], UINT64_MAX, &bytes) ||
	    strlen(words[2]) != 2 * MANIFEST_DIGEST ||
	    manifest_unhex(want, MANIFEST_DIGEST, words[2]))
		return bad(m, MANIFEST_BAD,
		           "the signature does not end as one does: is it cut?");
	if (memcmp(want, digest, MANIFEST_DIGEST))
		return bad(m, MANIFEST_MISMATCHED,
		           "the signature is that of another manifest");
	return 0;
}

/* The end: "end entries", "manifest ...", "mac ...". */
static int read_end(struct manifest *m)
{
	uint8_t digest[MANIFEST_DIGEST], mac[MANIFEST_MAC], wanted[MANIFEST_MAC];
	struct lines *l = m->signature;
	const char *problem;
	uint64_t entries;
	ssize_t n;
	int more;

	if (!lines_number(l->line + 4, UINT64_MAX, &entries) ||
	    entries != m->entries)
		return bad_line(m, l, "tells another number of entries");
	more = read_text(m);
	entry_clear(&m->entry);
	if (more)
		return more < 0 ? more : bad(m, MANIFEST_MISMATCHED,
			"the manifest has more lines than the signature");
	if (EVP_DigestFinal_ex(m->digest, digest, NULL) != 1)
		return bad_io(m, -EIO);
	n = read_signature(m);
	if (n < 0)
		return (int)n;
	more = check_text(m, l->line, digest);
	if (more)
		return more;
	n = read_signature(m);
	if (n < 0)
		return (int)n;
	if (n != 4 + 2 * MANIFEST_MAC || strncmp(l->line, "mac ", 4) ||
	    manifest_unhex(wanted, MANIFEST_MAC, l->line + 4))
		return bad_line(m, l, "is no signature");
	if (lines_next(l, &problem) != -ENODATA)
		return bad_line(m, l, "comes after the end");
	if (!m->sign)
		return 0;
	if (manifest_sign_end(m->sign, mac))
		return bad_io(m, -EIO);
	if (CRYPTO_memcmp(mac, wanted, MANIFEST_MAC))
		return bad(m, MANIFEST_FORGED, "the signature is not of this "
		           "volume's key, or was changed");
	if (m->second_pass && memcmp(mac, m->mac, MANIFEST_MAC))
		return -ESTALE;
	memcpy(m->mac, mac, MANIFEST_MAC);
	return 0;
}

/* The end of a manifest without a signature. */
static int text_end(struct manifest *m)
{
	uint8_t digest[MANIFEST_DIGEST];

	if (EVP_DigestFinal_ex(m->digest, digest, NULL) != 1)
		return bad_io(m, -EIO);
	if (m->second_pass && memcmp(digest, m->text_digest, MANIFEST_DIGEST))
		return -ESTALE;
	memcpy(m->text_digest, digest, MANIFEST_DIGEST);
	return 0;
}

int manifest_next(struct manifest *m, const struct manifest_entry **entry)
{
	const char *line;
	ssize_t n;
	int error;

	entry_clear(&m->entry);
	if (!m->signature) {
		error = read_text(m);
		if (!error)
			error = text_end(m);
		m->entries += error == 1;
		*entry = &m->entry;
		return error;
	}
	n = read_signature(m);
	if (n < 0)
		return (int)n;
	line = m->signature->line;
	if (!strncmp(line, "end ", 4))
		return read_end(m);
	if (!strncmp(line, "F ", 2))
		error = read_file(m);
	else if (!strncmp(line, "D ", 2))
		error = read_dir(m);
	else if (!strncmp(line, "L ", 2))
		error = read_link(m);
	else if (!strncmp(line, "N ", 2))
		error = read_other(m);
	else
		error = bad_line(m, m->signature, "is of no kind that is known");
	if (error < 0)
		return error;
	m->entries++;
	*entry = &m->entry;
	return 1;
}

static int begin_pass(struct manifest *m)
{
	free(m->previous);
	m->previous = NULL;
	m->entries = m->files = m->bytes = 0;
	if (EVP_DigestInit_ex(m->digest, EVP_blake2b512(), NULL) != 1 ||
	    (m->sign && manifest_sign_begin(m->sign, m->key)))
		return bad_io(m, -EIO);
	return m->signature ? read_beginning(m) : 0;
}

int manifest_rewind(struct manifest *m)
{
	int error = lines_rewind(m->text);

	m->second_pass = true;
	if (!error && m->signature)
		error = lines_rewind(m->signature);
	return error ? error : begin_pass(m);
}

/* ---- opening ---- */

/* Whether the two files are of one seal, before their lines are compared: with
 * another manifest these would say something less clear. */
static int check_pair(struct manifest *m)
{
	uint8_t digest[MANIFEST_DIGEST];
	char tail[TAIL_MAX + 1], *line;
	struct stat st;
	off_t from;
	ssize_t n;

	if (EVP_DigestInit_ex(m->digest, EVP_blake2b512(), NULL) != 1)
		return bad_io(m, -EIO);
	while ((n = read(m->text->fd, m->text->buf, sizeof(m->text->buf))) > 0)
		if (EVP_DigestUpdate(m->digest, m->text->buf, (size_t)n) != 1)
			return bad_io(m, -EIO);
	if (n < 0 || fstat(m->signature->fd, &st))
		return bad_io(m, -errno);
	if (EVP_DigestFinal_ex(m->digest, digest, NULL) != 1)
		return bad_io(m, -EIO);
	from = st.st_size > TAIL_MAX ? st.st_size - TAIL_MAX : 0;
	n = pread(m->signature->fd, tail, TAIL_MAX, from);
	if (n < 0)
		return bad_io(m, -errno);
	if (n < 13 || memcmp(tail, "frondfs seal ", 13) || from) {
		char head[13];

		if (pread(m->signature->fd, head, 13, 0) != 13 ||
		    memcmp(head, "frondfs seal ", 13))
			return bad(m, MANIFEST_BAD, "it is no signature");
	}
	tail[n] = '\0';
	line = memmem(tail, (size_t)n, "\nmanifest ", 10);
	if (line)
		line[1 + strcspn(line + 1, "\n")] = '\0';
	n = check_text(m, line ? line + 1 : tail + n, digest);
	if (n)
		return (int)n;
	return lines_rewind(m->text);
}

static void manifest_clear(struct manifest *m)
{
	lines_free(m->text);
	lines_free(m->signature);
	EVP_MD_CTX_free(m->digest);
	EVP_MAC_CTX_free(m->sign);
	entry_clear(&m->entry);
	free(m->previous);
	memset(m, 0, sizeof(*m));
}

static int first_pass(struct manifest *m)
{
	const struct manifest_entry *entry;
	int more = m->signature ? check_pair(m) : 0;

	if (!more)
		more = begin_pass(m);
	if (more)
		return more;
	while ((more = manifest_next(m, &entry)) > 0)
		;
	if (more)
		return more;
	m->info.entries = m->entries;
	m->info.files = m->files;
	m->info.bytes = m->bytes;
	m->info.has_signature = m->signature != NULL;
	m->info.checked = m->sign != NULL;
	return manifest_rewind(m);
}

/* Open the manifest with the signature `path` + `mark`; NULL: with none. */
static int open_with(struct manifest *m, const char *path, const char *mark,
                     const uint8_t *key, struct manifest_status *status)
{
	char *name = NULL;
	int error;

	*status = (struct manifest_status){ .error = MANIFEST_OK };
	m->status = status;
	m->key = key;
	error = lines_open(&m->text, path);
	if (error == -ENOENT)
		return bad(m, MANIFEST_NONE, "there is no %.120s", path);
	if (error)
		return bad_io(m, error);
	if (mark) {
		if (asprintf(&name, "%s%s", path, mark) < 0)
			return bad_io(m, -ENOMEM);
		error = lines_open(&m->signature, name);
		free(name);
		if (error == -ENOENT)
			return bad(m, MANIFEST_UNSIGNED,
			           "there is no signature beside it");
		if (error)
			return bad_io(m, error);
	}
	m->digest = EVP_MD_CTX_new();
	m->sign = key ? manifest_sign_new(key) : NULL;
	if (!m->digest || (key && !m->sign))
		return bad_io(m, -ENOMEM);
	return first_pass(m);
}

struct manifest *manifest_open(const char *path, const uint8_t *key,
                               struct manifest_status *status)
{
	struct manifest_status other;
	struct manifest *m = calloc(1, sizeof(*m));

	if (!m) {
		*status = (struct manifest_status){
			.error = MANIFEST_IO, .io_error = -ENOMEM,
		};
		return NULL;
	}
	if (!open_with(m, path, MANIFEST_SIGNATURE, key, status))
		return m;
	manifest_clear(m);
	/* A seal that was killed between its two renames. */
	if (status->error != MANIFEST_NONE &&
	    !open_with(m, path, MANIFEST_SIGNATURE MANIFEST_TEMP, key, &other)) {
		status->error = MANIFEST_OK;
		m->half_renamed = true;
		return m;
	}
	manifest_clear(m);
	if (status->error == MANIFEST_UNSIGNED && !key) {
		if (!open_with(m, path, NULL, NULL, status))
			return m;
		manifest_clear(m);
	}
	free(m);
	return NULL;
}

int manifest_settle(struct manifest *m, const char *path)
{
	char *from = NULL, *to = NULL;
	int error = 0;

	if (!m->half_renamed)
		return 0;
	if (asprintf(&from, "%s" MANIFEST_SIGNATURE MANIFEST_TEMP, path) < 0)
		from = NULL;
	if (asprintf(&to, "%s" MANIFEST_SIGNATURE, path) < 0)
		to = NULL;
	if (!from || !to)
		error = -ENOMEM;
	else if (rename(from, to))
		error = -errno;
	free(from);
	free(to);
	m->half_renamed = error != 0;
	return error;
}

void manifest_close(struct manifest *m)
{
	if (!m)
		return;
	manifest_clear(m);
	free(m);
}

const struct manifest_info *manifest_info(const struct manifest *m)
{
	return &m->info;
}
