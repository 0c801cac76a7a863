/* eval_index.c - gather and scatter.
 *
 *   gather   x [batch.., pre.., n, post..], index [batch.., index..]  ->  [batch.., pre.., index.., post..]
 *   scatter  x like that, index like that, updates shaped as gather's result; applied in row-major order of the updates
 * An index outside 0 .. n-1 is clamped, dropped (gather: 0) or checked, as mode says; there are no negative ones from the end. */
#include "ir/eval.h"
#include "ir/eval_types.h"
#include <math.h>
#include <string.h>

enum mode { CLAMP, DROP, CHECK };
struct places { uint64_t batch, pre, n, post, indices; uint32_t elem; };

static struct places places(const struct ev *e, const struct tn_array *x, const struct tn_array *index)
{
	const uint32_t axis = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_batch, 0);
	struct places p = { .batch = 1, .pre = 1, .n = (uint64_t)x->dims[axis], .post = 1, .indices = 1, .elem = tn_dtype_bytes(x->dtype) };
	for (uint32_t d = 0; d < x->rank; d++)
		*(d < batch ? &p.batch : d < axis ? &p.pre : d > axis ? &p.post : &p.indices) *= d == axis ? 1 : (uint64_t)x->dims[d];
	for (uint32_t d = batch; d < index->rank; d++)
		p.indices *= (uint64_t)index->dims[d];
	return p;
}

/* the place an index names, or -1 for none */
static int64_t place(const struct ev *e, const struct tn_array *index, uint64_t at, uint64_t n, enum mode mode)
{
	const int64_t i = index->dtype == TN_I32 ? ((const int32_t *)index->at)[at] : ((const int64_t *)index->at)[at];
	if (i >= 0 && (uint64_t)i < n)
		return i;
	if (mode == CHECK)
		tn_raise(e->a->diag, TN_E_RANGE, "%s: index %lld (element %llu of the indices) is outside 0 .. %lld", ev_name(e), (long long)i,
			(unsigned long long)at, (long long)n - 1);
	return mode == DROP || n == 0 ? -1 : i < 0 ? 0 : (int64_t)n - 1;
}

void ev_gather(struct ev *e)
{
	const struct tn_array *x = &e->in[0], *index = &e->in[1];
	const struct places p = places(e, x, index);
	const enum mode mode = (enum mode)tn_attr_int(e->g, e->n, TN_ATTR_mode, CLAMP);
	const size_t row = p.post * p.elem;
	char *to = e->out->at;
	for (uint64_t b = 0; b < p.batch && e->out->size > 0; b++)
		for (uint64_t q = 0; q < p.pre; q++)
			for (uint64_t i = 0; i < p.indices; i++, to += row) {
				const int64_t at = place(e, index, b * p.indices + i, p.n, mode);
				if (at < 0)
					memset(to, 0, row);
				else
					memcpy(to, (const char *)x->at + ((b * p.pre + q) * p.n + (uint64_t)at) * row, row);
			}
}

void ev_scatter(struct ev *e)
{
	static const uint32_t prims[] = { 0, TN_add, TN_mul, TN_max, TN_min };      /* by the attribute op */
	const struct tn_array *x = &e->in[0], *index = &e->in[1], *updates = &e->in[2];
	const struct places p = places(e, x, index);
	const enum mode mode = (enum mode)tn_attr_int(e->g, e->n, TN_ATTR_mode, CLAMP);
	const uint64_t op = (uint64_t)tn_attr_int(e->g, e->n, TN_ATTR_op, 0);
	const size_t row = p.post * p.elem;
	const char *from = updates->at;
	ev_loop *loop = op == 0 || op >= sizeof prims / sizeof *prims ? NULL : x->dtype == TN_BOOL ?
		ev_point(op == 1 || op == 3 ? TN_max : TN_min, TN_BOOL) : ev_point(prims[op], x->dtype);
	if (loop == NULL && op != 0)
		tn_raise(e->a->diag, TN_E_ARG, "%s: op %llu is not one of set, add, mul, max, min", ev_name(e), (unsigned long long)op);
	if (x->size > 0)
		memcpy(e->out->at, x->at, x->size);
	for (uint64_t b = 0; b < p.batch && updates->size > 0; b++)
		for (uint64_t q = 0; q < p.pre; q++)
			for (uint64_t i = 0; i < p.indices; i++, from += row) {
				const int64_t at = place(e, index, b * p.indices + i, p.n, mode);
				char *to = (char *)e->out->at + ((b * p.pre + q) * p.n + (uint64_t)(at < 0 ? 0 : at)) * row;
				if (at >= 0 && loop == NULL)
					memcpy(to, from, row);
				else if (at >= 0)
					loop(to, (const void *const[]){ to, from }, p.post);
			}
}
