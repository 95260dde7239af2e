/* What the parts of the copy share. */
#ifndef TOOLS_COPY_IMPL_H
#define TOOLS_COPY_IMPL_H

#include "tools/copy.h"

/* Say that something went wrong with the entry at work, and count it. With a
 * folder and text, where the entry is of a volume, its ciphertext is named. */
void copy_say(struct copy *copy, const char *path, const struct folder *folder,
              const char *text, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* The same for an error of the target; a full one ends the copy. */
void copy_say_target(struct copy *copy, const struct folder *folder,
                     const char *what, int error);

/* Whether the time of a copy is that of its source, as far as the store keeps
 * it. */
bool copy_same_time(const struct timespec *from, const struct timespec *to);

/* The owner that a new entry is to have; NULL where it is not kept. */
const struct tree_owner *copy_owner(const struct copy *copy,
                                    const struct stat *st,
                                    struct tree_owner *owner);

/* copy_file.c: copy a regular file to the name in a folder. Returns whether it
 * is there now; what went wrong was said. */
bool copy_file(struct copy *copy, const struct folder *from,
               const struct tree_entry *entry, const struct folder *to,
               const char *name);

/* copy_attributes.c: make owner, attributes, mode and times of `to_fd` those of
 * `from_fd`, as far as they differ. */
void copy_attributes(struct copy *copy, const struct folder *from,
                     const char *text, int from_fd, const struct stat *st,
                     const struct folder *to, int to_fd);

/* copy_links.c: hard links. copy_link_find: make `name` another name of the
 * file that was copied for the same inode before; 1 where it is that now, 2
 * where it was already, 0 where there is no such file, or an error. */
int copy_link_find(struct copy *copy, const struct stat *st,
                   const struct folder *to, const char *name);
/* Remember what `name` in the folder is a copy of. */
void copy_link_remember(struct copy *copy, const struct stat *st,
                        const struct folder *to, const char *name);
void copy_links_free(struct copy *copy);

#endif
