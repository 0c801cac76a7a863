/* ops_shape.c - operators that shape, cut, join and move elements without computing on them */
#include <string.h>
#include "frontend/onnx/convert.h"

/* ---- reshaping */

/* a product taken apart: factors that are no products, and the number in front; n TN_NOTHING when there are too many */
struct factors { uint32_t at[32], n; int64_t c; };

static void take_apart(struct ox *o, uint32_t size, struct factors *f)
{
	const struct tn_size row = o->ir->g.sizes.at[size];
	if (f->n == TN_NOTHING)
		return;
	if (row.op == TN_SIZE_MUL) {
		take_apart(o, row.a, f);
		take_apart(o, row.b, f);
	} else if (row.op == TN_SIZE_CONST) {
		if (__builtin_mul_overflow(f->c, row.value, &f->c))
			f->n = TN_NOTHING;
	} else if (f->n == 32) {
		f->n = TN_NOTHING;
	} else {
		f->at[f->n++] = size;
	}
}

static void cancel(struct factors *p, struct factors *q)
{
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < q->n; k++)
			if (p->at[i] == q->at[k]) {
				p->at[i--] = p->at[--p->n];
				q->at[k] = q->at[--q->n];
				break;
			}
}

static uint32_t put_together(struct ox *o, const struct factors *f)
{
	uint32_t r = ox_c(o, f->c);
	for (uint32_t i = 0; i < f->n; i++)
		r = ox_times(o, r, f->at[i]);
	return r;
}

/* The dim that is written -1: all elements by the product of the other dims.  What stands on both sides cancels, be it 0 or not:
 * of an empty tensor any dim would be right.  First whole dims, which may be sums, then their factors. */
static uint32_t left_over(struct ox *o, const struct ox_val *x, const uint32_t *dims, uint32_t n, uint32_t hole)
{
	struct factors whole = { .c = 1 }, rest = { .c = 1 };
	bool used[OX_RANK] = { false };
	for (uint32_t i = 0; i < x->rank; i++) {
		bool both = false;
		for (uint32_t d = 0; d < n && !both; d++)
			if (d != hole && !used[d] && dims[d] == x->dims[i])
				both = used[d] = true;
		if (!both)
			take_apart(o, x->dims[i], &whole);
	}
	for (uint32_t d = 0; d < n; d++)
		if (d != hole && !used[d])
			take_apart(o, dims[d], &rest);
	if (whole.n == TN_NOTHING || rest.n == TN_NOTHING)
		ox_fail(o, TN_E_UNSUPPORTED, "shape %s of %s is too long an expression", ox_print_dims(o, dims, n), ox_print_dims(o, x->dims, x->rank));
	cancel(&whole, &rest);
	return ox_over(o, put_together(o, &whole), ox_max(o, put_together(o, &rest), ox_c(o, 1)));
}

/* 0 copies a dim (unless allowzero), -1 is what is left: the product of the others is divided out where symbols cancel */
void ox_reshape_dims(struct ox *o, const struct ox_val *x, const uint32_t *want, uint32_t n, uint32_t *dims)
{
	bool zero_is_zero = ox_int(o, "allowzero", 0);
	uint32_t hole = TN_NOTHING, rest = ox_c(o, 1);
	if (n > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u, more than %d", n, OX_RANK);
	for (uint32_t d = 0; d < n; d++) {
		int64_t k;
		bool known = ox_const(o, want[d], &k);
		dims[d] = want[d];
		if (known && k == -1) {
			if (hole != TN_NOTHING)
				ox_fail(o, TN_E_ARG, "shape %s has two dims of -1", ox_print_dims(o, want, n));
			hole = d;
			continue;
		}
		if (known && k < -1)
			ox_fail(o, TN_E_ARG, "shape %s has a negative dim", ox_print_dims(o, want, n));
		if (known && k == 0 && !zero_is_zero) {
			if (d >= x->rank)
				ox_fail(o, TN_E_ARG, "shape %s copies dim %u of %s", ox_print_dims(o, want, n), d, ox_print_dims(o, x->dims, x->rank));
			dims[d] = x->dims[d];
		}
		rest = ox_times(o, rest, dims[d]);
	}
	uint32_t all = ox_product(o, x->dims, x->rank);
	if (hole == TN_NOTHING) {
		if (tn_size_eq(o->ir, all, rest) == 0)
			ox_fail(o, TN_E_ARG, "%s does not have as many elements as %s", ox_print_dims(o, x->dims, x->rank), ox_print_dims(o, dims, n));
		return;
	}
	int64_t have, by;
	if (ox_const(o, all, &have) && ox_const(o, rest, &by) && (by == 0 ? have != 0 : have % by != 0))
		ox_fail(o, TN_E_ARG, "%s cannot be cut into parts of %lld", ox_print_dims(o, x->dims, x->rank), (long long)by);
	dims[hole] = left_over(o, x, dims, n, hole);
}

/* a shape that only running can tell: its 0 and -1 are replaced before it is bound */
static void reshape_at_run_time(struct ox *o, struct ox_val *x)
{
	bool zero_is_zero = ox_int(o, "allowzero", 0);
	uint32_t v = tn_ir_convert(o->ir, ox_v(o, 1), TN_I64), n, first[OX_RANK];
	static const int64_t axis = 0;
	int64_t count;
	if (ox_rank(o, v) != 1 || !ox_const(o, ox_dims(o, v)[0], &count) || count > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "a shape of %s elements that are known only when it runs", ox_print_dims(o, ox_dims(o, v), ox_rank(o, v)));
	for (uint32_t d = 0; d < count; d++)
		first[d] = d < x->rank ? x->dims[d] : ox_c(o, 0);
	if (!zero_is_zero && count) {
		uint32_t copied = tn_ir_reshape(o->ir, tn_ir_add(o->ir, TN_size, NULL, 0, &TN_A_SIZES(shape, first, (uint32_t)count), 1), ox_dims(o, v), 1);
		v = tn_ir_select(o->ir, tn_ir_binary(o->ir, TN_eq, v, ox_like(o, v, 0)), copied, v);
	}
	uint32_t hole = tn_ir_binary(o->ir, TN_eq, v, ox_like(o, v, -1));
	uint32_t rest = tn_ir_reduce(o->ir, TN_prod, tn_ir_select(o->ir, hole, ox_like(o, v, 1), v), &axis, 1);
	uint32_t by = tn_ir_binary(o->ir, TN_div, ox_scalar(o, TN_I64, ox_product(o, x->dims, x->rank)), tn_ir_binary(o->ir, TN_max, rest, tn_ir_full_int(o->ir, TN_I64, 1, NULL, 0)));
	const uint32_t *dims = ox_bind_vector(o, ox_select(o, hole, by, v), NULL, 0, "the shape", &n);
	ox_out(o, 0, tn_ir_reshape(o->ir, ox_value(o, x), dims, n));
}

static void reshape(struct ox *o)
{
	uint32_t n, dims[OX_RANK];
	struct ox_val *x = ox_in(o, 0);
	if (!ox_sizes(o, ox_in(o, 1), &n) && !ox_in(o, 1)->partial) {
		reshape_at_run_time(o, x);
		return;
	}
	const uint32_t *want = ox_need_sizes(o, 1, "the shape", &n);
	ox_reshape_dims(o, x, want, n, dims);
	ox_out(o, 0, tn_ir_reshape(o->ir, ox_value(o, x), dims, n));
}

static void flatten(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x);
	int64_t axis = ox_int(o, "axis", 1);
	if (axis != (int64_t)rank)
		axis = ox_axis(o, axis, rank);
	const uint32_t *d = ox_dims(o, x);
	uint32_t dims[2] = { ox_product(o, d, (uint32_t)axis), ox_product(o, d + axis, rank - (uint32_t)axis) };
	ox_out(o, 0, tn_ir_reshape(o->ir, x, dims, 2));
}

const int64_t *ox_squeezed(struct ox *o, const struct ox_val *x, uint32_t *rank)
{
	uint32_t n;
	const int64_t *axes = ox_axes(o, 1, &n);
	bool gone[OX_RANK] = { false };
	int64_t *keep = tn_array(o->a, int64_t, x->rank + 1u), k;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t d = (uint32_t)ox_axis(o, axes[i], x->rank);
		if (ox_const(o, x->dims[d], &k) ? k != 1 : ox_lo(o, x->dims[d]) > 1)
			ox_fail(o, TN_E_ARG, "dim %u is %s and not 1", d, ox_print(o, x->dims[d]));
		gone[d] = true;
	}
	for (uint32_t d = 0; !axes && d < x->rank; d++) {
		if (!ox_const(o, x->dims[d], &k) && ox_lo(o, x->dims[d]) <= 1)
			ox_fail(o, TN_E_UNSUPPORTED, "no axes are given, and whether dim %u = %s is 1 is known only when it runs", d, ox_print(o, x->dims[d]));
		gone[d] = ox_const(o, x->dims[d], &k) && k == 1;
	}
	*rank = 0;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!gone[d])
			keep[(*rank)++] = d;
	return keep;
}

static void squeeze(struct ox *o)
{
	struct ox_val *x = ox_in(o, 0);
	uint32_t rank, dims[OX_RANK];
	const int64_t *keep = ox_squeezed(o, x, &rank);
	for (uint32_t d = 0; d < rank; d++)
		dims[d] = x->dims[keep[d]];
	ox_out(o, 0, tn_ir_reshape(o->ir, ox_value(o, x), dims, rank));
}

const int64_t *ox_unsqueezed(struct ox *o, uint32_t rank, uint32_t *n)
{
	uint32_t n_axes;
	const int64_t *axes = ox_axes(o, 1, &n_axes);
	*n = rank + n_axes;
	if (!axes || *n > OX_RANK)
		ox_fail(o, axes ? TN_E_UNSUPPORTED : TN_E_ARG, axes ? "rank %u, more than the highest" : "no axes are given for rank %u", *n);
	int64_t *from = tn_array(o->a, int64_t, *n + 1u), next = 0;
	for (uint32_t i = 0; i < n_axes; i++) {
		uint32_t d = (uint32_t)ox_axis(o, axes[i], *n);
		if (from[d])
			ox_fail(o, TN_E_ARG, "axis %u is there twice", d);
		from[d] = -1;
	}
	for (uint32_t d = 0; d < *n; d++)
		from[d] = from[d] ? -1 : next++;
	return from;
}

static void unsqueeze(struct ox *o)
{
	struct ox_val *x = ox_in(o, 0);
	uint32_t rank, dims[OX_RANK];
	const int64_t *from = ox_unsqueezed(o, x->rank, &rank);
	for (uint32_t d = 0; d < rank; d++)
		dims[d] = from[d] < 0 ? ox_c(o, 1) : x->dims[from[d]];
	ox_out(o, 0, tn_ir_reshape(o->ir, ox_value(o, x), dims, rank));
}

static void transpose(struct ox *o)
{
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), n, seen = 0;
	const int64_t *perm = ox_ints(o, "perm", &n);
	int64_t p[OX_RANK];
	if (perm && n != rank)
		ox_fail(o, TN_E_ARG, "perm has %u elements, the input rank %u", n, rank);
	for (uint32_t d = 0; d < rank; d++) {
		p[d] = perm ? ox_axis(o, perm[d], rank) : (int64_t)(rank - 1 - d);
		seen |= 1u << p[d];
	}
	if (seen != (1u << rank) - 1)
		ox_fail(o, TN_E_ARG, "perm names a dim twice");
	ox_out(o, 0, tn_ir_permute(o->ir, x, p));
}

static void expand(struct ox *o)
{
	uint32_t n, x = ox_v(o, 0), dims[OX_RANK], rank;
	const uint32_t *want = ox_need_sizes(o, 1, "the shape", &n);
	ox_broadcast_dims(o, ox_dims(o, x), ox_rank(o, x), want, n, dims, &rank);
	ox_out(o, 0, tn_ir_expand_to(o->ir, x, dims, rank));
}

/* one dim at a time, through [before, repeats, dim, after] */
static void tile(struct ox *o)
{
	static const int64_t where[3] = { 0, 2, 3 };
	uint32_t n, x = ox_v(o, 0), rank = ox_rank(o, x), dims[OX_RANK];
	const uint32_t *repeats = ox_need_sizes(o, 1, "repeats", &n);
	memcpy(dims, ox_dims(o, x), rank * sizeof *dims);
	if (n != rank)
		ox_fail(o, TN_E_ARG, "%u repeats for an input of rank %u", n, rank);
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t one = ox_c(o, 1), by = repeats[d];
		if (by == one)
			continue;
		if (ox_hi(o, by) < 0)
			ox_fail(o, TN_E_ARG, "dim %u is repeated %s times", d, ox_print(o, by));
		uint32_t three[3] = { ox_product(o, dims, d), dims[d], ox_product(o, dims + d + 1, rank - d - 1) };
		uint32_t four[4] = { three[0], by, three[1], three[2] };
		x = tn_ir_reshape(o->ir, x, three, 3);
		x = tn_ir_broadcast(o->ir, x, four, 4, where);
		dims[d] = ox_times(o, dims[d], by);
		x = tn_ir_reshape(o->ir, x, dims, rank);
	}
	ox_out(o, 0, x);
}

/* ---- joining and cutting */

static void concat(struct ox *o)
{
	uint32_t n = o->node->n_in, *v = tn_array(o->a, uint32_t, n + 1u);
	if (!n)
		ox_fail(o, TN_E_ARG, "no operands");
	for (uint32_t i = 0; i < n; i++)
		v[i] = ox_v(o, i);
	int64_t axis = ox_axis(o, ox_int(o, "axis", 1), ox_rank(o, v[0]));
	ox_out(o, 0, n == 1 ? v[0] : tn_ir_add(o->ir, TN_cat, v, n, &TN_A_INT(axis, axis), 1));
	ox_note_parts(o);
}

void ox_split_points(struct ox *o, const struct ox_val *x, int64_t axis, uint32_t *points)
{
	uint32_t n, parts = o->node->n_out, dim = x->dims[axis];
	const int64_t *attr = ox_ints(o, "split", &n);
	const uint32_t *sizes = attr || !ox_has(o, 1) ? NULL : ox_need_sizes(o, 1, "split", &n);
	int64_t named = ox_int(o, "num_outputs", (int64_t)parts);
	if ((attr || sizes) ? n != parts : named != (int64_t)parts)
		ox_fail(o, TN_E_ARG, "%lld parts, but %u outputs", attr || sizes ? (long long)n : (long long)named, parts);
	uint32_t step = attr || sizes ? 0 : ox_over(o, ox_plus(o, dim, ox_c(o, (int64_t)parts - 1)), ox_c(o, parts));   /* the last one may be smaller */
	points[0] = ox_c(o, 0);
	for (uint32_t i = 0; i < parts; i++) {
		uint32_t next = ox_plus(o, points[i], attr ? ox_c(o, attr[i]) : sizes ? sizes[i] : step);
		points[i + 1] = attr || sizes ? next : ox_min(o, next, dim);
	}
	if (tn_size_eq(o->ir, points[parts], dim) == 0)
		ox_fail(o, TN_E_ARG, "the parts make %s of dim %lld, which has %s", ox_print(o, points[parts]), (long long)axis, ox_print(o, dim));
}

static void split(struct ox *o)
{
	struct ox_val *x = ox_in(o, 0);
	int64_t axis = ox_axis(o, ox_int(o, "axis", 0), x->rank);
	uint32_t *points = tn_array(o->a, uint32_t, o->node->n_out + 1u);
	ox_split_points(o, x, axis, points);
	for (uint32_t i = 0; i < o->node->n_out; i++)
		if (ox_wants(o, i))
			ox_out(o, i, ox_axis_slice(o, ox_value(o, x), (uint32_t)axis, points[i], points[i + 1], 1));
}

/* Exporters write "to the end" as some huge number, 10^9 among them, which is less than the bound of a symbol: then the symbol's
 * bound comes down to it (a larger dim is refused when it is bound), and min(n, 10^9) is n. */
static void take_as_end(struct ox *o, uint32_t dim, int64_t end)
{
	const struct tn_size *s = &o->ir->g.sizes.at[dim];
	if (end >= 1000000000 && s->op == TN_SIZE_SYM && s->hi > end)
		tn_size_sym(o->ir, tn_str_at(&o->ir->g, o->ir->g.symbols[s->a]), s->lo, end);
}

/* negative bounds count from the end, then both are cut to the dim: 0 .. n, or n-1 .. -1 going down */
static uint32_t clamped(struct ox *o, uint32_t at, uint32_t dim, int64_t low, int64_t high)   /* high: how far below dim */
{
	int64_t k;
	if (ox_const(o, at, &k)) {
		take_as_end(o, dim, k);
		if (k >= ox_hi(o, dim))
			return ox_plus(o, dim, ox_c(o, -high));
		if (k < -ox_hi(o, dim))
			return ox_c(o, low);
		if (k < 0)
			return ox_max(o, ox_plus(o, dim, at), ox_c(o, low));
	}
	at = ox_plus(o, at, ox_times(o, dim, ox_negative(o, at)));
	return ox_max(o, ox_min(o, at, ox_plus(o, dim, ox_c(o, -high))), ox_c(o, low));
}

struct ox_span ox_slice_span(struct ox *o, uint32_t dim, uint32_t start, uint32_t end, int64_t step)
{
	if (!step)
		ox_fail(o, TN_E_ARG, "a step of 0");
	step = step > OX_DIM_MAX ? OX_DIM_MAX : step < -OX_DIM_MAX ? -OX_DIM_MAX : step;
	struct ox_span s = { .step = step };
	if (step > 0) {
		s.start = clamped(o, start, dim, 0, 0);
		s.limit = ox_max(o, clamped(o, end, dim, 0, 0), s.start);
	} else {
		s.start = clamped(o, start, dim, -1, 1);
		s.limit = ox_min(o, clamped(o, end, dim, -1, 1), s.start);
	}
	return s;
}

struct slices { uint32_t n; const uint32_t *start, *end; const int64_t *axes, *steps; };

static struct slices slice_inputs(struct ox *o)
{
	struct slices s = { 0 };
	uint32_t n[4];
	if (o->opset < 10) {
		const int64_t *starts = ox_ints(o, "starts", &n[0]), *ends = ox_ints(o, "ends", &n[1]);
		uint32_t *v = tn_array(o->a, uint32_t, n[0] + n[1] + 1u);
		for (uint32_t i = 0; i < n[0] + n[1]; i++)
			v[i] = ox_c(o, i < n[0] ? starts[i] : ends[i - n[0]]);
		s.start = v;
		s.end = v + n[0];
		s.axes = ox_ints(o, "axes", &n[2]);
	} else {
		s.start = ox_need_signed(o, 1, "starts", &n[0]);
		s.end = ox_need_signed(o, 2, "ends", &n[1]);
		s.axes = ox_has(o, 3) ? ox_need_ints(o, 3, "axes", &n[2]) : NULL;
		s.steps = ox_has(o, 4) ? ox_need_ints(o, 4, "steps", &n[3]) : NULL;
	}
	s.n = n[0];
	if (n[1] != s.n || (s.axes && n[2] != s.n) || (s.steps && n[3] != s.n))
		ox_fail(o, TN_E_ARG, "starts, ends, axes and steps have different lengths");
	return s;
}

static void slice(struct ox *o)
{
	struct slices s = slice_inputs(o);
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), start[OX_RANK], limit[OX_RANK];
	int64_t step[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	bool changed = false;
	for (uint32_t d = 0; d < rank; d++) {
		start[d] = ox_c(o, 0);
		limit[d] = dims[d];
		step[d] = 1;
	}
	for (uint32_t i = 0; i < s.n; i++) {
		uint32_t d = (uint32_t)ox_axis(o, s.axes ? s.axes[i] : i, rank);
		struct ox_span p = ox_slice_span(o, dims[d], s.start[i], s.end[i], s.steps ? s.steps[i] : 1);
		start[d] = p.start;
		limit[d] = p.limit;
		step[d] = p.step;
		changed = changed || p.step != 1 || p.start != ox_c(o, 0) || p.limit != dims[d];
	}
	struct tn_attr_in attrs[] = { TN_A_SIZES(start, start, rank), TN_A_SIZES(limit, limit, rank), TN_A_INTS(step, step, rank) };
	ox_out(o, 0, changed ? tn_ir_add(o->ir, TN_slice, &x, 1, attrs, 3) : x);
}

/* ---- padding: edge, reflect and wrap gather along a dim */

enum pad_mode { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP };

/* for each place of the padded dim, the place it shows */
static uint32_t shown(struct ox *o, enum pad_mode mode, uint32_t dim, uint32_t low, uint32_t size)
{
	uint32_t at = tn_ir_iota(o->ir, TN_I64, 0, &size, 1), last = ox_minus(o, dim, ox_c(o, 1));
	at = ox_binary(o, TN_sub, at, ox_scalar(o, TN_I64, low));
	if (mode == PAD_WRAP)
		return ox_binary(o, TN_remainder, at, ox_scalar(o, TN_I64, ox_max(o, dim, ox_c(o, 1))));
	if (mode == PAD_REFLECT) {             /* a wave of period 2 (n - 1): n - 1 - |n - 1 - at mod period| */
		uint32_t period = ox_scalar(o, TN_I64, ox_max(o, ox_times(o, last, ox_c(o, 2)), ox_c(o, 1)));
		uint32_t phase = ox_binary(o, TN_sub, ox_scalar(o, TN_I64, last), ox_binary(o, TN_remainder, at, period));
		return ox_binary(o, TN_sub, ox_scalar(o, TN_I64, last), tn_ir_unary(o->ir, TN_abs, phase));
	}
	at = ox_binary(o, TN_max, at, ox_zero(o, TN_I64));
	return ox_binary(o, TN_min, at, ox_scalar(o, TN_I64, last));
}

static enum pad_mode pad_mode(struct ox *o)
{
	static const char *const names[] = { "constant", "edge", "reflect", "wrap" };
	struct tn_str mode = ox_text(o, "mode", "constant");
	for (uint32_t i = 0; i < 4; i++)
		if (tn_str_is(mode, names[i]))
			return (enum pad_mode)i;
	ox_fail(o, TN_E_ARG, "mode '%.*s'", TN_STR(mode));
}

static uint32_t pad_fill(struct ox *o, uint32_t dtype)
{
	if (o->opset >= 11 && ox_has(o, 2))
		return tn_ir_reshape(o->ir, ox_v(o, 2), NULL, 0);
	return tn_ir_full(o->ir, dtype, o->opset < 11 ? ox_float(o, "value", 0) : 0, NULL, 0);
}

static void pad(struct ox *o)
{
	static const int64_t interior[OX_RANK];
	enum pad_mode mode = pad_mode(o);
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), n, low[OX_RANK], high[OX_RANK];
	const uint32_t *dims = ox_dims(o, x), *pads;
	const int64_t *axes = o->opset >= 18 && ox_has(o, 3) ? ox_need_ints(o, 3, "axes", &n) : NULL;
	uint32_t n_axes = axes ? n : rank;
	if (o->opset < 11) {
		const int64_t *v = ox_ints(o, "pads", &n);
		uint32_t *s = tn_array(o->a, uint32_t, n + 1u);
		for (uint32_t i = 0; i < n; i++)
			s[i] = ox_c(o, v[i]);
		pads = s;
	} else {
		pads = ox_need_signed(o, 1, "pads", &n);
	}
	if (n != 2 * n_axes)
		ox_fail(o, TN_E_ARG, "%u pads for %u dims", n, n_axes);
	for (uint32_t d = 0; d < rank; d++)
		low[d] = high[d] = ox_c(o, 0);
	for (uint32_t i = 0; i < n_axes; i++) {
		uint32_t d = (uint32_t)ox_axis(o, axes ? axes[i] : i, rank);
		low[d] = pads[i];
		high[d] = pads[n_axes + i];
	}
	if (mode == PAD_CONSTANT) {
		struct tn_attr_in attrs[] = { TN_A_SIZES(low, low, rank), TN_A_SIZES(high, high, rank), TN_A_INTS(interior, interior, rank) };
		ox_out(o, 0, tn_ir_add(o->ir, TN_pad, (uint32_t[]){ x, pad_fill(o, ox_dtype(o, x)) }, 2, attrs, 3));
		return;
	}
	pad_fill(o, ox_dtype(o, x));           /* named, of no use */
	for (uint32_t d = 0; d < rank; d++)
		if (low[d] != ox_c(o, 0) || high[d] != ox_c(o, 0)) {
			uint32_t size = ox_plus(o, ox_plus(o, dims[d], low[d]), high[d]);
			x = ox_take(o, x, shown(o, mode, dims[d], low[d], size), d, 0, 0);
		}
	ox_out(o, 0, x);
}

/* ---- blocks between depth and space */

static void depth_to_space(struct ox *o)
{
	struct tn_str mode = ox_text(o, "mode", "DCR");
	bool crd = tn_str_is(mode, "CRD");
	int64_t b = ox_int(o, "blocksize", 0);
	uint32_t x = ox_v(o, 0);
	if (ox_rank(o, x) != 4 || b < 1 || b > OX_DIM_MAX || (!crd && !tn_str_is(mode, "DCR")))
		ox_fail(o, TN_E_ARG, "input of rank %u, blocksize %lld, mode '%.*s'", ox_rank(o, x), (long long)b, TN_STR(mode));
	const uint32_t *d = ox_dims(o, x);
	uint32_t block = ox_c(o, b), c = ox_over(o, d[1], ox_times(o, block, block));
	uint32_t dcr_dims[6] = { d[0], block, block, c, d[2], d[3] }, crd_dims[6] = { d[0], c, block, block, d[2], d[3] };
	x = tn_ir_reshape(o->ir, x, crd ? crd_dims : dcr_dims, 6);
	x = tn_ir_permute(o->ir, x, crd ? (int64_t[]){ 0, 1, 4, 2, 5, 3 } : (int64_t[]){ 0, 3, 4, 1, 5, 2 });
	uint32_t dims[4] = { d[0], c, ox_times(o, d[2], block), ox_times(o, d[3], block) };
	ox_out(o, 0, tn_ir_reshape(o->ir, x, dims, 4));
}

static void space_to_depth(struct ox *o)
{
	struct tn_str mode = ox_text(o, "mode", "DCR");
	bool crd = tn_str_is(mode, "CRD");
	int64_t b = ox_int(o, "blocksize", 0);
	uint32_t x = ox_v(o, 0);
	if (ox_rank(o, x) != 4 || b < 1 || b > OX_DIM_MAX || (!crd && !tn_str_is(mode, "DCR")))
		ox_fail(o, TN_E_ARG, "input of rank %u, blocksize %lld, mode '%.*s'", ox_rank(o, x), (long long)b, TN_STR(mode));
	const uint32_t *d = ox_dims(o, x);
	uint32_t block = ox_c(o, b), h = ox_over(o, d[2], block), w = ox_over(o, d[3], block);
	x = tn_ir_reshape(o->ir, x, (uint32_t[]){ d[0], d[1], h, block, w, block }, 6);
	x = tn_ir_permute(o->ir, x, crd ? (int64_t[]){ 0, 1, 3, 5, 2, 4 } : (int64_t[]){ 0, 3, 5, 1, 2, 4 });
	uint32_t dims[4] = { d[0], ox_times(o, d[1], ox_times(o, block, block)), h, w };
	ox_out(o, 0, tn_ir_reshape(o->ir, x, dims, 4));
}

static const struct ox_op rows[] = {
	{ "Reshape", 5, 0, reshape, 0, ox_follow_reshape, 0 },
	{ "Flatten", 1, 0, flatten, 0, NULL, 0 },
	{ "Squeeze", 1, 0, squeeze, 0, ox_follow_squeeze, 0 },
	{ "Unsqueeze", 1, 0, unsqueeze, 0, ox_follow_unsqueeze, 0 },
	{ "Transpose", 1, 0, transpose, 0, NULL, 0 },
	{ "Expand", 8, 0, expand, 0, ox_follow_expand, 0 },
	{ "Tile", 6, 0, tile, 0, NULL, 0 },
	{ "Concat", 4, 0, concat, 0, ox_follow_concat, 0 },
	{ "Split", 2, 0, split, 0, ox_follow_split, 0 },
	{ "Slice", 1, 0, slice, 0, ox_follow_slice, 0 },
	{ "Pad", 2, 0, pad, 0, NULL, 0 },
	{ "DepthToSpace", 1, 0, depth_to_space, 0, NULL, 0 },
	{ "SpaceToDepth", 1, 0, space_to_depth, 0, NULL, 0 },
};
const struct ox_ops ox_ops_shape = { rows, sizeof rows / sizeof *rows };
