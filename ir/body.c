/* body.c - a node's definition from ir/prims.tn, added to a graph
 *
 * The first definition whose conditions hold counts.  f16 and bf16 without one compute in f32: operands converted, the f32
 * definition, results converted back, which rounds once. */
#include "ir/body.h"
#include "ir/lex.h"
#include "ir/store.h"
#include <pthread.h>
#include <string.h>

extern const unsigned char tn_prims_tn[];
extern const size_t tn_prims_tn_size;

/* ---- the definitions of this process */
static struct tn_bodies builtin;
static struct tn_diag builtin_diag;
static struct tn_arena builtin_arena;
static int32_t builtin_code;
static pthread_once_t builtin_once = PTHREAD_ONCE_INIT;

static void parse_builtin(void *arg)
{
	(void)arg;
	tn_bodies_parse(&builtin_arena, "prims.tn", (const char *)tn_prims_tn, tn_prims_tn_size, &builtin);
}

static void start(void)
{
	tn_arena_init(&builtin_arena, &builtin_diag);
	builtin_code = tn_protect(&builtin_diag, parse_builtin, NULL);
}

const struct tn_bodies *tn_bodies_builtin(const char **error)
{
	pthread_once(&builtin_once, start);
	*error = builtin_diag.text;
	return builtin_code == TN_OK ? &builtin : NULL;
}

/* ---- evaluating an expression */
enum kind { INT = 1, FLOAT, SIZE, TEXT, LIST };
struct thing { uint32_t kind, n; int64_t i; double f; uint32_t size; const char *text; struct thing *at; };

struct inliner {
	struct tn_ir *ir;
	const struct tn_graph *g;          /* of the node that is opened: its attributes */
	const struct tn_node *n;
	const struct tn_prim_info *prim;
	const struct tn_body *body;
	const struct tn_step *step;
	uint32_t dtype, *slot;
};

static struct thing eval(struct inliner *in, const struct tn_expr *x);

static _Noreturn void fault(const struct inliner *in, const char *what)
{
	tn_raise(in->ir->arena->diag, TN_E_INTERNAL, "definition of %s (prims.tn:%u): %s", in->prim->name, in->step ? in->step->line : in->body->line, what);
}

static struct thing int_of(int64_t v) { return (struct thing){ .kind = INT, .i = v }; }

/* a number when it is constant */
static struct thing size_of(const struct inliner *in, uint32_t size)
{
	const struct tn_size *r = &in->ir->g.sizes.at[size];
	return r->op == TN_SIZE_CONST ? int_of(r->value) : (struct thing){ .kind = SIZE, .size = size };
}

static uint32_t to_size(const struct inliner *in, struct thing t)
{
	if (t.kind != INT && t.kind != SIZE)
		fault(in, "a size is neither a whole number nor symbolic");
	return t.kind == INT ? tn_size_const(in->ir, t.i) : t.size;
}

static int64_t to_int(const struct inliner *in, struct thing t)
{
	if (t.kind == LIST && t.n == 1)
		t = t.at[0];
	if (t.kind != INT)
		fault(in, "a number is not a whole one");
	return t.i;
}

static double to_float(const struct inliner *in, struct thing t)
{
	if (t.kind != INT && t.kind != FLOAT)
		fault(in, "a number is symbolic");
	return t.kind == INT ? (double)t.i : t.f;
}

static struct thing new_list(const struct inliner *in, uint32_t n)
{
	return (struct thing){ .kind = LIST, .n = n, .at = tn_array(in->ir->arena, struct thing, n) };
}

static struct thing range(const struct inliner *in, int64_t from, int64_t to)
{
	if (from < 0 || to > TN_RANK_MAX)
		fault(in, "a range of dims leaves the value");
	struct thing r = new_list(in, to > from ? (uint32_t)(to - from) : 0);
	for (uint32_t i = 0; i < r.n; i++)
		r.at[i] = int_of(from + i);
	return r;
}

static struct thing attr_value(const struct inliner *in, uint32_t name)
{
	const struct tn_attr *a = tn_attr_find(in->g, in->n, name);
	struct tn_spec s = { 0 };
	struct thing t;
	if (!a) {
		tn_spec_find(in->prim, name, &s);
		if (s.type == TN_SPEC_INTS || s.type == TN_SPEC_SIZES)
			return new_list(in, 0);
		return s.is_float ? (struct thing){ .kind = FLOAT, .f = s.f } : int_of(s.i);
	}
	switch (a->type) {
	case TN_ATTR_INT:
		return int_of(a->i);
	case TN_ATTR_FLOAT:
		return (struct thing){ .kind = FLOAT, .f = a->f };
	case TN_ATTR_TEXT:
		return (struct thing){ .kind = TEXT, .text = in->g->bytes + a->at };
	default:
		t = new_list(in, a->count);
		for (uint32_t i = 0; i < t.n; i++)
			t.at[i] = a->type == TN_ATTR_INTS ? int_of(in->g->ints[a->at + i]) : size_of(in, tn_size_import(in->ir, in->g, in->g->dims[a->at + i]));
		return t;
	}
}

static struct thing splice(struct inliner *in, const struct tn_expr *x)
{
	struct thing *at = NULL;
	uint32_t n = 0, cap = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct thing t = eval(in, x->kid[i]);
		if (t.kind != LIST)
			*tn_push(in->ir->arena, at, n, cap) = t;
		for (uint32_t k = 0; t.kind == LIST && k < t.n; k++)
			*tn_push(in->ir->arena, at, n, cap) = t.at[k];
	}
	return (struct thing){ .kind = LIST, .n = n, .at = at };
}

static struct thing shape_of(const struct inliner *in, uint32_t slot)
{
	const uint32_t v = in->slot[slot];
	struct thing t = new_list(in, tn_rank(&in->ir->g, v));
	for (uint32_t i = 0; i < t.n; i++)
		t.at[i] = size_of(in, tn_shape(&in->ir->g, v)[i]);
	return t;
}

static struct thing span(struct inliner *in, const struct tn_expr *x)
{
	struct thing list = eval(in, x->kid[0]);
	const int64_t from = to_int(in, eval(in, x->kid[1])), to = x->op == TN_X_AT ? from + 1 : to_int(in, eval(in, x->kid[2]));
	if (list.kind != LIST || from < 0 || to > list.n || (x->op == TN_X_AT && from >= list.n))
		fault(in, "an index leaves the list");
	if (x->op == TN_X_AT)
		return list.at[from];
	list.at += from;
	list.n = to > from ? (uint32_t)(to - from) : 0;
	return list;
}

static int holds(const struct thing *list, int64_t v)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->at[i].kind == INT && list->at[i].i == v)
			return 1;
	return 0;
}

/* kid 0 as a list */
static struct thing some_list(struct inliner *in, const struct tn_expr *x)
{
	struct thing t = eval(in, x->kid[0]);
	if (t.kind == LIST)
		return t;
	struct thing r = new_list(in, 1);
	r.at[0] = t;
	return r;
}

static struct thing dims_except(struct inliner *in, const struct tn_expr *x)
{
	const struct thing without = some_list(in, x);
	struct thing r = range(in, 0, tn_rank(&in->ir->g, in->slot[x->slot]));
	uint32_t n = 0;
	for (uint32_t i = 0; i < r.n; i++)
		if (!holds(&without, r.at[i].i))
			r.at[n++] = r.at[i];
	r.n = n;
	return r;
}

static struct thing product(struct inliner *in, struct thing list)
{
	uint32_t r = 1;
	for (uint32_t i = 0; i < list.n; i++)
		r = tn_size_op(in->ir, TN_SIZE_MUL, r, to_size(in, list.at[i]));
	return size_of(in, r);
}

static struct thing count_along(struct inliner *in, const struct tn_expr *x)
{
	const struct thing axes = some_list(in, x), shape = shape_of(in, x->slot);
	struct thing list = new_list(in, shape.n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < shape.n; i++)
		if (holds(&axes, i))
			list.at[n++] = shape.at[i];
	list.n = n;
	return product(in, list);
}

static struct thing float_op(const struct inliner *in, uint32_t op, double a, double b)
{
	switch (op) {
	case TN_X_ADD: return (struct thing){ .kind = FLOAT, .f = a + b };
	case TN_X_SUB: return (struct thing){ .kind = FLOAT, .f = a - b };
	case TN_X_MUL: return (struct thing){ .kind = FLOAT, .f = a * b };
	case TN_X_OVER: return (struct thing){ .kind = FLOAT, .f = a / b };
	case TN_X_MIN: return (struct thing){ .kind = FLOAT, .f = a < b ? a : b };
	case TN_X_MAX: return (struct thing){ .kind = FLOAT, .f = a > b ? a : b };
	default: fault(in, "div and mod are for whole numbers");
	}
}

static struct thing binary(struct inliner *in, const struct tn_expr *x)
{
	static const uint32_t ops[] = { [TN_X_ADD] = TN_SIZE_ADD, [TN_X_MUL] = TN_SIZE_MUL, [TN_X_DIV] = TN_SIZE_DIV, [TN_X_MOD] = TN_SIZE_MOD,
		[TN_X_MIN] = TN_SIZE_MIN, [TN_X_MAX] = TN_SIZE_MAX };
	const struct thing a = eval(in, x->kid[0]), b = eval(in, x->kid[1]);
	if (a.kind == FLOAT || b.kind == FLOAT || x->op == TN_X_OVER)
		return float_op(in, x->op, to_float(in, a), to_float(in, b));
	uint32_t p = to_size(in, a), q = to_size(in, b);
	if (x->op == TN_X_SUB)
		q = tn_size_op(in->ir, TN_SIZE_MUL, q, tn_size_const(in->ir, -1));
	return size_of(in, tn_size_op(in->ir, x->op == TN_X_SUB ? TN_SIZE_ADD : ops[x->op], p, q));
}

static struct thing eval(struct inliner *in, const struct tn_expr *x)
{
	switch (x->op) {
	case TN_X_INT: return int_of(x->i);
	case TN_X_FLOAT: return (struct thing){ .kind = FLOAT, .f = x->f };
	case TN_X_TEXT: return (struct thing){ .kind = TEXT, .text = x->text };
	case TN_X_T: return int_of(in->dtype);
	case TN_X_ATTR: return attr_value(in, x->slot);
	case TN_X_LIST: return splice(in, x);
	case TN_X_SHAPE: return shape_of(in, x->slot);
	case TN_X_AT:
	case TN_X_SPAN: return span(in, x);
	case TN_X_RANK: return int_of(tn_rank(&in->ir->g, in->slot[x->slot]));
	case TN_X_PRODUCT: return product(in, some_list(in, x));
	case TN_X_COUNT: return count_along(in, x);
	case TN_X_EXCEPT: return dims_except(in, x);
	case TN_X_FROM: return range(in, to_int(in, eval(in, x->kid[0])), tn_rank(&in->ir->g, in->slot[x->slot]));
	case TN_X_RANGE: return range(in, to_int(in, eval(in, x->kid[0])), to_int(in, eval(in, x->kid[1])));
	case TN_X_VALUE: fault(in, "a value where a number is expected");
	default: return binary(in, x);
	}
}

/* ---- steps */
/* The value of a symbolic size, without a host operation between kernels: element e of an iota of e + 1. */
static uint32_t size_value(struct tn_ir *ir, uint32_t e, uint32_t dtype, const uint32_t *dims, uint32_t rank)
{
	const uint32_t end = tn_size_op(ir, TN_SIZE_ADD, e, 1);
	const int64_t one = 1;
	const uint32_t line = tn_ir_iota(ir, TN_I64, 0, &end, 1);
	const struct tn_attr_in cut[] = { TN_A_SIZES(start, &e, 1), TN_A_SIZES(limit, &end, 1), TN_A_INTS(step, &one, 1) };
	const uint32_t last = tn_ir_add(ir, TN_slice, &line, 1, cut, 3);
	return tn_ir_broadcast(ir, tn_ir_convert(ir, tn_ir_reshape(ir, last, NULL, 0), dtype), dims, rank, NULL);
}

static uint32_t number_value(struct inliner *in, struct thing t, uint32_t model)
{
	if (model == TN_NOTHING)
		fault(in, "a number needs a value beside it, which gives it dtype and shape");
	const struct tn_value v = *tn_val(&in->ir->g, model);
	const uint32_t rank = in->step->prim == TN_pad ? 0 : v.rank, *dims = tn_shape(&in->ir->g, model);
	if (t.kind == INT)
		return tn_ir_full_int(in->ir, v.dtype, t.i, dims, rank);
	if (t.kind == FLOAT)
		return tn_ir_full(in->ir, v.dtype, t.f, dims, rank);
	if (t.kind != SIZE)
		fault(in, "an operand is neither a value nor a number");
	return size_value(in->ir, t.size, v.dtype, dims, rank);
}

static struct tn_attr_in attr_of(struct inliner *in, const struct tn_spec *s, struct thing t)
{
	struct tn_attr_in a = { .name = s->name, .type = TN_ATTR_INT };
	if (s->type == TN_SPEC_INTS || s->type == TN_SPEC_SIZES) {
		if (t.kind != LIST)
			fault(in, "an attribute needs a list");
		int64_t *ints = tn_array(in->ir->arena, int64_t, t.n);
		uint32_t *sizes = tn_array(in->ir->arena, uint32_t, t.n);
		for (uint32_t i = 0; i < t.n; i++)
			if (s->type == TN_SPEC_INTS)
				ints[i] = to_int(in, t.at[i]);
			else
				sizes[i] = to_size(in, t.at[i]);
		a.type = s->type == TN_SPEC_INTS ? TN_ATTR_INTS : TN_ATTR_SIZES;
		a.list = s->type == TN_SPEC_INTS ? (const void *)ints : sizes;
		a.count = t.n;
	} else if (s->type == TN_SPEC_TEXT) {
		if (t.kind != TEXT)
			fault(in, "an attribute needs a text");
		a.type = TN_ATTR_TEXT;
		a.list = t.text;
	} else if (s->type == TN_SPEC_FLOAT || t.kind == FLOAT) {
		a.type = TN_ATTR_FLOAT;
		a.f = to_float(in, t);
	} else {
		a.i = to_int(in, t);
	}
	return a;
}

static uint32_t model_of(const struct inliner *in, const struct tn_step *s)
{
	for (uint32_t i = s->prim == TN_select ? 1 : 0; i < s->n_in; i++)
		if (s->in[i]->op == TN_X_VALUE)
			return in->slot[s->in[i]->slot];
	return TN_NOTHING;
}

static void run_step(struct inliner *in, const struct tn_step *s)
{
	uint32_t *operands = tn_array(in->ir->arena, uint32_t, s->n_in);
	struct tn_attr_in *attrs = tn_array(in->ir->arena, struct tn_attr_in, s->n_attrs);
	in->step = s;
	const uint32_t model = model_of(in, s);
	for (uint32_t i = 0; i < s->n_in; i++)
		operands[i] = s->in[i]->op == TN_X_VALUE ? in->slot[s->in[i]->slot] : number_value(in, eval(in, s->in[i]), model);
	for (uint32_t i = 0; i < s->n_attrs; i++) {
		struct tn_spec spec = { 0 };
		tn_spec_find(tn_prim_info(s->prim), s->attrs[i].name, &spec);
		attrs[i] = attr_of(in, &spec, eval(in, s->attrs[i].x));
	}
	const uint32_t node = tn_ir_node(in->ir, &(struct tn_node_in){ .prim = s->prim, .in = operands, .n_in = s->n_in, .attrs = attrs, .n_attrs = s->n_attrs });
	for (uint32_t i = 0; i < s->n_out; i++)
		in->slot[s->out0 + i] = tn_out(&in->ir->g, &in->ir->g.nodes.at[node], i);
}

/* ---- choosing */
static int fits(struct inliner *in, const struct tn_body *b, const uint32_t *operands, uint32_t t)
{
	if (!(b->mask & TN_M(t)) || b->n_params != in->n->n_in)
		return 0;
	for (uint32_t i = 0; i < b->n_params; i++) {
		const uint32_t d = tn_val(&in->ir->g, operands[i])->dtype;
		if (b->param_dtype[i] != TN_NONE && b->param_dtype[i] != d)
			return 0;
	}
	in->body = b;
	for (uint32_t i = 0; i < b->n_when; i++)
		if ((to_float(in, attr_value(in, b->when[i].attr)) == b->when[i].value) == b->when[i].differs)
			return 0;
	return 1;
}

/* the dtype of the first operand that is declared T */
static uint32_t dtype_of(const struct tn_ir *ir, const struct tn_body *b, const uint32_t *operands, uint32_t n)
{
	for (uint32_t i = 0; i < b->n_params && i < n; i++)
		if (b->param_dtype[i] == TN_NONE)
			return tn_val(&ir->g, operands[i])->dtype;
	return TN_NONE;
}

static const struct tn_body *choose(struct inliner *in, const struct tn_body *b, const uint32_t *operands)
{
	for (; b; b = b->next) {
		in->dtype = dtype_of(in->ir, b, operands, in->n->n_in);
		if (fits(in, b, operands, in->dtype))
			return b;
	}
	return NULL;
}

static void run(struct inliner *in, const struct tn_body *b, const uint32_t *operands, uint32_t *out)
{
	in->body = b;
	in->slot = tn_array(in->ir->arena, uint32_t, b->n_slots);
	memcpy(in->slot, operands, b->n_params * sizeof *operands);
	for (uint32_t i = 0; i < b->n_steps; i++)
		run_step(in, &b->steps[i]);
	for (uint32_t i = 0; i < b->n_out; i++)
		out[i] = in->slot[b->out[i]];
}

int tn_ir_inline_body(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out)
{
	const char *error;
	const struct tn_bodies *all = tn_bodies_builtin(&error);
	struct inliner in = { .ir = ir, .g = g, .n = n, .prim = tn_prim_info(n->prim) };
	if (!all)
		tn_raise(ir->arena->diag, TN_E_INTERNAL, "%s", error);
	if (!in.prim || !all->of[n->prim])
		return 0;
	const struct tn_body *b = choose(&in, all->of[n->prim], operands);
	if (b) {
		run(&in, b, operands, out);
		return 1;
	}
	const uint32_t low = in.dtype;
	uint32_t *wide = tn_array(ir->arena, uint32_t, n->n_in);
	if (low != TN_F16 && low != TN_BF16)
		return 0;
	for (uint32_t i = 0; i < n->n_in; i++)
		wide[i] = tn_val(&ir->g, operands[i])->dtype == low ? tn_ir_convert(ir, operands[i], TN_F32) : operands[i];
	b = choose(&in, all->of[n->prim], wide);
	if (!b)
		return 0;
	run(&in, b, wide, out);
	for (uint32_t i = 0; i < n->n_out; i++)
		if (tn_val(&ir->g, out[i])->dtype == TN_F32)
			out[i] = tn_ir_convert(ir, out[i], low);
	return 1;
}
