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
	mpfr_t c;                                       /* the decimals themselves: the product of the doubles is 0.8 ulp off */
	mpfr_init2(c, 160);
	m_elu(r, x);
	if (!up) mpfr_set_str(c, "1.6732632423543772848170429916717", 10, N), mpfr_mul(r, r, c, N);
	mpfr_set_str(c, "1.0507009873554804934193349852946", 10, N);
	mpfr_mul(r, r, c, N);
	mpfr_clear(c);
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

/* y with erfc(y) = q (complement 1) or erf(y) = q (0): two steps of Newton's from a start that is right to double */
static void invert(mpfr_ptr y, mpfr_srcptr q, int complement, double start)
{
	mpfr_t f, t;
	mpfr_inits2(mpfr_get_prec(y), f, t, (mpfr_ptr)0);
	mpfr_set_d(y, start, N);
	for (int i = 0; i < 2; i++) {
		if (complement) mpfr_erfc(f, y, N), mpfr_sub(f, f, q, N);
		else mpfr_erf(f, y, N), mpfr_sub(f, q, f, N);
		mpfr_sqr(t, y, N);
		mpfr_exp(t, t, N);
		mpfr_mul(f, f, t, N);
		mpfr_const_pi(t, N);
		mpfr_sqrt(t, t, N);
		mpfr_div_2ui(t, t, 1, N);
		mpfr_mul(f, f, t, N);
		mpfr_add(y, y, f, N);
	}
	mpfr_clears(f, t, (mpfr_ptr)0);
}
static double double_of(const char *name, mpfr_srcptr x)
{
	uint32_t i = 0;
	while (strcmp(ulp_truth_at(i)->name, name) != 0) i++;
	return ulp_truth_at(i)->one(mpfr_get_d(x, N));
}
static void m_erfinv(mpfr_ptr r, mpfr_srcptr x)
{
	double y = double_of("erfinv", x);
	mpfr_set_d(r, y, N);
	if (!isfinite(y) || y == 0) return;
	mpfr_t q;
	mpfr_init2(q, mpfr_get_prec(r));
	mpfr_abs(q, x, N);
	int far = mpfr_cmp_d(q, 0.5) > 0;
	if (far) mpfr_ui_sub(q, 1, q, N);
	invert(r, q, far, fabs(y));
	if (y < 0) mpfr_neg(r, r, N);
	mpfr_clear(q);
}
static void m_ndtri(mpfr_ptr r, mpfr_srcptr x)                 /* y = -sqrt 2 inverse-erfc(2 x), from the nearer end */
{
	double y = double_of("ndtri", x);
	mpfr_set_d(r, y, N);
	if (!isfinite(y) || y == 0) return;
	mpfr_t q;
	mpfr_init2(q, mpfr_get_prec(r));
	int centre = mpfr_cmp_d(x, 0.25) > 0 && mpfr_cmp_d(x, 0.75) < 0;
	if (centre) mpfr_mul_2ui(q, x, 1, N), mpfr_sub_ui(q, q, 1, N), mpfr_abs(q, q, N);
	else if (y > 0) mpfr_ui_sub(q, 1, x, N), mpfr_mul_2ui(q, q, 1, N);
	else mpfr_mul_2ui(q, x, 1, N);
	invert(r, q, !centre, fabs(y) / 1.4142135623730951);
	mpfr_sqrt_ui(q, 2, N);
	mpfr_mul(r, r, q, N);
	if (y < 0) mpfr_neg(r, r, N);
	mpfr_clear(q);
}

/* I_order(|x|) e^-|x|: the series, whose terms are all positive; from 200 on Hankel's, whose least term is e^-400 of the first */
static void scaled_bessel(mpfr_ptr r, mpfr_srcptr x, unsigned long order)
{
	mpfr_t a, z, term;
	mpfr_inits2(mpfr_get_prec(r), a, z, term, (mpfr_ptr)0);
	mpfr_abs(a, x, N);
	mpfr_set_ui(term, 1, N);
	if (mpfr_cmp_ui(a, 200) <= 0) {
		if (order) mpfr_div_2ui(term, a, 1, N);
		mpfr_sqr(z, a, N);
		mpfr_div_2ui(z, z, 2, N);
		mpfr_set(r, term, N);
		for (unsigned long k = 1; k < 2000 && !mpfr_zero_p(term) && mpfr_get_exp(term) > mpfr_get_exp(r) - 200; k++) {
			mpfr_mul(term, term, z, N);
			mpfr_div_ui(term, term, k * (k + order), N);
			mpfr_add(r, r, term, N);
		}
		mpfr_neg(a, a, N);
		mpfr_exp(a, a, N);
		mpfr_mul(r, r, a, N);
	} else {
		mpfr_set_ui(r, 1, N);
		for (long k = 1; k < 200 && !mpfr_zero_p(term) && mpfr_get_exp(term) > -200; k++) {
			mpfr_mul_si(term, term, (2 * k - 1) * (2 * k - 1) - 4 * (long)order, N);
			mpfr_div_ui(term, term, 8 * (unsigned long)k, N);
			mpfr_div(term, term, a, N);
			mpfr_add(r, r, term, N);
		}
		mpfr_const_pi(z, N);
		mpfr_mul(z, z, a, N);
		mpfr_mul_2ui(z, z, 1, N);
		mpfr_sqrt(z, z, N);
		mpfr_div(r, r, z, N);
	}
	if (order && mpfr_signbit(x)) mpfr_neg(r, r, N);
	mpfr_clears(a, z, term, (mpfr_ptr)0);
}
static void bessel(mpfr_ptr r, mpfr_srcptr x, unsigned long order, int scaled)
{
	mpfr_t e;
	if (mpfr_nan_p(x)) mpfr_set_nan(r);
	else if (mpfr_zero_p(x)) mpfr_set_ui(r, order == 0, N), mpfr_setsign(r, r, order && mpfr_signbit(x), N);
	else if (scaled && mpfr_inf_p(x)) mpfr_set_zero(r, order && mpfr_signbit(x) ? -1 : 1);
	else if (!scaled && mpfr_cmpabs_ui(x, 2000) > 0) mpfr_set_inf(r, order && mpfr_signbit(x) ? -1 : 1);
	else {
		scaled_bessel(r, x, order);
		if (scaled) return;
		mpfr_init2(e, mpfr_get_prec(r));
		mpfr_abs(e, x, N);
		mpfr_exp(e, e, N);
		mpfr_mul(r, r, e, N);
		mpfr_clear(e);
	}
}
static void m_i0(mpfr_ptr r, mpfr_srcptr x) { bessel(r, x, 0, 0); }
static void m_i1(mpfr_ptr r, mpfr_srcptr x) { bessel(r, x, 1, 0); }
static void m_i0e(mpfr_ptr r, mpfr_srcptr x) { bessel(r, x, 0, 1); }
static void m_i1e(mpfr_ptr r, mpfr_srcptr x) { bessel(r, x, 1, 1); }

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
	{ "erfinv", "", m_erfinv, NULL, 200 }, { "ndtri", "", m_ndtri, NULL, 200 }, { "i0", "", m_i0, NULL, 200 }, { "i0e", "", m_i0e, NULL, 200 },
	{ "i1", "", m_i1, NULL, 200 }, { "i1e", "", m_i1e, NULL, 200 },
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
void ulp_mpfr_done(void) { mpfr_free_cache(); }
int ulp_mpfr_has(const struct ulp_truth *t) { return find(t) < N_TRUTHS; }

/* in ulp of truth, or of 2^(least - 1) where that is more */
static struct ulp_error compare(double got, mpfr_srcptr truth, int least)
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
	if (e < least) e = least;
	mpfr_init2(d, 160);
	if (isinf(got)) mpfr_set_d(d, copysign(0x1p1023, got), N), mpfr_mul_2ui(d, d, 1, N);
	else mpfr_set_d(d, got, N);
	mpfr_sub(d, d, truth, N);
	mpfr_mul_2si(d, d, 53 - e, N);
	double ulp = fabs(mpfr_get_d(d, N));
	mpfr_clear(d);
	return (struct ulp_error){ ulp, 0 };
}

/* of ULP_MIRROR below 0: the exponent of the larger of 1 and f(1 - x), whose digits cancel near a zero of f */
static int mirror(const struct ulp_truth *t, unary *f, mpfr_srcptr x)
{
	mpfr_t y, r;
	if (!(t->flags & ULP_MIRROR) || !mpfr_number_p(x) || mpfr_sgn(x) >= 0) return -1021;
	mpfr_inits2(160, y, r, (mpfr_ptr)0);
	mpfr_ui_sub(y, 1, x, N);
	f(r, y);
	int e = mpfr_regular_p(r) && mpfr_get_exp(r) > 1 ? (int)mpfr_get_exp(r) : 1;
	mpfr_clears(y, r, (mpfr_ptr)0);
	return e;
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
	struct ulp_error e = compare(got, r, mirror(t, truths[i].f, a));
	mpfr_clears(a, b, r, (mpfr_ptr)0);
	return e;
}
#else
int ulp_mpfr(void) { return 0; }
void ulp_mpfr_done(void) { }
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
