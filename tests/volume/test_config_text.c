/* The text of frondfs.conf: no damage is believed, everything has bounds. */
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "config_support.h"
#include "fs/volume/config_text.h"

TEST every_flipped_byte(void)
{
	static const uint8_t masks[] = { 0x01, 0x02, 0x04, 0x10, 0x20, 0x40,
	                                 0x80, 0xff };
	struct config config;
	char *text = malloc(good_size);

	for (size_t i = 0; i < good_size; i++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			memcpy(text, good, good_size);
			text[i] ^= (char)masks[m];
			ASSERT_EQ(CONFIG_DAMAGED, config_text_parse(&config, text,
			                                            good_size));
			ASSERT(*config.problem);
		}
	free(text);
	PASS();
}

/* All values of each byte of the two checks, through the file. */
TEST every_check_byte_in_the_file(void)
{
	struct config config;
	char text[4096];
	const char *sha = strstr(good, "\"sha256\"");

	for (size_t i = (size_t)(sha - good); i < good_size; i++) {
		memcpy(text, good, good_size);
		for (int x = 1; x < 256; x += 37) {
			text[i] = (char)(good[i] ^ x);
			put(text, good_size);
			ASSERT_EQ(CONFIG_DAMAGED, config_read(&config, root));
			ASSERT_EQ(CONFIG_DAMAGED, unlock_with(&passphrase, NULL));
		}
	}
	PASS();
}

TEST every_cut_and_every_extension(void)
{
	struct config config;
	char text[CONFIG_FILE_MAX];

	for (size_t n = 0; n < good_size; n++) {
		put(good, n);
		ASSERT_EQ(CONFIG_DAMAGED, config_read(&config, root));
		ASSERT_EQ(CONFIG_DAMAGED, config_text_parse(
			&config, good + n + (n == 0), good_size - n - (n == 0)));
	}
	memcpy(text, good, good_size);
	for (size_t n = 1; n < 5000; n += 7) {
		memset(text + good_size, n & 8 ? '\n' : '\0', n);
		ASSERT_EQ(CONFIG_DAMAGED,
		          config_text_parse(&config, text, good_size + n));
	}
	PASS();
}

TEST too_large(void)
{
	struct config config;
	char *text = calloc(1, CONFIG_FILE_MAX + 1);

	memset(text, ' ', CONFIG_FILE_MAX + 1);
	memcpy(text, good, good_size);
	put(text, CONFIG_FILE_MAX + 1);
	free(text);
	ASSERT_EQ(CONFIG_DAMAGED, config_read(&config, root));
	ASSERT(strstr(config.problem, "larger"));
	PASS();
}

/* Replaces `from` by `to` in the good text and makes the SHA-256 right again,
 * as one who changes a config on purpose would. */
static size_t forge(char *out, const char *from, const char *to)
{
	static const char zeros[] = "0000000000000000000000000000000000000000"
	                            "000000000000000000000000";
	const char *at = memmem(good, good_size, from, strlen(from));
	char hex[65], *sha;
	uint8_t digest[32];
	size_t head, size;

	if (!at)
		abort();
	head = (size_t)(at - good);
	size = good_size - strlen(from) + strlen(to);
	memcpy(out, good, head);
	memcpy(out + head, to, strlen(to));
	memcpy(out + head + strlen(to), at + strlen(from),
	       good_size - head - strlen(from));
	out[size] = '\0';
	sha = strstr(out, "\"sha256\": \"");
	if (!sha)
		return size;
	sha += 11;
	memcpy(sha, zeros, 64);
	EVP_Digest(out, size, digest, NULL, EVP_sha256(), NULL);
	for (int i = 0; i < 32; i++)
		sprintf(hex + 2 * i, "%02x", digest[i]);
	memcpy(sha, hex, 64);
	return size;
}

static enum config_error parse_forged(struct config *config, const char *from,
                                      const char *to)
{
	static char text[CONFIG_FILE_MAX];
	size_t size = forge(text, from, to);

	return config_text_parse(config, text, size);
}

TEST newer_format(void)
{
	struct config config;

	ASSERT_EQ(CONFIG_NEWER, parse_forged(&config, "\"format\": 1",
	                                     "\"format\": 2"));
	ASSERT(strstr(config.problem, "format 2"));
	/* Whatever else has changed there. */
	ASSERT_EQ(CONFIG_NEWER, parse_forged(&config, "\"format\": 1",
	                                     "\"format\": 700, \"slots\": 3"));
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(&config, "\"format\": 1",
	                                       "\"format\": 0"));
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(&config, "\"format\": 1",
	                                       "\"format\": \"2\""));
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(&config, "\"format\": 1",
	                                       "\"format\": 1.5"));
	PASS();
}

TEST features(void)
{
	struct config config, back;

	ASSERT_EQ(CONFIG_FEATURE, parse_forged(
		&config, "\"required_features\": [",
		"\"required_features\": [ \"holographic-storage\" "));
	ASSERT_STR_EQ("holographic-storage", config.problem);
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(
		&config, "\"required_features\": [",
		"\"required_features\": [ \"\\u001b[31m\" "));
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(
		&config, "\"required_features\": [",
		"\"required_features\": [ {} "));
	/* Unknown optional ones are kept when the file is written again. */
	ASSERT_EQ(CONFIG_OK, parse_forged(
		&config, "\"optional_features\": [",
		"\"optional_features\": [ \"nice\", \"nicer\" "));
	ASSERT_EQ(2u, config.optional_count);
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	ASSERT_EQ(CONFIG_OK, config_read(&back, root));
	ASSERT_EQ(2u, back.optional_count);
	ASSERT_STR_EQ("nicer", back.optional[1]);
	ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, NULL));
	PASS();
}

/* A parameter changed on purpose, with a SHA-256 to match. */
TEST tampering(void)
{
	static const char *const changes[][2] = {
		{ "\"name_max\": 255", "\"name_max\": 254" },
		{ "\"next_slot\": 3", "\"next_slot\": 4" },
		{ "\"label\": \"r\"", "\"label\": \"s\"" },
		{ "\"format\": 1", "\"format\": 1, \"extra\": true" },
		{ "\"optional_features\": [", "\"optional_features\": [\"x\"" },
		{ "\"hmac\": \"", "\"hmac\":  \"" },
	};
	char text[CONFIG_FILE_MAX];
	struct config config;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		put(text, forge(text, changes[i][0], changes[i][1]));
		ASSERT_EQ(CONFIG_OK, config_read(&config, root));
		ASSERT_EQ(CONFIG_TAMPERED, unlock_with(&passphrase, NULL));
		ASSERT_EQ(CONFIG_TAMPERED, unlock_with(&recovery, NULL));
		ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&wrong, NULL));
	}
	put(text, forge(text, "\"format\": 1", "\"format\": 1"));
	ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, NULL));
	PASS();
}

TEST bounds(void)
{
	static const char *const changes[][2] = {
		{ "\"n\": 16", "\"n\": 0" },
		{ "\"n\": 16", "\"n\": 1" },
		{ "\"n\": 16", "\"n\": 17" },
		{ "\"n\": 16", "\"n\": -16" },
		{ "\"n\": 16", "\"n\": 16777216" },
		{ "\"n\": 16", "\"n\": 65536" },
		{ "\"n\": 16", "\"n\": 18446744073709551616" },
		{ "\"n\": 16", "\"n\": \"16\"" },
		{ "\"n\": 16", "\"n\": 16.0" },
		{ "\"r\": 1", "\"r\": 0" },
		{ "\"r\": 1", "\"r\": 1000000" },
		{ "\"r\": 1", "\"r\": 2147483647" },
		{ "\"p\": 1", "\"p\": 0" },
		{ "\"p\": 1", "\"p\": 17" },
		{ "\"name_max\": 255", "\"name_max\": 60" },
		{ "\"name_max\": 255", "\"name_max\": 256" },
		{ "\"name_max\": 255", "\"name_max\": -1" },
		{ "\"sector_size\": 4096", "\"sector_size\": 8192" },
		{ "\"cipher\": \"xchacha12\"", "\"cipher\": \"xchacha8\"" },
		{ "\"cipher\": \"xchacha12\"", "\"cipher\": null" },
		{ "\"next_slot\": 3", "\"next_slot\": 2" },
		{ "\"next_slot\": 3", "\"next_slot\": 4294967299" },
		{ "\"number\": 1", "\"number\": 0" },
		{ "\"number\": 1", "\"number\": -1" },
		{ "\"kind\": \"keyfile\"", "\"kind\": \"keyfiles\"" },
		{ "\"kind\": \"keyfile\"", "\"kind\": 1" },
		{ "\"label\": \"r\"", "\"label\": \"a\\nb\"" },
		{ "\"label\": \"r\"", "\"label\": \"a\\u0000b\"" },
		{ "\"label\": \"r\"", "\"label\": \"\\u001b[2J\"" },
		{ "\"label\": \"r\"", "\"label\": \"a\\\\\"" },
		{ "\"label\": \"r\"", "\"label\": \"\xff\"" },
		{ "\"label\": \"r\"", "\"label\": \"12345678901234567890123456"
		  "789012345678901234567890123456789012345\"" },
		{ "\"slots\": [", "\"slots\": [ 5, " },
		{ "\"slots\": [", "\"slots\": [], \"more\": [" },
		{ "\"required_features\": [", "\"required\": [" },
		{ "\"uuid\": \"", "\"uuid\": \"0" },
		{ "\"hmac\": \"", "\"hmac\": \"0" },
		{ "\"hmac\"", "\"HMAC\"" },
		{ "\"format\": 1", "\"format\": 1, \"x\": {\"hmac\": 1}" },
		{ "\"format\": 1", "\"format\": 1, \"x\": \"hmac\"" },
		{ "\"format\": 1", "\"format\": 1, \"x\": [[[[[[[[[[]]]]]]]]]]" },
		{ "\"format\": 1", "\"format\": 1," },
		{ "\"format\": 1", "// \n\"format\": 1" },
		{ "\"salt\": \"", "\"salt\": \"A" },
		{ "\"sealed\": \"", "\"sealed\": \"=" },
	};
	struct config config;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		ASSERT_EQm(changes[i][1], CONFIG_DAMAGED,
		           parse_forged(&config, changes[i][0], changes[i][1]));
	PASS();
}

/* The check value must stand at the top level, once. */
TEST checks_only_at_the_top(void)
{
	char text[CONFIG_FILE_MAX], inner[CONFIG_FILE_MAX];
	struct config config;
	size_t size = forge(text, "\"format\": 1", "\"format\": 1");
	char *sha = strstr(text, "\"sha256\"");

	/* Moved into an object: found in the bytes, but not at the top. */
	snprintf(inner, sizeof(inner), "%.*s\"inner\": { %s }",
	         (int)(sha - text), text, sha);
	(void)size;
	memcpy(good, inner, strlen(inner));
	good_size = strlen(inner);
	size = forge(text, "\"format\": 1", "\"format\": 1");
	ASSERT_EQ(CONFIG_DAMAGED, config_text_parse(&config, text, size));
	make_good();
	ASSERT_EQ(CONFIG_DAMAGED, parse_forged(
		&config, "\"format\": 1", "\"format\": 1, \"sha256\": \"\""));
	PASS();
}

/* A slot's sealed key under another number, or in another volume, is nothing. */
TEST slots_are_bound(void)
{
	char text[CONFIG_FILE_MAX];

	put(text, forge(text, "\"number\": 0", "\"number\": 1, \"old\": 0"));
	ASSERT_EQ(CONFIG_DAMAGED, unlock_with(&passphrase, NULL));
	put(text, forge(text, "\"cipher\": \"xchacha12\"",
	                "\"cipher\": \"xchacha20\""));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&passphrase, NULL));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	config_begin();
	GREATEST_SET_SETUP_CB(restore_good, NULL);
	RUN_TEST(every_flipped_byte);
	RUN_TEST(every_check_byte_in_the_file);
	RUN_TEST(every_cut_and_every_extension);
	RUN_TEST(too_large);
	RUN_TEST(newer_format);
	RUN_TEST(features);
	RUN_TEST(tampering);
	RUN_TEST(bounds);
	RUN_TEST(checks_only_at_the_top);
	RUN_TEST(slots_are_bound);
	config_end();
	GREATEST_MAIN_END();
}
