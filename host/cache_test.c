/* cache_test.c - what is put comes back; a cache that can't be used, is full, or holds garbage costs a warning and nothing else */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/types.h>
#include <unistd.h>
#include "host/cache.h"

static char folder[64], warned[4096];
static const uint64_t key[4] = { 0x0123456789abcdef, 2, 3, UINT64_MAX };

static void warn(void *ctx, const char *text)
{
	(void)ctx;
	size_t n = strlen(warned);
	snprintf(warned + n, sizeof warned - n, "%s\n", text);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tenon_cache_XXXXXX");
	warned[0] = 0;
	return mkdtemp(folder) ? 0 : -1;
}

static unsigned empty_folder(const char *path)
{
	unsigned n = 0;
	char name[600];
	DIR *d = opendir(path);
	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		snprintf(name, sizeof name, "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.') n += !remove(name) || 1;
	}
	if (d) closedir(d);
	return n;
}

static int teardown(void **state)
{
	(void)state;
	chmod(folder, 0700);
	empty_folder(folder);
	rmdir(folder);
	return 0;
}

static char *entry_path(void)
{
	static char path[200];
	snprintf(path, sizeof path, "%s/%016llx%016llx%016llx%016llx", folder, (unsigned long long)key[0], (unsigned long long)key[1], (unsigned long long)key[2], (unsigned long long)key[3]);
	return path;
}

static void expect_entry(struct tn_cache *c, const void *bytes, uint64_t size)
{
	void *p;
	uint64_t n;
	assert_int_equal(tn_cache_get(c, key, &p, &n), TN_OK);
	assert_true(n == size);
	if (n) assert_memory_equal(p, bytes, n);
	free(p);
}

static void expect_none(struct tn_cache *c)
{
	void *p = &p;
	uint64_t n = 7;
	assert_int_equal(tn_cache_get(c, key, &p, &n), TN_E_GONE);
	assert_null(p);
	assert_true(n == 0);
}

static void test_round_trip(void **state)
{
	(void)state;
	struct stat st;
	char deep[100];
	snprintf(deep, sizeof deep, "%s/a/b", folder);
	struct tn_cache *c = tn_cache_open(deep, warn, NULL);
	assert_non_null(c);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	expect_none(c);
	assert_int_equal(tn_cache_put(c, key, "kernel", 6), TN_OK);
	expect_entry(c, "kernel", 6);
	assert_int_equal(tn_cache_put(c, key, "", 0), TN_OK);              /* the newest put counts */
	expect_entry(c, "", 0);
	tn_cache_close(c);
	c = tn_cache_open(deep, warn, NULL);
	expect_entry(c, "", 0);
	tn_cache_close(c);
	assert_int_equal(empty_folder(deep), 1);                           /* nothing but the entry */
	rmdir(deep);
	assert_string_equal(warned, "");
	tn_cache_close(NULL);
	assert_string_equal(tn_cache_dir(NULL), "");
	assert_null(tn_cache_open("", warn, NULL));
}

static void test_which_folder(void **state)
{
	(void)state;
	char want[200];
	setenv("TENON_CACHE_DIR", folder, 1);
	struct tn_cache *c = tn_cache_open(NULL, warn, NULL);
	assert_string_equal(tn_cache_dir(c), folder);
	tn_cache_close(c);
	unsetenv("TENON_CACHE_DIR");
	setenv("XDG_CACHE_HOME", folder, 1);
	snprintf(want, sizeof want, "%s/tenon", folder);
	c = tn_cache_open(NULL, warn, NULL);
	assert_string_equal(tn_cache_dir(c), want);
	tn_cache_close(c);
	rmdir(want);
	setenv("XDG_CACHE_HOME", "relative", 1);                           /* the specification: ignored */
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	setenv("HOME", folder, 1);
	snprintf(want, sizeof want, "%s/.cache/tenon", folder);
	c = tn_cache_open(NULL, warn, NULL);
	assert_string_equal(tn_cache_dir(c), want);
	tn_cache_close(c);
	rmdir(want);
	snprintf(want, sizeof want, "%s/.cache", folder);
	rmdir(want);
	if (home) setenv("HOME", home, 1);
	free(home);
	unsetenv("XDG_CACHE_HOME");
}

/* every way in which an entry can be wrong: told once, removed, and the next put works */
static void spoil(int how)
{
	char *path = entry_path(), other[300];
	int fd = open(path, O_RDWR);
	switch (how) {
	case 0: assert_int_equal(ftruncate(fd, 0), 0); break;
	case 1: assert_int_equal(ftruncate(fd, 50), 0); break;
	case 2: assert_int_equal(ftruncate(fd, 85), 0); break;
	case 3: assert_int_equal(pwrite(fd, "X", 1, 0), 1); break;         /* magic */
	case 4: assert_int_equal(pwrite(fd, "\377", 1, 8), 1); break;      /* size */
	case 5: assert_int_equal(pwrite(fd, "X", 1, 20), 1); break;        /* key */
	case 6: assert_int_equal(pwrite(fd, "X", 1, 60), 1); break;        /* hash */
	case 7: assert_int_equal(pwrite(fd, "K", 1, 82), 1); break;        /* bytes */
	case 8: assert_int_equal(pwrite(fd, "more", 4, 86), 4); break;
	case 9:                                                            /* a link to a good entry elsewhere: not followed */
		snprintf(other, sizeof other, "%s/other", folder);
		assert_int_equal(rename(path, other), 0);
		assert_int_equal(symlink(other, path), 0);
		break;
	case 10: unlink(path); mkfifo(path, 0600); break;
	default: unlink(path); assert_int_equal(mkdir(path, 0700), 0); break;
	}
	close(fd);
}

static void test_damaged_entries(void **state)
{
	(void)state;
	for (int how = 0; how < 12; how++) {
		struct tn_cache *c = tn_cache_open(folder, warn, NULL);
		assert_int_equal(tn_cache_put(c, key, "kernel", 6), TN_OK);
		spoil(how);
		warned[0] = 0;
		expect_none(c);
		if (how != 9) assert_non_null(strstr(warned, "damaged entry, removed"));
		size_t once = strlen(warned);
		expect_none(c);
		assert_int_equal(strlen(warned), once);
		if (how == 11) rmdir(entry_path());
		assert_int_equal(tn_cache_put(c, key, "kernel", 6), TN_OK);
		expect_entry(c, "kernel", 6);
		tn_cache_close(c);
		empty_folder(folder);
	}
}

static void test_random_entries(void **state)
{
	(void)state;
	struct tn_cache *c = tn_cache_open(folder, warn, NULL);
	uint32_t seed = 7;
	for (int i = 0; i < 500; i++) {
		unsigned char junk[200];
		for (size_t k = 0; k < sizeof junk; k++) junk[k] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
		FILE *f = fopen(entry_path(), "wb");
		assert_non_null(f);
		fwrite(junk, 1, seed % sizeof junk, f);
		fclose(f);
		expect_none(c);
	}
	tn_cache_close(c);
}

/* ---- folders that can't be used */
static void test_refused_folders(void **state)
{
	(void)state;
	static const mode_t modes[] = { 0770, 0720, 0702, 0777, 01777 };
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		chmod(folder, modes[i]);
		warned[0] = 0;
		assert_null(tn_cache_open(folder, warn, NULL));
		assert_non_null(strstr(warned, "running without a cache"));
	}
	chmod(folder, 0700);
	char file[200];
	snprintf(file, sizeof file, "%s/file", folder);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	warned[0] = 0;
	assert_null(tn_cache_open(file, warn, NULL));
	assert_non_null(strstr(warned, "running without a cache: Not a directory"));
	strcat(file, "/below");
	assert_null(tn_cache_open(file, warn, NULL));
}

/* in a child without rights: status 0 when all was as it should be */
static int run_as_nobody(int (*f)(void))
{
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534))) _exit(99);
		_exit(f());
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int others_folder(void)
{
	char below[100];
	if (tn_cache_open(folder, warn, NULL)) return 1;                   /* root's */
	snprintf(below, sizeof below, "%s/mine", folder);
	if (tn_cache_open(below, warn, NULL)) return 2;
	return strstr(warned, "running without a cache: Permission denied") ? 0 : 3;
}

static int read_only_folder(void)
{
	char mine[] = "/tmp/tenon_nobody_XXXXXX";
	if (!mkdtemp(mine)) return 1;
	struct tn_cache *c = tn_cache_open(mine, warn, NULL);
	if (!c || chmod(mine, 0500)) return 2;
	int32_t one = tn_cache_put(c, key, "kernel", 6), two = tn_cache_put(c, key, "kernel", 6);
	const char *at = strstr(warned, "cannot be written: Permission denied");
	int ok = one == TN_E_CALL && two == TN_E_CALL && at && !strstr(at + 1, "cannot be written");
	tn_cache_close(c);
	rmdir(mine);
	return ok ? 0 : 3;
}

static void test_not_writable(void **state)
{
	(void)state;
	if (geteuid() == 0) assert_int_equal(run_as_nobody(others_folder), 0);
	assert_int_equal(run_as_nobody(read_only_folder), 0);
}

/* ---- full */
static void expect_full(struct tn_cache *c, const char *reason)
{
	char *big = calloc(1, 300000);
	warned[0] = 0;
	assert_int_equal(tn_cache_put(c, key, "small", 5), TN_OK);
	assert_int_equal(tn_cache_put(c, key, big, 300000), TN_E_CALL);
	assert_non_null(strstr(warned, reason));
	expect_entry(c, "small", 5);                                       /* what was there is still there */
	free(big);
}

static void test_full(void **state)
{
	(void)state;
	struct tn_cache *c = tn_cache_open(folder, warn, NULL);
	struct rlimit old, low = { 65536, 65536 };
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &low);
	expect_full(c, "cannot be written: File too large");
	setrlimit(RLIMIT_FSIZE, &old);
	tn_cache_close(c);
	assert_int_equal(empty_folder(folder), 1);                         /* nothing half-written stays */
	if (mount("tmpfs", folder, "tmpfs", 0, "size=128k,mode=0700")) return;     /* no right to: the limit above has to do */
	c = tn_cache_open(folder, warn, NULL);
	expect_full(c, "cannot be written: No space left on device");
	tn_cache_close(c);
	unsigned left = empty_folder(folder);
	assert_int_equal(umount(folder), 0);
	assert_int_equal(left, 1);
}

/* ---- two processes at once */
static int fill(unsigned rounds)
{
	unsigned char bytes[4096];
	struct tn_cache *c = tn_cache_open(folder, warn, NULL);
	if (!c) return 1;
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t k[4] = { i % 16, 0, 0, 1 }, n;
		void *p;
		memset(bytes, (int)(i % 16), sizeof bytes);
		if (tn_cache_get(c, k, &p, &n) == TN_OK) {
			int same = n == sizeof bytes && !memcmp(p, bytes, n);
			free(p);
			if (!same) return 2;
		}
		if (tn_cache_put(c, k, bytes, sizeof bytes) != TN_OK) return 3;
	}
	tn_cache_close(c);
	return *warned ? 4 : 0;
}

static void test_two_processes(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0) _exit(fill(2000));
	int mine = fill(2000), status = 0;
	waitpid(pid, &status, 0);
	assert_int_equal(mine, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(empty_folder(folder), 16);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip), TEST(test_which_folder), TEST(test_damaged_entries), TEST(test_random_entries), TEST(test_refused_folders), TEST(test_not_writable),
		TEST(test_full), TEST(test_two_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
