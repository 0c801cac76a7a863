/* elementwise.c - one element after the other.  f16 computes in f32 and rounds once; integers wrap. */
#include <math.h>
#include <string.h>
#include "ref.h"

/* ---- f16: 1 sign, 5 exponent, 10 fraction bits (IEEE 754 binary16) */
float ref_from_half(uint16_t h)
{
	int exponent = h >> 10 & 31, fraction = h & 1023;
	float m = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
	return h >> 15 ? -m : m;
}

uint16_t ref_to_half(float x)
{
	uint16_t sign = signbit(x) ? 0x8000 : 0;
	float m = fabsf(x);
	if (isnan(x)) return sign | 0x7e00;
	if (m == 0) return sign;                                     /* frexp gives it the exponent of one half */
	if (m >= 65520.0f) return sign | 0x7c00;
	int e;
	frexpf(m, &e);
	if (e < -13) e = -13;                                        /* subnormal: one step is 2^-24 */
	long steps = lrintf(ldexpf(m, 11 - e));                      /* half to even, exact before rounding */
	return sign | (uint16_t)(steps + ((long)(e + 13) << 10));    /* a carry into the exponent is right as it is */
}

/* ---- arithmetic.  Meanings: docs/design.md, "what C leaves open" */
static float max_f(float x, float y) { return isnan(x) || isnan(y) ? NAN : x > y || (x == y && !signbit(x)) ? x : y; }
static float min_f(float x, float y) { return isnan(x) || isnan(y) ? NAN : x < y || (x == y && signbit(x)) ? x : y; }
static int64_t wrap(uint64_t x) { int64_t y; memcpy(&y, &x, 8); return y; }
static int64_t div_i(int64_t x, int64_t y) { return y == 0 ? -1 : y == -1 ? wrap(0 - (uint64_t)x) : x / y; }
static int64_t rem_i(int64_t x, int64_t y) { return y == 0 ? x : y == -1 ? 0 : x % y; }

static float apply_f(uint32_t prim, float x, float y)
{
	switch (prim) {
	case TN_add: return x + y;
	case TN_sub: return x - y;
	case TN_mul: return x * y;
	case TN_div: return x / y;
	case TN_rem: return fmodf(x, y);
	case TN_max: return max_f(x, y);
	case TN_min: return min_f(x, y);
	case TN_floor: return floorf(x);
	case TN_round: return rintf(x);
	default: return sqrtf(x);
	}
}

static int64_t apply_i(uint32_t prim, int64_t x, int64_t y, int bits)
{
	int over = y < 0 || y >= bits;
	switch (prim) {
	case TN_add: return wrap((uint64_t)x + (uint64_t)y);
	case TN_sub: return wrap((uint64_t)x - (uint64_t)y);
	case TN_mul: return wrap((uint64_t)x * (uint64_t)y);
	case TN_div: return div_i(x, y);
	case TN_rem: return rem_i(x, y);
	case TN_max: return x > y ? x : y;
	case TN_min: return x < y ? x : y;
	case TN_and: return x & y;
	case TN_or: return x | y;
	case TN_xor: return x ^ y;
	case TN_shl: return over ? 0 : wrap((uint64_t)x << y);
	default: return over ? (x < 0 ? -1 : 0) : x >> y;            /* shr */
	}
}

static int compare(uint32_t prim, const struct ref_cell *x, const struct ref_cell *y, int is_float)
{
	if (prim == TN_eq) return is_float ? x->f == y->f : x->i == y->i;
	if (prim == TN_lt) return is_float ? x->f < y->f : x->i < y->i;
	return is_float ? x->f <= y->f : x->i <= y->i;
}

static struct ref_cell convert(struct ref_cell c, uint32_t from, uint32_t to)
{
	struct ref_cell out = { 0, 0 };
	if (ref_is_float(to)) out.f = ref_is_float(from) ? c.f : (float)c.i;
	else if (to == TN_BOOL) out.i = ref_is_float(from) ? c.f != 0 : c.i != 0;
	else if (!ref_is_float(from)) out.i = c.i;
	else if (isnan(c.f)) out.i = 0;
	else {                                                       /* saturates, truncates */
		int64_t lo = to == TN_I32 ? INT32_MIN : INT64_MIN, hi = to == TN_I32 ? INT32_MAX : INT64_MAX;
		out.i = c.f <= (float)lo ? lo : c.f >= (to == TN_I32 ? 0x1p31f : 0x1p63f) ? hi : (int64_t)c.f;
	}
	return out;
}

static struct ref_cell one(const struct ref_run *r, int64_t i)
{
	uint32_t prim = r->p->prim, dtype = r->in[0].dtype;
	struct ref_cell x = ref_get(&r->in[0], i), y = { 0, 0 }, out = { 0, 0 };
	if (r->p->n_in > 1) y = ref_get(&r->in[1], i);
	if (prim == TN_select) return x.i ? y : ref_get(&r->in[2], i);
	if (prim == TN_convert) return convert(x, dtype, r->out.dtype);
	if (prim == TN_eq || prim == TN_lt || prim == TN_le) out.i = compare(prim, &x, &y, ref_is_float(dtype));
	else if (ref_is_float(dtype)) out.f = apply_f(prim, x.f, y.f);
	else out.i = apply_i(prim, x.i, y.i, dtype == TN_I32 ? 32 : 64);
	return out;
}

int ref_elementwise(struct ref_run *r)
{
	if (r->p->prim < TN_add || r->p->prim > TN_bitcast) return 0;
	if (r->p->prim == TN_bitcast) { memcpy(r->out.at, r->in[0].at, (size_t)r->out.n * ref_bytes(r->out.dtype)); return 1; }
	for (int64_t i = 0; i < r->out.n; i++) ref_put(&r->out, i, one(r, i));
	return 1;
}
