/*
 * Random operations on a tree of plaintext names and, the same ones, on a
 * plain directory of the same store: equal results, equal errors, equal trees.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <greatest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dir_support.h"

enum { STEPS = 4000, DEPTH = 3, NAMES = 7 };

static char names[NAMES][257];
static uint32_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % n;
}

/* The same directory in both trees. */
struct spot {
	struct dir *dir;
	int plain;
	char path[DEPTH * 260];
};

static void spot_close(struct spot *s)
{
	dir_unref(s->dir);
	close(s->plain);
}

/* Walk down at random; the trees agree on what is a directory. */
static bool spot_pick(struct place *p, int plain_root, struct spot *s)
{
	s->dir = pick(2) ? dir_ref(p->root) : reopen(p, p->root);
	s->plain = dup(plain_root);
	s->path[0] = '\0';
	for (unsigned depth = pick(DEPTH); depth > 0; depth--) {
		const char *name = names[pick(NAMES)];
		int fd = openat(s->plain, name,
		                O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
		struct dir *sub;

		if (fd < 0)
			break;
		sub = sub_open(p, s->dir, name);
		spot_close(s);
		if (!sub) {
			close(fd);
			return false;
		}
		s->dir = sub;
		s->plain = fd;
		strcat(s->path, "/");
		strcat(s->path, name);
	}
	return true;
}

static int result(int r)
{
	return r < 0 ? -errno : 0;
}

/* One operation on both. Returns whether they agree. */
static bool step(struct place *p, int plain_root, char log[2000])
{
	static const unsigned flags[] = { 0, 0, RENAME_NOREPLACE,
	                                  RENAME_EXCHANGE };
	const char *a = names[pick(NAMES)], *b = names[pick(NAMES)];
	struct dir_entry entry, other;
	struct spot from, to;
	struct stat st;
	unsigned op = pick(10), flag = flags[pick(4)];
	int ours = 0, right = 0, fd;
	char target[4096] = "x";

	if (!spot_pick(p, plain_root, &from))
		return false;
	if (!spot_pick(p, plain_root, &to)) {
		spot_close(&from);
		return false;
	}
	switch (op) {
	case 0:
		ours = dir_create(from.dir, a, 0644, NULL, &entry, &fd);
		if (!ours)
			close(fd);
		fd = openat(from.plain, a, O_CREAT | O_EXCL | O_RDWR, 0644);
		right = result(fd);
		if (fd >= 0)
			close(fd);
		break;
	case 1:
	case 2:
		ours = dir_mkdir(from.dir, a, 0755, NULL, &entry);
		right = result(mkdirat(from.plain, a, 0755));
		break;
	case 3:
		memset(target, 't', 1 + pick(4000));
		ours = dir_symlink(from.dir, a, target, NULL, &entry);
		right = result(symlinkat(target, from.plain, a));
		break;
	case 4:
		ours = dir_find(from.dir, a, &entry, &st);
		if (!ours)
			ours = dir_link(from.dir, entry.text, to.dir, b, &other);
		right = result(linkat(from.plain, a, to.plain, b, 0));
		break;
	case 5:
		ours = dir_unlink(from.dir, a);
		right = result(unlinkat(from.plain, a, 0));
		break;
	case 6:
		ours = dir_rmdir(from.dir, a);
		right = result(unlinkat(from.plain, a, AT_REMOVEDIR));
		break;
	default:
		ours = dir_rename(from.dir, a, to.dir, b, flag, &entry, &other);
		right = result(renameat2(from.plain, a, to.plain, b, flag));
		/* The entries that are told must be right, too. */
		if (!ours && (fstatat(dir_fd(to.dir), entry.text, &st,
		                      AT_SYMLINK_NOFOLLOW) ||
		              st.st_ino != inode_of(to.dir, b)))
			ours = -ESTALE;
		if (!ours && flag == RENAME_EXCHANGE &&
		    (fstatat(dir_fd(from.dir), other.text, &st,
		             AT_SYMLINK_NOFOLLOW) ||
		     st.st_ino != inode_of(from.dir, a)))
			ours = -ESTALE;
	}
	snprintf(log, 2000, "op %u flag %u %.300s/%.20s %.300s/%.20s: %s, not %s",
	         op, flag, from.path, a, to.path, b, strerror(-ours),
	         strerror(-right));
	spot_close(&from);
	spot_close(&to);
	/* rename(2) may say either of a directory that is not empty. */
	return ours == right ||
	       (op > 6 && (ours == -ENOTEMPTY || ours == -EEXIST) &&
	        (right == -ENOTEMPTY || right == -EEXIST));
}

/* Compare two directories and what is below; returns the number of entries,
 * or -1 with the difference in *log. */
static int compare(struct place *p, struct dir *dir, int plain, char log[2000])
{
	struct dir_listing l;
	int count = 0, plain_count = 0, error = dir_list(dir, &l);
	DIR *stream = fdopendir(openat(plain, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *d;

	while ((d = readdir(stream)))
		plain_count += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	closedir(stream);
	if (error || l.damaged || (int)l.count != plain_count) {
		snprintf(log, 2000, "%zu entries (error %d, %zu damaged), not %d",
		         l.count, error, l.damaged, plain_count);
		return -1;
	}
	for (size_t i = 0; i < l.count && count >= 0; i++, count++) {
		const char *name = l.items[i].plain;
		char target[4096], right_target[4096];
		struct dir_entry entry;
		struct stat st, right;
		ssize_t n;

		snprintf(log, 2000, "%.100s differs", name);
		if (dir_find(dir, name, &entry, &st) ||
		    dir_plain_stat(dir, entry.text, &st) ||
		    fstatat(plain, name, &right, AT_SYMLINK_NOFOLLOW) ||
		    st.st_mode != right.st_mode ||
		    st.st_nlink != right.st_nlink ||
		    (!S_ISDIR(st.st_mode) && st.st_size != right.st_size))
			count = -2;
		else if (S_ISLNK(st.st_mode)) {
			n = readlinkat(plain, name, right_target, 4096);
			if (n != dir_readlink(dir, entry.text, target) ||
			    memcmp(target, right_target, (size_t)n))
				count = -2;
		} else if (S_ISDIR(st.st_mode)) {
			struct dir *sub = sub_open(p, dir, name);
			int fd = openat(plain, name, O_RDONLY | O_DIRECTORY);
			int below = sub ? compare(p, sub, fd, log) : -1;

			dir_unref(sub);
			close(fd);
			count = below < 0 ? -2 : count + below;
		}
	}
	dir_listing_free(&l);
	return count;
}

/* Remove all; helper files must not stay. */
static int empty(struct place *p, struct dir *dir)
{
	struct dir_listing l;
	int error = dir_list(dir, &l);

	for (size_t i = 0; !error && i < l.count; i++) {
		struct dir *sub;

		if (l.items[i].type != DT_DIR) {
			error = dir_unlink(dir, l.items[i].plain);
			continue;
		}
		sub = sub_open(p, dir, l.items[i].plain);
		error = sub ? empty(p, sub) : -EIO;
		dir_unref(sub);
		if (!error)
			error = dir_rmdir(dir, l.items[i].plain);
	}
	dir_listing_free(&l);
	return error;
}

TEST model(uint32_t first_seed, size_t limit)
{
	char log[2000] = "", plain_path[100], command[200], *texts;
	struct place p;
	int plain, most = 0;

	random_state = first_seed;
	place_make(&p, "/dev/shm", limit);
	snprintf(plain_path, sizeof(plain_path), "%s.plain", p.path);
	ASSERT_EQ(0, mkdir(plain_path, 0755));
	plain = open(plain_path, O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < STEPS; i++) {
		ASSERTm(log, step(&p, plain, log));
		if (i % 50 == 0) {
			int n = compare(&p, p.root, plain, log);

			ASSERTm(log, n >= 0);
			most = n > most ? n : most;
		}
	}
	ASSERT(most > 10); /* the trees were worth comparing */
	ASSERT_EQ(0, empty(&p, p.root));
	texts = texts_of(p.root);
	ASSERT_STR_EQ("", texts);
	free(texts);
	snprintf(command, sizeof(command), "rm -rf %s", plain_path);
	close(plain);
	ASSERT_EQ(0, system(command));
	place_remove(&p);
	PASS();
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	strcpy(names[0], "a");
	strcpy(names[1], "b");
	strcpy(names[2], "a name of some length");
	name_of_length(names[3], 160);
	name_of_length(names[4], 161);
	name_of_length(names[5], 240);
	name_of_length(names[6], 255);
	for (uint32_t s = 1; s <= 6; s++)
		RUN_TESTp(model, s, s % 2 ? 255 : 143);
	GREATEST_MAIN_END();
}
