/* simplify_test.c - tn_simplify and tn_fold by text: cases/ holds a graph and what the pass makes of it.  The values' names and
 * the order of nodes are not compared; both graphs are evaluated, too, and must give the same bits. */
#include "decomp/decomp.h"
#include "ir/test_arrays.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LIMIT = 64, N = 3 };

struct job { struct tn_arena *a; const char *pass, *name, *before, *after; size_t before_len, after_len; };

/* ---- a text of what each output is, with names of inputs only: equal for equal graphs, however nodes are named and ordered */

static void add_attrs(struct tn_text *t, const struct tn_graph *g, const struct tn_node *n)
{
	for (uint32_t i = 0; i < n->n_attr; i++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + i];
		tn_text_add(t, " %s", tn_attr_name(a->name));
		if (a->type == TN_ATTR_INT)
			tn_text_add(t, " %g", (double)a->i);            /* 1 and 1.0 are one number */
		else if (a->type == TN_ATTR_FLOAT)
			tn_text_add(t, " %g", a->f);
		for (uint32_t k = 0; k < a->count && a->type == TN_ATTR_INTS; k++)
			tn_text_add(t, " %lld", (long long)g->ints[a->at + k]);
		for (uint32_t k = 0; k < a->count && a->type == TN_ATTR_SIZES; k++) {
			tn_text_add(t, " ");
			tn_size_print(t, g, g->dims[a->at + k]);
		}
	}
}

static const char *describe(struct tn_arena *a, const struct tn_graph *g);

static void describe_node(struct tn_text *t, const struct tn_graph *g, const struct tn_node *n, char **names)
{
	tn_text_add(t, "(%s", tn_prim_name(n->prim));
	const int swap = n->n_in == 2 && tn_prim_info(n->prim)->flags & TN_COMMUTATIVE && strcmp(names[tn_in(g, n, 0)], names[tn_in(g, n, 1)]) > 0;
	for (uint32_t i = 0; i < n->n_in; i++)
		tn_text_add(t, " %s", names[tn_in(g, n, swap ? 1 - i : i)]);
	add_attrs(t, g, n);
	for (uint32_t i = 0; i < n->n_region; i++)
		tn_text_add(t, " {%s}", describe(t->arena, g->regions[n->region0 + i]));
	tn_text_add(t, ")");
}

static const char *describe(struct tn_arena *a, const struct tn_graph *g)
{
	char **names = tn_array(a, char *, g->values.count + 1);
	struct tn_text all = { .arena = a };
	for (uint32_t i = 0; i < g->n_in; i++)
		names[g->operands[g->in0 + i]] = tn_printf(a, "in%u", i);
	for (uint32_t v = 0; v < g->values.count; v++)
		if (tn_val(g, v)->constant != TN_NOTHING) {
			struct tn_text t = { .arena = a };
			struct tn_array x = { .at = NULL };
			const int64_t symbols[4] = { N, N, N, N };
			ev_shape(g, NULL, v, symbols, &x, a);
			x.at = (void *)(uintptr_t)g->constants.at[tn_val(g, v)->constant].at;
			put_array(&t, &x);
			names[v] = t.at;
		}
	for (uint64_t k = 0; k < g->nodes.count; k++) {
		const struct tn_node *n = &g->nodes.at[k];
		for (uint32_t i = 0; i < n->n_out; i++) {
			struct tn_text t = { .arena = a };
			describe_node(&t, g, n, names);
			names[tn_out(g, n, i)] = tn_printf(a, "%s.%u", t.at, i);
		}
	}
	for (uint32_t i = 0; i < g->n_out; i++)
		tn_text_add(&all, "%s%s", i ? "\n" : "", names[g->operands[g->out0 + i]]);
	tn_text_add(&all, "\n%llu nodes", (unsigned long long)g->nodes.count);
	return all.at;
}

/* ---- both sides on the same numbers */
static struct tn_array make_input(struct tn_arena *a, const struct tn_graph *g, uint32_t v)
{
	static const double numbers[] = { 0.0, -0.0, 1, -1.5, 300.7, -2, 7, -70000, 0.1, 65504 };
	const int64_t symbols[4] = { N, N, N, N };
	struct tn_array x;
	ev_shape(g, NULL, v, symbols, &x, a);
	x.at = tn_arena_alloc(a, x.size);
	for (uint64_t i = 0; i < ev_count(&x); i++)
		ev_convert_n(x.dtype, (char *)x.at + i * tn_dtype_bytes(x.dtype), TN_F64, &numbers[i % 10], 1);
	return x;
}

struct evaluation { struct tn_arena *a; const struct tn_graph *g; struct tn_array in[16], out[16]; };

static void evaluate(void *arg)
{
	struct evaluation *e = arg;
	tn_eval_graph(e->g, e->in, e->out, e->a);
}

static void check_values(struct job *j, const struct tn_graph *before, const struct tn_graph *after)
{
	struct evaluation x = { .a = j->a, .g = before }, y = { .a = j->a, .g = after };
	struct tn_text p = { .arena = j->a }, q = { .arena = j->a };
	for (uint32_t i = 0; i < before->n_in; i++)
		x.in[i] = y.in[i] = make_input(j->a, before, before->operands[before->in0 + i]);
	const int32_t code = tn_protect(j->a->diag, evaluate, &x);
	if (code != tn_protect(j->a->diag, evaluate, &y))
		tn_raise(j->a->diag, TN_E_INTERNAL, "one side fails to evaluate: %s", j->a->diag->text);
	for (uint32_t i = 0; code == TN_OK && i < before->n_out; i++) {
		put_array(&p, &x.out[i]);
		put_array(&q, &y.out[i]);
	}
	if (code == TN_OK && strcmp(p.at, q.at) != 0)
		tn_raise(j->a->diag, TN_E_INTERNAL, "values differ:\n%s\n%s", p.at, q.at);
}

static void run_case(void *arg)
{
	struct job *j = arg;
	struct tn_text t = { .arena = j->a };
	const struct tn_ir *before = tn_ir_parse(j->a, j->before, j->before_len, j->name), *want = tn_ir_parse(j->a, j->after, j->after_len, j->name);
	const int folds = strcmp(j->pass, "fold") == 0;
	const struct tn_ir *got = folds ? tn_fold(&before->g, LIMIT, j->a) : tn_simplify(&before->g, j->a);
	tn_ir_verify(&got->g, j->a);
	check_values(j, &before->g, &got->g);
	if (folds)
		got = tn_simplify(&got->g, j->a);
	tn_ir_print(&t, &got->g);
	if (strcmp(describe(j->a, &got->g), describe(j->a, &want->g)) != 0)
		tn_raise(j->a->diag, TN_E_INTERNAL, "gave\n%s\n%s\nnot\n%s", t.at, describe(j->a, &got->g), describe(j->a, &want->g));
}

static char *read_file(const char *pass)
{
	char path[500];
	const char *top = getenv("TENON_SOURCE");
	snprintf(path, sizeof path, "%s/decomp/cases/%s.tn", top ? top : ".", pass);
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		fail_msg("%s cannot be opened", path);
	char *text = calloc(1, 1 << 17);
	assert_true(fread(text, 1, (1 << 17) - 1, f) > 0);
	fclose(f);
	return text;
}

static void run_file(const char *pass)
{
	char *text = read_file(pass);
	int failed = 0, n = 0;
	for (const char *at = strstr(text, "\n## "); at != NULL; n++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		const char *next = strstr(at + 1, "\n## "), *end = next ? next : at + strlen(at);
		const char *line = strchr(at + 1, '\n'), *arrow = strstr(at, "\n->\n");
		assert_true(arrow != NULL && arrow < end);
		tn_arena_init(&a, &d);
		struct job j = { &a, pass, tn_printf(&a, "%.*s", (int)(line - at - 4), at + 4), line, arrow + 4, (size_t)(arrow - line), (size_t)(end - arrow - 4) };
		if (tn_protect(&d, run_case, &j) != TN_OK) {
			print_error("%s: %s: %s\n", pass, j.name, d.text);
			failed++;
		}
		tn_arena_fini(&a);
		at = next;
	}
	free(text);
	assert_true(n > 4);
	assert_int_equal(failed, 0);
}

/* ---- random graphs of the rows that rules look at, over operands that make them apply */
static uint64_t state = 0x2545f4914f6cdd1du;
static uint32_t pick(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

static uint32_t random_number(struct tn_ir *ir, uint32_t dtype, const uint32_t *dims)
{
	static const double floats[] = { 0.0, -0.0, 1, -1, 2, 0.5, 3, 32768, 0x1p-14 };
	static const int64_t ints[] = { 0, 1, -1, 2, 4, 7, 127 };
	return TN_M_FLOAT >> dtype & 1 ? tn_ir_full(ir, dtype, floats[pick(9)], dims, 2) : tn_ir_full_int(ir, dtype, dtype == TN_BOOL ? pick(2) : ints[pick(7)], dims, 2);
}

/* a value of this dtype among those there are, or a new number */
static uint32_t operand(struct tn_ir *ir, uint32_t dtype, const uint32_t *dims)
{
	for (int tries = 0; tries < 6; tries++) {
		const uint32_t v = pick((uint32_t)ir->g.values.count);
		if (tn_val(&ir->g, v)->dtype == dtype && tn_rank(&ir->g, v) == 2 && memcmp(tn_shape(&ir->g, v), dims, 2 * sizeof *dims) == 0)
			return v;
	}
	return random_number(ir, dtype, dims);
}

static uint32_t random_step(struct tn_ir *ir, const uint32_t *dims)
{
	static const uint32_t prims[] = { TN_add, TN_sub, TN_mul, TN_div, TN_max, TN_min, TN_and, TN_or, TN_xor, TN_shl, TN_shr, TN_eq, TN_lt, TN_le, TN_neg, TN_not,
		TN_abs, TN_floor, TN_relu, TN_select, TN_convert, TN_permute, TN_reshape, TN_slice };
	static const uint32_t dtypes[] = { TN_BOOL, TN_U8, TN_I16, TN_I32, TN_F16, TN_BF16, TN_F32, TN_F64 };
	const struct tn_prim_info *p = tn_prim_info(prims[pick(sizeof prims / sizeof *prims)]);
	const uint32_t dtype = dtypes[pick(8)], x = operand(ir, dtype, dims);
	if (p->number == TN_select)
		return tn_ir_select(ir, operand(ir, TN_BOOL, dims), x, operand(ir, dtype, dims));
	if (!(p->mask >> dtype & 1))
		return random_number(ir, dtype, dims);
	if (p->number == TN_convert)
		return tn_ir_convert(ir, x, dtypes[pick(8)]);
	if (p->number == TN_permute)               /* there and back, through views that merge */
		return tn_ir_permute(ir, tn_ir_permute(ir, x, (const int64_t[]){ 1, 0 }), (const int64_t[]){ 1, 0 });
	if (p->number == TN_reshape)
		return tn_ir_reshape(ir, tn_ir_reshape(ir, x, (const uint32_t[]){ tn_size_product(ir, dims, 2) }, 1), dims, 2);
	if (p->number == TN_slice) {
		const int64_t step[] = { 1, pick(2) ? 1 : -1 };
		const uint32_t start[] = { 0, step[1] > 0 ? 0 : tn_size_const(ir, 4) }, limit[] = { dims[0], tn_size_const(ir, step[1] > 0 ? 5 : -1) };
		return tn_ir_add(ir, TN_slice, &x, 1, (const struct tn_attr_in[]){ TN_A_SIZES(start, start, 2), TN_A_SIZES(limit, limit, 2), TN_A_INTS(step, step, 2) }, 3);
	}
	return p->n_in == 1 ? tn_ir_unary(ir, p->number, x) : tn_ir_binary(ir, p->number, x, pick(8) ? operand(ir, dtype, dims) : x);
}

static void random_graph(void *arg)
{
	struct job *j = arg;
	struct tn_ir *ir = tn_ir_create(j->a, "random");
	const uint32_t dims[] = { pick(2) ? tn_size_sym(ir, "n", 0, TN_SIZE_UNBOUNDED) : tn_size_const(ir, N), tn_size_const(ir, 5) };
	for (uint32_t dtype = TN_BOOL; dtype <= TN_F64; dtype++)
		tn_ir_input(ir, NULL, dtype, 2, dims);
	for (uint32_t i = 0; i < 30; i++)
		random_step(ir, dims);
	for (uint32_t i = 0; i < 8; i++)
		tn_ir_output(ir, NULL, (uint32_t)ir->g.values.count - 1 - i * 2);
	const struct tn_ir *simple = tn_simplify(&ir->g, j->a), *folded = tn_fold(&simple->g, 1 << 10, j->a), *again = tn_simplify(&folded->g, j->a);
	tn_ir_verify(&again->g, j->a);
	check_values(j, &ir->g, &simple->g);
	check_values(j, &ir->g, &again->g);
}

static void random_graphs(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 1500; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { .a = &a, .name = "random" };
		const uint64_t seed = state;
		if (tn_protect(&d, random_graph, &j) != TN_OK)
			fail_msg("graph %u (state %llu): %s", i, (unsigned long long)seed, d.text);
		tn_arena_fini(&a);
	}
}

static void simplify_cases(void **unused) { (void)unused; run_file("simplify"); }
static void fold_cases(void **unused) { (void)unused; run_file("fold"); }

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(simplify_cases), cmocka_unit_test(fold_cases), cmocka_unit_test(random_graphs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
