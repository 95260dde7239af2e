#include "config_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "fs/format/name.h"

static char folder[] = "/tmp/frondfs-config.XXXXXX";
int root;
uint8_t master[KEY_SIZE];
char good[CONFIG_FILE_MAX];
size_t good_size;

const struct unlock passphrase = {
	SLOT_PASSPHRASE, (const uint8_t *)"correct horse", 13 };
const struct unlock wrong = {
	SLOT_PASSPHRASE, (const uint8_t *)"correct horsf", 13 };
const struct unlock keyfile = {
	SLOT_KEY_FILE, (const uint8_t *)"0123456789abcdef0123", 20 };
const struct unlock recovery = { SLOT_RECOVERY, master, KEY_SIZE };

void put(const char *text, size_t size)
{
	int fd = openat(root, NAME_CONFIG, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	close(fd);
}

size_t get(char *text)
{
	int fd = openat(root, NAME_CONFIG, O_RDONLY);
	ssize_t n = read(fd, text, CONFIG_FILE_MAX);

	if (n < 0)
		abort();
	close(fd);
	return (size_t)n;
}

enum config_error add_cheap(struct config *config,
                            const struct unlock *unlock, const char *label)
{
	return config_add_slot(config, master, unlock, label, 16, 1, 1);
}

void make_good(void)
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

void restore_good(void *unused)
{
	(void)unused;
	put(good, good_size);
}

void config_begin(void)
{
	if (!mkdtemp(folder))
		abort();
	root = open(folder, O_RDONLY | O_DIRECTORY);
	RAND_bytes(master, KEY_SIZE);
	make_good();
}

void config_end(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		abort();
	close(root);
}

enum config_error unlock_with(const struct unlock *unlock, unsigned *slot)
{
	struct config config;
	uint8_t out[KEY_SIZE];
	enum config_error e = config_unlock(&config, root, unlock, out, slot);

	if (!e && memcmp(out, master, KEY_SIZE))
		abort();
	return e;
}

