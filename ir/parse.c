/* parse.c - a graph from its text.  The grammar is what print.c writes, and a little more:
 *
 *   graph     = "graph" @name inputs [ "->" type { "," type } ] [ where ] "{" { statement } "return" outputs "}"
 *   inputs    = "(" [ %name ":" type { "," %name ":" type } ] ")"            type = dtype "[" sizes "]"
 *   where     = "where" bound { "," bound }                                 bound = [ int "<=" ] symbol [ "<=" int ]
 *   statement = "const" %name ":" type "=" ( "{" numbers "}" | "tensor" )
 *             | [ %name [ ":" type ] { "," ... } "=" | symbol "=" ] primitive [ item { "," item } ] { region } [ @ "origin" ]
 *   item      = %name | number | attribute "=" value                        region = "{" inputs [ where ] { statement } "yield" outputs "}"
 *   outputs   = [ %name [ "as" "name" ] { ("must" | "may") "write" %input } { "," ... } ]
 *
 * Bounds are read before the inputs, because sizes fold by them. */
#include "ir/parse_value.h"
#include <string.h>

struct statement {
	const struct tn_prim_info *prim;
	size_t place;
	const char **names; uint32_t n_names, cap_names;
	size_t *name_places; uint32_t n_name_places, cap_name_places;
	struct tn_type *types; uint32_t n_types, cap_types;
	struct tn_item *items; uint32_t n_items, cap_items;
	struct tn_attr_in *attrs; uint32_t n_attrs, cap_attrs;
	const struct tn_graph **regions; uint32_t n_regions, cap_regions;
	const char *origin;
};

/* ---- header */
static void inputs(struct tn_parser *p)
{
	tn_lex_need(p->l, '(');
	while (!tn_lex_is(p->l, ')')) {
		const size_t place = p->l->start;
		if (p->l->kind != TN_T_VALUE)
			tn_lex_expected(p->l, "an input");
		const char *name = tn_lex_dup(p->l);
		tn_lex_next(p->l);
		tn_lex_need(p->l, ':');
		const struct tn_type t = tn_parse_type(p);
		for (uint32_t i = 0; i < t.rank; i++)
			if (p->ir->g.sizes.at[t.dims[i]].hi < 0)
				tn_lex_fail(p->l, place, "dim %u of input %%%s is negative", i, name);
		tn_parse_define(p, name, tn_ir_input(p->ir, NULL, t.dtype, t.rank, t.dims), place);
		if (!tn_lex_take(p->l, ','))
			break;
	}
	tn_lex_need(p->l, ')');
}

struct sym_job { struct tn_ir *ir; const char *name; int64_t lo, hi; };

static void sym_f(void *arg)
{
	const struct sym_job *j = arg;
	tn_size_sym(j->ir, j->name, j->lo, j->hi);
}

static void where(struct tn_parser *p)
{
	if (!tn_lex_take_word(p->l, "where"))
		return;
	do {
		struct sym_job j = { p->ir, NULL, 0, TN_SIZE_UNBOUNDED };
		const size_t place = p->l->start;
		if (p->l->kind == TN_T_NUMBER || tn_lex_is(p->l, '-')) {
			j.lo = tn_lex_int(p->l, "a bound");
			if (p->l->kind != TN_T_LE)
				tn_lex_expected(p->l, "<=");
			tn_lex_next(p->l);
		}
		if (!(p->l->kind == TN_T_WORD && tn_is_word(p->l->at, p->l->size)) && !(p->l->kind == TN_T_TEXT && p->l->size))
			tn_lex_expected(p->l, "a symbol");
		j.name = tn_lex_dup(p->l);
		tn_lex_next(p->l);
		if (p->l->kind == TN_T_LE) {
			tn_lex_next(p->l);
			j.hi = tn_lex_int(p->l, "a bound");
		}
		tn_parse_guarded(p, place, sym_f, &j);
	} while (tn_lex_take(p->l, ','));
}

static void skip_parens(struct tn_lex *l)
{
	uint32_t depth = 0;
	if (!tn_lex_is(l, '('))
		tn_lex_expected(l, "'('");
	do {
		if (l->kind == TN_T_END)
			tn_lex_expected(l, "')'");
		depth += (uint32_t)tn_lex_is(l, '(');
		depth -= (uint32_t)tn_lex_is(l, ')');
		tn_lex_next(l);
	} while (depth);
}

/* ---- statements */
static void items(struct tn_parser *p, struct statement *s)
{
	struct tn_arena *a = p->ir->arena;
	for (;;) {
		struct tn_spec spec;
		if (p->l->kind == TN_T_VALUE) {
			struct tn_item x = { .place = p->l->start };
			x.value = tn_parse_value(p, "an operand");
			*tn_push(a, s->items, s->n_items, s->cap_items) = x;
		} else if (tn_parse_starts_literal(p->l)) {
			const struct tn_item x = tn_parse_literal(p);
			*tn_push(a, s->items, s->n_items, s->cap_items) = x;
		} else {
			if (p->l->kind != TN_T_WORD)
				tn_lex_expected(p->l, "an operand or an attribute");
			if (!tn_spec_find(s->prim, tn_attr_by_name(p->l->at, p->l->size), &spec))
				tn_lex_fail(p->l, p->l->start, "%s has no attribute '%.*s'; it has: %s", s->prim->name, (int)p->l->size, p->l->at,
					s->prim->attrs ? s->prim->attrs : "none");
			tn_lex_next(p->l);
			tn_lex_need(p->l, '=');
			const struct tn_attr_in at = tn_parse_attribute(p, &spec);
			*tn_push(a, s->attrs, s->n_attrs, s->cap_attrs) = at;
		}
		if (!tn_lex_take(p->l, ','))
			return;
	}
}

static int starts_item(const struct tn_lex *l)
{
	struct tn_lex ahead = *l;
	if (l->kind == TN_T_VALUE || tn_parse_starts_literal(l))
		return 1;
	if (l->kind != TN_T_WORD)
		return 0;
	tn_lex_next(&ahead);
	return tn_lex_is(&ahead, '=');
}

static void results(struct tn_parser *p, struct statement *s)
{
	struct tn_arena *a = p->ir->arena;
	while (p->l->kind == TN_T_VALUE) {
		*tn_push(a, s->name_places, s->n_name_places, s->cap_name_places) = p->l->start;
		*tn_push(a, s->names, s->n_names, s->cap_names) = tn_lex_dup(p->l);
		tn_lex_next(p->l);
		if (tn_lex_take(p->l, ':')) {
			const struct tn_type t = tn_parse_type(p);
			*tn_push(a, s->types, s->n_types, s->cap_types) = t;
		}
		if (!tn_lex_take(p->l, ','))
			break;
	}
	if (s->n_types && s->n_types != s->n_names)
		tn_lex_fail(p->l, s->place, "%u of %u results have types: expected all or none", s->n_types, s->n_names);
	if (s->n_names)
		tn_lex_need(p->l, '=');
}

/* `n = bind %x`: symbol n, as the attribute index */
static void bound_symbol(struct tn_parser *p, struct statement *s)
{
	struct tn_lex ahead = *p->l;
	if (p->l->kind != TN_T_TEXT && !(p->l->kind == TN_T_WORD && tn_is_word(p->l->at, p->l->size)))
		return;
	tn_lex_next(&ahead);
	if (!tn_lex_take(&ahead, '='))
		return;
	if (!tn_lex_is_word(&ahead, "bind"))
		tn_lex_expected(&ahead, "bind");
	if (p->l->size == 0)
		tn_lex_expected(p->l, "a symbol");
	struct sym_job j = { p->ir, tn_lex_dup(p->l), INT64_MIN, TN_SIZE_UNBOUNDED };
	tn_parse_guarded(p, s->place, sym_f, &j);
	const uint32_t row = tn_size_sym(p->ir, j.name, INT64_MIN, TN_SIZE_UNBOUNDED);
	*tn_push(p->ir->arena, s->attrs, s->n_attrs, s->cap_attrs) = TN_A_INT(index, p->ir->g.sizes.at[row].a);
	*p->l = ahead;
}

/* ---- adding the node */
struct add_job { struct tn_parser *p; struct statement *s; uint32_t node; };

/* the operand that gives a literal its dtype and shape: the first value, in a select past the condition */
static uint32_t model_of(const struct statement *s)
{
	for (uint32_t i = s->prim->number == TN_select ? 1 : 0; i < s->n_items; i++)
		if (s->items[i].value != TN_NOTHING)
			return s->items[i].value;
	return TN_NOTHING;
}

static uint32_t literal_value(struct tn_parser *p, const struct statement *s, const struct tn_item *x, uint32_t model)
{
	if (model == TN_NOTHING)
		tn_raise(p->l->diag, TN_E_ARG, "%s: a number needs an operand beside it, which gives it dtype and shape", s->prim->name);
	const struct tn_value v = *tn_val(&p->ir->g, model);
	const uint32_t rank = s->prim->number == TN_pad ? 0 : v.rank;          /* the fill has no dims */
	const uint32_t *dims = tn_shape(&p->ir->g, model);
	return x->is_float ? tn_ir_full(p->ir, v.dtype, x->f, dims, rank) : tn_ir_full_int(p->ir, v.dtype, x->i, dims, rank);
}

static void add_f(void *arg)
{
	struct add_job *j = arg;
	struct statement *s = j->s;
	struct tn_ir *ir = j->p->ir;
	uint32_t *in = tn_array(ir->arena, uint32_t, s->n_items);
	const uint32_t model = model_of(s);
	tn_ir_origin(ir, s->origin);
	for (uint32_t i = 0; i < s->n_items; i++)
		in[i] = s->items[i].value != TN_NOTHING ? s->items[i].value : literal_value(j->p, s, &s->items[i], model);
	const struct tn_node_in n = { .prim = s->prim->number, .in = in, .n_in = s->n_items, .attrs = s->attrs, .n_attrs = s->n_attrs,
		.regions = s->regions, .n_regions = s->n_regions };
	j->node = tn_ir_node_as(ir, &n, s->types, s->n_types);
	tn_ir_origin(ir, NULL);
}

static void name_results(struct tn_parser *p, const struct statement *s, uint32_t node)
{
	const struct tn_graph *g = &p->ir->g;
	if (s->n_names != g->nodes.at[node].n_out)
		tn_lex_fail(p->l, s->place, "%s has %u results, and %u are named", s->prim->name, g->nodes.at[node].n_out, s->n_names);
	for (uint32_t i = 0; i < s->n_names; i++) {
		const uint32_t v = tn_out(g, &g->nodes.at[node], i);
		tn_parse_define(p, s->names[i], v, s->name_places[i]);
		if (s->n_types)
			tn_parse_check_type(p, &s->types[i], v, s->name_places[i]);
	}
}

static struct tn_graph *region(struct tn_parser *p);

static void statement(struct tn_parser *p)
{
	struct statement s = { .place = p->l->start };
	if (p->l->kind == TN_T_VALUE)
		results(p, &s);
	else
		bound_symbol(p, &s);
	s.prim = p->l->kind == TN_T_WORD ? tn_prim_by_name(p->l->at, p->l->size) : NULL;
	if (s.prim == NULL)
		tn_lex_expected(p->l, s.n_names ? "a primitive" : "a statement");
	tn_lex_next(p->l);
	if (s.prim->number == TN_bind && s.n_attrs == 0)
		tn_lex_fail(p->l, s.place, "expected a symbol, as in: n = bind %%x, hi = 100");
	if (starts_item(p->l))
		items(p, &s);
	while (tn_lex_is(p->l, '{')) {
		const struct tn_graph *r = region(p);
		*tn_push(p->ir->arena, s.regions, s.n_regions, s.cap_regions) = r;
	}
	if (p->l->kind == TN_T_AT) {
		tn_lex_next(p->l);
		if (p->l->kind != TN_T_TEXT)
			tn_lex_expected(p->l, "a quoted origin");
		s.origin = tn_lex_dup(p->l);
		tn_lex_next(p->l);
	}
	struct add_job j = { p, &s, 0 };
	tn_parse_guarded(p, s.place, add_f, &j);
	name_results(p, &s, j.node);
}

/* ---- outputs */
static void writes(struct tn_parser *p, uint32_t kind)
{
	const struct tn_graph *g = &p->ir->g;
	tn_lex_next(p->l);
	if (!tn_lex_take_word(p->l, "write"))
		tn_lex_expected(p->l, "write");
	const size_t place = p->l->start;
	const uint32_t v = tn_parse_value(p, "an input");
	for (uint32_t i = 0; i < g->n_in; i++)
		if (g->operands[g->in0 + i] == v) {
			tn_ir_mutates(p->ir, g->n_out - 1, i, kind);
			return;
		}
	tn_lex_fail(p->l, place, "only an input can be written");
}

static void outputs(struct tn_parser *p)
{
	while (p->l->kind == TN_T_VALUE) {
		const uint32_t v = tn_parse_value(p, "an output");
		const char *name = NULL;
		if (tn_lex_take_word(p->l, "as")) {
			if (p->l->kind != TN_T_TEXT)
				tn_lex_expected(p->l, "a quoted name");
			name = tn_lex_dup(p->l);
			tn_lex_next(p->l);
		}
		tn_ir_output(p->ir, name, v);
		while (tn_lex_is_word(p->l, "must") || tn_lex_is_word(p->l, "may"))
			writes(p, tn_lex_is_word(p->l, "must") ? TN_MUST_WRITE : TN_MAY_WRITE);
		if (!tn_lex_take(p->l, ','))
			return;
		if (p->l->kind != TN_T_VALUE)
			tn_lex_expected(p->l, "an output");
	}
}

static void body(struct tn_parser *p, const char *last)
{
	while (!tn_lex_take_word(p->l, last))
		if (tn_lex_take_word(p->l, "const"))
			tn_parse_constant(p);
		else
			statement(p);
	outputs(p);
	if (!tn_lex_is(p->l, '}'))
		tn_lex_expected(p->l, "'}'");
}

/* ---- graphs */
static struct tn_graph *region(struct tn_parser *p)
{
	struct tn_parser inner = { .l = p->l, .ir = tn_ir_create(p->ir->arena, NULL), .values = { .arena = p->ir->arena }, .weights = p->weights };
	tn_lex_enter(p->l);
	tn_lex_need(p->l, '{');
	const struct tn_lex header = *p->l;
	skip_parens(p->l);
	where(&inner);
	const struct tn_lex statements = *p->l;
	*p->l = header;
	inputs(&inner);
	*p->l = statements;
	p->l->depth = header.depth;
	body(&inner, "yield");
	tn_lex_next(p->l);
	p->l->depth--;
	return &inner.ir->g;
}

static void check_outputs(struct tn_parser *p, struct tn_lex *types)
{
	const struct tn_graph *g = &p->ir->g;
	const struct tn_lex after = *p->l;
	uint32_t n = 0;
	*p->l = *types;
	do {
		const size_t place = p->l->start;
		const struct tn_type t = tn_parse_type(p);
		if (n < g->n_out)
			tn_parse_check_type(p, &t, g->operands[g->out0 + n], place);
		n++;
	} while (tn_lex_take(p->l, ','));
	if (n != g->n_out)
		tn_lex_fail(p->l, types->start, "%u output types, and %u outputs", n, g->n_out);
	if (!tn_lex_is_word(p->l, "where") && !tn_lex_is(p->l, '{'))
		tn_lex_expected(p->l, "'where' or '{'");
	*p->l = after;
}

static void graph(struct tn_parser *p)
{
	const struct tn_lex header = *p->l;
	struct tn_lex types = { .diag = NULL };
	skip_parens(p->l);
	if (p->l->kind == TN_T_ARROW) {
		tn_lex_next(p->l);
		types = *p->l;
	}
	while (!tn_lex_is_word(p->l, "where") && !tn_lex_is(p->l, '{')) {
		if (p->l->kind == TN_T_END || types.diag == NULL)
			tn_lex_expected(p->l, "'->', 'where' or '{'");
		tn_lex_next(p->l);
	}
	where(p);
	const struct tn_lex statements = *p->l;
	*p->l = header;
	inputs(p);
	*p->l = statements;
	tn_lex_need(p->l, '{');
	body(p, "return");
	if (types.diag)
		check_outputs(p, &types);
	tn_lex_next(p->l);
}

struct tn_ir *tn_ir_parse_with(struct tn_arena *a, const char *text, size_t len, const char *file, const struct tn_weights *weights)
{
	struct tn_lex l = tn_lex_begin(a, file, text, len);
	struct tn_parser p = { .l = &l, .values = { .arena = a }, .weights = weights };
	if (!tn_lex_take_word(&l, "graph"))
		tn_lex_expected(&l, "graph");
	if (l.kind != TN_T_NAME)
		tn_lex_expected(&l, "the graph's name, as in @main");
	p.ir = tn_ir_create(a, tn_lex_dup(&l));
	tn_lex_next(&l);
	graph(&p);
	if (l.kind != TN_T_END)
		tn_lex_expected(&l, "the end");
	return p.ir;
}

struct tn_ir *tn_ir_parse(struct tn_arena *a, const char *text, size_t len, const char *file)
{
	return tn_ir_parse_with(a, text, len, file, NULL);
}
