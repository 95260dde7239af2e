/* frondfs cat: write files of a volume to standard output, without a mount. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/format/sector.h"
#include "tools/command.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/openvolume.h"
#include "tools/option.h"
#include "tools/place.h"
#include "tools/tree.h"

static const char help[] =
	"Usage: frondfs cat [options] DIR PATH...\n"
	"\n"
	"Writes files of the volume in DIR to standard output, one after the other,\n"
	"without a mount. PATH is named as in a mount, from its root.\n"
	"Where a file is damaged, its output ends before the first bytes that are\n"
	"not whole, the error says so, and the next file follows.\n"
	"\n"
	UNLOCK_HELP
	"\n"
	"  -q, --quiet               only errors\n"
	"  -v, --verbose             more messages\n"
	"  -h, --help                print this\n"
	"\n"
	"Exit codes: 0, 8 a file cannot be read whole; the rest as in frondfs(1).\n";

enum { CHUNK_SECTORS = 256, BUF_SIZE = (CHUNK_SECTORS + 1) * SECTOR_SIZE };

static int write_all(const uint8_t *buf, size_t size)
{
	while (size) {
		ssize_t n = write(STDOUT_FILENO, buf, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Up to a sector's border. */
static size_t chunk(uint64_t position)
{
	return (size_t)(sector_start(sector_of(position) + CHUNK_SECTORS) -
	                position);
}

static int cat_content(struct content *content, uint8_t *buf,
                       uint64_t *position, bool *writing)
{
	ssize_t n;

	content->partial = true;
	while ((n = content_read(content, buf, chunk(*position), *position)) > 0) {
		int error = write_all(buf, (size_t)n);

		*writing = error != 0;
		if (error)
			return error;
		*position += (uint64_t)n;
	}
	return (int)n;
}

/* *stop: standard output takes no more. */
static int cat(const struct volume *volume, const char *path, uint8_t *buf,
               bool *stop)
{
	struct walk_place place;
	struct content content;
	struct folder folder;
	uint64_t position = 0;
	int code = EXIT_OK, error = walk_find(volume, path, &place);

	if (!error && !place.exists)
		error = -ENOENT;
	if (!error && S_ISDIR(place.st.st_mode))
		error = -EISDIR;
	if (!error && S_ISLNK(place.st.st_mode))
		error = -ELOOP;
	if (!error) {
		folder = (struct folder){
			.volume = volume, .dir = place.dir,
			.fd = dir_fd(place.dir),
		};
		error = content_open(&folder, place.entry.text, &content);
	}
	if (error == -ELOOP) {
		error_say("%s: a symbolic link; these are not followed here",
		          path);
		code = EXIT_OPERATION;
	} else if (error) {
		code = place_say(volume, path, &place, error);
	} else {
		error = cat_content(&content, buf, &position, stop);
		content_close(&content);
		if (*stop)
			error_say("standard output: %s", strerror(-error));
		else if (error == -EBADMSG)
			error_say("%s: damaged from byte %" PRIu64 " on; the "
			          "output ends before it", path, position);
		else if (error)
			error_say("%s: %s", path, strerror(-error));
		if (error && !*stop)
			hint_say("ciphertext: %s/%s", volume->path,
			         place.cipher);
		code = error ? EXIT_OPERATION : EXIT_OK;
	}
	walk_done(&place);
	return code;
}

int cmd_cat(int argc, char **argv)
{
	static const struct option longs[] = {
		UNLOCK_LONG_OPTIONS,
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct unlock_options unlock = UNLOCK_OPTIONS_INIT;
	struct volume *volume;
	bool stop = false;
	uint8_t *buf;
	int c, code = EXIT_OK;

	while (!code && (c = getopt_long(argc, argv, "qvh", longs, NULL)) != -1)
		code = c >= UNLOCK_PASSFILE && c <= UNLOCK_LAST
			? unlock_option(&unlock, c, optarg)
			: option_common("cat", c, help);
	if (code)
		return code;
	if (argc - optind < 2)
		return usage_say("cat", "it takes DIR and the files to write");
	code = open_volume_for_reading(argv[optind], &unlock, &volume);
	if (code)
		return code;
	buf = malloc(BUF_SIZE);
	if (!buf) {
		error_say("%s", strerror(ENOMEM));
		code = EXIT_OPERATION;
	}
	for (int i = optind + 1; buf && i < argc && !stop; i++)
		code |= cat(volume, argv[i], buf, &stop);
	if (buf)
		OPENSSL_cleanse(buf, BUF_SIZE);
	free(buf);
	volume_close(volume);
	return code;
}
