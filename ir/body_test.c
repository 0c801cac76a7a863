/* body_test.c - every definition parses, infers what its row says for every dtype, and ends in atoms; the structural ones by value */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/body.h"
#include "ir/test_arrays.h"
#include "ir/test_rows.h"

static int has_text(const struct tn_prim_info *p)
{
	return !(p->flags & (TN_ATOM | TN_HOST_OP | TN_BUILDER)) && p->cls != TN_CLS_PACK;
}

static void all_parse(void **state)
{
	const char *error;
	(void)state;
	const struct tn_bodies *b = tn_bodies_builtin(&error);
	if (!b)
		fail_msg("%s", error);
	if (b->fault)
		fail_msg("%s", b->fault);
}

struct job { struct tn_arena *a; const struct tn_prim_info *p; uint32_t dtype; int opened; };

/* opens nodes until all are atoms: graph after graph, 20 levels at most */
static struct tn_ir *open_all(struct tn_arena *a, const struct tn_graph *g, int *left)
{
	struct tn_ir *ir = tn_ir_create(a, NULL);
	struct tn_remap m = tn_remap_begin(ir, g);
	tn_remap_inputs(ir, &m);
	*left = 0;
	for (uint64_t i = 0; i < g->nodes.count; i++) {
		const struct tn_node *n = &g->nodes.at[i];
		uint32_t in[16], out[2];
		for (uint32_t k = 0; k < n->n_in && k < 16; k++)
			in[k] = tn_remap_value(ir, &m, tn_in(g, n, k));
		if (tn_prim_info(n->prim)->flags & TN_ATOM || !tn_ir_inline_body(ir, g, n, in, out)) {
			tn_remap_node(ir, &m, n);
			continue;
		}
		*left = 1;
		for (uint32_t k = 0; k < n->n_out; k++)
			m.value[tn_out(g, n, k)] = out[k];
	}
	tn_remap_outputs(ir, &m);
	tn_ir_verify(&ir->g, a);
	return ir;
}

static void same_types(const struct tn_graph *g, const struct tn_graph *h)
{
	for (uint32_t i = 0; i < g->n_out; i++) {
		const uint32_t v = g->operands[g->out0 + i], w = h->operands[h->out0 + i];
		assert_int_equal(tn_val(g, v)->dtype, tn_val(h, w)->dtype);
		assert_int_equal(tn_rank(g, v), tn_rank(h, w));
	}
}

static void open_f(void *arg)
{
	struct job *j = arg;
	struct tn_text t = { .arena = j->a };
	uint32_t out[2];
	int left = 1;
	row_text(&t, j->p, j->dtype);
	const struct tn_ir *row = tn_ir_parse(j->a, t.at, t.len, j->p->name), *ir = row;
	struct tn_ir *probe = tn_ir_create(j->a, NULL);
	struct tn_remap m = tn_remap_begin(probe, &row->g);
	tn_remap_inputs(probe, &m);
	const struct tn_node *n = &row->g.nodes.at[0];
	uint32_t in[16];
	for (uint32_t k = 0; k < n->n_in; k++)
		in[k] = m.value[tn_in(&row->g, n, k)];
	j->opened = tn_ir_inline_body(probe, &row->g, n, in, out);
	for (int level = 0; j->opened && left; level++) {
		if (level == 20)
			fail_msg("%s is not in atoms after 20 levels", j->p->name);
		ir = open_all(j->a, &ir->g, &left);
	}
	for (uint64_t i = 0; j->opened && i < ir->g.nodes.count; i++)
		if (!(tn_prim_info(ir->g.nodes.at[i].prim)->flags & TN_ATOM))
			fail_msg("%s for %s leaves %s", j->p->name, tn_dtype_name(j->dtype), tn_prim_name(ir->g.nodes.at[i].prim));
	same_types(&row->g, &ir->g);
}

static void all_open(void **state)
{
	int missing = 0;
	(void)state;
	for (uint32_t i = 0; tn_prim_at(i); i++)
		for (uint32_t dtype = 1; dtype < TN_DTYPE_END; dtype++) {
			struct tn_diag d = { 0 };
			struct tn_arena a;
			struct job j = { .a = &a, .p = tn_prim_at(i), .dtype = dtype };
			if (!has_text(j.p) || !(j.p->mask & TN_M(dtype)))
				continue;
			tn_arena_init(&a, &d);
			if (tn_protect(&d, open_f, &j) != TN_OK)
				fail_msg("%s for %s: %s", j.p->name, tn_dtype_name(dtype), d.text);
			if (!j.opened)
				print_error("%s has no definition for %s\n", j.p->name, tn_dtype_name(dtype));
			missing += !j.opened;
			tn_arena_fini(&a);
		}
	assert_int_equal(missing, 0);
}

/* ---- values */
static const struct { const char *node, *in, *out; } values[] = {
	{ "mean %x, axes = [0, 1]", "f32[2, 2]: 1 2 3 6", "f32[]: 3" },
	{ "mean %x, axes = [1]", "f32[1, 0]:", "f32[1]: nan" },
	{ "mean %x, axes = [0]", "f16[3]: 60000 60000 60000", "f16[]: 60000" },
	{ "var %x, axes = [0]", "f32[4]: 1 2 3 6", "f32[]: 4.66666651" },
	{ "var %x, axes = [0], correction = 0", "f32[4]: 1 2 3 6", "f32[]: 3.5" },
	{ "var %x, axes = [0]", "f32[1]: 7", "f32[]: nan" },
	{ "any %x, axes = [1]", "bool[2, 2]: 0 0 0 1", "bool[2]: 0 1" },
	{ "all %x, axes = [1]", "bool[2, 2]: 1 0 1 1", "bool[2]: 0 1" },
	{ "all %x, axes = [0]", "bool[0]:", "bool[]: 1" },
	{ "logsumexp %x, axes = [1]", "f32[4, 2]: 0 -inf inf 1 -inf -inf nan 0", "f32[4]: 0 inf -inf nan" },
	{ "argmax %x, axis = 1", "f32[4, 3]: 1 3 3 -inf -inf -inf 1 nan nan -0 0 -1", "i64[4]: 1 0 1 0" },
	{ "argmin %x, axis = 1", "f32[3, 3]: 1 0 0 inf inf inf 1 nan -5", "i64[3]: 1 0 1" },
	{ "argmax %x, axis = 0", "i8[3]: -128 127 127", "i64[]: 1" },
	{ "argmin %x, axis = 0", "bool[3]: 1 1 0", "i64[]: 2" },
	{ "softmax %x, axis = 0", "f32[2]: 5 5", "f32[2]: 0.5 0.5" },
	{ "softmax %x, axis = 1", "f32[2, 2]: -inf -inf 1000 -1000", "f32[2, 2]: nan nan 1 0" },
	{ "log_softmax %x, axis = 0", "f32[1]: 3", "f32[1]: 0" },
	{ "layer_norm %x, %y, %z, axis = 1, epsilon = 0.0", "f32[1, 2]: 1 3; f32[2]: 2 2; f32[2]: 0.5 0.25", "f32[1, 2]: -1.5 2.25" },
	{ "rms_norm %x, %y, axis = 0, epsilon = 0.0", "f32[2]: 3 3; f32[2]: 1 2", "f32[2]: 1 2" },
	{ "batch_norm %x, %y, %z, %u, %v, epsilon = 0.0", "f32[1, 2, 1]: 5 7; f32[2]: 1 2; f32[2]: 0 1; f32[2]: 1 3; f32[2]: 4 16", "f32[1, 2, 1]: 2 3" },
	{ "group_norm %x, %y, %z, groups = 2, epsilon = 0.0", "f32[1, 2, 2]: 1 3 10 30; f32[2]: 1 2; f32[2]: 0 1", "f32[1, 2, 2]: -1 1 -1 3" },
};

struct value_job { struct tn_arena *a; uint32_t i; int symbolic; char *got; };

static void value_f(void *arg)
{
	struct value_job *j = arg;
	struct tn_array in[5], out[1];
	struct tn_text t = { .arena = j->a }, got = { .arena = j->a };
	const uint32_t n = read_arrays(j->a, values[j->i].in, in, 5);
	tn_text_add(&t, "graph @v(");
	for (uint32_t k = 0; k < n; k++) {
		tn_text_add(&t, "%s%%%c: %s[", k ? ", " : "", "xyzuv"[k], tn_dtype_name(in[k].dtype));
		for (uint32_t d = 0; d < in[k].rank; d++)
			if (j->symbolic)       /* equal sizes get equal symbols */
				tn_text_add(&t, "%sd%lld", d ? ", " : "", (long long)in[k].dims[d]);
			else
				tn_text_add(&t, "%s%lld", d ? ", " : "", (long long)in[k].dims[d]);
		tn_text_add(&t, "]");
	}
	tn_text_add(&t, ") { %%r = %s return %%r }", values[j->i].node);
	const struct tn_ir *ir = tn_ir_parse(j->a, t.at, t.len, "values");
	int left = 1;
	while (left)
		ir = open_all(j->a, &ir->g, &left);
	tn_eval_graph(&ir->g, in, out, j->a);
	put_array(&got, &out[0]);
	j->got = got.at;
}

static void by_value(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof values / sizeof *values; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct value_job j = { &a, i / 2, i % 2, NULL };
		if (tn_protect(&d, value_f, &j) != TN_OK)
			fail_msg("%s: %s", values[j.i].node, d.text);
		if (strcmp(j.got, values[j.i].out) != 0)
			fail_msg("%s of %s%s is %s, not %s", values[j.i].node, values[j.i].in, j.symbolic ? " with symbols" : "", j.got, values[j.i].out);
		tn_arena_fini(&a);
	}
}

/* ---- faults of a text */
struct fault_job { struct tn_arena *a; const char *text; struct tn_bodies b; };

static void fault_f(void *arg)
{
	struct fault_job *j = arg;
	tn_bodies_parse(j->a, "p.tn", j->text, strlen(j->text), &j->b);
}

static void faults(void **state)
{
	static const struct { const char *text, *words; } cases[] = {
		{ "prim nosuch(%x: T) { return %x }", "p.tn:1:6: expected a composite primitive of the table, found 'nosuch'" },
		{ "prim add(%x: T) { return %x }", "expected a composite primitive" },
		{ "prim neg(%x: T) {\n%y = sub %z, %x return %y }", "p.tn:2:10: expected a value that is defined before, found '%z'" },
		{ "prim neg(%x: T, %y: T) { return %x }", "neg takes 1 operands, its definition has 2" },
		{ "prim neg(%x: T; beta) { return %x }", "expected an attribute of the primitive, found 'beta'" },
		{ "prim neg(%x: T) when T in f33 { return %x }", "expected a dtype, found 'f33'" },
		{ "prim neg(%x: T) { %x = abs %x return %x }", "expected a name that is not taken" },
		{ "prim neg(%x: T) { %y = mul %x, alpha return %y }", "expected an expression, found 'alpha'" },
		{ "prim neg(%x: T) { return %x", "expected '}', found the end" },
	};
	static struct fault_job j;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		char *both = tn_printf(&a, "%s prim abs(%%x: T) { return %%x }", cases[i].text);
		j = (struct fault_job){ .a = &a, .text = both };
		if (tn_protect(&d, fault_f, &j) != TN_OK)
			fail_msg("%s", d.text);
		if (!j.b.fault || (i + 1 < sizeof cases / sizeof *cases && !strstr(j.b.fault, cases[i].words)))
			fail_msg("'%s' says '%s'", cases[i].text, j.b.fault ? j.b.fault : "nothing");
		if (i + 1 < sizeof cases / sizeof *cases)
			assert_non_null(j.b.of[TN_abs]);       /* the next one is there all the same */
		tn_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_parse), cmocka_unit_test(all_open), cmocka_unit_test(by_value), cmocka_unit_test(faults) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
