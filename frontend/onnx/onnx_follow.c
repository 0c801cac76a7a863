/* onnx_follow.c - operators on small integer tensors, done on sizes while converting
 *
 * A shape that is computed (Shape, Gather, Mul, Concat, ...) stays a vector of size expressions, so that what uses it has symbolic
 * dims and no value must be read back when the graph runs.  A follower returns false when an operand is not followed or when sizes
 * have no word for what the operator does; then the operator is built like any other.  Results stay within their dtype: sums and
 * products of symbols are sizes of tensors and taken not to overflow, numbers are checked. */
#include <string.h>
#include "frontend/onnx/convert.h"

static bool fits(uint32_t dtype, int64_t x)
{
	static const struct { int64_t lo, hi; } range[TN_DTYPE_END] = {
		[TN_BOOL] = { 0, 1 }, [TN_U8] = { 0, UINT8_MAX }, [TN_U16] = { 0, UINT16_MAX }, [TN_U32] = { 0, UINT32_MAX }, [TN_U64] = { 0, INT64_MAX },
		[TN_I8] = { INT8_MIN, INT8_MAX }, [TN_I16] = { INT16_MIN, INT16_MAX }, [TN_I32] = { INT32_MIN, INT32_MAX }, [TN_I64] = { INT64_MIN, INT64_MAX },
	};
	return (range[dtype].lo || range[dtype].hi) && x >= range[dtype].lo && x <= range[dtype].hi;
}

/* may a result of this dtype be this size? */
static bool holds(struct ox *o, uint32_t dtype, uint32_t size)
{
	int64_t x;
	if (ox_const(o, size, &x))
		return fits(dtype, x);
	return dtype == TN_I64 || dtype == TN_I32 || ((dtype == TN_U32 || dtype == TN_U64) && ox_lo(o, size) >= 0) ||
	       (fits(dtype, ox_lo(o, size)) && fits(dtype, ox_hi(o, size)));
}

struct vec { struct ox_val *v; const uint32_t *at; uint32_t n, rank; int64_t dims[OX_RANK]; };

static bool vec_of(struct ox *o, uint32_t i, struct vec *x)
{
	if (!ox_has(o, i))
		return false;
	x->v = ox_in(o, i);
	x->at = ox_sizes(o, x->v, &x->n);
	x->rank = x->v->rank;
	if (!x->at)
		return false;
	for (uint32_t d = 0; d < x->rank; d++)
		if (!ox_const(o, x->v->dims[d], &x->dims[d]))
			return false;
	return true;
}

static bool numbers(struct ox *o, const struct vec *x, int64_t *to)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (!ox_const(o, x->at[i], &to[i]))
			return false;
	return true;
}

static uint32_t count_of(const int64_t *dims, uint32_t rank)   /* OX_FOLLOW + 1 when there are more */
{
	int64_t n = 1;
	bool empty = false;
	for (uint32_t d = 0; d < rank; d++)
		empty = empty || dims[d] == 0;
	for (uint32_t d = 0; d < rank && !empty; d++) {
		if (dims[d] < 0 || dims[d] > OX_FOLLOW || n * dims[d] > OX_FOLLOW)
			return OX_FOLLOW + 1;
		n *= dims[d];
	}
	return empty ? 0 : (uint32_t)n;
}

/* ---- elements stay */

bool ox_follow_same(struct ox *o)
{
	ox_out_val(o, 0, ox_in(o, 0));
	return true;
}

static bool out_reshaped(struct ox *o, const struct vec *x, uint32_t rank, const int64_t *dims)
{
	ox_out_sizes(o, 0, x->v->dtype, rank, dims, x->at);
	return true;
}

bool ox_follow_reshape(struct ox *o)
{
	struct vec x;
	uint32_t n, dims[OX_RANK];
	int64_t known[OX_RANK];
	if (!vec_of(o, 0, &x))
		return false;
	const uint32_t *want = ox_sizes(o, ox_in(o, 1), &n);
	if (!want)
		return false;
	ox_reshape_dims(o, x.v, want, n, dims);
	for (uint32_t d = 0; d < n; d++)
		if (!ox_const(o, dims[d], &known[d]))
			return false;
	return count_of(known, n) == x.n && out_reshaped(o, &x, n, known);
}

bool ox_follow_squeeze(struct ox *o)
{
	struct vec x;
	uint32_t rank;
	int64_t dims[OX_RANK];
	if (!vec_of(o, 0, &x))
		return false;
	const int64_t *keep = ox_squeezed(o, x.v, &rank);
	for (uint32_t d = 0; d < rank; d++)
		dims[d] = x.dims[keep[d]];
	return out_reshaped(o, &x, rank, dims);
}

bool ox_follow_unsqueeze(struct ox *o)
{
	struct vec x;
	uint32_t rank;
	int64_t dims[OX_RANK];
	if (!vec_of(o, 0, &x))
		return false;
	const int64_t *from = ox_unsqueezed(o, x.rank, &rank);
	for (uint32_t d = 0; d < rank; d++)
		dims[d] = from[d] < 0 ? 1 : x.dims[from[d]];
	return out_reshaped(o, &x, rank, dims);
}

bool ox_follow_cast(struct ox *o)
{
	struct vec x;
	uint32_t out[OX_FOLLOW + 1];
	const struct tn_onnx_attr *to = ox_attr(o, "to", TN_ONNX_INT);
	uint32_t dtype = to ? tn_onnx_dtype(to->i) : TN_NONE;
	if (!vec_of(o, 0, &x) || !(ox_is_int(dtype) || dtype == TN_BOOL))
		return false;
	for (uint32_t i = 0; i < x.n; i++) {
		int64_t k;
		out[i] = x.at[i];
		if (dtype == TN_BOOL) {
			if (!ox_const(o, x.at[i], &k))
				return false;
			out[i] = ox_c(o, k != 0);
		} else if (!holds(o, dtype, x.at[i])) {
			return false;
		}
	}
	ox_skip_attr(o, "saturate");
	ox_skip_attr(o, "round_mode");
	ox_out_sizes(o, 0, dtype, x.rank, x.dims, out);
	return true;
}

/* ---- sources */

bool ox_follow_shape(struct ox *o)
{
	const struct ox_val *x = ox_in(o, 0);
	int64_t rank = x->rank, start = ox_int(o, "start", 0), end = ox_int(o, "end", rank);
	start = start < 0 ? start + rank : start;
	end = end < 0 ? end + rank : end;
	start = start < 0 ? 0 : start > rank ? rank : start;
	end = end < start ? start : end > rank ? rank : end;
	int64_t n = end - start;
	ox_out_sizes(o, 0, TN_I64, 1, &n, x->dims + start);
	return true;
}

bool ox_follow_size(struct ox *o)
{
	const struct ox_val *x = ox_in(o, 0);
	uint32_t n = ox_product(o, x->dims, x->rank);
	ox_out_sizes(o, 0, TN_I64, 0, NULL, &n);
	return true;
}

bool ox_follow_range(struct ox *o)
{
	struct vec v[3];
	int64_t k[3], n;
	uint32_t out[OX_FOLLOW + 1];
	for (uint32_t i = 0; i < 3; i++)
		if (!vec_of(o, i, &v[i]) || v[i].n != 1 || !numbers(o, &v[i], &k[i]))
			return false;
	if (!k[2] || __builtin_sub_overflow(k[1], k[0], &n) || n > INT32_MAX || n < INT32_MIN || k[2] > INT32_MAX || k[2] < INT32_MIN)
		return false;
	n = k[2] > 0 ? (n + k[2] - 1) / k[2] : (n + k[2] + 1) / k[2];
	n = n < 0 ? 0 : n;
	if (n > OX_FOLLOW)
		return false;
	for (int64_t i = 0; i < n; i++) {
		if (!fits(v[0].v->dtype, k[0] + i * k[2]))
			return false;
		out[i] = ox_c(o, k[0] + i * k[2]);
	}
	ox_out_sizes(o, 0, v[0].v->dtype, 1, &n, out);
	return true;
}

bool ox_follow_fill(struct ox *o)
{
	struct vec shape;
	int64_t dims[OX_FOLLOW];
	const struct tn_onnx_attr *a = ox_attr(o, "value", TN_ONNX_A_TENSOR);
	struct ox_val value = { 0 };
	uint32_t n, out[OX_FOLLOW + 1];
	if (!a || a->t->count != 1 || !vec_of(o, 0, &shape) || shape.n > OX_RANK || !numbers(o, &shape, dims) || count_of(dims, shape.n) > OX_FOLLOW)
		return false;
	value.tensor = a->t;
	const uint32_t *one = ox_sizes(o, &value, &n);
	if (!one)
		return false;
	for (uint32_t i = 0; i < count_of(dims, shape.n); i++)
		out[i] = one[0];
	ox_out_sizes(o, 0, a->t->dtype, shape.n, dims, out);
	return true;
}

/* ---- picking */

bool ox_follow_slice(struct ox *o)
{
	struct vec x;
	int64_t part[4][OX_FOLLOW], from[OX_RANK] = { 0 }, step[OX_RANK], dims[OX_RANK], strides[OX_RANK];
	uint32_t n = 0, out[OX_FOLLOW + 1], count;
	if (!vec_of(o, 0, &x))
		return false;
	for (uint32_t i = 1; i < 5; i++) {
		struct vec p;
		if (!ox_has(o, i) && i > 2) {
			for (uint32_t k = 0; k < n; k++)
				part[i - 1][k] = i == 3 ? k : 1;
			continue;
		}
		if (!vec_of(o, i, &p) || !numbers(o, &p, part[i - 1]) || (i > 1 && p.n != n))
			return false;
		n = p.n;
	}
	for (uint32_t d = x.rank, s = 1; d-- > 0; s *= (uint32_t)x.dims[d]) {
		strides[d] = s;
		step[d] = 1;
		dims[d] = x.dims[d];
	}
	for (uint32_t i = 0; i < n; i++) {
		int64_t d = ox_axis(o, part[2][i], x.rank), start, limit;
		struct ox_span s = ox_slice_span(o, ox_c(o, x.dims[d]), ox_c(o, part[0][i]), ox_c(o, part[1][i]), part[3][i]);
		if (!ox_const(o, s.start, &start) || !ox_const(o, s.limit, &limit))
			return false;
		from[d] = start;
		step[d] = s.step;
		dims[d] = s.step > 0 ? (limit - start + s.step - 1) / s.step : (limit - start + s.step + 1) / s.step;
	}
	count = count_of(dims, x.rank);
	for (uint32_t i = 0; i < count; i++) {
		int64_t at = 0, rest = i;
		for (uint32_t d = x.rank; d-- > 0; rest /= dims[d])
			at += (from[d] + rest % dims[d] * step[d]) * strides[d];
		out[i] = x.at[at];
	}
	ox_out_sizes(o, 0, x.v->dtype, x.rank, dims, out);
	return true;
}

bool ox_follow_gather(struct ox *o)
{
	struct vec x, index;
	int64_t at[OX_FOLLOW], dims[2 * OX_RANK];
	uint32_t out[OX_FOLLOW + 1], rank = 0, post = 1, n = 0, pre = 1;
	if (!vec_of(o, 0, &x) || !vec_of(o, 1, &index) || !numbers(o, &index, at))
		return false;
	uint32_t axis = (uint32_t)ox_axis(o, ox_int(o, "axis", 0), x.rank);
	for (uint32_t d = 0; d < x.rank; d++) {
		if (d == axis) {
			memcpy(dims + rank, index.dims, index.rank * sizeof *dims);
			rank += index.rank;
		} else {
			dims[rank++] = x.dims[d];
		}
		*(d < axis ? &pre : &post) *= d == axis ? 1 : (uint32_t)x.dims[d];
	}
	if (rank > OX_RANK || count_of(dims, rank) > OX_FOLLOW)
		return false;
	for (uint32_t p = 0; p < pre; p++)
		for (uint32_t i = 0; i < index.n; i++) {
			int64_t k = at[i] < 0 ? at[i] + x.dims[axis] : at[i];
			if (k < 0 || k >= x.dims[axis])
				ox_fail(o, TN_E_ARG, "index %lld of dim %u, which has %lld", (long long)at[i], axis, (long long)x.dims[axis]);
			for (uint32_t q = 0; q < post; q++)
				out[n++] = x.at[(p * (uint32_t)x.dims[axis] + (uint32_t)k) * post + q];
		}
	ox_out_sizes(o, 0, x.v->dtype, rank, dims, out);
	return true;
}

bool ox_follow_concat(struct ox *o)
{
	struct vec x;
	uint32_t out[OX_FOLLOW + 1], n = 0, dtype = 0;
	for (uint32_t i = 0; i < o->node->n_in; i++) {
		if (!vec_of(o, i, &x) || x.rank != 1 || n + x.n > OX_FOLLOW || (i && x.v->dtype != dtype))
			return false;
		dtype = x.v->dtype;
		memcpy(out + n, x.at, x.n * sizeof *out);
		n += x.n;
	}
	if (!o->node->n_in)
		return false;
	ox_axis(o, ox_int(o, "axis", 0), 1);
	int64_t dim = n;
	ox_out_sizes(o, 0, dtype, 1, &dim, out);
	return true;
}

/* A vector of which some elements are followed and some are computed: what is known stays so, see ox_need_sizes. */
void ox_note_parts(struct ox *o)
{
	uint32_t parts[OX_RANK], n = 0, known = 0;
	for (uint32_t i = 0; i < o->node->n_in; i++) {
		struct ox_val *v = ox_in(o, i);
		uint32_t k;
		const uint32_t *sizes = ox_sizes(o, v, &k);
		int64_t len;
		if (!ox_is_int(v->dtype) || v->rank != 1 || !ox_const(o, v->dims[0], &len) || n + len > OX_RANK)
			return;
		for (int64_t e = 0; e < len; e++, n++) {
			parts[n] = sizes ? sizes[e] : v->partial ? v->partial[e] : TN_NOTHING;
			known += parts[n] != TN_NOTHING;
		}
	}
	if (known && ox_wants(o, 0))
		ox_find(o, o->node->out[0])->partial = tn_copy_bytes(o->a, parts, n * sizeof *parts);
}

bool ox_follow_split(struct ox *o)
{
	struct vec x;
	if (!vec_of(o, 0, &x) || x.rank != 1)
		return false;
	uint32_t *points = tn_array(o->a, uint32_t, o->node->n_out + 1u);
	int64_t at[2];
	ox_split_points(o, x.v, ox_axis(o, ox_int(o, "axis", 0), 1), points);
	for (uint32_t i = 0; i <= o->node->n_out; i++)
		if (!ox_const(o, points[i], &at[0]) || at[0] < 0 || at[0] > x.n)
			return false;
	for (uint32_t i = 0; i < o->node->n_out; i++) {
		ox_const(o, points[i], &at[0]);
		ox_const(o, points[i + 1], &at[1]);
		int64_t n = at[1] - at[0];
		if (n < 0)
			ox_fail(o, TN_E_ARG, "part %u has %lld elements", i, (long long)n);
		ox_out_sizes(o, i, x.v->dtype, 1, &n, x.at + at[0]);
	}
	return true;
}

/* ---- arithmetic */

/* numbers on both sides; false: leave it to the IR's arithmetic */
static bool fold(uint32_t prim, int64_t a, int64_t b, int64_t *r)
{
	switch (prim) {
	case TN_add: return !__builtin_add_overflow(a, b, r);
	case TN_sub: return !__builtin_sub_overflow(a, b, r);
	case TN_mul: return !__builtin_mul_overflow(a, b, r);
	case TN_div: return b && !(b == -1 && a == INT64_MIN) && (*r = a / b, true);
	case TN_remainder: return b && b != -1 && (*r = a % b, *r += *r && (*r < 0) != (b < 0) ? b : 0, true);
	case TN_max: *r = a > b ? a : b; return true;
	case TN_min: *r = a < b ? a : b; return true;
	case TN_eq: *r = a == b; return true;
	case TN_lt: *r = a < b; return true;
	case TN_le: *r = a <= b; return true;
	case TN_gt: *r = a > b; return true;
	case TN_ge: *r = a >= b; return true;
	case TN_and: *r = a & b; return true;
	case TN_or: *r = a | b; return true;
	default: return false;
	}
}

static bool proven(struct ox *o, int yes, uint32_t *r)
{
	*r = ox_c(o, yes);
	return yes >= 0;
}

static bool on_sizes(struct ox *o, uint32_t prim, uint32_t a, uint32_t b, uint32_t *r)
{
	int64_t x, y, k;
	if (ox_const(o, a, &x) && ox_const(o, b, &y)) {
		if (!fold(prim, x, y, &k))
			return false;
		*r = ox_c(o, k);
		return true;
	}
	switch (prim) {
	case TN_add: *r = ox_plus(o, a, b); return true;
	case TN_sub: *r = ox_minus(o, a, b); return true;
	case TN_mul: *r = ox_times(o, a, b); return true;
	case TN_max: *r = ox_max(o, a, b); return true;
	case TN_min: *r = ox_min(o, a, b); return true;
	case TN_div: case TN_remainder:             /* truncating is flooring where nothing is negative */
		if ((prim == TN_div && ox_lo(o, a) < 0) || ox_lo(o, b) < 0 || ox_hi(o, b) < 1)
			return false;
		b = ox_max(o, b, ox_c(o, 1));          /* by a symbol that may be 0: there the result has no meaning anyway */
		*r = tn_size_op(o->ir, prim == TN_div ? TN_SIZE_DIV : TN_SIZE_MOD, a, b);
		return true;
	case TN_eq: return proven(o, tn_size_eq(o->ir, a, b), r);
	case TN_le: return proven(o, tn_size_le(o->ir, a, b), r);
	case TN_ge: return proven(o, tn_size_le(o->ir, b, a), r);
	case TN_lt: k = tn_size_le(o->ir, b, a); return proven(o, k < 0 ? -1 : !k, r);
	case TN_gt: k = tn_size_le(o->ir, a, b); return proven(o, k < 0 ? -1 : !k, r);
	default: return false;
	}
}

/* place in an operand of the broadcast result's element i */
static uint32_t place(const struct vec *x, const int64_t *dims, uint32_t rank, uint32_t i)
{
	uint32_t at = 0, stride = 1;
	for (uint32_t d = rank; d-- > 0; i /= (uint32_t)dims[d])
		if (d + x->rank >= rank) {
			uint32_t k = d + x->rank - rank;
			at += x->dims[k] == 1 ? 0 : i % (uint32_t)dims[d] * stride;
			stride *= (uint32_t)x->dims[k];
		}
	return at;
}

static bool common(const struct vec *v, uint32_t n, int64_t *dims, uint32_t *rank)
{
	*rank = 0;
	for (uint32_t i = 0; i < n; i++)
		*rank = v[i].rank > *rank ? v[i].rank : *rank;
	for (uint32_t d = 0; d < *rank; d++) {
		dims[d] = 1;
		for (uint32_t i = 0; i < n; i++) {
			int64_t k = d + v[i].rank < *rank ? 1 : v[i].dims[d + v[i].rank - *rank];
			if (k != 1 && dims[d] != 1 && k != dims[d])
				return false;
			dims[d] = k != 1 ? k : dims[d];
		}
	}
	return count_of(dims, *rank) <= OX_FOLLOW;
}

static bool is_comparison(uint32_t prim)
{
	return prim == TN_eq || prim == TN_lt || prim == TN_le || prim == TN_gt || prim == TN_ge;
}

static bool two(struct ox *o, uint32_t prim, const struct vec *v, struct vec *r)
{
	uint32_t dtype = is_comparison(prim) ? TN_BOOL : v[0].v->dtype;
	if (v[0].v->dtype != v[1].v->dtype || (v[0].v->dtype == TN_BOOL && prim != TN_and && prim != TN_or && prim != TN_eq))
		return false;
	if (!common(v, 2, r->dims, &r->rank))
		return false;
	r->n = count_of(r->dims, r->rank);
	uint32_t *out = tn_array(o->a, uint32_t, r->n + 1u);
	for (uint32_t i = 0; i < r->n; i++)
		if (!on_sizes(o, prim, v[0].at[place(&v[0], r->dims, r->rank, i)], v[1].at[place(&v[1], r->dims, r->rank, i)], &out[i]) || !holds(o, dtype, out[i]))
			return false;
	struct ox_val *as = tn_new(o->a, struct ox_val);
	as->dtype = dtype;
	r->v = as;
	r->at = out;
	return true;
}

bool ox_follow_binary(struct ox *o)
{
	struct vec v[2], r;
	if (!vec_of(o, 0, &v[0]))
		return false;
	if (o->op->follow_arg == TN_remainder && ox_int(o, "fmod", 0))
		return false;
	for (uint32_t i = 1; i < o->node->n_in; i++) {
		if (!vec_of(o, i, &v[1]) || !two(o, o->op->follow_arg, v, &r))
			return false;
		v[0] = r;
	}
	ox_out_sizes(o, 0, v[0].v->dtype, v[0].rank, v[0].dims, v[0].at);
	return true;
}

bool ox_follow_neg(struct ox *o)
{
	struct vec x;
	uint32_t out[OX_FOLLOW + 1];
	if (!vec_of(o, 0, &x))
		return false;
	for (uint32_t i = 0; i < x.n; i++)
		if (!on_sizes(o, TN_sub, ox_c(o, 0), x.at[i], &out[i]) || !holds(o, x.v->dtype, out[i]))
			return false;
	ox_out_sizes(o, 0, x.v->dtype, x.rank, x.dims, out);
	return true;
}

bool ox_follow_not(struct ox *o)
{
	struct vec x;
	uint32_t out[OX_FOLLOW + 1];
	int64_t k[OX_FOLLOW];
	if (!vec_of(o, 0, &x) || x.v->dtype != TN_BOOL || !numbers(o, &x, k))
		return false;
	for (uint32_t i = 0; i < x.n; i++)
		out[i] = ox_c(o, !k[i]);
	ox_out_sizes(o, 0, TN_BOOL, x.rank, x.dims, out);
	return true;
}

bool ox_follow_where(struct ox *o)
{
	struct vec v[3];
	int64_t cond[OX_FOLLOW], dims[OX_RANK];
	uint32_t rank, out[OX_FOLLOW + 1];
	for (uint32_t i = 0; i < 3; i++)
		if (!vec_of(o, i, &v[i]))
			return false;
	if (v[0].v->dtype != TN_BOOL || v[1].v->dtype != v[2].v->dtype || !numbers(o, &v[0], cond) || !common(v, 3, dims, &rank))
		return false;
	for (uint32_t i = 0; i < count_of(dims, rank); i++) {
		const struct vec *from = &v[cond[place(&v[0], dims, rank, i)] ? 1 : 2];
		out[i] = from->at[place(from, dims, rank, i)];
	}
	ox_out_sizes(o, 0, v[1].v->dtype, rank, dims, out);
	return true;
}

/* a vector to one number: what shapes are reduced by */
bool ox_follow_reduce(struct ox *o)
{
	struct vec x;
	uint32_t n, prim = o->op->follow_arg;
	if (!vec_of(o, 0, &x) || x.rank != 1 || !x.n)
		return false;
	const int64_t *axes = ox_axes(o, 1, &n);
	int64_t keep = ox_int(o, "keepdims", 1), one = 1;
	if (ox_int(o, "noop_with_empty_axes", 0) && !n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		ox_axis(o, axes[i], 1);
	uint32_t r = x.at[0];
	for (uint32_t i = 1; i < x.n; i++)
		if (!on_sizes(o, prim, r, x.at[i], &r) || !holds(o, x.v->dtype, r))
			return false;
	ox_out_sizes(o, 0, x.v->dtype, keep ? 1 : 0, &one, &r);
	return true;
}

bool ox_follow_expand(struct ox *o)
{
	struct vec v[2];
	int64_t want[OX_FOLLOW], dims[OX_RANK];
	uint32_t rank, out[OX_FOLLOW + 1];
	if (!vec_of(o, 0, &v[0]) || !vec_of(o, 1, &v[1]) || v[1].n > OX_RANK || !numbers(o, &v[1], want))
		return false;
	struct vec shape = { .rank = v[1].n };
	memcpy(shape.dims, want, v[1].n * sizeof *want);
	v[1] = shape;
	if (!common(v, 2, dims, &rank))
		return false;
	for (uint32_t i = 0; i < count_of(dims, rank); i++)
		out[i] = v[0].at[place(&v[0], dims, rank, i)];
	ox_out_sizes(o, 0, v[0].v->dtype, rank, dims, out);
	return true;
}
