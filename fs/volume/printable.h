/* Text for a terminal or a log that may hold names found on the disk. */
#ifndef FS_VOLUME_PRINTABLE_H
#define FS_VOLUME_PRINTABLE_H

/* Replace the control characters in `text` by '?': ASCII's and those of
 * ISO 6429, U+0080 to U+009F in UTF-8, with which a file's name could steer a
 * terminal. */
void printable(char *text);

#endif
