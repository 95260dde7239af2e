#include "damage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/falloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <json-c/json.h>

#include "fs/volume/config.h"
#include "fs/volume/file.h"
#include "fs/volume/xattr.h"

static const char key[] = "only a test's key file: 0123456789abcdef";

void need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("cannot set up a test: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(1);
}

/* Kept where a leak checker sees it. */
static char **kept;
static size_t kept_count;

static char *keep_this(char *text)
{
	need(text != NULL, "memory");
	kept = realloc(kept, (kept_count + 1) * sizeof(*kept));
	kept[kept_count++] = text;
	return text;
}

char *keep(const char *text)
{
	return keep_this(strdup(text));
}

static char *buffer(void)
{
	static char buffers[16][PATH_MAX];
	static unsigned turn;

	return buffers[turn++ % 16];
}

const char *join_path(const char *a, const char *b)
{
	char *path = buffer();

	snprintf(path, PATH_MAX, "%s/%s", a, b);
	return path;
}

/* ---- volumes ---- */

static int run_program(const char *const argv[])
{
	pid_t pid;
	int status = -1;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	need(pid > 0 && waitpid(pid, &status, 0) == pid, "fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void victim_of(struct victim *v, const char *root, const char *keyfile)
{
	uint8_t master[KEY_SIZE], secret[sizeof(key)];
	struct config config;
	struct unlock unlock = { .kind = SLOT_KEY_FILE, .secret = secret };
	struct keys *keys;
	int fd = open(keyfile, O_RDONLY | O_CLOEXEC);
	int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = read(fd, secret, sizeof(secret));

	need(fd >= 0 && dir >= 0 && n > 0, "the key file");
	unlock.size = (size_t)n;
	need(!config_unlock(&config, dir, &unlock, master, NULL), "the config");
	need(!keys_new(&keys, master, config.stream), "keys");
	if (v->root != root)
		snprintf(v->root, sizeof(v->root), "%s", root);
	if (v->keyfile != keyfile)
		snprintf(v->keyfile, sizeof(v->keyfile), "%s", keyfile);
	need(!volume_open(&v->volume, root, keys, config.uuid,
	                  config.name_limit, false, VOLUME_USE_NONE), "volume");
	close(fd);
	close(dir);
}

/* Of a test that failed, and so did not come to victim_remove. */
static struct victim *last_victim;

static void remove_last(void)
{
	if (last_victim)
		victim_remove(last_victim);
}

void victim_make(struct victim *v)
{
	char recovery[PATH_MAX];
	const char *init[] = { FROND_BINARY, "init", "-q", "--keyfile",
	                       v->keyfile, "--recovery-key-file", recovery,
	                       v->root, NULL };
	static bool prepared;

	if (!prepared)
		atexit(remove_last);
	prepared = true;
	remove_last();
	memset(v, 0, sizeof(*v));
	last_victim = v;
	strcpy(v->holder, "/tmp/frond-damage-XXXXXX");
	need(mkdtemp(v->holder) != NULL, v->holder);
	need(!chmod(v->holder, 0755), "chmod");
	snprintf(v->root, sizeof(v->root), "%s/c", v->holder);
	snprintf(v->keyfile, sizeof(v->keyfile), "%s/key", v->holder);
	snprintf(recovery, sizeof(recovery), "%s/recovery", v->holder);
	need(!mkdir(v->root, 0755), "mkdir");
	write_text(v->keyfile, key);
	need(run_program(init) == 0, "frondfs init");
	victim_of(v, v->root, v->keyfile);
}

void victim_remove(struct victim *v)
{
	const char *rm[] = { "/bin/rm", "-rf", "--one-file-system", v->holder,
	                     NULL };

	volume_close(v->volume);
	v->volume = NULL;
	if (v->holder[0])
		need(run_program(rm) == 0, "rm");
	v->holder[0] = '\0';
	last_victim = NULL;
}

/* Open the directory in which a path's last part lies; that part in *name. */
static struct dir *parent_of(struct victim *v, const char *path,
                             const char **name)
{
	char part[NAME_PLAIN_MAX + 1];
	struct dir *dir, *next;
	const char *slash;
	struct dir_entry entry;
	struct stat st;

	need(!dir_open(&dir, v->volume, dup(v->volume->root)), "the root");
	while ((slash = strchr(path, '/'))) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		need(!dir_find(dir, part, &entry, &st), part);
		need(!dir_open(&next, v->volume,
		               openat(dir_fd(dir), entry.text,
		                      O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
		     part);
		dir_unref(dir);
		dir = next;
		path = slash + 1;
	}
	*name = path;
	return dir;
}

const char *cipher_of(struct victim *v, const char *path)
{
	char *text = buffer(), part[NAME_PLAIN_MAX + 1];
	const char *rest = path;
	size_t n = 0;

	*text = '\0';
	while (*rest) {
		const char *slash = strchrnul(rest, '/'), *name;
		struct dir_entry entry;
		struct stat st;
		struct dir *dir;
		char *upto = strndup(path, (size_t)(slash - path));

		dir = parent_of(v, upto, &name);
		snprintf(part, sizeof(part), "%s", name);
		need(!dir_find(dir, part, &entry, &st), upto);
		n += (size_t)snprintf(text + n, PATH_MAX - n, "%s%s",
		                      n ? "/" : "", entry.text);
		dir_unref(dir);
		free(upto);
		rest = *slash ? slash + 1 : slash;
	}
	return text;
}

const char *where(struct victim *v, const char *path)
{
	return *path ? join_path(v->root, cipher_of(v, path)) : v->root;
}

const char *id_file(struct victim *v, const char *dir)
{
	const char *path = where(v, dir), *found = NULL;
	DIR *stream = opendir(path);
	struct dirent *d;

	need(stream != NULL, path);
	while ((d = readdir(stream)))
		if (name_form(d->d_name) == NAME_DIR_ID)
			found = join_path(path, d->d_name);
	closedir(stream);
	need(found != NULL, "an id file");
	return found;
}

const char *name_file(struct victim *v, const char *path)
{
	char *text = buffer();

	snprintf(text, PATH_MAX, "%s.name", where(v, path));
	return text;
}

/* ---- content ---- */

void content_fill(uint8_t *buf, size_t size, unsigned seed, uint64_t position)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t at = position + i, x;

		x = (at >> 3) * 0x9e3779b97f4a7c15u + seed * 0xd1342543de82ef95u;
		x ^= x >> 32;
		x *= 0xbf58476d1ce4e5b9u;
		x ^= x >> 29;
		buf[i] = (uint8_t)(x >> (8 * (at & 7))) | 1;
	}
}

static struct file *open_at(struct victim *v, const char *path, int access,
                            bool create)
{
	const char *name;
	struct dir *dir = parent_of(v, path, &name);
	uint8_t id[ID_SIZE];
	struct dir_entry entry;
	struct file *file = NULL;
	struct stat st;
	int fd = -1;

	dir_id(dir, id);
	if (create)
		errno = -dir_create(dir, name, 0644, NULL, &entry, &fd);
	else if (!dir_find(dir, name, &entry, &st))
		fd = openat(dir_fd(dir), entry.text, access | O_CLOEXEC);
	need(fd >= 0, path);
	errno = -file_open(&file, v->volume, fd, access, id);
	need(!errno, path);
	dir_unref(dir);
	return file;
}

static void write_content(struct file *file, unsigned seed, uint64_t position,
                          uint64_t size)
{
	uint8_t buf[65536];

	while (size > 0) {
		size_t n = size < sizeof(buf) ? (size_t)size : sizeof(buf);

		content_fill(buf, n, seed, position);
		need(file_write(file, buf, n, position) == (ssize_t)n, "write");
		position += n;
		size -= n;
	}
	need(!file_close(file), "close");
}

void put_file_at(struct victim *v, const char *path, unsigned seed,
                 uint64_t size)
{
	write_content(open_at(v, path, O_RDWR, true), seed, 0, size);
}

void overwrite_at(struct victim *v, const char *path, unsigned seed,
                  uint64_t position, uint64_t size)
{
	write_content(open_at(v, path, O_RDWR, false), seed, position, size);
}

bool library_reads_right(struct victim *v, const char *path, unsigned seed,
                         uint64_t size, uint64_t *bad)
{
	/* An odd size, so that reads cross sectors in every way. */
	enum { STEP = 1009 };
	struct file *file = open_at(v, path, O_RDONLY, false);
	uint8_t buf[STEP], right[STEP];
	uint64_t at = 0;
	bool good = true;

	*bad = 0;
	while (good && at < size) {
		ssize_t n = file_read(file, buf, STEP, at, FILE_PARTIAL);

		if (n == -EBADMSG) {
			++*bad;
			at++;
			continue;
		}
		content_fill(right, STEP, seed, at);
		good = n > 0 && (uint64_t)n <= size - at &&
		       !memcmp(buf, right, (size_t)n);
		if (!good)
			printf("%s: byte %llu and on: read gave %zd, %s\n", path,
			       (unsigned long long)at, n,
			       n > 0 ? "wrong bytes" : "no bytes");
		at += (uint64_t)n;
	}
	file_close(file);
	return good;
}

void put_dir_at(struct victim *v, const char *path)
{
	const char *name;
	struct dir *dir = parent_of(v, path, &name);
	struct dir_entry entry;

	errno = -dir_mkdir(dir, name, 0755, NULL, &entry);
	need(!errno, path);
	dir_unref(dir);
}

void put_link_at(struct victim *v, const char *path, const char *target)
{
	const char *name;
	struct dir *dir = parent_of(v, path, &name);
	struct dir_entry entry;

	errno = -dir_symlink(dir, name, target, NULL, &entry);
	need(!errno, path);
	dir_unref(dir);
}

void put_xattr_at(struct victim *v, const char *path, const char *name,
                  const char *value)
{
	errno = -xattr_set(v->volume, where(v, path), name, value,
	                   strlen(value), 0);
	need(!errno, name);
}

/* ---- damages ---- */

static int open_raw(const char *path)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	need(fd >= 0, path);
	return fd;
}

static void read_at(int fd, void *buf, size_t size, uint64_t at)
{
	need(pread(fd, buf, size, (off_t)at) == (ssize_t)size, "pread");
}

static void write_at(int fd, const void *buf, size_t size, uint64_t at)
{
	need(pwrite(fd, buf, size, (off_t)at) == (ssize_t)size, "pwrite");
}

void flip_bit(const char *path, uint64_t byte, unsigned bit)
{
	int fd = open_raw(path);
	uint8_t b;

	read_at(fd, &b, 1, byte);
	b ^= (uint8_t)(1u << bit);
	write_at(fd, &b, 1, byte);
	close(fd);
}

void swap_units(const char *a, uint64_t unit_a, const char *b, uint64_t unit_b)
{
	uint8_t one[4096], two[4096];
	int fa = open_raw(a), fb = open_raw(b);

	read_at(fa, one, 4096, unit_a * 4096);
	read_at(fb, two, 4096, unit_b * 4096);
	write_at(fa, two, 4096, unit_a * 4096);
	write_at(fb, one, 4096, unit_b * 4096);
	close(fa);
	close(fb);
}

void zero_range(const char *path, uint64_t start, uint64_t size)
{
	int fd = open_raw(path);
	uint8_t *zeros = calloc(1, size);

	write_at(fd, zeros, size, start);
	free(zeros);
	close(fd);
}

void punch_range(const char *path, uint64_t start, uint64_t size)
{
	int fd = open_raw(path);

	need(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                (off_t)start, (off_t)size), "punch");
	close(fd);
}

void cut_file(const char *path, uint64_t size)
{
	need(!truncate(path, (off_t)size), "truncate");
}

void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint8_t buf[65536];
	ssize_t n;

	need(in >= 0 && out >= 0, to);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		need(write(out, buf, (size_t)n) == n, to);
	/* A length mark is a hole, and stays the file's length. */
	close(in);
	close(out);
}

void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text),
	     path);
	close(fd);
}

uint64_t size_of(const char *path)
{
	struct stat st;

	need(!lstat(path, &st), path);
	return (uint64_t)st.st_size;
}

void move_file(const char *from, const char *to)
{
	need(!rename(from, to), from);
}

void swap_files(const char *a, const char *b)
{
	need(!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), a);
}

/* ---- fsck ---- */

int run_collect(const char *const argv[], uid_t user, char **out, char **err)
{
	int ends[2][2];
	char *text[2] = { calloc(1, 1), calloc(1, 1) };
	size_t size[2] = { 0, 0 };
	int status = -1;
	pid_t pid;

	need(!pipe2(ends[0], O_CLOEXEC) && !pipe2(ends[1], O_CLOEXEC), "pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(ends[0][1], 1);
		dup2(ends[1][1], 2);
		if (user && (setgroups(0, NULL) || setgid(user) || setuid(user)))
			_exit(126);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	need(pid > 0, "fork");
	close(ends[0][1]);
	close(ends[1][1]);
	for (int open_ends = 2; open_ends > 0;) {
		struct pollfd p[2] = {
			{ .fd = ends[0][0], .events = POLLIN },
			{ .fd = ends[1][0], .events = POLLIN },
		};

		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			char buf[16384];
			ssize_t n;

			if (!p[i].revents)
				continue;
			n = read(ends[i][0], buf, sizeof(buf));
			if (n <= 0) {
				close(ends[i][0]);
				ends[i][0] = -1;
				open_ends--;
				continue;
			}
			text[i] = realloc(text[i], size[i] + (size_t)n + 1);
			memcpy(text[i] + size[i], buf, (size_t)n);
			size[i] += (size_t)n;
			text[i][size[i]] = '\0';
		}
	}
	need(waitpid(pid, &status, 0) == pid, "waitpid");
	*out = keep_this(text[0]);
	*err = keep_this(text[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *string_of(json_object *object, const char *name)
{
	return json_object_get_string(json_object_object_get(object, name));
}

static int64_t number_of(json_object *object, const char *name)
{
	json_object *value = json_object_object_get(object, name);

	return value ? json_object_get_int64(value) : -1;
}

static char *finding_line(const char *class, const char *plain,
                          const char *cipher, int64_t first, int64_t last,
                          int64_t start, int64_t end)
{
	char sectors[64] = "", bytes[64] = "", *line;

	if (first >= 0)
		snprintf(sectors, sizeof(sectors), "%lld-%lld",
		         (long long)first, (long long)last);
	if (start >= 0)
		snprintf(bytes, sizeof(bytes), "%lld-%lld", (long long)start,
		         (long long)end);
	need(asprintf(&line, "%s|%s|%s|%s|%s", class, plain, cipher, sectors,
	              bytes) > 0, "memory");
	return line;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sort and join; frees the lines. */
static char *join_lines(char **lines, size_t count)
{
	size_t size = 1;
	char *all, *at;

	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < count; i++)
		size += strlen(lines[i]) + 1;
	at = all = malloc(size);
	*at = '\0';
	for (size_t i = 0; i < count; i++) {
		at = stpcpy(stpcpy(at, lines[i]), "\n");
		free(lines[i]);
	}
	return all;
}

static void take_summary(struct report *r, json_object *o)
{
	r->files = number_of(o, "files");
	r->directories = number_of(o, "directories");
	r->links = number_of(o, "links");
	r->bytes = number_of(o, "bytes");
	r->damaged = number_of(o, "errors");
	r->unfinished = number_of(o, "unfinished");
	r->notes = number_of(o, "notes");
	r->skipped = number_of(o, "skipped");
	need(number_of(o, "exit_code") == r->code, "the summary's exit code");
}

static void read_report(struct report *r)
{
	char **lines = NULL, *copy = strdup(r->json), *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		json_object *o = json_tokener_parse(line);

		need(o != NULL, line);
		if (json_object_object_get(o, "summary")) {
			take_summary(r, o);
		} else {
			lines = realloc(lines, (r->count + 1) * sizeof(*lines));
			lines[r->count++] = finding_line(
				string_of(o, "class"), string_of(o, "path"),
				string_of(o, "ciphertext"),
				number_of(o, "first_sector"),
				number_of(o, "last_sector"),
				number_of(o, "start"), number_of(o, "end"));
		}
		json_object_put(o);
	}
	r->findings = join_lines(lines, r->count);
	free(lines);
	free(copy);
}

void fsck_run(struct report *r, struct victim *v, uid_t user,
              const char *const options[], const char *const paths[])
{
	const char *argv[40] = { FROND_BINARY, "fsck", "--json", "--keyfile",
	                         v->keyfile };
	int n = 5;

	for (int i = 0; options && options[i]; i++)
		argv[n++] = options[i];
	argv[n++] = v->root;
	for (int i = 0; paths && paths[i]; i++)
		argv[n++] = paths[i];
	memset(r, 0, sizeof(*r));
	r->files = -1;
	r->code = run_collect(argv, user, &r->json, &r->errors);
	read_report(r);
}

void report_free(struct report *r)
{
	free(r->findings);
}

unsigned damages_tried, damages_named;

bool fsck_says(struct victim *v, int code, const struct expected *e, size_t n)
{
	static const char *const threads[] = { "--threads=1", "--threads=4" };
	char **lines = calloc(n + 1, sizeof(*lines)), *want;
	bool good = true;

	for (size_t i = 0; i < n; i++)
		lines[i] = finding_line(e[i].class, e[i].plain,
		                        e[i].cipher ? e[i].cipher
		                        : cipher_of(v, e[i].plain),
		                        e[i].first, e[i].last, e[i].start,
		                        e[i].end);
	want = join_lines(lines, n);
	for (int i = 0; i < 2 && good; i++) {
		const char *options[] = { threads[i], NULL };
		struct report r;

		fsck_run(&r, v, 0, options, NULL);
		good = r.code == code && !strcmp(r.findings, want) && !*r.errors;
		if (!good)
			printf("fsck %s: exit code %d, wanted %d\nfound:\n%s"
			       "wanted:\n%s%s\n", threads[i], r.code, code,
			       r.findings, want, r.errors);
		report_free(&r);
	}
	damages_tried += n;
	damages_named += good ? (unsigned)n : 0;
	free(want);
	free(lines);
	return good;
}
