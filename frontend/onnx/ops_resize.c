/* ops_resize.c - Resize and Upsample: one axis after the other, as a gather (nearest) or a weighted sum of gathers
 *
 * Which places of the input a place of the result sees is computed in the graph, in f64, from an iota; with fixed dims all of it
 * folds into constants.  Taps: nearest 1, linear 2, cubic 4; beyond the ends the edge repeats. */
#include <math.h>
#include "frontend/onnx/convert.h"

enum coordinates { HALF_PIXEL, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, HALF_PIXEL_SYMMETRIC };
enum rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, FLOOR, CEIL };
enum mode { NEAREST, LINEAR, CUBIC };

struct how { enum mode mode; enum coordinates coordinates; enum rounding rounding; double a; bool exclude; };
struct along { uint32_t axis, in, out; double scale; bool has_scale; };   /* one axis: sizes before and after */

static uint32_t named(struct ox *o, const char *attr, const char *otherwise, const char *const *names, uint32_t n)
{
	struct tn_str s = ox_text(o, attr, otherwise);
	for (uint32_t i = 0; i < n; i++)
		if (tn_str_is(s, names[i]))
			return i;
	ox_fail(o, TN_E_UNSUPPORTED, "%s '%.*s'", attr, TN_STR(s));
}

static uint32_t f64(struct ox *o, double v, uint32_t like)
{
	return tn_ir_full(o->ir, TN_F64, v, ox_dims(o, like), ox_rank(o, like));
}

static uint32_t op(struct ox *o, uint32_t prim, uint32_t x, double v)
{
	return tn_ir_binary(o->ir, prim, x, f64(o, v, x));
}

static uint32_t as_f64(struct ox *o, uint32_t size, uint32_t like)   /* a size spread over like's shape */
{
	return tn_ir_expand_to(o->ir, tn_ir_convert(o->ir, ox_scalar(o, TN_I64, size), TN_F64), ox_dims(o, like), 1);
}

/* (i + 0.5) / scale - 0.5 and the like */
static uint32_t source(struct ox *o, const struct how *h, const struct along *d)
{
	uint32_t i = tn_ir_iota(o->ir, TN_F64, 0, &d->out, 1), in = as_f64(o, d->in, i), out = as_f64(o, d->out, i);
	uint32_t scale = d->has_scale ? f64(o, d->scale, i) : tn_ir_binary(o->ir, TN_div, out, in);
	uint32_t half = op(o, TN_sub, tn_ir_binary(o->ir, TN_div, op(o, TN_add, i, 0.5), scale), 0.5), one = f64(o, 1, i);
	switch (h->coordinates) {
	case HALF_PIXEL:
		return half;
	case PYTORCH_HALF_PIXEL:
		return tn_ir_select(o->ir, tn_ir_binary(o->ir, TN_gt, out, one), half, f64(o, 0, i));
	case ALIGN_CORNERS: {
		uint32_t gaps = tn_ir_binary(o->ir, TN_max, op(o, TN_sub, out, 1), one);
		return tn_ir_binary(o->ir, TN_div, tn_ir_binary(o->ir, TN_mul, i, op(o, TN_sub, in, 1)), gaps);
	}
	case ASYMMETRIC:
		return tn_ir_binary(o->ir, TN_div, i, scale);
	case HALF_PIXEL_SYMMETRIC: {               /* the middle stays the middle when the result's size was rounded */
		uint32_t adjust = tn_ir_binary(o->ir, TN_div, out, tn_ir_binary(o->ir, TN_mul, scale, in));
		uint32_t offset = tn_ir_binary(o->ir, TN_mul, op(o, TN_mul, in, 0.5), tn_ir_binary(o->ir, TN_sub, one, adjust));
		return tn_ir_binary(o->ir, TN_add, offset, half);
	}
	}
	ox_fail(o, TN_E_INTERNAL, "coordinates %u", (unsigned)h->coordinates);
}

/* f64 places as indices, the edge repeated */
static uint32_t as_index(struct ox *o, uint32_t x, const struct along *d)
{
	uint32_t last = op(o, TN_sub, as_f64(o, d->in, x), 1);
	x = tn_ir_binary(o->ir, TN_min, tn_ir_binary(o->ir, TN_max, x, f64(o, 0, x)), last);
	return tn_ir_convert(o->ir, x, TN_I64);
}

static uint32_t nearest(struct ox *o, const struct how *h, uint32_t x, const struct along *d)
{
	uint32_t at = source(o, h, d);
	switch (h->rounding) {
	case ROUND_PREFER_FLOOR: at = tn_ir_unary(o->ir, TN_ceil, op(o, TN_sub, at, 0.5)); break;
	case ROUND_PREFER_CEIL: at = tn_ir_unary(o->ir, TN_floor, op(o, TN_add, at, 0.5)); break;
	case FLOOR: at = tn_ir_unary(o->ir, TN_floor, at); break;
	case CEIL: at = tn_ir_unary(o->ir, TN_ceil, at); break;
	}
	return ox_take(o, x, as_index(o, at, d), d->axis, 0, 0);
}

/* weight of the tap `offset` places from the one below, r being how far the place is above that one (R. Keys, 1981) */
static uint32_t weight(struct ox *o, const struct how *h, uint32_t r, int offset)
{
	double a = h->a;
	uint32_t t = tn_ir_unary(o->ir, TN_abs, op(o, TN_sub, r, offset));
	if (h->mode == LINEAR)
		return tn_ir_binary(o->ir, TN_sub, f64(o, 1, r), t);
	if (offset == 0 || offset == 1) {          /* ((a+2) t - (a+3)) t t + 1 */
		uint32_t w = op(o, TN_sub, op(o, TN_mul, t, a + 2), a + 3);
		return op(o, TN_add, tn_ir_binary(o->ir, TN_mul, tn_ir_binary(o->ir, TN_mul, w, t), t), 1);
	}
	uint32_t w = op(o, TN_add, tn_ir_binary(o->ir, TN_mul, op(o, TN_sub, op(o, TN_mul, t, a), 5 * a), t), 8 * a);
	return op(o, TN_sub, tn_ir_binary(o->ir, TN_mul, w, t), 4 * a);
}

/* 1 where the place is inside of the input, else 0 */
static uint32_t inside(struct ox *o, uint32_t at, const struct along *d)
{
	uint32_t yes = tn_ir_binary(o->ir, TN_ge, at, f64(o, 0, at));
	yes = tn_ir_binary(o->ir, TN_and, yes, tn_ir_binary(o->ir, TN_lt, at, as_f64(o, d->in, at)));
	return tn_ir_convert(o->ir, yes, TN_F64);
}

static uint32_t weighted(struct ox *o, const struct how *h, uint32_t x, const struct along *d)
{
	uint32_t at = source(o, h, d), below = tn_ir_unary(o->ir, TN_floor, at), r = tn_ir_binary(o->ir, TN_sub, at, below);
	uint32_t w[4], place[4], n = h->mode == LINEAR ? 2 : 4, total = f64(o, 0, at), sum = TN_NOTHING;
	for (uint32_t k = 0; k < n; k++) {
		int offset = (int)k - (n == 4);
		place[k] = op(o, TN_add, below, offset);
		w[k] = weight(o, h, r, offset);
		if (h->exclude)
			w[k] = tn_ir_binary(o->ir, TN_mul, w[k], inside(o, place[k], d));
		total = tn_ir_binary(o->ir, TN_add, total, w[k]);
	}
	int64_t axis = d->axis;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t tap = ox_take(o, x, as_index(o, place[k], d), d->axis, 0, 0);
		uint32_t by = h->exclude ? tn_ir_binary(o->ir, TN_div, w[k], total) : w[k];
		by = tn_ir_broadcast(o->ir, tn_ir_convert(o->ir, by, ox_dtype(o, x)), ox_dims(o, tap), ox_rank(o, tap), &axis);
		tap = tn_ir_binary(o->ir, TN_mul, tap, by);
		sum = sum == TN_NOTHING ? tap : tn_ir_binary(o->ir, TN_add, sum, tap);
	}
	return sum;
}

/* floor(size * scale); of a symbol only where the scale is a fraction with a small denominator */
static uint32_t scaled_size(struct ox *o, uint32_t size, double scale)
{
	int64_t n;
	if (!(scale > 0) || scale > 65536)
		ox_fail(o, TN_E_ARG, "a scale of %g", scale);
	if (ox_const(o, size, &n))
		return ox_c(o, (int64_t)floor((double)n * scale));
	for (int64_t q = 1; q <= 64; q++) {
		double p = scale * (double)q;
		if (p == floor(p))
			return ox_over(o, ox_times(o, size, ox_c(o, (int64_t)p)), ox_c(o, q));
	}
	ox_fail(o, TN_E_UNSUPPORTED, "%s scaled by %g", ox_print(o, size), scale);
}

static void apply(struct ox *o, const struct how *h, uint32_t x, const struct along *axes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool same = axes[i].in == axes[i].out && (!axes[i].has_scale || axes[i].scale == 1);
		if (!same)
			x = h->mode == NEAREST ? nearest(o, h, x, &axes[i]) : weighted(o, h, x, &axes[i]);
	}
	ox_out(o, 0, x);
}

/* the numbers of a constant vector of floats */
static uint32_t floats(struct ox *o, uint32_t i, double *to)
{
	struct ox_val *v = ox_in(o, i);
	if (!v->tensor || v->tensor->dtype != TN_F32 || v->tensor->count > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "scales '%.*s' are not a constant vector of f32", TN_STR(v->name));
	for (uint64_t k = 0; k < v->tensor->count; k++) {
		float x;
		__builtin_memcpy(&x, (const char *)v->tensor->at + 4 * k, 4);
		to[k] = (double)x;
	}
	return (uint32_t)v->tensor->count;
}

static void by_scales(struct ox *o, const struct how *h, uint32_t x, const double *scales, uint32_t n, const int64_t *axes)
{
	struct along d[OX_RANK];
	const uint32_t *dims = ox_dims(o, x);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t axis = (uint32_t)ox_axis(o, axes ? axes[i] : i, ox_rank(o, x));
		d[i] = (struct along){ axis, dims[axis], scaled_size(o, dims[axis], scales[i]), scales[i], true };
	}
	apply(o, h, x, d, n);
}

static void resize(struct ox *o)
{
	static const char *const modes[] = { "nearest", "linear", "cubic" };
	static const char *const coordinates[] = { "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric" };
	static const char *const roundings[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil" };
	static const char *const policies[] = { "stretch" };
	struct how h = { .mode = (enum mode)named(o, "mode", "nearest", modes, 3), .a = ox_float(o, "cubic_coeff_a", -0.75),
	                 .coordinates = (enum coordinates)named(o, "coordinate_transformation_mode", "half_pixel", coordinates, 5),
	                 .rounding = (enum rounding)named(o, "nearest_mode", "round_prefer_floor", roundings, 4), .exclude = ox_int(o, "exclude_outside", 0) };
	uint32_t x = ox_v(o, 0), rank = ox_rank(o, x), n, n_axes;
	const int64_t *axes = ox_ints(o, "axes", &n_axes);
	double scales[OX_RANK];
	struct along d[OX_RANK];
	ox_skip_attr(o, "extrapolation_value");    /* of the crop mode, which is not offered */
	named(o, "keep_aspect_ratio_policy", "stretch", policies, 1);
	if (ox_int(o, "antialias", 0))
		ox_fail(o, TN_E_UNSUPPORTED, "antialias");
	n_axes = axes ? n_axes : rank;
	bool has_scales = ox_has(o, 2) && !(ox_in(o, 2)->tensor && !ox_in(o, 2)->tensor->count);
	if (has_scales) {
		n = floats(o, 2, scales);
		if (n != n_axes)
			ox_fail(o, TN_E_ARG, "%u scales for %u dims", n, n_axes);
		by_scales(o, &h, x, scales, n, axes);
		return;
	}
	const uint32_t *sizes = ox_need_sizes(o, 3, "sizes", &n);
	if (n != n_axes)
		ox_fail(o, TN_E_ARG, "%u sizes for %u dims", n, n_axes);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t axis = (uint32_t)ox_axis(o, axes ? axes[i] : i, rank);
		d[i] = (struct along){ .axis = axis, .in = ox_dims(o, x)[axis], .out = sizes[i] };
	}
	apply(o, &h, x, d, n);
}

/* Upsample, and Resize of opset 10: i / scale, rounded down */
static void upsample(struct ox *o)
{
	static const char *const modes[] = { "nearest", "linear" };
	struct how h = { .mode = (enum mode)named(o, "mode", "nearest", modes, 2), .coordinates = ASYMMETRIC, .rounding = FLOOR };
	double scales[OX_RANK];
	uint32_t x = ox_v(o, 0), n;
	const struct tn_onnx_attr *a = ox_attr(o, "scales", TN_ONNX_FLOATS);
	if (a) {
		n = a->n < OX_RANK ? a->n : OX_RANK;
		for (uint32_t i = 0; i < n; i++)
			scales[i] = (double)a->floats[i];
	} else {
		n = floats(o, 1, scales);
	}
	if (n != ox_rank(o, x))
		ox_fail(o, TN_E_ARG, "%u scales for rank %u", n, ox_rank(o, x));
	by_scales(o, &h, x, scales, n, NULL);
}

static const struct ox_op rows[] = {
	{ "Upsample", 7, 10, upsample, 0, NULL, 0 },
	{ "Resize", 10, 11, upsample, 0, NULL, 0 },
	{ "Resize", 11, 0, resize, 0, NULL, 0 },
};
const struct ox_ops ox_ops_resize = { rows, sizeof rows / sizeof *rows };
