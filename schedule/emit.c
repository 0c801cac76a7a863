/* emit.c - values by pull: asked for a value at coordinates, emit the steps that compute it there.  Views only change the
 * coordinates; what is not in the group is loaded. */
#include "schedule/build.h"
#include <string.h>

static const uint32_t *shape(const struct nb *b, uint32_t v) { return tn_shape(&b->ir->g, v); }
static uint32_t mul(struct nb *b, uint32_t x, uint32_t y) { return tn_size_op(b->ir, TN_SIZE_MUL, x, y); }
static uint32_t add(struct nb *b, uint32_t x, uint32_t y) { return tn_size_op(b->ir, TN_SIZE_ADD, x, y); }
static uint32_t sub(struct nb *b, uint32_t x, uint32_t y) { return add(b, x, mul(b, y, tn_size_const(b->ir, -1))); }

/* ---- coordinates */
/* position in dims lo..hi-1 of a row-major value */
static uint32_t position(struct nb *b, const uint32_t *c, const uint32_t *dims, uint32_t lo, uint32_t hi)
{
	uint32_t sum = ix_size(&b->ix, 0), stride = 1;
	for (uint32_t i = hi; i-- > lo;) {
		if (dims[i] != 1)
			sum = ix_add(&b->ix, sum, ix_scale(&b->ix, c[i], stride));
		stride = mul(b, stride, dims[i]);
	}
	return sum;
}

uint32_t nb_position(struct nb *b, uint32_t v, const struct nb_at *at) { return position(b, at->c, shape(b, v), 0, at->rank); }

/* the inverse: coordinates of dims lo..hi-1 from a position; first: the dim whose coordinate needs no mod */
static void spread(struct nb *b, uint32_t at, uint32_t *c, const uint32_t *dims, uint32_t lo, uint32_t hi)
{
	uint32_t stride = 1, first = lo;
	while (first < hi && dims[first] == 1)
		first++;
	for (uint32_t i = hi; i-- > lo;) {
		c[i] = dims[i] == 1 ? ix_size(&b->ix, 0) : ix_div(&b->ix, at, stride);
		if (i > first && dims[i] != 1)
			c[i] = ix_mod(&b->ix, c[i], dims[i]);
		stride = mul(b, stride, dims[i]);
	}
}

void nb_coords(struct nb *b, uint32_t v, struct nb_at *at)
{
	if (at->rank > 0 && at->c[0] == TN_NOTHING)
		spread(b, at->flat, at->c, shape(b, v), 0, at->rank);
}

struct nb_at nb_blank(uint32_t rank)
{
	struct nb_at r = { .rank = rank, .flat = TN_NOTHING };
	for (uint32_t i = 0; i < TN_RANK_MAX; i++)
		r.c[i] = TN_NOTHING;
	return r;
}

static int same_at(const struct nb_at *x, const struct nb_at *y)
{
	if (x->rank != y->rank)
		return 0;
	if (x->flat != TN_NOTHING && x->flat == y->flat)
		return 1;
	return x->rank == 0 || (x->c[0] != TN_NOTHING && memcmp(x->c, y->c, x->rank * sizeof *x->c) == 0);
}

/* ---- views */
static struct nb_at reshaped(struct nb *b, struct nb_at at, uint32_t from, uint32_t to)
{
	const uint32_t rank = tn_rank(&b->ir->g, to);
	struct nb_at r = nb_blank(rank);
	struct fr_reshape f;
	r.flat = at.flat;
	if (at.flat == TN_NOTHING || (at.rank > 0 && at.c[0] != TN_NOTHING)) {
		nb_coords(b, from, &at);
		fr_match_reshape(shape(b, to), rank, shape(b, from), at.rank, &f);
		for (uint32_t i = 0; i < rank; i++)
			r.c[i] = f.in[i] >= 0 ? at.c[f.in[i]] : ix_size(&b->ix, 0);
		const uint32_t middle = position(b, at.c, shape(b, from), f.o_lo, f.o_hi);
		if (f.i_lo < f.i_hi)
			spread(b, middle, r.c, shape(b, to), f.i_lo, f.i_hi);
	}
	return r;
}

struct nb_at nb_view_operand(struct nb *b, const struct tn_node *n, struct nb_at at)
{
	const uint32_t in = tn_in(&b->ir->g, n, 0), out = tn_out(&b->ir->g, n, 0), rank = tn_rank(&b->ir->g, in);
	struct nb_at r = nb_blank(rank);
	uint32_t k;
	if (n->prim == TN_reshape)
		return reshaped(b, at, out, in);
	nb_coords(b, out, &at);
	if (n->prim == TN_broadcast) {
		const int64_t *where = tn_attr_ints(&b->ir->g, n, TN_ATTR_dims, &k);
		for (uint32_t i = 0; i < rank; i++)
			r.c[i] = shape(b, in)[i] == 1 ? ix_size(&b->ix, 0) : at.c[where[i]];
	} else if (n->prim == TN_permute) {
		const int64_t *perm = tn_attr_ints(&b->ir->g, n, TN_ATTR_perm, &k);
		for (uint32_t i = 0; i < rank; i++)
			r.c[perm[i]] = at.c[i];
	} else if (n->prim == TN_slice) {
		const uint32_t *start = tn_attr_sizes(&b->ir->g, n, TN_ATTR_start, &k);
		const int64_t *step = tn_attr_ints(&b->ir->g, n, TN_ATTR_step, &k);
		for (uint32_t i = 0; i < rank; i++)
			r.c[i] = ix_plus(&b->ix, ix_scale(&b->ix, at.c[i], tn_size_const(b->ir, step ? step[i] : 1)), start[i]);
	} else {                                               /* window */
		const int64_t *dims = tn_attr_ints(&b->ir->g, n, TN_ATTR_dims, &k);
		const int64_t *stride = tn_attr_ints(&b->ir->g, n, TN_ATTR_stride, &k), *dil = tn_attr_ints(&b->ir->g, n, TN_ATTR_dilation, &k);
		for (uint32_t i = 0; i < rank; i++)
			r.c[i] = at.c[i];
		tn_attr_ints(&b->ir->g, n, TN_ATTR_dims, &k);
		for (uint32_t i = 0; i < k; i++)
			r.c[dims[i]] = ix_add(&b->ix, ix_scale(&b->ix, at.c[dims[i]], tn_size_const(b->ir, stride ? stride[i] : 1)),
				ix_scale(&b->ix, at.c[rank + i], tn_size_const(b->ir, dil ? dil[i] : 1)));
	}
	return r;
}

/* mirrors forward_view of frame.c */
int nb_view_result(struct nb *b, const struct tn_node *n, const struct nb_at *x, struct nb_at *out)
{
	const uint32_t in = tn_in(&b->ir->g, n, 0), r = tn_out(&b->ir->g, n, 0), rank = tn_rank(&b->ir->g, r);
	struct nb_at at = *x;
	uint32_t k, red = b->f.red;
	if (n->prim == TN_reshape) {
		*out = reshaped(b, at, in, r);
		return 1;
	}
	nb_coords(b, in, &at);
	*out = nb_blank(rank);
	if (n->prim == TN_permute) {
		const int64_t *perm = tn_attr_ints(&b->ir->g, n, TN_ATTR_perm, &k);
		for (uint32_t i = 0; i < rank; i++)
			out->c[i] = at.c[perm[i]];
		return 1;
	}
	const int64_t *where = tn_attr_ints(&b->ir->g, n, TN_ATTR_dims, &k);
	for (uint32_t i = 0; i < at.rank; i++)
		if (shape(b, in)[i] != 1 || shape(b, r)[where[i]] == 1)
			out->c[where[i]] = at.c[i];
	for (uint32_t i = 0; i < rank; i++) {
		if (out->c[i] != TN_NOTHING)
			continue;
		out->c[i] = ix_size(&b->ix, 0);
		if (shape(b, r)[i] == 1)
			continue;
		const uint32_t d = (uint32_t)__builtin_ctz(red);
		out->c[i] = ix_dim(&b->ix, d, b->dims[d].extent);
		red &= red - 1;
	}
	return 1;
}

/* ---- guards */
uint32_t nb_guard(struct nb *b, uint32_t parent, uint32_t index, uint32_t limit)
{
	struct nb_guard g = { parent, index, limit };
	const struct ix x = b->ix.exprs[index];
	uint32_t quotients = 0;
	if (ix_below(&b->ix, index, limit))
		return parent;
	for (uint32_t i = 0; i < x.n; i++)
		quotients += b->ix.atoms[x.t[i].atom].kind == IX_DIV;
	if (quotients && (x.n > 1 || x.offset != 0 || x.t[0].coef != 1))   /* a bound has room for one quotient */
		g.index = ix_step(&b->ix, nb_to_step(b, index), TN_NOTHING);
	uint64_t *at = tn_map_at(&b->by_guard, &g, sizeof g);
	if (*at == 0) {
		*tn_push(b->a, b->guards, b->n_guards, b->cap_guards) = g;
		*at = b->n_guards;                             /* guard 0 is none */
	}
	return (uint32_t)*at;
}

static uint32_t and_step(struct nb *b, uint32_t x, uint32_t y)
{
	return x == TN_NOTHING ? y : nb_prim(b, TN_and, TN_BOOL, (uint32_t[]){ x, y }, 2, NULL, NULL);
}

/* the guards from `guard` up to but not with `stop`, as a bool step; TN_NOTHING: always inside */
static uint32_t inside(struct nb *b, uint32_t guard, uint32_t stop)
{
	uint32_t r = TN_NOTHING;
	for (; guard != stop; guard = b->guards[guard - 1].parent) {
		const struct nb_guard g = b->guards[guard - 1];
		const uint32_t i = nb_to_step(b, g.index), zero = nb_const(b, TN_I64, 0), limit = nb_size_step(b, g.limit);
		r = and_step(b, r, nb_prim(b, TN_le, TN_BOOL, (uint32_t[]){ zero, i }, 2, NULL, NULL));
		r = and_step(b, r, nb_prim(b, TN_lt, TN_BOOL, (uint32_t[]){ i, limit }, 2, NULL, NULL));
	}
	return r;
}

/* ---- memory */
static uint32_t buffer_of(struct nb *b, uint32_t v, uint32_t flags)
{
	uint64_t *at = tn_map_at(&b->by_buffer, &v, sizeof v);
	if (*at == 0) {
		*at = (uint64_t)b->n_buffers + 1;
		uint32_t n = 1;
		for (uint32_t i = 0; i < tn_rank(&b->ir->g, v); i++)
			n = mul(b, n, shape(b, v)[i]);
		*tn_push(b->a, b->buffers, b->n_buffers, b->cap_buffers) = (struct tn_nest_buffer){ .dtype = tn_val(&b->ir->g, v)->dtype, .value = v, .length = n };
	}
	b->buffers[*at - 1].flags |= flags;
	return (uint32_t)(*at - 1);
}

uint32_t nb_access(struct nb *b, uint32_t v, struct nb_at at, uint32_t guard, uint64_t fill, uint32_t flags)
{
	struct nb_access x = { .buffer = buffer_of(b, v, flags), .guard = guard, .fill = guard ? fill : 0 };
	x.index = at.flat != TN_NOTHING ? at.flat : position(b, at.c, shape(b, v), 0, at.rank);
	uint64_t *k = tn_map_at(&b->by_access, &x, sizeof x);
	if (*k == 0) {
		*k = (uint64_t)b->n_accesses + 1;
		*tn_push(b->a, b->accesses, b->n_accesses, b->cap_accesses) = x;
	}
	return (uint32_t)(*k - 1);
}

void nb_store(struct nb *b, uint32_t v, const struct nb_at *at, uint32_t step)
{
	const uint32_t x = nb_access(b, v, *at, 0, 0, TN_BUF_WRITE);
	nb_step(b, (struct tn_step){ .op = TN_STEP_STORE, .dtype = tn_val(&b->ir->g, v)->dtype, .a = x, .b = step }, NULL);
}

static uint32_t single_bits(const struct nb *b, uint32_t v, uint64_t *bits)
{
	const struct tn_value *x = tn_val(&b->ir->g, v);
	const uint32_t bytes = tn_dtype_bytes(x->dtype);
	*bits = 0;
	if (x->constant == TN_NOTHING || b->ir->g.constants.at[x->constant].size != bytes || bytes > 8 || !(TN_M(x->dtype) & TN_M_PLAIN))
		return 0;
	memcpy(bits, b->ir->g.constants.at[x->constant].at, bytes);
	return 1;
}

static uint32_t load(struct nb *b, uint32_t v, struct nb_at at, uint32_t guard, uint64_t fill)
{
	uint64_t bits;
	if (single_bits(b, v, &bits))
		return nb_const(b, tn_val(&b->ir->g, v)->dtype, bits);
	const uint32_t x = nb_access(b, v, at, guard, fill, TN_BUF_READ);
	return nb_step(b, (struct tn_step){ .op = TN_STEP_LOAD, .dtype = tn_val(&b->ir->g, v)->dtype, .a = x }, NULL);
}

/* ---- index expressions as steps */
static uint32_t int_op(struct nb *b, uint32_t prim, uint32_t x, uint32_t y)
{
	return nb_prim(b, prim, TN_I64, (uint32_t[]){ x, y }, 2, NULL, NULL);
}

static uint32_t atom_step(struct nb *b, uint32_t atom)
{
	const struct ix_atom x = b->ix.atoms[atom];
	if (x.kind == IX_STEP)
		return x.at;
	if (x.kind == IX_DIM)
		return nb_step(b, (struct tn_step){ .op = TN_STEP_DIM, .dtype = TN_I64, .a = x.at }, NULL);
	uint32_t s = nb_to_step(b, x.at);
	if (x.div != 1)
		s = int_op(b, TN_div, s, nb_size_step(b, x.div));
	return x.mod == TN_NOTHING ? s : int_op(b, TN_rem, s, nb_size_step(b, x.mod));
}

uint32_t nb_to_step(void *ctx, uint32_t expr)
{
	struct nb *b = ctx;
	const struct ix x = b->ix.exprs[expr];
	uint32_t sum = x.offset == 0 && x.n ? TN_NOTHING : nb_size_step(b, x.offset);
	for (uint32_t i = 0; i < x.n; i++) {
		uint32_t s = atom_step(b, x.t[i].atom);
		if (x.t[i].coef != 1)
			s = int_op(b, TN_mul, s, nb_size_step(b, x.t[i].coef));
		sum = sum == TN_NOTHING ? s : int_op(b, TN_add, sum, s);
	}
	return sum;
}

/* ---- values of the group */
static uint32_t maker(const struct nb *b, uint32_t v)
{
	const uint32_t node = tn_val(&b->ir->g, v)->node;
	return node != TN_NOTHING && b->member[node] ? node : TN_NOTHING;
}

/* v is a load behind views that neither fill nor choose, so that a fill can be the load's own */
static int plain_load(const struct nb *b, uint32_t v)
{
	for (;;) {
		const uint32_t node = maker(b, v);
		if (node == TN_NOTHING) {
			uint64_t bits;
			return !single_bits(b, v, &bits);
		}
		const struct tn_node *n = &b->ir->g.nodes.at[node];
		if (q_class(&b->ir->g, node) != TN_CLS_VIEW || n->prim == TN_pad || n->prim == TN_cat)
			return 0;
		v = tn_in(&b->ir->g, n, 0);
	}
}

static int const_step(const struct nb *b, uint32_t step) { return b->steps[step].op == TN_STEP_CONST; }

/* value v of operand at `at` inside guard g (which has parent `guard`), else the step `other` */
static uint32_t guarded(struct nb *b, uint32_t v, struct nb_at at, uint32_t g, uint32_t guard, uint32_t other, uint64_t fill)
{
	if (g == guard)
		return nb_emit(b, v, at, guard, fill);
	if (const_step(b, other) && plain_load(b, v))
		return nb_emit(b, v, at, g, b->steps[other].bits);
	const uint32_t x = nb_emit(b, v, at, g, 0), c = inside(b, g, guard);
	return nb_prim(b, TN_select, b->steps[x].dtype, (uint32_t[]){ c, x, other }, 3, NULL, NULL);
}

static uint32_t emit_pad(struct nb *b, const struct tn_node *n, struct nb_at at, uint32_t guard, uint64_t fill)
{
	const uint32_t in = tn_in(&b->ir->g, n, 0), out = tn_out(&b->ir->g, n, 0);
	uint32_t k, g = guard;
	const uint32_t *low = tn_attr_sizes(&b->ir->g, n, TN_ATTR_low, &k), *high = tn_attr_sizes(&b->ir->g, n, TN_ATTR_high, &k);
	const int64_t *interior = tn_attr_ints(&b->ir->g, n, TN_ATTR_interior, &k);
	struct nb_at r = nb_blank(at.rank);
	nb_coords(b, out, &at);
	for (uint32_t i = 0; i < at.rank; i++) {
		const int64_t step = 1 + (interior && k ? interior[i] : 0);
		const uint32_t by = tn_size_const(b->ir, step), dim = shape(b, in)[i];
		uint32_t c = ix_plus(&b->ix, at.c[i], mul(b, low[i], tn_size_const(b->ir, -1)));
		if (low[i] != 0 || high[i] != 0 || step != 1)
			g = nb_guard(b, g, c, step == 1 ? dim : add(b, mul(b, sub(b, dim, 1), by), 1));
		if (step != 1) {
			g = nb_guard(b, g, ix_mod(&b->ix, c, by), 1);
			c = ix_div(&b->ix, c, by);
		}
		r.c[i] = dim == 1 ? ix_size(&b->ix, 0) : c;    /* a single element: where the guard holds it is that one */
	}
	const uint32_t other = nb_emit(b, tn_in(&b->ir->g, n, 1), nb_blank(0), guard, fill);
	return guarded(b, in, r, g, guard, other, fill);
}

/* the last operand, over it the one before where the coordinate is below its end, ... */
static uint32_t emit_cat(struct nb *b, const struct tn_node *n, struct nb_at at, uint32_t guard)
{
	const struct tn_graph *g = &b->ir->g;
	const uint32_t axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0);
	uint32_t from = 0, r = TN_NOTHING, *starts = tn_array(b->a, uint32_t, n->n_in + 1);
	nb_coords(b, tn_out(g, n, 0), &at);
	for (uint32_t i = 0; i < n->n_in; i++) {
		starts[i] = from;
		from = add(b, from, shape(b, tn_in(&b->ir->g, n, i))[axis]);
	}
	for (uint32_t i = n->n_in; i-- > 0;) {
		const uint32_t v = tn_in(&b->ir->g, n, i), dim = shape(b, v)[axis];
		struct nb_at p = at;
		if (dim == 0)
			continue;
		p.flat = TN_NOTHING;
		p.c[axis] = ix_plus(&b->ix, at.c[axis], mul(b, starts[i], tn_size_const(b->ir, -1)));
		const uint32_t at_axis = p.c[axis], inner = nb_guard(b, guard, at_axis, dim);
		p.c[axis] = dim == 1 ? ix_size(&b->ix, 0) : at_axis;
		const uint32_t x = nb_emit(b, v, p, inner, 0);
		if (r == TN_NOTHING || inner == guard) {
			r = x;
			continue;
		}
		const uint32_t c = nb_prim(b, TN_lt, TN_BOOL, (uint32_t[]){ nb_to_step(b, at_axis), nb_size_step(b, dim) }, 2, NULL, NULL);
		r = nb_prim(b, TN_select, b->steps[x].dtype, (uint32_t[]){ c, x, r }, 3, NULL, NULL);
	}
	return r != TN_NOTHING ? r : nb_const(b, tn_val(&b->ir->g, tn_out(&b->ir->g, n, 0))->dtype, 0);
}

/* coordinates of the index operand from those of gather's result or scatter's updates */
static struct nb_at index_at(const struct nb *b, const struct tn_node *n, const struct nb_at *at)
{
	const struct tn_graph *g = &b->ir->g;
	const uint32_t axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(g, n, TN_ATTR_batch, 0);
	struct nb_at r = nb_blank(tn_rank(g, tn_in(g, n, 1)));
	for (uint32_t d = 0; d < r.rank; d++)
		r.c[d] = d < batch ? at->c[d] : at->c[axis + d - batch];
	return r;
}

enum { CLAMP, DROP };

uint32_t nb_index_step(struct nb *b, const struct tn_node *n, const struct nb_at *at)
{
	const uint32_t axis = (uint32_t)tn_attr_int(&b->ir->g, n, TN_ATTR_axis, 0), dim = shape(b, tn_in(&b->ir->g, n, 0))[axis];
	uint32_t i = nb_convert(b, nb_emit(b, tn_in(&b->ir->g, n, 1), index_at(b, n, at), 0, 0), TN_I64);
	if (tn_attr_int(&b->ir->g, n, TN_ATTR_mode, CLAMP) == DROP)
		return i;
	i = int_op(b, TN_min, i, nb_size_step(b, sub(b, dim, 1)));
	return int_op(b, TN_max, i, nb_const(b, TN_I64, 0));
}

static uint32_t emit_gather(struct nb *b, const struct tn_node *n, struct nb_at at, uint32_t guard)
{
	const struct tn_graph *g = &b->ir->g;
	const uint32_t x = tn_in(g, n, 0), axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(g, n, TN_ATTR_batch, 0);
	const uint32_t dim = shape(b, x)[axis], n_index = tn_rank(g, tn_in(g, n, 1)) - batch;
	const int drop = tn_attr_int(g, n, TN_ATTR_mode, CLAMP) == DROP, empty = b->ir->g.sizes.at[dim].lo <= 0;
	nb_coords(b, tn_out(g, n, 0), &at);
	struct nb_at ia = index_at(b, n, &at), r = nb_blank(tn_rank(g, x));
	uint32_t i = nb_convert(b, nb_emit(b, tn_in(&b->ir->g, n, 1), ia, guard, 0), TN_I64);
	if (!drop) {
		i = int_op(b, TN_min, i, nb_size_step(b, sub(b, dim, 1)));
		i = int_op(b, TN_max, i, nb_const(b, TN_I64, 0));
	}
	const uint32_t at_axis = ix_step(&b->ix, i, drop || empty ? TN_NOTHING : dim);
	for (uint32_t d = 0; d < r.rank; d++)
		r.c[d] = d < axis ? at.c[d] : d > axis ? at.c[d - 1 + n_index] : dim == 1 ? ix_size(&b->ix, 0) : at_axis;
	if (!drop && !empty)
		return nb_emit(b, x, r, guard, 0);
	const uint32_t inner = nb_guard(b, guard, at_axis, dim);
	return guarded(b, x, r, inner, guard, nb_const(b, tn_val(&b->ir->g, x)->dtype, 0), 0);
}

static uint32_t emit_data(struct nb *b, const struct tn_node *n, struct nb_at at)
{
	const uint32_t out = tn_out(&b->ir->g, n, 0), dtype = tn_val(&b->ir->g, out)->dtype;
	if (n->prim == TN_full) {
		const struct tn_attr *x = tn_attr_find(&b->ir->g, n, TN_ATTR_value);
		return nb_const(b, dtype, x ? nb_bits(dtype, x->type == TN_ATTR_FLOAT, x->i, x->f) : 0);
	}
	nb_coords(b, out, &at);
	return nb_convert(b, nb_to_step(b, at.c[tn_attr_int(&b->ir->g, n, TN_ATTR_axis, 0)]), dtype);
}

static uint32_t emit_point(struct nb *b, const struct tn_node *n, const struct nb_at *at, uint32_t guard)
{
	uint32_t *args = tn_array(b->a, uint32_t, n->n_in + 1);
	for (uint32_t i = 0; i < n->n_in; i++)
		args[i] = nb_emit(b, tn_in(&b->ir->g, n, i), *at, guard, 0);
	return nb_prim(b, n->prim, tn_val(&b->ir->g, tn_out(&b->ir->g, n, 0))->dtype, args, n->n_in, &b->ir->g, n);
}

/* a reduction's, dot's or cumulate's result: computed at home only */
static uint32_t emit_anchor(struct nb *b, uint32_t v, const struct nb_at *at)
{
	struct nb_at want = *at, home = b->home[v];
	if (b->anchor[v] != TN_NOTHING && !same_at(&want, &home)) {
		nb_coords(b, v, &want);
		nb_coords(b, v, &home);
	}
	if (b->anchor[v] == TN_NOTHING || !same_at(&want, &home))
		tn_raise(b->a->diag, TN_E_INTERNAL, "nest: %s is read %s", tn_prim_name(b->ir->g.nodes.at[tn_val(&b->ir->g, v)->node].prim),
			b->anchor[v] == TN_NOTHING ? "before it is computed" : "at other coordinates than its own");
	return nb_convert(b, b->anchor[v], tn_val(&b->ir->g, v)->dtype);
}

static int has_home(const struct nb *b, uint32_t v) { return b->home[v].rank != TN_NOTHING; }

static uint32_t emit_view(struct nb *b, const struct tn_node *n, struct nb_at at, uint32_t guard, uint64_t fill)
{
	const uint32_t in = tn_in(&b->ir->g, n, 0), out = tn_out(&b->ir->g, n, 0);
	if (n->prim == TN_pad)
		return emit_pad(b, n, at, guard, fill);
	if (n->prim == TN_cat)
		return emit_cat(b, n, at, guard);
	const int back = n->prim == TN_permute || n->prim == TN_reshape || n->prim == TN_broadcast;
	if (back && has_home(b, in) && has_home(b, out) && same_at(&at, &b->home[out]))
		return nb_emit(b, in, b->home[in], guard, fill);
	return nb_emit(b, in, nb_view_operand(b, n, at), guard, fill);
}

static uint32_t emit_member(struct nb *b, uint32_t v, uint32_t node, struct nb_at at, uint32_t guard, uint64_t fill)
{
	const struct tn_node *n = &b->ir->g.nodes.at[node];
	switch (q_class(&b->ir->g, node)) {
	case TN_CLS_POINTWISE: return emit_point(b, n, &at, guard);
	case TN_CLS_VIEW: return emit_view(b, n, at, guard, fill);
	case TN_CLS_DATA: return emit_data(b, n, at);
	case TN_CLS_GATHER: return emit_gather(b, n, at, guard);
	default: return emit_anchor(b, v, &at);
	}
}

uint32_t nb_emit(struct nb *b, uint32_t v, struct nb_at at, uint32_t guard, uint64_t fill)
{
	const uint32_t node = maker(b, v);
	struct { uint32_t v, scope, guard, pad; uint64_t fill; struct nb_at at; } key = { v, b->scope, guard, 0, guard ? fill : 0, at };
	if (node == TN_NOTHING)
		return load(b, v, at, guard, fill);
	const uint64_t *known = tn_map_find(&b->by_value, &key, sizeof key);
	if (known)
		return (uint32_t)(*known - 1);
	if (b->out[v] && !has_home(b, v) && guard == 0)
		b->home[v] = at;
	const uint32_t step = emit_member(b, v, node, at, guard, fill);
	*tn_map_at(&b->by_value, &key, sizeof key) = (uint64_t)step + 1;
	return step;
}
