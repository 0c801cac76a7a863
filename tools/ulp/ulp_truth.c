/* ulp_truth.c - truth for f32, f16 and bf16: the C library's double functions, and by hand what it lacks.  Cancellation is met by
 * the stable form or by long double, so that an error here is far below one of f32.  None of it is shared with ir/prims.tn. */
#include <math.h>
#include <string.h>
#include "tools/ulp/ulp.h"

#define PI_L     3.14159265358979323846264338327950288L
#define SQRT2_L  1.41421356237309504880168872420969808L
#define SQRTPI_L 1.77245385090551602729816748334114518L

static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double reciprocal_of(double x) { return 1 / x; }
static double square_of(double x) { return x * x; }
static double frac_of(double x) { return copysign(x - trunc(x), x); }
static double deg2rad_of(double x) { return (double)((long double)x * (PI_L / 180)); }
static double rad2deg_of(double x) { return (double)((long double)x * (180 / PI_L)); }
static double lgamma_of(double x) { int sign; return lgamma_r(x, &sign); }

/* sin(pi x) and cos(pi x), x reduced exactly */
static long double sin_pi(double x)
{
	double r = fmod(x, 2);
	if (r > 1) r -= 2;
	if (r < -1) r += 2;
	if (r > 0.5) r = 1 - r;
	if (r < -0.5) r = -1 - r;
	return sinl(PI_L * r);
}

/* an infinite x gives the limit */
static double sinc_of(double x)
{
	if (x == 0) return 1;
	if (isinf(x) || x == rint(x)) return 0;
	return (double)(sin_pi(x) / (PI_L * x));
}

static double logit_of(double x)
{
	if (fabs(x - 0.5) < 0.25) return log1p((2 * x - 1) / (1 - x));
	return x == 0 ? -INFINITY : log(x / (1 - x));
}

/* ---- activations */
static double sigmoid_of(double x)
{
	double e = exp(-fabs(x));
	return (x < 0 ? e : 1) / (1 + e);
}
static double log_sigmoid_of(double x) { return x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x)); }
static double silu_of(double x) { return x == -INFINITY ? -0.0 : x * sigmoid_of(x); }
static double gelu_of(double x) { return x == -INFINITY ? -0.0 : (double)(0.5L * x * erfcl(-x / SQRT2_L)); }
static double gelu_tanh_of(double x)
{
	long double u = 2 * 0.797884560802865355879892119868763737L * (x + 0.044715L * x * x * x);
	return x == -INFINITY ? -0.0 : x * (1 / (1 + (double)expl(-u)));
}
static double elu_of(double x) { return x > 0 ? x : expm1(x); }
static double selu_of(double x)
{
	const double scale = 1.0507009873554804934193349852946, alpha = 1.6732632423543772848170429916717;
	return scale * (x > 0 ? x : alpha * expm1(x));
}
static double softplus_of(double x) { return x > 20 ? x : log1p(exp(x)); }       /* the default threshold: there e^-20 is lost in f32 */
static double softsign_of(double x) { return isinf(x) ? copysign(1, x) : x / (1 + fabs(x)); }
static double mish_of(double x)
{
	double e = exp(fmin(x, 40)), n = e * (e + 2);
	return isnan(x) ? x : x == -INFINITY ? -0.0 : x * (n / (n + 2));
}
static double hardswish_of(double x) { return isnan(x) ? x : x * (fmin(fmax(x + 3, 0), 6) / 6); }
static double hardsigmoid_of(double x) { return isnan(x) ? x : fmin(fmax((double)0.16666667f * x + 0.5, 0), 1); }
static double tanhshrink_of(double x)
{
	if (isinf(x)) return x;
	long double z = (long double)x * x;
	if (fabs(x) < 0.01) return (double)(x * z * (1 / 3.0L - z * (2 / 15.0L - z * (17 / 315.0L - z * (62 / 2835.0L)))));
	return (double)(x - tanhl(x));
}

/* ---- error functions and their kin */
static double erfcx_of(double x)
{
	if (x < 80) return (double)(expl((long double)x * x) * erfcl(x));      /* x x is exact for x of f32 */
	long double v = 1 / (2 * (long double)x * x);
	return (double)((1 - v * (1 - 3 * v * (1 - 5 * v * (1 - 7 * v)))) / (SQRTPI_L * x));
}

/* y >= 0 with erfc(y) = q, 0 < q <= 1, by Halley's steps; p = 1 - q is exact, which counts where q is near 1 */
static long double inverse_erfc(long double q, long double p)
{
	long double y = p < 0.5L ? p * SQRTPI_L / 2 : 0.5L;
	if (q < 0.3L) {
		y = sqrtl(-logl(q));
		for (int i = 0; i < 3; i++) y = sqrtl(-logl(q * SQRTPI_L * y) + (y > 1 ? -1 / (2 * y * y) : 0));
	}
	for (int i = 0; i < 6; i++) {
		long double f = p < 0.5L ? p - erfl(y) : erfcl(y) - q, u = f * expl(y * y) * SQRTPI_L / 2, step = u / (1 - y * u);
		y += step;
		if (fabsl(step) < 1e-8L * y) break;             /* the next one is its cube */
	}
	return y;
}
static double erfinv_of(double x)
{
	double a = fabs(x);
	if (!(a <= 1)) return NAN;
	if (a == 1 || a == 0) return a == 1 ? copysign(INFINITY, x) : x;
	return copysign((double)inverse_erfc(1 - (long double)a, a), x);
}
static double ndtri_of(double p)
{
	if (!(p >= 0 && p <= 1)) return NAN;
	if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
	if (p == 0.5) return 0;
	long double m = p < 0.5 ? (long double)p : 1 - (long double)p, y = SQRT2_L * inverse_erfc(2 * m, 1 - 2 * m);
	return (double)(p < 0.5 ? -y : y);
}

/* e^-|x| I_order(|x|): the series, whose terms are all positive; from 40 on Hankel's */
static long double bessel(double x, int order)
{
	long double a = fabsl((long double)x), sum, term;
	if (a <= 40) {
		sum = term = order ? a / 2 : 1;
		for (int k = 1; k < 200 && term > sum * 1e-21L; k++) sum += term *= a * a / 4 / ((long double)k * (k + order));
		return sum * expl(-a);
	}
	sum = term = 1;
	for (int k = 1; k < 40; k++) {
		term *= ((long double)(2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * a);
		sum += term;
	}
	return sum / sqrtl(2 * PI_L * a);
}
static double i0e_of(double x) { return isinf(x) ? 0 : isnan(x) ? x : (double)bessel(x, 0); }
static double i1e_of(double x) { return isinf(x) ? copysign(0, x) : isnan(x) ? x : copysign((double)bessel(x, 1), x); }
static double i0_of(double x) { return isinf(x) ? INFINITY : isnan(x) ? x : (double)(bessel(x, 0) * expl(fabs(x))); }
static double i1_of(double x) { return isinf(x) ? x : isnan(x) ? x : copysign((double)(bessel(x, 1) * expl(fabs(x))), x); }

/* a pole at 0 gives an infinity of the other sign, those below it NaN */
static double digamma_of(double x)
{
	if (x == 0) return copysign(INFINITY, -x);
	if (x < 0 && x == rint(x)) return NAN;
	long double mirror = 0, y = x, sum = 0;
	if (x < 0) {
		long double r = x - rint(x);
		mirror = PI_L * cosl(PI_L * r) / sinl(PI_L * r);
		y = 1 - (long double)x;
	}
	for (; y < 25; y += 1) sum -= 1 / y;
	long double v = 1 / (y * y);
	sum += logl(y) - 1 / (2 * y) - v * (1 / 12.0L - v * (1 / 120.0L - v * (1 / 252.0L - v * (1 / 240.0L - v * (1 / 132.0L - v * (691 / 32760.0L - v / 12))))));
	return (double)(sum - mirror);
}

/* ---- of two */
static double add_exp(double x, double y, long double unit)
{
	if (isnan(x) || isnan(y)) return NAN;
	if (x == y && isinf(x)) return x;
	long double m = fmax(x, y), d = fmin(x, y) - m;
	return (double)(m + log1pl(expl(d * unit)) / unit);
}
static double logaddexp_of(double x, double y) { return add_exp(x, y, 1); }
static double logaddexp2_of(double x, double y) { return add_exp(x, y, 0.693147180559945309417232121458176568L); }
static double xlogy_of(double x, double y) { return x == 0 && !isnan(y) ? 0 : x * log(y); }
static double xlog1py_of(double x, double y) { return x == 0 && !isnan(y) ? 0 : x * log1p(y); }
static double remainder_of(double x, double y)
{
	double r = fmod(x, y);
	return r != 0 && signbit(r) != signbit(y) ? r + y : r;
}
/* Python's rule, each step in f32: the remainder is exact, the quotient of the multiple beside an integer */
static double floor_divide_of(double x, double y)
{
	float a = (float)x, b = (float)y, m = fmodf(a, b), q = (a - m) / b;
	if (b == 0) return (double)(a / b);
	if (m != 0 && (m < 0) != (b < 0)) q -= 1;
	float f = floorf(q);
	if (q - f > 0.5F) f += 1;
	return q == 0 ? (double)copysignf(0, a / b) : (double)f;
}
static double trunc_divide_of(double x, double y) { return trunc((double)((float)x / (float)y)); }

/* +0 over -0 in fmax, the other way in fmin */
static double fmax_of(double x, double y) { return x == 0 && y == 0 ? (signbit(x) ? y : x) : fmax(x, y); }
static double fmin_of(double x, double y) { return x == 0 && y == 0 ? (signbit(x) ? x : y) : fmin(x, y); }

static const struct ulp_truth table[] = {
	/* name, attributes, one, two, flags, bound where the primitive's row has none, known excess */
	{ "exp", "", exp, NULL, ULP_HOT, 0, { 0, 0 } }, { "log", "", log, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "tanh", "", tanh, NULL, ULP_HOT, 0, { 0, 0 } }, { "sigmoid", "", sigmoid_of, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "erf", "", erf, NULL, ULP_HOT, 0, { 0, 0 } }, { "sin", "", sin, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "cos", "", cos, NULL, ULP_HOT, 0, { 0, 0 } }, { "exp2", "", exp2, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "expm1", "", expm1, NULL, ULP_HOT, 0, { 0, 0 } }, { "log1p", "", log1p, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "rsqrt", "", rsqrt_of, NULL, ULP_HOT, 0, { 0, 0 } }, { "log2", "", log2, NULL, ULP_HOT, 0, { 0, 0 } },
	{ "gelu", "", gelu_of, NULL, ULP_HOT, 4, { 0, 0 } }, { "gelu", "approximate = 1", gelu_tanh_of, NULL, ULP_HOT, 4, { 0, 0 } },
	{ "silu", "", silu_of, NULL, ULP_HOT, 0, { 0, 0 } }, { "log10", "", log10, NULL, 0, 0, { 0, 0 } },
	{ "cbrt", "", cbrt, NULL, 0, 0, { 0, 0 } }, { "logit", "", logit_of, NULL, 0, 0, { 0, 0 } }, { "tan", "", tan, NULL, 0, 0, { 0, 0 } },
	{ "asin", "", asin, NULL, 0, 0, { 0, 0 } }, { "acos", "", acos, NULL, 0, 0, { 0, 0 } }, { "atan", "", atan, NULL, 0, 0, { 0, 0 } },
	{ "sinh", "", sinh, NULL, 0, 0, { 0, 0 } }, { "cosh", "", cosh, NULL, 0, 0, { 0, 0 } }, { "asinh", "", asinh, NULL, 0, 0, { 0, 0 } },
	{ "acosh", "", acosh, NULL, 0, 0, { 0, 0 } }, { "atanh", "", atanh, NULL, 0, 0, { 0, 0 } }, { "sinc", "", sinc_of, NULL, 0, 0, { 0, 0 } },
	{ "deg2rad", "", deg2rad_of, NULL, 0, 0, { 0, 0 } }, { "rad2deg", "", rad2deg_of, NULL, 0, 0, { 0, 0 } },
	{ "erfc", "", erfc, NULL, 0, 0, { 0, 0 } }, { "erfinv", "", erfinv_of, NULL, ULP_SLOW, 0, { 0, 0 } },
	{ "erfcx", "", erfcx_of, NULL, 0, 0, { 0, 0 } }, { "lgamma", "", lgamma_of, NULL, ULP_MIRROR, 0, { 0, 0 } },
	{ "digamma", "", digamma_of, NULL, ULP_MIRROR, 0, { 0, 3.5 } }, { "ndtri", "", ndtri_of, NULL, ULP_SLOW, 0, { 0, 0 } },
	{ "i0", "", i0_of, NULL, 0, 0, { 0, 0 } }, { "i0e", "", i0e_of, NULL, 0, 0, { 0, 0 } }, { "i1", "", i1_of, NULL, 0, 0, { 0, 0 } },
	{ "i1e", "", i1e_of, NULL, 0, 0, { 0, 0 } }, { "log_sigmoid", "", log_sigmoid_of, NULL, 0, 0, { 0, 0 } },
	{ "elu", "", elu_of, NULL, 0, 0, { 0, 0 } }, { "celu", "", elu_of, NULL, 0, 4, { 0, 0 } }, { "selu", "", selu_of, NULL, 0, 4, { 0, 0 } },
	{ "softplus", "", softplus_of, NULL, 0, 4, { 0, 0 } }, { "softsign", "", softsign_of, NULL, 0, 0, { 0, 0 } },
	{ "mish", "", mish_of, NULL, 0, 4, { 0, 0 } }, { "hardswish", "", hardswish_of, NULL, 0, 4, { 0, 0 } },
	{ "hardsigmoid", "", hardsigmoid_of, NULL, 0, -1, { 0, 0 } }, { "tanhshrink", "", tanhshrink_of, NULL, 0, 4, { 0, 0 } },
	{ "ceil", "", ceil, NULL, 0, 0.5, { 0, 0 } }, { "trunc", "", trunc, NULL, 0, 0.5, { 0, 0 } },
	{ "frac", "", frac_of, NULL, 0, 0.5, { 0, 0 } }, { "reciprocal", "", reciprocal_of, NULL, 0, 0.5, { 0, 0 } },
	{ "square", "", square_of, NULL, 0, 0.5, { 0, 0 } }, { "pow", "", NULL, pow, 0, 0, { 0, 0 } }, { "atan2", "", NULL, atan2, 0, 0, { 0, 0 } },
	{ "hypot", "", NULL, hypot, 0, 0, { 0, 0 } }, { "logaddexp", "", NULL, logaddexp_of, ULP_CANCELS, 4, { 0, 0 } },
	{ "logaddexp2", "", NULL, logaddexp2_of, ULP_CANCELS, 4, { 0, 0 } }, { "xlogy", "", NULL, xlogy_of, 0, 0, { 0, 0 } },
	{ "xlog1py", "", NULL, xlog1py_of, 0, 0, { 0, 0 } }, { "fmod", "", NULL, fmod, 0, 0.5, { 0, 0 } },
	{ "remainder", "", NULL, remainder_of, 0, 0.5, { 0, 0 } }, { "floor_divide", "", NULL, floor_divide_of, 0, 0.5, { 0, 0 } },
	{ "trunc_divide", "", NULL, trunc_divide_of, 0, 0.5, { 0, 0 } }, { "fmax", "", NULL, fmax_of, 0, 0.5, { 0, 0 } }, { "fmin", "", NULL, fmin_of, 0, 0.5, { 0, 0 } },
	{ "copysign", "", NULL, copysign, 0, 0.5, { 0, 0 } },
};

const struct ulp_truth *ulp_truth_at(uint32_t i) { return i < sizeof table / sizeof *table ? &table[i] : NULL; }

/* ---- by vectors */
#if defined ULP_MVEC && defined __x86_64__
#include <immintrin.h>
#define FOUR __attribute__((target("avx2,fma")))
typedef __m256d four(__m256d);
four _ZGVdN4v_exp, _ZGVdN4v_log, _ZGVdN4v_sin, _ZGVdN4v_cos, _ZGVdN4v_exp2, _ZGVdN4v_expm1, _ZGVdN4v_log1p, _ZGVdN4v_log2, _ZGVdN4v_tanh, _ZGVdN4v_erf,
	_ZGVdN4v_log10, _ZGVdN4v_cbrt, _ZGVdN4v_tan, _ZGVdN4v_asin, _ZGVdN4v_acos, _ZGVdN4v_atan, _ZGVdN4v_sinh, _ZGVdN4v_cosh, _ZGVdN4v_asinh,
	_ZGVdN4v_acosh, _ZGVdN4v_atanh, _ZGVdN4v_erfc;

FOUR static __m256d four_rsqrt(__m256d x) { return _mm256_div_pd(_mm256_set1_pd(1), _mm256_sqrt_pd(x)); }
FOUR static __m256d four_sigmoid(__m256d x)
{
	__m256d e = _ZGVdN4v_exp(_mm256_xor_pd(x, _mm256_set1_pd(-0.0)));      /* finite for every x of f32 that counts; past it 1 / inf is 0 */
	return _mm256_div_pd(_mm256_set1_pd(1), _mm256_add_pd(_mm256_set1_pd(1), e));
}
FOUR static __m256d four_silu(__m256d x)
{
	__m256d e = _ZGVdN4v_exp(_mm256_xor_pd(x, _mm256_set1_pd(-0.0)));
	return _mm256_div_pd(x, _mm256_add_pd(_mm256_set1_pd(1), e));          /* -inf gives NaN here, and the careful way then counts */
}

static const struct { const char *name; four *f; } fours[] = {
	{ "exp", _ZGVdN4v_exp }, { "log", _ZGVdN4v_log }, { "sin", _ZGVdN4v_sin }, { "cos", _ZGVdN4v_cos }, { "exp2", _ZGVdN4v_exp2 }, { "expm1", _ZGVdN4v_expm1 },
	{ "log1p", _ZGVdN4v_log1p }, { "log2", _ZGVdN4v_log2 }, { "tanh", _ZGVdN4v_tanh }, { "erf", _ZGVdN4v_erf }, { "log10", _ZGVdN4v_log10 }, { "cbrt", _ZGVdN4v_cbrt },
	{ "tan", _ZGVdN4v_tan }, { "asin", _ZGVdN4v_asin }, { "acos", _ZGVdN4v_acos }, { "atan", _ZGVdN4v_atan }, { "sinh", _ZGVdN4v_sinh }, { "cosh", _ZGVdN4v_cosh },
	{ "asinh", _ZGVdN4v_asinh }, { "acosh", _ZGVdN4v_acosh }, { "atanh", _ZGVdN4v_atanh }, { "erfc", _ZGVdN4v_erfc }, { "rsqrt", four_rsqrt },
	{ "sigmoid", four_sigmoid }, { "silu", four_silu },
};

FOUR static int by_four(const struct ulp_truth *t, const double *x, double *truth, uint32_t n)
{
	four *f = NULL;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
	for (size_t i = 0; i < sizeof fours / sizeof *fours; i++)
		if (!t->attrs[0] && !strcmp(fours[i].name, t->name)) f = fours[i].f;
	if (!f) return 0;
	uint32_t i = 0;
	for (; i + 4 <= n; i += 4) _mm256_storeu_pd(truth + i, f(_mm256_loadu_pd(x + i)));
	for (; i < n; i++) truth[i] = t->one(x[i]);
	return 1;
}
#else
static int by_four(const struct ulp_truth *t, const double *x, double *truth, uint32_t n)
{
	(void)t, (void)x, (void)truth, (void)n;
	return 0;
}
#endif

void ulp_truth_block(const struct ulp_truth *t, const double *x, double *truth, uint32_t n)
{
	if (by_four(t, x, truth, n)) return;
	for (uint32_t i = 0; i < n; i++) truth[i] = t->one(x[i]);
}
