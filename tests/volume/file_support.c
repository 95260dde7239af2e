#include "tests/volume/file_support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct volume file_volume;
char file_path[64];
uint8_t model[MODEL_MAX], buffer[MODEL_MAX];
uint64_t model_size;

static char directory[] = "/tmp/frondfs-file-XXXXXX";
static const uint8_t made_in[ID_SIZE] = "directory id 16";

int file_begin(void)
{
	static const uint8_t master[KEY_SIZE] = "a master key for tests of files";

	if (!mkdtemp(directory) ||
	    keys_new(&file_volume.keys, master, ADIANTUM_XCHACHA12))
		return -1;
	snprintf(file_path, sizeof(file_path), "%s/file", directory);
	return 0;
}

void file_end(void)
{
	keys_free(file_volume.keys);
	unlink(file_path);
	rmdir(directory);
}

struct file *file_reopen(int flags)
{
	struct file *f = NULL;
	int fd = open(file_path, flags | O_CREAT, 0600);

	if (fd < 0 || file_open(&f, &file_volume, fd, flags & O_ACCMODE, made_in))
		return NULL;
	return f;
}

struct file *file_fresh(void)
{
	unlink(file_path);
	return file_reopen(O_RDWR);
}

static void count_finding(void *context, const struct file_finding *finding)
{
	struct file_findings *f = context;

	f->count[finding->damage]++;
	f->total++;
	f->last = *finding;
}

struct file_findings file_findings(void)
{
	struct file_findings found = { .total = 0 };
	struct file_check check = { .found = count_finding, .context = &found };
	int fd = open(file_path, O_RDONLY);

	if (file_verify(&file_volume, fd, &check))
		found.total = 1000;
	close(fd);
	return found;
}

void file_flip(off_t at)
{
	int fd = open(file_path, O_RDWR);
	uint8_t b = 0;

	if (pread(fd, &b, 1, at) != 1)
		abort();
	b ^= 0x10;
	if (pwrite(fd, &b, 1, at) != 1)
		abort();
	close(fd);
}

void file_fill(uint8_t *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)((i * 7 + (i >> 8) * 13 + seed) | 1);
}

bool file_holds_model(struct file *f)
{
	ssize_t n = file_read(f, buffer, MODEL_MAX, 0, 0);

	return file_size(f) == model_size && n == (ssize_t)model_size &&
	       memcmp(buffer, model, model_size) == 0;
}
