/* eval_move.c - views and other pure movement of elements: broadcast, permute, reshape, slice, pad, window, cat.
 * Each is one strided copy (ev_move): a table of strides on the result's side and on the operand's. */
#include "ir/eval.h"
#include <string.h>

#define ROW_COPY(T) \
	static void row_##T(T *to, int64_t ts, const T *from, int64_t fs, int64_t n) { for (int64_t i = 0; i < n; i++) to[i * ts] = from[i * fs]; }
ROW_COPY(uint8_t) ROW_COPY(uint16_t) ROW_COPY(uint32_t) ROW_COPY(uint64_t)

static void copy_row(void *to, int64_t ts, const void *from, int64_t fs, int64_t n, uint32_t elem)
{
	if (ts == 1 && fs == 1)
		memcpy(to, from, (size_t)n * elem);
	else if (elem == 1)
		row_uint8_t(to, ts, from, fs, n);
	else if (elem == 2)
		row_uint16_t(to, ts, from, fs, n);
	else if (elem == 4)
		row_uint32_t(to, ts, from, fs, n);
	else
		row_uint64_t(to, ts, from, fs, n);
}

static void move_dim(const struct ev_move *m, uint32_t d, char *to, const char *from)
{
	if (d + 1 >= m->rank) {
		copy_row(to, m->rank ? m->to_stride[d] : 1, from, m->rank ? m->from_stride[d] : 1, m->rank ? m->dims[d] : 1, m->elem);
		return;
	}
	for (int64_t i = 0; i < m->dims[d]; i++)
		move_dim(m, d + 1, to + i * m->to_stride[d] * (int64_t)m->elem, from + i * m->from_stride[d] * (int64_t)m->elem);
}

void ev_move(const struct ev_move *m)
{
	for (uint32_t d = 0; d < m->rank; d++)
		if (m->dims[d] <= 0)
			return;
	move_dim(m, 0, m->to, m->from);
}

void ev_fill(void *to, const void *elem, uint32_t elem_size, uint64_t n)
{
	copy_row(to, 1, elem, 0, (int64_t)n, elem_size);
}

void ev_strides(const int64_t *dims, uint32_t rank, int64_t *strides)
{
	int64_t s = 1;
	for (uint32_t d = rank; d-- > 0; s *= dims[d])
		strides[d] = s;
}

const void *ev_gathered(struct ev *e, const struct tn_array *x, const int64_t *order, uint32_t n)
{
	struct ev_move m = { .from = x->at, .rank = n, .elem = tn_dtype_bytes(x->dtype) };
	int64_t strides[TN_RANK_MAX];
	uint32_t same = n == x->rank;
	ev_strides(x->dims, x->rank, strides);
	for (uint32_t d = 0; d < n; d++) {
		m.dims[d] = x->dims[order[d]];
		m.from_stride[d] = strides[order[d]];
		same &= order[d] == d;
	}
	if (same)
		return x->at;
	ev_strides(m.dims, n, m.to_stride);
	m.to = tn_arena_alloc(e->a, x->size);
	ev_move(&m);
	return m.to;
}

/* the move that fills the result densely, its strides on the operand's side still 0 */
static struct ev_move into_result(const struct ev *e)
{
	const struct tn_array *o = e->out;
	struct ev_move m = { .to = o->at, .from = e->n->n_in ? e->in[0].at : NULL, .rank = o->rank, .elem = tn_dtype_bytes(o->dtype) };
	memcpy(m.dims, o->dims, sizeof o->dims);
	ev_strides(o->dims, o->rank, m.to_stride);
	return m;
}

void ev_broadcast(struct ev *e)
{
	struct ev_move m = into_result(e);
	int64_t strides[TN_RANK_MAX];
	uint32_t n;
	const int64_t *where = tn_attr_ints(e->g, e->n, TN_ATTR_dims, &n);
	ev_strides(e->in[0].dims, e->in[0].rank, strides);
	for (uint32_t d = 0; d < e->in[0].rank; d++)
		m.from_stride[where[d]] = strides[d];
	ev_move(&m);
}

void ev_permute(struct ev *e)
{
	struct ev_move m = into_result(e);
	int64_t strides[TN_RANK_MAX];
	uint32_t n;
	const int64_t *perm = tn_attr_ints(e->g, e->n, TN_ATTR_perm, &n);
	ev_strides(e->in[0].dims, e->in[0].rank, strides);
	for (uint32_t d = 0; d < m.rank; d++)
		m.from_stride[d] = strides[perm[d]];
	ev_move(&m);
}

void ev_reshape(struct ev *e)
{
	if (e->out->size != e->in[0].size)
		tn_raise(e->a->diag, TN_E_ARG, "%s: %llu bytes reshaped to %llu", ev_name(e), (unsigned long long)e->in[0].size, (unsigned long long)e->out->size);
	if (e->out->size > 0)
		memcpy(e->out->at, e->in[0].at, e->out->size);
}

void ev_slice(struct ev *e)
{
	struct ev_move m = into_result(e);
	int64_t strides[TN_RANK_MAX], offset = 0;
	uint32_t n;
	const int64_t *start = ev_sizes(e, TN_ATTR_start, &n), *step = tn_attr_ints(e->g, e->n, TN_ATTR_step, &n);
	const struct tn_array *x = &e->in[0];
	ev_strides(x->dims, x->rank, strides);
	for (uint32_t d = 0; d < m.rank; d++) {
		const int64_t last = start[d] + (m.dims[d] - 1) * step[d];
		if (m.dims[d] > 0 && (start[d] < 0 || start[d] >= x->dims[d] || last < 0 || last >= x->dims[d]))
			tn_raise(e->a->diag, TN_E_RANGE, "%s: elements %lld to %lld of dim %u, which has %lld", ev_name(e), (long long)start[d],
				(long long)last, d, (long long)x->dims[d]);
		m.from_stride[d] = strides[d] * step[d];
		offset += m.dims[d] > 0 ? start[d] * strides[d] : 0;
	}
	m.from = (const char *)x->at + offset * (int64_t)m.elem;
	ev_move(&m);
}

void ev_pad(struct ev *e)
{
	const struct tn_array *x = &e->in[0], *o = e->out;
	struct ev_move m = { .rank = o->rank, .elem = tn_dtype_bytes(o->dtype) };
	int64_t strides[TN_RANK_MAX], to_strides[TN_RANK_MAX], to = 0, from = 0;
	uint32_t n;
	const int64_t *low = ev_sizes(e, TN_ATTR_low, &n), *interior = tn_attr_ints(e->g, e->n, TN_ATTR_interior, &n);
	ev_fill(o->at, e->in[1].at, m.elem, ev_count(o));
	ev_strides(x->dims, x->rank, strides);
	ev_strides(o->dims, o->rank, to_strides);
	for (uint32_t d = 0; d < o->rank; d++) {           /* operand elements first .. last land inside the result */
		const int64_t step = 1 + (interior != NULL ? interior[d] : 0);
		const int64_t first = low[d] < 0 ? (-low[d] + step - 1) / step : 0;
		int64_t last = o->dims[d] - 1 - low[d] < 0 ? -1 : (o->dims[d] - 1 - low[d]) / step;
		last = last < x->dims[d] - 1 ? last : x->dims[d] - 1;
		if (last < first)
			return;
		m.dims[d] = last - first + 1;
		m.to_stride[d] = to_strides[d] * step;
		m.from_stride[d] = strides[d];
		to += (low[d] + first * step) * to_strides[d];
		from += first * strides[d];
	}
	m.to = (char *)o->at + to * (int64_t)m.elem;
	m.from = (const char *)x->at + from * (int64_t)m.elem;
	ev_move(&m);
}

/* result dims: the operand's, the windowed ones counting windows, then one dim a window (in the order of dims) */
void ev_window(struct ev *e)
{
	const struct tn_array *x = &e->in[0];
	struct ev_move m = into_result(e);
	uint32_t n, k;
	const int64_t *dims = tn_attr_ints(e->g, e->n, TN_ATTR_dims, &n);
	const int64_t *stride = tn_attr_ints(e->g, e->n, TN_ATTR_stride, &k), *dilation = tn_attr_ints(e->g, e->n, TN_ATTR_dilation, &k);
	int64_t strides[TN_RANK_MAX];
	ev_strides(x->dims, x->rank, strides);
	memcpy(m.from_stride, strides, x->rank * sizeof *strides);
	for (uint32_t i = 0; i < n; i++) {
		m.from_stride[dims[i]] = strides[dims[i]] * stride[i];
		m.from_stride[x->rank + i] = strides[dims[i]] * dilation[i];
		const int64_t last = (m.dims[dims[i]] - 1) * stride[i] + (m.dims[x->rank + i] - 1) * dilation[i];
		if (ev_count(e->out) > 0 && last >= x->dims[dims[i]])
			tn_raise(e->a->diag, TN_E_RANGE, "%s: element %lld of dim %lld, which has %lld", ev_name(e), (long long)last,
				(long long)dims[i], (long long)x->dims[dims[i]]);
	}
	ev_move(&m);
}

void ev_cat(struct ev *e)
{
	const uint32_t axis = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_axis, 0);
	struct ev_move m = into_result(e);
	char *to = e->out->at;
	int64_t seen = 0;
	for (uint32_t i = 0; i < e->n->n_in; i++) {
		const struct tn_array *x = &e->in[i];
		m.to = to;
		m.from = x->at;
		m.dims[axis] = x->dims[axis];
		ev_strides(x->dims, x->rank, m.from_stride);
		if ((seen += x->dims[axis]) > e->out->dims[axis])
			break;
		ev_move(&m);
		to += x->dims[axis] * m.to_stride[axis] * (int64_t)m.elem;
	}
	if (seen != e->out->dims[axis])
		tn_raise(e->a->diag, TN_E_ARG, "%s: operands have %lld elements in dim %u, the result %lld", ev_name(e), (long long)seen, axis, (long long)e->out->dims[axis]);
}
