/* expand.c - opens the composites that their slot does not run as they are; what they are made of stays on that slot where it can. */
#include "schedule/assign.h"

struct ex {
	struct tn_ir *to;
	struct as_ctx c;
	uint32_t *slot, n, cap;              /* of to's nodes */
};

static void add(struct ex *x, struct tn_remap *m, const struct tn_node *n, uint32_t slot)
{
	const uint32_t node = tn_remap_node(x->to, m, n);
	while (x->n <= node)
		*tn_push(x->to->arena, x->slot, x->n, x->cap) = slot;
	x->slot[node] = slot;
}

static void expand(struct ex *x, struct tn_remap *m, uint32_t node, uint32_t slot)
{
	const struct tn_graph *g = m->from;
	const struct tn_node *n = &g->nodes.at[node];
	const struct tn_ir *b = NULL;
	if (slot < x->c.p->n && !as_native(&x->c, slot, g, n))
		b = as_open(g, n, x->to->arena);
	if (!b) {
		add(x, m, n, slot);
		return;
	}
	struct tn_remap inner = tn_remap_begin(x->to, &b->g);
	for (uint32_t i = 0; i < n->n_in; i++)
		inner.value[b->g.operands[b->g.in0 + i]] = tn_remap_value(x->to, m, tn_in(g, n, i));
	for (uint32_t i = 0; i < b->g.nodes.count; i++)
		expand(x, &inner, i, as_choose(&x->c, &b->g, i, slot));
	for (uint32_t i = 0; i < n->n_out; i++)
		m->value[tn_out(g, n, i)] = tn_remap_value(x->to, &inner, b->g.operands[b->g.out0 + i]);
}

struct tn_assignment tn_expand_assigned(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a)
{
	const struct tn_graph *g = as->g;
	struct ex x = { .to = tn_ir_create(a, NULL) };
	as_init(&x.c, p, a);
	struct tn_remap m = tn_remap_begin(x.to, g);
	tn_remap_inputs(x.to, &m);
	for (uint32_t i = 0; i < g->nodes.count; i++)
		expand(&x, &m, i, as->slot[i]);
	tn_remap_outputs(x.to, &m);
	return (struct tn_assignment){ &x.to->g, x.slot };
}
