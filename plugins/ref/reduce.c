/* reduce.c - sums, products, extremes, running sums and dot, in ascending order; f16 is summed in f32 and rounded once. */
#include <math.h>
#include <string.h>
#include "ref.h"

static struct ref_cell start(uint32_t prim, uint32_t dtype)
{
	int64_t lo = dtype == TN_I32 ? INT32_MIN : dtype == TN_BOOL ? 0 : INT64_MIN, hi = dtype == TN_I32 ? INT32_MAX : dtype == TN_BOOL ? 1 : INT64_MAX;
	switch (prim) {
	case TN_prod: return (struct ref_cell){ 1, 1 };
	case TN_reduce_max: return (struct ref_cell){ -INFINITY, lo };
	case TN_reduce_min: return (struct ref_cell){ INFINITY, hi };
	default: return (struct ref_cell){ 0, 0 };
	}
}

static float extreme(float x, float y, int max)
{
	if (isnan(x) || isnan(y)) return NAN;
	if (x == y) return signbit(x) == max ? y : x;
	return (x > y) == max ? x : y;
}

static void step(uint32_t prim, int is_float, struct ref_cell *acc, struct ref_cell x)
{
	switch (prim) {
	case TN_sum: acc->f += x.f; acc->i = (int64_t)((uint64_t)acc->i + (uint64_t)x.i); break;
	case TN_prod: acc->f *= x.f; acc->i = (int64_t)((uint64_t)acc->i * (uint64_t)x.i); break;
	case TN_reduce_max: if (is_float) acc->f = extreme(acc->f, x.f, 1); else if (x.i > acc->i) acc->i = x.i; break;
	default: if (is_float) acc->f = extreme(acc->f, x.f, 0); else if (x.i < acc->i) acc->i = x.i; break;
	}
}

static void reduce(struct ref_run *r)
{
	const struct ref_array *in = &r->in[0];
	const struct ref_attr *axes = ref_attr(r->p, TN_ATTR_axes);
	int64_t kept[REF_MAX_RANK] = { 0 }, gone[REF_MAX_RANK] = { 0 }, kept_stride[REF_MAX_RANK], gone_dim[REF_MAX_RANK], gone_stride[REF_MAX_RANK], k = 0;
	uint32_t n_kept = 0, n_gone = 0, mask = 0;
	for (uint32_t i = 0; i < axes->count; i++) mask |= 1u << axes->ints[i];
	for (uint32_t i = 0; i < in->rank; i++) {
		if (mask >> i & 1) { gone_dim[n_gone] = in->dim[i]; gone_stride[n_gone++] = in->stride[i]; }
		else kept_stride[n_kept++] = in->stride[i];
	}
	do {
		struct ref_cell acc = start(r->p->prim, in->dtype);
		int64_t base = 0;
		for (uint32_t i = 0; i < n_kept; i++) base += kept[i] * kept_stride[i];
		if (in->n)
			do {
				int64_t at = base;
				for (uint32_t i = 0; i < n_gone; i++) at += gone[i] * gone_stride[i];
				step(r->p->prim, ref_is_float(in->dtype), &acc, ref_get(in, at));
			} while (ref_next(gone, gone_dim, n_gone));
		ref_put(&r->out, k++, acc);
	} while (ref_next(kept, r->out.dim, r->out.rank));
}

static void cumulate(struct ref_run *r)
{
	static const uint32_t prims[] = { TN_sum, TN_sum, TN_prod, TN_reduce_max, TN_reduce_min };
	const struct ref_array *in = &r->in[0];
	int64_t axis = ref_int(r->p, TN_ATTR_axis, 0), n = in->dim[axis], gap = in->stride[axis];
	uint32_t prim = prims[ref_int(r->p, TN_ATTR_op, 1)];
	int exclusive = ref_int(r->p, TN_ATTR_exclusive, 0) != 0, reverse = ref_int(r->p, TN_ATTR_reverse, 0) != 0;
	for (int64_t line = 0; line < in->n / n; line++) {
		int64_t first = line / gap * gap * n + line % gap;
		struct ref_cell acc = start(prim, in->dtype);
		for (int64_t i = 0; i < n; i++) {
			int64_t at = first + (reverse ? n - 1 - i : i) * gap;
			struct ref_cell x = ref_get(in, at);
			if (exclusive) ref_put(&r->out, at, acc);
			step(prim, ref_is_float(in->dtype), &acc, x);
			if (!exclusive) ref_put(&r->out, at, acc);
		}
	}
}

/* ---- dot: result [batch dims][free dims of x][free dims of y] */
struct side { int64_t stride[REF_MAX_RANK], k_stride[REF_MAX_RANK]; };   /* by result dim, by contracted pair */

static void set_side(const struct ref_run *r, uint32_t which, struct side *s, uint32_t *result_dim)
{
	const struct ref_array *a = &r->in[which];
	const struct ref_attr *contract = ref_attr(r->p, TN_ATTR_contract), *batch = ref_attr(r->p, TN_ATTR_batch);
	uint32_t used = 0, n_batch = batch ? batch->count / 2 : 0;
	for (uint32_t i = 0; i < n_batch; i++) { s->stride[i] = a->stride[batch->ints[2 * i + which]]; used |= 1u << batch->ints[2 * i + which]; }
	for (uint32_t i = 0; i < contract->count / 2; i++) { s->k_stride[i] = a->stride[contract->ints[2 * i + which]]; used |= 1u << contract->ints[2 * i + which]; }
	if (which == 0) *result_dim = n_batch;
	for (uint32_t i = 0; i < a->rank; i++)
		if (!(used >> i & 1)) s->stride[(*result_dim)++] = a->stride[i];
}

static void dot(struct ref_run *r)
{
	const struct ref_array *x = &r->in[0], *y = &r->in[1];
	const struct ref_attr *contract = ref_attr(r->p, TN_ATTR_contract);
	uint32_t n_k = contract->count / 2, next = 0;
	struct side sx = { { 0 }, { 0 } }, sy = { { 0 }, { 0 } };
	int64_t k_dim[REF_MAX_RANK], at[REF_MAX_RANK] = { 0 }, k[REF_MAX_RANK] = { 0 }, out = 0, total = 1;
	set_side(r, 0, &sx, &next);
	set_side(r, 1, &sy, &next);
	for (uint32_t i = 0; i < n_k; i++) { k_dim[i] = x->dim[contract->ints[2 * i]]; total *= k_dim[i]; }
	int64_t inner = n_k ? k_dim[n_k - 1] : 1, dx = n_k ? sx.k_stride[n_k - 1] : 0, dy = n_k ? sy.k_stride[n_k - 1] : 0;
	int plain = x->dtype == TN_F32 && r->out.dtype == TN_F32;
	do {
		int64_t bx = 0, by = 0;
		struct ref_cell acc = { 0, 0 };
		for (uint32_t i = 0; i < r->out.rank; i++) { bx += at[i] * sx.stride[i]; by += at[i] * sy.stride[i]; }
		if (total)
			do {
				int64_t ax = bx, ay = by;
				for (uint32_t i = 0; i + 1 < n_k; i++) { ax += k[i] * sx.k_stride[i]; ay += k[i] * sy.k_stride[i]; }
				if (plain) {
					const float *p = (const float *)(const void *)x->at + ax, *q = (const float *)(const void *)y->at + ay;
					for (int64_t i = 0; i < inner; i++) acc.f += p[i * dx] * q[i * dy];
				} else for (int64_t i = 0; i < inner; i++) {
					struct ref_cell p = ref_get(x, ax + i * dx), q = ref_get(y, ay + i * dy);
					acc.f += p.f * q.f;
					acc.i = (int64_t)((uint64_t)acc.i + (uint64_t)p.i * (uint64_t)q.i);
				}
			} while (n_k > 1 && ref_next(k, k_dim, n_k - 1));
		ref_put(&r->out, out++, acc);
	} while (ref_next(at, r->out.dim, r->out.rank));
}

int ref_reduce(struct ref_run *r)
{
	switch (r->p->prim) {
	case TN_sum: case TN_prod: case TN_reduce_max: case TN_reduce_min: reduce(r); return 1;
	case TN_cumulate: cumulate(r); return 1;
	case TN_dot: dot(r); return 1;
	default: return 0;
	}
}
