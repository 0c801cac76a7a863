/* number.c - numbers that simplify and fold reason about: one element, in the bits of its dtype */
#include "decomp/rewrite.h"
#include "ir/half.h"
#include <string.h>

const struct tn_node *tn_producer(const struct tn_graph *g, uint32_t v, uint32_t prim)
{
	const uint32_t node = tn_val(g, v)->node;
	return node != TN_NOTHING && g->nodes.at[node].prim == prim ? &g->nodes.at[node] : NULL;
}

double tn_number_float(struct tn_number x)
{
	double d;
	if (x.dtype == TN_F64)
		memcpy(&d, &x.bits, sizeof d);
	else
		d = x.dtype == TN_F32 ? (double)tn_bits_f32((uint32_t)x.bits) : tn_small_decode(x.dtype, (uint32_t)x.bits);
	return d;
}

static uint64_t float_bits(uint32_t dtype, double v)
{
	uint64_t bits;
	if (dtype == TN_F64)
		memcpy(&bits, &v, sizeof bits);
	else
		bits = dtype == TN_F32 ? tn_f32_bits((float)v) : tn_small_encode(dtype, v);
	return bits;
}

static uint64_t int_bits(uint32_t dtype, int64_t v)
{
	return dtype == TN_BOOL ? v != 0 : (uint64_t)v & (UINT64_MAX >> (64 - tn_dtype_bits(dtype)));
}

int tn_number_is(struct tn_number x, int64_t value)
{
	if (!(TN_M_PLAIN >> x.dtype & 1))
		return 0;
	return x.bits == (tn_is_float(x.dtype) ? float_bits(x.dtype, (double)value) : int_bits(x.dtype, value));
}

static int full_number(const struct tn_graph *g, const struct tn_node *n, struct tn_number *x)
{
	const struct tn_attr *v = tn_attr_find(g, n, TN_ATTR_value);
	if (v == NULL || (v->type == TN_ATTR_FLOAT && !tn_is_float(x->dtype)))
		return 0;
	if (!tn_is_float(x->dtype))
		x->bits = int_bits(x->dtype, v->i);
	else if (v->type == TN_ATTR_FLOAT)
		x->bits = float_bits(x->dtype, v->f);
	else if (v->i < -(INT64_C(1) << 53) || v->i > INT64_C(1) << 53)
		return 0;                                   /* leave rounding twice to nobody */
	else
		x->bits = float_bits(x->dtype, (double)v->i);
	return 1;
}

int tn_uniform_bytes(uint32_t dtype, const void *at, uint64_t size, struct tn_number *x)
{
	const uint32_t elem = tn_dtype_bytes(dtype);
	*x = (struct tn_number){ .dtype = dtype };
	if (!(TN_M_PLAIN >> dtype & 1) || size < elem || memcmp(at, (const char *)at + elem, size - elem) != 0)
		return 0;
	memcpy(&x->bits, at, elem);
	return 1;
}

int tn_uniform(const struct tn_graph *g, uint32_t v, struct tn_number *x)
{
	const struct tn_value *val = tn_val(g, v);
	const struct tn_node *full = tn_producer(g, v, TN_full);
	*x = (struct tn_number){ .dtype = val->dtype };
	if (!(TN_M_PLAIN >> val->dtype & 1))
		return 0;
	if (full != NULL)
		return full_number(g, full, x);
	if (val->constant == TN_NOTHING)
		return 0;
	const struct tn_constant *c = &g->constants.at[val->constant];
	return tn_uniform_bytes(val->dtype, c->at, c->size, x);
}

uint32_t tn_full_of(struct tn_ir *ir, struct tn_number x, const uint32_t *dims, uint32_t rank)
{
	if (tn_is_float(x.dtype))
		return tn_ir_full(ir, x.dtype, tn_number_float(x), dims, rank);
	const uint32_t unused = 64 - (x.dtype == TN_BOOL ? 8 : tn_dtype_bits(x.dtype));
	const int is_signed = (TN_M_SINT >> x.dtype & 1) != 0;
	return tn_ir_full_int(ir, x.dtype, is_signed ? (int64_t)(x.bits << unused) >> unused : (int64_t)x.bits, dims, rank);
}
