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

/* element numbers, counted from the first, of all the places that are summed over: in x, then in y */
static int64_t *offsets(struct ref_run *r, const struct side *sx, const struct side *sy, int64_t *total)
{
	const struct ref_attr *contract = ref_attr(r->p, TN_ATTR_contract);
	int64_t dim[REF_MAX_RANK], k[REF_MAX_RANK] = { 0 }, n = 0;
	uint32_t n_k = contract->count / 2;
	*total = 1;
	for (uint32_t i = 0; i < n_k; i++) { dim[i] = r->in[0].dim[contract->ints[2 * i]]; *total *= dim[i]; }
	int64_t *at = ref_new(r->host, (uint64_t)*total * 2 * sizeof *at);
	if (at && *total)
		do {
			for (uint32_t i = 0; i < n_k; i++) { at[n] += k[i] * sx->k_stride[i]; at[*total + n] += k[i] * sy->k_stride[i]; }
			n++;
		} while (ref_next(k, dim, n_k));
	return at;
}

static float sum_f32(const float *x, const float *y, const int64_t *at, int64_t total)
{
	float acc = 0;
	for (int64_t i = 0; i < total; i++) acc += x[at[i]] * y[at[total + i]];
	return acc;
}

static struct ref_cell sum_any(const struct ref_array *x, int64_t bx, const struct ref_array *y, int64_t by, const int64_t *at, int64_t total)
{
	struct ref_cell acc = { 0, 0 };
	for (int64_t i = 0; i < total; i++) {
		struct ref_cell p = ref_get(x, bx + at[i]), q = ref_get(y, by + at[total + i]);
		acc.f += p.f * q.f;
		acc.i = (int64_t)((uint64_t)acc.i + (uint64_t)p.i * (uint64_t)q.i);
	}
	return acc;
}

static void dot(struct ref_run *r)
{
	const struct ref_array *x = &r->in[0], *y = &r->in[1];
	uint32_t next = 0;
	struct side sx = { { 0 }, { 0 } }, sy = { { 0 }, { 0 } };
	int64_t place[REF_MAX_RANK] = { 0 }, out = 0, total;
	set_side(r, 0, &sx, &next);
	set_side(r, 1, &sy, &next);
	int64_t *at = offsets(r, &sx, &sy, &total);
	if (!at) { r->code = TN_E_NOMEM; r->words = "ref: no memory for a dot"; return; }
	int plain = x->dtype == TN_F32 && r->out.dtype == TN_F32;
	do {
		int64_t bx = 0, by = 0;
		for (uint32_t i = 0; i < r->out.rank; i++) { bx += place[i] * sx.stride[i]; by += place[i] * sy.stride[i]; }
		struct ref_cell acc = { 0, 0 };
		if (plain) acc.f = sum_f32((const float *)(const void *)x->at + bx, (const float *)(const void *)y->at + by, at, total);
		else acc = sum_any(x, bx, y, by, at, total);
		ref_put(&r->out, out++, acc);
	} while (ref_next(place, r->out.dim, r->out.rank));
	r->host->free(r->host->ctx, at);
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
