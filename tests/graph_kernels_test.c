/* graph_kernels_test.c - graphs through all stages to compiled kernels of cpu_simd: each kernel against the plain walker of nests
 *
 * Bit for bit, but for sums, products and dots, whose order is the template's.  Memory behind each buffer must stay untouched. */
#include "render/testing.h"
#include "schedule/fake.h"
#include <math.h>

void tn_decomp_register(void);                       /* decomp/decomp.h */

#define G(name, text) { name, "graph @t(" text "\n}" }
static const struct { const char *name, *text; } graphs[] = {
	G("bias and exp", "%x: f32[6, 21], %y: f32[21]) {\n%c = broadcast %y, shape = [6, 21], dims = [1]\n%a = add %x, %c\n%e = exp %a\nreturn %e"),
	G("transposed", "%x: f32[14, 5, 13]) {\n%p = permute %x, perm = [2, 0, 1]\n%a = tanh %p\nreturn %a"),
	G("odd reshape", "%x: f32[14, 6]) {\n%r = reshape %x, shape = [3, 28]\n%p = permute %r, perm = [1, 0]\n%q = reshape %p, shape = [2, 42]\n%a = neg %q\nreturn %a"),
	G("slice backwards", "%x: f32[9, 37]) {\n%s = slice %x, start = [1, 36], limit = [9, -1], step = [3, -2]\n%a = neg %s\nreturn %a"),
	G("pad", "%x: f32[3, 24], %y: f32[3, 24]) {\n%z = full value = 2.5, dtype = f32, shape = []\n%a = add %x, %y\n%p = pad %a, %z, low = [1, 3], high = [0, 5], interior = [0, 0]\n%b = mul %p, %p\nreturn %b"),
	G("max pool", "%x: f32[2, 17, 19]) {\n%z = full value = -inf, dtype = f32, shape = []\n%p = pad %x, %z, low = [0, 1, 1], high = [0, 1, 1], interior = [0, 0, 0]\n%w = window %p, dims = [1, 2], size = [3, 2], stride = [2, 2], dilation = [1, 1]\n%s = reduce_max %w, axes = [3, 4]\nreturn %s"),
	G("cat", "%x: f32[2, 13], %y: f32[2, 1], %z: f32[2, 9]) {\n%n = neg %y\n%c = cat %x, %n, %z, axis = 1\n%a = add %c, %c\nreturn %a"),
	G("gather drops", "%x: f32[2, 5, 13], %i: i64[2, 4]) {\n%g = gather %x, %i, axis = 1, batch = 1, mode = 1\n%n = neg %g\nreturn %n"),
	G("gather along lanes", "%x: f32[5, 19], %i: i32[11]) {\n%g = gather %x, %i, axis = 1\n%n = neg %g\nreturn %n"),
	G("iota", "%x: i64[4, 15]) {\n%i = iota axis = 1, dtype = i64, shape = [4, 15]\n%j = iota axis = 0, dtype = f32, shape = [4, 15]\n%e = eq %x, %i\n%f = convert %e, dtype = f32\n%a = add %f, %j\nreturn %a"),
	G("softmax", "%x: f32[5, 43]) {\n%r = softmax %x, axis = 1\nreturn %r"),
	G("softmax over the middle", "%x: f32[3, 14, 19]) {\n%r = softmax %x, axis = 1\nreturn %r"),
	G("layer norm", "%x: f32[3, 4, 29], %w: f32[29], %o: f32[29]) {\n%r = layer_norm %x, %w, %o, axis = 2\nreturn %r"),
	G("argmax", "%x: f32[3, 29]) {\n%r = argmax %x, axis = 1\nreturn %r"),
	G("two axes", "%x: i32[3, 14, 5, 12]) {\n%s = sum %x, axes = [1, 3]\nreturn %s"),
	G("columns", "%x: f32[14, 75]) {\n%s = sum %x, axes = [0]\n%r = gelu %s\nreturn %r"),
	G("dot, bias, tanh", "%x: f32[14, 36], %w: f32[36, 25], %b: f32[25]) {\n%d = dot %x, %w, contract = [1, 0]\n%c = broadcast %b, shape = [14, 25], dims = [1]\n%a = add %d, %c\n%r = tanh %a\nreturn %r"),
	G("dot in batches", "%x: f32[2, 14, 16], %w: f32[16, 2, 15]) {\n%d = dot %x, %w, contract = [2, 0], batch = [0, 1]\n%p = permute %d, perm = [0, 2, 1]\n%a = neg %p\nreturn %a"),
	G("dot of integers", "%x: i8[4, 26], %w: i8[26, 15]) {\n%d = dot %x, %w, contract = [1, 0]\nreturn %d"),
	G("dot of halves", "%x: f16[14, 16], %w: f16[16, 25]) {\n%d = dot %x, %w, contract = [1, 0]\n%r = add %d, %d\nreturn %r"),
	G("dot of nothing", "%x: f32[4, 0], %w: f32[0, 5]) {\n%d = dot %x, %w, contract = [1, 0]\nreturn %d"),
	G("convolution", "%x: f32[2, 3, 16, 15], %w: f32[14, 3, 3, 2]) {\n%c = convolution %x, %w, stride = [2, 1], low = [1, 0], high = [1, 1], dilation = [1, 2], groups = 1\n%r = relu %c\nreturn %r"),
	G("halves", "%x: f16[4, 26], %y: f16[4, 26]) {\n%a = add %x, %y\n%b = mul %a, %x\n%e = exp %b\n%s = reduce_max %e, axes = [1]\nreturn %b, %s"),
	G("bf16", "%x: bf16[4, 26], %y: bf16[4, 26]) {\n%a = add %x, %y\n%b = tanh %a\n%c = lt %b, %x\n%d = select %c, %b, %y\nreturn %d"),
	G("f64", "%x: f64[4, 19]) {\n%a = log %x\n%b = erf %a\n%c = sin %b\nreturn %c"),
	G("cumulate", "%x: f32[3, 5, 14]) {\n%m = mul %x, %x\n%c = cumulate %m, axis = 1, op = 1, exclusive = 1, reverse = 1\n%r = neg %c\nreturn %r"),
	G("scatter", "%x: f32[5, 13], %i: i32[4], %u: f32[4, 13]) {\n%n = neg %u\n%s = scatter %x, %i, %n, axis = 0, op = 1\n%r = neg %s\nreturn %r"),
	G("0-d", "%x: f32[], %y: f32[]) {\n%a = add %x, %y\n%e = exp %a\nreturn %e"),
	G("symbols", "%x: f32[n, 6], %y: f32[n, 2*m]) where 0 <= n, 0 <= m {\n%r = reshape %y, shape = [n, 2, m]\n%s = sum %r, axes = [2]\n%t = sum %x, axes = [1]\n%b = broadcast %t, shape = [n, 2], dims = [0]\n%a = add %b, %s\nreturn %a"),
	G("symbolic flattening", "%x: f32[n, m, 6]) where 0 <= n, 0 <= m {\n%r = reshape %x, shape = [n*m, 6]\n%p = permute %r, perm = [1, 0]\n%q = reshape %p, shape = [6, n, m]\n%a = neg %q\nreturn %a"),
};

enum { GUARD = 64 };
struct record { const char *name; const struct tn_nest *nest; void **in, **want; uint64_t *size; int64_t symbols[8]; };
static struct record records[MAX_CASES];
static const char *graph_name;
static uint32_t seed = 1;

static void check_record(struct test_case *c)
{
	const struct record *r = &records[c - cases];
	int loose = 0;
	for (uint64_t s = 0; s < r->nest->steps.count; s++) {
		const struct tn_step *t = &r->nest->steps.at[s];
		loose |= t->op == TN_STEP_DOT || t->op == TN_STEP_CUMULATE || (t->op == TN_STEP_REDUCE && (t->prim == TN_sum || t->prim == TN_prod));
	}
	run(c, r->in, 1);
	for (uint64_t i = 0; i < r->nest->buffers.count; i++) {
		uint32_t dtype = r->nest->buffers.at[i].dtype, bytes = tn_dtype_bytes(dtype);
		const char *got = r->in[i], *want = r->want[i];
		for (uint64_t at = 0; at < r->size[i]; at += bytes) {
			double x, y;
			ev_convert_n(TN_F64, &x, dtype, got + at, 1);
			ev_convert_n(TN_F64, &y, dtype, want + at, 1);
			if (!memcmp(got + at, want + at, bytes) || (isnan(x) && isnan(y)))
				continue;
			if (loose && fabs(x - y) <= (bytes == 2 ? 8e-3 : 2e-5) * (fabs(y) + 4))
				continue;
			fprintf(stderr, "%s: buffer %llu, element %llu is %.17g, not %.17g\n%s\n", r->name, (unsigned long long)i, (unsigned long long)(at / bytes), x, y, c->kernel->text);
			fail();
		}
		for (uint32_t k = 0; k < GUARD; k++)
			assert_int_equal((unsigned char)got[r->size[i] + k], 0x5a);
	}
}

/* the walker computes what the kernel must */
static void walk_and_record(const struct tn_nest *n, const int64_t *symbols, uint32_t n_symbols, void **buffers)
{
	struct record *r = &records[n_cases];
	struct test_case *c = add_case(graph_name, check_record, n_cases, 0, 0);
	*r = (struct record){ .name = graph_name, .nest = n };
	c->nest = n;
	for (uint32_t i = 0; i < n_symbols && i < 4; i++)
		c->symbols[i] = symbols[i];
	r->in = tn_array(&arena, void *, n->buffers.count);
	r->want = tn_array(&arena, void *, n->buffers.count);
	r->size = tn_array(&arena, uint64_t, n->buffers.count);
	for (uint64_t i = 0; i < n->buffers.count; i++) {
		r->size[i] = (uint64_t)tn_size_eval(&n->sizes, n->buffers.at[i].length, symbols) * tn_dtype_bytes(n->buffers.at[i].dtype);
		r->in[i] = tn_arena_alloc(&arena, r->size[i] + GUARD);
		memcpy(r->in[i], buffers[i], r->size[i]);
		memset((char *)r->in[i] + r->size[i], 0x5a, GUARD);
	}
	walk_nest(n, symbols, buffers, &arena);
	for (uint64_t i = 0; i < n->buffers.count; i++)
		r->want[i] = tn_copy_bytes(&arena, buffers[i], r->size[i]);
}

static struct tn_array noisy(const struct tn_graph *g, uint32_t v, const int64_t *symbols)
{
	struct tn_array x = fake_array(g, v, symbols, &arena);
	uint32_t bytes = tn_dtype_bytes(x.dtype);
	for (uint64_t i = 0; i * bytes < x.size; i++) {
		seed = seed * 1664525u + 1013904223u;
		double f = TN_M(x.dtype) & TN_M_FLOAT ? (double)(int32_t)seed / 1e9 : (double)(seed >> 16 & 7) - (TN_M(x.dtype) & TN_M_SINT ? 2 : 0);
		ev_convert_n(x.dtype, (char *)x.at + i * bytes, TN_F64, &f, 1);
	}
	return x;
}

static void group(const struct tn_groups *gs, uint32_t i, const struct tn_places *p, const int64_t *symbols, struct tn_array *v)
{
	const struct tn_group *x = &gs->at[i];
	for (uint32_t k = 0; k < x->n_out; k++)
		v[x->out[k]] = fake_array(gs->g, x->out[k], symbols, &arena);
	if (x->kind != TN_GROUP_KERNEL) {
		if (x->kind != TN_GROUP_ALIAS)
			tn_raise(&diag, TN_E_INTERNAL, "group %u is no kernel", i);
		v[x->out[0]].at = v[x->in[0]].at;
		return;
	}
	const struct tn_nest *n = tn_nest_build(gs, i, p, &arena);
	void **buffers = tn_array(&arena, void *, n->buffers.count + 1);
	if (n->cls == TN_NEST_SCATTER)                      /* filled with what it updates */
		memcpy(v[x->out[0]].at, v[tn_in(gs->g, &gs->g->nodes.at[x->nodes[x->n_nodes - 1]], 0)].at, v[x->out[0]].size);
	for (uint64_t k = 0; k < n->buffers.count; k++)
		buffers[k] = v[n->buffers.at[k].value].at;
	walk_and_record(n, symbols, (uint32_t)gs->g->n_symbols, buffers);
}

static void one_graph(void *arg)
{
	static const int64_t symbols[8] = { 3, 11, 4, 5, 6, 7, 8, 9 };
	const char *text = arg;
	const struct tn_graph *parsed = &tn_ir_parse(&arena, text, strlen(text), graph_name)->g;
	const struct tn_place place = { .backend = &backend };
	const struct tn_places places = { .at = &place, .n = 1, .numerics = TN_STRICT };
	const struct tn_assignment as = tn_assign(parsed, &places, NULL, 0, &arena), ex = tn_expand_assigned(&as, &places, &arena);
	const struct tn_assignment lay = tn_layout(&ex, &places, &arena);
	const struct tn_groups gs = tn_fuse(&lay, &places, &arena);
	struct tn_array *v = tn_array(&arena, struct tn_array, gs.g->values.count + 1);
	for (uint32_t i = 0; i < gs.g->n_in; i++)
		v[gs.g->operands[gs.g->in0 + i]] = noisy(gs.g, gs.g->operands[gs.g->in0 + i], symbols);
	for (uint32_t i = 0; i < gs.g->values.count; i++)
		if (tn_val(gs.g, i)->constant != TN_NOTHING) {
			v[i] = fake_array(gs.g, i, symbols, &arena);
			memcpy(v[i].at, gs.g->constants.at[tn_val(gs.g, i)->constant].at, v[i].size);
		}
	for (uint32_t i = 0; i < gs.n; i++)
		group(&gs, i, &places, symbols, v);
}

static void test_graphs(void **s)
{
	(void)s;
	for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
		graph_name = graphs[i].name;
		if (tn_protect(&diag, one_graph, (void *)(uintptr_t)graphs[i].text)) {
			fprintf(stderr, "%s: %s\n", graphs[i].name, diag.text);
			fail();
		}
	}
	render_all();
	compile_and_check("off");
}

static int setup(void **s)
{
	(void)s;
	tn_decomp_register();
	if (open_tables())
		return -1;
	backend.rules = (struct tn_rule_row_rows)TN_ROWS(fake_rules);
	return 0;
}

static int teardown(void **s)
{
	(void)s;
	tn_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_graphs) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
