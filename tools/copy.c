/* Copying trees: walking, and everything but the content of files. */
#include "tools/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "fs/format/sector.h"
#include "fs/volume/walk.h"
#include "tools/copy_impl.h"
#include "tools/exitcode.h"
#include "tools/message.h"
#include "tools/option.h"
#include "tools/place.h"
#include "tools/report.h"

enum { BUF_SIZE = 257 * SECTOR_SIZE };

volatile sig_atomic_t copy_cancelled;

static void on_signal(int number)
{
	(void)number;
	copy_cancelled = 1;
}

void copy_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal,
	                            .sa_flags = SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- messages ---- */

void copy_say(struct copy *copy, const char *path, const struct folder *folder,
              const char *text, const char *format, ...)
{
	char link[32], at[PATH_MAX], *what;
	va_list args;
	ssize_t n;

	copy->failed++;
	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = NULL;
	va_end(args);
	ticker_pause(&copy->ticker);
	error_say("%s: %s", *path ? path : "/", what ? what : format);
	free(what);
	if (folder && folder->volume) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", folder->fd);
		n = readlink(link, at, sizeof(at) - 1);
		at[n < 0 ? 0 : n] = '\0';
		hint_say("ciphertext: %s%s%s", at, text ? "/" : "",
		         text ? text : "");
	}
	ticker_resume(&copy->ticker);
}

void copy_say_target(struct copy *copy, const struct folder *folder,
                     const char *what, int error)
{
	(void)folder;
	copy->failed++;
	ticker_pause(&copy->ticker);
	error_say("%s/%s: %s: %s", copy->target_name, copy->to, what,
	          strerror(-error));
	if (error == -ENOSPC || error == -EDQUOT || error == -EROFS) {
		if (!copy->stop && error != -EROFS)
			hint_say("make room and run this again: it goes on "
			         "with what is missing");
		copy->stop = true;
	}
	ticker_resume(&copy->ticker);
}

const struct tree_owner *copy_owner(const struct copy *copy,
                                    const struct stat *st,
                                    struct tree_owner *owner)
{
	if (copy->options.no_owner)
		return NULL;
	*owner = (struct tree_owner){ st->st_uid, st->st_gid };
	return owner;
}

/* ---- entries ---- */

/* A store that keeps no nanoseconds cuts times; it does not round them. */
bool copy_same_time(const struct timespec *from, const struct timespec *to)
{
	static const long units[] = { 1, 100, 1000, 1000000, 10000000, 1000000000 };

	if (from->tv_sec != to->tv_sec)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (from->tv_nsec / units[i] * units[i] == to->tv_nsec)
			return true;
	return false;
}

/* Whether what is there needs no copying but for its attributes. */
static bool is_unchanged(struct copy *copy, const struct folder *from,
                         const struct tree_entry *a, const struct folder *to,
                         const struct tree_entry *b)
{
	char one[PATH_MAX], two[PATH_MAX];

	if ((a->st.st_mode & S_IFMT) != (b->st.st_mode & S_IFMT))
		return false;
	switch (a->st.st_mode & S_IFMT) {
	case S_IFREG:
		return !copy->options.ignore_times &&
		       a->st.st_size == b->st.st_size &&
		       copy_same_time(&a->st.st_mtim, &b->st.st_mtim);
	case S_IFLNK:
		return !tree_readlink(from, a->text, one) &&
		       !tree_readlink(to, b->text, two) && !strcmp(one, two);
	default:
		return a->st.st_rdev == b->st.st_rdev;
	}
}

/* The attributes of an entry that stands under a name now. */
static void entry_attributes(struct copy *copy, const struct folder *from,
                             const struct tree_entry *entry,
                             const struct folder *to, const char *name)
{
	struct tree_entry made;
	int error = tree_find(to, name, &made), from_fd, to_fd = -1;

	from_fd = tree_hold(from, entry->text);
	if (!error)
		to_fd = tree_hold(to, made.text);
	if (from_fd >= 0 && to_fd >= 0)
		copy_attributes(copy, from, entry->text, from_fd, &entry->st, to,
		                to_fd);
	else
		copy_say_target(copy, to, "its attributes cannot be set",
		                error ? error : from_fd < 0 ? from_fd : to_fd);
	if (from_fd >= 0)
		close(from_fd);
	if (to_fd >= 0)
		close(to_fd);
}

static bool copy_symlink(struct copy *copy, const struct folder *from,
                         const struct tree_entry *entry,
                         const struct folder *to, const char *name)
{
	char target[PATH_MAX];
	struct tree_owner owner;
	int error = tree_readlink(from, entry->text, target);

	if (error) {
		copy_say(copy, copy->from, from, entry->text,
		         error == -EBADMSG ? "damaged: its target cannot be "
		         "read; it was not copied" : "%s", strerror(-error));
		return false;
	}
	error = tree_symlink(to, name, target,
	                     copy_owner(copy, &entry->st, &owner));
	if (error) {
		copy_say_target(copy, to, "cannot be made", error);
		return false;
	}
	copy->links_made++;
	return true;
}

static bool copy_special(struct copy *copy, const struct tree_entry *entry,
                         const struct folder *to, const char *name)
{
	struct tree_owner owner;
	int error;

	error = tree_mknod(to, name, entry->st.st_mode, entry->st.st_rdev,
	                   copy_owner(copy, &entry->st, &owner));
	if (error) {
		copy_say_target(copy, to, "cannot be made", error);
		return false;
	}
	copy->others++;
	return true;
}

static bool is_device(mode_t mode)
{
	return S_ISCHR(mode) || S_ISBLK(mode);
}

/* An entry of another kind than files and directories; `there`: in place of one
 * that stays until this one is whole. */
static bool copy_made(struct copy *copy, const struct folder *from,
                      const struct tree_entry *entry, const struct folder *to,
                      const char *name, bool there)
{
	char part[TREE_PART];
	const char *as = there ? part : name;
	bool made;
	int error;

	tree_part_name(part, name);
	if (there)
		tree_unlink(to, part);
	made = S_ISLNK(entry->st.st_mode)
		? copy_symlink(copy, from, entry, to, as)
		: copy_special(copy, entry, to, as);
	if (made)
		entry_attributes(copy, from, entry, to, as);
	error = made && there ? tree_replace(to, name) : 0;
	if (error)
		copy_say_target(copy, to, "cannot be replaced", error);
	return made && !error;
}

/* An entry that is no directory. Not inlined: what it calls has buffers, which
 * would be on the stack for each level of a tree. */
__attribute__((noinline))
static void copy_other(struct copy *copy, const struct folder *from,
                       const struct tree_entry *entry, const struct folder *to,
                       const char *name)
{
	mode_t mode = entry->st.st_mode;
	struct tree_entry old;
	bool linked = entry->st.st_nlink > 1, there;
	int error;

	if (is_device(mode) && copy->options.no_devices)
		return;
	if (linked) {
		error = copy_link_find(copy, &entry->st, to, name);
		if (error > 0) {
			*(error == 1 ? &copy->links_made : &copy->unchanged) += 1;
			return;
		}
		/* What the store does not take is copied once more. */
		if (error && !tree_no_links(error)) {
			copy_say_target(copy, to, "cannot be linked", error);
			return;
		}
		copy->lost_links += error != 0;
	}
	error = tree_find(to, name, &old);
	if (error && error != -ENOENT) {
		copy_say_target(copy, to, "cannot be looked for", error);
		return;
	}
	there = !error;
	if (there && S_ISDIR(old.st.st_mode)) {
		copy_say_target(copy, to, "a directory stands there", -EISDIR);
		return;
	}
	if (there && is_unchanged(copy, from, entry, to, &old)) {
		entry_attributes(copy, from, entry, to, name);
		copy->unchanged++;
	} else if (S_ISREG(mode)) {
		there = copy_file(copy, from, entry, to, name);
	} else {
		there = copy_made(copy, from, entry, to, name, there);
	}
	if (linked && there)
		copy_link_remember(copy, &entry->st, to, name);
}

/* ---- directories ---- */

static bool go_down(struct copy *copy, const struct folder *from,
                    const char *name, const char *text, char *old[2])
{
	old[0] = copy->from;
	old[1] = copy->to;
	copy->from = walk_join(old[0], name);
	copy->to = walk_join(old[1], name);
	if (copy->from && copy->to)
		return true;
	free(copy->from);
	free(copy->to);
	copy->from = old[0];
	copy->to = old[1];
	copy_say(copy, copy->from, from, text, "%s", strerror(ENOMEM));
	return false;
}

static void go_up(struct copy *copy, char *old[2])
{
	free(copy->from);
	free(copy->to);
	copy->from = old[0];
	copy->to = old[1];
}

static void copy_one(struct copy *copy, const struct folder *from,
                     const struct tree_item *item, const struct folder *to);

/* All that a folder holds. */
static void copy_all(struct copy *copy, const struct folder *from,
                     const struct folder *to)
{
	struct tree_list list;
	int error = tree_list(from, &list);

	if (error) {
		copy_say(copy, copy->from, from, NULL, error == -EBADMSG
		         ? "none of its names opens; nothing in it was copied"
		         : "it cannot be listed: %s", strerror(-error));
		return;
	}
	if (list.damaged)
		copy_say(copy, copy->from, from, NULL, "%zu names in it do not "
		         "open and were left out; `frondfs fsck` lists them",
		         list.damaged);
	for (size_t i = 0; i < list.count && !copy->stop && !copy_cancelled; i++)
		copy_one(copy, from, &list.items[i], to);
	tree_list_free(&list);
}

/* The folder `name` of the target, made if it is not there. */
static int target_folder(struct copy *copy, const struct folder *to,
                         const char *name, const struct stat *st,
                         struct folder *out)
{
	struct tree_owner owner;
	struct tree_entry entry;
	int error = tree_find(to, name, &entry);

	if (error == -ENOENT) {
		error = tree_mkdir(to, name, st->st_mode,
		                   copy_owner(copy, st, &owner));
		if (!error) {
			copy->folders++;
			error = tree_find(to, name, &entry);
		}
	}
	if (!error && !S_ISDIR(entry.st.st_mode))
		error = -ENOTDIR;
	/* Of a run before: the mode it was given may forbid us to go on. */
	if (!error && (entry.st.st_mode & 0700) != 0700 &&
	    entry.st.st_uid == geteuid()) {
		int fd = tree_hold(to, entry.text);
		char path[32];

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (fd >= 0 && chmod(path, (entry.st.st_mode & 07777) | 0700))
			error = -errno;
		if (fd >= 0)
			close(fd);
	}
	return error ? error : tree_enter(to, entry.text, out);
}

static void copy_dir(struct copy *copy, const struct folder *from,
                     const struct tree_entry *entry, const struct folder *to,
                     const char *name)
{
	struct folder below, target;
	int error;

	if (!from->volume && entry->st.st_dev == copy->avoid_device &&
	    entry->st.st_ino == copy->avoid_inode) {
		copy_say(copy, copy->from, NULL, NULL, "it is the volume "
		         "itself; it was not copied");
		return;
	}
	error = tree_enter(from, entry->text, &below);
	if (error) {
		copy_say(copy, copy->from, from, entry->text, error == -EUCLEAN
		         ? "damaged: its id is missing, so its names cannot be "
		         "read; it was not copied" : error == -ENAMETOOLONG
		         ? "more than 2048 directories in one another; it was "
		         "not copied" : "%s", strerror(-error));
		return;
	}
	error = target_folder(copy, to, name, &entry->st, &target);
	if (error) {
		copy_say_target(copy, to, "the directory cannot be made",
		                error);
		tree_leave(&below);
		return;
	}
	copy_all(copy, &below, &target);
	copy_attributes(copy, from, entry->text, below.fd, &entry->st, to,
	                target.fd);
	tree_leave(&below);
	tree_leave(&target);
}

static bool is_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

static void copy_one(struct copy *copy, const struct folder *from,
                     const struct tree_item *item, const struct folder *to)
{
	struct tree_entry entry;
	char *old[2];
	int error;

	/* A volume's names are checked when they open; this must hold. What
	 * another run has left is no file. */
	if (!is_name(item->name) || tree_is_part(item->name) ||
	    !go_down(copy, from, item->name, item->text, old))
		return;
	error = tree_look(from, item, &entry);
	if (error && error != -ENOENT)
		copy_say(copy, copy->from, from, item->text, "%s",
		         strerror(-error));
	if (!error) {
		if (copy->options.verbose) {
			ticker_pause(&copy->ticker);
			show_name(stdout, copy->to);
			putchar('\n');
			ticker_resume(&copy->ticker);
		}
		if (S_ISDIR(entry.st.st_mode))
			copy_dir(copy, from, &entry, to, item->name);
		else
			copy_other(copy, from, &entry, to, item->name);
	}
	go_up(copy, old);
}

/* ---- the whole ---- */

int copy_option(struct copy_options *options, const char *command, int option,
                const char *help)
{
	switch (option) {
	case COPY_NO_OWNER:
		options->no_owner = true;
		return EXIT_OK;
	case COPY_IGNORE_TIMES:
		options->ignore_times = true;
		return EXIT_OK;
	case COPY_NO_DEVICES:
		options->no_devices = true;
		return EXIT_OK;
	case COPY_NO_PROGRESS:
		options->progress = false;
		return EXIT_OK;
	case 'q':
		options->progress = false;
		break;
	case 'v':
		options->verbose = true;
		break;
	default:
		break;
	}
	return option_common(command, option, help);
}

bool copy_is_contents(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;

	return (slash && !*last) || !strcmp(last, ".") || !strcmp(last, "..");
}

static void progress_line(void *context, char text[TICKER_LINE])
{
	struct copy *copy = context;

	ticker_text(&copy->ticker, text, copy->files, copy->bytes, 0);
}

int copy_begin(struct copy *copy, const struct copy_options *options,
               const char *target_name, const struct folder *target)
{
	memset(copy, 0, sizeof(*copy));
	copy->options = *options;
	copy->target_name = target_name;
	copy->target = *target;
	copy->buf = malloc(BUF_SIZE);
	copy->from = strdup("");
	copy->to = strdup("");
	if (!copy->buf || !copy->from || !copy->to) {
		error_say("%s", strerror(ENOMEM));
		return EXIT_OPERATION;
	}
	copy->ticker.line = progress_line;
	copy->ticker.context = copy;
	ticker_start(&copy->ticker, options->progress);
	copy_catch_signals();
	return EXIT_OK;
}

static void set_from(struct copy *copy, const char *path)
{
	free(copy->from);
	copy->from = strdup(path);
}

void copy_entry(struct copy *copy, const struct folder *from, const char *name,
                const char *path)
{
	struct tree_item item = { (char *)name, NULL };
	struct tree_entry entry;
	size_t length = strlen(path) - strlen(name);
	char *above = strndup(path, length ? length - 1 : 0);
	int error = tree_find(from, name, &entry);

	if (copy->stop || copy_cancelled) {
		free(above);
		return;
	}
	if (error || !above) {
		copy_say(copy, path, from, NULL, "%s", strerror(-error));
		free(above);
		return;
	}
	item.text = entry.text;
	set_from(copy, above);
	if (copy->from)
		copy_one(copy, from, &item, &copy->target);
	free(above);
}

void copy_contents(struct copy *copy, const struct folder *from,
                   const char *path)
{
	struct stat st;

	set_from(copy, path);
	if (copy->stop || copy_cancelled || !copy->from)
		return;
	if (fstat(from->fd, &st)) {
		copy_say(copy, path, from, NULL, "%s", strerror(errno));
		return;
	}
	if (!from->volume && st.st_dev == copy->avoid_device &&
	    st.st_ino == copy->avoid_inode) {
		copy_say(copy, path, NULL, NULL, "it is the volume itself; it "
		         "was not copied");
		return;
	}
	copy_all(copy, from, &copy->target);
	copy_attributes(copy, from, NULL, from->fd, &st, &copy->target,
	                copy->target.fd);
}

int copy_end(struct copy *copy)
{
	char size[REPORT_BYTES];

	if (copy->files || copy->folders || copy->links_made || copy->others)
		syncfs(copy->target.fd);
	ticker_stop(&copy->ticker);
	report_bytes(size, (double)copy->bytes);
	if (copy->lost_attributes)
		warn_say("%" PRIu64 " attributes could not be kept: the store "
		         "does not take them", copy->lost_attributes);
	if (copy->lost_links)
		warn_say("%" PRIu64 " hard links became files of their own: the "
		         "store does not take them", copy->lost_links);
	if (copy_cancelled)
		note_say("stopped; the same command goes on with what is "
		         "missing");
	note_say("%" PRIu64 " files (%s), %" PRIu64 " directories, %" PRIu64
	         " links, %" PRIu64 " others copied; %" PRIu64 " unchanged%s",
	         (uint64_t)copy->files, size, copy->folders, copy->links_made,
	         copy->others, copy->unchanged,
	         copy->failed ? "; not all could be copied" : "");
	copy_links_free(copy);
	if (copy->buf)
		OPENSSL_cleanse(copy->buf, BUF_SIZE);
	free(copy->buf);
	free(copy->from);
	free(copy->to);
	return (copy->failed ? EXIT_OPERATION : EXIT_OK) |
	       (copy_cancelled ? EXIT_CANCELLED : EXIT_OK);
}
