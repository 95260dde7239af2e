/*
 * Every changing operation is stopped before each of its changing system
 * calls, once by killing the process and once by an error of the call. What
 * is seen afterwards is the old state or the new one, and nothing that is
 * left over keeps a directory from being emptied and removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dir_support.h"

#define LONG_A "the longer name of the source, which does not fit in a text: " \
	"0123456789012345678901234567890123456789012345678901234567890123456" \
	"789012345678901234567890123456789012345678901234567890123456789"
#define LONG_B "the longer name of the target, which does not fit in a text: " \
	"0123456789012345678901234567890123456789012345678901234567890123456" \
	"789012345678901234567890123456789012345678901234567890123456789"

/* The directories a and b of a fresh volume, and the names in them. */
struct world {
	struct place place;
	struct dir *a, *b;
	const char *from, *to; /* names, short or long */
	char target[2][4096];  /* link targets that need a file each */
};

struct scenario {
	const char *label;
	void (*prepare)(struct world *w);
	int (*run)(struct world *w);
};

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "cannot set up a test: %s\n", strerror(-error));
	exit(1);
}

/* A file whose content says which one it is. */
static void mark(struct dir *dir, const char *plain, const char *what)
{
	struct dir_entry entry;
	int fd;

	must(dir_create(dir, plain, 0644, NULL, &entry, &fd));
	if (write(fd, what, strlen(what)) < 0)
		exit(1);
	close(fd);
}

/* A directory with a marked file in it. */
static void mark_dir(struct world *w, struct dir *dir, const char *plain,
                     const char *what)
{
	struct dir *sub;

	must(dir_mkdir(dir, plain, 0755, NULL, &(struct dir_entry){ .is_long = 0 }));
	sub = sub_open(&w->place, dir, plain);
	mark(sub, "inside", what);
	dir_unref(sub);
}

static void link_to(struct dir *dir, const char *plain, const char *target)
{
	must(dir_symlink(dir, plain, target, NULL,
	                 &(struct dir_entry){ .is_long = 0 }));
}

/*
 * What is seen: a line for each entry with its path, type, and content.
 */
static void see(struct place *p, struct dir *dir, const char *path, FILE *out)
{
	struct dir_listing l;
	char *names, *name, *rest;

	if (dir_list(dir, &l)) {
		fprintf(out, "%s cannot be listed\n", path);
		return;
	}
	if (l.damaged)
		fprintf(out, "%s holds %zu damaged\n", path, l.damaged);
	dir_listing_free(&l);
	names = names_of(dir);
	for (name = strtok_r(names, "\n", &rest); name;
	     name = strtok_r(NULL, "\n", &rest)) {
		char sub_path[1200], content[4200] = "";
		struct dir_entry entry;
		struct dir *sub;
		struct stat st;
		int fd;

		snprintf(sub_path, sizeof(sub_path), "%s/%s", path, name);
		if (dir_find(dir, name, &entry, &st)) {
			fprintf(out, "%s is listed but not found\n", sub_path);
			continue;
		}
		switch (st.st_mode & S_IFMT) {
		case S_IFDIR:
			fprintf(out, "%s/\n", sub_path);
			sub = sub_open(p, dir, name);
			if (sub)
				see(p, sub, sub_path, out);
			else
				fprintf(out, "%s cannot be opened\n", sub_path);
			dir_unref(sub);
			break;
		case S_IFLNK:
			fd = dir_readlink(dir, entry.text, content);
			dir_plain_stat(dir, entry.text, &st);
			fprintf(out, "%s -> %d %d %.20s\n", sub_path, fd,
			        (int)st.st_size, content);
			break;
		default:
			fd = openat(dir_fd(dir), entry.text, O_RDONLY);
			if (read(fd, content, 100) < 0)
				strcpy(content, "unreadable");
			close(fd);
			fprintf(out, "%s = %s\n", sub_path, content);
		}
	}
	free(names);
}

static char *seen(struct world *w)
{
	struct dir *root = reopen(&w->place, w->place.root);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	see(&w->place, root, "", out);
	fclose(out);
	dir_unref(root);
	return text;
}

/* Remove everything by the operations that a user has. */
static int empty(struct place *p, struct dir *dir)
{
	struct dir_listing l;
	int error = dir_list(dir, &l);

	for (size_t i = 0; !error && i < l.count; i++) {
		const char *name = l.items[i].plain;
		struct dir *sub;

		if (l.items[i].type != 4) {
			error = dir_unlink(dir, name);
			continue;
		}
		sub = sub_open(p, dir, name);
		error = sub ? empty(p, sub) : -EIO;
		dir_unref(sub);
		if (!error)
			error = dir_rmdir(dir, name);
	}
	if (l.items)
		dir_listing_free(&l);
	return error;
}

static void world_make(struct world *w, const struct scenario *s,
                       bool long_from, bool long_to)
{
	memset(w, 0, sizeof(*w));
	w->from = long_from ? LONG_A : "from";
	w->to = long_to ? LONG_B : "to";
	memset(w->target[0], 'S', 3500);
	memset(w->target[1], 'T', 4000);
	place_make(&w->place, "/dev/shm", 255);
	put_dir(w->place.root, "a");
	put_dir(w->place.root, "b");
	w->a = sub_open(&w->place, w->place.root, "a");
	w->b = sub_open(&w->place, w->place.root, "b");
	mark(w->a, "bystander", "1");
	mark(w->b, "a longer bystander: " LONG_A, "2");
	if (s->prepare)
		s->prepare(w);
}

static void world_end(struct world *w)
{
	dir_unref(w->a);
	dir_unref(w->b);
	place_remove(&w->place);
}

/* The scenarios. */

static struct dir_entry entry, other;

static void with_file(struct world *w) { mark(w->a, w->from, "source"); }
static void with_link(struct world *w) { link_to(w->a, w->from, "short"); }
static void with_long_link(struct world *w)
{
	link_to(w->a, w->from, w->target[0]);
}
static void with_dir(struct world *w) { mark_dir(w, w->a, w->from, "source"); }
static void with_empty(struct world *w) { put_dir(w->a, w->from); }
static void with_two_files(struct world *w)
{
	with_file(w);
	mark(w->a, w->to, "target");
	mark(w->b, w->to, "other target");
}
static void with_two_links(struct world *w)
{
	with_long_link(w);
	link_to(w->a, w->to, w->target[1]);
	link_to(w->b, w->to, w->target[1]);
}
static void with_two_dirs(struct world *w)
{
	with_dir(w);
	put_dir(w->a, w->to);
	put_dir(w->b, w->to);
}
static void with_file_and_dir(struct world *w)
{
	with_file(w);
	mark_dir(w, w->a, w->to, "target");
	mark_dir(w, w->b, w->to, "other target");
}
static void with_conflict(struct world *w)
{
	char text[NAME_TEXT_MAX + 60];
	struct stat st;
	int fd;

	with_file(w);
	must(dir_find(w->a, w->from, &entry, &st));
	snprintf(text, sizeof(text), "%s.sync", entry.text);
	fd = openat(dir_fd(w->a), text, O_CREAT | O_WRONLY, 0644);
	if (fd < 0 || write(fd, "conflict", 8) != 8)
		exit(1);
	close(fd);
	dir_unref(w->a);
	w->a = sub_open(&w->place, w->place.root, "a");
}

static int run_create(struct world *w)
{
	int fd, error = dir_create(w->a, w->from, 0644, NULL, &entry, &fd);

	if (!error)
		close(fd);
	return error;
}
static int run_mknod(struct world *w)
{
	return dir_mknod(w->a, w->from, S_IFREG | 0644, 0, NULL, &entry);
}
static int run_mkdir(struct world *w)
{
	return dir_mkdir(w->a, w->from, 0755, NULL, &entry);
}
static int run_symlink(struct world *w)
{
	return dir_symlink(w->a, w->from, "short", NULL, &entry);
}
static int run_long_symlink(struct world *w)
{
	return dir_symlink(w->a, w->from, w->target[0], NULL, &entry);
}
static int run_unlink(struct world *w) { return dir_unlink(w->a, w->from); }
static int run_rmdir(struct world *w) { return dir_rmdir(w->a, w->from); }
static int link_into(struct world *w, struct dir *to)
{
	struct stat st;
	int error = dir_find(w->a, w->from, &entry, &st);

	return error ? error : dir_link(w->a, entry.text, to, w->to, &other);
}
static int run_link(struct world *w) { return link_into(w, w->a); }
static int run_link_across(struct world *w) { return link_into(w, w->b); }
static int run_rename(struct world *w)
{
	return dir_rename(w->a, w->from, w->a, w->to, 0, &entry, NULL);
}
static int run_across(struct world *w)
{
	return dir_rename(w->a, w->from, w->b, w->to, 0, &entry, NULL);
}
static int run_noreplace(struct world *w)
{
	return dir_rename(w->a, w->from, w->b, w->to, RENAME_NOREPLACE, &entry,
	                  NULL);
}
static int run_exchange(struct world *w)
{
	return dir_rename(w->a, w->from, w->a, w->to, RENAME_EXCHANGE, &entry,
	                  &other);
}
static int run_exchange_across(struct world *w)
{
	return dir_rename(w->a, w->from, w->b, w->to, RENAME_EXCHANGE, &entry,
	                  &other);
}
static void shown_conflict(const struct world *w, char shown[300])
{
	snprintf(shown, 300, "%s.sync", w->from);
}
static int run_conflict_rename(struct world *w)
{
	char shown[300];

	shown_conflict(w, shown);
	return dir_rename(w->a, shown, w->b, w->to, 0, &entry, NULL);
}
static int run_conflict_unlink(struct world *w)
{
	char shown[300];

	shown_conflict(w, shown);
	return dir_unlink(w->a, shown);
}

static const struct scenario scenarios[] = {
	{ "create", NULL, run_create },
	{ "mknod", NULL, run_mknod },
	{ "mkdir", NULL, run_mkdir },
	{ "symlink", NULL, run_symlink },
	{ "long symlink", NULL, run_long_symlink },
	{ "unlink a file", with_file, run_unlink },
	{ "unlink a link", with_link, run_unlink },
	{ "unlink a long link", with_long_link, run_unlink },
	{ "rmdir", with_empty, run_rmdir },
	{ "link", with_file, run_link },
	{ "link across", with_file, run_link_across },
	{ "link a long link", with_long_link, run_link },
	{ "link a long link across", with_long_link, run_link_across },
	{ "rename a file", with_file, run_rename },
	{ "move a file", with_file, run_across },
	{ "move a file, not replacing", with_file, run_noreplace },
	{ "rename a long link", with_long_link, run_rename },
	{ "move a long link", with_long_link, run_across },
	{ "rename a directory", with_dir, run_rename },
	{ "move a directory", with_dir, run_across },
	{ "rename over a file", with_two_files, run_rename },
	{ "move over a file", with_two_files, run_across },
	{ "rename over a long link", with_two_links, run_rename },
	{ "move over a long link", with_two_links, run_across },
	{ "rename over a directory", with_two_dirs, run_rename },
	{ "move over a directory", with_two_dirs, run_across },
	{ "exchange files", with_two_files, run_exchange },
	{ "exchange files across", with_two_files, run_exchange_across },
	{ "exchange links", with_two_links, run_exchange },
	{ "exchange links across", with_two_links, run_exchange_across },
	{ "exchange file and directory", with_file_and_dir, run_exchange },
	{ "exchange file and directory across", with_file_and_dir,
	  run_exchange_across },
	{ "rename a conflict copy", with_conflict, run_conflict_rename },
	{ "unlink a conflict copy", with_conflict, run_conflict_unlink },
};

/* Without faults: the state that must be reached. */
static char *new_state(const struct scenario *s, bool long_from, bool long_to)
{
	struct world w;
	char *state;

	world_make(&w, s, long_from, long_to);
	must(s->run(&w));
	state = seen(&w);
	world_end(&w);
	return state;
}

/* The one state in between that there is: a directory has its new name, and
 * the empty one that was there stands under the old name. */
static bool is_between(const struct scenario *s, const char *state,
                       const char *new, const char *from)
{
	char line[600], *copy, *at;
	bool same;

	if (s->prepare != with_two_dirs)
		return false;
	snprintf(line, sizeof(line), "/a/%s/\n", from);
	copy = strdup(state);
	at = strstr(copy, line);
	if (at)
		memmove(at, at + strlen(line), strlen(at + strlen(line)) + 1);
	same = at && !strcmp(copy, new);
	free(copy);
	return same;
}

static unsigned kills, errors;

/* One run that is stopped before call k; *done when there is no such call. */
TEST stopped(const struct scenario *s, bool long_from, bool long_to,
             unsigned k, int with_errno, bool *done)
{
	struct world w;
	char *before, *after, *new = new_state(s, long_from, long_to);
	char *texts_a, *texts_b, *texts;
	int result = 0, status;
	pid_t child;

	world_make(&w, s, long_from, long_to);
	before = seen(&w);
	texts_a = texts_of(w.a);
	texts_b = texts_of(w.b);
	fault_at = k;
	fault_count = 0;
	fault_errno = with_errno;
	if (with_errno) {
		io = &io_fault;
		result = s->run(&w);
		io = &io_system;
		*done = fault_count < k;
		errors += !*done;
	} else {
		child = fork();
		if (child == 0) {
			io = &io_fault;
			_exit(s->run(&w) ? 1 : 0);
		}
		ASSERT_EQ(child, waitpid(child, &status, 0));
		ASSERT(WIFEXITED(status));
		*done = WEXITSTATUS(status) == 0;
		ASSERT(*done || WEXITSTATUS(status) == 42);
		kills += !*done;
	}
	after = seen(&w);
	if (*done) {
		ASSERT_EQ(0, result);
		ASSERT_STR_EQ(new, after);
	} else if (with_errno && result) {
		/* Refused: nothing changed, and nothing is left over. */
		ASSERT_EQ(-with_errno, result);
		ASSERT_STR_EQ(before, after);
		texts = texts_of(w.a);
		ASSERT_STR_EQ(texts_a, texts);
		free(texts);
		texts = texts_of(w.b);
		ASSERT_STR_EQ(texts_b, texts);
		free(texts);
	} else if (with_errno) {
		ASSERT_STR_EQ(new, after);
	} else if (strcmp(before, after) && !is_between(s, after, new, w.from)) {
		ASSERT_STR_EQ(new, after);
	}
	/* What a killed process left behind is not in the way. */
	if (!*done && !strcmp(before, after) && strcmp(before, new)) {
		ASSERT_EQ(0, s->run(&w));
		free(after);
		after = seen(&w);
		ASSERT_STR_EQ(new, after);
	}
	free(before);
	free(after);
	free(new);
	free(texts_a);
	free(texts_b);
	ASSERT_EQ(0, empty(&w.place, w.place.root));
	dir_unref(w.place.root);
	w.place.root = NULL;
	world_end(&w);
	PASS();
}

TEST every_stop(const struct scenario *s, int with_errno)
{
	for (unsigned names = 0; names < 4; names++) {
		bool done = false;

		for (unsigned k = 1; !done; k++) {
			ASSERT(k < 100);
			CHECK_CALL(stopped(s, names & 1, names & 2, k,
			                   with_errno, &done));
		}
	}
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		greatest_set_test_suffix(scenarios[i].label);
		RUN_TESTp(every_stop, &scenarios[i], 0);
		greatest_set_test_suffix(scenarios[i].label);
		RUN_TESTp(every_stop, &scenarios[i], ENOSPC);
		greatest_set_test_suffix(scenarios[i].label);
		RUN_TESTp(every_stop, &scenarios[i], EIO);
		greatest_set_test_suffix(scenarios[i].label);
		RUN_TESTp(every_stop, &scenarios[i], EDQUOT);
		greatest_set_test_suffix(scenarios[i].label);
		RUN_TESTp(every_stop, &scenarios[i], EINTR);
	}
	printf("%u kills, %u errors\n", kills, errors);
	GREATEST_MAIN_END();
}
