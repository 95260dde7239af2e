/* The classes of findings, in words. */
#include "fs/volume/check.h"

static const struct {
	enum check_severity severity;
	const char *name, *advice;
} classes[CHECK_CLASSES] = {
	[CHECK_CORRUPT_SECTOR] = { CHECK_DAMAGE, "corrupt sector",
		"restore the file from a backup; writing these bytes anew heals it" },
	[CHECK_ZEROED_SECTOR] = { CHECK_DAMAGE, "zeroed sector",
		"the store lost these bytes: restore the file from a backup" },
	[CHECK_SHORT_SECTOR] = { CHECK_DAMAGE, "short sector",
		"an older version of this sector: restore the file from a backup" },
	[CHECK_CORRUPT_HEADER] = { CHECK_DAMAGE, "corrupt header",
		"restore the file from a backup" },
	[CHECK_TRUNCATED] = { CHECK_DAMAGE, "truncated",
		"the end of the file is missing: restore it from a backup" },
	[CHECK_CORRUPT_NAME] = { CHECK_DAMAGE, "corrupt name",
		"give the ciphertext file its old name or place, or restore it" },
	[CHECK_MISSING_DIR_ID] = { CHECK_DAMAGE, "missing directory id",
		"restore the directory's frondfs.dir.* file from a backup" },
	[CHECK_WRONG_DIR_ID] = { CHECK_DAMAGE, "wrong directory id",
		"restore the directory's own frondfs.dir.* file from a backup" },
	[CHECK_DAMAGED_DIR_ID] = { CHECK_DAMAGE, "damaged directory id",
		"names still open; restore the frondfs.dir.* file from a backup" },
	[CHECK_CORRUPT_LINK] = { CHECK_DAMAGE, "corrupt symbolic link",
		"make the link again, or restore it from a backup" },
	[CHECK_CORRUPT_XATTR] = { CHECK_DAMAGE, "corrupt attribute",
		"set the attribute again, or restore it from a backup" },
	[CHECK_READ_ERROR] = { CHECK_DAMAGE, "read error",
		"the store cannot read this: check the disk and the system's log" },
	[CHECK_UNCLEAN_APPEND] = { CHECK_UNFINISHED, "unclean append",
		"all that is there can be read; writing to the file finishes it" },
	[CHECK_UNFINISHED_CREATE] = { CHECK_UNFINISHED, "unfinished create",
		"an empty file that was never finished; writing to it or removing it does" },
	[CHECK_ORPHAN_LONG_NAME] = { CHECK_UNFINISHED, "orphan long-name file",
		"left by a change that was cut short; harmless" },
	[CHECK_ORPHAN_LINK_FILE] = { CHECK_UNFINISHED, "orphan link file",
		"left by a change that was cut short; harmless" },
	[CHECK_LEFTOVER] = { CHECK_UNFINISHED, "unfinished change",
		"left by a change that was cut short" },
	[CHECK_MERGED_DIR] = { CHECK_NOTE, "merged directory",
		"a sync tool merged two directories; all names are shown" },
	[CHECK_CONFLICT_COPY] = { CHECK_NOTE, "conflict copy",
		"made by a sync tool; shown in the mount: keep one of the two" },
	[CHECK_FOREIGN] = { CHECK_NOTE, "foreign entry",
		"not of this volume; never shown in the mount" },
	[CHECK_NO_PERMISSION] = { CHECK_SKIPPED, "no permission",
		"not checked: run as a user who may read it" },
};

enum check_severity check_severity(enum check_class class)
{
	return classes[class].severity;
}

const char *check_class_name(enum check_class class)
{
	return classes[class].name;
}

const char *check_class_advice(enum check_class class)
{
	return classes[class].advice;
}
