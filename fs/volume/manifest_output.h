/* A file that replaces another at once, or not at all. */
#ifndef FS_VOLUME_MANIFEST_OUTPUT_H
#define FS_VOLUME_MANIFEST_OUTPUT_H

#include <stdio.h>

struct output {
	char *path, *temp; /* temp: path + MANIFEST_TEMP */
	FILE *stream;      /* to the temporary file */
};

/*
 * Begin to write what will stand at `path` + `mark`, as a temporary file that is
 * locked. Returns 0, -EBUSY when another process writes it, -EEXIST where there
 * is something else than a file of one name, or another error.
 */
int output_open(struct output *output, const char *path, const char *mark);

/* Bring it onto the disk; then rename it to its path. 0 or an error. */
int output_sync(struct output *output);
int output_rename(struct output *output);

/* Close it and free; the temporary file goes away where it was not renamed. */
void output_close(struct output *output);

/* Let the temporary file stay. */
void output_keep(struct output *output);

/* Bring the renaming onto the disk. */
int output_sync_folder(const struct output *output);

#endif
