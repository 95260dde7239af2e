/* The key slots of a volume, for people and as JSON. */
#ifndef TOOLS_SLOTLIST_H
#define TOOLS_SLOTLIST_H

#include <json-c/json.h>

#include "fs/volume/config.h"

/* A line for each slot, on stdout. */
void slotlist_print(const struct config *config);

/* An array of objects; NULL when memory ran out. */
json_object *slotlist_json(const struct config *config);

/* Print a JSON object on stdout and release it; NULL, or an output that fails,
 * gives EXIT_OPERATION after a message. */
int json_print(json_object *object);

#endif
