/* convert_test.c - from bytes to graphs: symbols, computed shapes, order, errors that name what is wrong, and hostile models.
 * What the operators compute is tested against onnx's own cases: tools/onnx_nodes.py and tools/onnx_eval.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "frontend/onnx/onnx.h"
#include "frontend/onnx/proto_write.h"

struct job { struct tn_diag d; struct tn_arena a; const void *bytes; size_t size; struct tn_ir *ir; };

static void parse(void *arg)
{
	struct job *j = arg;
	j->ir = tn_onnx_parse(&j->a, j->bytes, j->size, "t.onnx", NULL);
	tn_ir_verify(&j->ir->g, &j->a);
}

static int32_t run(struct job *j, const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);
	if (size)
		memcpy(copy, bytes, size);
	tn_arena_init(&j->a, &j->d);
	j->bytes = copy;
	j->size = size;
	return tn_protect(&j->d, parse, j);
}

static void done(struct job *j)
{
	tn_arena_fini(&j->a);
	free((void *)(uintptr_t)j->bytes);
}

/* ---- a model from lines: one step each */
enum { INPUT = 11, OUTPUT = 12 };
static void add_value(struct pw *g, uint32_t field, const char *name, uint32_t elem, const char *dims)
{
	struct pw v = pw_value(name, elem, dims);
	pw_msg(g, field, &v);
}

static void add_node(struct pw *g, const char *op, const char *in, const char *out)
{
	struct pw n = pw_node(op, op, in, out);
	pw_msg(g, 1, &n);
}

static void add_axis_node(struct pw *g, const char *op, const char *in, const char *out, const char *attr, int64_t v)
{
	struct pw n = pw_node(op, op, in, out);
	pw_attr_int(&n, attr, v);
	pw_msg(g, 1, &n);
}

static void add_ints(struct pw *g, const char *name, const int64_t *v, int64_t n)
{
	struct pw t = pw_tensor(name, 7, &n, n >= 0, v, (size_t)(n < 0 ? 1 : n) * 8);
	pw_msg(g, 5, &t);
}

static void add_floats(struct pw *g, const char *name, const int64_t *dims, size_t rank)
{
	static const float zeros[256];
	size_t n = 1;
	for (size_t i = 0; i < rank; i++)
		n *= (size_t)dims[i];
	struct pw t = pw_tensor(name, 1, dims, rank, zeros, n * 4);
	pw_msg(g, 5, &t);
}

static void expect(const struct pw *g, int32_t code, const char *words)
{
	struct job j = { 0 };
	struct pw m = pw_model(g, 17);
	int32_t rc = run(&j, m.at, m.n);
	if (rc != code || !strstr(j.d.text, words))
		fail_msg("got %d '%s', not %d '%s'", rc, rc ? j.d.text : "", code, words);
	done(&j);
}

/* the type of output `out` as text, and how many nodes of a primitive there are */
static const char *type_of(struct job *j, uint32_t out)
{
	const struct tn_graph *g = &j->ir->g;
	uint32_t v = g->operands[g->out0 + out];
	struct tn_text t = { .arena = &j->a };
	tn_text_add(&t, "%s[", tn_dtype_name(tn_val(g, v)->dtype));
	for (uint32_t d = 0; d < tn_rank(g, v); d++) {
		tn_text_add(&t, "%s", d ? ", " : "");
		tn_size_print(&t, g, tn_shape(g, v)[d]);
	}
	tn_text_add(&t, "]");
	return t.at;
}

static uint32_t count(const struct job *j, uint32_t prim)
{
	uint32_t n = 0;
	for (uint64_t i = 0; i < j->ir->g.nodes.count; i++)
		n += j->ir->g.nodes.at[i].prim == prim;
	return n;
}

static void convert(struct job *j, const struct pw *g)
{
	struct pw m = pw_model(g, 17);
	int32_t rc = run(j, m.at, m.n);
	if (rc)
		fail_msg("%d %s", rc, j->d.text);
}

/* ---- symbols */

static void test_symbols(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "batch 4 -1 ?");
	add_value(&g, INPUT, "y", 1, "batch 4 1 1");
	add_value(&g, OUTPUT, "z", 1, "");
	add_node(&g, "Add", "x y", "z");
	convert(&j, &g);
	assert_string_equal(type_of(&j, 0), "f32[batch, 4, s0, s1]");
	done(&j);
}

static void test_fresh_symbol_keeps_off_names(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "? a-b");
	add_value(&g, INPUT, "y", 1, "s0 a+b");
	add_value(&g, OUTPUT, "x", 1, "");
	add_value(&g, OUTPUT, "y", 1, "");
	convert(&j, &g);
	assert_string_equal(type_of(&j, 0), "f32[s1, a_b]");
	assert_string_equal(type_of(&j, 1), "f32[s0, a_b_2]");
	done(&j);
}

/* Shape -> Gather -> Mul -> Concat -> Reshape, and back to a shape that comes out as a value */
static void test_computed_shapes_stay_symbolic(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "n 6 8");
	add_value(&g, OUTPUT, "y", 1, "");
	add_value(&g, OUTPUT, "size", 7, "");
	add_ints(&g, "zero", (int64_t[]){ 0 }, 1);
	add_ints(&g, "two", (int64_t[]){ 2 }, 1);
	add_ints(&g, "rest", (int64_t[]){ -1 }, 1);
	add_ints(&g, "first", (int64_t[]){ 0 }, -1);
	add_node(&g, "Shape", "x", "s");
	add_node(&g, "Gather", "s zero", "n");
	add_node(&g, "Mul", "n two", "n2");
	add_axis_node(&g, "Concat", "n2 rest", "want", "axis", 0);
	add_node(&g, "Reshape", "x want", "y");
	add_node(&g, "Shape", "y", "t");
	add_node(&g, "Gather", "t first", "size");
	convert(&j, &g);
	assert_string_equal(type_of(&j, 0), "f32[n*2, 24]");
	assert_string_equal(type_of(&j, 1), "i64[]");
	assert_int_equal(count(&j, TN_bind), 0);
	assert_int_equal(count(&j, TN_size), 1);
	assert_int_equal(count(&j, TN_reshape), 1);
	assert_int_equal(j.ir->g.nodes.count, 2);
	done(&j);
}

static void test_slice_of_symbols(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "n 10");
	add_value(&g, OUTPUT, "y", 1, "");
	add_ints(&g, "start", (int64_t[]){ 0, -1 }, 2);
	add_ints(&g, "end", (int64_t[]){ INT64_MAX, -100 }, 2);
	add_ints(&g, "axes", (int64_t[]){ 0, 1 }, 2);
	add_ints(&g, "steps", (int64_t[]){ 2, -3 }, 2);
	add_node(&g, "Slice", "x start end axes steps", "y");
	convert(&j, &g);
	assert_string_equal(type_of(&j, 0), "f32[(n + 1) div 2, 4]");
	done(&j);
}

static void test_shape_as_input_is_bound(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "n 4");
	add_value(&g, INPUT, "want", 7, "2");
	add_value(&g, OUTPUT, "y", 1, "");
	add_node(&g, "Reshape", "x want", "y");
	convert(&j, &g);
	assert_int_equal(count(&j, TN_bind), 2);
	done(&j);
}

/* ---- order and names */

static void test_order(void **state)
{
	(void)state;
	struct pw g = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "3");
	add_value(&g, OUTPUT, "c", 1, "");
	add_node(&g, "Exp", "b", "c");
	add_node(&g, "Neg", "x", "b");
	add_node(&g, "NoSuchOp", "x", "unused");   /* no output needs it */
	convert(&j, &g);
	assert_int_equal(j.ir->g.nodes.count, 2);
	assert_int_equal(j.ir->g.nodes.at[0].prim, TN_neg);
	assert_string_equal(tn_str_at(&j.ir->g, j.ir->g.nodes.at[0].origin), "t.onnx: Neg");
	done(&j);
}

static void test_names(void **state)
{
	(void)state;
	struct pw g = { 0 }, h;
	add_value(&g, INPUT, "x", 1, "3");
	add_value(&g, OUTPUT, "y", 1, "");
	h = g;
	add_node(&h, "Add", "x w", "y");
	expect(&h, TN_E_ARG, "t.onnx: node 'Add' (Add) reads 'w', which nothing defines");
	h = g;
	add_node(&h, "Add", "x b", "a");
	add_node(&h, "Mul", "a x", "b");
	add_node(&h, "Neg", "b", "y");
	expect(&h, TN_E_ARG, "is on a cycle: it reads");
	h = g;
	add_node(&h, "Neg", "x", "y");
	add_node(&h, "Abs", "x", "y");
	expect(&h, TN_E_ARG, "node 'Abs' (Abs): 'y' is defined twice");
	h = g;
	add_node(&h, "Neg", "x", "x");
	expect(&h, TN_E_ARG, "'x' is defined twice");
	expect(&g, TN_E_ARG, "nothing defines the output 'y'");
}

/* ---- errors name node, operator and values */

static void test_errors(void **state)
{
	(void)state;
	struct pw g = { 0 }, h, n;
	add_value(&g, INPUT, "x", 1, "n 64 8 8");
	add_value(&g, OUTPUT, "y", 1, "");
	add_floats(&g, "w", (int64_t[]){ 4, 4, 1, 1 }, 4);
	add_ints(&g, "shape", (int64_t[]){ -1, 7, -1 }, 3);
	add_ints(&g, "axes", (int64_t[]){ 9 }, 1);
	h = g;
	n = pw_node("Conv", "Conv_3", "x w", "y");
	pw_attr_int(&n, "group", 3);
	pw_msg(&h, 1, &n);
	expect(&h, TN_E_ARG, "t.onnx: node 'Conv_3' (Conv): group 3 does not divide 64 channels");
	h = g;
	add_node(&h, "Reshape", "x shape", "y");
	expect(&h, TN_E_ARG, "shape [-1, 7, -1] has two dims of -1");
	h = g;
	add_node(&h, "Unsqueeze", "x axes", "y");
	expect(&h, TN_E_ARG, "axis 9 of a tensor of rank 5");
	h = g;
	add_node(&h, "Frobnicate", "x", "y");
	expect(&h, TN_E_UNSUPPORTED, "node 'Frobnicate' (Frobnicate): operator 'Frobnicate' of domain 'ai.onnx' at opset 17 is not offered");
	h = g;
	n = pw_node("Neg", "here", "x", "y");
	pw_text(&n, 7, "com.example");
	pw_msg(&h, 1, &n);
	expect(&h, TN_E_UNSUPPORTED, "node 'here' (Neg): operators of domain 'com.example' are not offered");
	h = g;
	add_axis_node(&h, "Neg", "x", "y", "turbo", 1);
	expect(&h, TN_E_UNSUPPORTED, "(Neg): attribute 'turbo'");
	h = g;
	add_node(&h, "MatMul", "x w", "y");
	expect(&h, TN_E_ARG, "node 'MatMul' (MatMul): ");
	h = g;
	add_node(&h, "Neg", "-", "y");
	expect(&h, TN_E_ARG, "input 0 is missing");
}

static void test_model_errors(void **state)
{
	(void)state;
	struct pw g = { 0 }, text = { 0 };
	struct job j = { 0 };
	add_value(&g, INPUT, "x", 1, "3");
	add_value(&g, OUTPUT, "x", 11, "");
	expect(&g, TN_E_ARG, "output 'x' is declared DOUBLE, but is made as f32");
	add_value(&text, INPUT, "s", 8, "3");
	add_value(&text, OUTPUT, "s", 8, "3");
	expect(&text, TN_E_UNSUPPORTED, "input 's' has element type STRING");
	struct pw m = pw_model(&g, 6);
	assert_int_equal(run(&j, m.at, m.n), TN_E_UNSUPPORTED);
	assert_non_null(strstr(j.d.text, "opset 6; this reads 7 to"));
	done(&j);
}

/* ---- hostile models */

static struct pw small_model(void)
{
	struct pw g = { 0 };
	add_value(&g, INPUT, "x", 1, "n 4 5 5");
	add_value(&g, OUTPUT, "y", 1, "n 3");
	add_floats(&g, "w", (int64_t[]){ 2, 4, 2, 2 }, 4);
	add_floats(&g, "v", (int64_t[]){ 16, 3 }, 2);
	add_ints(&g, "at", (int64_t[]){ 0 }, 1);
	add_ints(&g, "rest", (int64_t[]){ -1 }, 1);
	add_ints(&g, "bounds", (int64_t[]){ 4 }, 1);
	struct pw conv = pw_node("Conv", "c0", "x w", "a");
	pw_attr_ints(&conv, "strides", (int64_t[]){ 1, 1 }, 2);
	pw_attr_ints(&conv, "pads", (int64_t[]){ 0, 0, 0, 0 }, 4);
	pw_attr_int(&conv, "group", 1);
	pw_msg(&g, 1, &conv);
	struct pw pool = pw_node("MaxPool", "p0", "a", "b");
	pw_attr_ints(&pool, "kernel_shape", (int64_t[]){ 2, 2 }, 2);
	pw_msg(&g, 1, &pool);
	add_node(&g, "Relu", "b", "c");
	add_node(&g, "Shape", "x", "s");
	add_node(&g, "Gather", "s at", "n");
	add_axis_node(&g, "Concat", "n rest", "want", "axis", 0);
	add_node(&g, "Reshape", "c want", "d");
	add_node(&g, "Slice", "d at bounds rest", "e0");
	add_node(&g, "Reshape", "c want", "e");
	add_node(&g, "Shape", "e0", "unused");
	struct pw take = pw_node("Slice", "s1", "e at sixteen rest", "f");
	add_ints(&g, "sixteen", (int64_t[]){ 16 }, 1);
	pw_msg(&g, 1, &take);
	add_node(&g, "Gemm", "f v", "h");
	add_axis_node(&g, "Softmax", "h", "y", "axis", 1);
	return pw_model(&g, 17);
}

static uint32_t next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void test_mutations(void **state)
{
	(void)state;
	const struct pw whole = small_model();
	struct job j = { 0 };
	uint32_t seed = 20261130, fine = 0;
	assert_int_equal(run(&j, whole.at, whole.n), TN_OK);
	assert_string_equal(type_of(&j, 0), "f32[n, 3]");
	done(&j);
	for (int i = 0; i < 20000; i++) {
		struct pw m = whole;
		struct job k = { 0 };
		for (uint32_t flips = 1 + next(&seed) % 4; flips; flips--) {
			uint32_t at = next(&seed) % (uint32_t)m.n;
			m.at[at] = (unsigned char)(next(&seed) % 3 ? next(&seed) : m.at[at] ^ (1u << next(&seed) % 8));
		}
		if (next(&seed) % 16 == 0)
			m.n -= next(&seed) % m.n;
		int32_t rc = run(&k, m.at, m.n);
		if (rc != TN_OK && rc != TN_E_ARG && rc != TN_E_UNSUPPORTED && rc != TN_E_RANGE)
			fail_msg("mutation %d: %d %s", i, rc, k.d.text);
		fine += rc == TN_OK;
		done(&k);
	}
	assert_in_range(fine, 1000, 19000);    /* some bytes are weights, some matter */
}

static void test_cut_magika(void **state)
{
	(void)state;
	const char *top = getenv("TENON_SOURCE"), *named = getenv("TENON_MAGIKA_MODEL");
	char pattern[512];
	glob_t found = { 0 };
	snprintf(pattern, sizeof pattern, "%s/.venv/lib/python3*/site-packages/magika/models/standard_v3_3/model.onnx", top ? top : ".");
	if (glob(named ? named : pattern, 0, NULL, &found)) {
		print_message("magika's model is not installed\n");
		skip();
	}
	FILE *f = fopen(found.gl_pathv[0], "rb");
	globfree(&found);
	assert_non_null(f);
	char *bytes = malloc(8 << 20);
	size_t size = fread(bytes, 1, 8 << 20, f);
	fclose(f);
	struct job j = { 0 };
	assert_int_equal(run(&j, bytes, size), TN_OK);
	assert_string_equal(type_of(&j, 0), "f32[unk__214, 214]");
	assert_int_equal(count(&j, TN_bind) + count(&j, TN_size), 0);
	done(&j);
	for (size_t n = 0; n < size; n += 1000) {
		struct job k = { 0 };
		assert_int_equal(run(&k, bytes, n), TN_E_ARG);
		done(&k);
	}
	free(bytes);
}

static void load(void *arg)
{
	struct job *j = arg;
	j->ir = tn_onnx_load(&j->a, j->bytes);
}

static void test_files(void **state)
{
	(void)state;
	static const struct { const char *path; int32_t code; const char *words; } rows[] = {
		{ "/no/such/model.onnx", TN_E_GONE, "/no/such/model.onnx: No such file" }, { "/", TN_E_GONE, "not a regular file" }, { "/dev/null", TN_E_GONE, "not a regular file" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct job j = { .bytes = rows[i].path };
		tn_arena_init(&j.a, &j.d);
		assert_int_equal(tn_protect(&j.d, load, &j), rows[i].code);
		assert_non_null(strstr(j.d.text, rows[i].words));
		tn_arena_fini(&j.a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols), cmocka_unit_test(test_fresh_symbol_keeps_off_names), cmocka_unit_test(test_computed_shapes_stay_symbolic),
		cmocka_unit_test(test_slice_of_symbols), cmocka_unit_test(test_shape_as_input_is_bound), cmocka_unit_test(test_order), cmocka_unit_test(test_names),
		cmocka_unit_test(test_errors), cmocka_unit_test(test_model_errors), cmocka_unit_test(test_mutations), cmocka_unit_test(test_cut_magika),
		cmocka_unit_test(test_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
