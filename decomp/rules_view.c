/* rules_view.c - views that change nothing, views of views, and views of one number. */
#include "decomp/rewrite.h"

static int same_shape(const struct tn_rewrite *w, uint32_t x)
{
	if (tn_rank(&w->ir->g, x) != w->rank)
		return 0;
	for (uint32_t d = 0; d < w->rank; d++)
		if (tn_shape(&w->ir->g, x)[d] != w->dims[d])
			return 0;
	return 1;
}

/* where operand dim i goes, copied; how many there are */
static uint32_t copy_ints(const struct tn_graph *g, const struct tn_node *n, uint32_t name, int64_t *to)
{
	uint32_t count;
	const int64_t *at = tn_attr_ints(g, n, name, &count);
	for (uint32_t i = 0; i < count && i < TN_RANK_MAX; i++)
		to[i] = at[i];
	return count;
}

static int ascending(const int64_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] != i)
			return 0;
	return 1;
}

/* any view of one number is that number in another shape */
static uint32_t view_of_number(const struct tn_rewrite *w)
{
	struct tn_number x;
	return tn_producer(&w->ir->g, w->in[0], TN_full) != NULL && tn_uniform(&w->ir->g, w->in[0], &x) ? tn_full_of(w->ir, x, w->dims, w->rank) : TN_NOTHING;
}

static uint32_t reshape_merge(const struct tn_rewrite *w)
{
	const struct tn_node *inner = tn_producer(&w->ir->g, w->in[0], TN_reshape);
	if (same_shape(w, w->in[0]))
		return w->in[0];
	return inner != NULL ? tn_ir_reshape(w->ir, tn_in(&w->ir->g, inner, 0), w->dims, w->rank) : TN_NOTHING;
}

static uint32_t permute_merge(const struct tn_rewrite *w)
{
	const struct tn_graph *g = &w->ir->g;
	const struct tn_node *inner = tn_producer(g, w->in[0], TN_permute);
	int64_t perm[TN_RANK_MAX], first[TN_RANK_MAX];
	copy_ints(g, w->n, TN_ATTR_perm, perm);
	if (ascending(perm, w->rank))
		return w->in[0];
	if (inner == NULL)
		return TN_NOTHING;
	copy_ints(g, inner, TN_ATTR_perm, first);
	for (uint32_t d = 0; d < w->rank; d++)
		perm[d] = first[perm[d]];
	const uint32_t x = tn_in(g, inner, 0);
	return ascending(perm, w->rank) ? x : tn_ir_permute(w->ir, x, perm);
}

static uint32_t broadcast_merge(const struct tn_rewrite *w)
{
	const struct tn_graph *g = &w->ir->g;
	const struct tn_node *inner = tn_producer(g, w->in[0], TN_broadcast);
	int64_t where[TN_RANK_MAX], first[TN_RANK_MAX];
	const uint32_t n = copy_ints(g, w->n, TN_ATTR_dims, where);
	if (same_shape(w, w->in[0]) && ascending(where, n))
		return w->in[0];
	if (inner == NULL)
		return TN_NOTHING;
	const uint32_t k = copy_ints(g, inner, TN_ATTR_dims, first);
	for (uint32_t i = 0; i < k; i++)
		first[i] = where[first[i]];
	return tn_ir_broadcast(w->ir, tn_in(g, inner, 0), w->dims, w->rank, first);
}

/* constant sizes of an attribute; 0 when one is not */
static int known_sizes(const struct tn_graph *g, const struct tn_node *n, uint32_t name, int64_t *to)
{
	uint32_t count;
	const uint32_t *at = tn_attr_sizes(g, n, name, &count);
	for (uint32_t i = 0; i < count; i++)
		if (g->sizes.at[at[i]].op != TN_SIZE_CONST)
			return 0;
		else
			to[i] = g->sizes.at[at[i]].value;
	return 1;
}

static uint32_t slice_whole(const struct tn_rewrite *w)
{
	const struct tn_graph *g = &w->ir->g;
	int64_t start[TN_RANK_MAX], step[TN_RANK_MAX];
	if (!known_sizes(g, w->n, TN_ATTR_start, start) || !same_shape(w, w->in[0]))
		return TN_NOTHING;
	copy_ints(g, w->n, TN_ATTR_step, step);
	for (uint32_t d = 0; d < w->rank; d++)
		if (start[d] != 0 || step[d] != 1)
			return TN_NOTHING;
	return w->in[0];
}

static uint32_t pad_nothing(const struct tn_rewrite *w)
{
	int64_t low[TN_RANK_MAX], high[TN_RANK_MAX], interior[TN_RANK_MAX] = { 0 };
	if (!known_sizes(&w->ir->g, w->n, TN_ATTR_low, low) || !known_sizes(&w->ir->g, w->n, TN_ATTR_high, high))
		return TN_NOTHING;
	copy_ints(&w->ir->g, w->n, TN_ATTR_interior, interior);
	for (uint32_t d = 0; d < w->rank; d++)
		if (low[d] != 0 || high[d] != 0 || interior[d] != 0)
			return TN_NOTHING;
	return w->in[0];
}

static uint32_t cat_of_one(const struct tn_rewrite *w)
{
	return w->n->n_in == 1 ? w->in[0] : TN_NOTHING;
}

/* no axes: each element alone.  Not sum, whose -0 becomes +0 */
static uint32_t reduce_nothing(const struct tn_rewrite *w)
{
	int64_t axes[TN_RANK_MAX];
	return copy_ints(&w->ir->g, w->n, TN_ATTR_axes, axes) == 0 ? w->in[0] : TN_NOTHING;
}

static const struct tn_rule rules[] = {
	{ "reshape of a number",        TN_reshape,    0, view_of_number },
	{ "permute of a number",        TN_permute,    0, view_of_number },
	{ "broadcast of a number",      TN_broadcast,  0, view_of_number },
	{ "slice of a number",          TN_slice,      0, view_of_number },
	{ "window of a number",         TN_window,     0, view_of_number },
	{ "reshape to the same, of a reshape", TN_reshape, 0, reshape_merge },
	{ "permute to the same, of a permute", TN_permute, 0, permute_merge },
	{ "broadcast to the same, of a broadcast", TN_broadcast, 0, broadcast_merge },
	{ "slice of everything",        TN_slice,      0, slice_whole },
	{ "pad by nothing",             TN_pad,        0, pad_nothing },
	{ "cat of one",                 TN_cat,        0, cat_of_one },
	{ "reduce_max over nothing",    TN_reduce_max, 0, reduce_nothing },
	{ "reduce_min over nothing",    TN_reduce_min, 0, reduce_nothing },
	{ "prod over nothing",          TN_prod,       0, reduce_nothing },
};
const struct tn_rule_rows tn_view_rules = TN_ROWS(rules);
