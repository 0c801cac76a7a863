/* layout.c - operand layouts of contractions, and copies where a value moves between slots.
 *
 * A dot whose one operand is constant gets that operand packed by the plugin's own layout (a tn_layout_row whose id starts with
 * "dot.b."): views bring it to [batch.., K, N], the node pack makes the opaque value, and a reshape that always stays in the dot's
 * nest gives it the dims back.  K is ordered so that memory of the other operand runs along its last dim.  Graph inputs and
 * constants are not copied: the host uploads them where they are read. */
#include "schedule/frame.h"
#include <string.h>

struct lay {
	const struct tn_graph *g; const uint32_t *from;
	const struct tn_places *p; struct tn_arena *a;
	struct tn_ir *to;
	struct tn_remap m;
	uint32_t *slot, n, cap;              /* of to's nodes */
	struct tn_map moved;                 /* (value of to, slot) -> 1 + its copy there */
};

static void note(struct lay *l, uint32_t slot)
{
	while (l->n < l->to->g.nodes.count)
		*tn_push(l->a, l->slot, l->n, l->cap) = slot;
}

/* ---- copies */
static uint32_t here(struct lay *l, uint32_t v, uint32_t slot)
{
	const uint32_t made = tn_val(&l->to->g, v)->node;
	const uint32_t key[2] = { v, slot };
	if (made == TN_NOTHING || l->slot[made] == slot)
		return v;
	const uint64_t *known = tn_map_find(&l->moved, key, sizeof key);
	if (known)
		return (uint32_t)(*known - 1);
	const struct tn_attr_in at = TN_A_INT(plugin, slot);
	const uint32_t r = tn_ir_add(l->to, TN_copy, &v, 1, &at, 1);
	note(l, slot);
	*tn_map_at(&l->moved, key, sizeof key) = (uint64_t)r + 1;
	return r;
}

static void add(struct lay *l, const struct tn_node *n, uint32_t slot)
{
	uint32_t *old = tn_array(l->a, uint32_t, n->n_in + 1);
	for (uint32_t i = 0; i < n->n_in; i++) {
		const uint32_t v = tn_in(l->g, n, i);
		old[i] = tn_remap_value(l->to, &l->m, v);
	}
	for (uint32_t i = 0; i < n->n_in; i++)
		l->m.value[tn_in(l->g, n, i)] = here(l, old[i], slot);
	tn_remap_node(l->to, &l->m, n);
	note(l, slot);
	for (uint32_t i = 0; i < n->n_in; i++)
		l->m.value[tn_in(l->g, n, i)] = old[i];
}

/* ---- packing */
static int is_constant(const struct tn_graph *g, uint32_t v)
{
	for (uint32_t k = 0; k < 64; k++) {
		const struct tn_value *x = tn_val(g, v);
		if (x->constant != TN_NOTHING)
			return 1;
		if (x->node == TN_NOTHING || q_class(g, x->node) != TN_CLS_VIEW || g->nodes.at[x->node].n_in != 1)
			return 0;
		v = tn_in(g, &g->nodes.at[x->node], 0);
	}
	return 0;
}

static const char *layout_for(const struct lay *l, uint32_t slot, uint32_t dtype)
{
	if (slot >= l->p->n)
		return NULL;
	const struct tn_backend *b = l->p->at[slot].backend;
	int claimed = 0;
	for (uint64_t i = 0; i < b->caps.count; i++)
		claimed |= b->caps.at[i].prim == TN_pack && b->caps.at[i].in0 & TN_M(dtype);
	for (uint64_t i = 0; claimed && i < b->layouts.count; i++)
		if (strncmp(b->layouts.at[i].id, "dot.b.", 6) == 0 && b->layouts.at[i].dtypes & TN_M(dtype) && !q_disabled(l->p, slot, b->layouts.at[i].id) &&
			!q_disabled(l->p, slot, "pack"))
			return b->layouts.at[i].id;
	return NULL;
}

static int is_view(void *ctx, uint32_t node)
{
	const struct tn_graph *g = ctx;
	return q_class(g, node) == TN_CLS_VIEW;
}

/* the order in which K's pairs are taken: that along which the other operand's memory runs comes last */
static void order_pairs(const struct tn_graph *g, const int64_t *con, uint32_t n, uint32_t other, uint32_t other_side, uint32_t *order)
{
	const uint32_t inner = fr_inner_axis(g, other, is_view, (void *)(uintptr_t)g);
	uint32_t at = 0, last = TN_NOTHING;
	for (uint32_t i = 0; i < n; i++)
		if (con[2 * i + other_side] == inner)
			last = i;
		else
			order[at++] = i;
	if (last != TN_NOTHING)
		order[at] = last;
}

struct packing { int64_t perm[TN_RANK_MAX]; uint32_t dims[TN_RANK_MAX], n_batch, n_k, n_free, order[TN_RANK_MAX]; };

static void plan(struct lay *l, const struct tn_node *n, uint32_t side, uint32_t b, struct packing *p)
{
	uint32_t nb, nc, used = 0, at = 0;
	const int64_t *batch = tn_attr_ints(l->g, n, TN_ATTR_batch, &nb), *con = tn_attr_ints(l->g, n, TN_ATTR_contract, &nc);
	*p = (struct packing){ .n_batch = nb / 2, .n_k = nc / 2 };
	order_pairs(l->g, con, p->n_k, tn_in(l->g, n, !side), !side, p->order);
	for (uint32_t i = 0; i < p->n_batch; i++)
		p->perm[at++] = batch[2 * i + side];
	for (uint32_t i = 0; i < p->n_k; i++)
		p->perm[at++] = con[2 * p->order[i] + side];
	for (uint32_t i = 0; i < at; i++)
		used |= 1u << p->perm[i];
	for (uint32_t d = 0; d < tn_rank(&l->to->g, b); d++)
		if (!(used >> d & 1))
			p->perm[at++] = d;
	p->n_free = at - p->n_batch - p->n_k;
	for (uint32_t i = 0; i < at; i++)
		p->dims[i] = tn_shape(&l->to->g, b)[p->perm[i]];
}

/* [batch.., K.., N..], packed */
static uint32_t packed(struct lay *l, uint32_t b, const struct packing *p, const char *layout)
{
	const uint32_t rank = p->n_batch + p->n_k + p->n_free;
	uint32_t flat[TN_RANK_MAX];
	const struct tn_attr_in at = TN_A_TEXT(layout, layout);
	int same = 1;
	for (uint32_t i = 0; i < rank; i++)
		same &= p->perm[i] == i;
	for (uint32_t i = 0; i < p->n_batch; i++)
		flat[i] = p->dims[i];
	flat[p->n_batch] = tn_size_product(l->to, p->dims + p->n_batch, p->n_k);
	flat[p->n_batch + 1] = tn_size_product(l->to, p->dims + p->n_batch + p->n_k, p->n_free);
	uint32_t v = same ? b : tn_ir_permute(l->to, b, p->perm);
	v = tn_ir_reshape(l->to, v, flat, p->n_batch + 2);
	v = tn_ir_add(l->to, TN_pack, &v, 1, &at, 1);
	return tn_ir_reshape(l->to, v, p->dims, rank);
}

static int pack_dot(struct lay *l, const struct tn_node *n, uint32_t slot)
{
	const int rhs = is_constant(l->g, tn_in(l->g, n, 1)), lhs = is_constant(l->g, tn_in(l->g, n, 0));
	const uint32_t side = rhs ? 1 : 0, old = tn_in(l->g, n, side), dtype = tn_val(l->g, old)->dtype;
	const char *layout = rhs == lhs && !rhs ? NULL : layout_for(l, slot, dtype);
	struct packing p;
	if (!layout || (rhs && lhs) || tn_rank(l->g, old) + 0 > TN_RANK_MAX)
		return 0;
	uint32_t in[2], nc;
	for (uint32_t i = 0; i < 2; i++)
		in[i] = here(l, tn_remap_value(l->to, &l->m, tn_in(l->g, n, i)), slot);
	plan(l, n, side, in[side], &p);
	if (p.n_k == 0 || p.n_free == 0)
		return 0;
	for (uint32_t i = 0; i < p.n_batch + p.n_k + p.n_free; i++)
		if (tn_size_known(&l->to->g, p.dims[i]) < 1)
			return 0;
	const int64_t *con = tn_attr_ints(l->g, n, TN_ATTR_contract, &nc);
	uint32_t nb;
	const int64_t *bat = tn_attr_ints(l->g, n, TN_ATTR_batch, &nb);
	int64_t pairs[2 * TN_RANK_MAX], batch[2 * TN_RANK_MAX];
	for (uint32_t i = 0; i < p.n_k; i++) {
		pairs[2 * i + side] = p.n_batch + i;
		pairs[2 * i + !side] = con[2 * p.order[i] + !side];
	}
	for (uint32_t i = 0; i < p.n_batch; i++) {
		batch[2 * i + side] = i;
		batch[2 * i + !side] = bat[2 * i + !side];
	}
	if (n->origin != TN_NOTHING)
		tn_ir_origin(l->to, tn_str_at(l->g, n->origin));
	in[side] = packed(l, in[side], &p, layout);
	struct tn_attr_in attrs[4] = { TN_A_INTS(contract, pairs, 2 * p.n_k), TN_A_INTS(batch, batch, 2 * p.n_batch) };
	uint32_t n_attrs = 2;
	const struct tn_attr *x;
	if ((x = tn_attr_find(l->g, n, TN_ATTR_dtype)))
		attrs[n_attrs++] = TN_A_INT(dtype, x->i);
	if ((x = tn_attr_find(l->g, n, TN_ATTR_acc)))
		attrs[n_attrs++] = TN_A_INT(acc, x->i);
	l->m.value[tn_out(l->g, n, 0)] = tn_ir_add(l->to, TN_dot, in, 2, attrs, n_attrs);
	tn_ir_origin(l->to, NULL);
	note(l, slot);
	return 1;
}

struct tn_assignment tn_layout(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a)
{
	struct lay l = { .g = as->g, .from = as->slot, .p = p, .a = a, .to = tn_ir_create(a, NULL), .moved = { .arena = a } };
	l.m = tn_remap_begin(l.to, l.g);
	tn_remap_inputs(l.to, &l.m);
	for (uint32_t i = 0; i < l.g->nodes.count; i++) {
		const struct tn_node *n = &l.g->nodes.at[i];
		if (n->prim != TN_dot || !pack_dot(&l, n, as->slot[i]))
			add(&l, n, as->slot[i]);
	}
	tn_remap_outputs(l.to, &l.m);
	return (struct tn_assignment){ &l.to->g, l.slot };
}
