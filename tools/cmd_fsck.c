/* frondfs fsck: check a volume without mounting it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "fs/volume/check.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/report.h"
#include "tools/sealed.h"
#include "tools/unlock.h"

static const char help[] =
	"Usage: frondfs fsck [options] DIR [PATH...]\n"
	"\n"
	"Checks the volume in DIR without mounting it: every directory id, name,\n"
	"link, attribute, header and sector; or only what the plaintext PATHs name.\n"
	"Changes nothing. A volume that is mounted read-write is refused.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  --seal MANIFEST           compare with a seal first: see frondfs-seal(1)\n"
	"  --json                    one JSON object a line, the summary last\n"
	"  --no-progress             no progress line on the terminal\n"
	"  --threads N               threads that read and verify [one for each core]\n"
	"  -q, --quiet               no summary and no notes, only errors\n"
	"  -v, --verbose             say what can be done about each finding\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0 clean, 4 errors were found, 8 the check could not be done,\n"
	"16 wrong usage, 32 cancelled, 64 something was skipped for want of\n"
	"permission (added to the others); the rest as in frondfs(1).\n";

enum { OPT_JSON = 0x2000, OPT_NO_PROGRESS, OPT_THREADS, OPT_SEAL };

struct fsck {
	struct check_progress progress;
	const struct volume *volume;
	bool json, quiet, verbose, show_progress;
	bool line_shown; /* a progress line stands on the terminal */
	struct timespec started;
	pthread_t ticker;
	pthread_mutex_t output;
	atomic_bool done;
};

static struct fsck fsck = { .output = PTHREAD_MUTEX_INITIALIZER };

static void on_signal(int number)
{
	(void)number;
	fsck.progress.cancel = true;
}

/* ---- output ---- */

static void clear_line(void)
{
	if (fsck.line_shown)
		fputs("\r\033[K", stderr);
	fsck.line_shown = false;
}

static const char *const severity_words[] = {
	[CHECK_DAMAGE] = "error", [CHECK_UNFINISHED] = "unfinished",
	[CHECK_NOTE] = "note", [CHECK_SKIPPED] = "skipped",
};

/* Whether the path is that of the directory in which something lies that has
 * no plaintext name. */
static bool lies_in(enum check_class class)
{
	return class == CHECK_FOREIGN || class == CHECK_LEFTOVER ||
	       class == CHECK_ORPHAN_LONG_NAME || class == CHECK_ORPHAN_LINK_FILE;
}

static void found_plain(const struct check_finding *f)
{
	enum check_severity severity = check_severity(f->class);

	printf("%s: %s: %s", severity_words[severity],
	       check_class_name(f->class), lies_in(f->class) ? "in " : "");
	report_path("", *f->plain ? f->plain : "/");
	if (f->has_sectors && f->first == f->last)
		printf(", sector %" PRIu64, f->first);
	else if (f->has_sectors)
		printf(", sectors %" PRIu64 " to %" PRIu64, f->first, f->last);
	if (f->has_bytes)
		printf(", bytes %" PRIu64 " to %" PRIu64, f->start, f->end - 1);
	if (f->detail) {
		fputs(", ", stdout);
		report_text(f->detail); /* it may hold an attribute's name */
	}
	fputs("\n    ciphertext: ", stdout);
	report_path(fsck.volume->path, f->cipher);
	putchar('\n');
	if (fsck.verbose)
		printf("    advice: %s\n", check_class_advice(f->class));
}

static void found_json(const struct check_finding *f)
{
	json_object *object = json_object_new_object();

	json_object_object_add(object, "class", json_object_new_string(
		check_class_name(f->class)));
	json_object_object_add(object, "severity", json_object_new_string(
		severity_words[check_severity(f->class)]));
	report_add_path(object, "path", f->plain);
	report_add_path(object, "ciphertext", f->cipher);
	if (f->has_sectors) {
		report_add_number(object, "first_sector", f->first);
		report_add_number(object, "last_sector", f->last);
	}
	if (f->has_bytes) {
		report_add_number(object, "start", f->start);
		report_add_number(object, "end", f->end);
	}
	if (f->detail)
		report_add_path(object, "detail", f->detail);
	json_object_object_add(object, "advice", json_object_new_string(
		check_class_advice(f->class)));
	report_json(object);
}

static void found(void *context, const struct check_finding *f)
{
	(void)context;
	pthread_mutex_lock(&fsck.output);
	clear_line();
	if (fsck.quiet && check_severity(f->class) == CHECK_NOTE)
		; /* only errors were asked for */
	else if (fsck.json)
		found_json(f);
	else
		found_plain(f);
	fflush(stdout);
	pthread_mutex_unlock(&fsck.output);
}

/* ---- progress ---- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - fsck.started.tv_sec) +
	       (double)(now.tv_nsec - fsck.started.tv_nsec) / 1e9;
}

static void show_line(void)
{
	double bytes = (double)fsck.progress.bytes, time = seconds();
	double total = (double)fsck.progress.total;
	double rate = time > 0 ? bytes / time : 0;
	char done[32], all[32], speed[32], left[48] = "", line[200];
	struct winsize window;

	report_bytes(done, bytes);
	report_bytes(all, total);
	report_bytes(speed, rate);
	if (fsck.progress.total_known && rate > 0 && total > bytes) {
		unsigned long s = (unsigned long)((total - bytes) / rate) + 1;

		snprintf(left, sizeof(left), ", %lu:%02lu:%02lu left", s / 3600,
		         s / 60 % 60, s % 60);
	}
	snprintf(line, sizeof(line), "%" PRIu64 " files, %s%s%s, %s/s%s",
	         (uint64_t)fsck.progress.files, done,
	         fsck.progress.total_known ? " of " : "",
	         fsck.progress.total_known ? all : "", speed, left);
	/* A line that is wider than the terminal could not be taken away. */
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1 &&
	    window.ws_col <= strlen(line))
		line[window.ws_col - 1] = '\0';
	pthread_mutex_lock(&fsck.output);
	fprintf(stderr, "\r\033[K%s", line);
	fflush(stderr);
	fsck.line_shown = true;
	pthread_mutex_unlock(&fsck.output);
}

static void *tick(void *context)
{
	(void)context;
	for (int i = 0; !fsck.done; i++) {
		struct timespec pause = { 0, 50 * 1000 * 1000 };

		nanosleep(&pause, NULL);
		if (i % 10 == 9 && !fsck.done)
			show_line();
	}
	return NULL;
}

static void *measure(void *context)
{
	(void)context;
	check_measure(fsck.volume, &fsck.progress);
	return NULL;
}

/* ---- summary ---- */

static uint64_t count_of(enum check_severity severity)
{
	uint64_t n = 0;

	for (enum check_class c = 0; c < CHECK_CLASSES; c++)
		if (check_severity(c) == severity)
			n += fsck.progress.counts[c];
	return n;
}

static void summary_json(int code)
{
	json_object *object = json_object_new_object();
	json_object *counts = json_object_new_object();

	for (enum check_class c = 0; c < CHECK_CLASSES; c++)
		if (fsck.progress.counts[c])
			report_add_number(counts, check_class_name(c),
			           fsck.progress.counts[c]);
	json_object_object_add(object, "summary", json_object_new_boolean(1));
	report_add_number(object, "files", fsck.progress.files);
	report_add_number(object, "directories", fsck.progress.directories);
	report_add_number(object, "links", fsck.progress.links);
	report_add_number(object, "bytes", fsck.progress.bytes);
	json_object_object_add(object, "seconds",
	                       json_object_new_double(seconds()));
	report_add_number(object, "errors", count_of(CHECK_DAMAGE));
	report_add_number(object, "unfinished", count_of(CHECK_UNFINISHED));
	report_add_number(object, "notes", count_of(CHECK_NOTE));
	report_add_number(object, "skipped", count_of(CHECK_SKIPPED));
	json_object_object_add(object, "findings", counts);
	report_add_number(object, "exit_code", (uint64_t)code);
	report_json(object);
}

static void summary_plain(int code)
{
	double time = seconds(), bytes = (double)fsck.progress.bytes;
	char size[32], rate[32];

	report_bytes(size, bytes);
	report_bytes(rate, time > 0 ? bytes / time : 0);
	printf("%s%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64
	       " links checked; %s in %.1f s (%s/s)\n",
	       code & EXIT_CANCELLED ? "cancelled: " : "",
	       (uint64_t)fsck.progress.files,
	       (uint64_t)fsck.progress.directories,
	       (uint64_t)fsck.progress.links, size, time, rate);
	for (enum check_class c = 0; c < CHECK_CLASSES; c++)
		if (fsck.progress.counts[c])
			printf("  %s: %s: %" PRIu64 "\n",
			       severity_words[check_severity(c)],
			       check_class_name(c),
			       (uint64_t)fsck.progress.counts[c]);
	if (code == EXIT_OK)
		printf("clean\n");
	else if (code & EXIT_FSCK_ERRORS && !fsck.verbose)
		printf("frondfs fsck -v says what can be done about each\n");
}

/* ---- the command ---- */

static int open_volume(const char *dir, const struct unlock_options *unlock,
                       struct volume **volume)
{
	struct unlocked u;
	int code = unlock_volume(dir, unlock, &u), error;

	if (code)
		return code;
	error = volume_open(volume, dir, unlocked_take_keys(&u), u.config.uuid,
	                    u.config.name_limit, true, VOLUME_USE_CHECK);
	unlocked_free(&u);
	if (error == -EBUSY) {
		error_say("%s is mounted read-write: it can't be checked now", dir);
		hint_say("unmount it first (frondfs umount MOUNTPOINT), or mount "
		         "it read-only (-o ro) while it is checked");
		return EXIT_IN_USE;
	}
	if (error) {
		error_say("%s: %s", dir, strerror(-error));
		return error == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	return EXIT_OK;
}

static int run(const char *const *paths, size_t count,
               const struct check_options *options)
{
	/* Restarting: a line of the output must not be cut. */
	struct sigaction action = { .sa_handler = on_signal,
	                            .sa_flags = SA_RESTART };
	const char *failed = NULL;
	pthread_t measurer;
	bool ticking = false, measuring = false;
	int error, code = EXIT_OK;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	clock_gettime(CLOCK_MONOTONIC, &fsck.started);
	if (fsck.show_progress) {
		ticking = !pthread_create(&fsck.ticker, NULL, tick, NULL);
		measuring = count == 0 &&
			!pthread_create(&measurer, NULL, measure, NULL);
	}
	error = check_volume(fsck.volume, paths, count, options,
	                     &fsck.progress, &failed);
	fsck.done = true;
	if (ticking)
		pthread_join(fsck.ticker, NULL);
	if (measuring) {
		bool cancelled = fsck.progress.cancel;

		fsck.progress.cancel = true; /* it may still be measuring */
		pthread_join(measurer, NULL);
		fsck.progress.cancel = cancelled;
	}
	clear_line();
	if (error == -ECANCELED) {
		code |= EXIT_CANCELLED;
	} else if (failed && (error == -ENOENT || error == -ENAMETOOLONG)) {
		error_say("there is no \"%s\" in this volume", failed);
		hint_say("name the path as it is in the mount, from its root");
		code |= EXIT_OPERATION;
	} else if (failed && error == -EINVAL) {
		error_say("\"%s\" cannot be used as a path in the volume", failed);
		hint_say("name it from the root of the mount, without \"..\"");
		code |= EXIT_OPERATION;
	} else if (error) {
		error_say("the check stopped%s%s: %s", failed ? " at " : "",
		          failed ? failed : "", strerror(-error));
		code |= EXIT_OPERATION;
	}
	if (count_of(CHECK_DAMAGE) || count_of(CHECK_UNFINISHED))
		code |= EXIT_FSCK_ERRORS;
	if (count_of(CHECK_SKIPPED))
		code |= EXIT_FSCK_SKIPPED;
	return code;
}

/* Compare with a sealed manifest; *sealed becomes what fsck's exit code gets from
 * that. EXIT_OK, or the code where the manifest cannot be used. */
static int compare(const char *path, unsigned threads, int *sealed)
{
	const struct sealed_output output = {
		.json = fsck.json, .quiet = fsck.quiet, .verbose = fsck.verbose,
		.progress = fsck.show_progress, .threads = threads,
	};
	struct manifest *manifest;
	int code = sealed_open(path, fsck.volume->keys->seal, &manifest);

	if (code)
		return code;
	clock_gettime(CLOCK_MONOTONIC, &fsck.started);
	code = sealed_compare(manifest, fsck.volume->path, fsck.volume->root,
	                      fsck.volume, &output);
	manifest_close(manifest);
	/* 30 is no sum of bits: here it is an error like others. */
	if ((code & ~EXIT_FSCK_SKIPPED & ~EXIT_CANCELLED) == EXIT_INCOMPLETE)
		code = (code & (EXIT_FSCK_SKIPPED | EXIT_CANCELLED)) |
		       EXIT_FSCK_ERRORS;
	*sealed = code;
	return EXIT_OK;
}

int cmd_fsck(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "seal", required_argument, NULL, OPT_SEAL },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
		{ "threads", required_argument, NULL, OPT_THREADS },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct check_options options = { .found = found };
	struct volume *volume;
	struct rlimit files;
	const char *seal = NULL;
	unsigned long threads;
	char *end;
	int c, code, sealed = EXIT_OK;

	fsck.show_progress = isatty(STDERR_FILENO);
	while ((c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1) {
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			if (code)
				return code;
			break;
		case OPT_SEAL:
			seal = optarg;
			break;
		case OPT_JSON:
			fsck.json = true;
			break;
		case 'q':
			fsck.quiet = message_quiet = true;
			fsck.show_progress = false;
			break;
		case 'v':
			fsck.verbose = message_verbose = true;
			break;
		case OPT_NO_PROGRESS:
			fsck.show_progress = false;
			break;
		case OPT_THREADS:
			threads = strtoul(optarg, &end, 10);
			if (*end || threads < 1 || threads > 64)
				return usage_say("fsck", "--threads takes a "
				                 "number from 1 to 64");
			options.threads = (unsigned)threads;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return usage_say("fsck", "this option can't be used");
		}
	}
	if (optind >= argc)
		return usage_say("fsck", "which volume? DIR is missing");
	/* A descriptor for each level of the tree, and for waiting files. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	code = open_volume(argv[optind], &unlock, &volume);
	if (code)
		return code;
	fsck.volume = volume;
	if (seal)
		code = compare(seal, options.threads, &sealed);
	if (code) {
		volume_close(volume);
		return code;
	}
	if (!(sealed & EXIT_CANCELLED))
		code = run((const char *const *)argv + optind + 1,
		           (size_t)(argc - optind - 1), &options);
	code |= sealed;
	if (fsck.quiet)
		; /* the exit code says it */
	else if (fsck.json)
		summary_json(code);
	else
		summary_plain(code);
	volume_close(volume);
	return code;
}
