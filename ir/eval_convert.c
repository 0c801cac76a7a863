/* eval_convert.c - convert, bitcast, full, iota.
 *
 * A conversion goes through the widest type of its source's kind (i64, u64, f64), which is exact, and from there to the result
 * with one rounding: 13 loads and 39 stores instead of 169 loops. */
#include "ir/eval.h"
#include "ir/eval_types.h"

enum { CHUNK = 512 };
union wide { int64_t i[CHUNK]; uint64_t u[CHUNK]; double f[CHUNK]; };
enum kind { SIGNED, UNSIGNED, FLOATING };

/* bf16 takes 8 bits: more than 53 significant bits are squeezed into f64 by keeping that there was a rest (round to odd) */
static double odd(uint64_t x)
{
	return (double)(x >> 53 ? (x & ~UINT64_C(0xfff)) | (uint64_t)((x & 0xfff) != 0) << 12 : x);
}
static uint16_t i_to_f16(int64_t x) { return tn_f64_to_f16((double)x); }        /* what f64 can't hold is infinity in f16 */
static uint16_t u_to_f16(uint64_t x) { return tn_f64_to_f16((double)x); }
static uint16_t u_to_bf16(uint64_t x) { return tn_f64_to_bf16(odd(x)); }
static uint16_t i_to_bf16(int64_t x) { return tn_f64_to_bf16(x < 0 ? -odd(0 - (uint64_t)x) : odd((uint64_t)x)); }

#define LOAD_INT(dt, S, U, member, W) \
	static void load_##dt(union wide *w, const void *p, size_t n) { const S *x = p; for (size_t i = 0; i < n; i++) w->member[i] = (W)x[i]; }
#define LOAD_FLT(dt, S, C, LD, ST, unused) \
	static void load_##dt(union wide *w, const void *p, size_t n) { const S *x = p; for (size_t i = 0; i < n; i++) w->f[i] = (double)LD(x[i]); }
#define STORE(dt, S, member, expr) \
	static void dt##_##member(void *p, const union wide *w, size_t n) { S *r = p; for (size_t i = 0; i < n; i++) { __typeof__(w->member[0]) x = w->member[i]; r[i] = (S)(expr); } }
/* truncation that saturates, NaN 0: LO is exact in f64, HI1 is one more than the largest and exact too */
#define SATURATE(dt, S, LO, HI, HI1) \
	static void dt##_f(void *p, const union wide *w, size_t n) \
	{ \
		S *r = p; \
		for (size_t i = 0; i < n; i++) { const double x = w->f[i]; r[i] = x != x ? 0 : x <= (double)(LO) ? (S)(LO) : x >= (HI1) ? (S)(HI) : (S)x; } \
	}
#define STORE_WRAP(dt, S, U, unused) STORE(dt, S, i, x) STORE(dt, S, u, x)

EV_BOOL(LOAD_INT, u, uint64_t)
EV_UINTS(LOAD_INT, u, uint64_t)
EV_SINTS(LOAD_INT, i, int64_t)
EV_FLOATS(LOAD_FLT, 0)
EV_INTS(STORE_WRAP, 0)
STORE(b8, uint8_t, i, x != 0) STORE(b8, uint8_t, u, x != 0) STORE(b8, uint8_t, f, x != 0)
STORE(f32, float, i, x) STORE(f32, float, u, x) STORE(f32, float, f, x)
STORE(f64, double, i, x) STORE(f64, double, u, x) STORE(f64, double, f, x)
STORE(f16, uint16_t, i, i_to_f16(x)) STORE(f16, uint16_t, u, u_to_f16(x)) STORE(f16, uint16_t, f, tn_f64_to_f16(x))
STORE(bf16, uint16_t, i, i_to_bf16(x)) STORE(bf16, uint16_t, u, u_to_bf16(x)) STORE(bf16, uint16_t, f, tn_f64_to_bf16(x))
SATURATE(u8, uint8_t, 0, UINT8_MAX, 0x1p8)            SATURATE(i8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
SATURATE(u16, uint16_t, 0, UINT16_MAX, 0x1p16)        SATURATE(i16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
SATURATE(u32, uint32_t, 0, UINT32_MAX, 0x1p32)        SATURATE(i32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
SATURATE(u64, uint64_t, 0, UINT64_MAX, 0x1p64)        SATURATE(i64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)

#define ROW(DT, dt, kind) [TN_##DT] = { kind, load_##dt, { dt##_i, dt##_u, dt##_f } }
static const struct {
	enum kind kind;
	void (*load)(union wide *, const void *, size_t);
	void (*store[3])(void *, const union wide *, size_t);   /* by the source's kind */
} rows[TN_C64] = {
	ROW(BOOL, b8, UNSIGNED), ROW(U8, u8, UNSIGNED), ROW(U16, u16, UNSIGNED), ROW(U32, u32, UNSIGNED), ROW(U64, u64, UNSIGNED),
	ROW(I8, i8, SIGNED), ROW(I16, i16, SIGNED), ROW(I32, i32, SIGNED), ROW(I64, i64, SIGNED),
	ROW(F16, f16, FLOATING), ROW(BF16, bf16, FLOATING), ROW(F32, f32, FLOATING), ROW(F64, f64, FLOATING),
};

/* small floats of one byte, and 4 and 2 bit types, are decoded and encoded one by one; those are packed low bits first */
static double load_small(uint32_t dtype, const uint8_t *p, uint64_t i)
{
	const uint32_t bits = tn_dtype_bits(dtype), code = (uint32_t)p[i * bits / 8] >> (i * bits % 8) & ((1u << bits) - 1);
	if (tn_small_is(dtype))
		return tn_small_decode(dtype, code);
	return (dtype == TN_I4 || dtype == TN_I2) && code >> (bits - 1) ? (double)code - (double)(1u << bits) : (double)code;
}

static void store_small(uint32_t dtype, uint8_t *p, uint64_t i, double x)
{
	const uint32_t bits = tn_dtype_bits(dtype), mask = (1u << bits) - 1, at = (uint32_t)(i * bits % 8);
	uint32_t code;
	if (tn_small_is(dtype)) {
		code = tn_small_encode(dtype, x);
	} else {
		const int sign = dtype == TN_I4 || dtype == TN_I2;
		const double lo = sign ? -(double)(1u << (bits - 1)) : 0, hi = sign ? -lo - 1 : (double)mask;
		code = (uint32_t)(int32_t)(x != x ? 0 : x < lo ? lo : x > hi ? hi : x) & mask;
	}
	p[i * bits / 8] = (uint8_t)((p[i * bits / 8] & ~(mask << at)) | code << at);
}

static int packed(uint32_t dtype) { return dtype >= TN_F8E4M3FN && dtype <= TN_U2; }

void ev_convert_n(uint32_t to, void *out, uint32_t from, const void *in, uint64_t n)
{
	union wide w;
	for (uint64_t at = 0; at < n; at += CHUNK) {
		const size_t k = n - at < CHUNK ? (size_t)(n - at) : CHUNK;
		enum kind kind = FLOATING;
		if (packed(from)) {
			for (size_t i = 0; i < k; i++)
				w.f[i] = load_small(from, in, at + i);
		} else {
			kind = rows[from].kind;
			rows[from].load(&w, (const char *)in + at * tn_dtype_bytes(from), k);
		}
		if (packed(to))
			for (size_t i = 0; i < k; i++)
				store_small(to, out, at + i, kind == SIGNED ? (double)w.i[i] : kind == UNSIGNED ? (double)w.u[i] : w.f[i]);
		else
			rows[to].store[kind]((char *)out + at * tn_dtype_bytes(to), &w, k);
	}
}

void ev_convert(struct ev *e)
{
	ev_convert_n(e->out->dtype, e->out->at, e->in[0].dtype, e->in[0].at, ev_count(e->out));
}

void ev_bitcast(struct ev *e)
{
	if (e->out->size > 0)
		memcpy(e->out->at, e->in[0].at, e->out->size);
}

void ev_full(struct ev *e)
{
	const struct tn_attr *v = tn_attr_find(e->g, e->n, TN_ATTR_value);
	uint64_t elem = 0;
	if (v != NULL && v->type == TN_ATTR_FLOAT)
		ev_convert_n(e->out->dtype, &elem, TN_F64, &v->f, 1);
	else if (v != NULL)
		ev_convert_n(e->out->dtype, &elem, TN_I64, &v->i, 1);
	ev_fill(e->out->at, &elem, tn_dtype_bytes(e->out->dtype), ev_count(e->out));
}

void ev_iota(struct ev *e)
{
	const struct tn_array *o = e->out;
	const uint32_t axis = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_axis, 0), elem = tn_dtype_bytes(o->dtype);
	uint64_t inner = 1;
	for (uint32_t d = axis + 1; d < o->rank; d++)
		inner *= (uint64_t)o->dims[d];
	const uint64_t count = ev_count(o), n = (uint64_t)o->dims[axis];
	for (uint64_t i = 0; i * inner < count; i++) {
		const int64_t number = (int64_t)(i % n);
		uint64_t bits = 0;
		ev_convert_n(o->dtype, &bits, TN_I64, &number, 1);
		ev_fill((char *)o->at + i * inner * elem, &bits, elem, inner);
	}
}
