#include "tools/newslot.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "fs/format/recovery.h"
#include "tools/exitcode.h"
#include "tools/message.h"

static int second_source(const struct newslot *s)
{
	if (!s->passfile && s->passfd < 0 && !s->keyfile)
		return EXIT_OK;
	error_say("only one passphrase file, descriptor or key file can be given");
	return EXIT_USAGE;
}

static int parse_memory(struct newslot *s, const char *value)
{
	char *end;
	unsigned long mib = strtoul(value, &end, 10);

	if (*end || mib < 1 || mib > 1024 || (mib & (mib - 1))) {
		error_say("--scrypt-memory is a power of two from 1 to 1024 (MiB), "
		          "not '%s'", value);
		return EXIT_USAGE;
	}
	s->scrypt_n = mib * 1024 * 1024 / (128 * SCRYPT_R);
	return EXIT_OK;
}

int newslot_option(struct newslot *s, int option, const char *value)
{
	int code = EXIT_OK;

	if (option <= NEWSLOT_KEYFILE)
		code = second_source(s);
	if (code)
		return code;
	switch (option) {
	case NEWSLOT_PASSFILE:
		s->passfile = value;
		break;
	case NEWSLOT_PASSFD:
		return secret_parse_fd(&s->passfd, "the option", value);
	case NEWSLOT_KEYFILE:
		s->keyfile = value;
		break;
	case NEWSLOT_MEMORY:
		return parse_memory(s, value);
	default:
		if (!config_label_ok(value)) {
			error_say("a label is UTF-8 of at most %d bytes without "
			          "quotation marks, backslashes and control "
			          "characters", CONFIG_LABEL_MAX);
			return EXIT_USAGE;
		}
		s->label = value;
	}
	return EXIT_OK;
}

enum slot_kind newslot_kind(const struct newslot *s)
{
	return s->keyfile ? SLOT_KEY_FILE : SLOT_PASSPHRASE;
}

int newslot_secret(const struct newslot *s, struct secret *secret)
{
	if (s->passfile)
		return secret_passfile(secret, s->passfile);
	if (s->passfd >= 0)
		return secret_passfd(secret, s->passfd);
	if (s->keyfile)
		return secret_keyfile(secret, s->keyfile);
	return secret_ask_new(secret, "new passphrase",
	                      s->hint ? s->hint
	                              : "give it with --passfile FILE or "
	                                "--passfd N");
}

int newslot_add(const struct newslot *s, const struct secret *secret,
                const char *dir, struct config *config,
                const uint8_t master[KEY_SIZE])
{
	struct unlock unlock = { newslot_kind(s), secret->bytes, secret->size };
	enum config_error error;

	if (unlock.kind == SLOT_PASSPHRASE && s->scrypt_n < SCRYPT_N / 4)
		warn_say("with less than 16 MiB of memory for each guess, only a "
		         "long passphrase is safe");
	error = config_add_slot(config, master, &unlock, s->label ? s->label : "",
	                        s->scrypt_n, SCRYPT_R, SCRYPT_P);
	return config_complain(dir, config, error);
}

int newslot_show_recovery_key(const struct config *config,
                              const uint8_t master[KEY_SIZE], const char *file)
{
	char text[RECOVERY_TEXT];
	bool failed;

	if (file) {
		note_say("the recovery key is in %s; keep it secret, and away from "
		         "the volume", file);
		return EXIT_OK;
	}
	if (recovery_encode(text, master, config->stream)) {
		error_say("OpenSSL cannot make the recovery key");
		return EXIT_OPERATION;
	}
	printf("The recovery key of this volume:\n\n%s\n\n"
	       "Write it down and keep it secret, away from the volume. It opens "
	       "the volume\nwhen the passphrase is forgotten or frondfs.conf is "
	       "lost, and cannot be changed.\n", text);
	OPENSSL_cleanse(text, sizeof(text));
	failed = fflush(stdout) || ferror(stdout);
	if (failed) {
		error_say("the recovery key could not be printed");
		hint_say("the volume is in order; print it again with "
		         "`frondfs slot add --recovery-key`");
	}
	return failed ? EXIT_OPERATION : EXIT_OK;
}
