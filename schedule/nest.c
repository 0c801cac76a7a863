/* nest.c - from a KERNEL group to its loop nest: the frame, then the phases of its class, each by pulling what it reduces or stores. */
#include "schedule/build.h"
#include "schedule/region.h"
#include <string.h>

static uint32_t out_of(const struct nb *b, uint32_t node) { return tn_out(&b->ir->g, &b->ir->g.nodes.at[node], 0); }
static uint32_t in_of(const struct nb *b, uint32_t node, uint32_t i) { return tn_in(&b->ir->g, &b->ir->g.nodes.at[node], i); }

static uint32_t dim_at(struct nb *b, uint32_t d)
{
	return b->dims[d].extent == 1 ? ix_size(&b->ix, 0) : ix_dim(&b->ix, d, b->dims[d].extent);
}

/* ---- homes: real coordinates of what frame.c placed */
static void home_identity(struct nb *b, uint32_t v, uint32_t skip)
{
	struct nb_at at = nb_blank(tn_rank(&b->ir->g, v));
	for (uint32_t d = 0, i = 0; i < at.rank; d++)
		if (!(skip >> d & 1))
			at.c[i++] = dim_at(b, d);
	at.flat = nb_position(b, v, &at);        /* kept through reshapes, so that they cost no quotients */
	b->home[v] = at;
}

static int home_from_map(struct nb *b, const struct fr_value *x)
{
	struct nb_at at = nb_blank(x->map.rank);
	for (uint32_t i = 0; i < at.rank; i++) {
		if (x->map.at[i] <= FR_MIXED)
			return 0;
		at.c[i] = x->map.at[i] == FR_ONE ? ix_size(&b->ix, 0) : dim_at(b, (uint32_t)x->map.at[i]);
	}
	b->home[x->value] = at;
	return 1;
}

static void home_reduce(struct nb *b, const struct tn_node *n)
{
	const uint32_t in = tn_in(&b->ir->g, n, 0), out = tn_out(&b->ir->g, n, 0);
	uint32_t k, axes = 0;
	const int64_t *list = tn_attr_ints(&b->ir->g, n, TN_ATTR_axes, &k);
	struct nb_at x = b->home[in], r = nb_blank(tn_rank(&b->ir->g, out));
	nb_coords(b, in, &x);
	for (uint32_t i = 0; i < k; i++)
		axes |= 1u << list[i];
	for (uint32_t i = 0, at = 0; i < x.rank; i++)
		if (!(axes >> i & 1))
			r.c[at++] = x.c[i];
	b->home[out] = r;
}

/* mirrors forward() of frame.c: the same operand decides */
static void home_forward(struct nb *b, uint32_t node)
{
	const struct tn_node *n = &b->ir->g.nodes.at[node];
	const uint32_t out = out_of(b, node), cls = q_class(&b->ir->g, node);
	const struct fr_value *r = fr_value(&b->fr, out);
	if (b->home[out].rank != TN_NOTHING || !r || !r->forward)
		return;
	for (uint32_t i = 0; i < n->n_in; i++) {
		const uint32_t in = tn_in(&b->ir->g, n, i);
		const struct fr_value *x = fr_value(&b->fr, in);
		if (!x || !x->forward || !x->map.bij || b->home[in].rank == TN_NOTHING)
			continue;
		if (cls == TN_CLS_POINTWISE) {
			b->home[out] = b->home[in];
		} else if (cls == TN_CLS_REDUCE) {
			home_reduce(b, n);
		} else {
			struct nb_at at;
			nb_view_result(b, n, &b->home[in], &at);
			b->home[out] = at;
		}
		return;
	}
}

static void set_homes(struct nb *b)
{
	const struct tn_graph *g = &b->ir->g;
	const uint32_t origin = b->f.origin == TN_NOTHING ? (uint32_t)g->nodes.count - 1 : b->f.origin;
	const struct tn_node *n = &g->nodes.at[origin];
	uint32_t k, axes = 0;
	if (q_class(g, origin) == TN_CLS_REDUCE) {
		const int64_t *list = tn_attr_ints(g, n, TN_ATTR_axes, &k);
		for (uint32_t i = 0; i < k; i++)
			axes |= 1u << list[i];
		home_identity(b, tn_in(g, n, 0), 0);
	}
	if (b->f.cls != TN_NEST_SCATTER)
		home_identity(b, b->f.cls == TN_NEST_POINTWISE ? b->f.base : tn_out(g, n, 0), axes);
	for (uint32_t i = 0; i < g->nodes.count; i++)
		home_forward(b, i);
	for (uint32_t i = 0; i < b->fr.n_values; i++) {
		const struct fr_value *x = &b->fr.values[i];
		const int anchor = x->member != TN_NOTHING && q_class(&b->ir->g, x->member) == TN_CLS_REDUCE;
		if (b->home[x->value].rank == TN_NOTHING && x->map.known && b->f.cls != TN_NEST_SCATTER && (anchor || (x->out && !x->forward)))
			home_from_map(b, x);
	}
}

/* ---- phases */
static void begin_phase(struct nb *b, uint32_t outer_only)
{
	b->scope += outer_only;
	/* coordinates of homes may have needed steps already: they are the first phase's */
	const uint32_t step0 = b->n_phases ? b->n_steps : 0;
	*tn_push(b->a, b->phases, b->n_phases, b->cap_phases) = (struct nb_phase){ outer_only, step0, 0 };
}

static void end_phase(struct nb *b)
{
	struct nb_phase *p = &b->phases[b->n_phases - 1];
	p->n_steps = b->n_steps - p->step0;
}

static void store(struct nb *b, uint32_t v)
{
	struct nb_at at = b->home[v];
	if (at.rank == TN_NOTHING)
		tn_raise(b->a->diag, TN_E_INTERNAL, "nest: a stored value of dtype %s has no place in the frame", tn_dtype_name(tn_val(&b->ir->g, v)->dtype));
	const uint32_t step = nb_emit(b, v, at, 0, 0);
	nb_store(b, v, &at, step);
}

/* stores of values for which pick says 1, consumers first: what they pull finds its home then */
static void store_outs(struct nb *b, int (*pick)(const struct nb *, const struct fr_value *, uint32_t), uint32_t arg)
{
	const struct tn_graph *g = &b->ir->g;
	for (uint32_t i = (uint32_t)g->nodes.count; i-- > 0;) {
		const uint32_t v = out_of(b, i);
		if (b->out[v] && pick(b, fr_value(&b->fr, v), arg))
			store(b, v);
	}
}

static int all(const struct nb *b, const struct fr_value *x, uint32_t arg) { (void)b; (void)x; (void)arg; return 1; }
static int is_full(const struct nb *b, const struct fr_value *x) { return (x->map.uses & b->f.red) != 0; }
static int full_at(const struct nb *b, const struct fr_value *x, uint32_t level) { return is_full(b, x) && x->level == level; }
static int outer(const struct nb *b, const struct fr_value *x, uint32_t arg) { (void)arg; return !is_full(b, x); }

static uint32_t any_out(const struct nb *b, int (*pick)(const struct nb *, const struct fr_value *, uint32_t), uint32_t arg)
{
	for (uint32_t i = 0; i < b->ir->g.nodes.count; i++)
		if (b->out[out_of(b, i)] && pick(b, fr_value(&b->fr, out_of(b, i)), arg))
			return 1;
	return 0;
}

/* ---- reductions */
static struct nb_at reduce_operand(struct nb *b, const struct tn_node *n)
{
	const struct tn_graph *g = &b->ir->g;
	const uint32_t in = tn_in(g, n, 0), out = tn_out(g, n, 0);
	uint32_t k, axes = 0, at = 0, left = b->f.red;
	const struct fr_value *x = fr_value(&b->fr, in);
	if (fr_value(&b->fr, out)->forward && x->forward && b->home[in].rank != TN_NOTHING)
		return b->home[in];
	const int64_t *list = tn_attr_ints(g, n, TN_ATTR_axes, &k);
	for (uint32_t i = 0; i < k; i++)
		axes |= 1u << list[i];
	struct nb_at home = b->home[out], r = nb_blank(tn_rank(g, in));
	nb_coords(b, out, &home);
	for (uint32_t i = 0; i < r.rank; i++) {
		if (!(axes >> i & 1)) {
			r.c[i] = home.c[at++];
			continue;
		}
		while (left && b->dims[__builtin_ctz(left)].extent == 1)
			left &= left - 1;
		if (tn_shape(g, in)[i] == 1) {
			r.c[i] = ix_size(&b->ix, 0);
			continue;
		}
		r.c[i] = dim_at(b, (uint32_t)__builtin_ctz(left));
		left &= left - 1;
	}
	return r;
}

static void emit_reduce(struct nb *b, uint32_t node)
{
	const struct tn_node *n = &b->ir->g.nodes.at[node];
	const uint32_t in = tn_in(&b->ir->g, n, 0), dtype = tn_val(&b->ir->g, in)->dtype, acc = q_is_half(dtype) ? TN_F32 : dtype;
	const uint32_t x = nb_convert(b, nb_emit(b, in, reduce_operand(b, n), 0, 0), acc);
	b->anchor[tn_out(&b->ir->g, n, 0)] = nb_step(b, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = acc, .prim = n->prim, .b = x }, NULL);
}

static void emit_reduces(struct nb *b, uint32_t level)
{
	for (uint32_t i = 0; i < b->ir->g.nodes.count; i++)
		if (q_class(&b->ir->g, i) == TN_CLS_REDUCE && fr_value(&b->fr, out_of(b, i))->level == level)
			emit_reduce(b, i);
}

static void build_rows(struct nb *b)
{
	for (uint32_t level = 0; level <= b->f.levels; level++) {
		if (level == b->f.levels && !any_out(b, full_at, level))
			continue;
		begin_phase(b, 0);
		emit_reduces(b, level + 1);
		store_outs(b, full_at, level);
		end_phase(b);
	}
	if (b->f.cls == TN_NEST_REDUCE || any_out(b, outer, 0)) {
		begin_phase(b, 1);
		store_outs(b, outer, 0);
		end_phase(b);
	}
}

/* ---- dot */
static uint32_t accumulator(const struct nb *b, const struct tn_node *n)
{
	const uint32_t x = tn_val(&b->ir->g, tn_in(&b->ir->g, n, 0))->dtype, o = tn_val(&b->ir->g, tn_out(&b->ir->g, n, 0))->dtype;
	uint32_t acc = (uint32_t)tn_attr_int(&b->ir->g, n, TN_ATTR_acc, TN_NONE);
	if (acc == TN_NONE)
		acc = TN_M(x) & TN_M_FLOAT && (!(TN_M(o) & TN_M_FLOAT) || x == TN_F64) ? x : o;
	if (TN_M(acc) & TN_M_FLOAT)
		return acc == TN_F64 ? TN_F64 : TN_F32;
	return tn_dtype_bits(acc) <= 32 ? TN_I32 : TN_I64;
}

static struct nb_at dot_operand(struct nb *b, const struct tn_node *n, uint32_t side)
{
	const struct tn_graph *g = &b->ir->g;
	uint32_t nb, nc, used = 0, at;
	const int64_t *batch = tn_attr_ints(g, n, TN_ATTR_batch, &nb), *con = tn_attr_ints(g, n, TN_ATTR_contract, &nc);
	const uint32_t m = tn_rank(g, tn_in(g, n, 0)) - nb / 2 - nc / 2, k0 = tn_rank(g, tn_out(g, n, 0));
	struct nb_at r = nb_blank(tn_rank(g, tn_in(g, n, side)));
	for (uint32_t i = 0; i < nb / 2; i++) {
		r.c[batch[2 * i + side]] = dim_at(b, i);
		used |= 1u << batch[2 * i + side];
	}
	for (uint32_t i = 0; i < nc / 2; i++) {
		r.c[con[2 * i + side]] = dim_at(b, k0 + i);
		used |= 1u << con[2 * i + side];
	}
	at = nb / 2 + (side ? m : 0);
	for (uint32_t i = 0; i < r.rank; i++)
		if (!(used >> i & 1))
			r.c[i] = dim_at(b, at++);
	return r;
}

static void set_role(struct nb *b, uint32_t step, uint32_t role)
{
	if (b->steps[step].op == TN_STEP_LOAD)
		b->buffers[b->accesses[b->steps[step].a].buffer].role = role;
}

static int constant_side(const struct nb *b, uint32_t v)
{
	for (;;) {
		const struct tn_value *x = tn_val(&b->ir->g, v);
		if (x->constant != TN_NOTHING || x->layout != 0)
			return 1;
		if (x->node == TN_NOTHING || q_class(&b->ir->g, x->node) != TN_CLS_VIEW)
			return 0;
		v = in_of(b, x->node, 0);
	}
}

static void build_contract(struct nb *b)
{
	const struct tn_node *n = &b->ir->g.nodes.at[b->f.origin];
	const uint32_t x = tn_in(&b->ir->g, n, 0), y = tn_in(&b->ir->g, n, 1);
	const int swap = constant_side(b, x) && !constant_side(b, y);   /* the constant is B: it is packed once */
	begin_phase(b, 0);
	uint32_t s[2];
	s[0] = nb_emit(b, x, dot_operand(b, n, 0), 0, 0);
	s[1] = nb_emit(b, y, dot_operand(b, n, 1), 0, 0);
	if (s[0] != s[1]) {
		set_role(b, s[swap], TN_ROLE_A);
		set_role(b, s[!swap], TN_ROLE_B);
	}
	if (swap)
		for (uint32_t d = 0; d < b->f.n_dims; d++)
			b->dims[d].axis = b->dims[d].axis == TN_AXIS_M ? TN_AXIS_N : b->dims[d].axis == TN_AXIS_N ? TN_AXIS_M : b->dims[d].axis;
	b->anchor[tn_out(&b->ir->g, n, 0)] = nb_step(b, (struct tn_step){ .op = TN_STEP_DOT, .dtype = accumulator(b, n), .a = s[swap], .b = s[!swap] }, NULL);
	end_phase(b);
	begin_phase(b, 1);
	store_outs(b, all, 0);
	end_phase(b);
}

/* ---- the others */
static void build_pointwise(struct nb *b)
{
	begin_phase(b, 0);
	store_outs(b, all, 0);
	end_phase(b);
}

static void inner_after(struct nb *b)
{
	for (uint32_t d = 0; d < b->f.n_dims; d++)
		if (!(b->f.red >> d & 1) && b->f.red != 0 && 1u << d > b->f.red)
			b->dims[d].axis = TN_AXIS_INNER;
}

static void build_cumulate(struct nb *b)
{
	const struct tn_node *n = &b->ir->g.nodes.at[b->f.origin];
	const uint32_t in = tn_in(&b->ir->g, n, 0), out = tn_out(&b->ir->g, n, 0), dtype = tn_val(&b->ir->g, in)->dtype, acc = q_is_half(dtype) ? TN_F32 : dtype;
	const uint64_t bits = (uint64_t)tn_attr_int(&b->ir->g, n, TN_ATTR_op, 1) | (tn_attr_int(&b->ir->g, n, TN_ATTR_exclusive, 0) ? 8u : 0u) |
		(tn_attr_int(&b->ir->g, n, TN_ATTR_reverse, 0) ? 16u : 0u);
	inner_after(b);
	begin_phase(b, 0);
	const uint32_t x = nb_convert(b, nb_emit(b, in, b->home[out], 0, 0), acc);
	b->anchor[out] = nb_step(b, (struct tn_step){ .op = TN_STEP_CUMULATE, .dtype = acc, .b = x, .bits = bits }, NULL);
	store_outs(b, all, 0);
	end_phase(b);
}

static void build_scatter(struct nb *b)
{
	const struct tn_node *n = &b->ir->g.nodes.at[b->f.origin];
	const uint32_t x = tn_in(&b->ir->g, n, 0), upd = tn_in(&b->ir->g, n, 2), out = tn_out(&b->ir->g, n, 0);
	const uint32_t axis = (uint32_t)tn_attr_int(&b->ir->g, n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(&b->ir->g, n, TN_ATTR_batch, 0);
	const uint32_t n_index = tn_rank(&b->ir->g, tn_in(&b->ir->g, n, 1)) - batch, dim = tn_shape(&b->ir->g, x)[axis];
	inner_after(b);
	begin_phase(b, 0);
	home_identity(b, upd, 0);
	struct nb_at u = b->home[upd], to = nb_blank(tn_rank(&b->ir->g, x));
	const int clamped = tn_attr_int(&b->ir->g, n, TN_ATTR_mode, 0) != 1 && b->ir->g.sizes.at[dim].lo > 0;
	const uint32_t index = nb_index_step(b, n, &u), value = nb_emit(b, upd, u, 0, 0);
	for (uint32_t d = 0; d < to.rank; d++)
		to.c[d] = d < axis ? u.c[d] : d > axis ? u.c[d - 1 + n_index] : ix_step(&b->ix, index, clamped ? dim : TN_NOTHING);
	const uint32_t access = nb_access(b, out, to, nb_guard(b, 0, to.c[axis], dim), 0, TN_BUF_READ | TN_BUF_WRITE);
	nb_step(b, (struct tn_step){ .op = TN_STEP_UPDATE, .dtype = tn_val(&b->ir->g, out)->dtype, .a = access, .b = value,
		.bits = (uint64_t)tn_attr_int(&b->ir->g, n, TN_ATTR_op, 0) }, NULL);
	end_phase(b);
}

static void start(struct nb *b, const struct tn_groups *gs, uint32_t group)
{
	uint32_t *original, *nodes, *outs;
	b->ir = rg_build(gs->g, &gs->at[group], &original, b->a);
	b->original = original;
	const struct tn_graph *g = b->g = &b->ir->g;
	const uint32_t n = (uint32_t)g->nodes.count;
	fr_init(&b->fr, g, b->a);
	nodes = tn_array(b->a, uint32_t, n + 1);
	outs = tn_array(b->a, uint32_t, g->n_out + 1);
	b->member = tn_array(b->a, unsigned char, n + 1);
	b->out = tn_array(b->a, unsigned char, g->values.count + 1);
	b->home = tn_array(b->a, struct nb_at, g->values.count + 1);
	b->anchor = tn_array(b->a, uint32_t, g->values.count + 1);
	for (uint32_t i = 0; i < n; i++) {
		nodes[i] = i;
		b->member[i] = 1;
	}
	for (uint32_t v = 0; v < g->values.count; v++) {
		b->home[v].rank = TN_NOTHING;
		b->anchor[v] = TN_NOTHING;
	}
	for (uint32_t i = 0; i < g->n_out; i++) {
		outs[i] = g->operands[g->out0 + i];
		b->out[outs[i]] = 1;
	}
	if (n == 0 || !fr_try(&b->fr, nodes, n, outs, g->n_out, &b->f))
		tn_raise(b->a->diag, TN_E_UNSUPPORTED, "nest: the group of %s (%u nodes) is not one nest: %s", n ? tn_prim_name(g->nodes.at[n - 1].prim) : "nothing",
			n, b->f.why ? b->f.why : "?");
	for (uint32_t d = 0; d < b->f.n_dims; d++)
		b->dims[d] = (struct nb_dim){ b->f.dims[d].extent, b->f.dims[d].axis, TN_NOTHING };
	ix_init(&b->ix, b->ir, b->a, nb_to_step, b);
	b->by_step.arena = b->by_value.arena = b->by_access.arena = b->by_buffer.arena = b->by_guard.arena = b->a;
	set_homes(b);
}

static void fini(void *arena) { tn_arena_fini(arena); }

const struct tn_nest *tn_nest_build(const struct tn_groups *gs, uint32_t group, const struct tn_places *p, struct tn_arena *a)
{
	struct tn_arena *scratch = tn_new(a, struct tn_arena);
	tn_arena_init(scratch, a->diag);
	tn_arena_defer(a, fini, scratch);
	struct tn_query q = { .p = p, .a = scratch, .point = { .arena = scratch } };
	struct nb *b = tn_new(scratch, struct nb);
	*b = (struct nb){ .q = &q, .slot = gs->at[group].slot, .a = scratch };
	start(b, gs, group);
	switch (b->f.cls) {
	case TN_NEST_POINTWISE: build_pointwise(b); break;
	case TN_NEST_CONTRACT: build_contract(b); break;
	case TN_NEST_CUMULATE: build_cumulate(b); break;
	case TN_NEST_SCATTER: build_scatter(b); break;
	default: build_rows(b);
	}
	const struct tn_nest *r = nb_finish(b, a);
	tn_arena_fini(scratch);
	return r;
}
