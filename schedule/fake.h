/* fake.h - for tests of schedule/: a backend that is only tables, and a plain walker of nests over host memory.
 * Everything is computed element by element in the order the nest says, so that results equal the strict evaluator's. */
#ifndef TENON_FAKE_H
#define TENON_FAKE_H
#include "ir/eval.h"
#include "schedule/nest_text.h"
#include <stdlib.h>
#include <string.h>

/* ---- tables.  rich: exp and tanh are spelled, too */
#define ANY TN_M_PLAIN
#define FULL (TN_M_PLAIN & ~(TN_M(TN_F16) | TN_M(TN_BF16)))
#define S(p, in, out) TN_SPELL(p, TN_SCALAR, in, out, "?")
#define ATOMS \
	S(add, FULL, FULL), S(sub, FULL, FULL), S(mul, FULL, FULL), S(div, FULL, FULL), S(rem, FULL, FULL), S(max, FULL, FULL), S(min, FULL, FULL), \
	S(and, FULL, FULL), S(or, FULL, FULL), S(xor, FULL, FULL), S(shl, FULL, FULL), S(shr, FULL, FULL), S(eq, FULL, TN_M(TN_BOOL)), \
	S(lt, FULL, TN_M(TN_BOOL)), S(le, FULL, TN_M(TN_BOOL)), S(select, ANY, ANY), S(floor, FULL, FULL), S(round, FULL, FULL), S(sqrt, FULL, FULL), \
	S(convert, ANY, ANY), S(bitcast, ANY, ANY)
static const struct tn_dialect_row fake_atoms[] = { ATOMS };
static const struct tn_dialect_row fake_rich[] = { ATOMS, S(exp, TN_M(TN_F32), TN_M(TN_F32)), S(tanh, TN_M(TN_F32), TN_M(TN_F32)) };
#define T(name, cls) { .id = name, .nest = cls, .text = "" }
static const struct tn_template_row fake_templates[] = {
	T("t.pointwise", TN_NEST_POINTWISE), T("t.reduce", TN_NEST_REDUCE), T("t.rows", TN_NEST_ROWS), T("t.contract", TN_NEST_CONTRACT),
	T("t.cumulate", TN_NEST_CUMULATE), T("t.scatter", TN_NEST_SCATTER),
};
#define SIMPLE (TN_CLASS(TN_CLASS_POINTWISE) | TN_CLASS(TN_CLASS_VIEW) | TN_CLASS(TN_CLASS_DATA) | TN_CLASS(TN_CLASS_GATHER))
static const struct tn_rule_row fake_rules[] = {
	{ .id = "contract", .anchor = TN_CLASS(TN_CLASS_CONTRACT), .producers = SIMPLE, .consumers = SIMPLE },
	{ .id = "rows", .anchor = TN_CLASS(TN_CLASS_ROWS) | TN_CLASS(TN_CLASS_REDUCE), .producers = SIMPLE, .consumers = SIMPLE },
	{ .id = "cumulate", .anchor = TN_CLASS(TN_CLASS_CUMULATE), .producers = SIMPLE, .consumers = SIMPLE },
	{ .id = "scatter", .anchor = TN_CLASS(TN_CLASS_SCATTER), .producers = SIMPLE },
	{ .id = "pointwise", .anchor = SIMPLE, .producers = SIMPLE, .consumers = SIMPLE },
};
static const struct tn_backend fake_backend = { .head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "fake", .dialect = TN_ROWS(fake_atoms),
	.templates = TN_ROWS(fake_templates), .rules = TN_ROWS(fake_rules) };
static const struct tn_backend fake_rich_backend = { .head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "rich", .dialect = TN_ROWS(fake_rich),
	.templates = TN_ROWS(fake_templates), .rules = TN_ROWS(fake_rules) };
#undef S
#undef T

/* all rules off: each node alone */
static inline int fake_no_rules(void *ctx, uint32_t slot, const char *row)
{
	(void)ctx; (void)slot;
	for (size_t i = 0; i < sizeof fake_rules / sizeof *fake_rules; i++)
		if (strcmp(row, fake_rules[i].id) == 0)
			return 1;
	return 0;
}

/* ---- the walker */
struct walk {
	const struct tn_nest *n; const int64_t *symbols; struct tn_arena *a;
	void *const *buffers;
	int64_t coord[32], extent[32];
	uint64_t *value, *done, epoch;       /* of steps; done: the epoch in which a value was computed */
	unsigned char *fixed;                /* accumulators */
	int oob;
};

static inline int64_t wk_size(const struct walk *w, uint32_t size) { return tn_size_eval(&w->n->sizes, size, w->symbols); }
static inline uint64_t wk_step(struct walk *w, uint32_t i);
static inline int64_t wk_floor_div(int64_t x, int64_t y) { const int64_t q = x / y; return q - ((x % y != 0) && ((x < 0) != (y < 0))); }

static inline int64_t wk_quotient(struct walk *w, uint32_t lin, uint32_t div, uint32_t mod)
{
	const struct tn_linear *l = &w->n->linears.at[lin];
	int64_t v = wk_size(w, l->offset);
	for (uint32_t i = 0; i < l->n_parts; i++) {
		const struct tn_part *p = &w->n->parts.at[l->part0 + i];
		v += wk_size(w, p->coef) * (p->step ? (int64_t)wk_step(w, p->index) : w->coord[p->index]);
	}
	if (div != TN_NOTHING)
		v = wk_floor_div(v, wk_size(w, div));
	if (mod != TN_NOTHING) {
		const int64_t m = wk_size(w, mod);
		v -= m * wk_floor_div(v, m);
	}
	return v;
}

/* the element, or NULL when it is outside of the access's bounds */
static inline char *wk_at(struct walk *w, uint32_t access)
{
	const struct tn_access *x = &w->n->accesses.at[access];
	const struct tn_nest_buffer *b = &w->n->buffers.at[x->buffer];
	int64_t at = wk_size(w, x->offset);
	for (uint32_t i = 0; i < x->n_bounds; i++) {
		const struct tn_bound *q = &w->n->bounds.at[x->bound0 + i];
		const int64_t v = wk_quotient(w, q->lin, q->div, q->mod);
		if (v < 0 || v >= wk_size(w, q->limit))
			return NULL;
	}
	for (uint32_t i = 0; i < x->n_terms; i++) {
		const struct tn_term *t = &w->n->terms.at[x->term0 + i];
		at += wk_size(w, t->stride) * wk_quotient(w, t->lin, t->div, t->mod);
	}
	if (at < 0 || at >= wk_size(w, b->length))
		tn_raise(w->a->diag, TN_E_RANGE, "walk: element %lld of buffer %u, which has %lld", (long long)at, x->buffer, (long long)wk_size(w, b->length));
	return (char *)w->buffers[x->buffer] + at * tn_dtype_bytes(b->dtype);
}

static inline uint64_t wk_apply(struct walk *w, uint32_t prim, uint32_t dtype, const uint64_t *x, const uint32_t *types, uint32_t n, const struct tn_step *s)
{
	uint64_t r = 0;
	if (prim == TN_convert) {
		ev_convert_n(dtype, &r, types[0], x, 1);
		return r;
	}
	ev_loop *f = n > 0 ? ev_point(prim, types[n - 1]) : NULL;
	if (f) {
		const void *in[4] = { &x[0], n > 1 ? &x[1] : NULL, n > 2 ? &x[2] : NULL };
		f(&r, in, 1);
		return r;
	}
	struct tn_ir *ir = tn_ir_create(w->a, NULL);
	uint32_t in[8];
	struct tn_attr_in attrs[8];
	struct tn_array arrays[8], out;
	for (uint32_t i = 0; i < n; i++) {
		in[i] = tn_ir_input(ir, NULL, types[i], 0, NULL);
		arrays[i] = (struct tn_array){ .dtype = types[i], .at = (void *)(uintptr_t)&x[i], .size = tn_dtype_bytes(types[i]) };
	}
	for (uint32_t i = 0; s && i < s->n_attrs; i++) {
		const struct tn_attr *t = &w->n->attrs.at[s->attr0 + i];
		attrs[i] = (struct tn_attr_in){ .name = t->name, .type = t->type, .i = t->i, .f = t->f };
	}
	tn_ir_output(ir, NULL, tn_ir_add(ir, prim, in, n, attrs, s ? s->n_attrs : 0));
	tn_eval_graph(&ir->g, arrays, &out, w->a);
	memcpy(&r, out.at, tn_dtype_bytes(dtype));
	return r;
}

static inline uint64_t wk_compute(struct walk *w, uint32_t i)
{
	const struct tn_step *s = &w->n->steps.at[i];
	uint64_t x[8], r = 0;
	uint32_t types[8];
	char *at;
	switch (s->op) {
	case TN_STEP_CONST: return s->bits;
	case TN_STEP_DIM: return (uint64_t)w->coord[s->a];
	case TN_STEP_SIZE: return (uint64_t)wk_size(w, s->a);
	case TN_STEP_LOAD:
		at = wk_at(w, s->a);
		if (!at)
			return w->n->accesses.at[s->a].fill;
		memcpy(&r, at, tn_dtype_bytes(s->dtype));
		return r;
	case TN_STEP_PRIM:
		for (uint32_t k = 0; k < s->n_args && k < 8; k++) {
			x[k] = wk_step(w, w->n->args[s->arg0 + k]);
			types[k] = w->n->steps.at[w->n->args[s->arg0 + k]].dtype;
		}
		return wk_apply(w, s->prim, s->dtype, x, types, s->n_args, s);
	default:
		tn_raise(w->a->diag, TN_E_INTERNAL, "walk: step %u has no value here", i);
	}
}

static inline uint64_t wk_step(struct walk *w, uint32_t i)
{
	if (w->fixed[i] || w->done[i] == w->epoch)
		return w->value[i];
	const uint64_t v = wk_compute(w, i);
	w->done[i] = w->epoch;
	return w->value[i] = v;
}

static inline uint64_t wk_identity(uint32_t prim, uint32_t dtype)
{
	static const uint32_t prims[] = { TN_sum, TN_prod, TN_reduce_max, TN_reduce_min };
	const double inf = 1.0 / 0.0;
	uint64_t r = 0;
	uint32_t k = 0;
	while (k < 4 && prims[k] != prim)
		k++;
	if (dtype == TN_BOOL)
		return k == 3 || k == 1;
	const double f = k == 1 ? 1 : k == 2 ? -inf : k == 3 ? inf : 0;
	ev_convert_n(dtype, &r, TN_F64, &f, 1);          /* saturates for integers: the lowest and the highest */
	return r;
}

static inline uint64_t wk_fold(struct walk *w, uint32_t prim, uint32_t dtype, uint64_t acc, uint64_t x)
{
	static const uint32_t from[] = { TN_sum, TN_prod, TN_reduce_max, TN_reduce_min }, to[] = { TN_add, TN_mul, TN_max, TN_min };
	const uint32_t types[2] = { dtype, dtype };
	for (uint32_t k = 0; k < 4; k++)
		if (from[k] == prim)
			return wk_apply(w, to[k], dtype, (const uint64_t[]){ acc, x }, types, 2, NULL);
	return 0;
}

static inline uint64_t wk_as(uint32_t dtype, uint32_t from, uint64_t x)
{
	uint64_t r = 0;
	ev_convert_n(dtype, &r, from, &x, 1);
	return r;
}

/* one point of the phase's inner axes */
static inline void wk_point(struct walk *w, const struct tn_nest_phase *p, int first)
{
	static const uint32_t cumulated[] = { 0, TN_sum, TN_prod, TN_reduce_max, TN_reduce_min };
	w->epoch++;
	for (uint32_t i = p->step0; i < p->step0 + p->n_steps; i++) {
		const struct tn_step *s = &w->n->steps.at[i];
		char *at;
		uint64_t x, old = 0;
		switch (s->op) {
		case TN_STEP_STORE:
			x = wk_step(w, s->b);
			if ((at = wk_at(w, s->a)))
				memcpy(at, &x, tn_dtype_bytes(s->dtype));
			break;
		case TN_STEP_REDUCE:
			w->value[i] = wk_fold(w, s->prim, s->dtype, w->value[i], wk_step(w, s->b));
			break;
		case TN_STEP_DOT: {
			const uint32_t types[2] = { s->dtype, s->dtype };
			const uint64_t l = wk_as(s->dtype, w->n->steps.at[s->a].dtype, wk_step(w, s->a)), r = wk_as(s->dtype, w->n->steps.at[s->b].dtype, wk_step(w, s->b));
			x = wk_apply(w, TN_mul, s->dtype, (const uint64_t[]){ l, r }, types, 2, NULL);
			w->value[i] = wk_apply(w, TN_add, s->dtype, (const uint64_t[]){ w->value[i], x }, types, 2, NULL);
			break;
		}
		case TN_STEP_CUMULATE: {                       /* value: what this place gives; done holds the running value between places */
			const uint64_t acc = first ? wk_identity(cumulated[s->bits & 7], s->dtype) : w->done[i];
			const uint64_t next = wk_fold(w, cumulated[s->bits & 7], s->dtype, acc, wk_step(w, s->b));
			w->fixed[i] = 1;
			w->value[i] = s->bits & 8 ? acc : next;
			w->done[i] = next;
			break;
		}
		case TN_STEP_UPDATE:
			x = wk_step(w, s->b);
			if (!(at = wk_at(w, s->a)))
				break;
			memcpy(&old, at, tn_dtype_bytes(s->dtype));
			if (s->bits) {
				const uint32_t b = s->dtype == TN_BOOL, ops[] = { 0, b ? TN_max : TN_add, b ? TN_min : TN_mul, TN_max, TN_min }, types[2] = { s->dtype, s->dtype };
				x = wk_apply(w, ops[s->bits], s->dtype, (const uint64_t[]){ old, x }, types, 2, NULL);
			}
			memcpy(at, &x, tn_dtype_bytes(s->dtype));
			break;
		default:
			break;
		}
	}
}

enum { WK_INNER = 1 << TN_AXIS_RED | 1 << TN_AXIS_K | 1 << TN_AXIS_SEQ };

/* calls f at each point of the dims whose axis is in mask, first dim outermost */
static inline void wk_each(struct walk *w, uint32_t mask, uint64_t dim, int reverse, void (*f)(struct walk *, const void *), const void *arg)
{
	while (dim < w->n->dims.count && !(mask >> w->n->dims.at[dim].axis & 1))
		dim++;
	if (dim >= w->n->dims.count) {
		f(w, arg);
		return;
	}
	for (int64_t i = 0; i < w->extent[dim]; i++) {
		w->coord[dim] = reverse ? w->extent[dim] - 1 - i : i;
		wk_each(w, mask, dim + 1, reverse, f, arg);
	}
}

struct wk_run { const struct tn_nest_phase *p; int *first; };
static inline void wk_inner(struct walk *w, const void *arg)
{
	const struct wk_run *r = arg;
	wk_point(w, r->p, *r->first);
	*r->first = 0;
}

static inline void wk_outer(struct walk *w, const void *arg)
{
	(void)arg;
	memset(w->fixed, 0, w->n->steps.count);
	for (uint64_t k = 0; k < w->n->phases.count; k++) {
		const struct tn_nest_phase *p = &w->n->phases.at[k];
		int first = 1, reverse = 0;
		for (uint32_t i = p->step0; i < p->step0 + p->n_steps; i++) {
			const struct tn_step *s = &w->n->steps.at[i];
			reverse |= s->op == TN_STEP_CUMULATE && s->bits & 16;
			if (s->op == TN_STEP_REDUCE)
				w->value[i] = wk_identity(s->prim, s->dtype);
			else if (s->op == TN_STEP_DOT)
				w->value[i] = 0;
		}
		wk_each(w, p->axes & WK_INNER, 0, reverse, wk_inner, &(struct wk_run){ p, &first });
		for (uint32_t i = p->step0; i < p->step0 + p->n_steps; i++)
			w->fixed[i] |= w->n->steps.at[i].op == TN_STEP_REDUCE || w->n->steps.at[i].op == TN_STEP_DOT;
	}
}

static inline void walk_nest(const struct tn_nest *n, const int64_t *symbols, void *const *buffers, struct tn_arena *a)
{
	struct walk w = { .n = n, .symbols = symbols, .a = a, .buffers = buffers };
	w.value = tn_array(a, uint64_t, n->steps.count + 1);
	w.done = tn_array(a, uint64_t, n->steps.count + 1);
	w.fixed = tn_array(a, unsigned char, n->steps.count + 1);
	w.epoch = 1;
	for (uint64_t d = 0; d < n->dims.count; d++)
		w.extent[d] = wk_size(&w, n->dims.at[d].extent);
	wk_each(&w, ~(uint32_t)WK_INNER, 0, 0, wk_outer, NULL);
}

/* ---- a whole graph, group by group; out as tn_eval_graph gives it */
struct fake_run { uint32_t kernels, groups; struct tn_text text; int print; };

static inline struct tn_array fake_array(const struct tn_graph *g, uint32_t v, const int64_t *symbols, struct tn_arena *a)
{
	struct tn_array x = { .dtype = tn_val(g, v)->dtype, .rank = tn_rank(g, v), .size = tn_dtype_bytes(tn_val(g, v)->dtype) };
	for (uint32_t d = 0; d < x.rank; d++) {
		x.dims[d] = tn_size_eval(&g->sizes, tn_shape(g, v)[d], symbols);
		x.size *= (uint64_t)x.dims[d];
	}
	x.at = tn_arena_alloc(a, x.size + 1);
	return x;
}

static inline void fake_group(const struct tn_groups *gs, uint32_t i, const struct tn_places *p, const int64_t *symbols, struct tn_array *v,
	struct fake_run *r, struct tn_arena *a)
{
	const struct tn_graph *g = gs->g;
	const struct tn_group *x = &gs->at[i];
	if (x->kind == TN_GROUP_ALIAS || x->kind == TN_GROUP_COPY) {
		v[x->out[0]] = fake_array(g, x->out[0], symbols, a);
		v[x->out[0]].at = v[x->in[0]].at;
		return;
	}
	if (x->kind == TN_GROUP_HOST) {
		const struct tn_node *n = &g->nodes.at[x->nodes[0]];
		struct tn_array in[16], out[4];
		for (uint32_t k = 0; k < n->n_in && k < 16; k++)
			in[k] = v[tn_in(g, n, k)];
		tn_eval_node(g, n, symbols, in, out, a);
		for (uint32_t k = 0; k < n->n_out; k++)
			v[tn_out(g, n, k)] = out[k];
		return;
	}
	const struct tn_nest *n = tn_nest_build(gs, i, p, a);
	void **buffers = tn_array(a, void *, n->buffers.count + 1);
	r->kernels++;
	/* what was read back is what runs.  Its sizes are ordered by the symbols' new names: after that the text is stable */
	struct tn_text t = { .arena = a }, once = { .arena = a }, twice = { .arena = a };
	tn_nest_print(&t, n);
	if (r->print)
		tn_text_put(&r->text, t.at, t.len);
	n = tn_nest_parse(a, t.at, t.len, "nest");
	tn_nest_print(&once, n);
	tn_nest_print(&twice, tn_nest_parse(a, once.at, once.len, "nest"));
	if (strcmp(once.at, twice.at) != 0 || (gs->g->n_symbols < 2 && strcmp(t.at, once.at) != 0))
		tn_raise(a->diag, TN_E_INTERNAL, "a nest's text is not what it was when printed again:\n%s\n%s\n%s", t.at, once.at, twice.at);
	for (uint32_t k = 0; k < x->n_out; k++)
		v[x->out[k]] = fake_array(g, x->out[k], symbols, a);
	if (n->cls == TN_NEST_SCATTER) {                       /* filled with what it updates */
		const struct tn_array *from = &v[x->in[0]], *to = &v[x->out[0]];
		const struct tn_node *s = &g->nodes.at[x->nodes[x->n_nodes - 1]];
		from = &v[tn_in(g, s, 0)];
		memcpy(to->at, from->at, from->size);
	}
	for (uint64_t k = 0; k < n->buffers.count; k++)
		buffers[k] = v[n->buffers.at[k].value].at;
	walk_nest(n, symbols, buffers, a);
}

static inline void fake_run_graph(const struct tn_graph *graph, const struct tn_places *p, const struct tn_array *in, struct tn_array *out,
	struct fake_run *r, struct tn_arena *a)
{
	const struct tn_assignment as = tn_assign(graph, p, NULL, 0, a), ex = tn_expand_assigned(&as, p, a), lay = tn_layout(&ex, p, a);
	const struct tn_groups gs = tn_fuse(&lay, p, a);
	const struct tn_graph *g = gs.g;
	struct tn_array *v = tn_array(a, struct tn_array, g->values.count + 1);
	int64_t *symbols = tn_array(a, int64_t, g->n_symbols + 1);
	tn_bind_symbols(g, in, symbols, a->diag);
	r->groups = gs.n;
	if (r->print)
		tn_groups_print(&r->text, &gs, p);
	for (uint32_t i = 0; i < g->n_in; i++)
		v[g->operands[g->in0 + i]] = in[i];
	for (uint32_t i = 0; i < g->values.count; i++)
		if (tn_val(g, i)->constant != TN_NOTHING) {
			v[i] = fake_array(g, i, symbols, a);
			memcpy(v[i].at, g->constants.at[tn_val(g, i)->constant].at, v[i].size);
		}
	for (uint32_t i = 0; i < gs.n; i++)
		fake_group(&gs, i, p, symbols, v, r, a);
	for (uint32_t i = 0; i < g->n_out; i++)
		out[i] = v[g->operands[g->out0 + i]];
}
#endif
