/* Writing a manifest and its signature. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fs/format/keys.h"
#include "fs/volume/manifest_groups.h"
#include "fs/volume/manifest_impl.h"
#include "fs/volume/manifest_output.h"
#include "fs/volume/manifest_sign.h"

struct sealing {
	struct manifest_seal *seal;
	struct manifest *old;           /* what stood there, or NULL */
	const struct manifest_entry *at;/* where it is; NULL at its end */
	struct groups *groups;
	struct output text, signature;
	EVP_MD_CTX *digest;
	EVP_MAC_CTX *sign;
	uint64_t entries, bytes;
	char line[MANIFEST_LINE_MAX];
};

void manifest_facts_of(struct manifest_facts *facts, const struct stat *st)
{
	facts->size = (uint64_t)st->st_size;
	facts->inode = st->st_ino;
	facts->mtime.seconds = st->st_mtim.tv_sec;
	facts->mtime.nanoseconds = (uint32_t)st->st_mtim.tv_nsec;
	facts->ctime.seconds = st->st_ctim.tv_sec;
	facts->ctime.nanoseconds = (uint32_t)st->st_ctim.tv_nsec;
}

/* Remember what an error is about; the first one stays. */
static int about(struct sealing *s, bool in_volume, const char *path, int error)
{
	if (error && !s->seal->failed) {
		s->seal->failed = strdup(path);
		s->seal->in_volume = in_volume;
	}
	return error;
}

/* ---- lines ---- */

static int signature_put(struct sealing *s, const char *text, size_t size)
{
	if (fwrite(text, 1, size, s->signature.stream) != size)
		return about(s, false, s->signature.temp, -errno);
	return manifest_sign_add(s->sign, text, size);
}

__attribute__((format(printf, 2, 3)))
static int signature_print(struct sealing *s, const char *format, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return signature_put(s, text, (size_t)n);
}

/* The end of a line: a path or target, escaped, and the line end. */
static int signature_path(struct sealing *s, const char *path)
{
	size_t n = manifest_escape(s->line, path, NULL);

	s->line[n++] = '\n';
	return signature_put(s, s->line, n);
}

static int text_line(struct sealing *s, const struct scan_item *item)
{
	char *p = s->line + 1;
	size_t size;
	bool escaped;

	manifest_hex(p, item->digest, MANIFEST_DIGEST);
	memcpy(p + 2 * MANIFEST_DIGEST, "  ./", 4);
	size = 2 * MANIFEST_DIGEST + 4;
	size += manifest_escape(p + size, item->path, &escaped);
	p[size++] = '\n';
	if (escaped) {
		*--p = '\\';
		size++;
	}
	s->bytes += size;
	if (fwrite(p, 1, size, s->text.stream) != size)
		return about(s, false, s->text.temp, -errno);
	return EVP_DigestUpdate(s->digest, p, size) == 1 ? 0 : -EIO;
}

static int file_line(struct sealing *s, const struct scan_item *item,
                     uint64_t group)
{
	char olds[MANIFEST_OLD_MAX * (2 * MANIFEST_OLD_SIZE + 1) + 2] = "";
	struct manifest_facts f;
	size_t n = 0;

	manifest_facts_of(&f, &item->st);
	for (unsigned i = 0; i < item->olds; i++) {
		olds[n++] = i ? ',' : ' ';
		manifest_hex(olds + n, item->old[i], MANIFEST_OLD_SIZE);
		n += 2 * MANIFEST_OLD_SIZE;
	}
	return signature_print(s, "F %" PRIu64 " %" PRId64 ".%09" PRIu32
	                       " %" PRId64 ".%09" PRIu32 " %" PRIu64 " %" PRIu64
	                       "%s\n", f.size, f.mtime.seconds,
	                       f.mtime.nanoseconds, f.ctime.seconds,
	                       f.ctime.nanoseconds, f.inode, group, olds);
}

/* The state before this one, in front of those that were known then. */
static void push_old(struct scan_item *item)
{
	unsigned n = 0;

	if (!item->has_before)
		return;
	if (memcmp(item->before, item->digest, MANIFEST_DIGEST)) {
		n = item->olds < MANIFEST_OLD_MAX ? item->olds
		                                  : MANIFEST_OLD_MAX - 1;
		memmove(item->old[1], item->old[0], n * MANIFEST_OLD_SIZE);
		memcpy(item->old[0], item->before, MANIFEST_OLD_SIZE);
		item->olds = n + 1;
	}
	/* A state that is sealed again is none to be warned of. */
	n = 0;
	for (unsigned i = 0; i < item->olds; i++)
		if (memcmp(item->old[i], item->digest, MANIFEST_OLD_SIZE))
			memmove(item->old[n++], item->old[i],
			        MANIFEST_OLD_SIZE);
	item->olds = n;
}

static int sealed_entry(void *context, struct scan_item *item)
{
	struct sealing *s = context;
	uint64_t group;
	int error = item->error;

	if (error)
		return about(s, true, item->path, error);
	error = groups_number(&s->groups, &item->st, &group);
	if (error)
		return error;
	s->entries++;
	if (S_ISREG(item->st.st_mode)) {
		push_old(item);
		error = file_line(s, item, group);
		if (!error)
			error = text_line(s, item);
	} else if (S_ISDIR(item->st.st_mode)) {
		error = signature_put(s, "D ", 2);
		if (!error)
			error = signature_path(s, item->path);
	} else if (S_ISLNK(item->st.st_mode)) {
		error = signature_print(s, "L %" PRIu64 " ", group);
		if (!error)
			error = signature_path(s, item->path);
		if (!error)
			error = signature_put(s, "T ", 2);
		if (!error)
			error = signature_path(s, item->target);
	} else {
		error = signature_print(s, "N %s %" PRIu64 " ", item->target,
		                        group);
		if (!error)
			error = signature_path(s, item->path);
	}
	return error;
}

/* ---- what was sealed before ---- */

static bool same_facts(const struct manifest_facts *a,
                       const struct manifest_facts *b)
{
	return a->size == b->size && a->inode == b->inode &&
	       a->mtime.seconds == b->mtime.seconds &&
	       a->mtime.nanoseconds == b->mtime.nanoseconds &&
	       a->ctime.seconds == b->ctime.seconds &&
	       a->ctime.nanoseconds == b->ctime.nanoseconds;
}

/*
 * Find the item's old entry, and say whether it still holds. A file that was
 * changed within the last seconds before the old seal may have been changed
 * again in the same tick of the store's clock: its times say nothing.
 */
static bool known(void *context, struct scan_item *item)
{
	enum { TICK = 3 }; /* seconds: FAT's is two */
	struct sealing *s = context;
	const struct manifest_entry *e;
	struct manifest_facts facts;
	int order = -1;

	while (s->at && (order = manifest_path_compare(s->at->path,
	                                               item->path)) < 0)
		if (manifest_next(s->old, &s->at) != 1)
			s->at = NULL;
	e = s->at;
	if (!e || order || e->kind != MANIFEST_FILE)
		return false;
	item->has_before = true;
	memcpy(item->before, e->digest, MANIFEST_DIGEST);
	item->olds = e->olds;
	memcpy(item->old, e->old, sizeof(e->old));
	manifest_facts_of(&facts, &item->st);
	if (!s->seal->update || !same_facts(&facts, &e->facts) ||
	    facts.ctime.seconds + TICK > manifest_info(s->old)->time)
		return false;
	memcpy(item->digest, e->digest, MANIFEST_DIGEST);
	return true;
}

/* ---- the whole ---- */

static int begin(struct sealing *s, const struct volume *volume)
{
	const char *path = s->seal->path;
	int error = s->old ? manifest_settle(s->old, path) : 0;

	if (!error)
		error = output_open(&s->text, path, "");
	if (error)
		return about(s, false, s->text.temp ? s->text.temp : path, error);
	error = output_open(&s->signature, path, MANIFEST_SIGNATURE);
	if (error)
		return about(s, false,
		             s->signature.temp ? s->signature.temp : path, error);
	s->digest = EVP_MD_CTX_new();
	s->sign = manifest_sign_new(volume->keys->seal);
	if (!s->digest || !s->sign)
		return -ENOMEM;
	if (EVP_DigestInit_ex(s->digest, EVP_blake2b512(), NULL) != 1)
		return -EIO;
	s->seal->time = (int64_t)time(NULL);
	return signature_print(s, "frondfs seal 1\ntime %" PRId64 "\n",
	                       s->seal->time);
}

static int finish(struct sealing *s)
{
	uint8_t digest[MANIFEST_DIGEST], mac[MANIFEST_MAC];
	char hex[2 * MANIFEST_DIGEST + 1];
	int error;

	if (EVP_DigestFinal_ex(s->digest, digest, NULL) != 1)
		return -EIO;
	manifest_hex(hex, digest, MANIFEST_DIGEST);
	error = signature_print(s, "end %" PRIu64 "\nmanifest %" PRIu64 " %s\n",
	                        s->entries, s->bytes, hex);
	if (!error)
		error = manifest_sign_end(s->sign, mac);
	if (error)
		return error;
	manifest_hex(hex, mac, MANIFEST_MAC);
	if (fprintf(s->signature.stream, "mac %s\n", hex) < 0)
		return about(s, false, s->signature.temp, -errno);
	/* Both are whole before one is renamed. A reader that finds the new
	 * manifest beside the old signature takes the temporary one. */
	error = about(s, false, s->text.temp, output_sync(&s->text));
	if (!error)
		error = about(s, false, s->signature.temp,
		              output_sync(&s->signature));
	if (!error)
		error = about(s, false, s->text.path, output_rename(&s->text));
	if (!error)
		error = about(s, false, s->signature.path,
		              output_rename(&s->signature));
	if (!error)
		error = output_sync_folder(&s->text);
	return error;
}

int manifest_seal(const struct volume *volume, struct manifest_seal *seal,
                  struct manifest_progress *progress)
{
	struct sealing *s = calloc(1, sizeof(*s));
	const struct manifest_scan scan = {
		.root = volume->root, .threads = seal->threads,
		.progress = progress, .context = s, .known = known,
		.entry = sealed_entry,
	};
	int error;

	if (!s)
		return -ENOMEM;
	s->seal = seal;
	seal->failed = NULL;
	seal->in_volume = false;
	s->old = manifest_open(seal->path, volume->keys->seal, &seal->old);
	if (s->old && manifest_next(s->old, &s->at) != 1)
		s->at = NULL;
	error = begin(s, volume);
	if (!error)
		error = manifest_scan(&scan);
	seal->entries = s->entries;
	if (!error)
		error = finish(s);
	if (s->text.stream && !s->text.temp)
		output_keep(&s->signature); /* the manifest's: see finish */
	output_close(&s->text);
	output_close(&s->signature);
	EVP_MD_CTX_free(s->digest);
	EVP_MAC_CTX_free(s->sign);
	groups_free(s->groups);
	manifest_close(s->old);
	free(s);
	return error;
}
