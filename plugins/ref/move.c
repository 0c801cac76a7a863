/* move.c - data and views: for each place of the result, where it comes from. */
#include <string.h>
#include "ref.h"

static const int64_t *ints(const struct ref_run *r, uint32_t name) { return ref_attr(r->p, name)->ints; }
static int64_t size(const struct ref_run *r, uint32_t name, uint32_t i) { return r->size[ref_attr(r->p, name)->sizes[i]]; }

static int64_t dot(const int64_t *at, const int64_t *stride, uint32_t rank)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < rank; i++) sum += at[i] * stride[i];
	return sum;
}

static void copy_element(const struct ref_array *from, int64_t i, const struct ref_array *to, int64_t k)
{
	size_t n = ref_bytes(to->dtype);
	memcpy(to->at + (size_t)k * n, from->at + (size_t)i * n, n);
}

/* ---- data */
static void full(struct ref_run *r)
{
	const struct ref_attr *v = ref_attr(r->p, TN_ATTR_value);
	struct ref_cell c = { v->is_float ? (float)v->f : (float)v->i, v->is_float ? (int64_t)v->f : v->i };
	for (int64_t i = 0; i < r->out.n; i++) ref_put(&r->out, i, c);
}

static void iota(struct ref_run *r)
{
	int64_t axis = ref_int(r->p, TN_ATTR_axis, 0), at[REF_MAX_RANK] = { 0 }, k = 0;
	do ref_put(&r->out, k++, (struct ref_cell){ (float)at[axis], at[axis] });
	while (ref_next(at, r->out.dim, r->out.rank));
}

/* ---- views with one operand: source index = base + sum of coordinate * step */
static void strided(struct ref_run *r, int64_t base, const int64_t *step)
{
	int64_t at[REF_MAX_RANK] = { 0 }, k = 0;
	do copy_element(&r->in[0], base + dot(at, step, r->out.rank), &r->out, k++);
	while (ref_next(at, r->out.dim, r->out.rank));
}

static void broadcast(struct ref_run *r)
{
	int64_t step[REF_MAX_RANK] = { 0 };
	for (uint32_t i = 0; i < r->in[0].rank; i++)
		if (r->in[0].dim[i] != 1) step[ints(r, TN_ATTR_dims)[i]] = r->in[0].stride[i];
	strided(r, 0, step);
}

static void permute(struct ref_run *r)
{
	int64_t step[REF_MAX_RANK] = { 0 };
	for (uint32_t i = 0; i < r->out.rank; i++) step[i] = r->in[0].stride[ints(r, TN_ATTR_perm)[i]];
	strided(r, 0, step);
}

static void slice(struct ref_run *r)
{
	int64_t step[REF_MAX_RANK] = { 0 }, base = 0;
	for (uint32_t i = 0; i < r->out.rank; i++) {
		base += size(r, TN_ATTR_start, i) * r->in[0].stride[i];
		step[i] = ints(r, TN_ATTR_step)[i] * r->in[0].stride[i];
	}
	strided(r, base, step);
}

/* windowed dims keep their place as positions; their taps follow at the end */
static void window(struct ref_run *r)
{
	const struct ref_attr *dims = ref_attr(r->p, TN_ATTR_dims);
	int64_t step[REF_MAX_RANK] = { 0 };
	for (uint32_t i = 0; i < r->in[0].rank; i++) step[i] = r->in[0].stride[i];
	for (uint32_t k = 0; k < dims->count; k++) {
		int64_t d = dims->ints[k];
		step[r->in[0].rank + k] = r->in[0].stride[d] * ints(r, TN_ATTR_dilation)[k];
		step[d] *= ints(r, TN_ATTR_stride)[k];
	}
	strided(r, 0, step);
}

/* low and high may be negative: then the result is cut; interior places lie between elements */
static void pad(struct ref_run *r)
{
	int64_t at[REF_MAX_RANK] = { 0 }, k = 0;
	do {
		int64_t from = 0, inside = 1;
		for (uint32_t i = 0; i < r->out.rank; i++) {
			int64_t x = at[i] - size(r, TN_ATTR_low, i), every = ints(r, TN_ATTR_interior)[i] + 1;
			inside &= x >= 0 && x % every == 0 && x / every < r->in[0].dim[i];
			from += x / every * r->in[0].stride[i];
		}
		copy_element(inside ? &r->in[0] : &r->in[1], inside ? from : 0, &r->out, k++);
	} while (ref_next(at, r->out.dim, r->out.rank));
}

static void cat(struct ref_run *r)
{
	int64_t axis = ref_int(r->p, TN_ATTR_axis, 0), first = 0;
	for (uint32_t a = 0; a < r->p->n_in; a++) {
		const struct ref_array *in = &r->in[a];
		int64_t at[REF_MAX_RANK] = { 0 }, k = 0;
		if (in->n)
			do copy_element(in, k++, &r->out, dot(at, r->out.stride, r->out.rank) + first * r->out.stride[axis]);
			while (ref_next(at, in->dim, in->rank));
		first += in->dim[axis];
	}
}

/* ---- gather and scatter.  With b batch dims: result [dims before axis][index dims past b][dims after axis] */
struct indexing { uint32_t axis, batch, n_index; int64_t limit; uint32_t mode; };

static struct indexing indexing_of(const struct ref_run *r)
{
	struct indexing x = { (uint32_t)ref_int(r->p, TN_ATTR_axis, 0), (uint32_t)ref_int(r->p, TN_ATTR_batch, 0), 0, 0, (uint32_t)ref_int(r->p, TN_ATTR_mode, 0) };
	x.n_index = r->in[1].rank - x.batch;
	x.limit = r->in[0].dim[x.axis];
	return x;
}

/* element of the operand that place `at` of the gathered shape means; -1: out of range and dropped */
static int64_t element_at(struct ref_run *r, const struct indexing *x, const int64_t *at)
{
	int64_t from = 0, place = 0;
	for (uint32_t i = 0; i < x->batch; i++) place += at[i] * r->in[1].stride[i];
	for (uint32_t i = 0; i < x->n_index; i++) place += at[x->axis + i] * r->in[1].stride[x->batch + i];
	int64_t index = ref_get(&r->in[1], place).i;
	if (index < 0 || index >= x->limit) {
		if (x->mode == 1) return -1;
		if (x->mode == 2) { r->code = TN_E_RANGE; r->words = "ref: an index is out of range"; return -1; }
		index = index < 0 ? 0 : x->limit - 1;
	}
	for (uint32_t i = 0; i < x->axis; i++) from += at[i] * r->in[0].stride[i];
	for (uint32_t i = x->axis + 1; i < r->in[0].rank; i++) from += at[i - 1 + x->n_index] * r->in[0].stride[i];
	return x->limit ? from + index * r->in[0].stride[x->axis] : -1;
}

static void gather(struct ref_run *r)
{
	struct indexing x = indexing_of(r);
	int64_t at[REF_MAX_RANK] = { 0 }, k = 0;
	do {
		int64_t from = element_at(r, &x, at);
		if (from >= 0) copy_element(&r->in[0], from, &r->out, k++);
		else ref_put(&r->out, k++, (struct ref_cell){ 0, 0 });
	} while (ref_next(at, r->out.dim, r->out.rank));
}

static struct ref_cell combine(uint32_t op, uint32_t dtype, struct ref_cell old, struct ref_cell new)
{
	static const uint32_t prims[] = { 0, TN_add, TN_mul, TN_max, TN_min };
	struct ref_array a[3] = { { .dtype = dtype, .n = 1 }, { .dtype = dtype, .n = 1 }, { .dtype = dtype, .n = 1 } };
	unsigned char cells[3][8];
	if (op == 0) return new;
	struct ref_program p = { .prim = prims[op], .n_in = 2 };
	for (int i = 0; i < 3; i++) a[i].at = cells[i];
	struct ref_run r = { .p = &p, .in = { a[0], a[1] }, .out = a[2] };
	ref_put(&a[0], 0, old);
	ref_put(&a[1], 0, new);
	ref_elementwise(&r);
	return ref_get(&a[2], 0);
}

/* updates in row-major order: of those that set the same place the last wins */
static void scatter(struct ref_run *r)
{
	struct indexing x = indexing_of(r);
	uint32_t op = (uint32_t)ref_int(r->p, TN_ATTR_op, 0);
	int64_t at[REF_MAX_RANK] = { 0 }, k = 0;
	memcpy(r->out.at, r->in[0].at, (size_t)r->out.n * ref_bytes(r->out.dtype));
	if (r->in[2].n)
		do {
			int64_t to = element_at(r, &x, at);
			struct ref_cell new = ref_get(&r->in[2], k++);
			if (to >= 0) ref_put(&r->out, to, combine(op, r->out.dtype, ref_get(&r->out, to), new));
		} while (ref_next(at, r->in[2].dim, r->in[2].rank));
}

int ref_move(struct ref_run *r)
{
	switch (r->p->prim) {
	case TN_full: full(r); return 1;
	case TN_iota: iota(r); return 1;
	case TN_broadcast: broadcast(r); return 1;
	case TN_permute: permute(r); return 1;
	case TN_reshape: memcpy(r->out.at, r->in[0].at, (size_t)r->out.n * ref_bytes(r->out.dtype)); return 1;
	case TN_slice: slice(r); return 1;
	case TN_window: window(r); return 1;
	case TN_pad: pad(r); return 1;
	case TN_cat: cat(r); return 1;
	case TN_gather: gather(r); return 1;
	case TN_scatter: scatter(r); return 1;
	default: return 0;
	}
}
