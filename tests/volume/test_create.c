/* Making a volume: a kill at any step leaves a whole volume or none. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "fs/format/name.h"
#include "fs/format/recovery.h"
#include "fs/volume/config.h"
#include "fs/volume/create.h"
#include "fs/volume/dir.h"
#include "fs/volume/io.h"
#include "fs/volume/rescue.h"
#include "fs/volume/volume.h"

static char folder[] = "/tmp/frondfs-create.XXXXXX";
static char path[64], recovery_file[64];
static uint8_t master[KEY_SIZE];
static int root;

static const struct unlock passphrase = {
	SLOT_PASSPHRASE, (const uint8_t *)"correct horse", 13 };

/*
 * An io table that ends the process, or fails, at the step `stop`.
 */

static int stop, steps;
static enum { KILL, FAIL_STEP } mode;

static bool step(void)
{
	if (steps++ != stop)
		return false;
	if (mode == KILL)
		_exit(77);
	errno = EIO;
	return true;
}

static ssize_t step_pread(int fd, void *buf, size_t size, off_t at)
{
	return step() ? -1 : io_system.pread(fd, buf, size, at);
}

/* In pieces, so that a kill also finds half a file. */
static ssize_t step_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	return step() ? -1 : io_system.pwrite(fd, buf, size > 200 ? 200 : size,
	                                      at);
}

static int step_ftruncate(int fd, off_t length)
{
	return step() ? -1 : io_system.ftruncate(fd, length);
}

static int step_fsync(int fd)
{
	return step() ? -1 : io_system.fsync(fd);
}

static int step_openat(int dir, const char *name, int flags, mode_t m)
{
	return step() ? -1 : io_system.openat(dir, name, flags, m);
}

static int step_unlinkat(int dir, const char *name, int flags)
{
	return step() ? -1 : io_system.unlinkat(dir, name, flags);
}

static int step_renameat2(int a, const char *from, int b, const char *to,
                          unsigned flags)
{
	return step() ? -1 : io_system.renameat2(a, from, b, to, flags);
}

static int step_linkat(int a, const char *from, int b, const char *to, int flags)
{
	return step() ? -1 : io_system.linkat(a, from, b, to, flags);
}

static struct io step_io;

static void use_steps(int at, int how)
{
	step_io = io_system;
	step_io.pread = step_pread;
	step_io.pwrite = step_pwrite;
	step_io.ftruncate = step_ftruncate;
	step_io.fsync = step_fsync;
	step_io.openat = step_openat;
	step_io.unlinkat = step_unlinkat;
	step_io.renameat2 = step_renameat2;
	step_io.linkat = step_linkat;
	stop = at;
	steps = 0;
	mode = how;
	io = &step_io;
}

static enum config_error make_here(const char *file)
{
	struct config config;
	struct unlock recovery = { SLOT_RECOVERY, master, KEY_SIZE };
	int limit = create_name_limit(root);

	if (limit < 0 || create_ignores_case(root) < 0)
		return CONFIG_IO;
	config_init(&config, ADIANTUM_XCHACHA12, (size_t)limit);
	if (config_add_slot(&config, master, &passphrase, "", 16, 1, 1) ||
	    config_add_slot(&config, master, &recovery, "", 0, 0, 0))
		return CONFIG_IO;
	return create_volume(path, &config, master, file);
}

/* What `frondfs init` does with a directory. */
static enum config_error make(const char *file)
{
	char found[256];
	enum config_error result;
	int lock;

	if (create_begin(root, found, sizeof(found), &lock) != CREATE_EMPTY)
		return CONFIG_IO;
	result = make_here(file);
	close(lock);
	return result;
}

static void empty(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s %s", path, recovery_file);
	if (system(command) || mkdir(path, 0700))
		abort();
	if (root > 0)
		close(root);
	root = open(path, O_RDONLY | O_DIRECTORY);
}

static size_t count_entries(void)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY);
	DIR *dir = fdopendir(fd);
	size_t n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* Everything that a volume needs is there and opens. */
static bool is_whole(void)
{
	struct config config;
	struct volume *volume;
	struct keys *keys;
	struct dir *dir;
	uint8_t out[KEY_SIZE];
	struct dir_listing listing;
	bool ok;

	if (config_unlock(&config, root, &passphrase, out, NULL) ||
	    memcmp(out, master, KEY_SIZE) || keys_new(&keys, out, config.stream) ||
	    volume_open(&volume, path, keys, config.uuid, config.name_limit, false,
	                VOLUME_USE_WRITE))
		return false;
	ok = rescue_check_key(root, volume->keys) == RESCUE_RIGHT &&
	     !dir_open(&dir, volume, openat(root, ".", O_RDONLY | O_DIRECTORY));
	if (ok) {
		ok = !dir_list(dir, &listing) && !listing.count &&
		     !listing.damaged;
		dir_listing_free(&listing);
		dir_unref(dir);
	}
	volume_close(volume);
	return ok;
}

static bool recovery_file_is_whole(void)
{
	char text[2000], problem[RECOVERY_PROBLEM];
	uint8_t out[KEY_SIZE];
	enum adiantum_stream stream;
	int fd = open(recovery_file, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	return n > 0 && !recovery_decode(out, &stream, text, (size_t)n, problem) &&
	       !memcmp(out, master, KEY_SIZE) && stream == ADIANTUM_XCHACHA12;
}

TEST plain(void)
{
	struct stat st;

	empty();
	ASSERT_EQ(CONFIG_OK, make(recovery_file));
	ASSERT(is_whole());
	ASSERT(recovery_file_is_whole());
	ASSERT_EQ(2u, count_entries());
	ASSERT_EQ(0, stat(recovery_file, &st));
	ASSERT_EQ(0600u, st.st_mode & 07777u);
	PASS();
}

TEST killed_at_every_step(void)
{
	char found[256];
	int whole = 0, none = 0;

	for (int at = 0; ; at++) {
		int status, state;
		pid_t pid;

		empty();
		pid = fork();
		if (!pid) {
			use_steps(at, KILL);
			_exit(make(recovery_file) ? 1 : 0);
		}
		waitpid(pid, &status, 0);
		ASSERT(WIFEXITED(status));
		if (WEXITSTATUS(status) == 0)
			break;
		ASSERT_EQ_FMT(77, WEXITSTATUS(status), "%d");
		state = create_look(root, found, sizeof(found));
		if (state == CREATE_VOLUME) {
			ASSERT(is_whole());
			ASSERT(recovery_file_is_whole());
			whole++;
			continue;
		}
		/* None: and it can be made now, and nothing is left over. */
		ASSERT(state == CREATE_EMPTY || state == CREATE_LEFTOVERS);
		none++;
		unlink(recovery_file);
		ASSERT_EQ(CONFIG_OK, make(recovery_file));
		ASSERT(is_whole());
		ASSERT_EQ(2u, count_entries());
	}
	ASSERT(none > 15);
	ASSERT(whole >= 1);
	printf("  killed at %d steps: %d times no volume, %d times a whole one\n",
	       none + whole, none, whole);
	PASS();
}

TEST failing_at_every_step(void)
{
	char found[256];
	int failures = 0;

	for (int at = 0; ; at++) {
		enum config_error e;
		int state;

		empty();
		use_steps(at, FAIL_STEP);
		e = make(recovery_file);
		io = &io_system;
		if (steps <= at)
			break; /* all steps done */
		state = create_look(root, found, sizeof(found));
		if (state == CREATE_VOLUME) {
			ASSERT(is_whole());
			continue;
		}
		ASSERT(e == CONFIG_IO);
		failures++;
		ASSERT(state == CREATE_EMPTY || state == CREATE_LEFTOVERS);
		ASSERT(access(recovery_file, F_OK));
		ASSERT_EQ(CONFIG_OK, make(recovery_file));
		ASSERT(is_whole());
	}
	ASSERT(failures > 15);
	PASS();
}

static void put(const char *name)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		abort();
	close(fd);
}

TEST look_tells_leftovers_from_data(void)
{
	char found[256];
	int lock;

	empty();
	ASSERT_EQ(CREATE_EMPTY, create_look(root, found, sizeof(found)));
	put(NAME_TEMP_PREFIX "conf");
	put(NAME_DIR_PREFIX "AAAAAAAAAAAAAAAAAAAAAA");
	ASSERT_EQ(CREATE_LEFTOVERS, create_look(root, found, sizeof(found)));
	ASSERT_EQ(CREATE_EMPTY, create_begin(root, found, sizeof(found), &lock));
	ASSERT_EQ(-EBUSY, create_begin(root, found, sizeof(found), &lock));
	close(lock);
	ASSERT_EQ(CREATE_EMPTY, create_look(root, found, sizeof(found)));
	/* A directory that is being removed or made may hold data. */
	ASSERT_EQ(0, mkdirat(root, NAME_TEMP_PREFIX "x", 0700));
	ASSERT_EQ(CREATE_NOT_EMPTY, create_look(root, found, sizeof(found)));
	ASSERT_STR_EQ(NAME_TEMP_PREFIX "x", found);
	unlinkat(root, NAME_TEMP_PREFIX "x", AT_REMOVEDIR);
	put("letter.txt");
	ASSERT_EQ(CREATE_NOT_EMPTY, create_look(root, found, sizeof(found)));
	ASSERT_STR_EQ("letter.txt", found);
	unlinkat(root, "letter.txt", 0);
	put(NAME_LONG_PREFIX "x");
	ASSERT_EQ(CREATE_NOT_EMPTY, create_look(root, found, sizeof(found)));
	put(NAME_CONFIG);
	ASSERT_EQ(CREATE_VOLUME, create_look(root, found, sizeof(found)));
	PASS();
}

TEST existing_recovery_file_is_refused(void)
{
	struct stat st;

	empty();
	close(open(recovery_file, O_WRONLY | O_CREAT, 0644));
	ASSERT_EQ(CONFIG_IO, make(recovery_file));
	ASSERT_EQ(0, stat(recovery_file, &st));
	ASSERT_EQ(0, st.st_size);
	ASSERT_EQ(0u, count_entries());
	PASS();
}

TEST two_at_a_time(void)
{
	struct volume *volume;
	struct keys *keys;
	uint8_t uuid[ID_SIZE] = { 0 };

	empty();
	ASSERT_EQ(0, keys_new(&keys, master, ADIANTUM_XCHACHA12));
	ASSERT_EQ(0, volume_open(&volume, path, keys, uuid, 255, false,
	                         VOLUME_USE_WRITE));
	ASSERT_EQ(CONFIG_IO, make(NULL));
	ASSERT_EQ(0u, count_entries());
	volume_close(volume);
	ASSERT_EQ(CONFIG_OK, make(NULL));
	/* And a second one over the first is refused. */
	ASSERT_EQ(CONFIG_IO, make(NULL));
	ASSERT(is_whole());
	PASS();
}

/*
 * Stores with short names, and stores that ignore case
 */

static size_t store_limit;

static int short_openat(int dir, const char *name, int flags, mode_t m)
{
	if (strlen(name) > store_limit) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return io_system.openat(dir, name, flags, m);
}

TEST name_limits(void)
{
	struct io short_io = io_system;

	empty();
	ASSERT_EQ(255, create_name_limit(root));
	short_io.openat = short_openat;
	for (store_limit = 32; store_limit <= 255; store_limit++) {
		int n;

		io = &short_io;
		n = create_name_limit(root);
		io = &io_system;
		ASSERT_EQ((int)store_limit, n);
	}
	store_limit = 20;
	io = &short_io;
	ASSERT_EQ(-ENAMETOOLONG, create_name_limit(root));
	io = &io_system;
	ASSERT_EQ(0u, count_entries());
	PASS();
}

/* A store that ignores case shows the probe under both names. */
static int twice_openat(int dir, const char *name, int flags, mode_t m)
{
	int fd = io_system.openat(dir, name, flags, m);

	if (fd >= 0 && linkat(dir, name, dir, "FRONDFS.TMP.CASE", 0))
		abort();
	return fd;
}

TEST case_probe(void)
{
	struct io twice = io_system;

	empty();
	ASSERT_EQ(0, create_ignores_case(root));
	ASSERT_EQ(0u, count_entries());
	twice.openat = twice_openat;
	io = &twice;
	ASSERT_EQ(1, create_ignores_case(root));
	io = &io_system;
	PASS();
}

/*
 * Rescue
 */

TEST keys_are_checked_on_the_files(void)
{
	uint8_t other[KEY_SIZE] = { 1 };
	struct keys *right, *wrong, *other_stream;

	ASSERT_EQ(0, keys_new(&right, master, ADIANTUM_XCHACHA12));
	ASSERT_EQ(0, keys_new(&wrong, other, ADIANTUM_XCHACHA12));
	ASSERT_EQ(0, keys_new(&other_stream, master, ADIANTUM_XCHACHA20));
	empty();
	ASSERT_EQ(RESCUE_NOTHING, rescue_check_key(root, right));
	ASSERT_EQ(CONFIG_OK, make(NULL));
	ASSERT_EQ(RESCUE_RIGHT, rescue_check_key(root, right));
	ASSERT_EQ(RESCUE_WRONG, rescue_check_key(root, wrong));
	ASSERT_EQ(RESCUE_WRONG, rescue_check_key(root, other_stream));
	keys_free(right);
	keys_free(wrong);
	keys_free(other_stream);
	PASS();
}

/* Makes a file with a long name in a volume whose store takes `limit` bytes;
 * optionally without the root's id. */
static int make_file(size_t limit, const char *plain, bool lose_id)
{
	struct volume *volume;
	struct keys *keys;
	struct dir *dir;
	struct dir_entry entry;
	uint8_t uuid[ID_SIZE] = { 0 }, id[ID_SIZE];
	char text[NAME_DIR_TEXT];
	int fd, error;

	if (keys_new(&keys, master, ADIANTUM_XCHACHA12) ||
	    volume_open(&volume, path, keys, uuid, limit, false,
	                VOLUME_USE_WRITE))
		return -1;
	error = dir_open(&dir, volume, openat(root, ".", O_RDONLY | O_DIRECTORY));
	if (!error) {
		error = dir_create(dir, plain, 0600, NULL, &entry, &fd);
		if (!error)
			close(fd);
		dir_id(dir, id);
		name_dir_text(text, id);
		if (lose_id)
			unlinkat(root, text, 0);
		dir_unref(dir);
	}
	volume_close(volume);
	return error;
}

TEST name_limit_is_found_again(void)
{
	char plain[121];

	memset(plain, 'x', 120);
	plain[120] = '\0';
	empty();
	ASSERT_EQ(CONFIG_OK, make(NULL));
	ASSERT_EQ(0, make_file(143, "short", false));
	ASSERT_EQ(255u, rescue_name_limit(root, 255));
	ASSERT_EQ(143u, rescue_name_limit(root, 143));
	/* 128 padded + 16: 144 sealed bytes, 192 characters: long with 143. */
	ASSERT_EQ(0, make_file(143, plain, false));
	ASSERT_EQ(191u, rescue_name_limit(root, 255));
	ASSERT_EQ(143u, rescue_name_limit(root, 143));
	PASS();
}

TEST keys_are_checked_without_an_id(void)
{
	struct keys *right, *wrong;
	char command[200];
	uint8_t other[KEY_SIZE] = { 1 };

	ASSERT_EQ(0, keys_new(&right, master, ADIANTUM_XCHACHA12));
	ASSERT_EQ(0, keys_new(&wrong, other, ADIANTUM_XCHACHA12));
	empty();
	ASSERT_EQ(CONFIG_OK, make(NULL));
	ASSERT_EQ(0, make_file(255, "name", true));
	/* An empty file without the id: nothing says yes. */
	ASSERT_EQ(RESCUE_WRONG, rescue_check_key(root, right));
	/* The id's file is there, but damaged: the name opens under it. */
	empty();
	ASSERT_EQ(CONFIG_OK, make(NULL));
	ASSERT_EQ(0, make_file(255, "name", false));
	snprintf(command, sizeof(command),
	         "head -c 32 /dev/zero > \"$(ls %s/frondfs.dir.*)\"", path);
	ASSERT_EQ(0, system(command));
	ASSERT_EQ(RESCUE_RIGHT, rescue_check_key(root, right));
	ASSERT_EQ(RESCUE_WRONG, rescue_check_key(root, wrong));
	keys_free(right);
	keys_free(wrong);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	char command[100];

	GREATEST_MAIN_BEGIN();
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/v", folder);
	snprintf(recovery_file, sizeof(recovery_file), "%s/recovery", folder);
	RAND_bytes(master, KEY_SIZE);
	RUN_TEST(plain);
	RUN_TEST(killed_at_every_step);
	RUN_TEST(failing_at_every_step);
	RUN_TEST(look_tells_leftovers_from_data);
	RUN_TEST(existing_recovery_file_is_refused);
	RUN_TEST(two_at_a_time);
	RUN_TEST(name_limits);
	RUN_TEST(case_probe);
	RUN_TEST(keys_are_checked_on_the_files);
	RUN_TEST(name_limit_is_found_again);
	RUN_TEST(keys_are_checked_without_an_id);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		return 1;
	GREATEST_MAIN_END();
}
