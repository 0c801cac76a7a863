/* kernels_test.c - renders nests made by hand with the tables of cpu_simd, compiles and runs them, and compares with plain loops.
 * All kernels of a run are one unit, compiled once for each numerics profile. */
#include "render/testing.h"
#include <math.h>

static float noise(uint32_t i)
{
	uint32_t h = i * 2654435761u;
	h ^= h >> 15;
	h *= 2246822519u;
	h ^= h >> 13;
	return (float)(int32_t)h / 2147483648.0f;
}

static float *floats(int64_t n, uint32_t seed)
{
	float *p = malloc((size_t)n * sizeof *p + 1);
	for (int64_t i = 0; i < n; i++)
		p[i] = noise((uint32_t)i + seed * 1000003u);
	return p;
}

static void close_to(struct test_case *c, const float *got, const double *want, int64_t n, double tolerance)
{
	for (int64_t i = 0; i < n; i++)
		if ((double)got[i] != want[i] && !(fabs((double)got[i] - want[i]) <= tolerance * (1 + fabs(want[i])))) {
			fprintf(stderr, "%s: element %lld is %.9g, not %.9g\n%s\n", c->name, (long long)i, (double)got[i], want[i], c->kernel->text);
			fail();
		}
}

/* ---- pointwise: out[i][j] = (x[i][j] + row[j]) * col[i] - 0.5, sizes of rows symbolic or fixed */
static void check_pointwise(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 1), *row = floats(m, 2), *col = floats(n, 3), *out = malloc((size_t)(n * m + 1) * sizeof *out);
	double *want = malloc((size_t)(n * m + 1) * sizeof *want);
	for (int back = 0; back < 2; back++) {
		memset(out, 0xff, (size_t)(n * m + 1) * sizeof *out);
		run(c, (void *[]){ x, row, col, out }, back);
		for (int64_t i = 0; i < n * m; i++)
			want[i] = (double)((x[i] + row[i % m]) * col[i / m] - 0.5f);
		close_to(c, out, want, n * m, 1e-6);
		assert_true(isnan(out[n * m]));          /* nothing was written behind the end */
	}
	free(x), free(row), free(col), free(out), free(want);
}

static void make_pointwise(int64_t n, int64_t m, int symbolic)
{
	struct rd_make k;
	struct test_case *t = add_case(symbolic ? "pointwise symbolic" : "pointwise", check_pointwise, n, m, 0);
	rd_make_init(&k, &arena, TN_NEST_POINTWISE);
	uint32_t sn = symbolic ? rd_make_symbol(&k, 0, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&k, n);
	uint32_t sm = symbolic ? rd_make_symbol(&k, 1, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&k, m);
	t->symbols[0] = n;
	t->symbols[1] = m;
	uint32_t i = rd_make_dim(&k, TN_AXIS_OUTER, sn), j = rd_make_dim(&k, TN_AXIS_INNER, sm);
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sn), row = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sm);
	uint32_t col = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sn), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, sn);
	uint32_t at = rd_make_linear(&k, 0, RD_PAIRS({ i, sm }, { j, 1 }));
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER);
	uint32_t a = rd_make_load(&k, rd_make_access(&k, x, at)), b = rd_make_load(&k, rd_make_access(&k, row, rd_make_linear(&k, 0, RD_PAIRS({ j, 1 }))));
	uint32_t s = rd_make_prim(&k, TN_add, TN_F32, 2, (uint32_t[]){ a, b });
	uint32_t d = rd_make_load(&k, rd_make_access(&k, col, rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }))));
	uint32_t p = rd_make_prim(&k, TN_mul, TN_F32, 2, (uint32_t[]){ s, d });
	uint32_t half = rd_make_number(&k, TN_F32, 0x3f000000);
	uint32_t r = rd_make_prim(&k, TN_sub, TN_F32, 2, (uint32_t[]){ p, half });
	rd_make_store(&k, rd_make_access(&k, out, at), r);
	t->nest = rd_make_done(&k);
}

/* ---- a padded, transposed copy: out[i][j] = x[j - 1][i - 2] inside, else 7 */
static void check_pad(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 1), *out = malloc((size_t)((n + 3) * (m + 3)) * sizeof *out);
	double *want = malloc((size_t)((n + 3) * (m + 3)) * sizeof *want);
	run(c, (void *[]){ x, out }, 0);
	for (int64_t i = 0; i < n + 3; i++)
		for (int64_t j = 0; j < m + 3; j++) {
			int64_t y = c->q ? j - 1 : i - 1, z = c->q ? i - 2 : j - 2, rows = c->q ? m : n, cols = c->q ? n : m;
			want[i * (m + 3) + j] = y >= 0 && y < rows && z >= 0 && z < cols ? (double)x[y * cols + z] : 7;
		}
	close_to(c, out, want, (n + 3) * (m + 3), 0);
	free(x), free(out), free(want);
}

static void make_pad(int64_t n, int64_t m, uint32_t transposed)
{
	struct rd_make k;
	struct test_case *t = add_case(transposed ? "pad transposed" : "pad", check_pad, n, m, 0);
	t->q = transposed;
	rd_make_init(&k, &arena, TN_NEST_POINTWISE);
	uint32_t i = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n + 3)), j = rd_make_dim(&k, TN_AXIS_INNER, rd_make_size(&k, m + 3));
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, rd_make_size(&k, n * m)), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t y = transposed ? j : i, z = transposed ? i : j;
	int64_t rows = transposed ? m : n, cols = transposed ? n : m;
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER);
	uint32_t in = rd_make_access(&k, x, rd_make_linear(&k, rd_make_size(&k, -cols - 2), RD_PAIRS({ y, rd_make_size(&k, cols) }, { z, 1 })));
	rd_make_bound(&k, in, rd_make_linear(&k, rd_make_size(&k, -1), RD_PAIRS({ y, 1 })), rd_make_size(&k, rows));
	rd_make_bound(&k, in, rd_make_linear(&k, rd_make_size(&k, -2), RD_PAIRS({ z, 1 })), rd_make_size(&k, cols));
	k.accesses[in].fill = 0x40e00000;
	uint32_t v = rd_make_load(&k, in);
	rd_make_store(&k, rd_make_access(&k, out, rd_make_linear(&k, 0, RD_PAIRS({ i, rd_make_size(&k, m + 3) }, { j, 1 }))), v);
	t->nest = rd_make_done(&k);
}

/* ---- reductions: out[i] = prim over r of |x[i][r]| + 1, or over i when columns */
static void check_reduce(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 5), *out = malloc((size_t)(n + m) * sizeof *out), *again = malloc((size_t)(n + m) * sizeof *out);
	double *want = malloc((size_t)(n + m) * sizeof *want);
	int64_t outer = c->q ? m : n, red = c->q ? n : m;
	run(c, (void *[]){ x, out }, 0);
	run(c, (void *[]){ x, again }, 1);
	for (int64_t i = 0; i < outer; i++) {
		double v = c->p == TN_sum ? 0 : c->p == TN_prod ? 1 : c->p == TN_reduce_max ? -HUGE_VAL : HUGE_VAL;
		for (int64_t r = 0; r < red; r++) {
			double e = fabs((double)x[c->q ? r * m + i : i * m + r]);
			v = c->p == TN_sum ? v + e : c->p == TN_prod ? v * e : c->p == TN_reduce_max ? fmax(v, e) : fmin(v, e);
		}
		want[i] = 2 * v;
	}
	close_to(c, out, want, outer, 1e-5);
	assert_memory_equal(out, again, (size_t)outer * sizeof *out);
	free(x), free(out), free(again), free(want);
}

static void make_reduce(int64_t n, int64_t m, uint32_t prim, uint32_t columns)
{
	struct rd_make k;
	struct test_case *t = add_case(columns ? "reduce columns" : "reduce rows", check_reduce, n, m, prim);
	t->p = prim;
	t->q = columns;
	rd_make_init(&k, &arena, TN_NEST_REDUCE);
	uint32_t i, r;
	if (columns) {
		i = rd_make_dim(&k, TN_AXIS_INNER, rd_make_size(&k, m));
		r = rd_make_dim(&k, TN_AXIS_RED, rd_make_size(&k, n));
	} else {
		i = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n));
		r = rd_make_dim(&k, TN_AXIS_RED, rd_make_size(&k, m));
	}
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, 0), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t own = columns ? 1u << TN_AXIS_INNER : 1u << TN_AXIS_OUTER;
	rd_make_phase(&k, own | 1 << TN_AXIS_RED);
	uint32_t sm = rd_make_size(&k, m);
	uint32_t at = columns ? rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }, { r, sm })) : rd_make_linear(&k, 0, RD_PAIRS({ i, sm }, { r, 1 }));
	uint32_t v = rd_make_load(&k, rd_make_access(&k, x, at));
	uint32_t a = rd_make_prim(&k, TN_abs, TN_F32, 1, &v);
	uint32_t s = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = TN_F32, .prim = prim, .b = a });
	rd_make_phase(&k, own);
	uint32_t two = rd_make_number(&k, TN_F32, 0x40000000);
	uint32_t d = rd_make_prim(&k, TN_mul, TN_F32, 2, (uint32_t[]){ s, two });
	rd_make_store(&k, rd_make_access(&k, out, rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }))), d);
	t->nest = rd_make_done(&k);
}

/* ---- rows: e = (x - max x)^2 + 1; out = e / sum e.  q: e is kept */
static void check_rows(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 5), *out = malloc((size_t)(n * m) * sizeof *out);
	double *want = malloc((size_t)(n * m) * sizeof *want);
	run(c, (void *[]){ x, out }, 0);
	for (int64_t i = 0; i < n; i++) {
		double top = -HUGE_VAL, sum = 0;
		for (int64_t j = 0; j < m; j++)
			top = fmax(top, (double)x[i * m + j]);
		for (int64_t j = 0; j < m; j++) {
			double d = (double)x[i * m + j] - top;
			sum += want[i * m + j] = d * d + 1;
		}
		for (int64_t j = 0; j < m; j++)
			want[i * m + j] /= sum;
	}
	close_to(c, out, want, n * m, 1e-6);
	free(x), free(out), free(want);
}

static void make_rows(int64_t n, int64_t m, uint32_t kept, int symbolic)
{
	struct rd_make k;
	struct test_case *t = add_case("rows", check_rows, n, m, kept);
	rd_make_init(&k, &arena, TN_NEST_ROWS);
	t->symbols[0] = m;
	uint32_t sm = symbolic ? rd_make_symbol(&k, 0, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&k, m);
	uint32_t i = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n)), r = rd_make_dim(&k, TN_AXIS_RED, sm);
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, 0), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t at = rd_make_linear(&k, 0, RD_PAIRS({ i, sm }, { r, 1 })), both = 1 << TN_AXIS_OUTER | 1 << TN_AXIS_RED;
	rd_make_phase(&k, both);
	uint32_t v = rd_make_load(&k, rd_make_access(&k, x, at));
	uint32_t top = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = TN_F32, .prim = TN_reduce_max, .b = v });
	rd_make_phase(&k, both);
	uint32_t d = rd_make_prim(&k, TN_sub, TN_F32, 2, (uint32_t[]){ v, top });
	uint32_t sq = rd_make_prim(&k, TN_mul, TN_F32, 2, (uint32_t[]){ d, d }), one = rd_make_number(&k, TN_F32, 0x3f800000);
	uint32_t e = rd_make_prim(&k, TN_add, TN_F32, 2, (uint32_t[]){ sq, one });
	k.steps[e].flags = kept ? TN_STEP_KEEP : 0;
	uint32_t sum = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = TN_F32, .prim = TN_sum, .b = e });
	rd_make_phase(&k, both);
	uint32_t q = rd_make_prim(&k, TN_div, TN_F32, 2, (uint32_t[]){ e, sum });
	rd_make_store(&k, rd_make_access(&k, out, at), q);
	t->nest = rd_make_done(&k);
}

/* ---- contract: out[b][i][j] = bias[j] + sum over p of A * B.  variant: bit 0 A transposed in memory, 1 B transposed, 2 A through abs,
 * 3 B through neg, 4 B packed by the cores */
enum { AT = 1, BT = 2, A_ABS = 4, B_NEG = 8, PACKED = 16, I32 = 32 };
struct core_dot { int32_t mr, nr; void (*run)(void), (*run_wide)(void), (*pack_a)(void);
	void (*pack_b)(int64_t k, int64_t n, const void *src, int64_t stride_k, int64_t stride_n, void *dst); };
struct core_head { const char *isa, *march; int32_t vector_bytes; struct core_dot dot_f32; };

static void check_contract(struct test_case *c)
{
	int64_t m = c->len[0], n = c->len[1], k = c->len[2], batch = 2;
	uint32_t v = c->q;
	float *x = floats(batch * m * k, 1), *y = floats(k * n, 2), *bias = floats(n, 3), *out = malloc((size_t)(batch * m * n) * sizeof *out);
	double *want = malloc((size_t)(batch * m * n) * sizeof *want);
	if (v & I32)
		for (int64_t i = 0; i < batch * m * k || i < k * n || i < n; i++) {
			if (i < batch * m * k)
				((int32_t *)(void *)x)[i] = (int32_t)(x[i] * 100);
			if (i < k * n)
				((int32_t *)(void *)y)[i] = (int32_t)(y[i] * 100);
			if (i < n)
				((int32_t *)(void *)bias)[i] = (int32_t)(bias[i] * 100);
		}
#define AT_(p, i) (v & I32 ? (double)((int32_t *)(void *)(p))[i] : (double)(p)[i])
	for (int64_t b = 0; b < batch; b++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++) {
				double sum = AT_(bias, j);
				for (int64_t p = 0; p < k; p++) {
					double l = AT_(x, b * m * k + (v & AT ? p * m + i : i * k + p)), r = AT_(y, v & BT ? j * k + p : p * n + j);
					sum += (v & A_ABS ? fabs(l) : l) * (v & B_NEG ? -r : r);
				}
				want[(b * m + i) * n + j] = sum;
			}
	void *packed = NULL;
	if (v & PACKED) {
		const struct core_dot *core = &((const struct core_head *)cores)->dot_f32;
		packed = malloc((size_t)((n + 64) * (k + 1)) * 4);
		core->pack_b(k, n, y, v & BT ? 1 : n, v & BT ? k : 1, packed);
	}
	run(c, (void *[]){ x, packed ? packed : y, bias, out }, 1);
	if (v & I32)
		for (int64_t i = 0; i < batch * m * n; i++)
			out[i] = (float)((int32_t *)(void *)out)[i];
	close_to(c, out, want, batch * m * n, 1e-5 + 1e-7 * (double)k);
	free(packed), free(x), free(y), free(bias), free(out), free(want);
}

static void make_contract(int64_t m, int64_t n, int64_t kk, uint32_t v)
{
	struct rd_make k;
	struct test_case *t = add_case("contract", check_contract, m, n, kk);
	uint32_t dtype = v & I32 ? TN_I32 : TN_F32;
	t->q = v;
	rd_make_init(&k, &arena, TN_NEST_CONTRACT);
	uint32_t sm = rd_make_size(&k, m), sn = rd_make_size(&k, n), sk = rd_make_size(&k, kk);
	uint32_t b = rd_make_dim(&k, TN_AXIS_BATCH, rd_make_size(&k, 2)), i = rd_make_dim(&k, TN_AXIS_M, sm), j = rd_make_dim(&k, TN_AXIS_N, sn);
	uint32_t p = rd_make_dim(&k, TN_AXIS_K, sk);
	uint32_t x = rd_make_buffer(&k, dtype, TN_BUF_READ, 0), y = rd_make_buffer(&k, dtype, TN_BUF_READ, 0);
	uint32_t bias = rd_make_buffer(&k, dtype, TN_BUF_READ, 0), out = rd_make_buffer(&k, dtype, TN_BUF_WRITE, 0);
	if (v & PACKED) {
		k.buffers[y].layout = (uint32_t)k.bytes.len;
		tn_text_put(&k.bytes, "dot.b.panels", 13);
	}
	uint32_t own = 1 << TN_AXIS_BATCH | 1 << TN_AXIS_M | 1 << TN_AXIS_N;
	uint32_t mk = rd_make_size(&k, m * kk), mn = rd_make_size(&k, m * n);
	rd_make_phase(&k, own | 1 << TN_AXIS_K);
	uint32_t l = rd_make_load(&k, rd_make_access(&k, x, v & AT ? rd_make_linear(&k, 0, RD_PAIRS({ b, mk }, { p, sm }, { i, 1 })) :
		rd_make_linear(&k, 0, RD_PAIRS({ b, mk }, { i, sk }, { p, 1 }))));
	uint32_t r = rd_make_load(&k, rd_make_access(&k, y, v & BT ? rd_make_linear(&k, 0, RD_PAIRS({ j, sk }, { p, 1 })) :
		rd_make_linear(&k, 0, RD_PAIRS({ p, sn }, { j, 1 }))));
	if (v & A_ABS)
		l = rd_make_prim(&k, TN_abs, dtype, 1, &l);
	if (v & B_NEG)
		r = rd_make_prim(&k, TN_neg, dtype, 1, &r);
	uint32_t dot = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_DOT, .dtype = dtype, .a = l, .b = r });
	rd_make_phase(&k, own);
	uint32_t w = rd_make_load(&k, rd_make_access(&k, bias, rd_make_linear(&k, 0, RD_PAIRS({ j, 1 }))));
	uint32_t sum = rd_make_prim(&k, TN_add, dtype, 2, (uint32_t[]){ dot, w });
	rd_make_store(&k, rd_make_access(&k, out, rd_make_linear(&k, 0, RD_PAIRS({ b, mn }, { i, sn }, { j, 1 }))), sum);
	t->nest = rd_make_done(&k);
}

/* ---- cumulate: sums along SEQ; q: bit 3 exclusive, bit 4 reverse as in the step, bit 0 lanes along INNER */
static void check_cumulate(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 5), *out = malloc((size_t)(n * m) * sizeof *out);
	double *want = malloc((size_t)(n * m) * sizeof *want);
	run(c, (void *[]){ x, out }, 0);
	for (int64_t i = 0; i < n; i++) {
		double sum = 0;
		for (int64_t u = 0; u < m; u++) {
			int64_t s = c->q & 16 ? m - 1 - u : u, at = c->q & 1 ? s * n + i : i * m + s;
			want[at] = c->q & 8 ? sum : sum + (double)x[at];
			sum += (double)x[at];
		}
	}
	close_to(c, out, want, n * m, 1e-5);
	free(x), free(out), free(want);
}

static void make_cumulate(int64_t n, int64_t m, uint32_t q)
{
	struct rd_make k;
	struct test_case *t = add_case("cumulate", check_cumulate, n, m, q);
	t->q = q;
	rd_make_init(&k, &arena, TN_NEST_CUMULATE);
	uint32_t i = rd_make_dim(&k, q & 1 ? TN_AXIS_INNER : TN_AXIS_OUTER, rd_make_size(&k, n)), s = rd_make_dim(&k, TN_AXIS_SEQ, rd_make_size(&k, m));
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, 0), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t at = q & 1 ? rd_make_linear(&k, 0, RD_PAIRS({ s, rd_make_size(&k, n) }, { i, 1 })) : rd_make_linear(&k, 0, RD_PAIRS({ i, rd_make_size(&k, m) }, { s, 1 }));
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER | 1 << TN_AXIS_SEQ);
	uint32_t v = rd_make_load(&k, rd_make_access(&k, x, at));
	uint32_t w = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_CUMULATE, .dtype = TN_F32, .b = v, .bits = 1 | (q & 24) });
	rd_make_store(&k, rd_make_access(&k, out, at), w);
	t->nest = rd_make_done(&k);
}

/* ---- scatter-add of rows: out[index[s]][j] += x[s][j], indices out of range are skipped; and gather: out[s][j] = table[index[s]][j] */
static void check_scatter(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1], rows = 5;
	float *x = floats(n * m, 5), *out = floats(rows * m, 6), *from = floats(rows * m, 6);
	double *want = malloc((size_t)((n + rows) * m) * sizeof *want);
	int32_t *index = malloc((size_t)n * sizeof *index);
	for (int64_t s = 0; s < n; s++)
		index[s] = (int32_t)(s * 7 % 8) - 1;
	for (int64_t i = 0; i < rows * m; i++)
		want[i] = (double)from[i];
	for (int64_t s = 0; s < n; s++)
		for (int64_t j = 0; j < m; j++) {
			int in = index[s] >= 0 && index[s] < rows;
			if (c->q)
				want[s * m + j] = in ? (double)from[index[s] * m + j] : -1;
			else if (in)
				want[index[s] * m + j] += (double)x[s * m + j];
		}
	if (c->q) {
		run(c, (void *[]){ index, from, x }, 0);
		close_to(c, x, want, n * m, 0);
	} else {
		run(c, (void *[]){ index, x, out }, 0);
		close_to(c, out, want, rows * m, 1e-5);
	}
	free(x), free(out), free(from), free(want), free(index);
}

static void make_scatter(int64_t n, int64_t m, uint32_t gather)
{
	struct rd_make k;
	struct test_case *t = add_case(gather ? "gather" : "scatter", check_scatter, n, m, 0);
	t->q = gather;
	rd_make_init(&k, &arena, gather ? TN_NEST_POINTWISE : TN_NEST_SCATTER);
	uint32_t sm = rd_make_size(&k, m), j, s;
	if (gather) {
		s = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n));
		j = rd_make_dim(&k, TN_AXIS_INNER, sm);
	} else {
		j = rd_make_dim(&k, TN_AXIS_INNER, sm);
		s = rd_make_dim(&k, TN_AXIS_SEQ, rd_make_size(&k, n));
	}
	uint32_t index = rd_make_buffer(&k, TN_I32, TN_BUF_READ, 0), x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, 0);
	uint32_t out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE | (gather ? 0 : TN_BUF_READ), 0);
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER | 1 << TN_AXIS_SEQ);
	uint32_t at = rd_make_load(&k, rd_make_access(&k, index, rd_make_linear(&k, 0, RD_PAIRS({ s, 1 }))));
	uint32_t wide = rd_make_prim(&k, TN_convert, TN_I64, 1, &at);
	uint32_t direct = rd_make_access(&k, gather ? out : x, rd_make_linear(&k, 0, RD_PAIRS({ s, sm }, { j, 1 })));
	uint32_t v = gather ? 0 : rd_make_load(&k, direct);
	uint32_t lin = rd_make_linear(&k, 0, RD_PAIRS({ wide, sm }, { j, 1 })), only = rd_make_linear(&k, 0, RD_PAIRS({ wide, 1 }));
	k.parts[k.linears[lin].part0].step = 1;
	k.parts[k.linears[only].part0].step = 1;
	uint32_t far = rd_make_access(&k, gather ? x : out, lin);
	rd_make_bound(&k, far, only, rd_make_size(&k, 5));
	if (gather) {
		k.accesses[far].fill = 0xbf800000;
		rd_make_store(&k, direct, rd_make_load(&k, far));
	} else {
		rd_make_step(&k, (struct tn_step){ .op = TN_STEP_UPDATE, .a = far, .b = v, .bits = 1 });
	}
	t->nest = rd_make_done(&k);
}

static void make_cases(void *unused)
{
	static const int64_t lengths[] = { 1, 7, 8, 9, 16, 17, 33 };
	(void)unused;
	for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		int64_t n = lengths[i], m = lengths[(i + 3) % 7];
		make_pointwise(n, m, 0);
		make_pointwise(n, n, 1);
		make_pad(n, m, 0);
		make_pad(n, m, 1);
		make_reduce(n, m, TN_sum, 0);
		make_reduce(n, n, TN_prod, 0);
		make_reduce(n, m, TN_reduce_max, 0);
		make_reduce(m, n, TN_reduce_min, 0);
		make_reduce(n, m, TN_sum, 1);
		make_reduce(m, n, TN_reduce_max, 1);
		make_rows(n, m, 1, 0);
		make_rows(n, m, 0, 1);
		make_contract(n, m, (n + m) % 11, i % 4 | (i % 2 ? A_ABS : 0) | (i % 3 == 1 ? B_NEG : 0));
		make_contract(m, n, n, i % 4 | I32);
		make_contract(n, m, m, (i % 4) | PACKED);
		make_cumulate(n, m, i & 1);
		make_cumulate(n, m, (i & 1) | (i & 2 ? 8 : 16));
		make_scatter(n, m, 0);
		make_scatter(n, m, 1);
	}
	make_pointwise(3, 20000, 1);
	make_pointwise(0, 5, 1);
	make_reduce(2, 1000, TN_sum, 0);
	make_reduce(1000, 300, TN_sum, 1);
	make_reduce(3, 0, TN_reduce_max, 0);
	make_contract(250, 300, 520, 0);
	make_contract(250, 300, 520, A_ABS | B_NEG);
	make_contract(3, 300, 520, PACKED);
	make_contract(130, 300, 520, PACKED | A_ABS | AT);
}

static void test_strict(void **s)
{
	(void)s;
	render_all();
	compile_and_check("off");
}

static void test_default(void **s)
{
	(void)s;
	compile_and_check("fast");
}

static int setup(void **s)
{
	(void)s;
	return open_tables() ? -1 : tn_protect(&diag, make_cases, NULL);
}

static int teardown(void **s)
{
	(void)s;
	tn_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_strict), cmocka_unit_test(test_default) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
