/* e2e_test.c - whole graphs through tenon.h on real plugins against the strict evaluator: each plugin, several in one graph, no fusion,
 * no compiler, answers while one compiles, many sizes by one executable. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/half.h"
#include "decomp/decomp.h"
#include "host/session.h"

struct graph_case { const char *name, *text; int64_t sizes[3][2]; };      /* values of the symbols in order, by round */
static const struct graph_case cases[] = {
	{ "pointwise", "graph @t(%x: f32[n, 37], %y: f32[37]) -> f32[n, 37] where 0 <= n {\n%b = broadcast %y, shape = [n, 37], dims = [1]\n%a = add %x, %b\n%t = tanh %a\n%r = mul %t, %x\nreturn %r\n}",
	  { { 5 }, { 0 }, { 300 } } },
	{ "softmax", "graph @t(%x: f32[n, m]) -> f32[n, m] where 0 <= n, 0 <= m {\n%r = softmax %x, axis = 1\nreturn %r\n}", { { 3, 7 }, { 1, 1 }, { 17, 129 } } },
	{ "layer norm", "graph @t(%x: f32[n, 33], %w: f32[33], %o: f32[33]) -> f32[n, 33] where 0 <= n {\n%r = layer_norm %x, %w, %o, axis = 1\n%e = exp %r\nreturn %e\n}", { { 3 }, { 1 }, { 40 } } },
	{ "classify", "graph @t(%x: f32[n, 96], %w: f32[96, 40], %b: f32[40]) -> f32[n, 40] where 0 <= n {\n%d = dot %x, %w, contract = [1, 0]\n%c = broadcast %b, shape = [n, 40], dims = [1]\n%a = add %d, %c\n%r = softmax %a, axis = 1\nreturn %r\n}",
	  { { 4 }, { 1 }, { 129 } } },
	{ "packed weights", "graph @t(%x: f32[n, 4]) -> f32[n, 3] where 1 <= n {\nconst %w: f32[4, 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}\n%d = dot %x, %w, contract = [1, 0]\n%r = tanh %d\nreturn %r\n}", { { 4 }, { 1 }, { 129 } } },
	{ "column sums", "graph @t(%x: f32[n, 50, 20]) -> f32[n, 20] where 0 <= n {\n%q = mul %x, %x\n%s = sum %q, axes = [1]\n%r = sqrt %s\nreturn %r\n}", { { 3 }, { 0 }, { 11 } } },
	{ "mean", "graph @t(%x: f32[n, m, 5]) -> f32[n, 5], f32[n, m, 5] where 1 <= n, 1 <= m {\n%r = mean %x, axes = [1]\n%s = mean %x, axes = [0, 1, 2]\n%b = broadcast %s, shape = [n, m, 5], dims = []\n%d = sub %x, %b\nreturn %r, %d\n}", { { 2, 3 }, { 1, 1 }, { 4, 50 } } },
	{ "full sum", "graph @t(%x: i32[n, 50]) -> i32[] where 0 <= n {\n%s = sum %x, axes = [0, 1]\nreturn %s\n}", { { 3 }, { 0 }, { 200 } } },
	{ "views", "graph @t(%x: f32[n, 6, 5]) -> f32[5, 3*n], f32[n, 30] where 1 <= n {\n%p = permute %x, perm = [2, 0, 1]\n%r = reshape %p, shape = [5, 6*n]\n%s = slice %r, start = [0, 6*n - 1], limit = [5, -1], step = [1, -2]\n%q = reshape %x, shape = [n, 30]\n%g = neg %q\nreturn %s, %g\n}",
	  { { 3 }, { 1 }, { 10 } } },
	{ "gather", "graph @t(%x: f32[n, 3], %i: i32[m]) -> f32[m, 3] where 1 <= n, 0 <= m {\n%g = gather %x, %i, axis = 0\n%a = exp %g\nreturn %a\n}", { { 50, 7 }, { 1, 0 }, { 100, 64 } } },
	{ "scatter", "graph @t(%x: f32[n, 3], %i: i32[m], %u: f32[m, 3]) -> f32[n, 3] where 1 <= n, 0 <= m {\n%s = scatter %x, %i, %u, axis = 0, op = 1\nreturn %s\n}", { { 50, 7 }, { 1, 0 }, { 10, 64 } } },
	{ "cumulate", "graph @t(%x: f32[n, 9]) -> f32[n, 9] where 0 <= n {\n%c = cumulate %x, axis = 1, op = 1\n%r = neg %c\nreturn %r\n}", { { 5 }, { 0 }, { 40 } } },
	{ "convolution", "graph @t(%x: f32[n, 3, 14, 9], %w: f32[8, 3, 3, 3], %b: f32[8]) -> f32[n, 8, 7, 9] where 0 <= n {\n%c = convolution %x, %w, stride = [2, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], groups = 1\n%d = broadcast %b, shape = [n, 8, 7, 9], dims = [1]\n%a = add %c, %d\n%r = relu %a\nreturn %r\n}",
	  { { 2 }, { 1 }, { 5 } } },
	{ "halves", "graph @t(%x: f16[n, 21], %y: f16[n, 21]) -> f16[n, 21] where 0 <= n {\n%a = mul %x, %y\n%b = add %a, %x\n%t = sigmoid %b\nreturn %t\n}", { { 3 }, { 0 }, { 30 } } },
	{ "half zeros", "graph @t(%x: f16[n, 21]) -> f16[n, 21], f16[n, 21] where 0 <= n {\n%a = sub %x, %x\n%b = neg %a\n%t = sigmoid %a\nreturn %b, %t\n}", { { 3 }, { 0 }, { 30 } } },
	{ "integers", "graph @t(%x: i64[n], %y: i64[n]) -> i64[n], bool[n] where 0 <= n {\n%a = mul %x, %y\n%b = div %a, %y\n%l = lt %b, %x\n%r = select %l, %a, %b\nreturn %r, %l\n}", { { 3 }, { 0 }, { 333 } } },
	{ "handed through", "graph @t(%x: f32[n]) -> f32[n], f32[n], f32[n] where 0 <= n {\n%e = neg %x\nreturn %x, %e, %e\n}", { { 3 }, { 0 }, { 9 } } },
	{ "sorted", "graph @t(%x: f32[n, 11]) -> f32[n, 11], i64[n, 11] where 0 <= n {\n%v, %i = sort %x, axis = 1\nreturn %v, %i\n}", { { 3 }, { 0 }, { 9 } } },
	{ "computed size", "graph @t(%x: i64[n]) -> i64[k] where 0 <= n <= 1000, 0 <= k <= 1000 {\n%m = reduce_max %x, axes = [0]\n%z = full value = 0, dtype = i64, shape = []\n%c = max %m, %z\nk = bind %c, hi = 1000\n%i = iota axis = 0, dtype = i64, shape = [k]\n%a = add %i, %i\nreturn %a\n}",
	  { { 3 }, { 1 }, { 50 } } },
};
#define N_CASES (sizeof cases / sizeof *cases)

/* ---- inputs and truth */
static uint64_t state = 1;
static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 40) / 16777216.0;
}

static void fill(uint32_t dtype, void *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		double u = uniform() * 8 - 4;
		switch (dtype) {
		case TN_F32: ((float *)at)[i] = (float)u; break;
		case TN_F16: ((uint16_t *)at)[i] = tn_f64_to_f16(u); break;
		case TN_I32: ((int32_t *)at)[i] = (int32_t)(u * 20); break;
		default: ((int64_t *)at)[i] = (int64_t)(u * 20); break;
		}
	}
}

struct run {
	struct tn_diag diag;
	struct tn_arena arena;
	struct tn_session *s;
	struct tn_model *m;
	struct tn_tensor *in[4], *out[4];
	struct tn_array want[4];
	uint32_t n_in, n_out;
	int exact;
};

static void make_inputs(struct run *r, const struct graph_case *c, int round)
{
	const struct tn_graph *g = &r->m->ir->g;
	int64_t symbols[8] = { c->sizes[round][0], c->sizes[round][1] };
	for (r->n_in = 0; r->n_in < g->n_in; r->n_in++) {
		uint32_t v = g->operands[g->in0 + r->n_in];
		int64_t dims[8];
		for (uint32_t k = 0; k < tn_rank(g, v); k++) dims[k] = tn_size_eval(&g->sizes, tn_shape(g, v)[k], symbols);
		assert_int_equal(tn_tensor_create(r->s, tn_val(g, v)->dtype, tn_rank(g, v), dims, &r->in[r->n_in]), TN_OK);
		fill(tn_val(g, v)->dtype, tn_tensor_data(r->in[r->n_in]), tn_tensor_bytes(r->in[r->n_in]) / tn_dtype_bytes(tn_val(g, v)->dtype));
	}
	r->n_out = g->n_out;
}

static void find_truth(void *arg)
{
	struct run *r = arg;
	struct tn_array in[4] = { 0 };
	for (uint32_t i = 0; i < r->n_in; i++) {
		in[i] = (struct tn_array){ .dtype = r->in[i]->dtype, .rank = r->in[i]->rank, .at = r->in[i]->data, .size = r->in[i]->bytes };
		memcpy(in[i].dims, r->in[i]->dims, sizeof in[i].dims);
	}
	tn_eval_graph(&r->m->ir->g, in, r->want, &r->arena);
}

static double number(uint32_t dtype, const void *at, uint64_t i)
{
	switch (dtype) {
	case TN_F32: return (double)((const float *)at)[i];
	case TN_F16: return (double)tn_f16_to_f32(((const uint16_t *)at)[i]);
	case TN_I32: return ((const int32_t *)at)[i];
	case TN_BOOL: return ((const uint8_t *)at)[i];
	default: return (double)((const int64_t *)at)[i];
	}
}

static void check_outputs(struct run *r, const char *name, const char *how)
{
	for (uint32_t o = 0; o < r->n_out; o++) {
		const struct tn_array *w = &r->want[o];
		struct tn_tensor *t = r->out[o];
		uint64_t n = tn_tensor_bytes(t) / tn_dtype_bytes(t->dtype);
		assert_int_equal(t->dtype, w->dtype);
		assert_int_equal(t->bytes, w->size);
		for (uint32_t k = 0; k < t->rank; k++) assert_int_equal(t->dims[k], w->dims[k]);
		for (uint64_t i = 0; i < n; i++) {
			double x = number(w->dtype, w->at, i), y = number(t->dtype, t->data, i);
			double bound = t->dtype == TN_F32 ? 2e-5 * (1 + fabs(x)) : t->dtype == TN_F16 ? 2e-3 * (1 + fabs(x)) : 0;
			if (isnan(x) && isnan(y)) continue;
			if (!(fabs(x - y) <= bound)) fail_msg("%s (%s): output %u element %llu is %.9g, should be %.9g", name, how, o, (unsigned long long)i, y, x);
		}
	}
}

static void end_run(struct run *r)
{
	for (int i = 0; i < 4; i++) {
		tn_tensor_release(r->in[i]);
		tn_tensor_release(r->out[i]);
		r->in[i] = r->out[i] = NULL;
	}
}

static void ok(int32_t st, const char *name, const char *how)
{
	if (st != TN_OK) fail_msg("%s (%s): %d: %s", name, how, st, tn_error_text());
}

/* one executable, all rounds, twice each */
static void run_case(struct tn_session *s, const struct graph_case *c, const struct tn_executable_options *o, const char *how)
{
	struct run r = { .s = s };
	struct tn_executable *x;
	ok(tn_model_parse(s, c->text, strlen(c->text), &r.m), c->name, how);
	ok(tn_executable_create(s, r.m, o, &x), c->name, how);
	for (int round = 0; round < 3; round++) {
		tn_arena_init(&r.arena, &r.diag);
		make_inputs(&r, c, round);
		if (tn_protect(&r.diag, find_truth, &r) != TN_OK) fail_msg("%s: evaluator: %s", c->name, r.diag.text);
		for (int again = 0; again < 2; again++) {
			ok(tn_executable_run(x, r.in, r.n_in, r.out, r.n_out), c->name, how);
			check_outputs(&r, c->name, how);
		}
		end_run(&r);
		tn_arena_fini(&r.arena);
	}
	tn_executable_destroy(x);
	tn_model_destroy(r.m);
}

static char cache[] = "/tmp/tenon-XXXXXX";        /* of this run: the same kernels serve several tests */

static struct tn_session *session(const char *backend, int validate)
{
	struct tn_session *s;
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .backend = backend, .cache_dir = cache, .threads = 2, .validate = (uint32_t)validate };
	ok(tn_session_create(&o, &s), "session", backend);
	return s;
}

static void all_cases(const char *backend, const struct tn_executable_options *o, int validate)
{
	struct tn_session *s = session(backend, validate);
	for (size_t i = 0; i < N_CASES; i++) run_case(s, &cases[i], o, backend);
	tn_session_destroy(s);
}

static const struct tn_executable_options waits = { .head = TN_HEAD(tn_executable_options, 0), .wait = 1 };

static void test_cpu_simd(void **st) { (void)st; all_cases("cpu_simd", &waits, 0); }
static void test_ref(void **st) { (void)st; all_cases("ref", &waits, 0); }
static void test_validated(void **st) { (void)st; all_cases("ref,cpu_simd", &waits, 1); all_cases("cpu_simd,ref", &waits, 1); }

static void test_unfused(void **st)
{
	struct tn_executable_options o = waits;
	(void)st;
	o.fuse = 1;
	all_cases("cpu_simd", &o, 0);
}

static void test_strict(void **st)
{
	struct tn_executable_options o = waits;
	(void)st;
	o.numerics = TN_STRICT;
	all_cases("cpu_simd", &o, 0);
}

static void test_answers_while_compiling(void **st)
{
	struct tn_executable_options o = { .head = TN_HEAD(tn_executable_options, 0) };
	(void)st;
	all_cases("cpu_simd", &o, 0);
}

static void test_no_compiler(void **st)
{
	(void)st;
	setenv("TENON_OPTIONS", "cpu_simd.cc=no-such-compiler", 1);
	all_cases("cpu_simd", &waits, 0);
	unsetenv("TENON_OPTIONS");
}

/* half of what a plugin can do is withdrawn: the rest of the graph runs on the next one, values are moved */
static void test_two_plugins(void **st)
{
	(void)st;
	setenv("TENON_DISABLE", "ref:dot,ref:mul,ref:sum,ref:permute,ref:gather,ref:neg", 1);
	all_cases("ref,cpu_simd", &waits, 0);
	setenv("TENON_DISABLE", "cpu_simd:dot,cpu_simd:tanh,cpu_simd:softmax,cpu_simd:neg,cpu_simd:cumulate", 1);
	all_cases("cpu_simd,ref", &waits, 0);
	unsetenv("TENON_DISABLE");
}

/* a row of unknown length has two kernels; which one runs is decided by the length of each call */
static void test_variants(void **st)
{
	static const struct graph_case rows = { "long rows", "graph @t(%x: f32[n, m]) -> f32[n, m] where 0 <= n, 0 <= m {\n%r = softmax %x, axis = 1\nreturn %r\n}", { { 2, 9 }, { 1, 1200000 }, { 3, 17 } } };
	struct tn_session *s = session("cpu_simd", 0);
	struct tn_executable_stats stats = { .head = TN_HEAD(tn_executable_stats, 0) };
	struct tn_model *m;
	struct tn_executable *x;
	(void)st;
	run_case(s, &rows, &waits, "variants");
	ok(tn_model_parse(s, rows.text, strlen(rows.text), &m), "variants", "");
	ok(tn_executable_create(s, m, NULL, &x), "variants", "");
	tn_executable_stat(x, &stats);
	assert_int_equal(stats.launches, 1);
	assert_int_equal(stats.kernels, 2);
	tn_executable_destroy(x);
	tn_model_destroy(m);
	tn_session_destroy(s);
}

/* ---- random graphs over a symbolic n: values of a few shapes, each made from earlier ones by an operation between these shapes */
enum { MATRIX, NARROW, COLUMN, ROW, CUBE, SCALAR };        /* [n, 6] [n, 4] [n] [6] [n, 3, 2] [] */
static const struct { int to, from, from2; const char *text; } grows[] = {
	{ MATRIX, MATRIX, -1, "neg %a" }, { MATRIX, MATRIX, -1, "tanh %a" }, { MATRIX, MATRIX, -1, "sigmoid %a" }, { MATRIX, MATRIX, MATRIX, "add %a, %b" },
	{ MATRIX, MATRIX, MATRIX, "mul %a, %b" }, { MATRIX, MATRIX, MATRIX, "max %a, %b" }, { MATRIX, MATRIX, MATRIX, "sub %a, %b" },
	{ MATRIX, MATRIX, -1, "softmax %a, axis = 1" }, { MATRIX, MATRIX, -1, "softmax %a, axis = 0" }, { MATRIX, MATRIX, ROW, "rms_norm %a, %b, axis = 1" },
	{ MATRIX, COLUMN, -1, "broadcast %a, shape = [n, 6], dims = [0]" }, { MATRIX, ROW, -1, "broadcast %a, shape = [n, 6], dims = [1]" },
	{ MATRIX, SCALAR, -1, "broadcast %a, shape = [n, 6], dims = []" }, { MATRIX, CUBE, -1, "reshape %a, shape = [n, 6]" },
	{ MATRIX, NARROW, -1, "dot %a, %v, contract = [1, 0]" }, { NARROW, MATRIX, -1, "dot %a, %w, contract = [1, 0]" },
	{ MATRIX, MATRIX, -1, "slice %a, start = [0, 5], limit = [n, -1], step = [1, -1]" }, { NARROW, MATRIX, -1, "slice %a, start = [0, 1], limit = [n, 5], step = [1, 1]" },
	{ MATRIX, NARROW, -1, "pad %a, 0.25, low = [0, 1], high = [0, 1], interior = [0, 0]" }, { MATRIX, MATRIX, -1, "cumulate %a, axis = 0, op = 1" }, { MATRIX, MATRIX, -1, "cumulate %a, axis = 1, op = 3" },
	{ NARROW, NARROW, -1, "relu %a" }, { NARROW, NARROW, NARROW, "sub %a, %b" }, { NARROW, NARROW, -1, "layer_norm %a, %g, %g, axis = 1" },
	{ COLUMN, MATRIX, -1, "sum %a, axes = [1]" }, { COLUMN, MATRIX, -1, "reduce_max %a, axes = [1]" }, { COLUMN, NARROW, -1, "mean %a, axes = [1]" }, { COLUMN, COLUMN, COLUMN, "min %a, %b" },
	{ ROW, MATRIX, -1, "sum %a, axes = [0]" }, { ROW, MATRIX, -1, "mean %a, axes = [0]" }, { ROW, ROW, ROW, "mul %a, %b" }, { ROW, ROW, -1, "tanh %a" },
	{ CUBE, MATRIX, -1, "reshape %a, shape = [n, 3, 2]" }, { CUBE, CUBE, -1, "neg %a" }, { CUBE, CUBE, CUBE, "add %a, %b" }, { COLUMN, CUBE, -1, "sum %a, axes = [1, 2]" },
	{ SCALAR, MATRIX, -1, "mean %a, axes = [0, 1]" }, { SCALAR, ROW, -1, "reduce_max %a, axes = [0]" }, { SCALAR, SCALAR, SCALAR, "add %a, %b" },
	{ MATRIX, -1, -1, "iota axis = 0, dtype = f32, shape = [n, 6]" }, { COLUMN, -1, -1, "full value = 0.5, dtype = f32, shape = [n]" },
};

static uint32_t pick(uint32_t n) { return (uint32_t)(uniform() * n); }

/* one of the values of a shape made so far, or -1 */
static int any_of(int shape, const int *shapes, int n)
{
	for (int tries = 0; tries < 24; tries++) {
		int i = (int)pick((uint32_t)n);
		if (shapes[i] == shape) return i;
	}
	return -1;
}

static void random_text(char *text, size_t cap)
{
	int shapes[32] = { MATRIX, ROW }, n = 2, out[3];
	size_t at = (size_t)snprintf(text, cap, "graph @t(%%0: f32[n, 6], %%1: f32[6], %%w: f32[6, 4], %%v: f32[4, 6]) where 1 <= n {\n%%g = full value = 1.5, dtype = f32, shape = [4]\n");
	while (n < 18) {
		uint32_t k = pick(sizeof grows / sizeof *grows);
		int a = grows[k].from < 0 ? 0 : any_of(grows[k].from, shapes, n), b = grows[k].from2 < 0 ? 0 : any_of(grows[k].from2, shapes, n);
		if (a < 0 || b < 0) continue;
		at += (size_t)snprintf(text + at, cap - at, "%%%d = ", n);
		for (const char *p = grows[k].text; *p; p++) {
			if (*p == '%' && (p[1] == 'a' || p[1] == 'b')) at += (size_t)snprintf(text + at, cap - at, "%%%d", *++p == 'a' ? a : b);
			else text[at++] = *p;
		}
		text[at++] = '\n';
		shapes[n++] = grows[k].to;
	}
	for (int i = 0; i < 3; i++) out[i] = i == 0 ? n - 1 : (int)pick((uint32_t)n);
	snprintf(text + at, cap - at, "return %%%d, %%%d, %%%d\n}", out[0], out[1], out[2]);
}

static void random_graphs(const char *backend, int count, const char *how)
{
	struct tn_session *s = session(backend, 0);
	char text[8192];
	struct graph_case c = { how, text, { { 3 }, { 1 }, { 40 } } };
	for (int i = 0; i < count; i++) {
		uint64_t seed = state;
		random_text(text, sizeof text);
		if (getenv("TENON_TEST_SHOW")) { printf("# %d\n%s\n", i, text); fflush(stdout); }
		struct tn_executable_options o = waits;
		o.numerics = i % 2 ? TN_STRICT : TN_DEFAULT;
		o.fuse = i % 7 == 3;
		run_case(s, &c, &o, backend);
		state = seed * 3 + 1;
	}
	tn_session_destroy(s);
}

/* the interpreter is quick to start, so most run there: the plan and the nests are the same as with a compiler */
static void test_random_graphs(void **st)
{
	const char *more = getenv("TENON_TEST_COUNT"), *seed = getenv("TENON_TEST_SEED");
	int count = more ? atoi(more) : 60;
	(void)st;
	if (seed) state = strtoull(seed, NULL, 0);
	setenv("TENON_OPTIONS", "cpu_simd.cc=no-such-compiler", 1);
	random_graphs("cpu_simd", count, "random, interpreted");
	setenv("TENON_DISABLE", "cpu_simd:softmax,cpu_simd:dot,cpu_simd:cumulate", 1);
	random_graphs("cpu_simd,ref", count / 3, "random, split");
	unsetenv("TENON_DISABLE");
	unsetenv("TENON_OPTIONS");
	random_graphs("cpu_simd", count / 10, "random, compiled");
}

/* ---- wrong arguments name the thing and the values */
static void wrong(struct tn_executable *x, struct tn_tensor **in, uint64_t n, const char *words)
{
	struct tn_tensor *out[1] = { NULL };
	assert_int_equal(tn_executable_run(x, in, n, out, 1), TN_E_ARG);
	if (!strstr(tn_error_text(), words)) fail_msg("'%s' does not say '%s'", tn_error_text(), words);
	assert_null(out[0]);
}

static void test_wrong_arguments(void **st)
{
	struct tn_session *s = session("cpu_simd", 0);
	struct tn_model *m;
	struct tn_executable *x;
	struct tn_tensor *good, *bias, *rank, *dtype, *dim;
	(void)st;
	ok(tn_model_parse(s, cases[0].text, strlen(cases[0].text), &m), "wrong", "");
	ok(tn_executable_create(s, m, NULL, &x), "wrong", "");
	tn_tensor_create(s, TN_F32, 2, (int64_t[]){ 2, 37 }, &good);
	tn_tensor_create(s, TN_F32, 1, (int64_t[]){ 37 }, &bias);
	tn_tensor_create(s, TN_F32, 1, (int64_t[]){ 74 }, &rank);
	tn_tensor_create(s, TN_F64, 2, (int64_t[]){ 2, 37 }, &dtype);
	tn_tensor_create(s, TN_F32, 2, (int64_t[]){ 2, 36 }, &dim);
	wrong(x, (struct tn_tensor *[]){ good }, 1, "1 inputs");
	wrong(x, (struct tn_tensor *[]){ good, NULL }, 2, "missing");
	wrong(x, (struct tn_tensor *[]){ rank, bias }, 2, "rank 1");
	wrong(x, (struct tn_tensor *[]){ dtype, bias }, 2, "f64");
	wrong(x, (struct tn_tensor *[]){ dim, bias }, 2, "36");
	tn_tensor_release(good); tn_tensor_release(bias); tn_tensor_release(rank); tn_tensor_release(dtype); tn_tensor_release(dim);
	tn_executable_destroy(x);
	tn_model_destroy(m);
	tn_session_destroy(s);
}

/* ---- strided inputs and outputs of the caller's */
static void test_strides(void **st)
{
	struct tn_session *s = session("cpu_simd", 0);
	struct tn_model *m;
	struct tn_executable *x;
	static const char text[] = "graph @t(%x: f32[3, 4]) -> f32[3, 4] {\n%a = add %x, %x\nreturn %a\n}";
	float in[24], out[24] = { 0 };
	struct tn_tensor *ti, *to;
	(void)st;
	for (int i = 0; i < 24; i++) in[i] = (float)i;
	ok(tn_model_parse(s, text, strlen(text), &m), "strides", "");
	ok(tn_executable_create(s, m, NULL, &x), "strides", "");
	ok(tn_tensor_wrap(s, TN_F32, 2, (int64_t[]){ 3, 4 }, (int64_t[]){ 1, 6 }, in, NULL, NULL, &ti), "strides", "");
	ok(tn_tensor_wrap(s, TN_F32, 2, (int64_t[]){ 3, 4 }, (int64_t[]){ 8, 2 }, out, NULL, NULL, &to), "strides", "");
	ok(tn_executable_run(x, &ti, 1, &to, 1), "strides", "");
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++) { assert_true(out[i * 8 + k * 2] == 2 * in[i + k * 6]); assert_true(out[i * 8 + k * 2 + (k < 3 || i < 2)] == 0 || (k == 3 && i == 2)); }
	tn_tensor_release(ti);
	tn_tensor_release(to);
	tn_executable_destroy(x);
	tn_model_destroy(m);
	tn_session_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ref), cmocka_unit_test(test_cpu_simd), cmocka_unit_test(test_unfused), cmocka_unit_test(test_strict),
		cmocka_unit_test(test_two_plugins), cmocka_unit_test(test_no_compiler), cmocka_unit_test(test_answers_while_compiling),
		cmocka_unit_test(test_variants), cmocka_unit_test(test_wrong_arguments), cmocka_unit_test(test_strides), cmocka_unit_test(test_validated), cmocka_unit_test(test_random_graphs),
	};
	if (!mkdtemp(cache)) return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	tn_tool_dir_remove(cache);
	return failed;
}
