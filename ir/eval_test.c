/* eval_test.c - the meanings that the specification fixes, as hand cases: a graph of one line or a few, inputs, the right answer */
#include "ir/test_arrays.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* body: statements from inputs %a, %b, %c to %r (and %s).  want: an answer, or "raises: words" that the message must have */
struct hand { const char *inputs, *body, *want; };
static const struct hand cases[] = {
	/* integers wrap, division and remainder by zero, the one quotient that does not fit */
	{ "i32[1]: -2147483648; i32[1]: -1", "%r = div %a, %b", "i32[1]: -2147483648" },
	{ "i32[1]: -2147483648; i32[1]: -1", "%r = rem %a, %b", "i32[1]: 0" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = div %a, %b", "i64[8]: 2 -2 -2 2 -2 -2 0 0" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = rem %a, %b", "i64[8]: 1 -1 1 -1 0 0 0 -1" },
	{ "i8[3]: 5 -128 0; i8[3]: 0 0 0", "%r = div %a, %b", "i8[3]: -1 -1 -1" },
	{ "u8[2]: 5 0; u8[2]: 0 0", "%r = div %a, %b", "u8[2]: 255 255" },
	{ "u64[2]: 18446744073709551615 7; u64[2]: 0 0", "%r = rem %a, %b", "u64[2]: 18446744073709551615 7" },
	{ "u8[3]: 128 200 255", "%s = add %a, %a\n%r = convert %s, dtype = i16", "i16[3]: 0 144 254" },
	{ "u16[2]: 65535 40000; u16[2]: 65535 40000", "%r = mul %a, %b", "u16[2]: 1 4096" },
	{ "i64[11]: 0 1 2 3 4 5 6 7 8 9 10; i64[11]: 1500000000", "%r = mul %a, %b",
		"i64[11]: 0 1500000000 3000000000 4500000000 6000000000 7500000000 9000000000 10500000000 12000000000 13500000000 15000000000" },
	/* shifts by the width or more, or by a negative count */
	{ "i32[5]: 1 -8 5 -1 1; i32[5]: 31 1 33 40 -1", "%r = shl %a, %b", "i32[5]: -2147483648 -16 0 0 0" },
	{ "i32[5]: 1 -8 5 -1 -9; i32[5]: 31 1 33 40 -1", "%r = shr %a, %b", "i32[5]: 0 -4 0 -1 -1" },
	{ "u8[3]: 128 255 255; u8[3]: 7 8 200", "%r = shr %a, %b", "u8[3]: 1 0 0" },
	/* zeros and NaN */
	{ "f32[4]: 0 -0 nan 1; f32[4]: -0 0 1 nan", "%r = max %a, %b", "f32[4]: 0 0 nan nan" },
	{ "f64[4]: 0 -0 nan 1; f64[4]: -0 0 1 nan", "%r = min %a, %b", "f64[4]: -0 -0 nan nan" },
	{ "f16[3]: nan 1 -0; f16[3]: nan nan 0", "%r = eq %a, %b", "bool[3]: 0 0 1" },
	{ "f32[6]: -0.3 0.5 1.5 2.5 -2.5 1e30", "%r = round %a", "f32[6]: -0 0 2 2 -2 1.00000002e+30" },
	{ "f64[3]: -0.3 -0 2.9999999999999996", "%r = floor %a", "f64[3]: -1 -0 2" },
	{ "f32[3]: -0 -1 4", "%r = sqrt %a", "f32[3]: -0 nan 2" },
	{ "f32[8]: 5.5 -5.5 0 1e20 2147483648 7 1 -0; f32[8]: inf -inf inf 3 3 .7 .1 1", "%r = rem %a, %b",
		"f32[8]: 5.5 -5.5 0 2 2 1.1920929e-07 0.0999999866 -0" },
	/* f16 and bf16: each node rounds once */
	{ "f16[1]: 300; f16[1]: 200", "%m = mul %a, %b\n%r = convert %m, dtype = f32", "f32[1]: 60000" },
	{ "f16[1]: 30000; f16[1]: 200", "%m = mul %a, %b\n%r = convert %m, dtype = f32", "f32[1]: inf" },
	{ "bf16[2]: 256 1; bf16[2]: 1 0.00390625", "%r = add %a, %b", "bf16[2]: 256 1" },
	{ "f16[1]: 1; f16[1]: 3", "%r = div %a, %b", "f16[1]: 0.333251953" },
	/* conversions: float to integer saturates and truncates, integer to integer wraps, one rounding */
	{ "f32[8]: -1.5 -.5 .5 200.7 -3 255.9 1e9 nan", "%r = convert %a, dtype = u8", "u8[8]: 0 0 0 200 0 255 255 0" },
	{ "f32[6]: nan inf -inf 3e9 -3e9 -1.7", "%r = convert %a, dtype = i32", "i32[6]: 0 2147483647 -2147483648 2147483647 -2147483648 -1" },
	{ "f64[3]: 1e19 -1e19 9007199254740993", "%r = convert %a, dtype = i64", "i64[3]: 9223372036854775807 -9223372036854775808 9007199254740992" },
	{ "f64[2]: 1e30 -1", "%r = convert %a, dtype = u64", "u64[2]: 18446744073709551615 0" },
	{ "i64[2]: 300 -1", "%r = convert %a, dtype = u8", "u8[2]: 44 255" },
	{ "f32[4]: 0 -0 nan 0.1", "%r = convert %a, dtype = bool", "bool[4]: 0 0 1 1" },
	{ "i64[3]: 9223371761976868863 9223371761976868864 9223371761976868865", "%r = convert %a, dtype = f32", "f32[3]: 9.22337149e+18 9.22337204e+18 9.22337204e+18" },
	{ "i64[3]: 9205357638345293823 9205357638345293825 9169328841326329857", "%r = convert %a, dtype = bf16",
		"bf16[3]: 9.18734324e+18 9.22337204e+18 9.18734324e+18" },
	{ "f64[1]: 1.0004882812500002", "%r = convert %a, dtype = f16", "f16[1]: 1.00097656" },
	{ "f32[1]: 1", "%r = bitcast %a, dtype = i32", "i32[1]: 1065353216" },
	{ "f32[3]: 1.7 -1.7 2.5", "%i = convert %a, dtype = i32\n%r = convert %i, dtype = f32", "f32[3]: 1 -1 2" },
	/* views */
	{ "i32[2, 3]: 1 2 3 4 5 6", "%r = slice %a, start = [1, 2], limit = [-1, -1], step = [-1, -2]", "i32[2, 2]: 6 4 3 1" },
	{ "i32[4]: 1 2 3 4; i32[]: 9", "%r = pad %a, %b, low = [-1], high = [2], interior = [1]", "i32[8]: 9 2 9 3 9 4 9 9" },
	{ "i32[3]: 1 2 3; i32[]: 9", "%r = pad %a, %b, low = [-2], high = [-1], interior = [0]", "i32[0]:" },
	{ "i32[6]: 0 1 2 3 4 5", "%r = window %a, dims = [0], size = [2], stride = [2], dilation = [3]", "i32[2, 2]: 0 3 2 5" },
	{ "i32[2, 2]: 1 2 3 4", "%r = broadcast %a, shape = [2, 2, 2], dims = [0, 2]", "i32[2, 2, 2]: 1 2 1 2 3 4 3 4" },
	{ "i8[2, 1]: 1 2; i8[2, 2]: 3 4 5 6", "%r = cat %a, %b, axis = 1", "i8[2, 3]: 1 3 4 2 5 6" },
	{ "i32[1]: 0", "%r = iota axis = 1, dtype = f16, shape = [2, 3]", "f16[2, 3]: 0 1 2 0 1 2" },
	{ "i32[1]: 0", "%r = full value = -1, dtype = u64, shape = [2]", "u64[2]: 18446744073709551615 18446744073709551615" },
	{ "i32[1]: 0", "%r = full value = 65519, dtype = f16, shape = [1]", "f16[1]: 65504" },
	/* indexing: no index counts from the end */
	{ "f32[3]: 10 20 30; i64[4]: -1 0 2 3", "%r = gather %a, %b, axis = 0", "f32[4]: 10 10 30 30" },
	{ "f32[3]: 10 20 30; i32[4]: -1 0 2 3", "%r = gather %a, %b, axis = 0, mode = 1", "f32[4]: 0 10 30 0" },
	{ "f32[3]: 10 20 30; i64[2]: 1 7", "%r = gather %a, %b, axis = 0, mode = 2", "raises: index 7 (element 1 of the indices) is outside 0 .. 2" },
	{ "i32[2, 2]: 1 2 3 4; i64[2, 1]: 1 0", "%r = gather %a, %b, axis = 1, batch = 1", "i32[2, 1]: 2 3" },
	{ "i32[3]: 0 0 0; i64[4]: 1 1 -1 1; i32[4]: 1 2 3 4", "%r = scatter %a, %b, %c, axis = 0, op = 1, mode = 1", "i32[3]: 0 7 0" },
	{ "i32[3]: 0 0 0; i64[4]: 1 1 2 1; i32[4]: 1 2 3 4", "%r = scatter %a, %b, %c, axis = 0", "i32[3]: 0 4 3" },
	{ "f32[2]: 5 nan; i64[2]: 0 1; f32[2]: nan 1", "%r = scatter %a, %b, %c, axis = 0, op = 3", "f32[2]: nan nan" },
	{ "i32[2]: 1 1; i64[1]: -1; i32[1]: 5", "%r = scatter %a, %b, %c, axis = 0, mode = 2", "raises: index -1" },
	/* reductions and their identities */
	{ "f32[0, 3]:", "%r = sum %a, axes = [0]", "f32[3]: 0 0 0" },
	{ "f32[0, 2]:", "%r = prod %a, axes = [0]", "f32[2]: 1 1" },
	{ "f32[0, 2]:", "%r = reduce_max %a, axes = [0]", "f32[2]: -inf -inf" },
	{ "i8[0, 1]:", "%r = reduce_max %a, axes = [0]", "i8[1]: -128" },
	{ "u64[0, 1]:", "%r = reduce_min %a, axes = [0]", "u64[1]: 18446744073709551615" },
	{ "f32[3, 3]: nan 4.6 1 1 nan nan 3 3 1", "%r = reduce_max %a, axes = [1]", "f32[3]: nan nan 3" },
	{ "i8[18]: 5 1 100 3 7 8 9 13 100 120 127 2 6 4 11 12 90 80", "%r = reduce_min %a, axes = [0]", "i8[]: 1" },
	{ "f16[4096]: 1", "%r = sum %a, axes = [0]", "f16[]: 4096" },
	{ "f16[3]: 60000 60000 -60000", "%r = sum %a, axes = [0]", "f16[]: 60000" },
	{ "i32[2, 2, 2]: 1 2 3 4 5 6 7 8", "%r = sum %a, axes = [0, 2]", "i32[2]: 14 22" },
	{ "i8[2]: 100 100", "%r = sum %a, axes = [0]", "i8[]: -56" },
	{ "f32[5]: 2 0 3 0 5", "%r = cumulate %a, axis = 0, op = 2", "f32[5]: 2 0 0 0 0" },
	{ "i32[4]: 1 2 3 4", "%r = cumulate %a, axis = 0, exclusive = 1, reverse = 1", "i32[4]: 9 7 4 0" },
	{ "i32[2, 3]: 1 5 2 4 3 6", "%r = cumulate %a, axis = 1, op = 3", "i32[2, 3]: 1 5 5 4 4 6" },
	/* dot */
	{ "f32[2, 0]:; f32[0, 2]:", "%r = dot %a, %b, contract = [1, 0]", "f32[2, 2]: 0 0 0 0" },
	{ "i8[1, 2]: 127 127; i8[2, 1]: 127 127", "%r = dot %a, %b, contract = [1, 0], dtype = i32", "i32[1, 1]: 32258" },
	{ "i8[1, 2]: 127 127; i8[2, 1]: 127 127", "%r = dot %a, %b, contract = [1, 0]", "i8[1, 1]: 2" },
	{ "f16[1, 3]: 256 1 -256; f16[3, 1]: 256 1 256", "%r = dot %a, %b, contract = [1, 0]", "f16[1, 1]: 1" },
	/* composites: division that rounds down, remainders by sign of the divisor and of the dividend */
	{ "f32[4]: 1 .5 6 1; f32[4]: .1 .1 .2 .333333343", "%r = floor_divide %a, %b", "f32[4]: 9 4 29 2" },
	{ "f32[8]: 5.5 -5.5 0 1e20 2147483648 7 1 -0; f32[8]: inf inf inf 3 3 .7 .1 1", "%r = fmod %a, %b", "f32[8]: 5.5 -5.5 0 2 2 1.1920929e-07 0.0999999866 -0" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = remainder %a, %b", "i64[8]: 1 2 -2 -1 0 0 0 99" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = fmod %a, %b", "i64[8]: 1 -1 1 -1 0 0 0 -1" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = floor_divide %a, %b", "i64[8]: 2 -3 -3 2 -2 -2 0 -1" },
	{ "i64[8]: 7 -7 7 -7 -8 8 0 -1; i64[8]: 3 3 -3 -3 4 -4 5 100", "%r = trunc_divide %a, %b", "i64[8]: 2 -2 -2 2 -2 -2 0 0" },
	{ "i32[2]: -2147483648 110; i32[2]: -1 55", "%r = floor_divide %a, %b", "i32[2]: -2147483648 2" },
	/* signs of zero, NaN, infinities */
	{ "f32[5]: -0 0 -1 1 -2.5", "%r = frac %a", "f32[5]: -0 0 -0 0 -0.5" },
	{ "f32[3]: -0 nan -3", "%r = relu %a", "f32[3]: 0 nan 0" },
	{ "f64[9001]: -1 2 3", "%e = relu %a\n%i = iota axis = 0, dtype = f64, shape = [9001]\n%m = mul %e, %i\n%r = sum %m, axes = [0]", "f64[]: 67501500" },
	{ "f32[3]: nan 1 nan; f32[3]: 1 nan nan", "%r = fmax %a, %b", "f32[3]: 1 1 nan" },
	{ "f32[4]: 0 -0 nan -5", "%r = sign %a", "f32[4]: 0 -0 nan -1" },
	{ "f32[4]: 0 -1 inf nan", "%r = log %a", "f32[4]: -inf nan inf nan" },
	{ "f32[4]: 89 -104 inf -inf", "%r = exp %a", "f32[4]: inf 0 inf 0" },
	{ "f64[2]: 0 -1000", "%r = exp %a", "f64[2]: 1 0" },
	{ "u8[3]: 0 1 255", "%r = neg %a", "u8[3]: 0 255 1" },
	/* reductions made of others */
	{ "f32[0]:", "%r = mean %a, axes = [0]", "f32[]: nan" },
	{ "f32[4]: 100001 100002 100003 99999", "%r = var %a, axes = [0]", "f32[]: 2.91666675" },
	{ "f32[2, 1]: 3 4", "%r = var %a, axes = [1]", "f32[2]: nan nan" },
	{ "f32[2, 1]: 3 4", "%r = var %a, axes = [1], correction = 0", "f32[2]: 0 0" },
	{ "f32[3, 3]: nan 4.6 1 1 nan nan 3 3 1", "%r = argmax %a, axis = 1", "i64[3]: 0 1 0" },
	{ "f32[3, 3]: nan 4.6 1 1 nan nan 3 3 1", "%r = argmin %a, axis = 1", "i64[3]: 0 1 2" },
	{ "i8[18]: 5 1 100 3 7 8 9 13 100 120 127 2 6 4 11 12 90 80", "%r = argmin %a, axis = 0", "i64[]: 1" },
	{ "f32[2]: -inf -inf", "%r = logsumexp %a, axes = [0]", "f32[]: -inf" },
	{ "f32[0]:", "%r = logsumexp %a, axes = [0]", "f32[]: -inf" },
	{ "f32[2, 2]: -inf -inf inf 0", "%r = softmax %a, axis = 1", "f32[2, 2]: nan nan nan nan" },
	{ "f16[4]: 0 1 2 3", "%r = softmax %a, axis = 0", "f16[4]: 0.032043457 0.0871582031 0.236938477 0.644042969" },
	{ "bool[0]:", "%r = all %a, axes = [0]", "bool[]: 1" },
	{ "bool[0]:", "%r = any %a, axes = [0]", "bool[]: 0" },
	{ "f32[2, 2, 1]: 1 2 3 4; f32[2, 1, 2]: 5 6 7 8", "%r = dot %a, %b, contract = [2, 1], batch = [0, 0]", "f32[2, 2, 2]: 5 6 10 12 21 24 28 32" },
};

struct job { struct tn_arena *a; const struct hand *h; struct tn_text got; };

static void run_case(void *arg)
{
	struct job *j = arg;
	struct tn_array in[4], out[4];
	struct tn_text t = { .arena = j->a };
	const uint32_t n = read_arrays(j->a, j->h->inputs, in, 4);
	tn_text_add(&t, "graph @t(");
	for (uint32_t i = 0; i < n; i++) {
		tn_text_add(&t, "%s%%%c: %s[", i ? ", " : "", (int)('a' + i), tn_dtype_name(in[i].dtype));
		for (uint32_t d = 0; d < in[i].rank; d++)
			tn_text_add(&t, "%s%lld", d ? ", " : "", (long long)in[i].dims[d]);
		tn_text_add(&t, "]");
	}
	tn_text_add(&t, ") {\n%s\nreturn %%r\n}\n", j->h->body);
	const struct tn_ir *ir = tn_ir_parse(j->a, t.at, t.len, "case");
	tn_eval_graph(&ir->g, in, out, j->a);
	put_array(&j->got, &out[0]);
}

static void hand_cases(void **unused)
{
	int failed = 0;
	(void)unused;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { &a, &cases[i], { .arena = &a } };
		const int32_t code = tn_protect(&d, run_case, &j);
		const int raises = strncmp(cases[i].want, "raises: ", 8) == 0;
		if (raises ? code == TN_OK || strstr(d.text, cases[i].want + 8) == NULL : code != TN_OK || strcmp(j.got.at, cases[i].want) != 0) {
			print_error("%s\n\tof   %s\n\tgave %s\n\tnot  %s\n", cases[i].body, cases[i].inputs, code == TN_OK ? j.got.at : d.text, cases[i].want);
			failed++;
		}
		tn_arena_fini(&a);
	}
	assert_int_equal(failed, 0);
}

/* ---- whole graphs: symbols, host operations */
struct graph_case { const char *text, *inputs, *want; };
static const struct graph_case graphs[] = {
	{ "graph @t(%x: f32[n, 2*m], %y: f32[m]) {\n%r = size shape = [n, m, n*m + 1]\nreturn %r\n}", "f32[3, 10]: 0; f32[5]: 0", "i64[3]: 3 5 16" },
	{ "graph @t(%x: f32[n, 2*m]) {\n%r = size shape = [m]\nreturn %r\n}", "f32[3, 10]: 0", "i64[]: 5" },
	{ "graph @t(%x: f32[n, 2*m]) {\n%r = size shape = [m]\nreturn %r\n}", "f32[3, 9]: 0", "raises: dim 1 is 9" },
	{ "graph @t(%x: f32[n], %y: f32[n]) {\n%r = add %x, %y\nreturn %r\n}", "f32[3]: 0; f32[4]: 0", "raises: input 1 \"y\" dim 0 is 4 where 3 is due" },
	{ "graph @t(%x: f32[n]) where 2 <= n <= 8 {\nreturn %x\n}", "f32[9]: 0", "raises: outside its bounds 2 .. 8" },
	{ "graph @t(%x: f32[n]) {\nreturn %x\n}", "i32[9]: 0", "raises: is i32 of rank 1, the graph takes f32" },
	{ "graph @t(%x: i64[], %y: f32[n]) where 0 <= n {\nk = bind %x, lo = 0, hi = 100\n%r = iota axis = 0, dtype = i32, shape = [k + n]\nreturn %r\n}", "i64[]: 2; f32[3]: 0", "i32[5]: 0 1 2 3 4" },
	{ "graph @t(%x: i64[], %y: f32[n]) where 0 <= n {\nk = bind %x, lo = 0, hi = 100\n%r = iota axis = 0, dtype = i32, shape = [k + n]\nreturn %r\n}", "i64[]: 101; f32[3]: 0", "raises: 101 is outside the bounds 0 .. 100 of k" },
	{ "graph @t(%c: bool[], %x: f32[n]) where 0 <= n {\n%r: f32[k] = if %c, %x {\n(%a: f32[m])\nyield %a\n} {\n(%a: f32[m])\n%b = cat %a, %a, axis = 0\nyield %b\n}\n%s = cat %r, %r, axis = 0\nreturn %s\n}",
		"bool[]: 0; f32[2]: 1 2", "f32[8]: 1 2 1 2 1 2 1 2" },
	/* carries i and sum while i < 4; stacks sum */
	{ "graph @t(%i: i32[], %s: i32[], %one: i32[], %four: i32[]) {\n%e: i32[], %f: i32[], %r: i32[k] = while %i, %s, %one, %four, n_carry = 2 {\n(%i: i32[], %s: i32[], %one: i32[], %four: i32[])\n"
		"%c = lt %i, %four\nyield %c\n} {\n(%i: i32[], %s: i32[], %one: i32[], %four: i32[])\n%j = add %i, %one\n%t = add %s, %j\nyield %j, %t, %t\n}\nreturn %r\n}",
		"i32[]: 0; i32[]: 0; i32[]: 1; i32[]: 4", "i32[4]: 1 3 6 10" },
	{ "graph @t(%i: i32[], %s: i32[], %one: i32[], %four: i32[]) {\n%e: i32[], %f: i32[], %r: i32[k] = while %i, %s, %one, %four, n_carry = 2, hi = 3 {\n(%i: i32[], %s: i32[], %one: i32[], %four: i32[])\n"
		"%c = lt %i, %four\nyield %c\n} {\n(%i: i32[], %s: i32[], %one: i32[], %four: i32[])\n%j = add %i, %one\n%t = add %s, %j\nyield %j, %t, %t\n}\nreturn %r\n}",
		"i32[]: 0; i32[]: 0; i32[]: 1; i32[]: 4", "raises: more rounds than its bound of 3" },
	{ "graph @t(%s: f32[2], %x: f32[n, 2]) where 0 <= n {\n%e: f32[2], %r: f32[n, 2] = scan %s, %x, n_carry = 1, length = [n] {\n(%s: f32[2], %x: f32[2])\n%t = add %s, %x\nyield %t, %t\n}\nreturn %r\n}",
		"f32[2]: 0 100; f32[3, 2]: 1 2 3 4 5 6", "f32[3, 2]: 1 102 4 106 9 112" },
	{ "graph @t(%s: f32[2], %x: f32[n, 2]) where 0 <= n {\n%e: f32[2], %r: f32[n, 2] = scan %s, %x, n_carry = 1, length = [n], reverse = 1 {\n(%s: f32[2], %x: f32[2])\n%t = add %s, %x\nyield %t, %t\n}\nreturn %r\n}",
		"f32[2]: 0 100; f32[3, 2]: 1 2 3 4 5 6", "f32[3, 2]: 9 112 8 110 5 106" },
	{ "graph @t(%s: f32[2], %x: f32[n, 2]) where 0 <= n {\n%e: f32[2], %r: f32[n, 2] = scan %s, %x, n_carry = 1, length = [n] {\n(%s: f32[2], %x: f32[2])\n%t = add %s, %x\nyield %t, %t\n}\nreturn %r\n}",
		"f32[2]: 0 100; f32[0, 2]:", "f32[0, 2]:" },
};

struct graph_job { struct tn_arena *a; const struct graph_case *c; struct tn_text got; };

static void run_graph(void *arg)
{
	struct graph_job *j = arg;
	struct tn_array in[4], out[4];
	read_arrays(j->a, j->c->inputs, in, 4);
	const struct tn_ir *ir = tn_ir_parse(j->a, j->c->text, strlen(j->c->text), "case");
	tn_eval_graph(&ir->g, in, out, j->a);
	put_array(&j->got, &out[0]);
}

static void whole_graphs(void **unused)
{
	int failed = 0;
	(void)unused;
	for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct graph_job j = { &a, &graphs[i], { .arena = &a } };
		const int32_t code = tn_protect(&d, run_graph, &j);
		const char *want = graphs[i].want;
		if (strncmp(want, "raises: ", 8) == 0 ? code == TN_OK || strstr(d.text, want + 8) == NULL : code != TN_OK || strcmp(j.got.at, want) != 0) {
			print_error("%s\n\tgave %s\n\tnot  %s\n", graphs[i].text, code == TN_OK ? j.got.at : d.text, want);
			failed++;
		}
		tn_arena_fini(&a);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(hand_cases), cmocka_unit_test(whole_graphs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
