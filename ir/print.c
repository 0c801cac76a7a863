/* print.c - a graph as text that parses back to the same graph */
#include "ir/lex.h"
#include "ir/print.h"
#include "ir/store.h"
#include <stdio.h>
#include <string.h>

struct printer {
	struct tn_text *t;
	const struct tn_graph *g;
	uint32_t *number;          /* of each unnamed value, in the order in which they print */
	uint32_t n_number, tabs;
	uint32_t *n_regions;       /* regions printed so far, for the names of constants */
	uint32_t region;           /* this one's number, 0 for the graph */
};

/* ---- words */
void tn_print_quoted(struct tn_text *t, const char *s, size_t len)
{
	tn_text_put(t, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)s[i];
		if (c == '"' || c == '\\')
			tn_text_add(t, "\\%c", c);
		else if (c == '\n' || c == '\t')
			tn_text_add(t, "\\%c", c == '\n' ? 'n' : 't');
		else if (c < ' ' || c == 127)
			tn_text_add(t, "\\x%02x", c);
		else
			tn_text_put(t, s + i, 1);
	}
	tn_text_put(t, "\"", 1);
}

static int plain_name(const char *s)
{
	const size_t n = strlen(s);
	return n > 0 && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == n && s[0] != '.' && s[n - 1] != '.' && !strstr(s, "..");
}

static void print_name(struct tn_text *t, char mark, const char *s)
{
	tn_text_put(t, &mark, 1);
	if (plain_name(s))
		tn_text_put(t, s, strlen(s));
	else
		tn_print_quoted(t, s, strlen(s));
}

void tn_print_shape(struct tn_text *t, const struct tn_graph *g, const uint32_t *dims, uint32_t rank)
{
	tn_text_add(t, "[");
	for (uint32_t i = 0; i < rank; i++) {
		tn_text_add(t, i ? ", " : "");
		tn_size_print(t, g, dims[i]);
	}
	tn_text_add(t, "]");
}

static void print_type(struct tn_text *t, const struct tn_graph *g, uint32_t v)
{
	tn_text_add(t, "%s", tn_dtype_name(tn_val(g, v)->dtype));
	tn_print_shape(t, g, tn_shape(g, v), tn_rank(g, v));
}

/* how many unnamed values print before v: only for messages, where no printer has counted */
static uint32_t count_unnamed(const struct tn_graph *g, uint32_t v)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->n_in; i++) {
		const uint32_t in = g->operands[g->in0 + i];
		if (in == v)
			return n;
		n += tn_val(g, in)->name == TN_NOTHING;
	}
	for (uint32_t i = 0; i < v; i++) {
		const struct tn_value *x = tn_val(g, i);
		n += x->name == TN_NOTHING && (x->node != TN_NOTHING || x->constant != TN_NOTHING);
	}
	return n;
}

const char *tn_value_text(struct tn_arena *a, const struct tn_graph *g, uint32_t v)
{
	struct tn_text t = { .arena = a };
	const char *name = tn_str_at(g, tn_val(g, v)->name);
	if (*name)
		print_name(&t, '%', name);
	else
		tn_text_add(&t, "%%%u", count_unnamed(g, v));
	tn_text_add(&t, ": ");
	print_type(&t, g, v);
	return t.at;
}

const char *tn_node_text(struct tn_arena *a, const struct tn_graph *g, uint32_t node)
{
	const struct tn_node *n = &g->nodes.at[node];
	const char *origin = tn_str_at(g, n->origin);
	return tn_printf(a, "node %u, %s%s%s%s", node, tn_prim_name(n->prim), *origin ? " (" : "", origin, *origin ? ")" : "");
}

/* ---- values */
static void print_value(struct printer *p, uint32_t v)
{
	const char *name = tn_str_at(p->g, tn_val(p->g, v)->name);
	if (*name)
		print_name(p->t, '%', name);
	else
		tn_text_add(p->t, "%%%u", p->number[v]);
}

static void count_value(struct printer *p, uint32_t v)
{
	if (tn_val(p->g, v)->name == TN_NOTHING)
		p->number[v] = p->n_number++;
}

static void tabs(struct printer *p)
{
	for (uint32_t i = 0; i < p->tabs; i++)
		tn_text_add(p->t, "\t");
}

/* ---- constants */
int tn_constant_is_inline(const struct tn_graph *g, uint32_t value)
{
	const struct tn_value *v = tn_val(g, value);
	const uint32_t size = tn_dtype_bytes(v->dtype);
	return (TN_M(v->dtype) & TN_M_PLAIN) && g->constants.at[v->constant].size / size <= TN_INLINE_ELEMENTS;
}

const char *tn_constant_key(struct tn_arena *a, const struct tn_graph *g, uint32_t value, uint32_t region)
{
	const struct tn_value *v = tn_val(g, value);
	const char *in = region ? tn_printf(a, "r%u/", region) : "";
	return v->name != TN_NOTHING ? tn_printf(a, "%s%s", in, tn_str_at(g, v->name)) : tn_printf(a, "%s#%u", in, v->constant);
}

static void print_constant(struct printer *p, uint32_t value)
{
	const struct tn_value *v = tn_val(p->g, value);
	const struct tn_constant *c = &p->g->constants.at[v->constant];
	tabs(p);
	tn_text_add(p->t, "const ");
	print_value(p, value);
	tn_text_add(p->t, ": ");
	print_type(p->t, p->g, value);
	tn_text_add(p->t, " = ");
	if (tn_constant_is_inline(p->g, value)) {
		tn_text_add(p->t, "{");
		for (uint64_t i = 0; i < c->size / tn_dtype_bytes(v->dtype); i++) {
			tn_text_add(p->t, i ? ", " : "");
			tn_print_element(p->t, v->dtype, c->at, i);
		}
		tn_text_add(p->t, "}");
	} else {
		const char *key = tn_constant_key(p->t->arena, p->g, value, p->region);
		tn_print_quoted(p->t, key, strlen(key));
	}
	tn_text_add(p->t, "\n");
}

/* ---- nodes */
static void print_attr(struct printer *p, const struct tn_node *n, const struct tn_attr *a)
{
	const struct tn_graph *g = p->g;
	struct tn_spec s = { 0 };
	tn_spec_find(tn_prim_info(n->prim), a->name, &s);
	tn_text_add(p->t, "%s = ", tn_attr_name(a->name));
	switch (a->type) {
	case TN_ATTR_INT:
		if (s.type == TN_SPEC_DTYPE)
			tn_text_add(p->t, "%s", a->i == TN_NONE ? "none" : tn_dtype_name((uint32_t)a->i));
		else
			tn_text_add(p->t, "%lld", (long long)a->i);
		break;
	case TN_ATTR_FLOAT:
		tn_print_double(p->t, a->f);
		break;
	case TN_ATTR_INTS:
		tn_text_add(p->t, "[");
		for (uint32_t i = 0; i < a->count; i++)
			tn_text_add(p->t, "%s%lld", i ? ", " : "", (long long)g->ints[a->at + i]);
		tn_text_add(p->t, "]");
		break;
	case TN_ATTR_SIZES:
		tn_print_shape(p->t, g, g->dims + a->at, a->count);
		break;
	default:
		tn_print_quoted(p->t, g->bytes + a->at, a->count);
		break;
	}
}

static void print_graph(struct printer *p, const char *last);

static void print_region(struct printer *p, const struct tn_graph *r)
{
	struct printer inner = { .t = p->t, .g = r, .tabs = p->tabs + 1, .n_regions = p->n_regions, .region = ++*p->n_regions };
	tn_text_add(p->t, " {\n");
	tabs(&inner);
	print_graph(&inner, "yield");
	tabs(p);
	tn_text_add(p->t, "}");
}

/* results, with their types where regions decide them; a bind's is the symbol that it defines */
static void print_results(struct printer *p, const struct tn_node *n)
{
	if (n->prim == TN_bind) {
		const char *s = tn_symbol_name(p->g, (uint32_t)tn_attr_int(p->g, n, TN_ATTR_index, -1));
		if (tn_is_word(s, strlen(s)))
			tn_text_add(p->t, "%s = ", s);
		else {
			tn_print_quoted(p->t, s, strlen(s));
			tn_text_add(p->t, " = ");
		}
	}
	for (uint32_t i = 0; i < n->n_out; i++) {
		count_value(p, tn_out(p->g, n, i));
		tn_text_add(p->t, i ? ", " : "");
		print_value(p, tn_out(p->g, n, i));
		if (n->n_region) {
			tn_text_add(p->t, ": ");
			print_type(p->t, p->g, tn_out(p->g, n, i));
		}
	}
	tn_text_add(p->t, n->n_out ? " = " : "");
}

static void print_node(struct printer *p, const struct tn_node *n)
{
	const char *sep = " ";
	tabs(p);
	print_results(p, n);
	tn_text_add(p->t, "%s", tn_prim_name(n->prim));
	for (uint32_t i = 0; i < n->n_in; i++, sep = ", ") {
		tn_text_add(p->t, "%s", sep);
		print_value(p, tn_in(p->g, n, i));
	}
	for (uint32_t i = 0; i < n->n_attr; i++) {
		const struct tn_attr *a = &p->g->attrs.at[n->attr0 + i];
		if (n->prim == TN_bind && a->name == TN_ATTR_index)
			continue;
		tn_text_add(p->t, "%s", sep);
		print_attr(p, n, a);
		sep = ", ";
	}
	for (uint32_t i = 0; i < n->n_region; i++)
		print_region(p, p->g->regions[n->region0 + i]);
	if (n->origin != TN_NOTHING) {
		tn_text_add(p->t, " @ ");
		tn_print_quoted(p->t, tn_str_at(p->g, n->origin), strlen(tn_str_at(p->g, n->origin)));
	}
	tn_text_add(p->t, "\n");
}

/* ---- graphs */
static void print_inputs(struct printer *p)
{
	tn_text_add(p->t, "(");
	for (uint32_t i = 0; i < p->g->n_in; i++) {
		const uint32_t v = p->g->operands[p->g->in0 + i];
		count_value(p, v);
		tn_text_add(p->t, i ? ", " : "");
		print_value(p, v);
		tn_text_add(p->t, ": ");
		print_type(p->t, p->g, v);
	}
	tn_text_add(p->t, ")");
}

/* every symbol, so that a parsed graph numbers them alike: 0 <= n <= 4096, 0 <= m */
static void print_where(struct printer *p)
{
	const struct tn_graph *g = p->g;
	uint32_t n = 0;
	for (uint64_t i = 0; i < g->sizes.count; i++) {
		const struct tn_size *s = &g->sizes.at[i];
		if (s->op != TN_SIZE_SYM)
			continue;
		tn_text_add(p->t, n++ ? ", " : " where ");
		tn_text_add(p->t, "%lld <= ", (long long)s->lo);
		tn_size_print(p->t, g, (uint32_t)i);
		if (s->hi != TN_SIZE_UNBOUNDED)
			tn_text_add(p->t, " <= %lld", (long long)s->hi);
	}
}

static void print_outputs(struct printer *p, const char *word)
{
	const struct tn_graph *g = p->g;
	tabs(p);
	tn_text_add(p->t, "%s", word);
	for (uint32_t i = 0; i < g->n_out; i++) {
		tn_text_add(p->t, i ? ", " : " ");
		print_value(p, g->operands[g->out0 + i]);
		if (i < g->n_out_names && g->out_names[i] != TN_NOTHING) {
			tn_text_add(p->t, " as ");
			tn_print_quoted(p->t, tn_str_at(g, g->out_names[i]), strlen(tn_str_at(g, g->out_names[i])));
		}
		for (uint64_t m = 0; m < g->mutations.count; m++)
			if (g->mutations.at[m].output == i) {
				tn_text_add(p->t, g->mutations.at[m].kind == TN_MUST_WRITE ? " must write " : " may write ");
				print_value(p, g->operands[g->in0 + g->mutations.at[m].input]);
			}
	}
	tn_text_add(p->t, "\n");
}

/* header from the inputs on, then the statements; constants stand where their numbers are, so that a parsed graph has the same */
static void print_graph(struct printer *p, const char *last)
{
	const struct tn_graph *g = p->g;
	uint32_t value = 0;
	p->number = tn_array(p->t->arena, uint32_t, g->values.count);
	print_inputs(p);
	if (p->region == 0)
		for (uint32_t i = 0; i < g->n_out; i++) {
			tn_text_add(p->t, i ? ", " : " -> ");
			print_type(p->t, g, g->operands[g->out0 + i]);
		}
	print_where(p);
	tn_text_add(p->t, p->region ? "\n" : " {\n");
	for (uint64_t i = 0; i <= g->nodes.count; i++) {
		const struct tn_node *n = i < g->nodes.count ? &g->nodes.at[i] : NULL;
		const uint64_t end = n && n->n_out ? tn_out(g, n, 0) : n ? value : g->values.count;
		for (; value < end; value++)
			if (tn_val(g, value)->constant != TN_NOTHING) {
				count_value(p, value);
				print_constant(p, value);
			}
		if (n)
			print_node(p, n);
	}
	print_outputs(p, last);
}

void tn_ir_print(struct tn_text *t, const struct tn_graph *g)
{
	uint32_t n_regions = 0;
	struct printer p = { .t = t, .g = g, .n_regions = &n_regions };
	tn_text_add(t, "graph ");
	print_name(t, '@', *tn_str_at(g, g->name) ? tn_str_at(g, g->name) : "graph");
	p.tabs = 1;
	print_graph(&p, "return");
	tn_text_add(t, "}\n");
}
