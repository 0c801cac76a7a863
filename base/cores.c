/* cores.c - how many cores this process may use: affinity mask and cgroup CPU quota (cgroups(7), kernel docs cgroup-v2 cpu.max) */
#include "base/pool.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t affinity(void)
{
	for (int room = 1024; room <= 1 << 20; room *= 2) {   /* the kernel refuses a mask shorter than its own */
		cpu_set_t *set = CPU_ALLOC((size_t)room);
		if (!set)
			break;
		int rc = sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)room), set), why = errno;
		int n = rc ? 0 : CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)room), set);
		CPU_FREE(set);
		if (n > 0)
			return (uint32_t)n;
		if (why != EINVAL)
			break;
	}
	return 1;
}

/* the first line of dir/name, empty when there is none */
static void read_line(const char *dir, const char *name, char *line, int size)
{
	char path[8192];
	line[0] = 0;
	if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
		return;
	FILE *f = fopen(path, "re");
	if (f && !fgets(line, size, f))
		line[0] = 0;
	if (f)
		fclose(f);
}

static uint32_t cores_of(long long quota, long long period)
{
	if (quota <= 0 || period <= 0 || quota / period >= UINT32_MAX / 2)
		return UINT32_MAX;
	return (uint32_t)(quota / period + (quota % period != 0));
}

/* the quota of one cgroup folder, in cores */
static uint32_t folder_quota(const char *dir, int v2)
{
	char line[128], per[128];
	long long quota = 0, period = 0;
	read_line(dir, v2 ? "cpu.max" : "cpu.cfs_quota_us", line, sizeof line);
	if (v2)
		return sscanf(line, "%lld %lld", &quota, &period) == 2 ? cores_of(quota, period) : UINT32_MAX;
	read_line(dir, "cpu.cfs_period_us", per, sizeof per);
	return sscanf(line, "%lld", &quota) == 1 && sscanf(per, "%lld", &period) == 1 ? cores_of(quota, period) : UINT32_MAX;
}

/* the least quota from mount/path up to mount: a parent limits its children */
static uint32_t chain_quota(const char *mount, const char *path, int v2)
{
	char dir[4096];
	uint32_t least = UINT32_MAX;
	if ((size_t)snprintf(dir, sizeof dir, "%s%s", mount, path) >= sizeof dir)
		return least;
	for (size_t base = strlen(mount);;) {
		uint32_t q = folder_quota(dir, v2);
		least = q < least ? q : least;
		char *slash = strrchr(dir, '/');
		if (strlen(dir) <= base || !slash)
			return least;
		*slash = 0;
	}
}

static int has_word(const char *list, const char *word)
{
	size_t len = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') && (p[len] == ',' || !p[len]))
			return 1;
	return 0;
}

uint32_t tn_cores_quota(const char *root)
{
	char file[4096], mount[4096], line[4096];
	uint32_t least = UINT32_MAX;
	if ((size_t)snprintf(file, sizeof file, "%s/proc/self/cgroup", root) >= sizeof file)
		return least;
	FILE *f = fopen(file, "re");
	while (f && fgets(line, sizeof line, f)) {            /* "hierarchy:controllers:path" */
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		list++;
		int v2 = !*list;
		if (!v2 && !has_word(list, "cpu"))
			continue;
		snprintf(mount, sizeof mount, "%.4000s/sys/fs/cgroup%s", root, v2 ? "" : "/cpu");
		uint32_t q = chain_quota(mount, path, v2);
		least = q < least ? q : least;
	}
	if (f)
		fclose(f);
	return least;
}

uint32_t tn_cores(void)
{
	uint32_t n = affinity(), quota = tn_cores_quota("");
	return quota < n ? quota : n;
}
