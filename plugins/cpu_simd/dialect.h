/* dialect.h - how primitives and words are spelled in C with vector extensions (gcc and clang)
 *
 * Registers: bool is i32, 0 or 1 as a scalar and a mask of 0 or -1 lanes as a vector; f16 and bf16 are f32 that hold a value of
 * their format, so each operation computes in f32 and rounds (24 bits are enough for one rounding to be as good as two: 24 >=
 * 2 * 11 + 2); all else is itself.  A vector has L lanes of any type.  Where no vector row stands the renderer goes lane by lane.
 * Meanings are those of docs/design.md: integers wrap (-fwrapv), division never traps, max and min propagate NaN. */
#ifndef CPU_DIALECT_H
#define CPU_DIALECT_H
#include <tenon/plugin.h>

#define S TN_SCALAR
#define V TN_VECTOR
#define SV (TN_SCALAR | TN_VECTOR)
#define B1 TN_M(TN_BOOL)
#define F32 TN_M(TN_F32)
#define F64 TN_M(TN_F64)
#define FULL (F32 | F64)
#define F16 TN_M(TN_F16)
#define BF16 TN_M(TN_BF16)
#define HALF (F16 | BF16)
#define IN32 (F32 | HALF)                                  /* f32 in registers */
#define W1 (TN_M(TN_U8) | TN_M(TN_I8))
#define W2 (TN_M(TN_U16) | TN_M(TN_I16))
#define W4 (TN_M(TN_U32) | TN_M(TN_I32))
#define W8 (TN_M(TN_U64) | TN_M(TN_I64))
#define R(p, forms, in, out, text) TN_SPELL(p, forms, in, out, text),

#define CAT_(a, b) a##b
/* one row a format of 16-bit float: the f32 expression, rounded */
#define HALVES(p, forms, text) \
	R(p, (forms) & S, F16, F16, "@use(f16)@f16_round(" text ")") R(p, (forms) & V, F16, F16, "@use(f16v)@f16_roundv(" text ")") \
	R(p, (forms) & S, BF16, BF16, "@use(bf16)@bf16_round(" text ")") R(p, (forms) & V, BF16, BF16, "@use(bf16v)@bf16_roundv(" text ")")

/* comparisons: a vector's lanes have the operands' width and become 4 bytes wide */
#define COMPARE(p, op) \
	R(p, S, TN_M_PLAIN, B1, "@0@ " op " @1@") \
	R(p, V, W4 | IN32, B1, "(i32v)(@0@ " op " @1@)") \
	R(p, V, W1 | W2 | W8 | F64, B1, "__builtin_convertvector(@0@ " op " @1@, i32v)")

/* shifts by the width or more, and by negative counts, give 0 or the sign */
#define SHIFTS(mask, bits) \
	R(shl, S, mask, mask, "(u64)@1@ < " bits " ? @0@ << @1@ : 0") \
	R(shr, S, (mask) & TN_M_UINT, mask, "(u64)@1@ < " bits " ? @0@ >> @1@ : 0") \
	R(shr, S, (mask) & TN_M_SINT, mask, "@0@ >> ((u64)@1@ < " bits " ? @1@ : " bits " - 1)") \
	R(shl, V, mask, mask, "(@0@ << (@1@ & (" bits " - 1))) & (@T@)((@1@ >= 0) & (@1@ < " bits "))") \
	R(shr, V, (mask) & TN_M_UINT, mask, "(@0@ >> (@1@ & (" bits " - 1))) & (@T@)((@1@ >= 0) & (@1@ < " bits "))") \
	R(shr, V, (mask) & TN_M_SINT, mask, "(@0@ >> (@1@ & (" bits " - 1) & ((@1@ >= 0) & (@1@ < " bits "))) & ((@1@ >= 0) & (@1@ < " bits "))) | ((@0@ < 0) & ~((@1@ >= 0) & (@1@ < " bits ")))")

/* a float to an integer: NaN to 0, else saturated.  lo and hi are floats, hi one past the largest value. */
#define SATURATE(out, lo, hi, min, max) \
	R(convert, S, IN32 | F64, TN_M(out), "@0@ >= " lo " ? (@0@ < " hi " ? (@T@)@0@ : " max ") : @0@ != @0@ ? 0 : " min)

static const struct tn_dialect_row cpu_dialect_rows[] = {
	/* arithmetic */
	R(add, SV, TN_M_INT | FULL, TN_M_INT | FULL, "@0@ + @1@") HALVES(add, SV, "@0@ + @1@")
	R(sub, SV, TN_M_INT | FULL, TN_M_INT | FULL, "@0@ - @1@") HALVES(sub, SV, "@0@ - @1@")
	R(mul, SV, TN_M_INT | FULL, TN_M_INT | FULL, "@0@ * @1@") HALVES(mul, SV, "@0@ * @1@")
	R(div, SV, FULL, FULL, "@0@ / @1@") HALVES(div, SV, "@0@ / @1@")
	R(div, S, TN_M_UINT, TN_M_UINT, "@1@ ? @0@ / @1@ : (@T@)-1")
	R(div, S, TN_M_SINT, TN_M_SINT, "@1@ == 0 ? -1 : @1@ == -1 ? -@0@ : @0@ / @1@")
	R(rem, S, TN_M_UINT, TN_M_UINT, "@1@ ? @0@ % @1@ : @0@")
	R(rem, S, TN_M_SINT, TN_M_SINT, "@1@ == 0 ? @0@ : @1@ == -1 ? 0 : @0@ % @1@")
	R(rem, S, IN32 | F64, IN32 | F64, "@use(rem)@(@T@)rem_f64(@0@, @1@)")    /* exact, so the same in every format */
	R(max, S, TN_M_INT, TN_M_INT, "@0@ > @1@ ? @0@ : @1@")
	R(min, S, TN_M_INT, TN_M_INT, "@0@ < @1@ ? @0@ : @1@")
	R(max, V, TN_M_INT, TN_M_INT, "((@T@)(@0@ > @1@) & @0@) | (~(@T@)(@0@ > @1@) & @1@)")
	R(min, V, TN_M_INT, TN_M_INT, "((@T@)(@0@ < @1@) & @0@) | (~(@T@)(@0@ < @1@) & @1@)")
	R(max, SV, B1, B1, "@0@ | @1@") R(min, SV, B1, B1, "@0@ & @1@")
	R(max, S, IN32 | F64, IN32 | F64, "@0@ > @1@ || @0@ != @0@ ? @0@ : @0@ == @1@ && @0@ == 0 ? @0@ + @1@ : @1@")
	R(min, S, IN32 | F64, IN32 | F64, "@0@ < @1@ || @0@ != @0@ ? @0@ : @0@ == @1@ && @0@ == 0 ? -(-@0@ - @1@) : @1@")
	R(max, V, IN32, IN32, "@use(minmax_f32v)@max_f32v(@0@, @1@)") R(min, V, IN32, IN32, "@use(minmax_f32v)@min_f32v(@0@, @1@)")
	R(max, V, F64, F64, "@use(minmax_f64v)@max_f64v(@0@, @1@)") R(min, V, F64, F64, "@use(minmax_f64v)@min_f64v(@0@, @1@)")
	R(and, SV, TN_M_INT | B1, TN_M_INT | B1, "@0@ & @1@")
	R(or, SV, TN_M_INT | B1, TN_M_INT | B1, "@0@ | @1@")
	R(xor, SV, TN_M_INT | B1, TN_M_INT | B1, "@0@ ^ @1@")
	SHIFTS(W1, "8") SHIFTS(W2, "16") SHIFTS(W4, "32") SHIFTS(W8, "64")
	/* comparisons and choice */
	R(eq, V, B1, B1, "~(@0@ ^ @1@)") R(lt, V, B1, B1, "~@0@ & @1@") R(le, V, B1, B1, "~@0@ | @1@")
	R(ne, V, B1, B1, "@0@ ^ @1@") R(gt, V, B1, B1, "@0@ & ~@1@") R(ge, V, B1, B1, "@0@ | ~@1@")
	COMPARE(eq, "==") COMPARE(lt, "<") COMPARE(le, "<=") COMPARE(ne, "!=") COMPARE(gt, ">") COMPARE(ge, ">=")
	R(select, S, TN_M_PLAIN, TN_M_PLAIN, "@0@ ? @1@ : @2@")
	R(select, V, B1, B1, "(@0@ & @1@) | (~@0@ & @2@)")
	R(select, V, W4 | IN32, W4 | IN32, "@use(select4)@(@T@)select4(@0@, (i32v)@1@, (i32v)@2@)")
	R(select, V, W1, W1, "(@T@)((__builtin_convertvector(@0@, i8v) & (i8v)@1@) | (~__builtin_convertvector(@0@, i8v) & (i8v)@2@))")
	R(select, V, W2, W2, "(@T@)((__builtin_convertvector(@0@, i16v) & (i16v)@1@) | (~__builtin_convertvector(@0@, i16v) & (i16v)@2@))")
	R(select, V, W8 | F64, W8 | F64, "(@T@)((__builtin_convertvector(@0@, i64v) & (i64v)@1@) | (~__builtin_convertvector(@0@, i64v) & (i64v)@2@))")
	/* rounding to integers; a 16-bit float's result is one again */
	R(floor, S, IN32, IN32, "@use(round_f32)@floor_f32(@0@)") R(floor, S, F64, F64, "@use(round_f64)@floor_f64(@0@)")
	R(floor, V, IN32, IN32, "@use(round_f32v)@floor_f32v(@0@)") R(floor, V, F64, F64, "@use(round_f64v)@floor_f64v(@0@)")
	R(round, S, IN32, IN32, "@use(round_f32)@rint_f32(@0@)") R(round, S, F64, F64, "@use(round_f64)@rint_f64(@0@)")
	R(round, V, IN32, IN32, "@use(round_f32v)@rint_f32v(@0@)") R(round, V, F64, F64, "@use(round_f64v)@rint_f64v(@0@)")
	R(ceil, S, IN32, IN32, "@use(round_f32)@-floor_f32(-@0@)") R(ceil, S, F64, F64, "@use(round_f64)@-floor_f64(-@0@)")
	R(ceil, V, IN32, IN32, "@use(round_f32v)@-floor_f32v(-@0@)") R(ceil, V, F64, F64, "@use(round_f64v)@-floor_f64v(-@0@)")
	R(trunc, S, IN32, IN32, "@use(round_f32)@__builtin_copysignf(floor_f32(__builtin_fabsf(@0@)), @0@)")
	R(trunc, S, F64, F64, "@use(round_f64)@__builtin_copysign(floor_f64(__builtin_fabs(@0@)), @0@)")
	R(trunc, V, IN32, IN32, "@use(round_f32v)@@use(sign)@SIGNED(f32v, i32v, floor_f32v(MAGNITUDE(f32v, i32v, 0x7fffffff, @0@)), @0@, 0x7fffffff)")
	R(trunc, V, F64, F64, "@use(round_f64v)@@use(sign)@SIGNED(f64v, i64v, floor_f64v(MAGNITUDE(f64v, i64v, 0x7fffffffffffffff, @0@)), @0@, 0x7fffffffffffffff)")
	R(sqrt, S, F32, F32, "__builtin_sqrtf(@0@)") R(sqrt, S, F64, F64, "__builtin_sqrt(@0@)")
	R(sqrt, V, F32, F32, "@use(sqrt_f32v)@sqrt_f32v(@0@)") R(sqrt, V, F64, F64, "@use(sqrt_f64v)@sqrt_f64v(@0@)")
	R(sqrt, S, F16, F16, "@use(f16)@f16_round(__builtin_sqrtf(@0@))") R(sqrt, V, F16, F16, "@use(f16v)@@use(sqrt_f32v)@f16_roundv(sqrt_f32v(@0@))")
	R(sqrt, S, BF16, BF16, "@use(bf16)@bf16_round(__builtin_sqrtf(@0@))") R(sqrt, V, BF16, BF16, "@use(bf16v)@@use(sqrt_f32v)@bf16_roundv(sqrt_f32v(@0@))")
	/* composites that are cheaper so, with the same bits */
	R(neg, SV, TN_M_REAL, TN_M_REAL, "-@0@")
	R(abs, S, TN_M_SINT, TN_M_SINT, "@0@ < 0 ? -@0@ : @0@") R(abs, V, TN_M_SINT, TN_M_SINT, "(@0@ ^ (@0@ < 0)) - (@0@ < 0)")
	R(abs, SV, TN_M_UINT, TN_M_UINT, "@0@")
	R(abs, S, IN32, IN32, "__builtin_fabsf(@0@)") R(abs, S, F64, F64, "__builtin_fabs(@0@)")
	R(abs, V, IN32, IN32, "(f32v)((i32v)@0@ & 0x7fffffff)") R(abs, V, F64, F64, "(f64v)((i64v)@0@ & 0x7fffffffffffffff)")
	R(copysign, S, IN32, IN32, "__builtin_copysignf(@0@, @1@)") R(copysign, S, F64, F64, "__builtin_copysign(@0@, @1@)")
	R(copysign, V, IN32, IN32, "@use(sign)@SIGNED(f32v, i32v, @0@, @1@, 0x7fffffff)")
	R(copysign, V, F64, F64, "@use(sign)@SIGNED(f64v, i64v, @0@, @1@, 0x7fffffffffffffff)")
	R(not, S, B1, B1, "!@0@") R(not, V, B1, B1, "~@0@") R(not, SV, TN_M_INT, TN_M_INT, "~@0@")
	R(isnan, S, IN32 | F64, B1, "@0@ != @0@") R(isnan, V, IN32, B1, "(i32v)(@0@ != @0@)")
	R(isnan, V, F64, B1, "__builtin_convertvector(@0@ != @0@, i32v)")
	R(reciprocal, SV, FULL, FULL, "1 / @0@") HALVES(reciprocal, SV, "1 / @0@")
	R(square, SV, TN_M_INT | FULL, TN_M_INT | FULL, "@0@ * @0@") HALVES(square, SV, "@0@ * @0@")
	/* conversions */
	R(convert, SV, F32, F32, "@0@") R(convert, SV, F64, F64, "@0@") R(convert, SV, B1, B1, "@0@")
	R(convert, SV, HALF, F32, "@0@") R(convert, SV, F16, F16, "@0@") R(convert, SV, BF16, BF16, "@0@")
	R(convert, S, IN32, F64, "@0@") R(convert, V, IN32, F64, "__builtin_convertvector(@0@, f64v)")
	R(convert, S, F64, F32, "(f32)@0@") R(convert, V, F64, F32, "__builtin_convertvector(@0@, f32v)")
	R(convert, S, F32 | BF16, F16, "@use(f16)@f16_round(@0@)") R(convert, V, F32 | BF16, F16, "@use(f16v)@f16_roundv(@0@)")
	R(convert, S, F32 | F16, BF16, "@use(bf16)@bf16_round(@0@)") R(convert, V, F32 | F16, BF16, "@use(bf16v)@bf16_roundv(@0@)")
	R(convert, S, F64, F16, "@use(f16)@@use(odd_f64)@f16_round(odd_f64(@0@))") R(convert, S, F64, BF16, "@use(bf16)@@use(odd_f64)@bf16_round(odd_f64(@0@))")
	R(convert, S, TN_M_INT | B1, TN_M_INT | FULL, "(@T@)@0@")
	R(convert, V, TN_M_INT, TN_M_INT | FULL, "__builtin_convertvector(@0@, @T@)")
	R(convert, V, B1, TN_M_INT | FULL, "__builtin_convertvector(-@0@, @T@)")
	R(convert, S, TN_M_INT, F16, "@use(f16)@f16_round((f32)@0@)") R(convert, V, TN_M_INT, F16, "@use(f16v)@f16_roundv(__builtin_convertvector(@0@, f32v))")
	R(convert, S, W1 | W2, BF16, "@use(bf16)@bf16_round((f32)@0@)") R(convert, V, W1 | W2, BF16, "@use(bf16v)@bf16_roundv(__builtin_convertvector(@0@, f32v))")
	R(convert, S, W4, BF16, "@use(bf16)@@use(odd_f64)@bf16_round(odd_f64(@0@))")
	R(convert, S, TN_M(TN_I64), BF16, "@use(bf16)@@use(odd_f64)@@use(odd_i64)@bf16_round(odd_f64(@0@ < 0 ? -odd_u64(-(u64)@0@) : odd_u64(@0@)))")
	R(convert, S, TN_M(TN_U64), BF16, "@use(bf16)@@use(odd_f64)@@use(odd_i64)@bf16_round(odd_f64(odd_u64(@0@)))")
	R(convert, S, B1, HALF, "(f32)@0@") R(convert, V, B1, HALF, "__builtin_convertvector(-@0@, f32v)")
	R(convert, S, TN_M_REAL, B1, "@0@ != 0")
	R(convert, V, W4 | IN32, B1, "(i32v)(@0@ != 0)") R(convert, V, W1 | W2 | W8 | F64, B1, "__builtin_convertvector(@0@ != 0, i32v)")
	SATURATE(TN_U8, "0", "256", "0", "255") SATURATE(TN_U16, "0", "65536", "0", "65535")
	SATURATE(TN_U32, "0", "4294967296.0f", "0", "0xffffffff") SATURATE(TN_U64, "0", "18446744073709551616.0f", "0", "0xffffffffffffffff")
	SATURATE(TN_I8, "-128", "128", "-128", "127") SATURATE(TN_I16, "-32768", "32768", "-32768", "32767")
	SATURATE(TN_I32, "-2147483648.0f", "2147483648.0f", "(-2147483647 - 1)", "2147483647")
	SATURATE(TN_I64, "-9223372036854775808.0f", "9223372036854775808.0f", "(-9223372036854775807 - 1)", "9223372036854775807")
	R(convert, V, IN32, TN_M(TN_I32), "@use(int_f32v)@i32_f32v(@0@)")
	R(convert, V, IN32, TN_M(TN_U8), "@use(int_f32v)@__builtin_convertvector(clamp_i32v(i32_f32v(@0@), 0, 255), u8v)")
	R(convert, V, IN32, TN_M(TN_I8), "@use(int_f32v)@__builtin_convertvector(clamp_i32v(i32_f32v(@0@), -128, 127), i8v)")
	R(convert, V, IN32, TN_M(TN_U16), "@use(int_f32v)@__builtin_convertvector(clamp_i32v(i32_f32v(@0@), 0, 65535), u16v)")
	R(convert, V, IN32, TN_M(TN_I16), "@use(int_f32v)@__builtin_convertvector(clamp_i32v(i32_f32v(@0@), -32768, 32767), i16v)")
	/* bits */
	R(bitcast, S, W1, W1, "(@T@)@0@") R(bitcast, S, W2, W2, "(@T@)@0@") R(bitcast, S, W4, W4, "(@T@)@0@") R(bitcast, S, W8, W8, "(@T@)@0@")
	R(bitcast, V, W1, W1, "(@T@)@0@") R(bitcast, V, W2, W2, "(@T@)@0@")
	R(bitcast, V, W4 | F32, W4 | F32, "(@T@)@0@") R(bitcast, V, W8 | F64, W8 | F64, "(@T@)@0@")
	R(bitcast, S, F32, W4, "@use(bits)@bits_f32(@0@)") R(bitcast, S, W4, F32, "@use(bits)@from_bits_f32(@0@)") R(bitcast, S, F32, F32, "@0@")
	R(bitcast, S, F64, W8, "@use(bits)@bits_f64(@0@)") R(bitcast, S, W8, F64, "@use(bits)@from_bits_f64(@0@)") R(bitcast, S, F64, F64, "@0@")
	R(bitcast, S, F16, W2, "@use(f16)@(@T@)f16_bits(@0@)") R(bitcast, S, W2, F16, "@use(f16)@f16_value((u16)@0@)")
	R(bitcast, S, BF16, W2, "@use(bf16)@(@T@)bf16_bits(@0@)") R(bitcast, S, W2, BF16, "@use(bf16)@bf16_value((u16)@0@)")
	R(bitcast, S, F16, BF16, "@use(f16)@@use(bf16)@bf16_value(f16_bits(@0@))") R(bitcast, S, BF16, F16, "@use(f16)@@use(bf16)@f16_value(bf16_bits(@0@))")
	R(bitcast, SV, F16, F16, "@0@") R(bitcast, SV, BF16, BF16, "@0@")
};

/* ---- words */
#define W(role, forms, dtypes, text) TN_WORD(role, forms, dtypes, text),
#define TYPE(dtype, scalar) \
	W("type", S, TN_M(dtype), scalar) W("type", V, TN_M(dtype), scalar "v")
#define PLAIN_MEMORY (TN_M_INT | FULL)
#define FOLD_SUM(dtypes, t) \
	W("fold.add", V, dtypes, "@use(fold)@FOLD(" t ", @0@, x_ + y_)") W("fold.mul", V, dtypes, "@use(fold)@FOLD(" t ", @0@, x_ * y_)")
#define FOLD_INT(dtype, t) FOLD_SUM(TN_M(dtype), t) \
	W("fold.max", V, TN_M(dtype), "@use(fold)@FOLD(" t ", @0@, ((" t "v)(x_ > y_) & x_) | (~(" t "v)(x_ > y_) & y_))") \
	W("fold.min", V, TN_M(dtype), "@use(fold)@FOLD(" t ", @0@, ((" t "v)(x_ < y_) & x_) | (~(" t "v)(x_ < y_) & y_))")
#define FOLD_FLOAT(dtypes, t) \
	W("fold.max", V, dtypes, "@use(fold)@@use(minmax_" t "v)@FOLD(" t ", @0@, max_" t "v(x_, y_))") \
	W("fold.min", V, dtypes, "@use(fold)@@use(minmax_" t "v)@FOLD(" t ", @0@, min_" t "v(x_, y_))")
#define PART(mask, t) \
	W("load.part", V, mask, "@use(part_" t ")@part_" t "(@b@ + (@i@), @n@)") \
	W("store.part", V, mask, "@use(part_" t ")@put_" t "(@b@ + (@i@), @x@, @n@);")

extern const char cpu_text_preamble[], cpu_text_f16[], cpu_text_f16v[], cpu_text_bf16[], cpu_text_bf16v[], cpu_text_rem[], cpu_text_minmax_f32v[],
	cpu_text_minmax_f64v[], cpu_text_round_f32v[], cpu_text_part[], cpu_text_odd[], cpu_text_core[], cpu_text_sqrt[], cpu_text_fold[];

#define ROUND_SCALAR(t, magic, abs, copysign, floor, rint) \
	"static inline " t " rint_" t "(" t " x)\n{\n#ifdef __SSE4_1__\n\treturn " rint "(x);\n#else\n\t" t " m = " abs "(x);\n" \
	"\treturn m < " magic " ? " copysign "(m + " magic " - " magic ", x) : x;\n#endif\n}\n" \
	"static inline " t " floor_" t "(" t " x)\n{\n#ifdef __SSE4_1__\n\treturn " floor "(x);\n#else\n\t" t " r = rint_" t "(x);\n" \
	"\treturn r > x ? r - 1 : r;\n#endif\n}\n"
#define PART_HELPER(t) \
	W("helper.part_" t, 0, 0, "static __attribute__((noinline)) " t "v part_few_" t "(const " t " *p, i64 n)\n{\n\t" t "v x = { 0 };\n" \
		"\tfor (i64 l = 0; l < n; l++)\n\t\tx[l] = p[l];\n\treturn x;\n}\n" \
		"static __attribute__((noinline)) void put_few_" t "(" t " *p, " t "v x, i64 n)\n{\n\tfor (i64 l = 0; l < n; l++)\n\t\tp[l] = x[l];\n}\n" \
		"static inline " t "v part_" t "(const " t " *p, i64 n)\n{\n\tif (__builtin_expect(n == L, 1))\n\t\treturn *(const " t "v_u *)p;\n\treturn part_few_" t "(p, n);\n}\n" \
		"static inline void put_" t "(" t " *p, " t "v x, i64 n)\n{\n\tif (__builtin_expect(n == L, 1))\n\t\t*(" t "v_u *)p = x;\n\telse\n\t\tput_few_" t "(p, x, n);\n}\n")

static const struct tn_word_row cpu_word_rows[] = {
	W("preamble", 0, 0, cpu_text_preamble)
	/* types and literals */
	TYPE(TN_BOOL, "i32") TYPE(TN_U8, "u8") TYPE(TN_U16, "u16") TYPE(TN_U32, "u32") TYPE(TN_U64, "u64")
	TYPE(TN_I8, "i8") TYPE(TN_I16, "i16") TYPE(TN_I32, "i32") TYPE(TN_I64, "i64")
	TYPE(TN_F16, "f32") TYPE(TN_BF16, "f32") TYPE(TN_F32, "f32") TYPE(TN_F64, "f64")
	W("storage", 0, B1 | TN_M(TN_U8), "u8") W("storage", 0, TN_M(TN_U16) | HALF, "u16") W("storage", 0, TN_M(TN_U32), "u32")
	W("storage", 0, TN_M(TN_U64), "u64") W("storage", 0, TN_M(TN_I8), "i8") W("storage", 0, TN_M(TN_I16), "i16")
	W("storage", 0, TN_M(TN_I32), "i32") W("storage", 0, TN_M(TN_I64), "i64") W("storage", 0, F32, "f32") W("storage", 0, F64, "f64")
	W("literal", 0, B1, "@value@") W("literal", 0, TN_M(TN_U8), "(u8)@value@") W("literal", 0, TN_M(TN_I8), "(i8)@value@")
	W("literal", 0, TN_M(TN_U16), "(u16)@value@") W("literal", 0, TN_M(TN_I16), "(i16)@value@")
	W("literal", 0, TN_M(TN_U32), "@value@u") W("literal", 0, TN_M(TN_I32), "@value@")
	W("literal", 0, TN_M(TN_U64), "(u64)@value@u") W("literal", 0, TN_M(TN_I64), "(i64)@value@")
	W("literal", 0, IN32, "@value@f") W("literal", 0, F64, "@value@")
	W("literal.inf", 0, IN32, "@sign@__builtin_inff()") W("literal.inf", 0, F64, "@sign@__builtin_inf()")
	W("literal.nan", 0, IN32, "__builtin_nanf(\"\")") W("literal.nan", 0, F64, "__builtin_nan(\"\")")
	/* statements */
	W("let", 0, 0, "const @T@ @r@ = @x@;") W("var", 0, 0, "@T@ @r@ = @x@;") W("declare", 0, 0, "@T@ @r@;") W("set", 0, 0, "@r@ = @x@;")
	W("if", 0, 0, "if (@c@) {") W("else", 0, 0, "} else {") W("endif", 0, 0, "}")
	W("inside", 0, 0, "(u64)(@0@) < (u64)(@1@)")
	W("index", S, 0, "(i64)@0@")
	W("div", 0, 0, "(@0@ / @1@)") W("mod", 0, 0, "(@0@ % @1@)")
	W("floor_div", 0, 0, "@use(floor_div)@floor_div(@0@, @1@)") W("floor_mod", 0, 0, "@use(floor_div)@floor_mod(@0@, @1@)")
	/* arguments */
	W("arg.in", 0, 0, "const @S@ *const @b@ = a->b[@k@];") W("arg.out", 0, 0, "@S@ *const @b@ = a->b[@k@];")
	W("arg.size", 0, 0, "const i64 @r@ = a->s[@k@];")
	/* memory */
	W("load", S, B1 | PLAIN_MEMORY, "@b@[@i@]")
	W("load", S, F16, "@use(f16)@f16_value(@b@[@i@])") W("load", S, BF16, "@use(bf16)@bf16_value(@b@[@i@])")
	W("load", V, PLAIN_MEMORY, "*(const @T@_u *)(@b@ + (@i@))")
	W("load", V, B1, "-__builtin_convertvector(*(const u8v_u *)(@b@ + (@i@)), i32v)")
	W("load", V, F16, "@use(f16v)@f16_valuev(*(const u16v_u *)(@b@ + (@i@)))") W("load", V, BF16, "@use(bf16v)@bf16_valuev(*(const u16v_u *)(@b@ + (@i@)))")
	W("store", S, B1, "@b@[@i@] = (u8)@x@;") W("store", S, PLAIN_MEMORY, "@b@[@i@] = @x@;")
	W("store", S, F16, "@use(f16)@@b@[@i@] = f16_bits(@x@);") W("store", S, BF16, "@use(bf16)@@b@[@i@] = bf16_bits(@x@);")
	W("store", V, PLAIN_MEMORY, "*(@T@_u *)(@b@ + (@i@)) = @x@;")
	W("store", V, B1, "*(u8v_u *)(@b@ + (@i@)) = __builtin_convertvector(-@x@, u8v);")
	W("store", V, F16, "@use(f16v)@*(u16v_u *)(@b@ + (@i@)) = f16_bitsv(@x@);") W("store", V, BF16, "@use(bf16v)@*(u16v_u *)(@b@ + (@i@)) = bf16_bitsv(@x@);")
	PART(TN_M(TN_U8), "u8") PART(TN_M(TN_U16), "u16") PART(TN_M(TN_U32), "u32") PART(TN_M(TN_U64), "u64")
	PART(TN_M(TN_I8), "i8") PART(TN_M(TN_I16), "i16") PART(TN_M(TN_I32), "i32") PART(TN_M(TN_I64), "i64") PART(F32, "f32") PART(F64, "f64")
	W("load.part", V, B1, "@use(part_u8)@-__builtin_convertvector(part_u8(@b@ + (@i@), @n@), i32v)")
	W("load.part", V, F16, "@use(part_u16)@@use(f16v)@f16_valuev(part_u16(@b@ + (@i@), @n@))")
	W("load.part", V, BF16, "@use(part_u16)@@use(bf16v)@bf16_valuev(part_u16(@b@ + (@i@), @n@))")
	W("store.part", V, B1, "@use(part_u8)@put_u8(@b@ + (@i@), __builtin_convertvector(-@x@, u8v), @n@);")
	W("store.part", V, F16, "@use(part_u16)@@use(f16v)@put_u16(@b@ + (@i@), f16_bitsv(@x@), @n@);")
	W("store.part", V, BF16, "@use(part_u16)@@use(bf16v)@put_u16(@b@ + (@i@), bf16_bitsv(@x@), @n@);")
	/* lanes */
	W("lanes", 0, 0, "L") W("lane.index", 0, 0, "l_") W("lane.loop", 0, 0, "for (i64 l_ = 0; l_ < @n@; l_++) {") W("lane.end", 0, 0, "}")
	W("lane.loop.all", 0, 0, "_Pragma(\"GCC unroll 16\") for (i64 l_ = 0; l_ < L; l_++) {")
	W("lane", 0, B1, "(@0@[l_] & 1)") W("lane", 0, 0, "@0@[l_]")
	W("lane.set", 0, B1, "@r@[l_] = -(@x@);") W("lane.set", 0, 0, "@r@[l_] = @x@;")
	W("splat", V, B1, "SPLAT(i32v, -(@0@))") W("splat", V, 0, "SPLAT(@T@, @0@)")
	W("iota", V, 0, "@use(iota)@(@0@) + iota_i64v")
	/* the first n lanes of a value, the rest fill: without a branch, since it stands in loops that serve full vectors too */
	W("lanes.first", V, B1, "@use(iota)@@use(select4)@select4(iota_i32v < (i32)@n@, @0@, SPLAT(i32v, -(@fill@)))")
	W("lanes.first", V, W4 | IN32, "@use(iota)@@use(select4)@(@T@)select4(iota_i32v < (i32)@n@, (i32v)@0@, (i32v)SPLAT(@T@, @fill@))")
	W("lanes.first", V, W8 | F64, "@use(iota)@(@T@)(((iota_i64v < @n@) & (i64v)@0@) | (~(iota_i64v < @n@) & (i64v)SPLAT(@T@, @fill@)))")
	W("lanes.first", V, W1, "@use(iota)@(__builtin_convertvector(iota_i32v < (i32)@n@, @T@) & @0@) | (~__builtin_convertvector(iota_i32v < (i32)@n@, @T@) & SPLAT(@T@, @fill@))")
	W("lanes.first", V, W2, "@use(iota)@(__builtin_convertvector(iota_i32v < (i32)@n@, @T@) & @0@) | (~__builtin_convertvector(iota_i32v < (i32)@n@, @T@) & SPLAT(@T@, @fill@))")
	W("fold.max", V, B1, "@use(fold)@(FOLD(i32, @0@, x_ | y_) & 1)") W("fold.min", V, B1, "@use(fold)@(FOLD(i32, @0@, x_ & y_) & 1)")
	FOLD_INT(TN_U8, "u8") FOLD_INT(TN_U16, "u16") FOLD_INT(TN_U32, "u32") FOLD_INT(TN_U64, "u64")
	FOLD_INT(TN_I8, "i8") FOLD_INT(TN_I16, "i16") FOLD_INT(TN_I32, "i32") FOLD_INT(TN_I64, "i64")
	FOLD_SUM(F32, "f32") FOLD_SUM(F64, "f64") FOLD_FLOAT(IN32, "f32") FOLD_FLOAT(F64, "f64")
	/* kept rows */
	W("keep.declare", 0, 0, "@T@ *const @k@ = (@T@ *)((char *)a->scratch + @offset@);")
	W("keep.store", V, 0, "*(@T@_u *)(@k@ + (@i@)) = @x@;") W("keep.load", V, 0, "*(const @T@_u *)(@k@ + (@i@))")
	W("dot.core", 0, IN32, "dot_f32") W("dot.core", 0, F64, "dot_f64") W("dot.core", 0, W4, "dot_i32") W("dot.core", 0, W8, "dot_i64")
	/* helpers: functions that a unit holds once when a row asks for them */
	W("helper.bits", 0, 0,
		"static inline u32 bits_f32(f32 x) { union { f32 f; u32 u; } c = { .f = x }; return c.u; }\n"
		"static inline f32 from_bits_f32(u32 x) { union { u32 u; f32 f; } c = { .u = x }; return c.f; }\n"
		"static inline u64 bits_f64(f64 x) { union { f64 f; u64 u; } c = { .f = x }; return c.u; }\n"
		"static inline f64 from_bits_f64(u64 x) { union { u64 u; f64 f; } c = { .u = x }; return c.f; }\n")
	W("helper.floor_div", 0, 0,
		"static inline i64 floor_div(i64 x, i64 y) { i64 q = x / y; return q - (x % y != 0 && (x < 0) != (y < 0)); }\n"
		"static inline i64 floor_mod(i64 x, i64 y) { i64 m = x % y; return m != 0 && (m < 0) != (y < 0) ? m + y : m; }\n")
	W("helper.iota", 0, 0, "#if L == 4\n#define IOTA { 0, 1, 2, 3 }\n#elif L == 8\n#define IOTA { 0, 1, 2, 3, 4, 5, 6, 7 }\n#else\n"
		"#define IOTA { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }\n#endif\n"
		"static const i64v iota_i64v = IOTA;\nstatic const i32v iota_i32v = IOTA;\n")
	W("helper.sign", 0, 0,
		"#define MAGNITUDE(V, I, mask, x) ((V)((I)(x) & mask))\n"
		"#define SIGNED(V, I, m, s, mask) ((V)(((I)(m) & mask) | ((I)(s) & ~(I){ 0 } & ~SPLAT(I, mask))))\n")
	W("helper.select4", 0, 0,
		"static inline i32v select4(i32v m, i32v x, i32v y)\n{\n#if L == 8 && defined __AVX__\n"
		"\treturn (i32v)__builtin_ia32_blendvps256((f32v)y, (f32v)x, (f32v)m);\n#else\n\treturn (m & x) | (~m & y);\n#endif\n}\n")
	W("helper.fold", 0, 0, cpu_text_fold)
	W("helper.round_f32", 0, 0, ROUND_SCALAR("f32", "8388608.0f", "__builtin_fabsf", "__builtin_copysignf", "__builtin_floorf", "__builtin_rintf"))
	W("helper.round_f64", 0, 0, ROUND_SCALAR("f64", "4503599627370496.0", "__builtin_fabs", "__builtin_copysign", "__builtin_floor", "__builtin_rint"))
	W("helper.round_f32v", 0, 0, cpu_text_round_f32v)
	W("helper.round_f64v", 0, 0,
		"@use(sign)@static inline f64v rint_f64v(f64v x)\n{\n\tf64v m = MAGNITUDE(f64v, i64v, 0x7fffffffffffffff, x), r = m + 4503599627370496.0 - 4503599627370496.0;\n"
		"\ti64v big = ~(m < 4503599627370496.0);\n\tr = (f64v)((~big & (i64v)r) | (big & (i64v)m));\n\treturn SIGNED(f64v, i64v, r, x, 0x7fffffffffffffff);\n}\n"
		"static inline f64v floor_f64v(f64v x)\n{\n\tf64v r = rint_f64v(x);\n\treturn r - (f64v)((r > x) & (i64v)SPLAT(f64v, 1.0));\n}\n")
	W("helper.sqrt_f32v", 0, 0, cpu_text_sqrt)
	W("helper.sqrt_f64v", 0, 0, "static inline f64v sqrt_f64v(f64v x)\n{\n\tf64v r;\n\tfor (int l = 0; l < L; l++)\n\t\tr[l] = __builtin_sqrt(x[l]);\n\treturn r;\n}\n")
	W("helper.minmax_f32v", 0, 0, cpu_text_minmax_f32v)
	W("helper.minmax_f64v", 0, 0, cpu_text_minmax_f64v)
	W("helper.int_f32v", 0, 0,
		"static inline i32v i32_f32v(f32v x)\n{\n\ti32v r = __builtin_convertvector(x, i32v), over = (i32v)(x >= 2147483648.0f), under = (i32v)(x < -2147483648.0f);\n"
		"\tr = (r & ~over & ~under) | (over & 0x7fffffff) | (under & (-2147483647 - 1));\n\treturn r & (i32v)(x == x);\n}\n"
		"static inline i32v clamp_i32v(i32v x, i32 lo, i32 hi)\n{\n\ti32v l = SPLAT(i32v, lo), h = SPLAT(i32v, hi);\n"
		"\tx = ((x > l) & x) | (~(x > l) & l);\n\treturn ((x < h) & x) | (~(x < h) & h);\n}\n")
	W("helper.f16", 0, 0, cpu_text_f16) W("helper.f16v", 0, 0, cpu_text_f16v)
	W("helper.bf16", 0, 0, cpu_text_bf16) W("helper.bf16v", 0, 0, cpu_text_bf16v)
	W("helper.rem", 0, 0, cpu_text_rem)
	W("helper.odd_f64", 0, 0, cpu_text_odd)
	W("helper.odd_i64", 0, 0,
		"/* an integer as f64, the lost bits gathered in the last one, so that a later rounding is right */\n"
		"static inline f64 odd_u64(u64 x)\n{\n\treturn x >> 53 ? (f64)(i64)((x >> 11) | ((x & 0x7ff) != 0)) * 2048.0 : (f64)(i64)x;\n}\n")
	W("helper.core_head", 0, 0, "#define CPU_CORE_NO_HEADERS\n") W("helper.core", 0, 0, cpu_text_core)
	PART_HELPER("u8") PART_HELPER("u16") PART_HELPER("u32") PART_HELPER("u64")
	PART_HELPER("i8") PART_HELPER("i16") PART_HELPER("i32") PART_HELPER("i64") PART_HELPER("f32") PART_HELPER("f64")
};
#undef S
#undef V
#undef SV
#undef R
#undef W
#undef B1
#undef F32
#undef F64
#undef F16
#undef BF16
#endif
