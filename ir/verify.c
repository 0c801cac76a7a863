/* verify.c - every rule of a graph
 *
 * First that all indices point into their tables, so that nothing after it can read astray; then single definitions and order; then
 * each node is copied into a scratch graph by the builder, which infers and checks, and what it infers is compared with what the
 * graph says.  So there is one set of rules, the builder's. */
#include "ir/store.h"
#include <string.h>

struct check {
	const struct tn_graph *g;
	struct tn_arena *a;
	struct tn_ir *ir;          /* the copy */
	struct tn_remap map;
	uint8_t *bound;            /* per symbol: has a value from here on */
	uint32_t depth;
};
#define FAIL(c, ...) tn_raise((c)->a->diag, TN_E_ARG, __VA_ARGS__)
#define NODE(c, i) tn_node_text((c)->a, (c)->g, (i))
#define VALUE(c, v) tn_value_text((c)->a, (c)->g, (v))

/* ---- indices */
static int inside(uint64_t first, uint64_t n, uint64_t count)
{
	return first <= count && n <= count - first;
}

static void check_text(const struct check *c, uint32_t at, const char *what, uint64_t i)
{
	if (at != TN_NOTHING && at >= c->g->n_bytes)
		FAIL(c, "%s %llu: text at %u of %llu bytes", what, (unsigned long long)i, at, (unsigned long long)c->g->n_bytes);
}

static void check_sizes(const struct check *c)
{
	const struct tn_graph *g = c->g;
	for (uint64_t i = 0; i < g->n_symbols; i++)
		check_text(c, g->symbols[i], "symbol", i);
	if (g->sizes.count < 2 || g->sizes.at[0].op != TN_SIZE_CONST || g->sizes.at[0].value != 0 || g->sizes.at[1].op != TN_SIZE_CONST || g->sizes.at[1].value != 1)
		FAIL(c, "sizes: rows 0 and 1 must be the constants 0 and 1, and there are %llu rows", (unsigned long long)g->sizes.count);
	for (uint64_t i = 0; i < g->sizes.count; i++) {
		const struct tn_size *s = &g->sizes.at[i];
		if (s->op > TN_SIZE_MAX)
			FAIL(c, "size %llu: there is no operation %u", (unsigned long long)i, s->op);
		if (s->op == TN_SIZE_SYM && s->a >= g->n_symbols)
			FAIL(c, "size %llu: symbol %u of %llu", (unsigned long long)i, s->a, (unsigned long long)g->n_symbols);
		if (s->op > TN_SIZE_SYM && (s->a >= i || s->b >= i))
			FAIL(c, "size %llu: refers to rows %u and %u, which must come before it", (unsigned long long)i, s->a, s->b);
		if (s->lo > s->hi)
			FAIL(c, "size %llu: bounds %lld and %lld leave no value", (unsigned long long)i, (long long)s->lo, (long long)s->hi);
	}
}

static void check_value(const struct check *c, uint32_t v)
{
	const struct tn_graph *g = c->g;
	const struct tn_value *x = &g->values.at[v];
	if (x->dtype == TN_NONE || x->dtype >= TN_DTYPE_END || x->rank > TN_RANK_MAX)
		FAIL(c, "value %u: dtype %u and %u dims", v, x->dtype, x->rank);
	if (!inside(x->dim0, x->rank, g->n_dims))
		FAIL(c, "value %u: dims %u to %u of %llu", v, x->dim0, x->dim0 + x->rank, (unsigned long long)g->n_dims);
	for (uint32_t d = 0; d < x->rank; d++)
		if (g->dims[x->dim0 + d] >= g->sizes.count)
			FAIL(c, "value %u: dim %u is size %u of %llu", v, d, g->dims[x->dim0 + d], (unsigned long long)g->sizes.count);
	check_text(c, x->name, "value", v);
	if (x->layout > g->layouts.count || (x->quant != TN_NOTHING && x->quant >= g->quants.count))
		FAIL(c, "value %s: layout %u of %llu, quantisation %u of %llu", VALUE(c, v), x->layout, (unsigned long long)g->layouts.count, x->quant,
			(unsigned long long)g->quants.count);
	if ((x->node != TN_NOTHING && x->node >= g->nodes.count) || (x->constant != TN_NOTHING && x->constant >= g->constants.count) ||
			(x->node != TN_NOTHING && x->constant != TN_NOTHING))
		FAIL(c, "value %s: made by node %u and is constant %u", VALUE(c, v), x->node, x->constant);
}

static void check_attr(const struct check *c, uint32_t node, const struct tn_attr *a)
{
	const struct tn_graph *g = c->g;
	const uint64_t count = a->type == TN_ATTR_INTS ? g->n_ints : a->type == TN_ATTR_SIZES ? g->n_dims : a->type == TN_ATTR_TEXT ? g->n_bytes : 0;
	if (a->type < TN_ATTR_INT || a->type > TN_ATTR_TEXT)
		FAIL(c, "%s: attribute '%s' has type %u", NODE(c, node), tn_attr_name(a->name), a->type);
	if (a->type >= TN_ATTR_INTS && !inside(a->at, (uint64_t)a->count + (a->type == TN_ATTR_TEXT), count))
		FAIL(c, "%s: attribute '%s' has elements %u to %llu of %llu", NODE(c, node), tn_attr_name(a->name), a->at,
			(unsigned long long)a->at + a->count, (unsigned long long)count);
	for (uint32_t i = 0; a->type == TN_ATTR_SIZES && i < a->count; i++)
		if (g->dims[a->at + i] >= g->sizes.count)
			FAIL(c, "%s: attribute '%s' names size %u of %llu", NODE(c, node), tn_attr_name(a->name), g->dims[a->at + i], (unsigned long long)g->sizes.count);
	if (a->type == TN_ATTR_TEXT && (g->bytes[a->at + a->count] != 0 || memchr(g->bytes + a->at, 0, a->count)))
		FAIL(c, "%s: attribute '%s' is no terminated text of %u bytes", NODE(c, node), tn_attr_name(a->name), a->count);
}

static void check_node(const struct check *c, uint32_t node)
{
	const struct tn_graph *g = c->g;
	const struct tn_node *n = &g->nodes.at[node];
	check_text(c, n->origin, "origin of node", node);
	if (!tn_prim_info(n->prim))
		FAIL(c, "node %u: there is no primitive %u", node, n->prim);
	if (!inside(n->in0, n->n_in, g->n_operands) || !inside(n->out0, n->n_out, g->n_operands) || !inside(n->attr0, n->n_attr, g->attrs.count) ||
			!inside(n->region0, n->n_region, g->n_regions))
		FAIL(c, "%s: %u operands at %u, %u results at %u, %u attributes at %u, %u regions at %u leave their tables", NODE(c, node), n->n_in, n->in0,
			n->n_out, n->out0, n->n_attr, n->attr0, n->n_region, n->region0);
	for (uint32_t i = 0; i < n->n_in + n->n_out; i++) {
		const uint32_t v = i < n->n_in ? tn_in(g, n, i) : tn_out(g, n, i - n->n_in);
		if (v >= g->values.count)
			FAIL(c, "%s: %s %u is value %u of %llu", NODE(c, node), i < n->n_in ? "operand" : "result", i < n->n_in ? i : i - n->n_in, v,
				(unsigned long long)g->values.count);
	}
	for (uint32_t i = 0; i < n->n_attr; i++)
		check_attr(c, node, &g->attrs.at[n->attr0 + i]);
	for (uint32_t i = 0; i < n->n_region; i++)
		if (!g->regions[n->region0 + i])
			FAIL(c, "%s: region %u is NULL", NODE(c, node), i);
}

static void check_tables(const struct check *c)
{
	const struct tn_graph *g = c->g;
	if (g->n_bytes && g->bytes[g->n_bytes - 1] != 0)
		FAIL(c, "the last text is not terminated");
	check_text(c, g->name, "graph", 0);
	check_sizes(c);
	for (uint64_t i = 0; i < g->layouts.count; i++)
		check_text(c, g->layouts.at[i].opaque, "layout", i);
	for (uint64_t i = 0; i < g->values.count; i++)
		check_value(c, (uint32_t)i);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		check_node(c, (uint32_t)i);
	if (!inside(g->in0, g->n_in, g->n_operands) || !inside(g->out0, g->n_out, g->n_operands) || (g->n_out_names && g->n_out_names != g->n_out))
		FAIL(c, "%u inputs at %u, %u outputs at %u with %llu names leave their tables", g->n_in, g->in0, g->n_out, g->out0, (unsigned long long)g->n_out_names);
	for (uint64_t i = 0; i < g->n_out_names; i++)
		check_text(c, g->out_names[i], "output", i);
}

/* ---- definitions */
static void define(const struct check *c, uint8_t *defined, uint32_t v, const char *where)
{
	if (defined[v])
		FAIL(c, "%s defines value %s, which is defined already", where, VALUE(c, v));
	defined[v] = 1;
}

static void check_inputs(const struct check *c, uint8_t *defined)
{
	const struct tn_graph *g = c->g;
	for (uint32_t i = 0; i < g->n_in; i++) {
		const uint32_t v = g->operands[g->in0 + i];
		if (v >= g->values.count)
			FAIL(c, "input %u is value %u of %llu", i, v, (unsigned long long)g->values.count);
		if (tn_val(g, v)->node != TN_NOTHING || tn_val(g, v)->constant != TN_NOTHING)
			FAIL(c, "input %u, value %s, is the result of a node or a constant as well", i, VALUE(c, v));
		define(c, defined, v, tn_printf(c->a, "input %u", i));
	}
	for (uint32_t v = 0; v < g->values.count; v++)
		if (tn_val(g, v)->constant != TN_NOTHING)
			defined[v] = 1;
}

static void check_order(const struct check *c)
{
	const struct tn_graph *g = c->g;
	uint8_t *defined = tn_array(c->a, uint8_t, g->values.count);
	check_inputs(c, defined);
	for (uint32_t i = 0; i < g->nodes.count; i++) {
		const struct tn_node *n = &g->nodes.at[i];
		for (uint32_t k = 0; k < n->n_in; k++)
			if (!defined[tn_in(g, n, k)])
				FAIL(c, "%s: operand %u, value %s, is not defined before it", NODE(c, i), k, VALUE(c, tn_in(g, n, k)));
		for (uint32_t k = 0; k < n->n_out; k++) {
			const uint32_t v = tn_out(g, n, k);
			define(c, defined, v, NODE(c, i));
			if (tn_val(g, v)->node != i || tn_val(g, v)->result != k)
				FAIL(c, "%s: result %u, value %s, says that it is result %u of node %u", NODE(c, i), k, VALUE(c, v), tn_val(g, v)->result, tn_val(g, v)->node);
		}
	}
	for (uint32_t v = 0; v < g->values.count; v++)
		if (!defined[v])
			FAIL(c, "value %s is no input, no constant and no result", VALUE(c, v));
	for (uint32_t i = 0; i < g->n_out; i++)
		if (g->operands[g->out0 + i] >= g->values.count)
			FAIL(c, "output %u is value %u of %llu", i, g->operands[g->out0 + i], (unsigned long long)g->values.count);
}

/* ---- symbols: what a size needs must have a value when the node runs */
static void bind_size(const struct check *c, uint32_t size)
{
	const struct tn_size *s = &c->g->sizes.at[size];
	if (s->op == TN_SIZE_SYM)
		c->bound[s->a] = 1;
	else if (s->op > TN_SIZE_SYM) {
		bind_size(c, s->a);
		bind_size(c, s->b);
	}
}

static uint32_t unbound(const struct check *c, uint32_t size)
{
	const struct tn_size *s = &c->g->sizes.at[size];
	if (s->op == TN_SIZE_SYM)
		return c->bound[s->a] ? TN_NOTHING : s->a;
	if (s->op == TN_SIZE_CONST)
		return TN_NOTHING;
	const uint32_t a = unbound(c, s->a);
	return a != TN_NOTHING ? a : unbound(c, s->b);
}

static void need_bound(const struct check *c, uint32_t node, uint32_t size, const char *what)
{
	const uint32_t s = unbound(c, size);
	if (s != TN_NOTHING)
		FAIL(c, "%s: %s needs size %s, which neither an input nor a node before gives", NODE(c, node), what, tn_symbol_name(c->g, s));
}

/* A region node's results may bring sizes that nobody knew; a bind brings its symbol. */
static void check_symbols(const struct check *c, uint32_t node)
{
	const struct tn_graph *g = c->g;
	const struct tn_node *n = &g->nodes.at[node];
	for (uint32_t i = 0; i < n->n_attr; i++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + i];
		for (uint32_t k = 0; a->type == TN_ATTR_SIZES && k < a->count; k++)
			need_bound(c, node, g->dims[a->at + k], tn_attr_name(a->name));
	}
	for (uint32_t i = 0; i < n->n_out; i++)
		for (uint32_t d = 0; d < tn_rank(g, tn_out(g, n, i)); d++)
			if (n->n_region)
				bind_size(c, tn_shape(g, tn_out(g, n, i))[d]);
			else
				need_bound(c, node, tn_shape(g, tn_out(g, n, i))[d], "the result");
	if (n->prim == TN_bind)
		c->bound[tn_attr_int(g, n, TN_ATTR_index, 0)] = 1;     /* in range: the builder has looked */
}

/* ---- types */
static void compare(struct check *c, uint32_t node, uint32_t k)
{
	const struct tn_graph *g = c->g;
	const uint32_t v = tn_out(g, &g->nodes.at[node], k), w = c->map.value[v];
	const struct tn_value *said = tn_val(g, v), *found = tn_val(&c->ir->g, w);
	int ok = said->dtype == found->dtype && said->rank == found->rank;
	for (uint32_t d = 0; ok && d < said->rank; d++)
		ok = tn_size_eq(c->ir, c->map.size[tn_shape(g, v)[d]], tn_shape(&c->ir->g, w)[d]) == 1;
	if (!ok)
		FAIL(c, "%s: result %u is said to be %s, and is %s", NODE(c, node), k, VALUE(c, v), tn_value_text(c->a, &c->ir->g, w));
}

static void check_mutations(const struct check *c)
{
	const struct tn_graph *g = c->g;
	for (uint64_t i = 0; i < g->mutations.count; i++) {
		const struct tn_mutation *m = &g->mutations.at[i];
		if (m->output >= g->n_out || m->input >= g->n_in || (m->kind != TN_MUST_WRITE && m->kind != TN_MAY_WRITE))
			FAIL(c, "mutation %llu of kind %u: output %u of %u, input %u of %u", (unsigned long long)i, m->kind, m->output, g->n_out, m->input, g->n_in);
		const uint32_t out = g->operands[g->out0 + m->output], in = g->operands[g->in0 + m->input];
		int ok = tn_val(g, out)->dtype == tn_val(g, in)->dtype && tn_rank(g, out) == tn_rank(g, in);
		for (uint32_t d = 0; ok && d < tn_rank(g, in); d++)
			ok = tn_size_eq(c->ir, c->map.size[tn_shape(g, out)[d]], c->map.size[tn_shape(g, in)[d]]) != 0;
		if (!ok)
			FAIL(c, "mutation %llu: output %s cannot be written over input %s", (unsigned long long)i, VALUE(c, out), VALUE(c, in));
		for (uint64_t k = 0; k < i; k++)
			if (g->mutations.at[k].input == m->input && (g->mutations.at[k].kind == TN_MUST_WRITE || m->kind == TN_MUST_WRITE))
				FAIL(c, "mutations %llu and %llu both write input %s", (unsigned long long)k, (unsigned long long)i, VALUE(c, in));
	}
}

static void verify(const struct tn_graph *g, struct tn_arena *a, uint32_t depth);

static void check_regions(const struct check *c, uint32_t node)
{
	const struct tn_node *n = &c->g->nodes.at[node];
	if (n->n_region && c->depth == 64)
		FAIL(c, "%s: regions are nested more than 64 deep", NODE(c, node));
	for (uint32_t i = 0; i < n->n_region; i++)
		verify(c->g->regions[n->region0 + i], c->a, c->depth + 1);
}

/* rows in order, so that no recursion is deeper than one row */
static void copy_sizes(struct check *c)
{
	for (uint64_t i = 0; i < c->g->sizes.count; i++) {
		const struct tn_size *s = &c->g->sizes.at[i];
		if (s->op == TN_SIZE_CONST)
			c->map.size[i] = tn_size_const(c->ir, s->value);
		else if (s->op > TN_SIZE_SYM)
			c->map.size[i] = tn_size_op(c->ir, s->op, c->map.size[s->a], c->map.size[s->b]);
	}
}

static void verify(const struct tn_graph *g, struct tn_arena *a, uint32_t depth)
{
	struct check c = { .g = g, .a = a, .depth = depth };
	check_tables(&c);
	check_order(&c);
	c.ir = tn_ir_create(a, NULL);
	c.map = tn_remap_begin(c.ir, g);
	copy_sizes(&c);
	c.bound = tn_array(a, uint8_t, g->n_symbols);
	tn_remap_inputs(c.ir, &c.map);
	for (uint32_t i = 0; i < g->n_in; i++)
		for (uint32_t d = 0; d < tn_rank(g, g->operands[g->in0 + i]); d++)
			bind_size(&c, tn_shape(g, g->operands[g->in0 + i])[d]);
	for (uint32_t v = 0; v < g->values.count; v++)
		if (tn_val(g, v)->constant != TN_NOTHING)
			tn_remap_value(c.ir, &c.map, v);
	for (uint32_t i = 0; i < g->nodes.count; i++) {
		const struct tn_node *n = &g->nodes.at[i];
		check_regions(&c, i);
		const uint32_t copy = tn_remap_node(c.ir, &c.map, n);
		if (c.ir->g.nodes.at[copy].n_out != n->n_out)
			FAIL(&c, "%s: %u results, it has %u", NODE(&c, i), n->n_out, c.ir->g.nodes.at[copy].n_out);
		for (uint32_t k = 0; k < n->n_out; k++)
			compare(&c, i, k);
		check_symbols(&c, i);
	}
	check_mutations(&c);
}

void tn_ir_verify(const struct tn_graph *g, struct tn_arena *scratch)
{
	verify(g, scratch, 0);
}
