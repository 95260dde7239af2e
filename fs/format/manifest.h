/*
 * The text of sealed manifests: the lines of a coreutils checksum file
 * (b2sum --check), the paths in them and their order. See doc/format.md,
 * "Sealed manifests".
 */
#ifndef FS_FORMAT_MANIFEST_H
#define FS_FORMAT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MANIFEST_DIGEST = 64,     /* bytes of a BLAKE2b-512 */
	MANIFEST_PATH_MAX = 65535,/* bytes of a path below the volume's root */
	/* A line: mark, digest, two spaces, "./", the path escaped, NUL. */
	MANIFEST_LINE_MAX = 1 + 2 * MANIFEST_DIGEST + 4 + 2 * MANIFEST_PATH_MAX + 1,
};

/* Beside a manifest stands MANIFEST + MANIFEST_SIGNATURE; both are written
 * under their names + MANIFEST_TEMP first. */
#define MANIFEST_SIGNATURE ".sig"
#define MANIFEST_TEMP ".tmp"

/*
 * Write a path as coreutils does where it has a backslash, a line feed or a
 * carriage return: "\\", "\n", "\r". `out` has room for twice the length and a
 * NUL. Returns the length; *escaped (may be NULL) tells whether it differs.
 */
size_t manifest_escape(char *out, const char *path, bool *escaped);

/* The reverse, in place. Returns 0, or -EBADMSG for what is no escape. */
int manifest_unescape(char *text);

/*
 * Take apart a manifest's line, without its line end; `line` is changed.
 * *path, in it, becomes the path below the root, without "./". Returns 0, or
 * -EBADMSG for what is no such line, or names what cannot lie below the root:
 * absolute paths, "." and "..", empty parts.
 */
int manifest_parse(char *line, uint8_t digest[MANIFEST_DIGEST], char **path);

/* Whether a path can lie below the root: relative, of 1 to MANIFEST_PATH_MAX
 * bytes, no part of which is empty, ".", ".." or longer than 255 bytes. */
bool manifest_path_valid(const char *path);

/*
 * The order of a manifest: that of a walk through the tree which takes each
 * directory's names in the order of their bytes, and goes into a directory
 * right after its name. Less than, equal to, or greater than 0.
 */
int manifest_path_compare(const char *a, const char *b);

/* Whether `path` lies below the directory `dir`. */
bool manifest_path_below(const char *path, const char *dir);

/*
 * Whether a seal covers an entry of this name: all that a mount reads or shows.
 * Not covered: foreign entries, what an unfinished change or `recover` left
 * behind, and in the root the manifest itself.
 */
bool manifest_covers(const char *name);

/* Digits: lower case is written, both are read. unhex returns 0 or -EBADMSG. */
void manifest_hex(char *text, const uint8_t *bytes, size_t size);
int manifest_unhex(uint8_t *bytes, size_t size, const char *text);

#endif
