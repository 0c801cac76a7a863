/* infer.c - result dtypes by the table's columns, and how a node that breaks a rule is reported */
#include "ir/store.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* "node 3, add (model.onnx: /add): <what>; operands %x: f32[n, 4], %1: f32[5]" */
void tn_infer_fail(const struct tn_infer *f, const char *fmt, ...)
{
	const struct tn_ir *ir = f->ir;
	struct tn_text t = { .arena = ir->arena };
	char words[500];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	for (uint32_t i = 0; i < f->n->n_in && t.len < 300; i++)
		tn_text_add(&t, "%s%s", i ? ", " : "; operands ", f->n->in[i] < ir->g.values.count ? tn_value_text(ir->arena, &ir->g, f->n->in[i]) : "?");
	const char *origin = tn_str_at(&ir->g, ir->store->origin);
	tn_raise(ir->arena->diag, TN_E_ARG, "node %llu, %s%s%s%s: %s%s", (unsigned long long)ir->g.nodes.count, f->p->name,
		*origin ? " (" : "", origin, *origin ? ")" : "", words, t.at ? t.at : "");
}

const char *tn_infer_size(const struct tn_infer *f, uint32_t size)
{
	struct tn_text t = { .arena = f->ir->arena };
	if (size == TN_NOTHING || size == TN_TRIPS)
		return "?";
	tn_size_print(&t, &f->ir->g, size);
	return t.at;
}

void tn_infer_same(const struct tn_infer *f, uint32_t a, uint32_t b, const char *what)
{
	const int eq = tn_size_eq(f->ir, a, b);
	if (eq != 1)
		tn_infer_fail(f, "%s are %s and %s, which %s", what, tn_infer_size(f, a), tn_infer_size(f, b),
			eq == 0 ? "differ" : "are not known to be equal");
}

/* ---- dtypes */
static uint32_t dtype_of(const struct tn_infer *f, uint32_t i)
{
	return tn_val(&f->ir->g, f->n->in[i])->dtype;
}

static const char *mask_text(const struct tn_infer *f, uint64_t mask)
{
	struct tn_text t = { .arena = f->ir->arena };
	for (uint32_t d = 1; d < TN_DTYPE_END; d++)
		if (mask & TN_M(d))
			tn_text_add(&t, "%s%s", t.len ? " " : "", tn_dtype_name(d));
	return t.at ? t.at : "none";
}

static void need_mask(const struct tn_infer *f, uint32_t i, uint64_t mask)
{
	const uint32_t d = dtype_of(f, i);
	if (!(mask & TN_M(d)))
		tn_infer_fail(f, "operand %u is %s, it takes: %s", i, tn_dtype_name(d), mask_text(f, mask));
}

static void need_equal(const struct tn_infer *f, uint32_t i, uint32_t j)
{
	if (dtype_of(f, i) != dtype_of(f, j))
		tn_infer_fail(f, "operands %u and %u are %s and %s, and must be equal", i, j, tn_dtype_name(dtype_of(f, i)), tn_dtype_name(dtype_of(f, j)));
}

static uint32_t attr_dtype(const struct tn_infer *f)
{
	const uint32_t d = (uint32_t)tn_infer_int(f, TN_ATTR_dtype, TN_NONE);
	const uint64_t mask = f->n->n_in == 0 ? f->p->mask : f->p->number == TN_random_uniform ? TN_M_FLOAT : f->p->number == TN_random_bits ? TN_M_UINT :
		f->p->number == TN_bitcast ? TN_M_REAL : TN_M_PLAIN;
	if (!(mask & TN_M(d)))
		tn_infer_fail(f, "dtype %s, the result can be: %s", tn_dtype_name(d), mask_text(f, mask));
	if (f->p->number == TN_bitcast && tn_dtype_bits(d) != tn_dtype_bits(dtype_of(f, 0)))
		tn_infer_fail(f, "dtype %s has %u bits and the operand's %s has %u", tn_dtype_name(d), tn_dtype_bits(d), tn_dtype_name(dtype_of(f, 0)), tn_dtype_bits(dtype_of(f, 0)));
	return d;
}

static uint32_t accumulating_dtype(const struct tn_infer *f)
{
	for (uint32_t i = 1; i < f->n->n_in; i++)
		need_equal(f, 0, i);
	const uint32_t d = (uint32_t)tn_infer_int(f, TN_ATTR_dtype, dtype_of(f, 0)), acc = (uint32_t)tn_infer_int(f, TN_ATTR_acc, d);
	if (!(f->p->mask & TN_M(d)) || !(f->p->mask & TN_M(acc)))
		tn_infer_fail(f, "dtype %s and accumulator %s, they can be: %s", tn_dtype_name(d), tn_dtype_name(acc), mask_text(f, f->p->mask));
	return d;
}

static void infer_dtypes(struct tn_infer *f)
{
	const uint32_t n = f->n->n_in;
	uint32_t d = n ? dtype_of(f, 0) : TN_NONE;
	if (n)
		need_mask(f, 0, f->p->mask);
	switch (f->p->dt) {
	case TN_DT_SAME:
	case TN_DT_BOOL:
		for (uint32_t i = 1; i < n; i++)
			need_equal(f, 0, i);
		d = f->p->dt == TN_DT_BOOL ? TN_BOOL : d;
		break;
	case TN_DT_SELECT:
		need_mask(f, 1, f->p->mask2);
		need_equal(f, 1, 2);
		d = dtype_of(f, 1);
		break;
	case TN_DT_ATTR:
		for (uint32_t i = 1; i < n; i++)
			need_equal(f, 0, i);
		d = attr_dtype(f);
		break;
	case TN_DT_FIRST:              /* the second may be an index, as mask2 says */
		for (uint32_t i = 1; i < n; i++)
			if (i == 1 && f->p->mask2)
				need_mask(f, i, f->p->mask2);
			else
				need_equal(f, 0, i);
		break;
	case TN_DT_I64:
		d = TN_I64;
		break;
	case TN_DT_ACC:
		d = accumulating_dtype(f);
		break;
	case TN_DT_FIRST_I64:
		f->out[1].dtype = TN_I64;
		break;
	default:
		tn_infer_fail(f, "the table has no dtype rule %u", f->p->dt);
	}
	f->out[0].dtype = d;
}

void tn_infer(struct tn_infer *f)
{
	if (f->p->dt == TN_DT_OWN || f->p->sh == TN_SH_OWN) {
		tn_infer_host(f);
	} else {
		f->n_out = f->p->n_out;
		f->out = tn_array(f->ir->arena, struct tn_type, f->n_out);
		infer_dtypes(f);
		tn_infer_shape(f);
	}
	for (uint32_t i = 0; i < f->n_out; i++)
		for (uint32_t d = 0; d < f->out[i].rank; d++) {
			const uint32_t size = f->out[i].dims[d];
			if (size < TN_TRIPS && f->ir->g.sizes.at[size].hi < 0)
				tn_infer_fail(f, "dim %u of the result would be %s, which is negative", d, tn_infer_size(f, size));
		}
}
