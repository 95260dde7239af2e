#include "fs/volume/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The number behind `name` in a file of lines "name number"; 0 if absent. */
static uint64_t number_of(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[256];
	uint64_t value = 0;
	size_t length = strlen(name);

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, length) &&
		    sscanf(line + length, "%" SCNu64, &value) == 1)
			break;
	if (f)
		fclose(f);
	return value;
}

static uint64_t of_system(void)
{
	uint64_t available = number_of("/proc/meminfo", "MemAvailable:");
	uint64_t swap = number_of("/proc/meminfo", "SwapFree:");

	return available ? (available + swap) * 1024 : UINT64_MAX;
}

static uint64_t below_limit(int resource, uint64_t used)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static uint64_t of_process(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	uint64_t total = 0, data = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (f) {
		if (fscanf(f, "%" SCNu64 " %*u %*u %*u %*u %" SCNu64, &total,
		           &data) != 2)
			total = data = 0;
		fclose(f);
	}
	return least(below_limit(RLIMIT_AS, total * page),
	             below_limit(RLIMIT_DATA, data * page));
}

/* One control group: its limit less what it uses and could not give back. */
static uint64_t of_group(const char *folder)
{
	char path[600];
	uint64_t limit, used, cache;

	snprintf(path, sizeof(path), "%s/memory.max", folder);
	limit = number_of(path, ""); /* "max" is no number: 0 */
	if (!limit)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/memory.current", folder);
	used = number_of(path, "");
	snprintf(path, sizeof(path), "%s/memory.stat", folder);
	cache = number_of(path, "active_file ") + number_of(path, "inactive_file ");
	used = used > cache ? used - cache : 0;
	return limit > used ? limit - used : 0;
}

static uint64_t of_groups(void)
{
	static const char top[] = "/sys/fs/cgroup";
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[400], path[500];
	uint64_t available = UINT64_MAX;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::/", 4))
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(path, sizeof(path), "%s%s", top, line + 3);
		while (strlen(path) > sizeof(top) - 1) {
			available = least(available, of_group(path));
			*strrchr(path, '/') = '\0';
		}
	}
	if (f)
		fclose(f);
	return available;
}

uint64_t memory_available(void)
{
	return least(of_system(), least(of_process(), of_groups()));
}
