/*
 * The worked example of doc/format.md: each value there ("    name = value")
 * is computed here by the program's own functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <greatest.h>
#include <openssl/sha.h>

#include "fs/format/base64url.h"
#include "fs/format/header.h"
#include "fs/format/keys.h"
#include "fs/format/name.h"

static char *document;
static unsigned checked;

/* What the document says `name` is; NULL where it says nothing. */
static const char *documented(const char *name)
{
	static char value[512];
	char line[64];
	const char *at;

	snprintf(line, sizeof(line), "\n    %s = ", name);
	at = document ? strstr(document, line) : NULL;
	if (!at)
		return NULL;
	at += strlen(line);
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\n"), at);
	return value;
}

static bool is_text(const char *name, const char *value)
{
	const char *want = documented(name);

	checked++;
	if (want && !strcmp(want, value))
		return true;
	fprintf(stderr, "    %s = %s\n", name, value);
	return false;
}

static bool is_hex(const char *name, const uint8_t *bytes, size_t size)
{
	char text[512];

	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return is_text(name, text);
}

static void count_up(uint8_t *bytes, size_t size, uint8_t first)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(first + i);
}

TEST worked_example(void)
{
	static const char plain[] = "hello.txt", content[] = "Hello, frondfs!\n";
	uint8_t master[KEY_SIZE], dir_id[ID_SIZE], key[KEY_SIZE];
	uint8_t file[4096 + 16] = { 0 }, hash[32];
	struct header header = { .size = 16 };
	struct name_text name;
	char text[NAME_DIR_TEXT];
	struct keys *keys;
	bool ok = true;

	ASSERT(document);
	count_up(master, sizeof(master), 0x00);
	count_up(dir_id, sizeof(dir_id), 0x40);
	count_up(header.id, ID_SIZE, 0x80);
	memcpy(header.made_in, dir_id, ID_SIZE);
	ok &= is_hex("master key", master, KEY_SIZE);
	ok &= is_hex("directory id", dir_id, ID_SIZE);
	ok &= is_hex("file id", header.id, ID_SIZE);

	ASSERT_EQ(0, keys_new(&keys, master, ADIANTUM_XCHACHA12));
	ASSERT_EQ(0, keys_hkdf(key, KEY_SIZE, master, KEY_SIZE, NULL, 0,
	                       "frondfs 1 content"));
	ok &= is_hex("content key", key, KEY_SIZE);
	ASSERT_EQ(0, keys_hkdf(key, KEY_SIZE, master, KEY_SIZE, NULL, 0,
	                       "frondfs 1 name"));
	ok &= is_hex("name key", key, KEY_SIZE);
	ok &= is_hex("config key", keys->config, KEY_SIZE);
	ok &= is_hex("seal key", keys->seal, KEY_SIZE);

	name_dir_text(text, dir_id);
	ok &= is_text("id file", text);
	ASSERT_EQ(0, name_encrypt(keys, dir_id, plain, strlen(plain), 255, &name));
	ok &= is_hex("sealed name", name.sealed, name.sealed_size);
	ok &= is_text("stored name", name.text);

	ASSERT_EQ(0, header_seal(keys->content, &header, file));
	ok &= is_hex("header", file, HEADER_SIZE);
	memcpy(file + HEADER_SIZE, content, 16);
	ASSERT_EQ(0, sectors_seal(keys->content, header.id, 0, 1,
	                          file + HEADER_SIZE, 16));
	ok &= is_hex("bytes 80 to 111", file + 80, 32);
	ok &= is_hex("bytes 4064 to 4095", file + 4064, 32);
	ASSERT_EQ(sizeof(file), size_encrypted(16));
	SHA256(file, sizeof(file), hash);
	ok &= is_hex("SHA-256 of the file", hash, 32);
	keys_free(keys);
	ASSERT_EQ(14, checked);
	ASSERT(ok);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	FILE *f = fopen(FROND_SOURCE_DIR "/doc/format.md", "r");

	GREATEST_MAIN_BEGIN();
	if (f) {
		document = calloc(1, 1 << 20);
		if (!document || fread(document, 1, (1 << 20) - 1, f) == 0)
			return 1;
		fclose(f);
	}
	RUN_TEST(worked_example);
	free(document);
	GREATEST_MAIN_END();
}
