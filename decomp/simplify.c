/* simplify.c - tn_simplify: rounds of rules and of equal nodes made one, until nothing changes, then only what is used.
 *
 * A round copies the graph node by node; each copy is offered to the rules, then looked up among the nodes seen (row, operands,
 * attributes).  A node that lost its uses is dropped when the next round, or the last one, copies only live nodes. */
#include "decomp/decomp.h"
#include "decomp/rewrite.h"
#include <string.h>

enum { ROUNDS = 16 };          /* a chain of n merging views needs one round, a rule that makes work for another one more */

static uint32_t apply_rules(struct tn_rewrite *w, const struct tn_rule_rows *rules)
{
	const uint32_t flags = tn_prim_info(w->n->prim)->flags;
	for (uint64_t i = 0; i < rules->count; i++) {
		const struct tn_rule *r = &rules->at[i];
		if (r->prim != 0 ? r->prim != w->n->prim : !(flags & r->flags))
			continue;
		const uint32_t v = r->apply(w);
		if (v != TN_NOTHING)
			return v;
	}
	return TN_NOTHING;
}

static uint32_t rewrite(struct tn_ir *ir, uint32_t node)
{
	struct tn_rewrite w = { .ir = ir, .node = ir->g.nodes.at[node] };
	w.n = &w.node;
	if (w.n->n_out != 1 || tn_prim_info(w.n->prim)->flags & TN_HOST_OP)
		return TN_NOTHING;
	for (uint32_t i = 0; i < w.n->n_in && i < 8; i++)
		w.in[i] = tn_in(&ir->g, w.n, i);
	const uint32_t r = tn_out(&ir->g, w.n, 0);
	w.dtype = tn_val(&ir->g, r)->dtype;
	w.rank = tn_rank(&ir->g, r);
	memcpy(w.dims, tn_shape(&ir->g, r), w.rank * sizeof *w.dims);
	const uint32_t v = apply_rules(&w, &tn_algebra_rules);
	return v != TN_NOTHING ? v : apply_rules(&w, &tn_view_rules);
}

/* ---- equal nodes: a key of everything that says what a node computes */
static void put(struct tn_text *t, const void *at, size_t size) { tn_text_put(t, at, size); }

static void key_attr(struct tn_text *t, const struct tn_graph *g, const struct tn_attr *a)
{
	put(t, &a->name, sizeof a->name);
	put(t, &a->type, sizeof a->type);
	put(t, &a->i, sizeof a->i);
	put(t, &a->f, sizeof a->f);
	put(t, &a->count, sizeof a->count);
	if (a->type == TN_ATTR_INTS)
		put(t, g->ints + a->at, a->count * sizeof *g->ints);
	else if (a->type == TN_ATTR_SIZES)
		put(t, g->dims + a->at, a->count * sizeof *g->dims);
	else if (a->type == TN_ATTR_TEXT)
		put(t, g->bytes + a->at, a->count);
}

static void node_key(struct tn_text *t, const struct tn_graph *g, const struct tn_node *n)
{
	const uint32_t *in = g->operands + n->in0;
	const uint32_t swapped[2] = { n->n_in == 2 ? in[1] : 0, n->n_in == 2 ? in[0] : 0 };
	if (n->n_in == 2 && tn_prim_info(n->prim)->flags & TN_COMMUTATIVE && in[0] > in[1])
		in = swapped;
	t->len = 0;
	put(t, &n->prim, sizeof n->prim);
	put(t, &n->n_in, sizeof n->n_in);
	put(t, in, n->n_in * sizeof *in);
	for (uint32_t i = 0; i < n->n_attr; i++)
		key_attr(t, g, &g->attrs.at[n->attr0 + i]);
}

struct pass { struct tn_ir *ir; struct tn_remap map; struct tn_map seen; struct tn_text key; uint32_t changes; };

/* results of node, or of an equal one before it */
static uint32_t first_equal(struct pass *p, uint32_t node)
{
	const struct tn_node *n = &p->ir->g.nodes.at[node];
	if (n->n_region > 0 || tn_prim_info(n->prim)->cls == TN_CLS_HOST)
		return node;
	node_key(&p->key, &p->ir->g, n);
	uint64_t *known = tn_map_at(&p->seen, p->key.at, p->key.len);
	if (*known == 0)
		*known = (uint64_t)node + 1;
	return (uint32_t)(*known - 1);
}

static void copy_node(struct pass *p, const struct tn_node *old)
{
	const struct tn_graph *g = p->map.from;
	const uint32_t node = tn_remap_node(p->ir, &p->map, old);
	const uint32_t better = rewrite(p->ir, node);
	if (better != TN_NOTHING) {
		p->map.value[tn_out(g, old, 0)] = better;
		p->changes++;
		return;
	}
	const uint32_t same = first_equal(p, node);
	if (same == node)
		return;
	for (uint32_t i = 0; i < old->n_out; i++)
		p->map.value[tn_out(g, old, i)] = tn_out(&p->ir->g, &p->ir->g.nodes.at[same], i);
	p->changes++;
}

/* which nodes an output needs; a bind makes a symbol, so it stays */
static char *live_nodes(const struct tn_graph *g, struct tn_arena *a)
{
	char *live = tn_array(a, char, g->nodes.count + 1), *used = tn_array(a, char, g->values.count + 1);
	for (uint32_t i = 0; i < g->n_out; i++)
		used[g->operands[g->out0 + i]] = 1;
	for (uint64_t k = g->nodes.count; k-- > 0;) {
		const struct tn_node *n = &g->nodes.at[k];
		live[k] = n->prim == TN_bind;
		for (uint32_t i = 0; i < n->n_out; i++)
			live[k] |= used[tn_out(g, n, i)];
		for (uint32_t i = 0; live[k] && i < n->n_in; i++)
			used[tn_in(g, n, i)] = 1;
	}
	return live;
}

static struct tn_ir *simplify_round(const struct tn_graph *g, struct tn_arena *a, uint32_t *changes)
{
	struct pass p = { .ir = tn_ir_create(a, NULL) };
	const char *live = live_nodes(g, a);
	p.seen.arena = p.key.arena = a;
	p.map = tn_remap_begin(p.ir, g);
	tn_remap_inputs(p.ir, &p.map);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		if (live[i])
			copy_node(&p, &g->nodes.at[i]);
		else
			p.changes++;
	tn_remap_outputs(p.ir, &p.map);
	*changes = p.changes;
	return p.ir;
}

static const struct tn_graph *simplify_region(void *ctx, const struct tn_graph *region, struct tn_arena *a)
{
	(void)ctx;
	return &tn_simplify(region, a)->g;
}

struct tn_ir *tn_simplify(const struct tn_graph *g, struct tn_arena *a)
{
	uint32_t changes = 1;
	struct tn_ir *ir = NULL;
	g = tn_graph_map_regions(g, simplify_region, NULL, a);
	for (uint32_t round = 0; changes > 0 && round < ROUNDS; round++) {
		ir = simplify_round(g, a, &changes);
		g = &ir->g;
	}
	return ir;
}
