/* pool_test.c - the thread team: every item once, teams that meet, nesting, many callers, few cores, quotas */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/pool.h"

enum { ITEMS = 1000 };
struct count { struct tn_pool *p; uint32_t hits[ITEMS]; uint32_t inner; };

static void hit(void *arg, uint64_t i)
{
	struct count *c = arg;
	__atomic_fetch_add(&c->hits[i], 1u, __ATOMIC_RELAXED);
}

static void check_hits(const struct count *c, uint64_t n, uint32_t each)
{
	for (uint64_t i = 0; i < ITEMS; i++)
		assert_int_equal(c->hits[i], i < n ? each : 0);
}

static void test_every_item_once(void **state)
{
	(void)state;
	for (uint32_t threads = 1; threads <= 9; threads += 2) {
		struct tn_pool *p = tn_pool_create(threads);
		assert_int_equal(tn_pool_threads(p), threads);
		for (uint64_t n = 0; n <= ITEMS; n = n < 20 ? n + 1 : n * 7) {
			struct count c = { .p = p };
			for (int again = 0; again < 5; again++)
				tn_pool_parallel(p, n, hit, &c);
			check_hits(&c, n, 5);
		}
		tn_pool_destroy(p);
	}
	tn_pool_destroy(NULL);
}

/* Regions after pauses of all lengths around the spin time: a lost wake-up would hang. */
static void test_sleepers_wake(void **state)
{
	(void)state;
	struct tn_pool *p = tn_pool_create(3);
	struct count c = { .p = p };
	for (unsigned i = 0; i < 300; i++) {
		tn_pool_parallel(p, 8, hit, &c);
		usleep(i % 60);
	}
	check_hits(&c, 8, 300);
	tn_pool_destroy(p);
}

static void slow_hit(void *arg, uint64_t i)
{
	usleep(i ? 2000 : 20);
	hit(arg, i);
}

/* The caller is done first and has to sleep until the others are. */
static void test_caller_waits(void **state)
{
	(void)state;
	struct tn_pool *p = tn_pool_create(2);
	for (uint32_t again = 0; again < 20; again++) {
		struct count c = { .p = p };
		tn_pool_parallel(p, 3, slow_hit, &c);
		check_hits(&c, 3, 1);
	}
	tn_pool_destroy(p);
}

struct meeting { struct tn_barrier b; uint32_t at[16], n, ranks; struct tn_pool *p; };

/* After each meeting everyone has written the round before. */
static void meet(void *arg, uint32_t rank, uint32_t n)
{
	struct meeting *m = arg;
	m->at[rank] = 0;
	__atomic_fetch_or(&m->ranks, 1u << rank, __ATOMIC_RELAXED);
	for (uint32_t round = 1; round < 200; round++) {
		m->at[rank] = round;
		tn_barrier_wait(&m->b, n);
		for (uint32_t r = 0; r < n; r++)
			if (m->at[r] != round)
				__atomic_store_n(&m->n, 99u, __ATOMIC_RELAXED);
		tn_barrier_wait(&m->b, n);
		if (round % 50 == 0 && rank == 0)
			usleep(200);   /* the others fall asleep in the barrier */
	}
}

static void test_team_meets(void **state)
{
	(void)state;
	for (uint32_t threads = 1; threads <= 5; threads++) {
		struct tn_pool *p = tn_pool_create(threads);
		for (int again = 0; again < 3; again++) {
			struct meeting m = { .p = p };
			tn_pool_team(p, meet, &m);
			assert_int_equal(m.n, 0);
			assert_int_equal(m.ranks, (1u << threads) - 1);
		}
		tn_pool_destroy(p);
	}
}

static void inner_team(void *arg, uint32_t rank, uint32_t n)
{
	struct count *c = arg;
	if (rank == 0 && n == 1)
		__atomic_fetch_add(&c->inner, 1u, __ATOMIC_RELAXED);
}

static void nest(void *arg, uint64_t i)
{
	struct count *c = arg;
	(void)i;
	tn_pool_parallel(c->p, 100, hit, c);
	tn_pool_team(c->p, inner_team, c);
}

static void test_nested_runs_inline(void **state)
{
	(void)state;
	struct tn_pool *p = tn_pool_create(4);
	struct count c = { .p = p };
	tn_pool_parallel(p, 50, nest, &c);
	check_hits(&c, 100, 50);
	assert_int_equal(c.inner, 50);
	tn_pool_destroy(p);
}

static void *caller(void *arg)
{
	struct count *c = arg;
	for (int i = 0; i < 200; i++) {
		struct meeting m = { .p = c->p };
		tn_pool_parallel(c->p, ITEMS, hit, c);
		if (i % 50 == 0) {
			tn_pool_team(c->p, meet, &m);
			__atomic_fetch_or(&c->inner, m.n, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void test_many_callers(void **state)
{
	(void)state;
	struct count c = { .p = tn_pool_create(3) };
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, caller, &c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	check_hits(&c, ITEMS, 800);
	assert_int_equal(c.inner, 0);
	tn_pool_destroy(c.p);
}

static void test_threads_variable(void **state)
{
	(void)state;
	static const struct { const char *text; uint32_t n; } rows[] = {
		{ "3", 3 }, { "1", 1 }, { "0", 0 }, { "-2", 0 }, { "2x", 0 }, { "", 0 }, { "99999999999999999999999", 0 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		setenv("TENON_THREADS", rows[i].text, 1);
		struct tn_pool *p = tn_pool_create(0);
		assert_int_equal(tn_pool_threads(p), rows[i].n ? rows[i].n : tn_cores());
		tn_pool_destroy(p);
	}
	unsetenv("TENON_THREADS");
}

static char root[64];

static void put(const char *path, const char *text)
{
	char full[512];
	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *s = full + strlen(root) + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = 0;
		mkdir(full, 0700);
	}
	FILE *f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_quotas(void **state)
{
	(void)state;
	snprintf(root, sizeof root, "/tmp/pool_test.XXXXXX");
	assert_non_null(mkdtemp(root));
	assert_int_equal(tn_cores_quota(root), UINT32_MAX);
	put("proc/self/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	assert_int_equal(tn_cores_quota(root), UINT32_MAX);
	put("sys/fs/cgroup/a/cpu.max", "250000 100000\n");          /* the parent's limit, rounded up */
	assert_int_equal(tn_cores_quota(root), 3);
	put("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/c\n");
	put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
	put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
	assert_int_equal(tn_cores_quota(root), UINT32_MAX);
	put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "150000\n");
	assert_int_equal(tn_cores_quota(root), 2);
	put("proc/self/cgroup", "0::/gone\n");                       /* a path of another namespace: the mount's own file counts */
	put("sys/fs/cgroup/cpu.max", "100000 100000\n");
	assert_int_equal(tn_cores_quota(root), 1);
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_item_once), cmocka_unit_test(test_sleepers_wake), cmocka_unit_test(test_caller_waits),
		cmocka_unit_test(test_team_meets), cmocka_unit_test(test_nested_runs_inline), cmocka_unit_test(test_many_callers),
		cmocka_unit_test(test_threads_variable), cmocka_unit_test(test_quotas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
