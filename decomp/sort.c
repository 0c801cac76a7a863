/* sort.c - sort and topk by counting: an element's place is the number of elements that stand before it.
 *
 * Quadratic in the axis, and in atoms alone: the rows say TN_SLOW_BODY, so a plugin that sorts is preferred.  NaN is the largest
 * value of all (last ascending, first descending), equal elements keep their order, and -0 equals +0. */
#include "decomp/builders.h"

struct rows { uint32_t rank, dims[TN_RANK_MAX + 1], n; int64_t to[TN_RANK_MAX], back[TN_RANK_MAX]; };   /* dims: the axis last, and then once more */

static struct rows rows_of(const struct tn_ir *ir, uint32_t x, uint32_t axis)
{
	struct rows r = { .rank = tn_rank(&ir->g, x) };
	uint32_t at = 0;
	for (uint32_t d = 0; d < r.rank; d++)
		if (d != axis)
			r.to[at++] = d;
	r.to[at] = axis;
	for (uint32_t d = 0; d < r.rank; d++) {
		r.back[r.to[d]] = d;
		r.dims[d] = tn_shape(&ir->g, x)[r.to[d]];
	}
	r.n = r.dims[r.rank] = r.dims[r.rank - 1];
	return r;
}

/* x < y, where NaN is the largest */
static uint32_t less(struct tn_ir *ir, uint32_t x, uint32_t y)
{
	const uint32_t lt = tn_ir_binary(ir, TN_lt, x, y);
	if (!tn_is_float(tn_val(&ir->g, x)->dtype))
		return lt;
	const uint32_t x_ok = tn_ir_binary(ir, TN_eq, x, x), y_ok = tn_ir_binary(ir, TN_eq, y, y);
	return tn_ir_binary(ir, TN_or, lt, tn_ir_binary(ir, TN_lt, y_ok, x_ok));
}

/* places [.., n] of x [.., n], i64 */
static uint32_t places(struct tn_ir *ir, const struct rows *r, uint32_t x, int descending)
{
	int64_t where[TN_RANK_MAX], axis = r->rank;
	const uint32_t rank = r->rank + 1;
	for (uint32_t d = 0; d < r->rank; d++)
		where[d] = d;
	const uint32_t mine = tn_ir_broadcast(ir, x, r->dims, rank, where);        /* [.., i, j]: element i */
	where[r->rank - 1] = r->rank;
	const uint32_t other = tn_ir_broadcast(ir, x, r->dims, rank, where);       /* element j */
	const uint32_t before = descending ? less(ir, mine, other) : less(ir, other, mine);
	const uint32_t after = descending ? less(ir, other, mine) : less(ir, mine, other);
	const uint32_t i = tn_ir_iota(ir, TN_I64, r->rank - 1, r->dims, rank), j = tn_ir_iota(ir, TN_I64, r->rank, r->dims, rank);
	const uint32_t earlier = tn_ir_binary(ir, TN_lt, j, i);
	const uint32_t tie = tn_ir_binary(ir, TN_lt, after, earlier);              /* not after, and earlier */
	return tn_ir_reduce(ir, TN_sum, tn_ir_convert(ir, tn_ir_binary(ir, TN_or, before, tie), TN_I64), &axis, 1);
}

/* sorted rows [.., n] and where each came from */
static void sort_rows(struct tn_ir *ir, const struct rows *r, uint32_t x, int descending, uint32_t *values, uint32_t *indices)
{
	const uint32_t place = places(ir, r, x, descending), batch = r->rank - 1;
	const uint32_t i = tn_ir_iota(ir, TN_I64, batch, r->dims, r->rank);
	const struct tn_attr_in attrs[] = { TN_A_INT(axis, batch), TN_A_INT(batch, batch) };
	*indices = tn_ir_add(ir, TN_scatter, (const uint32_t[]){ tn_full_like_int(ir, i, 0), place, i }, 3, attrs, 2);
	*values = tn_ir_add(ir, TN_gather, (const uint32_t[]){ x, *indices }, 2, attrs, 2);
}

static void build(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out, int descending, uint32_t k)
{
	const struct rows r = rows_of(ir, in[0], (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0));
	if (r.rank + 1 > TN_RANK_MAX)
		tn_raise(ir->arena->diag, TN_E_UNSUPPORTED, "%s of rank %u: the definition needs one dim more than %d", tn_prim_name(n->prim), r.rank, TN_RANK_MAX);
	sort_rows(ir, &r, tn_ir_permute(ir, in[0], r.to), descending, &out[0], &out[1]);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t start[TN_RANK_MAX] = { 0 }, limit[TN_RANK_MAX];
		int64_t step[TN_RANK_MAX];
		for (uint32_t d = 0; d < r.rank; d++) {
			limit[d] = d + 1 == r.rank && k != TN_NOTHING ? k : r.dims[d];
			step[d] = 1;
		}
		const struct tn_attr_in attrs[] = { TN_A_SIZES(start, start, r.rank), TN_A_SIZES(limit, limit, r.rank), TN_A_INTS(step, step, r.rank) };
		if (k != TN_NOTHING)
			out[i] = tn_ir_add(ir, TN_slice, &out[i], 1, attrs, 3);
		out[i] = tn_ir_permute(ir, out[i], r.back);
	}
}

void tn_build_sort(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	build(ir, g, n, in, out, tn_attr_int(g, n, TN_ATTR_descending, 0) != 0, TN_NOTHING);
}

void tn_build_topk(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	uint32_t count;
	const uint32_t *k = tn_attr_sizes(g, n, TN_ATTR_k, &count);
	build(ir, g, n, in, out, tn_attr_int(g, n, TN_ATTR_largest, 1) != 0, tn_size_import(ir, g, k[0]));
}
