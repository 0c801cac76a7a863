/* emit_prim.c - steps: constants, sizes, elementwise primitives in a form that the plugin's dialect spells. */
#include "schedule/build.h"
#include "ir/builders.h"
#include "ir/half.h"
#include <string.h>

uint32_t nb_step(struct nb *b, struct tn_step s, const uint32_t *args)
{
	const size_t n = s.n_args, head = 8;
	uint32_t *key = tn_array(b->a, uint32_t, head + n + 2);
	const uint32_t fields[8] = { s.op, s.dtype, s.prim, s.a, s.b, (uint32_t)s.bits, (uint32_t)(s.bits >> 32), b->scope };
	memcpy(key, fields, sizeof fields);
	for (size_t i = 0; i < n; i++)
		key[head + i] = args[i];
	key[head + n] = s.n_attrs ? s.attr0 : 0;       /* attributes are interned by whoever adds them */
	key[head + n + 1] = s.n_attrs;
	uint64_t *at = tn_map_at(&b->by_step, key, (head + n + 2) * sizeof *key);
	if (*at && s.op != TN_STEP_STORE && s.op != TN_STEP_UPDATE)
		return (uint32_t)(*at - 1);
	*at = (uint64_t)b->n_steps + 1;
	s.arg0 = n ? b->n_args : 0;
	for (size_t i = 0; i < n; i++)
		*tn_push(b->a, b->args, b->n_args, b->cap_args) = args[i];
	*tn_push(b->a, b->steps, b->n_steps, b->cap_steps) = s;
	return b->n_steps - 1;
}

uint32_t nb_const(struct nb *b, uint32_t dtype, uint64_t bits)
{
	return nb_step(b, (struct tn_step){ .op = TN_STEP_CONST, .dtype = dtype, .bits = bits }, NULL);
}

uint32_t nb_size_step(struct nb *b, uint32_t size)
{
	const struct tn_size *s = &b->ir->g.sizes.at[size];
	if (s->op == TN_SIZE_CONST)
		return nb_const(b, TN_I64, (uint64_t)s->value);
	return nb_step(b, (struct tn_step){ .op = TN_STEP_SIZE, .dtype = TN_I64, .a = size }, NULL);
}

static uint64_t float_bits(uint32_t dtype, double f)
{
	const float s = (float)f;
	uint32_t w;
	uint64_t d;
	memcpy(&w, &s, sizeof w);
	memcpy(&d, &f, sizeof d);
	return dtype == TN_F64 ? d : dtype == TN_F32 ? w : dtype == TN_F16 ? tn_f64_to_f16(f) : tn_f64_to_bf16(f);
}

uint64_t nb_bits(uint32_t dtype, int is_float, int64_t i, double f)
{
	if (TN_M(dtype) & TN_M_FLOAT)
		return float_bits(dtype, is_float ? f : (double)i);
	if (is_float)
		i = f != f ? 0 : f >= 9223372036854775807.0 ? INT64_MAX : f <= -9223372036854775808.0 ? INT64_MIN : (int64_t)f;
	if (dtype == TN_BOOL)
		return is_float ? f != 0 : i != 0;
	const uint32_t bits = tn_dtype_bits(dtype);
	return bits >= 64 ? (uint64_t)i : (uint64_t)i & ((UINT64_C(1) << bits) - 1);
}

/* ---- attributes of a node: the same list of them is stored once */
static uint32_t put_attrs(struct nb *b, const struct tn_graph *g, const struct tn_node *n)
{
	const uint32_t first = b->n_attrs;
	for (uint32_t i = 0; i < n->n_attr; i++) {
		struct tn_attr x = g->attrs.at[n->attr0 + i];
		if (x.type == TN_ATTR_INTS) {
			const int64_t *from = g->ints + x.at;
			x.at = b->n_ints;
			for (uint32_t k = 0; k < x.count; k++)
				*tn_push(b->a, b->ints, b->n_ints, b->cap_ints) = from[k];
		}
		*tn_push(b->a, b->attrs, b->n_attrs, b->cap_attrs) = x;
	}
	for (uint32_t k = 0; n->n_attr && k + n->n_attr <= first; k++)
		if (memcmp(&b->attrs[k], &b->attrs[first], n->n_attr * sizeof *b->attrs) == 0) {
			b->n_attrs = first;
			return k;
		}
	return first;
}

static uint32_t spelled(struct nb *b, uint32_t prim, uint32_t dtype, const uint32_t *args, uint32_t n, const struct tn_graph *g, const struct tn_node *node)
{
	struct tn_step s = { .op = TN_STEP_PRIM, .dtype = dtype, .prim = prim, .n_args = n };
	if (node && node->n_attr) {
		s.attr0 = put_attrs(b, g, node);
		s.n_attrs = node->n_attr;
	}
	return nb_step(b, s, args);
}

/* a convert node's attribute, for conversions that no node stands for */
uint32_t nb_convert(struct nb *b, uint32_t step, uint32_t dtype)
{
	if (b->steps[step].dtype == dtype)
		return step;
	const struct tn_attr at = { .name = TN_ATTR_dtype, .type = TN_ATTR_INT, .i = dtype };
	const struct tn_graph g = { .attrs = { &at, 1 } };
	const struct tn_node n = { .prim = TN_convert, .n_attr = 1 };
	return nb_prim(b, TN_convert, dtype, &step, 1, &g, &n);
}

static uint32_t in_dtype(const struct nb *b, const uint32_t *args, uint32_t n)
{
	uint32_t dtype = TN_NONE;
	for (uint32_t i = 0; i < n && (i == 0 || dtype == TN_BOOL); i++)
		dtype = b->steps[args[i]].dtype;
	return dtype;
}

/* the definition, on 0-d operands: only elementwise nodes, literals and views of single elements are left */
static int opened(struct nb *b, uint32_t prim, const uint32_t *args, uint32_t n, const struct tn_graph *g, const struct tn_node *node, uint32_t *result)
{
	struct tn_ir *ir = tn_ir_create(b->a, NULL);
	uint32_t in[8], out[4];
	(void)prim;
	for (uint32_t i = 0; i < n; i++)
		in[i] = tn_ir_input(ir, NULL, b->steps[args[i]].dtype, 0, NULL);
	if (!tn_ir_open(ir, g, node, in, out))
		return 0;
	uint32_t *step = tn_array(b->a, uint32_t, ir->g.values.count + 1), list[8];
	for (uint32_t v = 0; v < ir->g.values.count; v++) {
		const uint32_t c = tn_val(&ir->g, v)->constant;
		uint64_t bits = 0;
		if (c == TN_NOTHING)
			continue;
		memcpy(&bits, ir->g.constants.at[c].at, tn_dtype_bytes(tn_val(&ir->g, v)->dtype));
		step[v] = nb_const(b, tn_val(&ir->g, v)->dtype, bits);
	}
	for (uint32_t i = 0; i < n; i++)
		step[in[i]] = args[i];
	for (uint64_t k = 0; k < ir->g.nodes.count; k++) {
		const struct tn_node *m = &ir->g.nodes.at[k];
		const uint32_t cls = q_class(&ir->g, (uint32_t)k), r = tn_out(&ir->g, m, 0), dtype = tn_val(&ir->g, r)->dtype;
		if (cls == TN_CLS_DATA) {
			const struct tn_attr *x = tn_attr_find(&ir->g, m, TN_ATTR_value);
			step[r] = nb_const(b, dtype, x ? nb_bits(dtype, x->type == TN_ATTR_FLOAT, x->i, x->f) : 0);
			continue;
		}
		for (uint32_t i = 0; i < m->n_in && i < 8; i++)
			list[i] = step[tn_in(&ir->g, m, i)];
		if (cls == TN_CLS_VIEW)
			step[r] = list[0];
		else if (cls == TN_CLS_POINTWISE)
			step[r] = nb_prim(b, m->prim, dtype, list, m->n_in, &ir->g, m);
		else
			return 0;
	}
	*result = step[out[0]];
	return 1;
}

uint32_t nb_prim(struct nb *b, uint32_t prim, uint32_t dtype, const uint32_t *args, uint32_t n, const struct tn_graph *g, const struct tn_node *node)
{
	const uint32_t in = in_dtype(b, args, n);
	uint32_t list[8], r;
	if (prim == TN_convert && in == dtype)
		return args[0];
	if (q_spells(b->q->p, b->slot, prim, in, dtype))
		return spelled(b, prim, dtype, args, n, g, node);
	if (q_is_half(in) && prim != TN_bitcast && prim != TN_convert && q_spells(b->q->p, b->slot, prim, TN_F32, q_is_half(dtype) ? TN_F32 : dtype)) {
		for (uint32_t i = 0; i < n; i++)
			list[i] = q_is_half(b->steps[args[i]].dtype) ? nb_convert(b, args[i], TN_F32) : args[i];
		r = spelled(b, prim, q_is_half(dtype) ? TN_F32 : dtype, list, n, g, node);
		return nb_convert(b, r, dtype);
	}
	if (node && n <= 8 && opened(b, prim, args, n, g, node, &r))
		return r;
	tn_raise(b->a->diag, TN_E_UNSUPPORTED, "%s: no dialect row for %s from %s to %s", b->q->p->at[b->slot].backend->id, tn_prim_name(prim),
		tn_dtype_name(in), tn_dtype_name(dtype));
}
