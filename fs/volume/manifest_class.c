/* The classes of differences from a manifest, in words. */
#include "fs/volume/manifest.h"

static const struct {
	enum manifest_severity severity;
	const char *name, *advice;
} classes[MANIFEST_CLASSES] = {
	[MANIFEST_MISSING] = { MANIFEST_UNFINISHED, "missing",
		"copy it again, or restore it from a backup" },
	[MANIFEST_ADDED] = { MANIFEST_UNFINISHED, "added",
		"it came after the seal; if that was you, seal again" },
	[MANIFEST_CUT] = { MANIFEST_UNFINISHED, "cut",
		"copy it again, or restore it from a backup" },
	[MANIFEST_CHANGED] = { MANIFEST_DIFFERENT, "changed",
		"if that was you, seal again; else restore it from a backup" },
	[MANIFEST_ALTERED] = { MANIFEST_DIFFERENT, "altered",
		"no ordinary write does this: restore it from a backup" },
	[MANIFEST_ROLLED_BACK] = { MANIFEST_DIFFERENT, "rolled back",
		"if you did not restore an older state, restore the newer one" },
	[MANIFEST_RENAMED] = { MANIFEST_DIFFERENT, "renamed",
		"if that was not you, give it its old name" },
	[MANIFEST_COPIED] = { MANIFEST_DIFFERENT, "copied over",
		"restore the file that was here from a backup" },
	[MANIFEST_HARD_LINK] = { MANIFEST_DIFFERENT, "hard link",
		"the content is right; copy with hard links kept (rsync -H)" },
	[MANIFEST_READ_ERROR] = { MANIFEST_DIFFERENT, "read error",
		"the store cannot read this: check the disk and the system's log" },
	[MANIFEST_NO_PERMISSION] = { MANIFEST_SKIPPED, "no permission",
		"not compared: run as a user who may read it" },
};

enum manifest_severity manifest_severity(enum manifest_class class)
{
	return classes[class].severity;
}

const char *manifest_class_name(enum manifest_class class)
{
	return classes[class].name;
}

const char *manifest_class_advice(enum manifest_class class)
{
	return classes[class].advice;
}
