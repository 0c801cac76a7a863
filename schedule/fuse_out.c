/* fuse_out.c - groups in execution order, with what they read and write. */
#include "schedule/fuse.h"

uint32_t fz_class_of_single(struct fz *z, uint32_t node)
{
	switch (q_class(z->g, node)) {
	case TN_CLS_REDUCE: return TN_NEST_REDUCE;
	case TN_CLS_CONTRACT: return TN_NEST_CONTRACT;
	case TN_CLS_CUMULATE: return TN_NEST_CUMULATE;
	case TN_CLS_SCATTER: return TN_NEST_SCATTER;
	default: return TN_NEST_POINTWISE;
	}
}

struct writer {
	struct fz *z;
	uint32_t *seen;                          /* value -> 1 + last group that listed it */
	unsigned char *fixed;                    /* value: known when the plan is made */
	unsigned char *state;                    /* group: 0 new, 1 on the way, 2 written */
	uint32_t *root;                          /* value -> whose bytes it is */
	unsigned char *exported;                 /* root: some alias of it is an output */
	struct tn_group *at; uint32_t n;
};

static int inside(const struct fz *z, uint32_t node, uint32_t group)
{
	for (uint32_t l = z->head[node]; l; l = z->links[l - 1].next)
		if (z->links[l - 1].group == group)
			return 1;
	return 0;
}

static int read_outside(const struct fz *z, uint32_t v, uint32_t group)
{
	if (z->is_output[v])
		return 1;
	for (uint32_t u = z->use0[v]; u < z->use0[v + 1]; u++)
		for (uint32_t l = z->head[z->uses[u]]; l; l = z->links[l - 1].next)
			if (z->links[l - 1].group != group && !inside(z, tn_val(z->g, v)->node, z->links[l - 1].group))
				return 1;
	return 0;
}

/* only reads what is known, and all its sizes are: it runs once */
static int is_constant(const struct writer *w, const struct tn_group *x)
{
	const struct tn_graph *g = w->z->g;
	if (x->kind == TN_GROUP_HOST && x->n_in == 0)
		return 0;
	for (uint32_t i = 0; i < x->n_in; i++)
		if (!w->fixed[x->in[i]])
			return 0;
	for (uint32_t i = 0; i < x->n_nodes; i++)
		if (!q_node_fixed(g, &g->nodes.at[x->nodes[i]]))
			return 0;
	return 1;
}

/* a lone reshape is its operand's bytes, unless that is not made here or leaves by another output already */
static int is_alias(struct writer *w, const struct tn_group *x)
{
	const struct tn_graph *g = w->z->g;
	if (x->kind != TN_GROUP_KERNEL || x->n_nodes != 1 || g->nodes.at[x->nodes[0]].prim != TN_reshape || x->n_in != 1 || x->n_out != 1)
		return 0;
	const uint32_t r = w->root[x->in[0]];
	if (tn_val(g, r)->layout != 0 || (tn_val(g, r)->node == TN_NOTHING && w->z->is_output[x->out[0]]))
		return 0;
	if (w->z->is_output[x->out[0]] && (w->exported[r] || w->z->is_output[r] || w->fixed[r]))
		return 0;
	w->exported[r] |= w->z->is_output[x->out[0]];
	w->root[x->out[0]] = r;
	return 1;
}

static void list(struct writer *w, struct tn_group *x, uint32_t id)
{
	struct fz *z = w->z;
	const struct fz_group *from = &z->groups[id];
	uint32_t *in = NULL, *out = NULL, cap_in = 0, cap_out = 0;
	for (uint32_t i = 0; i < from->n; i++) {
		const struct tn_node *n = &z->g->nodes.at[from->nodes[i]];
		for (uint32_t k = 0; k < n->n_in; k++) {
			const uint32_t v = tn_in(z->g, n, k), made = tn_val(z->g, v)->node;
			if (w->seen[v] == id + 1 || (made != TN_NOTHING && inside(z, made, id)))
				continue;
			w->seen[v] = id + 1;
			*tn_push(z->a, in, x->n_in, cap_in) = v;
		}
		for (uint32_t k = 0; k < n->n_out; k++)
			if (z->owner[from->nodes[i]] == id && (from->kind == TN_GROUP_HOST || from->kind == TN_GROUP_COPY ||
				(from->kind == TN_GROUP_KERNEL ? z->stored[from->nodes[i]] : read_outside(z, tn_out(z->g, n, k), id))))
				*tn_push(z->a, out, x->n_out, cap_out) = tn_out(z->g, n, k);
	}
	x->in = in;
	x->out = out;
}

static void write_group(struct writer *w, uint32_t id)
{
	struct fz *z = w->z;
	struct fz_group *x = &z->groups[id];
	if (w->state[id] || x->gone)
		return;
	w->state[id] = 1;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct tn_node *n = &z->g->nodes.at[x->nodes[i]];
		for (uint32_t k = 0; k < n->n_in; k++) {
			const uint32_t made = tn_val(z->g, tn_in(z->g, n, k))->node;
			if (made == TN_NOTHING || inside(z, made, id) || z->owner[made] == TN_NOTHING)
				continue;
			if (w->state[z->owner[made]] == 1)
				tn_raise(z->a->diag, TN_E_INTERNAL, "fuse: groups of %s and %s need each other", tn_prim_name(n->prim),
					tn_prim_name(z->g->nodes.at[made].prim));
			write_group(w, z->owner[made]);
		}
	}
	w->state[id] = 2;
	struct tn_group *r = &w->at[w->n++];
	*r = (struct tn_group){ .kind = x->kind, .slot = x->slot, .nest = x->kind == TN_GROUP_KERNEL ? x->cls : 0, .from = TN_NOTHING, .rule = x->rule,
		.nodes = x->nodes, .n_nodes = x->n };
	list(w, r, id);
	r->constant = is_constant(w, r);
	for (uint32_t i = 0; i < r->n_out; i++)
		w->fixed[r->out[i]] = (unsigned char)r->constant;
	if (r->kind == TN_GROUP_COPY) {
		const uint32_t made = tn_val(z->g, r->in[0])->node;
		r->from = made == TN_NOTHING ? z->p->n : z->slot[made];
	}
	if (is_alias(w, r)) {
		r->kind = TN_GROUP_ALIAS;
		r->nest = 0;
	}
}

struct tn_groups fz_finish(struct fz *z)
{
	const struct tn_graph *g = z->g;
	struct writer w = { .z = z };
	w.seen = tn_array(z->a, uint32_t, g->values.count + 1);
	w.fixed = tn_array(z->a, unsigned char, g->values.count + 1);
	w.root = tn_array(z->a, uint32_t, g->values.count + 1);
	w.exported = tn_array(z->a, unsigned char, g->values.count + 1);
	w.state = tn_array(z->a, unsigned char, z->n_groups + 1);
	w.at = tn_array(z->a, struct tn_group, z->n_groups + 1);
	for (uint32_t v = 0; v < g->values.count; v++) {
		w.fixed[v] = tn_val(g, v)->constant != TN_NOTHING;
		w.root[v] = v;
	}
	for (uint32_t i = 0; i < g->nodes.count; i++)        /* in graph order, each after what it reads */
		for (uint32_t l = z->head[i]; l; l = z->links[l - 1].next)
			if (z->owner[i] == z->links[l - 1].group)
				write_group(&w, z->links[l - 1].group);
	return (struct tn_groups){ g, w.at, w.n };
}
