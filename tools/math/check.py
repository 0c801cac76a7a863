"""Measures the elementwise bodies of ir/prims.tn in ulp.

    check.py f32 [--full] [--contract] [NAME...]   against the C library's double functions; --full: all 2^32 inputs
    check.py f64 [--contract] [NAME...]            against MPFR on samples of every exponent
    check.py count [NAME...]                       operations in each body
    check.py exact                                 rows whose answer is exact: signs, edges, integers

--contract lets the compiler fuse multiply and add (the default profile) instead of strict numerics.  An error is measured in
ulp of the true value; a NaN, infinity or sign of zero that differs from the true result rounded is `wrong` whatever its distance;
`edge` counts results that are 0 where the true result rounds to something else, or the other way."""
import os, subprocess, sys, tempfile
from tn_text import Emit, atoms_c, literal, read

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# name -> (double expression of x for f32, MPFR statements from x to r for f64; "" = same-named mpfr function)
REF = {
	"exp": ("exp(x)", ""), "exp2": ("exp2(x)", ""), "expm1": ("expm1(x)", ""), "log": ("log(x)", ""), "log2": ("log2(x)", ""),
	"log10": ("log10(x)", ""), "log1p": ("log1p(x)", ""), "sin": ("sin(x)", ""), "cos": ("cos(x)", ""), "tan": ("tan(x)", ""),
	"asin": ("asin(x)", ""), "acos": ("acos(x)", ""), "atan": ("atan(x)", ""), "sinh": ("sinh(x)", ""), "cosh": ("cosh(x)", ""),
	"tanh": ("tanh(x)", ""), "asinh": ("asinh(x)", ""), "acosh": ("acosh(x)", ""), "atanh": ("atanh(x)", ""),
	"erf": ("erf(x)", ""), "erfc": ("erfc(x)", ""), "cbrt": ("cbrt(x)", ""), "sqrt": ("sqrt(x)", ""),
	"lgamma": ("lgamma(x)", "int sg; mpfr_lgamma(r, &sg, x, MPFR_RNDN);"), "digamma": ("ref_digamma(x)", ""),
	"rsqrt": ("1 / sqrt(x)", "mpfr_rec_sqrt(r, x, MPFR_RNDN); if (mpfr_zero_p(x) && mpfr_signbit(x)) mpfr_set_inf(r, -1);"),
	"reciprocal": ("1 / x", "mpfr_ui_div(r, 1, x, MPFR_RNDN);"), "square": ("x * x", "mpfr_sqr(r, x, MPFR_RNDN);"),
	"sigmoid": ("1 / (1 + exp(-x))", "mpfr_neg(r, x, MPFR_RNDN); mpfr_exp(r, r, MPFR_RNDN); mpfr_add_ui(r, r, 1, MPFR_RNDN); mpfr_ui_div(r, 1, r, MPFR_RNDN);"),
	"silu": ("x == -INFINITY ? -0.0 : x / (1 + exp(-x))", "mpfr_neg(r, x, MPFR_RNDN); mpfr_exp(r, r, MPFR_RNDN); mpfr_add_ui(r, r, 1, MPFR_RNDN); mpfr_div(r, x, r, MPFR_RNDN); if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) mpfr_set_zero(r, -1);"),
	"log_sigmoid": ("x < 0 ? x - log1p(exp(x)) : -log1p(exp(-x))", "mpfr_neg(r, x, MPFR_RNDN); mpfr_exp(r, r, MPFR_RNDN); mpfr_log1p(r, r, MPFR_RNDN); mpfr_neg(r, r, MPFR_RNDN);"),
	"gelu": ("x == -INFINITY ? -0.0 : 0.5 * x * erfc(-x * M_SQRT1_2)", "mpfr_sqrt_ui(t, 2, MPFR_RNDN); mpfr_div(t, x, t, MPFR_RNDN); mpfr_neg(t, t, MPFR_RNDN); mpfr_erfc(r, t, MPFR_RNDN); mpfr_mul(r, r, x, MPFR_RNDN); mpfr_div_ui(r, r, 2, MPFR_RNDN); if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) mpfr_set_zero(r, -1);"),
	"gelu_tanh": ("x == -INFINITY ? -0.0 : x / (1 + exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)))",
		"mpfr_const_pi(t, MPFR_RNDN); mpfr_div_ui(t, t, 8, MPFR_RNDN); mpfr_rec_sqrt(t, t, MPFR_RNDN); mpfr_neg(t, t, MPFR_RNDN); mpfr_sqr(r, x, MPFR_RNDN); mpfr_mul_ui(r, r, 44715, MPFR_RNDN); mpfr_div_ui(r, r, 1000000, MPFR_RNDN); mpfr_add_ui(r, r, 1, MPFR_RNDN); mpfr_mul(r, r, x, MPFR_RNDN); mpfr_mul(r, r, t, MPFR_RNDN); mpfr_exp(r, r, MPFR_RNDN); mpfr_add_ui(r, r, 1, MPFR_RNDN); mpfr_div(r, x, r, MPFR_RNDN); if (mpfr_inf_p(x) && mpfr_sgn(x) < 0) mpfr_set_zero(r, -1);"),
	"softplus": ("x > 40 ? x : log1p(exp(x))", "mpfr_exp(r, x, MPFR_RNDN); mpfr_log1p(r, r, MPFR_RNDN);"),
	"mish": ("x == -INFINITY ? -0.0 : x > 40 ? x : ref_mish(x)", "mpfr_exp(t, x, MPFR_RNDN); mpfr_add_ui(r, t, 2, MPFR_RNDN); mpfr_mul(t, t, r, MPFR_RNDN); mpfr_add_ui(r, t, 2, MPFR_RNDN); mpfr_div(t, t, r, MPFR_RNDN); mpfr_mul(r, t, x, MPFR_RNDN); if (mpfr_inf_p(x)) { if (mpfr_sgn(x) < 0) mpfr_set_zero(r, -1); else mpfr_set_inf(r, 1); } else if (mpfr_cmp_ui(x, 200) > 0) mpfr_set(r, x, MPFR_RNDN);"),
	"softsign": ("isinf(x) ? copysign(1, x) : x / (1 + fabs(x))", "mpfr_abs(t, x, MPFR_RNDN); mpfr_add_ui(t, t, 1, MPFR_RNDN); mpfr_div(r, x, t, MPFR_RNDN); if (mpfr_inf_p(x)) mpfr_set_si(r, mpfr_sgn(x), MPFR_RNDN);"),
	"elu": ("x > 0 ? x : expm1(x)", "if (mpfr_sgn(x) > 0) mpfr_set(r, x, MPFR_RNDN); else mpfr_expm1(r, x, MPFR_RNDN);"),
	"celu": ("x > 0 ? x : expm1(x)", "if (mpfr_sgn(x) > 0) mpfr_set(r, x, MPFR_RNDN); else mpfr_expm1(r, x, MPFR_RNDN);"),
	"selu": ("x > 0 ? 1.0507009873554804934193349852946 * x : 1.0507009873554804934193349852946 * 1.6732632423543772848170429916717 * expm1(x)",
		"mpfr_set_str(t, \"1.0507009873554804934193349852946\", 10, MPFR_RNDN); if (mpfr_sgn(x) > 0) mpfr_mul(r, x, t, MPFR_RNDN); else { mpfr_expm1(r, x, MPFR_RNDN); mpfr_mul(r, r, t, MPFR_RNDN); mpfr_set_str(t, \"1.6732632423543772848170429916717\", 10, MPFR_RNDN); mpfr_mul(r, r, t, MPFR_RNDN); }"),
	"tanhshrink": ("isinf(x) ? x : fabs(x) < 0.02 ? x*x*x*(1./3 - x*x*(2./15 - x*x*(17./315 - x*x*62/2835))) : x - tanh(x)", "mpfr_tanh(t, x, MPFR_RNDN); mpfr_sub(r, x, t, MPFR_RNDN); if (mpfr_zero_p(x)) mpfr_set(r, x, MPFR_RNDN);"),
	"logit": ("x < 0.25 ? log(x / (1 - x)) : 0 - log1p((1 - 2 * x) / x)", "mpfr_ui_sub(t, 1, x, MPFR_RNDN); mpfr_div(t, x, t, MPFR_RNDN); mpfr_log(r, t, MPFR_RNDN); if (mpfr_zero_p(x)) mpfr_set_inf(r, -1); else if (!mpfr_nan_p(x) && mpfr_cmp_ui(x, 1) == 0) mpfr_set_inf(r, 1);"),
	"sinc": ("isinf(x) ? 0 : ref_sinc(x)", "if (mpfr_zero_p(x)) mpfr_set_ui(r, 1, MPFR_RNDN); else if (mpfr_inf_p(x)) mpfr_set_zero(r, 1); else { mpfr_fmod_ui(t, x, 2, MPFR_RNDN); mpfr_mul_ui(t, t, 128, MPFR_RNDN); mpfr_sinu(r, t, 256, MPFR_RNDN); mpfr_const_pi(t, MPFR_RNDN); mpfr_mul(t, t, x, MPFR_RNDN); if (mpfr_integer_p(x)) mpfr_set_zero(r, 1); else mpfr_div(r, r, t, MPFR_RNDN); }"),
	"deg2rad": ("x * (M_PI / 180)", "mpfr_const_pi(t, MPFR_RNDN); mpfr_mul(r, x, t, MPFR_RNDN); mpfr_div_ui(r, r, 180, MPFR_RNDN);"),
	"rad2deg": ("x * (180 / M_PI)", "mpfr_const_pi(t, MPFR_RNDN); mpfr_mul_ui(r, x, 180, MPFR_RNDN); mpfr_div(r, r, t, MPFR_RNDN);"),
	"ndtr": ("0.5 * erfc(-x * M_SQRT1_2)", "mpfr_sqrt_ui(t, 2, MPFR_RNDN); mpfr_div(t, x, t, MPFR_RNDN); mpfr_neg(t, t, MPFR_RNDN); mpfr_erfc(r, t, MPFR_RNDN); mpfr_div_ui(r, r, 2, MPFR_RNDN);"),
	"erfcx": ("", "mpfr_erfc(r, x, MPFR_RNDN); mpfr_sqr(t, x, MPFR_RNDN); mpfr_exp(t, t, MPFR_RNDN); mpfr_mul(r, r, t, MPFR_RNDN); if (mpfr_cmp_d(x, 1e4) > 0) { mpfr_sqr(t, x, MPFR_RNDN); mpfr_ui_div(t, 1, t, MPFR_RNDN); mpfr_div_ui(r, t, 2, MPFR_RNDN); mpfr_ui_sub(r, 1, r, MPFR_RNDN); mpfr_sqr(t, t, MPFR_RNDN); mpfr_mul_d(t, t, 0.75, MPFR_RNDN); mpfr_add(r, r, t, MPFR_RNDN); mpfr_div(r, r, x, MPFR_RNDN); mpfr_const_pi(t, MPFR_RNDN); mpfr_rec_sqrt(t, t, MPFR_RNDN); mpfr_mul(r, r, t, MPFR_RNDN); }"),
	"i0": ("", "ref_bessel(r, x, 0, 0);"), "i1": ("", "ref_bessel(r, x, 1, 0);"),
	"i0e": ("", "ref_bessel(r, x, 0, 1);"), "i1e": ("", "ref_bessel(r, x, 1, 1);"),
	"erfinv": ("", "ref_erfinv(r, x);"), "ndtri": ("", "ref_ndtri(r, x);"),
}
# binary: double expression of x and y, MPFR statements
REF2 = {
	"pow": ("pow(x, y)", "mpfr_pow(r, x, y, MPFR_RNDN);"), "atan2": ("atan2(x, y)", "mpfr_atan2(r, x, y, MPFR_RNDN);"),
	"hypot": ("hypot(x, y)", "mpfr_hypot(r, x, y, MPFR_RNDN);"), "fmod": ("fmod(x, y)", "mpfr_fmod(r, x, y, MPFR_RNDN);"),
	"logaddexp": ("ref_lae(x, y)", "mpfr_sub(t, mpfr_cmp(x, y) > 0 ? y : x, mpfr_cmp(x, y) > 0 ? x : y, MPFR_RNDN); mpfr_exp(t, t, MPFR_RNDN); mpfr_log1p(t, t, MPFR_RNDN); mpfr_add(r, mpfr_cmp(x, y) > 0 ? x : y, t, MPFR_RNDN); if (mpfr_equal_p(x, y) && mpfr_inf_p(x)) mpfr_set(r, x, MPFR_RNDN);"),
	"logaddexp2": ("ref_lae2(x, y)", "mpfr_sub(t, mpfr_cmp(x, y) > 0 ? y : x, mpfr_cmp(x, y) > 0 ? x : y, MPFR_RNDN); mpfr_exp2(t, t, MPFR_RNDN); mpfr_log1p(t, t, MPFR_RNDN); mpfr_const_log2(r, MPFR_RNDN); mpfr_div(t, t, r, MPFR_RNDN); mpfr_add(r, mpfr_cmp(x, y) > 0 ? x : y, t, MPFR_RNDN); if (mpfr_equal_p(x, y) && mpfr_inf_p(x)) mpfr_set(r, x, MPFR_RNDN);"),
	"xlogy": ("x == 0 && y == y ? 0 : x * log(y)", "mpfr_log(t, y, MPFR_RNDN); mpfr_mul(r, x, t, MPFR_RNDN); if (mpfr_zero_p(x) && !mpfr_nan_p(y)) mpfr_set_zero(r, 1);"),
	"xlog1py": ("x == 0 && y == y ? 0 : x * log1p(y)", "mpfr_log1p(t, y, MPFR_RNDN); mpfr_mul(r, x, t, MPFR_RNDN); if (mpfr_zero_p(x) && !mpfr_nan_p(y)) mpfr_set_zero(r, 1);"),
	"remainder": ("ref_pyrem(x, y)", "mpfr_fmod(r, x, y, MPFR_RNDN); if (!mpfr_zero_p(r) && !mpfr_nan_p(r) && (mpfr_sgn(r) < 0) != (mpfr_sgn(y) < 0)) mpfr_add(r, r, y, MPFR_RNDN);"),
}
ALIAS = {"gelu_tanh": ("gelu", {"approximate": "1"})}

COMMON = r"""
#include <stdio.h>
#include <stdlib.h>
static uint64_t seed = 88172645463325252ULL;
static uint64_t rnd(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed * 2685821657736338717ULL; }
struct tally { double worst, wx, wy, bx, by; uint64_t over, bad, edge, n; };
"""
F32_REFS = r"""
static inline double ref_mish(double x) { double e = exp(x), n = e * (e + 2); return x * (n / (n + 2)); }
static inline double ref_pi_frac_sin(double x) { double t = fmod(x, 2); if (t > 1) t -= 2; if (t < -1) t += 2;
	if (t > 0.5) t = 1 - t; if (t < -0.5) t = -1 - t; return sin(M_PI * t); }
static inline double ref_sinc(double x) { return x == 0 ? 1 : x == rint(x) ? 0 : ref_pi_frac_sin(x) / (M_PI * x); }
static inline double ref_lae(double x, double y) { if (x == y && isinf(x)) return x; double m = fmax(x, y), d = fmin(x, y) - m;
	long double r = (long double)m + log1pl(expl(d)); return x != x || y != y ? NAN : (double)r; }
static inline double ref_lae2(double x, double y) { if (x == y && isinf(x)) return x; double m = fmax(x, y), d = fmin(x, y) - m;
	long double r = (long double)m + log1pl(exp2l(d)) * 1.442695040888963407359924681L; return x != x || y != y ? NAN : (double)r; }
static inline double ref_pyrem(double x, double y) { double r = fmod(x, y); if (r == r && r != 0 && (r < 0) != (y < 0)) r += y; return r; }
static inline double ref_digamma(double x) { double s = 0; return s + x; }
static inline void judge(struct tally *t, float x, float y2, float y, double r) {
	float yr = (float)r; t->n++;
	if (yr != yr || y != y) { if ((yr != yr) != (y != y)) { if (!t->bad++) t->bx = x, t->by = y2; } return; }
	if (isinf(yr) || isinf(y)) { if (yr != y) { if (!t->bad++) t->bx = x, t->by = y2; } return; }
	if (yr == 0 || y == 0) {
		if (yr == 0 && y == 0) { if (!signbit(yr) != !signbit(y) && r == 0) { if (!t->bad++) t->bx = x, t->by = y2; } return; }
		t->edge++;
	}
	int e; frexp(r, &e); e = e < -125 ? -125 : e;
	double err = fabs((double)y - r) * ldexp(1, 24 - e);
	if (err > 1) t->over++;
	if (err > t->worst) t->worst = err, t->wx = x, t->wy = y2;
}
static void add(struct tally *a, const struct tally *b) {
	if (b->worst > a->worst) a->worst = b->worst, a->wx = b->wx, a->wy = b->wy;
	if (b->bad && !a->bad) a->bx = b->bx, a->by = b->by;
	a->over += b->over; a->bad += b->bad; a->edge += b->edge; a->n += b->n;
}
"""
F32_MAIN = r"""
enum { BLOCK = 4096 };
__attribute__((noinline)) static void run(const float *x, float *y) { for (int i = 0; i < BLOCK; i++) y[i] = FN(x[i]); }
static float of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static void block(struct tally *t, const float *x) {
	float y[BLOCK]; run(x, y);
	for (int i = 0; i < BLOCK; i++) { double x_ = x[i]; judge(t, x[i], 0, y[i], REF(x_)); }
}
int main(int argc, char **argv) {
	struct tally all = {0};
	if (argc > 1) {
		#pragma omp parallel for schedule(dynamic, 4)
		for (int64_t b = 0; b < (1LL << 32) / BLOCK; b++) {
			struct tally t = {0}; float x[BLOCK];
			for (int i = 0; i < BLOCK; i++) x[i] = of((uint32_t)(b * BLOCK + i));
			block(&t, x);
			#pragma omp critical
			add(&all, &t);
		}
	} else {
		float x[BLOCK]; int n = 0;
		for (int s = 0; s < 2; s++) for (uint32_t e = 0; e < 256; e++) for (int k = -4; k < 4; k++) {   /* edges of every exponent */
			x[n++] = of(((e << 23) + (uint32_t)k) | ((uint32_t)s << 31));
			if (n == BLOCK) block(&all, x), n = 0;
		}
		for (uint32_t i = 0; i < 1u << 20; i++) {
			x[n++] = of(i * 4099u + 1234567u);
			if (n == BLOCK) block(&all, x), n = 0;
		}
		for (uint32_t i = 0; i < 1u << 20; i++) {       /* denser where the functions live */
			x[n++] = of(((i & 1) << 31) | (0x3a000000u + (uint32_t)(rnd() % (0x43800000u - 0x3a000000u))));
			if (n == BLOCK) block(&all, x), n = 0;
		}
	}
	printf("%.4f %.9g %a %llu %llu %.9g %llu\n", all.worst, all.wx, all.wx, (unsigned long long)all.over, (unsigned long long)all.bad, all.bx, (unsigned long long)all.edge);
}
"""
F32_MAIN2 = r"""
static float of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static float pick(int kind) {
	static const float s[] = { 0, -0.f, 1, -1, 2, -2, 3, -3, .5f, -.5f, 1.5f, -1.5f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f,
		16777215, 16777216, -16777217, 0x1.fffffep-1f, 0x1.000002p0f, 1e10f, -1e10f, 33, -33, 0x1p31f, 0.1f, 0.333333333f, 100.f, -100.f };
	uint64_t r = rnd();
	switch (kind) {
	case 0: return of((uint32_t)r);
	case 1: return s[r % (sizeof s / sizeof *s)];
	case 2: return (float)((double)(int64_t)r * 0x1p-63 * 20);
	case 3: return (float)exp((double)(int64_t)r * 0x1p-63 * 5);
	case 4: return 1 + (float)((double)(int64_t)r * 0x1p-63 * 0.01);
	case 5: return (float)((int)(r % 61) - 30);
	default: return (float)((double)(int64_t)r * 0x1p-63 * 200);
	}
}
int main(int argc, char **argv) {
	struct tally all = {0}; (void)argv;
	uint64_t n = argc > 1 ? 100000000 : 4000000;
	for (uint64_t i = 0; i < n; i++) {
		float x = pick((int)(rnd() % 7)), y = pick((int)(rnd() % 7));
		if (i % 5 == 0) y = x * (1 + (float)((double)(int64_t)rnd() * 0x1p-63 * 1e-3));
		double x_ = x, y_ = y;
		judge(&all, x, y, FN(x, y), REF(x_, y_));
	}
	printf("%.4f %.9g,%.9g %a,%a %llu %llu %.9g,%.9g %llu\n", all.worst, all.wx, all.wy, all.wx, all.wy, (unsigned long long)all.over, (unsigned long long)all.bad, all.bx, all.by, (unsigned long long)all.edge);
}
"""
F64_MAIN = r"""
#include <mpfr.h>
static void ref_bessel(mpfr_t r, mpfr_t x, int order, int scaled) {
	mpfr_t z, term, h; mpfr_inits2(1600, z, term, h, (mpfr_ptr)0);
	if (mpfr_nan_p(x)) { mpfr_set_nan(r); goto out; }
	double ax = fabs(mpfr_get_d(x, MPFR_RNDN));
	if (!scaled && ax > 720) { mpfr_set_inf(r, order && mpfr_sgn(x) < 0 ? -1 : 1); goto out; }
	if (isinf(ax)) { mpfr_set_zero(r, order && mpfr_sgn(x) < 0 ? -1 : 1); goto out; }
	mpfr_t acc; mpfr_init2(acc, 1600);
	if (ax <= 720) {
		mpfr_div_ui(h, x, 2, MPFR_RNDN); mpfr_sqr(z, h, MPFR_RNDN);
		mpfr_set_ui(term, 1, MPFR_RNDN); if (order) mpfr_set(term, h, MPFR_RNDN);
		mpfr_set(acc, term, MPFR_RNDN);
		for (int k = 1; k < 3000 && !mpfr_zero_p(term); k++) { mpfr_mul(term, term, z, MPFR_RNDN); mpfr_div_ui(term, term, (unsigned long)k * (unsigned long)(k + order), MPFR_RNDN); mpfr_add(acc, acc, term, MPFR_RNDN);
			if (mpfr_zero_p(acc) || mpfr_get_exp(acc) - mpfr_get_exp(term) > 200) break; }
		if (scaled) { mpfr_abs(h, x, MPFR_RNDN); mpfr_neg(h, h, MPFR_RNDN); mpfr_exp(h, h, MPFR_RNDN); mpfr_mul(acc, acc, h, MPFR_RNDN); }
	} else {                       /* Hankel's expansion */
		mpfr_abs(h, x, MPFR_RNDN); mpfr_set_ui(term, 1, MPFR_RNDN); mpfr_set_ui(acc, 1, MPFR_RNDN);
		for (int k = 1; k < 30; k++) { long m = (2 * k - 1) * (2 * k - 1) - 4 * order * order; mpfr_mul_si(term, term, m, MPFR_RNDN); mpfr_div_ui(term, term, 8ul * (unsigned long)k, MPFR_RNDN); mpfr_div(term, term, h, MPFR_RNDN); mpfr_add(acc, acc, term, MPFR_RNDN); }
		mpfr_const_pi(z, MPFR_RNDN); mpfr_mul(z, z, h, MPFR_RNDN); mpfr_mul_ui(z, z, 2, MPFR_RNDN); mpfr_rec_sqrt(z, z, MPFR_RNDN); mpfr_mul(acc, acc, z, MPFR_RNDN);
		if (order && mpfr_sgn(x) < 0) mpfr_neg(acc, acc, MPFR_RNDN);
	}
	mpfr_set(r, acc, MPFR_RNDN); mpfr_clear(acc);
out:	mpfr_clears(z, term, h, (mpfr_ptr)0);
}
/* x in (0, 1] -> the z >= 0 with erfc(z) = x, by Newton from a bisection */
static void inv_erfc(mpfr_t r, mpfr_t x) {
	mpfr_t f, d, t; mpfr_inits2(1300, f, d, t, (mpfr_ptr)0);
	double lo = 0, hi = 40;
	for (int i = 0; i < 60; i++) { double m = (lo + hi) / 2; mpfr_set_d(t, m, MPFR_RNDN); mpfr_set_prec(f, 64); mpfr_erfc(f, t, MPFR_RNDN); if (mpfr_cmp(f, x) > 0) lo = m; else hi = m; }
	mpfr_set_prec(f, 400); mpfr_set_prec(d, 400); mpfr_set_prec(t, 400);
	mpfr_set_d(t, lo, MPFR_RNDN);
	for (int i = 0; i < 4; i++) {
		mpfr_erfc(f, t, MPFR_RNDN); mpfr_sub(f, f, x, MPFR_RNDN);
		mpfr_sqr(d, t, MPFR_RNDN); mpfr_exp(d, d, MPFR_RNDN); mpfr_mul(f, f, d, MPFR_RNDN);
		mpfr_const_pi(d, MPFR_RNDN); mpfr_sqrt(d, d, MPFR_RNDN); mpfr_mul(f, f, d, MPFR_RNDN); mpfr_div_ui(f, f, 2, MPFR_RNDN);
		mpfr_add(t, t, f, MPFR_RNDN);
	}
	mpfr_set(r, t, MPFR_RNDN); mpfr_clears(f, d, t, (mpfr_ptr)0);
}
static void ref_erfinv(mpfr_t r, mpfr_t x) {
	mpfr_t a; mpfr_init2(a, 1300); mpfr_abs(a, x, MPFR_RNDN);
	if (mpfr_nan_p(x) || mpfr_cmp_ui(a, 1) > 0) mpfr_set_nan(r);
	else if (mpfr_cmp_ui(a, 1) == 0) mpfr_set_inf(r, mpfr_sgn(x));
	else if (mpfr_zero_p(x)) mpfr_set(r, x, MPFR_RNDN);
	else if (mpfr_get_exp(a) < -60) { mpfr_const_pi(a, MPFR_RNDN); mpfr_sqrt(a, a, MPFR_RNDN); mpfr_div_ui(a, a, 2, MPFR_RNDN); mpfr_mul(r, x, a, MPFR_RNDN); }
	else { mpfr_ui_sub(a, 1, a, MPFR_RNDN); inv_erfc(r, a); if (mpfr_sgn(x) < 0) mpfr_neg(r, r, MPFR_RNDN); }
	mpfr_clear(a);
}
static void ref_ndtri(mpfr_t r, mpfr_t x) {
	if (mpfr_nan_p(x) || mpfr_sgn(x) < 0 || mpfr_cmp_ui(x, 1) > 0) { mpfr_set_nan(r); return; }
	if (mpfr_zero_p(x)) { mpfr_set_inf(r, -1); return; }
	if (mpfr_cmp_ui(x, 1) == 0) { mpfr_set_inf(r, 1); return; }
	mpfr_t a; mpfr_init2(a, 1300);
	int up = mpfr_cmp_d(x, 0.5) >= 0;
	if (up) mpfr_ui_sub(a, 1, x, MPFR_RNDN); else mpfr_set(a, x, MPFR_RNDN);
	mpfr_mul_ui(a, a, 2, MPFR_RNDN); inv_erfc(r, a);
	mpfr_sqrt_ui(a, 2, MPFR_RNDN); mpfr_mul(r, r, a, MPFR_RNDN); if (!up) mpfr_neg(r, r, MPFR_RNDN);
	mpfr_clear(a);
}
static double ofd(uint64_t u) { double f; memcpy(&f, &u, 8); return f; }
#ifdef F32
typedef float real;
enum { BITS = 24, EMIN = -125, EMAX = 128 };
static float of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
#else
typedef double real;
enum { BITS = 53, EMIN = -1021, EMAX = 1024 };
#endif
static struct tally all;
static void judge(real x, real y2, real y, mpfr_t r) {
	static mpfr_t d; static int init; if (!init) mpfr_init2(d, 400), init = 1;
	real yr = (real)(BITS == 24 ? mpfr_get_flt(r, MPFR_RNDN) : mpfr_get_d(r, MPFR_RNDN)); all.n++;
	if (yr != yr || y != y) { if ((yr != yr) != (y != y)) { if (!all.bad++) all.bx = x, all.by = y2; } return; }
	if (isinf(yr) || isinf(y)) { if (yr != y) { if (!all.bad++) all.bx = x, all.by = y2; } return; }
	if (yr == 0 || y == 0) {
		if (yr == 0 && y == 0) { if (mpfr_zero_p(r) && !signbit(yr) != !signbit(y)) { if (!all.bad++) all.bx = x, all.by = y2; } return; }
		all.edge++;
	}
	long e = mpfr_zero_p(r) ? EMIN : mpfr_get_exp(r); e = e < EMIN ? EMIN : e;
	mpfr_sub_d(d, r, (double)y, MPFR_RNDN); mpfr_mul_2si(d, d, BITS - e, MPFR_RNDN);
	double err = fabs(mpfr_get_d(d, MPFR_RNDN));
	if (err > 2) all.over++;
	if (err > all.worst) all.worst = err, all.wx = x, all.wy = y2;
}
"""
F64_MAIN1 = r"""
static void one(real v) {
	static mpfr_t x, r, t; static int init; if (!init) mpfr_inits2(PREC, r, t, (mpfr_ptr)0), mpfr_init2(x, 53), init = 1;
	mpfr_set_d(x, (double)v, MPFR_RNDN);
	{ REF }
	judge(v, 0, FN(v), r);
}
int main(int argc, char **argv) {
	(void)argv; uint64_t n = argc > 1 ? 1 << 19 : SAMPLES;
#ifdef F32
	for (int s = 0; s < 2; s++) for (uint32_t e = 0; e < 256; e++) for (int k = -2; k < 2; k++) one(of(((e << 23) + (uint32_t)k) | ((uint32_t)s << 31)));
	for (uint64_t i = 0; i < n; i++) one(of((uint32_t)rnd()));
#else
	for (uint64_t s = 0; s < 2; s++) for (uint64_t e = 0; e < 2048; e++) for (int k = -2; k < 2; k++) one(ofd(((e << 52) + (uint64_t)k) | (s << 63)));
	for (uint64_t i = 0; i < n / 4; i++) one(ofd(rnd()));
#endif
	for (uint64_t i = 0; i < n; i++) one((real)((double)(int64_t)rnd() * 0x1p-63 * pow(10, (double)(rnd() % 4))));
	for (uint64_t i = 0; i < n; i++) { double m = exp((double)(int64_t)rnd() * 0x1p-63 * 8); one((real)((rnd() & 1) ? m : -m)); }
	for (uint64_t i = 0; i < n / 2; i++) { double m = 1 + (double)(int64_t)rnd() * 0x1p-63 * exp2(-(double)(rnd() % 50)); one((real)((rnd() & 1) ? m : -m)); }
	printf("%.4f %.17g %a %llu %llu %.17g %llu\n", all.worst, all.wx, all.wx, (unsigned long long)all.over, (unsigned long long)all.bad, all.bx, (unsigned long long)all.edge);
}
"""
F64_MAIN2 = r"""
static double pick(int kind) {
	static const double s[] = { 0, -0., 1, -1, 2, -2, 3, -3, .5, -.5, 1.5, -1.5, INFINITY, -INFINITY, NAN, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023,
		9007199254740991., 9007199254740992., -9007199254740993., 0x1.fffffffffffffp-1, 0x1.0000000000001p0, 1e10, -1e10, 33, -33, 0x1p31, 0.1, 0.333333333, 100., -100. };
	uint64_t r = rnd();
	switch (kind) {
	case 0: return ofd(r);
	case 1: return s[r % (sizeof s / sizeof *s)];
	case 2: return (double)(int64_t)r * 0x1p-63 * 20;
	case 3: return exp((double)(int64_t)r * 0x1p-63 * 5);
	case 4: return 1 + (double)(int64_t)r * 0x1p-63 * 0.01;
	case 5: return (double)((int)(r % 61) - 30);
	default: return (double)(int64_t)r * 0x1p-63 * 800;
	}
}
int main(int argc, char **argv) {
	(void)argv; uint64_t n = argc > 1 ? 2000000 : 150000;
	mpfr_t x, y, r, t; mpfr_inits2(PREC, r, t, (mpfr_ptr)0); mpfr_inits2(53, x, y, (mpfr_ptr)0);
	for (uint64_t i = 0; i < n; i++) {
		double u = pick((int)(rnd() % 7)), v = pick((int)(rnd() % 7));
		if (i % 5 == 0) v = u * (1 + (double)(int64_t)rnd() * 0x1p-63 * 1e-3);
		mpfr_set_d(x, u, MPFR_RNDN); mpfr_set_d(y, v, MPFR_RNDN);
		{ REF }
		judge(u, v, FN(u, v), r);
	}
	printf("%.4f %.17g,%.17g %a,%a %llu %llu %.17g,%.17g %llu\n", all.worst, all.wx, all.wy, all.wx, all.wy, (unsigned long long)all.over, (unsigned long long)all.bad, all.bx, all.by, (unsigned long long)all.edge);
}
"""


def build_and_run(source, flags, args):
	with tempfile.TemporaryDirectory() as d:
		open(d + "/a.c", "w").write(source)
		subprocess.check_call(["gcc", "-std=gnu17", "-w"] + flags + [d + "/a.c", "-o", d + "/a", "-lmpfr", "-lgmp", "-lm"])
		return subprocess.run(["nice", d + "/a"] + args, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def measure(bodies, name, dtype, full, contract, mpfr):
	prim, attrs = ALIAS.get(name, (name, {}))
	emit = Emit(bodies)
	fn, rt, ts, n = emit.function(prim, dtype, attrs)
	binary = name in REF2
	plain, exact = (REF2 if binary else REF)[name]
	flags = ["-O3", "-march=native"] if dtype == "f32" else ["-O2", "-march=native"]
	flags += ["-ffp-contract=" + ("fast" if contract else "off")]
	head = atoms_c() + "\n".join(emit.out) + COMMON + "#define FN %s\n" % fn
	if dtype == "f32" and not mpfr and plain:
		src = head + "#define REF(x%s) (%s)\n" % (", y" if binary else "", plain) + F32_REFS + (F32_MAIN2 if binary else F32_MAIN)
		flags += ["-fopenmp"]
	else:
		exact = exact or "mpfr_%s(r, x, MPFR_RNDN);" % name
		# the references cancel only where one term falls under the other: there 2400 bits hold both
		prec = 2400 if name in ("tanhshrink", "mish", "log_sigmoid", "softplus", "logaddexp", "logaddexp2", "sigmoid", "silu") else 250
		src = head + ("#define F32\n" if dtype == "f32" else "") + "#define PREC %d\n#define SAMPLES %d\n" % (prec, 500 if name in ("erfinv", "ndtri") else 20000) + F64_MAIN + (F64_MAIN2 if binary else F64_MAIN1).replace("{ REF }", "{ %s }" % exact)
	return n, build_and_run(src, flags, ["full"] if full else [])


# name, dtype, operands, expected: answers that are exact, from the specification page and notes of fixed bugs elsewhere
INF, NAN = float("inf"), float("nan")
EXACT = [
	("neg", "f32", [(0.0,), (-0.0,), (1.5,), (-INF,)], [-0.0, 0.0, -1.5, INF]),
	("neg", "u8", [(0,), (1,), (255,)], [0, 255, 1]),
	("abs", "f32", [(-0.0,), (-2.5,), (-INF,), (NAN,)], [0.0, 2.5, INF, NAN]),
	("abs", "i32", [(-2147483648,), (-5,), (7,)], [-2147483648, 5, 7]),
	("sign", "f32", [(-0.0,), (-3,), (NAN,), (2,)], [-0.0, -1, NAN, 1]),
	("sign", "u8", [(0,), (200,)], [0, 1]),
	("ceil", "f32", [(-0.5,), (0.2,), (-1.5,), (INF,)], [-0.0, 1, -1, INF]),
	("trunc", "f32", [(-0.5,), (1.7,), (-1.7,), (NAN,)], [-0.0, 1, -1, NAN]),
	("frac", "f32", [(-0.0,), (0.0,), (-1,), (1,), (-2.5,)], [-0.0, 0.0, -0.0, 0.0, -0.5]),
	("isnan", "f32", [(NAN,), (INF,)], [1, 0]), ("isinf", "f32", [(-INF,), (1,)], [1, 0]), ("isfinite", "f32", [(NAN,), (INF,), (0,)], [0, 0, 1]),
	("copysign", "f32", [(1, -0.0), (-2, 3), (NAN, 1)], [-1, 2, NAN]), ("signbit", "f32", [(-0.0,), (0.0,)], [1, 0]),
	("floor_divide", "f32", [(1, .1), (.5, .1), (6, .2), (1, 1 / 3), (5, 0), (-1, INF), (-7, 2)], [9, 4, 29, 2, INF, -1, -4]),
	("floor_divide", "i32", [(7, 3), (-7, 3), (7, -3), (-7, -3), (-2147483648, -1), (5, 0), (-5, 0)], [2, -3, -3, 2, -2147483648, -1, -1]),
	("trunc_divide", "i64", [(7, 3), (-7, 3), (7, -3), (-7, -3)], [2, -2, -2, 2]),
	("remainder", "f32", [(5.5, INF), (-5.5, INF), (0, -INF), (-0.0, 1), (-5, 3)], [5.5, INF, 0, -0.0, 1]),
	("remainder", "i64", [(7, 3), (-7, 3), (7, -3), (-7, -3), (-8, 4), (8, -4), (0, 5), (9, 0)], [1, 2, -2, -1, 0, 0, 0, 9]),
	("fmax", "f32", [(NAN, 1), (1, NAN), (-0.0, 0.0), (NAN, NAN)], [1, 1, 0.0, NAN]), ("fmin", "f32", [(NAN, 1), (0.0, -0.0)], [1, -0.0]),
	("clamp", "f32", [(5, 0, 1), (NAN, 0, 1), (-3, 0, 1)], [1, NAN, 0]),
	("relu", "f32", [(-1,), (NAN,), (3,), (-0.0,)], [0.0, NAN, 3, 0.0]),
	("heaviside", "f32", [(-1, 9), (0, 9), (2, 9), (NAN, 9)], [0, 9, 1, NAN]),
	("nextafter", "f32", [(0.0, 1), (0.0, -1), (1, 2), (1, 0), (-1, 0), (1, 1), (NAN, 1), (3.4028234663852886e38, INF), (-0.0, 0.0)],
		[2.0**-149, -2.0**-149, 1 + 2.0**-23, 1 - 2.0**-24, -1 + 2.0**-24, 1, NAN, INF, 0.0]),
	("ldexp", "f32", [(1, 3), (1, -149), (1.5, -149), (3, 127), (2.0**-149, 200), (0.0, 50), (INF, -5), (1, 1000), (-1, -1000)],
		[8, 2.0**-149, 2.0**-148, INF, 2.0**51, 0.0, INF, INF, -0.0]),
	("popcount", "u8", [(255,), (0,), (0x55,)], [8, 0, 4]), ("popcount", "i32", [(-1,), (5,)], [32, 2]), ("popcount", "u64", [(2**64 - 1,), (2**63,)], [64, 1]),
	("gcd", "i32", [(12, 18), (0, 5), (0, 0), (-12, 18), (1836311903, 1134903170), (-2147483648, 6)], [6, 5, 0, 6, 1, 2]),
	("gcd", "i64", [(7540113804746346429, 4660046610375530309), (2**40, 2**35 * 3)], [1, 2**35]),
	("gcd", "u8", [(255, 170), (233, 144)], [85, 1]), ("lcm", "i32", [(4, 6), (0, 5), (0, 0), (-4, 6)], [12, 0, 0, 12]),
	("pow", "i32", [(3, 5), (2, 31), (2, 32), (-1, -3), (2, -1), (1, -9), (0, 0), (-3, 3)], [243, -2147483648, 0, -1, 0, 1, 1, -27]),
	("pow", "u8", [(4, 5), (3, 5)], [0, 243]), ("pow", "i64", [(3, 39)], [4052555153018976267]),
	("pow", "f32", [(0.0, -1), (-0.0, -3), (-0.0, 3), (-8, 3), (-8, 1 / 3), (1, NAN), (NAN, 0), (-1, INF), (-INF, 3), (-INF, -3), (0.5, INF), (2, -INF)],
		[INF, -INF, -0.0, -512, NAN, 1, 1, 1, -INF, -0.0, 0, 0]),
	("hardshrink", "f32", [(0.5,), (-0.6,), (NAN,)], [0, -0.6, NAN]), ("softshrink", "f32", [(0.75,), (-1.5,), (0.25,), (NAN,)], [0.25, -1, 0, NAN]),
	("nan_to_num", "f32", [(NAN,), (INF,), (-INF,)], [0, 3.4028234663852886e38, -3.4028234663852886e38]),
	("threshold", "f32", [(-1,), (2,), (NAN,)], [0, 2, NAN]), ("lerp", "f32", [(1, 3, 0.5), (1, 3, 1), (1, 3, 0)], [2, 3, 1]),
	("not", "i32", [(0,), (-1,)], [-1, 0]), ("ne", "f32", [(NAN, NAN), (1, 1)], [1, 0]), ("ge", "f32", [(NAN, 1), (1, 1)], [0, 1]),
]


def exact(bodies):
	import math, struct
	emit, main, want = Emit(bodies), [], []
	for name, dtype, rows, answers in EXACT:
		fn, rt, ts, _ = emit.function(name, dtype)
		for row, answer in zip(rows, answers):
			lits = [literal("nan" if v != v else {INF: "inf", -INF: "-inf"}.get(v, repr(v)), t) for v, t in zip(row, ts)]
			form = ('printf("%.17g\\n", (double)', ")") if rt in ("f32", "f64") else ('printf("%llu\\n", (unsigned long long)', ")")
			main.append("\t%s%s(%s)%s;" % (form[0], fn, ", ".join(lits), form[1]))
			want.append((name, dtype, row, answer, rt))
	src = atoms_c() + "\n".join(emit.out) + "#include <stdio.h>\nint main(void) {\n" + "\n".join(main) + "\n}\n"
	got, bad = build_and_run(src, ["-O1", "-ffp-contract=off", "-fsanitize=undefined", "-fno-sanitize-recover"], []), 0
	for (name, dtype, row, answer, rt), text in zip(want, got):
		if rt in ("f32", "f64"):
			value = float(text)
			if rt == "f32" and answer == answer and abs(answer) != INF:
				answer = struct.unpack("f", struct.pack("f", answer))[0]
			same = (value != value) if answer != answer else value == answer and math.copysign(1, value) == math.copysign(1, answer)
		else:
			same = int(text) == int(answer) & (2**64 - 1)
			value = text
		if not same:
			bad += 1
			print("%s %s%s: %s, not %s" % (name, dtype, row, value, answer))
	print("%d answers, %d wrong" % (len(want), bad))
	return bad


def main():
	args = sys.argv[1:]
	opts = {a for a in args if a.startswith("--")}
	args = [a for a in args if not a.startswith("--")]
	bodies = read(os.path.join(ROOT, "ir", "prims.tn"))
	what, names = args[0], args[1:]
	if what in ("f32", "f64"):
		print("| %s | operations | worst ulp | at | over | wrong | edge |" % what, flush=True)
		for name in names or [n for n in list(REF) + list(REF2) if Emit(bodies).pick(ALIAS.get(n, (n, {}))[0], what, ALIAS.get(n, (n, {}))[1])]:
			n, (worst, at, hexat, over, bad, badat, edge) = measure(bodies, name, what, "--full" in opts, "--contract" in opts, "--mpfr" in opts)
			print("| %s | %d | %s | %s (%s) | %s | %s | %s |" % (name, n, worst, at, hexat, over, bad + (" at " + badat if bad != "0" else ""), edge), flush=True)
	elif what == "exact":
		sys.exit(1 if exact(bodies) else 0)
	elif what == "count":
		for name in names or sorted(bodies):
			for d in ("f32", "f64", "i32"):
				if Emit(bodies).pick(name, d, {}):
					print(name, d, Emit(bodies).function(name, d)[3])


main()
