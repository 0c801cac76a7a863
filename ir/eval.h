/* eval.h - inside the strict evaluator: what its files share.  The contract is in ir/ir.h.
 *
 * Orders, which are the strict ones: a reduction takes the elements of its axes ascending in row-major order, in one accumulator
 * (f32 for f16 and bf16, else the operand's dtype), which starts as the identity (so a sum of -0 alone is +0); cumulate keeps such an
 * accumulator and rounds it for each result; a dot takes the contracted dims as listed, ascending, the product rounded to
 * the accumulator's dtype before it is added; scatter applies updates in row-major order, rounding after each. */
#ifndef TENON_EVAL_H
#define TENON_EVAL_H
#include "ir/ir.h"


struct ev {                    /* one node being evaluated */
	const struct tn_graph *g;
	const struct tn_node *n;
	const int64_t *symbols;
	const struct tn_array *in;
	struct tn_array *out;      /* shapes set and memory there before the node's function runs */
	struct tn_arena *a;        /* scratch: everything in it is forgotten after the node */
};
typedef void ev_loop(void *out, const void *const *in, size_t n);

/* eval.c */
const char *ev_name(const struct ev *e);                                                       /* "node 12, scatter (model.onnx: /s)" */
int64_t ev_size(const struct ev *e, uint32_t size);                                            /* raises when it has no value */
const int64_t *ev_sizes(const struct ev *e, uint32_t name, uint32_t *count);                   /* an attribute of sizes as numbers */
void ev_shape(const struct tn_graph *g, const struct tn_node *n, uint32_t value, const int64_t *symbols, struct tn_array *x, struct tn_arena *a); /* dtype, dims, size; at stays */
void ev_run(const struct tn_graph *g, const struct tn_node *n, const int64_t *symbols, const struct tn_array *in, struct tn_array *out, struct tn_arena *a);
uint64_t ev_count(const struct tn_array *x);                                                   /* elements */
void ev_bind_value(struct ev *e, uint32_t value, const struct tn_array *x, int64_t *symbols);     /* symbols that x's shape tells (eval_bind.c) */

/* eval_point.c */
ev_loop *ev_point(uint32_t prim, uint32_t dtype);    /* the loop of an elementwise atom for its (last) operands' dtype, or NULL */

/* eval_convert.c */
void ev_convert_n(uint32_t to, void *out, uint32_t from, const void *in, uint64_t n);
void ev_convert(struct ev *e);
void ev_bitcast(struct ev *e);
void ev_full(struct ev *e);
void ev_iota(struct ev *e);

/* eval_move.c */
struct ev_move { void *to; const void *from; uint32_t rank, elem; int64_t dims[16], to_stride[16], from_stride[16]; };  /* strides in elements; at the first element of each */
void ev_move(const struct ev_move *m);
void ev_fill(void *to, const void *elem, uint32_t elem_size, uint64_t n);
const void *ev_gathered(struct ev *e, const struct tn_array *x, const int64_t *order, uint32_t n);   /* x with its dims in this order, dense; x itself when nothing moves */
void ev_strides(const int64_t *dims, uint32_t rank, int64_t *strides);
void ev_broadcast(struct ev *e);
void ev_permute(struct ev *e);
void ev_reshape(struct ev *e);
void ev_slice(struct ev *e);
void ev_pad(struct ev *e);
void ev_window(struct ev *e);
void ev_cat(struct ev *e);

/* eval_reduce.c, eval_dot.c, eval_index.c */
void ev_reduce(struct ev *e);
void ev_cumulate(struct ev *e);
void ev_dot(struct ev *e);
void ev_gather(struct ev *e);
void ev_scatter(struct ev *e);

/* eval_sort.c */
void ev_sort(struct ev *e);

/* eval_body.c */
void ev_body(struct ev *e);                          /* any composite, through its definition */

/* eval_host.c: their results' shapes are known only afterwards, so they allocate them themselves, in a */
int ev_host(struct ev *e, int64_t *symbols);         /* 0: not a host operation */
#endif
