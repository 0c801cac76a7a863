/* eval.c - the strict evaluator: nodes one by one on dense arrays, every dtype, no concern for speed beyond not being silly.
 * Atoms have code (eval_*.c); composites are opened into atoms and evaluated as a small graph (eval_body.c). */
#include "ir/eval.h"
#include "ir/store.h"
#include <string.h>

static void run_point(struct ev *e)
{
	const void *in[3];
	for (uint32_t i = 0; i < e->n->n_in; i++)
		in[i] = e->in[i].at;
	ev_point(e->n->prim, e->in[e->n->n_in - 1].dtype)(e->out->at, in, ev_count(e->out));
}

/* the atoms that are not elementwise, and what is quadratic in atoms */
static void (*const nodes[])(struct ev *) = {
	[TN_convert] = ev_convert, [TN_bitcast] = ev_bitcast, [TN_full] = ev_full, [TN_iota] = ev_iota,
	[TN_broadcast] = ev_broadcast, [TN_permute] = ev_permute, [TN_reshape] = ev_reshape, [TN_slice] = ev_slice,
	[TN_pad] = ev_pad, [TN_window] = ev_window, [TN_cat] = ev_cat, [TN_gather] = ev_gather, [TN_scatter] = ev_scatter,
	[TN_sum] = ev_reduce, [TN_prod] = ev_reduce, [TN_reduce_max] = ev_reduce, [TN_reduce_min] = ev_reduce,
	[TN_cumulate] = ev_cumulate, [TN_dot] = ev_dot,
	[TN_sort] = ev_sort, [TN_topk] = ev_sort,
};

static const char *node_name(const struct tn_graph *g, const struct tn_node *n, struct tn_arena *a)
{
	return n != NULL ? tn_node_text(a, g, (uint32_t)(n - g->nodes.at)) : "a value";
}

const char *ev_name(const struct ev *e)
{
	return node_name(e->g, e->n, e->a);
}

uint64_t ev_count(const struct tn_array *x)
{
	uint64_t n = 1;
	for (uint32_t d = 0; d < x->rank; d++)
		n *= (uint64_t)x->dims[d];
	return n;
}

static int64_t size_value(const struct tn_graph *g, const struct tn_node *n, uint32_t size, const int64_t *symbols, struct tn_arena *a)
{
	const int64_t v = tn_size_eval(&g->sizes, size, symbols);
	if (v != INT64_MIN)
		return v;
	struct tn_text t = { .arena = a };
	tn_size_print(&t, g, size);
	tn_raise(a->diag, TN_E_RANGE, "%s: the size %s overflows, divides by 0 or has a symbol without a value", node_name(g, n, a), t.at);
}

int64_t ev_size(const struct ev *e, uint32_t size)
{
	return size_value(e->g, e->n, size, e->symbols, e->a);
}

const int64_t *ev_sizes(const struct ev *e, uint32_t name, uint32_t *count)
{
	const uint32_t *sizes = tn_attr_sizes(e->g, e->n, name, count);
	int64_t *r = tn_array(e->a, int64_t, *count + 1);
	for (uint32_t i = 0; i < *count; i++)
		r[i] = ev_size(e, sizes[i]);
	return r;
}

void ev_shape(const struct tn_graph *g, const struct tn_node *n, uint32_t value, const int64_t *symbols, struct tn_array *x, struct tn_arena *a)
{
	const uint32_t *shape = tn_shape(g, value);
	size_t count = 1;
	x->dtype = tn_val(g, value)->dtype;
	x->rank = tn_rank(g, value);
	if (x->rank > TN_RANK_MAX)
		tn_raise(a->diag, TN_E_RANGE, "%s: rank %u is more than %d", node_name(g, n, a), x->rank, TN_RANK_MAX);
	for (uint32_t i = 0; i < x->rank; i++) {
		x->dims[i] = size_value(g, n, shape[i], symbols, a);
		if (x->dims[i] < 0)
			tn_raise(a->diag, TN_E_RANGE, "%s: dim %u of %s would be %lld", node_name(g, n, a), i, tn_value_text(a, g, value), (long long)x->dims[i]);
		count = tn_size_mul(a->diag, count, (size_t)x->dims[i]);
	}
	x->size = (tn_size_mul(a->diag, count, tn_dtype_bits(x->dtype)) + 7) / 8;
}

/* the operands, those whose elements lie unaligned (weights anywhere in a mapped file) copied to where plain loads may read them */
static const struct tn_array *aligned(const struct tn_array *in, uint32_t n, struct tn_arena *a)
{
	struct tn_array *moved = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t bytes = tn_dtype_bytes(in[i].dtype);
		if (bytes < 2 || (uintptr_t)in[i].at % bytes == 0)
			continue;
		if (moved == NULL)
			moved = tn_copy_bytes(a, in, n * sizeof *in);
		moved[i].at = tn_copy_bytes(a, in[i].at, in[i].size);
	}
	return moved != NULL ? moved : in;
}

void ev_run(const struct tn_graph *g, const struct tn_node *n, const int64_t *symbols, const struct tn_array *in, struct tn_array *out, struct tn_arena *a)
{
	struct ev e = { g, n, symbols, in, out, a };
	const struct tn_mark mark = tn_arena_mark(a);
	in = e.in = aligned(in, n->n_in, a);
	if (n->n_in > 0 && n->n_in <= 3 && ev_point(n->prim, in[n->n_in - 1].dtype) != NULL)
		run_point(&e);
	else if (n->prim < sizeof nodes / sizeof *nodes && nodes[n->prim] != NULL)
		nodes[n->prim](&e);
	else
		ev_body(&e);
	tn_arena_reset(a, mark);
}

void tn_eval_node(const struct tn_graph *g, const struct tn_node *n, const int64_t *symbols, const struct tn_array *in, struct tn_array *out, struct tn_arena *a)
{
	struct ev e = { g, n, symbols, in, out, a };
	if (ev_host(&e, NULL))
		return;
	for (uint32_t i = 0; i < n->n_out; i++) {
		ev_shape(g, n, tn_out(g, n, i), symbols, &out[i], a);
		out[i].at = tn_arena_alloc(a, out[i].size);
	}
	ev_run(g, n, symbols, in, out, a);
}

int tn_eval_can(const struct tn_graph *g, const struct tn_node *n)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	if (info == NULL || info->cls == TN_CLS_PACK)
		return 0;
	const uint32_t dtype = n->n_in > 0 ? tn_val(g, tn_in(g, n, 0))->dtype : n->n_out > 0 ? tn_val(g, tn_out(g, n, 0))->dtype : TN_I64;
	return info->flags & TN_HOST_OP || (dtype < TN_C64 && info->mask >> dtype & 1);
}

/* ---- graphs: memory of values that no later node reads is used again */
struct buffer { void *at; uint64_t cap; };
struct run {
	const struct tn_graph *g;
	struct tn_arena *a;
	struct tn_array *values;
	struct buffer *buffers, *free;  /* of each value (results of atoms and composites); and those given back */
	uint32_t *uses, n_free, cap_free;
	int64_t *symbols;
};

static void *take_buffer(struct run *r, uint32_t value, uint64_t size)
{
	struct buffer b = { NULL, size };
	for (uint32_t i = 0; i < r->n_free && b.at == NULL; i++)
		if (r->free[i].cap >= size && r->free[i].cap / 2 <= size) {
			b = r->free[i];
			r->free[i] = r->free[--r->n_free];
		}
	if (b.at == NULL)
		b.at = tn_arena_alloc(r->a, size);
	r->buffers[value] = b;
	return b.at;
}

static void give_back(struct run *r, uint32_t value)
{
	if (--r->uses[value] > 0 || r->buffers[value].at == NULL || r->buffers[value].cap == 0)
		return;
	*tn_push(r->a, r->free, r->n_free, r->cap_free) = r->buffers[value];
	r->buffers[value].at = NULL;
}

static void run_node(struct run *r, const struct tn_node *n)
{
	const struct tn_graph *g = r->g;
	struct tn_array *in = tn_array(r->a, struct tn_array, n->n_in + 1), *out = tn_array(r->a, struct tn_array, n->n_out + 1);
	for (uint32_t i = 0; i < n->n_in; i++)
		in[i] = r->values[tn_in(g, n, i)];
	if (!ev_host(&(struct ev){ g, n, r->symbols, in, out, r->a }, r->symbols)) {
		for (uint32_t i = 0; i < n->n_out; i++) {
			ev_shape(g, n, tn_out(g, n, i), r->symbols, &out[i], r->a);
			out[i].at = take_buffer(r, tn_out(g, n, i), out[i].size);
		}
		ev_run(g, n, r->symbols, in, out, r->a);
	}
	for (uint32_t i = 0; i < n->n_out; i++)
		r->values[tn_out(g, n, i)] = out[i];
	for (uint32_t i = 0; i < n->n_in; i++)
		give_back(r, tn_in(g, n, i));
}

static void set_inputs(struct run *r, const struct tn_array *inputs)
{
	for (uint32_t i = 0; i < r->g->n_in; i++) {
		const uint32_t v = r->g->operands[r->g->in0 + i];
		struct tn_array due;
		ev_shape(r->g, NULL, v, r->symbols, &due, r->a);
		if (inputs[i].size < due.size)
			tn_raise(r->a->diag, TN_E_ARG, "input %u, %s, has %llu bytes and its shape needs %llu", i, tn_value_text(r->a, r->g, v),
				(unsigned long long)inputs[i].size, (unsigned long long)due.size);
		due.at = inputs[i].at;
		r->values[v] = due;
	}
}

static void set_constants(struct run *r)
{
	for (uint32_t v = 0; v < r->g->values.count; v++) {
		const uint32_t c = tn_val(r->g, v)->constant;
		if (c == TN_NOTHING)
			continue;
		struct tn_array *x = &r->values[v];
		ev_shape(r->g, NULL, v, r->symbols, x, r->a);
		if (x->size != r->g->constants.at[c].size)
			tn_raise(r->a->diag, TN_E_ARG, "constant %u has %llu bytes where its shape says %llu", c,
				(unsigned long long)r->g->constants.at[c].size, (unsigned long long)x->size);
		x->at = (void *)(uintptr_t)r->g->constants.at[c].at;
	}
}

void tn_eval_graph(const struct tn_graph *g, const struct tn_array *inputs, struct tn_array *outputs, struct tn_arena *a)
{
	struct run r = { .g = g, .a = a };
	r.values = tn_array(a, struct tn_array, g->values.count + 1);
	r.buffers = tn_array(a, struct buffer, g->values.count + 1);
	r.symbols = tn_array(a, int64_t, g->n_symbols + 1);
	r.uses = tn_use_counts(g, a);
	tn_bind_symbols(g, inputs, r.symbols, a->diag);
	set_inputs(&r, inputs);
	set_constants(&r);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		run_node(&r, &g->nodes.at[i]);
	for (uint32_t i = 0; i < g->n_out; i++) {
		const uint32_t v = g->operands[g->out0 + i];
		outputs[i] = r.values[v];
		if (tn_val(g, v)->node == TN_NOTHING && outputs[i].size > 0)
			outputs[i].at = tn_copy_bytes(a, outputs[i].at, outputs[i].size);
	}
}
