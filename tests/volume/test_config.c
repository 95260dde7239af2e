/* frondfs.conf: key slots, that no damage is believed, and the bounds. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "fs/format/name.h"
#include "fs/volume/config.h"
#include "fs/volume/config_text.h"
#include "fs/volume/io.h"

static char folder[] = "/tmp/frondfs-config.XXXXXX";
static int root;
static uint8_t master[KEY_SIZE];
static char good[CONFIG_FILE_MAX];
static size_t good_size;

static const struct unlock passphrase = {
	SLOT_PASSPHRASE, (const uint8_t *)"correct horse", 13 };
static const struct unlock wrong = {
	SLOT_PASSPHRASE, (const uint8_t *)"correct horsf", 13 };
static const struct unlock keyfile = {
	SLOT_KEY_FILE, (const uint8_t *)"0123456789abcdef0123", 20 };
static const struct unlock recovery = { SLOT_RECOVERY, master, KEY_SIZE };

static void put(const char *text, size_t size)
{
	int fd = openat(root, NAME_CONFIG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
}

static size_t get(char *text)
{
	int fd = openat(root, NAME_CONFIG, O_RDONLY);
	ssize_t n = read(fd, text, CONFIG_FILE_MAX);

	if (n < 0)
		abort();
	close(fd);
	return (size_t)n;
}

/* A cheap passphrase slot. */
static enum config_error add_cheap(struct config *config,
                                   const struct unlock *unlock,
                                   const char *label)
{
	return config_add_slot(config, master, unlock, label, 16, 1, 1);
}

static void make_good(void)
{
	struct config config;

	config_init(&config, ADIANTUM_XCHACHA12, 255);
	if (add_cheap(&config, &passphrase, "p\xc3\xa4ss") ||
	    add_cheap(&config, &keyfile, "") ||
	    add_cheap(&config, &recovery, "r") ||
	    config_write(&config, root, master))
		abort();
	good_size = get(good);
}

static void setup(void *unused)
{
	(void)unused;
	put(good, good_size);
}

static enum config_error unlock_with(const struct unlock *unlock,
                                     unsigned *slot)
{
	struct config config;
	uint8_t out[KEY_SIZE];
	enum config_error e = config_unlock(&config, root, unlock, out, slot);

	if (!e && memcmp(out, master, KEY_SIZE))
		abort();
	return e;
}

TEST round_trip(void)
{
	struct config a, b;
	unsigned slot = 99;

	for (int i = 0; i < 2; i++) {
		config_init(&a, i ? ADIANTUM_XCHACHA20 : ADIANTUM_XCHACHA12,
		            i ? 143 : 255);
		ASSERT_EQ(CONFIG_OK, add_cheap(&a, &passphrase, "one"));
		ASSERT_EQ(CONFIG_OK, add_cheap(&a, &keyfile, "two"));
		ASSERT_EQ(CONFIG_OK, add_cheap(&a, &recovery, "three"));
		ASSERT_EQ(CONFIG_OK, config_write(&a, root, master));
		ASSERT_EQ(CONFIG_OK, config_read(&b, root));
		ASSERT_MEM_EQ(a.uuid, b.uuid, ID_SIZE);
		ASSERT_EQ(a.stream, b.stream);
		ASSERT_EQ(a.name_limit, b.name_limit);
		ASSERT_EQ(3u, b.next_slot);
		ASSERT_EQ(3u, b.slot_count);
		for (size_t s = 0; s < 3; s++) {
			ASSERT_EQ(s, b.slots[s].number);
			ASSERT_EQ(a.slots[s].kind, b.slots[s].kind);
			ASSERT_STR_EQ(a.slots[s].label, b.slots[s].label);
			ASSERT_EQ(a.slots[s].created, b.slots[s].created);
			ASSERT_EQ(a.slots[s].scrypt_n, b.slots[s].scrypt_n);
			ASSERT_MEM_EQ(a.slots[s].salt, b.slots[s].salt,
			              CONFIG_SALT_SIZE);
			ASSERT_MEM_EQ(a.slots[s].sealed, b.slots[s].sealed,
			              sizeof(a.slots[s].sealed));
		}
		ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, &slot));
		ASSERT_EQ(0u, slot);
		ASSERT_EQ(CONFIG_OK, unlock_with(&keyfile, &slot));
		ASSERT_EQ(1u, slot);
		ASSERT_EQ(CONFIG_OK, unlock_with(&recovery, &slot));
		ASSERT_EQ(2u, slot);
	}
	PASS();
}

TEST wrong_key(void)
{
	uint8_t other[KEY_SIZE] = { 1 };
	struct unlock wrong_recovery = { SLOT_RECOVERY, other, KEY_SIZE };
	struct unlock wrong_file = keyfile, as_passphrase = keyfile;

	wrong_file.size--;
	as_passphrase.kind = SLOT_PASSPHRASE;
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&wrong, NULL));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&wrong_file, NULL));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&wrong_recovery, NULL));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&as_passphrase, NULL));
	PASS();
}

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

TEST labels(void)
{
	char long_label[CONFIG_LABEL_MAX + 2];
	struct config config;

	memset(long_label, 'x', sizeof(long_label));
	long_label[CONFIG_LABEL_MAX] = '\0';
	ASSERT(config_label_ok(long_label));
	ASSERT(config_label_ok("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x94\x91"));
	ASSERT(config_label_ok(""));
	ASSERT_FALSE(config_label_ok("a\"sha256"));
	ASSERT_FALSE(config_label_ok("a\\"));
	ASSERT_FALSE(config_label_ok("a\n"));
	ASSERT_FALSE(config_label_ok("\x7f"));
	ASSERT_FALSE(config_label_ok("\xc3"));
	ASSERT_FALSE(config_label_ok("\xc0\x80"));
	ASSERT_FALSE(config_label_ok("\xed\xa0\x80"));
	ASSERT_FALSE(config_label_ok("\xf5\x80\x80\x80"));
	long_label[CONFIG_LABEL_MAX] = 'x';
	long_label[CONFIG_LABEL_MAX + 1] = '\0';
	ASSERT_FALSE(config_label_ok(long_label));
	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ(CONFIG_IO, add_cheap(&config, &keyfile, "\""));
	PASS();
}

TEST slots_come_and_go(void)
{
	struct config config;
	struct unlock second = { SLOT_PASSPHRASE, (const uint8_t *)"2", 1 };
	unsigned slot;

	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ(-ENOENT, config_remove_slot(&config, 7));
	ASSERT_EQ(0, config_remove_slot(&config, 0));
	ASSERT_EQ(0, config_remove_slot(&config, 2));
	ASSERT_EQ(-EPERM, config_remove_slot(&config, 1));
	ASSERT_EQ(1u, config.slot_count);
	/* A number is never used twice. */
	ASSERT_EQ(CONFIG_OK, add_cheap(&config, &second, ""));
	ASSERT_EQ(3u, config.slots[1].number);
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&passphrase, NULL));
	ASSERT_EQ(CONFIG_WRONG_KEY, unlock_with(&recovery, NULL));
	ASSERT_EQ(CONFIG_OK, unlock_with(&second, &slot));
	ASSERT_EQ(3u, slot);
	while (config.slot_count < CONFIG_SLOTS_MAX)
		ASSERT_EQ(CONFIG_OK, add_cheap(&config, &keyfile, ""));
	ASSERT_EQ(CONFIG_IO, add_cheap(&config, &keyfile, ""));
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ((size_t)CONFIG_SLOTS_MAX, config.slot_count);
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

TEST missing_and_odd(void)
{
	struct config config;
	int fd;

	unlinkat(root, NAME_CONFIG, 0);
	ASSERT_EQ(CONFIG_MISSING, config_read(&config, root));
	ASSERT_STR_EQ("", config.problem);
	fd = openat(root, "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA",
	            O_WRONLY | O_CREAT, 0600);
	close(fd);
	ASSERT_EQ(CONFIG_MISSING, config_read(&config, root));
	ASSERT(strstr(config.problem, "lost"));
	unlinkat(root, "frondfs.dir.AAAAAAAAAAAAAAAAAAAAAA", 0);
	ASSERT_EQ(0, mkfifoat(root, NAME_CONFIG, 0600));
	ASSERT_EQ(CONFIG_DAMAGED, config_read(&config, root)); /* and no hang */
	unlinkat(root, NAME_CONFIG, 0);
	ASSERT_EQ(0, symlinkat("/etc/passwd", root, NAME_CONFIG));
	ASSERT_EQ(CONFIG_IO, config_read(&config, root));
	ASSERT_EQ(-ELOOP, config.io_error);
	unlinkat(root, NAME_CONFIG, 0);
	PASS();
}

/* In a child, since a limit cannot be raised again by everybody. */
static int in_little_memory(const struct unlock *unlock)
{
	struct rlimit limit = { 64 << 20, 64 << 20 };
	struct config config;
	uint8_t out[KEY_SIZE];
	int status;
	pid_t pid = fork();

	if (!pid) {
		enum config_error e;

		setrlimit(RLIMIT_AS, &limit);
		e = config_unlock(&config, root, unlock, out, NULL);
		if (e == CONFIG_NO_MEMORY &&
		    (!strstr(config.problem, "needs 64 MiB") ||
		     !strstr(config.problem, "MiB are available")))
			e = 100;
		_exit((int)e);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST too_little_memory(void)
{
	struct config config;

#ifdef __SANITIZE_ADDRESS__
	SKIPm("the address sanitizer needs more address space");
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
	SKIPm("the address sanitizer needs more address space");
#endif
#endif
	config_init(&config, ADIANTUM_XCHACHA12, 255);
	ASSERT_EQ(CONFIG_OK, config_add_slot(&config, master, &passphrase, "",
	                                     SCRYPT_N, SCRYPT_R, SCRYPT_P));
	ASSERT_EQ(CONFIG_OK, add_cheap(&config, &keyfile, ""));
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, NULL));
	ASSERT_EQ(CONFIG_NO_MEMORY, in_little_memory(&passphrase));
	ASSERT_EQ(CONFIG_NO_MEMORY, in_little_memory(&wrong));
	ASSERT_EQ(CONFIG_OK, in_little_memory(&keyfile));
	PASS();
}

TEST lock(void)
{
	struct config config;
	int a = config_lock(root), b;

	ASSERT(a >= 0);
	ASSERT_EQ(-EBUSY, config_lock(root));
	/* The file is replaced under the lock: the next one is for the new. */
	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	b = config_lock(root);
	ASSERT(b >= 0);
	close(a);
	ASSERT_EQ(-EBUSY, config_lock(root));
	close(b);
	unlinkat(root, NAME_CONFIG, 0);
	a = config_lock(root);
	ASSERT(a >= 0);
	ASSERT_EQ(-EBUSY, config_lock(root));
	close(a);
	PASS();
}

/*
 * A write that fails at any step leaves the old file, and no temporary one.
 */

static int countdown;

static bool fails(void)
{
	if (countdown-- != 0)
		return false;
	errno = ENOSPC;
	return true;
}

static ssize_t failing_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return fails() ? -1 : io_system.pwrite(fd, buf, size > 100 ? 100 : size,
	                                       at);
}

static ssize_t failing_pread(int fd, void *buf, size_t size, off_t at)
{
	return fails() ? -1 : io_system.pread(fd, buf, size, at);
}

static int failing_fsync(int fd)
{
	return fails() ? -1 : io_system.fsync(fd);
}

static int failing_openat(int dir, const char *name, int flags, mode_t mode)
{
	return fails() ? -1 : io_system.openat(dir, name, flags, mode);
}

static int failing_renameat2(int a, const char *from, int b, const char *to,
                             unsigned flags)
{
	return fails() ? -1 : io_system.renameat2(a, from, b, to, flags);
}

static bool temp_is_there(void)
{
	return !faccessat(root, NAME_TEMP_PREFIX "conf", F_OK, 0);
}

TEST failing_writes(void)
{
	struct io failing = io_system;
	struct config config, now;
	struct unlock second = { SLOT_PASSPHRASE, (const uint8_t *)"2", 1 };
	int failures = 0;

	failing.pwrite = failing_pwrite;
	failing.pread = failing_pread;
	failing.fsync = failing_fsync;
	failing.openat = failing_openat;
	failing.renameat2 = failing_renameat2;
	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ(CONFIG_OK, add_cheap(&config, &second, ""));
	for (int step = 0; ; step++) {
		enum config_error e;

		put(good, good_size);
		countdown = step;
		io = &failing;
		e = config_write(&config, root, master);
		io = &io_system;
		ASSERT_FALSE(temp_is_there());
		ASSERT_EQ(CONFIG_OK, config_read(&now, root));
		ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, NULL));
		if (!e)
			break;
		failures++;
		ASSERT_EQ(CONFIG_IO, e);
		ASSERT_EQ(-ENOSPC, config.io_error);
		ASSERT(now.slot_count == 3 || now.slot_count == 4);
	}
	ASSERT_EQ(4u, now.slot_count);
	ASSERT(failures > 10);
	PASS();
}

static ssize_t lying_pread(int fd, void *buf, size_t size, off_t at)
{
	ssize_t n = io_system.pread(fd, buf, size, at);

	if (n > 50)
		((char *)buf)[50] ^= 1;
	return n;
}

/* A store that does not keep what it was given. */
TEST read_back_is_compared(void)
{
	struct io lying = io_system;
	struct config config;

	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	lying.pread = lying_pread;
	io = &lying;
	ASSERT_EQ(CONFIG_IO, config_write(&config, root, master));
	io = &io_system;
	ASSERT(strstr(config.problem, "reads back differently"));
	ASSERT_EQ(CONFIG_OK, unlock_with(&passphrase, NULL));
	PASS();
}

TEST mode_of_the_file(void)
{
	struct config config;
	struct stat st;

	ASSERT_EQ(CONFIG_OK, config_read(&config, root));
	ASSERT_EQ(CONFIG_OK, config_write(&config, root, master));
	ASSERT_EQ(0, fstatat(root, NAME_CONFIG, &st, 0));
	ASSERT_EQ(0600u, st.st_mode & 07777u);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	char command[100];

	GREATEST_MAIN_BEGIN();
	if (!mkdtemp(folder))
		abort();
	root = open(folder, O_RDONLY | O_DIRECTORY);
	RAND_bytes(master, KEY_SIZE);
	make_good();
	GREATEST_SET_SETUP_CB(setup, NULL);
	RUN_TEST(round_trip);
	RUN_TEST(wrong_key);
	RUN_TEST(every_flipped_byte);
	RUN_TEST(every_check_byte_in_the_file);
	RUN_TEST(every_cut_and_every_extension);
	RUN_TEST(too_large);
	RUN_TEST(newer_format);
	RUN_TEST(features);
	RUN_TEST(tampering);
	RUN_TEST(bounds);
	RUN_TEST(checks_only_at_the_top);
	RUN_TEST(labels);
	RUN_TEST(slots_come_and_go);
	RUN_TEST(slots_are_bound);
	RUN_TEST(missing_and_odd);
	RUN_TEST(too_little_memory);
	RUN_TEST(lock);
	RUN_TEST(failing_writes);
	RUN_TEST(read_back_is_compared);
	RUN_TEST(mode_of_the_file);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		return 1;
	GREATEST_MAIN_END();
}
