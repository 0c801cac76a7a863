/* remap.c - copying from one graph to another */
#include "ir/store.h"
#include <string.h>

static uint32_t *unset(struct tn_arena *a, uint64_t n)
{
	uint32_t *at = tn_array(a, uint32_t, n);
	memset(at, 0xff, n * sizeof *at);      /* TN_NOTHING */
	return at;
}

/* Symbols come first and in their order, so that they keep their numbers in a graph that starts empty. */
struct tn_remap tn_remap_begin(struct tn_ir *to, const struct tn_graph *from)
{
	struct tn_remap m = { from, unset(to->arena, from->values.count), unset(to->arena, from->sizes.count) };
	const char *name = tn_str_at(from, from->name);
	if (*name)
		to->g.name = tn_put_text(to, name, strlen(name));
	for (uint64_t i = 0; i < from->sizes.count; i++)
		if (from->sizes.at[i].op == TN_SIZE_SYM)
			m.size[i] = tn_size_import(to, from, (uint32_t)i);
	return m;
}

static uint32_t size(struct tn_ir *to, struct tn_remap *m, uint32_t old)
{
	if (m->size[old] != TN_NOTHING)
		return m->size[old];
	const struct tn_size *r = &m->from->sizes.at[old];
	if (r->op == TN_SIZE_CONST || r->op == TN_SIZE_SYM)
		return m->size[old] = tn_size_import(to, m->from, old);
	const uint32_t a = size(to, m, r->a), b = size(to, m, r->b);
	return m->size[old] = tn_size_op(to, r->op, a, b);
}

static void copy_facts(struct tn_ir *to, const struct tn_graph *from, uint32_t old, uint32_t new)
{
	const struct tn_value *v = tn_val(from, old);
	if (v->name != TN_NOTHING)
		tn_ir_name(to, new, tn_str_at(from, v->name));
	if (v->layout) {
		struct tn_layout l = from->layouts.at[v->layout - 1];
		if (l.opaque != TN_NOTHING)
			l.opaque = tn_put_text(to, tn_str_at(from, l.opaque), strlen(tn_str_at(from, l.opaque)));
		const uint32_t layout = tn_put_layout(to, &l);
		to->store->values[new].layout = layout;
	}
}

void tn_remap_inputs(struct tn_ir *to, struct tn_remap *m)
{
	const struct tn_graph *g = m->from;
	for (uint32_t i = 0; i < g->n_in; i++) {
		const uint32_t old = g->operands[g->in0 + i];
		const struct tn_value *v = tn_val(g, old);
		uint32_t dims[TN_RANK_MAX];
		if (v->rank > TN_RANK_MAX)
			tn_raise(to->arena->diag, TN_E_ARG, "input %u: %u dims are more than %d", i, v->rank, TN_RANK_MAX);
		for (uint32_t d = 0; d < v->rank; d++)
			dims[d] = size(to, m, tn_shape(g, old)[d]);
		m->value[old] = tn_ir_input(to, NULL, v->dtype, v->rank, dims);
		copy_facts(to, g, old, m->value[old]);
	}
}

static uint32_t copy_constant(struct tn_ir *to, const struct tn_graph *g, uint32_t old)
{
	const struct tn_value *v = tn_val(g, old);
	const struct tn_constant *c = &g->constants.at[v->constant];
	int64_t dims[TN_RANK_MAX];
	for (uint32_t d = 0; d < v->rank && d < TN_RANK_MAX; d++)
		dims[d] = tn_size_known(g, tn_shape(g, old)[d]);
	const uint32_t new = tn_ir_constant(to, NULL, v->dtype, v->rank, dims, c->at, c->size);
	to->store->constants[tn_val(&to->g, new)->constant] = *c;      /* its hash, too */
	copy_facts(to, g, old, new);
	return new;
}

uint32_t tn_remap_value(struct tn_ir *to, struct tn_remap *m, uint32_t v)
{
	if (m->value[v] != TN_NOTHING)
		return m->value[v];
	if (tn_val(m->from, v)->constant == TN_NOTHING)
		tn_raise(to->arena->diag, TN_E_INTERNAL, "value %s is used before its node was copied", tn_value_text(to->arena, m->from, v));
	return m->value[v] = copy_constant(to, m->from, v);
}

static struct tn_attr_in copy_attr(struct tn_ir *to, struct tn_remap *m, const struct tn_node *n, const struct tn_attr *a)
{
	const struct tn_graph *g = m->from;
	struct tn_attr_in in = { .name = a->name, .type = a->type, .i = a->i, .f = a->f, .count = a->count };
	if (a->type == TN_ATTR_INTS) {
		in.list = g->ints + a->at;
	} else if (a->type == TN_ATTR_TEXT) {
		in.list = g->bytes + a->at;
	} else if (a->type == TN_ATTR_SIZES) {
		uint32_t *sizes = tn_array(to->arena, uint32_t, a->count);
		for (uint32_t i = 0; i < a->count; i++)
			sizes[i] = size(to, m, g->dims[a->at + i]);
		in.list = sizes;
	} else if (n->prim == TN_bind && a->name == TN_ATTR_index && a->i >= 0 && (uint64_t)a->i < g->n_symbols) {
		const uint32_t row = tn_size_sym(to, tn_symbol_name(g, (uint32_t)a->i), INT64_MIN, TN_SIZE_UNBOUNDED);
		in.i = to->g.sizes.at[row].a;
	}
	return in;
}

uint32_t tn_remap_node(struct tn_ir *to, struct tn_remap *m, const struct tn_node *n)
{
	const struct tn_graph *g = m->from;
	uint32_t *in = tn_array(to->arena, uint32_t, n->n_in);
	struct tn_attr_in *attrs = tn_array(to->arena, struct tn_attr_in, n->n_attr);
	struct tn_type *want = tn_array(to->arena, struct tn_type, n->n_out);
	for (uint32_t i = 0; i < n->n_in; i++)
		in[i] = tn_remap_value(to, m, tn_in(g, n, i));
	for (uint32_t i = 0; i < n->n_attr; i++)
		attrs[i] = copy_attr(to, m, n, &g->attrs.at[n->attr0 + i]);
	for (uint32_t i = 0; n->n_region && i < n->n_out; i++) {
		const uint32_t v = tn_out(g, n, i);
		want[i].rank = tn_rank(g, v);
		for (uint32_t d = 0; d < want[i].rank && d < TN_RANK_MAX; d++)
			want[i].dims[d] = size(to, m, tn_shape(g, v)[d]);
	}
	const uint32_t origin = to->store->origin;
	if (n->origin != TN_NOTHING)
		tn_ir_origin(to, tn_str_at(g, n->origin));
	const uint32_t node = tn_ir_node_as(to, &(struct tn_node_in){ .prim = n->prim, .in = in, .n_in = n->n_in, .attrs = attrs, .n_attrs = n->n_attr,
		.regions = n->n_region ? g->regions + n->region0 : NULL, .n_regions = n->n_region }, n->n_region ? want : NULL, n->n_region ? n->n_out : 0);
	to->store->origin = origin;
	for (uint32_t i = 0; i < n->n_out && i < to->g.nodes.at[node].n_out; i++) {
		const uint32_t old = tn_out(g, n, i);
		m->value[old] = tn_out(&to->g, &to->g.nodes.at[node], i);
		copy_facts(to, g, old, m->value[old]);
	}
	return node;
}

static uint32_t position(const struct tn_graph *g, uint32_t first, uint32_t n, uint32_t value)
{
	for (uint32_t i = 0; i < n; i++)
		if (g->operands[first + i] == value)
			return i;
	return TN_NOTHING;
}

void tn_remap_outputs(struct tn_ir *to, struct tn_remap *m)
{
	const struct tn_graph *g = m->from;
	const uint32_t before = to->g.n_out;
	for (uint32_t i = 0; i < g->n_out; i++) {
		const char *name = i < g->n_out_names ? tn_str_at(g, g->out_names[i]) : NULL;
		tn_ir_output(to, name, tn_remap_value(to, m, g->operands[g->out0 + i]));
	}
	for (uint64_t i = 0; i < g->mutations.count; i++) {
		const struct tn_mutation *x = &g->mutations.at[i];
		const uint32_t input = position(&to->g, to->g.in0, to->g.n_in, m->value[g->operands[g->in0 + x->input]]);
		tn_ir_mutates(to, before + x->output, input, x->kind);
	}
}
