/* pool.c - max_pool and avg_pool: pad, window, reduce the window's dims.
 *   x [.., s..] -> [.., o..], as many spatial dims as size has elements */
#include "decomp/builders.h"

struct pool { uint32_t n, first, size[TN_RANK_MAX], count; const int64_t *size_at, *stride, *low, *high, *dilation; };

static struct pool read_pool(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, uint32_t x)
{
	struct pool p = { 0 };
	p.size_at = tn_attr_ints(g, n, TN_ATTR_size, &p.n);
	p.first = tn_rank(&ir->g, x) - p.n;
	p.stride = tn_attr_ints(g, n, TN_ATTR_stride, &p.count);
	p.low = tn_attr_ints(g, n, TN_ATTR_low, &p.count);
	p.high = tn_attr_ints(g, n, TN_ATTR_high, &p.count);
	p.dilation = tn_attr_ints(g, n, TN_ATTR_dilation, &p.count);
	for (uint32_t i = 0; i < p.n; i++)
		p.size[i] = tn_size_const(ir, p.size_at[i]);
	return p;
}

/* padded windows over the dims from `first` on, reduced */
static uint32_t windows(struct tn_ir *ir, const struct pool *p, uint32_t x, uint32_t first, uint32_t value, uint32_t prim)
{
	const uint32_t rank = tn_rank(&ir->g, x);
	int64_t axes[TN_RANK_MAX];
	for (uint32_t i = 0; i < p->n; i++)
		axes[i] = rank + i;
	const uint32_t padded = tn_pad_spatial(ir, x, value, first, p->low, p->high, p->n);
	return tn_ir_reduce(ir, prim, tn_window_spatial(ir, padded, first, p->size, p->stride, p->dilation, p->n), axes, p->n);
}

void tn_build_max_pool(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	const struct pool p = read_pool(ir, g, n, in[0]);
	out[0] = windows(ir, &p, in[0], p.first, tn_lowest(ir, tn_val(&ir->g, in[0])->dtype), TN_reduce_max);
}

/* how many elements of each window are real: the same sum over ones [s..], given to every leading dim */
static uint32_t real_count(struct tn_ir *ir, const struct pool *p, uint32_t x, uint32_t like)
{
	uint32_t dims[TN_RANK_MAX], shape[TN_RANK_MAX];
	int64_t where[TN_RANK_MAX];
	const uint32_t dtype = tn_val(&ir->g, x)->dtype;
	for (uint32_t i = 0; i < p->n; i++) {
		dims[i] = tn_shape(&ir->g, x)[p->first + i];
		where[i] = p->first + i;
	}
	for (uint32_t d = 0; d < p->first + p->n; d++)
		shape[d] = tn_shape(&ir->g, like)[d];
	const uint32_t ones = tn_ir_full(ir, dtype, 1, dims, p->n);
	return tn_ir_broadcast(ir, windows(ir, p, ones, 0, tn_scalar(ir, dtype, 0), TN_sum), shape, p->first + p->n, where);
}

void tn_build_avg_pool(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	const struct pool p = read_pool(ir, g, n, in[0]);
	const uint32_t dtype = tn_val(&ir->g, in[0])->dtype;
	const uint32_t x = tn_ir_convert(ir, in[0], dtype == TN_F64 ? TN_F64 : TN_F32);
	const uint32_t sum = windows(ir, &p, x, p.first, tn_scalar(ir, tn_val(&ir->g, x)->dtype, 0), TN_sum);
	double all = 1;
	for (uint32_t i = 0; i < p.n; i++)
		all *= (double)p.size_at[i];
	const uint32_t count = tn_attr_int(g, n, TN_ATTR_count_pad, 1) ? tn_full_like(ir, sum, all) : real_count(ir, &p, x, sum);
	out[0] = tn_ir_convert(ir, tn_ir_binary(ir, TN_div, sum, count), dtype);
}
