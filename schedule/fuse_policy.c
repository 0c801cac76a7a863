/* fuse_policy.c - what pays: bytes saved against work done again; and which rule of the plugin allows a set. */
#include "schedule/fuse.h"

enum { MAX_NODES = 160, MAX_INPUTS = 48, MAX_EXTRA = 3, MAX_PROLOGUE = 6 };

uint32_t fz_price(const struct tn_graph *g, uint32_t node)
{
	const uint32_t prim = g->nodes.at[node].prim;
	const struct tn_prim_info *p = tn_prim_info(prim);
	if (!p || p->cls != TN_CLS_POINTWISE)
		return 0;
	if (p->flags & TN_SLOW_BODY)
		return 16;
	switch (prim) {
	case TN_div: case TN_rem: case TN_sqrt: case TN_reciprocal: case TN_fmod: case TN_remainder: case TN_floor_divide: case TN_trunc_divide:
		return 4;
	default:
		return p->tol != TN_TOL_EXACT ? 8 : 1;
	}
}

static double about(const struct tn_graph *g, uint32_t size)
{
	const struct tn_size *s = &g->sizes.at[size];
	switch (s->op) {
	case TN_SIZE_CONST: return (double)s->value;
	case TN_SIZE_ADD: return about(g, s->a) + about(g, s->b);
	case TN_SIZE_MUL: return about(g, s->a) * about(g, s->b);
	default: return s->hi < 64 ? (double)s->hi : s->lo > 64 ? (double)s->lo : 64;
	}
}

double fz_elements(const struct tn_graph *g, uint32_t v)
{
	double n = 1;
	for (uint32_t i = 0; i < tn_rank(g, v); i++)
		n *= about(g, tn_shape(g, v)[i]);
	return n;
}

/* how often an element of the value is computed: once at home; else once a point of the dims it is computed under */
static double repeats(const struct fz *z, const struct tn_frame *f, const struct fr_value *v)
{
	double n = 1;
	const int full = (v->map.uses & f->red) != 0;
	if (v->map.bij && !v->many)
		return 1;
	for (uint32_t d = 0; d < f->n_dims; d++) {
		const uint32_t bit = 1u << d;
		if ((f->red & bit && !full) || (f->cls == TN_NEST_CONTRACT && full && !(v->map.uses & bit)))
			continue;
		n *= about(z->g, f->dims[d].extent);
	}
	const double e = fz_elements(z->g, v->value);
	return (e > 0 ? n / e : 1) * (v->many ? 2 : 1);
}

/* what feeds a dot is computed again for each tile of the other operand: cheap, short, and nothing that an anchor's epilogue takes */
static int prologue_pays(const struct fz *z, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, uint32_t node)
{
	uint32_t arithmetic = 0;
	if (fz_price(z->g, node) > 1 || z->behind[node] || z->g->nodes.at[node].prim == TN_cat)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct fr_value *v = fr_value(&z->fr, tn_out(z->g, &z->g->nodes.at[nodes[i]], 0));
		arithmetic += v->level == 0 && v->map.uses & f->red && fz_price(z->g, nodes[i]) > 0;
	}
	return arithmetic <= MAX_PROLOGUE;
}

uint32_t fz_reads(const struct fz *z, uint32_t node)
{
	const uint32_t v = tn_out(z->g, &z->g->nodes.at[node], 0);
	uint32_t n = z->is_output[v];
	for (uint32_t u = z->use0[v]; u < z->use0[v + 1]; u++)
		n += u == z->use0[v] || z->uses[u] != z->uses[u - 1];
	return n;
}

/* a pointwise node that a dot's epilogue will take, unless its consumer takes it first.  Behind a value that several nodes read,
 * and that is stored anyway, there is nothing to lose */
static int after_dot(const struct fz *z, uint32_t node)
{
	for (uint32_t k = 0; k < 64; k++) {
		const struct tn_node *n = &z->g->nodes.at[node];
		const uint32_t cls = q_class(z->g, node);
		uint32_t next = TN_NOTHING;
		if (cls == TN_CLS_CONTRACT)
			return 1;
		if (cls != TN_CLS_POINTWISE && n->prim != TN_permute && n->prim != TN_reshape)
			return 0;
		for (uint32_t i = 0; i < n->n_in; i++) {
			const uint32_t from = tn_val(z->g, tn_in(z->g, n, i))->node;
			const uint32_t c = from == TN_NOTHING ? 0 : q_class(z->g, from);
			if (from != TN_NOTHING && (c == TN_CLS_POINTWISE || c == TN_CLS_CONTRACT || z->g->nodes.at[from].prim == TN_permute || z->g->nodes.at[from].prim == TN_reshape) &&
				z->slot[from] == z->slot[node] && fz_reads(z, from) <= 1)
				next = from;
		}
		if (next == TN_NOTHING)
			return 0;
		node = next;
	}
	return 0;
}

int fz_pays(struct fz *z, const struct fz_group *old, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, uint32_t node, uint32_t *extra)
{
	const struct fr_value *v = fr_value(&z->fr, tn_out(z->g, &z->g->nodes.at[node], 0));
	const uint32_t price = fz_price(z->g, node);
	*extra = old->extra;
	if (f->cls == TN_NEST_CONTRACT && v->level == 0 && v->map.uses & f->red && price + (z->g->nodes.at[node].prim == TN_cat) > 0)
		return prologue_pays(z, nodes, n, f, node);
	if (price == 0)
		return 1;
	if ((f->cls == TN_NEST_REDUCE || f->cls == TN_NEST_ROWS) && v->level == 0 && after_dot(z, node))
		return 0;
	if (fz_elements(z->g, v->value) <= 1)
		return price < 8 || !v->many;
	if (repeats(z, f, v) < 1.01)
		return 1;
	return price <= 1 && ++*extra <= MAX_EXTRA ? 1 : -1;
}

/* ---- rules */
static uint32_t class_mask(uint32_t nest)
{
	switch (nest) {
	case TN_NEST_REDUCE: return TN_CLASS(TN_CLASS_REDUCE);
	case TN_NEST_ROWS: return TN_CLASS(TN_CLASS_ROWS);
	case TN_NEST_CONTRACT: return TN_CLASS(TN_CLASS_CONTRACT);
	case TN_NEST_CUMULATE: return TN_CLASS(TN_CLASS_CUMULATE);
	case TN_NEST_SCATTER: return TN_CLASS(TN_CLASS_SCATTER);
	default: return 0;
	}
}

static void masks(const struct fz *z, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, uint32_t *anchor, uint32_t *before, uint32_t *after)
{
	int point = 0;
	*anchor = class_mask(f->cls);
	*before = *after = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t cls = q_class(z->g, nodes[i]);
		const struct fr_value *v = fr_value(&z->fr, tn_out(z->g, &z->g->nodes.at[nodes[i]], 0));
		point |= cls == TN_CLS_POINTWISE;
		if (cls == TN_CLS_REDUCE || cls == TN_CLS_CONTRACT || cls == TN_CLS_CUMULATE || cls == TN_CLS_SCATTER)
			continue;
		*(v->level > 0 ? after : before) |= TN_CLASS(cls);
	}
	if (*anchor == 0) {                    /* no anchor: an elementwise node, or the last view, is it */
		*anchor = TN_CLASS(point ? (uint32_t)TN_CLS_POINTWISE : q_class(z->g, nodes[n - 1]));
		*before &= ~*anchor;
		*before |= point && n > 1 ? TN_CLASS(TN_CLS_POINTWISE) : 0;
	}
}

static uint32_t inputs(const struct fz *z)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < z->fr.n_values; i++)
		n += z->fr.values[i].member == TN_NOTHING;
	return n;
}

/* the node that a rule is about: the last of its anchor's classes */
static int anchor_serves(const struct fz *z, uint32_t slot, const struct tn_rule_row *r, const uint32_t *nodes, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;)
		if (r->anchor & TN_CLASS(q_class(z->g, nodes[i])))
			return q_rule_serves(z->p, slot, r, z->g, &z->g->nodes.at[nodes[i]]);
	return q_rule_serves(z->p, slot, r, z->g, &z->g->nodes.at[nodes[n - 1]]);
}

const char *fz_rule(struct fz *z, uint32_t slot, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, int *allowed)
{
	const struct tn_rule_row_rows *rows = &z->p->at[slot].backend->rules;
	uint32_t anchor, before, after;
	*allowed = n == 1 && q_template(z->p, slot, f->cls);
	if (!q_template(z->p, slot, f->cls) || n > MAX_NODES || inputs(z) > MAX_INPUTS || z->p->fuse_none)
		return NULL;
	const struct tn_rule_row *best = NULL;
	masks(z, nodes, n, f, &anchor, &before, &after);
	for (uint64_t i = 0; i < rows->count; i++) {
		const struct tn_rule_row *r = &rows->at[i];
		const uint32_t both = f->cls == TN_NEST_ROWS ? r->producers | r->consumers : 0;
		if (r->flags & TN_RULE_GRAPH || !(r->anchor & anchor) || before & ~(r->producers | both) || after & ~(r->consumers | both))
			continue;
		if ((r->max_nodes && n > r->max_nodes) || (r->max_inputs && inputs(z) > r->max_inputs) || (best && r->benefit <= best->benefit))
			continue;
		if (anchor_serves(z, slot, r, nodes, n))
			best = r;
	}
	if (best)
		*allowed = 1;
	return best ? best->id : NULL;
}
