/* ops_index.c - operators that pick and place by computed indices
 *
 * ONNX counts negative indices from the end and calls the rest an error; the IR's gather and scatter know no negative ones and are
 * asked to check.  The element-wise and n-d forms become one gather or scatter on a linear index. */
#include <string.h>
#include "frontend/onnx/convert.h"

enum { CLAMP = 0, CHECK = 2 };

/* indices known now: checked and wrapped; 0 in mode: nothing left to check */
static uint32_t wrap_known(struct ox *o, struct ox_val *index, int64_t dim, uint32_t *mode)
{
	const struct tn_onnx_tensor *t = index->tensor;
	uint32_t bytes = tn_dtype_bytes(t->dtype);
	unsigned char *to = tn_arena_alloc(o->a, (size_t)t->size + 1);
	for (uint64_t i = 0; i < t->count; i++) {
		int64_t k = 0;
		memcpy(&k, (const char *)t->at + i * bytes, bytes);
		k = bytes == 4 ? (int32_t)k : k;
		if (k < -dim || k >= dim)
			ox_fail(o, TN_E_ARG, "index %lld (element %llu) is outside of a dim of %lld", (long long)k, (unsigned long long)i, (long long)dim);
		k += k < 0 ? dim : 0;
		memcpy(to + i * bytes, &k, bytes);
	}
	*mode = CLAMP;
	return tn_ir_constant(o->ir, NULL, t->dtype, t->rank, t->dims, to, t->size);
}

static uint32_t wrap(struct ox *o, uint32_t index, uint32_t dim)
{
	uint32_t dtype = ox_dtype(o, index), end = ox_binary(o, TN_add, index, ox_scalar(o, dtype, dim));
	return tn_ir_select(o->ir, tn_ir_binary(o->ir, TN_lt, index, ox_like(o, index, 0)), end, index);
}

/* input i as indices 0 .. dim-1 */
static uint32_t indices(struct ox *o, uint32_t i, uint32_t dim, uint32_t *mode)
{
	struct ox_val *v = ox_in(o, i);
	int64_t n;
	*mode = CHECK;
	if (v->dtype != TN_I32 && v->dtype != TN_I64)
		ox_fail(o, TN_E_ARG, "indices of dtype %s", tn_dtype_name(v->dtype));
	if (v->tensor && ox_const(o, dim, &n))
		return wrap_known(o, v, n, mode);
	return wrap(o, ox_value(o, v), dim);
}

static void gather(struct ox *o)
{
	uint32_t x = ox_v(o, 0), mode, rank = ox_rank(o, x), axis = (uint32_t)ox_axis(o, ox_int(o, "axis", 0), rank);
	uint32_t index = indices(o, 1, ox_dims(o, x)[axis], &mode);
	if (rank + ox_rank(o, index) - 1 > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", rank + ox_rank(o, index) - 1, OX_RANK);
	ox_out(o, 0, ox_take(o, x, index, axis, 0, mode));
}

/* ---- linear indices */

static uint32_t stride_of(struct ox *o, const uint32_t *dims, uint32_t rank, uint32_t d)
{
	return ox_scalar(o, TN_I64, ox_product(o, dims + d + 1, rank - d - 1));
}

/* for x[.., index, ..] with every other coordinate the index's own: the place in x seen flat */
static uint32_t linear_elements(struct ox *o, uint32_t index, const uint32_t *dims, uint32_t rank, uint32_t axis)
{
	const uint32_t *shape = ox_dims(o, index);
	uint32_t sum = TN_NOTHING;
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t at = d == axis ? tn_ir_convert(o->ir, index, TN_I64) : tn_ir_iota(o->ir, TN_I64, d, shape, rank);
		at = ox_binary(o, TN_mul, at, stride_of(o, dims, rank, d));
		sum = sum == TN_NOTHING ? at : tn_ir_binary(o->ir, TN_add, sum, at);
	}
	return sum;
}

/* An index that is out of its dim may be inside of the flat tensor, so it is made one that is outside of both. */
static uint32_t guarded(struct ox *o, uint32_t index, uint32_t dim, uint32_t all)
{
	uint32_t dtype = ox_dtype(o, index);
	uint32_t bad = ox_binary(o, TN_lt, index, ox_zero(o, dtype));
	bad = tn_ir_binary(o->ir, TN_or, bad, ox_binary(o, TN_ge, index, ox_scalar(o, dtype, dim)));
	return ox_select(o, bad, ox_scalar(o, dtype, all), index);
}

struct flat { uint32_t x, index, mode, axis, rank; const uint32_t *dims; };

static struct flat flat_elements(struct ox *o, const char *axis_name)
{
	struct flat f = { .x = ox_v(o, 0) };
	f.rank = ox_rank(o, f.x);
	f.dims = ox_dims(o, f.x);
	f.axis = (uint32_t)ox_axis(o, ox_int(o, axis_name, 0), f.rank);
	f.index = indices(o, 1, f.dims[f.axis], &f.mode);
	if (ox_rank(o, f.index) != f.rank)
		ox_fail(o, TN_E_ARG, "indices of rank %u for a tensor of rank %u", ox_rank(o, f.index), f.rank);
	uint32_t all = ox_product(o, f.dims, f.rank);
	f.index = tn_ir_convert(o->ir, f.index, TN_I64);
	if (f.mode == CHECK)
		f.index = guarded(o, f.index, f.dims[f.axis], all);
	f.index = linear_elements(o, f.index, f.dims, f.rank, f.axis);
	f.x = tn_ir_reshape(o->ir, f.x, &all, 1);
	return f;
}

static void gather_elements(struct ox *o)
{
	struct flat f = flat_elements(o, "axis");
	ox_out(o, 0, ox_take(o, f.x, f.index, 0, 0, f.mode));
}

static uint32_t scatter_op(struct ox *o)
{
	static const char *const names[] = { "none", "add", "mul", "max", "min" };   /* by the IR's attribute op */
	struct tn_str how = ox_text(o, "reduction", "none");
	for (uint32_t i = 0; i < 5; i++)
		if (tn_str_is(how, names[i]))
			return i;
	ox_fail(o, TN_E_ARG, "reduction '%.*s'", TN_STR(how));
}

static uint32_t scatter(struct ox *o, uint32_t x, uint32_t index, uint32_t updates, uint32_t axis, uint32_t batch, uint32_t mode)
{
	struct tn_attr_in attrs[] = { TN_A_INT(axis, axis), TN_A_INT(batch, batch), TN_A_INT(mode, mode), TN_A_INT(op, scatter_op(o)) };
	return tn_ir_add(o->ir, TN_scatter, (uint32_t[]){ x, index, updates }, 3, attrs, 4);
}

static void scatter_elements(struct ox *o)
{
	struct flat f = flat_elements(o, "axis");
	uint32_t r = scatter(o, f.x, f.index, ox_v(o, 2), 0, 0, f.mode);
	ox_out(o, 0, tn_ir_reshape(o->ir, r, f.dims, f.rank));
}

/* ---- n-d: the last dim of the index holds coordinates */

struct nd { uint32_t x, index, batch, depth, rank; const uint32_t *dims; uint32_t after; };   /* x [batch.., indexed, after..], index [batch.., ..] linear */

static struct nd n_dim(struct ox *o, int64_t batch)
{
	struct nd r = { .x = ox_v(o, 0), .batch = (uint32_t)batch };
	uint32_t index = tn_ir_convert(o->ir, ox_v(o, 1), TN_I64), ri = ox_rank(o, index), dims[OX_RANK + 1];
	const uint32_t *shape = ox_dims(o, index);
	int64_t depth;
	r.rank = ox_rank(o, r.x);
	r.dims = ox_dims(o, r.x);
	if (!ri || batch < 0 || batch >= (int64_t)ri || batch > (int64_t)r.rank)
		ox_fail(o, TN_E_ARG, "batch_dims %lld, a tensor of rank %u and indices of rank %u", (long long)batch, r.rank, ri);
	if (!ox_const(o, shape[ri - 1], &depth))
		ox_fail(o, TN_E_UNSUPPORTED, "the indices' last dim is %s", ox_print(o, shape[ri - 1]));
	if (depth < 1 || depth > (int64_t)r.rank - batch)
		ox_fail(o, TN_E_ARG, "%lld coordinates for a tensor of rank %u, %lld of them batch", (long long)depth, r.rank, (long long)batch);
	for (uint32_t d = 0; d < r.batch; d++)
		ox_same(o, r.dims[d], shape[d]);
	r.depth = (uint32_t)depth;
	const uint32_t *indexed = r.dims + batch;
	uint32_t all = ox_product(o, indexed, r.depth), sum = TN_NOTHING;
	for (uint32_t k = 0; k < r.depth; k++) {
		uint32_t at = ox_axis_slice(o, index, ri - 1, ox_c(o, k), ox_c(o, k + 1), 1);
		at = guarded(o, wrap(o, tn_ir_reshape(o->ir, at, shape, ri - 1), indexed[k]), indexed[k], all);
		at = ox_binary(o, TN_mul, at, stride_of(o, indexed, r.depth, k));
		sum = sum == TN_NOTHING ? at : tn_ir_binary(o->ir, TN_add, sum, at);
	}
	r.index = sum;
	r.after = r.rank - r.batch - r.depth;
	memcpy(dims, r.dims, r.batch * sizeof *dims);
	dims[r.batch] = all;
	memcpy(dims + r.batch + 1, indexed + r.depth, r.after * sizeof *dims);
	r.x = tn_ir_reshape(o->ir, r.x, dims, r.batch + 1 + r.after);
	return r;
}

static void gather_nd(struct ox *o)
{
	struct nd r = n_dim(o, ox_int(o, "batch_dims", 0));
	ox_out(o, 0, ox_take(o, r.x, r.index, r.batch, r.batch, CHECK));
}

static void scatter_nd(struct ox *o)
{
	struct nd r = n_dim(o, 0);
	const struct ox_val *updates = ox_in(o, 2);
	for (uint32_t k = 1; k <= r.after && k <= updates->rank; k++)
		ox_same(o, updates->dims[updates->rank - k], r.dims[r.rank - k]);
	ox_out(o, 0, tn_ir_reshape(o->ir, scatter(o, r.x, r.index, ox_v(o, 2), 0, 0, CHECK), r.dims, r.rank));
}

/* ---- one-hot: the depth is a size, the values [off, on] */

static void one_hot(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), dims[OX_RANK + 1], n;
	uint32_t axis = (uint32_t)ox_axis(o, ox_int(o, "axis", -1), rank + 1), values = ox_v(o, 2), depth;
	struct ox_val *d = ox_in(o, 1);
	double number;
	if (ox_number(o, d, &number) && number >= 0 && number <= (double)OX_DIM_MAX) {
		depth = ox_c(o, (int64_t)number);
	} else if (ox_is_float(d->dtype)) {
		depth = ox_bind(o, tn_ir_convert(o->ir, tn_ir_reshape(o->ir, ox_value(o, d), NULL, 0), TN_I64), 0);
	} else {
		depth = ox_need_sizes(o, 1, "depth", &n)[0];
		if (n != 1)
			ox_fail(o, TN_E_ARG, "depth has %u elements", n);
	}
	if (rank + 1 > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", rank + 1, OX_RANK);
	const uint32_t *old = ox_dims(o, x);
	for (uint32_t k = 0; k <= rank; k++)
		dims[k] = k < axis ? old[k] : k == axis ? depth : old[k - 1];
	uint32_t index = wrap(o, tn_ir_convert(o->ir, x, TN_I64), depth);
	index = tn_ir_expand_to(o->ir, ox_unsqueeze(o, index, axis), dims, rank + 1);
	uint32_t on = tn_ir_binary(o->ir, TN_eq, index, tn_ir_iota(o->ir, TN_I64, axis, dims, rank + 1));
	uint32_t off_value = ox_axis_slice(o, values, 0, ox_c(o, 0), ox_c(o, 1), 1), on_value = ox_axis_slice(o, values, 0, ox_c(o, 1), ox_c(o, 2), 1);
	ox_out(o, 0, ox_select(o, on, tn_ir_reshape(o->ir, on_value, NULL, 0), tn_ir_reshape(o->ir, off_value, NULL, 0)));
}

static void top_k(struct ox *o)
{
	uint32_t x = ox_v(o, 0), n = 1, k;
	int64_t axis = ox_axis(o, ox_int(o, "axis", -1), ox_rank(o, x));
	ox_skip_attr(o, "sorted");             /* ours are sorted either way */
	k = o->opset < 10 ? ox_c(o, ox_int(o, "k", 0)) : ox_need_sizes(o, 1, "k", &n)[0];
	if (n != 1 || ox_hi(o, k) < 0)
		ox_fail(o, TN_E_ARG, "k has %u elements, or is negative", n);
	struct tn_attr_in attrs[] = { TN_A_INT(axis, axis), TN_A_SIZES(k, &k, 1), TN_A_INT(largest, ox_int(o, "largest", 1) != 0) };
	uint32_t node = tn_ir_node(o->ir, &(struct tn_node_in){ .prim = TN_topk, .in = &x, .n_in = 1, .attrs = attrs, .n_attrs = 3 });
	for (uint32_t i = 0; i < 2; i++)
		ox_out(o, i, tn_out(&o->ir->g, &o->ir->g.nodes.at[node], i));
}

/* ---- as many as there are: places where a flat mask holds, in order, as i64 of a length that is bound when it runs */

static uint32_t places_of(struct ox *o, uint32_t mask)
{
	uint32_t n = ox_dims(o, mask)[0], ones = tn_ir_convert(o->ir, mask, TN_I64);
	int64_t axis = 0;
	struct tn_attr_in sum[] = { TN_A_INT(axis, 0), TN_A_INT(op, 1), TN_A_INT(exclusive, 1) };
	uint32_t to = tn_ir_add(o->ir, TN_cumulate, &ones, 1, sum, 3);
	uint32_t count = ox_bind(o, tn_ir_reduce(o->ir, TN_sum, ones, &axis, 1), 0);
	to = ox_select(o, mask, to, ox_scalar(o, TN_I64, n));   /* past the end: dropped */
	struct tn_attr_in drop[] = { TN_A_INT(axis, 0), TN_A_INT(mode, 1) };
	uint32_t in[3] = { tn_ir_full_int(o->ir, TN_I64, 0, &n, 1), to, tn_ir_iota(o->ir, TN_I64, 0, &n, 1) };
	return ox_axis_slice(o, tn_ir_add(o->ir, TN_scatter, in, 3, drop, 2), 0, ox_c(o, 0), count, 1);
}

static void nonzero(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), rows[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	uint32_t n = ox_product(o, dims, rank);
	if (!rank)
		ox_fail(o, TN_E_UNSUPPORTED, "an input of rank 0");
	uint32_t at = places_of(o, tn_ir_convert(o->ir, tn_ir_reshape(o->ir, x, &n, 1), TN_BOOL));
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t k = ox_binary(o, TN_div, at, stride_of(o, dims, rank, d));
		rows[d] = ox_unsqueeze(o, ox_binary(o, TN_rem, k, ox_scalar(o, TN_I64, dims[d])), 0);
	}
	ox_out(o, 0, tn_ir_add(o->ir, TN_cat, rows, rank, &TN_A_INT(axis, 0), 1));
}

static void compress(struct ox *o)
{
	uint32_t x = ox_v(o, 0), mask = ox_v(o, 1);
	const struct tn_onnx_attr *a = ox_attr(o, "axis", TN_ONNX_INT);
	uint32_t axis = a ? (uint32_t)ox_axis(o, a->i, ox_rank(o, x)) : 0, n = ox_product(o, ox_dims(o, x), ox_rank(o, x));
	if (ox_rank(o, mask) != 1)
		ox_fail(o, TN_E_ARG, "a condition of rank %u", ox_rank(o, mask));
	ox_out(o, 0, ox_take(o, a ? x : tn_ir_reshape(o->ir, x, &n, 1), places_of(o, mask), axis, 0, CHECK));
}

static const struct ox_op rows[] = {
	{ "Gather", 1, 0, gather, 0, ox_follow_gather, 0 },
	{ "GatherElements", 11, 0, gather_elements, 0, NULL, 0 },
	{ "GatherND", 11, 0, gather_nd, 0, NULL, 0 },
	{ "Scatter", 9, 11, scatter_elements, 0, NULL, 0 },
	{ "ScatterElements", 11, 0, scatter_elements, 0, NULL, 0 },
	{ "ScatterND", 11, 0, scatter_nd, 0, NULL, 0 },
	{ "OneHot", 9, 0, one_hot, 0, NULL, 0 },
	{ "TopK", 1, 0, top_k, 0, NULL, 0 },
	{ "NonZero", 9, 0, nonzero, 0, NULL, 0 },
	{ "Compress", 9, 0, compress, 0, NULL, 0 },
};
const struct ox_ops ox_ops_index = { rows, sizeof rows / sizeof *rows };
