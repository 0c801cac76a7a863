/* nest_test.c - graphs through all stages, computed nest by nest, against the strict evaluator: bit for bit, dots within their bound */
#include "schedule/fake.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* sizes: values of the inputs' symbols are taken from the dims given; kernels: how many, 0: any */
struct graph_case { const char *name, *text; uint32_t kernels; };
static const struct graph_case cases[] = {
	{ "pointwise", "graph @t(%x: f32[6, 5], %y: f32[6, 5]) {\n%a = add %x, %y\n%b = mul %a, %x\nreturn %b\n}", 1 },
	{ "bias", "graph @t(%x: f32[6, 5], %y: f32[5]) {\n%c = broadcast %y, shape = [6, 5], dims = [1]\n%a = add %x, %c\n%e = exp %a\nreturn %e\n}", 1 },
	{ "two outputs", "graph @t(%x: f32[6, 5], %y: f32[6, 5]) {\n%a = add %x, %y\n%b = mul %a, %x\nreturn %a, %b\n}", 1 },
	{ "transposed", "graph @t(%x: f32[4, 5, 3]) {\n%p = permute %x, perm = [2, 0, 1]\n%a = add %p, %p\nreturn %a\n}", 1 },
	{ "reshape of a transpose", "graph @t(%x: f32[4, 6]) {\n%p = permute %x, perm = [1, 0]\n%r = reshape %p, shape = [3, 8]\n%a = neg %r\nreturn %a\n}", 1 },
	{ "odd reshape", "graph @t(%x: f32[4, 6]) {\n%r = reshape %x, shape = [3, 8]\n%p = permute %r, perm = [1, 0]\n%q = reshape %p, shape = [2, 12]\n%a = neg %q\nreturn %a\n}", 1 },
	{ "slice", "graph @t(%x: f32[9, 7]) {\n%s = slice %x, start = [1, 6], limit = [9, -1], step = [3, -2]\n%a = neg %s\nreturn %a\n}", 1 },
	{ "pad of a load", "graph @t(%x: f32[3, 4], %z: f32[]) {\n%p = pad %x, %z, low = [1, -1], high = [2, 1], interior = [1, 0]\nreturn %p\n}", 1 },
	{ "pad of a sum", "graph @t(%x: f32[3, 4], %y: f32[3, 4]) {\n%z = full value = 2.5, dtype = f32, shape = []\n%a = add %x, %y\n%p = pad %a, %z, low = [1, 0], high = [0, 2], interior = [0, 0]\n%b = mul %p, %p\nreturn %b\n}", 1 },
	{ "window", "graph @t(%x: f32[3, 9]) {\n%w = window %x, dims = [1], size = [3], stride = [2], dilation = [2]\n%s = sum %w, axes = [2]\nreturn %s\n}", 1 },
	{ "max pool", "graph @t(%x: f32[2, 7, 6]) {\n%z = full value = -inf, dtype = f32, shape = []\n%p = pad %x, %z, low = [0, 1, 1], high = [0, 1, 1], interior = [0, 0, 0]\n%w = window %p, dims = [1, 2], size = [3, 2], stride = [2, 2], dilation = [1, 1]\n%s = reduce_max %w, axes = [3, 4]\nreturn %s\n}", 1 },
	{ "cat", "graph @t(%x: f32[2, 3], %y: f32[2, 1], %z: f32[2, 4]) {\n%n = neg %y\n%c = cat %x, %n, %z, axis = 1\n%a = add %c, %c\nreturn %a\n}", 0 },
	{ "gather", "graph @t(%x: f32[5, 3], %i: i32[4, 2]) {\n%g = gather %x, %i, axis = 0\n%a = neg %g\nreturn %a\n}", 1 },
	{ "gather drops", "graph @t(%x: f32[2, 5, 3], %i: i64[2, 4]) {\n%g = gather %x, %i, axis = 1, batch = 1, mode = 1\n%n = neg %g\nreturn %n\n}", 1 },
	{ "gather of a sum", "graph @t(%x: f32[5, 3], %y: f32[5, 3], %i: i32[4]) {\n%a = add %x, %y\n%g = gather %a, %i, axis = 0, mode = 1\nreturn %g\n}", 0 },
	{ "iota", "graph @t(%x: i64[4, 5]) {\n%i = iota axis = 1, dtype = i64, shape = [4, 5]\n%j = iota axis = 0, dtype = f32, shape = [4, 5]\n%e = eq %x, %i\n%f = convert %e, dtype = f32\n%a = add %f, %j\nreturn %a\n}", 1 },
	{ "row sum", "graph @t(%x: f32[4, 37]) {\n%m = mul %x, %x\n%s = sum %m, axes = [1]\n%r = sqrt %s\nreturn %r\n}", 1 },
	{ "column sum", "graph @t(%x: f32[14, 9]) {\n%s = sum %x, axes = [0]\n%r = neg %s\nreturn %r\n}", 1 },
	{ "middle max", "graph @t(%x: f32[3, 7, 4]) {\n%s = reduce_max %x, axes = [1]\nreturn %s\n}", 1 },
	{ "full sum", "graph @t(%x: f32[3, 7, 4]) {\n%s = sum %x, axes = [0, 1, 2]\n%r = neg %s\nreturn %r\n}", 1 },
	{ "two axes", "graph @t(%x: i32[3, 4, 5, 2]) {\n%s = sum %x, axes = [1, 3]\nreturn %s\n}", 1 },
	{ "sum of a transpose", "graph @t(%x: f32[6, 8]) {\n%p = permute %x, perm = [1, 0]\n%s = sum %p, axes = [1]\nreturn %s\n}", 1 },
	{ "siblings", "graph @t(%x: f32[6, 8]) {\n%q = mul %x, %x\n%s = sum %x, axes = [1]\n%t = sum %q, axes = [1]\nreturn %s, %t\n}", 1 },
	{ "variance in columns", "graph @t(%x: f32[2, 6, 8]) {\n%q = mul %x, %x\n%s = sum %x, axes = [1]\n%t = sum %q, axes = [1]\n%ss = mul %s, %s\n%v = sub %t, %ss\n%b = broadcast %v, shape = [2, 6, 8], dims = [0, 2]\n%r = mul %b, %x\nreturn %r\n}", 2 },
	{ "softmax", "graph @t(%x: f32[5, 11]) {\n%m = reduce_max %x, axes = [1]\n%b = broadcast %m, shape = [5, 11], dims = [0]\n%d = sub %x, %b\n%e = exp %d\n%s = sum %e, axes = [1]\n%c = broadcast %s, shape = [5, 11], dims = [0]\n%r = div %e, %c\nreturn %r\n}", 1 },
	{ "layer norm", "graph @t(%x: f32[5, 16], %w: f32[16], %o: f32[16]) {\n%k = full value = 0.0625, dtype = f32, shape = [5]\n%s = sum %x, axes = [1]\n%m = mul %s, %k\n%b = broadcast %m, shape = [5, 16], dims = [0]\n%d = sub %x, %b\n%q = mul %d, %d\n%t = sum %q, axes = [1]\n%v = mul %t, %k\n%e = full value = 1e-5, dtype = f32, shape = [5]\n%ve = add %v, %e\n%i = rsqrt %ve\n%ib = broadcast %i, shape = [5, 16], dims = [0]\n%n = mul %d, %ib\n%wb = broadcast %w, shape = [5, 16], dims = [1]\n%nw = mul %n, %wb\n%ob = broadcast %o, shape = [5, 16], dims = [1]\n%r = add %nw, %ob\nreturn %r, %m\n}", 1 },
	{ "composite softmax", "graph @t(%x: f32[3, 4, 9]) {\n%r = softmax %x, axis = 2\nreturn %r\n}", 1 },
	{ "composite softmax over the middle", "graph @t(%x: f32[3, 4, 9]) {\n%r = softmax %x, axis = 1\nreturn %r\n}", 0 },
	{ "composite norm", "graph @t(%x: f32[3, 4, 9], %w: f32[9], %o: f32[9]) {\n%r = layer_norm %x, %w, %o, axis = 2\nreturn %r\n}", 1 },
	{ "argmax", "graph @t(%x: f32[3, 9]) {\n%r = argmax %x, axis = 1\nreturn %r\n}", 0 },
	{ "keepdims norm", "graph @t(%x: f32[3, 8]) {\n%s = sum %x, axes = [1]\n%k = reshape %s, shape = [3, 1]\n%c = full value = 0.125, dtype = f32, shape = [3, 1]\n%m = mul %k, %c\n%f = reshape %m, shape = [3]\n%b = broadcast %f, shape = [3, 8], dims = [0]\n%d = sub %x, %b\nreturn %d\n}", 1 },
	{ "dot", "graph @t(%x: f32[4, 6], %w: f32[6, 5], %b: f32[5]) {\n%d = dot %x, %w, contract = [1, 0]\n%c = broadcast %b, shape = [4, 5], dims = [1]\n%a = add %d, %c\n%r = tanh %a\nreturn %r\n}", 1 },
	{ "dot in batches", "graph @t(%x: f32[2, 4, 6], %w: f32[6, 2, 5]) {\n%d = dot %x, %w, contract = [2, 0], batch = [0, 1]\n%p = permute %d, perm = [0, 2, 1]\n%a = neg %p\nreturn %a\n}", 1 },
	{ "dot of one hot", "graph @t(%x: i32[2, 5], %w: f32[7, 3]) {\n%b = broadcast %x, shape = [2, 5, 7], dims = [0, 1]\n%i = iota axis = 2, dtype = i32, shape = [2, 5, 7]\n%e = eq %b, %i\n%f = convert %e, dtype = f32\n%d = dot %f, %w, contract = [2, 0]\n%r = reshape %d, shape = [2, 15]\n%n = neg %r\nreturn %n\n}", 1 },
	{ "dot of integers", "graph @t(%x: i8[4, 6], %w: i8[6, 5]) {\n%d = dot %x, %w, contract = [1, 0]\nreturn %d\n}", 1 },
	{ "dot of halves", "graph @t(%x: f16[4, 6], %w: f16[6, 5]) {\n%d = dot %x, %w, contract = [1, 0]\n%r = add %d, %d\nreturn %r\n}", 1 },
	{ "two dots", "graph @t(%x: f32[4, 6], %w: f32[6, 5], %v: f32[5, 3]) {\n%d = dot %x, %w, contract = [1, 0]\n%r = relu %d\n%e = dot %r, %v, contract = [1, 0]\nreturn %e\n}", 2 },
	{ "dot of nothing", "graph @t(%x: f32[4, 0], %w: f32[0, 5]) {\n%d = dot %x, %w, contract = [1, 0]\nreturn %d\n}", 1 },
	{ "halves", "graph @t(%x: f16[4, 6], %y: f16[4, 6]) {\n%a = add %x, %y\n%b = mul %a, %x\n%e = exp %b\n%s = sum %e, axes = [1]\nreturn %b, %s\n}", 0 },
	{ "bf16", "graph @t(%x: bf16[4, 6], %y: bf16[4, 6]) {\n%a = add %x, %y\n%b = tanh %a\n%c = lt %b, %x\n%d = select %c, %b, %y\nreturn %d\n}", 1 },
	{ "cumulate", "graph @t(%x: f32[3, 5, 4]) {\n%m = mul %x, %x\n%c = cumulate %m, axis = 1, op = 1, exclusive = 1, reverse = 1\n%r = neg %c\nreturn %r\n}", 1 },
	{ "scatter", "graph @t(%x: f32[5, 3], %i: i32[4], %u: f32[4, 3]) {\n%n = neg %u\n%s = scatter %x, %i, %n, axis = 0, op = 1\n%r = neg %s\nreturn %r\n}", 2 },
	{ "scatter drops", "graph @t(%x: i32[2, 5, 3], %i: i64[2, 4], %u: i32[2, 4, 3]) {\n%s = scatter %x, %i, %u, axis = 1, batch = 1, mode = 1\nreturn %s\n}", 1 },
	{ "nothing at all", "graph @t(%x: f32[0, 3]) {\n%a = neg %x\n%s = sum %a, axes = [0]\nreturn %a, %s\n}", 0 },
	{ "0-d", "graph @t(%x: f32[], %y: f32[]) {\n%a = add %x, %y\n%e = exp %a\nreturn %e\n}", 1 },
	{ "ones", "graph @t(%x: f32[1, 1, 3], %y: f32[1]) {\n%r = reshape %x, shape = [3, 1]\n%b = broadcast %y, shape = [3, 1], dims = [1]\n%a = add %r, %b\n%s = sum %a, axes = [1]\nreturn %s\n}", 1 },
	{ "reduced ones", "graph @t(%x: f32[4, 1, 3]) {\n%s = sum %x, axes = [1]\n%m = reduce_max %s, axes = [1]\nreturn %m\n}", 0 },
	{ "convolution", "graph @t(%x: f32[2, 3, 6, 5], %w: f32[4, 3, 3, 2]) {\n%c = convolution %x, %w, stride = [2, 1], low = [1, 0], high = [1, 1], dilation = [1, 2], groups = 1\n%r = relu %c\nreturn %r\n}", 1 },
	{ "grouped convolution", "graph @t(%x: f32[2, 4, 6], %w: f32[6, 2, 3]) {\n%c = convolution %x, %w, stride = [1], low = [1], high = [1], dilation = [1], groups = 2\nreturn %c\n}", 0 },
	{ "average pool", "graph @t(%x: f32[2, 3, 6]) {\n%c = avg_pool %x, size = [3], stride = [2], low = [1], high = [1], count_pad = 0\nreturn %c\n}", 0 },
	{ "sort", "graph @t(%x: f32[3, 7]) {\n%a, %b = sort %x, axis = 1\nreturn %a, %b\n}", 0 },
	{ "group norm", "graph @t(%x: f32[2, 4, 6], %w: f32[4], %o: f32[4]) {\n%r = group_norm %x, %w, %o, groups = 2\nreturn %r\n}", 0 },
	{ "residual", "graph @t(%x: f32[3, 8], %y: f32[3, 8], %w: f32[8, 8]) {\n%a = add %x, %y\n%s = softmax %a, axis = 1\n%d = dot %s, %w, contract = [1, 0]\n%r = add %d, %a\nreturn %r\n}", 0 },
	{ "diamond", "graph @t(%x: f32[8]) {\n%e = exp %x\n%a = neg %e\n%p = slice %e, start = [0], limit = [4], step = [1]\n%q = slice %a, start = [4], limit = [8], step = [1]\n%m = mul %p, %q\n%s = sum %e, axes = [0]\nreturn %m, %s\n}", 0 },
	{ "symbols", "graph @t(%x: f32[n, 6], %y: f32[n, 2*m]) where 0 <= n, 0 <= m {\n%r = reshape %y, shape = [n, 2, m]\n%s = sum %r, axes = [2]\n%t = sum %x, axes = [1]\n%b = broadcast %t, shape = [n, 2], dims = [0]\n%a = add %b, %s\nreturn %a\n}", 0 },
	{ "symbolic flattening", "graph @t(%x: f32[n, m, 6]) where 0 <= n, 0 <= m {\n%r = reshape %x, shape = [n*m, 6]\n%p = permute %r, perm = [1, 0]\n%q = reshape %p, shape = [6, n, m]\n%a = neg %q\nreturn %a\n}", 1 },
	{ "random bits", "graph @t(%s: u64[], %o: u64[]) {\n%r = random_uniform %s, %o, dtype = f32, shape = [3, 5]\nreturn %r\n}", 0 },
};

/* ---- inputs: small numbers, by a fixed generator */
static uint64_t state;
static uint32_t next(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % n;
}

static struct tn_array random_array(const struct tn_graph *g, uint32_t v, const int64_t *symbols, struct tn_arena *a)
{
	struct tn_array x = fake_array(g, v, symbols, a);
	const uint32_t bytes = tn_dtype_bytes(x.dtype);
	for (uint64_t i = 0; i * bytes < x.size; i++) {
		const double f = TN_M(x.dtype) & TN_M_FLOAT ? ((double)next(4001) - 2000) / 1000 : TN_M(x.dtype) & TN_M_UINT ? next(7) : x.dtype == TN_BOOL ? next(2) : (double)next(9) - 2;
		ev_convert_n(x.dtype, (char *)x.at + i * bytes, TN_F64, &f, 1);
	}
	return x;
}

static double element(const struct tn_array *x, uint64_t i)
{
	double r;
	ev_convert_n(TN_F64, &r, x->dtype, (const char *)x->at + i * tn_dtype_bytes(x->dtype), 1);
	return r;
}

static int has_dot(const struct tn_graph *g)
{
	for (uint64_t i = 0; i < g->nodes.count; i++)
		if (g->nodes.at[i].prim == TN_dot || g->nodes.at[i].prim == TN_convolution)
			return 1;
	return 0;
}

/* NULL, or what differs.  Where a dot is behind it, K may have been taken in another order */
static const char *differs(const struct tn_array *want, const struct tn_array *got, int dot, struct tn_arena *a)
{
	const uint32_t bytes = tn_dtype_bytes(want->dtype);
	if (want->size != got->size || want->dtype != got->dtype)
		return "shape or dtype";
	for (uint64_t i = 0; i * bytes < want->size; i++) {
		const double w = element(want, i), g = element(got, i);
		if (memcmp((const char *)want->at + i * bytes, (const char *)got->at + i * bytes, bytes) == 0 || (w != w && g != g))
			continue;
		if (dot && fabs(w - g) <= (want->dtype == TN_F16 ? 4e-3 : 1e-5) * (fabs(w) + 4))
			continue;
		return tn_printf(a, "element %llu is %.9g, not %.9g", (unsigned long long)i, g, w);
	}
	return NULL;
}

struct job { struct tn_arena *a; const struct tn_graph *g; const char *text; const struct tn_places *p; int64_t symbol; int dot; struct fake_run run; const char *fault; };

static void run_job(void *arg)
{
	struct job *j = arg;
	struct tn_array in[8], want[8], got[8];
	int64_t symbols[8];
	if (!j->g)
		j->g = &tn_ir_parse(j->a, j->text, strlen(j->text), "case")->g;
	for (uint32_t i = 0; i < 8; i++)
		symbols[i] = j->symbol + i;
	for (uint32_t i = 0; i < j->g->n_in; i++)
		in[i] = random_array(j->g, j->g->operands[j->g->in0 + i], symbols, j->a);
	tn_eval_graph(j->g, in, want, j->a);
	fake_run_graph(j->g, j->p, in, got, &j->run, j->a);
	j->dot = has_dot(j->g);
	for (uint32_t i = 0; i < j->g->n_out && !j->fault; i++)
		j->fault = differs(&want[i], &got[i], j->dot, j->a);
}

static int check(const char *name, const char *text, const struct tn_graph *g, const struct tn_backend *b, int fused, int64_t symbol, uint32_t kernels)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	const struct tn_place place = { .backend = b };
	const struct tn_places places = { .at = &place, .n = 1, .disabled = fused ? NULL : fake_no_rules, .numerics = TN_STRICT };
	tn_arena_init(&a, &d);
	struct job j = { .a = &a, .g = g, .text = text, .p = &places, .symbol = symbol, .run = { .text = { .arena = &a }, .print = 1 } };
	const int32_t code = tn_protect(&d, run_job, &j);
	const char *fault = code ? d.text : j.fault;
	if (!fault && fused && kernels && j.run.kernels != kernels)
		fault = tn_printf(&a, "%u kernels, not %u", j.run.kernels, kernels);
	if (fault)
		print_error("%s (%s, %s): %s\n%s\n%s\n", name, b->id, fused ? "fused" : "apart", fault, text ? text : "", j.run.text.at ? j.run.text.at : "");
	tn_arena_fini(&a);
	return fault != NULL;
}

static void hand_cases(void **unused)
{
	int failed = 0;
	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const int symbolic = strstr(cases[i].text, "where") != NULL;
		for (int64_t s = symbolic ? 0 : 3; s <= (symbolic ? 3 : 3); s++) {
			failed += check(cases[i].name, cases[i].text, NULL, &fake_rich_backend, 1, s, cases[i].kernels);
			failed += check(cases[i].name, cases[i].text, NULL, &fake_backend, 1, s, cases[i].kernels);
			failed += check(cases[i].name, cases[i].text, NULL, &fake_backend, 0, s, 0);
		}
	}
	assert_int_equal(failed, 0);
}

void tn_decomp_register(void);           /* decomp/decomp.h: whoever links both hands the builders down */

int main(void)
{
	tn_decomp_register();
	const struct CMUnitTest tests[] = { cmocka_unit_test(hand_cases) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
