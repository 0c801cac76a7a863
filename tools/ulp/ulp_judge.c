/* ulp_judge.c - errors in ulp, and their tallies */
#include <math.h>
#include <string.h>
#include "base/half.h"
#include "tools/ulp/ulp.h"

struct format { int bits, least; double limit; };      /* digits; exponent of the least normal number as frexp counts; 2^(largest exponent) */
static struct format format_of(uint32_t dtype)
{
	switch (dtype) {
	case TN_F16: return (struct format){ 11, -13, 0x1p16 };
	case TN_BF16: return (struct format){ 8, -125, 0x1p128 };
	default: return (struct format){ 24, -125, 0x1p128 };
	}
}

/* ulp of the binade in which truth, rounded to the format, lies */
static double ulp_size(const struct format *f, double truth)
{
	int e;
	frexp(truth, &e);
	if (truth == 0 || e < f->least) e = f->least;
	double u = ldexp(1, e - f->bits);
	return fabs(rint(truth / u) * u) >= ldexp(1, e) && fabs(truth) < f->limit ? 2 * u : u;    /* rounded up into the next binade */
}

struct ulp_error ulp_error_of(uint32_t dtype, double got, double truth)
{
	struct format f = format_of(dtype);
	if (isnan(got) || isnan(truth)) return (struct ulp_error){ 0, isnan(got) != isnan(truth) };
	if (isinf(got)) {
		if (got > 0 ? truth >= f.limit : truth <= -f.limit) return (struct ulp_error){ 0, 0 };
		got = copysign(f.limit, got);
	}
	if (isinf(truth)) return (struct ulp_error){ INFINITY, 1 };
	double u = ulp_size(&f, fabs(truth) < f.limit ? truth : copysign(f.limit * (1 - ldexp(1, -f.bits)), truth));
	if (got == 0 && fabs(truth) <= u / 2 && signbit(got) != signbit(truth)) return (struct ulp_error){ INFINITY, 1 };
	return (struct ulp_error){ fabs(got - truth) / u, 0 };
}

struct ulp_error ulp_error_beside(uint32_t dtype, double got, double truth, double large)
{
	struct ulp_error e = ulp_error_of(dtype, got, truth);
	struct format f = format_of(dtype);
	if (isfinite(large) && isfinite(truth) && isfinite(got) && fabs(large) > fabs(truth)) return (struct ulp_error){ fabs(got - truth) / ulp_size(&f, large), 0 };
	return e;
}

void ulp_note(struct ulp_tally *t, struct ulp_error e, struct ulp_bounds b, uint64_t x, uint64_t y)
{
	t->over += e.wrong || e.ulp > b.bound;
	t->failed += b.known < INFINITY && (e.wrong || e.ulp > b.known);
	if (e.wrong) {
		if (!t->wrong++) t->wrong_at[0] = x, t->wrong_at[1] = y;
		t->worst = INFINITY;
	} else if (e.ulp > t->finite) {
		t->finite = e.ulp, t->at[0] = x, t->at[1] = y;
		if (e.ulp > t->worst) t->worst = e.ulp;
	}
}

void ulp_tally_add(struct ulp_tally *to, const struct ulp_tally *from)
{
	if (from->finite > to->finite || !to->n) to->finite = from->finite, memcpy(to->at, from->at, sizeof to->at);
	if (from->wrong && !to->wrong) memcpy(to->wrong_at, from->wrong_at, sizeof to->wrong_at);
	if (from->worst > to->worst) to->worst = from->worst;
	to->n += from->n, to->over += from->over, to->wrong += from->wrong, to->failed += from->failed, to->seconds += from->seconds;
}

static uint32_t bits_of(float x)
{
	uint32_t b;
	memcpy(&b, &x, 4);
	return b;
}

/* Is any of 256 worth a careful look: an error over `least`, a NaN on one side, an infinity, a zero whose sign differs?  Written for
 * the vectoriser; the bits of the truth's float give its binade. */
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
__attribute__((target("avx2,fma"), optimize("O3", "no-trapping-math"))) static int any_avx2(const float *got, const double *truth, double least)
{
	uint64_t any = 0;
	for (int i = 0; i < 256; i++) {
		double t = truth[i], y = (double)got[i];
		float r = (float)t;
		uint32_t rb, yb;
		memcpy(&rb, &r, 4);
		memcpy(&yb, &got[i], 4);
		uint32_t e = (rb & 0x7f800000) >> 23;
		e = e < 1 ? 1 : e;
		uint64_t sb = (uint64_t)(1023 + 150 - e) << 52;
		double s;
		memcpy(&s, &sb, 8);
		int same = (y == (double)r) | ((got[i] != got[i]) & (r != r));        /* equal, both NaN: at most half an ulp */
		int fine = (fabs(y - t) * s <= least) | same;
		int zeros = ((yb << 1) == 0) & ((rb << 1) == 0) & (yb != rb);
		any |= (uint64_t)((fine ^ 1) | zeros);
	}
	return any != 0;
}
#endif
static int any_plain(const float *got, const double *truth, double least)
{
	(void)got, (void)truth, (void)least;
	return 1;
}

static int worth_a_look(const float *got, const double *truth, double least)
{
#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return any_avx2(got, truth, least);
#endif
	return any_plain(got, truth, least);
}

void ulp_judge_f32(struct ulp_tally *t, const struct ulp_truth *f, struct ulp_bounds b, const float *x, const float *y, const float *got, const double *truth, uint32_t n)
{
	uint32_t i = 0;
	for (; i < n; i += 256) {
		uint32_t end = n - i < 256 ? n : i + 256;
		double least = fmax(fmin(t->finite, b.bound), 0.5);            /* below half an ulp the worst is not followed */
		if (end == i + 256 && i && !worth_a_look(got + i, truth + i, least)) continue;
		for (uint32_t j = i; j < end; j++) {
			struct ulp_error e = !(f->flags & ULP_CANCELS) ? ulp_error_of(TN_F32, (double)got[j], truth[j]) :
				ulp_error_beside(TN_F32, (double)got[j], truth[j], (double)fmaxf(fabsf(x[j]), fabsf(y[j])));
			if (!y && (e.wrong || e.ulp > least)) e = ulp_error_of(TN_F32, (double)got[j], f->one((double)x[j]));    /* not by vectors */
			ulp_note(t, e, b, bits_of(x[j]), y ? bits_of(y[j]) : 0);
		}
	}
	t->n += n;
}
