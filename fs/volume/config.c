#include "fs/volume/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "fs/format/name.h"
#include "fs/volume/config_text.h"
#include "fs/volume/io.h"
#include "fs/volume/slot.h"
#include "fs/volume/volume.h"

static const char temp_name[] = NAME_TEMP_PREFIX "conf";

static enum config_error io_failed(struct config *config, const char *what,
                                   int error)
{
	config->io_error = error;
	snprintf(config->problem, sizeof(config->problem), "%s: %s", what,
	         strerror(-error));
	return CONFIG_IO;
}

/*
 * Reading
 */

static bool has_dir_id(int root)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool found = false;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (entry = readdir(dir)))
		found = name_form(entry->d_name) == NAME_DIR_ID;
	closedir(dir);
	return found;
}

static enum config_error missing(struct config *config, int root)
{
	config->problem[0] = '\0';
	if (has_dir_id(root))
		snprintf(config->problem, sizeof(config->problem),
		         "a directory id is there, so this is a volume that lost "
		         "its " NAME_CONFIG);
	return CONFIG_MISSING;
}

static enum config_error not_regular(struct config *config)
{
	snprintf(config->problem, sizeof(config->problem),
	         "it is not a regular file");
	return CONFIG_DAMAGED;
}

/* Whether opening failed because of what the file is: a symbolic link, or a
 * socket. */
static bool is_odd_type(int error)
{
	return error == ELOOP || error == ENXIO;
}

/* Reads the whole file `name`; *text is malloc'ed. */
static enum config_error read_text(struct config *config, int root,
                                   const char *name, char **text, size_t *size)
{
	struct stat st;
	char *buf;
	ssize_t n;
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	int fd = io->openat(root, name, flags | O_NOATIME, 0);

	if (fd < 0 && errno == EPERM) /* not the owner */
		fd = io->openat(root, name, flags, 0);
	if (fd < 0)
		return errno == ENOENT ? missing(config, root)
		       : is_odd_type(errno) ? not_regular(config)
		       : io_failed(config, "opening it", -errno);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return not_regular(config);
	}
	buf = malloc(CONFIG_FILE_MAX + 1);
	n = buf ? io_read_full(fd, buf, CONFIG_FILE_MAX + 1, 0) : -ENOMEM;
	close(fd);
	if (n < 0) {
		free(buf);
		return io_failed(config, "reading it", (int)n);
	}
	*text = buf;
	*size = (size_t)n;
	return CONFIG_OK;
}

/* Reads and parses; *text stays for the HMAC. */
static enum config_error load(struct config *config, int root, char **text,
                              size_t *size)
{
	enum config_error result;

	memset(config, 0, sizeof(*config));
	result = read_text(config, root, NAME_CONFIG, text, size);
	if (!result) {
		result = config_text_parse(config, *text, *size);
		if (result)
			free(*text);
	}
	return result;
}

enum config_error config_read(struct config *config, int root)
{
	char *text;
	size_t size;
	enum config_error result = load(config, root, &text, &size);

	if (!result)
		free(text);
	return result;
}

/*
 * Unlocking
 */

static enum config_error open_any(struct config *config,
                                  const struct unlock *unlock, uint8_t *master,
                                  unsigned *number)
{
	static const char *const kinds[] = {
		[SLOT_PASSPHRASE] = "passphrase",
		[SLOT_KEY_FILE] = "key file",
		[SLOT_RECOVERY] = "recovery key",
	};
	enum config_error result = CONFIG_WRONG_KEY;
	size_t tried = 0;

	for (size_t i = 0; i < config->slot_count; i++) {
		const struct config_slot *slot = &config->slots[i];
		enum config_error error;

		if (slot->kind != unlock->kind)
			continue;
		tried++;
		error = slot_open(config, slot, unlock, master);
		if (!error) {
			*number = slot->number;
			return CONFIG_OK;
		}
		/* Another slot may still open, but if none does then the one
		 * that could not be tried is what the user must hear of. */
		if (error != CONFIG_WRONG_KEY)
			result = error;
	}
	if (result == CONFIG_WRONG_KEY && tried)
		snprintf(config->problem, sizeof(config->problem),
		         "no slot opens with this %s", kinds[unlock->kind]);
	else if (!tried)
		snprintf(config->problem, sizeof(config->problem),
		         "the volume has no slot for a %s", kinds[unlock->kind]);
	return result;
}

static bool check_hmac(const char *text, size_t size,
                       const uint8_t master[KEY_SIZE])
{
	uint8_t key[KEY_SIZE];
	bool ok = !keys_hkdf(key, KEY_SIZE, master, KEY_SIZE, NULL, 0,
	                     "frondfs 1 config") &&
	          config_text_authentic(text, size, key);

	OPENSSL_cleanse(key, sizeof(key));
	return ok;
}

enum config_error config_unlock(struct config *config, int root,
                                const struct unlock *unlock,
                                uint8_t *master, unsigned *slot)
{
	unsigned number = 0;
	char *text;
	size_t size;
	enum config_error result = load(config, root, &text, &size);

	if (result)
		return result;
	result = open_any(config, unlock, master, &number);
	if (!result && !check_hmac(text, size, master)) {
		OPENSSL_cleanse(master, KEY_SIZE);
		snprintf(config->problem, sizeof(config->problem),
		         "slot %u opens, but the HMAC is wrong", number);
		result = CONFIG_TAMPERED;
	}
	free(text);
	if (!result && slot)
		*slot = number;
	return result;
}

/*
 * Changing
 */

void config_init(struct config *config, enum adiantum_stream stream,
                 size_t name_limit)
{
	memset(config, 0, sizeof(*config));
	config->stream = stream;
	config->name_limit = name_limit;
	if (RAND_bytes(config->uuid, ID_SIZE) != 1)
		abort(); /* nothing safe can follow */
	config->uuid[6] = (config->uuid[6] & 0x0f) | 0x40; /* RFC 9562: version */
	config->uuid[8] = (config->uuid[8] & 0x3f) | 0x80; /* 4 and its variant */
}

/* The length of the UTF-8 sequence at p, 0 if it is none (RFC 3629). */
static size_t utf8_length(const uint8_t *p)
{
	size_t n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 :
	           *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

bool config_label_ok(const char *label)
{
	const uint8_t *p = (const uint8_t *)label;

	if (strlen(label) > CONFIG_LABEL_MAX)
		return false;
	while (*p) {
		size_t n = utf8_length(p);

		if (!n || *p < ' ' || *p == 0x7f || *p == '"' || *p == '\\' ||
		    (*p == 0xc2 && p[1] < 0xa0)) /* U+0080 to U+009F */
			return false;
		p += n;
	}
	return true;
}

enum config_error config_add_slot(struct config *config,
                                  const uint8_t master[KEY_SIZE],
                                  const struct unlock *unlock,
                                  const char *label, uint64_t scrypt_n,
                                  uint32_t scrypt_r, uint32_t scrypt_p)
{
	struct config_slot slot = { .number = config->next_slot,
	                            .kind = unlock->kind,
	                            .created = time(NULL) };
	enum config_error result;
	const char *problem = NULL;

	if (config->slot_count == CONFIG_SLOTS_MAX)
		problem = "the volume has as many slots as it can have";
	else if (config->next_slot >= INT32_MAX)
		problem = "there are no more slot numbers";
	else if (!config_label_ok(label))
		problem = "the label cannot be used";
	else if (unlock->kind == SLOT_PASSPHRASE &&
	         !slot_scrypt_ok(scrypt_n, scrypt_r, scrypt_p))
		problem = "the scrypt parameters are out of bounds";
	else if (RAND_bytes(slot.salt, sizeof(slot.salt)) != 1)
		problem = "OpenSSL gives no random bytes";
	if (problem) {
		config->io_error = 0;
		snprintf(config->problem, sizeof(config->problem), "%s", problem);
		return CONFIG_IO;
	}
	snprintf(slot.label, sizeof(slot.label), "%s", label);
	if (unlock->kind == SLOT_PASSPHRASE) {
		slot.scrypt_n = scrypt_n;
		slot.scrypt_r = scrypt_r;
		slot.scrypt_p = scrypt_p;
	}
	result = slot_seal(config, &slot, unlock, master);
	if (!result) {
		config->slots[config->slot_count++] = slot;
		config->next_slot++;
	}
	return result;
}

int config_remove_slot(struct config *config, unsigned number)
{
	for (size_t i = 0; i < config->slot_count; i++) {
		if (config->slots[i].number != number)
			continue;
		if (config->slot_count == 1)
			return -EPERM;
		config->slot_count--;
		memmove(&config->slots[i], &config->slots[i + 1],
		        (config->slot_count - i) * sizeof(config->slots[0]));
		return 0;
	}
	return -ENOENT;
}

/*
 * Writing
 */

/* Writes the temporary file and reads it back. */
static enum config_error write_temp(struct config *config, int root,
                                    const char *text, size_t size)
{
	int fd, error;
	char *back;
	size_t back_size;
	enum config_error result;

	if (io->unlinkat(root, temp_name, 0) && errno != ENOENT)
		return io_failed(config, "removing an old " NAME_TEMP_PREFIX
		                 "conf", -errno);
	fd = io->openat(root, temp_name,
	                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                0600);
	if (fd < 0)
		return io_failed(config, "creating a new one", -errno);
	error = io_write_full(fd, text, size, 0, NULL);
	if (!error && io->fsync(fd))
		error = -errno;
	if (close(fd) && !error)
		error = -errno;
	if (error)
		return io_failed(config, "writing a new one", error);
	result = read_text(config, root, temp_name, &back, &back_size);
	if (result)
		return io_failed(config, "reading the new one back",
		                 config->io_error ? config->io_error : -EIO);
	if (back_size != size || memcmp(back, text, size))
		result = io_failed(config, "the new one reads back differently",
		                   -EIO);
	free(back);
	return result;
}

/* Some stores cannot fsync a directory. */
static int sync_dir(int dir)
{
	if (io->fsync(dir) && errno != EINVAL && errno != ENOTSUP &&
	    errno != EBADF)
		return -errno;
	return 0;
}

enum config_error config_write(struct config *config, int root,
                               const uint8_t master[KEY_SIZE])
{
	uint8_t key[KEY_SIZE];
	char *text = NULL;
	size_t size = 0;
	enum config_error result;
	int error = keys_hkdf(key, KEY_SIZE, master, KEY_SIZE, NULL, 0,
	                      "frondfs 1 config");

	if (!error)
		error = config_text_make(config, key, &text, &size);
	OPENSSL_cleanse(key, sizeof(key));
	if (error)
		return io_failed(config, "making a new one", error);
	result = write_temp(config, root, text, size);
	free(text);
	if (!result && io->renameat2(root, temp_name, root, NAME_CONFIG, 0))
		result = io_failed(config, "renaming the new one", -errno);
	if (result) {
		io->unlinkat(root, temp_name, 0);
		return result;
	}
	error = sync_dir(root);
	return error ? io_failed(config, "syncing its directory", error)
	             : CONFIG_OK;
}

/*
 * The lock
 */

/* Locks the file as it is now: another process may replace it in between. */
static int lock_file(int root)
{
	for (int tries = 0; tries < 100; tries++) {
		struct stat mine, there;
		/* Writable where possible: NFS wants that for an exclusive
		 * lock. */
		int fd = openat(root, NAME_CONFIG,
		                O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd < 0 && errno != ENOENT)
			fd = openat(root, NAME_CONFIG, O_RDONLY | O_NOFOLLOW |
			                                       O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			return -EBUSY;
		}
		if (!fstat(fd, &mine) &&
		    !fstatat(root, NAME_CONFIG, &there, AT_SYMLINK_NOFOLLOW) &&
		    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino)
			return fd;
		close(fd);
	}
	return -EBUSY;
}

int config_lock(int root)
{
	int fd = lock_file(root);

	if (fd != -ENOENT && (fd >= 0 || !is_odd_type(-fd)))
		return fd;
	fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		return -EBUSY;
	}
	return fd;
}
