/* assign.c - which slot runs each node: the first plugin in the user's order that has it natively or can take it apart, where taking
 * apart is slow the first that has it natively, else the host's evaluator. */
#include "schedule/assign.h"
#include "ir/builders.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64 };

void as_init(struct as_ctx *c, const struct tn_places *p, struct tn_arena *a)
{
	*c = (struct as_ctx){ .p = p, .a = a, .q = { .p = p, .a = a, .point = { .arena = a } }, .opened = { .arena = a } };
}

static int dtypes(const struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	for (uint32_t i = 0; i < n->n_in; i++)
		if (!q_stores(c->p, slot, tn_val(g, tn_in(g, n, i))->dtype))
			return 0;
	for (uint32_t i = 0; i < n->n_out; i++)
		if (!q_stores(c->p, slot, tn_val(g, tn_out(g, n, i))->dtype))
			return 0;
	return 1;
}

static int index_ok(const struct tn_graph *g, const struct tn_node *n) { return tn_attr_int(g, n, TN_ATTR_mode, 0) != 2; }   /* a check must raise */

static int combines(const struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	static const struct { uint32_t prim, by; } table[] = { { TN_sum, TN_add }, { TN_prod, TN_mul }, { TN_reduce_max, TN_max }, { TN_reduce_min, TN_min } };
	const uint32_t x = tn_val(g, tn_in(g, n, 0))->dtype, acc = q_is_half(x) ? TN_F32 : x;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].prim == n->prim)
			return q_spells(c->p, slot, table[i].by, acc, acc) || (x == TN_BOOL && q_spells(c->p, slot, n->prim == TN_reduce_max ? TN_or : TN_and, x, x));
	return 0;
}

int as_kernel(struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	const int point = q_template(c->p, slot, TN_NEST_POINTWISE);
	if (!info || n->n_out != 1 || q_disabled(c->p, slot, info->name) || !dtypes(c, slot, g, n))
		return 0;
	switch (info->cls) {
	case TN_CLS_POINTWISE: return point && info->sh == TN_SH_SAME && q_point(&c->q, slot, g, n);
	case TN_CLS_VIEW: case TN_CLS_DATA: return point;
	case TN_CLS_GATHER: return point && index_ok(g, n);
	case TN_CLS_REDUCE: return info->flags & TN_ATOM && q_template(c->p, slot, TN_NEST_REDUCE) && combines(c, slot, g, n);
	case TN_CLS_CONTRACT: return q_template(c->p, slot, TN_NEST_CONTRACT);
	case TN_CLS_CUMULATE: return q_template(c->p, slot, TN_NEST_CUMULATE);
	case TN_CLS_SCATTER: return q_template(c->p, slot, TN_NEST_SCATTER) && index_ok(g, n);
	default: return 0;
	}
}

int as_native(struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	return as_kernel(c, slot, g, n) || (q_graph_rule(c->p, slot, g, n) && q_caps(c->p, slot, g, n));
}

struct tn_ir *as_open(const struct tn_graph *g, const struct tn_node *n, struct tn_arena *a)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	if (!info || info->flags & (TN_ATOM | TN_HOST_OP) || info->cls == TN_CLS_PACK || n->n_region)
		return NULL;
	struct tn_ir *b = tn_ir_create(a, NULL);
	struct tn_remap m = tn_remap_begin(b, g);              /* the symbols keep their numbers */
	uint32_t *in = tn_array(a, uint32_t, n->n_in + 1), *out = tn_array(a, uint32_t, n->n_out + 1);
	(void)m;
	for (uint32_t i = 0; i < n->n_in; i++) {
		const uint32_t v = tn_in(g, n, i);
		uint32_t dims[TN_RANK_MAX];
		for (uint32_t d = 0; d < tn_rank(g, v); d++)
			dims[d] = tn_size_import(b, g, tn_shape(g, v)[d]);
		in[i] = tn_ir_input(b, NULL, tn_val(g, v)->dtype, tn_rank(g, v), dims);
	}
	tn_ir_origin(b, n->origin == TN_NOTHING ? NULL : tn_str_at(g, n->origin));
	if (!tn_ir_open(b, g, n, in, out))
		return NULL;
	for (uint32_t i = 0; i < n->n_out; i++)
		tn_ir_output(b, NULL, out[i]);
	return b;
}

/* whether the slot can do all that the definition is made of.  The answer hangs on dtypes alone, as far as anyone has seen. */
static int can_open(struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n)
{
	uint32_t key[8] = { slot, n->prim };
	for (uint32_t i = 0; i < n->n_in && i < 6; i++)
		key[2 + i] = tn_val(g, tn_in(g, n, i))->dtype;
	const uint64_t *known = tn_map_find(&c->opened, key, sizeof key);
	if (known)
		return *known == 1;
	const struct tn_ir *b = as_open(g, n, c->a);
	int yes = b != NULL;
	for (uint64_t i = 0; yes && i < b->g.nodes.count; i++)
		yes = as_native(c, slot, &b->g, &b->g.nodes.at[i]) || can_open(c, slot, &b->g, &b->g.nodes.at[i]);
	*tn_map_at(&c->opened, key, sizeof key) = yes ? 1 : 2;
	return yes;
}

static int by_key(const void *x, const void *y)
{
	const uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;
	return p < q ? -1 : p > q;
}

static int denied(const struct as_ctx *c, uint32_t node, uint32_t slot)
{
	const uint64_t key = (uint64_t)node << 8 | slot;
	return c->n_deny && bsearch(&key, c->deny, c->n_deny, sizeof key, by_key) != NULL;
}

uint32_t as_choose(struct as_ctx *c, const struct tn_graph *g, uint32_t node, uint32_t prefer)
{
	const struct tn_node *n = &g->nodes.at[node];
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	uint32_t slow = c->p->n;
	if (!info || info->flags & TN_HOST_OP || n->n_region)
		return c->p->n;
	for (uint32_t k = 0; k <= c->p->n; k++) {
		const uint32_t s = k == 0 ? prefer : k - 1;
		if (s >= c->p->n || (k > 0 && s == prefer) || denied(c, node, s) || (c->refused && c->refused[s] && c->refused[s][node]))
			continue;
		if (as_native(c, s, g, n))
			return s;
		if (!can_open(c, s, g, n))
			continue;
		if (!(info->flags & TN_SLOW_BODY))
			return s;
		slow = slow == c->p->n ? s : slow;
	}
	return slow;
}

/* level 2: plugins of the graph way are asked once about the whole graph */
static void ask(struct as_ctx *c, const struct tn_graph *g)
{
	const uint32_t n = (uint32_t)g->nodes.count;
	c->refused = tn_array(c->a, unsigned char *, c->p->n + 1);
	for (uint32_t s = 0; s < c->p->n; s++) {
		const struct tn_place *at = &c->p->at[s];
		int any = 0;
		for (uint64_t i = 0; i < at->backend->rules.count; i++)
			any |= (at->backend->rules.at[i].flags & TN_RULE_GRAPH) != 0;
		if (!any || !at->backend->can || n == 0)
			continue;
		struct tn_verdict *v = tn_array(c->a, struct tn_verdict, n + 1);
		for (uint32_t i = 0; i < n; i++)
			v[i].answer = TN_CAN_YES;
		if (at->backend->can(at->self, at->device ? at->device->target : "", g, v) != TN_OK)
			continue;
		c->refused[s] = tn_array(c->a, unsigned char, n + 1);
		for (uint32_t i = 0; i < n; i++)
			c->refused[s][i] = v[i].answer == TN_CAN_NO && !as_kernel(c, s, g, &g->nodes.at[i]);
	}
}

/* ---- small integers that only feed the host stay there */
static int is_small(const struct tn_graph *g, uint32_t v)
{
	int64_t n = 1;
	if (!(TN_M(tn_val(g, v)->dtype) & (TN_M_INT | TN_M(TN_BOOL))))
		return 0;
	for (uint32_t d = 0; d < tn_rank(g, v); d++) {
		const int64_t k = tn_size_known(g, tn_shape(g, v)[d]);
		if (k < 0 || k > SMALL)
			return 0;
		n *= k;
	}
	return n <= SMALL;
}

static int all_small(const struct tn_graph *g, const struct tn_node *n)
{
	for (uint32_t i = 0; i < n->n_in; i++)
		if (!is_small(g, tn_in(g, n, i)))
			return 0;
	for (uint32_t i = 0; i < n->n_out; i++)
		if (!is_small(g, tn_out(g, n, i)))
			return 0;
	return 1;
}

void as_keep_small(const struct tn_graph *g, uint32_t *slot, uint32_t host, struct tn_arena *a)
{
	unsigned char *elsewhere = tn_array(a, unsigned char, g->values.count + 1);   /* value: something not of the host reads it */
	for (uint32_t i = 0; i < g->n_out; i++)
		elsewhere[g->operands[g->out0 + i]] = 1;
	for (uint32_t i = (uint32_t)g->nodes.count; i-- > 0;) {
		const struct tn_node *n = &g->nodes.at[i];
		int used = 0;
		for (uint32_t r = 0; r < n->n_out; r++)
			used |= elsewhere[tn_out(g, n, r)];
		if (slot[i] != host && !used && n->n_out && all_small(g, n) && tn_eval_can(g, n))
			slot[i] = host;
		for (uint32_t k = 0; k < n->n_in && slot[i] != host; k++)
			elsewhere[tn_in(g, n, k)] = 1;
	}
}

struct tn_assignment tn_assign(const struct tn_graph *g, const struct tn_places *p, const uint64_t *deny, uint32_t n_deny, struct tn_arena *a)
{
	const uint32_t n = (uint32_t)g->nodes.count;
	uint32_t *slot = tn_array(a, uint32_t, n + 1);
	struct as_ctx c;
	as_init(&c, p, a);
	if (n_deny) {
		uint64_t *sorted = tn_copy_bytes(a, deny, n_deny * sizeof *deny);
		qsort(sorted, n_deny, sizeof *sorted, by_key);
		c.deny = sorted;
		c.n_deny = n_deny;
	}
	ask(&c, g);
	for (uint32_t i = 0; i < n; i++) {
		slot[i] = as_choose(&c, g, i, TN_NOTHING);
		if (slot[i] == p->n && !tn_eval_can(g, &g->nodes.at[i]))
			tn_raise(a->diag, TN_E_UNSUPPORTED, "node %u, %s: no plugin and not the evaluator can run it on %s", i, tn_prim_name(g->nodes.at[i].prim),
				g->nodes.at[i].n_in ? tn_dtype_name(tn_val(g, tn_in(g, &g->nodes.at[i], 0))->dtype) : "its dtype");
	}
	as_keep_small(g, slot, p->n, a);
	return (struct tn_assignment){ g, slot };
}
