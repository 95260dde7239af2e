/* Opening a volume: its locks; and the messages about it. */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/volume/printable.h"
#include "fs/volume/volume.h"

static char folder[] = "/tmp/frondfs-volume.XXXXXX";

static int open_as(struct volume **volume, const char *path,
                   enum volume_use use)
{
	uint8_t master[KEY_SIZE] = { 3 }, uuid[ID_SIZE] = { 5 };
	struct keys *keys;

	if (keys_new(&keys, master, ADIANTUM_XCHACHA12))
		abort();
	return volume_open(volume, path, keys, uuid, 143,
	                   use != VOLUME_USE_WRITE, use);
}

TEST members(void)
{
	struct volume *v;
	char path[100];

	snprintf(path, sizeof(path), "%s/../%s", folder, folder + 5);
	ASSERT_EQ(0, open_as(&v, path, VOLUME_USE_WRITE));
	ASSERT_STR_EQ(folder, v->path);
	ASSERT_EQ(143u, v->name_limit);
	ASSERT_EQ(5, v->uuid[0]);
	ASSERT_FALSE(v->read_only);
	ASSERT(fcntl(v->root, F_GETFD) & FD_CLOEXEC);
	volume_close(v);
	volume_close(NULL);
	ASSERT_EQ(-ENOENT, open_as(&v, "/tmp/frondfs-none", VOLUME_USE_NONE));
	ASSERT_EQ(-ENOTDIR, open_as(&v, "/etc/passwd", VOLUME_USE_NONE));
	PASS();
}

TEST locks(void)
{
	/* What the first use leaves to the second. */
	static const struct {
		enum volume_use first, second;
		int result;
	} cases[] = {
		{ VOLUME_USE_WRITE, VOLUME_USE_WRITE, -EBUSY },
		{ VOLUME_USE_WRITE, VOLUME_USE_CHECK, -EBUSY },
		{ VOLUME_USE_WRITE, VOLUME_USE_NONE, 0 },
		{ VOLUME_USE_CHECK, VOLUME_USE_WRITE, -EBUSY },
		{ VOLUME_USE_CHECK, VOLUME_USE_CHECK, 0 },
		{ VOLUME_USE_CHECK, VOLUME_USE_NONE, 0 },
		{ VOLUME_USE_NONE, VOLUME_USE_WRITE, 0 },
		{ VOLUME_USE_NONE, VOLUME_USE_CHECK, 0 },
		{ VOLUME_USE_NONE, VOLUME_USE_NONE, 0 },
	};
	struct volume *a, *b;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, open_as(&a, folder, cases[i].first));
		ASSERT_EQ(cases[i].result, open_as(&b, folder, cases[i].second));
		if (!cases[i].result)
			volume_close(b);
		volume_close(a);
		ASSERT_EQ(0, open_as(&b, folder, cases[i].second));
		volume_close(b);
	}
	PASS();
}

/* A lock ends with its process, however that ends. */
TEST lock_of_a_killed_process(void)
{
	struct volume *v;
	int ready[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(ready));
	pid = fork();
	if (!pid) {
		if (open_as(&v, folder, VOLUME_USE_WRITE) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	ASSERT_EQ(-EBUSY, open_as(&v, folder, VOLUME_USE_WRITE));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ASSERT_EQ(0, open_as(&v, folder, VOLUME_USE_WRITE));
	volume_close(v);
	close(ready[0]);
	close(ready[1]);
	PASS();
}

/* Lines of stderr while `count` are logged. */
static size_t logged(int count, char *text, size_t room)
{
	int fd = open(folder, O_TMPFILE | O_RDWR, 0600), kept = dup(2);
	size_t lines = 0;
	ssize_t n;

	fflush(stderr);
	dup2(fd, 2);
	for (int i = 0; i < count; i++) {
		errno = EXDEV;
		volume_log("line %d", i);
		if (errno != EXDEV)
			abort();
	}
	dup2(kept, 2);
	close(kept);
	n = pread(fd, text, room - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	return lines;
}

TEST log_is_limited(void)
{
	static char text[100000];

	ASSERT(logged(2000, text, sizeof(text)) <= 30);
	ASSERT(!strncmp(text, "frondfs: line 0\nfrondfs: line 1\n", 32));
	sleep(2);
	/* A few again, and what was left out is told. */
	ASSERT(logged(2, text, sizeof(text)) >= 3);
	ASSERT(strstr(text, "lines left out here"));
	ASSERT(strstr(text, "line 1"));
	PASS();
}

TEST control_characters(void)
{
	char text[] = "a\x1b[2J\x7f\n \xc2\x9b.\xc2\xa0\xc3\xa4\xff\xc2";

	printable(text);
	ASSERT_STR_EQ("a?[2J?? ??.\xc2\xa0\xc3\xa4\xff\xc2", text);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (!mkdtemp(folder))
		abort();
	RUN_TEST(members);
	RUN_TEST(locks);
	RUN_TEST(lock_of_a_killed_process);
	RUN_TEST(log_is_limited);
	RUN_TEST(control_characters);
	rmdir(folder);
	GREATEST_MAIN_END();
}
