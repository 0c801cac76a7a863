/* infer_shape.c - result shapes by the table's shape rules, and the checks of the attributes they read
 *
 * Sizes must be proven equal where a rule wants equality; an order (start <= limit, k <= dim) is refused only when it is proven
 * wrong, and the rest is checked when sizes are known. */
#include "ir/store.h"
#include <string.h>

static uint32_t rank(const struct tn_infer *f, uint32_t i) { return tn_rank(&f->ir->g, f->n->in[i]); }
static uint32_t dim(const struct tn_infer *f, uint32_t i, uint32_t d) { return tn_shape(&f->ir->g, f->n->in[i])[d]; }

static void put(struct tn_infer *f, uint32_t size)
{
	struct tn_type *t = f->out;
	if (t->rank == TN_RANK_MAX)
		tn_infer_fail(f, "the result has more than %d dims", TN_RANK_MAX);
	t->dims[t->rank++] = size;
}

static void put_range(struct tn_infer *f, uint32_t i, uint32_t first, uint32_t end)
{
	for (uint32_t d = first; d < end; d++)
		put(f, dim(f, i, d));
}

static uint32_t add(const struct tn_infer *f, uint32_t a, uint32_t b) { return tn_size_op(f->ir, TN_SIZE_ADD, a, b); }
static uint32_t sub(const struct tn_infer *f, uint32_t a, uint32_t b) { return add(f, a, tn_size_op(f->ir, TN_SIZE_MUL, b, tn_size_const(f->ir, -1))); }
static uint32_t number(const struct tn_infer *f, int64_t v) { return tn_size_const(f->ir, v); }

/* ---- checks */
static void need_rank(const struct tn_infer *f, uint32_t i, uint32_t want)
{
	if (rank(f, i) != want)
		tn_infer_fail(f, "operand %u has %u dims, it needs %u", i, rank(f, i), want);
}

static void need_at_most(const struct tn_infer *f, uint32_t a, uint32_t b, const char *what)
{
	if (tn_size_le(f->ir, a, b) == 0)
		tn_infer_fail(f, "%s: %s is more than %s", what, tn_infer_size(f, a), tn_infer_size(f, b));
}

static uint32_t axis(const struct tn_infer *f, uint32_t n)
{
	const int64_t a = tn_infer_int(f, TN_ATTR_axis, f->p->number == TN_batch_norm ? 1 : 0);
	if (a < 0 || a >= n)
		tn_infer_fail(f, "axis = %lld, and there are %u dims", (long long)a, n);
	return (uint32_t)a;
}

/* a list of n numbers (n TN_NOTHING: any), each within [lo, hi) */
static const int64_t *list(const struct tn_infer *f, uint32_t name, uint32_t *n, int64_t lo, int64_t hi)
{
	uint32_t count;
	const int64_t *at = tn_infer_ints(f, name, &count);
	if (*n != TN_NOTHING && count != *n)
		tn_infer_fail(f, "attribute '%s' has %u elements, it needs %u", tn_attr_name(name), count, *n);
	for (uint32_t i = 0; i < count; i++)
		if (at[i] < lo || at[i] >= hi)
			tn_infer_fail(f, "attribute '%s' has %lld at %u, and must be at least %lld and less than %lld", tn_attr_name(name), (long long)at[i], i,
				(long long)lo, (long long)hi);
	*n = count;
	return at;
}

static const uint32_t *sizes(const struct tn_infer *f, uint32_t name, uint32_t want)
{
	uint32_t count;
	const uint32_t *at = tn_infer_sizes(f, name, &count);
	if (count != want)
		tn_infer_fail(f, "attribute '%s' has %u elements, it needs %u", tn_attr_name(name), count, want);
	return at;
}

/* dim numbers, ascending and distinct */
static const int64_t *ascending(const struct tn_infer *f, uint32_t name, uint32_t *n, uint32_t below)
{
	const int64_t *at = list(f, name, n, 0, below);
	for (uint32_t i = 1; i < *n; i++)
		if (at[i] <= at[i - 1])
			tn_infer_fail(f, "attribute '%s' must ascend, and has %lld after %lld", tn_attr_name(name), (long long)at[i], (long long)at[i - 1]);
	return at;
}

static void flag(const struct tn_infer *f, uint32_t name, int64_t most)
{
	const int64_t v = tn_infer_int(f, name, 0);
	if (v < 0 || v > most)
		tn_infer_fail(f, "attribute '%s' is %lld, and must be within 0 and %lld", tn_attr_name(name), (long long)v, (long long)most);
}

/* ---- views */
static void same(struct tn_infer *f)
{
	for (uint32_t i = 1; i < f->n->n_in; i++) {
		need_rank(f, i, rank(f, 0));
		for (uint32_t d = 0; d < rank(f, 0); d++)
			tn_infer_same(f, dim(f, 0, d), dim(f, i, d), "operand shapes must be equal, and sizes of a dim");
	}
	put_range(f, 0, 0, rank(f, 0));
}

static void from_attr(struct tn_infer *f)
{
	uint32_t n;
	const uint32_t *s = tn_infer_sizes(f, TN_ATTR_shape, &n);
	for (uint32_t i = 0; i < n; i++)
		put(f, s[i]);
	if (f->p->number == TN_iota)
		axis(f, n);
	for (uint32_t i = 0; f->p->cls == TN_CLS_RANDOM && i < f->n->n_in; i++)
		need_rank(f, i, 0);
}

static void broadcast(struct tn_infer *f)
{
	uint32_t n, r = rank(f, 0);
	const uint32_t *s = tn_infer_sizes(f, TN_ATTR_shape, &n);
	const int64_t *to = ascending(f, TN_ATTR_dims, &r, n);
	for (uint32_t i = 0; i < r; i++)
		tn_infer_same(f, dim(f, 0, i), s[to[i]], "sizes of an operand's dim and of the dim it goes to");
	for (uint32_t i = 0; i < n; i++)
		put(f, s[i]);
}

static void permute(struct tn_infer *f)
{
	uint32_t r = rank(f, 0), seen = 0;
	const int64_t *perm = list(f, TN_ATTR_perm, &r, 0, r);
	for (uint32_t i = 0; i < r; i++) {
		if (seen >> perm[i] & 1)
			tn_infer_fail(f, "attribute 'perm' has %lld twice", (long long)perm[i]);
		seen |= 1u << perm[i];
		put(f, dim(f, 0, (uint32_t)perm[i]));
	}
}

static void reshape(struct tn_infer *f)
{
	from_attr(f);
	const uint32_t was = tn_size_product(f->ir, tn_shape(&f->ir->g, f->n->in[0]), rank(f, 0)), is = tn_size_product(f->ir, f->out->dims, f->out->rank);
	if (tn_size_eq(f->ir, was, is) == 0)
		tn_infer_fail(f, "%s elements cannot become %s", tn_infer_size(f, was), tn_infer_size(f, is));
}

/* start <= limit is the caller's promise (start >= limit for negative steps), so that no max(0, ...) gets into the size */
static void slice(struct tn_infer *f)
{
	uint32_t r = rank(f, 0);
	const uint32_t *start = sizes(f, TN_ATTR_start, r), *limit = sizes(f, TN_ATTR_limit, r);
	const int64_t *step = list(f, TN_ATTR_step, &r, -INT32_MAX, INT32_MAX);
	for (uint32_t d = 0; d < r; d++) {
		if (step[d] == 0)
			tn_infer_fail(f, "attribute 'step' is 0 at %u", d);
		const uint32_t first = step[d] > 0 ? start[d] : limit[d], last = step[d] > 0 ? limit[d] : start[d];
		need_at_most(f, number(f, step[d] > 0 ? 0 : -1), first, "slice begins before the dim");
		need_at_most(f, first, last, "slice of a negative length");
		need_at_most(f, add(f, last, number(f, step[d] < 0)), dim(f, 0, d), "slice ends past the dim");
		const int64_t by = step[d] > 0 ? step[d] : -step[d];
		put(f, tn_size_op(f->ir, TN_SIZE_DIV, add(f, sub(f, last, first), number(f, by - 1)), number(f, by)));
	}
}

static void pad(struct tn_infer *f)
{
	uint32_t r = rank(f, 0);
	const uint32_t *low = sizes(f, TN_ATTR_low, r), *high = sizes(f, TN_ATTR_high, r);
	const int64_t *interior = list(f, TN_ATTR_interior, &r, 0, INT32_MAX);
	need_rank(f, 1, 0);
	for (uint32_t d = 0; d < r; d++) {
		uint32_t n = add(f, add(f, dim(f, 0, d), low[d]), high[d]);
		if (interior[d]) {
			const uint32_t gaps = tn_size_op(f->ir, TN_SIZE_MAX, sub(f, dim(f, 0, d), 1), 0);
			n = add(f, n, tn_size_op(f->ir, TN_SIZE_MUL, gaps, number(f, interior[d])));
		}
		put(f, n);
	}
}

/* (d - ((size - 1)*dilation + 1)) div stride + 1 */
static uint32_t windows(const struct tn_infer *f, uint32_t d, uint32_t size, int64_t stride, int64_t dilation)
{
	const uint32_t span = add(f, tn_size_op(f->ir, TN_SIZE_MUL, sub(f, size, 1), number(f, dilation)), 1);
	need_at_most(f, 1, size, "a window is empty");
	need_at_most(f, span, d, "a window is larger than the dim");
	return add(f, tn_size_op(f->ir, TN_SIZE_DIV, sub(f, d, span), number(f, stride)), 1);
}

/* The operand's dims, the windowed ones counting windows, then one dim a window. */
static void window(struct tn_infer *f)
{
	uint32_t n = TN_NOTHING;
	const int64_t *dims = ascending(f, TN_ATTR_dims, &n, rank(f, 0));
	const uint32_t *size = sizes(f, TN_ATTR_size, n);
	const int64_t *stride = list(f, TN_ATTR_stride, &n, 1, INT32_MAX), *dilation = list(f, TN_ATTR_dilation, &n, 1, INT32_MAX);
	put_range(f, 0, 0, rank(f, 0));
	for (uint32_t i = 0; i < n; i++) {
		f->out->dims[dims[i]] = windows(f, dim(f, 0, (uint32_t)dims[i]), size[i], stride[i], dilation[i]);
		put(f, size[i]);
	}
}

static void cat(struct tn_infer *f)
{
	const uint32_t r = rank(f, 0), a = axis(f, r);
	put_range(f, 0, 0, r);
	for (uint32_t i = 1; i < f->n->n_in; i++) {
		need_rank(f, i, r);
		for (uint32_t d = 0; d < r; d++)
			if (d != a)
				tn_infer_same(f, dim(f, 0, d), dim(f, i, d), "sizes of a dim that is not joined");
		f->out->dims[a] = add(f, f->out->dims[a], dim(f, i, a));
	}
}

/* ---- indexing: the operand's dims with `axis` replaced by the index's dims past the batch dims, which both have in front */
static void gathered(struct tn_infer *f)
{
	const uint32_t a = axis(f, rank(f, 0));
	const int64_t batch = tn_infer_int(f, TN_ATTR_batch, 0);
	if (batch < 0 || batch > a || batch > rank(f, 1))
		tn_infer_fail(f, "batch = %lld, with axis %u and an index of %u dims", (long long)batch, a, rank(f, 1));
	for (uint32_t d = 0; d < batch; d++)
		tn_infer_same(f, dim(f, 0, d), dim(f, 1, d), "sizes of a batch dim");
	put_range(f, 0, 0, a);
	put_range(f, 1, (uint32_t)batch, rank(f, 1));
	put_range(f, 0, a + 1, rank(f, 0));
	flag(f, TN_ATTR_mode, 2);
}

static void scatter(struct tn_infer *f)
{
	gathered(f);
	need_rank(f, 2, f->out->rank);
	for (uint32_t d = 0; d < f->out->rank; d++)
		tn_infer_same(f, f->out->dims[d], dim(f, 2, d), "sizes of a dim of the updates, expected and given,");
	flag(f, TN_ATTR_op, 4);
	if (f->out->dtype == TN_BOOL && (tn_infer_int(f, TN_ATTR_op, 0) == 1 || tn_infer_int(f, TN_ATTR_op, 0) == 2))
		tn_infer_fail(f, "bool has no sum or product: op = %lld", (long long)tn_infer_int(f, TN_ATTR_op, 0));
	f->out->rank = 0;
	put_range(f, 0, 0, rank(f, 0));
}

/* ---- reductions */
static void reduce(struct tn_infer *f)
{
	uint32_t n = TN_NOTHING, k = 0;
	const int64_t *axes = ascending(f, TN_ATTR_axes, &n, rank(f, 0));
	for (uint32_t d = 0; d < rank(f, 0); d++)
		if (k < n && axes[k] == d)
			k++;
		else
			put(f, dim(f, 0, d));
}

static void reduce_axis(struct tn_infer *f)
{
	const uint32_t a = axis(f, rank(f, 0));
	put_range(f, 0, 0, a);
	put_range(f, 0, a + 1, rank(f, 0));
}

/* marks the dims that pairs name in the masks of both operands */
static const int64_t *dim_pairs(struct tn_infer *f, uint32_t name, uint32_t *n, uint32_t taken[2])
{
	*n = TN_NOTHING;
	const int64_t *p = list(f, name, n, 0, TN_RANK_MAX);
	if (*n % 2)
		tn_infer_fail(f, "attribute '%s' has %u elements, and they are pairs", tn_attr_name(name), *n);
	for (uint32_t i = 0; i < *n; i++) {
		const uint32_t side = i % 2;
		if (p[i] >= rank(f, side))
			tn_infer_fail(f, "attribute '%s' names dim %lld of operand %u, which has %u", tn_attr_name(name), (long long)p[i], side, rank(f, side));
		if (taken[side] >> p[i] & 1)
			tn_infer_fail(f, "dim %lld of operand %u is named twice", (long long)p[i], side);
		taken[side] |= 1u << p[i];
	}
	for (uint32_t i = 0; i < *n; i += 2)
		tn_infer_same(f, dim(f, 0, (uint32_t)p[i]), dim(f, 1, (uint32_t)p[i + 1]), name == TN_ATTR_contract ? "sizes of contracted dims" : "sizes of batch dims");
	return p;
}

static void dot(struct tn_infer *f)
{
	uint32_t n, n_batch, taken[2] = { 0, 0 };
	const int64_t *batch = dim_pairs(f, TN_ATTR_batch, &n_batch, taken);
	dim_pairs(f, TN_ATTR_contract, &n, taken);
	for (uint32_t i = 0; i < n_batch; i += 2)
		put(f, dim(f, 0, (uint32_t)batch[i]));
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t d = 0; d < rank(f, side); d++)
			if (!(taken[side] >> d & 1))
				put(f, dim(f, side, d));
}

/* ---- convolution and pooling: operands [batch, channels, space...], weights [out channels, channels / groups, window...] */
static uint32_t padded(const struct tn_infer *f, uint32_t d, int64_t low, int64_t high)
{
	return add(f, d, number(f, low + high));
}

static void convolution(struct tn_infer *f)
{
	uint32_t n = rank(f, 0) - 2;
	if (rank(f, 0) < 3)
		tn_infer_fail(f, "operand 0 has %u dims, it needs batch, channels and at least one more", rank(f, 0));
	need_rank(f, 1, rank(f, 0));
	const int64_t *stride = list(f, TN_ATTR_stride, &n, 1, INT32_MAX), *dilation = list(f, TN_ATTR_dilation, &n, 1, INT32_MAX);
	const int64_t *low = list(f, TN_ATTR_low, &n, -INT32_MAX, INT32_MAX), *high = list(f, TN_ATTR_high, &n, -INT32_MAX, INT32_MAX);
	const int64_t groups = tn_infer_int(f, TN_ATTR_groups, 1), out = tn_size_known(&f->ir->g, dim(f, 1, 0));
	if (groups < 1 || (out >= 0 && out % groups != 0))
		tn_infer_fail(f, "groups = %lld, with %s output channels", (long long)groups, tn_infer_size(f, dim(f, 1, 0)));
	tn_infer_same(f, dim(f, 0, 1), tn_size_op(f->ir, TN_SIZE_MUL, dim(f, 1, 1), number(f, groups)), "channels of the operand and groups * channels of the weights");
	put(f, dim(f, 0, 0));
	put(f, dim(f, 1, 0));
	for (uint32_t i = 0; i < n; i++)
		put(f, windows(f, padded(f, dim(f, 0, 2 + i), low[i], high[i]), dim(f, 1, 2 + i), stride[i], dilation[i]));
}

static void pool(struct tn_infer *f)
{
	uint32_t n = TN_NOTHING, r = rank(f, 0);
	const int64_t one[TN_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const int64_t *size = list(f, TN_ATTR_size, &n, 1, INT32_MAX);
	if (n > r)
		tn_infer_fail(f, "attribute 'size' has %u elements, and the operand %u dims", n, r);
	const int64_t *stride = list(f, TN_ATTR_stride, &n, 1, INT32_MAX);
	const int64_t *low = list(f, TN_ATTR_low, &n, -INT32_MAX, INT32_MAX), *high = list(f, TN_ATTR_high, &n, -INT32_MAX, INT32_MAX);
	const int64_t *dilation = tn_infer_attr(f, TN_ATTR_dilation) ? list(f, TN_ATTR_dilation, &n, 1, INT32_MAX) : one;
	put_range(f, 0, 0, r - n);
	for (uint32_t i = 0; i < n; i++)
		put(f, windows(f, padded(f, dim(f, 0, r - n + i), low[i], high[i]), number(f, size[i]), stride[i], dilation[i]));
}

/* ---- the operand's shape; norms have parameters of their own shapes */
static void need_vector(const struct tn_infer *f, uint32_t i, uint32_t size)
{
	need_rank(f, i, 1);
	tn_infer_same(f, dim(f, i, 0), size, "sizes of a parameter and of the dim it goes with");
}

static void first(struct tn_infer *f)
{
	const uint32_t r = rank(f, 0);
	const uint32_t a = tn_infer_attr(f, TN_ATTR_axis) || f->p->number == TN_batch_norm ? axis(f, r) : 0;
	put_range(f, 0, 0, r);
	switch (f->p->number) {
	case TN_layer_norm:
	case TN_rms_norm:
		for (uint32_t i = 1; i < f->n->n_in; i++) {
			need_rank(f, i, r - a);
			for (uint32_t d = a; d < r; d++)
				tn_infer_same(f, dim(f, i, d - a), dim(f, 0, d), "sizes of a parameter's dim and of the dim it goes with");
		}
		break;
	case TN_batch_norm:
		for (uint32_t i = 1; i < f->n->n_in; i++)
			need_vector(f, i, dim(f, 0, a));
		break;
	case TN_group_norm: {
		const int64_t groups = tn_infer_int(f, TN_ATTR_groups, 1);
		if (r < 2)
			tn_infer_fail(f, "the operand has %u dims, it needs batch and channels", r);
		const int64_t channels = tn_size_known(&f->ir->g, dim(f, 0, 1));
		if (groups < 1 || (channels >= 0 && channels % groups != 0))
			tn_infer_fail(f, "groups = %lld, with %s channels", (long long)groups, tn_infer_size(f, dim(f, 0, 1)));
		for (uint32_t i = 1; i < f->n->n_in; i++)
			need_vector(f, i, dim(f, 0, 1));
		break;
	}
	case TN_cumulate:
		if (tn_infer_int(f, TN_ATTR_op, 1) < 1 || tn_infer_int(f, TN_ATTR_op, 1) > 4)
			tn_infer_fail(f, "attribute 'op' is %lld, and must be within 1 and 4", (long long)tn_infer_int(f, TN_ATTR_op, 1));
		break;
	default:
		break;
	}
}

static void topk(struct tn_infer *f)
{
	const uint32_t a = axis(f, rank(f, 0)), *k = sizes(f, TN_ATTR_k, 1);
	need_at_most(f, *k, dim(f, 0, a), "k");
	put_range(f, 0, 0, rank(f, 0));
	f->out->dims[a] = *k;
}

static void pack(struct tn_infer *f)
{
	struct tn_layout l = { .n_perm = 0 };
	const char *name = tn_infer_attr(f, TN_ATTR_layout)->list;
	put_range(f, 0, 0, rank(f, 0));
	l.opaque = tn_put_text(f->ir, name, strlen(name));
	f->out->layout = tn_put_layout(f->ir, &l);
}

void tn_infer_shape(struct tn_infer *f)
{
	switch (f->p->sh) {
	case TN_SH_SAME: same(f); break;
	case TN_SH_ATTR: from_attr(f); break;
	case TN_SH_BROADCAST: broadcast(f); break;
	case TN_SH_PERMUTE: permute(f); break;
	case TN_SH_RESHAPE: reshape(f); break;
	case TN_SH_SLICE: slice(f); break;
	case TN_SH_PAD: pad(f); break;
	case TN_SH_WINDOW: window(f); break;
	case TN_SH_CAT: cat(f); break;
	case TN_SH_GATHER: gathered(f); break;
	case TN_SH_SCATTER: scatter(f); break;
	case TN_SH_REDUCE: reduce(f); break;
	case TN_SH_REDUCE_AXIS: reduce_axis(f); break;
	case TN_SH_DOT: dot(f); break;
	case TN_SH_CONV: convolution(f); break;
	case TN_SH_POOL: pool(f); break;
	case TN_SH_FIRST: first(f); break;
	case TN_SH_TOPK: topk(f); break;
	case TN_SH_PACK: pack(f); break;
	default: tn_infer_fail(f, "the table has no shape rule %u", f->p->sh);
	}
	for (uint32_t i = 1; i < f->n_out; i++) {      /* every result has the shape of the first */
		const uint32_t dtype = f->out[i].dtype;
		f->out[i] = f->out[0];
		f->out[i].dtype = dtype;
	}
}
