/* builders.c - the table of C builders that decomp/ hands down, and opening nodes by text or by builder, one or all. */
#include "ir/builders.h"
#include <stdatomic.h>

/* written once or twice in the life of a process with the same const table; release and acquire make its rows visible */
static _Atomic(const struct tn_builder_rows *) builders;

void tn_ir_set_builders(const struct tn_builder_rows *rows)
{
	atomic_store_explicit(&builders, rows, memory_order_release);
}

int tn_ir_open(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	const struct tn_builder_rows *rows = atomic_load_explicit(&builders, memory_order_acquire);
	if (info == NULL || info->flags & (TN_ATOM | TN_HOST_OP))
		return 0;
	if (!(info->flags & TN_BUILDER))
		return tn_ir_inline_body(ir, g, n, operands, out);
	for (uint64_t i = 0; rows != NULL && i < rows->count; i++)
		if (rows->at[i].prim == n->prim) {
			rows->at[i].build(ir, g, n, operands, out);
			return 1;
		}
	return 0;
}

/* ---- all of them: a body is built in a graph of its own, whose nodes are then walked like the caller's */
struct opening {
	struct tn_ir *to;
	int (*keep)(void *, const struct tn_graph *, uint32_t);
	void *ctx;
	const struct tn_graph *asked, *read;   /* the caller's graph, and the same with its regions opened */
};

static void open_graph(const struct opening *o, struct tn_remap *m);

static struct tn_ir *body_of(const struct tn_graph *g, const struct tn_node *n, struct tn_arena *a)
{
	struct tn_ir *b = tn_ir_create(a, NULL);
	uint32_t *in = tn_array(a, uint32_t, n->n_in + 1), *out = tn_array(a, uint32_t, n->n_out + 1);
	for (uint32_t i = 0; i < n->n_in; i++) {
		const uint32_t v = tn_in(g, n, i), rank = tn_rank(g, v);
		uint32_t *dims = tn_array(a, uint32_t, rank + 1);
		for (uint32_t d = 0; d < rank; d++)
			dims[d] = tn_size_import(b, g, tn_shape(g, v)[d]);
		in[i] = tn_ir_input(b, NULL, tn_val(g, v)->dtype, rank, dims);
	}
	tn_ir_origin(b, n->origin == TN_NOTHING ? NULL : tn_str_at(g, n->origin));
	if (!tn_ir_open(b, g, n, in, out))
		return NULL;
	for (uint32_t i = 0; i < n->n_out; i++)
		tn_ir_output(b, NULL, out[i]);
	return b;
}

static void open_node(const struct opening *o, struct tn_remap *m, uint32_t node)
{
	const struct tn_graph *g = m->from;
	const struct tn_node *n = &g->nodes.at[node];
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	if (info == NULL || info->flags & (TN_ATOM | TN_HOST_OP) || (o->keep != NULL && o->keep(o->ctx, g == o->read ? o->asked : g, node))) {
		tn_remap_node(o->to, m, n);
		return;
	}
	const struct tn_ir *b = body_of(g, n, o->to->arena);
	if (b == NULL)
		tn_raise(o->to->arena->diag, TN_E_UNSUPPORTED, "node %u: %s has no definition for %s", node, info->name,
			n->n_in ? tn_dtype_name(tn_val(g, tn_in(g, n, 0))->dtype) : "its dtype");
	struct tn_remap inner = tn_remap_begin(o->to, &b->g);
	for (uint32_t i = 0; i < n->n_in; i++)
		inner.value[b->g.operands[b->g.in0 + i]] = tn_remap_value(o->to, m, tn_in(g, n, i));
	open_graph(o, &inner);
	for (uint32_t i = 0; i < n->n_out; i++) {
		const uint32_t old = tn_out(g, n, i), v = tn_remap_value(o->to, &inner, b->g.operands[b->g.out0 + i]);
		m->value[old] = v;
		if (tn_val(&o->to->g, v)->name == TN_NOTHING)
			tn_ir_name(o->to, v, tn_str_at(g, tn_val(g, old)->name));
	}
}

static void open_graph(const struct opening *o, struct tn_remap *m)
{
	for (uint32_t i = 0; i < m->from->nodes.count; i++)
		open_node(o, m, i);
}

const struct tn_graph *tn_graph_map_regions(const struct tn_graph *g, const struct tn_graph *(*f)(void *, const struct tn_graph *, struct tn_arena *), void *ctx,
	struct tn_arena *a)
{
	if (g->n_regions == 0)
		return g;
	const struct tn_graph **regions = tn_array(a, const struct tn_graph *, g->n_regions);
	struct tn_graph *copy = tn_copy_bytes(a, g, sizeof *g);
	for (uint64_t i = 0; i < g->n_regions; i++)
		regions[i] = f(ctx, g->regions[i], a);
	copy->regions = regions;
	return copy;
}

static const struct tn_graph *open_region(void *ctx, const struct tn_graph *region, struct tn_arena *a)
{
	const struct opening *o = ctx;
	return &tn_ir_open_all(region, o->keep, o->ctx, a)->g;
}

struct tn_ir *tn_ir_open_all(const struct tn_graph *g, int (*keep)(void *, const struct tn_graph *, uint32_t), void *ctx, struct tn_arena *a)
{
	struct opening o = { tn_ir_create(a, NULL), keep, ctx, g, g };
	o.read = tn_graph_map_regions(g, open_region, &o, a);
	struct tn_remap m = tn_remap_begin(o.to, o.read);
	tn_remap_inputs(o.to, &m);
	open_graph(&o, &m);
	tn_remap_outputs(o.to, &m);
	return o.to;
}
