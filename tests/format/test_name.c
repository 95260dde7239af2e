/* Names: every length, every limit, forms, and what must not open. */
#include <errno.h>
#include <greatest.h>
#include <string.h>

#include "fs/format/base64url.h"
#include "fs/format/name.h"

static const uint8_t master[KEY_SIZE] = "master key of the tests of names";
static const uint8_t id_a[ID_SIZE] = "directory a's id", id_b[ID_SIZE] = "other id";
static struct keys *keys;

static void fill(char name[257], size_t n)
{
	for (size_t i = 0; i < n; i++)
		name[i] = (char)(i % 255 + 1 == '/' ? 'x' : i % 255 + 1);
	name[n] = '\0';
}

/* Which sizes a name of n bytes has, said independently of the code. */
TEST every_length(size_t limit)
{
	char plain[257], opened[NAME_PLAIN_MAX + 1];

	for (size_t n = 1; n <= 255; n++) {
		struct name_text t;
		size_t blocks = (n + 15) / 16, sealed = blocks * 16 + 16;
		size_t text = (sealed * 8 + 5) / 6;

		fill(plain, n);
		ASSERT_EQ(0, name_encrypt(keys, id_a, plain, n, limit, &t));
		ASSERT_EQ(sealed, t.sealed_size);
		ASSERT_EQ(text > limit, t.is_long);
		ASSERT(strlen(t.text) <= limit);
		ASSERT_EQ((int)n, name_decrypt(keys, id_a, t.sealed,
		                               t.sealed_size, opened));
		ASSERT_STR_EQ(plain, opened);
		ASSERT_EQ(-EBADMSG, name_decrypt(keys, id_b, t.sealed,
		                                 t.sealed_size, opened));
		if (t.is_long) {
			char file[300];

			ASSERT_EQ(NAME_LONG, name_form(t.text));
			ASSERT_EQ(56u, strlen(t.text));
			ASSERT(name_long_matches(t.text, t.sealed,
			                         t.sealed_size));
			snprintf(file, sizeof(file), "%s.name", t.text);
			ASSERT(strlen(file) <= limit);
			ASSERT_EQ(NAME_LONG_FILE, name_form(file));
			t.sealed[3] ^= 1;
			ASSERT_FALSE(name_long_matches(t.text, t.sealed,
			                               t.sealed_size));
		} else {
			ASSERT_EQ(text, strlen(t.text));
			ASSERT_EQ(NAME_ENCRYPTED, name_form(t.text));
			ASSERT_EQ((int)n, name_decrypt_text(keys, id_a, t.text,
			                                    text, opened));
			ASSERT_STR_EQ(plain, opened);
		}
	}
	PASS();
}

/* The longest name that needs no file of its own. */
TEST limits(void)
{
	struct name_text t;
	char plain[257];

	fill(plain, 256);
	ASSERT_EQ(0, name_encrypt(keys, id_a, plain, 160, 255, &t));
	ASSERT_FALSE(t.is_long);
	ASSERT_EQ(0, name_encrypt(keys, id_a, plain, 161, 255, &t));
	ASSERT(t.is_long);
	ASSERT_EQ(0, name_encrypt(keys, id_a, plain, 80, 143, &t));
	ASSERT_FALSE(t.is_long);
	ASSERT_EQ(0, name_encrypt(keys, id_a, plain, 81, 143, &t));
	ASSERT(t.is_long);
	ASSERT_EQ(-ENAMETOOLONG,
	          name_encrypt(keys, id_a, plain, 256, 255, &t));
	PASS();
}

TEST refused(void)
{
	static const struct { const char *name; size_t length; } names[] = {
		{ "", 0 }, { ".", 1 }, { "..", 2 }, { "a/b", 3 }, { "/", 1 },
		{ "a\0b", 3 }, { "a", 2 },
	};
	char plain[NAME_PLAIN_MAX + 1];
	uint8_t sealed[64], tweak[TWEAK_SIZE];
	struct name_text t;

	tweak_make(tweak, id_a, 0, TWEAK_NAME);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ASSERT_EQ(-EINVAL, name_encrypt(keys, id_a, names[i].name,
		                                names[i].length, 255, &t));
		/* Not even one with the key can make such a name appear. */
		ASSERT_EQ(0, seal(keys->name, tweak, sealed, names[i].name,
		                  names[i].length, 16));
		ASSERT_EQ(-EBADMSG,
		          name_decrypt(keys, id_a, sealed, 32, plain));
	}
	/* More padding than a name has, or other padding. */
	ASSERT_EQ(0, seal(keys->name, tweak, sealed, "abc", 3, 32));
	ASSERT_EQ(-EBADMSG, name_decrypt(keys, id_a, sealed, 48, plain));
	memcpy(sealed, "abcX\0\0\0\0\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0"
	               "\0\0\0\0", 32);
	ASSERT_EQ(0, adiantum_encrypt(keys->name, tweak, TWEAK_SIZE, sealed,
	                              sealed, 32));
	ASSERT_EQ(-EBADMSG, name_decrypt(keys, id_a, sealed, 32, plain));
	PASS();
}

/* Any changed character, any cut, any added character. */
TEST tampering(void)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                            "abcdefghijklmnopqrstuvwxyz0123456789-_";
	char plain[NAME_PLAIN_MAX + 1], text[NAME_TEXT_MAX + 2];
	struct name_text t;
	size_t n;

	ASSERT_EQ(0, name_encrypt(keys, id_a, "file.txt", 8, 255, &t));
	n = strlen(t.text);
	for (size_t i = 0; i < n; i++)
		for (const char *c = chars; *c; c++) {
			if (*c == t.text[i])
				continue;
			strcpy(text, t.text);
			text[i] = *c;
			ASSERT_EQ(-EBADMSG, name_decrypt_text(keys, id_a, text,
			                                      n, plain));
		}
	for (size_t i = 0; i < n; i++)
		ASSERT_EQ(-EBADMSG,
		          name_decrypt_text(keys, id_a, t.text, i, plain));
	strcpy(text, t.text);
	strcat(text, "A");
	ASSERT_EQ(-EBADMSG, name_decrypt_text(keys, id_a, text, n + 1, plain));
	PASS();
}

TEST text_lengths(void)
{
	const uint16_t *l = name_text_lengths();
	char plain[257];
	size_t last = 0;

	fill(plain, 160);
	for (size_t n = 1; n <= 160; n++) {
		struct name_text t;

		ASSERT_EQ(0, name_encrypt(keys, id_a, plain, n, 255, &t));
		if (strlen(t.text) != last)
			ASSERT_EQ((size_t)*l++, last = strlen(t.text));
	}
	ASSERT_EQ(0, *l);
	PASS();
}

#define HASH "0123456789_abcdefghijklmnopqrstuvwxyz-ABCDE"
#define CODE "AAAAAAAAAAAAAAAAAAAAAA"

TEST forms(void)
{
	static const struct { enum name_form form; const char *text; } all[] = {
		{ NAME_ENCRYPTED, HASH },
		{ NAME_FOREIGN, HASH "x" },
		{ NAME_FOREIGN, HASH " (copy)" },
		{ NAME_FOREIGN, HASH ".sync-conflict-20240102-030405-ABCDEFG" },
		{ NAME_FOREIGN, "" },
		{ NAME_FOREIGN, ".stfolder" },
		{ NAME_FOREIGN, "frondfs" },
		{ NAME_FOREIGN, "Frondfs.conf" },
		{ NAME_CONFIG_FILE, "frondfs.conf" },
		{ NAME_OWN_UNKNOWN, "frondfs.confx" },
		{ NAME_OWN_UNKNOWN, "frondfs.conf (copy)" },
		{ NAME_OWN_UNKNOWN, "frondfs." },
		{ NAME_SEAL_FILE, "frondfs.seal" },
		{ NAME_SEAL_FILE, "frondfs.seal.sig" },
		{ NAME_SEAL_FILE, "frondfs.seal.tmp" },
		{ NAME_SEAL_FILE, "frondfs.seal.sig.tmp" },
		{ NAME_OWN_UNKNOWN, "frondfs.seal.old" },
		{ NAME_OWN_UNKNOWN, "frondfs.seals" },
		{ NAME_DIR_ID, "frondfs.dir." CODE },
		{ NAME_OWN_UNKNOWN, "frondfs.dir." CODE "A" },
		{ NAME_OWN_UNKNOWN, "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAB" },
		{ NAME_OWN_UNKNOWN, "frondfs.dir." },
		{ NAME_LINK_FILE, "frondfs.link." CODE },
		{ NAME_OWN_UNKNOWN, "frondfs.link." CODE " (copy)" },
		{ NAME_TEMP, "frondfs.tmp.x" },
		{ NAME_OWN_UNKNOWN, "frondfs.tmp." },
		{ NAME_LONG, "frondfs.long." HASH },
		{ NAME_LONG_FILE, "frondfs.long." HASH ".name" },
		{ NAME_LONG_CONFLICT, "frondfs.long." HASH ".sync-conflict-1" },
		{ NAME_LONG_CONFLICT, "frondfs.long.sync-conflict-1." HASH },
		{ NAME_LONG_CONFLICT, "frondfs.long (copy)." HASH },
		{ NAME_OWN_UNKNOWN, "frondfs.long." HASH ".sync-conflict-1.name" },
		{ NAME_OWN_UNKNOWN, "frondfs.long." HASH " (copy).name" },
		{ NAME_OWN_UNKNOWN, "frondfs.long." },
		{ NAME_OWN_UNKNOWN, "frondfs.longer" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		ASSERT_EQm(all[i].text, all[i].form, name_form(all[i].text));
	PASS();
}

TEST splitting(void)
{
	static const struct { const char *text, *suffix; } all[] = {
		{ "frondfs.long." HASH, "" },
		{ "frondfs.long." HASH ".sync-conflict-1", ".sync-conflict-1" },
		{ "frondfs.long." HASH "~", "~" },
		{ "frondfs.long.sync-conflict-1." HASH, ".sync-conflict-1" },
		{ "frondfs.long (copy)." HASH, " (copy)" },
	};
	char base[NAME_LONG_TEXT], suffix[NAME_TEXT_MAX + 1];

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		ASSERT_EQ(0, name_long_split(all[i].text, base, suffix));
		ASSERT_STR_EQ("frondfs.long." HASH, base);
		ASSERT_STR_EQ(all[i].suffix, suffix);
	}
	ASSERT_EQ(-EINVAL, name_long_split(HASH, base, suffix));
	ASSERT_EQ(-EINVAL, name_long_split("frondfs.long.x", base, suffix));
	PASS();
}

TEST dir_ids(void)
{
	char text[NAME_DIR_TEXT];
	uint8_t id[ID_SIZE];

	name_dir_text(text, id_a);
	ASSERT_EQ(NAME_DIR_TEXT - 1, (int)strlen(text));
	ASSERT_EQ(NAME_DIR_ID, name_form(text));
	ASSERT_EQ(0, name_dir_id(text, id));
	ASSERT_MEM_EQ(id_a, id, ID_SIZE);
	ASSERT_EQ(-EINVAL, name_dir_id("frondfs.dir.", id));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (keys_new(&keys, master, ADIANTUM_XCHACHA12))
		return 1;
	RUN_TESTp(every_length, 255);
	RUN_TESTp(every_length, 143);
	RUN_TESTp(every_length, NAME_LIMIT_MIN);
	RUN_TEST(limits);
	RUN_TEST(refused);
	RUN_TEST(tampering);
	RUN_TEST(text_lengths);
	RUN_TEST(forms);
	RUN_TEST(splitting);
	RUN_TEST(dir_ids);
	keys_free(keys);
	GREATEST_MAIN_END();
}
