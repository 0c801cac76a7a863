/* trust.c - who could change a file before it is loaded, and the one place where the environment is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/loader.h"
#include "host/trust.h"

const char *tn_secure_getenv(const char *name) { return secure_getenv(name); }
int tn_privileged(void) { return getauxval(AT_SECURE) != 0; }

/* a sticky folder of root's may be a parent (/tmp): others can't replace what is ours in it */
static int component(const char *path, int is_parent, char *why, size_t cap)
{
	struct stat st;
	if (stat(path, &st)) { snprintf(why, cap, "%s: cannot be examined", path); return 0; }
	if (st.st_uid != 0 && st.st_uid != geteuid()) { snprintf(why, cap, "%s is owned by another user (%u)", path, (unsigned)st.st_uid); return 0; }
	if (is_parent && st.st_uid == 0 && (st.st_mode & S_ISVTX)) return 1;
	if (st.st_mode & 022) { snprintf(why, cap, "%s is writable by %s", path, st.st_mode & 002 ? "others" : "its group"); return 0; }
	return 1;
}

int tn_path_trusted(const char *canonical, char *why, size_t cap)
{
	char path[4096];
	size_t n = strlen(canonical);
	if (n >= sizeof path) { snprintf(why, cap, "the path is too long"); return 0; }
	memcpy(path, canonical, n + 1);
	if (!component(path, 0, why, cap)) return 0;
	char *slash = strrchr(path, '/');
	for (; slash; slash = strrchr(path, '/')) {
		*slash = 0;
		if (!component(*path ? path : "/", 1, why, cap)) return 0;
	}
	return 1;
}
