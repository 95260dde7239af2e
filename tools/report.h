/* How findings are written to stdout: paths for people and as JSON, sizes. */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stdint.h>

#include <json-c/json.h>

/* Print a text that may hold any bytes so that it cannot steer a terminal, and
 * so that each byte can be told: \" \\ and \xHH. */
void report_text(const char *text);

/* Print "root/path" in quotation marks; either may be empty. */
void report_path(const char *root, const char *path);

/* Add a path to an object, with its exact bytes as NAME_hex where it is not
 * UTF-8; and a number. */
void report_add_path(json_object *object, const char *name, const char *path);
void report_add_number(json_object *object, const char *name, uint64_t value);

/* Print an object on a line of its own, and free it. */
void report_json(json_object *object);

/* "1.5 MiB". */
enum { REPORT_BYTES = 32 };
void report_bytes(char text[REPORT_BYTES], double bytes);

#endif
