/* Sizes by arithmetic, sealing, sectors and headers. */
#include <errno.h>
#include <string.h>

#include <greatest.h>

#include "fs/format/base64url.h"
#include "fs/format/header.h"
#include "fs/format/keys.h"

static struct keys *keys;
static const uint8_t id[ID_SIZE] = "sixteen byte id!";

TEST sizes_agree(void)
{
	uint64_t before = 0;

	for (uint64_t size = 0; size < 50000; size++) {
		uint64_t c = size_encrypted(size);
		struct length l = size_decode(c);

		ASSERT_EQ(LENGTH_FINAL, l.state);
		ASSERT_EQ(size, l.size);
		ASSERT_EQ(sector_count(size), l.sectors);
		ASSERT(c > before);
		before = c;
		if (size) {
			uint64_t i = sector_of(size - 1);

			ASSERT(sector_start(i) <= size - 1);
			ASSERT(size - 1 < sector_start(i) + sector_capacity(i));
			ASSERT_EQ(c, (i + 1) * 4096 + size - sector_start(i));
		}
	}
	PASS();
}

/* Beyond 4 GiB and up to the largest size: no 32-bit step anywhere. */
TEST large_sizes(void)
{
	static const uint64_t sizes[] = {
		UINT32_MAX - 1ull, UINT32_MAX, UINT32_MAX + 1ull,
		(uint64_t)1 << 40, ((uint64_t)1 << 43) + 12345, PLAIN_SIZE_MAX,
	};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct length l = size_decode(size_encrypted(sizes[k]));

		ASSERT_EQ(LENGTH_FINAL, l.state);
		ASSERT_EQ(sizes[k], l.size);
		ASSERT(size_encrypted(sizes[k]) <= INT64_MAX);
	}
	ASSERT_EQ((((uint64_t)1 << 40) - 4000) / 4080 + 1,
	          sector_of((uint64_t)1 << 40));
	PASS();
}

TEST odd_lengths(void)
{
	ASSERT_EQ(LENGTH_UNFINISHED, size_decode(0).state);
	for (uint64_t c = 1; c < 4096; c++)
		ASSERT_EQ(c == 80 ? LENGTH_FINAL : LENGTH_ODD,
		          size_decode(c).state);
	ASSERT_EQ(LENGTH_OPEN, size_decode(4096).state);
	ASSERT_EQ(LENGTH_FINAL, size_decode(4096 + 4000).state);
	ASSERT_EQ(LENGTH_ODD, size_decode(4096 + 4001).state);
	ASSERT_EQ(LENGTH_OPEN, size_decode(8192).state);
	ASSERT_EQ(LENGTH_FINAL, size_decode(8192 + 4080).state);
	ASSERT_EQ(LENGTH_ODD, size_decode(8192 + 4081).state);
	ASSERT_EQ(8080, size_decode(8192).size);
	PASS();
}

TEST trailers(void)
{
	uint8_t t[SEAL_TRAILER];

	for (size_t n = 0; n <= 4080; n++) {
		trailer_make(t, n);
		ASSERT_EQ((int)n, trailer_check(t, 4080));
		ASSERT_EQ((int)n, trailer_check(t, n));
		if (n)
			ASSERT_EQ(-EBADMSG, trailer_check(t, n - 1));
	}
	for (int byte = 2; byte < SEAL_TRAILER; byte++)
		for (int bit = 0; bit < 8; bit++) {
			trailer_make(t, 4080);
			t[byte] ^= 1 << bit;
			ASSERT_EQ(-EBADMSG, trailer_check(t, 4080));
		}
	PASS();
}

TEST sealing(void)
{
	uint8_t tweak[TWEAK_SIZE], out[48 + SEAL_TRAILER], in[48], back[64];
	size_t size;

	memset(in, 7, sizeof(in));
	for (size_t n = 0; n <= 48; n++) {
		tweak_make(tweak, id, n, TWEAK_NAME);
		ASSERT_EQ(0, seal(keys->name, tweak, out, in, n, 48));
		ASSERT_EQ(0, seal_open(keys->name, tweak, back, &size, out, 48));
		ASSERT_EQ(n, size);
		ASSERT_EQ(0, memcmp(in, back, n));
		for (size_t k = n; k < 48; k++)
			ASSERT_EQ(0, back[k]);
		/* Another index, kind or id does not open it. */
		tweak_make(tweak, id, n + 1, TWEAK_NAME);
		ASSERT_EQ(-EBADMSG, seal_open(keys->name, tweak, back, &size, out, 48));
		tweak_make(tweak, id, n, TWEAK_LINK);
		ASSERT_EQ(-EBADMSG, seal_open(keys->name, tweak, back, &size, out, 48));
		for (size_t k = 0; k < 64; k++)
			ASSERT_EQ(0, back[k]);
	}
	ASSERT_EQ(-EINVAL, seal(keys->name, tweak, out, in, 49, 48));
	ASSERT_EQ(-EINVAL, seal(keys->name, tweak, out, in, 1, 65536));
	PASS();
}

/* One call over many sectors is the same as a call each, in both directions. */
TEST sector_batches(void)
{
	static uint8_t all[300 * 4096], one[300 * 4096], plain[300 * 4096];
	static int sizes[300];
	static const size_t counts[] = { 1, 2, 63, 64, 65, 128, 129, 257, 300 };

	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
		for (uint64_t first = 0; first < 3; first++) {
			size_t n = counts[c];

			for (size_t k = 0; k < sizeof(all); k++)
				all[k] = (uint8_t)(k * 31 + (k >> 9) + c) | 1;
			memcpy(one, all, sizeof(all));
			memcpy(plain, all, sizeof(all));
			ASSERT_EQ(0, sectors_seal(keys->content, id, first, n,
			                          all, 77));
			for (size_t k = 0; k < n; k++) {
				uint64_t i = first + k;

				ASSERT_EQ(0, sectors_seal(keys->content, id, i, 1,
					one + sector_offset(i) - sector_offset(first),
					k == n - 1 ? 77 : sector_capacity(i)));
			}
			ASSERT_EQ(0, memcmp(all, one, sizeof(all)));
			ASSERT_EQ(0, sectors_open(keys->content, id, first, n,
			                          all, sizes));
			for (size_t k = 0; k < n; k++) {
				uint64_t i = first + k;
				size_t at = sector_offset(i) - sector_offset(first);
				int want = k == n - 1 ? 77 : (int)sector_capacity(i);

				ASSERT_EQ(want, sizes[k]);
				ASSERT_EQ(0, memcmp(all + at, plain + at, (size_t)want));
			}
		}
	PASS();
}

TEST bad_sectors(void)
{
	static uint8_t good[6 * 4096], buf[6 * 4096];
	int sizes[6];

	memset(good, 1, sizeof(good));
	ASSERT_EQ(0, sectors_seal(keys->content, id, 1, 6, good, 4080));
	memcpy(buf, good, sizeof(buf));
	buf[4096 + 4095] ^= 0x80;             /* sector 2: a bit */
	memset(buf + 2 * 4096, 0, 4096);      /* sector 3: zeroed */
	memcpy(buf + 3 * 4096, good + 4 * 4096, 4096); /* 4 and 5 exchanged */
	memcpy(buf + 4 * 4096, good + 3 * 4096, 4096);
	memset(buf + 5 * 4096 + 512, 0, 1024); /* sector 6: zeros inside */
	ASSERT_EQ(0, sectors_open(keys->content, id, 1, 6, buf, sizes));
	ASSERT_EQ(4080, sizes[0]);
	ASSERT_EQ(SECTOR_CORRUPT, sizes[1]);
	ASSERT_EQ(SECTOR_HOLE, sizes[2]);
	ASSERT_EQ(SECTOR_CORRUPT, sizes[3]);
	ASSERT_EQ(SECTOR_CORRUPT, sizes[4]);
	ASSERT_EQ(SECTOR_CORRUPT, sizes[5]);
	/* Nothing of a bad sector is handed out. */
	for (size_t k = 4096; k < sizeof(buf); k++)
		ASSERT_EQ(0, buf[k]);
	PASS();
}

TEST headers(void)
{
	struct header h = { .size = 123456789012, .flags = HEADER_SPARSE }, back;
	uint8_t raw[HEADER_SIZE];

	memcpy(h.id, id, ID_SIZE);
	memcpy(h.made_in, "another 16 bytes", ID_SIZE);
	ASSERT_EQ(0, header_seal(keys->content, &h, raw));
	ASSERT_EQ(0, header_open(keys->content, &back, raw));
	ASSERT_EQ(h.size, back.size);
	ASSERT_EQ(h.flags, back.flags);
	ASSERT_EQ(0, memcmp(h.id, back.id, ID_SIZE));
	ASSERT_EQ(0, memcmp(h.made_in, back.made_in, ID_SIZE));
	for (size_t bit = 0; bit < HEADER_SIZE * 8; bit++) {
		raw[bit / 8] ^= 1 << bit % 8;
		ASSERT_EQ(-EBADMSG, header_open(keys->content, &back, raw));
		raw[bit / 8] ^= 1 << bit % 8;
	}
	h.flags = 2; /* of a later version */
	ASSERT_EQ(0, header_seal(keys->content, &h, raw));
	ASSERT_EQ(-EBADMSG, header_open(keys->content, &back, raw));
	PASS();
}

TEST base64url(void)
{
	/* RFC 4648, section 10, without the padding. */
	static const char *const known[][2] = {
		{ "", "" }, { "f", "Zg" }, { "fo", "Zm8" }, { "foo", "Zm9v" },
		{ "foob", "Zm9vYg" }, { "fooba", "Zm9vYmE" },
		{ "foobar", "Zm9vYmFy" }, { "\xfb\xff", "-_8" },
	};
	uint8_t bytes[64];
	char text[96];

	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
		size_t n = strlen(known[k][0]);

		ASSERT_EQ(strlen(known[k][1]),
		          base64url_encode(text, (const void *)known[k][0], n));
		ASSERT_STR_EQ(known[k][1], text);
		ASSERT_EQ((int)n, base64url_decode(bytes, 64, text, strlen(text)));
		ASSERT_EQ(0, memcmp(bytes, known[k][0], n));
	}
	ASSERT_EQ(-EINVAL, base64url_decode(bytes, 64, "Zh", 2)); /* spare bits */
	ASSERT_EQ(-EINVAL, base64url_decode(bytes, 64, "Z", 1));
	ASSERT_EQ(-EINVAL, base64url_decode(bytes, 64, "Zm9v+", 5));
	ASSERT_EQ(-EINVAL, base64url_decode(bytes, 64, "Zg==", 4));
	ASSERT_EQ(-EINVAL, base64url_decode(bytes, 2, "Zm9v", 4));
	PASS();
}

/* Each key is its own; all depend on the master key. */
TEST derived_keys(void)
{
	uint8_t a[KEY_SIZE] = { 1 }, out1[KEY_SIZE], out2[42];
	/* RFC 5869, test case 3: no salt, no info. */
	static const uint8_t okm[42] =
		"\x8d\xa4\xe7\x75\xa5\x63\xc1\x8f\x71\x5f\x80\x2a\x06\x3c\x5a\x31"
		"\xb8\xa1\x1f\x5c\x5e\xe1\x87\x9e\xc3\x45\x4e\x5f\x3c\x73\x8d\x2d"
		"\x9d\x20\x13\x95\xfa\xa4\xb6\x1a\x96\xc8";
	uint8_t ikm[22];

	memset(ikm, 0x0b, sizeof(ikm));
	ASSERT_EQ(0, keys_hkdf(out2, 42, ikm, 22, NULL, 0, ""));
	ASSERT_EQ(0, memcmp(okm, out2, 42));
	ASSERT_EQ(0, keys_hkdf(out1, KEY_SIZE, a, KEY_SIZE, NULL, 0, "x"));
	ASSERT_EQ(0, keys_hkdf(out2, KEY_SIZE, a, KEY_SIZE, NULL, 0, "y"));
	ASSERT(memcmp(out1, out2, KEY_SIZE));
	ASSERT(memcmp(keys->config, keys->seal, KEY_SIZE));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	static const uint8_t master[KEY_SIZE] = "the master key of these tests";

	GREATEST_MAIN_BEGIN();
	if (keys_new(&keys, master, ADIANTUM_XCHACHA12))
		return 1;
	RUN_TEST(sizes_agree);
	RUN_TEST(large_sizes);
	RUN_TEST(odd_lengths);
	RUN_TEST(trailers);
	RUN_TEST(sealing);
	RUN_TEST(sector_batches);
	RUN_TEST(bad_sectors);
	RUN_TEST(headers);
	RUN_TEST(base64url);
	RUN_TEST(derived_keys);
	keys_free(keys);
	GREATEST_MAIN_END();
}
