/* index.c - index expressions: sums of dims, steps and quotients, simplified by what extents prove. */
#include "schedule/index.h"
#include <stdlib.h>
#include <string.h>

void ix_init(struct ix_space *s, struct tn_ir *ir, struct tn_arena *a, uint32_t (*to_step)(void *, uint32_t), void *ctx)
{
	*s = (struct ix_space){ .ir = ir, .a = a, .to_step = to_step, .ctx = ctx, .by_atom = { .arena = a }, .by_expr = { .arena = a } };
}

static int by_atom_number(const void *x, const void *y)
{
	const struct ix_term *p = x, *q = y;
	return p->atom < q->atom ? -1 : p->atom > q->atom;
}

/* interns; t is the caller's scratch: sorted and merged here */
static uint32_t intern(struct ix_space *s, uint32_t offset, struct ix_term *t, uint32_t n)
{
	uint32_t k = 0;
	if (n > 1)
		qsort(t, n, sizeof *t, by_atom_number);
	for (uint32_t i = 0; i < n; i++) {
		if (k > 0 && t[k - 1].atom == t[i].atom)
			t[k - 1].coef = tn_size_op(s->ir, TN_SIZE_ADD, t[k - 1].coef, t[i].coef);
		else
			t[k++] = t[i];
		if (t[k - 1].coef == 0)
			k--;
	}
	uint32_t *key = tn_array(s->a, uint32_t, 2 * k + 1);
	key[0] = offset;
	if (k > 0)
		memcpy(key + 1, t, k * sizeof *t);
	uint64_t *at = tn_map_at(&s->by_expr, key, (2 * k + 1) * sizeof *key);
	if (*at == 0) {
		*at = (uint64_t)s->n_exprs + 1;
		*tn_push(s->a, s->exprs, s->n_exprs, s->cap_exprs) =
			(struct ix){ .offset = offset, .n = k, .t = k ? tn_copy_bytes(s->a, t, k * sizeof *t) : NULL };
	}
	return (uint32_t)(*at - 1);
}

static uint32_t atom(struct ix_space *s, struct ix_atom x)
{
	uint64_t *at = tn_map_at(&s->by_atom, &x, sizeof x);
	if (*at == 0) {
		*at = (uint64_t)s->n_atoms + 1;
		*tn_push(s->a, s->atoms, s->n_atoms, s->cap_atoms) = x;
	}
	return (uint32_t)(*at - 1);
}

static uint32_t of_atom(struct ix_space *s, struct ix_atom x)
{
	return intern(s, 0, &(struct ix_term){ atom(s, x), 1 }, 1);
}

uint32_t ix_size(struct ix_space *s, uint32_t size) { return intern(s, size, NULL, 0); }
uint32_t ix_dim(struct ix_space *s, uint32_t dim, uint32_t extent) { return of_atom(s, (struct ix_atom){ .kind = IX_DIM, .at = dim, .mod = TN_NOTHING, .extent = extent }); }
uint32_t ix_step(struct ix_space *s, uint32_t step, uint32_t extent) { return of_atom(s, (struct ix_atom){ .kind = IX_STEP, .at = step, .mod = TN_NOTHING, .extent = extent }); }

uint32_t ix_add(struct ix_space *s, uint32_t x, uint32_t y)
{
	const struct ix p = s->exprs[x], q = s->exprs[y];
	struct ix_term *t = tn_array(s->a, struct ix_term, p.n + q.n + 1);
	if (p.n)
		memcpy(t, p.t, p.n * sizeof *t);
	if (q.n)
		memcpy(t + p.n, q.t, q.n * sizeof *t);
	return intern(s, tn_size_op(s->ir, TN_SIZE_ADD, p.offset, q.offset), t, p.n + q.n);
}

uint32_t ix_scale(struct ix_space *s, uint32_t x, uint32_t by)
{
	const struct ix p = s->exprs[x];
	struct ix_term *t = tn_array(s->a, struct ix_term, p.n + 1);
	for (uint32_t i = 0; i < p.n; i++)
		t[i] = (struct ix_term){ p.t[i].atom, tn_size_op(s->ir, TN_SIZE_MUL, p.t[i].coef, by) };
	return intern(s, tn_size_op(s->ir, TN_SIZE_MUL, p.offset, by), t, p.n);
}

uint32_t ix_plus(struct ix_space *s, uint32_t x, uint32_t size)
{
	return ix_add(s, x, ix_size(s, size));
}

static const struct tn_size *row(const struct ix_space *s, uint32_t size) { return &s->ir->g.sizes.at[size]; }

/* one more than the largest value, or TN_NOTHING; every part must be 0 or above */
static uint32_t upper(struct ix_space *s, uint32_t x)
{
	const struct ix p = s->exprs[x];
	uint32_t sum = tn_size_op(s->ir, TN_SIZE_ADD, p.offset, 1);
	if (row(s, p.offset)->lo < 0)
		return TN_NOTHING;
	for (uint32_t i = 0; i < p.n; i++) {
		const uint32_t extent = s->atoms[p.t[i].atom].extent;
		if (extent == TN_NOTHING || row(s, p.t[i].coef)->lo < 0)
			return TN_NOTHING;
		const uint32_t last = tn_size_op(s->ir, TN_SIZE_ADD, extent, tn_size_const(s->ir, -1));
		sum = tn_size_op(s->ir, TN_SIZE_ADD, sum, tn_size_op(s->ir, TN_SIZE_MUL, p.t[i].coef, last));
	}
	return sum;
}

int ix_below(struct ix_space *s, uint32_t x, uint32_t limit)
{
	const uint32_t u = upper(s, x);
	return u != TN_NOTHING && tn_size_le(s->ir, u, limit) == 1;
}

/* whether by divides size, and the quotient */
static int divides(struct ix_space *s, uint32_t size, uint32_t by, uint32_t *q)
{
	*q = size == 0 ? 0 : 1;
	if (size == 0 || size == by)
		return 1;
	if (row(s, by)->lo <= 0)
		return 0;
	*q = tn_size_op(s->ir, TN_SIZE_DIV, size, by);
	return tn_size_op(s->ir, TN_SIZE_MUL, *q, by) == size;
}

/* x = q * by + r, term by term */
static void split(struct ix_space *s, uint32_t x, uint32_t by, uint32_t *q, uint32_t *r)
{
	const struct ix p = s->exprs[x];
	struct ix_term *tq = tn_array(s->a, struct ix_term, p.n + 1), *tr = tn_array(s->a, struct ix_term, p.n + 1);
	uint32_t nq = 0, nr = 0, k, oq = 0, or_ = p.offset;
	for (uint32_t i = 0; i < p.n; i++)
		if (divides(s, p.t[i].coef, by, &k))
			tq[nq++] = (struct ix_term){ p.t[i].atom, k };
		else
			tr[nr++] = p.t[i];
	if (divides(s, p.offset, by, &k)) {
		oq = k;
		or_ = 0;
	}
	*q = intern(s, oq, tq, nq);
	*r = intern(s, or_, tr, nr);
}

/* x as an expression of dims and steps alone: itself, or one step */
static uint32_t plain(struct ix_space *s, uint32_t x)
{
	const struct ix p = s->exprs[x];
	for (uint32_t i = 0; i < p.n; i++)
		if (s->atoms[p.t[i].atom].kind == IX_DIV) {
			const uint32_t u = upper(s, x);
			return ix_step(s, s->to_step(s->ctx, x), u);
		}
	return x;
}

static const struct ix_atom *single(const struct ix_space *s, uint32_t x)
{
	const struct ix p = s->exprs[x];
	return p.n == 1 && p.offset == 0 && p.t[0].coef == 1 && s->atoms[p.t[0].atom].kind == IX_DIV ? &s->atoms[p.t[0].atom] : NULL;
}

static uint32_t positive(struct ix_space *s, uint32_t by)
{
	return row(s, by)->lo > 0 ? by : tn_size_op(s->ir, TN_SIZE_MAX, by, 1);
}

/* ceil(extent / by) */
static uint32_t quotient_extent(struct ix_space *s, uint32_t x, uint32_t by)
{
	const uint32_t u = upper(s, x);
	if (u == TN_NOTHING)
		return TN_NOTHING;
	const uint32_t up = tn_size_op(s->ir, TN_SIZE_ADD, u, tn_size_op(s->ir, TN_SIZE_ADD, by, tn_size_const(s->ir, -1)));
	return tn_size_op(s->ir, TN_SIZE_DIV, up, by);
}

static uint32_t div_rest(struct ix_space *s, uint32_t x, uint32_t by)
{
	const struct ix_atom *one = single(s, x);
	uint32_t q;
	if (one && one->mod == TN_NOTHING) {
		const uint32_t at = one->at, both = tn_size_op(s->ir, TN_SIZE_MUL, one->div, by);
		return of_atom(s, (struct ix_atom){ .kind = IX_DIV, .at = at, .div = both, .mod = TN_NOTHING, .extent = quotient_extent(s, at, both) });
	}
	if (one && divides(s, one->mod, by, &q)) {         /* ((x / d) mod (by * q)) / by = (x / (d * by)) mod q */
		const uint32_t at = one->at, both = tn_size_op(s->ir, TN_SIZE_MUL, one->div, by);
		return of_atom(s, (struct ix_atom){ .kind = IX_DIV, .at = at, .div = both, .mod = q, .extent = q });
	}
	x = plain(s, x);
	return of_atom(s, (struct ix_atom){ .kind = IX_DIV, .at = x, .div = by, .mod = TN_NOTHING, .extent = quotient_extent(s, x, by) });
}

uint32_t ix_div(struct ix_space *s, uint32_t x, uint32_t by)
{
	uint32_t q, r;
	if (by == 1)
		return x;
	split(s, x, by, &q, &r);
	if (ix_below(s, r, by))
		return q;
	by = positive(s, by);
	return ix_add(s, q, div_rest(s, r, by));
}

uint32_t ix_mod(struct ix_space *s, uint32_t x, uint32_t by)
{
	uint32_t q, r;
	if (by == 1)
		return ix_size(s, 0);
	if (ix_below(s, x, by))
		return x;
	split(s, x, by, &q, &r);
	if (ix_below(s, r, by))
		return r;
	by = positive(s, by);
	const struct ix_atom *one = single(s, r);
	if (one && (one->mod == TN_NOTHING || divides(s, one->mod, by, &q))) {
		const uint32_t at = one->at, div = one->div;
		return of_atom(s, (struct ix_atom){ .kind = IX_DIV, .at = at, .div = div, .mod = by, .extent = by });
	}
	r = plain(s, r);
	return of_atom(s, (struct ix_atom){ .kind = IX_DIV, .at = r, .div = 1, .mod = by, .extent = by });
}
