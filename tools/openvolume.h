/*
 * Opening a volume for a command that works on it without a mount: the key, the
 * lock, and the messages where one of them cannot be had.
 */
#ifndef TOOLS_OPENVOLUME_H
#define TOOLS_OPENVOLUME_H

#include "fs/volume/volume.h"
#include "tools/unlock.h"

/*
 * For reading: never waits for a lock and changes nothing, so it works beside a
 * mount. For writing: refused (EXIT_IN_USE) while the volume is mounted
 * read-write or checked; afterwards it can be neither until this process ends.
 * Sets the process's umask to 0 then, as fs/volume/dir wants it.
 * Returns EXIT_OK, or an exit code after the message.
 */
int open_volume_for_reading(const char *dir, const struct unlock_options *unlock,
                            struct volume **volume);
int open_volume_for_writing(const char *dir, const struct unlock_options *unlock,
                            struct volume **volume);

#endif
