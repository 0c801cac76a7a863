/* trust.c - who could change a file before it is loaded, and the one place where the environment is read. */
#include <grp.h>
#include <pwd.h>
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

/* a group of one: its name is the user's, and nobody else is in it (what Debian and its kin make for each user, with umask 002) */
static int private_group(gid_t gid)
{
	char room[2][4096];
	struct group group, *g = NULL;
	struct passwd user, *u = NULL;
	if (getgrgid_r(gid, &group, room[0], sizeof room[0], &g) || !g || getpwuid_r(geteuid(), &user, room[1], sizeof room[1], &u) || !u) return 0;
	for (char **m = g->gr_mem; *m; m++)
		if (strcmp(*m, u->pw_name)) return 0;
	return u->pw_gid == gid && !strcmp(g->gr_name, u->pw_name);
}

/* a sticky folder of root's may be a parent (/tmp): others can't replace what is ours in it */
static int component(const char *path, int is_parent, char *why, size_t cap)
{
	struct stat st;
	if (stat(path, &st)) { snprintf(why, cap, "%s: cannot be examined", path); return 0; }
	if (st.st_uid != 0 && st.st_uid != geteuid()) { snprintf(why, cap, "%s is owned by another user (%u)", path, (unsigned)st.st_uid); return 0; }
	if (is_parent && st.st_uid == 0 && (st.st_mode & S_ISVTX)) return 1;
	if (st.st_mode & 002) { snprintf(why, cap, "%s is writable by others", path); return 0; }
	if ((st.st_mode & 020) && !private_group(st.st_gid)) { snprintf(why, cap, "%s is writable by its group", path); return 0; }
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
