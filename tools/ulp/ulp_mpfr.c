/* ulp_mpfr.c - truth for f64: MPFR at 160 bits, more where a formula cancels.  Without MPFR f64 is not measured. */
#include <math.h>
#include <string.h>
#include "tools/ulp/ulp.h"

#ifdef ULP_MPFR
#include <mpfr.h>
#define N MPFR_RNDN

typedef void unary(mpfr_ptr r, mpfr_srcptr x);
typedef void binary(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y);
#define LIBRARY(f) static void m_##f(mpfr_ptr r, mpfr_srcptr x) { mpfr_##f(r, x, N); }
LIBRARY(exp) LIBRARY(exp2) LIBRARY(expm1) LIBRARY(log) LIBRARY(log2) LIBRARY(log10) LIBRARY(log1p) LIBRARY(cbrt)
LIBRARY(sin) LIBRARY(cos) LIBRARY(tan) LIBRARY(asin) LIBRARY(acos) LIBRARY(atan) LIBRARY(sinh) LIBRARY(cosh) LIBRARY(tanh)
LIBRARY(asinh) LIBRARY(acosh) LIBRARY(atanh) LIBRARY(erf) LIBRARY(erfc)
#define LIBRARY2(f) static void m_##f(mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y) { mpfr_##f(r, x, y, N); }
LIBRARY2(pow) LIBRARY2(atan2) LIBRARY2(hypot) LIBRARY2(fmod)

/* the formulas below are plain ones; a precision of 2400 bits lets 1 + e^-745 and the like be exact enough */
static int minus_inf(mpfr_srcptr x) { return mpfr_inf_p(x) && mpfr_sgn(x) < 0; }

static void m_rsqrt(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_sqrt(r, x, N);
	mpfr_ui_div(r, 1, r, N);
}
static void m_reciprocal(mpfr_ptr r, mpfr_srcptr x) { mpfr_ui_div(r, 1, x, N); }
static void m_square(mpfr_ptr r, mpfr_srcptr x) { mpfr_sqr(r, x, N); }
static void m_ceil(mpfr_ptr r, mpfr_srcptr x) { mpfr_ceil(r, x); }
static void m_trunc(mpfr_ptr r, mpfr_srcptr x) { mpfr_trunc(r, x); }
static void m_frac(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_inf_p(x)) mpfr_set_nan(r);
	else mpfr_frac(r, x, N);
}
static void by_pi(mpfr_ptr r, mpfr_srcptr x, int up, unsigned long by)
{
	mpfr_const_pi(r, N);
	mpfr_div_ui(r, r, by, N);
	if (up) mpfr_mul(r, x, r, N);
	else mpfr_div(r, x, r, N);
}
static void m_deg2rad(mpfr_ptr r, mpfr_srcptr x) { by_pi(r, x, 1, 180); }
static void m_rad2deg(mpfr_ptr r, mpfr_srcptr x) { by_pi(r, x, 0, 180); }
static void m_lgamma(mpfr_ptr r, mpfr_srcptr x)
{
	int sign;
	mpfr_lgamma(r, &sign, x, N);
}
static void m_digamma(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_zero_p(x)) mpfr_set_inf(r, mpfr_signbit(x) ? 1 : -1);
	else mpfr_digamma(r, x, N);
}
static void m_sinc(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_nan_p(x)) mpfr_set_nan(r);
	else if (mpfr_zero_p(x)) mpfr_set_ui(r, 1, N);
	else if (mpfr_inf_p(x) || mpfr_integer_p(x)) mpfr_set_zero(r, 1);
	else {
		mpfr_t pi, t;
		mpfr_inits2(mpfr_get_prec(r), pi, t, (mpfr_ptr)0);
		mpfr_const_pi(pi, N);
		mpfr_fmod_ui(t, x, 2, N);
		mpfr_mul(t, t, pi, N);
		mpfr_sin(t, t, N);
		mpfr_mul(r, x, pi, N);
		mpfr_div(r, t, r, N);
		mpfr_clears(pi, t, (mpfr_ptr)0);
	}
}
static void m_logit(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_zero_p(x)) { mpfr_set_inf(r, -1); return; }
	mpfr_ui_sub(r, 1, x, N);
	mpfr_div(r, x, r, N);
	mpfr_log(r, r, N);
	if (!mpfr_nan_p(x) && mpfr_cmp_ui(x, 1) == 0) mpfr_set_inf(r, 1);
}

/* ---- activations */
static void one_and_exp_minus(mpfr_ptr r, mpfr_srcptr x)       /* 1 + e^-x */
{
	mpfr_neg(r, x, N);
	mpfr_exp(r, r, N);
	mpfr_add_ui(r, r, 1, N);
}
static void m_sigmoid(mpfr_ptr r, mpfr_srcptr x)
{
	one_and_exp_minus(r, x);
	mpfr_ui_div(r, 1, r, N);
}
static void m_log_sigmoid(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_neg(r, x, N);
	if (mpfr_cmp_ui(r, 1000) < 0) mpfr_exp(r, r, N), mpfr_log1p(r, r, N);
	mpfr_neg(r, r, N);
}
static void m_silu(mpfr_ptr r, mpfr_srcptr x)
{
	one_and_exp_minus(r, x);
	mpfr_div(r, x, r, N);
	if (minus_inf(x)) mpfr_set_zero(r, -1);
}
static void m_gelu(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_t t;
	mpfr_init2(t, mpfr_get_prec(r));
	mpfr_sqrt_ui(t, 2, N);
	mpfr_div(t, x, t, N);
	mpfr_neg(t, t, N);
	mpfr_erfc(r, t, N);
	mpfr_mul(r, r, x, N);
	mpfr_div_2ui(r, r, 1, N);
	if (minus_inf(x)) mpfr_set_zero(r, -1);
	mpfr_clear(t);
}
static void m_gelu_tanh(mpfr_ptr r, mpfr_srcptr x)             /* x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
{
	mpfr_t t;
	mpfr_init2(t, mpfr_get_prec(r));
	mpfr_sqr(t, x, N);
	mpfr_mul(t, t, x, N);
	mpfr_mul_ui(t, t, 44715, N);
	mpfr_div_ui(t, t, 1000000, N);
	mpfr_add(t, t, x, N);
	mpfr_mul_2ui(t, t, 1, N);
	mpfr_const_pi(r, N);
	mpfr_ui_div(r, 2, r, N);
	mpfr_sqrt(r, r, N);
	mpfr_mul(t, t, r, N);
	one_and_exp_minus(r, t);
	mpfr_div(r, x, r, N);
	if (minus_inf(x)) mpfr_set_zero(r, -1);
	mpfr_clear(t);
}
static void m_elu(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_sgn(x) > 0) mpfr_set(r, x, N);
	else mpfr_expm1(r, x, N);
}
static void m_selu(mpfr_ptr r, mpfr_srcptr x)
{
	int up = mpfr_sgn(x) > 0;
	m_elu(r, x);
	if (!up) mpfr_mul_d(r, r, 1.6732632423543772848170429916717, N);
	mpfr_mul_d(r, r, 1.0507009873554804934193349852946, N);
}
static void m_softplus(mpfr_ptr r, mpfr_srcptr x)              /* the default threshold cuts at 20 */
{
	if (mpfr_cmp_ui(x, 20) > 0) mpfr_set(r, x, N);
	else mpfr_exp(r, x, N), mpfr_log1p(r, r, N);
}
static void m_softsign(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_abs(r, x, N);
	mpfr_add_ui(r, r, 1, N);
	mpfr_div(r, x, r, N);
	if (mpfr_inf_p(x)) mpfr_set_si(r, mpfr_sgn(x), N);
}
static void m_mish(mpfr_ptr r, mpfr_srcptr x)                  /* x n / (n + 2), n = e^x (e^x + 2) */
{
	mpfr_t n;
	if (mpfr_cmp_ui(x, 400) > 0) { mpfr_set(r, x, N); return; }
	mpfr_init2(n, mpfr_get_prec(r));
	mpfr_exp(n, x, N);
	mpfr_add_ui(r, n, 2, N);
	mpfr_mul(n, n, r, N);
	mpfr_add_ui(r, n, 2, N);
	mpfr_div(r, n, r, N);
	mpfr_mul(r, r, x, N);
	if (minus_inf(x)) mpfr_set_zero(r, -1);
	mpfr_clear(n);
}
static void m_hardswish(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_add_ui(r, x, 3, N);
	if (mpfr_sgn(r) < 0) mpfr_set_zero(r, 1);
	if (mpfr_cmp_ui(r, 6) > 0) mpfr_set_ui(r, 6, N);
	mpfr_mul(r, r, x, N);
	mpfr_div_ui(r, r, 6, N);
}
static void m_tanhshrink(mpfr_ptr r, mpfr_srcptr x)
{
	if (mpfr_zero_p(x)) { mpfr_set(r, x, N); return; }
	mpfr_tanh(r, x, N);
	mpfr_sub(r, x, r, N);
}

/* ---- error functions and their kin */
static void m_erfcx(mpfr_ptr r, mpfr_srcptr x)
{
	mpfr_t t;
	if (mpfr_cmp_d(x, 1e4) > 0) {                          /* (1 - v + 3 v^2 - 15 v^3) / (sqrt(pi) x), v = 1 / (2 x^2) */
		mpfr_inits2(mpfr_get_prec(r), t, (mpfr_ptr)0);
		mpfr_sqr(t, x, N);
		mpfr_mul_2ui(t, t, 1, N);
		mpfr_ui_div(t, 1, t, N);
		mpfr_mul_ui(r, t, 15, N);
		mpfr_ui_sub(r, 3, r, N);
		mpfr_mul(r, r, t, N);
		mpfr_ui_sub(r, 1, r, N);
		mpfr_mul(r, r, t, N);
		mpfr_ui_sub(r, 1, r, N);
		mpfr_const_pi(t, N);
		mpfr_sqrt(t, t, N);
		mpfr_mul(t, t, x, N);
		mpfr_div(r, r, t, N);
		mpfr_clear(t);
		return;
	}
	mpfr_init2(t, mpfr_get_prec(r));
	mpfr_sqr(t, x, N);
	mpfr_exp(t, t, N);
	mpfr_erfc(r, x, N);
	mpfr_mul(r, r, t, N);
	mpfr_clear(t);
}

static const struct { const char *name, *attrs; unary *f; binary *g; mpfr_prec_t bits; } truths[] = {
	{ "exp", "", m_exp, NULL, 160 }, { "exp2", "", m_exp2, NULL, 160 }, { "expm1", "", m_expm1, NULL, 160 }, { "log", "", m_log, NULL, 160 },
	{ "log2", "", m_log2, NULL, 160 }, { "log10", "", m_log10, NULL, 160 }, { "log1p", "", m_log1p, NULL, 160 }, { "cbrt", "", m_cbrt, NULL, 160 },
	{ "sin", "", m_sin, NULL, 160 }, { "cos", "", m_cos, NULL, 160 }, { "tan", "", m_tan, NULL, 160 }, { "asin", "", m_asin, NULL, 160 },
	{ "acos", "", m_acos, NULL, 160 }, { "atan", "", m_atan, NULL, 160 }, { "sinh", "", m_sinh, NULL, 160 }, { "cosh", "", m_cosh, NULL, 160 },
	{ "tanh", "", m_tanh, NULL, 160 }, { "asinh", "", m_asinh, NULL, 160 }, { "acosh", "", m_acosh, NULL, 160 }, { "atanh", "", m_atanh, NULL, 160 },
	{ "erf", "", m_erf, NULL, 160 }, { "erfc", "", m_erfc, NULL, 160 }, { "rsqrt", "", m_rsqrt, NULL, 160 }, { "reciprocal", "", m_reciprocal, NULL, 160 },
	{ "square", "", m_square, NULL, 160 }, { "ceil", "", m_ceil, NULL, 160 }, { "trunc", "", m_trunc, NULL, 160 }, { "frac", "", m_frac, NULL, 160 },
	{ "deg2rad", "", m_deg2rad, NULL, 160 }, { "rad2deg", "", m_rad2deg, NULL, 160 }, { "lgamma", "", m_lgamma, NULL, 160 }, { "digamma", "", m_digamma, NULL, 160 },
	{ "sinc", "", m_sinc, NULL, 160 }, { "logit", "", m_logit, NULL, 1200 }, { "sigmoid", "", m_sigmoid, NULL, 1300 }, { "log_sigmoid", "", m_log_sigmoid, NULL, 160 },
	{ "silu", "", m_silu, NULL, 1300 }, { "gelu", "", m_gelu, NULL, 160 }, { "gelu", "approximate = 1", m_gelu_tanh, NULL, 1300 }, { "elu", "", m_elu, NULL, 160 },
	{ "celu", "", m_elu, NULL, 160 }, { "selu", "", m_selu, NULL, 160 }, { "softplus", "", m_softplus, NULL, 160 }, { "softsign", "", m_softsign, NULL, 1200 },
	{ "mish", "", m_mish, NULL, 1300 }, { "hardswish", "", m_hardswish, NULL, 1200 }, { "tanhshrink", "", m_tanhshrink, NULL, 2400 }, { "erfcx", "", m_erfcx, NULL, 160 },
	{ "pow", "", NULL, m_pow, 160 }, { "atan2", "", NULL, m_atan2, 160 }, { "hypot", "", NULL, m_hypot, 160 }, { "fmod", "", NULL, m_fmod, 160 },
};
enum { N_TRUTHS = sizeof truths / sizeof *truths };

static uint32_t find(const struct ulp_truth *t)
{
	uint32_t i = 0;
	while (i < N_TRUTHS && (strcmp(truths[i].name, t->name) != 0 || strcmp(truths[i].attrs, t->attrs) != 0)) i++;
	return i;
}

int ulp_mpfr(void) { return 1; }
int ulp_mpfr_has(const struct ulp_truth *t) { return find(t) < N_TRUTHS; }

static struct ulp_error compare(double got, mpfr_srcptr truth)
{
	mpfr_t d;
	double r = mpfr_get_d(truth, N);
	if (isnan(got) || mpfr_nan_p(truth)) return (struct ulp_error){ 0, isnan(got) != !!mpfr_nan_p(truth) };
	if (isinf(got) && isinf(r)) return (struct ulp_error){ signbit(got) != signbit(r) ? INFINITY : 0, signbit(got) != signbit(r) };
	if (mpfr_inf_p(truth)) return (struct ulp_error){ INFINITY, 1 };
	if (got == 0 && r == 0 && signbit(got) != signbit(r)) return (struct ulp_error){ INFINITY, 1 };
	int e = -1021;
	if (isinf(r)) e = 1024;
	else if (r != 0) frexp(r, &e);
	if (e < -1021) e = -1021;
	mpfr_init2(d, 160);
	if (isinf(got)) mpfr_set_d(d, copysign(0x1p1023, got), N), mpfr_mul_2ui(d, d, 1, N);
	else mpfr_set_d(d, got, N);
	mpfr_sub(d, d, truth, N);
	mpfr_mul_2si(d, d, 53 - e, N);
	double ulp = fabs(mpfr_get_d(d, N));
	mpfr_clear(d);
	return (struct ulp_error){ ulp, 0 };
}

struct ulp_error ulp_mpfr_error(const struct ulp_truth *t, double x, double y, double got)
{
	uint32_t i = find(t);
	mpfr_t a, b, r;
	mpfr_inits2(53, a, b, (mpfr_ptr)0);
	mpfr_init2(r, truths[i].bits);
	mpfr_set_d(a, x, N);
	mpfr_set_d(b, y, N);
	if (truths[i].f) truths[i].f(r, a);
	else truths[i].g(r, a, b);
	struct ulp_error e = compare(got, r);
	mpfr_clears(a, b, r, (mpfr_ptr)0);
	return e;
}
#else
int ulp_mpfr(void) { return 0; }
int ulp_mpfr_has(const struct ulp_truth *t)
{
	(void)t;
	return 0;
}
struct ulp_error ulp_mpfr_error(const struct ulp_truth *t, double x, double y, double got)
{
	(void)t, (void)x, (void)y, (void)got;
	return (struct ulp_error){ INFINITY, 1 };
}
#endif
