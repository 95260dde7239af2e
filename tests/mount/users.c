#include "mount/users.h"

#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct scripted {
	const char *folder, *script;
	char output[20000];
};

/* In the child: the script's output goes where the parent finds it. */
static int run_deed_script(void *context)
{
	struct scripted *s = context;
	int fd = open("/dev/null", O_RDONLY);

	if (chdir(s->folder))
		return 250;
	dup2(fd, 0);
	execl("/bin/sh", "sh", "-c", s->script, (char *)NULL);
	return 251;
}

/* What it says, and its exit code; folder's names do not appear in it. */
static char *deed_output(const struct deed *deed, const char *folder)
{
	struct scripted s = { .folder = folder, .script = deed->script };
	char *text = calloc(1, sizeof(s.output));
	int ends[2], out, err, code;
	ssize_t n;

	if (deed->run) {
		code = as_user(deed->uid, deed->gid, deed->n, deed->groups,
		               deed->run, (void *)folder);
		snprintf(text, sizeof(s.output), "exit code %d\n", code);
		return text;
	}
	if (pipe2(ends, O_CLOEXEC))
		return text;
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	fflush(NULL);
	out = dup(1);
	err = dup(2);
	dup2(ends[1], 1);
	dup2(ends[1], 2);
	code = as_user(deed->uid, deed->gid, deed->n, deed->groups,
	               run_deed_script, &s);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	close(ends[1]);
	n = read(ends[0], text, sizeof(s.output) - 40);
	close(ends[0]);
	snprintf(text + (n > 0 ? n : 0), 40, "exit code %d\n", code);
	return text;
}

/* Every entry with what is known of it. */
static char *listing(const char *folder)
{
	static const char script[] =
		"cd \"$1\" || exit 1\n"
		"find . -mindepth 1 -printf '%p %y %m %U:%G %n %l' "
		"  \\( -type d -printf '\\n' -o -printf ' %s\\n' \\) | sort\n"
		"command -v getfacl >/dev/null && find . -mindepth 1 ! -type l "
		"  -print0 | sort -z | xargs -0r getfacl -n 2>&1\n";
	char *text = calloc(1, 200000);

	MOUNTED_RUN(text, 200000, "sh", "-c", script, "sh", folder);
	return text;
}

static void show_difference(const char *want, const char *got)
{
	size_t line = 0;

	for (size_t i = 0; want[i] && want[i] == got[i]; i++)
		if (want[i] == '\n')
			line = i + 1;
	printf("expected: %.*s\n     got: %.*s\n",
	       (int)strcspn(want + line, "\n"), want + line,
	       (int)strcspn(got + line, "\n"), got + line);
}

static bool same_text(char *want, char *got)
{
	bool same = !strcmp(want, got);

	if (!same)
		show_difference(want, got);
	free(want);
	free(got);
	return same;
}

bool users_same_deed(const struct mounted *m, const char *plain,
                     const struct deed *deed)
{
	return same_text(deed_output(deed, plain), deed_output(deed, m->point));
}

bool users_same_listing(const struct mounted *m, const char *plain, uid_t viewer)
{
	char *texts[2];

	for (int i = 0; i < 2; i++) {
		const char *folder = i ? m->point : plain;

		if (viewer) {
			struct deed look = { .uid = viewer, .gid = viewer };

			look.script = "find . -mindepth 1 "
				"-printf '%p %y %m %U:%G %n %l' "
				"\\( -type d -printf '\\n' -o -printf "
				"' %s\\n' \\) 2>/dev/null | sort";
			texts[i] = deed_output(&look, folder);
		} else {
			texts[i] = listing(folder);
		}
	}
	return same_text(texts[0], texts[1]);
}

/* Cover a file with another one, in the mounts of this process alone. */
static bool cover(const char *path, const char *with)
{
	bool good = !mount(with, path, NULL, MS_BIND, NULL);

	unlink(with); /* it lives on in the mount */
	return good;
}

/* A new namespace has a copy of each mount, which would keep those of tests that
 * run at the same time. */
static void leave_mounts_of_others(void)
{
	char *points[200];
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	size_t n = 0;

	while (mounts && n < 200 && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, "fuse.frondfs"))
			points[n++] = strdup(entry->mnt_dir);
	if (mounts)
		endmntent(mounts);
	while (n--) {
		umount2(points[n], MNT_DETACH | UMOUNT_NOFOLLOW);
		free(points[n]);
	}
}

bool users_take_device(void)
{
	char device[] = "/tmp/frond-device-XXXXXX";
	char users[] = "/tmp/frond-users-XXXXXX";
	char script[200];
	int a, b;

	if (geteuid() != 0 || unshare(CLONE_NEWNS)
	    || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	leave_mounts_of_others();
	a = mkstemp(device);
	b = mkstemp(users);
	if (a < 0 || b < 0)
		return false;
	close(a);
	close(b);
	snprintf(script, sizeof(script), "cat /etc/passwd >%s && chmod 644 %s "
	         "&& echo frond-anne:x:%d:%d::/:/bin/sh >>%s", users, users,
	         ANNE, ANNE, users);
	return !MOUNTED_RUN(NULL, 0, "sh", "-c", script)
	       && !unlink(device)
	       && !mknod(device, S_IFCHR | 0666, makedev(10, 229))
	       && !chmod(device, 0666)
	       && cover("/dev/fuse", device) && cover("/etc/passwd", users);
}
