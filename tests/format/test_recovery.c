/* The recovery key: known answers, and that no typing error goes unnoticed. */
#include <ctype.h>
#include <errno.h>
#include <greatest.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/rand.h>

#include "fs/format/recovery.h"

enum { CHARS = RECOVERY_GROUPS * RECOVERY_GROUP };

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* Made by an independent program from the description in recovery.h; the
 * master key's bytes are 0, 1, ..., 31 (the last: all 255). */
static const char known12[] =
	"0000GV 40R40Y M30E2K 091858\nGR38EG 1W812B 4GK2GP AHC5RG\n"
	"R34D1Y P70X3K RFM42P";
static const char known20[] =
	"1000GS 40R40Y M30E2K 091858\nGR38EG 1W812B 4GK2GP AHC5RG\n"
	"R34D1Y P70X3K RFRZ2N";
static const char later2[] =
	"2000GZ 40R40Y M30E2K 091858 GR38EG 1W812B 4GK2GP AHC5RG R34D1Y P70X3K "
	"RFR9NP";
static const char later31[] =
	"Z000G0 40R40Y M30E2K 091858 GR38EG 1W812B 4GK2GP AHC5RG R34D1Y P70X3K "
	"RFKS4P";
static const char all_ones[] =
	"0ZZZZV ZZZZZ3 ZZZZZ2 ZZZZZ5\nZZZZZ4 ZZZZZ7 ZZZZZ6 ZZZZZ9\n"
	"ZZZZZ8 ZZZZZB ZZP4WB";

static void counting(uint8_t master[KEY_SIZE])
{
	for (int i = 0; i < KEY_SIZE; i++)
		master[i] = (uint8_t)i;
}

static int decode(const char *text, uint8_t master[KEY_SIZE],
                  enum adiantum_stream *stream, char *problem)
{
	return recovery_decode(master, stream, text, strlen(text), problem);
}

/* A key's characters without separators, and back in groups. */
static void squeeze(char chars[CHARS + 1], const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		if (*text != ' ' && *text != '\n')
			chars[n++] = *text;
	chars[n] = '\0';
}

static int decode_chars(const char *chars, char *problem)
{
	uint8_t master[KEY_SIZE];
	enum adiantum_stream stream;

	return recovery_decode(master, &stream, chars, CHARS, problem);
}

static bool names_group(const char *problem, size_t group)
{
	char want[32];

	snprintf(want, sizeof(want), "group %zu ", group);
	return strstr(problem, want) != NULL;
}

static bool is_wiped(const uint8_t master[KEY_SIZE])
{
	static const uint8_t zeros[KEY_SIZE];

	return !memcmp(master, zeros, KEY_SIZE);
}

TEST known_answers(void)
{
	char text[RECOVERY_TEXT];
	uint8_t master[KEY_SIZE];

	counting(master);
	ASSERT_EQ(0, recovery_encode(text, master, ADIANTUM_XCHACHA12));
	ASSERT_STR_EQ(known12, text);
	ASSERT_EQ(0, recovery_encode(text, master, ADIANTUM_XCHACHA20));
	ASSERT_STR_EQ(known20, text);
	memset(master, 255, sizeof(master));
	ASSERT_EQ(0, recovery_encode(text, master, ADIANTUM_XCHACHA12));
	ASSERT_STR_EQ(all_ones, text);
	ASSERT_EQ(-EINVAL, recovery_encode(text, master, 8));
	PASS();
}

TEST known_answers_back(void)
{
	static const struct {
		const char *text;
		enum adiantum_stream stream;
	} cases[] = {
		{ known12, ADIANTUM_XCHACHA12 },
		{ known20, ADIANTUM_XCHACHA20 },
	};
	uint8_t want[KEY_SIZE], master[KEY_SIZE];
	char problem[RECOVERY_PROBLEM];
	enum adiantum_stream stream;

	counting(want);
	for (size_t i = 0; i < 2; i++) {
		ASSERT_EQ(0, decode(cases[i].text, master, &stream, problem));
		ASSERT_MEM_EQ(want, master, KEY_SIZE);
		ASSERT_EQ(cases[i].stream, stream);
		ASSERT_STR_EQ("", problem);
	}
	PASS();
}

TEST later_version(void)
{
	uint8_t master[KEY_SIZE];
	char problem[RECOVERY_PROBLEM];
	enum adiantum_stream stream;

	ASSERT_EQ(-ENOTSUP, decode(later2, master, &stream, problem));
	ASSERT(strstr(problem, "later version"));
	ASSERT(is_wiped(master));
	ASSERT_EQ(-ENOTSUP, decode(later31, master, &stream, problem));
	PASS();
}

TEST random_keys(void)
{
	char text[RECOVERY_TEXT], problem[RECOVERY_PROBLEM];
	uint8_t master[KEY_SIZE], back[KEY_SIZE];
	enum adiantum_stream stream, got;

	for (int i = 0; i < 2000; i++) {
		ASSERT_EQ(1, RAND_bytes(master, KEY_SIZE));
		stream = i & 1 ? ADIANTUM_XCHACHA12 : ADIANTUM_XCHACHA20;
		ASSERT_EQ(0, recovery_encode(text, master, stream));
		ASSERT_EQ(RECOVERY_TEXT - 1, strlen(text));
		for (const char *p = text; *p; p++)
			ASSERT(strchr(alphabet, *p) || *p == ' ' || *p == '\n');
		ASSERT_EQ(0, decode(text, back, &got, problem));
		ASSERT_MEM_EQ(master, back, KEY_SIZE);
		ASSERT_EQ(stream, got);
	}
	PASS();
}

/* What a person may write and still mean the same. */
TEST liberal_reading(void)
{
	static const char *const same[] = {
		"0000GV40R40YM30E2K091858GR38EG1W812B4GK2GPAHC5RGR34D1YP70X3KRFM42P",
		"0000gv-40r40y-m30e2k-091858-gr38eg-1w812b-4gk2gp-ahc5rg-r34d1y-"
		"p70x3k-rfm42p",
		"OoO0GV 4oR40Y M3oE2K O9l858 GR38EG iWBI2B 4GK2GP AHC5RG R34DLY "
		"P7OX3K RFM42P",
		"# a comment 0123\r\n\t 0000GV 40R40Y\r\n  # more\n M30E2K 091858 "
		"GR38EG\n\n1W812B 4GK2GP AHC5RG R34D1Y P70X3K RFM42P\n\n",
		"0 0 0 0 G V 4 0 R 4 0 Y M30E2K0918 58GR38EG1W812B4GK2GP AHC5RG"
		"R34D1YP70X3KRFM42P",
	};
	uint8_t want[KEY_SIZE], master[KEY_SIZE];
	char problem[RECOVERY_PROBLEM];
	enum adiantum_stream stream;

	counting(want);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
		if (i == 2) /* "B" for "8" is an error; the rest is not */
			continue;
		ASSERT_EQ_FMT(0, decode(same[i], master, &stream, problem), "%d");
		ASSERT_MEM_EQ(want, master, KEY_SIZE);
	}
	ASSERT_EQ(-EINVAL, decode(same[2], master, &stream, problem));
	ASSERT_STR_EQ("group 6 of the recovery key has a typing error", problem);
	PASS();
}

TEST letters_for_digits(void)
{
	char text[RECOVERY_TEXT], problem[RECOVERY_PROBLEM];
	uint8_t master[KEY_SIZE], back[KEY_SIZE];
	enum adiantum_stream stream;

	for (int i = 0; i < 300; i++) {
		ASSERT_EQ(1, RAND_bytes(master, KEY_SIZE));
		ASSERT_EQ(0, recovery_encode(text, master, ADIANTUM_XCHACHA12));
		for (char *p = text; *p; p++) {
			if (*p == '0')
				*p = "oO"[i & 1];
			else if (*p == '1')
				*p = "iIlL"[i & 3];
			else if (i & 4)
				*p = (char)tolower(*p);
		}
		ASSERT_EQ(0, decode(text, back, &stream, problem));
		ASSERT_MEM_EQ(master, back, KEY_SIZE);
	}
	PASS();
}

TEST every_wrong_character(void)
{
	char chars[CHARS + 1], problem[RECOVERY_PROBLEM];
	int tried = 0;

	squeeze(chars, known12);
	for (size_t i = 0; i < CHARS; i++) {
		char right = chars[i];

		for (const char *p = alphabet; *p; p++) {
			if (*p == right)
				continue;
			chars[i] = *p;
			ASSERT_EQ(-EINVAL, decode_chars(chars, problem));
			ASSERT(names_group(problem, i / RECOVERY_GROUP + 1));
			tried++;
		}
		chars[i] = right;
	}
	ASSERT_EQ(CHARS * 31, tried);
	ASSERT_EQ(0, decode_chars(chars, problem));
	PASS();
}

/* Any byte that stands for no value, in any place. */
TEST every_invalid_character(void)
{
	char chars[CHARS + 1], problem[RECOVERY_PROBLEM];

	squeeze(chars, known20);
	for (size_t i = 0; i < CHARS; i++) {
		char right = chars[i];

		for (int c = 0; c < 256; c++) {
			/* '#' would begin a comment, the others separate. */
			if (isalnum(c) && c != 'u' && c != 'U')
				continue;
			if (c == '#' || c == ' ' || c == '-' || c == '\t' ||
			    c == '\n' || c == '\r')
				continue;
			chars[i] = (char)c;
			ASSERT_EQ(-EINVAL, decode_chars(chars, problem));
			ASSERT(names_group(problem, i / RECOVERY_GROUP + 1));
		}
		chars[i] = right;
	}
	PASS();
}

TEST every_swap_in_a_group(void)
{
	char chars[CHARS + 1], problem[RECOVERY_PROBLEM];
	uint8_t master[KEY_SIZE];
	char text[RECOVERY_TEXT];
	int tried = 0;

	for (int round = 0; round < 200; round++) {
		RAND_bytes(master, KEY_SIZE);
		ASSERT_EQ(0, recovery_encode(text, master, ADIANTUM_XCHACHA12));
		squeeze(chars, text);
		for (size_t i = 0; i < CHARS; i++)
			for (size_t j = i + 1; j < CHARS &&
			     j / RECOVERY_GROUP == i / RECOVERY_GROUP; j++) {
				char a = chars[i], b = chars[j];

				if (a == b)
					continue;
				chars[i] = b;
				chars[j] = a;
				ASSERT_EQ(-EINVAL, decode_chars(chars, problem));
				ASSERT(names_group(problem,
				                   i / RECOVERY_GROUP + 1));
				chars[i] = a;
				chars[j] = b;
				tried++;
			}
	}
	ASSERT(tried > 20000);
	PASS();
}

TEST every_swap_of_groups(void)
{
	char chars[CHARS + 1], problem[RECOVERY_PROBLEM], want[80];
	char kept[CHARS + 1];

	squeeze(kept, known12);
	for (size_t i = 0; i < RECOVERY_GROUPS; i++)
		for (size_t j = i + 1; j < RECOVERY_GROUPS; j++) {
			memcpy(chars, kept, sizeof(kept));
			memcpy(chars + i * RECOVERY_GROUP,
			       kept + j * RECOVERY_GROUP, RECOVERY_GROUP);
			memcpy(chars + j * RECOVERY_GROUP,
			       kept + i * RECOVERY_GROUP, RECOVERY_GROUP);
			ASSERT_EQ(-EINVAL, decode_chars(chars, problem));
			snprintf(want, sizeof(want),
			         "groups %zu and %zu of the recovery key are swapped",
			         i + 1, j + 1);
			ASSERT_STR_EQ(want, problem);
		}
	PASS();
}

TEST wrong_length(void)
{
	uint8_t master[KEY_SIZE];
	char problem[RECOVERY_PROBLEM], cut[RECOVERY_TEXT];
	enum adiantum_stream stream;

	ASSERT_EQ(-EINVAL, decode("0000GV 40R40Y M30E2 091858 GR38EG 1W812B "
	                          "4GK2GP AHC5RG R34D1Y P70X3K RFM42P", master,
	                          &stream, problem));
	ASSERT_STR_EQ("the recovery key has 65 characters, but it should have 66: "
	              "group 3 has 5", problem);
	ASSERT_EQ(-EINVAL, decode("0000GV 40R40Y M30E2K 091858 GR38EG 1W812B "
	                          "4GK2GP AHC5RRG R34D1Y P70X3K RFM42P", master,
	                          &stream, problem));
	ASSERT(strstr(problem, "group 8 has 7"));
	ASSERT_EQ(-EINVAL, decode("0000GV 40R40Y", master, &stream, problem));
	ASSERT(strstr(problem, "12 characters"));
	ASSERT_EQ(-EINVAL, decode("", master, &stream, problem));
	/* Every cut. */
	for (size_t n = 0; n < strlen(known12); n++) {
		memcpy(cut, known12, n);
		cut[n] = '\0';
		memset(master, 1, KEY_SIZE);
		ASSERT_EQ(-EINVAL, decode(cut, master, &stream, problem));
		ASSERT(is_wiped(master));
	}
	PASS();
}

/* Two errors that a group's check character does not show are found by the
 * check over the whole. */
TEST errors_that_groups_miss(void)
{
	char chars[CHARS + 1], problem[RECOVERY_PROBLEM];
	int missed = 0;

	squeeze(chars, known12);
	for (const char *a = alphabet; *a; a++)
		for (const char *b = alphabet; *b; b++) {
			char old_a = chars[6], old_b = chars[7];

			if (*a == old_a || *b == old_b)
				continue;
			chars[6] = *a;
			chars[7] = *b;
			ASSERT_EQ(-EINVAL, decode_chars(chars, problem));
			if (strstr(problem, "several typing errors"))
				missed++;
			chars[6] = old_a;
			chars[7] = old_b;
		}
	ASSERT_EQ(31, missed); /* one b for each a */
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(known_answers);
	RUN_TEST(known_answers_back);
	RUN_TEST(later_version);
	RUN_TEST(random_keys);
	RUN_TEST(liberal_reading);
	RUN_TEST(letters_for_digits);
	RUN_TEST(every_wrong_character);
	RUN_TEST(every_invalid_character);
	RUN_TEST(every_swap_in_a_group);
	RUN_TEST(every_swap_of_groups);
	RUN_TEST(wrong_length);
	RUN_TEST(errors_that_groups_miss);
	GREATEST_MAIN_END();
}
