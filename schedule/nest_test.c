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
	{ "a sum read at two places", "graph @t(%x: f32[5, 5]) {\n%s = sum %x, axes = [1]\n%a = broadcast %s, shape = [5, 5], dims = [0]\n%b = broadcast %s, shape = [5, 5], dims = [1]\n%r = add %a, %b\nreturn %r\n}", 2 },
	{ "a dot and its transpose", "graph @t(%x: f32[5, 4], %y: f32[4, 5]) {\n%d = dot %x, %y, contract = [1, 0]\n%t = permute %d, perm = [1, 0]\n%r = add %d, %t\nreturn %r\n}", 2 },
	{ "coordinates that nothing reads", "graph @t(%x: f32[2, 3]) {\n%b = broadcast %x, shape = [2, 4, 3], dims = [0, 2]\n%t = tanh %b\n%r = reshape %t, shape = [3, 4, 2, 1]\nreturn %t, %r\n}", 1 },
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

struct job { struct tn_arena *a; const struct tn_graph *g; const char *text; const struct tn_places *p; int64_t symbol; int dot, exact; struct fake_run run; const char *fault; };

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
	j->dot = has_dot(j->g) && !j->exact;
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
	struct job j = { .a = &a, .g = g, .text = text, .p = &places, .symbol = symbol, .exact = strncmp(name, "random", 6) == 0, .run = { .text = { .arena = &a }, .print = 1 } };
	const int32_t code = tn_protect(&d, run_job, &j);
	const char *fault = code ? d.text : j.fault;
	if (!fault && fused && kernels && j.run.kernels != kernels)
		fault = tn_printf(&a, "%u kernels, not %u", j.run.kernels, kernels);
	if (fault) {
		print_error("%s (%s, %s): %s\n", name, b->id, fused ? "fused" : "apart", fault);
		for (size_t k = 0; k < strlen(text); k += 400)             /* print_error cuts at about 1,000 bytes */
			print_error("%.400s", text + k);
		for (size_t k = 0; k < j.run.text.len; k += 400)
			print_error("%.400s", j.run.text.at + k);
	}
	tn_arena_fini(&a);
	return fault != NULL;
}

/* ---- random graphs: a pool of values that grows by one random node at a time */
struct pool { struct tn_ir *ir; uint32_t v[64], n; };
static uint32_t shape_of(const struct pool *p, uint32_t v, uint32_t d) { return tn_shape(&p->ir->g, v)[d]; }
static int64_t known(const struct pool *p, uint32_t v, uint32_t d) { return tn_size_known(&p->ir->g, shape_of(p, v, d)); }
static uint32_t rank_of(const struct pool *p, uint32_t v) { return tn_rank(&p->ir->g, v); }
static uint32_t dtype_of(const struct pool *p, uint32_t v) { return tn_val(&p->ir->g, v)->dtype; }
static int is_float(const struct pool *p, uint32_t v) { return TN_M(dtype_of(p, v)) & TN_M_FLOAT ? 1 : 0; }
static int64_t elements(const struct pool *p, uint32_t v)
{
	int64_t n = 1;
	for (uint32_t d = 0; d < rank_of(p, v); d++)
		n *= known(p, v, d);
	return n;
}
static uint32_t size(const struct pool *p, int64_t n) { return tn_size_const(p->ir, n); }

static uint32_t random_reshape(struct pool *p, uint32_t x)
{
	uint32_t dims[4], n = 0;
	int64_t left = elements(p, x);
	while (n < 3 && left > 1) {
		int64_t d = 1 + next(6);
		while (left % d)
			d--;
		if (n == 2)
			d = left;
		dims[n++] = size(p, d);
		left /= d;
	}
	if (left > 1)
		dims[n++] = size(p, left);
	if (n < 4 && next(3) == 0)
		dims[n++] = 1;
	return elements(p, x) > 0 ? tn_ir_reshape(p->ir, x, dims, n) : x;
}

static uint32_t random_broadcast(struct pool *p, uint32_t x)
{
	uint32_t dims[4], n = rank_of(p, x), at = next(n + 1);
	int64_t where[4];
	if (n > 3 || elements(p, x) > 400)
		return x;
	for (uint32_t i = 0; i < n; i++) {
		where[i] = i < at ? i : i + 1;
		dims[where[i]] = shape_of(p, x, i);
	}
	dims[at] = size(p, 1 + next(4));
	return tn_ir_broadcast(p->ir, x, dims, n + 1, where);
}

/* x in the shape of y, whatever it takes: a slice of its elements, spread */
static uint32_t like(struct pool *p, uint32_t x, uint32_t y)
{
	const uint32_t ry = rank_of(p, y);
	int same = rank_of(p, x) == ry;
	for (uint32_t d = 0; same && d < ry; d++)
		same = shape_of(p, x, d) == shape_of(p, y, d);
	if (same)
		return x;
	for (uint32_t d = 0; d < ry; d++)
		if (rank_of(p, x) == 1 && shape_of(p, x, 0) == shape_of(p, y, d))
			return tn_ir_broadcast(p->ir, x, tn_shape(&p->ir->g, y), ry, (const int64_t[]){ d });
	const int64_t axes[4] = { 0, 1, 2, 3 };
	x = rank_of(p, x) ? tn_ir_reduce(p->ir, next(2) ? TN_reduce_max : TN_sum, x, axes, rank_of(p, x)) : x;
	return tn_ir_broadcast(p->ir, x, tn_shape(&p->ir->g, y), ry, NULL);
}

static uint32_t random_view(struct pool *p, uint32_t x)
{
	struct tn_ir *ir = p->ir;
	const uint32_t n = rank_of(p, x);
	uint32_t a[4] = { 0 }, b[4] = { 0 };
	int64_t c[4] = { 0 };
	switch (next(7)) {
	case 0: {
		int64_t perm[4] = { 0, 1, 2, 3 };
		for (uint32_t i = n; i > 1; i--) {
			const uint32_t k = next(i);
			const int64_t t = perm[i - 1];
			perm[i - 1] = perm[k];
			perm[k] = t;
		}
		return tn_ir_permute(ir, x, perm);
	}
	case 1: return random_reshape(p, x);
	case 2: return random_broadcast(p, x);
	case 3: {
		for (uint32_t i = 0; i < n; i++) {
			const int64_t d = known(p, x, i), lo = next((uint32_t)d), hi = lo + next((uint32_t)(d - lo)) + 1;
			const int down = next(3) == 0;
			c[i] = down ? -1 : 1 + (int64_t)next(2);
			a[i] = size(p, down ? hi - 1 : lo);
			b[i] = size(p, down ? lo - 1 : hi);
		}
		return tn_ir_add(ir, TN_slice, &x, 1, (const struct tn_attr_in[]){ TN_A_SIZES(start, a, n), TN_A_SIZES(limit, b, n), TN_A_INTS(step, c, n) }, 3);
	}
	case 4: {
		for (uint32_t i = 0; i < n; i++) {
			a[i] = size(p, (int64_t)next(3) - (known(p, x, i) > 3));
			b[i] = size(p, (int64_t)next(3) - (known(p, x, i) > 3));
			c[i] = next(4) == 0;
		}
		const uint32_t in[2] = { x, tn_ir_full_int(ir, dtype_of(p, x), next(3), NULL, 0) };
		return tn_ir_add(ir, TN_pad, in, 2, (const struct tn_attr_in[]){ TN_A_SIZES(low, a, n), TN_A_SIZES(high, b, n), TN_A_INTS(interior, c, n) }, 3);
	}
	case 5: {
		const int64_t dim = n ? next(n) : 0, d = n ? known(p, x, (uint32_t)dim) : 0, one = 1;
		if (n == 0 || n > 3 || d < 2)
			return x;
		const uint32_t k = size(p, 2);
		return tn_ir_add(ir, TN_window, &x, 1, (const struct tn_attr_in[]){ TN_A_INTS(dims, &dim, 1), TN_A_SIZES(size, &k, 1), TN_A_INTS(stride, &one, 1),
			TN_A_INTS(dilation, &one, 1) }, 4);
	}
	default:
		if (n == 0)
			return x;
		return tn_ir_add(ir, TN_cat, (const uint32_t[]){ x, tn_ir_unary(ir, TN_neg, x) }, 2, (const struct tn_attr_in[]){ TN_A_INT(axis, next(n)) }, 1);
	}
}

static uint32_t random_dot(struct pool *p, uint32_t x)
{
	const uint32_t n = rank_of(p, x), axis = n ? next(n) : 0;
	if (n == 0 || n > 3)
		return x;
	const uint32_t dims[2] = { shape_of(p, x, axis), size(p, 1 + next(4)) };
	const uint32_t i = tn_ir_iota(p->ir, TN_F32, next(2), dims, 2), w = tn_ir_convert(p->ir, i, dtype_of(p, x));
	const int64_t pairs[2] = { axis, 0 }, back[2] = { 0, axis };
	return next(2) ? tn_ir_dot(p->ir, x, w, pairs, 2, NULL, 0) : tn_ir_dot(p->ir, w, x, back, 2, NULL, 0);
}

static uint32_t random_index(struct pool *p, uint32_t x)
{
	const uint32_t n = rank_of(p, x), axis = n ? next(n) : 0;
	if (n == 0)
		return x;
	const uint32_t dims[1] = { size(p, 1 + next(5)) };
	const uint32_t i = tn_ir_iota(p->ir, TN_I64, 0, dims, 1), in[2] = { x, i };
	return tn_ir_add(p->ir, TN_gather, in, 2, (const struct tn_attr_in[]){ TN_A_INT(axis, axis), TN_A_INT(mode, next(2)) }, 2);
}

static uint32_t random_reduce(struct pool *p, uint32_t x)
{
	static const uint32_t prims[] = { TN_sum, TN_reduce_max, TN_reduce_min, TN_sum };
	const uint32_t n = rank_of(p, x), mask = 1 + next((1u << n) - (n > 0));
	int64_t axes[4];
	uint32_t k = 0;
	for (uint32_t d = 0; d < n; d++)
		if (mask >> d & 1)
			axes[k++] = d;
	return k ? tn_ir_reduce(p->ir, prims[next(4)], x, axes, k) : x;
}

static uint32_t random_node(struct pool *p)
{
	static const uint32_t unary[] = { TN_neg, TN_abs, TN_exp, TN_tanh, TN_relu, TN_sigmoid, TN_square, TN_floor };
	static const uint32_t binary[] = { TN_add, TN_sub, TN_mul, TN_max, TN_min, TN_add, TN_mul };
	static const uint32_t dtypes[] = { TN_F32, TN_F32, TN_F32, TN_F16, TN_I32, TN_BF16 };
	const uint32_t x = p->v[p->n - 1 - next(p->n < 4 ? p->n : 4)], y = p->v[next(p->n)];
	switch (next(14)) {
	case 0: case 1: return random_view(p, x);
	case 2: return random_reduce(p, x);
	case 3: return tn_ir_convert(p->ir, x, dtypes[next(6)]);
	case 4: return random_dot(p, x);
	case 5: return random_index(p, x);
	case 6:
		if (!is_float(p, x) || rank_of(p, x) == 0)
			return x;
		return tn_ir_add(p->ir, TN_softmax, &x, 1, (const struct tn_attr_in[]){ TN_A_INT(axis, next(2) ? rank_of(p, x) - 1 : next(rank_of(p, x))) }, 1);
	case 7:
		if (rank_of(p, x) == 0)
			return x;
		return tn_ir_add(p->ir, TN_cumulate, &x, 1, (const struct tn_attr_in[]){ TN_A_INT(axis, next(rank_of(p, x))), TN_A_INT(op, 1 + 2 * next(2)), TN_A_INT(reverse, next(2)) }, 3);
	case 8: {
		const uint32_t z = tn_ir_convert(p->ir, like(p, y, x), dtype_of(p, x));
		return tn_ir_select(p->ir, tn_ir_binary(p->ir, TN_lt, x, z), z, x);
	}
	case 9: case 10: case 11: return tn_ir_binary(p->ir, binary[next(7)], x, tn_ir_convert(p->ir, like(p, y, x), dtype_of(p, x)));
	default:
		return is_float(p, x) ? tn_ir_unary(p->ir, unary[next(8)], x) : tn_ir_unary(p->ir, TN_neg, x);
	}
}

struct random_job { struct tn_arena *a; const struct tn_graph *g; struct tn_text text; };

static void make_graph(void *arg)
{
	struct random_job *j = arg;
	struct pool p = { .ir = tn_ir_create(j->a, "random") };
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t dims[3], n = 1 + next(3);
		for (uint32_t d = 0; d < n; d++)
			dims[d] = size(&p, 1 + next(6));
		p.v[p.n++] = tn_ir_input(p.ir, NULL, next(6) ? TN_F32 : TN_I32, n, dims);
	}
	for (uint32_t steps = 4 + next(14); steps > 0; steps--) {
		const uint32_t v = random_node(&p);
		if (elements(&p, v) <= 1200 && rank_of(&p, v) <= 4)
			p.v[p.n++] = v;
	}
	tn_ir_output(p.ir, NULL, p.v[p.n - 1]);
	for (uint32_t k = 0; k < 2; k++)
		tn_ir_output(p.ir, NULL, p.v[2 + next(p.n - 2)]);
	j->g = &p.ir->g;
	tn_ir_print(&j->text, j->g);
}

static int check(const char *name, const char *text, const struct tn_graph *g, const struct tn_backend *b, int fused, int64_t symbol, uint32_t kernels);

/* TENON_TEST_SEED, TENON_TEST_COUNT: other graphs than those of every day */
static void random_graphs(void **unused)
{
	const char *seed = getenv("TENON_TEST_SEED"), *count = getenv("TENON_TEST_COUNT");
	const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1, n = count ? strtoull(count, NULL, 10) : 300;
	int failed = 0;
	(void)unused;
	for (uint64_t i = first; i < first + n && failed < 10; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct random_job j = { .a = &a, .text = { .arena = &a } };
		state = i * 77777;
		if (tn_protect(&d, make_graph, &j)) {
			print_error("random %llu: %s\n", (unsigned long long)i, d.text);
			failed++;
		} else {
			const char *name = tn_printf(&a, "random %llu", (unsigned long long)i);
			failed += check(name, j.text.at, NULL, i % 2 ? &fake_backend : &fake_rich_backend, 1, 3, 0);
			failed += i % 4 == 0 && check(name, j.text.at, NULL, &fake_backend, 0, 3, 0);
		}
		tn_arena_fini(&a);
	}
	assert_int_equal(failed, 0);
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(hand_cases), cmocka_unit_test(random_graphs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
