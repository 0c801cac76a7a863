/* ops_norm.c - normalisation: batch, instance, group, layer, root mean square.
 * Scale and the like may have another dtype than the input; the result is as the input. */
#include "frontend/onnx/convert.h"

static uint32_t as(struct ox *o, uint32_t i, uint32_t x)
{
	return tn_ir_convert(o->ir, ox_v(o, i), ox_dtype(o, x));
}

/* one number for each channel of x */
static uint32_t as_channels(struct ox *o, uint32_t i, uint32_t x)
{
	const struct ox_val *v = ox_in(o, i);
	if (v->rank != 1 || ox_rank(o, x) < 2)
		ox_fail(o, TN_E_ARG, "input %u of rank %u for an input of rank %u", i, v->rank, ox_rank(o, x));
	ox_same(o, ox_dims(o, x)[1], v->dims[0]);
	return as(o, i, x);
}

static void batch_normalization(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	double epsilon = ox_float(o, "epsilon", (double)1e-5f);
	ox_skip_attr(o, "momentum");
	if (ox_int(o, "training_mode", 0) || ox_int(o, "spatial", 1) != 1)
		ox_fail(o, TN_E_UNSUPPORTED, "training mode, or spatial 0");
	for (uint32_t i = 1; i < o->node->n_out; i++)
		if (ox_wants(o, i))
			ox_fail(o, TN_E_UNSUPPORTED, "result %u, which only training has", i);
	struct tn_attr_in attrs[] = { TN_A_INT(axis, 1), TN_A_FLOAT(epsilon, epsilon) };
	uint32_t in[5] = { x, as_channels(o, 1, x), as_channels(o, 2, x), as_channels(o, 3, x), as_channels(o, 4, x) };
	ox_out(o, 0, tn_ir_add(o->ir, TN_batch_norm, in, 5, attrs, 2));
}

/* x [batch, channels, ..] with one scale and bias for each channel */
static uint32_t group_norm(struct ox *o, uint32_t x, uint32_t scale, uint32_t bias, int64_t groups, double epsilon)
{
	struct tn_attr_in attrs[] = { TN_A_INT(groups, groups), TN_A_FLOAT(epsilon, epsilon) };
	return tn_ir_add(o->ir, TN_group_norm, (uint32_t[]){ x, scale, bias }, 3, attrs, 2);
}

static void instance_normalization(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	int64_t channels;
	double epsilon = ox_float(o, "epsilon", (double)1e-5f);
	ox_spatial_rank(o, x);
	uint32_t scale = as_channels(o, 1, x), bias = as_channels(o, 2, x);
	if (!ox_const(o, ox_in(o, 1)->dims[0], &channels))
		ox_fail(o, TN_E_UNSUPPORTED, "%s channels", ox_print(o, ox_dims(o, x)[1]));
	ox_out(o, 0, group_norm(o, x, scale, bias, channels, epsilon));
}

/* one number a group as one a channel */
static uint32_t per_channel(struct ox *o, uint32_t v, int64_t groups, uint32_t channels)
{
	static const int64_t first = 0;
	uint32_t two[2] = { ox_c(o, groups), ox_over(o, channels, ox_c(o, groups)) };
	if (ox_rank(o, v) != 1)
		ox_fail(o, TN_E_ARG, "scale or bias of rank %u", ox_rank(o, v));
	return tn_ir_reshape(o->ir, tn_ir_broadcast(o->ir, v, two, 2, &first), &channels, 1);
}

static void group_normalization(struct ox *o)
{
	bool by_group = o->opset < 21;
	uint32_t x = ox_v(o, 0), scale = by_group ? as(o, 1, x) : as_channels(o, 1, x), bias = by_group ? as(o, 2, x) : as_channels(o, 2, x);
	int64_t groups = ox_int(o, "num_groups", 0);
	double epsilon = ox_float(o, "epsilon", (double)1e-5f);
	ox_skip_attr(o, "stash_type");
	ox_spatial_rank(o, x);
	ox_check_groups(o, x, groups);
	if (by_group) {
		scale = per_channel(o, scale, groups, ox_dims(o, x)[1]);
		bias = per_channel(o, bias, groups, ox_dims(o, x)[1]);
	}
	ox_out(o, 0, group_norm(o, x, scale, bias, groups, epsilon));
}

/* a parameter of the shape that the primitive wants: the dims from axis on.  TN_NOTHING when it has another that broadcasts */
static uint32_t row_shaped(struct ox *o, uint32_t v, uint32_t x, uint32_t axis)
{
	uint32_t n = ox_rank(o, x) - axis, r = ox_rank(o, v);
	for (uint32_t i = 1; i <= r && i <= n; i++)
		if (ox_dims(o, v)[r - i] != ox_c(o, 1))
			ox_same(o, ox_dims(o, v)[r - i], ox_dims(o, x)[ox_rank(o, x) - i]);
	return r <= n ? tn_ir_expand_to(o->ir, v, ox_dims(o, x) + axis, n) : TN_NOTHING;
}

static uint32_t row_norm(struct ox *o, uint32_t prim, uint32_t x, uint32_t axis, uint32_t scale, uint32_t bias, double epsilon)
{
	struct tn_attr_in attrs[] = { TN_A_INT(axis, axis), TN_A_FLOAT(epsilon, epsilon) };
	return tn_ir_add(o->ir, prim, (uint32_t[]){ x, scale, bias }, prim == TN_rms_norm ? 2 : 3, attrs, 2);
}

/* mean and 1 / deviation, in f32 as stash_type says */
static void norm_statistics(struct ox *o, uint32_t x, uint32_t axis, double epsilon)
{
	uint32_t rank = ox_rank(o, x), f = tn_ir_convert(o->ir, x, ox_dtype(o, x) == TN_F64 ? TN_F64 : TN_F32);
	const uint32_t *dims = ox_dims(o, x);
	int64_t axes[OX_RANK];
	uint64_t bits = 0;
	for (uint32_t d = axis; d < rank; d++) {
		axes[d - axis] = d;
		bits |= UINT64_C(1) << d;
	}
	uint32_t mean = ox_keep_dims(o, tn_ir_reduce(o->ir, TN_mean, f, axes, rank - axis), dims, rank, bits);
	uint32_t d2 = tn_ir_unary(o->ir, TN_square, ox_binary(o, TN_sub, f, mean));
	uint32_t var = ox_keep_dims(o, tn_ir_reduce(o->ir, TN_mean, d2, axes, rank - axis), dims, rank, bits);
	uint32_t inverse = tn_ir_unary(o->ir, TN_rsqrt, tn_ir_binary(o->ir, TN_add, var, ox_like(o, var, epsilon)));
	ox_out(o, 1, mean);
	ox_out(o, 2, inverse);
}

/* LayerNormalization and RMSNormalization: scale and bias broadcast to x, mostly from the dims that are normalised */
static void row_normalization(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), axis = (uint32_t)ox_axis(o, ox_int(o, "axis", -1), rank);
	double epsilon = ox_float(o, "epsilon", (double)1e-5f);
	int64_t stash = ox_int(o, "stash_type", 1);
	if (stash != 1 && !(stash == 11 && ox_dtype(o, x) == TN_F64))
		ox_fail(o, TN_E_UNSUPPORTED, "stash_type %lld", (long long)stash);
	uint32_t n = rank - axis;
	const uint32_t *row = ox_dims(o, x) + axis;
	uint32_t ones = tn_ir_full(o->ir, ox_dtype(o, x), 1, row, n), zeros = tn_ir_full(o->ir, ox_dtype(o, x), 0, row, n);
	uint32_t scale = as(o, 1, x), bias = ox_has(o, 2) ? as(o, 2, x) : zeros;
	uint32_t s = row_shaped(o, scale, x, axis), b = row_shaped(o, bias, x, axis);
	if (s != TN_NOTHING && b != TN_NOTHING) {
		ox_out(o, 0, row_norm(o, o->op->arg, x, axis, s, b, epsilon));
	} else {
		uint32_t y = ox_binary(o, TN_mul, row_norm(o, o->op->arg, x, axis, ones, zeros, epsilon), scale);
		ox_out(o, 0, ox_has(o, 2) ? ox_binary(o, TN_add, y, bias) : y);
	}
	if (ox_wants(o, 1) || ox_wants(o, 2))
		norm_statistics(o, x, axis, epsilon);
}

/* x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta */
static void local_response(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), low[OX_RANK], high[OX_RANK];
	int64_t size = ox_int(o, "size", 0), one = 1, channel = 1, last = rank;
	double alpha = ox_float(o, "alpha", (double)1e-4f), beta = ox_float(o, "beta", 0.75), bias = ox_float(o, "bias", 1);
	if (size < 1 || size > OX_DIM_MAX || rank < 2 || rank + 1 > OX_RANK)
		ox_fail(o, TN_E_ARG, "size %lld, input of rank %u", (long long)size, rank);
	for (uint32_t d = 0; d < rank; d++) {
		low[d] = ox_c(o, d == 1 ? (size - 1) / 2 : 0);
		high[d] = ox_c(o, d == 1 ? size - 1 - (size - 1) / 2 : 0);
	}
	uint32_t v = ox_pad(o, tn_ir_unary(o->ir, TN_square, x), 0, low, high, NULL), window = ox_c(o, size);
	struct tn_attr_in attrs[] = { TN_A_INTS(dims, &channel, 1), TN_A_SIZES(size, &window, 1), TN_A_INTS(stride, &one, 1), TN_A_INTS(dilation, &one, 1) };
	v = tn_ir_reduce(o->ir, TN_sum, tn_ir_add(o->ir, TN_window, &v, 1, attrs, 4), &last, 1);
	v = tn_ir_binary(o->ir, TN_add, tn_ir_binary(o->ir, TN_mul, v, ox_like(o, v, alpha / (double)size)), ox_like(o, v, bias));
	ox_out(o, 0, tn_ir_binary(o->ir, TN_div, x, tn_ir_binary(o->ir, TN_pow, v, ox_like(o, v, beta))));
}

/* (x - mean) / (deviation + 1e-9) over the named axes */
static void mean_variance(struct ox *o)
{
	static const int64_t usual[] = { 0, 2, 3 };
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), n, k = 0;
	const int64_t *given = ox_ints(o, "axes", &n), *named = given ? given : usual;
	const uint32_t *dims = ox_dims(o, x);
	uint64_t bits = 0;
	int64_t axes[OX_RANK];
	for (uint32_t i = 0; i < (given ? n : 3); i++)
		bits |= UINT64_C(1) << ox_axis(o, named[i], rank);
	for (uint32_t d = 0; d < rank; d++)
		if (bits >> d & 1)
			axes[k++] = d;
	uint32_t c = ox_binary(o, TN_sub, x, ox_keep_dims(o, tn_ir_reduce(o->ir, TN_mean, x, axes, k), dims, rank, bits));
	uint32_t dev = ox_keep_dims(o, tn_ir_reduce(o->ir, TN_mean, tn_ir_unary(o->ir, TN_square, c), axes, k), dims, rank, bits);
	dev = tn_ir_unary(o->ir, TN_sqrt, dev);
	ox_out(o, 0, ox_binary(o, TN_div, c, tn_ir_binary(o->ir, TN_add, dev, ox_like(o, dev, 1e-9))));
}

static const struct ox_op rows[] = {
	{ "LRN", 1, 0, local_response, 0, NULL, 0 },
	{ "MeanVarianceNormalization", 9, 0, mean_variance, 0, NULL, 0 },
	{ "BatchNormalization", 7, 0, batch_normalization, 0, NULL, 0 },
	{ "InstanceNormalization", 6, 0, instance_normalization, 0, NULL, 0 },
	{ "GroupNormalization", 18, 0, group_normalization, 0, NULL, 0 },
	{ "LayerNormalization", 17, 0, row_normalization, TN_layer_norm, NULL, 0 },
	{ "RMSNormalization", 23, 0, row_normalization, TN_rms_norm, NULL, 0 },
};
const struct ox_ops ox_ops_norm = { rows, sizeof rows / sizeof *rows };
