#include "sealing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json.h>

enum { LINES_MAX = 20000 };

int seal_run(struct victim *v, const char *const options[], char **out,
             char **err)
{
	const char *argv[24] = { FROND_BINARY, "seal", "--keyfile", v->keyfile };
	char *o, *e;
	int n = 4, code;

	for (; options && *options; options++)
		argv[n++] = *options;
	argv[n++] = v->root;
	code = run_collect(argv, 0, &o, &e);
	if (out)
		*out = o;
	if (err)
		*err = e;
	return code;
}

void seal_now(struct victim *v)
{
	char *err;
	int code = seal_run(v, NULL, NULL, &err);

	if (code)
		printf("seal: exit code %d\n%s", code, err);
	need(code == 0, "frondfs seal");
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *text_of(json_object *object, const char *name)
{
	json_object *member;

	return json_object_object_get_ex(object, name, &member)
		? json_object_get_string(member) : "";
}

/* One line of JSON, as a line to compare; NULL for the summary. */
static char *line_of(const char *json)
{
	json_object *o = json_tokener_parse(json), *member;
	char *line = NULL;

	need(o != NULL, json);
	if (!json_object_object_get_ex(o, "summary", &member))
		need(asprintf(&line, "%s|%s|%s|%s|%s", text_of(o, "class"),
		              text_of(o, "path"), text_of(o, "ciphertext"),
		              text_of(o, "from"),
		              text_of(o, "from_ciphertext")) > 0, "memory");
	json_object_put(o);
	return line;
}

static char *sorted(char **lines, size_t count)
{
	size_t size = 1;
	char *text;

	qsort(lines, count, sizeof(*lines), by_text);
	for (size_t i = 0; i < count; i++)
		size += strlen(lines[i]) + 1;
	text = calloc(1, size);
	for (size_t i = 0, n = 0; i < count; i++)
		n += (size_t)sprintf(text + n, "%s\n", lines[i]);
	for (size_t i = 0; i < count; i++)
		free(lines[i]);
	return text;
}

char *verify_run(struct victim *v, bool keyed, const char *const options[],
                 const char *manifest, const char *dir, int *code)
{
	static char *lines[LINES_MAX];
	const char *argv[24] = { FROND_BINARY, "verify", "--json" };
	char *out, *err, *save = NULL;
	size_t count = 0;
	int n = 3;

	if (keyed) {
		argv[n++] = "--keyfile";
		argv[n++] = v->keyfile;
	}
	for (; options && *options; options++)
		argv[n++] = *options;
	if (manifest)
		argv[n++] = manifest;
	argv[n++] = dir ? dir : v->root;
	*code = run_collect(argv, 0, &out, &err);
	if (*err)
		printf("verify: %s", err);
	out = strdup(out);
	for (char *p = strtok_r(out, "\n", &save); p;
	     p = strtok_r(NULL, "\n", &save)) {
		char *line = line_of(p);

		need(count < LINES_MAX, "too many differences");
		if (line)
			lines[count++] = line;
	}
	free(out);
	return sorted(lines, count);
}

static bool says(struct victim *v, bool keyed, int code,
                 const struct wanted *wanted, size_t count)
{
	static const char *const threads[] = { "--threads=1", "--threads=3" };
	char **lines = calloc(count + 1, sizeof(*lines)), *want;
	bool good = true;

	for (size_t i = 0; i < count; i++) {
		const struct wanted *w = &wanted[i];
		const char *class = keyed || !w->keyless ? w->class : w->keyless;

		need(asprintf(&lines[i], "%s|%s|%s|%s|%s", class,
		              keyed ? w->plain : "", w->cipher,
		              keyed && w->from ? w->from : "",
		              w->from_cipher ? w->from_cipher : "") > 0,
		     "memory");
	}
	want = sorted(lines, count);
	for (int i = 0; i < 2 && good; i++) {
		const char *options[] = { threads[i], NULL };
		int got;
		char *found = verify_run(v, keyed, options, NULL, NULL, &got);

		good = got == code && !strcmp(found, want);
		if (!good)
			printf("verify %s %s: exit code %d, wanted %d\nfound:\n"
			       "%swanted:\n%s", keyed ? "with a key"
			       : "without a key", threads[i], got, code, found,
			       want);
		free(found);
	}
	free(want);
	free(lines);
	return good;
}

bool verify_says(struct victim *v, int code, int keyless_code,
                 const struct wanted *wanted, size_t count)
{
	return says(v, true, code, wanted, count) &&
	       says(v, false, keyless_code, wanted, count);
}

int64_t summary_of(const char *json, const char *member)
{
	const char *last = json, *p;
	json_object *o, *value;
	int64_t n = -1;

	while ((p = strchr(last, '\n')) && p[1])
		last = p + 1;
	o = json_tokener_parse(last);
	if (o && json_object_object_get_ex(o, member, &value))
		n = json_object_get_int64(value);
	json_object_put(o);
	return n;
}

bool b2sum_passes(const char *dir, const char *manifest)
{
	char command[1000];
	const char *argv[] = { "/bin/sh", "-c", command, NULL };
	char *out, *err;
	int code;

	snprintf(command, sizeof(command),
	         "cd '%s' && b2sum --check --quiet --strict '%s'", dir,
	         manifest);
	code = run_collect(argv, 0, &out, &err);
	if (code && code != 1)
		printf("%s: exit code %d\n%s%s", command, code, out, err);
	if (code == 0)
		need(!*out && !*err, "b2sum says something");
	return code == 0;
}

void copy_with_times(const char *from, const char *to)
{
	const char *argv[] = { "/bin/cp", "-p", from, to, NULL };
	char *out, *err;

	need(run_collect(argv, 0, &out, &err) == 0, "cp -p");
}

void shift_mtime(const char *path, long seconds)
{
	struct timespec times[2];
	struct stat st;

	need(!stat(path, &st), path);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	times[1].tv_sec += seconds;
	need(!utimensat(AT_FDCWD, path, times, 0), "utimensat");
}
