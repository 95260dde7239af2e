/*
 * The store gives the inode number of a file that is gone to the next one,
 * perhaps while the last handle on the first is still being closed. What the
 * kernel knows of the first (that it may be given a name, its ACL, its pages)
 * must not go over to the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/mount/mount.h"
#include "fs/mount/node.h"
#include "fs/mount/open.h"
#include "fs/volume/io.h"

static char folder[] = "/tmp/frondfs-reuse-XXXXXX";
static struct volume volume = { .root = -1, .path = folder,
                                .name_limit = NAME_TEXT_MAX };
static struct mount *mount_;

/* Called when the program has just closed `watched`. */
static void (*closed)(void);
static int watched = -1;

int close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	if (fd == watched && closed) {
		watched = -1;
		closed();
	}
	return result;
}

static bool begin(void)
{
	static const uint8_t master[KEY_SIZE] = "a master key for tests of nodes";

	if (!mkdtemp(folder) || keys_new(&volume.keys, master, ADIANTUM_XCHACHA12))
		return false;
	volume.root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return volume.root >= 0 && !dir_make_id(&volume, volume.root, NULL)
	       && !mount_new(&mount_, &volume);
}

static void end(void)
{
	mount_free(mount_);
	close(volume.root);
	keys_free(volume.keys);
	if (system("rm -rf /tmp/frondfs-reuse-??????"))
		printf("%s is left\n", folder);
}

/* A file that is open by one handle, and known by one lookup of the kernel. */
struct known_file {
	struct stat st;
	struct node *node;
	struct handle *handle;
};

static const uint8_t made_in[ID_SIZE] = "directory id 16";

static int make(struct known_file *f, const char *name)
{
	int fd = name ? openat(volume.root, name, O_RDWR | O_CREAT | O_EXCL, 0600)
	              : openat(volume.root, ".", O_RDWR | O_TMPFILE, 0600);

	if (fd < 0 || fstat(fd, &f->st))
		return -errno;
	watched = fd;
	return (name ? node_made(mount_, mount_->root, name, &f->st, 0, &f->node)
	             : node_unnamed(mount_, &f->st, 0, &f->node))
	       || open_created(mount_, f->node, fd, made_in, &f->handle);
}

static struct known_file old, new;
static const char *new_name;
static int (*know_new)(struct mount *, struct node *, const char *,
                       const struct stat *, uint32_t, struct node **);

/* By others than us or by us, at the worst moment. */
static void make_new(void)
{
	int fd = new_name
		? openat(volume.root, new_name, O_RDWR | O_CREAT | O_EXCL, 0600)
		: openat(volume.root, ".", O_RDWR | O_TMPFILE, 0600);

	fstat(fd, &new.st);
	if (new_name)
		know_new(mount_, mount_->root, new_name, &new.st, 0, &new.node);
	else
		node_unnamed(mount_, &new.st, 0, &new.node);
	syscall(SYS_close, fd);
}

static enum greatest_test_res meet(const char *old_name, bool other_is_named,
                                   int (*know)(struct mount *, struct node *,
                                               const char *, const struct stat *,
                                               uint32_t, struct node **))
{
	memset(&new, 0, sizeof(new));
	ASSERT_EQ(0, make(&old, old_name));
	if (old_name)
		ASSERT_EQ(0, unlinkat(volume.root, old_name, 0));
	new_name = other_is_named ? "AAAAAAAAAAAAAAAAAAAAAA" : NULL;
	know_new = know;
	closed = make_new;
	open_close(mount_, old.handle);
	closed = NULL;
	if (other_is_named)
		ASSERT_EQ(0, unlinkat(volume.root, new_name, 0));
	if (new.st.st_ino != old.st.st_ino) {
		printf("not tested: this store does not give a number away"
		       " again\n");
		SKIPm("numbers are not given away again");
	}
	ASSERT(new.node);
	ASSERT(new.node != old.node);
	ASSERT(new.node->generation != old.node->generation);
	/* It is the new one that is found by the number. */
	ASSERT_EQ(new.node, node_find(mount_, &new.st));
	node_unref(mount_, new.node);
	node_forget(mount_, old.node, 1);
	node_forget(mount_, new.node, 1);
	PASS();
}

TEST an_unnamed_file_is_not_the_one_before(void)
{
	CHECK_CALL(meet(NULL, false, NULL));
	PASS();
}

TEST nor_is_one_that_is_created(void)
{
	CHECK_CALL(meet("BBBBBBBBBBBBBBBBBBBBBB", true, node_made));
	CHECK_CALL(meet(NULL, true, node_made));
	PASS();
}

TEST nor_is_one_that_comes_from_outside(void)
{
	CHECK_CALL(meet("BBBBBBBBBBBBBBBBBBBBBB", true, node_known));
	CHECK_CALL(meet(NULL, true, node_known));
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (!begin()) {
		printf("%s cannot be used\n", folder);
		return 1;
	}
	RUN_TEST(an_unnamed_file_is_not_the_one_before);
	RUN_TEST(nor_is_one_that_is_created);
	RUN_TEST(nor_is_one_that_comes_from_outside);
	end();
	GREATEST_MAIN_END();
}
