/* atoms_test.c - every atom and every native composite of cpu_simd, each dtype, as a scalar and as a vector, on hard values
 *
 * One kernel a dtype and form computes all primitives of it; one more converts to every dtype.  The references are plain C on
 * double and 64-bit integers, rounded once by round_to, which shares no code with the dialect. */
#include "render/testing.h"
#include <math.h>

enum { MAX_VALUES = 40 };
struct number { double f; int64_t i; uint64_t u; };         /* which one counts follows from the dtype */

static int is_float(uint32_t d) { return d >= TN_F16 && d <= TN_F64; }
static int is_signed(uint32_t d) { return d >= TN_I8 && d <= TN_I64; }
static uint32_t bytes_of(uint32_t d)
{
	static const uint32_t b[] = { [TN_BOOL] = 1, [TN_U8] = 1, [TN_U16] = 2, [TN_U32] = 4, [TN_U64] = 8, [TN_I8] = 1, [TN_I16] = 2, [TN_I32] = 4,
		[TN_I64] = 8, [TN_F16] = 2, [TN_BF16] = 2, [TN_F32] = 4, [TN_F64] = 8 };
	return b[d];
}

/* x to the nearest number with p bits of significand, least exponent e (of the last bit), largest finite value top; ties to even */
static double round_bits(double x, int p, int e, double top)
{
	int at;
	if (x == 0 || isnan(x) || isinf(x))
		return x;
	frexp(x, &at);
	int last = at - p < e ? e : at - p;
	double r = ldexp(nearbyint(ldexp(x, -last)), last);
	return fabs(r) > top ? copysign(HUGE_VAL, x) : r;
}

static double round_to(uint32_t d, double x)
{
	switch (d) {
	case TN_F16: return round_bits(x, 11, -24, 65504);
	case TN_BF16: return round_bits(x, 8, -133, 0x1.fep127);
	case TN_F32: return (double)(float)x;
	}
	return x;
}

static uint64_t wrap(uint32_t d, uint64_t v)
{
	uint32_t bits = 8 * bytes_of(d);
	if (d == TN_BOOL)
		return v & 1;
	if (bits == 64)
		return v;
	v &= (UINT64_C(1) << bits) - 1;
	return is_signed(d) && v >> (bits - 1) ? v | ~((UINT64_C(1) << bits) - 1) : v;
}

/* ---- memory */
static double half_value(uint16_t h)
{
	int e = h >> 10 & 31, m = h & 1023;
	double v = e == 31 ? (m ? NAN : HUGE_VAL) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
	return h >> 15 ? -v : v;
}

static struct number get(uint32_t d, const void *p, int64_t i)
{
	const char *at = (const char *)p + i * bytes_of(d);
	struct number n = { 0, 0, 0 };
	uint16_t h;
	uint32_t w;
	float f;
	if (d == TN_F16 || d == TN_BF16) {
		memcpy(&h, at, 2);
		w = (uint32_t)h << 16;
		memcpy(&f, &w, 4);
		n.f = d == TN_F16 ? half_value(h) : (double)f;
	} else if (d == TN_F32) {
		memcpy(&f, at, 4);
		n.f = (double)f;
	} else if (d == TN_F64) {
		memcpy(&n.f, at, 8);
	} else {
		memcpy(&n.u, at, bytes_of(d));
		n.u = wrap(d, n.u);
		n.i = (int64_t)n.u;
	}
	return n;
}

static uint16_t half_bits(double v)
{
	for (uint32_t h = 0; h < 0x10000; h++)              /* NaN: the quiet one, whose bits every machine keeps */
		if (half_value((uint16_t)h) == v && !!signbit(half_value((uint16_t)h)) == !!signbit(v))
			return (uint16_t)h;
	return 0x7e00;
}

static void put(uint32_t d, void *p, int64_t i, struct number n)
{
	char *at = (char *)p + i * bytes_of(d);
	float f = (float)n.f;
	uint32_t w;
	uint16_t h;
	memcpy(&w, &f, 4);
	if (d == TN_F16 || d == TN_BF16) {
		h = d == TN_F16 ? half_bits(n.f) : (uint16_t)(w >> 16);
		memcpy(at, &h, 2);
	} else if (d == TN_F32) {
		memcpy(at, &f, 4);
	} else if (d == TN_F64) {
		memcpy(at, &n.f, 8);
	} else {
		memcpy(at, &n.u, bytes_of(d));
	}
}

/* ---- the values: every pair of them is tried */
static uint32_t hard_values(uint32_t d, struct number *v)
{
	static const double f[] = { 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7.75, -100.25, 255.9, 1000, 65504, 70000, -3e9, 2147483648.0, 1e10, 1e19, -1e19,
		1e30, 6e-8, 1e-40, -3e-39, 0.333333, 123456.789, 2049, 8388609, -0.75, 33.5 };
	static const int64_t i[] = { 0, 1, -1, 2, 3, 7, 8, -8, 15, 31, 32, 63, 64, 100, -100, 127, 128, 255, 32767, 65535, 2147483647, INT32_MIN, INT64_MAX, INT64_MIN,
		0x40400001, 0x7fffff8000000001, 16777217, 65519, 65520, 2049 };
	uint32_t n = 0;
	if (is_float(d)) {
		for (size_t k = 0; k < sizeof f / sizeof *f; k++)
			v[n++].f = round_to(d, f[k]);
		v[n++].f = HUGE_VAL;
		v[n++].f = -HUGE_VAL;
		v[n++].f = NAN;
		return n;
	}
	for (size_t k = 0; k < sizeof i / sizeof *i; k++) {
		v[n].u = wrap(d, (uint64_t)i[k]);
		v[n].i = (int64_t)v[n].u;
		n++;
	}
	return n;
}

/* ---- references */
static struct number of_bool(int b) { return (struct number){ 0, b, (uint64_t)b }; }
static struct number of_int(uint32_t d, uint64_t u) { u = wrap(d, u); return (struct number){ 0, (int64_t)u, u }; }

static double larger(double x, double y) { return isnan(x) ? x : isnan(y) ? y : x == y ? (signbit(x) ? y : x) : x > y ? x : y; }
static double smaller(double x, double y) { return -larger(-x, -y); }

static struct number float_op(uint32_t prim, uint32_t d, double x, double y)
{
	double r = 0;
	switch (prim) {
	case TN_add: r = d == TN_F32 ? (double)((float)x + (float)y) : x + y; break;
	case TN_sub: r = d == TN_F32 ? (double)((float)x - (float)y) : x - y; break;
	case TN_mul: r = d == TN_F32 ? (double)((float)x * (float)y) : x * y; break;
	case TN_div: r = d == TN_F32 ? (double)((float)x / (float)y) : x / y; break;
	case TN_rem: r = fmod(x, y); break;
	case TN_max: r = larger(x, y); break;
	case TN_min: r = smaller(x, y); break;
	case TN_floor: r = floor(x); break;
	case TN_ceil: r = ceil(x); break;
	case TN_trunc: r = trunc(x); break;
	case TN_round: r = nearbyint(x); break;
	case TN_sqrt: r = d == TN_F32 ? (double)sqrtf((float)x) : sqrt(x); break;
	case TN_neg: r = -x; break;
	case TN_abs: r = fabs(x); break;
	case TN_copysign: r = copysign(x, y); break;
	case TN_reciprocal: r = d == TN_F32 ? (double)(1 / (float)x) : 1 / x; break;
	case TN_square: r = d == TN_F32 ? (double)((float)x * (float)x) : x * x; break;
	case TN_select: r = x < y ? x : y; break;
	case TN_eq: return of_bool(x == y);
	case TN_ne: return of_bool(x != y);
	case TN_lt: return of_bool(x < y);
	case TN_le: return of_bool(x <= y);
	case TN_gt: return of_bool(x > y);
	case TN_ge: return of_bool(x >= y);
	case TN_isnan: return of_bool(isnan(x));
	}
	return (struct number){ round_to(d, r), 0, 0 };
}

static struct number int_op(uint32_t prim, uint32_t d, struct number x, struct number y)
{
	uint32_t bits = d == TN_BOOL ? 1 : 8 * bytes_of(d);
	int s = is_signed(d), less = s ? x.i < y.i : x.u < y.u, far = y.u >= bits;
	switch (prim) {
	case TN_add: return of_int(d, x.u + y.u);
	case TN_sub: return of_int(d, x.u - y.u);
	case TN_mul: return of_int(d, x.u * y.u);
	case TN_square: return of_int(d, x.u * x.u);
	case TN_div: return of_int(d, !y.u ? UINT64_MAX : s && y.i == -1 ? 0 - x.u : s ? (uint64_t)(x.i / y.i) : x.u / y.u);
	case TN_rem: return of_int(d, !y.u ? x.u : s && y.i == -1 ? 0 : s ? (uint64_t)(x.i % y.i) : x.u % y.u);
	case TN_max: return less ? y : x;
	case TN_min: return less ? x : y;
	case TN_select: return less ? x : y;
	case TN_and: return of_int(d, x.u & y.u);
	case TN_or: return of_int(d, x.u | y.u);
	case TN_xor: return of_int(d, x.u ^ y.u);
	case TN_not: return of_int(d, ~x.u);
	case TN_neg: return of_int(d, 0 - x.u);
	case TN_abs: return of_int(d, s && x.i < 0 ? 0 - x.u : x.u);
	case TN_shl: return of_int(d, far ? 0 : x.u << y.u);
	case TN_shr: return of_int(d, s ? (uint64_t)(x.i >> (far ? 63 : y.u)) : far ? 0 : x.u >> y.u);
	case TN_eq: return of_bool(x.u == y.u);
	case TN_ne: return of_bool(x.u != y.u);
	case TN_lt: return of_bool(less);
	case TN_le: return of_bool(less || x.u == y.u);
	case TN_gt: return of_bool(!less && x.u != y.u);
	case TN_ge: return of_bool(!less);
	}
	return x;
}

static struct number converted(uint32_t from, uint32_t to, struct number x)
{
	if (is_float(from) && is_float(to))
		return (struct number){ round_to(to, x.f), 0, 0 };
	if (to == TN_BOOL)
		return of_bool(is_float(from) ? x.f != 0 : x.u != 0);
	if (!is_float(from) && !is_float(to))
		return of_int(to, x.u);
	if (is_float(to)) {
		long double v = is_signed(from) ? (long double)x.i : (long double)x.u;   /* exact: 64 bits */
		if (to == TN_F64)
			return (struct number){ (double)v, 0, 0 };
		if (to == TN_F32)
			return (struct number){ (double)(float)v, 0, 0 };
		double hi = (double)v;                                                   /* the sticky rest decides ties */
		uint64_t bits;
		memcpy(&bits, &hi, 8);
		if ((long double)hi != v && !(bits & 1))
			hi = nextafter(hi, (long double)hi < v ? HUGE_VAL : -HUGE_VAL);
		return (struct number){ round_to(to, hi), 0, 0 };
	}
	uint32_t width = 8 * bytes_of(to);
	double top = ldexp(1, (int)width - is_signed(to)), low = is_signed(to) ? -top : 0;
	if (isnan(x.f))
		return of_int(to, 0);
	if (x.f >= top)
		return of_int(to, is_signed(to) ? (UINT64_C(1) << (width - 1)) - 1 : UINT64_MAX);
	if (x.f <= low)
		return of_int(to, is_signed(to) ? UINT64_C(1) << (width - 1) : 0);
	return of_int(to, is_signed(to) ? (uint64_t)(int64_t)x.f : (uint64_t)x.f);
}

/* ---- cases */
#define PLAIN (TN_M_REAL | TN_M(TN_BOOL))
static const struct { uint32_t prim, n; uint64_t mask; int truth; } prims[] = {
	{ TN_add, 2, TN_M_REAL, 0 }, { TN_sub, 2, TN_M_REAL, 0 }, { TN_mul, 2, TN_M_REAL, 0 }, { TN_div, 2, TN_M_REAL, 0 }, { TN_rem, 2, TN_M_REAL, 0 },
	{ TN_max, 2, PLAIN, 0 }, { TN_min, 2, PLAIN, 0 }, { TN_and, 2, TN_M_INT | TN_M(TN_BOOL), 0 }, { TN_or, 2, TN_M_INT | TN_M(TN_BOOL), 0 },
	{ TN_xor, 2, TN_M_INT | TN_M(TN_BOOL), 0 }, { TN_shl, 2, TN_M_INT, 0 }, { TN_shr, 2, TN_M_INT, 0 },
	{ TN_eq, 2, PLAIN, 1 }, { TN_lt, 2, PLAIN, 1 }, { TN_le, 2, PLAIN, 1 }, { TN_ne, 2, PLAIN, 1 }, { TN_gt, 2, PLAIN, 1 }, { TN_ge, 2, PLAIN, 1 },
	{ TN_select, 3, PLAIN, 0 }, { TN_floor, 1, TN_M_FLOAT, 0 }, { TN_round, 1, TN_M_FLOAT, 0 }, { TN_sqrt, 1, TN_M_FLOAT, 0 },
	{ TN_neg, 1, TN_M_REAL, 0 }, { TN_abs, 1, TN_M_REAL, 0 }, { TN_not, 1, TN_M_INT | TN_M(TN_BOOL), 0 }, { TN_isnan, 1, TN_M_FLOAT, 1 },
	{ TN_ceil, 1, TN_M_FLOAT, 0 }, { TN_trunc, 1, TN_M_FLOAT, 0 }, { TN_copysign, 2, TN_M_FLOAT, 0 }, { TN_reciprocal, 1, TN_M_FLOAT, 0 },
	{ TN_square, 1, TN_M_REAL, 0 },
};
enum { N_PRIMS = sizeof prims / sizeof *prims };

static int same(uint32_t d, struct number x, struct number y)
{
	if (is_float(d))
		return isnan(x.f) ? isnan(y.f) : x.f == y.f && !!signbit(x.f) == !!signbit(y.f);
	return x.u == y.u;
}

static void expect(struct test_case *c, const char *what, uint32_t prim, uint32_t d, struct number got, struct number want, struct number x, struct number y)
{
	if (same(d, got, want))
		return;
	fprintf(stderr, "%s: %s %u to dtype %u of (%.17g %lld) (%.17g %lld) is %.17g %lld, not %.17g %lld\n", c->name, what, prim, d, x.f, (long long)x.i, y.f,
		(long long)y.i, got.f, (long long)got.i, want.f, (long long)want.i);
	fail();
}

static void check_prims(struct test_case *c)
{
	struct number v[MAX_VALUES];
	uint32_t d = c->dtype, n = hard_values(d, v);
	void *b[N_PRIMS + 2] = { malloc(n * n * 8), malloc(n * n * 8) };
	for (uint32_t i = 0; i < n * n; i++) {
		put(d, b[0], i, v[i / n]);
		put(d, b[1], i, v[i % n]);
	}
	for (uint32_t k = 2; k < N_PRIMS + 2; k++)
		b[k] = malloc(n * n * 8);
	run(c, b, 0);
	for (uint32_t k = 0, at = 2; k < N_PRIMS; k++) {
		if (!(prims[k].mask & TN_M(d)))
			continue;
		uint32_t out = prims[k].truth ? TN_BOOL : d;
		for (uint32_t i = 0; i < n * n; i++) {
			struct number x = get(d, b[0], i), y = get(d, b[1], i);
			struct number want = is_float(d) ? float_op(prims[k].prim, d, x.f, y.f) : int_op(prims[k].prim, d, x, y);
			expect(c, "primitive", prims[k].prim, out, get(out, b[at], i), want, x, y);
		}
		at++;
	}
	for (uint32_t k = 0; k < N_PRIMS + 2; k++)
		free(b[k]);
}

static int bits_kept(uint32_t from, uint32_t to) { return from != TN_BOOL && to != TN_BOOL && bytes_of(from) == bytes_of(to); }

static void check_conversions(struct test_case *c)
{
	struct number v[MAX_VALUES];
	uint32_t d = c->dtype, n = hard_values(d, v), at = 1;
	void *b[2 * TN_F64 + 1] = { malloc(n * 8) };
	for (uint32_t i = 0; i < n; i++)
		put(d, b[0], i, v[i]);
	for (uint32_t k = 1; k < 2 * TN_F64 + 1; k++)
		b[k] = malloc(n * 8);
	run(c, b, 0);
	for (uint32_t to = TN_BOOL; to <= TN_F64; to++) {
		for (uint32_t i = 0; i < n; i++) {
			struct number x = get(d, b[0], i);
			expect(c, "convert", TN_convert, to, get(to, b[at], i), converted(d, to, x), x, x);
		}
		at++;
	}
	for (uint32_t to = TN_BOOL; to <= TN_F64; to++) {
		for (uint32_t i = 0; bits_kept(d, to) && i < n; i++) {
			struct number x = get(d, b[0], i);
			expect(c, "bitcast", TN_bitcast, to, get(to, b[at], i), get(to, b[0], i), x, x);
		}
		at += (uint32_t)bits_kept(d, to);
	}
	for (uint32_t k = 0; k < 2 * TN_F64 + 1; k++)
		free(b[k]);
}

static struct test_case *start(struct rd_make *k, const char *what, void (*check)(struct test_case *), uint32_t d, uint32_t vector, uint32_t n, uint32_t *lin)
{
	struct test_case *t = add_case(vector ? "vector" : "scalar", check, d, 0, 0);
	(void)what;
	t->dtype = d;
	rd_make_init(k, &arena, TN_NEST_POINTWISE);
	uint32_t axis = vector ? TN_AXIS_INNER : TN_AXIS_OUTER, i = rd_make_dim(k, axis, rd_make_size(k, n));
	rd_make_phase(k, 1u << axis);
	*lin = rd_make_linear(k, 0, RD_PAIRS({ i, 1 }));
	return t;
}

static void make_prims(uint32_t d, uint32_t vector)
{
	struct rd_make k;
	struct number v[MAX_VALUES];
	uint32_t n = hard_values(d, v), lin;
	struct test_case *t = start(&k, "primitives", check_prims, d, vector, n * n, &lin);
	uint32_t x = rd_make_load(&k, rd_make_access(&k, rd_make_buffer(&k, d, TN_BUF_READ, 0), lin));
	uint32_t y = rd_make_load(&k, rd_make_access(&k, rd_make_buffer(&k, d, TN_BUF_READ, 0), lin));
	uint32_t less = rd_make_prim(&k, TN_lt, TN_BOOL, 2, (uint32_t[]){ x, y });
	for (uint32_t p = 0; p < N_PRIMS; p++) {
		if (!(prims[p].mask & TN_M(d)))
			continue;
		uint32_t out = prims[p].truth ? TN_BOOL : d, three[] = { less, x, y };
		uint32_t r = rd_make_prim(&k, prims[p].prim, out, prims[p].n, prims[p].n == 3 ? three : (uint32_t[]){ x, y });
		rd_make_store(&k, rd_make_access(&k, rd_make_buffer(&k, out, TN_BUF_WRITE, 0), lin), r);
	}
	t->nest = rd_make_done(&k);
}

static void make_conversions(uint32_t d, uint32_t vector)
{
	struct rd_make k;
	struct number v[MAX_VALUES];
	uint32_t n = hard_values(d, v), lin;
	struct test_case *t = start(&k, "conversions", check_conversions, d, vector, n, &lin);
	uint32_t x = rd_make_load(&k, rd_make_access(&k, rd_make_buffer(&k, d, TN_BUF_READ, 0), lin));
	for (uint32_t cast = 0; cast < 2; cast++)
		for (uint32_t to = TN_BOOL; to <= TN_F64; to++)
			if (!cast || bits_kept(d, to)) {
				uint32_t r = rd_make_prim(&k, cast ? TN_bitcast : TN_convert, to, 1, &x);
				rd_make_store(&k, rd_make_access(&k, rd_make_buffer(&k, to, TN_BUF_WRITE, 0), lin), r);
			}
	t->nest = rd_make_done(&k);
}

static void make_cases(void *unused)
{
	(void)unused;
	for (uint32_t d = TN_BOOL; d <= TN_F64; d++)
		for (uint32_t vector = 0; vector < 2; vector++) {
			make_prims(d, vector);
			make_conversions(d, vector);
		}
}

static void test_strict(void **s)
{
	(void)s;
	render_all();
	compile_and_check("off");
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
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_strict) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
