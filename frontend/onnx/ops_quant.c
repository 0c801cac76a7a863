/* ops_quant.c - numbers as scale and zero point */
#include <string.h>
#include "frontend/onnx/convert.h"

/* a scale or zero point spread over x: one number, one for each place along axis, or one for each block along axis */
static uint32_t spread(struct ox *o, uint32_t p, uint32_t x, uint32_t axis, int64_t block)
{
	uint32_t rank = ox_rank(o, x), dims[OX_RANK + 1];
	const uint32_t *xd = ox_dims(o, x), *pd = ox_dims(o, p);
	int64_t where[OX_RANK];
	if (ox_rank(o, p) == 0 || (ox_rank(o, p) == 1 && pd[0] == ox_c(o, 1) && !block))
		return tn_ir_expand_to(o->ir, tn_ir_reshape(o->ir, p, NULL, 0), xd, rank);
	if (ox_rank(o, p) == 1 && !block) {
		where[0] = axis;
		return tn_ir_broadcast(o->ir, p, xd, rank, where);
	}
	if (!block || ox_rank(o, p) != rank || rank + 1 > OX_RANK)
		ox_fail(o, TN_E_ARG, "a scale of shape %s for %s, block_size %lld", ox_print_dims(o, pd, ox_rank(o, p)), ox_print_dims(o, xd, rank), (long long)block);
	for (uint32_t d = 0; d <= rank; d++)
		dims[d] = d <= axis ? pd[d] : d == axis + 1 ? ox_c(o, block) : pd[d - 1];
	for (uint32_t d = 0; d < rank; d++)
		where[d] = d <= axis ? d : d + 1;
	p = tn_ir_broadcast(o->ir, p, dims, rank + 1, where);
	memcpy(dims, pd, rank * sizeof *dims);
	dims[axis] = ox_times(o, pd[axis], ox_c(o, block));
	p = tn_ir_reshape(o->ir, p, dims, rank);
	return dims[axis] == xd[axis] ? p : ox_axis_slice(o, p, axis, ox_c(o, 0), xd[axis], 1);
}

struct quant { uint32_t axis; int64_t block; };

static struct quant read_quant(struct ox *o, uint32_t rank)
{
	struct quant q = { .block = ox_int(o, "block_size", 0) };
	int64_t axis = ox_int(o, "axis", 1);
	q.axis = rank > 1 || axis < 0 ? (uint32_t)(rank ? ox_axis(o, axis, rank) : 0) : 0;
	if (q.block < 0 || q.block > OX_DIM_MAX)
		ox_fail(o, TN_E_ARG, "block_size %lld", (long long)q.block);
	return q;
}

static uint32_t dtype_attr(struct ox *o, const char *name, uint32_t otherwise)
{
	int64_t elem = ox_int(o, name, 0);
	if (elem && !tn_onnx_dtype(elem))
		ox_fail(o, TN_E_ARG, "%s %lld", name, (long long)elem);
	return elem ? tn_onnx_dtype(elem) : otherwise;
}

/* (x - zero) * scale: the difference is exact in i32 or f32 */
static void dequantize(struct ox *o)
{
	uint32_t x = ox_v(o, 0), scale = ox_v(o, 1), dtype = dtype_attr(o, "output_dtype", ox_dtype(o, scale));
	struct quant q = read_quant(o, ox_rank(o, x));
	uint32_t in = ox_is_int(ox_dtype(o, x)) ? TN_I32 : TN_F32;
	uint32_t r = tn_ir_convert(o->ir, x, in);
	if (ox_has(o, 2))
		r = tn_ir_binary(o->ir, TN_sub, r, spread(o, tn_ir_convert(o->ir, ox_v(o, 2), in), x, q.axis, q.block));
	scale = spread(o, tn_ir_convert(o->ir, scale, TN_F32), x, q.axis, q.block);
	ox_out(o, 0, tn_ir_convert(o->ir, tn_ir_binary(o->ir, TN_mul, tn_ir_convert(o->ir, r, TN_F32), scale), dtype));
}

/* round(x / scale) + zero, cut to what the dtype holds (as convert does); small floats are not rounded first */
static uint32_t quantized(struct ox *o, uint32_t ratio, uint32_t zero, uint32_t dtype)
{
	if (!ox_is_int(dtype) && !(dtype >= TN_I4 && dtype <= TN_U2))
		return tn_ir_convert(o->ir, zero == TN_NOTHING ? ratio : tn_ir_binary(o->ir, TN_add, ratio, zero), dtype);
	ratio = tn_ir_unary(o->ir, TN_round, ratio);
	return tn_ir_convert(o->ir, zero == TN_NOTHING ? ratio : tn_ir_binary(o->ir, TN_add, ratio, zero), dtype);
}

static void quantize(struct ox *o)
{
	uint32_t x = ox_v(o, 0), zero = TN_NOTHING;
	struct quant q = read_quant(o, ox_rank(o, x));
	uint32_t dtype = ox_has(o, 2) ? ox_in(o, 2)->dtype : dtype_attr(o, "output_dtype", TN_U8);
	dtype_attr(o, "output_dtype", 0);
	if (!ox_int(o, "saturate", 1) || dtype_attr(o, "precision", TN_F32) != TN_F32)
		ox_fail(o, TN_E_UNSUPPORTED, "saturate 0, or a precision");
	uint32_t scale = spread(o, tn_ir_convert(o->ir, ox_v(o, 1), TN_F32), x, q.axis, q.block);
	if (ox_has(o, 2))
		zero = spread(o, tn_ir_convert(o->ir, ox_v(o, 2), TN_F32), x, q.axis, q.block);
	ox_out(o, 0, quantized(o, tn_ir_binary(o->ir, TN_div, tn_ir_convert(o->ir, x, TN_F32), scale), zero, dtype));
}

/* u8 over the range of x, which is made to hold 0 */
static void dynamic_quantize(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), zero = tn_ir_full(o->ir, TN_F32, 0, NULL, 0), top = tn_ir_full(o->ir, TN_F32, 255, NULL, 0);
	int64_t axes[OX_RANK];
	for (uint32_t d = 0; d < rank; d++)
		axes[d] = d;
	uint32_t hi = tn_ir_binary(o->ir, TN_max, rank ? tn_ir_reduce(o->ir, TN_reduce_max, x, axes, rank) : x, zero);
	uint32_t lo = tn_ir_binary(o->ir, TN_min, rank ? tn_ir_reduce(o->ir, TN_reduce_min, x, axes, rank) : x, zero);
	uint32_t scale = tn_ir_binary(o->ir, TN_div, tn_ir_binary(o->ir, TN_sub, hi, lo), top);
	uint32_t place = tn_ir_unary(o->ir, TN_round, tn_ir_binary(o->ir, TN_div, tn_ir_binary(o->ir, TN_sub, zero, lo), scale));
	place = tn_ir_binary(o->ir, TN_min, tn_ir_binary(o->ir, TN_max, place, zero), top);
	uint32_t spread_place = tn_ir_expand_to(o->ir, place, ox_dims(o, x), rank);
	ox_out(o, 0, quantized(o, ox_binary(o, TN_div, x, scale), spread_place, TN_U8));
	ox_out(o, 1, scale);
	ox_out(o, 2, tn_ir_convert(o->ir, place, TN_U8));
}

/* the i32 of input i less its zero point; a vector of these goes along `along`, counted from the right */
static uint32_t centred(struct ox *o, uint32_t i, uint32_t along)
{
	uint32_t x = tn_ir_convert(o->ir, ox_v(o, i), TN_I32), z = tn_ir_convert(o->ir, ox_v(o, i + 2), TN_I32);
	if (ox_rank(o, z) == 1 && along == 2 && ox_rank(o, x) > 1)
		z = ox_unsqueeze(o, z, 1);
	return ox_binary(o, TN_sub, x, z);
}

/* a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero: the product is exact in i32, then scaled and rounded once */
static void qlinear_matmul(struct ox *o)
{
	uint32_t r = tn_ir_convert(o->ir, ox_matmul(o, centred(o, 0, 2), centred(o, 3, 1), TN_NONE), TN_F32);
	uint32_t a = tn_ir_convert(o->ir, ox_v(o, 1), TN_F32), b = tn_ir_convert(o->ir, ox_v(o, 4), TN_F32), y = tn_ir_convert(o->ir, ox_v(o, 6), TN_F32);
	if (ox_rank(o, a) == 1 && ox_rank(o, r) > 1)
		a = ox_unsqueeze(o, a, 1);
	r = ox_binary(o, TN_mul, r, ox_binary(o, TN_div, ox_binary(o, TN_mul, a, b), y));
	uint32_t zero = tn_ir_convert(o->ir, ox_v(o, 7), TN_F32);
	zero = tn_ir_expand_to(o->ir, zero, ox_dims(o, r), ox_rank(o, r));
	ox_out(o, 0, quantized(o, r, zero, ox_in(o, 7)->dtype));
}

static const struct ox_op rows[] = {
	{ "DequantizeLinear", 10, 0, dequantize, 0, NULL, 0 },
	{ "QuantizeLinear", 10, 0, quantize, 0, NULL, 0 },
	{ "DynamicQuantizeLinear", 11, 0, dynamic_quantize, 0, NULL, 0 },
	{ "QLinearMatMul", 10, 0, qlinear_matmul, 0, NULL, 0 },
};
const struct ox_ops ox_ops_quant = { rows, sizeof rows / sizeof *rows };
