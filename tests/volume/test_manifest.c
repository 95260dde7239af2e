/*
 * Manifests in the library: lines, paths and their order, groups of hard links,
 * and a seal whose every byte is known.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <greatest.h>
#include <openssl/hmac.h>

#include "dir_support.h"
#include "fs/format/manifest.h"
#include "fs/volume/manifest_groups.h"
#include "fs/volume/manifest_impl.h"
#include "fs/volume/manifest_lines.h"

TEST escapes(void)
{
	static const struct {
		const char *path, *escaped;
	} all[] = {
		{ "plain", "plain" }, { "a\\b", "a\\\\b" }, { "a\nb", "a\\nb" },
		{ "a\rb", "a\\rb" }, { "\\n", "\\\\n" }, { "\t", "\t" },
		{ "\\\\\n\n", "\\\\\\\\\\n\\n" }, { "", "" },
	};
	static const char *const wrong[] = { "\\", "a\\x", "\\\\\\", "a\\N" };
	char text[64];
	bool differs;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t n = manifest_escape(text, all[i].path, &differs);

		ASSERT_STR_EQ(all[i].escaped, text);
		ASSERT_EQ(strlen(text), n);
		ASSERT_EQ(!!strcmp(all[i].path, all[i].escaped), differs);
		ASSERT_EQ(0, manifest_unescape(text));
		ASSERT_STR_EQ(all[i].path, text);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		strcpy(text, wrong[i]);
		ASSERT_EQ(-EBADMSG, manifest_unescape(text));
	}
	PASS();
}

TEST valid_paths(void)
{
	static const char *const good[] = {
		"a", "a/b", "...", "..a", ".a/..b", "a b", "\xff", "-",
	};
	static const char *const bad[] = {
		"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "./a", "a/../b",
		"../a", "a/..",
	};
	char *text = malloc(MANIFEST_PATH_MAX + 2);

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ASSERT(manifest_path_valid(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ASSERT_FALSE(manifest_path_valid(bad[i]));
	memset(text, 'x', 256);
	text[256] = '\0';
	ASSERT_FALSE(manifest_path_valid(text));
	text[255] = '\0';
	ASSERT(manifest_path_valid(text));
	for (size_t i = 0; i <= MANIFEST_PATH_MAX; i++)
		text[i] = i % 2 ? '/' : 'x';
	text[MANIFEST_PATH_MAX] = '\0';
	ASSERT(manifest_path_valid(text)); /* it ends with an x */
	strcpy(text + MANIFEST_PATH_MAX, "x");
	ASSERT_FALSE(manifest_path_valid(text));
	free(text);
	PASS();
}

/* In the order of a walk, each pair of them. */
TEST order(void)
{
	static const char *const walk[] = {
		"-", "a", "a/a", "a/a/z", "a/b", "a\x01", "a\x01/x", "a b",
		"a!", "a.", "a.b/c", "aa", "aa/a", "b", "b/\x01", "b/~",
		"b\xff", "\xff", "\xff/a",
	};
	enum { COUNT = sizeof(walk) / sizeof(walk[0]) };

	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < COUNT; k++) {
			int c = manifest_path_compare(walk[i], walk[k]);

			ASSERT_EQ(i < k, c < 0);
			ASSERT_EQ(i == k, c == 0);
		}
	ASSERT(manifest_path_below("a/b", "a"));
	ASSERT(manifest_path_below("a/b", ""));
	ASSERT_FALSE(manifest_path_below("a", "a"));
	ASSERT_FALSE(manifest_path_below("ab", "a"));
	PASS();
}

TEST coverage(void)
{
#define NAME43 "0123456789_abcdefghijklmnopqrstuvwxyz-ABCDE"
	static const char *const yes[] = {
		NAME43, NAME43 " (copy)", NAME43 ".sync-conflict-1",
		"frondfs.conf", "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA",
		"frondfs.long." NAME43, "frondfs.long." NAME43 ".name",
		"frondfs.long." NAME43 " (copy)",
		"frondfs.link.AAAAAAAAAAAAAAAAAAAAAA",
	};
	static const char *const no[] = {
		"frondfs.seal", "frondfs.seal.sig", "frondfs.seal.tmp",
		"frondfs.seal.sig.tmp", "frondfs.tmp.x", "frondfs.conf.old-1",
		".stfolder", "notes.txt", "-",
	};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		ASSERTm(yes[i], manifest_covers(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		ASSERTm(no[i], !manifest_covers(no[i]));
	PASS();
}

TEST numbers(void)
{
	uint64_t n;
	int64_t i;
	char text[] = "one two  four", *words[5];

	ASSERT(lines_number("0", 5, &n) && n == 0);
	ASSERT(lines_number("18446744073709551615", UINT64_MAX, &n) &&
	       n == UINT64_MAX);
	ASSERT_FALSE(lines_number("18446744073709551616", UINT64_MAX, &n));
	ASSERT_FALSE(lines_number("99999999999999999999", UINT64_MAX, &n));
	ASSERT_FALSE(lines_number("6", 5, &n));
	ASSERT_FALSE(lines_number("", 5, &n));
	ASSERT_FALSE(lines_number("01", 5, &n));
	ASSERT_FALSE(lines_number("+1", 5, &n));
	ASSERT_FALSE(lines_number("1 ", 5, &n));
	ASSERT_FALSE(lines_number("-1", 5, &n));
	ASSERT(lines_signed("-1", &i) && i == -1);
	ASSERT(lines_signed("7", &i) && i == 7);
	ASSERT_FALSE(lines_signed("-0", &i));
	ASSERT_FALSE(lines_signed("--1", &i));
	ASSERT_EQ((size_t)4, lines_words(text, words, 5));
	ASSERT_STR_EQ("", words[2]);
	ASSERT_STR_EQ("four", words[3]);
	PASS();
}

static struct stat inode(ino_t number, nlink_t links)
{
	return (struct stat){ .st_ino = number, .st_nlink = links,
	                      .st_mode = S_IFREG };
}

TEST groups_of_links(void)
{
	struct groups *g = NULL;
	struct stat one = inode(10, 1), a = inode(11, 2), b = inode(12, 3);
	uint64_t n;
	const char *with;
	bool joined;

	ASSERT_EQ(0, groups_number(&g, &one, &n));
	ASSERT_EQ_FMT(0ul, (unsigned long)n, "%lu");
	ASSERT_EQ(0, groups_number(&g, &b, &n));
	ASSERT_EQ_FMT(1ul, (unsigned long)n, "%lu");
	ASSERT_EQ(0, groups_number(&g, &a, &n));
	ASSERT_EQ_FMT(2ul, (unsigned long)n, "%lu");
	ASSERT_EQ(0, groups_number(&g, &b, &n));
	ASSERT_EQ_FMT(1ul, (unsigned long)n, "%lu");
	groups_free(g);

	g = NULL; /* as it was: other inodes, the same groups */
	ASSERT_EQ(0, groups_compare(&g, "p", 0, &one, &with, &joined));
	ASSERT_EQ(NULL, with);
	ASSERT_EQ(0, groups_compare(&g, "q", 1, &a, &with, &joined));
	ASSERT_EQ(NULL, with);
	ASSERT_EQ(0, groups_compare(&g, "r", 1, &a, &with, &joined));
	ASSERT_EQ(NULL, with);
	/* Of the same group, but another inode now. */
	ASSERT_EQ(0, groups_compare(&g, "s", 1, &b, &with, &joined));
	ASSERT_STR_EQ("q", with);
	ASSERT_FALSE(joined);
	ASSERT_EQ(0, groups_compare(&g, "t", 1, &one, &with, &joined));
	ASSERT_STR_EQ("q", with);
	/* Of no group, or another one, and the same inode now. */
	ASSERT_EQ(0, groups_compare(&g, "u", 0, &a, &with, &joined));
	ASSERT_STR_EQ("q", with);
	ASSERT(joined);
	ASSERT_EQ(0, groups_compare(&g, "w", 7, &a, &with, &joined));
	ASSERT_STR_EQ("q", with);
	ASSERT(joined);
	groups_free(g);
	PASS();
}

static void put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static char *get(const char *folder, const char *name)
{
	char *path, *text = calloc(1, 65536);
	int fd;

	if (asprintf(&path, "%s/%s", folder, name) < 0 || !text)
		abort();
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, 65535) < 0)
		abort();
	close(fd);
	free(path);
	return text;
}

/* The example of doc/format.md: the manifest of one file, and the signature's
 * lines, of which times and inode are not the same twice. */
TEST known_seal(void)
{
	struct place p;
	struct manifest_progress progress = { .files = 0 };
	struct manifest_seal seal = { .threads = 1 };
	struct manifest_status status;
	struct manifest *m;
	const struct manifest_entry *e;
	char *text, *signature, *path;
	int more, files = 0, dirs = 0, links = 0;

	place_make(&p, "/tmp", 255);
	put(p.volume.root, NAME43, "abc");
	ASSERT_FALSE(mkdirat(p.volume.root, NAME43 "d", 0700));
	ASSERT_FALSE(symlinkat("target", p.volume.root, NAME43 "l\n"));
	ASSERT(asprintf(&path, "%s/frondfs.seal", p.path) > 0);
	seal.path = path;
	ASSERT_EQ(0, manifest_seal(&p.volume, &seal, &progress));
	ASSERT_EQ_FMT(4ul, (unsigned long)seal.entries, "%lu");
	text = get(p.path, "frondfs.seal");
	/* BLAKE2b-512("abc"), RFC 7693, appendix A. */
	ASSERT(strstr(text,
		"ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
		"7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
		"  ./" NAME43 "\n"));
	signature = get(p.path, "frondfs.seal.sig");
	ASSERT_EQ(0, strncmp(signature, "frondfs seal 1\ntime ", 20));
	ASSERT(strstr(signature, "\nD " NAME43 "d\nL 0 " NAME43
	              "l\\n\nT target\n"));
	ASSERT(strstr(signature, "\nF 3 "));
	ASSERT(strstr(signature, "\nend 4\nmanifest "));
	m = manifest_open(path, p.volume.keys->seal, &status);
	ASSERT(m);
	ASSERT(manifest_info(m)->checked);
	for (int pass = 0; pass < 2; pass++) {
		files = dirs = links = 0;
		while ((more = manifest_next(m, &e)) == 1) {
			files += e->kind == MANIFEST_FILE;
			dirs += e->kind == MANIFEST_DIR;
			if (e->kind == MANIFEST_LINK) {
				links++;
				ASSERT_STR_EQ(NAME43 "l\n", e->path);
				ASSERT_STR_EQ("target", e->target);
			}
		}
		ASSERT_EQ_FMT(0, more, "%d");
		ASSERT_EQ_FMT(2, files, "%d");
		ASSERT_EQ_FMT(1, dirs, "%d");
		ASSERT_EQ_FMT(1, links, "%d");
		ASSERT_EQ(0, manifest_rewind(m));
	}
	/* Somebody writes it while it is read. */
	ASSERT_EQ(1, manifest_next(m, &e));
	{
		int fd = open(path, O_WRONLY);

		ASSERT_EQ(1, (int)pwrite(fd, "0", 1, 2));
		ASSERT_EQ(1, (int)pwrite(fd, "1", 1, 3));
		close(fd);
	}
	ASSERT_EQ(0, manifest_rewind(m));
	while ((more = manifest_next(m, &e)) == 1)
		;
	ASSERT_EQ_FMT(-ESTALE, more, "%d");
	manifest_close(m);
	free(text);
	free(signature);
	free(path);
	place_remove(&p);
	PASS();
}

/* The signature by hand: HMAC-SHA256 of all lines but the last. */
TEST known_signature(void)
{
	struct place p;
	struct manifest_progress progress = { .files = 0 };
	struct manifest_seal seal = { .threads = 1 };
	uint8_t mac[32], wanted[32];
	char *path, *signature, *last;
	unsigned size;

	place_make(&p, "/tmp", 255);
	ASSERT(asprintf(&path, "%s/frondfs.seal", p.path) > 0);
	seal.path = path;
	ASSERT_EQ(0, manifest_seal(&p.volume, &seal, &progress));
	signature = get(p.path, "frondfs.seal.sig");
	last = strstr(signature, "\nmac ");
	ASSERT(last);
	ASSERT_EQ_FMT((size_t)70, strlen(last), "%zu");
	ASSERT_EQ(0, manifest_unhex(wanted, 32, last + 5));
	ASSERT(HMAC(EVP_sha256(), p.volume.keys->seal, KEY_SIZE,
	            (uint8_t *)signature, (size_t)(last + 1 - signature), mac,
	            &size));
	ASSERT_MEM_EQ(mac, wanted, 32);
	free(signature);
	free(path);
	place_remove(&p);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	RUN_TEST(escapes);
	RUN_TEST(valid_paths);
	RUN_TEST(order);
	RUN_TEST(coverage);
	RUN_TEST(numbers);
	RUN_TEST(groups_of_links);
	RUN_TEST(known_seal);
	RUN_TEST(known_signature);
	GREATEST_MAIN_END();
}
