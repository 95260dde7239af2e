/*
 * The file object under kills and failing system calls: every operation, with
 * a fault at each of its calls in turn, through the table of fs/volume/io.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <greatest.h>

#include "fs/volume/io.h"
#include "tests/volume/file_support.h"

static struct io faulty;
static int calls_left; /* until the fault */
static int fault;      /* errno, or 0 to end the process */
static bool short_write;

static bool strike(void)
{
	if (calls_left-- != 0)
		return false;
	if (!fault)
		_exit(77);
	errno = fault;
	return true;
}

static ssize_t faulty_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	if (calls_left == 0 && short_write && size > 1) {
		/* Some of it first, the error or the kill after that. */
		/* (a kill lets whole pages through). */
		size_t part = fault ? size / 2
			: ((size_t)at + size / 2 + 4095) / 4096 * 4096 - (size_t)at;

		part = part < size ? part : size;
		if (pwrite(fd, buf, part, at) != (ssize_t)part)
			abort();
		if (!fault)
			_exit(77);
		calls_left = 0;
		short_write = false;
		return (ssize_t)part;
	}
	return strike() ? -1 : pwrite(fd, buf, size, at);
}

static int faulty_ftruncate(int fd, off_t length)
{
	return strike() ? -1 : ftruncate(fd, length);
}

static int faulty_fallocate(int fd, int mode, off_t at, off_t size)
{
	return strike() ? -1 : fallocate(fd, mode, at, size);
}

static int faulty_futimens(int fd, const struct timespec times[2])
{
	return strike() ? -1 : futimens(fd, times);
}

/* A store that takes no longer files, as FAT does with 4 GiB. */
static int short_ftruncate(int fd, off_t length)
{
	if (length <= 1 << 20)
		return ftruncate(fd, length);
	errno = EFBIG;
	return -1;
}

TEST too_long_for_the_store(void)
{
	uint64_t sizes[] = { 0, 3000, 4000, 9000 };

	faulty = io_system;
	faulty.ftruncate = short_ftruncate;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct file *f = file_fresh();

		file_fill(model, sizes[i], 5);
		ASSERT_EQ((ssize_t)sizes[i],
		          file_write(f, model, sizes[i], 0));
		io = &faulty;
		ASSERT_EQ(-EFBIG, file_truncate(f, 2 << 20));
		ASSERT_EQ(sizes[i], file_size(f));
		ASSERT_EQ(-EFBIG, file_allocate(f, 0, 0, 2 << 20));
		ASSERT_EQ(sizes[i], file_size(f));
		ASSERT_EQ(0, file_close(f));
		io = &io_system;
		ASSERT_EQ(0, file_findings().total);
		f = file_reopen(O_RDONLY);
		ASSERT_EQ((ssize_t)sizes[i],
		          file_read(f, buffer, MODEL_MAX, 0, 0));
		ASSERT_EQ(0, memcmp(buffer, model, sizes[i]));
		ASSERT_EQ(0, file_close(f));
	}
	PASS();
}

/* The operations whose every system call is made to fail. `before` and
 * `after` are the two contents that may be seen. */
struct operation {
	const char *name;
	uint64_t old_size;
	int (*run)(struct file *f);
	uint64_t new_size;
	uint64_t from, to; /* bytes that change */
};

static uint8_t wanted[MODEL_MAX];

static int op_append_inside(struct file *f)
{
	return file_write(f, wanted + 4100, 50, 4100) == 50 ? 0 : -1;
}

static int op_append_across(struct file *f)
{
	return file_write(f, wanted + 4100, 30000, 4100) == 30000 ? 0 : -1;
}

static int op_overwrite(struct file *f)
{
	return file_write(f, wanted + 3000, 2000, 3000) == 2000 ? 0 : -1;
}

static int op_shorten(struct file *f)
{
	return file_truncate(f, 4500);
}

static int op_empty(struct file *f)
{
	return file_truncate(f, 0);
}

static int op_grow(struct file *f)
{
	return file_truncate(f, 9000);
}

static int op_grow_hole(struct file *f)
{
	return file_truncate(f, 400000);
}

static int op_punch(struct file *f)
{
	return file_allocate(f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                     4100, 16000);
}

static int op_create(struct file *f)
{
	return file_write(f, wanted, 1000, 0) == 1000 ? 0 : -1;
}

static const struct operation operations[] = {
	{ "append inside a sector", 4100, op_append_inside, 4150, 4100, 4150 },
	{ "append across sectors", 4100, op_append_across, 34100, 4100, 34100 },
	{ "overwrite", 20000, op_overwrite, 20000, 3000, 5000 },
	{ "shorten", 20000, op_shorten, 4500, 0, 0 },
	{ "empty", 20000, op_empty, 0, 0, 0 },
	{ "grow", 4100, op_grow, 9000, 4100, 9000 },
	{ "grow by a hole", 4100, op_grow_hole, 400000, 4100, 400000 },
	{ "punch", 30000, op_punch, 30000, 4100, 20100 },
	{ "first write", 0, op_create, 1000, 0, 1000 },
};

/* Whether the file now has the old or the new size, and each of its bytes the
 * old or the new value. A kill may leave a write half done by whole sectors. */
static bool old_or_new(const struct operation *op, bool exact_old)
{
	struct file *f = file_reopen(O_RDONLY);
	uint64_t size, n;
	ssize_t got;
	bool ok = f != NULL;

	if (!ok)
		return false;
	size = file_size(f);
	got = file_read(f, buffer, MODEL_MAX, 0, 0);
	n = size < op->old_size ? size : op->old_size;
	ok = got == (ssize_t)size && !file_damaged(f);
	if (exact_old)
		ok = ok && size == op->old_size;
	else if (size != op->old_size && size != op->new_size)
		ok = ok && size > op->old_size && size < op->new_size;
	for (uint64_t i = 0; ok && i < size; i++) {
		bool is_old = i < op->old_size && buffer[i] == model[i];
		bool is_new = i < op->new_size && buffer[i] == wanted[i];
		/* A gap that is being filled with zeros. */
		bool is_gap = i >= op->old_size && buffer[i] == 0 &&
		              op->run != op_append_across;

		ok = is_old || (is_new && (i >= n || (i >= op->from && i < op->to))) ||
		     is_gap;
	}
	file_close(f);
	return ok;
}

static void prepare(const struct operation *op)
{
	struct file *f = file_fresh();

	file_fill(model, MODEL_MAX, 1);
	memcpy(wanted, model, MODEL_MAX);
	if (op->run == op_punch || op->run == op_grow || op->run == op_grow_hole)
		memset(wanted + op->from, 0, op->to - op->from);
	else if (op->from < op->to)
		file_fill(wanted + op->from, op->to - op->from, 77);
	if (!f || file_write(f, model, op->old_size, 0) != (ssize_t)op->old_size ||
	    file_close(f))
		abort();
}

static void install_faults(int k, int error, bool partly)
{
	faulty = io_system;
	faulty.pwrite = faulty_pwrite;
	faulty.ftruncate = faulty_ftruncate;
	faulty.fallocate = faulty_fallocate;
	faulty.futimens = faulty_futimens;
	calls_left = k;
	fault = error;
	short_write = partly;
	io = &faulty;
}

static int child_operation(const struct operation *op, int k, bool partly)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct file *f = file_reopen(O_RDWR);

		install_faults(k, 0, partly);
		if (!f || op->run(f) || file_close(f))
			_exit(1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST killed_anywhere(const struct operation *op, bool partly)
{
	for (int k = 0; k < 100; k++) {
		struct file_findings found;
		int code;

		prepare(op);
		code = child_operation(op, k, partly);
		if (code == 0)
			PASS();
		ASSERT_EQ_FMT(77, code, "%d");
		if (!old_or_new(op, false)) {
			fprintf(stderr, "%s, killed before call %d\n", op->name, k);
			FAIL();
		}
		found = file_findings();
		ASSERT_EQ_FMT(found.count[FILE_UNCLEAN_APPEND] +
		              found.count[FILE_UNFINISHED_CREATE],
		              found.total, "%u");
	}
	FAILm("the operation never came to its end");
}

TEST failing_anywhere(const struct operation *op, bool partly)
{
	for (int k = 0; k < 100; k++) {
		struct file *f;
		int result;

		prepare(op);
		f = file_reopen(O_RDWR);
		ASSERT(f);
		install_faults(k, ENOSPC, partly);
		result = op->run(f);
		io = &io_system;
		ASSERT_EQ(0, file_close(f));
		if (!old_or_new(op, false)) {
			fprintf(stderr, "%s, call %d fails\n", op->name, k);
			FAIL();
		}
		ASSERT_EQ(0, file_findings().count[FILE_CORRUPT_SECTOR]);
		ASSERT_EQ(0, file_findings().count[FILE_TRUNCATED]);
		if (result == 0 && calls_left >= 0)
			PASS();
	}
	FAILm("the operation never came to its end");
}

GREATEST_MAIN_DEFS();

int main(int argc, char **argv)
{
	GREATEST_MAIN_BEGIN();
	if (file_begin())
		return 1;
	RUN_TEST(too_long_for_the_store);
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		for (int partly = 0; partly < 2; partly++) {
			char name[64];

			snprintf(name, sizeof(name), "%s%s", operations[i].name,
			         partly ? ", partly" : "");
			greatest_set_test_suffix(name);
			RUN_TESTp(killed_anywhere, &operations[i], partly);
			greatest_set_test_suffix(name);
			RUN_TESTp(failing_anywhere, &operations[i], partly);
		}
	file_end();
	GREATEST_MAIN_END();
}
