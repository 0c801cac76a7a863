/* where.c - a small expression language over a node: 64-bit integers, where what is not known spoils the answer */
#include "schedule/where.h"
#include "ir/prim.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };
struct wh { const char *at; const struct tn_graph *g; const struct tn_node *n; int ok, depth; };

static int64_t either(struct wh *w);

static int is(struct wh *w, const char *op)
{
	while (isspace((unsigned char)*w->at))
		w->at++;
	if (strncmp(w->at, op, strlen(op)) != 0)
		return 0;
	w->at += strlen(op);
	return 1;
}

static int64_t spoil(struct wh *w)
{
	w->ok = 0;
	return 0;
}

static uint32_t subject(const struct wh *w) { return w->n->n_in ? tn_in(w->g, w->n, 0) : w->n->n_out ? tn_out(w->g, w->n, 0) : TN_NOTHING; }

static int64_t dim(struct wh *w, int64_t i)
{
	const uint32_t v = subject(w);
	if (v == TN_NOTHING || i < 0 || i >= tn_rank(w->g, v))
		return spoil(w);
	const int64_t k = tn_size_known(w->g, tn_shape(w->g, v)[i]);
	return k < 0 ? spoil(w) : k;
}

static int64_t elements(struct wh *w)
{
	const uint32_t v = subject(w);
	int64_t n = 1;
	for (uint32_t i = 0; v != TN_NOTHING && i < tn_rank(w->g, v); i++)
		if (__builtin_mul_overflow(n, dim(w, i), &n))
			return spoil(w);
	return n;
}

static int64_t named(struct wh *w)
{
	const char *s = w->at;
	while (isalnum((unsigned char)*w->at) || *w->at == '_')
		w->at++;
	const size_t len = (size_t)(w->at - s);
	if (len == 4 && memcmp(s, "rank", 4) == 0)
		return subject(w) == TN_NOTHING ? spoil(w) : (int64_t)tn_rank(w->g, subject(w));
	if (len == 8 && memcmp(s, "elements", 8) == 0)
		return elements(w);
	if (len == 4 && memcmp(s, "dim", 3) == 0 && isdigit((unsigned char)s[3]))
		return dim(w, s[3] - '0');
	if (len == 3 && memcmp(s, "dim", 3) == 0 && is(w, "(")) {
		const int64_t i = either(w);
		return is(w, ")") ? dim(w, i) : spoil(w);
	}
	const struct tn_attr *a = tn_attr_find(w->g, w->n, tn_attr_by_name(s, len));
	return a && a->type == TN_ATTR_INT ? a->i : spoil(w);
}

static int64_t atom(struct wh *w)
{
	if (++w->depth > DEPTH)
		return spoil(w);
	int64_t v = 0;
	if (is(w, "(")) {
		v = either(w);
		if (!is(w, ")"))
			spoil(w);
	} else if (is(w, "-")) {
		v = (int64_t)(0 - (uint64_t)atom(w));
	} else if (w->at[0] == '!' && w->at[1] != '=') {
		w->at++;
		v = !atom(w);
	} else if (isdigit((unsigned char)*w->at)) {
		char *end;
		v = strtoll(w->at, &end, 0);
		w->at = end;
	} else if (isalpha((unsigned char)*w->at)) {
		v = named(w);
	} else {
		spoil(w);
	}
	w->depth--;
	return v;
}

static int64_t product(struct wh *w)
{
	int64_t x = atom(w);
	for (;;) {
		const int mul = is(w, "*"), div = !mul && is(w, "/"), rem = !mul && !div && is(w, "%");
		if (!mul && !div && !rem)
			return x;
		const int64_t y = atom(w);
		if (mul ? __builtin_mul_overflow(x, y, &x) : y <= 0)
			return spoil(w);
		x = div ? x / y : rem ? x % y : x;
	}
}

static int64_t sum(struct wh *w)
{
	int64_t x = product(w);
	for (;;) {
		const int plus = is(w, "+"), minus = !plus && is(w, "-");
		if (!plus && !minus)
			return x;
		const int64_t y = product(w);
		if (plus ? __builtin_add_overflow(x, y, &x) : __builtin_sub_overflow(x, y, &x))
			return spoil(w);
	}
}

static int64_t comparison(struct wh *w)
{
	const int64_t x = sum(w);
	if (is(w, "=="))
		return x == sum(w);
	if (is(w, "!="))
		return x != sum(w);
	if (is(w, "<="))
		return x <= sum(w);
	if (is(w, ">="))
		return x >= sum(w);
	if (is(w, "<"))
		return x < sum(w);
	if (is(w, ">"))
		return x > sum(w);
	return x;
}

static int64_t both(struct wh *w)
{
	int64_t x = comparison(w);
	while (is(w, "&&")) {
		const int64_t y = comparison(w);
		x = x && y;
	}
	return x;
}

static int64_t either(struct wh *w)
{
	int64_t x = both(w);
	while (is(w, "||")) {
		const int64_t y = both(w);
		x = x || y;
	}
	return x;
}

int q_where(const char *where, const struct tn_graph *g, const struct tn_node *n)
{
	struct wh w = { .at = where, .g = g, .n = n, .ok = 1 };
	if (!where)
		return 1;
	const int64_t v = either(&w);
	while (isspace((unsigned char)*w.at))
		w.at++;
	return w.ok && *w.at == 0 && v != 0;
}
