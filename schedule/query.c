/* query.c - what a plugin's tables say */
#include "schedule/query.h"
#include "schedule/where.h"
#include "ir/builders.h"
#include <string.h>

int q_disabled(const struct tn_places *p, uint32_t slot, const char *row)
{
	return row && p->disabled && p->disabled(p->ctx, slot, row);
}

uint32_t q_in_dtype(const struct tn_graph *g, const struct tn_node *n)
{
	uint32_t dtype = n->n_in ? tn_val(g, tn_in(g, n, 0))->dtype : n->n_out ? tn_val(g, tn_out(g, n, 0))->dtype : TN_NONE;
	for (uint32_t i = 0; i < n->n_in && dtype == TN_BOOL; i++)
		dtype = tn_val(g, tn_in(g, n, i))->dtype;
	return dtype;
}

int q_spells(const struct tn_places *p, uint32_t slot, uint32_t prim, uint32_t in, uint32_t out)
{
	const struct tn_dialect_row_rows *rows = &p->at[slot].backend->dialect;
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->at[i].prim == prim && rows->at[i].in & TN_M(in) && rows->at[i].out & TN_M(out))
			return !q_disabled(p, slot, tn_prim_name(prim));
	return 0;
}

int q_template(const struct tn_places *p, uint32_t slot, uint32_t cls)
{
	const struct tn_template_row_rows *rows = &p->at[slot].backend->templates;
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->at[i].nest == cls && !q_disabled(p, slot, rows->at[i].id))
			return 1;
	return 0;
}

/* the words spell the types of what a kernel may load; a backend without such rows is taken at its dialect's word */
int q_stores(const struct tn_places *p, uint32_t slot, uint32_t dtype)
{
	const struct tn_word_row_rows *rows = &p->at[slot].backend->words;
	int any = 0;
	for (uint64_t i = 0; i < rows->count; i++)
		if (strcmp(rows->at[i].role, "type") == 0) {
			any = 1;
			if (rows->at[i].dtypes & TN_M(dtype))
				return 1;
		}
	return !any && TN_M_PLAIN & TN_M(dtype);
}

/* ---- elementwise nodes */
static int open_can(struct tn_query *q, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	struct tn_ir *ir = tn_ir_create(q->a, NULL);
	uint32_t in[8], out[4];
	if (n->n_in > 8 || n->n_out > 4)
		return 0;
	for (uint32_t i = 0; i < n->n_in; i++)
		in[i] = tn_ir_input(ir, NULL, tn_val(g, tn_in(g, n, i))->dtype, 0, NULL);
	if (!tn_ir_open(ir, g, n, in, out))
		return 0;
	for (uint64_t i = 0; i < ir->g.nodes.count; i++) {
		const uint32_t cls = q_class(&ir->g, (uint32_t)i);
		if (cls == TN_CLS_POINTWISE ? !q_point(q, slot, &ir->g, &ir->g.nodes.at[i]) : cls != TN_CLS_DATA && cls != TN_CLS_VIEW)
			return 0;
	}
	return 1;
}

/* f16 and bf16 through f32, rounded after each node; a conversion needs its own row */
static int through_f32(const struct tn_places *p, uint32_t slot, uint32_t prim, uint32_t in, uint32_t out)
{
	if (!q_is_half(in) || prim == TN_convert || prim == TN_bitcast)
		return 0;
	return q_spells(p, slot, prim, TN_F32, q_is_half(out) ? TN_F32 : out) && q_spells(p, slot, TN_convert, in, TN_F32) &&
		q_spells(p, slot, TN_convert, TN_F32, in);
}

int q_point(struct tn_query *q, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	const uint32_t in = q_in_dtype(g, n), out = n->n_out ? tn_val(g, tn_out(g, n, 0))->dtype : TN_NONE;
	const uint32_t key[4] = { slot, n->prim, in, out };
	const uint64_t *known = tn_map_find(&q->point, key, sizeof key);
	if (known && *known)
		return *known == 1;
	int yes = !q_disabled(q->p, slot, info->name) && (q_spells(q->p, slot, n->prim, in, out) || through_f32(q->p, slot, n->prim, in, out) ||
		(n->prim == TN_convert && in == out));
	if (!yes && !(info->flags & TN_ATOM) && !q_disabled(q->p, slot, info->name))
		yes = open_can(q, slot, g, n);
	*tn_map_at(&q->point, key, sizeof key) = yes ? 1 : 2;
	return yes;
}

/* ---- the graph way */
static int cap_covers(const struct tn_cap_row *c, const struct tn_graph *g, const struct tn_node *n)
{
	const uint32_t rank = n->n_in ? tn_rank(g, tn_in(g, n, 0)) : n->n_out ? tn_rank(g, tn_out(g, n, 0)) : 0;
	if ((c->rank_lo || c->rank_hi) && (rank < c->rank_lo || rank > c->rank_hi))
		return 0;
	if (n->n_out && !(c->out & TN_M(tn_val(g, tn_out(g, n, 0))->dtype)))
		return 0;
	for (uint32_t i = 0; i < n->n_in; i++)
		if (!((i == 0 ? c->in0 : i == 1 ? c->in1 : c->rest) & TN_M(tn_val(g, tn_in(g, n, i))->dtype)))
			return 0;
	return 1;
}

int q_caps(const struct tn_places *p, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	const struct tn_cap_row_rows *rows = &p->at[slot].backend->caps;
	for (uint64_t i = 0; i < rows->count; i++)
		if (rows->at[i].prim == n->prim && cap_covers(&rows->at[i], g, n) && q_where(rows->at[i].where, g, n))
			return !q_disabled(p, slot, tn_prim_name(n->prim));
	return 0;
}

static int sizes_fixed(const struct tn_graph *g, const uint32_t *sizes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (g->sizes.at[sizes[i]].op != TN_SIZE_CONST)
			return 0;
	return 1;
}

int q_node_fixed(const struct tn_graph *g, const struct tn_node *n)
{
	for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
		const uint32_t v = i < n->n_in ? tn_in(g, n, i) : tn_out(g, n, i - n->n_in);
		if (!sizes_fixed(g, tn_shape(g, v), tn_rank(g, v)))
			return 0;
	}
	for (uint32_t i = 0; i < n->n_attr; i++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + i];
		if (a->type == TN_ATTR_SIZES && !sizes_fixed(g, g->dims + a->at, a->count))
			return 0;
	}
	return 1;
}

int q_rule_serves(const struct tn_places *p, uint32_t slot, const struct tn_rule_row *r, const struct tn_graph *g, const struct tn_node *n)
{
	return !r->pattern && !q_disabled(p, slot, r->id) && (!(r->flags & TN_RULE_STATIC) || q_node_fixed(g, n)) && q_where(r->where, g, n);
}

const struct tn_rule_row *q_graph_rule(const struct tn_places *p, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	const struct tn_rule_row_rows *rows = &p->at[slot].backend->rules;
	const struct tn_rule_row *best = NULL;
	const uint32_t cls = TN_CLASS(tn_prim_info(n->prim)->cls);
	for (uint64_t i = 0; i < rows->count; i++) {
		const struct tn_rule_row *r = &rows->at[i];
		if (r->flags & TN_RULE_GRAPH && (r->anchor | r->producers | r->consumers) & cls && (!best || r->benefit > best->benefit) && q_rule_serves(p, slot, r, g, n))
			best = r;
	}
	return best;
}
