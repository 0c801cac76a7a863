/* body_parse.c - ir/prims.tn into steps over slots, checked as far as that is possible without operands */
#include "ir/body.h"
#include "ir/lex.h"
#include "ir/store.h"
#include <string.h>

struct reader {
	struct tn_lex *l;
	struct tn_arena *a;
	struct tn_body *body;
	struct tn_map slots;       /* name -> 1 + slot */
	const struct tn_prim_info *prim;
	size_t start;              /* where the body's line begins to count */
};

static const struct tn_expr *sum(struct reader *r);

/* ---- expressions */
static struct tn_expr *node(struct reader *r, uint32_t op, const struct tn_expr *const *kids, uint32_t n)
{
	struct tn_expr *x = tn_new(r->a, struct tn_expr);
	x->op = op;
	x->n = n;
	x->kid = tn_copy_bytes(r->a, kids, n * sizeof *kids);
	return x;
}

static const struct tn_expr *two(struct reader *r, uint32_t op, const struct tn_expr *a, const struct tn_expr *b)
{
	return node(r, op, (const struct tn_expr *const[]){ a, b }, 2);
}

static uint32_t slot(struct reader *r)
{
	if (r->l->kind != TN_T_VALUE)
		tn_lex_expected(r->l, "a value");
	const uint64_t *at = tn_map_find(&r->slots, r->l->at, r->l->size);
	if (!at)
		tn_lex_expected(r->l, "a value that is defined before");
	tn_lex_next(r->l);
	return (uint32_t)(*at - 1);
}

static uint32_t new_slot(struct reader *r)
{
	if (r->l->kind != TN_T_VALUE)
		tn_lex_expected(r->l, "a value");
	uint64_t *at = tn_map_at(&r->slots, r->l->at, r->l->size);
	if (*at)
		tn_lex_expected(r->l, "a name that is not taken");
	*at = (uint64_t)++r->body->n_slots;
	tn_lex_next(r->l);
	return r->body->n_slots - 1;
}

/* name(%x) or name(%x, expression) */
static struct tn_expr *of_value(struct reader *r, uint32_t op, int more)
{
	const struct tn_expr *kid = NULL;
	tn_lex_need(r->l, '(');
	const uint32_t s = slot(r);
	if (more) {
		tn_lex_need(r->l, ',');
		kid = sum(r);
	}
	tn_lex_need(r->l, ')');
	struct tn_expr *x = node(r, op, &kid, (uint32_t)more);
	x->slot = s;
	return x;
}

static const struct tn_expr *shape(struct reader *r)
{
	const struct tn_expr *x = of_value(r, TN_X_SHAPE, 0);
	if (!tn_lex_take(r->l, '['))
		return x;
	const struct tn_expr *i = sum(r);
	if (r->l->kind == TN_T_DOT_DOT) {
		tn_lex_next(r->l);
		const struct tn_expr *end = sum(r);
		x = node(r, TN_X_SPAN, (const struct tn_expr *const[]){ x, i, end }, 3);
	} else {
		x = two(r, TN_X_AT, x, i);
	}
	tn_lex_need(r->l, ']');
	return x;
}

static const struct tn_expr *call(struct reader *r, uint32_t op, uint32_t least, uint32_t most)
{
	const struct tn_expr *kids[16];
	uint32_t n = 0;
	tn_lex_need(r->l, '(');
	do {
		if (n == most)
			tn_lex_expected(r->l, "')'");
		kids[n++] = sum(r);
	} while (tn_lex_take(r->l, ','));
	if (n < least)
		tn_lex_expected(r->l, "','");
	tn_lex_need(r->l, ')');
	if (op != TN_X_MIN && op != TN_X_MAX)
		return node(r, op, kids, n);
	const struct tn_expr *x = kids[0];
	for (uint32_t i = 1; i < n; i++)
		x = two(r, op, x, kids[i]);
	return x;
}

static const struct tn_expr *list(struct reader *r)
{
	const struct tn_expr **kids = NULL;
	uint32_t n = 0, cap = 0;
	while (!tn_lex_is(r->l, ']')) {
		const struct tn_expr *x = sum(r);
		*tn_push(r->a, kids, n, cap) = x;
		if (!tn_lex_take(r->l, ','))
			break;
	}
	tn_lex_need(r->l, ']');
	return node(r, TN_X_LIST, kids, n);
}

static const struct tn_expr *number(struct reader *r)
{
	struct tn_expr *x = node(r, TN_X_INT, NULL, 0);
	if (tn_lex_is_int(r->l)) {
		x->i = tn_lex_int(r->l, "a number");
	} else {
		x->op = TN_X_FLOAT;
		x->f = tn_lex_float(r->l, "a number");
	}
	return x;
}

/* T, a dtype, true, false, none, or an attribute of the primitive that is being defined */
static const struct tn_expr *word(struct reader *r)
{
	struct tn_expr *x = node(r, TN_X_INT, NULL, 0);
	const uint32_t dtype = tn_dtype_by_name(r->l->at, r->l->size), name = tn_attr_by_name(r->l->at, r->l->size);
	struct tn_spec s;
	if (tn_lex_is_word(r->l, "T")) {
		x->op = TN_X_T;
	} else if (tn_spec_find(r->prim, name, &s)) {
		x->op = TN_X_ATTR;
		x->slot = name;
	} else if (dtype != TN_NONE || tn_lex_is_word(r->l, "none")) {
		x->i = dtype;
	} else if (tn_lex_is_word(r->l, "true") || tn_lex_is_word(r->l, "false")) {
		x->i = tn_lex_is_word(r->l, "true");
	} else {
		tn_lex_expected(r->l, "an expression");
	}
	tn_lex_next(r->l);
	return x;
}

static const struct tn_expr *primary(struct reader *r)
{
	struct tn_lex *l = r->l;
	if (l->kind == TN_T_NUMBER || tn_lex_is_word(l, "inf") || tn_lex_is_word(l, "nan"))
		return number(r);
	if (l->kind == TN_T_TEXT) {
		struct tn_expr *x = node(r, TN_X_TEXT, NULL, 0);
		x->text = tn_lex_dup(l);
		tn_lex_next(l);
		return x;
	}
	if (tn_lex_take(l, '['))
		return list(r);
	if (tn_lex_take(l, '(')) {
		const struct tn_expr *x = sum(r);
		tn_lex_need(l, ')');
		return x;
	}
	if (tn_lex_take_word(l, "shape"))
		return tn_lex_is(l, '(') ? shape(r) : (tn_lex_expected(l, "'('"), NULL);
	if (tn_lex_take_word(l, "rank"))
		return of_value(r, TN_X_RANK, 0);
	if (tn_lex_take_word(l, "count"))
		return of_value(r, TN_X_COUNT, 1);
	if (tn_lex_take_word(l, "except"))
		return of_value(r, TN_X_EXCEPT, 1);
	if (tn_lex_take_word(l, "from"))
		return of_value(r, TN_X_FROM, 1);
	if (tn_lex_take_word(l, "range"))
		return call(r, TN_X_RANGE, 2, 2);
	if (tn_lex_take_word(l, "product"))
		return call(r, TN_X_PRODUCT, 1, 1);
	if (tn_lex_take_word(l, "min"))
		return call(r, TN_X_MIN, 2, 16);
	if (tn_lex_take_word(l, "max"))
		return call(r, TN_X_MAX, 2, 16);
	if (l->kind != TN_T_WORD)
		tn_lex_expected(l, "an expression");
	return word(r);
}

/* a minus before a number is part of it: -0.0, and the least integer */
static const struct tn_expr *factor(struct reader *r)
{
	const struct tn_expr *x;
	tn_lex_enter(r->l);
	if (tn_lex_is(r->l, '-')) {
		struct tn_lex ahead = *r->l;
		tn_lex_next(&ahead);
		if (ahead.kind == TN_T_NUMBER || tn_lex_is_word(&ahead, "inf") || tn_lex_is_word(&ahead, "nan")) {
			struct tn_expr *c = node(r, tn_lex_is_int(&ahead) ? TN_X_INT : TN_X_FLOAT, NULL, 0);
			if (c->op == TN_X_INT)
				c->i = tn_lex_int(r->l, "a number");
			else
				c->f = tn_lex_float(r->l, "a number");
			x = c;
		} else {
			tn_lex_next(r->l);
			struct tn_expr *minus = node(r, TN_X_INT, NULL, 0);
			minus->i = -1;
			x = two(r, TN_X_MUL, factor(r), minus);
		}
	} else {
		x = primary(r);
	}
	r->l->depth--;
	return x;
}

static const struct tn_expr *term(struct reader *r)
{
	const struct tn_expr *x = factor(r);
	for (;;) {
		const uint32_t op = tn_lex_is(r->l, '*') ? TN_X_MUL : tn_lex_is(r->l, '/') ? TN_X_OVER : tn_lex_is_word(r->l, "div") ? TN_X_DIV :
			tn_lex_is_word(r->l, "mod") ? TN_X_MOD : 0;
		if (op == 0)
			return x;
		tn_lex_next(r->l);
		x = two(r, op, x, factor(r));
	}
}

static const struct tn_expr *sum(struct reader *r)
{
	const struct tn_expr *x = term(r);
	for (;;) {
		const uint32_t op = tn_lex_is(r->l, '+') ? TN_X_ADD : tn_lex_is(r->l, '-') ? TN_X_SUB : 0;
		if (op == 0)
			return x;
		tn_lex_next(r->l);
		x = two(r, op, x, term(r));
	}
}

/* ---- statements */
static const struct tn_expr *operand(struct reader *r)
{
	if (r->l->kind != TN_T_VALUE)
		return sum(r);
	struct tn_expr *x = node(r, TN_X_VALUE, NULL, 0);
	x->slot = slot(r);
	return x;
}

/* an attribute of the statement's primitive, and '=' after it */
static uint32_t attr_ahead(const struct tn_lex *l, const struct tn_prim_info *p)
{
	struct tn_lex ahead = *l;
	struct tn_spec s;
	if (l->kind != TN_T_WORD)
		return TN_ATTR_NONE;
	const uint32_t name = tn_attr_by_name(l->at, l->size);
	tn_lex_next(&ahead);
	if (!tn_lex_is(&ahead, '='))
		return TN_ATTR_NONE;
	if (!tn_spec_find(p, name, &s))
		tn_lex_expected(l, "an attribute of the primitive");
	return name;
}

static void items(struct reader *r, const struct tn_prim_info *p, struct tn_step *s)
{
	const struct tn_expr **in = NULL;
	struct tn_body_attr *attrs = NULL;
	uint32_t cap_in = 0, cap_attrs = 0;
	do {
		const uint32_t name = attr_ahead(r->l, p);
		if (name == TN_ATTR_NONE) {
			const struct tn_expr *x = operand(r);
			*tn_push(r->a, in, s->n_in, cap_in) = x;
			continue;
		}
		tn_lex_next(r->l);
		tn_lex_need(r->l, '=');
		const struct tn_expr *x = sum(r);
		*tn_push(r->a, attrs, s->n_attrs, cap_attrs) = (struct tn_body_attr){ name, x };
	} while (tn_lex_take(r->l, ','));
	s->in = in;
	s->attrs = attrs;
}

static struct tn_step step(struct reader *r)
{
	struct tn_step s = { 0 };
	const struct tn_lex names = *r->l;
	s.line = r->body->line;        /* counted from the body's first, or the whole file would be read for every statement */
	for (size_t i = r->start; i < names.start; i++)
		s.line += names.text[i] == '\n';
	do {                                   /* results are defined after the operands are read */
		if (r->l->kind != TN_T_VALUE)
			tn_lex_expected(r->l, "a result, or 'return'");
		tn_lex_next(r->l);
		s.n_out++;
	} while (tn_lex_take(r->l, ','));
	tn_lex_need(r->l, '=');
	const struct tn_prim_info *p = r->l->kind == TN_T_WORD ? tn_prim_by_name(r->l->at, r->l->size) : NULL;
	if (p == NULL)
		tn_lex_expected(r->l, "a primitive");
	if (p->n_out != s.n_out)
		tn_lex_fail(r->l, r->l->start, "%s has %u results, and %u are named", p->name, p->n_out, s.n_out);
	tn_lex_next(r->l);
	s.prim = p->number;
	items(r, p, &s);
	const struct tn_lex after = *r->l;
	*r->l = names;
	s.out0 = r->body->n_slots;
	for (uint32_t i = 0; i < s.n_out; i++) {
		new_slot(r);
		tn_lex_take(r->l, ',');
	}
	*r->l = after;
	return s;
}

static void steps(struct reader *r)
{
	struct tn_step *all = NULL;
	uint32_t *out = NULL, n = 0, cap = 0, n_out = 0, cap_out = 0;
	while (!tn_lex_take_word(r->l, "return")) {
		const struct tn_step s = step(r);
		*tn_push(r->a, all, n, cap) = s;
	}
	do {
		const uint32_t s = slot(r);
		*tn_push(r->a, out, n_out, cap_out) = s;
	} while (tn_lex_take(r->l, ','));
	if (n_out != r->prim->n_out)
		tn_lex_fail(r->l, r->l->start, "%s has %u results, and %u are returned", r->prim->name, r->prim->n_out, n_out);
	r->body->steps = all;
	r->body->n_steps = n;
	r->body->out = out;
	r->body->n_out = n_out;
}

/* ---- heads */
static void params(struct reader *r)
{
	uint32_t *dtypes = NULL, n = 0, cap = 0;
	tn_lex_need(r->l, '(');
	while (r->l->kind == TN_T_VALUE) {
		new_slot(r);
		tn_lex_need(r->l, ':');
		const uint32_t d = r->l->kind == TN_T_WORD ? tn_dtype_by_name(r->l->at, r->l->size) : TN_NONE;
		if (d == TN_NONE && !tn_lex_is_word(r->l, "T"))
			tn_lex_expected(r->l, "T or a dtype");
		*tn_push(r->a, dtypes, n, cap) = d;
		tn_lex_next(r->l);
		if (!tn_lex_take(r->l, ','))
			break;
	}
	if (n < r->prim->n_in || n > r->prim->n_in + r->prim->n_opt)
		tn_lex_fail(r->l, r->l->start, "%s takes %u operands, its definition has %u", r->prim->name, r->prim->n_in, n);
	r->body->param_dtype = dtypes;
	r->body->n_params = n;
}

/* "; axis, epsilon = 1e-5": the names must be the row's; defaults are the row's, what stands here is for the reader */
static void attributes(struct reader *r)
{
	struct tn_spec s;
	if (tn_lex_take(r->l, ';'))
		do {
			if (r->l->kind != TN_T_WORD || !tn_spec_find(r->prim, tn_attr_by_name(r->l->at, r->l->size), &s))
				tn_lex_expected(r->l, "an attribute of the primitive");
			tn_lex_next(r->l);
			if (tn_lex_take(r->l, '='))
				sum(r);
		} while (tn_lex_take(r->l, ','));
	tn_lex_need(r->l, ')');
}

static void conditions(struct reader *r)
{
	struct tn_when *when = NULL;
	uint32_t cap = 0;
	struct tn_spec s;
	r->body->mask = ~UINT64_C(0);
	if (!tn_lex_take_word(r->l, "when"))
		return;
	do {
		if (tn_lex_take_word(r->l, "T")) {
			if (!tn_lex_take_word(r->l, "in"))
				tn_lex_expected(r->l, "in");
			r->body->mask = 0;
			do {
				const uint32_t d = r->l->kind == TN_T_WORD ? tn_dtype_by_name(r->l->at, r->l->size) : TN_NONE;
				if (d == TN_NONE)
					tn_lex_expected(r->l, "a dtype");
				r->body->mask |= TN_M(d);
				tn_lex_next(r->l);
			} while (tn_lex_take(r->l, ','));
			continue;
		}
		if (r->l->kind != TN_T_WORD || !tn_spec_find(r->prim, tn_attr_by_name(r->l->at, r->l->size), &s))
			tn_lex_expected(r->l, "T or an attribute of the primitive");
		struct tn_when w = { .attr = s.name };
		tn_lex_next(r->l);
		if (r->l->kind == TN_T_EQ2) {
			tn_lex_next(r->l);
		} else {
			w.differs = 1;
			if (r->l->kind != TN_T_NE)
				tn_lex_expected(r->l, "== or !=");
			tn_lex_next(r->l);
		}
		w.value = tn_lex_float(r->l, "a number");
		*tn_push(r->a, when, r->body->n_when, cap) = w;
	} while (tn_lex_take_word(r->l, "and"));
	r->body->when = when;
}

static struct tn_body *body(struct tn_arena *a, struct tn_lex *l)
{
	struct reader r = { .l = l, .a = a, .body = tn_new(a, struct tn_body), .slots = { .arena = a }, .start = l->start };
	uint32_t column;
	tn_lex_place(l, l->start, &r.body->line, &column);
	if (!tn_lex_take_word(l, "prim"))
		tn_lex_expected(l, "prim");
	r.prim = l->kind == TN_T_WORD ? tn_prim_by_name(l->at, l->size) : NULL;
	if (r.prim == NULL || r.prim->flags & (TN_ATOM | TN_HOST_OP | TN_BUILDER))
		tn_lex_expected(l, "a composite primitive of the table");
	tn_lex_next(l);
	r.body->prim = r.prim->number;
	params(&r);
	attributes(&r);
	conditions(&r);
	tn_lex_need(l, '{');
	steps(&r);
	tn_lex_need(l, '}');
	return r.body;
}

struct job { struct tn_arena *a; struct tn_lex *l; struct tn_body *result; };

static void body_f(void *arg)
{
	struct job *j = arg;
	j->result = body(j->a, j->l);
}

/* to what follows the definition that begins at start: definitions have no braces within */
static void skip(struct tn_lex *l, size_t start)
{
	const char *end = memchr(l->text + start, '}', l->len - start);
	l->pos = end ? (size_t)(end - l->text) + 1 : l->len;
	l->depth = 0;
	tn_lex_next(l);
}

/* One faulty definition does not take the others away. */
void tn_bodies_parse(struct tn_arena *a, const char *file, const char *text, size_t len, struct tn_bodies *out)
{
	struct tn_lex l = tn_lex_begin(a, file, text, len);
	struct tn_body *last[TN_PRIM_END] = { NULL };
	*out = (struct tn_bodies){ .fault = NULL };
	while (l.kind != TN_T_END) {
		const size_t start = l.start;
		struct job j = { a, &l, NULL };
		if (tn_protect(a->diag, body_f, &j) != TN_OK) {
			out->fault = out->fault ? out->fault : tn_strdup(a, a->diag->text);
			skip(&l, start);
			continue;
		}
		struct tn_body *b = j.result;
		if (last[b->prim])
			last[b->prim]->next = b;
		else
			out->of[b->prim] = b;
		last[b->prim] = b;
	}
}
