#include "tools/change.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "tools/exitcode.h"
#include "tools/message.h"

int change_lock(struct change *c, const char *dir)
{
	int code;

	memset(c, 0, sizeof(*c));
	c->dir = dir;
	c->lock = -1;
	code = unlock_open_root(dir, &c->root);
	if (code)
		return code;
	c->lock = config_lock(c->root);
	if (c->lock == -EBUSY) {
		error_say("%s is being changed by another frondfs, or is in use",
		          dir);
		hint_say("try again when that has ended");
		return EXIT_IN_USE;
	}
	if (c->lock < 0) {
		error_say("%s/frondfs.conf: %s", dir, strerror(-c->lock));
		return c->lock == -EACCES ? EXIT_PERMISSION : EXIT_OPERATION;
	}
	return EXIT_OK;
}

int change_begin(struct change *c, const char *dir,
                 const struct unlock_options *options)
{
	int code = change_lock(c, dir);

	return code ? code : unlock_root(c->root, dir, options, &c->unlocked);
}

int change_check_new(struct change *c, const struct newslot *slot,
                     const struct secret *secret)
{
	struct unlock unlock = { newslot_kind(slot), secret->bytes, secret->size };
	struct config *config = OPENSSL_malloc(sizeof(*config));
	uint8_t *master = OPENSSL_secure_malloc(KEY_SIZE);
	unsigned number;
	int code = EXIT_OK;

	if (!config || !master) {
		error_say("no memory");
		code = EXIT_OPERATION;
	} else if (!config_unlock(config, c->root, &unlock, master, &number)) {
		error_say("%s: the new %s opens the volume already (slot %u); "
		          "nothing was changed", c->dir,
		          unlock.kind == SLOT_PASSPHRASE ? "passphrase" : "key file",
		          number);
		hint_say("give another one, or --force to have it all the same");
		code = EXIT_NO_PASSPHRASE;
	}
	OPENSSL_free(config);
	OPENSSL_secure_clear_free(master, KEY_SIZE);
	return code;
}

int change_commit(struct change *c)
{
	struct config *config = &c->unlocked.config;

	return config_complain(c->dir, config,
	                       config_write(config, c->root, c->unlocked.master));
}

void change_end(struct change *c)
{
	unlocked_free(&c->unlocked);
	if (c->lock >= 0)
		close(c->lock);
	if (c->root >= 0)
		close(c->root);
}
