/* rules.c - algebra that holds for every bit: the table, and its small functions.
 *
 * Floats: x + 0 is x only for the zero -0 (since -0 + +0 is +0), x - 0 only for +0; x * 0 and x - x are left alone (NaN, infinity).
 * A rule that returns an operand may change a NaN's payload, nothing else. */
#include "decomp/rewrite.h"
#include <math.h>
#include <string.h>

static int is_uniform(const struct tn_rewrite *w, uint32_t operand, int64_t value)
{
	struct tn_number x;
	return tn_uniform(&w->ir->g, w->in[operand], &x) && tn_number_is(x, value);
}

static int is_minus_zero(const struct tn_rewrite *w, uint32_t operand)
{
	struct tn_number x;
	return tn_uniform(&w->ir->g, w->in[operand], &x) && tn_is_float(x.dtype) && tn_number_float(x) == 0 && signbit(tn_number_float(x));
}

/* known not to be -0, for float x: it comes from an integer */
static int never_minus_zero(const struct tn_graph *g, uint32_t v)
{
	const struct tn_node *n = tn_producer(g, v, TN_convert);
	return (n != NULL && !tn_is_float(tn_val(g, tn_in(g, n, 0))->dtype)) || tn_producer(g, v, TN_iota) != NULL;
}

static uint32_t commutes(const struct tn_rewrite *w) { return (tn_prim_info(w->n->prim)->flags & TN_COMMUTATIVE) != 0; }

/* x + 0, 0 + x, x - 0 */
static uint32_t add_zero(const struct tn_rewrite *w)
{
	const int sub = w->n->prim == TN_sub;
	for (uint32_t i = 0; i <= commutes(w); i++) {
		const uint32_t x = w->in[i], zero = 1 - i;
		const int plus = is_uniform(w, zero, 0), minus = is_minus_zero(w, zero);
		if (!tn_is_float(w->dtype) ? plus : (sub ? plus : minus || (plus && never_minus_zero(&w->ir->g, x))))
			return x;
	}
	return TN_NOTHING;
}

static uint32_t times_one(const struct tn_rewrite *w)
{
	for (uint32_t i = 0; i <= commutes(w); i++)
		if (is_uniform(w, 1 - i, 1))
			return w->in[i];
	return TN_NOTHING;
}

static uint32_t same_operands(const struct tn_rewrite *w)
{
	return w->in[0] == w->in[1] ? w->in[0] : TN_NOTHING;
}

/* dividing by 2^k rounds like multiplying by 2^-k, where that number exists */
static uint32_t div_to_mul(const struct tn_rewrite *w)
{
	struct tn_number c;
	int e;
	if (!tn_is_float(w->dtype) || !tn_uniform(&w->ir->g, w->in[1], &c))
		return TN_NOTHING;
	const double v = tn_number_float(c), inverse = 1 / v;
	if (!isfinite(v) || v == 0 || fabs(frexp(v, &e)) != 0.5 || !isfinite(inverse))
		return TN_NOTHING;
	const uint32_t factor = tn_full_like(w->ir, w->in[1], inverse);
	struct tn_number held;
	if (!tn_uniform(&w->ir->g, factor, &held) || tn_number_float(held) != inverse)
		return TN_NOTHING;
	return tn_ir_binary(w->ir, TN_mul, w->in[0], factor);
}

/* integers and bool: what a constant of all zeros or all ones does to and, or, mul, xor, shifts */
static uint32_t bits_constant(const struct tn_rewrite *w)
{
	const uint32_t prim = w->n->prim;
	const int64_t ones = w->dtype == TN_BOOL ? 1 : -1;
	if (tn_is_float(w->dtype))
		return TN_NOTHING;
	for (uint32_t i = 0; i <= commutes(w); i++) {
		const uint32_t x = w->in[i], c = 1 - i;
		if (is_uniform(w, c, 0))
			return prim == TN_and || prim == TN_mul ? w->in[c] : x;     /* or, xor, shl, shr leave x */
		if ((prim == TN_and || prim == TN_or) && is_uniform(w, c, ones))
			return prim == TN_and ? x : w->in[c];
	}
	return TN_NOTHING;
}

static uint32_t self_cancels(const struct tn_rewrite *w)
{
	return w->in[0] == w->in[1] && !tn_is_float(w->dtype) ? tn_full_of(w->ir, (struct tn_number){ w->dtype, 0 }, w->dims, w->rank) : TN_NOTHING;
}

/* x < x is false even for NaN; x == x and x <= x are true where there is no NaN */
static uint32_t self_compared(const struct tn_rewrite *w)
{
	const int lt = w->n->prim == TN_lt;
	if (w->in[0] != w->in[1] || (!lt && tn_is_float(tn_val(&w->ir->g, w->in[0])->dtype)))
		return TN_NOTHING;
	return tn_full_of(w->ir, (struct tn_number){ TN_BOOL, !lt }, w->dims, w->rank);
}

static uint32_t select_known(const struct tn_rewrite *w)
{
	struct tn_number c;
	if (w->in[1] == w->in[2])
		return w->in[1];
	return tn_uniform(&w->ir->g, w->in[0], &c) ? w->in[c.bits ? 1 : 2] : TN_NOTHING;
}

static uint32_t undo_twice(const struct tn_rewrite *w)
{
	const struct tn_node *inner = tn_producer(&w->ir->g, w->in[0], w->n->prim);
	return inner != NULL ? tn_in(&w->ir->g, inner, 0) : TN_NOTHING;
}

static uint32_t once_is_enough(const struct tn_rewrite *w)
{
	return tn_producer(&w->ir->g, w->in[0], w->n->prim) != NULL ? w->in[0] : TN_NOTHING;
}

/* ---- conversions */
static uint32_t mantissa(uint32_t dtype) { return dtype == TN_F64 ? 53 : dtype == TN_F32 ? 24 : dtype == TN_F16 ? 11 : 8; }

/* every value of a has the same value in b */
static int lossless(uint32_t a, uint32_t b)
{
	const int as = (TN_M_SINT >> a & 1) != 0, bs = (TN_M_SINT >> b & 1) != 0;
	const uint32_t bits = a == TN_BOOL ? 1 : tn_dtype_bits(a) - (as ? 1u : 0u);
	if (a == b)
		return 1;
	if (b == TN_BOOL)
		return 0;
	if (tn_is_float(a))
		return tn_is_float(b) && tn_dtype_bits(b) > tn_dtype_bits(a);
	if (tn_is_float(b))
		return bits <= mantissa(b);                    /* f16 reaches 65504, more than 11 bits do */
	return (!as || bs) && bits <= tn_dtype_bits(b) - (bs ? 1u : 0u);
}

/* convert(convert(x: a -> b) -> c) is convert(x: a -> c) when b keeps all of a.  Integer to float to integer saturates where
 * integer to integer wraps: only when c keeps all of a, too. */
static uint32_t convert_chain(const struct tn_rewrite *w)
{
	const struct tn_graph *g = &w->ir->g;
	const struct tn_node *inner = tn_producer(g, w->in[0], TN_convert);
	if (tn_val(g, w->in[0])->dtype == w->dtype)
		return w->in[0];
	if (inner == NULL)
		return TN_NOTHING;
	const uint32_t x = tn_in(g, inner, 0), a = tn_val(g, x)->dtype, b = tn_val(g, w->in[0])->dtype, c = w->dtype;
	const int changes = !tn_is_float(a) && tn_is_float(b) && !tn_is_float(c) && c != TN_BOOL && !lossless(a, c);
	return lossless(a, b) && !changes ? tn_ir_convert(w->ir, x, c) : TN_NOTHING;
}

static uint32_t bitcast_chain(const struct tn_rewrite *w)
{
	const struct tn_graph *g = &w->ir->g;
	uint32_t x = w->in[0];
	const struct tn_node *inner = tn_producer(g, x, TN_bitcast);
	if (inner != NULL)
		x = tn_in(g, inner, 0);
	if (tn_val(g, x)->dtype == w->dtype)
		return x;
	return inner != NULL ? tn_ir_add(w->ir, TN_bitcast, &x, 1, (const struct tn_attr_in[]){ TN_A_INT(dtype, w->dtype) }, 1) : TN_NOTHING;
}

/* elementwise atoms of numbers are numbers, whatever the shape: evaluated on one element */
static uint32_t of_numbers(const struct tn_rewrite *w)
{
	struct tn_arena *a = w->ir->arena;
	const struct tn_mark mark = tn_arena_mark(a);
	struct tn_number x[3], r = { w->dtype, 0 };
	struct tn_array in[3], out;
	struct tn_attr_in attrs[2];
	uint32_t ops[3];
	if (tn_prim_info(w->n->prim)->cls != TN_CLS_POINTWISE || w->n->n_in > 3 || w->n->n_attr > 2)
		return TN_NOTHING;
	for (uint32_t i = 0; i < w->n->n_in; i++)
		if (!tn_uniform(&w->ir->g, w->in[i], &x[i]))
			return TN_NOTHING;
	struct tn_ir *one = tn_ir_create(a, NULL);
	for (uint32_t i = 0; i < w->n->n_in; i++) {
		ops[i] = tn_ir_input(one, NULL, x[i].dtype, 0, NULL);
		in[i] = (struct tn_array){ .dtype = x[i].dtype, .at = &x[i].bits, .size = tn_dtype_bytes(x[i].dtype) };
	}
	for (uint32_t i = 0; i < w->n->n_attr; i++) {
		const struct tn_attr *at = &w->ir->g.attrs.at[w->n->attr0 + i];
		attrs[i] = (struct tn_attr_in){ .name = at->name, .type = at->type, .i = at->i, .f = at->f };
	}
	tn_ir_node(one, &(struct tn_node_in){ .prim = w->n->prim, .in = ops, .n_in = w->n->n_in, .attrs = attrs, .n_attrs = w->n->n_attr });
	tn_eval_node(&one->g, &one->g.nodes.at[0], NULL, in, &out, a);
	memcpy(&r.bits, out.at, out.size);
	tn_arena_reset(a, mark);
	return tn_full_of(w->ir, r, w->dims, w->rank);
}

static const struct tn_rule rules[] = {
	{ "elementwise of numbers",     0,             TN_ATOM,       of_numbers },
	{ "x + 0, x - 0",               0,             TN_ID_ZERO,    add_zero },
	{ "x * 1, x / 1",               0,             TN_ID_ONE,     times_one },
	{ "x op x is x",                0,             TN_IDEMPOTENT, same_operands },
	{ "x / 2^k is x * 2^-k",        TN_div,        0,             div_to_mul },
	{ "x * 0 of integers",          TN_mul,        0,             bits_constant },
	{ "x and 0, x and ones",        TN_and,        0,             bits_constant },
	{ "x or 0, x or ones",          TN_or,         0,             bits_constant },
	{ "x xor 0",                    TN_xor,        0,             bits_constant },
	{ "x << 0",                     TN_shl,        0,             bits_constant },
	{ "x >> 0",                     TN_shr,        0,             bits_constant },
	{ "x xor x",                    TN_xor,        0,             self_cancels },
	{ "x - x of integers",          TN_sub,        0,             self_cancels },
	{ "x < x",                      TN_lt,         0,             self_compared },
	{ "x <= x without NaN",         TN_le,         0,             self_compared },
	{ "x == x without NaN",         TN_eq,         0,             self_compared },
	{ "select of one, or by a constant", TN_select, 0,            select_known },
	{ "neg neg",                    TN_neg,        0,             undo_twice },
	{ "not not",                    TN_not,        0,             undo_twice },
	{ "abs abs",                    TN_abs,        0,             once_is_enough },
	{ "floor floor",                TN_floor,      0,             once_is_enough },
	{ "ceil ceil",                  TN_ceil,       0,             once_is_enough },
	{ "round round",                TN_round,      0,             once_is_enough },
	{ "trunc trunc",                TN_trunc,      0,             once_is_enough },
	{ "relu relu",                  TN_relu,       0,             once_is_enough },
	{ "conversions that lose nothing", TN_convert, 0,             convert_chain },
	{ "bitcast of a bitcast",       TN_bitcast,    0,             bitcast_chain },
};
const struct tn_rule_rows tn_algebra_rules = TN_ROWS(rules);
