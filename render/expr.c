/* expr.c - size rows that grow, and the expression language of where, launch, scratch and @if@ (docs/templates.md)
 *
 * Every value is a size row with bounds.  Comparisons are decided from bounds: true for every value that the symbols may take,
 * false for every one, or open: then the truth is itself a size, 0 or 1, made of min, max, sums and products.  An open `where` makes
 * its kernel a variant that is taken where the size is 1; an open @if@ counts as false. */
#include "render/inner.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>

static int64_t clip(rd_wide v)
{
	return v >= INT64_MAX ? INT64_MAX : v <= INT64_MIN ? INT64_MIN : (int64_t)v;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	if (b == -1)
		return clip(-(rd_wide)a);
	return a / b - (a % b && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
	if (b == -1)
		return 0;
	int64_t m = a % b;
	return m && (m < 0) != (b < 0) ? m + b : m;
}

static uint32_t add_row(struct rd_sizes *z, const struct tn_size *row)
{
	uint64_t *at = tn_map_at(&z->index, row, sizeof *row);
	if (!*at) {
		*tn_push(z->arena, z->at, z->n, z->cap) = *row;
		*at = z->n;                    /* number + 1 */
	}
	return (uint32_t)*at - 1;
}

void rd_sizes_init(struct rd_sizes *z, const struct tn_nest *n, struct tn_arena *a)
{
	*z = (struct rd_sizes){ .arena = a, .index.arena = a };
	for (uint64_t i = 0; i < n->sizes.count; i++) {
		*tn_push(a, z->at, z->n, z->cap) = n->sizes.at[i];
		uint64_t *at = tn_map_at(&z->index, &n->sizes.at[i], sizeof n->sizes.at[i]);
		if (!*at)
			*at = i + 1;
	}
}

uint32_t rd_size_const(struct rd_sizes *z, int64_t v)
{
	for (uint32_t i = 0; i < z->n; i++)
		if (z->at[i].op == TN_SIZE_CONST && z->at[i].value == v)
			return i;
	return add_row(z, &(struct tn_size){ TN_SIZE_CONST, 0, 0, 0, v, v, v });
}

bool rd_size_is(const struct rd_sizes *z, uint32_t i, int64_t v)
{
	return z->at[i].op == TN_SIZE_CONST && z->at[i].value == v;
}

static void product_bounds(const struct tn_size *a, const struct tn_size *b, int64_t *lo, int64_t *hi)
{
	rd_wide c[4] = { (rd_wide)a->lo * b->lo, (rd_wide)a->lo * b->hi, (rd_wide)a->hi * b->lo, (rd_wide)a->hi * b->hi };
	rd_wide l = c[0], h = c[0];
	for (int i = 1; i < 4; i++) {
		l = c[i] < l ? c[i] : l;
		h = c[i] > h ? c[i] : h;
	}
	*lo = clip(l);
	*hi = clip(h);
}

/* the row when it needs none: constants, identities, and what bounds decide */
static uint32_t fold(struct rd_sizes *z, uint32_t op, uint32_t a, uint32_t b)
{
	const struct tn_size *x = &z->at[a], *y = &z->at[b];
	bool both = x->op == TN_SIZE_CONST && y->op == TN_SIZE_CONST;
	switch (op) {
	case TN_SIZE_ADD:
		return both ? rd_size_const(z, clip((rd_wide)x->value + y->value)) : rd_size_is(z, a, 0) ? b : rd_size_is(z, b, 0) ? a : TN_NOTHING;
	case TN_SIZE_MUL:
		if (both)
			return rd_size_const(z, clip((rd_wide)x->value * y->value));
		return rd_size_is(z, a, 1) || rd_size_is(z, b, 0) ? b : rd_size_is(z, b, 1) || rd_size_is(z, a, 0) ? a : TN_NOTHING;
	case TN_SIZE_DIV:
		return both && y->value ? rd_size_const(z, floor_div(x->value, y->value)) : rd_size_is(z, b, 1) ? a : TN_NOTHING;
	case TN_SIZE_MOD:
		return both && y->value ? rd_size_const(z, floor_mod(x->value, y->value)) : rd_size_is(z, b, 1) ? rd_size_const(z, 0) : TN_NOTHING;
	case TN_SIZE_MIN:
		return x->hi <= y->lo ? a : y->hi <= x->lo ? b : TN_NOTHING;
	case TN_SIZE_MAX:
		return x->lo >= y->hi ? a : y->lo >= x->hi ? b : TN_NOTHING;
	}
	return TN_NOTHING;
}

uint32_t rd_size_op(struct rd_sizes *z, uint32_t op, uint32_t a, uint32_t b)
{
	uint32_t folded = fold(z, op, a, b);
	if (folded != TN_NOTHING)
		return folded;
	const struct tn_size x = z->at[a], y = z->at[b];
	struct tn_size row = { op, a, b, 0, 0, INT64_MIN, INT64_MAX };
	if (op == TN_SIZE_ADD) {
		row.lo = clip((rd_wide)x.lo + y.lo);
		row.hi = clip((rd_wide)x.hi + y.hi);
	} else if (op == TN_SIZE_MUL) {
		product_bounds(&x, &y, &row.lo, &row.hi);
	} else if (op == TN_SIZE_DIV && y.lo > 0) {
		row.lo = x.lo >= 0 ? floor_div(x.lo, y.hi) : floor_div(x.lo, y.lo);
		row.hi = x.hi >= 0 ? floor_div(x.hi, y.lo) : floor_div(x.hi, y.hi);
	} else if (op == TN_SIZE_MOD && y.lo > 0) {
		row.lo = 0;
		row.hi = y.hi - 1;
	} else if (op == TN_SIZE_MIN) {
		row.lo = x.lo < y.lo ? x.lo : y.lo;
		row.hi = x.hi < y.hi ? x.hi : y.hi;
	} else if (op == TN_SIZE_MAX) {
		row.lo = x.lo > y.lo ? x.lo : y.lo;
		row.hi = x.hi > y.hi ? x.hi : y.hi;
	}
	return add_row(z, &row);
}

/* ---- axes */
static const char *const axis_names[TN_AXIS_END] = { "OUTER", "INNER", "RED", "SEQ", "BATCH", "M", "N", "K" };

bool rd_axis_parse(const char *s, size_t len, struct rd_axis *out)
{
	const char *dot = memchr(s, '.', len);
	size_t head = dot ? (size_t)(dot - s) : len, tail = dot ? len - head - 1 : 0;
	*out = (struct rd_axis){ TN_AXIS_END, RD_ALL };
	for (uint32_t i = 0; i < TN_AXIS_END; i++)
		if (strlen(axis_names[i]) == head && !memcmp(axis_names[i], s, head))
			out->axis = i;
	if (dot && tail == 4 && !memcmp(dot + 1, "last", 4))
		out->part = RD_LAST;
	else if (dot && tail == 4 && !memcmp(dot + 1, "rest", 4))
		out->part = RD_REST;
	else if (dot)
		return false;
	return out->axis != TN_AXIS_END;
}

void rd_axis_dims(const struct tn_nest *n, struct rd_axis x, uint32_t *first, uint32_t *count)
{
	uint32_t f = 0, c = 0;
	while (f < n->dims.count && n->dims.at[f].axis != x.axis)
		f++;
	while (f + c < n->dims.count && n->dims.at[f + c].axis == x.axis)
		c++;
	if (x.part == RD_LAST && c) {
		f += c - 1;
		c = 1;
	} else if (x.part == RD_REST && c) {
		c--;
	}
	*first = f;
	*count = c;
}

static uint32_t extent(struct rd *r, struct rd_axis x)
{
	uint32_t first, count, e = rd_size_const(&r->sizes, 1);
	rd_axis_dims(r->n, x, &first, &count);
	for (uint32_t i = 0; i < count; i++)
		e = rd_size_op(&r->sizes, TN_SIZE_MUL, e, r->n->dims.at[first + i].extent);
	return e;
}

/* ---- the language, by recursive descent */
struct in { struct rd *r; const char *text, *p, *end; };

_Noreturn static void fault(struct in *in, const char *what)
{
	rd_fault(in->r, TN_E_ARG, "expression \"%.*s\", at %d: %s", (int)(in->end - in->text), in->text, (int)(in->p - in->text), what);
}

static void space(struct in *in)
{
	while (in->p < in->end && isspace((unsigned char)*in->p))
		in->p++;
}

static bool take(struct in *in, const char *token)
{
	space(in);
	size_t len = strlen(token);
	if ((size_t)(in->end - in->p) < len || memcmp(in->p, token, len))
		return false;
	in->p += len;
	return true;
}

static struct rd_num of_size(struct rd *r, uint32_t size)
{
	return (struct rd_num){ size, r->sizes.at[size].lo, r->sizes.at[size].hi };
}

static struct rd_num of_int(struct rd *r, int64_t v)
{
	return of_size(r, rd_size_const(&r->sizes, v));
}

static struct rd_num op2(struct in *in, uint32_t op, struct rd_num a, struct rd_num b)
{
	struct rd_sizes *z = &in->r->sizes;
	if ((op == TN_SIZE_DIV || op == TN_SIZE_MOD) && b.lo <= 0 && b.hi >= 0)
		fault(in, "the divisor may be 0");
	return of_size(in->r, rd_size_op(z, op, a.size, b.size));
}

static struct rd_num minus(struct in *in, struct rd_num a)
{
	return op2(in, TN_SIZE_MUL, a, of_int(in->r, -1));
}

/* ---- truths: 0 or 1; folding by bounds decides those that are not open */
static struct rd_num clamped(struct in *in, struct rd_num a)
{
	return op2(in, TN_SIZE_MIN, of_int(in->r, 1), op2(in, TN_SIZE_MAX, of_int(in->r, 0), a));
}

static struct rd_num negated(struct in *in, struct rd_num a) { return op2(in, TN_SIZE_ADD, of_int(in->r, 1), minus(in, a)); }

static struct rd_num less(struct in *in, struct rd_num a, struct rd_num b)
{
	if (a.hi < b.lo)
		return of_int(in->r, 1);
	return a.lo >= b.hi || a.size == b.size ? of_int(in->r, 0) : clamped(in, op2(in, TN_SIZE_ADD, b, minus(in, a)));
}

static struct rd_num equal(struct in *in, struct rd_num a, struct rd_num b)
{
	if (a.size == b.size || (a.lo == a.hi && b.lo == b.hi && a.lo == b.lo))
		return of_int(in->r, 1);
	return op2(in, TN_SIZE_MUL, negated(in, less(in, a, b)), negated(in, less(in, b, a)));
}

/* any number as a truth */
static struct rd_num truth(struct in *in, struct rd_num a)
{
	if (a.lo >= 0 && a.hi <= 1)
		return a;
	return a.lo > 0 || a.hi < 0 ? of_int(in->r, 1) : negated(in, equal(in, a, of_int(in->r, 0)));
}

static struct rd_num parse_or(struct in *in);

static size_t word_len(const struct in *in)
{
	size_t n = 0;
	while (in->p + n < in->end && (isalnum((unsigned char)in->p[n]) || in->p[n] == '_' || in->p[n] == '.'))
		n++;
	return n;
}

static struct rd_axis axis_arg(struct in *in)
{
	struct rd_axis x;
	space(in);
	size_t n = word_len(in);
	char name[16];
	if (n >= sizeof name)
		fault(in, "an axis was expected (OUTER INNER RED SEQ BATCH M N K, with .last or .rest)");
	for (size_t i = 0; i < n; i++)       /* where rows may write axes in small letters */
		name[i] = (char)(memchr(in->p, '.', i) ? in->p[i] : toupper((unsigned char)in->p[i]));
	if (!rd_axis_parse(name, n, &x))
		fault(in, "an axis was expected (OUTER INNER RED SEQ BATCH M N K, with .last or .rest)");
	in->p += n;
	return x;
}

static int64_t phase_arg(struct in *in)
{
	struct rd_num v = parse_or(in);
	if (v.lo != v.hi || v.lo < 0)
		fault(in, "the number of a phase was expected");
	return v.lo;
}

/* accesses of loads and stores whose lane stride along a dim is: want 1: one, 2: neither zero nor one (or not known) */
static int64_t count_along(struct rd *r, struct rd_axis x, int want)
{
	uint32_t first, count;
	int64_t found = 0;
	rd_axis_dims(r->n, x, &first, &count);
	if (!count)
		return 0;
	for (uint64_t i = 0; i < r->n->steps.count; i++) {
		const struct tn_step *s = &r->n->steps.at[i];
		if (s->op != TN_STEP_LOAD && s->op != TN_STEP_STORE && s->op != TN_STEP_UPDATE)
			continue;
		bool simple;
		uint32_t stride = rd_lane_stride(r, s->a, first + count - 1, &simple);
		bool one = simple && rd_size_is(&r->sizes, stride, 1), zero = simple && rd_size_is(&r->sizes, stride, 0);
		found += want == 1 ? one : !one && !zero;
	}
	return found;
}

static int64_t steps_in(struct in *in, int64_t phase)
{
	return (uint64_t)phase < in->r->n->phases.count ? in->r->n->phases.at[phase].n_steps : 0;
}

static int64_t keep_bytes(const struct rd *r)
{
	int64_t bytes = 0;
	for (uint32_t i = 0; i < r->n_keeps; i++) {
		uint32_t b = rd_dtype_bytes(r->n->steps.at[r->keeps[i]].dtype);
		bytes += b < 4 ? 4 : b;
	}
	return bytes;
}

static int64_t folds_in(struct in *in, int64_t phase)
{
	int64_t found = 0;
	for (int64_t i = 0; i < steps_in(in, phase); i++)
		found += in->r->n->steps.at[in->r->n->phases.at[phase].step0 + i].op == TN_STEP_REDUCE;
	return found;
}

static int64_t reversed(const struct rd *r)
{
	for (uint64_t i = 0; i < r->n->steps.count; i++)
		if (r->n->steps.at[i].op == TN_STEP_CUMULATE && r->n->steps.at[i].bits & 16)
			return 1;
	return 0;
}

static const char *word_arg(struct in *in)
{
	space(in);
	size_t n = word_len(in);
	if (!n)
		fault(in, "a name was expected");
	in->p += n;
	return tn_printf(in->r->arena, "%.*s", (int)n, in->p - n);
}

static void close(struct in *in)
{
	if (!take(in, ")"))
		fault(in, "expected )");
}

/* functions of the nest's facts; p stands behind the ( */
static struct rd_num call(struct in *in, const char *name)
{
	struct rd *r = in->r;
	struct rd_num v, w;
	if (!strcmp(name, "extent")) {
		v = of_size(r, extent(r, axis_arg(in)));
	} else if (!strcmp(name, "dims")) {
		uint32_t first, count;
		rd_axis_dims(r->n, axis_arg(in), &first, &count);
		v = of_int(r, count);
	} else if (!strcmp(name, "along")) {
		v = of_int(r, count_along(r, axis_arg(in), 1));
	} else if (!strcmp(name, "strided")) {
		v = of_int(r, count_along(r, axis_arg(in), 2));
	} else if (!strcmp(name, "steps")) {
		v = of_int(r, steps_in(in, phase_arg(in)));
	} else if (!strcmp(name, "folds")) {
		v = of_int(r, folds_in(in, phase_arg(in)));
	} else if (!strcmp(name, "runs")) {
		const char *which = word_arg(in);
		if (!take(in, ","))
			fault(in, "expected ,");
		v = of_int(r, rd_operand_runs(r, which, axis_arg(in)));
	} else if (!strcmp(name, "batched")) {
		v = of_int(r, rd_operand_batched(r, word_arg(in)));
	} else if (!strcmp(name, "phase_has")) {
		int64_t p = phase_arg(in);
		if (!take(in, ","))
			fault(in, "expected ,");
		struct rd_axis x = axis_arg(in);
		v = of_int(r, (uint64_t)p < r->n->phases.count && r->n->phases.at[p].axes >> x.axis & 1);
	} else if (!strcmp(name, "static")) {
		w = parse_or(in);
		v = of_int(r, w.lo == w.hi);
	} else if (!strcmp(name, "plain")) {
		v = of_int(r, rd_operand_plain(r, word_arg(in)));
	} else if (!strcmp(name, "layout")) {
		const char *which = word_arg(in);
		if (!take(in, ","))
			fault(in, "expected ,");
		const char *want = word_arg(in);
		v = of_int(r, !strncmp(rd_operand_layout(r, which), want, strlen(want)) && (*want || !*rd_operand_layout(r, which)));
	} else if (!strcmp(name, "dtype")) {
		const char *want = word_arg(in);
		uint32_t s = rd_dot_step(r);
		v = of_int(r, !strcmp(rd_dtype_name(r->n->steps.at[s].dtype), want));
	} else if (!strcmp(name, "ceil_div") || !strcmp(name, "min") || !strcmp(name, "max")) {
		v = parse_or(in);
		if (!take(in, ","))
			fault(in, "expected ,");
		w = parse_or(in);
		if (*name == 'c')
			v = op2(in, TN_SIZE_DIV, op2(in, TN_SIZE_ADD, v, op2(in, TN_SIZE_ADD, w, of_int(r, -1))), w);
		else
			v = op2(in, strcmp(name, "min") ? TN_SIZE_MAX : TN_SIZE_MIN, v, w);
	} else {
		fault(in, "no such function");
	}
	close(in);
	return v;
}

static struct rd_num parse_name(struct in *in)
{
	struct rd *r = in->r;
	size_t n = word_len(in);
	const char *name = tn_printf(r->arena, "%.*s", (int)n, in->p);
	in->p += n;
	if (take(in, "("))
		return call(in, name);
	for (uint64_t i = 0; r->t && i < r->t->params.count; i++)
		if (!strcmp(r->t->params.at[i].name, name))
			return of_int(r, r->params ? r->params[i] : r->t->params.at[i].value[0]);
	if (!strcmp(name, "phases"))
		return of_int(r, (int64_t)r->n->phases.count);
	if (!strcmp(name, "keeps"))
		return of_int(r, r->n_keeps);
	if (!strcmp(name, "keep_bytes"))
		return of_int(r, keep_bytes(r));
	if (!strcmp(name, "dot_bytes")) {
		uint32_t bytes = rd_dtype_bytes(r->n->steps.at[rd_dot_step(r)].dtype);
		return of_int(r, bytes < 4 ? 4 : bytes);
	}
	if (!strcmp(name, "reversed"))
		return of_int(r, reversed(r));
	in->p -= n;
	fault(in, "no such name: a parameter of the template, phases, keeps, keep_bytes, dot_bytes, reversed, or a function was expected");
}

static struct rd_num parse_unary(struct in *in)
{
	space(in);
	if (in->p == in->end)
		fault(in, "a value was expected");
	if (take(in, "(")) {
		struct rd_num v = parse_or(in);
		close(in);
		return v;
	}
	if (take(in, "-"))
		return minus(in, parse_unary(in));
	if (in->p + 1 < in->end && in->p[0] == '!' && in->p[1] != '=') {
		in->p++;
		struct rd_num v = parse_unary(in);
		return negated(in, truth(in, v));
	}
	if (isdigit((unsigned char)*in->p)) {
		int64_t v = 0;
		for (; in->p < in->end && isdigit((unsigned char)*in->p); in->p++)
			if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *in->p - '0', &v))
				fault(in, "the number is too large");
		return of_int(in->r, v);
	}
	if (isalpha((unsigned char)*in->p))
		return parse_name(in);
	fault(in, "a value was expected");
}

static struct rd_num parse_mul(struct in *in)
{
	struct rd_num v = parse_unary(in);
	for (;;) {
		if (take(in, "*"))
			v = op2(in, TN_SIZE_MUL, v, parse_unary(in));
		else if (take(in, "/"))
			v = op2(in, TN_SIZE_DIV, v, parse_unary(in));
		else if (take(in, "%"))
			v = op2(in, TN_SIZE_MOD, v, parse_unary(in));
		else
			return v;
	}
}

static struct rd_num parse_add(struct in *in)
{
	struct rd_num v = parse_mul(in);
	for (;;) {
		if (take(in, "+"))
			v = op2(in, TN_SIZE_ADD, v, parse_mul(in));
		else if (take(in, "-"))
			v = op2(in, TN_SIZE_ADD, v, minus(in, parse_mul(in)));
		else
			return v;
	}
}

static struct rd_num parse_compare(struct in *in)
{
	struct rd_num v = parse_add(in);
	for (;;) {
		if (take(in, "<="))
			v = negated(in, less(in, parse_add(in), v));
		else if (take(in, ">="))
			v = negated(in, less(in, v, parse_add(in)));
		else if (take(in, "<"))
			v = less(in, v, parse_add(in));
		else if (take(in, ">"))
			v = less(in, parse_add(in), v);
		else if (take(in, "=="))
			v = equal(in, v, parse_add(in));
		else if (take(in, "!="))
			v = negated(in, equal(in, v, parse_add(in)));
		else
			return v;
	}
}

static struct rd_num parse_and(struct in *in)
{
	struct rd_num v = parse_compare(in);
	while (take(in, "&&"))
		v = op2(in, TN_SIZE_MUL, truth(in, v), truth(in, parse_compare(in)));
	return v;
}

static struct rd_num parse_or(struct in *in)
{
	struct rd_num v = parse_and(in);
	while (take(in, "||"))
		v = op2(in, TN_SIZE_MAX, truth(in, v), truth(in, parse_and(in)));
	return v;
}

struct rd_num rd_eval(struct rd *r, const char *text, size_t len)
{
	struct in in = { r, text, text, text + len };
	struct rd_num v = parse_or(&in);
	space(&in);
	if (in.p != in.end)
		fault(&in, "an operator was expected");
	return v;
}

uint32_t rd_eval_size(struct rd *r, const char *text, size_t len)
{
	return rd_eval(r, text, len).size;
}

bool rd_holds(struct rd *r, const char *text, size_t len)
{
	struct rd_num v = rd_eval(r, text, len);
	return v.lo > 0 || v.hi < 0;
}
