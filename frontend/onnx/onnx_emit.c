/* onnx_emit.c - small pieces of graph that many operators are made of */
#include <string.h>
#include "frontend/onnx/convert.h"

/* The IR's tables move when it grows, so shapes are copied out before anything is added. */
const uint32_t *ox_dims(const struct ox *o, uint32_t value)
{
	return tn_copy_bytes(o->a, tn_shape(&o->ir->g, value), tn_rank(&o->ir->g, value) * sizeof(uint32_t));
}

uint32_t ox_rank(const struct ox *o, uint32_t value) { return tn_rank(&o->ir->g, value); }
uint32_t ox_dtype(const struct ox *o, uint32_t value) { return tn_val(&o->ir->g, value)->dtype; }
bool ox_is_float(uint32_t dtype) { return TN_M_FLOAT >> dtype & 1; }
bool ox_is_int(uint32_t dtype) { return TN_M_INT >> dtype & 1; }

uint32_t ox_like(struct ox *o, uint32_t x, double value)
{
	return tn_ir_full(o->ir, ox_dtype(o, x), value, ox_dims(o, x), ox_rank(o, x));
}

uint32_t ox_like_int(struct ox *o, uint32_t x, int64_t value)
{
	return tn_ir_full_int(o->ir, ox_dtype(o, x), value, ox_dims(o, x), ox_rank(o, x));
}

uint32_t ox_zero(struct ox *o, uint32_t dtype)
{
	return tn_ir_full_int(o->ir, dtype, 0, NULL, 0);
}

static uint32_t common_dim(struct ox *o, uint32_t x, uint32_t y)
{
	int64_t cx, cy;
	if (x == y || (ox_const(o, y, &cy) && cy == 1))
		return x;
	if (ox_const(o, x, &cx) && cx == 1)
		return y;
	int equal = tn_size_eq(o->ir, x, y);
	if (equal == 1)
		return x;
	bool may_be_one = (ox_lo(o, x) <= 1 && ox_hi(o, x) >= 1) || (ox_lo(o, y) <= 1 && ox_hi(o, y) >= 1);
	if (equal == 0 && !may_be_one)
		ox_fail(o, TN_E_ARG, "dims %s and %s do not broadcast", ox_print(o, x), ox_print(o, y));
	ox_fail(o, TN_E_UNSUPPORTED, "whether dims %s and %s are equal is known only when it runs", ox_print(o, x), ox_print(o, y));
}

void ox_broadcast_dims(struct ox *o, const uint32_t *x, uint32_t rx, const uint32_t *y, uint32_t ry, uint32_t *dims, uint32_t *rank)
{
	uint32_t r = rx > ry ? rx : ry;
	if (r > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", r, OX_RANK);
	for (uint32_t i = 1; i <= r; i++)
		dims[r - i] = i > rx ? y[ry - i] : i > ry ? x[rx - i] : common_dim(o, x[rx - i], y[ry - i]);
	*rank = r;
}

void ox_broadcast(struct ox *o, uint32_t *values, uint32_t n)
{
	uint32_t dims[OX_RANK], rank = ox_rank(o, values[0]);
	memcpy(dims, ox_dims(o, values[0]), rank * sizeof *dims);
	for (uint32_t i = 1; i < n; i++)
		ox_broadcast_dims(o, dims, rank, ox_dims(o, values[i]), ox_rank(o, values[i]), dims, &rank);
	for (uint32_t i = 0; i < n; i++)
		values[i] = tn_ir_expand_to(o->ir, values[i], dims, rank);
}

uint32_t ox_binary(struct ox *o, uint32_t prim, uint32_t x, uint32_t y)
{
	uint32_t v[2] = { x, y };
	ox_broadcast(o, v, 2);
	return tn_ir_binary(o->ir, prim, v[0], v[1]);
}

uint32_t ox_select(struct ox *o, uint32_t c, uint32_t x, uint32_t y)
{
	uint32_t v[3] = { c, x, y };
	ox_broadcast(o, v, 3);
	return tn_ir_select(o->ir, v[0], v[1], v[2]);
}

uint32_t ox_scalar(struct ox *o, uint32_t dtype, uint32_t size)
{
	int64_t known;
	if (ox_const(o, size, &known))
		return tn_ir_full_int(o->ir, dtype, known, NULL, 0);
	uint32_t v = tn_ir_add(o->ir, TN_size, NULL, 0, &TN_A_SIZES(shape, &size, 1), 1);
	return tn_ir_convert(o->ir, tn_ir_reshape(o->ir, v, NULL, 0), dtype);
}

uint32_t ox_unsqueeze(struct ox *o, uint32_t x, uint32_t at)
{
	uint32_t dims[16], rank = ox_rank(o, x);
	const uint32_t *old = ox_dims(o, x);
	for (uint32_t d = 0; d <= rank; d++)
		dims[d] = d < at ? old[d] : d == at ? ox_c(o, 1) : old[d - 1];
	return tn_ir_reshape(o->ir, x, dims, rank + 1);
}

uint32_t ox_keep_dims(struct ox *o, uint32_t reduced, const uint32_t *dims, uint32_t rank, uint64_t axes)
{
	uint32_t kept[16];
	for (uint32_t d = 0; d < rank; d++)
		kept[d] = axes >> d & 1 ? ox_c(o, 1) : dims[d];
	return tn_ir_reshape(o->ir, reduced, kept, rank);
}

uint32_t ox_axis_slice(struct ox *o, uint32_t x, uint32_t axis, uint32_t start, uint32_t limit, int64_t step)
{
	uint32_t starts[16], limits[16], rank = ox_rank(o, x);
	int64_t steps[16];
	const uint32_t *dims = ox_dims(o, x);
	for (uint32_t d = 0; d < rank; d++) {
		starts[d] = d == axis ? start : ox_c(o, 0);
		limits[d] = d == axis ? limit : dims[d];
		steps[d] = d == axis ? step : 1;
	}
	struct tn_attr_in attrs[] = { TN_A_SIZES(start, starts, rank), TN_A_SIZES(limit, limits, rank), TN_A_INTS(step, steps, rank) };
	return tn_ir_add(o->ir, TN_slice, &x, 1, attrs, 3);
}

uint32_t ox_pad(struct ox *o, uint32_t x, double fill, const uint32_t *low, const uint32_t *high, const int64_t *interior)
{
	static const int64_t none[16];
	uint32_t rank = ox_rank(o, x), in[2] = { x, tn_ir_full(o->ir, ox_dtype(o, x), fill, NULL, 0) };
	bool same = !interior;
	for (uint32_t d = 0; d < rank; d++)
		same = same && low[d] == 0 && high[d] == 0;   /* handle 0 is the size 0 */
	struct tn_attr_in attrs[] = { TN_A_SIZES(low, low, rank), TN_A_SIZES(high, high, rank), TN_A_INTS(interior, interior ? interior : none, rank) };
	return same ? x : tn_ir_add(o->ir, TN_pad, in, 2, attrs, 3);
}

uint32_t ox_take(struct ox *o, uint32_t x, uint32_t indices, uint32_t axis, uint32_t batch, uint32_t mode)
{
	struct tn_attr_in attrs[] = { TN_A_INT(axis, axis), TN_A_INT(batch, batch), TN_A_INT(mode, mode) };
	return tn_ir_add(o->ir, TN_gather, (uint32_t[]){ x, indices }, 2, attrs, 3);
}

void ox_same(struct ox *o, uint32_t x, uint32_t y)
{
	int64_t k;
	uint32_t sym = ox_const(o, x, &k) ? y : x;
	if (x == y || !(ox_const(o, x, &k) || ox_const(o, y, &k)) || o->ir->g.sizes.at[sym].op != TN_SIZE_SYM)
		return;
	tn_size_sym(o->ir, tn_str_at(&o->ir->g, o->ir->g.symbols[o->ir->g.sizes.at[sym].a]), k, k);
}

static uint32_t dot(struct ox *o, uint32_t x, uint32_t y, uint32_t n_batch, uint32_t dtype)
{
	int64_t contract[2] = { (int64_t)ox_rank(o, x) - 1, n_batch }, batch[2 * OX_RANK];
	for (uint32_t d = 0; d < n_batch; d++)
		batch[2 * d] = batch[2 * d + 1] = d;
	ox_same(o, ox_dims(o, x)[contract[0]], ox_dims(o, y)[contract[1]]);
	struct tn_attr_in attrs[] = { TN_A_INTS(contract, contract, 2), TN_A_INTS(batch, batch, 2 * n_batch), TN_A_INT(dtype, dtype) };
	return tn_ir_add(o->ir, TN_dot, (uint32_t[]){ x, y }, 2, attrs, dtype ? 3 : 2);
}

/* x [.., m, k] times y [.., k, n]: with a plain matrix y the leading dims of x need not be a batch */
static uint32_t matmul(struct ox *o, uint32_t x, uint32_t y, uint32_t dtype)
{
	uint32_t rx = ox_rank(o, x), ry = ox_rank(o, y), dims[16], rank;
	const uint32_t *dx = ox_dims(o, x), *dy = ox_dims(o, y);
	if (ry == 2)
		return dot(o, x, y, 0, dtype);
	ox_broadcast_dims(o, dx, rx - 2, dy, ry - 2, dims, &rank);
	if (rank + 2 > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", rank + 2, OX_RANK);
	memcpy(dims + rank, dx + rx - 2, 2 * sizeof *dims);
	x = tn_ir_expand_to(o->ir, x, dims, rank + 2);
	memcpy(dims + rank, dy + ry - 2, 2 * sizeof *dims);
	y = tn_ir_expand_to(o->ir, y, dims, rank + 2);
	return dot(o, x, y, rank, dtype);
}

uint32_t ox_matmul(struct ox *o, uint32_t x, uint32_t y, uint32_t dtype)
{
	uint32_t rx = ox_rank(o, x), ry = ox_rank(o, y);
	if (!rx || !ry)
		ox_fail(o, TN_E_ARG, "an operand of rank 0");
	if (rx == 1)
		x = ox_unsqueeze(o, x, 0);
	if (ry == 1)
		y = ox_unsqueeze(o, y, 1);
	uint32_t r = matmul(o, x, y, dtype), rank = ox_rank(o, r), dims[16], n = 0;
	const uint32_t *all = ox_dims(o, r);
	for (uint32_t d = 0; d < rank; d++)
		if (!(rx == 1 && d == rank - 2) && !(ry == 1 && d == rank - 1))
			dims[n++] = all[d];
	return tn_ir_reshape(o->ir, r, dims, n);
}
