/* eval_point.c - elementwise atoms: one line a primitive and kind of dtype, one loop for each dtype from it. */
#include "ir/eval.h"
#include "ir/eval_types.h"
#include <math.h>

/* loops: R is what is stored, expr the value in terms of x and y */
#define INT2(dt, S, U, op, R, expr) \
	static void op##_##dt(void *out, const void *const *in, size_t n) \
	{ \
		EV_LOCAL(S, U) \
		const S *xs = in[0], *ys = in[1]; R *r = out; \
		for (size_t i = 0; i < n; i++) { const S x = xs[i], y = ys[i]; r[i] = (R)(expr); } \
	}
#define FLT2(dt, S, C, LD, ST, op, expr) \
	static void op##_##dt(void *out, const void *const *in, size_t n) \
	{ \
		const S *xs = in[0], *ys = in[1]; S *r = out; \
		for (size_t i = 0; i < n; i++) { const C x = LD(xs[i]), y = LD(ys[i]); r[i] = ST(expr); } \
	}
#define CMP2(dt, S, C, LD, ST, op, expr) \
	static void op##_##dt(void *out, const void *const *in, size_t n) \
	{ \
		const S *xs = in[0], *ys = in[1]; uint8_t *r = out; \
		for (size_t i = 0; i < n; i++) { const C x = LD(xs[i]), y = LD(ys[i]); r[i] = expr; } \
	}
#define FLT1(dt, S, C, LD, ST, op, expr) \
	static void op##_##dt(void *out, const void *const *in, size_t n) \
	{ \
		const S *xs = in[0]; S *r = out; \
		for (size_t i = 0; i < n; i++) { const C x = LD(xs[i]); r[i] = ST(expr); } \
	}
#define PICK(dt, S, U, op) \
	static void op##_##dt(void *out, const void *const *in, size_t n) \
	{ \
		const uint8_t *cs = in[0]; const S *xs = in[1], *ys = in[2]; S *r = out; \
		for (size_t i = 0; i < n; i++) r[i] = cs[i] ? xs[i] : ys[i]; \
	}

/* f16 and bf16: one f32 operation rounded once more gives the correctly rounded result, because 24 >= 2 * 11 + 2 */
#define WRAP(op) (s_)((u_)x op (u_)y)
EV_INTS(INT2, add, s_, WRAP(+))          EV_FLOATS(FLT2, add, x + y)
EV_INTS(INT2, sub, s_, WRAP(-))          EV_FLOATS(FLT2, sub, x - y)
EV_INTS(INT2, mul, s_, WRAP(*))          EV_FLOATS(FLT2, mul, x * y)
EV_UINTS(INT2, div, s_, y == 0 ? (s_)-1 : x / y)
EV_SINTS(INT2, div, s_, y == 0 ? (s_)-1 : y == -1 ? (s_)(0 - (u_)x) : x / y)
EV_FLOATS(FLT2, div, x / y)
EV_UINTS(INT2, rem, s_, y == 0 ? x : x % y)
EV_SINTS(INT2, rem, s_, y == 0 ? x : y == -1 ? 0 : x % y)
FLT2(f16, uint16_t, float, tn_f16_to_f32, tn_f32_to_f16, rem, fmodf(x, y))      /* fmod is exact, so it fits the operands' dtype */
FLT2(bf16, uint16_t, float, tn_bf16_to_f32, tn_f32_to_bf16, rem, fmodf(x, y))
FLT2(f32, float, float, EV_SAME, EV_SAME, rem, fmodf(x, y))
FLT2(f64, double, double, EV_SAME, EV_SAME, rem, fmod(x, y))
EV_BOOL(INT2, max, s_, x | y)            EV_INTS(INT2, max, s_, x > y ? x : y)
EV_BOOL(INT2, min, s_, x & y)            EV_INTS(INT2, min, s_, x < y ? x : y)
EV_FLOATS(FLT2, max, x != x ? x : y != y ? y : x == y ? (signbit(x) ? y : x) : x > y ? x : y)
EV_FLOATS(FLT2, min, x != x ? x : y != y ? y : x == y ? (signbit(x) ? x : y) : x < y ? x : y)
EV_BOOL(INT2, and, s_, x & y)            EV_INTS(INT2, and, s_, x & y)
EV_BOOL(INT2, or, s_, x | y)             EV_INTS(INT2, or, s_, x | y)
EV_BOOL(INT2, xor, s_, x ^ y)            EV_INTS(INT2, xor, s_, x ^ y)
EV_INTS(INT2, shl, s_, (u_)y >= w_ ? 0 : (s_)((u_)x << y))        /* a negative count is a large one */
EV_UINTS(INT2, shr, s_, (u_)y >= w_ ? 0 : x >> y)
EV_SINTS(INT2, shr, s_, x >> ((u_)y >= w_ ? w_ - 1 : y))          /* arithmetic, as every C compiler we support has it */
EV_BOOL(INT2, eq, uint8_t, x == y)       EV_INTS(INT2, eq, uint8_t, x == y)   EV_FLOATS(CMP2, eq, x == y)
EV_BOOL(INT2, lt, uint8_t, x < y)        EV_INTS(INT2, lt, uint8_t, x < y)    EV_FLOATS(CMP2, lt, x < y)
EV_BOOL(INT2, le, uint8_t, x <= y)       EV_INTS(INT2, le, uint8_t, x <= y)   EV_FLOATS(CMP2, le, x <= y)
EV_UINTS(PICK, select)
EV_FLOATS(FLT1, floor, (__typeof__(x))floor(x))
EV_FLOATS(FLT1, round, (__typeof__(x))rint(x))                    /* half to even: the default rounding mode */
FLT1(f16, uint16_t, float, tn_f16_to_f32, tn_f32_to_f16, sqrt, sqrtf(x))
FLT1(bf16, uint16_t, float, tn_bf16_to_f32, tn_f32_to_bf16, sqrt, sqrtf(x))
FLT1(f32, float, float, EV_SAME, EV_SAME, sqrt, sqrtf(x))
FLT1(f64, double, double, EV_SAME, EV_SAME, sqrt, sqrt(x))

#define REAL(op)  { EV_COL_INTS(op), EV_COL_FLOATS(op) }
#define PLAIN(op) { EV_COL_BOOL(op), EV_COL_INTS(op), EV_COL_FLOATS(op) }
#define BITS(op)  { EV_COL_BOOL(op), EV_COL_INTS(op) }
#define INT(op)   { EV_COL_INTS(op) }
#define FLT(op)   { EV_COL_FLOATS(op) }

static ev_loop *const loops[][TN_C64] = {
	[TN_add] = REAL(add), [TN_sub] = REAL(sub), [TN_mul] = REAL(mul), [TN_div] = REAL(div), [TN_rem] = REAL(rem),
	[TN_max] = PLAIN(max), [TN_min] = PLAIN(min), [TN_and] = BITS(and), [TN_or] = BITS(or), [TN_xor] = BITS(xor),
	[TN_shl] = INT(shl), [TN_shr] = INT(shr), [TN_eq] = PLAIN(eq), [TN_lt] = PLAIN(lt), [TN_le] = PLAIN(le),
	[TN_select] = { [TN_BOOL] = select_u8, [TN_U8] = select_u8, [TN_I8] = select_u8, [TN_U16] = select_u16, [TN_I16] = select_u16,
		[TN_F16] = select_u16, [TN_BF16] = select_u16, [TN_U32] = select_u32, [TN_I32] = select_u32, [TN_F32] = select_u32,
		[TN_U64] = select_u64, [TN_I64] = select_u64, [TN_F64] = select_u64 },
	[TN_floor] = FLT(floor), [TN_round] = FLT(round), [TN_sqrt] = FLT(sqrt),
};

ev_loop *ev_point(uint32_t prim, uint32_t dtype)
{
	return prim < sizeof loops / sizeof loops[0] && dtype < TN_C64 ? loops[prim][dtype] : NULL;
}
