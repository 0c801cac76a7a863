/* text_test.c - every row prints and parses back to the same graph; errors name their place; no bytes crash the parser */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/test_rows.h"
#include "ir/print.h"
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

struct job { struct tn_arena *a; const char *text; size_t len; char *printed; struct tn_ir *ir; };

static void parse_f(void *arg)
{
	struct job *j = arg;
	struct tn_text t = { .arena = j->a };
	j->ir = tn_ir_parse(j->a, j->text, j->len, "t.tn");
	tn_ir_verify(&j->ir->g, j->a);
	tn_ir_print(&t, &j->ir->g);
	j->printed = t.at;
}

/* parse, verify, print, and again: the second print is the first, and the tables have equal sizes */
static void round_trip(const char *text)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	tn_arena_init(&a, &d);
	struct job one = { .a = &a, .text = text, .len = strlen(text) };
	if (tn_protect(&d, parse_f, &one) != TN_OK)
		fail_msg("%s\n%s", d.text, text);
	struct job two = { .a = &a, .text = one.printed, .len = strlen(one.printed) };
	if (tn_protect(&d, parse_f, &two) != TN_OK)
		fail_msg("%s\n%s", d.text, one.printed);
	assert_string_equal(one.printed, two.printed);
	const struct tn_graph *g = &one.ir->g, *h = &two.ir->g;
	assert_int_equal(g->values.count, h->values.count);
	assert_int_equal(g->nodes.count, h->nodes.count);
	for (uint64_t i = 0; i < g->values.count; i++) {
		assert_int_equal(g->values.at[i].dtype, h->values.at[i].dtype);
		assert_int_equal(g->values.at[i].node, h->values.at[i].node);
	}
	for (uint64_t i = 0; i < g->nodes.count; i++)
		assert_int_equal(g->nodes.at[i].n_attr, h->nodes.at[i].n_attr);
	for (uint64_t i = 0; i < g->attrs.count; i++)
		assert_memory_equal(&g->attrs.at[i].f, &h->attrs.at[i].f, sizeof(double));
	tn_arena_fini(&a);
}

static void every_row(void **state)
{
	(void)state;
	for (uint32_t i = 0; tn_prim_at(i); i++) {
		const struct tn_prim_info *p = tn_prim_at(i);
		const uint64_t mask = p->dt == TN_DT_SELECT ? p->mask2 : p->mask;
		for (uint32_t dtype = 1; dtype < TN_DTYPE_END; dtype++) {
			struct tn_diag d = { 0 };
			struct tn_arena a;
			tn_arena_init(&a, &d);
			struct tn_text t = { .arena = &a };
			const int wide = p->number == TN_scatter && dtype == TN_BOOL;
			if (mask & TN_M(dtype) && !wide && row_text(&t, p, dtype))
				round_trip(t.at);
			tn_arena_fini(&a);
		}
	}
	for (size_t i = 0; i < sizeof row_host / sizeof *row_host; i++)
		round_trip(row_host[i]);
}

static void canonical(void **state)
{
	const char *text =
		"graph @\"a b\"(%x: f32[n, 2048], %\"w/1\": f32[2048, 64], %b: f32[64], %q: f32[\"k d\"]) -> f32[n, 64], i64[n, 5] where 0 <= n <= 4096, 1 <= \"k d\" {\n"
		"\tconst %k: f32[4] = {1.0, -0.0, 0x1.99999cp-4, nan}\n"
		"\t%0 = dot %x, %\"w/1\", contract = [1, 0]\n"
		"\tconst %1: u8[2, 2] = {0, 255, 1, 2}\n"
		"\t%2 = broadcast %b, shape = [n, 64], dims = [1]\n"
		"\t%sum.1 = add %0, %2 @ \"model.onnx: \\\"/conv1\\\"\\x01\"\n"
		"\t%v, %i = topk %sum.1, axis = 1, k = [5]\n"
		"\t%3 = full value = 0.1, dtype = f32, shape = [n*2 + n div 4 - 1, max(\"k d\", n mod 8, 3), 64]\n"
		"\treturn %sum.1 as \"scores\", %i\n"
		"}\n";
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)state;
	tn_arena_init(&a, &d);
	struct job j = { .a = &a, .text = text, .len = strlen(text) };
	if (tn_protect(&d, parse_f, &j) != TN_OK)
		fail_msg("%s", d.text);
	assert_string_equal(j.printed, text);
	tn_arena_fini(&a);
}

/* the program's locale changes nothing */
static void other_locale(void **state)
{
	(void)state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8"))
		skip();
	round_trip("graph @l(%x: f32[2]) { %y = add %x, 0.1 const %k: f32[2] = {1.5, 2.25} %z = mul %y, %k return %z }");
	setlocale(LC_NUMERIC, "C");
}

static void expect(const char *text, const char *words)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	tn_arena_init(&a, &d);
	struct job j = { .a = &a, .text = text, .len = strlen(text) };
	if (tn_protect(&d, parse_f, &j) == TN_OK)
		fail_msg("parsed: %s", text);
	if (!strstr(d.text, words))
		fail_msg("'%s' says '%s', not '%s'", text, d.text, words);
	tn_arena_fini(&a);
}

static void errors(void **state)
{
	(void)state;
	expect("", "t.tn:1:1: expected graph, found the end");
	expect("graph @g(%x: f32[n]) {\n\t%y = add %x, %z\n\treturn %y\n}", "t.tn:2:15: expected an operand, found %z, which is not defined before");
	expect("graph @g(%x: f32[n]) {\n\t%y = sinus %x\n}", "t.tn:2:7: expected a primitive, found 'sinus'");
	expect("graph @g(%x: f33[n]) { return }", "t.tn:1:14: expected a dtype, found 'f33'");
	expect("graph @g(%x: f32[n]) { %x = neg %x return %x }", "value %x is defined twice");
	expect("graph @g(%x: f32[n]) { %y = sum %x, axis = 1 return %y }", "sum has no attribute 'axis'; it has: axes:ints");
	expect("graph @g(%x: f32[n], %y: f32[4]) {\n %z = add %x, %y @ \"m: /a\"\n return %z }",
		"t.tn:2:2: node 0, add (m: /a): operand shapes must be equal, and sizes of a dim are n and 4, which are not known to be equal; operands %x: f32[n], %y: f32[4]");
	expect("graph @g(%x: f32[n]) { %y = add %x return %y }", "1 operands, it takes 2");
	expect("graph @g(%x: f32[n]) { %y = sum %x return %y }", "attribute 'axes' is missing");
	expect("graph @g(%x: f32[n]) { %y, %z = neg %x return %y }", "neg has 1 results, and 2 are named");
	expect("graph @g(%x: f32[n div m]) { return %x }", "the divisor m may be 0");
	expect("graph @g(%x: f32[n]) -> f32[n, 1] { return %x }", "the type written is f32[n, 1], and the value is %x: f32[n]");
	expect("graph @g() { const %k: u8[2] = {1, 256} return %k }", "expected a number that u8 holds");
	expect("graph @g() { const %k: f32[2] = \"w\" return %k }", "there is no .safetensors file");
	expect("graph @g(%x: f32[n]) where 5 <= n <= 3 { return %x }", "leave no value");
	expect("graph @g(%x: f32[99999999999999999999]) { return %x }", "does not fit in 64 bits");
	expect("graph @g(%x: f32[1,1,1,1,1,1,1,1,1]) { return %x }", "expected at most 8 dims, found 9");
	expect("graph @g(%x: f32[\x01]) { return %x }", "found '\\x01'");
	expect("graph @g(%x: f32[n]) { %y = while %x, n_carry = 1 return %y }", "0 regions, it needs 2");
}

/* ---- mutations */
static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint32_t draw(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static size_t mutate(char *s, size_t n, size_t room)
{
	static const char *const words[] = { "%x", "[", "]", "(", ")", "{", "}", ",", "= ", "-", "99999999999", "n", "f32", " div ", " mod 0", "min(", "where",
		"@ \"", "\\", "return", "const ", "0x1p", "1e999", "nan", "#", "\"", "while ", "if ", "->", "<=", "*n*n*n*n*n*n", "shape = [n]" };
	for (uint32_t k = 1 + draw(4); k > 0; k--) {
		const size_t at = draw((uint32_t)n + 1), len = draw(12) + 1;
		const char *w = words[draw(sizeof words / sizeof *words)];
		switch (draw(5)) {
		case 0:
			if (at < n)
				s[at] = (char)draw(256);
			break;
		case 1:
			if (at + len < n) {
				memmove(s + at, s + at + len, n - at - len);
				n -= len;
			}
			break;
		case 2:
			if (at + len < n && n + len < room) {
				memmove(s + at + len, s + at, n - at);
				n += len;
			}
			break;
		case 3:
			n = at;
			break;
		default:
			if (n + strlen(w) < room) {
				memmove(s + at + strlen(w), s + at, n - at);
				memcpy(s + at, w, strlen(w));
				n += strlen(w);
			}
			break;
		}
	}
	return n;
}

static void any_bytes(void **state)
{
	static char text[4096];
	struct tn_diag d = { 0 };
	struct tn_arena a, keep;
	struct tn_text seeds[400];
	uint32_t n_seeds = 0, parsed = 0;
	(void)state;
	tn_arena_init(&a, &d);
	tn_arena_init(&keep, &d);
	for (uint32_t i = 0; tn_prim_at(i) && n_seeds < 390; i++) {
		seeds[n_seeds] = (struct tn_text){ .arena = &keep };
		n_seeds += (uint32_t)row_text(&seeds[n_seeds], tn_prim_at(i), TN_F32);
	}
	for (size_t i = 0; i < sizeof row_host / sizeof *row_host; i++) {
		seeds[n_seeds] = (struct tn_text){ .arena = &keep };
		tn_text_add(&seeds[n_seeds++], "%s", row_host[i]);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		const struct tn_text *s = &seeds[draw(2) ? draw(n_seeds) : n_seeds - 1 - draw(5)];
		memcpy(text, s->at, s->len);
		struct job j = { .a = &a, .text = text, .len = mutate(text, s->len, sizeof text) };
		const struct tn_mark mark = tn_arena_mark(&a);
		const int32_t code = tn_protect(&d, parse_f, &j);
		if (code != TN_OK && code != TN_E_ARG && code != TN_E_RANGE)
			fail_msg("code %d: %s\n%.*s", code, d.text, (int)j.len, text);
		parsed += code == TN_OK;
		tn_arena_reset(&a, mark);
	}
	assert_true(parsed > 200);     /* some mutations are harmless, so that the later stages see them */
	tn_arena_fini(&a);
	tn_arena_fini(&keep);
}

static void deep(void **state)
{
	(void)state;
	enum { N = 100000 };
	char *s = malloc(2 * N + 64);
	memcpy(s, "graph @g(%x: f32[", 17);
	memset(s + 17, '(', N);
	memset(s + 17 + N, ')', N);
	strcpy(s + 17 + 2 * N, "]) { return %x }");
	expect(s, "nested more than");
	memset(s + 17, '-', 2 * N);
	expect(s, "nested more than");
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row), cmocka_unit_test(canonical), cmocka_unit_test(other_locale), cmocka_unit_test(errors),
		cmocka_unit_test(any_bytes), cmocka_unit_test(deep) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
