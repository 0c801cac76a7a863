/* eval_dot.c - dot: any batch and contracted dims, in the accumulator's dtype.
 *
 * lhs is laid out as [batch, m, k], rhs as [batch, k, n], both converted to the accumulator's C type.  LANES results of a row grow
 * together, each taking its k products in ascending order; the same columns of rhs serve all rows while they are in the cache.
 * Accumulators of f16 and bf16 are f32; integers accumulate modulo 2^64, which after the cut to the dtype is the wrapping sum. */
#include "ir/eval.h"
#include <string.h>

enum { LANES = 16 };

#define DOT(T, bits) \
	static void row_##bits(T *r, const T *x, const T *y, uint64_t n, uint64_t k) \
	{ \
		T acc[LANES] = { 0 }; \
		for (uint64_t l = 0; l < k; l++) \
			for (uint64_t j = 0; j < LANES; j++) \
				acc[j] += x[l] * y[l * n + j]; \
		memcpy(r, acc, sizeof acc); \
	} \
	static void tail_##bits(T *r, const T *x, const T *y, uint64_t n, uint64_t k, uint64_t lanes) \
	{ \
		for (uint64_t j = 0; j < lanes; j++) { \
			T acc = 0; \
			for (uint64_t l = 0; l < k; l++) \
				acc += x[l] * y[l * n + j]; \
			r[j] = acc; \
		} \
	} \
	static void dot_##bits(T *r, const T *x, const T *y, const uint64_t *s) \
	{ \
		const uint64_t m = s[1], n = s[2], k = s[3]; \
		for (uint64_t b = 0; b < s[0]; b++) \
			for (uint64_t j = 0; j < n; j += LANES) \
				for (uint64_t i = b * m; i < (b + 1) * m; i++) \
					if (n - j >= LANES) \
						row_##bits(r + i * n + j, x + i * k, y + b * k * n + j, n, k); \
					else \
						tail_##bits(r + i * n + j, x + i * k, y + b * k * n + j, n, k, n - j); \
	}
DOT(float, f32)
DOT(double, f64)
DOT(uint64_t, u64)

static int is_float(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16 || dtype == TN_F32 || dtype == TN_F64; }

/* what is computed in: f32, f64, i64 or u64 */
static uint32_t wide(const struct ev *e)
{
	const uint32_t x = e->in[0].dtype, o = e->out->dtype;
	uint32_t acc = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_acc, TN_NONE);
	if (acc == TN_NONE)
		acc = is_float(x) && (!is_float(o) || x == TN_F64) ? x : o;
	if (is_float(acc))
		return acc == TN_F64 ? TN_F64 : TN_F32;
	return TN_I64;
}

static void *widen(struct ev *e, uint32_t to, uint32_t from, const void *x, uint64_t n)
{
	void *r = tn_arena_alloc(e->a, tn_size_mul(e->a->diag, n, tn_dtype_bytes(to)));
	ev_convert_n(to, r, from, x, n);
	return r;
}

/* order of an operand's dims: batch, then free and contracted (lhs) or contracted and free (rhs); counts multiply into sizes */
static void arrange(const struct ev *e, uint32_t side, int64_t *order, uint64_t *b, uint64_t *free_n, uint64_t *k)
{
	const struct tn_array *x = &e->in[side];
	uint32_t n_batch, n_contract, used = 0, at = 0;
	const int64_t *batch = tn_attr_ints(e->g, e->n, TN_ATTR_batch, &n_batch), *contract = tn_attr_ints(e->g, e->n, TN_ATTR_contract, &n_contract);
	*b = *free_n = *k = 1;
	for (uint32_t i = side; i < n_batch; i += 2) {
		order[at++] = batch[i];
		used |= 1u << batch[i];
		*b *= (uint64_t)x->dims[batch[i]];
	}
	for (uint32_t i = side; i < n_contract; i += 2) {
		used |= 1u << contract[i];
		*k *= (uint64_t)x->dims[contract[i]];
		if (side == 1)
			order[at++] = contract[i];
	}
	for (uint32_t d = 0; d < x->rank; d++)
		if (!(used >> d & 1)) {
			order[at++] = d;
			*free_n *= (uint64_t)x->dims[d];
		}
	for (uint32_t i = side; side == 0 && i < n_contract; i += 2)
		order[at++] = contract[i];
}

void ev_dot(struct ev *e)
{
	int64_t order[TN_RANK_MAX];
	uint64_t s[4], k;
	const struct tn_array *x = &e->in[0], *y = &e->in[1];
	const uint32_t to = wide(e);
	arrange(e, 0, order, &s[0], &s[1], &s[3]);
	const void *xs = widen(e, to, x->dtype, ev_gathered(e, x, order, x->rank), ev_count(x));
	arrange(e, 1, order, &s[0], &s[2], &k);
	if (k != s[3])
		tn_raise(e->a->diag, TN_E_ARG, "%s: %llu and %llu elements to contract", ev_name(e), (unsigned long long)s[3], (unsigned long long)k);
	const void *ys = widen(e, to, y->dtype, ev_gathered(e, y, order, y->rank), ev_count(y));
	const uint64_t count = ev_count(e->out);
	void *r = to == e->out->dtype ? e->out->at : tn_arena_alloc(e->a, tn_size_mul(e->a->diag, count, tn_dtype_bytes(to)));
	if (count == 0)
		return;
	if (to == TN_F32)
		dot_f32(r, xs, ys, s);
	else if (to == TN_F64)
		dot_f64(r, xs, ys, s);
	else
		dot_u64(r, xs, ys, s);
	if (r == e->out->at)
		return;
	const uint32_t acc = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_acc, TN_NONE);
	if (acc != TN_NONE && !is_float(acc)) {             /* the sum wraps in its accumulator before it is converted */
		ev_convert_n(acc, r, to, r, count);
		ev_convert_n(e->out->dtype, e->out->at, acc, r, count);
	} else {
		ev_convert_n(e->out->dtype, e->out->at, to, r, count);
	}
}
