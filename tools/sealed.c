#include "tools/sealed.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "fs/format/name.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/report.h"
#include "tools/ticker.h"

struct comparing {
	const struct sealed_output *output;
	const char *dir;
	struct manifest_progress progress;
	struct ticker ticker;
	uint64_t counts[MANIFEST_CLASSES];
};

static atomic_bool *cancelled;

static void on_signal(int number)
{
	(void)number;
	*cancelled = true;
}

void sealed_cancel_by_signal(atomic_bool *cancel)
{
	/* Restarting: a line of the output must not be cut. */
	struct sigaction action = { .sa_handler = on_signal,
	                            .sa_flags = SA_RESTART };

	cancelled = cancel;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

int sealed_threads(const char *command, const char *value, unsigned *threads)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (!*value || *end || n < 1 || n > 64)
		return usage_say(command, "--threads takes a number from 1 to 64");
	*threads = (unsigned)n;
	return EXIT_OK;
}

/* A descriptor for each level of the tree, and for waiting files. */
static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int sealed_open_volume(const char *dir, const struct unlock_options *unlock,
                       const char *what, struct volume **volume)
{
	struct unlocked u;
	int code = unlock_volume(dir, unlock, &u), error;

	if (code)
		return code;
	raise_limit();
	error = volume_open(volume, dir, unlocked_take_keys(&u), u.config.uuid,
	                    u.config.name_limit, true, VOLUME_USE_CHECK);
	unlocked_free(&u);
	if (error == -EBUSY) {
		error_say("%s is mounted read-write: it can't be %s now", dir,
		          what);
		hint_say("unmount it first (frondfs umount MOUNTPOINT), or mount "
		         "it read-only (-o ro) meanwhile");
		return EXIT_IN_USE;
	}
	if (error) {
		error_say("%s: %s", dir, strerror(-error));
		return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	return EXIT_OK;
}

char *sealed_place(const char *dir)
{
	size_t n = strlen(dir);
	char *path;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (asprintf(&path, "%.*s/" NAME_SEAL, (int)n, dir) < 0)
		return NULL;
	return path;
}

int sealed_open(const char *path, const uint8_t *key, struct manifest **manifest)
{
	struct manifest_status status;

	raise_limit();
	*manifest = manifest_open(path, key, &status);
	if (*manifest)
		return EXIT_OK;
	switch (status.error) {
	case MANIFEST_NONE:
		error_say("there is no manifest %s", path);
		hint_say("`frondfs seal` writes one; name the one that you have: "
		         "MANIFEST DIR");
		return EXIT_SEAL;
	case MANIFEST_UNSIGNED:
		error_say("%s has no signature: there is no %s.sig", path, path);
		hint_say("copy that file as well; or compare without a key, with "
		         "`frondfs verify` or `b2sum --check`");
		return EXIT_SEAL;
	case MANIFEST_MISMATCHED:
		error_say("%s and %s.sig are not of the same seal: %s", path,
		          path, status.problem);
		hint_say("copy both files of one seal; if they never were "
		         "together, somebody changed the manifest");
		return EXIT_SEAL;
	case MANIFEST_FORGED:
		error_say("%s.sig: %s", path, status.problem);
		hint_say("use the manifest and signature of this volume, from a "
		         "place that nobody else can write to");
		return EXIT_SEAL;
	case MANIFEST_NEWER:
		error_say("%s.sig was made by a newer frondfs: \"%s\"", path,
		          status.problem);
		hint_say("use a newer version of frondfs");
		return EXIT_NEWER;
	case MANIFEST_BAD:
		error_say("%s is no manifest that can be used: %s", path,
		          status.problem);
		hint_say("copy it and its .sig again, from where they were made");
		return EXIT_SEAL;
	default:
		break;
	}
	error_say("%s: %s", path, strerror(-status.io_error));
	return status.io_error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
}

/* ---- findings ---- */

static const char *const severity_words[] = {
	[MANIFEST_UNFINISHED] = "incomplete", [MANIFEST_DIFFERENT] = "different",
	[MANIFEST_SKIPPED] = "skipped",
};

static void found_plain(const struct comparing *c,
                        const struct manifest_finding *f)
{
	printf("%s: %s: ", severity_words[manifest_severity(f->class)],
	       manifest_class_name(f->class));
	report_path("", f->plain ? f->plain : f->cipher);
	if (f->from_cipher) {
		fputs(f->class == MANIFEST_HARD_LINK ? " and " : " from ", stdout);
		report_path("", f->from_plain ? f->from_plain : f->from_cipher);
	}
	if (f->detail)
		printf(", %s", f->detail);
	putchar('\n');
	if (f->plain) {
		fputs("    ciphertext: ", stdout);
		report_path(c->dir, f->cipher);
		if (f->from_cipher) {
			fputs(" from ", stdout);
			report_path("", f->from_cipher);
		}
		putchar('\n');
	}
	if (c->output->verbose)
		printf("    advice: %s\n", manifest_class_advice(f->class));
}

static void add_text(json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name, json_object_new_string(text));
}

static void found_json(const struct manifest_finding *f)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "seal", json_object_new_boolean(1));
	add_text(object, "class", manifest_class_name(f->class));
	add_text(object, "severity",
	         severity_words[manifest_severity(f->class)]);
	if (f->plain)
		report_add_path(object, "path", f->plain);
	report_add_path(object, "ciphertext", f->cipher);
	if (f->from_plain)
		report_add_path(object, "from", f->from_plain);
	if (f->from_cipher)
		report_add_path(object, "from_ciphertext", f->from_cipher);
	if (f->detail)
		add_text(object, "detail", f->detail);
	add_text(object, "advice", manifest_class_advice(f->class));
	report_json(object);
}

static void found(void *context, const struct manifest_finding *f)
{
	struct comparing *c = context;

	c->counts[f->class]++;
	ticker_pause(&c->ticker);
	if (c->output->json)
		found_json(f);
	else
		found_plain(c, f);
	fflush(stdout);
	ticker_resume(&c->ticker);
}

/* ---- summary ---- */

static uint64_t count_of(const struct comparing *c,
                         enum manifest_severity severity)
{
	uint64_t n = 0;

	for (enum manifest_class class = 0; class < MANIFEST_CLASSES; class++)
		if (manifest_severity(class) == severity)
			n += c->counts[class];
	return n;
}

static int code_of(const struct comparing *c)
{
	int code = count_of(c, MANIFEST_DIFFERENT) ? EXIT_FSCK_ERRORS
		: count_of(c, MANIFEST_UNFINISHED) ? EXIT_INCOMPLETE : EXIT_OK;

	return code | (count_of(c, MANIFEST_SKIPPED) ? EXIT_FSCK_SKIPPED : 0);
}

static void summary_json(const struct comparing *c,
                         const struct manifest_info *info, int code)
{
	json_object *object = json_object_new_object();
	json_object *counts = json_object_new_object();

	for (enum manifest_class class = 0; class < MANIFEST_CLASSES; class++)
		if (c->counts[class])
			report_add_number(counts, manifest_class_name(class),
			                  c->counts[class]);
	json_object_object_add(object, "seal", json_object_new_boolean(1));
	json_object_object_add(object, "summary", json_object_new_boolean(1));
	json_object_object_add(object, "signature_checked",
	                       json_object_new_boolean(info->checked));
	if (info->has_signature)
		json_object_object_add(object, "sealed_at",
		                       json_object_new_int64(info->time));
	report_add_number(object, "sealed_entries", info->entries);
	report_add_number(object, "files", c->progress.files);
	report_add_number(object, "directories", c->progress.directories);
	report_add_number(object, "links", c->progress.links);
	report_add_number(object, "foreign", c->progress.foreign);
	report_add_number(object, "bytes", c->progress.bytes);
	json_object_object_add(object, "seconds", json_object_new_double(
		ticker_seconds(&c->ticker)));
	report_add_number(object, "different", count_of(c, MANIFEST_DIFFERENT));
	report_add_number(object, "incomplete",
	                  count_of(c, MANIFEST_UNFINISHED));
	report_add_number(object, "skipped", count_of(c, MANIFEST_SKIPPED));
	json_object_object_add(object, "findings", counts);
	report_add_number(object, "exit_code", (uint64_t)code);
	report_json(object);
}

static void summary_plain(const struct comparing *c,
                          const struct manifest_info *info, int code)
{
	double time = ticker_seconds(&c->ticker);
	double bytes = (double)c->progress.bytes;
	char size[REPORT_BYTES], rate[REPORT_BYTES], when[40] = "an unknown time";
	time_t sealed = (time_t)info->time;
	struct tm tm;

	report_bytes(size, bytes);
	report_bytes(rate, time > 0 ? bytes / time : 0);
	if (info->has_signature && gmtime_r(&sealed, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("%s%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64
	       " links compared with the seal of %s; %s in %.1f s (%s/s)\n",
	       code & EXIT_CANCELLED ? "cancelled: " : "",
	       (uint64_t)c->progress.files, (uint64_t)c->progress.directories,
	       (uint64_t)c->progress.links, when, size, time, rate);
	for (enum manifest_class class = 0; class < MANIFEST_CLASSES; class++)
		if (c->counts[class])
			printf("  %s: %s: %" PRIu64 "\n",
			       severity_words[manifest_severity(class)],
			       manifest_class_name(class), c->counts[class]);
	if (!info->has_signature)
		printf("there is no signature: only the files were compared, not "
		       "directories and links\n");
	else if (!info->checked)
		printf("the signature was not checked: that needs a key\n");
	if (code == EXIT_OK)
		printf("all as it was sealed\n");
	else if (code == EXIT_INCOMPLETE)
		printf("nothing but whole or cut entries differ: a copy that is "
		       "not finished, or new entries\n");
}

static void line(void *context, char text[TICKER_LINE])
{
	struct comparing *c = context;

	ticker_text(&c->ticker, text, c->progress.files, c->progress.bytes,
	            c->progress.total_known ? c->progress.total : 0);
}

int sealed_compare(struct manifest *manifest, const char *dir, int root,
                   const struct volume *volume,
                   const struct sealed_output *output)
{
	struct comparing c = {
		.output = output, .dir = dir,
		.ticker = { .line = line, .context = &c },
	};
	const struct manifest_verify verify = {
		.volume = volume, .threads = output->threads,
		.found = found, .context = &c,
	};
	int error, code;

	sealed_cancel_by_signal(&c.progress.cancel);
	ticker_start(&c.ticker, output->progress);
	error = manifest_verify(manifest, root, &verify, &c.progress);
	ticker_stop(&c.ticker);
	code = code_of(&c);
	if (error == -ECANCELED) {
		code |= EXIT_CANCELLED;
	} else if (error == -ESTALE) {
		error_say("the manifest changed while it was read");
		hint_say("try again when nobody writes it");
		code = EXIT_OPERATION;
	} else if (error == -ENAMETOOLONG) {
		error_say("%s: directories lie too deep inside each other: the "
		          "comparison stopped", dir);
		hint_say("no seal has paths of more than 65535 bytes: look for "
		         "what does not belong there");
		code = EXIT_OPERATION;
	} else if (error) {
		error_say("%s: the comparison stopped: %s", dir,
		          strerror(-error));
		hint_say("nothing is known of the rest; try again when this is "
		         "mended");
		code = EXIT_OPERATION;
	}
	if (output->quiet)
		; /* the exit code says it */
	else if (output->json)
		summary_json(&c, manifest_info(manifest), code);
	else if (!error || error == -ECANCELED)
		summary_plain(&c, manifest_info(manifest), code);
	signal(SIGINT, SIG_DFL); /* c ends here */
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	return code;
}
