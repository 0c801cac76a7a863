/* eval_sort.c - sort and topk themselves, since their definition in atoms is quadratic; table_test.c holds the two to the same bits.
 * Elements become 64-bit keys that order as the dtype does (-0 as +0, NaN above all), and equal keys keep their places. */
#include "ir/eval.h"
#include <stdlib.h>
#include <string.h>

struct entry { uint64_t key; int64_t at; };

static uint64_t float_key(double x)
{
	uint64_t u;
	if (x != x)
		return UINT64_MAX;
	x += 0.0;                                      /* -0 becomes +0 */
	memcpy(&u, &x, sizeof u);
	return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static uint64_t key(uint32_t dtype, const void *at)
{
	uint64_t u;
	double d;
	if (TN_M_FLOAT >> dtype & 1) {
		ev_convert_n(TN_F64, &d, dtype, at, 1);
		return float_key(d);
	}
	ev_convert_n(TN_U64, &u, dtype, at, 1);        /* sign-extended where there is a sign */
	return TN_M_SINT >> dtype & 1 ? u ^ UINT64_C(1) << 63 : u;
}

static int by_key(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	return a->key != b->key ? (a->key < b->key ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

void ev_sort(struct ev *e)
{
	const struct tn_array *x = &e->in[0], *values = &e->out[0], *indices = &e->out[1];
	const uint32_t axis = (uint32_t)tn_attr_int(e->g, e->n, TN_ATTR_axis, 0), elem = tn_dtype_bytes(x->dtype);
	const int falls = e->n->prim == TN_sort ? tn_attr_int(e->g, e->n, TN_ATTR_descending, 0) != 0 : tn_attr_int(e->g, e->n, TN_ATTR_largest, 1) != 0;
	const int64_t n = x->dims[axis], k = values->dims[axis];
	int64_t strides[TN_RANK_MAX];
	ev_strides(x->dims, x->rank, strides);
	const int64_t inner = strides[axis], count = (int64_t)ev_count(x);
	struct entry *row = tn_array(e->a, struct entry, (uint64_t)n + 1);
	if (k > n)
		tn_raise(e->a->diag, TN_E_RANGE, "%s: k is %lld and the axis has %lld elements", ev_name(e), (long long)k, (long long)n);
	for (int64_t r = 0; count > 0 && r < count / n; r++) {
		const int64_t first = r / inner * inner * n + r % inner, to = r / inner * inner * k + r % inner;
		for (int64_t i = 0; i < n; i++) {
			const uint64_t u = key(x->dtype, (const char *)x->at + (first + i * inner) * elem);
			row[i] = (struct entry){ falls ? ~u : u, i };
		}
		qsort(row, (size_t)n, sizeof *row, by_key);
		for (int64_t i = 0; i < k; i++) {
			memcpy((char *)values->at + (to + i * inner) * elem, (const char *)x->at + (first + row[i].at * inner) * elem, elem);
			((int64_t *)indices->at)[to + i * inner] = row[i].at;
		}
	}
}
