/* parse_value.c - the leaves of the IR's text: names, types, lists, numbers, attributes, constants */
#include "ir/parse_value.h"
#include <string.h>

enum { MAX_INLINE = 1 << 16 };
struct list { uint32_t *at, n, cap; };

/* ---- what a builder raises gets the place of the statement */
void tn_parse_guarded(struct tn_parser *p, size_t place, void (*f)(void *), void *arg)
{
	struct tn_diag *d = p->l->diag;
	if (tn_protect(d, f, arg) == TN_OK)
		return;
	if (d->code != TN_E_ARG && d->code != TN_E_RANGE)
		tn_raise(d, d->code, "%s", d->text);
	uint32_t line, column;
	tn_lex_place(p->l, place, &line, &column);
	tn_raise(d, d->code, "%s:%u:%u: %s", p->l->file, line, column, d->text);
}

/* ---- names of values */
static int is_number(const char *s)
{
	return s[strspn(s, "0123456789")] == 0;
}

void tn_parse_define(struct tn_parser *p, const char *name, uint32_t value, size_t place)
{
	uint64_t *at = tn_map_at(&p->values, name, strlen(name));
	if (*at)
		tn_lex_fail(p->l, place, "value %%%s is defined twice", name);
	*at = (uint64_t)value + 1;
	if (!is_number(name))
		tn_ir_name(p->ir, value, name);
}

uint32_t tn_parse_value(struct tn_parser *p, const char *what)
{
	if (p->l->kind != TN_T_VALUE)
		tn_lex_expected(p->l, what);
	const char *name = tn_lex_dup(p->l);
	const uint64_t *at = tn_map_find(&p->values, name, strlen(name));
	if (!at)
		tn_lex_fail(p->l, p->l->start, "expected %s, found %%%s, which is not defined before", what, name);
	tn_lex_next(p->l);
	return (uint32_t)(*at - 1);
}

/* ---- types and lists */
struct size_job { struct tn_parser *p; uint32_t r; };

static void size_f(void *arg)
{
	struct size_job *j = arg;
	j->r = tn_parse_size(j->p->l, j->p->ir);
}

static uint32_t size(struct tn_parser *p)
{
	struct size_job j = { p, 0 };
	struct tn_diag *d = p->l->diag;
	const size_t place = p->l->start;
	const size_t prefix = strlen(p->l->file);
	if (tn_protect(d, size_f, &j) == TN_OK)
		return j.r;
	if (strncmp(d->text, p->l->file, prefix) == 0 && d->text[prefix] == ':')       /* the parser's own words: they have a place */
		tn_raise(d, d->code, "%s", d->text);
	tn_lex_fail(p->l, place, "%s", d->text);
}

static struct list sizes(struct tn_parser *p)
{
	struct list s = { NULL, 0, 0 };
	tn_lex_need(p->l, '[');
	while (!tn_lex_is(p->l, ']')) {
		*tn_push(p->ir->arena, s.at, s.n, s.cap) = size(p);
		if (!tn_lex_take(p->l, ','))
			break;
	}
	tn_lex_need(p->l, ']');
	return s;
}

static uint32_t dtype(struct tn_parser *p)
{
	const uint32_t d = p->l->kind == TN_T_WORD ? tn_dtype_by_name(p->l->at, p->l->size) : TN_NONE;
	if (d == TN_NONE)
		tn_lex_expected(p->l, "a dtype");
	tn_lex_next(p->l);
	return d;
}

struct tn_type tn_parse_type(struct tn_parser *p)
{
	struct tn_type t = { .dtype = dtype(p) };
	const size_t place = p->l->start;
	const struct list s = sizes(p);
	if (s.n > TN_RANK_MAX)
		tn_lex_fail(p->l, place, "expected at most %d dims, found %u", TN_RANK_MAX, s.n);
	t.rank = s.n;
	for (uint32_t i = 0; i < s.n; i++)
		t.dims[i] = s.at[i];
	return t;
}

static void type_text(struct tn_parser *p, struct tn_text *t, const struct tn_type *x)
{
	tn_text_add(t, "%s", tn_dtype_name(x->dtype));
	tn_print_shape(t, &p->ir->g, x->dims, x->rank);
}

void tn_parse_check_type(struct tn_parser *p, const struct tn_type *want, uint32_t v, size_t place)
{
	const struct tn_graph *g = &p->ir->g;
	int ok = want->dtype == tn_val(g, v)->dtype && want->rank == tn_rank(g, v);
	for (uint32_t d = 0; ok && d < want->rank; d++)
		ok = tn_size_eq(p->ir, want->dims[d], tn_shape(g, v)[d]) == 1;
	if (ok)
		return;
	struct tn_text t = { .arena = p->ir->arena };
	type_text(p, &t, want);
	tn_lex_fail(p->l, place, "the type written is %s, and the value is %s", t.at, tn_value_text(p->ir->arena, g, v));
}

int tn_parse_starts_literal(const struct tn_lex *l)
{
	return l->kind == TN_T_NUMBER || tn_lex_is(l, '-') || tn_lex_is_word(l, "inf") || tn_lex_is_word(l, "nan") ||
		tn_lex_is_word(l, "true") || tn_lex_is_word(l, "false");
}

/* a whole number without point or exponent is an int */
struct tn_item tn_parse_literal(struct tn_parser *p)
{
	struct tn_item x = { .value = TN_NOTHING, .place = p->l->start };
	if (tn_lex_is_word(p->l, "true") || tn_lex_is_word(p->l, "false")) {
		x.i = tn_lex_is_word(p->l, "true");
		tn_lex_next(p->l);
		return x;
	}
	struct tn_lex ahead = *p->l;
	tn_lex_take(&ahead, '-');
	x.is_float = !tn_lex_is_int(&ahead);
	if (x.is_float)
		x.f = tn_lex_float(p->l, "a number");
	else
		x.i = tn_lex_int(p->l, "a number");
	return x;
}

static struct tn_attr_in int_list(struct tn_parser *p, uint32_t name)
{
	int64_t *at = NULL;
	uint32_t n = 0, cap = 0;
	tn_lex_need(p->l, '[');
	while (!tn_lex_is(p->l, ']')) {
		const int64_t v = tn_lex_int(p->l, "a number");
		*tn_push(p->ir->arena, at, n, cap) = v;
		if (!tn_lex_take(p->l, ','))
			break;
	}
	tn_lex_need(p->l, ']');
	return (struct tn_attr_in){ .name = name, .type = TN_ATTR_INTS, .list = at, .count = n };
}

struct tn_attr_in tn_parse_attribute(struct tn_parser *p, const struct tn_spec *s)
{
	struct tn_attr_in a = { .name = s->name, .type = TN_ATTR_INT };
	struct tn_item x;
	struct list z;
	switch (s->type) {
	case TN_SPEC_FLOAT:
		a.type = TN_ATTR_FLOAT;
		a.f = tn_lex_float(p->l, "a number");
		break;
	case TN_SPEC_NUMBER:
		if (!tn_parse_starts_literal(p->l))
			tn_lex_expected(p->l, "a number");
		x = tn_parse_literal(p);
		a.type = x.is_float ? TN_ATTR_FLOAT : TN_ATTR_INT;
		a.i = x.i;
		a.f = x.f;
		break;
	case TN_SPEC_INTS:
		return int_list(p, s->name);
	case TN_SPEC_SIZES:
		z = sizes(p);
		a.type = TN_ATTR_SIZES;
		a.list = z.at;
		a.count = z.n;
		break;
	case TN_SPEC_DTYPE:
		if (!tn_lex_take_word(p->l, "none"))
			a.i = dtype(p);
		break;
	case TN_SPEC_TEXT:
		if (p->l->kind != TN_T_TEXT)
			tn_lex_expected(p->l, "a quoted text");
		a.type = TN_ATTR_TEXT;
		a.list = tn_lex_dup(p->l);
		tn_lex_next(p->l);
		break;
	default:
		a.i = tn_lex_int(p->l, "a whole number");
		break;
	}
	return a;
}

/* ---- constants */
static uint64_t elements(struct tn_parser *p, const struct tn_type *t, int64_t *dims, size_t place)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < t->rank; i++) {
		dims[i] = tn_size_known(&p->ir->g, t->dims[i]);
		if (dims[i] < 0 || __builtin_mul_overflow(n, (uint64_t)dims[i], &n))
			tn_lex_fail(p->l, place, "dim %u of a constant is not a number that can be stored", i);
	}
	return n;
}

static uint32_t inline_constant(struct tn_parser *p, const struct tn_type *t, const int64_t *dims, uint64_t n, size_t place)
{
	if (!(TN_M(t->dtype) & TN_M_PLAIN) || n > MAX_INLINE)
		tn_lex_fail(p->l, place, "a constant of %llu elements of %s does not stand in the text", (unsigned long long)n, tn_dtype_name(t->dtype));
	const uint64_t bytes = n * tn_dtype_bytes(t->dtype);
	char *at = tn_arena_alloc(p->ir->arena, bytes + 64);
	at += (64 - (uintptr_t)at % 64) % 64;
	tn_lex_need(p->l, '{');
	for (uint64_t i = 0; i < n; i++) {
		if (i)
			tn_lex_need(p->l, ',');
		tn_parse_element(p->l, t->dtype, at, i);
	}
	tn_lex_need(p->l, '}');
	return tn_ir_constant(p->ir, NULL, t->dtype, t->rank, dims, at, bytes);
}

static uint32_t stored_constant(struct tn_parser *p, const struct tn_type *t, const int64_t *dims, uint64_t n, size_t place)
{
	const char *key = tn_lex_dup(p->l);
	if (p->weights == NULL)
		tn_lex_fail(p->l, place, "tensor \"%s\": there is no .safetensors file beside this text", key);
	const struct tn_weight *w = p->weights->find(p->weights->ctx, key);
	if (!w)
		tn_lex_fail(p->l, place, "tensor \"%s\" is not in the .safetensors file", key);
	const int raw = w->dtype == TN_NONE || (w->dtype == TN_U8 && w->rank == 1 && !(TN_M(t->dtype) & TN_M_PLAIN));   /* dtypes that the format has no name for */
	int same = raw || (w->dtype == t->dtype && w->rank == t->rank);
	for (uint32_t i = 0; same && !raw && i < t->rank; i++)
		same = w->dims[i] == dims[i];
	uint64_t bits;
	if (!same || __builtin_mul_overflow(n, (uint64_t)tn_dtype_bits(t->dtype), &bits) || bits / 8 + (bits % 8 != 0) != w->size)
		tn_lex_fail(p->l, place, "tensor \"%s\" of the .safetensors file has another dtype or shape: %s, %u dims, %llu bytes", key,
			tn_dtype_name(w->dtype), w->rank, (unsigned long long)w->size);
	tn_lex_next(p->l);
	return tn_ir_constant(p->ir, NULL, t->dtype, t->rank, dims, w->at, w->size);
}

void tn_parse_constant(struct tn_parser *p)
{
	const size_t place = p->l->start;
	int64_t dims[TN_RANK_MAX];
	if (p->l->kind != TN_T_VALUE)
		tn_lex_expected(p->l, "the constant's name");
	const char *name = tn_lex_dup(p->l);
	tn_lex_next(p->l);
	tn_lex_need(p->l, ':');
	const struct tn_type t = tn_parse_type(p);
	const uint64_t n = elements(p, &t, dims, place);
	tn_lex_need(p->l, '=');
	if (p->l->kind == TN_T_TEXT)
		tn_parse_define(p, name, stored_constant(p, &t, dims, n, place), place);
	else
		tn_parse_define(p, name, inline_constant(p, &t, dims, n, place), place);
}
