/* fuse.c - groups, grown from consumers to producers.
 *
 * Nodes are visited last first.  A node joins the group of its consumers where that is one nest (frame.c), allowed by a rule of
 * the plugin, and pays (fuse_policy.c); with consumers in several groups it is computed again in each when it is a view or data,
 * else stored by one of them, unless that makes a cycle.  Since all consumers of a node are placed before it, a group never has to be
 * looked at again; the work is near linear in the graph. */
#include "schedule/fuse.h"
#include <string.h>

enum { MAX_USERS = 16, MAX_WALK = 512, MAX_AHEAD = 48 };

static uint32_t result(const struct fz *z, uint32_t node) { return tn_out(z->g, &z->g->nodes.at[node], 0); }

static void put_in(struct fz *z, uint32_t node, uint32_t group)
{
	struct fz_group *x = &z->groups[group];
	*tn_push(z->a, x->nodes, x->n, x->cap) = node;
	for (uint32_t k = x->n - 1; k > 0 && x->nodes[k - 1] > x->nodes[k]; k--) {
		const uint32_t t = x->nodes[k];
		x->nodes[k] = x->nodes[k - 1];
		x->nodes[k - 1] = t;
	}
	*tn_push(z->a, z->links, z->n_links, z->cap_links) = (struct fz_link){ group, z->head[node] };
	z->head[node] = z->n_links;            /* 1 + index */
}

static uint32_t new_group(struct fz *z, uint32_t node, uint32_t kind, uint32_t cls, const char *rule)
{
	*tn_push(z->a, z->groups, z->n_groups, z->cap_groups) = (struct fz_group){ .kind = kind, .slot = z->slot[node], .cls = cls, .rule = rule };
	put_in(z, node, z->n_groups - 1);
	z->owner[node] = z->n_groups - 1;
	z->stored[node] = 1;
	return z->n_groups - 1;
}

/* groups of the nodes that read node's results; MAX_USERS + 1: too many to look at */
static uint32_t users(const struct fz *z, uint32_t node, uint32_t *out)
{
	const struct tn_node *n = &z->g->nodes.at[node];
	uint32_t count = 0;
	for (uint32_t r = 0; r < n->n_out; r++) {
		const uint32_t v = tn_out(z->g, n, r);
		for (uint32_t u = z->use0[v]; u < z->use0[v + 1]; u++)
			for (uint32_t l = z->head[z->uses[u]]; l; l = z->links[l - 1].next) {
				uint32_t k = 0;
				while (k < count && out[k] != z->links[l - 1].group)
					k++;
				if (k < count)
					continue;
				if (count == MAX_USERS)
					return MAX_USERS + 1;
				out[count++] = z->links[l - 1].group;
			}
	}
	return count;
}

static int in_group(const struct fz *z, uint32_t node, uint32_t group)
{
	for (uint32_t l = z->head[node]; l; l = z->links[l - 1].next)
		if (z->links[l - 1].group == group)
			return 1;
	return 0;
}

/* whether `from` reads, directly or not, what `target` makes.  Too long a walk counts as yes */
static int depends(struct fz *z, uint32_t from, uint32_t target, uint32_t *budget)
{
	if (from == target || *budget == 0)
		return 1;
	if (z->stamp[from] == z->tick)
		return 0;
	z->stamp[from] = z->tick;
	--*budget;
	for (uint32_t i = 0; i < z->groups[from].n; i++) {
		const struct tn_node *n = &z->g->nodes.at[z->groups[from].nodes[i]];
		for (uint32_t k = 0; k < n->n_in; k++) {
			const uint32_t made = tn_val(z->g, tn_in(z->g, n, k))->node;
			if (made == TN_NOTHING || z->owner[made] == TN_NOTHING || z->owner[made] == from || in_group(z, made, from))
				continue;
			if (z->groups[z->owner[made]].nodes[z->groups[z->owner[made]].n - 1] < z->groups[target].nodes[0])
				continue;                      /* wholly before the target's first node */
			if (depends(z, z->owner[made], target, budget))
				return 1;
		}
	}
	return 0;
}

static int reads(struct fz *z, uint32_t from, uint32_t target)
{
	uint32_t budget = MAX_WALK;
	z->tick++;
	return depends(z, from, target, &budget);
}

static uint32_t outs_of(struct fz *z, uint32_t group, uint32_t *outs)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < z->groups[group].n; i++)
		if (z->owner[z->groups[group].nodes[i]] == group && z->stored[z->groups[group].nodes[i]])
			outs[n++] = result(z, z->groups[group].nodes[i]);
	return n;
}

struct joined { struct tn_frame f; const char *rule; uint32_t extra; };

/* a view of an opaque value: only the nest that reads it knows what it means */
static int stuck(const struct fz *z, uint32_t node)
{
	const struct tn_node *n = &z->g->nodes.at[node];
	return n->prim == TN_reshape && tn_val(z->g, tn_in(z->g, n, 0))->layout != 0;
}

static int merge_lists(uint32_t *to, const uint32_t *x, uint32_t nx, const uint32_t *y, uint32_t ny)
{
	uint32_t n = 0, i = 0, k = 0;
	while (i < nx || k < ny) {
		const uint32_t a = i < nx ? x[i] : TN_NOTHING, b = k < ny ? y[k] : TN_NOTHING;
		to[n++] = a < b ? a : b;
		i += a <= b;
		k += b <= a;
	}
	return (int)n;
}

/* node and what it is computed from, up to reductions and with them, ascending; 0: there is none, or too much of it */
static uint32_t up_to_reductions(const struct fz *z, uint32_t node, uint32_t *set)
{
	uint32_t n = 1, found = 0;
	set[0] = node;
	for (uint32_t i = 0; i < n; i++) {
		const struct tn_node *x = &z->g->nodes.at[set[i]];
		if (q_class(z->g, set[i]) == TN_CLS_REDUCE) {
			found = 1;
			continue;
		}
		for (uint32_t k = 0; k < x->n_in; k++) {
			const uint32_t made = tn_val(z->g, tn_in(z->g, x, k))->node, cls = made == TN_NOTHING ? TN_CLS_HOST : q_class(z->g, made);
			uint32_t at = 0;
			if (cls != TN_CLS_POINTWISE && cls != TN_CLS_VIEW && cls != TN_CLS_DATA && cls != TN_CLS_REDUCE)
				continue;
			while (at < n && set[at] != made)
				at++;
			if (at < n || z->slot[made] != z->slot[node])
				continue;
			if (n == MAX_AHEAD)
				return 0;
			set[n++] = made;
		}
	}
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0 && set[k - 1] > set[k]; k--) {
			const uint32_t t = set[k];
			set[k] = set[k - 1];
			set[k - 1] = t;
		}
	return found ? n : 0;
}

/* what looks like work done again for each element of a row is done once a row, when the reduction behind it joins as well */
static int rows_ahead(struct fz *z, const uint32_t *nodes, uint32_t n, const uint32_t *outs, uint32_t n_outs, uint32_t node)
{
	uint32_t set[MAX_AHEAD];
	const uint32_t more = up_to_reductions(z, node, set);
	struct tn_frame f;
	if (more == 0)
		return 0;
	uint32_t *all = tn_array(z->fr.a, uint32_t, n + more);
	n = (uint32_t)merge_lists(all, nodes, n, set, more);
	if (!fr_try(&z->fr, all, n, outs, n_outs, &f) || f.cls != TN_NEST_ROWS)
		return 0;
	const struct fr_value *v = fr_value(&z->fr, result(z, node));
	return v && !v->many && !(v->map.uses & f.red);
}

/* may node be computed in group, its result stored there or not? */
static int can_join(struct fz *z, uint32_t group, uint32_t node, int stored, struct joined *j)
{
	const struct fz_group *x = &z->groups[group];
	uint32_t *nodes, *outs, n = 0, n_outs;
	int allowed;
	if (x->kind != TN_GROUP_KERNEL || x->slot != z->slot[node])
		return 0;
	const struct tn_mark m = tn_arena_mark(z->fr.a);
	nodes = tn_array(z->fr.a, uint32_t, x->n + 1);
	outs = tn_array(z->fr.a, uint32_t, x->n + 2);
	while (n < x->n && x->nodes[n] < node) {
		nodes[n] = x->nodes[n];
		n++;
	}
	nodes[n] = node;
	memcpy(nodes + n + 1, x->nodes + n, (x->n - n) * sizeof *nodes);
	n_outs = outs_of(z, group, outs);
	if (stored)
		outs[n_outs++] = result(z, node);
	z->fr.values = NULL;                   /* grown in scratch, forgotten with it */
	z->fr.mixed = NULL;
	z->fr.cap_values = z->fr.cap_mixed = 0;
	int ok = fr_try(&z->fr, nodes, x->n + 1, outs, n_outs, &j->f);
	if (ok) {
		j->rule = fz_rule(z, x->slot, nodes, x->n + 1, &j->f, &allowed);
		if (stuck(z, node))            /* it has no meaning alone: the rules are not asked */
			j->extra = x->extra;
		else
			ok = allowed ? fz_pays(z, x, nodes, x->n + 1, &j->f, node, &j->extra) : 0;
		if (ok < 0) {
			j->extra = x->extra;
			ok = rows_ahead(z, nodes, x->n + 1, outs, n_outs, node);
		}
	}
	for (uint32_t i = 0; i < z->fr.n_values; i++)
		z->fr.local[z->fr.values[i].value] = 0;
	z->fr.n_values = 0;
	tn_arena_reset(z->fr.a, m);
	return ok;
}

static void join(struct fz *z, uint32_t group, uint32_t node, int stored, const struct joined *j)
{
	put_in(z, node, group);
	z->groups[group].cls = j->f.cls;
	z->groups[group].rule = j->rule;
	z->groups[group].extra = j->extra;
	z->owner[node] = group;
	z->stored[node] = (unsigned char)stored;
}

/* computed again in each of the groups */
static int join_all(struct fz *z, uint32_t node, const uint32_t *u, uint32_t n)
{
	struct joined *j = tn_array(z->a, struct joined, n + 1);
	for (uint32_t i = 0; i < n; i++)
		if (!can_join(z, u[i], node, 0, &j[i]))
			return 0;
	for (uint32_t i = 0; i < n; i++)
		join(z, u[i], node, 0, &j[i]);
	z->owner[node] = TN_NOTHING;
	return 1;
}

/* stored by one of the groups, read by the others */
static int join_one(struct fz *z, uint32_t node, const uint32_t *u, uint32_t n)
{
	struct joined j;
	for (uint32_t i = 0; i < n; i++) {
		int cycle = 0;
		if (!can_join(z, u[i], node, 1, &j))
			continue;
		for (uint32_t k = 0; k < n && !cycle; k++)
			cycle = k != i && reads(z, u[i], u[k]);
		if (cycle)
			continue;
		join(z, u[i], node, 1, &j);
		return 1;
	}
	return 0;
}

/* worth computing in each reader: cheap, and from values that are in memory anyway */
static int cheap_again(const struct fz *z, uint32_t node)
{
	const double n = fz_elements(z->g, result(z, node));
	if (q_class(z->g, node) != TN_CLS_POINTWISE || fz_price(z->g, node) > 1)
		return 0;
	for (uint32_t i = 0; i < z->g->nodes.at[node].n_in; i++) {
		const uint32_t v = tn_in(z->g, &z->g->nodes.at[node], i), made = tn_val(z->g, v)->node;
		if (made == TN_NOTHING || q_class(z->g, made) == TN_CLS_DATA || z->g->nodes.at[made].prim == TN_broadcast)
			continue;
		if (fz_elements(z->g, v) >= n && fz_reads(z, made) <= 1)
			return 0;
	}
	return 1;
}

static void place_kernel(struct fz *z, uint32_t node)
{
	uint32_t u[MAX_USERS], cls = q_class(z->g, node);
	const uint32_t n = users(z, node, u);
	const int out = z->is_output[result(z, node)], free_again = cls == TN_CLS_VIEW || cls == TN_CLS_DATA;
	struct joined j;
	if (n > 0 && n <= MAX_USERS) {
		if (n == 1 && !out && can_join(z, u[0], node, 0, &j)) {
			join(z, u[0], node, 0, &j);
			return;
		}
		if (n > 1 && !out && free_again && join_all(z, node, u, n))
			return;
		if (z->g->nodes.at[node].prim != TN_reshape && (n > 1 || out) && join_one(z, node, u, n))
			return;
		if (n > 1 && n <= 3 && !out && cheap_again(z, node) && join_all(z, node, u, n))
			return;
	}
	new_group(z, node, TN_GROUP_KERNEL, fz_class_of_single(z, node), NULL);
}

/* ---- the graph way: convex regions of one rule */
static void place_graph(struct fz *z, uint32_t node, const struct tn_rule_row *rule)
{
	uint32_t u[MAX_USERS];
	const uint32_t n = users(z, node, u);
	for (uint32_t i = 0; n <= MAX_USERS && i < n; i++) {
		const struct fz_group *x = &z->groups[u[i]];
		int cycle = 0;
		if (x->kind != TN_GROUP_GRAPH || x->slot != z->slot[node] || !rule || x->rule != rule->id || (rule->max_nodes && x->n >= rule->max_nodes) ||
			q_class(z->g, node) == TN_CLS_PACK)
			continue;
		for (uint32_t k = 0; k < n && !cycle; k++)
			cycle = k != i && reads(z, u[i], u[k]);
		if (cycle)
			continue;
		put_in(z, node, u[i]);
		z->owner[node] = u[i];
		z->stored[node] = 1;
		return;
	}
	new_group(z, node, TN_GROUP_GRAPH, 0, rule ? rule->id : NULL);
}

static int kernel_can(struct fz *z, uint32_t node)
{
	const uint32_t slot = z->slot[node];
	const struct tn_node *n = &z->g->nodes.at[node];
	switch (q_class(z->g, node)) {
	case TN_CLS_POINTWISE: return q_template(z->p, slot, TN_NEST_POINTWISE) && q_point(&z->q, slot, z->g, n);
	case TN_CLS_VIEW: case TN_CLS_DATA: case TN_CLS_GATHER: return q_template(z->p, slot, TN_NEST_POINTWISE);
	case TN_CLS_REDUCE: return q_template(z->p, slot, TN_NEST_REDUCE) && tn_prim_info(n->prim)->flags & TN_ATOM;
	case TN_CLS_CONTRACT: return q_template(z->p, slot, TN_NEST_CONTRACT);
	case TN_CLS_CUMULATE: return q_template(z->p, slot, TN_NEST_CUMULATE);
	case TN_CLS_SCATTER: return q_template(z->p, slot, TN_NEST_SCATTER);
	default: return 0;
	}
}

static void place(struct fz *z, uint32_t node)
{
	const struct tn_node *n = &z->g->nodes.at[node];
	if (n->prim == TN_copy)
		new_group(z, node, TN_GROUP_COPY, 0, NULL);
	else if (z->slot[node] >= z->p->n)
		new_group(z, node, TN_GROUP_HOST, 0, NULL);
	else if (kernel_can(z, node))
		place_kernel(z, node);
	else
		place_graph(z, node, q_graph_rule(z->p, z->slot[node], z->g, &z->g->nodes.at[node]));
}

/* ---- reductions of one input over the same dims: one pass over it */
static void absorb(struct fz *z, uint32_t into, uint32_t from, const struct joined *j)
{
	struct fz_group *x = &z->groups[from];
	for (uint32_t i = 0; i < x->n; i++) {
		const uint32_t node = x->nodes[i];
		if (!in_group(z, node, into))
			put_in(z, node, into);
		if (z->owner[node] == from)
			z->owner[node] = into;
		for (uint32_t l = z->head[node]; l; l = z->links[l - 1].next)
			if (z->links[l - 1].group == from)
				z->links[l - 1].group = into;
	}
	x = &z->groups[from];
	x->n = 0;
	x->gone = 1;
	z->groups[into].cls = j->f.cls;
	z->groups[into].rule = j->rule;
}

static int can_merge(struct fz *z, uint32_t p, uint32_t q, struct joined *j)
{
	const struct fz_group *x = &z->groups[p], *y = &z->groups[q];
	int allowed, ok;
	if (p == q || x->slot != y->slot || x->cls != TN_NEST_REDUCE || y->cls != TN_NEST_REDUCE || x->gone || y->gone)
		return 0;
	if (reads(z, p, q) || reads(z, q, p))
		return 0;
	const struct tn_mark m = tn_arena_mark(z->fr.a);
	uint32_t *nodes = tn_array(z->fr.a, uint32_t, x->n + y->n + 1), *outs = tn_array(z->fr.a, uint32_t, x->n + y->n + 1);
	const uint32_t n = (uint32_t)merge_lists(nodes, x->nodes, x->n, y->nodes, y->n);
	uint32_t n_outs = outs_of(z, p, outs);
	n_outs += outs_of(z, q, outs + n_outs);
	z->fr.values = NULL;
	z->fr.mixed = NULL;
	z->fr.cap_values = z->fr.cap_mixed = 0;
	ok = fr_try(&z->fr, nodes, n, outs, n_outs, &j->f) && j->f.cls == TN_NEST_REDUCE;
	if (ok) {
		j->rule = fz_rule(z, x->slot, nodes, n, &j->f, &allowed);
		ok = allowed;
	}
	for (uint32_t i = 0; i < z->fr.n_values; i++)
		z->fr.local[z->fr.values[i].value] = 0;
	z->fr.n_values = 0;
	tn_arena_reset(z->fr.a, m);
	return ok;
}

static void siblings(struct fz *z)
{
	struct joined j;
	for (uint32_t v = 0; v < z->g->values.count; v++) {
		uint32_t set[MAX_USERS], n = 0;
		for (uint32_t u = z->use0[v]; u < z->use0[v + 1]; u++)
			for (uint32_t l = z->head[z->uses[u]]; l && n < MAX_USERS; l = z->links[l - 1].next) {
				const uint32_t x = z->links[l - 1].group;
				uint32_t k = 0;
				if (z->groups[x].cls != TN_NEST_REDUCE || z->groups[x].gone)
					continue;
				while (k < n && set[k] != x)
					k++;
				if (k == n)
					set[n++] = x;
			}
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i + 1; k < n; k++)
				if (can_merge(z, set[i], set[k], &j))
					absorb(z, set[i], set[k], &j);
	}
}

/* ---- tables */
static void count_uses(struct fz *z)
{
	const struct tn_graph *g = z->g;
	z->use0 = tn_array(z->a, uint32_t, g->values.count + 2);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		for (uint32_t k = 0; k < g->nodes.at[i].n_in; k++)
			z->use0[tn_in(g, &g->nodes.at[i], k) + 1]++;
	for (uint64_t v = 0; v < g->values.count; v++)
		z->use0[v + 1] += z->use0[v];
	z->uses = tn_array(z->a, uint32_t, z->use0[g->values.count] + 1);
	uint32_t *at = tn_array(z->a, uint32_t, g->values.count + 1);
	for (uint32_t i = 0; i < g->nodes.count; i++)
		for (uint32_t k = 0; k < g->nodes.at[i].n_in; k++) {
			const uint32_t v = tn_in(g, &g->nodes.at[i], k);
			z->uses[z->use0[v] + at[v]++] = i;
		}
	z->is_output = tn_array(z->a, unsigned char, g->values.count + 1);
	for (uint32_t i = 0; i < g->n_out; i++)
		z->is_output[g->operands[g->out0 + i]] = 1;
}

static void find_behind(struct fz *z)
{
	for (uint32_t i = 0; i < z->g->nodes.count; i++) {
		const uint32_t cls = q_class(z->g, i);
		const struct tn_node *n = &z->g->nodes.at[i];
		z->behind[i] = cls == TN_CLS_REDUCE || cls == TN_CLS_CONTRACT || cls == TN_CLS_CUMULATE;
		for (uint32_t k = 0; k < n->n_in && (cls == TN_CLS_POINTWISE || cls == TN_CLS_VIEW); k++) {
			const uint32_t from = tn_val(z->g, tn_in(z->g, n, k))->node;
			z->behind[i] |= from != TN_NOTHING && z->behind[from];
		}
	}
}

static int dead(const struct fz *z, uint32_t node)
{
	const struct tn_node *n = &z->g->nodes.at[node];
	for (uint32_t r = 0; r < n->n_out; r++) {
		const uint32_t v = tn_out(z->g, n, r);
		if (z->is_output[v])
			return 0;
		for (uint32_t u = z->use0[v]; u < z->use0[v + 1]; u++)
			if (z->head[z->uses[u]])
				return 0;
	}
	return n->n_out > 0 && n->prim != TN_bind;
}

static void fini(void *arena) { tn_arena_fini(arena); }

struct tn_groups tn_fuse(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a)
{
	const struct tn_graph *g = as->g;
	const uint32_t n = (uint32_t)g->nodes.count;
	struct tn_arena *scratch = tn_new(a, struct tn_arena);
	struct fz *z = tn_new(a, struct fz);
	tn_arena_init(scratch, a->diag);
	tn_arena_defer(a, fini, scratch);
	*z = (struct fz){ .g = g, .slot = as->slot, .p = p, .a = a, .q = { .p = p, .a = a, .point = { .arena = a } } };
	fr_init(&z->fr, g, scratch);
	z->head = tn_array(a, uint32_t, n + 1);
	z->owner = tn_array(a, uint32_t, n + 1);
	z->stored = tn_array(a, unsigned char, n + 1);
	z->behind = tn_array(a, unsigned char, n + 1);
	z->stamp = tn_array(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		z->owner[i] = TN_NOTHING;
	count_uses(z);
	find_behind(z);
	for (uint32_t i = n; i-- > 0;)
		if (!dead(z, i))
			place(z, i);
	siblings(z);
	const struct tn_groups r = fz_finish(z);
	tn_arena_fini(scratch);
	return r;
}
