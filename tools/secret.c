#include "tools/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ui.h>

#include "fs/format/recovery.h"
#include "fs/volume/config.h"
#include "tools/exitcode.h"
#include "tools/message.h"

enum {
	/* More than any valid passphrase file or recovery key: enough to say
	 * what is wrong with it. */
	TEXT_ROOM = 16 * 1024,
	/* A line of a terminal is at most 4095 bytes. */
	LINE_ROOM = 4096,
	/* How often a mistyped recovery key is asked for. */
	RECOVERY_TRIES = 3,
};

/* Small secrets lie in the secure heap; a key file is too large for it and
 * gets pages of its own, locked if the system allows. */
static bool in_secure_heap(size_t room)
{
	return room <= TEXT_ROOM;
}

static int secret_alloc(struct secret *s, size_t room)
{
	s->size = 0;
	s->room = room;
	s->bytes = in_secure_heap(room) ? OPENSSL_secure_zalloc(room)
	                                : calloc(1, room);
	if (!s->bytes) {
		error_say("no memory");
		return EXIT_OPERATION;
	}
	if (!in_secure_heap(room) && mlock(s->bytes, room))
		verbose_say("the key file's content could not be locked in "
		            "memory: %s", strerror(errno));
	return EXIT_OK;
}

void secret_free(struct secret *s)
{
	if (!s->bytes)
		return;
	if (in_secure_heap(s->room)) {
		OPENSSL_secure_clear_free(s->bytes, s->room);
	} else {
		OPENSSL_cleanse(s->bytes, s->room);
		munlock(s->bytes, s->room);
		free(s->bytes);
	}
	*s = (struct secret)SECRET_NONE;
}

/* Reads until the end, or until there is no room left. */
static int read_all(struct secret *s, int fd, const char *name)
{
	while (s->size < s->room) {
		ssize_t n = read(fd, s->bytes + s->size, s->room - s->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			error_say("cannot read %s: %s", name, strerror(errno));
			return EXIT_NO_PASSPHRASE;
		}
		if (n == 0)
			break;
		s->size += (size_t)n;
	}
	return EXIT_OK;
}

static int open_file(int *fd, const char *path, const char *what)
{
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd >= 0)
		return EXIT_OK;
	error_say("cannot open the %s %s: %s", what, path, strerror(errno));
	return EXIT_NO_PASSPHRASE;
}

/*
 * Passphrases
 */

static int check_length(const struct secret *s, const char *name)
{
	if (!s->size) {
		error_say("%s is empty; an empty passphrase is not allowed", name);
		return EXIT_NO_PASSPHRASE;
	}
	if (s->size > PASSPHRASE_MAX) {
		error_say("%s is longer than %d bytes", name, PASSPHRASE_MAX);
		return EXIT_NO_PASSPHRASE;
	}
	/* scrypt's HMAC pads the passphrase with NULs: those at its end would
	 * not count. They come from UTF-16 or binary files. */
	if (memchr(s->bytes, 0, s->size)) {
		error_say("%s holds NUL bytes, so it is not a passphrase as text",
		          name);
		hint_say("save it as UTF-8, or use --keyfile for bytes of any "
		         "value");
		return EXIT_NO_PASSPHRASE;
	}
	return EXIT_OK;
}

/* What a passphrase file must be. */
static int check_passphrase(struct secret *s, const char *name)
{
	size_t lines = 1;

	if (s->size && s->bytes[s->size - 1] == '\n') {
		s->size--;
		if (s->size && s->bytes[s->size - 1] == '\r')
			s->size--;
	}
	for (size_t i = 0; i < s->size; i++)
		lines += s->bytes[i] == '\n';
	if (lines > 1) {
		error_say("%s has %s%zu lines; a passphrase file has one line",
		          name, s->size >= TEXT_ROOM - 2 ? "at least " : "",
		          lines);
		return EXIT_NO_PASSPHRASE;
	}
	return check_length(s, name);
}

static int passphrase_from(struct secret *out, int fd, const char *name)
{
	int code = secret_alloc(out, TEXT_ROOM);

	if (!code)
		code = read_all(out, fd, name);
	if (!code)
		code = check_passphrase(out, name);
	if (code)
		secret_free(out);
	return code;
}

int secret_passfile(struct secret *out, const char *path)
{
	int fd, code = open_file(&fd, path, "passphrase file");

	if (code)
		return code;
	code = passphrase_from(out, fd, path);
	close(fd);
	return code;
}

int secret_passfd(struct secret *out, int fd)
{
	char name[64];

	snprintf(name, sizeof(name), fd ? "descriptor %d" : "standard input", fd);
	return passphrase_from(out, fd, name);
}

int secret_keyfile(struct secret *out, const char *path)
{
	int fd, code = open_file(&fd, path, "key file");

	if (code)
		return code;
	code = secret_alloc(out, KEYFILE_MAX + 1);
	if (!code)
		code = read_all(out, fd, path);
	close(fd);
	if (!code && out->size < KEYFILE_MIN) {
		error_say("the key file %s has %zu bytes; it must have %d or more",
		          path, out->size, KEYFILE_MIN);
		hint_say("make one with: head -c 64 /dev/urandom > FILE");
		code = EXIT_NO_PASSPHRASE;
	} else if (!code && out->size > KEYFILE_MAX) {
		error_say("the key file %s is larger than 1 MiB", path);
		code = EXIT_NO_PASSPHRASE;
	}
	if (code)
		secret_free(out);
	return code;
}

int secret_parse_fd(int *fd, const char *option, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > 1 << 20) {
		error_say("%s wants the number of an open descriptor, not '%s'",
		          option, text);
		return EXIT_USAGE;
	}
	if (fcntl((int)n, F_GETFD) < 0) {
		error_say("%s: descriptor %ld is not open", option, n);
		return EXIT_USAGE;
	}
	*fd = (int)n;
	return EXIT_OK;
}

/*
 * The terminal
 */

/* OpenSSL's prompt reads standard input where there is no terminal; a service
 * must not hang there or take what is not meant for it. */
static int need_terminal(const char *what, const char *hint)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0) {
		close(fd);
		return EXIT_OK;
	}
	error_say("there is no terminal to ask for the %s on", what);
	hint_say("%s", hint);
	return EXIT_NO_PASSPHRASE;
}

/* One line; without its end. */
static int ask_line(struct secret *out, const char *prompt, bool echo)
{
	UI *ui = UI_new_method(UI_OpenSSL());
	int code = secret_alloc(out, LINE_ROOM), n;

	if (code) {
		UI_free(ui);
		return code;
	}
	n = ui ? UI_add_input_string(ui, prompt, echo ? UI_INPUT_FLAG_ECHO : 0,
	                             (char *)out->bytes, 0, LINE_ROOM - 1) : -1;
	if (n >= 0)
		n = UI_process(ui);
	UI_free(ui);
	ERR_clear_error();
	if (n) {
		secret_free(out);
		error_say("cancelled");
		return EXIT_CANCELLED;
	}
	out->size = strlen((char *)out->bytes);
	return EXIT_OK;
}

static int ask_passphrase(struct secret *out, const char *prompt)
{
	int code = ask_line(out, prompt, false);

	if (!code)
		code = check_length(out, "the passphrase");
	if (code)
		secret_free(out);
	return code;
}

int secret_ask(struct secret *out, const char *what, const char *hint)
{
	char prompt[128];
	int code = need_terminal(what, hint);

	if (code)
		return code;
	snprintf(prompt, sizeof(prompt), "%s: ", what);
	return ask_passphrase(out, prompt);
}

int secret_ask_new(struct secret *out, const char *what, const char *hint)
{
	struct secret again = SECRET_NONE;
	char prompt[128];
	int code = secret_ask(out, what, hint);

	if (code)
		return code;
	snprintf(prompt, sizeof(prompt), "%s again: ", what);
	code = ask_line(&again, prompt, false);
	if (!code && (again.size != out->size ||
	              CRYPTO_memcmp(again.bytes, out->bytes, out->size))) {
		error_say("the two entries differ; nothing was changed");
		code = EXIT_NO_PASSPHRASE;
	}
	secret_free(&again);
	if (code)
		secret_free(out);
	return code;
}

/*
 * Recovery keys
 */

static int decode(struct secret *out, enum adiantum_stream *stream,
                  const struct secret *text)
{
	char problem[RECOVERY_PROBLEM];
	int error, code = secret_alloc(out, KEY_SIZE);

	if (code)
		return code;
	out->size = KEY_SIZE;
	error = recovery_decode(out->bytes, stream, (char *)text->bytes,
	                        text->size, problem);
	if (!error)
		return EXIT_OK;
	secret_free(out);
	error_say("%s", problem);
	if (error == -EINVAL)
		hint_say("compare it with your copy; case, spaces and dashes do "
		         "not matter");
	return error == -EINVAL ? EXIT_KEY_TYPO :
	       error == -ENOTSUP ? EXIT_NEWER : EXIT_OPERATION;
}

static int ask_recovery_key(struct secret *out, enum adiantum_stream *stream)
{
	struct secret text = SECRET_NONE;
	int code = need_terminal("recovery key",
	                         "give it with --recovery-key-file FILE");

	/* It is long, so it is shown while it is typed. */
	for (int i = 0; !code && i < RECOVERY_TRIES; i++) {
		code = ask_line(&text, "recovery key (11 groups, on one line): ",
		                true);
		if (code)
			return code;
		code = decode(out, stream, &text);
		secret_free(&text);
		if (!code)
			return EXIT_OK;
		if (code == EXIT_KEY_TYPO && i + 1 < RECOVERY_TRIES)
			code = EXIT_OK;
	}
	return code;
}

int secret_recovery_key(struct secret *out, enum adiantum_stream *stream,
                        const char *path)
{
	struct secret text = SECRET_NONE;
	bool stdin_asked = path && !strcmp(path, "-");
	int fd = STDIN_FILENO, code;

	if (!path)
		return ask_recovery_key(out, stream);
	code = stdin_asked ? EXIT_OK : open_file(&fd, path, "recovery key file");
	if (code)
		return code;
	code = secret_alloc(&text, TEXT_ROOM);
	if (!code)
		code = read_all(&text, fd, stdin_asked ? "standard input" : path);
	if (!stdin_asked)
		close(fd);
	if (!code)
		code = decode(out, stream, &text);
	secret_free(&text);
	return code;
}
