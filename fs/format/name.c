#include "fs/format/name.h"

#include <errno.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "fs/format/base64url.h"
#include "fs/format/manifest.h"

enum {
	HASH_TEXT = BASE64URL_LENGTH(SHA256_DIGEST_LENGTH),
	ID_TEXT = BASE64URL_LENGTH(ID_SIZE),
	SEALED_MIN = 16 + SEAL_TRAILER,
};

/* The place of a name of `length` bytes: padding hides its exact length. */
static size_t place_of(size_t length)
{
	return (length + 15) / 16 * 16;
}

/* Whether these bytes may be a plaintext name. All of them are looked at,
 * whatever they hold. */
static bool is_possible(const char *plain, size_t length)
{
	bool bad = length == 0;

	for (size_t i = 0; i < length; i++)
		bad |= (plain[i] == '\0') | (plain[i] == '/');
	if (length == 1)
		bad |= plain[0] == '.';
	if (length == 2)
		bad |= (plain[0] == '.') & (plain[1] == '.');
	return !bad;
}

static void long_text(char text[NAME_TEXT_MAX + 1], const uint8_t *sealed,
                      size_t size)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];

	SHA256(sealed, size, hash);
	memcpy(text, NAME_LONG_PREFIX, sizeof(NAME_LONG_PREFIX));
	base64url_encode(text + sizeof(NAME_LONG_PREFIX) - 1, hash,
	                 sizeof(hash));
}

int name_encrypt(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                 const char *plain, size_t length, size_t limit,
                 struct name_text *out)
{
	uint8_t tweak[TWEAK_SIZE];
	size_t place;
	int error;

	if (length > NAME_PLAIN_MAX)
		return -ENAMETOOLONG;
	if (!is_possible(plain, length))
		return -EINVAL;
	place = place_of(length);
	tweak_make(tweak, dir_id, 0, TWEAK_NAME);
	error = seal(keys->name, tweak, out->sealed, plain, length, place);
	if (error)
		return -EIO;
	out->sealed_size = place + SEAL_TRAILER;
	out->is_long = BASE64URL_LENGTH(out->sealed_size) > limit ||
	               BASE64URL_LENGTH(out->sealed_size) > NAME_TEXT_MAX;
	if (out->is_long)
		long_text(out->text, out->sealed, out->sealed_size);
	else
		base64url_encode(out->text, out->sealed, out->sealed_size);
	return 0;
}

int name_decrypt(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                 const uint8_t *sealed, size_t size,
                 char plain[NAME_PLAIN_MAX + 1])
{
	uint8_t tweak[TWEAK_SIZE], opened[NAME_SEALED_MAX];
	size_t length = 0, place;
	uint8_t padding = 0;
	int error;

	if (size < SEALED_MIN || size > NAME_SEALED_MAX || size % 16)
		return -EBADMSG;
	place = size - SEAL_TRAILER;
	tweak_make(tweak, dir_id, 0, TWEAK_NAME);
	error = seal_open(keys->name, tweak, opened, &length, sealed, place);
	if (!error) {
		for (size_t i = length; i < place; i++)
			padding |= opened[i];
		/* A name has one sealed form only, so that what a listing
		 * shows is what a lookup finds. */
		if (length > NAME_PLAIN_MAX || place_of(length) != place ||
		    padding || !is_possible((char *)opened, length))
			error = -EBADMSG;
	}
	if (!error) {
		memcpy(plain, opened, length);
		plain[length] = '\0';
	}
	OPENSSL_cleanse(opened, sizeof(opened));
	return error ? error : (int)length;
}

int name_decrypt_text(const struct keys *keys, const uint8_t dir_id[ID_SIZE],
                      const char *text, size_t length,
                      char plain[NAME_PLAIN_MAX + 1])
{
	uint8_t sealed[NAME_SEALED_MAX];
	int size = base64url_decode(sealed, sizeof(sealed), text, length);

	if (size < 0)
		return -EBADMSG;
	return name_decrypt(keys, dir_id, sealed, (size_t)size, plain);
}

const uint16_t *name_text_lengths(void)
{
	static const uint16_t lengths[] = {
		43, 64, 86, 107, 128, 150, 171, 192, 214, 235, 0,
	};

	return lengths;
}

static bool all_base64url(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!base64url_is_char(text[i]))
			return false;
	return true;
}

static bool is_encrypted_form(const char *text, size_t length)
{
	const uint16_t *l = name_text_lengths();

	while (*l && *l < length)
		l++;
	return *l == length && all_base64url(text, length);
}

/* The rest of `text` after `prefix`, or NULL. */
static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

/* Whether `text` ends so; it may not consist of it alone. */
static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/* Where the hash stands in the text of a long name or of a conflict copy of
 * one; NULL if it is neither. */
static const char *find_hash(const char *text)
{
	const char *rest = after(text, NAME_LONG_PREFIX);
	size_t n = strlen(text);

	if (rest && strlen(rest) >= HASH_TEXT && all_base64url(rest, HASH_TEXT))
		return rest;
	/* Sync tools keep what looks like an extension at the end: the last
	 * dot and the hash after it. */
	if (n > sizeof(NAME_LONG_PREFIX) - 1 + HASH_TEXT &&
	    text[n - HASH_TEXT - 1] == '.' &&
	    all_base64url(text + n - HASH_TEXT, HASH_TEXT))
		return text + n - HASH_TEXT;
	return NULL;
}

static enum name_form long_form(const char *text)
{
	const char *hash = find_hash(text);
	const char *rest = after(text, NAME_LONG_PREFIX);

	if (!hash)
		return NAME_OWN_UNKNOWN;
	if (hash != rest)
		return NAME_LONG_CONFLICT;
	hash += HASH_TEXT;
	if (!*hash)
		return NAME_LONG;
	if (!strcmp(hash, NAME_LONG_SUFFIX))
		return NAME_LONG_FILE;
	/* A conflict copy of the file that holds the name: of no use. */
	if (ends_with(hash, NAME_LONG_SUFFIX))
		return NAME_OWN_UNKNOWN;
	return NAME_LONG_CONFLICT;
}

/* What may stand behind NAME_SEAL. */
static bool is_seal_mark(const char *mark)
{
	return !*mark || !strcmp(mark, MANIFEST_SIGNATURE) ||
	       !strcmp(mark, MANIFEST_TEMP) ||
	       !strcmp(mark, MANIFEST_SIGNATURE MANIFEST_TEMP);
}

enum name_form name_form(const char *text)
{
	uint8_t id[ID_SIZE];
	const char *rest;

	if (!after(text, NAME_OWN_PREFIX))
		return is_encrypted_form(text, strlen(text)) ? NAME_ENCRYPTED
		                                             : NAME_FOREIGN;
	if (!strcmp(text, NAME_CONFIG))
		return NAME_CONFIG_FILE;
	rest = after(text, NAME_SEAL);
	if (rest && is_seal_mark(rest))
		return NAME_SEAL_FILE;
	if (!name_dir_id(text, id))
		return NAME_DIR_ID;
	rest = after(text, NAME_LINK_PREFIX);
	if (rest && strlen(rest) == ID_TEXT &&
	    base64url_decode(id, ID_SIZE, rest, ID_TEXT) == ID_SIZE)
		return NAME_LINK_FILE;
	rest = after(text, NAME_TEMP_PREFIX);
	if (rest && *rest)
		return NAME_TEMP;
	if (after(text, "frondfs.long"))
		return long_form(text);
	return NAME_OWN_UNKNOWN;
}

int name_long_split(const char *text, char base[NAME_LONG_TEXT],
                    char suffix[NAME_TEXT_MAX + 1])
{
	const char *hash = find_hash(text);
	const char *rest = after(text, NAME_LONG_PREFIX);
	size_t prefix = sizeof(NAME_LONG_PREFIX) - 1;

	if (!after(text, "frondfs.long") || !hash ||
	    strlen(text) > NAME_TEXT_MAX)
		return -EINVAL;
	memcpy(base, NAME_LONG_PREFIX, prefix);
	memcpy(base + prefix, hash, HASH_TEXT);
	base[prefix + HASH_TEXT] = '\0';
	if (hash == rest) {
		strcpy(suffix, hash + HASH_TEXT);
	} else {
		/* What stands between "frondfs.long" and ".hash". */
		const char *start = text + prefix - 1;
		size_t n = (size_t)(hash - 1 - start);

		memcpy(suffix, start, n);
		suffix[n] = '\0';
	}
	return 0;
}

bool name_long_matches(const char *base, const uint8_t *sealed, size_t size)
{
	char text[NAME_TEXT_MAX + 1];

	long_text(text, sealed, size);
	return !strcmp(text, base);
}

int name_dir_id(const char *text, uint8_t id[ID_SIZE])
{
	const char *rest = after(text, NAME_DIR_PREFIX);

	if (!rest || strlen(rest) != ID_TEXT ||
	    base64url_decode(id, ID_SIZE, rest, ID_TEXT) != ID_SIZE)
		return -EINVAL;
	return 0;
}

void name_dir_text(char text[NAME_DIR_TEXT], const uint8_t id[ID_SIZE])
{
	memcpy(text, NAME_DIR_PREFIX, sizeof(NAME_DIR_PREFIX));
	base64url_encode(text + sizeof(NAME_DIR_PREFIX) - 1, id, ID_SIZE);
}
