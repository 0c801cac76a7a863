/* size.c - symbolic sizes: canonical and interned, so that equal sizes have equal handles
 *
 * A handle is a row of g.sizes, and beside each row stands its polynomial.  An operation works on polynomials, and the result is
 * looked up; what is new gets the rows that spell it out.  Floor division and remainder take out of the dividend what they can,
 * so that (64*n + k) mod 64 is k mod 64; minimum and maximum drop operands that bounds decide. */
#include "ir/store.h"
#include <string.h>

static int64_t gcd64(int64_t a, int64_t b)
{
	while (b) {
		const int64_t t = a % b;
		a = b;
		b = t;
	}
	return a < 0 ? -a : a;
}

const char *tn_symbol_name(const struct tn_graph *g, uint32_t symbol)
{
	return symbol < g->n_symbols ? tn_str_at(g, g->symbols[symbol]) : "?";
}

/* ---- rows */
static uint32_t push_row(struct tn_ir *ir, struct tn_size row, struct tn_poly p)
{
	struct tn_ir_store *s = ir->store;
	const int leaf = row.op == TN_SIZE_CONST || row.op == TN_SIZE_SYM;
	const uint32_t weight = leaf ? 1 : 1 + s->weights[row.a] + s->weights[row.b];
	if (weight > TN_SIZE_WEIGHT)
		tn_raise(ir->arena->diag, TN_E_RANGE, "size expression: more than %u operations", TN_SIZE_WEIGHT);
	if (!leaf)
		tn_size_bounds(row.op, &s->sizes[row.a], &s->sizes[row.b], &row.lo, &row.hi);
	const uint32_t at = (uint32_t)ir->g.sizes.count;
	p.t = tn_copy_bytes(ir->arena, p.t, p.n * sizeof *p.t);
	*tn_push(ir->arena, s->polys, s->n_polys, s->cap_polys) = p;
	*tn_push(ir->arena, s->weights, s->n_weights, s->cap_weights) = weight;
	*tn_push(ir->arena, s->sizes, ir->g.sizes.count, s->cap_sizes) = row;
	ir->g.sizes.at = s->sizes;
	if (p.n)
		*tn_map_at(&s->by_poly, p.t, p.n * sizeof *p.t) = (uint64_t)at + 1;
	return at;
}

/* an atom stands for itself: its polynomial is 1 * row */
static uint32_t push_atom(struct tn_ir *ir, struct tn_size row)
{
	const struct tn_poly_term self = { .c = 1, .n = 1, .atom = { (uint32_t)ir->g.sizes.count } };
	return push_row(ir, row, (struct tn_poly){ &self, 1 });
}

static uint32_t atom(struct tn_ir *ir, uint32_t op, uint32_t a, uint32_t b)
{
	const uint32_t key[3] = { op, a, b };
	const uint64_t *known = tn_map_find(&ir->store->by_atom, key, sizeof key);
	if (known)
		return (uint32_t)(*known - 1);
	const uint32_t at = push_atom(ir, (struct tn_size){ .op = op, .a = a, .b = b });
	*tn_map_at(&ir->store->by_atom, key, sizeof key) = (uint64_t)at + 1;
	return at;
}

static uint32_t term_row(struct tn_ir *ir, struct tn_poly p)
{
	struct tn_poly_term head = p.t[0], last = { .c = 1, .n = 1 };
	if (head.n == 0)
		return push_row(ir, (struct tn_size){ .op = TN_SIZE_CONST, .value = head.c, .lo = head.c, .hi = head.c }, p);
	if (head.c == 1) {             /* two atoms or more: a single one is known */
		last.atom[0] = head.atom[--head.n];
		head.atom[head.n] = 0;
	} else {
		last = (struct tn_poly_term){ .c = head.c };
		head.c = 1;
	}
	const uint32_t a = tn_size_of_poly(ir, (struct tn_poly){ &head, 1 });
	const uint32_t b = tn_size_of_poly(ir, (struct tn_poly){ &last, 1 });
	return push_row(ir, (struct tn_size){ .op = TN_SIZE_MUL, .a = a, .b = b }, p);
}

uint32_t tn_size_of_poly(struct tn_ir *ir, struct tn_poly p)
{
	if (p.n == 0)
		return 0;
	const uint64_t *known = tn_map_find(&ir->store->by_poly, p.t, p.n * sizeof *p.t);
	if (known)
		return (uint32_t)(*known - 1);
	if (p.n == 1)
		return term_row(ir, p);
	const uint32_t a = tn_size_of_poly(ir, (struct tn_poly){ p.t, p.n - 1 });
	const uint32_t b = tn_size_of_poly(ir, (struct tn_poly){ p.t + p.n - 1, 1 });
	return push_row(ir, (struct tn_size){ .op = TN_SIZE_ADD, .a = a, .b = b }, p);
}

void tn_size_start(struct tn_ir *ir)
{
	push_row(ir, (struct tn_size){ .op = TN_SIZE_CONST }, (struct tn_poly){ NULL, 0 });
	tn_size_const(ir, 1);
}

uint32_t tn_size_const(struct tn_ir *ir, int64_t value)
{
	const struct tn_poly_term t = { .c = value };
	return tn_size_of_poly(ir, (struct tn_poly){ &t, value != 0 });
}

/* ---- symbols */
static const char *fresh_name(struct tn_ir *ir)
{
	for (;;) {
		const char *name = tn_printf(ir->arena, "s%u", ir->store->next_symbol++);
		if (!tn_map_find(&ir->store->by_symbol, name, strlen(name)))
			return name;
	}
}

static void narrow(struct tn_ir *ir, uint32_t at, int64_t lo, int64_t hi)
{
	struct tn_size *rows = ir->store->sizes, *r = &rows[at];
	lo = lo > r->lo ? lo : r->lo;
	hi = hi < r->hi ? hi : r->hi;
	if (lo > hi)
		tn_raise(ir->arena->diag, TN_E_ARG, "size %s: bounds %lld and %lld leave no value", tn_symbol_name(&ir->g, r->a), (long long)lo, (long long)hi);
	if (lo == r->lo && hi == r->hi)
		return;
	r->lo = lo;
	r->hi = hi;
	for (uint64_t i = at + 1; i < ir->g.sizes.count; i++)
		if (rows[i].op != TN_SIZE_CONST && rows[i].op != TN_SIZE_SYM)
			tn_size_bounds(rows[i].op, &rows[rows[i].a], &rows[rows[i].b], &rows[i].lo, &rows[i].hi);
}

uint32_t tn_size_sym(struct tn_ir *ir, const char *name, int64_t lo, int64_t hi)
{
	struct tn_ir_store *s = ir->store;
	if (name == NULL || *name == 0)
		name = fresh_name(ir);
	const size_t len = strlen(name);
	const uint64_t *known = tn_map_find(&s->by_symbol, name, len);
	if (known) {
		const uint32_t at = (uint32_t)(*known - 1);
		narrow(ir, at, lo, hi);
		return at;
	}
	if (lo > hi)
		tn_raise(ir->arena->diag, TN_E_ARG, "size %s: bounds %lld and %lld leave no value", name, (long long)lo, (long long)hi);
	const uint32_t text = tn_put_text(ir, name, len), number = (uint32_t)ir->g.n_symbols;
	*tn_push(ir->arena, s->symbols, ir->g.n_symbols, s->cap_symbols) = text;
	ir->g.symbols = s->symbols;
	const uint32_t at = push_atom(ir, (struct tn_size){ .op = TN_SIZE_SYM, .a = number, .lo = lo, .hi = hi });
	*tn_map_at(&s->by_symbol, name, len) = (uint64_t)at + 1;
	return at;
}

/* ---- division */
static int within(const struct tn_ir *ir, struct tn_poly p, int64_t lo, int64_t hi)
{
	int64_t l, h;
	tn_poly_bounds(ir, p, &l, &h);
	return l >= lo && h <= hi;
}

/* 0 <= r < y proven */
static int is_remainder(struct tn_ir *ir, struct tn_poly r, struct tn_poly y)
{
	return within(ir, r, 0, INT64_MAX) && within(ir, tn_poly_add(ir, r, y, -1), INT64_MIN, -1);
}

/* the atom `a op b` as a polynomial, or its value where bounds leave one */
static struct tn_poly atom_poly(struct tn_ir *ir, uint32_t op, struct tn_poly a, struct tn_poly b)
{
	const uint32_t x = tn_size_of_poly(ir, a), y = tn_size_of_poly(ir, b);
	int64_t lo, hi;
	tn_size_bounds(op, &ir->store->sizes[x], &ir->store->sizes[y], &lo, &hi);
	if (lo == hi)
		return tn_poly_const(ir, lo);
	return tn_poly_of(ir, atom(ir, op, x, y));
}

/* p = q*c + r: coefficients of r within (-c/2, c/2], so that (-n) div c stays what it is, and its constant within [0, c) */
static void split(struct tn_ir *ir, struct tn_poly p, int64_t c, struct tn_poly *q, struct tn_poly *r)
{
	struct tn_poly_term *tq = tn_array(&ir->store->scratch, struct tn_poly_term, p.n), *tr = tn_array(&ir->store->scratch, struct tn_poly_term, p.n);
	uint64_t nq = 0, nr = 0;
	for (uint64_t i = 0; i < p.n; i++) {
		int64_t k = tn_floor_div(p.t[i].c, c), rest = p.t[i].c - k * c;
		if (p.t[i].n > 0 && rest > c / 2) {
			rest -= c;
			k++;
		}
		tq[nq] = tr[nr] = p.t[i];
		tq[nq].c = k;
		tr[nr].c = rest;
		nq += k != 0;
		nr += rest != 0;
	}
	*q = (struct tn_poly){ tq, nq };
	*r = (struct tn_poly){ tr, nr };
}

/* the largest number that divides c and all coefficients of r but the constant; takes it out of r (the constant rounds down) */
static int64_t take_gcd(struct tn_ir *ir, struct tn_poly *r, int64_t c, int64_t *k)
{
	struct tn_poly_term *t = tn_copy_bytes(&ir->store->scratch, r->t, r->n * sizeof *r->t);
	uint64_t n = 0;
	int64_t g = c;
	for (uint64_t i = 0; i < r->n; i++)
		g = r->t[i].n ? gcd64(g, r->t[i].c) : g;
	*k = 0;
	for (uint64_t i = 0; i < r->n; i++) {
		t[n] = r->t[i];
		t[n].c = tn_floor_div(r->t[i].c, g);
		*k += r->t[i].n ? 0 : r->t[i].c - t[n].c * g;
		n += t[n].c != 0;
	}
	*r = (struct tn_poly){ t, n };
	return g;
}

static struct tn_poly poly_div(struct tn_ir *ir, struct tn_poly p, struct tn_poly y);

/* (x div a + k) div c = (x + k*a) div (a*c) for positive a and c */
static int nested_div(struct tn_ir *ir, struct tn_poly r, int64_t c, struct tn_poly *out)
{
	int64_t a, k = 0, both;
	const struct tn_size *row;
	if (r.n == 0 || r.n > 2 || r.t[0].c != 1 || r.t[0].n != 1 || (r.n == 2 && r.t[1].n != 0))
		return 0;
	row = &ir->store->sizes[r.t[0].atom[0]];
	if (row->op != TN_SIZE_DIV || !tn_poly_is_const(tn_poly_of(ir, row->b), &a) || a <= 0 || __builtin_mul_overflow(a, c, &both))
		return 0;
	k = r.n == 2 ? r.t[1].c : 0;
	const struct tn_poly x = tn_poly_add(ir, tn_poly_of(ir, row->a), tn_poly_mul(ir, tn_poly_const(ir, k), tn_poly_const(ir, a)), 1);
	*out = poly_div(ir, x, tn_poly_const(ir, both));
	return 1;
}

static struct tn_poly div_const(struct tn_ir *ir, struct tn_poly p, int64_t c)
{
	struct tn_poly q, r, inner;
	int64_t k;
	split(ir, p, c, &q, &r);
	c /= take_gcd(ir, &r, c, &k);
	if (within(ir, r, 0, c - 1))
		return q;
	if (nested_div(ir, r, c, &inner))
		return tn_poly_add(ir, q, inner, 1);
	return tn_poly_add(ir, q, atom_poly(ir, TN_SIZE_DIV, r, tn_poly_const(ir, c)), 1);
}

/* removes from both the atoms that every term of p and the one term of y have */
static void cancel(struct tn_ir *ir, struct tn_poly *p, struct tn_poly *y)
{
	for (uint32_t j = 0; y->n == 1 && j < y->t[0].n;) {
		const struct tn_poly_term f = { .c = 1, .n = 1, .atom = { y->t[0].atom[j] } };
		const struct tn_poly by = { tn_copy_bytes(&ir->store->scratch, &f, sizeof f), 1 };
		struct tn_poly q, r, qy, ry;
		tn_poly_divide(ir, *p, by, &q, &r);
		if (r.n == 0 && tn_poly_divide(ir, *y, by, &qy, &ry)) {
			*p = q;
			*y = qy;
		} else {
			j++;
		}
	}
}

static struct tn_poly poly_div(struct tn_ir *ir, struct tn_poly p, struct tn_poly y)
{
	const struct tn_poly none = { NULL, 0 };
	struct tn_poly q, r;
	int64_t lo, hi, c;
	tn_poly_bounds(ir, y, &lo, &hi);
	if (lo <= 0 && hi >= 0) {
		struct tn_text t = { .arena = ir->arena };
		tn_size_print(&t, &ir->g, tn_size_of_poly(ir, y));
		tn_raise(ir->arena->diag, TN_E_ARG, "size expression: the divisor %s may be 0 (its bounds are %lld and %lld)", t.at, (long long)lo, (long long)hi);
	}
	cancel(ir, &p, &y);
	tn_poly_bounds(ir, y, &lo, &hi);
	if (hi < 0) {
		p = tn_poly_add(ir, none, p, -1);
		y = tn_poly_add(ir, none, y, -1);
	}
	if (tn_poly_is_const(y, &c))
		return div_const(ir, p, c);
	tn_poly_divide(ir, p, y, &q, &r);
	if (r.n == 0 || is_remainder(ir, r, y))
		return q;
	return tn_poly_add(ir, q, atom_poly(ir, TN_SIZE_DIV, r, y), 1);
}

static struct tn_poly poly_mod(struct tn_ir *ir, struct tn_poly p, struct tn_poly y)
{
	const struct tn_poly none = { NULL, 0 };
	struct tn_poly q, r;
	int64_t lo, hi, c, k;
	tn_poly_bounds(ir, y, &lo, &hi);
	if (lo <= 0)                   /* negative, or the division says what is wrong */
		return tn_poly_add(ir, p, tn_poly_mul(ir, poly_div(ir, p, y), y), -1);
	if (!tn_poly_is_const(y, &c)) {
		tn_poly_divide(ir, p, y, &q, &r);
		return r.n == 0 || is_remainder(ir, r, y) ? r : atom_poly(ir, TN_SIZE_MOD, r, y);
	}
	split(ir, p, c, &q, &r);
	if (within(ir, r, 0, c - 1))
		return r;
	const int64_t g = take_gcd(ir, &r, c, &k);
	r = c / g == 1 || within(ir, r, 0, c / g - 1) ? r : atom_poly(ir, TN_SIZE_MOD, r, tn_poly_const(ir, c / g));
	r = tn_poly_mul(ir, c / g == 1 ? none : r, tn_poly_const(ir, g));
	return tn_poly_add(ir, r, tn_poly_const(ir, k), 1);
}

/* ---- minimum and maximum: flat sets of operands in order, none of which another one makes superfluous */
struct set { uint32_t at[64], n; };

static void gather_set(struct tn_ir *ir, uint32_t op, uint32_t size, struct set *s)
{
	const struct tn_size row = ir->store->sizes[size];
	if (row.op == op) {
		gather_set(ir, op, row.a, s);
		gather_set(ir, op, row.b, s);
		return;
	}
	if (s->n == 64)
		tn_raise(ir->arena->diag, TN_E_RANGE, "size expression: %s of more than 64", op == TN_SIZE_MIN ? "min" : "max");
	s->at[s->n++] = size;
}

/* op of a and b is b */
static int yields(struct tn_ir *ir, uint32_t op, uint32_t a, uint32_t b)
{
	const struct tn_poly d = tn_poly_add(ir, tn_poly_of(ir, a), tn_poly_of(ir, b), -1);
	return op == TN_SIZE_MIN ? within(ir, d, 0, INT64_MAX) : within(ir, d, INT64_MIN, 0);
}

static void insert(struct tn_ir *ir, uint32_t op, struct set *s, uint32_t size)
{
	uint32_t n = 0, i;
	for (i = 0; i < s->n; i++)
		if (yields(ir, op, size, s->at[i]))
			return;
	for (i = 0; i < s->n; i++)
		if (!yields(ir, op, s->at[i], size))
			s->at[n++] = s->at[i];
	for (i = n; i > 0 && tn_poly_cmp(ir, tn_poly_of(ir, s->at[i - 1]), tn_poly_of(ir, size)) > 0; i--)
		s->at[i] = s->at[i - 1];
	s->at[i] = size;
	s->n = n + 1;
}

static uint32_t extremum(struct tn_ir *ir, uint32_t op, uint32_t a, uint32_t b)
{
	struct set all = { .n = 0 }, kept = { .n = 0 };
	gather_set(ir, op, a, &all);
	gather_set(ir, op, b, &all);
	for (uint32_t i = 0; i < all.n; i++)
		insert(ir, op, &kept, all.at[i]);
	uint32_t r = kept.at[0];
	for (uint32_t i = 1; i < kept.n; i++)
		r = atom(ir, op, r, kept.at[i]);
	return r;
}

/* ---- operations */
uint32_t tn_size_op(struct tn_ir *ir, uint32_t op, uint32_t a, uint32_t b)
{
	const struct tn_mark mark = tn_arena_mark(&ir->store->scratch);
	const struct tn_poly p = tn_poly_of(ir, a), q = tn_poly_of(ir, b);
	uint32_t r = 0;
	switch (op) {
	case TN_SIZE_ADD: r = tn_size_of_poly(ir, tn_poly_add(ir, p, q, 1)); break;
	case TN_SIZE_MUL: r = tn_size_of_poly(ir, tn_poly_mul(ir, p, q)); break;
	case TN_SIZE_DIV: r = tn_size_of_poly(ir, poly_div(ir, p, q)); break;
	case TN_SIZE_MOD: r = tn_size_of_poly(ir, poly_mod(ir, p, q)); break;
	case TN_SIZE_MIN:
	case TN_SIZE_MAX: r = extremum(ir, op, a, b); break;
	default: tn_raise(ir->arena->diag, TN_E_ARG, "size expression: %u is no operation", op);
	}
	tn_arena_reset(&ir->store->scratch, mark);
	return r;
}

uint32_t tn_size_product(struct tn_ir *ir, const uint32_t *dims, uint32_t n)
{
	uint32_t r = 1;
	for (uint32_t i = 0; i < n; i++)
		r = tn_size_op(ir, TN_SIZE_MUL, r, dims[i]);
	return r;
}

/* ---- comparison */
/* writes c*k * (x div c) as k*x - k*(x mod c): some differences are 0, or have bounds, only in that form */
static struct tn_poly rewrite(struct tn_ir *ir, struct tn_poly p)
{
	struct tn_poly sum = { NULL, 0 };
	for (uint64_t i = 0; i < p.n; i++) {
		struct tn_poly term = { &p.t[i], 1 };
		for (uint32_t j = 0; j < p.t[i].n; j++) {
			const struct tn_size row = ir->store->sizes[p.t[i].atom[j]];
			int64_t c;
			if (row.op != TN_SIZE_DIV || !tn_poly_is_const(tn_poly_of(ir, row.b), &c) || p.t[i].c % c != 0)
				continue;
			struct tn_poly_term *rest = tn_copy_bytes(&ir->store->scratch, &p.t[i], sizeof p.t[i]);
			rest->c /= c;
			memmove(rest->atom + j, rest->atom + j + 1, (TN_TERM_ATOMS - 1 - j) * sizeof *rest->atom);
			rest->atom[--rest->n] = 0;
			const struct tn_poly x = tn_poly_of(ir, row.a), m = poly_mod(ir, x, tn_poly_of(ir, row.b));
			term = tn_poly_mul(ir, (struct tn_poly){ rest, 1 }, tn_poly_add(ir, x, m, -1));
			break;
		}
		sum = tn_poly_add(ir, sum, term, 1);
	}
	return sum;
}

static void difference(struct tn_ir *ir, uint32_t a, uint32_t b, int64_t *lo, int64_t *hi)
{
	const struct tn_mark mark = tn_arena_mark(&ir->store->scratch);
	const struct tn_poly d = tn_poly_add(ir, tn_poly_of(ir, a), tn_poly_of(ir, b), -1);
	int64_t l, h;
	tn_poly_bounds(ir, d, lo, hi);
	if (*lo < *hi) {
		tn_poly_bounds(ir, rewrite(ir, d), &l, &h);
		*lo = l > *lo ? l : *lo;
		*hi = h < *hi ? h : *hi;
	}
	tn_arena_reset(&ir->store->scratch, mark);
}

int tn_size_eq(struct tn_ir *ir, uint32_t a, uint32_t b)
{
	int64_t lo, hi;
	if (a == b)
		return 1;
	difference(ir, a, b, &lo, &hi);
	return lo == 0 && hi == 0 ? 1 : lo > 0 || hi < 0 ? 0 : -1;
}

int tn_size_le(struct tn_ir *ir, uint32_t a, uint32_t b)
{
	int64_t lo, hi;
	if (a == b)
		return 1;
	difference(ir, a, b, &lo, &hi);
	return hi <= 0 ? 1 : lo > 0 ? 0 : -1;
}

int64_t tn_size_known(const struct tn_graph *g, uint32_t size)
{
	return g->sizes.at[size].op == TN_SIZE_CONST ? g->sizes.at[size].value : -1;
}

/* ---- from another graph */
static uint32_t substitute(struct tn_ir *ir, const struct tn_graph *from, uint32_t size, const uint32_t *map)
{
	const struct tn_size *r = &from->sizes.at[size];
	if (r->op == TN_SIZE_CONST)
		return tn_size_const(ir, r->value);
	if (r->op == TN_SIZE_SYM)
		return map ? map[r->a] : tn_size_sym(ir, tn_symbol_name(from, r->a), r->lo, r->hi);
	const uint32_t a = substitute(ir, from, r->a, map), b = substitute(ir, from, r->b, map);
	return a == TN_NOTHING || b == TN_NOTHING ? TN_NOTHING : tn_size_op(ir, r->op, a, b);
}

uint32_t tn_size_import(struct tn_ir *ir, const struct tn_graph *from, uint32_t size)
{
	return substitute(ir, from, size, NULL);
}

uint32_t tn_size_substitute(struct tn_ir *ir, const struct tn_graph *from, uint32_t size, const uint32_t *map)
{
	return substitute(ir, from, size, map);
}

int64_t tn_size_eval(const struct tn_size_rows *sizes, uint32_t size, const int64_t *symbols)
{
	const struct tn_size *r = &sizes->at[size];
	int64_t v;
	if (r->op == TN_SIZE_CONST)
		return r->value;
	if (r->op == TN_SIZE_SYM)
		return symbols[r->a];
	const int64_t a = tn_size_eval(sizes, r->a, symbols), b = tn_size_eval(sizes, r->b, symbols);
	if (a == INT64_MIN || b == INT64_MIN)
		return INT64_MIN;
	switch (r->op) {
	case TN_SIZE_ADD: return __builtin_add_overflow(a, b, &v) ? INT64_MIN : v;
	case TN_SIZE_MUL: return __builtin_mul_overflow(a, b, &v) ? INT64_MIN : v;
	case TN_SIZE_DIV: return b == 0 ? INT64_MIN : tn_floor_div(a, b);
	case TN_SIZE_MOD:
		if (b == 0 || b == -1)
			return b == 0 ? INT64_MIN : 0;
		v = a % b;
		return v != 0 && (v < 0) != (b < 0) ? v + b : v;
	case TN_SIZE_MIN: return a < b ? a : b;
	case TN_SIZE_MAX: return a > b ? a : b;
	default: return INT64_MIN;
	}
}
