/* convert.h - inside the converter: what the operators' files share.  Everything raises plain words; the caller adds file, node
 * and operator in front. */
#ifndef TENON_ONNX_CONVERT_H
#define TENON_ONNX_CONVERT_H
#include "frontend/onnx/model.h"
#include "ir/ir.h"

enum { OX_RANK = 8, OX_FOLLOW = 64 };   /* highest rank; most elements of an integer tensor that is followed as sizes */
#define OX_DIM_MAX INT64_C(2147483647)

/* what a name stands for.  The value in the IR is made when somebody asks for it, so that weights which only say a shape, and
 * arithmetic on shapes, leave no nodes behind. */
struct ox_val {
	struct tn_str name;
	uint32_t value;                        /* TN_NOTHING: not made yet */
	uint32_t dtype, rank;
	const uint32_t *dims;                  /* size handles */
	const uint32_t *sizes; uint32_t n_sizes; /* its elements, row-major, as sizes; NULL: not followed */
	const uint32_t *partial;               /* like sizes where only some elements are followed: the others are TN_NOTHING */
	const struct tn_onnx_tensor *tensor;   /* its elements as bytes; NULL: not a constant */
};

struct ox {
	struct tn_arena *a;
	struct tn_ir *ir;
	const struct tn_onnx_model *m;
	int64_t opset;
	struct tn_map names;                   /* name -> struct ox_val * */
	const struct tn_onnx_node *node;       /* the one being converted */
	const struct ox_op *op;
	uint64_t attrs_read;                   /* bit i: attribute i was looked at */
};

struct ox_op {
	const char *name;
	int32_t since, until;                  /* opsets: since <= opset < until; until 0: to the current one */
	void (*build)(struct ox *o);
	uint32_t arg;                          /* for build: a primitive, or a variant */
	bool (*follow)(struct ox *o);          /* the same on sizes; tried first; false: it can't (then build does it) */
	uint32_t follow_arg;
};
struct ox_ops { const struct ox_op *at; size_t n; };
extern const struct ox_ops ox_ops_math, ox_ops_shape, ox_ops_index, ox_ops_reduce, ox_ops_nn, ox_ops_norm, ox_ops_quant,
	ox_ops_einsum, ox_ops_resize, ox_ops_source;

_Noreturn void ox_fail(struct ox *o, int32_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- operands and results (values.c) */
bool ox_has(const struct ox *o, uint32_t i);
struct ox_val *ox_in(struct ox *o, uint32_t i);                /* raises when it is absent */
uint32_t ox_value(struct ox *o, struct ox_val *v);             /* in the IR */
uint32_t ox_v(struct ox *o, uint32_t i);                       /* ox_value of ox_in */
bool ox_wants(const struct ox *o, uint32_t i);                 /* somebody named result i */
void ox_out(struct ox *o, uint32_t i, uint32_t value);
void ox_out_val(struct ox *o, uint32_t i, struct ox_val *same);                /* result i is another name of it */
void ox_out_sizes(struct ox *o, uint32_t i, uint32_t dtype, uint32_t rank, const int64_t *dims, const uint32_t *sizes);
void ox_out_tensor(struct ox *o, uint32_t i, const struct tn_onnx_tensor *t);
struct ox_val *ox_define(struct ox *o, struct tn_str name);    /* raises when there is one already */
struct ox_val *ox_find(struct ox *o, struct tn_str name);      /* NULL */
void ox_set_value(struct ox *o, struct ox_val *v, uint32_t value);
void ox_set_tensor(struct ox *o, struct ox_val *v, const struct tn_onnx_tensor *t);

/* ---- attributes */
const struct tn_onnx_attr *ox_attr(struct ox *o, const char *name, uint32_t type);   /* NULL when absent; raises on another type */
int64_t ox_int(struct ox *o, const char *name, int64_t otherwise);
double ox_float(struct ox *o, const char *name, double otherwise);
const int64_t *ox_ints(struct ox *o, const char *name, uint32_t *n);                 /* NULL when absent */
struct tn_str ox_text(struct ox *o, const char *name, const char *otherwise);
void ox_skip_attr(struct ox *o, const char *name);                                   /* known, of no meaning here */
int64_t ox_axis(struct ox *o, int64_t axis, uint32_t rank);                          /* counts from the end when negative; raises when outside */

/* ---- elements known while converting */
const uint32_t *ox_sizes(struct ox *o, struct ox_val *v, uint32_t *n);               /* NULL when not followed */
const uint32_t *ox_need_sizes(struct ox *o, uint32_t i, const char *what, uint32_t *n);  /* of an input, by bind if it must be; raises when that is not possible */
const uint32_t *ox_need_signed(struct ox *o, uint32_t i, const char *what, uint32_t *n); /* the same for numbers that may be negative */
uint32_t ox_bind(struct ox *o, uint32_t value, int64_t lo);                          /* a 0-d i64 that only running can tell, as a new symbol */
const uint32_t *ox_bind_vector(struct ox *o, uint32_t value, const uint32_t *known, int64_t lo, const char *what, uint32_t *n); /* the elements of an integer vector, likewise; known: NULL, or sizes where it need not */
const int64_t *ox_need_ints(struct ox *o, uint32_t i, const char *what, uint32_t *n);    /* of an input; raises when not constant */
bool ox_number(struct ox *o, struct ox_val *v, double *to);                          /* the one element of a constant */
const int64_t *ox_axes(struct ox *o, uint32_t input, uint32_t *n);                   /* attribute axes, or that input; NULL when absent */

/* ---- sizes */
bool ox_const(const struct ox *o, uint32_t size, int64_t *to);
int64_t ox_lo(const struct ox *o, uint32_t size);
int64_t ox_hi(const struct ox *o, uint32_t size);
uint32_t ox_c(struct ox *o, int64_t value);
uint32_t ox_plus(struct ox *o, uint32_t a, uint32_t b);
uint32_t ox_minus(struct ox *o, uint32_t a, uint32_t b);
uint32_t ox_times(struct ox *o, uint32_t a, uint32_t b);
uint32_t ox_over(struct ox *o, uint32_t a, uint32_t b);        /* floor; b > 0 */
uint32_t ox_min(struct ox *o, uint32_t a, uint32_t b);
uint32_t ox_max(struct ox *o, uint32_t a, uint32_t b);
uint32_t ox_negative(struct ox *o, uint32_t a);                /* 1 when a < 0, else 0 */
uint32_t ox_product(struct ox *o, const uint32_t *dims, uint32_t n);
const char *ox_print(struct ox *o, uint32_t size);
const char *ox_print_dims(struct ox *o, const uint32_t *dims, uint32_t n);

/* ---- the IR, with ONNX's broadcasting */
const uint32_t *ox_dims(const struct ox *o, uint32_t value);
uint32_t ox_rank(const struct ox *o, uint32_t value);
uint32_t ox_dtype(const struct ox *o, uint32_t value);
bool ox_is_float(uint32_t dtype);
bool ox_is_int(uint32_t dtype);
uint32_t ox_like(struct ox *o, uint32_t x, double value);      /* full of x's dtype and shape */
uint32_t ox_like_int(struct ox *o, uint32_t x, int64_t value);
uint32_t ox_zero(struct ox *o, uint32_t dtype);                /* 0-d */
uint32_t ox_binary(struct ox *o, uint32_t prim, uint32_t x, uint32_t y);
uint32_t ox_select(struct ox *o, uint32_t c, uint32_t x, uint32_t y);
void ox_broadcast_dims(struct ox *o, const uint32_t *x, uint32_t rx, const uint32_t *y, uint32_t ry, uint32_t *dims, uint32_t *rank); /* dims: room for OX_RANK, may be x */
void ox_broadcast(struct ox *o, uint32_t *values, uint32_t n); /* all to their common shape */
uint32_t ox_scalar(struct ox *o, uint32_t dtype, uint32_t size);                     /* a size as a 0-d value */
uint32_t ox_unsqueeze(struct ox *o, uint32_t x, uint32_t at);
uint32_t ox_keep_dims(struct ox *o, uint32_t reduced, const uint32_t *dims, uint32_t rank, uint64_t axes); /* axes as bits: put back with size 1 */
uint32_t ox_axis_slice(struct ox *o, uint32_t x, uint32_t axis, uint32_t start, uint32_t limit, int64_t step);
uint32_t ox_pad(struct ox *o, uint32_t x, double fill, const uint32_t *low, const uint32_t *high, const int64_t *interior); /* sizes; interior NULL: none */
void ox_same(struct ox *o, uint32_t x, uint32_t y);            /* these sizes must be equal: a symbol beside a number gets that number as its bounds, and is checked when it is bound */
uint32_t ox_matmul(struct ox *o, uint32_t x, uint32_t y, uint32_t dtype);            /* numpy's rule; dtype 0: as the operands */
uint32_t ox_take(struct ox *o, uint32_t x, uint32_t indices, uint32_t axis, uint32_t batch, uint32_t mode);

/* ---- followers (follow.c): results as sizes */
bool ox_follow_same(struct ox *o);          /* Identity and its kin: elements stay, shape may change */
bool ox_follow_shape(struct ox *o);
bool ox_follow_size(struct ox *o);
bool ox_follow_cast(struct ox *o);
bool ox_follow_reshape(struct ox *o);
bool ox_follow_squeeze(struct ox *o);
bool ox_follow_unsqueeze(struct ox *o);
bool ox_follow_slice(struct ox *o);
bool ox_follow_gather(struct ox *o);
bool ox_follow_concat(struct ox *o);
void ox_note_parts(struct ox *o);           /* after Concat was built */
bool ox_follow_split(struct ox *o);
bool ox_follow_binary(struct ox *o);        /* follow_arg: a primitive */
bool ox_follow_neg(struct ox *o);
bool ox_follow_not(struct ox *o);
bool ox_follow_where(struct ox *o);
bool ox_follow_range(struct ox *o);
bool ox_follow_reduce(struct ox *o);        /* follow_arg: a primitive */
bool ox_follow_expand(struct ox *o);
bool ox_follow_fill(struct ox *o);

/* ---- shared between the operators' files */
void ox_reshape_dims(struct ox *o, const struct ox_val *x, const uint32_t *want, uint32_t n, uint32_t *dims);   /* Reshape's 0 and -1 */
struct ox_span { uint32_t start, limit; int64_t step; };
struct ox_span ox_slice_span(struct ox *o, uint32_t dim, uint32_t start, uint32_t end, int64_t step);             /* Slice's rules on one dim */
const int64_t *ox_squeezed(struct ox *o, const struct ox_val *x, uint32_t *rank);  /* which dims of x stay */
const int64_t *ox_unsqueezed(struct ox *o, uint32_t rank, uint32_t *n);            /* for each dim of the result: dim of x, or -1 */
uint32_t ox_spatial_rank(struct ox *o, uint32_t x);                                /* dims after batch and channels; raises when there are none */
void ox_check_groups(struct ox *o, uint32_t x, int64_t groups);
void ox_split_points(struct ox *o, const struct ox_val *x, int64_t axis, uint32_t *points);  /* n_out + 1 of them */
#endif
