/* build.c - a graph that grows: tables, texts, inputs, constants, nodes, outputs */
#include "ir/store.h"
#include <stdio.h>
#include <string.h>

static void end_store(void *store)
{
	tn_arena_fini(&((struct tn_ir_store *)store)->scratch);
}

/* ---- tables: push one, and let the public view see it */
#define PUSH(ir, table, count, cap) (*tn_push((ir)->arena, (ir)->store->table, (ir)->g.count, (ir)->store->cap))
static void sync_views(struct tn_ir *ir)
{
	struct tn_graph *g = &ir->g;
	struct tn_ir_store *s = ir->store;
	g->values.at = s->values;
	g->nodes.at = s->nodes;
	g->attrs.at = s->attrs;
	g->constants.at = s->constants;
	g->layouts.at = s->layouts;
	g->mutations.at = s->mutations;
	g->dims = s->dims;
	g->ints = s->ints;
	g->operands = s->operands;
	g->bytes = s->bytes;
	g->regions = s->regions;
	g->out_names = s->out_names;
}

struct tn_ir *tn_ir_create(struct tn_arena *a, const char *name)
{
	struct tn_ir *ir = tn_new(a, struct tn_ir);
	struct tn_ir_store *s = tn_new(a, struct tn_ir_store);
	tn_arena_init(&s->scratch, a->diag);
	tn_arena_defer(a, end_store, s);
	tn_arena_alloc(&s->scratch, 1);        /* a first block that no reset gives back */
	*ir = (struct tn_ir){ .g = { .head = TN_HEAD(tn_graph, TN_KIND_GRAPH), .name = TN_NOTHING }, .arena = a, .store = s };
	s->by_poly.arena = s->by_atom.arena = s->by_symbol.arena = s->texts.arena = s->names.arena = a;
	s->origin = TN_NOTHING;
	tn_size_start(ir);
	if (name && *name)
		ir->g.name = tn_put_text(ir, name, strlen(name));
	return ir;
}

uint32_t tn_put_text(struct tn_ir *ir, const char *text, size_t len)
{
	struct tn_ir_store *s = ir->store;
	const uint64_t *known = tn_map_find(&s->texts, text, len);
	if (known)
		return (uint32_t)(*known - 1);
	const uint64_t at = ir->g.n_bytes;
	for (size_t i = 0; i <= len; i++)
		PUSH(ir, bytes, n_bytes, cap_bytes) = i < len ? text[i] : 0;
	*tn_map_at(&s->texts, text, len) = at + 1;
	sync_views(ir);
	return (uint32_t)at;
}

uint32_t tn_put_layout(struct tn_ir *ir, const struct tn_layout *l)
{
	for (uint64_t i = 0; i < ir->g.layouts.count; i++)
		if (memcmp(&ir->g.layouts.at[i], l, sizeof *l) == 0)
			return (uint32_t)(1 + i);
	PUSH(ir, layouts, layouts.count, cap_layouts) = *l;
	sync_views(ir);
	return (uint32_t)ir->g.layouts.count;
}

static uint32_t put_dims(struct tn_ir *ir, const uint32_t *dims, uint32_t n)
{
	const uint32_t at = (uint32_t)ir->g.n_dims;
	for (uint32_t i = 0; i < n; i++)
		PUSH(ir, dims, n_dims, cap_dims) = dims[i];
	sync_views(ir);
	return at;
}

static uint32_t put_operands(struct tn_ir *ir, const uint32_t *values, uint32_t n)
{
	const uint32_t at = (uint32_t)ir->g.n_operands;
	for (uint32_t i = 0; i < n; i++)
		PUSH(ir, operands, n_operands, cap_operands) = values[i];
	sync_views(ir);
	return at;
}

/* one more in a run of operands that must stay together: moved to the end when something stands behind it */
static void extend_run(struct tn_ir *ir, uint32_t *first, uint32_t *n, uint32_t value)
{
	if (*n == 0 || *first + *n != ir->g.n_operands) {
		const uint32_t at = (uint32_t)ir->g.n_operands;
		for (uint32_t i = 0; i < *n; i++)
			put_operands(ir, &(uint32_t){ ir->g.operands[*first + i] }, 1);
		*first = at;
	}
	put_operands(ir, &value, 1);
	++*n;
}

/* ---- values */
static uint32_t put_value(struct tn_ir *ir, const struct tn_type *t, uint32_t node, uint32_t result)
{
	const uint32_t dim0 = put_dims(ir, t->dims, t->rank);
	PUSH(ir, values, values.count, cap_values) = (struct tn_value){ .dtype = t->dtype, .rank = t->rank, .dim0 = dim0, .node = node, .result = result,
		.constant = TN_NOTHING, .layout = t->layout, .quant = TN_NOTHING, .name = TN_NOTHING };
	sync_views(ir);
	return (uint32_t)(ir->g.values.count - 1);
}

static struct tn_type checked_type(struct tn_ir *ir, const char *what, const char *name, uint32_t dtype, uint32_t rank)
{
	if (dtype == TN_NONE || dtype >= TN_DTYPE_END)
		tn_raise(ir->arena->diag, TN_E_ARG, "%s %s: %u is no dtype", what, name ? name : "", dtype);
	if (rank > TN_RANK_MAX)
		tn_raise(ir->arena->diag, TN_E_ARG, "%s %s: %u dims are more than %d", what, name ? name : "", rank, TN_RANK_MAX);
	return (struct tn_type){ .dtype = dtype, .rank = rank };
}

static int all_digits(const char *name)
{
	return name[strspn(name, "0123456789")] == 0;
}

/* Unnamed values print as numbers, so a name of digits alone gets a letter. */
void tn_ir_name(struct tn_ir *ir, uint32_t value, const char *name)
{
	struct tn_map *names = &ir->store->names;
	if (name == NULL || *name == 0 || value >= ir->g.values.count)
		return;
	if (all_digits(name))
		name = tn_printf(ir->arena, "v%s", name);
	const char *stem = name;
	uint64_t *taken = tn_map_at(names, stem, strlen(stem));
	while (*taken != 0) {          /* the number stored is the next suffix to try */
		name = tn_printf(ir->arena, "%s_%llu", stem, (unsigned long long)(*taken)++);
		if (!tn_map_find(names, name, strlen(name)))
			taken = tn_map_at(names, name, strlen(name));
	}
	*taken = 1;
	ir->store->values[value].name = tn_put_text(ir, name, strlen(name));
}

uint32_t tn_ir_input(struct tn_ir *ir, const char *name, uint32_t dtype, uint32_t rank, const uint32_t *dims)
{
	struct tn_type t = checked_type(ir, "input", name, dtype, rank);
	if (name && *name && tn_map_find(&ir->store->names, name, strlen(name)))
		tn_raise(ir->arena->diag, TN_E_ARG, "input %s: there is a value of that name already", name);
	for (uint32_t i = 0; i < rank; i++) {
		if (dims[i] >= ir->g.sizes.count)
			tn_raise(ir->arena->diag, TN_E_ARG, "input %s: dim %u names size %u of %llu", name ? name : "", i, dims[i], (unsigned long long)ir->g.sizes.count);
		if (ir->g.sizes.at[dims[i]].hi < 0)
			tn_raise(ir->arena->diag, TN_E_ARG, "input %s: dim %u is negative", name ? name : "", i);
		t.dims[i] = dims[i];
	}
	const uint32_t v = put_value(ir, &t, TN_NOTHING, 0);
	tn_ir_name(ir, v, name);
	extend_run(ir, &ir->g.in0, &ir->g.n_in, v);
	return v;
}

uint32_t tn_ir_constant(struct tn_ir *ir, const char *name, uint32_t dtype, uint32_t rank, const int64_t *dims, const void *at, uint64_t size)
{
	struct tn_type t = checked_type(ir, "constant", name, dtype, rank);
	uint64_t bits = tn_dtype_bits(dtype);
	for (uint32_t i = 0; i < rank; i++) {
		if (dims[i] < 0 || __builtin_mul_overflow(bits, (uint64_t)dims[i], &bits))
			tn_raise(ir->arena->diag, TN_E_ARG, "constant %s: dim %u is %lld", name ? name : "", i, (long long)dims[i]);
		t.dims[i] = tn_size_const(ir, dims[i]);
	}
	if (bits / 8 + (bits % 8 != 0) != size || (at == NULL && size))
		tn_raise(ir->arena->diag, TN_E_ARG, "constant %s: %llu bytes at %s, and its shape and dtype %s need %llu", name ? name : "",
			(unsigned long long)size, at ? "an address" : "NULL", tn_dtype_name(dtype), (unsigned long long)(bits / 8 + (bits % 8 != 0)));
	const uint32_t v = put_value(ir, &t, TN_NOTHING, 0);
	tn_ir_name(ir, v, name);
	ir->store->values[v].constant = (uint32_t)ir->g.constants.count;
	PUSH(ir, constants, constants.count, cap_constants) = (struct tn_constant){ .at = at, .size = size };
	sync_views(ir);
	return v;
}

void tn_ir_output(struct tn_ir *ir, const char *name, uint32_t value)
{
	if (value >= ir->g.values.count)
		tn_raise(ir->arena->diag, TN_E_ARG, "output %u (%s): there is no value %u", ir->g.n_out, name ? name : "", value);
	extend_run(ir, &ir->g.out0, &ir->g.n_out, value);
	const uint32_t text = name && *name ? tn_put_text(ir, name, strlen(name)) : TN_NOTHING;
	PUSH(ir, out_names, n_out_names, cap_out_names) = text;
	sync_views(ir);
}

void tn_ir_mutates(struct tn_ir *ir, uint32_t output, uint32_t input, uint32_t kind)
{
	if (output >= ir->g.n_out || input >= ir->g.n_in || (kind != TN_MUST_WRITE && kind != TN_MAY_WRITE))
		tn_raise(ir->arena->diag, TN_E_ARG, "mutation of kind %u: output %u of %u writes input %u of %u", kind, output, ir->g.n_out, input, ir->g.n_in);
	PUSH(ir, mutations, mutations.count, cap_mutations) = (struct tn_mutation){ .output = output, .input = input, .kind = kind };
	sync_views(ir);
}

void tn_ir_origin(struct tn_ir *ir, const char *origin)
{
	ir->store->origin = origin && *origin ? tn_put_text(ir, origin, strlen(origin)) : TN_NOTHING;
}

/* ---- nodes */
static struct tn_attr put_attr(struct tn_ir *ir, const struct tn_attr_in *in)
{
	struct tn_attr a = { .name = in->name, .type = in->type };
	switch (in->type) {
	case TN_ATTR_INT:
		a.i = in->i;
		break;
	case TN_ATTR_FLOAT:
		a.f = in->f;
		break;
	case TN_ATTR_INTS:
		a.at = (uint32_t)ir->g.n_ints;
		a.count = in->count;
		for (uint32_t i = 0; i < in->count; i++)
			PUSH(ir, ints, n_ints, cap_ints) = ((const int64_t *)in->list)[i];
		break;
	case TN_ATTR_SIZES:
		a.count = in->count;
		a.at = put_dims(ir, in->list, in->count);
		break;
	default:
		a.count = (uint32_t)strlen(in->list);
		a.at = tn_put_text(ir, in->list, a.count);
		break;
	}
	return a;
}

/* what inference left open: the sizes the caller wants, or fresh symbols (one for all that count the trips of a loop) */
static void close_types(struct tn_ir *ir, struct tn_infer *f, const struct tn_type *want, uint32_t n_want)
{
	const int64_t hi = tn_infer_int(f, TN_ATTR_hi, 0);
	uint32_t trips = TN_NOTHING;
	for (uint32_t i = 0; i < f->n_out; i++)
		for (uint32_t d = 0; d < f->out[i].rank; d++) {
			uint32_t *dim = &f->out[i].dims[d];
			const int is_trips = *dim == TN_TRIPS;
			if (*dim != TN_NOTHING && !is_trips)
				continue;
			if (want && i < n_want && d < want[i].rank)
				*dim = want[i].dims[d];
			else if (is_trips && trips != TN_NOTHING)
				*dim = trips;
			else
				*dim = tn_size_sym(ir, NULL, 0, is_trips && hi > 0 ? hi : TN_SIZE_UNBOUNDED);
			trips = is_trips ? *dim : trips;
		}
}

static void check_operands(const struct tn_infer *f)
{
	const struct tn_prim_info *p = f->p;
	const uint32_t most = p->flags & TN_VARIADIC ? UINT32_MAX : p->n_in + p->n_opt;
	for (uint32_t i = 0; i < f->n->n_in; i++)
		if (f->n->in[i] >= f->ir->g.values.count)
			tn_raise(f->ir->arena->diag, TN_E_ARG, "node %llu, %s: operand %u is value %u of %llu", (unsigned long long)f->ir->g.nodes.count,
				p->name, i, f->n->in[i], (unsigned long long)f->ir->g.values.count);
	if (f->n->n_in < p->n_in || f->n->n_in > most)
		tn_infer_fail(f, "%u operands, it takes %u%s", f->n->n_in, p->n_in, most == UINT32_MAX ? " or more" : p->n_opt ? " and optional ones" : "");
	if (f->n->n_regions > 0 && p->dt != TN_DT_OWN)
		tn_infer_fail(f, "%u regions, it takes none", f->n->n_regions);
}

static void put_node(struct tn_ir *ir, const struct tn_infer *f)
{
	const struct tn_node_in *in = f->n;
	const uint32_t number = (uint32_t)ir->g.nodes.count;
	struct tn_node n = { .prim = in->prim, .n_in = in->n_in, .n_out = f->n_out, .n_attr = in->n_attrs, .n_region = in->n_regions, .origin = ir->store->origin };
	struct tn_attr *attrs = tn_array(ir->arena, struct tn_attr, in->n_attrs);
	uint32_t *out = tn_array(ir->arena, uint32_t, f->n_out);
	n.in0 = put_operands(ir, in->in, in->n_in);
	for (uint32_t i = 0; i < in->n_attrs; i++)
		attrs[i] = put_attr(ir, &in->attrs[i]);
	n.attr0 = (uint32_t)ir->g.attrs.count;
	for (uint32_t i = 0; i < in->n_attrs; i++)
		PUSH(ir, attrs, attrs.count, cap_attrs) = attrs[i];
	n.region0 = (uint32_t)ir->g.n_regions;
	for (uint32_t i = 0; i < in->n_regions; i++)
		PUSH(ir, regions, n_regions, cap_regions) = in->regions[i];
	for (uint32_t i = 0; i < f->n_out; i++)
		out[i] = put_value(ir, &f->out[i], number, i);
	n.out0 = put_operands(ir, out, f->n_out);
	PUSH(ir, nodes, nodes.count, cap_nodes) = n;
	sync_views(ir);
}

uint32_t tn_ir_node_as(struct tn_ir *ir, const struct tn_node_in *n, const struct tn_type *want, uint32_t n_want)
{
	struct tn_node_in normal = *n;
	struct tn_infer f = { .ir = ir, .p = tn_prim_info(n->prim), .n = n };
	if (f.p == NULL)
		tn_raise(ir->arena->diag, TN_E_ARG, "node %llu: there is no primitive %u", (unsigned long long)ir->g.nodes.count, n->prim);
	check_operands(&f);
	tn_infer_attrs(&f, &normal);
	f.n = &normal;
	tn_infer(&f);
	close_types(ir, &f, want, n_want);
	put_node(ir, &f);
	return (uint32_t)(ir->g.nodes.count - 1);
}

uint32_t tn_ir_node(struct tn_ir *ir, const struct tn_node_in *n)
{
	return tn_ir_node_as(ir, n, NULL, 0);
}

uint32_t *tn_use_counts(const struct tn_graph *g, struct tn_arena *a)
{
	uint32_t *uses = tn_array(a, uint32_t, g->values.count);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		for (uint32_t k = 0; k < g->nodes.at[i].n_in; k++)
			uses[tn_in(g, &g->nodes.at[i], k)]++;
	for (uint32_t i = 0; i < g->n_out; i++)
		uses[g->operands[g->out0 + i]]++;
	return uses;
}
