/* frondfs seal: write a manifest of a volume, signed with its key. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"
#include "tools/report.h"
#include "tools/sealed.h"
#include "tools/ticker.h"

static const char help[] =
	"Usage: frondfs seal [options] DIR\n"
	"\n"
	"Writes a manifest of the volume in DIR: a line for each encrypted file, which\n"
	"`b2sum --check --quiet frondfs.seal`, run in a copy of DIR, compares without\n"
	"a key. Beside it stands MANIFEST.sig, a signature over the files, directories\n"
	"and links. `frondfs verify` compares with both.\n"
	"\n"
	"  -o, --output MANIFEST     where to write it [DIR/frondfs.seal]\n"
	"  --update                  do not read files again that look unchanged: same\n"
	"                            inode, size and times as in the manifest there\n"
	UNLOCK_HELP
	"\n"
	"  --json                    print the summary as a JSON object\n"
	"  --no-progress             no progress line on the terminal\n"
	"  --threads N               threads that read [one for each core]\n"
	"  -q, --quiet               no summary\n"
	"  -v, --verbose             more details\n"
	"  -h, --help                print this\n"
	"\n"
	"A volume that is mounted read-write is refused.\n";

enum { OPT_JSON = 0x2000, OPT_NO_PROGRESS, OPT_THREADS, OPT_UPDATE };

struct sealing {
	const char *dir;
	const struct volume *volume;
	struct manifest_progress progress;
	struct ticker ticker;
};

static void line(void *context, char text[TICKER_LINE])
{
	struct sealing *s = context;

	ticker_text(&s->ticker, text, s->progress.files, s->progress.bytes,
	            s->progress.total_known ? s->progress.total : 0);
}

static void *measure(void *context)
{
	struct sealing *s = context;

	manifest_measure(s->volume->root, &s->progress);
	return NULL;
}

/* What stood there before is used where it can be; say why it cannot. */
static void say_old(const struct manifest_seal *seal)
{
	const struct manifest_status *old = &seal->old;

	if (old->error == MANIFEST_OK || old->error == MANIFEST_NONE)
		return;
	if (old->error == MANIFEST_FORGED)
		warn_say("the signature of the seal that was there is not of this "
		         "volume's key, or was changed");
	else if (seal->update)
		warn_say("the seal that was there cannot be used: %s",
		         *old->problem ? old->problem
		                       : strerror(-old->io_error));
	else
		verbose_say("the seal that was there was not used: %s",
		            old->problem);
	if (seal->update)
		warn_say("all files were read");
}

static int complain(const struct sealing *s, const struct manifest_seal *seal,
                    int error)
{
	const char *path = seal->failed ? seal->failed : s->dir;
	const char *in = seal->in_volume ? s->dir : "";
	const char *slash = seal->in_volume ? "/" : "";

	switch (error) {
	case -ECANCELED:
		error_say("cancelled: no seal was written");
		return EXIT_CANCELLED;
	case -EBUSY:
		error_say("%s is being written by another process", path);
		hint_say("wait until it has ended");
		return EXIT_IN_USE;
	case -ESTALE:
		error_say("%s%s%s changed while it was read: no seal was written",
		          in, slash, path);
		hint_say("seal again when no program changes the encrypted files");
		return EXIT_OPERATION;
	case -EEXIST:
		error_say("%s is in the way: it is not a file of one name", path);
		hint_say("remove it, or choose another place with --output");
		return EXIT_OPERATION;
	case -EACCES:
	case -EPERM:
	case -EROFS:
		error_say("%s%s%s: %s: no seal was written", in, slash, path,
		          strerror(-error));
		hint_say(seal->in_volume
		         ? "a seal covers all or nothing: run as a user who may "
		           "read it"
		         : "choose another place with --output");
		return EXIT_PERMISSION;
	case -ENAMETOOLONG:
		error_say("%s: directories lie too deep inside each other: no seal "
		          "was written", s->dir);
		hint_say("2048 levels and paths of 65535 bytes are the limit; move "
		         "the lowest ones up");
		return EXIT_OPERATION;
	default:
		error_say("%s%s%s: %s: no seal was written", in, slash, path,
		          strerror(-error));
		hint_say("the seal that was there is still the one in force; try "
		         "again when this is mended");
		return EXIT_OPERATION;
	}
}

static void summary(const struct sealing *s, const struct manifest_seal *seal,
                    bool json)
{
	double time = ticker_seconds(&s->ticker);
	double bytes = (double)s->progress.bytes;
	char size[REPORT_BYTES], rate[REPORT_BYTES];
	json_object *object;

	if (json) {
		object = json_object_new_object();
		json_object_object_add(object, "summary",
		                       json_object_new_boolean(1));
		report_add_path(object, "manifest", seal->path);
		json_object_object_add(object, "sealed_at",
		                       json_object_new_int64(seal->time));
		report_add_number(object, "entries", seal->entries);
		report_add_number(object, "files", s->progress.files);
		report_add_number(object, "directories",
		                  s->progress.directories);
		report_add_number(object, "links", s->progress.links);
		report_add_number(object, "reused", s->progress.reused);
		report_add_number(object, "foreign", s->progress.foreign);
		report_add_number(object, "bytes", s->progress.bytes);
		json_object_object_add(object, "seconds",
		                       json_object_new_double(time));
		report_json(object);
		return;
	}
	report_bytes(size, bytes);
	report_bytes(rate, time > 0 ? bytes / time : 0);
	printf("%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64
	       " links sealed; %s read in %.1f s (%s/s)\n",
	       (uint64_t)s->progress.files, (uint64_t)s->progress.directories,
	       (uint64_t)s->progress.links, size, time, rate);
	if (s->progress.reused)
		printf("%" PRIu64 " files looked unchanged and were not read\n",
		       (uint64_t)s->progress.reused);
	if (s->progress.foreign)
		printf("%" PRIu64 " foreign entries are not covered\n",
		       (uint64_t)s->progress.foreign);
	fputs("manifest: ", stdout);
	report_path("", seal->path);
	putchar('\n');
}

static int run(struct sealing *s, struct manifest_seal *seal, bool progress,
               bool json)
{
	pthread_t measurer;
	bool measuring;
	int error;

	sealed_cancel_by_signal(&s->progress.cancel);
	ticker_start(&s->ticker, progress);
	/* With --update little of it is read. */
	measuring = progress && !seal->update &&
		!pthread_create(&measurer, NULL, measure, s);
	error = manifest_seal(s->volume, seal, &s->progress);
	if (measuring) {
		s->progress.cancel = true; /* it may still be measuring */
		pthread_join(measurer, NULL);
	}
	ticker_stop(&s->ticker);
	say_old(seal);
	if (error)
		return complain(s, seal, error);
	if (!message_quiet)
		summary(s, seal, json);
	return EXIT_OK;
}

int cmd_seal(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "output", required_argument, NULL, 'o' },
		{ "update", no_argument, NULL, OPT_UPDATE },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
		{ "threads", required_argument, NULL, OPT_THREADS },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct sealing s = { .ticker = { .line = line, .context = &s } };
	struct manifest_seal seal = { .path = NULL };
	bool json = false, progress = isatty(STDERR_FILENO);
	struct volume *volume;
	char *place;
	int c, code;

	while ((c = getopt_long(argc, argv, "o:qvh", longs, NULL)) != -1) {
		code = EXIT_OK;
		switch (c) {
		case UNLOCK_PASSFILE ... UNLOCK_LAST:
			code = unlock_option(&unlock, c, optarg);
			break;
		case 'o':
			seal.path = optarg;
			break;
		case OPT_UPDATE:
			seal.update = true;
			break;
		case OPT_JSON:
			json = true;
			break;
		case OPT_NO_PROGRESS:
			progress = false;
			break;
		case OPT_THREADS:
			code = sealed_threads("seal", optarg, &seal.threads);
			break;
		default:
			code = option_common("seal", c, help);
		}
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return usage_say("seal", argc == optind
		                 ? "which volume? DIR is missing"
		                 : "only one DIR can be sealed at a time");
	s.dir = argv[optind];
	code = sealed_open_volume(s.dir, &unlock, "sealed", &volume);
	if (code)
		return code;
	s.volume = volume;
	place = sealed_place(s.dir);
	if (!seal.path)
		seal.path = place;
	if (seal.path) {
		code = run(&s, &seal, progress && !message_quiet, json);
	} else {
		error_say("no memory");
		code = EXIT_OPERATION;
	}
	free(seal.failed);
	free(place);
	volume_close(volume);
	return code;
}
