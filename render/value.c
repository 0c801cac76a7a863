/* value.c - statements of a nest's steps at given coordinates
 *
 * A step is emitted when something asks for it, once in each block, scalar when nothing of it varies along the lanes.  Values of
 * earlier phases are found when they were reduced or kept, else computed again: they are pure. */
#include "render/inner.h"
#include <string.h>

static uint64_t axis_mask(const struct tn_nest *n, uint32_t axis)
{
	uint64_t mask = 0;
	for (uint64_t i = 0; i < n->dims.count; i++)
		if (n->dims.at[i].axis == axis)
			mask |= UINT64_C(1) << i;
	return mask;
}

static uint64_t step_deps(struct rd *r, const struct tn_step *s)
{
	uint64_t deps = 0;
	switch (s->op) {
	case TN_STEP_DIM:
		return UINT64_C(1) << s->a;
	case TN_STEP_LOAD:
		return rd_access_deps(r, s->a);
	case TN_STEP_STORE:
	case TN_STEP_UPDATE:
		return rd_access_deps(r, s->a) | r->deps[s->b];
	case TN_STEP_PRIM:
		for (uint32_t i = 0; i < s->n_args; i++)
			deps |= r->deps[r->n->args[s->arg0 + i]];
		return deps;
	case TN_STEP_REDUCE:
		return r->deps[s->b] & ~axis_mask(r->n, TN_AXIS_RED);
	case TN_STEP_DOT:
		return axis_mask(r->n, TN_AXIS_BATCH) | axis_mask(r->n, TN_AXIS_M) | axis_mask(r->n, TN_AXIS_N);
	case TN_STEP_CUMULATE:
		return r->deps[s->b] | axis_mask(r->n, TN_AXIS_SEQ);
	}
	return 0;
}

void rd_depend(struct rd *r)
{
	uint32_t n = (uint32_t)r->n->steps.count;
	r->deps = tn_array(r->arena, uint64_t, n);
	r->phase_of = tn_array(r->arena, uint32_t, n);
	r->keeps = tn_array(r->arena, uint32_t, n);
	for (uint32_t p = 0; p < r->n->phases.count; p++)
		for (uint32_t i = 0; i < r->n->phases.at[p].n_steps; i++)
			r->phase_of[r->n->phases.at[p].step0 + i] = p;
	for (uint32_t i = 0; i < n; i++) {
		r->deps[i] = step_deps(r, &r->n->steps.at[i]);
		if (r->n->steps.at[i].flags & TN_STEP_KEEP)
			r->keeps[r->n_keeps++] = i;
	}
}

uint32_t rd_form(const struct rd *r, uint32_t step)
{
	return r->env.lane >= 0 && r->deps[step] >> r->env.lane & 1 ? TN_VECTOR : TN_SCALAR;
}

/* ---- primitives */
static void attr_names(struct rd *r, const struct tn_step *s, struct rd_name *names, uint32_t *n, uint32_t cap)
{
	static const char *const attr[] = {
#define TN_ATTR(name, number) [number] = #name,
#include <tenon/attrs.def>
#undef TN_ATTR
	};
	for (uint32_t i = 0; s && i < s->n_attrs && *n < cap; i++) {
		const struct tn_attr *a = &r->n->attrs.at[s->attr0 + i];
		const char *text = NULL;
		if (a->name >= sizeof attr / sizeof *attr || !attr[a->name])
			continue;
		if (a->type == TN_ATTR_INT)
			text = tn_printf(r->arena, "%lld", (long long)a->i);
		else if (a->type == TN_ATTR_FLOAT)
			text = rd_expand(r, rd_word(r, "literal", TN_SCALAR, s->dtype), RD_NAMES({ "value", tn_printf(r->arena, "%a", a->f) }), "literal");
		if (text)
			names[(*n)++] = (struct rd_name){ tn_printf(r->arena, "attr(%s)", attr[a->name]), text };
	}
}

static uint32_t apply_names(struct rd *r, const struct rd_name **out, uint32_t form, const uint32_t *in, uint32_t result,
	const char *const *args, uint32_t n, const struct tn_step *s)
{
	uint32_t cap = 2 * n + 24, k = 0;
	struct rd_name *names = tn_array(r->arena, struct rd_name, cap);
	names[k++] = (struct rd_name){ "T", rd_type(r, form, result) };
	for (uint32_t i = 0; i < n; i++) {
		names[k++] = (struct rd_name){ tn_printf(r->arena, "%u", i), args[i] };
		names[k++] = (struct rd_name){ tn_printf(r->arena, "T%u", i), rd_type(r, form, in[i]) };
	}
	attr_names(r, s, names, &k, cap - 1);
	*out = names;
	return k;
}

static const char *row_value(struct rd *r, const struct tn_dialect_row *row, uint32_t form, const struct rd_name *names, uint32_t n, uint32_t out)
{
	if (!strstr(row->text, "@r@"))
		return rd_let(r, form, out, rd_expand(r, row->text, names, n, rd_prim_name(row->prim)));
	const char *name = rd_fresh(r, "v");
	rd_line(r, "%s", rd_expand(r, rd_word(r, "declare", form, out), RD_NAMES({ "T", rd_type(r, form, out) }, { "r", name }), "declare"));
	struct rd_name *more = tn_array(r->arena, struct rd_name, n + 1);
	memcpy(more, names, n * sizeof *names);
	more[n] = (struct rd_name){ "r", name };
	rd_line(r, "%s", rd_expand(r, row->text, more, n + 1, rd_prim_name(row->prim)));
	return name;
}

const char *rd_lane_of(struct rd *r, uint32_t dtype, const char *vector)
{
	return rd_expand(r, rd_word(r, "lane", 0, dtype), RD_NAMES({ "0", vector }), "lane");
}

/* no vector spelling: the scalar one, lane by lane */
static const char *lanewise(struct rd *r, const struct tn_dialect_row *row, const uint32_t *in, uint32_t result, const char *const *args, uint32_t n,
	const struct tn_step *s)
{
	const char **lanes = tn_array(r->arena, const char *, n);
	const char *name = rd_fresh(r, "v");
	rd_line(r, "%s", rd_expand(r, rd_word(r, "declare", TN_VECTOR, result), RD_NAMES({ "T", rd_type(r, TN_VECTOR, result) }, { "r", name }), "declare"));
	rd_line(r, "%s", rd_expand(r, rd_word(r, "lane.loop", 0, 0), RD_NAMES({ "n", rd_word(r, "lanes", 0, 0) }), "lane.loop"));
	for (uint32_t i = 0; i < n; i++)
		lanes[i] = rd_lane_of(r, in[i], args[i]);
	const struct rd_name *names;
	uint32_t k = apply_names(r, &names, TN_SCALAR, in, result, lanes, n, s);
	const char *x = row_value(r, row, TN_SCALAR, names, k, result);
	rd_line(r, "%s", rd_expand(r, rd_word(r, "lane.set", 0, result), RD_NAMES({ "r", name }, { "x", x }), "lane.set"));
	rd_line(r, "%s", rd_word(r, "lane.end", 0, 0));
	return name;
}

static const char *apply(struct rd *r, uint32_t prim, uint32_t form, const uint32_t *in, uint32_t result, const char *const *args, uint32_t n,
	const struct tn_step *s)
{
	uint32_t first = 0;                  /* rows are found by the first operand that is not a truth */
	while (first + 1 < n && in[first] == TN_BOOL)
		first++;
	uint32_t key = n ? in[first] : result;
	const struct tn_dialect_row *row = rd_spell(r->b, r->d, prim, form, key, result);
	if (!row && form == TN_VECTOR) {
		row = rd_spell(r->b, r->d, prim, TN_SCALAR, key, result);
		if (row && rd_word_find(r->b, "lane.loop", 0, 0))
			return lanewise(r, row, in, result, args, n, s);
	}
	if (!row)
		rd_fault(r, TN_E_UNSUPPORTED, "no dialect row for %s %s -> %s %s", rd_prim_name(prim), rd_dtype_name(key), rd_dtype_name(result),
			form == TN_SCALAR ? "scalar" : form == TN_VECTOR ? "vector" : "block");
	const struct rd_name *names;
	uint32_t k = apply_names(r, &names, form, in, result, args, n, s);
	return row_value(r, row, form, names, k, result);
}

const char *rd_apply(struct rd *r, uint32_t prim, uint32_t form, uint32_t in, uint32_t out, const char *const *args, uint32_t n, const struct tn_step *s)
{
	uint32_t *all = tn_array(r->arena, uint32_t, n ? n : 1);
	for (uint32_t i = 0; i < n; i++)
		all[i] = in;
	return apply(r, prim, form, all, out, args, n, s);
}

static const char *prim_value(struct rd *r, const struct tn_step *s, uint32_t form)
{
	const char **args = tn_array(r->arena, const char *, s->n_args ? s->n_args : 1);
	uint32_t *in = tn_array(r->arena, uint32_t, s->n_args ? s->n_args : 1);
	for (uint32_t i = 0; i < s->n_args; i++) {
		uint32_t arg = r->n->args[s->arg0 + i];
		in[i] = r->n->steps.at[arg].dtype;
		args[i] = rd_value(r, arg, form);
	}
	return apply(r, s->prim, form, in, s->dtype, args, s->n_args, s);
}

/* ---- values */
static const char *dim_value(struct rd *r, uint32_t dim, uint32_t form)
{
	const char *at = r->env.dim[dim];
	if (!at)
		rd_fault(r, TN_E_ARG, "the coordinate of dim %u (of axis %u) is not bound here", dim, r->n->dims.at[dim].axis);
	if (form == TN_SCALAR)
		return rd_expand(r, rd_word(r, "index", TN_SCALAR, 0), RD_NAMES({ "0", at }), "index");
	return rd_let(r, form, TN_I64, rd_expand(r, rd_word(r, "iota", form, TN_I64), RD_NAMES({ "0", at }, { "T", rd_type(r, form, TN_I64) }), "iota"));
}

static const char *compute(struct rd *r, uint32_t step, uint32_t form)
{
	const struct tn_step *s = &r->n->steps.at[step];
	if (r->env.reuse && r->phase_of[step] < r->env.phase && form == TN_VECTOR && rd_keep_slot(r, step) != TN_NOTHING)
		return rd_keep_load(r, step);
	switch (s->op) {
	case TN_STEP_CONST:
		return rd_literal(r, s->dtype, s->bits);
	case TN_STEP_SIZE:
		return rd_expand(r, rd_word(r, "index", TN_SCALAR, 0), RD_NAMES({ "0", rd_size(r, s->a) }), "index");
	case TN_STEP_DIM:
		return dim_value(r, s->a, form);
	case TN_STEP_LOAD:
		return rd_load(r, step, form);
	case TN_STEP_PRIM:
		return prim_value(r, s, form);
	case TN_STEP_CUMULATE:
		return rd_cumulate(r, step, form);
	}
	rd_fault(r, TN_E_ARG, "step %u (operation %u of phase %u) has no value here", step, s->op, r->phase_of[step]);
}

const char *rd_value(struct rd *r, uint32_t step, uint32_t form)
{
	const char **slot = form == TN_VECTOR ? r->env.vector : r->env.scalar;
	uint32_t natural = rd_form(r, step);
	uint32_t dtype = r->n->steps.at[step].dtype;
	if (slot[step])
		return slot[step];
	if (form == TN_SCALAR && natural == TN_VECTOR) {
		if (!r->in_lanes)
			rd_fault(r, TN_E_INTERNAL, "step %u varies along the lanes and is asked for as a scalar", step);
		return rd_lane_of(r, dtype, rd_value(r, step, TN_VECTOR));
	}
	if (form == TN_VECTOR && natural == TN_SCALAR)
		return slot[step] = rd_let(r, form, dtype, rd_expand(r, rd_word(r, "splat", form, dtype),
			RD_NAMES({ "0", rd_value(r, step, TN_SCALAR) }, { "T", rd_type(r, form, dtype) }), "splat"));
	return slot[step] = compute(r, step, form);
}

/* ---- phases */
static bool bound_dims(const struct rd *r, uint64_t deps)
{
	for (uint32_t i = 0; i < r->n->dims.count; i++)
		if (deps >> i & 1 && !r->env.dim[i])
			return false;
	return true;
}

static bool available(struct rd *r, uint32_t step);

static bool access_available(struct rd *r, uint32_t access)
{
	const struct tn_access *a = &r->n->accesses.at[access];
	for (uint32_t i = 0; i < a->n_terms + a->n_bounds; i++) {
		uint32_t lin = i < a->n_terms ? r->n->terms.at[a->term0 + i].lin : r->n->bounds.at[a->bound0 + i - a->n_terms].lin;
		const struct tn_linear *row = &r->n->linears.at[lin];
		for (uint32_t k = 0; k < row->n_parts; k++)
			if (r->n->parts.at[row->part0 + k].step && !available(r, r->n->parts.at[row->part0 + k].index))
				return false;
	}
	return true;
}

/* could be computed now, from what is bound */
static bool available(struct rd *r, uint32_t step)
{
	const struct tn_step *s = &r->n->steps.at[step];
	if (r->env.scalar[step])
		return true;
	if (!bound_dims(r, r->deps[step]))
		return false;
	if (s->op == TN_STEP_LOAD)
		return !r->n->buffers.at[r->n->accesses.at[s->a].buffer].layout && access_available(r, s->a);
	if (s->op == TN_STEP_PRIM) {
		for (uint32_t i = 0; i < s->n_args; i++)
			if (!available(r, r->n->args[s->arg0 + i]))
				return false;
		return true;
	}
	return s->op == TN_STEP_CONST || s->op == TN_STEP_DIM || s->op == TN_STEP_SIZE;
}

static const struct tn_nest_phase *phase_at(struct rd *r, uint32_t phase)
{
	if (phase >= r->n->phases.count)
		rd_fault(r, TN_E_ARG, "the nest has %llu phases; %u was asked for", (unsigned long long)r->n->phases.count, phase);
	return &r->n->phases.at[phase];
}

void rd_uniform(struct rd *r, uint32_t phase)
{
	const struct tn_nest_phase *p = phase_at(r, phase);
	for (uint32_t i = p->step0; i < p->step0 + p->n_steps; i++) {
		uint32_t op = r->n->steps.at[i].op;
		if ((op == TN_STEP_LOAD || op == TN_STEP_PRIM) && rd_form(r, i) == TN_SCALAR && available(r, i))
			rd_value(r, i, TN_SCALAR);
	}
}

void rd_body(struct rd *r, uint32_t phase)
{
	const struct tn_nest_phase *p = phase_at(r, phase);
	uint32_t end = p->step0 + p->n_steps;
	r->env.phase = phase;
	for (uint32_t i = p->step0; i < end; i++) {       /* first everything that reads, then what writes: outputs may lie over inputs */
		const struct tn_step *s = &r->n->steps.at[i];
		if (s->op == TN_STEP_STORE || s->op == TN_STEP_UPDATE)
			rd_value(r, s->b, rd_form(r, s->b));
		else if (s->op == TN_STEP_REDUCE)
			rd_reduce(r, i);
		else if (s->op == TN_STEP_CUMULATE)
			rd_value(r, i, rd_form(r, i));
	}
	rd_keep_store(r, phase);
	for (uint32_t i = p->step0; i < end; i++)
		if (r->n->steps.at[i].op == TN_STEP_STORE || r->n->steps.at[i].op == TN_STEP_UPDATE)
			rd_store(r, i);
}

/* ---- coordinates */
static bool is_name(const char *s)
{
	for (; *s; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
			return false;
	return true;
}

/* the flat coordinate expr along an axis becomes coordinates of its dims, last dim fastest */
void rd_bind_dims(struct rd *r, struct rd_axis x, const char *expr, bool vector, const char *n)
{
	uint32_t first, count;
	rd_axis_dims(r->n, x, &first, &count);
	for (uint32_t i = 0; i < r->n->steps.count; i++)      /* values at the coordinates that were */
		for (uint32_t k = 0; k < count; k++)
			if (r->deps[i] >> (first + k) & 1)
				r->env.scalar[i] = r->env.vector[i] = NULL;
	if (vector) {
		r->env.vec = true;
		r->env.lane = count ? (int)first : RD_NONE;
		r->env.n = n;
		if (count > 1)
			rd_fault(r, TN_E_ARG, "lanes along axis %u, which has %u dims: name its .last", x.axis, count);
	}
	if (count == 1) {
		r->env.dim[first] = is_name(expr) ? expr : tn_printf(r->arena, "(%s)", expr);
		return;
	}
	const char *rest = count ? rd_let(r, TN_SCALAR, TN_I64, expr) : NULL;
	for (uint32_t i = count; i-- > 0;) {
		const char *e = rd_size(r, r->n->dims.at[first + i].extent);
		if (rd_size_is(&r->sizes, r->n->dims.at[first + i].extent, 1)) {
			r->env.dim[first + i] = "0";
		} else if (!i) {
			r->env.dim[first] = rest;
		} else {
			r->env.dim[first + i] = rd_let(r, TN_SCALAR, TN_I64, rd_expand(r, rd_word(r, "mod", 0, 0), RD_NAMES({ "0", rest }, { "1", e }), "mod"));
			rest = rd_let(r, TN_SCALAR, TN_I64, rd_expand(r, rd_word(r, "div", 0, 0), RD_NAMES({ "0", rest }, { "1", e }), "div"));
		}
	}
}
