/* size_test.c - sizes fold to one form, keep their value and their bounds, and print what parses back */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/ir.h"
#include <stdio.h>
#include <string.h>

struct pair { const char *a, *b; };

/* n, m: 0 and up; p: 1 and up; k: 0 to 63; q: 5 to 9 */
static struct tn_ir *with_symbols(struct tn_arena *a)
{
	struct tn_ir *ir = tn_ir_create(a, "sizes");
	tn_size_sym(ir, "n", 0, TN_SIZE_UNBOUNDED);
	tn_size_sym(ir, "m", 0, TN_SIZE_UNBOUNDED);
	tn_size_sym(ir, "p", 1, TN_SIZE_UNBOUNDED);
	tn_size_sym(ir, "k", 0, 63);
	tn_size_sym(ir, "q", 5, 9);
	return ir;
}

static void equal_f(void *arg)
{
	static const struct pair pairs[] = {
		{ "n*2 + n", "3*n" }, { "(n*64) div 64", "n" }, { "(n*64 + k) mod 64", "k" }, { "(n*64 + k) div 64", "n" }, { "k div 64", "0" },
		{ "(n + m)*(n - m)", "n*n - m*m" }, { "m + n", "n + m" }, { "n*m*2", "2*m*n" }, { "(n*6) div 4", "n + n div 2" }, { "(2*n + 1) div 4", "n div 2" },
		{ "(2*n) mod 4", "2*(n mod 2)" }, { "(n div 3) div 5", "n div 15" }, { "(n*p) div p", "n" }, { "(n*p + m*p) div p", "n + m" },
		{ "(n*p) mod p", "0" }, { "(n*p*3) div (p*2)", "(3*n) div 2" }, { "(n*p + n) div (p + 1)", "n" }, { "max(n, 0)", "n" }, { "min(n, -1)", "-1" },
		{ "max(q, 3)", "q" }, { "min(q, 3)", "3" }, { "max(n, n + 1)", "n + 1" }, { "min(n, m, n)", "min(m, n)" }, { "max(max(n, 3), max(5, m))", "max(m, n, 5)" },
		{ "min(k, 100) - k", "0" }, { "(-7) div 2", "-4" }, { "(-7) mod 2", "1" }, { "7 mod (-2)", "-1" }, { "n div 1", "n" }, { "n mod 1", "0" },
		{ "(n + 63) div 64*64 mod 64", "0" },
	};
	struct tn_ir *ir = with_symbols(arg);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		const uint32_t a = tn_size_parse(ir, pairs[i].a), b = tn_size_parse(ir, pairs[i].b);
		struct tn_text t = { .arena = arg };
		tn_size_print(&t, &ir->g, a);
		if (a != b)
			fail_msg("%s is %s, not %s", pairs[i].a, t.at, pairs[i].b);
	}
}

static void compare_f(void *arg)
{
	static const struct { const char *a, *b; int eq, le; } cases[] = {
		{ "n", "m", -1, -1 }, { "n", "n + 1", 0, 1 }, { "n + 1", "n", 0, 0 }, { "k", "63", -1, 1 }, { "k", "64", 0, 1 }, { "q", "4", 0, 0 }, { "n", "n*p", -1, -1 },
		{ "n div 4*4", "n", -1, 1 }, { "n", "n div 4*4 + n mod 4", 1, 1 }, { "n mod 4", "3", -1, 1 }, { "min(n, 8)", "n", -1, -1 }, { "0", "n", -1, 1 },
	};
	struct tn_ir *ir = with_symbols(arg);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const uint32_t a = tn_size_parse(ir, cases[i].a), b = tn_size_parse(ir, cases[i].b);
		if (tn_size_eq(ir, a, b) != cases[i].eq || tn_size_le(ir, a, b) != cases[i].le)
			fail_msg("%s and %s: equal %d, at most %d", cases[i].a, cases[i].b, tn_size_eq(ir, a, b), tn_size_le(ir, a, b));
	}
}

static void narrow_f(void *arg)
{
	struct tn_ir *ir = tn_ir_create(arg, NULL);
	const uint32_t n = tn_size_sym(ir, "n", 0, TN_SIZE_UNBOUNDED), twice = tn_size_parse(ir, "n*2 + 1");
	assert_int_equal(tn_size_sym(ir, "n", 2, 10), n);
	assert_int_equal(ir->g.sizes.at[twice].lo, 5);
	assert_int_equal(ir->g.sizes.at[twice].hi, 21);
	assert_int_equal(tn_size_parse(ir, "min(n, 50)"), n);
	const uint32_t fresh = tn_size_sym(ir, NULL, 0, 5);
	assert_int_not_equal(fresh, tn_size_sym(ir, NULL, 0, 5));
	assert_int_equal(ir->g.n_symbols, 3);
}

/* ---- random expressions: the folded one against the one that was built */
static uint64_t seed = 88172645463325252u;

static uint32_t draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % n;
}

struct expr { uint32_t op; int a, b; int64_t value; };

/* value, or INT64_MIN; divisors are made positive as the sizes below are */
static int64_t direct(const struct expr *e, int at, const int64_t *symbols)
{
	const struct expr *x = &e[at];
	if (x->op == TN_SIZE_CONST)
		return x->value;
	if (x->op == TN_SIZE_SYM)
		return symbols[x->value];
	const int64_t a = direct(e, x->a, symbols), b = direct(e, x->b, symbols);
	switch (x->op) {
	case TN_SIZE_ADD: return a + b;
	case TN_SIZE_MUL: return a * b;
	case TN_SIZE_DIV: return a >= 0 ? a / b : -((-a + b - 1) / b);
	case TN_SIZE_MOD: return ((a % b) + b) % b;
	case TN_SIZE_MIN: return a < b ? a : b;
	default: return a > b ? a : b;
	}
}

static int make(struct tn_ir *ir, struct expr *e, uint32_t *size, int *n, uint32_t depth)
{
	static const char *const names[] = { "n", "m", "p", "k", "q" };
	struct expr x = { .op = TN_SIZE_CONST };
	uint32_t r;
	if (depth == 0 || draw(4) == 0) {
		if (draw(2)) {
			x.op = TN_SIZE_SYM;
			x.value = draw(5);
			r = tn_size_parse(ir, names[x.value]);
		} else {
			x.value = (int64_t)draw(20) - 6;
			r = tn_size_const(ir, x.value);
		}
	} else {
		static const uint32_t ops[] = { TN_SIZE_ADD, TN_SIZE_ADD, TN_SIZE_MUL, TN_SIZE_DIV, TN_SIZE_MOD, TN_SIZE_MIN, TN_SIZE_MAX };
		x.op = ops[draw(7)];
		x.a = make(ir, e, size, n, depth - 1);
		if (x.op == TN_SIZE_DIV || x.op == TN_SIZE_MOD) {
			struct expr y = { .op = draw(4) ? TN_SIZE_CONST : TN_SIZE_SYM, .value = 2 };
			y.value = y.op == TN_SIZE_CONST ? 1 + draw(12) : 2 + 2 * draw(2);      /* p or q: both positive */
			size[*n] = y.op == TN_SIZE_CONST ? tn_size_const(ir, y.value) : tn_size_parse(ir, names[y.value]);
			e[*n] = y;
			x.b = (*n)++;
		} else {
			x.b = make(ir, e, size, n, depth - 1);
		}
		r = tn_size_op(ir, x.op, size[x.a], size[x.b]);
	}
	size[*n] = r;
	e[*n] = x;
	return (*n)++;
}

static void check_one(struct tn_ir *ir, const struct expr *e, int top, uint32_t size)
{
	for (int i = 0; i < 40; i++) {
		const int64_t symbols[5] = { draw(300), draw(40), 1 + draw(30), draw(64), 5 + draw(5) };
		const int64_t want = direct(e, top, symbols), got = tn_size_eval(&ir->g.sizes, size, symbols);
		const struct tn_size *row = &ir->g.sizes.at[size];
		if (want != got || got < row->lo || got > row->hi) {
			struct tn_text t = { .arena = ir->arena };
			tn_size_print(&t, &ir->g, size);
			fail_msg("%s (bounds %lld, %lld) gives %lld, not %lld, for n %lld m %lld p %lld k %lld q %lld", t.at, (long long)row->lo, (long long)row->hi,
				(long long)got, (long long)want, (long long)symbols[0], (long long)symbols[1], (long long)symbols[2], (long long)symbols[3], (long long)symbols[4]);
		}
	}
}

struct random { struct tn_arena *a; struct tn_ir *ir; struct expr e[256]; uint32_t size[256]; int n; uint32_t kept; };

static void random_f(void *arg)
{
	struct random *r = arg;
	r->n = 0;
	const int top = make(r->ir, r->e, r->size, &r->n, 1 + draw(5));
	const uint32_t size = r->size[top];
	struct tn_text t = { .arena = r->a };
	check_one(r->ir, r->e, top, size);
	tn_size_print(&t, &r->ir->g, size);
	if (tn_size_parse(r->ir, t.at) != size)
		fail_msg("%s does not parse back to itself", t.at);
	struct tn_ir *other = with_symbols(r->a);
	const uint32_t copy = tn_size_import(other, &r->ir->g, size);
	struct tn_text u = { .arena = r->a };
	tn_size_print(&u, &other->g, copy);
	assert_string_equal(t.at, u.at);
	r->kept++;
}

static void run(void (*f)(void *))
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	tn_arena_init(&a, &d);
	if (tn_protect(&d, f, &a) != TN_OK)
		fail_msg("%s", d.text);
	tn_arena_fini(&a);
}

static void equal(void **state) { (void)state; run(equal_f); }
static void compare(void **state) { (void)state; run(compare_f); }
static void narrow(void **state) { (void)state; run(narrow_f); }

static void start_f(void *arg)
{
	struct random *r = arg;
	r->ir = with_symbols(r->a);
}

static void random_expressions(void **state)
{
	static struct random r;
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)state;
	r.a = &a;
	for (int i = 0; i < 3000; i++) {
		tn_arena_init(&a, &d);
		tn_protect(&d, start_f, &r);
		if (tn_protect(&d, random_f, &r) != TN_OK && d.code != TN_E_RANGE)     /* too large is an answer */
			fail_msg("%s", d.text);
		tn_arena_fini(&a);
	}
	assert_true(r.kept > 2900);
}

static void overflow_f(void *arg)
{
	struct tn_ir *ir = with_symbols(arg);
	const int64_t symbols[5] = { INT64_MAX / 2, 3, 1, 0, 5 };
	assert_int_equal(tn_size_eval(&ir->g.sizes, tn_size_parse(ir, "n*m"), symbols), INT64_MIN);
	assert_int_equal(tn_size_eval(&ir->g.sizes, tn_size_parse(ir, "n*2"), symbols), INT64_MAX - 1);
	tn_size_parse(ir, "9223372036854775807*n*2");
}

static void overflow(void **state)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)state;
	tn_arena_init(&a, &d);
	assert_int_equal(tn_protect(&d, overflow_f, &a), TN_E_RANGE);
	assert_non_null(strstr(d.text, "9223372036854775807 * 2"));
	tn_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(equal), cmocka_unit_test(compare), cmocka_unit_test(narrow), cmocka_unit_test(random_expressions),
		cmocka_unit_test(overflow) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
