/* builders.c - the table of builders, what they share, and tn_expand. */
#include "decomp/builders.h"
#include "decomp/decomp.h"
#include <math.h>

static const struct tn_builder rows[] = {
	{ TN_convolution, tn_build_convolution },
	{ TN_max_pool, tn_build_max_pool },
	{ TN_avg_pool, tn_build_avg_pool },
	{ TN_random_bits, tn_build_random_bits },
	{ TN_random_uniform, tn_build_random_uniform },
	{ TN_sort, tn_build_sort },
	{ TN_topk, tn_build_topk },
};
static const struct tn_builder_rows table = TN_ROWS(rows);

void tn_decomp_register(void)
{
	tn_ir_set_builders(&table);
}

struct tn_ir *tn_expand(const struct tn_graph *g, int (*keep)(void *, const struct tn_graph *, uint32_t), void *ctx, struct tn_arena *a)
{
	tn_decomp_register();
	return tn_ir_open_all(g, keep, ctx, a);
}

static int all_zero(const int64_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] != 0)
			return 0;
	return 1;
}

uint32_t tn_pad_spatial(struct tn_ir *ir, uint32_t x, uint32_t value, uint32_t first, const int64_t *low, const int64_t *high, uint32_t n)
{
	const uint32_t rank = tn_rank(&ir->g, x);
	uint32_t lows[TN_RANK_MAX] = { 0 }, highs[TN_RANK_MAX] = { 0 };
	const int64_t none[TN_RANK_MAX] = { 0 };
	if (all_zero(low, n) && all_zero(high, n))
		return x;
	for (uint32_t i = 0; i < n; i++) {
		lows[first + i] = tn_size_const(ir, low[i]);
		highs[first + i] = tn_size_const(ir, high[i]);
	}
	const struct tn_attr_in attrs[] = { TN_A_SIZES(low, lows, rank), TN_A_SIZES(high, highs, rank), TN_A_INTS(interior, none, rank) };
	return tn_ir_add(ir, TN_pad, (const uint32_t[]){ x, value }, 2, attrs, 3);
}

uint32_t tn_window_spatial(struct tn_ir *ir, uint32_t x, uint32_t first, const uint32_t *size, const int64_t *stride, const int64_t *dilation, uint32_t n)
{
	int64_t dims[TN_RANK_MAX], one[TN_RANK_MAX];
	for (uint32_t i = 0; i < n; i++) {
		dims[i] = first + i;
		one[i] = 1;
	}
	const struct tn_attr_in attrs[] = { TN_A_INTS(dims, dims, n), TN_A_SIZES(size, size, n), TN_A_INTS(stride, stride ? stride : one, n),
		TN_A_INTS(dilation, dilation ? dilation : one, n) };
	return tn_ir_add(ir, TN_window, &x, 1, attrs, 4);
}

/* shapes are copied: adding a node may move the tables */
static uint32_t copy_shape(const struct tn_ir *ir, uint32_t x, uint32_t *dims)
{
	const uint32_t rank = tn_rank(&ir->g, x);
	for (uint32_t d = 0; d < rank; d++)
		dims[d] = tn_shape(&ir->g, x)[d];
	return rank;
}

uint32_t tn_full_like(struct tn_ir *ir, uint32_t x, double value)
{
	uint32_t dims[TN_RANK_MAX];
	const uint32_t rank = copy_shape(ir, x, dims);
	return tn_ir_full(ir, tn_val(&ir->g, x)->dtype, value, dims, rank);
}

uint32_t tn_full_like_int(struct tn_ir *ir, uint32_t x, int64_t value)
{
	uint32_t dims[TN_RANK_MAX];
	const uint32_t rank = copy_shape(ir, x, dims);
	return tn_ir_full_int(ir, tn_val(&ir->g, x)->dtype, value, dims, rank);
}

uint32_t tn_scalar(struct tn_ir *ir, uint32_t dtype, double value)
{
	return tn_is_float(dtype) ? tn_ir_full(ir, dtype, value, NULL, 0) : tn_ir_full_int(ir, dtype, (int64_t)value, NULL, 0);
}

uint32_t tn_lowest(struct tn_ir *ir, uint32_t dtype)
{
	if (tn_is_float(dtype))
		return tn_ir_full(ir, dtype, -(double)INFINITY, NULL, 0);
	const int is_signed = (TN_M_SINT >> dtype & 1) != 0;
	return tn_ir_full_int(ir, dtype, is_signed ? INT64_MIN >> (64 - tn_dtype_bits(dtype)) : 0, NULL, 0);
}
