/* nest_out.c - the rows of struct tn_nest from what was built: dims merged where every address allows it, axes chosen so that memory
 * runs along INNER, RED and K, expressions written as terms and bounds. */
#include "schedule/build.h"
#include <string.h>

struct out {
	struct nb *b;
	struct tn_arena *a;                      /* the result's */
	uint32_t *used, n_used, cap_used;        /* expressions that addresses stand on */
	unsigned char *seen;                     /* by expression */
	uint32_t order[FR_DIMS], n_order;        /* live dims in the nest's order */
	uint32_t place[FR_DIMS];                 /* dim -> number in the nest */
	struct tn_term *terms; uint32_t n_terms, cap_terms;
	struct tn_bound *bounds; uint32_t n_bounds, cap_bounds;
	struct tn_linear *linears; uint32_t n_linears, cap_linears;
	struct tn_part *parts; uint32_t n_parts, cap_parts;
	struct tn_map by_linear;
};

/* ---- steps that nothing needs: coordinates that turned out to be simpler.  What is left moves up */
static void need(struct nb *b, unsigned char *live, uint32_t step);

static void need_expr(struct nb *b, unsigned char *live, uint32_t expr)
{
	const struct ix x = b->ix.exprs[expr];
	for (uint32_t i = 0; i < x.n; i++) {
		const struct ix_atom *t = &b->ix.atoms[x.t[i].atom];
		if (t->kind == IX_STEP)
			need(b, live, t->at);
		else if (t->kind == IX_DIV)
			need_expr(b, live, t->at);
	}
}

static void need(struct nb *b, unsigned char *live, uint32_t step)
{
	const struct tn_step *s = &b->steps[step];
	if (live[step])
		return;
	live[step] = 1;
	for (uint32_t k = 0; k < s->n_args; k++)
		need(b, live, b->args[s->arg0 + k]);
	if (s->op == TN_STEP_LOAD || s->op == TN_STEP_STORE || s->op == TN_STEP_UPDATE) {
		need_expr(b, live, b->accesses[s->a].index);
		for (uint32_t g = b->accesses[s->a].guard; g; g = b->guards[g - 1].parent)
			need_expr(b, live, b->guards[g - 1].index);
	}
	if (s->op == TN_STEP_STORE || s->op == TN_STEP_UPDATE || s->op == TN_STEP_REDUCE || s->op == TN_STEP_DOT || s->op == TN_STEP_CUMULATE)
		need(b, live, s->b);
	if (s->op == TN_STEP_DOT)
		need(b, live, s->a);
}

static void drop_dead(struct nb *b)
{
	unsigned char *live = tn_array(b->a, unsigned char, b->n_steps + 1);
	uint32_t *to = tn_array(b->a, uint32_t, b->n_steps + 1), n = 0;
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (b->steps[i].op == TN_STEP_STORE || b->steps[i].op == TN_STEP_UPDATE)
			need(b, live, i);
	for (uint32_t i = 0; i < b->n_steps; i++) {
		to[i] = n;
		if (live[i])
			b->steps[n++] = b->steps[i];
	}
	to[b->n_steps] = n;
	for (uint32_t i = 0; i < b->n_phases; i++) {
		struct nb_phase *p = &b->phases[i];
		p->n_steps = to[p->step0 + p->n_steps] - to[p->step0];
		p->step0 = to[p->step0];
	}
	b->n_steps = n;
	for (uint32_t i = 0; i < n; i++) {
		struct tn_step *s = &b->steps[i];
		for (uint32_t k = 0; k < s->n_args; k++)
			b->args[s->arg0 + k] = to[b->args[s->arg0 + k]];
		if (s->op == TN_STEP_STORE || s->op == TN_STEP_UPDATE || s->op == TN_STEP_REDUCE || s->op == TN_STEP_DOT || s->op == TN_STEP_CUMULATE)
			s->b = to[s->b];
		if (s->op == TN_STEP_DOT)
			s->a = to[s->a];
	}
	for (uint32_t i = 0; i < b->ix.n_atoms; i++)
		if (b->ix.atoms[i].kind == IX_STEP)
			b->ix.atoms[i].at = to[b->ix.atoms[i].at];
}

/* ---- which expressions are used */
static void use(struct out *o, uint32_t expr)
{
	if (o->seen[expr])
		return;
	o->seen[expr] = 1;
	*tn_push(o->b->a, o->used, o->n_used, o->cap_used) = expr;
	const struct ix x = o->b->ix.exprs[expr];
	for (uint32_t i = 0; i < x.n; i++)
		if (o->b->ix.atoms[x.t[i].atom].kind == IX_DIV)
			use(o, o->b->ix.atoms[x.t[i].atom].at);
}

static void use_all(struct out *o)
{
	struct nb *b = o->b;
	for (uint32_t i = 0; i < b->n_accesses; i++) {
		use(o, b->accesses[i].index);
		for (uint32_t g = b->accesses[i].guard; g; g = b->guards[g - 1].parent)
			use(o, b->guards[g - 1].index);
	}
}

/* ---- merging dims */
static uint32_t coef_of(const struct nb *b, uint32_t expr, uint32_t dim)
{
	const struct ix x = b->ix.exprs[expr];
	for (uint32_t i = 0; i < x.n; i++)
		if (b->ix.atoms[x.t[i].atom].kind == IX_DIM && b->ix.atoms[x.t[i].atom].at == dim)
			return x.t[i].coef;
	return 0;
}

/* outer dim d runs in every address like more of dim e */
static int can_merge(const struct out *o, uint32_t d, uint32_t e)
{
	struct nb *b = o->b;
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (b->steps[i].op == TN_STEP_DIM && (b->steps[i].a == d || b->steps[i].a == e))
			return 0;
	for (uint32_t i = 0; i < o->n_used; i++)
		if (coef_of(b, o->used[i], d) != tn_size_op(b->ir, TN_SIZE_MUL, coef_of(b, o->used[i], e), b->dims[e].extent))
			return 0;
	return 1;
}

static int live(const struct nb *b, uint32_t d) { return b->dims[d].into == TN_NOTHING && b->dims[d].extent != 1; }

static void merge(struct out *o)
{
	struct nb *b = o->b;
	for (uint32_t e = b->f.n_dims; e-- > 1;)
		for (uint32_t d = e; live(b, e) && d-- > 0;) {
			if (!live(b, d) || b->dims[d].axis != b->dims[e].axis)
				continue;
			if (!can_merge(o, d, e))
				break;
			b->dims[e].extent = tn_size_op(b->ir, TN_SIZE_MUL, b->dims[d].extent, b->dims[e].extent);
			b->dims[d].into = e;
		}
}

/* ---- axes */
/* about how many elements; symbols count as a middling number */
static double about(const struct tn_graph *g, uint32_t size)
{
	const struct tn_size *s = &g->sizes.at[size];
	switch (s->op) {
	case TN_SIZE_CONST: return (double)s->value;
	case TN_SIZE_ADD: return about(g, s->a) + about(g, s->b);
	case TN_SIZE_MUL: return about(g, s->a) * about(g, s->b);
	default: return s->hi < 64 ? (double)s->hi : s->lo > 64 ? (double)s->lo : 64;
	}
}

/* the dim along which the largest load of phase 0 is contiguous, or TN_NOTHING */
static uint32_t contiguous(const struct out *o)
{
	struct nb *b = o->b;
	uint32_t best = TN_NOTHING;
	double size = -1;
	for (uint32_t i = 0; i < b->phases[0].n_steps; i++) {
		const struct tn_step *s = &b->steps[i];
		if (s->op != TN_STEP_LOAD)
			continue;
		const double n = about(&b->ir->g, b->buffers[b->accesses[s->a].buffer].length);
		for (uint32_t d = 0; d < b->f.n_dims && n > size; d++)
			if (live(b, d) && coef_of(b, b->accesses[s->a].index, d) == 1) {
				best = d;
				size = n;
			}
	}
	return best;
}

static void choose_axes(struct out *o)
{
	struct nb *b = o->b;
	if (b->f.cls == TN_NEST_POINTWISE)
		for (uint32_t d = b->f.n_dims; d-- > 0;)
			if (live(b, d)) {
				b->dims[d].axis = TN_AXIS_INNER;
				break;
			}
	if (b->f.cls != TN_NEST_REDUCE)
		return;
	const uint32_t d = contiguous(o);
	if (d != TN_NOTHING && b->dims[d].axis == TN_AXIS_OUTER)
		b->dims[d].axis = TN_AXIS_INNER;
}

/* K dims so that the last is the one along which A runs */
static void order_k(struct out *o, uint32_t from)
{
	struct nb *b = o->b;
	uint32_t a = TN_NOTHING;
	for (uint32_t i = 0; i < b->n_buffers; i++)
		if (b->buffers[i].role == TN_ROLE_B && tn_val(&b->ir->g, b->buffers[i].value)->layout != 0)
			return;                                /* its packing fixed the order */
	for (uint32_t i = 0; i < b->n_accesses && a == TN_NOTHING; i++)
		if (b->buffers[b->accesses[i].buffer].role == TN_ROLE_A)
			a = b->accesses[i].index;
	for (uint32_t i = from + 1; a != TN_NOTHING && i < o->n_order; i++)
		for (uint32_t k = i; k > from; k--) {
			const uint32_t x = coef_of(b, a, o->order[k - 1]), y = coef_of(b, a, o->order[k]), t = o->order[k];
			if (x == 0 || y == 0 || about(&b->ir->g, x) >= about(&b->ir->g, y))
				break;
			o->order[k] = o->order[k - 1];
			o->order[k - 1] = t;
		}
}

static void order_dims(struct out *o)
{
	struct nb *b = o->b;
	for (uint32_t axis = 0; axis < TN_AXIS_END; axis++) {
		const uint32_t from = o->n_order;
		for (uint32_t d = 0; d < b->f.n_dims; d++)
			if (live(b, d) && b->dims[d].axis == axis)
				o->order[o->n_order++] = d;
		if (axis == TN_AXIS_K)
			order_k(o, from);
	}
	for (uint32_t i = 0; i < o->n_order; i++)
		o->place[o->order[i]] = i;
}

/* ---- addresses */
static int by_part(const struct tn_part *x, const struct tn_part *y) { return x->step != y->step ? x->step > y->step : x->index > y->index; }

static uint32_t put_linear(struct out *o, uint32_t offset, struct tn_part *p, uint32_t n)
{
	uint32_t key[1 + 4 * 32];
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0 && by_part(&p[k - 1], &p[k]); k--) {
			const struct tn_part t = p[k];
			p[k] = p[k - 1];
			p[k - 1] = t;
		}
	key[0] = offset;
	memcpy(key + 1, p, n * sizeof *p);
	uint64_t *at = tn_map_at(&o->by_linear, key, (1 + 4 * n) * sizeof *key);
	if (*at)
		return (uint32_t)(*at - 1);
	*at = (uint64_t)o->n_linears + 1;
	const struct tn_linear l = { .part0 = o->n_parts, .n_parts = n, .offset = offset };
	for (uint32_t i = 0; i < n; i++)
		*tn_push(o->a, o->parts, o->n_parts, o->cap_parts) = p[i];
	*tn_push(o->a, o->linears, o->n_linears, o->cap_linears) = l;
	return o->n_linears - 1;
}

/* dims that were merged away vanish: the dim they went into runs for them */
static int part_of(const struct out *o, uint32_t atom, uint32_t coef, struct tn_part *p)
{
	const struct ix_atom x = o->b->ix.atoms[atom];
	if (x.kind == IX_DIM && o->b->dims[x.at].into != TN_NOTHING)
		return 0;
	*p = (struct tn_part){ x.kind == IX_STEP, x.kind == IX_STEP ? x.at : o->place[x.at], coef, 0 };
	return 1;
}

/* dims and steps alone: one linear */
static uint32_t linear_of(struct out *o, uint32_t expr)
{
	const struct ix x = o->b->ix.exprs[expr];
	struct tn_part p[32];
	uint32_t n = 0;
	if (x.n > 31)
		tn_raise(o->a->diag, TN_E_RANGE, "nest: an address of %u parts", x.n);
	for (uint32_t i = 0; i < x.n; i++)
		n += (uint32_t)part_of(o, x.t[i].atom, x.t[i].coef, &p[n]);
	return put_linear(o, x.offset, p, n);
}

static struct tn_term div_term(struct out *o, const struct ix_atom *x, uint32_t stride)
{
	return (struct tn_term){ linear_of(o, x->at), x->div == 1 ? TN_NOTHING : x->div, x->mod, stride };
}

static uint32_t put_terms(struct out *o, uint32_t expr, uint32_t *n)
{
	const struct ix x = o->b->ix.exprs[expr];
	struct tn_term *t = tn_array(o->b->a, struct tn_term, x.n + 1);
	const uint32_t first = o->n_terms;
	*n = 0;
	for (uint32_t i = 0; i < x.n; i++) {
		const struct ix_atom atom = o->b->ix.atoms[x.t[i].atom];
		struct tn_part p;
		if (atom.kind == IX_DIV)
			t[(*n)++] = div_term(o, &atom, x.t[i].coef);
		else if (part_of(o, x.t[i].atom, 1, &p))
			t[(*n)++] = (struct tn_term){ put_linear(o, 0, &p, 1), TN_NOTHING, TN_NOTHING, x.t[i].coef };
	}
	for (uint32_t i = 0; i < *n; i++)
		*tn_push(o->a, o->terms, o->n_terms, o->cap_terms) = t[i];
	return first;
}

static void put_bound(struct out *o, struct nb_guard g)
{
	const struct ix x = o->b->ix.exprs[g.index];
	int plain = 1;
	for (uint32_t i = 0; i < x.n; i++)
		plain &= o->b->ix.atoms[x.t[i].atom].kind != IX_DIV;
	struct tn_bound r = { .div = TN_NOTHING, .mod = TN_NOTHING, .limit = g.limit };
	if (plain) {
		r.lin = linear_of(o, g.index);
	} else {                               /* guards keep to one quotient: see nb_guard */
		const struct tn_term t = div_term(o, &o->b->ix.atoms[x.t[0].atom], 1);
		r.lin = t.lin;
		r.div = t.div;
		r.mod = t.mod;
	}
	*tn_push(o->a, o->bounds, o->n_bounds, o->cap_bounds) = r;
}

static struct tn_access access_row(struct out *o, const struct nb_access *x)
{
	struct tn_access r = { .buffer = x->buffer, .fill = x->fill, .offset = o->b->ix.exprs[x->index].offset };
	r.term0 = put_terms(o, x->index, &r.n_terms);
	r.bound0 = o->n_bounds;
	for (uint32_t g = x->guard; g; g = o->b->guards[g - 1].parent)
		put_bound(o, o->b->guards[g - 1]);
	r.n_bounds = o->n_bounds - r.bound0;
	return r;
}

/* ---- steps worth keeping */
static uint32_t price(const struct tn_step *s)
{
	if (s->op != TN_STEP_PRIM)
		return 0;
	const struct tn_prim_info *p = tn_prim_info(s->prim);
	return s->prim == TN_div || s->prim == TN_rem || s->prim == TN_sqrt ? 4 : p && p->tol != TN_TOL_EXACT ? 8 : 1;
}

static uint32_t phase_of(const struct nb *b, uint32_t step)
{
	uint32_t p = 0;
	while (p + 1 < b->n_phases && step >= b->phases[p + 1].step0)
		p++;
	return p;
}

static void keep(struct nb *b)
{
	uint32_t *cost = tn_array(b->a, uint32_t, b->n_steps + 1);
	for (uint32_t i = 0; i < b->n_steps; i++) {
		struct tn_step *s = &b->steps[i];
		uint32_t c = price(s), args[2] = { TN_NOTHING, TN_NOTHING };
		if (s->op == TN_STEP_REDUCE || s->op == TN_STEP_STORE || s->op == TN_STEP_CUMULATE || s->op == TN_STEP_UPDATE)
			args[0] = s->b;
		for (uint32_t k = 0; k < s->n_args + 2; k++) {
			const uint32_t x = k < s->n_args ? b->args[s->arg0 + k] : args[k - s->n_args];
			if (x == TN_NOTHING)
				continue;
			c += s->op == TN_STEP_PRIM ? cost[x] : 0;
			if (cost[x] >= 8 && b->steps[x].op == TN_STEP_PRIM && phase_of(b, x) < phase_of(b, i))
				b->steps[x].flags |= TN_STEP_KEEP;
		}
		cost[i] = c > 1000 ? 1000 : c;
	}
}

/* ---- all rows */
static uint32_t axes_of(const struct nb *b, uint32_t phase)
{
	const uint32_t outer = b->phases[phase].outer_only;
	switch (b->f.cls) {
	case TN_NEST_POINTWISE: return 1u << TN_AXIS_OUTER | 1u << TN_AXIS_INNER;
	case TN_NEST_REDUCE: return 1u << TN_AXIS_OUTER | 1u << TN_AXIS_INNER | (outer ? 0 : 1u << TN_AXIS_RED);
	case TN_NEST_ROWS: return 1u << TN_AXIS_OUTER | (outer ? 0 : 1u << TN_AXIS_RED);
	case TN_NEST_CONTRACT: return 1u << TN_AXIS_BATCH | 1u << TN_AXIS_M | 1u << TN_AXIS_N | (outer ? 0 : 1u << TN_AXIS_K);
	default: return 1u << TN_AXIS_OUTER | 1u << TN_AXIS_INNER | 1u << TN_AXIS_SEQ;
	}
}

/* REDUCE without columns says OUTER RED alone */
static uint32_t has_axis(const struct nb *b, uint32_t axis)
{
	for (uint32_t d = 0; d < b->f.n_dims; d++)
		if (live(b, d) && b->dims[d].axis == axis)
			return 1;
	return 0;
}

static uint32_t put_name(struct nb *b, const char *name)
{
	if (b->n_bytes == 0)
		*tn_push(b->a, b->bytes, b->n_bytes, b->cap_bytes) = 0;       /* offset 0 means dense */
	const uint32_t at = b->n_bytes;
	for (size_t i = 0; i <= strlen(name); i++)
		*tn_push(b->a, b->bytes, b->n_bytes, b->cap_bytes) = name[i];
	return at;
}

static void finish_buffers(struct nb *b)
{
	for (uint32_t i = 0; i < b->n_buffers; i++) {
		struct tn_nest_buffer *x = &b->buffers[i];
		const struct tn_value *v = tn_val(&b->ir->g, x->value);
		if (v->layout != 0 && b->ir->g.layouts.at[v->layout - 1].opaque != TN_NOTHING)
			x->layout = put_name(b, tn_str_at(&b->ir->g, b->ir->g.layouts.at[v->layout - 1].opaque));
		x->value = b->original[x->value];
	}
}

const struct tn_nest *nb_finish(struct nb *b, struct tn_arena *a)
{
	struct out o = { .b = b, .a = a, .by_linear = { .arena = b->a } };
	struct tn_nest *n = tn_new(a, struct tn_nest);
	o.seen = tn_array(b->a, unsigned char, b->ix.n_exprs + 1);
	drop_dead(b);
	use_all(&o);
	merge(&o);
	choose_axes(&o);
	order_dims(&o);
	keep(b);
	struct tn_access *access = tn_array(a, struct tn_access, b->n_accesses + 1);
	for (uint32_t i = 0; i < b->n_accesses; i++)
		access[i] = access_row(&o, &b->accesses[i]);
	for (uint32_t i = 0; i < b->n_steps; i++)
		if (b->steps[i].op == TN_STEP_DIM)
			b->steps[i].a = o.place[b->steps[i].a];
	struct tn_nest_dim *dims = tn_array(a, struct tn_nest_dim, o.n_order + 1);
	for (uint32_t i = 0; i < o.n_order; i++)
		dims[i] = (struct tn_nest_dim){ b->dims[o.order[i]].axis, b->dims[o.order[i]].extent };
	struct tn_nest_phase *phases = tn_array(a, struct tn_nest_phase, b->n_phases + 1);
	for (uint32_t i = 0; i < b->n_phases; i++) {
		phases[i] = (struct tn_nest_phase){ .axes = axes_of(b, i), .step0 = b->phases[i].step0, .n_steps = b->phases[i].n_steps };
		if (b->f.cls == TN_NEST_REDUCE && !has_axis(b, TN_AXIS_INNER))
			phases[i].axes &= ~(1u << TN_AXIS_INNER);
	}
	finish_buffers(b);
	*n = (struct tn_nest){
		.head = TN_HEAD(tn_nest, TN_KIND_NEST), .cls = b->f.cls, .numerics = b->q->p->numerics ? b->q->p->numerics : TN_DEFAULT,
		.sizes = { tn_copy_bytes(a, b->ir->g.sizes.at, b->ir->g.sizes.count * sizeof *b->ir->g.sizes.at), b->ir->g.sizes.count },
		.dims = { dims, o.n_order }, .phases = { phases, b->n_phases },
		.steps = { tn_copy_bytes(a, b->steps, b->n_steps * sizeof *b->steps), b->n_steps },
		.accesses = { access, b->n_accesses }, .terms = { o.terms, o.n_terms }, .bounds = { o.bounds, o.n_bounds },
		.linears = { o.linears, o.n_linears }, .parts = { o.parts, o.n_parts },
		.buffers = { tn_copy_bytes(a, b->buffers, b->n_buffers * sizeof *b->buffers), b->n_buffers },
		.attrs = { tn_copy_bytes(a, b->attrs, b->n_attrs * sizeof *b->attrs), b->n_attrs },
		.args = tn_copy_bytes(a, b->args, b->n_args * sizeof *b->args), .n_args = b->n_args,
		.ints = tn_copy_bytes(a, b->ints, b->n_ints * sizeof *b->ints), .n_ints = b->n_ints,
		.bytes = tn_copy_bytes(a, b->bytes, b->n_bytes), .n_bytes = b->n_bytes,
	};
	return n;
}
