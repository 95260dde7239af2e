#include "tools/openvolume.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tools/exitcode.h"
#include "tools/message.h"

static int open_volume(const char *dir, const struct unlock_options *unlock,
                       bool write, struct volume **volume)
{
	struct rlimit files;
	struct unlocked u;
	int code = unlock_volume(dir, unlock, &u), error;

	if (code)
		return code;
	/* Some descriptors for each level of a tree. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (write)
		umask(0);
	error = volume_open(volume, dir, unlocked_take_keys(&u), u.config.uuid,
	                    u.config.name_limit, !write,
	                    write ? VOLUME_USE_WRITE : VOLUME_USE_NONE);
	unlocked_free(&u);
	if (error == -EBUSY) {
		error_say("%s is mounted or being checked: it can't be changed "
		          "now", dir);
		hint_say("work in the mount, or unmount the volume first "
		         "(frondfs umount MOUNTPOINT)");
		return EXIT_IN_USE;
	}
	if (error) {
		error_say("%s: %s", dir, strerror(-error));
		return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	return EXIT_OK;
}

int open_volume_for_reading(const char *dir, const struct unlock_options *unlock,
                            struct volume **volume)
{
	return open_volume(dir, unlock, false, volume);
}

int open_volume_for_writing(const char *dir, const struct unlock_options *unlock,
                            struct volume **volume)
{
	return open_volume(dir, unlock, true, volume);
}
