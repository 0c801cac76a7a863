/* base_test.c - diag, arena, text, map, hash, and every allocation failing in turn */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"

static int64_t fail_in;   /* 1: the next allocation fails */
void *tn_sys_alloc(size_t size)
{
	return fail_in && !--fail_in ? NULL : calloc(1, size);
}

struct ctx { struct tn_diag d; struct tn_arena a; int steps; };

static void raise_inner(void *arg)
{
	struct ctx *c = arg;
	c->steps++;
	tn_raise(&c->d, TN_E_ARG, "dims %d and %d", 4, 5);
}

static void raise_outer(void *arg)
{
	struct ctx *c = arg;
	assert_int_equal(tn_protect(&c->d, raise_inner, c), TN_E_ARG);
	c->steps += 10;
	tn_raise(&c->d, TN_E_RANGE, "%s, at g.tn:12", c->d.text);
}

static void test_protect_nests(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	assert_int_equal(tn_protect(&c.d, raise_outer, &c), TN_E_RANGE);
	assert_string_equal(c.d.text, "dims 4 and 5, at g.tn:12");
	assert_int_equal(c.steps, 11);
	assert_null(c.d.escape);
}

static void test_fail_cuts_long_text(void **state)
{
	(void)state;
	struct tn_diag d = { 0 };
	assert_int_equal(tn_fail(&d, TN_E_GONE, "%2000d", 7), TN_E_GONE);
	assert_int_equal(strlen(d.text), sizeof d.text - 1);
}

static void test_alloc_zeroed_aligned(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	tn_arena_init(&c.a, &c.d);
	tn_arena_alloc(&c.a, 1);
	struct tn_mark m = tn_arena_mark(&c.a);
	for (int round = 0; round < 2; round++) {   /* the second round finds a block that was used */
		for (size_t size = 0; size < 3000; size += 37) {
			unsigned char *p = tn_arena_alloc(&c.a, size);
			assert_int_equal((uintptr_t)p % 16, 0);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(p[i], 0);
			memset(p, 0xa5, size);
		}
		tn_arena_reset(&c.a, m);
	}
	tn_arena_fini(&c.a);
	tn_arena_fini(&c.a);
}

static char order[8];
static void note(void *arg)
{
	strcat(order, arg);
}

static void test_deferred_newest_first(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	order[0] = 0;
	tn_arena_init(&c.a, &c.d);
	tn_arena_defer(&c.a, note, (char[]){ "a" });
	struct tn_mark m = tn_arena_mark(&c.a);
	tn_arena_defer(&c.a, note, (char[]){ "b" });
	tn_arena_alloc(&c.a, 1 << 21);
	tn_arena_defer(&c.a, note, (char[]){ "c" });
	tn_arena_reset(&c.a, m);
	assert_string_equal(order, "cb");
	tn_arena_fini(&c.a);
	assert_string_equal(order, "cba");
}

static void too_big(void *arg)
{
	struct ctx *c = arg;
	tn_array(&c->a, uint64_t, SIZE_MAX / 4);
}

static void far_too_big(void *arg)
{
	struct ctx *c = arg;
	tn_arena_alloc(&c->a, SIZE_MAX - 8);
}

static void narrow_count(void *arg)
{
	struct ctx *c = arg;
	uint8_t n = 0, cap = 0;
	int *v = NULL;
	for (int i = 0; i < 1000; i++)
		*tn_push(&c->a, v, n, cap) = i;
}

static void test_sizes_that_overflow(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	tn_arena_init(&c.a, &c.d);
	assert_int_equal(tn_protect(&c.d, too_big, &c), TN_E_RANGE);
	assert_int_equal(tn_protect(&c.d, far_too_big, &c), TN_E_NOMEM);
	assert_int_equal(tn_protect(&c.d, narrow_count, &c), TN_E_RANGE);
	tn_arena_fini(&c.a);
}

static void test_push_keeps_order(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	uint32_t n = 0, cap = 0;
	int *v = NULL, *first = NULL;
	tn_arena_init(&c.a, &c.d);
	for (int i = 0; i < 5000; i++) {
		*tn_push(&c.a, v, n, cap) = i;
		first = first ? first : v;
	}
	for (int i = 0; i < 5000; i++)
		assert_int_equal(v[i], i);
	assert_int_equal(n, 5000);
	assert_int_equal(first[7], 7);   /* what was replaced stays readable */
	tn_arena_fini(&c.a);
}

static void test_text(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	tn_arena_init(&c.a, &c.d);
	struct tn_text t = { .arena = &c.a };
	size_t want = 0;
	for (int i = 0; i < 2000; i++, want += 5) {
		tn_text_add(&t, "%04d", i);
		tn_text_put(&t, ";", 1);
		assert_int_equal(t.at[t.len], 0);
	}
	assert_int_equal(t.len, want);
	assert_memory_equal(t.at + 5 * 1234, "1234;", 5);
	struct tn_text exact = { .arena = &c.a };   /* a piece as long as the room */
	tn_text_add(&exact, "%128d", 1);
	tn_text_add(&exact, "%*d", (int)(exact.cap - exact.len), 1);
	assert_int_equal(strlen(exact.at), exact.len);
	struct tn_text none = { .arena = &c.a };
	tn_text_put(&none, NULL, 0);
	assert_string_equal(none.at, "");
	assert_string_equal(tn_printf(&c.a, "%s-%d", tn_strdup(&c.a, "x"), 7), "x-7");
	tn_arena_fini(&c.a);
}

static void test_map(void **state)
{
	(void)state;
	struct ctx c = { 0 };
	tn_arena_init(&c.a, &c.d);
	struct tn_map m = { .arena = &c.a };
	assert_null(tn_map_find(&m, "a", 1));
	for (uint64_t i = 0; i < 3000; i++)
		*tn_map_at(&m, &i, sizeof i) = i * 3 + 1;
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(*tn_map_find(&m, &i, sizeof i), i * 3 + 1);
	assert_int_equal(m.n, 3000);
	assert_int_equal(*tn_map_at(&m, "", 0), 0);
	*tn_map_at(&m, "", 0) = 9;
	assert_int_equal(*tn_map_find(&m, NULL, 0), 9);
	assert_null(tn_map_find(&m, "absent", 6));
	tn_arena_fini(&c.a);
}

/* Length and every bit count, and low bits spread (they pick the slot). */
static void test_hash(void **state)
{
	(void)state;
	unsigned char z[40] = { 0 };
	uint64_t seen[40 * 9];
	size_t n = 0;
	for (size_t len = 0; len < 40; len++)
		seen[n++] = tn_hash(z, len);
	for (size_t bit = 0; bit < 320; bit++) {
		z[bit / 8] = (unsigned char)(1u << bit % 8);
		seen[n++] = tn_hash(z, 40);
		z[bit / 8] = 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(seen[i], seen[j]);
	unsigned used = 0, slot[256] = { 0 };
	for (uint64_t i = 0; i < 256; i++)
		used += !slot[tn_hash(&i, 8) & 255]++;
	assert_true(used > 130);   /* 256 balls in 256 boxes fill 162 on average, sd 6 */
}

static void close_it(void *arg)
{
	--*(int *)arg;
}

static void much_work(void *arg)
{
	struct ctx *c = arg;
	struct tn_map m = { .arena = &c->a };
	struct tn_text t = { .arena = &c->a };
	uint32_t n = 0, cap = 0;
	int *v = NULL;
	for (int i = 0; i < 400; i++) {
		c->steps++;
		tn_arena_defer(&c->a, close_it, &c->steps);
		*tn_push(&c->a, v, n, cap) = i;
		*tn_map_at(&m, &i, sizeof i) = 1;
		tn_text_add(&t, "%s", tn_printf(&c->a, "%d", i));
	}
}

static void test_every_allocation_fails(void **state)
{
	(void)state;
	int64_t k = 1;
	for (;; k++) {
		struct ctx c = { 0 };
		tn_arena_init(&c.a, &c.d);
		fail_in = k;
		int32_t code = tn_protect(&c.d, much_work, &c);
		fail_in = 0;
		tn_arena_fini(&c.a);
		assert_int_equal(c.steps, 0);   /* all that was opened was closed */
		if (code == TN_OK)
			break;
		assert_int_equal(code, TN_E_NOMEM);
	}
	assert_true(k > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protect_nests), cmocka_unit_test(test_fail_cuts_long_text),
		cmocka_unit_test(test_alloc_zeroed_aligned), cmocka_unit_test(test_deferred_newest_first),
		cmocka_unit_test(test_sizes_that_overflow), cmocka_unit_test(test_push_keeps_order),
		cmocka_unit_test(test_text), cmocka_unit_test(test_map), cmocka_unit_test(test_hash),
		cmocka_unit_test(test_every_allocation_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
