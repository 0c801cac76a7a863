/* attr.c - attributes: what a row of the table asks for, checking and ordering them, reading them from a graph */
#include "ir/store.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the attrs column: "axis:int, keep:int=0, shape:sizes, alpha:float=0.01, batch:ints=[], dtype:dtype=none" */
static const char *const type_names[] = { "?", "int", "float", "number", "ints", "sizes", "dtype", "text" };

const char *tn_spec_type_name(uint32_t type)
{
	return type < sizeof type_names / sizeof *type_names ? type_names[type] : "?";
}

static uint32_t type_by_name(const char *s, size_t len)
{
	for (uint32_t i = 1; i < sizeof type_names / sizeof *type_names; i++)
		if (strncmp(type_names[i], s, len) == 0 && type_names[i][len] == 0)
			return i;
	return 0;
}

/* a decimal such as -0.5 or 1e-5 without strtod, whose point depends on the locale; exact for what the table holds */
static double decimal(const char *s, size_t len, int *is_float)
{
	double v = 0, scale = 1;
	int exponent = 0, minus = 0, after = 0;
	*is_float = 0;
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '-') {
			minus = 1;
		} else if (s[i] == '.') {
			after = *is_float = 1;
		} else if (s[i] == 'e') {
			exponent = atoi(s + i + 1);
			*is_float = 1;
			break;
		} else {
			v = v * 10 + (s[i] - '0');
			scale = after ? scale * 10 : scale;
		}
	}
	for (; exponent < 0; exponent++)
		scale *= 10;
	for (; exponent > 0; exponent--)
		v *= 10;
	return (minus ? -v : v) / scale;
}

const char *tn_spec_next(const char *at, struct tn_spec *s)
{
	if (at == NULL)
		return NULL;
	at += strspn(at, ", ");
	if (*at == 0)
		return NULL;
	*s = (struct tn_spec){ 0 };
	size_t len = strcspn(at, ":");
	s->name = tn_attr_by_name(at, len);
	at += len + (at[len] == ':');
	len = strcspn(at, "=,");
	s->type = type_by_name(at, len);
	at += len;
	if (*at != '=')
		return at;
	s->optional = 1;
	len = strcspn(++at, ",");
	if (*at != '[' && *at != 'n') {        /* not [] and not none */
		s->f = decimal(at, len, &s->is_float);
		s->i = s->is_float ? 0 : (int64_t)s->f;
	}
	s->is_float |= s->type == TN_SPEC_FLOAT;
	return at + len;
}

int tn_spec_find(const struct tn_prim_info *p, uint32_t name, struct tn_spec *s)
{
	for (const char *at = p->attrs; (at = tn_spec_next(at, s)) != NULL;)
		if (s->name == name)
			return 1;
	return 0;
}

/* ---- checking */
static const char *given_name(const struct tn_attr_in *a)
{
	static const char *const names[] = { "?", "an int", "a float", "a list of numbers", "a list of sizes", "a text" };
	return a->type <= TN_ATTR_TEXT ? names[a->type] : "?";
}

/* brings a to the type that the specification has, when it can stand for it */
static int coerce(const struct tn_infer *f, const struct tn_spec *s, struct tn_attr_in *a)
{
	switch (s->type) {
	case TN_SPEC_FLOAT:
		if (a->type == TN_ATTR_INT) {
			a->f = (double)a->i;
			a->type = TN_ATTR_FLOAT;
		}
		return a->type == TN_ATTR_FLOAT;
	case TN_SPEC_NUMBER:
		return a->type == TN_ATTR_INT || a->type == TN_ATTR_FLOAT;
	case TN_SPEC_INTS:
		return a->type == TN_ATTR_INTS;
	case TN_SPEC_SIZES:
		if (a->type == TN_ATTR_INTS) {
			uint32_t *sizes = tn_array(f->ir->arena, uint32_t, a->count);
			for (uint32_t i = 0; i < a->count; i++)
				sizes[i] = tn_size_const(f->ir, ((const int64_t *)a->list)[i]);
			a->list = sizes;
			a->type = TN_ATTR_SIZES;
		}
		return a->type == TN_ATTR_SIZES;
	case TN_SPEC_DTYPE:
		return a->type == TN_ATTR_INT && ((a->i > TN_NONE && a->i < TN_DTYPE_END) || (a->i == TN_NONE && s->optional));
	case TN_SPEC_TEXT:
		return a->type == TN_ATTR_TEXT && a->list != NULL;
	default:
		return a->type == TN_ATTR_INT;
	}
}

static int is_default(const struct tn_spec *s, const struct tn_attr_in *a)
{
	if (!s->optional)
		return 0;
	switch (a->type) {
	case TN_ATTR_INT: return !s->is_float && a->i == s->i;
	case TN_ATTR_FLOAT: return s->is_float && a->f == s->f && signbit(a->f) == signbit(s->f);
	case TN_ATTR_INTS:
	case TN_ATTR_SIZES: return a->count == 0;
	default: return 0;
	}
}

static void check_known(const struct tn_infer *f)
{
	for (uint32_t i = 0; i < f->n->n_attrs; i++) {
		struct tn_spec s;
		const struct tn_attr_in *a = &f->n->attrs[i];
		if (!tn_spec_find(f->p, a->name, &s))
			tn_infer_fail(f, "there is no attribute '%s' (%u); the row has: %s", tn_attr_name(a->name), a->name, f->p->attrs ? f->p->attrs : "none");
		for (uint32_t j = 0; j < i; j++)
			if (f->n->attrs[j].name == a->name)
				tn_infer_fail(f, "attribute '%s' is given twice", tn_attr_name(a->name));
		if ((a->type == TN_ATTR_INTS || a->type == TN_ATTR_SIZES) && a->count > 0 && a->list == NULL)
			tn_infer_fail(f, "attribute '%s' has %u elements at NULL", tn_attr_name(a->name), a->count);
		for (uint32_t j = 0; a->type == TN_ATTR_SIZES && j < a->count; j++)
			if (((const uint32_t *)a->list)[j] >= f->ir->g.sizes.count)
				tn_infer_fail(f, "attribute '%s' names size %u of %llu", tn_attr_name(a->name), ((const uint32_t *)a->list)[j],
					(unsigned long long)f->ir->g.sizes.count);
	}
}

/* as the dtype holds it: 0xffffffff is -1 in i32 */
static int64_t wrapped(int64_t v, uint32_t dtype)
{
	const uint32_t bits = tn_dtype_bits(dtype);
	const uint64_t top = (uint64_t)v << (64 - bits);
	return TN_M(dtype) & TN_M_SINT ? (int64_t)top >> (64 - bits) : (int64_t)(top >> (64 - bits));
}

/* A full's value is an int for ints and bool and a float for floats, whatever it was given as: one node, one spelling. */
static void normal_value(const struct tn_infer *f, struct tn_attr_in *a)
{
	const struct tn_attr_in *d = tn_infer_attr(f, TN_ATTR_dtype);
	if (f->p->number != TN_full || a->name != TN_ATTR_value || d == NULL || d->type != TN_ATTR_INT || d->i <= 0 || d->i >= TN_DTYPE_END)
		return;
	if ((TN_M(d->i) & (TN_M_INT | TN_M(TN_BOOL))) && a->type == TN_ATTR_FLOAT) {
		if (!(a->f >= -0x1p63 && a->f < 0x1p64 && floor(a->f) == a->f))
			tn_infer_fail(f, "value %g is not a whole number, and the dtype is %s", a->f, tn_dtype_name((uint32_t)d->i));
		a->i = a->f < 0x1p63 ? (int64_t)a->f : (int64_t)(uint64_t)a->f;
		a->type = TN_ATTR_INT;
	} else if (!(TN_M(d->i) & (TN_M_INT | TN_M(TN_BOOL))) && a->type == TN_ATTR_INT) {
		a->f = (double)a->i;
		a->type = TN_ATTR_FLOAT;
	}
	if (a->type == TN_ATTR_INT)
		a->i = d->i == TN_BOOL ? a->i != 0 : wrapped(a->i, (uint32_t)d->i);
}

/* Attributes end in the order of the row, without those that equal their default: equal nodes are then equal row by row. */
void tn_infer_attrs(struct tn_infer *f, struct tn_node_in *normal)
{
	struct tn_attr_in *out = tn_array(f->ir->arena, struct tn_attr_in, f->n->n_attrs);
	struct tn_spec s;
	uint32_t n = 0;
	check_known(f);
	for (const char *at = f->p->attrs; (at = tn_spec_next(at, &s)) != NULL;) {
		const struct tn_attr_in *a = tn_infer_attr(f, s.name);
		if (a == NULL && !s.optional)
			tn_infer_fail(f, "attribute '%s' is missing; the row has: %s", tn_attr_name(s.name), f->p->attrs);
		if (a == NULL)
			continue;
		out[n] = *a;
		if (!coerce(f, &s, &out[n]))
			tn_infer_fail(f, "attribute '%s' must be of type %s, and is %s", tn_attr_name(s.name), tn_spec_type_name(s.type), given_name(a));
		normal_value(f, &out[n]);
		n += !is_default(&s, &out[n]);
	}
	normal->attrs = out;
	normal->n_attrs = n;
}

const struct tn_attr_in *tn_infer_attr(const struct tn_infer *f, uint32_t name)
{
	for (uint32_t i = 0; i < f->n->n_attrs; i++)
		if (f->n->attrs[i].name == name)
			return &f->n->attrs[i];
	return NULL;
}

int64_t tn_infer_int(const struct tn_infer *f, uint32_t name, int64_t otherwise)
{
	const struct tn_attr_in *a = tn_infer_attr(f, name);
	return a && a->type == TN_ATTR_INT ? a->i : otherwise;
}

const int64_t *tn_infer_ints(const struct tn_infer *f, uint32_t name, uint32_t *count)
{
	const struct tn_attr_in *a = tn_infer_attr(f, name);
	*count = a && a->type == TN_ATTR_INTS ? a->count : 0;
	return *count ? a->list : NULL;
}

const uint32_t *tn_infer_sizes(const struct tn_infer *f, uint32_t name, uint32_t *count)
{
	const struct tn_attr_in *a = tn_infer_attr(f, name);
	*count = a && a->type == TN_ATTR_SIZES ? a->count : 0;
	return *count ? a->list : NULL;
}

/* ---- reading from a graph */
const struct tn_attr *tn_attr_find(const struct tn_graph *g, const struct tn_node *n, uint32_t name)
{
	for (uint32_t i = 0; i < n->n_attr; i++)
		if (g->attrs.at[n->attr0 + i].name == name)
			return &g->attrs.at[n->attr0 + i];
	return NULL;
}

int64_t tn_attr_int(const struct tn_graph *g, const struct tn_node *n, uint32_t name, int64_t otherwise)
{
	const struct tn_attr *a = tn_attr_find(g, n, name);
	if (a == NULL)
		return otherwise;
	if (a->type == TN_ATTR_INT)
		return a->i;
	return a->type == TN_ATTR_INTS && a->count == 1 ? g->ints[a->at] : otherwise;
}

double tn_attr_float(const struct tn_graph *g, const struct tn_node *n, uint32_t name, double otherwise)
{
	const struct tn_attr *a = tn_attr_find(g, n, name);
	if (a == NULL)
		return otherwise;
	return a->type == TN_ATTR_FLOAT ? a->f : a->type == TN_ATTR_INT ? (double)a->i : otherwise;
}

const int64_t *tn_attr_ints(const struct tn_graph *g, const struct tn_node *n, uint32_t name, uint32_t *count)
{
	const struct tn_attr *a = tn_attr_find(g, n, name);
	*count = a && a->type == TN_ATTR_INTS ? a->count : 0;
	return *count ? g->ints + a->at : NULL;
}

const uint32_t *tn_attr_sizes(const struct tn_graph *g, const struct tn_node *n, uint32_t name, uint32_t *count)
{
	const struct tn_attr *a = tn_attr_find(g, n, name);
	*count = a && a->type == TN_ATTR_SIZES ? a->count : 0;
	return *count ? g->dims + a->at : NULL;
}
