/* fold.c - tn_fold: nodes whose operands are known are evaluated once, here, by the strict evaluator.
 *
 * full, iota, broadcast and window say in a few words what their results say in many: they count as known for what reads them, but
 * are kept as they are for those that are not folded.  A result of equal elements becomes a full. */
#include "decomp/decomp.h"
#include "decomp/rewrite.h"

struct fold {
	const struct tn_graph *g;
	struct tn_ir *ir;
	struct tn_remap map;
	struct tn_arena *a;
	uint64_t limit;
	struct tn_array *known;        /* by value of g; at NULL: not known */
	char *brief;                   /* known, and its node is kept */
};

static int sizes_known(const struct tn_graph *g, const uint32_t *sizes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (g->sizes.at[sizes[i]].op != TN_SIZE_CONST)
			return 0;
	return 1;
}

static int attrs_known(const struct tn_graph *g, const struct tn_node *n)
{
	for (uint32_t i = 0; i < n->n_attr; i++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + i];
		if (a->type == TN_ATTR_SIZES && !sizes_known(g, g->dims + a->at, a->count))
			return 0;
	}
	return 1;
}

/* bytes of a value of known shape; UINT64_MAX otherwise or when they are too many to count */
static uint64_t value_bytes(const struct tn_graph *g, uint32_t v)
{
	uint64_t bytes = tn_dtype_bytes(tn_val(g, v)->dtype);
	if (!sizes_known(g, tn_shape(g, v), tn_rank(g, v)))
		return UINT64_MAX;
	for (uint32_t d = 0; d < tn_rank(g, v); d++)
		if (__builtin_mul_overflow(bytes, (uint64_t)g->sizes.at[tn_shape(g, v)[d]].value, &bytes))
			return UINT64_MAX;
	return bytes;
}

static int can_fold(const struct fold *f, const struct tn_node *n)
{
	const struct tn_graph *g = f->g;
	if ((tn_prim_info(n->prim)->flags & TN_HOST_OP && n->prim != TN_size) || n->n_region > 0 || n->n_out == 0 || !tn_eval_can(g, n) || !attrs_known(g, n))
		return 0;
	for (uint32_t i = 0; i < n->n_in; i++)
		if (f->known[tn_in(g, n, i)].at == NULL)
			return 0;
	for (uint32_t i = 0; i < n->n_out; i++)
		if (value_bytes(g, tn_out(g, n, i)) > f->limit)
			return 0;
	return 1;
}

struct attempt { struct fold *f; const struct tn_node *n; struct tn_array in[8], out[4]; };

static void evaluate(void *arg)
{
	struct attempt *t = arg;
	tn_eval_node(t->f->g, t->n, NULL, t->in, t->out, t->f->a);
}

/* an evaluation that raises (an index out of range, say) is left for the run to report */
static void try_fold(struct fold *f, const struct tn_node *n)
{
	struct attempt t = { .f = f, .n = n };
	if (n->n_in > 8 || n->n_out > 4)
		return;
	for (uint32_t i = 0; i < n->n_in; i++)
		t.in[i] = f->known[tn_in(f->g, n, i)];
	const int32_t code = tn_protect(f->a->diag, evaluate, &t);
	if (code == TN_E_NOMEM || code == TN_E_INTERNAL)
		tn_raise(f->a->diag, code, "%s", tn_strdup(f->a, f->a->diag->text));
	if (code != TN_OK) {
		f->a->diag->code = TN_OK;
		f->a->diag->text[0] = 0;
		return;
	}
	for (uint32_t i = 0; i < n->n_out; i++) {
		f->known[tn_out(f->g, n, i)] = t.out[i];
		f->brief[tn_out(f->g, n, i)] = n->prim == TN_full || n->prim == TN_iota || n->prim == TN_broadcast || n->prim == TN_window;
	}
}

/* the value in the new graph for a known one: a full where all elements are equal numbers, else a constant */
static uint32_t emit(struct fold *f, const struct tn_array *x)
{
	struct tn_number number;
	uint32_t dims[TN_RANK_MAX];
	if (!tn_uniform_bytes(x->dtype, x->at, x->size, &number) || (tn_is_float(number.dtype) && tn_number_float(number) != tn_number_float(number)))
		return tn_ir_constant(f->ir, NULL, x->dtype, x->rank, x->dims, x->size ? x->at : "", x->size);
	for (uint32_t d = 0; d < x->rank; d++)
		dims[d] = tn_size_const(f->ir, x->dims[d]);
	return tn_full_of(f->ir, number, dims, x->rank);
}

static void need(struct fold *f, uint32_t v)
{
	if (f->map.value[v] != TN_NOTHING || f->known[v].at == NULL || f->brief[v] || tn_val(f->g, v)->constant != TN_NOTHING)
		return;
	f->map.value[v] = emit(f, &f->known[v]);
	tn_ir_name(f->ir, f->map.value[v], tn_str_at(f->g, tn_val(f->g, v)->name));
}

static void fold_node(struct fold *f, const struct tn_node *n)
{
	if (can_fold(f, n))
		try_fold(f, n);
	if (n->n_out > 0 && f->known[tn_out(f->g, n, 0)].at != NULL && !f->brief[tn_out(f->g, n, 0)])
		return;
	for (uint32_t i = 0; i < n->n_in; i++)
		need(f, tn_in(f->g, n, i));
	tn_remap_node(f->ir, &f->map, n);
}

static const struct tn_graph *fold_region(void *ctx, const struct tn_graph *region, struct tn_arena *a)
{
	return &tn_fold(region, *(const uint64_t *)ctx, a)->g;
}

static struct tn_array constant_array(const struct tn_graph *g, uint32_t v)
{
	const struct tn_constant *c = &g->constants.at[tn_val(g, v)->constant];
	struct tn_array x = { .dtype = tn_val(g, v)->dtype, .rank = tn_rank(g, v), .at = (void *)(uintptr_t)c->at, .size = c->size };
	for (uint32_t d = 0; d < x.rank; d++)
		x.dims[d] = g->sizes.at[tn_shape(g, v)[d]].value;
	return x;
}

struct tn_ir *tn_fold(const struct tn_graph *g, uint64_t limit_bytes, struct tn_arena *a)
{
	struct fold f = { .a = a, .limit = limit_bytes, .ir = tn_ir_create(a, NULL) };
	tn_decomp_register();
	f.g = g = tn_graph_map_regions(g, fold_region, &limit_bytes, a);
	f.known = tn_array(a, struct tn_array, g->values.count + 1);
	f.brief = tn_array(a, char, g->values.count + 1);
	f.map = tn_remap_begin(f.ir, g);
	tn_remap_inputs(f.ir, &f.map);
	for (uint32_t v = 0; v < g->values.count; v++)
		if (tn_val(g, v)->constant != TN_NOTHING && value_bytes(g, v) != UINT64_MAX)
			f.known[v] = constant_array(g, v);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		fold_node(&f, &g->nodes.at[i]);
	for (uint32_t i = 0; i < g->n_out; i++)
		need(&f, g->operands[g->out0 + i]);
	tn_remap_outputs(f.ir, &f.map);
	return f.ir;
}
