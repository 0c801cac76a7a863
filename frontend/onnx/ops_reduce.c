/* ops_reduce.c - reductions, softmax and its kin, cumulative sums */
#include <math.h>
#include "frontend/onnx/convert.h"

enum kind { R_SUM, R_MEAN, R_MAX, R_MIN, R_PROD, R_L1, R_L2, R_LOG_SUM, R_LOG_SUM_EXP, R_SUM_SQUARE };

struct axes { int64_t at[OX_RANK]; uint32_t n; uint64_t bits; };

static struct axes all_or(struct ox *o, const int64_t *given, uint32_t n, uint32_t rank)
{
	struct axes a = { .n = 0 };
	for (uint32_t i = 0; i < n; i++)
		a.bits |= UINT64_C(1) << ox_axis(o, given[i], rank);
	if (!n)
		a.bits = (UINT64_C(1) << rank) - 1;
	for (uint32_t d = 0; d < rank; d++)
		if (a.bits >> d & 1)
			a.at[a.n++] = d;
	return a;
}

static uint32_t fold(struct ox *o, uint32_t prim, uint32_t x, const struct axes *a)
{
	return a->n ? tn_ir_reduce(o->ir, prim, x, a->at, a->n) : x;
}

static uint32_t mean_of(struct ox *o, uint32_t x, const struct axes *a)
{
	uint32_t dtype = ox_dtype(o, x), count = ox_c(o, 1);
	if (ox_is_float(dtype))
		return fold(o, TN_mean, x, a);
	const uint32_t *dims = ox_dims(o, x);
	for (uint32_t i = 0; i < a->n; i++)
		count = ox_times(o, count, dims[a->at[i]]);
	return ox_binary(o, TN_div, fold(o, TN_sum, x, a), ox_scalar(o, dtype, count));
}

static uint32_t through_float(struct ox *o, uint32_t prim, uint32_t x)   /* a unary float primitive on any number */
{
	uint32_t dtype = ox_dtype(o, x);
	return tn_ir_convert(o->ir, tn_ir_unary(o->ir, prim, tn_ir_convert(o->ir, x, ox_is_float(dtype) ? dtype : TN_F64)), dtype);
}

static uint32_t reduced(struct ox *o, enum kind kind, uint32_t x, const struct axes *a)
{
	uint32_t dtype = ox_dtype(o, x);
	switch (kind) {
	case R_SUM: return fold(o, TN_sum, x, a);
	case R_MEAN: return mean_of(o, x, a);
	case R_MAX: return fold(o, TN_reduce_max, x, a);
	case R_MIN: return fold(o, TN_reduce_min, x, a);
	case R_PROD: return fold(o, TN_prod, x, a);
	case R_L1: return fold(o, TN_sum, tn_ir_unary(o->ir, TN_abs, x), a);
	case R_L2: return through_float(o, TN_sqrt, fold(o, TN_sum, tn_ir_unary(o->ir, TN_square, x), a));
	case R_LOG_SUM: return through_float(o, TN_log, fold(o, TN_sum, x, a));
	case R_LOG_SUM_EXP: {
		uint32_t f = tn_ir_convert(o->ir, x, ox_is_float(dtype) ? dtype : TN_F64);
		return tn_ir_convert(o->ir, fold(o, TN_logsumexp, f, a), dtype);
	}
	case R_SUM_SQUARE: return fold(o, TN_sum, tn_ir_unary(o->ir, TN_square, x), a);
	}
	ox_fail(o, TN_E_INTERNAL, "reduction %u", (unsigned)kind);
}

/* axes: an attribute up to opset 17 (ReduceSum: 12), then an input */
static void reduce(struct ox *o)
{
	uint32_t n, x = ox_v(o, 0), rank = ox_rank(o, x);
	const int64_t *given = ox_axes(o, 1, &n);
	bool keep = ox_int(o, "keepdims", 1), noop = ox_int(o, "noop_with_empty_axes", 0);
	struct axes a = all_or(o, given, n, rank);
	if (noop && !n)
		a = (struct axes){ .n = 0 };
	const uint32_t *dims = ox_dims(o, x);
	uint32_t r = a.n || (rank == 0 && !noop) ? reduced(o, (enum kind)o->op->arg, x, &a) : x;
	ox_out(o, 0, keep ? ox_keep_dims(o, r, dims, rank, a.bits) : r);
}

/* ---- softmax, log-softmax, hardmax: one axis; up to opset 12 all dims from axis on are one */

/* 1 at the first of the largest */
static uint32_t one_hot_max(struct ox *o, uint32_t x, uint32_t axis)
{
	const uint32_t *dims = ox_dims(o, x);
	uint32_t rank = ox_rank(o, x), at = tn_ir_add(o->ir, TN_argmax, &x, 1, &TN_A_INT(axis, axis), 1);
	at = tn_ir_expand_to(o->ir, ox_keep_dims(o, at, dims, rank, UINT64_C(1) << axis), dims, rank);
	return tn_ir_convert(o->ir, tn_ir_binary(o->ir, TN_eq, at, tn_ir_iota(o->ir, TN_I64, axis, dims, rank)), ox_dtype(o, x));
}

static uint32_t along(struct ox *o, uint32_t x, uint32_t axis)
{
	return o->op->arg == TN_argmax ? one_hot_max(o, x, axis) : tn_ir_add(o->ir, o->op->arg, &x, 1, &TN_A_INT(axis, axis), 1);
}

static void softmax(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	ox_out(o, 0, along(o, x, (uint32_t)ox_axis(o, ox_int(o, "axis", -1), ox_rank(o, x))));
}

static void softmax_2d(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), axis = (uint32_t)ox_axis(o, ox_int(o, "axis", 1), rank);
	const uint32_t *dims = ox_dims(o, x);
	uint32_t two[2] = { ox_product(o, dims, axis), ox_product(o, dims + axis, rank - axis) };
	if (axis == rank - 1) {
		ox_out(o, 0, along(o, x, axis));
		return;
	}
	ox_out(o, 0, tn_ir_reshape(o->ir, along(o, tn_ir_reshape(o->ir, x, two, 2), 1), dims, rank));
}

/* ---- places of extremes */

static void arg_extreme(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), axis = (uint32_t)ox_axis(o, ox_int(o, "axis", 0), rank);
	bool keep = ox_int(o, "keepdims", 1), last = ox_int(o, "select_last_index", 0);
	const uint32_t *dims = ox_dims(o, x);
	uint32_t end = ox_minus(o, dims[axis], ox_c(o, 1));
	if (last)                              /* the first one, seen from the end */
		x = ox_axis_slice(o, x, axis, end, ox_c(o, -1), -1);
	uint32_t r = tn_ir_add(o->ir, o->op->arg, &x, 1, &TN_A_INT(axis, axis), 1);
	if (last)
		r = ox_binary(o, TN_sub, ox_scalar(o, TN_I64, end), r);
	ox_out(o, 0, keep ? ox_keep_dims(o, r, dims, rank, UINT64_C(1) << axis) : r);
}

static void cum(struct ox *o)
{
	uint32_t n, x = ox_v(o, 0);
	const int64_t *axis = ox_need_ints(o, 1, "axis", &n);
	if (n != 1)
		ox_fail(o, TN_E_ARG, "axis has %u elements", n);
	struct tn_attr_in attrs[] = { TN_A_INT(axis, ox_axis(o, axis[0], ox_rank(o, x))), TN_A_INT(op, o->op->arg),
	                              TN_A_INT(exclusive, ox_int(o, "exclusive", 0) != 0), TN_A_INT(reverse, ox_int(o, "reverse", 0) != 0) };
	ox_out(o, 0, tn_ir_add(o->ir, TN_cumulate, &x, 1, attrs, 4));
}

/* x / norm along an axis; a norm of 0 leaves 0 */
static void lp_normalization(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x);
	int64_t axis = ox_axis(o, ox_int(o, "axis", -1), rank), p = ox_int(o, "p", 2);
	if (p != 1 && p != 2)
		ox_fail(o, TN_E_ARG, "p %lld", (long long)p);
	const uint32_t *dims = ox_dims(o, x);
	struct axes a = { .at = { axis }, .n = 1 };
	uint32_t norm = ox_keep_dims(o, reduced(o, p == 1 ? R_L1 : R_L2, x, &a), dims, rank, UINT64_C(1) << axis);
	uint32_t zero = tn_ir_binary(o->ir, TN_eq, norm, ox_like(o, norm, 0));
	norm = tn_ir_select(o->ir, zero, ox_like(o, norm, 1), norm);
	ox_out(o, 0, ox_binary(o, TN_div, x, norm));
}

static const struct ox_op rows[] = {
	{ "ReduceSum", 1, 0, reduce, R_SUM, ox_follow_reduce, TN_add },
	{ "ReduceMean", 1, 0, reduce, R_MEAN, NULL, 0 },
	{ "ReduceMax", 1, 0, reduce, R_MAX, ox_follow_reduce, TN_max },
	{ "ReduceMin", 1, 0, reduce, R_MIN, ox_follow_reduce, TN_min },
	{ "ReduceProd", 1, 0, reduce, R_PROD, ox_follow_reduce, TN_mul },
	{ "ReduceL1", 1, 0, reduce, R_L1, NULL, 0 },
	{ "ReduceL2", 1, 0, reduce, R_L2, NULL, 0 },
	{ "ReduceLogSum", 1, 0, reduce, R_LOG_SUM, NULL, 0 },
	{ "ReduceLogSumExp", 1, 0, reduce, R_LOG_SUM_EXP, NULL, 0 },
	{ "ReduceSumSquare", 1, 0, reduce, R_SUM_SQUARE, NULL, 0 },
	{ "Softmax", 1, 13, softmax_2d, TN_softmax, NULL, 0 },
	{ "Softmax", 13, 0, softmax, TN_softmax, NULL, 0 },
	{ "LogSoftmax", 1, 13, softmax_2d, TN_log_softmax, NULL, 0 },
	{ "LogSoftmax", 13, 0, softmax, TN_log_softmax, NULL, 0 },
	{ "Hardmax", 1, 13, softmax_2d, TN_argmax, NULL, 0 },
	{ "Hardmax", 13, 0, softmax, TN_argmax, NULL, 0 },
	{ "ArgMax", 1, 0, arg_extreme, TN_argmax, NULL, 0 },
	{ "ArgMin", 1, 0, arg_extreme, TN_argmin, NULL, 0 },
	{ "CumSum", 11, 0, cum, 1, NULL, 0 },
	{ "CumProd", 26, 0, cum, 2, NULL, 0 },
	{ "LpNormalization", 1, 0, lp_normalization, 0, NULL, 0 },
};
const struct ox_ops ox_ops_reduce = { rows, sizeof rows / sizeof *rows };
