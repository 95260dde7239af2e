#include "fs/format/recovery.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

enum {
	DATA = RECOVERY_GROUP - 1,                 /* characters of a group */
	VALUES = RECOVERY_GROUPS * DATA,           /* of 5 bits */
	CHARS = RECOVERY_GROUPS * RECOVERY_GROUP,
	CHECK_BITS = 14,
	KEY_BITS = 8 * KEY_SIZE,
	KIND_BITS = 5,
};

_Static_assert(KIND_BITS + KEY_BITS + CHECK_BITS == 5 * VALUES,
               "the groups are filled to the last bit");

/*
 * Characters, by arithmetic
 */

/* 1 if a > b, else 0; both small. */
static uint32_t above(uint32_t a, uint32_t b)
{
	return (b - a) >> 31;
}

/* 0-9, A-H, J, K, M, N, P-T, V-Z: each letter that is left out shifts the rest
 * by one. */
static char to_char(uint32_t v)
{
	return (char)('0' + v + 7 * above(v, 9) + above(v, 17) + above(v, 19) +
	              above(v, 21) + above(v, 26));
}

/* value + 1 if first <= c <= last, else 0. */
static uint32_t in_range(uint32_t c, uint32_t first, uint32_t last,
                         uint32_t value)
{
	uint32_t inside = 1 ^ (above(first, c) | above(c, last));

	return (0 - inside) & (value + c - first + 1);
}

/* 0-31, or 255 for a character that stands for no value. */
static uint8_t to_value(uint8_t byte)
{
	uint32_t c = byte, v;

	c -= 32 & (0 - (1 ^ (above('a', c) | above(c, 'z'))));
	v = in_range(c, '0', '9', 0) | in_range(c, 'A', 'H', 10) |
	    in_range(c, 'J', 'K', 18) | in_range(c, 'M', 'N', 20) |
	    in_range(c, 'P', 'T', 22) | in_range(c, 'V', 'Z', 27) |
	    in_range(c, 'O', 'O', 0) | in_range(c, 'I', 'I', 1) |
	    in_range(c, 'L', 'L', 1);
	return (uint8_t)(v - 1);
}

/*
 * The check character
 */

/* x times v in GF(2^5). */
static uint32_t times_x(uint32_t v)
{
	uint32_t carry = v >> 4 & 1;

	return (v << 1 & 31) ^ (5 & (0 - carry));
}

/* Of the group with this number, 1 to RECOVERY_GROUPS. */
static uint8_t check_value(const uint8_t data[DATA], uint32_t group)
{
	uint32_t sum = 0;

	/* Horner: the last character gets the highest power. */
	for (int i = DATA - 1; i >= 0; i--)
		sum = times_x(sum ^ data[i]);
	return (uint8_t)(sum ^ group);
}

/*
 * Bits. The message is 35 bytes, of which the last 5 bits are not used.
 */

enum { MESSAGE = (5 * VALUES + 7) / 8 };

static void set_bits(uint8_t message[MESSAGE], size_t at, uint32_t value,
                     unsigned bits)
{
	for (unsigned i = 0; i < bits; i++, at++) {
		uint32_t bit = value >> (bits - 1 - i) & 1;

		message[at / 8] |= (uint8_t)(bit << (7 - at % 8));
	}
}

static uint32_t get_bits(const uint8_t message[MESSAGE], size_t at,
                         unsigned bits)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bits; i++, at++)
		value = value << 1 | (message[at / 8] >> (7 - at % 8) & 1);
	return value;
}

static int overall_check(uint32_t *check, uint8_t kind,
                         const uint8_t master[KEY_SIZE])
{
	static const char context[] = "frondfs 1 recovery";
	uint8_t input[sizeof(context) - 1 + 1 + KEY_SIZE], digest[32];
	uint8_t *p = input;
	int ok;

	memcpy(p, context, sizeof(context) - 1);
	p += sizeof(context) - 1;
	*p++ = kind;
	memcpy(p, master, KEY_SIZE);
	ok = EVP_Digest(input, sizeof(input), digest, NULL, EVP_sha256(), NULL);
	*check = (uint32_t)(digest[0] << 8 | digest[1]) >> (16 - CHECK_BITS);
	OPENSSL_cleanse(input, sizeof(input));
	OPENSSL_cleanse(digest, sizeof(digest));
	return ok ? 0 : -EIO;
}

int recovery_encode(char text[RECOVERY_TEXT], const uint8_t master[KEY_SIZE],
                    enum adiantum_stream stream)
{
	uint8_t message[MESSAGE] = { 0 }, data[DATA];
	uint8_t kind = stream == ADIANTUM_XCHACHA20;
	uint32_t check;
	char *p = text;
	int error;

	if (stream != ADIANTUM_XCHACHA12 && stream != ADIANTUM_XCHACHA20)
		return -EINVAL;
	error = overall_check(&check, kind, master);
	if (error)
		return error;
	set_bits(message, 0, kind, KIND_BITS);
	for (size_t i = 0; i < KEY_SIZE; i++)
		set_bits(message, KIND_BITS + 8 * i, master[i], 8);
	set_bits(message, KIND_BITS + KEY_BITS, check, CHECK_BITS);
	for (unsigned g = 0; g < RECOVERY_GROUPS; g++) {
		for (unsigned i = 0; i < DATA; i++) {
			data[i] = (uint8_t)get_bits(message,
			                            5 * (g * DATA + i), 5);
			*p++ = to_char(data[i]);
		}
		*p++ = to_char(check_value(data, g + 1));
		*p++ = g + 1 == RECOVERY_GROUPS ? '\0' : g % 4 == 3 ? '\n' : ' ';
	}
	OPENSSL_cleanse(message, sizeof(message));
	OPENSSL_cleanse(data, sizeof(data));
	return 0;
}

/*
 * Reading
 */

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == '-' || c == '\n' || c == '\r';
}

/* The groups as they were typed: where each piece between separators ends. */
struct typed {
	uint8_t chars[CHARS];
	size_t count;       /* all characters, also those that found no room */
	size_t pieces;
	size_t odd_piece;   /* the first that is not of RECOVERY_GROUP
	                     * characters, from 1; 0: none */
	size_t odd_size;
};

static void end_piece(struct typed *typed, size_t size)
{
	if (!size)
		return;
	typed->pieces++;
	if (size != RECOVERY_GROUP && !typed->odd_piece) {
		typed->odd_piece = typed->pieces;
		typed->odd_size = size;
	}
}

static void collect(struct typed *typed, const char *text, size_t length)
{
	bool at_start = true, comment = false;
	size_t size = 0;

	memset(typed, 0, sizeof(*typed));
	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (c == '\n' || c == '\r')
			comment = false;
		else if (at_start && c == '#')
			comment = true;
		at_start = c == '\n' || c == '\r' ||
		           (at_start && (c == ' ' || c == '\t'));
		if (comment)
			continue;
		if (is_separator(c)) {
			end_piece(typed, size);
			size = 0;
			continue;
		}
		if (typed->count < CHARS)
			typed->chars[typed->count] = (uint8_t)c;
		typed->count++;
		size++;
	}
	end_piece(typed, size);
}

static void say_count(const struct typed *typed, char *problem)
{
	int n = snprintf(problem, RECOVERY_PROBLEM,
	                 "the recovery key has %zu characters, but it should have "
	                 "%d", typed->count, CHARS);

	/* Only where it was typed in groups does a piece's number mean one. */
	if (typed->odd_piece && typed->odd_piece <= RECOVERY_GROUPS &&
	    typed->pieces + 1 >= RECOVERY_GROUPS &&
	    typed->pieces <= RECOVERY_GROUPS + 1)
		snprintf(problem + n, RECOVERY_PROBLEM - (size_t)n,
		         ": group %zu has %zu", typed->odd_piece,
		         typed->odd_size);
	else if (typed->count % RECOVERY_GROUP == 0)
		snprintf(problem + n, RECOVERY_PROBLEM - (size_t)n,
		         " (%d groups of %d)", RECOVERY_GROUPS, RECOVERY_GROUP);
}

/* Whether a group's characters would be right in the place of group `g`. */
static bool group_fits(const uint8_t values[RECOVERY_GROUP], unsigned g)
{
	uint32_t bad = 0;

	for (unsigned i = 0; i < RECOVERY_GROUP; i++)
		bad |= values[i] & 0xe0;
	return !(bad | (uint32_t)(check_value(values, g) ^ values[DATA]));
}

/* Checks all groups, and names those that are wrong. */
static int check_groups(uint8_t values[][RECOVERY_GROUP], char *problem)
{
	unsigned wrong[RECOVERY_GROUPS], count = 0;
	int n;

	for (unsigned g = 1; g <= RECOVERY_GROUPS; g++)
		if (!group_fits(values[g - 1], g))
			wrong[count++] = g;
	if (!count)
		return 0;
	if (count == 2 && group_fits(values[wrong[0] - 1], wrong[1]) &&
	    group_fits(values[wrong[1] - 1], wrong[0])) {
		snprintf(problem, RECOVERY_PROBLEM,
		         "groups %u and %u of the recovery key are swapped",
		         wrong[0], wrong[1]);
		return -EINVAL;
	}
	if (count == 1) {
		snprintf(problem, RECOVERY_PROBLEM,
		         "group %u of the recovery key has a typing error",
		         wrong[0]);
		return -EINVAL;
	}
	n = snprintf(problem, RECOVERY_PROBLEM, "groups ");
	for (unsigned i = 0; i < count; i++)
		n += snprintf(problem + n, RECOVERY_PROBLEM - (size_t)n, "%s%u",
		              i == 0 ? "" : i + 1 == count ? " and " : ", ",
		              wrong[i]);
	snprintf(problem + n, RECOVERY_PROBLEM - (size_t)n,
	         " of the recovery key have typing errors");
	return -EINVAL;
}

static int unpack(uint8_t values[][RECOVERY_GROUP], uint8_t *master,
                  enum adiantum_stream *stream, char *problem)
{
	uint8_t message[MESSAGE] = { 0 };
	uint32_t check = 0, kind;
	int error;

	for (unsigned i = 0; i < VALUES; i++)
		set_bits(message, 5 * i, values[i / DATA][i % DATA], 5);
	kind = get_bits(message, 0, KIND_BITS);
	for (size_t i = 0; i < KEY_SIZE; i++)
		master[i] = (uint8_t)get_bits(message, KIND_BITS + 8 * i, 8);
	error = overall_check(&check, (uint8_t)kind, master);
	if (error) {
		snprintf(problem, RECOVERY_PROBLEM, "OpenSSL failed");
	} else if (check != get_bits(message, KIND_BITS + KEY_BITS,
	                             CHECK_BITS)) {
		snprintf(problem, RECOVERY_PROBLEM,
		         "the recovery key has several typing errors, or its "
		         "groups are of different keys");
		error = -EINVAL;
	} else if (kind > 1) {
		snprintf(problem, RECOVERY_PROBLEM,
		         "the recovery key is of a later version of frondfs");
		error = -ENOTSUP;
	} else {
		*stream = kind ? ADIANTUM_XCHACHA20 : ADIANTUM_XCHACHA12;
	}
	OPENSSL_cleanse(message, sizeof(message));
	return error;
}

int recovery_decode(uint8_t master[KEY_SIZE], enum adiantum_stream *stream,
                    const char *text, size_t length,
                    char problem[RECOVERY_PROBLEM])
{
	uint8_t values[RECOVERY_GROUPS][RECOVERY_GROUP];
	struct typed typed;
	int error = 0;

	problem[0] = '\0';
	collect(&typed, text, length);
	if (typed.count != CHARS) {
		say_count(&typed, problem);
		error = -EINVAL;
	}
	for (unsigned i = 0; i < CHARS; i++)
		values[i / RECOVERY_GROUP][i % RECOVERY_GROUP] =
			to_value(typed.chars[i]);
	if (!error)
		error = check_groups(values, problem);
	if (!error)
		error = unpack(values, master, stream, problem);
	if (error)
		OPENSSL_cleanse(master, KEY_SIZE);
	OPENSSL_cleanse(values, sizeof(values));
	OPENSSL_cleanse(&typed, sizeof(typed));
	return error;
}
