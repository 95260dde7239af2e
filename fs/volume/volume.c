#include "fs/volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "fs/volume/config.h"
#include "fs/volume/printable.h"

/* The lock of `use`. A store without locks (some network file systems; NFS
 * says EBADF for an exclusive one on a directory) is used without. */
static int lock_root(int root, enum volume_use use)
{
	if (use == VOLUME_USE_NONE)
		return 0;
	if (flock(root, (use == VOLUME_USE_WRITE ? LOCK_EX : LOCK_SH) | LOCK_NB)) {
		if (errno == EWOULDBLOCK)
			return -EBUSY;
		if (errno != ENOTSUP && errno != ENOSYS && errno != EINVAL &&
		    errno != ENOLCK && errno != EBADF)
			return -errno;
	}
	return 0;
}

int volume_open(struct volume **out, const char *path, struct keys *keys,
                const uint8_t uuid[ID_SIZE], size_t name_limit,
                bool read_only, enum volume_use use)
{
	struct volume *v = calloc(1, sizeof(*v));
	int error;

	if (!v) {
		keys_free(keys);
		return -ENOMEM;
	}
	v->keys = keys;
	v->name_limit = name_limit;
	v->read_only = read_only;
	v->use = use;
	memcpy(v->uuid, uuid, ID_SIZE);
	v->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = v->root < 0 ? -errno : lock_root(v->root, use);
	if (!error) {
		v->path = realpath(path, NULL);
		if (!v->path)
			error = -errno;
	}
	if (error) {
		volume_close(v);
		return error;
	}
	*out = v;
	return 0;
}

int volume_find_again(const struct volume *v)
{
	int root = open(v->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct config *config;
	int error = 0;

	if (root < 0)
		return -errno;
	config = malloc(sizeof(*config));
	if (!config)
		error = -ENOMEM;
	else if (config_read(config, root))
		error = -EIO;
	else if (memcmp(config->uuid, v->uuid, ID_SIZE))
		error = -ESTALE;
	else
		error = lock_root(root, v->use);
	free(config);
	if (!error)
		return root;
	close(root);
	return error;
}

void volume_close(struct volume *v)
{
	if (!v)
		return;
	keys_free(v->keys);
	if (v->root >= 0)
		close(v->root);
	free(v->path);
	free(v);
}

/*
 * Messages
 */

enum {
	LOG_BURST = 20,     /* lines at once */
	LOG_PER_SECOND = 5, /* and then this many */
};

static struct {
	pthread_mutex_t lock;
	bool syslog;
	bool begun;
	unsigned tokens;    /* lines that may be said now */
	time_t refilled;
	unsigned long left_out;
} log_state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void log_line(const char *line)
{
	if (log_state.syslog)
		syslog(LOG_WARNING, "%s", line);
	else
		fprintf(stderr, "frondfs: %s\n", line);
}

/* Whether a line may be said; called with the lock held. */
static bool log_allowed(void)
{
	struct timespec now;
	unsigned long more;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!log_state.begun) {
		log_state.begun = true;
		log_state.tokens = LOG_BURST;
		log_state.refilled = now.tv_sec;
	}
	more = (unsigned long)(now.tv_sec - log_state.refilled) * LOG_PER_SECOND;
	log_state.refilled = now.tv_sec;
	log_state.tokens = more > LOG_BURST - log_state.tokens
		? LOG_BURST : log_state.tokens + (unsigned)more;
	if (!log_state.tokens) {
		log_state.left_out++;
		return false;
	}
	log_state.tokens--;
	return true;
}

void volume_log(const char *format, ...)
{
	int saved = errno;
	char line[1024], count[64];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	printable(line);
	pthread_mutex_lock(&log_state.lock);
	if (log_allowed()) {
		if (log_state.left_out) {
			snprintf(count, sizeof(count), "(%lu lines left out here)",
			         log_state.left_out);
			log_state.left_out = 0;
			log_line(count);
		}
		log_line(line);
	}
	pthread_mutex_unlock(&log_state.lock);
	errno = saved;
}

void volume_log_to_syslog(bool on)
{
	pthread_mutex_lock(&log_state.lock);
	if (on && !log_state.syslog)
		openlog("frondfs", LOG_PID, LOG_DAEMON);
	log_state.syslog = on;
	pthread_mutex_unlock(&log_state.lock);
}
