/* region.c - a group's nodes as a graph of their own: inputs in the order of in, outputs in the order of out. */
#include "schedule/region.h"
#include "schedule/region_facts.h"

static uint32_t input(struct tn_ir *ir, struct tn_remap *m, const struct tn_graph *g, uint32_t v)
{
	const struct tn_value *x = tn_val(g, v);
	uint32_t dims[TN_RANK_MAX];
	for (uint32_t d = 0; d < x->rank; d++)
		dims[d] = tn_size_import(ir, g, tn_shape(g, v)[d]);
	if (x->constant == TN_NOTHING) {
		const uint32_t r = tn_ir_input(ir, NULL, x->dtype, x->rank, dims);
		if (x->layout != 0)
			rg_layout(ir, r, g, v);
		return r;
	}
	/* an input that is known: the value stands in both tables */
	const uint32_t known = tn_remap_value(ir, m, v), r = tn_ir_input(ir, NULL, x->dtype, x->rank, dims);
	rg_known(ir, r, known);
	return r;
}

struct tn_ir *rg_build(const struct tn_graph *g, const struct tn_group *group, uint32_t **original, struct tn_arena *a)
{
	struct tn_ir *ir = tn_ir_create(a, NULL);
	struct tn_remap m = tn_remap_begin(ir, g);
	for (uint32_t i = 0; i < group->n_in; i++)
		m.value[group->in[i]] = input(ir, &m, g, group->in[i]);
	for (uint32_t i = 0; i < group->n_nodes; i++)
		tn_remap_node(ir, &m, &g->nodes.at[group->nodes[i]]);
	for (uint32_t i = 0; i < group->n_out; i++)
		tn_ir_output(ir, NULL, m.value[group->out[i]]);
	if (original) {
		*original = tn_array(a, uint32_t, ir->g.values.count + 1);
		for (uint32_t v = 0; v < ir->g.values.count; v++)
			(*original)[v] = TN_NOTHING;
		for (uint32_t i = 0; i < group->n_in; i++)
			(*original)[m.value[group->in[i]]] = group->in[i];
		for (uint32_t i = 0; i < group->n_out; i++)
			(*original)[m.value[group->out[i]]] = group->out[i];
	}
	return ir;
}

const struct tn_graph *tn_group_region(const struct tn_groups *gs, uint32_t group, struct tn_arena *a)
{
	return &rg_build(gs->g, &gs->at[group], NULL, a)->g;
}
