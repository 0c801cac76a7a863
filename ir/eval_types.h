/* eval_types.h - the C types behind each dtype, as lists of rows for loop macros.
 *   integers  F(dt, S, U, ...)            S storage, U the unsigned type in which wrapping arithmetic is done (no promotion to int)
 *   floats    F(dt, S, C, LD, ST, ...)    S storage, C the type computed in, LD and ST between them; ST rounds */
#ifndef TENON_EVAL_TYPES_H
#define TENON_EVAL_TYPES_H
#include "ir/half.h"

#define EV_SAME(x) (x)
#define EV_BOOL(F, ...) F(b8, uint8_t, uint32_t, __VA_ARGS__)
#define EV_UINTS(F, ...) \
	F(u8, uint8_t, uint32_t, __VA_ARGS__) F(u16, uint16_t, uint32_t, __VA_ARGS__) F(u32, uint32_t, uint32_t, __VA_ARGS__) F(u64, uint64_t, uint64_t, __VA_ARGS__)
#define EV_SINTS(F, ...) \
	F(i8, int8_t, uint32_t, __VA_ARGS__) F(i16, int16_t, uint32_t, __VA_ARGS__) F(i32, int32_t, uint32_t, __VA_ARGS__) F(i64, int64_t, uint64_t, __VA_ARGS__)
#define EV_INTS(F, ...) EV_UINTS(F, __VA_ARGS__) EV_SINTS(F, __VA_ARGS__)
#define EV_FLOATS(F, ...) \
	F(f16, uint16_t, float, tn_f16_to_f32, tn_f32_to_f16, __VA_ARGS__) F(bf16, uint16_t, float, tn_bf16_to_f32, tn_f32_to_bf16, __VA_ARGS__) \
	F(f32, float, float, EV_SAME, EV_SAME, __VA_ARGS__) F(f64, double, double, EV_SAME, EV_SAME, __VA_ARGS__)

/* a table's columns for the loops op_dt that those lists made */
#define EV_COL_BOOL(op)   [TN_BOOL] = op##_b8
#define EV_COL_INTS(op)   [TN_U8] = op##_u8, [TN_U16] = op##_u16, [TN_U32] = op##_u32, [TN_U64] = op##_u64, \
	[TN_I8] = op##_i8, [TN_I16] = op##_i16, [TN_I32] = op##_i32, [TN_I64] = op##_i64
#define EV_COL_FLOATS(op) [TN_F16] = op##_f16, [TN_BF16] = op##_bf16, [TN_F32] = op##_f32, [TN_F64] = op##_f64

/* inside a loop: s_ the storage type, u_ the wrapping one, w_ the width in bits */
#define EV_LOCAL(S, U) typedef S s_; typedef U u_; enum { w_ = sizeof(S) * 8 }; (void)(u_)(s_)w_;
#endif
