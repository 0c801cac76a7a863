/* convert.c - from the decoded file to a graph: inputs, the order of the nodes, the operator table, outputs
 *
 * Nodes are taken in the file's order where that works, else in one where operands come first; what no output needs is left out
 * (after it was checked that everything it reads exists). */
#include "frontend/onnx/convert.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "frontend/onnx/onnx.h"

enum { OPSET_LOWEST = 7, OPSET_HIGHEST = 28 };

void ox_fail(struct ox *o, int32_t code, const char *fmt, ...)
{
	char text[900];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tn_raise(o->a->diag, code, "%s", text);
}

/* ---- the model as a whole */

static bool default_domain(struct tn_str domain)
{
	return !domain.len || tn_str_is(domain, "ai.onnx");
}

static int64_t find_opset(struct ox *o)
{
	for (uint32_t i = 0; i < o->m->n_opsets; i++) {
		int64_t v = o->m->opsets[i].version;
		if (!default_domain(o->m->opsets[i].domain))
			continue;
		if (v < OPSET_LOWEST || v > OPSET_HIGHEST)
			ox_fail(o, TN_E_UNSUPPORTED, "%s: opset %lld; this reads %d to %d", o->m->file, (long long)v, OPSET_LOWEST, OPSET_HIGHEST);
		return v;
	}
	if (o->m->n_opsets)
		ox_fail(o, TN_E_UNSUPPORTED, "%s: no opset of the domain 'ai.onnx' is imported, but of '%.*s'", o->m->file, TN_STR(o->m->opsets[0].domain));
	ox_fail(o, TN_E_ARG, "%s: no opset is imported", o->m->file);
}

/* A dim's name as a symbol: letters, digits and _.  Other signs become _, so names that differed may meet: the second gets a
 * number.  o->names holds what was given, under "dim:" + name. */
static uint32_t named_dim(struct ox *o, struct tn_map *dims, struct tn_str name)
{
	const uint64_t *seen = tn_map_find(dims, name.at, name.len);
	if (seen)
		return (uint32_t)*seen;
	char *s = tn_printf(o->a, "%.*s", TN_STR(name));
	for (char *p = s; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' || (p > s && *p >= '0' && *p <= '9')))
			*p = '_';
	const char *unique = s;
	struct tn_map *taken = &dims[1];
	for (unsigned i = 2; tn_map_find(taken, unique, strlen(unique)); i++)
		unique = tn_printf(o->a, "%s_%u", s, i);
	*tn_map_at(taken, unique, strlen(unique)) = 1;
	uint32_t size = tn_size_sym(o->ir, unique, 0, OX_DIM_MAX);
	*tn_map_at(dims, name.at, name.len) = size;
	return size;
}

static bool real_name(struct tn_str s)
{
	return s.len && ((s.at[0] >= 'a' && s.at[0] <= 'z') || (s.at[0] >= 'A' && s.at[0] <= 'Z') || s.at[0] == '_');
}

/* named: only those; else the rest, so that a fresh symbol never takes a name that the model uses */
static void input_dims(struct ox *o, const struct tn_onnx_value *v, struct tn_map *map, bool named, uint32_t *dims)
{
	for (uint32_t d = 0; d < v->rank; d++) {
		const struct tn_onnx_dim *x = &v->dims[d];
		bool has_name = x->kind == TN_ONNX_DIM_NAMED && real_name(x->name);
		if (has_name != named)
			continue;
		if (x->kind == TN_ONNX_DIM_VALUE && (x->value < -1 || x->value > OX_DIM_MAX))
			ox_fail(o, TN_E_ARG, "%s: input '%.*s' has dim %u = %lld", o->m->file, TN_STR(v->name), d, (long long)x->value);
		dims[d] = named ? named_dim(o, map, x->name) : x->kind == TN_ONNX_DIM_VALUE && x->value >= 0 ? tn_size_const(o->ir, x->value)
		                : tn_size_sym(o->ir, NULL, 0, OX_DIM_MAX);
	}
}

static void check_input(struct ox *o, const struct tn_onnx_value *v)
{
	static const char *const kinds[] = { "no type", "a tensor", "a sequence", "a map", "an optional", "a sparse tensor", "an opaque type" };
	if (v->kind != TN_ONNX_TENSOR)
		ox_fail(o, v->kind ? TN_E_UNSUPPORTED : TN_E_ARG, "%s: input '%.*s' is %s; only tensors are read", o->m->file, TN_STR(v->name), kinds[v->kind]);
	if (!tn_onnx_dtype(v->elem))
		ox_fail(o, v->elem == 8 ? TN_E_UNSUPPORTED : TN_E_ARG, "%s: input '%.*s' has element type %s", o->m->file, TN_STR(v->name), tn_onnx_dtype_name(v->elem));
	if (!v->has_shape)
		ox_fail(o, TN_E_UNSUPPORTED, "%s: input '%.*s' has no rank", o->m->file, TN_STR(v->name));
	if (v->rank > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "%s: input '%.*s' has rank %u, more than %d", o->m->file, TN_STR(v->name), v->rank, OX_RANK);
}

static void add_inputs(struct ox *o)
{
	const struct tn_onnx_graph *g = o->m->graph;
	struct tn_map maps[2] = { { .arena = o->a }, { .arena = o->a } };
	uint32_t (*dims)[OX_RANK] = tn_arena_alloc(o->a, tn_size_mul(o->a->diag, g->n_in, sizeof *dims));
	for (int named = 1; named >= 0; named--)
		for (uint32_t i = 0; i < g->n_in; i++)
			if (!ox_find(o, g->in[i].name)) {      /* up to IR version 3 initialisers are listed as inputs, too */
				check_input(o, &g->in[i]);
				input_dims(o, &g->in[i], maps, named, dims[i]);
			}
	for (uint32_t i = 0; i < g->n_in; i++) {
		const struct tn_onnx_value *v = &g->in[i];
		struct ox_val *known = ox_find(o, v->name);
		if (known && known->tensor)
			continue;
		const char *name = tn_printf(o->a, "%.*s", (int)v->name.len, v->name.at ? v->name.at : "");
		struct ox_val *val = ox_define(o, v->name);
		ox_set_value(o, val, tn_ir_input(o->ir, name, tn_onnx_dtype(v->elem), v->rank, dims[i]));
	}
}

static void add_initialisers(struct ox *o)
{
	const struct tn_onnx_graph *g = o->m->graph;
	if (g->n_sparse)
		ox_fail(o, TN_E_UNSUPPORTED, "%s: %u sparse initialisers", o->m->file, g->n_sparse);
	for (uint32_t i = 0; i < g->n_init; i++)
		ox_set_tensor(o, ox_define(o, g->init[i].name), &g->init[i]);
}

/* ---- order */

static const char *label(struct ox *o, const struct tn_onnx_node *n)
{
	if (n->name.len)
		return tn_printf(o->a, "node '%.*s'", TN_STR(n->name));
	uint32_t i = (uint32_t)(n - o->m->graph->nodes);
	for (uint32_t k = 0; k < n->n_out; k++)
		if (n->out[k].len)
			return tn_printf(o->a, "node %u of '%.*s'", i, TN_STR(n->out[k]));
	return tn_printf(o->a, "node %u", i);
}

static void check_names(struct ox *o, struct tn_map *makers)
{
	const struct tn_onnx_graph *g = o->m->graph;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		for (uint32_t k = 0; k < g->nodes[i].n_out; k++) {
			struct tn_str name = g->nodes[i].out[k];
			if (!name.len)
				continue;
			uint64_t *maker = tn_map_at(makers, name.at, name.len);
			if (*maker || ox_find(o, name))
				ox_fail(o, TN_E_ARG, "%s: %s (%.*s): '%.*s' is defined twice", o->m->file, label(o, &g->nodes[i]), TN_STR(g->nodes[i].op), TN_STR(name));
			*maker = i + 1;
		}
}

/* the node that makes a name, or -1 for what is there from the start */
static int64_t maker_of(struct ox *o, const struct tn_map *makers, const struct tn_onnx_node *reader, struct tn_str name)
{
	const uint64_t *maker = tn_map_find(makers, name.at, name.len);
	if (maker && *maker)
		return (int64_t)*maker - 1;
	if (!ox_find(o, name)) {
		if (reader)
			ox_fail(o, TN_E_ARG, "%s: %s (%.*s) reads '%.*s', which nothing defines", o->m->file, label(o, reader), TN_STR(reader->op), TN_STR(name));
		ox_fail(o, TN_E_ARG, "%s: nothing defines the output '%.*s'", o->m->file, TN_STR(name));
	}
	return -1;
}

struct order { uint32_t *nodes, n; uint8_t *state; /* 0 new, 1 open, 2 placed */ uint32_t *stack, *next; struct tn_map makers; };

/* depth first without recursion: stack holds the open nodes, next which operand each looks at */
static void place(struct ox *o, struct order *r, uint32_t root)
{
	const struct tn_onnx_node *nodes = o->m->graph->nodes;
	uint32_t depth = 0;
	if (r->state[root])
		return;
	r->stack[depth] = root;
	r->next[depth++] = 0;
	r->state[root] = 1;
	while (depth) {
		uint32_t at = r->stack[depth - 1];
		const struct tn_onnx_node *n = &nodes[at];
		if (r->next[depth - 1] == n->n_in) {
			r->state[at] = 2;
			r->nodes[r->n++] = at;
			depth--;
			continue;
		}
		struct tn_str in = n->in[r->next[depth - 1]++];
		int64_t maker = in.len ? maker_of(o, &r->makers, n, in) : -1;
		if (maker < 0 || r->state[maker] == 2)
			continue;
		if (r->state[maker] == 1)
			ox_fail(o, TN_E_ARG, "%s: %s (%.*s) is on a cycle: it reads '%.*s', which depends on it", o->m->file, label(o, n), TN_STR(n->op), TN_STR(in));
		r->stack[depth] = (uint32_t)maker;
		r->next[depth++] = 0;
		r->state[maker] = 1;
	}
}

static bool *mark_live(struct ox *o, const struct order *r)
{
	const struct tn_onnx_graph *g = o->m->graph;
	bool *live = tn_array(o->a, bool, g->n_nodes + 1u);
	for (uint32_t i = 0; i < g->n_out; i++) {
		int64_t maker = maker_of(o, &r->makers, NULL, g->out[i].name);
		if (maker >= 0)
			live[maker] = true;
	}
	for (uint32_t i = r->n; i-- > 0;) {
		const struct tn_onnx_node *n = &g->nodes[r->nodes[i]];
		for (uint32_t k = 0; live[r->nodes[i]] && k < n->n_in; k++) {
			int64_t maker = n->in[k].len ? maker_of(o, &r->makers, n, n->in[k]) : -1;
			if (maker >= 0)
				live[maker] = true;
		}
	}
	return live;
}

/* ---- nodes */

static const struct ox_op *find_op(struct ox *o, struct tn_str name)
{
	const struct ox_ops *const tables[] = { &ox_ops_math, &ox_ops_shape, &ox_ops_index, &ox_ops_reduce, &ox_ops_nn, &ox_ops_norm, &ox_ops_quant,
	                                         &ox_ops_einsum, &ox_ops_resize, &ox_ops_source };
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct ox_op *op = &tables[t]->at[i];
			if (tn_str_is(name, op->name) && op->since <= o->opset && (!op->until || o->opset < op->until))
				return op;
		}
	return NULL;
}

static void check_attrs(struct ox *o)
{
	for (uint32_t i = 0; i < o->node->n_attr; i++)
		if (!(o->attrs_read >> i & 1))
			ox_fail(o, TN_E_UNSUPPORTED, "attribute '%.*s'", TN_STR(o->node->attrs[i].name));
}

static void convert_node(void *arg)
{
	struct ox *o = arg;
	const struct tn_onnx_node *n = o->node;
	o->attrs_read = 0;
	if (!default_domain(n->domain))
		ox_fail(o, TN_E_UNSUPPORTED, "operators of domain '%.*s' are not offered", TN_STR(n->domain));
	if (n->n_attr > 64)
		ox_fail(o, TN_E_ARG, "%u attributes", n->n_attr);
	for (uint32_t i = 0; i < n->n_attr; i++)
		if (n->attrs[i].ref.len)
			ox_fail(o, TN_E_ARG, "attribute '%.*s' refers to '%.*s' of a function, but stands in none", TN_STR(n->attrs[i].name), TN_STR(n->attrs[i].ref));
	o->op = find_op(o, n->op);
	if (!o->op)
		ox_fail(o, TN_E_UNSUPPORTED, "operator '%.*s' of domain 'ai.onnx' at opset %lld is not offered", TN_STR(n->op), (long long)o->opset);
	if (!(o->op->follow && o->op->follow(o)))
		o->op->build(o);
	check_attrs(o);
}

static void convert_nodes(struct ox *o, const struct order *r, const bool *live)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (!live[r->nodes[i]])
			continue;
		o->node = &o->m->graph->nodes[r->nodes[i]];
		tn_ir_origin(o->ir, o->node->name.len ? tn_printf(o->a, "%s: %.*s", o->m->file, TN_STR(o->node->name)) : tn_printf(o->a, "%s: %s", o->m->file, label(o, o->node)));
		int32_t rc = tn_protect(o->a->diag, convert_node, o);
		if (rc)
			tn_raise(o->a->diag, rc, "%s: %s (%.*s): %s", o->m->file, label(o, o->node), TN_STR(o->node->op), o->a->diag->text);
	}
	tn_ir_origin(o->ir, NULL);
}

static void add_outputs(struct ox *o)
{
	const struct tn_onnx_graph *g = o->m->graph;
	if (!g->n_out)
		ox_fail(o, TN_E_ARG, "%s: the graph has no outputs", o->m->file);
	for (uint32_t i = 0; i < g->n_out; i++) {
		const struct tn_onnx_value *v = &g->out[i];
		struct ox_val *val = ox_find(o, v->name);
		if (!val)
			ox_fail(o, TN_E_ARG, "%s: nothing defines the output '%.*s'", o->m->file, TN_STR(v->name));
		if (v->kind > TN_ONNX_TENSOR)
			ox_fail(o, TN_E_UNSUPPORTED, "%s: output '%.*s' is not a tensor", o->m->file, TN_STR(v->name));
		if (v->elem && tn_onnx_dtype(v->elem) != val->dtype)
			ox_fail(o, TN_E_ARG, "%s: output '%.*s' is declared %s, but is made as %s", o->m->file, TN_STR(v->name), tn_onnx_dtype_name(v->elem), tn_dtype_name(val->dtype));
		tn_ir_output(o->ir, tn_printf(o->a, "%.*s", (int)v->name.len, v->name.at ? v->name.at : ""), ox_value(o, val));
	}
}

static struct tn_ir *convert(struct tn_arena *a, const struct tn_onnx_model *m)
{
	struct ox *o = tn_new(a, struct ox);
	const struct tn_onnx_graph *g = m->graph;
	*o = (struct ox){ .a = a, .m = m, .names = { .arena = a } };
	o->opset = find_opset(o);
	o->ir = tn_ir_create(a, g->name.len ? tn_printf(a, "%.*s", TN_STR(g->name)) : m->file);
	add_initialisers(o);
	add_inputs(o);
	struct order r = {
		.nodes = tn_array(a, uint32_t, g->n_nodes + 1u), .state = tn_array(a, uint8_t, g->n_nodes + 1u), .stack = tn_array(a, uint32_t, g->n_nodes + 1u),
		.next = tn_array(a, uint32_t, g->n_nodes + 1u), .makers = { .arena = a },
	};
	check_names(o, &r.makers);
	for (uint32_t i = 0; i < g->n_nodes; i++)
		place(o, &r, i);
	convert_nodes(o, &r, mark_live(o, &r));
	add_outputs(o);
	return o->ir;
}

struct tn_ir *tn_onnx_parse(struct tn_arena *a, const void *bytes, size_t len, const char *name, const char *dir)
{
	return convert(a, tn_onnx_decode(a, bytes, len, name, dir));
}

struct tn_ir *tn_onnx_load(struct tn_arena *a, const char *path)
{
	const char *why, *slash = strrchr(path, '/');
	size_t size;
	const void *bytes = tn_onnx_map(a, path, &size, &why);
	if (!bytes)
		tn_raise(a->diag, TN_E_GONE, "%s: %s", path, why);
	const char *dir = slash ? tn_printf(a, "%.*s", (int)(slash - path + 1), path) : ".";
	return tn_onnx_parse(a, bytes, size, slash ? slash + 1 : path, dir);
}
