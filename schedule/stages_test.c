/* stages_test.c - what the stages decide, as text: slots, copies, packs, groups, nests */
#include "schedule/fake.h"
#include "schedule/query.h"
#include "schedule/where.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

void tn_decomp_register(void);           /* decomp/decomp.h: whoever links both hands the builders down */

/* a library: dot, tanh and sort in regions of at most 2 nodes, and packing */
#define F32 TN_M(TN_F32)
static const struct tn_rule_row npu_rules[] = {
	{ .id = "region", .anchor = TN_CLASS(TN_CLASS_CONTRACT) | TN_CLASS(TN_CLASS_POINTWISE) | TN_CLASS(TN_CLASS_SORT), .max_nodes = 2, .flags = TN_RULE_GRAPH },
};
static const struct tn_cap_row npu_caps[] = {
	{ .prim = TN_dot, .out = F32, .in0 = F32, .in1 = F32, .rank_lo = 2, .rank_hi = 2 }, { .prim = TN_tanh, .out = F32, .in0 = F32 },
	{ .prim = TN_sort, .out = F32, .in0 = F32 },
};
static const struct tn_backend npu = { .head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "npu", .rules = TN_ROWS(npu_rules), .caps = TN_ROWS(npu_caps) };

static const struct tn_rule_row cpu_rules[] = {
	{ .id = "pack", .anchor = TN_CLASS(TN_CLASS_PACK), .max_nodes = 1, .flags = TN_RULE_GRAPH },
	{ .id = "contract", .anchor = TN_CLASS(TN_CLASS_CONTRACT), .producers = SIMPLE, .consumers = SIMPLE },
	{ .id = "rows", .anchor = TN_CLASS(TN_CLASS_ROWS) | TN_CLASS(TN_CLASS_REDUCE), .producers = SIMPLE, .consumers = SIMPLE },
	{ .id = "pointwise", .anchor = SIMPLE, .producers = SIMPLE, .consumers = SIMPLE, .max_nodes = 6 },
};
static const struct tn_cap_row cpu_caps[] = { { .prim = TN_pack, .out = F32, .in0 = F32 } };
static const struct tn_layout_row cpu_layouts[] = { { "dot.b.panels", F32, 0 } };
static struct tn_backend cpu;

static int32_t no_tanh(struct tn_self *s, const char *target, const struct tn_graph *g, struct tn_verdict *v)
{
	(void)s; (void)target;
	for (uint64_t i = 0; i < g->nodes.count; i++)
		v[i].answer = g->nodes.at[i].prim == TN_tanh ? TN_CAN_NO : TN_CAN_YES;
	return TN_OK;
}

struct stage_case {
	const char *name;
	const char *plugins;             /* c: cpu, n: npu, q: npu that says no to tanh */
	const char *off;                 /* rows that are disabled */
	const char *text, *want;
	uint64_t deny; uint32_t n_deny;
};
static const struct stage_case cases[] = {
#include "schedule/stages_cases.h"
};

static int disabled(void *ctx, uint32_t slot, const char *row)
{
	(void)slot;
	return ctx != NULL && strstr(ctx, row) != NULL;
}

struct job { struct tn_arena *a; const struct stage_case *c; struct tn_text got; };

static void run(void *arg)
{
	struct job *j = arg;
	struct tn_backend q = npu;
	struct tn_place place[4];
	uint32_t n = 0;
	q.can = no_tanh;
	for (const char *s = j->c->plugins; *s; s++)
		place[n++] = (struct tn_place){ .backend = *s == 'c' ? &cpu : *s == 'n' ? &npu : &q };
	const struct tn_places p = { .at = place, .n = n, .disabled = disabled, .ctx = (void *)(uintptr_t)j->c->off, .numerics = TN_STRICT };
	const struct tn_graph *g = &tn_ir_parse(j->a, j->c->text, strlen(j->c->text), "case")->g;
	const struct tn_assignment as = tn_assign(g, &p, &j->c->deny, j->c->n_deny, j->a), ex = tn_expand_assigned(&as, &p, j->a), lay = tn_layout(&ex, &p, j->a);
	tn_ir_verify(ex.g, j->a);
	tn_ir_verify(lay.g, j->a);
	const struct tn_groups gs = tn_fuse(&lay, &p, j->a);
	tn_groups_print(&j->got, &gs, &p);
	for (uint32_t i = 0; i < gs.n; i++)
		if (gs.at[i].kind == TN_GROUP_KERNEL)
			tn_nest_print(&j->got, tn_nest_build(&gs, i, &p, j->a));
		else if (gs.at[i].kind == TN_GROUP_GRAPH)
			tn_ir_verify(tn_group_region(&gs, i, j->a), j->a);
}

static void stages(void **unused)
{
	int failed = 0;
	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { &a, &cases[i], { .arena = &a } };
		const int32_t code = tn_protect(&d, run, &j);
		if (code || strcmp(j.got.at, cases[i].want) != 0) {
			print_error("%s\n%s", cases[i].name, code ? d.text : "");
			print_error("%s", "\n--- gave\n");
			for (size_t k = 0; !code && k < j.got.len; k += 400)
				print_error("%.400s", j.got.at + k);
			print_error("--- not\n%s\n", cases[i].want);
			failed++;
		}
		tn_arena_fini(&a);
	}
	assert_int_equal(failed, 0);
}

/* a constant operand is packed: [K, N] with K in the order in which the other operand's memory runs */
static void packs(void *arg)
{
	struct job *j = arg;
	static const float w[5 * 4 * 3];
	struct tn_ir *ir = tn_ir_create(j->a, "t");
	const uint32_t dims[3] = { tn_size_sym(ir, "n", 0, 1000), tn_size_const(ir, 9), tn_size_const(ir, 4) }, three = tn_size_const(ir, 3);
	uint32_t v = tn_ir_input(ir, "x", TN_F32, 3, dims);
	const uint32_t c = tn_ir_constant(ir, "w", TN_F32, 3, (const int64_t[]){ 5, 4, 3 }, w, sizeof w);
	const int64_t one = 1, along = 1;
	v = tn_ir_add(ir, TN_window, &v, 1, (const struct tn_attr_in[]){ TN_A_INTS(dims, &along, 1), TN_A_SIZES(size, &three, 1), TN_A_INTS(stride, &one, 1),
		TN_A_INTS(dilation, &one, 1) }, 4);
	tn_ir_output(ir, "y", tn_ir_unary(ir, TN_tanh, tn_ir_dot(ir, v, c, (const int64_t[]){ 2, 1, 3, 2 }, 4, NULL, 0)));
	const struct tn_place place = { .backend = &cpu };
	const struct tn_places p = { .at = &place, .n = 1, .numerics = TN_STRICT };
	const struct tn_assignment as = tn_assign(&ir->g, &p, NULL, 0, j->a), lay = tn_layout(&as, &p, j->a);
	tn_ir_verify(lay.g, j->a);
	const struct tn_groups gs = tn_fuse(&lay, &p, j->a);
	tn_groups_print(&j->got, &gs, &p);
	for (uint32_t i = 0; i < gs.n; i++)
		if (gs.at[i].kind == TN_GROUP_KERNEL)
			tn_nest_print(&j->got, tn_nest_build(&gs, i, &p, j->a));
}

static void packing(void **unused)
{
	static const char want[] =
		"group 0 kernel on cpu pointwise by pointwise once { permute, reshape } from %w to %4\n"
		"group 1 graph on cpu by pack once { pack } from %4 to %5\n"
		"group 2 kernel on cpu contract by contract { window, reshape, dot, tanh } from %x, %5 to %8\n"
		"nest pointwise strict {\n\tsymbol s0 in 0 .. 1000\n\tdim d0 outer 3\n\tdim d1 outer 4\n\tdim d2 inner 5\n"
		"\tbuffer b0 f32[60] read value 2\n\tbuffer b1 f32[60] write value 4\n\tphase outer inner\n"
		"\t\t%0 = load f32 b0[d0 + 3*d1 + 12*d2]\n\t\t%1 = store f32 %0, b1[20*d0 + 5*d1 + d2]\n}\n"
		"nest contract strict {\n\tsymbol s0 in 0 .. 1000\n\tdim d0 m s0\n\tdim d1 m 7\n\tdim d2 n 5\n\tdim d3 k 12\n"
		"\tbuffer b0 f32[{s0*36}] read role a value 0\n\tbuffer b1 f32[60] read role b layout \"dot.b.panels\" value 5\n"
		"\tbuffer b2 f32[{s0*35}] write value 8\n\tphase batch m n k\n\t\t%0 = load f32 b0[36*d0 + 4*d1 + d3]\n"
		"\t\t%1 = load f32 b1[d2 + 5*d3]\n\t\t%2 = dot f32 %0, %1\n\tphase batch m n\n\t\t%3 = tanh f32 %2\n\t\t%4 = store f32 %3, b2[35*d0 + 5*d1 + d2]\n}\n";
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)unused;
	tn_arena_init(&a, &d);
	struct job j = { &a, NULL, { .arena = &a } };
	if (tn_protect(&d, packs, &j))
		fail_msg("%s", d.text);
	assert_string_equal(j.got.at, want);
	tn_arena_fini(&a);
}

/* two layers that compute the same have equal nests but for the values their buffers hold */
static void equal(void *arg)
{
	struct tn_arena *a = arg;
	static const char text[] = "graph @t(%x: f32[4, 6], %w: f32[6, 6], %v: f32[6, 6]) {\n%d = dot %x, %w, contract = [1, 0]\n%r = tanh %d\n%e = dot %r, %v, contract = [1, 0]\n%s = tanh %e\nreturn %s\n}";
	const struct tn_place place = { .backend = &cpu };
	const struct tn_places p = { .at = &place, .n = 1, .numerics = TN_STRICT };
	const struct tn_assignment as = tn_assign(&tn_ir_parse(a, text, strlen(text), "case")->g, &p, NULL, 0, a);
	const struct tn_groups gs = tn_fuse(&as, &p, a);
	struct tn_text t[2] = { { .arena = a }, { .arena = a } };
	assert_int_equal(gs.n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		struct tn_nest n = *tn_nest_build(&gs, i, &p, a);
		struct tn_nest_buffer *b = tn_copy_bytes(a, n.buffers.at, n.buffers.count * sizeof *b);
		for (uint64_t k = 0; k < n.buffers.count; k++)
			b[k].value = TN_NOTHING;
		n.buffers.at = b;
		tn_nest_print(&t[i], &n);
	}
	assert_string_equal(t[0].at, t[1].at);
}

static void equal_nests(void **unused)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)unused;
	tn_arena_init(&a, &d);
	assert_int_equal(tn_protect(&d, equal, &a), TN_OK);
	tn_arena_fini(&a);
}

/* predicates of capability rows */
static void where(void *arg)
{
	struct tn_arena *a = arg;
	static const char text[] = "graph @t(%x: f32[4, 6], %y: f32[n, 6]) where 0 <= n {\n%s = softmax %x, axis = 1\n%t = softmax %y, axis = 1\nreturn %s, %t\n}";
	static const struct { const char *where; int known, symbolic; } rows[] = {
		{ NULL, 1, 1 }, { "rank == 2", 1, 1 }, { "dim1 % 4 == 0", 0, 0 }, { "dim(1) * 2 > 11 && axis == rank - 1", 1, 1 }, { "elements <= 24", 1, 0 },
		{ "dim0 >= 4 || rank == 2", 1, 0 }, { "!(rank != 2)", 1, 1 }, { "dim2 == 1", 0, 0 }, { "rank ==", 0, 0 }, { "rank / 0", 0, 0 }, { "1 + ", 0, 0 }, { "frob", 0, 0 },
	};
	const struct tn_graph *g = &tn_ir_parse(a, text, strlen(text), "case")->g;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (q_where(rows[i].where, g, &g->nodes.at[0]) != rows[i].known || q_where(rows[i].where, g, &g->nodes.at[1]) != rows[i].symbolic)
			fail_msg("%s", rows[i].where ? rows[i].where : "none");
	}
}

static void wheres(void **unused)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)unused;
	tn_arena_init(&a, &d);
	if (tn_protect(&d, where, &a))
		fail_msg("%s", d.text);
	tn_arena_fini(&a);
}

/* bad nest texts: where and what */
struct bad { struct tn_arena *a; const char *text; };
static void read_it(void *arg)
{
	const struct bad *b = arg;
	tn_nest_parse(b->a, b->text, strlen(b->text), "f");
}

static void bad_texts(void **unused)
{
	static const char *const texts[][2] = {
		{ "", "f:1: nest was expected" }, { "nest rowz strict {", "f:1: a class of nests" }, { "nest rows strict {\n\tdim d1 outer 3\n}", "f:2: the next dim's number" },
		{ "nest rows strict {\n\tdim d0 outer 3\n\tbuffer b0 f32[3] read\n\tphase outer\n\t\t%0 = load f32 b1[d0]\n}", "f:5: a buffer" },
		{ "nest rows strict {\n\tdim d0 outer 3\n\tbuffer b0 f32[3] read\n\tphase outer\n\t\t%0 = load f32 b0[d1]\n}", "f:5: a dim" },
		{ "nest rows strict {\n\tphase outer\n\t\t%0 = neg f32 %0\n}", "f:3: an earlier step" }, { "nest rows strict {\n\tphase outer\n\t\t%0 = frob f32\n}", "f:3: a primitive" },
		{ "nest rows strict {\n\tdim d0 outer {3", "f:2: }" }, { "nest rows strict {\n\tphase outer\n\t\t%0 = const f99 1\n}", "f:3: a dtype" },
		{ "nest rows strict {\n", "f:2: symbol, dim, buffer, phase or }" },
	};
	(void)unused;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct bad b = { &a, texts[i][0] };
		assert_int_equal(tn_protect(&d, read_it, &b), TN_E_ARG);
		if (strncmp(d.text, texts[i][1], strlen(texts[i][1])) != 0)
			fail_msg("%s\ngave %s\nnot %s", texts[i][0], d.text, texts[i][1]);
		tn_arena_fini(&a);
	}
}

/* of rules of the graph way: the highest benefit whose predicate holds, and static ones only where nothing is symbolic */
static const struct tn_rule_row picky_rules[] = {
	{ .id = "any", .anchor = TN_CLASS(TN_CLASS_POINTWISE), .benefit = 1, .flags = TN_RULE_GRAPH },
	{ .id = "four", .anchor = TN_CLASS(TN_CLASS_POINTWISE), .where = "dim0 == 4", .benefit = 3, .flags = TN_RULE_GRAPH },
	{ .id = "fixed", .anchor = TN_CLASS(TN_CLASS_POINTWISE), .benefit = 2, .flags = TN_RULE_GRAPH | TN_RULE_STATIC },
	{ .id = "pattern", .anchor = TN_CLASS(TN_CLASS_POINTWISE), .pattern = "", .benefit = 9, .flags = TN_RULE_GRAPH },
};
static const struct tn_backend picky = { .head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "picky", .rules = TN_ROWS(picky_rules) };

static void choose_rules(void *arg)
{
	static const char text[] = "graph @t(%x: f32[n, 2], %y: f32[4, 2], %z: f32[5, 2]) {\n%a = neg %x\n%b = neg %y\n%c = neg %z\nreturn %a, %b, %c\n}";
	static const char *const want[] = { "any", "four", "fixed" };
	struct tn_arena *a = arg;
	const struct tn_place place = { &picky, NULL, NULL };
	const struct tn_places p = { .at = &place, .n = 1 };
	const struct tn_graph *g = &tn_ir_parse(a, text, strlen(text), "t")->g;
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(q_graph_rule(&p, 0, g, &g->nodes.at[i])->id, want[i]);
}

static void rules_chosen(void **state)
{
	struct tn_diag d = { .code = TN_OK };
	struct tn_arena a;
	(void)state;
	tn_arena_init(&a, &d);
	if (tn_protect(&d, choose_rules, &a) != TN_OK)
		fail_msg("%s", d.text);
	tn_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(stages), cmocka_unit_test(packing), cmocka_unit_test(equal_nests), cmocka_unit_test(wheres), cmocka_unit_test(rules_chosen), cmocka_unit_test(bad_texts) };
	tn_decomp_register();
	cpu = fake_rich_backend;
	cpu.id = "cpu";
	cpu.rules = (struct tn_rule_row_rows)TN_ROWS(cpu_rules);
	cpu.caps = (struct tn_cap_row_rows)TN_ROWS(cpu_caps);
	cpu.layouts = (struct tn_layout_row_rows)TN_ROWS(cpu_layouts);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
