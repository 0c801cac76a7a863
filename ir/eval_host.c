/* eval_host.c - host operations: size, bind, if, while, scan, copy (their types: infer_host.c).
 * Results of regions may have sizes that only running tells: the symbols that stand for them are bound here. */
#include "ir/eval.h"
#include <string.h>

static struct tn_array make(struct ev *e, uint32_t dtype, uint32_t rank, const int64_t *dims)
{
	struct tn_array x = { .dtype = dtype, .rank = rank };
	size_t n = tn_dtype_bytes(dtype);
	for (uint32_t d = 0; d < rank; d++)
		n = tn_size_mul(e->a->diag, n, (size_t)(x.dims[d] = dims[d]));
	x.size = n;
	x.at = tn_arena_alloc(e->a, n);
	return x;
}

static struct tn_array duplicate(struct ev *e, const struct tn_array *x)
{
	struct tn_array r = make(e, x->dtype, x->rank, x->dims);
	if (r.size > 0)
		memcpy(r.at, x->at, r.size);
	return r;
}

static void run_size(struct ev *e)
{
	uint32_t n;
	const int64_t *sizes = ev_sizes(e, TN_ATTR_shape, &n), dim = n;
	e->out[0] = make(e, TN_I64, n != 1, &dim);
	memcpy(e->out[0].at, sizes, n * sizeof *sizes);
}

static int64_t scalar(const struct tn_array *x)
{
	int64_t v;
	ev_convert_n(TN_I64, &v, x->dtype, x->at, 1);
	return v;
}

static void run_bind(struct ev *e, int64_t *symbols)
{
	const int64_t v = scalar(&e->in[0]), lo = tn_attr_int(e->g, e->n, TN_ATTR_lo, 0), hi = tn_attr_int(e->g, e->n, TN_ATTR_hi, INT64_MAX);
	const uint64_t index = (uint64_t)tn_attr_int(e->g, e->n, TN_ATTR_index, -1);
	if (index >= e->g->n_symbols)
		tn_raise(e->a->diag, TN_E_ARG, "%s: there is no symbol %llu", ev_name(e), (unsigned long long)index);
	if (v < lo || v > hi)
		tn_raise(e->a->diag, TN_E_RANGE, "%s: %lld is outside the bounds %lld .. %lld of %s", ev_name(e), (long long)v, (long long)lo, (long long)hi,
			tn_str_at(e->g, e->g->symbols[index]));
	if (symbols != NULL)
		symbols[index] = v;
}

static void run_if(struct ev *e)
{
	const struct tn_graph *r = e->g->regions[e->n->region0 + (*(const uint8_t *)e->in[0].at ? 0 : 1)];
	struct tn_array *out = tn_array(e->a, struct tn_array, e->n->n_out + 1);
	tn_eval_graph(r, e->in + 1, out, e->a);
	for (uint32_t i = 0; i < e->n->n_out; i++)
		e->out[i] = out[i];
}

/* ---- loops.  Each round's values live in one of two arenas: the round after next may forget them */
struct loop {
	struct tn_arena round[2];
	const struct tn_graph *body;
	uint32_t n_carry;
	struct tn_array *in, *out;     /* of the body */
	struct tn_array *stack;        /* grows by rows; cap in bytes */
	uint64_t *cap;
};

static void end_loop(void *arg)
{
	struct loop *l = arg;
	tn_arena_fini(&l->round[0]);
	tn_arena_fini(&l->round[1]);
}

static struct loop *start_loop(struct ev *e, const struct tn_graph *body)
{
	struct loop *l = tn_new(e->a, struct loop);
	tn_arena_init(&l->round[0], e->a->diag);
	tn_arena_init(&l->round[1], e->a->diag);
	tn_arena_defer(e->a, end_loop, l);
	l->body = body;
	l->n_carry = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_n_carry, 0);
	l->in = tn_array(e->a, struct tn_array, e->n->n_in + 1);
	l->out = tn_array(e->a, struct tn_array, body->n_out + 1);
	l->stack = tn_array(e->a, struct tn_array, body->n_out + 1);
	l->cap = tn_array(e->a, uint64_t, body->n_out + 1);
	for (uint32_t i = 0; i < e->n->n_in; i++)
		l->in[i] = e->in[i];
	return l;
}

/* one round: the body, then its carries are the next inputs.  `round` says which arena may be emptied first */
static void step(struct loop *l, uint64_t round)
{
	struct tn_arena *a = &l->round[round % 2];
	struct tn_diag *d = a->diag;
	tn_arena_fini(a);
	tn_arena_init(a, d);
	tn_eval_graph(l->body, l->in, l->out, a);
	for (uint32_t i = 0; i < l->n_carry; i++)
		l->in[i] = l->out[i];
}

/* row `at` of stacked output i; rows before it may come later (reverse) */
static void stack_row(struct ev *e, struct loop *l, uint32_t i, uint64_t at, uint64_t rows)
{
	struct tn_array *s = &l->stack[i];
	const struct tn_array *row = &l->out[i];
	const uint64_t need = tn_size_mul(e->a->diag, rows, row->size);
	if (s->rank == 0) {
		s->rank = row->rank + 1;
		s->dtype = row->dtype;
		memcpy(s->dims + 1, row->dims, row->rank * sizeof *row->dims);
	} else if (memcmp(s->dims + 1, row->dims, row->rank * sizeof *row->dims) != 0) {
		tn_raise(e->a->diag, TN_E_ARG, "%s: rows of result %u change their shape from round to round", ev_name(e), i);
	}
	if (need > l->cap[i] || s->at == NULL) {
		const uint64_t cap = need > 2 * l->cap[i] ? need : 2 * l->cap[i];
		void *grown = tn_arena_alloc(e->a, cap);
		if (s->size > 0)
			memcpy(grown, s->at, s->size);
		s->at = grown;
		l->cap[i] = cap;
	}
	if (row->size > 0)
		memcpy((char *)s->at + at * row->size, row->at, row->size);
	s->dims[0] = (int64_t)rows;
	s->size = need;
}

static void finish(struct ev *e, struct loop *l)
{
	for (uint32_t i = 0; i < e->n->n_out; i++) {
		if (i < l->n_carry) {
			e->out[i] = duplicate(e, &l->in[i]);
		} else if (l->stack[i].rank > 0) {
			e->out[i] = l->stack[i];
		} else {                       /* no round: no rows of a shape that only numbers in the result's own shape can tell */
			const uint32_t v = tn_out(e->g, e->n, i);
			int64_t dims[TN_RANK_MAX] = { 0 };
			for (uint32_t d = 1; d < tn_rank(e->g, v); d++) {
				const int64_t size = tn_size_eval(&e->g->sizes, tn_shape(e->g, v)[d], e->symbols);
				dims[d] = size < 0 ? 0 : size;
			}
			e->out[i] = make(e, tn_val(e->g, v)->dtype, tn_rank(e->g, v), dims);
		}
	}
}

static void run_while(struct ev *e)
{
	const struct tn_graph *cond = e->g->regions[e->n->region0];
	struct loop *l = start_loop(e, e->g->regions[e->n->region0 + 1]);
	const uint64_t hi = (uint64_t)tn_attr_int(e->g, e->n, TN_ATTR_hi, 0);
	for (uint64_t round = 0; ; round++) {
		struct tn_array go = { 0 };
		const struct tn_mark mark = tn_arena_mark(e->a);
		tn_eval_graph(cond, l->in, &go, e->a);
		const int more = *(const uint8_t *)go.at;
		tn_arena_reset(e->a, mark);
		if (!more)
			break;
		if (hi > 0 && round == hi)
			tn_raise(e->a->diag, TN_E_RANGE, "%s: more rounds than its bound of %llu", ev_name(e), (unsigned long long)hi);
		step(l, round);
		for (uint32_t i = l->n_carry; i < e->n->n_out; i++)
			stack_row(e, l, i, round, round + 1);
	}
	finish(e, l);
}

static void run_scan(struct ev *e)
{
	struct loop *l = start_loop(e, e->g->regions[e->n->region0]);
	uint32_t n;
	const int64_t length = *ev_sizes(e, TN_ATTR_length, &n);
	const int reverse = tn_attr_int(e->g, e->n, TN_ATTR_reverse, 0) != 0;
	for (int64_t k = 0; k < length; k++) {
		const int64_t row = reverse ? length - 1 - k : k;
		for (uint32_t i = l->n_carry; i < e->n->n_in; i++) {
			struct tn_array *x = &l->in[i];
			x->rank = e->in[i].rank - 1;
			memcpy(x->dims, e->in[i].dims + 1, x->rank * sizeof *x->dims);
			x->size = e->in[i].size / (uint64_t)e->in[i].dims[0];
			x->at = (char *)e->in[i].at + (uint64_t)row * x->size;
		}
		step(l, (uint64_t)k);
		for (uint32_t i = l->n_carry; i < e->n->n_out; i++)
			stack_row(e, l, i, (uint64_t)row, (uint64_t)length);
	}
	finish(e, l);
}

int ev_host(struct ev *e, int64_t *symbols)
{
	switch (e->n->prim) {
	case TN_size: run_size(e); return 1;
	case TN_bind: run_bind(e, symbols); return 1;
	case TN_copy: e->out[0] = duplicate(e, &e->in[0]); return 1;
	case TN_if: run_if(e); break;
	case TN_while: run_while(e); break;
	case TN_scan: run_scan(e); break;
	default: return 0;
	}
	for (uint32_t i = 0; symbols != NULL && i < e->n->n_out; i++)
		ev_bind_value(e, tn_out(e->g, e->n, i), &e->out[i], symbols);
	return 1;
}
