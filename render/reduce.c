/* reduce.c - accumulators of reduce and cumulate steps, and rows kept for later phases
 *
 * A reduce step has one accumulator, or several copies that a template feeds in turn so that additions do not wait for one another.
 * `across`: lanes run along the reduced axis, and the end folds them.  Copies are combined as a tree in a fixed order, so a result
 * depends on extents alone. */
#include "render/inner.h"
#include <string.h>

/* the bits of a fold's identity.  reduce_max of nothing is the lowest value. */
static uint64_t identity(uint32_t prim, uint32_t dtype)
{
	static const uint64_t lowest_float[] = { 0xfc00, 0xff80, 0xff800000, UINT64_C(0xfff0000000000000) };
	static const uint64_t one_float[] = { 0x3c00, 0x3f80, 0x3f800000, UINT64_C(0x3ff0000000000000) };
	uint32_t bits = 8 * rd_dtype_bytes(dtype);
	uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1, top = UINT64_C(1) << (bits - 1);
	bool is_float = rd_dtype_float(dtype), is_signed = TN_M(dtype) & TN_M_SINT;
	switch (prim) {
	case TN_mul: return is_float ? one_float[dtype - TN_F16] : 1;
	case TN_max: return is_float ? lowest_float[dtype - TN_F16] : is_signed ? top : 0;
	case TN_min: return is_float ? lowest_float[dtype - TN_F16] ^ top : dtype == TN_BOOL ? 1 : is_signed ? top - 1 : all;
	}
	return 0;
}

struct rd_fold rd_fold_of(struct rd *r, const struct tn_step *s)
{
	static const uint32_t by_op[] = { TN_PRIM_NONE, TN_add, TN_mul, TN_max, TN_min };
	struct rd_fold f = { 0, 0, s->dtype };
	if (s->op == TN_STEP_CUMULATE && (s->bits & 7) < sizeof by_op / sizeof *by_op)
		f.prim = by_op[s->bits & 7];
	else if (s->op == TN_STEP_REDUCE)
		f.prim = s->prim == TN_sum ? TN_add : s->prim == TN_prod ? TN_mul : s->prim == TN_reduce_max ? TN_max : s->prim == TN_reduce_min ? TN_min : 0;
	if (!f.prim)
		rd_fault(r, TN_E_ARG, "a step reduces by %s, which has no combining primitive", rd_prim_name(s->prim));
	/* 16-bit sums and products run in f32 and round once, at the end */
	if ((f.prim == TN_add || f.prim == TN_mul) && (s->dtype == TN_F16 || s->dtype == TN_BF16))
		f.acc = TN_F32;
	f.identity = identity(f.prim, f.acc);
	return f;
}

static const char *acc_name(struct rd *r, uint32_t step, uint32_t copy)
{
	if (!r->env.acc[step])
		rd_fault(r, TN_E_ARG, "step %u has no accumulator here: @acc@ is missing", step);
	return tn_printf(r->arena, "%s_%u", r->env.acc[step], copy % r->env.copies[step]);
}

static uint32_t acc_form(struct rd *r, uint32_t step)
{
	return r->env.across[step] ? TN_VECTOR : rd_form(r, step);
}

static const char *splat(struct rd *r, uint32_t dtype, const char *x)
{
	return rd_expand(r, rd_word(r, "splat", TN_VECTOR, dtype), RD_NAMES({ "0", x }, { "T", rd_type(r, TN_VECTOR, dtype) }), "splat");
}

static bool accumulates(const struct tn_step *s)
{
	return s->op == TN_STEP_REDUCE || s->op == TN_STEP_CUMULATE;
}

static void each_fold(struct rd *r, uint32_t phase, void (*f)(struct rd *r, uint32_t step, uint32_t a, bool b), uint32_t a, bool b)
{
	if (phase >= r->n->phases.count)
		rd_fault(r, TN_E_ARG, "the nest has %llu phases; %u was asked for", (unsigned long long)r->n->phases.count, phase);
	const struct tn_nest_phase *p = &r->n->phases.at[phase];
	for (uint32_t i = p->step0; i < p->step0 + p->n_steps; i++)
		if (accumulates(&r->n->steps.at[i]))
			f(r, i, a, b);
}

static void declare(struct rd *r, uint32_t step, uint32_t copies, bool across)
{
	struct rd_fold f = rd_fold_of(r, &r->n->steps.at[step]);
	r->env.acc[step] = rd_fresh(r, "a");
	r->env.copies[step] = copies;
	r->env.across[step] = across && r->n->steps.at[step].op == TN_STEP_REDUCE;
	uint32_t form = acc_form(r, step);
	const char *x = rd_literal(r, f.acc, f.identity);
	if (form == TN_VECTOR)
		x = splat(r, f.acc, x);
	for (uint32_t c = 0; c < copies; c++)
		rd_line(r, "%s", rd_expand(r, rd_word(r, "var", form, f.acc),
			RD_NAMES({ "T", rd_type(r, form, f.acc) }, { "r", acc_name(r, step, c) }, { "x", x }), "var"));
}

void rd_acc(struct rd *r, uint32_t phase, uint32_t copies, bool across)
{
	each_fold(r, phase, declare, copies, across);
}

static void combine(struct rd *r, const struct rd_fold *f, uint32_t form, const char *to, const char *x)
{
	const char *args[2] = { to, x };
	const char *v = rd_apply(r, f->prim, form, f->acc, f->acc, args, 2, NULL);
	rd_line(r, "%s", rd_expand(r, rd_word(r, "set", form, f->acc), RD_NAMES({ "r", to }, { "x", v }), "set"));
}

/* x in the accumulator's dtype */
static const char *widen(struct rd *r, uint32_t form, uint32_t from, uint32_t to, const char *x)
{
	return from == to ? x : rd_apply(r, TN_convert, form, from, to, &x, 1, NULL);
}

void rd_reduce(struct rd *r, uint32_t step)
{
	const struct tn_step *s = &r->n->steps.at[step];
	struct rd_fold f = rd_fold_of(r, s);
	uint32_t form = acc_form(r, step);
	const char *x = widen(r, form, r->n->steps.at[s->b].dtype, f.acc, rd_value(r, s->b, form));
	if (r->env.across[step] && r->env.n)
		x = rd_let(r, form, f.acc, rd_expand(r, rd_word(r, "lanes.first", form, f.acc), RD_NAMES({ "0", x }, { "n", r->env.n },
			{ "fill", rd_literal(r, f.acc, f.identity) }, { "T", rd_type(r, form, f.acc) }), "lanes.first"));
	combine(r, &f, form, acc_name(r, step, r->env.copy), x);
}

static const char *fold_role(uint32_t prim)
{
	return prim == TN_add ? "fold.add" : prim == TN_mul ? "fold.mul" : prim == TN_max ? "fold.max" : "fold.min";
}

static void merge(struct rd *r, uint32_t step, uint32_t unused, bool unused_too)
{
	(void)unused;
	(void)unused_too;
	struct rd_fold f = rd_fold_of(r, &r->n->steps.at[step]);
	for (uint32_t gap = 1; gap < r->env.copies[step]; gap *= 2)
		for (uint32_t c = 0; c + gap < r->env.copies[step]; c += 2 * gap)
			combine(r, &f, acc_form(r, step), acc_name(r, step, c), acc_name(r, step, c + gap));
	r->env.copies[step] = 1;
}

/* combine the copies into the first: then its first accumulator goes on alone */
void rd_acc_merge(struct rd *r, uint32_t phase)
{
	each_fold(r, phase, merge, 0, false);
}

static void finish(struct rd *r, uint32_t step, uint32_t unused, bool unused_too)
{
	(void)unused;
	(void)unused_too;
	const struct tn_step *s = &r->n->steps.at[step];
	struct rd_fold f = rd_fold_of(r, s);
	if (s->op != TN_STEP_REDUCE)
		return;
	uint32_t form = acc_form(r, step);
	const char *x = acc_name(r, step, r->env.copy);
	if (r->env.across[step]) {
		x = rd_let(r, TN_SCALAR, f.acc, rd_expand(r, rd_word(r, fold_role(f.prim), form, f.acc), RD_NAMES({ "0", x }), "fold"));
		form = TN_SCALAR;
	}
	x = widen(r, form, f.acc, s->dtype, x);
	*(form == TN_VECTOR ? &r->env.vector[step] : &r->env.scalar[step]) = x;
}

void rd_acc_finish(struct rd *r, uint32_t phase)
{
	each_fold(r, phase, finish, 0, false);
}

const char *rd_cumulate(struct rd *r, uint32_t step, uint32_t form)
{
	const struct tn_step *s = &r->n->steps.at[step];
	struct rd_fold f = rd_fold_of(r, s);
	const char *acc = acc_name(r, step, r->env.copy);
	const char *x = widen(r, form, r->n->steps.at[s->b].dtype, f.acc, rd_value(r, s->b, form));
	const char *before = s->bits & 8 ? rd_let(r, form, f.acc, acc) : NULL;
	combine(r, &f, form, acc, x);
	return widen(r, form, f.acc, s->dtype, before ? before : rd_let(r, form, f.acc, acc));
}

/* ---- kept rows: step values of one phase that later phases read back, a row of scratch each */
uint32_t rd_keep_slot(const struct rd *r, uint32_t step)
{
	for (uint32_t i = 0; i < r->n_keeps; i++)
		if (r->keeps[i] == step)
			return i;
	return TN_NOTHING;
}

void rd_keep_declare(struct rd *r, const char *pitch)
{
	uint32_t before = 0;
	for (uint32_t i = 0; i < r->n_keeps; i++) {
		uint32_t dtype = r->n->steps.at[r->keeps[i]].dtype, bytes = rd_dtype_bytes(dtype);
		rd_line(r, "%s", rd_expand(r, rd_word(r, "keep.declare", 0, dtype), RD_NAMES({ "T", rd_type(r, TN_SCALAR, dtype) },
			{ "k", tn_printf(r->arena, "k%u", i) }, { "offset", tn_printf(r->arena, "%u * %s", before, pitch) }), "keep.declare"));
		before += bytes < 4 ? 4 : bytes;
	}
}

void rd_keep_store(struct rd *r, uint32_t phase)
{
	for (uint32_t i = 0; r->env.keep && i < r->n_keeps; i++) {
		uint32_t step = r->keeps[i], dtype = r->n->steps.at[step].dtype;
		if (r->phase_of[step] != phase || rd_form(r, step) != TN_VECTOR)
			continue;
		const char *x = rd_value(r, step, TN_VECTOR);
		rd_line(r, "%s", rd_expand(r, rd_word(r, "keep.store", TN_VECTOR, dtype), RD_NAMES({ "k", tn_printf(r->arena, "k%u", i) },
			{ "i", r->env.keep }, { "x", x }, { "T", rd_type(r, TN_VECTOR, dtype) }), "keep.store"));
	}
}

const char *rd_keep_load(struct rd *r, uint32_t step)
{
	uint32_t slot = rd_keep_slot(r, step), dtype = r->n->steps.at[step].dtype;
	return rd_let(r, TN_VECTOR, dtype, rd_expand(r, rd_word(r, "keep.load", TN_VECTOR, dtype), RD_NAMES({ "k", tn_printf(r->arena, "k%u", slot) },
		{ "i", r->env.reuse }, { "T", rd_type(r, TN_VECTOR, dtype) }), "keep.load"));
}
