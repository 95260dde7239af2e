/* What all operations do that tell the kernel of an entry. */
#include "fs/mount/op.h"

int op_know(struct mount *mount, struct node *parent, struct dir *dir,
            const char *text, bool made, struct known *known)
{
	int error = made ? node_made(mount, parent, text, &known->st,
	                             &known->node)
	                 : node_known(mount, parent, text, &known->st,
	                              &known->node);

	if (!error)
		known->size_error = dir_plain_stat(dir, text, &known->st);
	return error;
}

int op_known(struct mount *mount, struct known *known)
{
	/* An open file knows more than its ciphertext's length tells. */
	int error = open_stat(mount, known->node, &known->st);

	if (error == -ENOENT)
		error = known->size_error;
	if (error)
		node_forget(mount, known->node, 1);
	return error;
}

void op_entry(const struct mount *mount, const struct known *known,
              struct fuse_entry_param *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->ino = op_ino(mount, known->node);
	entry->generation = known->node->generation;
	entry->attr = known->st;
	entry->attr_timeout = mount->attr_timeout;
	entry->entry_timeout = mount->entry_timeout;
}

struct dir_caller op_caller(fuse_req_t req)
{
	const struct fuse_ctx *context = fuse_req_ctx(req);
	struct dir_caller caller = {
		context->uid, context->gid, context->umask
	};

	return caller;
}
