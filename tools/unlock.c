#include "tools/unlock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/secret.h"

int unlock_option(struct unlock_options *o, int option, const char *value)
{
	if (o->passfile || o->passfd >= 0 || o->keyfile || o->recovery_key_file) {
		error_say("only one of --passfile, --passfd, --keyfile and "
		          "--recovery-key-file can be given");
		return EXIT_USAGE;
	}
	switch (option) {
	case UNLOCK_PASSFILE:
		o->passfile = value;
		break;
	case UNLOCK_PASSFD:
		return secret_parse_fd(&o->passfd, "--passfd", value);
	case UNLOCK_KEYFILE:
		o->keyfile = value;
		break;
	default:
		o->recovery_key_file = value;
	}
	return EXIT_OK;
}

static int complain_wrong_key(const char *dir, const struct config *config)
{
	error_say("%s: %s", dir, config->problem);
	hint_say("try again; `frondfs slot list %s` shows what opens the volume. "
	         "A file must be given in the way in which it was added "
	         "(--passfile or --keyfile)", dir);
	return EXIT_WRONG_KEY;
}

int config_complain(const char *dir, const struct config *config,
                    enum config_error error)
{
	const char *problem = config->problem;

	switch (error) {
	case CONFIG_OK:
		return EXIT_OK;
	case CONFIG_MISSING:
		if (*problem) {
			error_say("%s has no frondfs.conf, but %s", dir, problem);
			hint_say("put it back from a backup, or make a new one "
			         "from the recovery key: frondfs recover %s", dir);
		} else {
			error_say("%s is not a frondfs volume: it has no "
			          "frondfs.conf", dir);
			hint_say("to make one there: frondfs init %s", dir);
		}
		return EXIT_NO_VOLUME;
	case CONFIG_DAMAGED:
		error_say("%s/frondfs.conf is damaged: %s", dir, problem);
		hint_say("put it back from a backup, or make a new one from the "
		         "recovery key: frondfs recover %s", dir);
		return EXIT_CONFIG_DAMAGED;
	case CONFIG_TAMPERED:
		error_say("%s/frondfs.conf was tampered with: %s", dir, problem);
		hint_say("somebody changed it on purpose. Put it back from a "
		         "backup, or make a new one from the recovery key: "
		         "frondfs recover --force %s", dir);
		return EXIT_CONFIG_DAMAGED;
	case CONFIG_NEWER:
		error_say("%s was made by a newer frondfs: %s", dir, problem);
		hint_say("use a newer version of frondfs");
		return EXIT_NEWER;
	case CONFIG_FEATURE:
		error_say("%s needs the feature '%s', which this frondfs does "
		          "not have", dir, problem);
		hint_say("use a newer version of frondfs");
		return EXIT_FEATURE;
	case CONFIG_WRONG_KEY:
		return complain_wrong_key(dir, config);
	case CONFIG_NO_MEMORY:
		error_say("%s: too little memory: %s", dir, problem);
		hint_say("end other programs or raise the limit; on a machine with "
		         "more memory `frondfs passwd --scrypt-memory MiB %s` "
		         "makes the need smaller", dir);
		return EXIT_NO_MEMORY;
	case CONFIG_IO:
		break;
	}
	error_say("%s/frondfs.conf: %s", dir, problem);
	if (config->io_error == -EACCES || config->io_error == -EPERM ||
	    config->io_error == -EROFS) {
		hint_say("use it as the user whom the volume belongs to, or look "
		         "at the permissions with: ls -la %s", dir);
		return EXIT_PERMISSION;
	}
	return EXIT_OPERATION;
}

int unlock_open_root(const char *dir, int *root)
{
	*root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*root >= 0)
		return EXIT_OK;
	error_say("cannot open the volume %s: %s", dir, strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? EXIT_NO_VOLUME :
	       errno == EACCES || errno == EPERM ? EXIT_PERMISSION :
	       EXIT_OPERATION;
}

static bool has_slot(const struct config *config, enum slot_kind kind)
{
	for (size_t i = 0; i < config->slot_count; i++)
		if (config->slots[i].kind == kind)
			return true;
	return false;
}

/* Gets the secret from where the options say. */
static int get_secret(const struct config *config, const char *dir,
                      const struct unlock_options *o, struct secret *secret,
                      enum slot_kind *kind)
{
	enum adiantum_stream stream;
	int code;

	*kind = SLOT_PASSPHRASE;
	if (o->passfile)
		return secret_passfile(secret, o->passfile);
	if (o->passfd >= 0)
		return secret_passfd(secret, o->passfd);
	if (o->keyfile) {
		*kind = SLOT_KEY_FILE;
		return secret_keyfile(secret, o->keyfile);
	}
	if (!o->recovery_key_file) {
		if (!has_slot(config, SLOT_PASSPHRASE)) {
			error_say("%s has no slot for a passphrase", dir);
			hint_say("give --keyfile FILE or --recovery-key-file FILE");
			return EXIT_NO_PASSPHRASE;
		}
		return secret_ask(secret, "passphrase",
		                  "give it with --passfile FILE or --passfd N");
	}
	*kind = SLOT_RECOVERY;
	code = secret_recovery_key(secret, &stream, o->recovery_key_file);
	if (!code && stream != config->stream) {
		error_say("%s: this recovery key is of another volume", dir);
		secret_free(secret);
		code = EXIT_WRONG_KEY;
	}
	return code;
}

static int open_slot(int root, const char *dir, const struct unlock *unlock,
                     struct unlocked *out)
{
	enum config_error error;
	int code;

	out->master = OPENSSL_secure_zalloc(KEY_SIZE);
	if (!out->master) {
		error_say("no memory");
		return EXIT_OPERATION;
	}
	error = config_unlock(&out->config, root, unlock, out->master,
	                      &out->slot);
	code = config_complain(dir, &out->config, error);
	if (!code && keys_new(&out->keys, out->master, out->config.stream)) {
		error_say("%s: OpenSSL cannot make the volume's keys", dir);
		code = EXIT_OPERATION;
	}
	return code;
}

int unlock_root(int root, const char *dir, const struct unlock_options *options,
                struct unlocked *out)
{
	struct secret secret = SECRET_NONE;
	struct unlock unlock;
	int code;

	memset(out, 0, sizeof(*out));
	code = config_complain(dir, &out->config,
	                       config_read(&out->config, root));
	if (!code)
		code = get_secret(&out->config, dir, options, &secret,
		                  &unlock.kind);
	if (code)
		return code;
	unlock.secret = secret.bytes;
	unlock.size = secret.size;
	code = open_slot(root, dir, &unlock, out);
	secret_free(&secret);
	if (code)
		unlocked_free(out);
	return code;
}

int unlock_volume(const char *dir, const struct unlock_options *options,
                  struct unlocked *out)
{
	int root, code = unlock_open_root(dir, &root);

	if (code)
		return code;
	code = unlock_root(root, dir, options, out);
	close(root);
	return code;
}

struct keys *unlocked_take_keys(struct unlocked *unlocked)
{
	struct keys *keys = unlocked->keys;

	unlocked->keys = NULL;
	return keys;
}

void unlocked_free(struct unlocked *unlocked)
{
	keys_free(unlocked->keys);
	OPENSSL_secure_clear_free(unlocked->master, KEY_SIZE);
	unlocked->keys = NULL;
	unlocked->master = NULL;
}
