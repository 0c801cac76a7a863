/* size_text.c - symbolic sizes as text: n*64 + 1, (n + 3) div 4, n mod 8, min(n, m, 7) */
#include "ir/lex.h"
#include "ir/store.h"
#include <string.h>

static const char *const reserved[] = { "div", "mod", "min", "max", "where", "shape", "rank", "except", "from", "count", "dim", "const", "return", "yield", "inf", "nan" };

int tn_is_word(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_' || (i > 0 && s[i] >= '0' && s[i] <= '9')))
			return 0;
	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
		if (strlen(reserved[i]) == len && memcmp(reserved[i], s, len) == 0)
			return 0;
	return len > 0;
}

/* ---- printing */
static void print_symbol(struct tn_text *t, const char *name)
{
	const size_t len = strlen(name);
	if (tn_is_word(name, len))
		tn_text_put(t, name, len);
	else
		tn_print_quoted(t, name, len);
}

static void print_all(struct tn_text *t, const struct tn_graph *g, uint32_t op, uint32_t size)
{
	const struct tn_size *r = &g->sizes.at[size];
	if (r->op != op) {
		tn_size_print(t, g, size);
		return;
	}
	print_all(t, g, op, r->a);
	tn_text_add(t, ", ");
	print_all(t, g, op, r->b);
}

/* an operand of * div mod */
static void print_factor(struct tn_text *t, const struct tn_graph *g, uint32_t size, int product_ok)
{
	const struct tn_size *r = &g->sizes.at[size];
	const int bare = r->op == TN_SIZE_SYM || r->op == TN_SIZE_MIN || r->op == TN_SIZE_MAX || (r->op == TN_SIZE_CONST && r->value >= 0) ||
		(r->op == TN_SIZE_MUL && product_ok);
	tn_text_add(t, bare ? "" : "(");
	tn_size_print(t, g, size);
	tn_text_add(t, bare ? "" : ")");
}

/* the second summand, with its sign; -k*x prints as " - x*k" */
static void print_plus(struct tn_text *t, const struct tn_graph *g, uint32_t size)
{
	const struct tn_size *r = &g->sizes.at[size];
	const struct tn_size *k = r->op == TN_SIZE_MUL ? &g->sizes.at[r->b] : r;
	if (k->op != TN_SIZE_CONST || k->value >= 0 || k->value == INT64_MIN) {
		tn_text_add(t, " + ");
		tn_size_print(t, g, size);
	} else if (r->op == TN_SIZE_CONST) {
		tn_text_add(t, " - %lld", (long long)-r->value);
	} else {
		tn_text_add(t, " - ");
		print_factor(t, g, r->a, 1);
		if (k->value != -1)
			tn_text_add(t, "*%lld", (long long)-k->value);
	}
}

void tn_size_print(struct tn_text *t, const struct tn_graph *g, uint32_t size)
{
	const struct tn_size *r = &g->sizes.at[size];
	switch (r->op) {
	case TN_SIZE_CONST:
		tn_text_add(t, "%lld", (long long)r->value);
		break;
	case TN_SIZE_SYM:
		print_symbol(t, tn_symbol_name(g, r->a));
		break;
	case TN_SIZE_ADD:
		tn_size_print(t, g, r->a);
		print_plus(t, g, r->b);
		break;
	case TN_SIZE_MIN:
	case TN_SIZE_MAX:
		tn_text_add(t, r->op == TN_SIZE_MIN ? "min(" : "max(");
		print_all(t, g, r->op, size);
		tn_text_add(t, ")");
		break;
	default:
		print_factor(t, g, r->a, r->op == TN_SIZE_MUL);
		tn_text_add(t, r->op == TN_SIZE_MUL ? "*" : r->op == TN_SIZE_DIV ? " div " : " mod ");
		if (r->op == TN_SIZE_MUL && g->sizes.at[r->b].op == TN_SIZE_CONST)
			tn_size_print(t, g, r->b);
		else
			print_factor(t, g, r->b, 0);
		break;
	}
}

/* ---- parsing */
static uint32_t parse_sum(struct tn_lex *l, struct tn_ir *ir);

static uint32_t parse_extremum(struct tn_lex *l, struct tn_ir *ir, uint32_t op)
{
	tn_lex_need(l, '(');
	uint32_t r = parse_sum(l, ir);
	while (tn_lex_take(l, ','))
		r = tn_size_op(ir, op, r, parse_sum(l, ir));
	tn_lex_need(l, ')');
	return r;
}

static uint32_t parse_atom(struct tn_lex *l, struct tn_ir *ir)
{
	uint32_t r;
	if (l->kind == TN_T_NUMBER)
		return tn_size_const(ir, tn_lex_int(l, "a size"));
	if (tn_lex_take(l, '(')) {
		r = parse_sum(l, ir);
		tn_lex_need(l, ')');
		return r;
	}
	if (tn_lex_take_word(l, "min"))
		return parse_extremum(l, ir, TN_SIZE_MIN);
	if (tn_lex_take_word(l, "max"))
		return parse_extremum(l, ir, TN_SIZE_MAX);
	if ((l->kind != TN_T_WORD || !tn_is_word(l->at, l->size)) && (l->kind != TN_T_TEXT || l->size == 0))
		tn_lex_expected(l, "a size");
	const char *name = tn_lex_dup(l);
	const uint64_t *known = tn_map_find(&ir->store->by_symbol, name, strlen(name));
	r = known ? (uint32_t)(*known - 1) : tn_size_sym(ir, name, 0, TN_SIZE_UNBOUNDED);
	tn_lex_next(l);
	return r;
}

static uint32_t parse_signed(struct tn_lex *l, struct tn_ir *ir)
{
	uint32_t r;
	tn_lex_enter(l);
	if (tn_lex_is(l, '-')) {
		const struct tn_lex here = *l;
		tn_lex_next(l);
		if (l->kind == TN_T_NUMBER) {  /* as one number: the least one has no positive counterpart */
			*l = here;
			r = tn_size_const(ir, tn_lex_int(l, "a size"));
		} else {
			r = tn_size_op(ir, TN_SIZE_MUL, parse_signed(l, ir), tn_size_const(ir, -1));
		}
	} else {
		r = parse_atom(l, ir);
	}
	l->depth--;
	return r;
}

static uint32_t parse_product(struct tn_lex *l, struct tn_ir *ir)
{
	uint32_t r = parse_signed(l, ir);
	for (;;) {
		const uint32_t op = tn_lex_is(l, '*') ? TN_SIZE_MUL : tn_lex_is_word(l, "div") ? TN_SIZE_DIV : tn_lex_is_word(l, "mod") ? TN_SIZE_MOD : 0;
		if (op == 0)
			return r;
		tn_lex_next(l);
		r = tn_size_op(ir, op, r, parse_signed(l, ir));
	}
}

static uint32_t parse_sum(struct tn_lex *l, struct tn_ir *ir)
{
	uint32_t r = parse_product(l, ir);
	for (;;) {
		if (tn_lex_take(l, '+'))
			r = tn_size_op(ir, TN_SIZE_ADD, r, parse_product(l, ir));
		else if (tn_lex_take(l, '-'))
			r = tn_size_op(ir, TN_SIZE_ADD, r, tn_size_op(ir, TN_SIZE_MUL, parse_product(l, ir), tn_size_const(ir, -1)));
		else
			return r;
	}
}

uint32_t tn_parse_size(struct tn_lex *l, struct tn_ir *ir)
{
	return parse_sum(l, ir);
}

uint32_t tn_size_parse(struct tn_ir *ir, const char *text)
{
	struct tn_lex l = tn_lex_begin(ir->arena, "size", text, strlen(text));
	const uint32_t r = parse_sum(&l, ir);
	if (l.kind != TN_T_END)
		tn_lex_expected(&l, "the end of the size");
	return r;
}
