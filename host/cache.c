/* cache.c - a folder of files named by content key.  A file is a header (magic, size, key, hash of the bytes) and the bytes;
 * it is written beside its place and renamed, so readers see all of it or nothing.  The folder must be ours and closed to others:
 * what it holds is code. */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/cache.h"
#include "host/loader.h"

#define MAGIC UINT64_C(0x31656863614e4554)      /* "TENache1" */
#define LIMIT (UINT64_C(1) << 30)               /* bytes of one entry */

struct tn_cache {
	int fd;                          /* the folder */
	char path[4000];
	atomic_int warned_write, warned_bad;
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};
struct header { uint64_t magic, size, key[4]; unsigned char hash[32]; };

static void say(struct tn_cache *c, const char *what, const char *why)
{
	char text[4200];
	snprintf(text, sizeof text, "%s: %s: %s", c->path, what, why);
	if (c->warn) c->warn(c->ctx, text);
}

static int choose_dir(const char *dir, char *path, size_t cap)
{
	const char *env = tn_secure_getenv("TENON_CACHE_DIR"), *xdg = tn_secure_getenv("XDG_CACHE_HOME"), *home = tn_secure_getenv("HOME");
	int n = -1;
	if (dir) n = snprintf(path, cap, "%s", dir);
	else if (env) n = snprintf(path, cap, "%s", env);
	else if (xdg && *xdg == '/') n = snprintf(path, cap, "%s/tenon", xdg);
	else if (home && *home == '/') n = snprintf(path, cap, "%s/.cache/tenon", home);
	return n > 0 && (size_t)n < cap;
}

static int make_dirs(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/') continue;
		*p = 0;
		int bad = mkdir(path, 0700) && errno != EEXIST;
		*p = '/';
		if (bad) return 0;
	}
	return !mkdir(path, 0700) || errno == EEXIST;
}

struct tn_cache *tn_cache_open(const char *dir, void (*warn)(void *ctx, const char *text), void *ctx)
{
	struct tn_cache *c = calloc(1, sizeof *c);
	struct stat st;
	if (!c) return NULL;
	c->warn = warn;
	c->ctx = ctx;
	c->fd = -1;
	if (!choose_dir(dir, c->path, sizeof c->path)) { free(c); return NULL; }
	if (!make_dirs(c->path) || (c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) say(c, "running without a cache", strerror(errno));
	else if (fstat(c->fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) say(c, "running without a cache", "the folder is another user's, or others may write to it");
	else return c;
	if (c->fd >= 0) close(c->fd);
	free(c);
	return NULL;
}

void tn_cache_close(struct tn_cache *c)
{
	if (!c) return;
	close(c->fd);
	free(c);
}

const char *tn_cache_dir(const struct tn_cache *c) { return c ? c->path : ""; }

static void name_of(const uint64_t key[4], char name[72])
{
	snprintf(name, 72, "%016llx%016llx%016llx%016llx", (unsigned long long)key[0], (unsigned long long)key[1], (unsigned long long)key[2], (unsigned long long)key[3]);
}

static int read_all(int fd, void *p, uint64_t n)
{
	for (char *at = p; n;) {
		ssize_t got = read(fd, at, n);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return 0;
		at += got;
		n -= (uint64_t)got;
	}
	return 1;
}

/* header and bytes of an open file, checked.  TN_E_ARG: it is not what it says */
static int32_t read_entry(int fd, const uint64_t key[4], void **bytes, uint64_t *size)
{
	struct stat st;
	struct header h;
	unsigned char hash[32];
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof h || !read_all(fd, &h, sizeof h)) return TN_E_ARG;
	if (h.magic != MAGIC || memcmp(h.key, key, sizeof h.key) || h.size > LIMIT || h.size != (uint64_t)st.st_size - sizeof h) return TN_E_ARG;
	void *p = malloc(h.size ? h.size : 1);
	if (!p) return TN_E_NOMEM;
	if (!read_all(fd, p, h.size) || crypto_generichash(hash, sizeof hash, p, h.size, NULL, 0) || memcmp(hash, h.hash, sizeof hash)) {
		free(p);
		return TN_E_ARG;
	}
	*bytes = p;
	*size = h.size;
	return TN_OK;
}

int32_t tn_cache_get(struct tn_cache *c, const uint64_t key[4], void **bytes, uint64_t *size)
{
	char name[72];
	name_of(key, name);
	*bytes = NULL;
	*size = 0;
	int fd = openat(c->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) return TN_E_GONE;
	int32_t st = read_entry(fd, key, bytes, size);
	close(fd);
	if (st != TN_E_ARG) return st;
	unlinkat(c->fd, name, 0);
	if (!atomic_fetch_add(&c->warned_bad, 1)) say(c, name, "damaged entry, removed");
	return TN_E_GONE;
}

static int write_all(int fd, const void *p, uint64_t n)
{
	for (const char *at = p; n;) {
		ssize_t put = write(fd, at, n);
		if (put < 0 && errno == EINTR) continue;
		if (put <= 0) return 0;
		at += put;
		n -= (uint64_t)put;
	}
	return 1;
}

int32_t tn_cache_put(struct tn_cache *c, const uint64_t key[4], const void *bytes, uint64_t size)
{
	char name[72], temp[120];
	struct header h = { .magic = MAGIC, .size = size };
	if (size > LIMIT) return TN_E_RANGE;
	name_of(key, name);
	snprintf(temp, sizeof temp, "%s.%08x%08x", name, randombytes_random(), randombytes_random());   /* process numbers repeat across containers */
	memcpy(h.key, key, sizeof h.key);
	crypto_generichash(h.hash, sizeof h.hash, bytes, size, NULL, 0);
	int fd = openat(c->fd, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int ok = fd >= 0 && write_all(fd, &h, sizeof h) && write_all(fd, bytes, size);
	int e = errno;
	if (fd >= 0 && close(fd)) { ok = 0; e = errno; }
	if (ok && renameat(c->fd, temp, c->fd, name)) { ok = 0; e = errno; }
	if (ok) return TN_OK;
	if (fd >= 0) unlinkat(c->fd, temp, 0);
	if (!atomic_fetch_add(&c->warned_write, 1)) say(c, "cannot be written", strerror(e));
	return TN_E_CALL;
}
