/* verify_test.c - each rule of a graph has a graph that breaks it, and the words name node, rule and values */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/ir.h"
#include <stdlib.h>
#include <string.h>

/* a graph whose tables can be written */
static const char *const source =
	"graph @g(%x: f32[n, 4], %c: bool[]) where 0 <= n <= 9, 0 <= m {\n"
	"	const %k: f32[4] = {1, 2, 3, 4}\n"
	"	%b = broadcast %k, shape = [n, 4], dims = [1]\n"
	"	%a = add %x, %b @ \"model.onnx: /add\"\n"
	"	%r = if %c, %a { (%p: f32[q, 4]) %z = neg %p yield %z } { (%p: f32[q, 4]) yield %p }\n"
	"	%s = sum %r, axes = [0]\n"
	"	return %s as \"s\", %a may write %x\n"
	"}\n";
enum { X, C, K, B, A, R, S };          /* value numbers */
enum { BROADCAST, ADD, IF, SUM };      /* node numbers */

struct job { struct tn_arena *a; struct tn_graph *g; };

#define W(T, p) ((struct T *)(uintptr_t)(p))
#define VAL(g, i) (&W(tn_value, (g)->values.at)[i])
#define NOD(g, i) (&W(tn_node, (g)->nodes.at)[i])
#define ATT(g, i) (&W(tn_attr, (g)->attrs.at)[i])
#define SIZ(g, i) (&W(tn_size, (g)->sizes.at)[i])
#define OPS(g) ((uint32_t *)(uintptr_t)(g)->operands)
#define DIM(g) ((uint32_t *)(uintptr_t)(g)->dims)

static void parse_f(void *arg)
{
	struct job *j = arg;
	j->g = &tn_ir_parse(j->a, source, strlen(source), "source")->g;
}

static void verify_f(void *arg)
{
	struct job *j = arg;
	tn_ir_verify(j->g, j->a);
}

static void good(struct tn_graph *g) { (void)g; }
static void bad_dtype(struct tn_graph *g) { VAL(g, A)->dtype = 77; }
static void other_dtype(struct tn_graph *g) { VAL(g, A)->dtype = TN_F64; }
static void bad_dims(struct tn_graph *g) { VAL(g, A)->dim0 = 4000; }
static void bad_size(struct tn_graph *g) { DIM(g)[VAL(g, A)->dim0] = 999; }
static void other_shape(struct tn_graph *g) { DIM(g)[VAL(g, B)->dim0] = 1; }
static void bad_prim(struct tn_graph *g) { NOD(g, ADD)->prim = 500; }
static void bad_operand(struct tn_graph *g) { OPS(g)[NOD(g, ADD)->in0] = 99; }
static void late_operand(struct tn_graph *g) { OPS(g)[NOD(g, ADD)->in0] = S; }
static void own_operand(struct tn_graph *g) { OPS(g)[NOD(g, ADD)->in0] = A; }
static void wrong_operand(struct tn_graph *g) { OPS(g)[NOD(g, ADD)->in0] = C; }
static void twice(struct tn_graph *g) { OPS(g)[NOD(g, SUM)->out0] = A; }
static void lies(struct tn_graph *g) { VAL(g, S)->node = ADD; }
static void result_number(struct tn_graph *g) { VAL(g, S)->result = 1; }
static void orphan(struct tn_graph *g) { g->n_in = 1; }
static void input_is_result(struct tn_graph *g) { OPS(g)[g->in0] = A; }
static void input_twice(struct tn_graph *g) { OPS(g)[g->in0 + 1] = X; }
static void few_operands(struct tn_graph *g) { NOD(g, ADD)->n_in = 1; }
static void operands_leave(struct tn_graph *g) { NOD(g, ADD)->in0 = UINT32_MAX - 1; }
static void attr_name(struct tn_graph *g) { ATT(g, NOD(g, SUM)->attr0)->name = TN_ATTR_axis; }
static void attr_type(struct tn_graph *g) { ATT(g, NOD(g, SUM)->attr0)->type = TN_ATTR_SIZES; }
static void attr_missing(struct tn_graph *g) { NOD(g, SUM)->n_attr = 0; }
static void attr_leaves(struct tn_graph *g) { ATT(g, NOD(g, SUM)->attr0)->count = 500; }
static void attr_value(struct tn_graph *g) { ((int64_t *)(uintptr_t)g->ints)[ATT(g, NOD(g, SUM)->attr0)->at] = 2; }
static void regions_missing(struct tn_graph *g) { NOD(g, IF)->n_region = 1; }
static void region_null(struct tn_graph *g) { ((const struct tn_graph **)(uintptr_t)g->regions)[0] = NULL; }
static void region_type(struct tn_graph *g) { struct tn_graph *r = (struct tn_graph *)(uintptr_t)g->regions[0]; VAL(r, 0)->dtype = TN_F64; VAL(r, 1)->dtype = TN_F64; }
static void region_inner(struct tn_graph *g) { struct tn_graph *r = (struct tn_graph *)(uintptr_t)g->regions[0]; NOD(r, 0)->prim = TN_not; }
static void region_results(struct tn_graph *g) { ((struct tn_graph *)(uintptr_t)g->regions[1])->n_out = 0; ((struct tn_graph *)(uintptr_t)g->regions[1])->n_out_names = 0; }
static void output_gone(struct tn_graph *g) { OPS(g)[g->out0] = 1000; }
static void outputs_leave(struct tn_graph *g) { g->out0 = 100000; }
static void write_number(struct tn_graph *g) { W(tn_mutation, g->mutations.at)->input = 7; }
static void write_type(struct tn_graph *g) { W(tn_mutation, g->mutations.at)->output = 0; }
static void constant_size(struct tn_graph *g) { W(tn_constant, g->constants.at)->size = 12; }
static void constant_null(struct tn_graph *g) { W(tn_constant, g->constants.at)->at = NULL; }
static void constant_number(struct tn_graph *g) { VAL(g, K)->constant = 3; }
static void size_op(struct tn_graph *g) { SIZ(g, g->sizes.count - 1)->op = 99; }
static void size_forward(struct tn_graph *g) { SIZ(g, 1)->op = TN_SIZE_ADD; SIZ(g, 1)->a = 5; }
static void size_bounds(struct tn_graph *g) { SIZ(g, 2)->lo = 50; }
static void unbound_symbol(struct tn_graph *g)
{
	for (uint32_t i = 0; i < g->sizes.count; i++)          /* m, which no input has, in the place of n */
		if (g->sizes.at[i].op == TN_SIZE_SYM && g->sizes.at[i].a == 1)
			DIM(g)[ATT(g, NOD(g, BROADCAST)->attr0)->at] = DIM(g)[VAL(g, B)->dim0] = i;
}
static void name_leaves(struct tn_graph *g) { VAL(g, A)->name = 123456; }
static void layout_leaves(struct tn_graph *g) { VAL(g, A)->layout = 2; }

static const struct { const char *rule; void (*damage)(struct tn_graph *); const char *words[3]; } cases[] = {
	{ "a good graph", good, { NULL } },
	{ "dtypes exist", bad_dtype, { "value 4", "dtype 77" } },
	{ "results have the inferred dtype", other_dtype, { "node 1, add (model.onnx: /add)", "%a: f64[n, 4]", "f32[n, 4]" } },
	{ "shapes are inside dims", bad_dims, { "value 4", "4000" } },
	{ "dims are sizes", bad_size, { "value 4", "size 999" } },
	{ "results have the inferred shape", other_shape, { "node 0, broadcast", "%b: f32[1, 4]", "f32[n, 4]" } },
	{ "primitives exist", bad_prim, { "node 1", "primitive 500" } },
	{ "operands exist", bad_operand, { "node 1, add (model.onnx: /add)", "operand 0", "99" } },
	{ "operands come first", late_operand, { "node 1, add", "operand 0, value %s: f32[4]", "not defined before" } },
	{ "no node uses itself", own_operand, { "node 1, add", "value %a", "not defined before" } },
	{ "operand dtypes", wrong_operand, { "node 1, add", "operand 0 is bool", "%c: bool[]" } },
	{ "single definition", twice, { "node 3, sum", "%a", "defined already" } },
	{ "values know their node", lies, { "node 3, sum", "%s: f32[4]", "node 1" } },
	{ "values know their number", result_number, { "node 3, sum", "%s", "result 1" } },
	{ "every value is made", orphan, { "node 2, if", "%c", "not defined" } },
	{ "inputs are inputs only", input_is_result, { "input 0", "%a" } },
	{ "inputs are distinct", input_twice, { "input 1", "%x", "already" } },
	{ "operand counts", few_operands, { "node 1, add", "1 operands, it takes 2" } },
	{ "operand lists are inside", operands_leave, { "node 1, add", "leave" } },
	{ "attributes are known", attr_name, { "node 3, sum", "no attribute 'axis'", "axes:ints" } },
	{ "attributes have their type", attr_type, { "node 3, sum", "'axes'" } },
	{ "attributes are there", attr_missing, { "node 3, sum", "'axes' is missing" } },
	{ "attribute lists are inside", attr_leaves, { "node 3, sum", "'axes'", "1 to 501" } },
	{ "axes are dims", attr_value, { "node 3, sum", "'axes' has 2", "%r: f32[n, 4]" } },
	{ "regions are there", regions_missing, { "node 2, if", "1 regions, it needs 2" } },
	{ "regions exist", region_null, { "node 2, if", "region 0 is NULL" } },
	{ "regions take the operands", region_type, { "node 2, if", "input 0 of region 0", "%a: f32[n, 4]" } },
	{ "regions are graphs", region_inner, { "node 0, not", "f32" } },
	{ "regions agree", region_results, { "node 2, if", "1 and 0 results" } },
	{ "outputs exist", output_gone, { "output 0", "1000" } },
	{ "outputs are inside", outputs_leave, { "outputs at 100000" } },
	{ "mutations name inputs", write_number, { "mutation 0", "input 7 of 2" } },
	{ "what is written fits", write_type, { "mutation 0", "%s: f32[4]", "%x: f32[n, 4]" } },
	{ "constants have their size", constant_size, { "constant", "12 bytes", "need 16" } },
	{ "constants have bytes", constant_null, { "constant", "NULL" } },
	{ "constants exist", constant_number, { "value %k: f32[4]", "constant 3" } },
	{ "size operations exist", size_op, { "size", "no operation 99" } },
	{ "sizes refer back", size_forward, { "sizes", "constants 0 and 1" } },
	{ "bounds leave a value", size_bounds, { "size 2", "50" } },
	{ "sizes are known when they are needed", unbound_symbol, { "node 0, broadcast", "size m", "neither an input" } },
	{ "names are inside", name_leaves, { "value 4", "123456" } },
	{ "layouts exist", layout_leaves, { "%a: f32[n, 4]", "layout 2 of 0" } },
};

static void each_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { .a = &a };
		if (tn_protect(&d, parse_f, &j) != TN_OK)
			fail_msg("%s", d.text);
		cases[i].damage(j.g);
		const int32_t code = tn_protect(&d, verify_f, &j);
		if (code != (cases[i].words[0] ? TN_E_ARG : TN_OK))
			fail_msg("%s: code %d, %s", cases[i].rule, code, code ? d.text : "no error");
		for (int w = 0; w < 3 && cases[i].words[w]; w++)
			if (!strstr(d.text, cases[i].words[w]))
				fail_msg("%s: '%s' lacks '%s'", cases[i].rule, d.text, cases[i].words[w]);
		tn_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_rule) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
