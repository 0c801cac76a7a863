/* ulp_kernel.c - a graph of one node, compiled with strict numerics and run on blocks of inputs */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tenon/nest.h>
#include "base/half.h"
#include "tools/ulp/ulp.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* in ulp: the table's for f32 (there f16 and bf16 too, which round an f32 result once more), 2 for f64 */
static double bound_of(const struct ulp_kernel *k)
{
	double b = k->prim->tol == TN_TOL_ULP ? k->prim->ulp : k->truth->bound;
	if (b < 0) return INFINITY;
	if (b == 0.5) return 0.5 + 1e-6;                       /* truth itself is rounded once */
	return k->dtype == TN_F64 ? 2 : b;
}

static double known_of(const struct ulp_kernel *k)
{
	double b = k->dtype == TN_F32 ? k->truth->known[0] : k->dtype == TN_F64 ? k->truth->known[1] : 0;
	return b < 0 ? INFINITY : b > 0 ? b : k->bound;
}

int ulp_kernel_open(struct ulp_kernel *k, struct tn_session *s, const struct ulp_truth *t, uint32_t dtype, char *why, uint32_t size)
{
	const char *d = tn_dtype_name(dtype);
	char text[512];
	struct tn_model *m = NULL;
	const struct tn_executable_options o = { .head = { sizeof o, 0 }, .numerics = TN_STRICT, .wait = 1 };
	*k = (struct ulp_kernel){ .truth = t, .prim = tn_prim_by_name(t->name, strlen(t->name)), .dtype = dtype, .s = s };
	if (!k->prim) return snprintf(why, size, "the table has no primitive of this name"), 0;
	k->n_in = k->prim->n_in;
	k->bound = bound_of(k);
	k->known = known_of(k);
	snprintf(text, sizeof text, "graph @u(%%x: %s[n]%s%s%s) -> %s[n] where 0 <= n {\n\t%%r = %s %%x%s%s%s\n\treturn %%r\n}\n", d, k->n_in > 1 ? ", %y: " : "",
		k->n_in > 1 ? d : "", k->n_in > 1 ? "[n]" : "", d, t->name, k->n_in > 1 ? ", %y" : "", t->attrs[0] ? ", " : "", t->attrs);
	int32_t st = tn_model_parse(s, text, strlen(text), &m);
	if (st == TN_OK) st = tn_executable_create(s, m, &o, &k->x);
	if (st != TN_OK) snprintf(why, size, "%s", tn_error_text());
	tn_model_destroy(m);
	if (st != TN_OK) return 0;
	struct tn_executable_stats stats = { .head = { sizeof stats, 0 } };
	tn_executable_stat(k->x, &stats);
	k->interpreted = stats.interpreted + stats.on_host;
	return 1;
}

void ulp_kernel_close(struct ulp_kernel *k)
{
	tn_executable_destroy(k->x);
	k->x = NULL;
}

static int run(struct ulp_kernel *k, void *x, void *y, void *out, uint32_t n, double *seconds)
{
	int64_t dims[1] = { n };
	struct tn_tensor *in[2] = { NULL }, *result = NULL;
	int32_t st = tn_tensor_wrap(k->s, k->dtype, 1, dims, NULL, x, NULL, NULL, &in[0]);
	if (st == TN_OK && y) st = tn_tensor_wrap(k->s, k->dtype, 1, dims, NULL, y, NULL, NULL, &in[1]);
	if (st == TN_OK) st = tn_tensor_wrap(k->s, k->dtype, 1, dims, NULL, out, NULL, NULL, &result);
	double start = now();
	if (st == TN_OK) st = tn_executable_run(k->x, in, y ? 2 : 1, &result, 1);
	*seconds += now() - start;
	tn_tensor_release(in[0]);
	tn_tensor_release(in[1]);
	tn_tensor_release(result);
	return st == TN_OK;
}

static double number(uint32_t dtype, const void *at, uint32_t i)
{
	switch (dtype) {
	case TN_F16: return (double)tn_f16_to_f32(((const uint16_t *)at)[i]);
	case TN_BF16: return (double)tn_bf16_to_f32(((const uint16_t *)at)[i]);
	case TN_F32: return (double)((const float *)at)[i];
	default: return ((const double *)at)[i];
	}
}

static uint64_t bits(uint32_t dtype, const void *at, uint32_t i)
{
	if (!at) return 0;
	switch (tn_dtype_bits(dtype)) {
	case 16: return ((const uint16_t *)at)[i];
	case 32: return ((const uint32_t *)at)[i];
	default: return ((const uint64_t *)at)[i];
	}
}

static void judge_f32(struct ulp_kernel *k, const float *x, const float *y, const float *got, uint32_t n, struct ulp_tally *t)
{
	double truth[4096], wide[4096];
	for (uint32_t i = 0; i < n; i += 4096) {
		uint32_t m = n - i < 4096 ? n - i : 4096;
		for (uint32_t j = 0; j < m; j++) wide[j] = (double)x[i + j];
		if (y) for (uint32_t j = 0; j < m; j++) truth[j] = k->truth->two(wide[j], (double)y[i + j]);
		else ulp_truth_block(k->truth, wide, truth, m);
		ulp_judge_f32(t, k->truth, (struct ulp_bounds){ k->bound, k->known }, x + i, y ? y + i : NULL, got + i, truth, m);
	}
}

static void judge(struct ulp_kernel *k, const void *x, const void *y, const void *got, uint32_t n, struct ulp_tally *t)
{
	if (k->dtype == TN_F32) {
		judge_f32(k, x, y, got, n, t);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		double a = number(k->dtype, x, i), b = y ? number(k->dtype, y, i) : 0, r = number(k->dtype, got, i);
		struct ulp_error e = k->dtype == TN_F64 ? ulp_mpfr_error(k->truth, a, b, r) : ulp_error_of(k->dtype, r, y ? k->truth->two(a, b) : k->truth->one(a));
		ulp_note(t, e, (struct ulp_bounds){ k->bound, k->known }, bits(k->dtype, x, i), bits(k->dtype, y, i));
	}
	t->n += n;
}

int ulp_kernel_measure(struct ulp_kernel *k, void *x, void *y, uint32_t n, struct ulp_tally *t)
{
	void *out = malloc((size_t)n * tn_dtype_bytes(k->dtype));
	int ok = out && run(k, x, y, out, n, &t->seconds);
	if (ok) judge(k, x, y, out, n, t);
	free(out);
	return ok;
}
