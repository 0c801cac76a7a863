/* eval_body.c - composites: the node is made concrete (every size a number), opened, and its definition evaluated.
 * An elementwise definition is opened down to atoms and run over blocks that stay in the cache; any other one is opened down to
 * elementwise composites, which then come here again. */
#include "ir/eval.h"
#include "ir/builders.h"
#include <string.h>

enum { BLOCK = 4096 };

static int elementwise(uint32_t prim)
{
	const struct tn_prim_info *info = tn_prim_info(prim);
	return info != NULL && info->cls == TN_CLS_POINTWISE && info->sh == TN_SH_SAME;
}

static int keep_elementwise(void *ctx, const struct tn_graph *g, uint32_t node)
{
	(void)ctx;
	return elementwise(g->nodes.at[node].prim);
}

static struct tn_attr_in copy_attr(const struct ev *e, struct tn_ir *ir, const struct tn_attr *at)
{
	struct tn_attr_in r = { .name = at->name, .type = at->type, .i = at->i, .f = at->f, .count = at->count };
	uint32_t n;
	if (at->type == TN_ATTR_INTS) {
		r.list = e->g->ints + at->at;
	} else if (at->type == TN_ATTR_TEXT) {
		r.list = e->g->bytes + at->at;
	} else if (at->type == TN_ATTR_SIZES) {
		const int64_t *sizes = ev_sizes(e, at->name, &n);
		uint32_t *list = tn_array(e->a, uint32_t, n + 1);
		for (uint32_t i = 0; i < n; i++)
			list[i] = tn_size_const(ir, sizes[i]);
		r.list = list;
	}
	return r;
}

/* a graph of the node alone; flat_n > 0: its operands are vectors of that many elements */
static struct tn_ir *concrete(const struct ev *e, uint64_t flat_n)
{
	const struct tn_node *n = e->n;
	struct tn_ir *ir = tn_ir_create(e->a, NULL);
	uint32_t *in = tn_array(e->a, uint32_t, n->n_in + 1);
	struct tn_attr_in *attrs = tn_array(e->a, struct tn_attr_in, n->n_attr + 1);
	for (uint32_t i = 0; i < n->n_in; i++) {
		uint32_t dims[TN_RANK_MAX];
		for (uint32_t d = 0; d < e->in[i].rank; d++)
			dims[d] = tn_size_const(ir, e->in[i].dims[d]);
		if (flat_n > 0)
			dims[0] = tn_size_const(ir, (int64_t)flat_n);
		in[i] = tn_ir_input(ir, NULL, e->in[i].dtype, flat_n > 0 ? 1 : e->in[i].rank, dims);
	}
	for (uint32_t i = 0; i < n->n_attr; i++)
		attrs[i] = copy_attr(e, ir, &e->g->attrs.at[n->attr0 + i]);
	tn_ir_origin(ir, n->origin == TN_NOTHING ? NULL : tn_str_at(e->g, n->origin));
	const uint32_t node = tn_ir_node(ir, &(struct tn_node_in){ .prim = n->prim, .in = in, .n_in = n->n_in, .attrs = attrs, .n_attrs = n->n_attr });
	for (uint32_t i = 0; i < n->n_out; i++)
		tn_ir_output(ir, NULL, tn_out(&ir->g, &ir->g.nodes.at[node], i));
	return ir;
}

/* ---- elementwise: the atoms of one block, again and again */
struct block { const struct tn_graph *g; struct tn_array *values; struct tn_array **in, **out; char *varies; int64_t *symbols; };

static struct block plan_block(struct ev *e, const struct tn_graph *g)
{
	struct block b = { .g = g, .values = tn_array(e->a, struct tn_array, g->values.count + 1), .varies = tn_array(e->a, char, g->values.count + 1),
		.symbols = tn_array(e->a, int64_t, g->n_symbols + 1) };
	for (uint32_t v = 0; v < g->values.count; v++) {
		ev_shape(g, NULL, v, b.symbols, &b.values[v], e->a);
		if (tn_val(g, v)->constant != TN_NOTHING)
			b.values[v].at = (void *)(uintptr_t)g->constants.at[tn_val(g, v)->constant].at;
		else
			b.values[v].at = tn_arena_alloc(e->a, b.values[v].size);
	}
	for (uint32_t i = 0; i < g->n_in; i++)
		b.varies[g->operands[g->in0 + i]] = 1;
	for (uint64_t k = 0; k < g->nodes.count; k++) {
		const struct tn_node *n = &g->nodes.at[k];
		for (uint32_t i = 0; i < n->n_in; i++)
			b.varies[tn_out(g, n, 0)] |= b.varies[tn_in(g, n, i)];
	}
	return b;
}

static void run_block(struct ev *e, const struct block *b, int first)
{
	struct tn_array in[8];
	for (uint64_t k = 0; k < b->g->nodes.count; k++) {
		const struct tn_node *n = &b->g->nodes.at[k];
		if (!first && !b->varies[tn_out(b->g, n, 0)])
			continue;
		for (uint32_t i = 0; i < n->n_in && i < 8; i++)
			in[i] = b->values[tn_in(b->g, n, i)];
		ev_run(b->g, n, b->symbols, in, &b->values[tn_out(b->g, n, 0)], e->a);
	}
}

static void body_elementwise(struct ev *e)
{
	const uint64_t n = ev_count(e->out), size = n < BLOCK ? n : BLOCK;
	if (n == 0)
		return;
	const struct tn_ir *ir = tn_ir_open_all(&concrete(e, size)->g, NULL, NULL, e->a);
	const struct tn_graph *g = &ir->g;
	const struct block b = plan_block(e, g);
	const uint32_t bytes = tn_dtype_bytes(e->out->dtype);
	for (uint64_t at = 0; at < n; at += size) {              /* what is left of the last block keeps the elements of the one before */
		const uint64_t k = n - at < size ? n - at : size;
		for (uint32_t i = 0; i < g->n_in; i++) {
			const uint32_t elem = tn_dtype_bytes(e->in[i].dtype);
			memcpy(b.values[g->operands[g->in0 + i]].at, (const char *)e->in[i].at + at * elem, k * elem);
		}
		run_block(e, &b, at == 0);
		memcpy((char *)e->out->at + at * bytes, b.values[g->operands[g->out0]].at, k * bytes);
	}
}

void ev_body(struct ev *e)
{
	const struct tn_prim_info *info = tn_prim_info(e->n->prim);
	if (info == NULL || info->flags & TN_ATOM || !tn_eval_can(e->g, e->n))
		tn_raise(e->a->diag, TN_E_UNSUPPORTED, "%s: no evaluation for %s", ev_name(e), e->n->n_in ? tn_dtype_name(e->in[0].dtype) : "its dtype");
	if (elementwise(e->n->prim)) {
		body_elementwise(e);
		return;
	}
	struct tn_array out[4] = { { 0 } };
	const struct tn_ir *ir = tn_ir_open_all(&concrete(e, 0)->g, keep_elementwise, NULL, e->a);
	tn_eval_graph(&ir->g, e->in, out, e->a);
	for (uint32_t i = 0; i < e->n->n_out && i < 4; i++)
		if (e->out[i].size > 0)
			memcpy(e->out[i].at, out[i].at, e->out[i].size);
}
