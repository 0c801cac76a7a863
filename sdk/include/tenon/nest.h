/* nest.h - a loop nest: what one kernel computes, independent of any language.
 *
 * A nest has dims, each on an axis; phases, each running over some axes with a body in SSA; and buffers that the body loads from
 * and stores to.  Templates own loop structure, tiling and placement; the nest only says what is computed.
 *
 *   class       axes                    phases
 *   POINTWISE   OUTER INNER             0: loads, arithmetic, stores
 *   REDUCE      OUTER RED               0 over OUTER RED: reduce steps; 1 over OUTER: epilogue with stores        (row and full: the
 *               OUTER INNER RED         the same with INNER beside OUTER: columns, lanes run along INNER           reduced dim is innermost)
 *   ROWS        OUTER RED               any number over OUTER RED; a phase reads reductions of earlier ones; the last may be over OUTER alone
 *   CONTRACT    BATCH M N K             0 over all: one dot step; 1 over BATCH M N: epilogue with stores
 *   CUMULATE    OUTER INNER SEQ         0: cumulate steps along SEQ, in order, and stores
 *   SCATTER     OUTER INNER SEQ         0: updates in SEQ order (the last wins); the destination was filled before
 *
 * An axis may have several dims (they are walked row-major, first dim outermost) or none (extent 1).  INNER, RED and K are chosen
 * so that memory runs along them.  Steps and sizes refer to earlier ones by index.  Closed rows; read-only.
 * Compiles alone as C11 and C++17. */
#ifndef TENON_NEST_H
#define TENON_NEST_H
#include <tenon/graph.h>

enum tn_nest_class {
	TN_NEST_POINTWISE = 1, TN_NEST_REDUCE = 2, TN_NEST_ROWS = 3, TN_NEST_CONTRACT = 4, TN_NEST_CUMULATE = 5, TN_NEST_SCATTER = 6,
	TN_NEST_CONVOLVE = 7, TN_NEST_ATTEND = 8, TN_NEST_SORT = 9
};
enum tn_axis {
	TN_AXIS_OUTER = 0, TN_AXIS_INNER = 1, TN_AXIS_RED = 2, TN_AXIS_SEQ = 3, TN_AXIS_BATCH = 4, TN_AXIS_M = 5, TN_AXIS_N = 6, TN_AXIS_K = 7,
	TN_AXIS_END = 8
};
struct tn_nest_dim { uint32_t axis, extent; };             /* enum tn_axis; a size, which may be 0 at run time */
struct tn_nest_phase { uint32_t axes, step0, n_steps, reserved; };   /* axes: mask of 1 << axis; its steps are steps[step0 ..], in order; 0 */

/* ---- the body */
enum tn_step_op {
	TN_STEP_CONST = 1,     /* a number: bits holds it in the step's dtype (low bytes) */
	TN_STEP_DIM = 2,       /* i64: the coordinate along dim a */
	TN_STEP_SIZE = 3,      /* i64: the value of size a */
	TN_STEP_LOAD = 4,      /* access a */
	TN_STEP_STORE = 5,     /* access a gets step b; no value */
	TN_STEP_PRIM = 6,      /* elementwise primitive `prim` of steps args[arg0 ..]; attrs as in a graph node */
	TN_STEP_REDUCE = 7,    /* step b reduced over the phase's RED dims by prim (TN_sum, TN_prod, TN_reduce_max, TN_reduce_min), in dtype; later phases read it */
	TN_STEP_DOT = 8,       /* sum over K of step a * step b, in dtype (the accumulator's); a is operand A (BATCH M K), b operand B (BATCH N K) */
	TN_STEP_CUMULATE = 9,  /* step b accumulated along SEQ by op bits & 7 (TN_ATTR_op); bit 3 exclusive, bit 4 reverse */
	TN_STEP_UPDATE = 10    /* scatter: access a gets (its old value op step b), op in bits; skipped outside the access's bounds */
};
enum tn_step_flag { TN_STEP_KEEP = 1 };                     /* worth keeping for a later phase rather than computing again */
struct tn_step {
	uint32_t op, dtype;     /* enum tn_step_op; of its value, of STORE and UPDATE of what is written */
	uint32_t prim;          /* of PRIM and REDUCE, else 0 */
	uint32_t a, b;          /* as the operation says; steps, sizes and accesses by number, steps before this one */
	uint32_t arg0, n_args;  /* in nest.args: step numbers */
	uint32_t attr0, n_attrs;/* in nest.attrs */
	uint32_t flags;         /* enum tn_step_flag */
	uint64_t bits;          /* as the operation says, else 0 */
};

/* ---- addresses.  element index = offset + sum over terms of stride * (floor(lin / div) mod mod);
 *      lin = offset + sum over parts of coef * (dim coordinate | i64 step) */
struct tn_part   { uint32_t step, index, coef, reserved; }; /* step 0: index is a dim; 1: index is an i64 step.  coef: a size expression's index, see negative */
struct tn_linear { uint32_t part0, n_parts, offset, reserved; }; /* offset: a size */
struct tn_term   { uint32_t lin, div, mod, stride; };       /* sizes; div TN_NOTHING: 1; mod TN_NOTHING: none */
struct tn_bound  { uint32_t lin, div, mod, limit; };        /* inside when 0 <= value < limit; value as in a term */
struct tn_access {
	uint32_t buffer;                   /* in nest.buffers */
	uint32_t term0, n_terms, offset;   /* in nest.terms; offset: a size */
	uint32_t bound0, n_bounds;         /* outside any: a load gives fill, a store or update does nothing */
	uint64_t fill;                     /* bits in the buffer's dtype */
};
/* Sizes may be negative here (a slice with step -1 has coef -1): they are rows of nest.sizes like all others. */

enum tn_buffer_flag { TN_BUF_READ = 1, TN_BUF_WRITE = 2 };
enum tn_role { TN_ROLE_NONE = 0, TN_ROLE_A = 1, TN_ROLE_B = 2, TN_ROLE_BIAS = 3 };   /* what a contraction reads it as */
struct tn_nest_buffer {
	uint32_t dtype, flags, role;   /* dtype; mask of enum tn_buffer_flag (both: updates of a scatter); enum tn_role */
	uint32_t value;        /* the graph value it holds (for people; TN_NOTHING for none) */
	uint32_t layout;       /* 0 dense row-major, else offset in nest.bytes of an opaque layout's name: then loads of it are the template's own */
	uint32_t length;       /* elements: a size */
};

TN_ASSERT_(sizeof(struct tn_nest_dim) == 8 && sizeof(struct tn_nest_phase) == 16 && sizeof(struct tn_step) == 48, "closed rows");
TN_ASSERT_(sizeof(struct tn_part) == 16 && sizeof(struct tn_linear) == 16 && sizeof(struct tn_term) == 16, "closed rows");
TN_ASSERT_(sizeof(struct tn_bound) == 16 && sizeof(struct tn_access) == 32 && sizeof(struct tn_nest_buffer) == 24, "closed rows");
TN_SPAN(tn_nest_dim); TN_SPAN(tn_nest_phase); TN_SPAN(tn_step); TN_SPAN(tn_part); TN_SPAN(tn_linear); TN_SPAN(tn_term); TN_SPAN(tn_bound);
TN_SPAN(tn_access); TN_SPAN(tn_nest_buffer);

/* STRICT: every operation rounds by itself, fused equals unfused bit for bit.  DEFAULT: a multiply and an add may become one inside a kernel.
 * FAST: also no rounding between elementwise f16 and bf16 steps */
enum tn_numerics { TN_STRICT = 1, TN_DEFAULT = 2, TN_FAST = 3 };
/* borrowed for the call that it is passed to */
struct tn_nest {
	struct tn_head head;                   /* TN_KIND_NEST */
	uint32_t cls, numerics;                /* enum tn_nest_class; enum tn_numerics */
	struct tn_size_rows sizes;             /* the graph's, and more */
	struct tn_nest_dim_rows dims;          /* ordered by axis, then outermost first */
	struct tn_nest_phase_rows phases;      /* in order; their steps are all of steps */
	struct tn_step_rows steps;
	struct tn_access_rows accesses;        /* of LOAD, STORE, UPDATE steps */
	struct tn_term_rows terms;             /* of accesses */
	struct tn_bound_rows bounds;           /* of accesses */
	struct tn_linear_rows linears;         /* of terms and bounds */
	struct tn_part_rows parts;             /* of linears */
	struct tn_nest_buffer_rows buffers;    /* in the order in which a kernel takes them */
	struct tn_attr_rows attrs;             /* of PRIM steps; INTS stand in ints, TEXT in bytes */
	const uint32_t *args;  uint64_t n_args;    /* step numbers: operands of PRIM steps */
	const int64_t *ints;   uint64_t n_ints;
	const char *bytes;     uint64_t n_bytes;   /* texts, each with a 0 behind it */
	uint64_t order;                        /* order id of its reductions: implementations with equal ids give equal bits */
};
TN_CLOSE(tn_nest, order);
#endif
