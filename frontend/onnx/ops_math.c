/* ops_math.c - elementwise operators: arithmetic, comparison, logic, activations, casts */
#include <float.h>
#include <math.h>
#include "frontend/onnx/convert.h"

static void unary(struct ox *o)
{
	ox_out(o, 0, tn_ir_unary(o->ir, o->op->arg, ox_v(o, 0)));
}

static void binary(struct ox *o)
{
	ox_skip_attr(o, "axis");           /* left over from opset 6; broadcast was 0 there, or the model is older than what is read */
	ox_out(o, 0, ox_binary(o, o->op->arg, ox_v(o, 0), ox_v(o, 1)));
}

/* Max, Min, Sum: any number of operands, all broadcast at once */
static void variadic(struct ox *o)
{
	uint32_t n = o->node->n_in, *v = tn_array(o->a, uint32_t, n + 1u);
	for (uint32_t i = 0; i < n; i++)
		v[i] = ox_v(o, i);
	if (!n)
		ox_fail(o, TN_E_ARG, "no operands");
	ox_broadcast(o, v, n);
	for (uint32_t i = 1; i < n; i++)
		v[0] = tn_ir_binary(o->ir, o->op->arg, v[0], v[i]);
	ox_out(o, 0, v[0]);
}

static void mean(struct ox *o)
{
	uint32_t n = o->node->n_in, *v = tn_array(o->a, uint32_t, n + 1u);
	for (uint32_t i = 0; i < n; i++)
		v[i] = ox_v(o, i);
	if (!n)
		ox_fail(o, TN_E_ARG, "no operands");
	ox_broadcast(o, v, n);
	for (uint32_t i = 1; i < n; i++)
		v[0] = tn_ir_binary(o->ir, TN_add, v[0], v[i]);
	ox_out(o, 0, tn_ir_binary(o->ir, TN_div, v[0], ox_like(o, v[0], n)));
}

static void mod(struct ox *o)
{
	bool c_sign = ox_int(o, "fmod", 0);
	ox_out(o, 0, ox_binary(o, c_sign ? TN_fmod : TN_remainder, ox_v(o, 0), ox_v(o, 1)));
}

/* the result has the base's dtype; between an integer base and a float exponent the power is taken in the exponent's */
static void power(struct ox *o)
{
	uint32_t x = ox_v(o, 0), y = ox_v(o, 1), dtype = ox_dtype(o, x);
	uint32_t in = ox_is_int(dtype) && ox_is_float(ox_dtype(o, y)) ? ox_dtype(o, y) : dtype;
	uint32_t r = ox_binary(o, TN_pow, tn_ir_convert(o->ir, x, in), tn_ir_convert(o->ir, y, in));
	ox_out(o, 0, tn_ir_convert(o->ir, r, dtype));
}

static void bit_shift(struct ox *o)
{
	struct tn_str way = ox_text(o, "direction", "");
	if (!tn_str_is(way, "LEFT") && !tn_str_is(way, "RIGHT"))
		ox_fail(o, TN_E_ARG, "direction '%.*s'", TN_STR(way));
	ox_out(o, 0, ox_binary(o, tn_str_is(way, "LEFT") ? TN_shl : TN_shr, ox_v(o, 0), ox_v(o, 1)));
}

static void where(struct ox *o)
{
	ox_out(o, 0, ox_select(o, ox_v(o, 0), ox_v(o, 1), ox_v(o, 2)));
}

static void is_inf(struct ox *o)
{
	bool neg = ox_int(o, "detect_negative", 1), pos = ox_int(o, "detect_positive", 1);
	uint32_t x = ox_v(o, 0);
	if (neg && pos)
		ox_out(o, 0, tn_ir_unary(o->ir, TN_isinf, x));
	else if (neg || pos)
		ox_out(o, 0, tn_ir_binary(o->ir, TN_eq, x, ox_like(o, x, pos ? (double)INFINITY : -(double)INFINITY)));
	else
		ox_out(o, 0, tn_ir_full_int(o->ir, TN_BOOL, 0, ox_dims(o, x), ox_rank(o, x)));
}

/* ---- clip: bounds are attributes up to opset 10, then optional inputs */

static void clip_attrs(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	double lo = ox_float(o, "min", -(double)FLT_MAX), hi = ox_float(o, "max", (double)FLT_MAX);
	x = tn_ir_binary(o->ir, TN_max, x, ox_like(o, x, lo));
	ox_out(o, 0, tn_ir_binary(o->ir, TN_min, x, ox_like(o, x, hi)));
}

static void clip(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	for (uint32_t i = 1; i < 3; i++)
		if (ox_has(o, i)) {
			uint32_t bound = tn_ir_expand_to(o->ir, tn_ir_reshape(o->ir, ox_v(o, i), NULL, 0), ox_dims(o, x), ox_rank(o, x));
			x = tn_ir_binary(o->ir, i == 1 ? TN_max : TN_min, x, bound);
		}
	ox_out(o, 0, x);
}

/* ---- activations with attributes */

static void with_alpha(struct ox *o)
{
	double otherwise = o->op->arg == TN_leaky_relu ? 0.01 : 1;
	uint32_t x = ox_v(o, 0);
	ox_out(o, 0, tn_ir_add(o->ir, o->op->arg, &x, 1, &TN_A_FLOAT(alpha, ox_float(o, "alpha", otherwise)), 1));
}

/* gamma * (x > 0 ? x : alpha * (e^x - 1)) */
static void selu(struct ox *o)
{
	const float a0 = 1.67326319217681884765625f, g0 = 1.05070102214813232421875f;
	double alpha = ox_float(o, "alpha", (double)a0), gamma = ox_float(o, "gamma", (double)g0);
	uint32_t x = ox_v(o, 0);
	if ((float)alpha == a0 && (float)gamma == g0) {
		ox_out(o, 0, tn_ir_unary(o->ir, TN_selu, x));
		return;
	}
	uint32_t y = tn_ir_add(o->ir, TN_elu, &x, 1, &TN_A_FLOAT(alpha, alpha), 1);
	ox_out(o, 0, tn_ir_binary(o->ir, TN_mul, y, ox_like(o, x, gamma)));
}

/* beyond 40 the logarithm is x itself, in f64 too */
static void softplus(struct ox *o)
{
	uint32_t x = ox_v(o, 0);
	ox_out(o, 0, tn_ir_add(o->ir, TN_softplus, &x, 1, &TN_A_FLOAT(threshold, 40), 1));
}

static void hard_sigmoid(struct ox *o)
{
	struct tn_attr_in attrs[] = { TN_A_FLOAT(alpha, ox_float(o, "alpha", (double)0.2f)), TN_A_FLOAT(beta, ox_float(o, "beta", 0.5)) };
	uint32_t x = ox_v(o, 0);
	ox_out(o, 0, tn_ir_add(o->ir, TN_hardsigmoid, &x, 1, attrs, 2));
}

static void gelu(struct ox *o)
{
	struct tn_str how = ox_text(o, "approximate", "none");
	uint32_t x = ox_v(o, 0);
	if (!tn_str_is(how, "none") && !tn_str_is(how, "tanh"))
		ox_fail(o, TN_E_ARG, "approximate '%.*s'", TN_STR(how));
	ox_out(o, 0, tn_ir_add(o->ir, TN_gelu, &x, 1, &TN_A_INT(approximate, tn_str_is(how, "tanh")), 1));
}

static void prelu(struct ox *o)
{
	uint32_t x = ox_v(o, 0), slope = tn_ir_expand_to(o->ir, ox_v(o, 1), ox_dims(o, x), ox_rank(o, x));
	if (ox_is_float(ox_dtype(o, x))) {
		ox_out(o, 0, tn_ir_binary(o->ir, TN_prelu, x, slope));
		return;
	}
	uint32_t negative = tn_ir_binary(o->ir, TN_lt, x, ox_like(o, x, 0));
	ox_out(o, 0, tn_ir_select(o->ir, negative, tn_ir_binary(o->ir, TN_mul, x, slope), x));
}

static void thresholded_relu(struct ox *o)
{
	uint32_t x = ox_v(o, 0), above = tn_ir_binary(o->ir, TN_gt, x, ox_like(o, x, ox_float(o, "alpha", 1)));
	ox_out(o, 0, tn_ir_select(o->ir, above, x, ox_like(o, x, 0)));
}

static void shrink(struct ox *o)
{
	double lambd = ox_float(o, "lambd", 0.5), bias = ox_float(o, "bias", 0);
	uint32_t x = ox_v(o, 0), low = tn_ir_binary(o->ir, TN_lt, x, ox_like(o, x, -lambd)), high = tn_ir_binary(o->ir, TN_gt, x, ox_like(o, x, lambd));
	uint32_t r = tn_ir_select(o->ir, high, tn_ir_binary(o->ir, TN_sub, x, ox_like(o, x, bias)), ox_like(o, x, 0));
	ox_out(o, 0, tn_ir_select(o->ir, low, tn_ir_binary(o->ir, TN_add, x, ox_like(o, x, bias)), r));
}

/* x * sigmoid(alpha * x) */
static void swish(struct ox *o)
{
	double alpha = ox_float(o, "alpha", 1);
	uint32_t x = ox_v(o, 0);
	if (alpha == 1)
		ox_out(o, 0, tn_ir_unary(o->ir, TN_silu, x));
	else
		ox_out(o, 0, tn_ir_binary(o->ir, TN_mul, x, tn_ir_unary(o->ir, TN_sigmoid, tn_ir_binary(o->ir, TN_mul, x, ox_like(o, x, alpha)))));
}

/* ---- casts */

static void cast_to(struct ox *o, uint32_t x, uint32_t dtype)
{
	bool saturate = ox_int(o, "saturate", 1);
	if (!saturate && dtype >= TN_F8E4M3FN && dtype <= TN_F8E5M2FNUZ)
		ox_fail(o, TN_E_UNSUPPORTED, "saturate 0 for %s", tn_dtype_name(dtype));
	ox_out(o, 0, tn_ir_convert(o->ir, x, dtype));
}

static void cast(struct ox *o)
{
	const struct tn_onnx_attr *to = ox_attr(o, "to", TN_ONNX_INT);
	if (!to)
		ox_fail(o, TN_E_ARG, "attribute 'to' is missing");
	if (!tn_onnx_dtype(to->i))
		ox_fail(o, to->i == 8 ? TN_E_UNSUPPORTED : TN_E_ARG, "a cast to element type %lld (%s)", (long long)to->i, tn_onnx_dtype_name(to->i));
	cast_to(o, ox_v(o, 0), tn_onnx_dtype(to->i));
}

static void cast_like(struct ox *o)
{
	cast_to(o, ox_v(o, 0), ox_in(o, 1)->dtype);
}

static void bit_cast(struct ox *o)
{
	const struct tn_onnx_attr *to = ox_attr(o, "to", TN_ONNX_INT);
	uint32_t x = ox_v(o, 0), dtype = to ? tn_onnx_dtype(to->i) : TN_NONE;
	if (!dtype || tn_dtype_bits(dtype) != tn_dtype_bits(ox_dtype(o, x)))
		ox_fail(o, TN_E_ARG, "%s as %s", tn_dtype_name(ox_dtype(o, x)), tn_dtype_name(dtype));
	if (dtype == TN_BOOL || ox_dtype(o, x) == TN_BOOL)         /* a bool's byte is 0 or 1 */
		x = tn_ir_convert(o->ir, x, dtype == TN_BOOL ? TN_BOOL : TN_U8);
	ox_out(o, 0, dtype == ox_dtype(o, x) ? x : tn_ir_add(o->ir, TN_bitcast, &x, 1, &TN_A_INT(dtype, dtype), 1));
}

/* inference: the input, and a mask of ones */
static void dropout(struct ox *o)
{
	double training = 0, ratio = 0.5;
	ox_skip_attr(o, "seed");
	ox_skip_attr(o, "ratio");
	if (ox_has(o, 1) && !ox_number(o, ox_in(o, 1), &ratio))
		ratio = 0.5;
	if (ox_has(o, 2) && (!ox_number(o, ox_in(o, 2), &training) || (training != 0 && ratio != 0)))
		ox_fail(o, TN_E_UNSUPPORTED, "training mode");
	struct ox_val *x = ox_in(o, 0);
	ox_out_val(o, 0, x);
	if (ox_wants(o, 1))
		ox_out(o, 1, tn_ir_full_int(o->ir, o->opset < 10 ? x->dtype : TN_BOOL, 1, x->dims, x->rank));
}

#define UNARY(name, prim) { name, 1, 0, unary, TN_##prim, NULL, 0 }
#define BINARY(name, prim) { name, 7, 0, binary, TN_##prim, NULL, 0 }
#define FOLLOWED(name, prim) { name, 7, 0, binary, TN_##prim, ox_follow_binary, TN_##prim }
static const struct ox_op rows[] = {
	/* name, since, until, build, arg, follow, follow_arg */
	FOLLOWED("Add", add), FOLLOWED("Sub", sub), FOLLOWED("Mul", mul), FOLLOWED("Div", div),
	FOLLOWED("Equal", eq), FOLLOWED("Less", lt), FOLLOWED("LessOrEqual", le), FOLLOWED("Greater", gt), FOLLOWED("GreaterOrEqual", ge),
	FOLLOWED("And", and), FOLLOWED("Or", or), BINARY("Xor", xor),
	BINARY("BitwiseAnd", and), BINARY("BitwiseOr", or), BINARY("BitwiseXor", xor), UNARY("BitwiseNot", not),
	{ "Max", 1, 0, variadic, TN_max, ox_follow_binary, TN_max },
	{ "Min", 1, 0, variadic, TN_min, ox_follow_binary, TN_min },
	{ "Sum", 1, 0, variadic, TN_add, ox_follow_binary, TN_add },
	{ "Mean", 1, 0, mean, 0, NULL, 0 },
	{ "Mod", 10, 0, mod, 0, ox_follow_binary, TN_remainder },
	{ "Pow", 7, 0, power, 0, NULL, 0 },
	{ "BitShift", 11, 0, bit_shift, 0, NULL, 0 },
	{ "Neg", 1, 0, unary, TN_neg, ox_follow_neg, 0 },
	{ "Not", 1, 0, unary, TN_not, ox_follow_not, 0 },
	UNARY("Abs", abs), UNARY("Sign", sign), UNARY("Ceil", ceil), UNARY("Floor", floor), UNARY("Round", round), UNARY("Sqrt", sqrt),
	UNARY("Reciprocal", reciprocal), UNARY("Exp", exp), UNARY("Log", log), UNARY("Sin", sin), UNARY("Cos", cos), UNARY("Tan", tan),
	UNARY("Asin", asin), UNARY("Acos", acos), UNARY("Atan", atan), UNARY("Sinh", sinh), UNARY("Cosh", cosh), UNARY("Tanh", tanh),
	UNARY("Asinh", asinh), UNARY("Acosh", acosh), UNARY("Atanh", atanh), UNARY("Erf", erf), UNARY("Sigmoid", sigmoid), UNARY("Relu", relu),
	UNARY("Softsign", softsign), UNARY("HardSwish", hardswish), UNARY("Mish", mish), UNARY("IsNaN", isnan),
	{ "IsInf", 10, 0, is_inf, 0, NULL, 0 },
	{ "Where", 9, 0, where, 0, ox_follow_where, 0 },
	{ "Clip", 1, 11, clip_attrs, 0, NULL, 0 },
	{ "Clip", 11, 0, clip, 0, NULL, 0 },
	{ "LeakyRelu", 1, 0, with_alpha, TN_leaky_relu, NULL, 0 },
	{ "Elu", 1, 0, with_alpha, TN_elu, NULL, 0 },
	{ "Celu", 12, 0, with_alpha, TN_celu, NULL, 0 },
	{ "Selu", 1, 0, selu, 0, NULL, 0 },
	{ "Softplus", 1, 0, softplus, 0, NULL, 0 },
	{ "HardSigmoid", 1, 0, hard_sigmoid, 0, NULL, 0 },
	{ "Gelu", 20, 0, gelu, 0, NULL, 0 },
	{ "Swish", 24, 0, swish, 0, NULL, 0 },
	{ "PRelu", 7, 0, prelu, 0, NULL, 0 },
	{ "ThresholdedRelu", 10, 0, thresholded_relu, 0, NULL, 0 },
	{ "Shrink", 9, 0, shrink, 0, NULL, 0 },
	{ "Cast", 6, 0, cast, 0, ox_follow_cast, 0 },
	{ "BitCast", 26, 0, bit_cast, 0, NULL, 0 },
	{ "CastLike", 15, 0, cast_like, 0, NULL, 0 },
	{ "Dropout", 7, 0, dropout, 0, NULL, 0 },
};
const struct ox_ops ox_ops_math = { rows, sizeof rows / sizeof *rows };
