#include "tools/slotlist.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "tools/exitcode.h"
#include "tools/message.h"

void slotlist_print(const struct config *config)
{
	for (size_t i = 0; i < config->slot_count; i++) {
		const struct config_slot *slot = &config->slots[i];
		time_t created = (time_t)slot->created;
		char date[32] = "?", memory[32] = "";
		struct tm tm;

		if (localtime_r(&created, &tm))
			strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
		if (slot->kind == SLOT_PASSPHRASE)
			snprintf(memory, sizeof(memory), "%" PRIu64 " MiB",
			         config_slot_memory(slot) >> 20);
		printf("%4u  %-10s  %s  %-8s %s\n", slot->number,
		       config_kind_name(slot->kind), date, memory, slot->label);
	}
}

json_object *slotlist_json(const struct config *config)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; list && i < config->slot_count; i++) {
		const struct config_slot *slot = &config->slots[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "number",
		                       json_object_new_int64(slot->number));
		json_object_object_add(o, "kind", json_object_new_string(
			config_kind_name(slot->kind)));
		json_object_object_add(o, "label",
		                       json_object_new_string(slot->label));
		json_object_object_add(o, "created",
		                       json_object_new_int64(slot->created));
		if (slot->kind == SLOT_PASSPHRASE)
			json_object_object_add(o, "kdf_memory",
				json_object_new_int64(
					(int64_t)config_slot_memory(slot)));
		json_object_array_add(list, o);
	}
	return list;
}

int json_print(json_object *object)
{
	const char *text = object ? json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
		JSON_C_TO_STRING_NOSLASHESCAPE) : NULL;
	int failed = !text || puts(text) < 0 || fflush(stdout);

	json_object_put(object);
	if (failed)
		error_say("the output could not be written");
	return failed ? EXIT_OPERATION : EXIT_OK;
}
