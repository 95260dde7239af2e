/* frondfs.conf: key slots, memory, locks, and writing it. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config_support.h"
#include "fs/format/name.h"
#include "fs/volume/io.h"
#include "emulator.h"
#include "sanitized.h"

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
	ASSERT_FALSE(config_label_ok("a\xc2\x9b"));
	ASSERT(config_label_ok("a\xc2\xa0"));
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
	ASSERT_EQ(CONFIG_DAMAGED, config_read(&config, root));
	fd = config_lock(root); /* recover may replace it */
	ASSERT(fd >= 0);
	close(fd);
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

#ifdef SANITIZED
	SKIPm("a sanitizer needs more address space");
#endif
	if (emulated())
		SKIPm("an emulator knows no limit of its program's memory");
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
	GREATEST_MAIN_BEGIN();
	config_begin();
	GREATEST_SET_SETUP_CB(restore_good, NULL);
	RUN_TEST(round_trip);
	RUN_TEST(wrong_key);
	RUN_TEST(labels);
	RUN_TEST(slots_come_and_go);
	RUN_TEST(missing_and_odd);
	RUN_TEST(too_little_memory);
	RUN_TEST(lock);
	RUN_TEST(failing_writes);
	RUN_TEST(read_back_is_compared);
	RUN_TEST(mode_of_the_file);
	config_end();
	GREATEST_MAIN_END();
}
