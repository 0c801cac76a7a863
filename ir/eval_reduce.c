/* eval_reduce.c - sum, prod, reduce_max, reduce_min, cumulate.
 * The operand is first moved so that what is reduced is innermost and ascending; then one loop over rows for each dtype. */
#include "ir/eval.h"
#include "ir/eval_types.h"
#include <math.h>

enum op { ADD = 1, MUL, MAX, MIN, OPS };      /* numbers of the attribute op */

/* reduce m rows of k elements each; the accumulator starts as the identity */
#define RED_INT(dt, S, U, op, A, start, expr) \
	static void op##_##dt(void *out, const void *in, uint64_t m, uint64_t k) \
	{ \
		EV_LOCAL(S, U) \
		const S *x = in; S *r = out; \
		for (uint64_t i = 0; i < m; i++) { \
			A a = (A)(start); \
			for (uint64_t j = 0; j < k; j++) { const A v = (A)x[i * k + j]; a = (A)(expr); } \
			r[i] = (S)a; \
		} \
	}
#define RED_FLT(dt, S, C, LD, ST, op, start, expr) \
	static void op##_##dt(void *out, const void *in, uint64_t m, uint64_t k) \
	{ \
		const S *x = in; S *r = out; \
		for (uint64_t i = 0; i < m; i++) { \
			C a = (C)(start); \
			for (uint64_t j = 0; j < k; j++) { const C v = LD(x[i * k + j]); a = expr; } \
			r[i] = ST(a); \
		} \
	}
/* running values of a row: before or after the element joins */
#define CUM_INT(dt, S, U, op, A, start, expr) \
	static void cum_##op##_##dt(void *out, const void *in, uint64_t m, uint64_t k, int exclusive, int reverse) \
	{ \
		EV_LOCAL(S, U) \
		const S *x = in; S *r = out; \
		for (uint64_t i = 0; i < m; i++) { \
			A a = (A)(start); \
			for (uint64_t j = 0; j < k; j++) { \
				const uint64_t at = i * k + (reverse ? k - 1 - j : j); const A v = (A)x[at]; const A before = a; \
				a = (A)(expr); r[at] = (S)(exclusive ? before : a); \
			} \
		} \
	}
#define CUM_FLT(dt, S, C, LD, ST, op, start, expr) \
	static void cum_##op##_##dt(void *out, const void *in, uint64_t m, uint64_t k, int exclusive, int reverse) \
	{ \
		const S *x = in; S *r = out; \
		for (uint64_t i = 0; i < m; i++) { \
			C a = (C)(start); \
			for (uint64_t j = 0; j < k; j++) { \
				const uint64_t at = i * k + (reverse ? k - 1 - j : j); const C v = LD(x[at]), before = a; \
				a = expr; r[at] = ST(exclusive ? before : a); \
			} \
		} \
	}

#define LEAST_U  0
#define LEAST_S  ((s_)(u_)((u_)1 << (w_ - 1)))
#define MOST_U   ((s_)-1)
#define MOST_S   ((s_)(((u_)1 << (w_ - 1)) - 1))
#define FMAX     (a != a ? a : v != v ? v : a == v ? (signbit(a) ? v : a) : a > v ? a : v)
#define FMIN     (a != a ? a : v != v ? v : a == v ? (signbit(a) ? a : v) : a < v ? a : v)
#define BOTH(I, F) \
	EV_INTS(I, sum, u_, 0, a + v)                   EV_FLOATS(F, sum, 0, a + v) \
	EV_INTS(I, prod, u_, 1, a * v)                  EV_FLOATS(F, prod, 1, a * v) \
	EV_UINTS(I, max, s_, LEAST_U, a > v ? a : v)    EV_SINTS(I, max, s_, LEAST_S, a > v ? a : v)   EV_FLOATS(F, max, -INFINITY, FMAX) \
	EV_UINTS(I, min, s_, MOST_U, a < v ? a : v)     EV_SINTS(I, min, s_, MOST_S, a < v ? a : v)    EV_FLOATS(F, min, INFINITY, FMIN)
BOTH(RED_INT, RED_FLT)
BOTH(CUM_INT, CUM_FLT)
EV_BOOL(RED_INT, max, s_, 0, a | v)
EV_BOOL(RED_INT, min, s_, 1, a & v)

#define REAL(op) EV_COL_INTS(op), EV_COL_FLOATS(op)
static void (*const reduce[OPS][TN_C64])(void *, const void *, uint64_t, uint64_t) = {
	[ADD] = { REAL(sum) }, [MUL] = { REAL(prod) }, [MAX] = { EV_COL_BOOL(max), REAL(max) }, [MIN] = { EV_COL_BOOL(min), REAL(min) },
};
static void (*const cumulate[OPS][TN_C64])(void *, const void *, uint64_t, uint64_t, int, int) = {
	[ADD] = { REAL(cum_sum) }, [MUL] = { REAL(cum_prod) }, [MAX] = { REAL(cum_max) }, [MIN] = { REAL(cum_min) },
};

void ev_reduce(struct ev *e)
{
	const struct tn_array *x = &e->in[0];
	const enum op op = e->n->prim == TN_sum ? ADD : e->n->prim == TN_prod ? MUL : e->n->prim == TN_reduce_max ? MAX : MIN;
	int64_t order[TN_RANK_MAX];
	uint32_t n, n_kept = 0, reduced = 0;
	uint64_t k = 1;
	const int64_t *axes = tn_attr_ints(e->g, e->n, TN_ATTR_axes, &n);
	for (uint32_t i = 0; i < n; i++)
		reduced |= 1u << axes[i];
	for (uint32_t d = 0; d < x->rank; d++)
		if (!(reduced >> d & 1))
			order[n_kept++] = d;
	for (uint32_t d = 0, i = n_kept; d < x->rank; d++)
		if (reduced >> d & 1) {
			order[i++] = d;
			k *= (uint64_t)x->dims[d];
		}
	reduce[op][x->dtype](e->out->at, ev_gathered(e, x, order, x->rank), ev_count(e->out), k);
}

void ev_cumulate(struct ev *e)
{
	const struct tn_array *x = &e->in[0];
	const uint32_t axis = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_axis, 0), op = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_op, ADD);
	const int exclusive = tn_attr_int(e->g, e->n, TN_ATTR_exclusive, 0) != 0, reverse = tn_attr_int(e->g, e->n, TN_ATTR_reverse, 0) != 0;
	struct ev_move back = { .to = e->out->at, .rank = x->rank, .elem = tn_dtype_bytes(x->dtype) };
	int64_t order[TN_RANK_MAX], strides[TN_RANK_MAX];
	uint32_t n = 0;
	if (op < ADD || op >= OPS)
		tn_raise(e->a->diag, TN_E_ARG, "%s: op %u is not one of add, mul, max, min", ev_name(e), op);
	for (uint32_t d = 0; d < x->rank; d++)
		if (d != axis)
			order[n++] = d;
	order[n] = axis;
	const void *rows = ev_gathered(e, x, order, x->rank);
	void *r = tn_arena_alloc(e->a, x->size);
	const uint64_t k = (uint64_t)x->dims[axis], count = ev_count(x);
	cumulate[op][x->dtype](r, rows, k ? count / k : 0, k, exclusive, reverse);
	back.from = r;                                      /* the axis goes back to its place */
	ev_strides(x->dims, x->rank, strides);
	for (uint32_t d = 0; d < x->rank; d++) {
		back.dims[d] = x->dims[order[d]];
		back.to_stride[d] = strides[order[d]];
	}
	ev_strides(back.dims, back.rank, back.from_stride);
	ev_move(&back);
}
