/* builders.h - the C builders of decomp/ and the few helpers they share. */
#ifndef TENON_DECOMP_BUILDERS_H
#define TENON_DECOMP_BUILDERS_H
#include "ir/builders.h"

typedef void tn_build_fn(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out);
tn_build_fn tn_build_convolution, tn_build_max_pool, tn_build_avg_pool, tn_build_random_bits, tn_build_random_uniform,
	tn_build_sort, tn_build_topk;

/* tn_pad_spatial - x with low[i], high[i] elements of value around its dims from `first` on; x itself where all are 0 */
uint32_t tn_pad_spatial(struct tn_ir *ir, uint32_t x, uint32_t value, uint32_t first, const int64_t *low, const int64_t *high, uint32_t n);
/* tn_window_spatial - windows over the n dims from `first` on; NULL stride or dilation: 1 */
uint32_t tn_window_spatial(struct tn_ir *ir, uint32_t x, uint32_t first, const uint32_t *size, const int64_t *stride, const int64_t *dilation, uint32_t n);
uint32_t tn_full_like(struct tn_ir *ir, uint32_t x, double value);           /* of x's dtype and shape */
uint32_t tn_full_like_int(struct tn_ir *ir, uint32_t x, int64_t value);
uint32_t tn_scalar(struct tn_ir *ir, uint32_t dtype, double value);
uint32_t tn_lowest(struct tn_ir *ir, uint32_t dtype);                        /* scalar: the identity of reduce_max */
static inline int tn_is_float(uint32_t dtype) { return (TN_M_FLOAT >> dtype & 1) != 0; }
#endif
