/* ops_nn.c - products of matrices, convolutions, pooling */
#include <math.h>
#include <string.h>
#include "frontend/onnx/convert.h"

/* ---- products */

static void matmul(struct ox *o)
{
	ox_out(o, 0, ox_matmul(o, ox_v(o, 0), ox_v(o, 1), TN_NONE));
}

/* x * number, or x itself */
static uint32_t scaled(struct ox *o, uint32_t x, double by)
{
	return by == 1 ? x : tn_ir_binary(o->ir, TN_mul, x, ox_like(o, x, by));
}

static void gemm(struct ox *o)
{
	double alpha = ox_float(o, "alpha", 1), beta = ox_float(o, "beta", 1);
	int64_t contract[2] = { ox_int(o, "transA", 0) ? 0 : 1, ox_int(o, "transB", 0) ? 1 : 0 };
	uint32_t a = ox_v(o, 0), b = ox_v(o, 1);
	if (ox_rank(o, a) != 2 || ox_rank(o, b) != 2)
		ox_fail(o, TN_E_ARG, "operands of rank %u and %u", ox_rank(o, a), ox_rank(o, b));
	ox_same(o, ox_dims(o, a)[contract[0]], ox_dims(o, b)[contract[1]]);
	uint32_t r = scaled(o, tn_ir_dot(o->ir, a, b, contract, 2, NULL, 0), alpha);
	if (ox_has(o, 2) && beta != 0) {
		uint32_t c = tn_ir_expand_to(o->ir, scaled(o, ox_v(o, 2), beta), ox_dims(o, r), 2);
		r = tn_ir_binary(o->ir, TN_add, r, c);
	}
	ox_out(o, 0, r);
}

/* an integer operand less its zero point, which is a number, or one for each row (row) or column; as i32 */
static uint32_t centred(struct ox *o, uint32_t i, uint32_t zero, bool row)
{
	uint32_t x = tn_ir_convert(o->ir, ox_v(o, i), TN_I32), rank = ox_rank(o, x);
	if (!ox_has(o, zero))
		return x;
	uint32_t z = tn_ir_convert(o->ir, ox_v(o, zero), TN_I32);
	if (ox_rank(o, z) == 1 && row && rank > 1)
		z = ox_unsqueeze(o, z, 1);
	return ox_binary(o, TN_sub, x, z);
}

static void matmul_integer(struct ox *o)
{
	ox_out(o, 0, ox_matmul(o, centred(o, 0, 2, true), centred(o, 1, 3, false), TN_NONE));
}

/* ---- windows: what convolutions and pools have in common */

struct space {
	uint32_t n;                            /* spatial dims */
	int64_t size[OX_RANK], stride[OX_RANK], dilation[OX_RANK];
	uint32_t low[OX_RANK], high[OX_RANK];  /* sizes */
	uint32_t extra[OX_RANK];               /* of high: added by ceil_mode, not the user's padding */
};

static void int_list(struct ox *o, const char *name, uint32_t n, int64_t least, int64_t otherwise, int64_t *to)
{
	uint32_t count;
	const int64_t *v = ox_ints(o, name, &count);
	if (v && count != n)
		ox_fail(o, TN_E_ARG, "%s has %u elements for %u dims", name, count, n);
	for (uint32_t i = 0; i < n; i++) {
		to[i] = v ? v[i] : otherwise;
		if (to[i] < least || to[i] > OX_DIM_MAX)
			ox_fail(o, TN_E_ARG, "%s is %lld at %u", name, (long long)to[i], i);
	}
}

static int64_t reach(const struct space *s, uint32_t i)   /* places that a window spans */
{
	return (s->size[i] - 1) * s->dilation[i] + 1;
}

/* as many windows as strides fit, padding split evenly, the odd one above (SAME_UPPER) or below */
static void same_padding(struct ox *o, struct space *s, const uint32_t *dims, bool upper)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t stride = ox_c(o, s->stride[i]), one = ox_c(o, 1);
		uint32_t windows = ox_over(o, ox_plus(o, dims[i], ox_c(o, s->stride[i] - 1)), stride);
		uint32_t need = ox_plus(o, ox_times(o, ox_minus(o, windows, one), stride), ox_c(o, reach(s, i)));
		uint32_t total = ox_max(o, ox_minus(o, need, dims[i]), ox_c(o, 0)), half = ox_over(o, total, ox_c(o, 2));
		s->low[i] = upper ? half : ox_minus(o, total, half);
		s->high[i] = ox_minus(o, total, s->low[i]);
	}
}

static void explicit_padding(struct ox *o, struct space *s, bool used)
{
	int64_t pads[2 * OX_RANK];
	int_list(o, "pads", 2 * s->n, 0, 0, pads);
	for (uint32_t i = 0; i < s->n; i++) {
		s->low[i] = ox_c(o, used ? pads[i] : 0);
		s->high[i] = ox_c(o, used ? pads[s->n + i] : 0);
	}
}

/* strides, dilations, pads and auto_pad of x [batch, channels, space..], whose windows have these sizes */
static void read_space(struct ox *o, struct space *s, const uint32_t *dims, uint32_t n)
{
	struct tn_str pad = ox_text(o, "auto_pad", "NOTSET");
	bool upper = tn_str_is(pad, "SAME_UPPER"), lower = tn_str_is(pad, "SAME_LOWER");
	if (!upper && !lower && !tn_str_is(pad, "NOTSET") && !tn_str_is(pad, "VALID"))
		ox_fail(o, TN_E_ARG, "auto_pad '%.*s'", TN_STR(pad));
	s->n = n;
	int_list(o, "strides", n, 1, 1, s->stride);
	int_list(o, "dilations", n, 1, 1, s->dilation);
	for (uint32_t i = 0; i < n; i++) {
		s->extra[i] = ox_c(o, 0);
		if (s->size[i] > 1 && s->dilation[i] > OX_DIM_MAX / (s->size[i] - 1))
			ox_fail(o, TN_E_ARG, "dilation %lld of a window of %lld", (long long)s->dilation[i], (long long)s->size[i]);
	}
	explicit_padding(o, s, tn_str_is(pad, "NOTSET"));
	if (upper || lower)
		same_padding(o, s, dims + 2, upper);
}

/* ceil_mode: a last window may hang over the end, if it starts within the tensor or its padding below */
static void ceil_padding(struct ox *o, struct space *s, const uint32_t *dims)
{
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t dim = dims[2 + i], stride = ox_c(o, s->stride[i]), one = ox_c(o, 1);
		uint32_t padded = ox_plus(o, ox_plus(o, dim, s->low[i]), s->high[i]);
		uint32_t room = ox_minus(o, padded, ox_c(o, reach(s, i)));
		uint32_t last = ox_over(o, ox_plus(o, room, ox_c(o, s->stride[i] - 1)), stride);   /* windows - 1 */
		uint32_t beyond = ox_minus(o, ox_plus(o, dim, s->low[i]), ox_plus(o, ox_times(o, last, stride), one));   /* negative: it starts past the end */
		last = ox_minus(o, last, ox_negative(o, beyond));
		s->extra[i] = ox_max(o, ox_minus(o, ox_times(o, last, stride), room), ox_c(o, 0));
		s->high[i] = ox_plus(o, s->high[i], s->extra[i]);
	}
}

/* padding as numbers, or, where it depends on symbols, done by a pad node and then 0 */
static uint32_t settle_padding(struct ox *o, uint32_t x, const struct space *s, double fill, int64_t *low, int64_t *high)
{
	uint32_t lows[OX_RANK], highs[OX_RANK], rank = s->n + 2;
	bool known = true;
	for (uint32_t i = 0; i < s->n; i++)
		known = ox_const(o, s->low[i], &low[i]) && ox_const(o, s->high[i], &high[i]) && known;
	if (known)
		return x;
	for (uint32_t d = 0; d < rank; d++) {
		lows[d] = d < 2 ? ox_c(o, 0) : s->low[d - 2];
		highs[d] = d < 2 ? ox_c(o, 0) : s->high[d - 2];
	}
	memset(low, 0, s->n * sizeof *low);
	memset(high, 0, s->n * sizeof *high);
	return ox_pad(o, x, fill, lows, highs, NULL);
}

static uint32_t with_bias(struct ox *o, uint32_t y, uint32_t i)
{
	static const int64_t channel = 1;
	if (!ox_has(o, i))
		return y;
	return tn_ir_binary(o->ir, TN_add, y, tn_ir_broadcast(o->ir, ox_v(o, i), ox_dims(o, y), ox_rank(o, y), &channel));
}

/* ---- convolution */

/* the window's sizes, from the weights; kernel_shape must agree */
static void kernel_sizes(struct ox *o, uint32_t w, struct space *s, uint32_t n)
{
	const uint32_t *dims = ox_dims(o, w);
	uint32_t count;
	const int64_t *named = ox_ints(o, "kernel_shape", &count);
	if (ox_rank(o, w) != n + 2)
		ox_fail(o, TN_E_ARG, "weights of rank %u for an input of rank %u", ox_rank(o, w), n + 2);
	for (uint32_t i = 0; i < n; i++) {
		if (!ox_const(o, dims[2 + i], &s->size[i]))
			ox_fail(o, TN_E_UNSUPPORTED, "weights of shape %s", ox_print_dims(o, dims, n + 2));
		if (s->size[i] < 1 || s->size[i] > OX_DIM_MAX || (named && (count != n || named[i] != s->size[i])))
			ox_fail(o, TN_E_ARG, "kernel_shape does not agree with weights %s", ox_print_dims(o, dims, n + 2));
	}
}

uint32_t ox_spatial_rank(struct ox *o, uint32_t x)
{
	if (ox_rank(o, x) < 3)
		ox_fail(o, TN_E_ARG, "input of rank %u; it needs batch, channels and at least one dim more", ox_rank(o, x));
	return ox_rank(o, x) - 2;
}

static uint32_t convolution(struct ox *o, uint32_t x, uint32_t w, const struct space *s, int64_t groups)
{
	int64_t low[OX_RANK], high[OX_RANK];
	x = settle_padding(o, x, s, 0, low, high);
	struct tn_attr_in attrs[] = { TN_A_INTS(stride, s->stride, s->n), TN_A_INTS(low, low, s->n), TN_A_INTS(high, high, s->n),
	                              TN_A_INTS(dilation, s->dilation, s->n), TN_A_INT(groups, groups) };
	return tn_ir_add(o->ir, TN_convolution, (uint32_t[]){ x, w }, 2, attrs, 5);
}

void ox_check_groups(struct ox *o, uint32_t x, int64_t groups)
{
	int64_t channels;
	if (groups < 1 || (ox_const(o, ox_dims(o, x)[1], &channels) && channels % groups))
		ox_fail(o, TN_E_ARG, "group %lld does not divide %s channels", (long long)groups, ox_print(o, ox_dims(o, x)[1]));
}

static uint32_t conv_of(struct ox *o, uint32_t x, uint32_t w)
{
	struct space s = { 0 };
	int64_t groups = ox_int(o, "group", 1);
	uint32_t n = ox_spatial_rank(o, x);
	kernel_sizes(o, w, &s, n);
	ox_same(o, ox_dims(o, x)[1], ox_times(o, ox_dims(o, w)[1], ox_c(o, groups)));
	ox_check_groups(o, x, groups);
	read_space(o, &s, ox_dims(o, x), n);
	return convolution(o, x, w, &s, groups);
}

static void conv(struct ox *o)
{
	ox_out(o, 0, with_bias(o, conv_of(o, ox_v(o, 0), ox_v(o, 1)), 2));
}

static void conv_integer(struct ox *o)
{
	uint32_t w = tn_ir_convert(o->ir, ox_v(o, 1), TN_I32);
	if (ox_has(o, 3)) {
		uint32_t z = tn_ir_convert(o->ir, ox_v(o, 3), TN_I32);
		for (uint32_t d = 1; ox_rank(o, z) && d < ox_rank(o, w); d++)   /* one for each output channel */
			z = ox_unsqueeze(o, z, d);
		w = ox_binary(o, TN_sub, w, z);
	}
	ox_out(o, 0, conv_of(o, centred(o, 0, 2, false), w));
}

/* weights [in, out / groups, window..] of a transposed convolution as those of a plain one: groups apart, channels swapped, window turned round */
static uint32_t turned(struct ox *o, uint32_t w, int64_t groups)
{
	uint32_t rank = ox_rank(o, w), parts[OX_RANK + 1], g = ox_c(o, groups);
	const uint32_t *dims = ox_dims(o, w);
	int64_t perm[OX_RANK + 1] = { 0, 2, 1 };
	uint32_t per = ox_over(o, dims[0], g);
	parts[0] = g;
	parts[1] = per;
	memcpy(parts + 2, dims + 1, (rank - 1) * sizeof *dims);
	for (uint32_t d = 3; d <= rank; d++)
		perm[d] = d;
	w = tn_ir_permute(o->ir, tn_ir_reshape(o->ir, w, parts, rank + 1), perm);
	parts[0] = ox_times(o, g, dims[1]);
	parts[1] = per;
	memcpy(parts + 2, dims + 2, (rank - 2) * sizeof *dims);
	w = tn_ir_reshape(o->ir, w, parts, rank);
	for (uint32_t d = 2; d < rank; d++)
		w = ox_axis_slice(o, w, d, ox_minus(o, dims[d], ox_c(o, 1)), ox_c(o, -1), -1);
	return w;
}

/* total padding comes from output_shape or auto_pad where they are there; else from pads */
static void transposed_padding(struct ox *o, struct space *s, const uint32_t *dims, const int64_t *more)
{
	struct tn_str pad = ox_text(o, "auto_pad", "NOTSET");
	uint32_t count;
	const int64_t *want = ox_ints(o, "output_shape", &count);
	bool same = tn_str_is(pad, "SAME_UPPER") || tn_str_is(pad, "SAME_LOWER"), upper = tn_str_is(pad, "SAME_UPPER");
	if (!want && !same)
		return;
	if (want && count != s->n)
		ox_fail(o, TN_E_ARG, "output_shape has %u elements for %u dims", count, s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t stride = ox_c(o, s->stride[i]), out = want ? ox_c(o, want[i]) : ox_times(o, dims[2 + i], stride);
		uint32_t full = ox_plus(o, ox_times(o, ox_minus(o, dims[2 + i], ox_c(o, 1)), stride), ox_c(o, reach(s, i) + more[i]));
		uint32_t total = ox_max(o, ox_minus(o, full, out), ox_c(o, 0)), half = ox_over(o, total, ox_c(o, 2));
		s->low[i] = upper ? half : ox_minus(o, total, half);
		s->high[i] = ox_minus(o, ox_minus(o, full, out), s->low[i]);
	}
}

/* a plain convolution of x with stride-1 zeros between its elements */
static void conv_transpose(struct ox *o)
{
	struct space s = { 0 };
	int64_t groups = ox_int(o, "group", 1), more[OX_RANK], interior[OX_RANK] = { 0 };
	uint32_t x = ox_v(o, 0), w = ox_v(o, 1), n = ox_spatial_rank(o, x), low[OX_RANK], high[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	kernel_sizes(o, w, &s, n);
	ox_same(o, dims[1], ox_dims(o, w)[0]);
	ox_check_groups(o, x, groups);
	read_space(o, &s, dims, n);
	int_list(o, "output_padding", n, 0, 0, more);
	transposed_padding(o, &s, dims, more);
	if (tn_size_eq(o->ir, dims[1], ox_dims(o, w)[0]) == 0)
		ox_fail(o, TN_E_ARG, "weights for %s channels, the input has %s", ox_print(o, ox_dims(o, w)[0]), ox_print(o, dims[1]));
	if (n + 3 > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u", n + 2);
	for (uint32_t d = 0; d < n + 2; d++)
		low[d] = high[d] = ox_c(o, 0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t edge = ox_c(o, reach(&s, i) - 1);
		low[2 + i] = ox_minus(o, edge, s.low[i]);
		high[2 + i] = ox_plus(o, ox_minus(o, edge, s.high[i]), ox_c(o, more[i]));
		interior[2 + i] = s.stride[i] - 1;
		s.stride[i] = 1;
		s.low[i] = s.high[i] = ox_c(o, 0);
	}
	x = ox_pad(o, x, 0, low, high, interior);
	ox_out(o, 0, with_bias(o, convolution(o, x, turned(o, w, groups), &s, groups), 2));
}

/* ---- pooling */

static void pool_space(struct ox *o, uint32_t x, struct space *s)
{
	uint32_t n = ox_spatial_rank(o, x), count;
	if (!ox_ints(o, "kernel_shape", &count))
		ox_fail(o, TN_E_ARG, "attribute 'kernel_shape' is missing");
	int_list(o, "kernel_shape", n, 1, 1, s->size);
	read_space(o, s, ox_dims(o, x), n);
	if (ox_int(o, "ceil_mode", 0))
		ceil_padding(o, s, ox_dims(o, x));
}

static double lowest(uint32_t dtype)
{
	uint32_t bits = tn_dtype_bits(dtype);
	return ox_is_float(dtype) ? -(double)INFINITY : TN_M_UINT >> dtype & 1 ? 0 : -ldexp(1, (int)bits - 1);
}

/* x [batch, channels, space..] as [batch, channels, windows.., window..] */
static uint32_t windowed(struct ox *o, uint32_t x, const struct space *s, uint32_t first)
{
	int64_t dims[OX_RANK];
	uint32_t sizes[OX_RANK];
	for (uint32_t i = 0; i < s->n; i++) {
		dims[i] = first + i;
		sizes[i] = ox_c(o, s->size[i]);
	}
	struct tn_attr_in attrs[] = { TN_A_INTS(dims, dims, s->n), TN_A_SIZES(size, sizes, s->n), TN_A_INTS(stride, s->stride, s->n),
	                              TN_A_INTS(dilation, s->dilation, s->n) };
	return tn_ir_add(o->ir, TN_window, &x, 1, attrs, 4);
}

/* where in the input the largest element of each window stands: row-major (or, storage_order 1, column-major) over all dims */
static void pool_indices(struct ox *o, uint32_t x, const struct space *s, int64_t storage_order)
{
	uint32_t rank = s->n + 2, low[OX_RANK], high[OX_RANK], place = TN_NOTHING, flat[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	if (rank + s->n > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "its second result for rank %u", rank);
	for (uint32_t d = 0; d < rank; d++) {
		uint32_t stride = ox_c(o, 1);
		for (uint32_t k = 0; k < rank; k++)    /* dims inside of d: later ones; column-major turns the spatial ones round */
			if ((storage_order && d >= 2 && k >= 2) ? k < d : k > d)
				stride = ox_times(o, stride, dims[k]);
		low[d] = d < 2 ? ox_c(o, 0) : s->low[d - 2];
		high[d] = d < 2 ? ox_c(o, 0) : s->high[d - 2];
		uint32_t at = ox_binary(o, TN_mul, tn_ir_iota(o->ir, TN_I64, d, dims, rank), ox_scalar(o, TN_I64, stride));
		place = place == TN_NOTHING ? at : tn_ir_binary(o->ir, TN_add, place, at);
	}
	uint32_t window = 1;
	uint32_t v = windowed(o, ox_pad(o, x, lowest(ox_dtype(o, x)), low, high, NULL), s, 2);
	uint32_t p = windowed(o, ox_pad(o, place, 0, low, high, NULL), s, 2);
	memcpy(flat, ox_dims(o, v), rank * sizeof *flat);
	for (uint32_t i = 0; i < s->n; i++)
		window *= (uint32_t)s->size[i];
	flat[rank] = ox_c(o, window);
	v = tn_ir_reshape(o->ir, v, flat, rank + 1);
	p = tn_ir_reshape(o->ir, p, flat, rank + 1);
	uint32_t best = tn_ir_add(o->ir, TN_argmax, &v, 1, &TN_A_INT(axis, rank), 1);
	uint32_t hit = ox_binary(o, TN_eq, tn_ir_iota(o->ir, TN_I64, rank, flat, rank + 1), ox_unsqueeze(o, best, rank));
	int64_t last = rank;
	ox_out(o, 1, tn_ir_reduce(o->ir, TN_sum, tn_ir_select(o->ir, hit, p, ox_like(o, p, 0)), &last, 1));
}

static void max_pool(struct ox *o)
{
	struct space s = { 0 };
	int64_t low[OX_RANK], high[OX_RANK], order = ox_int(o, "storage_order", 0);
	uint32_t x = ox_v(o, 0);
	pool_space(o, x, &s);
	uint32_t padded = settle_padding(o, x, &s, lowest(ox_dtype(o, x)), low, high);
	struct tn_attr_in attrs[] = { TN_A_INTS(size, s.size, s.n), TN_A_INTS(stride, s.stride, s.n), TN_A_INTS(low, low, s.n),
	                              TN_A_INTS(high, high, s.n), TN_A_INTS(dilation, s.dilation, s.n) };
	ox_out(o, 0, tn_ir_add(o->ir, TN_max_pool, &padded, 1, attrs, 5));
	if (ox_wants(o, 1))
		pool_indices(o, x, &s, order);
}

static uint32_t window_sum(struct ox *o, uint32_t x, const struct space *s, uint32_t first, const uint32_t *low, const uint32_t *high, double fill)
{
	int64_t axes[OX_RANK];
	uint32_t w = windowed(o, ox_pad(o, x, fill, low, high, NULL), s, first);
	for (uint32_t i = 0; i < s->n; i++)
		axes[i] = (int64_t)(ox_rank(o, w) - s->n + i);
	return tn_ir_reduce(o->ir, TN_sum, w, axes, s->n);
}

/* sum over each window divided by how many of its places count, for what the primitive does not say (dilation, ceil_mode) */
static uint32_t average(struct ox *o, uint32_t x, const struct space *s, bool count_pad)
{
	uint32_t rank = s->n + 2, low[OX_RANK], high[OX_RANK], zero[OX_RANK], ones[OX_RANK], before[OX_RANK], after[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	int64_t where[OX_RANK];
	if (rank + s->n > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "rank %u", rank);
	for (uint32_t d = 0; d < rank; d++) {
		low[d] = d < 2 ? ox_c(o, 0) : s->low[d - 2];
		high[d] = d < 2 ? ox_c(o, 0) : s->high[d - 2];
	}
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t user = ox_minus(o, s->high[i], s->extra[i]);
		zero[i] = ox_c(o, 0);
		ones[i] = count_pad ? ox_plus(o, ox_plus(o, dims[2 + i], s->low[i]), user) : dims[2 + i];
		before[i] = count_pad ? zero[i] : s->low[i];
		after[i] = count_pad ? s->extra[i] : s->high[i];
		where[i] = 2 + i;
	}
	uint32_t sum = window_sum(o, x, s, 2, low, high, 0);
	uint32_t count = window_sum(o, tn_ir_full(o->ir, ox_dtype(o, x), 1, ones, s->n), s, 0, before, after, 0);
	return tn_ir_binary(o->ir, TN_div, sum, tn_ir_broadcast(o->ir, count, ox_dims(o, sum), rank, where));
}

static void average_pool(struct ox *o)
{
	struct space s = { 0 };
	int64_t low[OX_RANK], high[OX_RANK];
	bool count_pad = ox_int(o, "count_include_pad", 0), plain = true;
	uint32_t x = ox_v(o, 0);
	pool_space(o, x, &s);
	for (uint32_t i = 0; i < s.n; i++)
		plain = plain && s.dilation[i] == 1 && s.extra[i] == ox_c(o, 0) && ox_const(o, s.low[i], &low[i]) && ox_const(o, s.high[i], &high[i]);
	if (!plain) {
		ox_out(o, 0, average(o, x, &s, count_pad));
		return;
	}
	struct tn_attr_in attrs[] = { TN_A_INTS(size, s.size, s.n), TN_A_INTS(stride, s.stride, s.n), TN_A_INTS(low, low, s.n),
	                              TN_A_INTS(high, high, s.n), TN_A_INT(count_pad, count_pad) };
	ox_out(o, 0, tn_ir_add(o->ir, TN_avg_pool, &x, 1, attrs, 5));
}

/* p-norms of windows, and of the whole space */
static uint32_t power_of(struct ox *o, uint32_t x, double p)
{
	return p == 1 ? x : p == 2 ? tn_ir_unary(o->ir, TN_square, x) : tn_ir_binary(o->ir, TN_pow, x, ox_like(o, x, p));
}

static uint32_t root_of(struct ox *o, uint32_t x, double p)
{
	return p == 1 ? x : p == 2 ? tn_ir_unary(o->ir, TN_sqrt, x) : tn_ir_binary(o->ir, TN_pow, x, ox_like(o, x, 1 / p));
}

static void lp_pool(struct ox *o)
{
	struct space s = { 0 };
	uint32_t x = ox_v(o, 0), low[OX_RANK], high[OX_RANK];
	double p = (double)ox_int(o, "p", 2);
	pool_space(o, x, &s);
	if (p < 1 || 2 * s.n + 2 > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "p %g, input of rank %u", p, s.n + 2);
	for (uint32_t d = 0; d < s.n + 2; d++) {
		low[d] = d < 2 ? ox_c(o, 0) : s.low[d - 2];
		high[d] = d < 2 ? ox_c(o, 0) : s.high[d - 2];
	}
	uint32_t v = power_of(o, tn_ir_unary(o->ir, TN_abs, x), p);
	ox_out(o, 0, root_of(o, window_sum(o, v, &s, 2, low, high, 0), p));
}

static void global_lp_pool(struct ox *o)
{
	uint32_t x = ox_v(o, 0), n = ox_spatial_rank(o, x);
	double p = (double)ox_int(o, "p", 2);
	int64_t axes[OX_RANK];
	if (p < 1)
		ox_fail(o, TN_E_ARG, "p %g", p);
	for (uint32_t i = 0; i < n; i++)
		axes[i] = 2 + i;
	uint32_t r = tn_ir_reduce(o->ir, TN_sum, power_of(o, tn_ir_unary(o->ir, TN_abs, x), p), axes, n);
	ox_out(o, 0, ox_keep_dims(o, root_of(o, r, p), ox_dims(o, x), n + 2, ((UINT64_C(1) << n) - 1) << 2));
}

static void global_pool(struct ox *o)
{
	uint32_t x = ox_v(o, 0), n = ox_spatial_rank(o, x);
	int64_t axes[OX_RANK];
	for (uint32_t i = 0; i < n; i++)
		axes[i] = 2 + i;
	uint32_t r = tn_ir_reduce(o->ir, o->op->arg, x, axes, n);
	ox_out(o, 0, ox_keep_dims(o, r, ox_dims(o, x), n + 2, ((UINT64_C(1) << n) - 1) << 2));
}

static const struct ox_op rows[] = {
	{ "MatMul", 1, 0, matmul, 0, NULL, 0 },
	{ "Gemm", 7, 0, gemm, 0, NULL, 0 },
	{ "MatMulInteger", 10, 0, matmul_integer, 0, NULL, 0 },
	{ "Conv", 1, 0, conv, 0, NULL, 0 },
	{ "ConvInteger", 10, 0, conv_integer, 0, NULL, 0 },
	{ "ConvTranspose", 1, 0, conv_transpose, 0, NULL, 0 },
	{ "MaxPool", 1, 0, max_pool, 0, NULL, 0 },
	{ "AveragePool", 7, 0, average_pool, 0, NULL, 0 },
	{ "LpPool", 2, 0, lp_pool, 0, NULL, 0 },
	{ "GlobalLpPool", 2, 0, global_lp_pool, 0, NULL, 0 },
	{ "GlobalMaxPool", 1, 0, global_pool, TN_reduce_max, NULL, 0 },
	{ "GlobalAveragePool", 1, 0, global_pool, TN_mean, NULL, 0 },
};
const struct ox_ops ox_ops_nn = { rows, sizeof rows / sizeof *rows };
