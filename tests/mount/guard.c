#include "mount/guard.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

/*
 * A process of its own, since a test that waits for a daemon cannot do
 * anything, and may be killed. It does not know which daemon serves the mount,
 * and need not: by force, unmounting ends each request and then the daemon.
 */
static pid_t guardian;

static void clear(const struct mounted *m)
{
	umount2(m->point, MNT_FORCE);
	/* A dead mount may lie below it. */
	for (int i = 0; i < 4 && !umount2(m->point, MNT_DETACH); i++)
		;
}

static void guard(const struct mounted *m, pid_t test, unsigned seconds)
{
	const struct timespec limit = { .tv_sec = seconds };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == test && sigtimedwait(&set, NULL, &limit) < 0)
		printf("no end after %u seconds: unmounting by force\n",
		       seconds);
	fflush(stdout);
	clear(m);
	_exit(0);
}

void guard_begin(struct mounted *m, unsigned seconds)
{
	pid_t test = getpid();

	fflush(NULL);
	guardian = fork();
	if (guardian == 0)
		guard(m, test, seconds);
}

void guard_end(struct mounted *m, bool keep)
{
	if (guardian > 0) {
		kill(guardian, SIGKILL);
		waitpid(guardian, NULL, 0);
	}
	guardian = 0;
	if (!m->dir[0])
		return;
	if (m->daemon)
		mounted_kill(m);
	clear(m);
	if (keep)
		printf("the volume is kept in %s\n", m->dir);
	else
		mounted_remove(m);
}

uint64_t setting(const char *name, uint64_t normal)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : normal;
}

static const char *text_of(json_object *object, const char *key)
{
	json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		return "";
	return json_object_get_string(value);
}

static void count(struct findings *f, const char *name)
{
	for (int i = 0; i < FINDING_CLASSES; i++) {
		if (!f->classes[i].count)
			snprintf(f->classes[i].name,
			         sizeof(f->classes[i].name), "%s", name);
		if (!strcmp(f->classes[i].name, name)) {
			f->classes[i].count++;
			return;
		}
	}
}

static void take_line(struct findings *f, const char *line)
{
	json_object *object = json_tokener_parse(line);

	if (!object || !json_object_is_type(object, json_type_object)) {
		printf("fsck: %s\n", line);
	} else if (*text_of(object, "summary")) {
		f->summary = true;
	} else if (*text_of(object, "class")) {
		count(f, text_of(object, "class"));
		if (strcmp(text_of(object, "severity"), "error")) {
			f->others++;
		} else {
			f->errors++;
			printf("fsck: %s\n", line);
		}
	}
	json_object_put(object);
}

int findings_add(const struct mounted *m, struct findings *f)
{
	enum { ROOM = 4 << 20 };
	char *text = malloc(ROOM), *save = NULL;

	f->summary = false;
	f->code = MOUNTED_RUN(text, ROOM, "frondfs", "fsck", "--json",
	                      "--keyfile", m->keyfile, m->volume);
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		take_line(f, line);
	free(text);
	if (!f->summary)
		printf("fsck ended early, with exit code %d\n", f->code);
	return f->code;
}

void findings_print(const struct findings *f)
{
	printf("findings of fsck: %u errors, %u others", f->errors, f->others);
	for (int i = 0; i < FINDING_CLASSES && f->classes[i].count; i++)
		printf("%s %s: %u", i ? "," : ";", f->classes[i].name,
		       f->classes[i].count);
	printf("\n");
}
