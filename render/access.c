/* access.c - loads, stores and updates: addresses, bounds, lanes
 *
 * An address is one linear form over the dims, where coefficients are sizes, plus what is not linear (computed indices, div and
 * mod).  Along the lane dim its coefficient says which access serves: 1 a vector, else the lanes one after another, in a loop in
 * which the lane dim's coordinate is base + lane, so that every address and every bound has a lane form. */
#include "render/inner.h"
#include <string.h>

static const char *coord(struct rd *r, uint32_t dim)
{
	const char *at = r->env.dim[dim];
	if (!at)
		rd_fault(r, TN_E_ARG, "the coordinate of dim %u (of axis %u) is not bound here", dim, r->n->dims.at[dim].axis);
	return r->in_lanes && r->env.lane == (int)dim ? tn_printf(r->arena, "(%s + %s)", at, rd_word(r, "lane.index", 0, 0)) : at;
}

static struct rd_linear nothing(struct rd *r)
{
	struct rd_linear l = { .rest = "" };
	uint32_t zero = rd_size_const(&r->sizes, 0);
	for (uint64_t i = 0; i < r->n->dims.count; i++)
		l.coef[i] = zero;
	l.offset = zero;
	return l;
}

static void add_text(struct rd *r, struct rd_linear *l, const char *text)
{
	l->rest = *l->rest ? tn_printf(r->arena, "%s + %s", l->rest, text) : text;
}

static const char *times(struct rd *r, uint32_t coef, const char *x)
{
	if (rd_size_is(&r->sizes, coef, 1))
		return x;
	return tn_printf(r->arena, "%s * %s", rd_size(r, coef), x);
}

/* the dim that a part is a multiple of, also when a step reads its coordinate; TN_NOTHING for computed indices */
static uint32_t part_dim(struct rd *r, const struct tn_part *p)
{
	if (!p->step)
		return p->index;
	return r->n->steps.at[p->index].op == TN_STEP_DIM ? r->n->steps.at[p->index].a : TN_NOTHING;
}

/* l += scale * linear row `lin`.  text: also the words of computed indices, which emits what they need. */
static void add_linear(struct rd *r, struct rd_linear *l, uint32_t lin, uint32_t scale, bool text)
{
	struct rd_sizes *z = &r->sizes;
	const struct tn_linear *row = &r->n->linears.at[lin];
	l->offset = rd_size_op(z, TN_SIZE_ADD, l->offset, rd_size_op(z, TN_SIZE_MUL, row->offset, scale));
	for (uint32_t i = 0; i < row->n_parts; i++) {
		const struct tn_part *p = &r->n->parts.at[row->part0 + i];
		uint32_t coef = rd_size_op(z, TN_SIZE_MUL, p->coef, scale);
		uint32_t dim = part_dim(r, p);
		if (dim != TN_NOTHING) {
			l->coef[dim] = rd_size_op(z, TN_SIZE_ADD, l->coef[dim], coef);
			continue;
		}
		l->rest_varies |= rd_form(r, p->index) == TN_VECTOR;
		if (text)
			add_text(r, l, times(r, coef, tn_printf(r->arena, "(i64)%s", rd_value(r, p->index, TN_SCALAR))));
		else
			l->rest = "?";
	}
}

const char *rd_linear_text(struct rd *r, const struct rd_linear *l)
{
	struct tn_text t = { .arena = r->arena };
	for (uint32_t i = 0; i < r->n->dims.count; i++)
		if (!rd_size_is(&r->sizes, l->coef[i], 0)) {
			const char *at = coord(r, i);
			if (strcmp(at, "0"))
				tn_text_add(&t, "%s%s", t.len ? " + " : "", times(r, l->coef[i], at));
		}
	if (*l->rest)
		tn_text_add(&t, "%s%s", t.len ? " + " : "", l->rest);
	if (!rd_size_is(&r->sizes, l->offset, 0) || !t.len)
		tn_text_add(&t, "%s%s", t.len ? " + " : "", rd_size(r, l->offset));
	return t.at;
}

/* the least value that a linear form can have, INT64_MIN when it is not known */
static int64_t least(struct rd *r, const struct rd_linear *l)
{
	if (*l->rest)
		return INT64_MIN;
	rd_wide v = r->sizes.at[l->offset].lo;
	for (uint32_t i = 0; i < r->n->dims.count; i++) {
		const struct tn_size *c = &r->sizes.at[l->coef[i]], *e = &r->sizes.at[r->n->dims.at[i].extent];
		if (c->lo < 0)
			v += e->hi > 1 ? (rd_wide)c->lo * (e->hi - 1) : 0;
	}
	return v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

static bool lane_in(struct rd *r, const struct rd_linear *l)
{
	return l->rest_varies || (r->env.lane >= 0 && !rd_size_is(&r->sizes, l->coef[r->env.lane], 0));
}

static const char *divided(struct rd *r, const char *role, bool natural, const char *x, uint32_t by)
{
	const char *op = natural ? role : tn_printf(r->arena, "floor_%s", role);
	return rd_expand(r, rd_word(r, op, 0, 0), RD_NAMES({ "0", x }, { "1", rd_size(r, by) }), op);
}

/* floor(lin / div) mod mod, as text */
static const char *quotient(struct rd *r, const struct rd_linear *l, uint32_t div, uint32_t mod)
{
	const char *x = tn_printf(r->arena, "(%s)", rd_linear_text(r, l));
	bool natural = least(r, l) >= 0;
	if (div != TN_NOTHING && !rd_size_is(&r->sizes, div, 1))
		x = divided(r, "div", natural, x, div);
	if (mod != TN_NOTHING)
		x = divided(r, "mod", natural, x, mod);
	return x;
}

static struct rd_linear address(struct rd *r, uint32_t access, bool text)
{
	const struct tn_access *a = &r->n->accesses.at[access];
	struct rd_linear l = nothing(r);
	l.offset = a->offset;
	for (uint32_t i = 0; i < a->n_terms; i++) {
		const struct tn_term *t = &r->n->terms.at[a->term0 + i];
		if ((t->div == TN_NOTHING || rd_size_is(&r->sizes, t->div, 1)) && t->mod == TN_NOTHING) {
			add_linear(r, &l, t->lin, t->stride, text);
			continue;
		}
		struct rd_linear part = nothing(r);
		add_linear(r, &part, t->lin, rd_size_const(&r->sizes, 1), text);
		l.rest_varies |= lane_in(r, &part);
		if (text)
			add_text(r, &l, times(r, t->stride, quotient(r, &part, t->div, t->mod)));
		else
			l.rest = "?";
	}
	return l;
}

struct rd_linear rd_address(struct rd *r, uint32_t access)
{
	return address(r, access, true);
}

bool rd_address_plain(struct rd *r, uint32_t access, struct rd_linear *out)
{
	*out = address(r, access, false);
	return !*out->rest && !r->n->accesses.at[access].n_bounds;
}

uint32_t rd_lane_stride(struct rd *r, uint32_t access, uint32_t dim, bool *simple)
{
	struct rd_linear l = address(r, access, false);
	*simple = true;
	const struct tn_access *a = &r->n->accesses.at[access];
	for (uint32_t i = 0; i < a->n_terms; i++) {
		const struct tn_term *t = &r->n->terms.at[a->term0 + i];
		const struct tn_linear *row = &r->n->linears.at[t->lin];
		bool bent = !((t->div == TN_NOTHING || rd_size_is(&r->sizes, t->div, 1)) && t->mod == TN_NOTHING);
		for (uint32_t k = 0; k < row->n_parts; k++) {
			const struct tn_part *p = &r->n->parts.at[row->part0 + k];
			uint32_t at = part_dim(r, p);
			if (at == TN_NOTHING ? r->deps[p->index] >> dim & 1 : bent && at == dim)
				*simple = false;
		}
	}
	return l.coef[dim];
}

static uint64_t linear_deps(struct rd *r, uint32_t lin)
{
	const struct tn_linear *row = &r->n->linears.at[lin];
	uint64_t deps = 0;
	for (uint32_t i = 0; i < row->n_parts; i++) {
		const struct tn_part *p = &r->n->parts.at[row->part0 + i];
		if (!rd_size_is(&r->sizes, p->coef, 0))
			deps |= p->step ? r->deps[p->index] : UINT64_C(1) << p->index;
	}
	return deps;
}

uint64_t rd_access_deps(struct rd *r, uint32_t access)
{
	const struct tn_access *a = &r->n->accesses.at[access];
	uint64_t deps = 0;
	for (uint32_t i = 0; i < a->n_terms; i++)
		if (!rd_size_is(&r->sizes, r->n->terms.at[a->term0 + i].stride, 0))
			deps |= linear_deps(r, r->n->terms.at[a->term0 + i].lin);
	for (uint32_t i = 0; i < a->n_bounds; i++)
		deps |= linear_deps(r, r->n->bounds.at[a->bound0 + i].lin);
	return deps;
}

static void linear_steps(struct rd *r, uint32_t lin, void (*f)(struct rd *r, uint32_t step))
{
	const struct tn_linear *row = &r->n->linears.at[lin];
	for (uint32_t i = 0; i < row->n_parts; i++)
		if (part_dim(r, &r->n->parts.at[row->part0 + i]) == TN_NOTHING)
			f(r, r->n->parts.at[row->part0 + i].index);
}

void rd_access_steps(struct rd *r, uint32_t access, void (*f)(struct rd *r, uint32_t step))
{
	const struct tn_access *a = &r->n->accesses.at[access];
	for (uint32_t i = 0; i < a->n_terms; i++)
		linear_steps(r, r->n->terms.at[a->term0 + i].lin, f);
	for (uint32_t i = 0; i < a->n_bounds; i++)
		linear_steps(r, r->n->bounds.at[a->bound0 + i].lin, f);
}

/* before a loop or a condition is opened: what is computed inside it would not be known behind it */
static void ready(struct rd *r, uint32_t step)
{
	rd_value(r, step, rd_form(r, step));
}

/* ---- bounds */
static const char *inside(struct rd *r, const char *x, const char *limit)
{
	return rd_expand(r, rd_word(r, "inside", 0, 0), RD_NAMES({ "0", x }, { "1", limit }), "inside");
}

static void conjoin(struct rd *r, const char **to, const char *cond)
{
	*to = *to ? tn_printf(r->arena, "%s && %s", *to, cond) : cond;
}

static struct rd_linear bound_linear(struct rd *r, const struct tn_bound *b, bool text)
{
	struct rd_linear l = nothing(r);
	add_linear(r, &l, b->lin, rd_size_const(&r->sizes, 1), text);
	return l;
}

/* all bounds at these coordinates (of one lane in a lane loop); NULL when there is none */
static const char *bounds_text(struct rd *r, uint32_t access)
{
	const struct tn_access *a = &r->n->accesses.at[access];
	const char *all = NULL;
	for (uint32_t i = 0; i < a->n_bounds; i++) {
		const struct tn_bound *b = &r->n->bounds.at[a->bound0 + i];
		struct rd_linear l = bound_linear(r, b, true);
		conjoin(r, &all, inside(r, quotient(r, &l, b->div, b->mod), rd_size(r, b->limit)));
	}
	return all;
}

static const char *lane_count(struct rd *r)
{
	return r->env.n ? r->env.n : rd_word(r, "lanes", 0, 0);
}

static bool bound_straight(struct rd *r, const struct tn_bound *b, const struct rd_linear *l)
{
	return (b->div == TN_NOTHING || rd_size_is(&r->sizes, b->div, 1)) && b->mod == TN_NOTHING && !l->rest_varies && r->env.lane >= 0;
}

/* A condition under which every lane is inside, in *cond (NULL: always).  False: there is no short one, ask each lane.
 * *varies: some bound differs between lanes. */
static bool all_inside(struct rd *r, uint32_t access, const char **cond, bool *varies)
{
	const struct tn_access *a = &r->n->accesses.at[access];
	*cond = NULL;
	*varies = false;
	for (uint32_t i = 0; i < a->n_bounds; i++) {
		const struct tn_bound *b = &r->n->bounds.at[a->bound0 + i];
		struct rd_linear l = bound_linear(r, b, false);
		if (!lane_in(r, &l)) {
			l = bound_linear(r, b, true);
			conjoin(r, cond, inside(r, quotient(r, &l, b->div, b->mod), rd_size(r, b->limit)));
			continue;
		}
		*varies = true;
		if (!bound_straight(r, b, &l) || !rd_size_is(&r->sizes, l.coef[r->env.lane], 1))
			return false;
		l = bound_linear(r, b, true);
		const char *x = tn_printf(r->arena, "(%s)", rd_linear_text(r, &l));
		conjoin(r, cond, tn_printf(r->arena, "%s >= 0 && %s + %s <= %s", x, x, lane_count(r), rd_size(r, b->limit)));
	}
	return true;
}

/* ---- moving values */
const char *rd_buffer(struct rd *r, uint32_t buffer)
{
	return tn_printf(r->arena, "b%u", buffer);
}

static const char *load_text(struct rd *r, uint32_t access, uint32_t form, const char *index)
{
	uint32_t buffer = r->n->accesses.at[access].buffer, dtype = r->n->buffers.at[buffer].dtype;
	bool part = form == TN_VECTOR && r->env.n;
	const char *role = part ? "load.part" : "load";
	return rd_expand(r, rd_word(r, role, form, dtype), RD_NAMES({ "b", rd_buffer(r, buffer) }, { "i", index },
		{ "n", form == TN_VECTOR ? lane_count(r) : "1" }, { "T", rd_type(r, form, dtype) }), role);
}

static void store_line(struct rd *r, uint32_t access, uint32_t form, const char *index, const char *x)
{
	uint32_t buffer = r->n->accesses.at[access].buffer, dtype = r->n->buffers.at[buffer].dtype;
	const char *role = form == TN_VECTOR && r->env.n ? "store.part" : "store";
	rd_line(r, "%s", rd_expand(r, rd_word(r, role, form, dtype), RD_NAMES({ "b", rd_buffer(r, buffer) }, { "i", index },
		{ "x", x }, { "n", form == TN_VECTOR ? lane_count(r) : "1" }, { "T", rd_type(r, form, dtype) }), role));
}

static void open_if(struct rd *r, const char *cond)
{
	rd_line(r, "%s", rd_expand(r, rd_word(r, "if", 0, 0), RD_NAMES({ "c", cond }), "if"));
}

/* simple: one load a lane, worth unrolling where all lanes are there */
static void open_lanes(struct rd *r, bool simple)
{
	const char *all = simple && !r->env.n ? rd_word_find(r->b, "lane.loop.all", 0, 0) : NULL;
	if (all)
		rd_line(r, "%s", all);
	else
		rd_line(r, "%s", rd_expand(r, rd_word(r, "lane.loop", 0, 0), RD_NAMES({ "n", lane_count(r) }), "lane.loop"));
	r->in_lanes = true;
}

static void close_lanes(struct rd *r)
{
	r->in_lanes = false;
	rd_line(r, "%s", rd_word(r, "lane.end", 0, 0));
}

static void set_lane(struct rd *r, uint32_t dtype, const char *to, const char *x)
{
	rd_line(r, "%s", rd_expand(r, rd_word(r, "lane.set", 0, dtype), RD_NAMES({ "r", to }, { "x", x }), "lane.set"));
}

static void set(struct rd *r, uint32_t form, uint32_t dtype, const char *to, const char *x)
{
	rd_line(r, "%s", rd_expand(r, rd_word(r, "set", form, dtype), RD_NAMES({ "r", to }, { "x", x }), "set"));
}

static const char *variable(struct rd *r, uint32_t form, uint32_t dtype, uint64_t bits)
{
	const char *name = rd_fresh(r, "v"), *x = rd_literal(r, dtype, bits);
	if (form == TN_VECTOR)
		x = rd_expand(r, rd_word(r, "splat", form, dtype), RD_NAMES({ "0", x }, { "T", rd_type(r, form, dtype) }), "splat");
	rd_line(r, "%s", rd_expand(r, rd_word(r, "var", form, dtype), RD_NAMES({ "T", rd_type(r, form, dtype) }, { "r", name }, { "x", x }), "var"));
	return name;
}

static const char *load_scalar(struct rd *r, uint32_t access, uint32_t dtype)
{
	const char *cond = bounds_text(r, access);
	struct rd_linear l = rd_address(r, access);
	const char *text = load_text(r, access, TN_SCALAR, rd_linear_text(r, &l));
	if (!cond)
		return rd_let(r, TN_SCALAR, dtype, text);
	const char *name = variable(r, TN_SCALAR, dtype, r->n->accesses.at[access].fill);
	open_if(r, cond);
	set(r, TN_SCALAR, dtype, name, text);
	rd_line(r, "%s", rd_word(r, "endif", 0, 0));
	return name;
}

static void load_lanes(struct rd *r, uint32_t access, uint32_t dtype, const char *name)
{
	open_lanes(r, !r->n->accesses.at[access].n_bounds);
	const char *cond = bounds_text(r, access);
	if (cond)
		open_if(r, cond);
	struct rd_linear l = rd_address(r, access);
	set_lane(r, dtype, name, load_text(r, access, TN_SCALAR, rd_linear_text(r, &l)));
	if (cond)
		rd_line(r, "%s", rd_word(r, "endif", 0, 0));
	close_lanes(r);
}

static bool unit_lanes(struct rd *r, const struct rd_linear *l)
{
	return r->env.lane >= 0 && !l->rest_varies && rd_size_is(&r->sizes, l->coef[r->env.lane], 1);
}

static const char *load_vector(struct rd *r, uint32_t access, uint32_t dtype)
{
	const char *cond;
	bool varies, fast = all_inside(r, access, &cond, &varies);
	struct rd_linear l = address(r, access, false);
	uint64_t fill = r->n->accesses.at[access].fill;
	if (!unit_lanes(r, &l) || !fast) {
		const char *name = variable(r, TN_VECTOR, dtype, fill);
		load_lanes(r, access, dtype, name);
		return name;
	}
	l = rd_address(r, access);
	const char *text = load_text(r, access, TN_VECTOR, rd_linear_text(r, &l));
	if (!cond)
		return rd_let(r, TN_VECTOR, dtype, text);
	const char *name = variable(r, TN_VECTOR, dtype, fill);
	open_if(r, cond);
	set(r, TN_VECTOR, dtype, name, text);
	if (varies) {
		rd_line(r, "%s", rd_word(r, "else", 0, 0));
		load_lanes(r, access, dtype, name);
	}
	rd_line(r, "%s", rd_word(r, "endif", 0, 0));
	return name;
}

const char *rd_load(struct rd *r, uint32_t step, uint32_t form)
{
	const struct tn_step *s = &r->n->steps.at[step];
	uint32_t buffer = r->n->accesses.at[s->a].buffer;
	if (r->n->buffers.at[buffer].layout)
		rd_fault(r, TN_E_UNSUPPORTED, "buffer %u has the layout %s, which only a template can read", buffer, r->n->bytes + r->n->buffers.at[buffer].layout);
	rd_access_steps(r, s->a, ready);
	return form == TN_VECTOR ? load_vector(r, s->a, s->dtype) : load_scalar(r, s->a, s->dtype);
}

/* what an update stores: the old element op x */
static const char *updated(struct rd *r, const struct tn_step *s, uint32_t form, const char *index, const char *x)
{
	static const uint32_t op[] = { TN_PRIM_NONE, TN_add, TN_mul, TN_max, TN_min };
	uint32_t dtype = r->n->buffers.at[r->n->accesses.at[s->a].buffer].dtype;
	if (s->op == TN_STEP_STORE || !s->bits)
		return x;
	if (s->bits >= sizeof op / sizeof *op)
		rd_fault(r, TN_E_ARG, "an update has no operation %llu", (unsigned long long)s->bits);
	const char *args[2] = { rd_let(r, form, dtype, load_text(r, s->a, form, index)), x };
	return rd_apply(r, op[s->bits], form, dtype, dtype, args, 2, NULL);
}

static void store_lanes(struct rd *r, const struct tn_step *s)
{
	open_lanes(r, false);
	const char *cond = bounds_text(r, s->a);
	if (cond)
		open_if(r, cond);
	struct rd_linear l = rd_address(r, s->a);
	const char *index = rd_linear_text(r, &l);
	const char *x = rd_value(r, s->b, TN_SCALAR);
	store_line(r, s->a, TN_SCALAR, index, updated(r, s, TN_SCALAR, index, x));
	if (cond)
		rd_line(r, "%s", rd_word(r, "endif", 0, 0));
	close_lanes(r);
}

void rd_store(struct rd *r, uint32_t step)
{
	const struct tn_step *s = &r->n->steps.at[step];
	const char *cond;
	bool varies = false, fast = true;
	rd_access_steps(r, s->a, ready);
	bool vector = r->env.lane >= 0 && (r->deps[step] >> r->env.lane & 1);
	const char *x = rd_value(r, s->b, rd_form(r, s->b));
	if (vector) {
		struct rd_linear l = address(r, s->a, false);
		fast = all_inside(r, s->a, &cond, &varies);
		if (!unit_lanes(r, &l) || !fast) {
			store_lanes(r, s);
			return;
		}
		x = rd_value(r, s->b, TN_VECTOR);
	} else {
		cond = bounds_text(r, s->a);
	}
	struct rd_linear l = rd_address(r, s->a);
	const char *index = rd_linear_text(r, &l);
	uint32_t form = vector ? TN_VECTOR : TN_SCALAR;
	if (cond)
		open_if(r, cond);
	store_line(r, s->a, form, index, updated(r, s, form, index, x));
	if (cond && varies) {
		rd_line(r, "%s", rd_word(r, "else", 0, 0));
		store_lanes(r, s);
	}
	if (cond)
		rd_line(r, "%s", rd_word(r, "endif", 0, 0));
}
