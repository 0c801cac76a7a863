/* builders_test.c - the C builders against plain loops, published vectors and hand cases */
#include "decomp/decomp.h"
#include "ir/test_arrays.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- text cases: inputs %a, %b; answers of every output joined by "; " */
struct text_case { const char *header, *body, *inputs, *want; };
static const struct text_case cases[] = {
	/* NaN is the largest, ties keep their order */
	{ "%a: f32[7]", "%r, %i = sort %a, axis = 0\nreturn %r, %i", "f32[7]: nan 2 1 nan 2 -inf inf",
		"f32[7]: -inf 1 2 2 inf nan nan; i64[7]: 5 2 1 4 6 0 3" },
	{ "%a: f32[7]", "%r, %i = sort %a, axis = 0, descending = 1\nreturn %r, %i", "f32[7]: nan 2 1 nan 2 -inf inf",
		"f32[7]: nan nan inf 2 2 1 -inf; i64[7]: 0 3 6 1 4 2 5" },
	{ "%a: f32[n]", "%r, %i = topk %a, axis = 0, k = [2]\nreturn %r, %i", "f32[7]: nan 2 1 nan 2 -inf inf", "f32[2]: nan nan; i64[2]: 0 3" },
	{ "%a: u8[2, n]", "%r, %i = topk %a, axis = 1, k = [2], largest = 0\nreturn %r, %i", "u8[2, 3]: 9 1 200 7 7 3", "u8[2, 2]: 1 9 3 7; i64[2, 2]: 1 0 2 0" },
	{ "%a: bool[4]", "%r, %i = sort %a, axis = 0\nreturn %r, %i", "bool[4]: 1 0 1 0", "bool[4]: 0 0 1 1; i64[4]: 1 3 0 2" },
	{ "%a: f64[3]", "%r, %i = sort %a, axis = 0\nreturn %r, %i", "f64[3]: 0 -0 -1", "f64[3]: -1 0 -0; i64[3]: 2 0 1" },
	{ "%a: i32[n, 0]", "%r, %i = sort %a, axis = 1\nreturn %r, %i", "i32[2, 0]:", "i32[2, 0]:; i64[2, 0]:" },
	/* padding out of the window's sum and count, or in */
	{ "%a: f32[1, 1, 6, 6]", "%r = avg_pool %a, size = [3, 3], stride = [2, 2], low = [1, 1], high = [2, 2], count_pad = 0\n"
		"%s = slice %r, start = [0, 0, 0, 0], limit = [1, 1, 1, 4], step = [1, 1, 1, 1]\nreturn %s",
		"f32[1, 1, 6, 6]: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35", "f32[1, 1, 1, 4]: 3.5 5 7 8" },
	{ "%a: f32[1, 1, 4]", "%r = avg_pool %a, size = [2], stride = [2], low = [1], high = [1]\nreturn %r", "f32[1, 1, 4]: 1 2 3 4", "f32[1, 1, 3]: 0.5 2.5 2" },
	{ "%a: f16[1, 1, 4]", "%r = avg_pool %a, size = [4], stride = [1], low = [0], high = [0]\nreturn %r", "f16[1, 1, 4]: 60000 60000 60000 60000", "f16[1, 1, 1]: 60000" },
	{ "%a: f32[1, 1, 5]", "%r = max_pool %a, size = [2], stride = [1], low = [1], high = [1], dilation = [2]\nreturn %r", "f32[1, 1, 5]: -1 -2 nan -4 -5",
		"f32[1, 1, 5]: -2 nan -2 nan -4" },
	{ "%a: i8[1, 1, 2]", "%r = max_pool %a, size = [1], stride = [1], low = [1], high = [1], dilation = [1]\nreturn %r", "i8[1, 1, 2]: -7 7", "i8[1, 1, 4]: -128 -7 7 -128" },
	/* Random123's known answer for a counter and key of zeros */
	{ "%a: u64[], %b: u64[]", "%r = random_bits %a, %b, dtype = u32, shape = [4]\nreturn %r", "u64[]: 0; u64[]: 0", "u32[4]: 1713891541 3781805453 3159862348 2600524760" },
	{ "%a: u64[], %b: u64[]", "%r = random_bits %a, %b, dtype = u64, shape = [2]\nreturn %r", "u64[]: 0; u64[]: 0", "u64[2]: 16242730742183356629 11169168799798111308" },
	{ "%a: u64[], %b: u64[]", "%r = random_bits %a, %b, dtype = u8, shape = [2, 2]\nreturn %r", "u64[]: 0; u64[]: 0", "u8[2, 2]: 102 225 188 155" },
	{ "%a: u64[], %b: u64[]", "%r = random_uniform %a, %b, dtype = bf16, shape = [4]\nreturn %r", "u64[]: 0; u64[]: 0", "bf16[4]: 0.3984375 0.87890625 0.734375 0.60546875" },
};

struct job { struct tn_arena *a; const struct text_case *c; struct tn_text got; };

static void run_case(void *arg)
{
	struct job *j = arg;
	struct tn_array in[4], out[4];
	const char *text = tn_printf(j->a, "graph @t(%s) {\n%s\n}\n", j->c->header, j->c->body);
	const struct tn_ir *ir = tn_ir_parse(j->a, text, strlen(text), "case"), *atoms = tn_expand(&ir->g, NULL, NULL, j->a);
	read_arrays(j->a, j->c->inputs, in, 4);
	tn_eval_graph(&atoms->g, in, out, j->a);
	for (uint32_t i = 0; i < ir->g.n_out; i++) {
		tn_text_add(&j->got, i ? "; " : "");
		put_array(&j->got, &out[i]);
	}
}

static void text_cases(void **unused)
{
	int failed = 0;
	(void)unused;
	tn_decomp_register();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { &a, &cases[i], { .arena = &a } };
		const int32_t code = tn_protect(&d, run_case, &j);
		if (code != TN_OK || strcmp(j.got.at, cases[i].want) != 0) {
			print_error("%s\n\tgave %s\n\tnot  %s\n", cases[i].body, code == TN_OK ? j.got.at : d.text, cases[i].want);
			failed++;
		}
		tn_arena_fini(&a);
	}
	assert_int_equal(failed, 0);
}

/* ---- Philox against a plain one, which is held to the known answers */
static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
	for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
		const uint64_t p0 = (uint64_t)c[0] * 0xD2511F53u, p1 = (uint64_t)c[2] * 0xCD9E8D57u;
		const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
		c[0] = n0;
		c[1] = (uint32_t)p1;
		c[2] = n2;
		c[3] = (uint32_t)p0;
	}
}

static void random_numbers_of_any_seed(void **unused)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	uint32_t known[4] = { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 };
	const uint64_t seed = 0xfedcba9876543210u, offset = 0xfffffffffffffffeu;       /* the counter wraps within the result */
	(void)unused;
	philox(known, 0xa4093822, 0x299f31d0);
	assert_true(known[0] == 0xd16cfe09 && known[1] == 0x94fdcceb && known[2] == 0x5001e420 && known[3] == 0x24126ea1);
	tn_arena_init(&a, &d);
	struct job j = { &a, &(const struct text_case){ "%a: u64[], %b: u64[]", "%r = random_bits %a, %b, dtype = u32, shape = [3, 7]\nreturn %r",
		"u64[]: 18364758544493064720; u64[]: 18446744073709551614", NULL }, { .arena = &a } };
	struct tn_text want = { .arena = &a };
	tn_text_add(&want, "u32[3, 7]:");
	for (uint32_t i = 0; i < 21; i++) {
		const uint64_t at = offset + i / 4;
		uint32_t c[4] = { (uint32_t)at, (uint32_t)(at >> 32), 0, 0 };
		philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
		tn_text_add(&want, " %u", c[i % 4]);
	}
	assert_int_equal(tn_protect(&d, run_case, &j), TN_OK);
	assert_string_equal(j.got.at, want.at);
	tn_arena_fini(&a);
}

/* ---- convolution against loops: small integers, so that every order gives the same float */
struct conv { uint32_t n; int64_t x[5], w[5], stride[3], low[3], high[3], dilation[3], groups; };
static const struct conv convs[] = {
	{ 2, { 1, 4, 7, 6 }, { 4, 2, 3, 3 }, { 2, 1 }, { 1, 2 }, { 1, 2 }, { 2, 1 }, 2 },
	{ 2, { 2, 3, 5, 6 }, { 4, 3, 3, 2 }, { 1, 2 }, { 1, 0 }, { 0, 1 }, { 1, 2 }, 1 },
	{ 2, { 2, 6, 5, 5 }, { 6, 1, 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, 6 },
	{ 2, { 2, 3, 6, 5 }, { 5, 3, 1, 1 }, { 2, 3 }, { 0, 1 }, { 0, 1 }, { 1, 1 }, 1 },
	{ 2, { 1, 4, 3, 3 }, { 8, 2, 1, 1 }, { 1, 1 }, { 0, 0 }, { 0, 0 }, { 1, 1 }, 2 },
	{ 1, { 2, 4, 9 }, { 6, 2, 3 }, { 2 }, { 2 }, { 1 }, { 2 }, 2 },
	{ 1, { 1, 3, 9 }, { 2, 3, 4 }, { 1 }, { -1 }, { -2 }, { 1 }, 1 },
	{ 3, { 1, 4, 4, 5, 3 }, { 4, 2, 2, 3, 2 }, { 1, 2, 1 }, { 1, 0, 1 }, { 0, 1, 0 }, { 2, 1, 1 }, 2 },
	{ 3, { 2, 2, 4, 3, 5 }, { 3, 2, 2, 2, 3 }, { 2, 1, 2 }, { 0, 1, 0 }, { 1, 0, 1 }, { 1, 1, 2 }, 1 },
};

static int64_t size_of(const int64_t *dims, uint32_t n)
{
	int64_t s = 1;
	for (uint32_t i = 0; i < n; i++)
		s *= dims[i];
	return s;
}

static void split(int64_t i, const int64_t *dims, uint32_t n, int64_t *at)
{
	for (uint32_t d = n; d-- > 0; i /= dims[d])
		at[d] = i % dims[d];
}

static double naive(const struct conv *c, const int64_t *at, const float *x, const float *w)
{
	const int64_t cg = c->w[1], og = c->w[0] / c->groups, k = size_of(c->w + 2, c->n);
	double sum = 0;
	for (int64_t ch = 0; ch < cg; ch++)
		for (int64_t i = 0; i < k; i++) {
			int64_t kat[3], xi = at[0] * c->x[1] + at[1] / og * cg + ch;
			int inside = 1;
			split(i, c->w + 2, c->n, kat);
			for (uint32_t d = 0; d < c->n; d++) {
				const int64_t s = at[2 + d] * c->stride[d] - c->low[d] + kat[d] * c->dilation[d];
				inside &= s >= 0 && s < c->x[2 + d];
				xi = xi * c->x[2 + d] + s;
			}
			if (inside)
				sum += (double)x[xi] * (double)w[(at[1] * cg + ch) * k + i];
		}
	return sum;
}

struct conv_job { struct tn_arena *a; const struct conv *c; struct tn_array in[2], out; };

static void run_conv(void *arg)
{
	struct conv_job *j = arg;
	const struct conv *c = j->c;
	struct tn_ir *ir = tn_ir_create(j->a, "conv");
	uint32_t in[2], dims[2][5];
	for (uint32_t s = 0; s < 2; s++) {
		const int64_t *d = s ? c->w : c->x;
		struct tn_array *x = &j->in[s];
		*x = (struct tn_array){ .dtype = TN_F32, .rank = c->n + 2, .size = (uint64_t)size_of(d, c->n + 2) * 4 };
		x->at = tn_arena_alloc(j->a, x->size);
		for (uint32_t i = 0; i < x->rank; i++) {
			x->dims[i] = d[i];
			dims[s][i] = s == 0 && i != 1 ? tn_size_sym(ir, tn_printf(j->a, "d%u", i), 1, TN_SIZE_UNBOUNDED) : tn_size_const(ir, d[i]);
		}
		for (uint64_t i = 0; i < x->size / 4; i++)
			((float *)x->at)[i] = s ? (float)(i % 5) - 2 : (float)(i % 11);
		in[s] = tn_ir_input(ir, NULL, TN_F32, c->n + 2, dims[s]);
	}
	const struct tn_attr_in attrs[] = { TN_A_INTS(stride, c->stride, c->n), TN_A_INTS(low, c->low, c->n), TN_A_INTS(high, c->high, c->n),
		TN_A_INTS(dilation, c->dilation, c->n), TN_A_INT(groups, c->groups) };
	tn_ir_output(ir, NULL, tn_ir_add(ir, TN_convolution, in, 2, attrs, 5));
	const struct tn_ir *atoms = tn_expand(&ir->g, NULL, NULL, j->a);
	tn_ir_verify(&atoms->g, j->a);
	tn_eval_graph(&atoms->g, j->in, &j->out, j->a);
}

static void convolution_equals_loops(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct conv_job j = { .a = &a, .c = &convs[i] };
		if (tn_protect(&d, run_conv, &j) != TN_OK)
			fail_msg("convolution %zu: %s", i, d.text);
		double sum = 0;
		for (uint64_t k = 0; k < ev_count(&j.out); k++) {
			int64_t at[5];
			split((int64_t)k, j.out.dims, j.out.rank, at);
			const double want = naive(j.c, at, j.in[0].at, j.in[1].at), got = (double)((const float *)j.out.at)[k];
			sum += got;
			if (got != want)
				fail_msg("convolution %zu element %llu: %g, not %g", i, (unsigned long long)k, got, want);
		}
		for (uint32_t s = 0; s < j.c->n; s++)
			assert_int_equal(j.out.dims[2 + s], (j.c->x[2 + s] + j.c->low[s] + j.c->high[s] - (j.c->w[2 + s] - 1) * j.c->dilation[s] - 1) / j.c->stride[s] + 1);
		if (i == 0)                       /* the sum that PyTorch gives for this one */
			assert_true(sum == -31);
		tn_arena_fini(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(text_cases), cmocka_unit_test(random_numbers_of_any_seed), cmocka_unit_test(convolution_equals_loops) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
