/* size_poly.c - polynomials over atoms (symbols, divisions, minima, ...), the normal form of symbolic sizes
 *
 * Terms are ordered by degree, then by their atoms as words are in a dictionary.  That is an admissible monomial order, so
 * that division by the leading term ends, and it looks at names and structure only: two graphs that build the same size in
 * different ways print it the same. */
#include "ir/store.h"
#include <string.h>

enum { MAX_TERMS = 64, MAX_PAIRS = 1024 };

static _Noreturn void too_big(const struct tn_ir *ir, const char *what)
{
	tn_raise(ir->arena->diag, TN_E_RANGE, "size expression: %s", what);
}

static int64_t mul64(const struct tn_ir *ir, int64_t a, int64_t b)
{
	int64_t r;
	if (__builtin_mul_overflow(a, b, &r))
		tn_raise(ir->arena->diag, TN_E_RANGE, "size expression: %lld * %lld does not fit in 64 bits", (long long)a, (long long)b);
	return r;
}

static int64_t add64(const struct tn_ir *ir, int64_t a, int64_t b)
{
	int64_t r;
	if (__builtin_add_overflow(a, b, &r))
		tn_raise(ir->arena->diag, TN_E_RANGE, "size expression: %lld + %lld does not fit in 64 bits", (long long)a, (long long)b);
	return r;
}

int64_t tn_floor_div(int64_t x, int64_t y)
{
	const int64_t q = x / y;
	return q - (x % y != 0 && (x < 0) != (y < 0));
}

/* ---- order */
static int cmp_atom(const struct tn_ir *ir, uint32_t a, uint32_t b)
{
	const struct tn_size *x = &ir->g.sizes.at[a], *y = &ir->g.sizes.at[b];
	if (a == b)
		return 0;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->op == TN_SIZE_SYM)
		return strcmp(tn_symbol_name(&ir->g, x->a), tn_symbol_name(&ir->g, y->a));
	const int c = x->a == y->a ? 0 : tn_poly_cmp(ir, tn_poly_of(ir, x->a), tn_poly_of(ir, y->a));
	return c ? c : tn_poly_cmp(ir, tn_poly_of(ir, x->b), tn_poly_of(ir, y->b));
}

/* negative: s stands before t */
static int cmp_term(const struct tn_ir *ir, const struct tn_poly_term *s, const struct tn_poly_term *t)
{
	if (s->n != t->n)
		return s->n > t->n ? -1 : 1;
	for (uint32_t i = 0; i < s->n; i++) {
		const int c = cmp_atom(ir, s->atom[i], t->atom[i]);
		if (c)
			return c;
	}
	return 0;
}

int tn_poly_cmp(const struct tn_ir *ir, struct tn_poly p, struct tn_poly q)
{
	for (uint64_t i = 0; i < p.n && i < q.n; i++) {
		const int c = cmp_term(ir, &p.t[i], &q.t[i]);
		if (c)
			return c;
		if (p.t[i].c != q.t[i].c)
			return p.t[i].c < q.t[i].c ? -1 : 1;
	}
	return p.n == q.n ? 0 : p.n > q.n ? -1 : 1;
}

/* ---- arithmetic */
struct tn_poly tn_poly_of(const struct tn_ir *ir, uint32_t size)
{
	return ir->store->polys[size];
}

struct tn_poly tn_poly_const(struct tn_ir *ir, int64_t c)
{
	struct tn_poly_term *t = tn_new(&ir->store->scratch, struct tn_poly_term);
	t->c = c;
	return (struct tn_poly){ t, c != 0 };
}

int tn_poly_is_const(struct tn_poly p, int64_t *c)
{
	*c = p.n ? p.t[0].c : 0;
	return p.n == 0 || (p.n == 1 && p.t[0].n == 0);
}

struct tn_poly tn_poly_add(struct tn_ir *ir, struct tn_poly p, struct tn_poly q, int64_t k)
{
	struct tn_poly_term *t = tn_array(&ir->store->scratch, struct tn_poly_term, p.n + q.n);
	uint64_t n = 0, i = 0, j = 0;
	while (i < p.n || j < q.n) {
		const int c = i == p.n ? 1 : j == q.n ? -1 : cmp_term(ir, &p.t[i], &q.t[j]);
		t[n] = c <= 0 ? p.t[i] : q.t[j];
		if (c > 0)
			t[n].c = mul64(ir, q.t[j].c, k);
		else if (c == 0)
			t[n].c = add64(ir, p.t[i].c, mul64(ir, q.t[j].c, k));
		i += c <= 0;
		j += c >= 0;
		n += t[n].c != 0;
	}
	if (n > MAX_TERMS)
		too_big(ir, "more than 64 terms");
	return (struct tn_poly){ t, n };
}

static struct tn_poly_term mul_term(const struct tn_ir *ir, const struct tn_poly_term *s, const struct tn_poly_term *t)
{
	struct tn_poly_term r = { .c = mul64(ir, s->c, t->c) };
	uint32_t i = 0, j = 0;
	if (s->n + t->n > TN_TERM_ATOMS)
		too_big(ir, "a product of more than 13 factors");
	while (i < s->n || j < t->n)
		if (j == t->n || (i < s->n && cmp_atom(ir, s->atom[i], t->atom[j]) <= 0))
			r.atom[r.n++] = s->atom[i++];
		else
			r.atom[r.n++] = t->atom[j++];
	return r;
}

struct tn_poly tn_poly_mul(struct tn_ir *ir, struct tn_poly p, struct tn_poly q)
{
	struct tn_poly sum = { NULL, 0 };
	if (p.n * q.n > MAX_PAIRS)
		too_big(ir, "a product of more than 1024 terms");
	for (uint64_t i = 0; i < p.n; i++)
		for (uint64_t j = 0; j < q.n; j++) {
			struct tn_poly_term *t = tn_new(&ir->store->scratch, struct tn_poly_term);
			*t = mul_term(ir, &p.t[i], &q.t[j]);
			sum = tn_poly_add(ir, sum, (struct tn_poly){ t, 1 }, 1);
		}
	return sum;
}

/* s / t, when it is exact */
static int div_term(const struct tn_ir *ir, const struct tn_poly_term *s, const struct tn_poly_term *t, struct tn_poly_term *r)
{
	uint32_t j = 0;
	if ((s->c == INT64_MIN && t->c == -1) || s->c % t->c != 0)
		return 0;
	*r = (struct tn_poly_term){ .c = s->c / t->c };
	for (uint32_t i = 0; i < s->n; i++)
		if (j < t->n && cmp_atom(ir, s->atom[i], t->atom[j]) == 0)
			j++;
		else
			r->atom[r->n++] = s->atom[i];
	return j == t->n;
}

/* By one term: what is divisible goes to q, the rest to r.  By a sum: exactly or not at all, because a quotient with a remainder
 * (m = 1 * (m + 1) - 1) makes expressions longer, not shorter. */
int tn_poly_divide(struct tn_ir *ir, struct tn_poly p, struct tn_poly y, struct tn_poly *q, struct tn_poly *r)
{
	struct tn_poly rest = p;
	*q = *r = (struct tn_poly){ NULL, 0 };
	while (rest.n) {
		struct tn_poly_term *t = tn_new(&ir->store->scratch, struct tn_poly_term);
		if (div_term(ir, &rest.t[0], &y.t[0], t)) {
			const struct tn_poly one = { t, 1 };
			*q = tn_poly_add(ir, *q, one, 1);
			rest = tn_poly_add(ir, rest, tn_poly_mul(ir, one, y), -1);
		} else if (y.n > 1) {
			*r = p;
			*q = (struct tn_poly){ NULL, 0 };
			return 0;
		} else {
			*r = tn_poly_add(ir, *r, (struct tn_poly){ rest.t, 1 }, 1);
			rest = (struct tn_poly){ rest.t + 1, rest.n - 1 };
		}
	}
	return q->n > 0;
}

/* ---- bounds.  INT64_MAX and INT64_MIN stand for no bound */
static int64_t inf_add(int64_t a, int64_t b, int64_t inf)
{
	int64_t r;
	if (a == inf || b == inf)
		return inf;
	return __builtin_add_overflow(a, b, &r) ? (a < 0 ? INT64_MIN : INT64_MAX) : r;
}

static int64_t inf_mul(int64_t a, int64_t b)
{
	int64_t r;
	return __builtin_mul_overflow(a, b, &r) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : r;
}

static int is_inf(int64_t x)
{
	return x == INT64_MAX || x == INT64_MIN;
}

static int64_t bound_mul(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return 0;
	if (is_inf(a) || is_inf(b))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return inf_mul(a, b);
}

static void mul_bounds(int64_t al, int64_t ah, int64_t bl, int64_t bh, int64_t *lo, int64_t *hi)
{
	const int64_t c[4] = { bound_mul(al, bl), bound_mul(al, bh), bound_mul(ah, bl), bound_mul(ah, bh) };
	*lo = *hi = c[0];
	for (int i = 1; i < 4; i++) {
		*lo = c[i] < *lo ? c[i] : *lo;
		*hi = c[i] > *hi ? c[i] : *hi;
	}
}

/* x / y for a bound of x and a positive bound of y */
static int64_t bound_div(int64_t x, int64_t y)
{
	if (is_inf(y))
		return x < 0 ? -1 : 0;
	return is_inf(x) ? x : tn_floor_div(x, y);
}

void tn_size_bounds(uint32_t op, const struct tn_size *a, const struct tn_size *b, int64_t *lo, int64_t *hi)
{
	*lo = INT64_MIN;
	*hi = INT64_MAX;
	switch (op) {
	case TN_SIZE_ADD:
		*lo = inf_add(a->lo, b->lo, INT64_MIN);
		*hi = inf_add(a->hi, b->hi, INT64_MAX);
		break;
	case TN_SIZE_MUL:
		mul_bounds(a->lo, a->hi, b->lo, b->hi, lo, hi);
		break;
	case TN_SIZE_DIV:
		if (b->lo > 0) {
			*lo = bound_div(a->lo, a->lo < 0 ? b->lo : b->hi);
			*hi = bound_div(a->hi, a->hi < 0 ? b->hi : b->lo);
		}
		break;
	case TN_SIZE_MOD:
		if (b->lo > 0) {
			*lo = 0;
			*hi = is_inf(b->hi) ? INT64_MAX : b->hi - 1;
			*hi = a->lo >= 0 && a->hi < *hi ? a->hi : *hi;
		}
		break;
	case TN_SIZE_MIN:
		*lo = a->lo < b->lo ? a->lo : b->lo;
		*hi = a->hi < b->hi ? a->hi : b->hi;
		break;
	case TN_SIZE_MAX:
		*lo = a->lo > b->lo ? a->lo : b->lo;
		*hi = a->hi > b->hi ? a->hi : b->hi;
		break;
	default:
		break;
	}
}

void tn_poly_bounds(const struct tn_ir *ir, struct tn_poly p, int64_t *lo, int64_t *hi)
{
	*lo = *hi = 0;
	for (uint64_t i = 0; i < p.n; i++) {
		int64_t tl = p.t[i].c, th = p.t[i].c;
		for (uint32_t j = 0; j < p.t[i].n; j++) {
			const struct tn_size *a = &ir->g.sizes.at[p.t[i].atom[j]];
			mul_bounds(tl, th, a->lo, a->hi, &tl, &th);
		}
		*lo = inf_add(*lo, tl, INT64_MIN);
		*hi = inf_add(*hi, th, INT64_MAX);
	}
}
