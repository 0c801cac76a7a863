/* eval_bind.c - symbols from the shapes of inputs: each symbol from the first dim that determines it, then every dim checked. */
#include "ir/eval.h"

#define UNKNOWN INT64_MIN

static const char *input_name(const struct tn_graph *g, uint32_t i)
{
	return tn_str_at(g, tn_val(g, g->operands[g->in0 + i])->name);
}

/* solve size = value for its one unknown symbol; sums and products of known parts are undone.  1 when a symbol was found */
static int solve(const struct tn_graph *g, uint32_t size, int64_t value, int64_t *symbols)
{
	const struct tn_size *s = &g->sizes.at[size];
	if (s->op == TN_SIZE_SYM && symbols[s->a] == UNKNOWN) {
		symbols[s->a] = value;
		return 1;
	}
	if (s->op != TN_SIZE_ADD && s->op != TN_SIZE_MUL)
		return 0;
	const int64_t a = tn_size_eval(&g->sizes, s->a, symbols), b = tn_size_eval(&g->sizes, s->b, symbols);
	if ((a == UNKNOWN) == (b == UNKNOWN))
		return 0;
	const int64_t known = a == UNKNOWN ? b : a;
	const uint32_t rest = a == UNKNOWN ? s->a : s->b;
	int64_t v;
	if (s->op == TN_SIZE_ADD)
		return !__builtin_sub_overflow(value, known, &v) && solve(g, rest, v, symbols);
	return known != 0 && (known != -1 || value != INT64_MIN) && value % known == 0 && solve(g, rest, value / known, symbols);
}

static void check_input(const struct tn_graph *g, uint32_t i, const struct tn_array *x, struct tn_diag *d)
{
	const struct tn_value *v = tn_val(g, g->operands[g->in0 + i]);
	if (x->dtype != v->dtype || x->rank != v->rank)
		tn_raise(d, TN_E_ARG, "input %u \"%s\" is %s of rank %u, the graph takes %s of rank %u", i, input_name(g, i), tn_dtype_name(x->dtype),
			x->rank, tn_dtype_name(v->dtype), v->rank);
	for (uint32_t k = 0; k < x->rank; k++)
		if (x->dims[k] < 0)
			tn_raise(d, TN_E_ARG, "input %u \"%s\" dim %u is %lld", i, input_name(g, i), k, (long long)x->dims[k]);
}

static void check_dim(const struct tn_graph *g, uint32_t i, uint32_t dim, int64_t seen, const int64_t *symbols, struct tn_diag *d)
{
	const uint32_t size = tn_shape(g, g->operands[g->in0 + i])[dim];
	const int64_t want = tn_size_eval(&g->sizes, size, symbols);
	const struct tn_size *s = &g->sizes.at[size];
	if (want == UNKNOWN)
		tn_raise(d, TN_E_ARG, "input %u \"%s\" dim %u is %lld, which does not determine the symbols of its size", i, input_name(g, i), dim, (long long)seen);
	if (want != seen)
		tn_raise(d, TN_E_ARG, "input %u \"%s\" dim %u is %lld where %lld is due", i, input_name(g, i), dim, (long long)seen, (long long)want);
	if (seen < s->lo || (s->hi != TN_SIZE_UNBOUNDED && seen > s->hi))
		tn_raise(d, TN_E_ARG, "input %u \"%s\" dim %u is %lld, outside its bounds %lld .. %lld", i, input_name(g, i), dim, (long long)seen,
			(long long)s->lo, (long long)s->hi);
}

static void check_bounds(const struct tn_graph *g, const int64_t *symbols, struct tn_diag *d)
{
	for (uint64_t i = 0; i < g->sizes.count; i++) {
		const struct tn_size *s = &g->sizes.at[i];
		if (s->op != TN_SIZE_SYM || symbols[s->a] == UNKNOWN)
			continue;
		if (symbols[s->a] < s->lo || (s->hi != TN_SIZE_UNBOUNDED && symbols[s->a] > s->hi))
			tn_raise(d, TN_E_ARG, "symbol %s is %lld, outside its bounds %lld .. %lld", tn_str_at(g, g->symbols[s->a]),
				(long long)symbols[s->a], (long long)s->lo, (long long)s->hi);
	}
}

void tn_bind_symbols(const struct tn_graph *g, const struct tn_array *inputs, int64_t *symbols, struct tn_diag *d)
{
	int again = 1;
	for (uint64_t i = 0; i < g->n_symbols; i++)
		symbols[i] = UNKNOWN;
	for (uint32_t i = 0; i < g->n_in; i++)
		check_input(g, i, &inputs[i], d);
	while (again) {                    /* a dim may need a symbol that a later one gives */
		again = 0;
		for (uint32_t i = 0; i < g->n_in; i++)
			for (uint32_t k = 0; k < inputs[i].rank; k++)
				again |= solve(g, tn_shape(g, g->operands[g->in0 + i])[k], inputs[i].dims[k], symbols);
	}
	for (uint32_t i = 0; i < g->n_in; i++)
		for (uint32_t k = 0; k < inputs[i].rank; k++)
			check_dim(g, i, k, inputs[i].dims[k], symbols, d);
	check_bounds(g, symbols, d);
}

void ev_bind_value(struct ev *e, uint32_t value, const struct tn_array *x, int64_t *symbols)
{
	for (uint32_t d = 0; d < x->rank; d++) {
		const uint32_t size = tn_shape(e->g, value)[d];
		solve(e->g, size, x->dims[d], symbols);
		const int64_t want = tn_size_eval(&e->g->sizes, size, symbols);
		if (want != UNKNOWN && want != x->dims[d])
			tn_raise(e->a->diag, TN_E_ARG, "%s: dim %u of a result is %lld where %lld is due", ev_name(e), d, (long long)x->dims[d], (long long)want);
	}
}
