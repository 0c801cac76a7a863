/* interp_prim.c - elementwise atoms over a block of lanes, strict: each rounds to its dtype, nothing is contracted.
 * Small floats travel as bits; arithmetic on them is in f32 steps that the nest already holds. */
#include <math.h>
#include <string.h>
#include "base/half.h"
#include "render/interp.h"

/* ---- meanings that C leaves open (docs/design.md) */
#define FLOATS(X) X(f32, float, TN_F32) X(f64, double, TN_F64)
#define SIGNED(X) X(i8, int8_t, uint8_t, TN_I8, INT8_MIN) X(i16, int16_t, uint16_t, TN_I16, INT16_MIN) X(i32, int32_t, uint32_t, TN_I32, INT32_MIN) \
	X(i64, int64_t, uint64_t, TN_I64, INT64_MIN)
#define UNSIGNED(X) X(u8, uint8_t, uint8_t, TN_U8, 0) X(u16, uint16_t, uint16_t, TN_U16, 0) X(u32, uint32_t, uint32_t, TN_U32, 0) X(u64, uint64_t, uint64_t, TN_U64, 0)

#define FLOAT_HELPERS(name, T, dtype) \
	static T max_##name(T x, T y) { return isnan(x) ? x : isnan(y) ? y : x == y ? (signbit(x) ? y : x) : x > y ? x : y; } \
	static T min_##name(T x, T y) { return isnan(x) ? x : isnan(y) ? y : x == y ? (signbit(x) ? x : y) : x < y ? x : y; }
FLOATS(FLOAT_HELPERS)

#define INT_HELPERS(name, T, U, dtype, lowest) \
	static T add_##name(T x, T y) { return (T)(U)((uint64_t)x + (uint64_t)y); } \
	static T sub_##name(T x, T y) { return (T)(U)((uint64_t)x - (uint64_t)y); } \
	static T mul_##name(T x, T y) { return (T)(U)((uint64_t)x * (uint64_t)y); } \
	static T div_##name(T x, T y) { return (T)(y == 0 ? (T)-1 : lowest != 0 && y == (T)-1 ? sub_##name(0, x) : (T)(x / y)); } \
	static T rem_##name(T x, T y) { return (T)(y == 0 ? x : lowest != 0 && y == (T)-1 ? (T)0 : (T)(x % y)); } \
	static T shl_##name(T x, T y) { return (T)((uint64_t)y >= sizeof(T) * 8 ? (T)0 : (T)(U)((uint64_t)x << (uint64_t)y)); } \
	static T shr_##name(T x, T y) { return (T)((uint64_t)y >= sizeof(T) * 8 ? (T)(lowest != 0 && x < (T)1 && x != 0 ? -1 : 0) : (T)(x >> (uint64_t)y)); }
SIGNED(INT_HELPERS)
UNSIGNED(INT_HELPERS)

/* ---- loops */
#define LOOP2(T, R, expr) do { const T *x = a->x, *y = a->y; R *r = to; \
	for (uint32_t i = 0; i < n; i++) { T p = x[i * a->sx], q = y[i * a->sy]; r[i] = (R)(expr); } return 1; } while (0)
#define LOOP1(T, R, expr) do { const T *x = a->x; R *r = to; for (uint32_t i = 0; i < n; i++) { T p = x[i * a->sx]; r[i] = (R)(expr); } return 1; } while (0)

#define FLOAT_OPS(name, T, dtype) \
static int ops_##name(uint32_t prim, const struct interp_args *a, void *to, uint32_t n) \
{ \
	switch (prim) { \
	case TN_add: LOOP2(T, T, p + q); case TN_sub: LOOP2(T, T, p - q); case TN_mul: LOOP2(T, T, p * q); case TN_div: LOOP2(T, T, p / q); \
	case TN_rem: LOOP2(T, T, sizeof(T) == 4 ? (T)fmodf((float)p, (float)q) : (T)fmod((double)p, (double)q)); \
	case TN_max: LOOP2(T, T, max_##name(p, q)); case TN_min: LOOP2(T, T, min_##name(p, q)); \
	case TN_eq: LOOP2(T, uint8_t, p == q); case TN_lt: LOOP2(T, uint8_t, p < q); case TN_le: LOOP2(T, uint8_t, p <= q); \
	case TN_floor: LOOP1(T, T, floor((double)p)); case TN_round: LOOP1(T, T, rint((double)p)); \
	case TN_sqrt: LOOP1(T, T, sizeof(T) == 4 ? (T)sqrtf((float)p) : (T)sqrt((double)p)); \
	default: return 0; \
	} \
}
FLOATS(FLOAT_OPS)

#define INT_OPS(name, T, U, dtype, lowest) \
static int ops_##name(uint32_t prim, const struct interp_args *a, void *to, uint32_t n) \
{ \
	switch (prim) { \
	case TN_add: LOOP2(T, T, add_##name(p, q)); case TN_sub: LOOP2(T, T, sub_##name(p, q)); case TN_mul: LOOP2(T, T, mul_##name(p, q)); \
	case TN_div: LOOP2(T, T, div_##name(p, q)); case TN_rem: LOOP2(T, T, rem_##name(p, q)); \
	case TN_max: LOOP2(T, T, p > q ? p : q); case TN_min: LOOP2(T, T, p < q ? p : q); \
	case TN_and: LOOP2(T, T, p & q); case TN_or: LOOP2(T, T, p | q); case TN_xor: LOOP2(T, T, p ^ q); \
	case TN_shl: LOOP2(T, T, shl_##name(p, q)); case TN_shr: LOOP2(T, T, shr_##name(p, q)); \
	case TN_eq: LOOP2(T, uint8_t, p == q); case TN_lt: LOOP2(T, uint8_t, p < q); case TN_le: LOOP2(T, uint8_t, p <= q); \
	default: return 0; \
	} \
}
SIGNED(INT_OPS)
UNSIGNED(INT_OPS)

/* ---- conversion: through f64 or 64-bit integers, which hold every value of the narrower types exactly */
struct wide { double f; int64_t i; int is_float, is_u64; };

static struct wide widen(uint32_t dtype, const void *p)
{
	struct wide w = { 0, 0, 0, dtype == TN_U64 };
	switch (dtype) {
	case TN_F32: w.f = (double)*(const float *)p; w.is_float = 1; break;
	case TN_F64: w.f = *(const double *)p; w.is_float = 1; break;
	case TN_F16: w.f = (double)tn_f16_to_f32(*(const uint16_t *)p); w.is_float = 1; break;
	case TN_BF16: w.f = (double)tn_bf16_to_f32(*(const uint16_t *)p); w.is_float = 1; break;
	default: w.i = interp_as_i64(dtype, p); break;
	}
	return w;
}

int64_t interp_as_i64(uint32_t dtype, const void *p)
{
	switch (dtype) {
	case TN_BOOL: case TN_U8: return *(const uint8_t *)p;
	case TN_I8: return *(const int8_t *)p;
	case TN_U16: return *(const uint16_t *)p;
	case TN_I16: return *(const int16_t *)p;
	case TN_U32: return *(const uint32_t *)p;
	case TN_I32: return *(const int32_t *)p;
	default: return *(const int64_t *)p;
	}
}

/* floats saturate and truncate, NaN gives 0; integers wrap */
#define TO_INT(T, lo, hi, limit) do { \
	T v = !w.is_float ? (T)w.i : isnan(w.f) ? (T)0 : w.f <= (double)(lo) ? (T)(lo) : w.f >= (limit) ? (T)(hi) : (T)w.f; \
	memcpy(p, &v, sizeof v); \
	return; } while (0)
static float to_f32(const struct wide *w) { return w->is_float ? (float)w->f : w->is_u64 ? (float)(uint64_t)w->i : (float)w->i; }

static void narrow(struct wide w, uint32_t dtype, void *p)
{
	uint16_t h;
	float f;
	double d;
	switch (dtype) {
	case TN_BOOL: *(uint8_t *)p = w.is_float ? w.f != 0 : w.i != 0; return;
	case TN_F32: f = to_f32(&w); memcpy(p, &f, 4); return;
	case TN_F64: d = w.is_float ? w.f : w.is_u64 ? (double)(uint64_t)w.i : (double)w.i; memcpy(p, &d, 8); return;
	case TN_F16: h = w.is_float ? tn_f64_to_f16(w.f) : tn_f64_to_f16(w.is_u64 ? (double)(uint64_t)w.i : (double)w.i); memcpy(p, &h, 2); return;
	case TN_BF16: h = w.is_float ? tn_f64_to_bf16(w.f) : tn_f64_to_bf16(w.is_u64 ? (double)(uint64_t)w.i : (double)w.i); memcpy(p, &h, 2); return;
	case TN_U8: TO_INT(uint8_t, 0, UINT8_MAX, 256.0);
	case TN_U16: TO_INT(uint16_t, 0, UINT16_MAX, 65536.0);
	case TN_U32: TO_INT(uint32_t, 0, UINT32_MAX, 4294967296.0);
	case TN_U64: TO_INT(uint64_t, 0, UINT64_MAX, 18446744073709551616.0);
	case TN_I8: TO_INT(int8_t, INT8_MIN, INT8_MAX, 128.0);
	case TN_I16: TO_INT(int16_t, INT16_MIN, INT16_MAX, 32768.0);
	case TN_I32: TO_INT(int32_t, INT32_MIN, INT32_MAX, 2147483648.0);
	default: TO_INT(int64_t, INT64_MIN, INT64_MAX, 9223372036854775808.0);
	}
}

static int convert(uint32_t in, uint32_t out, const struct interp_args *a, void *to, uint32_t n)
{
	const unsigned char *x = a->x;
	unsigned char *r = to;
	uint32_t wi = interp_bytes(in), wo = interp_bytes(out);
	for (uint32_t i = 0; i < n; i++) narrow(widen(in, x + (size_t)i * a->sx * wi), out, r + (size_t)i * wo);
	return 1;
}

/* bit patterns of one width move as they are */
#define PICK(T) do { const uint8_t *c = a->x; const T *y = a->y, *z = a->z; T *r = to; \
	for (uint32_t i = 0; i < n; i++) { r[i] = c[i * a->sx] ? y[i * a->sy] : z[i * a->sz]; } \
	return 1; } while (0)
static int pick(uint32_t bytes, const struct interp_args *a, void *to, uint32_t n)
{
	switch (bytes) {
	case 1: PICK(uint8_t);
	case 2: PICK(uint16_t);
	case 4: PICK(uint32_t);
	default: PICK(uint64_t);
	}
}

static int bits(uint32_t bytes, const struct interp_args *a, void *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) memcpy((char *)to + (size_t)i * bytes, (const char *)a->x + (size_t)i * a->sx * bytes, bytes);
	return 1;
}

int interp_prim(uint32_t prim, uint32_t in, uint32_t out, const struct interp_args *a, void *to, uint32_t n)
{
	if (prim == TN_convert) return convert(in, out, a, to, n);
	if (prim == TN_select) return pick(interp_bytes(out), a, to, n);
	if (prim == TN_bitcast) return bits(interp_bytes(out), a, to, n);
	switch (in) {
	case TN_F32: return ops_f32(prim, a, to, n);
	case TN_F64: return ops_f64(prim, a, to, n);
	case TN_BOOL: case TN_U8: return ops_u8(prim, a, to, n);
	case TN_U16: return ops_u16(prim, a, to, n);
	case TN_U32: return ops_u32(prim, a, to, n);
	case TN_U64: return ops_u64(prim, a, to, n);
	case TN_I8: return ops_i8(prim, a, to, n);
	case TN_I16: return ops_i16(prim, a, to, n);
	case TN_I32: return ops_i32(prim, a, to, n);
	case TN_I64: return ops_i64(prim, a, to, n);
	default: return 0;
	}
}

int interp_combine(uint32_t prim, uint32_t dtype, void *acc, const void *x)
{
	uint32_t op = prim == TN_sum ? TN_add : prim == TN_prod ? TN_mul : prim == TN_reduce_max ? TN_max : prim == TN_reduce_min ? TN_min : prim;
	struct interp_args a = { acc, x, NULL, 1, 1, 0 };
	uint64_t room;
	if (!interp_prim(op, dtype, dtype, &a, &room, 1)) return 0;
	memcpy(acc, &room, interp_bytes(dtype));
	return 1;
}

int interp_identity(uint32_t prim, uint32_t dtype, void *acc)
{
	int is_float = dtype == TN_F32 || dtype == TN_F64 || dtype == TN_F16 || dtype == TN_BF16;
	struct wide w = { 0, 0, is_float, 0 };
	if (prim == TN_prod || prim == TN_mul) { w.f = 1; w.i = 1; }
	else if (prim == TN_reduce_max || prim == TN_max) { w.f = -INFINITY; w.is_float = 1; }
	else if (prim == TN_reduce_min || prim == TN_min) { w.f = INFINITY; w.is_float = 1; }
	if (dtype == TN_BOOL && w.is_float) { *(uint8_t *)acc = w.f > 0; return 1; }
	narrow(w, dtype, acc);
	return 1;
}
