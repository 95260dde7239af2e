#include "fs/volume/config_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "fs/format/base64url.h"
#include "fs/format/name.h"
#include "fs/format/sector.h"
#include "fs/volume/slot.h"

enum {
	DIGEST_SIZE = 32,
	HEX_SIZE = 2 * DIGEST_SIZE,
	JSON_DEPTH = 8,
};

static const char *const kind_names[] = {
	[SLOT_PASSPHRASE] = "passphrase",
	[SLOT_KEY_FILE] = "keyfile",
	[SLOT_RECOVERY] = "recovery",
};

const char *config_kind_name(enum slot_kind kind)
{
	return kind_names[kind];
}

void config_uuid_text(char text[CONFIG_UUID_TEXT], const struct config *config)
{
	for (size_t i = 0; i < ID_SIZE; i++)
		text += sprintf(text, i == 4 || i == 6 || i == 8 || i == 10
		                ? "-%02x" : "%02x", config->uuid[i]);
}

__attribute__((format(printf, 2, 3)))
static enum config_error damaged(struct config *config, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(config->problem, sizeof(config->problem), format, args);
	va_end(args);
	return CONFIG_DAMAGED;
}

/*
 * The checks
 */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
		p++;
	return p;
}

/* Where the digits of a check value begin, or NULL unless `key` (with its
 * quotation marks) stands in the text exactly once, as the name of a string of
 * HEX_SIZE lower-case digits. */
static const char *find_check(const char *text, size_t size, const char *key)
{
	const char *end = text + size, *p = memmem(text, size, key, strlen(key));

	if (!p)
		return NULL;
	p += strlen(key);
	if (memmem(p, (size_t)(end - p), key, strlen(key)))
		return NULL;
	p = skip_space(p, end);
	if (p == end || *p++ != ':')
		return NULL;
	p = skip_space(p, end);
	if (end - p < HEX_SIZE + 2 || p[0] != '"' || p[HEX_SIZE + 1] != '"')
		return NULL;
	for (int i = 1; i <= HEX_SIZE; i++)
		if (!strchr("0123456789abcdef", p[i]) || !p[i])
			return NULL;
	return p + 1;
}

static void to_hex(char *hex, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
}

/* A copy of the text with one or two check values zeroed. */
static char *zeroed_copy(const char *text, size_t size, const char *a,
                         const char *b)
{
	char *copy = malloc(size);

	if (!copy)
		return NULL;
	memcpy(copy, text, size);
	memset(copy + (a - text), '0', HEX_SIZE);
	if (b)
		memset(copy + (b - text), '0', HEX_SIZE);
	return copy;
}

static int sha256_hex(const char *text, size_t size, const char *sha,
                      char hex[HEX_SIZE + 1])
{
	uint8_t digest[DIGEST_SIZE];
	char *copy = zeroed_copy(text, size, sha, NULL);
	int ok;

	if (!copy)
		return -ENOMEM;
	ok = EVP_Digest(copy, size, digest, NULL, EVP_sha256(), NULL);
	free(copy);
	if (!ok)
		return -EIO;
	to_hex(hex, digest, DIGEST_SIZE);
	return 0;
}

static int hmac_hex(const char *text, size_t size, const char *hmac,
                    const char *sha, const uint8_t key[KEY_SIZE],
                    char hex[HEX_SIZE + 1])
{
	uint8_t digest[DIGEST_SIZE];
	char *copy = zeroed_copy(text, size, hmac, sha);
	const uint8_t *ok;

	if (!copy)
		return -ENOMEM;
	ok = HMAC(EVP_sha256(), key, KEY_SIZE, (uint8_t *)copy, size, digest,
	          NULL);
	free(copy);
	if (!ok)
		return -EIO;
	to_hex(hex, digest, DIGEST_SIZE);
	return 0;
}

bool config_text_authentic(const char *text, size_t size,
                           const uint8_t config_key[KEY_SIZE])
{
	const char *sha = find_check(text, size, "\"sha256\"");
	const char *hmac = find_check(text, size, "\"hmac\"");
	char hex[HEX_SIZE + 1];
	bool same;

	if (!sha || !hmac || hmac_hex(text, size, hmac, sha, config_key, hex))
		return false;
	same = CRYPTO_memcmp(hex, hmac, HEX_SIZE) == 0;
	OPENSSL_cleanse(hex, sizeof(hex));
	return same;
}

/*
 * Reading
 */

static bool get_string(json_object *from, const char *name, size_t max,
                       const char **out)
{
	json_object *value;

	if (!json_object_object_get_ex(from, name, &value) ||
	    !json_object_is_type(value, json_type_string))
		return false;
	*out = json_object_get_string(value);
	return (size_t)json_object_get_string_len(value) == strlen(*out) &&
	       strlen(*out) <= max;
}

static bool get_number(json_object *from, const char *name, int64_t min,
                       int64_t max, int64_t *out)
{
	json_object *value;

	if (!json_object_object_get_ex(from, name, &value) ||
	    !json_object_is_type(value, json_type_int))
		return false;
	*out = json_object_get_int64(value); /* clamped, where it is greater */
	return *out >= min && *out <= max;
}

static bool get_bytes(json_object *from, const char *name, uint8_t *out,
                      size_t size)
{
	const char *text;

	return get_string(from, name, BASE64URL_LENGTH(size), &text) &&
	       base64url_decode(out, size, text, strlen(text)) == (int)size;
}

static json_object *get_array(json_object *from, const char *name, size_t max)
{
	json_object *value;

	if (!json_object_object_get_ex(from, name, &value) ||
	    !json_object_is_type(value, json_type_array) ||
	    json_object_array_length(value) > max)
		return NULL;
	return value;
}

/* 8-4-4-4-12 lower-case digits. */
static bool parse_uuid(uint8_t uuid[ID_SIZE], const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	if (strlen(text) != CONFIG_UUID_TEXT - 1)
		return false;
	for (const char *p = text; *p; p++) {
		const char *digit = strchr(digits, *p);
		bool dash = p - text == 8 || p - text == 13 || p - text == 18 ||
		            p - text == 23;

		if (dash != (*p == '-') || (!dash && !digit))
			return false;
		if (dash)
			continue;
		uuid[n / 2] = (uint8_t)(uuid[n / 2] << 4 | (digit - digits));
		n++;
	}
	return true;
}

static enum config_error parse_slot(struct config *config, json_object *from)
{
	struct config_slot *slot = &config->slots[config->slot_count];
	unsigned place = (unsigned)config->slot_count;
	int64_t number, n = 0, r = 0, p = 0;
	const char *kind, *label;
	size_t k = 0;

	if (!json_object_is_type(from, json_type_object))
		return damaged(config, "slot at place %u is no object", place);
	if (!get_number(from, "number", 0, (int64_t)config->next_slot - 1,
	                &number))
		return damaged(config, "the slot at place %u has no valid number",
		               place);
	slot->number = (unsigned)number;
	for (size_t i = 0; i < config->slot_count; i++)
		if (config->slots[i].number == slot->number)
			return damaged(config, "two slots have the number %u",
			               slot->number);
	if (!get_string(from, "kind", 16, &kind))
		return damaged(config, "slot %u has no kind", slot->number);
	while (k < 3 && strcmp(kind, kind_names[k]))
		k++;
	if (k == 3)
		return damaged(config, "slot %u is of an unknown kind",
		               slot->number);
	slot->kind = (enum slot_kind)k;
	if (!get_string(from, "label", CONFIG_LABEL_MAX, &label) ||
	    !config_label_ok(label))
		return damaged(config, "the label of slot %u is not valid",
		               slot->number);
	snprintf(slot->label, sizeof(slot->label), "%s", label);
	if (!get_number(from, "created", INT64_MIN, INT64_MAX, &slot->created))
		return damaged(config, "slot %u has no date", slot->number);
	if (slot->kind == SLOT_PASSPHRASE) {
		if (!get_number(from, "n", 2, INT32_MAX, &n) ||
		    !get_number(from, "r", 1, INT32_MAX, &r) ||
		    !get_number(from, "p", 1, INT32_MAX, &p) ||
		    !slot_scrypt_ok((uint64_t)n, (uint64_t)r, (uint64_t)p))
			return damaged(config,
			               "the scrypt parameters of slot %u are out "
			               "of bounds", slot->number);
		slot->scrypt_n = (uint64_t)n;
		slot->scrypt_r = (uint32_t)r;
		slot->scrypt_p = (uint32_t)p;
	}
	if (!get_bytes(from, "salt", slot->salt, sizeof(slot->salt)) ||
	    !get_bytes(from, "sealed", slot->sealed, sizeof(slot->sealed)))
		return damaged(config, "the salt or the sealed key of slot %u is "
		               "not valid", slot->number);
	config->slot_count++;
	return CONFIG_OK;
}

static bool feature_ok(const char *name)
{
	size_t length = strlen(name);

	return length >= 1 && length <= CONFIG_FEATURE_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == length;
}

static enum config_error parse_features(struct config *config, json_object *top)
{
	json_object *required = get_array(top, "required_features",
	                                  CONFIG_FEATURES_MAX);
	json_object *optional = get_array(top, "optional_features",
	                                  CONFIG_FEATURES_MAX);

	if (!required || !optional)
		return damaged(config, "a list of features is missing");
	for (size_t i = 0; i < json_object_array_length(required); i++) {
		json_object *item = json_object_array_get_idx(required, i);
		const char *name = json_object_get_string(item);

		if (!name || !feature_ok(name))
			return damaged(config, "the name of a feature is not valid");
		/* This version knows none. */
		snprintf(config->problem, sizeof(config->problem), "%s", name);
		return CONFIG_FEATURE;
	}
	for (size_t i = 0; i < json_object_array_length(optional); i++) {
		json_object *item = json_object_array_get_idx(optional, i);
		const char *name = json_object_get_string(item);

		if (!name || !feature_ok(name))
			return damaged(config, "the name of a feature is not valid");
		snprintf(config->optional[config->optional_count++],
		         sizeof(config->optional[0]), "%s", name);
	}
	return CONFIG_OK;
}

static enum config_error parse_members(struct config *config, json_object *top)
{
	const char *uuid, *cipher;
	int64_t number;
	json_object *slots;
	enum config_error result;

	if (!get_number(top, "format", 1, INT64_MAX, &number))
		return damaged(config, "it names no format");
	if (number > CONFIG_FORMAT) {
		snprintf(config->problem, sizeof(config->problem),
		         "format %lld; this program knows format %d",
		         (long long)number, CONFIG_FORMAT);
		return CONFIG_NEWER;
	}
	result = parse_features(config, top);
	if (result)
		return result;
	if (!get_string(top, "uuid", CONFIG_UUID_TEXT - 1, &uuid) ||
	    !parse_uuid(config->uuid, uuid))
		return damaged(config, "the UUID is not valid");
	if (!get_string(top, "cipher", 32, &cipher))
		return damaged(config, "it names no cipher");
	if (!strcmp(cipher, "xchacha12"))
		config->stream = ADIANTUM_XCHACHA12;
	else if (!strcmp(cipher, "xchacha20"))
		config->stream = ADIANTUM_XCHACHA20;
	else
		return damaged(config, "the cipher is unknown");
	if (!get_number(top, "sector_size", SECTOR_SIZE, SECTOR_SIZE, &number))
		return damaged(config, "the sector size is not %d", SECTOR_SIZE);
	if (!get_number(top, "name_max", NAME_LIMIT_MIN, NAME_TEXT_MAX, &number))
		return damaged(config, "the longest name is out of bounds");
	config->name_limit = (size_t)number;
	if (!get_number(top, "next_slot", 1, INT32_MAX, &number))
		return damaged(config, "the next slot's number is not valid");
	config->next_slot = (unsigned)number;
	slots = get_array(top, "slots", CONFIG_SLOTS_MAX);
	if (!slots || !json_object_array_length(slots))
		return damaged(config, "it has no key slots, or too many");
	for (size_t i = 0; !result && i < json_object_array_length(slots); i++)
		result = parse_slot(config, json_object_array_get_idx(slots, i));
	return result;
}

/* Whether the top level's member is the check value that was found in the
 * bytes. */
static bool is_at_top(json_object *top, const char *name, const char *hex)
{
	const char *value;

	return hex && get_string(top, name, HEX_SIZE, &value) &&
	       !strncmp(value, hex, HEX_SIZE);
}

static enum config_error parse_json(struct config *config, const char *text,
                                    size_t size, const char *sha)
{
	json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	json_object *top;
	enum config_error result;

	if (!tokener) {
		snprintf(config->problem, sizeof(config->problem), "no memory");
		return CONFIG_NO_MEMORY;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT |
	                                        JSON_TOKENER_VALIDATE_UTF8);
	top = json_tokener_parse_ex(tokener, text, (int)size);
	json_tokener_free(tokener);
	if (!json_object_is_type(top, json_type_object) ||
	    !is_at_top(top, "sha256", sha)) {
		result = damaged(config, "it is not a JSON object with a SHA-256");
	} else {
		result = parse_members(config, top);
		if (!result && !is_at_top(top, "hmac",
		                          find_check(text, size, "\"hmac\"")))
			result = damaged(config, "it has no HMAC");
	}
	json_object_put(top);
	return result;
}

enum config_error config_text_parse(struct config *config, const char *text,
                                    size_t size)
{
	const char *sha;
	char hex[HEX_SIZE + 1];
	int error;

	memset(config, 0, sizeof(*config));
	if (!size)
		return damaged(config, "it is empty");
	if (size > CONFIG_FILE_MAX)
		return damaged(config, "it is larger than %d bytes",
		               CONFIG_FILE_MAX);
	sha = find_check(text, size, "\"sha256\"");
	if (!sha)
		return damaged(config, "its SHA-256 is not there: it is cut, "
		               "overwritten, or no config at all");
	error = sha256_hex(text, size, sha, hex);
	if (error) {
		snprintf(config->problem, sizeof(config->problem), "%s",
		         error == -ENOMEM ? "no memory" : "OpenSSL failed");
		return error == -ENOMEM ? CONFIG_NO_MEMORY : CONFIG_IO;
	}
	if (memcmp(hex, sha, HEX_SIZE))
		return damaged(config, "its SHA-256 does not match: it was changed "
		               "or cut");
	return parse_json(config, text, size, sha);
}

/*
 * Writing
 */

/* Adds a member; false when memory ran out. */
static bool add(json_object *to, const char *name, json_object *value)
{
	if (value && !json_object_object_add(to, name, value))
		return true;
	json_object_put(value);
	return false;
}

static bool add_bytes(json_object *to, const char *name, const uint8_t *bytes,
                      size_t size)
{
	char text[128];

	base64url_encode(text, bytes, size);
	return add(to, name, json_object_new_string(text));
}

static bool add_slot(json_object *slots, const struct config_slot *slot)
{
	json_object *o = json_object_new_object();
	bool ok = o && add(o, "number", json_object_new_int64(slot->number)) &&
	          add(o, "kind", json_object_new_string(kind_names[slot->kind])) &&
	          add(o, "label", json_object_new_string(slot->label)) &&
	          add(o, "created", json_object_new_int64(slot->created));

	if (slot->kind == SLOT_PASSPHRASE)
		ok = ok &&
		     add(o, "n", json_object_new_int64((int64_t)slot->scrypt_n)) &&
		     add(o, "r", json_object_new_int64(slot->scrypt_r)) &&
		     add(o, "p", json_object_new_int64(slot->scrypt_p));
	ok = ok && add_bytes(o, "salt", slot->salt, sizeof(slot->salt)) &&
	     add_bytes(o, "sealed", slot->sealed, sizeof(slot->sealed)) &&
	     !json_object_array_add(slots, o);
	if (!ok)
		json_object_put(o);
	return ok;
}

static json_object *make_json(const struct config *config)
{
	char zeros[HEX_SIZE + 1], uuid[CONFIG_UUID_TEXT];
	json_object *top = json_object_new_object();
	json_object *optional, *slots;
	bool ok;

	memset(zeros, '0', HEX_SIZE);
	zeros[HEX_SIZE] = '\0';
	config_uuid_text(uuid, config);
	ok = top && add(top, "format", json_object_new_int(CONFIG_FORMAT)) &&
	     add(top, "uuid", json_object_new_string(uuid)) &&
	     add(top, "cipher",
	         json_object_new_string(config->stream == ADIANTUM_XCHACHA12
	                                        ? "xchacha12" : "xchacha20")) &&
	     add(top, "sector_size", json_object_new_int(SECTOR_SIZE)) &&
	     add(top, "name_max",
	         json_object_new_int64((int64_t)config->name_limit)) &&
	     add(top, "required_features", json_object_new_array()) &&
	     add(top, "optional_features", optional = json_object_new_array());
	for (size_t i = 0; ok && i < config->optional_count; i++) {
		json_object *name = json_object_new_string(config->optional[i]);

		ok = name && !json_object_array_add(optional, name);
	}
	ok = ok && add(top, "next_slot",
	               json_object_new_int64(config->next_slot)) &&
	     add(top, "slots", slots = json_object_new_array());
	for (size_t i = 0; ok && i < config->slot_count; i++)
		ok = add_slot(slots, &config->slots[i]);
	ok = ok && add(top, "hmac", json_object_new_string(zeros)) &&
	     add(top, "sha256", json_object_new_string(zeros));
	if (ok)
		return top;
	json_object_put(top);
	return NULL;
}

int config_text_make(const struct config *config,
                     const uint8_t config_key[KEY_SIZE], char **out,
                     size_t *size)
{
	json_object *top = make_json(config);
	const char *json = top ? json_object_to_json_string_ext(
		top, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
	char *text = NULL, hex[HEX_SIZE + 1];
	char *sha, *hmac;
	int length = json ? asprintf(&text, "%s\n", json) : -1, error;

	json_object_put(top);
	if (length < 0)
		return -ENOMEM;
	sha = (char *)find_check(text, (size_t)length, "\"sha256\"");
	hmac = (char *)find_check(text, (size_t)length, "\"hmac\"");
	error = sha && hmac ? hmac_hex(text, (size_t)length, hmac, sha,
	                               config_key, hex) : -EIO;
	if (!error) {
		memcpy(hmac, hex, HEX_SIZE);
		error = sha256_hex(text, (size_t)length, sha, hex);
	}
	if (error) {
		free(text);
		return error;
	}
	memcpy(sha, hex, HEX_SIZE);
	*out = text;
	*size = (size_t)length;
	return 0;
}
