/* ops_source.c - operators that make elements from numbers and shapes: constants, ranges, identity and triangles */
#include "frontend/onnx/convert.h"

static const struct tn_onnx_tensor *tensor_of(struct ox *o, uint32_t dtype, uint32_t rank, uint64_t count, const void *at, uint64_t size)
{
	struct tn_onnx_tensor *t = tn_new(o->a, struct tn_onnx_tensor);
	int64_t *dims = tn_array(o->a, int64_t, 1);
	dims[0] = (int64_t)count;
	*t = (struct tn_onnx_tensor){ .dtype = dtype, .rank = rank, .dims = dims, .count = count, .at = at, .size = size };
	return t;
}

static void constant(struct ox *o)
{
	const struct tn_onnx_attr *a;
	if ((a = ox_attr(o, "value", TN_ONNX_A_TENSOR)))
		ox_out_tensor(o, 0, a->t);
	else if ((a = ox_attr(o, "value_float", TN_ONNX_FLOAT)))
		ox_out_tensor(o, 0, tensor_of(o, TN_F32, 0, 1, &a->f, 4));
	else if ((a = ox_attr(o, "value_floats", TN_ONNX_FLOATS)))
		ox_out_tensor(o, 0, tensor_of(o, TN_F32, 1, a->n, a->floats, 4 * (uint64_t)a->n));
	else if ((a = ox_attr(o, "value_int", TN_ONNX_INT)))
		ox_out_tensor(o, 0, tensor_of(o, TN_I64, 0, 1, &a->i, 8));
	else if ((a = ox_attr(o, "value_ints", TN_ONNX_INTS)))
		ox_out_tensor(o, 0, tensor_of(o, TN_I64, 1, a->n, a->ints, 8 * (uint64_t)a->n));
	else
		ox_fail(o, TN_E_UNSUPPORTED, "a constant that is not a tensor or a number: %.*s", TN_STR(o->node->n_attr ? o->node->attrs[0].name : o->node->name));
}

/* a full tensor whose number stands in a one-element tensor */
static uint32_t filled(struct ox *o, const struct tn_onnx_tensor *t, const uint32_t *dims, uint32_t rank)
{
	if (t->count != 1)
		ox_fail(o, TN_E_ARG, "attribute 'value' has %llu elements and not 1", (unsigned long long)t->count);
	uint32_t one = tn_ir_constant(o->ir, NULL, t->dtype, 0, NULL, tn_copy_bytes(o->a, t->at, (size_t)t->size), t->size);
	return tn_ir_expand_to(o->ir, one, dims, rank);
}

static void constant_of_shape(struct ox *o)
{
	uint32_t n;
	const uint32_t *dims = ox_need_sizes(o, 0, "the shape", &n);
	const struct tn_onnx_attr *a = ox_attr(o, "value", TN_ONNX_A_TENSOR);
	if (n > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", n, OX_RANK);
	for (uint32_t d = 0; d < n; d++)
		if (ox_hi(o, dims[d]) < 0)
			ox_fail(o, TN_E_ARG, "dim %u is %s", d, ox_print(o, dims[d]));
	ox_out(o, 0, a ? filled(o, a->t, dims, n) : tn_ir_full(o->ir, TN_F32, 0, dims, n));
}

static void same(struct ox *o) { ox_follow_same(o); }
static void shape(struct ox *o) { ox_follow_shape(o); }
static void size(struct ox *o) { ox_follow_size(o); }

static uint32_t eye(struct ox *o, const uint32_t *dims, int64_t k, uint32_t prim)   /* prim(column, row + k) as bool */
{
	uint32_t row = tn_ir_iota(o->ir, TN_I64, 0, dims, 2), column = tn_ir_iota(o->ir, TN_I64, 1, dims, 2);
	return tn_ir_binary(o->ir, prim, column, tn_ir_binary(o->ir, TN_add, row, tn_ir_full_int(o->ir, TN_I64, k, dims, 2)));
}

static void eye_like(struct ox *o)
{
	const struct ox_val *x = ox_in(o, 0);
	const struct tn_onnx_attr *to = ox_attr(o, "dtype", TN_ONNX_INT);
	uint32_t dtype = to ? tn_onnx_dtype(to->i) : x->dtype;
	if (x->rank != 2 || !dtype)
		ox_fail(o, TN_E_ARG, "input of rank %u, dtype %s", x->rank, tn_dtype_name(dtype));
	ox_out(o, 0, tn_ir_convert(o->ir, eye(o, x->dims, ox_int(o, "k", 0), TN_eq), dtype));
}

static void trilu(struct ox *o)
{
	bool upper = ox_int(o, "upper", 1);
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), n;
	int64_t k = 0;
	if (rank < 2)
		ox_fail(o, TN_E_ARG, "input of rank %u", rank);
	if (ox_has(o, 1)) {
		const int64_t *ks = ox_need_ints(o, 1, "k", &n);
		if (n != 1)
			ox_fail(o, TN_E_ARG, "k has %u elements", n);
		k = ks[0];
	}
	uint32_t keep = eye(o, ox_dims(o, x) + rank - 2, k, upper ? TN_ge : TN_le);
	ox_out(o, 0, ox_select(o, keep, x, ox_like(o, x, 0)));
}

/* ---- range: start + i * delta.  How long it is comes from numbers, from sizes, or is computed and bound */

static bool length_of_numbers(struct ox *o, struct ox_val *const v[3], uint32_t *n)
{
	double x[3];
	if (!ox_number(o, v[0], &x[0]) || !ox_number(o, v[1], &x[1]) || !ox_number(o, v[2], &x[2]) || x[2] == 0)
		return false;
	double len = (x[1] - x[0]) / x[2];
	if (len > (double)OX_DIM_MAX)
		ox_fail(o, TN_E_ARG, "%g elements", len);
	int64_t whole = len > 0 ? (int64_t)len : 0;
	*n = ox_c(o, whole + ((double)whole < len));
	return true;
}

static bool length_of_sizes(struct ox *o, struct ox_val *const v[3], uint32_t *n)
{
	uint32_t s[3], count;
	int64_t delta;
	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t *sizes = ox_sizes(o, v[i], &count);
		if (!sizes || count != 1)
			return false;
		s[i] = sizes[0];
	}
	if (!ox_const(o, s[2], &delta) || !delta || delta < -OX_DIM_MAX || delta > OX_DIM_MAX)
		return false;
	uint32_t span = delta > 0 ? ox_minus(o, s[1], s[0]) : ox_minus(o, s[0], s[1]);
	delta = delta < 0 ? -delta : delta;
	*n = ox_max(o, ox_over(o, ox_plus(o, span, ox_c(o, delta - 1)), ox_c(o, delta)), ox_c(o, 0));
	return true;
}

/* in f64, which is exact for every length that a dim can have */
static uint32_t length_at_run_time(struct ox *o, struct ox_val *const v[3])
{
	uint32_t x[3];
	for (uint32_t i = 0; i < 3; i++)
		x[i] = tn_ir_convert(o->ir, tn_ir_reshape(o->ir, ox_value(o, v[i]), NULL, 0), TN_F64);
	uint32_t n = tn_ir_binary(o->ir, TN_div, tn_ir_binary(o->ir, TN_sub, x[1], x[0]), x[2]);
	n = tn_ir_convert(o->ir, tn_ir_unary(o->ir, TN_ceil, n), TN_I64);
	return ox_bind(o, tn_ir_binary(o->ir, TN_max, n, ox_zero(o, TN_I64)), 0);
}

static void range(struct ox *o)
{
	struct ox_val *v[3] = { ox_in(o, 0), ox_in(o, 1), ox_in(o, 2) };
	uint32_t n, dtype = v[0]->dtype, in[3];
	if (!length_of_numbers(o, v, &n) && !length_of_sizes(o, v, &n))
		n = length_at_run_time(o, v);
	for (uint32_t i = 0; i < 3; i += 2)
		in[i] = tn_ir_expand_to(o->ir, tn_ir_reshape(o->ir, ox_value(o, v[i]), NULL, 0), &n, 1);
	uint32_t steps = tn_ir_binary(o->ir, TN_mul, tn_ir_iota(o->ir, dtype, 0, &n, 1), in[2]);
	ox_out(o, 0, tn_ir_binary(o->ir, TN_add, steps, in[0]));
}

static const struct ox_op rows[] = {
	{ "Constant", 1, 0, constant, 0, NULL, 0 },
	{ "ConstantOfShape", 9, 0, constant_of_shape, 0, ox_follow_fill, 0 },
	{ "Identity", 1, 0, same, 0, NULL, 0 },
	{ "Shape", 1, 0, shape, 0, NULL, 0 },
	{ "Size", 1, 0, size, 0, NULL, 0 },
	{ "EyeLike", 9, 0, eye_like, 0, NULL, 0 },
	{ "Trilu", 14, 0, trilu, 0, NULL, 0 },
	{ "Range", 11, 0, range, 0, ox_follow_range, 0 },
};
const struct ox_ops ox_ops_source = { rows, sizeof rows / sizeof *rows };
